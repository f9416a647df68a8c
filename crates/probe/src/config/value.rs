//! How a value is written, and read from what was written.
//!
//! Every type that a setting can have implements [`Value`]: it is read from the text that a flag,
//! a TOML value or a peer's file gives, and writes itself in one canonical form that reads back as
//! the same value. Paths come out absolute, so that a resolved configuration can be run from
//! anywhere.

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

/// The value of a setting.
pub(super) trait Value {
    /// Forgets the elements of a list; single values are overwritten by [`Value::read`].
    fn clear(&mut self) {}

    /// Takes the value from text. A list adds to its elements. Paths are relative to `base`.
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection>;

    /// The canonical form.
    fn text(&self) -> String;

    /// The canonical form of every element of a list.
    fn elements(&self) -> Vec<String> {
        vec![self.text()]
    }

    /// The numbers in the value (durations in seconds), for the check of ranges.
    fn magnitudes(&self) -> Vec<f64> {
        Vec::new()
    }
}

/// Why a text is not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    /// What is wrong.
    pub(super) message: String,
    /// What to write instead.
    pub(super) remedy: Remedy,
}

/// What to write instead of a text that is not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Something like the example of the setting.
    Example,
    /// This.
    Write(String),
    /// The message says it already.
    Said,
}

impl Rejection {
    /// With something to write instead.
    fn write(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: Remedy::Write(remedy.into()) }
    }

    /// What to write instead, with the example for those that need one.
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

/// `a, b or c`.
pub(super) fn alternatives(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [firsts @ .., last] => format!("{} or {last}", firsts.join(", ")),
    }
}

/// Text as it appears in a message: quoted, control characters escaped, not too long.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    format!("\"{shown}\"")
}
