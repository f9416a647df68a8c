//! Which packet-ins left, which were answered, and how long that took.
//!
//! One [`SwitchLedger`] per emulated switch issues sequence numbers and remembers the times of
//! each packet-in in a ring whose front is the oldest one without an answer. One bit per packet-in
//! remembers for the whole trial whether it was answered, so that duplicates, late answers and
//! losses are told apart exactly even when the ring had to let go of the times. What is due and
//! cannot leave yet waits here as well, so that every packet-in that was ever due is accounted for:
//! it left, was handled by rules, or is unsent for a reason. All times are nanoseconds since the
//! start of traffic; no clock is read here.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::outcome::{Counts, Histograms};

/// The measured part of a trial: packets due at `from <= due < to` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// First nanosecond measured.
    pub(crate) from: u64,
    /// First nanosecond after the window.
    pub(crate) to: u64,
}

impl Window {
    /// Whether a moment lies in the window.
    pub(crate) fn contains(&self, at: u64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// By how many nanoseconds of its length a spell counts once.
const LOOK_UNIT: u64 = 100;

/// What an arriving answer turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The first one to its packet-in.
    First {
        /// Whether the packet-in still held a place in the closed loop.
        frees_place: bool,
    },
    /// The packet-in had been answered before.
    Duplicate,
    /// No such packet-in has left.
    Unmatched,
}

/// Why a packet-in that was due never left, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// Its switch had no connection, or lost it before the packet-in was written.
    NoConnection,
    /// The connection took no more until the end.
    Refused,
}

/// What held packet-ins of the window up. Those that are unsent for no reason given here the probe
/// did not get to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hindered {
    /// Left late, since the connection had refused them before.
    pub(crate) held_back: u64,
    /// Never left, since the connection refused them until the end.
    pub(crate) refused: u64,
    /// Never left, since their switch had no connection.
    pub(crate) cut_off: u64,
}

/// Tally of the switches of one engine thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tally {
    window: Window,
    late_after: u64,
    /// Packet-ins that are due or issued and have not left.
    pending: u64,
    /// Packet-ins that left and were not answered.
    outstanding: u64,
    /// When a packet-in left last, and when a first answer came last.
    last_left: Option<u64>,
    last_answer: Option<u64>,
    /// The latest departure that was answered.
    answered_up_to: Option<u64>,
    /// Ring places in use, and allowed, over all switches of the thread.
    places: usize,
    place_limit: usize,
    /// Times of packet-ins due in the window.
    pub(crate) histograms: Histograms,
}

impl Tally {
    /// Answers beyond `late_after` nanoseconds are late; at most `place_limit` packet-ins are
    /// remembered at a time.
    pub(crate) fn new(window: Window, late_after: u64, place_limit: usize) -> Self {
        Self {
            window,
            late_after,
            pending: 0,
            outstanding: 0,
            last_left: None,
            last_answer: None,
            answered_up_to: None,
            places: 0,
            place_limit: place_limit.max(1),
            histograms: Histograms::default(),
        }
    }

    /// Notes that during `length` nanoseconds an answer would have waited `delay` at most. A moment
    /// is more likely to fall into a long spell, so it counts by its length.
    pub(crate) fn read_delay(&mut self, delay: u64, length: u64) {
        let weight = (length / LOOK_UNIT).max(1);
        // Grows by itself, so that no value is too large.
        let _ = self.histograms.read_delay.record_n(delay.max(1), weight);
    }

    /// The measured part of the trial.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Packet-ins that are due or issued and have not left.
    pub(crate) fn pending(&self) -> u64 {
        self.pending
    }

    /// Packet-ins that left and were not answered.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// When a packet-in left last.
    pub(crate) fn last_left(&self) -> Option<u64> {
        self.last_left
    }

    /// When a first answer came last.
    pub(crate) fn last_answer(&self) -> Option<u64> {
        self.last_answer
    }

    /// The latest departure of a packet-in that was answered.
    pub(crate) fn answered_up_to(&self) -> Option<u64> {
        self.answered_up_to
    }
}

/// A packet-in that waits, or waited, for its answer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    due: u64,
    sent: u64,
}

/// `Place::sent` of a packet-in that has not left yet.
const NOT_SENT: u64 = u64::MAX;

/// The packet-ins of one switch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SwitchLedger {
    /// Due times of packet-ins that are not issued yet; the first `refused_waiting` of them were
    /// there when the connection refused to take more.
    waiting: VecDeque<u64>,
    refused_waiting: usize,
    /// Packet-ins issued before this one that have not left were refused.
    refused_to: u64,
    /// Times of the packet-ins `base..base + ring.len()`.
    ring: VecDeque<Place>,
    base: u64,
    /// Of no use once the books are closed, and long.
    #[serde(skip)]
    answered: BitVector,
    given_up: u64,
    /// Packet-ins that were given up and have no answer to this day.
    written_off: u64,
    /// Packet-ins that left, and first answers to them, over the whole trial.
    left: u64,
    first_answers: u64,
    /// Packet-ins in the closed loop: issued, neither answered nor given up.
    in_loop: u32,
    counts: Counts,
    /// Packet-ins due in the window; their sequence numbers follow each other.
    window_sequences: Range<u64>,
    answers_in_window: u64,
    rtt_sum: u128,
    rtt_samples: u64,
    rtt_max: u64,
    hindered: Hindered,
}

impl SwitchLedger {
    /// Notes that a packet-in is due, whether or not it can leave.
    pub(crate) fn due(&mut self, tally: &Tally, at: u64) {
        if tally.window.contains(at) {
            self.counts.due += 1;
        }
    }

    /// Lets a packet-in that is due wait until it can be issued.
    pub(crate) fn wait(&mut self, tally: &mut Tally, due: u64) {
        self.waiting.push_back(due);
        tally.pending += 1;
    }

    /// Packet-ins that are due and not issued.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Issues the packet-in that waits longest: its due time and sequence number.
    pub(crate) fn issue_waiting(&mut self, tally: &mut Tally) -> Option<(u64, u64)> {
        let due = self.waiting.pop_front()?;
        tally.pending -= 1;
        let sequence = self.issue(tally, due);
        if self.refused_waiting > 0 {
            self.refused_waiting -= 1;
            self.refused_to = sequence + 1;
        }
        Some((due, sequence))
    }

    /// Gives out the sequence number of a packet-in that is about to be written.
    pub(crate) fn issue(&mut self, tally: &mut Tally, due: u64) -> u64 {
        if tally.places >= tally.place_limit
            && let Some(forgotten) = self.ring.pop_front()
        {
            if forgotten.sent == NOT_SENT && !self.answered.get(self.base) {
                tally.pending -= 1;
            }
            self.base += 1;
            tally.places -= 1;
        }
        let sequence = self.next_sequence();
        if tally.window.contains(due) {
            if self.window_sequences.is_empty() {
                self.window_sequences.start = sequence;
            }
            self.window_sequences.end = sequence + 1;
        }
        self.ring.push_back(Place { due, sent: NOT_SENT });
        tally.places += 1;
        tally.pending += 1;
        self.in_loop += 1;
        sequence
    }

    /// The sequence number that [`SwitchLedger::issue`] gives out next.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// Notes that the connection refused to take more: whatever has not left by now is late, or
    /// never leaves, since the controller does not read, which is no fault of the probe.
    pub(crate) fn refuse(&mut self) {
        self.refused_waiting = self.waiting.len();
        self.refused_to = self.next_sequence();
    }

    /// Notes that a packet-in left.
    pub(crate) fn left(&mut self, tally: &mut Tally, sequence: u64, at: u64) {
        // One that was given up before is not counted twice.
        if self.answered.get(sequence) {
            return;
        }
        let held_back = sequence < self.refused_to;
        let Some(place) = self.place_mut(sequence) else { return };
        if place.sent != NOT_SENT {
            return;
        }
        place.sent = at;
        let due = place.due;
        self.left += 1;
        tally.pending -= 1;
        tally.outstanding += 1;
        tally.last_left = tally.last_left.max(Some(at));
        if tally.window.contains(due) {
            self.counts.sent += 1;
            self.hindered.held_back += u64::from(held_back);
            record(&mut tally.histograms.send_lag, at.saturating_sub(due));
        }
    }

    /// Notes that a packet-in that is due will never leave.
    pub(crate) fn withhold(&mut self, tally: &Tally, due: u64, hindrance: Hindrance) {
        if tally.window.contains(due) {
            match hindrance {
                Hindrance::NoConnection => self.hindered.cut_off += 1,
                Hindrance::Refused => self.hindered.refused += 1,
            }
        }
    }

    /// Notes that a packet-in was issued but will never leave, since its connection ended.
    pub(crate) fn abandon(&mut self, tally: &mut Tally, sequence: u64) {
        if let Some(due) = self.take_back(tally, sequence) {
            self.withhold(tally, due, Hindrance::NoConnection);
        }
    }

    /// Notes that the connection ended: nothing that waits for it will leave.
    pub(crate) fn cut_off(&mut self, tally: &mut Tally) {
        for due in std::mem::take(&mut self.waiting) {
            tally.pending -= 1;
            self.withhold(tally, due, Hindrance::NoConnection);
        }
        self.refused_waiting = 0;
        for sequence in self.base..self.next_sequence() {
            self.abandon(tally, sequence);
        }
    }

    /// Closes the books on what has not left: what was refused is told from what the probe did not
    /// get to.
    pub(crate) fn close(&mut self, tally: &mut Tally) {
        for (place, due) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            tally.pending -= 1;
            if place < self.refused_waiting {
                self.withhold(tally, due, Hindrance::Refused);
            }
        }
        self.refused_waiting = 0;
        for sequence in self.base..self.next_sequence() {
            if let Some(due) = self.take_back(tally, sequence)
                && sequence < self.refused_to
            {
                self.withhold(tally, due, Hindrance::Refused);
            }
        }
    }

    /// Takes back a packet-in that was issued and has not left; its due time, if there is one.
    fn take_back(&mut self, tally: &mut Tally, sequence: u64) -> Option<u64> {
        let place = self.place(sequence)?;
        if place.sent != NOT_SENT || self.answered.get(sequence) {
            return None;
        }
        self.answered.set(sequence);
        tally.pending -= 1;
        self.in_loop = self.in_loop.saturating_sub(1);
        self.forget_answered_front(tally);
        Some(place.due)
    }

    /// Notes that a packet became no packet-in, since the rules of the switch handled it.
    pub(crate) fn handled(&mut self, tally: &mut Tally, sequence: u64, forwarded: bool) {
        if self.window_sequences.contains(&sequence) {
            match forwarded {
                true => self.counts.forwarded_by_rules += 1,
                false => self.counts.dropped_by_rules += 1,
            }
        }
        self.take_back(tally, sequence);
    }

    /// Counts packet-ins that left without being remembered one by one.
    pub(crate) fn flood_left(&mut self, tally: &mut Tally, count: u64, at: u64) {
        self.left += count;
        tally.outstanding += count;
        if count > 0 {
            tally.last_left = tally.last_left.max(Some(at));
        }
        let in_window = tally.window.contains(at);
        if in_window {
            self.counts.due += count;
            self.counts.sent += count;
        }
    }

    /// Counts answers that are not matched to anything. No more can be outstanding than left.
    pub(crate) fn flood_answered(&mut self, tally: &mut Tally, count: u64, at: u64) {
        let answers = count.min(self.outstanding());
        self.first_answers += answers;
        tally.outstanding -= answers;
        if tally.window.contains(at) {
            self.counts.answered += count;
            self.counts.packet_outs += count;
            self.answers_in_window += count;
        }
    }

    /// Notes that an answer arrived.
    pub(crate) fn answer(&mut self, tally: &mut Tally, sequence: u64, at: u64) -> Answer {
        if sequence >= self.next_sequence() {
            return Answer::Unmatched;
        }
        let place = self.place(sequence);
        if place.is_some_and(|place| place.sent == NOT_SENT) {
            return Answer::Unmatched;
        }
        if self.answered.get(sequence) {
            if self.window_sequences.contains(&sequence) {
                self.counts.duplicated += 1;
            }
            return Answer::Duplicate;
        }
        self.answered.set(sequence);
        self.first_answers += 1;
        tally.outstanding -= 1;
        tally.last_answer = tally.last_answer.max(Some(at));
        tally.answered_up_to = tally.answered_up_to.max(place.map(|place| place.sent));
        self.answers_in_window += u64::from(tally.window.contains(at));
        if self.window_sequences.contains(&sequence) {
            self.counts.answered += 1;
            match place {
                Some(place) => self.record_times(tally, place, at),
                None => {
                    self.counts.late += 1;
                    self.counts.untimed += 1;
                }
            }
        }
        self.forget_answered_front(tally);
        let frees_place = sequence >= self.given_up;
        if frees_place {
            self.in_loop = self.in_loop.saturating_sub(1);
        } else {
            self.written_off = self.written_off.saturating_sub(1);
        }
        Answer::First { frees_place }
    }

    /// Notes an answer to the oldest packet-in without one, and says which that was.
    pub(crate) fn answer_oldest(&mut self, tally: &mut Tally, at: u64) -> (Answer, Option<u64>) {
        let oldest = self.base;
        match self.ring.front() {
            Some(place) if place.sent != NOT_SENT => (self.answer(tally, oldest, at), Some(oldest)),
            _ => (Answer::Unmatched, None),
        }
    }

    /// Frees the places in the closed loop of packet-ins that left before `before` and were not
    /// answered; returns how many. They count as lost unless an answer comes after all.
    pub(crate) fn give_up(&mut self, before: u64) -> u32 {
        let mut freed = 0;
        while let Some(place) = self.place(self.given_up.max(self.base)) {
            if place.sent == NOT_SENT || place.sent >= before {
                break;
            }
            let sequence = self.given_up.max(self.base);
            if !self.answered.get(sequence) {
                freed += 1;
            }
            self.given_up = sequence + 1;
        }
        self.in_loop = self.in_loop.saturating_sub(freed);
        self.written_off += u64::from(freed);
        freed
    }

    /// Packet-ins issued and neither answered nor given up.
    pub(crate) fn in_loop(&self) -> u32 {
        self.in_loop
    }

    /// Packet-ins that left, have no answer, and were not given up: a closed loop never has more
    /// than its window allows.
    pub(crate) fn outstanding(&self) -> u64 {
        self.left - self.first_answers - self.written_off
    }

    /// First answers over the whole trial.
    pub(crate) fn total_answered(&self) -> u64 {
        self.first_answers
    }

    /// What held packet-ins of the window up.
    pub(crate) fn hindered(&self) -> Hindered {
        self.hindered
    }

    /// Packet-ins that left after `departure`: how many, and departure and sequence number of the
    /// first. None of them was answered if no later one than `departure` was.
    pub(crate) fn left_after(&self, departure: u64) -> (u64, Option<(u64, u64)>) {
        let (mut count, mut first) = (0, None);
        for (index, place) in self.ring.iter().enumerate().rev() {
            if place.sent == NOT_SENT {
                continue;
            }
            if place.sent <= departure {
                break;
            }
            count += 1;
            first = Some((place.sent, self.base + index as u64));
        }
        (count, first)
    }

    /// Reconstructs a sequence number from its low `bits` bits, as carried in a transaction id or
    /// a buffer id: the latest one issued that has them.
    pub(crate) fn widen(&self, low: u32, bits: u32) -> Option<u64> {
        let span = 1u64 << bits;
        let last = self.next_sequence().checked_sub(1)?;
        let candidate = (last & !(span - 1)) | u64::from(low);
        if candidate <= last { Some(candidate) } else { candidate.checked_sub(span) }
    }

    /// The counts so far; `lost` and `unsent` are what is missing now.
    pub(crate) fn counts(&self) -> Counts {
        let counts = self.counts;
        let became = counts.sent + counts.handled_by_rules();
        Counts {
            lost: counts.sent.saturating_sub(counts.answered),
            unsent: counts.due.saturating_sub(became),
            ..counts
        }
    }

    /// First answers that arrived during the window, whenever their packet-in was due.
    pub(crate) fn answers_in_window(&self) -> u64 {
        self.answers_in_window
    }

    /// Counts that the engine keeps beside those of the ledger.
    pub(crate) fn counts_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }

    /// Mean and largest round-trip time from due, in nanoseconds.
    pub(crate) fn rtt(&self) -> Option<(f64, u64)> {
        (self.rtt_samples > 0)
            .then(|| (self.rtt_sum as f64 / self.rtt_samples as f64, self.rtt_max))
    }

    fn record_times(&mut self, tally: &mut Tally, place: Place, at: u64) {
        let from_due = at.saturating_sub(place.due);
        record(&mut tally.histograms.rtt_from_due, from_due);
        record(&mut tally.histograms.rtt_from_sent, at.saturating_sub(place.sent));
        self.rtt_sum += u128::from(from_due);
        self.rtt_samples += 1;
        self.rtt_max = self.rtt_max.max(from_due);
        if from_due > tally.late_after {
            self.counts.late += 1;
        }
    }

    fn place(&self, sequence: u64) -> Option<Place> {
        let index = sequence.checked_sub(self.base)?;
        self.ring.get(usize::try_from(index).ok()?).copied()
    }

    fn place_mut(&mut self, sequence: u64) -> Option<&mut Place> {
        let index = sequence.checked_sub(self.base)?;
        self.ring.get_mut(usize::try_from(index).ok()?)
    }

    fn forget_answered_front(&mut self, tally: &mut Tally) {
        while !self.ring.is_empty() && self.answered.get(self.base) {
            self.ring.pop_front();
            self.base += 1;
            tally.places -= 1;
        }
    }
}

fn record(histogram: &mut hdrhistogram::Histogram<u64>, value: u64) {
    // The histogram grows with the values, so that only the allocator could refuse. It cannot hold
    // zero apart from the smallest bucket, hence the least time is a nanosecond.
    let recorded = histogram.record(value.max(1));
    debug_assert!(recorded.is_ok(), "{recorded:?}");
}

/// A growing vector of bits.
#[derive(Clone, Debug, Default)]
struct BitVector {
    words: Vec<u64>,
}

impl BitVector {
    fn get(&self, index: u64) -> bool {
        let (word, bit) = Self::split(index);
        self.words.get(word).is_some_and(|word| word >> bit & 1 == 1)
    }

    fn set(&mut self, index: u64) {
        let (word, bit) = Self::split(index);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    fn split(index: u64) -> (usize, u32) {
        ((index / 64) as usize, (index % 64) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        Tally::new(Window { from: 100, to: 200 }, 50, 1000)
    }

    fn send(ledger: &mut SwitchLedger, tally: &mut Tally, due: u64, sent: u64) -> u64 {
        ledger.due(tally, due);
        let sequence = ledger.issue(tally, due);
        ledger.left(tally, sequence, sent);
        sequence
    }

    #[test]
    fn only_the_window_counts() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        for due in [50, 99, 100, 199, 200] {
            let sequence = send(&mut ledger, &mut tally, due, due + 1);
            assert_eq!(
                ledger.answer(&mut tally, sequence, due + 11),
                Answer::First { frees_place: true }
            );
        }
        let counts = ledger.counts();
        assert_eq!((counts.due, counts.sent, counts.answered, counts.lost), (2, 2, 2, 0));
        assert_eq!(tally.histograms.rtt_from_due.len(), 2);
        assert_eq!(tally.histograms.rtt_from_due.max(), 11);
        assert_eq!(tally.histograms.rtt_from_sent.max(), 10);
        assert_eq!((ledger.total_answered(), ledger.outstanding()), (5, 0));
    }

    #[test]
    fn times_of_seconds_are_recorded_as_they_are() {
        const SECOND: u64 = 1_000_000_000;
        let mut tally = Tally::new(Window { from: 0, to: SECOND }, SECOND, 10);
        let mut ledger = SwitchLedger::default();
        let sequence = send(&mut ledger, &mut tally, 0, SECOND);
        ledger.answer(&mut tally, sequence, 20 * SECOND);
        for (histogram, expected) in [
            (&tally.histograms.send_lag, SECOND),
            (&tally.histograms.rtt_from_due, 20 * SECOND),
            (&tally.histograms.rtt_from_sent, 19 * SECOND),
        ] {
            let error = histogram.max().abs_diff(expected) as f64 / expected as f64;
            assert!(error < 0.001, "{} instead of {expected}", histogram.max());
        }
    }

    #[test]
    fn lost_late_duplicated_and_unmatched_are_told_apart() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        let lost = send(&mut ledger, &mut tally, 100, 100);
        let late = send(&mut ledger, &mut tally, 101, 101);
        let twice = send(&mut ledger, &mut tally, 102, 102);
        ledger.answer(&mut tally, twice, 110);
        assert_eq!(ledger.answer(&mut tally, twice, 111), Answer::Duplicate);
        assert_eq!(ledger.answer(&mut tally, late, 152), Answer::First { frees_place: true });
        assert_eq!(ledger.answer(&mut tally, 77, 153), Answer::Unmatched);
        let counts = ledger.counts();
        assert_eq!((counts.lost, counts.late, counts.duplicated), (1, 1, 1));
        assert_eq!(ledger.outstanding(), 1);
        assert!(ledger.place(lost).is_some());
    }

    #[test]
    fn an_answer_before_its_packet_in_left_is_unmatched() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        let sequence = ledger.issue(&mut tally, 100);
        assert_eq!(ledger.answer(&mut tally, sequence, 120), Answer::Unmatched);
    }

    #[test]
    fn what_never_left_neither_blocks_the_ring_nor_the_loop() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        let stuck = ledger.issue(&mut tally, 100);
        let sent = send(&mut ledger, &mut tally, 101, 101);
        ledger.answer(&mut tally, sent, 105);
        ledger.abandon(&mut tally, stuck);
        assert_eq!((ledger.in_loop(), ledger.outstanding(), tally.places), (0, 0, 0));
        assert_eq!(ledger.counts().lost, 0);
    }

    #[test]
    fn what_rules_handle_is_neither_sent_nor_lost_nor_outstanding() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        for (due, forwarded) in [(50, true), (100, true), (101, true), (102, false)] {
            ledger.due(&tally, due);
            let sequence = ledger.issue(&mut tally, due);
            ledger.handled(&mut tally, sequence, forwarded);
            assert_eq!(ledger.answer(&mut tally, sequence, 110), Answer::Duplicate);
        }
        let sent = send(&mut ledger, &mut tally, 103, 103);
        ledger.answer(&mut tally, sent, 110);
        let counts = ledger.counts();
        assert_eq!((counts.forwarded_by_rules, counts.dropped_by_rules), (2, 1));
        assert_eq!((counts.due, counts.sent, counts.answered, counts.lost), (4, 1, 1, 0));
        assert_eq!((counts.handled_by_rules(), counts.unsent), (3, 0));
        assert_eq!((ledger.in_loop(), ledger.outstanding(), tally.places), (0, 0, 0));
    }

    #[test]
    fn forgotten_times_are_reported_and_answers_still_counted() {
        let mut tally = Tally::new(Window { from: 0, to: 1000 }, 50, 2);
        let mut ledger = SwitchLedger::default();
        let first = send(&mut ledger, &mut tally, 1, 1);
        for due in 2..5 {
            send(&mut ledger, &mut tally, due, due);
        }
        assert_eq!(ledger.answer(&mut tally, first, 9), Answer::First { frees_place: true });
        assert_eq!(ledger.answer(&mut tally, first, 10), Answer::Duplicate);
        let counts = ledger.counts();
        assert_eq!((counts.answered, counts.untimed, counts.duplicated), (1, 1, 1));
        assert_eq!(tally.histograms.rtt_from_due.len(), 0);
        assert_eq!(ledger.outstanding(), 3);
    }

    #[test]
    fn what_the_connection_refused_is_held_back_and_nothing_else() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        send(&mut ledger, &mut tally, 100, 100);
        // It waits in a buffer of ours behind a reply, and leaves with it.
        let behind = ledger.issue(&mut tally, 101);
        ledger.left(&mut tally, behind, 150);
        assert_eq!(ledger.hindered(), Hindered::default());
        let written = ledger.issue(&mut tally, 102);
        ledger.wait(&mut tally, 103);
        ledger.refuse();
        ledger.wait(&mut tally, 104);
        ledger.left(&mut tally, written, 160);
        let (due, refused) = ledger.issue_waiting(&mut tally).expect("one waits");
        ledger.left(&mut tally, refused, 160);
        assert_eq!((due, ledger.hindered().held_back), (103, 2));
        let (due, later) = ledger.issue_waiting(&mut tally).expect("one waits");
        ledger.left(&mut tally, later, 160);
        assert_eq!((due, ledger.hindered().held_back), (104, 2));
        assert_eq!(ledger.issue_waiting(&mut tally), None);
    }

    #[test]
    fn everything_due_is_accounted_for() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        for due in 95..105 {
            ledger.due(&tally, due);
            ledger.withhold(&tally, due, Hindrance::NoConnection);
        }
        for due in 105..125 {
            ledger.due(&tally, due);
            ledger.wait(&mut tally, due);
        }
        // Four left, one waits in a buffer, the rest to be issued, when the connection ends.
        let issued: Vec<_> = (0..5).filter_map(|_| ledger.issue_waiting(&mut tally)).collect();
        for (due, sequence) in &issued[..4] {
            ledger.left(&mut tally, *sequence, due + 1);
        }
        ledger.cut_off(&mut tally);
        assert_eq!((tally.pending(), tally.outstanding(), ledger.waiting()), (0, 4, 0));
        for due in 125..135 {
            ledger.due(&tally, due);
            ledger.wait(&mut tally, due);
        }
        // Three are refused, of which one was issued; seven are due later.
        ledger.issue_waiting(&mut tally);
        ledger.refused_waiting = 2;
        ledger.refused_to = ledger.next_sequence();
        ledger.close(&mut tally);
        let counts = ledger.counts();
        assert_eq!((counts.due, counts.sent, counts.unsent), (35, 4, 31));
        assert_eq!(ledger.hindered(), Hindered { held_back: 0, refused: 3, cut_off: 21 });
        assert_eq!((tally.pending(), ledger.in_loop()), (0, 4));
        // What a stream still held when it was given up does not count when it leaves after all.
        ledger.left(&mut tally, issued[4].1, 140);
        assert_eq!(ledger.counts(), counts);
    }

    #[test]
    fn the_unanswered_end_of_a_trial_is_found() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        for due in 100..110 {
            let sequence = send(&mut ledger, &mut tally, due, due);
            if due < 106 && due != 103 {
                ledger.answer(&mut tally, sequence, due + 5);
            }
        }
        assert_eq!((tally.answered_up_to(), tally.last_answer()), (Some(105), Some(110)));
        assert_eq!(ledger.left_after(105), (4, Some((106, 6))));
        assert_eq!(ledger.left_after(109), (0, None));
    }

    #[test]
    fn giving_up_frees_places_once() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        let first = send(&mut ledger, &mut tally, 100, 100);
        let second = send(&mut ledger, &mut tally, 101, 101);
        ledger.answer(&mut tally, second, 105);
        send(&mut ledger, &mut tally, 130, 130);
        assert_eq!((ledger.in_loop(), ledger.outstanding()), (2, 2));
        assert_eq!(ledger.give_up(120), 1);
        assert_eq!(ledger.give_up(120), 0);
        assert_eq!((ledger.in_loop(), ledger.outstanding()), (1, 1));
        assert_eq!(ledger.answer(&mut tally, first, 140), Answer::First { frees_place: false });
        assert_eq!((ledger.in_loop(), ledger.outstanding()), (1, 1));
        assert_eq!(ledger.counts().lost, 1);
    }

    #[test]
    fn sequence_numbers_are_widened_to_the_latest_issued() {
        let mut tally = Tally::new(Window { from: 0, to: 1 }, 1, 10);
        let mut ledger = SwitchLedger::default();
        assert_eq!(ledger.widen(0, 3), None);
        for due in 0..21 {
            send(&mut ledger, &mut tally, due, due);
        }
        assert_eq!(ledger.widen(4, 3), Some(20));
        assert_eq!(ledger.widen(5, 3), Some(13));
        assert_eq!(ledger.widen(0, 3), Some(16));
    }

    #[test]
    fn in_order_matching_takes_the_oldest() {
        let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
        assert_eq!(ledger.answer_oldest(&mut tally, 99), (Answer::Unmatched, None));
        send(&mut ledger, &mut tally, 100, 100);
        send(&mut ledger, &mut tally, 101, 101);
        assert_eq!(ledger.answer_oldest(&mut tally, 110).1, Some(0));
        assert_eq!(ledger.answer_oldest(&mut tally, 111).1, Some(1));
        assert_eq!(ledger.answer_oldest(&mut tally, 112), (Answer::Unmatched, None));
    }
}
