//! Translation of configuration files of OFCProbe and P4RCProbe, for users who migrate from these
//! tools.
//!
//! Both tools read Java properties files with the same keys; P4RCProbe has a few more. This module
//! knows every key that one of the tools reads. Each becomes a setting of this probe, or a note
//! that explains why it has no counterpart. Any other key is an error, whereas the tools ignore it
//! silently. An absent key takes the tools' default, so that a file produces the same load here.
//!
//! The names and meanings of the keys are taken from the tools' published configuration files and
//! from the code that reads them (lsinfo3/ofcprobe, tum-lkn/P4RCProbe). Two differences are
//! intended, and a note mentions them where they matter. First, the tools fill a queue of
//! `fillThreshold` packets at every interval, which become single packets at the same rate here.
//! Second, the tools round random intervals down to whole milliseconds.

mod arrivals;
mod individual;
mod properties;
mod translate;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A configuration file of OFCProbe or P4RCProbe, translated to settings of this probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy {
    /// The settings of this probe, with their values. A key appears once, except for `switch`, of
    /// which each occurrence adds a value.
    pub settings: Vec<LegacySetting>,
    /// Notes on keys that have no counterpart or work differently. Each begins with file and line.
    pub notes: Vec<String>,
}

/// A setting of this probe that a translated file sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacySetting {
    /// The key of this probe, such as `traffic.rate`.
    pub key: &'static str,
    /// The value as the corresponding command line flag takes it. Paths are relative to the current
    /// folder.
    pub value: String,
    /// The file of the original tool from which the value was translated.
    pub file: PathBuf,
    /// The line number, from 1, or 0 for a default of the original tool.
    pub line: usize,
}

/// The reason why a configuration file of OFCProbe or P4RCProbe cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LegacyError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Some lines of the file are wrong. The error message has one line for each of them.
    #[error("{}", lines(faults))]
    Invalid {
        /// All faults of the files. There is at least one.
        faults: Vec<LegacyFault>,
    },
}

/// A fault in a configuration file of OFCProbe or P4RCProbe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyFault {
    /// The path of the file.
    pub file: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// The description of the fault and of what was expected.
    pub message: String,
}

/// Reads a `config.ini` of OFCProbe or P4RCProbe, and the files that it names: `topology.ini`,
/// GraphML, and `ofSwitch.ini` with the settings of single switches. The original tools look for
/// these files in their working directory. This function looks in the folder of `path`.
///
/// # Errors
///
/// Returns an error if a file cannot be read. An error about invalid lines names all of them.
pub fn read(path: &Path) -> Result<Legacy, LegacyError> {
    let properties = properties::read(path)?;
    translate::translate(path, properties)
}

impl fmt::Display for LegacyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(f, &self.file, self.line)?;
        f.write_str(&self.message)
    }
}

fn place(f: &mut impl fmt::Write, file: &Path, line: usize) -> fmt::Result {
    match line {
        0 => write!(f, "{}: ", file.display()),
        line => write!(f, "{}:{line}: ", file.display()),
    }
}

fn lines(faults: &[LegacyFault]) -> String {
    faults.iter().map(LegacyFault::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
