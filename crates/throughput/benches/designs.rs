//! Measures how the storage designs of a table scale from one core to two, in one run.
//!
//!     cargo bench -p throughput --bench designs [-- ENTRIES [REPETITIONS]]
//!
//! The program is that of the paper's evaluation: each packet writes the entry that it hits, and
//! each flow stays on one core. The two numbers of cores alternate within each repetition. The
//! output has the packets per second of the workers' processor time, in millions, and the ratio of
//! two cores to one: medians, with the least and the largest value of the repetitions.

use ir::{EntryStore, Program, Replicas, TableStorage, UpdateMethod};
use p4lang::preprocess::{DiskFiles, Options};
use pipeline::Path;
use std::time::Duration;
use throughput::run::{Settings, run};
use throughput::traffic::{Wanted, Workload};

/// The names and storage settings of the designs.
const DESIGNS: [(&str, TableStorage); 6] = [
    ("inline/sharded", design(EntryStore::Inline, Replicas::Sharded, false)),
    ("inline/optimistic/unlocked", design(EntryStore::Inline, Replicas::One, false)),
    ("inline/optimistic/locked", design(EntryStore::Inline, Replicas::One, true)),
    ("static/sharded", design(EntryStore::Static, Replicas::Sharded, false)),
    ("static/optimistic/unlocked", design(EntryStore::Static, Replicas::One, false)),
    ("static/optimistic/locked", design(EntryStore::Static, Replicas::One, true)),
];

const fn design(store: EntryStore, replicas: Replicas, synchronised: bool) -> TableStorage {
    TableStorage { store: Some(store), replicas, update: UpdateMethod::Pointer, synchronised }
}

fn main() -> Result<(), String> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<usize>().ok());
    let flows = numbers.next().unwrap_or(1 << 16);
    let repetitions = numbers.next().unwrap_or(7);
    println!("{flows} entries, {repetitions} repetitions");
    println!("{:28} {:>22} {:>22} {:>22}", "design", "one core", "two cores", "ratio");
    for (name, storage) in DESIGNS {
        let mut program = program()?;
        for table in &mut program.tables {
            table.storage = storage;
        }
        let wanted = Wanted { flows, packet_size: 84, seed: 1 };
        let workload = Workload::from_program(program, wanted, &mut |_, _| true);
        let workload = workload.map_err(|error| error.to_string())?;
        let settings = Settings {
            paths: vec![Path::Compiled],
            cores: vec![1, 2],
            repetitions,
            time: Duration::from_millis(200),
            warm_up: Duration::ZERO,
            load: 0.5,
            skew: 0.0,
            any_core: false,
            by_wall_clock: false,
            seed: 1,
        };
        let findings = run(&workload, &settings, &mut |_, _, _| true);
        let findings = findings.map_err(|error| error.to_string())?;
        let [one, two] = findings.cases.as_slice() else { return Err("two cases".to_owned()) };
        if let Some(case) = [one, two].into_iter().find(|case| case.counts.wrong > 0) {
            return Err(format!("{name}: {} packets left with another content", case.counts.wrong));
        }
        let ratios = one.rates.iter().zip(&two.rates).map(|(one, two)| two / one);
        let millions = |rates: &[f64]| shown(rates.iter().map(|rate| rate / 1e6).collect());
        println!(
            "{name:28} {:>22} {:>22} {:>22}",
            millions(&one.rates),
            millions(&two.rates),
            shown(ratios.collect())
        );
    }
    Ok(())
}

fn program() -> Result<Program, String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../programs/entry_update.p4");
    let compiled = p4lang::compile_file(&path, &Options::default(), &DiskFiles);
    compiled.map_err(|error| error.to_string())?.program.ok_or("it does not compile".to_owned())
}

/// Formats the median, the least and the largest value.
fn shown(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    match (values.first(), values.get(values.len() / 2), values.last()) {
        (Some(least), Some(median), Some(most)) => {
            format!("{median:.2} ({least:.2} to {most:.2})")
        }
        _ => "-".to_owned(),
    }
}
