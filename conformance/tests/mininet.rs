//! Mininet networks in the format of the p4lang tutorials, with our switch in them.

use std::time::Duration;

use conformance::{Lab, Peer, Running, binary, repository};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn hosts_of_the_example_reach_each_other() {
    let (Some(python), Some(lab)) = (Peer::Mininet.command(), Lab::new()) else { return };
    let scratch = TempDir::new().expect("a folder");
    // What would be the machine's own namespace is one of the lab.
    let mut command = lab.within("s", &python);
    let examples = repository().join("examples/mininet").canonicalize().expect("it is there");
    command.arg(examples.join("run_exercise.py")).args(["--topo", "topology.json", "--test"]);
    command.arg("--p4").arg(examples.join("../../programs/router.p4"));
    command.arg("--log-dir").arg(scratch.path());
    command.arg("--pcap-dir").arg(scratch.path());
    command.current_dir(examples.join("router"));
    command.env("PLANIMETER", binary().canonicalize().expect("it is there"));
    let mut running = Running::start(command).expect("ip runs");
    running.wait_for("lost ", PATIENCE);
    assert!(running.output().contains("lost 0.0 %"), "{}", running.output());
    running.wait_for_end(PATIENCE);
    let recorded = scratch.path().join("s2-eth1_in.pcap");
    assert!(recorded.metadata().is_ok_and(|file| file.len() > 200), "{}", recorded.display());
}
