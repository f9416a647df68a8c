//! The errors of a configuration. All problems are reported together, one line for each.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// The source from which a value of the configuration was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The value is the default, because no source set it.
    Default,
    /// A line of an `.ini` file of OFCProbe or P4RCProbe. Paths in the value are used unchanged,
    /// because the code that reads such files has already made them relative to the current folder.
    Legacy {
        /// The file, as the user named it.
        file: PathBuf,
        /// The line number, from 1.
        line: usize,
    },
    /// A line of a TOML file. Paths in the value are relative to the folder of that file.
    File {
        /// The file, as the user named it.
        file: PathBuf,
        /// The line number, from 1.
        line: usize,
    },
    /// A command line flag. Paths in the value are relative to the current folder.
    Flag,
}

/// One problem of a configuration. It is displayed as one line with the place, the problem, and the
/// advice on what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The source of the value that causes the problem.
    pub origin: Origin,
    /// The key that causes the problem, such as `traffic.rate`, or the flag if the value came from
    /// a flag. It is empty if the file as a whole is the problem.
    pub name: String,
    /// The description of the problem.
    pub message: String,
    /// The text to write instead, if there is any. It is displayed after the word "write".
    pub remedy: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default | Origin::Flag => {}
            Origin::Legacy { file, line: 0 } | Origin::File { file, line: 0 } => {
                write!(f, "{}: ", file.display())?;
            }
            Origin::Legacy { file, line } | Origin::File { file, line } => {
                write!(f, "{}:{line}: ", file.display())?;
            }
        }
        if !self.name.is_empty() {
            write!(f, "{}: ", self.name)?;
        }
        f.write_str(&self.message)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "; write {remedy}")?;
        }
        Ok(())
    }
}

/// The error for a configuration that cannot be run. It displays one line for each problem. The
/// command exits with status 2.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    /// All problems of the configuration. There is at least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}
