//! Tests of ports with queues as a user has them: `stf --topology` in virtual time, and `bound` for
//! the same topology.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::command::{planimeter, stderr, stdout};
use crate::ctl::{ctl, done};
use crate::switch::Switch;

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
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("outcome.json").display().to_string();
    let queue = ["--queue", "s1 port=2 rate=10Mbps queues=8 ecn=3"];
    let output = script(&[&queue[..], &["--result", file.as_str()]].concat());
    assert!(output.contains("queue 0 of s1-p2: 60 packets, at most 1 waited"), "{output}");
    let result = std::fs::read_to_string(&file).expect("a result");
    let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
    let [scripts, queues] = [0_usize, 1].map(|at| &result["sections"][0]["tables"][at]["rows"]);
    let passed = format!(": passed, {} packets", scripts[0][1]["value"].as_f64().expect("packets"));
    assert!(output.contains(&passed), "{passed}: {output}");
    let queues = queues.as_array().expect("rows");
    for row in queues {
        let [packets, waiting] =
            [2_usize, 3].map(|at| row[at]["value"].as_f64().expect("a number"));
        let name = row[0].as_str().expect("a name");
        let line = output.lines().find(|line| line.contains(name)).expect("a line");
        let of = if packets == 1.0 { "packet" } else { "packets" };
        let words = format!("{name}: {packets} {of}, at most {waiting} waited");
        assert!(line.contains(&words), "{words}: {line}");
    }
    assert_eq!(output.matches(" waited").count(), queues.len(), "{output}");
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

/// Starts a switch without a program, whose files may have `blocks` of 512 bytes each.
fn switch_with_limit(state: &Path, blocks: &str) -> Switch {
    let mut command = Command::new("sh");
    // A write beyond the limit fails, as on a full disk, instead of ending the process.
    command.args(["-c", "trap '' XFSZ; ulimit -S -f \"$1\"; shift; exec \"$@\"", "sh", blocks]);
    command.arg(env!("CARGO_BIN_EXE_planimeter")).stderr(Stdio::null());
    let (state, capture) = (state.display().to_string(), state.with_extension("pcap"));
    let port = format!("2@pcap:,{}", capture.display());
    Switch::of(command, "--no-p4", &["-i", &port, "--state", &state])
}

/// Queues that cannot be stored for a restart are refused and undone: the switch keeps those of the
/// last change that it has confirmed, and has them after a restart.
#[test]
fn queues_that_cannot_be_stored_are_refused_and_undone() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let switch = switch_with_limit(&state, "8");
    let mut confirmed = String::new();
    let mut is_refused = false;
    // A change with 64 queues takes several hundred bytes.
    for rate in 1..40 {
        let output = ctl(&switch, &format!("queue set port=2 queue=63 rate={rate}Mbps"));
        if output.status.success() {
            confirmed = done(&switch, "queue dump");
            continue;
        }
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let reason = "It was undone, because it cannot be stored for a restart";
        assert!(text.contains(reason), "{text}");
        is_refused = true;
        break;
    }
    assert!(is_refused && confirmed.contains("queue=63 rate="), "{confirmed}");
    assert_eq!(done(&switch, "queue dump"), confirmed);
    assert!(done(&switch, "queue show").lines().count() == 64, "the worker has the queues too");
    drop(switch);
    let switch = switch_with_limit(&state, "unlimited");
    assert_eq!(done(&switch, "queue dump"), confirmed);
    // Once the file has room again, changes of queues are accepted again.
    done(&switch, "queue set port=2 queue=63 rate=77Mbps");
}

/// Runs a script in which a source sends this many packets through two switches, whose queues are
/// always full. Returns the largest resident memory of the process in KiB.
fn memory_of(packets: u64) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let (script, output) = (folder.path().join("many.stf"), folder.path().join("output"));
    // Packets of 60 bytes come each 240 us, and s1 sends one each 480 us.
    let text = format!(
        "at 0s every 240us times {packets}\nsource h1 length 60 020000000002 020000000001 0800\n\
         check_packets h1 h2 >= {}\ncheck_delay h1 h2 max <= 20ms\n",
        packets / 2
    );
    std::fs::write(&script, text).expect("a script");
    let mut child = Command::new(env!("CARGO_BIN_EXE_planimeter"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["stf", "--topology", TOPOLOGY, PROGRAM])
        .arg(&script)
        .stdout(std::fs::File::create(&output).expect("a file"))
        .spawn()
        .expect("the command runs");
    // The peak of the resident memory (proc(5), `VmHWM`), until the process is gone.
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = number.unwrap_or(0).max(peak);
        if let Some(ended) = child.try_wait().expect("its state") {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let output = std::fs::read_to_string(&output).expect("its output");
    assert!(ended.success(), "{output}");
    assert!(output.contains(&format!("passed, {packets} packets")), "{output}");
    assert!(peak > 0, "the memory was read");
    peak
}

/// Ten times as many packets take no more memory. The environment variable `PLANIMETER_PACKETS`
/// makes the long run longer, such as 10000000.
#[test]
fn the_memory_of_a_network_does_not_grow_with_its_packets() {
    const SHORT: u64 = 4_000;
    /// The growth in KiB that is not from packets: what the allocator keeps.
    const SLACK: u64 = 2048;
    let wanted = std::env::var("PLANIMETER_PACKETS").ok();
    let long = wanted.map_or(10 * SHORT, |text| text.parse().expect("a number of packets"));
    let (short, long_peak) = (memory_of(SHORT), memory_of(long));
    println!("{SHORT} packets: {short} KiB, {long} packets: {long_peak} KiB");
    assert!(long_peak <= short + SLACK, "{short} KiB, and {long_peak} KiB for {long} packets");
}
