//! Splits a P4 program into basic functions, path by path, and predicts each path with a model.
//!
//! A path is the sequence of steps in the processing of one packet: parser states, the action that
//! each table runs, one side of each condition, and the headers that the deparser emits. A path is
//! split into *parts*:
//!
//! | part | stands for |
//! | --- | --- |
//! | `extract 112` | a header of 112 bits, extracted from the packet |
//! | `select 16` | a transition that selects on 16 bits |
//! | `lookahead 8`, `advance`, `verify` | other parser statements |
//! | `table exact 32, lpm 16` | one application of a table, by kind and width of its keys |
//! | `branch` | a condition |
//! | `assign 48` | an assignment of a value of 48 bits |
//! | `compute subtract 8` | arithmetic on values of 8 bits |
//! | `set valid`, `set invalid`, `push`, `pop` | changes of header validity and header stacks |
//! | `extern hash` | a call of an extern of the architecture |
//! | `emit 112` | a header of 112 bits that the deparser emits |
//!
//! A model whose functions declare what they [consist of](crate::campaign::Function::consists_of)
//! covers these parts with its functions, the largest function first. The parts of the baseline are
//! free. Parts that remain have no measurement and are listed.
//!
//! A condition on the validity of a header is decided by the path so far, unless the header is
//! chosen by an index that only the packet determines, or was written by an extern. Every other
//! condition is followed both ways, so the list may contain paths that no packet takes. A path runs
//! a loop of a control at most once, and enters a parser state on a loop at most eight times;
//! packets that need more iterations take longer than predicted.

mod validity;
mod walk;
mod ways;

use std::collections::BTreeMap;

use ir::{Location, ParserId, Program, StateId, Statement, TableId};
use num_bigint::BigUint;

use crate::campaign::{FunctionName, Picoseconds};
use crate::compose::{ComposeError, Composition};
use crate::level::Level;
use crate::model::{Model, SettingModel};

/// The number of times that each part, by name, occurs on a path through a program.
pub type Parts = BTreeMap<String, u32>;

/// A path through a program. It stands for all paths with equal parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The decisions along one of the paths that this one stands for: parser states, tables with
    /// the action that ran, and sides of conditions.
    pub decisions: Vec<String>,
    /// The parts of the path: pieces of the program that cost time, with the number of occurrences.
    pub parts: Parts,
    /// The number of paths through the program that have these parts.
    pub ways: u64,
}

/// The reason why the paths of a program cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The program has too many different paths.
    #[error(
        "the program has more than {most} paths that differ, in {place}; predict parts of it, or a program with fewer tables"
    )]
    TooMany {
        /// The limit on different paths that was exceeded.
        most: usize,
        /// The place in the program where the limit was exceeded.
        place: String,
    },
    /// The program has no complete path, because every parser loops forever.
    #[error("no packet comes to the end of the program: its parsers loop for ever")]
    None,
}

/// Statistics of all paths through a program, for programs with too many paths to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The number of paths through the program.
    pub ways: BigUint,
    /// The path with the most parts of all paths through the program. Its `ways` is always 1.
    pub longest: Path,
    /// Each decision in program order, with the number of paths through it.
    pub passes: Vec<Passes>,
    /// Whether the valid headers were recorded along each path. If they were not, both sides of
    /// conditions on validity were followed and all headers were emitted, so that `ways` and the
    /// length of
    /// `longest` are upper limits.
    pub follows_validity: bool,
    /// The amount of work for collecting the paths: the number of times that a partial path, which
    /// may stand for several merged paths, was changed.
    pub steps: u64,
}

/// A decision and the number of paths through it. A path that passes the decision twice counts
/// twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passes {
    /// The decision: a parser state, a table with the action that ran, or a side of a condition.
    pub decision: String,
    /// The number of paths through the decision.
    pub ways: BigUint,
}

/// A path through a program, with the delay that a model predicts for it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPrediction {
    /// The path whose delay is predicted.
    pub path: Path,
    /// The functions of the model whose costs make up the prediction.
    pub functions: Vec<FunctionName>,
    /// The parts of the path that no function of the model covers. Their cost is missing in the
    /// prediction.
    pub unmeasured: Parts,
    /// The parts that the functions include but the path does not. Their cost is included in the
    /// prediction.
    pub beyond: Parts,
    /// The predicted delays of the covered parts. They are the delays of the whole path if
    /// `unmeasured` is empty.
    pub composition: Composition,
}

/// Returns the paths of a program. Paths with equal parts are merged into one. The list is empty if
/// no packet reaches the end of the program.
///
/// # Errors
/// Returns a [`PathError`] if there are too many paths.
pub fn paths(program: &Program) -> Result<Vec<Path>, PathError> {
    walk::program(program, &|_| true)
}

/// A choice of a path through a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A case of a `select`, by its position.
    Case {
        /// The parser.
        parser: ParserId,
        /// The state that selects.
        state: StateId,
        /// The position of the case, from 0.
        case: usize,
    },
    /// A side of a branch. `if` has the sides 0 for `else` and 1 for `then`, `switch` has 0 for the
    /// default and then one for each case, and a loop has 0 for its end and 1 for a turn.
    Side {
        /// The place of the branch in the source.
        at: Location,
        /// The number of the side.
        side: usize,
    },
    /// An action that a table runs.
    Action {
        /// The table.
        table: TableId,
        /// The position of the action among those of the table, from 0.
        position: usize,
    },
}

/// A function that returns whether paths may make a choice.
pub type Permits<'p> = &'p dyn Fn(Choice) -> bool;

/// Returns the paths of a program that make only permitted choices, like [`paths`].
///
/// # Errors
/// Returns a [`PathError`] if there are too many paths.
pub fn paths_where<'p>(program: &'p Program, permits: Permits<'p>) -> Result<Vec<Path>, PathError> {
    walk::program(program, permits)
}

/// The parts of single statements, tables and parser states of a program.
pub struct OwnParts<'p> {
    program: &'p Program,
    walker: walk::Walker<'p>,
}

impl<'p> OwnParts<'p> {
    /// Prepares to list the parts of pieces of a program.
    #[must_use]
    pub fn new(program: &'p Program) -> Self {
        Self { program, walker: walk::Walker::new(program, ways::Record::new(true)) }
    }

    /// Returns the parts of a statement, without those of statements inside it and of what it
    /// calls or applies. A deparser's `emit` has those of all its headers.
    #[must_use]
    pub fn of_statement(&self, statement: &Statement) -> Parts {
        self.walker.own_parts(statement)
    }

    /// Returns the part that stands for one application of a table.
    #[must_use]
    pub fn of_table(&self, table: TableId) -> Parts {
        Parts::from([(self.walker.table_part(table), 1)])
    }

    /// Returns the part that stands for the selection of the state after a parser state.
    #[must_use]
    pub fn of_state(&self, parser: ParserId, state: StateId) -> Parts {
        let parser = self.program.parsers.get(parser.index());
        let state = parser.and_then(|parser| parser.states.get(state.index()));
        let part = state.and_then(|state| self.walker.select_part(&state.transition));
        part.into_iter().map(|part| (part, 1)).collect()
    }
}

/// Returns statistics of all paths of a program, which may be too many to list.
///
/// # Errors
/// Returns a [`PathError`] if no packet reaches the end of the program, or if too many states
/// differ.
pub fn overview(program: &Program) -> Result<Overview, PathError> {
    walk::overview(program)
}

impl Model {
    /// Predicts the delay of every path through a program. The path that is slowest at the last
    /// level comes first.
    ///
    /// # Errors
    /// Returns [`ComposeError`] if the model is inconsistent, so that a selected function is not
    /// found.
    pub fn predict_paths(
        &self,
        under: &SettingModel,
        paths: &[Path],
    ) -> Result<Vec<PathPrediction>, ComposeError> {
        let mut predictions = paths
            .iter()
            .map(|path| {
                let (functions, unmeasured, beyond) = self.cover(under, &path.parts);
                let composition = self.compose(under, &functions)?;
                Ok(PathPrediction {
                    path: path.clone(),
                    functions,
                    unmeasured,
                    beyond,
                    composition,
                })
            })
            .collect::<Result<Vec<_>, ComposeError>>()?;
        let slowest = |prediction: &PathPrediction| {
            prediction.composition.levels.last().map(|level| level.safe)
        };
        predictions.sort_by(|a, b| {
            slowest(b).cmp(&slowest(a)).then_with(|| a.path.decisions.cmp(&b.path.decisions))
        });
        Ok(predictions)
    }

    /// Returns the largest cost that parts have at a level: each costs as much as the costliest
    /// function that contains it. Parts that no function contains cost nothing here.
    #[must_use]
    pub fn largest_cost(&self, under: &SettingModel, parts: &Parts, level: Level) -> Picoseconds {
        let cost = |part: &String| {
            let containing =
                under.functions.iter().filter(|model| model.function.consists_of.contains(part));
            let deltas = containing.flat_map(|model| under.deltas(model));
            let of_level = deltas.filter(|delta| delta.level == level);
            of_level.map(|delta| delta.value.0).max().unwrap_or(0).max(0)
        };
        let each = parts.iter().map(|(part, count)| cost(part).saturating_mul(i64::from(*count)));
        Picoseconds(each.fold(0, i64::saturating_add))
    }

    /// Selects functions of `under` that together cover the [`Parts`] of a path. Parts of the
    /// baseline need no function. Returns the selected functions, the parts of the path that no
    /// function covers, and the excess: parts of the functions that the path does not need.
    ///
    /// The selection is greedy, and may select a function several times. It first selects functions
    /// whose parts are all still uncovered, those with the most parts first. For the remaining
    /// parts, it repeatedly selects the function with the smallest excess.
    fn cover(&self, under: &SettingModel, parts: &Parts) -> (Vec<FunctionName>, Parts, Parts) {
        let mut left = parts.clone();
        for part in self.baseline.iter().flat_map(|function| &function.consists_of) {
            take(&mut left, &BTreeMap::from([(part.clone(), 1)]));
        }
        let of = |parts: &[String]| {
            parts.iter().fold(Parts::new(), |mut sum, part| {
                *sum.entry(part.clone()).or_default() += 1;
                sum
            })
        };
        let mut candidates: Vec<(Parts, &FunctionName)> = under
            .functions
            .iter()
            .map(|function| &function.function)
            .filter(|function| !function.consists_of.is_empty())
            .map(|function| (of(&function.consists_of), &function.name))
            .collect();
        candidates.sort_by_key(|(parts, _)| std::cmp::Reverse(parts.values().sum::<u32>()));
        let mut functions = Vec::new();
        for (parts, name) in &candidates {
            while take(&mut left, parts) {
                functions.push((*name).clone());
            }
        }
        let mut beyond = Parts::new();
        while let Some((more, name, parts)) = candidates
            .iter()
            .filter(|(parts, _)| parts.keys().any(|part| left.contains_key(part)))
            .map(|(parts, name)| (missing(&left, parts), *name, parts))
            .min_by_key(|(more, _, _)| more.values().sum::<u32>())
        {
            let mut have = parts.clone();
            take(&mut have, &more);
            take(&mut left, &have);
            more.into_iter().for_each(|(part, count)| *beyond.entry(part).or_default() += count);
            functions.push(name.clone());
        }
        (functions, left, beyond)
    }
}

/// Returns the parts, with their number of occurrences, that `parts` contains and `left` lacks.
fn missing(left: &Parts, parts: &Parts) -> Parts {
    let lacks = parts.iter().map(|(part, count)| {
        (part.clone(), count.saturating_sub(left.get(part).copied().unwrap_or(0)))
    });
    lacks.filter(|(_, count)| *count > 0).collect()
}

/// Removes `parts` from `left` if `left` contains all of them. Returns whether it did.
fn take(left: &mut Parts, parts: &Parts) -> bool {
    let there = !parts.is_empty()
        && parts.iter().all(|(part, count)| left.get(part).is_some_and(|has| has >= count));
    if there {
        for (part, count) in parts {
            if let Some(has) = left.get_mut(part) {
                *has -= count;
            }
        }
        left.retain(|_, count| *count > 0);
    }
    there
}

#[cfg(test)]
mod tests;
