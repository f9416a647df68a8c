//! Measures the time from P4 source to machine code.
//!
//!     cargo bench -p pipeline --bench loading [-- [states] NUMBER [REPETITIONS]]
//!
//! The number is the number of lines of the program, 5,000 by default. Behind `states`, it is the
//! number of parser states: the program is then a parser alone, in which each state extracts a
//! header. A parser is the largest function that a short source can produce.
//!
//! Without `states`, a program of v1model with at least this number of lines is generated. It has a
//! stack of protocols, which a parser tells apart, and features. Each feature is a table with
//! exact, longest-prefix or ternary keys, three actions, and a condition under which it is applied.
//! One in four has a direct counter, and half of them are in ingress. Included declarations are not
//! counted as lines.
//!
//! Each repetition compiles the source to the IR, loads the IR into a switch, and compiles the
//! switch to machine code. Functions are compiled in parallel on the available cores, of which
//! `taskset -c 0` leaves one. Times are of the wall clock, in milliseconds: the median, the least
//! and the greatest. The code must have the same output for a packet as the interpreter.

use ir::{Program, with_large_stack};
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The number of protocols between IPv4 and the payload.
const PROTOCOLS: usize = 24;

const STAGES: [&str; 4] = ["source to IR", "IR to switch", "switch to code", "in all"];

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<usize>().ok());
    let number = numbers.next().unwrap_or(5_000);
    let repetitions = numbers.next().unwrap_or(9).max(1);
    let text = if std::env::args().any(|word| word == "states") {
        chain_of_states(number)
    } else {
        let features = (1..).find(|features| program(*features).lines().count() >= number);
        program(features.unwrap_or(1))
    };
    println!("{} lines, {} bytes, {repetitions} repetitions", text.lines().count(), text.len());
    // Programs nest, and the command-line tool compiles them in a large stack too.
    with_large_stack(|| measured(&text, repetitions)).map_err(|error| error.to_string())?
}

fn measured(text: &str, repetitions: usize) -> Result<(), String> {
    let mut times: [Vec<f64>; STAGES.len()] = Default::default();
    let mut size = 0;
    for _ in 0..repetitions {
        let begin = Instant::now();
        let program = compile(text)?;
        let compiled = Instant::now();
        let (tables, actions) = (program.tables.len(), program.actions.len());
        let mut switch = Switch::new(program).map_err(|error| error.to_string())?;
        let loaded = Instant::now();
        let expected = switch.process(1, &packet(), Duration::ZERO);
        let ready = Instant::now();
        let code = switch.compile().map_err(|error| error.to_string())?;
        let done = Instant::now();
        if size == 0 {
            size = code.code_size();
            let in_bursts = code.one_by_one().unwrap_or("packets go in bursts").to_owned();
            println!("{tables} tables, {actions} actions, {size} bytes of code; {in_bursts}");
        }
        let found = switch.process(1, &packet(), Duration::ZERO);
        if !matches!((&expected, &found), (Ok(one), Ok(other)) if one == other && one.len() == 1) {
            return Err(format!("the interpreter gives {expected:?}, code {found:?}"));
        }
        let stages = [compiled - begin, loaded - compiled, done - ready];
        let all = stages.iter().sum();
        for (times, time) in times.iter_mut().zip(stages.into_iter().chain([all])) {
            times.push(time.as_secs_f64() * 1e3);
        }
    }
    for (stage, mut times) in STAGES.iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let (least, median, most) = (times[0], times[times.len() / 2], times[times.len() - 1]);
        println!("{stage:16} {median:8.2} ms ({least:.2} to {most:.2})");
    }
    Ok(())
}

fn compile(text: &str) -> Result<Program, String> {
    let compiled =
        p4lang::compile_text("made.p4", text, &Options::default(), &MemoryFiles::default());
    let said = compiled.messages(p4lang::diagnostic::Style::Plain);
    compiled.program.ok_or(said)
}

/// Returns a program whose parser has a chain of `states` states.
fn chain_of_states(states: usize) -> String {
    let mut text = "#include <core.p4>\n#include <v1model.p4>\n
header byte_t { bit<8> value; }
struct headers_t { byte_t byte; }
struct metadata_t { }
parser MadeParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    state start { transition state_0; }\n"
        .to_owned();
    for state in 0..states {
        line(&mut text, format_args!("    state state_{state} {{ packet.extract(h.byte);"));
        line(&mut text, format_args!("        transition select(h.byte.value) {{"));
        line(
            &mut text,
            format_args!("            {}: state_{};", state % 200, (state + 1) % states),
        );
        text.push_str("            default: accept;\n        }\n    }\n");
    }
    text.push_str(
        "}
control MadeVerify(inout headers_t h, inout metadata_t m) { apply { } }
control MadeIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    apply { standard.egress_spec = 2; }
}
control MadeEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t standard) { apply { } }
control MadeUpdate(inout headers_t h, inout metadata_t m) { apply { } }
control MadeDeparser(packet_out packet, in headers_t h) { apply { packet.emit(h.byte); } }
V1Switch(MadeParser(), MadeVerify(), MadeIngress(), MadeEgress(), MadeUpdate(), MadeDeparser()) main;\n",
    );
    text
}

/// Returns a packet with Ethernet, IPv4, and three of the protocols above it.
fn packet() -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    packet.extend([0x45, 0, 0, 70, 0, 1, 0, 0, 64, 0, 0, 0, 10, 9, 9, 9, 10, 1, 2, 3]);
    for next in [1, 2, 0xff] {
        packet.extend([next, 0, 0, 5, 0, 0, 0, 7]);
    }
    packet.resize(84, 0x55);
    packet
}

/// Returns the source of a program with this number of features.
fn program(features: usize) -> String {
    let mut text = "#include <core.p4>\n#include <v1model.p4>\n\n".to_owned();
    headers(&mut text, features);
    parser(&mut text);
    text.push_str(
        "control MadeVerify(inout headers_t h, inout metadata_t m) {\n    apply { }\n}\n\n",
    );
    let half = features.div_ceil(2);
    control(&mut text, "Ingress", 0..half);
    control(&mut text, "Egress", half..features);
    text.push_str(
        "control MadeUpdate(inout headers_t h, inout metadata_t m) {\n    apply { }\n}\n\n",
    );
    text.push_str("control MadeDeparser(packet_out packet, in headers_t h) {\n    apply {\n");
    text.push_str("        packet.emit(h.ethernet);\n        packet.emit(h.ipv4);\n");
    for protocol in 0..PROTOCOLS {
        line(&mut text, format_args!("        packet.emit(h.protocol_{protocol});"));
    }
    text.push_str(
        "    }\n}\n\nV1Switch(\n    MadeParser(),\n    MadeVerify(),\n    MadeIngress(),\n",
    );
    text.push_str("    MadeEgress(),\n    MadeUpdate(),\n    MadeDeparser()) main;\n");
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = writeln!(text, "{arguments}");
}

fn headers(text: &mut String, features: usize) {
    text.push_str("header ethernet_t {\n    bit<48> destination;\n    bit<48> source;\n");
    text.push_str("    bit<16> ether_type;\n}\n\nheader ipv4_t {\n    bit<4> version;\n");
    text.push_str("    bit<4> length;\n    bit<8> service;\n    bit<16> total;\n    bit<16> id;\n");
    text.push_str("    bit<3> flags;\n    bit<13> fragment;\n    bit<8> hops;\n");
    text.push_str("    bit<8> protocol;\n    bit<16> checksum;\n    bit<32> source;\n");
    text.push_str("    bit<32> destination;\n}\n\n");
    for protocol in 0..PROTOCOLS {
        line(text, format_args!("header protocol_{protocol}_t {{"));
        text.push_str("    bit<8> next;\n    bit<8> flags;\n    bit<16> label;\n");
        text.push_str("    bit<32> number;\n}\n\n");
    }
    text.push_str("struct headers_t {\n    ethernet_t ethernet;\n    ipv4_t ipv4;\n");
    for protocol in 0..PROTOCOLS {
        line(text, format_args!("    protocol_{protocol}_t protocol_{protocol};"));
    }
    text.push_str("}\n\nstruct metadata_t {\n    bit<8> layers;\n");
    for feature in 0..features.div_ceil(4) {
        line(text, format_args!("    bit<16> class_{feature};"));
    }
    text.push_str("}\n\n");
}

fn parser(text: &mut String) {
    text.push_str("parser MadeParser(\n    packet_in packet,\n    out headers_t h,\n");
    text.push_str("    inout metadata_t m,\n    inout standard_metadata_t standard)\n{\n");
    text.push_str("    state start {\n        packet.extract(h.ethernet);\n");
    text.push_str("        transition select(h.ethernet.ether_type) {\n");
    text.push_str("            0x0800: ipv4;\n            default: accept;\n        }\n    }\n\n");
    text.push_str("    state ipv4 {\n        packet.extract(h.ipv4);\n");
    text.push_str("        transition select(h.ipv4.protocol) {\n");
    for protocol in 0..PROTOCOLS {
        line(text, format_args!("            {protocol}: protocol_{protocol};"));
    }
    text.push_str("            default: accept;\n        }\n    }\n\n");
    for protocol in 0..PROTOCOLS {
        line(text, format_args!("    state protocol_{protocol} {{"));
        line(text, format_args!("        packet.extract(h.protocol_{protocol});"));
        text.push_str("        m.layers = m.layers + 1;\n");
        line(text, format_args!("        transition select(h.protocol_{protocol}.next) {{"));
        for next in protocol + 1..PROTOCOLS.min(protocol + 4) {
            line(text, format_args!("            {next}: protocol_{next};"));
        }
        text.push_str("            default: accept;\n        }\n    }\n\n");
    }
    text.push_str("}\n\n");
}

fn control(text: &mut String, name: &str, features: std::ops::Range<usize>) {
    line(text, format_args!("control Made{name}("));
    text.push_str("    inout headers_t h,\n    inout metadata_t m,\n");
    text.push_str("    inout standard_metadata_t standard)\n{\n");
    text.push_str("    action discard() {\n        mark_to_drop(standard);\n    }\n\n");
    features.clone().for_each(|number| feature(text, number));
    text.push_str("    apply {\n");
    if name == "Ingress" {
        text.push_str("        standard.egress_spec = 2;\n");
    }
    for number in features {
        let (class, protocol) = (number / 4, number % PROTOCOLS);
        match number % 3 {
            0 => line(text, format_args!("        if (h.protocol_{protocol}.isValid()) {{")),
            1 => line(text, format_args!("        if (h.ipv4.isValid() && h.ipv4.hops > 1) {{")),
            _ => line(text, format_args!("        if (m.class_{class} < {}) {{", 100 + number)),
        }
        line(text, format_args!("            feature_{number}.apply();"));
        text.push_str("        }\n");
    }
    text.push_str("    }\n}\n\n");
}

fn feature(text: &mut String, number: usize) {
    let (class, protocol) = (number / 4, number % PROTOCOLS);
    let counts = number.is_multiple_of(4);
    if counts {
        line(
            text,
            format_args!("    direct_counter(CounterType.packets_and_bytes) hits_{number};\n"),
        );
    }
    let count = if counts { format!("        hits_{number}.count();\n") } else { String::new() };
    line(text, format_args!("    action classify_{number}(bit<16> class) {{"));
    line(text, format_args!("{count}        m.class_{class} = class;\n    }}\n"));
    line(text, format_args!("    action rewrite_{number}(bit<32> address, bit<16> label) {{"));
    line(text, format_args!("{count}        h.ipv4.destination = address;"));
    text.push_str("        h.ipv4.hops = h.ipv4.hops - 1;\n");
    line(text, format_args!("        h.protocol_{protocol}.label = label;"));
    line(text, format_args!("        if (h.protocol_{protocol}.number == {number}) {{"));
    line(text, format_args!("            m.class_{class} = m.class_{class} ^ label;"));
    text.push_str("        }\n    }\n\n");
    line(text, format_args!("    table feature_{number} {{\n        key = {{"));
    let key = match number % 3 {
        0 => "            h.ipv4.destination: exact;".to_owned(),
        1 => "            h.ipv4.destination: lpm;".to_owned(),
        _ => format!(
            "            h.ipv4.source: ternary;\n            h.protocol_{protocol}.label: ternary;"
        ),
    };
    line(text, format_args!("{key}\n            m.class_{class}: exact;\n        }}"));
    text.push_str("        actions = {\n");
    line(text, format_args!("            classify_{number};\n            rewrite_{number};"));
    text.push_str("            discard;\n            NoAction;\n        }\n");
    text.push_str("        default_action = NoAction();\n        size = 1024;\n");
    if counts {
        line(text, format_args!("        counters = hits_{number};"));
    }
    text.push_str("    }\n\n");
}
