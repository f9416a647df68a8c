//! Tests of the requests that the probe sends to ONOS over REST, against an emulated ONOS that
//! never dials (`server`), and against the stand-in of `planimeter controller --onos` (`stand_in`).

mod server;
mod stand_in;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use probe::config::{Origin, Settings};
use probe::outcome::{Completion, RunResult, Trial};
use probe::{Live, RunContext, RunError, Watcher};

use server::Onos;

struct NoWatcher;

impl Watcher for NoWatcher {
    fn trial_begins(&mut self, _: u32, _: Option<u32>, _: &str) {}
    fn trial_ended(&mut self, _: &Trial, _: &RunResult) {}
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Runs two switches that no controller dials.
fn run(onos: &Onos, more: &[(&str, &str)]) -> Result<RunResult, RunError> {
    let port = free_port().to_string();
    let mut settings = Settings::new();
    let base = onos.serve();
    let usual = [
        ("protocol", "p4runtime"),
        ("p4runtime.first-port", &port),
        ("p4runtime.devices-per-port", "2"),
        ("switches.count", "2"),
        ("threads", "1"),
        ("timing.connect-timeout", "300ms"),
        ("controller.process", "none"),
        ("controller.onos-rest", &base),
    ];
    for (key, value) in usual.iter().chain(more) {
        settings.set(key, value, Origin::Flag);
    }
    let resolved = settings.resolve().expect("settings");
    let context = RunContext {
        command: Vec::new(),
        configuration: BTreeMap::new(),
        notes: Vec::new(),
        ports: None,
        live: Arc::new(Live::default()),
        interrupt: Arc::new(AtomicBool::new(false)),
    };
    probe::run(&resolved.config, context, &mut NoWatcher)
}

fn reason(result: &RunResult) -> String {
    match &result.completion {
        Completion::Failed { reason } => reason.clone(),
        other => panic!("{other:?}"),
    }
}

fn trial(result: &RunResult) -> &Trial {
    result.points.first().and_then(|point| point.trials.first()).expect("a trial")
}

const ACTIVE: [&str; 4] = ["drivers.bmv2", "pipelines.basic", "fwd", "hostprovider"];

#[test]
fn an_application_that_is_missing_is_named_without_waiting_for_switches() {
    let onos = Onos::with(&["drivers.bmv2"]);
    let begun = Instant::now();
    let error = run(&onos, &[("timing.connect-timeout", "1h")]).expect_err("it cannot work");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let text = error.to_string();
    let expected = "its pipeconf org.onosproject.pipelines.basic comes with \
                    org.onosproject.pipelines.basic, which is not active: onos-app HOST activate \
                    org.onosproject.pipelines.basic";
    assert!(text.ends_with(expected), "{text}");
    assert!(!text.contains("drivers.bmv2"), "{text}");
    let requests = onos.requests();
    assert!(requests.contains(&"POST /onos/v1/network/configuration".to_owned()), "{requests:?}");
}

#[test]
fn openflow_needs_an_application_too() {
    let error = run(&Onos::with(&[]), &[("protocol", "openflow13")]).expect_err("it cannot work");
    assert!(
        error.to_string().contains("onos-app HOST activate org.onosproject.openflow"),
        "{error}"
    );
}

#[test]
fn known_and_ignored_devices_are_distinguished() {
    let onos = Onos::with(&ACTIVE);
    onos.device("device:bmv2:s1", false, "bmv2:org.onosproject.pipelines.basic");
    let reason = reason(&run(&onos, &[]).expect("a result"));
    assert!(reason.starts_with("0 of 2 switches were ready after 0.3 s"), "{reason}");
    assert!(reason.contains("ONOS knows 1 of the 2 devices and is not connected"), "{reason}");
    assert!(reason.contains("12 to 50 s") && reason.contains("--connect-timeout"), "{reason}");
    assert!(
        reason.contains("has the netcfg of 1 of the 2 devices and created no device"),
        "{reason}"
    );
    assert!(reason.contains("the driver bmv2 and the pipeconf org.onosproject.pip"), "{reason}");
}

#[test]
fn a_sweep_does_not_wait_for_the_same_nothing_at_every_point() {
    let onos = Onos::with(&ACTIVE);
    let sweep = [("plan.kind", "sweep"), ("plan.rates", "1,2,3,4"), ("plan.repetitions", "3")];
    let result = run(&onos, &sweep).expect("a result");
    assert_eq!(result.points.iter().map(|point| point.trials.len()).sum::<usize>(), 1);
    assert!(matches!(result.completion, Completion::Failed { .. }));
    let notes = result.notes.join("\n");
    assert!(notes.contains("No switch got ready"), "{notes}");
    assert!(notes.contains("--between") && notes.contains("--onos-forget"), "{notes}");
    // A command that restarts the controller may help, so all trials are run.
    let restarted = [sweep.as_slice(), &[("plan.between", "true")]].concat();
    let result = run(&onos, &restarted).expect("a result");
    assert_eq!(result.points.iter().map(|point| point.trials.len()).sum::<usize>(), 12);
}

#[test]
fn a_device_that_keeps_another_pipeconf_is_noted_and_so_is_flooding() {
    let onos = Onos::with(&["drivers.bmv2", "pipelines.basic", "fwd"]);
    onos.device("device:bmv2:s2", false, "bmv2:p4-tutorial-pipeconf");
    onos.device("device:bmv2:s77", false, "bmv2:p4-tutorial-pipeconf");
    let result = run(&onos, &[]).expect("a result");
    let notes = trial(&result).notes.join("\n");
    assert!(notes.contains("ONOS knows 1 of the devices with another pip"), "{notes}");
    assert!(notes.contains("org.onosproject.hostprovider is not: it knows no hosts"), "{notes}");
    let quiet = run(&Onos::with(&ACTIVE), &[]).expect("a result");
    assert!(!trial(&quiet).notes.join("\n").contains("hostprovider"));
}

#[test]
fn onos_forgets_the_switches_of_the_run_and_no_others() {
    for (protocol, id, stranger) in [
        ("p4runtime", "device:bmv2:s2", "device:bmv2:s3"),
        ("openflow13", "of:0000000000000002", "of:0000000000000003"),
    ] {
        let onos = Onos::with(&["drivers.bmv2", "pipelines.basic", "openflow"]);
        for (device, mac) in [(id, "02:00:00:00:00:01"), (stranger, "02:00:00:00:00:02")] {
            onos.device(device, true, "bmv2:org.onosproject.pipelines.basic");
            onos.host(mac, device);
        }
        let address = format!("127.0.0.1:{}", free_port());
        let forgetful = [
            ("protocol", protocol),
            ("controller.address", &address),
            ("controller.onos-forget", "true"),
        ];
        let result = run(&onos, &forgetful).expect("a result");
        let stranger_host = "02:00:00:00:00:02/None".to_owned();
        assert_eq!(onos.holds(), [vec![stranger.to_owned()], Vec::new(), vec![stranger_host]]);
        assert!(!trial(&result).notes.join("\n").contains("did not forget"));
        let deleted = |what: &str| {
            let of = format!("DELETE /onos/v1/{what}/{id}");
            onos.requests().iter().position(|request| *request == of)
        };
        // An ONOS whose netcfg is removed before its devices answers no more queries about devices.
        let netcfg = deleted("network/configuration/devices");
        assert_eq!(netcfg.is_some(), protocol == "p4runtime");
        assert!(netcfg.is_none_or(|netcfg| deleted("devices").is_some_and(|first| first < netcfg)));
    }
}
