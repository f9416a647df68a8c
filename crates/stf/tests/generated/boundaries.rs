//! Tests at the boundaries of comparisons find operators and constants that are almost right, and
//! tests with entries that must lose find switches that confuse lengths and priorities.

use super::kills::{fails, thorough};
use super::mutate::{Mutant, mutants};
use super::{compiled, generated, run_all};
use ir::Program;
use pipeline::Switch;
use symbolic::generated::Test;

/// Returns the text of a program with an ingress control.
fn with_ingress(ingress: &str) -> String {
    let text = "#include <core.p4>
#include <v1model.p4>
header a_t { bit<8> kind; bit<8> ttl; bit<16> value; }
struct headers_t { a_t a; }
struct meta_t { }
parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.a); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    INGRESS
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control U(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h.a); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
";
    text.replace("INGRESS", ingress)
}

/// Returns the faults of the mutants that no test kills.
fn survivors(program: &Program, tests: &[Test]) -> Vec<String> {
    let survives = |mutant: &Mutant| {
        let mut switch = Switch::new(mutant.program.clone()).expect("a switch");
        !tests.iter().any(|test| fails(&mut switch, test))
    };
    mutants(program).into_iter().filter(survives).map(|mutant| mutant.fault).collect()
}

#[test]
fn tests_at_boundaries_kill_similar_comparisons() {
    // No mutant of this program transmits the same packets.
    let program = compiled(&with_ingress(
        "apply {
            if ((h.a.ttl <= 4 && h.a.kind != 7) || h.a.value > 1000) { s.egress_spec = 1; }
            else { s.egress_spec = 2; }
        }",
    ));
    let few = generated(&program, 1).tests;
    let few = survivors(&program, &few);
    assert!(few.iter().any(|fault| fault.contains("LessOrEqual is Less")), "{few:?}");
    let report = thorough(&program);
    run_all(&program, &report.tests, true);
    assert_eq!(survivors(&program, &report.tests), Vec::<String>::new());
    // What is reached is a list of goals, of which boundaries are none.
    let reached = report.reached.iter().flatten();
    assert!(reached.copied().all(|position| position < report.goals.len()));
    assert_eq!(report.goals.len(), generated(&program, 1).goals.len());
}

#[test]
fn tests_of_saturating_operators_reach_the_bounds() {
    let program = compiled(&with_ingress(
        "apply {
            h.a.ttl = h.a.ttl |+| 3;
            h.a.value = h.a.value |-| 2;
            s.egress_spec = 1;
        }",
    ));
    let few = survivors(&program, &generated(&program, 1).tests);
    assert!(few.iter().any(|fault| fault.contains("SaturatingAdd is Add")), "{few:?}");
    let report = thorough(&program);
    run_all(&program, &report.tests, true);
    assert_eq!(survivors(&program, &report.tests), Vec::<String>::new());
}

/// Returns a test with the actions of the only two entries of a table exchanged, as if a switch had
/// found the other one. Returns `None` if there are not two.
fn exchanged(test: &Test, table: &str) -> Option<Test> {
    let mut other = test.clone();
    let mut entries = other.entries.iter_mut().filter(|entry| entry.table == table);
    let (winner, loser) = (entries.next()?, entries.next()?);
    std::mem::swap(&mut winner.action, &mut loser.action);
    Some(other)
}

#[test]
fn entries_that_must_lose_show_a_switch_that_takes_them() {
    let program = compiled(&with_ingress(
        "action send(bit<9> port) { s.egress_spec = port; }
         action mark(bit<8> kind) { h.a.kind = kind; }
         action drop() { mark_to_drop(s); }
         table routes { key = { h.a.value: lpm; } actions = { send; drop; } default_action = drop(); }
         table marks { key = { h.a.ttl: ternary; } actions = { mark; NoAction; } }
         apply { routes.apply(); marks.apply(); }",
    ));
    let report = thorough(&program);
    run_all(&program, &report.tests, true);
    let mut switch = Switch::new(program).expect("a switch");
    for table in ["I.routes", "I.marks"] {
        let sent = report.tests.iter().filter(|test| !test.outputs.is_empty());
        let others: Vec<Test> = sent.filter_map(|test| exchanged(test, table)).collect();
        assert!(!others.is_empty(), "{table}: no entry must lose");
        let found = others.iter().filter(|test| fails(&mut switch, test)).count();
        assert!(found > 0, "{table}: {}", others[0].stf());
    }
}

/// A packet that the first branch drops would also miss in an empty table, and be dropped there.
#[test]
fn entries_for_skipped_lookups_show_a_switch_that_makes_them() {
    let with = |condition: &str| {
        compiled(&with_ingress(&format!(
            "action send(bit<9> port) {{ s.egress_spec = port; }}
             action drop() {{ mark_to_drop(s); }}
             table t {{
                 key = {{ h.a.value: exact; }}
                 actions = {{ drop; send; }}
                 const default_action = drop();
             }}
             apply {{ if ({condition}) {{ drop(); }} else {{ t.apply(); }} }}"
        )))
    };
    let program = with("h.a.ttl < 2");
    let tests = thorough(&program).tests;
    run_all(&program, &tests, true);
    let mut other = Switch::new(with("h.a.ttl == 0")).expect("a switch");
    assert!(tests.iter().any(|test| fails(&mut other, test)));
}

/// An argument of zero would hide that a program does not assign it.
#[test]
fn arguments_are_not_zero_unless_a_goal_needs_it() {
    let program = compiled(&with_ingress(
        "bit<8> known = 0;
         action set(bit<8> value) { known = value; }
         table t { key = { h.a.kind: exact; } actions = { set; NoAction; } }
         apply {
             t.apply();
             s.egress_spec = 1;
             if (known == h.a.ttl) { s.egress_spec = 2; }
         }",
    ));
    let tests = thorough(&program).tests;
    run_all(&program, &tests, true);
    let entries = tests.iter().flat_map(|test| &test.entries);
    let arguments = entries.flat_map(|entry| &entry.action.arguments);
    let values: Vec<&str> =
        arguments.map(|(_, value)| value.trim_start_matches("0x").trim_matches('0')).collect();
    assert!(!values.is_empty());
    assert!(values.iter().all(|digits| !digits.is_empty()), "{tests:?}");
}
