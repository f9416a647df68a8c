//! Tests that a program read from BMv2 JSON processes packets as simple_switch would.

use pipeline::Switch;

const FEATURES: &str = include_str!("../../p4lang/tests/bmv2/features.json");

const SCRIPT: &str = "
# Routed by the longest prefix; classified by the entries in the JSON; the checksum is updated.
add ingress.route ip.dst:0x0a000000/8 ingress.forward(port:2, mac:0x7)
add ingress.route ip.dst:0x0a010000/16 ingress.forward(port:3, mac:0x9)
packet 1 000000000001 000000000002 0800 40 06 0000 0a000001
expect 2 000000000007 000000000002 0800 3f 63 b69b 0a000001$
packet 1 000000000001 000000000002 0800 40 06 0000 0a010001
expect 3 000000000009 000000000002 0800 3f 63 b69a 0a010001$
# No route: dropped.
packet 1 000000000001 000000000002 0800 40 06 0000 0b000001
# A varbit field, extracted with a length that was looked ahead, removed by the action.
packet 1 000000000001 000000000002 0800 40 11 0000 0a000001 03 112233 99
expect 2 000000000007 000000000002 0800 3f 63 b69b 0a000001 99$
# Two tags, then the union: not an IP packet, so nothing routes it.
packet 1 000000000001 000000000002 8100 0001 8002 05 77
expect 0 000000000001 000000000002 8100 **** 0001 **** 05 77$
";

#[test]
fn a_program_in_json_passes_its_script() {
    let program = p4lang::bmv2::load_bmv2_json(FEATURES).expect("the program is read");
    let mut switch = Switch::new(program).expect("the program is loaded");
    let script = stf::Script::parse(SCRIPT).expect("the script is read");
    let report = stf::run(&mut switch, &script, stf::Options::default()).expect("it fits");
    let failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
