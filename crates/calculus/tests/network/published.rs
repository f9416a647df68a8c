//! Tests of small networks whose delays and backlogs were published with DNC 2.8.1. The bounds must
//! agree in all digits.

use calculus::network::{Analysis, FlowOfInterest, Multiplexing, Network, Settings};

use crate::support::{bound, bound_by, network, number, rl, tb};

const ANALYSES: [(Analysis, Multiplexing); 5] = [
    (Analysis::Tfa, Multiplexing::Arbitrary),
    (Analysis::Tfa, Multiplexing::Fifo),
    (Analysis::Sfa, Multiplexing::Arbitrary),
    (Analysis::Sfa, Multiplexing::Fifo),
    (Analysis::Pmoo, Multiplexing::Arbitrary),
];

/// Checks `delay;backlog` of TFA (arbitrary, FIFO), SFA (arbitrary, FIFO) and PMOO.
fn check(case: &str, network: &Network, flow: &str, published: [&str; 5]) {
    for ((analysis, multiplexing), expected) in ANALYSES.into_iter().zip(published) {
        let found = bound(network, flow, analysis, multiplexing);
        let (delay, backlog) = expected.split_once(';').expect("delay;backlog");
        let what = format!("{case} {flow} {analysis} {multiplexing}");
        assert_eq!(found.delay, number(delay), "delay, {what}");
        assert_eq!(found.backlog, number(backlog), "backlog, {what}");
    }
}

#[test]
fn bounds_for_one_server_are_the_published_ones() {
    let one = network(&[rl("10", "10")], &[(tb("25", "5"), &[0])]);
    check("1", &one, "f0", ["25/2;75"; 5]);
    let full = network(&[rl("10", "10")], &[(tb("25", "5"), &[0]), (tb("25", "5"), &[0])]);
    check("2", &full, "f0", ["inf;150", "15;150", "30;150", "35/2;175/2", "30;150"]);
    let two = network(&[rl("10", "10")], &[(tb("10", "4"), &[0]), (tb("25", "5"), &[0])]);
    check("3", &two, "f0", ["135;125", "27/2;125", "27;110", "29/2;60", "27;110"]);
    check("3b", &two, "f1", ["135;125", "27/2;125", "45/2;350/3", "91/6;80", "45/2;350/3"]);
}

#[test]
fn one_server_with_ten_flows() {
    let flows: Vec<_> =
        (1..=10).map(|i| (tb(&i.to_string(), &format!("{i}/10")), [0_usize].as_slice())).collect();
    let ten = network(&[rl("10", "10")], &flows);
    check(
        "4",
        &ten,
        "f0",
        ["310/9;110", "31/2;110", "775/23;100/23", "1796/115;127/50", "775/23;100/23"],
    );
    check(
        "4b",
        &ten,
        "f6",
        ["310/9;110", "31/2;110", "775/26;350/13", "2099/130;434/25", "775/26;350/13"],
    );
}

#[test]
fn bounds_for_two_equal_servers_are_the_published_ones() {
    let tens = [rl("10", "10"), rl("10", "10")];
    let alone = network(&tens, &[(tb("25", "5"), &[0, 1])]);
    check("5", &alone, "f0", ["30;125", "30;125", "45/2;125", "45/2;125", "45/2;125"]);
    let two = network(&tens, &[(tb("25", "5"), &[0, 1]), (tb("25", "5"), &[0, 1])]);
    check("6", &two, "f0", ["inf;250", "40;250", "65;325", "35;175", "50;250"]);
    let twenties = [rl("20", "20"), rl("20", "20")];
    let joining = network(&twenties, &[(tb("25", "5"), &[0, 1]), (tb("25", "5"), &[1])]);
    check("7", &joining, "f0", ["305/4;350", "195/4;350", "50;800/3", "515/12;925/4", "50;800/3"]);
    check("7b", &joining, "f1", ["55;350", "55/2;350", "110/3;200", "335/12;625/4", "110/3;200"]);
    let four = network(&tens, &vec![(tb("10", "2"), [0_usize, 1].as_slice()); 4]);
    for flow in ["f0", "f1", "f2", "f3"] {
        check("8", &four, flow, ["180;200", "36;200", "165/2;170", "69/2;74", "60;125"]);
    }
}

#[test]
fn bounds_for_two_different_servers_are_the_published_ones() {
    let servers = [rl("10", "10"), rl("6", "6")];
    let alone = network(&servers, &[(tb("25", "5"), &[0, 1])]);
    check("9", &alone, "f0", ["31;105", "31;105", "121/6;105", "121/6;105", "121/6;105"]);
    let two = network(&servers, &vec![(tb("25/2", "5/2"), [0_usize, 1].as_slice()); 2]);
    check("10", &two, "f0", ["136;105", "31;105", "277/7;205/2", "379/14;285/4", "242/7;90"]);
}

#[test]
fn cross_traffic_can_be_bounded_with_the_flow_of_interest() {
    let servers = [rl("10", "10"), rl("6", "6")];
    let two = network(&servers, &vec![(tb("25/2", "5/2"), [0_usize, 1].as_slice()); 2]);
    let settings = Settings::default().with_flow_of_interest(FlowOfInterest::Interferes);
    for (multiplexing, delay) in
        [(Multiplexing::Arbitrary, "302/7"), (Multiplexing::Fifo, "9271/336")]
    {
        let settings = settings.clone().multiplexed(multiplexing);
        let found = bound_by(&two, "f0", Analysis::Sfa, settings);
        assert_eq!(found.delay, number(delay), "{multiplexing}");
        assert!(found.delay_by.proven, "{multiplexing}");
    }
    let excluded = bound(&two, "f0", Analysis::Sfa, Multiplexing::Fifo);
    assert!(!excluded.delay_by.proven, "nobody has proven that for FIFO");
}
