//! Measures Open vSwitch with the userspace datapath over both versions of OpenFlow.
//!
//! The generator checks every byte of every received packet. A cell is therefore measured only if
//! Open vSwitch interpreted its rule as intended, so that a whole campaign tests all 42 rules.

use std::process::Command;

use conformance::{Peer, binary};

#[test]
fn every_cell_of_table_one_is_understood_over_both_versions() {
    if Peer::OpenVSwitch.command().is_none() {
        return;
    }
    for version in ["1.0", "1.3"] {
        let directory = tempfile::tempdir().expect("a directory");
        let plan = directory.path().join("plan.toml");
        let text = format!(
            "device.kind = 'open-vswitch'
            device.openflow = '{version}'
            settings.rules = [3]
            [campaign]
            repetitions = 1
            packets = 5
            warm-up = 0"
        );
        std::fs::write(&plan, text).expect("a file");
        let run = directory.path().join("run");
        let output = Command::new(binary())
            .args(["device", "measure", "--quiet"])
            .arg(&plan)
            .arg("-o")
            .arg(&run)
            .output()
            .expect("planimeter runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "OpenFlow {version}: {error}");
        let journal = std::fs::read_to_string(run.join("journal.jsonl")).expect("a journal");
        let blocks = journal.lines().filter(|line| line.starts_with("{\"block\"")).count();
        assert_eq!(blocks, 42, "OpenFlow {version}");
    }
}
