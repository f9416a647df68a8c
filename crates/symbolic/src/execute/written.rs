//! The entries that packets write: those that PNA's `add_entry` adds, and arguments that actions
//! change because they are references (`@__ref`).
//!
//! A later lookup with the same key finds what was written last. If the changed arguments are those
//! of the default action, so does a later miss.

use super::externs::Call;
use super::table::{Chosen, Lookup, POSITION, may_be_entry};
use super::{Executor, Stop, unsupported};
use crate::state::{Outcomes, State, join_any};
use crate::term::Term;
use ir::{Action, ActionReference, Argument, Key, MatchKind, Table, TableId, TypeId};

/// The lookup whose action is being executed.
#[derive(Clone)]
pub(super) struct CurrentLookup {
    pub(super) table: TableId,
    pub(super) keys: Vec<Term>,
    pub(super) hit: Term,
    /// The number of the entry in the source that was hit; `None` if packets cannot change such
    /// entries.
    pub(super) in_source: Option<Term>,
}

/// The part of a table that a packet writes.
#[derive(Clone)]
enum Target {
    /// The entry with these keys.
    Keys(Vec<Term>),
    /// The entry in the source with this number.
    InSource(Term),
    /// The default action.
    Default,
}

/// A write of an entry, or of a default action, by a packet.
#[derive(Clone)]
pub(super) struct EntryWrite {
    /// The condition under which the packet writes it.
    on: Term,
    table: TableId,
    target: Target,
    /// The position of the written action in the action list of the table.
    position: usize,
    /// The arguments of the written action.
    data: Vec<Term>,
    /// Whether other keys may find the written arguments too. Tests have an entry for each key, so
    /// that they do not, but an entry of the control plane may match several keys.
    is_shared: bool,
    /// Whether the packet has added the entry.
    is_added: bool,
}

impl Executor<'_> {
    /// Returns the outcome of a lookup, taking into account what packets have written.
    ///
    /// Restricts `lookup` to packets that find an entry which no packet has written. `in_source` is
    /// the number of the entry in the source that was hit.
    pub(super) fn with_writes(
        &mut self,
        lookup: &mut Lookup,
        in_source: Option<Term>,
    ) -> Result<(Term, Chosen), Stop> {
        let mut hit = lookup.hit;
        let mut now = Chosen { action: lookup.action, data: lookup.data.clone() };
        let program = self.program;
        let Some(table) = program.tables.get(lookup.table.index()) else {
            return Err(unsupported("a table"));
        };
        let guard = lookup.on;
        let writes: Vec<EntryWrite> =
            self.written.iter().filter(|write| write.table == lookup.table).cloned().collect();
        for EntryWrite { on, target, position, data, is_shared, .. } in writes {
            let here = match (target, in_source) {
                (Target::Default, _) | (Target::InSource(_), None) => continue,
                (Target::InSource(written), Some(found)) => {
                    // The number of an entry that was written is never that of a miss.
                    let same = self.terms.equal(written, found);
                    let here = self.terms.and(on, same);
                    self.change_data(&mut now, here, position, data.as_slice());
                    continue;
                }
                (Target::Keys(_), _) if !lookup.is_free => {
                    let reached = self.terms.and(guard, on);
                    let reason = "an entry that a packet has added to a table with entries in \
                                  the source";
                    self.cut(reached, reason, None);
                    continue;
                }
                (Target::Keys(keys), _) => {
                    let same = self.same_keys(table, &keys, &lookup.keys);
                    let found = if is_shared {
                        self.or_shared(table, &*lookup, &keys, on, same)
                    } else {
                        same
                    };
                    self.terms.and(on, found)
                }
            };
            if self.terms.truth_of(here) == Some(false) {
                continue;
            }
            hit = self.terms.or(here, hit);
            let number = self.terms.number(POSITION, position as u128);
            now.action = self.terms.if_then_else(here, number, now.action);
            self.change_data(&mut now, here, position, data.as_slice());
            let not = self.terms.not(here);
            lookup.on = self.terms.and(lookup.on, not);
        }
        Ok((hit, now))
    }

    /// Returns whether a lookup finds the entry whose arguments a packet has changed under the
    /// condition `on`, when it looked up `keys`. `same` says whether the lookup has the same keys.
    /// Otherwise, one entry of the control plane may match both, which it does in no test.
    fn or_shared(
        &mut self,
        table: &Table,
        lookup: &Lookup,
        keys: &[Term],
        on: Term,
        same: Term,
    ) -> Term {
        let shares = self.one_entry(table, [keys, &lookup.keys]);
        let differs = self.terms.not(same);
        let shared = self.terms.all(&[shares, lookup.hit, differs]);
        let needed = self.terms.all(&[lookup.on, on, shared]);
        let holds = self.terms.not(needed);
        self.narrow(holds, "an entry whose arguments packets change for several keys");
        self.terms.or(same, shared)
    }

    /// Returns an input that says whether one entry of a table matches two keys. It is the same for
    /// both of two programs that are compared, if their tables are paired.
    fn one_entry(&mut self, table: &Table, keys: [&[Term]; 2]) -> Term {
        let mut keys = keys.map(<[Term]>::to_vec);
        keys.sort();
        let place = self.name_in_first(table).map(|name| (name, keys));
        let known = place.as_ref().and_then(|place| self.configured.shared.get(place));
        if let Some(known) = known {
            return *known;
        }
        let shares = self.chosen(1);
        if let Some(place) = place {
            self.configured.shared.insert(place, shares);
        }
        shares
    }

    /// Returns the entries that packets have added to a table: the condition for each, and its
    /// keys.
    pub(super) fn added_to(&self, table: TableId) -> Vec<(Term, Vec<Term>)> {
        let added = self.written.iter().filter(|write| write.table == table && write.is_added);
        let keys = |write: &EntryWrite| match &write.target {
            Target::Keys(keys) => Some((write.on, keys.clone())),
            Target::InSource(_) | Target::Default => None,
        };
        added.filter_map(keys).collect()
    }

    /// Returns the default action of a table, taking into account what packets have written.
    pub(super) fn with_changed_default(&mut self, table: TableId, mut now: Chosen) -> Chosen {
        for EntryWrite { on, table: of, target, position, data, .. } in self.written.clone() {
            match target {
                Target::Default if of == table => {
                    self.change_data(&mut now, on, position, data.as_slice());
                }
                Target::Default | Target::Keys(_) | Target::InSource(_) => {}
            }
        }
        now
    }

    /// Replaces the arguments of the action at `position` under the condition `here`.
    fn change_data(&mut self, now: &mut Chosen, here: Term, position: usize, data: &[Term]) {
        if let Some(old) = now.data.get_mut(position) {
            *old = self.choose(here, data, old);
        }
    }

    /// Returns whether packets may add entries to any table.
    pub(super) fn adds_entries(&self) -> bool {
        self.written.iter().any(|write| {
            let table = self.program.tables.get(write.table.index());
            table.is_some_and(|table| table.add_on_miss)
        })
    }

    /// Returns whether packets may leave entries or arguments in a table that a control plane could
    /// not write there.
    pub(super) fn exceeds_configurations(&self) -> bool {
        if self.may_lose_entries_in_source() {
            return true;
        }
        if self.only_source_entries && !self.written.is_empty() {
            return true;
        }
        self.written.iter().any(|write| {
            let Some(table) = self.program.tables.get(write.table.index()) else { return true };
            match &write.target {
                Target::Default => has_fixed_default(table),
                Target::InSource(_) => true,
                Target::Keys(_) => {
                    let action = table.actions.get(write.position);
                    !table.entries.is_empty() || !action.is_some_and(may_be_entry)
                }
            }
        })
    }

    pub(super) fn same_keys(&mut self, table: &Table, left: &[Term], right: &[Term]) -> Term {
        let mut same = self.terms.truth(true);
        for ((key, left), right) in table.keys.iter().zip(left).zip(right) {
            if key.match_kind != MatchKind::Selector {
                let equal = self.terms.equal(*left, *right);
                same = self.terms.and(same, equal);
            }
        }
        same
    }

    /// Records that an action has changed its arguments: those of the entry, or those of the
    /// default action, for which it ran.
    pub(super) fn record_change(
        &mut self,
        action: &Action,
        position: usize,
        arguments: &[Term],
        after: &Outcomes,
    ) {
        if !action.parameters.iter().any(|parameter| parameter.reference) {
            return;
        }
        let Some(lookup) = self.current.clone() else { return };
        let CurrentLookup { table, keys, hit, in_source } = lookup;
        let program = self.program;
        let Some(declared) = program.tables.get(table.index()) else { return };
        let reference = declared.actions.get(position);
        let of_entries = declared.add_on_miss || reference.is_some_and(may_be_entry);
        let of_defaults = may_be_default(declared, position);
        let mut all: Option<State> = None;
        for some in [&after.next, &after.exits] {
            all = join_any(&mut self.terms, all, some.clone());
        }
        let Some(state) = all else { return };
        let parameters = action.control_plane_parameters().zip(arguments);
        let data: Vec<Term> = parameters
            .map(|(parameter, argument)| match self.shapes.variable(parameter.variable) {
                Some(variable) if parameter.reference => state.leaf(variable.offset),
                Some(_) | None => *argument,
            })
            .collect();
        let of_entry = self.terms.and(state.guard, hit);
        let miss = self.terms.not(hit);
        let of_default = self.terms.and(state.guard, miss);
        let entry = in_source.map_or(Target::Keys(keys), Target::InSource);
        let is_shared = declared.implementation.is_some() || !has_exact_keys(declared);
        for (on, target, possible) in
            [(of_entry, entry, of_entries), (of_default, Target::Default, of_defaults)]
        {
            if possible && self.terms.truth_of(on) != Some(false) {
                let data = data.clone();
                let is_added = false;
                self.written.push(EntryWrite {
                    on,
                    table,
                    target,
                    position,
                    data,
                    is_shared,
                    is_added,
                });
            }
        }
    }

    /// Executes `add_entry` for packets that satisfy a condition. The argument at position `first`
    /// names the action. Returns the condition under which the entry is added.
    pub(super) fn add_entry(
        &mut self,
        state: &State,
        call: &Call<'_>,
        first: usize,
        condition: Term,
    ) -> Result<Term, Stop> {
        let no = self.terms.truth(false);
        let Some(Argument::Action(id)) = call.arguments.get(first) else {
            return Err(unsupported("`add_entry` without the name of an action"));
        };
        let program = self.program;
        let Some(lookup) = self.current.clone() else { return Ok(no) };
        let CurrentLookup { table: table_id, keys, hit, .. } = lookup;
        let Some(table) = program.tables.get(table_id.index()) else {
            return Err(unsupported("a table"));
        };
        let position = table.actions.iter().position(|reference| reference.action == *id);
        let (true, Some(position)) = (table.add_on_miss, position) else { return Ok(no) };
        let action = program.actions.get(id.index()).ok_or_else(|| unsupported("an action"))?;
        let data = self.added_arguments(state, call, first + 1, action)?;
        let miss = self.terms.not(hit);
        let mut added = self.terms.and(condition, miss);
        // The entry may exist since an earlier call, unless it has expired since.
        let expired = self.expired(state.guard, table_id, table, &keys);
        for write in self.written.clone() {
            if let (true, Target::Keys(known)) = (write.table == table_id, &write.target) {
                let same = self.same_keys(table, known, &keys);
                let here = self.terms.and(write.on, same);
                let not = self.terms.not(here);
                let absent = self.terms.or(not, expired);
                added = self.terms.and(added, absent);
            }
        }
        let wanted = self.terms.and(state.guard, added);
        if self.terms.truth_of(wanted) == Some(false) {
            return Ok(added);
        }
        let is_full = self.is_full(wanted, table_id, table);
        let has_room = self.terms.not(is_full);
        added = self.terms.and(added, has_room);
        let on = self.terms.and(state.guard, added);
        if self.terms.truth_of(on) != Some(false) {
            self.start_timer_of_added(state, call, first + 2, on)?;
            let (table, target) = (table_id, Target::Keys(keys));
            let (is_shared, is_added) = (false, true);
            self.written.push(EntryWrite {
                on,
                table,
                target,
                position,
                data,
                is_shared,
                is_added,
            });
        }
        Ok(added)
    }

    /// Returns the arguments of an added entry. They are the fields of a struct, matched with the
    /// action's parameters by name.
    fn added_arguments(
        &mut self,
        state: &State,
        call: &Call<'_>,
        position: usize,
        action: &Action,
    ) -> Result<Vec<Term>, Stop> {
        let Some(Argument::In(parameters)) = call.arguments.get(position) else {
            return Err(unsupported("`add_entry` without the arguments of the action"));
        };
        let type_id: TypeId = parameters.type_id;
        let leaves = self.value(state, parameters)?;
        let mut data = Vec::new();
        for parameter in action.control_plane_parameters() {
            let field = self.field_named(type_id, &parameter.name);
            let field = field.and_then(|field| self.shapes.field(type_id, field));
            let leaf = field.and_then(|field| leaves.get(field.offset));
            let (Some(leaf), [wanted]) = (leaf, self.shapes.leaves(parameter.type_id)) else {
                return Err(unsupported("an argument of `add_entry` of this type"));
            };
            let width = wanted.width();
            data.push(self.terms.resize(*leaf, width));
        }
        Ok(data)
    }
}

/// Returns whether an entry of the table matches only one key.
pub(crate) fn has_exact_keys(table: &Table) -> bool {
    let is_exact = |key: &Key| matches!(key.match_kind, MatchKind::Exact | MatchKind::Selector);
    table.keys.iter().all(is_exact)
}

/// Returns whether tests cannot set the default action of a table.
fn has_fixed_default(table: &Table) -> bool {
    table.default_action_is_const || table.implementation.is_some()
}

/// Returns whether a table may run an action on a miss: the default action in the source, or one
/// that a test sets.
fn may_be_default(table: &Table, position: usize) -> bool {
    let may_be_set = |reference: &ActionReference| !reference.has_annotation("tableonly");
    table.default_action.position as usize == position
        || (!has_fixed_default(table) && table.actions.get(position).is_some_and(may_be_set))
}
