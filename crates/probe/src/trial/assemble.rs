//! Computes the result of a trial from the records of its engine threads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statistics::jain_index;

use super::evidence::Seen;
use super::notes::{self, Delays};
use super::silence::silence;
use super::unanswered::{Answers, why_zero};
use super::{TrialSetting, remarks};
use crate::account::{
    ControllerWork, Evidence, InSockets, Observed, ProbeWork, Times, Undisturbed, verdict,
};
use crate::config::{Config, Protocol};
use crate::engine::recorder::SwitchRecord;
use crate::engine::{SwitchHandshake, ThreadOutcome, TrialPlan};
use crate::kernel::{Look, Summary};
use crate::ledger::{InWindow, Window};
use crate::outcome::{
    self, Completion, Counts, HandshakeOutcome, Histograms, Latency, Rates, Series, SwitchOutcome,
    Trial, Usage,
};
use crate::usage::Sample;

/// Samples of the CPU time and memory of the controller and of the probe. They are taken together
/// with the samples of unanswered packet-ins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct UsageSeries {
    /// The times of the samples in nanoseconds since the start of traffic.
    at: Vec<u64>,
    controller: Vec<Option<Sample>>,
    own: Vec<Option<Sample>>,
}

impl UsageSeries {
    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    pub(super) fn push(&mut self, at: u64, controller: Option<Sample>, own: Option<Sample>) {
        self.at.push(at);
        self.controller.push(controller);
        self.own.push(own);
    }

    /// Returns the controller's CPU time before the first packet-in, in percent of one core.
    pub(super) fn controller_before_traffic(&self) -> Option<f64> {
        self.controller.first().copied().flatten().map(|sample| sample.cpu_percent)
    }

    /// Returns whether the controller's process was looked for but never found.
    pub(super) fn missed_controller(&self) -> bool {
        self.controller.len() > 1 && self.controller.iter().all(Option::is_none)
    }

    /// Adds the samples of another rank, a process of the probe, which were taken at the same times
    /// of the trial. Only a rank on the controller's host has samples of the controller.
    pub(super) fn add(&mut self, other: &Self) {
        for (index, own) in self.own.iter_mut().enumerate() {
            let theirs = other.own.get(index).copied().flatten();
            *own = own.zip(theirs).map(|(own, theirs)| Sample {
                cpu_percent: own.cpu_percent + theirs.cpu_percent,
                rss_bytes: own.rss_bytes + theirs.rss_bytes,
                wait_percent: None,
            });
        }
        if self.controller.iter().all(Option::is_none) && other.at == self.at {
            self.controller.clone_from(&other.controller);
        }
    }

    /// Returns the time in the measured window for which the controller's threads were runnable but
    /// waited for a core, in percent of the window. Returns `None` if this time is not known.
    fn controller_waited(&self, window: Window) -> Option<f64> {
        let inside = self.inside(&self.controller, window);
        statistics::mean(&inside.filter_map(|sample| sample.wait_percent).collect::<Vec<_>>())
    }

    /// Returns the samples that lie in the measured window. A sample covers the time since the
    /// previous one, so the first sample in the window also covers time before it and is left out.
    fn inside<'a>(
        &'a self,
        samples: &'a [Option<Sample>],
        window: Window,
    ) -> impl Iterator<Item = Sample> + 'a {
        let timed = self.at.iter().zip(samples);
        let inside = timed.filter(move |(at, _)| **at > window.from && **at <= window.to);
        inside.filter_map(|(_, sample)| *sample)
    }

    fn summary(&self, samples: &[Option<Sample>], window: Window) -> Option<Usage> {
        let inside: Vec<Sample> = self.inside(samples, window).collect();
        (!inside.is_empty()).then(|| Usage::of(&inside))
    }
}

/// The measurements from which the result of a trial is computed.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) completion: Completion,
    pub(super) threads: Vec<ThreadOutcome>,
    pub(super) usage: UsageSeries,
    /// The observations of TCP connections and hosts, one for each process of the probe.
    pub(super) seen: Vec<Seen>,
    /// The time in seconds until the last switch was ready, or `None` if not all became ready.
    pub(super) ready_after: Option<f64>,
    pub(super) ready_at_end: u32,
}

/// Computes the result of a trial from the records of its engine threads.
pub(super) fn trial(
    plan: &TrialPlan,
    setting: TrialSetting,
    parts: Parts,
    remarks: Vec<String>,
) -> Trial {
    let Parts { completion, threads, usage, seen, ready_after: ready_after_s, ready_at_end } =
        parts;
    let closed_at = threads.iter().filter_map(|(recorder, _)| recorder.closed_at()).min();
    let window = measured(plan.window(), closed_at);
    let seconds = (window.to.saturating_sub(window.from)) as f64 / 1e9;
    let silence = silence(plan, &threads);
    let observed = Observed::of(threads.iter().map(|(recorder, _)| recorder), window);
    let looks: Vec<Vec<Look>> = seen.iter().map(|seen| seen.looks.clone()).collect();
    let summary = Summary::of(&looks, window);
    let connected = threads.iter().filter_map(|(recorder, _)| recorder.network_rtt()).min();
    let measured_rtt = summary.as_ref().and_then(|summary| summary.least_rtt);
    let network_rtt = [connected, measured_rtt].into_iter().flatten().min();
    let network_rtt = network_rtt.or_else(|| is_local(&plan.config).then_some(0));
    let mut undisturbed = Histograms::default().rtt_from_sent;
    let mut histograms = Histograms::default();
    let mut series = series(plan, window, &usage);
    let mut records: Vec<SwitchRecord> = Vec::new();
    let mut handshakes: Vec<SwitchHandshake> = Vec::new();
    for (recorder, shakes) in threads {
        merge(&mut histograms, &recorder.tally.histograms);
        // Adding cannot fail, since the histograms resize themselves and have equal precision.
        let _ = undisturbed.add(&recorder.tally.undisturbed);
        add_each(&mut series.sent_per_s, &recorder.sums.sent_per_s);
        add_each(&mut series.received_per_s, &recorder.sums.received_per_s);
        add_each(&mut series.rules_per_s, &recorder.sums.rules_per_s);
        add_each(&mut series.outstanding, &recorder.sums.outstanding);
        records.extend(recorder.switches);
        handshakes.extend(shakes);
    }
    records.sort_by_key(|record| record.index);
    fill_seconds(&mut series, &mut records, closed_at);
    let mut in_window = InWindow::default();
    for record in &records {
        let own = record.ledger.in_window();
        in_window.left += own.left;
        in_window.answers += own.answers;
        in_window.answers_to_earlier += own.answers_to_earlier;
    }
    let mut counts = Counts::default();
    let per_switch: Vec<SwitchOutcome> = records
        .into_iter()
        .map(|record| {
            let outcome = switch_outcome(&plan.config, record, seconds);
            add_counts(&mut counts, &outcome.counts);
            outcome
        })
        .collect();
    let load = plan.config.traffic.load;
    let met = handshakes.iter().any(|handshake| handshake.rank > 0);
    let mut handshake = handshake_outcome(plan, &handshakes, ready_after_s);
    handshake.ready_at_end = Some(ready_at_end);
    // A trial that was ended before its measured window needs no explanation why nothing was
    // answered.
    let has_begun = seconds > 0.0 || !matches!(completion, Completion::Partial { .. });
    handshake.why_zero = has_begun
        .then(|| {
            why_zero(
                (plan.config.protocol, load),
                &address(&plan.config),
                met,
                &handshake,
                &counts,
                Answers { ever: observed.ever_answered, in_window: in_window.answers },
            )
        })
        .flatten()
        .map(|why| load.words(&why).into_owned());
    let rtt_from_due = Latency::of(&histograms.rtt_from_due);
    let send_lag = Latency::of(&histograms.send_lag);
    let read_delay = Latency::of(&histograms.read_delay);
    let rtt_from_sent = Latency::of(&histograms.rtt_from_sent);
    let probe_usage = usage.summary(&usage.own, window).unwrap_or_default();
    let controller_usage = usage.summary(&usage.controller, window);
    let rtt_in_window = Latency::of(&histograms.rtt_in_window);
    let sockets = summary.map(|summary| InSockets::of(&summary, in_window, window));
    let undisturbed = Latency::of(&undisturbed);
    let times = Times { all: &rtt_from_sent, undisturbed: &undisturbed };
    let mut verdict = verdict(&Evidence {
        mode: plan.config.traffic.mode,
        window,
        counts: &counts,
        observed: &observed,
        sockets: sockets.as_ref(),
        host: Seen::host(&seen),
        network_rtt,
        send_lag: &send_lag,
        rtt_from_sent: &rtt_in_window,
        times,
        answers_in_window: in_window.answers,
        probe: ProbeWork {
            cpu_percent: probe_usage.cpu_percent,
            threads: plan.threads * plan.portion.of as usize,
        },
        controller: controller_usage.map(|used| ControllerWork {
            cpu_percent: used.cpu_percent,
            wait_percent: usage.controller_waited(window),
        }),
        silence: silence.as_ref(),
        switches: &per_switch,
    });
    verdict.because = load.words(&verdict.because).into_owned();
    let pipelines = remarks::pipelines(&handshakes);
    if let Some(sentence) = remarks::of_pipelines(&pipelines) {
        verdict.because = format!("{} {sentence}", verdict.because).trim_start().to_owned();
    }
    let by_network = sockets.map_or(0.0, |sockets| sockets.refused_by_network);
    let undisturbed = Undisturbed::of(&observed, window);
    let notes = [
        remarks::of_handshakes(&handshakes),
        remarks::of_load(load),
        remarks::of_answers(&counts, &per_switch, load),
        notes::of_trial(
            plan,
            &counts,
            &observed.hindered,
            Delays { send_lag: &send_lag, read_delay: &read_delay, times, by_network },
        ),
        remarks::of_sockets(seen.iter().find_map(|seen| seen.failure.as_deref())),
    ]
    .concat();
    let notes = notes.iter().map(|note| load.words(note).into_owned()).chain(remarks).collect();
    Trial {
        repetition: setting.repetition,
        seed: setting.seed,
        completion,
        measured_s: seconds,
        rates: rates(&counts, in_window, seconds),
        rtt_from_due,
        rtt_from_sent,
        send_lag,
        read_delay,
        in_window: outcome::InWindow {
            left: in_window.left,
            answers: in_window.answers,
            answers_to_earlier: in_window.answers_to_earlier,
            rtt_from_sent: rtt_in_window,
            undisturbed_answers: undisturbed.answers,
            undisturbed_rtt_mean_ns: undisturbed.rtt_mean,
            longest_gap_s: observed.longest_gap as f64 / 1e9,
        },
        fairness: jain_index(per_switch.iter().map(|switch| switch.counts.answered as f64)),
        series,
        per_switch,
        controller_usage,
        probe_usage,
        verdict,
        silence,
        handshake,
        pipelines,
        notes,
        ranks: Vec::new(),
        counts,
        histograms,
    }
}

/// Returns whether the switches listen on a loopback address, so that only a controller on this
/// host can connect to them.
fn is_local(config: &Config) -> bool {
    config.protocol == Protocol::P4Runtime && config.p4runtime.listen.is_loopback()
}

/// Returns the window up to the time at which the first engine thread closed its record, since the
/// trial may have ended early.
fn measured(window: Window, closed_at: Option<u64>) -> Window {
    let reached = closed_at.unwrap_or(window.from).max(window.from);
    Window { from: window.from, to: window.to.min(reached) }
}

/// Extends all lists of values per second to the same length, so that seconds without events at the
/// end have the value 0. The last second, if the trial did not complete it, is included only if
/// something happened in it.
fn fill_seconds(series: &mut Series, records: &mut [SwitchRecord], closed_at: Option<u64>) {
    let whole = (closed_at.unwrap_or(0) / 1_000_000_000) as usize;
    let Series { sent_per_s, received_per_s, rules_per_s, .. } = series;
    let seconds = [&*sent_per_s, received_per_s, rules_per_s].map(Vec::len);
    let seconds = seconds.into_iter().max().unwrap_or(0).max(whole);
    for values in [sent_per_s, received_per_s, rules_per_s] {
        values.resize(seconds, 0);
    }
    for record in records {
        // Values per switch are absent if there are too many switches.
        if !(record.sent_per_s.is_empty() && record.received_per_s.is_empty()) {
            record.sent_per_s.resize(seconds, 0);
            record.received_per_s.resize(seconds, 0);
        }
    }
}

fn series(plan: &TrialPlan, window: Window, usage: &UsageSeries) -> Series {
    let cpu = |samples: &[Option<Sample>]| {
        samples.iter().map(|sample| sample.map(|sample| sample.cpu_percent)).collect()
    };
    let observed = usage.controller.iter().any(Option::is_some);
    Series {
        measure_from_s: window.from as f64 / 1e9,
        measure_to_s: window.to as f64 / 1e9,
        sample_interval_s: plan.config.timing.sample.as_secs_f64(),
        controller_cpu_percent: if observed { cpu(&usage.controller) } else { Vec::new() },
        controller_rss_bytes: match observed {
            true => usage.controller.iter().map(|s| s.map(|s| s.rss_bytes)).collect(),
            false => Vec::new(),
        },
        probe_cpu_percent: cpu(&usage.own),
        ..Series::default()
    }
}

fn switch_outcome(config: &Config, record: SwitchRecord, seconds: f64) -> SwitchOutcome {
    let counts = record.ledger.counts();
    let rtt = record.ledger.rtt();
    let in_window = record.ledger.in_window();
    SwitchOutcome {
        index: record.index,
        id: match config.p4runtime.same_device_id {
            true => config.switches.first_id,
            false => config.switches.first_id.wrapping_add(u64::from(record.index)),
        },
        sent_rate: per_second(in_window.left, seconds),
        received_rate: per_second(in_window.answers, seconds),
        rtt_mean_ns: rtt.map(|(mean, _)| mean),
        rtt_max_ns: rtt.map(|(_, max)| max),
        outstanding: record.outstanding,
        sent_per_s: record.sent_per_s,
        received_per_s: record.received_per_s,
        counts,
    }
}

fn rates(counts: &Counts, in_window: InWindow, seconds: f64) -> Rates {
    Rates {
        offered: per_second(counts.due, seconds),
        sent: per_second(in_window.left, seconds),
        received: per_second(in_window.answers, seconds),
        rules: per_second(counts.rules_installed, seconds),
        loss: match counts.sent {
            0 => 0.0,
            sent => counts.lost as f64 / sent as f64,
        },
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

fn handshake_outcome(
    plan: &TrialPlan,
    handshakes: &[SwitchHandshake],
    ready_after_s: Option<f64>,
) -> HandshakeOutcome {
    let mut stages: BTreeMap<String, u32> = BTreeMap::new();
    let mut errors: BTreeMap<String, u32> = BTreeMap::new();
    for handshake in handshakes {
        let stage = if handshake.ready { "ready" } else { handshake.stage.as_str() };
        let stage = if stage.is_empty() { "not begun" } else { stage };
        *stages.entry(stage.to_owned()).or_default() += 1;
        if let Some(error) = &handshake.error {
            *errors.entry(error.clone()).or_default() += 1;
        }
    }
    HandshakeOutcome {
        ready: handshakes.iter().filter(|handshake| handshake.ready).count() as u32,
        ready_at_end: None,
        wanted: plan.config.switches.count,
        ready_after_s,
        stages,
        errors,
        why_zero: None,
    }
}

/// Describes the addresses on which the controller (OpenFlow) or the switches (P4Runtime) listen.
pub(crate) fn address(config: &Config) -> String {
    match config.protocol {
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => config.controller.address.clone(),
        Protocol::P4Runtime => {
            let devices = crate::engine::p4runtime::addresses(config);
            match (devices.first(), devices.last()) {
                (Some(first), Some(last)) if first.listen != last.listen => {
                    format!("{} to :{}", first.listen, last.listen.port())
                }
                (Some(only), _) => only.listen.to_string(),
                (None, _) => config.p4runtime.listen.to_string(),
            }
        }
    }
}

fn merge(into: &mut Histograms, from: &Histograms) {
    for (into, from) in [
        (&mut into.rtt_from_due, &from.rtt_from_due),
        (&mut into.rtt_from_sent, &from.rtt_from_sent),
        (&mut into.send_lag, &from.send_lag),
        (&mut into.read_delay, &from.read_delay),
        (&mut into.rtt_in_window, &from.rtt_in_window),
    ] {
        // Adding cannot fail, since the histograms resize themselves and have equal precision.
        let _ = into.add(from);
    }
}

fn add_each(into: &mut Vec<u64>, from: &[u64]) {
    into.resize(into.len().max(from.len()), 0);
    for (sum, value) in into.iter_mut().zip(from) {
        *sum += value;
    }
}

/// Adds the counts of one switch to a sum.
fn add_counts(sum: &mut Counts, one: &Counts) {
    // The pattern has no `..`, so that a new field cannot be forgotten.
    let Counts {
        due,
        sent,
        unsent,
        forwarded_by_rules,
        dropped_by_rules,
        answered,
        answered_after,
        late,
        lost,
        passed_over,
        waiting,
        duplicated,
        repeated,
        unmatched,
        untimed,
        packet_outs,
        rules_installed,
        rules_removed,
        rules_refused,
        discovery_relayed,
        disconnects,
        malformed,
        not_taken,
    } = one;
    sum.due += due;
    sum.sent += sent;
    sum.unsent += unsent;
    sum.forwarded_by_rules += forwarded_by_rules;
    sum.dropped_by_rules += dropped_by_rules;
    sum.answered += answered;
    sum.late += late;
    sum.answered_after += answered_after;
    sum.lost += lost;
    sum.passed_over += passed_over;
    sum.waiting += waiting;
    sum.duplicated += duplicated;
    sum.repeated += repeated;
    sum.unmatched += unmatched;
    sum.untimed += untimed;
    sum.packet_outs += packet_outs;
    sum.rules_installed += rules_installed;
    sum.rules_removed += rules_removed;
    sum.rules_refused += rules_refused;
    sum.discovery_relayed += discovery_relayed;
    sum.disconnects += disconnects;
    sum.malformed += malformed;
    sum.not_taken += not_taken;
}
