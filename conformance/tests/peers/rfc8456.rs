//! Runs the tests of RFC 8456 against controllers of other authors: os-ken, with the topology that
//! it discovers and the functions behind its REST interfaces, and Faucet, which knows no topology
//! and keeps one VLAN on every switch.
//!
//! Times depend on the machine and are not checked. The tests check that each test has a figure,
//! and that counts and capacities are correct.

use std::process::Command;

use conformance::{Peer, Running, free_port, repository, rfc8456};
use probe::rfc8456::Test;
use probe::rfc8456::outcome::{BenchmarkResult, TestOutcome};

/// Settings that keep trials short, and give controllers in Python the time that they need.
const SHORT: &[(&str, &str)] = &[
    ("protocol", "openflow13"),
    ("switches.hosts", "2"),
    ("timing.measure", "2s"),
    ("timing.connect-timeout", "40s"),
    ("rfc8456.interval", "1s"),
    ("rfc8456.rate", "20"),
];

fn of(result: &BenchmarkResult, test: Test) -> &TestOutcome {
    let outcome = result.tests.iter().find(|outcome| outcome.test == test);
    outcome.unwrap_or_else(|| panic!("{test} was asked for"))
}

fn figure(outcome: &TestOutcome, name: &str) -> f64 {
    let figures = &outcome.trials.first().expect("a trial").figures;
    let found = figures.iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("{outcome:?}")).value
}

fn mean(outcome: &TestOutcome) -> f64 {
    outcome.value.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).mean
}

#[test]
fn os_ken_is_measured_in_every_test_that_needs_one_controller() {
    if Peer::OsKen.command().is_none() {
        return;
    }
    let rest = free_port();
    let (mut controller, address) = Running::start_listening(|port| {
        let mut command = Peer::OsKen.command().unwrap_or_else(|| Command::new("false"));
        let script = repository().join("conformance/scripts/os_ken_paths.py");
        command.arg(script).arg(port.to_string()).arg(rest.to_string());
        command
    });
    let (address, northbound) = (address.to_string(), format!("ofctl:http://127.0.0.1:{rest}"));
    let tests = "rfc8456:5.1.1,5.1.2,5.1.4,5.1.5,5.1.6,5.1.7,5.1.8,5.2.1,5.2.3,5.4.2";
    let own = [
        ("plan.kind", tests),
        ("controller.address", address.as_str()),
        ("rfc8456.northbound", northbound.as_str()),
        ("switches.count", "5"),
        ("timing.settle", "4s"),
        ("rfc8456.switches", "12"),
        ("rfc8456.flows", "20"),
    ];
    let result = rfc8456(&[SHORT, &own].concat());
    for outcome in &result.tests {
        assert!(outcome.is_measured(), "{outcome:?}\n{}", controller.output());
    }
    // The topology has two spines and three leaves, which the northbound interface must report.
    assert_eq!(figure(of(&result, Test::TopologyDiscoveryTime), "links"), 6.0);
    for test in [Test::ReactivePathTime, Test::ProactivePathTime] {
        assert_eq!(figure(of(&result, test), "paths that failed"), 0.0, "{:?}", of(&result, test));
    }
    assert_eq!(mean(of(&result, Test::ControlSessions)), 12.0);
    let change = of(&result, Test::TopologyChangeTime);
    assert_eq!(figure(change, "notified"), figure(change, "events"), "{change:?}");
    // Each of 20 flows has a rule at two or three switches; table-miss rules are not counted.
    let entries = mean(of(&result, Test::ForwardingTable));
    assert!((40.0..=60.0).contains(&entries), "{:?}", of(&result, Test::ForwardingTable));
    assert!(controller.try_wait().is_none() && !controller.output().contains("Traceback"));
}

#[test]
fn faucet_holds_its_sessions_and_carries_packets_by_its_rules() {
    if Peer::Faucet.command().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = folder.path().join("faucet.yaml");
    let switches: String = (1..=4)
        .map(|id| {
            format!(
                "  switch{id}:\n    dp_id: {id}\n    ignore_learn_ins: 0\n    interface_ranges:\n      \
                 1-8: {{native_vlan: hosts, max_hosts: 0}}\n"
            )
        })
        .collect();
    let text = format!("vlans:\n  hosts: {{vid: 100, max_hosts: 0}}\ndps:\n{switches}");
    std::fs::write(&configuration, text).expect("a file");
    // The processes start from Faucet's library; see the tests of Faucet.
    let start = "from os_ken.cmd.manager import main; main()";
    let (mut controller, address) = Running::start_listening(|port| {
        let mut command = Peer::Faucet.command().unwrap_or_else(|| Command::new("false"));
        command
            .args(["-c", start, "--ofp-listen-host=127.0.0.1"])
            .arg(format!("--ofp-tcp-listen-port={port}"))
            .arg("faucet.faucet")
            .env("FAUCET_CONFIG", &configuration)
            .env("FAUCET_LOG", "STDOUT")
            .env("FAUCET_EXCEPTION_LOG", "STDOUT")
            .env("FAUCET_PROMETHEUS_ADDR", "127.0.0.1")
            .env("FAUCET_PROMETHEUS_PORT", free_port().to_string());
        command
    });
    let address = address.to_string();
    let own = [
        ("plan.kind", "rfc8456:5.1.6,5.2.1"),
        ("controller.address", address.as_str()),
        ("switches.count", "4"),
        ("switches.ports", "8"),
        // Faucet floods packets to unknown addresses, and has no spanning tree here.
        ("switches.topology", "linear"),
        ("timing.settle", "3s"),
        ("rfc8456.switches", "4"),
    ];
    let result = rfc8456(&[SHORT, &own].concat());
    // Hosts announced themselves, so rules from before the trial forwarded every packet. The
    // controller provisioned nothing, and no rate is stated.
    let rate = of(&result, Test::ReactivePathRate);
    assert_eq!(
        figure(rate, "paths without the controller"),
        figure(rate, "paths offered"),
        "{rate:?}"
    );
    assert_eq!(figure(rate, "paths provisioned"), 0.0, "{rate:?}");
    assert!(rate.value.is_none(), "{rate:?}");
    assert!(figure(rate, "paths offered") >= 40.0, "{rate:?}");
    assert_eq!(mean(of(&result, Test::ControlSessions)), 4.0, "{}", controller.output());
    assert!(controller.try_wait().is_none());
}
