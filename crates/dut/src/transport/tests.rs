//! The verdict for each kind of evidence.

use super::*;

const ANSWER: Option<Duration> = Some(Duration::from_millis(10));

/// Returns the evidence of an idle network with a round trip of 0.1 ms, in which requests wait at
/// the switch.
fn evidence() -> Evidence {
    Evidence {
        looks: 100,
        segments_sent: 10_000,
        segments_arrived: 10_000,
        round_trip: Some(Duration::from_micros(100)),
        smoothed_round_trips: 100 * Duration::from_millis(1),
        ..Evidence::new(false)
    }
}

fn side(evidence: Evidence) -> Side {
    evidence.side(ANSWER, Bulk::Requests)
}

#[test]
fn requests_that_wait_nowhere_else_wait_at_the_switch() {
    assert_eq!(side(evidence()), Side::Switch);
    assert_eq!(side(Evidence { in_network: 9, ..evidence() }), Side::Switch);
}

#[test]
fn a_closed_receive_window_is_that_of_the_switch() {
    let closed = Evidence { window_closed: 60, in_network: 30, ..evidence() };
    assert_eq!(side(closed), Side::Switch);
}

#[test]
fn a_receive_window_may_be_full_of_bytes_on_their_way() {
    let closed = Evidence { window_closed: 60, ..evidence() };
    // The window is smaller than what a long way holds.
    let far = Evidence { round_trip: Some(Duration::from_millis(9)), ..closed };
    assert_eq!(side(far), Side::Unknown);
    // It is smaller than a queue of the network.
    let smoothed_round_trips = 100 * Duration::from_millis(9);
    let queue = Evidence { smoothed_round_trips, in_flight: 60, ..closed };
    assert_eq!(side(queue), Side::Unknown);
    // Late acknowledgements of a few bytes are no queue.
    assert_eq!(side(Evidence { in_flight: 40, ..queue }), Side::Switch);
}

#[test]
fn bytes_that_the_switch_accepts_wait_for_the_network() {
    assert_eq!(side(Evidence { in_network: 60, ..evidence() }), Side::Network);
    assert_eq!(side(Evidence { in_network: 30, ..evidence() }), Side::Unknown);
}

#[test]
fn an_answer_that_takes_a_round_trip_waits_for_the_network() {
    let trip = |milliseconds| Some(Duration::from_millis(milliseconds));
    assert_eq!(side(Evidence { round_trip: trip(6), ..evidence() }), Side::Network);
    assert_eq!(side(Evidence { round_trip: trip(3), ..evidence() }), Side::Unknown);
    assert_eq!(side(Evidence { round_trip: None, ..evidence() }), Side::Unknown);
    assert_eq!(evidence().side(None, Bulk::Requests), Side::Unknown);
}

#[test]
fn late_acknowledgements_may_be_those_of_the_switch() {
    let smoothed = |each| 100 * Duration::from_millis(each);
    let late = Evidence { smoothed_round_trips: smoothed(6), ..evidence() };
    assert_eq!(side(late), Side::Unknown);
    assert_eq!(side(Evidence { smoothed_round_trips: smoothed(4), ..evidence() }), Side::Switch);
}

#[test]
fn a_queue_in_the_network_makes_round_trips_long_and_holds_segments() {
    let smoothed = |each| 100 * Duration::from_millis(each);
    let queue = Evidence { smoothed_round_trips: smoothed(6), in_flight: 60, ..evidence() };
    assert_eq!(side(queue), Side::Network);
    assert_eq!(side(Evidence { in_flight: 40, ..queue }), Side::Unknown);
    // Segments that are acknowledged soon are no queue.
    assert_eq!(side(Evidence { smoothed_round_trips: smoothed(1), ..queue }), Side::Switch);
}

#[test]
fn a_queue_that_never_empties_is_in_the_network_though_requests_wait_longer_at_the_switch() {
    let smoothed = |each| 100 * Duration::from_millis(each);
    let queue = Evidence { smoothed_round_trips: smoothed(2), in_flight: 75, ..evidence() };
    assert_eq!(side(queue), Side::Network);
    assert_eq!(side(Evidence { in_flight: 74, ..queue }), Side::Switch);
    // A smoothed round trip of less than ten times the shortest one is no standing queue.
    let long = Evidence { round_trip: Some(Duration::from_micros(223)), ..queue };
    assert_eq!(side(long), Side::Switch);
}

#[test]
fn answers_that_others_overtake_leave_the_side_open() {
    assert_eq!(side(Evidence { out_of_order: 100, ..evidence() }), Side::Unknown);
    assert_eq!(side(Evidence { out_of_order: 5, ..evidence() }), Side::Switch);
}

#[test]
fn between_two_ends_on_one_host_is_no_network() {
    let local = Evidence { is_local: true, in_network: 60, ..evidence() };
    assert_eq!(side(local), Side::Switch);
    assert_eq!(local.side(None, Bulk::Answers), Side::Switch);
    assert_eq!(side(Evidence::new(true)), Side::Switch);
}

#[test]
fn answers_that_are_not_read_wait_for_this_program() {
    for is_local in [false, true] {
        let unread = Evidence { is_local, unread: 60, ..evidence() };
        assert_eq!(side(unread), Side::Planimeter);
        assert_eq!(unread.side(ANSWER, Bulk::Answers), Side::Planimeter);
    }
}

#[test]
fn few_looks_do_not_decide_which_side_was_the_limit() {
    let few = Evidence { looks: 4, in_network: 4, window_closed: 4, ..evidence() };
    assert_eq!(side(few), Side::Unknown);
    let lossy = Evidence { looks: 4, out_of_order: 200, ..evidence() };
    assert_eq!(lossy.side(ANSWER, Bulk::Answers), Side::Unknown);
}

#[test]
fn what_keeps_answers_back_is_seen_only_if_they_are_lost() {
    assert_eq!(evidence().side(ANSWER, Bulk::Answers), Side::Unknown);
    let lossy = Evidence { out_of_order: 200, ..evidence() };
    assert_eq!(lossy.side(ANSWER, Bulk::Answers), Side::Network);
}

#[test]
fn a_look_tells_what_bytes_wait_for() {
    let connection = Connection { send_segment: 1_000, ..Connection::default() };
    let look = |connection: Connection, earlier: Connection| {
        let mut evidence = Evidence::new(false);
        evidence.look(&earlier, &connection, Duration::from_millis(2));
        [evidence.window_closed, evidence.in_network, evidence.in_flight]
    };
    assert_eq!(look(connection, connection), [0, 0, 0]);
    let waiting = Connection { unacknowledged: 6_000, not_sent: 4_000, ..connection };
    let window = |bytes| Connection { peer_window: Some(bytes), ..waiting };
    assert_eq!(look(window(2_500), connection), [1, 0, 0]);
    assert_eq!(look(window(60_000), connection), [0, 1, 0]);
    // Without the size of the window, the time for which it prevented sending tells.
    assert_eq!(look(Connection { window_limited: 1_500, ..waiting }, connection), [1, 0, 0]);
    assert_eq!(look(Connection { window_limited: 500, ..waiting }, connection), [0, 1, 0]);
    // Less than a segment may wait for more bytes.
    let little = Connection { unacknowledged: 2_900, not_sent: 900, ..window(60_000) };
    assert_eq!(look(little, connection), [0, 0, 0]);
    let flying = Connection { unacknowledged: 2_001, ..connection };
    assert_eq!(look(flying, connection), [0, 0, 1]);
    let lost = Connection { is_recovering: true, ..connection };
    assert_eq!(look(lost, connection), [0, 1, 0]);
}

#[test]
fn counters_and_series_add_up() {
    let first = Connection { segments_sent: 10, retransmissions: 1, ..Connection::default() };
    let last = Connection {
        segments_sent: 110,
        retransmissions: 4,
        segments_arrived: 50,
        out_of_order: 2,
        least_rtt: Some(300),
        ..Connection::default()
    };
    let mut one = Evidence::new(true);
    one.count(&first, &last);
    assert_eq!((one.segments_sent, one.retransmitted), (100, 3));
    assert_eq!((one.segments_arrived, one.out_of_order), (50, 2));
    assert_eq!(one.round_trip, Some(Duration::from_micros(300)));
    let sum = Evidence::sum(Some(one), Some(evidence())).expect("both have evidence");
    assert_eq!((sum.looks, sum.segments_sent, sum.is_local), (100, 10_100, false));
    assert_eq!(sum.round_trip, Some(Duration::from_micros(100)));
    assert_eq!(Evidence::sum(Some(one), None), Some(one));
    assert_eq!(Evidence::sum(None, None), None);
}
