//! The builder of a network: it checks servers, flows and links, and builds a network of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use super::{Network, SHORT_PATH};
use crate::excerpt::excerpt;
use crate::network::copies::Copies;
use crate::network::elements::{
    Flow, FlowId, Link, ModelError, Part, Priority, Regulator, Server, ServerId, Unit,
};
use crate::network::port::{Port, PortError, Ports};
use crate::{Curve, Extended, Rational};

/// Collects the servers, ports, flows and links of a network, and builds the network of them.
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
    /// Creates a builder of a network with the given name, without servers and flows.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a server and returns its id.
    pub fn server(&mut self, server: Server) -> ServerId {
        self.servers.push(server);
        ServerId::new(self.servers.len() - 1)
    }

    /// Adds a port, as one server for each of its queues. Returns the ids of these servers, each
    /// with the classes in its queue.
    ///
    /// # Errors
    ///
    /// Returns a [`PortError`] if the port is invalid.
    pub fn port(&mut self, port: Port) -> Result<Vec<(ServerId, Vec<Priority>)>, PortError> {
        let mut placed = Vec::new();
        for queue in port.queues()? {
            let (classes, server) = queue.into_parts();
            placed.push((self.server(server), classes));
        }
        self.ports.add(port, placed.clone());
        Ok(placed)
    }

    /// Sets or removes the regulator after a server that was already added. This also serves for
    /// the queues of a port.
    pub fn regulate(&mut self, server: ServerId, regulator: Option<Regulator>) {
        if let Some(server) = self.servers.get_mut(server.index()) {
            server.regulator = regulator;
        }
    }

    /// Adds a flow and returns its id.
    pub fn flow(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId::new(self.flows.len() - 1)
    }

    /// Adds a link between two servers, with a shaping curve.
    pub fn link(&mut self, link: Link) {
        self.links.push(link);
    }

    /// Marks an element that has a simple curve as a substitute for one that is too long to compute
    /// with. The substitute must be on the safe side: above an upper bound, below a service curve.
    /// Bounds remain valid, but simulated runs do not use such elements.
    pub fn outlined(&mut self, part: Part) {
        self.outlined.push(part);
    }

    /// Adds a remark that readers of the network's bounds must know, such as how the network was
    /// read.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Sets the unit in which times are displayed. By default, it is seconds.
    pub fn time_unit(&mut self, unit: Unit) {
        self.time_unit = Some(unit);
    }

    /// Sets the unit in which data are displayed. By default, it is bits.
    pub fn data_unit(&mut self, unit: Unit) {
        self.data_unit = Some(unit);
    }

    /// Checks all elements and builds the network.
    ///
    /// # Errors
    ///
    /// Returns the first fault that is found, with the name of the server, flow or link.
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
        let mut hops = BTreeMap::<(ServerId, ServerId), Vec<FlowId>>::new();
        let mut crossing = vec![Vec::new(); self.servers.len()];
        let mut positions = HashMap::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let id = FlowId::new(index);
            // Where a flow is the same data as an earlier flow, only the earlier one counts.
            let shared = shared_servers(flow, &self.flows[..index], &firsts);
            let own = copies.own(id, flow.path.len());
            let own = own.start.max(shared)..own.end;
            for (position, server) in flow.path.iter().enumerate() {
                if own.contains(&position) {
                    crossing[server.index()].push(id);
                }
                if flow.path.len() > SHORT_PATH {
                    positions.insert((id, *server), position);
                }
            }
            for hop in flow.path.windows(2).take(own.end).skip(own.start.saturating_sub(1)) {
                if let [from, to] = hop {
                    hops.entry((*from, *to)).or_default().push(id);
                }
            }
        }
        let mut successors = vec![Vec::new(); self.servers.len()];
        for (from, to) in hops.keys() {
            // The traffic after a regulator does not depend on the servers before it.
            if self.servers[from.index()].regulator.is_none() {
                successors[from.index()].push(*to);
            }
        }
        let links = checked_links(self.links, &self.servers, &hops)?;
        Ok(Network {
            name: self.name,
            servers: self.servers,
            flows: self.flows,
            links,
            ports: self.ports,
            copies,
            outlined: self.outlined.into_iter().collect(),
            notes: self.notes,
            hops,
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

/// Returns the shaping curves of the links, or the first fault of a link.
fn checked_links(
    links: Vec<Link>,
    servers: &[Server],
    hops: &BTreeMap<(ServerId, ServerId), Vec<FlowId>>,
) -> Result<BTreeMap<(ServerId, ServerId), Curve>, ModelError> {
    let mut shaping = BTreeMap::new();
    for link in links {
        let name = |id: ServerId| match servers.get(id.index()) {
            Some(server) => server.name.clone(),
            None => format!("#{}", id.index()),
        };
        let (from, to) = (name(link.from), name(link.to));
        if !hops.contains_key(&(link.from, link.to)) {
            return Err(ModelError::UnusedLink { from, to });
        }
        let owner = || format!("the link from '{}' to '{}'", excerpt(&from), excerpt(&to));
        check_curve("shaping curve", &link.shaping, owner)?;
        if let Some(server) = servers.get(link.from.index()) {
            check_above("shaping curve", &link.shaping, server, owner)?;
        }
        if shaping.insert((link.from, link.to), link.shaping).is_some() {
            return Err(ModelError::DoubleLink { from, to });
        }
    }
    Ok(shaping)
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

/// Checks that a shaping or maximum service curve is not below the service curve. Otherwise both
/// cannot hold, and a bound that uses both would be too small.
fn check_above(
    curve: &'static str,
    limit: &Curve,
    server: &Server,
    owner: impl Fn() -> String,
) -> Result<(), ModelError> {
    // Curves whose periods have no small common multiple cannot be compared, so they are accepted.
    if server.service.is_at_most(limit).unwrap_or(true) {
        return Ok(());
    }
    let fault = "is below its service curve somewhere: it cannot serve more than it lets out; lower \
                 the service curve, or give what shapes a server of its own";
    Err(ModelError::Curve { curve, owner: owner(), fault })
}

/// Checks a flow. `last_visits` has, for each server, the last of the flows checked so far that
/// visits it.
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

/// Checks that the packets of a flow can pass the regulators on its path: its arrival curve must
/// allow its largest packet instantaneously.
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

/// Checks that the flows of each multicast group can carry the same data. Returns the first flow of
/// each group.
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

/// Returns the number of servers at the beginning of a flow's path at which an earlier flow of its
/// multicast group carries the same data.
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
