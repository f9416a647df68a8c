//! Repeats ONOS 2.5's conversation with a switch, in its order and with its gRPC library, from the
//! first arbitration to the rules of reactive forwarding for hosts that ping each other.
//!
//! ONOS itself does not run here: its messages were observed on 2.5.6. The program has the
//! structure of ONOS's own pipelines.

use std::fs;
use std::process::Command;
use std::time::Duration;

use conformance::{ADDRESS, Lab, Peer, Running, SwitchProcess, binary, java, repository};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn the_session_of_onos_works_with_the_interpreter() {
    session("interpreter");
}

#[test]
fn the_session_of_onos_works_with_machine_code() {
    session("compiled");
}

#[test]
fn onos_reads_ports_over_gnmi_as_from_stratum() {
    let (Some(finsy), Some(lab)) = (Peer::Finsy.command(), Lab::new()) else { return };
    let ends: Vec<String> = ["s1", "h1", "s2", "h2"].map(str::to_owned).into();
    for cable in ends.chunks(2) {
        lab.cable(("s", &cable[0]), ("s", &cable[1]));
    }
    // The switch has ports even without a program.
    let _switch = SwitchProcess::start(&lab, &[(1, "s1"), (2, "s2")], &["--no-p4"]);
    let mut command = lab.within("s", &finsy);
    command.arg(repository().join("conformance/scripts/gnmi_as_onos.py")).arg(ADDRESS).args(ends);
    let mut client = Running::start(command).expect("ip runs");
    client.wait_for("\ndone", TIMEOUT);
}

fn session(path: &str) {
    let scratch = TempDir::new().expect("a folder");
    let Some(java) = java("Onos", scratch.path()) else { return };
    let (Some(_), Some(mut lab)) = (Peer::Ping.command(), Lab::new()) else { return };
    // A cable from port 1 to port 2 makes links that can be found.
    lab.cable(("s", "s1"), ("s", "s2"));
    for number in [1, 2] {
        let (host, other) = (format!("h{number}"), 3 - number);
        lab.add(&host);
        lab.cable((&host, "eth0"), ("s", &format!("s{}", number + 2)));
        lab.configure(&host, &format!("link set eth0 address 02:00:00:00:00:0{number}"));
        lab.configure(&host, &format!("addr add 10.0.0.{number}/24 dev eth0"));
        let neighbour = format!("neigh add 10.0.0.{other} lladdr 02:00:00:00:00:0{other} dev eth0");
        lab.configure(&host, &neighbour);
    }
    let ports = [(1, "s1"), (2, "s2"), (3, "s3"), (4, "s4")];
    let switch =
        SwitchProcess::start(&lab, &ports, &["--no-p4", "--path", path, "--log-level", "warn"]);

    let program = scratch.path().join("reactive.p4");
    fs::copy(repository().join("conformance/pipelines/reactive.p4"), &program).expect("a copy");
    let p4info = scratch.path().join("p4info.txtpb");
    let mut compile = Command::new(binary());
    compile.args(["compile", "--p4info"]).arg(&p4info).arg(&program);
    assert!(compile.status().expect("it starts").success());
    let descriptors = scratch.path().join("descriptors");
    fs::write(&descriptors, p4runtime::proto::DESCRIPTORS).expect("a file");
    let mut command = lab.within("s", &java);
    command.arg(ADDRESS).args([&descriptors, &p4info, &program]);
    let mut controller = Running::start(command).expect("ip runs");
    controller.wait_for("forwarding", TIMEOUT);
    // The first packets go through the controller, the following ones match its rules.
    let first = lab.run("h1", "ping", "-c 2 -i 0.2 -W 10 10.0.0.2");
    assert!(first.status.success(), "{first:?}\n{}", controller.output());
    controller.wait_for("rules", TIMEOUT);
    let others = lab.run("h1", "ping", "-c 3 -i 0.2 -W 5 10.0.0.2");
    assert!(String::from_utf8_lossy(&others.stdout).contains(" 0% packet loss"), "{others:?}");
    fs::write(scratch.path().join("reactive.p4.pinged"), "").expect("a file");
    controller.wait_for("\ndone", TIMEOUT);
    controller.wait_for_end(TIMEOUT);
    let said = switch.output();
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(warnings, [""; 0], "{said}");
}
