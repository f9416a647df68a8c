//! Tests of controls whose parameters may be their arguments: called once and several times,
//! nested, and with arguments that overlap.

use crate::both::V1model;

const DECLARATIONS: &str = "
    header R { bit<8> a; bit<8> b; bit<16> c; }
    struct H { R r; R other; R made; }
    struct N { bit<8> x; bit<16> y; }
    struct M { bit<8> a; bit<8> b; N n; bit<128> wide; }
    control Deep(in bit<8> by, inout M m, inout N n) {
        action add(inout bit<8> to) { to = to + by; }
        apply { add(m.a); n.x = n.x + m.a; m.b = m.b ^ n.x; if (m.a == 9) { exit; } m.a = m.a + 3; }
    }
    control Inner(inout H h, in M before, inout M m, inout standard_metadata_t s) {
        Deep() deep;
        apply {
            m.a = m.a + 1;
            h.r.b = before.a;
            N n = m.n;
            deep.apply(h.r.a, m, n);
            m.n = n;
            if (h.other.isValid()) { h.made = h.other; h.other.setInvalid(); s.egress_spec = 2; }
        }
    }
    control Twice(inout M m, in R r) { apply { m.b = m.b + r.a; m.n.y = m.n.y + r.c; } }
    control Part(inout R r, in R other) { apply { r.c = other.c; r.b = r.b + other.b; if (r.b == 7) { return; } r.a = 1; } }
    control Same(in H h, inout R r) { apply { r.a = r.a + 1; r.b = h.r.a; r.c = h.other.c; } }
    control Given(out bit<8> x, in M m) { apply { x = m.a; x = x + m.b; } }
    control Reads(in H h, in M m, in bit<16> number, inout bit<16> sum) {
        table t { key = { h.r.a: exact; m.b: exact; } actions = { NoAction; } default_action = NoAction(); }
        apply { if (!t.apply().hit) { sum = sum + number + (bit<16>) h.r.b + (bit<16>) m.a; } }
    }";

#[test]
fn parameters_that_are_arguments_have_the_effects_of_copies() {
    let ingress = "
        Inner() inner; Twice() twice; Part() part; Same() same; Given() given; Reads() reads;
        apply {
            s.egress_spec = 1;
            m.a = h.r.c[7:0]; m.b = h.r.c[15:8];
            inner.apply(h, m, m, s);
            twice.apply(m, h.r);
            if (h.r.a[0:0] == 1) { part.apply(h.r, h.made); }
            if (h.r.a[1:1] == 1) { same.apply(h, h.r); }
            twice.apply(m, h.made);
            given.apply(m.b, m);
            reads.apply(h, m, h.r.c, m.n.y);
            h.r.a = m.a; h.r.b = m.b; h.r.c = m.n.y ^ (bit<16>) m.n.x;
        }";
    let program = V1model {
        declarations: DECLARATIONS,
        parser: "state start { b.extract(h.r); transition select(h.r.b) { 0 .. 99: more; default: accept; } }
            state more { b.extract(h.other); transition accept; }",
        ingress,
        egress: "Given() given; apply { bit<8> x; given.apply(x, m); h.r.b = h.r.b + x; }",
        ..V1model::default()
    };
    let mut both = program.both();
    assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0));
    let left = both.random_packets(5, 3000, 12);
    assert!(left > 1500, "{left} packets left");
    let packets: Vec<(u32, Vec<u8>)> = (0..600_u32)
        .map(|number| (0, (0..10).map(|at| ((number * 37) >> at) as u8).collect()))
        .collect();
    assert_eq!(both.batch(&packets), packets.len());
}
