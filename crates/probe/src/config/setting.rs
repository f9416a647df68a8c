//! The definition of a setting.
//!
//! A [`Setting`] is a row of the table in [`super::settings`]. Flags, TOML keys, the resolved
//! configuration, the manual and the reference documentation are all derived from this row, so that
//! they cannot contradict each other.

use super::draft::Draft;
use super::settings;
use super::value::{Value, duration_text};

/// A setting, which is a key of the TOML file and a flag of the command.
#[derive(Debug)]
pub struct Setting {
    /// The dotted key in the TOML file, such as `traffic.rate`.
    pub key: &'static str,
    /// The long flag without the dashes.
    pub flag: &'static str,
    /// The short form of the flag, which is a single letter, or `None` if there is none.
    pub short: Option<char>,
    /// The placeholder for the value in the help text.
    pub value_name: &'static str,
    /// Whether the setting may be given several times, and whether its flag needs a value.
    pub kind: Kind,
    /// The default value as text (empty if the setting is unset by default).
    pub default: &'static str,
    /// A value that a user might write, as text.
    pub example: &'static str,
    /// The meaning of the setting in one line.
    pub summary: &'static str,
    /// A paragraph with the unit, the meaning and the reason for the default.
    pub manual: &'static str,
    /// The range in which every number in the value must lie.
    pub(super) limits: Limits,
    /// Returns the field of a draft in which the value of the setting is stored.
    pub(super) slot: fn(&mut Draft) -> &mut dyn Value,
}

/// The number of times that a setting may be given, and the form of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The setting is given once, with a value.
    Value,
    /// The setting is given once. The flag without a value means `true`.
    Flag,
    /// The setting may be given any number of times. It is an array in the TOML file.
    List,
    /// The setting may be given any number of times. It is an array of tables in the TOML file.
    Tables,
}

impl Kind {
    /// Returns whether the values of several occurrences form a list.
    pub(super) fn repeats(self) -> bool {
        matches!(self, Self::List | Self::Tables)
    }
}

/// The range in which a number must lie, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limits {
    /// No range is checked, or the syntax of the value ensures that it is in range.
    Free,
    /// The smallest and the largest allowed number, without a unit.
    Number(f64, f64),
    /// The shortest and the longest allowed duration, in seconds.
    Seconds(f64, f64),
}

impl Limits {
    /// Describes the problem if a number is out of range. Returns `None` if it is in range.
    pub(super) fn complaint(self, magnitude: f64) -> Option<String> {
        let (low, high) = match self {
            Self::Free => return None,
            Self::Number(low, high) | Self::Seconds(low, high) => (low, high),
        };
        if magnitude < low {
            Some(format!("{} is below the minimum, {}", self.show(magnitude), self.show(low)))
        } else if magnitude > high {
            Some(format!("{} is above the maximum, {}", self.show(magnitude), self.show(high)))
        } else {
            None
        }
    }

    /// Returns the range as text.
    fn text(self) -> Option<String> {
        match self {
            Self::Free => None,
            Self::Number(low, high) | Self::Seconds(low, high) => {
                Some(format!("{} to {}", self.show(low), self.show(high)))
            }
        }
    }

    fn show(self, magnitude: f64) -> String {
        match self {
            Self::Seconds(..) => std::time::Duration::try_from_secs_f64(magnitude)
                .map_or_else(|_| magnitude.to_string(), duration_text),
            Self::Free | Self::Number(..) => number_text(magnitude),
        }
    }
}

/// Formats a number, with the suffix `M` or `k` if it is a whole multiple: `100M`, `100k`, `65279`.
fn number_text(number: f64) -> String {
    for (scale, suffix) in [(1e6, "M"), (1e3, "k")] {
        if number >= scale && number % scale == 0.0 {
            return format!("{}{suffix}", number / scale);
        }
    }
    number.to_string()
}

impl Setting {
    /// Returns the setting with the given key, or `None` if there is none.
    pub fn by_key(key: &str) -> Option<&'static Self> {
        Self::all().find(|setting| setting.key == key)
    }

    /// Returns every setting, in the order of the manual.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        Section::ALL.iter().flat_map(|section| section.settings())
    }

    /// Returns the range of the setting's numbers as text, such as `0s to 1h`.
    pub fn range(&self) -> Option<String> {
        self.limits.text()
    }

    /// Returns a line of text with the key, the default, the range and the example of the setting.
    pub fn facts(&self) -> String {
        let default = if self.default.is_empty() { "not set" } else { self.default };
        let mut facts = format!("Key {}, default {default}", self.key);
        if let Some(range) = self.range() {
            facts.push_str(&format!(", range {range}"));
        }
        if self.kind != Kind::Flag {
            facts.push_str(&format!(", for example {}", self.example));
        }
        facts.push('.');
        facts
    }
}

/// A section of the manual, with settings that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Settings of the run as a whole.
    Run,
    /// Settings of the controller under test.
    Controller,
    /// Settings of the emulated switches.
    Switches,
    /// Settings of the traffic.
    Traffic,
    /// Settings of the phases of a trial.
    Timing,
    /// Settings of the plan and its thresholds.
    Plan,
    /// Settings of the tests of RFC 8456.
    Rfc8456,
    /// Settings for where results are written.
    Output,
    /// Settings of the P4Runtime servers.
    P4Runtime,
    /// Settings of TLS on the control channel.
    Tls,
}

impl Section {
    /// Every section, in the order of the manual.
    pub const ALL: &'static [Self] = &[
        Self::Run,
        Self::Controller,
        Self::Switches,
        Self::Traffic,
        Self::Timing,
        Self::Plan,
        Self::Rfc8456,
        Self::Output,
        Self::P4Runtime,
        Self::Tls,
    ];

    /// Returns the heading of the section in the manual.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Run => "Run",
            Self::Controller => "Controller",
            Self::Switches => "Switches",
            Self::Traffic => "Traffic",
            Self::Timing => "Timing",
            Self::Plan => "Plan",
            Self::Rfc8456 => "RFC 8456",
            Self::Output => "Output",
            Self::P4Runtime => "P4Runtime",
            Self::Tls => "TLS",
        }
    }

    /// Returns the settings of the section, in the order of the manual.
    pub fn settings(self) -> &'static [Setting] {
        match self {
            Self::Run => settings::run::SETTINGS,
            Self::Controller => settings::controller::SETTINGS,
            Self::Switches => settings::switches::SETTINGS,
            Self::Traffic => settings::traffic::SETTINGS,
            Self::Timing => settings::timing::SETTINGS,
            Self::Plan => settings::plan::SETTINGS,
            Self::Rfc8456 => settings::rfc8456::SETTINGS,
            Self::Output => settings::output::SETTINGS,
            Self::P4Runtime => settings::p4runtime::SETTINGS,
            Self::Tls => settings::tls::SETTINGS,
        }
    }
}
