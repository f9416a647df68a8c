use std::sync::Mutex;
use std::time::Duration;

use pipeline::{Coverage, PartKind};
use statistics::{Interval, Ordered};
use stf::{Options as ScriptOptions, Script};

use super::document::{notes, verdicts};
use super::findings::actions;
use super::measuring::is_steady;
use super::work::Kind;
use super::*;
use crate::program;

/// A program with tables of both kinds (matched exactly, and otherwise), of which each packet
/// passes one.
const FORWARDING: &str = r"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
header ip_t { bit<64> head; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst; }
struct headers { ethernet_t ethernet; ip_t ip; }
struct metadata { }
parser P(packet_in packet, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.kind) { 0x800: ip; default: accept; }
    }
    state ip { packet.extract(h.ip); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    action route(bit<9> port) { s.egress_spec = port; h.ip.ttl = h.ip.ttl - 1; }
    action discard() { mark_to_drop(s); }
    table hosts {
        key = { h.ethernet.dst: exact; }
        actions = { forward; discard; }
        default_action = discard();
    }
    table routes {
        key = { h.ip.dst: lpm; }
        actions = { route; discard; }
        default_action = discard();
    }
    apply { if (h.ip.isValid()) { routes.apply(); } else { hosts.apply(); } }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out packet, in headers h) {
    apply { packet.emit(h.ethernet); packet.emit(h.ip); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// A program that forwards packets until it has counted three of them.
const COUNTING: &str = r"
#include <core.p4>
#include <v1model.p4>
header byte_t { bit<8> value; }
struct headers { byte_t first; }
struct metadata { }
parser P(packet_in packet, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { packet.extract(h.first); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    register<bit<8>>(1) seen;
    apply {
        bit<8> count;
        seen.read(count, 0);
        seen.write(0, count + 1);
        if (count < 3) { s.egress_spec = 1; } else { mark_to_drop(s); }
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out packet, in headers h) { apply { packet.emit(h.first); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

fn settings() -> Settings {
    Settings {
        paths: vec![Path::Interpreter],
        cores: vec![1],
        repetitions: 1,
        time: Duration::ZERO,
        warm_up: Duration::ZERO,
        load: 0.5,
        skew: 0.0,
        any_core: false,
        by_wall_clock: false,
        seed: 1,
    }
}

/// A simulated meter. It computes the cycles of a packet from what the interpreter reports about
/// the packet, by costs that the fit does not know, and adds an error of up to one percent.
struct PlantedMeter {
    program: Program,
    /// The number of packets that have been measured.
    measured: Mutex<usize>,
}

impl PlantedMeter {
    fn planted(&self, test: &Test) -> f64 {
        let mut switch = configured(&self.program, Path::Interpreter, test).expect("a switch");
        let script = Script::parse(&test.stf()).expect("a script");
        let is_packet =
            |one: &stf::Statement| matches!(one.kind, stf::StatementKind::Packet { .. });
        let packets = script.statements.into_iter().filter(is_packet).collect();
        let packets = Script { statements: packets };
        let mut coverage = Coverage::new(&self.program);
        stf::run_covered(&mut switch, &packets, ScriptOptions::default(), &mut coverage)
            .expect("a report");
        let count = |kind: PartKind, what: &str| -> f64 {
            let parts = coverage.parts(kind).filter(|part| part.name.ends_with(what));
            parts.map(|part| part.count as f64).sum()
        };
        let lines = test.packet.len() as f64 / 128.0;
        200.0
            + 20.0 * lines
            + 45.0 * test.outputs.len() as f64
            + 80.0 * count(PartKind::State, "")
            + 35.0 * count(PartKind::Table, "hosts: a hit")
            + 90.0 * count(PartKind::Table, "routes: a hit")
            + 25.0 * count(PartKind::Table, "a miss")
    }
}

impl Meter for PlantedMeter {
    fn suits(&self, _: Path, _: &Test) -> Result<Suitability, Failure> {
        Ok(Suitability::Steady)
    }

    fn cycles(
        &self,
        _: Path,
        tests: &[&Test],
        _: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Result<Cycles, String>, Failure> {
        *self.measured.lock().expect("a number") += tests.len();
        let of_test = |test: &&Test| {
            let digits: u32 = test.packet.bytes().map(u32::from).sum();
            let error = f64::from(digits % 21) / 1_000.0 - 0.01;
            let cycles = self.planted(test) * (1.0 + error);
            // Interrupts lengthen every fifth turn.
            let turn = |number: u32| if number.is_multiple_of(5) { 9.0 * cycles } else { cycles };
            Ordered::of_numbers((0..20).map(turn).collect())
        };
        Ok(Ok(Cycles { of_tests: tests.iter().map(of_test).collect(), frequency: 2e9 }))
    }
}

/// Returns the goals of a program, and the findings with the simulated meter.
fn planted(text: &str, lengths: &[u32]) -> (Vec<Goal>, Findings) {
    let program = program::embedded("test.p4", text).expect("a program");
    let (settings, interrupt, steps) = (settings(), AtomicBool::new(false), Steps::new(true));
    let meter = PlantedMeter { program: program.clone(), measured: Mutex::new(0) };
    let task = Task {
        name: "test.p4",
        program: &program,
        settings: &settings,
        interrupt: &interrupt,
        steps: &steps,
        model: None,
        meter: &meter,
    };
    let (goals, findings) = task.all_findings(lengths).expect("findings");
    assert!(*meter.measured.lock().expect("a number") > 0);
    (goals, findings.into_iter().next().expect("one path"))
}

#[test]
fn the_predicted_worst_path_is_measured_as_the_worst_by_planted_costs() {
    let (goals, findings) = planted(FORWARDING, &[64, 512]);
    assert_eq!(findings.refused, None);
    let worst = findings.worst().expect("a path");
    assert_eq!((worst.length, findings.place(&worst.measured)), (512, 1));
    // A route is hit and the packet leaves, which is the costliest by the planted costs.
    let packet = &worst.measured.packet;
    let run = actions(&goals, &packet.reached);
    assert!(run.ends_with("route"), "{run}: {:?}", packet.test);
    assert_eq!(packet.test.outputs.len(), 1, "{:?}", packet.test);
    let error = worst.prediction.cost / worst.measured.cycles - 1.0;
    assert!(error.abs() < 0.05, "{error}");
    assert!(worst.bound >= worst.prediction.cost - 0.5, "{}", worst.bound);
    assert!(worst.prediction.undetermined.is_empty(), "{:?}", worst.prediction);
    // The costs come from other packets.
    for one in &findings.predicted {
        let is_known = |known: &Measured| known.packet.is_same(&one.measured.packet);
        assert!(!findings.generated.iter().any(is_known));
    }
    let error = findings.error.expect("an error");
    assert!(error < 0.03, "{error}");
    let text = verdicts(&findings).join("\n");
    assert!(text.contains("it is the costliest of"), "{text}");
    assert!(text.contains("worst-interpreter-512-1.stf"), "{text}");
    let notes = notes(&[findings]).join("\n");
    assert!(notes.contains("2.000 GHz") && notes.contains("fitted costs"), "{notes}");
    assert!(!notes.contains("device model"), "{notes}");
}

#[test]
fn a_packet_whose_repetitions_take_other_paths_is_not_steady() {
    let program = program::embedded("test.p4", COUNTING).expect("a program");
    let options = symbolic::search::Options::default();
    let search = || symbolic::search::search(&program, &options, &mut |_| true);
    let report = ir::with_large_stack(search).expect("a thread").expect("tests");
    let mut leaving = 0;
    for test in report.tests.iter().filter(|test| !test.outputs.is_empty()) {
        assert!(!is_steady(&program, test).expect("packets"), "{}", test.stf());
        leaving += 1;
    }
    assert!(leaving > 0);
    let program = program::embedded("test.p4", FORWARDING).expect("a program");
    let search = || symbolic::search::search(&program, &options, &mut |_| true);
    let report = ir::with_large_stack(search).expect("a thread").expect("tests");
    for test in &report.tests {
        assert!(is_steady(&program, test).expect("packets"), "{}", test.stf());
    }
}

/// Returns a packet of this length that takes this many cycles.
fn packet(bytes: usize, cycles: f64) -> Measured {
    let test = Test {
        number: 1,
        goal: String::new(),
        expire_times: Vec::new(),
        entries: Vec::new(),
        defaults: Vec::new(),
        registers: Vec::new(),
        sessions: Vec::new(),
        groups: Vec::new(),
        earlier: Vec::new(),
        seconds: 0,
        port: 0,
        packet: "00".repeat(bytes),
        outputs: Vec::new(),
    };
    let packet = Packet { test, reached: Vec::new(), times: Vec::new() };
    Measured { packet, cycles, interval: Some(Interval { low: cycles - 1.0, high: cycles + 1.0 }) }
}

/// Returns findings with one predicted path, of 64 bytes, for each pair of a prediction and
/// measured cycles.
fn findings(predicted: &[(Prediction, f64)], generated: Vec<Measured>) -> Findings {
    let one = |(prediction, cycles): &(Prediction, f64)| Predicted {
        measured: packet(64, *cycles),
        length: 64,
        prediction: prediction.clone(),
        bound: prediction.cost,
    };
    let predictions: Vec<Prediction> = predicted.iter().map(|(one, _)| one.clone()).collect();
    Findings {
        generated,
        predicted: predicted.iter().map(one).collect(),
        largest: LargestPrediction::of(&predictions),
        ..Findings::new(Path::Compiled, Origin::Fit)
    }
}

fn prediction(cost: f64, half: f64) -> Prediction {
    let interval = Some(Interval { low: cost - half, high: cost + half });
    Prediction { cost, interval, undetermined: Vec::new() }
}

#[test]
fn the_place_counts_packets_that_cost_more_and_are_not_longer() {
    let generated = vec![packet(64, 5.0), packet(60, 9.0), packet(65, 99.0)];
    let found = findings(&[(prediction(7.0, 1.0), 7.0), (prediction(6.0, 1.0), 10.0)], generated);
    let places: Vec<usize> = found.predicted.iter().map(|one| found.place(&one.measured)).collect();
    assert_eq!(places, [3, 1]);
    // A packet that was measured to cost more is named, with what it takes.
    let text = verdicts(&found).join("\n");
    assert!(text.contains("number 3 in cost of 4 packets"), "{text}");
    assert!(text.contains("costlier-compiled.stf) takes 10 cycles."), "{text}");
}

#[test]
fn paths_that_the_data_do_not_tell_apart_are_listed() {
    let three = |half: f64| {
        let costs = [500.0, 490.0, 300.0];
        let each = costs.map(|cost| (prediction(cost, half), cost));
        verdicts(&findings(&each, Vec::new())).join("\n")
    };
    let text = three(20.0);
    let ties = "do not tell worst-compiled-64-1.stf from 1 other predicted paths";
    assert!(text.contains(ties) && text.contains("worst-compiled-64-2.stf."), "{text}");
    assert!(three(1.0).contains("every other predicted path is predicted to cost less"));
    // The report names the kinds of work whose costs the packets of the fit do not determine.
    let unknown = Prediction { undetermined: vec![3, 10], ..prediction(700.0, 1.0) };
    let text = verdicts(&findings(&[(unknown, 400.0)], Vec::new())).join("\n");
    assert!(text.contains("byte of these headers, byte hashed or summed"), "{text}");
}

#[test]
fn costs_of_a_model_are_not_called_fitted() {
    let modelled = Findings { origin: Origin::Model, ..findings(&[], Vec::new()) };
    let notes = notes(&[modelled]).join("\n");
    assert!(notes.contains("device model at the median"), "{notes}");
    assert!(!notes.contains("fitted costs") && notes.contains("nothing was fitted"), "{notes}");
}

#[test]
fn the_work_of_goals_is_counted_by_kind() {
    let program = program::embedded("test.p4", FORWARDING).expect("a program");
    let work = Work::new(&program);
    let sums = Kind::ALL.map(|kind| work.of_kind(kind).sum::<f64>());
    // Two headers of 14 and 20 bytes are extracted, and each table has a hit and a miss.
    let [_, _, headers, bytes, operations, exact, other, misses, state, externs, hashed] = sums;
    assert_eq!([headers, bytes, exact, other, misses], [2.0, 34.0, 1.0, 1.0, 2.0]);
    assert_eq!([state, externs, hashed], [0.0; 3]);
    assert!(operations >= 8.0, "{operations}");
}
