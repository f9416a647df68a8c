//! The books of one engine thread: ledgers of its switches and values over time.
//!
//! Times are nanoseconds since the start of traffic.

use serde::{Deserialize, Serialize};

use crate::ledger::{Answer, Hindrance, SwitchLedger, Tally};
use crate::outcome::Counts;

/// Beyond so many switches in a trial, values over time are kept in sum only.
pub(crate) const DETAIL_LIMIT: u32 = 1_000;

/// From so many nanoseconds on a spell without a look is an absence: a host that is merely busy
/// gives every thread a turn sooner.
pub(crate) const ABSENCE: u64 = 100_000_000;
/// By how many nanoseconds a thread may wake late and still count as one that listened.
const LATE_WAKE: u64 = 1_000_000;
/// A wait that is longer than this, in nanoseconds, found nothing to read when it began.
const SLEPT: u64 = 50_000;

/// One switch's books.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SwitchRecord {
    /// Index over the whole trial.
    pub(crate) index: u32,
    pub(crate) ledger: SwitchLedger,
    pub(crate) sent_per_s: Vec<u32>,
    pub(crate) received_per_s: Vec<u32>,
    pub(crate) outstanding: Vec<u32>,
}

/// Values over time, all switches of the thread together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) sent_per_s: Vec<u64>,
    pub(crate) received_per_s: Vec<u64>,
    pub(crate) rules_per_s: Vec<u64>,
    pub(crate) outstanding: Vec<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recorder {
    pub(crate) tally: Tally,
    pub(crate) switches: Vec<SwitchRecord>,
    pub(crate) sums: Sums,
    detailed: bool,
    sample_every: u64,
    /// First answers, and packet-ins left, that were not yet published to watchers.
    unpublished: (u64, u64),
    closed_at: Option<u64>,
    absent: u64,
    away_at_end: u64,
    network_rtt: Option<u64>,
    /// The time of the window for which connections took no more, over all switches.
    blocked: u64,
}

impl Recorder {
    pub(crate) fn new(
        tally: Tally,
        indices: impl Iterator<Item = u32>,
        detailed: bool,
        sample_every: u64,
    ) -> Self {
        let switches =
            indices.map(|index| SwitchRecord { index, ..SwitchRecord::default() }).collect();
        Self {
            tally,
            switches,
            sums: Sums::default(),
            detailed,
            sample_every: sample_every.max(1),
            unpublished: (0, 0),
            closed_at: None,
            absent: 0,
            away_at_end: 0,
            network_rtt: None,
            blocked: 0,
        }
    }

    /// Notes that a packet-in is due, whether or not it can leave.
    pub(crate) fn due(&mut self, switch: usize, at: u64) {
        self.switches[switch].ledger.due(&mut self.tally, at);
    }

    /// Notes that a packet-in is due, which waits until it can be issued.
    pub(crate) fn due_and_waits(&mut self, switch: usize, at: u64) {
        let ledger = &mut self.switches[switch].ledger;
        ledger.due(&mut self.tally, at);
        ledger.wait(&mut self.tally, at);
    }

    /// Notes that a packet-in is due at a switch that has no connection.
    pub(crate) fn due_in_vain(&mut self, switch: usize, at: u64) {
        let ledger = &mut self.switches[switch].ledger;
        ledger.due(&mut self.tally, at);
        ledger.withhold(&mut self.tally, at, Hindrance::NoConnection);
    }

    /// Issues the packet-in that waits longest at a switch: its due time and sequence number.
    pub(crate) fn issue_waiting(&mut self, switch: usize) -> Option<(u64, u64)> {
        self.switches[switch].ledger.issue_waiting(&mut self.tally)
    }

    pub(crate) fn issue(&mut self, switch: usize, due: u64) -> u64 {
        self.switches[switch].ledger.issue(&mut self.tally, due)
    }

    /// Packet-ins of a switch that are due and not issued.
    pub(crate) fn waiting(&self, switch: usize) -> usize {
        self.switches[switch].ledger.waiting()
    }

    /// Notes that the connection of a switch took no more.
    pub(crate) fn refuse(&mut self, switch: usize) {
        self.switches[switch].ledger.refuse(&mut self.tally);
    }

    /// Notes that the connection of a switch ended.
    pub(crate) fn cut_off(&mut self, switch: usize) {
        self.switches[switch].ledger.cut_off(&mut self.tally);
    }

    pub(crate) fn left(&mut self, switch: usize, sequence: u64, at: u64) {
        let record = &mut self.switches[switch];
        record.ledger.left(&mut self.tally, sequence, at);
        *slot(&mut self.sums.sent_per_s, second(at)) += 1;
        if self.detailed {
            *slot(&mut record.sent_per_s, second(at)) += 1;
        }
        self.unpublished.0 += 1;
    }

    pub(crate) fn answer(&mut self, switch: usize, sequence: u64, at: u64) -> Answer {
        let answer = self.switches[switch].ledger.answer(&mut self.tally, sequence, at);
        self.note(switch, answer, at);
        answer
    }

    pub(crate) fn answer_oldest(&mut self, switch: usize, at: u64) -> Answer {
        let (answer, _) = self.switches[switch].ledger.answer_oldest(&mut self.tally, at);
        self.note(switch, answer, at);
        answer
    }

    fn note(&mut self, switch: usize, answer: Answer, at: u64) {
        if let Answer::First { .. } = answer {
            *slot(&mut self.sums.received_per_s, second(at)) += 1;
            if self.detailed {
                *slot(&mut self.switches[switch].received_per_s, second(at)) += 1;
            }
            self.unpublished.1 += 1;
        }
    }

    /// Notes a spell in which the thread did not look at its sockets.
    pub(crate) fn did_not_look(&mut self, from: u64, to: u64) {
        let length = to.saturating_sub(from);
        self.tally.missed(from);
        let end = self.tally.window().to;
        if from < end && end <= to {
            self.away_at_end = end - from;
        }
        if length >= ABSENCE && to > self.tally.window().from {
            self.absent = self.absent.max(length);
        }
        let inside = self.inside(from, to);
        if inside > 0 {
            self.tally.read_delay(length, inside);
        }
    }

    /// Notes a spell in which whatever arrived would have woken the thread, until `until` at the
    /// latest: what it slept beyond that it was away.
    pub(crate) fn listened(&mut self, from: u64, until: u64, to: u64) {
        let awake = to.min(until.saturating_add(LATE_WAKE));
        if awake.saturating_sub(from) > SLEPT {
            self.tally.missed(awake);
        }
        self.had_turns(from, until, to);
    }

    /// Notes that a wait from `from` ended at `at`. Nothing had arrived when a long wait began. What a
    /// brief one found may have arrived since `before`, when the wait before it ended.
    pub(crate) fn woke(&mut self, before: u64, from: u64, at: u64) {
        let slept = at.saturating_sub(from) > SLEPT;
        self.tally.missed(if slept { at } else { before });
    }

    /// Notes a spell in which connections had their turns when something arrived. It was to end at
    /// `until` at the latest. After that the thread was away.
    pub(crate) fn had_turns(&mut self, from: u64, until: u64, to: u64) {
        let awake = to.min(until.saturating_add(LATE_WAKE));
        let inside = self.inside(from, awake);
        if inside > 0 {
            self.tally.read_delay(0, inside);
        }
        if to > awake {
            self.did_not_look(awake, to);
        }
    }

    /// How much of a spell lies in the window.
    fn inside(&self, from: u64, to: u64) -> u64 {
        let window = self.tally.window();
        to.min(window.to).saturating_sub(from.max(window.from))
    }

    /// The longest spell of at least [`ABSENCE`] since the window began in which the thread did
    /// nothing, 0 if there was none.
    pub(crate) fn absent(&self) -> u64 {
        self.absent
    }

    /// Returns the number of nanoseconds before the end of the window for which the thread did not
    /// look at its sockets, or 0 if it looked at them as the window ended.
    pub(crate) fn away_at_end(&self) -> u64 {
        self.away_at_end
    }

    /// Notes how long a connection took to be established, in nanoseconds: kernels do that among
    /// themselves, so that the controller has no part in it.
    pub(crate) fn connected_after(&mut self, length: u64) {
        self.network_rtt = Some(self.network_rtt.map_or(length, |least| least.min(length)));
    }

    /// The shortest time that a connection took to be established, if the probe established any.
    pub(crate) fn network_rtt(&self) -> Option<u64> {
        self.network_rtt
    }

    /// Notes a spell in which the connection of a switch took no more.
    pub(crate) fn was_blocked(&mut self, from: u64, to: u64) {
        self.blocked += self.inside(from, to);
    }

    /// The time of the window in nanoseconds for which connections took no more, over all switches.
    pub(crate) fn blocked(&self) -> u64 {
        self.blocked
    }

    pub(crate) fn abandon(&mut self, switch: usize, sequence: u64) {
        self.switches[switch].ledger.abandon(&mut self.tally, sequence);
    }

    /// Notes that the rules of a switch handled a packet.
    pub(crate) fn handled(&mut self, switch: usize, sequence: u64, forwarded: bool) {
        self.switches[switch].ledger.handled(&mut self.tally, sequence, forwarded);
    }

    /// Counts packet-ins of a flood.
    pub(crate) fn flood_left(&mut self, switch: usize, count: u64, at: u64) {
        self.switches[switch].ledger.flood_left(&mut self.tally, count, at);
        *slot(&mut self.sums.sent_per_s, second(at)) += count;
        if self.detailed {
            *slot(&mut self.switches[switch].sent_per_s, second(at)) += saturate(count);
        }
        self.unpublished.0 += count;
    }

    /// Counts answers to a flood.
    pub(crate) fn flood_answered(&mut self, switch: usize, count: u64, at: u64) {
        self.switches[switch].ledger.flood_answered(&mut self.tally, count, at);
        *slot(&mut self.sums.received_per_s, second(at)) += count;
        if self.detailed {
            *slot(&mut self.switches[switch].received_per_s, second(at)) += saturate(count);
        }
        self.unpublished.1 += count;
    }

    /// Notes a packet-out; whether it answers anything is another question.
    pub(crate) fn packet_out(&mut self, switch: usize, at: u64) {
        let counted = self.tally.window().contains(at);
        self.counts(switch).packet_outs += u64::from(counted);
    }

    /// Notes changes of rules.
    pub(crate) fn rules(&mut self, switch: usize, change: RuleChange, count: u64, at: u64) {
        if change == RuleChange::Installed {
            *slot(&mut self.sums.rules_per_s, second(at)) += count;
        }
        if self.tally.window().contains(at) {
            let counts = self.counts(switch);
            match change {
                RuleChange::Installed => counts.rules_installed += count,
                RuleChange::Removed => counts.rules_removed += count,
                RuleChange::Refused => counts.rules_refused += count,
            }
        }
    }

    pub(crate) fn counts(&mut self, switch: usize) -> &mut Counts {
        self.switches[switch].ledger.counts_mut()
    }

    /// Closes the books: the thread does nothing more from this moment on. What is due until then
    /// and was not taken from the schedule has to be noted before.
    pub(crate) fn close(&mut self, at: u64) {
        self.sample(at);
        for record in &mut self.switches {
            record.ledger.close(&mut self.tally);
        }
        self.tally.close();
        self.closed_at = Some(at);
    }

    /// When the books were closed; absent if traffic had not begun.
    pub(crate) fn closed_at(&self) -> Option<u64> {
        self.closed_at
    }

    /// Takes the samples of outstanding packet-ins that are due at `now`; sample `k` belongs to the
    /// moment `k` times the sample interval.
    pub(crate) fn sample(&mut self, now: u64) {
        while self.sums.outstanding.len() as u64 * self.sample_every <= now {
            let mut sum = 0;
            for record in &mut self.switches {
                let outstanding = record.ledger.outstanding();
                sum += outstanding;
                if self.detailed {
                    record.outstanding.push(saturate(outstanding));
                }
            }
            self.sums.outstanding.push(sum);
        }
    }

    /// The moment of the next sample.
    pub(crate) fn next_sample(&self) -> u64 {
        self.sums.outstanding.len() as u64 * self.sample_every
    }

    /// What happened since the last call: packet-ins left, first answers.
    pub(crate) fn publish(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.unpublished)
    }
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleChange {
    Installed,
    Removed,
    Refused,
}

fn second(at: u64) -> usize {
    (at / 1_000_000_000) as usize
}

fn saturate(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn slot<T: Default + Clone>(values: &mut Vec<T>, index: usize) -> &mut T {
    if index >= values.len() {
        values.resize(index + 1, T::default());
    }
    &mut values[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Window;

    const SECOND: u64 = 1_000_000_000;

    fn recorder() -> Recorder {
        let tally = Tally::new(Window { from: SECOND, to: 3 * SECOND }, SECOND, 100);
        Recorder::new(tally, [4, 9].into_iter(), true, SECOND / 2)
    }

    #[test]
    fn values_over_time_fall_into_their_second_and_switch() {
        let mut recorder = recorder();
        let first = recorder.issue(0, 0);
        recorder.left(0, first, 10);
        let second = recorder.issue(1, 2 * SECOND);
        recorder.left(1, second, 2 * SECOND);
        recorder.answer(0, first, 2 * SECOND + 1);
        assert_eq!(recorder.sums.sent_per_s, [1, 0, 1]);
        assert_eq!(recorder.sums.received_per_s, [0, 0, 1]);
        assert_eq!(recorder.switches[1].sent_per_s, [0, 0, 1]);
        assert!(recorder.switches[1].received_per_s.is_empty());
        assert_eq!(recorder.publish(), (2, 1));
        assert_eq!(recorder.publish(), (0, 0));
    }

    #[test]
    fn samples_catch_up_with_time() {
        let mut recorder = recorder();
        recorder.sample(0);
        let sequence = recorder.issue(0, 1);
        recorder.left(0, sequence, 1);
        recorder.sample(SECOND + 1);
        assert_eq!(recorder.sums.outstanding, [0, 1, 1]);
        assert_eq!(recorder.switches[0].outstanding, [0, 1, 1]);
        assert_eq!(recorder.next_sample(), 3 * SECOND / 2);
    }

    #[test]
    fn time_that_is_listened_through_counts_as_well() {
        let mut recorder = recorder();
        recorder.did_not_look(SECOND / 2, SECOND - 1);
        recorder.did_not_look(SECOND, SECOND + 1_000_000);
        recorder.listened(SECOND + 1_000_000, SECOND + 4_000_000, SECOND + 4_000_000);
        let delays = &recorder.tally.histograms.read_delay;
        // The first one lies before the window.
        assert!(delays.max() < 1_010_000, "{}", delays.max());
        assert_eq!(delays.value_at_quantile(0.7), 1);
        assert!(delays.value_at_quantile(0.8) > 990_000);
    }

    #[test]
    fn a_pause_while_asleep_is_time_in_which_nobody_listened() {
        let mut recorder = recorder();
        // It was to sleep for 20 ms and slept until after the window.
        let until = 2 * SECOND + 20_000_000;
        recorder.listened(2 * SECOND, until, 4 * SECOND);
        let expected = 2 * SECOND - 20_000_000 - LATE_WAKE;
        assert_eq!(recorder.absent(), expected);
        let delays = &recorder.tally.histograms.read_delay;
        assert_eq!(delays.value_at_quantile(0.01), 1);
        assert!(delays.value_at_quantile(0.5).abs_diff(expected) < expected / 500);
        recorder.listened(SECOND, SECOND + 20_000_000, SECOND + 20_500_000);
        assert_eq!(recorder.absent(), expected);
    }

    #[test]
    fn rules_count_inside_the_window_only() {
        let mut recorder = recorder();
        recorder.rules(0, RuleChange::Installed, 2, 0);
        recorder.rules(0, RuleChange::Installed, 3, SECOND);
        recorder.rules(0, RuleChange::Removed, 1, SECOND);
        let counts = *recorder.counts(0);
        assert_eq!((counts.rules_installed, counts.rules_removed), (3, 1));
        assert_eq!(recorder.sums.rules_per_s, [2, 3]);
    }
}
