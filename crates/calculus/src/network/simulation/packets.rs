//! Packet-by-packet simulation, for all features of networks.
//!
//! Servers are as slow as their service curve allows or faster (`line`), ports follow their
//! schedulers (`port`), and classes of ports without flows always have a packet to send. Regulators
//! delay packets (`conformance`), packets of multicast groups and of replicated flows part, and all
//! copies but the first are eliminated (`run`). Clocks deviate from true time as far as they may
//! (`clock`). All arithmetic is exact, so results can be compared with bounds directly.
//!
//! A flow takes part if it may send a packet instantaneously. A fluid flow sends packets that stand
//! for any of its data and are never held back until they are complete. Servers whose output is
//! limited must packetize, and no limit may hold back what they serve. Servers with arbitrary
//! multiplexing or static priority must packetize or have a latency (`setup`).
//!
//! Runs for a flow of interest are greedy and begin at harmful times: when all flows begin
//! together, when the first or the last packets of the flow arrive where others join, just after a
//! packet that may be in the way, or when a gate has just become too narrow. Further runs are
//! pseudo-random with fixed seeds.

mod clock;
mod conformance;
mod line;
mod port;
mod rng;
mod run;
mod setup;
mod sources;

use self::rng::Rng;
use self::run::{Run, Scenario};
use self::setup::Setup;
use self::sources::Pattern;
use super::Trajectory;
use crate::Rational;
use crate::network::elements::{FlowId, Priority, ServerId};
use crate::network::model::Network;
use crate::network::port::{Scheduler, openings};
use crate::network::settings::Settings;

/// The largest number of packets that each flow sends in a run that searches for the worst delay of
/// one flow of interest.
const PACKETS: usize = 40;
/// The largest number of packets that each flow sends in a run that observes all flows.
const PACKETS_OF_ALL: usize = 24;
/// The number of equal parts into which the time is divided within which sources may begin. If the
/// flow of interest passes a port, whose service may depend on the time, there is one run for each
/// boundary between two parts. In it, all flows begin just after that boundary.
const PHASES: i64 = 12;
/// The number of pseudo-random runs in the search for the worst delay of one flow.
const RANDOM_RUNS: u64 = 6;

/// The delays and backlogs that were observed in one simulated run of a whole network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The largest delay and backlog of each flow that delivered a packet.
    pub flows: Vec<Trajectory>,
    /// The largest delay and backlog of each server, and of each priority at servers with static
    /// priority.
    pub servers: Vec<ServerObservation>,
}

/// The largest delay and backlog at a server in a simulated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerObservation {
    /// The observed server.
    pub server: ServerId,
    /// The priority of the observed flows at a server with static priority, or `None` for all
    /// flows.
    pub priority: Option<Priority>,
    /// The longest time that a packet spent at the server, without the regulator after it.
    pub delay: Rational,
    /// The largest amount of data at the server at any time.
    pub backlog: Rational,
}

/// Runs a network once, with all flows that packets can represent, and returns the observed delays
/// and backlogs. The times of sources, the speeds of servers, clocks, ties and lost copies are
/// pseudo-random and follow from `seed`. Returns `None` if no flow can take part.
#[must_use]
pub fn observe(network: &Network, settings: &Settings, seed: u64) -> Option<Observation> {
    let setup = Setup::of(network, settings, None)?;
    let mut rng = Rng::of(seed);
    let span = setup.span();
    let sources = setup.streams.iter().map(|_| {
        let begins = if rng.once_in(2) { Rational::ZERO } else { rng.part_of(&span) };
        (begins, Pattern::random(&mut rng))
    });
    let sources: Vec<(Rational, Pattern)> = sources.collect();
    let offsets = setup.offsets(&sources);
    let scenario =
        Scenario { sources, packets: PACKETS_OF_ALL, has_interest: false, seed: Some(seed), span };
    let run = Run::of(&setup, &scenario);
    let flows =
        setup.participants.iter().zip(run.observed).filter_map(|(participant, observed)| {
            let (delay, backlog) = (observed.delay?, observed.backlog);
            Some(Trajectory { flow: participant.id, delay, backlog, offsets: offsets.clone() })
        });
    let servers = run.servers.into_iter().map(|((server, priority), observed)| ServerObservation {
        server,
        priority,
        delay: observed.delay,
        backlog: observed.backlog,
    });
    Some(Observation { flows: flows.collect(), servers: servers.collect() })
}

/// Searches for the worst run of a flow, packet by packet. Returns `None` if this simulation does
/// not support the network or the flow.
pub(super) fn simulate(network: &Network, flow: FlowId, settings: &Settings) -> Option<Trajectory> {
    let setup = Setup::of(network, settings, Some(flow))?;
    let mut search = Search { setup: &setup, flow, worst: None };
    let together = search.run(setup.greedy(&Rational::ZERO), None);
    for last in [0, 1] {
        // The time at which the flow reaches a server, and the time that others take to reach it,
        // depend on when each flow begins.
        let mut run = together.clone();
        let mut sources = setup.greedy(&Rational::ZERO);
        for _ in 0..2 {
            sources = setup.meeting(&run, &sources, last);
            run = search.run(sources.clone(), None);
        }
    }
    let moments = setup.bad_moments();
    for offset in &moments {
        search.run(setup.greedy(offset), None);
    }
    let span = setup.span();
    let little = moments.into_iter().next();
    if let Some(little) = &little {
        for phase in 1..PHASES {
            search.run(setup.greedy(&(&span * &Rational::ratio(phase, PHASES) + little)), None);
        }
    }
    for number in 0..RANDOM_RUNS {
        let mut rng = Rng::of((flow.index() as u64) << 8 | number);
        let mut begin = || rng.moment_within(&span) + little.as_ref().unwrap_or(&Rational::ZERO);
        let sources = setup.streams.iter().map(|_| (begin(), Pattern::Greedy)).collect();
        // Every other run has fast servers, and pseudo-random clocks and orders of service.
        search.run(sources, (number % 2 == 1).then_some(number));
    }
    search.worst
}

/// The arrival times of each participant's first packet and of the last packet of its burst, at
/// each server of its path. The outer list is by participant, the inner one by server.
type Arrivals = Vec<Vec<[Option<Rational>; 2]>>;

/// A search for the worst run of a flow, with the worst one that was found so far.
struct Search<'c, 'n> {
    setup: &'c Setup<'n>,
    flow: FlowId,
    worst: Option<Trajectory>,
}

impl Search<'_, '_> {
    fn run(&mut self, sources: Vec<(Rational, Pattern)>, seed: Option<u64>) -> Arrivals {
        let offsets = self.setup.offsets(&sources);
        let span = self.setup.span();
        let scenario = Scenario { sources, packets: PACKETS, has_interest: true, seed, span };
        let run = Run::of(self.setup, &scenario);
        let came = run.observed.iter().map(|observed| observed.came.clone()).collect();
        let Some(own) = run.observed.into_iter().next() else { return came };
        let Some(delay) = own.delay else { return came };
        let found = Trajectory { flow: self.flow, delay, backlog: own.backlog, offsets };
        self.worst = Some(match self.worst.take() {
            None => found,
            Some(worst) => worst.or_worse(found),
        });
        came
    }
}

impl Setup<'_> {
    /// Returns, for each stream, a source that sends as much and as early as possible from the time
    /// `begin` on.
    fn greedy(&self, begin: &Rational) -> Vec<(Rational, Pattern)> {
        self.streams.iter().map(|_| (begin.clone(), Pattern::Greedy)).collect()
    }

    /// Returns the time at which each flow begins to send.
    fn offsets(&self, sources: &[(Rational, Pattern)]) -> Vec<(FlowId, Rational)> {
        let begin = |stream: usize| sources.get(stream).map(|(begin, _)| begin.clone());
        let mut offsets: Vec<(FlowId, Rational)> = self
            .participants
            .iter()
            .filter_map(|participant| Some((participant.id, begin(participant.stream)?)))
            .collect();
        offsets.sort();
        offsets
    }

    /// Returns the time within which sources begin and clocks start to deviate: the time that some
    /// packets of all streams, or of all classes, take at the slowest server, or the longest cycle
    /// of gates.
    fn span(&self) -> Rational {
        let all: Rational = self.streams.iter().map(|stream| stream.size.clone()).sum();
        let all = all * Rational::from(4);
        let mut span = Rational::ZERO;
        for spec in self.lines.values() {
            let time = spec.served.value_at(&all).into_finite();
            span = span.max(time.unwrap_or(Rational::ZERO));
        }
        for server in self.participants.iter().flat_map(|participant| participant.path) {
            let Some((port, _)) = self.network.port_at(*server) else { continue };
            // The time to send a few packets of every class.
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

    /// Returns sources whose streams meet the flow of interest at the worst moment. The first
    /// packet of each stream reaches the server where it meets the flow of interest together with
    /// the first packet of that flow or, if `last` is 1, with the last packet of its burst. `came`
    /// holds the arrival times of the previous run.
    fn meeting(
        &self,
        came: &Arrivals,
        sources: &[(Rational, Pattern)],
        last: usize,
    ) -> Vec<(Rational, Pattern)> {
        let Some(own) = self.participants.first() else { return sources.to_vec() };
        let mut begins: Vec<Rational> = sources.iter().map(|(begin, _)| begin.clone()).collect();
        for (index, stream) in self.streams.iter().enumerate() {
            if index == own.stream {
                continue;
            }
            let meets = stream.members.iter().find_map(|member| {
                let path = self.participants.get(*member)?.path;
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

    /// Returns times at which sources should begin so that their packets have to wait at the first
    /// port of the flow of interest. Just before these times, a packet of a class without flows
    /// starts there, or too little time is left until the gate closes.
    fn bad_moments(&self) -> Vec<Rational> {
        let Some(own) = self.participants.first() else { return Vec::new() };
        let mut ports = own.path.iter().filter_map(|server| self.network.port_at(*server));
        let Some((port, _)) = ports.next() else { return Vec::new() };
        // The time to send one packet of every class.
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
