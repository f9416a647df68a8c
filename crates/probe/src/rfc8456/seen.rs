//! The events that a test observes at the controller and in the network, and the orders that a test
//! gives.

use crate::topology::Port;
use crate::traffic::{Host, PacketId, RunKey, is_discovery, read_id};

/// An observed event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The time of the event, in nanoseconds on the trial's clock.
    pub(crate) at: u64,
    /// The kind of event.
    pub(crate) what: What,
}

/// The kind of an observed event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// The session of a switch with a controller is open.
    Ready { switch: u32, controller: usize },
    /// The session of a switch has ended or could not be opened, or a P4Runtime switch refused a
    /// pipeline.
    Lost { switch: u32, controller: usize, was_ready: bool, reason: String },
    /// A switch sent a frame for link discovery on behalf of the controller.
    DiscoverySent { switch: u32 },
    /// A frame for link discovery arrived at a port of a switch, which sent it to the controller.
    Discovered { switch: u32, port: u16 },
    /// A switch sent a packet to the controller. The ID is `None` if the packet does not belong to
    /// the test.
    PacketIn { switch: u32, id: Option<PacketId> },
    /// A switch sent a packet of the test on behalf of the controller.
    PacketOut { switch: u32, id: PacketId },
    /// The controller changed flow rules. The fields are the numbers of rules.
    Rules { installed: u32, removed: u32, refused: u32 },
    /// A packet of the test crossed the link at a port.
    Crossed { switch: u32, port: u16, id: PacketId },
    /// A packet of the test left the network by a port at which there is a host, not a link.
    Delivered { switch: u32, port: u16, id: PacketId, to: [u8; 6] },
    /// A switch notified its controller that one of its links has gone up or down.
    LinkTold { switch: u32 },
    /// The northbound interface reported the size of the topology, in which each direction of a
    /// link counts.
    Topology(Result<Census, String>),
    /// A request to provision a path at the northbound interface has been answered. `asked_at` is
    /// the time of the request.
    Provisioned { flow: u32, asked_at: u64, outcome: Result<(), String> },
    /// The northbound interface reported the number of flow entries.
    Flows(Result<u64, String>),
    /// The command that stops the active controller has completed, or has failed.
    Failed(Result<(), String>),
}

impl What {
    /// Returns the event for a packet that a switch has sent on behalf of the controller, or `None`
    /// if the packet has nothing to do with the test.
    pub(crate) fn of_packet_out(switch: u32, packet: &[u8], key: RunKey) -> Option<Self> {
        match is_discovery(packet) {
            true => Some(Self::DiscoverySent { switch }),
            false => read_id(packet, key).map(|id| Self::PacketOut { switch, id }),
        }
    }
}

/// The size of the topology that a controller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// The number of switches.
    pub switches: u64,
    /// The number of links. Each direction counts as one.
    pub links: u64,
}

/// An order that a test gives to the edge or to the emulated network.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// The edge connects a switch to all controllers. A P4Runtime switch begins to listen.
    Connect { switch: u32 },
    /// A host sends a packet.
    Send { host: Host, frame: Vec<u8> },
    /// The edge takes a link down or brings it up.
    Link { switch: u32, port: Port, is_up: bool },
    /// The edge switches a switch off or on.
    Power { switch: u32, is_on: bool },
    /// A switch sends its controller the invalid message with the number `number` in a fixed
    /// series.
    Invalid { switch: u32, number: u64 },
    /// The edge queries the northbound interface for the topology.
    AskTopology,
    /// The edge queries the northbound interface, or the switches, for the number of flow entries.
    AskFlows,
    /// The edge makes the northbound interface provision a path.
    Provision { flow: u32, path: Vec<Hop> },
    /// The edge stops the active controller.
    Fail,
    /// The edge opens a connection to the controller that does not belong to any switch, and closes
    /// it without using it.
    Attack,
}

/// A flow rule of a path: packets from one address to another that arrive at one port leave by
/// another port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) switch: u32,
    pub(crate) in_port: u16,
    pub(crate) out_port: u16,
    pub(crate) source: [u8; 6],
    pub(crate) destination: [u8; 6],
}
