//! Linear programs with proven bounds on their optimum.
//!
//! A program is `maximise c x` with `x >= 0` and rows `a x <= b`. A solver in floating point
//! computes multipliers `y >= 0` of the rows. Everything else is exact. By weak duality
//!
//! ```text
//! c x <= y b + sum over j of r_j x_j,   r = c - y A,
//! ```
//!
//! for *any* `y >= 0` and all `x` that satisfy the rows. A column with `r_j <= 0` only lowers the
//! bound. Where rounding in the solver leaves a positive `r_j`, an upper bound of `x_j` that is
//! known beforehand is used. Rounding may therefore make the bound slightly larger, but never
//! invalid. Before rounded multipliers are used, an exact solution is tried: the multipliers that
//! solve the equations that hold at the solver's vertex. If there is one, all `r_j <= 0` and the
//! bound is the optimum itself.
//!
//! The solver is given the dual program, because it returns the values of variables and no
//! multipliers, and because the dual is feasible for the simplex method from the start, since
//! limits are not negative here.

use std::collections::BTreeMap;
#[cfg(feature = "programs")]
use std::time::Duration;

#[cfg(feature = "programs")]
use microlp::{ComparisonOp, OptimizationDirection, Problem};

use crate::{Interrupt, Rational};

/// The number of binary digits after the point to which multipliers are rounded.
const FRACTION_BITS: i32 = 46;
/// The largest number of multipliers up to which the optimum is computed exactly. The cost of exact
/// elimination grows fast with this number.
const MAX_RECOVERED: usize = 260;
/// The number of bits of a number above which the exact computation of the optimum is abandoned.
const MAX_BITS: u64 = 6_000;
/// The time after which the floating-point solver pauses, so that the interrupt can be checked.
#[cfg(feature = "programs")]
const SOLVER_SLICE: Duration = Duration::from_millis(50);
/// The absolute value below which a floating-point number counts as zero.
const NEGLIGIBLE: f64 = 1e-9;

/// A row `terms <= limit` of a program. The limit is not negative.
#[derive(Clone, Debug)]
struct Row {
    terms: Vec<(usize, Rational)>,
    limit: Rational,
    /// The unknowns of a fixed point that are added to the limit, each with its factor.
    unknowns: Vec<(usize, Rational)>,
}

/// A linear program: maximise a sum of non-negative variables that obey the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// The upper bound of each variable, or `None` if none is known.
    most: Vec<Option<Rational>>,
    rows: Vec<Row>,
    /// The interrupt of the solver. Once it is set, no bound is found.
    stop: Interrupt,
}

/// A sum of variables with factors, each as the variable's index and its factor.
pub(super) type Terms = Vec<(usize, Rational)>;

/// A proven bound on the optimum of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) value: Rational,
    /// Whether the value is the optimum of the program itself, rather than slightly above it.
    pub(super) optimal: bool,
}

/// A proven bound on the optimum of a program for all values of its unknowns: a constant, plus each
/// unknown times its factor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Affine {
    pub(super) constant: Rational,
    pub(super) factors: BTreeMap<usize, Rational>,
}

impl Program {
    /// Creates a program without variables and rows. Once the interrupt is set, it finds no bounds.
    pub(super) fn stopped_by(stop: Interrupt) -> Self {
        Self { stop, ..Self::default() }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Adds a variable that is not negative and, if `most` is given, at most `most`. Returns its
    /// index.
    pub(super) fn variable(&mut self, most: Option<Rational>) -> usize {
        self.most.push(most);
        self.most.len() - 1
    }

    pub(super) fn variables(&self) -> usize {
        self.most.len()
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row `terms <= limit`. Several terms of one variable add up, and a term without a
    /// variable is zero.
    pub(super) fn row(
        &mut self,
        terms: impl IntoIterator<Item = (Option<usize>, Rational)>,
        limit: Rational,
    ) {
        self.row_with(terms, limit, Vec::new());
    }

    /// Adds a row whose limit includes unknowns of a fixed point (such as bursts), each with its
    /// factor. Unknowns are not negative.
    pub(super) fn row_with(
        &mut self,
        terms: impl IntoIterator<Item = (Option<usize>, Rational)>,
        limit: Rational,
        unknowns: Vec<(usize, Rational)>,
    ) {
        let mut sum = BTreeMap::<usize, Rational>::new();
        for (variable, factor) in terms {
            if let Some(variable) = variable {
                *sum.entry(variable).or_default() += &factor;
            }
        }
        let terms: Vec<_> = sum.into_iter().filter(|(_, factor)| !factor.is_zero()).collect();
        // A row without positive terms always holds, because variables are not negative.
        if terms.iter().any(|(_, factor)| factor.is_positive()) {
            self.rows.push(Row { terms, limit, unknowns });
        }
    }

    /// Returns a bound on the largest value that the sum `objective` takes, or `None` if none was
    /// found.
    pub(super) fn maximum(&self, objective: &Terms) -> Option<Bound> {
        let known = self.known(objective).map(|value| Bound { value, optimal: false });
        let Some(multipliers) = self.solve(objective, &[]) else { return known };
        if let Some(exact) = self.recover(objective, &multipliers) {
            return Some(Bound { value: exact, optimal: true });
        }
        let rounded: Vec<Rational> = multipliers.iter().map(|y| rounded(*y)).collect();
        let found = self.certify(objective, &rounded).map(|affine| affine.constant);
        let found = found.map(|value| Bound { value, optimal: false });
        [found, known].into_iter().flatten().min_by(|a, b| a.value.cmp(&b.value))
    }

    /// Returns a bound on the largest value that the sum `objective` takes, as a function of the
    /// unknowns. It is tight near the given values of the unknowns. Returns `None` if no bound was
    /// found.
    pub(super) fn maximum_near(&self, objective: &Terms, unknowns: &[f64]) -> Option<Affine> {
        let multipliers = self.solve(objective, unknowns)?;
        let mut rounded: Vec<Rational> = multipliers.iter().map(|y| rounded(*y)).collect();
        if let Some(found) = self.certify(objective, &rounded) {
            return Some(found);
        }
        // Where variables have no known upper bound, a combination of rows that bounds all
        // variables outweighs the positive coefficients that remain.
        let excess = self.excess(objective, &rounded);
        let left = excess.into_iter().zip(&self.most).filter(|(_, most)| most.is_none());
        let left = left.map(|(excess, _)| excess).max()? * Rational::from(2);
        let all: Terms = (0..self.most.len()).map(|variable| (variable, Rational::ONE)).collect();
        let outweighing = self.solve(&all, unknowns)?;
        for (multiplier, extra) in rounded.iter_mut().zip(outweighing) {
            *multiplier += &(self::rounded(extra) * &left);
        }
        self.certify(objective, &rounded)
    }

    /// Returns the bound on `objective` that follows from the upper bounds of the variables alone,
    /// or `None` if one of these is not known.
    fn known(&self, objective: &Terms) -> Option<Rational> {
        let mut sum = Rational::ZERO;
        for (variable, factor) in objective {
            sum += &(factor * self.most.get(*variable)?.as_ref()?);
        }
        Some(sum)
    }

    #[cfg(not(feature = "programs"))]
    fn solve(&self, _: &Terms, _: &[f64]) -> Option<Vec<f64>> {
        None
    }

    /// Returns multipliers of the rows that a floating-point solver computes, or `None` if it
    /// fails.
    #[cfg(feature = "programs")]
    fn solve(&self, objective: &Terms, unknowns: &[f64]) -> Option<Vec<f64>> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let mut columns = vec![Vec::new(); self.most.len()];
        let mut multipliers = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let mut limit = row.limit.to_f64();
            for (unknown, factor) in &row.unknowns {
                limit += factor.to_f64() * unknowns.get(*unknown)?;
            }
            let multiplier = problem.add_var(limit, (0.0, f64::INFINITY));
            multipliers.push(multiplier);
            for (variable, factor) in &row.terms {
                columns.get_mut(*variable)?.push((multiplier, factor.to_f64()));
            }
        }
        let mut least = vec![0.0; self.most.len()];
        for (variable, factor) in objective {
            *least.get_mut(*variable)? = factor.to_f64();
        }
        for (column, least) in columns.iter().zip(least) {
            if least <= 0.0 && column.iter().all(|(_, factor)| *factor >= 0.0) {
                continue;
            }
            problem.add_constraint(column.as_slice(), ComparisonOp::Ge, least);
        }
        if self.stop.may_be_set() {
            problem.set_time_limit(SOLVER_SLICE);
        }
        let mut outcome = problem.solve().ok()?;
        while !outcome.is_optimal() {
            if self.is_stopped() {
                return None;
            }
            outcome = outcome.resume().ok()?;
        }
        let solution = outcome.into_solution().ok()?;
        let value = |variable| solution.var_value(variable);
        let found: Vec<f64> = multipliers.into_iter().map(value).collect();
        found.iter().all(|value| value.is_finite()).then_some(found)
    }

    /// Returns the bound on `objective` that the multipliers of the rows prove, or `None` if they
    /// prove none.
    fn certify(&self, objective: &Terms, multipliers: &[Rational]) -> Option<Affine> {
        let (mut constant, mut factors) = (Rational::ZERO, BTreeMap::<usize, Rational>::new());
        for (variable, excess) in self.excess(objective, multipliers).iter().enumerate() {
            if excess.is_positive() {
                constant += excess * self.most.get(variable)?.as_ref()?;
            }
        }
        for (row, multiplier) in self.rows.iter().zip(multipliers) {
            if multiplier.is_zero() {
                continue;
            }
            constant += multiplier * &row.limit;
            for (unknown, factor) in &row.unknowns {
                *factors.entry(*unknown).or_default() += &(multiplier * factor);
            }
        }
        Some(Affine { constant, factors })
    }

    /// Returns the coefficients of the objective minus the sum of the rows weighted by their
    /// multipliers.
    fn excess(&self, objective: &Terms, multipliers: &[Rational]) -> Vec<Rational> {
        let mut excess = vec![Rational::ZERO; self.most.len()];
        for (variable, factor) in objective {
            if let Some(excess) = excess.get_mut(*variable) {
                *excess += factor;
            }
        }
        for (row, multiplier) in self.rows.iter().zip(multipliers) {
            if multiplier.is_zero() {
                continue;
            }
            for (variable, factor) in &row.terms {
                if let Some(excess) = excess.get_mut(*variable) {
                    *excess -= &(multiplier * factor);
                }
            }
        }
        excess
    }

    /// Returns the exact optimum of `objective`, or `None` unless the vertex near the given
    /// multipliers can be computed exactly and is optimal.
    fn recover(&self, objective: &Terms, near: &[f64]) -> Option<Rational> {
        let support: Vec<usize> = (0..near.len()).filter(|i| near[*i] > NEGLIGIBLE).collect();
        if support.len() > MAX_RECOVERED {
            return None;
        }
        // The columns whose constraints hold with equality at the vertex.
        let mut sums = vec![0.0; self.most.len()];
        let mut columns = vec![BTreeMap::new(); self.most.len()];
        for (unknown, row) in support.iter().enumerate() {
            for (variable, factor) in &self.rows.get(*row)?.terms {
                *sums.get_mut(*variable)? += near.get(*row)? * factor.to_f64();
                columns.get_mut(*variable)?.insert(unknown, factor.clone());
            }
        }
        let mut aims = vec![Rational::ZERO; self.most.len()];
        for (variable, factor) in objective {
            *aims.get_mut(*variable)? += factor;
        }
        let mut equations = Vec::new();
        for ((variable, column), aim) in columns.into_iter().enumerate().zip(aims) {
            if !column.is_empty() && (sums.get(variable)? - aim.to_f64()).abs() < NEGLIGIBLE {
                equations.push((column, aim));
            }
        }
        let values = eliminate(equations, support.len(), || self.is_stopped())?;
        if values.iter().any(Rational::is_negative) {
            return None;
        }
        let mut multipliers = vec![Rational::ZERO; self.rows.len()];
        for (row, value) in support.into_iter().zip(values) {
            *multipliers.get_mut(row)? = value;
        }
        let exact = self.excess(objective, &multipliers).iter().all(|excess| !excess.is_positive());
        exact.then(|| self.certify(objective, &multipliers)).flatten().map(|found| found.constant)
    }
}

/// Returns a multiplier rounded to a non-negative number with few digits.
fn rounded(value: f64) -> Rational {
    if value <= NEGLIGIBLE * NEGLIGIBLE {
        return Rational::ZERO;
    }
    let steps = 2_f64.powi(FRACTION_BITS);
    Rational::from_f64((value * steps).round() / steps).unwrap_or(Rational::ZERO)
}

/// Returns the exact solution of sparse linear equations. Returns `None` if it is not unique, if
/// its numbers become too long, or if the work is stopped.
fn eliminate(
    mut equations: Vec<(BTreeMap<usize, Rational>, Rational)>,
    unknowns: usize,
    is_stopped: impl Fn() -> bool,
) -> Option<Vec<Rational>> {
    let mut solved: Vec<(usize, BTreeMap<usize, Rational>, Rational)> = Vec::new();
    while solved.len() < unknowns {
        if is_stopped() {
            return None;
        }
        // The shortest equation causes the least fill-in.
        let next = (0..equations.len())
            .filter(|i| !equations[*i].0.is_empty())
            .min_by_key(|i| equations[*i].0.len())?;
        let (mut terms, mut aim) = equations.swap_remove(next);
        // The pivot is the unknown that occurs in the fewest other equations.
        let count =
            |unknown: &usize| equations.iter().filter(|e| e.0.contains_key(unknown)).count();
        let pivot = *terms.keys().min_by_key(|unknown| count(unknown))?;
        let factor = terms.remove(&pivot)?;
        for value in terms.values_mut() {
            *value = value.checked_div(&factor)?;
        }
        aim = aim.checked_div(&factor)?;
        if aim.bits() > MAX_BITS || terms.values().any(|value| value.bits() > MAX_BITS) {
            return None;
        }
        for (others, other_aim) in &mut equations {
            let Some(factor) = others.remove(&pivot) else { continue };
            // Numbers may be long, so that one equation takes a millisecond.
            if is_stopped() {
                return None;
            }
            for (unknown, value) in &terms {
                let entry = others.entry(*unknown).or_default();
                *entry -= &(&factor * value);
                if entry.is_zero() {
                    others.remove(unknown);
                }
            }
            *other_aim -= &(&factor * &aim);
        }
        solved.push((pivot, terms, aim));
    }
    let mut values = vec![Rational::ZERO; unknowns];
    for (unknown, terms, aim) in solved.into_iter().rev() {
        let mut value = aim;
        for (other, factor) in &terms {
            value -= &(factor * values.get(*other)?);
        }
        *values.get_mut(unknown)? = value;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn row(program: &mut Program, terms: &[(usize, i64)], limit: i64) {
        let terms = terms.iter().map(|(variable, factor)| (Some(*variable), (*factor).into()));
        program.row(terms, limit.into());
    }

    /// Returns the program: maximise x with 3 x + y <= 4, x - 7 y <= 0.
    fn example(most: Option<Rational>) -> Program {
        let mut program = Program::default();
        let (x, y) = (program.variable(most.clone()), program.variable(most));
        row(&mut program, &[(x, 3), (y, 1)], 4);
        row(&mut program, &[(x, 1), (y, -7)], 0);
        program
    }

    fn only(variable: usize) -> Terms {
        vec![(variable, Rational::ONE)]
    }

    #[test]
    fn an_optimum_is_exact() {
        let found = example(None).maximum(&only(0)).expect("a bound");
        assert_eq!(found, Bound { value: Rational::ratio(14, 11), optimal: true });
    }

    #[test]
    fn any_multipliers_prove_a_bound() {
        let program = example(Some(Rational::from(100)));
        let optimum = Rational::ratio(14, 11);
        for (a, b) in [(7, 1), (8, 1), (6, 1), (0, 0), (7, 9), (1, 100)] {
            let multipliers = [Rational::ratio(a, 22), Rational::ratio(b, 22)];
            let proven = program.certify(&only(0), &multipliers).expect("a bound").constant;
            assert!(proven >= optimum, "{a} {b}: {proven}");
        }
        // Variables without a known upper bound need multipliers without an error.
        let wrong = [Rational::ratio(6, 22), Rational::ratio(1, 22)];
        assert_eq!(example(None).certify(&only(0), &wrong), None);
    }

    #[test]
    fn a_bound_holds_for_all_unknowns() {
        // Maximise x with x <= 2 + u and 2 x <= 5 + v: the optimum is the smaller limit.
        let mut program = Program::default();
        let x = program.variable(None);
        program.row_with([(Some(x), 1.into())], 2.into(), vec![(0, 1.into())]);
        program.row_with([(Some(x), 2.into())], 5.into(), vec![(1, 1.into())]);
        let at = |affine: &Affine, unknowns: [i64; 2]| {
            let terms = affine.factors.iter().map(|(u, factor)| factor * &unknowns[*u].into());
            &affine.constant + terms.sum::<Rational>()
        };
        for near in [[0, 0], [9, 0], [0, 9], [3, 5]] {
            let found = program.maximum_near(&only(x), &near.map(|u| u as f64)).expect("a bound");
            for other in [[0, 0], [1, 0], [0, 1], [7, 3], [9, 0], [0, 9], [3, 5]] {
                let optimum = Rational::from(2 + other[0]).min(Rational::ratio(5 + other[1], 2));
                let bound = at(&found, other);
                assert!(bound >= optimum, "{bound} < {optimum}");
                if other == near {
                    assert!(bound.to_f64() <= optimum.to_f64() + 1e-9, "{bound} {optimum}");
                }
            }
        }
    }

    #[test]
    fn without_rows_what_is_known_counts() {
        let mut program = Program::default();
        let x = program.variable(Some(Rational::from(5)));
        assert_eq!(program.maximum(&only(x)), Some(Bound { value: 5.into(), optimal: false }));
        let y = program.variable(None);
        assert_eq!(program.maximum(&only(y)), None);
    }

    #[test]
    fn equations_without_one_solution_are_refused() {
        let equation = |terms: &[(usize, i64)], aim: i64| {
            let terms = terms.iter().map(|(unknown, factor)| (*unknown, Rational::from(*factor)));
            (terms.collect::<BTreeMap<_, _>>(), Rational::from(aim))
        };
        let same = vec![equation(&[(0, 1), (1, 2)], 3), equation(&[(0, 2), (1, 4)], 6)];
        assert_eq!(eliminate(same, 2, || false), None);
        let two = vec![equation(&[(0, 1), (1, 2)], 3), equation(&[(0, 2), (1, -4)], 6)];
        assert_eq!(eliminate(two, 2, || false), Some(vec![3.into(), Rational::ZERO]));
    }

    #[test]
    fn an_interrupted_search_finds_nothing() {
        let stop = Arc::new(AtomicBool::new(false));
        let mut program = Program::stopped_by(Arc::clone(&stop).into());
        let x = program.variable(None);
        row(&mut program, &[(x, 2)], 3);
        let optimum = program.maximum(&only(x)).expect("a bound");
        assert_eq!((optimum.value, optimum.optimal), (Rational::ratio(3, 2), true));
        stop.store(true, Ordering::Relaxed);
        let exact = program.maximum(&only(x)).is_some_and(|bound| bound.optimal);
        assert!(!exact, "the corner is not sought any more");
        let equations = vec![(BTreeMap::from([(0, Rational::ONE)]), Rational::ONE)];
        assert_eq!(eliminate(equations, 1, || true), None);
    }
}
