//! Locates the table size above which packets miss the cache (the knee), in measured times of
//! packets.
//!
//! Packets access entries uniformly at random, so a cache of C bytes answers the share C / n of the
//! accesses to a larger table of n bytes, whichever lines it replaces. The share of misses is
//! therefore 1 - C / n for sizes above C, and the time of a packet rises by that share of the
//! latency of memory.

/// The processing time of a packet with a table of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The logarithm of the size to base 2.
    pub(super) size: f64,
    /// The time of a packet, in any unit.
    pub(super) time: f64,
}

/// Returns the logarithm, to base 2, of the table size above which packets miss the cache. It
/// results from a least-squares fit of a model, in which the time of a packet is linear in the
/// logarithm of the size, plus the time that misses take. Sizes must ascend. Returns `None` if
/// there are fewer than five points, or if misses do not add to the time.
///
/// The result may lie between two points. It is searched for in steps of a fiftieth of the range
/// from the second point to the last but one.
pub(super) fn knee(points: &[Point]) -> Option<f64> {
    const STEPS: usize = 50;
    let [_, second, _, .., last_but_one, _] = points else { return None };
    let (from, to) = (second.size, last_but_one.size);
    let fits = (0..=STEPS).filter_map(|step| {
        let at = from + (to - from) * step as f64 / STEPS as f64;
        Some((at, fit(points, at)?))
    });
    let (at, best) = fits.min_by(|(_, one), (_, other)| one.squares.total_cmp(&other.squares))?;
    (best.added > 0.0).then_some(at)
}

/// The result of fitting a model to the times of packets, in which packets miss the cache above a
/// given table size.
struct Fit {
    /// The sum of the squared distances between the points and the model.
    squares: f64,
    /// The time that misses would add if all accesses missed.
    added: f64,
}

/// Fits `level + slope · x + added · max(1 - 2^-x, 0)`, where `x` is the distance of a size from
/// `at`. Returns `None` if the points do not determine the three parameters.
fn fit(points: &[Point], at: f64) -> Option<Fit> {
    let rows = points.iter().map(|Point { size, time }| {
        let distance = size - at;
        ([1.0, distance, (1.0 - (-distance).exp2()).max(0.0)], *time)
    });
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for (row, y) in rows.clone() {
        for (one, into) in row.iter().zip(&mut matrix) {
            into.iter_mut().zip(row).for_each(|(sum, other)| *sum += one * other);
        }
        right.iter_mut().zip(row).for_each(|(sum, one)| *sum += one * y);
    }
    let whole = determinant(matrix);
    if whole.abs() < f64::EPSILON {
        return None;
    }
    // Cramer's rule.
    let parameter = |column: usize| {
        let mut replaced = matrix;
        replaced.iter_mut().zip(right).for_each(|(row, value)| row[column] = value);
        determinant(replaced) / whole
    };
    let found = [parameter(0), parameter(1), parameter(2)];
    let distance = |(row, y): ([f64; 3], f64)| {
        let fitted: f64 = row.iter().zip(found).map(|(one, parameter)| one * parameter).sum();
        (y - fitted).powi(2)
    };
    Some(Fit { squares: rows.map(distance).sum(), added: found[2] })
}

fn determinant([a, b, c]: [[f64; 3]; 3]) -> f64 {
    a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times of packets for tables of 2^15 to 2^19 entries, with a cache of 2^`cache`
    /// entries and times that vary by up to twice `noise`.
    fn times(cache: f64, noise: f64) -> Vec<Point> {
        let time = |step: usize| {
            let size = 15.0 + step as f64 / 3.0;
            let missing = (1.0 - (cache - size).exp2()).max(0.0);
            let factor = 1.0 + noise * (((step * 7) % 5) as f64 - 2.0);
            Point { size, time: (100.0 + size + 60.0 * missing) * factor }
        };
        (0..13).map(time).collect()
    }

    #[test]
    fn the_size_of_the_cache_is_found() {
        for cache in [16.2, 16.7, 17.1, 17.5] {
            for noise in [0.0, 0.005, 0.01] {
                let found = knee(&times(cache, noise)).expect("a knee");
                assert!((found - cache).abs() < 0.1, "{found} for {cache} with {noise}");
            }
        }
    }

    #[test]
    fn times_that_no_misses_explain_have_no_knee() {
        let of = |times: &[f64]| -> Vec<Point> {
            let sizes = (0..).map(f64::from);
            sizes.zip(times).map(|(size, time)| Point { size, time: *time }).collect()
        };
        assert_eq!(knee(&of(&[0.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0])), None, "it flattens");
        assert_eq!(knee(&of(&[0.0, 0.0, 1.0, 2.0])), None, "too few points");
        assert_eq!(knee(&[]), None);
    }
}
