//! Losing entries: they match the same packet as another entry of a test, and must lose against it.
//! A losing entry has a shorter prefix, or compares fewer bits at a lower priority. It runs another
//! action, or the same action with other arguments, so a switch that confuses prefix lengths or
//! priorities fails the test.

use super::{Looked, Made, matched_by, written};
use crate::execute::may_be_entry;
use crate::generated::{Call, Entry, Match, hexadecimal};
use crate::restriction::{Field, Restrictions};
use ir::bits::Bits;
use ir::{Action, IdleTimeout, Program, Table, Type};

/// The priority of losing entries, which is below that of all other entries.
const PRIORITY: u32 = 5;

/// The smallest declared size of a table that is assumed to have room for losing entries.
const ROOM: u64 = 16;

/// Returns a losing entry for each entry of a test, if the program permits one that changes the
/// outcome of no other lookup.
pub(super) fn losing(
    program: &Program,
    restrictions: &Restrictions,
    made: &[Made],
    looked: &[Looked],
) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (position, winner) in made.iter().enumerate() {
        let Some(table) = program.tables.get(winner.table) else { continue };
        let Some(fields) = wider(&winner.fields) else { continue };
        let is_known = made.iter().any(|one| one.table == winner.table && one.fields == fields);
        let changes_others = looked.iter().any(|lookup| {
            let key = |at: usize| winner.positions.get(at).and_then(|at| lookup.keys.get(*at));
            let mut fields = fields.iter().enumerate();
            lookup.table == winner.table
                && lookup.outcome != Some(position)
                && fields.all(|(at, field)| key(at).is_some_and(|key| field.may_match(key)))
        });
        if is_known || changes_others || !has_room(table) {
            continue;
        }
        let Some(action) = other_call(program, restrictions, winner, table) else { continue };
        let mut matches = Vec::with_capacity(fields.len());
        for (at, field) in winner.positions.iter().zip(&fields) {
            let Some(key) = table.keys.get(*at) else { continue };
            if let (Some(value), Some(matched)) = (written(program, key, field), matched_by(field))
            {
                matches.push(Match { key: key.name.clone(), value, position: *at, matched });
            }
        }
        let entry = Entry {
            table: table.name.clone(),
            priority: winner.entry.priority.map(|_| PRIORITY),
            matches,
            action,
            member: None,
        };
        let is_new = |one: &Entry| one.table != entry.table || one.matches != entry.matches;
        if entries.iter().all(is_new) {
            entries.push(entry);
        }
    }
    entries
}

/// Returns whether a table accepts losing entries, which must stay in it and lose for as long as a
/// test lasts. A table does not if packets may add entries to it, if its entries expire, or if they
/// refer to an action profile.
pub(super) fn has_room(table: &Table) -> bool {
    table.implementation.is_none()
        && !table.add_on_miss
        && table.idle_timeout != Some(IdleTimeout::AutoDelete)
        && table.size.is_none_or(|size| size >= ROOM)
}

/// Returns fields that match everything that `fields` match and more, because one of them compares
/// one bit less. Returns `None` if there are no such fields.
fn wider(fields: &[Field]) -> Option<Vec<Field>> {
    let mut of_fields = fields.iter().enumerate();
    let (position, wider) =
        of_fields.find_map(|(position, field)| Some((position, one_bit_less(field)?)))?;
    let mut all = fields.to_vec();
    *all.get_mut(position)? = wider;
    Some(all)
}

/// Returns a field that compares one bit less, but at least one bit.
fn one_bit_less(field: &Field) -> Option<Field> {
    match field {
        Field::Lpm { value, prefix } => {
            let prefix = prefix.checked_sub(1).filter(|prefix| *prefix > 0)?;
            let value = value.bit_and(&Bits::prefix_mask(value.width(), prefix));
            Some(Field::Lpm { value, prefix })
        }
        Field::Ternary { value, mask } => {
            let lowest = (0..mask.width()).find(|bit| mask.bit(*bit))?;
            let one = Bits::unsigned(mask.width(), 1).shift_left(u64::from(lowest));
            let mask = mask.bit_and(&one.complement());
            (!mask.is_zero()).then(|| Field::Ternary { value: value.bit_and(&mask), mask })
        }
        Field::Any | Field::Exact(_) | Field::Range { .. } => None,
    }
}

/// Returns the action of an entry with other arguments, or else another action that has no
/// parameters. Returns `None` if there is none, or if constraints of the program might exclude it.
fn other_call(
    program: &Program,
    restrictions: &Restrictions,
    winner: &Made,
    table: &Table,
) -> Option<Call> {
    let actions = table.actions.iter().filter(|reference| may_be_entry(reference));
    let mut actions = actions
        .filter(|reference| restrictions.are_absent(winner.table, reference.action.index()))
        .filter_map(|reference| program.actions.get(reference.action.index()));
    let Call { name, arguments } = &winner.entry.action;
    let same = actions.clone().find(|action| action.name == *name)?;
    if let Some(arguments) = other_arguments(program, same, arguments) {
        return Some(Call { name: name.clone(), arguments });
    }
    let other = actions.find(|action| {
        action.name != *name && action.control_plane_parameters().next().is_none()
    })?;
    Some(Call { name: other.name.clone(), arguments: Vec::new() })
}

/// Returns the complements of an action's arguments, or `None` if the action has no numeric
/// arguments.
fn other_arguments(
    program: &Program,
    action: &Action,
    arguments: &[(String, String)],
) -> Option<Vec<(String, String)>> {
    let mut other = arguments.to_vec();
    let mut are_other = false;
    for (parameter, (_, value)) in action.control_plane_parameters().zip(&mut other) {
        let Type::Bits { width, signed: false } = program.types.get(parameter.type_id) else {
            continue;
        };
        let number = Bits::parse(width, false, value).ok()?;
        *value = hexadecimal(&number.complement());
        are_other |= width > 0;
    }
    are_other.then_some(other)
}
