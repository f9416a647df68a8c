//! Evaluation of literals (P4_16 §6.4.3).

use num_bigint::BigUint;

use crate::ast::{IntegerLiteral, IntegerWidth};

/// The largest number of digits in an integer literal. It is larger than any computation needs, and
/// is limited because the time of the conversion is quadratic in it.
const MAX_DIGITS: usize = 1 << 17;

/// Returns the value of an integer literal, or an error message.
pub(super) fn integer(text: &str) -> Result<IntegerLiteral, String> {
    let (width, digits) = match text.find(['w', 's']) {
        // `w` and `s` are not digits in any base, so the first one separates the width.
        Some(at) => {
            let (bits, rest) = text.split_at(at);
            let bits: u32 = bits.parse().map_err(|_| {
                format!("`{bits}` before `{}` is not a width", rest.get(..1).unwrap_or(""))
            })?;
            let signed = rest.starts_with('s');
            (Some(IntegerWidth { bits, signed }), rest.get(1..).unwrap_or(""))
        }
        None => (None, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..).unwrap_or("")),
        [b'0', b'd' | b'D', ..] => (10, digits.get(2..).unwrap_or("")),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..).unwrap_or("")),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..).unwrap_or("")),
        _ => (10, digits),
    };
    let plain: Vec<u8> = digits.bytes().filter(|byte| *byte != b'_').collect();
    if let Some(wrong) = plain.iter().find(|byte| !char::from(**byte).is_digit(u32::from(base))) {
        return Err(format!("`{}` is not a digit of a number in base {base}", char::from(*wrong)));
    }
    if plain.len() > MAX_DIGITS {
        return Err(format!("this number has more than {MAX_DIGITS} digits"));
    }
    let value = BigUint::parse_bytes(&plain, u32::from(base))
        .ok_or_else(|| "this number has no digits".to_owned())?;
    Ok(IntegerLiteral { value, width, base })
}

/// Returns the value of a string literal, with escapes resolved. `text` includes the quotes.
pub(super) fn string(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some(escaped @ ('"' | '\\')) => out.push(escaped),
            // P4 does not define any other escape sequence, so it remains as written.
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, value: u64, width: Option<(u32, bool)>, base: u8) {
        let literal = integer(text).expect(text);
        assert_eq!(literal.value, BigUint::from(value), "{text}");
        assert_eq!(
            literal.width,
            width.map(|(bits, signed)| IntegerWidth { bits, signed }),
            "{text}"
        );
        assert_eq!(literal.base, base, "{text}");
    }

    #[test]
    fn integers_in_all_forms() {
        // These include the examples of §6.4.3.2.
        check("255", 255, None, 10);
        check("32w255", 255, Some((32, false)), 10);
        check("32w0d255", 255, Some((32, false)), 10);
        check("32w0xFF", 255, Some((32, false)), 16);
        check("32s0xFF", 255, Some((32, true)), 16);
        check("8w0b10101010", 0xaa, Some((8, false)), 2);
        check("8w0b_1010_1010", 0xaa, Some((8, false)), 2);
        check("8w170", 170, Some((8, false)), 10);
        check("8s0b1010_1010", 0xaa, Some((8, true)), 2);
        check("16w0377", 377, Some((16, false)), 10);
        check("16w0o377", 255, Some((16, false)), 8);
        check("0B1", 1, None, 2);
        check("0D9", 9, None, 10);
        check("1_000_000", 1_000_000, None, 10);
        check("0", 0, None, 10);
    }

    #[test]
    fn integers_have_no_bound() {
        let literal = integer(&format!("1{}", "0".repeat(100))).expect("a large number");
        assert_eq!(literal.value, BigUint::from(10u8).pow(100));
    }

    #[test]
    fn malformed_integers_are_refused() {
        for text in ["0x", "8w", "0b12", "0o8", "12ab", "w3", "99999999999w1", "0x_", "8w8w8", "5u"]
        {
            assert!(integer(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_lose_quotes_and_escapes() {
        assert_eq!(string(r#""a \"b\" \\ \n \q""#), "a \"b\" \\ \n \\q");
        assert_eq!(string("\"\""), "");
    }
}
