//! Tests of the lowering for every construct. The IR is compared with a snapshot, must be valid,
//! and must be unchanged after a round trip through JSON.

use ir::{Program, ReadError};
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};

fn compile(name: &str, text: &str) -> Program {
    let compiled = p4lang::compile_text(name, text, &Options::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}"))
}

/// Lowers a program and returns the text of the IR from the errors on. The types before them are
/// mostly those of the architecture.
fn lowered(name: &str, text: &str) -> String {
    let program = compile(name, text);
    program.validate().unwrap_or_else(|violation| panic!("{violation}\n{}", program.to_text()));
    let json = program.to_json().expect("JSON is written");
    assert_eq!(Program::from_json(&json).expect("JSON is read"), program);
    let text = program.to_text();
    let start = text.find("\nerror {").expect("there are errors");
    text[start + 1..].to_owned()
}

macro_rules! snapshots {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let file = concat!(stringify!($name), ".p4");
            let text = include_str!(concat!("lower/", stringify!($name), ".p4"));
            insta::assert_snapshot!(lowered(file, text));
        }
    )*};
}

snapshots! { statements instances types more_types constants objects abstract_methods psa }

#[test]
fn a_program_without_main_is_empty() {
    let program = compile("none.p4", "error { Mine }\nconst bit<8> x = 1;\n");
    program.validate().expect("it is valid");
    assert_eq!(program.errors, ["NoError", "Mine"]);
    assert!(program.main.arguments.is_empty());
}

#[test]
fn damaged_ir_is_refused() {
    let program = compile("objects.p4", include_str!("lower/objects.p4"));
    let json = program.to_json().expect("JSON is written");
    let read = |json: &str| Program::from_json(json);
    assert!(matches!(read("{}"), Err(ReadError::Json(_))));
    assert!(matches!(read(&"[".repeat(100_000)), Err(ReadError::Depth { .. })));
    let change = |from: &str, to: &str| {
        assert!(json.contains(from), "`{from}` is not in the JSON");
        read(&json.replacen(from, to, 1))
    };
    let version = format!("\"version\": {}", Program::VERSION);
    assert!(matches!(change(&version, "\"version\": 77"), Err(ReadError::Invalid(_))));
    assert!(matches!(change("\"control\": 1", "\"control\": 99"), Err(ReadError::Invalid(_))));
    // Each use of variable 0 is replaced by a number that is out of range, which must be detected.
    let mut found = 0;
    for (position, _) in json.match_indices("\"variable\": 0") {
        let mut damaged = json.clone();
        damaged.replace_range(position.."\"variable\": 0".len() + position, "\"variable\": 9999");
        assert!(matches!(read(&damaged), Err(ReadError::Invalid(_))), "at {position}");
        found += 1;
    }
    assert!(found > 3, "{found} places were damaged");
}

#[test]
fn recursion_in_ir_is_refused() {
    let mut program = compile("objects.p4", include_str!("lower/objects.p4"));
    let call = ir::StatementKind::CallControl {
        control: ir::ControlId(0),
        arguments: vec![ir::Argument::InOut(ir::Place::variable(
            program.controls[0].parameters[0].variable,
        ))],
    };
    program.controls[0].body.push(ir::Statement { location: None, kind: call });
    let violation = program.validate().expect_err("the control calls itself");
    assert!(violation.to_string().contains("calls itself"), "{violation}");
}

#[test]
fn match_kinds_are_arguments_of_externs() {
    let text = "#include <core.p4>
        struct kinds { match_kind first; match_kind second; }
        extern Lookup<M, K> { Lookup(M kinds, int size); bit<8> get(in K key); }
        control C(inout bit<8> x) {
            Lookup<tuple<match_kind, match_kind>, tuple<bit<8>, bit<8>>>({ exact, lpm }, 1 << 5) list;
            Lookup<kinds, bit<8>>({ second = lpm, first = exact }, 3) record;
            apply { x = list.get({ x, 3 }); x = record.get(x); }
        }
        control CT(inout bit<8> x); package Top(CT c); Top(C()) main;";
    let lowered = lowered("kinds.p4", text);
    assert!(lowered.contains("\"exact\"") && lowered.contains("\"lpm\""), "{lowered}");
}

#[test]
fn priorities_in_annotations_are_evaluated() {
    let priorities = |written: [&str; 3]| {
        let entries: Vec<String> = written
            .iter()
            .enumerate()
            .map(|(key, priority)| format!("{key} &&& 3 : NoAction() @priority{priority};"))
            .collect();
        let text = format!(
            "#include <core.p4>
            enum bit<8> Order {{ last = 9 }}
            const bit<4> LESS = 3;
            control C(inout bit<8> x) {{
                table t {{ key = {{ x: ternary; }} actions = {{ NoAction; }}
                    const entries = {{ {} }} }}
                apply {{ t.apply(); }}
            }}
            control CT(inout bit<8> x); package Top(CT c); Top(C()) main;",
            entries.join(" ")
        );
        let program = compile("priorities.p4", &text);
        program.tables[0].entries.iter().map(|entry| entry.priority).collect::<Vec<_>>()
    };
    // The smaller number wins in the annotation, but the larger one wins in the IR.
    assert_eq!(priorities(["(9)", "(3)", "(5)"]), [Some(3), Some(9), Some(7)]);
    for written in [
        ["(0x9)", "(LESS)", "(2 + LESS)"],
        ["(Order.last)", "(8w3)", "[5]"],
        ["(3 * 3)", "((bit<8>) LESS)", "(LESS > 2 ? 5 : 1)"],
    ] {
        assert_eq!(priorities(written), [Some(3), Some(9), Some(7)], "{written:?}");
    }
    // Only the order of negative priorities matters.
    assert_eq!(priorities(["(-1)", "(-3)", "(2)"]), [Some(3), Some(5), Some(0)]);
}

#[test]
fn externs_are_copied_out_in_the_order_of_the_call() {
    let text = |call: &str| {
        format!(
            "#include <core.p4>
            extern void give(out bit<8> x, inout bit<8> y, in bit<8> z);
            extern Giver {{ Giver(); void give(out bit<8> x, inout bit<8> y); }}
            control C(inout bit<8> a, inout bit<8> b) {{ Giver() giver; apply {{ {call} }} }}
            control CT(inout bit<8> a, inout bit<8> b); package Top(CT c); Top(C()) main;"
        )
    };
    for (call, assignments) in [
        ("give(a, a, 1);", 0),
        ("give(x = a, z = 1, y = a);", 0),
        ("give(y = a, x = b, z = 1);", 0),
        ("give(y = a, z = 1, x = a);", 2),
        ("giver.give(a, a);", 0),
        ("giver.give(y = a, x = a);", 2),
    ] {
        let program = compile("externs.p4", &text(call));
        program.validate().unwrap_or_else(|violation| panic!("{call}: {violation}"));
        let body = &program.controls[0].body;
        assert!(matches!(body[0].kind, ir::StatementKind::CallExtern { .. }), "{call}");
        let copies: Vec<_> = body[1..].iter().map(|statement| &statement.kind).collect();
        assert_eq!(copies.len(), assignments, "{call}: {copies:?}");
        // `y` is copied out first, so the assignment of `x` counts.
        let ir::StatementKind::CallExtern { arguments, .. } = &body[0].kind else { continue };
        for (copy, argument) in copies.iter().zip(arguments[..2].iter().rev()) {
            let (ir::Argument::Out(from) | ir::Argument::Saved { place: from, .. }) = argument
            else {
                panic!("{call}: {argument:?}");
            };
            let ir::StatementKind::Assign { value, .. } = copy else { panic!("{call}: {copy:?}") };
            assert_eq!(value.kind, ir::ExpressionKind::Read(from.clone()), "{call}");
        }
    }
}

const OBJECTS: &str = "#include <core.p4>
    extern Reg<T> { Reg(T v); T read(); void write(in T v); }
    struct S<T> { T a; bit<8> b; }
    extern Hold { Hold(Reg<_> r); void take(Reg<_> r); }
    extern Both<T> { Both(Reg<_> r, T x); }
    extern Pair { Pair(Reg<_> r, Reg<_> s); }
    extern Keep { Keep(S<_> s); }
    extern Tuple { Tuple(tuple<_, _> s); }
    extern List { List(list<_> s); }
    extern void show(Reg<_> r);
    extern void tell(out tuple<_, bit<8>> t);
    typedef Reg<_> R;
    control Inner(inout bit<8> x)(Reg<_> r) { Hold(r) h; apply { show(r); } }
    control Given(inout bit<8> x, Reg<_> r) { apply { show(r); } }
    void shown(Reg<_> r) { show(r); }";

fn with_objects(locals: &str, apply: &str) -> String {
    format!(
        "{OBJECTS} control C(inout bit<8> x) {{ Reg<bit<8>>(1) a; Reg<bit<16>>(2) b; {locals} apply {{ {apply} }} }}
        control CT(inout bit<8> x); package Top(CT c); Top(C()) main;"
    )
}

#[test]
fn each_instance_infers_its_open_types() {
    for (locals, apply) in [
        ("Hold(a) h; Hold(b) i; Hold(a) j;", ""),
        ("Both(a, 8w1) h; Both(b, 16w1) i; Both(b, true) j;", ""),
        ("Pair(a, b) h; Pair(b, a) i; Pair(a, a) j;", ""),
        ("Pair(s = a, r = b) h; Pair(s = b, r = b) i;", ""),
        ("Keep({ 8w1, 1 }) h; Keep({ 16w2, 2 }) i; Keep({ true, 3 }) j;", ""),
        ("Tuple({ 8w1, true }) h; Tuple({ 16w2, 3w1 }) i;", ""),
        ("List((list<bit<8>>) { 8w1, 2 }) h; List((list<bit<16>>) { 16w2, 3 }) i;", ""),
        ("Hold(a) h;", "h.take(a); h.take(b);"),
        ("R(8w1) h; R(16w1) i;", "x = h.read(); i.write(16w3);"),
        ("Inner(a) h; Inner(b) i;", "h.apply(x); i.apply(x);"),
        ("Given() h; Given() i;", "h.apply(x, a); i.apply(x, b); h.apply(x, a);"),
        ("", "show(a); show(b); shown(b); shown(a);"),
        ("tuple<bit<3>, bit<8>> t; tuple<bool, bit<8>> u;", "tell(t); tell(u); x = t[1] + u[1];"),
    ] {
        let program = compile("open.p4", &with_objects(locals, apply));
        program.validate().unwrap_or_else(|violation| panic!("{locals} {apply}: {violation}"));
    }
    let program = compile("open.p4", &with_objects("Keep({ 8w1, 1 }) h; Keep({ 16w2, 2 }) i;", ""));
    let kept: Vec<&ir::Value> = program
        .externs
        .iter()
        .filter(|instance| instance.name.ends_with('h') || instance.name.ends_with('i'))
        .map(|instance| &instance.arguments[0].value)
        .collect();
    let width = |value: &ir::Value| match value {
        ir::Value::Composite(parts) => match &parts[0] {
            ir::Value::Bits(bits) => bits.width(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(kept.into_iter().map(width).collect::<Vec<_>>(), [8, 16]);
}

/// Tests that `_` is refused in the type of a stored value, and where a body needs to know the
/// type.
#[test]
fn a_type_that_stays_open_is_refused_with_its_place() {
    for text in [
        with_objects("S<_> s;", ""),
        with_objects("", "tuple<_, bit<8>> t = { x, 1 };"),
        with_objects("const S<_> s = { 8w1, 2 };", ""),
        format!("{} struct Q {{ S<_> s; }}", with_objects("", "")),
        format!("{} extern S<_> f();", with_objects("", "")),
        format!("{} void f(in S<_> s) {{ }}", with_objects("", "")),
        format!("{} action f(in tuple<_, bool> s) {{ }}", with_objects("", "")),
        format!("{} control Q(in S<_> s) {{ apply {{ }} }}", with_objects("", "")),
        format!("{} control Q()(S<_> s) {{ apply {{ }} }}", with_objects("", "")),
        format!("{} void f(Reg<_> r) {{ r.write(8w1); }}", with_objects("", "")),
        format!("{} bit<8> f(Reg<_> r) {{ return r.read(); }}", with_objects("", "")),
    ] {
        let compiled =
            p4lang::compile_text("open.p4", &text, &Options::default(), &MemoryFiles::default());
        let messages = compiled.messages(Style::Plain);
        assert!(compiled.program.is_none(), "{text}");
        let first = messages.lines().find(|line| line.contains("error")).expect("an error");
        assert!(first.contains("error[type-arguments]: the type `_` in"), "{messages}");
        assert!(!first.contains(":1:1:"), "{messages}");
    }
}
