//! Runs packet by packet, of all that a network may have.
//!
//! Servers are lazy or in a hurry (`line`), ports do what their schedulers say (`port`), and
//! classes of ports that no flow has always have a packet to send. Regulators hold packets back
//! (`conformance`), packets of multicast groups and of replicated flows part, and all copies but
//! the first are eliminated (`run`). Clocks are as far from true time as they may be (`clock`). All
//! arithmetic is exact, so what comes out is compared with bounds as it is.
//!
//! A flow takes part if it may send a packet at once; a fluid sends packets that stand for any of
//! its data, and are never held back until they are whole. Servers whose output is limited must
//! packetize, and no limit may hold back what they serve; those that serve in any order, or by
//! priority, must packetize or have a latency (`cast`).
//!
//! Runs for a flow of interest are greedy, and begin when it hurts: all together, when the first or
//! the last packets of the flow come to where others join, just behind what may be in the way, when
//! a gate has just become too narrow. Others are chosen by chance, always the same one.

mod cast;
mod chance;
mod clock;
mod conformance;
mod line;
mod port;
mod run;
mod sources;

use self::cast::Cast;
use self::chance::Chance;
use self::run::{Run, Scenario};
use self::sources::Pattern;
use super::Trajectory;
use crate::Rational;
use crate::network::elements::{FlowId, Priority, ServerId};
use crate::network::model::Network;
use crate::network::port::{Scheduler, openings};
use crate::network::settings::Settings;

/// Packets of each flow in runs for a flow of interest, and in runs for all.
const PACKETS: usize = 40;
const PACKETS_OF_ALL: usize = 24;
/// Runs in which all begin together at different times, where ports do what depends on the time,
/// and runs by chance.
const PHASES: i64 = 12;
const BY_CHANCE: u64 = 6;

/// The delays and backlogs that one run of a whole network showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The largest delay and backlog of each flow of which a packet arrived.
    pub flows: Vec<Trajectory>,
    /// The largest delay and backlog of each server.
    pub servers: Vec<ServerObservation>,
}

/// The largest delay and backlog of a server in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerObservation {
    /// The server.
    pub server: ServerId,
    /// The priority of the flows, at a server that serves by priority; none for all flows.
    pub priority: Option<Priority>,
    /// The longest time that a packet was there, without regulators.
    pub delay: Rational,
    /// The most data that were there.
    pub backlog: Rational,
}

/// Runs a network once, with all flows that packets can stand for, as chance has it: sources, paces
/// of servers, clocks, ties, lost copies. None if no flow takes part.
#[must_use]
pub fn observe(network: &Network, settings: &Settings, seed: u64) -> Option<Observation> {
    let cast = Cast::of(network, settings, None)?;
    let mut chance = Chance::of(seed);
    let span = cast.span();
    let sources = cast.streams.iter().map(|_| {
        let begins = if chance.once_in(2) { Rational::ZERO } else { chance.part_of(&span) };
        (begins, Pattern::by_chance(&mut chance))
    });
    let sources: Vec<(Rational, Pattern)> = sources.collect();
    let offsets = cast.offsets(&sources);
    let scenario =
        Scenario { sources, packets: PACKETS_OF_ALL, has_interest: false, seed: Some(seed), span };
    let run = Run::of(&cast, &scenario);
    let flows = cast.actors.iter().zip(run.seen).filter_map(|(actor, seen)| {
        let (delay, backlog) = (seen.delay?, seen.backlog);
        Some(Trajectory { flow: actor.id, delay, backlog, offsets: offsets.clone() })
    });
    let servers = run.servers.into_iter().map(|((server, priority), seen)| ServerObservation {
        server,
        priority,
        delay: seen.delay,
        backlog: seen.backlog,
    });
    Some(Observation { flows: flows.collect(), servers: servers.collect() })
}

/// Looks for a bad run for a flow.
pub(super) fn simulate(network: &Network, flow: FlowId, settings: &Settings) -> Option<Trajectory> {
    let cast = Cast::of(network, settings, Some(flow))?;
    let mut search = Search { cast: &cast, flow, worst: None };
    let together = search.run(cast.greedy(&Rational::ZERO), None);
    for last in [0, 1] {
        // Where the flow is, and how long others take to get there, depends on who began when.
        let mut run = together.clone();
        let mut sources = cast.greedy(&Rational::ZERO);
        for _ in 0..2 {
            sources = cast.meeting(&run, &sources, last);
            run = search.run(sources.clone(), None);
        }
    }
    let moments = cast.bad_moments();
    for offset in &moments {
        search.run(cast.greedy(offset), None);
    }
    let span = cast.span();
    let little = moments.into_iter().next();
    if let Some(little) = &little {
        for phase in 1..PHASES {
            search.run(cast.greedy(&(&span * &Rational::ratio(phase, PHASES) + little)), None);
        }
    }
    for number in 0..BY_CHANCE {
        let mut chance = Chance::of((flow.index() as u64) << 8 | number);
        let mut begin = || chance.moment_within(&span) + little.as_ref().unwrap_or(&Rational::ZERO);
        let sources = cast.streams.iter().map(|_| (begin(), Pattern::Greedy)).collect();
        // Half of them with servers that hurry, and clocks and orders of service by chance.
        search.run(sources, (number % 2 == 1).then_some(number));
    }
    search.worst
}

/// When each actor came to each server of its path, first and with the last packet of its burst.
type Came = Vec<Vec<[Option<Rational>; 2]>>;

/// The worst run so far.
struct Search<'c, 'n> {
    cast: &'c Cast<'n>,
    flow: FlowId,
    worst: Option<Trajectory>,
}

impl Search<'_, '_> {
    fn run(&mut self, sources: Vec<(Rational, Pattern)>, seed: Option<u64>) -> Came {
        let offsets = self.cast.offsets(&sources);
        let span = self.cast.span();
        let scenario = Scenario { sources, packets: PACKETS, has_interest: true, seed, span };
        let run = Run::of(self.cast, &scenario);
        let came = run.seen.iter().map(|seen| seen.came.clone()).collect();
        let Some(own) = run.seen.into_iter().next() else { return came };
        let Some(delay) = own.delay else { return came };
        let found = Trajectory { flow: self.flow, delay, backlog: own.backlog, offsets };
        self.worst = Some(match self.worst.take() {
            None => found,
            Some(worst) => worst.or_worse(found),
        });
        came
    }
}

impl Cast<'_> {
    /// All sources greedy from a time on.
    fn greedy(&self, begin: &Rational) -> Vec<(Rational, Pattern)> {
        self.streams.iter().map(|_| (begin.clone(), Pattern::Greedy)).collect()
    }

    /// When flows begin.
    fn offsets(&self, sources: &[(Rational, Pattern)]) -> Vec<(FlowId, Rational)> {
        let begin = |stream: usize| sources.get(stream).map(|(begin, _)| begin.clone());
        let mut offsets: Vec<(FlowId, Rational)> =
            self.actors.iter().filter_map(|actor| Some((actor.id, begin(actor.stream)?))).collect();
        offsets.sort();
        offsets
    }

    /// Returns a time within which things happen: what some packets of all streams, or of all
    /// classes, take at the slowest place.
    fn span(&self) -> Rational {
        let all: Rational = self.streams.iter().map(|stream| stream.size.clone()).sum();
        let all = all * Rational::from(4);
        let mut span = Rational::ZERO;
        for spec in self.lines.values() {
            let time = spec.served.value_at(&all).into_finite();
            span = span.max(time.unwrap_or(Rational::ZERO));
        }
        for server in self.actors.iter().flat_map(|actor| actor.path) {
            let Some((port, _)) = self.network.port_at(*server) else { continue };
            // What all classes send together, some packets each.
            let packets = port.scheduler.packets();
            let round = packets.iter().map(|(_, _, most)| *most).sum::<Rational>();
            let round = round * Rational::from(4);
            span = span.max(round.max(all.clone()) / &port.rate);
            if let Scheduler::Gated { cycle, .. } = &port.scheduler {
                span = span.max(cycle.clone());
            }
        }
        span
    }

    /// Sources that begin so that each comes to where it meets the flow of interest when that does:
    /// its first packet, or the last one of its burst.
    fn meeting(
        &self,
        came: &Came,
        sources: &[(Rational, Pattern)],
        last: usize,
    ) -> Vec<(Rational, Pattern)> {
        let Some(own) = self.actors.first() else { return sources.to_vec() };
        let mut begins: Vec<Rational> = sources.iter().map(|(begin, _)| begin.clone()).collect();
        for (index, stream) in self.streams.iter().enumerate() {
            if index == own.stream {
                continue;
            }
            let meets = stream.members.iter().find_map(|member| {
                let path = self.actors.get(*member)?.path;
                let (hop, server) =
                    own.path.iter().enumerate().find(|(_, server)| path.contains(server))?;
                let theirs = path.iter().position(|other| other == server)?;
                let when = came.first()?.get(hop)?.get(last)?.clone()?;
                let arrives = came.get(*member)?.get(theirs)?.first()?.clone()?;
                Some(when - arrives)
            });
            if let (Some(later), Some(begin)) = (meets, begins.get_mut(index)) {
                *begin += &later;
            }
        }
        let first = begins.iter().min().cloned().unwrap_or(Rational::ZERO);
        begins.into_iter().map(|begin| (begin - &first, Pattern::Greedy)).collect()
    }

    /// Times at which something may be in the way of all that begins then, at the first port of the
    /// flow of interest: a packet of traffic that no flow stands for, or a gate that has just
    /// become too narrow.
    fn bad_moments(&self) -> Vec<Rational> {
        let Some(own) = self.actors.first() else { return Vec::new() };
        let mut ports = own.path.iter().filter_map(|server| self.network.port_at(*server));
        let Some((port, _)) = ports.next() else { return Vec::new() };
        // What all classes send together, one packet each.
        let packets = port.scheduler.packets();
        let round = packets.iter().map(|(_, _, most)| *most).sum::<Rational>() / &port.rate;
        let little = &round / &Rational::from(1_024);
        let mut moments = vec![little.clone()];
        if let Scheduler::Gated { cycle, classes } = &port.scheduler {
            let size = &self.network.flow(own.id).maximum_packet;
            let openings = classes.iter().zip(openings(classes.iter(), cycle));
            let windows = openings.filter(|(class, _)| class.priority == own.priority);
            for window in windows.flat_map(|(_, windows)| windows) {
                moments.push(&window.at + &window.length - size / &port.rate + &little);
            }
        }
        moments
    }
}
