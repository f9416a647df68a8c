//! What a run found out, in the form that is written to `result.json`.
//!
//! Every figure carries what is needed to judge it: counts beside rates, the number of samples
//! beside percentiles, repetitions and a 95 % confidence interval beside means, and which side was
//! saturated. Units are part of the field names.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use provenance::Provenance;
use ranks::ClockOffset;
use serde::{Deserialize, Serialize};
use statistics::{Estimate, can_state};

/// Name of the schema of [`RunResult`].
pub const SCHEMA: &str = "planimeter.probe.result";
/// Version of the schema; raised when a field changes its meaning or disappears.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Command, time and host of the probe.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Whether everything asked for was measured.
    pub completion: Completion,
    /// The configuration as resolved: key to value, every key present.
    pub configuration: BTreeMap<String, String>,
    /// The controller as far as it is known.
    pub controller: ControllerFacts,
    /// One point per combination of protocol, rate and number of switches.
    pub points: Vec<Point>,
    /// What the search found, if the run was one.
    pub search: Option<SearchOutcome>,
    /// Thresholds and whether they held.
    pub thresholds: Vec<ThresholdOutcome>,
    /// Remarks that a reader of the figures must know.
    pub notes: Vec<String>,
}

/// Whether everything asked for was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Completion {
    /// Yes.
    Complete,
    /// No: figures cover a part only.
    Partial {
        /// What cut it short.
        reason: String,
    },
    /// Nothing could be measured.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The controller as far as it is known.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ControllerFacts {
    /// Address dialled (OpenFlow), or addresses listened on (P4Runtime).
    pub address: String,
    /// How its CPU and memory were read, if they were.
    pub process: Option<String>,
}

/// All trials with one protocol, rate and number of switches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// `openflow10`, `openflow13` or `p4runtime`.
    pub protocol: String,
    /// `open`, `closed` or `flood`.
    pub mode: String,
    /// Number of emulated switches.
    pub switches: u32,
    /// Packet-ins offered per second and switch; absent unless the mode is open.
    pub rate_per_switch: Option<f64>,
    /// Packet-ins offered per second by all switches; absent unless the mode is open.
    pub offered_rate: Option<f64>,
    /// Packet-ins allowed outstanding per switch; absent unless the mode is closed.
    pub window: Option<u32>,
    /// Single trials.
    pub trials: Vec<Trial>,
    /// Mean over trials with confidence, by metric name (`sent_rate`, `received_rate`, `loss`,
    /// `rtt.mean`, `rtt.p50`, `rtt.p99`, `controller.cpu` and so on; see [`Trial::metrics`]).
    pub summary: BTreeMap<String, Estimate>,
}

/// One trial: connect, warm up, measure, drain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// Repetition, from 1.
    pub repetition: u32,
    /// Seed of this trial's schedule.
    pub seed: u64,
    /// Whether it ran to its end.
    pub completion: Completion,
    /// Length of the measure window in seconds.
    pub measured_s: f64,
    /// Packets of the measure window.
    pub counts: Counts,
    /// Rates over the measure window.
    pub rates: Rates,
    /// Round-trip time from the moment a packet-in was due to the arrival of its answer.
    pub rtt_from_due: Latency,
    /// Round-trip time from the moment a packet-in left to the arrival of its answer (as the
    /// P4RCProbe paper has it, section III).
    pub rtt_from_sent: Latency,
    /// How much later than due packet-ins left.
    pub send_lag: Latency,
    /// For how long an answer may have waited until the probe read it, over the time of the window:
    /// nothing while the probe slept, and else the length of the spell between two looks at its
    /// sockets. Results of before have none.
    #[serde(default)]
    pub read_delay: Latency,
    /// The packet-ins that left and the answers that arrived during the window, whenever they were
    /// due. Earlier results have none.
    #[serde(default)]
    pub in_window: InWindow,
    /// Jain's fairness index of answered packet-ins over switches, 1 is perfectly fair.
    pub fairness: Option<f64>,
    /// Values over time.
    pub series: Series,
    /// Each switch.
    pub per_switch: Vec<SwitchOutcome>,
    /// The controller's use of its host.
    pub controller_usage: Option<Usage>,
    /// The probe's own use of its host.
    pub probe_usage: Usage,
    /// Which side was the limit.
    pub verdict: Verdict,
    /// From when on nothing was answered any more; absent if answers came to the end.
    #[serde(default)]
    pub silence: Option<Silence>,
    /// How far each switch came.
    pub handshake: HandshakeOutcome,
    /// The pipelines that the switches were given, by a name that equal pipelines alone share, with
    /// the number of switches; empty over OpenFlow and in earlier results.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pipelines: BTreeMap<String, u32>,
    /// The ranks that shared the switches, by number; empty for a process alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankOutcome>,
    /// Remarks that a reader of the figures must know.
    pub notes: Vec<String>,
    /// Raw histograms, nanoseconds.
    #[serde(skip)]
    pub histograms: Histograms,
}

/// The raw histograms behind the [`Latency`] summaries. Values are nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Histograms {
    /// Behind [`Trial::rtt_from_due`].
    #[serde(with = "statistics::histogram_text")]
    pub rtt_from_due: Histogram<u64>,
    /// Behind [`Trial::rtt_from_sent`].
    #[serde(with = "statistics::histogram_text")]
    pub rtt_from_sent: Histogram<u64>,
    /// Behind [`Trial::send_lag`].
    #[serde(with = "statistics::histogram_text")]
    pub send_lag: Histogram<u64>,
    /// Behind [`Trial::read_delay`].
    #[serde(with = "statistics::histogram_text")]
    pub read_delay: Histogram<u64>,
    /// Behind [`InWindow::rtt_from_sent`].
    #[serde(with = "statistics::histogram_text")]
    pub rtt_in_window: Histogram<u64>,
}

/// Counts of packets. Unless said otherwise they cover packet-ins that were due in the measure
/// window, and the answers to those.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that were due: packet-ins, unless switches run their tables.
    pub due: u64,
    /// Packet-ins that left.
    pub sent: u64,
    /// Of the due, packets that neither left as packet-ins nor were handled by rules: their switch
    /// had no connection, the controller did not read, or the probe did not get to them.
    #[serde(default)]
    pub unsent: u64,
    /// Of the due, packets that a rule of the controller sent out of a port and nothing sent to
    /// the controller; always 0 unless switches run their tables.
    #[serde(default)]
    pub forwarded_by_rules: u64,
    /// Of the due, packets that a rule, or the lack of one, dropped; always 0 unless switches run
    /// their tables.
    #[serde(default)]
    pub dropped_by_rules: u64,
    /// Packet-ins that were answered, late ones included.
    pub answered: u64,
    /// Of the answered, those whose answer took longer than the limit for late answers.
    pub late: u64,
    /// The number of answered packet-ins whose answer came after the window.
    #[serde(default)]
    pub answered_after: u64,
    /// Packet-ins that left and had no answer when the trial ended.
    pub lost: u64,
    /// The number of lost packet-ins that were passed over: a later packet-in of their switch was
    /// answered.
    #[serde(default)]
    pub passed_over: u64,
    /// The number of lost packet-ins that were not passed over: they may still have waited at the
    /// controller.
    #[serde(default)]
    pub waiting: u64,
    /// Further answers to a packet-in that was answered before.
    pub duplicated: u64,
    /// The number of answered packet-ins that had further answers.
    #[serde(default)]
    pub repeated: u64,
    /// Packet-outs over the whole trial that answer no packet-in of ours and are no discovery
    /// frames.
    pub unmatched: u64,
    /// Answers that came after their packet-in's times were forgotten (see
    /// `traffic.outstanding-limit`): counted as answered and late, missing from the histograms.
    pub untimed: u64,
    /// Packet-outs that arrived during the measure window, whatever they answer.
    pub packet_outs: u64,
    /// Flow-mods that add or modify (OpenFlow) or table entries inserted or modified by Write
    /// (P4Runtime) during the measure window.
    pub rules_installed: u64,
    /// Flow-mods or Write updates that delete, during the measure window.
    pub rules_removed: u64,
    /// Flow-mods or Write updates that were refused with an error, during the measure window.
    pub rules_refused: u64,
    /// LLDP and BDDP frames relayed over emulated links over the whole trial.
    pub discovery_relayed: u64,
    /// Connections that the controller closed, or that broke, over the whole trial.
    pub disconnects: u64,
    /// Messages that could not be decoded over the whole trial, among them packet-outs whose
    /// metadata does not fit the pipeline (P4Runtime).
    pub malformed: u64,
    /// Packet-outs over the whole trial that a switch did not take, whatever they hold: it had no
    /// pipeline yet, or their sender was not its primary (P4Runtime).
    #[serde(default)]
    pub not_taken: u64,
}

/// The packet-ins that left and the answers that arrived during the measure window, whenever they
/// were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InWindow {
    /// Packet-ins that left.
    pub left: u64,
    /// First answers that arrived.
    pub answers: u64,
    /// The number of answers whose packet-in was due before the window.
    pub answers_to_earlier: u64,
    /// Round-trip times of the answers, from the moment at which their packet-ins left.
    pub rtt_from_sent: Latency,
    /// The number of answers that arrived while no late burst of the probe disturbed the controller.
    /// Earlier results have none.
    #[serde(default)]
    pub undisturbed_answers: u64,
    /// The mean round-trip time of the undisturbed answers, from sent; absent without any.
    #[serde(default)]
    pub undisturbed_rtt_mean_ns: Option<f64>,
    /// The longest time between two answers of the trial, the warm-up included, in seconds.
    #[serde(default)]
    pub longest_gap_s: f64,
}

/// Rates over the measure window, per second, all switches together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Packet-ins due.
    pub offered: f64,
    /// Packet-ins that left in the window, whenever they were due.
    pub sent: f64,
    /// First answers that arrived in the window, whenever their packet-in was due.
    pub received: f64,
    /// Rules installed.
    pub rules: f64,
    /// The share, 0 to 1, of the packet-ins due in the window that left and had no answer when the
    /// trial ended, among those that left.
    pub loss: f64,
}

/// A summary of a histogram. All times in nanoseconds. A percentile that cannot be stated from the
/// number of samples ([`statistics::can_state`]) means nothing, and is null in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StatedLatency", into = "StatedLatency")]
pub struct Latency {
    /// Number of samples; with 0 every other field is 0 and means nothing.
    pub samples: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

/// A [`Latency`] with the percentiles that can be stated.
#[derive(Serialize, Deserialize)]
struct StatedLatency {
    samples: u64,
    mean_ns: f64,
    stddev_ns: f64,
    min_ns: u64,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p95_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: u64,
}

impl From<Latency> for StatedLatency {
    fn from(latency: Latency) -> Self {
        let stated = |share, value| can_state(share, latency.samples).then_some(value);
        Self {
            samples: latency.samples,
            mean_ns: latency.mean_ns,
            stddev_ns: latency.stddev_ns,
            min_ns: latency.min_ns,
            p50_ns: stated(0.5, latency.p50_ns),
            p90_ns: stated(0.9, latency.p90_ns),
            p95_ns: stated(0.95, latency.p95_ns),
            p99_ns: stated(0.99, latency.p99_ns),
            p999_ns: stated(0.999, latency.p999_ns),
            max_ns: latency.max_ns,
        }
    }
}

impl From<StatedLatency> for Latency {
    fn from(stated: StatedLatency) -> Self {
        Self {
            samples: stated.samples,
            mean_ns: stated.mean_ns,
            stddev_ns: stated.stddev_ns,
            min_ns: stated.min_ns,
            p50_ns: stated.p50_ns.unwrap_or(0),
            p90_ns: stated.p90_ns.unwrap_or(0),
            p95_ns: stated.p95_ns.unwrap_or(0),
            p99_ns: stated.p99_ns.unwrap_or(0),
            p999_ns: stated.p999_ns.unwrap_or(0),
            max_ns: stated.max_ns,
        }
    }
}

/// Values over time since the first packet was due (warm-up included). All vectors have one value
/// per interval; the last interval may be shorter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Start of the measure window, seconds since the first packet was due.
    pub measure_from_s: f64,
    /// End of the measure window.
    pub measure_to_s: f64,
    /// Packet-ins sent in each second.
    pub sent_per_s: Vec<u64>,
    /// Packet-ins answered in each second.
    pub received_per_s: Vec<u64>,
    /// Rules installed in each second.
    pub rules_per_s: Vec<u64>,
    /// Spacing of the samples below, in seconds.
    pub sample_interval_s: f64,
    /// Packet-ins outstanding, all switches together.
    pub outstanding: Vec<u64>,
    /// The controller's CPU, percent of one core; absent samples are NaN-free `null`.
    pub controller_cpu_percent: Vec<Option<f64>>,
    /// The controller's resident memory.
    pub controller_rss_bytes: Vec<Option<u64>>,
    /// The probe's CPU, percent of one core.
    pub probe_cpu_percent: Vec<Option<f64>>,
}

/// One emulated switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchOutcome {
    /// Index, from 0.
    pub index: u32,
    /// Datapath id or device id.
    pub id: u64,
    /// Counts as in [`Trial::counts`].
    pub counts: Counts,
    /// Packet-ins that left in the window per second, whenever they were due.
    pub sent_rate: f64,
    /// First answers that arrived in the window per second, whenever their packet-in was due.
    pub received_rate: f64,
    /// Mean round-trip time from due, in nanoseconds; absent without samples.
    pub rtt_mean_ns: Option<f64>,
    /// Largest round-trip time from due, in nanoseconds; absent without samples.
    pub rtt_max_ns: Option<u64>,
    /// Packet-ins outstanding over time, spaced as [`Series::sample_interval_s`]; left out (empty)
    /// beyond 1,000 switches.
    pub outstanding: Vec<u32>,
    /// Packet-ins sent in each second; left out (empty) beyond 1,000 switches.
    pub sent_per_s: Vec<u32>,
    /// Packet-ins answered in each second; left out (empty) beyond 1,000 switches.
    pub received_per_s: Vec<u32>,
}

/// Use of a host over the measure window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Mean CPU in percent of one core, so that four busy cores are 400.
    pub cpu_percent: f64,
    /// Largest sample of the same.
    pub cpu_percent_max: f64,
    /// Largest resident memory.
    pub rss_bytes_max: u64,
    /// Number of samples.
    pub samples: u32,
}

/// Which side was the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The side.
    pub saturated: Saturated,
    /// The observations that say so, in a sentence or two.
    pub because: String,
    /// The certainty of the verdict, where a side was the limit and the loop is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// The packet-ins for which each side accounts; absent unless the loop is open and something
    /// was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// The backlog that grew at the controller, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// The indices of switches that were answered far less than the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<u32>,
}

impl Verdict {
    /// A verdict without reasons.
    pub fn new(saturated: Saturated) -> Self {
        Self {
            saturated,
            because: String::new(),
            certainty: None,
            account: None,
            backlog: None,
            switches: Vec::new(),
        }
    }
}

/// The certainty of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The side accounts for more, at least, than all others together do at most.
    Sure,
    /// The others may account for as much.
    Likely,
}

/// Each side's part in the packet-ins that were due in the window and for which no answer arrived
/// in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Packet-ins that were due in the window; what rules handled is left out.
    pub due: u64,
    /// The number by which first answers in the window fell short of the packet-ins that were due
    /// in it, whatever packet-ins they answered.
    pub missing: u64,
    /// The controller's part.
    pub controller: Bounds,
    /// The probe's part.
    pub probe: Bounds,
    /// The network's part.
    pub network: Bounds,
}

/// Bounds on a number of packet-ins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lower bound.
    pub low: u64,
    /// The upper bound.
    pub high: u64,
}

/// A backlog that grew at the controller: packet-ins that left, or that the controller's
/// connections refused, and that it had neither answered nor dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    /// Answers per second while there was a backlog.
    pub answer_rate: f64,
    /// The lower end of its 99 % interval; absent where the backlog did not last long enough.
    pub answer_rate_low: Option<f64>,
    /// The upper end of the same.
    pub answer_rate_high: Option<f64>,
    /// The backlog at the start of the window.
    pub at_start: u64,
    /// The backlog at its end.
    pub at_end: u64,
    /// The growth of the backlog in packet-ins per second: the offered rate less the rate of
    /// answers.
    pub growth_rate: f64,
    /// The seconds that the controller takes to answer the backlog at the end; absent where nothing
    /// was answered.
    pub time_to_answer_s: Option<f64>,
}

/// The side that was the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Saturated {
    /// Neither: what was offered left and was answered.
    Neither,
    /// The controller: it accounts for what was not answered, or its answers set the pace.
    Controller,
    /// The probe: it accounts for what did not leave, was read late, or was lost in its bursts.
    Probe,
    /// The network between them: it accounts for what was on its way.
    Network,
    /// Not enough was observed to say.
    Unknown,
}

/// A controller that stopped answering for good. Times are seconds since the first packet was due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// When the last answer came.
    pub last_answer_s: f64,
    /// Until when none came: the end of the trial.
    pub until_s: f64,
    /// Packet-ins that left after the last one that was answered.
    pub unanswered: u64,
    /// When the first of those left.
    pub sent_s: f64,
    /// The switch that sent it, by its index.
    pub switch: u32,
    /// Its number among the packet-ins of that switch, from 0.
    pub sequence: u64,
    /// Its frame in words.
    pub frame: String,
}

/// How far the switches came with their handshakes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HandshakeOutcome {
    /// Switches that became ready, whatever became of their connection.
    pub ready: u32,
    /// Switches that were ready when the trial ended; absent in results of before.
    #[serde(default)]
    pub ready_at_end: Option<u32>,
    /// Switches asked for.
    pub wanted: u32,
    /// Seconds from the first attempt until the last switch became ready.
    pub ready_after_s: Option<f64>,
    /// Number of switches by the last stage that they reached, in words.
    pub stages: BTreeMap<String, u32>,
    /// Distinct errors with the number of switches that met them.
    pub errors: BTreeMap<String, u32>,
    /// Why nothing was answered, if nothing was.
    pub why_zero: Option<String>,
}

/// One of several processes that shared the switches of a trial. What all of them measured together
/// is in the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankOutcome {
    /// Its number, from 0.
    pub rank: u32,
    /// The host that it ran on; empty if it was lost before it said so.
    pub hostname: String,
    /// The index of the first of its switches, which follow each other.
    pub first_switch: u32,
    /// Number of its switches.
    pub switches: u32,
    /// Whether it did its part.
    pub completion: Completion,
    /// Counts of its switches.
    pub counts: Counts,
    /// Rates of its switches.
    pub rates: Rates,
    /// Its use of its host.
    pub probe_usage: Usage,
    /// Which side was the limit, from what this rank saw alone; absent if it was lost.
    pub verdict: Option<Verdict>,
    /// By how much its clock was ahead of that of rank 0 before traffic; absent for rank 0.
    pub clock_before: Option<ClockOffset>,
    /// The same after the last answer.
    pub clock_after: Option<ClockOffset>,
}

/// What the search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// The lower end of the bracket of the highest loss-free rate, all switches together: loss stayed
    /// within the tolerance and answers kept up with packet-ins where it was tried.
    pub loss_free_rate: Option<f64>,
    /// The upper end of the bracket; absent if no rate failed, or the probe was why it did.
    pub lossy_rate: Option<f64>,
    /// The confidence, 0 to 1, with which the bracket holds the highest loss-free rate; absent where
    /// an end is missing or the search did not come to its end, and in earlier results.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The number of trials whose losses delays of the probe may explain, so that they were repeated.
    #[serde(default)]
    pub disturbed_trials: u32,
    /// By which rule a rate is loss-free, and how many of its trials agreed, in a sentence or two.
    #[serde(default)]
    pub loss_free_method: String,
    /// Highest rate answered, all switches together, sought up to twice the rate at which it was:
    /// the mean over the trials at that rate (RFC 8456, section 5.1.3).
    pub maximum_received_rate: f64,
    /// The rate offered then; absent if nothing was ever answered, and in results of before.
    #[serde(default)]
    pub maximum_at_rate: Option<f64>,
    /// Offered rate, all switches together, beyond which the response time rises faster than the
    /// rate; never above the loss-free rate, and absent if there is none below it.
    pub knee_rate: Option<f64>,
    /// The knee lies above this; absent without one, and in results of before.
    #[serde(default)]
    pub knee_low_rate: Option<f64>,
    /// The knee lies below this; absent without one, and in results of before.
    #[serde(default)]
    pub knee_high_rate: Option<f64>,
    /// How the knee was found, in a sentence.
    pub knee_method: String,
    /// Whether the probe itself was the limit at the highest point, so that the controller may
    /// take more.
    pub limited_by_probe: bool,
}

/// A threshold and whether it held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdOutcome {
    /// The condition as written.
    pub condition: String,
    /// Which point.
    pub point: String,
    /// The value measured; absent if the metric has none.
    pub value: Option<f64>,
    /// Whether it held. A metric without a value breaks its threshold, and so does a percentile of
    /// the round-trip time that more packet-ins are missing from than lie beyond it.
    pub held: bool,
    /// Whether it could be tested. A percentile that cannot be stated from the number of samples
    /// cannot, and its threshold does not hold.
    #[serde(default = "is_testable")]
    pub testable: bool,
    /// What the value does not hold, if there is such.
    #[serde(default)]
    pub remark: Option<String>,
}

/// Thresholds of earlier results were all tested.
fn is_testable() -> bool {
    true
}

impl Point {
    /// The pipelines that its trials ran, by name. Figures of several are not to be put together.
    pub fn pipelines(&self) -> BTreeSet<&str> {
        self.trials.iter().flat_map(|trial| trial.pipelines.keys()).map(String::as_str).collect()
    }
}

impl RunResult {
    /// The pipelines that its trials ran, by name. Figures of several are not to be put together.
    pub fn pipelines(&self) -> BTreeSet<&str> {
        self.points.iter().flat_map(Point::pipelines).collect()
    }

    /// Whether all that it lacks is that some switches were not connected when trials ended.
    pub fn lacks_only_switches(&self) -> bool {
        let trials = self.points.iter().flat_map(|point| &point.trials);
        let lacks_only_switches = |trial: &Trial| match trial.completion {
            Completion::Complete => true,
            Completion::Partial { .. } => {
                let handshake = &trial.handshake;
                handshake.ready_at_end.unwrap_or(handshake.ready) < handshake.wanted
            }
            Completion::Failed { .. } => false,
        };
        self.pipelines().len() < 2 && trials.into_iter().all(lacks_only_switches)
    }

    /// Whether nothing was measured since in no trial all the switches that were wanted finished
    /// their handshake: the controller is not there, or not what it is taken for.
    pub fn controller_was_out_of_reach(&self) -> bool {
        let mut trials = self.points.iter().flat_map(|point| &point.trials).peekable();
        let out_of_reach = |trial: &Trial| {
            let handshake = &trial.handshake;
            let ready = handshake.ready_at_end.unwrap_or(handshake.ready).min(handshake.ready);
            matches!(trial.completion, Completion::Failed { .. }) && ready < handshake.wanted
        };
        trials.peek().is_some() && trials.all(out_of_reach)
    }
}

impl RunResult {
    /// Whether a rank that shared the switches of a trial was lost or failed.
    pub fn lost_a_rank(&self) -> bool {
        let mut ranks = self.points.iter().flat_map(|point| &point.trials).flat_map(|t| &t.ranks);
        ranks.any(|rank| matches!(rank.completion, Completion::Failed { .. }))
    }
}

impl Counts {
    /// Packets that the rules handled, so that they became no packet-ins.
    pub fn handled_by_rules(&self) -> u64 {
        self.forwarded_by_rules + self.dropped_by_rules
    }

    /// Packet-ins that had no answer when the trial ended, whether or not they left.
    pub fn unanswered(&self) -> u64 {
        self.lost + self.unsent
    }

    /// The share of the packet-ins due that had no answer when the trial ended, 0 to 1. Packets
    /// that rules handled take no part; absent where there were no others.
    pub fn unanswered_share(&self) -> Option<f64> {
        let wanted = self.due.saturating_sub(self.handled_by_rules());
        (wanted > 0).then(|| self.unanswered() as f64 / wanted as f64)
    }
}

impl Default for Histograms {
    fn default() -> Self {
        // Three significant digits; grows with the values recorded.
        let empty = || Histogram::new(3).expect("3 is a valid number of significant digits");
        Self {
            rtt_from_due: empty(),
            rtt_from_sent: empty(),
            send_lag: empty(),
            read_delay: empty(),
            rtt_in_window: empty(),
        }
    }
}
