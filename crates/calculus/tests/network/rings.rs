//! Tests of rings, for which linear programs have bounds where total flow analysis has none, and of
//! simulated packets on cyclic paths.

use calculus::network::{Analyser, Analysis, Multiplexing, Network, Settings, observe};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;

use crate::soundness::config;
use crate::support::{bound, network, rl};

/// Builds a ring of servers of rate 10 and latency 1/10. From each server starts a flow of burst 1
/// over `length` servers; together the flows load each server to `percent` percent.
pub(crate) fn ring(servers: usize, length: usize, percent: i64) -> Network {
    let paths: Vec<Vec<usize>> =
        (0..servers).map(|i| (0..length).map(|j| (i + j) % servers).collect()).collect();
    let rate = Rational::ratio(percent, 10 * length as i64);
    let bucket = Curve::token_bucket(1, rate).expect("a curve");
    let flows: Vec<_> = paths.iter().map(|path| (bucket.clone(), path.as_slice())).collect();
    network(&vec![rl("10", "1/10"); servers], &flows)
}

fn delay(network: &Network, analysis: Analysis) -> Extended {
    bound(network, "f0", analysis, Multiplexing::Fifo).delay
}

#[test]
fn programs_have_bounds_where_delays_have_none() {
    // By total flow analysis, delays grow from round to round at a load of 2 / (length - 1) or
    // more.
    for (servers, length, percent) in [(4, 4, 70), (5, 5, 60), (4, 4, 99)] {
        let ring = ring(servers, length, percent);
        assert_eq!(delay(&ring, Analysis::TfaPlusPlus), Extended::PositiveInfinity);
        let found = delay(&ring, Analysis::Plp);
        assert!(found.is_finite(), "{servers} {length} {percent}");
    }
}

#[test]
fn programs_are_below_delays() {
    for (servers, length, percent) in [(3, 2, 50), (4, 3, 50), (5, 4, 50), (6, 3, 90)] {
        let ring = ring(servers, length, percent);
        let (program, delays) = (delay(&ring, Analysis::Plp), delay(&ring, Analysis::TfaPlusPlus));
        assert!(program < delays, "{servers} {length}: {program} {delays}");
    }
}

#[test]
fn all_flows_of_a_uniform_ring_have_one_bound() {
    let ring = ring(4, 3, 80);
    let settings = Settings::default().multiplexed(Multiplexing::Fifo);
    let bounds = Analyser::new(&ring, settings).bounds(Analysis::Plp).expect("bounds");
    let first = bounds[0].delay.to_f64();
    for bound in &bounds {
        assert!((bound.delay.to_f64() / first - 1.0).abs() < 1e-6, "{} {first}", bound.delay);
    }
}

proptest! {
    #![proptest_config(config(10))]

    #[test]
    fn no_bound_is_below_packets_that_go_round(
        (servers, length) in (3_usize..5).prop_flat_map(|n| (Just(n), 2..=n)),
        percent in 50_i64..100,
        seed in any::<u64>(),
    ) {
        let ring = ring(servers, length, percent);
        let settings = Settings { threads: 1, ..Settings::default().multiplexed(Multiplexing::Fifo) };
        let analyser = Analyser::new(&ring, settings.clone());
        let both = [Analysis::TfaPlusPlus, Analysis::Plp].map(|a| analyser.bounds(a).expect("bounds"));
        for run in 0..4 {
            let seen = observe(&ring, &settings, seed.wrapping_add(run)).expect("a run");
            prop_assert_eq!(seen.flows.len(), servers);
            for (run, bounds) in seen.flows.iter().flat_map(|run| both.iter().map(move |b| (run, b))) {
                let (bound, worst) = (&bounds[run.flow.index()].delay, Extended::Finite(run.delay.clone()));
                prop_assert!(*bound >= worst, "{bound} < {worst}");
            }
        }
    }
}

#[test]
fn total_flow_analysis_by_delays_holds_up_to_its_threshold() {
    // d = T + (n b + r d n (n - 1) / 2) / R at each of n servers: finite below r = 2 R / (n (n -
    // 1)).
    let n = 4;
    for distance in [10, 1_000, 1_000_000] {
        let share = Rational::ONE - Rational::ratio(1, distance);
        let rate = &share * &Rational::ratio(20, n * (n - 1));
        let bucket = Curve::token_bucket(1, rate).expect("a curve");
        let paths = [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]];
        let flows: Vec<_> = paths.iter().map(|path| (bucket.clone(), &path[..])).collect();
        let found = delay(&network(&vec![rl("10", "1"); 4], &flows), Analysis::TfaPlusPlus);
        // The path has four servers.
        let exact = Rational::from(4) * Rational::ratio(14, 10) * Rational::from(distance);
        let found = found.into_finite().expect("below the threshold");
        let above = &found / &exact;
        assert!(above >= Rational::ONE, "{above}");
        assert!(above < Rational::ONE + Rational::ratio(1, 1_000_000), "{}", above.to_f64());
    }
}
