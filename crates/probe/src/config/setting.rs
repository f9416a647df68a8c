//! What is known about one setting.
//!
//! A [`Setting`] is a row of the table in [`super::settings`]. Flags, TOML keys, the resolved
//! configuration, the manual and the reference documentation are all read off the same row, so
//! that none of them can lag behind the others.

use super::draft::Draft;
use super::settings;
use super::value::{Value, duration_text};

/// One setting: a key of the TOML file and a flag of the command.
#[derive(Debug)]
pub struct Setting {
    /// Key in the TOML file, dotted, such as `traffic.rate`.
    pub key: &'static str,
    /// Long flag without the dashes.
    pub flag: &'static str,
    /// Short flag.
    pub short: Option<char>,
    /// What the value is called in the help text.
    pub value_name: &'static str,
    /// How often it may be given, and whether the flag needs a value.
    pub kind: Kind,
    /// Value if nobody sets it; empty where it is then unset.
    pub default: &'static str,
    /// A value as a user might write it.
    pub example: &'static str,
    /// One line.
    pub summary: &'static str,
    /// A paragraph: unit, meaning, why the default is what it is.
    pub manual: &'static str,
    /// Range of every number in the value.
    pub(super) limits: Limits,
    /// Where the value is kept until it is checked.
    pub(super) slot: fn(&mut Draft) -> &mut dyn Value,
}

/// How a setting is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Once, with a value.
    Value,
    /// Once; the flag alone means `true`.
    Flag,
    /// Any number of times; an array in the TOML file.
    List,
    /// As `List`, but an array of tables in the TOML file.
    Tables,
}

impl Kind {
    /// Whether several values add up.
    pub(super) fn repeats(self) -> bool {
        matches!(self, Self::List | Self::Tables)
    }
}

/// Range of a number, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limits {
    /// No range, or one that the value's own syntax ensures.
    Free,
    /// A plain number.
    Number(f64, f64),
    /// A duration, in seconds.
    Seconds(f64, f64),
}

impl Limits {
    /// Says what is wrong with a number.
    pub(super) fn complaint(self, magnitude: f64) -> Option<String> {
        let (low, high) = match self {
            Self::Free => return None,
            Self::Number(low, high) | Self::Seconds(low, high) => (low, high),
        };
        if magnitude < low {
            Some(format!("{} is below the least, {}", self.show(magnitude), self.show(low)))
        } else if magnitude > high {
            Some(format!("{} is above the most, {}", self.show(magnitude), self.show(high)))
        } else {
            None
        }
    }

    /// The range in words.
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

/// A number as a person would write it: `100M`, `100k`, `65279`.
fn number_text(number: f64) -> String {
    for (scale, suffix) in [(1e6, "M"), (1e3, "k")] {
        if number >= scale && number % scale == 0.0 {
            return format!("{}{suffix}", number / scale);
        }
    }
    number.to_string()
}

impl Setting {
    /// The setting with a key.
    pub fn by_key(key: &str) -> Option<&'static Self> {
        Self::all().find(|setting| setting.key == key)
    }

    /// Every setting, in the order of the manual.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        Section::ALL.iter().flat_map(|section| section.settings())
    }

    /// The range of its numbers in words, such as `0s to 1h`.
    pub fn range(&self) -> Option<String> {
        self.limits.text()
    }

    /// Key, default, range and example on one line.
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

/// A group of settings that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The run as a whole.
    Run,
    /// The system under test.
    Controller,
    /// The emulated switches.
    Switches,
    /// What is sent, and when.
    Traffic,
    /// The phases of a trial.
    Timing,
    /// Which trials make up the run, and what makes it fail.
    Plan,
    /// The tests of RFC 8456.
    Rfc8456,
    /// Where results go.
    Output,
    /// P4Runtime servers.
    P4Runtime,
    /// TLS on the control channel.
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

    /// Its heading.
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

    /// Its settings, in the order of the manual.
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
