//! What a test sees of controller and network, and what it has done.

use crate::topology::Port;
use crate::traffic::{Host, PacketId, RunKey, is_discovery, read_id};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// When, in nanoseconds on the trial's clock.
    pub(crate) at: u64,
    /// What.
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// The session of a switch with a controller is open.
    Ready { switch: u32, controller: usize },
    /// It is not any more, or could not be opened.
    Lost { switch: u32, controller: usize, was_ready: bool, reason: String },
    /// The controller had a switch send a discovery frame.
    DiscoverySent { switch: u32 },
    /// A discovery frame came in by a port and went to the controller.
    Discovered { switch: u32, port: u16 },
    /// A packet went to the controller; without id it is none of the test's.
    PacketIn { switch: u32, id: Option<PacketId> },
    /// The controller sent a packet of the test.
    PacketOut { switch: u32, id: PacketId },
    /// The controller changed rules.
    Rules { installed: u32, removed: u32, refused: u32 },
    /// A packet of the test crossed the link at a port.
    Crossed { switch: u32, port: u16, id: PacketId },
    /// A packet of the test left by a port to a host.
    Delivered { switch: u32, port: u16, id: PacketId, to: [u8; 6] },
    /// A switch told its controller that a link changed.
    LinkTold { switch: u32 },
    /// What the northbound interface says about the topology: links in one direction each.
    Topology(Result<Census, String>),
    /// The northbound interface was told of a path: when that began, and whether it took it.
    Provisioned { flow: u32, asked_at: u64, outcome: Result<(), String> },
    /// How many entries the northbound interface says there are.
    Flows(Result<u64, String>),
    /// The command that ends the active controller has begun.
    Failed(Result<(), String>),
}

impl What {
    /// What it means that the controller had a switch send a packet, if it means anything to a test.
    pub(crate) fn of_packet_out(switch: u32, packet: &[u8], key: RunKey) -> Option<Self> {
        match is_discovery(packet) {
            true => Some(Self::DiscoverySent { switch }),
            false => read_id(packet, key).map(|id| Self::PacketOut { switch, id }),
        }
    }
}

/// How large the topology is that a controller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Switches.
    pub switches: u64,
    /// Links, of which each direction counts.
    pub links: u64,
}

/// What a test has done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// A switch is to connect to all controllers.
    Connect { switch: u32 },
    /// A host sends a packet.
    Send { host: Host, frame: Vec<u8> },
    /// A link goes down or comes up.
    Link { switch: u32, port: Port, is_up: bool },
    /// A switch is switched off or on.
    Power { switch: u32, is_on: bool },
    /// A switch sends its controller a message that is wrong in the `number`-th way.
    Invalid { switch: u32, number: u64 },
    /// The northbound interface is asked for the topology.
    AskTopology,
    /// The northbound interface is asked for the number of flows.
    AskFlows,
    /// The northbound interface is told of a path.
    Provision { flow: u32, path: Vec<Hop> },
    /// The active controller is ended.
    Fail,
    /// A connection to the controller is opened, and closed at once, by nobody's switch.
    Attack,
}

/// A rule on a path: packets between two addresses that come in by a port leave by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) switch: u32,
    pub(crate) in_port: u16,
    pub(crate) out_port: u16,
    pub(crate) source: [u8; 6],
    pub(crate) destination: [u8; 6],
}
