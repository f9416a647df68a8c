//! Accounts for the packet-ins of a lost rank, which is a process of the run that ended or fell
//! silent during a trial. Its own record of them is lost too.

use crate::engine::{SwitchHandshake, ThreadOutcome, TrialPlan};
use crate::outcome::{RankOutcome, Rates};

/// Returns a substitute for the record of a lost rank. It contains the packet-ins that were due at
/// the rank's switches before `closed_at`, and counts all of them as never sent. Without a schedule
/// (in a closed loop or a flood), the record is empty.
pub(super) fn thread_outcome(
    plan: &TrialPlan,
    rank: &RankOutcome,
    closed_at: u64,
) -> ThreadOutcome {
    let switches = rank.first_switch..rank.first_switch + rank.switches;
    let mut recorder = plan.recorder_of(switches.clone());
    for (place, switch) in switches.enumerate() {
        let schedule = plan.schedule.as_ref().and_then(|schedule| schedule.switch(switch));
        let due = schedule.into_iter().flatten().map(|due| due.0);
        for at in due.take_while(|at| *at < closed_at) {
            recorder.due(place, at);
        }
    }
    recorder.close(closed_at);
    let handshake =
        SwitchHandshake { stage: "lost with its rank".to_owned(), ..SwitchHandshake::default() };
    (recorder, vec![handshake; rank.switches as usize])
}

/// The outcome of a lost rank with the packet-ins that were due at its switches, and a note on the
/// loss.
pub(super) struct Completed {
    pub(super) outcome: RankOutcome,
    pub(super) note: String,
}

/// Adds the packet-ins that were due at a lost rank's switches to its outcome. `seconds` is the
/// length of the measured time.
pub(super) fn completed(rank: RankOutcome, thread: &ThreadOutcome, seconds: f64) -> Completed {
    let mut counts = rank.counts;
    for record in &thread.0.switches {
        let own = record.ledger.counts();
        counts.due += own.due;
        counts.unsent += own.unsent;
    }
    let offered = if seconds > 0.0 { counts.due as f64 / seconds } else { 0.0 };
    let note = format!(
        "What rank {} measured is lost with it: the {} packet-ins that were due at its {} switches \
         count as never sent.",
        rank.rank, counts.due, rank.switches
    );
    let outcome = RankOutcome { counts, rates: Rates { offered, ..rank.rates }, ..rank };
    Completed { outcome, note }
}
