//! Unit propagation over clauses. Each clause watches two of its literals.

use crate::solver::Literal;
use std::collections::HashMap;

/// A set of clauses, and the literals that follow from them without a decision.
#[derive(Debug, Default)]
pub(super) struct Propagation {
    /// The clauses with at least two literals, of which the first two are watched. A deleted clause
    /// is empty.
    clauses: Vec<Box<[Literal]>>,
    /// The positions of the clauses that watch each literal, by the index of the literal. A deleted
    /// clause is removed from this list when it is visited.
    watches: Vec<Vec<u32>>,
    values: Vec<Option<bool>>,
    /// The literals that are true, in the order in which they were derived.
    trail: Vec<Literal>,
    /// The number of literals of the trail whose watching clauses have been visited.
    visited: usize,
    /// The positions of lemmas, by their sorted literals.
    lemmas: HashMap<Vec<Literal>, Vec<u32>>,
    /// Whether the clauses contradict each other.
    contradiction: bool,
}

impl Propagation {
    /// Adds the variable of a literal.
    pub(super) fn add_variable(&mut self, literal: Literal) {
        let count = (literal.index() | 1) + 1;
        if self.values.len() < count {
            self.values.resize(count, None);
            self.watches.resize_with(count, Vec::new);
        }
    }

    /// Adds a clause of the formula.
    pub(super) fn add_clause(&mut self, clause: &[Literal]) {
        self.insert(clause);
    }

    /// Adds a lemma, which can be deleted later.
    pub(super) fn add_lemma(&mut self, clause: &[Literal]) {
        if let Some(position) = self.insert(clause) {
            self.lemmas.entry(sorted(clause)).or_default().push(position);
        }
    }

    /// Deletes a lemma. Does nothing if there is no lemma with these literals, since a solver may
    /// have shortened the lemma before it deletes it.
    pub(super) fn delete_lemma(&mut self, clause: &[Literal]) {
        let key = sorted(clause);
        let Some(positions) = self.lemmas.get_mut(&key) else { return };
        if let Some(position) = positions.pop()
            && let Some(clause) = self.clauses.get_mut(position as usize)
        {
            *clause = Box::default();
        }
        if positions.is_empty() {
            self.lemmas.remove(&key);
        }
    }

    /// Returns whether a clause follows from the clauses of the set by unit propagation.
    pub(super) fn implies(&mut self, clause: &[Literal]) -> bool {
        if self.contradiction {
            return true;
        }
        let before = self.trail.len();
        let mut follows = false;
        for literal in clause {
            match self.value(*literal) {
                // The negation of the clause contradicts what is known, or itself.
                Some(true) => {
                    follows = true;
                    break;
                }
                Some(false) => {}
                None => self.assign(!*literal),
            }
        }
        follows = follows || !self.propagate();
        for literal in self.trail.drain(before..) {
            self.values[literal.index()] = None;
            self.values[(!literal).index()] = None;
        }
        self.visited = before;
        follows
    }

    fn value(&self, literal: Literal) -> Option<bool> {
        self.values.get(literal.index()).copied().flatten()
    }

    fn assign(&mut self, literal: Literal) {
        self.add_variable(literal);
        self.values[literal.index()] = Some(true);
        self.values[(!literal).index()] = Some(false);
        self.trail.push(literal);
    }

    /// Adds a clause, and all literals that follow from it without a decision. Returns the position
    /// of the clause, or `None` if it need not be stored.
    fn insert(&mut self, clause: &[Literal]) -> Option<u32> {
        if self.contradiction {
            return None;
        }
        let mut kept = sorted(clause);
        if kept.windows(2).any(|pair| matches!(pair, [a, b] if *a == !*b)) {
            return None;
        }
        // What holds without a decision always holds, so false literals can be dropped and a clause
        // with a true one says nothing.
        if kept.iter().any(|literal| self.value(*literal) == Some(true)) {
            return None;
        }
        kept.retain(|literal| self.value(*literal) != Some(false));
        match kept.as_slice() {
            [] => self.contradiction = true,
            [only] => {
                self.assign(*only);
                self.contradiction = !self.propagate();
            }
            [first, second, ..] => {
                let position = u32::try_from(self.clauses.len()).unwrap_or(u32::MAX);
                for watched in [*first, *second] {
                    self.add_variable(watched);
                    self.watches[watched.index()].push(position);
                }
                self.clauses.push(kept.into_boxed_slice());
                return Some(position);
            }
        }
        None
    }

    /// Derives all literals that follow from those on the trail. Returns `false` if it reaches a
    /// contradiction.
    fn propagate(&mut self) -> bool {
        while let Some(literal) = self.trail.get(self.visited).copied() {
            self.visited += 1;
            let falsified = !literal;
            let mut watches = std::mem::take(&mut self.watches[falsified.index()]);
            let mut kept = 0;
            let mut consistent = true;
            let mut next = 0;
            while next < watches.len() {
                let position = watches[next];
                next += 1;
                match self.visit(position, falsified) {
                    Watch::Dropped => {}
                    Watch::Kept => {
                        watches[kept] = position;
                        kept += 1;
                    }
                    Watch::Unit(unit) => {
                        watches[kept] = position;
                        kept += 1;
                        self.assign(unit);
                    }
                    Watch::Contradiction => {
                        consistent = false;
                        // The remaining watches stay.
                        next -= 1;
                        break;
                    }
                }
            }
            watches.copy_within(next.., kept);
            watches.truncate(kept + watches.len() - next);
            self.watches[falsified.index()] = watches;
            if !consistent {
                return false;
            }
        }
        true
    }

    /// Visits a clause that watches the literal `falsified`, which has become false.
    fn visit(&mut self, position: u32, falsified: Literal) -> Watch {
        let values = &self.values;
        let value = |literal: Literal| values[literal.index()];
        let Some(clause) = self.clauses.get_mut(position as usize) else { return Watch::Dropped };
        let [first, second, ..] = &mut **clause else { return Watch::Dropped };
        if *first == falsified {
            std::mem::swap(first, second);
        }
        let other = *first;
        if value(other) == Some(true) {
            return Watch::Kept;
        }
        let found = clause.iter().skip(2).position(|literal| value(*literal) != Some(false));
        if let Some(found) = found {
            clause.swap(1, found + 2);
            self.watches[clause[1].index()].push(position);
            return Watch::Dropped;
        }
        match value(other) {
            Some(_) => Watch::Contradiction,
            None => Watch::Unit(other),
        }
    }
}

/// The result of visiting a clause that watches a literal.
enum Watch {
    /// The clause no longer watches the literal: it watches another one, or was deleted.
    Dropped,
    /// The clause is true and keeps watching the literal.
    Kept,
    /// The clause has a single literal left, this one, which must be true.
    Unit(Literal),
    /// All literals of the clause are false.
    Contradiction,
}

fn sorted(clause: &[Literal]) -> Vec<Literal> {
    let mut sorted = clause.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}
