//! Tests of ports with shapers, gates and round robin, whose simulated packets must not exceed the
//! bounds.

use calculus::network::port::{Class, Gate, Port, Scheduler, Window};
use calculus::network::{
    Analyser, Analysis, AnalysisError, Flow, FlowOfInterest, Format, Multiplexing, Network,
    NetworkBuilder, Priority, Server, Settings, format, simulate,
};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;

use crate::soundness::config;
use crate::support::{number, rational, rl};

/// A random port: the kind of its scheduler, the parameters of its three classes, their largest
/// packets, and the latency.
type PortShape = (u8, [u8; 3], [u8; 3], u8);
/// A random flow: its class, the first port, the number of ports, the packet size in percent of the
/// largest, the burst in packets, and the rate.
type FlowShape = (u8, usize, usize, u8, u8, u8);

fn class<S>(place: usize, packets: &[u8; 3], share: S) -> Class<S> {
    Class {
        priority: Priority(place as u32),
        minimum_packet: Rational::ONE,
        maximum_packet: Rational::from(u32::from(packets[place])),
        share,
    }
}

fn scheduler(kind: u8, shares: &[u8; 3], packets: &[u8; 3]) -> Scheduler {
    let weight = |place: usize| u32::from(shares[place] % 4) + 1;
    let weights = || (0..3).map(|place| class(place, packets, weight(place))).collect();
    match kind {
        0 | 1 => {
            // Two classes with shapers, or one above two classes of best effort.
            let shaped = usize::from(2 - kind);
            let slope = |place: usize| {
                (place < shaped).then(|| Rational::from(20 + u32::from(shares[place])))
            };
            let classes = (0..3).map(|place| class(place, packets, slope(place)));
            Scheduler::CreditBased(classes.collect())
        }
        2 | 3 => {
            let ends = [2 + shares[0] % 3, 6 + shares[1] % 3, 12].map(u32::from);
            let window =
                |from: u32, to: u32| Window { at: from.into(), length: (to - from).into() };
            let windows = |place: usize| match (kind, place) {
                (_, 0) => vec![window(0, 1), window(ends[0], ends[0] + 2)],
                // Both classes have the same window and are served by priority.
                (2, _) => vec![window(ends[0] + 2, 12)],
                (_, 1) => vec![window(ends[0] + 2, ends[1] + 1)],
                _ => vec![window(ends[1] + 1, 12)],
            };
            let classes = (0..3).map(|place| class(place, packets, Gate::Open(windows(place))));
            Scheduler::Gated { cycle: 12.into(), classes: classes.collect() }
        }
        4 => {
            let quantum = |place: usize| Rational::from(8 + u32::from(shares[place]));
            let classes = (0..3).map(|place| class(place, packets, quantum(place)));
            Scheduler::DeficitRoundRobin(classes.collect())
        }
        5 => Scheduler::WeightedRoundRobin(weights()),
        7 | 8 => {
            // One class has windows, or two have the same windows; shapers and best effort have the
            // rest of the cycle.
            let window = |at: u32, length: u32| Window { at: at.into(), length: length.into() };
            let windows = vec![window(1, 1), window(6, 1 + u32::from(shares[0] % 4))];
            let slope = Gate::Shaped(Rational::from(12 + u32::from(shares[1])));
            let gates = match kind {
                7 => [Gate::Open(windows), slope, Gate::BestEffort],
                _ => [
                    slope,
                    Gate::Shaped(Rational::from(12 + u32::from(shares[2]))),
                    Gate::Open(windows),
                ],
            };
            let classes = gates.into_iter().enumerate();
            let classes = classes.map(|(place, gate)| class(place, packets, gate));
            Scheduler::Gated { cycle: 12.into(), classes: classes.collect() }
        }
        _ => Scheduler::InterleavedWeightedRoundRobin(weights()),
    }
}

fn build(ports: &[PortShape], flows: &[FlowShape]) -> Network {
    let mut builder = NetworkBuilder::new("ports");
    let mut queues = Vec::new();
    for (index, (kind, shares, packets, latency)) in ports.iter().enumerate() {
        // Classes that share a queue have no latency.
        let latency = if matches!(kind, 1 | 2) { 0 } else { *latency };
        let port = Port {
            name: format!("p{index}"),
            rate: 100.into(),
            latency: Rational::ratio(latency.into(), 50),
            scheduler: scheduler(*kind, shares, packets),
        };
        queues.push(builder.port(port).expect("a port"));
    }
    // A server that packetizes, before the first port.
    let line = builder.server(Server { packetizer: true, ..Server::new("line", rl("80", "1/20")) });
    for (index, (kind, first, count, size, burst, rate)) in flows.iter().enumerate() {
        let priority = Priority(u32::from(kind % 3));
        let first = first % ports.len();
        let passed = first..(first + count).min(ports.len());
        let most =
            passed.clone().map(|port| ports[port].2[usize::from(kind % 3)]).min().unwrap_or(1);
        let packet = Rational::from((u32::from(most) * u32::from(*size) / 100).max(1));
        let queue = |port: usize| {
            let own = queues[port].iter().find(|(_, classes)| classes.contains(&priority));
            own.expect("a queue").0
        };
        let mut path: Vec<_> = passed.map(queue).collect();
        if first == 0 && *rate % 2 == 0 {
            path.insert(0, line);
        }
        let burst = &packet * &Rational::ratio(i64::from(*burst) + 4, 4);
        let rate = Rational::ratio(i64::from(*rate) + 1, 2);
        let arrival = match count {
            // Periodic packets, with jitter.
            3 => {
                let period = &packet / &rate;
                Curve::events(packet.clone(), period.clone(), burst / &rate - period, 0)
            }
            _ => Curve::token_bucket(burst, rate),
        };
        let flow = Flow::new(format!("f{index}"), path, arrival.expect("a curve"));
        builder.flow(Flow { maximum_packet: packet, ..flow.prioritised(priority) });
    }
    builder.build().expect("a network")
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn no_bound_is_below_a_run_of_ports(
        ports in prop::collection::vec(
            (0_u8..9, prop::array::uniform3(0_u8..20), prop::array::uniform3(2_u8..40), 0_u8..4),
            1..4,
        ),
        flows in prop::collection::vec(
            (0_u8..3, 0_usize..3, 1_usize..4, 30_u8..=100, 0_u8..12, 0_u8..8),
            1..6,
        ),
    ) {
        let network = build(&ports, &flows);
        let settings = Settings { threads: 1, ..Settings::default() };
        let settings = settings.with_flow_of_interest(FlowOfInterest::Interferes);
        let analyser = Analyser::new(&network, settings.clone());
        let counted = network.arrival_aware(&settings).expect("a network");
        let counting = Analyser::new(&counted, settings.clone());
        for (id, flow) in network.flows() {
            let run = simulate(&network, id, &settings).expect("all of these run");
            let bound = |analyser: &Analyser<'_>| {
                analyser.bound(id, Analysis::TfaPlusPlus).expect("a bound").delay
            };
            let (plain, counted) = (bound(&analyser), bound(&counting));
            prop_assert!(counted <= plain, "{}: {counted} > {plain}", flow.name);
            prop_assert!(counted >= Extended::Finite(run.delay.clone()), "{}: {counted}", flow.name);
            for analysis in Analysis::ALL {
                if analysis == Analysis::Best && network.flows().len() > 3 {
                    // `Best` is the minimum of the others under many conventions and takes long.
                    continue;
                }
                let found = match analyser.bound(id, analysis) {
                    Err(
                        AnalysisError::NotSinkTree(_)
                        | AnalysisError::NoProgram(_)
                        | AnalysisError::NotStrict(_),
                    ) => continue,
                    found => found.expect("a bound"),
                };
                let delay = Extended::Finite(run.delay.clone());
                prop_assert!(found.delay >= delay, "{} {analysis}: {} < {delay}", flow.name, found.delay);
                if analysis == Analysis::Tfa {
                    // The backlog is that of the server, not of the flow.
                    continue;
                }
                let backlog = Extended::Finite(run.backlog.clone());
                prop_assert!(
                    found.backlog >= backlog,
                    "{} {analysis}: backlog {} < {backlog}", flow.name, found.backlog
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn no_bound_is_below_a_run_of_shapers_beside_gates(
        kind in 7_u8..9,
        shares in prop::array::uniform3(0_u8..20),
        packets in prop::array::uniform3(2_u8..40),
        flows in prop::collection::vec(
            (0_u8..3, Just(0_usize), 1_usize..3, 60_u8..=100, 0_u8..30, 0_u8..8),
            1..6,
        ),
    ) {
        let network = build(&[(kind, shares, packets, 0), (8, shares, packets, 0)], &flows);
        let settings = Settings { threads: 1, ..Settings::default() };
        let analyser = Analyser::new(&network, settings.clone());
        for (id, flow) in network.flows() {
            let run = simulate(&network, id, &settings).expect("all of these run");
            let found = analyser.bound(id, Analysis::TfaPlusPlus).expect("a bound");
            let delay = Extended::Finite(run.delay.clone());
            prop_assert!(found.delay >= delay, "{}: {} < {delay}", flow.name, found.delay);
        }
    }
}

/// Builds one port of rate 100 with one flow of class 0, whose packets have size 10. Returns the
/// delay bound and the delay of a run.
fn single(scheduler: Scheduler, burst: &str, rate: &str) -> (Extended, Rational) {
    let mut builder = NetworkBuilder::new("single");
    let port = Port { name: "p".into(), rate: 100.into(), latency: Rational::ZERO, scheduler };
    let queues = builder.port(port).expect("a port");
    let own = queues.iter().find(|(_, classes)| classes.contains(&Priority(0)));
    let queue = own.expect("a queue").0;
    let arrival = Curve::token_bucket(rational(burst), rational(rate)).expect("a curve");
    let flow = Flow { maximum_packet: 10.into(), ..Flow::new("f", vec![queue], arrival) };
    let id = builder.flow(flow);
    let network = builder.build().expect("a network");
    let settings = Settings { threads: 1, ..Settings::default() };
    let bound = Analyser::new(&network, settings.clone()).bound(id, Analysis::TfaPlusPlus);
    let run = simulate(&network, id, &settings).expect("a run");
    (bound.expect("a bound").delay, run.delay)
}

#[test]
fn runs_come_close_where_the_worst_case_is_known() {
    let packets = [10, 10, 50];
    // The burst arrives when the rest of the window has just become too short for a packet. The
    // next window starts 9.1 later, and the burst takes 0.5.
    let gates = Scheduler::Gated {
        cycle: 10.into(),
        classes: vec![class(
            0,
            &packets,
            Gate::Open(vec![Window { at: 2.into(), length: 1.into() }]),
        )],
    };
    let (bound, run) = single(gates, "50", "1");
    assert_eq!(bound, number("9.6"));
    assert!(run > rational("9.59"), "{run}");
    // The bound is the time of a best-effort packet, 0.5, and that of the burst 20 at rate 25.
    let shaper =
        Scheduler::CreditBased(vec![class(0, &packets, Some(25.into())), class(2, &packets, None)]);
    let (bound, run) = single(shaper, "20", "1");
    assert_eq!(bound, number("1.3"));
    // The first packet waits, but for less time than the credit of two packets takes to build up;
    // while the second one waits for credit, the next packet of best effort starts.
    assert!(run > rational("0.97"), "{run}");
    // The gate is closed for 2 of each 12. The idle slope is 25, so credit rises at 30 while the
    // gate is open. The first packet leaves when the gate opens; the second waits for its credit.
    let frozen = Scheduler::Gated {
        cycle: 12.into(),
        classes: vec![
            class(0, &packets, Gate::Shaped(25.into())),
            class(1, &packets, Gate::Open(vec![Window { at: 3.into(), length: 2.into() }])),
            class(2, &packets, Gate::BestEffort),
        ],
    };
    let (bound, run) = single(frozen, "20", "1");
    // The bound is the sum of the times for which the credit may be used up, 50 / 100 and
    // 10 / (100 - 1), of the burst 20 at rate 30, and of 2 while the gate is closed.
    assert_eq!(bound, number("647/198"));
    assert!(run > rational("2.79"), "{run}");
    // In the worst case, each of the other classes sends a packet first.
    let turns = Scheduler::WeightedRoundRobin(
        (0..3)
            .map(|place| Class { minimum_packet: 10.into(), ..class(place, &packets, 1_u32) })
            .collect(),
    );
    let (bound, run) = single(turns, "10", "0");
    assert_eq!(bound, number("0.7"));
    assert!(run >= rational("0.6"), "{run}");
}

#[test]
fn what_other_classes_send_counts_at_turns() {
    // Three classes of equal quanta at rate 100: two send 10 and 5 in the long run, the third has
    // no flows.
    let packets = [10, 10, 10];
    let port = |classes: usize| Port {
        name: "p".into(),
        rate: 100.into(),
        latency: Rational::ZERO,
        scheduler: Scheduler::DeficitRoundRobin(
            (0..classes).map(|place| class(place, &packets, Rational::from(20))).collect(),
        ),
    };
    let build = |classes: usize| {
        let mut builder = NetworkBuilder::new("turns");
        let queues = builder.port(port(classes)).expect("a port");
        for (place, (burst, rate)) in [(40, 30), (10, 10)].into_iter().enumerate() {
            let bucket = Curve::token_bucket(burst, rate).expect("a curve");
            let flow = Flow::new(format!("f{place}"), vec![queues[place].0], bucket);
            let flow = Flow { maximum_packet: 10.into(), ..flow };
            builder.flow(flow.prioritised(Priority(place as u32)));
        }
        builder.build().expect("a network")
    };
    let services = |network: &Network| -> Vec<Curve> {
        let aware = network.arrival_aware(&Settings::default()).expect("a network");
        aware.servers().map(|(_, server)| server.service.clone()).collect()
    };
    // With two classes, each has in the long run the link's rate less that of the other.
    let two = build(2);
    let found = services(&two);
    for (service, rate) in found.iter().zip([90, 70]) {
        assert_eq!(service.ultimate_rate(), Extended::from(rate));
    }
    // With the third class, each has half of what the other leaves.
    for (service, rate) in services(&build(3)).iter().zip([45, 35, 60]) {
        assert_eq!(service.ultimate_rate(), Extended::from(rate));
    }
    let aware = two.arrival_aware(&Settings::default()).expect("a network");
    let settings = Settings { threads: 1, ..Settings::default() };
    let delay = |network: &Network| {
        let flow = network.flow_named("f0").expect("a flow");
        Analyser::new(network, settings.clone())
            .bound(flow, Analysis::TfaPlusPlus)
            .expect("a bound")
            .delay
    };
    let run = simulate(&two, two.flow_named("f0").expect("a flow"), &settings).expect("a run");
    let (before, after) = (delay(&two), delay(&aware));
    assert!(after < before, "{after} {before}");
    assert!(after >= Extended::Finite(run.delay), "{after}");
}

#[test]
fn an_order_of_service_from_outside_has_no_run() {
    let network = build(&[(4, [8; 3], [8; 3], 0)], &[(0, 0, 1, 100, 0, 1)]);
    let (id, _) = network.flows().next().expect("a flow");
    let any = Settings::default().multiplexed(Multiplexing::Arbitrary);
    assert_eq!(simulate(&network, id, &any), None);
    assert!(simulate(&network, id, &Settings::default()).is_some());
}

#[test]
fn files_have_words_for_ports() {
    let text = r#"
        time-unit = "us"
        rate-unit = "Mbps"
        [[port]]
        name = "bridge"
        rate = 100
        latency = 2
        scheduler = "credit-based"
        maximum-packet = "1542B"
        [[port.class]]
        priority = 0
        idle-slope = 30
        maximum-packet = "300B"
        [[port.class]]
        priority = 1
        [[flow]]
        name = "f"
        path = ["bridge"]
        arrival = { token-bucket = { burst = "300B", rate = 5 } }
        maximum-packet = "300B"
    "#;
    let network = format::read(text, Format::Toml).expect("a network");
    let names: Vec<&str> = network.servers().map(|(_, server)| server.name.as_str()).collect();
    assert_eq!(names, ["bridge/0", "bridge/1"]);
    let (id, flow) = network.flows().next().expect("a flow");
    assert_eq!(flow.path, [network.server_named("bridge/0").expect("a queue")]);
    // 2 us, a packet of best effort, and the burst at the idle slope.
    let exact = rational("0.000002") + rational("12336/100000000") + rational("2400/30000000");
    let bound = Analyser::new(&network, Settings::default()).bound(id, Analysis::TfaPlusPlus);
    let bound = bound.expect("a bound");
    assert_eq!(bound.delay, Extended::Finite(exact));
    let lines = bound.delay_by.derivation.lines(&network);
    assert!(
        lines[0].starts_with("bridge/0: credit-based port of rate 100000000 gives class 0"),
        "{lines:?}"
    );
    for (from, to, expected) in [
        ("scheduler = \"credit-based\"", "scheduler = \"fair\"", "must be credit-based"),
        ("latency = 2", "cycle = 2", "is for gates"),
        (
            "path = [\"bridge\"]",
            "priority = 4\npath = [\"bridge\"]",
            "has no class for priority 4; it has 0, 1",
        ),
        ("idle-slope = 30", "idle-slope = 130", "more than its rate together"),
        ("idle-slope = 30", "weight = 30", "weight"),
        ("maximum-packet = \"1542B\"", "", "has no 'maximum-packet', nor has its port"),
    ] {
        let fault = format::read(&text.replacen(from, to, 1), Format::Toml).expect_err(expected);
        assert!(fault.to_string().contains(expected), "{fault}");
    }
}
