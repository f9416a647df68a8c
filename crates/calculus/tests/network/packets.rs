//! Packets that really go round a ring of servers of rate 10, one after the other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use calculus::Rational;
use calculus::network::{FlowId, Network};

/// Packets of a burst of 1.
const BURST: i64 = 10;

/// A packet that a server has sent.
pub(crate) struct Sent {
    pub(crate) flow: usize,
    pub(crate) server: usize,
    /// Which packet of its flow.
    pub(crate) number: usize,
    /// It has come to the end of its path.
    pub(crate) is_last: bool,
    pub(crate) size: Rational,
    pub(crate) at: Rational,
}

/// What packets of one size meet that go round: sources send bursts of 1 at their offsets (in twentieths) and their rate from
/// then on, `each` packets in all; servers send one packet after the other in the order of arrival, and `arrives` says when
/// one that was sent is at the next server, if it comes there. The largest delay of each flow.
pub(crate) fn go_round(
    ring: &Network,
    offsets: &[u32],
    each: usize,
    mut arrives: impl FnMut(Sent) -> Option<Rational>,
) -> Vec<Rational> {
    let size = Rational::ratio(1, BURST);
    let (mut events, mut order) = (BinaryHeap::new(), 0_u64);
    for (id, flow) in ring.flows() {
        let rate = flow.arrival.ultimate_rate().into_finite().expect("a rate");
        let start = Rational::ratio(i64::from(offsets[id.index() % offsets.len()]), 20);
        for packet in 0..each {
            // The burst at once, then a packet whenever there are tokens for one.
            let beyond = Rational::from((packet as i64 + 1 - BURST).max(0));
            let at = &start + &(beyond * &size / &rate);
            order += 1;
            events.push(Reverse((at.clone(), order, id.index(), packet, 0_usize, at)));
        }
    }
    let ids: Vec<FlowId> = ring.flows().map(|(id, _)| id).collect();
    let mut free = vec![Rational::ZERO; ring.servers().len()];
    let mut worst = vec![Rational::ZERO; ids.len()];
    while let Some(Reverse((now, _, flow, number, hop, born))) = events.pop() {
        let path = &ring.flow(ids[flow]).path;
        let Some(server) = path.get(hop).map(|server| server.index()) else {
            worst[flow] = worst[flow].clone().max(&now - &born);
            continue;
        };
        // A packet takes the latency of the server at most, and its rate.
        let end = now.max(free[server].clone()) + &size / Rational::from(10);
        free[server] = end.clone();
        let is_last = hop + 1 == path.len();
        let out = arrives(Sent { flow, server, number, is_last, size: size.clone(), at: end });
        order += 1;
        events.extend(out.map(|out| Reverse((out, order, flow, number, hop + 1, born))));
    }
    worst
}
