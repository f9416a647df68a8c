//! What is kept beside an entry: counters, meters and ages, in every design, and bytes really allocated.

use tables::{
    ActionId, Colour, Count, Design, EntryLock, ExpiryProfile, Hit, Layout, Meter, MeterConfig,
    Options, Storage, Table, TableError, Tick, Wait,
};

fn designs() -> Vec<Design> {
    Storage::ALL
        .into_iter()
        .flat_map(|storage| {
            let locked = Design::shared(storage);
            [
                locked,
                Design { entry_lock: EntryLock::None, ..locked },
                Design { storage, ..Design::sharded(1) },
                Design::double_buffer(storage, Wait::Quiescent),
            ]
        })
        .collect()
}

fn options() -> Options {
    Options {
        direct_counters: true,
        direct_meters: true,
        expiry_profiles: vec![10, 20],
        ..Options::default()
    }
}

#[test]
fn a_counter_follows_its_entry_and_begins_anew_with_the_next() {
    for parameter_bytes in [4, 100] {
        for design in designs() {
            let layout = Layout::new(32, parameter_bytes, 2).unwrap();
            let table = Table::with_options(layout, design, &options()).unwrap();
            let (counters, meters) = (table.counters(0).unwrap(), table.meters(0).unwrap());
            let mut worker = table.worker().unwrap();
            // More entries than places, so that each place is used again.
            for key in 0..20_u32 {
                let bytes = key.to_be_bytes();
                table.insert(&bytes, ActionId(0), &[]).unwrap();
                table.insert(&u32::MAX.to_be_bytes(), ActionId(0), &[]).unwrap();
                let position = table.read(&bytes).unwrap().position;
                assert_eq!(counters.read(position), Count::default(), "{design}, {key}");
                assert_eq!(meters.read(position), Meter::default(), "{design}, {key}");
                let config =
                    MeterConfig::SingleRate { rate: 0, committed_burst: 1, excess_burst: 1 };
                meters.write(position, Meter::new(config, 0));
                let mut colours = Vec::new();
                let mut act = |_: usize, hit: &mut Hit<'_>| {
                    assert_eq!(hit.position(), position, "{design}");
                    counters.count(hit.position(), 100);
                    colours.push(meters.mark(hit.position(), 1, Colour::Green, 0));
                };
                worker.apply_batch(&bytes.repeat(3), Tick(0), &mut act).unwrap();
                assert_eq!(colours, [Colour::Green, Colour::Yellow, Colour::Red], "{design}");
                // A change does not move the entry, also where it swaps replicas.
                table.modify(&bytes, ActionId(1), &[1]).unwrap();
                assert_eq!(table.read(&bytes).unwrap().position, position, "{design}");
                assert_eq!(counters.read(position), Count { packets: 3, bytes: 300 }, "{design}");
                table.delete(&bytes).unwrap();
                table.delete(&u32::MAX.to_be_bytes()).unwrap();
            }
            assert!(table.counters(1).is_none());
        }
    }
}

#[test]
fn idle_entries_expire_in_every_design() {
    for design in designs() {
        let table =
            Table::with_options(Layout::new(32, 4, 8).unwrap(), design, &options()).unwrap();
        for (key, profile) in [(1_u32, Some(0)), (2, Some(1)), (3, None), (4, Some(0))] {
            let profile = profile.map(ExpiryProfile);
            table.insert_ageing(&key.to_be_bytes(), ActionId(0), &[], profile, Tick(100)).unwrap();
        }
        let mut worker = table.worker().unwrap();
        // A hit alone restarts nothing (PNA 0.7).
        worker.update(&1_u32.to_be_bytes(), Tick(105), |_| ()).unwrap();
        worker.update(&4_u32.to_be_bytes(), Tick(105), |hit| hit.restart_expiry()).unwrap();
        assert!(table.expire(Tick(109)).is_empty(), "{design}");
        assert_eq!(table.expire(Tick(110)), [1_u32.to_be_bytes()], "{design}");
        assert_eq!(worker.expire(Tick(115)), [4_u32.to_be_bytes()], "{design}");
        assert_eq!(table.expire(Tick(120)), [2_u32.to_be_bytes()], "{design}");
        assert!(table.expire(Tick(1 << 20)).is_empty(), "{design}");
        assert_eq!(table.len(), 1, "{design}");
    }
}

/// Rounds up to a multiple, the brackets of the paper's equations.
fn align(bytes: usize, to: usize) -> usize {
    to * bytes.div_ceil(to)
}

/// Equations 1, 2 and 4 of the paper, for keys of `k` bytes, parameters of `a`, `n` entries of `s`.
fn paper(storage: Storage, k: usize, a: usize, n: usize, s: usize) -> usize {
    match storage {
        Storage::Original => s * align(8 + k, 16) + n * align(4 + a, 64) + 8 * s,
        Storage::Dynamic => s * align(8 + k, 16) + n * align(4 + a, 64),
        _ => s * align(8 + k, 16) + s * align(4 + a, 16),
    }
}

#[test]
fn bytes_allocated_are_those_of_the_papers_equations() {
    let (s, n) = (1000, 300);
    for storage in [Storage::Original, Storage::Dynamic, Storage::Static] {
        for k in [1, 4, 8, 9, 16, 40] {
            for a in [0, 4, 9, 12, 13, 28, 44, 60, 61, 200] {
                let design = Design { entry_lock: EntryLock::None, ..Design::shared(storage) };
                let table = Table::new(Layout::new(8 * k as u32, a, s).unwrap(), design).unwrap();
                let mut key = vec![0; k];
                for number in 0..n {
                    // One byte tells 256 keys apart, so the narrowest table stays emptier.
                    if k == 1 && number > 255 {
                        break;
                    }
                    let bytes = (number as u16).to_le_bytes();
                    let width = k.min(2);
                    key[..width].copy_from_slice(&bytes[..width]);
                    table.insert(&key, ActionId(0), &[]).unwrap();
                }
                let held = if k == 1 { 256 } else { n };
                assert_eq!(table.len(), held);
                assert_eq!(
                    table.memory().modelled(),
                    paper(storage, k, a, held, s),
                    "{storage}, k {k}, A {a}"
                );
            }
        }
    }
}

#[test]
fn an_inline_entry_costs_a_part_of_one_line() {
    let table =
        Table::new(Layout::new(32, 4, 1 << 16).unwrap(), Design::shared(Storage::Inline)).unwrap();
    assert_eq!(table.memory().total(), (1 << 16) * 16);
}

#[test]
fn a_table_larger_than_memory_is_refused_before_it_is_made() {
    let layout = Layout::new(2048, 4096, 1 << 28).unwrap();
    for design in designs() {
        let error = Table::new(layout, design).unwrap_err();
        assert!(
            matches!(error, TableError::Memory { needs, .. } if needs > 1 << 40),
            "{design}: {error}"
        );
    }
}

#[test]
fn keys_and_parameters_that_do_not_fit_are_errors() {
    let table = Table::new(Layout::new(12, 4, 2).unwrap(), Design::sharded(2)).unwrap();
    assert!(table.insert(&[1], ActionId(0), &[]).is_err());
    assert!(table.insert(&[0x10, 0], ActionId(0), &[]).is_err(), "the thirteenth bit");
    assert!(table.insert(&[0x0f, 0xff], ActionId(0), &[1; 5]).is_err());
    assert!(table.insert(&[0x0f, 0xff], ActionId(15), &[]).is_err());
    assert!(table.insert(&[0x0f, 0xff], ActionId(14), &[1; 4]).is_ok());
    let mut worker = table.worker().unwrap();
    assert!(worker.apply_batch(&[1, 2, 3], Tick(0), &mut |_: usize, _: &mut Hit<'_>| ()).is_err());
    assert!(worker.lookup(&[1, 2, 3], |_| ()).is_none());
    assert!(worker.update(&[], Tick(0), |_| ()).is_none());
    assert!(table.worker_of_shard(2).is_err());
}
