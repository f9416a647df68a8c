//! `planimeter tables --lost-updates`: counts the updates that are lost in the data race which the
//! paper on tables written by packets describes.

use std::process::ExitCode;

use ::tables::measure::{Race, race};
use ::tables::{EntryLock, machine};
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::Arguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::{interrupt, invocation};

/// The number of entries of the table in which updates are lost. One entry gets half of the
/// updates.
const ENTRIES: u32 = 64;

/// The message for updates that are lost although each entry has a lock.
const A_BUG: &str = "Updates are missing under entry locks: a bug in Planimeter; please report it";

/// Returns the share of the updates that were lost.
fn share(race: &Race) -> f64 {
    race.lost as f64 / race.updates.max(1) as f64
}

/// Returns `on` if each entry has a lock, and otherwise `off`.
fn lock(race: &Race) -> &'static str {
    if race.lock == EntryLock::None { "off" } else { "on" }
}

/// Returns whether the table kept its promise: with entry locks, no update may be lost. Without
/// locks, updates may be.
fn holds(race: &Race) -> bool {
    race.lock == EntryLock::None || race.lost == 0
}

/// Returns the row of the printed table for one measurement.
fn line(race: &Race) -> String {
    let (storage, lock) = (race.storage.to_string(), lock(race));
    let Race { updates, lost, .. } = race;
    format!("  {storage:<10}{lock:>8}{updates:>16}{lost:>16}{:>10.4} %", share(race) * 100.0)
}

pub(super) fn run(arguments: &Arguments, updates: u64) -> Result<ExitCode, Failure> {
    let available = machine::cores().map_err(Failure::run)?;
    let wanted = match arguments.shapes.cores() {
        Some(cores) => cores.into_iter().max().unwrap_or(2),
        None => available.len().max(2),
    };
    // Threads beyond the number of cores share them, which loses updates too.
    let cores: Vec<usize> = available.iter().copied().cycle().take(wanted).collect();
    let seed = arguments.effort.seed();
    let interrupt = interrupt::flag();
    let printed = arguments.output.printed();
    let started = invocation::start();
    let title = format!(
        "{updates} updates by {wanted} threads on {} cores, {ENTRIES} entries, half of the updates to one; seed {seed}",
        available.len().min(wanted)
    );
    // Each row is printed as soon as it is counted, since all of them take minutes.
    let show = |line: &str| {
        if !printed.json {
            println!("{line}");
        }
    };
    show(&format!("{title}\n"));
    show(&format!(
        "  {:<10}{:>8}{:>16}{:>16}{:>12}",
        "storage", "lock", "updates", "lost", "share"
    ));
    let mut counted: Vec<Race> = Vec::new();
    let mut partial = None;
    'counting: for storage in arguments.designs.storages() {
        for lock in [EntryLock::None, EntryLock::PerEntry] {
            let race = race(storage, lock, ENTRIES, updates, seed, &cores, &interrupt)
                .map_err(Failure::input)?;
            let made = race.updates;
            show(&line(&race));
            counted.push(race);
            if made < updates {
                partial = Some(format!("interrupted after {made} of {updates} updates"));
                break 'counting;
            }
        }
    }
    let held = counted.iter().all(holds);
    let mut closing = String::new();
    if let Some(reason) = &partial {
        closing.push_str(&format!("\nPARTIAL: {reason}\n"));
    }
    if !held {
        closing.push_str(&format!("\n{A_BUG}\n"));
    }
    let was_interrupted = partial.is_some();
    let document = document(title, &counted, partial, started.provenance());
    printed.leave("tables-lost-updates", &document, || closing, &[])?;
    Ok(match (held, was_interrupted) {
        (false, _) => ExitCode::from(1),
        (true, true) => ExitCode::from(INTERRUPTED),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Returns the counts as a document.
fn document(
    title: String,
    counted: &[Race],
    partial: Option<String>,
    provenance: Provenance,
) -> Document {
    let columns = ["storage", "lock", "updates", "lost", "share lost"];
    let mut table = Table::of_values("Lost updates", columns);
    let figure = |number: f64, unit| Cell::from(Value::new(number, unit));
    for one in counted {
        table.row([
            Cell::text(one.storage.to_string()),
            Cell::text(lock(one)),
            figure(one.updates as f64, Unit::Count),
            figure(one.lost as f64, Unit::Count),
            figure(share(one), Unit::Fraction),
        ]);
    }
    let findings = match counted.iter().all(holds) {
        true => Vec::new(),
        false => vec![format!("{A_BUG}.")],
    };
    Document {
        kind: "tables --lost-updates",
        title,
        findings,
        notes: vec![
            "The number of lost updates depends on the machine and on chance; no update may be lost \
             where entries have locks."
                .to_owned(),
        ],
        partial,
        claims: Vec::new(),
        sections: vec![Section {
            id: "lost-updates".to_owned(),
            title: "Lost updates".to_owned(),
            tables: vec![table],
            ..Section::default()
        }],
        provenance,
    }
}
