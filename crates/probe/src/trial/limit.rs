//! Which side was the limit: a table of decisions, the first row that applies gives the verdict.
//!
//! Each row has a condition on what was measured, the side that it holds responsible, and a
//! sentence with the figures that it rests on, so that a reader can disagree. Delays of the probe
//! count only where they explain what was measured: 60 ms of lag explain no round-trip time of
//! 14 s. Where a side was away, or stopped for good, no figure is a limit of a rate.

use crate::config::Mode;
use crate::engine::recorder::ABSENCE;
use crate::ledger::Hindered;
use crate::outcome::{Counts, Latency, Saturated, Silence, Verdict};

/// What a verdict rests on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) mode: Mode,
    pub(crate) counts: &'a Counts,
    pub(crate) hindered: Hindered,
    pub(crate) send_lag: &'a Latency,
    pub(crate) read_delay: &'a Latency,
    pub(crate) rtt_from_due: &'a Latency,
    pub(crate) rtt_from_sent: &'a Latency,
    /// First answers that arrived in the window, whenever their packet-in was due.
    pub(crate) answers_in_window: u64,
    /// Packet-ins outstanding at the start and at the end of the window.
    pub(crate) outstanding: (u64, u64),
    /// The probe's CPU, percent of one core, and its engine threads.
    pub(crate) probe_cpu_percent: f64,
    pub(crate) threads: usize,
    /// The controller's CPU, percent of one core, if it was observed.
    pub(crate) controller_cpu_percent: Option<f64>,
    /// Length of the window in nanoseconds.
    pub(crate) window: u64,
    /// The longest spell in which an engine thread did nothing; 0 if none was long.
    pub(crate) absent: u64,
    /// From when on nothing was answered any more.
    pub(crate) silence: Option<&'a Silence>,
}

/// A row of the table.
struct Row {
    #[cfg_attr(not(test), expect(dead_code, reason = "names the row in tests"))]
    name: &'static str,
    applies: fn(&Evidence<'_>) -> bool,
    side: Saturated,
    says: fn(&Evidence<'_>) -> String,
}

/// Rows that hold in every mode, asked first.
const COMMON: &[Row] = &[
    Row {
        name: "nothing due",
        applies: |e| e.counts.due == 0,
        side: Saturated::Unknown,
        says: |_| "No packet-in was due in the measure window.".into(),
    },
    Row {
        name: "rules handled all",
        applies: |e| e.counts.handled_by_rules() == e.counts.due,
        side: Saturated::Neither,
        says: |e| {
            let handled = e.counts.handled_by_rules();
            format!(
                "No packet-in left: rules handled all of the {handled} packets in the switches."
            )
        },
    },
    Row {
        name: "stopped for good",
        applies: |e| e.silence.is_some(),
        side: Saturated::Unknown,
        says: |e| e.silence.map_or_else(String::new, stopped),
    },
    Row {
        name: "probe away",
        applies: probe_was_away,
        side: Saturated::Probe,
        says: |e| {
            format!(
                "It was away for {:.3} s in a row, stopped or without a processor: what was due \
                 meanwhile left late, and answers waited.",
                e.absent as f64 / 1e9
            )
        },
    },
];

const OPEN: &[Row] = &[
    Row {
        name: "not read",
        applies: |e| share(e, e.hindered.held_back + e.hindered.refused) > NOTABLE,
        side: Saturated::Controller,
        says: |e| {
            let Hindered { held_back, refused, .. } = e.hindered;
            format!(
                "It did not read its connections fast enough: they refused {} of {} packet-ins, of \
                 which {refused} never left.{}",
                held_back + refused,
                e.counts.due,
                both_cpus(e)
            )
        },
    },
    Row {
        name: "controller away",
        applies: |e| share(e, e.hindered.cut_off) > NOTABLE,
        side: Saturated::Controller,
        says: |e| {
            format!(
                "It ended {} connections or had none: {} of {} packet-ins that were due could not \
                 leave.",
                e.counts.disconnects, e.hindered.cut_off, e.counts.due
            )
        },
    },
    Row {
        name: "probe did not send",
        applies: |e| share(e, own_unsent(e)) > NOTABLE,
        side: Saturated::Probe,
        says: |e| {
            format!(
                "It did not get to {} of {} packet-ins that were due: they never left.",
                own_unsent(e),
                e.counts.due
            )
        },
    },
    Row {
        name: "nothing answered",
        applies: |e| e.counts.answered == 0,
        side: Saturated::Unknown,
        says: |_| "Nothing was answered.".into(),
    },
    Row {
        name: "behind its schedule",
        applies: |e| {
            let behind = excess(e.send_lag);
            behind.iter().any(|at| at.explains(e.rtt_from_due))
                || !behind.is_empty() && busy(e) > BUSY
                || e.send_lag.p50_ns as f64 > NOTABLE * e.window as f64
        },
        side: Saturated::Probe,
        says: |e| {
            format!(
                "It fell behind its own schedule: {}.{}",
                spread(e.send_lag, "of the packet-ins left", "late"),
                both_cpus(e)
            )
        },
    },
    // Packet-ins go before answers, so a probe that is too slow shows here first.
    Row {
        name: "no time for answers",
        applies: |e| {
            let behind = excess(e.read_delay);
            behind.iter().any(|at| at.explains(e.rtt_from_sent))
                || !behind.is_empty() && busy(e) > BUSY
        },
        side: Saturated::Probe,
        says: |e| {
            format!(
                "It had no time for its answers: {}.{}",
                spread(e.read_delay, "of the time it read nothing for", ""),
                both_cpus(e)
            )
        },
    },
    Row {
        name: "piled up",
        applies: |e| {
            let pile = piled_up(e.counts.sent, e.answers_in_window, e.outstanding);
            // What was lost stays outstanding as well; a row of its own tells of it.
            pile.saturating_sub(e.counts.lost) as f64 > NOTABLE * e.counts.sent as f64
        },
        side: Saturated::Controller,
        says: |e| {
            let (before, after) = e.outstanding;
            format!(
                "{}, but only {} answers came in the window for {} packet-ins, and {} more were \
                 outstanding at its end than at its start.{}{}",
                departures(e.send_lag),
                e.answers_in_window,
                e.counts.sent,
                after.saturating_sub(before),
                both_cpus(e),
                caveat(e)
            )
        },
    },
    Row {
        name: "lost",
        applies: |e| e.counts.lost as f64 > NOTABLE * e.counts.sent as f64,
        side: Saturated::Controller,
        says: |e| {
            format!(
                "{}, but {} of {} packet-ins were never answered.{}{}",
                departures(e.send_lag),
                e.counts.lost,
                e.counts.sent,
                both_cpus(e),
                caveat(e)
            )
        },
    },
    Row {
        name: "answered",
        applies: |_| true,
        side: Saturated::Neither,
        says: |e| {
            format!(
                "{} and {:.3} % was answered.{}",
                departures(e.send_lag),
                100.0 * e.counts.answered as f64 / e.counts.sent.max(1) as f64,
                caveat(e)
            )
        },
    },
];

const NOTHING_ANSWERED: Row = Row {
    name: "nothing answered",
    applies: |e| e.counts.answered == 0,
    side: Saturated::Unknown,
    says: |_| "Nothing was answered.".into(),
};

const CLOSED: &[Row] = &[
    NOTHING_ANSWERED,
    Row {
        name: "probe busy",
        applies: |e| busy(e) > BUSY,
        side: Saturated::Probe,
        says: |e| {
            format!("Its threads were {:.0} % busy: the controller may take more.", 100.0 * busy(e))
        },
    },
    Row {
        name: "answers set the pace",
        applies: |_| true,
        side: Saturated::Controller,
        says: |e| {
            let window = match e.mode {
                Mode::Closed { window, .. } => window,
                _ => 0,
            };
            format!(
                "Its answers set the pace with {window} packet-ins outstanding per switch; the \
                 probe's threads were {:.0} % busy.",
                100.0 * busy(e)
            )
        },
    },
];

const FLOOD: &[Row] = &[
    NOTHING_ANSWERED,
    Row {
        name: "probe busy",
        applies: |e| busy(e) > BUSY,
        side: Saturated::Probe,
        says: |e| {
            format!(
                "The probe's threads were {:.0} % busy, so the controller may take more.",
                100.0 * busy(e)
            )
        },
    },
    Row {
        name: "waited for the controller",
        applies: |_| true,
        side: Saturated::Controller,
        says: |e| {
            format!(
                "The probe's threads were {:.0} % busy, waiting for the controller to read.",
                100.0 * busy(e)
            )
        },
    },
];

/// The verdict on what was measured.
pub(crate) fn verdict(evidence: &Evidence<'_>) -> Verdict {
    match decide(evidence) {
        Some(row) => Verdict { saturated: row.side, because: (row.says)(evidence) },
        None => Verdict { saturated: Saturated::Unknown, because: String::new() },
    }
}

fn decide(evidence: &Evidence<'_>) -> Option<&'static Row> {
    let own = match evidence.mode {
        Mode::Open => OPEN,
        Mode::Closed { .. } => CLOSED,
        Mode::Flood => FLOOD,
    };
    COMMON.iter().chain(own).find(|row| (row.applies)(evidence))
}

/// Share of packets whose absence is more than an edge of the window.
pub(crate) const NOTABLE: f64 = 0.01;
/// Send lag of half of the packet-ins, or ten times it of a tenth, beyond which the schedule counts
/// as missed; and the same for the time that answers wait to be read. A probe that is too slow falls
/// ever further behind and exceeds both at once; a shared host that withholds the processor for
/// milliseconds now and then spoils a tail but limits no rate. Such tails are noted beside the
/// result.
pub(super) const LAG_LIMIT_NS: u64 = 1_000_000;
/// Share of its time beyond which a thread counts as busy.
const BUSY: f64 = 0.9;

/// Packet-ins that piled up over the window: answers stayed behind, and more were outstanding at
/// its end than at its start. Where arrivals are random the number that happens to be outstanding
/// has about the variance of a Poisson variate, its mean; what three standard deviations of the
/// difference explain is chance and counts as nothing.
pub(crate) fn piled_up(sent: u64, answers_in_window: u64, outstanding: (u64, u64)) -> u64 {
    let (before, after) = outstanding;
    let pile = sent.saturating_sub(answers_in_window).min(after.saturating_sub(before));
    let chance = 3.0 * (before as f64 + after as f64).sqrt();
    if pile as f64 > chance { pile } else { 0 }
}

fn share(evidence: &Evidence<'_>, count: u64) -> f64 {
    count as f64 / evidence.counts.due.max(1) as f64
}

/// Packet-ins that never left and that nobody but the probe kept.
fn own_unsent(evidence: &Evidence<'_>) -> u64 {
    let Hindered { refused, cut_off, .. } = evidence.hindered;
    evidence.counts.unsent.saturating_sub(refused + cut_off)
}

/// How busy the probe's threads were, 0 to 1.
fn busy(evidence: &Evidence<'_>) -> f64 {
    evidence.probe_cpu_percent / (100.0 * evidence.threads.max(1) as f64)
}

/// Whether an absence of the probe is long against the window and against the round-trip times.
fn probe_was_away(evidence: &Evidence<'_>) -> bool {
    let absent = evidence.absent;
    absent >= ABSENCE
        && absent as f64 > NOTABLE * evidence.window as f64
        && absent > evidence.rtt_from_due.p50_ns / 2
}

/// A percentile at which delays have a limit.
struct Limit {
    read: fn(&Latency) -> u64,
    most: u64,
    words: &'static str,
}

const LIMITS: [Limit; 2] = [
    Limit { read: |latency| latency.p50_ns, most: LAG_LIMIT_NS, words: "half" },
    Limit { read: |latency| latency.p90_ns, most: 10 * LAG_LIMIT_NS, words: "a tenth" },
];

/// A delay beyond its limit.
struct Excess {
    limit: &'static Limit,
    value: u64,
}

impl Excess {
    /// Whether the delay makes up at least half of the round-trip time there.
    fn explains(&self, rtt: &Latency) -> bool {
        rtt.samples == 0 || self.value >= (self.limit.read)(rtt) / 2
    }
}

/// Where a delay exceeds what is allowed.
fn excess(delay: &Latency) -> Vec<Excess> {
    LIMITS
        .iter()
        .map(|limit| Excess { limit, value: (limit.read)(delay) })
        .filter(|excess| excess.value > excess.limit.most)
        .collect()
}

/// `half of the packet-ins left more than 2.000 ms late, a tenth more than 11.000 ms`: only what
/// exceeds what is allowed is a reason.
fn spread(delay: &Latency, what: &str, end: &str) -> String {
    let end = if end.is_empty() { String::new() } else { format!(" {end}") };
    let parts: Vec<String> = excess(delay)
        .iter()
        .enumerate()
        .map(|(place, at)| {
            let what = if place == 0 { format!(" {what}") } else { String::new() };
            format!("{}{what} more than {:.3} ms{end}", at.limit.words, at.value as f64 / 1e6)
        })
        .collect();
    parts.join(", ")
}

/// How busy both sides were, as far as it is known.
fn both_cpus(evidence: &Evidence<'_>) -> String {
    let probe = evidence.probe_cpu_percent;
    match evidence.controller_cpu_percent {
        Some(controller) => {
            format!(" The controller used {controller:.0} % of a core, the probe {probe:.0} %.")
        }
        None => format!(" The probe used {probe:.0} % of a core."),
    }
}

/// How punctual packet-ins were.
fn departures(send_lag: &Latency) -> String {
    let median = send_lag.p50_ns as f64 / 1e3;
    let milliseconds = |ns: u64| ns as f64 / 1e6;
    if send_lag.p99_ns <= LAG_LIMIT_NS {
        format!("Everything left on time (median send lag {median:.1} µs)")
    } else if send_lag.p95_ns <= LAG_LIMIT_NS {
        format!(
            "Nearly everything left on time (send lag {median:.1} µs in the median, {:.3} ms at p99)",
            milliseconds(send_lag.p99_ns)
        )
    } else {
        format!(
            "Not everything left on time (send lag {median:.1} µs in the median, {:.3} ms at p95, \
             {:.3} ms at p99)",
            milliseconds(send_lag.p95_ns),
            milliseconds(send_lag.p99_ns)
        )
    }
}

fn stopped(silence: &Silence) -> String {
    format!(
        "The controller stopped answering: nothing came after {:.3} s of traffic until the end at \
         {:.3} s, and {} packet-ins that left from {:.3} s on have no answer. The first is number {} \
         of switch {} ({}). That is no limit of a rate.",
        silence.last_answer_s,
        silence.until_s,
        silence.unanswered,
        silence.sent_s,
        silence.sequence,
        silence.switch,
        silence.frame
    )
}

/// What a reader must not take for the controller's although it was not the probe that limited the
/// rates.
fn caveat(evidence: &Evidence<'_>) -> String {
    let own = own_percentiles(evidence.read_delay, evidence.rtt_from_sent);
    if own.is_empty() {
        return String::new();
    }
    format!(" Round-trip times are mostly the probe's own at {}.", in_words(&own))
}

/// The percentiles at which the time that answers may wait for the probe to read them makes up more
/// than half of the round-trip time. Beyond p99 single pauses of the host decide, on both sides.
pub(super) fn own_percentiles(read_delay: &Latency, rtt: &Latency) -> Vec<&'static str> {
    if rtt.samples == 0 {
        return Vec::new();
    }
    let at = |latency: &Latency| [latency.p50_ns, latency.p90_ns, latency.p95_ns, latency.p99_ns];
    let pairs = at(read_delay).into_iter().zip(at(rtt));
    ["p50", "p90", "p95", "p99"]
        .into_iter()
        .zip(pairs)
        .filter(|(_, (read_delay, rtt))| read_delay > &(rtt / 2))
        .map(|(name, _)| name)
        .collect()
}

/// `p90, p95 and p99`.
pub(super) fn in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
