//! Tests that the cost of a program, from its text to machine code, grows as the program does. Each
//! construct of the grammar is repeated n, 2n and 4n times. The number of steps that passes count
//! ([`ir::meter`]) must grow no faster than n log n.
//!
//! The steps are those of the front-end (tokens, lookahead, statements, expressions, types, names),
//! of the checks of the IR, of resolution and planning, of passes that search or iterate to a fixed
//! point, and the instructions that Cranelift gets. The work of Cranelift itself is not counted.

use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;

/// The parts of a v1model program in which a construct can be repeated.
#[derive(Default)]
struct Parts {
    /// The declarations at the top level.
    declarations: String,
    /// The fields of the metadata.
    metadata: String,
    /// The states of the parser. Without any, the parser has one state, which accepts.
    states: String,
    /// The local declarations of the parser.
    parser_locals: String,
    /// The local declarations of the ingress control.
    locals: String,
    /// The statements of the ingress control.
    apply: String,
    /// The statements of the deparser.
    emits: String,
    /// The fields of the struct of headers.
    headers: String,
}

impl Parts {
    fn text(&self) -> String {
        let Self { declarations, metadata, states, parser_locals, locals, apply, emits, headers } =
            self;
        let accept = "state start { b.extract(h.r); transition accept; }";
        let states = if states.is_empty() { accept } else { states };
        format!(
            "#include <core.p4>
#include <v1model.p4>
header R {{ bit<8> a; bit<8> b; }}
{declarations}
struct H {{ R r; {headers} }}
struct M {{ bit<8> x; bit<8> y; {metadata} }}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{ {parser_locals} {states} }}
control V(inout H h, inout M m) {{ apply {{}} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{
    {locals}
    apply {{ s.egress_spec = 1; {apply} }}
}}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{}} }}
control D(packet_out b, in H h) {{ apply {{ b.emit(h.r); {emits} }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
        )
    }
}

fn each(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect()
}

/// Returns the number of steps that the passes count on the way from the text of a program to the
/// interpreter and to machine code.
fn steps(text: &str) -> u64 {
    let before = ir::meter::steps();
    let outcome = ir::with_large_stack(|| {
        let compiled =
            p4lang::compile_text("growth.p4", text, &Options::default(), &MemoryFiles::default());
        let messages = compiled.messages(Style::Plain);
        let program = compiled.program.ok_or(messages)?;
        let json = program.to_json().map_err(|error| error.to_string())?;
        ir::Program::from_json(&json).map_err(|error| error.to_string())?;
        let mut switch = Switch::new(program).map_err(|error| error.to_string())?;
        switch.compile().map_err(|error| error.to_string())?;
        Ok::<(), String>(())
    });
    outcome.expect("a thread").unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir::meter::steps() - before
}

/// Checks the growth while a construct's count doubles twice. The cost that every program has
/// cancels out in the differences.
#[track_caller]
fn grows_as_it_does(name: &str, count: usize, parts: impl Fn(usize) -> Parts) {
    let [one, two, four] = [1, 2, 4].map(|times| {
        let text = parts(count * times).text();
        let began = std::time::Instant::now();
        let steps = steps(&text);
        println!("{name} {}: {steps} steps, {:?}", count * times, began.elapsed());
        steps
    });
    let ratio = (four as f64 - two as f64) / (two as f64 - one as f64);
    println!("{name}: {one}, {two}, {four}: {ratio:.2}");
    assert!(ratio < 2.3, "{name}: {one}, {two}, {four} steps: {ratio:.2}");
}

macro_rules! constructs {
    ($($name:ident: $count:expr, $parts:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let scale = std::env::var("GROWTH").map_or(1, |scale| scale.parse().expect("a number"));
                grows_as_it_does(stringify!($name), $count * scale, $parts);
            }
        )*
    };
}

fn declared(count: usize, item: impl Fn(usize) -> String) -> Parts {
    Parts { declarations: each(count, item), ..Parts::default() }
}

fn applied(count: usize, item: impl Fn(usize) -> String) -> Parts {
    Parts { apply: each(count, item), ..Parts::default() }
}

/// Returns a table with a number of actions.
fn table_with_actions(n: usize) -> Parts {
    Parts {
        locals: format!(
            "{} table t {{ key = {{ m.x: exact; }} actions = {{ {} NoAction; }} default_action = NoAction(); }}",
            each(n, |at| format!("action a{at}(bit<8> v) {{ m.y = v; }}")),
            each(n, |at| format!("a{at}; ")),
        ),
        apply: "t.apply();".to_owned(),
        ..Parts::default()
    }
}

constructs! {
    constants: 50, |n| declared(n, |at| format!("const bit<8> C{at} = {};", at % 256));
    constants_of_constants: 50, |n| Parts {
        declarations: format!("const int C0 = 1; {}", each(n, |at| format!("const int C{} = C{at} + 1;", at + 1))),
        ..Parts::default()
    };
    structs: 50, |n| Parts {
        metadata: each(n, |at| format!("S{at} s{at};")),
        ..declared(n, |at| format!("struct S{at} {{ bit<8> a; }}"))
    };
    generic_structs: 50, |n| Parts {
        apply: each(n, |at| format!("G{at}<bit<16>> g{at}; g{at}.a = 1;")),
        ..declared(n, |at| format!("struct G{at}<T> {{ T a; tuple<T, T> b; }}"))
    };
    specialised_structs: 50, |n| Parts {
        apply: each(n, |at| format!("G<S{at}> g{at}; g{at}.a.a = 1;")),
        declarations: "struct G<T> { T a; }".to_owned()
            + &each(n, |at| format!("struct S{at} {{ bit<8> a; }}")),
        ..Parts::default()
    };
    fields: 50, |n| Parts { metadata: each(n, |at| format!("bit<8> f{at};")), ..Parts::default() };
    headers: 20, |n| Parts {
        headers: each(n, |at| format!("K{at} k{at};")),
        emits: each(n, |at| format!("b.emit(h.k{at});")),
        ..declared(n, |at| format!("header K{at} {{ bit<8> a; }}"))
    };
    fields_of_headers: 50, |n| Parts {
        headers: "K k;".to_owned(),
        declarations: format!("header K {{ {} }}", each(n, |at| format!("bit<8> f{at};"))),
        ..Parts::default()
    };
    enumerations: 50, |n| declared(n, |at| format!("enum bit<8> E{at} {{ A = 1, B = 2 }}"));
    members_of_an_enumeration: 50, |n| declared(1, |_| {
        format!("enum N {{ {} }}", each(n, |at| format!("A{at}, ")) + "Z")
    });
    typedefs: 50, |n| declared(n, |at| format!("typedef bit<{}> T{at};", at + 1));
    new_types: 50, |n| declared(n, |at| format!("type bit<8> T{at};"));
    errors: 50, |n| declared(n, |at| format!("error {{ E{at} }}"));
    match_kinds: 50, |n| declared(n, |at| format!("match_kind {{ k{at} }}"));
    annotations: 50, |n| Parts {
        locals: format!("{} action a() {{}}", each(n, |at| format!("@x{at} "))),
        apply: "a();".to_owned(),
        ..Parts::default()
    };
    variables: 50, |n| applied(n, |at| format!("bit<8> v{at} = m.x; m.y = v{at};"));
    assignments: 100, |n| applied(n, |at| format!("m.x = m.y + {};", at % 256));
    copies_of_structs: 50, |n| Parts {
        metadata: "S s; S t;".to_owned(),
        apply: each(n, |_| "m.s = m.t; m.t = m.s;".to_owned()),
        ..declared(1, |_| "struct S { bit<8> a; bit<8> b; }".to_owned())
    };
    chains_of_copies: 20, |n| Parts {
        metadata: each(n, |at| format!("S s{at};")) + &format!("S s{n};"),
        apply: each(n, |at| format!("m.s{} = m.s{};", n - at, n - at - 1)) + "m.x = m.s0.a;",
        ..declared(1, |_| "struct S { bit<8> a; bit<8> b; }".to_owned())
    };
    operators: 200, |n| applied(1, |_| format!("m.x = m.y{};", each(n, |at| format!(" + (m.x - {})", at % 256))));
    conditions: 100, |n| applied(1, |_| format!("if (m.x == 1{}) {{ m.y = 1; }}", " && m.y != 2".repeat(n)));
    ifs: 50, |n| applied(n, |at| format!("if (m.x == {}) {{ m.y = 1; }}", at % 256));
    ifs_and_unset_variables: 50, |n| applied(n, |at| {
        format!("bit<8> v{at}; if (m.x == {}) {{ v{at} = 1; }} else {{ v{at} = 2; }} m.y = v{at};", at % 256)
    });
    else_ifs: 50, |n| applied(1, |_| {
        each(n, |at| format!("if (m.x == {}) {{ m.y = 1; }} else ", at % 256)) + "{ m.y = 2; }"
    });
    cases_of_a_switch: 50, |n| applied(1, |_| {
        format!("switch ((bit<16>)m.x) {{ {} }}", each(n, |at| format!("{at}: {{ m.y = 1; }}")))
    });
    blocks: 50, |n| applied(n, |_| "{ bit<8> v = m.x; m.y = v; }".to_owned());
    loops: 20, |n| applied(n, |at| format!("for (bit<8> i{at} = 0; i{at} < 2; i{at} = i{at} + 1) {{ m.x = m.y; }}"));
    functions: 50, |n| Parts {
        apply: each(n, |at| format!("m.x = f{at}(m.y);")),
        ..declared(n, |at| format!("bit<8> f{at}(in bit<8> x) {{ return x + 1; }}"))
    };
    functions_in_chains: 50, |n| Parts {
        apply: format!("m.x = f{}(m.y);", n - 1),
        ..declared(n, |at| match at {
            0 => "bit<8> f0(in bit<8> x) { return x; }".to_owned(),
            _ => format!("bit<8> f{at}(in bit<8> x) {{ return f{}(x); }}", at - 1),
        })
    };
    functions_called_twice: 12, |n| Parts {
        apply: format!("m.x = f{}(m.y);", n - 1),
        ..declared(n, |at| match at {
            0 => "bit<8> f0(in bit<8> x) { return x; }".to_owned(),
            _ => format!("bit<8> f{at}(in bit<8> x) {{ return f{0}(x) + f{0}(x); }}", at - 1),
        })
    };
    generic_functions: 50, |n| Parts {
        apply: each(n, |at| {
            format!("S{at} v{at}; v{at}.a = m.x; v{at} = f<S{at}>(v{at}); m.y = v{at}.a;")
        }),
        declarations: "T f<T>(in T x) { return x; }".to_owned()
            + &each(n, |at| format!("struct S{at} {{ bit<8> a; }}")),
        ..Parts::default()
    };
    actions: 50, |n| Parts {
        locals: each(n, |at| format!("action a{at}() {{ m.x = {}; }}", at % 256)),
        apply: each(n, |at| format!("a{at}();")),
        ..Parts::default()
    };
    actions_of_the_program: 50, |n| Parts {
        apply: each(n, |at| format!("a{at}(m.x);")),
        ..declared(n, |at| format!("action a{at}(inout bit<8> x) {{ x = {}; }}", at % 256))
    };
    actions_that_call_actions_twice: 12, |n| Parts {
        locals: each(n, |at| match at {
            0 => "action a0() { m.x = 1; }".to_owned(),
            _ => format!("action a{at}() {{ a{0}(); a{0}(); }}", at - 1),
        }),
        apply: format!("a{}();", n - 1),
        ..Parts::default()
    };
    // Machine code selects the action of an entry in another way if a table has more than 63.
    actions_of_a_table: 15, table_with_actions;
    many_actions_of_a_table: 100, table_with_actions;
    keys_of_a_table: 10, |n| Parts {
        metadata: each(n, |at| format!("bit<8> k{at};")),
        locals: format!(
            "table t {{ key = {{ {} }} actions = {{ NoAction; }} }}",
            each(n, |at| format!("m.k{at}: ternary;"))
        ),
        apply: "t.apply();".to_owned(),
        ..Parts::default()
    };
    tables: 25, |n| Parts {
        locals: each(n, |at| format!("table t{at} {{ key = {{ m.x: exact; }} actions = {{ NoAction; }} }}")),
        apply: each(n, |at| format!("t{at}.apply();")),
        ..Parts::default()
    };
    entries: 50, |n| Parts {
        locals: format!(
            "action a() {{}} table t {{ key = {{ s.packet_length: exact; }} actions = {{ a; }} default_action = a();
             const entries = {{ {} }} }}",
            each(n, |at| format!("{at}: a();"))
        ),
        apply: "t.apply();".to_owned(),
        ..Parts::default()
    };
    controls: 25, |n| Parts {
        locals: each(n, |at| format!("C{at}() c{at};")),
        apply: each(n, |at| format!("c{at}.apply(m.x);")),
        ..declared(n, |at| format!("control C{at}(inout bit<8> x) {{ apply {{ x = {}; }} }}", at % 256))
    };
    instances_of_a_control: 25, |n| Parts {
        locals: each(n, |at| format!("C() c{at};")),
        apply: each(n, |at| format!("c{at}.apply(m.x);")),
        ..declared(1, |_| "control C(inout bit<8> x) { action a() { x = 1; } apply { a(); } }".to_owned())
    };
    counters: 25, |n| Parts {
        locals: each(n, |at| format!("counter(16, CounterType.packets) c{at};")),
        apply: each(n, |at| format!("c{at}.count((bit<32>)m.x);")),
        ..Parts::default()
    };
    registers: 25, |n| Parts {
        locals: each(n, |at| format!("register<bit<8>>(16) r{at};")),
        apply: each(n, |at| format!("r{at}.write((bit<32>)m.x, m.y);")),
        ..Parts::default()
    };
    states: 50, |n| Parts {
        states: each(n, |at| {
            let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
            format!("state {name} {{ transition select(m.x) {{ 1: s{}; default: accept; }} }}", at + 1)
        }) + &format!("state s{n} {{ transition accept; }}"),
        ..Parts::default()
    };
    states_in_reverse: 50, |n| Parts {
        states: format!("state start {{ transition s{}; }} state s0 {{ transition accept; }}", n)
            + &each(n, |at| format!("state s{} {{ m.x = m.x + 1; transition s{at}; }}", at + 1)),
        ..Parts::default()
    };
    states_in_a_loop: 50, |n| Parts {
        states: each(n, |at| {
            let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
            format!("state {name} {{ b.advance(8); transition s{}; }}", at + 1)
        }) + &format!("state s{n} {{ transition select(m.x) {{ 0: start; default: accept; }} }}"),
        ..Parts::default()
    };
    cases_of_a_select: 50, |n| Parts {
        states: format!(
            "state start {{ b.extract(h.r); transition select(h.r.a ++ h.r.b) {{ {} default: accept; }} }}",
            each(n, |at| format!("{at}: accept;"))
        ),
        ..Parts::default()
    };
    parsers: 20, |n| Parts {
        parser_locals: each(n, |at| format!("Q{at}() q{at};")),
        states: format!(
            "state start {{ {} transition accept; }}",
            each(n, |at| format!("q{at}.apply(b, m.x);"))
        ),
        ..declared(n, |at| format!("parser Q{at}(packet_in b, inout bit<8> x) {{ state start {{ x = 1; transition accept; }} }}"))
    };
    parsers_inside_of_parsers: 12, |n| Parts {
        parser_locals: format!("Q{}() q;", n - 1),
        states: "state start { q.apply(b); transition accept; }".to_owned(),
        ..declared(n, |at| match at {
            0 => "parser Q0(packet_in b, out R[2] rs) { state start { b.extract(rs.next); transition accept; } }".to_owned(),
            1 => "parser Q1(packet_in b) { R[2] rs; Q0() q; state start { q.apply(b, rs); transition accept; } }".to_owned(),
            _ => format!(
                "parser Q{at}(packet_in b) {{ Q{}() q; state start {{ q.apply(b); transition accept; }} }}",
                at - 1
            ),
        })
    };
    value_sets: 25, |n| Parts {
        parser_locals: each(n, |at| format!("value_set<bit<8>>(4) v{at};")),
        states: format!(
            "state start {{ transition select(m.x) {{ {} default: accept; }} }}",
            each(n, |at| format!("v{at}: accept;"))
        ),
        ..Parts::default()
    };
    elements_of_a_stack: 10, |n| Parts {
        headers: format!("R[{n}] rs;"),
        emits: "b.emit(h.rs);".to_owned(),
        states: "state start { b.extract(h.rs.next); transition select(h.rs.last.a) { 0: start; default: accept; } }".to_owned(),
        ..Parts::default()
    };
}
