//! Tests of the limits on nesting and on the size of types. A program beyond a limit is refused,
//! with the limit and the location, in every form in which it may arrive: as P4 text, as IR in
//! JSON, or as a device configuration that contains either. A program with one level less is
//! accepted.

use ir::{CompileLimits, Limit, Program, ReadError};
use p4lang::device_config::{from_device_config, from_device_config_within};
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};

const V1MODEL: &str = "#include <core.p4>
#include <v1model.p4>
struct H {} struct M { bit<8> x; }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply {} } control D(packet_out b, in H h) { apply {} }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
";

/// Returns a v1model program with `body` as the body of the ingress control.
fn program(declarations: &str, body: &str) -> String {
    format!(
        "{V1MODEL}{declarations}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ {body} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;\n"
    )
}

/// Compiles a program. Returns the diagnostics if it is refused.
fn compiled(text: &str, limits: CompileLimits) -> Result<Program, String> {
    let options = Options { limits, ..Options::default() };
    let compile = || p4lang::compile_text("push.p4", text, &options, &MemoryFiles::default());
    let compiled = ir::with_large_stack(compile).expect("a thread");
    let messages = compiled.messages(Style::Plain);
    compiled.program.ok_or(messages)
}

fn joined(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect()
}

/// Returns a program of actions, each of which calls the previous one. Calls nest `count` deep.
fn actions(count: usize) -> String {
    let calls = joined(count - 1, |at| format!("action a{}() {{ a{at}(); }}\n", at + 1));
    program(&format!("action a0() {{}}\n{calls}"), &format!("apply {{ a{}(); }}", count - 1))
}

/// Returns a program with the same chain of functions.
fn functions(count: usize) -> String {
    let calls = joined(count - 1, |at| {
        format!("bit<8> f{}(in bit<8> x) {{ return f{at}(x + 1); }}\n", at + 1)
    });
    let declarations = format!("bit<8> f0(in bit<8> x) {{ return x; }}\n{calls}");
    program(&declarations, &format!("apply {{ m.x = f{}(m.x); }}", count - 1))
}

/// Returns a program with the same chain of controls.
fn controls(count: usize) -> String {
    let calls = joined(count - 1, |at| {
        format!("control C{}(inout M m) {{ C{at}() c; apply {{ c.apply(m); }} }}\n", at + 1)
    });
    let declarations = format!("control C0(inout M m) {{ apply {{ m.x = 1; }} }}\n{calls}");
    program(&declarations, &format!("C{}() c; apply {{ c.apply(m); }}", count - 1))
}

/// Returns a program with the same chain of parsers.
fn parsers(count: usize) -> String {
    let calls = joined(count - 1, |at| {
        let next = at + 1;
        format!(
            "parser Q{next}(packet_in b) {{ Q{at}() q; state start {{ q.apply(b); transition accept; }} }}\n"
        )
    });
    let last = count - 1;
    format!(
        "{V1MODEL}parser Q0(packet_in b) {{ state start {{ b.advance(8); transition accept; }} }}
{calls}parser R(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{
    Q{last}() q; state start {{ q.apply(b); transition accept; }} }}
V1Switch(R(), V(), E(), E(), V(), D()) main;\n"
    )
}

#[test]
fn calls_nest_as_deep_as_allowed_in_every_form() {
    type Chain = fn(usize) -> String;
    let chains: [(&str, Chain); 4] = [
        ("actions", actions),
        ("functions", functions),
        ("controls", controls),
        ("parsers", parsers),
    ];
    let wide = CompileLimits::default().with_call_depth(1000).expect("it is possible");
    for (name, chain) in chains {
        let limits = CompileLimits::default();
        let deepest = compiled(&chain(256), limits).unwrap_or_else(|text| panic!("{name}: {text}"));
        let text = deepest.to_json().expect("a thread");
        assert_eq!(Program::from_json(&text).expect("it is allowed"), deepest, "{name}");

        for count in [257, 1000] {
            let refusal = compiled(&chain(count), limits).expect_err("it is too deep");
            assert!(refusal.contains("error[limit]: calls nest 257 deep"), "{name}: {refusal}");
            assert!(refusal.contains("(--push-call-depth of a switch)"), "{name}: {refusal}");
            assert!(refusal.contains("push.p4:"), "{name}: {refusal}");
            let pushed = from_device_config(chain(count).as_bytes()).expect_err("it is too deep");
            assert_eq!(pushed.code(), entities::Code::ResourceExhausted, "{name}: {pushed}");
        }

        // The file was written with wider limits.
        let deeper = compiled(&chain(1000), wide).unwrap_or_else(|text| panic!("{name}: {text}"));
        let text = deeper.to_json().expect("a thread");
        let Err(ReadError::Exceeded(violation)) = Program::from_json(&text) else {
            panic!("{name}: it is too deep");
        };
        assert_eq!(violation.limit, Some(Limit::CallDepth), "{name}");
        let pushed = from_device_config(text.as_bytes()).expect_err("it is too deep");
        assert_eq!(pushed.code(), entities::Code::ResourceExhausted, "{name}: {pushed}");
        assert!(pushed.message().contains("calls nest 257 deep"), "{name}: {pushed}");
        from_device_config_within(text.as_bytes(), &wide).expect("these limits allow it");
    }
}

#[test]
fn calls_and_blocks_nest_as_deep_together_as_allowed_and_no_deeper() {
    // The calls with the blocks around each, the block of the innermost function, and the block of
    // the control with its call.
    let chain = |calls: usize, blocks: usize| {
        let conditions = "if (x != 0) { ".repeat(blocks - 1);
        let ends = "} ".repeat(blocks - 1);
        let outer = joined(calls - 1, |at| {
            format!(
                "bit<8> f{}(in bit<8> x) {{ bit<8> y = 0; {conditions} y = f{at}(x); {ends} return y; }}\n",
                at + 1
            )
        });
        let functions = format!("bit<8> f0(in bit<8> x) {{ return x; }}\n{outer}");
        program(&functions, &format!("apply {{ m.x = f{}(m.x); }}", calls - 1))
    };
    let limits = CompileLimits::default().with_nesting(100).expect("it is possible");
    let deepest = compiled(&chain(10, 9), limits).expect("93 levels");
    let text = deepest.to_json().expect("a thread");
    assert_eq!(Program::from_json_within(&text, &limits).expect("it is allowed"), deepest);

    let deeper = chain(10, 10);
    let refusal = compiled(&deeper, limits).expect_err("it is too deep");
    assert!(refusal.contains("error[limit]: calls and blocks nest 102 deep together"), "{refusal}");
    assert!(refusal.contains("(--push-nesting of a switch)"), "{refusal}");
    let text = compiled(&deeper, CompileLimits::default()).expect("it is allowed");
    let text = text.to_json().expect("a thread");
    let pushed = [deeper.as_bytes(), text.as_bytes()]
        .map(|config| from_device_config_within(config, &limits).expect_err("it is too deep"));
    for error in pushed {
        assert_eq!(error.code(), entities::Code::ResourceExhausted, "{error}");
    }
}

#[test]
fn shared_callees_are_compiled_once() {
    // Each action calls the previous one twice, which makes 2^60 calls.
    let calls = joined(60, |at| format!("action a{}() {{ a{at}(); a{at}(); }}\n", at + 1));
    let text = program(&format!("action a0() {{}}\n{calls}"), "apply { a60(); }");
    compiled(&text, CompileLimits::default()).expect("it has 61 actions");
}

/// Returns a program of structs, each of which contains the previous one, nested `levels` deep.
fn structs(levels: usize) -> String {
    let outer = joined(levels - 2, |at| format!("struct S{} {{ S{at} s; }}\n", at + 1));
    let declarations = format!("struct S0 {{ bit<8> x; }}\n{outer}");
    program(&declarations, &format!("apply {{ S{} v; v = v; }}", levels - 2))
}

#[test]
fn types_nest_as_deep_as_allowed_in_every_form() {
    let limits = CompileLimits::default();
    let deepest = compiled(&structs(64), limits).unwrap_or_else(|text| panic!("{text}"));
    let text = deepest.to_json().expect("a thread");
    Program::from_json(&text).expect("it is allowed");
    for levels in [65, 10_000] {
        let refusal = compiled(&structs(levels), limits).expect_err("it is too deep");
        assert!(
            refusal.contains(
                "error[limit]: a type has 65 levels, and at most 64 are allowed (--push-type-depth of a switch)"
            ),
            "{refusal}"
        );
    }
    let wide = limits.with_type_depth(512).expect("it is possible");
    let deeper = compiled(&structs(512), wide).unwrap_or_else(|text| panic!("{text}"));
    let text = deeper.to_json().expect("a thread");
    let pushed = from_device_config(text.as_bytes()).expect_err("it is too deep");
    assert_eq!(pushed.code(), entities::Code::ResourceExhausted, "{pushed}");
    assert!(pushed.message().contains(": type `S63`"), "{pushed}");
}

/// Returns a program of generic structs, each of which contains the previous one as `field`
/// describes.
fn generic(count: usize, field: impl Fn(usize) -> String) -> String {
    let outer = joined(count, |at| format!("struct G{}<T> {{ {} }}\n", at + 1, field(at)));
    let declarations = format!("struct G0<T> {{ T a; }}\n{outer}");
    program(&declarations, &format!("apply {{ G{count}<bit<8>> v; v = v; }}"))
}

#[test]
fn generic_structs_are_measured_without_expansion() {
    // In these programs, the depth of types, the number of parts, or the size of type arguments
    // that no field uses doubles with each declaration.
    let doubled = generic(30, |at| format!("G{at}<G{at}<T>> a;"));
    assert!(doubled.len() < 1800, "{}", doubled.len());
    for text in [
        doubled,
        generic(40, |at| format!("G{at}<T> a; G{at}<T> b;")),
        generic(40, |at| format!("G{at}<tuple<T, T>> a;")),
        generic(70, |at| format!("G{at}<T> a;")),
        program(
            "struct G<T> { T a; }",
            &format!("apply {{ {}bit<8>{} v; v = v; }}", "G<".repeat(100), ">".repeat(100)),
        ),
        program(
            "struct Z<T> { bit<8> a; }",
            &format!("apply {{ {}bit<8>{} v; v = v; }}", "Z<".repeat(100), ">".repeat(100)),
        ),
    ] {
        let refusal = compiled(&text, CompileLimits::default()).expect_err("it is too large");
        assert!(refusal.contains("error[limit]: a type has "), "{refusal}");
        assert!(refusal.contains("push.p4:"), "{refusal}");
    }
    let fits = generic(29, |at| format!("G{at}<T> a;"));
    compiled(&fits, CompileLimits::default()).unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn types_that_only_an_instance_has_are_refused_with_the_place() {
    // `f3<bit<8>>` calls `f2<G<bit<8>>>` and so on, so the type in the innermost call has a level
    // for each function.
    let functions = joined(70, |at| {
        let next = at + 1;
        format!("bit<8> f{next}<T>(in T x) {{ G<T> y = {{ x }}; return f{at}<G<T>>(y); }}\n")
    });
    let text = program(
        &format!("struct G<T> {{ T a; }}\nbit<8> f0<T>(in T x) {{ return 1; }}\n{functions}"),
        "apply { m.x = f70<bit<8>>(m.x); }",
    );
    let refusal = compiled(&text, CompileLimits::default()).expect_err("it is too deep");
    assert!(refusal.contains("error[limit]: a type has 65 levels"), "{refusal}");
    assert!(refusal.contains("push.p4:"), "{refusal}");
}

#[test]
fn nested_widths_are_parsed_in_linear_time() {
    for text in ["bit<".repeat(10_000), "a = (bit<".repeat(300), "tuple<bit<".repeat(5_000)] {
        let text = program("", &format!("apply {{ {text} }}"));
        compiled(&text, CompileLimits::default()).expect_err("it is not a program");
    }
}
