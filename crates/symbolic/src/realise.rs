//! Turns a model into a configuration: table entries, default actions and register cells with which
//! the switch has the lookup outcomes of the model.

mod fillers;
mod losing;
mod skipped;

use crate::evaluate::{Known, KnownBits};
use crate::execute::{Execution, Lookup};
use crate::expected::{Unknown, number, truth};
use crate::generated::{
    Call, Cell, Default, Entry, ExpireTime, Group, Match, Matched, Member, Session, hexadecimal,
};
use crate::restriction::{Allowed, Field, Restrictions};
use crate::term::Term;
use ir::bits::Bits;
use ir::{
    BinaryOperator, ExpressionKind, Key, MatchKind, Program, Table, TableImplementation, Type,
    Value,
};
use std::collections::BTreeMap;

/// The priority of generated entries. Entries for different keys never match the same packet.
const PRIORITY: u32 = 10;

/// The entries and other settings that the control plane of a test writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) expire_times: Vec<ExpireTime>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) defaults: Vec<Default>,
    pub(crate) registers: Vec<Cell>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) groups: Vec<Group>,
}

/// The writes of the control plane that a test needs, with the lookups that need them.
pub(crate) struct Realised {
    pub(crate) written: Written,
    /// The entries that lookups hit.
    made: Vec<Made>,
    looked_up: Vec<Looked>,
}

impl Realised {
    /// Returns whether an additional entry of the table at position `table` may match a key that
    /// packets look up, although no equal entry was made for that key.
    pub(crate) fn is_changed_by(&self, table: usize, entry: &Entry) -> bool {
        self.looked_up.iter().filter(|looked| looked.table == table).any(|looked| {
            let own = looked.outcome.and_then(|at| self.made.get(at));
            let matches = entry.matches.iter().all(|one| {
                let key = looked.keys.get(one.position);
                key.is_some_and(|key| field_of(&one.matched).may_match(key))
            });
            matches && !own.is_some_and(|own| own.entry.is_equal_but_for_member(entry))
        })
    }
}

/// The reason why no configuration realises the outcomes of a model.
pub(crate) enum Unrealised {
    /// The outcome of a lookup depends on undefined values.
    Unknown,
    /// A constraint of the program, on the table or action `of`, excludes an outcome of the model.
    /// The terms have the given values in the model, and must not all have them again.
    Excluded { condition: Vec<(Term, Bits)>, of: String },
}

impl From<Unknown> for Unrealised {
    fn from(_: Unknown) -> Self {
        Self::Unknown
    }
}

/// A generated entry, with its fields as values. In `entry`, they are text.
struct Made {
    table: usize,
    fields: Vec<Field>,
    /// The positions that the keys of `fields` have among all keys of the table.
    positions: Vec<usize>,
    entry: Entry,
}

/// A lookup that packets make, with the position of the entry that was generated for it.
struct Looked {
    table: usize,
    keys: Vec<Known>,
    outcome: Option<usize>,
}

/// Whether tables also get entries that no packet hits: losing entries, which match the same packets
/// as another entry and must lose against it, and entries for lookups that no packet makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Losing {
    /// Tables have only entries that a lookup hits.
    Absent,
    /// Each entry has a further one beside it that must lose against it, where the program permits
    /// one. Each table also has an entry for a lookup that packets skip.
    Present,
}

/// Returns what the control plane writes to realise the lookup outcomes of a model. `losing` says
/// whether tables also get entries that no packet hits.
pub(crate) fn realise(
    program: &Program,
    restrictions: &Restrictions,
    execution: &Execution,
    known: &mut KnownBits,
    losing: Losing,
) -> Result<Realised, Unrealised> {
    let mut made: Vec<Made> = Vec::new();
    let mut looked_up: Vec<Looked> = Vec::new();
    let mut members = 0;
    for lookup in &execution.lookups {
        let terms = &execution.terms;
        if !lookup.is_free || !truth(terms, known, lookup.on)? {
            continue;
        }
        let Some(table) = program.tables.get(lookup.table.index()) else { continue };
        let keys: Vec<Known> = lookup.keys.iter().map(|key| known.of(terms, *key)).collect();
        if !truth(terms, known, lookup.hit)? {
            looked_up.push(Looked { table: lookup.table.index(), keys, outcome: None });
            continue;
        }
        let mut next = entry(program, restrictions, execution, known, (lookup, table, &keys))?;
        let is_same =
            |other: &Made| other.table == next.table && other.entry.matches == next.entry.matches;
        let position = match made.iter().position(is_same) {
            Some(position) => {
                let same = made.get(position).map(|made| &made.entry.action);
                if same != Some(&next.entry.action) {
                    return Err(Unrealised::Unknown);
                }
                position
            }
            None => {
                if let Some(member) = &mut next.entry.member {
                    members += 1;
                    member.member = members;
                }
                made.push(next);
                made.len() - 1
            }
        };
        let outcome = Some(position);
        looked_up.push(Looked { table: lookup.table.index(), keys, outcome });
    }
    // No entry may match the key of a lookup for which it was not made.
    for Looked { table, keys, outcome } in &looked_up {
        for (position, made) in made.iter().enumerate() {
            let key = |at: usize| made.positions.get(at).and_then(|at| keys.get(*at));
            let matches =
                |(at, field): (usize, &Field)| key(at).is_some_and(|key| field.may_match(key));
            if made.table == *table
                && Some(position) != *outcome
                && made.fields.iter().enumerate().all(matches)
            {
                return Err(Unrealised::Unknown);
            }
        }
    }
    let unhit = match losing {
        Losing::Absent => Vec::new(),
        Losing::Present => {
            let mut unhit = losing::losing(program, restrictions, &made, &looked_up);
            let for_skipped =
                skipped::entries(program, restrictions, execution, &mut *known, &looked_up);
            for entry in for_skipped {
                let is_same =
                    |one: &Entry| one.table == entry.table && one.matches == entry.matches;
                if !unhit.iter().any(is_same) {
                    unhit.push(entry);
                }
            }
            unhit
        }
    };
    let (sessions, groups) = copies(execution, known)?;
    let written = Written {
        expire_times: expire_times(execution, known)?,
        sessions,
        groups,
        entries: made.iter().map(|made| made.entry.clone()).chain(unhit).collect(),
        defaults: defaults(program, restrictions, execution, known)?,
        registers: registers(program, execution, known)?,
    };
    Ok(Realised { written, made, looked_up })
}

/// Returns an entry of another program as an entry of `table`, with the action at `position`.
/// Returns `None` if the table does not have the keys of the entry, or not the action.
pub(crate) fn translated(
    program: &Program,
    table: &Table,
    position: usize,
    entry: &Entry,
) -> Option<Entry> {
    let mut matches = Vec::with_capacity(entry.matches.len());
    for Match { position, matched, .. } in &entry.matches {
        let key = table.keys.get(*position)?;
        let value = written(program, key, &field_of(matched))?;
        let (position, matched) = (*position, matched.clone());
        matches.push(Match { key: key.name.clone(), value, position, matched });
    }
    Some(Entry {
        table: table.name.clone(),
        priority: entry.priority,
        matches,
        action: translated_call(program, table, position, &entry.action)?,
        member: profile(program, table).map(|profile| Member { profile, member: 0 }),
    })
}

/// Returns a call of another program's action as a call of the action at `position` of `table`.
pub(crate) fn translated_call(
    program: &Program,
    table: &Table,
    position: usize,
    call: &Call,
) -> Option<Call> {
    let reference = table.actions.get(position)?;
    let action = program.actions.get(reference.action.index())?;
    let parameters = action.control_plane_parameters().zip(&call.arguments);
    let arguments =
        parameters.map(|(parameter, (_, value))| (parameter.name.clone(), value.clone()));
    Some(Call { name: action.name.clone(), arguments: arguments.collect() })
}

/// Returns the name of the action profile or selector of a table; `None` if it has none.
fn profile(program: &Program, table: &Table) -> Option<String> {
    match table.implementation {
        Some(TableImplementation::ActionProfile(id) | TableImplementation::ActionSelector(id)) => {
            program.externs.get(id.index()).map(|profile| profile.name.clone())
        }
        None => None,
    }
}

fn entry(
    program: &Program,
    restrictions: &Restrictions,
    execution: &Execution,
    known: &mut KnownBits,
    (lookup, table, keys): (&Lookup, &Table, &[Known]),
) -> Result<Made, Unrealised> {
    let number = number(&execution.terms, known, lookup.action)?;
    let position = usize::try_from(number).map_err(|_| Unknown)?;
    let data = lookup.data.get(position).ok_or(Unknown)?;
    let action = call(program, execution, known, table, position, data)?;
    allowed(program, restrictions, (execution, known), (table, position, data, lookup.action))?;
    let Matching { positions, fields, values } = Matching::new(table, keys)?;
    let id = lookup.table.index();
    let found = restrictions.entry(id, &fields, &values, PRIORITY);
    let Some(found) = found else {
        // The keys whose values do not matter are left out.
        let mut kept: Vec<Option<Bits>> =
            values.iter().map(|value| Some(value.value().clone())).collect();
        for at in 0..kept.len() {
            let before = kept.get_mut(at).and_then(Option::take);
            if !restrictions.excludes(id, &kept)
                && let Some(place) = kept.get_mut(at)
            {
                *place = before;
            }
        }
        let mut condition =
            vec![(lookup.on, Bits::from_bool(true)), (lookup.hit, Bits::from_bool(true))];
        for (at, value) in positions.iter().zip(kept) {
            if let (Some(key), Some(value)) = (lookup.keys.get(*at), value) {
                condition.push((*key, value));
            }
        }
        return Err(Unrealised::Excluded { condition, of: table.name.clone() });
    };
    let entry = entry_of(program, table, &positions, &found, action);
    Ok(Made { table: id, fields: found.fields, positions, entry })
}

/// The keys of a lookup that entries match, which are all but those that select a member.
struct Matching {
    /// The positions of these keys among all keys of the table.
    positions: Vec<usize>,
    /// The fields that match them.
    fields: Vec<Field>,
    values: Vec<Known>,
}

impl Matching {
    /// Returns the fields that match the keys of a lookup. Returns an error if no field does,
    /// because a key has unknown bits.
    fn new(table: &Table, keys: &[Known]) -> Result<Self, Unknown> {
        let mut matching = Self { positions: Vec::new(), fields: Vec::new(), values: Vec::new() };
        for (position, (key, value)) in table.keys.iter().zip(keys).enumerate() {
            if key.match_kind != MatchKind::Selector {
                matching.positions.push(position);
                matching.fields.push(field(key, value)?);
                matching.values.push(value.clone());
            }
        }
        Ok(matching)
    }
}

/// Returns an entry with the fields that constraints permit, for the keys at `positions`.
fn entry_of(
    program: &Program,
    table: &Table,
    positions: &[usize],
    allowed: &Allowed,
    action: Call,
) -> Entry {
    let has_priority = table.keys.iter().any(|key| {
        matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    });
    let mut matches = Vec::with_capacity(positions.len());
    for (position, field) in positions.iter().zip(&allowed.fields) {
        let Some(key) = table.keys.get(*position) else { continue };
        if let (Some(value), Some(matched)) = (written(program, key, field), matched_by(field)) {
            matches.push(Match { key: key.name.clone(), value, position: *position, matched });
        }
    }
    Entry {
        table: table.name.clone(),
        priority: has_priority.then_some(allowed.priority.unwrap_or(PRIORITY)),
        matches,
        action,
        member: profile(program, table).map(|profile| Member { profile, member: 0 }),
    }
}

/// Checks that an action's arguments satisfy the action's constraint.
fn allowed(
    program: &Program,
    restrictions: &Restrictions,
    (execution, known): (&Execution, &mut KnownBits),
    (table, position, data, action): (&Table, usize, &[Term], Term),
) -> Result<(), Unrealised> {
    let reference = table.actions.get(position).ok_or(Unknown)?;
    let mut arguments = Vec::with_capacity(data.len());
    for argument in data {
        let value = known.of(&execution.terms, *argument);
        arguments.push(value.complete().ok_or(Unknown)?.clone());
    }
    if restrictions.allows(reference.action.index(), &arguments) {
        return Ok(());
    }
    let number = known.of(&execution.terms, action);
    let mut condition = vec![(action, number.value().clone())];
    condition.extend(data.iter().copied().zip(arguments));
    let of = program.actions.get(reference.action.index());
    let of = of.map_or_else(String::new, |action| action.name.clone());
    Err(Unrealised::Excluded { condition, of })
}

/// Returns the values of a key that an entry matches. All known bits of the key are compared.
fn field(key: &Key, value: &Known) -> Result<Field, Unknown> {
    let bits = value.value().clone();
    let width = bits.width();
    let all = value.complete().is_some();
    let none = value.mask().is_zero() && width > 0;
    Ok(match &key.match_kind {
        MatchKind::Exact | MatchKind::Other(_) | MatchKind::Optional if all => Field::Exact(bits),
        MatchKind::Range if all => Field::Range { low: bits.clone(), high: bits },
        MatchKind::Ternary => Field::Ternary { value: bits, mask: value.mask().clone() },
        MatchKind::Lpm => {
            let unknown = (0..width).rev().find(|bit| !value.mask().bit(*bit));
            let prefix = unknown.map_or(width, |bit| width - 1 - bit);
            let value = bits.bit_and(&Bits::prefix_mask(width, prefix));
            Field::Lpm { value, prefix }
        }
        MatchKind::Optional | MatchKind::Range if none => Field::Any,
        MatchKind::Optional
        | MatchKind::Range
        | MatchKind::Exact
        | MatchKind::Selector
        | MatchKind::Other(_) => return Err(Unknown),
    })
}

/// Returns the match of a key as STF scripts write it, or `None` if the entry leaves the key out.
pub(crate) fn written(program: &Program, key: &Key, field: &Field) -> Option<String> {
    let text = |bits: &Bits| digits(&of_field(program, key, bits));
    Some(match field {
        Field::Any => return None,
        Field::Exact(value) => text(value),
        Field::Range { low, high } => format!("{}->{}", text(low), text(high)),
        Field::Lpm { value, prefix } => format!("{}/{prefix}", text(value)),
        Field::Ternary { value, mask } => format!("{}&&&{}", text(value), text(mask)),
    })
}

/// Returns the values of a key that an entry matches, or `None` if the entry leaves the key out.
fn matched_by(field: &Field) -> Option<Matched> {
    Some(match field.clone() {
        Field::Any => return None,
        Field::Exact(value) => Matched::Exact(value),
        Field::Range { low, high } => Matched::Range { low, high },
        Field::Lpm { value, prefix } => Matched::Lpm { value, prefix },
        Field::Ternary { value, mask } => Matched::Ternary { value, mask },
    })
}

/// Returns the values of a key as an entry's field.
pub(crate) fn field_of(matched: &Matched) -> Field {
    match matched.clone() {
        Matched::Exact(value) => Field::Exact(value),
        Matched::Range { low, high } => Field::Range { low, high },
        Matched::Lpm { value, prefix } => Field::Lpm { value, prefix },
        Matched::Ternary { value, mask } => Field::Ternary { value, mask },
    }
}

fn call(
    program: &Program,
    execution: &Execution,
    known: &mut KnownBits,
    table: &Table,
    position: usize,
    data: &[Term],
) -> Result<Call, Unknown> {
    let reference = table.actions.get(position).ok_or(Unknown)?;
    let action = program.actions.get(reference.action.index()).ok_or(Unknown)?;
    let mut arguments = Vec::with_capacity(data.len());
    for (parameter, argument) in action.control_plane_parameters().zip(data) {
        let value = known.of(&execution.terms, *argument);
        let value = value.complete().ok_or(Unknown)?;
        arguments.push((parameter.name.clone(), hexadecimal(value)));
    }
    Ok(Call { name: action.name.clone(), arguments })
}

/// Returns all hexadecimal digits of a number, after `0x`. Leading zeros are kept, because the
/// number of digits tells a script whether a slice or its whole field is meant.
fn digits(bits: &Bits) -> String {
    let count = bits.width().div_ceil(4) as usize;
    let digits = format!("{:x}", bits.cast(bits.width(), false));
    format!("0x{digits:0>count$}")
}

/// Returns the value of a key as scripts write it. If the key is a slice of a field, this is the
/// value of the whole field.
fn of_field(program: &Program, key: &Key, value: &Bits) -> Bits {
    let value = value.cast(value.width(), false);
    match &key.expression.kind {
        ExpressionKind::Slice { operand, low, .. } => match program.types.get(operand.type_id) {
            Type::Bits { width, .. } => value.cast(width, false).shift_left(u64::from(*low)),
            Type::Bool
            | Type::Varbits { .. }
            | Type::Integer
            | Type::Error
            | Type::Enum(_)
            | Type::String
            | Type::Composite(_)
            | Type::Stack { .. }
            | Type::ActionRun(_) => value,
        },
        ExpressionKind::Binary(BinaryOperator::BitAnd, left, right) => {
            let constant = [left, right].into_iter().find_map(|operand| match &operand.kind {
                ExpressionKind::Constant(Value::Bits(bits)) => Some(bits.clone()),
                _ => None,
            });
            constant.map_or(value.clone(), |mask| value.bit_and(&mask))
        }
        _ => value,
    }
}

fn defaults(
    program: &Program,
    restrictions: &Restrictions,
    execution: &Execution,
    known: &mut KnownBits,
) -> Result<Vec<Default>, Unrealised> {
    let mut defaults = Vec::new();
    for (id, choice) in &execution.defaults {
        let terms = &execution.terms;
        // A default action matters only for packets that apply the table.
        let mut applied = false;
        for lookup in execution.lookups.iter().filter(|lookup| lookup.table == *id) {
            applied |= truth(terms, known, lookup.on)?;
        }
        if !applied || !truth(terms, known, choice.changed)? {
            continue;
        }
        let Some(table) = program.tables.get(id.index()) else { continue };
        let position =
            usize::try_from(number(terms, known, choice.action)?).map_err(|_| Unknown)?;
        let data = choice.data.get(position).ok_or(Unknown)?;
        let action = call(program, execution, known, table, position, data)?;
        allowed(program, restrictions, (execution, known), (table, position, data, choice.action))?;
        defaults.push(Default { table: table.name.clone(), action });
    }
    Ok(defaults)
}

fn registers(
    program: &Program,
    execution: &Execution,
    known: &mut KnownBits,
) -> Result<Vec<Cell>, Unknown> {
    let mut cells: BTreeMap<(usize, u64), Bits> = BTreeMap::new();
    for cell in &execution.cells {
        let terms = &execution.terms;
        if !truth(terms, known, cell.on)? {
            continue;
        }
        let index = number(terms, known, cell.index)?;
        let value = known.of(terms, cell.value);
        let value = value.complete().ok_or(Unknown)?;
        let unwritten = known.of(terms, cell.unwritten);
        if unwritten.complete() != Some(value) {
            cells.insert((cell.register.index(), index), value.clone());
        }
    }
    let cells = cells.into_iter().filter_map(|((register, index), value)| {
        let register = program.externs.get(register)?.name.clone();
        Some(Cell { register, index, value: hexadecimal(&value) })
    });
    Ok(cells.collect())
}

/// Returns the timeouts of the expire-time profiles that packets use.
fn expire_times(execution: &Execution, known: &mut KnownBits) -> Result<Vec<ExpireTime>, Unknown> {
    let (terms, times) = (&execution.terms, &execution.times);
    let mut found: BTreeMap<u32, u32> = BTreeMap::new();
    for (on, profile) in &times.uses {
        let Some(seconds) = times.profiles.get(profile) else { continue };
        let seconds = number(terms, known, *seconds)?;
        if seconds > 0 && truth(terms, known, *on)? {
            found.insert(*profile, u32::try_from(seconds).map_err(|_| Unknown)?);
        }
    }
    let found = found.into_iter();
    Ok(found.map(|(profile, seconds)| ExpireTime { profile, seconds }).collect())
}

/// Returns the clone sessions and multicast groups that packets use.
fn copies(
    execution: &Execution,
    known: &mut KnownBits,
) -> Result<(Vec<Session>, Vec<Group>), Unknown> {
    let terms = &execution.terms;
    let (mut sessions, mut groups) = (BTreeMap::new(), BTreeMap::new());
    for copied in &execution.copies {
        if !truth(terms, known, copied.on)? {
            continue;
        }
        let member = copied.member;
        let small = |number: u64| u32::try_from(number).map_err(|_| Unknown);
        // Whether a session exists is not known if its number is not.
        let number = small(self::number(terms, known, copied.number)?)?;
        if !truth(terms, known, member.exists)? {
            continue;
        }
        let port = small(self::number(terms, known, member.port)?)?;
        let instance = small(self::number(terms, known, member.instance)?)?;
        if copied.is_group {
            groups.insert(number, Group { group: number, port, instance });
        } else {
            sessions.insert(number, Session { session: number, port });
        }
    }
    Ok((sessions.into_values().collect(), groups.into_values().collect()))
}
