//! Packets that are sent through the switch while a pipeline is committed.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use p4runtime::proto::v1;
use rand::RngExt as _;

use super::forwarding::{Forwarding, Packet};
use crate::error::DutError;
use crate::live::{Flow, Outcome, Traffic};
use crate::outlet::Outlet;
use crate::tag::Tag;
use crate::window::Refusal;

/// The time between two packets. No switch is overloaded by them.
const SPACING: Duration = Duration::from_millis(1);
/// The time for which packets are sent before the request.
const BEFORE: Duration = Duration::from_millis(50);
/// The longest time after the answer for which packets are sent until one is forwarded.
const LONGEST: Duration = Duration::from_secs(5);
/// The time for which missing packets are waited for in the end.
const GRACE: Duration = Duration::from_millis(100);

/// What a commit has reached.
pub(super) struct Reached {
    /// The time from the request to its answer, or the refusal.
    pub(super) answer: Result<Duration, Refusal>,
    /// The time from the beginning of the call to its answer.
    pub(super) answered: Duration,
}

/// The interfaces and the flow of packets.
pub(super) struct Bench {
    outlets: Vec<Outlet>,
    flow: Flow<v1::TableEntry>,
    /// The entries of other tables that the packets need.
    beside: Vec<v1::TableEntry>,
    /// The port by which the packets leave.
    leaves: u32,
    /// The random number by which packets of this measurement are recognised.
    key: u64,
    /// The number of the next packet.
    next: u64,
}

impl Bench {
    /// Opens the interfaces, and takes a flow whose packets leave the switch if its entry is there.
    pub(super) fn open(traffic: &Traffic) -> Result<Self, DutError> {
        let leaving = traffic.flows.iter().find_map(|flow| match &flow.inserted {
            Outcome::Leaves { port, .. } => Some((flow, *port)),
            Outcome::Unseen => None,
        });
        let (flow, leaves) = leaving.ok_or(DutError::NoRules)?;
        Ok(Self {
            outlets: Outlet::open(&traffic.wires)?,
            flow: flow.clone(),
            beside: traffic.beside.clone(),
            leaves,
            key: rand::rng().random(),
            next: 0,
        })
    }

    /// Returns the entries that the packets need, in the order in which they are inserted.
    pub(super) fn entries(&self) -> impl Iterator<Item = &v1::TableEntry> {
        self.beside.iter().chain([&self.flow.first])
    }

    /// Sends packets before, during and after a commit, until one is forwarded that was sent after
    /// the call had ended.
    pub(super) async fn observe(
        &mut self,
        call: impl Future<Output = Result<Reached, DutError>>,
    ) -> Result<(Reached, Forwarding), DutError> {
        let clock = Instant::now();
        let first = self.next;
        let mut call = pin!(call);
        let mut packets: Vec<Packet> = Vec::new();
        let (mut request, mut ended) = (None, None);
        let mut due = Duration::ZERO;
        let mut over = None;
        loop {
            let now = clock.elapsed();
            if over.is_none() && now >= due {
                self.send(&mut packets, &clock)?;
                // After a pause of this program, overdue packets are not sent in one burst.
                due = due.max(now.saturating_sub(SPACING)) + SPACING;
            }
            self.receive(first, &mut packets, &clock)?;
            if now >= BEFORE && ended.is_none() {
                request.get_or_insert(now);
                let polled = std::future::poll_fn(|context| {
                    Poll::Ready(match call.as_mut().poll(context) {
                        Poll::Ready(reached) => Some(reached),
                        Poll::Pending => None,
                    })
                });
                if let Some(reached) = polled.await {
                    ended = Some((clock.elapsed(), reached?));
                }
            }
            if let Some((at, _)) = &ended {
                let is_forwarded =
                    packets.iter().rev().any(|one| one.sent >= *at && one.arrived.is_some());
                if is_forwarded || now >= *at + LONGEST {
                    over.get_or_insert(now);
                }
            }
            if over.is_some_and(|over| now >= over + GRACE) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let (Some(request), Some((_, reached))) = (request, ended) else {
            return Err(DutError::NoAnswer {
                what: "SetForwardingPipelineConfig",
                patience: LONGEST,
            });
        };
        let meanwhile: Vec<Packet> = packets
            .iter()
            .filter(|packet| packet.sent >= request)
            .map(|packet| Packet {
                sent: packet.sent - request,
                arrived: packet.arrived.map(|at| at.saturating_sub(request)),
            })
            .collect();
        let forwarding = Forwarding::of(&meanwhile, reached.answered);
        Ok((reached, forwarding))
    }

    fn send(&mut self, packets: &mut Vec<Packet>, clock: &Instant) -> Result<(), DutError> {
        let mut frame = self.flow.packet.clone();
        Tag { key: self.key, number: self.next }.write(&mut frame);
        let port = self.flow.port;
        let outlet = self.outlets.iter_mut().find(|outlet| outlet.number() == port);
        let outlet = outlet.ok_or(DutError::NoWire { port })?;
        let sent = clock.elapsed();
        if outlet.send(&frame)? {
            packets.push(Packet { sent, arrived: None });
            self.next += 1;
        }
        Ok(())
    }

    /// Records the packets that have left the switch as they should. `first` is the number of the
    /// first of `packets`.
    fn receive(
        &mut self,
        first: u64,
        packets: &mut [Packet],
        clock: &Instant,
    ) -> Result<(), DutError> {
        let (key, leaves) = (self.key, self.leaves);
        for outlet in &mut self.outlets {
            let is_right = outlet.number() == leaves;
            let frames = outlet.receive()?;
            let now = clock.elapsed();
            for frame in frames.frames().iter().filter(|_| is_right) {
                let tag = Tag::read(frame.bytes()).filter(|tag| tag.key == key);
                let place = tag.and_then(|tag| tag.number.checked_sub(first));
                let place = place.and_then(|place| usize::try_from(place).ok());
                if let Some(packet) = place.and_then(|place| packets.get_mut(place)) {
                    packet.arrived.get_or_insert(now);
                }
            }
        }
        Ok(())
    }
}
