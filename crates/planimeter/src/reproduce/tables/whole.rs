//! Computes the figures of whole packets, and the figures by which claims are judged.

use std::time::Duration;

use ::tables::{Storage, Wait, machine};
use ::throughput::run::{Case, Figures};
use ir::{EntryStore, Replicas, UpdateMethod};
use report::page::Graphic;
use report::plot::{Line, Mark, Origin};
use report::value::Value;
use statistics::{Estimate, Unit};

use super::super::claims::System;
use super::super::section::{Measured, ratios};
use super::figure;
use super::knee::{self, Point};
use super::packets::{Load, Measurements, Programs, Run};
use super::sizes::{self, Sizes};
use crate::environment::Environment;
use crate::failure::Failure;

/// The packet length at which the paper compares its update methods.
const METHOD_BYTES: usize = 700;
/// The packet length of the paper's other figures.
const BYTES: usize = 84;

/// The storage with which the paper compares update methods.
const ORIGINAL: EntryStore = EntryStore::Original;
const POINTER: Load = Load::writing(ORIGINAL);
const CHANGE: Load = Load::changing(ORIGINAL, Wait::Quiescent);
const CHANGE_WITH_WAIT: Load = Load::changing(ORIGINAL, Wait::PAPER);
const DIGEST: Load = Load { update: UpdateMethod::Digest, ..POINTER };
const READ: Load = Load::reading(ORIGINAL, Replicas::One);

const ONE_REPLICA: Load = Load::reading(EntryStore::Dynamic, Replicas::One);
const TWO_REPLICAS: Load = Load::reading(EntryStore::Dynamic, Replicas::Two);
const STATIC: Load = Load::reading(EntryStore::Static, Replicas::One);
/// The load of a single worker that writes entries without locks and versions. It corresponds to
/// the paper's measurements without locks.
const UNLOCKED: Load = Load::writing(EntryStore::Dynamic);
/// The load of a single worker that takes a lock for each action, because a second worker, which is
/// idle, has joined the tables. With inline storage, writes without a lock do not depend on the
/// number of workers, so the idle worker itself costs nothing.
const LOCKED: Load = Load { is_locked: true, idle_workers: 1, ..UNLOCKED };

/// The paper's storages, each with its name and a load of packets that read entries. They are in
/// ascending order of the size of the largest table that fits in a cache.
const STORAGES: [(&str, Storage, Load); 3] = [
    ("original", Storage::Original, READ),
    ("dynamic", Storage::Dynamic, ONE_REPLICA),
    ("static", Storage::Static, STATIC),
];

/// Returns the load on two cores instead of one.
const fn on_two(load: Load) -> Load {
    Load { cores: 2, idle_workers: 0, ..load }
}

/// Returns the time of a repetition of a load. Large tables take longer to fill the caches.
fn time(environment: &Environment<'_>, is_large: bool) -> Duration {
    Duration::from_millis(match (environment.quick, is_large) {
        (true, false) => 20,
        (true, true) => 60,
        (false, false) => 100,
        (false, true) => 300,
    })
}

/// The table sizes, in entries, with which update methods are compared.
#[derive(Clone, Copy)]
pub(super) struct MethodSizes {
    /// The number of entries for Table 1 of the paper.
    pub(super) methods: usize,
    /// The number of entries for Fig. 2 of the paper, which compares packets that write with
    /// packets that only read. The table must exceed the cache, as the paper's does. In a smaller
    /// table, the processor and not memory determines the cost of a write.
    pub(super) accesses: usize,
}

/// Measures the update methods, and compares packets that read entries with packets that write them
/// in place.
pub(super) fn update_methods(
    environment: &Environment<'_>,
    MethodSizes { methods: entries, accesses: accessed }: MethodSizes,
) -> Result<Measured, Failure> {
    let programs = Programs::new()?;
    let methods = Run {
        loads: vec![POINTER, CHANGE, CHANGE_WITH_WAIT, DIGEST],
        entries,
        packet_bytes: METHOD_BYTES,
        figures: Figures::RatesAndLatencies,
        time: time(environment, false),
        is_by_wall_clock: true,
        is_compared: false,
    };
    let accesses = Run {
        loads: vec![POINTER, READ],
        entries: accessed,
        packet_bytes: BYTES,
        figures: Figures::Rates,
        time: time(environment, true),
        is_by_wall_clock: false,
        ..methods.clone()
    };
    let mut by_method = Measurements::default();
    by_method.add(programs.measure(environment, methods)?)?;
    let mut by_access = Measurements::default();
    by_access.add(programs.measure(environment, accesses)?)?;
    let mut measured = Measured::default();
    for (key, load) in [
        ("pointer", POINTER),
        ("change", CHANGE_WITH_WAIT),
        ("change-quiescent", CHANGE),
        ("digest", DIGEST),
    ] {
        measured.put(format!("{key}.rate"), rate(&by_method.rates(load, entries)));
        let latency = by_method.case(load, entries).and_then(|case| case.latency.as_ref());
        for (name, share) in [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p99", 0.99)] {
            let found = latency.and_then(|latency| latency.times.percentile(share));
            let value = found.map(|found| Value::estimate(&found, Unit::Seconds));
            measured.put(format!("{key}.{name}"), value);
        }
    }
    let rates = |load| by_method.rates(load, entries);
    let medians = |load| by_method.medians(load, entries);
    let (write, read) = (by_access.rates(POINTER, accessed), by_access.rates(READ, accessed));
    measured.put("write.rate", rate(&write));
    measured.put("read.rate", rate(&read));
    let write_over_read = ratios(&write, &read);
    measured.put("write-over-read", index(&write_over_read));
    let mut put = |key: &str, rounds| measured.rounds(System::Memory, key, rounds);
    put("write-over-read", write_over_read);
    put("pointer-over-change.rate", ratios(&rates(POINTER), &rates(CHANGE)));
    put("pointer-over-change.latency", ratios(&medians(POINTER), &medians(CHANGE)));
    put("change.rate", rates(CHANGE_WITH_WAIT));
    put("change.without-over-with-wait", ratios(&rates(CHANGE), &rates(CHANGE_WITH_WAIT)));
    Ok(measured)
}

/// Measures storages, replicas and locks with tables of these sizes.
pub(super) fn designs(environment: &Environment<'_>, sizes: &Sizes) -> Result<Measured, Failure> {
    let programs = Programs::new()?;
    let has_two_cores = machine::cores().map_err(Failure::run)?.len() > 1;
    let mut found = Measurements::default();
    for &entries in &sizes.all {
        let run = Run {
            loads: loads(sizes, entries, environment.quick, has_two_cores),
            entries,
            packet_bytes: BYTES,
            figures: Figures::Rates,
            time: time(environment, entries > sizes.quarter),
            is_by_wall_clock: false,
            // The run with one entry, which comes first, has compared all loads.
            is_compared: entries > 1,
        };
        found.add(programs.measure(environment, run)?)?;
    }
    for &entries in &sizes.around_knees {
        let run = Run {
            loads: STORAGES.map(|(_, _, load)| load).to_vec(),
            entries,
            packet_bytes: BYTES,
            figures: Figures::Rates,
            time: time(environment, true),
            is_by_wall_clock: false,
            is_compared: true,
        };
        found.add(programs.measure(environment, run)?)?;
    }
    let mut measured = Measured::default();
    put_knees(&mut measured, &found, sizes);
    put_values(&mut measured, &found, sizes);
    put_claims(&mut measured, &found, sizes);
    put_figures(&mut measured, &found, sizes);
    Ok(measured)
}

/// Returns the loads that are measured with tables of this size. In a quick run, these are only the
/// loads that a claim or a published value needs.
fn loads(sizes: &Sizes, entries: usize, is_quick: bool, has_two_cores: bool) -> Vec<Load> {
    let mut loads = vec![ONE_REPLICA, TWO_REPLICAS, STATIC];
    let is_smallest_or_largest = entries == 1 || entries == sizes.largest;
    if is_smallest_or_largest || !is_quick {
        loads.extend([Load::writing(ORIGINAL), UNLOCKED, LOCKED]);
        if has_two_cores {
            let reads = [ONE_REPLICA, TWO_REPLICAS];
            loads.extend(reads.into_iter().chain([UNLOCKED, LOCKED]).map(on_two));
        }
    }
    if !is_quick {
        // Only the knees are measured with this load, in larger tables.
        if entries == 1 {
            loads.push(READ);
        }
        loads.push(Load::writing(EntryStore::Static));
        if has_two_cores {
            loads.extend([ORIGINAL, EntryStore::Static].map(|store| on_two(Load::writing(store))));
        }
    }
    loads
}

fn rate(rates: &[f64]) -> Option<Value> {
    Estimate::of(rates).map(|rate| Value::estimate(&rate, Unit::PerSecond))
}

fn index(ratios: &[f64]) -> Option<Value> {
    Estimate::of(ratios).map(|ratio| Value::estimate(&ratio, Unit::Index))
}

/// Returns by which share each ratio is above 1.
fn gains(ratios: Vec<f64>) -> Vec<f64> {
    ratios.into_iter().map(|ratio| ratio - 1.0).collect()
}

/// Returns by which share each ratio is below 1.
fn losses(ratios: Vec<f64>) -> Vec<f64> {
    ratios.into_iter().map(|ratio| 1.0 - ratio).collect()
}

/// Adds to `measured` the values that are shown beside published ones.
fn put_values(measured: &mut Measured, found: &Measurements, sizes: &Sizes) {
    let rates = |load, entries| found.rates(load, entries);
    let Sizes { two_thirds, largest, .. } = *sizes;
    for (key, load, entries) in [
        ("dyn/t4p4s.0", TWO_REPLICAS, 1),
        ("dyn/DPDK.0", ONE_REPLICA, 1),
        ("dyn/t4p4s.17", TWO_REPLICAS, two_thirds),
        ("dyn/DPDK.17", ONE_REPLICA, two_thirds),
        ("dyn/DPDK.19", ONE_REPLICA, largest),
        ("stat/DPDK.19", STATIC, largest),
    ] {
        measured.put(key, rate(&rates(load, entries)));
    }
    let ratio = |above, below, entries| ratios(&rates(above, entries), &rates(below, entries));
    for (key, above, below, entries) in [
        ("stat-over-dyn.19", STATIC, ONE_REPLICA, largest),
        ("dyn-over-orig.1", UNLOCKED, Load::writing(ORIGINAL), largest),
        ("dyn/DPDK.scaling", on_two(UNLOCKED), UNLOCKED, largest),
        ("lock-scaling.0", on_two(LOCKED), LOCKED, 1),
        ("lock-scaling.large", on_two(LOCKED), LOCKED, largest),
    ] {
        measured.put(key, index(&ratio(above, below, entries)));
    }
    for (key, entries) in [("lock-loss.0.1", 1), ("lock-loss.large.1", largest)] {
        let lost = Estimate::of(&losses(ratio(LOCKED, UNLOCKED, entries)));
        measured.put(key, lost.map(|lost| Value::estimate(&lost, Unit::Fraction)));
    }
}

/// Adds to `measured` the figures by which claims are judged, with one value for each repetition.
fn put_claims(measured: &mut Measured, found: &Measurements, sizes: &Sizes) {
    let ratio =
        |above, below, entries| ratios(&found.rates(above, entries), &found.rates(below, entries));
    let Sizes { quarter, two_thirds, largest, .. } = *sizes;
    let mut put = |key: &str, rounds| measured.rounds(System::Memory, key, rounds);
    put("replica.gain.1", gains(ratio(ONE_REPLICA, TWO_REPLICAS, 1)));
    put("replica.gain.17", gains(ratio(ONE_REPLICA, TWO_REPLICAS, two_thirds)));
    put("lock-loss.0.1", losses(ratio(LOCKED, UNLOCKED, 1)));
    put("scaling.locked.1", ratio(on_two(LOCKED), LOCKED, 1));
    put("scaling.locked.largest", ratio(on_two(LOCKED), LOCKED, largest));
    let scaling = |load| ratio(on_two(load), load, largest);
    put("scaling.one-over-two-replicas", ratios(&scaling(ONE_REPLICA), &scaling(TWO_REPLICAS)));
    put("static-gain.2.67-caches", gains(ratio(STATIC, ONE_REPLICA, largest)));
    put("static-gain.quarter-cache", gains(ratio(STATIC, ONE_REPLICA, quarter)));
    put("dynamic-over-original", ratio(UNLOCKED, Load::writing(ORIGINAL), largest));
}

/// Adds to `measured` the figures by which the claim on cache misses is judged. Misses cannot be
/// counted for packets, but each of them costs time. The times of packets therefore show the table
/// size above which packets miss the cache (the knee).
fn put_knees(measured: &mut Measured, found: &Measurements, sizes: &Sizes) {
    let keys = ["knee.over-model", "knee.order"];
    if sizes.around_knees.is_empty() {
        for key in keys {
            let reason = "--quick has too few sizes to locate knees; run it without --quick";
            measured.inconclusive(System::Memory, key, reason);
        }
        return;
    }
    let rounds = found.rates(READ, sizes.around_knees[0]).len();
    let rate_in = |load, entries, round: usize| found.rates(load, entries).get(round).copied();
    let each: Vec<Option<[f64; 3]>> = (0..rounds)
        .map(|round| knees(sizes, &|load, entries| rate_in(load, entries, round)))
        .collect();
    let located: Vec<[f64; 3]> = each.iter().copied().flatten().collect();
    if located.len() < each.len() {
        let missing = each.len() - located.len();
        for key in keys {
            let reason = format!("the rates of {missing} of {rounds} rounds show no knee");
            measured.inconclusive(System::Memory, key, reason);
        }
        return;
    }
    let over_model = |knees: &[f64; 3]| knees.iter().copied().fold(f64::MIN, f64::max);
    let models = STORAGES.map(|(_, storage, _)| sizes::modelled(storage, sizes.cache) as f64);
    let order = |[original, dynamic, fixed]: &[f64; 3]| {
        let entries = [original * models[0], dynamic * models[1], fixed * models[2]];
        (entries[1] / entries[0]).min(entries[2] / entries[1])
    };
    measured.rounds(System::Memory, keys[0], located.iter().map(over_model).collect());
    measured.rounds(System::Memory, keys[1], located.iter().map(order).collect());
    let names = STORAGES.iter().enumerate().map(|(place, (name, _, _))| {
        let shares: Vec<f64> = located.iter().map(|knees| knees[place]).collect();
        let mean = statistics::mean(&shares).unwrap_or_default();
        format!("{name} {mean:.2}")
    });
    let names: Vec<String> = names.collect();
    measured.set_up.push(("knees over modelled sizes".to_owned(), names.join(", ")));
}

/// Returns, for each storage, the knee (the table size above which packets miss the cache) as a
/// share of the size that the paper's model predicts. `rate` returns the rate of one round for a
/// load and a number of entries. Returns `None` if a storage has no knee.
fn knees(sizes: &Sizes, rate: &dyn Fn(Load, usize) -> Option<f64>) -> Option<[f64; 3]> {
    let of_storage = |storage: Storage, load: Load| {
        let points = sizes.around_knees.iter().filter_map(|&entries| {
            let caches = sizes::caches_of(storage, entries, sizes.cache);
            let rate = rate(load, entries)?;
            let point = Point { size: caches.log2(), time: 1.0 / rate };
            (0.25..=3.0).contains(&caches).then_some(point)
        });
        let points: Vec<Point> = points.collect();
        knee::knee(&points).map(f64::exp2)
    };
    let [original, dynamic, fixed] = STORAGES.map(|(_, storage, load)| of_storage(storage, load));
    Some([original?, dynamic?, fixed?])
}

/// Adds to `measured` the charts of Fig. 4 to 6.
fn put_figures(measured: &mut Measured, found: &Measurements, sizes: &Sizes) {
    let line = |name: &str, load: Load| {
        let mut entries: Vec<usize> =
            sizes.all.iter().chain(&sizes.around_knees).copied().collect();
        entries.sort_unstable();
        let points = entries.into_iter().filter_map(|entries| {
            found
                .case(load, entries)
                .and_then(|case: &Case| Some((entries as f64, rate(&case.rates)?)))
        });
        Line::of_values(name, Origin::Measured, points)
    };
    let writing = Load::writing;
    let fixed = EntryStore::Static;
    for (exhibit, title, lines) in [
        (
            "tables-fig-4",
            "Packets that read, one core,",
            vec![
                line("dyn/t4p4s", TWO_REPLICAS),
                line("dyn/DPDK", ONE_REPLICA),
                line("stat/DPDK", STATIC),
            ],
        ),
        (
            "tables-fig-5",
            "Packets that write",
            vec![
                line("original, 1 core", writing(ORIGINAL)),
                line("original, 2 cores", on_two(writing(ORIGINAL))),
                line("dynamic, 1 core", UNLOCKED),
                line("dynamic, 2 cores", on_two(UNLOCKED)),
                line("static, 1 core", writing(fixed)),
                line("static, 2 cores", on_two(writing(fixed))),
            ],
        ),
        (
            "tables-fig-6",
            "Packets that write",
            vec![
                line("unlocked, 1 core", UNLOCKED),
                line("unlocked, 2 cores", on_two(UNLOCKED)),
                line("locked, 1 core", LOCKED),
                line("locked, 2 cores", on_two(LOCKED)),
            ],
        ),
    ] {
        let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
        let mut figure = figure(title, "packets", lines);
        if let (Graphic::Plot(plot), "tables-fig-4") = (&mut figure.graphic, exhibit) {
            plot.marks.extend(STORAGES.map(|(name, storage, _)| Mark {
                x: sizes::modelled(storage, sizes.cache) as f64,
                label: name.to_owned(),
            }));
        }
        measured.figures.push((exhibit.to_owned(), "rate".to_owned(), figure));
    }
}

#[cfg(test)]
mod tests {
    use super::super::sizes::PAPER_CACHE;
    use super::*;

    #[test]
    fn quick_runs_measure_all_loads_of_claims() {
        let sizes = Sizes::of(PAPER_CACHE, true);
        let has = |entries: usize, wanted: &[Load]| {
            let loads = loads(&sizes, entries, true, true);
            assert!(wanted.iter().all(|load| loads.contains(load)), "{entries}: {loads:?}");
            let distinct = |at: usize| !loads[..at].contains(&loads[at]);
            assert!((0..loads.len()).all(distinct), "{entries}: a load twice");
        };
        has(1, &[ONE_REPLICA, TWO_REPLICAS, LOCKED, UNLOCKED, on_two(LOCKED)]);
        has(sizes.quarter, &[STATIC, ONE_REPLICA]);
        has(sizes.two_thirds, &[ONE_REPLICA, TWO_REPLICAS]);
        has(
            sizes.largest,
            &[
                STATIC,
                ONE_REPLICA,
                TWO_REPLICAS,
                on_two(ONE_REPLICA),
                on_two(TWO_REPLICAS),
                LOCKED,
                on_two(LOCKED),
                UNLOCKED,
                Load::writing(ORIGINAL),
            ],
        );
        // The loads of larger tables are not compared with the interpreter if the smallest was.
        let smallest = loads(&sizes, 1, false, true);
        for &entries in &sizes.all {
            let variants = loads(&sizes, entries, false, true);
            assert!(variants.iter().all(|load| smallest.contains(load)), "{entries}");
        }
        assert!(STORAGES.iter().all(|(_, _, load)| smallest.contains(load)));
    }

    #[test]
    fn knees_are_found_where_rates_fall() {
        let sizes = Sizes::of(10 << 20, false);
        for share in [0.6, 0.8, 1.0] {
            // The time of a packet rises where the table exceeds this share of the cache.
            let rate = |load: Load, entries: usize| {
                let (_, storage, _) = STORAGES.into_iter().find(|(_, _, one)| *one == load)?;
                let caches = sizes::caches_of(storage, entries, sizes.cache);
                Some(1e9 / (100.0 + 60.0 * (1.0 - share / caches).max(0.0)))
            };
            for knee in knees(&sizes, &rate).expect("knees") {
                assert!((knee / share).log2().abs() < 0.15, "{knee} for {share}");
            }
        }
    }
}
