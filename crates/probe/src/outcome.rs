//! The result of a run, in the form that is written to `result.json`.
//!
//! Every figure comes with what is needed to judge it: rates with counts, percentiles with the
//! number of samples, means with repetitions and a 95 % confidence interval, and every trial with a
//! verdict on which side (probe, network or controller) limited it. Units are part of the field
//! names.
//!
//! A packet-in is *due* at the moment at which the schedule sends it. The *measure window* is the
//! part of a trial between its warm-up and its end. Unless stated otherwise, figures cover the
//! packet-ins that were due in this window.

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
    /// The resolved configuration: key to value, with every key present.
    pub configuration: BTreeMap<String, String>,
    /// The address and the process of the controller.
    pub controller: ControllerFacts,
    /// The points of the run: one per combination of protocol, rate and number of switches.
    pub points: Vec<Point>,
    /// The result of the search, if the run searched for a rate.
    pub search: Option<SearchOutcome>,
    /// The thresholds, and whether they held.
    pub thresholds: Vec<ThresholdOutcome>,
    /// Remarks that a reader of the figures must know.
    pub notes: Vec<String>,
}

/// Whether everything that was requested was measured.
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
    /// The address dialled (OpenFlow), or the addresses listened on (P4Runtime).
    pub address: String,
    /// The selection of the process whose CPU time and memory were sampled, if one was.
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
    /// The number of packet-ins offered per second and switch (absent unless the mode is open).
    pub rate_per_switch: Option<f64>,
    /// The number of packet-ins offered per second by all switches (absent unless the mode is
    /// open).
    pub offered_rate: Option<f64>,
    /// The maximum number of outstanding packet-ins per switch (absent unless the mode is closed).
    pub window: Option<u32>,
    /// The trials, in order.
    pub trials: Vec<Trial>,
    /// The mean over trials with its confidence interval, by metric name (`sent_rate`,
    /// `received_rate`, `loss`, `rtt.mean`, `rtt.p50`, `rtt.p99`, `controller.cpu` and so on; see
    /// [`Trial::metrics`]).
    pub summary: BTreeMap<String, Estimate>,
}

/// The result of one trial, in which switches connect, send traffic during a warm-up and a measured
/// time, and wait for the last answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The number of the repetition, from 1.
    pub repetition: u32,
    /// The seed of the random choices in this trial's schedule.
    pub seed: u64,
    /// Whether the trial was completed.
    pub completion: Completion,
    /// The length of the measure window in seconds.
    pub measured_s: f64,
    /// The counts of packets of the measure window.
    pub counts: Counts,
    /// The rates over the measure window.
    pub rates: Rates,
    /// The round-trip time from the moment a packet-in was due to the arrival of its answer.
    pub rtt_from_due: Latency,
    /// The round-trip time from the moment at which a packet-in left to the arrival of its answer,
    /// as in the P4RCProbe paper, section III.
    pub rtt_from_sent: Latency,
    /// The delay of the departures of packet-ins after their due times.
    pub send_lag: Latency,
    /// The time for which an answer may have waited until the probe read it. It is zero while the
    /// probe slept, since an answer would have woken it, and otherwise the time between two polls
    /// of its sockets. Periods are weighted by their length. Empty in results of older versions.
    #[serde(default)]
    pub read_delay: Latency,
    /// The counts of packet-ins that left and of answers that arrived during the window, regardless
    /// of when the packet-ins were due. Empty in results of older versions.
    #[serde(default)]
    pub in_window: InWindow,
    /// Jain's fairness index of the number of answered packet-ins over the switches; 1 is perfectly
    /// fair (absent if it is undefined).
    pub fairness: Option<f64>,
    /// The rates and states over time.
    pub series: Series,
    /// The results of each switch.
    pub per_switch: Vec<SwitchOutcome>,
    /// The CPU time and memory of the controller (absent if its process was not sampled).
    pub controller_usage: Option<Usage>,
    /// The CPU time and memory of the probe.
    pub probe_usage: Usage,
    /// The verdict on which side limited the trial.
    pub verdict: Verdict,
    /// The time without answers at the end of the trial (absent if answers arrived until the end).
    #[serde(default)]
    pub silence: Option<Silence>,
    /// The progress of the switches' handshakes with the controller.
    pub handshake: HandshakeOutcome,
    /// The number of switches by the name of their P4Runtime pipeline. Only equal pipelines share a
    /// name. Empty over OpenFlow and in results of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pipelines: BTreeMap<String, u32>,
    /// The processes of the probe (ranks) among which the switches were divided, in order of their
    /// numbers (empty for a single process).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankOutcome>,
    /// Remarks that a reader of the figures must know.
    pub notes: Vec<String>,
    /// The raw histograms, in nanoseconds.
    #[serde(skip)]
    pub histograms: Histograms,
}

/// The raw histograms behind the [`Latency`] summaries. Values are nanoseconds.
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
    /// The number of packets that were due. Each causes a packet-in, unless the switches run their
    /// flow tables, whose rules may forward or drop the packet instead.
    pub due: u64,
    /// The number of packet-ins that left.
    pub sent: u64,
    /// The number of due packets that neither left as packet-ins nor were handled by flow rules:
    /// their switch had no connection, the controller did not read, or the probe had no time to
    /// send them.
    #[serde(default)]
    pub unsent: u64,
    /// The number of due packets that flow rules of the controller forwarded without sending
    /// anything to the controller. It is always 0 unless switches run their flow tables.
    #[serde(default)]
    pub forwarded_by_rules: u64,
    /// The number of due packets that were dropped, by a flow rule or because none matched. It is
    /// always 0 unless switches run their flow tables.
    #[serde(default)]
    pub dropped_by_rules: u64,
    /// The number of packet-ins that were answered, including late answers.
    pub answered: u64,
    /// The number of answered packet-ins whose answer took longer than the limit for late answers.
    pub late: u64,
    /// The number of answered packet-ins whose answer came after the window.
    #[serde(default)]
    pub answered_after: u64,
    /// The number of packet-ins that left and had no answer when the trial ended.
    pub lost: u64,
    /// The number of lost packet-ins that were passed over: a later packet-in of their switch was
    /// answered.
    #[serde(default)]
    pub passed_over: u64,
    /// The number of lost packet-ins that were not passed over: they may still have waited at the
    /// controller.
    #[serde(default)]
    pub waiting: u64,
    /// The number of additional answers to packet-ins that were already answered.
    pub duplicated: u64,
    /// The number of answered packet-ins that had more than one answer.
    #[serde(default)]
    pub repeated: u64,
    /// The number of packet-outs, over the whole trial, that neither answer a packet-in of the
    /// probe nor contain a discovery frame.
    pub unmatched: u64,
    /// The number of answers that arrived after the probe had discarded the times of their
    /// packet-in (see `traffic.outstanding-limit`). They count as answered and late, and are
    /// missing from the histograms.
    pub untimed: u64,
    /// The number of packet-outs that arrived during the measure window, regardless of what they
    /// answer.
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
    /// The number of LLDP and BDDP frames that were relayed over emulated links in the whole trial.
    pub discovery_relayed: u64,
    /// The number of connections that the controller closed, or that broke, over the whole trial.
    pub disconnects: u64,
    /// The number of messages, over the whole trial, that could not be decoded. They include
    /// packet-outs whose metadata does not fit the pipeline (P4Runtime).
    pub malformed: u64,
    /// The number of packet-outs, over the whole trial, that a switch refused because of their
    /// sender or time. Over P4Runtime, the switch had no pipeline yet or the sender was not its
    /// primary controller; over OpenFlow, the sender had the role of slave.
    #[serde(default)]
    pub not_taken: u64,
}

/// The counts of packet-ins that left and of answers that arrived during the measure window,
/// regardless of when the packet-ins were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InWindow {
    /// The number of packet-ins that left.
    pub left: u64,
    /// The number of first answers that arrived.
    pub answers: u64,
    /// The number of answers whose packet-in was due before the window.
    pub answers_to_earlier: u64,
    /// The round-trip times of the answers, from the moment at which their packet-ins left.
    pub rtt_from_sent: Latency,
    /// The number of answers that arrived while no burst of delayed packet-ins disturbed the
    /// controller. Zero in results of older versions.
    #[serde(default)]
    pub undisturbed_answers: u64,
    /// The mean round-trip time, from departure, of the answers that arrived while no burst of
    /// delayed packet-ins disturbed the controller (absent without such answers).
    #[serde(default)]
    pub undisturbed_rtt_mean_ns: Option<f64>,
    /// The longest time between two answers of the trial, the warm-up included, in seconds.
    #[serde(default)]
    pub longest_gap_s: f64,
}

/// The rates over the measure window, per second, summed over all switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// The number of packet-ins per second that were due.
    pub offered: f64,
    /// The number of packet-ins per second that left in the window, whenever they were due.
    pub sent: f64,
    /// The number of first answers per second that arrived in the window, whenever their packet-in
    /// was due.
    pub received: f64,
    /// The number of rules per second that were installed.
    pub rules: f64,
    /// The share, from 0 to 1, of the packet-ins due in the window that left and were not answered.
    pub loss: f64,
}

/// A summary of a histogram, in nanoseconds. A percentile for which there are too few samples
/// ([`statistics::can_state`]) is meaningless, and is null in JSON.
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

/// Values over time since the first packet was due (warm-up included). All vectors have one value
/// per interval. The last interval may be shorter.
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
    /// The number of outstanding packet-ins over all switches, at each sample.
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
    /// The number of packet-ins per second that left in the window, whenever they were due.
    pub sent_rate: f64,
    /// The number of first answers per second that arrived in the window, whenever their packet-in
    /// was due.
    pub received_rate: f64,
    /// The mean round-trip time from the due time, in nanoseconds (absent without samples).
    pub rtt_mean_ns: Option<f64>,
    /// The largest round-trip time from the due time, in nanoseconds (absent without samples).
    pub rtt_max_ns: Option<u64>,
    /// The number of outstanding packet-ins over time, at the interval
    /// [`Series::sample_interval_s`] (empty in trials of more than 1,000 switches).
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
    /// The side that limited the trial.
    pub saturated: Saturated,
    /// The observations that support the verdict, in a sentence or two.
    pub because: String,
    /// The certainty of the verdict (absent unless a side was the limit and the load followed a
    /// schedule).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// The number of packet-ins that each side delayed or lost. It is absent if the load followed
    /// no schedule, or if too little was observed, for example because nothing was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// The backlog that grew at the controller, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// The indices of the switches that were answered far less often than the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<u32>,
}

impl Verdict {
    /// Creates a verdict without an explanation or any figures.
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
    /// The side that the verdict names is certain: its lower bound in [`Account`] exceeds the sum
    /// of the upper bounds of the other sides.
    Sure,
    /// The side that the verdict names is likely: by the bounds in [`Account`], the other sides
    /// together may have delayed or lost as much as that side.
    Likely,
}

/// The packet-ins that were due in the window and had no answer in it, attributed to the
/// controller, the probe and the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The number of packet-ins that were due in the window, without those that flow rules handled.
    pub due: u64,
    /// The number of packet-ins that were due in the window minus the number of first answers that
    /// arrived in it, to any packet-in, or 0 if there were more answers.
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

/// A backlog that grew at the controller: packet-ins that left, or that the controller's
/// connections refused, and that the controller neither answered nor dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    /// The number of answers per second while there was a backlog, or over the whole window if the
    /// backlog did not last long enough.
    pub answer_rate: f64,
    /// The lower end of the 99 % confidence interval of the answer rate (absent if the backlog did
    /// not last long enough).
    pub answer_rate_low: Option<f64>,
    /// The upper end of the 99 % confidence interval of the answer rate (absent if the lower end is
    /// absent).
    pub answer_rate_high: Option<f64>,
    /// The backlog at the start of the window.
    pub at_start: u64,
    /// The backlog at the end of the window.
    pub at_end: u64,
    /// The growth of the backlog in packet-ins per second: the offered rate minus the answer rate.
    pub growth_rate: f64,
    /// The time in seconds that the controller needs to answer the backlog at the end (absent where
    /// nothing was answered).
    pub time_to_answer_s: Option<f64>,
}

/// The side that limited a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Saturated {
    /// No side: nearly all offered packet-ins left and were answered, or a closed loop was limited
    /// by its own number of outstanding packet-ins.
    Neither,
    /// The controller: it delayed or lost packet-ins, or the load waited for its answers.
    Controller,
    /// The probe: it did not send packet-ins in time, sent them in bursts that lost packet-ins, or
    /// read answers late.
    Probe,
    /// The network between probe and controller: packet-ins piled up in it.
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
    /// The number of packet-ins that left after the last one that was answered.
    pub unanswered: u64,
    /// The time at which the first unanswered packet-in left.
    pub sent_s: f64,
    /// The index of the switch that sent the first unanswered packet-in.
    pub switch: u32,
    /// The sequence number of the first unanswered packet-in among the packet-ins of its switch,
    /// from 0.
    pub sequence: u64,
    /// A description of the first unanswered packet-in's frame.
    pub frame: String,
}

/// The progress of the switches' handshakes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HandshakeOutcome {
    /// The number of switches that became ready at least once, even if their connection ended
    /// later.
    pub ready: u32,
    /// The number of switches that were ready when the trial ended (absent in results of older
    /// versions).
    #[serde(default)]
    pub ready_at_end: Option<u32>,
    /// The number of switches whose handshakes the trial requires.
    pub wanted: u32,
    /// The time in seconds from the first connection attempt until the last switch became ready
    /// (absent if not all became ready).
    pub ready_after_s: Option<f64>,
    /// The number of switches by the last stage of the handshake that they reached.
    pub stages: BTreeMap<String, u32>,
    /// The number of switches by the error of their connection.
    pub errors: BTreeMap<String, u32>,
    /// The reason why nothing was answered, if nothing was.
    pub why_zero: Option<String>,
}

/// The part of one rank in a trial. A rank is one of several processes among which the switches of
/// a trial are divided. The figures of all ranks together are in [`Trial`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankOutcome {
    /// The number of the rank, counted from 0.
    pub rank: u32,
    /// The host that the rank ran on (empty if the rank was lost before it reported it).
    pub hostname: String,
    /// The index of the rank's first switch. Its switches are consecutive.
    pub first_switch: u32,
    /// The number of the rank's switches.
    pub switches: u32,
    /// Whether the rank completed its part of the trial.
    pub completion: Completion,
    /// The counts of the rank's switches.
    pub counts: Counts,
    /// The rates of the rank's switches.
    pub rates: Rates,
    /// The rank's use of its host.
    pub probe_usage: Usage,
    /// The verdict from the observations of this rank alone (absent if the rank was lost).
    pub verdict: Option<Verdict>,
    /// The offset of the rank's clock from that of rank 0 before traffic, which is positive if the
    /// clock is ahead (absent for rank 0).
    pub clock_before: Option<ClockOffset>,
    /// The offset of the rank's clock from that of rank 0 after the last answer.
    pub clock_after: Option<ClockOffset>,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// The highest rate over all switches that is known to be loss-free: loss stayed within the
    /// tolerance and answers kept up with packet-ins. It is the lower end of the interval that the
    /// search found (absent if no rate is known to be loss-free, or if the controller stopped
    /// answering for good).
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
    /// The highest answer rate over all switches: the mean over the trials at one offered rate (RFC
    /// 8456, section 5.1.3). Offered rates of up to twice the best one were tried, unless the
    /// search or the probe could not go as high.
    pub maximum_received_rate: f64,
    /// The offered rate over all switches at which the highest answer rate occurred (absent if
    /// nothing was ever answered, and in results of older versions).
    #[serde(default)]
    pub maximum_at_rate: Option<f64>,
    /// The offered rate over all switches beyond which the response time rises faster than the
    /// rate. It never exceeds the loss-free rate, and is absent if there is no such rate.
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
    /// Whether the probe was the limit at the highest rate, so that the controller may sustain
    /// more.
    pub limited_by_probe: bool,
}

/// A threshold and whether it held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdOutcome {
    /// The condition as the user wrote it.
    pub condition: String,
    /// The label of the trials to which the threshold was applied.
    pub point: String,
    /// The measured value (absent if the metric has none).
    pub value: Option<f64>,
    /// Whether the threshold held. A metric without a value violates its threshold. A percentile of
    /// the round-trip time also violates it if more packet-ins have no round-trip time than may lie
    /// beyond the percentile.
    pub held: bool,
    /// Whether there were enough samples to test the threshold. A threshold on a percentile with
    /// too few samples does not hold.
    #[serde(default = "is_testable")]
    pub testable: bool,
    /// A remark on packet-ins that the value does not cover, if there are any.
    #[serde(default)]
    pub remark: Option<String>,
}

/// Returns true, the value in results of older versions, in which all thresholds were tested.
fn is_testable() -> bool {
    true
}

impl Point {
    /// Returns the names of the pipelines in these trials. Figures of different pipelines must not
    /// be combined.
    pub fn pipelines(&self) -> BTreeSet<&str> {
        self.trials.iter().flat_map(|trial| trial.pipelines.keys()).map(String::as_str).collect()
    }
}

impl RunResult {
    /// Returns the names of the pipelines in the run's trials. Figures of different pipelines must
    /// not be combined.
    pub fn pipelines(&self) -> BTreeSet<&str> {
        self.points.iter().flat_map(Point::pipelines).collect()
    }

    /// Returns whether the only reason why the run is incomplete is that some switches were not
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

    /// Returns whether nothing was measured because in no trial all switches completed their
    /// handshake: no controller listens, or it speaks a different protocol.
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
    /// Returns whether a process of the probe (rank) that ran a part of the switches was lost or
    /// failed.
    pub fn lost_a_rank(&self) -> bool {
        let mut ranks = self.points.iter().flat_map(|point| &point.trials).flat_map(|t| &t.ranks);
        ranks.any(|rank| matches!(rank.completion, Completion::Failed { .. }))
    }
}

impl Counts {
    /// Returns the number of packets that rules handled, so that no packet-in was sent for them.
    pub fn handled_by_rules(&self) -> u64 {
        self.forwarded_by_rules + self.dropped_by_rules
    }

    /// Returns the number of packet-ins that had no answer when the trial ended, including those
    /// that never left.
    pub fn unanswered(&self) -> u64 {
        self.lost + self.unsent
    }

    /// Returns the share, from 0 to 1, of due packet-ins that had no answer when the trial ended.
    /// Packets that rules handled are not packet-ins and are excluded. Returns `None` if no
    /// packet-in was due.
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
