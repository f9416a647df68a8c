//! The elements of a network (servers, flows and links) and the errors of networks.

use std::fmt;

use crate::excerpt::excerpt;
use crate::{Curve, Rational};

/// The id of a server: its index in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct ServerId(u32);

/// The id of a flow: its index in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowId(u32);

macro_rules! id {
    ($name:ident) => {
        impl $name {
            /// Returns the index of the element in its network, from 0.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            pub(crate) fn new(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }
    };
}

id!(ServerId);
id!(FlowId);

/// The priority of a flow at servers with static-priority multiplexing: 0 is the most urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(pub u32);

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The order in which a server serves data of different flows. Data of one flow always stay in
/// order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum Multiplexing {
    /// Data are served in the order of arrival.
    #[default]
    Fifo,
    /// Data are served in any order ("blind" multiplexing), so bounds hold for every
    /// work-conserving scheduler.
    Arbitrary,
    /// Flows are served by [`Priority`], non-preemptively. A flow waits for less urgent flows only
    /// while a packet of theirs is being sent. Within a priority, data are served in the order of
    /// arrival.
    StaticPriority,
}

impl fmt::Display for Multiplexing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fifo => "FIFO",
            Self::Arbitrary => "arbitrary",
            Self::StaticPriority => "static priority",
        })
    }
}

/// A regulator after a server. It delays packets until their flows conform to the arrival curves of
/// their sources again, as the asynchronous traffic shaping of IEEE 802.1Qcr does.
///
/// A regulator does not increase the worst-case delay if everything between the last regulation of
/// its flows and itself preserves the order of their packets (Le Boudec, "A theory of traffic
/// regulators for deterministic networks with application to interleaved regulators", IEEE/ACM
/// Transactions on Networking 26, 2018, theorems 4 and 5). Otherwise there is no bound, and
/// analyses return an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Regulator {
    /// A queue for each flow. The data of one flow are always in order.
    PerFlow,
    /// One queue for all flows of a priority that continue to the same server. Only the first
    /// packet in the queue is examined. The flows must have taken the same path, over FIFO servers,
    /// since their last regulation or since their sources.
    Interleaved,
}

/// A system that serves data: an output port, a link, a processor.
#[derive(Clone, Debug)]
pub struct Server {
    /// The name of the server, unique among servers.
    pub name: String,
    /// The service curve: a lower bound on the data that the server serves over time.
    pub service: Curve,
    /// Whether `service` is a strict service curve, which holds in every interval in which the
    /// server is backlogged. Bounds for arbitrary multiplexing and for priorities need a strict
    /// service curve. Bounds for FIFO do not.
    pub strict: bool,
    /// The maximum service curve, if any: an upper bound on the data of all flows together that the
    /// server serves.
    pub maximum_service: Option<Curve>,
    /// The shaping curve, if any: an arrival curve of the server's output, such as the rate of its
    /// link.
    pub shaping: Option<Curve>,
    /// The order in which the server serves data of different flows.
    pub multiplexing: Multiplexing,
    /// Whether the server sends whole packets: all bits of a packet leave together with its last
    /// bit.
    pub packetizer: bool,
    /// The regulator after this server, which delays packets on their way to the next server.
    pub regulator: Option<Regulator>,
    /// Whether the server eliminates copies on their arrival: of each packet of replicated flows,
    /// only the first copy is served (packet elimination of IEEE 802.1CB and of RFC 8655).
    pub eliminates: bool,
}

impl Server {
    /// Creates a FIFO server with a strict service curve and no other properties.
    pub fn new(name: impl Into<String>, service: Curve) -> Self {
        Self {
            name: name.into(),
            service,
            strict: true,
            maximum_service: None,
            shaping: None,
            multiplexing: Multiplexing::default(),
            packetizer: false,
            regulator: None,
            eliminates: false,
        }
    }

    /// Returns the server with elimination of copies on their arrival ([`Server::eliminates`]).
    pub fn eliminating(self) -> Self {
        Self { eliminates: true, ..self }
    }

    /// Returns the server with a regulator after it, in front of the next server.
    pub fn regulated(self, regulator: Regulator) -> Self {
        Self { regulator: Some(regulator), ..self }
    }

    /// Returns the server with the given order of service.
    pub fn multiplexed(self, multiplexing: Multiplexing) -> Self {
        Self { multiplexing, ..self }
    }

    /// Returns the server with a shaping curve for its output.
    pub fn shaped(self, shaping: Curve) -> Self {
        Self { shaping: Some(shaping), ..self }
    }
}

/// A flow of data that passes servers in a fixed order.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The name of the flow, unique among flows.
    pub name: String,
    /// The servers in the order in which the flow visits them.
    pub path: Vec<ServerId>,
    /// The arrival curve of the flow at its first server.
    pub arrival: Curve,
    /// The priority of the flow at servers with static-priority multiplexing.
    pub priority: Priority,
    /// The size of the flow's largest packet, or 0 for a fluid.
    pub maximum_packet: Rational,
    /// The delay that the flow must not exceed, or `None` if there is no such requirement. No bound
    /// depends on it.
    pub maximum_delay: Option<Rational>,
    /// The multicast group, if any. Flows of one group carry the same data to several destinations.
    /// Where they share their path from the source on, they count once.
    pub multicast: Option<String>,
    /// The replication group, if any. Flows of one group carry copies of the same packets on
    /// several paths. Where they meet at a server that eliminates copies, only the first copy of
    /// each packet continues.
    pub replicated: Option<String>,
}

impl Flow {
    /// Creates a fluid flow with the most urgent priority.
    pub fn new(name: impl Into<String>, path: Vec<ServerId>, arrival: Curve) -> Self {
        Self {
            name: name.into(),
            path,
            arrival,
            priority: Priority::default(),
            maximum_packet: Rational::ZERO,
            maximum_delay: None,
            multicast: None,
            replicated: None,
        }
    }

    /// Returns the flow as one of the copies in a replication group.
    pub fn replicated(self, group: impl Into<String>) -> Self {
        Self { replicated: Some(group.into()), ..self }
    }

    /// Returns the flow as a member of a multicast group.
    pub fn multicast(self, group: impl Into<String>) -> Self {
        Self { multicast: Some(group.into()), ..self }
    }

    /// Returns the flow with the given priority.
    pub fn prioritised(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }
}

/// A connection from one server to the next that has a shaping curve for the flows over it.
#[derive(Clone, Debug)]
pub struct Link {
    /// The server before the link.
    pub from: ServerId,
    /// The server after the link.
    pub to: ServerId,
    /// The arrival curve that all flows over the link together obey.
    pub shaping: Curve,
}

/// An element of a network that has curves: a server, a flow or a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// A server.
    Server(ServerId),
    /// A flow.
    Flow(FlowId),
    /// A link, from one server to the next.
    Link(ServerId, ServerId),
}

/// The reason why servers, flows and links are not a valid network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The network has no server or no flow. The text says which of them is missing.
    #[error("the network has no {0}; give at least one")]
    Nothing(&'static str),
    /// Two servers, or two flows, have the same name.
    #[error("two {kind}s are named '{}'; rename one", excerpt(.name))]
    Duplicate {
        /// The kind of the two elements, such as "server" or "flow".
        kind: &'static str,
        /// The name that both have.
        name: String,
    },
    /// A path names a server that does not exist.
    #[error(
        "flow '{}' visits server '{}', which is not in the network",
        excerpt(.flow),
        excerpt(.server)
    )]
    MissingServer {
        /// The flow whose path names the server.
        flow: String,
        /// The server that does not exist.
        server: String,
    },
    /// The path of this flow is empty.
    #[error("flow '{}' has an empty path; name the servers that it visits", excerpt(.0))]
    EmptyPath(String),
    /// The path of a flow visits a server twice.
    #[error(
        "flow '{}' visits server '{}' twice; a path visits each server once, so give the second \
         pass a server of its own",
        excerpt(.flow),
        excerpt(.server)
    )]
    CyclicPath {
        /// The flow that visits the server twice.
        flow: String,
        /// The server that is visited twice.
        server: String,
    },
    /// A curve of an element cannot be used as that kind of curve.
    #[error("the {curve} of {owner} {fault}")]
    Curve {
        /// The kind of curve for which it is invalid, such as "arrival curve".
        curve: &'static str,
        /// The element that has the curve.
        owner: String,
        /// The fault of the curve and its remedy.
        fault: &'static str,
    },
    /// Flows of one multicast group differ, so they cannot carry the same data.
    #[error(
        "flows '{}' and '{}' of the multicast group '{}' differ in where they begin, their arrival \
         curves, priorities or packets; they are the same data",
        excerpt(.first), excerpt(.second), excerpt(.group)
    )]
    Multicast {
        /// A flow of the multicast group.
        first: String,
        /// Another flow of the group, which differs from the first.
        second: String,
        /// The multicast group.
        group: String,
    },
    /// A flow cannot be a copy of another flow of its group.
    #[error("flow '{}' of the replicated group '{}' {fault}", excerpt(.flow), excerpt(.group))]
    Replicated {
        /// The flow that cannot be a copy.
        flow: String,
        /// The replication group.
        group: String,
        /// The fault of the flow and its remedy.
        fault: &'static str,
    },
    /// A regulator would block the packets of a flow for ever, because the arrival curve never
    /// allows the largest packet.
    #[error(
        "the regulator behind server '{}' never lets the largest packet of flow '{}' pass, since its arrival curve has a \
         smaller burst; raise the burst to the maximum packet",
        excerpt(.server),
        excerpt(.flow)
    )]
    Unregulable {
        /// The flow whose packets are blocked.
        flow: String,
        /// The server in front of the regulator.
        server: String,
    },
    /// The largest packet of this flow has a negative size.
    #[error("the maximum packet size of flow '{}' is negative", excerpt(.0))]
    Packet(String),
    /// A link connects two servers that no flow visits one directly after the other.
    #[error("the link from '{}' to '{}' is on no flow's path", excerpt(.from), excerpt(.to))]
    UnusedLink {
        /// The server before the link.
        from: String,
        /// The server after the link.
        to: String,
    },
    /// A flow passes a port that does not fit it.
    #[error("flow '{}' passes port '{}' {fault}", excerpt(.flow), excerpt(.port))]
    Port {
        /// The flow that passes the port.
        flow: String,
        /// The port that does not fit the flow.
        port: String,
        /// The fault of the flow and its remedy.
        fault: &'static str,
    },
    /// Two links connect the same servers.
    #[error(
        "there are two links from '{}' to '{}'; join them into one",
        excerpt(.from),
        excerpt(.to)
    )]
    DoubleLink {
        /// The server before the links.
        from: String,
        /// The server after the links.
        to: String,
    },
}

/// A unit for the display of times or data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The name of the unit, such as `us`.
    pub name: String,
    /// The size of the unit in seconds or bits.
    pub size: Rational,
}

impl Unit {
    pub(super) fn base(name: &str) -> Self {
        Self { name: name.to_owned(), size: Rational::ONE }
    }
}
