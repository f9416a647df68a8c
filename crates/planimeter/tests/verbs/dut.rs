//! Tests of `planimeter dut` against `planimeter switch`, both as a user runs them.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::browser;
use crate::command::{planimeter, stderr, stdout};
use crate::document;

/// A switch that runs `programs/router.p4` until it is dropped, and its address.
struct Switch(Child, String);

impl Switch {
    fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut child = Command::new(env!("CARGO_BIN_EXE_planimeter"))
            .current_dir(root)
            .args(["switch", "programs/router.p4", "--grpc-server-addr", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("its output");
        BufReader::with_capacity(1, output).read_line(&mut line).expect("a line");
        let address = line.split_whitespace().nth(2).expect("an address").to_owned();
        Self(child, address)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_switch_is_measured_and_the_report_has_all_tests() {
    let switch = Switch::start();
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy();
    let words = [&switch.1, "--quick", "--quiet", "--batch", "10", "--entries", "2k", "-o", &place];
    let output = planimeter("dut", &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = document::result(&run);
    assert_eq!(result["kind"], "dut");
    let ids: Vec<&str> = result["sections"]
        .as_array()
        .expect("sections")
        .iter()
        .filter_map(|section| section["id"].as_str())
        .collect();
    assert_eq!(ids, ["updates", "reads", "capacity"]);
    let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert!(row[3]["value"].as_f64().expect("a rate") > 0.0, "{row}");
        assert_eq!(row[6]["value"], 0.0, "nothing is refused: {row}");
    }
    // The table is declared with 1,024 entries.
    let text = stdout(&output);
    assert!(text.contains("capacity: 1024 entries, then ResourceExhausted"), "{text}");
    browser::check(&run);
}

#[test]
fn what_cannot_be_measured_says_why() {
    let nobody = planimeter("dut", &["127.0.0.1:1", "--quick"]);
    assert_eq!(nobody.status.code(), Some(3), "{}", stderr(&nobody));
    let switch = Switch::start();
    let device = planimeter("dut", &[&switch.1, "--device-id", "7"]);
    assert_eq!(device.status.code(), Some(2), "{}", stderr(&device));
    assert!(stderr(&device).contains("no device 7"), "{}", stderr(&device));
    let table = planimeter("dut", &[&switch.1, "--table", "other"]);
    assert_eq!(table.status.code(), Some(2), "{}", stderr(&table));
    assert!(stderr(&table).contains("no table `other`"), "{}", stderr(&table));
}
