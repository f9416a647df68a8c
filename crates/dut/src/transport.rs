//! Decides from TCP statistics which side limited the rate of requests: the switch, the network to
//! it, or this program.
//!
//! If requests always wait for answers, they wait for the switch or for the network. The kernel
//! knows which: it counts the bytes that were written but not yet sent, and why. Bytes that the
//! switch's receive window holds back wait for the switch, which does not read them. Other bytes
//! that were not sent, or were lost, wait for the network. If there are neither, the requests are
//! at the switch, unless the answer takes hardly longer than the round trip.
//!
//! [`sampler`] observes the connections while requests wait. This module, which does no I/O, adds
//! up the observations and judges them.

pub(crate) mod sampler;

use std::time::Duration;

use measuring::tcp::Connection;

/// The share of observations (or of the answer time) from which on a cause counts as the limit.
const MOST: f64 = 0.5;
/// The share of observations (or of the answer time) up to which a cause is ruled out as the limit.
const LITTLE: f64 = 0.1;
/// The share of observations with segments in flight from which on the network counts as never
/// empty.
const NEARLY_ALL: f64 = 0.75;
/// The ratio of the smoothed to the shortest round-trip time from which on the smoothed one counts
/// as including a queue.
const QUEUED: u32 = 10;
/// The share of out-of-order segments among those that arrived from which on answers count as lost
/// in the network.
const ASTRAY: f64 = 0.01;
/// The smallest number of observations from which the limiting side is judged.
const LEAST_LOOKS: u64 = 5;

/// Observations of the TCP connections to the switch while requests waited for answers, added up
/// over all connections and series of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Whether the switch runs on this host, so that there is no network between it and this
    /// program.
    pub is_local: bool,
    /// The number of observations, each of which is of one connection at one moment.
    pub looks: u64,
    /// The number of observations in which unsent bytes were held back by the switch's receive
    /// window.
    pub window_closed: u64,
    /// The number of observations in which bytes were unsent although the switch's receive window
    /// had room, or in which lost segments were being sent again.
    pub in_network: u64,
    /// The number of observations in which more than two full segments were sent and not
    /// acknowledged. A receiver should acknowledge every second full segment at once (RFC 1122,
    /// section 4.2.3.2).
    pub in_flight: u64,
    /// The number of observations in which the receive window of this program held the switch's
    /// bytes back.
    pub unread: u64,
    /// The number of segments with data that were sent.
    pub segments_sent: u64,
    /// The number of segments that were sent again.
    pub retransmitted: u64,
    /// The number of segments with data that arrived.
    pub segments_arrived: u64,
    /// The number of segments that arrived ahead of an earlier one.
    pub out_of_order: u64,
    /// The shortest round-trip time; `None` if none was measured.
    pub round_trip: Option<Duration>,
    /// The sum of the smoothed round-trip times of all observations. They include queues in the
    /// network, and the time by which the switch delays acknowledgements.
    pub smoothed_round_trips: Duration,
}

/// The direction in which most bytes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bulk {
    /// Requests are larger than answers, as when entries are written.
    Requests,
    /// Answers are larger than requests, as when entries are read. Only the kernel of the switch
    /// knows why they wait to be sent.
    Answers,
}

/// The side that limited the rate of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// This program was the limit, because it did not read answers fast enough.
    Planimeter,
    /// The switch was the limit.
    Switch,
    /// The network was the limit.
    Network,
    /// Either the switch or the network was the limit, and the evidence does not tell which.
    Unknown,
}

impl Evidence {
    /// Returns evidence without any observations.
    pub(crate) fn new(is_local: bool) -> Self {
        Self {
            is_local,
            looks: 0,
            window_closed: 0,
            in_network: 0,
            in_flight: 0,
            unread: 0,
            segments_sent: 0,
            retransmitted: 0,
            segments_arrived: 0,
            out_of_order: 0,
            round_trip: None,
            smoothed_round_trips: Duration::ZERO,
        }
    }

    /// Adds an observation of a connection: its state `now`, compared with an `earlier` state that
    /// is `between` older.
    pub(crate) fn look(&mut self, earlier: &Connection, now: &Connection, between: Duration) {
        self.looks += 1;
        let limited = now.window_limited.saturating_sub(earlier.window_limited);
        let limited = Duration::from_micros(limited);
        let limited = limited.as_secs_f64() / between.as_secs_f64().max(f64::MIN_POSITIVE);
        // Less than a full segment may just wait for more data.
        let is_full = now.not_sent > now.send_segment;
        if now.is_kept_back(limited) {
            self.window_closed += 1;
        } else if is_full || now.is_recovering {
            self.in_network += 1;
        }
        let flight = now.unacknowledged.saturating_sub(now.not_sent);
        self.in_flight += u64::from(flight > now.send_segment.saturating_mul(2));
        self.unread += u64::from(now.keeps_peer_back());
        self.smoothed_round_trips += Duration::from_micros(now.smoothed_rtt.into());
    }

    /// Adds what a connection counted between its states `first` and `last`.
    pub(crate) fn count(&mut self, first: &Connection, last: &Connection) {
        let more = |first: u32, last: u32| u64::from(last.wrapping_sub(first));
        self.segments_sent += more(first.segments_sent, last.segments_sent);
        self.retransmitted += more(first.retransmissions, last.retransmissions);
        self.segments_arrived += more(first.segments_arrived, last.segments_arrived);
        self.out_of_order += more(first.out_of_order, last.out_of_order);
        let round_trip = last.least_rtt.map(|time| Duration::from_micros(time.into()));
        self.round_trip = shorter(self.round_trip, round_trip);
    }

    /// Adds the evidence of another series of requests.
    fn append(&mut self, other: &Self) {
        self.is_local &= other.is_local;
        self.looks += other.looks;
        self.window_closed += other.window_closed;
        self.in_network += other.in_network;
        self.in_flight += other.in_flight;
        self.unread += other.unread;
        self.segments_sent += other.segments_sent;
        self.retransmitted += other.retransmitted;
        self.segments_arrived += other.segments_arrived;
        self.out_of_order += other.out_of_order;
        self.round_trip = shorter(self.round_trip, other.round_trip);
        self.smoothed_round_trips += other.smoothed_round_trips;
    }

    /// Returns the sum of the evidence of two series of requests, either of which may be missing.
    pub(crate) fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(mut one), Some(other)) => {
                one.append(&other);
                Some(one)
            }
            (one, other) => one.or(other),
        }
    }

    /// Returns the share of observations in which the switch's receive window held bytes back.
    #[must_use]
    pub fn window_closed_share(&self) -> f64 {
        self.share(self.window_closed)
    }

    /// Returns the share of observations in which bytes waited for the network.
    #[must_use]
    pub fn in_network_share(&self) -> f64 {
        self.share(self.in_network)
    }

    /// Returns the share of observations in which more than two full segments were in flight.
    #[must_use]
    pub fn in_flight_share(&self) -> f64 {
        self.share(self.in_flight)
    }

    /// Returns the share of observations in which the receive window of this program held the
    /// switch's bytes back.
    #[must_use]
    pub fn unread_share(&self) -> f64 {
        self.share(self.unread)
    }

    /// Returns the mean of the smoothed round-trip times of all observations.
    #[must_use]
    pub fn smoothed_round_trip(&self) -> Duration {
        self.smoothed_round_trips.div_f64(self.looks.max(1) as f64)
    }

    fn share(&self, count: u64) -> f64 {
        count as f64 / self.looks.max(1) as f64
    }

    /// Decides which side was the limit of requests that always waited for answers. `answer` is the
    /// mean time from a request to its answer.
    pub(crate) fn side(&self, answer: Option<Duration>, bulk: Bulk) -> Side {
        let is_seen = self.looks >= LEAST_LOOKS;
        if is_seen && self.unread_share() >= MOST {
            return Side::Planimeter;
        }
        if self.is_local {
            return Side::Switch;
        }
        let astray = self.out_of_order as f64 / self.segments_arrived.max(1) as f64;
        if bulk == Bulk::Answers {
            return if is_seen && astray >= ASTRAY { Side::Network } else { Side::Unknown };
        }
        let trip = match (self.round_trip, answer) {
            (Some(trip), Some(answer)) if !answer.is_zero() => Some(trip.div_duration_f64(answer)),
            (_, _) => None,
        };
        let is_far = trip.is_some_and(|trip| trip >= MOST);
        // A long smoothed round trip is a queue in the network, or a switch that acknowledges late,
        // which it may do for two segments.
        let has_queue =
            answer.is_some_and(|answer| self.smoothed_round_trip() >= answer.mul_f64(MOST));
        let is_in_queue = has_queue && self.in_flight_share() >= MOST;
        if is_seen && self.window_closed_share() >= MOST {
            // TCP acknowledges bytes when they arrive, not when they are read. If most of the time
            // passes until then, the window may be full of bytes that are still on their way.
            return if is_far || is_in_queue { Side::Unknown } else { Side::Switch };
        }
        let in_network = self.in_network_share();
        if is_far || (is_seen && (in_network >= MOST || is_in_queue)) {
            return Side::Network;
        }
        // A standing queue of the network, which is hardly ever empty, so that the slowest link of
        // the path is always busy.
        let is_standing = self.in_flight_share() >= NEARLY_ALL
            && self.round_trip.is_some_and(|least| self.smoothed_round_trip() >= least * QUEUED)
            && answer.is_some_and(|answer| self.smoothed_round_trip() >= answer.mul_f64(LITTLE));
        if is_seen && is_standing {
            return Side::Network;
        }
        let is_short = trip.is_some_and(|trip| trip <= LITTLE) && !has_queue;
        match is_seen && is_short && in_network <= LITTLE && astray <= LITTLE * ASTRAY {
            true => Side::Switch,
            false => Side::Unknown,
        }
    }
}

/// Returns the shorter of two times, either of which may be unknown.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
