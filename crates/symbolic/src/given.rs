//! Entries and default actions that the control plane is known to have written. Symbolic execution
//! treats them like those in the source, and tests write them before their packets.

use crate::generated::{Call, Default, Entry, Match, Matched, hexadecimal};
use crate::realise::{field_of, written};
use ir::bits::Bits;
use ir::{ActionId, KeySet, MatchKind, Program, Table, TableId, Value};

/// An action with the values of its control-plane parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenCall {
    /// The action.
    pub action: ActionId,
    /// The value of each parameter that the control plane sets, in order.
    pub arguments: Vec<Bits>,
}

/// An entry that the control plane has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenEntry {
    /// The table.
    pub table: TableId,
    /// The match of each key of the table, in order; `None` if the entry matches any value.
    pub matches: Vec<Option<Matched>>,
    /// The priority. Of several entries that match, the one with the largest number wins. It is
    /// ignored in tables without priorities.
    pub priority: u32,
    /// The action that runs on a hit.
    pub call: GivenCall,
}

/// All that the control plane has written into tables.
#[derive(Clone, Debug, PartialEq, Eq, std::default::Default)]
pub struct Given {
    /// The entries.
    pub entries: Vec<GivenEntry>,
    /// The default actions that differ from those in the source, each with its table.
    pub defaults: Vec<(TableId, GivenCall)>,
}

/// A program whose source has the given entries.
#[derive(Clone, Debug)]
pub struct Filled {
    /// The program. It is executed with
    /// [`only_source_entries`](crate::search::Options::only_source_entries).
    pub program: Program,
    /// The entries that tests add first.
    pub entries: Vec<Entry>,
    /// The default actions that tests set first.
    pub defaults: Vec<Default>,
}

/// The reason why given entries are not executed symbolically.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GivenError {
    /// The table refers to an action profile or selector.
    #[error("{0} has an action profile, whose entries cannot be given")]
    Profile(String),
    /// The table has entries in the source.
    #[error("{0} has entries in the source, so no others can be given")]
    InSource(String),
    /// Two entries that may match the same packet have the same priority, so that it is not defined
    /// which one wins.
    #[error("two entries of {table} with priority {priority} may match the same packet")]
    Ambiguous {
        /// The name of the table.
        table: String,
        /// The priority of both entries.
        priority: u32,
    },
    /// An entry does not fit its table.
    #[error("an entry does not fit the keys or actions of {0}")]
    Unfit(String),
}

impl Filled {
    /// Puts given entries and default actions into the source of a program.
    ///
    /// # Errors
    ///
    /// Returns an error if an entry does not fit its table, or if the table cannot be executed with
    /// given entries.
    pub fn new(program: &Program, given: &Given) -> Result<Self, GivenError> {
        let mut filled =
            Self { program: program.clone(), entries: Vec::new(), defaults: Vec::new() };
        for (number, entry) in given.entries.iter().enumerate() {
            let earlier = given.entries.get(..number).unwrap_or_default();
            filled.add(program, entry, earlier)?;
        }
        for (id, call) in &given.defaults {
            let Some(table) = program.tables.get(id.index()) else { continue };
            let (in_source, in_test) = converted(program, table, call)?;
            if let Some(table) = filled.program.tables.get_mut(id.index()) {
                table.default_action = in_source;
            }
            filled.defaults.push(Default { table: table.name.clone(), action: in_test });
        }
        Ok(filled)
    }

    /// Adds an entry. `earlier` are the entries that were added before.
    fn add(
        &mut self,
        program: &Program,
        entry: &GivenEntry,
        earlier: &[GivenEntry],
    ) -> Result<(), GivenError> {
        let Some(table) = program.tables.get(entry.table.index()) else { return Ok(()) };
        let unfit = || GivenError::Unfit(table.name.clone());
        if table.implementation.is_some() {
            return Err(GivenError::Profile(table.name.clone()));
        }
        if !table.entries.is_empty() {
            return Err(GivenError::InSource(table.name.clone()));
        }
        if entry.matches.len() != table.keys.len() {
            return Err(unfit());
        }
        let has_priority = table.keys.iter().any(|key| {
            matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
        });
        let rivals = |other: &GivenEntry| {
            let mut matches = other.matches.iter().zip(&entry.matches);
            other.table == entry.table
                && other.priority == entry.priority
                && matches.all(|(left, right)| meet(left.as_ref(), right.as_ref()))
        };
        if has_priority && earlier.iter().any(rivals) {
            let (table, priority) = (table.name.clone(), entry.priority);
            return Err(GivenError::Ambiguous { table, priority });
        }
        let (in_source, in_test) = converted(program, table, &entry.call)?;
        let mut matches = Vec::with_capacity(entry.matches.len());
        for (position, (key, matched)) in table.keys.iter().zip(&entry.matches).enumerate() {
            let Some(matched) = matched.clone() else { continue };
            let value = written(program, key, &field_of(&matched)).ok_or_else(unfit)?;
            matches.push(Match { key: key.name.clone(), value, position, matched });
        }
        let priority = has_priority.then_some(entry.priority);
        self.entries.push(Entry {
            table: table.name.clone(),
            priority,
            matches,
            action: in_test,
            member: None,
        });
        if let Some(table) = self.program.tables.get_mut(entry.table.index()) {
            table.entries.push(ir::Entry {
                key_sets: entry.matches.iter().map(|one| key_set(one.as_ref())).collect(),
                action: in_source,
                priority,
                is_const: true,
                location: None,
                annotations: Vec::new(),
            });
        }
        Ok(())
    }
}

/// Returns a call as the source and as a test have it.
fn converted(
    program: &Program,
    table: &Table,
    call: &GivenCall,
) -> Result<(ir::ActionCall, Call), GivenError> {
    let unfit = || GivenError::Unfit(table.name.clone());
    let position = table.actions.iter().position(|reference| reference.action == call.action);
    let position = position.and_then(|position| u32::try_from(position).ok()).ok_or_else(unfit)?;
    let action = program.actions.get(call.action.index()).ok_or_else(unfit)?;
    let parameters: Vec<&ir::ActionParameter> = action.control_plane_parameters().collect();
    if parameters.len() != call.arguments.len() {
        return Err(unfit());
    }
    let values = call.arguments.iter().cloned().map(Value::Bits).collect();
    let named = parameters.into_iter().zip(&call.arguments);
    let arguments = named.map(|(parameter, value)| (parameter.name.clone(), hexadecimal(value)));
    Ok((
        ir::ActionCall { position, arguments: values },
        Call { name: action.name.clone(), arguments: arguments.collect() },
    ))
}

/// Returns a match as the source writes it.
fn key_set(matched: Option<&Matched>) -> KeySet<Value> {
    match matched.cloned() {
        None => KeySet::Any,
        Some(Matched::Exact(value)) => KeySet::Exact(Value::Bits(value)),
        Some(Matched::Ternary { value, mask }) => {
            KeySet::Mask { value: Value::Bits(value), mask: Value::Bits(mask) }
        }
        Some(Matched::Lpm { value, prefix }) => {
            let mask = Bits::prefix_mask(value.width(), prefix);
            KeySet::Mask { value: Value::Bits(value), mask: Value::Bits(mask) }
        }
        Some(Matched::Range { low, high }) => {
            KeySet::Range { low: Value::Bits(low), high: Value::Bits(high) }
        }
    }
}

/// Returns whether a value of a key may match both.
fn meet(left: Option<&Matched>, right: Option<&Matched>) -> bool {
    let under = |matched: &Matched| match matched {
        Matched::Exact(value) => Some((value.clone(), Bits::ones(value.width(), false))),
        Matched::Ternary { value, mask } => Some((value.clone(), mask.clone())),
        Matched::Lpm { value, prefix } => {
            Some((value.clone(), Bits::prefix_mask(value.width(), *prefix)))
        }
        Matched::Range { .. } => None,
    };
    let (Some(left), Some(right)) = (left, right) else { return true };
    if let (Matched::Range { low, high }, Matched::Range { low: other_low, high: other_high }) =
        (left, right)
    {
        return low.compare(other_high).is_le() && other_low.compare(high).is_le();
    }
    match (under(left), under(right)) {
        (Some((value, mask)), Some((other, other_mask))) => {
            let compared = mask.bit_and(&other_mask);
            value.bit_xor(&other).bit_and(&compared).is_zero()
        }
        (Some(_) | None, _) => true,
    }
}
