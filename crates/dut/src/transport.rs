//! The evidence of TCP on the side that limited requests: the switch, the network to it, or this
//! program.
//!
//! Requests that always wait for answers wait for the switch or for the network. The kernel knows
//! which: it counts the bytes that were written and could not be sent, and why. Bytes that the
//! receive window of the switch keeps back wait for the switch, which does not read. Other bytes
//! that were not sent, or were lost, wait for the network. If neither happens, the requests are at
//! the switch, unless the answer takes hardly longer than the round trip.
//!
//! [`sampler`] looks at the connections while requests wait, and this module, without I/O, adds up
//! what it saw and judges.

pub(crate) mod sampler;

use std::time::Duration;

use measuring::tcp::Connection;

/// The share from which on a cause is the limit.
const MOST: f64 = 0.5;
/// The share up to which a cause is not the limit.
const LITTLE: f64 = 0.1;
/// The share of looks from which on the network is taken to hold segments all the time.
const NEARLY_ALL: f64 = 0.75;
/// The number of shortest round trips from which on a smoothed one has a queue in it.
const QUEUED: u32 = 10;
/// The share of out-of-order segments from which on answers are taken to be lost on their way.
const ASTRAY: f64 = 0.01;
/// The number of looks below which they do not tell which side was the limit.
const LEAST_LOOKS: u64 = 5;

/// What TCP showed of the connections to the switch while requests waited for answers. The counters
/// are sums over all connections and series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Whether the switch has an address of this host, so that no network lies between.
    pub is_local: bool,
    /// The number of looks at a connection.
    pub looks: u64,
    /// The looks at which bytes waited that the receive window of the switch did not accept.
    pub window_closed: u64,
    /// The looks at which bytes waited although the switch accepted them, or at which lost segments
    /// were sent again.
    pub in_network: u64,
    /// The looks at which more than two full segments were sent and not acknowledged. A receiver
    /// should acknowledge every second full segment at once (RFC 1122, section 4.2.3.2).
    pub in_flight: u64,
    /// The looks at which the receive window of this program kept the switch back.
    pub unread: u64,
    /// The number of segments with data that were sent.
    pub segments_sent: u64,
    /// The number of segments that were sent again.
    pub retransmitted: u64,
    /// The number of segments with data that arrived.
    pub segments_arrived: u64,
    /// The number of segments that arrived before an earlier one.
    pub out_of_order: u64,
    /// The shortest round trip; `None` if none was measured.
    pub round_trip: Option<Duration>,
    /// The sum of the smoothed round trips of all looks. They have the queues of the network, and
    /// the time for which the switch delays acknowledgements.
    pub smoothed_round_trips: Duration,
}

/// The direction in which most bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bulk {
    /// Requests are larger than answers, as when entries are written.
    Requests,
    /// Answers are larger than requests, as when entries are read. What kept them back on the way
    /// is seen by the kernel of the switch only.
    Answers,
}

/// The side that limited requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The limit was this program, which did not read answers.
    Planimeter,
    /// The limit was the switch.
    Switch,
    /// The limit was the network.
    Network,
    /// The limit was the switch or the network: the evidence does not tell which.
    Unknown,
}

impl Evidence {
    /// Returns evidence without looks.
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

    /// Records the state of a connection, some time after an `earlier` one.
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

    /// Adds the counters of a connection between two states of it.
    pub(crate) fn count(&mut self, first: &Connection, last: &Connection) {
        let more = |first: u32, last: u32| u64::from(last.wrapping_sub(first));
        self.segments_sent += more(first.segments_sent, last.segments_sent);
        self.retransmitted += more(first.retransmissions, last.retransmissions);
        self.segments_arrived += more(first.segments_arrived, last.segments_arrived);
        self.out_of_order += more(first.out_of_order, last.out_of_order);
        let round_trip = last.least_rtt.map(|time| Duration::from_micros(time.into()));
        self.round_trip = shorter(self.round_trip, round_trip);
    }

    /// Adds the evidence of another series.
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

    /// Returns the sum of the evidence of two series, of which either may have none.
    pub(crate) fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(mut one), Some(other)) => {
                one.append(&other);
                Some(one)
            }
            (one, other) => one.or(other),
        }
    }

    /// Returns the share of the looks at which the receive window of the switch was closed.
    #[must_use]
    pub fn window_closed_share(&self) -> f64 {
        self.share(self.window_closed)
    }

    /// Returns the share of the looks at which bytes waited for the network.
    #[must_use]
    pub fn in_network_share(&self) -> f64 {
        self.share(self.in_network)
    }

    /// Returns the share of the looks at which more than two segments were in flight.
    #[must_use]
    pub fn in_flight_share(&self) -> f64 {
        self.share(self.in_flight)
    }

    /// Returns the mean of the smoothed round trips.
    #[must_use]
    pub fn smoothed_round_trip(&self) -> Duration {
        self.smoothed_round_trips.div_f64(self.looks.max(1) as f64)
    }

    fn share(&self, count: u64) -> f64 {
        count as f64 / self.looks.max(1) as f64
    }

    /// Returns the side that was the limit of requests which were answered after `answer` on
    /// average. They always waited for answers.
    pub(crate) fn side(&self, answer: Option<Duration>, bulk: Bulk) -> Side {
        let is_seen = self.looks >= LEAST_LOOKS;
        if is_seen && self.share(self.unread) >= MOST {
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
        // A queue of the network that is hardly ever empty: its slowest link is always busy.
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

/// Returns the shorter one of two times that may be unknown.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
