//! Times, queue numbers, and quantities with units such as `10Mbps`, `96kB` and `5us`.

use std::fmt;

/// The largest number of queues of a port.
pub const MAX_QUEUES: u8 = 64;

/// A time in whole nanoseconds since an origin of the caller's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// The number of a queue of a port, below [`MAX_QUEUES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(u8);

impl QueueId {
    /// Returns the queue with a number, or `None` if the number is not below [`MAX_QUEUES`].
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| *number < MAX_QUEUES).map(Self)
    }

    /// Returns the number of the queue.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error for a text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// The text is not a decimal number with one of the units.
    #[error("'{text}' is no {what}; write {example}")]
    Form {
        /// The text that is not a quantity.
        text: String,
        /// The kind of quantity that is expected, such as a rate.
        what: &'static str,
        /// Examples of the quantity.
        example: &'static str,
    },
    /// The quantity is too large, or not a whole number of its smallest unit.
    #[error("'{text}' is not a whole number of {unit} below 2^63")]
    NotWhole {
        /// The text of the quantity.
        text: String,
        /// The smallest unit of the quantity, such as nanoseconds.
        unit: &'static str,
    },
}

/// A kind of quantity: its name, examples, its smallest unit, and its units with their sizes.
struct Kind {
    what: &'static str,
    example: &'static str,
    smallest: &'static str,
    units: &'static [(&'static str, u64)],
}

const TIME: Kind = Kind {
    what: "time",
    example: "such as 800ns, 5us, 1.5ms or 2s",
    smallest: "nanoseconds",
    units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
};

const BIT_RATE: Kind = Kind {
    what: "rate",
    example: "such as 10Mbps, 1.5Gbps or 1000pps",
    smallest: "bits per second",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("Bps", 8),
        ("kBps", 8_000),
        ("MBps", 8_000_000),
        ("GBps", 8_000_000_000),
    ],
};

const PACKET_RATE: Kind = Kind {
    what: "rate",
    example: "such as 1000pps or 2kpps",
    smallest: "packets per second",
    units: &[("pps", 1), ("kpps", 1_000), ("Mpps", 1_000_000), ("Gpps", 1_000_000_000)],
};

const SIZE: Kind = Kind {
    what: "size",
    example: "such as 1500B, 96kB or 1MiB",
    smallest: "bytes",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
};

/// Parses a time such as `5us` or `1.5ms`.
///
/// # Errors
/// Fails if the text is not a number with a unit of time, or not a whole number of nanoseconds.
pub fn time(text: &str) -> Result<Nanos, UnitError> {
    TIME.parse(text).map(Nanos)
}

/// Parses a rate in bits per second.
pub(crate) fn bit_rate(text: &str) -> Result<u64, UnitError> {
    BIT_RATE.parse(text)
}

/// Parses a rate in packets per second.
pub(crate) fn packet_rate(text: &str) -> Result<u64, UnitError> {
    PACKET_RATE.parse(text)
}

/// Parses a size in bytes.
pub(crate) fn size(text: &str) -> Result<u64, UnitError> {
    SIZE.parse(text)
}

impl Kind {
    fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let form =
            || UnitError::Form { text: text.to_owned(), what: self.what, example: self.example };
        let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(form)?;
        let (number, unit) = text.split_at(at);
        let unit = self.units.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(form)?;
        let number = number.trim();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || number.ends_with('.') {
            return Err(form());
        }
        let not_whole = || UnitError::NotWhole { text: text.to_owned(), unit: self.smallest };
        let fraction = fraction.trim_end_matches('0');
        let mantissa: u128 = format!("{whole}{fraction}").parse().map_err(|_| not_whole())?;
        let places = u32::try_from(fraction.len()).map_err(|_| not_whole())?;
        let divisor = 10_u128.checked_pow(places).ok_or_else(not_whole)?;
        let scaled = mantissa.checked_mul(unit.1.into()).ok_or_else(not_whole)?;
        if scaled % divisor != 0 || scaled / divisor > i64::MAX as u128 {
            return Err(not_whole());
        }
        u64::try_from(scaled / divisor).map_err(|_| not_whole())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact_integers() {
        assert_eq!(time("1.5us"), Ok(Nanos(1500)));
        assert_eq!(bit_rate("1.5Mbps"), Ok(1_500_000));
        assert_eq!(bit_rate("10kBps"), Ok(80_000));
        assert_eq!(packet_rate("2kpps"), Ok(2_000));
        assert_eq!((size("96kB"), size("1 KiB"), size("0.50kB")), (Ok(96_000), Ok(1024), Ok(500)));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "5", "us", ".5us", "5.us", "-5us", "5 sec", "1e3us", "5µs"] {
            assert!(matches!(time(text), Err(UnitError::Form { .. })), "{text}");
        }
        for text in ["0.5ns", "99999999999999999999s", "9223372036.854775808s"] {
            assert!(matches!(time(text), Err(UnitError::NotWhole { .. })), "{text}");
        }
        assert_eq!(
            bit_rate("10").map_err(|error| error.to_string()).unwrap_err(),
            "'10' is no rate; write such as 10Mbps, 1.5Gbps or 1000pps"
        );
    }
}
