//! Tests of the linear programs for FIFO paths: exact worst cases, the order among analyses, and
//! simulated runs.

use calculus::network::{
    Analyser, Analysis, AnalysisError, Multiplexing, Network, Settings, simulate,
};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;

use crate::closed_forms::{interleaved_tandem, local_cross_tandem};
use crate::soundness::{config, networks};
use crate::support::{bound, network, number, rl, tb};

fn delay(network: &Network, flow: &str, analysis: Analysis) -> Extended {
    bound(network, flow, analysis, Multiplexing::Fifo).delay
}

#[test]
fn the_worst_case_of_interleaved_tandems() {
    // Compared to all digits that were published; the rate 0.67 makes these finite decimals.
    let published = [(1, "0.4"), (2, "0.6134"), (3, "0.8276978"), (4, "1.03580465")];
    for (n, expected) in published {
        let found = delay(&interleaved_tandem(n), "f0", Analysis::Elp).to_f64();
        let digits = expected.len() - 2;
        assert_eq!(format!("{found:.digits$}"), expected, "n = {n}");
    }
    // The exact values.
    for (n, exact) in [(1, "0.4"), (2, "0.6134"), (3, "0.8276978"), (4, "1.0358046526")] {
        assert_eq!(delay(&interleaved_tandem(n), "f0", Analysis::Elp), number(exact), "n = {n}");
    }
    for (n, exact) in [(1, "0.4"), (2, "0.6134"), (3, "0.8276978")] {
        assert_eq!(delay(&interleaved_tandem(n), "f0", Analysis::Plp), number(exact), "n = {n}");
    }
}

#[test]
fn one_server_is_its_horizontal_deviation() {
    // Both flows together have a burst of 30, and then two slopes.
    let two = Curve::token_buckets([(20, 15), (26, 5)]).expect("a curve");
    let one = network(&[rl("10", "1")], &[(two, &[0]), (tb("10", "2"), &[0])]);
    for analysis in [Analysis::Plp, Analysis::Elp] {
        for flow in ["f0", "f1"] {
            // Slopes 17 up to 6/10 and 7 afterwards: 1 + (30 + 17 * 0.6) / 10 - 0.6.
            assert_eq!(delay(&one, flow, analysis), number("4.42"), "{analysis} {flow}");
            assert_eq!(delay(&one, flow, Analysis::Tfa), number("4.42"), "{flow}");
        }
    }
}

#[test]
fn alone_on_a_path_bursts_are_paid_once() {
    let path =
        network(&[rl("10", "1"), rl("6", "2"), rl("8", "1/2")], &[(tb("12", "3"), &[0, 1, 2])]);
    for analysis in [Analysis::Plp, Analysis::Elp] {
        assert_eq!(delay(&path, "f0", analysis), number("11/2"), "{analysis}");
    }
}

#[test]
fn sizes_and_units_do_not_matter() {
    // Gigabits per second and microseconds, and a server that is full.
    let servers = [rl("10000000000", "0.000001"), rl("1000000000", "0.000002")];
    let flows: [(_, &[usize]); 3] = [
        (tb("12000", "300000000"), &[0, 1]),
        (tb("24000", "400000000"), &[0]),
        (tb("12000", "700000000"), &[1]),
    ];
    let network = network(&servers, &flows);
    let found = delay(&network, "f0", Analysis::Elp);
    let tfa = delay(&network, "f0", Analysis::TfaPlusPlus);
    assert!(found <= tfa, "{found} {tfa}");
    let run = simulate(&network, network.flow_named("f0").expect("a flow"), &fifo());
    assert!(found >= Extended::Finite(run.expect("a run").delay));
}

fn fifo() -> Settings {
    Settings { threads: 1, ..Settings::default().multiplexed(Multiplexing::Fifo) }
}

#[test]
fn long_paths_have_programs() {
    let tandem = interleaved_tandem(9);
    let flow = tandem.flow_named("f0").expect("a flow");
    let analyser = Analyser::new(&tandem, fifo());
    let delay = |analysis| analyser.bound(flow, analysis).expect("a bound").delay;
    let found = delay(Analysis::Plp);
    // All times are used for the last servers only.
    assert!(delay(Analysis::Elp) <= found);
    for analysis in [Analysis::TfaPlusPlus, Analysis::Sfa] {
        assert!(found < delay(analysis), "{found} {analysis}");
    }
    let error = Analyser::new(&local_cross_tandem(101), fifo()).bound(flow, Analysis::Plp);
    assert!(matches!(error, Err(AnalysisError::NoProgram(_))), "too long");
}

#[test]
fn backlogs_have_programs() {
    // One server: the program bounds the backlog itself, not the arrivals within the delay.
    let one = network(&[rl("10", "1")], &[(tb("20", "3"), &[0]), (tb("10", "2"), &[0])]);
    for (flow, exact) in [("f0", "26"), ("f1", "16")] {
        // The burst, plus the rate times the latency and the time to serve the other burst.
        let found = bound(&one, flow, Analysis::Plp, Multiplexing::Fifo);
        assert_eq!(found.backlog, number(exact), "{flow}");
    }
}

#[test]
fn side_branches_are_unfolded() {
    // Two flows share a server before they come onto the path, and so its bursts. Bounded
    // separately, each of them would carry the burst of both.
    let servers = [rl("10", "1"), rl("20", "0"), rl("10", "1")];
    let flows: [(_, &[usize]); 4] = [
        (tb("2", "1"), &[1, 2]),
        (tb("30", "2"), &[0, 1]),
        (tb("30", "2"), &[0, 2]),
        (tb("10", "2"), &[0]),
    ];
    let network = network(&servers, &flows);
    let delays = delay(&network, "f0", Analysis::TfaPlusPlus);
    let found = bound(&network, "f0", Analysis::Plp, Multiplexing::Fifo);
    assert!(found.delay < delays, "{} {delays}", found.delay);
    let lines = found.delay_by.derivation.lines(&network).join("\n");
    assert!(lines.contains("s0: "), "{lines}");
}

#[test]
fn local_cross_traffic_is_exact() {
    let tandem = local_cross_tandem(5);
    let found = delay(&tandem, "f0", Analysis::Elp);
    assert!(found <= delay(&tandem, "f0", Analysis::Sfa));
    assert!(delay(&tandem, "f0", Analysis::Plp) >= found);
}

#[test]
fn rings_are_no_worse_than_by_their_delays() {
    for n in 2..=5 {
        let paths: Vec<Vec<usize>> =
            (0..n).map(|i| (0..n).map(|j| (i + j) % n).collect()).collect();
        let flows: Vec<_> = paths.iter().map(|path| (tb("1", "1/5"), path.as_slice())).collect();
        let ring = network(&vec![rl("10", "1/10"); n], &flows);
        let (delays, program) =
            (delay(&ring, "f0", Analysis::TfaPlusPlus), delay(&ring, "f0", Analysis::Plp));
        assert!(program < delays, "{n}: {program} {delays}");
        // At least the latencies and the flow's own burst.
        assert!(program >= Extended::Finite(Rational::ratio(n as i64 + 1, 10)));
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn programs_are_between_runs_and_delays(network in networks(false)) {
        check(&network)?;
    }

    #[test]
    fn also_where_paths_part_and_meet(network in networks(true)) {
        check(&network)?;
    }
}

fn check(network: &Network) -> Result<(), TestCaseError> {
    let analyser = Analyser::new(network, fifo());
    for (id, flow) in network.flows() {
        let delay = |analysis| analyser.bound(id, analysis).expect("a bound").delay;
        let (all, some) = (delay(Analysis::Elp), delay(Analysis::Plp));
        prop_assert!(some <= delay(Analysis::TfaPlusPlus), "{}", flow.name);
        // More times yield a smaller optimum, except for the digits of a rounded proof.
        let above = some.to_f64() * (1.0 + 1e-7) + 1e-7;
        prop_assert!(all.to_f64() <= above, "{}: {all} {some}", flow.name);
        if let Some(run) = simulate(network, id, analyser.settings()) {
            let run = Extended::Finite(run.delay);
            prop_assert!(all >= run, "{}: {all} < {run}", flow.name);
        }
        // The exact worst case is known for single token buckets in a sink tree.
        let single = |curve: &Curve| {
            let burst = curve.right_limit_at(&Rational::ZERO).into_finite();
            let bucket = burst.zip(curve.ultimate_rate().into_finite());
            let bucket = bucket.and_then(|(burst, rate)| Curve::token_bucket(burst, rate).ok());
            bucket.as_ref() == Some(curve)
        };
        if !network.flows().all(|(_, flow)| single(&flow.arrival)) {
            continue;
        }
        match analyser.bound(id, Analysis::SinkTree) {
            Ok(exact) => prop_assert!(all >= exact.delay, "{}: {all} {}", flow.name, exact.delay),
            Err(AnalysisError::NotSinkTree(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    Ok(())
}
