//! Runs the tests of RFC 8456 over P4Runtime: the controller connects to the switches, which run
//! the program that it pushes.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::p4runtime::session::Rehearsal;
use controllers::application::Application;
use controllers::p4runtime::{Controller, ElectionId, Options, Target};
use entities::EntityError;
use p4runtime::proto::v1;
use probe::rfc8456::Test;
use probe::rfc8456::outcome::BenchmarkResult;

use super::{NoWatcher, figure, mean, of, run_rehearsed};

/// The number of switches of the largest trial; see `super::SHORT`.
const SWITCHES: u16 = 12;

/// Returns the first of several consecutive ports that are free, below the ephemeral range.
fn free_ports() -> u16 {
    let from = 2_000 + (std::process::id() % 20_000) as u16;
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    static TAKEN: std::sync::Mutex<u16> = std::sync::Mutex::new(0);
    let mut taken = TAKEN.lock().expect("no panic");
    let first = (from.max(*taken)..32_000)
        .step_by(usize::from(SWITCHES))
        .find(|first| (*first..*first + SWITCHES).all(is_free))
        .expect("free ports");
    *taken = first + SWITCHES;
    first
}

fn controller(first_port: u16, election_id: u128, stands_by: bool) -> Controller {
    let targets = Target::range("127.0.0.1", first_port, 1, SWITCHES.into()).expect("targets");
    let options = Options {
        application: Application::Paths,
        idle_timeout: Duration::ZERO,
        election_id: ElectionId(election_id),
        stands_by,
        retry: Duration::from_millis(100),
        ..Options::default()
    };
    Controller::new(targets, options).expect("a pipeline")
}

fn run_against(first_port: u16, settings: &[(&str, &str)]) -> BenchmarkResult {
    run_rehearsed_against(first_port, settings, None)
}

fn run_rehearsed_against(
    first_port: u16,
    settings: &[(&str, &str)],
    rehearsal: Option<Arc<dyn Rehearsal>>,
) -> BenchmarkResult {
    let first = first_port.to_string();
    let own = [("protocol", "p4runtime"), ("p4runtime.first-port", first.as_str())];
    run_rehearsed(&[&own[..], settings].concat(), rehearsal, &mut NoWatcher)
}

/// A rehearsal in which every pipeline fails.
#[derive(Debug)]
struct Failing;

impl Rehearsal for Failing {
    fn rehearse(&self, _: &v1::ForwardingPipelineConfig) -> Result<(), EntityError> {
        Err(EntityError::exhausted("it took all memory"))
    }
}

#[test]
fn a_program_that_fails_its_rehearsal_is_not_compiled_here() {
    let first_port = free_ports();
    let controller = controller(first_port, 1, false);
    let stop = AtomicBool::new(false);
    let settings = [("plan.kind", "rfc8456:5.1.4"), ("timing.connect-timeout", "1s")];
    let result = std::thread::scope(|scope| {
        scope.spawn(|| controller.run(&stop).expect("it ran"));
        let result = run_rehearsed_against(first_port, &settings, Some(Arc::new(Failing)));
        stop.store(true, Ordering::Relaxed);
        result
    });
    let outcome = of(&result, Test::ReactivePathTime);
    let remark = outcome.trials.first().and_then(|trial| trial.remark.as_deref());
    assert!(remark.is_some_and(|remark| remark.contains("took all memory")), "{outcome:?}");
}

/// Runs the benchmark with a controller.
fn run_with_controller(settings: &[(&str, &str)]) -> BenchmarkResult {
    let first_port = free_ports();
    run_with(&controller(first_port, 1, false), first_port, settings)
}

fn run_with(
    controller: &Controller,
    first_port: u16,
    settings: &[(&str, &str)],
) -> BenchmarkResult {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| controller.run(&stop).expect("it ran"));
        let result = run_against(first_port, settings);
        stop.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn the_reference_controller_is_measured() {
    let tests = "rfc8456:5.1.1,5.1.2,5.1.4,5.1.6,5.1.8,5.2,5.4.2";
    let result = run_with_controller(&[("plan.kind", tests)]);
    for outcome in &result.tests {
        assert!(outcome.is_measured(), "{outcome:?}");
    }
    assert_eq!(mean(&result, Test::ControlSessions), 12.0);
    assert_eq!(mean(&result, Test::DiscoverySize), 12.0);
    assert_eq!(figure(of(&result, Test::TopologyDiscoveryTime), "links"), 8.0);
    assert_eq!(figure(of(&result, Test::ReactivePathTime), "paths that failed"), 0.0);
    // Changes of ports are notified over gNMI.
    assert_eq!(figure(of(&result, Test::TopologyChangeTime), "notified"), 5.0);
    let entries = mean(&result, Test::ForwardingTable);
    assert!((120.0..=240.0).contains(&entries), "{entries}");
}

#[test]
fn the_reference_controller_provisions_requested_paths() {
    let first_port = free_ports();
    let mut controller = controller(first_port, 1, false);
    let northbound = controller.offer_northbound(([127, 0, 0, 1], 0).into()).expect("a port");
    let northbound = format!("ofctl:http://{northbound}");
    let settings = [("plan.kind", super::PROACTIVE), ("rfc8456.northbound", northbound.as_str())];
    super::check_proactive(&run_with(&controller, first_port, &settings));
}

#[test]
fn a_disturbance_is_counted_and_compared() {
    let result = run_with_controller(&[("plan.kind", "rfc8456:5.3")]);
    // Three tests, each alone and with two shares of invalid messages, then alone and under attack.
    assert_eq!(result.tests.len(), 15);
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
fn a_standby_controller_takes_over_when_no_controller_is_primary() {
    let first_port = free_ports();
    let (active, standby) = (controller(first_port, 7, false), controller(first_port, 1, true));
    let folder = tempfile::tempdir().expect("a folder");
    let (end, ended) = (folder.path().join("end"), folder.path().join("ended"));
    let fail =
        format!("touch {}; while [ ! -e {} ]; do sleep 0.01; done", end.display(), ended.display());
    let (stop_active, stop_all) = (AtomicBool::new(false), AtomicBool::new(false));
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            active.run(&stop_active).expect("it ran");
            std::fs::write(&ended, "").expect("a file");
        });
        scope.spawn(|| standby.run(&stop_all).expect("it ran"));
        scope.spawn(|| {
            while !end.exists() && !stop_all.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(2));
            }
            stop_active.store(true, Ordering::Relaxed);
        });
        let settings = [("plan.kind", "rfc8456:5.4.1"), ("rfc8456.fail", fail.as_str())];
        let result = run_against(first_port, &settings);
        stop_active.store(true, Ordering::Relaxed);
        stop_all.store(true, Ordering::Relaxed);
        result
    });
    let outcome = of(&result, Test::FailoverTime);
    assert!(outcome.is_measured(), "{outcome:?}");
    // The standby controller is primary of each switch, and answers; it floods, since hosts
    // announced themselves to the other controller.
    let counts = standby.counters().counts();
    assert_eq!(counts.sessions, 6, "{counts:?}");
    assert!(counts.packet_ins > 0 && counts.packet_outs > 0, "{counts:?}");
}

#[test]
fn a_program_that_does_not_compile_is_said_with_its_error() {
    let first_port = free_ports();
    let targets = Target::range("127.0.0.1", first_port, 1, 6).expect("targets");
    let options = Options {
        application: Application::Paths,
        device_config: Some("control c() {".into()),
        ..Options::default()
    };
    let controller = Controller::new(targets, options).expect("a pipeline");
    let stop = AtomicBool::new(false);
    let settings = [("plan.kind", "rfc8456:5.1.4"), ("timing.connect-timeout", "1s")];
    let result = std::thread::scope(|scope| {
        scope.spawn(|| controller.run(&stop).expect("it ran"));
        let result = run_against(first_port, &settings);
        stop.store(true, Ordering::Relaxed);
        result
    });
    let outcome = of(&result, Test::ReactivePathTime);
    let remark = outcome.trials.first().and_then(|trial| trial.remark.as_deref());
    assert!(remark.is_some_and(|remark| remark.contains("could not be compiled")), "{outcome:?}");
    // A switch that shares its port with others cannot be switched off alone.
    let shared = [("plan.kind", "rfc8456:5.1.4"), ("p4runtime.devices-per-port", "3")];
    let result = run_against(first_port, &shared);
    let remark = result.tests[0].trials[0].remark.as_deref();
    assert!(remark.is_some_and(|remark| remark.contains("--devices-per-port")), "{remark:?}");
}
