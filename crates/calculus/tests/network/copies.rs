//! Tests of replicated flows, whose copies take several paths and of which one copy continues where
//! the paths meet.

use calculus::network::{
    Analyser, Analysis, AnalysisError, Flow, Format, ModelError, Network, NetworkBuilder,
    Regulator, Server, Settings, format, observe, simulate,
};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;

use crate::soundness::config;
use crate::support::{number, rl, tb};

fn analyser(network: &Network) -> Analyser<'_> {
    Analyser::new(network, Settings { threads: 1, ..Settings::default() })
}

/// Builds two paths from a over b and over c to d, then e; d eliminates copies or not.
fn diamond(eliminates: bool) -> Network {
    let mut builder = NetworkBuilder::new("diamond");
    let latencies = [("a", "1"), ("b", "1"), ("c", "3"), ("d", "1"), ("e", "1")];
    let ids = latencies.map(|(name, latency)| {
        let eliminates = eliminates && name == "d";
        builder.server(Server { eliminates, ..Server::new(name, rl("20", latency)) })
    });
    let [a, b, c, d, e] = ids;
    for (name, path) in [("upper", vec![a, b, d, e]), ("lower", vec![a, c, d, e])] {
        builder.flow(Flow::new(name, path, tb("20", "5")).replicated("stream"));
    }
    builder.build().expect("a network")
}

#[test]
fn behind_elimination_there_is_one_copy_as_late_as_any() {
    let network = diamond(true);
    let bounds = analyser(&network).bounds(Analysis::TfaPlusPlus).expect("bounds");
    // a: 1 + 20/20. b: 1 + (20 + 5 2)/20, c: 3 + 30/20. d: late by 2 + 4.5, 1 + 52.5/20. e: late by
    // 10.125, 1 + 70.625/20.
    for (bound, exact) in bounds.iter().zip(["12.65625", "14.65625"]) {
        assert_eq!(bound.delay, number(exact));
    }
    let loads: Vec<f64> = network.loads().iter().map(|load| load.ratio()).collect();
    assert_eq!(loads, [0.25; 5]);
    // Without elimination both copies load d and e.
    let network = diamond(false);
    let loads: Vec<f64> = network.loads().iter().map(|load| load.ratio()).collect();
    assert_eq!(loads, [0.25, 0.25, 0.25, 0.5, 0.5]);
    let twice = analyser(&network).bounds(Analysis::TfaPlusPlus).expect("bounds");
    for (once, twice) in bounds.iter().zip(twice) {
        assert!(once.delay < twice.delay);
    }
    let (id, _) = network.flows().next().expect("a flow");
    assert!(simulate(&network, id, &Settings::default()).is_some());
    let sfa = analyser(&network).bound(id, Analysis::Sfa);
    assert!(matches!(sfa, Err(AnalysisError::NeedsDelays(_))), "{sfa:?}");
}

#[test]
fn copies_are_the_same_data() {
    let build = |change: &dyn Fn(usize, Flow, &[calculus::network::ServerId]) -> Flow,
                 regulator| {
        let mut builder = NetworkBuilder::new("copies");
        let ids: Vec<_> = ["a", "b", "c", "d", "e"]
            .into_iter()
            .map(|name| {
                let server = Server { regulator, ..Server::new(name, rl("20", "1")) };
                builder.server(Server { eliminates: name == "d", ..server })
            })
            .collect();
        for (index, way) in [1, 2].into_iter().enumerate() {
            let path = vec![ids[0], ids[way], ids[3]];
            let flow = Flow::new(format!("f{index}"), path, tb("20", "5")).replicated("g");
            builder.flow(change(index, flow, &ids));
        }
        builder.build()
    };
    assert!(build(&|_, flow, _| flow, None).is_ok());
    let regulated = build(&|_, flow, _| flow, Some(Regulator::PerFlow));
    let apart = build(
        &|index, mut flow, ids| {
            flow.path.extend((index == 1).then_some(ids[4]));
            flow
        },
        None,
    );
    let other = |index: usize, flow: Flow| match index {
        1 => Flow { arrival: tb("20", "4"), ..flow },
        _ => flow,
    };
    let different = build(&|index, flow, _| other(index, flow), None);
    let both = build(&|_, flow, _| flow.multicast("m"), None);
    for (built, expected) in [
        (regulated, "regulator"),
        (apart, "diverges from"),
        (different, "same data"),
        (both, "multicast"),
    ] {
        let fault = built.expect_err(expected);
        assert!(matches!(fault, ModelError::Replicated { .. }), "{fault:?}");
        assert!(fault.to_string().contains(expected), "{fault}");
    }
}

/// Builds two or three paths of servers of rate 10 to one that eliminates copies, with a server
/// after it, and cross flows over parts of these.
fn network(ways: &[usize], cross: &[(usize, usize)], rate: i64) -> Network {
    let mut builder = NetworkBuilder::new("ways");
    let mut ids = Vec::new();
    for index in 0..ways.iter().sum::<usize>() + 2 {
        let server = Server::new(format!("s{index}"), rl("10", "1/10"));
        ids.push(builder.server(Server { eliminates: index == 0, ..server }));
    }
    let bucket = Curve::token_bucket(1, Rational::ratio(rate, 10)).expect("a curve");
    let (mut paths, mut next) = (Vec::new(), 2);
    for (index, way) in ways.iter().enumerate() {
        let path = [&ids[next..next + way], &ids[..2]].concat();
        next += way;
        let copy = Flow::new(format!("copy{index}"), path.clone(), bucket.clone());
        builder.flow(copy.replicated("g"));
        paths.push(path);
    }
    for (index, (way, skip)) in cross.iter().enumerate() {
        let path = &paths[way % paths.len()];
        let path = path[skip % path.len()..].to_vec();
        builder.flow(Flow::new(format!("cross{index}"), path, bucket.clone()));
    }
    builder.build().expect("a network")
}

#[test]
fn what_was_lost_on_the_short_way_comes_late_and_all_at_once() {
    // The long path takes 10 more than the short one. Packets that the short path lost arrive over
    // the long one together with those that were sent up to 10 later over the short path.
    let mut builder = NetworkBuilder::new("ways");
    let mut server = |name: &str, service: Curve, eliminates| {
        builder.server(Server { packetizer: true, eliminates, ..Server::new(name, service) })
    };
    let short = server("short", rl("100", "0"), false);
    let long = server("long", rl("100", "10"), false);
    let end = server("end", rl("2", "0"), true);
    for (name, way) in [("by the short way", short), ("by the long way", long)] {
        let flow = Flow::new(name, vec![way, end], tb("2", "1")).replicated("g");
        builder.flow(Flow { maximum_packet: Rational::ONE, ..flow });
    }
    let network = builder.build().expect("a network");
    let servers = analyser(&network).servers(Analysis::TfaPlusPlus).expect("bounds");
    let bound = servers[end.index()].delay.clone();
    // If all copies came by the short way, the burst of 2 would take 1 at the end.
    let mut most = Rational::ZERO;
    for seed in 0..40 {
        let seen = observe(&network, &Settings::default(), seed).expect("a run");
        let at_end = seen.servers.iter().filter(|seen| seen.server == end);
        most = at_end.map(|seen| seen.delay.clone()).chain([most.clone()]).max().expect("a delay");
    }
    assert!(most > Rational::from(4), "{most}");
    assert!(bound >= Extended::Finite(most.clone()), "{bound} {most}");
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn packets_of_which_copies_are_lost_and_eliminated_keep_their_bounds(
        ways in prop::collection::vec(1_usize..4, 2..4),
        cross in prop::collection::vec((0_usize..3, 0_usize..5), 0..4),
        rate in 1_i64..12,
        seed in any::<u64>(),
    ) {
        let network = network(&ways, &cross, rate);
        let bounds = analyser(&network).bounds(Analysis::TfaPlusPlus).expect("bounds");
        let mut arrived = vec![false; bounds.len()];
        for run in 0..4 {
            let seen = observe(&network, &Settings::default(), seed.wrapping_add(run)).expect("a run");
            for run in seen.flows {
                arrived[run.flow.index()] = true;
                let (bound, worst) = (&bounds[run.flow.index()].delay, Extended::Finite(run.delay));
                prop_assert!(*bound >= worst, "{bound} < {worst}");
            }
        }
        // Copies are lost at random, and only first copies continue, so it may be that no packet of
        // some path arrives.
        prop_assert!(arrived[..ways.len()].contains(&true));
        prop_assert!(arrived[ways.len()..].iter().all(|arrived| *arrived));
    }
}

#[test]
fn files_have_words_for_copies() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/networks/replicated.toml"
    ));
    let network = format::read(&text.expect("the example"), Format::Toml).expect("a network");
    assert_eq!(network.servers().filter(|(_, server)| server.eliminates).count(), 1);
    let groups = network.flows().filter_map(|(_, flow)| flow.replicated.as_deref());
    assert_eq!(groups.collect::<Vec<_>>(), ["alarm", "alarm"]);
    for bound in analyser(&network).bounds(Analysis::Best).expect("bounds") {
        assert!(bound.delay.is_finite());
    }
}
