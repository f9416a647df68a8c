//! The congestion window of a sender that reacts to losses and to ECN marks, as TCP does.
//!
//! The window counts packets. It starts at ten (RFC 6928). It doubles in each round trip during
//! slow start, and grows by one packet in each round trip afterwards (RFC 5681, section 3.1). A
//! lost or marked packet halves it, but at most once for all packets of one window (RFC 6582; RFC
//! 3168, section 6.1.2). A packet counts as lost once three packets that were sent later have
//! arrived, or once no packet has arrived during the retransmission timeout of RFC 6298. After a
//! timeout, the window is one packet.
//!
//! Each transmission has its own number, which its acknowledgement repeats. Lost data is sent again
//! under a new number, so a sender that always has data to send needs no state except the numbers
//! of the packets in flight. All arithmetic is on integers, and time is an argument, so two runs of
//! a script have the same result.

use std::collections::BTreeMap;
use std::time::Duration;

/// The initial window, in packets.
const INITIAL: u64 = 10;
/// The largest window, in packets. It limits the memory of a sender.
const MOST: u64 = 10_000;
/// The smallest window after a halving, in packets (RFC 5681, equation 4).
const LEAST: u64 = 2;
/// The number of later packets that must arrive before a packet counts as lost (RFC 5681, section
/// 3.2).
const OVERTAKING: u64 = 3;
/// The least and the largest retransmission timeout (RFC 6298, sections 2.4 and 2.5).
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The state of a sender's congestion control: its window and the packets in flight.
#[derive(Debug)]
pub(super) struct Congestion {
    window: u64,
    /// The window at which slow start ends.
    threshold: u64,
    /// The number of acknowledgements since the last change of the window, counted only outside
    /// slow start.
    acknowledged: u64,
    /// The number of the next packet.
    next: u64,
    /// The largest number of a packet that was acknowledged.
    newest: Option<u64>,
    /// The number of the first packet that was sent after the last reduction of the window. Losses
    /// and marks of earlier packets do not reduce the window again.
    recovery: u64,
    /// For each packet in flight, the time at which it was sent.
    flight: BTreeMap<u64, Duration>,
    /// The smoothed round-trip time and its variation, in nanoseconds.
    round_trip: Option<RoundTrip>,
    /// The time at which the retransmission timer was last restarted.
    timer: Duration,
    /// The number of timeouts since the last acknowledgement.
    backoff: u32,
    counts: Counts,
}

/// The counters of a sender: its packets by outcome, and its reactions to losses and ECN marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) arrived: u64,
    pub(super) lost: u64,
    pub(super) marked: u64,
    /// The number of times that the window was halved.
    pub(super) halvings: u64,
    pub(super) timeouts: u64,
}

#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    smoothed: u64,
    variation: u64,
}

impl Congestion {
    pub(super) fn new() -> Self {
        Self {
            window: INITIAL,
            threshold: MOST,
            acknowledged: 0,
            next: 0,
            newest: None,
            recovery: 0,
            flight: BTreeMap::new(),
            round_trip: None,
            timer: Duration::ZERO,
            backoff: 0,
            counts: Counts::default(),
        }
    }

    /// Returns whether the window permits another packet in flight.
    pub(super) fn may_send(&self) -> bool {
        self.in_flight() < self.window
    }

    /// Returns the number of packets that were sent and neither were acknowledged nor count as
    /// lost.
    pub(super) fn in_flight(&self) -> u64 {
        u64::try_from(self.flight.len()).unwrap_or(u64::MAX)
    }

    /// Returns the window in packets.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Records that a packet is sent, and returns its number.
    pub(super) fn send(&mut self, now: Duration) -> u64 {
        if self.flight.is_empty() {
            self.timer = now;
        }
        let number = self.next;
        self.next += 1;
        self.counts.sent += 1;
        self.flight.insert(number, now);
        number
    }

    /// Records that the acknowledgement of a packet has arrived. `is_marked` states whether the
    /// packet carried the ECN mark CE. The acknowledgement of a packet that already counts as lost
    /// or was already acknowledged has no effect.
    pub(super) fn acknowledge(&mut self, now: Duration, number: u64, is_marked: bool) {
        let Some(sent) = self.flight.remove(&number) else { return };
        self.counts.arrived += 1;
        self.counts.marked += u64::from(is_marked);
        self.timer = now;
        self.backoff = 0;
        self.measure(now.saturating_sub(sent));
        let newest = self.newest.unwrap_or(number).max(number);
        self.newest = Some(newest);
        // Packets that three later ones have overtaken.
        let behind = self.flight.split_off(&newest.saturating_sub(OVERTAKING - 1));
        let lost = std::mem::replace(&mut self.flight, behind);
        self.counts.lost += u64::try_from(lost.len()).unwrap_or(u64::MAX);
        let recovery = self.recovery;
        let is_recent = |number: u64| number >= recovery;
        let shrinks = is_marked && is_recent(number) || lost.keys().any(|lost| is_recent(*lost));
        if shrinks {
            self.halve();
            self.window = self.threshold;
        } else if is_recent(number) {
            self.grow();
        }
    }

    /// Returns the time of the retransmission timeout, if no acknowledgement arrives before it.
    /// Returns `None` if no packet is in flight.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let timeout = match self.round_trip {
            None => SHORTEST,
            Some(RoundTrip { smoothed, variation }) => {
                Duration::from_nanos(smoothed.saturating_add(variation.saturating_mul(4)))
                    .max(SHORTEST)
            }
        };
        let doubled = 1_u32.checked_shl(self.backoff).unwrap_or(u32::MAX);
        let timeout = timeout.saturating_mul(doubled).min(LONGEST);
        (!self.flight.is_empty()).then(|| self.timer.saturating_add(timeout))
    }

    /// Records that no acknowledgement has arrived until the deadline, so that all packets in
    /// flight count as lost.
    pub(super) fn time_out(&mut self, now: Duration) {
        self.counts.lost += self.in_flight();
        self.counts.timeouts += 1;
        self.flight.clear();
        self.timer = now;
        self.backoff = self.backoff.saturating_add(1);
        self.halve();
        self.window = 1;
    }

    fn halve(&mut self) {
        self.threshold = (self.window / 2).max(LEAST);
        self.acknowledged = 0;
        self.recovery = self.next;
        self.counts.halvings += 1;
    }

    fn grow(&mut self) {
        if self.window < self.threshold {
            self.window += 1;
        } else {
            self.acknowledged += 1;
            if self.acknowledged >= self.window {
                self.acknowledged = 0;
                self.window += 1;
            }
        }
        self.window = self.window.min(MOST);
    }

    /// Updates the round-trip estimate with a measured round-trip time (RFC 6298, sections 2.2 and
    /// 2.3).
    fn measure(&mut self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 8);
        self.round_trip = Some(match self.round_trip {
            None => RoundTrip { smoothed: time, variation: time / 2 },
            Some(RoundTrip { smoothed, variation }) => RoundTrip {
                smoothed: smoothed.saturating_mul(7).saturating_add(time) / 8,
                variation: variation.saturating_mul(3).saturating_add(smoothed.abs_diff(time)) / 4,
            },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    /// Sends all that the window has room for, and returns the numbers.
    fn fill(sender: &mut Congestion, now: Duration) -> Vec<u64> {
        let mut sent = Vec::new();
        while sender.may_send() {
            sent.push(sender.send(now));
        }
        sent
    }

    /// Lets a window of packets arrive, except those that `lost` selects, and marks those that
    /// `marked` selects.
    fn round(
        sender: &mut Congestion,
        now: Duration,
        lost: fn(u64) -> bool,
        marked: fn(u64) -> bool,
    ) {
        for number in fill(sender, now) {
            if !lost(number) {
                sender.acknowledge(now + millis(50), number, marked(number));
            }
        }
    }

    fn none(_: u64) -> bool {
        false
    }

    #[test]
    fn slow_start_doubles_the_window_and_then_it_grows_by_one() {
        let mut sender = Congestion::new();
        let mut windows = Vec::new();
        for turn in 0..3 {
            windows.push(sender.window());
            round(&mut sender, millis(100 * turn), none, none);
        }
        assert_eq!((windows, sender.window()), (vec![10, 20, 40], 80));
        // A mark halves it to 40 once, although all packets of the window are marked.
        round(&mut sender, millis(300), none, |_| true);
        assert_eq!((sender.window(), sender.counts().halvings), (40, 1));
        for expected in [41, 42, 43] {
            round(&mut sender, millis(400), none, none);
            assert_eq!(sender.window(), expected);
        }
        let counts = sender.counts();
        assert_eq!((counts.sent, counts.arrived, counts.lost, counts.marked), (273, 273, 0, 80));
    }

    /// Tests that a packet is lost with the third later one that arrives, and not before, and that
    /// several losses of one window halve it once.
    #[test]
    fn three_later_packets_show_a_loss() {
        let mut sender = Congestion::new();
        assert_eq!(fill(&mut sender, millis(0)).len(), 10);
        for (number, lost, window) in [(1, 0, 11), (2, 0, 12), (3, 1, 6), (5, 1, 6), (7, 2, 6)] {
            sender.acknowledge(millis(50), number, false);
            assert_eq!((sender.counts().lost, sender.window()), (lost, window), "{number}");
        }
        assert_eq!(sender.counts().halvings, 1);
        // Acknowledgements that come after all, and copies, change nothing.
        sender.acknowledge(millis(60), 0, true);
        sender.acknowledge(millis(60), 7, true);
        let counts = sender.counts();
        assert_eq!((counts.arrived, counts.marked, counts.halvings), (5, 0, 1));
        // Packets 6, 8 and 9 are on their way; a loss among those that are sent now halves again.
        assert_eq!(sender.in_flight(), 3);
        assert_eq!(fill(&mut sender, millis(60)), [10, 11, 12]);
        for number in [6, 8, 9, 11, 12] {
            sender.acknowledge(millis(110), number, false);
        }
        assert_eq!(sender.counts().halvings, 1);
        let more = fill(&mut sender, millis(110));
        sender.acknowledge(millis(160), more[0], false);
        assert_eq!((sender.counts().halvings, sender.window()), (2, 3));
    }

    #[test]
    fn silence_is_a_timeout_and_each_doubles_the_next() {
        let mut sender = Congestion::new();
        assert_eq!(sender.deadline(), None);
        round(&mut sender, millis(0), none, none);
        assert_eq!(sender.deadline(), None);
        fill(&mut sender, millis(100));
        // 50 ms with a variation below 25 ms: the least timeout applies.
        assert_eq!(sender.deadline(), Some(millis(1100)));
        sender.time_out(millis(1100));
        assert_eq!((sender.window(), sender.counts().lost, sender.in_flight()), (1, 20, 0));
        let mut now = 1100;
        for wait in [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] {
            assert_eq!(fill(&mut sender, millis(now)).len(), 1);
            now += wait;
            assert_eq!(sender.deadline(), Some(millis(now)));
            sender.time_out(millis(now));
        }
        // With an answer, the timeout is short again, and slow start begins.
        let number = sender.send(millis(now));
        sender.acknowledge(millis(now + 50), number, false);
        assert_eq!(sender.window(), 2);
        sender.send(millis(now + 50));
        assert_eq!(sender.deadline(), Some(millis(now + 1_050)));
    }

    #[test]
    fn a_long_round_trip_makes_the_timeout_longer() {
        let mut sender = Congestion::new();
        let number = sender.send(millis(0));
        sender.acknowledge(millis(800), number, false);
        sender.send(millis(800));
        // 800 ms and four times 400 ms.
        assert_eq!(sender.deadline(), Some(millis(800 + 2_400)));
    }

    #[test]
    fn the_window_is_bounded() {
        let mut sender = Congestion::new();
        for turn in 0..12 {
            round(&mut sender, millis(100 * turn), none, none);
        }
        assert_eq!(sender.window(), MOST);
    }
}
