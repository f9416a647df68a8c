//! The path of a flow as a FIFO tandem with what crosses it, and its linear program.

use std::collections::BTreeMap;

use super::dates::{Choice, Kind, Level, levels};
use super::program::{Bound, Program};
use crate::network::analysis::AnalysisError;
use crate::network::analysis::fixed_point::Delays;
use crate::network::arrival::Common;
use crate::network::model::{FlowId, Multiplexing, ServerId};
use crate::network::operations;
use crate::network::pmoo::{self, RateLatency, TokenBucket};
use crate::{Curve, Extended, Rational};

/// Times at an entrance up to which arrivals are bounded between all pairs of them; if all words
/// are times, always.
const ALL_PAIRS: usize = 12;

/// A server of the path.
#[derive(Debug)]
pub(in crate::network::analysis) struct Stage {
    pub(in crate::network::analysis) server: ServerId,
    services: Vec<RateLatency>,
    /// Total flow analysis: nothing stays longer.
    pub(in crate::network::analysis) delay: Extended,
    /// Nothing is behind for longer.
    period: Extended,
    /// What shapes the traffic that comes from the server before.
    shaping: Vec<TokenBucket>,
}

/// Flows that share the same servers of the path and come over one link.
#[derive(Debug)]
pub(in crate::network::analysis) struct Class {
    pub(in crate::network::analysis) first: usize,
    pub(in crate::network::analysis) last: usize,
    /// The server that they come from, which is not on the path.
    from: Option<ServerId>,
    pub(in crate::network::analysis) flows: Vec<FlowId>,
    pub(in crate::network::analysis) arrival: Curve,
}

/// Side links that shape: the server that they lead to, the server they come from, the shape.
type Side = (usize, ServerId, Vec<TokenBucket>);

/// A tandem. The flow of interest is in the class over all of it.
#[derive(Debug)]
pub(in crate::network::analysis) struct Tandem {
    pub(in crate::network::analysis) stages: Vec<Stage>,
    pub(in crate::network::analysis) classes: Vec<Class>,
    sides: Vec<Side>,
    /// Times and data are divided by these, so that numbers are of one size.
    time: Rational,
    data: Rational,
}

impl Tandem {
    /// The path of a flow, given delays at all servers.
    pub(in crate::network::analysis) fn of(
        common: &Common<'_>,
        delays: &Delays,
        flow: FlowId,
    ) -> Result<Self, AnalysisError> {
        let network = common.network;
        let path = &network.flow(flow).path;
        let mut stages = Vec::with_capacity(path.len());
        for (index, server) in path.iter().enumerate() {
            let model = network.server(*server);
            if common.multiplexing(*server) != Multiplexing::Fifo {
                return Err(AnalysisError::NoProgram(format!(
                    "server '{}' is not FIFO",
                    model.name
                )));
            }
            // Bits of several packets come in mixed, and leave packet by packet.
            if model.packetizer && index + 1 < path.len() {
                let why = format!("server '{}' sends whole packets", model.name);
                return Err(AnalysisError::NoProgram(why));
            }

            let before = index.checked_sub(1).and_then(|index| path.get(index)).copied();
            let shaping = before.map_or_else(Vec::new, |before| shaping(common, before, *server));
            stages.push(Stage {
                server: *server,
                services: pmoo::rate_latencies(&model.service),
                delay: delays.delay(common, *server, flow),
                period: delays.backlogged_period(common, *server)?,
                shaping,
            });
        }
        let classes = classes(common, delays, path)?;
        let mut sides: Vec<Side> = Vec::new();
        for class in &classes {
            let Some((from, stage)) = class.from.zip(stages.get(class.first)) else { continue };
            let known = sides.iter().any(|(to, other, _)| *to == class.first && *other == from);
            if !known && !network.server(from).packetizer {
                let buckets = shaping_of(common, from, stage.server);
                if !buckets.is_empty() {
                    sides.push((class.first, from, buckets));
                }
            }
        }
        let finite = stages.iter().filter_map(|stage| stage.delay.finite());
        let time = power_of_two(finite.max().unwrap_or(&Rational::ZERO));
        let rates = stages.iter().flat_map(|stage| &stage.services);
        let rates = rates.filter_map(|service| service.rate.finite());
        let data = power_of_two(&(rates.max().unwrap_or(&Rational::ZERO) * &time));
        Ok(Self { stages, classes, sides, time, data })
    }

    /// The delay of anything that goes all the way.
    pub(super) fn delay(&self, choice: Choice) -> (Option<Bound>, usize, usize) {
        let levels = levels(self.stages.len(), choice);
        let (program, objective) = self.program(&levels, choice == Choice::All);
        let bound = objective.and_then(|objective| program.maximum(objective));
        let bound = bound.map(|bound| Bound { value: bound.value * &self.time, ..bound });
        (bound, program.variables(), program.rows())
    }

    /// Times count backwards from the moment at which something leaves the tandem, data of a class
    /// from what has passed at the latest time.
    fn program(&self, levels: &[Level], all_pairs: bool) -> (Program, Option<usize>) {
        let mut program = Program::default();
        let ages = self.ages(&mut program, levels);
        let passed: Vec<Vec<Vec<Option<usize>>>> = self
            .classes
            .iter()
            .map(|class| self.passed(&mut program, levels, &ages.most, class))
            .collect();
        for (at, stage) in self.stages.iter().enumerate() {
            let (Some(level), Some(here), Some(next)) =
                (levels.get(at), ages.times.get(at), ages.times.get(at + 1))
            else {
                continue;
            };
            let neighbours = level.neighbours();
            for (late, early) in &neighbours {
                program.row([plus(here[*late]), minus(here[*early])], Rational::ZERO);
            }
            for (place, date) in level.dates.iter().enumerate() {
                program.row([plus(next[date.of]), minus(here[place])], Rational::ZERO);
                match (date.kind, &stage.delay) {
                    (Kind::Fifo, Extended::Finite(delay)) => {
                        let delay = delay / &self.time;
                        program.row([plus(here[place]), minus(next[date.of])], delay);
                    }
                    (Kind::Fifo, _) => {}
                    (Kind::Service, _) => {
                        let (from, to) = ((at, place), (at + 1, date.of));
                        self.serve(&mut program, stage, &ages.times, &passed, from, to);
                    }
                }
            }
            for (class, data) in self.classes.iter().zip(&passed) {
                if at < class.first || at > class.last {
                    continue;
                }
                for (late, early) in &neighbours {
                    program.row([plus(data[at][*late]), minus(data[at][*early])], Rational::ZERO);
                }
            }
            let all_pairs = all_pairs || level.dates.len() <= ALL_PAIRS;
            let pairs = chosen_pairs(level, &neighbours, all_pairs);
            self.bound_arrivals(&mut program, at, &pairs, here, &passed);
        }
        let objective = ages.times.first().and_then(|times| times.first()).copied().flatten();
        (program, objective)
    }

    fn ages(&self, program: &mut Program, levels: &[Level]) -> Ages {
        let mut times = vec![vec![None]];
        let mut most = vec![vec![Some(Rational::ZERO)]];
        for (level, stage) in levels.iter().zip(&self.stages).rev() {
            let (mut here, mut bounds) = (Vec::new(), Vec::new());
            let behind = most.last().cloned().unwrap_or_default();
            for date in &level.dates {
                let apart = match date.kind {
                    Kind::Fifo => &stage.delay,
                    Kind::Service => &stage.period,
                };
                let after = behind.get(date.of).cloned().flatten();
                let bound = after.zip(apart.finite()).map(|(a, b)| a + b / &self.time);
                here.push(Some(program.variable(bound.clone())));
                bounds.push(bound);
            }
            times.push(here);
            most.push(bounds);
        }
        times.reverse();
        most.reverse();
        Ages { times, most }
    }

    /// For each server the data of a class that have not come in at each time; what leaves a server
    /// is what comes into the next one, so that F needs no variable of its own.
    fn passed(
        &self,
        program: &mut Program,
        levels: &[Level],
        most: &[Vec<Option<Rational>>],
        class: &Class,
    ) -> Vec<Vec<Option<usize>>> {
        let bucket = pmoo::token_buckets(&class.arrival).pop();
        let mut moved = Extended::ZERO;
        for stage in self.stages.iter().take(class.last + 1).skip(class.first) {
            moved = moved.checked_add(&stage.delay).unwrap_or(Extended::PositiveInfinity);
        }
        // What comes in within an age, anywhere on the way.
        let data = |age: &Option<Rational>| {
            let (bucket, moved, age) = (bucket.as_ref()?, moved.finite()?, age.as_ref()?);
            Some((&bucket.burst + &bucket.rate * (moved + age * &self.time)) / &self.data)
        };
        let mut passed = vec![Vec::new(); levels.len()];
        let ages = |at: usize| most.get(at).into_iter().flatten();
        // The latest time is where data are counted from.
        let exit = ages(class.last + 1).enumerate();
        let mut next: Vec<Option<usize>> =
            exit.map(|(place, age)| (place > 0).then(|| program.variable(data(age)))).collect();
        for (at, level) in levels.iter().enumerate().take(class.last + 1).skip(class.first).rev() {
            let dates = level.dates.iter().zip(ages(at));
            let here = dates.map(|(date, age)| match date.kind {
                Kind::Fifo => next.get(date.of).copied().flatten(),
                Kind::Service => Some(program.variable(data(age))),
            });
            let here: Vec<Option<usize>> = here.collect();
            if let Some(passed) = passed.get_mut(at + 1) {
                *passed = std::mem::replace(&mut next, here);
            }
        }
        if let Some(passed) = passed.get_mut(class.first) {
            *passed = next;
        }
        passed
    }

    /// What has left is at least what came before and the service since.
    fn serve(
        &self,
        program: &mut Program,
        stage: &Stage,
        times: &[Vec<Option<usize>>],
        passed: &[Vec<Vec<Option<usize>>>],
        (at, place): (usize, usize),
        (next, of): (usize, usize),
    ) {
        let (since, until) = (times[at][place], times[next][of]);
        for service in &stage.services {
            let latency = &service.latency / &self.time;
            let Extended::Finite(rate) = &service.rate else {
                program.row([plus(since), minus(until)], latency);
                continue;
            };
            let rate = rate * &self.time / &self.data;
            let mut terms = vec![(since, rate.clone()), (until, -&rate)];
            for (class, data) in self.classes.iter().zip(passed) {
                if class.first <= at && at <= class.last {
                    terms.extend([minus(data[at][place]), plus(data[next][of])]);
                }
            }
            program.row(terms, rate * latency);
        }
    }

    /// Arrival curves of classes that come in here, and shaping of what comes over links.
    fn bound_arrivals(
        &self,
        program: &mut Program,
        at: usize,
        pairs: &[(usize, usize)],
        times: &[Option<usize>],
        passed: &[Vec<Vec<Option<usize>>>],
    ) {
        let mut obey = |bucket: &TokenBucket, members: &[&Vec<Vec<Option<usize>>>]| {
            let rate = &bucket.rate * &self.time / &self.data;
            for (late, early) in pairs {
                let mut terms = vec![(times[*early], -&rate), (times[*late], rate.clone())];
                for data in members {
                    terms.extend([plus(data[at][*early]), minus(data[at][*late])]);
                }
                program.row(terms, &bucket.burst / &self.data);
            }
        };
        let classes = || self.classes.iter().zip(passed);
        for (class, data) in classes().filter(|(class, _)| class.first == at) {
            for bucket in pmoo::token_buckets(&class.arrival) {
                obey(&bucket, &[data]);
            }
        }
        let through = |class: &Class| class.first < at && at <= class.last;
        if let Some(stage) = self.stages.get(at) {
            let members: Vec<_> = classes().filter(|c| through(c.0)).map(|c| c.1).collect();
            for bucket in &stage.shaping {
                obey(bucket, &members);
            }
        }
        for (_, from, buckets) in self.sides.iter().filter(|(to, ..)| *to == at) {
            let comes = |class: &Class| class.first == at && class.from == Some(*from);
            let members: Vec<_> = classes().filter(|c| comes(c.0)).map(|c| c.1).collect();
            for bucket in buckets {
                obey(bucket, &members);
            }
        }
    }
}

/// Pairs of times between which arrivals are bounded. What is left out rarely matters: arrivals that
/// are worst are greedy from one time on, and service begins then.
fn chosen_pairs(
    level: &Level,
    neighbours: &[(usize, usize)],
    all_pairs: bool,
) -> Vec<(usize, usize)> {
    let is_service =
        |place: usize| level.dates.get(place).is_some_and(|date| date.kind == Kind::Service);
    let chosen = |pair: &(usize, usize)| {
        all_pairs || is_service(pair.1) || neighbours.binary_search(pair).is_ok()
    };
    level.pairs().filter(chosen).collect()
}

/// Variables of times by server and place, and what they are at most.
struct Ages {
    times: Vec<Vec<Option<usize>>>,
    most: Vec<Vec<Option<Rational>>>,
}

fn plus(variable: Option<usize>) -> (Option<usize>, Rational) {
    (variable, Rational::ONE)
}

fn minus(variable: Option<usize>) -> (Option<usize>, Rational) {
    (variable, -Rational::ONE)
}

/// What comes onto the path, by first and last shared server and by link.
fn classes(
    common: &Common<'_>,
    delays: &Delays,
    path: &[ServerId],
) -> Result<Vec<Class>, AnalysisError> {
    let network = common.network;
    let mut found = BTreeMap::<(usize, usize, Option<ServerId>), (Vec<FlowId>, Curve)>::new();
    for (first, server) in path.iter().enumerate() {
        let before = first.checked_sub(1).and_then(|index| path.get(index)).copied();
        for id in network.flows_at(*server) {
            let from = network.predecessor(*id, *server);
            if from.is_some() && from == before {
                continue;
            }
            let mut last = first;
            while let (Some(here), Some(next)) = (path.get(last), path.get(last + 1)) {
                if network.predecessor(*id, *next) != Some(*here) {
                    break;
                }
                last += 1;
            }
            let mut delay = Extended::ZERO;
            let flow = network.flow(*id);
            for earlier in flow.path.iter().take_while(|earlier| *earlier != server) {
                let there = delays.delay(common, *earlier, *id);
                delay = delay.checked_add(&there).unwrap_or(Extended::PositiveInfinity);
            }
            let arrival = operations::advanced(&flow.arrival, &delay)?;
            let entry = found.entry((first, last, from));
            let (flows, sum) = entry.or_insert_with(|| (Vec::new(), Curve::zero()));
            *sum = operations::sum(sum, &arrival)?;
            flows.push(*id);
        }
    }
    let class =
        |((first, last, from), (flows, arrival))| Class { first, last, from, flows, arrival };
    Ok(found.into_iter().map(class).collect())
}

/// What shapes all that comes from one server of the path to the next; nothing if in packets.
fn shaping(common: &Common<'_>, from: ServerId, to: ServerId) -> Vec<TokenBucket> {
    if common.network.server(from).packetizer { Vec::new() } else { shaping_of(common, from, to) }
}

fn shaping_of(common: &Common<'_>, from: ServerId, to: ServerId) -> Vec<TokenBucket> {
    let network = common.network;
    let curves = network.server(from).shaping.iter().chain(network.link(from, to));
    curves.flat_map(pmoo::token_buckets).collect()
}

/// The power of two near a positive number; one for zero.
fn power_of_two(number: &Rational) -> Rational {
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
