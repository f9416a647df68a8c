//! Tests of random networks with all features: no bound is below the packet simulation.
//!
//! A failure prints the smallest network that shows it (its stations, its flows, and the seed of
//! the run), and the seed of all networks. The environment variable `PLANIMETER_SEED` (for example
//! `PLANIMETER_SEED=7`) selects other networks.

use std::collections::BTreeMap;

use calculus::network::port::{Class, Gate, Port, Scheduler, Window};
use calculus::network::{
    Analyser, Analysis, AnalysisError, Clocks, Flow, FlowOfInterest, Multiplexing, Network,
    NetworkBuilder, Priority, Regulator, Server, ServerId, Settings, observe, simulate,
};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::soundness::config;

/// The number of runs of each network.
const RUNS: u64 = 4;
/// The number of priorities.
const CLASSES: u32 = 3;

/// A server or a port, in the order of paths.
#[derive(Clone, Debug)]
struct Station {
    kind: Kind,
    /// The latency, in twentieths.
    latency: u8,
    /// The shares of classes at a port; the first is the rate of a server beyond 60.
    shares: [u8; 3],
    /// The largest packets of classes at a port.
    packets: [u8; 3],
    /// The regulator after the station, if any; true for an interleaved one.
    regulator: Option<bool>,
    eliminates: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Server { order: u8, packetizer: bool, strict: bool, shaped: bool },
    CreditBased { shapers: u8 },
    Gates { together: bool },
    GatesAndCredit { two: bool },
    Deficits,
    Turns { interleaved: bool },
}

/// A flow, and its relation to another flow that carries the same data.
#[derive(Clone, Debug)]
struct Way {
    class: u8,
    /// The stations that the flow visits, as bits; those of the other flow; and the first station
    /// in a ring.
    stations: u8,
    other: u8,
    begin: u8,
    group: Group,
    /// The packet size in percent of the largest that the flow's ports allow, or 0 for a fluid.
    size: u8,
    burst: u8,
    rate: u8,
    arrival: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Alone,
    Multicast,
    Replicated,
}

#[derive(Clone, Debug)]
struct Shape {
    stations: Vec<Station>,
    ways: Vec<Way>,
    /// Whether the stations form a ring in which paths may begin anywhere.
    ring: bool,
    clocks: Option<(u8, u8, Option<u8>)>,
}

/// The places of regulators; none if clocks are not perfect or flows are replicated.
#[derive(Clone, Copy, Debug)]
enum Regulators {
    Nowhere,
    AsStationsSay,
    Everywhere,
}

fn stations() -> impl Strategy<Value = Vec<Station>> {
    let server = (0_u8..5, any::<bool>(), prop::bool::weighted(0.8), prop::bool::weighted(0.3))
        .prop_map(|(order, packetizer, strict, shaped)| Kind::Server {
            order,
            packetizer,
            // Other orders of service have no bounds without a strict service curve.
            strict: strict || order < 2,
            shaped,
        });
    let kind = prop_oneof![
        6 => server,
        1 => (1_u8..3).prop_map(|shapers| Kind::CreditBased { shapers }),
        1 => any::<bool>().prop_map(|together| Kind::Gates { together }),
        1 => any::<bool>().prop_map(|two| Kind::GatesAndCredit { two }),
        1 => Just(Kind::Deficits),
        1 => any::<bool>().prop_map(|interleaved| Kind::Turns { interleaved }),
    ];
    let (shares, packets) = (prop::array::uniform3(0_u8..20), prop::array::uniform3(2_u8..40));
    let regulator = prop::option::weighted(0.5, prop::bool::weighted(0.7));
    let station = (kind, 0_u8..8, shares, packets, regulator, prop::bool::weighted(0.5)).prop_map(
        |(kind, latency, shares, packets, regulator, eliminates)| Station {
            kind,
            latency,
            shares,
            packets,
            regulator,
            eliminates,
        },
    );
    prop::collection::vec(station, 1..5)
}

fn ways() -> impl Strategy<Value = Vec<Way>> {
    let group = prop_oneof![
        6 => Just(Group::Alone),
        1 => Just(Group::Multicast),
        2 => Just(Group::Replicated)
    ];
    let size = prop_oneof![1 => Just(0_u8), 5 => 40_u8..=100];
    let mask = || prop_oneof![1 => Just(u8::MAX), 1 => any::<u8>()];
    let masks = (mask(), mask(), 0_u8..5);
    let burst = prop_oneof![Just(0_u8), 0_u8..12];
    let traffic = (size, burst, 0_u8..8, 0_u8..4);
    let class = prop_oneof![3 => Just(0_u8), 2 => Just(1_u8), 1 => Just(2_u8)];
    let way = (class, masks, group, traffic).prop_map(|(class, masks, group, traffic)| {
        let ((stations, other, begin), (size, burst, rate, arrival)) = (masks, traffic);
        Way { class, stations, other, begin, group, size, burst, rate, arrival }
    });
    prop::collection::vec(way, 1..8)
}

fn shapes() -> impl Strategy<Value = Shape> {
    let clocks = prop::option::weighted(0.3, (0_u8..4, 0_u8..3, prop::option::of(0_u8..3)));
    let ring = prop::bool::weighted(0.4);
    let regulators = prop_oneof![
        1 => Just(Regulators::Nowhere),
        3 => Just(Regulators::AsStationsSay),
        2 => Just(Regulators::Everywhere)
    ];
    let copies = prop::bool::weighted(0.3);
    (stations(), ways(), (ring, copies), regulators, clocks).prop_map(
        |(mut stations, mut ways, (ring, copies), regulators, clocks)| {
            for way in ways.iter_mut().filter(|way| way.group == Group::Replicated && !copies) {
                way.group = Group::Alone;
            }
            let copies = ways.iter().any(|way| way.group == Group::Replicated);
            for station in &mut stations {
                let regulator = station.regulator.take();
                station.regulator = match regulators {
                    _ if copies || clocks.is_some() => None,
                    Regulators::Nowhere => None,
                    Regulators::AsStationsSay => regulator,
                    Regulators::Everywhere => Some(regulator.unwrap_or(true)),
                };
            }
            Shape { stations, ways, ring, clocks }
        },
    )
}

fn scheduler(station: &Station) -> Option<Scheduler> {
    fn classes<S>(station: &Station, share: impl Fn(usize) -> S) -> Vec<Class<S>> {
        let class = |(place, packet): (usize, &u8)| Class {
            priority: Priority(place as u32),
            minimum_packet: Rational::ONE,
            maximum_packet: Rational::from(u32::from(*packet)),
            share: share(place),
        };
        station.packets.iter().enumerate().map(class).collect()
    }
    let share = |place: usize| u32::from(station.shares[place]);
    let window = |at: u32, length: u32| Window { at: at.into(), length: length.into() };
    Some(match station.kind {
        Kind::Server { .. } => return None,
        Kind::CreditBased { shapers } => Scheduler::CreditBased(classes(station, |place| {
            (place < usize::from(shapers)).then(|| Rational::from(20 + share(place)))
        })),
        Kind::Gates { together } => {
            let ends = [2 + share(0) % 3, 6 + share(1) % 3];
            let gate = |place: usize| match (together, place) {
                (_, 0) => vec![window(0, 1), window(ends[0], 2)],
                (true, _) => vec![window(ends[0] + 2, 12 - ends[0] - 2)],
                (false, 1) => vec![window(ends[0] + 2, ends[1] - ends[0] - 1)],
                (false, _) => vec![window(ends[1] + 1, 11 - ends[1])],
            };
            let classes = classes(station, |place| Gate::Open(gate(place)));
            Scheduler::Gated { cycle: 12.into(), classes }
        }
        Kind::GatesAndCredit { two } => {
            let windows = vec![window(1, 1), window(6, 1 + share(0) % 4)];
            let slope = |place: usize| Gate::Shaped(Rational::from(12 + share(place)));
            let classes = classes(station, |place| match (two, place) {
                (false, 0) | (true, 2) => Gate::Open(windows.clone()),
                (false, 2) => Gate::BestEffort,
                _ => slope(place),
            });
            Scheduler::Gated { cycle: 12.into(), classes }
        }
        Kind::Deficits => {
            Scheduler::DeficitRoundRobin(classes(station, |place| Rational::from(8 + share(place))))
        }
        Kind::Turns { interleaved } => {
            let classes = classes(station, |place| share(place) % 4 + 1);
            match interleaved {
                true => Scheduler::InterleavedWeightedRoundRobin(classes),
                false => Scheduler::WeightedRoundRobin(classes),
            }
        }
    })
}

/// Adds a station and returns its server for each class.
fn place(builder: &mut NetworkBuilder, station: &Station, index: usize) -> Option<Vec<ServerId>> {
    let regulator = station.regulator.map(|interleaved| match interleaved {
        true => Regulator::Interleaved,
        false => Regulator::PerFlow,
    });
    let Kind::Server { order, packetizer, strict, shaped } = station.kind else {
        let shared = matches!(
            station.kind,
            Kind::CreditBased { shapers: 1 } | Kind::Gates { together: true }
        );
        let latency = if shared { 0 } else { station.latency };
        let port = Port {
            name: format!("p{index}"),
            rate: 100.into(),
            latency: Rational::ratio(latency.into(), 20),
            scheduler: scheduler(station)?,
        };
        let queues = builder.port(port).ok()?;
        for (id, _) in &queues {
            builder.regulate(*id, regulator);
        }
        let queue = |class: u32| {
            let own = queues.iter().find(|(_, classes)| classes.contains(&Priority(class)));
            own.map(|(id, _)| *id)
        };
        return (0..CLASSES).map(queue).collect();
    };
    let rate = Rational::from(60 + u32::from(station.shares[0]));
    let latency = Rational::ratio(station.latency.into(), 20);
    let service = Curve::rate_latency(rate.clone(), latency).expect("a curve");
    // Every other station has the maximum of two curves.
    let faster = Curve::rate_latency(rate + Rational::from(20), Rational::ONE).expect("a curve");
    let service = match station.shares[1] % 2 {
        0 => service,
        _ => service.maximum(&faster).expect("a curve"),
    };
    let line = Curve::line(Rational::ZERO, Rational::from(120));
    let server = Server {
        strict,
        multiplexing: match order {
            0 => Multiplexing::Arbitrary,
            1 => Multiplexing::StaticPriority,
            _ => Multiplexing::Fifo,
        },
        packetizer,
        regulator,
        eliminates: station.eliminates,
        shaping: shaped.then_some(line),
        ..Server::new(format!("s{index}"), service)
    };
    let id = builder.server(server);
    Some(vec![id; CLASSES as usize])
}

/// Returns the stations whose bits are set, at least one.
fn visited(shape: &Shape, mask: u8, begin: u8) -> Vec<usize> {
    let number = shape.stations.len();
    let visits = |place: &usize| mask & (1 << place) != 0;
    let mut visited: Vec<usize> = (0..number).filter(visits).collect();
    if visited.is_empty() {
        visited.push(usize::from(mask) % number);
    }
    if shape.ring {
        let middle = usize::from(begin) % visited.len();
        visited.rotate_left(middle);
    }
    visited
}

/// Returns the arrival curve of a flow of a network of `flows`, which together seldom overload a
/// server.
fn arrival(way: &Way, packet: &Rational, flows: usize) -> Curve {
    let most = Rational::from(56) / Rational::from(flows as u32);
    let rate = (most * Rational::ratio(i64::from(way.rate) + 1, 8)).ceil();
    let burst = packet * &Rational::ratio(i64::from(way.burst) + 4, 4);
    let period = packet / &rate;
    let curve = match way.arrival {
        0 => Curve::token_buckets([
            (burst, rate.clone()),
            (packet.clone(), rate * Rational::from(4)),
        ]),
        1 => Curve::staircase(packet.clone(), period),
        2 => {
            let jitter = &period * &Rational::ratio(way.burst.into(), 4);
            Curve::events(packet.clone(), period, jitter, Rational::ZERO)
        }
        _ => Curve::token_bucket(burst, rate),
    };
    curve.expect("a curve")
}

fn build(shape: &Shape) -> Option<Network> {
    let mut builder = NetworkBuilder::new("random");
    let mut servers = Vec::new();
    for (index, station) in shape.stations.iter().enumerate() {
        servers.push(place(&mut builder, station, index)?);
    }
    for (index, way) in shape.ways.iter().enumerate() {
        let own = visited(shape, way.stations, way.begin);
        let mut other = visited(shape, way.other, way.begin);
        match way.group {
            Group::Alone => {}
            // Multicast flows begin at the same station.
            Group::Multicast => {
                other.retain(|station| own.first() != Some(station));
                other.insert(0, own[0]);
            }
            // Replicated flows share their paths from the last common station that eliminates
            // copies on.
            Group::Replicated => {
                let meets =
                    |place: &&usize| shape.stations[**place].eliminates && other.contains(place);
                if let Some(at) = own.iter().find(meets) {
                    let till = other.iter().position(|place| place == at).unwrap_or(0);
                    other.truncate(till);
                    let from = own.iter().position(|place| place == at).unwrap_or(0);
                    other.retain(|place| !own[from..].contains(place));
                    other.extend(&own[from..]);
                }
            }
        }
        let both = [&own[..], &other[..]].concat();
        let class = usize::from(way.class);
        let is_port = |place: &&usize| !matches!(shape.stations[**place].kind, Kind::Server { .. });
        let most = both.iter().filter(is_port).map(|place| shape.stations[*place].packets[class]);
        let most = u32::from(most.min().unwrap_or(30));
        let size = if way.size == 0 && !both.iter().any(|place| is_port(&place)) {
            0
        } else {
            way.size.max(40)
        };
        let packet = Rational::from((most * u32::from(size) / 100).max(1));
        let flows = shape.ways.iter().map(|way| 1 + usize::from(way.group != Group::Alone)).sum();
        let arrival = arrival(way, &packet, flows);
        let path = |visited: &[usize]| visited.iter().map(|place| servers[*place][class]).collect();
        let add = |builder: &mut NetworkBuilder, name: String, visited: &[usize]| {
            let mut flow =
                Flow::new(name, path(visited), arrival.clone()).prioritised(Priority(class as u32));
            if size > 0 {
                flow.maximum_packet = packet.clone();
            }
            builder.flow(match way.group {
                Group::Alone => flow,
                Group::Multicast => flow.multicast(format!("g{index}")),
                Group::Replicated => flow.replicated(format!("g{index}")),
            });
        };
        add(&mut builder, format!("f{index}"), &own);
        if way.group != Group::Alone && own != other {
            add(&mut builder, format!("f{index}'"), &other);
        }
    }
    let network = builder.build().ok()?;
    let Some((stability, jitter, error)) = shape.clocks else { return Some(network) };
    let clocks = Clocks {
        stability: Rational::ONE + Rational::ratio(stability.into(), 10),
        jitter: Rational::ratio(jitter.into(), 20),
        error: error.map(|error| Rational::ratio(error.into(), 20)),
    };
    network.by_clocks(&clocks).ok()
}

fn settings() -> Settings {
    let settings = Settings { threads: 1, ..Settings::default() };
    settings.with_flow_of_interest(FlowOfInterest::Interferes)
}

/// Counts of the networks that have each feature.
#[derive(Debug, Default)]
struct Tried(BTreeMap<&'static str, usize>);

impl Tried {
    fn count(&mut self, what: &'static str, is_there: bool) {
        *self.0.entry(what).or_default() += usize::from(is_there);
    }

    fn network(&mut self, shape: &Shape, network: &Network) {
        let server = |is: &dyn Fn(&Server) -> bool| network.servers().any(|(_, server)| is(server));
        self.count("networks", true);
        self.count(
            "interleaved regulators",
            server(&|s| s.regulator == Some(Regulator::Interleaved)),
        );
        self.count("regulators of flows", server(&|s| s.regulator == Some(Regulator::PerFlow)));
        self.count("packetizers", server(&|s| s.packetizer));
        self.count("any order", server(&|s| s.multiplexing == Multiplexing::Arbitrary));
        self.count("priorities", server(&|s| s.multiplexing == Multiplexing::StaticPriority));
        self.count("shapers", server(&|s| s.shaping.is_some()));
        self.count("not strict", server(&|s| !s.strict));
        self.count("rings", network.order().is_err());
        self.count("clocks", shape.clocks.is_some());
        self.count("multicast", network.flows().any(|(_, flow)| flow.multicast.is_some()));
        let copies = network.flows().any(|(_, flow)| flow.replicated.is_some());
        self.count("replication", copies);
        self.count("elimination", copies && server(&|s| s.eliminates));
        let ports = network.servers().filter_map(|(id, _)| network.port_at(id));
        for (port, _) in ports {
            let what = match port.scheduler {
                Scheduler::CreditBased(_) => "credit-based",
                Scheduler::Gated { .. } => "gates",
                Scheduler::DeficitRoundRobin(_) => "deficits",
                Scheduler::WeightedRoundRobin(_) => "turns",
                Scheduler::InterleavedWeightedRoundRobin(_) => "interleaved turns",
            };
            self.count(what, true);
        }
    }
}

/// Compares the bounds of a network with its runs; returns the number of runs.
fn check(shape: &Shape, network: &Network) -> Result<usize, String> {
    let settings = settings();
    let analyser = Analyser::new(network, settings.clone());
    let mut runs = 0;
    let mut bounds = Vec::new();
    for analysis in [Analysis::TfaPlusPlus, Analysis::Tfa] {
        match analyser.bounds(analysis) {
            Ok(found) => bounds.push((analysis, found)),
            Err(
                AnalysisError::OvertakesRegulated { .. }
                | AnalysisError::NotInOrder { .. }
                | AnalysisError::NotStrict(_)
                | AnalysisError::Cyclic { .. }
                | AnalysisError::NeedsDelays(_),
            ) => {}
            Err(error) => return Err(format!("{analysis}: {error}\n{shape:#?}")),
        }
    }
    if bounds.is_empty() {
        return Ok(0);
    }
    let servers = analyser.servers(Analysis::TfaPlusPlus).map_err(|error| error.to_string())?;
    let exceeds = |bound: &Extended, run: &Rational| *bound < Extended::Finite(run.clone());
    let check_flow = |run: &calculus::network::Trajectory, seed: String| {
        for (analysis, bounds) in &bounds {
            let bound = &bounds[run.flow.index()];
            let name = &network.flow(run.flow).name;
            if exceeds(&bound.delay, &run.delay) {
                return Err(format!(
                    "{analysis}: {name} has {} in run {seed}, bound {}",
                    run.delay, bound.delay
                ));
            }
            // Total flow analysis bounds the data of a server, not those of the flow.
            if *analysis != Analysis::Tfa && exceeds(&bound.backlog, &run.backlog) {
                return Err(format!(
                    "{analysis}: {name} has backlog {} in run {seed}, bound {}",
                    run.backlog, bound.backlog
                ));
            }
        }
        Ok(())
    };
    for seed in 0..RUNS {
        let Some(seen) = observe(network, &settings, seed) else { continue };
        runs += 1;
        for run in &seen.flows {
            check_flow(run, seed.to_string())?;
        }
        for seen in &seen.servers {
            let bound = &servers[seen.server.index()];
            let (delay, backlog) = match seen.priority {
                None => (&bound.delay, &bound.backlog),
                Some(priority) => {
                    let own = bound.classes.iter().find(|class| class.priority == priority);
                    own.map(|class| (&class.delay, &class.backlog)).expect("a class")
                }
            };
            if exceeds(delay, &seen.delay) || exceeds(backlog, &seen.backlog) {
                return Err(format!(
                    "server {} of {:?}: {} and {} in run {seed}, bounds {delay} and {backlog}",
                    network.server(seen.server).name,
                    seen.priority,
                    seen.delay,
                    seen.backlog
                ));
            }
        }
    }
    // Runs for a flow of interest are many, so only one flow of small networks has them.
    let (id, _) = network.flows().last().expect("a flow");
    if network.flows().len() <= 3
        && let Some(run) = simulate(network, id, &settings)
    {
        runs += 1;
        check_flow(&run, "for the flow".to_owned())?;
    }
    Ok(runs)
}

/// Returns the seed of the networks; the environment variable `PLANIMETER_SEED` overrides it.
fn seed() -> u64 {
    let seed = std::env::var("PLANIMETER_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(20);
    println!("networks of seed {seed}");
    seed
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(seed()), ..config(300) })]

    #[test]
    fn no_bound_is_below_a_run_of_anything(shape in shapes()) {
        let checked = build(&shape).map_or(Ok(0), |network| check(&shape, &network));
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }
}

#[test]
fn random_networks_have_everything() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(config(1));
    let mut tried = Tried::default();
    for _ in 0..300 {
        let shape = shapes().new_tree(&mut runner).expect("a shape").current();
        let Some(network) = build(&shape) else { continue };
        let bounds = Analyser::new(&network, settings()).bounds(Analysis::TfaPlusPlus);
        if bounds.is_ok() && observe(&network, &settings(), 0).is_some() {
            tried.network(&shape, &network);
        }
    }
    println!("{tried:?}");
    for (what, number) in &tried.0 {
        assert!(*number >= 8, "{what}: {number} of {tried:?}");
    }
    assert_eq!(tried.0.len(), 18, "{tried:?}");
}
