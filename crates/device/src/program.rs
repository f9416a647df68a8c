//! A P4 program in basic functions: its execution paths, taken apart.
//!
//! A path is what one packet may meet: states of the parser, a hit or a miss and an action of each table, sides of each
//! condition, headers that the deparser emits. It is taken apart into *parts*:
//!
//! | part | stands for |
//! | --- | --- |
//! | `extract 112` | a header of so many bits, taken from the packet |
//! | `select 16` | a transition that looks at so many bits |
//! | `lookahead 8`, `advance`, `verify` | what else a parser does |
//! | `table exact 32, lpm 16` | a table each time it is applied, by kind and width of its keys |
//! | `branch` | a condition |
//! | `assign 48` | a value of so many bits that is written |
//! | `compute subtract 8` | arithmetic on values of so many bits |
//! | `set valid`, `set invalid`, `push`, `pop` | what is done to headers |
//! | `extern hash` | a call of the architecture |
//! | `emit 112` | a header of so many bits that is put out |
//!
//! A model whose functions say what they [consist of](crate::campaign::Function::consists_of) covers parts with them, the
//! largest function first; the baseline's parts are free. What remains has no measurement and is listed.
//!
//! Conditions on the validity of a header decide themselves where the parser did, if the program has one header of that
//! type; other conditions go both ways. There may be paths that no packet takes, so the worst is never too good.

mod walk;
mod ways;

use std::collections::BTreeMap;

use ir::Program;
use num_bigint::BigUint;

use crate::campaign::FunctionName;
use crate::compose::{ComposeError, Composition};
use crate::model::{Model, SettingModel};

/// What a packet meets, by part: how often.
pub type Parts = BTreeMap<String, u32>;

/// A way through a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// What decided it: states, tables with the action that ran, conditions. One of those with the same parts.
    pub decisions: Vec<String>,
    /// What it takes.
    pub parts: Parts,
    /// Ways with the same parts.
    pub ways: u64,
}

/// Why a program has no list of paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// There are too many.
    #[error(
        "the program has more than {most} paths that differ, in {place}; predict parts of it, or a program with fewer tables"
    )]
    TooMany {
        /// How many were looked at.
        most: usize,
        /// Where they became too many.
        place: String,
    },
    /// There is none: every parser loops for ever.
    #[error("no packet comes to the end of the program: its parsers loop for ever")]
    None,
}

/// What can be said of all ways through a program where a list of them is too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// How many there are.
    pub ways: BigUint,
    /// The one with most parts.
    pub longest: Path,
    /// Every decision in the order of the program, and how many ways pass it.
    pub passes: Vec<Passes>,
    /// Whether conditions on the validity of headers were decided where they can be. Else they go both ways, and all headers
    /// are put out: there are less ways, and the longest is shorter.
    pub follows_validity: bool,
    /// How many times a way, or several that are equal, was moved on by a statement: the work that this took.
    pub steps: u64,
}

/// A decision, and how many ways pass it; one that passes it twice counts twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passes {
    /// A state, a table with the action that ran, or a side of a condition.
    pub decision: String,
    /// How many ways.
    pub ways: BigUint,
}

/// A path and what a model says to it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPrediction {
    /// The path.
    pub path: Path,
    /// Functions of the model that cover parts of it.
    pub functions: Vec<FunctionName>,
    /// Parts that no function covers.
    pub unmeasured: Parts,
    /// Parts that functions stand for and the path has not: what they cost is counted all the same.
    pub beyond: Parts,
    /// Delays of what is covered: of the whole path if nothing is unmeasured.
    pub composition: Composition,
}

/// The paths of a program, those with the same parts as one.
///
/// # Errors
/// See [`PathError`].
pub fn paths(program: &Program) -> Result<Vec<Path>, PathError> {
    walk::program(program)
}

/// What can be said of all paths of a program, however many there are: nothing is listed.
///
/// # Errors
/// See [`PathError`].
pub fn overview(program: &Program) -> Result<Overview, PathError> {
    walk::overview(program)
}

impl Model {
    /// Predicts every path of a program, the slowest at the last level first.
    ///
    /// # Errors
    /// [`ComposeError`] if the model contradicts itself.
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

    /// Covers parts with functions: those of which the path has all parts first, the largest of them before others; then
    /// those that stand for more, the fewest parts beyond the path's. Says what is left, and what is too much.
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

/// What of `parts` is not there.
fn missing(left: &Parts, parts: &Parts) -> Parts {
    let lacks = parts.iter().map(|(part, count)| {
        (part.clone(), count.saturating_sub(left.get(part).copied().unwrap_or(0)))
    });
    lacks.filter(|(_, count)| *count > 0).collect()
}

/// Takes parts away if all of them are there.
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
