//! Entries that only fill a table, so that packets find no room for theirs.

use super::{Looked, Realised, Unrealised, written};
use crate::evaluate::{Known, KnownBits};
use crate::execute::{Execution, Room, may_be_entry};
use crate::expected::{Unknown, number, truth};
use crate::generated::{Call, Entry, Match, Matched, hexadecimal};
use crate::restriction::{Field, Restrictions};
use ir::bits::Bits;
use ir::{MatchKind, Program, Table, TableId, Type};

impl Realised {
    /// Returns the entries that fill the tables in which packets find no room. They match no key
    /// that packets look up. A table in which packets find room gets none, since they find room in
    /// a table with fewer entries, too.
    pub(crate) fn fillers(
        &self,
        program: &Program,
        restrictions: &Restrictions,
        execution: &Execution,
        known: &mut KnownBits,
    ) -> Result<Vec<Entry>, Unrealised> {
        let mut entries = Vec::new();
        for (id, room) in &execution.rooms {
            let Some(table) = program.tables.get(id.index()) else { continue };
            let missing = self.missing(*id, table, room, execution, known)?;
            if missing == 0 {
                continue;
            }
            let action = idle_call(program, restrictions, *id, table).ok_or(Unknown)?;
            let mut found = 0;
            let mut next = 0;
            while found < missing {
                let fields = key(program, table, next).ok_or(Unknown)?;
                next += 1;
                let is_looked_up = self.looked_up.iter().any(|looked| {
                    let Looked { table, keys, .. } = looked;
                    let matches = |(field, key): (&Field, &Known)| field.may_match(key);
                    *table == id.index() && fields.iter().zip(keys).all(matches)
                });
                if is_looked_up {
                    continue;
                }
                let matches = matches(program, table, &fields);
                let (table, action) = (table.name.clone(), action.clone());
                entries.push(Entry { table, priority: None, matches, action, member: None });
                found += 1;
            }
        }
        Ok(entries)
    }

    /// Returns the number of entries that a table needs, besides those that packets hit, to be as
    /// full as it is in a model. It is zero if packets find room.
    fn missing(
        &self,
        id: TableId,
        table: &Table,
        room: &Room,
        execution: &Execution,
        known: &mut KnownBits,
    ) -> Result<usize, Unrealised> {
        let terms = &execution.terms;
        let mut is_refused = false;
        for refused in &room.refused {
            is_refused |= truth(terms, known, *refused)?;
        }
        if !is_refused || !table.entries.is_empty() {
            return Ok(0);
        }
        let wanted = number(terms, known, room.written)?;
        let wanted = usize::try_from(wanted).map_err(|_| Unknown)?;
        let made = self.made.iter().filter(|made| made.table == id.index()).count();
        Ok(wanted.checked_sub(made).ok_or(Unknown)?)
    }
}

/// Returns a call of an action that entries of a table may have, with zeros as arguments. Returns
/// `None` if there is none whose arguments are unconstrained numbers.
fn idle_call(
    program: &Program,
    restrictions: &Restrictions,
    id: TableId,
    table: &Table,
) -> Option<Call> {
    let of_entries = table.actions.iter().filter(|reference| may_be_entry(reference));
    let mut calls = of_entries.filter_map(|reference| {
        if table.implementation.is_some()
            || !restrictions.are_absent(id.index(), reference.action.index())
        {
            return None;
        }
        let action = program.actions.get(reference.action.index())?;
        let mut arguments = Vec::new();
        for parameter in action.control_plane_parameters() {
            let Type::Bits { width, .. } = program.types.get(parameter.type_id) else {
                return None;
            };
            let zero = hexadecimal(&Bits::zero(width, false));
            arguments.push((parameter.name.clone(), zero));
        }
        Some(Call { name: action.name.clone(), arguments })
    });
    calls.next()
}

/// Returns the key with this number of a table whose keys are exact. The widest field of the key is
/// the number, and the others are zero. Returns `None` if the table has fewer keys.
fn key(program: &Program, table: &Table, position: u64) -> Option<Vec<Field>> {
    let mut widths = Vec::with_capacity(table.keys.len());
    for key in &table.keys {
        let Type::Bits { width, .. } = program.types.get(key.expression.type_id) else {
            return None;
        };
        if key.match_kind != MatchKind::Exact {
            return None;
        }
        widths.push(width);
    }
    let widest = widths.iter().max().copied()?;
    let at = widths.iter().position(|width| *width == widest)?;
    if position.checked_shr(widest).is_some_and(|beyond| beyond > 0) {
        return None;
    }
    let fields = widths.iter().enumerate().map(|(position_of, width)| {
        let value = if position_of == at { u128::from(position) } else { 0 };
        Field::Exact(Bits::unsigned(*width, value))
    });
    Some(fields.collect())
}

/// Returns the matches of an entry with exact keys.
fn matches(program: &Program, table: &Table, fields: &[Field]) -> Vec<Match> {
    let mut matches = Vec::with_capacity(fields.len());
    for (position, (key, field)) in table.keys.iter().zip(fields).enumerate() {
        if let (Field::Exact(exact), Some(value)) = (field, written(program, key, field)) {
            let matched = Matched::Exact(exact.clone());
            matches.push(Match { key: key.name.clone(), value, position, matched });
        }
    }
    matches
}
