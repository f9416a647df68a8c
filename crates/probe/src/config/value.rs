//! Parses and formats the values of settings.
//!
//! Every type of a value implements [`Value`]. A value is parsed from the text of a flag, a TOML
//! value or a file of OFCProbe or P4RCProbe. It is formatted in one canonical form, which is parsed
//! as the same value. Paths are formatted as absolute paths, so that a resolved configuration can
//! be run from any folder.

mod domain;
mod list;
mod path;
mod scalar;
mod switch_override;

use std::path::Path;

pub(super) use domain::{ControllerAddress, ModeName, PlanName, Process, RestBase, Secret};
pub(super) use list::{Counts, Overrides, Rates, Thresholds};
pub(super) use path::{InputFile, OutputDirectory, OutputFile};
pub(super) use scalar::{Advertise, Auto, ServerAddress, Unsettable, duration_text};
pub(super) use switch_override::{Field as OverrideField, check_field as check_override_field};

/// The value of a setting, which is parsed from text and formatted as text.
pub(super) trait Value {
    /// Removes the elements of a list. Does nothing to a single value, since [`Value::read`]
    /// replaces it.
    fn clear(&mut self) {}

    /// Parses `text` and stores the value. A list appends it to its elements. Relative paths are
    /// relative to `base`.
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection>;

    /// Returns the value as text in its canonical form.
    fn text(&self) -> String;

    /// Returns the canonical form of every element of a list.
    fn elements(&self) -> Vec<String> {
        vec![self.text()]
    }

    /// Returns the numbers in the value (durations in seconds), so that their range can be checked.
    fn magnitudes(&self) -> Vec<f64> {
        Vec::new()
    }
}

/// The reason why a text is not a valid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    /// The description of the problem.
    pub(super) message: String,
    /// The advice on what to write instead.
    pub(super) remedy: Remedy,
}

/// The advice on what to write instead of an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The user should write a value like the example in the setting's definition.
    Example,
    /// The user should write this text.
    Write(String),
    /// There is no advice, because the message already contains it.
    Said,
}

impl Rejection {
    /// Creates a rejection that advises to write `remedy` instead.
    fn write(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: Remedy::Write(remedy.into()) }
    }

    /// Returns the advice as text, or `None` if there is none. `example` is the example in the
    /// setting's definition.
    pub(super) fn remedy(&self, example: &str) -> Option<String> {
        match &self.remedy {
            Remedy::Example => Some(format!("for instance {example}")),
            Remedy::Write(text) => Some(text.clone()),
            Remedy::Said => None,
        }
    }
}

impl From<String> for Rejection {
    fn from(message: String) -> Self {
        Self { message, remedy: Remedy::Example }
    }
}

/// Joins words to a list of alternatives, such as `a, b or c`.
pub(super) fn alternatives(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [firsts @ .., last] => format!("{} or {last}", firsts.join(", ")),
    }
}

/// Formats text for an error message: quoted, with control characters escaped, and shortened.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    format!("\"{shown}\"")
}
