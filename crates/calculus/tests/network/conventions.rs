//! Tests of the conventions in which tools differ. Where a convention matters, the result is
//! derived by hand.

use calculus::network::{Analysis, ArrivalBound, FlowOfInterest, Multiplexing, Network, Settings};

use crate::support::{bound_by, network, number, rl, tb};

/// Builds a network in which f1 leaves the path of f0 after s0 and rejoins it at s1, over s3; f2
/// shares the path of f0 from s1 on.
fn rejoining() -> Network {
    let servers = [rl("10", "1"), rl("10", "1"), rl("10", "1"), rl("10", "1")];
    let flows = [
        (tb("8", "2"), [0, 1, 2].as_slice()),
        (tb("6", "2"), [0, 3, 1].as_slice()),
        (tb("4", "2"), [1, 2].as_slice()),
    ];
    network(&servers, &flows)
}

#[test]
fn the_flow_of_interest_is_left_out_as_far_as_the_convention_says() {
    let network = rejoining();
    // In all cases the residual service of s0 is RL(8, (10 + 6) / 8 = 2). Over s0 and s3, f1 has
    // RL(8, 13/4) in the presence of f0, so it arrives at s1 as TB(25/2, 2); with f2, the residual
    // service there is RL(6, (10 + 33/2) / 6 = 53/12). Delays are 2 + 53/12 + T + 8/6, where T is
    // the latency of the residual service at s2.
    let cases = [
        // f2 comes along the path of f0: at s1 it shares the server only with f1, which comes from
        // another link and has met f0 before. RL(8, (10 + 25/2) / 8 = 45/16), f2 as TB(77/8, 2), T
        // = 157/64.
        (FlowOfInterest::LowestPriority, ArrivalBound::AggregatePboo, "653/64", false),
        (FlowOfInterest::LowestPriority, ArrivalBound::AggregatePbooPerServer, "653/64", false),
        // Over one server, the whole-path methods of DNC continue to exclude f0: f1 as TB(10, 2),
        // RL(8, 5/2), f2 as TB(9, 2), T = 19/8.
        (FlowOfInterest::LowestPriority, ArrivalBound::AggregatePmoo, "81/8", false),
        (FlowOfInterest::LowestPriority, ArrivalBound::AggregateTandemMatching, "81/8", false),
        // With f0 at s1, as TB(8 + 2 * 2, 2): RL(6, (10 + 12 + 25/2) / 6 = 23/4), f2 as
        // TB(31/2, 2), T = 51/16.
        (FlowOfInterest::Interferes, ArrivalBound::AggregatePboo, "175/16", true),
        (FlowOfInterest::LowestPriorityWhereProven, ArrivalBound::AggregatePmoo, "175/16", true),
    ];
    for (role, method, delay, proven) in cases {
        let settings = Settings::default()
            .multiplexed(Multiplexing::Arbitrary)
            .with_flow_of_interest(role)
            .bounding_arrivals(method);
        let found = bound_by(&network, "f0", Analysis::Sfa, settings);
        assert_eq!(found.delay, number(delay), "{role} {method}");
        assert_eq!(found.delay_by.proven, proven, "{role} {method}");
    }
}

#[test]
fn what_is_proven_is_left_out_in_any_order_of_service_only() {
    let servers = [rl("10", "10"), rl("6", "6")];
    let two = network(&servers, &vec![(tb("25/2", "5/2"), [0_usize, 1].as_slice()); 2]);
    let role = FlowOfInterest::LowestPriorityWhereProven;
    for (order, delay) in [(Multiplexing::Arbitrary, "277/7"), (Multiplexing::Fifo, "9271/336")] {
        let settings = Settings::default().multiplexed(order).with_flow_of_interest(role);
        let found = bound_by(&two, "f0", Analysis::Sfa, settings);
        assert_eq!(found.delay, number(delay), "{order}");
        assert!(found.delay_by.proven);
    }
}

#[test]
fn bursts_are_capped_by_the_backlog_of_the_server_they_come_from() {
    let servers = [rl("7", "1"), rl("7", "1"), rl("10", "1")];
    let flows = [
        (tb("12", "4"), [0, 1].as_slice()),
        (tb("10", "3"), [0, 1, 2].as_slice()),
        (tb("5", "1"), [2].as_slice()),
    ];
    let network = network(&servers, &flows);
    // f0 arrives at s1 after the residual service of s0, RL(4, (7 + 10) / 4 = 17/4): as TB(29, 4).
    // f1 has RL(3, (7 + 12) / 3 = 19/3) at s0 and RL(3, (7 + 29) / 3 = 12) at s1: TB(65, 3) at s2.
    // But the backlog at s1 is at most 22 + 7 from s0 and 7 more: TB(36, 3). f2 then has RL(7, (10
    // + b) / 7), and 5/7 for its burst.
    let settings = Settings::default()
        .multiplexed(Multiplexing::Arbitrary)
        .bounding_arrivals(ArrivalBound::AggregatePboo);
    let plain = bound_by(&network, "f2", Analysis::Sfa, settings.clone());
    assert_eq!(plain.delay, number("80/7"));
    let capped = bound_by(&network, "f2", Analysis::Sfa, settings.capping_bursts());
    assert_eq!(capped.delay, number("51/7"));
}
