//! Runs the tests of RFC 8456 over real sessions, against the reference controller that provisions
//! paths.
//!
//! Times depend on the machine and are not checked. The tests check that there are figures, and
//! that capacities and counts are correct.

mod p4runtime;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::p4runtime::session::Rehearsal;
use controllers::application::Application;
use controllers::openflow::{Controller, Options, Part};
use probe::config::{Origin, PlanKind, Settings};
use probe::outcome::Completion;
use probe::rfc8456::outcome::{BenchmarkResult, TestOutcome};
use probe::rfc8456::{BenchmarkWatcher, Test};
use probe::{Live, RunContext};

struct NoWatcher;

impl BenchmarkWatcher for NoWatcher {
    fn trial_begins(&mut self, _: &str) {}
    fn trial_ended(&mut self, _: &BenchmarkResult) {}
}

/// Settings that keep trials short.
const SHORT: &[(&str, &str)] = &[
    ("switches.count", "6"),
    ("switches.hosts", "2"),
    ("timing.settle", "100ms"),
    ("timing.measure", "500ms"),
    ("timing.connect-timeout", "20s"),
    ("rfc8456.interval", "100ms"),
    ("rfc8456.switches", "12"),
    ("rfc8456.flows", "60"),
    ("rfc8456.rate", "200"),
];

fn run(settings: &[(&str, &str)]) -> BenchmarkResult {
    run_watched(settings, &mut NoWatcher)
}

fn run_watched(settings: &[(&str, &str)], watcher: &mut dyn BenchmarkWatcher) -> BenchmarkResult {
    run_rehearsed(settings, None, watcher)
}

fn run_rehearsed(
    settings: &[(&str, &str)],
    rehearsal: Option<Arc<dyn Rehearsal>>,
    watcher: &mut dyn BenchmarkWatcher,
) -> BenchmarkResult {
    let mut all = Settings::new();
    for (key, value) in SHORT.iter().chain(settings) {
        all.set(key, value, Origin::Flag);
    }
    let resolved = all.resolve().unwrap_or_else(|error| panic!("{error}"));
    let PlanKind::Rfc8456(tests) = resolved.config.plan.kind else { panic!("another plan") };
    let context = RunContext {
        command: Vec::new(),
        configuration: resolved.values(),
        notes: Vec::new(),
        ports: None,
        live: Arc::new(Live::default()),
        interrupt: Arc::default(),
    };
    probe::rfc8456::run(&resolved.config, tests, context, rehearsal, watcher)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn bind(part: Part) -> Controller {
    let options =
        Options { application: Application::Paths, idle_timeout: 0, part, ..Options::default() };
    Controller::bind(([127, 0, 0, 1], 0).into(), options).expect("a port")
}

/// Runs the benchmark with a controller.
fn run_against(controller: &Controller, settings: &[(&str, &str)]) -> BenchmarkResult {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| controller.run(&stop));
        let address = controller.local_addr().to_string();
        let settings = [settings, &[("controller.address", &address)]].concat();
        let result = run(&settings);
        stop.store(true, Ordering::Relaxed);
        serving.join().expect("no panic").expect("it ran");
        result
    })
}

fn of(result: &BenchmarkResult, test: Test) -> &TestOutcome {
    result.tests.iter().find(|outcome| outcome.test == test).expect("it was asked for")
}

fn mean(result: &BenchmarkResult, test: Test) -> f64 {
    let outcome = of(result, test);
    outcome.value.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).mean
}

fn figure(outcome: &TestOutcome, name: &str) -> f64 {
    let figures = &outcome.trials.first().expect("a trial").figures;
    figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{outcome:?}")).value
}

const MEASURED: &str = "rfc8456:5.1.1,5.1.2,5.1.4,5.1.6,5.1.8,5.2,5.4.2";

#[test]
fn the_reference_controller_is_measured_in_both_versions() {
    for protocol in ["openflow13", "openflow10"] {
        let settings = [("protocol", protocol), ("plan.kind", MEASURED)];
        let result = run_against(&bind(Part::Alone), &settings);
        for outcome in &result.tests {
            assert!(outcome.is_measured(), "{protocol}: {outcome:?}");
        }
        assert_eq!(mean(&result, Test::ControlSessions), 12.0);
        assert_eq!(mean(&result, Test::DiscoverySize), 12.0);
        assert_eq!(figure(of(&result, Test::TopologyDiscoveryTime), "links"), 8.0);
        assert_eq!(figure(of(&result, Test::ReactivePathTime), "paths that failed"), 0.0);
        let change = of(&result, Test::TopologyChangeTime);
        assert_eq!(figure(change, "events"), 5.0, "{change:?}");
        assert_eq!(figure(change, "notified"), 5.0, "{change:?}");
        // Each flow has a rule at two to four switches.
        let entries = mean(&result, Test::ForwardingTable);
        assert!((120.0..=240.0).contains(&entries), "{entries}");
    }
}

/// Returns a file of links between switches 1 to 3, and between switches 5 and 6.
fn file_of_links() -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "1:1==2:1\n2:2==3:1\n5:1==6:1\n").expect("written");
    let topology = format!("links:{}", file.path().display());
    (file, topology)
}

#[test]
fn switches_without_links_are_not_counted_as_discovered() {
    let (_file, topology) = file_of_links();
    let settings = [
        ("plan.kind", "rfc8456:5.1.1,5.1.4,5.1.6,5.2.2"),
        ("switches.topology", topology.as_str()),
        ("switches.count", "8"),
    ];
    let result = run_against(&bind(Part::Alone), &settings);
    let time = of(&result, Test::TopologyDiscoveryTime);
    assert_eq!(figure(time, "links"), 3.0, "{time:?}");
    assert_eq!(figure(time, "switches without links"), 3.0, "{time:?}");
    let size = of(&result, Test::DiscoverySize);
    assert_eq!(mean(&result, Test::DiscoverySize), 5.0, "{size:?}");
    assert_eq!(figure(size, "switches without links"), 1.0, "{size:?}");
    let remark = size.trials.first().and_then(|trial| trial.remark.as_deref());
    assert!(remark.is_some_and(|remark| remark.contains("--topology")), "{size:?}");
    // Packets are sent only between hosts that have a path: those of the first three switches.
    let paths = of(&result, Test::ReactivePathTime);
    assert_eq!(figure(paths, "paths that failed"), 0.0, "{paths:?}");
    let rate = of(&result, Test::ReactivePathRate);
    assert!(figure(rate, "paths offered") <= 24.0, "{rate:?}");
    assert!(result.notes.iter().any(|note| note.starts_with("5 of 8 switches")), "{result:?}");
}

#[test]
fn a_disturbance_is_counted_and_compared() {
    let result = run_against(&bind(Part::Alone), &[("plan.kind", "rfc8456:5.3.2")]);
    assert_eq!(result.tests.len(), 9);
    for outcome in &result.tests {
        let is_disturbed = !outcome.variant.as_ref().unwrap().contains("undisturbed");
        assert!(outcome.is_measured(), "{outcome:?}");
        assert_eq!(outcome.deviation.is_some(), is_disturbed);
        if is_disturbed {
            assert!(figure(outcome, "disturbances") > 0.0);
        }
    }
}

#[test]
fn a_standby_controller_takes_over_in_both_versions() {
    for protocol in ["openflow13", "openflow10"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (end, ended) = (folder.path().join("end"), folder.path().join("ended"));
        let part = if protocol == "openflow13" { Part::Active } else { Part::Alone };
        let other = if protocol == "openflow13" { Part::Standby } else { Part::Alone };
        let (active, standby) = (bind(part), bind(other));
        let fail = format!(
            "touch {}; while [ ! -e {} ]; do sleep 0.01; done",
            end.display(),
            ended.display()
        );
        let standby_address = standby.local_addr().to_string();
        let address = active.local_addr().to_string();
        let (stop_active, stop_all) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait_for = |file: &Path| {
            while !file.exists() && !stop_all.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                active.run(&stop_active).expect("it ran");
                // Dropping the controller frees its port.
                drop(active);
                standby.takeover().store(true, Ordering::Relaxed);
                std::fs::write(&ended, "").expect("a file");
            });
            scope.spawn(|| standby.run(&stop_all).expect("it ran"));
            scope.spawn(|| {
                wait_for(&end);
                stop_active.store(true, Ordering::Relaxed);
            });
            let result = run(&[
                ("protocol", protocol),
                ("plan.kind", "rfc8456:5.4.1"),
                ("controller.address", &address),
                ("rfc8456.standby", &standby_address),
                ("rfc8456.fail", &fail),
            ]);
            stop_active.store(true, Ordering::Relaxed);
            stop_all.store(true, Ordering::Relaxed);
            result
        });
        let outcome = of(&result, Test::FailoverTime);
        assert!(outcome.is_measured(), "{protocol}: {outcome:?}");
        assert!(figure(outcome, "packets lost") >= 0.0);
    }
}

/// Returns the number of trials of all tests, and the number of tests that had one.
fn trials(result: &BenchmarkResult) -> (usize, usize) {
    let all = result.tests.iter().map(|outcome| outcome.trials.len());
    (all.sum(), result.tests.len())
}

#[test]
fn a_controller_that_is_not_there_is_tried_once_for_all_tests() {
    let absent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = absent.local_addr().expect("bound").to_string();
    drop(absent);
    // 5.1.3 is a search of its own, and 5.2.1 begins before any switch is connected.
    for tests in ["rfc8456:5.1.1,5.1.4", "rfc8456:5.1.3,5.1.4", "rfc8456:5.2.1,5.1.4"] {
        let result = run(&[
            ("controller.address", &address),
            ("plan.kind", tests),
            ("plan.repetitions", "10"),
            ("timing.connect-timeout", "300ms"),
        ]);
        assert!(result.controller_was_out_of_reach, "{result:?}");
        assert_eq!(trials(&result), (1, 1), "{tests}: {result:?}");
        match &result.completion {
            Completion::Failed { reason } => {
                assert!(reason.starts_with("the controller was not reached: "), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_controller_that_ends_after_a_trial_ends_the_run() {
    /// A watcher that stops the controller after the first trial.
    struct Ending<'a>(&'a AtomicBool, &'a AtomicBool);

    impl BenchmarkWatcher for Ending<'_> {
        fn trial_begins(&mut self, _: &str) {}
        fn trial_ended(&mut self, _: &BenchmarkResult) {
            self.0.store(true, Ordering::Relaxed);
            while !self.1.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    let controller = bind(Part::Alone);
    let address = controller.local_addr().to_string();
    let (stop, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            controller.run(&stop).expect("it ran");
            // Dropping the controller frees its port.
            drop(controller);
            ended.store(true, Ordering::Relaxed);
        });
        let settings = [
            ("controller.address", address.as_str()),
            ("plan.kind", "rfc8456:5.1.2,5.1.4,5.1.6"),
            ("plan.repetitions", "3"),
            ("timing.connect-timeout", "500ms"),
        ];
        run_watched(&settings, &mut Ending(&stop, &ended))
    });
    // The controller was reached once, so it does not count as out of reach.
    assert!(!result.controller_was_out_of_reach, "{result:?}");
    assert_eq!(trials(&result), (2, 1), "{result:?}");
    match &result.completion {
        Completion::Partial { reason } => {
            assert!(reason.contains("did not come back for the rest of the run"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

/// Checks the figures of proactively provisioned paths, over either protocol.
fn check_proactive(result: &BenchmarkResult) {
    for outcome in &result.tests {
        assert!(outcome.is_measured(), "{outcome:?}");
    }
    let time = of(result, Test::ProactivePathTime);
    assert_eq!(figure(time, "paths that failed"), 0.0, "{time:?}");
    assert!(figure(time, "paths") > 0.0 && figure(time, "rules") >= 2.0 * figure(time, "paths"));
    let rate = of(result, Test::ProactivePathRate);
    assert!(figure(rate, "paths provisioned") > 0.0, "{rate:?}");
    // The northbound interface reports everything: six switches, and eight links in two directions.
    assert_eq!(figure(of(result, Test::TopologyDiscoveryTime), "links"), 8.0);
}

const PROACTIVE: &str = "rfc8456:5.1.1,5.1.5,5.1.7";

#[test]
fn the_reference_controller_provisions_requested_paths_in_both_versions() {
    for protocol in ["openflow13", "openflow10"] {
        let mut controller = bind(Part::Alone);
        let northbound = controller.offer_northbound(([127, 0, 0, 1], 0).into()).expect("a port");
        let northbound = format!("ofctl:http://{northbound}");
        let settings = [
            ("protocol", protocol),
            ("plan.kind", PROACTIVE),
            ("rfc8456.northbound", northbound.as_str()),
        ];
        check_proactive(&run_against(&controller, &settings));
    }
}

#[test]
fn paths_are_provisioned_by_a_command_and_what_is_missing_is_said() {
    let result = run_against(&bind(Part::Alone), &[("plan.kind", "rfc8456:5.1.5,5.1.7,5.4.1")]);
    for (outcome, wanted) in
        result.tests.iter().zip(["--northbound", "--northbound", "--rfc8456-fail"])
    {
        assert!(!outcome.is_measured());
        let remark = outcome.trials.first().and_then(|trial| trial.remark.as_deref());
        assert!(remark.is_some_and(|remark| remark.contains(wanted)), "{outcome:?}");
    }
    let settings = [
        ("plan.kind", "rfc8456:5.1.5"),
        ("rfc8456.northbound", "command:cat > /dev/null; echo it was told >&2; exit 4"),
    ];
    let result = run_against(&bind(Part::Alone), &settings);
    let outcome = of(&result, Test::ProactivePathTime);
    let remark = outcome.trials.first().and_then(|trial| trial.remark.as_deref());
    assert!(remark.is_some_and(|remark| remark.contains("exit status: 4")), "{outcome:?}");
}
