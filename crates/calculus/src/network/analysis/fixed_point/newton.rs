//! Newton's method for fixed points of delays, where iteration converges too slowly.
//!
//! F is concave and non-decreasing, and for concave arrival curves and convex service curves it is
//! piecewise affine. From delays x, the next delays y solve y = F(x) + J (y - x), where J has the
//! slopes of F at x. Since tangents of a concave function lie above it, y is above F(y). From there
//! on the solutions decrease. They reach the fixed point in the step that starts on the affine
//! piece of F on which the fixed point lies. Slopes and solutions are computed in floating point,
//! but no bound depends on that: the result y is raised a little and accepted only if y >= F(y) in
//! exact arithmetic.

use super::{AnalysisError, Class, Common, Delays, Priority, ServerId};
use crate::{Extended, Rational};

/// The largest number of delays for which Newton's method is used. The slopes take one evaluation
/// of F for each delay, and the time to solve the equations is cubic in this number.
const MAX_DELAYS: usize = 128;
/// The largest number of steps of Newton's method.
const MAX_STEPS: usize = 24;
/// The relative difference below which the delays of two steps count as equal.
const TOLERANCE: f64 = 1e-12;
/// The inverses of the relative amounts by which solutions are raised before they are checked. They
/// are tried in this order until a check succeeds.
const RAISES: [i64; 4] = [1 << 40, 1 << 34, 1 << 28, 1 << 22];

type Key = (ServerId, Option<Priority>);

/// Searches the fixed point of F by Newton's method. Returns delays that are slightly above it, so
/// that F of these delays is at most these delays, or `None` if none were found. The slopes of F
/// are difference quotients over `step`.
pub(super) fn fixed_point(
    delays: &Delays,
    common: &Common<'_>,
    servers: &[ServerId],
    step: &Rational,
) -> Result<Option<Delays>, AnalysisError> {
    let function = Function { delays, common, servers };
    let mut keys: Vec<Key> = delays.classes.keys().copied().collect();
    keys.sort();
    let start: Option<Vec<Rational>> =
        keys.iter().map(|key| delays.classes.get(key)?.delay.finite().cloned()).collect();
    let Some(mut at) = start.filter(|start| start.len() <= MAX_DELAYS) else { return Ok(None) };
    let mut solved = false;
    for _ in 0..MAX_STEPS {
        let Some(next) = function.tangent(&keys, &at, step)? else { break };
        let close = next.iter().zip(&at).all(|(next, at)| {
            let (next, at) = (next.to_f64(), at.to_f64());
            (next - at).abs() <= TOLERANCE * next
        });
        at = next;
        solved = true;
        if close {
            break;
        }
    }
    if !solved {
        return Ok(None);
    }
    for parts in RAISES {
        let raise = Rational::ONE + Rational::ratio(1, parts);
        let raised: Vec<Rational> = at.iter().map(|delay| delay * &raise).collect();
        let Some(found) = function.at(&keys, &raised)? else { continue };
        let above = |(class, most): (&Class, &Rational)| class.delay <= Extended::from(most);
        if found.iter().zip(&raised).all(above) {
            let held = found
                .into_iter()
                .zip(raised)
                .map(|(class, delay)| Class { delay: Extended::Finite(delay), ..class });
            return Ok(Some(Delays { classes: keys.into_iter().zip(held).collect() }));
        }
    }
    Ok(None)
}

/// The function F, which maps the delays of servers to the delays that follow from them.
struct Function<'a, 'c, 'n> {
    delays: &'a Delays,
    common: &'c Common<'n>,
    servers: &'a [ServerId],
}

impl Function<'_, '_, '_> {
    /// Returns the delays that follow from some delays: one for each server and priority, with its
    /// arrival and service curve. Returns `None` if the set of servers and priorities changes.
    fn at(&self, keys: &[Key], delays: &[Rational]) -> Result<Option<Vec<Class>>, AnalysisError> {
        let mut given = Delays { classes: self.delays.classes.clone() };
        for (key, delay) in keys.iter().zip(delays) {
            if let Some(class) = given.classes.get_mut(key) {
                class.delay = Extended::Finite(delay.clone());
            }
        }
        let mut found = Vec::with_capacity(keys.len());
        for server in self.servers {
            for (class, result) in given.server(self.common, *server, true)? {
                found.push(((*server, class), result));
            }
        }
        found.sort_by_key(|(key, _)| *key);
        let same = found.iter().map(|(key, _)| key).eq(keys);
        Ok(same.then(|| found.into_iter().map(|(_, class)| class).collect()))
    }

    fn values(
        &self,
        keys: &[Key],
        at: &[Rational],
    ) -> Result<Option<Vec<Rational>>, AnalysisError> {
        let Some(classes) = self.at(keys, at)? else { return Ok(None) };
        Ok(classes.into_iter().map(|class| class.delay.into_finite()).collect())
    }

    /// Returns the delays of the next step of Newton's method: the point at which the tangent at
    /// the delays `at` meets the identity. Returns `None` if there is no such point, one of its
    /// delays is not positive, or F is infinite nearby.
    fn tangent(
        &self,
        keys: &[Key],
        at: &[Rational],
        step: &Rational,
    ) -> Result<Option<Vec<Rational>>, AnalysisError> {
        let Some(values) = self.values(keys, at)? else { return Ok(None) };
        // Each row has the equation (I - J) (y - x) = F(x) - x, with the right side as the last
        // column.
        let excess = |(value, at): (&Rational, &Rational)| (value - at).to_f64();
        let mut rows: Vec<Vec<f64>> = values
            .iter()
            .zip(at)
            .map(|pair| vec![0.0; at.len()].into_iter().chain([excess(pair)]).collect())
            .collect();
        for column in 0..at.len() {
            let mut moved = at.to_vec();
            moved[column] += step;
            let Some(beside) = self.values(keys, &moved)? else { return Ok(None) };
            for (row, (beside, value)) in rows.iter_mut().zip(beside.iter().zip(&values)) {
                row[column] = -((beside - value) / step).to_f64();
            }
            rows[column][column] += 1.0;
        }
        let Some(change) = solve(rows) else { return Ok(None) };
        let next = at.iter().zip(change).map(|(at, change)| {
            let next = at + &Rational::from_f64(change)?;
            next.is_positive().then_some(next)
        });
        Ok(next.collect())
    }
}

/// Returns the solution of linear equations, given as rows whose last column is the right side.
/// Returns `None` if there is no unique solution.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let largest =
            |a: &usize, b: &usize| rows[*a][column].abs().total_cmp(&rows[*b][column].abs());
        let pivot = (column..size).max_by(largest)?;
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        if pivot[column] == 0.0 || !pivot[column].is_finite() {
            return None;
        }
        for row in below {
            let factor = row[column] / pivot[column];
            for (value, above) in row.iter_mut().zip(pivot).skip(column) {
                *value -= factor * above;
            }
        }
    }
    let mut solution = vec![0.0; size];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|place| rows[row][place] * solution[place]).sum();
        solution[row] = (rows[row][size] - known) / rows[row][row];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}
