//! Tests that a field list is the same in all spellings of its number.

use crate::both::{Both, V1model, compile};
use pipeline::{CloneSession, Replica};

const DECLARATIONS: &str = "
    enum bit<8> List { none = 0, mirror = 1, again = 2, both = 1 + 2 }
    enum bit<8> Late { first = List.both + 4 }
    const bit<8> SEVEN = 7;
    const int SIX_MORE = 6;
    header R { bit<8> a; bit<8> b; }
    struct H { R r; }";

/// An annotation, and an argument that names the field list with the number 7.
const SPELLINGS: [(&str, &str); 14] = [
    ("(7)", "7"),
    ("(8w7)", "8w7"),
    ("(0x7)", "SEVEN"),
    ("(SEVEN)", "SEVEN"),
    ("(Late.first)", "Late.first"),
    ("(List.none, Late.first)", "Late.first"),
    ("(Late.first, List.mirror)", "(bit<8>) Late.first"),
    ("(List.both + 4)", "List.both + 4"),
    ("(SIX_MORE + 1)", "SIX_MORE + 1"),
    ("((bit<8>) (SIX_MORE + 1), 3)", "7"),
    ("(3, SEVEN == 7 ? SEVEN : 1)", "SEVEN"),
    ("((1 << 3) - 1)", "7"),
    ("[7]", "7"),
    ("[Late.first, List.again]", "Late.first"),
];

/// Ingress and egress controls that keep a byte in one pass and show it in the next.
const CONTROLS: [(&str, &str); 4] = [
    (
        "if (s.instance_type == 0) { m.kept = 5; m.lost = 6; resubmit_preserving_field_list(LIST); }
         h.r.a = m.kept; h.r.b = m.lost;",
        "",
    ),
    (
        "h.r.a = m.kept; h.r.b = m.lost;",
        "if (h.r.a == 0) { m.kept = 5; m.lost = 6; recirculate_preserving_field_list(LIST); }",
    ),
    (
        "m.kept = 5; m.lost = 6; clone_preserving_field_list(CloneType.I2E, 9, LIST); mark_to_drop(s);",
        "h.r.a = m.kept; h.r.b = m.lost;",
    ),
    (
        "",
        "if (s.instance_type == 0) { m.kept = 5; m.lost = 6; mark_to_drop(s);
            clone_preserving_field_list(CloneType.E2E, 9, LIST); }
         else { h.r.a = m.kept; h.r.b = m.lost; }",
    ),
];

#[test]
fn field_lists_are_the_same_in_every_spelling_of_their_number() {
    for (number, (annotation, argument)) in SPELLINGS.into_iter().enumerate() {
        let (ingress, egress) = CONTROLS[number % CONTROLS.len()];
        let text = V1model {
            declarations: &format!(
                "{DECLARATIONS} struct M {{ @field_list{annotation} bit<8> kept; @field_list(4) bit<8> lost; }}"
            ),
            parser: "state start { b.extract(h.r); transition accept; }",
            ingress: &format!(
                "apply {{ s.egress_spec = 2; {} }}",
                ingress.replace("LIST", argument)
            ),
            egress: &format!("apply {{ {} }}", egress.replace("LIST", argument)),
            ..V1model::default()
        }
        .text();
        let mut both = Both::new(&compile(&text));
        both.each(|switch| {
            let replicas = vec![Replica { port: 2, instance: 0 }];
            let session = CloneSession { replicas, ..CloneSession::default() };
            switch.set_clone_session(9, Some(session));
        });
        // Machine code makes the request itself.
        assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0));
        let outputs = both.packet(1, &[0, 0]).expect("no error");
        let outputs: Vec<_> = outputs.into_iter().map(|one| (one.port, one.packet)).collect();
        assert_eq!(
            outputs,
            [(2, vec![5, 0])],
            "@field_list{annotation}, {argument}: {ingress} {egress}"
        );
        assert_eq!(both.batch(&vec![(1, vec![0, 0]); 3]), 3);
    }
}
