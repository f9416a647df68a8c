//! The flows and servers that take part in a run.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::conformance::Conformance;
use super::line::Spec;
use crate::network::clocks::Clocks;
use crate::network::elements::{Flow, FlowId, Multiplexing, Part, Priority, ServerId};
use crate::network::model::Network;
use crate::network::settings::Settings;
use crate::network::simple;
use crate::{Curve, Extended, Rational};

/// The largest number of flows that take part in a packet simulation for a flow of interest besides
/// that flow and its multicast or replication group.
const MAX_FLOWS: usize = 24;
/// The number of packets into which the burst of a fluid flow is divided.
const PACKETS_PER_BURST: i64 = 5;

/// A flow that takes part in a packet simulation.
#[derive(Debug)]
pub(super) struct Participant<'n> {
    pub(super) id: FlowId,
    pub(super) path: &'n [ServerId],
    pub(super) priority: Priority,
    /// Whether the flow is a fluid, whose packets may stand for any part of its data.
    pub(super) fluid: bool,
    pub(super) stream: usize,
}

/// The flows that one source sends: a single flow, the flows of a multicast group, or the copies of
/// a replicated flow.
#[derive(Debug)]
pub(super) struct Stream {
    /// The indices of the stream's flows among the participants.
    pub(super) members: Vec<usize>,
    pub(super) is_replicated: bool,
    pub(super) conformance: Conformance,
    pub(super) rate: Rational,
    /// The size of the stream's largest packets.
    pub(super) size: Rational,
    /// The size of the stream's smallest packets.
    pub(super) least: Rational,
}

/// The flows and servers that take part in the runs of a packet simulation.
#[derive(Debug)]
pub(super) struct Setup<'n> {
    pub(super) network: &'n Network,
    pub(super) clocks: Option<&'n Clocks>,
    pub(super) participants: Vec<Participant<'n>>,
    pub(super) streams: Vec<Stream>,
    /// The properties of the servers that are not ports.
    pub(super) lines: HashMap<ServerId, Spec>,
}

impl<'n> Setup<'n> {
    /// Returns the flows and servers of the runs for a flow of interest, which becomes participant
    /// 0, or of runs for all flows if `flow` is `None`. Returns `None` if no flow can take part, or
    /// if the flow of interest cannot.
    pub(super) fn of(
        network: &'n Network,
        settings: &Settings,
        flow: Option<FlowId>,
    ) -> Option<Self> {
        // Ports have their own order of service.
        if settings.multiplexing.is_some() && !network.ports().is_empty() {
            return None;
        }
        let (network, clocks) = network.by_its_clocks();
        let mut setup = Self {
            network,
            clocks,
            participants: Vec::new(),
            streams: Vec::new(),
            lines: HashMap::new(),
        };
        let ids = match flow {
            None => network.flows().map(|(id, _)| id).collect(),
            Some(flow) => around(network, flow),
        };
        let mut groups = HashMap::<(bool, &str), usize>::new();
        for id in ids {
            let Some(size) = setup.fits(settings, id) else {
                if Some(id) == flow {
                    return None;
                }
                continue;
            };
            setup.add(id, size, &mut groups);
        }
        (!setup.participants.is_empty()).then_some(setup)
    }

    /// Adds a flow as a participant, and its stream of packets unless an earlier flow of its group
    /// has the same.
    fn add(&mut self, id: FlowId, size: Rational, groups: &mut HashMap<(bool, &'n str), usize>) {
        let flow = self.network.flow(id);
        let participant = self.participants.len();
        let group = match (&flow.replicated, &flow.multicast) {
            (Some(group), _) => Some((true, group.as_str())),
            (None, Some(group)) => Some((false, group.as_str())),
            (None, None) => None,
        };
        let known = group.and_then(|group| groups.get(&group).copied());
        let stream = match known.and_then(|stream| self.streams.get_mut(stream)) {
            Some(stream) if stream.size == size => {
                stream.members.push(participant);
                known.unwrap_or_default()
            }
            // The stream's packets have a size that this path does not support, so the flow is left
            // out.
            Some(_) => return,
            None => {
                let Some(conformance) = Conformance::of(&flow.arrival) else { return };
                let Some(rate) = flow.arrival.ultimate_rate().into_finite() else { return };
                self.streams.push(Stream {
                    members: vec![participant],
                    is_replicated: flow.replicated.is_some(),
                    conformance,
                    rate,
                    least: self.least_packet(flow, &size),
                    size,
                });
                let stream = self.streams.len() - 1;
                if let Some(group) = group {
                    groups.insert(group, stream);
                }
                stream
            }
        };
        self.participants.push(Participant {
            id,
            path: &flow.path,
            priority: flow.priority,
            fluid: !flow.maximum_packet.is_positive(),
            stream,
        });
    }

    /// Returns the size of the smallest packets that a flow sends: the smallest that the ports on
    /// its path allow or, without ports, a fraction of the largest.
    fn least_packet(&self, flow: &Flow, size: &Rational) -> Rational {
        let mut least: Option<Rational> = None;
        for (port, _) in flow.path.iter().filter_map(|server| self.network.port_at(*server)) {
            let packets = port.scheduler.packets();
            let own = packets.iter().find(|(priority, ..)| *priority == flow.priority);
            if let Some((_, smallest, _)) = own {
                let smallest = smallest.ceil();
                least = Some(least.map_or(smallest.clone(), |least| least.max(smallest)));
            }
        }
        least.unwrap_or_else(|| size / &Rational::from(4)).min(size.clone())
    }

    /// Returns the size of a flow's largest packets, or `None` if the simulation does not support
    /// the flow.
    fn fits(&mut self, settings: &Settings, id: FlowId) -> Option<Rational> {
        let network = self.network;
        let flow = network.flow(id);
        let outlined = |part| network.is_outlined(part);
        let burst = flow.arrival.right_limit_at(&Rational::ZERO).into_finite()?;
        if outlined(Part::Flow(id)) || !burst.is_positive() {
            return None;
        }
        flow.arrival.ultimate_rate().into_finite()?;
        let fluid = !flow.maximum_packet.is_positive();
        let mut size = match fluid {
            true => burst / Rational::from(PACKETS_PER_BURST),
            false => flow.maximum_packet.clone().min(burst),
        };
        let mut passes_port = false;
        for (hop, server) in flow.path.iter().enumerate() {
            let next = flow.path.get(hop + 1);
            let link = next.and_then(|next| network.link(*server, *next));
            if outlined(Part::Server(*server))
                || next.is_some_and(|next| outlined(Part::Link(*server, *next)))
            {
                return None;
            }
            if let Some((port, _)) = network.port_at(*server) {
                if fluid || link.is_some_and(|link| !lets_through(link, &port.rate)) {
                    return None;
                }
                passes_port = true;
                continue;
            }
            self.fits_line(settings, flow, *server, link)?;
            let spec = self.lines.get(server)?;
            let early = fluid || !spec.packetizer;
            if early && spec.order != Multiplexing::Fifo {
                // A packet that no packetizer holds back leaves with its first bit, so its other
                // data leave before they are served. That is legal for no more data than the server
                // sends at its rate within its latency.
                let (rate, latency) = simple::rate_latency(&network.server(*server).service)?;
                size = size.min(rate * latency);
            }
        }
        let packets = size.is_positive() && (!passes_port || size == flow.maximum_packet);
        packets.then_some(size)
    }

    /// Checks that a flow may pass a server that is not a port, and records the server's
    /// properties. Returns `None` if the simulation does not support it.
    fn fits_line(
        &mut self,
        settings: &Settings,
        flow: &Flow,
        server: ServerId,
        link: Option<&Curve>,
    ) -> Option<()> {
        let network = self.network;
        let model = network.server(server);
        let order = settings.multiplexing_at(model);
        if order != Multiplexing::Fifo && !model.strict {
            return None;
        }
        let fluid = !flow.maximum_packet.is_positive();
        let waits_for_nothing = |other: &FlowId| network.flow(*other).priority >= flow.priority;
        if fluid
            && order == Multiplexing::StaticPriority
            && !network.flows_at(server).iter().all(waits_for_nothing)
        {
            // A more urgent packet would interrupt a fluid.
            return None;
        }
        let limits = model.shaping.iter().chain(&model.maximum_service).chain(link);
        let limits: Vec<&Curve> = limits.collect();
        if !limits.is_empty() {
            let rate = model.service.ultimate_rate().into_finite()?;
            let early = fluid || !model.packetizer;
            let held = |limit: &&Curve| !lets_through(limit, &rate);
            if early || !model.service.is_convex() || limits.iter().any(held) {
                return None;
            }
        }
        if model.service.ultimate_rate() <= Extended::ZERO {
            return None;
        }
        if let Entry::Vacant(place) = self.lines.entry(server) {
            let limited = !limits.is_empty()
                || network
                    .hops()
                    .any(|(from, to)| from == server && network.link(from, to).is_some());
            place.insert(Spec {
                order,
                strict: model.strict,
                packetizer: model.packetizer,
                limited,
                served: model.service.lower_pseudo_inverse().ok()?,
                serves: model.service.upper_pseudo_inverse().ok()?,
            });
        }
        Some(())
    }
}

/// Returns a flow, then all flows of its multicast or replication group, and then up to
/// [`MAX_FLOWS`] flows that share servers with these, those that share the most servers first.
fn around(network: &Network, flow: FlowId) -> Vec<FlowId> {
    let own = network.flow(flow);
    let is_same = |other: &Flow| {
        (own.multicast.is_some() && own.multicast == other.multicast)
            || (own.replicated.is_some() && own.replicated == other.replicated)
    };
    let group = network.flows().filter(|(id, other)| *id != flow && is_same(other));
    let mut ids = vec![flow];
    ids.extend(group.map(|(id, _)| id));
    let mut shared = BTreeMap::<FlowId, usize>::new();
    for server in ids.iter().flat_map(|id| &network.flow(*id).path) {
        for other in network.flows_at(*server).iter().filter(|other| !ids.contains(other)) {
            *shared.entry(*other).or_default() += 1;
        }
    }
    let mut others: Vec<(FlowId, usize)> = shared.into_iter().collect();
    others.sort_by_key(|(id, shared)| (Reverse(*shared), *id));
    ids.extend(others.into_iter().map(|(id, _)| id).take(MAX_FLOWS));
    ids
}

/// Returns whether a shaping or maximum service curve never holds back data that arrive at the
/// given rate.
fn lets_through(limit: &Curve, rate: &Rational) -> bool {
    Curve::line(Rational::ZERO, rate.clone()).is_at_most(limit).unwrap_or(false)
}
