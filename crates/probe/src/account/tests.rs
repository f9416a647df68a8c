//! Tests of verdicts on simulated trials, in which the behaviour of controller, network and probe
//! is known.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::simulation::{Controller, Outcome, Probe, Scenario, Spacing, run};
use super::{ControllerWork, Evidence, HostWork, InSockets, Observed, ProbeWork, Times, verdict};
use crate::config::Mode;
use crate::kernel::Spell;
use crate::ledger::Window;
use crate::outcome::Saturated::{self, Neither, Network, Unknown};
use crate::outcome::{Counts, Latency};

const CONTROLLER: Saturated = Saturated::Controller;
const PROBE: Saturated = Saturated::Probe;

/// Returns a controller that serves 500 packet-ins per second, with the changes that `change`
/// makes.
fn controller(change: impl FnOnce(&mut Controller)) -> Controller {
    let mut controller = Scenario::default().controller;
    change(&mut controller);
    controller
}

fn at(rate: f64) -> Scenario {
    Scenario { rate, ..Scenario::default() }
}

/// Returns a probe that does not run for `length` seconds, beginning at the sixth second.
fn away(length: f64) -> Probe {
    Probe { away: vec![(6.0, length)], ..Probe::default() }
}

/// A test case: its name, the side that the verdict must name, a text that the verdict must
/// contain, and the trial to simulate.
type Case = (&'static str, Saturated, &'static str, Scenario);

/// Returns test cases with a probe that is never late. Some controllers are fast enough, and others
/// are too slow.
fn punctual() -> Vec<Case> {
    let md1 = |rate, seed| Scenario { arrivals: Spacing::Random, seed, ..at(rate) };
    let mm1 = Scenario {
        measure: 30.0,
        controller: controller(|controller| controller.service = Spacing::Random),
        ..md1(525.0, 7)
    };
    let warm = |warm_up, rate, drain| Scenario { warm_up_rate: Some(warm_up), drain, ..at(rate) };
    let silent: Vec<(f64, f64)> = (0..20).map(|second| (2.0 * f64::from(second), 1.0)).collect();
    let silent = controller(|controller| controller.pauses = silent);
    let bursts = Scenario { arrivals: Spacing::Bursts(100), ..at(300.0) };
    let pause = |from| controller(|controller| controller.pauses = vec![(from, 1.0)]);
    vec![
        ("M/D/1, 300/s", Neither, "100.000 %", md1(300.0, 1)),
        ("M/D/1, 475/s", Neither, "100.000 %", md1(475.0, 3)),
        ("D/D/1, 495/s", Neither, "100.000 %", at(495.0)),
        ("D/D/1, 525/s", CONTROLLER, "Of 525/s due it answered 500/s", at(525.0)),
        ("M/M/1, 525/s", CONTROLLER, "its backlog grew", mm1),
        (
            "16 x 1,000/s",
            CONTROLLER,
            "Of 16,000/s due it answered 500/s (500 to 500); its backlog grew from 31,",
            Scenario { switches: 16, ..at(16_000.0) },
        ),
        ("warm-up of 1,350/s, 450/s", Neither, "100.000 %", warm(1_350.0, 450.0, 4.0)),
        ("warm-up of 3,200/s, 800/s", CONTROLLER, "were to packet-ins that were due before it", {
            warm(3_200.0, 800.0, 2.0)
        }),
        (
            "pauses for 1 s, 300/s",
            Neither,
            "100.000 %",
            Scenario { controller: pause(6.0), ..at(300.0) },
        ),
        (
            "pauses for 1 s at the end",
            Neither,
            "100.000 %",
            Scenario { controller: pause(11.2), ..at(300.0) },
        ),
        (
            "silent every other second, 200/s",
            Neither,
            "100.000 %",
            Scenario { controller: silent.clone(), ..at(200.0) },
        ),
        (
            "silent every other second, 400/s",
            CONTROLLER,
            "its backlog grew",
            Scenario { controller: silent, ..at(400.0) },
        ),
        ("bursts of 100", Neither, "100.000 %", bursts.clone()),
        (
            "bursts of 100, queue of 50",
            CONTROLLER,
            "It dropped 1,",
            Scenario { controller: controller(|controller| controller.queue = Some(50)), ..bursts },
        ),
        (
            "drops 5 %",
            CONTROLLER,
            "nothing in the probe explains any of it",
            Scenario { controller: controller(|controller| controller.drops = 0.05), ..at(300.0) },
        ),
        (
            "floods",
            Neither,
            "100.000 %",
            Scenario { controller: controller(|controller| controller.copies = 8), ..at(100.0) },
        ),
        (
            "reads no further",
            CONTROLLER,
            "It did not read its connections fast enough",
            Scenario {
                controller: controller(|controller| controller.buffer = Some(50)),
                ..at(800.0)
            },
        ),
        (
            "gone for 2 s",
            CONTROLLER,
            "could not leave",
            Scenario {
                controller: controller(|controller| controller.gone = Some((6.0, 2.0))),
                ..at(300.0)
            },
        ),
        (
            "stops",
            Unknown,
            "stopped answering",
            Scenario {
                controller: controller(|controller| controller.stops_at = 6.0),
                ..at(300.0)
            },
        ),
        (
            "never answers",
            Unknown,
            "Nothing was answered",
            Scenario {
                controller: controller(|controller| controller.stops_at = 0.0),
                ..at(300.0)
            },
        ),
    ]
}

/// Returns test cases with a late or slow probe.
fn delayed() -> Vec<Case> {
    let fifty = |rate, probe| Scenario {
        switches: 50,
        probe,
        controller: controller(|controller| controller.rate = 304.0),
        ..at(rate)
    };
    let queue = |rate, most, length| Scenario {
        probe: away(length),
        controller: controller(|controller| controller.queue = Some(most)),
        ..at(rate)
    };
    let often = Probe {
        away: (0..24).map(|number| (0.25 + 0.5 * f64::from(number), 0.05)).collect(),
        ..Probe::default()
    };
    let sends = |rate| Probe { send_rate: Some(rate), ..Probe::default() };
    let spell = |from, length| Probe { away: vec![(from, length)], ..Probe::default() };
    vec![
        ("50 switches, 50/s", CONTROLLER, "Of 2,500/s due it answered 304/s", {
            fifty(2_500.0, Probe::default())
        }),
        ("50 switches, 100/s, away", CONTROLLER, "Of 5,000/s due it answered 304/s", {
            fifty(5_000.0, away(0.23))
        }),
        ("away for 10 ms", Neither, "100.000 %", Scenario { probe: away(0.01), ..at(300.0) }),
        (
            "away for 0.15 s",
            Neither,
            "did not run for 0.1",
            Scenario { probe: away(0.15), ..at(300.0) },
        ),
        (
            "away for 1 s",
            Neither,
            "did not run for 0.99",
            Scenario { probe: away(1.0), ..at(300.0) },
        ),
        ("away for 1 s, times", Neither, "times at p90, p95 and p99 are the probe's own", {
            Scenario { probe: away(1.0), ..at(300.0) }
        }),
        (
            "away in the drain",
            Neither,
            "100.000 %",
            Scenario { probe: spell(12.1, 0.3), ..at(300.0) },
        ),
        (
            "one thread of 16 is away",
            Neither,
            "100.000 %",
            Scenario {
                switches: 16,
                threads: 16,
                probe: Probe { only: Some(3), ..away(0.3) },
                ..at(300.0)
            },
        ),
        (
            "away near the end",
            Neither,
            "100.000 %",
            Scenario { probe: spell(10.8, 1.0), ..at(475.0) },
        ),
        (
            "away over the end",
            Neither,
            "100.000 %",
            Scenario { probe: spell(11.5, 1.0), ..at(475.0) },
        ),
        ("804/s, queue of 80, away for 0.15 s", CONTROLLER, "explain at most 12", {
            queue(804.0, 80, 0.15)
        }),
        ("804/s, queue of 80, away for 1 s", CONTROLLER, "It dropped", queue(804.0, 80, 1.0)),
        ("300/s, queue of 20, away for 0.15 s", Neither, "was answered", queue(300.0, 20, 0.15)),
        ("300/s, queue of 20, away for 1 s", PROBE, "late and in bursts", queue(300.0, 20, 1.0)),
        (
            "800/s, away for 50 ms each 0.5 s",
            CONTROLLER,
            "its backlog grew",
            Scenario { probe: often, ..at(800.0) },
        ),
        (
            "sends 300 of 800/s",
            PROBE,
            "It sent 300 of 800/s",
            Scenario { probe: sends(300.0), ..at(800.0) },
        ),
        (
            "sends 700 of 800/s",
            CONTROLLER,
            "The probe accounts for",
            Scenario { probe: sends(700.0), ..at(800.0) },
        ),
        (
            "reads 300 of 400/s",
            PROBE,
            "no time for its answers",
            Scenario { probe: Probe { read_rate: Some(300.0), ..Probe::default() }, ..at(400.0) },
        ),
    ]
}

/// Returns test cases about networks, single switches, shared hosts and closed loops.
fn others() -> Vec<Case> {
    let some = |switches, change: fn(&mut Controller)| Scenario {
        switches,
        controller: controller(change),
        ..at(20.0 * switches as f64)
    };
    let shared = |cpu_percent, waited| Scenario {
        controller: controller(|controller| {
            let wait_percent = Some(waited);
            controller.work = Some(ControllerWork { cpu_percent, wait_percent });
        }),
        ..at(800.0)
    };
    let reads = |read_rate, receive_buffer| Probe {
        read_rate: Some(read_rate),
        receive_buffer: Some(receive_buffer),
        ..Probe::default()
    };
    let stalled = |stalled| Scenario {
        stalled,
        controller: controller(|controller| {
            controller.queue = Some(20);
            controller.pauses = vec![(6.0, 0.5)];
        }),
        ..at(300.0)
    };
    let swift = controller(|controller| controller.rate = 400_000.0);
    let closed = |window, network_delay, switches| Scenario {
        window: Some(window),
        network_delay,
        switches,
        ..Scenario::default()
    };
    vec![
        ("network of 50 ms", Neither, "100.000 %", Scenario { network_delay: 0.025, ..at(300.0) }),
        (
            "network of 200/s",
            Network,
            "on their way",
            Scenario { network_rate: Some(200.0), ..at(300.0) },
        ),
        ("dead switch of 16", CONTROLLER, "At switch 7 0 of 200", {
            some(16, |controller| controller.dead = vec![7])
        }),
        ("dead switch of 200", CONTROLLER, "At switch 7 0 of 200", {
            some(200, |controller| {
                controller.dead = vec![7];
                controller.rate = 5_000.0;
            })
        }),
        ("capped switch of 16", CONTROLLER, "At switch 7 ", {
            some(16, |controller| controller.capped = Some((7, 8.0)))
        }),
        ("network of 200/s, full", Network, "refused by connections", {
            Scenario { network_rate: Some(200.0), network_buffer: Some(50), ..at(300.0) }
        }),
        ("reads 300 of 400/s, full in the window", PROBE, "receive windows were closed", {
            Scenario { probe: reads(300.0, 500), ..at(400.0) }
        }),
        ("reads 300 of 400/s, full before", PROBE, "receive windows were closed", {
            Scenario { probe: reads(300.0, 50), ..at(400.0) }
        }),
        ("full now and then", Neither, "100.000 %", {
            let full = Probe { receive_buffer: Some(30), ..away(0.2) };
            Scenario { probe: full, ..at(300.0) }
        }),
        ("stalls", CONTROLLER, "It dropped", stalled(0.0)),
        ("its host stalls", Unknown, "Nothing ran on the host of both for 0.500 s", stalled(0.5)),
        ("shared cores, little waiting", CONTROLLER, "its backlog grew", shared(100.0, 25.0)),
        ("shared cores, much waiting", Unknown, "it might reach 1,000/s", shared(100.0, 100.0)),
        ("sleeps and waits as little as it runs", CONTROLLER, "its backlog grew", {
            shared(2.0, 2.0)
        }),
        ("capped switch of 200", CONTROLLER, "At switch 7 ", {
            some(200, |controller| {
                controller.capped = Some((7, 8.0));
                controller.rate = 5_000.0;
            })
        }),
        ("dead switch of 200, probe away", CONTROLLER, "At switch 7 0 of 200", {
            let dead = some(200, |controller| {
                controller.dead = vec![7];
                controller.rate = 5_000.0;
            });
            Scenario { probe: away(0.3), ..dead }
        }),
        (
            "dead switch of 16, closed",
            CONTROLLER,
            "Switch 7 had no answer.",
            Scenario {
                controller: controller(|controller| controller.dead = vec![7]),
                ..closed(1, 25e-6, 16)
            },
        ),
        ("closed, window of 1, 10 ms", Neither, "Raise --window", closed(1, 0.005, 1)),
        ("closed, window of 200, 10 ms", CONTROLLER, "set the pace", closed(200, 0.005, 1)),
        ("closed, window of 200, 10 ms, swift", Neither, "were in the network and 0.", {
            Scenario { controller: swift, measure: 2.0, ..closed(200, 0.005, 1) }
        }),
        ("closed, window of 4", CONTROLLER, "set the pace", closed(4, 25e-6, 1)),
        ("closed, window of 1, 16 switches", CONTROLLER, "set the pace", closed(1, 25e-6, 16)),
    ]
}

fn check(cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for (name, side, words, scenario) in cases {
        let outcome = run(&scenario);
        let verdict = &outcome.verdict;
        if verdict.saturated != side || !verdict.because.contains(words) {
            wrong.push(format!("{name}: {verdict:?} {:?}", outcome.counts));
        }
        if scenario.window.is_none() {
            let truth = run(&scenario.without_delays());
            wrong.extend(
                broken_bounds(&scenario, &outcome, &truth)
                    .map(|broken| format!("{name}: {broken}")),
            );
            wrong.extend(broken_identities(&outcome).map(|broken| format!("{name}: {broken}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that the verdict on a trial without delays of the probe does not attribute round-trip
/// times to the probe.
#[test]
fn times_are_the_probes_own_only_where_it_delayed_them() {
    for (name, _, _, scenario) in punctual() {
        let because = run(&scenario).verdict.because;
        assert!(!because.contains("probe's own"), "{name}: {because}");
    }
    // In the first scenario the pause is short. In the second one the controller is overloaded, so
    // its queue never empties during the pause.
    let brief = Scenario { probe: away(0.01), ..at(300.0) };
    let full = Scenario { probe: away(0.02), ..at(800.0) };
    for scenario in [brief, full] {
        let because = run(&scenario).verdict.because;
        assert!(!because.contains("probe's own"), "{because}");
    }
}

#[test]
fn floods_are_judged_by_their_connections() {
    let window = Window { from: 1_000_000_000, to: 2_000_000_000 };
    let closed = |closed| InSockets { closed, retransmissions: 3, ..InSockets::default() };
    let spell = Spell { from: window.from, to: 1_600_000_000, is_closed: true };
    let unread = InSockets { spells: vec![spell], ..closed(0.9) };
    let left = |due| Counts { due, sent: due, answered: due, ..Counts::default() };
    for (blocked, sockets, side, words) in [
        (0.2, Some(closed(0.15)), PROBE, "had room for more during 80 % of the time"),
        (0.9, Some(closed(0.85)), CONTROLLER, "did not read fast enough"),
        (0.9, Some(closed(0.05)), Network, "for 5 % only. TCP retransmitted 3 segments."),
        (0.9, None, Unknown, "the kernel does not tell"),
        (0.9, Some(unread), PROBE, "Its own receive windows were closed for 60 %"),
    ] {
        let observed =
            Observed { blocked, ever_answered: 1, ..Observed::of(std::iter::empty(), window) };
        // No packet-in leaves by connections that are blocked from the start.
        let (times, counts) = (Latency::default(), left(if blocked < 0.5 { 9 } else { 0 }));
        let verdict = verdict(&Evidence {
            mode: Mode::Flood,
            window,
            counts: &counts,
            observed: &observed,
            sockets: sockets.as_ref(),
            host: HostWork::default(),
            network_rtt: None,
            send_lag: &times,
            rtt_from_sent: &times,
            times: Times { all: &times, undisturbed: &times },
            answers_in_window: 9,
            probe: ProbeWork { cpu_percent: 100.0, threads: 1 },
            controller: None,
            silence: None,
            switches: &[],
        });
        assert_eq!(verdict.saturated, side, "{verdict:?}");
        assert!(verdict.because.contains(words), "{verdict:?}");
    }
}

#[test]
fn controllers_are_judged_by_what_they_do() {
    check(punctual());
}

#[test]
fn delays_of_the_probe_explain_what_they_can_and_no_more() {
    check(delayed());
}

#[test]
fn networks_switches_and_loops_are_distinguished() {
    check(others());
}

/// Compares the bounds of an account with further simulations, and describes the bounds that these
/// contradict. Returns `None` if all are correct. Without the probe's delays, the controller and
/// the network must lose at least as many packet-ins as their lower bounds say. With delays of the
/// probe alone, the probe must do so too. The upper bound of the probe must cover the difference
/// that its delays make. Packets in transit at the start or at the end of the window are tolerated.
fn broken_bounds(scenario: &Scenario, outcome: &Outcome, truth: &Outcome) -> Option<String> {
    let burst = match scenario.arrivals {
        Spacing::Bursts(burst) => burst,
        Spacing::Even | Spacing::Random => 1,
    };
    let at_edge = 2 + burst + scenario.threads as u64;
    let alone = run(&scenario.with_probe_alone());
    let account = outcome.account;
    let lacking = |outcome: &Outcome| outcome.counts.due.saturating_sub(outcome.answers_in_window);
    let (without, with) = (lacking(truth), lacking(outcome));
    let theirs = without.max(truth.passed_over_in_window) + truth.account.network.high;
    let controller = account.controller.low + account.network.low <= theirs + at_edge;
    let low = account.probe.low <= lacking(&alone) + at_edge;
    let high = with.saturating_sub(without) <= account.probe.high + at_edge;
    (!(controller && low && high)).then(|| {
        format!(
            "bounds {account:?}; {with} are missing, {theirs} without delays of the probe, {} with the \
             probe alone",
            lacking(&alone)
        )
    })
}

/// Checks equations that the counts of the window must fulfil. Returns a description if one does
/// not hold, and otherwise `None`.
fn broken_identities(outcome: &Outcome) -> Option<String> {
    let Outcome { counts, outstanding, not_left, .. } = outcome;
    let Counts { due, answered, answered_after, lost, unsent, passed_over, waiting, .. } = *counts;
    let answers =
        answered - answered_after + outcome.answers_to_earlier == outcome.answers_in_window;
    let parts = due == answered + lost + unsent && lost == passed_over + waiting;
    // Packet-ins that were lost with a connection stay outstanding, at both edges alike.
    let growth = |edges: &super::Edges| edges.end as i64 - edges.start as i64;
    let cut_off = counts.disconnects > 0;
    let balance = due as i64 - outcome.answers_in_window as i64;
    let balanced = cut_off || balance == growth(outstanding) + growth(not_left);
    let left = cut_off || due as i64 - outcome.left_in_window as i64 == growth(not_left);
    (!(answers && parts && balanced && left)).then(|| format!("{outcome:?}"))
}

/// Returns a random trial. The controller is faster or slower than the load requires, and the probe
/// pauses or is slow.
fn random(seed: u64) -> Scenario {
    let mut random = StdRng::seed_from_u64(seed);
    let mut pick = |values: &[f64]| values[random.random_range(0..values.len())];
    let rate = pick(&[100.0, 300.0, 450.0, 475.0, 525.0, 600.0, 800.0, 1_200.0]);
    let threads = pick(&[1.0, 1.0, 2.0, 4.0]) as usize;
    let arrivals =
        [Spacing::Even, Spacing::Random, Spacing::Bursts(20)][pick(&[0.0, 1.0, 2.0]) as usize];
    let service = [Spacing::Even, Spacing::Random][pick(&[0.0, 1.0]) as usize];
    let queue =
        [None, None, Some(20), Some(80), Some(400)][pick(&[0.0, 1.0, 2.0, 3.0, 4.0]) as usize];
    let drops = pick(&[0.0, 0.0, 0.0, 0.02, 0.1]);
    let count = pick(&[0.0, 1.0, 1.0, 2.0, 5.0]) as usize;
    let longest = pick(&[0.02, 0.15, 0.4, 1.0, 2.0]);
    let send_rate =
        [None, None, None, Some(0.6), Some(0.9)][pick(&[0.0, 1.0, 2.0, 3.0, 4.0]) as usize];
    let pauses = match pick(&[0.0, 0.0, 0.0, 1.0]) > 0.0 {
        true => vec![(pick(&[0.3, 2.0, 3.8]), pick(&[0.2, 0.6]))],
        false => Vec::new(),
    };
    let away = (0..count)
        .map(|number| {
            let begin = 0.2 + 4.2 * (number as f64 + random.random::<f64>()) / count as f64;
            (begin, (longest * random.random::<f64>()).min(2.0 / count as f64))
        })
        .collect();
    let send_rate = send_rate.map(|share: f64| share * rate / threads as f64);
    Scenario {
        seed,
        switches: 4,
        threads,
        warm_up: 0.5,
        measure: 4.0,
        drain: 1.0,
        arrivals,
        probe: Probe { away, send_rate, ..Probe::default() },
        controller: controller(|controller| {
            controller.service = service;
            controller.queue = queue;
            controller.drops = drops;
            controller.pauses = pauses;
        }),
        ..at(rate)
    }
}

#[test]
fn no_bound_is_broken_by_random_trials() {
    const TRIALS: u64 = 200;
    let (mut broken, mut excused) = (Vec::new(), Vec::new());
    let (mut saturated, mut untold) = (0, 0);
    for seed in 1..=TRIALS {
        let scenario = random(seed);
        let outcome = run(&scenario);
        let truth = run(&scenario.without_delays());
        let wrong = broken_bounds(&scenario, &outcome, &truth);
        let wrong = wrong.into_iter().chain(broken_identities(&outcome));
        broken.extend(wrong.map(|words| format!("seed {seed}: {words}")));
        let side = outcome.verdict.saturated;
        let lost = truth.counts.lost;
        if side == CONTROLLER && truth.answers_in_window >= truth.counts.due && lost == 0 {
            broken.push(format!("seed {seed}: blamed for nothing, {:?}", outcome.verdict));
        }
        // A probe that is always slow may not offer enough load to saturate any side.
        let is_slow = scenario.probe.send_rate.is_some();
        if !is_slow && lost as f64 > 0.05 * truth.counts.due as f64 {
            saturated += 1;
            match side {
                Saturated::Controller => {}
                Saturated::Unknown => untold += 1,
                _ => excused.push(format!("seed {seed}: {:?}", outcome.verdict)),
            }
        }
    }
    assert!(broken.is_empty(), "{} of {TRIALS}:\n{}", broken.len(), broken.join("\n"));
    assert!(excused.is_empty(), "saturated controllers are excused:\n{}", excused.join("\n"));
    assert!(saturated >= 40, "{saturated}");
    assert!(untold * 10 <= saturated, "{untold} of {saturated} cannot be told");
}

#[test]
fn response_times_are_those_without_bursts_of_the_probe() {
    // A packet-in is served in 2 ms. Packet-ins of the burst after a pause wait for each other.
    let outcome = run(&Scenario { probe: away(1.0), ..at(300.0) });
    let undisturbed = outcome.undisturbed;
    let mean = undisturbed.rtt_mean.expect("answers") / 1e6;
    assert!((2.0..2.1).contains(&mean), "{mean} ms");
    let all = outcome.answers_in_window;
    assert!(undisturbed.answers > all / 2 && undisturbed.answers + 300 < all, "{undisturbed:?}");
    // Without a pause, every answer is undisturbed.
    let outcome = run(&at(300.0));
    assert_eq!(outcome.undisturbed.answers, outcome.answers_in_window);
}
