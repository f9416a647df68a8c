//! The figures by which measurements of the tables alone, without packets, judge the paper's claims
//! on tables. Each figure has one value for each repetition.

use ::tables::measure::{Findings, Measured as Case, Operation};
use ::tables::{EntryLock, Storage, Synchronisation, UpdateMethod, Wait};
use report::value::Value;
use statistics::{Estimate, Unit};

use super::super::claims::System;
use super::super::section::{Measured, ratios};
use super::alone::find_update;
use super::sizes::Sizes;

/// Adds to `measured` the figures by which claims on update methods are judged.
pub(super) fn put_methods(measured: &mut Measured, findings: &Findings) {
    let find = |operation: Operation, update: UpdateMethod, wait: Option<Wait>| {
        findings.measured.iter().find(|case| {
            let waits = match case.case.design.synchronisation {
                Synchronisation::DoubleBuffer { wait } => Some(wait),
                _ => None,
            };
            let design = case.case.design;
            (case.case.operation, design.update) == (operation, update)
                && (wait.is_none() || waits == wait)
        })
    };
    let rates = |case: Option<&Case>| case.map(Case::rates_by_wall).unwrap_or_default();
    let medians = |case: Option<&Case>| -> Vec<f64> {
        let each = |case: &Case| -> Option<Vec<f64>> {
            case.turns.iter().map(|turn| turn.single.p50.map(f64::from)).collect()
        };
        case.and_then(each).unwrap_or_default()
    };
    let write = find(Operation::Update, UpdateMethod::Pointer, None);
    let read = find(Operation::Read, UpdateMethod::Pointer, None);
    let waiting = find(Operation::Update, UpdateMethod::Change, Some(Wait::PAPER));
    let quiescent = find(Operation::Update, UpdateMethod::Change, Some(Wait::Quiescent));
    let write_over_read = ratios(&rates(write), &rates(read));
    let ratio = Estimate::of(&write_over_read);
    measured.put("write-over-read", ratio.map(|ratio| Value::estimate(&ratio, Unit::Index)));
    let mut put = |key: &str, rounds| measured.rounds(System::TableAlone, key, rounds);
    put("write-over-read", write_over_read);
    put("pointer-over-change.rate", ratios(&rates(write), &rates(quiescent)));
    put("pointer-over-change.latency", ratios(&medians(write), &medians(quiescent)));
    put("change.rate", rates(waiting));
    put("change.without-over-with-wait", ratios(&rates(quiescent), &rates(waiting)));
}

/// Adds to `measured` the figures by which claims on storages, replicas and locks are judged.
pub(super) fn put_designs(measured: &mut Measured, findings: &Findings, sizes: &Sizes) {
    let Sizes { quarter, two_thirds, largest, .. } = *sizes;
    let rates = |case: Option<&Case>| case.map(Case::rates).unwrap_or_default();
    let update =
        |storage, lock, size, cores| rates(find_update(findings, storage, lock, size, cores));
    let read_from = |storage: Storage, replicas: Replicas, size: usize, cores: usize| {
        rates(findings.measured.iter().find(|case| {
            let design = case.case.design;
            let doubled = matches!(design.synchronisation, Synchronisation::DoubleBuffer { .. });
            case.case.operation == Operation::Read
                && design.storage == storage
                && doubled == (replicas == Replicas::Two)
                && (case.case.layout.size(), case.case.cores) == (size, cores)
        }))
    };
    let read = |replicas, size, cores| read_from(Storage::Dynamic, replicas, size, cores);
    let gain = |above: &[f64], below: &[f64]| -> Vec<f64> {
        ratios(above, below).into_iter().map(|ratio| ratio - 1.0).collect()
    };
    let (dynamic, none, lock) = (Storage::Dynamic, EntryLock::None, EntryLock::PerEntry);
    let mut put = |key: &str, rounds| measured.rounds(System::TableAlone, key, rounds);
    for (key, size) in [("replica.gain.1", 1), ("replica.gain.17", two_thirds)] {
        put(key, gain(&read(Replicas::One, size, 1), &read(Replicas::Two, size, 1)));
    }
    let locked = ratios(&update(dynamic, lock, 1, 1), &update(dynamic, none, 1, 1));
    put("lock-loss.0.1", locked.into_iter().map(|kept| 1.0 - kept).collect());
    for (key, size) in [("scaling.locked.1", 1), ("scaling.locked.largest", largest)] {
        put(key, ratios(&update(dynamic, lock, size, 2), &update(dynamic, lock, size, 1)));
    }
    let scaling = |replicas| ratios(&read(replicas, largest, 2), &read(replicas, largest, 1));
    let scalings = ratios(&scaling(Replicas::One), &scaling(Replicas::Two));
    put("scaling.one-over-two-replicas", scalings);
    for (key, size) in
        [("static-gain.2.67-caches", largest), ("static-gain.quarter-cache", quarter)]
    {
        let fixed = read_from(Storage::Static, Replicas::One, size, 1);
        put(key, gain(&fixed, &read(Replicas::One, size, 1)));
    }
    let original = update(Storage::Original, none, largest, 1);
    put("dynamic-over-original", ratios(&update(dynamic, none, largest, 1), &original));
}

/// The number of replicas of a measured table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replicas {
    /// One replica, which is read optimistically.
    One,
    /// Two replicas, of which one is read while the other is changed.
    Two,
}
