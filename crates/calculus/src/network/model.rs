//! Networks of servers, flows and links that have been checked.
//!
//! A [`Network`] is built only by a [`NetworkBuilder`], which checks it once: names are unique,
//! paths exist and visit no server twice, curves are non-negative and non-decreasing. Analyses rely
//! on these properties without checking again. Two properties are not checked, because some
//! analyses can do without them: whether servers are overloaded ([`Network::loads`]), and whether
//! flows depend on each other cyclically ([`Network::order`]).

mod build;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use super::clocks::Clocks;
use super::copies::Copies;
use super::elements::{Flow, FlowId, Part, Priority, Server, ServerId, Unit};
use super::operations;
use super::port::{Port, Ports};
use crate::{Curve, Interrupt, Rational};
pub use build::NetworkBuilder;

/// The largest length of a path on which the position of a server is found by search. For longer
/// paths, a map contains the positions.
const SHORT_PATH: usize = 16;

/// A network of servers, flows and links that has been checked.
#[derive(Clone, Debug)]
pub struct Network {
    name: String,
    servers: Vec<Server>,
    flows: Vec<Flow>,
    links: BTreeMap<(ServerId, ServerId), Curve>,
    ports: Ports,
    copies: Copies,
    /// The servers, flows and links that have a simple curve as a substitute for one that was too
    /// long to compute with.
    outlined: BTreeSet<Part>,
    /// Remarks that readers of the network's bounds must know, such as how the network was read.
    /// Each remark is a sentence.
    notes: Vec<String>,
    /// The flows that go from each server directly to another, by the two servers.
    /// [`Network::flows_over`] returns them.
    hops: BTreeMap<(ServerId, ServerId), Vec<FlowId>>,
    /// The servers to which flows continue from each server, in ascending order. The list of a
    /// server with a regulator is empty, since the traffic after the regulator does not depend on
    /// the servers before it.
    successors: Vec<Vec<ServerId>>,
    /// The flows that visit each server. [`Network::flows_at`] returns them.
    crossing: Vec<Vec<FlowId>>,
    /// The position of each server on each flow's path, for paths of more than [`SHORT_PATH`]
    /// servers.
    positions: HashMap<(FlowId, ServerId), usize>,
    time_unit: Unit,
    data_unit: Unit,
    /// The outline of this network, in which no curve has a period. It is computed when it is first
    /// needed.
    outline: OnceLock<Box<Self>>,
    /// Whether this network is the outline of another one, so that no curve has a period.
    is_outline: bool,
    /// Whether the service curves of classes at ports take into account how much the other classes
    /// of the port send ([`Network::arrival_aware`]).
    is_arrival_aware: bool,
    /// If the curves of this network were converted to true time: the original network, whose
    /// curves hold by the imperfect clocks of its sources and servers, and the deviations of these
    /// clocks.
    clocked: Option<Arc<(Self, Clocks)>>,
}

impl Network {
    /// Returns the outline of the network, in which no curve has a period. The outline has the
    /// least concave curves above arrival, shaping and maximum service curves, and the greatest
    /// convex curves below service curves, so that bounds of the outline hold for this network.
    pub(crate) fn outline(&self) -> &Self {
        // The outline is kept for later analyses. It is built without the interrupt of this thread,
        // which could make it end early.
        let made = || Interrupt::default().watched_by(|| self.made_outline());
        self.outline.get_or_init(made)
    }

    /// Builds the outline, see [`Network::outline`].
    fn made_outline(&self) -> Box<Self> {
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
    }

    /// Returns the network with the given service curves for some of its servers.
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

    /// Returns the network marked as one whose service curves at ports take into account how much
    /// the other classes of the port send.
    pub(crate) fn known_as_arrival_aware(self) -> Self {
        Self { is_arrival_aware: true, ..self }
    }

    /// Returns whether the service curves of classes at ports take into account how much the other
    /// classes of the port send ([`Network::arrival_aware`]).
    pub fn is_arrival_aware(&self) -> bool {
        self.is_arrival_aware
    }

    /// Returns whether the curves at some server have no common period that is short enough to
    /// compute with, so that the outline of the network must be used.
    pub(crate) fn needs_outline(&self) -> bool {
        self.crossing.iter().zip(&self.servers).any(|(flows, server)| {
            let arrivals = flows.iter().map(|id| &self.flow(*id).arrival);
            operations::sum_is_long(arrivals.chain([&server.service]))
        })
    }

    /// Returns whether this is the outline of another network.
    pub(crate) fn is_outline(&self) -> bool {
        self.is_outline
    }

    /// Returns, in ascending order, the elements that have a simple curve as a substitute for one
    /// that was too long to compute with ([`NetworkBuilder::outlined`] adds them).
    pub fn outlined(&self) -> impl Iterator<Item = Part> {
        self.outlined.iter().copied()
    }

    /// Returns remarks that readers of the network's bounds must know, such as how the network was
    /// read. Each remark is a sentence ([`NetworkBuilder::note`] adds them).
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns whether an element has a simple curve as a substitute for one that was too long to
    /// compute with.
    pub fn is_outlined(&self, part: Part) -> bool {
        self.outlined.contains(&part)
    }

    /// Returns whether the network has regulators, multicast or replicated flows, which only
    /// analyses that derive arrival curves from the delays of servers support.
    pub(crate) fn needs_delays(&self) -> bool {
        self.servers.iter().any(|server| server.regulator.is_some())
            || self.flows.iter().any(|flow| flow.multicast.is_some() || flow.replicated.is_some())
    }

    /// Returns the network with the given servers, flows and shaping curves of links in place of
    /// its own.
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

    /// Returns the network marked as one whose curves are in true time. `own` is the network from
    /// which it was converted, whose curves hold by the imperfect clocks of its sources and
    /// servers.
    pub(super) fn clocked(self, own: Self, clocks: Clocks) -> Self {
        Self { clocked: Some(Arc::new((own, clocks))), ..self }
    }

    /// Returns the network whose curves hold by the imperfect clocks of its sources and servers,
    /// and the deviations of these clocks. If the clocks are perfect, returns this network and
    /// `None`.
    pub(super) fn by_its_clocks(&self) -> (&Self, Option<&Clocks>) {
        match self.clocked.as_deref() {
            None => (self, None),
            Some((own, clocks)) => (own, Some(clocks)),
        }
    }

    /// Returns the shaping curves of all links, in the order of the links' servers.
    pub(crate) fn link_shapes(&self) -> impl Iterator<Item = &Curve> {
        self.links.values()
    }

    /// Returns the name of the network.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the unit in which times are displayed. Values are always in seconds.
    pub fn time_unit(&self) -> &Unit {
        &self.time_unit
    }

    /// Returns the unit in which data are displayed. Values are always in bits.
    pub fn data_unit(&self) -> &Unit {
        &self.data_unit
    }

    /// Returns all servers with their ids.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = (ServerId, &Server)> {
        self.servers.iter().enumerate().map(|(index, server)| (ServerId::new(index), server))
    }

    /// Returns the port to which a server belongs and the classes in the server's queue, or `None`
    /// for a server that is not part of a port.
    pub fn port_at(&self, server: ServerId) -> Option<(&Port, &[Priority])> {
        self.ports.at(server).map(|(_, port, classes)| (port, classes))
    }

    /// Returns the flows, in ascending order, that form one stream with a replicated flow at a
    /// server, because copies were eliminated at this server or at an earlier one. Returns only the
    /// flow itself if no copies were eliminated.
    pub(super) fn copies_at(&self, flow: FlowId, server: ServerId) -> &[FlowId] {
        self.copies.at(flow, server)
    }

    /// Returns the output ports of the network.
    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Returns all flows with their ids.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = (FlowId, &Flow)> {
        self.flows.iter().enumerate().map(|(index, flow)| (FlowId::new(index), flow))
    }

    /// Returns the server with an id. An id of another network yields a wrong server or panics.
    pub fn server(&self, id: ServerId) -> &Server {
        &self.servers[id.index()]
    }

    /// Returns the flow with an id. An id of another network yields a wrong flow or panics.
    pub fn flow(&self, id: FlowId) -> &Flow {
        &self.flows[id.index()]
    }

    /// Returns the id of the flow with the given name, or `None` if there is no such flow.
    pub fn flow_named(&self, name: &str) -> Option<FlowId> {
        self.flows.iter().position(|flow| flow.name == name).map(FlowId::new)
    }

    /// Returns the id of the server with the given name, or `None` if there is no such server.
    pub fn server_named(&self, name: &str) -> Option<ServerId> {
        self.servers.iter().position(|server| server.name == name).map(ServerId::new)
    }

    /// Returns the flows that visit a server, in ascending order. Where a flow carries the same
    /// data as an earlier flow (multicast or replicated), only the earlier one is returned.
    pub fn flows_at(&self, server: ServerId) -> &[FlowId] {
        &self.crossing[server.index()]
    }

    /// Returns the flows that go from one server directly to another, in ascending order. Of flows
    /// that carry the same data there, only the first is returned.
    pub fn flows_over(&self, from: ServerId, to: ServerId) -> &[FlowId] {
        self.hops.get(&(from, to)).map_or(&[], Vec::as_slice)
    }

    /// Returns the pairs of servers that at least one flow visits one directly after the other.
    pub(crate) fn hops(&self) -> impl Iterator<Item = (ServerId, ServerId)> {
        self.hops.keys().copied()
    }

    /// Returns the shaping curve of the link from one server to the next, if it has one. It applies
    /// in addition to the shaping curve of the server.
    pub fn link(&self, from: ServerId, to: ServerId) -> Option<&Curve> {
        self.links.get(&(from, to))
    }

    /// Returns the position of a server on a flow's path, from 0, or `None` if the flow does not
    /// visit it.
    pub fn position(&self, flow: FlowId, server: ServerId) -> Option<usize> {
        let path = &self.flow(flow).path;
        if path.len() <= SHORT_PATH {
            return path.iter().position(|visited| *visited == server);
        }
        self.positions.get(&(flow, server)).copied()
    }

    /// Returns the server that a flow visits directly before the given one, if there is one.
    pub fn predecessor(&self, flow: FlowId, server: ServerId) -> Option<ServerId> {
        let position = self.position(flow, server)?;
        self.flow(flow).path.get(position.checked_sub(1)?).copied()
    }

    /// Returns the servers, in ascending order, that data can reach after they have left the path
    /// of a flow. Data that rejoin the path come through these servers. Servers after the path's
    /// last one in topological order are omitted, since data cannot rejoin the path from there.
    /// `rank` has the position of each server in topological order.
    pub(crate) fn reachable_off_path(&self, flow: FlowId, rank: &[usize]) -> Vec<ServerId> {
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

    /// Returns the size of the largest packet among all flows that visit a server.
    pub fn maximum_packet(&self, server: ServerId) -> Rational {
        let sizes = self.flows_at(server).iter().map(|flow| &self.flow(*flow).maximum_packet);
        sizes.max().cloned().unwrap_or(Rational::ZERO)
    }

    /// Returns the servers in topological order: between two regulators on its path, every flow
    /// visits them in this order. (The traffic after a regulator does not depend on the servers
    /// before it.) If there is no such order, returns the servers of a cycle as the error.
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

    /// Returns the servers of a cycle. `incoming` is positive for the servers that could not be
    /// ordered.
    fn cycle(&self, incoming: &[usize]) -> Vec<ServerId> {
        // Every remaining server has a remaining predecessor, so walking backwards must repeat a
        // server.
        let mut predecessor = HashMap::new();
        for (from, to) in self.hops.keys() {
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
