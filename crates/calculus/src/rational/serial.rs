//! Serialises exact numbers as a pair of numerator and denominator in decimal, of any length.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Rational;

impl Serialize for Rational {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_parts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rational {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (numerator, denominator) = <(String, String)>::deserialize(deserializer)?;
        let whole = |text: &str| text.parse::<BigInt>().map_err(D::Error::custom);
        let (numerator, denominator) = (whole(&numerator)?, whole(&denominator)?);
        if denominator.is_zero() {
            return Err(D::Error::custom("a number whose denominator is zero"));
        }
        Ok(Self::from_big(BigRational::new(numerator, denominator)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_come_back_as_they_were() {
        let long: Rational = format!("-{}/3", "9".repeat(90)).parse().expect("a number");
        let longer = &(&long * &long) * &Rational::ratio(7, 11);
        for number in [Rational::ZERO, Rational::ratio(-67, 100), long, longer] {
            let text = serde_json::to_string(&number).expect("JSON");
            let back: Rational = serde_json::from_str(&text).expect("a number");
            assert_eq!((&back, back.is_machine_word()), (&number, number.is_machine_word()));
        }
        assert!(serde_json::from_str::<Rational>(r#"["1","0"]"#).is_err());
    }
}
