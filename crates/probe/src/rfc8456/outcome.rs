//! What a run of the benchmark found out, as RFC 8456, section 4.8, has it reported.

use std::collections::BTreeMap;

use provenance::Provenance;
use serde::{Deserialize, Serialize};
use statistics::Estimate;

use super::Test;
use crate::metrics::Unit;
use crate::outcome::Completion;

/// Name of the schema of [`BenchmarkResult`].
pub const SCHEMA: &str = "planimeter.rfc8456.result";
/// Version of the schema; raised when a field changes its meaning or disappears.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchmarkResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Command, time and host of the benchmark.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Whether everything asked for was measured.
    pub completion: Completion,
    /// The configuration as resolved: key to value, every key present.
    pub configuration: BTreeMap<String, String>,
    /// The parameters that the document wants reported.
    pub parameters: Parameters,
    /// A test each, in the order of the document.
    pub tests: Vec<TestOutcome>,
    /// Remarks that a reader of the figures must know.
    pub notes: Vec<String>,
    /// Whether nothing was measured because no switch ever had a session with the controller.
    #[serde(skip)]
    pub controller_was_out_of_reach: bool,
}

/// What was measured, on what (section 4.8).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Parameters {
    /// Where the controller was reached, or where it reached the switches.
    pub controller: String,
    /// Controllers that stood by.
    pub standby: Vec<String>,
    /// `openflow10`, `openflow13` or `p4runtime`.
    pub southbound: String,
    /// The northbound interface, if one was asked.
    pub northbound: Option<String>,
    /// How the control channel was set up.
    pub connection: String,
    /// Number of emulated switches.
    pub switches: u32,
    /// Number of links.
    pub links: u64,
    /// How they are wired.
    pub topology: String,
    /// Number of emulated hosts.
    pub hosts: u32,
    /// Length of data-plane packets in bytes, FCS excluded.
    pub frame_bytes: u64,
    /// Trials of each test.
    pub trials: u32,
    /// Length of a trial in seconds.
    pub trial_s: f64,
}

/// A test with all its trials.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TestOutcome {
    /// The test.
    pub test: Test,
    /// Its section.
    pub section: String,
    /// What its figure is: nothing for the figure that the document defines, else under which
    /// circumstances, such as `path provisioning time, 1 % invalid`.
    pub variant: Option<String>,
    /// Unit of the value.
    pub unit: Unit,
    /// Every trial.
    pub trials: Vec<TrialOutcome>,
    /// Mean over the trials that had a value.
    pub value: Option<Estimate>,
    /// How the value compares with the same without disturbance, as a fraction: 0.1 is a tenth more.
    pub deviation: Option<f64>,
}

/// One trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialOutcome {
    /// In the unit of the test; none where it could not be measured.
    pub value: Option<f64>,
    /// Further figures by their names.
    pub figures: Vec<Figure>,
    /// What a reader must know; why there is no value, where there is none.
    pub remark: Option<String>,
}

/// A figure beside the value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl TestOutcome {
    /// Variance of the values over trials, in the unit's square: the document's TDV, APV and so on.
    pub fn variance(&self) -> Option<f64> {
        self.value.as_ref().and_then(|value| value.stddev).map(|deviation| deviation.powi(2))
    }

    /// Whether any trial had a value.
    pub fn is_measured(&self) -> bool {
        self.value.is_some()
    }

    /// Takes in the trials again.
    pub(crate) fn summarize(&mut self) {
        let values: Vec<f64> = self.trials.iter().filter_map(|trial| trial.value).collect();
        self.value = Estimate::of(&values);
    }
}
