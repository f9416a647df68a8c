//! Decides when an engine thread has finished its part of a trial.
//!
//! A trial lasts until every packet-in that was due has been sent or could have been sent in time,
//! and until the answers to the last one have had the time to arrive. Only time in which the thread
//! polls its sockets counts. After a pause of the host or of the process, due packet-ins are
//! therefore still sent, and answers that have arrived are still read. Times are nanoseconds since
//! the start of traffic. The caller passes them, and this module reads no clock.

use super::nanos;
use crate::config::Drain;
use crate::ledger::Tally;

/// The time in nanoseconds for which a thread waits for further answers after the last packet-in
/// has been answered.
const LINGER: u64 = 300_000_000;
/// The least number of times that the sockets are polled while a thread waits for the full
/// `patience`, however long each poll takes.
const LOOKS: u64 = 8;
/// The longest time between two polls that counts as waiting, in nanoseconds. If the time is
/// longer, because the thread was paused, only this part of it counts.
const LONGEST_LOOK: u64 = 100_000_000;

/// The state of an engine thread that waits, at the end of a trial, for packet-ins to be sent and
/// for answers to arrive.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// The end of the measured part of the trial, in nanoseconds since the start of traffic.
    from: u64,
    /// Whether the thread no longer waits for a packet-in once a later one of the same switch is
    /// answered.
    until_empty: bool,
    /// The longest time, in nanoseconds, for which the thread waits for due packet-ins to be sent.
    /// It then waits for answers for the same time at most.
    patience: u64,
    looked: u64,
    waited_to_leave: u64,
    waited_for_answers: u64,
    last_left: Option<u64>,
}

impl Ending {
    /// Creates the state for traffic that ends at `from`. `drain` says for how long the thread
    /// waits for answers.
    pub(crate) fn new(from: u64, drain: Drain) -> Self {
        Self {
            from,
            until_empty: matches!(drain, Drain::UntilEmpty(_)),
            patience: nanos(drain.longest()),
            looked: from,
            waited_to_leave: 0,
            waited_for_answers: 0,
            last_left: None,
        }
    }

    /// Records that the thread has just polled all its sockets, and returns whether it has finished
    /// its part of the trial. `exhausted` says that the schedule contains no further packet-in.
    pub(crate) fn look(&mut self, at: u64, exhausted: bool, tally: &Tally) -> bool {
        if at < self.from {
            return false;
        }
        let longest = LONGEST_LOOK.min(self.patience / LOOKS);
        let present = at.saturating_sub(self.looked).min(longest);
        self.looked = at;
        if !exhausted {
            return false;
        }
        let may_leave = tally.pending() > 0 && self.waited_to_leave < self.patience;
        if may_leave {
            self.waited_to_leave += present;
        }
        // The wait for answers starts again after each packet-in that leaves in time. Later ones do
        // not restart it, so that the trial ends.
        if may_leave || tally.last_left() != self.last_left && tally.pending() == 0 {
            self.last_left = tally.last_left();
            self.waited_for_answers = 0;
            return false;
        }
        self.waited_for_answers += present;
        let waiting = match self.until_empty {
            true => tally.waiting(),
            false => tally.outstanding(),
        };
        let enough = match waiting {
            0 => LINGER.min(self.patience),
            _ => self.patience,
        };
        self.waited_for_answers >= enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ledger::{SwitchLedger, Window};

    const MS: u64 = 1_000_000;
    const TIMEOUT: Drain = Drain::For(Duration::from_secs(2));
    const WINDOW: Window = Window { from: 0, to: 1_000 * MS };

    /// Returns the record of a switch that sends a packet-in every 10 ms until `sent_until`. All
    /// packet-ins but the first `unanswered` ones are answered.
    fn recorded(sent_until: u64, unanswered: u64) -> (Tally, SwitchLedger) {
        let (mut tally, mut ledger) = (Tally::new(WINDOW, MS, 1_000), SwitchLedger::default());
        for due in (0..sent_until).step_by(10 * MS as usize) {
            ledger.due(&mut tally, due);
            let sequence = ledger.issue(&mut tally, due);
            ledger.left(&mut tally, sequence, due);
            if sequence >= unanswered {
                ledger.answer(&mut tally, sequence, due + MS);
            }
        }
        (tally, ledger)
    }

    /// Polls every 10 ms, beginning at `from`, and returns the time at which the trial is over.
    fn over(ending: &mut Ending, from: u64, tally: &Tally) -> u64 {
        (0..10_000)
            .map(|step| from + step * 10 * MS)
            .find(|at| ending.look(*at, true, tally))
            .expect("there is an end")
    }

    #[test]
    fn a_trial_ends_soon_after_the_last_answer() {
        let (tally, _) = recorded(WINDOW.to, 0);
        let mut ending = Ending::new(WINDOW.to, TIMEOUT);
        assert!(!ending.look(WINDOW.to - 1, false, &tally));
        let at = over(&mut ending, WINDOW.to, &tally);
        assert!((1_300 * MS..1_330 * MS).contains(&at), "{at}");
    }

    #[test]
    fn missing_answers_are_awaited_for_the_configured_time() {
        let (tally, _) = recorded(WINDOW.to, 1);
        let mut ending = Ending::new(WINDOW.to, TIMEOUT);
        let at = over(&mut ending, WINDOW.to, &tally);
        assert!((3_000 * MS..3_030 * MS).contains(&at), "{at}");
    }

    #[test]
    fn packet_ins_due_during_a_pause_leave_and_their_answers_are_awaited() {
        // The process was suspended from 600 ms to 9 s, beyond window and drain.
        let (mut tally, mut ledger) = recorded(600 * MS, 0);
        let mut ending = Ending::new(WINDOW.to, TIMEOUT);
        let resumed = 9_000 * MS;
        assert!(!ending.look(resumed, false, &tally), "the schedule holds more");
        for due in (600 * MS..WINDOW.to).step_by(10 * MS as usize) {
            ledger.due(&mut tally, due);
            ledger.wait(&mut tally, due);
        }
        assert!(!ending.look(resumed + MS, true, &tally), "it has not left");
        while let Some((_, sequence)) = ledger.issue_waiting(&mut tally) {
            ledger.left(&mut tally, sequence, resumed + 2 * MS);
        }
        let at = over(&mut ending, resumed + 3 * MS, &tally);
        assert!((11_000 * MS..11_030 * MS).contains(&at), "{at}");
        let counts = ledger.counts();
        assert_eq!((counts.due, counts.sent, counts.unsent, counts.lost), (100, 100, 0, 40));
    }

    #[test]
    fn a_pause_while_waiting_costs_no_answer() {
        let (mut tally, mut ledger) = recorded(WINDOW.to, 99);
        let mut ending = Ending::new(WINDOW.to, TIMEOUT);
        assert!(!ending.look(WINDOW.to, true, &tally));
        assert!(!ending.look(60_000 * MS, true, &tally), "what came meanwhile is read now");
        for sequence in 0..99 {
            ledger.answer(&mut tally, sequence, 60_001 * MS);
        }
        assert!(!ending.look(60_001 * MS, true, &tally));
        assert_eq!(ledger.counts().lost, 0);
    }

    #[test]
    fn packet_ins_that_cannot_leave_are_given_up() {
        let (mut tally, mut ledger) = recorded(500 * MS, 0);
        for due in (500 * MS..WINDOW.to).step_by(10 * MS as usize) {
            ledger.due(&mut tally, due);
            ledger.wait(&mut tally, due);
        }
        ledger.refuse(&mut tally);
        let mut ending = Ending::new(WINDOW.to, TIMEOUT);
        let at = over(&mut ending, WINDOW.to, &tally);
        assert!((3_000 * MS..3_400 * MS).contains(&at), "{at}");
        ledger.close(&mut tally);
        assert_eq!((ledger.counts().unsent, ledger.hindered().refused), (50, 50));
        assert_eq!(tally.pending(), 0);
    }

    #[test]
    fn until_empty_does_not_wait_for_passed_over_packet_ins() {
        let limit = Drain::UntilEmpty(Duration::from_secs(60));
        // All but the first ten packet-ins are answered, so the controller must have dropped
        // those ten.
        let (tally, _) = recorded(WINDOW.to, 10);
        let at = over(&mut Ending::new(WINDOW.to, limit), WINDOW.to, &tally);
        assert!((1_300 * MS..1_330 * MS).contains(&at), "{at}");
        // No packet-in is answered, so all of them may still wait at the controller.
        let (tally, _) = recorded(WINDOW.to, 100);
        let at = over(&mut Ending::new(WINDOW.to, limit), WINDOW.to, &tally);
        assert!((61_000 * MS..61_030 * MS).contains(&at), "{at}");
    }

    #[test]
    fn without_patience_it_ends_when_everything_has_left() {
        let (tally, _) = recorded(WINDOW.to, 100);
        let mut ending = Ending::new(WINDOW.to, Drain::default());
        assert!(!ending.look(WINDOW.to, true, &tally), "the last departure is news");
        assert!(ending.look(WINDOW.to, true, &tally));
    }
}
