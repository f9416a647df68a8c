//! Tests that printed programs parse to equal trees, and that parentheses are minimal.

use fastrand::Rng;

use super::*;
use crate::ast::{Expression, ExpressionKind, StatementKind};
use crate::diagnostic::Style;
use crate::preprocess::{MemoryFiles, Options};
use crate::{Parsed, arch, parse_text};

fn parse(text: &str) -> Parsed {
    let parsed = parse_text("test.p4", text, &Options::default(), &MemoryFiles::new());
    assert_eq!(parsed.diagnostics.render(&parsed.sources, Style::Plain), "", "in {text}");
    parsed
}

/// Formats the tree without spans and ids: from the `Debug` output, `Name { field: value, .. }`, it
/// leaves out the values of the fields `span`, `id`, `space_before` and `default_rest`.
fn shape(program: &Program) -> String {
    let text = format!("{:?}", program.declarations);
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(character) = rest.chars().next() {
        let field = ["span: ", "id: ", "space_before: ", "default_rest: Some("]
            .into_iter()
            .find(|field| rest.starts_with(field));
        let Some(field) = field else {
            out.push(character);
            rest = &rest[character.len_utf8()..];
            continue;
        };
        out.push_str(field);
        rest = &rest[field.len()..];
        let mut depth = 0usize;
        let end = rest
            .find(|character| match character {
                '{' | '(' | '[' => {
                    depth += 1;
                    false
                }
                '}' | ')' | ']' if depth > 0 => {
                    depth -= 1;
                    false
                }
                '}' | ')' | ']' | ',' => depth == 0,
                _ => false,
            })
            .unwrap_or(rest.len());
        rest = &rest[end..];
    }
    out
}

#[track_caller]
fn round_trip(text: &str) -> String {
    let first = parse(text);
    let printed = print_program(&first.program);
    let second = parse(&printed);
    let (before, after) = (shape(&first.program), shape(&second.program));
    if before != after {
        let at = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
        let window = |text: &str| {
            text.get(at.saturating_sub(200)..(at + 200).min(text.len())).map(str::to_owned)
        };
        panic!(
            "{text}\nis printed as\n{printed}\nbefore {:?}\nafter  {:?}",
            window(&before),
            window(&after)
        );
    }
    printed
}

#[test]
fn the_shape_has_no_places_and_all_names() {
    let shape = shape(&parse("const bit<8> name = (3 + 4) * 5;").program);
    assert!(!shape.contains("start:") && !shape.contains("ExpressionId("), "{shape}");
    assert!(shape.contains("\"name\"") && shape.contains("operator: Multiply"), "{shape}");
}

#[test]
fn built_in_files_print_and_parse_back() {
    for name in arch::names() {
        round_trip(&format!("#include <{name}>"));
        round_trip(&format!("#define V1MODEL_VERSION 20200408\n#include <{name}>"));
    }
}

#[test]
fn programs_print_and_parse_back() {
    for text in crate::parser::tests::PROGRAMS {
        round_trip(text);
    }
    for statement in crate::parser::tests::STATEMENTS {
        round_trip(&crate::parser::tests::around_statement(statement));
    }
    for properties in crate::parser::tests::TABLES {
        round_trip(&crate::parser::tests::around_table(properties));
    }
    for expression in crate::parser::tests::EXPRESSIONS {
        round_trip(&crate::parser::tests::around_statement(&format!("x = {expression};")));
    }
}

#[test]
fn a_dangling_else_keeps_its_if() {
    let text = "control c() { apply { if (a) { if (b) x(); } else y(); } }";
    round_trip(text);
    // Without the braces, the text parses to another tree. Print a tree that needs them.
    let mut parsed = parse(text);
    let crate::ast::DeclarationKind::Control(control) = &mut parsed.program.declarations[0].kind
    else {
        panic!("a control");
    };
    let StatementKind::If { then, .. } = &mut control.apply.statements[0].kind else {
        panic!("an if")
    };
    let StatementKind::Block(block) = &mut then.kind else { panic!("a block") };
    let inner = block.statements.remove(0);
    **then = inner;
    assert!(
        print_program(&parsed.program).contains("if (a) {"),
        "{}",
        print_program(&parsed.program)
    );
}

/// Returns a random expression with parentheses around every operand.
fn random_expression(random: &mut Rng, depth: u32) -> String {
    const BINARY: [&str; 21] = [
        "*", "/", "%", "+", "-", "|+|", "|-|", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&",
        "^", "|", "++", "&&", "||",
    ];
    if depth == 0 {
        return ["a", "b", "3", "8w0xFF", "true", "{1, 2}"][random.usize(..6)].to_owned();
    }
    let mut inner = || random_expression(random, depth - 1);
    let (first, second, third) = (inner(), inner(), inner());
    match random.usize(..9) {
        0..=3 => format!("(({first}) {} ({second}))", BINARY[random.usize(..21)]),
        4 => format!("(({first}) ? ({second}) : ({third}))"),
        5 => format!("({}({first}))", ["!", "~", "-", "+"][random.usize(..4)]),
        6 => format!("((bit<8>)({first}))"),
        7 => format!("(({first}).f[({second}):({third})])"),
        _ => format!("(f<bit<8>>(({first}), x = ({second})))"),
    }
}

#[test]
fn random_expressions_print_and_parse_back() {
    let seed = 0x5eed_1234_u64;
    println!("seed {seed:#x}");
    let mut random = Rng::with_seed(seed);
    for _ in 0..300 {
        let expression = random_expression(&mut random, 4);
        let printed = round_trip(&format!("const bit<8> x = {expression};"));
        assert!(
            printed.len() < expression.len() + 40,
            "as many parentheses as before in {printed}"
        );
    }
}

/// Parses an expression as the value of a constant.
fn constant(text: &str) -> Parsed {
    parse(&format!("const int x = {text};"))
}

fn value(parsed: &Parsed) -> &Expression {
    match &parsed.program.declarations[0].kind {
        crate::ast::DeclarationKind::Constant { value, .. } => value,
        other => panic!("{}", other.noun()),
    }
}

#[test]
fn parentheses_are_printed_only_where_required() {
    for (written, printed) in [
        ("((a + b)) + c", "a + b + c"),
        ("a + (b + c)", "a + (b + c)"),
        ("(a * b) + c", "a * b + c"),
        ("(a & b) == c", "a & b == c"),
        ("a & (b == c)", "a & (b == c)"),
        ("(a == b) == c", "a == b == c"),
        ("-(-a)", "- -a"),
        ("-(a.b)", "-a.b"),
        ("(-a).b", "(-a).b"),
        ("(bit<8>)(a + b)", "(bit<8>)(a + b)"),
        ("(bit<(3+4)>)a", "(bit<(3 + 4)>)a"),
        ("(a ? b : c) ? d : (e ? f : g)", "(a ? b : c) ? d : e ? f : g"),
        ("\"a\\\"b\\\\\"", "\"a\\\"b\\\\\""),
        ("0b11 + 0o17 + 0x0F + 8s3", "0b11 + 0o17 + 0xf + 8s3"),
        ("{ a = 1, ... }", "{a = 1, ...}"),
        ("x >> 1 > 2", "x >> 1 > 2"),
    ] {
        let parsed = constant(written);
        assert_eq!(value(&parsed).to_string(), printed);
    }
    let call = constant("f(1)");
    assert!(matches!(value(&call).kind, ExpressionKind::Call { .. }));
}

#[test]
fn a_program_as_it_is_printed() {
    insta::assert_snapshot!(round_trip(
        "error { A, B } @name(\"x\") header H<T> { @a(1, (2)) bit<8> f; T t; }\
         extern E<T> { E(bit<8> n); @pure T get<U>(in U u, out T t = 3); abstract void m(); }\
         parser p(packet_in b, out H<bit<8>> h)(bit<8> n) { value_set<tuple<bit<8>, bool>>(4) vs; state start \
         { b.extract(h); transition select(h.f, b.lookahead<bit<8>>()) { (1 &&& 2, _): accept; vs: reject; } } }\
         control c(inout H<bit<8>> h) { action a(bit<8> x) { h.f = x; } @hidden table t { key = { h.f: exact \
         @name(\"f\"); } actions = { a; @defaultonly NoAction; } const entries = { const priority = 3: 5: a(1); } \
         default_action = NoAction(); } apply { if (t.apply().hit) return; else if (h.f == 3) { exit; } else h.f += 1; \
         switch (t.apply().action_run) { a: NoAction: { for (bit<8> i in 1 .. 3) { break; } } default: { } } \
         for (bit<8> i = 0, h.f = 1; i < 3; i += 1) ; @atomic { c.apply(h); } } }\
         E<bit<8>>(3) e = { void m() { } }; enum bit<8> N { X = 1, Y = 2 }"
    ));
}
