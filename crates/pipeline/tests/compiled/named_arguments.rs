//! Tests that named arguments are evaluated, and copied out, in the order in which the call writes
//! them (P4_16 specification, section 6.8), regardless of the order of the parameters.

use crate::both::{Both, V1model, compile};

const DECLARATIONS: &str = "
    header R { bit<8> a; bit<8> b; bit<8> c; bit<8> d; bit<8> kind; }
    header Element { bit<8> v; }
    struct S { bit<8> u; bit<8> v; }
    struct H { R r; Element[4] e; }
    struct M { S s; bit<32> i; bit<32> j; }
    bit<8> next(inout bit<8> n) { n = n + 1; return n; }
    bit<8> two(in bit<8> x, in bit<8> y) { return x * 16 + y; }
    bit<8> three(in bit<8> x, in bit<8> y, in bit<8> z) { return x * 36 + y * 6 + z; }
    void outs(out bit<8> x, out bit<8> y) { x = 1; y = 2; }
    void parts(out S s, out bit<8> f) { s = { 5, 6 }; f = 7; }
    void nibble(out bit<4> x, out bit<8> y) { x = 1; y = 2; }
    void adds(inout bit<8> x, in bit<8> y) { x = x + y; }
    void both(inout bit<8> x, inout bit<8> y) { x = x + 1; y = y + 16; }
    control Outs(out bit<8> x, out bit<8> y) { apply { x = 1; y = 2; } }
    control Leaves(inout bit<8> x, inout bit<8> y) { apply { x = 1; y = 2; exit; } }
    control Reads(in bit<8> x, in bit<8> y, out bit<8> z) { apply { z = x * 16 + y; } }
    parser Outer(packet_in p, out bit<8> x, out bit<8> y) { state start { x = 1; y = 2; transition accept; } }";

const LOCALS: &str = "
    Outs() outs_of; Leaves() leaves_of; Reads() reads_of;
    action two_of(in bit<8> x, in bit<8> y) { h.r.b = x * 16 + y; }
    action outs_in(out bit<8> x, out bit<8> y) { x = 1; y = 2; }
    action leaves_in(out bit<8> x, out bit<8> y) { x = 1; y = 2; exit; }
    table t { actions = { outs_in(y = h.r.b, x = h.r.b); } default_action = outs_in(y = h.r.b, x = h.r.b); }
    table in_order { actions = { outs_in(x = h.r.b, y = h.r.b); } default_action = outs_in(x = h.r.b, y = h.r.b); }";

/// Statements, and the bytes `a` to `d` that each leaves after it started with 3, 0, 0, 0.
const STATEMENTS: [(&str, [u8; 4]); 29] = [
    // Arguments are evaluated from left to right.
    ("h.r.b = two(next(h.r.a), next(h.r.a));", [5, 0x45, 0, 0]),
    ("h.r.b = two(x = next(h.r.a), y = next(h.r.a));", [5, 0x45, 0, 0]),
    ("h.r.b = two(y = next(h.r.a), x = next(h.r.a));", [5, 0x54, 0, 0]),
    ("h.r.b = two(y = h.r.a, x = next(h.r.a));", [4, 0x43, 0, 0]),
    ("h.r.b = two(y = next(h.r.a), x = h.r.a);", [4, 0x44, 0, 0]),
    ("h.r.b = two(x = h.r.a, y = next(h.r.a));", [4, 0x34, 0, 0]),
    ("h.r.a = 0; h.r.b = three(z = next(h.r.a), x = next(h.r.a), y = next(h.r.a));", [3, 91, 0, 0]),
    ("two_of(y = next(h.r.a), x = next(h.r.a));", [5, 0x54, 0, 0]),
    ("reads_of.apply(z = h.r.b, y = next(h.r.a), x = next(h.r.a));", [5, 0x54, 0, 0]),
    ("h.r.b = two(y = h.r.a, x = h.r.a + 1);", [3, 0x43, 0, 0]),
    // Arguments are copied in from left to right.
    ("adds(h.r.a, next(h.r.a));", [7, 0, 0, 0]),
    ("adds(y = next(h.r.a), x = h.r.a);", [8, 0, 0, 0]),
    // Arguments are copied out from left to right.
    ("outs(h.r.b, h.r.b);", [3, 2, 0, 0]),
    ("outs(x = h.r.b, y = h.r.b);", [3, 2, 0, 0]),
    ("outs(y = h.r.b, x = h.r.b);", [3, 1, 0, 0]),
    ("both(y = h.r.a, x = h.r.a);", [4, 0, 0, 0]),
    ("parts(f = m.s.u, s = m.s); h.r.c = m.s.u; h.r.d = m.s.v;", [3, 0, 5, 6]),
    ("parts(s = m.s, f = m.s.u); h.r.c = m.s.u; h.r.d = m.s.v;", [3, 0, 7, 6]),
    ("nibble(y = h.r.b, x = h.r.b[7:4]);", [3, 0x12, 0, 0]),
    ("nibble(x = h.r.b[7:4], y = h.r.b);", [3, 2, 0, 0]),
    (
        "h.e[2].setValid(); m.i = 2; m.j = 2; outs(y = h.e[m.i].v, x = h.e[m.j].v); h.r.c = h.e[2].v;",
        [3, 0, 1, 0],
    ),
    ("outs_in(y = h.r.b, x = h.r.b);", [3, 1, 0, 0]),
    ("outs_of.apply(y = h.r.b, x = h.r.b);", [3, 1, 0, 0]),
    ("t.apply();", [3, 1, 0, 0]),
    ("in_order.apply();", [3, 2, 0, 0]),
    // Arguments are copied out also where the callee ends the control.
    ("leaves_in(y = h.r.b, x = h.r.b);", [3, 1, 0, 0]),
    ("leaves_of.apply(y = h.r.b, x = h.r.b);", [3, 1, 0, 0]),
    ("leaves_in(x = h.r.b, y = h.r.b);", [3, 2, 0, 0]),
    ("leaves_of.apply(x = h.r.b, y = h.r.b);", [3, 2, 0, 0]),
];

#[test]
fn named_arguments_are_evaluated_in_the_order_of_the_call() {
    let statements: Vec<String> = (0..)
        .zip(STATEMENTS)
        .map(|(kind, (statement, _))| format!("if (h.r.kind == {kind}) {{ {statement} }}"))
        .collect();
    let text = V1model {
        declarations: DECLARATIONS,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: &format!("{LOCALS} apply {{ s.egress_spec = 1; {} }}", statements.join("\n")),
        deparser: "apply { b.emit(h.r); }",
        ..V1model::default()
    }
    .text();
    let mut both = Both::new(&compile(&text));
    assert_eq!(both.one_by_one(), None);
    for (kind, (statement, expected)) in (0..).zip(STATEMENTS) {
        let outputs = both.packet(0, &[3, 0, 0, 0, kind]).expect("no error");
        assert_eq!(outputs[0].packet[..4], expected, "{statement}");
        assert_eq!(both.batch(&vec![(0, vec![3, 0, 0, 0, kind]); 3]), 3);
    }
}

#[test]
fn named_arguments_in_parsers_are_evaluated_in_the_order_of_the_call() {
    for (call, expected) in [
        ("outer.apply(b, h.r.b, h.r.b);", [3, 2, 0]),
        ("outer.apply(y = h.r.b, p = b, x = h.r.b);", [3, 1, 0]),
        ("b.extract(h.v[m.i], width(m.i));", [3, 0, 1]),
        (
            "b.extract(variableFieldSizeInBits = width(m.i), variableSizeHeader = h.v[m.i]);",
            [3, 0, 2],
        ),
        (
            "b.extract(variableSizeHeader = h.v[m.i], variableFieldSizeInBits = width(m.i));",
            [3, 0, 1],
        ),
        (
            "verify(toSignal = next(h.r.a) == 4 ? error.NoMatch : error.NoError, check = h.r.a != 4);",
            [4, 0, 8],
        ),
    ] {
        let text = V1model {
            declarations: &format!(
                "header Wide {{ bit<8> n; varbit<64> o; }} {}
                bit<32> width(inout bit<32> i) {{ i = 1; return 8; }}",
                DECLARATIONS.replace("Element[4] e;", "Wide[2] v;")
            ),
            parser: &format!(
                "Outer() outer; state start {{ b.extract(h.r); m.i = 0; {call} transition accept; }}"
            ),
            ingress: "apply { s.egress_spec = 1;
                if (h.v[0].isValid()) { h.r.c[0:0] = 1; } if (h.v[1].isValid()) { h.r.c[1:1] = 1; }
                if (s.parser_error == error.NoMatch) { h.r.c[3:3] = 1; } }",
            deparser: "apply { b.emit(h.r); }",
            ..V1model::default()
        }
        .text();
        let mut both = Both::new(&compile(&text));
        let outputs = both.packet(0, &[3, 0, 0, 0, 0, 9, 8]).expect("no error");
        assert_eq!(outputs[0].packet[..3], expected, "{call}");
        assert_eq!(both.batch(&vec![(0, vec![3, 0, 0, 0, 0, 9, 8]); 3]), 3);
    }
}
