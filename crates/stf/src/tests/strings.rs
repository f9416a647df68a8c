//! Tests of strings of translated types in scripts, on a program whose VRFs, next hops and ports
//! have them.

use std::sync::Arc;

use super::*;
use entities::PortNames;
use p4runtime::p4info::Schema;

const VRF: &str = include_str!("../../../../programs/vrf.p4");

/// Runs a script on a program.
fn run_on(program: &str, script: &str) -> Result<Report, (usize, StfError)> {
    let compiled =
        p4lang::compile_text("vrf.p4", program, &Preprocessor::default(), &MemoryFiles::default());
    let program = compiled.program.expect("it compiles");
    let p4info = p4lang::p4info::generate(&program).expect("it has a P4Info");
    let schema = Schema::new(p4info).expect("it is right");
    let types = pipeline::translated_types(schema.objects(), &program, &PortNames::default())
        .expect("types");
    let mut switch = Switch::new(program).expect("it loads");
    switch.set_translated(Arc::new(types));
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    run(&mut switch, &script, Options { every_port: true, ..Options::default() })
}

fn failures_of(script: &str) -> String {
    let report = run_on(VRF, script).unwrap_or_else(|(line, error)| panic!("{line}: {error}"));
    let failures = report.failures.iter().map(|failure| report.describe(failure));
    failures.chain(report.notes.iter().map(|(line, note)| format!("{line}: {note}\n"))).collect()
}

/// A packet to 10.0.2.2 from port 1, and what leaves.
const ARRIVES: &str =
    "0000000000ee 0000000000ff 0800 4500001712340000401151a00a0001010a000202 010203";
const LEAVES: &str =
    "0000000000b2 0000000000f2 0800 45000017123400003f1152a00a0001010a000202 010203 $";

/// Strings and numbers of one script meet where they mean the same: `default` is 1 by the program,
/// and a decimal string is the port of its number.
#[test]
fn strings_have_the_numbers_of_the_program_and_the_least_free_ones() {
    let routes = "
        add vrf_of 10 port:\"1\" src:0x0000000000ff set_vrf(vrf:\"default\")
        add routes vrf:1 dst:10.0.0.0/8 set_nexthop(nexthop:\"to b\")
        add nexthops nexthop:\"to b\" forward(port:\"2\", src:0xf2, dst:0xb2)";
    for (packet, expect) in [("1", "2"), ("\"1\"", "\"2\"")] {
        let packets = format!("packet {packet} {ARRIVES}\nexpect {expect} {LEAVES}\n");
        assert_eq!(failures_of(&format!("{routes}\n{packets}")), "");
    }
    // Without a route, the controller gets the numbers of the port and the VRF.
    let script = format!(
        "add vrf_of 10 port:\"1\" set_vrf(vrf:\"vrf-80\")
        packet 1 {ARRIVES}
        expect 255 00800081 {ARRIVES} $"
    );
    assert_eq!(failures_of(&script), "", "vrf-80 is 2, since 0 and 1 are given");
}

/// A string gets no number that the script itself uses, before or behind the string.
#[test]
fn numbers_of_the_script_are_assigned_to_no_string() {
    let script = format!(
        "add vrf_of 10 port:uplink set_vrf(vrf:1)
        add routes vrf:1 dst:10.0.0.0/8 set_nexthop(nexthop:\"first\")
        add nexthops nexthop:0 forward(port:9, src:0, dst:0)
        add nexthops nexthop:1 forward(port:9, src:0, dst:0)
        add nexthops nexthop:\"first\" forward(port:\"leaf\", src:0xf2, dst:0xb2)
        mirroring_add 1 0
        packet \"up #1\" {ARRIVES}   # a comment
        expect \"leaf\" {LEAVES}"
    )
    .replace("port:uplink", "port:\"up #1\"");
    assert_eq!(failures_of(&script), "");
    // Port 0 is that of the session, so the packet does not arrive there.
    let other = script.replace("packet \"up #1\"", "packet 0");
    let failures = failures_of(&other);
    assert!(failures.contains("no packet left by port \"leaf\" ("), "{failures}");
}

#[test]
fn strings_without_a_number_are_errors() {
    let error = |script: &str| {
        let error = run_on(VRF, script).expect_err(script);
        format!("{}: {}", error.0, error.1)
    };
    for (script, expected) in [
        (
            "add vrf_of 1 src:\"x\" set_vrf(vrf:1)",
            "1: the key src takes no string, so \"x\" has no number; write a number",
        ),
        (
            "\nadd nexthops nexthop:1 forward(port:1, src:\"x\", dst:1)",
            "2: the parameter src of ingress.forward takes no string, so \"x\" has no number; write a number",
        ),
        ("add vrf_of 1 port:\"600\" set_vrf(vrf:1)", "the port 600 needs more than the 9 bits"),
        ("add vrf_of 1 port:\"\" set_vrf(vrf:1)", "1: "),
    ] {
        let found = error(script);
        assert!(found.contains(expected), "{found}");
    }
    let narrow = VRF.replace("type bit<12> nexthop_id_t", "type bit<1> nexthop_id_t");
    let script = "add nexthops nexthop:\"a\" forward(port:1, src:1, dst:1)
        add nexthops nexthop:\"b\" forward(port:1, src:1, dst:1)
        add nexthops nexthop:\"c\" forward(port:1, src:1, dst:1)";
    let (line, error) = run_on(&narrow, script).expect_err("two numbers");
    assert!(
        (line, error.to_string().contains("all numbers of the 1 bits")) == (3, true),
        "{error}"
    );
    // A switch without a P4Info has no strings.
    let script = Script::parse("packet \"Ethernet0\" 00").expect("a script");
    let (_, error) = run(&mut switch(), &script, Options::default()).expect_err("no strings");
    assert!(error.to_string().starts_with("the port takes no string, so \"Ethernet0\""), "{error}");
}

#[test]
fn strings_have_quotes_and_escapes() {
    let kind = |text: &str| Script::parse(text).map(|script| script.statements[0].kind.clone());
    let StatementKind::Packet { port, .. } =
        kind(r#"packet "a \"b\" \\ # c" 00 # d"#).expect("a script")
    else {
        panic!("no packet")
    };
    assert_eq!(port, PortOperand::Text(r#"a "b" \ # c"#.to_owned()));
    let StatementKind::NodeCreate { ports, lags, .. } =
        kind(r#"mc_node_create 7 "a" 2 "b | c" | 3"#).expect("a script")
    else {
        panic!("no node")
    };
    let text = |text: &str| PortOperand::Text(text.to_owned());
    assert_eq!((ports, lags), (vec![text("a"), PortOperand::Number(2), text("b | c")], vec![3]));
    for (script, expected) in [
        ("packet \"a 00", "line 1, column 8: the string has no closing quote"),
        (r#"packet "a\n" 00"#, "line 1, column 10: in a string, a backslash"),
        ("expect \"a\" \"b\"", "line 1, column 12: expected hexadecimal digits"),
    ] {
        let errors = Script::parse(script).expect_err(script);
        assert!(errors[0].to_string().starts_with(expected), "{}", errors[0]);
    }
}
