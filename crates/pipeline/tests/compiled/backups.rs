//! Tests of replicas whose ports go down, on both paths.

use crate::both::{Both, V1model};
use pipeline::{Backups, CloneSession, Replica, Replicas};

/// A program that sends packets to a group, or a copy of them to a session, and records in the
/// packet the instance of each copy.
fn both() -> Both {
    V1model {
        declarations: "header R { bit<8> what; bit<8> rid; } struct H { R r; } struct M { }",
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: "apply {
            if (h.r.what == 1) { s.mcast_grp = 7; }
            else { s.egress_spec = 9; clone(CloneType.I2E, 5); }
        }",
        egress: "apply { h.r.rid = s.egress_rid[7:0]; }",
        ..V1model::default()
    }
    .both()
}

fn replica(port: u32, instance: u16) -> Replica {
    Replica { port, instance }
}

#[test]
fn copies_go_to_the_first_of_the_preferred_ports_that_is_up() {
    let mut both = both();
    let replicas = vec![replica(2, 1), replica(4, 2)];
    let backups: Backups = [(1, vec![replica(5, 3), replica(6, 4)])].into();
    both.each(|switch| {
        let group = Replicas { replicas: replicas.clone(), backups: backups.clone() };
        switch.set_replicas(7, group);
        let session = CloneSession {
            replicas: replicas.clone(),
            backups: backups.clone(),
            ..CloneSession::default()
        };
        switch.set_clone_session(5, Some(session));
    });
    for (port, is_up, expected) in [
        (9, true, (4, 2)),
        (4, false, (5, 3)),
        (5, false, (6, 4)),
        // With all ports down, the replica itself is made: egress sees it, and the port drops it.
        (6, false, (4, 2)),
        (5, true, (5, 3)),
        (4, true, (4, 2)),
        // A replica without backups stays.
        (2, false, (4, 2)),
    ] {
        both.each(|switch| switch.set_port_up(port, is_up));
        for what in [1, 2] {
            // Every third call goes from stage to stage, so that each way is taken.
            for _ in 0..3 {
                let outputs = both.packet(1, &[what, 0]).expect("no error");
                let mut copies: Vec<(u32, u8)> =
                    outputs.iter().map(|one| (one.port, one.packet[1])).collect();
                copies.retain(|(port, _)| *port != 9);
                copies.sort_unstable();
                let (port, rid) = expected;
                assert_eq!(copies, [(2, 1), (port, rid)], "{what}, {port} is up: {is_up}");
            }
            let burst = vec![(1, vec![what, 0]); 5];
            assert_eq!(both.batch(&burst), 5 * (1 + usize::from(what)));
        }
    }
}
