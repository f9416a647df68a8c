//! Tests of the record of a switch's packet-ins: its counts, and how it treats answers, duplicates
//! and refusals.

use super::*;

fn tally() -> Tally {
    Tally::new(Window { from: 100, to: 200 }, 50, 1000)
}

fn send(ledger: &mut SwitchLedger, tally: &mut Tally, due: u64, sent: u64) -> u64 {
    ledger.due(tally, due);
    let sequence = ledger.issue(tally, due);
    ledger.left(tally, sequence, sent);
    sequence
}

#[test]
fn only_packet_ins_of_the_window_are_counted() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    for due in [50, 99, 100, 199, 200] {
        let sequence = send(&mut ledger, &mut tally, due, due + 1);
        assert_eq!(
            ledger.answer(&mut tally, sequence, due + 11),
            Answer::First { frees_place: true }
        );
    }
    let counts = ledger.counts();
    assert_eq!((counts.due, counts.sent, counts.answered, counts.lost), (2, 2, 2, 0));
    assert_eq!(tally.histograms.rtt_from_due.len(), 2);
    assert_eq!(tally.histograms.rtt_from_due.max(), 11);
    assert_eq!(tally.histograms.rtt_from_sent.max(), 10);
    assert_eq!((ledger.total_answered(), ledger.outstanding()), (5, 0));
}

#[test]
fn times_of_seconds_are_recorded_as_they_are() {
    const SECOND: u64 = 1_000_000_000;
    let mut tally = Tally::new(Window { from: 0, to: SECOND }, SECOND, 10);
    let mut ledger = SwitchLedger::default();
    let sequence = send(&mut ledger, &mut tally, 0, SECOND);
    ledger.answer(&mut tally, sequence, 20 * SECOND);
    for (histogram, expected) in [
        (&tally.histograms.send_lag, SECOND),
        (&tally.histograms.rtt_from_due, 20 * SECOND),
        (&tally.histograms.rtt_from_sent, 19 * SECOND),
    ] {
        let error = histogram.max().abs_diff(expected) as f64 / expected as f64;
        assert!(error < 0.001, "{} instead of {expected}", histogram.max());
    }
}

#[test]
fn lost_late_duplicated_and_unmatched_are_distinguished() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    let lost = send(&mut ledger, &mut tally, 100, 100);
    let late = send(&mut ledger, &mut tally, 101, 101);
    let twice = send(&mut ledger, &mut tally, 102, 102);
    ledger.answer(&mut tally, twice, 110);
    assert_eq!(ledger.answer(&mut tally, twice, 111), Answer::Duplicate);
    assert_eq!(ledger.answer(&mut tally, late, 152), Answer::First { frees_place: true });
    assert_eq!(ledger.answer(&mut tally, 77, 153), Answer::Unmatched);
    let counts = ledger.counts();
    assert_eq!((counts.lost, counts.late, counts.duplicated), (1, 1, 1));
    assert_eq!(ledger.outstanding(), 1);
    assert!(ledger.place(lost).is_some());
}

#[test]
fn an_answer_before_its_packet_in_left_is_unmatched() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    let sequence = ledger.issue(&mut tally, 100);
    assert_eq!(ledger.answer(&mut tally, sequence, 120), Answer::Unmatched);
}

#[test]
fn unsent_packet_ins_block_neither_the_ring_nor_the_loop() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    let stuck = ledger.issue(&mut tally, 100);
    let sent = send(&mut ledger, &mut tally, 101, 101);
    ledger.answer(&mut tally, sent, 105);
    ledger.abandon(&mut tally, stuck);
    assert_eq!((ledger.in_loop(), ledger.outstanding(), tally.places), (0, 0, 0));
    assert_eq!(ledger.counts().lost, 0);
}

#[test]
fn packets_that_rules_handle_are_neither_sent_nor_lost_nor_outstanding() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    for (due, forwarded) in [(50, true), (100, true), (101, true), (102, false)] {
        ledger.due(&mut tally, due);
        let sequence = ledger.issue(&mut tally, due);
        ledger.handled(&mut tally, sequence, forwarded);
        assert_eq!(ledger.answer(&mut tally, sequence, 110), Answer::Duplicate);
    }
    let sent = send(&mut ledger, &mut tally, 103, 103);
    ledger.answer(&mut tally, sent, 110);
    let counts = ledger.counts();
    assert_eq!((counts.forwarded_by_rules, counts.dropped_by_rules), (2, 1));
    assert_eq!((counts.due, counts.sent, counts.answered, counts.lost), (4, 1, 1, 0));
    assert_eq!((counts.handled_by_rules(), counts.unsent), (3, 0));
    assert_eq!((ledger.in_loop(), ledger.outstanding(), tally.places), (0, 0, 0));
}

#[test]
fn forgotten_times_are_reported_and_answers_still_counted() {
    let mut tally = Tally::new(Window { from: 0, to: 1000 }, 50, 2);
    let mut ledger = SwitchLedger::default();
    let first = send(&mut ledger, &mut tally, 1, 1);
    for due in 2..5 {
        send(&mut ledger, &mut tally, due, due);
    }
    assert_eq!(ledger.answer(&mut tally, first, 9), Answer::First { frees_place: true });
    assert_eq!(ledger.answer(&mut tally, first, 10), Answer::Duplicate);
    let counts = ledger.counts();
    assert_eq!((counts.answered, counts.untimed, counts.duplicated), (1, 1, 1));
    assert_eq!(tally.histograms.rtt_from_due.len(), 0);
    assert_eq!(ledger.outstanding(), 3);
}

#[test]
fn a_packet_in_without_times_is_outstanding_until_its_answer() {
    let mut tally = Tally::new(Window { from: 0, to: 1000 }, 50, 1);
    let mut ledger = SwitchLedger::default();
    for due in 1..3 {
        ledger.due(&mut tally, due);
        ledger.issue(&mut tally, due);
    }
    ledger.refuse(&mut tally);
    assert_eq!((tally.pending(), tally.refused), (2, 2));
    assert_eq!(ledger.answer(&mut tally, 0, 5), Answer::Unmatched);
    ledger.left(&mut tally, 0, 6);
    ledger.left(&mut tally, 0, 7);
    assert_eq!((tally.pending(), tally.refused, tally.outstanding()), (1, 1, 1));
    assert_eq!(ledger.answer(&mut tally, 0, 8), Answer::First { frees_place: true });
    ledger.left(&mut tally, 1, 9);
    let counts = ledger.counts();
    assert_eq!((counts.due, counts.sent, counts.answered, counts.untimed), (2, 2, 1, 1));
    assert_eq!((tally.pending(), tally.refused, tally.outstanding()), (0, 0, 1));
    assert_eq!((ledger.outstanding(), ledger.hindered().held_back), (1, 2));
}

#[test]
fn an_unsent_packet_in_without_times_has_its_reason() {
    for cut_off in [true, false] {
        let mut tally = Tally::new(Window { from: 0, to: 1000 }, 50, 1);
        let mut ledger = SwitchLedger::default();
        for due in 1..4 {
            ledger.due(&mut tally, due);
            ledger.issue(&mut tally, due);
        }
        ledger.refuse(&mut tally);
        if cut_off {
            ledger.cut_off(&mut tally);
        }
        ledger.close(&mut tally);
        let expected = match cut_off {
            true => Hindered { cut_off: 3, ..Hindered::default() },
            false => Hindered { refused: 3, ..Hindered::default() },
        };
        assert_eq!((ledger.hindered(), ledger.counts().unsent), (expected, 3));
        assert_eq!((tally.pending(), tally.refused, ledger.in_loop()), (0, 0, 0));
    }
}

#[test]
fn a_lost_packet_in_whose_times_were_discarded_frees_its_place() {
    let mut tally = Tally::new(Window { from: 0, to: 1000 }, 50, 1);
    let mut ledger = SwitchLedger::default();
    let lost = send(&mut ledger, &mut tally, 1, 1);
    send(&mut ledger, &mut tally, 2, 2);
    assert_eq!((ledger.in_loop(), ledger.give_up(2)), (2, 0));
    assert_eq!(ledger.give_up(3), 2);
    assert_eq!((ledger.in_loop(), ledger.outstanding()), (0, 0));
    assert_eq!(ledger.answer(&mut tally, lost, 140), Answer::First { frees_place: false });
}

#[test]
fn in_order_matching_takes_the_oldest_even_if_its_times_were_discarded() {
    let mut tally = Tally::new(Window { from: 0, to: 1000 }, 50, 1);
    let mut ledger = SwitchLedger::default();
    for due in 1..4 {
        send(&mut ledger, &mut tally, due, due);
    }
    for expected in 0..3 {
        assert_eq!(ledger.answer_oldest(&mut tally, 10).1, Some(expected));
    }
    assert_eq!(ledger.answer_oldest(&mut tally, 11), (Answer::Unmatched, None));
    assert_eq!((ledger.counts().untimed, tally.histograms.rtt_from_sent.len()), (2, 1));
}

#[test]
fn only_packet_ins_that_the_connection_refused_are_held_back() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    send(&mut ledger, &mut tally, 100, 100);
    // This packet-in waits in the engine's buffer after a reply, and leaves with it.
    let behind = ledger.issue(&mut tally, 101);
    ledger.left(&mut tally, behind, 150);
    assert_eq!(ledger.hindered(), Hindered::default());
    let written = ledger.issue(&mut tally, 102);
    ledger.wait(&mut tally, 103);
    ledger.refuse(&mut tally);
    ledger.wait(&mut tally, 104);
    ledger.left(&mut tally, written, 160);
    let (due, refused) = ledger.issue_waiting(&mut tally).expect("one waits");
    ledger.left(&mut tally, refused, 160);
    assert_eq!((due, ledger.hindered().held_back), (103, 2));
    let (due, later) = ledger.issue_waiting(&mut tally).expect("one waits");
    ledger.left(&mut tally, later, 160);
    assert_eq!((due, ledger.hindered().held_back), (104, 2));
    assert_eq!(ledger.issue_waiting(&mut tally), None);
}

#[test]
fn every_due_packet_in_is_accounted_for() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    for due in 95..105 {
        ledger.due(&mut tally, due);
        ledger.withhold(&mut tally, due, Hindrance::NoConnection);
    }
    for due in 105..125 {
        ledger.due(&mut tally, due);
        ledger.wait(&mut tally, due);
    }
    // When the connection ends, four packet-ins have left, one waits in a buffer, and the rest are
    // not issued.
    let issued: Vec<_> = (0..5).filter_map(|_| ledger.issue_waiting(&mut tally)).collect();
    for (due, sequence) in &issued[..4] {
        ledger.left(&mut tally, *sequence, due + 1);
    }
    ledger.cut_off(&mut tally);
    assert_eq!((tally.pending(), tally.outstanding(), ledger.waiting()), (0, 4, 0));
    for due in 125..135 {
        ledger.due(&mut tally, due);
        ledger.wait(&mut tally, due);
    }
    // Three packet-ins are refused, one of which was issued; seven become due later.
    ledger.issue_waiting(&mut tally);
    (ledger.refused_waiting, ledger.refused_pending) = (2, 3);
    tally.refused = 3;
    ledger.refused_to = ledger.next_sequence();
    ledger.close(&mut tally);
    let counts = ledger.counts();
    assert_eq!((counts.due, counts.sent, counts.unsent), (35, 4, 31));
    assert_eq!(ledger.hindered(), Hindered { held_back: 0, refused: 3, cut_off: 21 });
    assert_eq!((tally.pending(), ledger.in_loop()), (0, 4));
    // A packet-in that a stream held when it was taken back does not count if it leaves after all.
    ledger.left(&mut tally, issued[4].1, 140);
    assert_eq!(ledger.counts(), counts);
}

#[test]
fn the_unanswered_end_of_a_trial_is_found() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    for due in 100..110 {
        let sequence = send(&mut ledger, &mut tally, due, due);
        if due < 106 && due != 103 {
            ledger.answer(&mut tally, sequence, due + 5);
        }
    }
    assert_eq!((tally.answered_up_to(), tally.last_answer()), (Some(105), Some(110)));
    assert_eq!(ledger.left_after(105), (4, Some((106, 6))));
    assert_eq!(ledger.left_after(109), (0, None));
}

#[test]
fn giving_up_frees_places_once() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    let first = send(&mut ledger, &mut tally, 100, 100);
    let second = send(&mut ledger, &mut tally, 101, 101);
    ledger.answer(&mut tally, second, 105);
    send(&mut ledger, &mut tally, 130, 130);
    assert_eq!((ledger.in_loop(), ledger.outstanding()), (2, 2));
    assert_eq!(ledger.give_up(120), 1);
    assert_eq!(ledger.give_up(120), 0);
    assert_eq!((ledger.in_loop(), ledger.outstanding()), (1, 1));
    assert_eq!(ledger.answer(&mut tally, first, 140), Answer::First { frees_place: false });
    assert_eq!((ledger.in_loop(), ledger.outstanding()), (1, 1));
    assert_eq!(ledger.counts().lost, 1);
}

#[test]
fn sequence_numbers_are_widened_to_the_latest_issued() {
    let mut tally = Tally::new(Window { from: 0, to: 1 }, 1, 10);
    let mut ledger = SwitchLedger::default();
    assert_eq!(ledger.widen(0, 3), None);
    for due in 0..21 {
        send(&mut ledger, &mut tally, due, due);
    }
    assert_eq!(ledger.widen(4, 3), Some(20));
    assert_eq!(ledger.widen(5, 3), Some(13));
    assert_eq!(ledger.widen(0, 3), Some(16));
}

#[test]
fn in_order_matching_takes_the_oldest() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    assert_eq!(ledger.answer_oldest(&mut tally, 99), (Answer::Unmatched, None));
    send(&mut ledger, &mut tally, 100, 100);
    send(&mut ledger, &mut tally, 101, 101);
    assert_eq!(ledger.answer_oldest(&mut tally, 110).1, Some(0));
    assert_eq!(ledger.answer_oldest(&mut tally, 111).1, Some(1));
    assert_eq!(ledger.answer_oldest(&mut tally, 112), (Answer::Unmatched, None));
}

/// Checks that the round-trip times in the window include those of answers to earlier packet-ins
/// and exclude those of answers after the window.
#[test]
fn times_of_answers_in_the_window_are_exact_once_the_record_is_closed() {
    let (mut tally, mut ledger) = (tally(), SwitchLedger::default());
    let Window { from, to } = tally.window();
    let mut answer = |due: u64, after: u64| {
        let sequence = ledger.issue(&mut tally, due);
        ledger.left(&mut tally, sequence, due);
        ledger.answer(&mut tally, sequence, due + after);
    };
    answer(from - 20, 10);
    answer(from - 20, 30);
    answer(from, 40);
    answer(from + 1, 50);
    answer(to - 1, 60);
    tally.close();
    let times = &tally.histograms.rtt_in_window;
    let recorded: Vec<u64> = times.iter_recorded().map(|one| one.value_iterated_to()).collect();
    assert_eq!(recorded, [30, 40, 50]);
    assert_eq!(tally.histograms.rtt_from_sent.len(), 3);
}
