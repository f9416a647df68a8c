//! The record of one switch's packet-ins: which of them were sent, which were answered, and how
//! long the answers took.
//!
//! A packet-in is *due* at the moment at which the schedule plans to send it. It is *issued* when
//! it gets a sequence number and is handed to its connection, and is *sent* when its last byte is
//! written to the socket. Each emulated switch has one [`SwitchLedger`], which issues sequence
//! numbers. It keeps the times of packet-ins in a ring buffer, whose front is the oldest packet-in
//! without an answer. It also keeps one bit per packet-in for the whole trial, which says whether
//! the packet-in was answered. Duplicates, late answers and losses are therefore distinguished
//! exactly, even if the ring buffer had to discard the times.
//!
//! Packet-ins that are due and cannot be sent yet wait here as well, so that every packet-in that
//! was ever due is accounted for: it was sent, was handled by flow rules, or is unsent for a known
//! reason. Times are nanoseconds since the start of traffic. The caller passes them, and this
//! module reads no clock.

mod tally;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(crate) use tally::{LATE, Tally};

use crate::outcome::Counts;

/// The measured part of a trial. A packet-in belongs to it if it is due at `from` or later, and
/// before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// The first nanosecond of the window.
    pub(crate) from: u64,
    /// The first nanosecond after the window.
    pub(crate) to: u64,
}

impl Window {
    /// Returns whether a time lies in the window.
    pub(crate) fn contains(&self, at: u64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// The kind of an answer that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The answer is the first one to its packet-in.
    First {
        /// Whether the packet-in still counted as unanswered in a closed loop. The answer then lets
        /// the loop send another one.
        frees_place: bool,
    },
    /// The packet-in had already been answered.
    Duplicate,
    /// No packet-in with the answer's sequence number has been sent.
    Unmatched,
}

/// The reason why a due packet-in was never sent, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// The switch had no connection, or lost its connection before the packet-in was written.
    NoConnection,
    /// The connection accepted no more data until the end of the trial.
    Refused,
}

/// The number of packet-ins due in the window that were sent late or never, by reason. If an unsent
/// packet-in is not counted here, the probe had no time to send it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hindered {
    /// The number of packet-ins that were sent late because their connection accepted no more data
    /// at first.
    pub(crate) held_back: u64,
    /// The number of packet-ins that were never sent because their connection accepted no more data
    /// until the end of the trial.
    pub(crate) refused: u64,
    /// The number of packet-ins that were never sent because their switch had no connection.
    pub(crate) cut_off: u64,
}

/// The time at which a packet-in was due and the time at which it was sent, as kept in the ring
/// buffer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct PacketTimes {
    due: u64,
    sent: u64,
}

/// The value of `PacketTimes::sent` for a packet-in that has not been sent yet.
const NOT_SENT: u64 = u64::MAX;

/// The record of one switch's packet-ins. The module documentation explains its states.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SwitchLedger {
    /// The due times of packet-ins that are not issued yet. The first `refused_waiting` of them
    /// were already waiting when the connection last refused data.
    waiting: VecDeque<u64>,
    refused_waiting: usize,
    /// All packet-ins with a lower sequence number that have not been sent were refused by the
    /// connection.
    refused_to: u64,
    /// The times of the packet-ins with the sequence numbers `base..base + ring.len()`.
    ring: VecDeque<PacketTimes>,
    base: u64,
    /// The due times of packet-ins below `base` that were issued and may still be sent, by sequence
    /// number. A full ring buffer discards the times of its oldest packet-in even if that packet-in
    /// waits in its connection. This map is then needed, because an answer must not be matched to a
    /// packet-in before it is sent.
    unsent_below: BTreeMap<u64, u64>,
    /// A lower bound on the sequence number of the oldest packet-in without an answer.
    oldest_from: u64,
    /// Whether each packet-in was answered, by sequence number. The bits are not serialised,
    /// because they are many and no longer needed once the record is closed.
    #[serde(skip)]
    answered: BitVector,
    /// Whether each packet-in that was due in the window was answered more than once.
    #[serde(skip)]
    repeated: BitVector,
    /// The sequence number below which all packet-ins of a closed loop were answered or are no
    /// longer waited for (given up).
    given_up: u64,
    /// The number of packet-ins of a closed loop that are no longer waited for (given up) and still
    /// have no answer.
    written_off: u64,
    /// The number of packet-ins that were sent (`left`), and the number that were answered
    /// (`first_answers`), over the whole trial.
    left: u64,
    first_answers: u64,
    /// The number of packet-ins that were issued, have not been sent and may still be sent.
    unleft: u64,
    /// The number of packet-ins, issued or waiting, that have not been sent because their
    /// connection refused them.
    refused_pending: u64,
    /// The highest sequence number that was answered, plus one.
    answered_to: u64,
    /// The number of packet-ins of a closed loop that count as unanswered: they were issued, and
    /// were neither answered nor given up.
    in_loop: u32,
    counts: Counts,
    /// The sequence numbers of the packet-ins that were due in the window, which are consecutive.
    window_sequences: Range<u64>,
    in_window: InWindow,
    rtt_sum: u128,
    rtt_samples: u64,
    rtt_max: u64,
    hindered: Hindered,
}

/// The number of packet-ins that were sent during the window, and the number whose first answer
/// arrived during the window, whenever they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InWindow {
    pub(crate) left: u64,
    pub(crate) answers: u64,
    /// The number of answers in the window whose packet-in was due before the window.
    pub(crate) answers_to_earlier: u64,
}

impl SwitchLedger {
    /// Counts a packet-in that is due, whether or not it can be sent.
    pub(crate) fn due(&mut self, tally: &mut Tally, at: u64) {
        tally.intervals.at(at).due += 1;
        if tally.window.contains(at) {
            self.counts.due += 1;
        }
    }

    /// Adds a due packet-in to those that wait to be issued.
    pub(crate) fn wait(&mut self, tally: &mut Tally, due: u64) {
        self.waiting.push_back(due);
        tally.pending += 1;
        tally.note_refused(due);
    }

    /// Returns the number of packet-ins that are due and not yet issued.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Issues the packet-in that has waited longest, and returns its due time and sequence number.
    /// Returns `None` if none waits.
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

    /// Assigns the next sequence number to a packet-in that is about to be written to its
    /// connection, and returns the number.
    pub(crate) fn issue(&mut self, tally: &mut Tally, due: u64) -> u64 {
        if tally.places >= tally.place_limit
            && let Some(forgotten) = self.ring.pop_front()
        {
            if forgotten.sent == NOT_SENT && !self.answered.get(self.base) {
                self.unsent_below.insert(self.base, forgotten.due);
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
        self.ring.push_back(PacketTimes { due, sent: NOT_SENT });
        tally.places += 1;
        tally.pending += 1;
        self.unleft += 1;
        self.in_loop += 1;
        sequence
    }

    /// Returns the sequence number that the next call of [`SwitchLedger::issue`] assigns.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// Records that the connection accepts no more data. All packet-ins that have not been sent by
    /// now will be sent late or never, because the controller does not read and not because of the
    /// probe.
    pub(crate) fn refuse(&mut self, tally: &mut Tally) {
        self.refused_waiting = self.waiting.len();
        self.refused_to = self.next_sequence();
        let refused = self.waiting.len() as u64 + self.unleft;
        tally.refused += refused - self.refused_pending;
        self.refused_pending = refused;
    }

    /// Records that `count` packet-ins that the connection had refused no longer wait for it.
    fn forget_refused(&mut self, tally: &mut Tally, count: u64) {
        let count = count.min(self.refused_pending);
        self.refused_pending -= count;
        tally.refused -= count;
    }

    /// Records that a packet-in was sent at the time `at`.
    pub(crate) fn left(&mut self, tally: &mut Tally, sequence: u64, at: u64) {
        // A packet-in that was taken back or answered must not be counted twice.
        if self.answered.get(sequence) {
            return;
        }
        let Some(due) = self.unsent(sequence) else { return };
        let held_back = sequence < self.refused_to;
        match self.place_mut(sequence) {
            Some(place) => place.sent = at,
            None => {
                self.unsent_below.remove(&sequence);
            }
        }
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

    /// Records that a due packet-in will never be sent, and the reason.
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

    /// Records that a packet-in that was issued will never be sent, since its connection has ended.
    pub(crate) fn abandon(&mut self, tally: &mut Tally, sequence: u64) {
        if let Some(due) = self.take_back(tally, sequence) {
            self.withhold(tally, due, Hindrance::NoConnection);
        }
    }

    /// Records that the connection has ended, so that no packet-in that waits for it will be sent.
    pub(crate) fn cut_off(&mut self, tally: &mut Tally) {
        for due in std::mem::take(&mut self.waiting) {
            tally.pending -= 1;
            self.withhold(tally, due, Hindrance::NoConnection);
        }
        let refused = std::mem::take(&mut self.refused_waiting);
        self.forget_refused(tally, refused as u64);
        for sequence in self.issued() {
            self.abandon(tally, sequence);
        }
    }

    /// Closes the record at the end of a trial. The packet-ins that have not been sent are counted
    /// by reason: either their connection refused them, or the probe had no time to send them.
    pub(crate) fn close(&mut self, tally: &mut Tally) {
        for (place, due) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            tally.pending -= 1;
            if place < self.refused_waiting {
                self.withhold(tally, due, Hindrance::Refused);
            }
        }
        let refused = std::mem::take(&mut self.refused_waiting);
        self.forget_refused(tally, refused as u64);
        for sequence in self.issued() {
            if let Some(due) = self.take_back(tally, sequence)
                && sequence < self.refused_to
            {
                self.withhold(tally, due, Hindrance::Refused);
            }
        }
        // Packet-ins that never left are marked as answered by now, so that each unmarked one left
        // and was passed over.
        let Range { start, end } = self.window_sequences;
        let passed = (start..end.min(self.answered_to)).filter(|one| !self.answered.get(*one));
        self.counts.passed_over = passed.count() as u64;
    }

    /// Revokes a packet-in that was issued and has not been sent. The packet-in is marked as
    /// answered, so that it is no longer waited for. Returns its due time, or `None` if there is no
    /// such packet-in.
    fn take_back(&mut self, tally: &mut Tally, sequence: u64) -> Option<u64> {
        let due = self.unsent(sequence).filter(|_| !self.answered.get(sequence))?;
        self.unsent_below.remove(&sequence);
        self.answered.set(sequence);
        tally.pending -= 1;
        self.unleft -= 1;
        if sequence < self.refused_to {
            self.forget_refused(tally, 1);
        }
        self.in_loop = self.in_loop.saturating_sub(1);
        self.forget_answered_front(tally);
        Some(due)
    }

    /// Records that flow rules of the switch handled a packet, so that it caused no packet-in.
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

    /// Counts packet-ins of a flood that were sent. Their times are not remembered individually.
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

    /// Counts answers to a flood, which are not matched to packet-ins. If more answers arrive than
    /// there are unanswered packet-ins, the counts of the window still include all of the answers.
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

    /// Records an answer to the packet-in `sequence`, and classifies it.
    pub(crate) fn answer(&mut self, tally: &mut Tally, sequence: u64, at: u64) -> Answer {
        if sequence >= self.next_sequence() {
            return Answer::Unmatched;
        }
        if self.unsent(sequence).is_some() {
            return Answer::Unmatched;
        }
        let place = self.place(sequence);
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
            // A packet-in that was due after the window cannot have been answered yet, so one
            // outside the window was due before it.
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

    /// Records that a packet-in is about to be answered, and returns the change in the number of
    /// passed-over packet-ins. A packet-in is passed over if it has no answer and a later one has.
    /// The change is negative only if the answered packet-in itself had been passed over.
    fn pass_over(&mut self, sequence: u64) -> i64 {
        if sequence < self.answered_to {
            return -1;
        }
        let between = self.answered_to..sequence;
        self.answered_to = sequence + 1;
        between.filter(|passed| !self.answered.get(*passed)).count() as i64
    }

    /// Records an answer that does not identify its packet-in. It is matched to the oldest
    /// packet-in without an answer, whose sequence number is returned.
    pub(crate) fn answer_oldest(&mut self, tally: &mut Tally, at: u64) -> (Answer, Option<u64>) {
        let candidates = self.oldest_from..self.next_sequence();
        let Some(oldest) = candidates.into_iter().find(|one| !self.answered.get(*one)) else {
            return (Answer::Unmatched, None);
        };
        self.oldest_from = oldest;
        match self.answer(tally, oldest, at) {
            Answer::Unmatched => (Answer::Unmatched, None),
            answer => (answer, Some(oldest)),
        }
    }

    /// Stops waiting for packet-ins of a closed loop that were sent before `before` and were not
    /// answered, so that others can be sent, and returns their number. They count as lost unless an
    /// answer arrives after all. A packet-in whose times were discarded was sent before all those
    /// in the ring buffer, and is given up together with the first of them.
    pub(crate) fn give_up(&mut self, before: u64) -> u32 {
        let mut freed = 0;
        while let Some(place) = self.place(self.given_up.max(self.base)) {
            if place.sent == NOT_SENT || place.sent >= before || !self.unsent_below.is_empty() {
                break;
            }
            let next = self.given_up.max(self.base) + 1;
            let unanswered = (self.given_up..next).filter(|one| !self.answered.get(*one));
            freed += u32::try_from(unanswered.count()).unwrap_or(u32::MAX);
            self.given_up = next;
        }
        self.in_loop = self.in_loop.saturating_sub(freed);
        self.written_off += u64::from(freed);
        freed
    }

    /// Returns the number of packet-ins that count as unanswered in a closed loop.
    pub(crate) fn in_loop(&self) -> u32 {
        self.in_loop
    }

    /// Returns the number of packet-ins that were sent and were neither answered nor given up. In a
    /// closed loop, this number never exceeds the configured one.
    pub(crate) fn outstanding(&self) -> u64 {
        self.left - self.first_answers - self.written_off
    }

    /// Returns the number of packet-ins that were answered over the whole trial.
    pub(crate) fn total_answered(&self) -> u64 {
        self.first_answers
    }

    /// Returns the number of packet-ins due in the window that were sent late or never, by reason.
    pub(crate) fn hindered(&self) -> Hindered {
        self.hindered
    }

    /// Returns the number of packet-ins that were sent after the time `departure`, and for the
    /// first of them, if there is one, the time at which it was sent and its sequence number. Only
    /// packet-ins whose times are still in the ring buffer count. If no packet-in that was sent
    /// after `departure` was answered, these are the unanswered ones.
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

    /// Reconstructs a sequence number from its lowest `bits` bits, which are all that fits into a
    /// transaction ID or a buffer ID. Returns the latest issued number with these bits.
    pub(crate) fn widen(&self, low: u32, bits: u32) -> Option<u64> {
        let span = 1u64 << bits;
        let last = self.next_sequence().checked_sub(1)?;
        let candidate = (last & !(span - 1)) | u64::from(low);
        if candidate <= last { Some(candidate) } else { candidate.checked_sub(span) }
    }

    /// Returns the counts of packet-ins and answers so far. Packet-ins that were sent and have no
    /// answer count as `lost`, and those that have not been sent as `unsent`.
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

    /// Returns the number of packet-ins that were sent and the number of answers that arrived
    /// during the window, whenever the packet-ins were due.
    pub(crate) fn in_window(&self) -> InWindow {
        self.in_window
    }

    /// Returns the counts that the engine threads increment themselves.
    pub(crate) fn counts_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }

    /// Returns the mean and the maximum of the round-trip times in nanoseconds, measured from the
    /// times at which packet-ins were due. Returns `None` without answers.
    pub(crate) fn rtt(&self) -> Option<(f64, u64)> {
        (self.rtt_samples > 0)
            .then(|| (self.rtt_sum as f64 / self.rtt_samples as f64, self.rtt_max))
    }

    fn record_times(&mut self, tally: &mut Tally, place: PacketTimes, at: u64) {
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

    /// Returns the sequence numbers of the issued packet-ins that may not have been sent.
    fn issued(&self) -> Vec<u64> {
        self.unsent_below.keys().copied().chain(self.base..self.next_sequence()).collect()
    }

    /// Returns the due time of a packet-in that was issued and has not been sent, or `None` if
    /// there is no such packet-in.
    fn unsent(&self, sequence: u64) -> Option<u64> {
        match self.place(sequence) {
            Some(place) => (place.sent == NOT_SENT).then_some(place.due),
            None => self.unsent_below.get(&sequence).copied(),
        }
    }

    fn place(&self, sequence: u64) -> Option<PacketTimes> {
        let index = sequence.checked_sub(self.base)?;
        self.ring.get(usize::try_from(index).ok()?).copied()
    }

    fn place_mut(&mut self, sequence: u64) -> Option<&mut PacketTimes> {
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
    // The histogram resizes itself, so only an allocation could fail. It cannot distinguish zero
    // from its smallest bucket, so the least recorded time is a nanosecond.
    let recorded = histogram.record(value.max(1));
    debug_assert!(recorded.is_ok(), "{recorded:?}");
}

/// A growable vector of bits.
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
