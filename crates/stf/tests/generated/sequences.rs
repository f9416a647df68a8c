//! Tests with several packets, of which the later ones need what the earlier ones have written.

use super::programs::program;
use super::{compiled, failures, predicted, reached, run_all, script};
use ir::Program;
use pipeline::Switch;
use std::path::Path;
use stf::{Options as StfOptions, Script};
use symbolic::equivalence::{Difference, Equivalence, equivalent};
use symbolic::generated::{Output, Test};
use symbolic::goals::Kind;
use symbolic::search::{Options, Report, Verdict, find, search};
use symbolic::wanted::Wanted;

/// Returns a program for v1model.
pub(super) fn v1model(objects: &str, ingress: &str) -> String {
    let text = "#include <core.p4>
#include <v1model.p4>
header a_t { bit<8> x; bit<8> y; }
struct headers_t { a_t a; }
struct meta_t { bit<8> n; }
parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.a); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    OBJECTS
    apply {
        if (s.parser_error != error.NoError) {
            mark_to_drop(s);
            exit;
        }
        s.egress_spec = 1;
        INGRESS
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control U(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
";
    text.replace("OBJECTS", objects).replace("INGRESS", ingress)
}

/// A default action that no control plane can set, and that counts packets.
const COUNTING: &str = "
    action count(@__ref bit<8> n) { n = n + 1; m.n = n; }
    @tableconfig(impl = \"dpdk\")
    table counter {
        key = { h.a.x: exact; }
        actions = { @defaultonly count; }
        const default_action = count(0);
    }";

/// Three statements that the first, the third and the ninth packet reach.
const COUNTED: &str = "counter.apply();
        if (m.n == 1) { h.a.y = 0x11; }
        if (m.n == 3) { h.a.y = 0x33; s.egress_spec = 2; }
        if (m.n == 9) { h.a.y = 0x99; }";

pub(super) fn searched(program: &Program, packets: u32, starts_fresh: bool) -> Report {
    let options = Options { packets, starts_fresh, ..Options::default() };
    let report = ir::with_large_stack(|| search(program, &options, &mut |_| true));
    report.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the verdict on the last statement of the line that contains a text.
pub(super) fn verdict_on(report: &Report, source: &str, statement: &str) -> Verdict {
    let line = source.lines().position(|line| line.contains(statement)).expect("the statement") + 1;
    let line = line.to_string();
    let mut found = report.goals.iter().filter(|(goal, _)| {
        let place = goal.place.as_deref().unwrap_or_default();
        goal.kind == Kind::Statement && place.rsplit(':').nth(1) == Some(line.as_str())
    });
    found.next_back().map(|(_, verdict)| verdict.clone()).expect("a goal")
}

/// Returns the test that is the first to reach a statement.
pub(super) fn test_of<'r>(report: &'r Report, source: &str, statement: &str) -> &'r Test {
    let verdict = verdict_on(report, source, statement);
    let Verdict::Covered(number) = verdict else { panic!("{statement}: {verdict:?}") };
    report.tests.iter().find(|test| test.number == number).expect("the test")
}

/// Checks that tests pass in every way, and reach what they say.
pub(super) fn pass(program: &Program, report: &Report) {
    let reached = reached(&run_all(program, &report.tests, true));
    for (part, is_reached) in predicted(report) {
        if let Some(found) = reached.get(&part) {
            assert_eq!(*found, is_reached, "{part:?}");
        }
    }
}

#[test]
fn a_constant_default_action_counts_packets() {
    let text = v1model(COUNTING, COUNTED);
    let program = compiled(&text);
    let report = searched(&program, 3, false);
    pass(&program, &report);
    assert!(test_of(&report, &text, "h.a.y = 0x11;").earlier.is_empty());
    let third = test_of(&report, &text, "h.a.y = 0x33;");
    assert_eq!(third.earlier.len(), 2, "{}", third.stf());
    // The count of packets is that of packets which are long enough.
    let digits = |packet: &str, y: &str| format!("{}{y}{}", &packet[..2], &packet[4..]);
    let expected = Output { port: 2, digits: digits(&third.packet, "33") };
    assert_eq!(third.outputs, [expected], "{}", third.stf());
    let first = third.earlier.first().expect("a packet");
    let expected = Output { port: 1, digits: digits(&first.packet, "11") };
    assert_eq!(first.outputs, [expected], "{}", third.stf());
    // Nine packets would do it, so that this is no dead code.
    assert_eq!(verdict_on(&report, &text, "h.a.y = 0x99;"), Verdict::NotWithin(3));
    for packets in [1, 2] {
        let shorter = searched(&program, packets, false);
        assert_eq!(verdict_on(&shorter, &text, "h.a.y = 0x33;"), Verdict::NotWithin(packets));
    }
}

#[test]
fn packets_change_entries_in_the_source() {
    let objects = "
    action count(@__ref bit<8> n) { n = n + 1; m.n = n; }
    @tableconfig(impl = \"dpdk\")
    table counter {
        key = { h.a.x: exact; }
        actions = { count; NoAction; }
        const default_action = NoAction();
        const entries = { 7: count(0); 9: count(1); }
    }";
    let text = v1model(objects, COUNTED);
    let program = compiled(&text);
    let report = searched(&program, 3, false);
    pass(&program, &report);
    // Each entry counts alone, and that of key 9 begins at one.
    let test = test_of(&report, &text, "h.a.y = 0x33;");
    let keys: Vec<String> =
        test.exchanges().iter().map(|exchange| exchange.packet[..2].to_owned()).collect();
    assert_eq!(keys, ["09", "09"], "{}", test.stf());
    assert_eq!(verdict_on(&report, &text, "h.a.y = 0x99;"), Verdict::NotWithin(3));
}

/// An entry that matches two keys counts the packets of both. Tests have an entry for each key, so
/// they do not reach the statement, but it is not dead.
#[test]
fn arguments_that_several_keys_may_share_prove_nothing() {
    let of = |kind: &str| {
        let objects = format!(
            "action count(@__ref bit<8> n) {{ n = n + 1; m.n = n; }}
            table t {{
                key = {{ h.a.x: {kind}; }}
                actions = {{ count; NoAction; }}
                const default_action = NoAction();
            }}"
        );
        let ingress = "if (t.apply().hit) {
            bit<8> first = m.n;
            h.a.x = h.a.x + 1;
            t.apply();
            h.a.x = h.a.x - 1;
            t.apply();
            if (m.n == first + 2) {
                h.a.y = 0x22;
            }
        }";
        v1model(&objects, ingress)
    };
    let exact = of("exact");
    let report = searched(&compiled(&exact), 1, false);
    assert_eq!(verdict_on(&report, &exact, "h.a.y = 0x22;"), Verdict::Unreachable);
    let ternary = of("ternary");
    let program = compiled(&ternary);
    let report = searched(&program, 1, false);
    pass(&program, &report);
    let Verdict::GivenUp(reason) = verdict_on(&report, &ternary, "h.a.y = 0x22;") else {
        panic!("{:?}", report.goals);
    };
    assert!(reason.contains("several keys"), "{reason}");
    // Other goals have tests, although their packets look up two keys.
    let first = verdict_on(&report, &ternary, "h.a.x = h.a.x - 1;");
    assert!(matches!(first, Verdict::Covered(_)), "{first:?}");
    let reaches = "add I.t 1 h.a.x:0x00&&&0x00 I.count(n:0x00)\npacket 1 0000\nexpect 1 0022 $\n";
    let reaches = Script::parse(reaches).expect("a script");
    let mut switch = Switch::new(program).expect("a switch");
    let run = stf::run(&mut switch, &reaches, StfOptions::default());
    assert_eq!(failures(&run.expect("a run")), "");
}

/// A register that counts packets, and code that is dead whatever the register contains.
const REGISTER: &str = "
        bit<8> n;
        seen.read(n, 0);
        n = n + 1;
        seen.write(0, n);
        if (n == 3) { h.a.y = 0x33; }
        if (n * n == 3) { h.a.y = 0x44; }";

#[test]
fn a_register_counts_packets_if_no_test_writes_it() {
    let text = v1model("register<bit<8>>(1) seen;", REGISTER);
    let program = compiled(&text);
    let report = searched(&program, 3, true);
    pass(&program, &report);
    assert!(report.tests.iter().all(|test| test.registers.is_empty()));
    let third = test_of(&report, &text, "h.a.y = 0x33;");
    assert_eq!(third.earlier.len(), 2, "{}", third.stf());
    let shorter = searched(&program, 2, true);
    assert_eq!(verdict_on(&shorter, &text, "h.a.y = 0x33;"), Verdict::NotWithin(2));
    assert_eq!(verdict_on(&report, &text, "h.a.y = 0x44;"), Verdict::NotWithin(3));
}

/// A test may write the register, so one packet suffices, and a proof holds for any sequence.
#[test]
fn sequences_change_nothing_where_one_packet_suffices() {
    let text = v1model("register<bit<8>>(1) seen;", REGISTER);
    let program = compiled(&text);
    let report = searched(&program, 3, false);
    assert_eq!(report, searched(&program, 1, false));
    assert!(test_of(&report, &text, "h.a.y = 0x33;").earlier.is_empty());
    assert_eq!(verdict_on(&report, &text, "h.a.y = 0x44;"), Verdict::Unreachable);
}

/// Three knocks in order open the port: the first adds an entry, and the others change it.
#[test]
fn knocks_open_a_port() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/port_knocking.p4");
    let text = std::fs::read_to_string(path).expect("a program");
    let program = program("port_knocking.p4");
    let report = searched(&program, 3, true);
    pass(&program, &report);
    let test = test_of(&report, &text, "return OPEN;");
    assert!(test.entries.is_empty(), "{}", test.stf());
    let exchanges = test.exchanges();
    let field = |from: usize, to: usize| -> Vec<&str> {
        exchanges.iter().map(|exchange| &exchange.packet[2 * from..2 * to]).collect()
    };
    // The destination ports, the protocols and the senders of the packets.
    assert_eq!(field(36, 38), ["1b58", "1f40", "2328"], "{}", test.stf());
    assert_eq!(field(23, 24), ["11"; 3], "{}", test.stf());
    let senders = field(26, 30);
    assert!(senders.iter().all(|sender| *sender == senders[0]), "{}", test.stf());
    let shorter = searched(&program, 2, true);
    assert_eq!(verdict_on(&shorter, &text, "return OPEN;"), Verdict::NotWithin(2));
}

#[test]
fn the_last_packet_of_a_sequence_does_what_is_wished() {
    let program = compiled(&v1model(COUNTING, COUNTED));
    let found = |packets: u32| {
        let options = Options { packets, ..Options::default() };
        let wish: Wanted = "port 2".parse().expect("a wish");
        let report = ir::with_large_stack(|| find(&program, &wish, None, &options));
        report.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    let report = found(3);
    let [test] = report.tests.as_slice() else { panic!("{report:?}") };
    assert_eq!(test.earlier.len(), 2, "{}", test.stf());
    assert!(test.outputs.iter().all(|output| output.port == 2) && !test.outputs.is_empty());
    run_all(&program, &report.tests, true);
    let shorter = found(2);
    let verdicts: Vec<Verdict> = shorter.goals.into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, [Verdict::NotWithin(2)]);
}

/// The programs transmit the same first packet, and leave other arguments for the second.
#[test]
fn programs_that_differ_in_what_they_leave_are_told_apart() {
    let of = |step: &str| {
        let text = v1model(COUNTING, "counter.apply(); h.a.y = m.n;");
        compiled(&text.replace("n = n + 1; m.n = n;", step))
    };
    let (first, second) = (of("m.n = n; n = n + 1;"), of("m.n = n; n = n + 2;"));
    let verdict = |packets: u32| {
        let options = Options { packets, ..Options::default() };
        let verdict = ir::with_large_stack(|| equivalent(&first, &second, &options));
        verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(matches!(verdict(1), Equivalence::Equal { .. }));
    let Equivalence::Different(difference) = verdict(3) else { panic!("no difference") };
    let Difference { first: of_first, second: of_second } = *difference;
    let passes = |program: &Program, test: &Test| {
        let mut switch = Switch::new(program.clone()).expect("a switch");
        match stf::run(&mut switch, &script(test), StfOptions::default()) {
            Ok(report) => failures(&report).is_empty(),
            Err((line, error)) => panic!("line {line}: {error}\n{}", test.stf()),
        }
    };
    assert!(!of_first.earlier.is_empty(), "{}", of_first.stf());
    assert!(passes(&first, &of_first), "{}", of_first.stf());
    assert!(passes(&second, &of_second), "{}", of_second.stf());
    assert!(!passes(&second, &of_first), "{}", of_first.stf());
}
