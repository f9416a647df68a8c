//! Tests of total flow analysis by delays (with shaping, cycles and priorities), of sink trees, and
//! of the best of all analyses.

use calculus::network::format::read;
use calculus::network::{
    Analyser, Analysis, AnalysisError, Flow, Format, Multiplexing, Network, NetworkBuilder,
    Priority, Server, Settings, simulate,
};
use calculus::{Curve, Extended, Rational};

use crate::support::{bound, bound_by, network, number, rational, rl, tb};

/// Builds the demonstration network of Saihu, whose report lists the results of several tools.
fn demo(shaping: bool) -> Network {
    let capacity = if shaping { ", \"capacity\": \"100Mbps\"" } else { "" };
    let server = |name: &str| {
        format!(
            "{{\"name\": \"{name}\"{capacity}, \"service_curve\": \
             {{\"latencies\": [\"10us\"], \"rates\": [\"4Mbps\"]}}}}"
        )
    };
    let flow = |name: &str, path: &str| {
        format!(
            "{{\"name\": \"{name}\", \"path\": [{path}], \"arrival_curve\": \
             {{\"bursts\": [\"10B\"], \"rates\": [\"10kbps\"]}}}}"
        )
    };
    let text = format!(
        "{{\"network\": {{\"name\": \"demo\"}}, \"servers\": [{}, {}, {}], \"flows\": [{}, {}, {}]}}",
        server("s0-o0"),
        server("s1-o0"),
        server("s1-o1"),
        flow("f0", "\"s0-o0\", \"s1-o0\""),
        flow("f1", "\"s0-o0\", \"s1-o1\""),
        flow("f2", "\"s1-o0\""),
    );
    read(&text, Format::Json).expect("a network")
}

#[test]
fn the_demonstration_network_of_saihu() {
    // In microseconds, to three digits: panco's TFA, and xTFA's with the shaping of links.
    let published = [
        (false, [("f0", "100.125"), ("f1", "80.125"), ("f2", "50.125")]),
        (true, [("f0", "99.324"), ("f1", "79.322"), ("f2", "49.324")]),
    ];
    for (shaping, flows) in published {
        let network = demo(shaping);
        for (flow, expected) in flows {
            let found = bound(&network, flow, Analysis::TfaPlusPlus, Multiplexing::Fifo).delay;
            let microseconds = found.to_f64() * 1e6;
            assert_eq!(format!("{microseconds:.3}"), expected, "{flow}, shaping {shaping}");
        }
    }
}

/// Builds `n` servers in a ring, and from each a flow over all of them.
fn ring(n: usize, rate: &str) -> Network {
    let paths: Vec<Vec<usize>> = (0..n).map(|i| (0..n).map(|j| (i + j) % n).collect()).collect();
    let flows: Vec<_> = paths.iter().map(|path| (tb("1", rate), path.as_slice())).collect();
    network(&vec![rl("10", "1/10"); n], &flows)
}

#[test]
fn rings_have_a_fixed_point() {
    for n in 2..=6 {
        let ring = ring(n, "1/5");
        let found = bound(&ring, "f0", Analysis::TfaPlusPlus, Multiplexing::Fifo);
        // By symmetry one delay d = T + (n b + r d n (n - 1) / 2) / R.
        let n = Rational::from(n);
        let own = rational("1/10") + &n / &rational("10");
        let fed = rational("1/5") * &n * (&n - &Rational::ONE) / rational("20");
        let exact = &n * &(own / (Rational::ONE - fed));
        let found = found.delay.into_finite().expect("a bound");
        assert!(found >= exact, "{found} is below the fixed point {exact}");
        assert!(found <= &exact * &rational("1.000000001"), "{found} is far above {exact}");
    }
}

#[test]
fn a_ring_that_feeds_itself_too_much_has_no_bound() {
    // The load is 80 %, but bursts grow from round to round, because r n (n - 1) / 2 exceeds R.
    let ring = ring(8, "1");
    let found = bound(&ring, "f0", Analysis::TfaPlusPlus, Multiplexing::Fifo);
    assert_eq!(found.delay, Extended::PositiveInfinity);
}

#[test]
fn cycles_are_named_where_they_are_not_supported() {
    let ring = ring(3, "1/5");
    let flow = ring.flow_named("f1").expect("a flow");
    let error = Analyser::new(&ring, Settings::default()).bound(flow, Analysis::SinkTree);
    let error = error.expect_err("not supported");
    assert!(matches!(error, AnalysisError::Cyclic { .. }), "{error}");
    let cycle = ["s0 -> s1 -> s2 -> s0", "s1 -> s2 -> s0 -> s1", "s2 -> s0 -> s1 -> s2"];
    assert!(cycle.iter().any(|c| error.to_string().contains(c)), "{error}");
    let best = bound(&ring, "f1", Analysis::Best, Multiplexing::Fifo);
    let delays = bound(&ring, "f1", Analysis::TfaPlusPlus, Multiplexing::Fifo);
    let program = bound(&ring, "f1", Analysis::Plp, Multiplexing::Fifo);
    assert!(program.delay < delays.delay);
    assert_eq!(best.delay, program.delay.min(delays.delay));
}

/// Builds a server with packetized flows of priority 0, 1 and 2.
fn priorities() -> Network {
    let mut builder = NetworkBuilder::new("priorities");
    let server = Server::new("s", rl("10", "1")).multiplexed(Multiplexing::StaticPriority);
    let s = builder.server(server);
    for (name, priority, packet) in [("a", 0, "1"), ("b", 1, "2"), ("c", 1, "2"), ("d", 2, "3")] {
        let mut flow = Flow::new(name, vec![s], tb("4", "1")).prioritised(Priority(priority));
        flow.maximum_packet = rational(packet);
        builder.flow(flow);
    }
    builder.build().expect("a network")
}

#[test]
fn urgent_flows_wait_for_one_packet_and_others_for_urgent_flows() {
    let network = priorities();
    let delay =
        |flow: &str, analysis| bound_by(&network, flow, analysis, Settings::default()).delay;
    for analysis in [Analysis::Tfa, Analysis::TfaPlusPlus, Analysis::Sfa] {
        // T + (packet of d + burst) / R.
        assert_eq!(delay("a", analysis), number("17/10"), "{analysis}");
        // Without priorities, flow d is served like a: the residual rate is 10 - 3, after all
        // bursts.
        assert_eq!(delay("d", analysis), number("26/7"), "{analysis}");
    }
    // The residual rate is 9, and the latency (10 + 3 + 4) / 9 after a and a packet of d; then both
    // bursts are served.
    for analysis in [Analysis::Tfa, Analysis::TfaPlusPlus] {
        assert_eq!(delay("b", analysis), number("25/9"), "{analysis}");
        assert_eq!(delay("b", analysis), delay("c", analysis), "{analysis}");
    }
    assert!(delay("b", Analysis::Sfa) > delay("b", Analysis::Tfa));
    // Arbitrary multiplexing is worse for the urgent flow.
    assert!(delay("a", Analysis::Pmoo) >= delay("a", Analysis::Sfa));
    assert_eq!(delay("a", Analysis::Best), number("17/10"));
}

#[test]
fn a_tree_to_one_sink_is_exact() {
    // One server: the latency and all bursts.
    let one = network(&[rl("10", "1")], &[(tb("5", "1"), &[0]), (tb("3", "2"), &[0])]);
    assert_eq!(bound(&one, "f0", Analysis::SinkTree, Multiplexing::Fifo).delay, number("9/5"));
    // Two servers. A burst that arrives first is forwarded at rate 10, and by the second server at
    // 6 * 10 / (10 + 2) = 5.
    let two =
        network(&[rl("10", "1"), rl("6", "1")], &[(tb("5", "1"), &[0, 1]), (tb("3", "2"), &[1])]);
    let found = bound(&two, "f0", Analysis::SinkTree, Multiplexing::Fifo).delay;
    assert_eq!(found, number("7/2"));
    for analysis in [Analysis::Tfa, Analysis::TfaPlusPlus, Analysis::Sfa] {
        let other = bound(&two, "f0", analysis, Multiplexing::Fifo).delay;
        assert!(other >= found, "{analysis}");
    }
    assert_eq!(bound(&two, "f0", Analysis::Best, Multiplexing::Fifo).delay, found);
    // Not a tree: the second flow ends early.
    let parting =
        network(&[rl("10", "1"), rl("6", "1")], &[(tb("5", "1"), &[0, 1]), (tb("3", "2"), &[0])]);
    let flow = parting.flow_named("f0").expect("a flow");
    let error = Analyser::new(&parting, Settings::default()).bound(flow, Analysis::SinkTree);
    let error = error.expect_err("no tree").to_string();
    assert!(error.contains("flow 'f1' does not go to 's1'"), "{error}");
}

#[test]
fn the_best_is_never_above_another() {
    let servers = [rl("10", "10"), rl("6", "6")];
    let two = network(&servers, &vec![(tb("25/2", "5/2"), [0_usize, 1].as_slice()); 2]);
    let arbitrary = bound(&two, "f0", Analysis::Best, Multiplexing::Arbitrary);
    assert_eq!(arbitrary.delay, number("242/7"));
    assert_eq!(arbitrary.backlog, number("90"));
    assert_eq!(arbitrary.delay_by.analysis, Analysis::Pmoo);
    let fifo = bound(&two, "f0", Analysis::Best, Multiplexing::Fifo);
    // Both flows share their path: a sink tree, with one burst of 25 at rate 6.
    assert_eq!(fifo.delay, number("121/6"));
    assert!(fifo.delay_by.proven && fifo.backlog_by.proven);
}

#[test]
fn overload_is_named_and_bounds_are_infinite() {
    let over = network(&[rl("10", "10"), rl("4", "1")], &[(tb("25", "5"), &[0, 1])]);
    let loads = over.loads();
    let named: Vec<(&str, f64)> = loads
        .iter()
        .filter(|load| load.is_over())
        .map(|load| (over.server(load.server).name.as_str(), load.ratio()))
        .collect();
    assert_eq!(named, [("s1", 1.25)]);
    for analysis in Analysis::ALL {
        for multiplexing in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
            let settings = Settings::default().multiplexed(multiplexing);
            let flow = over.flow_named("f0").expect("a flow");
            match Analyser::new(&over, settings).bound(flow, analysis) {
                Ok(found) => {
                    assert_eq!(found.delay, Extended::PositiveInfinity, "{analysis}");
                }
                Err(AnalysisError::NotSinkTree(_) | AnalysisError::NoProgram(_)) => {}
                Err(error) => panic!("{analysis}: {error}"),
            }
        }
    }
}

#[test]
fn a_server_that_is_not_strict_has_fifo_bounds_only() {
    let mut builder = NetworkBuilder::new("lazy");
    let s = builder.server(Server { strict: false, ..Server::new("s", rl("10", "1")) });
    for name in ["a", "b"] {
        builder.flow(Flow::new(name, vec![s], tb("4", "1")));
    }
    let lazy = builder.build().expect("a network");
    let fifo = bound(&lazy, "a", Analysis::Best, Multiplexing::Fifo);
    assert_eq!(fifo.delay, number("9/5"));
    let flow = lazy.flow_named("a").expect("a flow");
    let settings = Settings::default().multiplexed(Multiplexing::Arbitrary);
    let error = Analyser::new(&lazy, settings).bound(flow, Analysis::Sfa);
    assert_eq!(error.expect_err("not strict"), AnalysisError::NotStrict("s".to_owned()));
}

#[test]
fn packetizers_hold_back_a_packet_except_at_the_end() {
    let mut builder = NetworkBuilder::new("packets");
    let packet = |name: &str| Server { packetizer: true, ..Server::new(name, rl("10", "1")) };
    let path = vec![builder.server(packet("a")), builder.server(packet("b"))];
    let mut flow = Flow::new("f", path, tb("4", "1"));
    flow.maximum_packet = rational("2");
    builder.flow(flow);
    let network = builder.build().expect("a network");
    let found = bound_by(&network, "f", Analysis::Sfa, Settings::default());
    // Two latencies, one packet at the first server, one burst.
    assert_eq!(found.delay, number("13/5"));
    // The burst 4 + 2.2 * 1 after both servers, plus the packet of the last one.
    let behind = Curve::token_bucket(rational("41/5"), Rational::ONE).expect("a curve");
    assert_eq!(found.output, behind);
}

#[test]
fn maximum_service_limits_what_leaves() {
    let with = |maximum: Option<Curve>| {
        let mut builder = NetworkBuilder::new("maximum service");
        let first = Server { maximum_service: maximum, ..Server::new("a", rl("10", "1")) };
        let path = vec![builder.server(first), builder.server(Server::new("b", rl("5", "1")))];
        builder.flow(Flow::new("f", path, tb("20", "2")));
        let network = builder.build().expect("a network");
        bound_by(&network, "f", Analysis::Tfa, Settings::default()).delay
    };
    // 1 + 20/10 and 1 + 22/5.
    assert_eq!(with(None), number("42/5"));
    // After the maximum service of rate 12, the second server sees min(14 + 10 t, 22 + 2 t): the 24
    // at time 1 are served by 1 + 24/5.
    assert_eq!(with(Some(rl("12", "0"))), number("39/5"));
}

#[test]
fn curves_of_any_shape_have_bounds_above_their_runs() {
    let mut builder = NetworkBuilder::new("shapes");
    let tdma = Curve::tdma(12, 2, 5).expect("a curve");
    let two_rates = Curve::rate_latencies([(3, 1), (9, 4)]).expect("a curve");
    let path = vec![
        builder.server(Server::new("slots", tdma)),
        builder.server(Server::new("ramp", two_rates)),
    ];
    let packets = Curve::staircase(3, 4).expect("a curve");
    let peaked = Curve::leaky_bucket(1, 6, 5, 1).expect("a curve");
    builder.flow(Flow::new("packets", path.clone(), packets.clone()));
    builder.flow(Flow::new("peaked", path.clone(), peaked));
    builder.flow(Flow::new("short", vec![path[1]], packets));
    let network = builder.build().expect("a network");
    let mut compared = 0;
    for order in [Multiplexing::Fifo, Multiplexing::Arbitrary, Multiplexing::StaticPriority] {
        let settings = Settings::default().multiplexed(order);
        let analyser = Analyser::new(&network, settings.clone());
        for (id, flow) in network.flows() {
            let run = calculus::network::simulate(&network, id, &settings).expect("a run");
            for analysis in Analysis::ALL {
                let Ok(found) = analyser.bound(id, analysis) else { continue };
                let what = format!("{} {analysis} {order}", flow.name);
                assert!(found.delay.is_finite(), "{what}");
                assert!(found.delay >= Extended::from(&run.delay), "{what}: {}", run.delay);
                compared += 1;
            }
        }
    }
    assert!(compared >= 50, "only {compared} bounds were compared");
}

#[test]
fn a_sink_tree_takes_the_bucket_that_counts() {
    // f1 has min(TB(1, 4), TB(9, 1)), of which the first bucket matters. The burst 2 of f0 arrives
    // at s1 at rate 10, until 1/5; by then 2 + 1 + 4/5 have arrived, which RL(5, 1) has served by 1
    // + 19/25.
    let peaked = Curve::token_buckets([(1, 4), (9, 1)]).expect("a curve");
    let flows = [(tb("2", "1"), [0, 1].as_slice()), (peaked, [1].as_slice())];
    let network = network(&[rl("10", "0"), rl("5", "1")], &flows);
    let found = bound(&network, "f0", Analysis::SinkTree, Multiplexing::Fifo);
    assert_eq!(found.delay, number("44/25"));
    let settings = Settings::default().multiplexed(Multiplexing::Fifo);
    let run = simulate(&network, found.flow, &settings).expect("a run");
    assert_eq!(Extended::from(run.delay), found.delay, "it happens");
}

#[test]
fn a_sink_tree_holds_packets_back() {
    // The packet of size 1 passes s0 by 1/2 and s1 by 3/2, as only its last bit counts.
    let mut builder = NetworkBuilder::new("packets");
    let packet = |name: &str, service| Server { packetizer: true, ..Server::new(name, service) };
    let path =
        vec![builder.server(packet("a", rl("2", "0"))), builder.server(packet("b", rl("1", "0")))];
    let mut flow = Flow::new("f", path, tb("1", "0"));
    flow.maximum_packet = rational("1");
    let id = builder.flow(flow);
    let network = builder.build().expect("a network");
    let found = bound(&network, "f", Analysis::SinkTree, Multiplexing::Fifo);
    assert_eq!(found.delay, number("3/2"));
    let settings = Settings::default().multiplexed(Multiplexing::Fifo);
    let run = simulate(&network, id, &settings).expect("a run");
    assert_eq!(Extended::from(run.delay), found.delay, "it happens");
}

#[test]
fn ludb_finds_the_best_theta() {
    // The burst 2 of f0 arrives at s1 at rate 10, until 1/5; by then 2 + 1 + 4/5 have arrived,
    // which RL(5, 1) has served by 1 + 19/25. The search ends with steps of 2^-13.
    let flows = [(tb("2", "1"), [0, 1].as_slice()), (tb("1", "4"), [1].as_slice())];
    let network = network(&[rl("10", "0"), rl("5", "1")], &flows);
    let exact = bound(&network, "f0", Analysis::SinkTree, Multiplexing::Fifo).delay;
    assert_eq!(exact, number("44/25"));
    let found = bound(&network, "f0", Analysis::Ludb, Multiplexing::Fifo).delay;
    let close = number("1.7602");
    assert!(found >= exact && found <= close, "{found}");
}

#[test]
fn ludb_takes_nested_flows_inside_out_and_cuts_what_overlaps() {
    let servers = [rl("10", "1"), rl("10", "1"), rl("10", "1")];
    let flows = [
        (tb("2", "1"), [0, 1, 2].as_slice()),
        (tb("3", "2"), [0, 1].as_slice()),
        (tb("4", "1"), [1].as_slice()),
    ];
    let nested = network(&servers, &flows);
    let found = bound(&nested, "f0", Analysis::Ludb, Multiplexing::Fifo);
    let lines = found.delay_by.derivation.lines(&nested);
    assert!(lines[0].starts_with("s1 to s1: f2 with"), "{lines:?}");
    assert!(lines[1].starts_with("s0 to s1: f1 with"), "{lines:?}");
    // From the inside outwards, with the first thetas: RL(9, 1 + 4/10), with s0 RL(9, 12/5), less
    // f1 RL(7, 12/5 + 3/9), with s2 another 1, and 2/7 for the burst. The best thetas are better.
    let first = ["7/5", "1", "1/3", "1", "2/7"].iter().map(|part| rational(part)).sum::<Rational>();
    assert!(found.delay < Extended::from(first), "{}", found.delay);
    let overlapping = [
        (tb("2", "1"), [0, 1, 2].as_slice()),
        (tb("3", "2"), [0, 1].as_slice()),
        (tb("4", "1"), [1, 2].as_slice()),
    ];
    let overlapping = network(&servers, &overlapping);
    let found = bound(&overlapping, "f0", Analysis::Ludb, Multiplexing::Fifo);
    assert_eq!(found.delay_by.derivation.lines(&overlapping).len(), 4, "one is cut in two");
    for better in [Analysis::Elp, Analysis::Plp] {
        assert!(bound(&overlapping, "f0", better, Multiplexing::Fifo).delay <= found.delay);
    }
}

/// Builds links of 100 Mbit/s with an urgent flow over all of them, and two less urgent flows at
/// the last one, whose packets may be in transmission. There are `behind` links before the last.
fn blocked(behind: usize) -> Network {
    let mut builder = NetworkBuilder::new("blocked");
    let link = |name: &str| {
        Server::new(name, rl("100000000", "0")).multiplexed(Multiplexing::StaticPriority)
    };
    let path: Vec<_> = (0..=behind).map(|i| builder.server(link(&format!("s{i}")))).collect();
    let last = path[behind];
    let flow = |name: &str, path, burst: &str, priority, packet: &str| {
        let mut flow = Flow::new(name, path, tb(burst, "1000000")).prioritised(Priority(priority));
        flow.maximum_packet = rational(packet);
        flow
    };
    builder.flow(flow("urgent", path, "800", 0, "800"));
    builder.flow(flow("video", vec![last], "16000", 1, "8000"));
    builder.flow(flow("bulk", vec![last], "24288", 2, "12144"));
    builder.build().expect("a network")
}

#[test]
fn a_less_urgent_packet_that_is_on_its_way_blocks_in_runs() {
    // By hand: the largest less urgent packet, and the flow's own burst, at the rate of the link.
    // The flow of middle priority also waits for the urgent burst.
    let network = blocked(0);
    let settings = Settings::default();
    for (name, bits) in [("urgent", 12_144 + 800), ("bulk", 800 + 16_000 + 24_288)] {
        let id = network.flow_named(name).expect("a flow");
        let run = simulate(&network, id, &settings).expect("a run");
        let bound = bound_by(&network, name, Analysis::Tfa, settings.clone());
        assert!(bound.delay >= Extended::Finite(run.delay.clone()), "{name}");
        if name == "urgent" {
            assert_eq!(run.delay, Rational::ratio(bits, 100_000_000));
            assert_eq!(bound.delay, Extended::Finite(run.delay));
        }
    }
    // The same holds after other servers, where the packet must arrive just before the urgent data.
    let network = blocked(2);
    let id = network.flow_named("urgent").expect("a flow");
    let run = simulate(&network, id, &settings).expect("a run");
    let alone = Rational::ratio(800, 100_000_000);
    assert!(run.delay >= Rational::ratio(12_144, 100_000_000), "{} {alone}", run.delay);
    let bound = bound_by(&network, "urgent", Analysis::Best, settings.clone());
    assert!(bound.delay >= Extended::Finite(run.delay));
    // Under other orders of service no packet blocks.
    let settings = settings.multiplexed(Multiplexing::Arbitrary);
    assert!(simulate(&network, id, &settings).is_some());
}
