//! The packets and entries of a measurement of the slow path.

use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1;

use crate::live::Wire;
use crate::tag::TAG;

/// A packet that crosses the control channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The port of the switch by which the packet enters, or by which a packet of the controller
    /// leaves.
    pub port: u32,
    /// The packet. Its last 16 bytes carry its identity, and the switch does not change them.
    pub packet: Vec<u8>,
}

/// A flow whose packets go to the controller until an entry forwards them. `E` is an entry of a
/// table, as the protocol of the switch expresses it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReactiveFlow<E> {
    /// The port by which the packets enter the switch.
    pub port: u32,
    /// A packet of the flow. Its last 16 bytes carry its identity.
    pub packet: Vec<u8>,
    /// The entry that sends the packets to the controller, which `entry` replaces by a
    /// modification. `None` if they go there without an entry, and `entry` is inserted.
    pub before: Option<E>,
    /// The entry that forwards the packets.
    pub entry: E,
    /// The port by which the packets leave then.
    pub egress: u32,
}

impl<E> ReactiveFlow<E> {
    /// Returns the entry of the flow that is inserted first.
    pub(super) fn first_entry(&self) -> &E {
        self.before.as_ref().unwrap_or(&self.entry)
    }

    /// Returns whether the packets of a route belong to this flow.
    fn has(&self, route: &Route) -> bool {
        let body = |packet: &[u8]| packet.len().saturating_sub(TAG);
        self.packet.get(..body(&self.packet)) == route.packet.get(..body(&route.packet))
    }
}

/// The packets of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets<E> {
    /// The packet that the switch passes to the controller; `None` if there is no such packet.
    pub to_controller: Option<Route>,
    /// The packet that the controller makes the switch send; `None` if there is no such packet.
    pub from_controller: Option<Route>,
    /// The flows to whose first packets the controller reacts, one after the other, and again from
    /// the first one on if there are fewer than reactions.
    pub flows: Vec<ReactiveFlow<E>>,
}

impl<E> Packets<E> {
    /// Returns an entry that can be inserted and deleted while the packets of a route go to the
    /// controller, since they do not belong to its flow.
    pub(super) fn unrelated_entry(&self, route: &Route) -> Option<&E> {
        let flow = self.flows.iter().rev().find(|flow| !flow.has(route));
        flow.map(ReactiveFlow::first_entry)
    }

    /// Returns whether there is no packet, so that nothing can be measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.to_controller.is_none() && self.from_controller.is_none() && self.flows.is_empty()
    }
}

/// The packets and entries of a measurement over P4Runtime.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The program from which they were made, which the switch must run.
    pub p4info: P4Info,
    /// The ports that are connected to this machine.
    pub wires: Vec<Wire>,
    /// The entries that are in the switch during the whole measurement, in the order of
    /// installation.
    pub beside: Vec<v1::TableEntry>,
    /// The default entry that sends packets to the controller; `None` if none has to be changed.
    pub default_entry: Option<v1::TableEntry>,
    /// The packets.
    pub packets: Packets<v1::TableEntry>,
    /// The metadata with which packets of the controller leave by the port of their route.
    pub metadata: Vec<v1::PacketMetadata>,
    /// Sentences that say which part cannot be measured and why.
    pub lacks: Vec<String>,
}
