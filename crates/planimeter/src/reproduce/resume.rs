//! Records of the experiments that are complete, with which `--resume` continues a run.
//!
//! The records are in the folder `complete` of the run directory. There is a file for each
//! experiment, and one with the conditions of the run, such as the build and the host, which is
//! written when the run starts. Measurements under different conditions cannot be compared, so a
//! run is only continued under its own. Of an experiment that was interrupted, those measurements
//! of controllers that are complete are read from their own run directories; see
//! [`Environment::completed`](crate::environment::Environment::completed).

use std::io;
use std::path::{Path, PathBuf};

use provenance::{Build, Host};
use report::RunDirectory;
use serde::{Deserialize, Serialize};

use super::published::Experiment;
use super::section::Measured;
use crate::failure::Failure;
use crate::invocation;

/// The folder of the run directory that contains the records.
const FOLDER: &str = "complete";
/// The file in [`FOLDER`] that contains the conditions of the run.
const CONDITIONS: &str = "conditions.json";

/// The conditions of a run. A run that continues it must have the same ones.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Conditions {
    planimeter_version: String,
    build: Build,
    host: Host,
    options: Options,
}

/// The options of a run on which its measurements depend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Options {
    pub(super) is_quick: bool,
    /// The options that name the user's controller, as they are typed (empty if there is none).
    pub(super) controller: String,
}

impl Conditions {
    fn here(options: Options) -> Self {
        Self {
            planimeter_version: env!("CARGO_PKG_VERSION").to_owned(),
            build: invocation::build(),
            host: Host::read(),
            options,
        }
    }

    /// Describes the differences from the conditions `before`. Returns `None` if there are none.
    fn difference(&self, before: &Self) -> Option<String> {
        if self.options.is_quick != before.options.is_quick {
            let with = if before.options.is_quick { "with" } else { "without" };
            return Some(format!("it was started {with} --quick"));
        }
        if self.options.controller != before.options.controller {
            return Some(match before.options.controller.as_str() {
                "" => "it was started without a controller of yours".to_owned(),
                controller => format!("it was started with {controller}"),
            });
        }
        if self.host != before.host {
            let other = "it was started on another host, or one with another kernel or memory";
            return Some(other.to_owned());
        }
        let is_same =
            (&self.planimeter_version, &self.build) == (&before.planimeter_version, &before.build);
        (!is_same).then(|| "it was started with another build of Planimeter".to_owned())
    }
}

/// The records of completed experiments in a run directory.
#[derive(Debug)]
pub(super) struct Records {
    folder: PathBuf,
    conditions: Conditions,
}

impl Records {
    /// Returns the records of a new run, of which there are none yet.
    pub(super) fn new(directory: &Path, options: Options) -> Self {
        Self { folder: directory.join(FOLDER), conditions: Conditions::here(options) }
    }

    /// Writes the conditions of a new run, so that it can be continued whenever it is interrupted.
    pub(super) fn begin(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        std::fs::write(self.folder.join(CONDITIONS), serde_json::to_vec_pretty(&self.conditions)?)
    }

    /// Returns the records of a run that is to be continued.
    ///
    /// # Errors
    /// Returns an error if the directory contains no records, or records of a run under other
    /// conditions.
    pub(super) fn of_run(directory: &RunDirectory, options: Options) -> Result<Self, Failure> {
        let own = Self::new(directory.path(), options);
        let shown = directory.path().display();
        let text = input::read(&own.folder.join(CONDITIONS)).map_err(|error| {
            Failure::input(format!(
                "no measurement in {shown} can be resumed ({error}); start a new run without --resume"
            ))
        })?;
        let before: Conditions = serde_json::from_slice(&text).map_err(|error| {
            Failure::input(format!(
                "the records in {shown} cannot be read ({error}); start a new run without --resume"
            ))
        })?;
        match own.conditions.difference(&before) {
            None => Ok(own),
            Some(difference) => Err(Failure::input(format!(
                "the run in {shown} cannot be continued: {difference}; start a new run without --resume"
            ))),
        }
    }

    /// Returns the recorded result of an experiment, or `None` if the experiment is not complete.
    pub(super) fn read(&self, experiment: Experiment) -> Option<Measured> {
        let text = input::read(&self.file(experiment)?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Records the result of an experiment that is complete.
    pub(super) fn write(&self, experiment: Experiment, measured: &Measured) -> io::Result<()> {
        let Some(file) = self.file(experiment) else { return Ok(()) };
        // A record that is incomplete because the process was killed must not look complete.
        let unfinished = file.with_extension("unfinished");
        std::fs::write(&unfinished, serde_json::to_vec(measured)?)?;
        std::fs::rename(unfinished, file)
    }

    fn file(&self, experiment: Experiment) -> Option<PathBuf> {
        let name = serde_json::to_value(experiment).ok()?;
        Some(self.folder.join(format!("{}.json", name.as_str()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Options = Options { is_quick: true, controller: String::new() };

    #[test]
    fn a_complete_experiment_is_read_back_and_others_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let records = Records::new(folder.path(), QUICK);
        records.begin().expect("room");
        let mut measured = Measured::default();
        measured.exact("entries", 178_734.0);
        measured.remarks.push("A remark.".to_owned());
        records.write(Experiment::Equations, &measured).expect("room");
        let read = records.read(Experiment::Equations).expect("it is complete");
        assert_eq!(read.remarks, measured.remarks);
        assert_eq!(read.evidence.len(), 1);
        assert!(records.read(Experiment::Paths).is_none());
    }

    #[test]
    fn a_run_is_resumed_under_the_same_conditions_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = || RunDirectory::reopen(folder.path()).expect("a directory");
        let refusal = |options: Options| match Records::of_run(&run(), options) {
            Ok(_) => String::new(),
            Err(failure) => failure.to_string(),
        };
        assert!(refusal(QUICK).contains("start a new run without --resume"));
        let records = Records::new(folder.path(), QUICK);
        records.begin().expect("room");
        assert_eq!(refusal(QUICK), "", "a run is resumed even if nothing of it is complete");
        let full = refusal(Options { is_quick: false, ..QUICK });
        assert!(full.contains("it was started with --quick"), "{full}");
        let yours = Options { controller: "--controller 10.0.0.1:6653".to_owned(), ..QUICK };
        let with_yours = refusal(yours);
        assert!(with_yours.contains("without a controller of yours"), "{with_yours}");

        let mut other = Conditions::here(QUICK);
        other.host.hostname.push('x');
        let text = serde_json::to_vec(&other).expect("JSON");
        std::fs::write(folder.path().join(FOLDER).join(CONDITIONS), text).expect("room");
        assert!(refusal(QUICK).contains("on another host"), "{}", refusal(QUICK));
    }
}
