//! Tests of rules about statements: where they may occur, `switch`, `return`, assertions and
//! annotations.

use super::super::{accepts, control, parser, program, refuses, statements, warns};

#[test]
fn statements_occur_only_where_permitted() {
    refuses(&parser("", "state start { return; transition accept; }"), "syntax");
    refuses(&program("void f() { exit; }"), "misplaced");
    refuses(&statements("break;"), "misplaced");
    refuses(&statements("continue;"), "misplaced");
    refuses(&statements("return 1;"), "return");
    refuses(&program("void f() { return 1; }"), "return");
    refuses(&program("bit<8> f() { return; }"), "return");
    refuses(&program("bit<8> f() { return true; }"), "type-mismatch");
    refuses(&program("bit<8> f(in bool b) { if (b) { return 1; } }"), "missing-return");
    refuses(&program("bit<8> f(in bool b) { }"), "missing-return");
    refuses(&statements("if (v) { }"), "type-mismatch");
    refuses(&statements("verify(q, error.NoMatch);"), "misplaced");
    refuses(&statements("register<bit<8>>(3) r;"), "misplaced");
    refuses(&control("action a() { register<bit<8>>(3) r; }", ""), "misplaced");
    refuses(&statements("v = this.v;"), "misplaced");
}

#[test]
fn switches_have_labels_that_fit() {
    refuses(&statements("switch (m.s) { default: {} }"), "type-mismatch");
    refuses(&statements("switch (v) { default: {} default: {} }"), "duplicate");
    refuses(&statements("switch (v) { 16w1: {} }"), "type-mismatch");
    refuses(&statements("switch (v) { v: {} }"), "not-constant");
    refuses(&statements("switch (m.su) { E8.A: {} }"), "type-mismatch");
    warns(&statements("switch (v) { 1: }"), "empty");
    let table = "action a() {} action b() {} table t { actions = { a; } default_action = a; }";
    refuses(&control(table, "switch (t.apply().action_run) { b: {} }"), "undeclared-name");
    refuses(&control(table, "switch (t.apply().action_run) { a: {} a: {} }"), "duplicate");
    refuses(&control(table, "if (t.apply().action_run == a) {}"), "misplaced");
    refuses(&control(table, "bool h = t.apply().hits;"), "no-such-field");
    refuses(&control(table, "t.apply(1);"), "arguments");
    refuses(&control(table, "if (t.apply()) {}"), "type-mismatch");
}

#[test]
fn static_assertions_hold() {
    accepts(&program("const bool c = static_assert(1 + 1 == 2, \"sum\");"));
    refuses(&program("const bool c = static_assert(1 + 1 == 3, \"sum\");"), "static-assert");
}

#[test]
fn compound_assignments_have_the_rules_of_their_operators() {
    accepts(&statements("v <<= 1; v >>= w; v /= 2; v %= 4;"));
    refuses(&statements("v <<= n;"), "bad-operand");
    refuses(&statements("v >>= -1;"), "bad-operand");
    refuses(&statements("v <<= q;"), "bad-operand");
    refuses(&statements("v /= 0;"), "division-by-zero");
    refuses(&statements("v %= 8w0;"), "division-by-zero");
    refuses(&statements("n /= 2;"), "bad-operand");
    warns(&statements("v <<= 8;"), "overflow");
}

#[test]
fn branches_are_statements() {
    refuses(&statements("if (q) bit<8> x;"), "syntax");
    refuses(&statements("if (q) v = 1; else const bit<8> c = 1;"), "syntax");
    accepts(&statements("if (q) { bit<8> x; } else if (v == 1) ; else hdr.h.setInvalid();"));
}

#[test]
fn annotations_hold_constants() {
    refuses(&program("@a[1, { 2 }] const bit<8> c = 1;"), "annotation");
    refuses(&program("@a[k = 8w1] const bit<8> c = 1;"), "annotation");
    refuses(&program("@a[k = 1, k = 2] const bit<8> c = 1;"), "duplicate");
    refuses(&program("@a[1] @a[2] const bit<8> c = 1;"), "duplicate");
    refuses(&program("@a[1] @a(2) const bit<8> c = 1;"), "duplicate");
    refuses(&program("@a(1) @a[2] const bit<8> c = 1;"), "duplicate");
    accepts(&program("@a(1) @a(2) const bit<8> c = 1;"));
    refuses(&program("@name(1) const bit<8> c = 1;"), "annotation");
    warns(&statements("mark_to_drop();"), "deprecated");
}

#[test]
fn annotations_without_arguments_have_none() {
    accepts(&control("@hidden() @atomic action a() {}", "a();"));
    for name in ["hidden", "atomic", "pure", "noSideEffects", "tableonly", "unroll"] {
        refuses(&program(&format!("@{name}(1) struct X {{ bit<8> a; }}")), "annotation");
    }
    accepts(&program("@pkginfo(name=\"x\", version=\"1\") struct X { @length(8) bit<8> a; }"));
    refuses(&program("@pkginfo(1) struct X { bit<8> a; }"), "annotation");
    for text in [
        "@brief(1)",
        "@description",
        "@alias(x)",
        "@id(\"1\")",
        "@id(-1)",
        "@priority()",
        "@priority(1, 2)",
        "@priority(0x80000000)",
        "@priority[1, 2]",
        "@priority[k = 1]",
        "@priority(\"1\")",
        "@id(0x100000000)",
        "@max_group_size(-1)",
        "@max_member_weight(1 << 31)",
        "@field_list()",
        "@field_list(true)",
        "@field_list(-1)",
        "@field_list(Suits.Hearts)",
        "@field_list(1, Suits.Hearts)",
        "@field_list(E8)",
        "@field_list({ 1 })",
        "@field_list[Suits.Hearts]",
    ] {
        refuses(&program(&format!("{text} struct X {{ bit<8> a; }}")), "annotation");
    }
    for text in [
        "@brief(\"a\" ++ \"b\")",
        "@id(0x10)",
        "@id(8 * 2)",
        "@priority(-1)",
        "@priority(1 - 2)",
        "@priority[7]",
        "@max_group_size((bit<8>) 3)",
        "@field_list(F8.A, 8w2)",
        "@field_list[F8.A, 2]",
    ] {
        accepts(&program(&format!("{text} struct X {{ bit<8> a; }}")));
    }
    refuses(&program("@name(\"a\") @name(\"b\") struct X { bit<8> a; }"), "duplicate");
    refuses(&program("struct X { @length(1, 2) bit<8> a; }"), "annotation");
    refuses(&program("struct X { @length bit<8> a; }"), "annotation");
}

#[test]
fn numbers_in_annotations_are_declared_and_known() {
    for (value, kind) in [
        ("LATER", "undeclared-name"),
        ("UNKNOWN", "undeclared-name"),
        ("F8.UNKNOWN", "no-such-field"),
        ("1 2", "syntax"),
        ("1,", "syntax"),
        (",", "syntax"),
        ("(1", "syntax"),
        ("1, 2 + ", "syntax"),
    ] {
        let text = format!("struct X {{ @field_list({value}) bit<8> a; }} const bit<8> LATER = 1;");
        refuses(&program(&text), kind);
    }
    for annotation in ["@field_list(depth)", "@a[depth]", "@id[depth]"] {
        let text = format!(
            "control Deep()(int depth) {{ {annotation} bit<8> x = 1; apply {{ x = 2; }} }}"
        );
        refuses(&program(&text), "annotation");
    }
    refuses(&program("@pragma id 1 2\nstruct X { bit<8> a; }"), "syntax");
    accepts(&program("@pragma id 3 + 4\nstruct X { bit<8> a; }"));
}

#[test]
fn actions_switch_on_values_and_not_on_tables() {
    accepts(&control("action a() { switch (m.m) { 1: { m.w = 2; } } }", "a();"));
    let table = "table t { actions = { NoAction; } }";
    let switch = "action a() { switch (t.apply().action_run) { NoAction: { m.w = 2; } } }";
    refuses(&control(&format!("{table} {switch}"), "a();"), "misplaced");
    accepts(&statements("switch (v) { 1: { v = 2; } }"));
    accepts(&program("bit<8> f(in bit<8> x) { switch (x) { 1: { return 2; } } return 3; }"));
}

#[test]
fn cases_differ_and_default_is_the_last() {
    refuses(&statements("switch (v) { 1: { w = 1; } 1: { w = 2; } }"), "duplicate");
    warns(&statements("switch (v) { 1: { w = 1; } E8.A: { w = 2; } }"), "duplicate");
    refuses(&statements("switch (m.e) { E8.A: { w = 1; } E8.A: { w = 2; } }"), "duplicate");
    refuses(&statements("switch (v) { default: { w = 1; } 1: { w = 2; } }"), "misplaced");
}
