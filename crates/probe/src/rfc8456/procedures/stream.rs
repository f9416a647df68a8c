//! The tests in which a stream of packets is interrupted: controller failover (section 5.4.1) and
//! network re-provisioning (section 5.4.2).
//!
//! Packets with sequence numbers are sent at a constant rate. The measured time begins with the
//! last packet that arrived before the interruption, and ends with the first packet that arrived
//! after it. Packets with sequence numbers between these two that never arrived were lost. The
//! resolution of the time is the spacing of the packets, which is reported with it.

use std::collections::BTreeSet;

use super::{QUIET, Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::scene::{Pair, Scene};
use crate::rfc8456::seen::{Order, Seen, What};
use crate::topology::{Port, SwitchIndex};

/// The packets that are sent in one direction, and which of them arrived.
#[derive(Debug, Default)]
struct Stream {
    /// The number of packets that have been sent.
    sent: u64,
    /// The time of arrival and the sequence number of each packet, in the order of arrival.
    arrivals: Vec<(u64, u64)>,
    /// The sequence numbers of the packets that have arrived.
    known: BTreeSet<u64>,
    duplicates: u64,
}

impl Stream {
    fn arrives(&mut self, sequence: u64, at: u64) {
        if self.known.insert(sequence) {
            self.arrivals.push((at, sequence));
        } else {
            self.duplicates += 1;
        }
    }

    /// Returns whether a packet has arrived within the last `within` nanoseconds before `now`.
    fn flows(&self, now: u64, within: u64) -> bool {
        self.arrivals.last().is_some_and(|(at, _)| now.saturating_sub(*at) <= within)
    }

    /// Returns the longest time between two consecutive arrivals, in seconds, and the number of
    /// packets that were lost between them. Only times that end at `since` or later are considered.
    /// Returns `None` if there is no such time.
    fn gap(&self, since: u64) -> Option<(f64, u64)> {
        let pairs = self.arrivals.iter().zip(self.arrivals.iter().skip(1));
        let (from, to) = pairs
            .filter(|(_, (to, _))| *to >= since)
            .max_by_key(|((from, _), (to, _))| to.saturating_sub(*from))?;
        let between = from.1.min(to.1)..from.1.max(to.1);
        let missing = between.filter(|sequence| !self.known.contains(sequence)).count();
        Some((seconds(to.0.saturating_sub(from.0)), missing as u64))
    }
}

/// Returns the time without an arrival, in nanoseconds, after which a stream of packets counts as
/// interrupted.
fn silence(terms: &Terms) -> u64 {
    (10 * terms.spacing).max(QUIET)
}

/// The test of the controller failover time. Each packet belongs to a new flow, so that a
/// controller must handle it. The active controller is stopped while packets are sent.
pub(in crate::rfc8456) struct Failover {
    terms: Terms,
    scene: Scene,
    /// The time at which the next packet is sent.
    next: u64,
    /// The time at which the active controller must be stopped.
    cut_at: u64,
    /// The time at which the order to stop the active controller was given.
    cut: Option<u64>,
    /// The time at which the command that stops the active controller had completed.
    ended: Option<u64>,
    stream: Stream,
    /// The source and the destination host of each packet.
    pairs: Vec<Pair>,
    /// The time at which the test checks next whether packets arrive again.
    look_at: u64,
    measured: Option<Measured>,
}

impl Failover {
    pub(in crate::rfc8456) fn new(terms: Terms, scene: Scene) -> Self {
        Self {
            terms,
            scene,
            next: u64::MAX,
            cut_at: u64::MAX,
            cut: None,
            ended: None,
            stream: Stream::default(),
            pairs: Vec::new(),
            look_at: u64::MAX,
            measured: None,
        }
    }

    fn check_recovery(&mut self, now: u64) {
        let (Some(cut), Some(ended)) = (self.cut, self.ended) else { return };
        if self.stream.flows(now, silence(&self.terms)) {
            let Some((time, lost)) = self.stream.gap(cut) else { return };
            self.measured = Some(
                Measured::of(time)
                    .with("packets lost", lost as f64, Unit::Count)
                    .with("duplicates", self.stream.duplicates as f64, Unit::Count)
                    .with("spacing of packets", seconds(self.terms.spacing), Unit::Seconds),
            );
        } else if now >= ended.saturating_add(self.terms.patience) {
            self.measured = Some(Measured::failed(format!(
                "no packets arrived any more within {} s of the failure",
                seconds(self.terms.patience)
            )));
        }
        self.look_at = now.saturating_add(QUIET);
    }
}

impl Procedure for Failover {
    fn outlives_controller(&self) -> bool {
        true
    }

    fn begin(&mut self, now: u64, _: &mut Vec<Order>) {
        (self.next, self.cut_at) = (now, now.saturating_add(self.terms.duration / 2));
    }

    fn see(&mut self, seen: &Seen, _: &mut Vec<Order>) {
        match &seen.what {
            What::Delivered { switch, port, id, to } => {
                let pair = self.pairs.get(id.switch as usize);
                if pair.is_some_and(|pair| self.scene.is_at(&pair.to, *switch, *port, *to)) {
                    self.stream.arrives(id.switch.into(), seen.at);
                }
            }
            What::Failed(Err(error)) => {
                self.measured =
                    Some(Measured::failed(format!("the active controller was not ended: {error}")));
            }
            What::Failed(Ok(())) => {
                self.ended = Some(seen.at);
                self.look_at = seen.at.saturating_add(self.terms.duration / 2);
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        while self.next <= now {
            let flow = self.pairs.len() as u32;
            let pairs = self.scene.pairs().max(1);
            let Some(pair) = self.scene.pair(flow % pairs) else {
                self.measured = Some(Measured::failed(
                    "there are no two hosts behind different switches; see --switches and --hosts",
                ));
                return;
            };
            self.pairs.push(pair);
            self.stream.sent += 1;
            orders.push(self.scene.stranger(pair, flow));
            self.next = self.next.saturating_add(self.terms.spacing.max(1));
        }
        if now >= self.cut_at {
            self.cut_at = u64::MAX;
            if self.stream.arrivals.is_empty() {
                self.measured = Some(Measured::failed("no packet arrived before the failure"));
                return;
            }
            self.cut = Some(now);
            orders.push(Order::Fail);
        }
        if now >= self.look_at {
            self.check_recovery(now);
        }
    }

    fn due(&self) -> u64 {
        self.next.min(self.cut_at).min(self.look_at)
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}

/// The test of the network re-provisioning time. Packets are sent in both directions between two
/// hosts while a link of their path goes down.
pub(in crate::rfc8456) struct Reprovisioning {
    terms: Terms,
    scene: Scene,
    /// The two hosts, or `None` if the network has no two hosts behind different switches.
    pair: Option<Pair>,
    /// The time at which the next packet is sent in each direction.
    next: u64,
    /// The time at which the link must go down.
    cut_at: u64,
    /// The time at which the test checks next whether packets arrive again.
    look_at: u64,
    /// The time at which the link went down.
    cut: Option<u64>,
    /// The packets in forward direction and those in reverse direction.
    streams: [Stream; 2],
    /// The sequence number of the last forward packet that crossed a link, and the switch and the
    /// port at which it crossed its first link. `None` if no packet has crossed a link.
    crossed: Option<(u64, u32, u16)>,
    measured: Option<Measured>,
}

impl Reprovisioning {
    pub(in crate::rfc8456) fn new(terms: Terms, scene: Scene) -> Self {
        Self {
            terms,
            pair: scene.pair(0),
            scene,
            next: u64::MAX,
            cut_at: u64::MAX,
            look_at: u64::MAX,
            cut: None,
            streams: Default::default(),
            crossed: None,
            measured: None,
        }
    }

    /// Returns whether the two hosts are still connected if the link at a port of a switch is down.
    fn has_detour(&self, pair: Pair, switch: u32, port: u16) -> bool {
        let topology = &self.scene.topology;
        let near = (SwitchIndex(switch), Port(port));
        let Some(far) = topology.peer(near.0, near.1) else { return false };
        let mut known = BTreeSet::from([pair.from.switch]);
        let mut queue = vec![pair.from.switch];
        while let Some(at) = queue.pop() {
            for port in topology.link_ports(SwitchIndex(at)) {
                let end = (SwitchIndex(at), port);
                if end == near || end == far {
                    continue;
                }
                if let Some((SwitchIndex(next), _)) = topology.peer(end.0, end.1)
                    && known.insert(next)
                {
                    queue.push(next);
                }
            }
        }
        known.contains(&pair.to.switch)
    }

    fn cut(&mut self, now: u64, pair: Pair, orders: &mut Vec<Order>) {
        let arrived = self.streams.iter().all(|stream| !stream.arrivals.is_empty());
        match self.crossed {
            Some((_, switch, port)) if arrived => {
                if !self.has_detour(pair, switch, port) {
                    self.measured = Some(Measured::failed(
                        "the topology has no second path; choose one that has, such as --topology \
                         leaf-spine:2",
                    ));
                    return;
                }
                self.cut = Some(now);
                self.look_at = now.saturating_add(self.terms.duration / 2);
                orders.push(Order::Link { switch, port: Port(port), is_up: false });
            }
            _ => {
                self.measured =
                    Some(Measured::failed("the hosts did not reach each other in both directions"));
            }
        }
    }

    fn check_recovery(&mut self, now: u64) {
        let Some(cut) = self.cut else { return };
        let flow = self.streams.iter().all(|stream| stream.flows(now, silence(&self.terms)));
        let [there, back] = &self.streams;
        if let (true, Some((there, lost_there)), Some((back, lost_back))) =
            (flow, there.gap(cut), back.gap(cut))
        {
            let duplicates: u64 = self.streams.iter().map(|stream| stream.duplicates).sum();
            self.measured = Some(
                Measured::of((there + back) / 2.0)
                    .with("forward direction", there, Unit::Seconds)
                    .with("reverse direction", back, Unit::Seconds)
                    .with("forward packets lost", lost_there as f64, Unit::Count)
                    .with("reverse packets lost", lost_back as f64, Unit::Count)
                    .with("duplicates", duplicates as f64, Unit::Count)
                    .with("spacing of packets", seconds(self.terms.spacing), Unit::Seconds),
            );
        } else if now >= cut.saturating_add(self.terms.patience) {
            self.measured = Some(Measured::failed(format!(
                "packets did not arrive in both directions within {} s of the link going down",
                seconds(self.terms.patience)
            )));
        }
        self.look_at = now.saturating_add(QUIET);
    }
}

impl Procedure for Reprovisioning {
    fn begin(&mut self, now: u64, _: &mut Vec<Order>) {
        if self.pair.is_none() {
            self.measured = Some(Measured::failed(
                "there are no two hosts behind different switches; see --switches and --hosts",
            ));
        }
        (self.next, self.cut_at) = (now, now.saturating_add(self.terms.duration / 2));
    }

    fn see(&mut self, seen: &Seen, _: &mut Vec<Order>) {
        let Some(pair) = self.pair else { return };
        match &seen.what {
            // Only the first link that each packet crosses is kept.
            What::Crossed { switch, port, id }
                if id.switch == 0
                    && self.cut.is_none()
                    && self.crossed.is_none_or(|(sequence, ..)| sequence != id.sequence) =>
            {
                self.crossed = Some((id.sequence, *switch, *port));
            }
            What::Delivered { switch, port, id, to } => {
                let directions = [pair, pair.reversed()];
                let place = id.switch as usize;
                let (Some(direction), Some(stream)) =
                    (directions.get(place), self.streams.get_mut(place))
                else {
                    return;
                };
                if self.scene.is_at(&direction.to, *switch, *port, *to) {
                    stream.arrives(id.sequence, seen.at);
                }
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        let Some(pair) = self.pair else { return };
        if now >= self.cut_at {
            self.cut_at = u64::MAX;
            self.cut(now, pair, orders);
        }
        if now >= self.look_at {
            self.check_recovery(now);
        }
        while self.next <= now {
            for (direction, stream) in [pair, pair.reversed()].into_iter().zip(&mut self.streams) {
                let flow = u32::from(direction != pair);
                orders.push(self.scene.packet(direction, flow, stream.sent));
                stream.sent += 1;
            }
            self.next = self.next.saturating_add(self.terms.spacing.max(1));
        }
    }

    fn due(&self) -> u64 {
        self.next.min(self.cut_at).min(self.look_at)
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}
