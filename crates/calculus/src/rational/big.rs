//! Arithmetic of rational numbers beyond machine words, with few and small greatest common
//! divisors.
//!
//! Operands are reduced, which the general routines of the number crate do not exploit. A sum needs
//! only the common divisor of the two denominators, and one more common divisor with numbers of
//! that size. A product needs only the common divisors of each numerator and the other denominator
//! (Knuth, The Art of Computer Programming, volume 2, section 4.5.1). Common divisors dominate the
//! cost of arithmetic on long fractions.

use super::gcd_wide;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use std::cmp::Ordering;

pub(super) fn add(a: &BigRational, b: &BigRational) -> BigRational {
    let (n1, d1, n2, d2) = (a.numer(), a.denom(), b.numer(), b.denom());
    let shared = gcd(d1, d2);
    if shared.is_one() {
        return BigRational::new_raw(n1 * d2 + n2 * d1, d1 * d2);
    }
    let rest = d1 / &shared;
    let sum = n1 * (d2 / &shared) + n2 * &rest;
    if sum.is_zero() {
        return BigRational::zero();
    }
    let common = gcd(&sum, &shared);
    if common.is_one() {
        return BigRational::new_raw(sum, rest * d2);
    }
    BigRational::new_raw(sum / &common, rest * (d2 / &common))
}

pub(super) fn multiply(a: &BigRational, b: &BigRational) -> BigRational {
    if a.is_zero() || b.is_zero() {
        return BigRational::zero();
    }
    let across = gcd(a.numer(), b.denom());
    let back = gcd(b.numer(), a.denom());
    BigRational::new_raw(
        (a.numer() / &across) * (b.numer() / &back),
        (a.denom() / &back) * (b.denom() / &across),
    )
}

pub(super) fn compare(a: &BigRational, b: &BigRational) -> Ordering {
    let signs = a.numer().sign().cmp(&b.numer().sign());
    if signs != Ordering::Equal {
        return signs;
    }
    if a.denom() == b.denom() {
        return a.numer().cmp(b.numer());
    }
    (a.numer() * b.denom()).cmp(&(b.numer() * a.denom()))
}

/// Returns the positive greatest common divisor of two numbers, at least one of which is not zero.
///
/// The longer number is first replaced by its remainder. Otherwise the binary algorithm would take
/// one round for each bit that it is longer.
fn gcd(a: &BigInt, b: &BigInt) -> BigInt {
    let (a, b) = (a.magnitude(), b.magnitude());
    let (long, short) = if a >= b { (a, b) } else { (b, a) };
    if short.is_zero() {
        return BigInt::from(long.clone());
    }
    if short.is_one() {
        return BigInt::one();
    }
    match short.to_u128() {
        Some(short) => {
            // A remainder is smaller than its divisor, so that it fits as well.
            let rest = (long % BigUint::from(short)).to_u128().unwrap_or_default();
            BigInt::from(gcd_wide(short, rest))
        }
        None => BigInt::from(short.gcd(&(long % short))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn big() -> impl Strategy<Value = BigRational> {
        let part = prop::collection::vec(any::<u32>(), 0..9);
        (part.clone(), part, any::<bool>(), 1..1000_u32, 0..120_u32).prop_map(
            |(numerator, denominator, negative, factor, shift)| {
                // Common factors and powers of two make divisors that are not trivial.
                let numerator = BigInt::from(BigUint::new(numerator)) * factor;
                let denominator = (BigInt::from(BigUint::new(denominator)) * factor) << shift;
                let denominator = if denominator.is_zero() { BigInt::one() } else { denominator };
                BigRational::new(if negative { -numerator } else { numerator }, denominator)
            },
        )
    }

    proptest! {
        /// Results equal those of the number crate, which reduces after each operation. Numerators
        /// and denominators are compared, so that a fraction which was not reduced fails the test.
        #[test]
        fn results_are_those_of_the_number_crate_and_reduced(a in big(), b in big()) {
            let parts = |value: &BigRational| (value.numer().clone(), value.denom().clone());
            prop_assert_eq!(parts(&add(&a, &b)), parts(&(&a + &b)));
            prop_assert_eq!(parts(&add(&a, &-&a)), parts(&BigRational::zero()));
            prop_assert_eq!(parts(&multiply(&a, &b)), parts(&(&a * &b)));
            prop_assert_eq!(compare(&a, &b), a.cmp(&b));
            prop_assert_eq!(compare(&a, &a), Ordering::Equal);
        }
    }
}
