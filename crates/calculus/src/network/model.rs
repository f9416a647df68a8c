//! Servers, flows and links.
//!
//! A [`Network`] can only be had from a [`NetworkBuilder`], which checks it once: names are unique,
//! paths exist and visit no server twice, curves are non-negative and non-decreasing. Analyses rely
//! on that and check nothing again. Two things are no faults of a network and are left to those who
//! ask: whether servers are overloaded ([`Network::loads`]), and whether flows depend on each other
//! in a circle ([`Network::order`]), because some analyses can deal with that.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::clocks::Clocks;
use super::copies::Copies;
use super::operations;
use super::port::{Port, PortError, Ports};
use crate::excerpt::excerpt;
use crate::{Curve, Extended, Rational};

/// Servers of a path in which a place is looked for rather than remembered.
const SHORT: usize = 16;

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
    fn base(name: &str) -> Self {
        Self { name: name.to_owned(), size: Rational::ONE }
    }
}

/// Collects servers, flows and links.
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    name: String,
    servers: Vec<Server>,
    flows: Vec<Flow>,
    links: Vec<Link>,
    ports: Ports,
    outlined: Vec<Part>,
    notes: Vec<String>,
    time_unit: Option<Unit>,
    data_unit: Option<Unit>,
}

impl NetworkBuilder {
    /// An empty network.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a server.
    pub fn server(&mut self, server: Server) -> ServerId {
        self.servers.push(server);
        ServerId::new(self.servers.len() - 1)
    }

    /// Adds a port: a server for each of its queues, with the classes that it is for.
    ///
    /// # Errors
    ///
    /// [`PortError`].
    pub fn port(&mut self, port: Port) -> Result<Vec<(ServerId, Vec<Priority>)>, PortError> {
        let mut placed = Vec::new();
        for queue in port.queues()? {
            let (classes, server) = queue.into_parts();
            placed.push((self.server(server), classes));
        }
        self.ports.add(port, placed.clone());
        Ok(placed)
    }

    /// Puts a regulator behind a server that was added, or takes it away; for the queues of ports.
    pub fn regulate(&mut self, server: ServerId, regulator: Option<Regulator>) {
        if let Some(server) = self.servers.get_mut(server.index()) {
            server.regulator = regulator;
        }
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId::new(self.flows.len() - 1)
    }

    /// Adds a link that shapes.
    pub fn link(&mut self, link: Link) {
        self.links.push(link);
    }

    /// Says that a curve of something stands in for one that is too long to compute with, on its safe side: above it for
    /// what bounds from above, below it for a service. Bounds hold; no run is built on such a curve.
    pub fn outlined(&mut self, part: Part) {
        self.outlined.push(part);
    }

    /// Notes what a reader of the bounds must know of how the network came about.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Sets the unit in which times are best read; seconds if it is never called.
    pub fn time_unit(&mut self, unit: Unit) {
        self.time_unit = Some(unit);
    }

    /// Sets the unit in which data are best read; bits if it is never called.
    pub fn data_unit(&mut self, unit: Unit) {
        self.data_unit = Some(unit);
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// The first fault, with the name of the server, flow or link.
    pub fn build(self) -> Result<Network, ModelError> {
        if self.servers.is_empty() {
            return Err(ModelError::Nothing("servers"));
        }
        if self.flows.is_empty() {
            return Err(ModelError::Nothing("flows"));
        }
        unique("server", self.servers.iter().map(|server| &server.name))?;
        unique("flow", self.flows.iter().map(|flow| &flow.name))?;
        for server in &self.servers {
            check_server(server)?;
        }
        let mut last_visits = vec![None; self.servers.len()];
        for (index, flow) in self.flows.iter().enumerate() {
            check_flow(flow, FlowId::new(index), &self.servers, &mut last_visits)?;
        }
        self.ports.check(&self.flows)?;
        for flow in &self.flows {
            check_regulable(flow, &self.servers)?;
        }
        let firsts = check_multicast(&self.flows)?;
        let copies = Copies::of(&self.flows, &self.servers)?;
        let mut turns = BTreeMap::<(ServerId, ServerId), Vec<FlowId>>::new();
        let mut crossing = vec![Vec::new(); self.servers.len()];
        let mut positions = HashMap::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let id = FlowId::new(index);
            // Where it is the same data as an earlier flow, that counts.
            let shared = shared_servers(flow, &self.flows[..index], &firsts);
            let own = copies.own(id, flow.path.len());
            let own = own.start.max(shared)..own.end;
            for (position, server) in flow.path.iter().enumerate() {
                if own.contains(&position) {
                    crossing[server.index()].push(id);
                }
                if flow.path.len() > SHORT {
                    positions.insert((id, *server), position);
                }
            }
            for turn in flow.path.windows(2).take(own.end).skip(own.start.saturating_sub(1)) {
                if let [from, to] = turn {
                    turns.entry((*from, *to)).or_default().push(id);
                }
            }
        }
        let mut successors = vec![Vec::new(); self.servers.len()];
        for (from, to) in turns.keys() {
            // What comes over a regulator does not depend on what was before it.
            if self.servers[from.index()].regulator.is_none() {
                successors[from.index()].push(*to);
            }
        }
        let mut links = BTreeMap::new();
        for link in self.links {
            let name = |id: ServerId| match self.servers.get(id.index()) {
                Some(server) => server.name.clone(),
                None => format!("#{}", id.index()),
            };
            let (from, to) = (name(link.from), name(link.to));
            if !turns.contains_key(&(link.from, link.to)) {
                return Err(ModelError::UnusedLink { from, to });
            }
            let owner = || format!("the link from '{}' to '{}'", excerpt(&from), excerpt(&to));
            check_curve("shaping curve", &link.shaping, owner)?;
            if let Some(server) = self.servers.get(link.from.index()) {
                check_above("shaping curve", &link.shaping, server, owner)?;
            }
            if links.insert((link.from, link.to), link.shaping).is_some() {
                return Err(ModelError::DoubleLink { from, to });
            }
        }
        Ok(Network {
            name: self.name,
            servers: self.servers,
            flows: self.flows,
            links,
            ports: self.ports,
            copies,
            outlined: self.outlined.into_iter().collect(),
            notes: self.notes,
            turns,
            successors,
            crossing,
            positions,
            time_unit: self.time_unit.unwrap_or_else(|| Unit::base("s")),
            data_unit: self.data_unit.unwrap_or_else(|| Unit::base("b")),
            outline: OnceLock::new(),
            is_outline: false,
            is_arrival_aware: false,
            clocked: None,
        })
    }
}

fn unique<'a>(
    kind: &'static str,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), ModelError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ModelError::Duplicate { kind, name: name.clone() });
        }
    }
    Ok(())
}

fn check_server(server: &Server) -> Result<(), ModelError> {
    let owner = || format!("server '{}'", excerpt(&server.name));
    check_curve("service curve", &server.service, owner)?;
    if let Some(curve) = &server.maximum_service {
        check_curve("maximum service curve", curve, owner)?;
        check_above("maximum service curve", curve, server, owner)?;
    }
    if let Some(curve) = &server.shaping {
        check_curve("shaping curve", curve, owner)?;
        check_above("shaping curve", curve, server, owner)?;
    }
    Ok(())
}

/// What limits the output must let through what the server promises: both cannot be true otherwise,
/// and a bound that uses both would be too small.
fn check_above(
    curve: &'static str,
    limit: &Curve,
    server: &Server,
    owner: impl Fn() -> String,
) -> Result<(), ModelError> {
    // Curves whose periods have no small common multiple cannot be compared; they are believed.
    if server.service.is_at_most(limit).unwrap_or(true) {
        return Ok(());
    }
    let fault = "is below its service curve somewhere: it cannot serve more than it lets out; lower \
                 the service curve, or give what shapes a server of its own";
    Err(ModelError::Curve { curve, owner: owner(), fault })
}

/// Checks a flow; `last_visits` has, for each server, the last of the flows so far that visits it.
fn check_flow(
    flow: &Flow,
    this: FlowId,
    servers: &[Server],
    last_visits: &mut [Option<FlowId>],
) -> Result<(), ModelError> {
    if flow.path.is_empty() {
        return Err(ModelError::EmptyPath(flow.name.clone()));
    }
    for id in &flow.path {
        let (Some(server), Some(last)) = (servers.get(id.index()), last_visits.get_mut(id.index()))
        else {
            let server = format!("#{}", id.index());
            return Err(ModelError::MissingServer { flow: flow.name.clone(), server });
        };
        if last.replace(this) == Some(this) {
            let (flow, server) = (flow.name.clone(), server.name.clone());
            return Err(ModelError::CyclicPath { flow, server });
        }
    }
    if flow.maximum_packet.is_negative() {
        return Err(ModelError::Packet(flow.name.clone()));
    }
    check_curve("arrival curve", &flow.arrival, || format!("flow '{}'", excerpt(&flow.name)))
}

/// Checks that the packets of a flow may pass the regulators on its path.
fn check_regulable(flow: &Flow, servers: &[Server]) -> Result<(), ModelError> {
    let Some((_, passed)) = flow.path.split_last() else { return Ok(()) };
    let burst = flow.arrival.right_limit_at(&Rational::ZERO);
    if burst >= Extended::from(&flow.maximum_packet) {
        return Ok(());
    }
    let mut passed = passed.iter().filter_map(|id| servers.get(id.index()));
    match passed.find(|server| server.regulator.is_some()) {
        Some(server) => {
            let (flow, server) = (flow.name.clone(), server.name.clone());
            Err(ModelError::Unregulable { flow, server })
        }
        None => Ok(()),
    }
}

/// The first flow of each multicast group.
fn check_multicast(flows: &[Flow]) -> Result<HashMap<&str, usize>, ModelError> {
    let mut firsts = HashMap::<&str, usize>::new();
    for (index, flow) in flows.iter().enumerate() {
        let Some(group) = &flow.multicast else { continue };
        let first = &flows[*firsts.entry(group).or_insert(index)];
        let same = first.path.first() == flow.path.first()
            && first.arrival == flow.arrival
            && first.priority == flow.priority
            && first.maximum_packet == flow.maximum_packet;
        if !same {
            let (first, second) = (first.name.clone(), flow.name.clone());
            return Err(ModelError::Multicast { first, second, group: group.clone() });
        }
    }
    Ok(firsts)
}

/// Servers at the beginning of a path at which an earlier flow is the same data.
fn shared_servers(flow: &Flow, earlier: &[Flow], firsts: &HashMap<&str, usize>) -> usize {
    let Some(group) = &flow.multicast else { return 0 };
    let first = firsts.get(group.as_str()).copied().unwrap_or(earlier.len());
    let others = earlier.iter().skip(first).filter(|other| other.multicast == flow.multicast);
    let common = |other: &Flow| {
        other.path.iter().zip(&flow.path).take_while(|(theirs, own)| theirs == own).count()
    };
    others.map(common).max().unwrap_or(0)
}

fn check_curve(
    curve: &'static str,
    value: &Curve,
    owner: impl Fn() -> String,
) -> Result<(), ModelError> {
    let fault = if !value.is_non_negative() {
        "is negative somewhere; data served and data arrived cannot be"
    } else if !value.is_non_decreasing() {
        "decreases somewhere; rates must not be negative"
    } else {
        return Ok(());
    };
    Err(ModelError::Curve { curve, owner: owner(), fault })
}

/// A checked network.
#[derive(Clone, Debug)]
pub struct Network {
    name: String,
    servers: Vec<Server>,
    flows: Vec<Flow>,
    links: BTreeMap<(ServerId, ServerId), Curve>,
    ports: Ports,
    copies: Copies,
    /// What has curves that stand in for longer ones.
    outlined: BTreeSet<Part>,
    /// Remarks on the origin of the network that a reader of its bounds must know.
    notes: Vec<String>,
    turns: BTreeMap<(ServerId, ServerId), Vec<FlowId>>,
    /// Servers to which flows go on from each server, in ascending order.
    successors: Vec<Vec<ServerId>>,
    crossing: Vec<Vec<FlowId>>,
    /// Places on paths that are not short.
    positions: HashMap<(FlowId, ServerId), usize>,
    time_unit: Unit,
    data_unit: Unit,
    /// The same with simpler curves, if it was asked for.
    outline: OnceLock<Box<Self>>,
    /// Whether this is the outline of another.
    is_outline: bool,
    /// Whether services count what other classes send.
    is_arrival_aware: bool,
    /// The network with the curves that hold by its own clocks, and these clocks, if the curves of
    /// this network are in true time.
    clocked: Option<Arc<(Self, Clocks)>>,
}

impl Network {
    /// The same network with the least concave curves above those that bound from above and the
    /// greatest convex ones below the services: what is proven for it holds for this one, and no
    /// curve has a period.
    pub(crate) fn outline(&self) -> &Self {
        self.outline.get_or_init(|| {
            let mut outline = self.clone();
            outline.is_outline = true;
            let above = |curve: &mut Curve| *curve = operations::concave_above(curve);
            for flow in &mut outline.flows {
                above(&mut flow.arrival);
            }
            for server in &mut outline.servers {
                server.service = operations::convex_below(&server.service);
                server.maximum_service.iter_mut().chain(&mut server.shaping).for_each(above);
            }
            outline.links.values_mut().for_each(above);
            Box::new(outline)
        })
    }

    /// The same with other services of some servers.
    pub(crate) fn with_services(&self, services: Vec<(ServerId, Curve)>) -> Self {
        let mut changed = self.clone();
        changed.outline = OnceLock::new();
        for (id, service) in services {
            if let Some(server) = changed.servers.get_mut(id.index()) {
                server.service = service;
            }
        }
        changed
    }

    /// The same, known to have services that count what other classes send.
    pub(crate) fn known_as_arrival_aware(self) -> Self {
        Self { is_arrival_aware: true, ..self }
    }

    /// Whether services were made to count what other classes send ([`Network::arrival_aware`]).
    pub fn is_arrival_aware(&self) -> bool {
        self.is_arrival_aware
    }

    /// Whether the traffic of some server has no common period that is short enough to compute with.
    pub(crate) fn needs_outline(&self) -> bool {
        self.crossing.iter().zip(&self.servers).any(|(flows, server)| {
            let arrivals = flows.iter().map(|id| &self.flow(*id).arrival);
            operations::sum_is_long(arrivals.chain([&server.service]))
        })
    }

    /// Whether this is the outline of another network.
    pub(crate) fn is_outline(&self) -> bool {
        self.is_outline
    }

    /// What has curves that stand in for longer ones, in ascending order; see [`NetworkBuilder::outlined`].
    pub fn outlined(&self) -> impl Iterator<Item = Part> {
        self.outlined.iter().copied()
    }

    /// Returns remarks on the origin of the network that a reader of its bounds must know, as
    /// sentences; see [`NetworkBuilder::note`].
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether this has such a curve.
    pub fn is_outlined(&self, part: Part) -> bool {
        self.outlined.contains(&part)
    }

    /// Whether there are regulators, or flows that are the same data, which analyses by delays alone
    /// know of.
    pub(crate) fn needs_delays(&self) -> bool {
        self.servers.iter().any(|server| server.regulator.is_some())
            || self.flows.iter().any(|flow| flow.multicast.is_some() || flow.replicated.is_some())
    }

    /// The same network with other curves for its servers and flows.
    pub(crate) fn with_curves(
        &self,
        servers: Vec<Server>,
        flows: Vec<Flow>,
        links: Vec<Curve>,
    ) -> Self {
        let mut network = self.clone();
        (network.servers, network.flows) = (servers, flows);
        for (link, curve) in network.links.values_mut().zip(links) {
            *link = curve;
        }
        network.outline = OnceLock::new();
        network
    }

    /// The same, whose curves are in true time, while `own` is the network by its clocks.
    pub(super) fn clocked(self, own: Self, clocks: Clocks) -> Self {
        Self { clocked: Some(Arc::new((own, clocks))), ..self }
    }

    /// The network with the curves that hold by its clocks, and these clocks; the network itself if
    /// they are perfect.
    pub(super) fn by_its_clocks(&self) -> (&Self, Option<&Clocks>) {
        match self.clocked.as_deref() {
            None => (self, None),
            Some((own, clocks)) => (own, Some(clocks)),
        }
    }

    /// What shapes links, in the order of their servers.
    pub(crate) fn link_shapes(&self) -> impl Iterator<Item = &Curve> {
        self.links.values()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The unit in which times are best read. Values are in seconds in any case.
    pub fn time_unit(&self) -> &Unit {
        &self.time_unit
    }

    /// The unit in which data are best read. Values are in bits in any case.
    pub fn data_unit(&self) -> &Unit {
        &self.data_unit
    }

    /// All servers with their ids.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = (ServerId, &Server)> {
        self.servers.iter().enumerate().map(|(index, server)| (ServerId::new(index), server))
    }

    /// The port that a server stands for, if it is one, and the classes of its queue.
    pub fn port_at(&self, server: ServerId) -> Option<(&Port, &[Priority])> {
        self.ports.at(server).map(|(_, port, classes)| (port, classes))
    }

    /// Flows that are one stream with this one at a server, since copies were eliminated there or before, in ascending order;
    /// elsewhere the flow alone.
    pub(super) fn copies_at(&self, flow: FlowId, server: ServerId) -> &[FlowId] {
        self.copies.at(flow, server)
    }

    /// Its ports.
    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// All flows with their ids.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = (FlowId, &Flow)> {
        self.flows.iter().enumerate().map(|(index, flow)| (FlowId::new(index), flow))
    }

    /// A server. Ids of other networks give another server or panic.
    pub fn server(&self, id: ServerId) -> &Server {
        &self.servers[id.index()]
    }

    /// A flow. Ids of other networks give another flow or panic.
    pub fn flow(&self, id: FlowId) -> &Flow {
        &self.flows[id.index()]
    }

    /// The flow with that name.
    pub fn flow_named(&self, name: &str) -> Option<FlowId> {
        self.flows.iter().position(|flow| flow.name == name).map(FlowId::new)
    }

    /// The server with that name.
    pub fn server_named(&self, name: &str) -> Option<ServerId> {
        self.servers.iter().position(|server| server.name == name).map(ServerId::new)
    }

    /// Flows that visit a server, in ascending order.
    pub fn flows_at(&self, server: ServerId) -> &[FlowId] {
        &self.crossing[server.index()]
    }

    /// Flows that go from one server to the next, in ascending order.
    pub fn flows_over(&self, from: ServerId, to: ServerId) -> &[FlowId] {
        self.turns.get(&(from, to)).map_or(&[], Vec::as_slice)
    }

    /// Pairs of servers that flows visit one after the other.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (ServerId, ServerId)> {
        self.turns.keys().copied()
    }

    /// What shapes the link from one server to the next, besides the server itself.
    pub fn link(&self, from: ServerId, to: ServerId) -> Option<&Curve> {
        self.links.get(&(from, to))
    }

    /// The how-many-eth server of a flow's path this is, from 0.
    pub fn position(&self, flow: FlowId, server: ServerId) -> Option<usize> {
        let path = &self.flow(flow).path;
        if path.len() <= SHORT {
            return path.iter().position(|visited| *visited == server);
        }
        self.positions.get(&(flow, server)).copied()
    }

    /// The server that a flow visits before this one.
    pub fn predecessor(&self, flow: FlowId, server: ServerId) -> Option<ServerId> {
        let position = self.position(flow, server)?;
        self.flow(flow).path.get(position.checked_sub(1)?).copied()
    }

    /// Servers, in ascending order, to which a way leads off the path of a flow, as far as they
    /// come before its last server in the order of all servers (a server's place is its `rank`).
    /// What comes back to the path comes by these.
    pub(crate) fn off_path(&self, flow: FlowId, rank: &[usize]) -> Vec<ServerId> {
        let path = &self.flow(flow).path;
        let place = |server: ServerId| rank.get(server.index()).copied().unwrap_or(0);
        let end = path.last().map_or(0, |last| place(*last));
        let mut reached = vec![false; self.servers.len()];
        let mut open = Vec::new();
        let mut found = Vec::new();
        let mut visit = |next: ServerId, open: &mut Vec<ServerId>| {
            if place(next) <= end && !reached[next.index()] {
                reached[next.index()] = true;
                open.push(next);
                found.push(next);
            }
        };
        for (index, server) in path.iter().enumerate() {
            let along = path.get(index + 1);
            for next in self.successors[server.index()].iter().filter(|next| Some(*next) != along) {
                visit(*next, &mut open);
            }
        }
        while let Some(server) = open.pop() {
            for next in &self.successors[server.index()] {
                visit(*next, &mut open);
            }
        }
        found.sort_unstable();
        found
    }

    /// Size of the largest packet that a server may meet.
    pub fn maximum_packet(&self, server: ServerId) -> Rational {
        let sizes = self.flows_at(server).iter().map(|flow| &self.flow(*flow).maximum_packet);
        sizes.max().cloned().unwrap_or(Rational::ZERO)
    }

    /// Servers so ordered that every flow visits them in that order, or the servers of a cycle.
    pub fn order(&self) -> Result<Vec<ServerId>, Vec<ServerId>> {
        let mut incoming = vec![0_usize; self.servers.len()];
        for to in self.successors.iter().flatten() {
            incoming[to.index()] += 1;
        }
        let mut ready: Vec<_> =
            (0..self.servers.len()).rev().filter(|index| incoming[*index] == 0).collect();
        let mut order = Vec::with_capacity(self.servers.len());
        while let Some(index) = ready.pop() {
            order.push(ServerId::new(index));
            for next in &self.successors[index] {
                incoming[next.index()] -= 1;
                if incoming[next.index()] == 0 {
                    ready.push(next.index());
                }
            }
        }
        if order.len() == self.servers.len() { Ok(order) } else { Err(self.cycle(&incoming)) }
    }

    /// A cycle among the servers that could not be ordered.
    fn cycle(&self, incoming: &[usize]) -> Vec<ServerId> {
        // Every server that is left has a predecessor that is left, so walking backwards must come
        // round.
        let mut predecessor = HashMap::new();
        for (from, to) in self.turns.keys() {
            if incoming[from.index()] > 0 && incoming[to.index()] > 0 {
                predecessor.insert(*to, *from);
            }
        }
        let mut walk = Vec::new();
        let mut at = predecessor.keys().min().copied();
        while let Some(server) = at {
            if let Some(first) = walk.iter().position(|seen| *seen == server) {
                let mut cycle = walk.split_off(first);
                cycle.reverse();
                return cycle;
            }
            walk.push(server);
            at = predecessor.get(&server).copied();
        }
        walk
    }
}
