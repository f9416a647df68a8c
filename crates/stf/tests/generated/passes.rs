//! Equivalence of programs for PSA in which a packet may pass through the program any number of
//! times.

use super::{compiled, run_all};
use symbolic::equivalence::{Equivalence, equivalent};
use symbolic::search::Options;

/// A program that counts the passes of a packet in its metadata. The packet recirculates as often
/// as its first byte says.
const PROGRAM: &str = "#include <core.p4>
#include <psa.p4>
header a_t { bit<8> count; bit<8> x; }
struct headers_t { a_t a; }
struct meta_t { bit<8> m; }
struct again_t { bit<8> seen; }
struct none_t { }
parser IP(packet_in packet, out headers_t h, inout meta_t m,
          in psa_ingress_parser_input_metadata_t i, in again_t r, in again_t c) {
    state start {
        packet.extract(h.a);
        m.m = 0;
        transition select(i.packet_path) {
            PSA_PacketPath_t.RESUBMIT: resubmitted;
            PSA_PacketPath_t.RECIRCULATE: recirculated;
            default: accept;
        }
    }
    state resubmitted { m.m = r.seen; transition accept; }
    state recirculated { m.m = c.seen; transition accept; }
}
control I(inout headers_t h, inout meta_t m, in psa_ingress_input_metadata_t i,
          inout psa_ingress_output_metadata_t o) {
    OBJECTS
    apply {
        m.m = m.m + 1;
        if (h.a.count == 0) {
            send_to_port(o, (PortId_t) 1);
        } else {
            h.a.count = h.a.count - 1;
            send_to_port(o, PSA_PORT_RECIRCULATE);
        }
        INGRESS
    }
}
control ID(packet_out packet, out none_t c, out again_t r, out again_t n, inout headers_t h,
           in meta_t m, in psa_ingress_output_metadata_t o) {
    apply { r.seen = m.m; n.seen = m.m; packet.emit(h); }
}
parser EP(packet_in packet, out headers_t h, inout meta_t m,
          in psa_egress_parser_input_metadata_t i, in again_t n, in none_t c, in again_t e) {
    state start { packet.extract(h.a); m.m = 0; transition select(i.packet_path) {
        PSA_PacketPath_t.CLONE_E2E: cloned;
        PSA_PacketPath_t.NORMAL_UNICAST: normal;
        default: accept;
    } }
    state cloned { m.m = e.seen; transition accept; }
    state normal { m.m = n.seen; transition accept; }
}
control E(inout headers_t h, inout meta_t m, in psa_egress_input_metadata_t i,
          inout psa_egress_output_metadata_t o) { apply { EGRESS } }
control ED(packet_out packet, out again_t c, out again_t r, inout headers_t h, in meta_t m,
           in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t d) {
    apply { c.seen = m.m; r.seen = m.m; packet.emit(h); }
}
IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
";

/// Returns the program with these statements at the ends of ingress and egress.
fn with(ingress: &str, egress: &str) -> String {
    PROGRAM.replace("OBJECTS", "").replace("INGRESS", ingress).replace("EGRESS", egress)
}

/// Compares two programs. Packets are followed through `passes` passes if passes differ.
fn verdict(texts: [&str; 2], passes: u32) -> Equivalence {
    let [first, second] = texts.map(compiled);
    let options = Options { passes, ..Options::default() };
    let verdict = ir::with_large_stack(|| equivalent(&first, &second, &options));
    let verdict = verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    if let Equivalence::Different(difference) = &verdict {
        run_all(&first, std::slice::from_ref(&difference.first), false);
        run_all(&second, std::slice::from_ref(&difference.second), false);
    }
    verdict
}

/// Checks that two programs are proved equal for any number of passes.
fn are_equal(texts: [&str; 2]) {
    let found = verdict(texts, 2);
    assert!(matches!(found, Equivalence::Equal { any_passes: true, .. }), "{texts:?}: {found:?}");
}

#[test]
fn packets_that_recirculate_are_compared_for_any_number_of_passes() {
    let first = with("", "");
    are_equal([&first, &first]);
    are_equal([&first, &first.replace("m.m + 1;", "m.m - 255;")]);
    are_equal([&first, &first.replace("h.a.count - 1;", "h.a.count + 255;")]);
    let shown = with("if (m.m > 7) { h.a.x = m.m; }", "");
    are_equal([&shown, &shown.replace("m.m > 7", "!(m.m < 8)")]);
}

/// The fifth pass is the first one that differs.
#[test]
fn differences_after_many_passes_are_not_called_equal() {
    let first = with("", "");
    let second = with("if (m.m == 5) { h.a.x = 0xff; }", "");
    let found = verdict([&first, &second], 3);
    assert!(matches!(found, Equivalence::Undecided(_)), "{found:?}");
    let found = verdict([&first, &second], 6);
    assert!(matches!(found, Equivalence::Different(_)), "{found:?}");
}

/// The passes have the same packets, and only their metadata tell them apart.
#[test]
fn other_recirculated_metadata_are_not_called_equal() {
    let first = with("if (m.m == 9) { h.a.x = 0xff; }", "");
    let second = first.replace("c.seen = m.m; r.seen = m.m;", "c.seen = m.m; r.seen = m.m + 1;");
    assert_ne!(first, second);
    let found = verdict([&first, &second], 3);
    assert!(matches!(found, Equivalence::Undecided(_)), "{found:?}");
}

#[test]
fn packets_that_are_resubmitted_are_compared_for_any_number_of_passes() {
    let resubmitting = |least: u8, last: u8| {
        with(&format!("if (m.m < {least}) {{ o.resubmit = true; }} else {{ h.a.x = {last}; }}"), "")
    };
    let first = resubmitting(9, 1);
    are_equal([&first, &first]);
    are_equal([&first, &first.replace("m.m < 9", "!(m.m >= 9)")]);
    for second in [resubmitting(9, 2), resubmitting(8, 1)] {
        let found = verdict([&first, &second], 3);
        assert!(matches!(found, Equivalence::Undecided(_)), "{found:?}");
    }
    let more = resubmitting(9, 1).replace("r.seen = m.m; n.seen", "r.seen = m.m + 1; n.seen");
    assert_ne!(first, more);
    let found = verdict([&first, &more], 3);
    assert!(!matches!(found, Equivalence::Equal { .. }), "{found:?}");
}

/// Each clone is cloned again, and says how many clones there were before it.
#[test]
fn packets_that_are_cloned_are_compared_for_any_number_of_passes() {
    let cloning = |last: u8| {
        with(
            "o.clone = true; o.clone_session_id = (CloneSessionId_t) 1;",
            &format!(
                "m.m = m.m + 1; o.clone = true; o.clone_session_id = (CloneSessionId_t) 2;
                 if (m.m == 60) {{ h.a.x = {last}; }}"
            ),
        )
    };
    let first = cloning(1);
    are_equal([&first, &first.replace("m.m == 60", "(m.m ^ 60) == 0")]);
    let found = verdict([&first, &cloning(2)], 2);
    assert!(!matches!(found, Equivalence::Equal { .. }), "{found:?}");
    let other_session = first.replace("(CloneSessionId_t) 2", "(CloneSessionId_t) 3");
    let found = verdict([&first, &other_session], 2);
    assert!(!matches!(found, Equivalence::Equal { .. }), "{found:?}");
}

/// The number of earlier passes is in a register, which the comparison of single passes does not
/// follow.
#[test]
fn passes_that_write_registers_are_not_compared_one_by_one() {
    let counting = |last: u8| {
        PROGRAM
            .replace("OBJECTS", "Register<bit<8>, bit<8>>(4) cells;")
            .replace(
                "INGRESS",
                &format!(
                    "bit<8> number = cells.read(0);
                     if (m.m == 1) {{ number = 0; }}
                     cells.write(0, number + 1);
                     if (number == 9) {{ h.a.x = {last}; }}"
                ),
            )
            .replace("EGRESS", "")
    };
    for second in [counting(1), counting(2)] {
        let found = verdict([&counting(1), &second], 3);
        assert!(matches!(found, Equivalence::Undecided(_)), "{found:?}");
    }
}
