//! Tests of the programs that teach queues (`examples/queues`): each shows its effect, on the
//! interpreter and as machine code, and a program without it does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use packetio::pcap::CaptureReader;

use crate::command::{planimeter, stderr, stdout};

const FOLDER: &str = "examples/queues";

fn file(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// Runs a program in the topology and with the script of an example. Returns the exit status and
/// the output.
fn run(program: &str, example: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let (topology, script) = (file(&format!("{example}.json")), file(&format!("{example}.stf")));
    let mut all = vec!["--topology", &topology, program, &script];
    all.extend(arguments);
    let output = planimeter("stf", &all);
    (output.status.code(), stdout(&output) + &stderr(&output))
}

fn passes(example: &str) {
    passes_with(example, example);
}

/// Checks that the script of an example passes with a program, on both paths.
fn passes_with(program: &str, example: &str) {
    let program = file(&format!("{program}.p4"));
    let (status, interpreted) = run(&program, example, &[]);
    assert_eq!(status, Some(0), "{interpreted}");
    assert_eq!(run(&program, example, &["--path", "compiled"]), (Some(0), interpreted));
}

/// Writes the program of an example with a part replaced, beside the file that it includes.
fn changed(folder: &Path, example: &str, from: &str, to: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FOLDER);
    let text = fs::read_to_string(source.join(format!("{example}.p4"))).expect("a program");
    assert!(text.contains(from), "{example}.p4 has no {from}");
    fs::copy(source.join("ipv4.p4"), folder.join("ipv4.p4")).expect("a copy");
    let path = folder.join("changed.p4");
    fs::write(&path, text.replace(from, to)).expect("a program");
    path.display().to_string()
}

/// Checks that a script fails with a changed program, for this reason.
fn fails(example: &str, change: [&str; 2], reason: &str) {
    fails_with(example, example, change, reason);
}

/// Checks that the script of an example fails with a changed program, for this reason.
fn fails_with(program: &str, example: &str, [from, to]: [&str; 2], reason: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = changed(folder.path(), program, from, to);
    let (status, output) = run(&program, example, &[]);
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains(reason), "{output}");
}

#[test]
fn ecn_marks_from_the_threshold_on() {
    passes("ecn");
    for threshold in ["THRESHOLD = 7", "THRESHOLD = 9"] {
        fails("ecn", ["THRESHOLD = 8", threshold], "differs");
    }
    fails("ecn", [" && headers.ipv4.ecn != NOT_ECT", ""], "expected == 13");
}

#[test]
fn codel_holds_the_delay_where_tail_drop_fills_the_queue() {
    passes("codel");
    let (status, output) = run(&file("ecn.p4"), "codel", &[]);
    assert_eq!(status, Some(1), "{output}");
    // 500 packets wait, and one is on the wire: each packet takes half a second.
    assert!(output.contains("largest delay 501ms"), "{output}");
    // Without the square root, drops come at a constant rate that does not suffice.
    fails("codel", ["next = next + wait_for", "next = next + INTERVAL"], "expected <=");
}

#[test]
fn pie_settles_at_its_reference() {
    passes("pie");
    fails("pie", ["REFERENCE = 15000", "REFERENCE = 100000"], "expected <= 20ms");
    fails("pie", ["lot < chance", "false"], "expected <= 20ms");
}

/// Senders that react to drops fill any queue behind tail drop. CoDel and PIE hold the delay near
/// their targets, and ECN near its threshold, and the link stays as busy.
#[test]
fn queue_management_holds_the_delay_of_senders_that_react() {
    for example in ["codel", "pie", "ecn"] {
        passes_with(example, &format!("{example}_senders"));
    }
    // The counts are those of a second simulation of the queue, the senders and the two programs,
    // which shares no code with ours. Marks cost no packet.
    for (example, counts) in [
        (
            "codel",
            [
                "12624 packets, 12540 arrived, 0 of them with a mark, 84 lost; 81 times",
                "12537 packets, 12454 arrived, 0 of them with a mark, 83 lost; 80 times",
            ],
        ),
        (
            "ecn",
            [
                "12584 packets, 12584 arrived, 2524 of them with a mark, 0 lost; 253 times",
                "12416 packets, 12416 arrived, 2513 of them with a mark, 0 lost; 250 times",
            ],
        ),
    ] {
        let program = file(&format!("{example}.p4"));
        let (_, output) = run(&program, &format!("{example}_senders"), &[]);
        for count in counts {
            assert!(output.contains(&format!("sender h1 > h2: {count}")), "{count}: {output}");
        }
    }
    // Tail drop, since the packets of these senders understand no marks: 500 packets may wait.
    let (status, output) = run(&file("ecn.p4"), "codel_senders", &[]);
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("expected <= 8ms") && !output.contains("expected >= "), "{output}");
    fails_with("codel", "codel_senders", ["TARGET = 5000", "TARGET = 50000"], "expected <= 8ms");
    fails_with("pie", "pie_senders", ["lot < chance", "false"], "expected <= 20ms");
    fails_with("ecn", "ecn_senders", ["THRESHOLD = 8", "THRESHOLD = 80"], "expected <= 8ms");
}

/// The depths in the script are those of a model of the queue that is independent of ours.
#[test]
fn route_inspection_tells_where_the_queue_is() {
    passes("mri");
    fails("mri", ["standard.deq_qdepth", "standard.enq_qdepth"], "differs");
    // Behind a record that the checksum does not cover, the packet would be dropped by its
    // receiver.
    fails("mri", ["sum + (depth >> 16) + (depth & 0xffff)", "sum"], "differs");
    fails("mri", ["headers.ipv4.ihl + 2", "headers.ipv4.ihl + 1"], "differs");
}

#[test]
fn meters_keep_a_greedy_flow_from_starving_others() {
    passes("fair");
    fails("fair", ["flows.execute_meter", "colour = GREEN; // "], "expected == 800");
    // All that is not red in one queue: h1 waits behind the greedy flow.
    fails("fair", ["standard.priority = 1", "standard.priority = 0"], "expected");
}

#[test]
fn telemetry_tells_the_depth_of_the_queue() {
    passes("telemetry");
    for [from, to] in [
        ["standard.enq_qdepth", "standard.deq_qdepth"],
        ["standard.deq_timedelta", "0"],
        ["push_front", "pop_front"],
    ] {
        fails("telemetry", [from, to], "differs");
    }
}

#[test]
fn probes_measure_the_load_of_links() {
    passes("monitor");
    fails("monitor", ["bytes.write(port, 0)", ""], "differs");
    fails("monitor", ["count + standard.packet_length", "count + 1"], "differs");
}

/// A packet as it left: the number that its sender wrote behind the records, and the depth and
/// delay that each switch recorded, the first switch first.
#[derive(Debug)]
struct Told {
    depths: Vec<u64>,
    delays: Vec<u64>,
}

/// Tests depth and delay that packets tell against the model for mixed traffic: the times at which
/// packets enter and leave switches, from captures, determine the depths at each switch, and the
/// recorded delays add up to the delay of the packet.
#[test]
fn telemetry_is_the_model_of_the_queues_for_mixed_traffic() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let script = folder.join("mixed.stf");
    let telemetry = "020000000002020000000001 88b5 00";
    // Three sources that load s2 by 90 %, and a burst at s2 and one at s1.
    let text = format!(
        "on s1 setdefault identity record(switch_number:1)\non s2 setdefault identity record(switch_number:2)\n\
         on s3 setdefault identity record(switch_number:3)\n\
         at 0us every 331us times 400\nsource h1 length 80 {telemetry}\n\
         at 3us every 1709us times 50\nsource h1 length 700 {telemetry}\n\
         at 5us every 1041us times 90\nsource h3 length 200 020000000002 020000000003 0800\n\
         at 40007us every 0us times 20\nsource h3 length 100 020000000002 020000000003 0800\n\
         at 60011us every 0us times 10\nsource h1 length 90 {telemetry}\n"
    );
    fs::write(&script, text).expect("a script");
    let captures = folder.join("captures");
    let output = planimeter(
        "stf",
        &[
            "--topology",
            &file("telemetry.json"),
            &file("telemetry.p4"),
            &script.display().to_string(),
            "--pcap-out",
            &captures.display().to_string(),
            "--delays",
            &folder.join("delays.csv").display().to_string(),
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let csv = fs::read_to_string(folder.join("delays.csv")).expect("delays");
    let delays: Vec<u64> =
        csv.lines().skip(1).map(|line| number(line.rsplit(',').next())).collect();
    let last = capture(&captures.join("s3-p2_out.pcap"));
    assert_eq!((delays.len(), last.len()), (570, 570));
    let mut deepest = 0;
    let mut checked = 0;
    for ((_, packet), delay) in last.iter().zip(&delays) {
        let Some(told) = told(packet) else { continue };
        assert_eq!(told.delays.len(), 3, "{told:?}");
        // A packet has a record more behind each switch; a byte takes 0.1, 1 and 0.1 us.
        let length = packet.len() as u64;
        let sent = 100 * (length - 16) + 1_000 * (length - 8) + 100 * length;
        let waited = 1_000 * told.delays.iter().sum::<u64>();
        // Each of six timestamps is cut to microseconds.
        assert!((waited + sent).abs_diff(*delay) < 3_000, "{told:?}: {waited} + {sent}, {delay}");
        deepest = deepest.max(told.depths[1]);
        checked += 1;
    }
    assert!(checked == 460 && deepest > 8, "{checked} packets, at most {deepest} waited");
    // At s2, a packet that arrives finds those in the queue that arrived before and have not
    // started.
    let leaving = capture(&captures.join("s2-p2_out.pcap"));
    let mut arriving = capture(&captures.join("s2-p1_in.pcap"));
    arriving.extend(capture(&captures.join("s2-p3_in.pcap")));
    arriving.sort_by_key(|(time, _)| *time);
    assert_eq!((arriving.len(), leaving.len()), (570, 570));
    // A port is FIFO, so packet n that arrives is packet n that leaves. Captures have the time of
    // the last bit.
    let starts: Vec<u64> =
        leaving.iter().map(|(time, packet)| time - 1_000 * packet.len() as u64).collect();
    for (number, ((arrived, _), (_, packet))) in arriving.iter().zip(&leaving).enumerate() {
        let Some(told) = told(packet) else { continue };
        let waiting = starts[..number].iter().filter(|start| *start > arrived).count() as u64;
        assert_eq!(told.depths.last(), Some(&waiting), "packet {number} at {arrived}: {told:?}");
    }
}

fn told(packet: &[u8]) -> Option<Told> {
    if packet[12..14] != [0x88, 0xb5] {
        return None;
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let records = packet[15..].chunks_exact(8).take(packet[14].into());
    let mut by_switch = BTreeMap::new();
    for record in records {
        by_switch.insert(record[0], (number(&record[1..4]), number(&record[4..8])));
    }
    let (depths, delays) = by_switch.into_values().unzip();
    Some(Told { depths, delays })
}

/// Returns the packets of a capture with their times in nanoseconds.
fn capture(path: &PathBuf) -> Vec<(u64, Vec<u8>)> {
    let mut reader = CaptureReader::open(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut packets = Vec::new();
    while let Some(frame) = reader.next_frame().expect("a packet") {
        packets.push((frame.timestamp.expect("a time"), frame.data.to_vec()));
    }
    packets
}

fn number(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{text:?} is no number"))
}

#[test]
fn statements_of_networks_are_refused_elsewhere_and_name_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("wrong.stf");
    let topology = file("ecn.json");
    let program = file("ecn.p4");
    for (text, status, reason) in [
        ("source h9 00", 2, "'h9' is not a port"),
        ("sender h1 h9 until 1s 00", 2, "'h9' is not a port"),
        ("sender h1 h2 until 1s back 0s 00", 2, "an acknowledgement takes some time"),
        ("check_delay h1 h9 max < 1ms\nsource h1 00", 2, "'h9' is not a port"),
        ("check_delay h1 h2 most < 1ms", 2, "expected `min`, `mean`, `max` or a share"),
        ("source h1 length 3 00000000", 2, "the length is 3; it must be from 4"),
        ("source h1 00\non s7 register_reset r", 2, "the network has no switch s7; there is s1"),
        ("source h1 00\non s1 wait", 2, "`on` takes statements about tables"),
        (
            "source h1 00\ncheck_delay h1 h2 max < 1ms",
            1,
            "h1 > h2: no packet left; expected a delay < 1ms",
        ),
        ("source h1 00\ncheck_packets h1 h2 == 1", 1, "h1 > h2: 0 packets; expected == 1"),
        (
            "source h1 00\ncheck_packets h1 h2 == 0",
            0,
            "1 packet: h1 > s1, where it left by no port",
        ),
    ] {
        fs::write(&script, text).expect("a script");
        let script = script.display().to_string();
        let output = planimeter("stf", &["--topology", &topology, &program, &script]);
        let all = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{text}: {all}");
        assert!(all.contains(reason), "{text}: {all}");
    }
    fs::write(&script, "packet 1 00\nsource 1 00").expect("a script");
    let output = planimeter("stf", &["--strict", &program, &script.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("need a network (--topology)"), "{}", stderr(&output));
}
