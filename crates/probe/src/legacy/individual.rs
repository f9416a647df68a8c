//! Translates the settings of single switches, which are in the file `ofSwitch.ini` of OFCProbe and
//! P4RCProbe.
//!
//! A key consists of a switch ID, padded with zeros to three digits, a dot and a name, such as
//! `008.start`. The original tools do not recognise keys without the padding, such as `8.start`.

use std::collections::BTreeMap;
use std::path::Path;

use super::arrivals::Interval;
use super::properties::{self, Properties};
use super::translate::noted;
use super::{LegacyError, LegacyFault, LegacySetting};

/// The settings of all switches, from which the settings of single switches may differ.
pub(super) struct Base {
    pub(super) first_id: u64,
    pub(super) switches: u64,
    /// The times between the events at which a switch sends packets.
    pub(super) interval: Interval,
    /// Whether these times are drawn from a distribution instead of being constant.
    pub(super) distributed: bool,
    pub(super) iat_ms: u64,
    /// The product of these two numbers (`fill` and the next one) is the number of packets per
    /// event.
    pub(super) fill: u64,
    pub(super) per_event: u64,
    /// The number of packets per event if packets are sent between hosts. It replaces the product
    /// of the two numbers above.
    pub(super) burst_of_hosts: Option<f64>,
    /// The duration of the traffic in milliseconds.
    pub(super) traffic_ms: u64,
}

/// The result of translating the file.
#[derive(Default)]
pub(super) struct Found {
    pub(super) settings: Vec<LegacySetting>,
    pub(super) notes: Vec<String>,
    pub(super) faults: Vec<LegacyFault>,
}

/// The valid names, which follow the dot in a key.
const NAMES: &[&str] = &[
    "iat",
    "fillthreshold",
    "conDelay",
    "start",
    "stop",
    "pcapFile",
    "iatDistribution",
    "iatDistributionParamter1",
    "iatDistributionParamter2",
];

/// The keys of one switch, each with its value and line number.
type Keys = BTreeMap<&'static str, (String, usize)>;

pub(super) fn read(file: &Path, base: &Base) -> Result<Found, LegacyError> {
    let properties = properties::read(file)?;
    let mut found = Found::default();
    for (id, keys) in by_switch(file, properties, &mut found) {
        let line = keys.values().map(|(_, line)| *line).min().unwrap_or(0);
        let index = id.checked_sub(base.first_id).filter(|index| *index < base.switches);
        let Some(index) = index else {
            let text = format!("there is no switch {id}: its settings are ignored");
            found.notes.push(noted(file, line, &text));
            continue;
        };
        let mut reader = Reader { file, keys: &keys, base, found: &mut found };
        let differences = reader.differences();
        if !differences.is_empty() {
            let value = format!("{index}:{}", differences.join(","));
            found.settings.push(LegacySetting {
                key: "switch",
                value,
                file: file.to_owned(),
                line,
            });
        }
    }
    found.faults.sort_by_key(|fault| fault.line);
    Ok(found)
}

fn by_switch(file: &Path, properties: Properties, found: &mut Found) -> BTreeMap<u64, Keys> {
    let mut switches: BTreeMap<u64, Keys> = BTreeMap::new();
    for (key, property) in properties {
        let place = key.split_once('.').and_then(|(id, name)| {
            let number: u64 = id.parse().ok()?;
            let name = NAMES.iter().find(|known| **known == name)?;
            Some((id, number, *name))
        });
        let message = match place {
            Some((id, number, name)) if id == format!("{number:03}") => {
                let keys = switches.entry(number).or_default();
                keys.insert(name, (property.value, property.line));
                continue;
            }
            Some((_, number, name)) => {
                format!("\"{key}\" names no switch to those tools; write {number:03}.{name}")
            }
            None => format!(
                "\"{key}\" is not a setting of a switch; expected an id of three digits, a dot and one of {}",
                NAMES.join(", ")
            ),
        };
        found.faults.push(LegacyFault { file: file.to_owned(), line: property.line, message });
    }
    switches
}

/// A reader of those keys in the file that belong to one switch.
struct Reader<'a> {
    file: &'a Path,
    keys: &'a Keys,
    base: &'a Base,
    found: &'a mut Found,
}

impl Reader<'_> {
    /// Returns the settings in which the switch differs from the others, in the form that the
    /// setting `switch` takes.
    fn differences(&mut self) -> Vec<String> {
        let mut differences = Vec::new();
        self.load(&mut differences);
        if let Some(start) = self.number("start", 0) {
            differences.push(format!("start-delay={start}ms"));
        }
        // The original tools count from the start of traffic, and take 0 for never.
        if let Some(stop) = self.number("stop", 0).filter(|stop| *stop > 0) {
            let before_end = self.base.traffic_ms.saturating_sub(stop);
            if before_end > 0 {
                differences.push(format!("stop-delay={before_end}ms"));
            }
        }
        if let Some((delay, line)) = self.keys.get("conDelay")
            && delay != "0"
        {
            let text = "conDelay has no counterpart: switches.connect-rate paces all connections";
            self.note(*line, text);
        }
        if let Some((capture, _)) = self.keys.get("pcapFile") {
            let capture = self.file.parent().unwrap_or(Path::new("")).join(capture);
            differences.push(format!("replay={}", capture.display()));
        }
        differences
    }

    fn load(&mut self, differences: &mut Vec<String>) {
        let iat = self.number("iat", 1);
        let fill = self.number("fillthreshold", 1);
        let Some(interval) = self.interval(iat) else { return };
        let packets = self
            .base
            .burst_of_hosts
            .unwrap_or_else(|| fill.unwrap_or(self.base.fill) as f64 * self.base.per_event as f64);
        let changes_fill = fill.is_some() && self.base.burst_of_hosts.is_none();
        if changes_fill || interval != self.base.interval {
            differences.push(format!("rate={}", interval.rate(packets)));
        }
        if interval.arrivals != self.base.interval.arrivals {
            differences.push(format!("arrivals={}", interval.arrivals));
        }
    }

    /// Returns the times between the switch's events, or `None` if the keys that define them are
    /// wrong.
    fn interval(&mut self, iat: Option<u64>) -> Option<Interval> {
        let distribution = self.keys.get("iatDistribution").cloned();
        if !self.base.distributed {
            if let Some((_, line)) = distribution {
                self.note(line, "iatDistribution does nothing while trafficGenConfig.iatType is 0");
            }
            return Some(Interval::constant(iat.unwrap_or(self.base.iat_ms)));
        }
        if let (Some(_), Some((_, line))) = (iat, self.keys.get("iat")) {
            self.note(*line, "iat does nothing while trafficGenConfig.iatType is 1");
        }
        let Some((name, line)) = distribution else { return Some(self.base.interval.clone()) };
        let first = self.decimal("iatDistributionParamter1", 100.0)?;
        let second = self.decimal("iatDistributionParamter2", 1.0)?;
        match Interval::distributed(&name, first, second) {
            Ok(interval) => {
                if let Some(note) = interval.note {
                    self.note(line, note);
                }
                Some(interval)
            }
            Err(message) => {
                self.fault(line, message);
                None
            }
        }
    }

    fn number(&mut self, name: &str, least: u64) -> Option<u64> {
        let (value, line) = self.keys.get(name)?;
        match value.parse().ok().filter(|number| (least..=i32::MAX as u64).contains(number)) {
            Some(number) => Some(number),
            None => {
                let message =
                    format!("{name} is \"{value}\"; expected a whole number from {least}");
                self.fault(*line, message);
                None
            }
        }
    }

    fn decimal(&mut self, name: &str, default: f64) -> Option<f64> {
        let Some((value, line)) = self.keys.get(name) else { return Some(default) };
        let number = value.parse().ok();
        if number.is_none() {
            self.fault(*line, format!("{name} is \"{value}\"; expected a number"));
        }
        number
    }

    fn note(&mut self, line: usize, text: &str) {
        self.found.notes.push(noted(self.file, line, text));
    }

    fn fault(&mut self, line: usize, message: String) {
        self.found.faults.push(LegacyFault { file: self.file.to_owned(), line, message });
    }
}
