//! A stream of packets of one flow through a switch.

use std::time::{Duration, Instant};

use p4runtime::proto::v1;
use rand::RngExt as _;

use crate::error::DutError;
use crate::live::{Flow, Outcome, Traffic};
use crate::outlet::Outlet;
use crate::tag::Tag;

/// A packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// A reading of the clock before the packet was sent.
    pub(crate) sent: Duration,
    /// A reading of the clock after the packet was received; `None` if it has not arrived.
    pub(crate) arrived: Option<Duration>,
}

/// The interfaces, the flow, and the packets since the last start.
pub(crate) struct PacketStream {
    outlets: Vec<Outlet>,
    flow: Flow<v1::TableEntry>,
    /// The entries of other tables that the packets need.
    beside: Vec<v1::TableEntry>,
    /// The port by which the packets leave.
    leaves: u32,
    /// The random number by which packets of this measurement are recognised.
    key: u64,
    clock: Instant,
    /// The number of the first packet since the last start.
    first: u64,
    packets: Vec<Packet>,
}

impl PacketStream {
    /// Opens the interfaces, and takes a flow whose packets leave the switch if its entry is there.
    pub(crate) fn open(traffic: &Traffic) -> Result<Self, DutError> {
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
            clock: Instant::now(),
            first: 0,
            packets: Vec::new(),
        })
    }

    /// Returns the entries that the packets need, in the order in which they are inserted. The last
    /// one is that of the flow.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &v1::TableEntry> {
        self.beside.iter().chain([&self.flow.first])
    }

    /// Begins again without packets, at the time zero.
    pub(crate) fn start(&mut self) {
        self.first += self.packets.len() as u64;
        self.packets.clear();
        self.clock = Instant::now();
    }

    /// Returns the time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Returns the packets in the order in which they were sent.
    pub(crate) fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Sends a packet, unless the queue of the interface is full.
    pub(crate) fn send(&mut self) -> Result<(), DutError> {
        let mut frame = self.flow.packet.clone();
        let number = self.first + self.packets.len() as u64;
        Tag { key: self.key, number }.write(&mut frame);
        let port = self.flow.port;
        let outlet = Outlet::find(&mut self.outlets, port)?;
        let sent = self.clock.elapsed();
        if outlet.send(&frame)? {
            self.packets.push(Packet { sent, arrived: None });
        }
        Ok(())
    }

    /// Records the packets that have left the switch by their port.
    pub(crate) fn receive(&mut self) -> Result<(), DutError> {
        for outlet in &mut self.outlets {
            let is_right = outlet.number() == self.leaves;
            let frames = outlet.receive()?;
            let now = self.clock.elapsed();
            for frame in frames.frames().iter().filter(|_| is_right) {
                let tag = Tag::read(frame.bytes()).filter(|tag| tag.key == self.key);
                let place = tag.and_then(|tag| tag.number.checked_sub(self.first));
                let place = place.and_then(|place| usize::try_from(place).ok());
                if let Some(packet) = place.and_then(|place| self.packets.get_mut(place)) {
                    packet.arrived.get_or_insert(now);
                }
            }
        }
        Ok(())
    }
}
