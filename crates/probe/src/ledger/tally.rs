//! The counts of one engine thread over all of its switches, and their values over time.
//!
//! The *window* is the measured part of a trial. If the probe does not run for some time, the
//! packet-ins that become due in the meantime are sent together, as a *late burst*.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::Window;
use crate::engine::intervals::Intervals;
use crate::outcome::Histograms;

/// The unit, in nanoseconds, in which the read delay is weighted: each unit of a period between two
/// polls counts as one sample.
const LOOK_UNIT: u64 = 100;
/// The delay in nanoseconds above which a packet-in counts as sent late.
pub(crate) const LATE: u64 = 1_000_000;
/// The largest time in nanoseconds between two late packet-ins that are sent in the same burst.
const BURST: u64 = 1_000_000;

/// A late burst that lengthens the controller's queue. While the probe was absent, the controller
/// worked off part of its queue, and the packet-ins of the burst then arrived all at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Disturbance {
    /// The number of packet-ins that were unanswered before the burst.
    before: u64,
    /// The largest number of packet-ins that waited in the probe at one time.
    held: u64,
}

impl Disturbance {
    /// Returns whether the queue is still longer by a quarter or more because of the burst. Returns
    /// false once the queue is no longer than before the burst.
    fn lasts(self, outstanding: u64) -> bool {
        outstanding > self.before && outstanding < 5 * self.held
    }
}

/// The counts of one engine thread over all of its switches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(super) window: Window,
    pub(super) late_after: u64,
    /// The number of packet-ins that are due and have not been sent, issued or not.
    pub(super) pending: u64,
    /// The number of packet-ins that have not been sent because their connection refused them.
    pub(super) refused: u64,
    /// The number of packet-ins that were sent and were not answered.
    pub(super) outstanding: u64,
    /// The number of unanswered packet-ins that were passed over, which means that a later
    /// packet-in of the same switch was answered.
    passed_over: i64,
    /// The time at which the last packet-in was sent (`last_left`), and the time at which the last
    /// first answer to a packet-in arrived (`last_answer`).
    pub(super) last_left: Option<u64>,
    last_answer: Option<u64>,
    /// The longest time between two consecutive answers. Only the first answer to a packet-in
    /// counts.
    longest_gap: u64,
    /// The latest time at which an answered packet-in was sent.
    answered_up_to: Option<u64>,
    /// The time at which the last late packet-in was sent, and whether it was counted as part of a
    /// burst.
    last_late: Option<(u64, bool)>,
    /// The latest time before which none of the answers that are read now can have arrived, since
    /// the probe polled its sockets then.
    missed_at: u64,
    /// The number of answers that may have waited unread in the probe's sockets at the start of the
    /// window, and at its end.
    unread: [u64; 2],
    /// The late burst that lengthens the controller's queue at present, if there is one.
    disturbance: Option<Disturbance>,
    /// Lower bounds on the round-trip times of those packet-ins due in the window that no late
    /// burst disturbed.
    #[serde(with = "statistics::histogram_text")]
    pub(crate) undisturbed: Histogram<u64>,
    /// The round-trip times of packet-ins that were due in the window and answered after it.
    #[serde(with = "statistics::histogram_text")]
    pub(super) answered_after: Histogram<u64>,
    /// The number of packet-ins whose times are kept at present, over all switches of the thread
    /// (`places`), and the limit on this number.
    pub(super) places: usize,
    pub(super) place_limit: usize,
    /// The counts of each interval of the trial.
    pub(crate) intervals: Intervals,
    /// The histograms of the packet-ins due in the window. The histogram of answers in the window
    /// is complete only after [`Tally::close`].
    pub(crate) histograms: Histograms,
}

impl Tally {
    /// Creates an empty tally. An answer that takes longer than `late_after` nanoseconds counts as
    /// late. The times of at most `place_limit` packet-ins are kept at a time.
    pub(crate) fn new(window: Window, late_after: u64, place_limit: usize) -> Self {
        Self {
            window,
            late_after,
            pending: 0,
            refused: 0,
            outstanding: 0,
            passed_over: 0,
            last_left: None,
            last_answer: None,
            longest_gap: 0,
            answered_up_to: None,
            last_late: None,
            missed_at: 0,
            unread: [0; 2],
            disturbance: None,
            undisturbed: Histograms::default().rtt_from_sent,
            answered_after: Histograms::default().rtt_from_sent,
            places: 0,
            place_limit: place_limit.max(1),
            intervals: Intervals::new(window),
            histograms: Histograms::default(),
        }
    }

    /// Records a period of `length` nanoseconds between two polls. An answer that arrived in it
    /// would have waited for at most `delay` nanoseconds until it was read. Periods are weighted by
    /// their length, since an answer is more likely to arrive in a longer one.
    pub(crate) fn read_delay(&mut self, delay: u64, length: u64) {
        let weight = (length / LOOK_UNIT).max(1);
        // The histogram resizes itself, so no value is too large.
        let _ = self.histograms.read_delay.record_n(delay.max(1), weight);
    }

    /// Records that all answers that will be read from now on arrived after the time `at`.
    pub(crate) fn missed(&mut self, at: u64) {
        self.missed_at = self.missed_at.max(at);
    }

    /// Records, at the time at which a packet-in becomes due, how many packet-ins are refused by
    /// their connections.
    pub(super) fn note_refused(&mut self, due: u64) {
        self.intervals.at(due).refused = self.refused;
    }

    /// Records that a packet-in was sent at `at`. If it was sent late although its connection had
    /// not refused it (`held_back` is false), it may belong to a late burst.
    pub(super) fn note_departure(&mut self, due: u64, at: u64, held_back: bool) {
        let held = (self.pending + 1).saturating_sub(self.refused);
        let interval = self.intervals.at(at);
        interval.left += 1;
        // A packet-in that the connection had refused is late because of the controller.
        if held_back || at.saturating_sub(due) <= LATE {
            return;
        }
        interval.held = interval.held.max(held);
        let is_burst = match self.last_late {
            Some((last, counted)) if at.saturating_sub(last) <= BURST => {
                interval.late += 1 + u64::from(!counted);
                self.disturbs(held + 1);
                true
            }
            _ => false,
        };
        self.last_late = Some((at, is_burst));
    }

    /// Records that a late burst may have lengthened the controller's queue. This function is
    /// called for the second and each later packet-in of the burst. `held` is the number of
    /// packet-ins that were due and had not been sent.
    fn disturbs(&mut self, held: u64) {
        // This packet-in and the previous one belong to the burst and have left already, so neither
        // was outstanding before it.
        let before = self.outstanding.saturating_sub(2);
        let one = self.disturbance.unwrap_or(Disturbance { before, held });
        let one = Disturbance { held: one.held.max(held), ..one };
        self.disturbance = Some(one).filter(|one| one.lasts(self.outstanding));
    }

    /// Completes the histogram of the round-trip times of answers in the window. These are answers
    /// to packet-ins that were due before the window, or in the window.
    pub(crate) fn close(&mut self) {
        let Histograms { rtt_in_window, rtt_from_sent, .. } = &mut self.histograms;
        // Neither operation fails: the histograms resize themselves, have equal precision, and
        // contain what is subtracted.
        let _ = rtt_in_window.add(&*rtt_from_sent);
        let _ = rtt_in_window.subtract(&self.answered_after);
    }

    /// Records the first answer to a packet-in that was sent at the time `sent`. `sent` is `None`
    /// if the time was discarded for lack of space.
    pub(super) fn note_answer(&mut self, sent: Option<u64>, passed_over: i64, at: u64) {
        if let Some(last) = self.last_answer {
            self.longest_gap = self.longest_gap.max(at.saturating_sub(last));
        }
        self.last_answer = self.last_answer.max(Some(at));
        self.answered_up_to = self.answered_up_to.max(sent);
        self.passed_over += passed_over;
        let interval = self.intervals.at(at);
        interval.answers += 1;
        interval.passed_over += passed_over;
        if let Some(sent) = sent {
            interval.timed += 1;
            interval.rtt += at.saturating_sub(sent);
        }
        self.disturbance = self.disturbance.filter(|one| one.lasts(self.outstanding));
        for (unread, edge) in self.unread.iter_mut().zip([self.window.from, self.window.to]) {
            *unread += u64::from(self.missed_at < edge && edge <= at);
        }
    }

    /// Records a lower bound on the round-trip time of a packet-in that was due in the window: the
    /// time until the last poll that did not return its answer. Nothing is recorded while a late
    /// burst lengthens the controller's queue.
    pub(super) fn note_undisturbed(&mut self, sent: u64, at: u64) {
        if self.disturbance.is_some() {
            return;
        }
        let arrived = self.missed_at.clamp(sent.min(at), at);
        // The histogram resizes itself, so no value is too large.
        let _ = self.undisturbed.record((arrived - sent.min(arrived)).max(1));
    }

    /// Returns the measured part of the trial.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Returns the number of packet-ins that are due and have not been sent.
    pub(crate) fn pending(&self) -> u64 {
        self.pending
    }

    /// Returns the number of packet-ins that were sent and were not answered.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Returns the number of packet-ins that were sent and were neither answered nor passed over.
    pub(crate) fn waiting(&self) -> u64 {
        self.outstanding.saturating_sub(u64::try_from(self.passed_over).unwrap_or(0))
    }

    /// Returns the time at which the last packet-in was sent.
    pub(crate) fn last_left(&self) -> Option<u64> {
        self.last_left
    }

    /// Returns the time at which the last first answer to a packet-in arrived.
    pub(crate) fn last_answer(&self) -> Option<u64> {
        self.last_answer
    }

    /// Returns the longest time between two consecutive answers, in nanoseconds. Only the first
    /// answer to a packet-in counts.
    pub(crate) fn longest_gap(&self) -> u64 {
        self.longest_gap
    }

    /// Returns the latest time at which an answered packet-in was sent.
    pub(crate) fn answered_up_to(&self) -> Option<u64> {
        self.answered_up_to
    }

    /// Returns the number of answers that may have waited unread in the probe's sockets at the
    /// start of the window, and at its end.
    pub(crate) fn unread(&self) -> [u64; 2] {
        self.unread
    }
}
