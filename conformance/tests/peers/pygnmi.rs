//! Tests that pygnmi reads, watches and disables the ports of a switch.

use std::time::Duration;

use conformance::{ADDRESS, Lab, Peer, Running, SwitchProcess, repository};

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn ports_are_read_watched_and_disabled() {
    let (Some(client), Some(lab)) = (Peer::Pygnmi.command(), Lab::new()) else { return };
    lab.cable(("s", "s1"), ("s", "h1"));
    let _switch = SwitchProcess::start(&lab, &[(1, "s1")], &["--no-p4"]);
    let mut command = lab.within("s", &client);
    command.arg(repository().join("conformance/scripts/pygnmi_ports.py")).args([ADDRESS, "s1"]);
    let mut client = Running::start(command).expect("ip runs");
    client.wait_for("\ndone", TIMEOUT);
}
