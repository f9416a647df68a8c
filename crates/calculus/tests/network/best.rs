//! Tests that the analysis `Best` returns the smallest proven bound of all analyses, and that
//! curves which the algebra cannot compute with are replaced by their outlines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use calculus::network::{
    Analyser, Analysis, AnalysisError, ArrivalBound, Flow, FlowOfInterest, Multiplexing, Network,
    NetworkBuilder, Server, Settings, simulate,
};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;

use super::soundness::{config, networks};
use super::support::{bound, network, rl, tb};

#[test]
fn a_stopped_analysis_returns_the_finished_flows() {
    let network =
        network(&[rl("10", "1"), rl("10", "1")], &[(tb("1", "1"), &[0, 1]), (tb("2", "1"), &[1])]);
    let flows: Vec<_> = network.flows().map(|(id, _)| id).collect();
    let analyses = [Analysis::TfaPlusPlus, Analysis::Best];
    let stop = Arc::<AtomicBool>::default();
    let analyser = Analyser::new(&network, Settings::default()).stopped_by(Arc::clone(&stop));
    assert_eq!(analyser.assess(&flows, &analyses, true).map(|rows| rows.len()), Ok(2));
    stop.store(true, Ordering::Relaxed);
    assert_eq!(analyser.assess(&flows, &analyses, true).map(|rows| rows.len()), Ok(0));
    for analysis in analyses {
        let found = analyser.bound(flows[0], analysis).map(|bound| bound.delay);
        assert_eq!(found, Err(AnalysisError::Stopped), "{analysis}");
    }
}

/// Returns every method to bound arrivals alone, pairs of neighbours, and all at once.
fn methods() -> Vec<&'static [ArrivalBound]> {
    let all = &ArrivalBound::ALL;
    all.chunks(1).chain(all.windows(2)).chain([&all[..]]).collect()
}

/// Checks that no analysis under any convention proves less than the best of all.
fn check(network: &Network, order: Option<Multiplexing>) -> Result<(), TestCaseError> {
    let settings = Settings { multiplexing: order, threads: 1, ..Settings::default() };
    let best = Analyser::new(network, settings.clone()).bounds(Analysis::Best).expect("bounds");
    // A bound for arbitrary multiplexing holds for every order of service.
    for multiplexing in [order, Some(Multiplexing::Arbitrary)] {
        for role in [FlowOfInterest::LowestPriorityWhereProven, FlowOfInterest::Interferes] {
            for (methods, cap_bursts) in
                methods().into_iter().flat_map(|methods| [(methods, true), (methods, false)])
            {
                let settings = Settings {
                    multiplexing,
                    flow_of_interest: role,
                    arrival_bounds: methods.to_vec(),
                    cap_bursts,
                    ..settings.clone()
                };
                let analyser = Analyser::new(network, settings);
                for analysis in [
                    Analysis::Tfa,
                    Analysis::Sfa,
                    Analysis::Pmoo,
                    Analysis::TandemMatching,
                    Analysis::TfaPlusPlus,
                    Analysis::SinkTree,
                ] {
                    for best in &best {
                        let Ok(found) = analyser.bound(best.flow, analysis) else { continue };
                        let what = format!(
                            "{analysis} {order:?} {multiplexing:?} {role} {methods:?} {cap_bursts}"
                        );
                        prop_assert!(found.delay_by.proven, "{what}");
                        prop_assert!(
                            best.delay <= found.delay,
                            "{} > {} {what}",
                            best.delay,
                            found.delay
                        );
                        if analysis != Analysis::Tfa {
                            prop_assert!(
                                best.backlog <= found.backlog,
                                "backlog {} > {} {what}",
                                best.backlog,
                                found.backlog
                            );
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn best_is_the_smallest_that_any_method_proves(
        network in prop_oneof![networks(false), networks(true)],
        order in prop::sample::select(&[
            None,
            Some(Multiplexing::Arbitrary),
            Some(Multiplexing::StaticPriority),
        ][..]),
    ) {
        check(&network, order)?;
    }
}

#[test]
fn a_sink_tree_is_tried_whatever_other_servers_do() {
    let tree = |elsewhere: Multiplexing| {
        let mut builder = NetworkBuilder::new("tree");
        let ids: Vec<_> = [("a", rl("10", "1")), ("b", rl("10", "1")), ("c", rl("10", "1"))]
            .map(|(name, service)| Server::new(name, service))
            .into_iter()
            .map(|server| builder.server(server))
            .collect();
        let other = builder.server(Server::new("other", rl("5", "1")).multiplexed(elsewhere));
        for (name, path) in [("f", &ids[..]), ("g", &ids[1..]), ("h", &ids[2..]), ("o", &[other])] {
            builder.flow(Flow::new(name, path.to_vec(), tb("5", "2")));
        }
        builder.build().expect("a network")
    };
    let alone = tree(Multiplexing::Fifo);
    let best = |network: &Network| {
        let analyser = Analyser::new(network, Settings::default());
        analyser.bound(network.flow_named("f").expect("a flow"), Analysis::Best).expect("a bound")
    };
    let with_other = tree(Multiplexing::Arbitrary);
    assert_eq!(best(&with_other).delay, best(&alone).delay);
    let tree = bound(&alone, "f", Analysis::SinkTree, Multiplexing::Fifo);
    assert!(best(&with_other).delay <= tree.delay);
}

#[test]
fn a_server_that_is_not_strict_costs_only_those_who_need_it() {
    let mut builder = NetworkBuilder::new("mixed");
    let loose = Server { strict: false, ..Server::new("loose", rl("10", "1")) };
    let loose = builder.server(loose.multiplexed(Multiplexing::Arbitrary));
    let fifo = builder.server(Server::new("fifo", rl("10", "1")));
    builder.flow(Flow::new("f", vec![fifo], tb("5", "2")));
    builder.flow(Flow::new("g", vec![loose], tb("5", "2")));
    builder.flow(Flow::new("h", vec![loose], tb("5", "2")));
    let network = builder.build().expect("a network");
    let analyser = Analyser::new(&network, Settings::default());
    let flow = network.flow_named("f").expect("a flow");
    let found = analyser.bound(flow, Analysis::Best).expect("a bound");
    assert_eq!(found.delay, Extended::Finite(Rational::ratio(3, 2)));
    let other = network.flow_named("g").expect("a flow");
    let error = analyser.bound(other, Analysis::Best).expect_err("no bound without strictness");
    assert!(error.to_string().contains("is not strict"), "{error}");
}

#[test]
fn staircases_without_a_common_period_are_outlined_and_say_so() {
    let stairs = |period: i64| Curve::staircase(1_000, period).expect("a curve");
    for periods in [[999_983, 1_000_003, 999_979], [97, 101, 103]] {
        let flows: Vec<(Curve, &[usize])> =
            periods.iter().map(|period| (stairs(*period), &[0_usize, 1][..])).collect();
        let network = network(&[rl("1000", "2"), rl("800", "3")], &flows);
        for order in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
            let settings = Settings::default().multiplexed(order);
            let analyser = Analyser::new(&network, settings.clone());
            for analysis in [Analysis::Tfa, Analysis::TfaPlusPlus, Analysis::Sfa, Analysis::Best] {
                for found in analyser.bounds(analysis).expect("bounds") {
                    assert!(found.delay.is_finite(), "{analysis} {order}");
                    if periods[0] > 1_000 && analysis != Analysis::Best {
                        assert!(found.delay_by.outlined, "{analysis} {order}");
                    }
                    let Some(run) = simulate(&network, found.flow, &settings) else { continue };
                    assert!(found.delay >= Extended::Finite(run.delay), "{analysis} {order}");
                }
            }
            assert_eq!(analyser.servers(Analysis::Best).expect("bounds").len(), 2);
        }
    }
    // Curves that the algebra can compute stay exact.
    let network = network(&[rl("1000", "2")], &[(stairs(4), &[0]), (stairs(6), &[0])]);
    for order in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
        let found = bound(&network, "f0", Analysis::Tfa, order);
        assert!(!found.delay_by.outlined);
    }
}

#[test]
fn effort_goes_to_flows_that_are_over_their_deadline() {
    // 210 hops: linear programs are solved only for flows that need them.
    let path: Vec<usize> = (0..12).collect();
    let mut flows = vec![(tb("20", "2"), path.as_slice())];
    for pair in path.windows(2) {
        flows.extend((0..9).map(|_| (tb("1", "0.3"), pair)));
    }
    let network = network(&vec![rl("10", "1"); 12], &flows);
    let bound = |name: &str, deadline: Option<Rational>| {
        let settings = Settings { deadline, threads: 1, ..Settings::default() };
        let flow = network.flow_named(name).expect("a flow");
        Analyser::new(&network, settings).bound(flow, Analysis::Best).expect("a bound")
    };
    let quick = |name: &str| {
        let flow = network.flow_named(name).expect("a flow");
        let analyser = Analyser::new(&network, Settings::default());
        analyser.bound(flow, Analysis::TfaPlusPlus).expect("a bound").delay
    };
    // The quick analysis meets the deadline, so it is the only one that runs.
    let deadline = quick("f1").into_finite();
    let in_time = bound("f1", deadline.clone());
    assert_eq!(in_time.delay_by.analysis, Analysis::TfaPlusPlus);
    assert_eq!(in_time.delay, quick("f1"));
    // Above the deadline, linear programs are solved, which does not happen without a deadline.
    let (late, without) = (bound("f0", deadline), bound("f0", None));
    assert_eq!(late.delay_by.analysis, Analysis::Plp);
    assert!(late.delay < without.delay, "{} {}", late.delay, without.delay);
}

#[test]
fn a_deadline_ends_the_search() {
    // Three servers with cross traffic: the bound of total flow analysis is much larger than the
    // smallest bound.
    let servers = vec![rl("10", "1"); 3];
    let flows: [(_, &[usize]); 4] = [
        (tb("20", "2"), &[0, 1, 2]),
        (tb("10", "3"), &[0]),
        (tb("10", "3"), &[1]),
        (tb("10", "3"), &[2]),
    ];
    let network = network(&servers, &flows);
    let flow = network.flow_named("f0").expect("a flow");
    let by = |deadline: Option<Rational>| {
        let settings = Settings { deadline, ..Settings::default() };
        Analyser::new(&network, settings).bound(flow, Analysis::Best).expect("a bound").delay
    };
    let first = bound(&network, "f0", Analysis::TfaPlusPlus, Multiplexing::Fifo).delay;
    let least = by(None);
    assert!(least < first, "{least} {first}");
    // The deadline is met by the first analysis, only by a later one, or by none.
    assert_eq!(by(first.clone().into_finite()), first);
    let between = by(least.clone().into_finite());
    assert_eq!(between, least);
    assert_eq!(by(Some(Rational::ZERO)), least);
}
