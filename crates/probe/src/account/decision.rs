//! The verdict on a trial: which of probe, network and controller limited it.

use statistics::{Confidence, proportion};

use super::sentence::{self, Words};
use super::{Evidence, Explained, NOTABLE, Times, explain};
use crate::config::Mode;
use crate::outcome::{Account, Certainty, Latency, Saturated, SwitchOutcome, Verdict};

/// The confidence of the upper bound on the share of packet-ins that were lost although no late
/// burst of the probe disturbed the controller.
const UNDISTURBED: f64 = 0.995;
/// The least mean number of packet-ins that must wait at a side (the probe or the controller) for
/// this side to be the limit of a closed loop.
const WAITING: f64 = 2.0;
/// The share of the packet-ins of a closed loop that must wait at a side (the probe or the
/// controller) for this side to be the limit. A smaller share proves nothing: packet-ins whose
/// predecessors were answered together are also sent together, and then wait for each other.
const MAX_WAIT: f64 = 0.5;
/// The share of the time that distinguishes the probe from other limits. In a flood, the probe is
/// the limit if the connections refuse data for less than this share. In any trial, the probe is
/// the limit if its own receive windows are closed for this share or more.
const BLOCKED: f64 = 0.5;
/// The number of packet-ins that a switch must have sent without an answer to be reported as never
/// answered.
const LEAST_OF_DEAD: u64 = 10;

/// Returns the verdict on the trial from which `evidence` was collected.
pub(crate) fn verdict(evidence: &Evidence<'_>) -> Verdict {
    if let Some(verdict) = without_account(evidence) {
        return verdict;
    }
    match evidence.mode {
        Mode::Open => open(evidence),
        Mode::Closed { window, .. } => with_dead(closed(evidence, window), evidence),
        Mode::Flood => with_dead(flood(evidence), evidence),
    }
}

fn plain(saturated: Saturated, because: impl Into<String>) -> Verdict {
    Verdict { because: because.into(), ..Verdict::new(saturated) }
}

/// Returns the verdict if it needs no [`Account`], for example because no packet-in was due or none
/// was answered. Returns `None` if an account is needed.
fn without_account(evidence: &Evidence<'_>) -> Option<Verdict> {
    let counts = evidence.counts;
    // A flood whose connections are blocked has a limit even if no packet-in leaves in the
    // window.
    if evidence.mode == Mode::Flood && evidence.observed.blocked >= BLOCKED {
        return None;
    }
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
    // Packet-ins that connections refused point to a side even if no packet-in was answered.
    let is_blamed = evidence.mode == Mode::Open && is_refused(evidence);
    let is_silent = counts.sent > 0 && evidence.observed.ever_answered == 0;
    (is_silent && !is_blamed).then(|| plain(Saturated::Unknown, "Nothing was answered."))
}

/// Returns whether many packet-ins were sent late or never because their connection refused them or
/// their switch had no connection. Many means more than the share [`NOTABLE`] of those that were
/// due.
fn is_refused(evidence: &Evidence<'_>) -> bool {
    let hindered = evidence.observed.hindered;
    let count = hindered.held_back + hindered.refused + hindered.cut_off;
    count as f64 > NOTABLE * evidence.wanted() as f64
}

/// Returns the verdict on a trial with open-loop traffic, in which packet-ins are due by a
/// schedule.
fn open(evidence: &Evidence<'_>) -> Verdict {
    let explained = explain(evidence);
    let words = Words { evidence, explained: &explained };
    let account = explained.account;
    let mut apart = apart(evidence.switches);
    if is_within_bursts(&apart, evidence, explained.course.late) {
        apart.clear();
    }
    let verdict = |saturated, because: String| Verdict {
        because,
        switches: apart.iter().map(|switch| switch.index).collect(),
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
    // The loss is a small share of all packet-ins, but a few switches had all of it.
    if !apart.is_empty() {
        return verdict(Saturated::Controller, words.apart(&apart));
    }
    let missing = evidence.counts.unanswered();
    if missing == 0 {
        return match words.is_unexplained() {
            true => verdict(Saturated::Unknown, words.growth_undecided()),
            false => verdict(Saturated::Neither, words.neither()),
        };
    }
    if missing <= explained.tolerance {
        return verdict(Saturated::Neither, words.neither());
    }
    if is_by_bursts(evidence, &explained) {
        return verdict(Saturated::Probe, words.bursts());
    }
    verdict(Saturated::Unknown, words.undecided())
}

/// Returns whether late bursts of the probe may explain why the switches in `apart` lost more
/// packet-ins than others. `late` is the number of packet-ins in late bursts. A controller may drop
/// the last packet-ins of a burst, and these may belong to a few switches. The bursts therefore
/// explain the loss of a switch that is at most twice an equal share of `late`, unless the switch
/// was never answered.
fn is_within_bursts(apart: &[&SwitchOutcome], evidence: &Evidence<'_>, late: u64) -> bool {
    /// The factor by which the loss of a switch may exceed an equal share of `late` by chance.
    const UNEVEN: f64 = 2.0;
    let each = UNEVEN * late as f64 / evidence.switches.len().max(1) as f64;
    let within = |switch: &&SwitchOutcome| {
        let counts = &switch.counts;
        let is_dead = counts.answered == 0 && counts.sent >= LEAST_OF_DEAD;
        !is_dead && counts.lost as f64 <= each
    };
    apart.iter().all(within)
}

/// Returns [`Certainty::Sure`] if the lower bound of the side `saturated` exceeds the sum of the
/// upper bounds of the other two sides, and [`Certainty::Likely`] otherwise. Returns `None` if the
/// verdict does not name a side.
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

/// Returns the rate, in answers per second, that the controller might reach if its threads never
/// waited for a core and no CPU time of its host were stolen. Without waiting, the rate grows by
/// the smaller of the factors 1 / (1 - w) and 1 + w / c, where w is the waiting time and c the CPU
/// time, relative to the elapsed time. Returns `None` if these times are unknown, or if even this
/// rate is below the load.
fn reachable(evidence: &Evidence<'_>, explained: &Explained) -> Option<f64> {
    let work = evidence.controller?;
    let (waited, ran) = (work.wait_percent?, work.cpu_percent);
    let seconds = evidence.seconds();
    let answered = explained.service.map(|service| service.rate);
    let answered = answered.unwrap_or(evidence.answers_in_window as f64 / seconds);
    let by_waiting = 1.0 / (1.0 - (waited / 100.0).min(1.0));
    let by_running = 1.0 + waited / ran;
    let stolen = match evidence.host.has_controller {
        true => evidence.host.stolen.min(0.99),
        false => 0.0,
    };
    let reachable = answered * by_waiting.min(by_running) / (1.0 - stolen);
    (reachable >= evidence.wanted() as f64 / seconds).then_some(reachable)
}

/// Returns whether late bursts of the probe explain the losses. This is the case if no more
/// packet-ins were lost than the bursts contained, and nearly all of the packet-ins that no burst
/// disturbed were answered.
fn is_by_bursts(evidence: &Evidence<'_>, explained: &Explained) -> bool {
    let course = &explained.course;
    let (lost, seen) = (course.passed_over_undisturbed, course.due_undisturbed);
    let confidence = Confidence::new(2.0 * UNDISTURBED - 1.0);
    let share = confidence.and_then(|sure| proportion(lost.min(seen), seen, sure));
    evidence.counts.unanswered() <= course.late
        && 2 * seen >= course.due
        && share.is_some_and(|share| share.high <= NOTABLE)
}

/// Returns the switches that lost a far larger share of their packet-ins than the others, ordered
/// by index. At most a third of the switches that sent packet-ins are returned, and none if the
/// losses are even.
fn apart(switches: &[SwitchOutcome]) -> Vec<&SwitchOutcome> {
    /// The least difference between the loss of the returned switches and that of the others.
    /// `POINTS` is a difference of loss shares, and `ERRORS` is a number of standard errors.
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
    // The widest gap between two neighbours in this order separates the two groups.
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

/// Returns the switches that had no answer in the window, or none if they are more than a third of
/// all switches. In a closed loop, such a switch may have sent nothing in the window, since it
/// waits for an answer.
fn dead(switches: &[SwitchOutcome]) -> Vec<&SwitchOutcome> {
    let is_dead =
        |switch: &&SwitchOutcome| switch.counts.answered == 0 && switch.received_rate == 0.0;
    let dead: Vec<&SwitchOutcome> = switches.iter().filter(is_dead).collect();
    if dead.len() <= switches.len() / 3 { dead } else { Vec::new() }
}

/// Adds to the verdict on a closed loop or a flood which switches had no answer.
fn with_dead(verdict: Verdict, evidence: &Evidence<'_>) -> Verdict {
    let dead = dead(evidence.switches);
    if dead.is_empty() {
        return verdict;
    }
    Verdict {
        because: format!("{} {}", verdict.because, sentence::dead(&dead)),
        switches: dead.iter().map(|switch| switch.index).collect(),
        ..verdict
    }
}

/// Returns the verdict on a closed loop, in which each switch keeps `window` packet-ins unanswered.
/// The limit is the side (the probe or the controller) at which packet-ins wait for each other, or
/// the probe if its own TCP receive windows were closed. Otherwise the limit is `window` itself,
/// because more unanswered packet-ins would be answered as well.
fn closed(evidence: &Evidence<'_>, window: u32) -> Verdict {
    let rate = evidence.answers_in_window as f64 / evidence.seconds();
    let Times { all: Latency { mean_ns: rtt, min_ns: least, .. }, undisturbed } = evidence.times;
    let without_probe = undisturbed.mean_ns.min(*rtt);
    let by_probe = evidence.send_lag.mean_ns + rtt - without_probe;
    let network = evidence.network_rtt.unwrap_or(*least) as f64;
    let by_controller = (without_probe - network).max(0.0);
    let waiting = |part: f64| rate * part / 1e9;
    let all = waiting(*rtt);
    let [probe, controller, on_its_way] = [by_probe, by_controller, network.min(*rtt)].map(waiting);
    let is_limit = |part: f64| part >= WAITING && part >= MAX_WAIT * all;
    let busy = sentence::both_cpus(evidence);
    let closed = evidence.sockets.map_or(0.0, |sockets| sockets.probe_closed(evidence.window));
    if is_limit(probe) && probe >= controller || closed >= BLOCKED {
        let because = format!(
            "On average up to {probe:.1} packet-ins and answers waited for it, and {controller:.1} \
             packet-ins for the controller, which may take more.{busy}"
        );
        return plain(Saturated::Probe, because);
    }
    if is_limit(controller) {
        let because = format!(
            "Its answers set the pace with {window} packet-ins outstanding per switch: of {all:.1} on \
             average, {controller:.1} were with it and {on_its_way:.1} in the network.{busy}"
        );
        return plain(Saturated::Controller, because);
    }
    let because = format!(
        "The window was: with {window} packet-ins outstanding per switch, {all:.1} on average, \
         {on_its_way:.1} were in the network and {controller:.1} with the controller. Raise --window to \
         find its limit.{busy}"
    );
    plain(Saturated::Neither, because)
}

/// Returns the verdict on a flood, in which switches send whenever their connections accept data.
/// If the connections accept data most of the time, or the probe's own TCP receive windows were
/// closed, the probe is the limit. Otherwise the controller is the limit if its receive windows
/// were closed, and the network if they were open. No limit is known if the kernel does not report
/// the receive windows.
fn flood(evidence: &Evidence<'_>) -> Verdict {
    let blocked = evidence.observed.blocked;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share.min(1.0));
    let busy = sentence::both_cpus(evidence);
    let full = percent(blocked);
    let closed = evidence.sockets.map(|sockets| sockets.closed);
    let by_probe = evidence.sockets.map_or(0.0, |sockets| sockets.probe_closed(evidence.window));
    if blocked < BLOCKED {
        let because = format!(
            "Its connections had room for more during {} of the time, so the controller may take more.{busy}",
            percent(1.0 - blocked)
        );
        return plain(Saturated::Probe, because);
    }
    if by_probe >= BLOCKED {
        let because = format!(
            "Its own receive windows were closed for {} of the time: it did not keep up with reading what the \
             controller sent.{busy}",
            percent(by_probe)
        );
        return plain(Saturated::Probe, because);
    }
    match closed {
        None => plain(
            Saturated::Unknown,
            format!(
                "Connections were full for {full} of the time, and the kernel does not tell whether the \
                 controller's windows or the network kept packet-ins back.{busy}"
            ),
        ),
        Some(closed) if closed >= blocked / 2.0 => plain(
            Saturated::Controller,
            format!(
                "It did not read fast enough: connections were full for {full} of the time, and its receive \
                 windows were closed for {}.{busy}",
                percent(closed)
            ),
        ),
        Some(closed) => plain(
            Saturated::Network,
            format!(
                "Connections were full for {full} of the time, although the controller's receive windows were \
                 closed for {} only.{}{busy}",
                percent(closed),
                sentence::retransmissions(evidence)
            ),
        ),
    }
}
