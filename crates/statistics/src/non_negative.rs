//! Linear models whose coefficients are not negative, such as costs.

/// The number of passes over all coefficients after which the fit ends.
const PASSES: usize = 10_000;

/// The change of a coefficient, as a share of the largest value, below which it has converged.
const PRECISION: f64 = 1e-9;

/// Returns the coefficients, none of them negative, for which the sum of the squared differences
/// between `values` and the linear combinations of the rows is smallest. `damping` times the sum of
/// the squared coefficients is added to this sum, so that columns that are equal share their
/// coefficient, and there is one solution. Rows shorter than the longest end in zeros.
///
/// The coefficients are improved one after the other (cyclic coordinate descent), which converges
/// because the problem is convex and its constraints concern single coefficients. Equal columns are
/// treated as one, since the descent would move their coefficients towards each other too slowly.
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
            None => distinct.push(Column { entries, count: 1.0, coefficient: 0.0 }),
        }
        number_of.push(number);
    }
    let mut rest = values.to_vec();
    let scale = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    for _ in 0..PASSES {
        let changes = distinct.iter_mut().map(|column| column.improve(&mut rest, damping));
        if changes.fold(0.0, f64::max) <= PRECISION * scale {
            break;
        }
    }
    let coefficient = |number: usize| distinct.get(number).map_or(0.0, |column| column.coefficient);
    number_of.into_iter().map(coefficient).collect()
}

/// Columns of a linear model that are equal.
struct Column<'c> {
    entries: &'c [f64],
    /// The number of these columns.
    count: f64,
    /// The coefficient of each.
    coefficient: f64,
}

impl Column<'_> {
    /// Chooses the best coefficient for what the other columns leave, and updates the rest that all
    /// columns leave. Returns by how much the coefficient has changed.
    fn improve(&mut self, rest: &mut [f64], damping: f64) -> f64 {
        let square = self.entries.iter().map(|entry| (self.count * entry).powi(2)).sum::<f64>();
        if square == 0.0 {
            return 0.0;
        }
        let products = self.entries.iter().zip(&*rest);
        let slope = products.map(|(entry, rest)| self.count * entry * rest).sum::<f64>();
        let better = (slope + square * self.coefficient) / (square + self.count * damping);
        let step = better.max(0.0) - self.coefficient;
        for (entry, rest) in self.entries.iter().zip(rest) {
            *rest -= self.count * entry * step;
        }
        self.coefficient += step;
        step.abs()
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
}
