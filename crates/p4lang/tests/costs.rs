//! Tests that small programs which expand exponentially are refused with the reason, or compile in
//! time and memory proportional to their text.

use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};

const V1MODEL: &str = "#include <core.p4>\n#include <v1model.p4>\nstruct H {} struct M {}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply {} } control D(packet_out b, in H h) { apply {} }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }\n";

/// Returns a v1model program with `apply` as the body of the ingress control.
fn program(declarations: &str, apply: &str) -> String {
    format!(
        "{V1MODEL}{declarations}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ {apply} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;\n"
    )
}

/// Compiles a program that must be refused, and returns its diagnostics. If the program were
/// expanded, the test would not terminate.
fn refused(text: &str) -> String {
    assert!(text.len() < 20_000, "{} bytes", text.len());
    let text = text.to_owned();
    let outcome = ir::with_large_stack(move || {
        let compiled =
            p4lang::compile_text("costs.p4", &text, &Options::default(), &MemoryFiles::default());
        (compiled.program.is_some(), compiled.messages(Style::Plain))
    });
    let (compiled, messages) = outcome.expect("a stack");
    assert!(!compiled, "{messages}");
    messages
}

#[track_caller]
fn is_refused(text: &str, reason: &str) {
    let messages = refused(text);
    assert!(messages.contains(reason), "{messages}");
}

#[test]
fn numbers_that_are_too_large_are_refused() {
    let a = "const int a = 1 << 65535;";
    for value in ["(a * a * a) % 3", "(a << 65537) % 3", "1 << 200000 >> 199999"] {
        let text = program(a, &format!("apply {{ s.egress_spec = (bit<9>)({value}); }}"));
        is_refused(&text, "this number has more than 131072 bits");
    }
    let text = program(a, "apply { s.egress_spec = (bit<9>)((a * 2) % 3); }");
    let compiled =
        p4lang::compile_text("costs.p4", &text, &Options::default(), &MemoryFiles::default());
    assert!(compiled.program.is_some(), "{}", compiled.messages(Style::Plain));
}

/// Returns `first`, followed by `count` declarations, each of which refers twice to the previous
/// one.
fn doubling(first: &str, count: usize, next: impl Fn(usize) -> String) -> String {
    let mut text = first.to_owned();
    for index in 1..=count {
        text.push('\n');
        text.push_str(&next(index));
    }
    text
}

#[test]
fn products_of_products_are_refused() {
    let squares = doubling("const int a0 = 3;", 35, |index| {
        format!("const int a{index} = a{0} * a{0};", index - 1)
    });
    let text = program(&squares, "apply { s.egress_spec = (bit<9>)(a35 % 3); }");
    is_refused(&text, "this number has more than 131072 bits");
}

#[test]
fn instances_that_double_are_refused() {
    let controls = doubling("control C0() { apply { bit<8> x = 1; } }", 25, |index| {
        format!(
            "control C{index}() {{ C{0}() a; C{0}() b; apply {{ a.apply(); b.apply(); }} }}",
            index - 1
        )
    });
    let text = program(&controls, "C25() c; apply { c.apply(); }");
    is_refused(&text, "when each instance and each use of a generic function is counted");
    let direct = doubling("control C0() { apply { bit<8> x = 1; } }", 25, |index| {
        format!(
            "control C{index}() {{ apply {{ C{0}.apply(); if (true) {{ C{0}.apply(); }} }} }}",
            index - 1
        )
    });
    let _ = refused_or_small(&program(&direct, "apply { C25.apply(); }"));
    let parsers = doubling("parser Q0() { state start { transition accept; } }", 25, |index| {
        format!(
            "parser Q{index}() {{ Q{0}() a; Q{0}() b; state start {{ a.apply(); b.apply(); transition accept; }} }}",
            index - 1
        )
    });
    let text = format!(
        "{}{parsers}
parser R(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{
    Q25() q; state start {{ q.apply(); transition accept; }} }}
V1Switch(R(), V(), E(), E(), V(), D()) main;\n",
        V1MODEL
    );
    is_refused(&text, "when each instance and each use of a generic function is counted");
}

/// Compiles a program that may be accepted or refused, but must terminate.
fn refused_or_small(text: &str) -> String {
    let text = text.to_owned();
    let messages = ir::with_large_stack(move || {
        p4lang::compile_text("costs.p4", &text, &Options::default(), &MemoryFiles::default())
            .messages(Style::Plain)
    });
    messages.expect("a stack")
}

#[test]
fn constants_that_double_are_refused() {
    let structs = doubling("struct S0 { bit<8> v; }\nconst S0 c0 = { 1 };", 30, |index| {
        format!(
            "struct S{index} {{ S{0} a; S{0} b; }} const S{index} c{index} = {{ c{0}, c{0} }};",
            index - 1
        )
    });
    let messages =
        refused(&program(&structs, "apply { bit<8> x = c30.a.b.a.b == c29.b.a.b ? 8w1 : 2; }"));
    assert!(!messages.is_empty());
    let tuples =
        doubling("typedef tuple<bit<8>, bit<8>> T0; const T0 t0 = { 1, 2 };", 30, |index| {
            format!(
                "typedef tuple<T{0}, T{0}> T{index}; const T{index} t{index} = {{ t{0}, t{0} }};",
                index - 1
            )
        });
    let messages = refused(&program(&tuples, "apply {}"));
    assert!(!messages.is_empty());
}

#[test]
fn strings_that_double_are_refused() {
    let strings = doubling("const string s0 = \"0123456789abcdef\";", 35, |index| {
        format!("const string s{index} = s{0} ++ s{0};", index - 1)
    });
    let text = program(&strings, "apply { log_msg(s35); }");
    is_refused(&text, "too many and too large to be computed");
}

#[test]
fn generic_functions_over_doubled_tuples_are_refused() {
    let functions = doubling("bit<8> f0<T>(in T x) { return 1; }", 24, |index| {
        format!("bit<8> f{index}<T>(in T x) {{ return f{}({{ x, x }}); }}", index - 1)
    });
    let text = program(&functions, "apply { bit<8> y = f24(8w1); s.egress_spec = (bit<9>)y; }");
    is_refused(&text, "types that have more parts than can be handled");
}

#[test]
fn generic_functions_for_ever_more_types_are_refused() {
    let many = doubling("bit<8> f0<T>(in T x) { return 1; }", 24, |index| {
        format!(
            "bit<8> f{index}<T>(in T x) {{ return f{0}({{ x, true }}) + f{0}({{ x, 8w1 }}); }}",
            index - 1
        )
    });
    let text = program(&many, "apply { bit<8> y = f24(8w1); s.egress_spec = (bit<9>)y; }");
    is_refused(&text, "when each instance and each use of a generic function is counted");
}
