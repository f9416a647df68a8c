//! Detects a controller that has stopped answering for good.
//!
//! A controller that is too slow answers until the end, as fast as it can. A controller that has
//! stopped is recognised by silence: from some moment until the end of the trial, no answer
//! arrived, although packet-ins were sent.

use crate::engine::{Recorder, ThreadOutcome, TrialPlan, nanos};
use crate::outcome::Silence;
use crate::traffic::describe;

/// The factor by which the silence must exceed the longest earlier time between two answers. A
/// controller that only pauses from time to time has not stopped.
const LONGER: u64 = 3;
/// The number of packet-ins that must be unanswered in the silence. Fewer may have been lost one by
/// one.
const LEAST: u64 = 10;

/// Returns the time without answers at the end of a trial if the controller has stopped for good,
/// and `None` otherwise.
pub(super) fn silence(plan: &TrialPlan, threads: &[ThreadOutcome]) -> Option<Silence> {
    let recorders = || threads.iter().map(|(recorder, _)| recorder);
    let found = ended_in_silence(recorders, nanos(plan.config.timing.drain.longest()))?;
    let mut frame = Vec::new();
    plan.source(found.switch)?.next(found.sequence, &mut frame);
    let seconds = |at: u64| at as f64 / 1e9;
    Some(Silence {
        last_answer_s: seconds(found.last_answer),
        until_s: seconds(found.until),
        unanswered: found.unanswered,
        sent_s: seconds(found.sent),
        switch: found.switch,
        sequence: found.sequence,
        frame: describe(&frame),
    })
}

/// A period without answers at the end of a trial. Times are in nanoseconds since the start of
/// traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) last_answer: u64,
    pub(crate) until: u64,
    pub(crate) unanswered: u64,
    /// The time at which the first unanswered packet-in was sent (`sent`), its switch and its
    /// sequence number.
    pub(crate) sent: u64,
    pub(crate) switch: u32,
    pub(crate) sequence: u64,
}

/// Returns the silence at the end of a trial, or `None` if the controller had not stopped.
/// `patience` is the time for which the trial waited for answers at its end.
pub(crate) fn ended_in_silence<'a, R: Iterator<Item = &'a Recorder>>(
    recorders: impl Fn() -> R,
    patience: u64,
) -> Option<Found> {
    let tallies = || recorders().map(|recorder| &recorder.tally);
    let last_answer = tallies().filter_map(|tally| tally.last_answer()).max()?;
    let answered_up_to = tallies().filter_map(|tally| tally.answered_up_to()).max()?;
    let until = recorders().filter_map(|recorder| recorder.closed_at()).min()?;
    let longest = tallies().map(|tally| tally.histograms.rtt_from_sent.max()).max()?;
    let (mut unanswered, mut first): (_, Option<(u64, u32, u64)>) = (0, None);
    for record in recorders().flat_map(|recorder| &recorder.switches) {
        let (count, own) = record.ledger.left_after(answered_up_to);
        unanswered += count;
        if let Some((sent, sequence)) = own
            && first.is_none_or(|(earliest, ..)| sent < earliest)
        {
            first = Some((sent, record.index, sequence));
        }
    }
    let seen = Seen {
        silent: until.saturating_sub(last_answer),
        patience,
        longest,
        // A thread whose switches have no answers has no time between answers, and is ignored.
        longest_gap: tallies()
            .map(|tally| tally.longest_gap())
            .filter(|gap| *gap > 0)
            .min()
            .unwrap_or(0),
        unanswered,
        unanswered_before: tallies()
            .map(|tally| tally.outstanding())
            .sum::<u64>()
            .saturating_sub(unanswered),
        answered: recorders()
            .flat_map(|recorder| &recorder.switches)
            .map(|record| record.ledger.total_answered())
            .sum(),
    };
    if !seen.is_for_good() {
        return None;
    }
    let (sent, switch, sequence) = first?;
    Some(Found { last_answer, until, unanswered, sent, switch, sequence })
}

/// The observations by which a controller that has stopped is distinguished from one that is slow
/// or loses packet-ins.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The length of the period without answers at the end of the trial (`silent`). `patience` is
    /// the time for which the trial waited for answers, and `longest` is the longest time that any
    /// answer took.
    silent: u64,
    patience: u64,
    longest: u64,
    /// The longest time between two answers before this period.
    longest_gap: u64,
    /// The number of packet-ins that were sent after the last one that was answered.
    unanswered: u64,
    /// The number of unanswered packet-ins that were sent before the last one that was answered.
    unanswered_before: u64,
    answered: u64,
}

impl Seen {
    fn is_for_good(&self) -> bool {
        self.unanswered >= LEAST
            && self.silent >= self.patience
            && self.silent > self.longest
            && self.silent > LONGER.saturating_mul(self.longest_gap)
            // If most packet-ins are lost throughout the trial, losses at its end prove nothing.
            && self.unanswered_before < self.answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The observations of a trial with the controller os-ken, whose application parses every
    /// packet. Its library never returns from the frame with source port 2600, which is the 1,577th
    /// frame of a run of 10 s at 1,000/s.
    const OS_KEN: Seen = Seen {
        silent: 10_424_000_000,
        patience: 2_000_000_000,
        longest: 9_000_000,
        longest_gap: 12_000_000,
        unanswered: 8_424,
        unanswered_before: 0,
        answered: 1_576,
    };

    #[test]
    fn a_controller_that_stopped_is_distinguished_from_others() {
        assert!(OS_KEN.is_for_good());
        // ONOS over P4Runtime with 50 switches at 50/s: overloaded, and answering until the end.
        let slow = Seen {
            silent: 3_000_000,
            longest: 14_700_000_000,
            unanswered: 1_400,
            unanswered_before: 12_000,
            answered: 11_500,
            ..OS_KEN
        };
        assert!(!slow.is_for_good());
        // The controller's queue may just be longer than the drain.
        assert!(!Seen { silent: 3_000_000_000, ..slow }.is_for_good());
        // The controller pauses for 2 s now and then.
        assert!(
            !Seen { silent: 4_000_000_000, longest_gap: 2_000_000_000, ..OS_KEN }.is_for_good()
        );
        // Only the last packet-in of a healthy run is lost.
        assert!(!Seen { unanswered: 1, silent: 2_001_000_000, ..OS_KEN }.is_for_good());
        // One packet-in in three is answered, throughout the trial.
        let lossy = Seen { unanswered: 12, unanswered_before: 6_000, answered: 3_000, ..OS_KEN };
        assert!(!lossy.is_for_good());
    }
}
