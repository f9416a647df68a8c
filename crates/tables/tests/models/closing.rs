//! Models of the gate, which keeps packets out while a batch changes several things. Loom explores
//! their interleavings.

use crate::gate::Gate;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// Has a packet read two cells that a batch changes together.
fn changes_are_seen_together(with_gate: bool) {
    loom::model(move || {
        let gate = Arc::new(Gate::new());
        let cells = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let worker = {
            let (gate, cells, lane) = (Arc::clone(&gate), Arc::clone(&cells), gate.join());
            thread::spawn(move || {
                let inside = with_gate.then(|| gate.enter(&lane));
                let seen = cells.each_ref().map(|cell| cell.load(Ordering::Relaxed));
                drop(inside);
                gate.leave(&lane);
                assert_eq!(seen[0], seen[1], "a part of a batch was seen");
            })
        };
        gate.close();
        cells.iter().for_each(|cell| cell.store(1, Ordering::Relaxed));
        gate.open();
        worker.join().expect("no panic");
    });
}

#[test]
fn no_packet_sees_a_part_of_a_batch() {
    changes_are_seen_together(true);
}

#[test]
#[should_panic = "a part of a batch was seen"]
fn without_the_gate_a_packet_sees_a_part_of_a_batch() {
    changes_are_seen_together(false);
}

#[test]
fn two_workers_and_a_batch_all_come_through() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let gate = Arc::new(Gate::new());
        let workers = [(); 2].map(|()| {
            let (gate, lane) = (Arc::clone(&gate), gate.join());
            thread::spawn(move || drop(gate.enter(&lane)))
        });
        gate.close();
        gate.open();
        workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
    });
}

/// Has a packet read two cells of the replica that is active at that moment, while a change writes
/// both replicas, one after the other.
fn no_replica_is_written_under_a_packet(waits: bool) {
    loom::model(move || {
        let gate = Arc::new(Gate::new());
        let replicas = Arc::new([(); 2].map(|()| [(); 2].map(|()| AtomicU64::new(0))));
        let active = Arc::new(AtomicU64::new(0));
        let worker = {
            let (gate, lane) = (Arc::clone(&gate), gate.join());
            let (replicas, active) = (Arc::clone(&replicas), Arc::clone(&active));
            thread::spawn(move || {
                let inside = gate.enter(&lane);
                let read = &replicas[active.load(Ordering::SeqCst) as usize];
                let seen = read.each_ref().map(|cell| cell.load(Ordering::Relaxed));
                drop(inside);
                gate.leave(&lane);
                assert_eq!(seen[0], seen[1], "a part of a change was seen");
            })
        };
        let write = |replica: usize| {
            replicas[replica].iter().for_each(|cell| cell.store(1, Ordering::Relaxed));
        };
        write(1);
        active.store(1, Ordering::SeqCst);
        if waits {
            gate.wait_for_those_inside();
        }
        write(0);
        worker.join().expect("no panic");
    });
}

#[test]
fn no_packet_sees_a_part_of_a_change_in_two_replicas() {
    no_replica_is_written_under_a_packet(true);
}

#[test]
#[should_panic = "a part of a change was seen"]
fn without_waiting_a_packet_sees_a_part_of_a_change() {
    no_replica_is_written_under_a_packet(false);
}
