//! Tests Open vSwitch's test controller against emulated OpenFlow switches.
//!
//! The controller answers a packet-in to a known address with a flow-mod and a packet-out, or with
//! `-n` with a packet-out alone. As a hub (`-H`) it floods every packet, and installs rules that
//! flood. The messages that it sent are read from its own log. It serves at most 16 switches.

use std::process::Command;

use conformance::{OneTrial, Peer, ProbeRun, Running, repository};
use probe::outcome::{Completion, RunResult};

/// The kinds of controller, by their flags.
const LEARNING: &[&str] = &[];
const NO_FLOWS: &[&str] = &["-n"];
const HUB: &[&str] = &["-H"];
const HUB_NO_FLOWS: &[&str] = &["-H", "-n"];

#[test]
fn the_test_controller_answers_one_switch_over_1_0_and_1_3() {
    for (protocol, flag) in [("openflow10", "OpenFlow10"), ("openflow13", "OpenFlow13")] {
        let Some((_controller, result)) = run(LEARNING, protocol, flag, 1, 50, 0) else { return };
        assert_answered(&result, 1, 50);
    }
}

#[test]
fn the_line_of_the_examples_needs_no_folder_that_another_package_makes() {
    let Some(command) = Peer::OvsTestcontroller.command() else { return };
    drop(command);
    let readme = std::fs::read_to_string(repository().join("examples/README.md")).expect("there");
    let line = readme.lines().map(str::trim).find(|line| line.starts_with("ovs-testcontroller "));
    let line = line.expect("a line that starts it").split('#').next().unwrap_or_default();
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    assert!(arguments.iter().any(|argument| argument.contains(":6653:")), "{line}");
    let (_controller, address) = Running::start_listening(|port| {
        let mut command =
            Peer::OvsTestcontroller.command().unwrap_or_else(|| Command::new("false"));
        let port = format!(":{port}:");
        command.args(arguments.iter().map(|argument| argument.replace(":6653:", &port)));
        // This resembles a system that has only this package of Open vSwitch.
        command.env("OVS_RUNDIR", "/nonexistent/openvswitch");
        command
    });
    assert_answered(&probe("openflow13", &address.to_string(), 1, 50, &[]), 1, 50);
}

#[test]
fn the_test_controller_answers_16_switches() {
    let Some((_controller, result)) = run(LEARNING, "openflow13", "OpenFlow13", 16, 10, 0) else {
        return;
    };
    assert_answered(&result, 16, 10);
    assert!(result.trial().fairness.is_some_and(|fairness| fairness > 0.999));
}

#[test]
fn the_run_reports_that_16_of_64_switches_are_served() {
    let Some((_controller, address)) = start(NO_FLOWS, "OpenFlow10") else { return };
    let result = probe(
        "openflow10",
        &address,
        64,
        10,
        &[("timing.connect-timeout", "3s"), ("timing.allow-missing", "true")],
    );
    let trial = result.trial();
    let Completion::Partial { reason } = &result.completion else {
        panic!("{:?}", result.completion);
    };
    assert!(reason.contains("48 of 64"), "{reason}");
    assert_eq!((trial.handshake.ready, trial.handshake.wanted), (16, 64));
    assert_eq!(trial.handshake.stages.get("ready"), Some(&16), "{:?}", trial.handshake);
    assert!(trial.counts.sent > 0);
    assert_eq!((trial.counts.answered, trial.counts.lost), (trial.counts.sent, 0));
}

#[test]
fn flow_mods_do_not_count_as_answers() {
    for (protocol, flag) in [("openflow10", "OpenFlow10"), ("openflow13", "OpenFlow13")] {
        for flags in [LEARNING, HUB] {
            let Some((controller, result)) = run(flags, protocol, flag, 2, 40, 0) else { return };
            // A packet-in that is answered by a rule and by a packet counts once.
            assert_answered(&result, 2, 40);
            let counts = result.trial().counts;
            let rules = sent_during_traffic(&controller.output(), "OFPT_FLOW_MOD");
            assert_eq!(counts.rules_installed, rules, "{protocol} {flags:?}");
            assert_eq!(counts.rules_installed, counts.sent, "{protocol} {flags:?}");
            assert_eq!(counts.rules_refused, 0, "{protocol} {flags:?}");
        }
    }
}

#[test]
fn without_rules_the_test_controller_installs_nothing() {
    for flags in [NO_FLOWS, HUB_NO_FLOWS] {
        let Some((controller, result)) = run(flags, "openflow10", "OpenFlow10", 1, 50, 0) else {
            return;
        };
        assert_answered(&result, 1, 50);
        assert_eq!(sent_during_traffic(&controller.output(), "OFPT_FLOW_MOD"), 0);
        assert_eq!(result.trial().counts.rules_installed, 0);
    }
}

#[test]
fn buffered_packets_are_answered_by_their_buffer_id() {
    for (protocol, flag) in [("openflow10", "OpenFlow10"), ("openflow13", "OpenFlow13")] {
        for flags in [LEARNING, NO_FLOWS] {
            let Some((_controller, result)) = run(flags, protocol, flag, 2, 40, 256) else {
                return;
            };
            assert_answered(&result, 2, 40);
        }
    }
}

#[test]
fn the_process_of_the_test_controller_is_found_and_measured() {
    let Some((_controller, result)) = run(LEARNING, "openflow13", "OpenFlow13", 1, 50, 0) else {
        return;
    };
    let process = result.controller.process.as_deref();
    assert!(process.is_some_and(|process| process.contains("ovs-testcontrol")), "{process:?}");
    let usage = result.trial().controller_usage.expect("its use of the host");
    assert!(usage.rss_bytes_max > 100_000, "{usage:?}");
}

/// Runs one trial. Returns `None` if the controller is not installed.
fn run(
    flags: &[&str],
    protocol: &str,
    version: &str,
    switches: u32,
    packets: u32,
    buffers: u32,
) -> Option<(Running, RunResult)> {
    let (controller, address) = start(flags, version)?;
    let buffers = buffers.to_string();
    let result =
        probe(protocol, &address, switches, packets, &[("switches.buffers", buffers.as_str())]);
    Some((controller, result))
}

fn start(flags: &[&str], version: &str) -> Option<(Running, String)> {
    // A command can be used only once, so it is requested again below.
    Peer::OvsTestcontroller.command()?;
    let (controller, address) = Running::start_listening(|port| {
        let mut command =
            Peer::OvsTestcontroller.command().unwrap_or_else(|| Command::new("false"));
        command
            .args(["--unixctl=none", "--verbose=ANY:syslog:off", "--verbose=vconn:console:dbg"])
            .args(["--protocols", version])
            .args(flags)
            .arg(format!("ptcp:{port}:127.0.0.1"));
        command
    });
    Some((controller, address.to_string()))
}

/// Runs the probe with a number of packet-ins of each switch within half a second, and half a
/// second more for the rules that answer the last of them.
fn probe(
    protocol: &str,
    address: &str,
    switches: u32,
    packets: u32,
    more: &[(&str, &str)],
) -> RunResult {
    let (count, rate) = (switches.to_string(), (2 * packets).to_string());
    let ceases = format!("0-{}:stop-delay=500ms", switches - 1);
    let mut settings = vec![
        ("protocol", protocol),
        ("controller.address", address),
        ("switches.count", &count),
        ("traffic.rate", &rate),
        ("timing.settle", "100ms"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "1s"),
        ("switch", &ceases),
        ("timing.drain", "10s"),
        ("timing.connect-timeout", "30s"),
    ];
    settings.extend(more);
    ProbeRun::start(&settings).finish()
}

fn assert_answered(result: &RunResult, switches: u32, packets: u32) {
    let trial = result.trial();
    assert_eq!(result.completion, Completion::Complete, "{:?}", trial.handshake);
    assert_eq!(trial.handshake.ready, switches);
    let counts = trial.counts;
    assert_eq!(counts.due, u64::from(switches * packets), "{counts:?}");
    assert_eq!((counts.sent, counts.answered), (counts.due, counts.due), "{counts:?}");
    assert_eq!((counts.lost, counts.duplicated, counts.unmatched), (0, 0, 0), "{counts:?}");
    assert_eq!((counts.disconnects, counts.malformed), (0, 0), "{counts:?}");
    assert_eq!(trial.rtt_from_due.samples, counts.answered);
    assert!(trial.handshake.why_zero.is_none());
}

/// Returns the number of messages of a kind in the controller's log, from the first packet-in on.
/// Rules for the announcements of hosts precede traffic.
fn sent_during_traffic(log: &str, kind: &str) -> u64 {
    log.lines()
        .skip_while(|line| !line.contains("OFPT_PACKET_IN"))
        .filter(|line| line.contains("sent (Success)") && line.contains(kind))
        .filter(|line| !line.contains("arp"))
        .count() as u64
}
