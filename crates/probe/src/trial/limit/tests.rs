//! Each row of the table with a run that it was made for. Where a run against ONOS 2.5.6 was reported, its figures
//! are used; what the reports leave open, and all else, is made up to be plausible.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Percentiles in microseconds: p50, p90, p95, p99.
const fn latency(p50: u64, p90: u64, p95: u64, p99: u64) -> Latency {
    Latency {
        samples: 1_000,
        mean_ns: p50 as f64 * 1e3,
        stddev_ns: 0.0,
        min_ns: 1_000,
        p50_ns: p50 * 1_000,
        p90_ns: p90 * 1_000,
        p95_ns: p95 * 1_000,
        p99_ns: p99 * 1_000,
        p999_ns: p99 * 1_000,
        max_ns: p99 * 1_000,
    }
}

const ON_TIME: Latency = latency(6, 20, 40, 80);
const FAST: Latency = latency(900, 1_500, 2_000, 4_000);
const CLOSED_LOOP: Mode = Mode::Closed { window: 4, give_up: Duration::from_secs(1) };

/// All that a run may differ in; what it does not say went well.
#[derive(Clone)]
struct Run {
    mode: Mode,
    counts: Counts,
    hindered: Hindered,
    lag: Latency,
    unread: Latency,
    rtt: Latency,
    /// If fewer than were answered.
    answers_in_window: Option<u64>,
    outstanding: (u64, u64),
    probe_cpu: f64,
    controller_cpu: Option<f64>,
    absent: u64,
    silence: Option<Silence>,
}

fn run(due: u64, sent: u64, answered: u64) -> Run {
    Run {
        mode: Mode::Open,
        counts: Counts {
            due,
            sent,
            answered,
            unsent: due - sent,
            lost: sent - answered,
            ..Counts::default()
        },
        hindered: Hindered::default(),
        lag: ON_TIME,
        unread: latency(0, 10, 30, 60),
        rtt: FAST,
        answers_in_window: None,
        outstanding: (0, 0),
        probe_cpu: 20.0,
        controller_cpu: None,
        absent: 0,
        silence: None,
    }
}

/// What the table says of a run: the row, the side, the sentence.
fn judge(run: &Run) -> (&'static str, Saturated, String) {
    let evidence = Evidence {
        mode: run.mode,
        counts: &run.counts,
        hindered: run.hindered,
        send_lag: &run.lag,
        read_delay: &run.unread,
        rtt_from_due: &run.rtt,
        rtt_from_sent: &run.rtt,
        answers_in_window: run.answers_in_window.unwrap_or(run.counts.answered),
        outstanding: run.outstanding,
        probe_cpu_percent: run.probe_cpu,
        threads: 1,
        controller_cpu_percent: run.controller_cpu,
        window: 10 * SECOND,
        absent: run.absent,
        silence: run.silence.as_ref(),
    };
    let verdict = verdict(&evidence);
    let row = decide(&evidence).map_or("", |row| row.name);
    (row, verdict.saturated, verdict.because)
}

/// The rows with a run each, and a part of what is said of it.
fn recorded() -> Vec<(&'static str, Saturated, &'static str, Run)> {
    use Saturated::{Controller, Neither, Probe, Unknown};
    vec![
        ("nothing due", Unknown, "No packet-in was due", run(0, 0, 0)),
        ("rules handled all", Neither, "all of the 1000 packets", {
            let mut run = run(1_000, 0, 0);
            run.counts = Counts { forwarded_by_rules: 1_000, unsent: 0, ..run.counts };
            run
        }),
        // os-ken with its packet library, `--l4-ports serial`: it never returns from port 2600.
        ("stopped for good", Unknown, "TCP 10.0.0.1:2600 to 10.0.0.2:80", {
            Run {
                silence: Some(Silence {
                    last_answer_s: 1.576,
                    until_s: 12.0,
                    unanswered: 8_424,
                    sent_s: 1.577,
                    switch: 0,
                    sequence: 1_576,
                    frame: "TCP 10.0.0.1:2600 to 10.0.0.2:80, 66 bytes".into(),
                }),
                rtt: latency(700, 1_000, 1_500, 4_000),
                controller_cpu: Some(100.0),
                ..run(10_000, 10_000, 1_576)
            }
        }),
        // SIGSTOP of the probe for 1 s near the end of 6,000 packet-ins at 1,000/s.
        ("probe away", Probe, "away for 1.002 s in a row", {
            Run {
                absent: 1_002 * MS,
                lag: latency(4, 420_000, 710_000, 940_000),
                rtt: latency(90, 421_000, 711_000, 941_000),
                ..run(6_000, 6_000, 6_000)
            }
        }),
        // A controller that reads 20 packets and sleeps: the kernel refuses the rest.
        ("not read", Controller, "they refused 9100 of 10000 packet-ins, of which 7000", {
            Run {
                hindered: Hindered { held_back: 2_100, refused: 7_000, cut_off: 0 },
                lag: latency(900_000, 1_900_000, 2_000_000, 2_100_000),
                rtt: latency(950_000, 1_950_000, 2_000_000, 2_200_000),
                ..run(10_000, 3_000, 3_000)
            }
        }),
        // A controller that was killed for 2 s.
        ("controller away", Controller, "41 of 120 packet-ins that were due could not leave", {
            let mut run = run(120, 79, 79);
            run.hindered.cut_off = 41;
            run.counts.disconnects = 2;
            run
        }),
        // A probe that was stopped for so long that its schedule ran out.
        ("probe did not send", Probe, "did not get to 1581 of 6000", run(6_000, 4_419, 4_419)),
        ("nothing answered", Unknown, "Nothing was answered", run(60, 60, 0)),
        // The probe at 300 k/s on one core.
        ("behind its schedule", Probe, "half of the packet-ins left more than 812.000 ms late", {
            Run {
                lag: latency(812_000, 1_400_000, 1_500_000, 1_600_000),
                rtt: latency(830_000, 1_420_000, 1_520_000, 1_620_000),
                probe_cpu: 99.0,
                ..run(3_000_000, 3_000_000, 3_000_000)
            }
        }),
        // Over P4Runtime on a core that the controller has as well.
        (
            "no time for answers",
            Probe,
            "half of the time it read nothing for more than 2.000 ms",
            {
                Run {
                    unread: latency(2_000, 4_000, 5_000, 9_000),
                    rtt: latency(2_500, 4_500, 5_500, 9_500),
                    ..run(1_000_000, 1_000_000, 900_000)
                }
            },
        ),
        ("piled up", Controller, "only 6000 answers came in the window for 10000", {
            Run {
                answers_in_window: Some(6_000),
                outstanding: (0, 4_000),
                rtt: latency(2_000_000, 3_600_000, 3_800_000, 3_900_000),
                controller_cpu: Some(100.0),
                ..run(10_000, 10_000, 10_000)
            }
        }),
        ("lost", Controller, "1000 of 10000 packet-ins were never answered", {
            run(10_000, 10_000, 9_000)
        }),
        ("answered", Neither, "Everything left on time (median send lag 6.0 µs) and 100.000 %", {
            run(10_000, 10_000, 10_000)
        }),
        ("nothing answered", Unknown, "Nothing", Run { mode: CLOSED_LOOP, ..run(4, 4, 0) }),
        ("probe busy", Probe, "99 % busy: the controller may take more", {
            Run { mode: CLOSED_LOOP, probe_cpu: 99.0, ..run(10, 10, 10) }
        }),
        ("answers set the pace", Controller, "with 4 packet-ins outstanding per switch", {
            Run { mode: CLOSED_LOOP, ..run(10, 10, 10) }
        }),
        ("nothing answered", Unknown, "Nothing", Run { mode: Mode::Flood, ..run(4, 4, 0) }),
        ("probe busy", Probe, "100 % busy, so the controller may take more", {
            Run { mode: Mode::Flood, probe_cpu: 100.0, ..run(10, 10, 10) }
        }),
        ("waited for the controller", Controller, "50 % busy, waiting", {
            Run { mode: Mode::Flood, probe_cpu: 50.0, ..run(10, 10, 10) }
        }),
    ]
}

#[test]
fn every_row_has_a_run_that_it_decides() {
    let mut decided = BTreeSet::new();
    for (row, side, part, run) in recorded() {
        let (found, saturated, because) = judge(&run);
        assert_eq!((found, saturated), (row, side), "{because}");
        assert!(because.contains(part), "{row}: {because}");
        decided.insert(row);
    }
    let rows = [COMMON, OPEN, CLOSED, FLOOD].into_iter().flatten().map(|row| row.name);
    assert_eq!(decided, rows.collect::<BTreeSet<_>>());
}

/// ONOS over P4Runtime, 50 switches at 50/s: 304 of 2,500/s answered, 54 % lost. On the same host
/// the probe's lag is 60 ms for a tenth; that explains no round-trip time of 14.7 s.
#[test]
fn a_saturated_controller_is_not_excused_by_a_late_tail_of_the_probe() {
    let onos = Run {
        lag: latency(6, 60_000, 90_000, 200_000),
        unread: latency(0, 60_000, 90_000, 210_000),
        rtt: latency(14_700_000, 22_000_000, 23_000_000, 24_000_000),
        answers_in_window: Some(3_040),
        outstanding: (4_000, 25_960),
        probe_cpu: 16.0,
        controller_cpu: Some(182.0),
        absent: 230 * MS,
        ..run(25_000, 25_000, 11_500)
    };
    let (row, side, because) = judge(&onos);
    assert_eq!((row, side), ("piled up", Saturated::Controller), "{because}");
    assert!(because.contains("controller used 182 % of a core, the probe 16 %"), "{because}");
    assert!(because.starts_with("Not everything left on time"), "{because}");
    assert!(!because.contains(" 0.000 ms"), "{because}");
}

/// ONOS over OpenFlow, 1 and 4 switches at 1,000/s: 246 and 5,724 packet-ins waited behind replies
/// in the probe's own buffer, the kernel refused none, and ONOS took 77 % of a core.
#[test]
fn a_controller_that_reads_everything_is_no_limit() {
    for due in [10_000, 40_000] {
        let onos = Run { controller_cpu: Some(77.0), ..run(due, due, due) };
        assert_eq!(judge(&onos).1, Saturated::Neither);
    }
}

#[test]
fn only_percentiles_that_exceed_their_limit_are_reasons() {
    let late = Run {
        unread: latency(0, 60_000, 90_000, 200_000),
        rtt: latency(1_000, 70_000, 95_000, 210_000),
        ..run(10_000, 10_000, 10_000)
    };
    let (row, _, because) = judge(&late);
    assert_eq!(row, "no time for answers");
    let expected = "It had no time for its answers: a tenth of the time it read nothing for more \
                    than 60.000 ms. The probe used 20 % of a core.";
    assert_eq!(because, expected);
}

/// A schedule that is missed by a hundredth of the window was not offered, whatever the answers.
#[test]
fn a_probe_that_is_far_behind_is_blamed_beside_a_slow_controller() {
    let both = Run {
        lag: latency(2_000_000, 4_000_000, 4_500_000, 5_000_000),
        rtt: latency(14_000_000, 20_000_000, 21_000_000, 22_000_000),
        answers_in_window: Some(3_000),
        outstanding: (0, 7_000),
        ..run(10_000, 10_000, 5_000)
    };
    assert_eq!(judge(&both).0, "behind its schedule");
    let busy = Run { lag: latency(2_000, 4_000, 4_500, 5_000), probe_cpu: 97.0, ..both };
    assert_eq!(judge(&busy).0, "behind its schedule");
    let idle = Run { probe_cpu: 20.0, ..busy };
    assert_eq!(judge(&idle).1, Saturated::Controller);
}

#[test]
fn departures_are_called_what_they_are() {
    for (lag, expected) in [
        (latency(6, 20, 40, 900), "Everything left on time (median send lag 6.0 µs)"),
        (
            latency(2, 20, 40, 5_930),
            "Nearly everything left on time (send lag 2.0 µs in the median, 5.930 ms at p99)",
        ),
        (
            latency(6, 900, 20_000, 123_000),
            "Not everything left on time (send lag 6.0 µs in the median, 20.000 ms at p95, \
             123.000 ms at p99)",
        ),
    ] {
        let rtt = latency(1_000, 5_000, 25_000, 130_000);
        let because = judge(&Run { lag, rtt, ..run(10_000, 10_000, 10_000) }).2;
        assert!(because.starts_with(expected), "{because}");
    }
}

#[test]
fn what_rules_handle_accuses_nobody() {
    let mut some = run(1_000, 100, 100);
    some.counts =
        Counts { forwarded_by_rules: 600, dropped_by_rules: 300, unsent: 0, ..some.counts };
    assert_eq!(judge(&some).1, Saturated::Neither);
    some.counts = Counts { dropped_by_rules: 0, unsent: 300, ..some.counts };
    assert_eq!(judge(&some).0, "probe did not send");
    let mut all = run(1_000, 0, 0);
    all.counts = Counts { forwarded_by_rules: 1_000, unsent: 0, ..all.counts };
    assert_eq!(judge(&Run { mode: CLOSED_LOOP, ..all }).1, Saturated::Neither);
}

#[test]
fn a_steady_backlog_and_a_few_packets_at_the_edges_accuse_nobody() {
    let steady =
        Run { answers_in_window: Some(950), outstanding: (50, 50), ..run(1_000, 1_000, 1_000) };
    assert_eq!(judge(&steady).1, Saturated::Neither);
    // Twenty Poisson arrivals at a controller that takes 150 ms for each.
    let few = Run { answers_in_window: Some(17), outstanding: (0, 3), ..run(20, 20, 20) };
    assert_eq!(judge(&few).1, Saturated::Neither);
    let many = Run { answers_in_window: Some(4), outstanding: (2, 18), ..few };
    assert_eq!(judge(&many).1, Saturated::Controller);
}

#[test]
fn a_short_pause_is_no_absence() {
    let short = Run { absent: 90 * MS, ..run(10_000, 10_000, 10_000) };
    assert_eq!(judge(&short).0, "answered");
    // Long, and nothing beside round-trip times of seconds.
    let beside = Run {
        absent: 300 * MS,
        rtt: latency(3_000_000, 4_000_000, 4_000_000, 4_000_000),
        ..run(10_000, 10_000, 10_000)
    };
    assert_eq!(judge(&beside).0, "answered");
}

#[test]
fn round_trip_times_that_are_the_probes_own_are_named() {
    // Over P4Runtime at 100 k/s on two cores.
    let own = Run {
        lag: latency(2, 10, 100, 900),
        unread: latency(1, 1, 3_000, 60_000),
        rtt: latency(2_000, 4_000, 5_000, 55_000),
        ..run(1_000, 1_000, 1_000)
    };
    let (_, side, because) = judge(&own);
    assert_eq!(side, Saturated::Neither);
    let expected = "Everything left on time (median send lag 2.0 µs) and 100.000 % was answered. \
                    Round-trip times are mostly the probe's own at p95 and p99.";
    assert_eq!(because, expected);
    let lossy = Run { counts: run(1_000, 1_000, 900).counts, ..own.clone() };
    let (_, side, because) = judge(&lossy);
    assert_eq!(side, Saturated::Controller);
    assert!(because.ends_with("at p95 and p99."), "{because}");
    assert!(own_percentiles(&own.unread, &Latency::default()).is_empty());
    assert_eq!(in_words(&["p50", "p90", "p99"]), "p50, p90 and p99");
}
