//! Tests of the rules of the language, from source text to bytes. Each case compiles a few lines
//! inside a v1model program, sends one packet and checks the output. Sections are those of the
//! P4_16 specification 1.2.4.

#[path = "language/versions.rs"]
mod versions;

use std::time::Duration;

use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;

/// The packet of every case: the fields `a` to `g` of a header, of which `e` has two bytes, and
/// then two elements of a stack.
const PACKET: [u8; 12] = [1, 2, 3, 4, 0x12, 0x34, 0x80, 0xff, 0x11, 0x22, 0x33, 0x44];

fn program(declarations: &str, locals: &str, apply: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header H {{ bit<8> a; bit<8> b; bit<8> c; bit<8> d; bit<16> e; int<8> f; bit<8> g; }}
header E {{ bit<8> x; bit<8> y; }}
header_union U {{ E one; H two; }}
struct headers {{ H h; E[2] st; E extra; U u; }}
struct Pair {{ bit<8> left; bit<8> right; }}
struct meta {{ bit<8> m; Pair pair; }}
{declarations}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.h); p.extract(h.st.next); p.extract(h.st.next); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
{locals}
    apply {{ s.egress_spec = 2;
{apply}
    }}
}}
control G(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control K(inout headers h, inout meta m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), G(), K(), D()) main;
"
    )
}

/// Runs a program and returns the packet that leaves through port 2.
fn run(source: &str) -> Vec<u8> {
    let compiled =
        p4lang::compile_text("case.p4", source, &Options::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    let Some(program) = compiled.program else { panic!("{messages}\nin\n{source}") };
    if let Err(violation) = program.validate() {
        panic!("{violation}\nin\n{}", program.to_text());
    }
    let text = program.to_text();
    let mut switch = Switch::new(program).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
    let outputs = switch
        .process(1, &PACKET, Duration::from_secs(1))
        .unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
    let [output] = outputs.as_slice() else { panic!("{} packets\nin\n{text}", outputs.len()) };
    output.packet.clone()
}

/// Returns the bytes a to d after the lines have run.
fn fields(declarations: &str, locals: &str, apply: &str) -> [u8; 4] {
    let packet = run(&program(declarations, locals, apply));
    packet.get(..4).and_then(|bytes| bytes.try_into().ok()).expect("four bytes")
}

#[test]
fn operands_are_evaluated_from_left_to_right() {
    // Section 8.1.1: the first operand is read before the call changes it.
    let bump = "bit<8> bump(inout bit<8> x) { x = x + 10; return x; }";
    assert_eq!(fields(bump, "", "h.h.b = h.h.a + bump(h.h.a) + h.h.a;"), [11, 23, 3, 4]);
    assert_eq!(fields(bump, "", "h.h.b = bump(h.h.a) + h.h.a;"), [11, 22, 3, 4]);
    let list = "m.pair = { h.h.a, bump(h.h.a) }; h.h.c = m.pair.left; h.h.d = m.pair.right;";
    assert_eq!(fields(bump, "", list), [11, 2, 1, 11]);
    let two = "bit<8> sum(in bit<8> x, in bit<8> y) { return x * 16 + y; }";
    assert_eq!(
        fields(&format!("{bump}{two}"), "", "h.h.c = sum(h.h.a, bump(h.h.a));"),
        [11, 2, 27, 4]
    );
}

#[test]
fn a_short_circuit_skips_the_calls_of_the_second_operand() {
    // Section 8.5.1 defines short-circuit evaluation.
    let touch = "bool touch(inout bit<8> x, in bool result) { x = x + 1; return result; }";
    let on = |apply: &str| fields(touch, "", apply);
    assert_eq!(on("if (h.h.b == 9 && touch(h.h.a, true)) { h.h.d = 9; }"), [1, 2, 3, 4]);
    assert_eq!(on("if (h.h.b == 2 && touch(h.h.a, true)) { h.h.d = 9; }"), [2, 2, 3, 9]);
    assert_eq!(on("if (h.h.b == 2 || touch(h.h.a, true)) { h.h.d = 9; }"), [1, 2, 3, 9]);
    assert_eq!(on("if (h.h.b == 9 || touch(h.h.a, false)) { h.h.d = 9; }"), [2, 2, 3, 4]);
    assert_eq!(on("h.h.d = h.h.b == 2 ? h.h.c : (touch(h.h.a, true) ? 8w1 : 8w0);"), [1, 2, 3, 3]);
    assert_eq!(
        on("bool x = touch(h.h.a, false) && touch(h.h.b, true) || touch(h.h.c, true);"),
        [2, 2, 4, 4]
    );
}

#[test]
fn arguments_are_copied_in_and_out() {
    // Section 6.8: what the callee does to its copy is not visible before it returns.
    let f = "void f(inout bit<8> x, inout bit<8> y) { x = 5; y = y + x; }";
    assert_eq!(fields(f, "", "f(h.h.a, h.h.b);"), [5, 7, 3, 4]);
    assert_eq!(fields(f, "", "f(h.h.a, h.h.a);"), [6, 2, 3, 4]);
    // An argument keeps its value although a later argument changes the variable.
    let later = format!("{f} bit<8> g(inout bit<8> z) {{ z = 9; return 1; }}
        void keep(inout bit<8> x, in bit<8> y) {{ }} void add(inout bit<8> x, in bit<8> y) {{ x = x + y; }}");
    assert_eq!(fields(&later, "", "keep(h.h.a, g(h.h.a));"), [1, 2, 3, 4]);
    assert_eq!(fields(&later, "", "add(h.h.a, g(h.h.a));"), [2, 2, 3, 4]);
    let leaving = "action stop(inout bit<8> x, in bit<8> y) { x = x + y; exit; }";
    assert_eq!(fields(&later, leaving, "stop(h.h.a, g(h.h.a)); h.h.b = 7;"), [2, 2, 3, 4]);
    let out = "void f(out bit<8> x, in bit<8> y) { x = y; }";
    assert_eq!(fields(out, "", "f(h.h.a, h.h.a + 1);"), [2, 2, 3, 4]);
    let global = "action a(inout bit<8> x) { x = 7; h.h.b = h.h.a; }";
    assert_eq!(fields("", global, "a(h.h.a);"), [7, 1, 3, 4]);
}

#[test]
fn indices_of_arguments_are_evaluated_once() {
    // Section 6.8: the index is evaluated before the call, although the call changes it.
    let f = "void f(inout bit<8> x, inout bit<8> i) { x = 99; i = 1; }";
    let packet = run(&program(f, "", "h.h.a = 0; f(h.st[h.h.a].x, h.h.a);"));
    assert_eq!(packet, [1, 2, 3, 4, 0x12, 0x34, 0x80, 0xff, 99, 0x22, 0x33, 0x44]);
    let bump = "bit<8> bump(inout bit<8> x) { x = x + 1; return 77; }";
    let packet = run(&program(bump, "", "h.h.a = 0; h.st[h.h.a].x = bump(h.h.a);"));
    assert_eq!(packet.get(8..), Some([77, 0x22, 0x33, 0x44].as_slice()));
}

#[test]
fn slices_are_read_and_written() {
    assert_eq!(fields("", "", "h.h.a[7:4] = 0xf; h.h.b[0:0] = 1;"), [0xf1, 3, 3, 4]);
    assert_eq!(fields("", "", "h.h.a = h.h.e[15:8]; h.h.b = h.h.e[11:4];"), [0x12, 0x23, 3, 4]);
    assert_eq!(fields("", "", "h.h.a = h.h.e[h.h.d +: 8];"), [0x23, 2, 3, 4]);
    assert_eq!(fields("", "", "h.h.c = 0xff; h.h.c[h.h.d +: 2] = 0;"), [1, 2, 0xcf, 4]);
    let swap = "void f(inout bit<4> x, inout bit<4> y) { bit<4> t = x; x = y; y = t; }";
    assert_eq!(fields(swap, "", "f(h.h.a[7:4], h.h.a[3:0]);"), [0x10, 2, 3, 4]);
    assert_eq!(fields("", "", "h.h.a = h.h.b[3:0] ++ h.h.c[3:0];"), [0x23, 2, 3, 4]);
}

#[test]
fn arithmetic_follows_the_widths_and_signs_of_the_operands() {
    // Sections 8.6 to 8.8 define the operators.
    assert_eq!(fields("", "", "h.h.a = h.h.a - 2; h.h.b = -h.h.b;"), [255, 254, 3, 4]);
    assert_eq!(fields("", "", "h.h.a = h.h.a |-| 2; h.h.b = h.h.g |+| 5;"), [0, 255, 3, 4]);
    assert_eq!(fields("", "", "h.h.a = h.h.d << 3 | h.h.c >> 1; h.h.b = 255 >> 9;"), [33, 0, 3, 4]);
    assert_eq!(fields("", "", "h.h.a = (bit<8>)(h.h.f >> 2);"), [0xe0, 2, 3, 4]);
    assert_eq!(fields("", "", "h.h.a = (bit<8>)(h.h.f - 1);"), [0x7f, 2, 3, 4]);
    assert_eq!(fields("", "", "if (h.h.f < 0) { h.h.a = 9; }"), [9, 2, 3, 4]);
    assert_eq!(
        fields("", "", "int<16> w = (int<16>) h.h.f; h.h.a = ((bit<16>) w)[15:8];"),
        [0xff, 2, 3, 4]
    );
    assert_eq!(
        fields("", "", "h.h.a += 3; h.h.b <<= 1; h.h.c ^= 0xff; h.h.d |-|= 9;"),
        [4, 4, 0xfc, 0]
    );
    assert_eq!(fields("", "", "h.h.a = (bit<8>)(bit<1>)(h.h.b == 2);"), [1, 2, 3, 4]);
    assert_eq!(fields("const int N = 7;", "", "h.h.a = N * 3 % 4 + (9 / 2);"), [5, 2, 3, 4]);
}

#[test]
fn validity_is_set_copied_and_compared() {
    // Sections 8.17 to 8.20 define validity.
    assert_eq!(run(&program("", "", "h.h.setInvalid();")), [0x11, 0x22, 0x33, 0x44]);
    let copy = "h.extra = h.st[1]; h.st[0].setInvalid();";
    assert_eq!(run(&program("", "", copy)).get(8..), Some([0x33, 0x44, 0x33, 0x44].as_slice()));
    let unions = "h.u.one.setValid(); h.u.one = { 7, 8 };
        if (h.u.isValid() && !h.u.two.isValid()) { h.h.a = 9; }
        h.u.two.setValid(); if (!h.u.one.isValid()) { h.h.b = 9; }
        h.u.two.setInvalid(); if (!h.u.isValid()) { h.h.c = 9; }";
    assert_eq!(fields("", "", unions), [9, 9, 9, 4]);
    assert_eq!(
        fields("", "", "h.extra = (E) {#}; if (h.extra == (E) {#}) { h.h.a = 8; }"),
        [8, 2, 3, 4]
    );
    assert_eq!(fields("", "", "if (h.st[0] == { 0x11, 0x22 }) { h.h.a = 8; }"), [8, 2, 3, 4]);
    let defaults = "m = { ... }; h.h.a = m.m; m.pair = { right = 5, ... }; h.h.b = m.pair.right;";
    assert_eq!(fields("", "", defaults), [0, 5, 3, 4]);
}

#[test]
fn stacks_push_and_pop_elements() {
    // Section 8.18 defines the operations of stacks.
    let pushed = run(&program("", "", "h.st.push_front(1); h.st[0] = { 5, 6 };"));
    assert_eq!(pushed.get(8..), Some([5, 6, 0x11, 0x22].as_slice()));
    let popped = run(&program("", "", "h.st.pop_front(1);"));
    assert_eq!(popped.get(8..), Some([0x33, 0x44].as_slice()));
    assert_eq!(fields("", "", "h.h.a = (bit<8>) h.st.size; h.h.b = h.st[1].x;"), [2, 0x33, 3, 4]);
}

#[test]
fn expressions_may_apply_tables() {
    let table = "action hit_it(bit<8> v) { h.h.d = v; } action miss_it() { h.h.d = 50; }
        table t { key = { h.h.a : exact; } actions = { hit_it; miss_it; }
            const default_action = miss_it();
            const entries = { 1 : hit_it(40); 3 : miss_it(); } }";
    assert_eq!(fields("", table, "if (t.apply().hit) { h.h.b = 9; }"), [1, 9, 3, 40]);
    assert_eq!(fields("", table, "h.h.a = 2; if (t.apply().miss) { h.h.b = 9; }"), [2, 9, 3, 50]);
    let switch = "switch (t.apply().action_run) { hit_it: { h.h.b = 6; } miss_it: { h.h.b = 7; } }";
    assert_eq!(fields("", table, switch), [1, 6, 3, 40]);
    assert_eq!(fields("", table, &format!("h.h.a = 3; {switch}")), [3, 7, 3, 50]);
    let and = "if (h.h.b == 9 && t.apply().hit) { h.h.c = 1; }";
    assert_eq!(fields("", table, and), [1, 2, 3, 4]);
    let both = "if (t.apply().hit && h.h.d == 40) { h.h.c = 1; }";
    assert_eq!(fields("", table, both), [1, 2, 1, 40]);
}

#[test]
fn keys_and_arguments_may_apply_tables() {
    let tables = "action bump() { h.h.d = h.h.d + 1; } action set(bit<8> v) { h.h.c = v; }
        table one { key = { h.h.a : exact; } actions = { bump; NoAction; }
            const default_action = NoAction(); const entries = { 1 : bump(); } }
        table two { key = { one.apply().hit : exact @name(\"hit\"); h.h.d : exact; } actions = { set; }
            default_action = set(77); const entries = { (true, 5) : set(11); (false, 4) : set(12); } }
        action both(in bool x, in bool y) { if (x != y) { h.h.b = 66; } }";
    assert_eq!(fields("", tables, "two.apply();"), [1, 2, 11, 5]);
    assert_eq!(fields("", tables, "h.h.a = 9; two.apply();"), [9, 2, 12, 4]);
    // The first application is a hit, and its action does not change the key of the second.
    assert_eq!(fields("", tables, "both(one.apply().hit, one.apply().miss);"), [1, 66, 3, 6]);
    assert_eq!(
        fields("", tables, "h.h.b = one.apply().hit ? (one.apply().miss ? 8w1 : 8w2) : 8w3;"),
        [1, 2, 3, 6]
    );
}

#[test]
fn directional_arguments_of_table_actions_are_evaluated_at_the_call() {
    let bound = "bit<8> v = 3; action f(inout bit<8> x, in bit<8> y, bit<8> z) { x = x + y + z; }
        table t { key = { h.h.a : exact; } actions = { f(h.h.b, v); NoAction; }
            default_action = NoAction; const entries = { 1 : f(h.h.b, v, 10); } }";
    assert_eq!(fields("", bound, "v = 20; t.apply();"), [1, 32, 3, 4]);
    let effects = "bit<8> k = 0;
        table t { key = { f(h.h.a) : exact @name(\"k\"); h.h.a : exact; } actions = { NoAction; }
            const entries = { (1, 2) : NoAction(); } }";
    let f = "bit<8> f(inout bit<8> x) { bit<8> old = x; x = x + 1; return old; }";
    assert_eq!(fields(f, effects, "if (t.apply().hit) { h.h.d = 1; }"), [2, 2, 3, 1]);
}

#[test]
fn entries_take_precedence_by_priority_then_by_order() {
    let table = |properties: &str, entries: &str| {
        format!(
            "action set(bit<8> v) {{ h.h.d = v; }} table t {{ key = {{ h.h.a : ternary; }} \
             actions = {{ set; }} default_action = set(0); {properties} {entries} }}"
        )
    };
    let case =
        |properties: &str, entries: &str| fields("", &table(properties, entries), "t.apply();");
    // Section 14.2.1.4: without priorities, entries match in program order.
    assert_eq!(case("", "const entries = { 1 &&& 1 : set(5); 1 : set(6); }"), [1, 2, 3, 5]);
    let written = "entries = { priority = 1 : 1 &&& 1 : set(5); priority = 2 : 1 : set(6); }";
    assert_eq!(case("", written), [1, 2, 3, 6]);
    assert_eq!(case("largest_priority_wins = false;", written), [1, 2, 3, 5]);
    assert_eq!(
        case(
            "largest_priority_wins = false; priority_delta = 10;",
            "entries = { _ : set(5); 1 : set(6); }"
        ),
        [1, 2, 3, 5]
    );
}

#[test]
fn return_leaves_the_callee_and_exit_leaves_the_control() {
    // Sections 12.4 and 12.5 define `return` and `exit`.
    let nested = "control C(inout bit<8> x) { action out_of_here() { x = 9; exit; }
        apply { if (x == 1) { out_of_here(); x = 8; } else { x = 7; return; x = 6; } } }";
    assert_eq!(fields(nested, "C() c;", "c.apply(h.h.a); h.h.b = 5;"), [9, 2, 3, 4]);
    assert_eq!(fields(nested, "C() c;", "c.apply(h.h.b); h.h.c = 5;"), [1, 7, 5, 4]);
    let f = "bit<8> f(inout bit<8> x) { x = x + 1; if (x == 2) { return 40; } return 50; }";
    assert_eq!(fields(f, "", "h.h.c = f(h.h.a); h.h.d = f(h.h.b);"), [2, 3, 40, 50]);
    assert_eq!(fields("", "", "h.h.a = 5; return; h.h.a = 6;"), [5, 2, 3, 4]);
    let dead = "action six() { h.h.a = 6; } table t { actions = { six; } default_action = six; }";
    assert_eq!(
        fields("", dead, "h.h.a = 5; if (false) { t.apply(); } exit; t.apply();"),
        [5, 2, 3, 4]
    );
    assert_eq!(
        fields("", "action a() { h.h.a = 5; return; h.h.a = 6; }", "a(); h.h.b = 7;"),
        [5, 7, 3, 4]
    );
}

#[test]
fn a_switch_runs_the_first_case_that_matches() {
    let on = |apply: &str| fields("", "", apply);
    assert_eq!(
        on("switch (h.h.b) { 1: { h.h.a = 7; } 2: { h.h.a = 8; } default: { h.h.a = 9; } }"),
        [8, 2, 3, 4]
    );
    assert_eq!(on("switch (h.h.b) { 2: 3: { h.h.a = 8; } default: { h.h.a = 9; } }"), [8, 2, 3, 4]);
    assert_eq!(on("switch (h.h.b) { 7: { h.h.a = 8; } default: { h.h.a = 9; } }"), [9, 2, 3, 4]);
    assert_eq!(on("switch (h.h.b) { 7: { h.h.a = 8; } }"), [1, 2, 3, 4]);
    assert_eq!(
        on("bool q = h.h.b > 1; switch (q) { true: { h.h.a = 8; } false: { h.h.a = 9; } }"),
        [8, 2, 3, 4]
    );
    assert_eq!(
        fields(
            "type bit<8> Port;",
            "",
            "Port n = (Port) h.h.b; switch (n) { (Port) 1: { h.h.a = 8; } (Port) 2: { h.h.a = 9; } }"
        ),
        [9, 2, 3, 4]
    );
    let kinds = "enum Kind { x, y } enum bit<8> Number { one = 1, two = 2 }";
    assert_eq!(
        fields(
            kinds,
            "",
            "Kind k = Kind.y; switch (k) { Kind.x: { h.h.a = 8; } Kind.y: { h.h.a = 9; } }"
        ),
        [9, 2, 3, 4]
    );
    assert_eq!(
        fields(kinds, "", "switch ((Number) h.h.b) { Number.two: { h.h.a = 9; } }"),
        [9, 2, 3, 4]
    );
}

#[test]
fn loops_visit_ranges_and_lists_in_order() {
    let on = |apply: &str| fields("", "", apply);
    assert_eq!(on("for (bit<8> i = 0; i < 4; i = i + 1) { h.h.a = h.h.a + i; }"), [7, 2, 3, 4]);
    assert_eq!(on("for (bit<8> i in 1 .. 3) { h.h.a = h.h.a + i; }"), [7, 2, 3, 4]);
    assert_eq!(on("for (bit<2> i in 2 .. 3) { h.h.a = h.h.a + 1; }"), [3, 2, 3, 4]);
    assert_eq!(on("for (bit<8> i in 3 .. 1) { h.h.a = h.h.a + i; }"), [1, 2, 3, 4]);
    assert_eq!(on("for (E e in h.st) { h.h.a = h.h.a + e.x; }"), [0x45, 2, 3, 4]);
    assert_eq!(
        on("for (Pair p in (list<Pair>) { { 1, 2 }, { 3, 4 } }) { h.h.a = h.h.a + p.right; }"),
        [7, 2, 3, 4]
    );
    assert_eq!(
        on(
            "for (bit<8> i in 0 .. 9) { if (i == 1) continue; if (i == 4) break; h.h.a = h.h.a + i; }"
        ),
        [6, 2, 3, 4]
    );
    assert_eq!(
        on(
            "for (bit<8> i = 0; i < 2; i += 1) { bit<8> fresh; fresh = i; for (bit<8> j in 0 .. i) { h.h.a += 1; } }"
        ),
        [4, 2, 3, 4]
    );
}

#[test]
fn instances_have_their_own_parameters_and_share_extern_objects() {
    let counted = "control C(inout bit<8> x)(bit<8> step, int factor) {
        apply { x = x + step * factor; } }";
    assert_eq!(
        fields(
            counted,
            "C(1, 2) one; C(factor = 5, step = 2) two;",
            "one.apply(h.h.a); two.apply(h.h.b); one.apply(h.h.a);"
        ),
        [5, 12, 3, 4]
    );
    let state = "control C(inout bit<8> x)(register<bit<8>> r) {
        apply { bit<8> old; r.read(old, 0); r.write(0, x); x = old; } }";
    assert_eq!(
        fields(
            state,
            "register<bit<8>>(1) r; C(r) one; C(r) two;",
            "one.apply(h.h.a); two.apply(h.h.b);"
        ),
        [0, 1, 3, 4]
    );
    let handed = "control C(register<bit<8>> r, inout bit<8> x) {
        action add(in bit<8> y) { x = x + y; }
        apply { bit<8> old; r.read(old, 0); r.write(0, x); add(old); } }";
    assert_eq!(
        fields(
            handed,
            "register<bit<8>>(1) p; register<bit<8>>(1) q; C() c; C() d;",
            "c.apply(p, h.h.a); d.apply(q, h.h.b); c.apply(p, h.h.c); d.apply(q, h.h.d);"
        ),
        [1, 2, 4, 6]
    );
    let generic =
        "control C(inout bit<8> x, in bit<8> y) { apply { x = y; } } T id<T>(in T x) { return x; }";
    assert_eq!(
        fields(generic, "C() c;", "c.apply(h.h.a, id(h.h.d)); C.apply(h.h.b, 6);"),
        [4, 6, 3, 4]
    );
    let locals = "control C(inout bit<8> x) { bit<8> n = 1; apply { n = n + x; x = n; } }";
    assert_eq!(
        fields(locals, "C() c;", "c.apply(h.h.a); c.apply(h.h.a); c.apply(h.h.b);"),
        [3, 3, 3, 4]
    );
}

#[test]
fn names_are_found_in_the_innermost_scope() {
    let shadow = "const bit<8> x = 5;";
    assert_eq!(
        fields(
            shadow,
            "",
            "h.h.a = x; { bit<8> x = 6; h.h.b = x; { bit<8> x = 7; h.h.c = x; } h.h.d = x; }"
        ),
        [5, 6, 7, 6]
    );
    assert_eq!(fields(shadow, "bit<8> x = 8;", "h.h.a = x; h.h.b = .x;"), [8, 5, 3, 4]);
}

#[test]
fn calls_select_overloads_and_use_defaults_and_named_arguments() {
    let f =
        "bit<8> f(in bit<8> x) { return x; } bit<8> f(in bit<8> x, in bit<8> y) { return x - y; }
        bit<8> g(in bit<8> x, in bit<8> y = 3) { return x * y; }";
    assert_eq!(
        fields(f, "", "h.h.a = f(9); h.h.b = f(y = 1, x = 9); h.h.c = g(5); h.h.d = g(5, 2);"),
        [9, 8, 15, 10]
    );
}

/// Returns a program with this parser and this ingress, which emits its headers in order.
fn parsed(states: &str, ingress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
error {{ Mine }}
header K {{ bit<8> kind; }}
header A {{ bit<8> x; }}
header B {{ bit<16> y; }}
header L {{ bit<8> length; varbit<64> data; }}
header_union U {{ A a; B b; L l; }}
struct headers {{ K[3] kinds; U[3] us; A a; B b; }}
struct meta {{ bit<8> n; }}
parser Inner(packet_in p, out A a, inout bit<8> n)(bit<8> bad) {{
    state start {{ p.extract(a); n = n + 1; transition select(a.x) {{ bad: reject; _: accept; }} }}
}}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{
{states}
}}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
    apply {{ s.egress_spec = 2;
{ingress}
    }}
}}
control G(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout meta m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), G(), C(), D()) main;
"
    )
}

#[test]
fn stacks_of_unions_are_filled_in_order() {
    // The parser extracts the kinds `a`, `b` and `a` into the unions, one after the other.
    let states =
        "state start { p.extract(h.us.next.a); p.extract(h.us.next.b); p.extract(h.us.next.a);
            transition select(h.us.last.a.x, h.us.lastIndex) { (4, 2): accept; _: reject; } }";
    let ingress = "h.us[0].a.x = 0xaa; h.us[1].b.y = 0xbbbb;
            if (h.us[1].a.isValid() || !h.us[2].isValid()) { mark_to_drop(s); }
            h.us[2].b.setValid(); h.us[2].b.y = 0xcccc;";
    let packet = run(&parsed(states, ingress));
    assert_eq!(packet.get(..6), Some([0xaa, 0xbb, 0xbb, 0xcc, 0xcc, 0x12].as_slice()));
}

#[test]
fn parser_errors_are_left_for_the_ingress() {
    let shown = |states: &str, error: &str| {
        let ingress = format!("if (s.parser_error != error.{error}) {{ mark_to_drop(s); }}");
        let compiled = p4lang::compile_text(
            "case.p4",
            &parsed(states, &ingress),
            &Options::default(),
            &MemoryFiles::default(),
        );
        let messages = compiled.messages(Style::Plain);
        let program = compiled.program.unwrap_or_else(|| panic!("{messages}"));
        let mut switch = Switch::new(program).expect("loads");
        switch.process(1, &PACKET, Duration::ZERO).expect("runs").len()
    };
    assert_eq!(shown("state start { verify(false, error.Mine); transition accept; }", "Mine"), 1);
    assert_eq!(shown("state start { verify(true, error.Mine); transition accept; }", "NoError"), 1);
    let too_many = "state start { p.extract(h.kinds.next);
            transition select(h.kinds.last.kind) { 0xee: accept; _: start; } }";
    assert_eq!(shown(too_many, "StackOutOfBounds"), 1);
    let too_short = "state start { p.advance(8 * 12); p.extract(h.a); transition accept; }";
    assert_eq!(shown(too_short, "PacketTooShort"), 1);
    let ahead = "state start { transition select(p.lookahead<bit<104>>()) { _: accept; } }";
    assert_eq!(shown(ahead, "PacketTooShort"), 1);
    let unmatched = "state start { p.extract(h.a); transition select(h.a.x) { 9: accept; } }";
    // On simple_switch, a `select` without a matching case leaves no error.
    assert_eq!(shown(unmatched, "NoError"), 1);
}

#[test]
fn a_parser_rejects_when_its_subparser_does() {
    let states = "Inner(7) one; Inner(2) two;
        state start { m.n = 4; one.apply(p, h.a, m.n); transition more; }
        state more { A second; two.apply(p, second, m.n); h.b.setValid(); transition accept; }";
    // The second subparser rejects, and the parser with it, so `h.b` is not valid.
    let ingress = "h.a.x = h.b.isValid() ? 8w1 : m.n;";
    let packet = run(&parsed(states, ingress));
    assert_eq!(packet.first(), Some(&6));
}

#[test]
fn select_goes_through_its_cases_in_order() {
    let to = |select: &str| {
        let states = format!(
            "const bit<8> TWO = 2; const tuple<bit<8>, bit<8>> BOTH = {{ 1, 2 }};
        state start {{ p.extract(h.a); bit<8> next = p.lookahead<bit<8>>();
            transition select({select} }}
        state one {{ m.n = 1; transition accept; }}
        state two {{ m.n = 2; transition accept; }}
        state three {{ m.n = 3; transition accept; }}"
        );
        run(&parsed(&states, "h.a.x = m.n;")).first().copied()
    };
    assert_eq!(to("h.a.x) { 2: one; 1: two; _: three; }"), Some(2));
    assert_eq!(to("h.a.x, next) { (1, 3): one; (_, TWO): two; default: three; }"), Some(2));
    assert_eq!(to("h.a.x) { 0x10 &&& 0x10: one; 0 .. 5: two; _: three; }"), Some(2));
    assert_eq!(to("h.a.x ++ next) { 0x0102: two; _: three; }"), Some(2));
    assert_eq!(to("h.a.x, next) { BOTH: two; _: three; }"), Some(2));
    assert_eq!(to("next, h.a.x) { BOTH: one; { 2, 1 }: two; _: three; }"), Some(2));
    assert_eq!(to("next) { { 1 }: one; { 2 }: two; _: three; }"), Some(2));
    assert_eq!(to("next == 2 && h.a.x == 1) { true: two; false: three; }"), Some(2));
}
