//! What a network is made of: servers, flows and links, with what is wrong with them if they are none.

use std::fmt;

use crate::excerpt::excerpt;
use crate::{Curve, Rational};

/// A server, by its place in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct ServerId(u32);

/// A flow, by its place in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowId(u32);

macro_rules! id {
    ($name:ident) => {
        impl $name {
            /// The place in the network, from 0.
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

/// Urgency of a flow at servers that serve by static priority: 0 is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(pub u32);

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// In which order a server serves data of different flows. Data of one flow always stay in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum Multiplexing {
    /// In the order of arrival.
    #[default]
    Fifo,
    /// In any order ("blind"); bounds hold for every scheduler that is work-conserving.
    Arbitrary,
    /// By [`Priority`], the more urgent flow first and never behind a less urgent one, except
    /// behind one packet that is already on its way; in the order of arrival within a priority.
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

/// What delays packets until the flows behind a server keep the arrival curves of their sources again,
/// as the asynchronous traffic shaping of IEEE 802.1Qcr does.
///
/// A regulator comes for free where all that lies between the last regulation of its flows and
/// itself keeps the order of its packets: nothing takes longer through both than it may take
/// without the regulator (Le Boudec, "A theory of traffic regulators for deterministic networks
/// with application to interleaved regulators", IEEE/ACM Transactions on Networking 26, 2018,
/// theorems 4 and 5). Elsewhere there is no bound, and analyses say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Regulator {
    /// A queue for each flow, whose data are in order in front of it in any case.
    PerFlow,
    /// One queue for all flows of a priority that go on to the same server; only its first packet
    /// is looked at. They must have come the same way since they were regulated last, or since
    /// their sources, over servers that serve in the order of arrival.
    Interleaved,
}

/// Something that serves data: an output port, a link, a processor.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name, unique among servers.
    pub name: String,
    /// Minimum service curve: data served at least, over time.
    pub service: Curve,
    /// Whether `service` is strict, that is, holds in every interval in which the server has work.
    /// Bounds for arbitrary multiplexing and priorities need that; those for FIFO do not.
    pub strict: bool,
    /// Maximum service curve: data of all flows together served at most.
    pub maximum_service: Option<Curve>,
    /// Shaping curve: whatever leaves the server obeys it, such as the rate of its link.
    pub shaping: Option<Curve>,
    /// Order of service.
    pub multiplexing: Multiplexing,
    /// Whether data leave in whole packets, the last bit of one at the time of all of it.
    pub packetizer: bool,
    /// What regulates flows between this server and the next.
    pub regulator: Option<Regulator>,
    /// Whether of packets of replicated flows that come to it only the first copy goes on (packet elimination of
    /// IEEE 802.1CB and of RFC 8655).
    pub eliminates: bool,
}

impl Server {
    /// A FIFO server with a strict minimum service curve and nothing else.
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

    /// The same with elimination of copies before it.
    pub fn eliminating(self) -> Self {
        Self { eliminates: true, ..self }
    }

    /// The same with a regulator behind it.
    pub fn regulated(self, regulator: Regulator) -> Self {
        Self { regulator: Some(regulator), ..self }
    }

    /// The same with that order of service.
    pub fn multiplexed(self, multiplexing: Multiplexing) -> Self {
        Self { multiplexing, ..self }
    }

    /// The same with a shaping curve.
    pub fn shaped(self, shaping: Curve) -> Self {
        Self { shaping: Some(shaping), ..self }
    }
}

/// Data on their way through servers.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name, unique among flows.
    pub name: String,
    /// Servers in the order in which it visits them.
    pub path: Vec<ServerId>,
    /// Arrival curve at the first server.
    pub arrival: Curve,
    /// Urgency at servers that serve by static priority.
    pub priority: Priority,
    /// Size of its largest packet; 0 for a fluid.
    pub maximum_packet: Rational,
    /// The delay that it may have at most, if something is required of it. No bound depends on it.
    pub maximum_delay: Option<Rational>,
    /// The group that it belongs to: flows of one group are the same data on their way to several
    /// ends, and are there once as long as they have gone the same way.
    pub multicast: Option<String>,
    /// The group that it belongs to: flows of one group are copies of the same packets on several ways. Where they come
    /// together at a server that eliminates, one copy goes on, whichever comes first.
    pub replicated: Option<String>,
}

impl Flow {
    /// A fluid flow.
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

    /// The same as one copy of a group.
    pub fn replicated(self, group: impl Into<String>) -> Self {
        Self { replicated: Some(group.into()), ..self }
    }

    /// The same as a part of a multicast group.
    pub fn multicast(self, group: impl Into<String>) -> Self {
        Self { multicast: Some(group.into()), ..self }
    }

    /// The same with that urgency.
    pub fn prioritised(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }
}

/// A connection from one server to the next that shapes what flows over it.
#[derive(Clone, Debug)]
pub struct Link {
    /// From.
    pub from: ServerId,
    /// To.
    pub to: ServerId,
    /// All flows over the link together obey this curve.
    pub shaping: Curve,
}

/// What has curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// A server.
    Server(ServerId),
    /// A flow.
    Flow(FlowId),
    /// A link, from one server to the next.
    Link(ServerId, ServerId),
}

/// Why servers, flows and links are no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is nothing to bound.
    #[error("the network has no {0}; give at least one")]
    Nothing(&'static str),
    /// Two servers, or two flows, have one name.
    #[error("two {kind}s are named '{}'; rename one", excerpt(.name))]
    Duplicate {
        /// Server or flow.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A path names a server that is not there.
    #[error(
        "flow '{}' visits server '{}', which is not in the network",
        excerpt(.flow),
        excerpt(.server)
    )]
    MissingServer {
        /// The flow.
        flow: String,
        /// The server.
        server: String,
    },
    /// A flow visits nothing.
    #[error("flow '{}' has an empty path; name the servers that it visits", excerpt(.0))]
    EmptyPath(String),
    /// A flow comes back to a server.
    #[error(
        "flow '{}' visits server '{}' twice; a path visits each server once, so give the second \
         pass a server of its own",
        excerpt(.flow),
        excerpt(.server)
    )]
    CyclicPath {
        /// The flow.
        flow: String,
        /// The server.
        server: String,
    },
    /// A curve cannot be what it stands for.
    #[error("the {curve} of {owner} {fault}")]
    Curve {
        /// Which curve.
        curve: &'static str,
        /// Whose.
        owner: String,
        /// What is wrong and what to do.
        fault: &'static str,
    },
    /// Flows of one multicast group are not the same data.
    #[error(
        "flows '{}' and '{}' of the multicast group '{}' differ in where they begin, their arrival \
         curves, priorities or packets; they are the same data",
        excerpt(.first), excerpt(.second), excerpt(.group)
    )]
    Multicast {
        /// A flow.
        first: String,
        /// Another one.
        second: String,
        /// Their group.
        group: String,
    },
    /// A flow is no copy of another of its group.
    #[error("flow '{}' of the replicated group '{}' {fault}", excerpt(.flow), excerpt(.group))]
    Replicated {
        /// The flow.
        flow: String,
        /// Its group.
        group: String,
        /// What is wrong and what to do.
        fault: &'static str,
    },
    /// A regulator would hold back the packets of a flow for ever.
    #[error(
        "the regulator behind server '{}' never lets the largest packet of flow '{}' pass, since its arrival curve has a \
         smaller burst; raise the burst to the maximum packet",
        excerpt(.server),
        excerpt(.flow)
    )]
    Unregulable {
        /// The flow.
        flow: String,
        /// The server in front of the regulator.
        server: String,
    },
    /// A packet size is negative.
    #[error("the maximum packet size of flow '{}' is negative", excerpt(.0))]
    Packet(String),
    /// A link connects servers that no flow visits one after the other.
    #[error("the link from '{}' to '{}' is on no flow's path", excerpt(.from), excerpt(.to))]
    UnusedLink {
        /// From.
        from: String,
        /// To.
        to: String,
    },
    /// A flow passes a port that is not for it.
    #[error("flow '{}' passes port '{}' {fault}", excerpt(.flow), excerpt(.port))]
    Port {
        /// The flow.
        flow: String,
        /// The port.
        port: String,
        /// What is wrong and what to do.
        fault: &'static str,
    },
    /// Two links connect the same servers.
    #[error(
        "there are two links from '{}' to '{}'; join them into one",
        excerpt(.from),
        excerpt(.to)
    )]
    DoubleLink {
        /// From.
        from: String,
        /// To.
        to: String,
    },
}

/// A unit in which people want to read times or data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name, such as `us`.
    pub name: String,
    /// Its size in seconds or bits.
    pub size: Rational,
}

impl Unit {
    pub(super) fn base(name: &str) -> Self {
        Self { name: name.to_owned(), size: Rational::ONE }
    }
}
