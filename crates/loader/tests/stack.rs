//! Measures the stack that the deepest programs within the limits need: at most half of the stack
//! of the thread that loads them.

use std::fmt::Write as _;

use entities::{DataPlane, Target};
use loader::Settings;
use p4lang::device_config::{from_device_config, to_pipeline_config};
use p4runtime::p4info::Schema;
use pipeline::Path;

/// The size in bytes of a stack on which loaded pipelines are dropped: half of the smallest stack
/// of a thread that may have to drop one.
const DROP_BYTES: usize = 1 << 20;

const V1MODEL: &str = "#include <core.p4>
#include <v1model.p4>
header R { bit<8> a; } struct H { R r; } struct M { bit<8> x; }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.r); transition accept; }
}
control V(inout H h, inout M m) { apply {} }
control D(packet_out b, in H h) { apply { b.emit(h.r); } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
";

/// Returns a program of v1model with `body` as its ingress.
fn program(declarations: &str, body: &str) -> String {
    format!(
        "{V1MODEL}{declarations}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ {body} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;\n"
    )
}

/// Repeats `text` for each number from 1 to `last`. `@` is replaced by the number, and `#` by the
/// preceding number.
fn chain(last: usize, text: &str) -> String {
    (1..=last).fold(String::new(), |mut whole, number| {
        let text = text.replace('@', &number.to_string()).replace('#', &(number - 1).to_string());
        let _ = writeln!(whole, "{text}");
        whole
    })
}

/// Returns the deepest programs of several kinds.
fn deepest() -> Vec<(&'static str, String)> {
    let actions = chain(255, "action a@() { m.x = m.x + 1; a#(); }");
    let functions = chain(255, "bit<8> f@(in bit<8> x) { return f#(x + 1); }");
    let controls = chain(255, "control C@(inout M m) { C#() c; apply { c.apply(m); } }");
    let parsers = chain(
        255,
        "parser Q@(packet_in b) { Q#() q; state start { q.apply(b); transition accept; } }",
    );
    let types = chain(61, "struct T@ { T# t; }");
    let nested = "if (m.x == 0) { ".repeat(90) + "m.x = 1;" + &"}".repeat(90);
    let sum = format!("m.x = {}m.x{};", "(m.x + 1 + ".repeat(90), ")".repeat(90));
    let long = format!("m.x = m.x{};", " + 1".repeat(5000));
    let branches = chain(2000, "if (m.x == @ & 255) { m.x = 7; } else") + "{ m.x = 3; }";
    vec![
        (
            "actions",
            program("", &format!("action a0() {{ m.x = 1; }} {actions} apply {{ a255(); }}")),
        ),
        (
            "functions",
            program(
                &format!("bit<8> f0(in bit<8> x) {{ return x; }} {functions}"),
                "apply { m.x = f255(m.x); }",
            ),
        ),
        (
            "controls",
            program(
                &format!("control C0(inout M m) {{ apply {{ m.x = 1; }} }} {controls}"),
                "C255() c; apply { c.apply(m); }",
            ),
        ),
        (
            "parsers",
            format!(
                "{V1MODEL}parser Q0(packet_in b) {{ state start {{ b.advance(8); transition accept; }} }}
{parsers}parser S(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{
    Q254() q; state start {{ q.apply(b); transition accept; }} }}
V1Switch(S(), V(), E(), E(), V(), D()) main;\n"
            ),
        ),
        (
            "types",
            program(
                &format!("struct T0 {{ bit<8> a; }} {types}"),
                "apply { T61 t; T61 u; t = u; m.x = 1; }",
            ),
        ),
        ("statements", program("", &format!("apply {{ {nested} }}"))),
        ("expressions", program("", &format!("apply {{ {sum} }}"))),
        ("a long expression", program("", &format!("apply {{ {long} }}"))),
        ("a long chain of branches", program("", &format!("apply {{ {branches} }}"))),
    ]
}

/// Returns the number of bytes of this thread's stack that have been touched. The kernel counts
/// them as resident pages, because the pages of a stack are mapped at their first use.
fn touched() -> u64 {
    let local = 0_u8;
    let address = std::ptr::from_ref(&local).addr() as u64;
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
    let mut is_here = false;
    for line in maps.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        if let Some((from, to)) = range {
            let bound = |text| u64::from_str_radix(text, 16);
            if let (Ok(from), Ok(to)) = (bound(from), bound(to)) {
                is_here = (from..to).contains(&address);
            }
        }
        if let (true, Some(size)) = (is_here, line.strip_prefix("Rss:")) {
            let size = size.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
            return size << 10;
        }
    }
    panic!("no mapping has this stack");
}

fn load(source: &str, path: Path) -> Result<(Box<dyn DataPlane>, u64), String> {
    let program = from_device_config(source.as_bytes()).map_err(|error| error.to_string())?;
    let p4info = to_pipeline_config(&program)?.p4info.ok_or("a program has a P4Info")?;
    let schema = Schema::new(p4info).map_err(|error| error.to_string())?;
    let target = Settings { path, ..Settings::default() }.target();
    ir::with_large_stack(|| {
        let before = touched();
        assert!(before < 1 << 20, "the stack is fresh, but {before} bytes of it were touched");
        let plane = target.load(schema.objects(), source.as_bytes());
        plane.map(|plane| (plane, touched())).map_err(|error| error.to_string())
    })
    .map_err(|error| error.to_string())?
}

#[test]
fn the_deepest_programs_take_at_most_half_of_the_stack() {
    for (name, source) in deepest() {
        for path in [Path::Interpreter, Path::Compiled] {
            let (plane, used) = load(&source, path).unwrap_or_else(|error| {
                panic!("{name} on {path:?}: {error}");
            });
            println!("{name} on {path:?}: {} KiB", used >> 10);
            assert!(used <= ir::STACK_BYTES as u64 / 2, "{name} on {path:?}: {used} bytes");
            let dropping = std::thread::Builder::new().stack_size(DROP_BYTES);
            let dropping = dropping.spawn(move || drop(plane)).expect("a thread");
            dropping.join().expect("no panic");
        }
    }
}

/// Checks the measurement itself with a known number of touched pages.
#[test]
fn touched_pages_are_counted() {
    fn touch(level: usize) -> usize {
        let frame = std::hint::black_box([level; 1 << 10]);
        if level == 0 { frame[0] } else { touch(level - 1) + frame[1] }
    }
    let used = ir::with_large_stack(|| {
        std::hint::black_box(touch(4096));
        touched()
    });
    let used = used.expect("a thread");
    // Without optimisation, each level has two copies of its array.
    assert!((32 << 20..96 << 20).contains(&used), "{used}");
}
