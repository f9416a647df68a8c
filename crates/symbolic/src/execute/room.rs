//! The number of entries in tables, and the entries for which a table has no room.
//!
//! The property `size` of a table limits the number of its entries, whether the control plane or a
//! packet has added them. An entry that a packet adds to a full table is not added
//! (`ADD_ENTRY_NOT_DONE` in PNA). How full a table is when the first packet arrives is an input. A
//! test fills a table if that takes few entries. Where it takes many, or where no size is declared,
//! packets that find no room are followed, too, but no test shows them.

use super::table::Lookup;
use super::written::has_exact_keys;
use super::{Executor, Narrowing};
use crate::term::{Term, Terms};
use ir::{MatchKind, Table, TableId};

/// The width in bits of numbers of entries.
const COUNT_BITS: u32 = 64;

/// The largest number of entries with which a test fills a table.
const FILLED: u64 = 64;

/// The number of entries for which a table without a declared size has room in all tests.
const ENOUGH: u64 = 1 << 32;

/// The largest size of a table. Larger declared sizes are reduced to it, so that sums of numbers of
/// entries do not overflow.
const LARGEST: u64 = 1 << 62;

/// The occupancy of a table to which packets add entries.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// The number of entries that the table has when the first packet arrives.
    pub(crate) written: Term,
    /// The number of further entries for which the table has room then.
    left: Term,
    /// The conditions under which a packet finds no room for an entry.
    pub(crate) refused: Vec<Term>,
}

impl Executor<'_> {
    /// Returns whether a table is full when packets that satisfy the condition `on` add an entry.
    pub(super) fn is_full(&mut self, on: Term, id: TableId, table: &Table) -> Term {
        let left = self.room_of(id, table);
        let added = self.entries_of_packets(on, id, table);
        let gone = self.expired_entries(on, id, table);
        let left = self.terms.add(left, gone);
        let is_full = self.terms.less_or_equal(left, added);
        let refused = self.terms.and(on, is_full);
        if self.terms.truth_of(refused) != Some(false)
            && let Some(room) = self.rooms.get_mut(&id)
        {
            room.refused.push(refused);
        }
        is_full
    }

    /// Returns the number of entries for which a table has room when the first packet arrives.
    fn room_of(&mut self, id: TableId, table: &Table) -> Term {
        if let Some(room) = self.rooms.get(&id) {
            return room.left;
        }
        let (written, free) = self.entries_at_start(table);
        let is_chosen = self.terms.constant_of(written).is_none();
        let left = match declared_size(table) {
            Some(size) => {
                let size = self.terms.number(COUNT_BITS, size.into());
                let fits = self.terms.less_or_equal(written, size);
                self.assumptions.push(fits);
                if is_chosen {
                    let few = self.terms.number(COUNT_BITS, FILLED.into());
                    let holds = self.terms.less_or_equal(written, few);
                    self.narrow(holds, format!("more than {FILLED} entries of {}", table.name));
                }
                self.terms.subtract(size, written)
            }
            None => {
                let largest = self.terms.number(COUNT_BITS, LARGEST.into());
                let fits = self.terms.less_or_equal(free, largest);
                self.assumptions.push(fits);
                let enough = self.terms.number(COUNT_BITS, ENOUGH.into());
                let holds = self.terms.less_or_equal(enough, free);
                self.narrow(holds, format!("a full {}, whose size is not declared", table.name));
                free
            }
        };
        self.rooms.insert(id, Room { written, left, refused: Vec::new() });
        left
    }

    /// Returns the number of entries that a table has when the first packet arrives, and an input
    /// for the number of further entries for which it has room. Paired tables of two programs have
    /// the same numbers.
    fn entries_at_start(&mut self, table: &Table) -> (Term, Term) {
        let name = self.name_in_first(table);
        let known = name.as_ref().and_then(|name| self.configured.numbers.get(name));
        if let Some(known) = known {
            return *known;
        }
        let is_fixed = !table.entries.is_empty() || self.only_source_entries;
        let written = if is_fixed {
            self.terms.number(COUNT_BITS, table.entries.len() as u128)
        } else {
            let written = self.chosen(COUNT_BITS);
            if let Some(most) = number_of_keys(self, table) {
                let most = self.terms.number(COUNT_BITS, most.into());
                let fits = self.terms.less_or_equal(written, most);
                self.assumptions.push(fits);
            }
            written
        };
        let numbers = (written, self.chosen(COUNT_BITS));
        if let Some(name) = name {
            self.configured.numbers.insert(name, numbers);
        }
        numbers
    }

    /// Returns the number of entries in a table that packets have added and that have not expired
    /// when packets that satisfy the condition `on` arrive.
    fn entries_of_packets(&mut self, on: Term, id: TableId, table: &Table) -> Term {
        let added = self.added_to(id);
        let (zero, one) = self.zero_and_one();
        let mut count = zero;
        for (position, (when, keys)) in added.iter().enumerate() {
            let mut is_there = *when;
            if self.expires(table) {
                let gone = self.is_gone(on, id, table, keys);
                let stays = self.terms.not(gone);
                is_there = self.terms.and(is_there, stays);
                // An entry that was added again, after it had expired, counts once.
                for (later, other) in added.iter().skip(position + 1) {
                    let same = self.same_keys(table, keys, other);
                    let again = self.terms.and(*later, same);
                    let not = self.terms.not(again);
                    is_there = self.terms.and(is_there, not);
                }
            }
            let more = self.terms.if_then_else(is_there, one, zero);
            count = self.terms.add(count, more);
        }
        count
    }

    /// Returns the number of entries of the control plane in a table that have expired when packets
    /// that satisfy the condition `on` arrive.
    fn expired_entries(&mut self, on: Term, id: TableId, table: &Table) -> Term {
        let (zero, one) = self.zero_and_one();
        let mut count = zero;
        if !self.expires(table) {
            return count;
        }
        let added = self.added_to(id);
        let of_table = self.lookups.iter().filter(|lookup| lookup.table == id && lookup.is_free);
        let lookups: Vec<Lookup> = of_table.cloned().collect();
        let mut known: Vec<(Term, &Lookup)> = Vec::new();
        for lookup in &lookups {
            let hit = self.terms.and(lookup.on, lookup.hit);
            let mut gone = self.is_gone(on, id, table, &lookup.keys);
            // An entry that a packet has added for the key replaces the one that has expired.
            for (when, keys) in &added {
                let same = self.same_keys(table, keys, &lookup.keys);
                let replaced = self.terms.and(*when, same);
                gone = self.terms.or(gone, replaced);
            }
            let mut counts = self.terms.and(hit, gone);
            for (other_hit, other) in &known {
                let same = self.same_keys(table, &other.keys, &lookup.keys);
                let counted = self.terms.and(*other_hit, same);
                let not = self.terms.not(counted);
                counts = self.terms.and(counts, not);
            }
            let more = self.terms.if_then_else(counts, one, zero);
            count = self.terms.add(count, more);
            known.push((hit, lookup));
        }
        count
    }

    fn zero_and_one(&mut self) -> (Term, Term) {
        (self.terms.zero(COUNT_BITS), self.terms.number(COUNT_BITS, 1))
    }

    /// Limits the entries that lookups hit: no table has more entries of the control plane than its
    /// size says, nor more than `most`.
    ///
    /// An entry for a key that is not exact may serve several keys, but tests have an entry for
    /// each key. What is assumed of all configurations is only that entries with different outcomes
    /// are different entries.
    pub(super) fn limit_entries(&mut self, most: Option<u64>) {
        let lookups = std::mem::take(&mut self.lookups);
        let program = self.program;
        for (id, table) in (0_u32..).map(TableId).zip(&program.tables) {
            if !table.entries.is_empty() || self.only_source_entries {
                continue;
            }
            let of_table = lookups.iter().filter(|lookup| lookup.table == id && lookup.is_free);
            let of_table: Vec<&Lookup> = of_table.collect();
            let written = self.rooms.get(&id).map(|room| room.written);
            if let (Some(written), Some(most)) = (written, most) {
                let most = self.terms.number(COUNT_BITS, most.into());
                let fits = self.terms.less_or_equal(written, most);
                self.assumptions.push(fits);
            }
            let limit = limit_of(&mut self.terms, &[table], most, of_table.len());
            let Some(limit) = written.or(limit) else { continue };
            let keys = keys_with_entries(&mut self.terms, table, &of_table);
            let fits = self.terms.less_or_equal(keys, limit);
            if has_exact_keys(table) {
                self.assumptions.push(fits);
                continue;
            }
            self.narrow(fits, several_keys(table));
            if table.implementation.is_none() {
                let outcomes = different_outcomes(&mut self.terms, table, &of_table);
                let fits = self.terms.less_or_equal(outcomes, limit);
                self.assumptions.push(fits);
            }
        }
        self.lookups = lookups;
    }

    /// Records that all tests satisfy a condition, although a control plane may write what does
    /// not satisfy it.
    pub(super) fn narrow(&mut self, holds: Term, without: impl Into<String>) {
        if self.terms.truth_of(holds) != Some(true) {
            self.narrowings.push(Narrowing { holds, without: without.into() });
        }
    }
}

/// Returns the number of entries that a table can hold; `None` if the program does not say it.
fn declared_size(table: &Table) -> Option<u64> {
    // A size of zero says nothing.
    table.size.filter(|size| *size > 0).map(|size| size.min(LARGEST))
}

/// Returns the number of different keys of a table whose keys are exact; `None` if it is too large
/// to matter.
fn number_of_keys(executor: &Executor<'_>, table: &Table) -> Option<u64> {
    let mut width: u32 = 0;
    for key in table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector) {
        let leaves = executor.shapes.leaves(key.expression.type_id);
        let bits: u32 = leaves.iter().map(|leaf| leaf.width()).sum();
        width = width.saturating_add(bits);
    }
    1_u64.checked_shl(width).filter(|_| width < u64::BITS - 2)
}

/// Returns the largest number of entries that the control plane may write into all of `tables`,
/// which have the same entries, as a term. Returns `None` if that limits nothing, because there are
/// no more lookups than permitted entries.
pub(crate) fn limit_of(
    terms: &mut Terms,
    tables: &[&Table],
    most: Option<u64>,
    lookups: usize,
) -> Option<Term> {
    let sizes = tables.iter().filter_map(|table| declared_size(table));
    let limit = sizes.chain(most).min()?;
    let matters = u64::try_from(lookups).is_ok_and(|lookups| lookups > limit);
    matters.then(|| terms.number(COUNT_BITS, limit.into()))
}

/// Returns in words what no test has if a table has fewer entries than keys that hit.
pub(crate) fn several_keys(table: &Table) -> String {
    format!("an entry of {} that several keys hit", table.name)
}

/// Returns the number of different keys for which lookups of a table hit entries of the control
/// plane.
pub(crate) fn keys_with_entries(terms: &mut Terms, table: &Table, lookups: &[&Lookup]) -> Term {
    distinct(terms, lookups, |terms, one, other| {
        let mut same = terms.truth(true);
        for ((key, left), right) in table.keys.iter().zip(&one.keys).zip(&other.keys) {
            if key.match_kind != MatchKind::Selector {
                let equal = terms.equal(*left, *right);
                same = terms.and(same, equal);
            }
        }
        same
    })
}

/// Returns the number of different actions with their arguments that lookups of a table find in
/// entries of the control plane.
fn different_outcomes(terms: &mut Terms, table: &Table, lookups: &[&Lookup]) -> Term {
    distinct(terms, lookups, |terms, one, other| {
        let mut same = terms.equal(one.action, other.action);
        let width = terms.width_of(one.action);
        for (position, (left, right)) in one.data.iter().zip(&other.data).enumerate() {
            if position >= table.actions.len() {
                break;
            }
            let number = terms.number(width, position as u128);
            let runs = terms.equal(one.action, number);
            for (left, right) in left.iter().zip(right) {
                let equal = terms.equal(*left, *right);
                let equal = terms.implies(runs, equal);
                same = terms.and(same, equal);
            }
        }
        same
    })
}

/// Returns the number of lookups that hit entries of the control plane, of which those that are the
/// same count once.
fn distinct(
    terms: &mut Terms,
    lookups: &[&Lookup],
    mut is_same: impl FnMut(&mut Terms, &Lookup, &Lookup) -> Term,
) -> Term {
    let (zero, one) = (terms.zero(COUNT_BITS), terms.number(COUNT_BITS, 1));
    let mut count = zero;
    let mut known: Vec<(Term, &Lookup)> = Vec::new();
    for lookup in lookups.iter().copied() {
        let hit = terms.and(lookup.on, lookup.hit);
        let mut is_new = hit;
        for (other_hit, other) in &known {
            let same = is_same(terms, lookup, other);
            let counted = terms.and(*other_hit, same);
            let not = terms.not(counted);
            is_new = terms.and(is_new, not);
        }
        let more = terms.if_then_else(is_new, one, zero);
        count = terms.add(count, more);
        known.push((hit, lookup));
    }
    count
}
