//! Tests that compare the service and shaping curves of ports with published closed forms.

use super::*;
use crate::network::{Flow, ModelError, NetworkBuilder};
use crate::{Extended, Rational};

fn number(text: &str) -> Rational {
    text.parse().expect("a number")
}

fn class<S>(priority: u32, least: i64, most: i64, share: S) -> Class<S> {
    Class {
        priority: Priority(priority),
        minimum_packet: least.into(),
        maximum_packet: most.into(),
        share,
    }
}

fn port(rate: i64, scheduler: Scheduler) -> Port {
    Port { name: "p".to_owned(), rate: rate.into(), latency: Rational::ZERO, scheduler }
}

/// Builds a gated scheduler of classes that all have windows.
fn gates(cycle: i64, classes: Vec<Class<Vec<Window>>>) -> Scheduler {
    let open = |class: Class<Vec<Window>>| Class {
        priority: class.priority,
        minimum_packet: class.minimum_packet,
        maximum_packet: class.maximum_packet,
        share: Gate::Open(class.share),
    };
    Scheduler::Gated { cycle: cycle.into(), classes: classes.into_iter().map(open).collect() }
}

fn services(port: &Port) -> Vec<Curve> {
    let queues = port.queues().expect("queues");
    queues.into_iter().map(|queue| queue.server.service).collect()
}

#[test]
fn credit_has_the_bounds_of_two_classes() {
    // c = 100, idle slopes 20 and 30, packets 8, 12 and 40.
    let scheduler = Scheduler::CreditBased(vec![
        class(0, 1, 8, Some(20.into())),
        class(1, 1, 12, Some(30.into())),
        class(2, 1, 40, None),
        class(3, 1, 16, None),
    ]);
    let queues = port(100, scheduler).queues().expect("queues");
    // Class A: latency L / c with the largest of the lower packets. Class B: (L_BE + L_A + L_n I_A
    // / (c - I_A)) / c.
    let (a, b) = (number("0.4"), (number("48") + number("40") * number("20/80")) / number("100"));
    let expected = [
        Curve::rate_latency(20, a.clone()).expect("a curve"),
        Curve::rate_latency(30, b.clone()).expect("a curve"),
    ];
    assert_eq!(queues[0].server.service, expected[0]);
    assert_eq!(queues[1].server.service, expected[1]);
    // Ranges of credit: up to 20 a and 30 b, down to 0.8 times 8 and 0.7 times 12.
    let ranges = [a * Rational::from(20) + number("6.4"), b * Rational::from(30) + number("8.4")];
    let link = Curve::rate_latency(100, 0).expect("a curve");
    for ((queue, range), slope) in queues.iter().zip(&ranges).zip([20, 30]) {
        let out = Curve::token_bucket(range.clone(), slope).expect("a curve");
        let out = out.minimum(&link).expect("a curve");
        assert_eq!(queue.server.shaping.as_ref(), Some(&out));
        assert!(!queue.server.strict);
    }
    // Best effort has the residual service of the link.
    let [first, second] = ranges;
    let left = Curve::rate_latency(50, (first + second) / Rational::from(50)).expect("a curve");
    assert_eq!(queues[2].server.service, left);
    assert_eq!(queues[2].priorities, [Priority(2), Priority(3)]);
    assert_eq!(queues[2].server.multiplexing, Multiplexing::StaticPriority);
}

#[test]
fn one_window_is_a_time_division_cycle_less_a_packet() {
    let window = |at: i64, length: i64| Window { at: at.into(), length: length.into() };
    let gated = |classes: Vec<Class<Vec<Window>>>| port(10, gates(100, classes));
    let one = gated(vec![class(0, 1, 50, vec![window(20, 30)])]);
    assert_eq!(services(&one), [Curve::tdma(10, 25, 100).expect("a curve")]);
    // The same window in two parts, over the end of the cycle.
    let parts = gated(vec![class(0, 1, 50, vec![window(0, 10), window(80, 20)])]);
    assert_eq!(services(&parts), services(&one));
    // Two windows: the worst case starts after the window that is followed by the longer gap.
    let two = gated(vec![class(0, 1, 50, vec![window(0, 15), window(40, 25)])]);
    let [curve] = services(&two).try_into().expect("one");
    for (time, served) in [("40", "0"), ("50", "100"), ("70", "100"), ("85", "150"), ("140", "300")]
    {
        // The used parts are 0 to 10 and 40 to 60: from 60 on there is no service until 100, from
        // 10 on none until 40.
        assert_eq!(curve.value_at(&number(time)), Extended::from(number(served)), "{time}");
    }
    // A gate that is always open has the service of the link.
    let open = gated(vec![class(0, 1, 50, vec![window(0, 40), window(40, 60)])]);
    assert_eq!(services(&open), [Curve::rate_latency(10, 0).expect("a curve")]);
}

#[test]
fn gates_that_never_shut_change_no_credit() {
    let slopes = [Some(20), Some(30), None, None];
    let classes = || slopes.iter().zip([8, 12, 40, 16]).zip(0..);
    let plain = classes()
        .map(|((slope, most), priority)| class(priority, 1, most, slope.map(Rational::from)));
    let gated = classes().map(|((slope, most), priority)| {
        let gate = slope.map_or(Gate::BestEffort, |slope| Gate::Shaped(slope.into()));
        class(priority, 1, most, gate)
    });
    let plain = port(100, Scheduler::CreditBased(plain.collect())).queues().expect("queues");
    let gated = Scheduler::Gated { cycle: 10.into(), classes: gated.collect() };
    let gated = port(100, gated).queues().expect("queues");
    assert_eq!(plain.len(), gated.len());
    for (plain, gated) in plain.iter().zip(&gated) {
        assert_eq!(plain.priorities, gated.priorities);
        assert_eq!(plain.server.service, gated.server.service);
        assert_eq!(plain.server.shaping, gated.server.shaping);
        assert_eq!(plain.server.strict, gated.server.strict);
    }
}

#[test]
fn credit_is_frozen_while_gates_are_shut() {
    // Of a cycle of 100, 20 belong to class 0. A packet of 10 at a rate of 10 does not fit into the
    // last 1 of the other 80.
    let split = vec![
        Window { at: 90.into(), length: 10.into() },
        Window { at: Rational::ZERO, length: 10.into() },
    ];
    let scheduler = Scheduler::Gated {
        cycle: 100.into(),
        classes: vec![
            class(0, 1, 50, Gate::Open(split)),
            class(1, 1, 10, Gate::Shaped(4.into())),
            class(2, 1, 20, Gate::BestEffort),
        ],
    };
    let queues = port(10, scheduler).queues().expect("queues");
    let [windows, shaped, rest] = queues.as_slice() else { panic!("three queues") };
    assert_eq!(windows.server.service, Curve::tdma(10, 15, 100).expect("a curve"));
    // An idle slope of 4 per 100 is one of 5 per 80 open. Credit: 5 (20 / 10 + 10 / (10 - 10 / 80))
    // = 1190 / 79.
    let service = &shaped.server.service;
    assert!(!shaped.server.strict);
    for (time, served) in [("20", "0"), ("1818/79", "0"), ("100", "30410/79"), ("120", "30410/79")]
    {
        assert_eq!(service.value_at(&number(time)), Extended::from(number(served)), "{time}");
    }
    assert_eq!(service.ultimate_rate(), Extended::from(4));
    // The burst is the credit's range, 1190 / 79 + 5 10 / 10; then the class sends at most at rate
    // 5 while the gate is open: for 80, then nothing for 20.
    let out = shaped.server.shaping.as_ref().expect("shaping");
    for (time, sent) in [("80", "400"), ("100", "400"), ("180", "800")] {
        let sent = number(sent) + number("1190/79") + number("5");
        assert_eq!(out.value_at(&number(time)), Extended::from(sent), "{time}");
    }
    // Best effort loses the last 2 of each window, in which a packet of 20 does not fit, and what
    // the shaper sends.
    let left = number("10") - number("5") - number("20/80");
    let latency = (number("1190/79") + number("5") + number("20")) / &left;
    assert!(rest.server.strict);
    let at = |open: i64| (Rational::from(open) - &latency) * &left;
    for (time, open) in [(100, 80), (120, 80), (200, 160)] {
        let found = rest.server.service.value_at(&Rational::from(time));
        assert_eq!(found, Extended::from(at(open)), "{time}");
    }
}

/// Returns the closed form of the service curve of deficit round robin as in the paper: with n =
/// Q_i and k the sum of all quanta, (lambda_1 * nu)(x - psi(Q - d)) + min(max(0, x - sum of Q_j +
/// d_j), Q - d).
fn closed_form(x: &Rational, quanta: &[i64], packets: &[i64], own: usize) -> Rational {
    let of = |values: &[i64], index: usize| Rational::from(values[index]);
    let left = |index: usize| of(packets, index) - Rational::ONE;
    let others: Vec<usize> = (0..quanta.len()).filter(|index| *index != own).collect();
    let (quantum, total) =
        (of(quanta, own), quanta.iter().map(|q| Rational::from(*q)).sum::<Rational>());
    let psi = |x: &Rational| {
        let passed = ((x + &left(own)) / &quantum).floor();
        let phi = |other: &usize| &passed * &of(quanta, *other) + of(quanta, *other) + left(*other);
        x + &others.iter().map(phi).sum::<Rational>()
    };
    let first = &quantum - &left(own);
    let behind = (x - &psi(&first)).max(Rational::ZERO);
    // The unit-rate line convolved with the staircase that rises by one quantum per total.
    let whole = (&behind / &total).floor();
    let stair = (&behind - &(&whole * &total)).min(quantum.clone()) + whole * &quantum;
    let before = x - &others.iter().map(|o| of(quanta, *o) + left(*o)).sum::<Rational>();
    stair + before.max(Rational::ZERO).min(first)
}

#[test]
fn deficit_round_robin_has_the_closed_form_of_its_paper() {
    let (quanta, packets) = ([1_500, 3_000, 4_500], [1_200, 1_500, 700]);
    let classes = || {
        let each = quanta.iter().zip(&packets).zip(0..);
        each.map(|((quantum, most), priority)| class(priority, 64, *most, Rational::from(*quantum)))
    };
    let curves = services(&port(1_000, Scheduler::DeficitRoundRobin(classes().collect())));
    for (own, curve) in curves.iter().enumerate() {
        for step in 0..400 {
            let time = Rational::ratio(step, 7);
            let expected = closed_form(&(&time * &Rational::from(1_000)), &quanta, &packets, own);
            assert_eq!(curve.value_at(&time), Extended::from(expected), "class {own} at {time}");
        }
        // In the long run, a class gets its share of the quanta.
        let share = Rational::ratio(quanta[own] * 1_000, 9_000);
        assert_eq!(curve.ultimate_rate(), Extended::from(share));
    }
    // A single class has the whole link.
    let alone = port(1_000, Scheduler::DeficitRoundRobin(classes().take(1).collect()));
    assert_eq!(services(&alone), [Curve::rate_latency(1_000, 0).expect("a curve")]);
}

#[test]
fn weights_have_the_closed_forms_of_their_paper() {
    let weighted = || vec![class(0, 4, 8, 2), class(1, 3, 6, 3), class(2, 5, 5, 1)];
    let plain = services(&port(1, Scheduler::WeightedRoundRobin(weighted())));
    // q = w l, Q = the sum of w_j L_j: (lambda_1 * nu_{q, q + Q})(t - Q).
    for (own, (own_turn, others)) in [(8, 23), (9, 21), (5, 34)].into_iter().enumerate() {
        for time in 0..200 {
            let behind = (time - others).max(0);
            let expected = behind / (own_turn + others) * own_turn
                + (behind % (own_turn + others)).min(own_turn);
            assert_eq!(
                plain[own].value_at(&Rational::from(time)),
                Extended::from(expected),
                "{own} {time}"
            );
        }
    }
    // Interleaved: before its first packet, class 0 waits for 2 packets of class 1 (one more than
    // its own weight, plus one) and one of class 2; between its packets, for one packet of each.
    let interleaved = services(&port(1, Scheduler::InterleavedWeightedRoundRobin(weighted())));
    let first = |time: i64, served: i64| {
        let found = interleaved[0].value_at(&Rational::from(time));
        assert_eq!(found, Extended::from(served), "{time}");
    };
    for (time, served) in [(17, 0), (21, 4), (27, 4), (31, 8)] {
        first(time, served);
    }
    for (slow, fast) in plain.iter().zip(&interleaved) {
        assert_eq!(slow.ultimate_rate(), fast.ultimate_rate());
        assert!(slow.is_at_most(fast).expect("comparable"), "interleaving delays nobody");
    }
}

#[test]
fn faults_say_what_to_do() {
    let window = |at: i64, length: i64| Window { at: at.into(), length: length.into() };
    let gated = |classes: Vec<Class<Vec<Window>>>| gates(100, classes);
    for (scheduler, expected) in [
        (
            Scheduler::CreditBased(vec![class(0, 1, 8, None), class(1, 1, 8, Some(3.into()))]),
            "class 1 of port 'p' has an idle slope below",
        ),
        (
            Scheduler::CreditBased(vec![
                class(0, 1, 8, Some(6.into())),
                class(1, 1, 8, Some(5.into())),
            ]),
            "more than its rate together",
        ),
        (
            Scheduler::DeficitRoundRobin(vec![class(0, 1, 8, Rational::ZERO)]),
            "a quantum above zero",
        ),
        (Scheduler::DeficitRoundRobin(vec![]), "has no class"),
        (Scheduler::WeightedRoundRobin(vec![class(0, 1, 8, 0)]), "a weight above zero"),
        (Scheduler::WeightedRoundRobin(vec![class(0, 9, 8, 1)]), "a minimum packet"),
        (Scheduler::WeightedRoundRobin(vec![class(0, 1, 8, 1), class(0, 1, 8, 1)]), "twice"),
        (gated(vec![class(0, 1, 50, vec![window(0, 5)])]), "largest packet fits"),
        (gated(vec![class(0, 1, 50, vec![window(90, 20)])]), "not within the cycle"),
        (gated(vec![class(0, 1, 50, vec![window(0, 20), window(10, 20)])]), "windows that overlap"),
        (
            gated(vec![
                class(0, 1, 50, vec![window(0, 20)]),
                class(1, 1, 50, vec![window(10, 20)]),
            ]),
            "classes 0 and 1 of port 'p' are open at the same time",
        ),
        (
            Scheduler::Gated {
                cycle: 100.into(),
                classes: vec![
                    class(0, 1, 50, Gate::Open(vec![window(0, 60), window(60, 40)])),
                    class(1, 1, 50, Gate::BestEffort),
                ],
            },
            "windows at all times",
        ),
        (
            Scheduler::Gated {
                cycle: 100.into(),
                classes: vec![
                    class(0, 1, 50, Gate::Open(vec![window(0, 60)])),
                    class(1, 1, 50, Gate::Shaped(4.into())),
                ],
            },
            "idle slopes of more than what its windows",
        ),
        (
            gated(vec![
                class(0, 1, 50, vec![window(10, 20)]),
                class(1, 1, 50, vec![window(90, 10), window(0, 15)]),
            ]),
            "classes 0 and 1 of port 'p' are open at the same time",
        ),
    ] {
        let fault = port(10, scheduler).queues().expect_err(expected).to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}

#[test]
fn flows_must_fit_their_port() {
    let scheduler = Scheduler::WeightedRoundRobin(vec![class(0, 4, 8, 1), class(1, 4, 8, 1)]);
    let build = |priority: u32, packet: i64, burst: i64| {
        let mut builder = NetworkBuilder::new("ports");
        let queues = builder.port(port(10, scheduler.clone())).expect("a port");
        let bucket = Curve::token_bucket(burst, 1).expect("a curve");
        let flow = Flow::new("f", vec![queues[0].0], bucket).prioritised(Priority(priority));
        builder.flow(Flow { maximum_packet: packet.into(), ..flow });
        builder.build()
    };
    assert!(build(0, 8, 8).is_ok());
    for (priority, packet, burst, expected) in [
        (1, 8, 8, "other classes"),
        (0, 0, 8, "whole number"),
        (0, 9, 9, "beyond"),
        (0, 8, 7, "burst"),
    ] {
        let fault = build(priority, packet, burst).expect_err(expected);
        assert!(matches!(fault, ModelError::Port { .. }), "{fault:?}");
        assert!(fault.to_string().contains(expected), "{fault}");
    }
}
