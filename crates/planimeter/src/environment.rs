//! The settings of `planimeter demo` and `planimeter reproduce`, which make several measurements.
//! Each measurement writes a run directory of its own, below that of the whole command.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::device::campaign::Picoseconds;
use ::device::measure::{Job, Plan, measure};
use ::device::verify::{Verification, verify};
use ::device::{Campaign, Model, Settings};
use ::probe::outcome::{Completion, RunResult};
use ::tables::machine;
use ::tables::measure::Findings;
use report::RunDirectory;
use report::directory::Papers;
use report::value::Value;
use report::{designs, models};
use statistics::Unit;

use crate::device::measure::{Bar, failure};
use crate::failure::Failure;
use crate::invocation;
use crate::reproduce::Yours;
use crate::tables;

/// The seed of all random choices in the measurements.
pub(crate) const SEED: u64 = 1;

/// The settings that all measurements of one command share.
pub(crate) struct Environment<'a> {
    /// The run directory of the command. It contains the run directories of the measurements.
    pub(crate) directory: &'a Path,
    pub(crate) interrupt: &'a Arc<AtomicBool>,
    /// Whether the measurements are as short as possible, so that they only show that everything
    /// works.
    pub(crate) quick: bool,
    pub(crate) quiet: bool,
    /// Whether the run continues an interrupted one. Measurements of controllers that are complete
    /// there are not repeated, and run directories of those that are repeated replace the old ones.
    pub(crate) resumes: bool,
    /// The user's controller, if the user names one. `reproduce` measures it in addition to the
    /// reference controller.
    pub(crate) yours: Option<&'a Yours>,
    /// The files for papers that are written beside each report, such as LaTeX tables.
    pub(crate) papers: Papers,
}

/// The model that was derived from the measurements of a device, and its verifications.
pub(crate) struct DeviceRun {
    pub(crate) model: Model,
    pub(crate) verifications: Vec<Verification>,
}

impl Environment<'_> {
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Measures the table designs of a plan. The results are in the directory `folder` below the
    /// run directory of the command.
    pub(crate) fn tables(
        &self,
        folder: &str,
        plan: &::tables::measure::Plan,
        time: Duration,
        repetitions: usize,
    ) -> Result<Findings, Failure> {
        let directory = self.make(folder)?;
        let settings = ::tables::measure::Settings {
            time,
            warm_up: time / 2,
            repetitions,
            batch: 32,
            fill: 1.0,
            seed: SEED,
            cores: machine::cores().map_err(Failure::run)?,
            announce: false,
        };
        let started = invocation::start();
        let findings = tables::measure::findings(plan, &settings, self.interrupt, self.quiet);
        let run =
            designs::Run { findings: &findings, broken: &[], provenance: &started.provenance() };
        directory.write_designs(&run).map_err(Failure::run)?;
        let broken = findings.broken_promises().next().map(|one| one.case.design.to_string());
        match broken {
            Some(design) => Err(Failure::run(format!(
                "{design} lost updates that it promises to keep: a bug in Planimeter; please report it"
            ))),
            None => Ok(findings),
        }
    }

    /// Derives and verifies a model of the usual levels; see [`model`](Self::model).
    pub(crate) fn device_model(
        &self,
        folder: &str,
        campaign: &Campaign,
    ) -> Result<DeviceRun, Failure> {
        self.model(folder, campaign, &Settings::default())
    }

    /// Measures the functions of a device according to the TOML plan `text`, which must name no
    /// program. The results are in the directory `folder`.
    pub(crate) fn campaign(&self, folder: &str, text: &str) -> Result<Campaign, Failure> {
        let plan =
            Plan::from_toml(text, &mut |name| Err(format!("no program is named {name} here")))
                .map_err(Failure::run)?;
        let mut directory = self.make(folder)?;
        directory.write_configuration(text).map_err(Failure::run)?;
        let program = invocation::executable()?;
        let job =
            Job { plan: &plan, directory: directory.path(), resume: false, program: &program };
        let mut watch = Bar::new(self.quiet, self.interrupt.clone());
        let outcome = measure(&job, &mut watch);
        drop(watch);
        outcome.map_err(failure)?;
        if self.interrupted() {
            return Err(Failure::run("a model needs all of its cells"));
        }
        Campaign::read(directory.path()).map_err(Failure::run)
    }

    /// Derives a model from the campaign in the directory `folder`, and verifies the model against
    /// combinations of the functions. The results are in the directory `folder-verify`.
    pub(crate) fn model(
        &self,
        folder: &str,
        campaign: &Campaign,
        settings: &Settings,
    ) -> Result<DeviceRun, Failure> {
        let started = invocation::start();
        let (model, verifications) = verify(campaign, settings).map_err(Failure::run)?;
        let run = models::Run {
            model: &model,
            verifications: &verifications,
            thresholds: &[],
            provenance: &started.provenance(),
        };
        self.make(&format!("{folder}-verify"))?.write_models(&run).map_err(Failure::run)?;
        Ok(DeviceRun { model, verifications })
    }

    /// Returns the result of a measurement of a controller that the interrupted run has completed in
    /// its run directory `folder`. Returns `None` if the run does not continue an interrupted one,
    /// or if that one did not complete the measurement.
    pub(crate) fn completed(&self, folder: &str) -> Option<RunResult> {
        let file = self.directory.join(folder).join("result.json");
        let text = self.resumes.then(|| input::read_text(&file).ok()).flatten()?;
        let result = report::json::from_json(&text).ok()?;
        (result.completion == Completion::Complete).then_some(result)
    }

    /// Creates the run directory `folder` below the run directory of the command.
    pub(crate) fn make(&self, folder: &str) -> Result<RunDirectory, Failure> {
        let path = self.directory.join(folder);
        if self.resumes && path.is_dir() {
            std::fs::remove_dir_all(&path).map_err(Failure::run)?;
        }
        let directory = RunDirectory::create(Some(&path));
        Ok(directory.map_err(Failure::run)?.for_papers(self.papers))
    }
}

/// Converts a delay to a value in seconds.
pub(crate) fn seconds(delay: Picoseconds) -> Value {
    Value::new(delay.0 as f64 / 1e12, Unit::Seconds)
}

/// Converts a delay to a value in seconds. Its spread is the longer half of the delay's confidence
/// interval, from `low` to the delay or from the delay to `high`.
pub(crate) fn within(
    delay: Picoseconds,
    low: Option<Picoseconds>,
    high: Option<Picoseconds>,
) -> Value {
    let value = seconds(delay);
    let half = low.zip(high).map(|(low, high)| {
        let (low, high) = (seconds(low).value, seconds(high).value);
        (value.value - low).max(high - value.value)
    });
    Value { spread: half.into(), ..value }
}
