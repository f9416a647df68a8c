//! Values that are single: numbers, durations, booleans and text.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use super::{Rejection, Value, quoted};
use crate::config::Drain;

impl Value for bool {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        *self = match text {
            "true" => true,
            "false" => false,
            _ => {
                let message = format!("{} is neither true nor false", quoted(text));
                return Err(Rejection::write(message, "true or false"));
            }
        };
        Ok(())
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        text.clone_into(self);
        Ok(())
    }

    fn text(&self) -> String {
        self.clone()
    }
}

impl Value for f64 {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        *self = parse_number(text)?;
        Ok(())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn magnitudes(&self) -> Vec<f64> {
        vec![*self]
    }
}

/// Parses a number such as `1000`, `1e3`, `100k` or `1.5M`.
pub(super) fn parse_number(text: &str) -> Result<f64, Rejection> {
    let not_a_number =
        || format!("{} is not a number with an optional suffix k, M or G", quoted(text));
    let (mantissa, exponent) = split_suffix(text);
    if !mantissa.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-')) {
        return Err(not_a_number().into());
    }
    // The suffix becomes an exponent rather than a factor, so that 1.1M is rounded only once.
    let number: f64 =
        if exponent == 0 { mantissa.parse() } else { format!("{mantissa}e{exponent}").parse() }
            .map_err(|_| not_a_number())?;
    if number.is_finite() { Ok(number) } else { Err(format!("{text} is too large").into()) }
}

/// Splits a number and its suffix: `1.5M` becomes `1.5` and the exponent 6 of a power of ten.
fn split_suffix(text: &str) -> (&str, u32) {
    for (suffix, exponent) in [('k', 3), ('K', 3), ('M', 6), ('G', 9)] {
        if let Some(mantissa) = text.strip_suffix(suffix) {
            return (mantissa, exponent);
        }
    }
    (text, 0)
}

/// Parses a whole number such as `16`, `10k`, `1.5M` or `0x1f`.
pub(super) fn parse_whole(text: &str) -> Result<u128, Rejection> {
    let not_whole = || format!("{} is not a whole number from 0 on", quoted(text));
    if let Some(digits) = text.strip_prefix("0x") {
        let plain = digits.starts_with(|c: char| c.is_ascii_hexdigit());
        return plain
            .then(|| u128::from_str_radix(digits, 16).ok())
            .flatten()
            .ok_or_else(|| not_whole().into());
    }
    let (mantissa, exponent) = split_suffix(text);
    decimal(mantissa, 10u128.pow(exponent)).ok().flatten().ok_or_else(|| not_whole().into())
}

/// Returns the exact product of the decimal number in `text` and `unit`. Returns `Ok(None)` if the
/// product is not a whole number or is too large, and `Err` if `text` is not a decimal number.
fn decimal(text: &str, unit: u128) -> Result<Option<u128>, ()> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || text.ends_with('.') {
        return Err(());
    }
    let product = || {
        let mut total = whole.parse::<u128>().ok()?.checked_mul(unit)?;
        let fraction = fraction.trim_end_matches('0');
        if !fraction.is_empty() {
            let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            let part = fraction.parse::<u128>().ok()?.checked_mul(unit)?;
            if part % scale != 0 {
                return None;
            }
            total = total.checked_add(part / scale)?;
        }
        Some(total)
    };
    Ok(product())
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
                *self = narrow(text, <$type>::MAX as u128)?;
                Ok(())
            }

            fn text(&self) -> String {
                self.to_string()
            }

            fn magnitudes(&self) -> Vec<f64> {
                vec![*self as f64]
            }
        }
    )+};
}
whole_numbers!(u16, u32, u64, usize);

/// Parses a whole number of type `T`. `most` is the largest value of `T`, which the error message
/// contains.
pub(super) fn narrow<T: TryFrom<u128>>(text: &str, most: u128) -> Result<T, Rejection> {
    let whole = parse_whole(text)?;
    T::try_from(whole).map_err(|_| format!("{text} is above the maximum, {most}").into())
}

impl Value for Duration {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        *self = parse_duration(text)?;
        Ok(())
    }

    fn text(&self) -> String {
        duration_text(*self)
    }

    fn magnitudes(&self) -> Vec<f64> {
        vec![self.as_secs_f64()]
    }
}

/// The prefix of a drain setting with which a trial stops waiting for answers once no packet-in
/// waits for one. The time limit follows the prefix.
const UNTIL_EMPTY: &str = "until-empty:";

impl Value for Drain {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        *self = match text.strip_prefix(UNTIL_EMPTY) {
            Some(limit) => Self::UntilEmpty(parse_duration(limit)?),
            None if text == UNTIL_EMPTY.trim_end_matches(':') => {
                return Err(Rejection::write(
                    format!("{} has no limit", quoted(text)),
                    "until-empty:5m to wait for five minutes at most",
                ));
            }
            None => Self::For(parse_duration(text)?),
        };
        Ok(())
    }

    fn text(&self) -> String {
        match self {
            Self::For(longest) => duration_text(*longest),
            Self::UntilEmpty(limit) => format!("{UNTIL_EMPTY}{}", duration_text(*limit)),
        }
    }

    fn magnitudes(&self) -> Vec<f64> {
        vec![self.longest().as_secs_f64()]
    }
}

/// The units of time and their lengths in nanoseconds, the longest unit first.
const UNITS: [(&str, u128); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Parses a duration such as `500ms`, `1.5s` or `1m30s`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, Rejection> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    if !text.is_empty() && text.chars().all(is_number) {
        return Err(Rejection::write(
            format!("{} has no unit", quoted(text)),
            format!("{text}s for seconds or {text}ms for milliseconds"),
        ));
    }
    let wrong = || format!("{} is not a duration (units are h, m, s, ms, us, ns)", quoted(text));
    let mut nanoseconds = 0u128;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c| !is_number(c)).ok_or_else(wrong)?);
        let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        // Microseconds are written with the micro sign or with the Greek letter.
        let unit = if matches!(unit, "\u{b5}s" | "\u{3bc}s") { "us" } else { unit };
        let scale = UNITS.iter().find(|known| known.0 == unit).ok_or_else(wrong)?.1;
        let part = decimal(number, scale).map_err(|()| wrong())?;
        nanoseconds = part
            .and_then(|part| nanoseconds.checked_add(part))
            .ok_or_else(|| format!("{text} is too long, or finer than a nanosecond"))?;
        rest = after;
    }
    if text.is_empty() {
        return Err(wrong().into());
    }
    u64::try_from(nanoseconds)
        .map(Duration::from_nanos)
        .map_err(|_| format!("{text} is too long").into())
}

/// Formats a duration in the longest unit of which it is a whole multiple.
pub(in crate::config) fn duration_text(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let (unit, scale) = UNITS
        .iter()
        .find(|(_, scale)| nanoseconds.is_multiple_of(*scale))
        .copied()
        .unwrap_or(("ns", 1));
    format!("{}{unit}", nanoseconds / scale)
}

/// A text that may be absent. Empty text makes it absent.
#[derive(Debug, Default)]
pub(in crate::config) struct Unsettable(pub(in crate::config) Option<String>);

impl Value for Unsettable {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        self.0 = (!text.is_empty()).then(|| text.to_owned());
        Ok(())
    }

    fn text(&self) -> String {
        self.0.clone().unwrap_or_default()
    }
}

/// A value, or `None` for `auto`, in which case the probe chooses the value.
#[derive(Debug, Default)]
pub(in crate::config) struct Auto<T>(pub(in crate::config) Option<T>);

impl<T: Value + Default> Value for Auto<T> {
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        self.0 = match text {
            "auto" => None,
            _ => {
                let mut value = T::default();
                value.read(text, base)?;
                Some(value)
            }
        };
        Ok(())
    }

    fn text(&self) -> String {
        self.0.as_ref().map_or_else(|| "auto".to_owned(), Value::text)
    }

    fn magnitudes(&self) -> Vec<f64> {
        self.0.as_ref().map(Value::magnitudes).unwrap_or_default()
    }
}

/// The address on which servers listen.
#[derive(Debug)]
pub(in crate::config) struct ServerAddress(pub(in crate::config) IpAddr);

impl Default for ServerAddress {
    fn default() -> Self {
        Self(IpAddr::from([127, 0, 0, 1]))
    }
}

impl Value for ServerAddress {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        self.0 = parse_address(text)?;
        Ok(())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

/// The address to which the controller connects, if it differs from that of the servers.
#[derive(Debug, Default)]
pub(in crate::config) struct Advertise(pub(in crate::config) Option<IpAddr>);

impl Value for Advertise {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        self.0 = if text.is_empty() { None } else { Some(parse_address(text)?) };
        Ok(())
    }

    fn text(&self) -> String {
        self.0.map(|address| address.to_string()).unwrap_or_default()
    }
}

fn parse_address(text: &str) -> Result<IpAddr, Rejection> {
    text.parse().map_err(|_| format!("{} is not an IPv4 or IPv6 address", quoted(text)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_suffixes() {
        for (text, number) in
            [("1000", 1e3), ("100k", 1e5), ("1.5M", 1.5e6), ("1.1M", 1_100_000.0), ("2e3", 2e3)]
        {
            assert_eq!(parse_number(text), Ok(number), "{text}");
        }
        for text in ["", "k", "fast", "inf", "nan", "1 000", "1e999", "--1", "1kk", "+1"] {
            assert!(parse_number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_exact() {
        assert_eq!(parse_whole("18446744073709551615"), Ok(u128::from(u64::MAX)));
        assert_eq!(parse_whole("1.5k"), Ok(1500));
        assert_eq!(parse_whole("0xff"), Ok(255));
        for text in ["1.5", "-1", "0x", "0x+1", "1.2345k", "", "1.", ".5k"] {
            assert!(parse_whole(text).is_err(), "{text}");
        }
        assert_eq!(
            narrow::<u16>("70000", 65535).map_err(|rejection| rejection.message),
            Err("70000 is above the maximum, 65535".to_owned())
        );
    }

    #[test]
    fn durations_are_exact_and_read_back() {
        for (text, nanoseconds, shown) in [
            ("500ms", 500_000_000, "500ms"),
            ("1.5s", 1_500_000_000, "1500ms"),
            ("1m30s", 90_000_000_000, "90s"),
            ("100us", 100_000, "100us"),
            ("100\u{b5}s", 100_000, "100us"),
            ("100\u{3bc}s", 100_000, "100us"),
            ("120s", 120_000_000_000, "2m"),
            ("0", 0, "0s"),
            ("0ms", 0, "0s"),
        ] {
            let duration = parse_duration(text);
            assert_eq!(duration, Ok(Duration::from_nanos(nanoseconds)), "{text}");
            assert_eq!(duration_text(Duration::from_nanos(nanoseconds)), shown);
            assert_eq!(parse_duration(shown), duration);
        }
        for text in ["", "s", "5 s", "-5s", "5sec", "1.s", "0.1ns", "99999999999h", "5s3", "."] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_error_of_a_duration_without_unit_lists_the_units() {
        let rejection = parse_duration("10").expect_err("no unit");
        assert_eq!(rejection.message, "\"10\" has no unit");
        assert!(rejection.remedy("").is_some_and(|remedy| remedy.contains("10ms")));
    }
}
