//! Tests of cyclic networks that the analyses cut: closed forms, bounds where total flow analysis
//! has none, and simulated packets.

use calculus::network::{
    Analyser, Analysis, AnalysisError, Flow, FlowOfInterest, Multiplexing, Network, NetworkBuilder,
    Priority, Server, Settings, observe,
};
use calculus::{Curve, Extended, Interrupt, Rational};
use proptest::prelude::*;

use crate::rings::ring;
use crate::soundness::config;
use crate::support::{bound_by, network, number, rational, rl, tb};

/// The analyses that require the network to be cut.
const CUT: [Analysis; 5] =
    [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching, Analysis::Ulp];

fn settings(multiplexing: Multiplexing) -> Settings {
    Settings { threads: 1, ..Settings::default().multiplexed(multiplexing) }
}

fn delay(network: &Network, analysis: Analysis, multiplexing: Multiplexing) -> Extended {
    bound_by(network, "f0", analysis, settings(multiplexing)).delay
}

/// Asserts that a bound is an exact value or a little above it.
fn assert_just_above(found: &Extended, exact: &str) {
    let (found, exact) = (found.finite().expect("a bound").clone(), rational(exact));
    assert!(found >= exact, "{} < {}", found.to_f64(), exact.to_f64());
    assert!(found.to_f64() < exact.to_f64() * (1.0 + 1e-6), "{} {}", found.to_f64(), exact);
}

/// Builds two flows over two servers in opposite directions, of burst 1 and the given rate.
fn face_to_face(rate: &str) -> Network {
    network(&vec![rl("10", "1"); 2], &[(tb("1", rate), &[0, 1]), (tb("1", rate), &[1, 0])])
}

#[test]
fn two_flows_face_to_face_have_a_closed_form() {
    // Each burst x at its second server: x = b + r (R T + x) / (R - r), so x = (b (R - r) + r R T)
    // / (R - 2 r). Delay: (R T + x) / (R - r) + (R T + b) / (R - r) + b / (R - r).
    let any = Multiplexing::Arbitrary;
    for (rate, exact) in [("4", "15/2"), ("1", "65/24"), ("49/10", "975/17")] {
        assert_just_above(&delay(&face_to_face(rate), Analysis::Sfa, any), exact);
    }
    // FIFO: x = b + r (T + x / R), so x = (b + r T) R / (R - r); delay 2 T + (x + b) / R + b / (R -
    // r).
    let found = delay(&face_to_face("4"), Analysis::Sfa, Multiplexing::Fifo);
    assert_just_above(&found, "31/10");
    // At full load, bursts grow from round to round.
    for analysis in CUT {
        assert_eq!(
            delay(&face_to_face("5"), analysis, any),
            Extended::PositiveInfinity,
            "{analysis}"
        );
    }
}

#[test]
fn a_cut_network_has_bounds_where_delays_have_none() {
    let any = Multiplexing::Arbitrary;
    for (servers, length, percent, analyses) in
        [(4, 3, 55, &CUT[..]), (4, 4, 60, &[Analysis::Ulp]), (6, 3, 70, &[Analysis::Ulp])]
    {
        let ring = ring(servers, length, percent);
        assert_eq!(delay(&ring, Analysis::TfaPlusPlus, any), Extended::PositiveInfinity);
        for analysis in analyses {
            let found = delay(&ring, *analysis, any);
            assert!(found.is_finite(), "{servers} {length} {percent} {analysis}");
            assert!(delay(&ring, Analysis::Best, any) <= found);
        }
    }
}

#[test]
fn what_is_left_over_is_below_delays() {
    for (servers, length, percent) in [(3, 2, 50), (4, 3, 30), (5, 4, 20), (6, 3, 40)] {
        let ring = ring(servers, length, percent);
        let of = |analysis| delay(&ring, analysis, Multiplexing::Arbitrary);
        let delays = of(Analysis::TfaPlusPlus);
        assert!(delays.is_finite(), "{servers} {length}");
        for analysis in CUT {
            assert!(of(analysis) < delays, "{analysis} {servers} {length}");
        }
        assert!(of(Analysis::Ulp) <= of(Analysis::Pmoo), "{servers} {length}");
    }
}

#[test]
fn overload_has_no_bound_and_other_flows_keep_theirs() {
    let over = network(
        &vec![rl("10", "1"); 3],
        &[(tb("1", "6"), &[0, 1]), (tb("1", "6"), &[1, 0]), (tb("1", "1"), &[2])],
    );
    for analysis in CUT {
        let of = |flow| bound_by(&over, flow, analysis, settings(Multiplexing::Arbitrary)).delay;
        assert_eq!(of("f0"), Extended::PositiveInfinity, "{analysis}");
        assert_eq!(of("f2"), number("11/10"), "{analysis}");
    }
}

#[test]
fn every_flow_disturbs_in_a_circle_whatever_the_convention() {
    let net = face_to_face("4");
    let of = |convention| {
        let settings = settings(Multiplexing::Arbitrary).with_flow_of_interest(convention);
        bound_by(&net, "f0", Analysis::Sfa, settings)
    };
    let lowest = of(FlowOfInterest::LowestPriority);
    assert!(lowest.delay_by.proven);
    assert_eq!(lowest.delay, of(FlowOfInterest::Interferes).delay);
}

#[test]
fn nothing_at_all_has_a_bound_of_the_latencies() {
    let net = network(&vec![rl("10", "1"); 2], &[(tb("0", "1"), &[0, 1]), (tb("0", "0"), &[1, 0])]);
    // The burst x of f0 after s0 is r T; f1 sends nothing.
    assert_just_above(&delay(&net, Analysis::Sfa, Multiplexing::Arbitrary), "2");
}

#[test]
fn an_interrupt_ends_the_search_for_bursts() {
    let ring = ring(4, 3, 55);
    let flow = ring.flow_named("f0").expect("a flow");
    let bound = |analysis, interrupt: &Interrupt| {
        let settings = settings(Multiplexing::Arbitrary);
        Analyser::new(&ring, settings).stopped_by(interrupt.clone()).bound(flow, analysis)
    };
    for analysis in CUT {
        let free = Interrupt::after_checks(usize::MAX);
        let whole = bound(analysis, &free).expect("a bound");
        assert!(whole.delay.is_finite(), "{analysis}");
        let all = free.checks().expect("a count");
        for part in 0..4 {
            let checks = all * part / 4;
            let interrupt = Interrupt::after_checks(checks);
            let found = bound(analysis, &interrupt);
            assert!(matches!(found, Err(AnalysisError::Stopped)), "{analysis} {part}");
            // Each remaining burst of a round checks the interrupt once.
            let after = interrupt.checks().expect("a count") - checks;
            assert!(after < 30, "{analysis} goes on after {checks} of {all} checks: {after}");
        }
    }
}

#[test]
fn the_quick_analysis_names_what_needs_a_cut() {
    use std::time::Duration;
    for order in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
        // 63 hops.
        let ring = ring(21, 3, 30);
        let analyser = Analyser::new(&ring, settings(order));
        let flows: Vec<_> = ring.flows().map(|(id, _)| id).collect();
        let left_out = |analysis| -> Vec<Analysis> {
            let untried = analyser.untried(analysis, &flows, Duration::from_millis(20));
            untried.into_iter().map(|untried| untried.analysis).collect()
        };
        let found = left_out(Analysis::Quick);
        assert!(
            CUT.iter().chain([&Analysis::Best]).all(|analysis| found.contains(analysis)),
            "{order}: {found:?}"
        );
        assert!(!found.contains(&Analysis::SinkTree));
        // Under FIFO, the linear programs of paths take the place of ULP.
        let of_best = if order == Multiplexing::Fifo { vec![] } else { vec![Analysis::Ulp] };
        assert_eq!(left_out(Analysis::Best), of_best);
        assert_eq!(
            delay(&ring, Analysis::Quick, order),
            delay(&ring, Analysis::TfaPlusPlus, order)
        );
        assert!(!ring.is_searched_thoroughly());
    }
}

/// A random network: servers by latency and spare rate; flows by burst, rate, priority and a seed
/// of their path; whether servers packetize.
#[derive(Clone, Debug)]
struct Shape {
    servers: Vec<(u8, u8)>,
    flows: Vec<(u8, u8, u8, Vec<usize>)>,
    orders: Vec<u8>,
    packets: bool,
    shaped: bool,
}

fn shapes() -> impl Strategy<Value = Shape> {
    (2_usize..5).prop_flat_map(|count| {
        let servers = prop::collection::vec((1_u8..4, 1_u8..6), count);
        let path = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
        let path = (path, 2..=count).prop_map(|(path, length)| path[..length].to_vec());
        let flow = (1_u8..6, 1_u8..4, 0_u8..3, path);
        let flows = prop::collection::vec(flow, 2..6);
        let orders = prop::collection::vec(0_u8..3, count);
        (servers, flows, orders, any::<bool>(), any::<bool>()).prop_map(
            |(servers, flows, orders, packets, shaped)| Shape {
                servers,
                flows,
                orders,
                packets,
                shaped,
            },
        )
    })
}

impl Shape {
    fn network(&self) -> Network {
        let mut builder = NetworkBuilder::new("random");
        let mut ids = Vec::new();
        for (index, ((latency, spare), order)) in self.servers.iter().zip(&self.orders).enumerate()
        {
            let here = self.flows.iter().filter(|(.., path)| path.contains(&index));
            let load: i64 = here.map(|(_, rate, ..)| i64::from(*rate)).sum();
            let rate = load + i64::from(*spare);
            let service = Curve::rate_latency(rate, i64::from(*latency)).expect("a curve");
            let order = match order {
                0 => Multiplexing::Fifo,
                1 => Multiplexing::Arbitrary,
                _ => Multiplexing::StaticPriority,
            };
            let mut server = Server::new(format!("s{index}"), service).multiplexed(order);
            server.packetizer = self.packets;
            if self.shaped && self.packets {
                server = server.shaped(Curve::token_bucket(0, rate).expect("a curve"));
            }
            ids.push(builder.server(server));
        }
        for (index, (burst, rate, priority, path)) in self.flows.iter().enumerate() {
            let path = path.iter().map(|server| ids[*server]).collect();
            let arrival =
                Curve::token_bucket(i64::from(*burst), i64::from(*rate)).expect("a curve");
            let flow = Flow::new(format!("f{index}"), path, arrival);
            let packet = Rational::from(i64::from(*burst).min(2));
            let flow = Flow { maximum_packet: packet, ..flow };
            builder.flow(flow.prioritised(Priority(u32::from(*priority))));
        }
        builder.build().expect("a network")
    }
}

fn check(shape: &Shape, seed: u64) -> Result<(usize, usize), String> {
    let network = shape.network();
    let settings = Settings { threads: 1, ..Settings::default() };
    let analyser = Analyser::new(&network, settings.clone());
    let mut bounds = Vec::new();
    for analysis in CUT.into_iter().chain([Analysis::TfaPlusPlus]) {
        match analyser.bounds(analysis) {
            Ok(found) => bounds.push((analysis, found)),
            Err(AnalysisError::NoProgram(_)) => {}
            Err(error) => return Err(format!("{analysis}: {error}")),
        }
    }
    let mut runs = 0;
    for run in 0..3 {
        let Some(seen) = observe(&network, &settings, seed.wrapping_add(run)) else { continue };
        runs += 1;
        for run in &seen.flows {
            for (analysis, bounds) in &bounds {
                let bound = &bounds[run.flow.index()];
                if bound.delay < Extended::Finite(run.delay.clone()) {
                    return Err(format!("{analysis}: {} < {}", bound.delay, run.delay));
                }
                let backlog = Extended::Finite(run.backlog.clone());
                if *analysis != Analysis::Tfa && bound.backlog < backlog {
                    return Err(format!("{analysis}: backlog {} < {backlog}", bound.backlog));
                }
            }
        }
    }
    let finite = bounds.iter().filter(|(_, bounds)| bounds[0].delay.is_finite()).count();
    Ok((if network.order().is_err() { runs } else { 0 }, finite))
}

/// Returns the number of random networks; the environment variable `PLANIMETER_NETWORKS` overrides
/// it.
fn cases() -> u64 {
    let cases = std::env::var("PLANIMETER_NETWORKS").ok().and_then(|cases| cases.parse().ok());
    cases.unwrap_or(60)
}

#[test]
fn no_bound_of_a_random_cyclic_network_is_below_packets() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(config(1));
    let (mut runs, mut finite) = (0, 0);
    for seed in 0..cases() {
        let shape = shapes().new_tree(&mut runner).expect("a network").current();
        let (of_shape, bounds) =
            check(&shape, seed).unwrap_or_else(|error| panic!("{error}\n{shape:#?}"));
        runs += of_shape;
        finite += bounds;
    }
    println!("{runs} runs of cyclic networks, {finite} finite bounds");
    assert!(runs > 60, "{runs}");
    assert!(finite > 60, "{finite}");
}
