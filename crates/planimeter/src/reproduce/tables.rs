//! The figures of the paper on tables that packets write, measured with this project's tables.

mod evidence;

use std::time::Duration;

use ::tables::measure::{Findings, Measured as Case, Operation, Plan, Selection, Sharing};
use ::tables::{
    EntryLock, Layout, Model, Requirements, Storage, Synchronisation, UpdateMethod, Wait, machine,
};
use report::page::Figure;
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Estimate, Unit};

use super::section::Measured;
use crate::environment::Environment;
use crate::failure::Failure;

fn set_up(what: &str) -> Vec<(String, String)> {
    let host = provenance::Host::read();
    vec![
        (
            "system".to_owned(),
            format!("{what}; no card, no driver, no whole packet is in a figure"),
        ),
        (
            "machines".to_owned(),
            format!("one: {} cores ({}), not isolated", host.cpus, host.cpu_model),
        ),
        (
            "table".to_owned(),
            "keys of 4 bytes and parameters of 4 bytes, accesses in random order".to_owned(),
        ),
    ]
}

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

/// Returns the rate of a measured case by the wall clock, by which update methods that wait and
/// methods that do not are comparable.
fn wall_rate(case: &Case) -> Option<Value> {
    let rate = Estimate::of(&case.rates_by_wall())?;
    Some(Value::estimate(&rate, Unit::PerSecond))
}

fn rate(case: &Case) -> Option<Value> {
    Estimate::of(&case.rates()).map(|rate| Value::estimate(&rate, Unit::PerSecond))
}

/// Measures Table 1 and Fig. 2 of the paper on tables written by packets: the update methods of its
/// largest table, with the storage `original`.
pub(super) fn update_methods(environment: &Environment<'_>) -> Result<Measured, Failure> {
    let entries = if environment.quick { 1 << 12 } else { 1 << 20 };
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
        set_up: set_up(
            "the table alone, of storage original; latency is of one update from its call until the table has it",
        ),
        links: vec![("All methods".to_owned(), "update-methods/report.html".to_owned())],
        ..Measured::default()
    };
    measured.set_up.push(("entries".to_owned(), format!("{entries} (2^20 in the paper)")));
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
pub(super) fn designs(environment: &Environment<'_>) -> Result<Measured, Failure> {
    let bits: &[u32] =
        if environment.quick { &[0, 17, 19] } else { &[0, 4, 8, 12, 16, 17, 18, 19, 20] };
    let sizes: Vec<usize> = bits.iter().map(|bits| 1 << bits).collect();
    let all = machine::cores().map_err(Failure::run)?.len();
    // The paper's claims on scaling are judged with two cores. The charts also show the rates of
    // all cores.
    let mut cores = vec![1, 2, all];
    cores.retain(|count| *count <= all);
    cores.sort_unstable();
    cores.dedup();
    let findings = measure(environment, "designs", &design_selections(&sizes, &cores))?;
    let mut measured = Measured {
        set_up: set_up("the table alone: reads in Fig. 4, updates in place in Fig. 5 and 6"),
        links: vec![("All designs".to_owned(), "designs/report.html".to_owned())],
        ..Measured::default()
    };
    let largest = sizes.last().copied().unwrap_or(1);
    let counts: Vec<String> = cores.iter().map(usize::to_string).collect();
    let counts = counts.join(" and ");
    measured
        .set_up
        .push(("sizes and cores".to_owned(), format!("up to {largest} entries, {counts} cores")));
    put_reads(&mut measured, &findings);
    put_ratios(&mut measured, &findings, largest, all);
    evidence::put_designs(&mut measured, &findings, largest);
    put_updates(&mut measured, &findings, &sizes, &cores);
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

/// Adds to `measured` the values and the chart of Fig. 4 of the paper on tables written by packets:
/// reads by one core.
fn put_reads(measured: &mut Measured, findings: &Findings) {
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
        for (size, rate) in &points {
            measured.put(format!("{name}.{}", size.log2()), Some(*rate));
        }
        lines.push(Line::of_values(name, Origin::Measured, points));
    }
    measured.figures.push((
        "tables-fig-4".to_owned(),
        "rate".to_owned(),
        figure("Reads by one core", "reads", lines),
    ));
}

/// Returns the measured case of updates in place with this storage, lock, table size and number of
/// cores, or `None` if there is none.
fn find_update(
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
                && case.case.layout.size() == 1 << 19
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
            "rate".to_owned(),
            figure("Updates in place", "updates", lines),
        ));
    }
}

fn figure(title: &str, what: &str, lines: Vec<Line>) -> Figure {
    let y = Axis::logarithmic(format!("{what}, all cores"), Unit::PerSecond);
    let title = format!("{title} against entries");
    Figure::plot(Plot::of_values(title, Axis::binary("entries"), y, lines), "")
}

/// Computes the values of Equations 1 to 5 of the paper on tables written by packets, with the
/// models of `planimeter tables --predict`.
pub(super) fn equations() -> Result<Measured, Failure> {
    const CACHE: usize = 15 << 20;
    let layout = |bytes: usize| Layout::new(32, bytes, 1).map_err(Failure::run);
    let mut measured = Measured {
        remarks: vec![
            "Computed by the models of planimeter tables --predict, not measured.".to_owned(),
        ],
        ..Measured::default()
    };
    let model = Model::new(layout(9)?);
    for (key, storage) in [
        ("original", Storage::Original),
        ("dynamic", Storage::Dynamic),
        ("static", Storage::Static),
    ] {
        let entries = model.entries_in_cache(storage, CACHE);
        measured.put(key, Some(Value::new(entries as f64, Unit::Count)));
        measured.exact(key, entries as f64);
    }
    for bytes in [12, 28, 44, 60] {
        let fill = Model::new(layout(bytes)?).break_even_fill();
        let key = format!("fill.{bytes}");
        measured.exact(&key, fill.share());
        measured.put(key, Some(Value::new(fill.share(), Unit::Fraction)));
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::super::published::papers;
    use super::*;

    #[test]
    fn the_equations_yield_the_values_in_the_paper() {
        let measured = equations().expect("computed");
        let papers = papers().expect("the files");
        let exhibits = papers.iter().flat_map(|paper| &paper.exhibits);
        let exhibit = exhibits.into_iter().find(|one| one.id == "tables-equations").expect("there");
        for one in &exhibit.values {
            let here = measured.values.get(&one.key);
            assert_eq!(here, Some(&one.value().expect("a number").into()), "{}", one.key);
        }
        assert_eq!(measured.values.len(), exhibit.values.len());
    }
}
