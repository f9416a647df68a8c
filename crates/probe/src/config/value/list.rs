//! Values that are lists: rates, numbers of switches, thresholds, and overrides for single
//! switches.

use std::path::Path;

use super::scalar::{narrow, parse_number};
use super::{Rejection, Remedy, Value, quoted, switch_override};
use crate::config::SwitchOverride;
use crate::thresholds::Threshold;

/// The maximum length of a list of numbers. Each number requires a trial of several seconds, so a
/// longer list is a mistake.
const LONGEST: usize = 10_000;

/// The rates of a sweep.
#[derive(Debug, Default)]
pub(in crate::config) struct Rates(pub(in crate::config) Vec<f64>);

impl Value for Rates {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        extend(&mut self.0, &parse_numbers(text)?)
    }

    fn text(&self) -> String {
        self.elements().join(",")
    }

    fn elements(&self) -> Vec<String> {
        self.0.iter().map(f64::to_string).collect()
    }

    fn magnitudes(&self) -> Vec<f64> {
        self.0.clone()
    }
}

/// The numbers of switches in a sweep.
#[derive(Debug, Default)]
pub(in crate::config) struct Counts(pub(in crate::config) Vec<u32>);

impl Value for Counts {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        let numbers = parse_numbers(text)?;
        let whole = |number: &f64| narrow(&number.to_string(), u128::from(u32::MAX));
        extend(&mut self.0, &numbers.iter().map(whole).collect::<Result<Vec<_>, _>>()?)
    }

    fn text(&self) -> String {
        self.elements().join(",")
    }

    fn elements(&self) -> Vec<String> {
        self.0.iter().map(u32::to_string).collect()
    }

    fn magnitudes(&self) -> Vec<f64> {
        self.0.iter().map(|count| f64::from(*count)).collect()
    }
}

/// Appends elements to a list. Returns an error if an element would occur twice, because equal
/// points of a sweep could not be distinguished.
fn extend<T: PartialEq + Copy + std::fmt::Display>(
    list: &mut Vec<T>,
    more: &[T],
) -> Result<(), Rejection> {
    for element in more {
        if list.contains(element) {
            return Err(Rejection::write(
                format!("{element} is in the list twice"),
                "it once, and plan.repetitions for more trials",
            ));
        }
        if list.len() == LONGEST {
            return Err(format!("more than {LONGEST} values").into());
        }
        list.push(*element);
    }
    Ok(())
}

/// Parses numbers and ranges with commas between them, such as `100,200,500`, `100..1000:100` or
/// `10..10k:x10`.
fn parse_numbers(text: &str) -> Result<Vec<f64>, Rejection> {
    let mut numbers = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            Some((low, rest)) => numbers.extend(parse_range(part, low, rest)?),
            None => numbers.push(parse_number(part)?),
        }
        if numbers.len() > LONGEST {
            return Err(format!("more than {LONGEST} values").into());
        }
    }
    Ok(numbers)
}

fn parse_range(range: &str, low: &str, rest: &str) -> Result<Vec<f64>, Rejection> {
    let (high, step) = rest.split_once(':').ok_or_else(|| {
        Rejection::write(
            format!("the range {} has no step", quoted(range)),
            format!("{range}:100 to add 100 each time, or {range}:x2 to double"),
        )
    })?;
    let (low, high) = (parse_number(low)?, parse_number(high)?);
    if low > high {
        return Err(format!("the range {} ends before it begins", quoted(range)).into());
    }
    // Every value is computed from the start, so that rounding errors do not add up. The end is
    // included even if the last step exceeds it by a rounding error.
    let count = |steps: f64| -> Result<usize, Rejection> {
        if steps >= LONGEST as f64 {
            return Err(
                format!("the range {} has more than {LONGEST} values", quoted(range)).into()
            );
        }
        Ok((steps + 1e-9).floor() as usize + 1)
    };
    if let Some(factor) = step.strip_prefix('x') {
        let factor = parse_number(factor)?;
        if factor.is_nan() || factor <= 1.0 || low <= 0.0 {
            return Err(format!("the range {} does not grow", quoted(range)).into());
        }
        let count = count((high / low).ln() / factor.ln())?;
        return Ok((0..count).map(|step| low * factor.powi(step as i32)).collect());
    }
    let step = parse_number(step)?;
    if step.is_nan() || step <= 0.0 {
        return Err(format!("the range {} does not grow", quoted(range)).into());
    }
    let count = count((high - low) / step)?;
    Ok((0..count).map(|index| low + index as f64 * step).collect())
}

/// The conditions on the results that decide the exit status.
#[derive(Debug, Default)]
pub(in crate::config) struct Thresholds(pub(in crate::config) Vec<String>);

impl Value for Thresholds {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        for condition in text.split(';').map(str::trim) {
            let threshold = condition.parse::<Threshold>();
            threshold
                .map_err(|error| Rejection { message: error.to_string(), remedy: Remedy::Said })?;
            self.0.push(condition.to_owned());
        }
        Ok(())
    }

    fn text(&self) -> String {
        self.0.join("; ")
    }

    fn elements(&self) -> Vec<String> {
        self.0.clone()
    }
}

/// The overrides, which change some settings for single switches.
#[derive(Debug, Default)]
pub(in crate::config) struct Overrides(pub(in crate::config) Vec<SwitchOverride>);

impl Value for Overrides {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        for one in text.split(';').map(str::trim) {
            self.0.push(switch_override::parse(one, base)?);
        }
        Ok(())
    }

    fn text(&self) -> String {
        self.elements().join("; ")
    }

    fn elements(&self) -> Vec<String> {
        self.0.iter().map(switch_override::text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str) -> Result<Vec<f64>, String> {
        let mut rates = Rates::default();
        rates.read(text, Path::new("")).map_err(|rejection| rejection.message)?;
        Ok(rates.0)
    }

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(rates("100,200, 500"), Ok(vec![100.0, 200.0, 500.0]));
        assert_eq!(rates("100..400:100"), Ok(vec![100.0, 200.0, 300.0, 400.0]));
        assert_eq!(rates("100..450:100"), Ok(vec![100.0, 200.0, 300.0, 400.0]));
        assert_eq!(rates("10..10k:x10"), Ok(vec![10.0, 100.0, 1000.0, 10_000.0]));
        assert_eq!(rates("0.1..0.3:0.1").map(|rates| rates.len()), Ok(3));
        assert_eq!(rates("5..5:1,7"), Ok(vec![5.0, 7.0]));
    }

    #[test]
    fn ranges_that_make_no_sense_are_refused() {
        for (text, complaint) in [
            ("", "\"\" is not a number"),
            ("1,,2", "\"\" is not a number"),
            ("100..400", "the range \"100..400\" has no step"),
            ("400..100:10", "ends before it begins"),
            ("1..10:0", "does not grow"),
            ("1..10:x1", "does not grow"),
            ("0..10:x2", "does not grow"),
            ("0..1G:1", "more than 10000"),
            ("1..2:1,2", "2 is in the list twice"),
        ] {
            let message = rates(text).expect_err(text);
            assert!(message.contains(complaint), "{text}: {message}");
        }
    }

    #[test]
    fn switch_counts_are_whole() {
        let mut counts = Counts::default();
        assert!(counts.read("1,2..8:x2", Path::new("")).is_ok());
        assert_eq!(
            (counts.0.as_slice(), counts.text()),
            ([1, 2, 4, 8].as_slice(), "1,2,4,8".into())
        );
        assert!(counts.read("1.5", Path::new("")).is_err());
        assert!(counts.read("5G", Path::new("")).is_err());
    }
}
