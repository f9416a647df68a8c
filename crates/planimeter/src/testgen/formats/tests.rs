//! Tests of the files in which generated tests are written.

use std::collections::BTreeMap;
use std::io::{Write as _, stderr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ir::with_large_stack;
use p4runtime::proto::v1::write_request::Atomicity;
use packetio::pcap::CaptureReader;
use softswitch::in_process::{InProcessConfig, InProcessSwitch};
use softswitch::{Path as ExecutionPath, V1ModelSettings};
use symbolic::generated::{Exchange, ExpireTime};
use symbolic::search::{Options, search};

use super::entities::{Masked, NoUpdate, bytes, masked};
use super::*;
use crate::program::{Sources, load};

/// A port for the controller, which no test uses otherwise.
const CPU_PORT: u32 = 0xffff_0000;

/// A program of the repository with its generated tests.
struct Made {
    path: PathBuf,
    program: Program,
    report: Report,
}

impl Made {
    fn new(name: &str) -> Self {
        Self::with(name, Options::default())
    }

    fn with(name: &str, options: Options) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
        let program = load(&path, &Sources::default()).expect("a program");
        let report = with_large_stack(|| search(&program, &options, &mut |_| true));
        let report = report.expect("a thread").expect("tests");
        assert!(!report.tests.is_empty(), "{name}");
        Self { path, program, report }
    }

    fn suite(&self) -> Suite<'_> {
        let Self { path, program, report } = self;
        Suite { path, program, seed: 1, report }
    }
}

/// Returns whether these packets are the ones that a test expects.
fn are_expected(test: &Test, mut packets: Vec<(u32, Vec<u8>)>) -> bool {
    for output in &test.outputs {
        let Masked { payload, mask } = masked(&output.digits).expect("digits");
        let is_like = |packet: &[u8]| {
            let bits = packet.iter().zip(&mask).map(|(byte, mask)| byte & mask);
            packet.len() == payload.len() && bits.eq(payload.iter().copied())
        };
        let found =
            packets.iter().position(|(port, packet)| *port == output.port && is_like(packet));
        let Some(found) = found else { return false };
        packets.remove(found);
    }
    packets.is_empty()
}

#[test]
fn updates_of_p4runtime_have_the_effect_of_scripts() {
    for name in ["router.p4", "l2.p4", "load_balancer.p4", "learning_switch.p4"] {
        let made = Made::new(name);
        let pipeline = p4lang::device_config::to_pipeline_config(&made.program);
        let pipeline = pipeline.expect("a pipeline");
        let tests = made.suite().with_updates().expect("a P4Info");
        assert_eq!(tests.len(), made.report.tests.len(), "{name}: tests are left out");
        assert!(tests.iter().any(|(_, updates)| !updates.is_empty()), "{name}: no test writes");
        for (test, updates) in tests {
            let config = InProcessConfig {
                id: 1,
                path: ExecutionPath::Interpreter,
                seed: 0,
                cpu_port: CPU_PORT,
                v1model: V1ModelSettings::default(),
            };
            let switch = InProcessSwitch::new(config, pipeline.clone()).expect("a switch");
            let written = switch.write(&updates, Atomicity::ContinueOnError).expect("a pipeline");
            for (update, outcome) in updates.iter().zip(written) {
                assert_eq!(outcome, Ok(()), "{name}: {update:?}\n{}", test.stf());
            }
            let packet = bytes(&test.packet).expect("digits");
            let outputs = switch.process(test.port, &packet).expect("it is processed");
            let outputs = outputs.into_iter().map(|output| (output.port, output.packet));
            let outputs: Vec<_> = outputs.collect();
            assert!(are_expected(test, outputs.clone()), "{name}: {outputs:02x?}\n{}", test.stf());
        }
    }
}

#[test]
fn tests_with_strings_are_left_out() {
    let made = Made::new("vrf.p4");
    let identifiers = Identifiers::new(&made.program).expect("a P4Info");
    let (mut written, mut left_out) = (0, 0);
    for test in &made.report.tests {
        match identifiers.updates(test) {
            Ok(_) => written += 1,
            Err(NoUpdate::Translated(_)) => left_out += 1,
            Err(error) => panic!("{error}\n{}", test.stf()),
        }
    }
    assert!(written > 0 && left_out > 0, "{written} are written and {left_out} are left out");
}

/// A Python program that runs a module of tests and prints their actions. Stubs replace the modules
/// that it imports.
const RUNNER: &str = r#"
import runpy
import sys
import types


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


class Mask:
    def __init__(self, packet):
        self.digits = list(packet.hex())

    def set_do_not_care(self, offset, width):
        assert width == 4 and offset % 4 == 0
        self.digits[offset // 4] = "*"


testutils = module(
    "ptf.testutils",
    send_packet=lambda test, port, packet: print("packet", port, packet.hex()),
    verify_packet=lambda test, mask, port: print("expect", port, "".join(mask.digits), "$"),
    verify_no_other_packets=lambda test: print("end"),
)
module("ptf", testutils=testutils)
module("ptf.base_tests", BaseTest=type("BaseTest", (), {"addCleanup": lambda test, *call: None}))
module("ptf.mask", Mask=Mask)
module("grpc")
module("google")
module("google.protobuf", text_format=None)
module("p4")
module("p4.v1", p4runtime_pb2=None, p4runtime_pb2_grpc=None)
found = runpy.run_path(sys.argv[1])
for name in sorted(found):
    if name.startswith("Test"):
        test = found[name]()
        test.write = lambda text: print("write", text)
        test.expire_time = lambda profile, time: print("expire_time", profile, f"{time}s")
        test.wait_until = lambda time: print("at", f"{time}s")
        test.runTest()
"#;

/// A Python program that runs a test on a simulated switch, which refuses to delete one of three
/// entries.
const REFUSING: &str = r#"
import runpy
import sys
import types
import unittest


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


class Bag:
    def __init__(self, **members):
        self.__dict__.update(members)

    def __getattr__(self, name):
        self.__dict__[name] = Bag()
        return self.__dict__[name]

    def CopyFrom(self, other):
        pass


class Update(Bag):
    INSERT, DELETE = 1, 2


class Stub:
    def __init__(self, channel):
        pass

    def StreamChannel(self, requests):
        return iter([None])

    def Write(self, request):
        update = request.updates[0]
        is_deleted = update.type == Update.DELETE
        print("delete" if is_deleted else "insert", update.name)
        if is_deleted and update.name == "b":
            raise RuntimeError("refused")


def parse(text, update):
    update.name, update.type = text, Update.INSERT
    return update


testutils = module("ptf.testutils", test_param_get=lambda name, default: default)
module("ptf", testutils=testutils, dataplane_instance=Bag(flush=lambda: None))
module("ptf.base_tests", BaseTest=unittest.TestCase)
module("ptf.mask", Mask=None)
module("grpc", insecure_channel=lambda address: Bag(close=lambda: print("closed")))
module("google")
module("google.protobuf", text_format=Bag(Parse=parse))
module("p4")
messages = Bag(
    Update=Update,
    Uint128=Bag,
    StreamMessageRequest=Bag,
    WriteRequest=lambda: Bag(updates=[]),
)
module("p4.v1", p4runtime_pb2=messages, p4runtime_pb2_grpc=Bag(P4RuntimeStub=Stub))


class Test(runpy.run_path(sys.argv[1])["GeneratedTest"]):
    def runTest(self):
        for name in "abc":
            self.write(name)


result = unittest.TestResult()
Test().run(result)
print("errors", len(result.errors))
"#;

/// Runs Python with arguments, and returns what it prints, or `None` if there is no Python.
fn python(arguments: &[&str]) -> Option<String> {
    let started = Command::new("python3")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    match started {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).expect("text"))
        }
        Err(error) => {
            // The test harness would hide the output of `eprintln!` when a test passes.
            let _ = writeln!(stderr(), "SKIPPED: the module for PTF is not run: python3: {error}");
            None
        }
    }
}

#[test]
fn the_module_for_ptf_does_what_the_tests_say() {
    let made = Made::new("router.p4");
    let directory = tempfile::tempdir().expect("a directory");
    made.suite().write(directory.path(), Format::Ptf).expect("it is written");
    let module = directory.path().join("tests.py");
    let module = module.to_str().expect("a name in UTF-8");
    let Some(_) = python(&["-m", "py_compile", module]) else { return };
    let Some(printed) = python(&["-c", RUNNER, module]) else { return };
    let mut lines = printed.lines();
    for (test, updates) in made.suite().with_updates().expect("a P4Info") {
        for update in updates {
            let text = lines.next().and_then(|line| line.strip_prefix("write ")).expect("a write");
            let parsed = p4runtime::proto::parse::<Update>("p4.v1.Update", text);
            assert_eq!(parsed, Ok(update), "{text}");
        }
        let stf = test.stf();
        let of_packets =
            stf.lines().filter(|line| line.starts_with("packet") || line.starts_with("expect"));
        for expected in of_packets {
            assert_eq!(lines.next(), Some(expected));
        }
        assert_eq!(lines.next(), Some("end"));
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn the_module_for_ptf_undoes_all_writes_even_if_one_is_refused() {
    let made = Made::new("router.p4");
    let directory = tempfile::tempdir().expect("a directory");
    made.suite().write(directory.path(), Format::Ptf).expect("it is written");
    let module = directory.path().join("tests.py");
    let module = module.to_str().expect("a name in UTF-8");
    let Some(printed) = python(&["-c", REFUSING, module]) else { return };
    let lines: Vec<&str> = printed.lines().collect();
    let expected = [
        "insert a", "insert b", "insert c", "delete c", "delete b", "delete a", "closed",
        "errors 1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn messages_and_captures_have_the_packets_of_the_tests() {
    let made = Made::new("router.p4");
    let directory = tempfile::tempdir().expect("a directory");
    for format in [Format::Protobuf, Format::Pcap] {
        made.suite().write(directory.path(), format).expect("it is written");
    }
    let message = fs::read(directory.path().join("tests.binpb")).expect("a file");
    let message = proto::Suite::decode(message.as_slice()).expect("a message");
    assert_eq!(message.goals.len(), made.report.goals.len());
    assert_eq!(message.tests.len(), made.report.tests.len());
    let mut frames: BTreeMap<String, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
    for (test, message) in made.report.tests.iter().zip(&message.tests) {
        let received = message.received.as_ref().expect("a packet");
        let packet = bytes(&test.packet).expect("digits");
        assert_eq!((received.port, received.payload.to_vec()), (test.port, packet.clone()));
        let at = 1_000_000_000 * u64::try_from(test.number).expect("a small number");
        frames.entry(format!("in-{}.pcap", test.port)).or_default().push((at, packet));
        assert_eq!(message.expected.len(), test.outputs.len());
        for (position, (output, expected)) in (1..).zip(test.outputs.iter().zip(&message.expected))
        {
            let defined = expected.mask.iter().zip(expected.payload.iter());
            let digits =
                defined.flat_map(|(mask, byte)| [(mask >> 4, byte >> 4), (mask & 15, byte & 15)]);
            let digits: String = digits
                .map(|(mask, digit)| match mask {
                    0 => '*',
                    _ => char::from_digit(u32::from(digit), 16).expect("a digit"),
                })
                .collect();
            assert_eq!((expected.port, &digits), (output.port, &output.digits));
            let frame = (at + position, expected.payload.to_vec());
            frames.entry(format!("out-{}.pcap", output.port)).or_default().push(frame);
        }
    }
    for (name, expected) in frames {
        let mut found = Vec::new();
        let mut reader = CaptureReader::open(&directory.path().join(&name)).expect("a capture");
        while let Some(frame) = reader.next_frame().expect("a frame") {
            found.push((frame.timestamp.expect("a time"), frame.data.to_vec()));
        }
        assert_eq!(found, expected, "{name}");
    }
}

/// Returns a test of three packets, with the program and all of its tests.
fn sequences() -> (Made, usize) {
    let options = Options { packets: 3, starts_fresh: true, ..Options::default() };
    let made = Made::with("port_knocking.p4", options);
    let found = made.report.tests.iter().position(|test| test.earlier.len() == 2);
    let found = found.expect("a test of three packets");
    (made, found)
}

#[test]
fn all_forms_have_the_packets_of_a_sequence_in_order() {
    let (made, at) = sequences();
    let test = made.report.tests.get(at).expect("the test");
    let exchanges: Vec<Exchange> = test.exchanges();
    assert_eq!(exchanges.len(), 3);

    let message = made.suite().message().expect("a message");
    let message = message.tests.iter().find(|one| one.number as usize == test.number);
    let message = message.expect("the test");
    let mut received: Vec<&proto::Packet> = Vec::new();
    received.extend(message.earlier.iter().filter_map(|exchange| exchange.received.as_ref()));
    received.extend(message.received.as_ref());
    for (packet, exchange) in received.iter().zip(&exchanges) {
        let payload = bytes(&exchange.packet).expect("digits");
        assert_eq!((packet.port, packet.payload.to_vec()), (exchange.port, payload));
    }
    assert_eq!(received.len(), 3);

    let lines = |text: &str, start: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with(start));
        lines.map(ToOwned::to_owned).collect()
    };
    let stf: Vec<String> = exchanges
        .iter()
        .map(|exchange| format!("packet {} {}", exchange.port, exchange.packet))
        .collect();
    assert_eq!(lines(&test.stf(), "packet "), stf);
    let python = ptf::module("test.p4", &[(test, Vec::new())]);
    let (_, class) = python.split_once("class Test0").expect("a class");
    let sent: Vec<String> = exchanges
        .iter()
        .map(|exchange| format!("self.send({}, \"{}\")", exchange.port, exchange.packet))
        .collect();
    assert_eq!(lines(class, "self.send("), sent);

    let captures = captures::captures(std::slice::from_ref(test)).expect("captures");
    let frames: usize = captures
        .iter()
        .filter(|(name, _)| name.starts_with("in-"))
        .map(|(_, capture)| frames_of(capture))
        .sum();
    assert_eq!(frames, 3);
}

/// Returns a test of three packets that arrive after 0, 4 and 9 seconds.
fn with_times() -> Test {
    let (made, at) = sequences();
    let mut test = made.report.tests.get(at).expect("the test").clone();
    test.expire_times = vec![ExpireTime { profile: 1, seconds: 5 }];
    let earlier = test.earlier.get_mut(1).expect("a second packet");
    (earlier.seconds, test.seconds) = (4, 9);
    test
}

#[test]
fn all_forms_have_the_times_of_packets() {
    let test = with_times();
    let stf = test.stf();
    let of_time: Vec<&str> = stf
        .lines()
        .filter(|line| line.starts_with("at ") || line.starts_with("expire_time "))
        .collect();
    assert_eq!(of_time, ["expire_time 1 5s", "at 0s", "at 4s", "at 9s"], "{stf}");
    let parsed = stf::Script::parse(&stf);
    assert!(parsed.is_ok(), "{parsed:?}\n{stf}");

    let message = message::test(&test, Vec::new()).expect("a message");
    let set: Vec<(u32, u32)> =
        message.expire_times.iter().map(|time| (time.profile, time.seconds)).collect();
    assert_eq!(set, [(1, 5)]);
    let earlier = message.earlier.iter().filter_map(|exchange| exchange.received.as_ref());
    let seconds: Vec<u32> =
        earlier.chain(message.received.as_ref()).map(|packet| packet.seconds).collect();
    assert_eq!(seconds, [0, 4, 9]);

    let json = serde_json::to_value(&test).expect("JSON");
    assert_eq!(json["expire_times"], serde_json::json!([{ "profile": 1, "seconds": 5 }]));
    assert_eq!((&json["earlier"][1]["seconds"], &json["seconds"]), (&4.into(), &9.into()));
    // Where no time passes, JSON has no word of it.
    assert_eq!(json["earlier"][0].get("seconds"), None);

    // The next test begins when this one is over.
    let mut next = test.clone();
    (next.number, next.seconds) = (test.number + 1, 0);
    next.earlier.iter_mut().for_each(|exchange| exchange.seconds = 0);
    let captures = captures::captures(&[test.clone(), next]).expect("captures");
    let mut times: Vec<u64> = Vec::new();
    for (name, capture) in &captures {
        if name.starts_with("in-") {
            times.extend(times_of(capture));
        }
    }
    times.sort_unstable();
    let start = u64::try_from(test.number).expect("a small number") * 1_000;
    let milliseconds = [0, 4_001, 9_002, 10_000, 10_001, 10_002].map(|after| start + after);
    assert_eq!(times, milliseconds.map(|time| time * 1_000_000));

    let directory = tempfile::tempdir().expect("a directory");
    let module = directory.path().join("tests.py");
    fs::write(&module, ptf::module("test.p4", &[(&test, Vec::new())])).expect("it is written");
    let module = module.to_str().expect("a name in UTF-8");
    let Some(printed) = python(&["-c", RUNNER, module]) else { return };
    let words = ["expire_time ", "at ", "packet ", "expect "];
    let is_printed = |line: &&str| words.iter().any(|word| line.starts_with(*word));
    let expected: Vec<&str> = stf.lines().filter(is_printed).chain(["end"]).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

/// Returns the number of frames of a capture, whose times must not decrease.
fn frames_of(capture: &[u8]) -> usize {
    let times = times_of(capture);
    assert!(times.is_sorted(), "{times:?}");
    times.len()
}

/// Returns the times of the frames of a capture in nanoseconds.
fn times_of(capture: &[u8]) -> Vec<u64> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("one.pcap");
    fs::write(&file, capture).expect("it is written");
    let mut reader = CaptureReader::open(&file).expect("a capture");
    let mut times = Vec::new();
    while let Some(frame) = reader.next_frame().expect("a frame") {
        times.push(frame.timestamp.expect("a time"));
    }
    times
}
