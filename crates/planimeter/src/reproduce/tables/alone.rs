//! The tables alone, without packets: update methods and designs as `planimeter tables` measures
//! them.

use std::time::Duration;

use ::tables::measure::{Findings, Measured as Case, Operation, Plan, Selection, Sharing};
use ::tables::{EntryLock, Requirements, Storage, Synchronisation, UpdateMethod, Wait, machine};
use report::plot::{Line, Origin};
use report::value::Value;
use statistics::{Estimate, Unit};

use super::super::section::Measured;
use super::sizes::Sizes;
use super::{evidence, figure};
use crate::environment::Environment;
use crate::failure::Failure;

/// Returns a selection of one table design with one size on one core. Experiments change parts of
/// it to select what they measure.
fn one(storage: Storage, entries: usize) -> Selection {
    Selection {
        storages: vec![storage],
        sharings: vec![Sharing::Optimistic],
        locks: vec![EntryLock::None],
        updates: vec![UpdateMethod::Pointer],
        operations: vec![Operation::Update],
        sizes: vec![entries],
        key_bits: vec![32],
        parameter_bytes: vec![4],
        cores: vec![1],
        asks: Requirements::default(),
    }
}

fn measure(
    environment: &Environment<'_>,
    folder: &str,
    selections: &[Selection],
) -> Result<Findings, Failure> {
    let plan = Plan::new(selections).map_err(Failure::run)?;
    let time = Duration::from_millis(if environment.quick { 2 } else { 50 });
    environment.tables(folder, &plan, time, if environment.quick { 3 } else { 5 })
}

/// Returns the rate of a measured case in wall-clock time. In this time, update methods that wait
/// can be compared with methods that do not.
fn wall_rate(case: &Case) -> Option<Value> {
    let rate = Estimate::of(&case.rates_by_wall())?;
    Some(Value::estimate(&rate, Unit::PerSecond))
}

fn rate(case: &Case) -> Option<Value> {
    Estimate::of(&case.rates()).map(|rate| Value::estimate(&rate, Unit::PerSecond))
}

/// Measures Table 1 and Fig. 2 of the paper on tables written by packets: the update methods and
/// reads of a table with this many entries, with the storage `original`.
pub(super) fn update_methods(
    environment: &Environment<'_>,
    entries: usize,
) -> Result<Measured, Failure> {
    let pointer = one(Storage::Original, entries);
    let both = vec![Operation::Update, Operation::Read];
    let change = Selection {
        sharings: vec![Sharing::DoubleBuffer(Wait::PAPER), Sharing::DoubleBuffer(Wait::Quiescent)],
        updates: vec![UpdateMethod::Change],
        ..pointer.clone()
    };
    let digest = Selection { updates: vec![UpdateMethod::Digest], ..pointer.clone() };
    let selections = [Selection { operations: both, ..pointer }, change, digest];
    let findings = measure(environment, "update-methods", &selections)?;
    let mut measured = Measured {
        links: vec![(
            "All methods, the table alone".to_owned(),
            "update-methods/report.html".to_owned(),
        )],
        ..Measured::default()
    };
    let seconds = |found: Estimate| Value::estimate(&found, Unit::Seconds);
    for case in &findings.measured {
        let key = match (
            case.case.operation,
            case.case.design.update,
            case.case.design.synchronisation,
        ) {
            (Operation::Read, _, _) => "read",
            (_, UpdateMethod::Pointer, _) => "pointer",
            (_, UpdateMethod::Digest, _) => "digest",
            (_, _, Synchronisation::DoubleBuffer { wait: Wait::Quiescent }) => "change-quiescent",
            (_, UpdateMethod::Change, _) => "change",
        };
        measured.put(format!("{key}.rate"), wall_rate(case));
        if key == "pointer" {
            measured.put("write.rate", wall_rate(case));
        }
        let [p50, p99, _] = case.percentiles().map(|found| found.map(seconds));
        measured.put(format!("{key}.p50"), p50);
        measured.put(format!("{key}.p99"), p99);
        for (name, share) in [("p25", 0.25), ("p75", 0.75)] {
            let time = case.single.tail_at(share).map(|time| f64::from(time) / 1e9);
            measured.put(format!("{key}.{name}"), time.map(|time| Value::new(time, Unit::Seconds)));
        }
    }
    evidence::put_methods(&mut measured, &findings);
    Ok(measured)
}

/// Measures Fig. 4 to 6 of the paper on tables written by packets: reads and updates in place with
/// several table designs.
pub(super) fn designs(environment: &Environment<'_>, sizes: &Sizes) -> Result<Measured, Failure> {
    let all = machine::cores().map_err(Failure::run)?.len();
    // The paper's claims on scaling are judged with two cores. The charts also show the rates of
    // all cores.
    let mut cores = vec![1, 2, all];
    cores.retain(|count| *count <= all);
    cores.sort_unstable();
    cores.dedup();
    let findings = measure(environment, "designs", &design_selections(&sizes.all, &cores))?;
    let mut measured = Measured {
        links: vec![("All designs, the table alone".to_owned(), "designs/report.html".to_owned())],
        ..Measured::default()
    };
    let largest = sizes.largest;
    put_reads(&mut measured, &findings, sizes);
    put_ratios(&mut measured, &findings, largest, all);
    evidence::put_designs(&mut measured, &findings, sizes);
    put_updates(&mut measured, &findings, &sizes.all, &cores);
    Ok(measured)
}

/// Returns the combinations of designs, sizes and cores that are measured for Fig. 4 to 6 of the
/// paper on tables written by packets.
fn design_selections(sizes: &[usize], cores: &[usize]) -> [Selection; 4] {
    let base = Selection { sizes: sizes.to_vec(), ..one(Storage::Dynamic, 1) };
    let reads = Selection {
        storages: vec![Storage::Dynamic, Storage::Static],
        operations: vec![Operation::Read],
        cores: cores.to_vec(),
        ..base.clone()
    };
    let replicas = Selection {
        sharings: vec![Sharing::DoubleBuffer(Wait::Quiescent)],
        operations: vec![Operation::Read],
        updates: vec![UpdateMethod::Change],
        cores: cores.to_vec(),
        ..base.clone()
    };
    let several = Selection {
        storages: vec![Storage::Original, Storage::Dynamic, Storage::Static],
        cores: cores.to_vec(),
        ..base.clone()
    };
    let locks = Selection {
        locks: vec![EntryLock::None, EntryLock::PerEntry],
        cores: cores.to_vec(),
        ..base
    };
    [reads, replicas, several, locks]
}

/// Adds to `measured` the rates at which one core reads tables of different sizes, as values and as
/// a chart. They correspond to Fig. 4 of the paper on tables written by packets.
fn put_reads(measured: &mut Measured, findings: &Findings, sizes: &Sizes) {
    let mut lines = Vec::new();
    for (name, storage, buffered) in [
        ("dyn/t4p4s", Storage::Dynamic, true),
        ("dyn/DPDK", Storage::Dynamic, false),
        ("stat/DPDK", Storage::Static, false),
    ] {
        let own = findings.measured.iter().filter(|case| {
            let design = case.case.design;
            (case.case.operation, case.case.cores) == (Operation::Read, 1)
                && design.storage == storage
                && matches!(design.synchronisation, Synchronisation::DoubleBuffer { .. })
                    == buffered
        });
        let points: Vec<(f64, Value)> =
            own.filter_map(|case| Some((case.case.layout.size() as f64, rate(case)?))).collect();
        for (power, entries) in [(0, 1), (17, sizes.two_thirds), (19, sizes.largest)] {
            let at = points.iter().find(|(size, _)| *size == entries as f64);
            measured.put(format!("{name}.{power}"), at.map(|(_, rate)| *rate));
        }
        lines.push(Line::of_values(name, Origin::Measured, points));
    }
    measured.figures.push((
        "tables-fig-4".to_owned(),
        "rate-alone".to_owned(),
        figure("Reads by one core, the table alone,", "reads", lines),
    ));
}

/// Returns the measured case of updates in place with this storage, lock, table size and number of
/// cores, or `None` if there is none.
pub(super) fn find_update(
    findings: &Findings,
    storage: Storage,
    lock: EntryLock,
    size: usize,
    cores: usize,
) -> Option<&Case> {
    findings.measured.iter().find(|case| {
        let design = case.case.design;
        case.case.operation == Operation::Update
            && (design.storage, design.entry_lock) == (storage, lock)
            && (case.case.layout.size(), case.case.cores) == (size, cores)
    })
}

/// Adds to `measured` the ratios of rates between storages, between locks, and between one core and
/// all cores.
fn put_ratios(measured: &mut Measured, findings: &Findings, largest: usize, all: usize) {
    let find = |storage, lock, size, cores| find_update(findings, storage, lock, size, cores);
    let ratio = |over: Option<&Case>, under: Option<&Case>| {
        Estimate::of_ratio(&over?.rates(), &under?.rates())
    };
    let index = |ratio: Option<Estimate>| ratio.map(|ratio| Value::estimate(&ratio, Unit::Index));
    let none = EntryLock::None;
    measured.put(
        "dyn-over-orig.1",
        index(ratio(
            find(Storage::Dynamic, none, largest, 1),
            find(Storage::Original, none, largest, 1),
        )),
    );
    let read = |storage: Storage| {
        findings.measured.iter().find(|case| {
            let design = case.case.design;
            (case.case.operation, case.case.cores) == (Operation::Read, 1)
                && design.storage == storage
                && design.synchronisation == Synchronisation::Optimistic
                && case.case.layout.size() == largest
        })
    };
    measured.put("stat-over-dyn.19", index(ratio(read(Storage::Static), read(Storage::Dynamic))));
    if all > 1 {
        let scaling = |lock, size| {
            index(ratio(
                find(Storage::Dynamic, lock, size, all),
                find(Storage::Dynamic, lock, size, 1),
            ))
        };
        measured.put("dyn/DPDK.scaling", scaling(none, largest));
        measured.put("lock-scaling.0", scaling(EntryLock::PerEntry, 1));
        measured.put("lock-scaling.large", scaling(EntryLock::PerEntry, largest));
    }
    for (key, size) in [("lock-loss.0.1", 1), ("lock-loss.large.1", largest)] {
        let locked = find(Storage::Dynamic, EntryLock::PerEntry, size, 1);
        let kept = ratio(locked, find(Storage::Dynamic, none, size, 1));
        let lost = kept
            .map(|kept| Value { value: 1.0 - kept.mean, ..Value::estimate(&kept, Unit::Fraction) });
        measured.put(key, lost);
    }
}

/// Adds to `measured` the values and the charts of Fig. 5 and 6 of the paper on tables written by
/// packets: updates in place by storage and by lock.
fn put_updates(measured: &mut Measured, findings: &Findings, sizes: &[usize], cores: &[usize]) {
    let none = EntryLock::None;
    for (exhibit, storages, locks) in [
        ("tables-fig-5", vec![Storage::Original, Storage::Dynamic, Storage::Static], vec![none]),
        ("tables-fig-6", vec![Storage::Dynamic], vec![none, EntryLock::PerEntry]),
    ] {
        let mut lines = Vec::new();
        for storage in storages {
            for lock in &locks {
                for &cores in cores {
                    let points = sizes.iter().filter_map(|&size| {
                        let case = find_update(findings, storage, *lock, size, cores)?;
                        Some((size as f64, rate(case)?))
                    });
                    let plural = if cores == 1 { "" } else { "s" };
                    let name = format!("{storage}, {lock}, {cores} core{plural}");
                    lines.push(Line::of_values(name, Origin::Measured, points));
                }
            }
        }
        measured.figures.push((
            exhibit.to_owned(),
            "rate-alone".to_owned(),
            figure("Updates in place, the table alone,", "updates", lines),
        ));
    }
}
