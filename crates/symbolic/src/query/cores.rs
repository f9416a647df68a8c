//! The unsatisfiable cores that earlier queries have found.

use crate::term::Term;
use std::collections::{BTreeSet, HashMap};

/// Sets of conditions that cannot all hold, indexed by the newest condition of each set.
#[derive(Clone, Debug, Default)]
pub(super) struct Cores {
    of_newest: HashMap<Term, Vec<Vec<Term>>>,
    /// Whether the asserted conditions alone are contradictory.
    empty: bool,
}

impl Cores {
    /// Keeps a core, whose conditions must be sorted.
    pub(super) fn insert(&mut self, core: Vec<Term>) {
        match core.last() {
            Some(newest) => self.of_newest.entry(*newest).or_default().push(core),
            None => self.empty = true,
        }
    }

    /// Returns a known core all of whose conditions are among these, if there is one.
    pub(super) fn contained_in(&self, conditions: &BTreeSet<Term>) -> Option<Vec<Term>> {
        if self.empty {
            return Some(Vec::new());
        }
        conditions.iter().find_map(|newest| {
            let cores = self.of_newest.get(newest)?;
            cores.iter().find(|core| core.iter().all(|term| conditions.contains(term))).cloned()
        })
    }
}
