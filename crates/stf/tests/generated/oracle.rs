//! An exhaustive oracle: the packets of small programs are enumerated on the interpreter. What some
//! packet reaches must be covered, and what none reaches must be proved unreachable.

use super::grammar::Grammar;
use super::{Parts, compiled, generated, predicted, reached, run_all};
use ir::Program;
use pipeline::{Coverage, Switch};
use std::time::Duration;
use symbolic::search::Verdict;

/// Returns what any packet reaches: all packets of up to two bytes.
fn enumerated(program: &Program) -> Parts {
    let mut coverage = Coverage::new(program);
    let mut switch = Switch::new(program.clone()).expect("a switch");
    let mut send = |packet: &[u8]| {
        let outputs = switch.process_traced(1, packet, Duration::ZERO, &mut coverage);
        outputs.expect("a packet is processed");
    };
    send(&[]);
    for first in 0..=255 {
        send(&[first]);
        for second in 0..=255 {
            send(&[first, second]);
        }
    }
    reached(&coverage)
}

/// Checks the verdicts on a program both ways, and its tests.
fn agrees(text: &str, seed: u64) {
    let program = compiled(text);
    let report = generated(&program, seed);
    let truth = enumerated(&program);
    let predicted = predicted(&report);
    let given_up =
        report.goals.iter().filter(|(_, verdict)| matches!(verdict, Verdict::GivenUp(_)));
    let given_up: Vec<_> = given_up.collect();
    assert!(given_up.is_empty(), "seed {seed}: {given_up:#?}\n{:#?}\n{text}", report.cuts);
    for (part, is_reached) in &truth {
        assert_eq!(predicted.get(part), Some(is_reached), "seed {seed}: {part:?}\n{text}");
    }
    let coverage = run_all(&program, &report.tests, false);
    assert_eq!(reached(&coverage), truth, "seed {seed}\n{text}");
}

#[test]
fn verdicts_agree_with_the_enumeration_of_all_packets() {
    let mut dead = 0;
    for seed in 0..12 {
        let text = Grammar::new(seed).program();
        agrees(&text, seed);
        let report = generated(&compiled(&text), seed);
        let unreachable = |verdict: &Verdict| *verdict == Verdict::Unreachable;
        dead += report.goals.iter().filter(|(_, verdict)| unreachable(verdict)).count();
    }
    // Without dead code the enumeration would only test one of the two ways.
    assert!(dead >= 10, "only {dead} parts are unreachable");
}

/// A program in which three parts are dead, and two are not although they seem to be.
const DEAD: &str = "#include <core.p4>
#include <v1model.p4>
header a_t { bit<4> x; bit<4> y; }
struct headers_t { a_t a; a_t b; }
struct meta_t { bit<4> p; }
parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.a); transition select(h.a.x) {
        0 .. 7: low;
        3: never;
        default: accept;
    } }
    state low { packet.extract(h.b); transition accept; }
    state never { m.p = 1; transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        if (h.b.isValid() && h.a.x > 7) { m.p = 2; }
        if (h.a.x * h.a.x == 4w3) { m.p = 3; }
        if (h.a.x * h.a.x == 4w9) { m.p = 4; }
        if (s.parser_error == error.PacketTooShort && h.a.isValid()) { m.p = 5; }
        s.egress_spec = 1;
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control U(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
";

#[test]
fn dead_code_is_named() {
    agrees(DEAD, 1);
    let report = generated(&compiled(DEAD), 1);
    let dead: Vec<&str> = report
        .goals
        .iter()
        .filter(|(goal, verdict)| {
            *verdict == Verdict::Unreachable && goal.kind == symbolic::goals::Kind::Statement
        })
        .map(|(goal, _)| goal.name.as_str())
        .collect();
    let lines: Vec<usize> = DEAD
        .lines()
        .enumerate()
        .filter(|(_, line)| {
            ["m.p = 1;", "m.p = 2;", "m.p = 3;"].iter().any(|one| line.contains(one))
        })
        .map(|(number, _)| number + 1)
        .collect();
    let named: Vec<usize> = dead
        .iter()
        .filter_map(|name| name.strip_prefix("test.p4:")?.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(named, lines, "{dead:?}");
}
