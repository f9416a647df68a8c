//! Tests in which hosts in network namespaces ping and run TCP through a switch, with the default
//! offloads of their interfaces.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use conformance::{ADDRESS, Lab, Peer, Running, SwitchProcess, binary, poll, repository};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(40);
/// The number of bytes that a TCP connection transfers. At its end, some hundred kilobytes may
/// still be in transit.
const BYTES: u64 = 2 << 20;

#[test]
fn an_ipv4_router_runs_with_the_entries_of_a_runtime_json() {
    let Some(lab) = hosts(2) else { return };
    for (number, other) in [(1, 2), (2, 1)] {
        let host = format!("h{number}");
        lab.configure(&host, &format!("addr add 10.0.{number}.1/24 dev eth0"));
        lab.configure(
            &host,
            &format!("neigh add 10.0.{number}.254 lladdr 02:00:00:00:fe:0{number} dev eth0"),
        );
        lab.configure(&host, &format!("route add 10.0.{other}.0/24 via 10.0.{number}.254"));
    }
    let (program, entries) = (program("router.p4"), pipeline("router-runtime.json"));
    // Each of two threads processes a share of the flows.
    let arguments = ["--p4", &program, "--runtime-json", &entries, "--workers", "2"];
    let _switch = SwitchProcess::start(&lab, &PORTS[..2], &arguments);
    ping(&lab, "h1", "10.0.2.1");
    tcp(&lab, "h1", "h2", "10.0.2.1");
    tcp(&lab, "h2", "h1", "10.0.1.1");
    // Each hop decrements the time to live.
    let expired = lab.run("h1", "ping", "-c 1 -W 1 -t 1 10.0.2.1");
    assert!(!expired.status.success(), "{expired:?}");
}

#[test]
fn a_switch_learns_by_digests_that_finsy_answers() {
    let (Some(finsy), Some(lab)) = (Peer::Finsy.command(), hosts(3)) else { return };
    same_network(&lab, 3);
    let _switch = SwitchProcess::start(&lab, &PORTS, &["--no-p4"]);
    let scratch = TempDir::new().expect("a folder");
    let p4info = scratch.path().join("p4info.txtpb");
    let compile = Command::new(binary())
        .args(["compile", "--p4info"])
        .arg(&p4info)
        .arg(program("learning_switch.p4"))
        .output();
    assert!(compile.expect("it starts").status.success());
    let mut command = lab.within("s", &finsy);
    command.arg(repository().join("conformance/scripts/finsy_learning.py")).args([ADDRESS, "1"]);
    command.arg(p4info).arg(program("learning_switch.p4")).arg("3");
    let mut controller = Running::start(command).expect("ip runs");
    controller.wait_for("ready", TIMEOUT);
    for (host, other) in [("h1", 2), ("h1", 3), ("h2", 3)] {
        ping(&lab, host, &format!("10.0.0.{other}"));
    }
    let learned = |said: &str| said.lines().filter(|line| line.starts_with("learned ")).count();
    assert!(poll(TIMEOUT, || learned(&controller.output()) == 3), "{}", controller.output());
    tcp(&lab, "h1", "h3", "10.0.0.3");
    for number in 1..=3 {
        assert!(controller.output().contains(&format!("learned 02000000000{number} {number}")));
    }
}

#[test]
fn the_reference_controller_and_the_switch_connect_hosts() {
    let Some(lab) = hosts(3) else { return };
    same_network(&lab, 3);
    let _switch = SwitchProcess::start(&lab, &PORTS, &["--no-p4"]);
    let mut command = lab.command("s", "timeout");
    command.args(["--kill-after=1", "120"]).arg(binary()).args(["controller", "--verbose"]);
    command.args(["--device", &format!("1@{ADDRESS}"), "--flood-ports", "3"]);
    command.args(["--device-config", &program("l2.p4")]);
    let _controller = Running::start(command).expect("ip runs");
    // No packet passes until the switch has its program.
    let passes = || lab.run("h1", "ping", "-c 1 -W 1 10.0.0.2").status.success();
    assert!(poll(TIMEOUT, passes));
    ping(&lab, "h1", "10.0.0.2");
    tcp(&lab, "h2", "h3", "10.0.0.3");
}

#[test]
fn packets_pass_a_tunnel_between_two_devices_of_one_process() {
    let Some(lab) = hosts(2) else { return };
    same_network(&lab, 2);
    no_arp(&lab);
    lab.cable(("s", "x1"), ("s", "x2"));
    let scratch = TempDir::new().expect("a folder");
    let devices = scratch.path().join("devices.toml");
    let device = |id: u32| {
        let (program, entries) =
            (program("tunnel.p4"), pipeline(&format!("tunnel-{id}-runtime.json")));
        format!(
            "[[device]]\nid = {id}\np4 = {program:?}\nruntime-json = {entries:?}\nports = [\"1@s{id}\", \"2@x{id}\"]\n"
        )
    };
    fs::write(&devices, [1, 2].map(device).join("\n")).expect("it can be written");
    // A tunnel takes six bytes of the cable's 1500.
    for host in ["h1", "h2"] {
        lab.configure(host, "link set eth0 mtu 1494");
    }
    let switch = SwitchProcess::start(&lab, &[], &["--devices", &devices.to_string_lossy()]);
    ping(&lab, "h1", "10.0.0.2");
    tcp(&lab, "h1", "h2", "10.0.0.2");
    assert!(switch.output().contains("device 2 runs"), "{}", switch.output());
}

#[test]
fn packets_write_the_table_of_a_firewall() {
    let (Some(shell), Some(lab)) = (Peer::P4RuntimeShell.command(), hosts(2)) else { return };
    same_network(&lab, 2);
    no_arp(&lab);
    // Ports below 8 are inside.
    let ports = [(1, "s1"), (8, "s2")];
    let _switch = SwitchProcess::start(&lab, &ports, &["--p4", &program("firewall.p4")]);
    let entries = || {
        let mut command = lab.within("s", &shell);
        command.arg(repository().join("conformance/scripts/p4runtime_shell_table.py"));
        let output = command.args([ADDRESS, "1", "connections"]).output().expect("ip runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("done"), "{output:?}");
        let entries = said.lines().filter_map(|line| line.strip_prefix("entry "));
        entries
            .map(|entry| serde_json::from_str(entry).expect("JSON"))
            .collect::<Vec<serde_json::Value>>()
    };
    assert_eq!(entries().len(), 0);
    // Connections from outside are rejected.
    let _inside = serve(&lab, "h1");
    let refused = lab.run("h2", "iperf3", "-c 10.0.0.1 --connect-timeout 700 -n 1K");
    assert!(!refused.status.success(), "{refused:?}");
    assert_eq!(entries().len(), 0);
    tcp(&lab, "h1", "h2", "10.0.0.2");
    // iperf3 has one connection for control and one for data.
    let found = entries();
    assert_eq!(found.len(), 2, "{found:?}");
    for entry in found {
        assert_eq!(entry["meta.outside_port"], 5201, "{entry}");
        assert_eq!(entry["meta.inside_address"], 0x0a00_0001, "{entry}");
        assert_eq!(entry["headers.ipv4.protocol"], 6, "{entry}");
    }
}

/// The ports of the switch, and their interfaces.
const PORTS: [(u32, &str); 3] = [(1, "s1"), (2, "s2"), (3, "s3")];

/// Creates hosts `h1`, `h2`, ... with `eth0` at the switch's `s1`, `s2`, ...
fn hosts(count: u32) -> Option<Lab> {
    Peer::Iperf3.command()?;
    Peer::Ping.command()?;
    let mut lab = Lab::new()?;
    for number in 1..=count {
        let host = format!("h{number}");
        lab.add(&host);
        lab.cable((&host, "eth0"), ("s", &format!("s{number}")));
        lab.configure(&host, &format!("link set eth0 address 02:00:00:00:00:0{number}"));
    }
    Some(lab)
}

/// Assigns the addresses 10.0.0.1, 10.0.0.2, ... to the hosts.
fn same_network(lab: &Lab, count: u32) {
    for number in 1..=count {
        lab.configure(&format!("h{number}"), &format!("addr add 10.0.0.{number}/24 dev eth0"));
    }
}

/// Configures static neighbours, for programs that forward only IPv4.
fn no_arp(lab: &Lab) {
    lab.configure("h1", "neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0");
    lab.configure("h2", "neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev eth0");
}

fn ping(lab: &Lab, from: &str, to: &str) {
    let output = lab.run(from, "ping", &format!("-c 3 -i 0.2 -W 5 {to}"));
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(" 0% packet loss"), "{output:?}");
}

fn serve(lab: &Lab, host: &str) -> Running {
    let mut command = lab.command(host, "timeout");
    command.args(["--kill-after=1", "60", "iperf3", "--server", "--one-off", "--forceflush"]);
    let mut server = Running::start(command).expect("ip runs");
    server.wait_for("listening", TIMEOUT);
    server
}

/// Transfers some megabytes over TCP.
fn tcp(lab: &Lab, from: &str, to: &str, address: &str) {
    let _server = serve(lab, to);
    let output =
        lab.run(from, "iperf3", &format!("--client {address} --bytes {BYTES} --window 64K --json"));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("iperf3 says no JSON: {output:?}"));
    assert!(output.status.success(), "{said}");
    let received = said["end"]["sum_received"]["bytes"].as_u64();
    assert!(received >= Some(BYTES / 2), "{received:?}: {said}");
}

fn program(name: &str) -> String {
    path("programs", name)
}

fn pipeline(name: &str) -> String {
    path("conformance/pipelines", name)
}

fn path(folder: &str, name: &str) -> String {
    let path: PathBuf = repository().join(folder).join(name);
    path.canonicalize().expect("it is there").to_string_lossy().into_owned()
}
