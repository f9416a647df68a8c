//! Reduces the number of points in long lines.
//!
//! A line over one hour with a sample every 100 ms has 36,000 points on about 600 pixels. Each
//! stretch of points is replaced by its first, lowest, highest and last point. A reader looks for
//! the extremes of such a plot, and these remain, whereas averaging or taking every n-th point
//! would lose them.

use super::Point;

/// Returns at most about `most` of the points (but at least 8), through which the line looks the
/// same. Lines that are short enough are returned unchanged.
pub(super) fn thin(points: &[Point], most: usize) -> Vec<Point> {
    let most = most.max(8);
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(most / 4);
    let mut kept = Vec::with_capacity(most + 4);
    for chunk in points.chunks(stretch) {
        let mut chosen = [0, 0, 0, chunk.len() - 1];
        for (position, point) in chunk.iter().enumerate() {
            // Comparisons with NaN are false, so gaps are never an extreme, unless a stretch has no
            // number.
            if point.y < chunk[chosen[1]].y || chunk[chosen[1]].y.is_nan() {
                chosen[1] = position;
            }
            if point.y > chunk[chosen[2]].y || chunk[chosen[2]].y.is_nan() {
                chosen[2] = position;
            }
        }
        chosen.sort_unstable();
        let mut last = None;
        for position in chosen {
            if last != Some(position) {
                kept.push(chunk[position].clone());
                last = Some(position);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_stay_whole() {
        let points: Vec<_> = (0..100).map(|i| Point::new(f64::from(i), 1.0)).collect();
        assert_eq!(thin(&points, 100).len(), 100);
    }

    #[test]
    fn a_single_spike_in_a_long_line_survives() {
        let mut points: Vec<_> =
            (0..36_000).map(|i| Point::new(f64::from(i), f64::from(i % 7))).collect();
        points[17_321].y = 900.0;
        points[20_001].y = -5.0;
        let kept = thin(&points, 2_000);
        assert!(kept.len() <= 2_000, "{}", kept.len());
        assert!(kept.iter().any(|p| p.x == 17_321.0 && p.y == 900.0));
        assert!(kept.iter().any(|p| p.x == 20_001.0 && p.y == -5.0));
        assert_eq!((kept[0].x, kept[kept.len() - 1].x), (0.0, 35_999.0));
        assert!(kept.windows(2).all(|w| w[0].x < w[1].x), "left to right");
    }

    #[test]
    fn gaps_do_not_hide_values() {
        let mut points: Vec<_> = (0..1_000).map(|i| Point::new(f64::from(i), f64::NAN)).collect();
        points[500].y = 3.0;
        assert!(thin(&points, 100).iter().any(|p| p.y == 3.0));
    }
}
