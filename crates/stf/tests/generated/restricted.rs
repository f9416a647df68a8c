//! Entries of tables with constraints are found where there are any.

use super::{compiled, generated, run_all};
use std::fmt::Write as _;
use symbolic::search::Verdict;

/// Returns a program whose table matches many fields only for packets of one kind, and a test of
/// both kinds needs an entry.
fn program(fields: usize) -> String {
    let (mut header, mut keys, mut conditions) = (String::new(), String::new(), String::new());
    for number in 0..fields {
        let _ = write!(header, "bit<8> f{number}; ");
        let _ = write!(keys, "h.a.f{number}: ternary @name(\"f{number}\"); ");
        let _ = write!(conditions, "f{number}::mask != 0 -> is_ip == 1; ");
    }
    format!(
        "#include <core.p4>
#include <v1model.p4>
header a_t {{ bit<8> kind; {header} }}
struct headers_t {{ a_t a; }}
struct meta_t {{ bit<1> is_ip; }}
parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    state start {{ packet.extract(h.a); transition accept; }}
}}
control V(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    action set(bit<9> port) {{ s.egress_spec = port; }}
    @entry_restriction(\"{conditions}\")
    table t {{
        key = {{ m.is_ip: optional @name(\"is_ip\"); {keys} }}
        actions = {{ set; @defaultonly NoAction; }}
        const default_action = NoAction;
    }}
    apply {{
        if (h.a.kind == 4) {{ m.is_ip = 1; }}
        if (t.apply().hit) {{
            if (m.is_ip == 1) {{ h.a.kind = 1; }} else {{ h.a.kind = 2; }}
        }}
    }}
}}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{ apply {{ }} }}
control U(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
control D(packet_out packet, in headers_t h) {{ apply {{ packet.emit(h); }} }}
V1Switch(P(), V(), I(), E(), U(), D()) main;
"
    )
}

#[test]
fn entries_among_many_conditions_are_found() {
    let program = compiled(&program(20));
    let report = generated(&program, 1);
    for (goal, verdict) in &report.goals {
        assert!(matches!(verdict, Verdict::Covered(_)), "{}: {verdict:?}", goal.name);
    }
    run_all(&program, &report.tests, true);
}
