//! Linear programs for FIFO paths, which maximise the delay over all runs.
//!
//! A run that delays data of the flow is described by times at the entrances of servers ([`dates`])
//! and by the cumulative data at these times. Arrival curves, service curves, the order of times
//! and the FIFO property are linear constraints on both, so that the worst-case delay is at most
//! the optimum of a linear program. With all times this is the program of Bouillard and Stea
//! ("Exact worst-case delay in FIFO-multiplexing feed-forward networks", IEEE/ACM Transactions on
//! Networking 23, 2015), without its case distinction over the orders of times that the constraints
//! leave open. With some of the times, and the delays of total flow analysis as additional rows, it
//! is that of Bouillard ("Trade-off between accuracy and tractability of network calculus in FIFO
//! networks", Performance Evaluation 153, 2022), where it is called PLP.
//!
//! The network is cut where flows join the path. They arrive with their arrival curve, advanced by
//! the delays that total flow analysis has found on their way. These delays are valid in cyclic
//! networks as well. Flows that share the same servers of the path are one class.
//!
//! Every row is valid for every run, so a program yields a bound even if it omits rows. The bound
//! is proven in exact arithmetic, independently of what the solver returns (see [`program`]).

mod arbitrary;
mod cuts;
mod dates;
mod program;
mod rows;
mod tree;

use std::sync::{Arc, OnceLock};

use super::fixed_point::Delays;
use super::{Analysis, AnalysisError, FlowBound};
use crate::Extended;
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::{FlowId, ServerId};
use crate::network::model::Network;
pub(super) use arbitrary::{bound as in_any_order, burst as burst_in_any_order};
use dates::Choice;
use rows::Formulation;
pub(super) use tree::{Bursts, Tree, Unfolding};

/// The number of servers nearest to the root for which a program uses all times (see `dates`). The
/// number of times doubles with each server.
const DEEPEST: usize = 6;
/// The largest number of variables for times, at all servers together, in a program that uses all
/// times. Side branches of the tree are unfolded until it is reached.
const MAX_TIMES: usize = 140;
/// The largest number of servers on a path for which a program is built. The size of the program
/// grows with the square of this number, and the time to solve it grows faster.
const LONGEST_PATH: usize = 100;
/// A program with fewer variables than this uses more times than it needs, for a smaller bound.
const SMALL_PROGRAM: usize = 900;

/// Caches the bursts over cut links, by the last server of a path. Paths with the same last server
/// need the same bursts for their programs.
#[derive(Debug, Default)]
pub(super) struct Cuts(Vec<OnceLock<Result<Bursts, AnalysisError>>>);

impl Cuts {
    pub(super) fn of(network: &Network) -> Self {
        Self(network.servers().map(|_| OnceLock::new()).collect())
    }

    /// Returns bounds on the bursts over cut links that the program of a path needs. There are none
    /// in a feed-forward network, where total flow analysis yields finite bursts.
    fn bursts(
        &self,
        common: &Common<'_>,
        delays: &Delays,
        path: &[ServerId],
    ) -> Result<Bursts, AnalysisError> {
        let last = path.last().and_then(|last| self.0.get(last.index()).zip(Some(*last)));
        let Some((cell, last)) = last.filter(|_| common.network.order().is_err()) else {
            return Ok(Bursts::default());
        };
        let found = cell.get_or_init(|| {
            let unfolding = Unfolding::Polynomial(cuts::LARGEST_TREE);
            let tree = Tree::of(common, delays, &[last], unfolding, &Bursts::default(), &[])?;
            cuts::bursts(common, delays, &tree.cut_links())
        });
        found.clone()
    }
}

/// The bounds from one linear program of a flow, and the size of the program.
struct Found {
    tree: Tree,
    delay: Extended,
    backlog: Option<crate::Rational>,
    variables: usize,
    rows: usize,
    optimal: bool,
}

/// Returns the path of a flow, or an error if it has more than `longest` servers, too many for a
/// program, or if the crate was built without the feature `programs`.
fn path_of<'a>(
    common: &Common<'a>,
    id: FlowId,
    analysis: Analysis,
    longest: usize,
) -> Result<&'a [ServerId], AnalysisError> {
    if cfg!(not(feature = "programs")) {
        let why = "calculus was built without its feature 'programs'";
        return Err(AnalysisError::NoProgram(why.to_owned()));
    }
    let path = &common.network.flow(id).path;
    if path.len() > longest {
        let why = format!(
            "the path has {} servers, and {analysis} supports at most {longest}",
            path.len()
        );
        return Err(AnalysisError::NoProgram(why));
    }
    Ok(path)
}

/// Returns the bounds of a flow from the best of several linear programs.
pub(super) fn bound(
    common: &Common<'_>,
    delays: &Delays,
    cuts: &Cuts,
    id: FlowId,
    analysis: Analysis,
) -> Result<FlowBound, AnalysisError> {
    let path = path_of(common, id, analysis, LONGEST_PATH)?;
    // Each attempt is one program. It describes either the path alone, where the traffic that joins
    // it has the delays of total flow analysis, or the tree.
    let polynomial = Unfolding::Polynomial(cuts::LARGEST_TREE);
    let mut attempts = vec![(Unfolding::Path, Choice::Behind(0)), (polynomial, Choice::Behind(0))];
    if analysis == Analysis::Elp {
        attempts.push((Unfolding::Path, Choice::All(DEEPEST)));
        attempts.push((Unfolding::Exponential(DEEPEST, MAX_TIMES), Choice::All(DEEPEST)));
    }
    // Errors are found here, before the expensive bursts are computed.
    Tree::of(common, delays, path, Unfolding::Path, &Bursts::default(), &[])?;
    let bursts = cuts.bursts(common, delays, path)?;
    common.go_on()?;
    let (mut best, mut sizes): (Option<Found>, Vec<(usize, Choice)>) = (None, Vec::new());
    for (unfolding, choice) in attempts {
        let mut tree = Tree::of(common, delays, path, unfolding, &bursts, &[id])?;
        if sizes.contains(&(tree.nodes.len(), choice)) {
            continue;
        }
        sizes.push((tree.nodes.len(), choice));
        tree.tighten()?;
        let found = solve(tree, choice)?;
        common.go_on()?;
        best = Some(match best {
            None => found,
            Some(best) => {
                let backlog = match (best.backlog.clone(), found.backlog.clone()) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                let smaller = if found.delay < best.delay { found } else { best };
                Found { backlog, ..smaller }
            }
        });
    }
    let Some(found) = best else { return Err(AnalysisError::NoArrivalBound) };
    of_found(common, analysis, id, found)
}

/// Builds and solves the linear program of a tree of servers.
fn solve(tree: Tree, choice: Choice) -> Result<Found, AnalysisError> {
    // Each further set of words for times adds about as many times as the smallest program has.
    let times: usize = tree.nodes.iter().map(|node| node.depth + 1).sum();
    let choice = match choice {
        Choice::Behind(_) => {
            let deepest = tree.nodes.iter().map(|node| node.depth).max().unwrap_or(0);
            Choice::Behind((SMALL_PROGRAM / (2 * times)).min(deepest).saturating_sub(1))
        }
        all => all,
    };
    let mut formulation = Formulation::of(&tree, choice);
    let found = formulation.delay();
    let (variables, rows) = (formulation.program.variables(), formulation.program.rows());
    // The sum of the delays of total flow analysis, which is used if the solver fails or servers
    // are overloaded.
    let mut added = Extended::ZERO;
    let mut at = Some(0);
    while let Some(node) = at.and_then(|index| tree.nodes.get(index)) {
        added = added.checked_add(&node.delay).unwrap_or(Extended::PositiveInfinity);
        at = node.next;
    }
    let optimal = found.as_ref().is_some_and(|bound| bound.optimal);
    let delay = found.map_or(Extended::PositiveInfinity, |bound| bound.value.into()).min(added);
    let objective = formulation.backlog(false);
    let backlog = formulation.program.maximum(&objective).map(|bound| bound.value * &tree.data);
    Ok(Found { tree, delay, backlog, variables, rows, optimal })
}

/// Returns the bounds of a solved program with their derivation.
fn of_found(
    common: &Common<'_>,
    analysis: Analysis,
    id: FlowId,
    found: Found,
) -> Result<FlowBound, AnalysisError> {
    let Found { tree, delay, backlog, variables, rows, optimal } = found;
    let server = |index: usize| tree.nodes.get(index).map(|node| node.server);
    let mut crossings = Vec::with_capacity(tree.classes.len());
    for class in &tree.classes {
        if let Some((first, last)) = server(class.first).zip(server(class.last)) {
            crossings.push((first, last, class.flows.clone(), Arc::new(class.arrival.clone())));
        }
    }
    let delays = tree.nodes.iter().map(|node| (node.server, node.delay.clone())).collect();
    let steps = vec![Step::Program { crossings, delays, variables, rows, optimal }];
    let derivation = Derivation { steps, services: Vec::new() };
    let mut bound = FlowBound::of_delay(common, analysis, id, delay, derivation)?;
    if let Some(backlog) = backlog.map(Extended::Finite)
        && backlog < bound.backlog
    {
        bound.backlog = backlog;
    }
    Ok(bound)
}
