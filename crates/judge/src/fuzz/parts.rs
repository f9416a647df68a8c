//! Finds out which parts of a device's state can be written, and why others cannot.

use super::scope::Scope;
use crate::bench::Bench;
use crate::subject::{Subject, Table, Target};

/// The length of a chain of references after which it counts as a cycle and is not followed
/// further.
const LONGEST: usize = 16;

/// The parts of a device's state that can be written, and the reasons why others are left out.
#[derive(Default)]
pub(super) struct Parts {
    /// The parts that can be written, in the order in which they must be deleted.
    pub(super) written: Vec<Scope>,
    pub(super) left_out: Vec<(Scope, String)>,
}

/// Finds out which parts of the device's state can be written.
pub(super) fn parts(bench: &mut Bench) -> Parts {
    let mut parts = Parts::default();
    for table in bench.subject.tables.clone().iter().filter(|table| table.profile.is_none()) {
        parts.add_table(table, entries(bench, table));
    }
    let is_open =
        |table: &&Table| !table.is_const && !table.has_const_default && table.profile.is_none();
    let defaults = bench.subject.tables.iter().filter(is_open);
    parts.written.extend(defaults.map(|table| Scope::DefaultEntry(table.id)));
    for profile in bench.subject.profiles.clone() {
        let Some(table) = bench.subject.any_member_table(profile.id).cloned() else {
            for table in bench.subject.tables.iter().filter(|one| one.profile == Some(profile.id)) {
                parts.add_table(table, Err(table.unfit().unwrap_or_default().to_owned()));
            }
            continue;
        };
        match bench.has_members(profile.id, &table) {
            Ok(true) => parts.written.extend([
                Scope::Entries(table.id),
                Scope::Groups(profile.id),
                Scope::Members(profile.id),
            ]),
            Ok(false) if profile.is_selector => parts.written.push(Scope::Entries(table.id)),
            Ok(false) => {
                let why = "the switch answers them with UNIMPLEMENTED".to_owned();
                parts.left_out.push((Scope::Members(profile.id), why));
            }
            Err(why) => parts.left_out.push((Scope::Members(profile.id), why)),
        }
    }
    let mut scopes = parts.written;
    if bench.replicates() {
        scopes.extend([Scope::MulticastGroups, Scope::CloneSessions]);
    }
    let subject = &bench.subject;
    let counters = subject.counters.iter().filter(|counter| counter.size > 0);
    scopes.extend(counters.map(|counter| Scope::Counter(counter.id)));
    let meters = subject.meters.iter().filter(|meter| meter.size > 0);
    scopes.extend(meters.map(|meter| Scope::Meter(meter.id)));
    // Values that are no numbers are not made.
    let is_numeric = |width: Option<u32>| width.is_some_and(|bits| bits > 0);
    let registers = subject.registers.iter();
    let registers = registers.filter(|register| register.size > 0 && is_numeric(register.form));
    scopes.extend(registers.map(|register| Scope::Register(register.id)));
    let sets = subject.value_sets.iter().filter(|set| set.is_plain && set.size > 0);
    scopes.extend(sets.map(|set| Scope::ValueSet(set.id)));
    scopes.extend(subject.digests.iter().map(|digest| Scope::Digest(*digest)));
    scopes.sort_unstable();
    scopes.dedup();
    // Entities must be deleted before the entities to which they refer.
    scopes.sort_by_key(|scope| std::cmp::Reverse(chain(subject, *scope)));
    Parts { written: scopes, ..parts }
}

/// Returns the length of the longest chain of references that begins with entities of a part.
fn chain(subject: &Subject, scope: Scope) -> usize {
    match scope {
        Scope::Entries(id) | Scope::DefaultEntry(id) => chain_of_table(subject, id, LONGEST),
        Scope::Groups(profile) | Scope::Members(profile) => subject
            .any_member_table(profile)
            .map_or(0, |table| chain_of_table(subject, table.id, LONGEST)),
        Scope::MulticastGroups
        | Scope::CloneSessions
        | Scope::Counter(_)
        | Scope::Meter(_)
        | Scope::Register(_)
        | Scope::ValueSet(_)
        | Scope::Digest(_) => 0,
    }
}

fn chain_of_table(subject: &Subject, id: u32, longest: usize) -> usize {
    let Some(longest) = longest.checked_sub(1) else { return 0 };
    let Some(table) = subject.tables.iter().find(|table| table.id == id) else { return 0 };
    let of_actions = table.all_actions().flat_map(|action| &action.references);
    let lengths = table.references.iter().chain(of_actions).map(|reference| {
        1 + match reference.target {
            Target::Table(id) => chain_of_table(subject, id, longest),
            Target::MulticastGroups | Target::CloneSessions => 0,
        }
    });
    lengths.max().unwrap_or(0)
}

/// Finds out whether entries of a table can be written.
///
/// # Errors
/// Returns the reason if they cannot.
fn entries(bench: &mut Bench, table: &Table) -> Result<(), String> {
    if let Some(why) = table.unfit() {
        return Err(why.to_owned());
    }
    if table.takes_entries() {
        return match bench.usable().contains(&table.id) {
            true => Ok(()),
            false => Err(bench.refusal(table).unwrap_or_else(|| "it was not tried".to_owned())),
        };
    }
    bench.takes_restricted(table)
}

impl Parts {
    /// Adds the entries of a table, or the reason why they are left out. A table without keys has
    /// no entries, and one with constant entries accepts no others.
    fn add_table(&mut self, table: &Table, is_written: Result<(), String>) {
        match is_written {
            Ok(()) => self.written.push(Scope::Entries(table.id)),
            Err(_) if table.is_const || table.keys.is_empty() => {}
            Err(why) => self.left_out.push((Scope::Entries(table.id), why)),
        }
    }
}
