//! Decides which side limited the rate of a controller benchmark: the controller, the probe, the
//! network, or none of them. The verdict covers the trials of a point, or the points of a run.
//!
//! Trials of one point may disagree. A trial may have an account, which states for how many
//! unanswered packet-ins each side is responsible. If all trials have accounts, the accounts are
//! added up: a side is the limit of the point if it is responsible for more than 1 % of all
//! packet-ins that were due. Otherwise the most serious of the trials' verdicts is used.

use probe::outcome::{Account, Completion, Point, RunResult, Saturated};

use crate::format::{capital, printable};
use crate::{describe, notes};

/// The possible verdicts on what limited the rate, such as the probe, the most serious first.
const BY_WEIGHT: [Saturated; 5] = [
    Saturated::Probe,
    Saturated::Network,
    Saturated::Controller,
    Saturated::Unknown,
    Saturated::Neither,
];
/// The threshold above which a side is the limit: the packet-ins that are unanswered because of
/// that side, as a share of all packet-ins that were due.
const NOTABLE: f64 = 0.01;

/// The verdict on one point of a sweep: the side that limited its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointVerdict {
    /// The side that limited the trials of the point, taken together.
    pub(crate) side: Saturated,
    /// The number of trials of the point that this side limited.
    times: usize,
    trials: usize,
}

/// Returns which side limited the rate at a point of a sweep.
pub(crate) fn of_point(point: &Point) -> PointVerdict {
    let sides = point.trials.iter().map(|trial| match trial.completion {
        // A trial that failed measured nothing, so its verdict is unknown.
        Completion::Failed { .. } => Saturated::Unknown,
        _ => trial.verdict.saturated,
    });
    let sides: Vec<Saturated> = sides.collect();
    let accounts: Option<Vec<Account>> =
        point.trials.iter().map(|trial| trial.verdict.account).collect();
    let together = accounts.and_then(|accounts| side_of(&accounts));
    match together.filter(|side| sides.contains(side)) {
        Some(side) => PointVerdict::with(side, &sides),
        None => PointVerdict::of(&sides),
    }
}

/// Returns the side that caused the most unanswered packet-ins in all trials together. Returns
/// `None` if no side caused more than the share [`NOTABLE`] of the packet-ins that were due.
fn side_of(accounts: &[Account]) -> Option<Saturated> {
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
    let sides = [
        (Saturated::Controller, sum(|account| account.controller.low)),
        (Saturated::Probe, sum(|account| account.probe.low)),
        (Saturated::Network, sum(|account| account.network.low)),
    ];
    let tolerance = NOTABLE * sum(|account| account.due) as f64;
    let above = sides.into_iter().filter(|(_, low)| *low as f64 > tolerance);
    above.max_by_key(|(_, low)| *low).map(|(side, _)| side)
}

impl PointVerdict {
    fn of(sides: &[Saturated]) -> Self {
        let side = BY_WEIGHT.into_iter().find(|side| sides.contains(side));
        Self::with(side.unwrap_or(Saturated::Unknown), sides)
    }

    fn with(side: Saturated, sides: &[Saturated]) -> Self {
        let times = sides.iter().filter(|other| **other == side).count();
        Self { side, times, trials: sides.len() }
    }

    /// Formats the side that limited the rate, with the number of trials if they disagree:
    /// `controller 3/5`.
    pub(crate) fn short(self) -> String {
        if self.times == self.trials {
            word(self.side).to_owned()
        } else {
            format!("{} {}/{}", word(self.side), self.times, self.trials)
        }
    }

    fn sentence(self) -> String {
        let share = match (self.times, self.trials) {
            (_, 0) => return "Nothing was measured.".to_owned(),
            (_, 1) => String::new(),
            (times, trials) if times == trials => format!(" in all {trials} trials"),
            (times, trials) => format!(" in {times} of {trials} trials"),
        };
        match self.side {
            // No side is the limit only if all trials agree.
            Saturated::Neither => {
                let any = if self.trials > 1 { " in any trial" } else { "" };
                format!("Neither side was saturated{any}: {NEITHER}.")
            }
            Saturated::Controller => format!("The controller was the limit{share}."),
            Saturated::Probe => {
                format!("The probe itself was the limit{share}: {PROBE}.")
            }
            Saturated::Network => format!("The network was the limit{share}."),
            Saturated::Unknown => format!("Which side was the limit could not be decided{share}."),
        }
    }
}

const NEITHER: &str = "all offered packet-ins left and were answered";
const PROBE: &str = "the controller may take more";

/// The verdict on a run, in words: the side that limited its rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunVerdict {
    /// The most serious of the verdicts on the points of the run.
    pub(crate) side: Saturated,
    /// A sentence that says whether the controller, the probe or the network limited the rates.
    pub(crate) sentence: String,
    /// Further explanations of the verdict, of a sentence or two each.
    pub(crate) further: Vec<String>,
}

/// Returns which side limited the rates of a run, or `None` if the run has no point.
pub(crate) fn of_run(result: &RunResult) -> Option<RunVerdict> {
    match result.points.as_slice() {
        [] => None,
        [point] => {
            let verdict = of_point(point);
            let further = reason(point, verdict.side).map(|Reason { text, share }| {
                if share.is_empty() { text } else { format!("{}: {text}", capital(&share)) }
            });
            let further = further.into_iter().collect();
            Some(RunVerdict { side: verdict.side, sentence: verdict.sentence(), further })
        }
        points => Some(of_points(points)),
    }
}

fn of_points(points: &[Point]) -> RunVerdict {
    let verdicts: Vec<_> = points.iter().map(|point| (point, of_point(point).side)).collect();
    let total = points.len();
    let mut sentences = Vec::new();
    let mut worst = None;
    for side in BY_WEIGHT {
        let at: Vec<&Point> = verdicts.iter().filter(|v| v.1 == side).map(|v| v.0).collect();
        let Some(first) = at.first() else { continue };
        worst = worst.or(Some(side));
        let n = at.len();
        let where_at = format!("at {n} of {total} points");
        sentences.push(match side {
            Saturated::Probe => format!("The probe itself was the limit {where_at}: {PROBE}."),
            Saturated::Controller => format!("The controller was the limit {where_at}."),
            Saturated::Network => format!("The network was the limit {where_at}."),
            Saturated::Unknown => {
                format!("Which side was the limit could not be decided {where_at}.")
            }
            Saturated::Neither if n == total => {
                format!("Neither side was saturated at any of {total} points: {NEITHER}.")
            }
            Saturated::Neither => format!("Neither side was saturated at the other {n}."),
        });
        if side != Saturated::Neither {
            sentences.push(places(&at, points));
            if let Some(Reason { text, share }) = reason(first, side) {
                let place = describe::place(first, points);
                let share = if share.is_empty() { share } else { format!(", {share}") };
                sentences.push(format!("For example {place}{share}: {text}"));
            }
        }
    }
    let sentence = if sentences.is_empty() { String::new() } else { sentences.remove(0) };
    RunVerdict { side: worst.unwrap_or(Saturated::Unknown), sentence, further: sentences }
}

/// Formats a list of points: the names of the first few, and the number of the others.
fn places(points: &[&Point], among: &[Point]) -> String {
    const MAX_NAMED: usize = 4;
    let named = points.iter().take(MAX_NAMED);
    let mut names: Vec<_> = named.map(|point| describe::place(point, among)).collect();
    if points.len() > MAX_NAMED {
        names.push(format!("and {} more", points.len() - MAX_NAMED));
    }
    names.join("; ") + "."
}

/// The reason why the controller, the probe or the network was the limit of a point.
struct Reason {
    text: String,
    /// The share of the trials to which the reason applies, such as `in 3 of 5 trials` (empty if it
    /// applies to all of them).
    share: String,
}

/// Returns the most common reason why the trials of a point had `side` as their limit. Reasons that
/// differ only in numbers count as equal. Other reasons are left out, because they may contradict
/// the most common one. For example, all packet-ins may have left on time in one trial and not in
/// another.
fn reason(point: &Point, side: Saturated) -> Option<Reason> {
    let said =
        point.trials.iter().filter(|t| t.verdict.saturated == side).map(|t| &t.verdict.because);
    let reasons = said.filter(|because| !because.is_empty()).map(|because| {
        let text = capital(&printable(because));
        if text.ends_with('.') { text } else { text + "." }
    });
    let reasons: Vec<String> = reasons.collect();
    let (text, times) = notes::commonest(reasons.iter().map(String::as_str))?;
    let trials = point.trials.len();
    let share =
        if times < trials { format!("in {times} of {trials} trials") } else { String::new() };
    Some(Reason { text, share })
}

/// Returns the word for what may limit the rate, such as `controller`.
pub(crate) fn word(side: Saturated) -> &'static str {
    match side {
        Saturated::Neither => "neither",
        Saturated::Controller => "controller",
        Saturated::Probe => "probe",
        Saturated::Network => "network",
        Saturated::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use probe::outcome::Bounds;

    use super::*;
    use Saturated::{Controller, Neither, Probe, Unknown};

    #[test]
    fn the_most_serious_verdict_stands_for_all() {
        let of = PointVerdict::of;
        assert_eq!(of(&[Neither, Neither, Probe, Controller, Neither]).short(), "probe 1/5");
        assert_eq!(of(&[Controller, Neither, Controller, Neither]).short(), "controller 2/4");
        assert_eq!(of(&[Neither, Neither]).short(), "neither");
        assert_eq!(of(&[]).side, Unknown);
    }

    #[test]
    fn accounts_of_trials_add_up() {
        let account = |controller, probe| Account {
            due: 1_000,
            controller: Bounds { low: controller, high: controller },
            probe: Bounds { low: probe, high: probe },
            ..Account::default()
        };
        // One trial that the probe limited does not excuse a controller that was the limit in all.
        let trials = [account(380, 0), account(350, 50), account(20, 90)];
        assert_eq!(side_of(&trials), Some(Controller));
        assert_eq!(side_of(&[account(0, 20), account(0, 0)]), None);
        assert_eq!(side_of(&[account(0, 21), account(0, 0)]), Some(Probe));
        assert_eq!(side_of(&[]), None);
    }

    #[test]
    fn sentences_say_in_how_many_trials() {
        let sentence = |sides: &[Saturated]| PointVerdict::of(sides).sentence();
        assert_eq!(sentence(&[Controller]), "The controller was the limit.");
        assert_eq!(sentence(&[Controller; 5]), "The controller was the limit in all 5 trials.");
        assert_eq!(sentence(&[]), "Nothing was measured.");
        assert!(
            sentence(&[Neither, Probe]).contains("in 1 of 2 trials: the controller may take more")
        );
        assert!(
            sentence(&[Neither, Neither]).starts_with("Neither side was saturated in any trial")
        );
    }
}
