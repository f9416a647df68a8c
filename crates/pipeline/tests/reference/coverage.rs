//! What of a program scripts reach.

use super::support::V1model;
use pipeline::stf::{self, Options, Script};
use pipeline::{Coverage, PartKind, Switch};

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
fn several_scripts_are_covered_together() {
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
