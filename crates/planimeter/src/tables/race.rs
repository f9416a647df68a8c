//! `planimeter tables --lost-updates`: counts the updates that are lost in the data race which the
//! paper on tables written by packets describes.

use std::process::ExitCode;

use ::tables::measure::{Race, race};
use ::tables::{EntryLock, machine};

use super::Arguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;

/// The number of entries of the table in which updates are lost. One entry gets half of the
/// updates.
const ENTRIES: u32 = 64;

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
    println!(
        "{updates} updates by {wanted} threads on {} cores, {ENTRIES} entries, half of the updates to one; seed {seed}\n",
        available.len().min(wanted)
    );
    println!("  {:<10}{:>8}{:>16}{:>16}{:>12}", "storage", "lock", "updates", "lost", "share");
    let mut held = true;
    for storage in arguments.designs.storages() {
        for lock in [EntryLock::None, EntryLock::PerEntry] {
            let race = race(storage, lock, ENTRIES, updates, seed, &cores, &interrupt)
                .map_err(Failure::input)?;
            let Race { updates: made, lost, .. } = race;
            let share = lost as f64 / made.max(1) as f64 * 100.0;
            let name = if lock == EntryLock::None { "off" } else { "on" };
            let storage = storage.to_string();
            println!("  {storage:<10}{name:>8}{made:>16}{lost:>16}{share:>10.4} %");
            held &= lock == EntryLock::None || lost == 0;
            if made < updates {
                println!("\nPARTIAL: interrupted after {made} of {updates} updates");
                return Ok(ExitCode::from(if held { INTERRUPTED } else { 1 }));
            }
        }
    }
    if !held {
        println!("\nUpdates are missing under entry locks: a bug in Planimeter; please report it");
    }
    Ok(ExitCode::from(u8::from(!held)))
}
