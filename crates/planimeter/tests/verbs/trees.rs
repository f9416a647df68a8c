//! Tests of `planimeter switch --trace --all-outcomes`.

use std::fs;
use std::process::Command;

use crate::command::{planimeter, stderr};
use crate::ctl::done;
use crate::switch::Switch;

const PROGRAM: &str = "programs/load_balancer.p4";

/// A packet from 10.0.0.1, port 1001, to 10.0.0.100, port 53.
const PACKET: &str = "0000000000990000000000010800\
                      4500001d000100004011666b0a0000010a000064\
                      03e900350009beef01";

/// Each packet has a tree with both servers, leaves to one of them, and the limit is that of the
/// flag.
#[test]
fn a_switch_writes_all_outcomes_and_packets_leave_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, port) = (path("traces.json"), format!("1@pcap:,{}", path("out.pcap")));
    let command = Command::new(env!("CARGO_BIN_EXE_planimeter"));
    let more = ["-i", &port, "--inject", "--trace", &file, "--trace-format", "json"];
    let limited = ["--all-outcomes", "--outcomes-limit", "2"];
    let switch = Switch::of(command, PROGRAM, &[&more[..], &limited[..]].concat());
    for words in [
        "member add servers 1 to_server 10.1.0.1 00:00:00:00:00:51 2",
        "member add servers 2 to_server 10.1.0.2 00:00:00:00:00:52 3",
        "member add servers 3 to_server 10.1.0.3 00:00:00:00:00:53 4",
        "group add servers 7 1 2",
        "table add services 10.0.0.100 53 --group 7",
    ] {
        done(&switch, words);
    }
    let traces = || traces::read(&fs::read(&file).expect("the file")).expect("traces");
    let left = done(&switch, &format!("inject 1 {PACKET}"));
    assert_eq!(left.lines().count(), 1, "one packet leaves: {left}");
    let first = traces();
    assert_eq!(first.len(), 1);
    let counts = first[0].outcomes.expect("counts");
    assert_eq!((counts.explored, counts.left_out, counts.limit), (2, 0, 2));
    let text = traces::text(&first[0], false);
    for part in ["one of 2", "port 2, ", "port 3, ", "(by its hash)"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    // With a third server, one outcome is left out, and the trace says so.
    done(&switch, "group modify servers 7 1 2 3");
    done(&switch, &format!("inject 1 {PACKET}"));
    let second = traces().pop().expect("a trace");
    assert_eq!(second.outcomes.expect("counts").left_out, 1);
    let text = traces::text(&second, false);
    assert!(text.contains("limit of 2 outcomes"), "{text}");

    let refused = planimeter("switch", &[PROGRAM, "--all-outcomes"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--trace"), "{}", stderr(&refused));
}
