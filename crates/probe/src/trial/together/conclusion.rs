//! Ends a trial that several processes (ranks) run together: the first rank merges their records
//! into one result.

use provenance::Host;
use ranks::Rank;

use super::{Phase, RankRecord, Together, lost, of_rank};
use crate::engine::TrialPlan;
use crate::outcome::{Completion, RankOutcome};
use crate::trial::assemble::{self, Parts};
use crate::trial::{Concluded, Outcome, TrialSetting};

impl Together<'_> {
    /// Waits until all ranks have read their last answers, and then compares the clocks again. The
    /// switches are still connected at that time.
    pub(in crate::trial) fn end(
        &mut self,
        plan: &TrialPlan,
        completion: &Completion,
        interrupted: bool,
    ) {
        match completion {
            Completion::Failed { reason } => self.cancel(reason),
            Completion::Partial { reason } if interrupted => self.cancel(reason),
            _ if self.cancelled().is_some() => {}
            _ => {
                let patience = plan.config.timing.drain.longest() * 2;
                let met = self.meet(plan, Phase::Drain, Ok(()), patience, &|| false);
                if met.is_ok() {
                    self.compare_clocks(plan, false);
                }
            }
        }
    }

    /// Sends this rank's record to the first rank. If this is the first rank, collects the records
    /// of the other ranks instead, and merges them with its own into the result.
    pub(in crate::trial) fn conclude(
        mut self,
        plan: &TrialPlan,
        setting: TrialSetting,
        parts: Parts,
        notes: Vec<String>,
        process: Option<String>,
        interrupted: bool,
    ) -> Concluded {
        let own = assemble::trial(plan, setting, parts.clone(), Vec::new());
        let outcome = RankOutcome {
            rank: self.rank().0,
            hostname: Host::read().hostname,
            first_switch: plan.portion.switches.start,
            switches: plan.portion.len(),
            completion: parts.completion.clone(),
            counts: own.counts,
            rates: own.rates,
            probe_usage: own.probe_usage,
            verdict: Some(own.verdict),
            clock_before: None,
            clock_after: None,
        };
        let Parts { completion, threads, usage, seen, ready_after, ready_at_end } = parts;
        let mine =
            RankRecord { threads, usage, seen, ready_after, ready_at_end, notes, process, outcome };
        if !self.is_first() {
            self.hand_over(mine);
            return if self.is_over { Concluded::Over } else { Concluded::HandedOver };
        }
        let (others, outcomes) = self.collect(plan, interrupted);
        let completion = self.completion(plan, completion, &outcomes);
        Concluded::Trial(Box::new(together(plan, setting, completion, mine, others, outcomes)))
    }

    /// Returns how completely all ranks together performed the trial.
    fn completion(&self, plan: &TrialPlan, mine: Completion, others: &[RankOutcome]) -> Completion {
        if let Completion::Failed { .. } = mine {
            return mine;
        }
        if let Some(reason) = self.lost(plan) {
            return Completion::Partial { reason };
        }
        let trouble = others.iter().find_map(|other| {
            match of_rank(Rank(other.rank), other.completion.clone()) {
                Completion::Complete => None,
                Completion::Failed { reason } | Completion::Partial { reason } => Some(reason),
            }
        });
        match (mine, trouble) {
            (Completion::Complete, Some(reason)) => Completion::Partial { reason },
            (mine, _) => mine,
        }
    }
}

/// Merges the records of all ranks into the result of the trial.
fn together(
    plan: &TrialPlan,
    setting: TrialSetting,
    completion: Completion,
    mine: RankRecord,
    others: Vec<RankRecord>,
    outcomes: Vec<RankOutcome>,
) -> Outcome {
    let RankRecord {
        mut threads,
        mut usage,
        mut seen,
        mut ready_after,
        mut ready_at_end,
        mut notes,
        mut process,
        outcome,
    } = mine;
    let mut ranks = vec![outcome];
    for other in others {
        threads.extend(other.threads);
        usage.add(&other.usage);
        seen.extend(other.seen);
        // The time is `None` if some switches did not become ready.
        ready_after = ready_after.zip(other.ready_after).map(|(own, theirs)| own.max(theirs));
        ready_at_end += other.ready_at_end;
        let rank = Rank(other.outcome.rank);
        notes.extend(other.notes.iter().map(|note| format!("{rank}: {note}")));
        process = process.or(other.process);
    }
    let closed_at = threads.iter().filter_map(|(recorder, _)| recorder.closed_at()).min();
    for outcome in outcomes {
        if outcome.verdict.is_some() {
            ranks.push(outcome);
            continue;
        }
        // The packet-ins of a lost rank still count as due, so that shares refer to everything that
        // was requested.
        let closed_at = closed_at.unwrap_or(0);
        let window = plan.window();
        let seconds = window.to.min(closed_at).saturating_sub(window.from) as f64 / 1e9;
        let own = lost::thread_outcome(plan, &outcome, closed_at);
        let completed = lost::completed(outcome, &own, seconds);
        notes.push(completed.note);
        ranks.push(completed.outcome);
        threads.push(own);
    }
    notes.extend(clocks(&ranks));
    let parts = Parts { completion, threads, usage, seen, ready_after, ready_at_end };
    let mut trial = assemble::trial(plan, setting, parts, notes);
    trial.ranks = ranks;
    Outcome { trial, process }
}

/// Describes how closely the clocks of the ranks agree. Returns `None` if they were not compared.
fn clocks(ranks: &[RankOutcome]) -> Option<String> {
    let bound =
        ranks.iter().filter_map(|rank| rank.clock_before).map(|clock| clock.bound_ns).max()?;
    let drift = ranks
        .iter()
        .filter_map(|rank| {
            let (before, after) = (rank.clock_before?, rank.clock_after?);
            let apart = before.offset_ns.abs_diff(after.offset_ns);
            Some(apart + before.bound_ns + after.bound_ns)
        })
        .max();
    let drift = match drift {
        Some(drift) => {
            format!(", and were apart by no more than {} µs more at the end", drift / 1_000)
        }
        None => ", and were not compared again at the end".to_owned(),
    };
    Some(format!(
        "{} ranks shared the switches. Their clocks were compared before traffic, so that it began at one \
         moment to within {} µs{drift}. Each round-trip time is of one clock, but where a switch of another \
         rank answered.",
        ranks.len(),
        bound.div_ceil(1_000),
    ))
}
