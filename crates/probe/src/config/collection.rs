//! Collects settings from several sources, and resolves them to a configuration.
//!
//! Values are collected as texts first and checked last. Precedence depends on the kind of source
//! (default, file of OFCProbe or P4RCProbe, TOML file, flag), not on the order in which sources are
//! read. A value that is overridden is never checked, so a flag can replace a path that does not
//! exist on this host. All problems are reported together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::checks;
use super::draft::Draft;
use super::error::{ConfigError, Origin, Problem};
use super::setting::{Kind, Setting};
use super::value::Rejection;
use super::{Config, toml};
use crate::legacy::{self, LegacyError, LegacyFault, LegacySetting};

/// The maximum size in bytes of a configuration file that is read. Files written by hand are much
/// smaller.
const LONGEST_FILE: u64 = 16 << 20;

/// Settings from any number of sources.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<&'static str, Given>,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

/// The values of one key, from the source with the highest precedence so far. A list has several
/// values.
#[derive(Clone, Debug)]
struct Given {
    origin: Origin,
    entries: Vec<WrittenValue>,
}

/// One value as the user wrote it, with its source.
#[derive(Clone, Debug)]
pub(super) struct WrittenValue {
    pub(super) text: String,
    pub(super) origin: Origin,
    /// The problems that were found while the value was read. They state its position in the file
    /// more exactly than `origin`.
    pub(super) problems: Vec<Problem>,
}

impl WrittenValue {
    /// Creates a value without known problems.
    pub(super) fn new(text: String, origin: Origin) -> Self {
        Self { text, origin, problems: Vec::new() }
    }
}

impl Settings {
    /// Creates settings in which every key has its default value.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets one key, such as `traffic.rate`, to a value in the form that its flag takes.
    ///
    /// A source with a higher precedence than that of the present value replaces the value. A
    /// source with a lower precedence changes nothing. Within one source, values are added to a
    /// list, and a single value is replaced. A key that does not exist is a problem, which
    /// [`Settings::resolve`] reports.
    pub fn set(&mut self, key: &str, value: &str, origin: Origin) {
        match Setting::by_key(key) {
            Some(setting) => {
                self.push(setting, WrittenValue::new(value.to_owned(), origin));
            }
            None => self.problems.push(toml::unknown_key(key, origin)),
        }
    }

    /// Adds a value for a key, unless a source with higher precedence has set the key.
    pub(super) fn push(&mut self, setting: &'static Setting, entry: WrittenValue) {
        if let Some(given) = self.given_by(setting, &entry.origin) {
            if !setting.kind.repeats() {
                given.entries.clear();
            }
            given.entries.push(entry);
        }
    }

    /// Sets a key to the empty list. This also replaces the values from a source with lower
    /// precedence.
    pub(super) fn push_empty(&mut self, setting: &'static Setting, origin: &Origin) {
        self.given_by(setting, origin);
    }

    /// Returns the collected values of a key, to which the caller may add values from `origin`.
    /// Values from a source with lower precedence are removed first. Returns `None` if a source
    /// with higher precedence than `origin` has set the key.
    fn given_by(&mut self, setting: &'static Setting, origin: &Origin) -> Option<&mut Given> {
        let empty = || Given { origin: origin.clone(), entries: Vec::new() };
        let given = self.given.entry(setting.key).or_insert_with(empty);
        if rank(origin) > rank(&given.origin) {
            *given = empty();
        }
        (rank(origin) == rank(&given.origin)).then_some(given)
    }

    /// Records a problem, which [`Settings::resolve`] will report.
    pub(super) fn complain(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reads a TOML file. [`Settings::resolve`] reports problems in it.
    pub fn read_file(&mut self, path: &Path) {
        match read_bounded(path) {
            Ok(text) => self.read_toml(&text, path),
            Err(error) => self.complain(Problem {
                origin: Origin::File { file: path.to_owned(), line: 0 },
                name: String::new(),
                message: format!("cannot read the configuration: {error}"),
                remedy: None,
            }),
        }
    }

    /// Reads the text of a TOML file. `file` is the file name for error messages, and paths in the
    /// text are relative to its folder.
    pub fn read_toml(&mut self, text: &str, file: &Path) {
        toml::read(self, text, file);
    }

    /// Reads a `config.ini` of OFCProbe or P4RCProbe and the files that it names.
    /// [`Settings::resolve`] reports problems in them. Their settings without a counterpart here
    /// become notes.
    pub fn read_legacy(&mut self, path: &Path) {
        let whole =
            |origin, message| Problem { origin, name: String::new(), message, remedy: None };
        match legacy::read(path) {
            Ok(read) => {
                for LegacySetting { key, value, file, line } in read.settings {
                    self.set(key, &value, Origin::Legacy { file, line });
                }
                self.notes.extend(read.notes);
            }
            Err(LegacyError::Invalid { faults }) => {
                for LegacyFault { file, line, message } in faults {
                    self.complain(whole(Origin::Legacy { file, line }, message));
                }
            }
            Err(error) => self.complain(whole(Origin::Default, error.to_string())),
        }
    }

    /// Checks all settings and returns the configuration.
    ///
    /// # Errors
    ///
    /// Returns all problems together: syntax errors, values out of range, unreadable files, and
    /// values that conflict.
    pub fn resolve(self) -> Result<Resolved, ConfigError> {
        let mut draft = Draft::default();
        let mut report =
            Report { given: &self.given, problems: self.problems, faulty: BTreeSet::new() };
        for setting in Setting::all() {
            report.fill(setting, &mut draft);
        }
        checks::check(&draft, &mut report);
        let mut problems = report.problems;
        problems.sort_by(|a, b| place(&a.origin).cmp(&place(&b.origin)));
        if !problems.is_empty() {
            return Err(ConfigError { problems });
        }
        let values = Setting::all()
            .map(|setting| {
                let slot = (setting.slot)(&mut draft);
                (setting, ResolvedValue { text: slot.text(), elements: slot.elements() })
            })
            .collect();
        Ok(Resolved { config: draft.into_config(), notes: self.notes, values })
    }
}

/// Returns the precedence of a source. The source with the highest number wins.
fn rank(origin: &Origin) -> u8 {
    match origin {
        Origin::Default => 0,
        Origin::Legacy { .. } => 1,
        Origin::File { .. } => 2,
        Origin::Flag => 3,
    }
}

/// Returns a value by which problems are sorted: those of flags come first, then those of files
/// from top to bottom.
fn place(origin: &Origin) -> (&Path, usize) {
    match origin {
        Origin::Default | Origin::Flag => (Path::new(""), 0),
        Origin::Legacy { file, line } | Origin::File { file, line } => (file, *line),
    }
}

fn read_bounded(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let length = File::open(path)?.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST_FILE {
        return Err(std::io::Error::other("it is longer than 16 MiB"));
    }
    Ok(text)
}

/// Collects the problems that are found while values are read and checked.
pub(super) struct Report<'a> {
    given: &'a BTreeMap<&'static str, Given>,
    problems: Vec<Problem>,
    faulty: BTreeSet<&'static str>,
}

impl Report<'_> {
    /// Reads the values of one setting into the draft, or its default if no source sets it.
    fn fill(&mut self, setting: &'static Setting, draft: &mut Draft) {
        let default = [WrittenValue::new(setting.default.to_owned(), Origin::Default)];
        let entries = match self.given.get(setting.key) {
            Some(given) => given.entries.as_slice(),
            None if setting.kind.repeats() && setting.default.is_empty() => &[],
            None => &default,
        };
        let slot = (setting.slot)(draft);
        slot.clear();
        for entry in entries {
            if !entry.problems.is_empty() {
                self.faulty.insert(setting.key);
                self.problems.extend_from_slice(&entry.problems);
                continue;
            }
            let known = if setting.kind.repeats() { slot.magnitudes().len() } else { 0 };
            let base = base_of(&entry.origin);
            let result = slot.read(&entry.text, base).and_then(|()| {
                let complaint = |number: &f64| setting.limits.complaint(*number);
                match slot.magnitudes().iter().skip(known).find_map(complaint) {
                    Some(message) => Err(Rejection::from(message)),
                    None => Ok(()),
                }
            });
            if let Err(rejection) = result {
                self.faulty.insert(setting.key);
                self.problems.push(rejected(setting, entry.origin.clone(), rejection));
            }
        }
        // Later checks compute with the value, so an absurd number must not reach them.
        if self.faulty.contains(setting.key) {
            slot.clear();
            if !setting.kind.repeats() {
                // A default is never rejected. A test reads all of them.
                let _ = slot.read(setting.default, Path::new(""));
            }
        }
    }

    /// Returns whether any source sets the key.
    pub(super) fn is_given(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// Reports that values conflict. The problem is reported for the first of `keys` that a source
    /// sets. Nothing is reported if one of the values was invalid by itself, since the draft then
    /// contains another value.
    pub(super) fn conflict(&mut self, keys: &[&'static str], message: String, remedy: String) {
        let Some(blamed) = keys.iter().find(|key| self.is_given(key)).or(keys.first()) else {
            return;
        };
        self.complain(blamed, None, keys, message, Some(remedy));
    }

    /// Reports a conflict as [`Report::conflict`] does. The message already contains the advice on
    /// what to write instead.
    pub(super) fn conflict_without_remedy(&mut self, keys: &[&'static str], message: String) {
        let Some(blamed) = keys.iter().find(|key| self.is_given(key)).or(keys.first()) else {
            return;
        };
        self.complain(blamed, None, keys, message, None);
    }

    /// Reports that one element of a list conflicts with other values.
    pub(super) fn conflict_at(
        &mut self,
        key: &'static str,
        element: usize,
        others: &[&'static str],
        message: String,
        remedy: String,
    ) {
        self.complain(key, Some(element), others, message, Some(remedy));
    }

    fn complain(
        &mut self,
        blamed: &'static str,
        element: Option<usize>,
        keys: &[&'static str],
        message: String,
        remedy: Option<String>,
    ) {
        if self.faulty.contains(blamed) || keys.iter().any(|key| self.faulty.contains(key)) {
            return;
        }
        let given = self.given.get(blamed);
        let origin = given.map_or(Origin::Default, |given| {
            let entry = element.and_then(|at| given.entries.get(at)).or(given.entries.first());
            entry.map_or(&given.origin, |entry| &entry.origin).clone()
        });
        let name = name_of(blamed, &origin);
        let (message, remedy) = match origin {
            Origin::Flag => (as_flags(&message), remedy.as_deref().map(as_flags)),
            _ => (message, remedy),
        };
        self.problems.push(Problem { origin, name, message, remedy });
    }
}

/// Returns the folder to which relative paths in a value refer: the folder of the TOML file, or the
/// current folder.
pub(super) fn base_of(origin: &Origin) -> &Path {
    match origin {
        Origin::File { file, .. } => file.parent().unwrap_or(Path::new("")),
        _ => Path::new(""),
    }
}

/// Returns the name of a key in the form of its source, which is a flag or a TOML key.
fn name_of(key: &str, origin: &Origin) -> String {
    match (origin, Setting::by_key(key)) {
        (Origin::Flag, Some(setting)) => format!("--{}", setting.flag),
        _ => key.to_owned(),
    }
}

/// Rewrites TOML syntax in a message as flags: `tls.key = "FILE" as well` becomes `--tls-key FILE
/// as well`.
fn as_flags(text: &str) -> String {
    let mut shown = Vec::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let key = word.trim_end_matches([',', ';', ')']).trim_start_matches('(');
        match Setting::by_key(key).filter(|_| key.contains('.')) {
            None => shown.push(word.to_owned()),
            Some(setting) => {
                shown.push(word.replace(key, &format!("--{}", setting.flag)));
                if words.next_if_eq(&"=").is_some() {
                    // A boolean takes its value with an equals sign only.
                    let value = words.next().unwrap_or_default().replace('"', "");
                    match (setting.kind, shown.last_mut()) {
                        (Kind::Flag, Some(flag)) => flag.push_str(&format!("={value}")),
                        _ => shown.push(value),
                    }
                }
            }
        }
    }
    shown.join(" ")
}

/// Returns the problem to report for a value that could not be parsed.
pub(super) fn rejected(setting: &Setting, origin: Origin, rejection: Rejection) -> Problem {
    let remedy = match &origin {
        Origin::File { .. } => rejection.remedy(&toml::example(setting)),
        Origin::Flag | Origin::Default => {
            rejection.remedy(setting.example).as_deref().map(as_flags)
        }
        // The example is no advice here, because these files have a syntax of their own.
        Origin::Legacy { .. } => None,
    };
    Problem { name: name_of(setting.key, &origin), origin, message: rejection.message, remedy }
}

/// A valid configuration, and all settings from which it was resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The configuration that the engines read.
    pub config: Config,
    /// Notes on settings in a file of OFCProbe or P4RCProbe that have no counterpart here or work
    /// differently.
    pub notes: Vec<String>,
    values: Vec<(&'static Setting, ResolvedValue)>,
}

/// The resolved value of a setting as text, and the texts of its elements if it is a list.
#[derive(Clone, Debug)]
pub(super) struct ResolvedValue {
    pub(super) text: String,
    pub(super) elements: Vec<String>,
}

impl Resolved {
    /// Returns every key with its value, in the form that flags take. Paths are absolute. Instead
    /// of a password, the name of an environment variable is returned.
    pub fn values(&self) -> BTreeMap<String, String> {
        self.values
            .iter()
            .map(|(setting, value)| (setting.key.to_owned(), value.text.clone()))
            .collect()
    }

    /// Returns a TOML file that contains every key and resolves to an equal configuration.
    pub fn to_toml(&self) -> String {
        toml::write(self.values.iter().map(|(setting, value)| (*setting, value)))
    }
}

/// Returns whether a setting is a list of TOML tables, each with fields of its own.
pub(super) fn is_tables(setting: &Setting) -> bool {
    setting.kind == Kind::Tables
}
