//! Executes the application of tables.
//!
//! A table whose entries a test provides is an unknown function: any outcomes for finitely many
//! keys can be realised by entries that match exactly these keys. Therefore, hit or miss, the
//! action and its arguments are inputs. Entries in the source become a chain of conditions.

use super::copies::CopyTo;
use super::written::CurrentLookup;
use super::{Executor, Member, Stop, unsupported};
use crate::goals::Key;
use crate::shape::Leaf;
use crate::state::{Outcomes, State, join};
use crate::term::Term;
use ir::bits::Bits;
use ir::{
    Architecture, Argument, Entry, Expression, ExpressionKind, ExternCallee, ExternMethod,
    ExternType, KeySet, MatchKind, Place, StatementKind, Table, TableId, Type, Value,
};

use std::collections::BTreeMap;

use super::call::Formal;

/// The width in bits of an action's position in the action list of its table.
pub(super) const POSITION: u32 = 16;
/// The largest number of entries in the source of a table that are executed.
const MAXIMUM_ENTRIES: usize = 1_024;

/// A lookup in a table.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    pub(crate) table: TableId,
    /// The condition under which packets make this lookup, and find no entry that a packet has
    /// added or changed.
    pub(crate) on: Term,
    /// The values of all keys.
    pub(crate) keys: Vec<Term>,
    pub(crate) hit: Term,
    /// The position of the entry's action in the action list of the table.
    pub(crate) action: Term,
    /// The entry's arguments if it has the first action of the table, the second, and so on.
    pub(crate) data: Vec<Vec<Term>>,
    /// Whether a test provides the entries of the table. Otherwise, they are in the source.
    pub(crate) is_free: bool,
}

/// A default action that a test may set.
#[derive(Clone, Debug)]
pub(crate) struct DefaultChoice {
    /// Whether the test sets the default action.
    pub(crate) changed: Term,
    /// The position of the new default action in the action list of the table.
    pub(crate) action: Term,
    /// The arguments of the new default action if it is the first action of the table, the second,
    /// and so on.
    pub(crate) data: Vec<Vec<Term>>,
}

/// An action with its arguments, as terms.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) action: Term,
    pub(super) data: Vec<Vec<Term>>,
}

/// The inputs that stand for what the control plane configures in the first of two programs that
/// are compared. If the second program makes a lookup with the same keys, or copies to the same
/// clone session or multicast group, it gets the same inputs.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    entries: BTreeMap<Use, (Term, Chosen)>,
    /// The number of entries of a table when the first packet arrives, and an input for the number
    /// of further entries. The key is the table's name in the first program.
    pub(super) numbers: BTreeMap<String, (Term, Term)>,
    /// The condition that one entry of a table matches two keys. The key of the map is the table's
    /// name in the first program, with the two keys.
    pub(super) shared: BTreeMap<(String, [Vec<Term>; 2]), Term>,
    pub(super) members: BTreeMap<CopyTo, Member>,
}

/// A lookup of an entry, or a use of a default action. It identifies the inputs for the outcome.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    /// The name of the table in the first program.
    table: String,
    /// The action list of the table, with the widths of each action's parameters.
    actions: Vec<(String, Vec<u32>)>,
    /// The keys of a lookup, or `None` for the default action.
    keys: Option<Vec<Term>>,
}

/// The outcome of a lookup in a table.
struct Found {
    hit: Term,
    entry: Chosen,
    /// The number of the entry in the source that was hit; `None` if packets cannot change such
    /// entries.
    in_source: Option<Term>,
}

impl Executor<'_> {
    /// Applies a table.
    pub(crate) fn apply_table(
        &mut self,
        state: State,
        id: TableId,
        hit_place: Option<&Place>,
        action_run: Option<&Place>,
    ) -> Result<Outcomes, Stop> {
        let program = self.program;
        let table = program.tables.get(id.index()).ok_or_else(|| unsupported("a table"))?;
        let mut outcomes = Outcomes::default();
        let before = self.block(state, &table.before_keys);
        let Some(state) = outcomes.absorb(&mut self.terms, before) else { return Ok(outcomes) };
        let mut keys = Vec::with_capacity(table.keys.len());
        for key in &table.keys {
            keys.push(self.key(&state, &key.expression)?);
        }
        let Found { hit, entry, in_source } = self.look_up(&state, id, table, keys.clone())?;
        self.current = Some(CurrentLookup { table: id, keys, hit, in_source });
        let miss = self.terms.not(hit);
        let default = self.default_action(id, table)?;
        // As in BMv2, a miss in a table with an action profile runs no action.
        let runs_default =
            table.implementation.is_none() || self.program.architecture != Architecture::V1model;
        let hit_guard = self.terms.and(state.guard, hit);
        let miss_guard = self.terms.and(state.guard, miss);
        self.goals.reach(&Key::Hit(id), hit_guard);
        self.goals.reach(&Key::Miss(id), miss_guard);
        let action = self.terms.if_then_else(hit, entry.action, default.action);
        let mut next: Option<(Term, State)> = None;
        let mut all_continue = true;
        for (position, reference) in table.actions.iter().enumerate() {
            let wanted = self.terms.number(POSITION, position as u128);
            let mut runs = self.terms.equal(action, wanted);
            if !runs_default {
                runs = self.terms.and(runs, hit);
            }
            let Some(mut here) = state.when(&mut self.terms, runs) else { continue };
            self.goals.reach(&Key::Action(id, position), here.guard);
            let arguments = self.choose_arguments(hit, &entry, &default, position);
            self.meter_results(&mut here, table, hit)?;
            let guard = here.guard;
            let after = self.run_action(here, reference, position, &arguments)?;
            let Some(mut after) = outcomes.absorb(&mut self.terms, after) else {
                all_continue = false;
                continue;
            };
            all_continue &= after.guard == guard;
            let number = self.terms.number(32, position as u128);
            self.store_action_run(&mut after, action_run, number)?;
            next = Some(match next {
                None => (runs, after),
                Some((_, before)) => (runs, join(&mut self.terms, runs, after, &before)),
            });
        }
        let mut next = next.map(|(_, state)| state);
        if !runs_default && let Some(mut none) = state.when(&mut self.terms, miss) {
            let number = self.terms.ones(32);
            self.store_action_run(&mut none, action_run, number)?;
            next = Some(match next {
                None => none,
                Some(before) => join(&mut self.terms, miss, none, &before),
            });
        }
        if let Some(next) = &mut next {
            if all_continue {
                next.guard = state.guard;
            }
            if let Some(place) = hit_place {
                let place = self.locate(next, place)?;
                self.write(next, &place, &[hit]);
            }
        }
        outcomes.next = next;
        // Externs refer to the entry of a lookup only while its action runs.
        self.current = None;
        Ok(outcomes)
    }

    /// Stores the number of the action that has run in `place`, if the program reads `action_run`.
    fn store_action_run(
        &mut self,
        state: &mut State,
        place: Option<&Place>,
        number: Term,
    ) -> Result<(), Stop> {
        if let Some(place) = place {
            let place = self.locate(state, place)?;
            self.write(state, &place, &[number]);
        }
        Ok(())
    }

    /// Evaluates a key. A field of an invalid header matches as zero, as in BMv2
    /// (`src/bm_sim/match_units.cpp`). This holds also if the key is a slice of the field or the
    /// field under a mask.
    fn key(&mut self, state: &State, key: &Expression) -> Result<Term, Stop> {
        let value = self.value(state, key)?;
        let [value] = value.as_slice() else {
            return Err(unsupported("a key of this type"));
        };
        let ExpressionKind::Read(place) = &field_of_key(key).kind else { return Ok(*value) };
        let place = self.locate(state, place)?;
        let valid = self.validity(&place);
        let zero = self.terms.zero(self.terms.width_of(*value));
        Ok(self.terms.if_then_else(valid, *value, zero))
    }

    /// Looks up the keys in a table.
    fn look_up(
        &mut self,
        state: &State,
        id: TableId,
        table: &Table,
        keys: Vec<Term>,
    ) -> Result<Found, Stop> {
        let is_free = table.entries.is_empty();
        let Found { hit, entry: chosen, in_source } = if table.keys.is_empty() {
            let hit = self.terms.truth(false);
            Found { hit, entry: self.no_entry(table), in_source: None }
        } else if is_free {
            let has_data = !self.only_source_entries && table.actions.iter().any(may_be_entry);
            let (hit, entry) = if has_data {
                self.configured(table, Some(&keys))?
            } else {
                (self.terms.truth(false), self.free_action(table)?)
            };
            Found { hit, entry, in_source: None }
        } else {
            self.entry_in_source(table, &keys)?
        };
        let mut lookup = Lookup {
            table: id,
            on: state.guard,
            keys,
            hit,
            action: chosen.action,
            data: chosen.data,
            is_free,
        };
        if is_free && !table.keys.is_empty() {
            self.assume_function(table, &lookup);
        }
        if is_free {
            self.note_idle(state.guard, table, lookup.hit);
        }
        let expired = self.expired(state.guard, id, table, &lookup.keys);
        let (found, entry) = self.with_writes(&mut lookup, in_source)?;
        let remains = self.terms.not(expired);
        let hit = self.terms.and(found, remains);
        self.lookups.push(lookup);
        Ok(Found { hit, entry, in_source })
    }

    fn no_entry(&mut self, table: &Table) -> Chosen {
        let action = self.terms.zero(POSITION);
        Chosen { action, data: vec![Vec::new(); table.actions.len()] }
    }

    /// Returns whether the control plane has written an entry for these keys, or a default action
    /// if there are no keys. Also returns the action and arguments that it has written.
    fn configured(&mut self, table: &Table, keys: Option<&[Term]>) -> Result<(Term, Chosen), Stop> {
        let mut actions = Vec::with_capacity(table.actions.len());
        for reference in &table.actions {
            let action = self.program.actions.get(reference.action.index());
            let action = action.ok_or_else(|| unsupported("an action"))?;
            let parameters = action.control_plane_parameters();
            let leaves = parameters.flat_map(|one| self.shapes.leaves(one.type_id));
            let widths: Vec<u32> = leaves.map(|leaf| leaf.width()).collect();
            actions.push((action.name.clone(), widths));
        }
        let keys = keys.map(<[Term]>::to_vec);
        if self.is_second {
            let paired = self.paired.get(&table.name).cloned();
            let place = paired.map(|table| Use { table, actions, keys });
            if let Some(found) = place.and_then(|place| self.configured.entries.get(&place)) {
                return Ok(found.clone());
            }
            return Ok((self.chosen(1), self.free_action(table)?));
        }
        let written = (self.chosen(1), self.free_action(table)?);
        let place = Use { table: table.name.clone(), actions, keys };
        self.configured.entries.entry(place).or_insert_with(|| written.clone());
        Ok(written)
    }

    /// Returns new inputs for an action and its arguments, which a test chooses.
    fn free_action(&mut self, table: &Table) -> Result<Chosen, Stop> {
        let action = self.chosen(POSITION);
        let mut data = Vec::with_capacity(table.actions.len());
        for reference in &table.actions {
            let program = self.program;
            let action = program.actions.get(reference.action.index());
            let action = action.ok_or_else(|| unsupported("an action"))?;
            let mut arguments = Vec::new();
            for parameter in action.control_plane_parameters() {
                match self.shapes.leaves(parameter.type_id) {
                    [Leaf::Number(width)] => {
                        let width = *width;
                        arguments.push(self.chosen(width));
                    }
                    _ => return Err(unsupported("a parameter of an action of this type")),
                }
            }
            data.push(arguments);
        }
        Ok(Chosen { action, data })
    }

    /// Assumes that entries can realise the outcome of a lookup: the action must be permitted in
    /// entries, and equal keys must have equal outcomes.
    fn assume_function(&mut self, table: &Table, lookup: &Lookup) {
        let one_of = self.one_of(table, lookup.action, may_be_entry);
        let when = self.terms.implies(lookup.hit, one_of);
        self.assumptions.push(when);
        let earlier: Vec<Lookup> =
            self.lookups.iter().filter(|other| other.table == lookup.table).cloned().collect();
        for other in earlier {
            let mut same = self.terms.truth(true);
            let mut selects_same = same;
            for ((key, left), right) in table.keys.iter().zip(&lookup.keys).zip(&other.keys) {
                let is_selector = key.match_kind == MatchKind::Selector;
                let equal = self.terms.equal(*left, *right);
                let all = if is_selector { &mut selects_same } else { &mut same };
                *all = self.terms.and(*all, equal);
            }
            let mut equal = self.terms.equal(lookup.hit, other.hit);
            let has_selector = self.terms.truth_of(selects_same) != Some(true);
            if has_selector {
                let hits = self.terms.implies(same, equal);
                self.assumptions.push(hits);
            }
            let action = self.terms.equal(lookup.action, other.action);
            equal = self.terms.and(equal, action);
            for (left, right) in lookup.data.iter().flatten().zip(other.data.iter().flatten()) {
                let argument = self.terms.equal(*left, *right);
                equal = self.terms.and(equal, argument);
            }
            if has_selector && !self.is_compared {
                // The groups of tests have one member.
                let apart = self.terms.all(&[lookup.on, other.on, lookup.hit, same]);
                let holds = self.terms.implies(apart, equal);
                self.narrow(holds, format!("a group of {} with several members", table.name));
            }
            let same = self.terms.and(same, selects_same);
            let function = self.terms.implies(same, equal);
            self.assumptions.push(function);
        }
    }

    /// Returns the name that the table which has the same entries has in the first of two compared
    /// programs; `None` if there is no such table. The tables of a first or only program have the
    /// same entries as themselves.
    pub(super) fn name_in_first(&self, table: &Table) -> Option<String> {
        if self.is_second {
            self.paired.get(&table.name).cloned()
        } else {
            Some(table.name.clone())
        }
    }

    /// Returns whether a term is the position of an action that `allowed` accepts.
    fn one_of(
        &mut self,
        table: &Table,
        action: Term,
        allowed: impl Fn(&ir::ActionReference) -> bool,
    ) -> Term {
        let mut any = self.terms.truth(false);
        for (position, reference) in table.actions.iter().enumerate() {
            if allowed(reference) {
                let wanted = self.terms.number(POSITION, position as u128);
                let equal = self.terms.equal(action, wanted);
                any = self.terms.or(any, equal);
            }
        }
        any
    }

    /// Returns whether an entry in the source matches the keys, and the best one that does.
    fn entry_in_source(&mut self, table: &Table, keys: &[Term]) -> Result<Found, Stop> {
        if table.entries.len() > MAXIMUM_ENTRIES {
            return Err(unsupported("a table with so many entries in the source"));
        }
        let mut entries: Vec<&Entry> = table.entries.iter().collect();
        if entries.iter().any(|entry| entry.priority.is_some()) {
            entries.sort_by_key(|entry| std::cmp::Reverse(entry.priority));
        } else if table.keys.iter().any(|key| key.match_kind == MatchKind::Lpm) {
            entries.sort_by_key(|entry| std::cmp::Reverse(compared_bits(entry)));
        }
        let mut hit = self.terms.truth(false);
        let mut chosen = self.no_entry(table);
        let mut first = Vec::with_capacity(entries.len());
        for entry in &entries {
            let matches = self.entry_matches(table, entry, keys)?;
            first.push(matches);
            hit = self.terms.or(hit, matches);
        }
        // A miss has the number of no entry.
        let mut in_source = self.changes_entries(table).then(|| self.terms.ones(POSITION));
        for (number, (entry, matches)) in entries.iter().zip(first).enumerate().rev() {
            if let Some(before) = in_source {
                let number = self.terms.number(POSITION, number as u128);
                in_source = Some(self.terms.if_then_else(matches, number, before));
            }
            let position = self.terms.number(POSITION, entry.action.position.into());
            chosen.action = self.terms.if_then_else(matches, position, chosen.action);
            let arguments =
                self.constants(table, entry.action.position, &entry.action.arguments)?;
            let Some(data) = chosen.data.get_mut(entry.action.position as usize) else { continue };
            let others = std::mem::take(data);
            let merged = if others.is_empty() {
                arguments
            } else {
                self.choose(matches, &arguments, &others)
            };
            if let Some(data) = chosen.data.get_mut(entry.action.position as usize) {
                *data = merged;
            }
        }
        Ok(Found { hit, entry: chosen, in_source })
    }

    /// Returns whether an action of the table may change the arguments of its entry.
    fn changes_entries(&self, table: &Table) -> bool {
        table.actions.iter().any(|reference| {
            let action = self.program.actions.get(reference.action.index());
            action.is_some_and(|action| action.parameters.iter().any(|one| one.reference))
        })
    }

    /// Converts the constant arguments of an action to terms.
    fn constants(
        &mut self,
        table: &Table,
        position: u32,
        arguments: &[Value],
    ) -> Result<Vec<Term>, Stop> {
        let program = self.program;
        let reference = table.actions.get(position as usize);
        let action = reference.and_then(|one| program.actions.get(one.action.index()));
        let action = action.ok_or_else(|| unsupported("an action"))?;
        let mut constants = Vec::with_capacity(arguments.len());
        for (parameter, argument) in action.control_plane_parameters().zip(arguments) {
            constants.extend(self.constant(parameter.type_id, argument)?);
        }
        Ok(constants)
    }

    fn entry_matches(&mut self, table: &Table, entry: &Entry, keys: &[Term]) -> Result<Term, Stop> {
        let mut all = self.terms.truth(true);
        for ((key, set), value) in table.keys.iter().zip(&entry.key_sets).zip(keys) {
            let type_id = key.expression.type_id;
            let number = |executor: &mut Self, constant: &Value| match executor
                .constant(type_id, constant)?
                .as_slice()
            {
                [only] => Ok(*only),
                _ => Err(unsupported("a key of this type")),
            };
            let matches = match set {
                KeySet::Any => continue,
                KeySet::ValueSet(_) => return Err(unsupported("a value set in an entry")),
                KeySet::Exact(wanted) => {
                    let wanted = number(self, wanted)?;
                    self.terms.equal(*value, wanted)
                }
                KeySet::Mask { value: wanted, mask } => {
                    let (wanted, mask) = (number(self, wanted)?, number(self, mask)?);
                    self.terms.matches_under(*value, wanted, mask)
                }
                KeySet::Range { low, high } => {
                    let (low, high) = (number(self, low)?, number(self, high)?);
                    let ty = self.program.types.get(type_id);
                    let (above, below) = if matches!(ty, Type::Bits { signed: true, .. }) {
                        let above = self.terms.less_or_equal_signed(low, *value);
                        (above, self.terms.less_or_equal_signed(*value, high))
                    } else {
                        let above = self.terms.less_or_equal(low, *value);
                        (above, self.terms.less_or_equal(*value, high))
                    };
                    self.terms.and(above, below)
                }
            };
            all = self.terms.and(all, matches);
        }
        Ok(all)
    }

    /// Returns the default action of a table. A test may set it if the program permits that, and
    /// packets may have changed its arguments.
    fn default_action(&mut self, id: TableId, table: &Table) -> Result<Chosen, Stop> {
        let call = &table.default_action;
        let action = self.terms.number(POSITION, call.position.into());
        let mut data = vec![Vec::new(); table.actions.len()];
        let constants = self.constants(table, call.position, &call.arguments)?;
        if let Some(data) = data.get_mut(call.position as usize) {
            *data = constants;
        }
        let program = Chosen { action, data };
        if table.default_action_is_const
            || table.implementation.is_some()
            || self.only_source_entries
        {
            return Ok(self.with_changed_default(id, program));
        }
        if !self.defaults.contains_key(&id) {
            let (changed, free) = self.configured(table, None)?;
            let allowed = |reference: &ir::ActionReference| !reference.has_annotation("tableonly");
            let one_of = self.one_of(table, free.action, allowed);
            let when = self.terms.implies(changed, one_of);
            self.assumptions.push(when);
            let choice = DefaultChoice { changed, action: free.action, data: free.data };
            self.defaults.insert(id, choice);
        }
        let Some(choice) = self.defaults.get(&id).cloned() else {
            return Ok(self.with_changed_default(id, program));
        };
        let action = self.terms.if_then_else(choice.changed, choice.action, program.action);
        let mut data = Vec::with_capacity(choice.data.len());
        for (changed, unchanged) in choice.data.iter().zip(&program.data) {
            data.push(if unchanged.is_empty() {
                changed.clone()
            } else {
                self.choose(choice.changed, changed, unchanged)
            });
        }
        Ok(self.with_changed_default(id, Chosen { action, data }))
    }

    /// Returns the arguments of the action at `position`: those of the entry on a hit, and those of
    /// the default action on a miss.
    fn choose_arguments(
        &mut self,
        hit: Term,
        entry: &Chosen,
        default: &Chosen,
        position: usize,
    ) -> Vec<Term> {
        let of = |chosen: &Chosen| chosen.data.get(position).cloned().unwrap_or_default();
        let (entry, default) = (of(entry), of(default));
        match (entry.is_empty(), default.is_empty()) {
            (true, _) => default,
            (false, true) => entry,
            (false, false) => self.choose(hit, &entry, &default),
        }
    }

    fn run_action(
        &mut self,
        state: State,
        reference: &ir::ActionReference,
        position: usize,
        arguments: &[Term],
    ) -> Result<Outcomes, Stop> {
        let program = self.program;
        let action = program.actions.get(reference.action.index());
        let action = action.ok_or_else(|| unsupported("an action"))?;
        let mut outcomes = Outcomes::default();
        let before = self.block(state, &reference.before_arguments);
        let Some(state) = outcomes.absorb(&mut self.terms, before) else { return Ok(outcomes) };
        let formals = action.parameters.iter().filter_map(|parameter| {
            Some(Formal {
                variable: parameter.variable,
                direction: parameter.direction?,
                type_id: parameter.type_id,
            })
        });
        let formals: Vec<Formal> = formals.collect();
        let after = self.call(state, &formals, &reference.arguments, |executor, mut state| {
            for (parameter, argument) in action.control_plane_parameters().zip(arguments) {
                if let Some(variable) = executor.shapes.variable(parameter.variable) {
                    state.set(variable.offset, *argument);
                }
            }
            Ok(executor.block(state, &action.body))
        })?;
        let after = self.after_call(after);
        self.record_change(action, position, arguments, &after);
        outcomes.add(&mut self.terms, after);
        Ok(outcomes)
    }

    /// Stores the colours of a table's direct meters at the places where the program reads them. As
    /// in BMv2, this happens at every hit, before the action (`match_tables.cpp`).
    fn meter_results(&mut self, state: &mut State, table: &Table, hit: Term) -> Result<(), Stop> {
        for id in &table.direct_externs {
            let program = self.program;
            let instance = program.externs.get(id.index());
            if instance.is_none_or(|one| one.extern_type != ExternType::V1DirectMeter) {
                continue;
            }
            let reads = |statement: &ir::Statement| match &statement.kind {
                StatementKind::CallExtern {
                    callee: ExternCallee::Method { instance, method: ExternMethod::Read },
                    arguments,
                    ..
                } if instance == id => match arguments.first() {
                    Some(Argument::Out(place) | Argument::InOut(place)) => Some(place.clone()),
                    _ => None,
                },
                _ => None,
            };
            let place = table.actions.iter().find_map(|reference| {
                let action = program.actions.get(reference.action.index())?;
                action.body.iter().find_map(reads)
            });
            let Some(place) = place else { continue };
            let place = self.locate(state, &place)?;
            let old = self.read(state, &place);
            let mut colors = Vec::with_capacity(old.len());
            for leaf in &old {
                let width = self.terms.width_of(*leaf);
                let name = instance.map_or("", |one| one.name.as_str());
                colors.push(self.color(name, width));
            }
            let new = self.choose(hit, &colors, &old);
            self.write(state, &place, &new);
        }
        Ok(())
    }
}

/// Returns whether an entry may have this action.
pub(crate) fn may_be_entry(reference: &ir::ActionReference) -> bool {
    !reference.has_annotation("defaultonly")
}

/// Returns the number of bits that an entry compares. In a table without priorities, the entry with
/// the most compared bits has the longest prefix.
fn compared_bits(entry: &Entry) -> u32 {
    let ones = |value: &Value| match value {
        Value::Bits(bits) => (0..bits.width()).filter(|position| bits.bit(*position)).count(),
        _ => 0,
    };
    let sets = entry.key_sets.iter().map(|set| match set {
        KeySet::Any | KeySet::ValueSet(_) | KeySet::Range { .. } => 0,
        KeySet::Mask { mask, .. } => ones(mask),
        KeySet::Exact(Value::Bits(bits)) => Bits::width(bits) as usize,
        KeySet::Exact(_) => 1,
    });
    u32::try_from(sets.sum::<usize>()).unwrap_or(u32::MAX)
}

/// Returns the field on which a key depends: the operand of a slice or of a constant mask, or the
/// key itself.
pub(crate) fn field_of_key(key: &Expression) -> &Expression {
    let is_constant = |operand: &Expression| matches!(operand.kind, ExpressionKind::Constant(_));
    match &key.kind {
        ExpressionKind::Binary(ir::BinaryOperator::BitAnd, left, right) if is_constant(right) => {
            left
        }
        ExpressionKind::Binary(ir::BinaryOperator::BitAnd, left, right) if is_constant(left) => {
            right
        }
        ExpressionKind::Slice { operand, .. } => operand,
        _ => key,
    }
}
