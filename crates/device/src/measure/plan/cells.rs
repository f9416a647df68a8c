//! Builds the cells of a plan: each set of functions to measure, under each setting.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::super::function::{ActionKind, MatchKind};
use super::super::part::Part;
use super::super::program::GREATEST_PORT;
use super::super::rule::most_rules;
use super::super::task::PartsSubject;
use super::super::traffic::Subject;
use super::{
    Combinations, DeviceKind, PlanError, PlanFile, PlannedCell, SettingsFile, Task, wrong,
};
use crate::program::paths;

/// Returns the cells (sets of functions to measure) of a plan, and the parts of the plan's program
/// that no generated program can contain.
pub(super) fn cells(
    file: &PlanFile,
    device: &DeviceKind,
    read_program: &mut dyn FnMut(&str) -> Result<ir::Program, String>,
) -> Result<(Vec<PlannedCell>, Vec<String>), PlanError> {
    let functions = &file.functions;
    let names: Vec<String> = match (&functions.program, &functions.parts) {
        (None, None) if functions.tests.is_some() => {
            return Err(wrong(
                "functions.tests",
                "has an effect only with functions.program or functions.parts",
            ));
        }
        (None, None) => return Ok((table_cells(file, device)?, Vec::new())),
        (Some(_), Some(_)) => {
            return Err(wrong("functions", "give program or parts, not both"));
        }
        (None, Some(parts)) => {
            if let Some(unknown) = parts.iter().find(|part| Part::of(part).is_none()) {
                return Err(wrong(
                    "functions.parts",
                    format!(
                        "{unknown:?} is not a part that can be measured, as `table lpm 32` or `assign 48`"
                    ),
                ));
            }
            parts.clone()
        }
        (Some(name), None) => {
            let program = read_program(name).map_err(|error| wrong("functions.program", error))?;
            let paths =
                paths(&program).map_err(|error| wrong("functions.program", error.to_string()))?;
            let names: BTreeSet<String> =
                paths.iter().flat_map(|path| path.parts.keys().cloned()).collect();
            names.into_iter().collect()
        }
    };
    if !device.is_programmable() {
        return Err(wrong(
            "functions",
            format!("a device of kind {} runs no programs", device.name()),
        ));
    }
    let (parts, not_measured): (BTreeSet<_>, Vec<_>) = {
        let found = names.iter().map(|name| (name, Part::of(name)));
        let (known, unknown): (Vec<_>, Vec<_>) = found.partition(|(_, part)| part.is_some());
        let known = known.into_iter().filter_map(|(_, part)| part).collect();
        (known, unknown.into_iter().map(|(name, _)| name.clone()).collect())
    };
    if parts.is_empty() {
        return Err(wrong("functions", "there is no part that can be measured"));
    }
    let parts: Vec<Part> = parts.into_iter().collect();
    Ok((part_cells(file, device, &parts)?, not_measured))
}

/// Returns the cells (sets of functions to measure) for the parts of a P4 program: the baseline,
/// each part alone, and random sets of several parts, which verify the model.
fn part_cells(
    file: &PlanFile,
    device: &DeviceKind,
    parts: &[Part],
) -> Result<Vec<PlannedCell>, PlanError> {
    /// The default number of random sets of parts.
    const TESTS: u32 = 10;
    let settings = checked_settings(file, device)?;
    if settings.headers != [0] {
        return Err(wrong("settings.headers", "with parts, headers are parts: `extract 32`"));
    }
    let mut sets: Vec<Vec<Part>> = vec![Vec::new()];
    sets.extend(parts.iter().map(|part| vec![part.clone()]));
    let mut random = ChaCha8Rng::seed_from_u64(file.campaign.seed.unwrap_or(1));
    let most = parts.len().min(6);
    let wanted = if most < 2 { 0 } else { file.functions.tests.unwrap_or(TESTS) };
    let tests = sets.len();
    // A small number of parts has few distinct sets, so the number of draws is limited.
    for _ in 0..wanted.saturating_mul(20) {
        if sets.len() == tests + wanted as usize {
            break;
        }
        let size = random.random_range(2..=most);
        let mut drawn: Vec<Part> = parts.sample(&mut random, size).cloned().collect();
        drawn.sort();
        if !sets.contains(&drawn) {
            sets.push(drawn);
        }
    }
    let mut cells = Vec::new();
    for &packet_bytes in &settings.packet_bytes {
        for &rules in &settings.rules {
            if rules > MAX_ENTRIES {
                return Err(wrong(
                    "settings.rules",
                    format!(
                        "must be at most {MAX_ENTRIES} with parts, whose entries are in the program"
                    ),
                ));
            }
            for &load in &settings.packets_per_second {
                for parts in &sets {
                    let subject =
                        PartsSubject { parts: Arc::from(&parts[..]), packet_bytes, rules };
                    let least = subject.least_bytes();
                    if !(least..=1518).contains(&packet_bytes) {
                        return Err(wrong(
                            "settings.packet-bytes",
                            format!(
                                "{packet_bytes} is not from {least}, which the parts need, to 1518"
                            ),
                        ));
                    }
                    let packets_per_second =
                        (!matches!(device, DeviceKind::Memory { .. })).then_some(load);
                    cells.push(PlannedCell { task: Task::Program(subject), packets_per_second });
                }
            }
        }
    }
    Ok(cells)
}

/// The largest number of table entries that a generated program contains.
const MAX_ENTRIES: u32 = 4096;

fn checked_settings<'f>(
    file: &'f PlanFile,
    device: &DeviceKind,
) -> Result<&'f SettingsFile, PlanError> {
    let settings = &file.settings;
    let in_memory = matches!(device, DeviceKind::Memory { .. });
    distinct("settings.packet-bytes", &settings.packet_bytes)?;
    distinct("settings.rules", &settings.rules)?;
    distinct("settings.headers", &settings.headers)?;
    let loads: Vec<u64> = settings.packets_per_second.iter().map(|load| load.to_bits()).collect();
    distinct("settings.packets-per-second", &loads)?;
    if settings.packets_per_second.iter().any(|load| !(*load > 0.0 && *load <= 1e8)) {
        return Err(wrong(
            "settings.packets-per-second",
            "must be above 0 and at most 100,000,000",
        ));
    }
    if settings.rules.iter().any(|rules| !(1..=1_000_000).contains(rules)) {
        return Err(wrong("settings.rules", "from 1 to 1,000,000"));
    }
    if in_memory && settings.packets_per_second.len() > 1 {
        return Err(wrong("settings.packets-per-second", "packets in memory wait for each other"));
    }
    Ok(settings)
}

/// Returns the cells (sets of functions to measure) for the matches and actions of Table I of Helm
/// et al.
fn table_cells(file: &PlanFile, device: &DeviceKind) -> Result<Vec<PlannedCell>, PlanError> {
    let matches = kinds("functions.matches", &file.functions.matches, MatchKind::ALL)?;
    let actions = kinds("functions.actions", &file.functions.actions, ActionKind::ALL)?;
    if !matches.contains(&MatchKind::Port) || !actions.contains(&ActionKind::Output) {
        return Err(wrong(
            "functions",
            "the baseline, match port and action output, must be among the functions",
        ));
    }
    let settings = checked_settings(file, device)?;
    let in_memory = matches!(device, DeviceKind::Memory { .. });
    let mut cells = Vec::new();
    for packet_bytes in &settings.packet_bytes {
        for rules in &settings.rules {
            for headers in &settings.headers {
                for load in &settings.packets_per_second {
                    for matched in &matches {
                        for action in &actions {
                            let single = matched.is_baseline() || action.is_baseline();
                            if file.functions.combinations == Combinations::Training && !single {
                                continue;
                            }
                            let subject = Subject {
                                matched: *matched,
                                action: *action,
                                packet_bytes: *packet_bytes,
                                rules: *rules,
                                headers: *headers,
                            };
                            check(subject, device, file.device.ports()[0])?;
                            let packets_per_second = (!in_memory).then_some(*load);
                            cells.push(PlannedCell { task: subject.into(), packets_per_second });
                        }
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn check(subject: Subject, device: &DeviceKind, in_port: u32) -> Result<(), PlanError> {
    let least = subject.least_bytes();
    if !(least..=1518).contains(&subject.packet_bytes) {
        return Err(wrong(
            "settings.packet-bytes",
            format!("{} is not from {least} to 1518", subject.packet_bytes),
        ));
    }
    if subject.headers > 0 && !device.is_programmable() {
        return Err(wrong(
            "settings.headers",
            format!("a device of kind {} parses no headers of ours", device.name()),
        ));
    }
    if subject.headers > 64 {
        return Err(wrong("settings.headers", "must be at most 64"));
    }
    // OpenFlow 1.0 reserves the port numbers from 0xff00.
    let greatest = if device.is_programmable() { GREATEST_PORT } else { 0xfeff };
    let most = most_rules(subject.matched, in_port, greatest);
    if subject.rules > most {
        return Err(wrong(
            "settings.rules",
            format!("match {} has no more than {most} different values", subject.matched),
        ));
    }
    Ok(())
}

fn kinds<K: Copy + PartialEq + std::str::FromStr + std::fmt::Display>(
    setting: &'static str,
    names: &[String],
    all: &[K],
) -> Result<Vec<K>, PlanError> {
    let mut kinds: Vec<K> = Vec::new();
    for name in names {
        let Ok(kind) = name.parse() else {
            let known: Vec<String> = all.iter().map(ToString::to_string).collect();
            let known = known.join(", ");
            return Err(wrong(setting, format!("{name:?} is not one of {known}")));
        };
        if kinds.contains(&kind) {
            return Err(wrong(setting, format!("{name:?} is given twice")));
        }
        kinds.push(kind);
    }
    Ok(kinds)
}

fn distinct<T: Ord>(setting: &'static str, values: &[T]) -> Result<(), PlanError> {
    let all: BTreeSet<_> = values.iter().collect();
    match !values.is_empty() && all.len() == values.len() {
        true => Ok(()),
        false => Err(wrong(setting, "give at least one value, and none twice")),
    }
}
