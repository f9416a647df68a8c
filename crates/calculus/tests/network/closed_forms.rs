//! Tests of families of networks for which a closed form of the bound is known for each size.

use calculus::network::{Analysis, Multiplexing, Network};
use calculus::{Extended, Rational};

use crate::support::{bound, network, number, rational, rl, tb};

/// Builds `n` servers with a flow over all of them, one over the first, one over each pair of
/// neighbours, and one over the last.
pub(crate) fn interleaved_tandem(n: usize) -> Network {
    let servers = vec![rl("10", "1/10"); n];
    let mut paths: Vec<Vec<usize>> = vec![(0..n).collect(), vec![0]];
    paths.extend((1..n).map(|i| vec![i - 1, i]));
    paths.push(vec![n - 1]);
    let flows: Vec<_> = paths.iter().map(|path| (tb("1", "0.67"), path.as_slice())).collect();
    network(&servers, &flows)
}

/// Builds `n` servers with a flow over all of them and one over each.
pub(crate) fn local_cross_tandem(n: usize) -> Network {
    let servers = vec![rl("10", "1/10"); n];
    let mut paths: Vec<Vec<usize>> = vec![(0..n).collect()];
    paths.extend((0..n).map(|i| vec![i]));
    let flows: Vec<_> = paths.iter().map(|path| (tb("1", "0.67"), path.as_slice())).collect();
    network(&servers, &flows)
}

fn near(found: &Extended, expected: f64) {
    assert!((found.to_f64() - expected).abs() < 5e-10 * expected, "{found} is not {expected}");
}

#[test]
fn interleaved_tandem_by_pmoo() {
    for n in 1..=50 {
        let tandem = interleaved_tandem(n);
        let found = bound(&tandem, "f0", Analysis::Pmoo, Multiplexing::Arbitrary);
        let expected = Rational::from(100 * (n + 1)) / Rational::from(433);
        assert_eq!(found.delay, Extended::Finite(expected), "n = {n}");
    }
}

#[test]
fn interleaved_tandem_by_tfa() {
    for (n, expected) in [(1, "0.4"), (2, "0.8268"), (3, "1.2763934")] {
        let tandem = interleaved_tandem(n);
        let found = bound(&tandem, "f0", Analysis::Tfa, Multiplexing::Fifo);
        assert_eq!(found.delay, number(expected), "n = {n}");
    }
}

#[test]
fn local_cross_tandem_of_five() {
    let tandem = local_cross_tandem(5);
    let delay = |analysis, multiplexing| bound(&tandem, "f0", analysis, multiplexing).delay;
    near(&delay(Analysis::Sfa, Multiplexing::Arbitrary), 1.178_992_497);
    near(&delay(Analysis::Pmoo, Multiplexing::Arbitrary), 1.178_992_497);
    near(&delay(Analysis::Sfa, Multiplexing::Fifo), 1.107_181_136);
    assert_eq!(delay(Analysis::Tfa, Multiplexing::Fifo), Extended::Finite(rational("1.634")));
}

#[test]
fn several_token_buckets_bound_a_flow_together() {
    // Inverting the service curve only at the burst would yield 10.1.
    let arrival = calculus::Curve::token_buckets([(1, 100), (25, 5)]).expect("a curve");
    let one = network(&[rl("10", "10")], &[(arrival, &[0])]);
    for analysis in [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching] {
        let found = bound(&one, "f0", analysis, Multiplexing::Fifo);
        // 10 + (25 + 5 t) / 10 - t at t = 24/95.
        assert_eq!(found.delay, number("2351/190"), "{analysis}");
        assert_eq!(found.backlog, number("75"), "{analysis}");
    }
}

#[test]
fn long_tandems_need_no_long_stack() {
    // Flows over pairs of neighbours: the cross traffic of the last one depends on that of the
    // first.
    let n = 3_000;
    let mut paths: Vec<Vec<usize>> = (1..n).map(|i| vec![i - 1, i]).collect();
    paths.push(vec![n - 1]);
    let flows: Vec<_> = paths.iter().map(|path| (tb("1", "0"), path.as_slice())).collect();
    let tandem = network(&vec![rl("1", "0"); n], &flows);
    let last = format!("f{}", n - 1);
    for multiplexing in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
        // A burst before it and its own burst, at rate 1: no burst grows.
        assert_eq!(bound(&tandem, &last, Analysis::Tfa, multiplexing).delay, number("2"));
    }
}

#[test]
fn each_priority_at_a_server_has_bounds_of_its_own() {
    use calculus::network::{Analyser, ClassBound, Priority, Settings};

    let two = network(&[rl("10", "2")], &[(tb("4", "1"), &[0]), (tb("6", "2"), &[0])]);
    let mut builder = calculus::network::NetworkBuilder::new("two priorities");
    let server = builder.server(two.servers().next().expect("a server").1.clone());
    for (priority, (_, flow)) in two.flows().enumerate() {
        let priority = Priority(u32::try_from(priority).expect("small"));
        builder.flow(calculus::network::Flow { priority, path: vec![server], ..flow.clone() });
    }
    let network = builder.build().expect("a network");
    let class = |priority, delay, backlog| ClassBound {
        priority: Priority(priority),
        delay: number(delay),
        backlog: number(backlog),
    };
    // The most urgent class has the whole server: 2 + 4/10 and 4 + 1 * 2. Its residual service has
    // rate 9 and latency 8/3: 8/3 + 6/9 and 6 + 2 * 8/3.
    let expected = [class(0, "12/5", "6"), class(1, "10/3", "34/3")];
    for analysis in [Analysis::Tfa, Analysis::TfaPlusPlus, Analysis::Best] {
        let settings = Settings::default().multiplexed(Multiplexing::StaticPriority);
        let bounds = Analyser::new(&network, settings).servers(analysis).expect("bounds");
        assert_eq!(bounds[0].classes, expected, "{analysis}");
        assert_eq!((&bounds[0].delay, &bounds[0].backlog), (&number("10/3"), &number("16")));
    }
    let fifo =
        Analyser::new(&network, Settings::default()).servers(Analysis::Best).expect("bounds");
    assert!(fifo[0].classes.is_empty(), "a queue for all has no classes");
}
