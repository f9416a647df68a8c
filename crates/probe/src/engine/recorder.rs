//! The record of one engine thread: the counters of its switches, and their values over time.
//!
//! Times are nanoseconds since the start of traffic. The *window* is the measured part of a trial.
//! A packet-in is *issued* when it gets a sequence number and is handed to its connection, and
//! is *sent* when its last byte is written to the socket.

use serde::{Deserialize, Serialize};

use crate::ledger::{Answer, Hindrance, SwitchLedger, Tally};
use crate::outcome::Counts;

/// The largest number of switches in a trial for which values over time are kept for each switch.
/// If there are more, only the sums over the switches are kept.
pub(crate) const DETAIL_LIMIT: u32 = 1_000;

/// The shortest time in nanoseconds without a poll that counts as an absence of the thread. A host
/// that is merely busy runs every thread more often.
pub(crate) const ABSENCE: u64 = 100_000_000;
/// The delay in nanoseconds up to which a sleeping thread that wakes late does not count as absent.
const LATE_WAKE: u64 = 1_000_000;
/// The shortest wait in nanoseconds that proves that no data was ready to read when the wait began.
const SLEPT: u64 = 50_000;

/// The record of one switch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SwitchRecord {
    /// The index of the switch in the whole trial.
    pub(crate) index: u32,
    pub(crate) ledger: SwitchLedger,
    pub(crate) sent_per_s: Vec<u32>,
    pub(crate) received_per_s: Vec<u32>,
    pub(crate) outstanding: Vec<u32>,
}

/// Values over time, each summed over all switches of the thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) sent_per_s: Vec<u64>,
    pub(crate) received_per_s: Vec<u64>,
    pub(crate) rules_per_s: Vec<u64>,
    pub(crate) outstanding: Vec<u64>,
}

/// The record of one engine thread over a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recorder {
    pub(crate) tally: Tally,
    pub(crate) switches: Vec<SwitchRecord>,
    pub(crate) sums: Sums,
    /// Whether rates over time are recorded for each switch, and not only their sums.
    detailed: bool,
    sample_every: u64,
    /// The number of packet-ins that were sent and the number that were answered since the progress
    /// counters were last updated.
    unpublished: (u64, u64),
    closed_at: Option<u64>,
    /// The longest absence of the thread in nanoseconds, or 0 if none was as long as [`ABSENCE`].
    /// Absences that ended before the window began do not count.
    absent: u64,
    /// The time in nanoseconds for which the thread had not polled its sockets when the window
    /// ended.
    away_at_end: u64,
    /// The shortest time in nanoseconds that it took to establish a connection, or `None` if none
    /// was established.
    network_rtt: Option<u64>,
    /// The time within the window for which connections accepted no data, summed over all switches,
    /// in nanoseconds.
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

    /// Counts a packet-in that is due at a switch, whether or not it can be sent.
    pub(crate) fn due(&mut self, switch: usize, at: u64) {
        self.switches[switch].ledger.due(&mut self.tally, at);
    }

    /// Counts a packet-in that is due at a switch, and queues it until it can be issued.
    pub(crate) fn due_and_waits(&mut self, switch: usize, at: u64) {
        let ledger = &mut self.switches[switch].ledger;
        ledger.due(&mut self.tally, at);
        ledger.wait(&mut self.tally, at);
    }

    /// Counts a packet-in that is due at a switch without a connection, so that it is never sent.
    pub(crate) fn due_in_vain(&mut self, switch: usize, at: u64) {
        let ledger = &mut self.switches[switch].ledger;
        ledger.due(&mut self.tally, at);
        ledger.withhold(&mut self.tally, at, Hindrance::NoConnection);
    }

    /// Issues the packet-in that has waited longest at a switch: it gets a sequence number. Returns
    /// its due time and sequence number, or `None` if none waits.
    pub(crate) fn issue_waiting(&mut self, switch: usize) -> Option<(u64, u64)> {
        self.switches[switch].ledger.issue_waiting(&mut self.tally)
    }

    pub(crate) fn issue(&mut self, switch: usize, due: u64) -> u64 {
        self.switches[switch].ledger.issue(&mut self.tally, due)
    }

    /// Returns the number of packet-ins of a switch that are due and not yet issued.
    pub(crate) fn waiting(&self, switch: usize) -> usize {
        self.switches[switch].ledger.waiting()
    }

    /// Records that the connection of a switch accepts no more data.
    pub(crate) fn refuse(&mut self, switch: usize) {
        self.switches[switch].ledger.refuse(&mut self.tally);
    }

    /// Records that the connection of a switch has ended.
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

    /// Records that the thread did not poll its sockets between two times.
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

    /// Records that the thread slept from `from` to `to`, and that arriving data would have woken
    /// it. The thread was due to wake at `until` at the latest. If it slept longer, the excess
    /// counts as an absence.
    pub(crate) fn listened(&mut self, from: u64, until: u64, to: u64) {
        let awake = to.min(until.saturating_add(LATE_WAKE));
        if awake.saturating_sub(from) > SLEPT {
            self.tally.missed(awake);
        }
        self.had_turns(from, until, to);
    }

    /// Records the earliest time at which an answer that is read from now on can have arrived. The
    /// thread has waited from `from` to `at`. After a long wait, this time is `at`, because earlier
    /// data would have ended the wait. After a short wait, it is `before`, the end of the previous
    /// wait, because data may have arrived since then.
    pub(crate) fn woke(&mut self, before: u64, from: u64, at: u64) {
        let slept = at.saturating_sub(from) > SLEPT;
        self.tally.missed(if slept { at } else { before });
    }

    /// Records that arriving data was read immediately between `from` and `to`. The period was due
    /// to end at `until` at the latest. If it ended later, the excess counts as an absence.
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

    /// Returns for how long a period overlaps the window, in nanoseconds.
    fn inside(&self, from: u64, to: u64) -> u64 {
        let window = self.tally.window();
        to.min(window.to).saturating_sub(from.max(window.from))
    }

    /// Returns the longest absence of the thread in nanoseconds, or 0 if none was as long as
    /// [`ABSENCE`]. Absences that ended before the window began do not count.
    pub(crate) fn absent(&self) -> u64 {
        self.absent
    }

    /// Returns the time in nanoseconds for which the thread had not polled its sockets when the
    /// window ended, or 0 if it polled them then.
    pub(crate) fn away_at_end(&self) -> u64 {
        self.away_at_end
    }

    /// Records the time in nanoseconds that it took to establish a connection. Only the kernels of
    /// the two hosts take part in this, so the time does not depend on the load of the controller.
    pub(crate) fn connected_after(&mut self, length: u64) {
        self.network_rtt = Some(self.network_rtt.map_or(length, |least| least.min(length)));
    }

    /// Returns the shortest time that it took to establish a connection, or `None` if the probe has
    /// established none.
    pub(crate) fn network_rtt(&self) -> Option<u64> {
        self.network_rtt
    }

    /// Records that the connection of a switch accepted no data between two times.
    pub(crate) fn was_blocked(&mut self, from: u64, to: u64) {
        self.blocked += self.inside(from, to);
    }

    /// Returns the time within the window, in nanoseconds, for which connections accepted no data,
    /// summed over all switches.
    pub(crate) fn blocked(&self) -> u64 {
        self.blocked
    }

    pub(crate) fn abandon(&mut self, switch: usize, sequence: u64) {
        self.switches[switch].ledger.abandon(&mut self.tally, sequence);
    }

    /// Records that the flow rules of a switch handled a packet, so that it caused no packet-in.
    pub(crate) fn handled(&mut self, switch: usize, sequence: u64, forwarded: bool) {
        self.switches[switch].ledger.handled(&mut self.tally, sequence, forwarded);
    }

    /// Counts packet-ins of a flood that were sent. In a flood, switches send as fast as
    /// connections accept data.
    pub(crate) fn flood_left(&mut self, switch: usize, count: u64, at: u64) {
        self.switches[switch].ledger.flood_left(&mut self.tally, count, at);
        *slot(&mut self.sums.sent_per_s, second(at)) += count;
        if self.detailed {
            *slot(&mut self.switches[switch].sent_per_s, second(at)) += saturate(count);
        }
        self.unpublished.0 += count;
    }

    /// Counts answers during a flood. They are not matched to packet-ins.
    pub(crate) fn flood_answered(&mut self, switch: usize, count: u64, at: u64) {
        self.switches[switch].ledger.flood_answered(&mut self.tally, count, at);
        *slot(&mut self.sums.received_per_s, second(at)) += count;
        if self.detailed {
            *slot(&mut self.switches[switch].received_per_s, second(at)) += saturate(count);
        }
        self.unpublished.1 += count;
    }

    /// Counts a packet-out, whether or not it answers a packet-in.
    pub(crate) fn packet_out(&mut self, switch: usize, at: u64) {
        let counted = self.tally.window().contains(at);
        self.counts(switch).packet_outs += u64::from(counted);
    }

    /// Records that `count` flow rules were changed.
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

    /// Closes the record at the time `at`, after which the thread must not record anything. Before
    /// this call, the caller must record packet-ins as due that are still in the schedule although
    /// their due times have passed.
    pub(crate) fn close(&mut self, at: u64) {
        self.sample(at);
        for record in &mut self.switches {
            record.ledger.close(&mut self.tally);
        }
        self.tally.close();
        self.closed_at = Some(at);
    }

    /// Returns the time at which the record was closed, or `None` if traffic had not begun.
    pub(crate) fn closed_at(&self) -> Option<u64> {
        self.closed_at
    }

    /// Records the number of unanswered packet-ins for all sample times up to `now` that were not
    /// recorded yet.
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

    /// Returns the time at which the next sample must be taken.
    pub(crate) fn next_sample(&self) -> u64 {
        self.sums.outstanding.len() as u64 * self.sample_every
    }

    /// Returns the number of packet-ins that were sent and the number that were answered since the
    /// previous call.
    pub(crate) fn publish(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.unpublished)
    }
}

/// The kind of a change to a flow rule.
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
        // The first sleep lies before the window.
        assert!(delays.max() < 1_010_000, "{}", delays.max());
        assert_eq!(delays.value_at_quantile(0.7), 1);
        assert!(delays.value_at_quantile(0.8) > 990_000);
    }

    #[test]
    fn a_pause_while_asleep_is_an_absence() {
        let mut recorder = recorder();
        // The thread was to sleep for 20 ms and slept until after the window.
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
