//! Which packet-ins left, which were answered, and how long that took.
//!
//! One [`SwitchLedger`] per emulated switch issues sequence numbers and remembers the times of
//! each packet-in in a ring whose front is the oldest one without an answer. One bit per packet-in
//! remembers for the whole trial whether it was answered, so that duplicates, late answers and
//! losses are told apart exactly even when the ring had to let go of the times. What is due and
//! cannot leave yet waits here as well, so that every packet-in that was ever due is accounted for:
//! it left, was handled by rules, or is unsent for a reason. All times are nanoseconds since the
//! start of traffic; no clock is read here.

mod tally;

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(crate) use tally::{LATE, Tally};

use crate::outcome::Counts;

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
    /// Packet-ins of the window that were answered more than once.
    #[serde(skip)]
    repeated: BitVector,
    given_up: u64,
    /// Packet-ins that were given up and have no answer to this day.
    written_off: u64,
    /// Packet-ins that left, and first answers to them, over the whole trial.
    left: u64,
    first_answers: u64,
    /// Packet-ins issued that have not left and may still do so.
    unleft: u64,
    /// Packet-ins that wait, or are issued and have not left, since the connection refused them.
    refused_pending: u64,
    /// One past the highest sequence number that was answered.
    answered_to: u64,
    /// Packet-ins in the closed loop: issued, neither answered nor given up.
    in_loop: u32,
    counts: Counts,
    /// Packet-ins due in the window; their sequence numbers follow each other.
    window_sequences: Range<u64>,
    in_window: InWindow,
    rtt_sum: u128,
    rtt_samples: u64,
    rtt_max: u64,
    hindered: Hindered,
}

/// Packet-ins that left, and first answers that arrived, during the window, whenever their
/// packet-in was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InWindow {
    pub(crate) left: u64,
    pub(crate) answers: u64,
    /// The number of answers whose packet-in was due before the window.
    pub(crate) answers_to_earlier: u64,
}

impl SwitchLedger {
    /// Notes that a packet-in is due, whether or not it can leave.
    pub(crate) fn due(&mut self, tally: &mut Tally, at: u64) {
        tally.intervals.at(at).due += 1;
        if tally.window.contains(at) {
            self.counts.due += 1;
        }
    }

    /// Lets a packet-in that is due wait until it can be issued.
    pub(crate) fn wait(&mut self, tally: &mut Tally, due: u64) {
        self.waiting.push_back(due);
        tally.pending += 1;
        tally.note_refused(due);
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
                self.unleft -= 1;
                if self.base < self.refused_to {
                    self.forget_refused(tally, 1);
                }
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
        self.unleft += 1;
        self.in_loop += 1;
        sequence
    }

    /// The sequence number that [`SwitchLedger::issue`] gives out next.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// Notes that the connection refused to take more: whatever has not left by now is late, or
    /// never leaves, since the controller does not read, which is no fault of the probe.
    pub(crate) fn refuse(&mut self, tally: &mut Tally) {
        self.refused_waiting = self.waiting.len();
        self.refused_to = self.next_sequence();
        let refused = self.waiting.len() as u64 + self.unleft;
        tally.refused += refused - self.refused_pending;
        self.refused_pending = refused;
    }

    /// Notes that packet-ins which the connection had refused no longer wait.
    fn forget_refused(&mut self, tally: &mut Tally, count: u64) {
        let count = count.min(self.refused_pending);
        self.refused_pending -= count;
        tally.refused -= count;
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
        self.unleft -= 1;
        if held_back {
            self.forget_refused(tally, 1);
        }
        tally.pending -= 1;
        tally.outstanding += 1;
        tally.last_left = tally.last_left.max(Some(at));
        tally.note_departure(due, at, held_back);
        self.in_window.left += u64::from(tally.window.contains(at));
        if tally.window.contains(due) {
            self.counts.sent += 1;
            self.hindered.held_back += u64::from(held_back);
            record(&mut tally.histograms.send_lag, at.saturating_sub(due));
        }
    }

    /// Notes that a packet-in that is due will never leave.
    pub(crate) fn withhold(&mut self, tally: &mut Tally, due: u64, hindrance: Hindrance) {
        if hindrance == Hindrance::NoConnection {
            tally.intervals.at(due).cut_off += 1;
        }
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
        let refused = std::mem::take(&mut self.refused_waiting);
        self.forget_refused(tally, refused as u64);
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
        let refused = std::mem::take(&mut self.refused_waiting);
        self.forget_refused(tally, refused as u64);
        for sequence in self.base..self.next_sequence() {
            if let Some(due) = self.take_back(tally, sequence)
                && sequence < self.refused_to
            {
                self.withhold(tally, due, Hindrance::Refused);
            }
        }
        // What never left counts as answered by now, so that what is not was passed over.
        let Range { start, end } = self.window_sequences;
        let passed = (start..end.min(self.answered_to)).filter(|one| !self.answered.get(*one));
        self.counts.passed_over = passed.count() as u64;
    }

    /// Takes back a packet-in that was issued and has not left; its due time, if there is one.
    fn take_back(&mut self, tally: &mut Tally, sequence: u64) -> Option<u64> {
        let place = self.place(sequence)?;
        if place.sent != NOT_SENT || self.answered.get(sequence) {
            return None;
        }
        self.answered.set(sequence);
        tally.pending -= 1;
        self.unleft -= 1;
        if sequence < self.refused_to {
            self.forget_refused(tally, 1);
        }
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
        if let Some(due) = self.take_back(tally, sequence) {
            tally.intervals.at(due).handled += 1;
        }
    }

    /// Counts packet-ins that left without being remembered one by one.
    pub(crate) fn flood_left(&mut self, tally: &mut Tally, count: u64, at: u64) {
        self.left += count;
        tally.outstanding += count;
        if count > 0 {
            tally.last_left = tally.last_left.max(Some(at));
        }
        if tally.window.contains(at) {
            self.counts.due += count;
            self.counts.sent += count;
            self.in_window.left += count;
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
            self.in_window.answers += count;
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
                let place = sequence - self.window_sequences.start;
                self.counts.repeated += u64::from(!self.repeated.get(place));
                self.repeated.set(place);
            }
            return Answer::Duplicate;
        }
        let passed_over = self.pass_over(sequence);
        self.answered.set(sequence);
        self.first_answers += 1;
        tally.outstanding -= 1;
        tally.note_answer(place.map(|place| place.sent), passed_over, at);
        if tally.window.contains(at) {
            self.in_window.answers += 1;
            // Those due after the window have not left, so that what is not of it was due before.
            let earlier = !self.window_sequences.contains(&sequence);
            self.in_window.answers_to_earlier += u64::from(earlier);
            if let (Some(place), true) = (place, earlier) {
                record(&mut tally.histograms.rtt_in_window, at.saturating_sub(place.sent));
            }
        }
        if self.window_sequences.contains(&sequence) {
            self.counts.answered += 1;
            let after = at >= tally.window.to;
            self.counts.answered_after += u64::from(after);
            match place {
                Some(place) => {
                    self.record_times(tally, place, at);
                    if after {
                        record(&mut tally.answered_after, at.saturating_sub(place.sent));
                    }
                }
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

    /// Notes that a packet-in is about to be answered, and returns by how many the number of those
    /// rises that were passed over: they have no answer, and a later one has. It falls by one where
    /// the packet-in had been passed over itself.
    fn pass_over(&mut self, sequence: u64) -> i64 {
        if sequence < self.answered_to {
            return -1;
        }
        let between = self.answered_to..sequence;
        self.answered_to = sequence + 1;
        between.filter(|passed| !self.answered.get(*passed)).count() as i64
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
        let lost = counts.sent.saturating_sub(counts.answered);
        let passed_over = counts.passed_over.min(lost);
        Counts {
            lost,
            unsent: counts.due.saturating_sub(became),
            passed_over,
            waiting: lost - passed_over,
            ..counts
        }
    }

    /// Returns the counts of what left and was answered during the window, whenever it was due.
    pub(crate) fn in_window(&self) -> InWindow {
        self.in_window
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
        tally.note_undisturbed(place.sent, at);
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
mod tests;
