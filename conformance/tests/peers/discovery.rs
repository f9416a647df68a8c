//! Tests that a real controller discovers the emulated links: os-ken sends LLDP out of every port,
//! and detects a link when the frame returns from the port at the other end.

use std::process::Command;
use std::time::Duration;

use conformance::{OneTrial, Peer, ProbeRun, Running, repository};
use probe::topology::{Port, SwitchIndex, Topology};

#[test]
fn os_ken_discovers_exactly_the_emulated_links() {
    // With two threads, links lead from one thread to the other.
    let (switches, topology) = (7, "tree:2");
    if Peer::OsKen.command().is_none() {
        return;
    }
    let (mut controller, address) = Running::start_listening(|port| {
        let mut command = Peer::OsKen.command().unwrap_or_else(|| Command::new("false"));
        let script = repository().join("conformance/scripts/os_ken_links.py");
        command.arg(script).arg(port.to_string());
        command
    });
    let run = ProbeRun::start(&[
        ("protocol", "openflow13"),
        ("controller.address", &address.to_string()),
        ("switches.count", &switches.to_string()),
        ("switches.topology", topology),
        ("threads", "2"),
        ("timing.connect-timeout", "30s"),
        // The run stays in this phase, and is interrupted once everything is discovered.
        ("timing.settle", "60s"),
    ]);
    let source = probe::config::TopologySource::Tree { fanout: 2 };
    let links = Topology::build(&source, switches, 8).expect("a tree of seven switches");
    assert_eq!(links.link_count(), 6);
    for link in links.links() {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let text = format!("link {} {};", end(from), end(to));
            controller.wait_for(&text, Duration::from_secs(40));
        }
    }
    let result = run.interrupt();
    let found = controller.output().lines().filter(|line| line.starts_with("link ")).count();
    assert_eq!(found, 12, "each link once in each direction: {}", controller.output());
    assert!(result.trial().counts.discovery_relayed >= 12, "{:?}", result.trial().counts);
}

/// Returns os-ken's name for the end of a link, in which datapath ids count from 1.
fn end((switch, port): (SwitchIndex, Port)) -> String {
    format!("{}:{}", switch.0 + 1, port.0)
}
