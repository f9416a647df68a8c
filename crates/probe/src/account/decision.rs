//! The verdict that an account leads to.

use statistics::{Confidence, proportion};

use super::sentence::{self, Words};
use super::{Evidence, Explained, NOTABLE, explain};
use crate::config::Mode;
use crate::outcome::{Account, Certainty, Saturated, SwitchOutcome, Verdict};

/// The confidence with which losses outside of the probe's bursts are bounded.
const UNDISTURBED: f64 = 0.995;
/// Packet-ins that wait at a station on average where it is the limit of a closed loop.
const WAITING: f64 = 2.0;
/// The share of its time beyond which a thread counts as busy.
const BUSY: f64 = 0.9;

/// The verdict on what was measured.
pub(crate) fn verdict(evidence: &Evidence<'_>) -> Verdict {
    if let Some(verdict) = without_account(evidence) {
        return verdict;
    }
    match evidence.mode {
        Mode::Open => open(evidence),
        Mode::Closed { window, .. } => closed(evidence, window),
        Mode::Flood => flood(evidence),
    }
}

fn plain(saturated: Saturated, because: impl Into<String>) -> Verdict {
    Verdict { because: because.into(), ..Verdict::new(saturated) }
}

/// Trials that an account says nothing about.
fn without_account(evidence: &Evidence<'_>) -> Option<Verdict> {
    let counts = evidence.counts;
    if counts.due == 0 {
        let because = "No packet-in was due in the measure window.";
        return Some(plain(Saturated::Unknown, because));
    }
    let handled = counts.handled_by_rules();
    if handled == counts.due {
        let because = format!(
            "No packet-in left: rules handled all of the {handled} packets in the switches."
        );
        return Some(plain(Saturated::Neither, because));
    }
    if let Some(silence) = evidence.silence {
        return Some(plain(Saturated::Unknown, sentence::stopped(silence)));
    }
    // What connections refused tells of a side although nothing was answered.
    let is_blamed = evidence.mode == Mode::Open && is_refused(evidence);
    let is_silent = counts.sent > 0 && evidence.observed.ever_answered == 0;
    (is_silent && !is_blamed).then(|| plain(Saturated::Unknown, "Nothing was answered."))
}

/// Whether connections refused more packet-ins, or had none, than a verdict overlooks.
fn is_refused(evidence: &Evidence<'_>) -> bool {
    let hindered = evidence.observed.hindered;
    let count = hindered.held_back + hindered.refused + hindered.cut_off;
    count as f64 > NOTABLE * evidence.wanted() as f64
}

fn open(evidence: &Evidence<'_>) -> Verdict {
    let explained = explain(evidence);
    let words = Words { evidence, explained: &explained };
    let account = explained.account;
    let mut apart = apart(evidence.switches);
    // What bursts cost may fall on the switches that happen to come last in them.
    if apart.iter().map(|switch| switch.counts.lost).sum::<u64>() <= explained.course.late {
        apart.clear();
    }
    let verdict = |saturated, because: String| Verdict {
        because,
        account: Some(account),
        certainty: certainty(saturated, &account),
        backlog: sentence::backlog(&words),
        ..Verdict::new(saturated)
    };
    let sides = [
        (Saturated::Controller, account.controller.low),
        (Saturated::Probe, account.probe.low),
        (Saturated::Network, account.network.low),
    ];
    let mut above: Vec<(Saturated, u64)> =
        sides.into_iter().filter(|(_, low)| *low > explained.tolerance).collect();
    above.sort_by_key(|(_, low)| std::cmp::Reverse(*low));
    if let Some((side, _)) = above.first() {
        if *side == Saturated::Controller
            && let Some(reachable) = reachable(evidence, &explained)
        {
            return verdict(Saturated::Unknown, words.shared_host(reachable));
        }
        let others = above.get(1..).unwrap_or_default();
        return verdict(*side, words.limit(*side, &apart, others));
    }
    // Few of all packet-ins, and all of one switch.
    if !apart.is_empty() {
        return verdict(Saturated::Controller, words.apart(&apart));
    }
    let missing = evidence.counts.unanswered();
    if missing == 0 {
        return match words.is_unexplained() {
            true => verdict(Saturated::Unknown, words.untold_growth()),
            false => verdict(Saturated::Neither, words.neither()),
        };
    }
    if missing <= explained.tolerance {
        return verdict(Saturated::Neither, words.neither());
    }
    if is_by_bursts(evidence, &explained) {
        return verdict(Saturated::Probe, words.bursts());
    }
    verdict(Saturated::Unknown, words.untold())
}

/// Returns the certainty with which a side was the limit.
fn certainty(saturated: Saturated, account: &Account) -> Option<Certainty> {
    let Account { controller, probe, network, .. } = account;
    let (low, others) = match saturated {
        Saturated::Controller => (controller.low, probe.high + network.high),
        Saturated::Probe => (probe.low, controller.high + network.high),
        Saturated::Network => (network.low, controller.high + probe.high),
        Saturated::Neither | Saturated::Unknown => return None,
    };
    Some(if low > others { Certainty::Sure } else { Certainty::Likely })
}

/// The rate that the controller could reach with the cores that its threads waited for, if that
/// is the load or more.
fn reachable(evidence: &Evidence<'_>, explained: &Explained) -> Option<f64> {
    let waited = evidence.controller?.waited?;
    let seconds = evidence.seconds();
    let answered = explained.service.map(|service| service.rate);
    let answered = answered.unwrap_or(evidence.answers_in_window as f64 / seconds);
    let reachable = answered * (1.0 + waited);
    (reachable >= evidence.wanted() as f64 / seconds).then_some(reachable)
}

/// Whether bursts of the probe explain what was lost: they may have cost as much, and what left
/// without them was not lost.
fn is_by_bursts(evidence: &Evidence<'_>, explained: &Explained) -> bool {
    let course = &explained.course;
    let (lost, seen) = (course.passed_over_undisturbed, course.due_undisturbed);
    let confidence = Confidence::new(2.0 * UNDISTURBED - 1.0);
    let share = confidence.and_then(|sure| proportion(lost.min(seen), seen, sure));
    evidence.counts.unanswered() <= course.late
        && 2 * seen >= course.due
        && share.is_some_and(|share| share.high <= NOTABLE)
}

/// Switches of which far more was lost than of the others: all of them, a third of all at most.
fn apart(switches: &[SwitchOutcome]) -> Vec<&SwitchOutcome> {
    /// Points of a percentage, and standard errors, by which they must differ.
    const POINTS: f64 = 0.05;
    const ERRORS: f64 = 5.0;
    let share = |lost: u64, sent: u64| lost as f64 / sent.max(1) as f64;
    let own = |switch: &SwitchOutcome| share(switch.counts.lost, switch.counts.sent);
    let mut order: Vec<&SwitchOutcome> =
        switches.iter().filter(|switch| switch.counts.sent > 0).collect();
    order.sort_by(|a, b| own(b).total_cmp(&own(a)).then(a.index.cmp(&b.index)));
    let sum = |those: &[&SwitchOutcome], of: fn(&SwitchOutcome) -> u64| {
        those.iter().map(|switch| of(switch)).sum::<u64>()
    };
    // The widest gap between two neighbours parts the two groups.
    let most = order.len() / 3;
    let gap = |count: usize| {
        let (last, next) = (order.get(count - 1), order.get(count));
        last.zip(next).map_or(0.0, |(last, next)| own(last) - own(next))
    };
    let Some(count) = (1..=most).max_by(|a, b| gap(*a).total_cmp(&gap(*b)).then(b.cmp(a))) else {
        return Vec::new();
    };
    let (these, others) = order.split_at(count);
    let lost = |those: &[&SwitchOutcome]| sum(those, |switch| switch.counts.lost);
    let sent = |those: &[&SwitchOutcome]| sum(those, |switch| switch.counts.sent);
    let all = share(lost(&order), sent(&order));
    let (n, m) = (sent(these) as f64, sent(others) as f64);
    let error = (all * (1.0 - all) * (1.0 / n + 1.0 / m)).sqrt();
    let difference = share(lost(these), sent(these)) - share(lost(others), sent(others));
    if gap(count) <= POINTS || difference <= ERRORS * error {
        return Vec::new();
    }
    let mut these = these.to_vec();
    these.sort_by_key(|switch| switch.index);
    these
}

/// Judges a closed loop. Its limit is the station at which packet-ins wait for each other. Where
/// packet-ins wait nowhere, the window is the limit: more outstanding packet-ins would be answered
/// as well.
fn closed(evidence: &Evidence<'_>, window: u32) -> Verdict {
    let rate = evidence.answers_in_window as f64 / evidence.seconds();
    let by_probe = evidence.send_lag.mean_ns + evidence.read_delay.mean_ns;
    let network = evidence.network_rtt.unwrap_or(evidence.rtt_from_sent.min_ns) as f64;
    let by_controller =
        (evidence.rtt_from_sent.mean_ns - network - evidence.read_delay.mean_ns).max(0.0);
    let [probe, controller] = [by_probe, by_controller].map(|part| rate * part / 1e9);
    let busy = sentence::both_cpus(evidence);
    if probe >= WAITING && probe >= controller {
        let because = format!(
            "On average {probe:.1} packet-ins or answers waited for it, and {controller:.1} packet-ins \
             for the controller, which may take more.{busy}"
        );
        return plain(Saturated::Probe, because);
    }
    if controller >= WAITING {
        let because = format!(
            "Its answers set the pace with {window} packet-ins outstanding per switch, of which \
             {controller:.1} waited for it on average.{busy}"
        );
        return plain(Saturated::Controller, because);
    }
    let because = format!(
        "The window was: with {window} packet-ins outstanding per switch, {controller:.1} waited for \
         the controller on average. Raise --window to find its limit.{busy}"
    );
    plain(Saturated::Neither, because)
}

/// Judges a flood, in which a busy probe sends as much as it can and an idle one waits.
fn flood(evidence: &Evidence<'_>) -> Verdict {
    let busy = evidence.probe.cpu_percent / (100.0 * evidence.probe.threads.max(1) as f64);
    let percent = 100.0 * busy;
    match busy > BUSY {
        true => plain(
            Saturated::Probe,
            format!(
                "The probe's threads were {percent:.0} % busy, so the controller may take more."
            ),
        ),
        false => plain(
            Saturated::Controller,
            format!(
                "The probe's threads were {percent:.0} % busy, waiting for the controller to read."
            ),
        ),
    }
}
