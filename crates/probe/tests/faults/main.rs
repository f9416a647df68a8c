//! Tests with controllers and networks that misbehave: the run must end in bounded time, report
//! what happened, and count correctly.

mod apart;
mod digests;
mod idle;
mod network;
mod openflow_peer;
mod p4runtime;
mod run;

use std::time::Duration;

use openflow_peer::{Behaviour, Peer};
use probe::outcome::{Completion, Saturated, Trial};
use run::run;

/// Runs one trial of two OpenFlow switches that send 30 packet-ins each in 300 ms.
fn trial(peer: &Peer, more: &[(&str, &str)]) -> Trial {
    let address = peer.address().to_string();
    let mut settings = vec![
        ("protocol", "openflow13"),
        ("controller.address", address.as_str()),
        ("switches.count", "2"),
        ("traffic.rate", "100"),
        ("timing.connect-timeout", "1s"),
        ("timing.settle", "0s"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "300ms"),
        ("timing.drain", "300ms"),
    ];
    settings.extend(more);
    run(&settings)
}

fn failure(trial: &Trial) -> &str {
    match &trial.completion {
        Completion::Failed { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// Asserts that no switch became ready, and that the result contains the address, the stage reached
/// and the error.
#[track_caller]
fn assert_never_ready(trial: &Trial, peer: &Peer, stage: &str, error: Option<&str>) {
    assert!(failure(trial).contains("0 of 2 switches were ready"), "{}", failure(trial));
    assert_eq!(trial.handshake.ready, 0);
    assert_eq!(trial.counts.sent, 0);
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains(&peer.address().to_string()), "{why}");
    assert!(why.contains(stage), "{why}");
    if let Some(error) = error {
        assert!(why.contains(error), "{why}");
    }
}

#[test]
fn a_refused_connection_is_reported() {
    let peer = Peer::refusing();
    let trial = trial(&peer, &[]);
    assert_never_ready(&trial, &peer, "no connection yet", Some("refused"));
}

#[test]
fn an_absent_controller_leaves_switches_without_a_connection() {
    let peer = Peer::absent();
    let trial = trial(&peer, &[]);
    assert_never_ready(&trial, &peer, "no connection yet", None);
}

#[test]
fn a_name_that_does_not_resolve_is_an_error() {
    // A label has at most 63 characters, so no name server is queried.
    let address = format!("{}:6653", "x".repeat(64));
    let error = run::try_run(&[("controller.address", &address)]).expect_err("nobody has the name");
    assert!(error.contains(&address), "{error}");
}

#[test]
fn connections_that_are_closed_at_once_are_reported() {
    let peer = Peer::start(Behaviour::CloseAtOnce);
    let trial = trial(&peer, &[]);
    // The connection is closed in order, or reset because the switch's HELLO was not read.
    assert_never_ready(&trial, &peer, "waiting for the controller's HELLO", Some("onnection"));
}

#[test]
fn a_connection_closed_during_the_handshake_is_reported_with_its_stage() {
    let peer = Peer::start(Behaviour::CloseAfterHello);
    let trial = trial(&peer, &[]);
    assert_never_ready(&trial, &peer, "waiting for the controller to ask for features", None);
    let errors = &trial.handshake.errors;
    assert!(errors.keys().any(|error| error.contains("closed")), "{errors:?}");
    assert!(trial.counts.disconnects > 0, "{:?}", trial.counts);
}

#[test]
fn a_silent_controller_is_reported_as_waiting_for_its_hello() {
    let peer = Peer::start(Behaviour::Silent);
    let trial = trial(&peer, &[]);
    assert_never_ready(&trial, &peer, "waiting for the controller's HELLO", None);
}

#[test]
fn a_peer_that_does_not_speak_openflow_is_reported() {
    let peer = Peer::start(Behaviour::GarbageAtOnce);
    let trial = trial(&peer, &[]);
    assert_never_ready(
        &trial,
        &peer,
        "waiting for the controller's HELLO",
        Some("does not speak OpenFlow"),
    );
}

#[test]
fn packet_ins_without_a_connection_are_unsent_and_not_lost() {
    let peer = Peer::start(Behaviour::CloseAfterPackets(10));
    let trial = trial(&peer, &[]);
    let counts = trial.counts;
    assert!(counts.disconnects >= 2, "{counts:?}");
    assert_eq!((counts.due, trial.handshake.ready), (60, 2), "{counts:?}");
    // Packet-ins without a connection are not lost, but unsent.
    assert!(counts.sent < counts.due, "{counts:?}");
    assert_eq!(counts.sent + counts.unsent, counts.due, "{counts:?}");
    assert_eq!(counts.answered + counts.lost, counts.sent, "{counts:?}");
    assert!(counts.answered >= 10, "{counts:?}");
    let never = format!("{} of 60 packet-ins that were due never left: ", counts.unsent);
    let note = trial.notes.iter().find(|note| note.starts_with(&never));
    let cut_off = format!("{} had no connection to leave by", counts.unsent);
    assert!(note.is_some_and(|note| note.contains(&cut_off)), "{:?}", trial.notes);
    assert!(trial.silence.is_none(), "{:?}", trial.silence);
    let errors = &trial.handshake.errors;
    assert!(errors.keys().any(|error| error.contains("closed")), "{errors:?}");
    assert_eq!(trial.verdict.saturated, Saturated::Controller, "{:?}", trial.verdict);
}

/// All answers in the window belong to packet-ins of the warm-up, and the packet-ins of the window
/// are lost.
#[test]
fn a_controller_with_a_backlog_is_the_limit() {
    let peer = Peer::start(Behaviour::AnswerPerSecond(50));
    let more = [
        ("traffic.arp-first", "false"),
        ("traffic.rate", "400"),
        ("timing.warm-up", "1s"),
        ("timing.measure", "1s"),
        ("timing.drain", "100ms"),
    ];
    let trial = trial(&peer, &more);
    let (counts, in_window, verdict) = (trial.counts, trial.in_window, &trial.verdict);
    assert_eq!((counts.answered, counts.lost + counts.unsent), (0, counts.due), "{counts:?}");
    assert!(in_window.answers > 0 && in_window.rtt_from_sent.samples > 0, "{in_window:?}");
    assert_eq!(in_window.answers_to_earlier, in_window.answers, "{in_window:?}");
    assert_eq!(verdict.saturated, Saturated::Controller, "{verdict:?}");
    assert!(verdict.because.contains("were to packet-ins that were due before it"), "{verdict:?}");
    assert!(verdict.because.contains("Next: `") && verdict.because.contains("-r "), "{verdict:?}");
    let backlog = verdict.backlog.expect("it grew");
    assert!(backlog.at_end > backlog.at_start + counts.due / 2, "{backlog:?}");
    // The rate agrees with the values per second.
    let seconds = trial.series.sent_per_s.get(1).copied().unwrap_or(0);
    assert!((trial.rates.sent - seconds as f64).abs() < 1e-9, "{:?}", trial.series);
    assert!(trial.rates.loss <= 1.0, "{:?}", trial.rates);
}

#[test]
fn a_backlog_is_waited_for_until_it_is_empty() {
    let peer = Peer::start(Behaviour::AnswerPerSecond(50));
    let more = [
        ("traffic.arp-first", "false"),
        ("traffic.rate", "100"),
        ("timing.warm-up", "200ms"),
        ("timing.measure", "1s"),
        ("timing.drain", "until-empty:1m"),
    ];
    let trial = trial(&peer, &more);
    let counts = trial.counts;
    assert_eq!((counts.answered, counts.lost, counts.unsent), (counts.due, 0, 0), "{counts:?}");
    let answers = counts.answered - counts.answered_after + trial.in_window.answers_to_earlier;
    assert_eq!(answers, trial.in_window.answers, "{counts:?}, {:?}", trial.in_window);
    assert_eq!(trial.verdict.saturated, Saturated::Controller, "{:?}", trial.verdict);
}

#[test]
fn a_controller_that_stopped_is_reported_with_the_first_unanswered_frame() {
    let peer = Peer::start(Behaviour::AnswerUpTo(10));
    let more = [("traffic.arp-first", "false"), ("timing.drain", "2s")];
    let trial = trial(&peer, &more);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (60, 20, 40), "{counts:?}");
    let silence = trial.silence.expect("it is noticed");
    assert_eq!((silence.unanswered, silence.sequence), (40, 10), "{silence:?}");
    assert!(silence.switch < 2 && silence.frame.starts_with("TCP "), "{silence:?}");
    assert!(silence.last_answer_s < silence.until_s, "{silence:?}");
    assert_eq!(trial.verdict.saturated, Saturated::Unknown, "{:?}", trial.verdict);
    assert!(trial.verdict.because.contains(&silence.frame), "{:?}", trial.verdict);
    // Seconds without an answer have the value 0 instead of being left out.
    let series = &trial.series;
    assert_eq!(series.received_per_s.len(), series.sent_per_s.len());
    assert!(series.received_per_s.len() >= 2 && series.received_per_s.last() == Some(&0));
}

#[test]
fn a_search_against_a_controller_that_stops_names_no_rate() {
    let peer = Peer::start(Behaviour::AnswerUpTo(70));
    let address = peer.address().to_string();
    let result = run::try_run(&[
        ("controller.address", &address),
        ("switches.count", "1"),
        ("plan.kind", "search"),
        ("plan.low", "100"),
        ("plan.high", "800"),
        ("traffic.arp-first", "false"),
        ("timing.settle", "0s"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "300ms"),
        ("timing.drain", "300ms"),
    ])
    .expect("a result");
    // The controller counts its answers per connection, and each trial has new ones. It answers all
    // 30 packet-ins of the first rate and all 60 of the second, and stops during the third.
    let search = result.search.expect("a search");
    assert_eq!(search.loss_free_rate, None, "{search:?}");
    assert!(
        result.notes.iter().any(|note| note.contains("stopped answering")),
        "{:?}",
        result.notes
    );
    assert!(result.points.iter().any(|point| point.trials.iter().any(|t| t.silence.is_some())));
}

#[test]
fn replies_waiting_in_the_probe_are_not_blamed_on_the_controller() {
    // Replies delay most packet-ins; the controller reads all of them.
    let peer = Peer::start(Behaviour::AskThenAnswer(40));
    let trial = trial(&peer, &[("traffic.rate", "1000"), ("timing.drain", "10s")]);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.unsent), (600, 600, 0), "{counts:?}");
    let note = trial.notes.iter().find(|note| note.contains("did not read its connection"));
    assert_eq!(note, None);
}

#[test]
fn text_in_the_middle_of_traffic_ends_the_connection() {
    let peer = Peer::start(Behaviour::TextAfterPackets(10));
    let trial = trial(&peer, &[]);
    let counts = trial.counts;
    assert!(counts.disconnects >= 2, "{counts:?}");
    let errors = &trial.handshake.errors;
    assert!(errors.keys().any(|error| error.contains("not a version")), "{errors:?}");
}

#[test]
fn garbage_in_the_middle_of_traffic_ends_the_connection() {
    let peer = Peer::start(Behaviour::GarbageAfterPackets(10));
    let trial = trial(&peer, &[]);
    let counts = trial.counts;
    assert!(counts.disconnects >= 2, "{counts:?}");
    assert_eq!(counts.answered + counts.lost, counts.sent, "{counts:?}");
    let errors = &trial.handshake.errors;
    assert!(errors.keys().any(|error| error.contains("does not speak OpenFlow")), "{errors:?}");
}

#[test]
fn messages_that_cannot_be_decoded_are_counted_and_the_session_goes_on() {
    let peer = Peer::start(Behaviour::MalformedThenAnswer);
    // Announcements would be answered as well, so they are switched off.
    let trial = trial(&peer, &[("timing.drain", "10s"), ("traffic.arp-first", "false")]);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered), (60, 60), "{counts:?}");
    assert_eq!((counts.malformed, counts.disconnects), (60, 0), "{counts:?}");
    assert_eq!(trial.completion, Completion::Complete);
}

/// A switch refuses the packet-outs of a slave (OpenFlow 1.3.5, 6.3.4).
#[test]
fn packet_outs_of_a_slave_answer_no_packet_in() {
    for mode in ["open", "flood"] {
        let peer = Peer::start(Behaviour::SlaveThenAnswer);
        let trial = trial(&peer, &[("traffic.arp-first", "false"), ("traffic.mode", mode)]);
        let counts = trial.counts;
        assert_eq!(counts.answered, 0, "{mode}: {counts:?}");
        assert!(counts.not_taken > 0 && counts.packet_outs == 0, "{mode}: {counts:?}");
        // A flood ends by closing connections, which is the last error then.
        let errors = &trial.handshake.errors;
        let says = errors.keys().any(|error| error.contains("is slave"));
        assert!(says || mode == "flood", "{mode}: {errors:?}");
        assert_eq!(trial.completion, Completion::Complete);
    }
}

#[test]
fn second_answers_are_duplicates() {
    let peer = Peer::start(Behaviour::Answer { copies: 2 });
    // The last answer may be a duplicate, so the drain leaves time for it.
    let trial = trial(&peer, &[("timing.drain", "10s"), ("switch", "0-1:stop-delay=100ms")]);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (40, 40, 0), "{counts:?}");
    assert_eq!((counts.duplicated, counts.unmatched), (40, 0), "{counts:?}");
    assert_eq!(trial.rtt_from_due.samples, 40);
    assert_eq!(trial.completion, Completion::Complete);
}

#[test]
fn a_process_name_without_a_match_is_reported() {
    let peer = Peer::start(Behaviour::Answer { copies: 1 });
    let name = format!("name:none-has-this-{}", std::process::id());
    let trial = trial(&peer, &[("controller.process", &name), ("timing.sample", "20ms")]);
    assert!(trial.controller_usage.is_none(), "{:?}", trial.controller_usage);
    let is_noted = trial.notes.iter().any(|note| note.contains("no process matched"));
    assert!(is_noted, "{:?}", trial.notes);
}

#[test]
fn unanswered_packet_ins_are_lost_and_explained() {
    let peer = Peer::start(Behaviour::Answer { copies: 0 });
    let trial = trial(&peer, &[]);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (60, 0, 60), "{counts:?}");
    assert!((trial.rates.loss - 1.0).abs() < f64::EPSILON, "{:?}", trial.rates);
    assert_eq!(trial.rtt_from_due.samples, 0);
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("60 packet-ins left and nothing at all came back"), "{why}");
    assert_eq!(trial.completion, Completion::Complete);
}

#[test]
fn switches_that_run_their_tables_send_no_packet_in_without_rules() {
    for mode in ["open", "closed"] {
        let peer = Peer::start(Behaviour::Answer { copies: 1 });
        let trial = trial(&peer, &[("switches.flow-tables", "run"), ("traffic.mode", mode)]);
        let counts = trial.counts;
        assert!(counts.due >= 60 && counts.dropped_by_rules == counts.due, "{mode}: {counts:?}");
        assert_eq!((counts.sent, counts.lost, counts.forwarded_by_rules), (0, 0, 0), "{counts:?}");
        assert_eq!(trial.verdict.saturated, Saturated::Neither, "{:?}", trial.verdict);
        let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
        assert!(why.contains("--flow-tables bypass"), "{why}");
        assert_eq!(trial.completion, Completion::Complete);
    }
}

#[test]
fn answers_with_other_packets_are_unmatched() {
    let peer = Peer::start(Behaviour::AnswerWithOtherPacket);
    let trial = trial(&peer, &[]);
    let counts = trial.counts;
    assert_eq!((counts.answered, counts.lost), (0, 60), "{counts:?}");
    assert!(counts.unmatched > 0, "{counts:?}");
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("--matching order"), "{why}");
}

#[test]
fn late_answers_are_counted_and_timed() {
    let peer = Peer::start(Behaviour::Answer { copies: 1 });
    // No answer arrives within a microsecond.
    let trial = trial(&peer, &[("traffic.late-after", "1us"), ("timing.drain", "10s")]);
    let counts = trial.counts;
    assert_eq!((counts.answered, counts.late, counts.lost), (60, 60, 0), "{counts:?}");
    assert_eq!(trial.rtt_from_due.samples, 60);
}

#[test]
fn a_missing_switch_fails_the_trial_unless_it_is_permitted() {
    let peer = Peer::start(Behaviour::ServeOne);
    let strict = trial(&peer, &[]);
    assert!(failure(&strict).contains("1 of 2 switches were ready"), "{}", failure(&strict));
    let peer = Peer::start(Behaviour::ServeOne);
    let lenient = trial(&peer, &[("timing.allow-missing", "true"), ("timing.drain", "10s")]);
    let Completion::Partial { reason } = &lenient.completion else {
        panic!("{:?}", lenient.completion);
    };
    assert!(reason.contains("1 of 2 switches were not connected"), "{reason}");
    let counts = lenient.counts;
    assert_eq!((counts.sent, counts.answered), (30, 30), "{counts:?}");
}

#[test]
fn a_controller_that_disconnects_unknown_switches_is_reported() {
    let peer = Peer::start(Behaviour::WelcomeOne);
    // With one thread, the end of one connection is seen before later events on the other.
    let trial = trial(&peer, &[("threads", "1"), ("timing.connect-timeout", "3s")]);
    let reason = failure(&trial);
    assert!(reason.contains("1 of 2 switches were ready after 3 s, although 2 had"), "{reason}");
    assert!(reason.contains("datapath ids (--first-id)"), "{reason}");
    let handshake = &trial.handshake;
    assert_eq!((handshake.ready, handshake.ready_at_end), (2, Some(1)), "{handshake:?}");
    let why = handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("the controller ended"), "{why}");
}

#[test]
fn a_closed_loop_has_no_more_outstanding_than_its_window_allows() {
    let peer = Peer::start(Behaviour::Answer { copies: 0 });
    let closed = [
        ("traffic.mode", "closed"),
        ("switches.count", "4"),
        ("traffic.give-up", "20ms"),
        ("timing.sample", "10ms"),
    ];
    let trial = trial(&peer, &closed);
    let most = trial.series.outstanding.iter().max();
    assert_eq!(most, Some(&4), "{:?}", trial.series.outstanding);
    // Each slot of the window was given up and used again.
    assert!(trial.counts.lost > 4, "{:?}", trial.counts);
}

#[test]
fn an_interrupt_ends_every_phase() {
    // The first controller is silent, the second one serves.
    let silent = Peer::start(Behaviour::Silent);
    let address = silent.address().to_string();
    let trial = run::interrupted(
        &[("controller.address", &address), ("timing.connect-timeout", "1h")],
        probe::Phase::Connecting,
    );
    assert!(failure(&trial).contains("interrupted while connecting"), "{}", failure(&trial));

    let serving = Peer::start(Behaviour::Answer { copies: 1 });
    let address = serving.address().to_string();
    let common = [("controller.address", address.as_str()), ("switches.count", "1")];
    for (phase, long) in [
        (probe::Phase::Settling, ("timing.settle", "1h")),
        (probe::Phase::WarmingUp, ("timing.warm-up", "1h")),
        (probe::Phase::Measuring, ("timing.measure", "1h")),
    ] {
        let rest = [
            ("timing.settle", "0s"),
            ("timing.warm-up", "0s"),
            ("timing.measure", "100ms"),
            ("timing.sample", "50ms"),
        ];
        let rest = rest.into_iter().filter(|(key, _)| *key != long.0);
        let settings: Vec<_> = common.into_iter().chain(rest).chain([long]).collect();
        let trial = run::interrupted(&settings, phase);
        // No metric exists before the window begins, and a zero needs no explanation.
        if phase != probe::Phase::Measuring {
            assert!(trial.metrics().is_empty(), "{phase:?}: {:?}", trial.metrics());
        }
        if phase == probe::Phase::WarmingUp {
            assert_eq!(trial.handshake.why_zero, None);
        }
        match (&trial.completion, phase) {
            (Completion::Failed { reason }, probe::Phase::Settling)
            | (Completion::Partial { reason }, _) => {
                assert!(reason.contains("interrupted"), "{phase:?}: {reason}");
            }
            (other, _) => panic!("{phase:?}: {other:?}"),
        }
    }
}

#[test]
fn an_interrupt_while_draining_keeps_what_was_measured() {
    let mute = Peer::start(Behaviour::Answer { copies: 0 });
    let address = mute.address().to_string();
    let trial = run::interrupted(
        &[
            ("controller.address", &address),
            ("switches.count", "1"),
            ("traffic.rate", "100"),
            ("timing.settle", "0s"),
            ("timing.warm-up", "0s"),
            ("timing.measure", "100ms"),
            ("timing.sample", "50ms"),
            ("timing.drain", "1h"),
        ],
        probe::Phase::Draining,
    );
    assert_eq!(
        trial.completion,
        Completion::Partial { reason: "interrupted while draining".into() }
    );
    assert_eq!((trial.counts.sent, trial.counts.lost), (10, 10), "{:?}", trial.counts);
}

#[test]
fn the_rates_of_an_interrupted_trial_are_over_the_time_that_was_measured() {
    let peer = Peer::start(Behaviour::Answer { copies: 1 });
    let address = peer.address().to_string();
    let trial = run::interrupted_after(
        &[
            ("controller.address", &address),
            ("switches.count", "4"),
            ("traffic.rate", "250"),
            ("timing.settle", "0s"),
            ("timing.warm-up", "0s"),
            ("timing.measure", "1h"),
            // Samples are widely spaced, so that the end of the window cannot be mistaken for one.
            ("timing.sample", "10s"),
        ],
        500,
    );
    // Packet-ins are evenly spaced, so their number follows from the window except at its edges.
    let expected = trial.measured_s * 1000.0;
    assert!(trial.counts.due >= 500, "{:?}", trial.counts);
    assert!((trial.counts.due as f64 - expected).abs() <= 25.0, "{expected} {:?}", trial.counts);
}

#[test]
fn an_interrupt_ends_the_command_between_trials() {
    let peer = Peer::start(Behaviour::Answer { copies: 1 });
    let address = peer.address().to_string();
    // The command is found by its argument, and is not the last one, so that every shell forks it.
    let sleep = format!("sleep 3600.{}", std::process::id());
    let between = format!("{sleep}; true");
    let result = run::interrupted_after_a_trial(&[
        ("controller.address", &address),
        ("switches.count", "1"),
        ("plan.repetitions", "2"),
        ("plan.between", &between),
        ("timing.settle", "0s"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "100ms"),
        ("timing.sample", "50ms"),
    ]);
    assert!(matches!(result.completion, Completion::Partial { .. }), "{:?}", result.completion);
    let trials: usize = result.points.iter().map(|point| point.trials.len()).sum();
    assert_eq!(trials, 1);
    let left = || {
        std::fs::read_dir("/proc").expect("processes").flatten().find(|process| {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).replace('\0', " ").contains(&sleep)
        })
    };
    // A killed process stays visible until the kernel has ended it.
    let patience = std::time::Instant::now() + Duration::from_secs(5);
    while let Some(process) = left() {
        assert!(std::time::Instant::now() < patience, "{process:?} was left behind");
        std::thread::yield_now();
    }
}

#[test]
fn a_search_that_is_interrupted_takes_nothing_for_loss() {
    // Unanswered packet-ins of an interrupted trial would look like loss.
    let peer = Peer::start(Behaviour::Answer { copies: 0 });
    let address = peer.address().to_string();
    let result = run::interrupted_in(
        &[
            ("controller.address", &address),
            ("switches.count", "1"),
            ("plan.kind", "search"),
            ("timing.settle", "0s"),
            ("timing.warm-up", "0s"),
            ("timing.measure", "1h"),
        ],
        probe::Phase::Measuring,
    );
    let search = result.search.expect("a search");
    assert_eq!((search.loss_free_rate, search.lossy_rate), (None, None), "{search:?}");
}

/// The longest duration of any run in this file, however badly the controller behaves.
const BOUND: Duration = Duration::from_secs(60);
