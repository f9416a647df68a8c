//! The result of a run, in the form that is written to `result.json`.
//!
//! Every figure comes with the data by which a reader can judge it: rates with counts, percentiles
//! with the number of samples, means with repetitions and a 95 % confidence interval, and every
//! trial with a verdict on which side (probe, network or controller) limited it. Units are part of
//! the field names.
//!
//! A packet-in is *due* at the moment at which the schedule plans to send it. The *measure window*
//! is the part of a trial between its warm-up and its end. Unless stated otherwise, figures cover
//! the packet-ins that were due in this window.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use provenance::Provenance;
use ranks::ClockOffset;
use serde::{Deserialize, Serialize};
use statistics::{Estimate, can_state};

/// The name of the schema of [`RunResult`].
pub const SCHEMA: &str = "planimeter.probe.result";
/// The version of the schema. It increases when a field changes its meaning or disappears.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of a whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// The name of the schema, [`SCHEMA`].
    pub schema: String,
    /// The version of the schema, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The command and the time of the run, and the host of the probe.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Whether everything that was requested was measured.
    pub completion: Completion,
    /// The resolved configuration, which contains every key with its value.
    pub configuration: BTreeMap<String, String>,
    /// The address and the process of the controller.
    pub controller: ControllerFacts,
    /// The points of the run: one per combination of protocol, rate and number of switches.
    pub points: Vec<Point>,
    /// The result of the search, if the run searched for a rate.
    pub search: Option<SearchOutcome>,
    /// The conditions on the results, and whether the results met them.
    pub thresholds: Vec<ThresholdOutcome>,
    /// Remarks that a reader of the figures must know, such as problems of the host.
    pub notes: Vec<String>,
}

/// Whether everything that the user requested was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Completion {
    /// The measurement is complete.
    Complete,
    /// Only a part was measured.
    Partial {
        /// The reason why the measurement ended before everything was measured.
        reason: String,
    },
    /// The measurement failed, and there are no figures.
    Failed {
        /// The reason for the failure.
        reason: String,
    },
}

/// The address and the process of the controller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ControllerFacts {
    /// The address of the controller to which the switches connected (OpenFlow), or the addresses
    /// of the switches to which the controller connected (P4Runtime).
    pub address: String,
    /// The selector of the process whose CPU time and memory were sampled, if they were.
    pub process: Option<String>,
}

/// All trials with one protocol, rate and number of switches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// The protocol: `openflow10`, `openflow13` or `p4runtime`.
    pub protocol: String,
    /// The traffic mode: `open` loop, `closed` loop or `flood`.
    pub mode: String,
    /// The number of emulated switches.
    pub switches: u32,
    /// The number of packet-ins due per second and switch (absent unless the mode is open).
    pub rate_per_switch: Option<f64>,
    /// The number of packet-ins due per second over all switches (absent unless the mode is open).
    pub offered_rate: Option<f64>,
    /// The maximum number of unanswered packet-ins per switch (absent unless the mode is closed).
    pub window: Option<u32>,
    /// The trials, in the order of their repetitions.
    pub trials: Vec<Trial>,
    /// The mean over trials with its confidence interval, by metric name (`sent_rate`,
    /// `received_rate`, `loss`, `rtt.mean`, `rtt.p50`, `rtt.p99`, `controller.cpu` and so on; see
    /// [`Trial::metrics`]).
    pub summary: BTreeMap<String, Estimate>,
}

/// The result of one trial. In a trial, switches connect, send traffic during a warm-up and then
/// the measure window, and wait for the last answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The number of the repetition, from 1.
    pub repetition: u32,
    /// The seed of the random numbers in this trial's schedule.
    pub seed: u64,
    /// Whether the trial was completed.
    pub completion: Completion,
    /// The length of the measure window in seconds.
    pub measured_s: f64,
    /// The counts of packets of the measure window.
    pub counts: Counts,
    /// The rates over the measure window.
    pub rates: Rates,
    /// The round-trip time of a packet-in: from the moment at which it was due to the arrival of
    /// its answer. A delay of the probe is part of it.
    pub rtt_from_due: Latency,
    /// The round-trip time from the moment at which a packet-in was sent to the arrival of its
    /// answer, as in the P4RCProbe paper, section III.
    pub rtt_from_sent: Latency,
    /// The delay of the probe: the time from the moment at which a packet-in was due until it was
    /// sent.
    pub send_lag: Latency,
    /// The time for which an answer may have waited until the probe read it. It is zero while the
    /// probe slept, since an answer would have woken it, and otherwise the time between two polls
    /// of its sockets. Each such time is weighted by its length, as answers arriving at random
    /// would encounter it. Empty in results of older versions.
    #[serde(default)]
    pub read_delay: Latency,
    /// Counts of the packet-ins that were sent and the answers that arrived during the window,
    /// regardless of when the packet-ins were due. Empty in results of older versions.
    #[serde(default)]
    pub in_window: InWindow,
    /// Jain's fairness index over the numbers of answered packet-ins of the switches; 1 is
    /// perfectly fair (absent if it is undefined).
    pub fairness: Option<f64>,
    /// The rates and other values over time.
    pub series: Series,
    /// The results of each switch.
    pub per_switch: Vec<SwitchOutcome>,
    /// The CPU time and memory of the controller (absent if its process was not sampled).
    pub controller_usage: Option<Usage>,
    /// The CPU time and memory of the probe.
    pub probe_usage: Usage,
    /// The verdict on which side limited the trial.
    pub verdict: Verdict,
    /// The time without answers at the end of the trial, if the controller stopped answering
    /// (absent if answers arrived until the end).
    #[serde(default)]
    pub silence: Option<Silence>,
    /// The progress of the switches' handshakes with the controller.
    pub handshake: HandshakeOutcome,
    /// The number of switches that run each P4Runtime pipeline, by the pipeline's name. Only equal
    /// pipelines share a name. Empty over OpenFlow and in results of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pipelines: BTreeMap<String, u32>,
    /// The processes of the probe (ranks) among which the switches were divided, in order of their
    /// numbers (empty for a single process).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankOutcome>,
    /// Remarks that a reader of the figures must know.
    pub notes: Vec<String>,
    /// The histograms of times, in nanoseconds.
    #[serde(skip)]
    pub histograms: Histograms,
}

/// The histograms from which the [`Latency`] summaries were computed. Values are nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Histograms {
    /// The histogram of [`Trial::rtt_from_due`].
    #[serde(with = "statistics::histogram_text")]
    pub rtt_from_due: Histogram<u64>,
    /// The histogram of [`Trial::rtt_from_sent`].
    #[serde(with = "statistics::histogram_text")]
    pub rtt_from_sent: Histogram<u64>,
    /// The histogram of [`Trial::send_lag`].
    #[serde(with = "statistics::histogram_text")]
    pub send_lag: Histogram<u64>,
    /// The histogram of [`Trial::read_delay`].
    #[serde(with = "statistics::histogram_text")]
    pub read_delay: Histogram<u64>,
    /// The histogram of [`InWindow::rtt_from_sent`].
    #[serde(with = "statistics::histogram_text")]
    pub rtt_in_window: Histogram<u64>,
}

/// Counts of packets. Unless stated otherwise, they cover packet-ins that were due in the measure
/// window and the answers to these packet-ins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The number of packets that were due. Each is sent as a packet-in, unless the switches run
    /// their flow tables: a rule may then forward or drop the packet instead.
    pub due: u64,
    /// The number of packet-ins that were sent.
    pub sent: u64,
    /// The number of due packets that were neither sent as packet-ins nor handled by rules. Either
    /// their switch had no connection, or the controller did not read, or the probe had no time to
    /// send them.
    #[serde(default)]
    pub unsent: u64,
    /// The number of due packets that rules of the controller forwarded, so that no packet-in was
    /// sent. It is always 0 unless switches run their flow tables.
    #[serde(default)]
    pub forwarded_by_rules: u64,
    /// The number of due packets that were dropped, by a rule or because no rule matched. It is
    /// always 0 unless switches run their flow tables.
    #[serde(default)]
    pub dropped_by_rules: u64,
    /// The number of packet-ins that were answered, including late answers.
    pub answered: u64,
    /// The number of answered packet-ins whose answer was late, which means that it took longer
    /// than the configured limit.
    pub late: u64,
    /// The number of answered packet-ins whose answer came after the window.
    #[serde(default)]
    pub answered_after: u64,
    /// The number of packet-ins that were sent and had no answer when the trial ended.
    pub lost: u64,
    /// The number of lost packet-ins that were passed over, which means that a later packet-in of
    /// the same switch was answered.
    #[serde(default)]
    pub passed_over: u64,
    /// The number of lost packet-ins that were not passed over. They may still have been waiting at
    /// the controller.
    #[serde(default)]
    pub waiting: u64,
    /// The number of further answers to packet-ins that had been answered before.
    pub duplicated: u64,
    /// The number of answered packet-ins that had more than one answer.
    #[serde(default)]
    pub repeated: u64,
    /// The number of packet-outs, over the whole trial, that neither answer a packet-in of the
    /// probe nor contain a frame for link discovery.
    pub unmatched: u64,
    /// The number of answers that arrived so late that the probe no longer knew the send times of
    /// their packet-ins (see `traffic.outstanding-limit`). They count as answered and late, and are
    /// missing from the histograms.
    pub untimed: u64,
    /// The number of packet-outs that arrived during the measure window, whether they are answers
    /// or not.
    pub packet_outs: u64,
    /// The number of rules installed during the measure window: flow-mods that add or modify
    /// (OpenFlow), or table entries that a Write inserts or modifies (P4Runtime).
    pub rules_installed: u64,
    /// The number of flow-mods (OpenFlow) or Write updates (P4Runtime) during the measure window
    /// that delete rules.
    pub rules_removed: u64,
    /// The number of flow-mods (OpenFlow) or Write updates (P4Runtime) during the measure window
    /// that were refused with an error.
    pub rules_refused: u64,
    /// The number of LLDP and BDDP frames that were relayed over emulated links, over the whole
    /// trial.
    pub discovery_relayed: u64,
    /// The number of connections that the controller closed, or that broke, over the whole trial.
    pub disconnects: u64,
    /// The number of messages, over the whole trial, that could not be decoded. They include
    /// packet-outs whose metadata does not fit the pipeline (P4Runtime).
    pub malformed: u64,
    /// The number of packet-outs, over the whole trial, that a switch did not accept from this
    /// controller at that time. Over P4Runtime, the switch had no pipeline yet or the sender was
    /// not its primary controller; over OpenFlow, the sender had the role of slave.
    #[serde(default)]
    pub not_taken: u64,
}

/// Counts of the packet-ins that were sent and the answers that arrived during the measure window,
/// regardless of when the packet-ins were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InWindow {
    /// The number of packet-ins that were sent in the window.
    pub left: u64,
    /// The number of packet-ins whose first answer arrived in the window.
    pub answers: u64,
    /// The number of answers in the window whose packet-in was due before the window.
    pub answers_to_earlier: u64,
    /// The round-trip times of the answers in the window, from the moment at which their packet-ins
    /// were sent.
    pub rtt_from_sent: Latency,
    /// The number of answers in the window that no delay of the probe can have affected, since no
    /// burst of delayed packet-ins occupied the controller when they arrived. Zero in results of
    /// older versions.
    #[serde(default)]
    pub undisturbed_answers: u64,
    /// The mean round-trip time, from sending, of the answers that no delay of the probe can have
    /// affected (absent without such answers).
    #[serde(default)]
    pub undisturbed_rtt_mean_ns: Option<f64>,
    /// The longest time between two answers in the whole trial, including the warm-up, in seconds.
    #[serde(default)]
    pub longest_gap_s: f64,
}

/// The rates over the measure window, per second, summed over all switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// The number of packet-ins per second that were due.
    pub offered: f64,
    /// The number of packet-ins per second that were sent in the window, whenever they were due.
    pub sent: f64,
    /// The number of packet-ins per second whose first answer arrived in the window, whenever they
    /// were due.
    pub received: f64,
    /// The number of rules per second that were installed.
    pub rules: f64,
    /// The share, from 0 to 1, of the packet-ins due in the window that were sent but not answered.
    pub loss: f64,
}

/// A summary of a histogram of times, in nanoseconds. A percentile for which there are too few
/// samples ([`statistics::can_state`]) is meaningless, and is null in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StatedLatency", into = "StatedLatency")]
pub struct Latency {
    /// The number of samples. If it is 0, every other field is 0 and meaningless.
    pub samples: u64,
    /// The arithmetic mean of the samples in nanoseconds.
    pub mean_ns: f64,
    /// The standard deviation of the samples in nanoseconds.
    pub stddev_ns: f64,
    /// The smallest sample in nanoseconds.
    pub min_ns: u64,
    /// The median in nanoseconds.
    pub p50_ns: u64,
    /// The 90th percentile in nanoseconds.
    pub p90_ns: u64,
    /// The 95th percentile in nanoseconds.
    pub p95_ns: u64,
    /// The 99th percentile in nanoseconds.
    pub p99_ns: u64,
    /// The 99.9th percentile in nanoseconds.
    pub p999_ns: u64,
    /// The largest sample in nanoseconds.
    pub max_ns: u64,
}

/// A [`Latency`] for output, from which percentiles are omitted if there are too few samples for
/// them.
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

/// Values over time, from the moment at which the first packet was due (warm-up included). Each
/// vector has one value per interval. The last interval may be shorter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The start of the measure window, in seconds since the first packet was due.
    pub measure_from_s: f64,
    /// The end of the measure window, in seconds since the first packet was due.
    pub measure_to_s: f64,
    /// The number of packet-ins sent in each second.
    pub sent_per_s: Vec<u64>,
    /// The number of packet-ins answered in each second.
    pub received_per_s: Vec<u64>,
    /// The number of rules installed in each second.
    pub rules_per_s: Vec<u64>,
    /// The time in seconds between two samples of the outstanding packet-ins, of the CPU time and
    /// of the memory.
    pub sample_interval_s: f64,
    /// The number of unanswered packet-ins over all switches, at each sample.
    pub outstanding: Vec<u64>,
    /// The controller's CPU time in percent of one core, at each sample; `null` if the sample is
    /// missing.
    pub controller_cpu_percent: Vec<Option<f64>>,
    /// The controller's resident memory in bytes, at each sample; `null` if the sample is missing.
    pub controller_rss_bytes: Vec<Option<u64>>,
    /// The probe's CPU time in percent of one core, at each sample; `null` if the sample is
    /// missing.
    pub probe_cpu_percent: Vec<Option<f64>>,
}

/// The results of one emulated switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchOutcome {
    /// The index of the switch, from 0.
    pub index: u32,
    /// The datapath id (OpenFlow) or the device id (P4Runtime) of the switch.
    pub id: u64,
    /// The counts of this switch's packets, with the meanings of [`Trial::counts`].
    pub counts: Counts,
    /// The number of packet-ins of this switch per second that were sent in the window, whenever
    /// they were due.
    pub sent_rate: f64,
    /// The number of packet-ins of this switch per second whose first answer arrived in the window,
    /// whenever they were due.
    pub received_rate: f64,
    /// The mean round-trip time from the moment at which a packet-in was due, in nanoseconds
    /// (absent without samples).
    pub rtt_mean_ns: Option<f64>,
    /// The largest round-trip time from the moment at which a packet-in was due, in nanoseconds
    /// (absent without samples).
    pub rtt_max_ns: Option<u64>,
    /// The number of unanswered packet-ins over time, at the interval [`Series::sample_interval_s`]
    /// (empty in trials of more than 1,000 switches).
    pub outstanding: Vec<u32>,
    /// The number of packet-ins sent in each second (empty in trials of more than 1,000 switches).
    pub sent_per_s: Vec<u32>,
    /// The number of packet-ins answered in each second (empty in trials of more than 1,000
    /// switches).
    pub received_per_s: Vec<u32>,
}

/// The CPU time and memory that a process used over the measure window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// The mean CPU time in percent of one core, so that four busy cores are 400.
    pub cpu_percent: f64,
    /// The largest sample of the CPU time in percent of one core.
    pub cpu_percent_max: f64,
    /// The largest resident memory in bytes.
    pub rss_bytes_max: u64,
    /// The number of samples of CPU time and memory.
    pub samples: u32,
}

/// The verdict on which side limited a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The side that limited the trial: the probe, the network or the controller, if any.
    pub saturated: Saturated,
    /// The observations that support the verdict, in a sentence or two.
    pub because: String,
    /// The certainty of the verdict (absent if the verdict names no side, or if the load did not
    /// follow a schedule).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// The number of packet-ins that each side delayed or lost. It is absent if the load did not
    /// follow a schedule, or if too little was observed, for example because nothing was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// The backlog that grew at the controller, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// The indices of the switches whose packet-ins were answered far less often than those of the
    /// others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<u32>,
}

impl Verdict {
    /// Creates a verdict that names a side, without an explanation and figures.
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

/// The certainty with which a verdict names a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The side is certain: the lower bound on its packet-ins in [`Account`] exceeds the sum of the
    /// upper bounds of the other sides.
    Sure,
    /// The side is likely: by the bounds in [`Account`], the other sides together may have delayed
    /// or lost as many packet-ins.
    Likely,
}

/// The number of packet-ins that were due in the window and not answered in it, and how many of
/// them each of the three sides delayed or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The number of packet-ins that were due in the window, without those that flow rules handled.
    pub due: u64,
    /// The number of packet-ins that were due in the window minus the number of packet-ins, due at
    /// any time, whose first answer arrived in it, or 0 if the difference is negative.
    pub missing: u64,
    /// The bounds on the number of packet-ins that the controller delayed or lost.
    pub controller: Bounds,
    /// The bounds on the number of packet-ins that the probe delayed or lost, or whose answers it
    /// read late.
    pub probe: Bounds,
    /// The bounds on the number of packet-ins that the network delayed.
    pub network: Bounds,
}

/// A lower and an upper bound on a number of packet-ins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lower bound on the number of packet-ins.
    pub low: u64,
    /// The upper bound on the number of packet-ins.
    pub high: u64,
}

/// A backlog that grew at the controller. It consists of packet-ins that the probe sent, or could
/// not send because the controller did not read, and that the controller neither answered nor
/// dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    /// The number of answers per second while the backlog existed, or over the whole window if the
    /// backlog did not last long enough.
    pub answer_rate: f64,
    /// The lower end of the 99 % confidence interval of the answer rate (absent if the backlog did
    /// not last long enough).
    pub answer_rate_low: Option<f64>,
    /// The upper end of the 99 % confidence interval of the answer rate (absent if the lower end is
    /// absent).
    pub answer_rate_high: Option<f64>,
    /// The number of packet-ins in the backlog at the start of the window.
    pub at_start: u64,
    /// The number of packet-ins in the backlog at the end of the window.
    pub at_end: u64,
    /// The growth of the backlog in packet-ins per second: the offered rate minus the answer rate.
    pub growth_rate: f64,
    /// The time in seconds that the controller would need to answer the backlog at the end of the
    /// window (absent if nothing was answered).
    pub time_to_answer_s: Option<f64>,
}

/// The side that limited a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Saturated {
    /// No side: nearly all due packet-ins were sent and answered. In a closed loop, the limit was
    /// the configured number of unanswered packet-ins.
    Neither,
    /// The controller: it delayed or lost packet-ins, or all switches waited for its answers.
    Controller,
    /// The probe: it did not send packet-ins in time, sent them in bursts that lost packet-ins, or
    /// read answers late.
    Probe,
    /// The network between probe and controller: packet-ins piled up in its queues.
    Network,
    /// Unknown, because too little was observed.
    Unknown,
}

/// A controller that stopped answering for good. Times are seconds since the first packet was due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// The time at which the last answer arrived.
    pub last_answer_s: f64,
    /// The time at which the trial ended, until which no further answer arrived.
    pub until_s: f64,
    /// The number of packet-ins that were sent after the last one that was answered.
    pub unanswered: u64,
    /// The time at which the first unanswered packet-in was sent.
    pub sent_s: f64,
    /// The index of the switch that sent the first unanswered packet-in.
    pub switch: u32,
    /// The sequence number of the first unanswered packet-in among the packet-ins of its switch,
    /// from 0.
    pub sequence: u64,
    /// A description of the frame in the first unanswered packet-in.
    pub frame: String,
}

/// The progress of the switches' handshakes with the controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HandshakeOutcome {
    /// The number of switches that became ready at least once, even if their connection ended
    /// later.
    pub ready: u32,
    /// The number of switches that were ready when the trial ended (absent in results of older
    /// versions).
    #[serde(default)]
    pub ready_at_end: Option<u32>,
    /// The number of switches that must be ready for the trial to count as complete.
    pub wanted: u32,
    /// The time in seconds from the first connection attempt until the last switch became ready
    /// (absent if not all became ready).
    pub ready_after_s: Option<f64>,
    /// The number of switches at each stage of the handshake. A switch counts at the last stage
    /// that it has reached.
    pub stages: BTreeMap<String, u32>,
    /// The number of switches for each error that connections of switches had.
    pub errors: BTreeMap<String, u32>,
    /// The reason why no packet-in was answered, if none was.
    pub why_zero: Option<String>,
}

/// The result of one rank in a trial. A rank is one of several processes among which the switches
/// of a trial are divided. The figures of all ranks together are in [`Trial`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankOutcome {
    /// The number of the rank, counted from 0.
    pub rank: u32,
    /// The name of the host on which the rank ran (empty if the rank was lost before it reported
    /// it).
    pub hostname: String,
    /// The index of the rank's first switch. The rank's switches have consecutive indices.
    pub first_switch: u32,
    /// The number of the rank's switches.
    pub switches: u32,
    /// Whether the rank completed its part of the trial.
    pub completion: Completion,
    /// The counts of the rank's switches.
    pub counts: Counts,
    /// The rates of the rank's switches.
    pub rates: Rates,
    /// The CPU time and memory that the rank used on its host.
    pub probe_usage: Usage,
    /// The verdict from the observations of this rank alone (absent if the rank was lost).
    pub verdict: Option<Verdict>,
    /// The offset of the rank's clock from that of rank 0 before traffic, which is positive if the
    /// clock is ahead (absent for rank 0).
    pub clock_before: Option<ClockOffset>,
    /// The offset of the rank's clock from that of rank 0 after the last answer.
    pub clock_after: Option<ClockOffset>,
}

/// The result of the search for the highest loss-free rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// The highest rate over all switches that is known to be loss-free, which means that losses
    /// stayed within the tolerance and answers kept up with packet-ins. It is the lower end of the
    /// interval that the search found (absent if no rate is known to be loss-free, or if the
    /// controller stopped answering for good).
    pub loss_free_rate: Option<f64>,
    /// The lowest rate over all switches that is known not to be loss-free (absent if no rate
    /// failed, or if the probe was the reason).
    pub lossy_rate: Option<f64>,
    /// The confidence, from 0 to 1, that the highest loss-free rate lies between `loss_free_rate`
    /// and `lossy_rate` (absent if either of them is absent, if the search was rough or not
    /// completed, and in results of older versions).
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The number of disturbed trials. In a disturbed trial, delays of the probe may explain the
    /// losses, or the probe did not offer the rate.
    #[serde(default)]
    pub disturbed_trials: u32,
    /// The condition under which a rate counts as loss-free, and how many trials agreed, in a
    /// sentence or two.
    #[serde(default)]
    pub loss_free_method: String,
    /// The highest answer rate over all switches (RFC 8456, section 5.1.3). An answer rate is the
    /// mean over the trials at one offered rate. Offered rates of up to twice the one with the most
    /// answers were tried, unless the configured range or the probe did not permit it.
    pub maximum_received_rate: f64,
    /// The offered rate over all switches at which the answer rate was highest (absent if nothing
    /// was ever answered, and in results of older versions).
    #[serde(default)]
    pub maximum_at_rate: Option<f64>,
    /// The knee: the offered rate over all switches beyond which the response time rises faster
    /// than the rate. It never exceeds the loss-free rate, and is absent if there is no such rate.
    pub knee_rate: Option<f64>,
    /// The lower end of the interval in which the knee lies (absent without a knee, and in results
    /// of older versions).
    #[serde(default)]
    pub knee_low_rate: Option<f64>,
    /// The upper end of the interval in which the knee lies (absent without a knee, and in results
    /// of older versions).
    #[serde(default)]
    pub knee_high_rate: Option<f64>,
    /// A sentence on the method that found the knee.
    pub knee_method: String,
    /// Whether the lowest rate that failed did so because of the probe, so that the controller may
    /// sustain more.
    pub limited_by_probe: bool,
}

/// A condition on the results, and whether the results met it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdOutcome {
    /// The condition as the user wrote it.
    pub condition: String,
    /// The label of the point whose trials were tested.
    pub point: String,
    /// The measured value (absent if the metric has no value).
    pub value: Option<f64>,
    /// Whether the condition was met. A metric without a value violates its condition. A percentile
    /// of the round-trip time also violates it if too many packet-ins have no round-trip time: more
    /// than may lie beyond the percentile.
    pub held: bool,
    /// Whether there were enough samples to test the condition. A condition on a percentile with
    /// too few samples counts as not met.
    #[serde(default = "is_testable")]
    pub testable: bool,
    /// A remark on the packet-ins that the value does not cover, if there are any.
    #[serde(default)]
    pub remark: Option<String>,
}

/// Returns true, the value in results of older versions, in which all thresholds were tested.
fn is_testable() -> bool {
    true
}

impl Point {
    /// Returns the names of the pipelines that the switches ran in these trials. Figures of
    /// different pipelines must not be combined.
    pub fn pipelines(&self) -> BTreeSet<&str> {
        self.trials.iter().flat_map(|trial| trial.pipelines.keys()).map(String::as_str).collect()
    }
}

impl RunResult {
    /// Returns the names of the pipelines that the switches ran in the trials of the run. Figures
    /// of different pipelines must not be combined.
    pub fn pipelines(&self) -> BTreeSet<&str> {
        self.points.iter().flat_map(Point::pipelines).collect()
    }

    /// Returns whether the run is incomplete, if at all, only because some switches were not
    /// connected when trials ended.
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

    /// Returns whether nothing was measured because the handshakes of some switches failed in every
    /// trial. Either no controller listens, or it speaks a different protocol.
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
    /// Returns whether one of the processes (ranks) among which the switches were divided was lost
    /// or failed.
    pub fn lost_a_rank(&self) -> bool {
        let mut ranks = self.points.iter().flat_map(|point| &point.trials).flat_map(|t| &t.ranks);
        ranks.any(|rank| matches!(rank.completion, Completion::Failed { .. }))
    }
}

impl Counts {
    /// Returns the number of packets that rules of the controller handled, so that no packet-in was
    /// sent for them.
    pub fn handled_by_rules(&self) -> u64 {
        self.forwarded_by_rules + self.dropped_by_rules
    }

    /// Returns the number of packet-ins that had no answer when the trial ended, including those
    /// that were never sent.
    pub fn unanswered(&self) -> u64 {
        self.lost + self.unsent
    }

    /// Returns the share, from 0 to 1, of due packet-ins that had no answer when the trial ended.
    /// Packets that rules handled are excluded. Returns `None` if no packet-in was due.
    pub fn unanswered_share(&self) -> Option<f64> {
        let wanted = self.due.saturating_sub(self.handled_by_rules());
        (wanted > 0).then(|| self.unanswered() as f64 / wanted as f64)
    }
}

impl Default for Histograms {
    fn default() -> Self {
        // The histograms keep three significant digits and resize themselves.
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
