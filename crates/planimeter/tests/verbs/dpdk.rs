//! Tests with DPDK's virtual devices.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use packetio::namespace::Namespace;
use packetio::pcap::{CaptureReader, CaptureWriter, LinkType};
use packetio::{Burst, Port, Transmitted, af_packet};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;

use crate::command::{planimeter, stderr, stdout};

/// The time limit for steps that take milliseconds unless something is wrong.
const TIMEOUT: Duration = Duration::from_secs(60);

const PLANIMETER: &str = env!("CARGO_BIN_EXE_planimeter");

/// A program that forwards packets from port 0 to port 1, and back.
const CROSS: &str = "
    #include <core.p4>
    #include <v1model.p4>
    header ethernet_t { bit<48> destination; bit<48> source; bit<16> kind; }
    struct headers { ethernet_t ethernet; }
    struct metadata { }
    parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
        state start { packet.extract(hdr.ethernet); transition accept; }
    }
    control None(inout headers hdr, inout metadata meta) { apply { } }
    control Cross(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
        apply { standard.egress_spec = standard.ingress_port ^ 1; }
    }
    control Leave(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) { apply { } }
    control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.ethernet); } }
    V1Switch(P(), None(), Cross(), Leave(), None(), D()) main;
";

#[test]
fn a_program_is_measured_between_devices_in_shared_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let path = run.to_string_lossy();
    let short = ["--time", "50ms", "--repetitions", "2", "--quiet", "--entries", "2^6"];
    let dpdk = ["--io", "dpdk", "--path", "compiled", "-o", &path];
    let output = planimeter("bench", &[&short[..], &dpdk].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("Between ports (dpdk)"), "{}", stdout(&output));
    let result = fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let case = &result["points"][0]["cases"][0];
    assert!(case["checked"].as_u64().is_some_and(|checked| checked > 0), "{case}");
    assert_eq!((case["wrong"].as_u64(), case["errors"].as_u64()), (Some(0), Some(0)), "{case}");
}

/// A switch that runs [`CROSS`] until it is interrupted.
struct Switch(Child);

impl Switch {
    /// Starts the switch with a command that runs this program, on these ports.
    fn start(mut command: Command, folder: &Path, ports: [&str; 2]) -> Self {
        let program = folder.join("cross.p4");
        fs::write(&program, CROSS).expect("a program");
        let mut child = command
            .args(["switch", "--path", "compiled", "--grpc-server-addr", "127.0.0.1:0"])
            .args(["-i", ports[0], "-i", ports[1]])
            .arg(&program)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("its output");
        BufReader::with_capacity(1, output).read_line(&mut line).expect("a line");
        let switch = Self(child);
        if !line.starts_with("listening on") {
            panic!("{line}{}", stderr(&switch.interrupt()));
        }
        switch
    }

    fn interrupt(self) -> Output {
        // The switch may have ended by itself.
        let _ = kill_process(Pid::from_child(&self.0), Signal::INT);
        self.0.wait_with_output().expect("its end")
    }
}

fn frame(number: u8) -> Vec<u8> {
    // The EtherType is one for local experiments.
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
    frame.extend([number; 60]);
    frame
}

/// Packets go from a capture into a ring device, which returns them, and from there into a capture.
#[test]
fn a_switch_sends_through_a_ring() {
    const FRAMES: u8 = 50;
    let folder = tempfile::tempdir().expect("a folder");
    let (given, left) = (folder.path().join("in.pcap"), folder.path().join("out.pcap"));
    let file = File::create(&given).expect("a capture");
    let mut capture = CaptureWriter::new(file, LinkType::ETHERNET).expect("a capture");
    for number in 0..FRAMES {
        capture.write_frame(0, &frame(number)).expect("room");
    }
    capture.finish().expect("room");
    let port = format!("0@pcap:{},{}", given.display(), left.display());
    let switch =
        Switch::start(Command::new(PLANIMETER), folder.path(), [&port, "1@dpdk:net_ring0"]);
    let begin = Instant::now();
    let frames = loop {
        let frames = frames_of(&left);
        if frames.len() >= usize::from(FRAMES) || begin.elapsed() > TIMEOUT {
            break frames;
        }
        thread::yield_now();
    };
    let output = switch.interrupt();
    assert_eq!(frames, (0..FRAMES).map(frame).collect::<Vec<_>>(), "{}", stderr(&output));
    let expected = format!("{} packets processed, 0 of them left nowhere", 2 * FRAMES);
    assert!(stdout(&output).contains(&expected), "{}", stdout(&output));
}

/// Returns the complete frames of a capture that is still being written.
fn frames_of(capture: &Path) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    if let Ok(mut reader) = CaptureReader::open(capture) {
        while let Ok(Some(frame)) = reader.next_frame() {
            frames.push(frame.data.to_vec());
        }
    }
    frames
}

/// Packets go between two interfaces, each opened by DPDK's own driver for packet sockets.
#[test]
fn a_switch_forwards_between_interfaces() {
    const FRAMES: u8 = 50;
    if !geteuid().is_root() {
        let required = std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "network namespaces need root");
        // The test harness would hide the output of `eprintln!` when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: network namespaces need root");
        return;
    }
    let namespace = Namespace::new().expect("a network namespace");
    let folder = tempfile::tempdir().expect("a folder");
    for pair in ["port0 type veth peer name port1", "port2 type veth peer name port3"] {
        namespace.ip(&format!("link add {pair}")).expect("interfaces");
    }
    for name in ["port0", "port1", "port2", "port3"] {
        // Without addresses, only this test's frames are on the wire.
        namespace.ip(&format!("link set {name} addrgenmode none up")).expect("interfaces");
    }
    let ports = ["0@dpdk:net_af_packet0,iface=port1", "1@dpdk:net_af_packet1,iface=port2"];
    let switch = Switch::start(namespace.command(PLANIMETER), folder.path(), ports);
    let sent: Vec<_> = (0..FRAMES).map(frame).collect();
    let came = namespace.run(|| {
        let [mut near, mut far] =
            ["port0", "port3"].map(|name| af_packet::open(name, 1).expect("a port"));
        for frame in &sent {
            assert_eq!(near.queues[0].transmit(frame), Transmitted::Taken);
        }
        near.queues[0].flush();
        receive(&mut far, sent.len())
    });
    let output = switch.interrupt();
    assert_eq!(came.expect("the namespace"), sent, "{}", stderr(&output));
    let expected = format!("{FRAMES} packets processed, 0 of them left nowhere");
    assert!(stdout(&output).contains(&expected), "{}", stdout(&output));
}

/// Returns `count` packets, or those that arrive within the time limit.
fn receive(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let (mut burst, mut packets) = (Burst::new(count), Vec::new());
    let begin = Instant::now();
    while packets.len() < count && begin.elapsed() < TIMEOUT {
        burst.clear();
        port.queues[0].receive(&mut burst).expect("the port is up");
        packets.extend(burst.frames().iter().map(|frame| frame.bytes().to_vec()));
        thread::yield_now();
    }
    packets
}
