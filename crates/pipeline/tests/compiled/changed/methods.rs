//! Tests of entries that packets do not write in place, but by a change through one replica or two,
//! or by a digest.

use super::*;
use ir::{Replicas, UpdateMethod};
use pipeline::Changed;

/// Returns the program with every storage and an update method, with one replica and with two.
fn by(method: UpdateMethod) -> impl Iterator<Item = (String, ir::Program)> {
    stored().filter(|(_, locked, _)| !locked).flat_map(move |(store, _, program)| {
        [Replicas::One, Replicas::Two].map(|replicas| {
            let mut program = program.clone();
            for table in &mut program.tables {
                (table.storage.update, table.storage.replicas) = (method, replicas);
            }
            (format!("{store:?} {replicas:?} {method:?}"), program)
        })
    })
}

/// Returns the action of the only entry, whose data are its counts.
fn counted(switch: &Switch, table: ir::TableId) -> EntryAction {
    let (_, entry) = switch.entries(table).expect("entries").next().expect("an entry");
    entry.action
}

fn times(switch: &Switch, times: u128) -> EntryAction {
    EntryAction::Action(call(switch, "several", "count", &[1, times, times]))
}

#[test]
fn changes_produce_the_entries_that_writes_in_place_produce() {
    for (design, program) in by(UpdateMethod::Change) {
        let mut both = Both::new(&program);
        // The interpreter writes in place, as the reference.
        let mut pointer = program.clone();
        for table in &mut pointer.tables {
            table.storage = ir::TableStorage { store: table.storage.store, ..Default::default() };
        }
        both.interpreted = Switch::new(pointer).expect("a program that can be run");
        entries_change_under_packets(&mut both, &design);
    }
}

#[test]
fn a_packet_reads_the_change_of_the_previous_packet_of_its_worker() {
    for (design, program) in by(UpdateMethod::Change) {
        let (mut switch, table, packet) = counting(&program);
        let code = Compiled::new(&switch).expect("a program that is compiled");
        let (mut worker, mut batch) = (Processor::with_seed(0), Batch::default());
        let packets = vec![(1, &packet[..]); 100];
        code.process_batch(&switch, &mut worker, &packets, Duration::ZERO, &mut batch);
        assert_eq!(counted(&switch, table), times(&switch, 100), "{design}");
        switch.process(1, &packet, Duration::ZERO).expect("a packet");
        assert_eq!(counted(&switch, table), times(&switch, 101), "{design}");
        assert!(switch.take_entry_changes().is_empty(), "{design}");
    }
}

/// Packets read the old value until the controller has answered. Of the packets that read the same
/// value, only one is counted.
#[test]
fn packets_read_the_old_value_until_a_digest_is_answered_and_lost_changes_are_reported() {
    for (design, program) in by(UpdateMethod::Digest) {
        for compiled in [false, true] {
            let (mut switch, table, packet) = counting(&program);
            if compiled {
                switch.compile().expect("a program that is compiled");
            }
            let process = |switch: &mut Switch, packets: usize| {
                for _ in 0..packets {
                    switch.process(1, &packet, Duration::ZERO).expect("a packet");
                }
                // Another table has an entry for these packets too.
                let mut changes = switch.take_entry_changes();
                changes.retain(|change| change.table == table);
                changes
            };
            let changes = process(&mut switch, 5);
            assert_eq!(changes.len(), 5, "{design}");
            assert_eq!(counted(&switch, table), times(&switch, 0), "{design}: nothing is written");
            for change in &changes {
                assert_eq!(EntryAction::Action(change.before.clone()), times(&switch, 0));
                assert_eq!(EntryAction::Action(change.after.clone()), times(&switch, 1));
                let sent = change.to_bytes();
                assert_eq!(switch.entry_change_from(&sent).as_ref(), Some(change), "{design}");
                assert_eq!(switch.entry_change_from(&sent[..sent.len() - 1]), None);
            }
            let outcomes: Vec<_> = changes
                .iter()
                .map(|change| switch.change_entry(change).expect("written"))
                .collect();
            assert_eq!(outcomes[0], Changed::AsFound, "{design}");
            assert_eq!(outcomes[1..], [Changed::Overwritten; 4], "{design}: four are lost");
            assert_eq!(counted(&switch, table), times(&switch, 1), "{design}");
            // Nothing is lost if the answer arrives before the next packet.
            for _ in 0..3 {
                for change in process(&mut switch, 1) {
                    assert_eq!(switch.change_entry(&change), Ok(Changed::AsFound), "{design}");
                }
            }
            assert_eq!(counted(&switch, table), times(&switch, 4), "{design}");
            let late = process(&mut switch, 1);
            let zero = |width| FieldMatch::Exact(Bits::unsigned(width, 0));
            switch.delete_entry(table, &[zero(8), zero(16)], 0).expect("an entry");
            assert!(switch.change_entry(&late[0]).is_err(), "{design}: the entry is gone");
        }
    }
}

/// Both paths send the same digests, which are answered immediately. The entries are then the same
/// as if packets had written them in place.
#[test]
fn digests_that_are_answered_at_once_produce_the_entries_of_writes_in_place() {
    for (design, program) in by(UpdateMethod::Digest) {
        let mut both = Both::new(&program);
        for round in 0..100 {
            let mut random = ChaCha8Rng::seed_from_u64(round);
            for _ in 0..random.random_range(0..6) {
                change(&mut both, &mut random);
            }
            for _ in 0..8 {
                let mut packet = vec![0_u8; 32];
                for at in [0, 1, 3, 9, 13, 17] {
                    packet[at] = random.random_range(0..4);
                }
                // Both paths refuse a packet whose processing fails.
                let _ = both.packet(1, &packet);
                let sent = [&both.interpreted, &both.compiled].map(|one| one.take_entry_changes());
                assert_eq!(sent[0], sent[1], "{design}, round {round}");
                for (switch, changes) in [&both.interpreted, &both.compiled].into_iter().zip(&sent)
                {
                    let found: Vec<_> =
                        changes.iter().map(|change| switch.change_entry(change)).collect();
                    assert!(!found.contains(&Ok(Changed::Overwritten)), "{design}, round {round}");
                }
            }
            for (table, ..) in ALL {
                let both = [&both.interpreted, &both.compiled].map(|one| entries(one, table));
                assert_eq!(both[0], both[1], "{design}: {table}, round {round}");
            }
        }
    }
}

/// Packets of two workers read an entry of two words while the control plane changes both words.
/// The two words always belong together, and both replicas have the last ones in the end.
#[test]
fn no_packet_sees_a_part_of_a_change_of_two_replicas() {
    const CHANGES: u128 = 60;
    for (design, program) in by(UpdateMethod::Change).filter(|(name, _)| name.contains("Two")) {
        let (switch, table, _) = counting(&program);
        // The packet has the second header, so that it hits no entry of another table.
        let mut packet = [0; 28];
        (packet[0], packet[15]) = (7, 5);
        let mark = |number: u128| TableEntry {
            matches: vec![8, 16]
                .into_iter()
                .map(|width| FieldMatch::Exact(Bits::zero(width, false)))
                .collect(),
            priority: 0,
            // The packet carries one number away as its value, and leaves through the port of the
            // other.
            action: EntryAction::Action(call(
                &switch,
                "several",
                "mark",
                &[number % 256, number % 256],
            )),
            idle_timeout: None,
        };
        switch.modify_entry(table, mark(0), Duration::ZERO).expect("an entry");
        let code = Compiled::new(&switch).expect("a program that is compiled");
        let ended = AtomicBool::new(false);
        let torn = std::thread::scope(|scope| {
            let workers = [0, 1].map(|seed| {
                let (switch, code, ended, packet) = (&switch, &code, &ended, &packet);
                scope.spawn(move || {
                    let (mut worker, mut torn) = (Processor::with_seed(seed), 0_u32);
                    let packets = vec![(1, &packet[..]); 32];
                    let mut batch = Batch::default();
                    while !ended.load(Ordering::Relaxed) {
                        code.process_batch(
                            switch,
                            &mut worker,
                            &packets,
                            Duration::ZERO,
                            &mut batch,
                        );
                        for (_, port, bytes) in batch.sent() {
                            let value =
                                u32::from_be_bytes([bytes[10], bytes[11], bytes[12], bytes[13]]);
                            torn += u32::from(port != value % 256);
                        }
                    }
                    torn
                })
            });
            for number in 1..=CHANGES {
                switch.modify_entry(table, mark(number), Duration::ZERO).expect("an entry");
            }
            ended.store(true, Ordering::Relaxed);
            workers.map(|worker| worker.join().expect("a worker")).iter().sum::<u32>()
        });
        assert_eq!(torn, 0, "{design}");
        for _ in 0..2 {
            // After one more change, packets read the other replica.
            switch.modify_entry(table, mark(77), Duration::ZERO).expect("an entry");
            assert_eq!(counted(&switch, table), mark(77).action, "{design}");
        }
    }
}
