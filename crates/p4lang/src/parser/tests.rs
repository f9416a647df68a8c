//! Tests of the parser: programs that it accepts, the trees that it builds, and the errors that it
//! reports.

use crate::ast::{
    Annotation, AnnotationBody, DeclarationKind, Expression, ExpressionKind, StatementKind,
};
use crate::diagnostic::Style;
use crate::parse_text;
use crate::preprocess::{MemoryFiles, Options};

/// Parses a program and returns its diagnostics.
fn messages(text: &str) -> String {
    let parsed = parse_text("test.p4", text, &Options::default(), &MemoryFiles::new());
    parsed.diagnostics.render(&parsed.sources, Style::Plain)
}

#[track_caller]
fn accepts(text: &str) {
    assert_eq!(messages(text), "", "in {text}");
}

/// Embeds statements in the `apply` block of a program with some declarations.
pub(crate) fn around_statement(text: &str) -> String {
    format!(
        "struct S {{ bit<8> f; }} typedef bit<8> T; extern E<X> {{ E(); void m<Y>(in Y y); }} control C(inout S s);\n\
         control c(inout S s, in bit<8> a, in bit<8> b) {{ table t {{ actions = {{}} }} apply {{\n{text}\n}} }}"
    )
}

pub(crate) const PROGRAMS: &[&str] = &[
    "",
    ";;",
    "const bit<8> a = 8w3;",
    "const int a = -3 + 4 * (2 - 1);",
    "error { A, B }",
    "match_kind { exact, range, }",
    "enum E { A, B, }",
    "enum bit<8> E { A = 1, B = 2 }",
    "typedef bit<8> T; type T U; const U u = (U)(T)3;",
    "typedef struct S { bit<8> f; } T; const T t = { 3 };",
    "header H { bit<8> a; varbit<32> b; @name(\"x\") bit<(1 + 2)> c; }",
    "header H {} header_union U { H a; H b; } struct S { H[4] stack; U u; tuple<bit<8>, bool> t; }",
    "struct S<T> { T t; } struct P { S<bit<8>> s; S<S<bit<8>>>[3] n; }",
    "extern E { E(); E(bit<8> a, int b = 3); void m(); abstract bit<8> f<T>(in T t); }",
    "extern E<T> { E(T t); T get(); } extern void f<T, U>(in T t, out U u); extern E;",
    "extern T f<T>(in T t); T g<T>(in T t) { return t; }",
    "action a(inout bit<8> x, bit<8> y) { x = y; }",
    "parser P<H>(in H h, out bit<8> o = 3); control C<H>(inout H h); package Q<H>(P<H> p, C<H> c);",
    "control c(inout bit<8> x)(bit<8> y) { bit<8> z = y; apply { x = z; } }",
    "parser p(in bit<8> x) { const int k = 3; bit<8> v; value_set<bit<8>>(4) vs; state start { v = x; transition \
         select(x, v) { (1, 2): a; (_, default): accept; (3 &&& 1, 2 .. 3): reject; (vs, _): a; } } \
         state a { transition select(x) { 1: accept; 2 &&& 3: accept; 1..4: a; (bit<8>)3: a; (5): a; (1 &&& 2): a; \
         default: reject; } } state b { } state d { transition accept; } }",
    "bit<8> f(in bit<8> x) { if (x == 3) return 1; else { return 2; } }",
    "extern E { E(bit<8> a); abstract bit<8> m(in bit<8> b); } E(3) e = { bit<8> m(in bit<8> b) { return b; } \
         E(4) inner; };",
    "control c() { apply {} } package P(c x); P(c()) main;",
    "list<bit<8>> f(in list<bit<8>> list) { return list; }",
    "struct key { bit<8> apply; bit<8> state; bit<8> type; bit<8> priority; bit<8> entries; bit<8> actions; }",
    "struct S { list<tuple<bit<8>, S2<int<4>, bool>>> l; }",
];

#[test]
fn every_declaration_is_parsed() {
    for text in PROGRAMS {
        accepts(text);
    }
}

pub(crate) fn around_table(properties: &str) -> String {
    format!(
        "control c(inout bit<8> k) {{ action a(bit<8> x) {{}} table t {{ {} }} apply {{}} }}",
        properties
    )
}

pub(crate) const TABLES: &[&str] = &[
    "key = { k: exact; k & 3: ternary @name(\"masked\"); } actions = { a; @defaultonly NoAction; a(3); .a; }",
    "actions = { a; } default_action = a(3); size = 1024;",
    "actions = {} const default_action = .a(x = 3); @hidden implementation = Profile<bit<8>>(32);",
    "const entries = { 1: a(1); (1, 2): a(2) @name(\"e\"); (_, 3 &&& 4): .a; 1 .. 2: a(4); default: a(3); }",
    "entries = { const priority = 3: (1, 2): a(1); priority = (1 + 2): 4: a(2); 5: a(3); }",
    "key = {} actions = { a; } my_own = \"text\"; const other = { a, 3 };",
];

#[test]
fn every_table_property_is_parsed() {
    for properties in TABLES {
        accepts(&around_table(properties));
    }
}

pub(crate) const STATEMENTS: &[&str] = &[
    ";",
    "bit<8> x; bit<8> y = 3; const bit<8> z = 4; S q = { 3 }; T w = { f = 3 };",
    "x = 3; x.y = z; x[3].y[4:0] = 5; x[4+:2] = 1; this.x = 3; .x = 4;",
    "x += 1; x -= 1; x *= 1; x /= 1; x %= 1; x |+|= 1; x |-|= 1; x <<= 1; x >>= 1; x &= 1; x |= 1; x ^= 1;",
    "f(); f(1, x, _); f(a = 1, b = _); x.m<bit<8>>(y); f<T, S>(x); t.apply();",
    "C.apply(s); E<bit<8>>() e; E<bit<8>>() g; T[3] st; S(3) inst;",
    "if (a > b) x = 1; if (a < b) { } else if (x) ; else { y = 2; }",
    "switch (t.apply().action_run) { a: b: { x = 1; } default: { } }",
    "switch (a) { 1: { } 2: 3: { } a + b: { } (bit<8>)4: { } default: { } } switch (a) { }",
    "return; exit; { { } @atomic { x = 1; } }",
    "for (bit<8> i = 0; i < 3; i = i + 1) { break; continue; } for (;true;) ; for (x = 1, f(); x < 3; x += 1, f()) {}",
    "for (bit<8> i in 1 .. 3) { } @unroll for (S q in stack) x = q.f; for (T i in { 1, 2 }) { }",
    "unknown_t v; unknown_t<bit<8>> v2; unknown_t[3] v3; unknown_t(3) v4; unknown_t<bit<8>>(4) v5;",
    "@name(\"x\") bit<8> x; @pragma something else 3\n x = 1;",
    "@noWarn[\"a\", 3] x = 1; @kv[a = 1, b = \"c\",] x = 1; @empty[] x = 2; @a @b() @c((1)(2), {) x = 3;",
    "tuple<bit<8>, bool> tt = { 1, true }; error e = error.NoError; string st;",
];

#[test]
fn every_statement_is_parsed() {
    for text in STATEMENTS {
        accepts(&around_statement(text));
    }
}

pub(crate) const EXPRESSIONS: &[&str] = &[
    "1 + 2 * 3 - 4 / 5 % 6",
    "a ++ b ++ 4w3 |+| 3 |-| 2",
    "a & b | ~a ^ b << 2 >> 3",
    "!(a == b) && a != b || a <= b && a >= b",
    "a < b",
    "a > b",
    "a >> 1 > b",
    "(a) - 1",
    "(T) - 1",
    "(T) (S) a",
    "(bit<8>) a.b[3:0]",
    "(tuple<T, S>) { 1, 2 }",
    "(S) { f = 1, ... }",
    "a > 3 ? 1 : b ? 2 : 3",
    "a < b ? c : d",
    "{}",
    "{ 1, { 2, 3 }, \"s\", }",
    "{ ... }",
    "{ 1, ... }",
    "{#}",
    "(H) {#}",
    "...",
    "f<T>(a)",
    "f<bit<8>>(a) >> 2",
    "p.lookahead<bit<8>>()",
    "p.lookahead<S>().f",
    "t.apply().hit",
    "E<bit<8>>(3)",
    "T.x",
    "error.NoMatch",
    ".x + .f(3)",
    "a[3]",
    "a[7:4][1:0]",
    "a[b+:4]",
    "a < b && f<T>(c) > d",
    "f<_, void>(1)",
    "x.push_front(1)",
    "S.minSizeInBits()",
    "true ? false : this.x",
    "(unknown) a",
    "unknown<T>(a)",
    "(a < b) == (b > a)",
];

#[test]
fn every_expression_is_parsed() {
    for text in EXPRESSIONS {
        accepts(&around_statement(&format!("x = {text};")));
    }
}

/// Formats the expression with parentheses around every operation and with explicit type arguments.
fn full(expression: &Expression) -> String {
    match &expression.kind {
        ExpressionKind::Binary { operator, left, right } => {
            format!("({} {} {})", full(left), operator.as_str(), full(right))
        }
        ExpressionKind::Unary { operator, operand } => {
            format!("({}{})", operator.as_str(), full(operand))
        }
        ExpressionKind::Cast { target, operand } => format!("(cast {target} {})", full(operand)),
        ExpressionKind::Conditional { condition, then, otherwise } => {
            format!("({} ? {} : {})", full(condition), full(then), full(otherwise))
        }
        ExpressionKind::Member { base, member } => format!("({}.{member})", full(base)),
        ExpressionKind::Index { base, index } => format!("({}[{}])", full(base), full(index)),
        ExpressionKind::Slice { base, high, low } => {
            format!("({}[{}:{}])", full(base), full(high), full(low))
        }
        ExpressionKind::Call { callee, type_arguments, arguments } => {
            let types: Vec<String> = type_arguments.iter().map(|ty| format!("<{ty}>")).collect();
            let arguments: Vec<String> =
                arguments.iter().map(|argument| full(&argument.value)).collect();
            format!("(call {}{} {})", full(callee), types.concat(), arguments.join(" "))
        }
        _ => expression.to_string(),
    }
}

/// Parses the right side of an assignment and formats its tree. `T` and `S` are types; `a`, `b` and
/// `c` are values.
fn tree(text: &str) -> String {
    let program = format!(
        "typedef bit<8> T; struct S {{ }} control c(in T a, in T b, in T c) {{ apply {{ x = {text}; }} }}"
    );
    let parsed = parse_text("test.p4", &program, &Options::default(), &MemoryFiles::new());
    assert_eq!(parsed.diagnostics.render(&parsed.sources, Style::Plain), "", "in {text}");
    match &parsed.program.declarations[2].kind {
        DeclarationKind::Control(control) => match &control.apply.statements[0].kind {
            StatementKind::Assign { value, .. } => full(value),
            other => panic!("{other:?}"),
        },
        other => panic!("{}", other.noun()),
    }
}

#[test]
fn operators_have_the_precedence_of_the_specification() {
    for (text, expected) in [
        ("a + b * c", "(a + (b * c))"),
        ("a * b + c", "((a * b) + c)"),
        ("a - b - c", "((a - b) - c)"),
        ("a ++ b + c", "((a ++ b) + c)"),
        ("a << b + c", "(a << (b + c))"),
        ("a >> b << c", "((a >> b) << c)"),
        ("a & b == c", "((a & b) == c)"),
        ("a | b ^ c & a", "(a | (b ^ (c & a)))"),
        ("a == b < c", "(a == (b < c))"),
        ("a < b == c > a", "((a < b) == (c > a))"),
        ("a && b || c && a", "((a && b) || (c && a))"),
        ("a == b && c != a", "((a == b) && (c != a))"),
        ("a ? b : c ? a : b", "(a ? b : (c ? a : b))"),
        ("a || b ? a : b", "((a || b) ? a : b)"),
        ("!a && b", "((!a) && b)"),
        ("-a * b", "((-a) * b)"),
        ("-a[3:0]", "(-(a[3:0]))"),
        ("~a.b", "(~(a.b))"),
        ("a |+| b |-| c", "((a |+| b) |-| c)"),
        ("(T) a + b", "((cast T a) + b)"),
        ("(T) -a", "(cast T (-a))"),
        ("(T) a.b", "(cast T (a.b))"),
        ("(T)(S)a", "(cast T (cast S a))"),
        ("!(bool) a", "(!(cast bool a))"),
    ] {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn types_and_values_are_distinguished() {
    for (text, expected) in [
        // Parentheses around a value are not a cast.
        ("(a) - b", "(a - b)"),
        ("(T) - b", "(cast T (-b))"),
        ("(a)(b)", "(call a b)"),
        ("(T)(b)", "(cast T b)"),
        ("(unknown) + b", "(unknown + b)"),
        ("(unknown) b", "(cast unknown b)"),
        // `<` starts type arguments only if types follow it and `(` follows the `>`.
        ("a < b > (c)", "((a < b) > c)"),
        ("f<T>(c)", "(call f<T> c)"),
        ("f<unknown>(c)", "(call f<unknown> c)"),
        ("f<T, bit<8>>(c)", "(call f<T><bit<8>> c)"),
        ("a.f<T>(c)", "(call (a.f)<T> c)"),
        ("a < T > c", "((a < T) > c)"),
        ("a < b && b > (c)", "((a < b) && (b > c))"),
        ("a.lookahead<bit<8>>() >> b", "((call (a.lookahead)<bit<8>> ) >> b)"),
        ("a.lookahead<tuple<T, S>>().f", "((call (a.lookahead)<tuple<T, S>> ).f)"),
        ("f<T[3]>(a)", "(call f<T[3]> a)"),
        ("f<.T>(a)", "(call f<.T> a)"),
        ("a >> b", "(a >> b)"),
        ("a >= b", "(a >= b)"),
        ("T.x", "(T.x)"),
        ("a > b", "(a > b)"),
    ] {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn the_scope_decides_whether_a_name_is_a_type() {
    // `x` is a type in the outer scope, a value in the inner one, and a type again after the inner
    // scope.
    accepts(
        "typedef bit<8> x; control c() { apply { { bit<8> x = 1; y = (x) - 1; x = 3; } x z; y = (x) -1; } } x f() { x x; return x; }",
    );
    accepts("control c<H>(inout H h) { apply { H g; g = (H) h; } }");
    accepts("extern H f<H>(in H h); struct H { bit<8> f; }");
    // Parameters hide types with equal names.
    accepts("struct m { } control c(inout bit<8> m) { apply { m = 3; m[3:0] = 4; } }");
}

#[test]
fn ids_are_dense() {
    let text = "#include <psa.p4>\n".to_owned()
        + &around_statement("x = f<T>(a + 3) ? {1, b} : s.f[3:0];");
    let parsed = parse_text("test.p4", &text, &Options::default(), &MemoryFiles::new());
    let debug = format!("{:?}", parsed.program.declarations);
    for (what, count) in [
        ("ExpressionId(", parsed.program.expression_count),
        ("TypeId(", parsed.program.type_count),
        ("DeclarationId(", parsed.program.declaration_count),
    ] {
        let mut seen = vec![false; count as usize];
        for (at, _) in debug.match_indices(what) {
            let digits: String =
                debug[at + what.len()..].chars().take_while(char::is_ascii_digit).collect();
            let id: usize = digits.parse().expect("a number");
            assert!(!std::mem::replace(&mut seen[id], true), "{what}{id}) twice");
        }
        assert!(seen.iter().all(|seen| *seen), "{what} has gaps");
    }
}

#[test]
fn spans_cover_what_they_name() {
    let text = "control c() { apply { x = a + f(b)[3:0]; } }";
    let parsed = parse_text("test.p4", text, &Options::default(), &MemoryFiles::new());
    let DeclarationKind::Control(control) = &parsed.program.declarations[0].kind else {
        panic!("a control")
    };
    let at = |span| parsed.sources.text(span).to_owned();
    assert_eq!(at(parsed.program.declarations[0].span), text);
    assert_eq!(at(control.apply.span), "{ x = a + f(b)[3:0]; }");
    assert_eq!(at(control.apply.statements[0].span), "x = a + f(b)[3:0];");
    let StatementKind::Assign { value, .. } = &control.apply.statements[0].kind else {
        panic!("an assignment")
    };
    assert_eq!(at(value.span), "a + f(b)[3:0]");
    let ExpressionKind::Binary { right, .. } = &value.kind else { panic!("a sum") };
    assert_eq!(at(right.span), "f(b)[3:0]");
}

#[test]
fn annotations_keep_their_strings_numbers_and_tokens() {
    let text = "@name(\"a.b\") @brief(\"two \\\"words\\\"\") @id(0x1234) @t(\"p4.org/x\", bit<32>, (1, 2)) @kv[a = 1] const int x = 1;";
    let parsed = parse_text("test.p4", text, &Options::default(), &MemoryFiles::new());
    let declaration = &parsed.program.declarations[0];
    assert_eq!(declaration.annotation("name").and_then(Annotation::string), Some("a.b"));
    assert_eq!(declaration.annotation("brief").and_then(Annotation::string), Some("two \"words\""));
    let translation = declaration.annotation("t").expect("@t");
    let arguments: Vec<String> = translation
        .arguments()
        .iter()
        .map(|tokens| tokens.iter().map(|token| &*token.text).collect())
        .collect();
    assert_eq!(arguments, ["\"p4.org/x\"", "bit<32>", "(1,2)"]);
    assert_eq!(translation.text(), "\"p4.org/x\", bit<32>, (1, 2)");
    assert!(
        matches!(declaration.annotation("kv").map(|a| &a.body), Some(AnnotationBody::KeyValues(pairs)) if pairs.len() == 1)
    );
}

#[test]
fn syntax_errors_are_reported_at_their_location() {
    for (name, text) in [
        ("missing_semicolon", "const int a = 1\nconst int b = 2;"),
        ("missing_name", "struct { bit<8> f; }"),
        ("field_without_name", "struct S { bit<8>; bit<8> g }"),
        ("wrong_keyword", "struct control { }"),
        ("missing_value", "const int a = ;"),
        ("missing_operand", "const int a = 3 + * 4;"),
        ("missing_parenthesis", "const int a = (3 + 4;"),
        ("bad_width", "const bit<> a = 1; const bit<8 b = 2; const bit<W > 3> c = 3;"),
        ("bad_number", "const int a = 0b12; const int b = 8w; const int c = 12ab;"),
        ("open_string", "const string s = \"abc;\nconst int a = 1;\n"),
        ("open_comment", "const int a = 1; /* and so on"),
        ("unknown_character", "const int a = 1 $ 2;"),
        ("top_level_variable", "bit<8> x; bit<8> y = 3;"),
        ("table_outside", "table t { actions = { } }"),
        ("state_after_local", "parser p() { state start { } bit<8> x; }"),
        ("no_states", "parser p() { bit<8> x; }"),
        (
            "statement_in_state",
            "parser p() { state start { return; switch (x) { } transition accept; } }",
        ),
        ("transition_not_last", "parser p() { state start { transition accept; x = 1; } }"),
        ("no_apply", "control c() { action a() { } }"),
        ("two_applies", "control c() { apply { } apply { } }"),
        ("no_statement", "control c() { apply { 3; x; x + 1; else { } } }"),
        ("open_brace", "control c() { apply { x = 1;\n"),
        ("stray_brace", "const int a = 1; }"),
        ("empty_table", "control c() { table t { } apply { } }"),
        (
            "table_properties",
            "control c() { table t { const key = { } actions { a; } size = ; keys = { x : exact; } } apply { } }",
        ),
        (
            "table_items",
            "control c() { table t { key = { x exact; y: ; z: exact } actions = { 3; a } entries = { 3 a(); priority = x: 3: a(); 4: a() } } apply { } }",
        ),
        (
            "switch_labels",
            "control c() { apply { switch (x) { { 1 }: { } } switch (y) { a { } } } }",
        ),
        (
            "select_cases",
            "parser p() { state start { transition select(x) { 1 accept; 2: ; 3: accept } } }",
        ),
        (
            "for_heads",
            "control c() { apply { for (x in 3) { } for (bit<8> i = 0 in x) { } for (bit<8> i = 0) { } } }",
        ),
        ("constructor_name", "extern E { E(); F(); }"),
        ("void_variable", "control c() { apply { void x; _ y; } }"),
        ("list_of_two", "const list<bit<8>, bit<8>> x = { };"),
        ("dots_not_last", "const S x = { ..., 1 };"),
        ("annotation", "@ const int x = 1; @name( const int y = 1;"),
        (
            "type_arguments",
            "const int x = T<bit<8>; typedef bit<8> T; const int y = T<bit<8>> + 1;",
        ),
        (
            "trailing_commas",
            "const int a = f(1,); action b(bit<8> x,) { } typedef tuple<bool,> T; const int c = f<bool,>(1);",
        ),
        ("empty_enum", "enum E { } error { }"),
        ("varbit_without_width", "header H { varbit x; }"),
        ("include_chain", "#include \"inner.p4\"\n"),
        ("in_a_macro", "#define SUM(a, b) a + * b\nconst int x = SUM(1, 2);\n"),
    ] {
        let files = MemoryFiles::new().with("inner.p4", "const int a = ;\n");
        let parsed = parse_text("test.p4", text, &Options::default(), &files);
        assert!(parsed.diagnostics.has_errors(), "{name} is accepted");
        insta::assert_snapshot!(name, parsed.diagnostics.render(&parsed.sources, Style::Plain));
    }
}

#[test]
fn one_run_reports_several_errors() {
    let text = "\
header ethernet_t {
    bit<48> dst
    bit<48> src;
    bit<16> type;
}
struct headers { ethernet_t ethernet; }
parser p(packet_in b, out headers h) {
    state start {
        b.extract(h.ethernet;
        transition select(h.ethernet.type) {
            0x800 accept;
            default: accept;
        }
    }
}
control c(inout headers h) {
    action forward(bit<9> port) { h.ethernet.dst == port; }
    table t {
        key = { h.ethernet.dst : }
        actions = { forward; }
        size = 1024
    }
    apply {
        if h.ethernet.isValid() { t.apply(); }
        h.ethernet.src = 48w0xZZ;
        t.apply();
    }
}
";
    insta::assert_snapshot!(messages(text));
}

#[test]
fn deep_nesting_is_refused_and_long_chains_too() {
    let deep = |count: usize| {
        [
            format!("const int x = {}1{};", "(".repeat(count), ")".repeat(count)),
            format!("const int x = {}1;", "-".repeat(count)),
            format!("const int x = {}1{};", "{".repeat(count), "}".repeat(count)),
            format!("const int x = 1{};", " + 1".repeat(count)),
            format!("const int x = a{};", ".a".repeat(count)),
            format!("const int x = a{};", "[1]".repeat(count)),
            format!("const int x = {}1;", "(bit<8>)".repeat(count)),
            format!("const int x = {}1;", "a ? b : ".repeat(count)),
            format!("const {}bit<8>{} x = 1;", "list<".repeat(count), ">".repeat(count)),
            format!("control c() {{ apply {} {}", "{".repeat(count), "}".repeat(count + 1)),
            format!("control c() {{ apply {{ {} ; }} }}", "if (a)".repeat(count)),
            format!("control c() {{ apply {{ {} ; }} }}", "if (a) ; else ".repeat(count)),
            format!("struct S {{ T{} x; }}", "[1]".repeat(count)),
            format!("const int x = {}1{};", "f<T<".repeat(count), ">>()".repeat(count)),
        ]
    };
    for text in &deep(20)[..13] {
        accepts(text);
    }
    let refused = ir::with_large_stack(|| {
        let refused = |count: usize| {
            deep(count).iter().filter(|text| messages(text).contains("error")).count()
        };
        (refused(super::LONGEST_CHAIN), refused(super::LONGEST_CHAIN + 2))
    });
    // Chains of operators and of `else if` may be longer than the limit on nesting.
    assert_eq!(refused.expect("a thread"), (11, 14));
}
