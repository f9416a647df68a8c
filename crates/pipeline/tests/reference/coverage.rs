//! Tests of the coverage of programs by scripts.

use super::support::V1model;
use std::time::Duration;

use pipeline::{Coverage, PartKind, Switch};
use stf::{self, Covered, End, Network, Options, Script, run_network_covered};

fn program() -> String {
    V1model {
        declarations: "header e_t { bit<8> kind; bit<8> value; } struct H { e_t e; } struct M { bit<8> x; }",
        parser: "state start { b.extract(h.e); transition select(h.e.kind) { 1: one; 2: two; } }
            state one { transition accept; }
            state two { transition accept; }",
        ingress: "action to(bit<9> port) { s.egress_spec = port; }
            action never() { }
            table t {
                key = { h.e.value : exact; }
                actions = { to; never; NoAction; }
                const default_action = NoAction;
                entries = { 7 : to(2); 8 : to(3); }
            }
            apply {
                if (h.e.kind == 1) { t.apply(); } else { h.e.value = 1; }
                switch (h.e.value) { 7: { h.e.kind = 9; } 8: { h.e.kind = 8; } default: { } }
            }",
        ..V1model::default()
    }
    .text()
}

fn names(coverage: &Coverage, kind: PartKind, reached: bool) -> Vec<&str> {
    coverage
        .parts(kind)
        .filter(|part| (part.count > 0) == reached)
        .map(|part| part.name.as_str())
        .collect()
}

#[test]
fn the_coverage_of_several_scripts_adds_up() {
    let program = super::support::compile(&program());
    let mut coverage = Coverage::new(&program);
    let mut cover = |text: &str| {
        let script = Script::parse(text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut switch = Switch::new(program.clone()).unwrap_or_else(|error| panic!("{error}"));
        let report = stf::run_covered(&mut switch, &script, Options::default(), &mut coverage);
        let report = report.unwrap_or_else(|(line, error)| panic!("line {line}: {error}"));
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    };
    cover("packet 1 0107\nexpect 2 09 07 $");
    cover("packet 1 0307\npacket 1 0309");
    let of = |kind, reached| names(&coverage, kind, reached);
    assert_eq!(of(PartKind::State, true), ["P.start", "P.one"]);
    assert_eq!(of(PartKind::State, false), ["P.two"]);
    assert_eq!(of(PartKind::Select, true), ["P.start: 8w1 to one", "P.start: none fits"]);
    assert_eq!(of(PartKind::Select, false), ["P.start: 8w2 to two"]);
    assert_eq!(of(PartKind::Branch, true), ["else", "then", "default", "case 1"]);
    assert_eq!(of(PartKind::Branch, false), ["case 2"]);
    assert_eq!(of(PartKind::Table, true), ["I.t: a hit"]);
    assert_eq!(of(PartKind::Table, false), ["I.t: a miss"]);
    assert_eq!(of(PartKind::Entry, true), ["I.t: 0x7"]);
    assert_eq!(of(PartKind::Entry, false), ["I.t: 0x8"]);
    assert_eq!(of(PartKind::Action, true), ["I.to"]);
    assert_eq!(coverage.reached(PartKind::State), (2, 3));
    let counts: Vec<u64> = coverage.parts(PartKind::State).map(|part| part.count).collect();
    assert_eq!(counts, [3, 1, 0]);
    let place = coverage.parts(PartKind::Branch).next().and_then(|part| part.place.as_deref());
    assert!(place.is_some_and(|place| place.starts_with("test.p4:")), "{place:?}");
}

#[test]
fn the_coverage_of_a_network_is_counted_by_program() {
    let program = super::support::compile(&program());
    let mut network = Network::default();
    // A packet of kind 1 and value 7 is sent through port 2.
    for name in ["a", "b", "c"] {
        let switch = Switch::new(program.clone()).unwrap_or_else(|error| panic!("{error}"));
        network.switch(name, switch);
    }
    let end = |switch, port| End { switch, port };
    network.link(end(0, 2), end(1, 1));
    network.link(end(1, 2), end(2, 1));
    network.outside(10, end(0, 1), "in");
    network.outside(20, end(2, 3), "out");
    let script = Script::parse("packet 10 0107").unwrap_or_else(|errors| panic!("{errors:?}"));
    let of = |switches: &[usize]| Covered {
        coverage: Coverage::new(&program),
        switches: switches.to_vec(),
    };
    // No coverage includes the third switch. The first switch changes kind 1 to kind 9.
    let mut covered = [of(&[1]), of(&[0])];
    let report = run_network_covered(&mut network, &script, Options::default(), &mut covered);
    let report = report.unwrap_or_else(|(line, error)| panic!("line {line}: {error}"));
    let counts = |covered: &Covered| -> Vec<u64> {
        covered.coverage.parts(PartKind::State).map(|part| part.count).collect()
    };
    assert_eq!(counts(&covered[1]), [1, 1, 0], "the first switch finds kind 1");
    assert_eq!(counts(&covered[0]), [1, 0, 0], "the second finds another kind");
    assert_eq!(names(&covered[0].coverage, PartKind::Entry, false), ["I.t: 0x7", "I.t: 0x8"]);
    let passed = |passed: &[(Duration, End, Vec<u8>)]| -> Vec<(End, Vec<u8>)> {
        passed.iter().map(|(_, end, packet)| (*end, packet.clone())).collect()
    };
    assert_eq!(passed(&report.entered), [(end(0, 1), vec![1, 7]), (end(1, 1), vec![9, 7])]);
    // A program that sets no port sends through port 0, which has no link.
    assert_eq!(passed(&report.left), [(end(0, 2), vec![9, 7]), (end(1, 0), vec![9, 1])]);
}
