//! Entries for lookups that a packet skips, because it takes another branch. A switch that makes
//! such a lookup hits the entry, and transmits another packet than the test expects. Without the
//! entry it would miss, and often drop the packet like the branch that is right.

use super::losing::has_room;
use super::{Looked, Matching, PRIORITY, entry_of};
use crate::evaluate::{Known, KnownBits};
use crate::execute::{Execution, may_be_entry};
use crate::expected::truth;
use crate::generated::{Call, Entry, hexadecimal};
use crate::restriction::{Field, Restrictions};
use ir::bits::Bits;
use ir::{Program, Table, TableId, Type};
use std::collections::BTreeSet;

/// The value of all arguments of these entries: a port that each switch has, and no special number.
const ARGUMENT: u128 = 1;

/// Returns an entry for one skipped lookup of each table, if the program permits one that no other
/// lookup may hit. The action has arguments, as those have that send packets somewhere.
pub(super) fn entries(
    program: &Program,
    restrictions: &Restrictions,
    execution: &Execution,
    known: &mut KnownBits,
    looked: &[Looked],
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut tables = BTreeSet::new();
    for lookup in &execution.lookups {
        let id = lookup.table;
        let is_skipped = matches!(truth(&execution.terms, known, lookup.on), Ok(false));
        if !lookup.is_free || tables.contains(&id.index()) || !is_skipped {
            continue;
        }
        let Some(table) = program.tables.get(id.index()).filter(|table| has_room(table)) else {
            continue;
        };
        let keys: Vec<Known> =
            lookup.keys.iter().map(|key| known.of(&execution.terms, *key)).collect();
        if keys.is_empty() || keys.iter().any(|key| key.complete().is_none()) {
            continue;
        }
        let Some(action) = showing_call(program, restrictions, id, table) else { continue };
        let Ok(Matching { positions, fields, values }) = Matching::new(table, &keys) else {
            continue;
        };
        let allowed = restrictions.entry(id.index(), &fields, &values, PRIORITY);
        let Some(allowed) = allowed else { continue };
        let may_be_hit = looked.iter().any(|lookup| {
            let matches = |(at, field): (&usize, &Field)| {
                lookup.keys.get(*at).is_some_and(|key| field.may_match(key))
            };
            lookup.table == id.index() && positions.iter().zip(&allowed.fields).all(matches)
        });
        if !may_be_hit {
            tables.insert(id.index());
            entries.push(entry_of(program, table, &positions, &allowed, action));
        }
    }
    entries
}

/// Returns a call of an action with arguments that entries of a table may have. Returns `None` if
/// there is none whose arguments are unconstrained numbers.
fn showing_call(
    program: &Program,
    restrictions: &Restrictions,
    id: TableId,
    table: &Table,
) -> Option<Call> {
    let of_entries = table.actions.iter().filter(|reference| may_be_entry(reference));
    let mut calls = of_entries.filter_map(|reference| {
        if !restrictions.are_absent(id.index(), reference.action.index()) {
            return None;
        }
        let action = program.actions.get(reference.action.index())?;
        let mut arguments = Vec::new();
        for parameter in action.control_plane_parameters() {
            let Type::Bits { width, signed: false } = program.types.get(parameter.type_id) else {
                return None;
            };
            let value = hexadecimal(&Bits::unsigned(width, ARGUMENT));
            arguments.push((parameter.name.clone(), value));
        }
        (!arguments.is_empty()).then(|| Call { name: action.name.clone(), arguments })
    });
    calls.next()
}
