//! The result of a run of the benchmark. It contains everything that RFC 8456, section 4.8,
//! requires in a report.

use std::collections::BTreeMap;

use provenance::Provenance;
use serde::{Deserialize, Serialize};
use statistics::Estimate;

use super::Test;
use crate::metrics::Unit;
use crate::outcome::Completion;

/// The name of the schema of [`BenchmarkResult`].
pub const SCHEMA: &str = "planimeter.rfc8456.result";
/// The version of the schema. It increases when a field changes its meaning or disappears.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of a whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchmarkResult {
    /// The name of the schema, [`SCHEMA`].
    pub schema: String,
    /// The version of the schema, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The command and the time of the run, and the host on which it ran.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Whether everything that was requested was measured.
    pub completion: Completion,
    /// The resolved configuration, which contains every key with its value.
    pub configuration: BTreeMap<String, String>,
    /// The parameters that RFC 8456 requires in a report.
    pub parameters: Parameters,
    /// The outcomes of the tests, in the order of RFC 8456.
    pub tests: Vec<TestOutcome>,
    /// Remarks that a reader of the figures must know.
    pub notes: Vec<String>,
    /// Whether nothing was measured because no switch ever had a session with the controller.
    #[serde(skip)]
    pub controller_was_out_of_reach: bool,
}

/// The parameters of the measurement and of the emulated network (RFC 8456, section 4.8).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Parameters {
    /// The address of the controller (OpenFlow), or the addresses of the switches to which the
    /// controller connected (P4Runtime).
    pub controller: String,
    /// The addresses of standby controllers.
    pub standby: Vec<String>,
    /// The southbound protocol: `openflow10`, `openflow13` or `p4runtime`.
    pub southbound: String,
    /// The northbound interface, if one was used.
    pub northbound: Option<String>,
    /// A description of how the control channel is set up.
    pub connection: String,
    /// The number of emulated switches.
    pub switches: u32,
    /// The number of links.
    pub links: u64,
    /// The topology that connects the switches.
    pub topology: String,
    /// The number of emulated hosts.
    pub hosts: u32,
    /// The length of data-plane packets in bytes, without the FCS.
    pub frame_bytes: u64,
    /// The number of trials of each test.
    pub trials: u32,
    /// The length of a trial in seconds.
    pub trial_s: f64,
}

/// A test of RFC 8456 with all its trials.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TestOutcome {
    /// The test of RFC 8456 that was run.
    pub test: Test,
    /// The section of RFC 8456 that defines the test.
    pub section: String,
    /// The conditions of the measurement, such as `path provisioning time, 1 % invalid messages`.
    /// It is `None` for the figure that RFC 8456 itself defines.
    pub variant: Option<String>,
    /// The unit of the value.
    pub unit: Unit,
    /// The outcomes of all trials.
    pub trials: Vec<TrialOutcome>,
    /// The mean over the trials that had a value.
    pub value: Option<Estimate>,
    /// The relative difference between this value and the value without a disturbance: 0.1 means
    /// that this value is a tenth higher.
    pub deviation: Option<f64>,
}

/// The outcome of one trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialOutcome {
    /// The value in the unit of the test (absent if it could not be measured).
    pub value: Option<f64>,
    /// The figures of the trial in addition to its value.
    pub figures: Vec<Figure>,
    /// A remark for the reader. If there is no value, it explains why.
    pub remark: Option<String>,
}

/// A named figure of a trial, in addition to its main value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the figure.
    pub name: String,
    /// The value of the figure.
    pub value: f64,
    /// The unit of the figure.
    pub unit: Unit,
}

impl TestOutcome {
    /// Returns the variance of the values over the trials, in the square of the unit. RFC 8456
    /// calls it TDV, APV and so on, depending on the test.
    pub fn variance(&self) -> Option<f64> {
        self.value.as_ref().and_then(|value| value.stddev).map(|deviation| deviation.powi(2))
    }

    /// Returns whether any trial had a value.
    pub fn is_measured(&self) -> bool {
        self.value.is_some()
    }

    /// Computes the mean of the trials' values, and stores it in `value`.
    pub(crate) fn summarize(&mut self) {
        let values: Vec<f64> = self.trials.iter().filter_map(|trial| trial.value).collect();
        self.value = Estimate::of(&values);
    }
}
