//! Tests of programs for PSA and PNA, with expectations that were made by hand.

use super::{compiled, generated, predicted, reached, run_all, run_all_as};
use ir::{Architecture, Program};
use symbolic::equivalence::{Equivalence, equivalent};
use symbolic::generated::{Output, Test};
use symbolic::search::{Options, Report, Verdict, find};
use symbolic::wanted::Wanted;

/// A program for PSA whose parsers and deparsers have the same headers on both sides.
fn psa(objects: &str, ingress: &str, egress: &str) -> String {
    let text = "#include <core.p4>
#include <psa.p4>
header a_t { bit<8> x; }
header b_t { bit<16> y; }
struct headers_t { a_t a; b_t b; }
struct meta_t { bit<8> m; }
struct none_t { }
parser IP(packet_in packet, out headers_t h, inout meta_t m,
          in psa_ingress_parser_input_metadata_t i, in none_t r, in none_t c) {
    state start { packet.extract(h.a); transition select(h.a.x) { 1: more; default: accept; } }
    state more { packet.extract(h.b); transition accept; }
}
control I(inout headers_t h, inout meta_t m, in psa_ingress_input_metadata_t i,
          inout psa_ingress_output_metadata_t o) {
    OBJECTS
    apply { INGRESS }
}
control ID(packet_out packet, out none_t c, out none_t r, out none_t n, inout headers_t h,
           in meta_t m, in psa_ingress_output_metadata_t o) { apply { packet.emit(h); } }
parser EP(packet_in packet, out headers_t h, inout meta_t m,
          in psa_egress_parser_input_metadata_t i, in none_t n, in none_t c, in none_t e) {
    state start { packet.extract(h.a); transition select(h.a.x) { 1: more; default: accept; } }
    state more { packet.extract(h.b); transition accept; }
}
control E(inout headers_t h, inout meta_t m, in psa_egress_input_metadata_t i,
          inout psa_egress_output_metadata_t o) { apply { EGRESS } }
control ED(packet_out packet, out none_t c, out none_t r, inout headers_t h, in meta_t m,
           in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t d) {
    apply { packet.emit(h); }
}
IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
";
    text.replace("OBJECTS", objects).replace("INGRESS", ingress).replace("EGRESS", egress)
}

/// A program for PNA.
pub(super) fn pna(objects: &str, main: &str) -> String {
    let text = "#include <core.p4>
#include <pna.p4>
header a_t { bit<8> x; }
struct headers_t { a_t a; }
struct meta_t { bit<8> m; }
parser P(packet_in packet, out headers_t h, inout meta_t m,
         in pna_main_parser_input_metadata_t i) {
    state start { packet.extract(h.a); transition accept; }
}
control C(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t i,
          inout pna_main_output_metadata_t o) {
    OBJECTS
    apply { MAIN }
}
control D(packet_out packet, in headers_t h, in meta_t m, in pna_main_output_metadata_t o) {
    apply { packet.emit(h); }
}
PNA_NIC(P(), C(), D()) main;
";
    text.replace("OBJECTS", objects).replace("MAIN", main)
}

/// Checks that tests pass in every way and reach what they say, in PSA by both sets of rules.
fn pass(program: &Program, report: &Report) {
    let coverage = run_all(program, &report.tests, true);
    if program.architecture == Architecture::Psa {
        run_all_as(program, &report.tests, true, true);
    }
    let reached = reached(&coverage);
    for (part, is_reached) in predicted(report) {
        if let Some(found) = reached.get(&part) {
            assert_eq!(*found, is_reached, "{part:?}");
        }
    }
}

/// Returns the verdict on a wish, and its test.
fn wish(program: &Program, goal: &str) -> (Verdict, Option<Test>) {
    let goal: Wanted = goal.parse().expect("a wish");
    let found = ir::with_large_stack(|| find(program, &goal, None, &Options::default()));
    let mut report = found.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    let (_, verdict) = report.goals.pop().expect("a goal");
    (verdict, report.tests.pop())
}

/// Returns the verdict on the statement that begins with a text.
fn verdict_on(report: &Report, text: &str, statement: &str) -> Verdict {
    let line = text.lines().position(|line| line.contains(statement)).expect("the statement") + 1;
    let wanted = format!("test.p4:{line}:");
    let mut found = report.goals.iter().filter(|(goal, _)| goal.name.starts_with(&wanted));
    found.next_back().map(|(_, verdict)| verdict.clone()).expect("a goal")
}

#[test]
fn a_psa_program_that_writes_nothing_drops() {
    let program = compiled(&psa("", "", ""));
    let report = generated(&program, 1);
    assert!(!report.tests.is_empty());
    for test in &report.tests {
        assert!(test.outputs.is_empty(), "{}", test.stf());
    }
    pass(&program, &report);
    // Egress is dead, and no packet leaves.
    let leaves = wish(&program, "!drop");
    assert_eq!(leaves, (Verdict::Unreachable, None));
    let egress = report.goals.iter().find(|(goal, _)| goal.name == "EP.start");
    assert_eq!(egress.map(|(_, verdict)| verdict), Some(&Verdict::Unreachable));
}

#[test]
fn a_psa_program_forwards_what_it_does_not_drop() {
    let program = compiled(&psa(
        "",
        "if (h.a.x != 7) { send_to_port(o, (PortId_t) 3); }",
        "if (h.a.x == 9) { egress_drop(o); }",
    ));
    let report = generated(&program, 1);
    pass(&program, &report);
    let mut sent = 0;
    for test in &report.tests {
        // A packet without its first byte has an undefined header, and tests of it do not exist.
        let drops = test.packet.starts_with("07") || test.packet.starts_with("09");
        let forwarded = Output { port: 3, digits: test.packet.clone() };
        let expected = if drops { Vec::new() } else { vec![forwarded] };
        assert_eq!(test.outputs, expected, "{}", test.stf());
        sent += expected.len();
    }
    assert!(sent > 0);
}

/// Egress starts with the class of service that ingress left, but with undefined metadata.
#[test]
fn a_psa_packet_carries_its_class_to_egress_and_no_metadata() {
    let program = compiled(&psa(
        "",
        "send_to_port(o, (PortId_t) 1); o.class_of_service = (ClassOfService_t) 5; m.m = h.a.x;",
        "if ((ClassOfServiceUint_t) i.class_of_service == 5) {
            h.a.x[7:4] = h.a.x[7:4] + 1;
            h.a.x[3:0] = m.m[3:0];
        }",
    ));
    let report = generated(&program, 1);
    pass(&program, &report);
    let mut changed = 0;
    for test in report.tests.iter().filter(|test| !test.packet.is_empty()) {
        let first = u8::from_str_radix(&test.packet[..1], 16).expect("a digit");
        let digits = format!("{:x}*{}", first.wrapping_add(1) & 0xf, &test.packet[2..]);
        assert_eq!(test.outputs, [Output { port: 1, digits }], "{}", test.stf());
        changed += 1;
    }
    assert!(changed > 0);
}

/// PSA and PNA do not say what the user's metadata are when a parser begins. The tests therefore
/// pass on a switch that fills them with zeros, and on one that fills them with ones.
#[test]
fn tests_pass_whatever_the_metadata_are_at_the_start() {
    let of_psa = psa(
        "",
        "send_to_port(o, (PortId_t) 1);
        if (h.b.isValid()) { h.b.y[7:0] = m.m; }
        if (h.a.x == 9 && m.m == 0) { o.egress_port = (PortId_t) 2; }",
        "if (h.b.isValid()) { h.b.y[15:8] = m.m; }",
    );
    let of_pna = pna(
        "",
        "send_to_port((PortId_t) 1);
        if (h.a.x == 9 && m.m == 0) { send_to_port((PortId_t) 2); }
        if (h.a.x == 2) { h.a.x = m.m; }",
    );
    for (text, undefined) in [(of_psa, 4), (of_pna, 2)] {
        let program = compiled(&text);
        let report = generated(&program, 1);
        pass(&program, &report);
        let masked = report.tests.iter().map(|test| test.masked().1).max();
        assert_eq!(masked, Some(undefined), "{text}");
        // No test expects port 2, which depends on the metadata.
        let verdict = verdict_on(&report, &text, "(PortId_t) 2");
        assert!(matches!(verdict, Verdict::GivenUp(_)), "{verdict:?}");
        for value in ["8w0", "8w0xff"] {
            let fills = format!("state start {{ m.m = {value}; ");
            let filled = text.replace("state start { ", &fills);
            assert_ne!(filled, text);
            run_all(&compiled(&filled), &report.tests, true);
        }
    }
}

#[test]
fn copies_and_further_passes_of_psa() {
    let text = psa(
        "",
        "send_to_port(o, (PortId_t) 2);
        if (h.a.x == 2) { multicast(o, (MulticastGroup_t) 9); }
        if (h.a.x == 3) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 4; }
        if (h.a.x == 4) {
            if (i.packet_path == PSA_PacketPath_t.NORMAL) { o.resubmit = true; }
        }
        if (h.a.x == 5) { o.egress_port = PSA_PORT_RECIRCULATE; }
        if (i.packet_path == PSA_PacketPath_t.RECIRCULATE) { h.a.x = 0x66; }",
        "if (i.packet_path == PSA_PacketPath_t.CLONE_I2E) { h.a.x = 0x33; }
        if (i.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST) { h.a.x = 0x22; }
        if ((PortIdUint_t) i.egress_port == (PortIdUint_t) PSA_PORT_RECIRCULATE) { h.a.x = 6; }",
    );
    let program = compiled(&text);
    let report = generated(&program, 1);
    pass(&program, &report);
    for statement in ["h.a.x = 0x66", "h.a.x = 6;", "h.a.x = 0x33", "o.resubmit = true"] {
        let verdict = verdict_on(&report, &text, statement);
        assert!(matches!(verdict, Verdict::Covered(_)), "{statement}: {verdict:?}");
    }
    for wanted in ["clone", "resubmit", "recirculate"] {
        let (verdict, test) = wish(&program, wanted);
        assert_eq!(verdict, Verdict::Covered(1), "{wanted}");
        let test = test.expect("a test");
        run_all(&program, &[test], true);
    }
    let (_, test) = wish(&program, "clone && port 77");
    let test = test.expect("a test");
    assert_eq!(test.sessions.first().map(|session| (session.session, session.port)), Some((4, 77)));
    let copy = test.outputs.iter().find(|output| output.port == 77).expect("a copy");
    assert!(copy.digits.starts_with("33"), "{}", test.stf());
    run_all(&program, &[test], true);
}

#[test]
fn the_objects_of_psa() {
    let text = psa(
        "Register<bit<16>, bit<8>>(4, 16w5) seen;
        Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) hash;
        InternetChecksum() sum;
        Counter<bit<32>, bit<8>>(8, PSA_CounterType_t.PACKETS) counter;",
        "send_to_port(o, (PortId_t) 1);
        if (h.b.isValid()) {
            bit<16> known = seen.read(2);
            counter.count(1);
            if (known == 5) { h.b.y = hash.get_hash({ h.a.x, h.b.y, 4w3 }); }
            else if (known == 6) { h.b.y = hash.get_hash(16w100, { h.b.y }, 16w10); }
            else { sum.clear(); sum.add({ h.b.y, 16w7 }); sum.subtract({ known }); h.b.y = sum.get(); }
            seen.write(2, known + 1);
            if (seen.read(2) == known) { h.a.x = 0x99; }
        }",
        "",
    );
    let program = compiled(&text);
    let report = generated(&program, 1);
    pass(&program, &report);
    assert_eq!(verdict_on(&report, &text, "h.a.x = 0x99"), Verdict::Unreachable);
    let masked: usize = report.tests.iter().map(|test| test.masked().1).sum();
    assert_eq!(masked, 0);
    // A cell holds the initial value unless the test writes it.
    let written = |test: &Test| test.registers.iter().any(|cell| cell.value == "0x5");
    assert!(!report.tests.iter().any(written));
    assert!(report.tests.iter().any(|test| !test.registers.is_empty()));
}

/// No test expects a packet on port 0, or a clone for session 0, that the program does not choose.
#[test]
fn the_initial_port_and_session_of_psa_are_undefined() {
    for (ingress, goal) in [("o.drop = false;", "!drop"), ("o.clone = true;", "clone")] {
        let program = compiled(&psa("", ingress, ""));
        let (verdict, test) = wish(&program, goal);
        assert!(matches!(verdict, Verdict::GivenUp(_)), "{ingress} {verdict:?}");
        assert_eq!(test, None, "{ingress}");
    }
}

#[test]
fn undefined_digits_of_psa() {
    let text = psa(
        "Random<bit<8>>(0, 255) random;",
        "send_to_port(o, (PortId_t) 1); h.a.x = random.read();",
        "h.b.setValid();",
    );
    let program = compiled(&text);
    let (verdict, test) = wish(&program, "port 1 && !error PacketTooShort");
    // Egress parses the random number, so that the layout of the packet is undefined.
    assert!(matches!(verdict, Verdict::GivenUp(_)), "{verdict:?}");
    assert_eq!(test, None);

    let text = psa(
        "Random<bit<16>>(0, 255) random;",
        "send_to_port(o, (PortId_t) 1); h.b.setValid(); h.a.x = 1; h.b.y = random.read();",
        "",
    );
    let program = compiled(&text);
    let report = generated(&program, 1);
    pass(&program, &report);
    let masked = report.tests.iter().filter(|test| test.masked().1 == 4).count();
    assert!(masked > 0, "{:?}", report.tests);
}

#[test]
fn meters_that_are_not_green_are_given_up() {
    let text = psa(
        "Meter<bit<8>>(4, PSA_MeterType_t.PACKETS) meter;",
        "send_to_port(o, (PortId_t) 1);
        if (meter.execute(1) == PSA_MeterColor_t.RED) {
            m.m = 1;
        }",
        "",
    );
    let program = compiled(&text);
    let report = generated(&program, 1);
    pass(&program, &report);
    let Verdict::GivenUp(reason) = verdict_on(&report, &text, "m.m = 1;") else {
        panic!("{:?}", report.goals);
    };
    assert!(reason.contains("green"), "{reason}");
    assert!(report.cuts.iter().any(|cut| cut.contains("green")), "{:?}", report.cuts);
}

/// Each program has inputs of its own for the colours, which no configuration can choose.
#[test]
fn colours_of_meters_are_no_difference_between_programs() {
    let program = compiled(&psa(
        "Meter<bit<8>>(4, PSA_MeterType_t.PACKETS) meter;",
        "send_to_port(o, (PortId_t) 1);
        if (meter.execute(1) == PSA_MeterColor_t.RED) { h.a.x = 2; }",
        "",
    ));
    let verdict = ir::with_large_stack(|| equivalent(&program, &program, &Options::default()));
    let verdict = verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(verdict, Equivalence::Undecided(_)), "{verdict:?}");
}

/// Returns the verdict on two programs for PSA, whose tests of a difference pass.
fn verdict(texts: [&str; 2]) -> Equivalence {
    let [first, second] = texts.map(compiled);
    let verdict = ir::with_large_stack(|| equivalent(&first, &second, &Options::default()));
    let verdict = verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    if let Equivalence::Different(difference) = &verdict {
        run_all(&first, std::slice::from_ref(&difference.first), false);
        run_all(&second, std::slice::from_ref(&difference.second), false);
    }
    verdict
}

/// Each session and group has a member of its own, so programs that copy to other ones differ.
#[test]
fn programs_that_copy_are_compared() {
    let clones = |first: u8, second: u8| {
        let ingress = format!("o.clone = true; o.clone_session_id = (CloneSessionId_t) {first};");
        let egress = format!(
            "if (i.egress_port == PSA_PORT_RECIRCULATE) {{ o.drop = true; }}
             else if (i.packet_path == PSA_PacketPath_t.CLONE_I2E) {{
                 o.clone = true; o.clone_session_id = (CloneSessionId_t) {second};
             }}"
        );
        psa("", &ingress, &egress)
    };
    let replicates = |group: u8| {
        let ingress = format!("o.drop = false; o.multicast_group = (MulticastGroup_t) {group};");
        psa("", &ingress, "if (i.egress_port == PSA_PORT_RECIRCULATE) { o.drop = true; }")
    };
    for text in [clones(1, 2), clones(3, 3), replicates(4)] {
        let found = verdict([&text, &text]);
        assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    }
    for texts in [[clones(1, 2), clones(2, 1)], [replicates(4), replicates(5)]] {
        let [first, second] = &texts;
        let found = verdict([first, second]);
        assert!(matches!(found, Equivalence::Different(_)), "{found:?}");
    }
}

#[test]
fn a_pna_program_that_sends_nowhere_drops() {
    let program = compiled(&pna("", ""));
    let report = generated(&program, 1);
    pass(&program, &report);
    for test in &report.tests {
        assert!(test.outputs.is_empty(), "{}", test.stf());
    }
    assert_eq!(wish(&program, "!drop"), (Verdict::Unreachable, None));

    // The last call counts.
    let program = compiled(&pna("", "drop_packet(); send_to_port((PortId_t) 5);"));
    let report = generated(&program, 1);
    pass(&program, &report);
    for test in &report.tests {
        let forwarded = Output { port: 5, digits: test.packet.clone() };
        assert_eq!(test.outputs, [forwarded], "{}", test.stf());
    }
    assert_eq!(wish(&program, "drop"), (Verdict::Unreachable, None));
}

const ADDING: &str = "
    action known(bit<8> value) { m.m = value; }
    action unknown() {
        m.m = 0;
        add_entry(action_name = \"known\", action_params = (arguments_t) { value = h.a.x + 1 },
                  expire_time_profile_id = (ExpireTimeProfileId_t) 0);
    }
    table t {
        key = { h.a.x: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
        size = 64;
    }";

/// A packet finds the entry that it has added, so that three parts of the program are dead.
#[test]
fn packets_find_the_entries_that_they_add() {
    let text = pna(
        ADDING,
        "if (!t.apply().hit) {
            if (t.apply().hit) {
                h.a.x = m.m;
                send_to_port((PortId_t) 4);
            } else {
                h.a.x = 0xdd;
            }
        }",
    );
    let text = text.replace("struct meta_t", "struct arguments_t { bit<8> value; }\nstruct meta_t");
    let program = compiled(&text);
    let report = generated(&program, 1);
    pass(&program, &report);
    assert_eq!(verdict_on(&report, &text, "h.a.x = 0xdd"), Verdict::Unreachable);
    let (_, test) = wish(&program, "port 4 && !error PacketTooShort");
    let test = test.expect("a test");
    assert!(test.entries.is_empty(), "{}", test.stf());
    let first = u8::from_str_radix(&test.packet[..2], 16).expect("a byte");
    let expected = format!("{:02x}{}", first.wrapping_add(1), &test.packet[2..]);
    assert_eq!(test.outputs, [Output { port: 4, digits: expected }]);
}

/// A program for version 0.5 of PNA, which has a pre control, directions and recirculation.
const RECIRCULATING: &str = "#include <core.p4>
#include <dpdk/pna.p4>
header a_t { bit<8> x; }
struct headers_t { a_t a; }
struct meta_t { bit<8> m; }
parser P(packet_in packet, out headers_t h, inout meta_t m,
         in pna_main_parser_input_metadata_t i) {
    state start { packet.extract(h.a); transition accept; }
}
control Pre(in headers_t h, inout meta_t m, in pna_pre_input_metadata_t i,
            inout pna_pre_output_metadata_t o) {
    apply { m.m = h.a.x; }
}
control C(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t i,
          inout pna_main_output_metadata_t o) {
    apply {
        send_to_port((PortId_t) 1);
        if (m.m == 1) { mirror_packet((MirrorSlotId_t) 0, (MirrorSessionId_t) 6); }
        if (m.m == 2) { h.a.x = 3; recirculate(); }
        if (m.m == 3 && (PassNumberUint_t) i.pass == 1) {
            h.a.x = 5;
        }
        if (i.direction == PNA_Direction_t.HOST_TO_NET) {
            h.a.x = 0x77;
        }
    }
}
control D(packet_out packet, in headers_t h, in meta_t m, in pna_main_output_metadata_t o) {
    apply { packet.emit(h); }
}
PNA_NIC(P(), Pre(), C(), D()) main;
";

#[test]
fn mirrored_and_recirculated_packets_of_pna() {
    let program = compiled(RECIRCULATING);
    let report = generated(&program, 1);
    pass(&program, &report);
    let again = verdict_on(&report, RECIRCULATING, "h.a.x = 5;");
    assert!(matches!(again, Verdict::Covered(_)), "{again:?}");
    let twice: Vec<&Test> =
        report.tests.iter().filter(|test| test.packet.starts_with("02")).collect();
    assert!(!twice.is_empty());
    for test in twice {
        let digits = format!("05{}", &test.packet[2..]);
        assert_eq!(test.outputs, [Output { port: 1, digits }], "{}", test.stf());
    }
    // No script can say which ports are those of the host.
    let of_host = verdict_on(&report, RECIRCULATING, "h.a.x = 0x77;");
    let Verdict::GivenUp(reason) = &of_host else { panic!("{of_host:?}") };
    assert!(reason.contains("host"), "{reason}");

    let (_, test) = wish(&program, "clone && port 66");
    let test = test.expect("a test");
    assert_eq!(test.sessions.first().map(|session| (session.session, session.port)), Some((6, 66)));
    run_all(&program, &[test], true);
}
