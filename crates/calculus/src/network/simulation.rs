//! Trajectories that happen: lower bounds of the worst delay and backlog.
//!
//! A bound from above is worth more beside one from below. Sources send all that they may, at times
//! that hurt; servers are as lazy as they may be; data that come at the same time, or that a
//! scheduler may serve in any order, are served so that the flow of interest comes last. All of it
//! is exact arithmetic on piecewise linear processes, server after server. What comes out has
//! happened in a legal run of the network, so no bound may be below it: if one is, the bound (or
//! this) is wrong, and whoever asked must be told.
//!
//! Other flows may also send nothing, which is used where all of a network would be too much.
//!
//! At servers that serve by priority, a packet of a less urgent flow is on its way when more urgent
//! data come, if it can be: the largest of those flows that begin at that server and may send a
//! packet at once.
//!
//! Curves that stand in for longer ones ([`Part`]) allow what the exact ones do not: flows that have one send nothing, and
//! nothing runs over servers and links that do.
//!
//! Networks with packets, ports, regulators, multicast or replicated flows, or cycles, run packet
//! by packet (`packets`).
//!
//! As fluids, networks with packetizers run twice: with packets so small that nothing is held back,
//! and, if all servers are FIFO and packetize, with packets as large as they may be.

mod packets;
mod process;
mod server;

pub use packets::{Observation, ServerObservation, observe};

use std::collections::{BTreeMap, HashMap, HashSet};

use self::process::Process;
use super::elements::{FlowId, Multiplexing, Part, Priority, ServerId};
use super::model::Network;
use super::settings::Settings;
use crate::{Extended, Rational, interrupt};

/// Flows, besides the one of interest, that take part.
const FLOWS: usize = 24;
/// Servers of a path up to which processes stay small.
const SERVERS: usize = 12;
/// Knots of all processes at one server, at most.
const KNOTS: usize = 1_500;

/// What a flow suffered in the worst run that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Trajectory {
    /// The flow.
    pub flow: FlowId,
    /// The longest time that data of it were in the network.
    pub delay: Rational,
    /// The most data of it that were in the network.
    pub backlog: Rational,
    /// When each flow of that run began to send.
    pub offsets: Vec<(FlowId, Rational)>,
}

/// When cross traffic begins.
#[derive(Clone, Copy, Debug)]
enum Strategy {
    /// All at once.
    Together,
    /// When the first data of the flow of interest come to where it joins.
    WithTheFirst,
    /// When the last data of its burst do.
    WithTheLast,
}

impl Trajectory {
    /// The one of two runs of a flow with the longer delay, with the larger backlog of both.
    fn or_worse(self, other: Self) -> Self {
        let backlog = self.backlog.clone().max(other.backlog.clone());
        Self { backlog, ..if other.delay > self.delay { other } else { self } }
    }
}

/// Looks for a bad run for a flow: as a fluid where that is possible, and packet by packet where
/// there are packets or anything that only these know, such as ports, regulators, multicast and
/// replicated flows, clocks. None if neither is possible.
#[must_use]
pub fn simulate(network: &Network, flow: FlowId, settings: &Settings) -> Option<Trajectory> {
    let as_fluid = !network.needs_delays() && network.ports().is_empty();
    let fluid = as_fluid.then(|| simulate_fluid(network, flow, settings)).flatten();
    let sends_packets = || network.flows().any(|(_, flow)| flow.maximum_packet.is_positive());
    let by_packets = fluid.is_none() || sends_packets();
    let packets = by_packets.then(|| packets::simulate(network, flow, settings)).flatten();
    if interrupt::is_set() {
        return None;
    }
    match (fluid, packets) {
        (Some(fluid), Some(packets)) => Some(fluid.or_worse(packets)),
        (fluid, packets) => fluid.or(packets),
    }
}

/// Looks for a bad run of a fluid. None if the network is beyond that: infinite bursts, overload,
/// maximum service curves, very long paths, curves that stand in for longer ones.
fn simulate_fluid(network: &Network, flow: FlowId, settings: &Settings) -> Option<Trajectory> {
    let scene = Scene::of(network, flow, settings)?;
    let mut worst: Option<Trajectory> = None;
    let strategies = [Strategy::Together, Strategy::WithTheFirst, Strategy::WithTheLast];
    let sizes = if scene.sends_packets() { &[false, true][..] } else { &[false] };
    for (strategy, packets) in strategies.iter().flat_map(|s| sizes.iter().map(move |p| (s, p))) {
        for reversed in [false, true] {
            let Some(found) = scene.run(*strategy, reversed, *packets) else { continue };
            worst = Some(match worst {
                None => found,
                Some(worst) => worst.or_worse(found),
            });
        }
    }
    worst
}

/// Who takes part.
struct Scene<'n> {
    network: &'n Network,
    settings: &'n Settings,
    flow: FlowId,
    /// The flow of interest and its cross traffic.
    flows: Vec<FlowId>,
    /// Servers in the order of paths, as far as they matter.
    order: Vec<ServerId>,
    /// How long sources send.
    lasting: Rational,
}

impl<'n> Scene<'n> {
    fn of(network: &'n Network, flow: FlowId, settings: &'n Settings) -> Option<Self> {
        let path = &network.flow(flow).path;
        if path.len() > SERVERS || network.is_outlined(Part::Flow(flow)) {
            return None;
        }
        let mut flows = vec![flow];
        // Those that share most servers first.
        let mut shared = BTreeMap::<FlowId, usize>::new();
        for server in path {
            for other in network.flows_at(*server).iter().filter(|other| **other != flow) {
                *shared.entry(*other).or_default() += 1;
            }
        }
        let mut others: Vec<(FlowId, usize)> = shared.into_iter().collect();
        others.sort_by_key(|(id, shared)| (std::cmp::Reverse(*shared), *id));
        for (other, _) in others.into_iter().take(FLOWS) {
            let outlined = network.is_outlined(Part::Flow(other));
            if network.flow(other).path.len() > SERVERS || outlined {
                continue;
            }
            flows.push(other);
            if order(network, &flows).is_none() {
                flows.pop();
            }
        }
        let mut order = order(network, &flows)?;
        // Of the others only what lies before the path of interest.
        let mut needed: HashSet<ServerId> = path.iter().copied().collect();
        for server in order.iter().rev() {
            let feeds = |id: &FlowId| {
                let path = &network.flow(*id).path;
                let position = network.position(*id, *server);
                let next = position.and_then(|position| path.get(position + 1));
                next.is_some_and(|next| needed.contains(next))
            };
            if flows.iter().any(feeds) {
                needed.insert(*server);
            }
        }
        order.retain(|server| needed.contains(server));
        let mut lasting = Rational::ZERO;
        for server in &order {
            let model = network.server(*server);
            let link = |id: &FlowId| {
                let next = network.flow(*id).path.get(network.position(*id, *server)? + 1)?;
                Some(Part::Link(*server, *next))
            };
            let links = flows.iter().filter_map(link);
            let outlined = |part| network.is_outlined(part);
            if model.maximum_service.is_some() || links.chain([Part::Server(*server)]).any(outlined)
            {
                return None;
            }
            let mut burst = Rational::ZERO;
            let mut rate = Extended::ZERO;
            for id in flows.iter().filter(|id| network.position(**id, *server).is_some()) {
                let arrival = &network.flow(*id).arrival;
                burst += arrival.right_limit_at(&Rational::ZERO).finite()?;
                rate = rate.checked_add(&arrival.ultimate_rate())?;
            }
            let service = model.service.ultimate_rate();
            if rate > service || service <= Extended::ZERO {
                return None;
            }
            if path.contains(server) {
                let time = model.service.lower_pseudo_inverse().ok()?.value_at(&burst);
                lasting += time.finite()?;
            }
        }
        if lasting.is_zero() {
            lasting = Rational::ONE;
        }
        Some(Self { network, settings, flow, flows, order, lasting })
    }

    /// Whether there are packets that are held back until they are whole, and the servers serve them
    /// one after the other.
    fn sends_packets(&self) -> bool {
        let in_turn = |server: &ServerId| {
            let model = self.network.server(*server);
            let fifo = self.settings.multiplexing_at(model) == Multiplexing::Fifo;
            model.packetizer && fifo
        };
        // A packet comes at once, which a concave curve with that burst allows.
        let whole = |id: &FlowId| {
            let flow = self.network.flow(*id);
            let burst = flow.arrival.right_limit_at(&Rational::ZERO);
            flow.maximum_packet.is_positive()
                && burst >= Extended::from(&flow.maximum_packet)
                && flow.arrival.is_concave()
        };
        self.order.iter().all(in_turn) && self.flows.iter().all(whole)
    }

    /// One run, with packets as large as they may be or without any.
    fn run(&self, strategy: Strategy, reversed: bool, packets: bool) -> Option<Trajectory> {
        let network = self.network;
        let path = &network.flow(self.flow).path;
        let burst =
            network.flow(self.flow).arrival.right_limit_at(&Rational::ZERO).into_finite()?;
        let mut offsets: HashMap<FlowId, Rational> =
            self.flows.iter().map(|id| (*id, Rational::ZERO)).collect();
        // Where the flow of interest is when depends on who joined before.
        for (index, server) in path.iter().enumerate().skip(1) {
            if interrupt::is_set() {
                return None;
            }
            let together = matches!(strategy, Strategy::Together);
            let blocker = self.blocker(*server);
            if together && blocker.is_none() {
                continue;
            }
            let run = self.through(&offsets, reversed, packets, Some(*server))?;
            if !together {
                let before = path.get(index - 1)?;
                let arriving = run.get(&(self.flow, *before))?;
                let when = match strategy {
                    Strategy::WithTheFirst => arriving.first().cloned()?,
                    _ => arriving.when(&burst)?,
                };
                for id in self.flows.iter().filter(|id| self.joins(**id) == Some(*server)) {
                    // Its own way there takes time, too.
                    let earlier = network.predecessor(*id, *server);
                    let on_its_way = match earlier.and_then(|s| run.get(&(*id, s))) {
                        Some(process) => {
                            process.first()? - offsets.get(id).unwrap_or(&Rational::ZERO)
                        }
                        None => Rational::ZERO,
                    };
                    offsets.insert(*id, &when - &on_its_way);
                }
            }
            if let Some(blocker) = blocker {
                // With the first data that are as urgent as those of interest.
                let priority = network.flow(self.flow).priority;
                let urgent = self.flows.iter().filter(|id| {
                    network.position(**id, *server).is_some()
                        && network.flow(**id).priority <= priority
                });
                let first = |id: &FlowId| match network.predecessor(*id, *server) {
                    Some(before) => run.get(&(*id, before))?.first().cloned(),
                    None => offsets.get(id).cloned(),
                };
                if let Some(when) = urgent.filter_map(first).min() {
                    offsets.insert(blocker, when);
                }
            }
        }
        let run = self.through(&offsets, reversed, packets, None)?;
        let sent = self.source(self.flow, offsets.get(&self.flow)?, packets)?;
        let left = run.get(&(self.flow, *path.last()?))?;
        let mut offsets: Vec<_> = offsets.into_iter().collect();
        offsets.sort();
        Some(Trajectory {
            flow: self.flow,
            // A packet is there when its last bit is, and what has left of it does not wait.
            delay: match packets {
                true => sent.delay_to(&left.packetised(&network.flow(self.flow).maximum_packet)?),
                false => sent.delay_to(left),
            },
            backlog: sent.backlog_to(left),
            offsets,
        })
    }

    fn source(&self, id: FlowId, offset: &Rational, packets: bool) -> Option<Process> {
        let flow = self.network.flow(id);
        let fluid = Process::greedy(&flow.arrival, offset, &self.lasting)?;
        if packets { fluid.packetised(&flow.maximum_packet) } else { Some(fluid) }
    }

    /// The first server of the path of interest that a flow visits.
    fn joins(&self, id: FlowId) -> Option<ServerId> {
        let path = &self.network.flow(self.flow).path;
        path.iter().copied().find(|server| self.network.position(id, *server).is_some())
    }

    /// What leaves each server, for each flow; up to some server.
    fn through(
        &self,
        offsets: &HashMap<FlowId, Rational>,
        reversed: bool,
        packets: bool,
        until: Option<ServerId>,
    ) -> Option<HashMap<(FlowId, ServerId), Process>> {
        let network = self.network;
        let mut left = HashMap::new();
        for server in &self.order {
            if until == Some(*server) {
                break;
            }
            let mut here: Vec<FlowId> = self
                .flows
                .iter()
                .copied()
                .filter(|id| network.position(*id, *server).is_some())
                .collect();
            // The flow of interest is the last.
            here.sort_by_key(|id| *id == self.flow);
            if reversed {
                let others = here.iter().filter(|id| **id != self.flow).count();
                here[..others].reverse();
            }
            let mut arrivals = Vec::with_capacity(here.len());
            for id in &here {
                let arrival = match network.predecessor(*id, *server) {
                    None => self.source(*id, offsets.get(id)?, packets)?,
                    Some(before) => left.get(&(*id, before)).cloned()?,
                };
                arrivals.push(arrival);
            }
            if arrivals.iter().map(|arrival| arrival.knots.len()).sum::<usize>() > KNOTS {
                return None;
            }
            let groups = self.groups(*server, &here);
            let service = &network.server(*server).service;
            let mut departures = server::serve(&arrivals, &groups, service)?;
            if let Some(blocker) = self.blocker(*server)
                && let Some(place) = here.iter().position(|id| *id == blocker)
                && self.may_block(&here, place, &arrivals, &departures)
            {
                let packet = server::Blocking {
                    flow: place,
                    at: offsets.get(&blocker)?,
                    amount: &network.flow(blocker).maximum_packet,
                };
                let blocked =
                    |whole: bool| server::serve_behind(packet, whole, &arrivals, &groups, service);
                // The line is shaped bit by bit, before a packet leaves whole.
                let bits = blocked(false)?;
                if self.check_shaping(*server, &here, &bits).is_some() {
                    let whole = network.server(*server).packetizer;
                    left.extend(here.iter().map(|id| (*id, *server)).zip(blocked(whole)?));
                    continue;
                }
            }
            if packets {
                // A packetizer passes packets on to the next server; behind the last, bits count.
                for (id, departure) in here.iter().zip(&mut departures) {
                    let flow = network.flow(*id);
                    if flow.path.last() != Some(server) {
                        *departure = departure.packetised(&flow.maximum_packet)?;
                    }
                }
            }
            self.check_shaping(*server, &here, &departures)?;
            left.extend(here.iter().map(|id| (*id, *server)).zip(departures));
        }
        Some(left)
    }

    /// The flow whose packet the flow of interest may find on its way at a server: less urgent,
    /// sending a packet at once there, and of those the one with the largest.
    fn blocker(&self, server: ServerId) -> Option<FlowId> {
        let network = self.network;
        let by_priority = self.settings.multiplexing_at(network.server(server));
        if by_priority != Multiplexing::StaticPriority {
            return None;
        }
        let priority = network.flow(self.flow).priority;
        let blocks = |id: &&FlowId| {
            let flow = network.flow(**id);
            flow.path.first() == Some(&server)
                && flow.priority > priority
                && flow.maximum_packet.is_positive()
                && flow.arrival.right_limit_at(&Rational::ZERO)
                    >= Extended::from(&flow.maximum_packet)
        };
        let packet = |id: &&FlowId| network.flow(**id).maximum_packet.clone();
        self.flows.iter().filter(blocks).max_by_key(packet).copied()
    }

    /// Whether the first packet of a flow is served at once when it comes, and more urgent data that
    /// come at the same time behind it: nothing that is at least as urgent waits.
    fn may_block(
        &self,
        here: &[FlowId],
        blocker: usize,
        arrivals: &[Process],
        departures: &[Process],
    ) -> bool {
        let priority = |place: usize| here.get(place).map(|id| self.network.flow(*id).priority);
        let Some(t) = arrivals.get(blocker).and_then(Process::first) else { return false };
        arrivals.iter().zip(departures).enumerate().all(|(place, (arrival, departure))| {
            place == blocker
                || priority(place) > priority(blocker)
                || arrival.before(t) == departure.before(t)
        })
    }

    /// Places of flows in the list, by urgency.
    fn groups(&self, server: ServerId, here: &[FlowId]) -> Vec<server::Group> {
        match self.settings.multiplexing_at(self.network.server(server)) {
            Multiplexing::Fifo => vec![(0..here.len()).collect()],
            Multiplexing::Arbitrary => (0..here.len()).map(|place| vec![place]).collect(),
            Multiplexing::StaticPriority => {
                let mut classes = BTreeMap::<Priority, Vec<usize>>::new();
                for (place, id) in here.iter().enumerate() {
                    classes.entry(self.network.flow(*id).priority).or_default().push(place);
                }
                classes.into_values().collect()
            }
        }
    }

    /// A run that a link would have shaped has not happened.
    fn check_shaping(
        &self,
        server: ServerId,
        here: &[FlowId],
        departures: &[Process],
    ) -> Option<()> {
        let network = self.network;
        let mut over = BTreeMap::<Option<ServerId>, Process>::new();
        for (id, departure) in here.iter().zip(departures) {
            let path = &network.flow(*id).path;
            let next = path.get(network.position(*id, server)? + 1).copied();
            let sum = over.entry(next).or_default();
            *sum = sum.plus(departure, 1);
        }
        let mut all = Process::default();
        for (next, sum) in &over {
            all = all.plus(sum, 1);
            let link = next.and_then(|next| network.link(server, next));
            if link.is_some_and(|link| sum.exceeds(&link.ultimate_rate())) {
                return None;
            }
        }
        let shaping = network.server(server).shaping.as_ref();
        if shaping.is_some_and(|shaping| all.exceeds(&shaping.ultimate_rate())) {
            return None;
        }
        Some(())
    }
}

/// Servers of flows in an order that all paths have; none if there is a cycle.
fn order(network: &Network, flows: &[FlowId]) -> Option<Vec<ServerId>> {
    let mut incoming = BTreeMap::<ServerId, usize>::new();
    let mut successors = BTreeMap::<ServerId, Vec<ServerId>>::new();
    for id in flows {
        let path = &network.flow(*id).path;
        for server in path {
            incoming.entry(*server).or_default();
        }
        for turn in path.windows(2) {
            if let [from, to] = turn {
                successors.entry(*from).or_default().push(*to);
                *incoming.entry(*to).or_default() += 1;
            }
        }
    }
    let mut ready: Vec<ServerId> =
        incoming.iter().filter(|(_, count)| **count == 0).map(|(server, _)| *server).collect();
    let mut order = Vec::with_capacity(incoming.len());
    while let Some(server) = ready.pop() {
        order.push(server);
        for next in successors.get(&server).into_iter().flatten() {
            if let Some(count) = incoming.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    ready.push(*next);
                }
            }
        }
    }
    (order.len() == incoming.len()).then_some(order)
}
