//! Generates entries for tables and actions with constraints (`@entry_restriction`,
//! `@action_restriction`).
//!
//! The solver of the crate `constraints` produces sample entries that satisfy the constraint. It
//! prefers the matches that an entry of an unconstrained table would have. Key fields for which it
//! could keep that preference may be free: their values can vary from entry to entry. The widest of
//! them are tried, and the other fields have the sample's matches in all entries. As many fields
//! are freed as leaves the largest number of trial entries that satisfy the constraint.

use constraints::{Constraint, Entry, Goal, Match, Solution, Wishes};
use entities::schema::{Action, Table};
use p4runtime::p4info::Restrictions;

use super::{bits, match_of, scattered, value};
use crate::entry_number::{EntryNumber, Variant};

/// The largest number of entries that are checked against a constraint in the search for valid
/// ones.
pub(super) const SCANNED: usize = 4_000_000;
/// The number of sample entries from which the free key fields are derived.
const SAMPLES: u64 = 32;
/// The number of trial entries with which a set of free key fields is evaluated.
const TRIED: u64 = 256;
/// The number of attempts to find other action arguments for the second variant of an entry.
const OTHERS: u64 = 32;

/// A candidate for the pattern of entries, with its quality.
struct Choice {
    /// The number of trial entries that satisfy the constraint.
    allowed: usize,
    /// The number of key bits that vary from entry to entry.
    bits: u64,
    common: Vec<Match<'static>>,
    free: Vec<usize>,
    priority: u32,
}

/// The pattern of a table's entries: the parts that all of them share, and the key fields that
/// vary.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    constraint: Option<Constraint>,
    /// The match of each key field that all entries share. The value for a free field is unused.
    common: Vec<Match<'static>>,
    /// The positions of the key fields that vary from entry to entry, the widest first.
    free: Vec<usize>,
    priority: u32,
    /// The action's arguments in the first variant of each entry; `second` has those of the second.
    first: Vec<Vec<u8>>,
    second: Vec<Vec<u8>>,
}

impl Pattern {
    /// Finds the pattern for entries of a table that use this action. The error is the reason why
    /// there is none.
    pub(super) fn new(
        restrictions: &Restrictions,
        table: &Table,
        action: &Action,
    ) -> Result<Self, &'static str> {
        let width = |at: &usize| table.match_fields.get(*at).map_or(0, bits);
        let mut free: Vec<usize> = (0..table.match_fields.len()).collect();
        free.sort_by_key(|at| std::cmp::Reverse(width(at)));
        let [first, second] = arguments(restrictions, action)?;
        let mut pattern = Self {
            constraint: None,
            common: vec![Match::Any; table.match_fields.len()],
            free,
            priority: u32::from(table.needs_priority),
            first,
            second,
        };
        let Some((constraint, _)) = restrictions.of_table(table.id) else { return Ok(pattern) };
        pattern.constraint = Some(constraint.clone());
        let widest_first = std::mem::take(&mut pattern.free);
        let mut best: Option<Choice> = None;
        for seed in 0..SAMPLES {
            let wished: Vec<Match<'static>> = table
                .match_fields
                .iter()
                .map(|field| match_of(field, scattered(seed + 1, bits(field).min(u64::BITS))))
                .collect();
            let wishes = Wishes { accepts: &[], preferred: &wished };
            let sample = constraint.solve(Goal::Satisfy, wishes, seed);
            let Some(Solution { matches, priority }) = sample else { continue };
            let is_granted = |at: &&usize| matches.get(**at) == wished.get(**at);
            let granted: Vec<usize> = widest_first.iter().filter(is_granted).copied().collect();
            (pattern.common, pattern.priority) = (matches, priority);
            for count in 0..=granted.len() {
                pattern.free = granted.iter().take(count).copied().collect();
                let different: u64 = pattern.free.iter().map(|at| u64::from(width(at))).sum();
                let all = u32::try_from(different).ok().and_then(|bits| 1_u64.checked_shl(bits));
                let numbers = 0..TRIED.min(all.unwrap_or(TRIED));
                let is_allowed =
                    |number: &u64| pattern.allows(&pattern.matches(table, EntryNumber(*number)));
                let allowed = numbers.filter(is_allowed).count();
                if best.as_ref().is_none_or(|best| (allowed, different) > (best.allowed, best.bits))
                {
                    best = Some(Choice {
                        allowed,
                        bits: different,
                        common: pattern.common.clone(),
                        free: pattern.free.clone(),
                        priority: pattern.priority,
                    });
                }
            }
        }
        let best = best.ok_or("no entry that satisfies its constraint was found")?;
        (pattern.common, pattern.free) = (best.common, best.free);
        pattern.priority = best.priority;
        Ok(pattern)
    }

    /// Returns the positions of the key fields that vary from entry to entry, the widest first.
    pub(super) fn free(&self) -> &[usize] {
        &self.free
    }

    /// Returns the matches of an entry of the table, one for each key field.
    pub(super) fn matches(&self, table: &Table, number: EntryNumber) -> Vec<Match<'static>> {
        let mut matches = self.common.clone();
        let mut rest = number.0;
        for at in &self.free {
            if let (Some(field), Some(of)) = (table.match_fields.get(*at), matches.get_mut(*at)) {
                let bits = bits(field).min(u64::BITS);
                *of = match_of(field, scattered(rest, bits));
                rest = rest.checked_shr(bits).unwrap_or(0);
            }
        }
        matches
    }

    pub(super) fn priority(&self) -> i32 {
        i32::try_from(self.priority).unwrap_or(i32::MAX)
    }

    pub(super) fn arguments(&self, variant: Variant) -> &[Vec<u8>] {
        match variant {
            Variant::First => &self.first,
            Variant::Second => &self.second,
        }
    }

    /// Returns whether an entry with these matches satisfies the constraint on the table.
    pub(super) fn allows(&self, matches: &[Match<'_>]) -> bool {
        let entry = Entry { matches, priority: self.priority.into() };
        self.constraint.as_ref().is_none_or(|constraint| constraint.is_satisfied(&entry))
    }
}

/// The arguments of an action, one for each parameter.
type Arguments = Vec<Vec<u8>>;

/// Returns the action's arguments for the two variants of an entry. The two are equal only if the
/// action has no parameters, or if no other arguments that satisfy its constraint were found.
fn arguments(restrictions: &Restrictions, action: &Action) -> Result<[Arguments; 2], &'static str> {
    let all = |number| {
        let params = action.params.iter().map(|param| value(param.value, number));
        params.collect::<Vec<Vec<u8>>>()
    };
    let (first, second) = (all(1), all(2));
    let Some((constraint, _)) = restrictions.of_action(action.id) else {
        return Ok([first, second]);
    };
    let solve = |wished: &[Vec<u8>], seed| {
        let wished: Vec<Match<'_>> = wished.iter().map(|value| Match::exact(value)).collect();
        let wishes = Wishes { accepts: &[], preferred: &wished };
        let solution = constraint.solve(Goal::Satisfy, wishes, seed)?;
        let values = solution.matches.into_iter().map(|made| match made {
            Match::Exact(value) => value.into_owned(),
            // Arguments are exact.
            Match::Any | Match::Ternary { .. } | Match::Lpm { .. } | Match::Range { .. } => {
                Vec::new()
            }
        });
        Some(values.collect::<Vec<Vec<u8>>>())
    };
    let first =
        solve(&first, 0).ok_or("no arguments that satisfy its action's constraint exist")?;
    let others = (0..OTHERS).filter_map(|seed| solve(&second, seed));
    let second = others.into_iter().find(|other| *other != first);
    Ok([first.clone(), second.unwrap_or(first)])
}
