//! Bursts over cut links in cyclic networks, as a fixed point of linear programs.
//!
//! The tree of servers around a server of a cycle is cut where it would reach its own servers
//! again. Traffic over a cut link is bounded by its burst x after the server before the link. That
//! burst is bounded by a program of the tree whose root is this server, in which bursts of cut
//! links occur again: x <= H(x), for the bursts of all runs up to any time, which are finite. All
//! programs together are one linear program in which the bursts are variables (Bouillard,
//! "Trade-off between accuracy and tractability of network calculus in FIFO networks", Performance
//! Evaluation 153, 2022, section 5).
//!
//! The linear program is solved in parts. Any multipliers of the program of one burst prove that
//! the burst is at most a + g x for *all* x, with non-negative a and g. One such line for each
//! burst yields x <= a + G x. If some y > 0 has a + G y <= y for a > 0, then x <= y. Otherwise, let
//! s > 1 be the largest ratio x/y. Where it is attained, x = s y <= a + s G y <= a + s (y - a) < s
//! y, a contradiction. The lines are those that touch H at the last y, so that y decreases from
//! round to round towards the largest fixed point (Newton's method for a concave function). The
//! condition a + G y <= y is checked in exact arithmetic. Only y itself is computed in floating
//! point, and is slightly larger than the solution.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::dates::Choice;
use super::program::{Affine, Program, Terms};
use super::rows::Formulation;
use super::tree::{Burst, Bursts, Tree, Unfolding};
use crate::network::analysis::AnalysisError;
use crate::network::analysis::fixed_point::Delays;
use crate::network::arrival::Common;
use crate::network::elements::{FlowId, ServerId};
use crate::{Extended, Rational};

/// The largest number of unknown bursts. The programs of all of them are solved in every round.
const MAX_BURSTS: usize = 240;
/// The largest number of rounds. Each round solves the programs again, at the better bursts that
/// the previous round has found.
const MAX_ROUNDS: usize = 12;
/// The exponents of the powers of two by which the bursts at the sources are multiplied for a first
/// guess, if no bursts are known. The larger the guess, the smaller are the factors with which the
/// bursts depend on each other.
const FIRST_GUESSES: [i32; 4] = [4, 10, 20, 40];
/// The relative amount by which a burst is increased before it is checked. The rounds end when no
/// burst improves by a hundred times this amount.
const MARGIN: f64 = 1e-9;
/// The largest size of a tree of servers, as the number of times and flows at all of its servers
/// together.
pub(super) const LARGEST_TREE: usize = 400;

/// The identity of an unknown burst: that of one flow after a server, or that of all flows over a
/// link together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unknown {
    Flow(FlowId, ServerId),
    Link(ServerId, ServerId),
}

/// Returns proven bounds on the bursts over the links at which a tree of servers is cut. The result
/// is empty if none were proven.
pub(super) fn bursts(
    common: &Common<'_>,
    delays: &Delays,
    links: &[(ServerId, ServerId)],
) -> Result<Bursts, AnalysisError> {
    let Some(unknowns) = unknowns(common, delays, links)? else { return Ok(Bursts::default()) };
    let mut known: Option<Vec<Rational>> = None;
    // Once some bursts are known, more delays in the trees are finite. A second pass then finds
    // smaller bursts.
    for _ in 0..2 {
        let system = System::of(common, delays, &unknowns, known.as_deref())?;
        match system.solve(common, delays, &unknowns, known.clone()) {
            Some(found) => known = Some(found),
            None => break,
        }
    }
    let Some(known) = known else { return Ok(Bursts::default()) };
    Ok(named(&unknowns, known.into_iter().map(Burst::Known)))
}

/// Returns all unknown bursts on which the bursts over some links depend, in ascending order.
/// Returns `None` if there are too many, or if a server has no program.
fn unknowns(
    common: &Common<'_>,
    delays: &Delays,
    links: &[(ServerId, ServerId)],
) -> Result<Option<Vec<Unknown>>, AnalysisError> {
    let network = common.network;
    let mut open = links.to_vec();
    let (mut unknowns, mut roots) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    while let Some((from, to)) = open.pop() {
        if !seen.insert((from, to)) {
            continue;
        }
        let flows = network.flows_over(from, to);
        unknowns.extend(flows.iter().map(|flow| Unknown::Flow(*flow, from)));
        if flows.len() > 1 {
            unknowns.insert(Unknown::Link(from, to));
        }
        let rates = flows.iter().all(|id| network.flow(*id).arrival.ultimate_rate().is_finite());
        if !rates || unknowns.len() > MAX_BURSTS || network.server(from).packetizer {
            return Ok(None);
        }
        if roots.insert(from) {
            match rooted(common, delays, from, &Bursts::default(), &[]) {
                Ok(tree) => open.extend(tree.cut_links()),
                Err(AnalysisError::NoProgram(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
    Ok((!unknowns.is_empty()).then(|| unknowns.into_iter().collect()))
}

fn rooted(
    common: &Common<'_>,
    delays: &Delays,
    root: ServerId,
    bursts: &Bursts,
    targets: &[FlowId],
) -> Result<Tree, AnalysisError> {
    Tree::of(common, delays, &[root], Unfolding::Polynomial(LARGEST_TREE), bursts, targets)
}

fn named(unknowns: &[Unknown], values: impl Iterator<Item = Burst>) -> Bursts {
    let mut bursts = Bursts::default();
    for (unknown, value) in unknowns.iter().zip(values) {
        match unknown {
            Unknown::Flow(flow, from) => drop(bursts.flows.insert((*flow, *from), value)),
            Unknown::Link(from, to) => drop(bursts.links.insert((*from, *to), value)),
        }
    }
    bursts
}

/// The linear programs of all unknown bursts.
struct System {
    /// The program of each burst, with the sum of variables that it maximises and the unit of data
    /// of its result.
    programs: Vec<(Program, Terms, Rational)>,
}

impl System {
    fn of(
        common: &Common<'_>,
        delays: &Delays,
        unknowns: &[Unknown],
        known: Option<&[Rational]>,
    ) -> Result<Self, AnalysisError> {
        let bursts = named(unknowns, (0..unknowns.len()).map(Burst::Unknown));
        let known = known.map(|known| named(unknowns, known.iter().cloned().map(Burst::Known)));
        // The trees of servers, with delays that were computed from known bursts.
        let mut tightened = BTreeMap::<ServerId, Tree>::new();
        let mut programs = Vec::with_capacity(unknowns.len());
        for unknown in unknowns {
            let (root, targets): (ServerId, &[FlowId]) = match unknown {
                Unknown::Flow(flow, from) => (*from, &[*flow]),
                Unknown::Link(from, to) => (*from, common.network.flows_over(*from, *to)),
            };
            let mut tree = rooted(common, delays, root, &bursts, targets)?;
            if let Some(known) = &known {
                let of_known = match tightened.entry(root) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(free) => {
                        let mut of_known = rooted(common, delays, root, known, &[])?;
                        of_known.tighten()?;
                        free.insert(of_known)
                    }
                };
                tree.take_delays(of_known);
            }
            let mut formulation = Formulation::of(&tree, Choice::Behind(0));
            let objective = formulation.backlog(true);
            programs.push((formulation.program, objective, tree.data.clone()));
        }
        Ok(Self { programs })
    }

    /// Returns proven bounds on the unknown bursts, none of which exceeds its value in `known`.
    /// Returns `None` if none were proven.
    fn solve(
        &self,
        common: &Common<'_>,
        delays: &Delays,
        unknowns: &[Unknown],
        known: Option<Vec<Rational>>,
    ) -> Option<Vec<Rational>> {
        let mut best = known.or_else(|| by_delays(common, delays, unknowns));
        if best.is_none() {
            let first: Vec<f64> =
                unknowns.iter().map(|unknown| source_burst(common, *unknown).to_f64()).collect();
            best = FIRST_GUESSES.iter().find_map(|power| {
                let near: Vec<f64> =
                    first.iter().map(|b| (b + 1e-6) * 2_f64.powi(*power)).collect();
                prove(&self.lines(&near)?)
            });
        }
        let mut best = best?;
        for _ in 0..MAX_ROUNDS {
            let near: Vec<f64> = best.iter().map(Rational::to_f64).collect();
            let Some(lines) = self.lines(&near) else { break };
            // The known bursts may also be inserted into the lines.
            let mut found: Vec<Rational> = lines.iter().map(|line| at(line, &best)).collect();
            if let Some(proven) = prove(&lines) {
                found = found.into_iter().zip(proven).map(|(a, b)| a.min(b)).collect();
            }
            let mut progress = false;
            for (best, found) in best.iter_mut().zip(found) {
                progress |= found.to_f64() < best.to_f64() * (1.0 - MARGIN * 100.0);
                if found < *best {
                    *best = rounded_up(found.to_f64_up());
                }
            }
            if !progress {
                break;
            }
        }
        Some(best)
    }

    /// Returns a bound on each burst that is an affine function of all bursts, and tight at the
    /// bursts `near`. Returns `None` if a program has no bound.
    fn lines(&self, near: &[f64]) -> Option<Vec<Affine>> {
        let line = |(program, objective, data): &(Program, Terms, Rational)| {
            let line = program.maximum_near(objective, near)?;
            let factors = line.factors.into_iter();
            let factors =
                factors.map(|(unknown, factor)| (unknown, rounded_up((factor * data).to_f64_up())));
            let constant = rounded_up((line.constant * data).to_f64_up());
            Some(Affine { constant, factors: factors.collect() })
        };
        self.programs.iter().map(line).collect()
    }
}

/// Returns the bursts that follow from the delays of total flow analysis, or `None` if one of these
/// delays is infinite.
fn by_delays(common: &Common<'_>, delays: &Delays, unknowns: &[Unknown]) -> Option<Vec<Rational>> {
    let network = common.network;
    let of_flow = |id: FlowId, from: ServerId| {
        let flow = network.flow(id);
        let mut delay = Rational::ZERO;
        for server in &flow.path {
            delay += delays.delay(common, *server, id).finite()?;
            if *server == from {
                break;
            }
        }
        let burst = crate::network::pmoo::token_buckets(&flow.arrival).pop()?;
        Some(burst.burst + burst.rate * delay)
    };
    let bursts = unknowns.iter().map(|unknown| match unknown {
        Unknown::Flow(flow, from) => of_flow(*flow, *from),
        Unknown::Link(from, to) => {
            network.flows_over(*from, *to).iter().map(|flow| of_flow(*flow, *from)).sum()
        }
    });
    bursts.collect()
}

/// Returns the burst that the flows of an unknown have at their sources.
fn source_burst(common: &Common<'_>, unknown: Unknown) -> Rational {
    let burst = |id: &FlowId| match common.network.flow(*id).arrival.right_limit_at(&Rational::ZERO)
    {
        Extended::Finite(burst) => burst,
        _ => Rational::ZERO,
    };
    match unknown {
        Unknown::Flow(flow, _) => burst(&flow),
        Unknown::Link(from, to) => common.network.flows_over(from, to).iter().map(burst).sum(),
    }
}

fn at(line: &Affine, unknowns: &[Rational]) -> Rational {
    let terms = line
        .factors
        .iter()
        .filter_map(|(unknown, factor)| unknowns.get(*unknown).map(|value| factor * value));
    &line.constant + terms.sum::<Rational>()
}

/// Returns bursts that the affine bounds `lines` prove: positive numbers y with a + G y <= y, where
/// each line has an entry of a and a row of G. Returns `None` if none were found.
fn prove(lines: &[Affine]) -> Option<Vec<Rational>> {
    let largest = lines.iter().map(|line| line.constant.to_f64()).fold(0.0, f64::max);
    let least = if largest > 0.0 { largest * MARGIN } else { MARGIN };
    // A larger value of a is a valid bound as well.
    let raised: Vec<Affine> = lines
        .iter()
        .map(|line| Affine { constant: &line.constant + rounded_up(least), ..line.clone() })
        .collect();
    let found = eliminate(&raised)?;
    if found.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return None;
    }
    let found: Vec<Rational> =
        found.into_iter().map(|value| rounded_up(value * (1.0 + MARGIN))).collect();
    let holds = |(line, value): (&Affine, &Rational)| {
        line.constant.is_positive() && at(line, &found) <= *value
    };
    raised.iter().zip(&found).all(holds).then_some(found)
}

/// Returns the solution of x = a + G x in floating point, where each line has an entry of a and a
/// row of G. Returns `None` if there is no unique solution.
fn eliminate(lines: &[Affine]) -> Option<Vec<f64>> {
    let count = lines.len();
    let mut matrix = vec![vec![0.0; count + 1]; count];
    for (index, line) in lines.iter().enumerate() {
        matrix[index][index] = 1.0;
        matrix[index][count] = line.constant.to_f64();
        for (unknown, factor) in &line.factors {
            *matrix[index].get_mut(*unknown)? -= factor.to_f64();
        }
    }
    for column in 0..count {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..count).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        matrix.swap(column, pivot);
        let pivot = matrix[column].clone();
        if pivot[column] == 0.0 {
            return None;
        }
        for (row, values) in matrix.iter_mut().enumerate() {
            let factor = values[column] / pivot[column];
            if row != column && factor != 0.0 {
                for (value, other) in values.iter_mut().zip(&pivot).skip(column) {
                    *value -= factor * other;
                }
            }
        }
    }
    Some(matrix.iter().enumerate().map(|(row, values)| values[count] / values[row]).collect())
}

/// Returns the exact value of a finite double as a rational number.
fn rounded_up(value: f64) -> Rational {
    Rational::from_f64(value).unwrap_or(Rational::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(constant: i64, factors: &[(usize, &str)]) -> Affine {
        let factors =
            factors.iter().map(|(unknown, factor)| (*unknown, factor.parse().expect("a number")));
        Affine { constant: constant.into(), factors: factors.collect() }
    }

    #[test]
    fn a_fixed_point_is_proven_from_above() {
        // The fixed point of x = 1 + y / 2 and y = 2 + x / 4: x = 16/7, y = 18/7.
        let found = prove(&[line(1, &[(1, "0.5")]), line(2, &[(0, "0.25")])]).expect("bursts");
        for (found, exact) in found.iter().zip([Rational::ratio(16, 7), Rational::ratio(18, 7)]) {
            assert!(*found >= exact && found.to_f64() < exact.to_f64() * (1.0 + 1e-7), "{found}");
        }
    }

    #[test]
    fn what_grows_from_round_to_round_has_none() {
        assert_eq!(prove(&[line(1, &[(0, "1")])]), None);
        assert_eq!(prove(&[line(1, &[(0, "1.5")])]), None);
        assert_eq!(prove(&[line(1, &[(1, "2")]), line(1, &[(0, "0.6")])]), None);
        // Bursts of zero stay zero, up to the margin.
        let nothing = prove(&[line(0, &[(0, "0.9")])]).expect("a burst");
        assert!(nothing[0].to_f64() < 1e-7);
    }
}
