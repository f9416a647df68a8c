//! Conventions in which tools differ, derived by hand where they matter.

use calculus::network::{Analysis, ArrivalBound, FlowOfInterest, Multiplexing, Network, Settings};

use crate::support::{bound_by, network, number, rl, tb};

/// f1 leaves the path of f0 behind s0 and comes back at s1, by s3; f2 goes along with f0 from s1 on.
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
    // In all cases s0 leaves RL(8, (10 + 6) / 8 = 2). Over s0 and s3, f1 keeps RL(8, 13/4) beside
    // f0, so it comes to s1 as TB(25/2, 2); with f2 that leaves RL(6, (10 + 33/2) / 6 = 53/12).
    // Delays are 2 + 53/12 + T + 8/6, with T the latency that f2 leaves at s2.
    let cases = [
        // f2 comes along the path of f0: at s1 it meets f1 only, which comes off that path and met
        // f0 before. RL(8, (10 + 25/2) / 8 = 45/16), f2 as TB(77/8, 2), T = 157/64.
        (FlowOfInterest::LowestPriority, ArrivalBound::AggregatePboo, "653/64", false),
        (FlowOfInterest::LowestPriority, ArrivalBound::AggregatePbooPerServer, "653/64", false),
        // Over one server, whole-path methods of DNC go on to leave f0 out: f1 as TB(10, 2),
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
    // f0 comes to s1 with what f1 leaves over at s0, RL(4, (7 + 10) / 4 = 17/4): as TB(29, 4). f1
    // gets RL(3, (7 + 12) / 3 = 19/3) at s0 and RL(3, (7 + 29) / 3 = 12) at s1: TB(65, 3) at s2.
    // But all that waits at s1 is at most 22 + 7 from s0 and 7 more: TB(36, 3). f2 then keeps
    // RL(7, (10 + b) / 7), and 5/7 for its burst.
    let settings = Settings::default()
        .multiplexed(Multiplexing::Arbitrary)
        .bounding_arrivals(ArrivalBound::AggregatePboo);
    let plain = bound_by(&network, "f2", Analysis::Sfa, settings.clone());
    assert_eq!(plain.delay, number("80/7"));
    let capped = bound_by(&network, "f2", Analysis::Sfa, settings.capping_bursts());
    assert_eq!(capped.delay, number("51/7"));
}
