//! Measures the time that a packet takes on each way through machine code, and on the interpreter.
//!
//!     cargo bench -p pipeline --bench ways
//!
//! Three kinds of v1model programs run: one whose packets go in bursts; one whose parser has a
//! cycle, so that packets go block by block; and one that replicates its packets. Each figure is
//! the least of 400 rounds, in nanoseconds of the wall clock.
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{Batch, Replica, Switch};
use std::time::{Duration, Instant};

fn text(parser: &str, ingress: &str, egress: &str) -> String {
    format!("#include <core.p4>
#include <v1model.p4>
header ethernet_t {{ bit<48> destination; bit<48> source; bit<16> ether_type; }}
header ipv4_t {{ bit<4> version; bit<4> length; bit<8> service; bit<16> total; bit<16> id; bit<3> flags;
    bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination; }}
struct H {{ ethernet_t ethernet; ipv4_t ipv4; }}
struct M {{ bit<32> next_hop; }}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{
    state start {{ b.extract(h.ethernet);
        transition select(h.ethernet.ether_type) {{ 0x0800: ipv4; default: accept; }} }}
    state ipv4 {{ b.extract(h.ipv4); {parser} }}
}}
control V(inout H h, inout M m) {{ apply {{}} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {ingress} }} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
control C(inout H h, inout M m) {{ apply {{}} }}
control D(packet_out b, in H h) {{ apply {{ b.emit(h.ethernet); b.emit(h.ipv4); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;")
}

fn main() {
    let loops = "transition select(b.lookahead<bit<8>>()) { 7: skip; default: accept; } }
      state skip { b.advance(8); transition select(b.lookahead<bit<8>>()) { 7: skip; default: accept; }";
    let forward = "if (h.ipv4.isValid() && h.ipv4.ttl > 1) { h.ipv4.ttl = h.ipv4.ttl - 1; s.egress_spec = 1; } else { mark_to_drop(s); }";
    let group = "h.ipv4.ttl = h.ipv4.ttl - 1; s.mcast_grp = 1;";
    let egress = "h.ethernet.source = (bit<48>) s.egress_rid;";
    for (name, parser, ingress, egress) in [
        ("plain", "transition accept;", forward, ""),
        ("no plan", loops, forward, ""),
        ("no plan, egress", loops, forward, egress),
        ("group of 4", "transition accept;", group, egress),
        ("group of 4, no plan", loops, group, egress),
    ] {
        let files = MemoryFiles::default();
        let compiled = p4lang::compile_text(
            "a.p4",
            &text(parser, ingress, egress),
            &Options::default(),
            &files,
        );
        let mut switch = Switch::new(compiled.program.expect("a program")).unwrap();
        switch.set_multicast_group(
            1,
            (0..4).map(|port| Replica { port, instance: port as u16 }).collect(),
        );
        switch.compile().unwrap();
        let mut bytes = [0_u8; 84];
        bytes[12] = 8;
        bytes[14] = 0x45;
        bytes[22] = 64;
        let packets: Vec<(u32, &[u8])> = (0..32).map(|_| (1, &bytes[..])).collect();
        let mut batch = Batch::default();
        for way in switch.ways() {
            switch.choose_way(Some(way));
            let mut best = f64::MAX;
            for _ in 0..400 {
                let rounds = if format!("{way:?}") == "Interpreter" { 1 } else { 20 };
                let begin = Instant::now();
                for _ in 0..rounds {
                    switch.process_batch(&packets, Duration::from_secs(1), &mut batch);
                }
                best = best.min(begin.elapsed().as_nanos() as f64 / (rounds * 32) as f64);
            }
            println!("{name:22} {way:?}: {best:8.1} ns per packet, {} left", batch.sent().len());
        }
    }
}
