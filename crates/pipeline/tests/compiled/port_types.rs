//! Tests of programs that bring a v1model of their own, whose ports have another width, or are a
//! new type instead of plain bits.

use crate::both::{Both, V1model, compile};
use pipeline::{CloneSession, Replica};

/// The program writes the output port from the packet, drops on request, and records in the packet
/// the ports that it sees.
const INGRESS: &str = "
    apply {
        if (h.r.drops == 1) { mark_to_drop(s); return; }
        s.egress_spec = (PortId_t) h.r.to[HIGH:0];
        if (h.r.drops == 2) { clone(CloneType.I2E, 5); }
        if (h.r.drops == 3) { s.mcast_grp = 1; }
        h.r.from = (bit<32>) (bit<WIDTH>) s.ingress_port;
    }";
const EGRESS: &str = "apply { h.r.to = (bit<32>) (bit<WIDTH>) s.egress_port; }";

/// Returns a program on a copy of v1model in which `declaration` declares the type of ports.
fn source(width: u32, declaration: &str) -> String {
    let known = p4lang::arch::file("v1model.p4").expect("it is built in").text();
    let copy = known.replace("typedef bit<9>  PortId_t;", declaration);
    assert_ne!(copy, known);
    let text = V1model {
        declarations: "header R { bit<8> drops; bit<32> from; bit<32> to; }
            struct H { R r; } struct M { }",
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: INGRESS,
        egress: EGRESS,
        ..V1model::default()
    }
    .text();
    let text = text.replace("HIGH", &(width - 1).to_string()).replace("WIDTH", &width.to_string());
    assert!(text.contains("#include <v1model.p4>"), "{text}");
    text.replace("#include <v1model.p4>", &copy)
}

fn packet(drops: u8, from: u32, to: u32) -> Vec<u8> {
    [&[drops][..], &from.to_be_bytes(), &to.to_be_bytes()].concat()
}

#[test]
fn ports_have_the_width_that_the_program_declares() {
    for (width, from, to) in
        [(8, 200, 201), (9, 300, 301), (16, 40_000, 40_001), (32, 3_000_000_000, 3_000_000_001)]
    {
        for declaration in [
            format!("typedef bit<{width}> PortId_t;"),
            format!("type bit<{width}> PortId_t;"),
            format!("@p4runtime_translation(\"\", string) type bit<{width}> PortId_t;"),
        ] {
            let mut both = Both::new(&compile(&source(width, &declaration)));
            both.each(|switch| {
                let member = |port| Replica { port, instance: 0 };
                switch.set_multicast_group(1, vec![member(from), member(to)]);
                let replicas = vec![member(from)];
                let session = CloneSession { replicas, ..CloneSession::default() };
                switch.set_clone_session(5, Some(session));
            });
            for (drops, ports) in
                [(0, vec![to]), (1, vec![]), (2, vec![to, from]), (3, vec![from, to])]
            {
                let context = format!("{declaration} {drops}");
                // Every third call goes from stage to stage, so that each way is taken.
                for _ in 0..3 {
                    let outputs = both.packet(from, &packet(drops, 0, to)).expect("no error");
                    let mut left: Vec<_> =
                        outputs.into_iter().map(|one| (one.port, one.packet)).collect();
                    let mut expected: Vec<_> = ports
                        .iter()
                        .map(|port| {
                            // A clone to egress has the headers that the packet arrived with.
                            let is_clone = drops == 2 && *port == from;
                            (*port, packet(drops, if is_clone { 0 } else { from }, *port))
                        })
                        .collect();
                    left.sort();
                    expected.sort();
                    assert_eq!(left, expected, "{context}");
                }
                let burst = vec![(from, packet(drops, 0, to)); 5];
                assert_eq!(both.batch(&burst), 5 * ports.len(), "{context}");
            }
        }
    }
}
