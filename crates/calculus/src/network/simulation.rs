//! Simulated trajectories: lower bounds on the worst-case delay and backlog.
//!
//! An upper bound says more if a lower bound is known as well. Sources send as much as they may at
//! harmful times, and servers serve as little as they may. The flow of interest is served last
//! among data that arrive simultaneously or that a scheduler may serve in any order. All arithmetic
//! is exact, on piecewise linear processes, server after server. The result is a legal run of the
//! network, so no upper bound may be below it. If one is, the bound or this module is wrong, and
//! the caller must report that.
//!
//! Flows other than the flow of interest may also send nothing. This is used where the whole
//! network would be too large.
//!
//! At servers with static-priority multiplexing, a packet of a less urgent flow is being sent when
//! more urgent data arrive, if possible: the largest packet of those flows that begin at the server
//! and may send a packet instantaneously.
//!
//! Curves that are substitutes for longer ones ([`Part`]) allow more than the exact curves do.
//! Flows with such curves send nothing, and no run passes servers and links with such curves.
//!
//! Networks with packets, ports, regulators, multicast or replicated flows, or cycles are simulated
//! packet by packet (`packets`).
//!
//! In the fluid simulation, networks with packetizers are run twice: with packets so small that
//! nothing is held back, and, if all servers are FIFO and packetize, with packets of the largest
//! size.

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

/// The largest number of flows that take part in a fluid simulation besides the flow of interest.
const MAX_FLOWS: usize = 24;
/// The largest number of servers on a path in a fluid simulation. On longer paths, the data over
/// time would be functions of too many pieces.
const LONGEST_PATH: usize = 12;
/// The largest number of knots (points between linear pieces) of all cumulative processes at one
/// server.
const MAX_KNOTS: usize = 1_500;

/// The delay and the backlog of a flow in the worst simulated run that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Trajectory {
    /// The flow whose delay and backlog these are.
    pub flow: FlowId,
    /// The longest time that data of the flow were in the network in a run.
    pub delay: Rational,
    /// The largest amount of the flow's data that was in the network in a run.
    pub backlog: Rational,
    /// The times at which the flows of the run with the longest delay began to send, by flow.
    pub offsets: Vec<(FlowId, Rational)>,
}

/// The rule for the time at which cross traffic begins to send in a fluid run.
#[derive(Clone, Copy, Debug)]
enum Strategy {
    /// All flows begin to send at the same time.
    Together,
    /// A cross flow begins at a time such that its first data reach the server at which it joins
    /// the path of the flow of interest together with the first data of that flow.
    WithTheFirst,
    /// A cross flow begins at a time such that its first data reach the server at which it joins
    /// the path of the flow of interest together with the last data of that flow's burst.
    WithTheLast,
}

impl Trajectory {
    /// Combines the results of two runs of a flow: the one with the longer delay, with the larger
    /// of both backlogs.
    fn or_worse(self, other: Self) -> Self {
        let backlog = self.backlog.clone().max(other.backlog.clone());
        Self { backlog, ..if other.delay > self.delay { other } else { self } }
    }
}

/// Searches for runs of the network in which a flow has a long delay, and returns the worst one
/// that was found. The network is simulated as a fluid if possible, and packet by packet if it has
/// packets or features that only the packet simulation supports, such as ports, regulators,
/// multicast and replicated flows, and clocks. Returns `None` if neither simulation supports the
/// network.
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

/// Searches for the worst run of a flow in a fluid simulation. Returns `None` if the fluid
/// simulation does not support the network, because of infinite bursts, overload, maximum service
/// curves, very long paths, or substitutes for longer curves.
fn simulate_fluid(network: &Network, flow: FlowId, settings: &Settings) -> Option<Trajectory> {
    let setup = FluidSetup::of(network, flow, settings)?;
    let mut worst: Option<Trajectory> = None;
    let strategies = [Strategy::Together, Strategy::WithTheFirst, Strategy::WithTheLast];
    let sizes = if setup.sends_packets() { &[false, true][..] } else { &[false] };
    for (strategy, packets) in strategies.iter().flat_map(|s| sizes.iter().map(move |p| (s, p))) {
        for reversed in [false, true] {
            let Some(found) = setup.run(*strategy, reversed, *packets) else { continue };
            worst = Some(match worst {
                None => found,
                Some(worst) => worst.or_worse(found),
            });
        }
    }
    worst
}

/// The flows and servers that take part in a fluid simulation for a flow of interest.
struct FluidSetup<'n> {
    network: &'n Network,
    settings: &'n Settings,
    flow: FlowId,
    /// The flow of interest and the flows of its cross traffic that take part.
    flows: Vec<FlowId>,
    /// The servers that affect the flow of interest, in topological order.
    order: Vec<ServerId>,
    /// The length of the time during which sources send.
    lasting: Rational,
}

impl<'n> FluidSetup<'n> {
    /// Prepares the simulation of a flow. Returns `None` if the flow or its path cannot be
    /// simulated.
    fn of(network: &'n Network, flow: FlowId, settings: &'n Settings) -> Option<Self> {
        let path = &network.flow(flow).path;
        if path.len() > LONGEST_PATH || network.is_outlined(Part::Flow(flow)) {
            return None;
        }
        let mut flows = vec![flow];
        // Flows that share the most servers with the path of interest come first.
        let mut shared = BTreeMap::<FlowId, usize>::new();
        for server in path {
            for other in network.flows_at(*server).iter().filter(|other| **other != flow) {
                *shared.entry(*other).or_default() += 1;
            }
        }
        let mut others: Vec<(FlowId, usize)> = shared.into_iter().collect();
        others.sort_by_key(|(id, shared)| (std::cmp::Reverse(*shared), *id));
        for (other, _) in others.into_iter().take(MAX_FLOWS) {
            let outlined = network.is_outlined(Part::Flow(other));
            if network.flow(other).path.len() > LONGEST_PATH || outlined {
                continue;
            }
            flows.push(other);
            if order(network, &flows).is_none() {
                flows.pop();
            }
        }
        let mut order = order(network, &flows)?;
        // Only the part of other flows' paths matters that lies before the path of the flow of
        // interest.
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

    /// Returns whether runs with packets of the largest size are possible, because all servers
    /// packetize and are FIFO, and all flows can send whole packets.
    fn sends_packets(&self) -> bool {
        let in_turn = |server: &ServerId| {
            let model = self.network.server(*server);
            let fifo = self.settings.multiplexing_at(model) == Multiplexing::Fifo;
            model.packetizer && fifo
        };
        // A packet arrives at once, which a concave arrival curve with a sufficient burst allows.
        let whole = |id: &FlowId| {
            let flow = self.network.flow(*id);
            let burst = flow.arrival.right_limit_at(&Rational::ZERO);
            flow.maximum_packet.is_positive()
                && burst >= Extended::from(&flow.maximum_packet)
                && flow.arrival.is_concave()
        };
        self.order.iter().all(in_turn) && self.flows.iter().all(whole)
    }

    /// Performs one run, with packets of the largest size or with a fluid. `strategy` says when
    /// cross traffic begins, and `reversed` reverses the order in which simultaneous cross traffic
    /// is served. Returns `None` if the run is not possible.
    fn run(&self, strategy: Strategy, reversed: bool, packets: bool) -> Option<Trajectory> {
        let network = self.network;
        let path = &network.flow(self.flow).path;
        let burst =
            network.flow(self.flow).arrival.right_limit_at(&Rational::ZERO).into_finite()?;
        let mut offsets: HashMap<FlowId, Rational> =
            self.flows.iter().map(|id| (*id, Rational::ZERO)).collect();
        // The times at which the flow of interest reaches a server depend on the flows that joined
        // before.
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
                    // The cross flow also takes time from its source to the server.
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
                // The blocking packet starts with the first data that are at least as urgent as
                // those of interest.
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
            // A packet has arrived when its last bit has arrived. The part of a packet that has
            // left does not count as backlog.
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

    /// Returns the first server on the path of the flow of interest that another flow visits.
    fn joins(&self, id: FlowId) -> Option<ServerId> {
        let path = &self.network.flow(self.flow).path;
        path.iter().copied().find(|server| self.network.position(id, *server).is_some())
    }

    /// Returns the data of each flow that have left each server over time, for the servers before
    /// `until`. `offsets` has the times at which the flows begin.
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
            // The flow of interest is served last.
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
            if arrivals.iter().map(|arrival| arrival.knots.len()).sum::<usize>() > MAX_KNOTS {
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
                // The link is shaped bit by bit, before the packetizer.
                let bits = blocked(false)?;
                if self.check_shaping(*server, &here, &bits).is_some() {
                    let whole = network.server(*server).packetizer;
                    left.extend(here.iter().map(|id| (*id, *server)).zip(blocked(whole)?));
                    continue;
                }
            }
            if packets {
                // A packetizer passes whole packets to the next server. After the last server,
                // single bits count.
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

    /// Returns a less urgent flow whose packet the flow of interest may find in transmission at a
    /// server. The flow must begin at the server and may send a packet instantaneously. If there
    /// are several, the one with the largest packet is returned.
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

    /// Returns whether the first packet of a flow can enter service on its arrival, because no data
    /// wait that are at least as urgent.
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

    /// Returns the indices of the flows in `here`, grouped by the order in which the server serves
    /// them: by priority, the most urgent first, if it has static priority.
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

    /// Returns `None` if the output of a server exceeds a shaping curve, because the run is then
    /// not a legal run of the network.
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

/// Returns the servers that some flows visit, in topological order, or `None` if they have a cycle.
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
