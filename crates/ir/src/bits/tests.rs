//! Tests of every operation against arbitrary-precision integers, with widths on both sides of each
//! word boundary.

use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SEED: u64 = 0x0b17_5eed;
const WIDTHS: &[u32] =
    &[1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193, 256, 1000];

fn generator() -> StdRng {
    println!("seed {SEED:#x}");
    StdRng::seed_from_u64(SEED)
}

/// Returns a random value of the type. The bounds of the range are frequent, since overflow occurs
/// there.
fn any(random: &mut StdRng, width: u32, signed: bool) -> Bits {
    match random.random_range(0..8) {
        0 => Bits::zero(width, signed),
        1 => Bits::ones(width, signed),
        2 => Bits::minimum(width, signed),
        3 => Bits::maximum(width, signed),
        _ => {
            let bytes: Vec<u8> = (0..width.div_ceil(8)).map(|_| random.random()).collect();
            Bits::from_be_bytes(width, signed, &bytes)
        }
    }
}

fn modulus(width: u32) -> BigInt {
    BigInt::from(1) << width
}

fn range(width: u32, signed: bool) -> (BigInt, BigInt) {
    if signed {
        let half: BigInt = BigInt::from(1) << (width - 1);
        (-half.clone(), half - 1)
    } else {
        (BigInt::from(0), modulus(width) - 1)
    }
}

/// Returns the number in the range of the type that is congruent to `number`, computed without
/// [`Bits`].
fn wrap(number: &BigInt, width: u32, signed: bool) -> BigInt {
    let modulus = modulus(width);
    let mut rest = ((number % &modulus) + &modulus) % &modulus;
    if rest > range(width, signed).1 {
        rest -= modulus;
    }
    rest
}

fn for_all(mut check: impl FnMut(&mut StdRng, u32, bool)) {
    let mut random = generator();
    for &width in WIDTHS {
        for signed in [false, true] {
            for _ in 0..60 {
                check(&mut random, width, signed);
            }
        }
    }
}

#[test]
fn arithmetic_wraps_like_big_integers() {
    for_all(|random, width, signed| {
        let (a, b) = (any(random, width, signed), any(random, width, signed));
        let (x, y) = (a.to_bigint(), b.to_bigint());
        let wrapped = |number: BigInt| wrap(&number, width, signed);
        assert_eq!(a.wrapping_add(&b).to_bigint(), wrapped(&x + &y), "{x} + {y}, {width}");
        assert_eq!(a.wrapping_sub(&b).to_bigint(), wrapped(&x - &y), "{x} - {y}, {width}");
        assert_eq!(a.wrapping_mul(&b).to_bigint(), wrapped(&x * &y), "{x} * {y}, {width}");
        assert_eq!(a.wrapping_neg().to_bigint(), wrapped(-&x), "-{x}, {width}");
        assert_eq!(a.complement().to_bigint(), wrapped(-&x - 1), "~{x}, {width}");
    });
}

#[test]
fn saturating_arithmetic_clamps_big_integers() {
    for_all(|random, width, signed| {
        let (a, b) = (any(random, width, signed), any(random, width, signed));
        let (x, y) = (a.to_bigint(), b.to_bigint());
        let (least, most) = range(width, signed);
        let clamp = |number: BigInt| number.clamp(least.clone(), most.clone());
        assert_eq!(a.saturating_add(&b).to_bigint(), clamp(&x + &y), "{x} |+| {y}, {width}");
        assert_eq!(a.saturating_sub(&b).to_bigint(), clamp(&x - &y), "{x} |-| {y}, {width}");
    });
}

#[test]
fn division_agrees_with_big_integers() {
    for_all(|random, width, signed| {
        let (a, b) = (any(random, width, signed), any(random, width, signed));
        let (x, y) = (a.to_bigint(), b.to_bigint());
        if b.is_zero() {
            assert_eq!((a.checked_div(&b), a.checked_rem(&b)), (None, None));
            return;
        }
        let wrapped = |number: BigInt| Some(wrap(&number, width, signed));
        assert_eq!(a.checked_div(&b).map(|q| q.to_bigint()), wrapped(&x / &y), "{x} / {y}");
        assert_eq!(a.checked_rem(&b).map(|r| r.to_bigint()), wrapped(&x % &y), "{x} % {y}");
    });
}

#[test]
fn shifts_agree_with_big_integers() {
    for_all(|random, width, signed| {
        let a = any(random, width, signed);
        let x = a.to_bigint();
        let amount = random.random_range(0..width + 70);
        let floor = {
            // BigInt division truncates; an arithmetic shift rounds down.
            let divisor = modulus(amount);
            let rest = wrap(&x, amount.max(1), false);
            if amount == 0 { x.clone() } else { (&x - rest) / divisor }
        };
        assert_eq!(a.shift_right(u64::from(amount)).to_bigint(), floor, "{x} >> {amount}, {width}");
        let left = wrap(&(&x * modulus(amount)), width, signed);
        assert_eq!(a.shift_left(u64::from(amount)).to_bigint(), left, "{x} << {amount}, {width}");
    });
    assert_eq!(Bits::signed(8, -3).shift_right(u64::MAX), Bits::signed(8, -1));
    assert_eq!(Bits::unsigned(8, 255).shift_left(u64::MAX), Bits::unsigned(8, 0));
}

#[test]
fn slices_and_concatenations_agree_with_big_integers() {
    for_all(|random, width, signed| {
        let a = any(random, width, signed);
        let pattern = wrap(&a.to_bigint(), width, false);
        let low = random.random_range(0..width);
        let high = random.random_range(low..width);
        let cut = a.slice(high, low);
        let expected = (&pattern / modulus(low)) % modulus(high - low + 1);
        assert_eq!((cut.width(), cut.to_bigint()), (high - low + 1, expected), "[{high}:{low}]");

        let part = any(random, high - low + 1, false);
        let changed = a.with_slice(high, low, &part);
        assert_eq!(changed.slice(high, low), part);
        assert_eq!((changed.width(), changed.is_signed()), (width, signed));
        if high + 1 < width {
            assert_eq!(changed.slice(width - 1, high + 1), a.slice(width - 1, high + 1));
        }
        if low > 0 {
            assert_eq!(changed.slice(low - 1, 0), a.slice(low - 1, 0));
        }

        let other_width = random.random_range(0..200);
        let b = any(random, other_width, false);
        let both = a.concatenate(&b);
        let expected = &pattern * modulus(other_width) + b.to_bigint();
        assert_eq!(both.width(), width + other_width);
        assert_eq!(wrap(&both.to_bigint(), both.width(), false), expected);
    });
}

#[test]
fn casts_and_comparisons_agree_with_big_integers() {
    for_all(|random, width, signed| {
        let a = any(random, width, signed);
        let to_width = WIDTHS[random.random_range(0..WIDTHS.len())];
        let to_signed = random.random();
        let cast = a.cast(to_width, to_signed);
        assert_eq!(cast.to_bigint(), wrap(&a.to_bigint(), to_width, to_signed));
        assert_eq!(a.compare(&cast), a.to_bigint().cmp(&cast.to_bigint()));
        let b = any(random, width, signed);
        assert_eq!(a.compare(&b), a.to_bigint().cmp(&b.to_bigint()));
        assert_eq!(a == b, a.to_bigint() == b.to_bigint());
        assert_eq!(Bits::from_bigint(width, signed, &a.to_bigint()), a);
    });
}

#[test]
fn bytes_and_packets_round_trip() {
    for_all(|random, width, signed| {
        let a = any(random, width, signed);
        assert_eq!(a.to_be_bytes().len(), width.div_ceil(8) as usize);
        assert_eq!(Bits::from_be_bytes(width, signed, &a.to_be_bytes()), a);

        // Fields written one after another at any bit offset are read back unchanged.
        let (first, last) = (random.random_range(0..20), random.random_range(0..20));
        let (before, after) = (any(random, first, false), any(random, last, false));
        let mut packet = Vec::new();
        let mut used = 8;
        for field in [&before, &a, &after] {
            used = field.append_to_packet(&mut packet, used);
        }
        let total = before.width() + width + after.width();
        assert_eq!(packet.len(), total.div_ceil(8) as usize);
        let offset = u64::from(before.width());
        let end = offset + u64::from(width);
        assert_eq!(Bits::read_packet(&packet, 0, before.width(), false), Some(before));
        assert_eq!(Bits::read_packet(&packet, offset, width, signed), Some(a.clone()));
        assert_eq!(Bits::read_packet(&packet, end, after.width(), false), Some(after));
        let beyond = packet.len() as u64 * 8 - u64::from(width) + 1;
        assert_eq!(Bits::read_packet(&packet, beyond, width, signed), None);
    });
}

#[test]
fn texts_round_trip() {
    for_all(|random, width, signed| {
        let a = any(random, width, signed);
        assert_eq!(a.to_string(), a.to_bigint().to_string());
        assert_eq!(Bits::parse(width, signed, &a.to_string()), Ok(a.clone()));
        assert_eq!(Bits::parse(width, signed, &format!("{a:#x}")), Ok(a.clone()));
        assert_eq!(Bits::parse(width, signed, &format!("{a:#b}")), Ok(a.clone()));
    });
    assert_eq!(Bits::parse(12, false, "1_0"), Ok(Bits::unsigned(12, 10)));
    assert!(matches!(Bits::parse(4, false, "16"), Err(ParseBitsError::OutOfRange { .. })));
    assert!(matches!(Bits::parse(4, true, "8"), Err(ParseBitsError::OutOfRange { .. })));
    assert!(matches!(Bits::parse(4, false, "-1"), Err(ParseBitsError::OutOfRange { .. })));
    for text in ["", "-", "0x", "1g", "--1", "+1", "0b2"] {
        assert!(
            matches!(Bits::parse(8, false, text), Err(ParseBitsError::NotANumber(_))),
            "{text}"
        );
    }
}

#[test]
fn a_value_of_zero_bits_is_zero() {
    let nothing = Bits::zero(0, false);
    assert_eq!(Bits::ones(0, true), Bits::minimum(0, true));
    assert_eq!(nothing.wrapping_add(&nothing), nothing);
    assert_eq!(nothing.complement(), nothing);
    assert_eq!(nothing.concatenate(&Bits::unsigned(4, 9)), Bits::unsigned(4, 9));
    assert_eq!(nothing.to_be_bytes(), Vec::<u8>::new());
    assert_eq!(Bits::unsigned(8, 7).slice(2, 5).width(), 0);
    assert_eq!(Bits::read_packet(&[], 0, 0, false), Some(nothing));
}

#[test]
fn written_form_keeps_the_width() {
    let bits = Bits::signed(200, -5);
    let text = serde_json::to_string(&bits).expect("writes");
    assert_eq!(serde_json::from_str::<Bits>(&text).expect("reads"), bits);
    assert!(serde_json::from_str::<Bits>(r#"{"width":4,"value":"0x10"}"#).is_err());
}
