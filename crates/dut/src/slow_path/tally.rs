//! The record of the packets of one trial: when they were due, when they arrived, and which are
//! missing.

use std::time::Duration;

use crate::effects::Moment;

/// The numbers of packets of a trial that were sent, lost, reordered and repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of packets that were sent.
    pub sent: u64,
    /// The number of packets that had not arrived when the trial ended. After the last packet was
    /// sent, a trial goes on until all have arrived, or until none has arrived for half a second.
    pub lost: u64,
    /// The number of packets that a packet sent later overtook.
    pub reordered: u64,
    /// The number of copies of packets that had already arrived.
    pub repeated: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.reordered += other.reordered;
        self.repeated += other.repeated;
    }
}

/// The record of the packets of a trial, which are numbered in the order of their sending.
#[derive(Debug)]
pub(super) struct Tally {
    /// The number of the first packet.
    first: u64,
    packets: Vec<Packet>,
    /// The number of packets in flight, which count towards the window of a trial. A packet that is
    /// given up no longer counts.
    waiting: usize,
    /// The number of packets that have arrived.
    arrived: usize,
    /// The position of the first packet that may still be in flight.
    oldest: usize,
    /// The position of the latest-sent packet among those that have arrived.
    latest: Option<usize>,
    reordered: u64,
    repeated: u64,
    /// The moment of the last arrival.
    end: Option<Moment>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    /// The moment at which the packet was due.
    due: Moment,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waiting,
    GivenUp,
    Arrived(Duration),
}

impl Tally {
    /// Creates the record of a trial whose first packet has this number.
    pub(super) fn new(first: u64) -> Self {
        Self {
            first,
            packets: Vec::new(),
            waiting: 0,
            arrived: 0,
            oldest: 0,
            latest: None,
            reordered: 0,
            repeated: 0,
            end: None,
        }
    }

    /// Returns the number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Records that the next packet was sent, and when it was due.
    pub(super) fn sent(&mut self, due: Moment) {
        self.packets.push(Packet { due, fate: Fate::Waiting });
        self.waiting += 1;
    }

    /// Records the arrival of the packet with this number. Returns whether the packet belongs to
    /// this trial; others are ignored.
    pub(super) fn arrived(&mut self, number: u64, at: Moment) -> bool {
        let position = number.checked_sub(self.first).map(usize::try_from);
        let Some(Ok(position)) = position else { return false };
        let Some(packet) = self.packets.get_mut(position) else { return false };
        let before = packet.fate;
        if let Fate::Arrived(_) = before {
            self.repeated += 1;
            return true;
        }
        packet.fate = Fate::Arrived(Duration::from_nanos(at.0.saturating_sub(packet.due.0)));
        self.arrived += 1;
        self.waiting -= usize::from(before == Fate::Waiting);
        self.reordered += u64::from(self.latest.is_some_and(|latest| position < latest));
        self.latest = self.latest.max(Some(position));
        self.end = Some(at);
        true
    }

    /// Returns the number of packets that have not arrived.
    pub(super) fn missing(&self) -> usize {
        self.packets.len() - self.arrived
    }

    /// Returns the moment of the last arrival; `None` if no packet has arrived.
    pub(super) fn last_arrival(&self) -> Option<Moment> {
        self.end
    }

    /// Returns the number of packets in flight, without those that were given up.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Stops waiting for packets that were due before this moment.
    pub(super) fn give_up(&mut self, before: Moment) {
        while let Some(packet) = self.packets.get_mut(self.oldest) {
            match packet.fate {
                Fate::Waiting if packet.due >= before => break,
                Fate::Waiting => {
                    packet.fate = Fate::GivenUp;
                    self.waiting -= 1;
                }
                Fate::GivenUp | Fate::Arrived(_) => {}
            }
            self.oldest += 1;
        }
    }

    /// Returns the time from when each packet was due until it arrived.
    pub(super) fn delays(&self) -> Vec<Duration> {
        let arrived = self.packets.iter().filter_map(|packet| match packet.fate {
            Fate::Arrived(delay) => Some(delay),
            Fate::Waiting | Fate::GivenUp => None,
        });
        arrived.collect()
    }

    /// Returns the number of arrivals per second, from when the first packet was due until the last
    /// arrival. Returns `None` if no packet arrived, or if no time passed.
    pub(super) fn rate(&self) -> Option<f64> {
        let (first, end) = (self.packets.first()?.due, self.end?);
        let time = end.0.checked_sub(first.0).filter(|time| *time > 0)?;
        Some(self.arrived as f64 * 1e9 / time as f64)
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            sent: self.packets.len() as u64,
            lost: self.missing() as u64,
            reordered: self.reordered,
            repeated: self.repeated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_accounted_for() {
        let mut tally = Tally::new(100);
        for due in [0, 10, 20, 30, 40] {
            tally.sent(Moment(due));
        }
        assert!(tally.arrived(100, Moment(50)));
        assert!(tally.arrived(102, Moment(60)));
        assert!(tally.arrived(101, Moment(65)));
        assert!(tally.arrived(101, Moment(70)));
        assert!(!tally.arrived(99, Moment(70)));
        assert!(!tally.arrived(105, Moment(70)));
        assert_eq!(tally.waiting(), 2);
        tally.give_up(Moment(40));
        assert_eq!(tally.waiting(), 1);
        // It comes after all.
        assert!(tally.arrived(103, Moment(530)));
        tally.give_up(Moment(41));
        assert_eq!(tally.waiting(), 0);
        let counts = Counts { sent: 5, lost: 1, reordered: 1, repeated: 1 };
        assert_eq!(tally.counts(), counts);
        assert_eq!(tally.delays(), [50, 55, 40, 500].map(Duration::from_nanos));
        assert_eq!(tally.rate(), Some(4e9 / 530.0));
    }

    #[test]
    fn without_an_arrival_there_is_no_rate() {
        let mut tally = Tally::new(0);
        assert_eq!(tally.rate(), None);
        tally.sent(Moment(5));
        assert_eq!(tally.rate(), None);
    }
}
