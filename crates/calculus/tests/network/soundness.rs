//! Tests of random networks: no bound is below a simulated run, and the bounds of the analyses are
//! in the known order.

use calculus::network::{
    Analyser, Analysis, AnalysisError, ArrivalBound, Flow, FlowId, FlowOfInterest, Multiplexing,
    Network, NetworkBuilder, Priority, Server, Settings, simulate,
};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(20),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::with_cases(cases)
    }
}

/// A server: the part of its rate beyond its load, and its latency.
type ServerShape = (u8, u8);
/// A flow: its token buckets, first server, number of servers, and priority.
type FlowShape = (Vec<(u8, u8)>, usize, usize, u8);

/// Generates flows over parts of a tandem; with `skip` every second flow leaves out every other
/// server, so that paths part and meet again.
pub(crate) fn networks(skip: bool) -> impl Strategy<Value = Network> {
    let servers = prop::collection::vec((0_u8..6, 0_u8..8), 1..5);
    let bucket = (0_u8..9, 0_u8..6);
    let flow = (prop::collection::vec(bucket, 1..3), 0_usize..4, 1_usize..5, 0_u8..3);
    (servers, prop::collection::vec(flow, 1..6))
        .prop_map(move |(servers, flows)| build(&servers, &flows, skip))
}

fn build(servers: &[ServerShape], flows: &[FlowShape], skip: bool) -> Network {
    build_with(servers, flows, skip, false)
}

/// Builds the network; with `packets`, data leave servers in packets, each as large as the burst of
/// its flow or as a half or a third of it.
fn build_with(servers: &[ServerShape], flows: &[FlowShape], skip: bool, packets: bool) -> Network {
    let paths: Vec<Vec<usize>> = flows
        .iter()
        .enumerate()
        .map(|(index, (_, first, count, _))| {
            let first = first % servers.len();
            let step = if skip && index % 2 == 1 { 2 } else { 1 };
            (first..servers.len()).step_by(step).take(*count).collect()
        })
        .collect();
    let rate =
        |flow: &FlowShape| flow.0.iter().map(|(_, rate)| i64::from(*rate)).min().unwrap_or(0);
    let mut builder = NetworkBuilder::new("random");
    let ids: Vec<_> = servers
        .iter()
        .enumerate()
        .map(|(index, (beyond, latency))| {
            let load: i64 = flows
                .iter()
                .zip(&paths)
                .filter(|(_, path)| path.contains(&index))
                .map(|(flow, _)| rate(flow))
                .sum();
            let rate = Rational::from(load + i64::from(*beyond) + 1);
            let service = Curve::rate_latency(rate, Rational::ratio(i64::from(*latency), 2));
            let server = Server::new(format!("s{index}"), service.expect("a curve"));
            builder.server(Server { packetizer: packets, ..server })
        })
        .collect();
    for (index, (flow, path)) in flows.iter().zip(&paths).enumerate() {
        let buckets = flow.0.iter().map(|(burst, rate)| (i64::from(*burst), i64::from(*rate)));
        let arrival = Curve::token_buckets(buckets).expect("a curve");
        let path = path.iter().map(|server| ids[*server]).collect();
        let mut flow = Flow::new(format!("f{index}"), path, arrival);
        if packets {
            // A half, a third or all of the burst, and so on.
            let burst = flow.arrival.right_limit_at(&Rational::ZERO).into_finite();
            let parts = Rational::from(1 + i64::from(flows[index].3));
            flow.maximum_packet = burst.expect("finite") / parts;
        }
        builder.flow(flow.prioritised(Priority(flows[index].3.into())));
    }
    builder.build().expect("a network")
}

const ORDERS: [Multiplexing; 3] =
    [Multiplexing::Fifo, Multiplexing::Arbitrary, Multiplexing::StaticPriority];

/// Compares every analysis of every flow, under several conventions, with runs.
fn check(network: &Network) -> Result<(), TestCaseError> {
    for order in ORDERS {
        let settings = Settings { threads: 1, ..Settings::default().multiplexed(order) };
        let runs: Vec<_> =
            network.flows().map(|(id, _)| simulate(network, id, &settings)).collect();
        for role in [
            FlowOfInterest::LowestPriority,
            FlowOfInterest::LowestPriorityWhereProven,
            FlowOfInterest::Interferes,
        ] {
            for method in ArrivalBound::ALL {
                let settings =
                    settings.clone().with_flow_of_interest(role).bounding_arrivals(method);
                let settings = Settings {
                    cap_bursts: role != FlowOfInterest::Interferes,
                    prolong: role != FlowOfInterest::LowestPriority,
                    ..settings
                };
                let analyser = Analyser::new(network, settings);
                for (id, flow) in network.flows() {
                    let Some(run) = &runs[id.index()] else { continue };
                    for analysis in Analysis::ALL {
                        // Analyses that do not depend on these conventions are computed once.
                        let program = matches!(
                            analysis,
                            Analysis::Ludb
                                | Analysis::Plp
                                | Analysis::Elp
                                | Analysis::Ulp
                                | Analysis::Best
                        );
                        let first = role == FlowOfInterest::LowestPriority
                            && method == ArrivalBound::ALL[0];
                        if program && !first {
                            continue;
                        }
                        let found = match analyser.bound(id, analysis) {
                            Err(AnalysisError::NotSinkTree(_) | AnalysisError::NoProgram(_)) => {
                                continue;
                            }
                            found => found.expect("a bound"),
                        };
                        let what = format!("{} {analysis} {order} {role} {method}", flow.name);
                        let delay = Extended::Finite(run.delay.clone());
                        prop_assert!(
                            found.delay >= delay,
                            "delay {} < {delay}: {what}",
                            found.delay
                        );
                        let backlog = Extended::Finite(run.backlog.clone());
                        prop_assert!(
                            found.backlog >= backlog,
                            "backlog {} < {backlog}: {what}",
                            found.backlog
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn no_bound_is_below_a_run_of_a_tandem(network in networks(false)) {
        check(&network)?;
    }

    #[test]
    fn no_bound_is_below_a_run_where_paths_part_and_meet(network in networks(true)) {
        check(&network)?;
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn no_bound_is_below_a_run_in_packets(
        servers in prop::collection::vec((0_u8..6, 0_u8..8), 1..5),
        flows in prop::collection::vec(
            (prop::collection::vec((1_u8..9, 0_u8..6), 1..3), 0_usize..4, 1_usize..5, 0_u8..3),
            1..6,
        ),
        skip in any::<bool>(),
    ) {
        check(&build_with(&servers, &flows, skip, true))?;
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn analyses_keep_their_order(network in networks(false)) {
        for order in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
            let analyser = Analyser::new(&network, Settings::default().multiplexed(order));
            let bounds = |analysis| analyser.bounds(analysis).expect("bounds");
            let best = bounds(Analysis::Best);
            for analysis in
                [Analysis::Pmoo, Analysis::TandemMatching, Analysis::TfaPlusPlus, Analysis::Ulp]
            {
                for (best, other) in best.iter().zip(bounds(analysis)) {
                    let smaller = best.delay <= other.delay;
                    prop_assert!(smaller || !other.delay_by.proven, "{analysis} {order}");
                }
            }
            for (parts, whole) in bounds(Analysis::TandemMatching).iter().zip(bounds(Analysis::Pmoo)) {
                prop_assert!(parts.delay <= whole.delay, "the whole path is one of the ways to cut");
            }
            if order == Multiplexing::Arbitrary {
                for (unique, whole) in bounds(Analysis::Ulp).iter().zip(bounds(Analysis::Pmoo)) {
                    // Multipliers are rounded if the optimum itself is not recovered.
                    let near = unique.delay.to_f64() <= whole.delay.to_f64() * (1.0 + 1e-9);
                    prop_assert!(
                        unique.delay <= whole.delay || near,
                        "above PMOO: {} {} {:?}", unique.delay, whole.delay, unique.delay_by.derivation.lines(&network)
                    );
                }
                let settings = Settings::default().multiplexed(order).prolonging();
                let prolonging = Analyser::new(&network, settings);
                for analysis in [Analysis::Pmoo, Analysis::TandemMatching] {
                    let prolonged = prolonging.bounds(analysis).expect("bounds");
                    for (prolonged, plain) in prolonged.iter().zip(bounds(analysis)) {
                        prop_assert!(prolonged.delay <= plain.delay, "nothing need be prolonged");
                    }
                }
                for (pbo, tfa) in bounds(Analysis::Sfa).iter().zip(bounds(Analysis::Tfa)) {
                    prop_assert!(pbo.delay <= tfa.delay, "SFA is never above TFA in any order");
                }
            }
        }
    }

    #[test]
    fn threads_change_nothing(network in networks(true)) {
        for order in ORDERS {
            let with = |threads| {
                let settings = Settings { threads, ..Settings::default().multiplexed(order) };
                let analyser = Analyser::new(&network, settings);
                let mut found = Vec::new();
                for analysis in [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo, Analysis::Best] {
                    for bound in analyser.bounds(analysis).expect("bounds") {
                        found.push((bound.delay, bound.backlog, bound.output));
                    }
                }
                found
            };
            prop_assert_eq!(with(1), with(4));
        }
    }

    #[test]
    fn a_sink_tree_is_exact_up_to_the_run(
        servers in prop::collection::vec((0_u8..6, 0_u8..8), 1..4),
        firsts in prop::collection::vec(((1_u8..9, 0_u8..6), 0_usize..3), 1..5),
    ) {
        let flows: Vec<FlowShape> = firsts
            .into_iter()
            .map(|(bucket, first)| (vec![bucket], first, 5, 0))
            .collect();
        let network = build(&servers, &flows, false);
        let settings = Settings::default().multiplexed(Multiplexing::Fifo);
        let analyser = Analyser::new(&network, settings.clone());
        for (id, _) in network.flows() {
            let Some(run) = simulate(&network, id, &settings) else { continue };
            let exact = analyser.bound(id, Analysis::SinkTree).expect("a tree").delay;
            prop_assert!(exact >= Extended::Finite(run.delay));
            prop_assert_eq!(&exact, &Extended::Finite(by_clearing_rates(&network, id)));
            for analysis in [Analysis::Tfa, Analysis::TfaPlusPlus] {
                prop_assert!(analyser.bound(id, analysis).expect("a bound").delay >= exact);
            }
        }
    }
}

/// Returns the delay in a sink tree (a tandem with flows that join) by the rates at which joining
/// bursts are forwarded: latencies, and bursts over rates. A server that cannot forward all that
/// arrives together slows all of it down in proportion.
fn by_clearing_rates(network: &Network, id: FlowId) -> Rational {
    let rate = |curve: &Curve| curve.ultimate_rate().into_finite().expect("a rate");
    let path = &network.flow(id).path;
    let mut joining = Vec::new();
    for (index, server) in path.iter().enumerate() {
        let (mut burst, mut fed) = (Rational::ZERO, Rational::ZERO);
        for other in network.flows_at(*server) {
            let before = network.predecessor(*other, *server);
            if index > 0 && before == Some(path[index - 1]) {
                continue;
            }
            let flow = network.flow(*other);
            fed += &rate(&flow.arrival);
            burst += flow.arrival.right_limit_at(&Rational::ZERO).finite().expect("finite");
            for earlier in flow.path.iter().take_while(|earlier| *earlier != server) {
                let latency = network.server(*earlier).service.pieces()[1..].first();
                let latency = latency.map_or(Rational::ZERO, |piece| piece.start().clone());
                burst += &(latency * rate(&flow.arrival));
            }
        }
        joining.push((burst, fed));
    }
    let mut delay = Rational::ZERO;
    for (index, server) in path.iter().enumerate() {
        let service = &network.server(*server).service;
        delay += &service.pieces()[1..].first().map_or(Rational::ZERO, |p| p.start().clone());
        let (mut clearing, mut together) = (rate(service), rate(service));
        for (later, (_, fed)) in path.iter().zip(&joining).skip(index + 1) {
            let limit = rate(&network.server(*later).service);
            together += fed;
            if together > limit {
                clearing = clearing * &limit / &together;
                together = limit;
            }
        }
        delay += &(&joining[index].0 / &clearing);
    }
    delay
}
