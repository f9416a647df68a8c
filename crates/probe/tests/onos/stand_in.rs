//! Tests of complete runs of the probe against the stand-in for ONOS ([`controllers::onos`]), which
//! connects to the switches, pushes pipelines and answers packet-ins as ONOS does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use controllers::onos::Onos;
use controllers::p4runtime::{Options, ServiceTime};
use probe::config::{Origin, PlanKind, Resolved, Settings};
use probe::outcome::{Completion, RunResult, Saturated, Trial};
use probe::rfc8456::BenchmarkWatcher;
use probe::rfc8456::outcome::BenchmarkResult;
use probe::{Live, RunContext};
use serde_json::Value;

use crate::{NoWatcher, free_port};

const BASIC: &str = "org.onosproject.pipelines.basic";
const TUTORIAL: &str = "p4-tutorial-pipeconf";

/// A stand-in for ONOS that runs on a thread until it is dropped.
struct StandIn {
    /// The URL of its REST interface.
    base: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    fn start(service_time: ServiceTime) -> Self {
        let redial = Duration::from_millis(100);
        let queue = service_time.queue();
        let options = Options { queue, redial, ..Onos::options() };
        let address = "127.0.0.1:0".parse().expect("an address");
        let onos = Onos::bind(address, options).expect("bound");
        let base = format!("http://{}", onos.address());
        let stop = Arc::<AtomicBool>::default();
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || onos.run(&until).expect("served"));
        Self { base, stop, thread: Some(thread) }
    }

    /// Runs the probe against the stand-in, with two switches and with the settings `more`.
    fn run(&self, more: &[(&str, &str)]) -> RunResult {
        let port = free_port().to_string();
        let usual = [
            ("protocol", "p4runtime"),
            ("p4runtime.first-port", port.as_str()),
            ("p4runtime.devices-per-port", "2"),
            ("switches.count", "2"),
            ("threads", "1"),
            ("traffic.rate", "50"),
            ("timing.connect-timeout", "20s"),
            ("timing.settle", "50ms"),
            ("timing.warm-up", "0s"),
            ("timing.measure", "300ms"),
            ("timing.drain", "2s"),
            ("controller.process", "none"),
            ("controller.onos-rest", &self.base),
        ];
        let resolved = resolved(&[&usual[..], more].concat());
        probe::run(&resolved.config, context(&resolved), &mut NoWatcher).expect("a result")
    }

    /// Returns the number of devices that the stand-in reports, or the HTTP status of its error.
    fn devices(&self) -> Result<usize, u16> {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut answer = agent
            .get(format!("{}/onos/v1/devices", self.base))
            .header("Authorization", "Basic b25vczpyb2Nrcw==")
            .call()
            .expect("an answer");
        if !answer.status().is_success() {
            return Err(answer.status().as_u16());
        }
        let text = answer.body_mut().read_to_string().expect("text");
        let known: Value = serde_json::from_str(&text).expect("JSON");
        Ok(known["devices"].as_array().expect("a list").len())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(())) | None) || std::thread::panicking());
    }
}

fn resolved(settings: &[(&str, &str)]) -> Resolved {
    let mut all = Settings::new();
    for (key, value) in settings {
        all.set(key, value, Origin::Flag);
    }
    all.resolve().unwrap_or_else(|error| panic!("{error}"))
}

fn context(resolved: &Resolved) -> RunContext {
    RunContext {
        command: ["planimeter", "probe", "-r", "200"].map(str::to_owned).to_vec(),
        configuration: resolved.values(),
        notes: Vec::new(),
        ports: None,
        live: Arc::new(Live::default()),
        interrupt: Arc::default(),
    }
}

fn trials(result: &RunResult) -> Vec<&Trial> {
    result.points.iter().flat_map(|point| &point.trials).collect()
}

#[test]
fn onos_answers_all_and_is_whole_after_it_was_made_to_forget() {
    let onos = StandIn::start(ServiceTime::default());
    let forgetful = [("controller.onos-forget", "true"), ("plan.repetitions", "2")];
    for _ in 0..2 {
        let result = onos.run(&forgetful);
        assert_eq!(result.completion, Completion::Complete);
        for trial in trials(&result) {
            assert!(trial.counts.due > 20, "{:?}", trial.counts);
            assert_eq!(trial.counts.answered, trial.counts.due, "{:?}", trial.counts);
            assert_eq!(trial.handshake.ready, 2);
        }
        // The stand-in would answer 404 if the probe had removed the netcfg before the devices.
        assert_eq!(onos.devices(), Ok(0));
    }
    onos.run(&[]);
    assert_eq!(onos.devices(), Ok(2));
}

#[test]
fn a_run_whose_switches_got_another_pipeconf_than_configured_says_so_and_is_partial() {
    let onos = StandIn::start(ServiceTime::default());
    let forgetful = ("controller.onos-forget", "true");
    let first = onos.run(&[forgetful, ("controller.onos-pipeconf", TUTORIAL)]);
    assert_eq!(first.completion, Completion::Complete);
    let names: Vec<&str> = first.pipelines().into_iter().collect();
    assert!(matches!(names[..], [name] if name.starts_with(TUTORIAL)), "{names:?}");
    let second = onos.run(&[forgetful, ("controller.onos-pipeconf", BASIC)]);
    let Completion::Partial { reason } = &second.completion else {
        panic!("{:?}", second.completion)
    };
    let expected = format!("another pipeconf than the requested {BASIC}: {TUTORIAL} to 2");
    assert!(reason.contains(&expected), "{reason}");
    assert!(reason.contains("--between") && reason.contains("--first-id"), "{reason}");
    let verdict = &trials(&second)[0].verdict.because;
    assert!(verdict.contains(&format!("The switches ran the pipeline {TUTORIAL}, ")), "{verdict}");
    // For devices with new ids, the stand-in uses the requested pipeconf.
    let third =
        onos.run(&[forgetful, ("controller.onos-pipeconf", BASIC), ("switches.first-id", "100")]);
    assert_eq!(third.completion, Completion::Complete);
    let names: Vec<&str> = third.pipelines().into_iter().collect();
    assert!(matches!(names[..], [name] if name.starts_with(BASIC)), "{names:?}");
}

/// A small version of the experiment of Fig. 6a and 7 of the P4RCProbe paper. Packet-ins arrive
/// four times as fast as they are answered, and none is dropped, so the backlog and the round-trip
/// time grow.
#[test]
fn a_saturated_controller_shows_its_backlog_and_the_next_command() {
    let onos = StandIn::start(ServiceTime::constant(Duration::from_millis(10)));
    let result = onos.run(&[
        ("traffic.rate", "200"),
        ("traffic.arrivals", "constant"),
        ("timing.measure", "2s"),
        ("timing.drain", "500ms"),
        ("plan.repetitions", "2"),
    ]);
    // Packet-ins that wait when a session ends are dropped, and the switch is dialled again.
    assert_eq!(result.completion, Completion::Complete);
    let trial = trials(&result)[1];
    assert_eq!(trial.verdict.saturated, Saturated::Controller, "{:?}", trial.verdict);
    let backlog = trial.verdict.backlog.expect("a backlog");
    // The controller answers at most 100 packet-ins per second, and fewer if the host withholds a
    // core. The other figures follow from the rate.
    let rate = backlog.answer_rate;
    assert!(rate <= 105.0 && (rate - trial.rates.received).abs() < 2.0, "{backlog:?}");
    assert!((backlog.growth_rate - (400.0 - rate)).abs() < 30.0, "{backlog:?}");
    assert!(backlog.at_end > backlog.at_start + 500, "{backlog:?}");
    // A packet-in that is answered t seconds after the start has waited for t (1 - rate / 400).
    let mean = trial.in_window.rtt_from_sent.mean_ns / 1e9;
    assert!((mean - (1.0 - rate / 400.0)).abs() < 0.1, "{mean} at {rate}/s");
    assert!(trial.verdict.because.contains("Next: `planimeter probe"), "{:?}", trial.verdict);
    let earlier = trials(&result)[0].in_window.rtt_from_sent.mean_ns / 1e9;
    assert!((0.65..0.85).contains(&earlier), "{earlier}");
    // All switches are served alike.
    assert!(trial.fairness.is_some_and(|fairness| fairness > 0.95), "{:?}", trial.fairness);
}

/// Tests that each trial with `controller.onos-forget` makes ONOS forget the devices of the
/// previous trial, that no device is left after the last trial, and that without the setting the
/// devices remain.
#[test]
fn the_tests_of_rfc_8456_have_onos_forget_the_switches() {
    struct NoWatcher;
    impl BenchmarkWatcher for NoWatcher {
        fn trial_begins(&mut self, _: &str) {}
        fn trial_ended(&mut self, _: &BenchmarkResult) {}
    }

    let onos = StandIn::start(ServiceTime::constant(Duration::from_millis(5)));
    let port = free_port().to_string();
    for (forgets, left) in [("true", 0), ("false", 2)] {
        let settings = [
            ("protocol", "p4runtime"),
            ("p4runtime.first-port", port.as_str()),
            ("switches.count", "2"),
            ("switches.topology", "linear"),
            ("timing.connect-timeout", "20s"),
            ("timing.settle", "50ms"),
            ("timing.measure", "200ms"),
            ("controller.onos-rest", &onos.base),
            ("controller.onos-forget", forgets),
            ("plan.kind", "rfc8456:5.1.2"),
            ("plan.repetitions", "2"),
        ];
        let resolved = resolved(&settings);
        let PlanKind::Rfc8456(tests) = resolved.config.plan.kind else { panic!("another plan") };
        let result =
            probe::rfc8456::run(&resolved.config, tests, context(&resolved), None, &mut NoWatcher)
                .expect("a result");
        assert_eq!(result.completion, Completion::Complete, "{result:?}");
        let time = result.tests[0].value.as_ref().expect("a time").mean;
        assert!((0.005..0.05).contains(&time), "{time}");
        assert_eq!(onos.devices(), Ok(left));
    }
}
