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
//! condition is followed both ways, so the list may contain paths that no packet takes. The
//! [choices](Path::choices) of a path allow a solver to decide whether a packet takes it
//! ([`Feasibility`]).
//!
//! A loop of a parser that extracts into a header stack has as many turns as the stack has
//! elements. Of other loops, a path has at most eight turns in a parser and one in a control. A
//! path is one pass through the program. Further turns and passes that its packets may need are
//! listed ([`Path::uncounted`]), and a prediction counts them as parts without a measurement.

mod uncounted;
mod validity;
mod walk;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use ir::{Choice, ParserId, Program, StateId, Statement, TableId};
use num_bigint::BigUint;

use crate::campaign::{FunctionName, Picoseconds};
use crate::compose::{ComposeError, Composition};
use crate::level::Level;
use crate::model::{Model, SettingModel};

/// The number of times that each part, by name, occurs on a path through a program.
pub type Parts = BTreeMap<String, u32>;

/// A path through a program, with the parts that cost time. It stands for all paths with the same
/// parts whose packets may need the same further work ([`Path::uncounted`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The decisions along one of the paths that this one stands for: parser states, tables with
    /// the action that ran, and sides of conditions.
    pub decisions: Vec<String>,
    /// The choices of the paths that this one stands for, one sequence for each of them. A sequence
    /// has all choices, including those that follow from earlier ones. If there are fewer sequences
    /// than [`Self::ways`], the others were omitted because there are too many.
    pub choices: Vec<Vec<Choice>>,
    /// The parts of the path: pieces of the program that cost time, with the number of occurrences.
    pub parts: Parts,
    /// The number of paths through the program that have these parts.
    pub ways: u64,
    /// The work that packets of the path may need in addition to its parts, in words: further turns
    /// of loops without a known limit, and further passes through the program of the packet or its
    /// copies.
    pub uncounted: BTreeSet<String>,
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
    /// length of `longest` are upper limits.
    pub follows_validity: bool,
    /// The work that it took to collect the paths, as the number of changes to partial paths.
    /// Several merged paths are one partial path.
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
    /// The parts of the path that no function of the model covers, and the work in
    /// [`Path::uncounted`]. Their cost is missing in the prediction.
    pub unmeasured: Parts,
    /// The parts that the functions include but the path does not. Their cost is included in the
    /// prediction.
    pub beyond: Parts,
    /// The predicted delays of the covered parts. They are the delays of the whole path if
    /// `unmeasured` is empty.
    pub composition: Composition,
    /// Whether a packet takes the path.
    pub feasibility: Feasibility,
}

/// Whether any packet takes a path. [`Model::predict_paths`] does not determine this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Feasibility {
    /// It was not determined whether a packet takes the path.
    #[default]
    Open,
    /// This packet takes the path, after the control plane has written the given configuration.
    Feasible(Witness),
    /// No packet takes the path to its end, but this packet follows the path until it is dropped,
    /// so it makes none of the path's choices in later blocks. The prediction is an upper bound for
    /// such packets.
    CutShort(Witness),
    /// No packet takes the path, whatever tables and registers contain.
    Infeasible,
    /// It is not known whether a packet takes the path, for the given reason.
    GivenUp(String),
}

/// A packet that takes a path, and the configuration that the control plane must write before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The port on which the packet arrives.
    pub port: u32,
    /// The bytes of the packet, in hexadecimal digits.
    pub packet: String,
    /// The number of table entries that are needed.
    pub entries: usize,
    /// The number of default actions, cells of registers, clone sessions and multicast groups that
    /// are needed.
    pub settings: usize,
    /// A script for `planimeter stf` that writes this configuration, sends the packet, and checks
    /// the expected packets.
    pub script: String,
}

impl Feasibility {
    /// Returns the answer in one or two words, for display.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Open => "not tried",
            Self::Feasible(_) => "feasible",
            Self::CutShort(_) => "cut short",
            Self::Infeasible => "infeasible",
            Self::GivenUp(_) => "given up",
        }
    }

    /// Returns the packet that takes the path, at least until it is dropped, if one is known.
    #[must_use]
    pub fn witness(&self) -> Option<&Witness> {
        match self {
            Self::Feasible(witness) | Self::CutShort(witness) => Some(witness),
            Self::Open | Self::Infeasible | Self::GivenUp(_) => None,
        }
    }
}

/// Returns the paths of a program. Paths with equal parts and equal uncounted work are merged into
/// one. The list is empty if no packet reaches the end of the program.
///
/// # Errors
/// Returns a [`PathError`] if there are too many paths.
pub fn paths(program: &Program) -> Result<Vec<Path>, PathError> {
    walk::program(program, &|_| true)
}

/// A function that returns whether a choice is permitted on the paths to be listed. It is called
/// for cases of a `select`, sides of branches, one turn of a loop, and actions of tables. All other
/// choices are always permitted.
pub type Permits<'p> = &'p dyn Fn(Choice) -> bool;

/// Returns the paths of a program that make only permitted choices, like [`paths`].
///
/// # Errors
/// Returns a [`PathError`] if there are too many paths.
pub fn paths_where<'p>(program: &'p Program, permits: Permits<'p>) -> Result<Vec<Path>, PathError> {
    walk::program(program, permits)
}

/// Lists the parts of single statements, tables and parser states of a program.
pub struct OwnParts<'p> {
    program: &'p Program,
    walker: walk::Walker<'p>,
}

impl<'p> OwnParts<'p> {
    /// Prepares to list the parts of statements, tables and parser states of a program.
    #[must_use]
    pub fn new(program: &'p Program) -> Self {
        Self { program, walker: walk::Walker::new(program, ways::Record::new(true)) }
    }

    /// Returns the parts of a statement itself, without those of the statements inside it, of the
    /// functions that it calls, and of the tables that it applies. A deparser's `emit` has the
    /// parts of all its headers.
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
    /// Predicts the delay of every path through a program. The paths are sorted by their delay at
    /// the model's last level (a statistic of delays), the slowest first.
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
                let (functions, mut unmeasured, beyond) = self.cover(under, &path.parts);
                unmeasured.extend(path.uncounted.iter().map(|work| (work.clone(), 1)));
                let composition = self.compose(under, &functions)?;
                Ok(PathPrediction {
                    path: path.clone(),
                    functions,
                    unmeasured,
                    beyond,
                    composition,
                    feasibility: Feasibility::Open,
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

    /// Returns an upper estimate of the cost of parts at a level (a statistic of delays). Each part
    /// counts as much as the costliest function that contains it. Parts that no function contains
    /// count as zero.
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
