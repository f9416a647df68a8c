//! Tests of the numbers of errors, wherever core.p4 is included.

use crate::both::{Both, V1model, compile, psa_of_ingress};

/// Declarations of errors before core.p4, and after it.
const DECLARATIONS: [(&str, &str); 4] = [
    ("", "error { Mine, Other }"),
    ("error { Mine, Other }", ""),
    ("error { Other } error { Mine }", ""),
    ("error { Mine }", "error { Other }"),
];

/// Returns statements that show which of four errors a value is, in one byte.
fn shown(error: &str) -> String {
    format!(
        "if ({error} == error.NoError) {{ h.r.b = 1; }} else if ({error} == error.PacketTooShort) {{ h.r.b = 2; }}
         else if ({error} == error.Mine) {{ h.r.b = 3; }} else if ({error} == error.Other) {{ h.r.b = 4; }}
         error unset = error.NoError; M m2 = {{ ... }}; if (unset == m2.e) {{ h.r.b[7:7] = 1; }}"
    )
}

#[test]
fn the_number_of_no_error_is_zero_wherever_core_is_included() {
    for (before, behind) in DECLARATIONS {
        let text = V1model {
            declarations: &format!(
                "{behind} header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; R s; }} struct M {{ error e; }}"
            ),
            parser: "state start { b.extract(h.r);
                verify(h.r.a != 7, error.Mine); verify(h.r.a != 8, error.Other);
                transition select(h.r.a) { 9: more; default: accept; } }
                state more { b.extract(h.s); transition accept; }",
            ingress: &format!(
                "apply {{ s.egress_spec = 1; {} if (m.e == error.NoError) {{ h.r.b[6:6] = 1; }} }}",
                shown("s.parser_error")
            ),
            ..V1model::default()
        }
        .text();
        let mut both = Both::new(&compile(&format!("{before}\n{text}")));
        for (first, error) in [(1, 1), (7, 3), (8, 4), (9, 2)] {
            let outputs = both.packet(0, &[first, 0]).expect("no error");
            assert_eq!(outputs[0].packet, [first, 0xc0 | error], "{before}, {behind}");
            assert_eq!(both.batch(&vec![(0, vec![first, 0]); 4]), 4);
        }
    }
}

#[test]
fn the_number_of_no_error_is_zero_in_psa() {
    for (before, behind) in DECLARATIONS {
        let text = psa_of_ingress(
            &format!("{behind} header R {{ bit<8> a; bit<8> b; }}"),
            &format!("apply {{ {} send_to_port(o, (PortId_t) 1); }}", shown("i.parser_error")),
        )
        .replace("struct M {}", "struct M { error e; }");
        let mut both = Both::new(&compile(&format!("{before}\n{text}")));
        let outputs = both.packet(0, &[1, 0]).expect("no error");
        assert_eq!(outputs[0].packet, [1, 0x81], "{before}, {behind}");
    }
}
