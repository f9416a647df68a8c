//! The forwarding of the packets that were sent while a pipeline was committed.

use std::time::Duration;

/// A packet that was sent around a commit. Its times count from the request for the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// The clock reading just before the packet was sent.
    pub(super) sent: Duration,
    /// The clock reading just after the packet arrived; `None` if it did not arrive.
    pub(super) arrived: Option<Duration>,
}

/// The interruption of forwarding by a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// The time from the request for the commit until the first arrival of a packet that was sent
    /// after the answer; `None` if no such packet arrived. If the commit clears the tables, this
    /// time includes the insertion of the entries that the packets need.
    pub first: Option<Duration>,
    /// The number of packets that were sent between the request and that first arrival, or the end
    /// of the test if there was none.
    pub sent: usize,
    /// The number of the packets counted by `sent` that did not arrive.
    pub lost: usize,
    /// The longest time without an arrival. The time before the first arrival counts from the
    /// request, and the time after the last arrival until the last packet was sent. If no packet
    /// arrived at the end, the pause may have lasted longer. `None` if no packet was sent.
    pub pause: Option<Duration>,
}

impl Forwarding {
    /// Evaluates the packets of one commit, which are in the order of their sending. Packets that
    /// were sent before the request do not count. `answered` is the time from the request to its
    /// answer.
    pub(super) fn of(packets: &[Packet], answered: Duration) -> Self {
        let first =
            packets.iter().position(|packet| packet.sent >= answered && packet.arrived.is_some());
        let meanwhile = first.map_or(packets, |first| packets.get(..first).unwrap_or(packets));
        let mut arrivals: Vec<Duration> =
            packets.iter().filter_map(|packet| packet.arrived).collect();
        arrivals.sort_unstable();
        // Packets that were sent after the last arrival show that forwarding has not begun again.
        let end = packets.last().map(|packet| packet.sent);
        arrivals.extend(end.filter(|end| arrivals.last().is_none_or(|last| last < end)));
        let starts = std::iter::once(&Duration::ZERO).chain(&arrivals);
        let pauses = starts.zip(&arrivals).map(|(from, to)| *to - *from);
        Self {
            first: first.and_then(|first| packets.get(first)).and_then(|packet| packet.arrived),
            sent: meanwhile.len(),
            lost: meanwhile.iter().filter(|packet| packet.arrived.is_none()).count(),
            pause: pauses.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Returns packets that are sent every millisecond, until the millisecond `until`, and take a
    /// millisecond to arrive. Those sent during `lost` do not arrive.
    fn packets(until: u64, lost: std::ops::Range<u64>) -> Vec<Packet> {
        let arrived = |sent: u64| (!lost.contains(&sent)).then_some(ms(sent + 1));
        (0..until).map(|sent| Packet { sent: ms(sent), arrived: arrived(sent) }).collect()
    }

    #[test]
    fn an_interruption_lasts_until_the_first_packet_after_the_answer() {
        let found = Forwarding::of(&packets(100, 10..40), ms(20));
        let expected = Forwarding { first: Some(ms(41)), sent: 40, lost: 30, pause: Some(ms(31)) };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_commit_without_a_loss_has_the_pause_of_the_spacing() {
        let found = Forwarding::of(&packets(100, 0..0), ms(20));
        let expected = Forwarding { first: Some(ms(21)), sent: 20, lost: 0, pause: Some(ms(1)) };
        assert_eq!(found, expected);
    }

    #[test]
    fn packets_that_are_never_forwarded_again_leave_no_first_one() {
        let found = Forwarding::of(&packets(100, 5..100), ms(20));
        // The last packet to arrive does so at 5 ms, and the last one is sent at 99 ms.
        let expected = Forwarding { first: None, sent: 100, lost: 95, pause: Some(ms(94)) };
        assert_eq!(found, expected);
        let none = Forwarding::of(&packets(100, 0..100), ms(20));
        assert_eq!((none.lost, none.pause), (100, Some(ms(99))));
        assert_eq!(Forwarding::of(&[], ms(20)).pause, None);
    }
}
