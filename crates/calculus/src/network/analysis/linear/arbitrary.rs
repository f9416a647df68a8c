//! A single linear program for strict servers under arbitrary multiplexing.
//!
//! Bouillard, Jouhet and Thierry ("Tight performance bounds in the worst-case analysis of
//! feed-forward networks", INFOCOM 2010) describe a run by a few times. Data leave the last server
//! at t. For each server, let s be the start of its backlogged period at a time t that is known
//! already: all that had arrived by s had left by s, and the strict service curve bounds what has
//! left by t. The time s is then the time t of the previous servers. So every path through the
//! network to the last server has its times, in order along the path. For each flow, the data at
//! these times obey
//!
//! * strict service: the data of all flows that left the server from s to t are at least the
//!   service of t - s;
//! * the arrival curve, between any two times of the flow's path;
//! * causality: the data that have left are at most those that have arrived.
//!
//! All of that is linear. For a tandem the optimum is the exact worst case (theorem 4 there). Where
//! paths join, the order of times on different paths is unknown. The paper has a program for each
//! order, and, as a bound, one for all orders with the constraints that hold in each. This module
//! has the latter (ULP in DNC). A server that several paths visit has times and data for each of
//! them.
//!
//! For the longest delay there is one more time, at which the data that leave at t arrived. It may
//! lie between any two consecutive times of the path. There is one program for each such interval,
//! and the largest optimum counts.
//!
//! Flows with equal arrival curves and paths are one class, which does not change the optimum: each
//! keeps its arrival curve if data are divided evenly. If the tree of these paths would be too
//! large, it is cut. Flows over a cut link have the arrival curves that the settings bound.

mod burst;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::fixed_point::Delays;
use super::super::{Analysis, AnalysisError, FlowBound};
pub(in crate::network::analysis) use burst::burst;

use super::program::{Bound, Program, Terms};
use super::rows::{minus, plus};
use super::tree::power_of_two;
use crate::network::arrival::{Bounder, Common};
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::{FlowId, ServerId};
use crate::network::operations;
use crate::network::pmoo::{self, RateLatency, TokenBucket};
use crate::{Curve, Extended, Rational};

/// The largest size of the tree of servers for the bound of a flow, as the number of its servers
/// plus the number of flows at each of them.
const LARGEST_UNFOLDING: usize = 240;
/// The largest size of the tree of servers for the bound of a burst, as the number of its servers
/// plus the number of flows at each of them. It is smaller because cyclic networks have many
/// bursts, each bounded several times.
const LARGEST_UNFOLDING_FOR_BURSTS: usize = 120;
/// The largest number of servers on a path. A delay bound takes as many programs as the path has
/// servers.
const LONGEST_PATH: usize = 24;

/// A server on one path to the root, the last server of the flow's path. A server from which
/// several paths lead to the root has one node for each of them.
struct Node {
    server: ServerId,
    /// The index of the next node on the path to the root, or `None` at the root.
    next: Option<usize>,
    /// Rate-latency curves whose maximum is the strict service curve of the server.
    services: Vec<RateLatency>,
    /// A bound on the length of the server's backlogged periods.
    period: Extended,
}

/// Flows that share one path through the nodes (servers) of the tree.
struct Class {
    /// The indices of the nodes on the path, in order.
    way: Vec<usize>,
    /// The server from which the flows come to the first node of the path, or `None` if that server
    /// is itself among the nodes or the flows begin there.
    from: Option<ServerId>,
    flows: Vec<FlowId>,
    arrival: Curve,
}

/// The variables for the times and data of a class. The first time is the start of the backlogged
/// period at the class's first server. Each server adds one time, the end of the considered part of
/// its backlogged period. Times count backwards from the end of the run, and data from the first
/// time on.
struct Variables {
    ages: Vec<Option<usize>>,
    /// The data that have arrived at the class's first server by each of the class's times.
    come: Vec<Option<usize>>,
    /// The data that have left each server of the class by the time of that server. The first entry
    /// stands for zero.
    left: Vec<Option<usize>>,
    buckets: Vec<TokenBucket>,
    /// Upper bounds on the time from the first of the class's times to the end of the run, and on
    /// the amount of the class's data.
    most: (Option<Rational>, Option<Rational>),
}

/// A time of a class: the variable for its age (the time from then to the end of the run), and the
/// variable for the data that have arrived at the class's first server by then. `None` stands for
/// an age or an amount of zero.
#[derive(Clone, Copy)]
struct Moment {
    age: Option<usize>,
    come: Option<usize>,
}

impl Variables {
    fn moment(&self, at: usize) -> Moment {
        Moment { age: self.ages[at], come: self.come[at] }
    }
}

/// A linear program, with its variables by class of flows.
struct Formulation {
    program: Program,
    classes: Vec<Variables>,
    /// The units of time and of data in which the program has its numbers.
    time: Rational,
    data: Rational,
}

/// Returns the bounds of a flow from the linear program for arbitrary multiplexing.
pub(in crate::network::analysis) fn bound(
    common: &Common<'_>,
    delays: &Delays,
    id: FlowId,
) -> Result<FlowBound, AnalysisError> {
    let path = super::path_of(common, id, Analysis::Ulp, LONGEST_PATH)?;
    let bounder = Bounder::new(common);
    let nodes = unfold(&bounder, delays, path, true)?;
    let mut classes = classes(&bounder, &nodes, &[id])?;
    // The flow of interest is the first class.
    let of_interest = classes.iter().position(|class| class.flows == [id] && class.way[0] == 0);
    classes.swap(0, of_interest.unwrap_or(0));
    let mut formulation = Formulation::of(&nodes, &classes);
    formulation.share_links(&bounder, &nodes, &classes)?;
    let found = formulation.delay(path.len());
    common.go_on()?;
    let optimal = found.as_ref().is_some_and(|bound| bound.optimal);
    let delay = match common.network.flow(id).arrival == Curve::zero() {
        // A flow without data has no delay.
        true => Extended::ZERO,
        false => found.map_or(Extended::PositiveInfinity, |bound| bound.value.into()),
    };
    let (variables, rows) = (formulation.program.variables(), formulation.program.rows());
    let backlog = formulation.backlog();
    common.go_on()?;

    let server = |index: &usize| nodes.get(*index).map(|node| node.server);
    let mut crossings = Vec::with_capacity(classes.len());
    for class in classes {
        let ends = class.way.first().and_then(server).zip(class.way.last().and_then(server));
        if let Some((first, last)) = ends {
            crossings.push((first, last, class.flows, Arc::new(class.arrival)));
        }
    }
    let steps = vec![Step::Program { crossings, delays: Vec::new(), variables, rows, optimal }];
    let derivation = Derivation { steps, services: Vec::new() };
    let mut bound = FlowBound::of_delay(common, Analysis::Ulp, id, delay, derivation)?;
    if let Some(backlog) = backlog.map(Extended::Finite) {
        bound.backlog = bound.backlog.min(backlog);
    }
    Ok(bound)
}

/// Returns the servers of the path and those from which flows come to them, directly or indirectly.
/// Servers near the root are added first, until the unfolding is too large.
fn unfold(
    bounder: &Bounder<'_, '_>,
    delays: &Delays,
    path: &[ServerId],
    to_the_end: bool,
) -> Result<Vec<Node>, AnalysisError> {
    let network = bounder.common.network;
    let node = |server: ServerId, next: Option<usize>| {
        bounder.strict(server)?;
        let last = to_the_end && next.is_none();
        Ok::<_, AnalysisError>(Node {
            server,
            next,
            services: pmoo::rate_latencies(&bounder.common.service(server, last)?),
            period: period(bounder, delays, server)?,
        })
    };
    let mut nodes = Vec::with_capacity(path.len());
    let mut depths: Vec<usize> = (1..=path.len()).rev().collect();
    for (index, server) in path.iter().enumerate() {
        let next = (index + 1 < path.len()).then_some(index + 1);
        nodes.push(node(*server, next)?);
    }
    let room = if to_the_end { LARGEST_UNFOLDING } else { LARGEST_UNFOLDING_FOR_BURSTS };
    let cost = |server: ServerId| 1 + network.flows_at(server).len();
    let mut spent: usize = path.iter().map(|server| cost(*server)).sum();
    let mut done = Vec::new();
    loop {
        done.resize(nodes.len(), false);
        let open = (0..nodes.len()).filter(|index| !done[*index]);
        let Some(index) = open.min_by_key(|index| depths[*index]) else { return Ok(nodes) };
        bounder.common.go_on()?;
        done[index] = true;
        for from in servers_before(bounder.common, nodes[index].server) {
            if child(&nodes, index, from).is_some()
                || spent + cost(from) > room
                || bounder.common.is_cut(from, nodes[index].server)
            {
                continue;
            }
            spent += cost(from);
            nodes.push(node(from, Some(index))?);
            depths.push(depths[index] + 1);
        }
    }
}

/// Returns a bound on the length of a server's backlogged periods.
fn period(
    bounder: &Bounder<'_, '_>,
    delays: &Delays,
    server: ServerId,
) -> Result<Extended, AnalysisError> {
    let common = bounder.common;
    let by_delays = delays.backlogged_period(common, server)?;
    if common.cuts.is_none() {
        return Ok(by_delays);
    }
    // The arrival curves of a cut network may be smaller than those by delays.
    let all = bounder.arrival(server, &common.sets.at(server), None)?;
    let service = &common.network.server(server).service;
    Ok(by_delays.min(operations::backlogged_period(&all, service)?))
}

/// Returns the servers from which flows go directly to the given server, in ascending order.
fn servers_before(common: &Common<'_>, server: ServerId) -> Vec<ServerId> {
    let flows = common.network.flows_at(server).iter();
    let mut before: Vec<ServerId> =
        flows.filter_map(|flow| common.network.predecessor(*flow, server)).collect();
    before.sort_unstable();
    before.dedup();
    before
}

/// Returns the index of the node of `server` whose next node is the one with index `index`, if
/// there is one.
fn child(nodes: &[Node], index: usize, server: ServerId) -> Option<usize> {
    nodes.iter().position(|node| node.next == Some(index) && node.server == server)
}

/// Returns the flows at the nodes, grouped into classes by their path. Each of the flows `targets`
/// that reaches the root is a class of its own.
fn classes(
    bounder: &Bounder<'_, '_>,
    nodes: &[Node],
    targets: &[FlowId],
) -> Result<Vec<Class>, AnalysisError> {
    let network = bounder.common.network;
    // The key of a class: its first node, its last node, the server before the first node if it is
    // not among the nodes, and the target flow if the class is one.
    type Key = (usize, usize, Option<ServerId>, Option<FlowId>);
    let mut found = BTreeMap::<Key, Vec<FlowId>>::new();
    for (first, node) in nodes.iter().enumerate() {
        bounder.common.go_on()?;
        for id in network.flows_at(node.server) {
            let from = network.predecessor(*id, node.server);
            if from.is_some_and(|from| child(nodes, first, from).is_some()) {
                continue;
            }
            let way = way(bounder.common, nodes, *id, first);
            let last = way.last().copied().unwrap_or(first);
            let is_target = nodes[last].next.is_none() && targets.contains(id);
            found.entry((first, last, from, is_target.then_some(*id))).or_default().push(*id);
        }
    }
    let mut classes = Vec::new();
    for ((first, _, from, _), flows) in found {
        let way = way(bounder.common, nodes, flows[0], first);
        if from.is_some() {
            let group = bounder.common.sets.group(flows.clone());
            let arrival = bounder.arrival(nodes[first].server, &group, None)?;
            classes.push(Class { way, from, flows, arrival: (*arrival).clone() });
            continue;
        }
        let mut alike = HashMap::<&Curve, Vec<FlowId>>::new();
        for id in flows {
            alike.entry(&network.flow(id).arrival).or_default().push(id);
        }
        let mut alike: Vec<_> = alike.into_iter().collect();
        alike.sort_by(|a, b| a.1.cmp(&b.1));
        for (curve, flows) in alike {
            let mut arrival = curve.clone();
            for _ in 1..flows.len() {
                arrival = operations::sum(&arrival, curve)?;
            }
            classes.push(Class { way: way.clone(), from, flows, arrival });
        }
    }
    Ok(classes)
}

/// Returns the indices of the nodes that a flow visits from the node `first` on.
fn way(common: &Common<'_>, nodes: &[Node], id: FlowId, first: usize) -> Vec<usize> {
    let mut way = vec![first];
    let mut at = first;
    while let Some(next) = nodes[at].next {
        if common.network.predecessor(id, nodes[next].server) != Some(nodes[at].server) {
            break;
        }
        way.push(next);
        at = next;
    }
    way
}

impl Formulation {
    /// Builds the program, without the objective.
    fn of(nodes: &[Node], classes: &[Class]) -> Self {
        let (time, data) = scales(nodes, classes);
        let mut program = Program::stopped_by(crate::Interrupt::of_thread());
        // Nodes near the root come first, because the ages of a node depend on those of its next
        // node.
        let mut ages = vec![(None, None); nodes.len()];
        for index in from_the_root(nodes) {
            let node = &nodes[index];
            let (after, most) = match node.next {
                Some(next) => ages[next].clone(),
                None => (None, Some(Rational::ZERO)),
            };
            let period = node.period.finite().map(|period| period / &time);
            let most = most.zip(period.as_ref()).map(|(most, period)| most + period);
            let age = Some(program.variable(most.clone()));
            program.row([plus(after), minus(age)], Rational::ZERO);
            if let Some(period) = period {
                program.row([plus(age), minus(after)], period);
            }
            ages[index] = (age, most);
        }
        let mut this = Self { program, classes: Vec::new(), time, data };
        for class in classes {
            this.add_class(nodes, class, &ages);
        }
        for (index, node) in nodes.iter().enumerate() {
            let after = node.next.and_then(|next| ages[next].0);
            this.serve(index, node, ages[index].0, after, classes);
        }
        this
    }

    fn rate(&self, rate: &Rational) -> Rational {
        rate * &self.time / &self.data
    }

    /// Adds the variables of a class of flows and their constraints.
    fn add_class(
        &mut self,
        nodes: &[Node],
        class: &Class,
        ages: &[(Option<usize>, Option<Rational>)],
    ) {
        let buckets = pmoo::token_buckets(&class.arrival);
        let (first, first_most) = &ages[class.way[0]];
        // The data that have arrived since the first time are bounded by the arrival curve.
        let bucket = buckets.last().cloned();
        let most = first_most.as_ref().zip(bucket).map(|(age, bucket)| {
            (&bucket.burst + &(&bucket.rate * &(age * &self.time))) / &self.data
        });
        let mut of_class = Variables {
            ages: vec![*first],
            come: vec![None],
            left: vec![None],
            buckets,
            most: (first_most.clone(), most.clone()),
        };
        for index in &class.way {
            of_class.ages.push(nodes[*index].next.and_then(|next| ages[next].0));
            let come = Some(self.program.variable(most.clone()));
            let left = Some(self.program.variable(most.clone()));
            let before = of_class.come.last().copied().flatten();
            self.program.row([plus(before), minus(come)], Rational::ZERO);
            let before = of_class.left.last().copied().flatten();
            self.program.row([plus(before), minus(left)], Rational::ZERO);
            self.program.row([plus(left), minus(come)], Rational::ZERO);
            of_class.come.push(come);
            of_class.left.push(left);
        }
        for late in 1..of_class.ages.len() {
            for early in 0..late {
                self.arrive(&of_class.buckets, of_class.moment(early), of_class.moment(late));
            }
        }
        self.classes.push(of_class);
    }

    /// Adds rows to the program which state that between two times, no more data arrive than the
    /// token buckets allow.
    fn arrive(&mut self, buckets: &[TokenBucket], early: Moment, late: Moment) {
        for bucket in buckets {
            let rate = self.rate(&bucket.rate);
            let terms = [plus(late.come), minus(early.come), (early.age, -&rate), (late.age, rate)];
            self.program.row(terms, &bucket.burst / &self.data);
        }
    }

    /// Adds rows to the program which state that from the start of a backlogged period to a time in
    /// it, no fewer data leave the server than its strict service curve requires.
    fn serve(
        &mut self,
        index: usize,
        node: &Node,
        since: Option<usize>,
        until: Option<usize>,
        classes: &[Class],
    ) {
        for service in &node.services {
            let latency = &service.latency / &self.time;
            let Extended::Finite(rate) = &service.rate else {
                self.program.row([plus(since), minus(until)], latency);
                continue;
            };
            let rate = self.rate(rate);
            let mut terms = vec![(since, rate.clone()), (until, -&rate)];
            for (class, variables) in classes.iter().zip(&self.classes) {
                if let Some(place) = class.way.iter().position(|at| *at == index) {
                    terms.extend([minus(variables.left[place + 1]), plus(variables.left[place])]);
                }
            }
            self.program.row(terms, rate * latency);
        }
    }

    /// Returns a bound on the delay of the first class, whose path has the given number of servers.
    /// There is a program for each pair of consecutive times between which the data may have
    /// arrived. The bound is the largest of their optima.
    fn delay(&self, servers: usize) -> Option<Bound> {
        let mut most: Option<Bound> = None;
        for place in 0..servers {
            let mut with_place = Self {
                program: self.program.clone(),
                classes: Vec::new(),
                time: self.time.clone(),
                data: self.data.clone(),
            };
            let objective = with_place.came_between(self.classes.first()?, place);
            let bound = with_place.program.maximum(&objective)?;
            most = Some(match most {
                Some(most) if most.value >= bound.value => most,
                _ => bound,
            });
        }
        most.map(|most| Bound { value: most.value * &self.time, ..most })
    }

    /// Adds rows to the program which state that the data that leave at the end of the run arrived
    /// between the time with index `place` and the next one. Returns the age of that arrival, which
    /// is the delay.
    fn came_between(&mut self, class: &Variables, place: usize) -> Terms {
        let age = self.program.variable(class.most.0.clone());
        let came = self.program.variable(class.most.1.clone());
        let own = Moment { age: Some(age), come: Some(came) };
        let (early, late) = (class.moment(place), class.moment(place + 1));
        self.program.row([plus(late.age), minus(own.age)], Rational::ZERO);
        self.program.row([plus(own.age), minus(early.age)], Rational::ZERO);
        self.program.row([plus(early.come), minus(own.come)], Rational::ZERO);
        self.program.row([plus(own.come), minus(late.come)], Rational::ZERO);
        let left = class.left.last().copied().flatten();
        self.program.row([plus(left), minus(own.come)], Rational::ZERO);
        for at in 0..class.ages.len() {
            match at <= place {
                true => self.arrive(&class.buckets, class.moment(at), own),
                false => self.arrive(&class.buckets, own, class.moment(at)),
            }
        }
        vec![(age, Rational::ONE)]
    }

    /// Returns a bound on the backlog of the first class: its data that have arrived and not left.
    fn backlog(&self) -> Option<Rational> {
        let class = self.classes.first()?;
        let mut program = self.program.clone();
        let waiting = program.variable(class.most.1.clone());
        let come = class.come.last().copied().flatten();
        let left = class.left.last().copied().flatten();
        program.row([plus(Some(waiting)), plus(left), minus(come)], Rational::ZERO);
        let bound = program.maximum(&vec![(waiting, Rational::ONE)])?;
        Some(bound.value * &self.data)
    }
}

/// Returns the indices of all nodes in an order in which each node follows its next node on the
/// path to the root.
fn from_the_root(nodes: &[Node]) -> Vec<usize> {
    let depth = |index: usize| {
        let mut depth = 0;
        let mut at = nodes[index].next;
        while let Some(next) = at {
            depth += 1;
            at = nodes[next].next;
        }
        depth
    };
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|index| depth(*index));
    order
}

/// Returns the units of time and of data for a program: powers of two of the magnitude of its times
/// and data.
fn scales(nodes: &[Node], classes: &[Class]) -> (Rational, Rational) {
    let services = || nodes.iter().flat_map(|node| &node.services);
    let rates = services().filter_map(|service| service.rate.finite());
    let rate = rates.max().cloned().unwrap_or(Rational::ONE);
    let latencies = services().map(|service| service.latency.clone()).sum::<Rational>();
    let buckets = classes.iter().filter_map(|class| pmoo::token_buckets(&class.arrival).pop());
    let bursts = buckets.map(|bucket| bucket.burst).sum::<Rational>();
    let time = power_of_two(&(latencies + bursts.checked_div(&rate).unwrap_or(Rational::ZERO)));
    let data = power_of_two(&(&rate * &time));
    (time, data)
}
