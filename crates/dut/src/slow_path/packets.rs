//! The packets and entries of a measurement of the slow path.

use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1;

use crate::live::Wire;
use crate::tag::TAG;

/// A packet that crosses the control channel, and the port of the switch that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The port of the switch by which the packet enters if it goes to the controller, or leaves if
    /// it comes from the controller.
    pub port: u32,
    /// The bytes of the packet. The last 16 carry the packet's identity, so the switch must not
    /// change them.
    pub packet: Vec<u8>,
}

/// A flow whose packets go to the controller until the controller writes an entry that forwards
/// them. `E` is the type of a table entry in the protocol of the switch.
#[derive(Clone, Debug, PartialEq)]
pub struct ReactiveFlow<E> {
    /// The port by which the packets enter the switch.
    pub port: u32,
    /// A packet of the flow. Its last 16 bytes carry the identity of the packet.
    pub packet: Vec<u8>,
    /// The entry that sends the flow's packets to the controller. The controller modifies it into
    /// `entry`. `None` if the packets go to the controller without an entry, and `entry` is
    /// inserted.
    pub before: Option<E>,
    /// The entry that forwards the flow's packets.
    pub entry: E,
    /// The port by which the packets leave the switch when they are forwarded.
    pub egress: u32,
}

impl<E> ReactiveFlow<E> {
    /// Returns the entry with which the flow begins: the one that sends its packets to the
    /// controller if there is one, and otherwise the one that forwards them.
    pub(super) fn first_entry(&self) -> &E {
        self.before.as_ref().unwrap_or(&self.entry)
    }

    /// Returns whether the packets of a route belong to this flow.
    fn has(&self, route: &Route) -> bool {
        let body = |packet: &[u8]| packet.len().saturating_sub(TAG);
        self.packet.get(..body(&self.packet)) == route.packet.get(..body(&route.packet))
    }
}

/// The packets of a measurement of the slow path. `E` is the type of a table entry in the protocol
/// of the switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets<E> {
    /// The packet that the switch passes to the controller; `None` if there is no such packet.
    pub to_controller: Option<Route>,
    /// The packet that the controller makes the switch send; `None` if there is no such packet.
    pub from_controller: Option<Route>,
    /// The flows to whose first packets the controller reacts, one after the other. If more
    /// reactions are measured than there are flows, the flows are used again from the beginning.
    pub flows: Vec<ReactiveFlow<E>>,
}

impl<E> Packets<E> {
    /// Returns an entry that can be inserted and deleted while the packets of a route go to the
    /// controller, because it belongs to another flow.
    pub(super) fn unrelated_entry(&self, route: &Route) -> Option<&E> {
        let flow = self.flows.iter().rev().find(|flow| !flow.has(route));
        flow.map(ReactiveFlow::first_entry)
    }

    /// Returns whether there are no packets at all, so that nothing can be measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.to_controller.is_none() && self.from_controller.is_none() && self.flows.is_empty()
    }
}

/// The packets and entries of a measurement over P4Runtime.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The program for which the packets were generated. The switch must run it.
    pub p4info: P4Info,
    /// The ports of the switch that are connected to this machine.
    pub wires: Vec<Wire>,
    /// The entries that are in the switch during the whole measurement, in the order of insertion.
    pub beside: Vec<v1::TableEntry>,
    /// The default entry that makes the switch send packets to the controller; `None` if no default
    /// entry must be changed.
    pub default_entry: Option<v1::TableEntry>,
    /// The packets that cross the control channel, and the flows to which the controller reacts.
    pub packets: Packets<v1::TableEntry>,
    /// The metadata of packet-outs that makes packets leave by the port of their route.
    pub metadata: Vec<v1::PacketMetadata>,
    /// Sentences that name each part that cannot be measured, and why.
    pub lacks: Vec<String>,
}
