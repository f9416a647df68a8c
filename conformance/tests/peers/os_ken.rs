//! Tests os-ken against emulated OpenFlow switches. The examples in `examples/os-ken` print the
//! rules that they install.

use std::process::Command;
use std::time::Duration;

use crate::interrupted::assert_answered;
use conformance::{OneTrial, Peer, ProbeRun, Running, repository};
use probe::outcome::RunResult;

const VERSIONS: [(&str, &str); 2] =
    [("openflow10", "learning_switch_10.py"), ("openflow13", "learning_switch_13.py")];

#[test]
fn os_ken_answers_one_switch_and_its_rules_arrive() {
    for (protocol, example) in VERSIONS {
        for buffers in [0, 64] {
            let Some((mut controller, result)) = run(protocol, example, 1, 40, buffers) else {
                return;
            };
            assert_ruled(&mut controller, &result, 1, 40);
        }
    }
}

#[test]
fn os_ken_answers_16_and_64_switches() {
    for (protocol, example) in VERSIONS {
        for switches in [16, 64] {
            let Some((mut controller, result)) = run(protocol, example, switches, 4, 0) else {
                return;
            };
            assert_ruled(&mut controller, &result, switches, 4);
            assert!(result.trial().fairness.is_some_and(|fairness| fairness > 0.999));
        }
    }
}

#[test]
fn rules_of_os_ken_keep_packets_in_switches_that_run_their_tables() {
    for (protocol, example) in VERSIONS {
        let Some((mut controller, address)) = start(example) else { return };
        let result = ProbeRun::start(&[
            ("protocol", protocol),
            ("controller.address", &address.to_string()),
            ("switches.count", "2"),
            ("switches.flow-tables", "run"),
            ("traffic.rate", "20"),
            ("timing.connect-timeout", "30s"),
            ("timing.settle", "500ms"),
            ("timing.warm-up", "0s"),
            ("timing.measure", "3s"),
        ])
        .finish();
        let counts = result.trial().counts;
        // Until the rule is installed, each direction causes at least one packet-in, and more if
        // os-ken is slow.
        assert!((4..=60).contains(&counts.sent), "{counts:?}");
        assert_eq!((counts.due, counts.forwarded_by_rules), (120, 120 - counts.sent), "{counts:?}");
        assert_eq!((counts.answered, counts.lost), (counts.sent, 0), "{counts:?}");
        assert_eq!((counts.duplicated, counts.unmatched), (0, 0), "{counts:?}");
        assert_eq!((counts.dropped_by_rules, counts.malformed), (0, 0), "{counts:?}");
        let said = controller.output().lines().filter(|line| line.starts_with("rule ")).count();
        assert_eq!(counts.rules_installed, said as u64, "{}", controller.output());
        assert!(controller.try_wait().is_none());
    }
}

/// Checks that packets of the probe do not select parsers of os-ken's packet library that never
/// return. The library selects the parser of a payload by the TCP port.
#[test]
fn an_application_that_parses_every_packet_answers_more_than_6000() {
    let script = repository().join("conformance/scripts/os_ken_parser.py");
    let Some((mut controller, address)) = start_script(&script) else { return };
    let run = ProbeRun::start(&[
        ("protocol", "openflow13"),
        ("controller.address", &address.to_string()),
        ("switches.count", "1"),
        ("traffic.rate", "1300"),
        ("timing.connect-timeout", "30s"),
        ("timing.settle", "500ms"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "120s"),
        ("switch", "0:stop-delay=115s"),
    ]);
    run.wait_until_answered(6500, Duration::from_secs(90));
    let result = run.interrupt();
    let counts = result.trial().counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (6500, 6500, 0), "{counts:?}");
    let output = controller.output();
    assert!(!output.contains("foreign ") && !output.contains("Traceback"), "{output}");
    assert!(controller.try_wait().is_none());
}

/// Starts an example. Returns `None` if os-ken is not installed.
fn start(example: &str) -> Option<(Running, std::net::SocketAddr)> {
    start_script(&repository().join("examples/os-ken").join(example))
}

fn start_script(script: &std::path::Path) -> Option<(Running, std::net::SocketAddr)> {
    // A command can be used only once, so it is requested again below.
    Peer::OsKen.command()?;
    Some(Running::start_listening(|port| {
        let mut command = Peer::OsKen.command().unwrap_or_else(|| Command::new("false"));
        command.arg(script).arg(port.to_string());
        command
    }))
}

/// Runs `packets` packet-ins of each switch within a second. The run continues until the last one
/// is answered, so that a slow machine changes nothing. Returns `None` if os-ken is not installed.
fn run(
    protocol: &str,
    example: &str,
    switches: u32,
    packets: u32,
    buffers: u32,
) -> Option<(Running, RunResult)> {
    let (controller, address) = start(example)?;
    let run = ProbeRun::start(&[
        ("protocol", protocol),
        ("controller.address", &address.to_string()),
        ("switches.count", &switches.to_string()),
        ("switches.buffers", &buffers.to_string()),
        ("traffic.rate", &packets.to_string()),
        ("timing.connect-timeout", "30s"),
        // Hosts announce themselves first, and os-ken needs time to learn their addresses.
        ("timing.settle", "500ms"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "60s"),
        ("switch", &format!("0-{}:stop-delay=59s", switches - 1)),
    ]);
    run.wait_until_answered(u64::from(switches * packets), Duration::from_secs(40));
    Some((controller, run.interrupt()))
}

/// Checks that the controller answered every packet-in and installed a rule for it. Every host is
/// known, and the rule is sent before the packet.
fn assert_ruled(controller: &mut Running, result: &RunResult, switches: u32, packets: u32) {
    let counts = assert_answered(controller, result, switches, packets);
    assert_eq!(counts.rules_installed, counts.sent, "{counts:?}");
}
