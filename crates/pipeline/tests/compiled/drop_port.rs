//! Tests of the drop port of v1model, and of the value of `egress_spec` at the beginning of egress,
//! on every way that packets take.

use crate::both::{Both, V1model, compile};
use pipeline::{CloneSession, Replica};

/// An egress control, and the outcome for its packets, which depends on the drop port.
struct Egress {
    control: &'static str,
    /// Returns whether a packet leaves, given the drop port.
    leaves: fn(u16) -> bool,
    /// Returns the second byte of a packet that leaves, given the drop port.
    byte: fn(u16) -> u8,
}

/// Returns the value of `egress_spec` at the beginning of egress, which has nine bits.
fn begins(drop_port: u16) -> u16 {
    (drop_port + 1) % 512
}

const EGRESSES: [Egress; 6] = [
    Egress { control: "apply { }", leaves: |_| true, byte: |_| 0 },
    Egress { control: "apply { h.r.b = (bit<8>) s.egress_port; }", leaves: |_| true, byte: |_| 3 },
    Egress {
        control: "apply { h.r.b = s.egress_spec[7:0]; }",
        leaves: |_| true,
        byte: |drop_port| begins(drop_port) as u8,
    },
    Egress {
        control: "apply { s.egress_spec = s.egress_spec - 1; }",
        leaves: |_| false,
        byte: |_| 0,
    },
    Egress {
        control: "apply { s.egress_spec = 7; h.r.b = 9; }",
        leaves: |drop_port| drop_port != 7,
        byte: |_| 9,
    },
    Egress { control: "apply { mark_to_drop(s); }", leaves: |_| false, byte: |_| 0 },
];

/// Statements of ingress for each first byte of a packet, with the ports of the copies.
const WAYS: [(&str, &[u32]); 4] = [
    ("s.egress_spec = 3;", &[3]),
    ("s.mcast_grp = 1;", &[3, 3]),
    ("s.egress_spec = 3; clone(CloneType.I2E, 5);", &[3, 3]),
    ("mark_to_drop(s);", &[]),
];

#[test]
fn egress_spec_is_initially_not_the_drop_port_in_egress() {
    let ways: Vec<String> = (0..)
        .zip(WAYS)
        .map(|(way, (ingress, _))| format!("if (h.r.a == {way}) {{ {ingress} }}"))
        .collect();
    let ingress = format!("apply {{ {} }}", ways.join(" "));
    for drop_port in [0, 1, 7, 511] {
        for egress in &EGRESSES {
            let text = program(&ingress, egress.control).text();
            let mut both =
                Both::prepared(&compile(&text), |switch| switch.set_drop_port(drop_port));
            both.each(|switch| {
                let member = |instance| Replica { port: 3, instance };
                switch.set_multicast_group(1, vec![member(1), member(2)]);
                let session = CloneSession { replicas: vec![member(0)], ..CloneSession::default() };
                switch.set_clone_session(5, Some(session));
            });
            for (way, (ingress, ports)) in (0..).zip(WAYS) {
                let leaves = (egress.leaves)(drop_port);
                let packet = [way, 0, 2];
                let mut expected = Vec::new();
                for port in ports.iter().filter(|_| leaves) {
                    expected.push((*port, vec![way, (egress.byte)(drop_port), 2]));
                }
                let context = format!("drop port {drop_port}, {ingress} {}", egress.control);
                // Every third call goes from stage to stage, so that each way is taken.
                for _ in 0..3 {
                    let outputs = both.packet(1, &packet).expect("no error");
                    let outputs: Vec<_> =
                        outputs.into_iter().map(|one| (one.port, one.packet)).collect();
                    assert_eq!(outputs, expected, "{context}");
                    let burst = vec![(1, packet.to_vec()); 5];
                    assert_eq!(both.batch(&burst), 5 * expected.len(), "{context}");
                }
            }
        }
    }
}

/// In ingress, `egress_spec` is initially 0. A program that does not write it drops packets if 0 is
/// the drop port.
#[test]
fn a_program_that_does_not_write_egress_spec_sends_to_port_0() {
    for (drop_port, leaves) in [(0, 0), (1, 1), (511, 1)] {
        let text = program("apply { }", "apply { h.r.b = 4; }").text();
        let mut both = Both::prepared(&compile(&text), |switch| switch.set_drop_port(drop_port));
        for _ in 0..3 {
            let outputs = both.packet(1, &[1, 2, 3]).expect("no error");
            let bytes: Vec<_> = outputs.into_iter().map(|one| (one.port, one.packet)).collect();
            assert_eq!(bytes, vec![(0, vec![1, 4, 3]); leaves], "drop port {drop_port}");
            assert_eq!(both.batch(&vec![(1, vec![1, 2, 3]); 4]), 4 * leaves);
        }
    }
}

fn program<'t>(ingress: &'t str, egress: &'t str) -> V1model<'t> {
    V1model {
        declarations: "header R { bit<8> a; bit<8> b; } struct H { R r; } struct M { }",
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress,
        egress,
        ..V1model::default()
    }
}
