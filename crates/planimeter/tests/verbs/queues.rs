//! Tests of ports with queues as a user has them: `stf --topology` in virtual time, and `bound` for
//! the same topology.

use crate::command::{planimeter, stderr, stdout};

const TOPOLOGY: &str = "examples/queues/topology.json";
const PROGRAM: &str = "examples/queues/queues.p4";

/// Returns the output of the example's script with further arguments.
fn script(arguments: &[&str]) -> String {
    let mut all = vec!["--topology", TOPOLOGY, PROGRAM];
    all.extend(arguments);
    let output = planimeter("stf", &all);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

/// Returns the delays in the output of a script in microseconds, of the packets at a line.
fn delays(output: &str, line: usize) -> Vec<f64> {
    let start = format!("examples/queues/topology.stf:{line}: h1 > s1 > s2 > h2 in ");
    let of = |text: &str| {
        let time = text.strip_prefix(&start)?;
        let (number, unit) = time.split_at(time.find(|c: char| c.is_alphabetic() || c == 'µ')?);
        let number: f64 = number.parse().ok()?;
        Some(if unit == "ms" { number * 1000.0 } else { number })
    };
    output.lines().filter_map(of).collect()
}

#[test]
fn the_urgent_queue_waits_for_one_packet_at_each_switch() {
    let output = script(&[]);
    for line in [
        "queue 0 of s1-p2: 53 packets, at most 16 waited, 7 dropped at the full queue",
        "queue 5 of s1-p2: 3 packets, at most 1 waited",
    ] {
        assert!(output.contains(line), "{output}");
    }
    let (bulk, voice) = (delays(&output, 4), delays(&output, 6));
    assert_eq!((bulk.len(), voice.len()), (53, 3), "{output}");
    // Voice passes within the bound of network calculus for the same topology.
    let bound = planimeter("bound", &[TOPOLOGY, "--json", "--flow", "voice"]);
    assert_eq!(bound.status.code(), Some(0), "{}", stderr(&bound));
    let json: serde_json::Value = serde_json::from_str(&stdout(&bound)).expect("JSON");
    let bound = &json["flows"][0]["bounds"][0]["delay"];
    // Two packets of 480 us at each of two switches, and a nanosecond for each, in seconds.
    assert_eq!(bound["exact"], "960001/500000000");
    let bound = bound["value"].as_f64().expect("a bound") * 1e6;
    assert!(voice.iter().all(|delay| (960.0..=bound).contains(delay)), "{voice:?}");
    // Behind 16 packets, bulk waits for longer than any voice packet may.
    assert!(bulk.iter().any(|delay| *delay > 16.0 * 480.0), "{bulk:?}");
    // All forms of machine code agree with the interpreter.
    assert_eq!(script(&["--path", "compiled"]), output);
}

#[test]
fn the_command_line_replaces_the_queues_of_a_port() {
    let output = script(&["--queue", "s1 port=2 rate=10Mbps queues=8 ecn=3"]);
    assert!(output.contains("queue 0 of s1-p2: 60 packets, at most 1 waited"), "{output}");
    for (line, reason) in [
        ("s7 port=2 rate=1Mbps", "has no switch of this name"),
        ("s1 port=2 rat=1Mbps", "there is no 'rat' of a port; there are port, queues"),
        ("port=2 rate=1Mbps", "does not begin with the name of a switch"),
    ] {
        let output = planimeter("stf", &["--topology", TOPOLOGY, PROGRAM, "--queue", line]);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(stderr(&output).contains(reason), "{line}: {}", stderr(&output));
    }
}

#[test]
fn a_switch_refuses_queues_that_it_cannot_serve() {
    for (arguments, reason) in [
        (&["--queue", "port=9 rate=1Mbps"][..], "port 9 of device 0 has queues, but no interface"),
        (&["--queue", "port=9 rate=fast"], "'fast' is no rate"),
    ] {
        let mut all = vec!["--no-p4"];
        all.extend(arguments);
        let output = planimeter("switch", &all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
}
