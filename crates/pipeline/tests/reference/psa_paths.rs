//! Tests packets that choose their own random paths through a PSA switch. A model of sections 6.2
//! and 6.5 of the specification, which does not use P4, predicts which packets leave, and in which
//! order.
//!
//! Each packet carries flags for each kind of pass, and counts its passes. The model keeps the
//! packets between passes in a FIFO queue. Clones are queued before the packet itself.

use super::psa::Psa;
use super::support::outputs;
use pipeline::{CloneSession, Replica};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::VecDeque;

const RECIRCULATE: u32 = 0xffff_fffa;
const CLONE: u8 = 1;
const DROP: u8 = 2;
const RESUBMIT: u8 = 4;
const MULTICAST: u8 = 8;
/// The number of passes of a packet in which its flags count. Later passes only send it.
const PASSES: u8 = 3;

/// The positions of a packet's bytes: the flags for each kind of pass, and the count.
const INGRESS: usize = 0;
const AGAIN: usize = 1;
const EGRESS: usize = 2;
const COUNT: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    Normal,
    Resubmit,
    Recirculate,
    Sent,
    Clone,
}

/// Returns the number of the group, session or port that the two high bits of flags choose.
fn chosen(flags: u8) -> u32 {
    u32::from(flags >> 6)
}

fn members(number: u32) -> Vec<Replica> {
    let pairs: &[(u32, u16)] = match number {
        0 => &[(1, 0)],
        1 => &[(2, 1), (RECIRCULATE, 2)],
        2 => &[(3, 3), (1, 4), (3, 5)],
        _ => &[],
    };
    pairs.iter().map(|(port, instance)| Replica { port: *port, instance: *instance }).collect()
}

/// Returns the ports and packets that leave for a packet.
fn model(sent: [u8; 4]) -> Vec<(u32, Vec<u8>)> {
    let mut queue = VecDeque::from([(sent, Path::Normal, 0, 0_u16)]);
    let mut left = Vec::new();
    while let Some((packet, path, port, instance)) = queue.pop_front() {
        let mut changed = packet;
        changed[COUNT] += 1;
        let quiet = packet[COUNT] >= PASSES;
        match path {
            Path::Normal | Path::Resubmit | Path::Recirculate => {
                let flags = packet[if path == Path::Normal { INGRESS } else { AGAIN }];
                let flags = if quiet { 0 } else { flags };
                if flags & CLONE != 0 {
                    for copy in members(chosen(flags)) {
                        queue.push_back((packet, Path::Clone, copy.port, copy.instance));
                    }
                }
                // A resubmitted packet is as it was received, so its count does not grow. It is
                // therefore resubmitted only once.
                let resubmits = flags & RESUBMIT != 0 && path != Path::Resubmit;
                match flags {
                    _ if flags & DROP != 0 => {}
                    _ if resubmits => queue.push_back((packet, Path::Resubmit, port, 0)),
                    _ if flags & MULTICAST != 0 => {
                        for copy in members(chosen(flags)) {
                            queue.push_back((changed, Path::Sent, copy.port, copy.instance));
                        }
                    }
                    _ => {
                        let ports = [1, 2, RECIRCULATE, 3];
                        let port = if quiet { 7 } else { ports[chosen(flags) as usize] };
                        queue.push_back((changed, Path::Sent, port, 0));
                    }
                }
            }
            Path::Sent | Path::Clone => {
                let flags = if quiet { 0 } else { packet[EGRESS] };
                changed[EGRESS] ^= instance as u8;
                if flags & CLONE != 0 {
                    for copy in members(chosen(flags)) {
                        queue.push_back((changed, Path::Clone, copy.port, copy.instance));
                    }
                }
                match port {
                    _ if flags & DROP != 0 => {}
                    RECIRCULATE => queue.push_back((changed, Path::Recirculate, port, 0)),
                    _ => left.push((port, changed.to_vec())),
                }
            }
        }
    }
    left
}

#[test]
fn packets_take_the_paths_of_the_specification() {
    let ingress = "bit<8> flags = i.packet_path == PSA_PacketPath_t.NORMAL ? h.r.a : h.r.b; bool quiet = h.r.d >= 3;
        if (quiet) { flags = 0; }
        bit<32> chosen = (bit<32>)flags[7:6];
        o.clone = flags[0:0] == 1; o.clone_session_id = (CloneSessionId_t)(CloneSessionIdUint_t)(chosen + 10);
        o.egress_port = quiet ? (PortId_t)7 : (chosen == 0 ? (PortId_t)1 : (chosen == 1 ? (PortId_t)2
            : (chosen == 2 ? PSA_PORT_RECIRCULATE : (PortId_t)3)));
        o.drop = flags[1:1] == 1; o.resubmit = flags[2:2] == 1 && i.packet_path != PSA_PacketPath_t.RESUBMIT;
        o.multicast_group = flags[3:3] == 1 ? (MulticastGroup_t)(chosen + 20) : (MulticastGroup_t)0;
        h.r.d = h.r.d + 1;";
    let egress = "bit<8> flags = h.r.d >= 3 ? 8w0 : h.r.c; h.r.c = h.r.c ^ (bit<8>)(EgressInstanceUint_t)i.instance;
        o.clone = flags[0:0] == 1; o.clone_session_id = (CloneSessionId_t)((CloneSessionIdUint_t)(bit<16>)flags[7:6] + 10);
        o.drop = flags[1:1] == 1; h.r.d = h.r.d + 1;";
    let program = Psa { ingress, egress, ..Psa::default() };
    let seed = 0x95a;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut most = 0;
    for follow in [false, true] {
        let mut switch = program.load();
        switch.follow_psa_switch(follow);
        for number in 0..4 {
            let replicas = members(number);
            switch.set_multicast_group(20 + number, replicas.clone());
            let session = CloneSession { replicas, ..CloneSession::default() };
            switch.set_clone_session(10 + number, Some(session));
        }
        for _ in 0..400 {
            let [a, b, c] = std::array::from_fn(|_| random.random_range(0..=255_u8));
            let sent = [a, b, c, 0];
            let expected = model(sent);
            most = most.max(expected.len());
            assert_eq!(outputs(&mut switch, 0, &sent), expected, "seed {seed:#x}: {sent:?}");
        }
    }
    assert!(most > 10, "no packet had many copies: {most}");
}
