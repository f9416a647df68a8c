//! Overrides, which change some settings for a range of the emulated switches.
//!
//! An override is written as the range of switches, a colon and the changed settings (fields). For
//! example, `0-9:rate=100,start-delay=2s` makes each of the switches 0 to 9 send 100 packet-ins per
//! second, and begin 2 seconds after the start of traffic.

use std::path::Path;

use super::path::input_file;
use super::scalar::{duration_text, narrow, parse_duration, parse_number};
use super::{Rejection, Value, alternatives, quoted};
use crate::config::{Arrivals, SwitchOverride};

/// The allowed rates of a switch in packet-ins per second.
const RATES: std::ops::RangeInclusive<f64> = 0.001..=100e6;

/// A field of an override: the range of switches, or a setting that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Field {
    Index,
    Rate,
    Arrivals,
    StartDelay,
    StopDelay,
    Replay,
}

impl Field {
    /// All fields, in the order in which they are formatted.
    pub(in crate::config) const ALL: [Self; 6] =
        [Self::Index, Self::Rate, Self::Arrivals, Self::StartDelay, Self::StopDelay, Self::Replay];

    /// Returns the name of the field in a TOML file and in a flag.
    pub(in crate::config) fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Rate => "rate",
            Self::Arrivals => "arrivals",
            Self::StartDelay => "start-delay",
            Self::StopDelay => "stop-delay",
            Self::Replay => "replay",
        }
    }

    /// Returns a valid value of the field, which error messages show as an example.
    pub(in crate::config) fn example(self) -> &'static str {
        match self {
            Self::Index => "0-9",
            Self::Rate => "500",
            Self::Arrivals => "exponential",
            Self::StartDelay => "2s",
            Self::StopDelay => "500ms",
            Self::Replay => "replay.pcap",
        }
    }

    /// Returns the field with the given name, or `None` if there is none.
    pub(in crate::config) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns the fields in the text of an override, each with its name and value. The range of
    /// switches is the field `index`.
    pub(in crate::config) fn parts(text: &str) -> Vec<(&str, &str)> {
        let (index, fields) = text.split_once(':').unwrap_or((text, ""));
        let fields = split_fields(fields);
        let values = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
        std::iter::once((Self::Index.name(), index)).chain(values).collect()
    }
}

/// Checks the value of one field, and returns the reason if it is invalid. Relative file names are
/// relative to `base`.
pub(in crate::config) fn check_field(
    field: Field,
    text: &str,
    base: &Path,
) -> Result<(), Rejection> {
    set_field(&mut SwitchOverride::default(), field, text, base)
}

/// Parses the value of one field and stores it in `target`.
fn set_field(
    target: &mut SwitchOverride,
    field: Field,
    text: &str,
    base: &Path,
) -> Result<(), Rejection> {
    match field {
        Field::Index => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let index = |text: &str| narrow(text.trim(), u128::from(u32::MAX));
            (target.first, target.last) = (index(first)?, index(last)?);
            if target.first > target.last {
                return Err(format!("the range {} ends before it begins", quoted(text)).into());
            }
        }
        Field::Rate => {
            let rate = parse_number(text)?;
            if !RATES.contains(&rate) {
                let (low, high) = (RATES.start(), RATES.end());
                return Err(format!("the rate {rate} is outside {low} to {high}").into());
            }
            target.rate = Some(rate);
        }
        Field::Arrivals => {
            let mut arrivals = Arrivals::default();
            arrivals.read(text, base)?;
            target.arrivals = Some(arrivals);
        }
        Field::StartDelay => target.start_delay = Some(parse_duration(text)?),
        Field::StopDelay => target.stop_delay = Some(parse_duration(text)?),
        Field::Replay => target.replay = Some(input_file(text, base)?),
    }
    Ok(())
}

/// Parses `INDEX[-LAST]:field=value,...`.
pub(super) fn parse(text: &str, base: &Path) -> Result<SwitchOverride, Rejection> {
    let form = "0-9:rate=100,start-delay=2s";
    let (index, fields) = text
        .split_once(':')
        .ok_or_else(|| Rejection::write(format!("{} lacks the differences", quoted(text)), form))?;
    let mut result = SwitchOverride::default();
    set_field(&mut result, Field::Index, index, base)?;
    let mut seen = vec![Field::Index];
    for (name, value) in split_fields(fields) {
        let Some(field) = Field::by_name(name).filter(|field| *field != Field::Index) else {
            let names: Vec<_> = Field::ALL[1..].iter().map(|field| field.name()).collect();
            let message = format!("{} cannot differ between switches", quoted(name));
            return Err(Rejection::write(message, alternatives(&names)));
        };
        if seen.contains(&field) {
            return Err(format!("{name} is given twice").into());
        }
        seen.push(field);
        let value =
            value.ok_or_else(|| Rejection::write(format!("{name} lacks its value"), form))?;
        set_field(&mut result, field, value, base)?;
    }
    Ok(result)
}

/// Splits the text `field=value,...` into the names and values of its fields. A value is `None` if
/// there is no `=`. A comma separates fields only if a field name and `=` follow it, so that file
/// names may contain commas.
fn split_fields(text: &str) -> Vec<(&str, Option<&str>)> {
    let begins_field = |part: &str| {
        part.split_once('=').is_some_and(|(name, _)| {
            name.trim().chars().all(|c| c.is_ascii_lowercase() || c == '-')
        })
    };
    let mut starts = vec![0];
    for (at, _) in text.match_indices(',') {
        if text.get(at + 1..).is_some_and(begins_field) {
            starts.push(at + 1);
        }
    }
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(start, end)| text.get(*start..end))
        .map(|part| match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (part.trim(), None),
        })
        .collect()
}

/// Returns the canonical text of an override, with its fields in the order of [`Field::ALL`].
pub(super) fn text(value: &SwitchOverride) -> String {
    let mut fields = Vec::new();
    let mut push = |field: Field, text: Option<String>| {
        fields.extend(text.map(|text| format!("{}={text}", field.name())));
    };
    push(Field::Rate, value.rate.map(|rate| rate.to_string()));
    push(Field::Arrivals, value.arrivals.as_ref().map(Value::text));
    push(Field::StartDelay, value.start_delay.map(duration_text));
    push(Field::StopDelay, value.stop_delay.map(duration_text));
    push(Field::Replay, value.replay.as_ref().map(|path| path.display().to_string()));
    let index = if value.first == value.last {
        value.first.to_string()
    } else {
        format!("{}-{}", value.first, value.last)
    };
    format!("{index}:{}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Result<SwitchOverride, String> {
        parse(text, Path::new("")).map_err(|rejection| rejection.message)
    }

    #[test]
    fn an_override_reads_back_what_it_writes() {
        let written = "0-9:rate=1k,start-delay=2s, arrivals=pareto:2.5,stop-delay=500ms";
        let value = read(written).expect("an override");
        assert_eq!((value.first, value.last, value.rate), (0, 9, Some(1000.0)));
        assert_eq!(value.start_delay, Some(Duration::from_secs(2)));
        assert_eq!(value.arrivals, Some(Arrivals::Pareto { shape: 2.5 }));
        let canonical = text(&value);
        assert_eq!(canonical, "0-9:rate=1000,arrivals=pareto:2.5,start-delay=2s,stop-delay=500ms");
        assert_eq!(read(&canonical), Ok(value));
    }

    #[test]
    fn a_file_may_have_commas_in_its_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("a,b.pcap"), "x").expect("a file");
        let value = parse("3:replay=a,b.pcap,rate=5", folder.path()).expect("an override");
        assert_eq!(value.replay, Some(folder.path().join("a,b.pcap")));
        assert_eq!((value.first, value.last, value.rate), (3, 3, Some(5.0)));
    }

    #[test]
    fn malformed_overrides_are_refused() {
        for (text, complaint) in [
            ("", "lacks the differences"),
            ("5", "lacks the differences"),
            ("x:rate=1", "\"x\" is not a whole number"),
            ("9-0:rate=1", "ends before it begins"),
            ("0:", "\"\" cannot differ"),
            ("0:rate", "rate lacks its value"),
            ("0:rate=0", "the rate 0 is outside"),
            ("0:rate=1,rate=2", "rate is given twice"),
            ("0:ports=4", "\"ports\" cannot differ"),
            ("0:index=4", "\"index\" cannot differ"),
            ("0:start-delay=4", "has no unit"),
            ("0:replay=", "the name of a file is missing"),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(complaint), "{text}: {message}");
        }
    }
}
