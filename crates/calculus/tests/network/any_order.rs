//! Tests of strict servers under arbitrary multiplexing: the exact worst case of tandems, and flow
//! prolongation.

use calculus::network::{
    Analyser, Analysis, AnalysisError, Multiplexing, Network, Server, Settings, simulate,
};
use calculus::{Curve, Extended};

use crate::closed_forms::{interleaved_tandem, local_cross_tandem};
use crate::support::{bound, bound_by, network, number, rl, tb};

fn any() -> Settings {
    Settings { threads: 1, ..Settings::default().multiplexed(Multiplexing::Arbitrary) }
}

fn delay(network: &Network, analysis: Analysis) -> Extended {
    bound_by(network, "f0", analysis, any()).delay
}

#[test]
fn one_server_serves_all_others_first() {
    // (R T + all bursts) / (R - rates of the other flows).
    let one = network(
        &[rl("10", "1")],
        &[(tb("4", "2"), &[0]), (tb("3", "1"), &[0]), (tb("5", "2"), &[0])],
    );
    assert_eq!(delay(&one, Analysis::Ulp), number("22/7"));
    let found = bound_by(&one, "f0", Analysis::Ulp, any());
    // 4 and 2 per second arrive until the others are served: (10 + 8) / (10 - 3).
    assert_eq!(found.backlog, number("64/7"));
    let lines = found.delay_by.derivation.lines(&one);
    assert!(lines.iter().any(|line| line.contains("its optimum, exactly")), "{lines:?}");
}

#[test]
fn a_fast_server_before_a_slow_one_delays_by_its_own_rate() {
    // PMOO serves the burst of the cross traffic at the rate of the slow server. In fact it is
    // served by 10 / (10 - 1), and the burst of the flow then takes 1 / 2.
    let two =
        network(&[rl("10", "0"), rl("2", "0")], &[(tb("1", "1"), &[0, 1]), (tb("10", "1"), &[0])]);
    assert_eq!(delay(&two, Analysis::Pmoo), number("11/2"));
    assert_eq!(delay(&two, Analysis::Sfa), number("29/18"));
    assert_eq!(delay(&two, Analysis::Ulp), number("29/18"));
    let run = simulate(&two, two.flow_named("f0").expect("a flow"), &any()).expect("a run");
    assert_eq!(Extended::Finite(run.delay), number("29/18"), "the worst case is reached");
}

#[test]
fn tandems_are_never_above_other_analyses() {
    for n in 1..=5 {
        for tandem in [interleaved_tandem(n), local_cross_tandem(n)] {
            let found = delay(&tandem, Analysis::Ulp);
            for analysis in [Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching] {
                let other = delay(&tandem, analysis);
                assert!(found <= other, "{analysis} {n}: {found} {other}");
            }
            let flow = tandem.flow_named("f0").expect("a flow");
            let run = simulate(&tandem, flow, &any()).expect("a run");
            assert!(Extended::Finite(run.delay) <= found, "{n}");
        }
    }
    // One server: (10 / 10 + 3) / (10 - 2 * 0.67).
    assert_eq!(delay(&interleaved_tandem(1), Analysis::Ulp), number("200/433"));
}

#[test]
fn what_comes_from_beside_the_path_is_unfolded() {
    // The other flow comes over a server of its own, whose backlogged period adds a time.
    let side = network(
        &[rl("10", "1"), rl("10", "1")],
        &[(tb("2", "1"), &[1]), (tb("5", "2"), &[0, 1]), (tb("5", "2"), &[0])],
    );
    let (found, pmoo) = (delay(&side, Analysis::Ulp), delay(&side, Analysis::Pmoo));
    assert!(found <= pmoo, "{found} {pmoo}");
    let run = simulate(&side, side.flow_named("f0").expect("a flow"), &any()).expect("a run");
    assert!(Extended::Finite(run.delay) <= found);
}

#[test]
fn nothing_is_never_late() {
    let one = network(&[rl("10", "1")], &[(tb("0", "0"), &[0]), (tb("3", "1"), &[0])]);
    assert_eq!(delay(&one, Analysis::Ulp), Extended::ZERO);
}

#[test]
fn full_servers_have_bounds_for_what_is_served_last() {
    // DNC's case of full load: 30 for each flow.
    let full = network(&[rl("10", "10")], &[(tb("25", "5"), &[0]), (tb("25", "5"), &[0])]);
    assert_eq!(delay(&full, Analysis::Ulp), number("30"));
    let over = network(&[rl("10", "10")], &[(tb("25", "5"), &[0]), (tb("25", "11"), &[0])]);
    assert_eq!(delay(&over, Analysis::Ulp), Extended::PositiveInfinity);
}

#[test]
fn what_it_does_not_know_is_refused() {
    let mut builder = calculus::network::NetworkBuilder::new("loose");
    let loose = builder.server(Server { strict: false, ..Server::new("loose", rl("10", "1")) });
    builder.flow(calculus::network::Flow::new("f0", vec![loose], tb("1", "1")));
    let loose = builder.build().expect("a network");
    let flow = loose.flow_named("f0").expect("a flow");
    let fault = Analyser::new(&loose, any()).bound(flow, Analysis::Ulp).expect_err("not strict");
    assert!(matches!(fault, AnalysisError::NotStrict(_)), "{fault}");
}

/// Builds two flows that come over one server; one of them leaves the path of the first flow
/// earlier.
fn parting() -> Network {
    network(
        &[rl("10", "1"), rl("10", "0"), rl("10", "0")],
        &[(tb("1", "1"), &[1, 2]), (tb("5", "1"), &[0, 1]), (tb("5", "1"), &[0, 1, 2])],
    )
}

#[test]
fn prolonged_flows_are_bounded_together() {
    let parting = parting();
    // Each flow with the other as cross traffic before the path: twice 5 + 15 / 9, served at rate
    // 8.
    assert_eq!(delay(&parting, Analysis::Pmoo), number("43/24"));
    // As one aggregate: 10 + 2 after the first server, at the same rate.
    let prolonged = bound_by(&parting, "f0", Analysis::Pmoo, any().prolonging());
    assert_eq!(prolonged.delay, number("13/8"));
    let lines = prolonged.delay_by.derivation.lines(&parting);
    assert!(lines[0].starts_with("s1 to s2: cross traffic arrives with"), "{lines:?}");
    let matched = bound_by(&parting, "f0", Analysis::TandemMatching, any().prolonging());
    assert!(matched.delay <= prolonged.delay);
    let best = bound(&parting, "f0", Analysis::Best, Multiplexing::Arbitrary);
    assert!(best.delay <= prolonged.delay);
    let run = simulate(&parting, parting.flow_named("f0").expect("a flow"), &any()).expect("a run");
    assert!(Extended::Finite(run.delay) <= best.delay);
}

#[test]
fn what_need_not_be_prolonged_stays_as_it_is() {
    // The second flow leaves before a server that is so slow that prolongation does not pay.
    let slow = network(
        &[rl("10", "1"), rl("10", "0"), rl("5", "3")],
        &[(tb("1", "1"), &[1, 2]), (tb("5", "1"), &[0, 1]), (Curve::zero(), &[0, 1, 2])],
    );
    let plain = bound_by(&slow, "f0", Analysis::Pmoo, any());
    let prolonged = bound_by(&slow, "f0", Analysis::Pmoo, any().prolonging());
    assert_eq!(plain.delay, prolonged.delay);
}
