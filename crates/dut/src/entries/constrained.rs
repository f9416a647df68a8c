//! Entries for tables and actions with constraints (`@entry_restriction`, `@action_restriction`).
//!
//! The solver of the crate `constraints` makes sample entries, each with the wish to have the
//! matches of an entry of a table without constraint. The keys whose wish was granted are free: they
//! differ between entries. The other keys have the matches of the sample in all entries. The sample
//! whose free keys have the most bits is the pattern of all entries.

use constraints::{Constraint, Entry, Goal, Match, Solution, Wishes};
use entities::schema::{Action, Table};
use p4runtime::p4info::Restrictions;

use super::{Variant, bits, match_of, scattered, value};

/// The largest number of entries that are examined for those that a constraint allows.
pub(super) const SCANNED: usize = 100_000_000;
/// The number of sample entries that are made to find the keys that a constraint leaves free.
const SAMPLES: u64 = 32;
/// The number of times that other arguments are sought for the second variant of an entry.
const OTHERS: u64 = 32;

/// What all entries of a table have in common.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    constraint: Option<Constraint>,
    /// The match of each key field; `is_free` tells whether entries differ in it instead.
    matches: Vec<Match<'static>>,
    is_free: Vec<bool>,
    priority: u32,
    /// The arguments of the action in each variant of an entry.
    first: Vec<Vec<u8>>,
    second: Vec<Vec<u8>>,
}

impl Pattern {
    /// Finds a pattern, or returns why there is none.
    pub(super) fn new(
        restrictions: &Restrictions,
        table: &Table,
        action: &Action,
    ) -> Result<Self, &'static str> {
        let count = table.match_fields.len();
        let (first, second) = arguments(restrictions, action)?;
        let mut pattern = Self {
            constraint: None,
            matches: vec![Match::Any; count],
            is_free: vec![true; count],
            priority: u32::from(table.needs_priority),
            first,
            second,
        };
        let Some((constraint, _)) = restrictions.of_table(table.id) else { return Ok(pattern) };
        let samples = (0..SAMPLES).filter_map(|seed| {
            let wished = table
                .match_fields
                .iter()
                .map(|field| match_of(field, scattered(seed + 1, bits(field).min(u64::BITS))));
            let wished: Vec<Match<'static>> = wished.collect();
            let wishes = Wishes { accepts: &[], preferred: &wished };
            let sample = constraint.solve(Goal::Satisfy, wishes, seed)?;
            let is_free = sample.matches.iter().zip(&wished).map(|(made, wished)| made == wished);
            Some((is_free.collect::<Vec<bool>>(), sample))
        });
        let free_bits = |is_free: &[bool]| {
            let fields = table.match_fields.iter().zip(is_free);
            fields.filter(|(_, is_free)| **is_free).map(|(field, _)| u64::from(bits(field))).sum()
        };
        let best = samples.max_by_key(|(is_free, _)| -> u64 { free_bits(is_free) });
        let (is_free, Solution { matches, priority }) =
            best.ok_or("no entry that satisfies its constraint was found")?;
        pattern.constraint = Some(constraint.clone());
        (pattern.is_free, pattern.matches, pattern.priority) = (is_free, matches, priority);
        Ok(pattern)
    }

    /// Returns the positions of the key fields in which entries differ.
    pub(super) fn free(&self) -> impl Iterator<Item = usize> {
        self.is_free.iter().enumerate().filter_map(|(at, is_free)| is_free.then_some(at))
    }

    /// Returns the matches that entries have in common; those of free fields have no meaning.
    pub(super) fn matches(&self) -> &[Match<'static>] {
        &self.matches
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

/// Returns the arguments of the action in the two variants of an entry. They are equal only if the
/// action has no parameters, or if its constraint allows no others.
fn arguments(
    restrictions: &Restrictions,
    action: &Action,
) -> Result<(Vec<Vec<u8>>, Vec<Vec<u8>>), &'static str> {
    let all = |number| {
        let params = action.params.iter().map(|param| value(param.value, number));
        params.collect::<Vec<Vec<u8>>>()
    };
    let (first, second) = (all(1), all(2));
    let Some((constraint, _)) = restrictions.of_action(action.id) else {
        return Ok((first, second));
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
    Ok((first.clone(), second.unwrap_or(first)))
}
