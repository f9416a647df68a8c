//! Least-squares fits of linear models whose coefficients cannot be negative, such as costs.

/// The largest number of steps per coefficient. It ends a fit in which rounding makes a coefficient
/// enter and leave the solution for ever.
const STEPS: usize = 10;

/// The smallest slope of the sum of squares, as a share of the largest slope that a column can
/// have, at which a coefficient becomes positive. At smaller slopes, it stays at zero.
const SLOPE: f64 = 1e-11;

/// Coefficients that are smaller than this share of the largest coefficient count as zero.
const ZERO: f64 = 1e-13;

/// Returns the coefficients, none of them negative, for which the sum of the squared differences
/// between `values` and the linear combinations of the rows is smallest. `damping` times the sum of
/// the squared coefficients is added to this sum, so that equal columns have equal coefficients,
/// and the solution is unique. A row that is shorter than the longest one is extended by zeros.
///
/// Coefficients become positive one after the other, the one with the steepest slope first, and
/// return to zero if the best solution for all of them would make them negative (C. L. Lawson, R.
/// J. Hanson, Solving Least Squares Problems, 1974, chapter 23). Equal columns are treated as one.
pub fn non_negative_fit(rows: &[Vec<f64>], values: &[f64], damping: f64) -> Vec<f64> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let columns: Vec<Vec<f64>> = (0..width)
        .map(|at| rows.iter().map(|row| row.get(at).copied().unwrap_or(0.0)).collect())
        .collect();
    let mut distinct: Vec<Column<'_>> = Vec::new();
    let mut number_of = Vec::with_capacity(width);
    for entries in &columns {
        let known = distinct.iter().position(|column| column.entries == *entries);
        let number = known.unwrap_or(distinct.len());
        match distinct.get_mut(number) {
            Some(column) => column.count += 1.0,
            None => distinct.push(Column { entries, count: 1.0 }),
        }
        number_of.push(number);
    }
    let solution = NormalEquations::new(&distinct, values, damping).solve();
    number_of.into_iter().map(|number| solution.get(number).copied().unwrap_or(0.0)).collect()
}

/// One or several equal columns of a linear model, which are treated as a single column.
struct Column<'c> {
    entries: &'c [f64],
    /// The number of equal columns.
    count: f64,
}

impl Column<'_> {
    /// Returns the inner product of the sum of the equal columns with other entries.
    fn product(&self, others: &[f64]) -> f64 {
        self.count * self.entries.iter().zip(others).map(|(one, other)| one * other).sum::<f64>()
    }
}

/// The normal equations of the fit, whose solution makes the sum of squares smallest.
struct NormalEquations {
    /// The inner products of the columns with each other, with the damping on the diagonal.
    products: Vec<Vec<f64>>,
    /// The inner products of the columns with the values.
    targets: Vec<f64>,
    /// The square root of the sum of the squared values.
    norm: f64,
}

impl NormalEquations {
    fn new(columns: &[Column<'_>], values: &[f64], damping: f64) -> Self {
        let row = |(number, one): (usize, &Column<'_>)| {
            let product = |(at, other): (usize, &Column<'_>)| {
                let damping = if at == number { one.count * damping } else { 0.0 };
                one.product(other.entries) * other.count + damping
            };
            columns.iter().enumerate().map(product).collect::<Vec<f64>>()
        };
        Self {
            products: columns.iter().enumerate().map(row).collect(),
            targets: columns.iter().map(|column| column.product(values)).collect(),
            norm: values.iter().map(|value| value * value).sum::<f64>().sqrt(),
        }
    }

    fn solve(&self) -> Vec<f64> {
        let count = self.targets.len();
        let mut solution = vec![0.0; count];
        // The indices of the coefficients that may be positive.
        let mut free: Vec<usize> = Vec::new();
        for _ in 0..STEPS * count {
            let Some(next) = self.steepest(&solution, &free) else { break };
            free.push(next);
            self.settle(&mut free, &mut solution);
        }
        solution
    }

    /// Returns the coefficient, of those at zero, whose increase makes the sum of squares fall most
    /// steeply. Returns `None` if no increase makes it fall.
    fn steepest(&self, solution: &[f64], free: &[usize]) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (at, (row, target)) in self.products.iter().zip(&self.targets).enumerate() {
            let length = row.get(at).copied().unwrap_or(0.0).sqrt();
            if free.contains(&at) || length <= 0.0 {
                continue;
            }
            let covered: f64 = row.iter().zip(solution).map(|(one, other)| one * other).sum();
            let slope = (target - covered) / length;
            if slope > SLOPE * self.norm && best.is_none_or(|(_, steepest)| slope > steepest) {
                best = Some((at, slope));
            }
        }
        best.map(|(at, _)| at)
    }

    /// Moves the free coefficients to their best values. Those that would become negative on the
    /// way return to zero, and are no longer free.
    fn settle(&self, free: &mut Vec<usize>, solution: &mut [f64]) {
        while let Some(best) = self.best(free) {
            let limits = free.iter().zip(&best).filter(|(_, best)| **best <= 0.0);
            let step =
                limits.map(|(at, best)| solution[*at] / (solution[*at] - best)).fold(1.0, f64::min);
            for (at, best) in free.iter().zip(&best) {
                solution[*at] += step * (best - solution[*at]);
            }
            if best.iter().all(|best| *best > 0.0) {
                return;
            }
            let largest = solution.iter().copied().fold(0.0, f64::max);
            let before = free.len();
            free.retain(|at| {
                let stays = solution[*at] > ZERO * largest;
                if !stays {
                    solution[*at] = 0.0;
                }
                stays
            });
            if free.len() == before {
                return;
            }
        }
        // The newest column is a combination of the others.
        free.pop();
    }

    /// Returns the values of the free coefficients that make the sum of squares smallest, whatever
    /// their sign, by Cholesky's decomposition. Returns `None` if there is no single solution.
    fn best(&self, free: &[usize]) -> Option<Vec<f64>> {
        let mut lower: Vec<Vec<f64>> = Vec::with_capacity(free.len());
        let mut forward: Vec<f64> = Vec::with_capacity(free.len());
        for at in free {
            let mut row: Vec<f64> = Vec::with_capacity(lower.len() + 1);
            for (other, above) in free.iter().zip(&lower) {
                let known: f64 = row.iter().zip(above).map(|(one, other)| one * other).sum();
                let diagonal = above.last().copied()?;
                row.push((self.products[*at][*other] - known) / diagonal);
            }
            let square = self.products[*at][*at] - row.iter().map(|one| one * one).sum::<f64>();
            if square.is_nan() || square <= 0.0 {
                return None;
            }
            let known: f64 = row.iter().zip(&forward).map(|(one, other)| one * other).sum();
            forward.push((self.targets[*at] - known) / square.sqrt());
            row.push(square.sqrt());
            lower.push(row);
        }
        let mut best = vec![0.0; free.len()];
        for at in (0..free.len()).rev() {
            let below = lower.iter().zip(&best).skip(at + 1);
            let known: f64 = below.map(|(row, value)| row[at] * value).sum();
            best[at] = (forward[at] - known) / lower[at][at];
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_costs_are_found() {
        // A constant of 100, costs of 20, 0 and 7, and a length of which each unit costs 3.
        let cost = |row: &[f64]| 100.0 + 3.0 * row[1] + 20.0 * row[2] + 7.0 * row[4];
        let rows: Vec<Vec<f64>> = (0..32_u32)
            .map(|number| {
                let bit = |at: u32| f64::from(number >> at & 1);
                vec![1.0, f64::from(number % 5), bit(0), bit(1), bit(2)]
            })
            .collect();
        let values: Vec<f64> = rows.iter().map(|row| cost(row)).collect();
        let found = non_negative_fit(&rows, &values, 1e-9);
        for (found, planted) in found.iter().zip([100.0, 3.0, 20.0, 0.0, 7.0]) {
            assert!((found - planted).abs() < 1e-3, "{found} instead of {planted}");
        }
    }

    #[test]
    fn coefficients_are_not_negative_and_equal_columns_share() {
        let rows = [vec![1.0, 1.0, 1.0], vec![1.0, 0.0, 0.0]];
        let found = non_negative_fit(&rows, &[10.0, 4.0], 1e-6);
        assert!((found[1] - 3.0).abs() < 1e-3 && (found[2] - 3.0).abs() < 1e-3, "{found:?}");
        // The second row costs more, although it lacks two columns.
        let found = non_negative_fit(&rows, &[4.0, 10.0], 1e-6);
        assert!(found.iter().all(|coefficient| *coefficient >= 0.0), "{found:?}");
        assert!(found[1] < 1e-6 && (found[0] - 7.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn a_coefficient_returns_to_zero_if_others_make_it_negative() {
        // The third column has the steepest slope at first, but the exact solution is 1.2, 2.2 and
        // -0.2. Without the third column, the best coefficients are 14/15 and 29/15.
        let rows = [vec![1.0, 0.0, 1.0], vec![0.0, 1.0, 1.0], vec![1.0, 1.0, 3.0]];
        let found = non_negative_fit(&rows, &[1.0, 2.0, 2.8], 1e-9);
        for (found, best) in found.iter().zip([14.0 / 15.0, 29.0 / 15.0, 0.0]) {
            assert!((found - best).abs() < 1e-6, "{found} instead of {best}");
        }
    }
}
