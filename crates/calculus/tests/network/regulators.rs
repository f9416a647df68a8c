//! Tests of networks with regulators, multicast flows and drifting clocks. Bounds are compared with
//! values that comments derive by hand, and with delays of simulated packets.

use calculus::network::{
    Analyser, Analysis, AnalysisError, Flow, FlowId, Format, ModelError, Multiplexing, Network,
    NetworkBuilder, Regulator, Server, Settings, format, observe, simulate,
};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;

use crate::soundness::config;
use crate::support::{number, rl, tb};

fn analyser(network: &Network) -> Analyser<'_> {
    let settings = Settings::default().multiplexed(Multiplexing::Fifo);
    Analyser::new(network, Settings { threads: 1, ..settings })
}

/// Builds a ring of servers of rate 10 and latency 1/10 with regulators. From each server starts a
/// flow of burst 1 over `length` servers.
fn ring(servers: usize, length: usize, rate: Rational, regulator: Regulator) -> Network {
    let mut builder = NetworkBuilder::new("ring");
    let server = |i| Server::new(format!("s{i}"), rl("10", "1/10")).regulated(regulator);
    let ids: Vec<_> = (0..servers).map(|i| builder.server(server(i))).collect();
    for first in 0..servers {
        let path = (0..length).map(|hop| ids[(first + hop) % servers]).collect();
        let bucket = Curve::token_bucket(1, rate.clone()).expect("a curve");
        builder.flow(Flow::new(format!("f{first}"), path, bucket));
    }
    builder.build().expect("a network")
}

#[test]
fn behind_regulators_bursts_are_those_of_sources() {
    // At a load of 99 %, delays without regulators would grow from round to round. With regulators,
    // the burst at each server is that of four sources, and its delay is 1/10 + 4/10.
    for regulator in [Regulator::PerFlow, Regulator::Interleaved] {
        let ring = ring(4, 4, Rational::ratio(99, 40), regulator);
        for bound in analyser(&ring).bounds(Analysis::TfaPlusPlus).expect("bounds") {
            assert_eq!(bound.delay, number("2"), "{regulator:?}");
        }
        let best = analyser(&ring).bound(ring.flows().next().expect("a flow").0, Analysis::Best);
        assert_eq!(best.expect("a bound").delay, number("2"));
    }
}

#[test]
fn a_regulator_forgets_the_delays_before_it() {
    let build = |regulator: Option<Regulator>| {
        let mut builder = NetworkBuilder::new("tandem");
        let path = vec![
            builder.server(Server { regulator, ..Server::new("a", rl("10", "1")) }),
            builder.server(Server::new("b", rl("10", "2"))),
            builder.server(Server::new("c", rl("10", "0"))),
        ];
        builder.flow(Flow::new("f", path, tb("20", "5")));
        builder.build().expect("a network")
    };
    // The delays at a, b and c without a regulator are 3, 2 + 35/10 and (20 + 5 (3 + 5.5)) / 10.
    // With one after a, they are 3, 2 + 20/10 and (20 + 5 4) / 10.
    for (regulator, exact) in [(None, "14.75"), (Some(Regulator::Interleaved), "11")] {
        let network = build(regulator);
        let (id, _) = network.flows().next().expect("a flow");
        let found = analyser(&network).bound(id, Analysis::TfaPlusPlus).expect("a bound");
        assert_eq!(found.delay, number(exact));
    }
}

/// Builds a network of the servers a, b and c, with a regulator after b and, if `before` is set,
/// one after a. Flow f visits all three servers; flow g joins it at the server with index `joins`.
fn joining(before: Option<Regulator>, regulator: Regulator, joins: usize) -> Network {
    let mut builder = NetworkBuilder::new("joining");
    let path = [
        builder.server(Server { regulator: before, ..Server::new("a", rl("10", "1")) }),
        builder.server(Server::new("b", rl("10", "1")).regulated(regulator)),
        builder.server(Server::new("c", rl("10", "1"))),
    ];
    builder.flow(Flow::new("f", path.to_vec(), tb("10", "5")));
    builder.flow(Flow::new("g", path[joins..].to_vec(), tb("1", "1")));
    builder.build().expect("a network")
}

#[test]
fn what_is_late_already_shares_no_regulator_with_what_is_not() {
    use Regulator::{Interleaved, PerFlow};
    let bounds = |network: &Network| analyser(network).bounds(Analysis::TfaPlusPlus);
    // Flow f was last regulated at its source, so its packets may be late by the delay of server a.
    // In an interleaved regulator behind b, they would block packets of flow g, which are not late.
    let found = bounds(&joining(None, Interleaved, 1));
    let Err(AnalysisError::OvertakesRegulated { regulator, first_entry, second_entry, .. }) = found
    else {
        panic!("{found:?}");
    };
    assert_eq!([regulator, first_entry, second_entry], ["b", "a", "b"]);
    // No packet is overtaken if the regulator is per flow, if both flows are regulated before b, or
    // if both visit a and b.
    for (before, regulator, joins, exact) in [
        // a: 1 + 10/10, b: 1 + (10 + 5 2 + 1)/10, c: 1 + 11/10.
        (None, PerFlow, 1, "7.2"),
        // As before, but b: 1 + 11/10.
        (Some(Interleaved), Interleaved, 1, "6.2"),
        (Some(PerFlow), Interleaved, 1, "6.2"),
        // a: 1 + 11/10, b: 1 + (11 + 6 2.1)/10, c: 1 + 11/10.
        (None, Interleaved, 0, "7.56"),
    ] {
        let network = joining(before, regulator, joins);
        let found = bounds(&network).expect("bounds");
        assert_eq!(found[0].delay, number(exact), "{before:?} {regulator:?} {joins}");
    }
}

#[test]
fn a_port_is_a_hop_without_a_regulator_unless_it_has_one() {
    let text = r#"
        regulator = "interleaved"
        [[port]]
        name = "p"
        rate = 10
        regulator = "none"
        scheduler = "weighted-round-robin"
        minimum-packet = 1
        maximum-packet = 1
        class = [{ priority = 0, weight = 1 }, { priority = 1, weight = 1 }]
        [[server]]
        name = "b"
        service = { rate-latency = { rate = 10, latency = 1 } }
        [[server]]
        name = "c"
        service = { rate-latency = { rate = 10, latency = 1 } }
        [[flow]]
        name = "f"
        path = ["p", "b", "c"]
        arrival = { token-bucket = { burst = 3, rate = 1 } }
        maximum-packet = 1
        [[flow]]
        name = "g"
        path = ["b", "c"]
        arrival = { token-bucket = { burst = 3, rate = 1 } }
        maximum-packet = 1
    "#;
    let read = |text: &str| format::read(text, Format::Toml).expect("a network");
    let found = analyser(&read(text)).bounds(Analysis::TfaPlusPlus);
    assert!(matches!(found, Err(AnalysisError::OvertakesRegulated { .. })), "{found:?}");
    // The default of the whole file applies to ports, too.
    let network = read(&text.replace("regulator = \"none\"", ""));
    let all = network.servers().all(|(_, s)| s.regulator == Some(Regulator::Interleaved));
    assert!(all, "{network:?}");
    // p: (3 + 1)/10 and a packet of the other class, b and c: 1 + 6/10.
    let found = analyser(&network).bounds(Analysis::TfaPlusPlus).expect("bounds");
    assert_eq!(found[0].delay, number("3.9"));
}

#[test]
fn packets_that_their_flow_may_never_send_pass_no_regulator() {
    let build = |burst: &str, regulator: Option<Regulator>| {
        let mut builder = NetworkBuilder::new("packets");
        let path = ["a", "b"]
            .map(|name| builder.server(Server { regulator, ..Server::new(name, rl("10", "1")) }));
        let flow = Flow::new("f", path.to_vec(), tb(burst, "1"));
        builder.flow(Flow { maximum_packet: 4.into(), ..flow });
        builder.build()
    };
    for regulator in [Regulator::PerFlow, Regulator::Interleaved] {
        let found = build("3", Some(regulator));
        assert!(matches!(found, Err(ModelError::Unregulable { .. })), "{found:?}");
        assert!(build("4", Some(regulator)).is_ok());
    }
    assert!(build("3", None).is_ok());
}

#[test]
fn what_does_not_know_regulators_says_so() {
    let ring = ring(3, 2, Rational::ONE, Regulator::Interleaved);
    let (id, _) = ring.flows().next().expect("a flow");
    for analysis in Analysis::ALL {
        let found = analyser(&ring).bound(id, analysis);
        match analysis {
            Analysis::TfaPlusPlus | Analysis::Best | Analysis::Quick => {
                assert!(found.is_ok(), "{analysis}")
            }
            _ => assert!(matches!(found, Err(AnalysisError::NeedsDelays(_))), "{analysis}"),
        }
    }
    assert!(simulate(&ring, id, &Settings::default()).is_some());
    let any = Settings::default().multiplexed(Multiplexing::Arbitrary);
    let found = Analyser::new(&ring, any).bound(id, Analysis::TfaPlusPlus);
    assert!(matches!(found, Err(AnalysisError::NotInOrder { .. })), "{found:?}");
}

proptest! {
    #![proptest_config(config(20))]

    #[test]
    fn regulated_packets_keep_their_bounds(
        (servers, length) in (3_usize..6).prop_flat_map(|n| (Just(n), 2..=n)),
        percent in 50_i64..100,
        seed in any::<u64>(),
    ) {
        let rate = Rational::ratio(percent, 10 * length as i64);
        let ring = ring(servers, length, rate.clone(), Regulator::Interleaved);
        // The flows that share a regulator arrive regulated at the server before it.
        let bounds = analyser(&ring).bounds(Analysis::TfaPlusPlus).expect("bounds");
        for run in 0..4 {
            let seen = observe(&ring, &Settings::default(), seed.wrapping_add(run)).expect("a run");
            prop_assert_eq!(seen.flows.len(), servers);
            for run in seen.flows {
                let (bound, worst) = (&bounds[run.flow.index()].delay, Extended::Finite(run.delay));
                prop_assert!(*bound >= worst, "{bound} < {worst}");
            }
        }
    }
}

#[test]
fn multicast_data_are_there_once_until_they_part() {
    let build = |group: Option<&str>| {
        let mut builder = NetworkBuilder::new("multicast");
        let server = |name: &str| Server::new(name, rl("10", "1"));
        let ids: Vec<_> = ["a", "b", "c"].map(|name| builder.server(server(name))).into();
        for (name, path) in [("f", vec![ids[0], ids[1]]), ("g", vec![ids[0], ids[2]])] {
            let mut flow = Flow::new(name, path, tb("20", "3"));
            flow.multicast = group.map(str::to_owned);
            builder.flow(flow);
        }
        builder.flow(Flow::new("h", vec![ids[0], ids[2]], tb("10", "2")));
        builder.build().expect("a network")
    };
    // The delay d at a is 1 + 30/10 if the data of the group count once, and 1 + 50/10 if they
    // count twice. The delay at b is 1 + (20 + 3 d)/10. At c, the burst is larger by 10 + 2 d.
    for (group, exact) in [(Some("group"), ["8.2", "10", "10"]), (None, ["10.8", "13", "13"])] {
        let network = build(group);
        let bounds = analyser(&network).bounds(Analysis::TfaPlusPlus).expect("bounds");
        for (bound, exact) in bounds.iter().zip(exact) {
            assert_eq!(bound.delay, number(exact), "{group:?}");
        }
        let loads: Vec<f64> = network.loads().iter().map(|load| load.ratio()).collect();
        assert_eq!(loads, if group.is_some() { [0.5, 0.3, 0.5] } else { [0.8, 0.3, 0.5] });
    }
}

#[test]
fn a_multicast_group_is_the_same_data() {
    let mut builder = NetworkBuilder::new("multicast");
    let server = builder.server(Server::new("a", rl("10", "1")));
    builder.flow(Flow::new("f", vec![server], tb("20", "3")).multicast("group"));
    builder.flow(Flow::new("g", vec![server], tb("20", "4")).multicast("group"));
    assert!(matches!(builder.build(), Err(ModelError::Multicast { .. })));
}

#[test]
fn files_have_words_for_all_of_it() {
    let text = r#"
        regulator = "interleaved"
        [[server]]
        name = "a"
        service = { rate-latency = { rate = 10, latency = 1 } }
        [[server]]
        name = "b"
        service = { rate-latency = { rate = 10, latency = 1 } }
        regulator = "none"
        [[flow]]
        name = "f"
        path = ["a", "b"]
        arrival = { token-bucket = { burst = 20, rate = 3 } }
        multicast = "m"
    "#;
    let network = format::read(text, Format::Toml).expect("a network");
    let regulators: Vec<_> = network.servers().map(|(_, server)| server.regulator).collect();
    assert_eq!(regulators, [Some(Regulator::Interleaved), None]);
    assert_eq!(network.flows().next().expect("a flow").1.multicast.as_deref(), Some("m"));
    // Drifting clocks cannot be combined with regulators.
    let drifting = format!("clocks = {{ stability = 1.0001 }}\n{text}");
    let error = format::read(&drifting, Format::Toml).expect_err("regulators").to_string();
    assert!(error.contains("regulator"), "{error}");
    let free = drifting.replace("\"interleaved\"", "\"none\"");
    let network = format::read(&free, Format::Toml).expect("a network");
    let rate = network.flows().next().expect("a flow").1.arrival.ultimate_rate();
    assert_eq!(rate, number("3.0003"));
    let wrong = free.replace("1.0001", "0.9");
    assert!(
        format::read(&wrong, Format::Toml).expect_err("slow").to_string().contains("stability")
    );
}

/// Builds the servers of [`joining`], with two flows over all three servers and two that join them
/// at the server with index `joins`. All flows send packets of size 1.
fn packets_joining(before: Option<Regulator>, regulator: Regulator, joins: usize) -> Network {
    let mut builder = NetworkBuilder::new("packets joining");
    let server = |name: &str| Server { packetizer: true, ..Server::new(name, rl("10", "1")) };
    let path = [
        builder.server(Server { regulator: before, ..server("a") }),
        builder.server(server("b").regulated(regulator)),
        builder.server(server("c")),
    ];
    for (name, first) in [("f0", 0), ("g0", joins), ("f1", 0), ("g1", joins)] {
        let flow = Flow::new(name, path[first..].to_vec(), tb("1", "2"));
        builder.flow(Flow { maximum_packet: Rational::ONE, ..flow });
    }
    builder.build().expect("a network")
}

#[test]
fn packets_that_were_overtaken_hold_others_back() {
    use Regulator::{Interleaved, PerFlow};
    let run = |network: &Network, flow: FlowId| {
        let run = simulate(network, flow, &Settings::default()).expect("a run");
        Extended::Finite(run.delay)
    };
    let bounds = |network: &Network| analyser(network).bounds(Analysis::TfaPlusPlus);
    // If packets are overtaken, delays exceed the bounds of the servers, several times for the
    // flows that join at b.
    let refused = packets_joining(None, Interleaved, 1);
    assert!(matches!(bounds(&refused), Err(AnalysisError::OvertakesRegulated { .. })));
    let servers = bounds(&packets_joining(None, PerFlow, 1)).expect("bounds");
    for bound in &servers {
        let seen = run(&refused, bound.flow);
        assert!(seen > bound.delay, "{seen} {}", bound.delay);
    }
    assert!(run(&refused, servers[1].flow) > number("7"), "twice the bound of 3.28");
    // If no packet is overtaken, no delay exceeds its bound.
    for (before, regulator, joins) in [
        (None, PerFlow, 1),
        (Some(Interleaved), Interleaved, 1),
        (Some(PerFlow), Interleaved, 1),
        (None, Interleaved, 0),
    ] {
        let network = packets_joining(before, regulator, joins);
        for bound in bounds(&network).expect("bounds") {
            let seen = run(&network, bound.flow);
            assert!(seen <= bound.delay && seen > number("2"), "{seen} {}", bound.delay);
        }
    }
}
