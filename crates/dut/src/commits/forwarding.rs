//! The fates of the packets that were sent while a pipeline was committed.

use std::time::Duration;

/// A packet. Times are those since the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// A reading of the clock before the packet was sent.
    pub(super) sent: Duration,
    /// A reading of the clock after the packet had arrived; `None` if it did not.
    pub(super) arrived: Option<Duration>,
}

/// The interruption of forwarding by a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// The time from the request until the first packet arrived that was sent after the answer;
    /// `None` if none arrived. For a commit that clears the tables, it contains the time in which
    /// the entries were inserted again that packets need.
    pub first: Option<Duration>,
    /// The number of packets that were sent from the request until that packet, or until the end.
    pub sent: usize,
    /// The number of these packets that did not arrive.
    pub lost: usize,
    /// The longest time between two arrivals, or from the request to the first one.
    pub pause: Option<Duration>,
}

impl Forwarding {
    /// Evaluates packets in the order in which they were sent, without those that were sent before
    /// the request. Their times are those since the request. `answered` is the time from the
    /// request to its answer.
    pub(super) fn of(packets: &[Packet], answered: Duration) -> Self {
        let first =
            packets.iter().position(|packet| packet.sent >= answered && packet.arrived.is_some());
        let meanwhile = first.map_or(packets, |first| packets.get(..first).unwrap_or(packets));
        let mut arrivals: Vec<Duration> =
            packets.iter().filter_map(|packet| packet.arrived).collect();
        arrivals.sort_unstable();
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

    /// Returns packets that are sent every millisecond and take another one. Those that are sent in
    /// `lost` are lost.
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
        let expected = Forwarding { first: None, sent: 100, lost: 95, pause: Some(ms(1)) };
        assert_eq!(found, expected);
    }
}
