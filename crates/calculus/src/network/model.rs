//! The network: servers, flows and links that were checked.
//!
//! A [`Network`] can only be had from a [`NetworkBuilder`], which checks it once: names are unique,
//! paths exist and visit no server twice, curves are non-negative and non-decreasing. Analyses rely
//! on that and check nothing again. Two things are no faults of a network and are left to those who
//! ask: whether servers are overloaded ([`Network::loads`]), and whether flows depend on each other
//! in a circle ([`Network::order`]), because some analyses can deal with that.

mod build;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use super::clocks::Clocks;
use super::copies::Copies;
use super::elements::{Flow, FlowId, Part, Priority, Server, ServerId, Unit};
use super::operations;
use super::port::{Port, Ports};
use crate::{Curve, Rational};
pub use build::NetworkBuilder;

/// Servers of a path in which a place is looked for rather than remembered.
const SHORT: usize = 16;

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
