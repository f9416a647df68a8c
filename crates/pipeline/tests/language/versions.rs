//! Tests of what the P4_16 specification has changed in versions 1.2.4 and 1.2.5 and in its working
//! draft (its appendix "Revision History"), on the interpreter and in all forms of machine code.
//! What the changes forbid is tested in `p4lang` (`check/tests/refused/versions.rs`).

use std::time::Duration;

use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;

use super::{PACKET, program, run};

/// Returns the bytes a to d after the lines have run, in the same way on all paths.
fn fields(declarations: &str, locals: &str, apply: &str) -> [u8; 4] {
    of_source(&program(declarations, locals, apply))
}

fn of_source(source: &str) -> [u8; 4] {
    let interpreted = run(source);
    let compiled =
        p4lang::compile_text("case.p4", source, &Options::default(), &MemoryFiles::default());
    let mut switch = Switch::new(compiled.program.expect("it compiles")).expect("it loads");
    switch.compile().unwrap_or_else(|error| panic!("{error}\nin\n{source}"));
    for way in switch.ways() {
        switch.reset().expect("it loads");
        switch.choose_way(Some(way));
        let outputs = switch.process(1, &PACKET, Duration::from_secs(1)).expect("it runs");
        let [output] = outputs.as_slice() else { panic!("{} packets", outputs.len()) };
        assert_eq!(output.packet, interpreted, "{way}\nin\n{source}");
    }
    interpreted.get(..4).and_then(|bytes| bytes.try_into().ok()).expect("four bytes")
}

fn applied(apply: &str) -> [u8; 4] {
    fields("", "", apply)
}

/// Version 1.2.4: stacks are written as lists of headers, with and without their type, and `{#}` is
/// an invalid header or union.
#[test]
fn stacks_and_invalid_headers_are_expressions() {
    let count = "h.h.a = 0; for (E e in h.st) { if (e.isValid()) { h.h.a += 1; h.h.b = e.y; } }";
    let after = |statement: &str| applied(&format!("{statement} {count}"))[..2].to_vec();
    for stack in ["{ { 5, 6 }, {#} }", "(E[2]) { { 5, 6 }, (E) {#} }", "{ { x = 5, y = 6 }, ... }"]
    {
        assert_eq!(after(&format!("h.st = {stack};")), [1, 6], "{stack}");
    }
    assert_eq!(after("h.st[0] = {#};"), [1, 0x44]);
    assert_eq!(after("E none = (E) {#}; h.st = { none, none };"), [0, 2]);
    assert_eq!(
        applied("if (h.extra == {#}) h.h.a = 9; if (h.h == (H) {#}) h.h.b = 9;")[..2],
        [9, 2]
    );
    let union = "h.u.one = { 1, 2 }; bool was = h.u.isValid(); h.u = (U) {#};
        h.h.a = was && !h.u.isValid() && h.u == {#} ? 8w1 : 0;";
    assert_eq!(applied(union)[0], 1);
}

/// Version 1.2.4: casts to the own type, slices of `int`, comparisons of tuples, and sizes, which
/// are of type `int`.
#[test]
fn casts_slices_tuples_and_sizes() {
    assert_eq!(applied("h.h.a = (bit<8>) h.h.b; m.pair = (Pair) m.pair; h.h = (H) h.h;")[0], 2);
    assert_eq!(fields("const int N = 0x1a5; const bit<8> C = N[7:0];", "", "h.h.a = C;")[0], 0xa5);
    assert_eq!(
        applied("h.h.a = (-1)[7:0]; h.h.b = 8w0 ++ 0x3c[5:2] == 12w15 ? 8w1 : 0;")[..2],
        [255, 1]
    );
    let tuples = "tuple<bit<8>, bool> t = { h.h.a, true }; tuple<bit<8>, bool> u = { 1, true };
        h.h.c = t == u ? 8w7 : 0; u = { 2, true }; h.h.d = t != u ? t[0] : 0;";
    assert_eq!(applied(tuples), [1, 2, 7, 1]);
    let sizes = "header Vary { varbit<24> v; bit<4> w; bit<4> x; }";
    let sized = "Vary v; h.h.a = (bit<8>) v.minSizeInBits(); h.h.b = (bit<8>) v.maxSizeInBits();
        h.h.c = (bit<8>) (h.st.maxSizeInBytes() * 10 + h.u.minSizeInBytes());
        h.h.d = 1 << (Vary.maxSizeInBytes() - 1);";
    assert_eq!(fields(sizes, "", sized), [8, 32, 48, 8]);
}

/// Version 1.2.4: trailing commas, `static_assert`, values of `match_kind`, and lists.
#[test]
fn commas_assertions_match_kinds_and_lists() {
    let declarations = "enum Suit { clubs, hearts, } enum bit<8> Rank { two = 2, ten = 10, }
        const bool sure = static_assert(Rank.ten == 10, \"ten is ten\");
        const bool same = exact == lpm; const bool alike = exact == exact;
        match_kind { fuzzy, }
        const list<Pair> PAIRS = { { 1, 2 }, { left = 3, right = 4, }, };";
    let apply = "tuple<bit<8>, bit<8>> t = { 1, 2, }; m.pair = { left = t[1], right = 5, };
        h.h.a = m.pair.left + Rank.ten; h.h.b = sure && !same && alike ? 8w1 : 0;
        for (Pair p in PAIRS) { h.h.c += p.left; h.h.d += p.right; }
        Suit own = Suit.hearts; if (own == Suit.clubs) { h.h.a = 0; }";
    assert_eq!(fields(declarations, "", apply), [12, 1, 7, 10]);
}

/// Version 1.2.4: a range whose end is below its start is empty, ranges may have values of
/// serializable enumerations, and labels of `select` are cast to the type of the selected value.
#[test]
fn labels_of_a_select_are_cast_to_its_type() {
    let source = |label: &str, declarations: &str| {
        let states = format!(
            "state start {{ p.extract(h.h); p.extract(h.st.next); p.extract(h.st.next);
                transition select(h.h.b) {{ {label}: hit; default: accept; }} }}
            state hit {{ h.h.a = 99; transition accept; }}"
        );
        let whole = program(declarations, "", "");
        let start = whole.find("    state start").expect("a state");
        let end = start + whole[start..].find("\n}").expect("its end");
        of_source(&format!("{}{states}{}", &whole[..start], &whole[end..]))[0]
    };
    let kinds = "enum bit<8> Step { low = 1, mid = 2, high = 3 }";
    for (label, hits) in [
        ("1 .. 3", true),
        ("3 .. 1", false),
        ("Step.low .. Step.high", true),
        ("Step.mid &&& Step.mid", true),
        ("Step.high", false),
        ("8w2", true),
        ("3 .. 9", false),
    ] {
        assert_eq!(source(label, kinds) == 99, hits, "{label}");
    }
}

/// Version 1.2.4: entries that are not constant are there from the start, beside constant ones. By
/// default, the one with the largest priority wins. A table without a key, or with an empty one,
/// runs its default action.
#[test]
fn entries_priorities_and_tables_without_keys() {
    let table = |properties: &str, entries: &str| {
        let locals = format!(
            "action set(bit<8> v) {{ h.h.d = v; }}
            table t {{ key = {{ h.h.b: ternary; }} actions = {{ set; NoAction; }} {properties}
                entries = {{ {entries} }} }}"
        );
        fields("", &locals, "t.apply();")[3]
    };
    let ordered = "2 &&& 2: set(1); _: set(2);";
    assert_eq!(table("", ordered), 1);
    assert_eq!(table("", "const priority = 1: 2 &&& 2: set(1); priority = 5: _: set(2);"), 2);
    let smallest = "largest_priority_wins = false;";
    assert_eq!(table(smallest, "priority = 1: 2 &&& 2: set(1); priority = 5: _: set(2);"), 1);
    // 20, 30, and again 20: the second and third entries follow the first by the delta.
    let delta = "largest_priority_wins = false; priority_delta = 10;";
    let gaps = "priority = 25: 2: set(1); 2 &&& 3: set(2); priority = 20: 2 &&& 7: set(3);";
    assert_eq!(table(delta, gaps), 3);
    for key in ["", "key = { }"] {
        let locals = format!(
            "action set(bit<8> v) {{ h.h.d = v; }}
            table t {{ {key} actions = {{ set; }} default_action = set(8); }}"
        );
        assert_eq!(fields("", &locals, "if (t.apply().hit) h.h.d = 1;")[3], 8, "{key}");
    }
}

/// Version 1.2.5: a type's width may be a local compile-time known value, which a constructor
/// parameter is not, whereas sizes and arguments need only be compile-time known.
#[test]
fn local_and_other_compile_time_known_values() {
    let declarations = "const int W = 3; const bit<8> LAST = 7;
        control Sized(inout bit<8> x)(bit<8> n, bool twice) {
            action add(bit<8> v) { x = x + v; }
            table t { actions = { add; } default_action = add(n); size = 4; }
            apply { t.apply(); if (twice) { t.apply(); } x = x << n; }
        }";
    let locals =
        "Sized(1, true) one; Sized(n = 2, twice = false) two; bit<(W + 5)> wide; bit<W> narrow;";
    let apply = "one.apply(h.h.a); two.apply(h.h.b); wide = h.h.c; narrow = wide[W - 1:0];
        h.h.d[LAST:LAST - 2] = narrow; E[(W - 1)] own = { { 1, 2 }, { 3, 4 } }; h.h.c = own[W - 2].y;";
    assert_eq!(fields(declarations, locals, apply), [6, 16, 4, 0x64]);
}

/// Version 1.2.5: loops over conditions, ranges, lists, arrays and stacks, with `break` and
/// `continue`; the collection is evaluated once, before the first turn. Declarations are local to
/// the loop.
#[test]
fn loops_run_their_updates_and_can_be_left() {
    let bump = "bit<8> bump(inout bit<8> x) { x = x + 1; return x; }";
    let on = |apply: &str| fields(bump, "", apply);
    assert_eq!(on("for (bit<8> i = 0, bit<8> j = 9; i < j; i += 1, j -= 2) { h.h.a += 1; }")[0], 4);
    assert_eq!(on("bit<8> i = 5; for (; i > 3;) { i -= 1; h.h.a += i; } h.h.b = i;")[..2], [8, 3]);
    // `continue` runs the update, `break` does not.
    let left = "bit<8> i; for (i = 0; i < 9; i += 1) { if (i < 3) continue; break; } h.h.a = i;";
    assert_eq!(on(left)[0], 3);
    // The bounds are evaluated once: 2 and 4.
    assert_eq!(
        on("for (bit<8> i in bump(h.h.a) .. bump(h.h.c)) { h.h.d += 1; h.h.c = 9; }"),
        [2, 2, 9, 7]
    );
    assert_eq!(on("for (bit<8> i in (list<bit<8>>) { 1, 2, 250 }) { h.h.a += i; }")[0], 254);
    assert_eq!(
        on("bit<8>[3] own = { 1, 2, 3 }; for (bit<8> i in own) { own[2] = 9; h.h.a += i; }")[0],
        7
    );
    assert_eq!(
        on("for (E e in h.st) { h.h.a += e.x; e.x = 0; } h.h.b = h.st[0].x;")[..2],
        [0x45, 0x11]
    );
    assert_eq!(
        on("bit<8> i = 7; for (bit<8> k in 0 .. 2) { bit<8> i = k; h.h.a += i; } h.h.b = i;")[..2],
        [4, 7]
    );
    assert_eq!(on("for (int<8> i in -2 .. 1) { h.h.a += (bit<8>) i; }")[0], 255);
    // At the end of the type's values, the loop ends too.
    assert_eq!(on("for (bit<8> i in 254 .. 255) { h.h.a += 1; }")[0], 3);
    let nested =
        "for (bit<8> i in 0 .. 2) { for (bit<8> j in 0 .. 9) { if (j > i) break; h.h.a += 1; } }";
    assert_eq!(on(nested)[0], 7);
    let action = "action count(in bit<8> n) { for (bit<8> i in 1 .. n) { h.h.a += i; } }";
    assert_eq!(fields("", action, "count(h.h.d);")[0], 11);
    let function = "bit<8> first(in bit<8> n) { for (bit<8> i in 3 .. n) { if (i[1:0] == 0) { return i; } } return 0; }";
    assert_eq!(fields(function, "", "h.h.a = first(9); h.h.b = first(3);")[..2], [4, 0]);
}

/// The working draft: each operator of a compound assignment, whose left side is evaluated once.
#[test]
fn compound_assignments_evaluate_their_left_side_once() {
    for (operator, expected) in [
        ("+=", 0x9d_u8),
        ("-=", 0x97),
        ("*=", 0xce),
        ("|+|=", 0x9d),
        ("|-|=", 0x97),
        ("<<=", 0xd0),
        (">>=", 0x13),
        ("&=", 0x02),
        ("|=", 0x9b),
        ("^=", 0x99),
    ] {
        assert_eq!(
            applied(&format!("h.h.a = 0x9a; h.h.a {operator} 3;"))[0],
            expected,
            "{operator}"
        );
    }
    assert_eq!(applied("h.h.a |+|= 255; h.h.b |-|= 9;")[..2], [255, 0]);
    assert_eq!(applied("h.h.f = -8; h.h.f >>= 1; h.h.a = (bit<8>) h.h.f;")[0], 0xfc);
    assert_eq!(applied("h.h.a[3:0] += 15; h.h.b[7:4] |= 5;")[..2], [0, 0x52]);
    let bump = "bit<8> bump(inout bit<8> x) { x = x + 1; return x; }";
    let once = "h.h.a = 0; h.st[bump(h.h.a)].x += 5; h.h.b = h.st[1].x; h.h.c = h.st[0].x;";
    assert_eq!(fields(bump, "", once), [1, 0x38, 0x11, 4]);
    let constant = "const int N = 7 / 2 * 10 + 7 % 4;";
    assert_eq!(fields(constant, "", "h.h.a = N;")[0], 33);
}

/// The working draft: strings are concatenated when a program is compiled, also in annotations (of
/// literals) and messages, and annotations of branches change nothing.
#[test]
fn strings_and_branch_predictions() {
    let declarations = "const string NAME = \"mine\"; const string OTHER = \"other.\" ++ NAME;
        const bool fine = static_assert(true, \"never \" ++ \"shown\");";
    let locals = "@name(\"other.\" ++ \"mine\" ++ \"!\") action set() { h.h.a = 9; }
        table t { actions = { set; } default_action = set(); }";
    let apply = "t.apply();
        if (h.h.b == 2) @likely { h.h.b = 5; } else @unlikely { h.h.b = 6; }
        switch (h.h.c) { 3: @likely { h.h.c = 7; } default: @unlikely { h.h.c = 8; } }";
    assert_eq!(fields(declarations, locals, apply), [9, 5, 7, 4]);
    let source = program(declarations, locals, apply);
    let compiled =
        p4lang::compile_text("case.p4", &source, &Options::default(), &MemoryFiles::default());
    let program = compiled.program.expect("it compiles");
    assert!(program.actions.iter().any(|action| action.name == "I.other.mine!"), "{source}");
}

/// Version 1.2.3 and the working draft: `switch` in actions and functions, over integers and
/// enumerations.
#[test]
fn switches_in_actions_and_functions() {
    let declarations = "enum bit<8> Step { two = 2, four = 4 } enum N { x, y }
        bit<8> named(in bit<8> v) { switch (v) { Step.two: Step.four: { return 24; } 9: { return 9; } } return 1; }
        bit<8> of(in N n) { switch (n) { N.x: { return 1; } default: { return 2; } } return 3; }";
    let locals =
        "action a(inout bit<8> v) { switch (v) { 1: { v = 11; } 2: {} default: { v = 0; } } }";
    let apply = "a(h.h.a); a(h.h.b); h.h.c = of(N.y); h.h.d = named(h.h.d);";
    assert_eq!(fields(declarations, locals, apply), [11, 2, 2, 24]);
}
