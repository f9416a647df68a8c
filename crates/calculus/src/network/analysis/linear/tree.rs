//! The servers that matter to a flow, as a tree, with the traffic that enters it.
//!
//! The root is the last server of the flow's path. The children of a server are the servers from
//! which flows go directly to it. Side branches are unfolded as in panco (Bouillard, "Trade-off
//! between accuracy and tractability of network calculus in FIFO networks", Performance Evaluation
//! 153, 2022, section 4), so that a server from which several paths lead to the root occurs several
//! times. A branch ends at sources. It is cut where it would reach one of its own servers again (a
//! cycle), and where the tree would grow too large. Traffic over a cut link obeys its arrival
//! curve, advanced by the delays of total flow analysis. It also obeys a token bucket with a burst
//! that is known or that is an unknown of a fixed point ([`super::cuts`]).

use std::collections::{BTreeMap, HashMap};

use crate::network::analysis::AnalysisError;
use crate::network::analysis::fixed_point::Delays;
use crate::network::arrival::Common;
use crate::network::elements::{FlowId, Multiplexing, ServerId};
use crate::network::operations;
use crate::network::pmoo::{self, RateLatency, TokenBucket};
use crate::{Curve, Extended, Interrupt, Rational};

/// A server of the tree. A server from which several paths lead to the root has several nodes.
#[derive(Clone, Debug)]
pub(in crate::network::analysis) struct Node {
    pub(in crate::network::analysis) server: ServerId,
    /// The index of the next node on the path to the root, or `None` at the root.
    pub(super) next: Option<usize>,
    /// The number of servers from this one to the root, both included. It is 1 for the root.
    pub(super) depth: usize,
    pub(super) services: Vec<RateLatency>,
    /// A bound on the delay at the server, in the units of the network.
    pub(in crate::network::analysis) delay: Extended,
    /// A bound on the length of the server's backlogged periods.
    pub(super) period: Extended,
    /// The token buckets that shape the traffic to the next server of the tree.
    pub(super) shaping: Vec<TokenBucket>,
}

/// Flows that visit the same servers of the tree and enter it over the same link.
#[derive(Clone, Debug)]
pub(in crate::network::analysis) struct Class {
    pub(in crate::network::analysis) first: usize,
    pub(in crate::network::analysis) last: usize,
    /// The server from which the flows enter the tree, or `None` for flows that begin at the first
    /// node. The server itself is not in the tree at this place.
    pub(super) from: Option<ServerId>,
    pub(in crate::network::analysis) flows: Vec<FlowId>,
    /// The known arrival curve of the class at its first node.
    pub(in crate::network::analysis) arrival: Curve,
    /// The numbers of the unknown bursts that add up to the burst of the class. The list is empty
    /// if the burst is known.
    pub(super) unknowns: Vec<usize>,
    /// The long-term rate of the class, or `None` if the rate is infinite.
    pub(super) rate: Option<Rational>,
    /// Whether the linear program maximises the burst or the backlog of this class.
    pub(super) is_target: bool,
}

/// A link over which traffic enters the tree, with the constraints on all of that traffic together.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) to: usize,
    pub(super) from: ServerId,
    pub(super) buckets: Vec<TokenBucket>,
    /// The number of the unknown burst of all flows over the link together, and their long-term
    /// rate.
    pub(super) unknown: Option<(usize, Rational)>,
}

/// The burst of the traffic that leaves a server: a proven bound, or an unknown of a fixed point.
#[derive(Clone, Debug)]
pub(in crate::network::analysis) enum Burst {
    /// A burst that is proven.
    Known(Rational),
    /// An unknown burst, by its number.
    Unknown(usize),
}

/// Bursts of traffic behind servers, for single flows and for all traffic over a link together. A
/// token bucket with this burst and the long-term rate bounds the traffic.
#[derive(Clone, Debug, Default)]
pub(in crate::network::analysis) struct Bursts {
    pub(super) flows: HashMap<(FlowId, ServerId), Burst>,
    pub(super) links: HashMap<(ServerId, ServerId), Burst>,
}

/// The extent to which side branches, from which traffic joins the path, are unfolded to a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::network::analysis) enum Unfolding {
    /// The tree is the path alone, without side branches.
    Path,
    /// Side branches are unfolded as long as the number of times and flows at all servers together
    /// is at most this number.
    Polynomial(usize),
    /// Side branches are unfolded up to a distance from the root (the first number), as long as the
    /// number of times is at most the second number.
    Exponential(usize, usize),
}

/// The servers that affect a flow, as a tree whose root is the last server of the flow's path, with
/// the traffic that enters the tree. If there is a flow of interest, the first nodes are its path,
/// in order.
#[derive(Clone, Debug)]
pub(in crate::network::analysis) struct Tree {
    pub(in crate::network::analysis) nodes: Vec<Node>,
    pub(in crate::network::analysis) classes: Vec<Class>,
    pub(super) sides: Vec<Side>,
    /// The unit of time in the program of the tree. It is chosen, as the unit of data is, so that
    /// the numbers of the program have similar magnitudes.
    pub(super) time: Rational,
    pub(super) data: Rational,
    /// The interrupt for the programs of this tree.
    pub(super) stop: Interrupt,
}

impl Tree {
    /// Builds the tree of the servers from which traffic comes to a path, given delay bounds at all
    /// servers. The flows `targets` that reach the root form classes without other flows.
    pub(in crate::network::analysis) fn of(
        common: &Common<'_>,
        delays: &Delays,
        path: &[ServerId],
        unfolding: Unfolding,
        bursts: &Bursts,
        targets: &[FlowId],
    ) -> Result<Self, AnalysisError> {
        let mut nodes: Vec<Node> = Vec::with_capacity(path.len());
        for (index, server) in path.iter().enumerate() {
            if let Some(why) = no_program(common, *server, index + 1 == path.len()) {
                return Err(AnalysisError::NoProgram(why));
            }
            let next = path.get(index + 1).map(|next| (index + 1, *next));
            nodes.push(node(common, delays, *server, next, path.len() - index)?);
        }
        unfold(common, delays, &mut nodes, unfolding)?;
        let classes = classes(common, delays, &nodes, bursts, targets)?;
        let sides = sides(common, &nodes, &classes, bursts);
        let (time, data) = scales(&nodes, &classes);
        Ok(Self { nodes, classes, sides, time, data, stop: Interrupt::of_thread() })
    }

    /// Returns the links over which traffic enters the tree from other servers, each once.
    pub(super) fn cut_links(&self) -> Vec<(ServerId, ServerId)> {
        let link = |class: &Class| Some((class.from?, self.nodes.get(class.first)?.server));
        let mut links: Vec<_> = self.classes.iter().filter_map(link).collect();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Lowers the delay bounds of the nodes to those of total flow analysis on this tree. These may
    /// be smaller than before if bursts over cut links are known.
    pub(super) fn tighten(&mut self) -> Result<(), AnalysisError> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(self.nodes[*index].depth));
        // The arrival curve of each class at the node that it has reached.
        let mut here: Vec<Curve> = self.classes.iter().map(|class| class.arrival.clone()).collect();
        let mut at: Vec<usize> = self.classes.iter().map(|class| class.first).collect();
        for index in order {
            let mut total = Curve::zero();
            // The traffic over one link together obeys the link's shaping.
            let mut groups = BTreeMap::<(Option<usize>, Option<ServerId>), Vec<usize>>::new();
            for (class, description) in self.classes.iter().enumerate() {
                if at[class] == index {
                    let entered = description.first == index;
                    let child = (!entered).then(|| self.child(description, index)).flatten();
                    let from = description.from.filter(|_| entered);
                    groups.entry((child, from)).or_default().push(class);
                }
            }
            for ((child, from), members) in groups {
                let mut sum = Curve::zero();
                for class in members {
                    sum = operations::sum(&sum, &here[class])?;
                }
                let side = self.sides.iter().find(|s| s.to == index && Some(s.from) == from);
                let shapes = child.map(|child| &self.nodes[child].shaping);
                let side = side.map(|side| &side.buckets);
                for bucket in shapes.or(side).into_iter().flatten() {
                    let shape = Curve::token_bucket(bucket.burst.clone(), bucket.rate.clone());
                    if let Ok(shape) = shape {
                        sum = operations::minimum(&sum, &shape)?;
                    }
                }
                total = operations::sum(&total, &sum)?;
            }
            let node = &mut self.nodes[index];
            let service = operations::maximum_of(&node.services)?;
            let delay = operations::horizontal_deviation(&total, &service)?;
            node.delay = node.delay.clone().min(delay);
            let period = operations::backlogged_period(&total, &service)?;
            node.period = node.period.clone().min(period);
            for (class, description) in self.classes.iter().enumerate() {
                if at[class] == index && description.last != index {
                    here[class] = operations::advanced(&here[class], &self.nodes[index].delay)?;
                    at[class] = self.nodes[index].next.unwrap_or(index);
                }
            }
        }
        (self.time, self.data) = scales(&self.nodes, &self.classes);
        Ok(())
    }

    /// Lowers the delay bounds of the nodes to those of another tree with the same nodes, where
    /// these are smaller.
    pub(super) fn take_delays(&mut self, other: &Self) {
        for (node, other) in self.nodes.iter_mut().zip(&other.nodes) {
            node.delay = node.delay.clone().min(other.delay.clone());
            node.period = node.period.clone().min(other.period.clone());
        }
        (self.time, self.data) = scales(&self.nodes, &self.classes);
    }

    /// Returns the node from which a class comes to the node `to`, or `None` if `to` is the class's
    /// first node.
    fn child(&self, class: &Class, to: usize) -> Option<usize> {
        let mut at = class.first;
        while let Some(next) = self.nodes.get(at)?.next {
            if next == to {
                return Some(at);
            }
            at = next;
        }
        None
    }
}

/// Returns the reason why a server cannot be part of a linear program, or `None` if it can. A
/// packetizer mixes bits of several packets and releases them packet by packet, which the program
/// models only at the last server.
fn no_program(common: &Common<'_>, server: ServerId, is_last: bool) -> Option<String> {
    let model = common.network.server(server);
    if common.multiplexing(server) != Multiplexing::Fifo {
        return Some(format!("server '{}' is not FIFO", model.name));
    }
    (model.packetizer && !is_last).then(|| format!("server '{}' sends whole packets", model.name))
}

fn node(
    common: &Common<'_>,
    delays: &Delays,
    server: ServerId,
    next: Option<(usize, ServerId)>,
    depth: usize,
) -> Result<Node, AnalysisError> {
    let model = common.network.server(server);
    // All flows of a FIFO server have the same delay bound.
    let any = common.network.flows_at(server).first();
    let delay = any.map_or(Extended::ZERO, |flow| delays.delay(common, server, *flow));
    Ok(Node {
        server,
        next: next.map(|(index, _)| index),
        depth,
        services: pmoo::rate_latencies(&model.service),
        delay,
        period: delays.backlogged_period(common, server)?,
        shaping: next.map_or_else(Vec::new, |(_, to)| shaping(common, server, to)),
    })
}

/// Adds nodes for side branches to the path, those near the root first.
fn unfold(
    common: &Common<'_>,
    delays: &Delays,
    nodes: &mut Vec<Node>,
    unfolding: Unfolding,
) -> Result<(), AnalysisError> {
    let cost = |server: ServerId, depth: usize| match unfolding {
        Unfolding::Path => usize::MAX,
        Unfolding::Polynomial(_) => depth + 1 + common.network.flows_at(server).len(),
        Unfolding::Exponential(deepest, _) if depth > deepest => usize::MAX,
        Unfolding::Exponential(..) => 1 << depth,
    };
    let most = match unfolding {
        Unfolding::Path => return Ok(()),
        Unfolding::Polynomial(most) | Unfolding::Exponential(_, most) => most,
    };
    let mut spent: usize = 0;
    for node in nodes.iter() {
        spent = spent.saturating_add(cost(node.server, node.depth));
    }
    let mut done = vec![false; nodes.len()];
    loop {
        done.resize(nodes.len(), false);
        let open = (0..nodes.len()).filter(|index| !done[*index]);
        let Some(index) = open.min_by_key(|index| nodes[*index].depth) else { return Ok(()) };
        common.go_on()?;
        done[index] = true;
        let (server, depth) = (nodes[index].server, nodes[index].depth + 1);
        let flows = common.network.flows_at(server).iter();
        let mut before: Vec<ServerId> =
            flows.filter_map(|flow| common.network.predecessor(*flow, server)).collect();
        before.sort_unstable();
        before.dedup();
        for from in before {
            let is_child = |node: &Node| node.next == Some(index) && node.server == from;
            if nodes.iter().any(is_child)
                || is_ahead(nodes, index, from)
                || no_program(common, from, false).is_some()
            {
                continue;
            }
            let with = spent.saturating_add(cost(from, depth));
            if with <= most {
                spent = with;
                nodes.push(node(common, delays, from, Some((index, server)), depth)?);
            }
        }
    }
}

/// Returns whether `server` occurs on the path from the node with index `index` to the root.
fn is_ahead(nodes: &[Node], index: usize, server: ServerId) -> bool {
    let mut at = Some(index);
    while let Some(node) = at.and_then(|index| nodes.get(index)) {
        if node.server == server {
            return true;
        }
        at = node.next;
    }
    false
}

/// Returns the traffic of the tree, grouped into classes by the first and the last node and by the
/// link over which the flows come.
fn classes(
    common: &Common<'_>,
    delays: &Delays,
    nodes: &[Node],
    bursts: &Bursts,
    targets: &[FlowId],
) -> Result<Vec<Class>, AnalysisError> {
    let network = common.network;
    let mut children = HashMap::<(usize, ServerId), usize>::new();
    for (index, node) in nodes.iter().enumerate() {
        if let Some(next) = node.next {
            children.insert((next, node.server), index);
        }
    }
    let mut found = BTreeMap::<(usize, usize, Option<ServerId>, bool), Vec<FlowId>>::new();
    for (first, node) in nodes.iter().enumerate() {
        common.go_on()?;
        for id in network.flows_at(node.server) {
            let from = network.predecessor(*id, node.server);
            if from.is_some_and(|from| children.contains_key(&(first, from))) {
                continue;
            }
            let mut last = first;
            while let Some(next) = nodes[last].next {
                if network.predecessor(*id, nodes[next].server) != Some(nodes[last].server) {
                    break;
                }
                last = next;
            }
            let is_target = nodes[last].next.is_none() && targets.contains(id);
            found.entry((first, last, from, is_target)).or_default().push(*id);
        }
    }
    let mut classes = Vec::with_capacity(found.len());
    for ((first, last, from, is_target), flows) in found {
        let (mut arrival, mut rate) = (Curve::zero(), Some(Rational::ZERO));
        let (mut known, mut unknowns) = (from.map(|_| Rational::ZERO), Vec::new());
        for id in &flows {
            let flow = network.flow(*id);
            let mut delay = Extended::ZERO;
            for earlier in flow.path.iter().take_while(|earlier| **earlier != nodes[first].server) {
                let there = delays.delay(common, *earlier, *id);
                delay = delay.checked_add(&there).unwrap_or(Extended::PositiveInfinity);
            }
            common.go_on()?;
            let behind = operations::advanced(&flow.arrival, &delay)?;
            arrival = common.shortened(operations::sum(&arrival, &behind)?);
            rate = rate.zip(flow.arrival.ultimate_rate().into_finite()).map(|(sum, r)| sum + r);
            match from.and_then(|from| bursts.flows.get(&(*id, from))) {
                Some(Burst::Known(burst)) => known = known.map(|sum| sum + burst),
                Some(Burst::Unknown(number)) => unknowns.push(*number),
                None => known = None,
            }
        }
        // The unknown bursts bound the class only if each of its flows has one.
        if unknowns.len() != flows.len() {
            unknowns.clear();
            if let Some((burst, rate)) = known.zip(rate.clone())
                && let Ok(bucket) = Curve::token_bucket(burst, rate)
            {
                arrival = operations::minimum(&arrival, &bucket)?;
            }
        }
        classes.push(Class { first, last, from, flows, arrival, unknowns, rate, is_target });
    }
    Ok(classes)
}

fn sides(common: &Common<'_>, nodes: &[Node], classes: &[Class], bursts: &Bursts) -> Vec<Side> {
    let network = common.network;
    let mut sides: Vec<Side> = Vec::new();
    for class in classes {
        let Some(from) = class.from else { continue };
        let (to, server) = (class.first, nodes[class.first].server);
        if sides.iter().any(|side| side.to == to && side.from == from) {
            continue;
        }
        let mut buckets = shaping(common, from, server);
        let mut rate = Some(Rational::ZERO);
        for id in network.flows_over(from, server) {
            let of_flow = network.flow(*id).arrival.ultimate_rate().into_finite();
            rate = rate.zip(of_flow).map(|(sum, rate)| sum + rate);
        }
        let unknown = match (bursts.links.get(&(from, server)), rate) {
            (Some(Burst::Known(burst)), Some(rate)) => {
                buckets.push(TokenBucket { burst: burst.clone(), rate });
                None
            }
            (Some(Burst::Unknown(number)), Some(rate)) => Some((*number, rate)),
            _ => None,
        };
        if !buckets.is_empty() || unknown.is_some() {
            sides.push(Side { to, from, buckets, unknown });
        }
    }
    sides
}

/// Returns the token buckets that shape all traffic from one server to another together. The list
/// is empty if data leave the first server in packets.
fn shaping(common: &Common<'_>, from: ServerId, to: ServerId) -> Vec<TokenBucket> {
    let (network, server) = (common.network, common.network.server(from));
    if server.packetizer {
        return Vec::new();
    }
    server.shaping.iter().chain(network.link(from, to)).flat_map(pmoo::token_buckets).collect()
}

/// Returns the units of time and of data for the program of a tree: powers of two of the magnitude
/// of its times and data.
fn scales(nodes: &[Node], classes: &[Class]) -> (Rational, Rational) {
    let finite = nodes.iter().filter_map(|node| node.delay.finite()).max().cloned();
    let services = || nodes.iter().flat_map(|node| &node.services);
    let rates = services().filter_map(|service| service.rate.finite());
    let rate = rates.max().cloned().unwrap_or(Rational::ZERO);
    // If the delay is not finite, the scale is that of the latencies and of the time to serve all
    // bursts.
    let alone = || {
        let latencies = services().map(|service| service.latency.clone()).sum::<Rational>();
        let bursts = classes.iter().filter_map(|class| pmoo::token_buckets(&class.arrival).pop());
        let burst = bursts.map(|bucket| bucket.burst).sum::<Rational>();
        latencies + burst.checked_div(&rate).unwrap_or(Rational::ZERO)
    };
    let time = power_of_two(&finite.unwrap_or_else(alone));
    let data = power_of_two(&(&rate * &time));
    (time, data)
}

/// Returns the smallest power of two that is not below the number, or one if the number is zero.
pub(super) fn power_of_two(number: &Rational) -> Rational {
    let mut power = Rational::ONE;
    if !number.is_positive() {
        return power;
    }
    let two = Rational::from(2);
    while power > *number {
        power = power / &two;
    }
    while power < *number {
        power = power * &two;
    }
    power
}
