//! Configuration files of OFCProbe and P4RCProbe, for users who move over.
//!
//! Both tools read Java properties files whose keys mean the same in either; P4RCProbe has a few
//! more. Every key that one of the two reads is known here. It becomes one of our settings, or a
//! note that says why it has no counterpart; any other key is an error, where those tools would
//! pass over it in silence. A key that is absent takes the default of those tools, so that the
//! same file offers the same load.
//!
//! The names and their meaning were learned from the tools' published configuration files and
//! from what their configuration readers do with each key (lsinfo3/ofcprobe, tum-lkn/P4RCProbe).
//! Two things are different by intent, and a note says so where it matters: those tools fill a
//! queue of `fillThreshold` packets at every interval, which here become single packets at the
//! same rate; and they round random intervals down to whole milliseconds.

mod arrivals;
mod individual;
mod properties;
mod translate;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What a file of OFCProbe or P4RCProbe says, in our terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy {
    /// Values of our settings. A key appears once, except `switch`, which adds up.
    pub settings: Vec<LegacySetting>,
    /// What has no counterpart or works differently; each begins with file and line.
    pub notes: Vec<String>,
}

/// One of our settings as such a file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacySetting {
    /// Our key, such as `traffic.rate`.
    pub key: &'static str,
    /// The value in the form that its flag takes. Paths are relative to the current folder.
    pub value: String,
    /// The file that gave it.
    pub file: PathBuf,
    /// The line, from 1; 0 if it is a default of the tool that wrote the file.
    pub line: usize,
}

/// Why such a file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LegacyError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Some of its lines are wrong. Displays one line for each.
    #[error("{}", lines(faults))]
    Invalid {
        /// Everything that is wrong, at least one.
        faults: Vec<LegacyFault>,
    },
}

/// Something wrong in such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyFault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// Reads a `config.ini` of OFCProbe or P4RCProbe, and the files that it names: `topology.ini`,
/// GraphML, and `ofSwitch.ini` with the settings of single switches. Those tools look for them in
/// the folder they are started in; here it is the folder of the file.
///
/// # Errors
///
/// When a file cannot be read, and with every line that is wrong.
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
