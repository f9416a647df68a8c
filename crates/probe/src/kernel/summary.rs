//! A summary of the samples of TCP connections over the window, the measured part of a trial.

use serde::{Deserialize, Serialize};

use super::Look;
use crate::account::Edges;
use crate::ledger::Window;

/// The largest time, in nanoseconds, between the start or end of the window and the sample that is
/// used for it.
const NEAR: u64 = 100_000_000;

/// A period between two samples in which TCP receive windows of the probe were closed, or may have
/// been. Its ends are in nanoseconds since the start of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spell {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Whether the receive windows were closed in the samples at both ends of the period.
    pub(crate) is_closed: bool,
}

/// The state of all TCP connections of the probe in the window, as sums over the connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// The number of connections at the end of the window.
    pub(crate) connections: u64,
    /// The number of bytes that had arrived and that the probe had not read, at the start and at
    /// the end of the window.
    pub(crate) unread: Edges,
    /// The number of bytes in flight (written but not acknowledged) at the start and at the end of
    /// the window, over the connections whose peer accepted more data.
    pub(crate) on_their_way: Edges,
    /// The number of bytes that the probe wrote in the window (`written`), and the number that it
    /// read in it (`read`).
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// The number of bytes that the probe had written and the kernel had not sent, summed over the
    /// samples in the window. `window_limited_bytes` counts those that the peers' receive windows
    /// kept back, and `delayed` those that were delayed for other reasons.
    pub(crate) window_limited_bytes: u64,
    pub(crate) delayed: u64,
    /// The time in nanoseconds for which receive windows of peers prevented sending, summed over
    /// all connections.
    pub(crate) window_limited: u64,
    /// The number of segments retransmitted in the window.
    pub(crate) retransmissions: u64,
    /// The mean over the connections of the minimum round-trip time in nanoseconds, or `None` if
    /// none was measured.
    pub(crate) least_rtt: Option<u64>,
    pub(crate) spells: Vec<Spell>,
}

impl Summary {
    /// Summarises the samples of all processes of the probe. Returns `None` unless each process has
    /// samples near the start and near the end of the window.
    pub(crate) fn of(ranks: &[Vec<Look>], window: Window) -> Option<Self> {
        let mut all = Self::default();
        let mut rtts = Vec::new();
        for looks in ranks {
            let own = Self::of_rank(looks, window)?;
            all.connections += own.connections;
            for (sum, edges) in
                [(&mut all.unread, own.unread), (&mut all.on_their_way, own.on_their_way)]
            {
                sum.start += edges.start;
                sum.end += edges.end;
            }
            all.written += own.written;
            all.read += own.read;
            all.window_limited_bytes += own.window_limited_bytes;
            all.delayed += own.delayed;
            all.window_limited += own.window_limited;
            all.retransmissions += own.retransmissions;
            all.spells.extend(own.spells);
            rtts.extend(own.least_rtt.map(|rtt| rtt as f64));
        }
        all.least_rtt = statistics::mean(&rtts).map(|mean| mean as u64);
        (!ranks.is_empty()).then_some(all)
    }

    fn of_rank(looks: &[Look], window: Window) -> Option<Self> {
        let near = |edge: u64| {
            let nearest = looks.iter().min_by_key(|look| look.at.abs_diff(edge))?;
            (nearest.at.abs_diff(edge) <= NEAR).then_some(nearest)
        };
        let (start, end) = (near(window.from)?, near(window.to)?);
        let inside = looks.iter().filter(|look| (start.at..=end.at).contains(&look.at));
        let pairs = looks.iter().zip(looks.iter().skip(1));
        let spells = pairs
            .filter(|(before, after)| before.limiting_peers + after.limiting_peers > 0)
            .map(|(before, after)| Spell {
                from: before.at,
                to: after.at,
                is_closed: before.limiting_peers > 0 && after.limiting_peers > 0,
            })
            .collect();
        Some(Self {
            connections: end.connections,
            unread: Edges { start: start.unread, end: end.unread },
            on_their_way: Edges { start: start.on_their_way, end: end.on_their_way },
            written: end.written - start.written,
            read: end.read - start.read,
            window_limited_bytes: inside.clone().map(|look| look.window_limited_bytes).sum(),
            delayed: inside.map(|look| look.delayed).sum(),
            window_limited: end.window_limited - start.window_limited,
            retransmissions: end.retransmissions - start.retransmissions,
            least_rtt: end.least_rtt,
            spells,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const WINDOW: Window = Window { from: 1_000 * MS, to: 2_000 * MS };

    fn look(at: u64, change: impl FnOnce(&mut Look)) -> Look {
        let mut look = Look { at: at * MS, connections: 1, ..Look::default() };
        change(&mut look);
        look
    }

    #[test]
    fn ranks_add_up_between_the_edges() {
        let looks = |unread| {
            vec![
                look(0, |look| look.delayed = 1_000),
                look(1_003, |look| {
                    (look.written, look.unread, look.least_rtt) = (50, 7, Some(100));
                }),
                look(1_500, |look| {
                    (look.written, look.window_limited_bytes, look.delayed) = (60, 40, 2);
                }),
                look(2_001, |look| {
                    (look.written, look.unread, look.least_rtt) = (80, unread, Some(200));
                }),
            ]
        };
        let sum = Summary::of(&[looks(10), looks(30)], WINDOW).expect("both edges");
        assert_eq!((sum.connections, sum.written), (2, 60));
        assert_eq!(sum.unread, Edges { start: 14, end: 40 });
        assert_eq!((sum.window_limited_bytes, sum.delayed, sum.least_rtt), (80, 4, Some(200)));
        assert!(sum.spells.is_empty());
    }

    #[test]
    fn an_edge_that_no_look_is_near_leaves_all_unknown() {
        let near = [look(1_000, |_| {}), look(2_000, |_| {})].to_vec();
        let far = [look(1_000, |_| {}), look(1_800, |_| {})].to_vec();
        assert!(Summary::of(std::slice::from_ref(&near), WINDOW).is_some());
        assert_eq!(Summary::of(&[near, far], WINDOW), None);
        assert_eq!(Summary::of(&[], WINDOW), None);
        assert_eq!(Summary::of(&[Vec::new()], WINDOW), None);
    }

    #[test]
    fn periods_with_closed_windows_end_at_samples() {
        let closed = |at| look(at, |look| look.limiting_peers = 1);
        let open = |at| look(at, |_| {});
        let looks = vec![open(1_000), closed(1_200), closed(1_400), open(1_600), open(2_000)];
        let sum = Summary::of(&[looks], WINDOW).expect("both edges");
        let spell = |from, to, is_closed| Spell { from: from * MS, to: to * MS, is_closed };
        let expected =
            [spell(1_000, 1_200, false), spell(1_200, 1_400, true), spell(1_400, 1_600, false)];
        assert_eq!(sum.spells, expected);
    }
}
