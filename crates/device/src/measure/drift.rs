//! Tests for a trend and computes the variation of a figure over the repetitions of a campaign.

/// A trend of a figure over the repetitions of a campaign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The probability of a trend of at least this strength if the figure does not drift (two-sided
    /// Mann-Kendall test, normal approximation with continuity correction).
    pub p_value: f64,
    /// The change of the figure from the first repetition to the last, as a share of its median,
    /// computed from the Theil-Sen slope.
    pub change: f64,
}

/// Returns the trend of a figure that should not change between repetitions. Returns `None` for
/// fewer than eight repetitions, for which the approximation does not hold, and for a median of
/// zero.
///
/// H. B. Mann, "Nonparametric Tests Against Trend", Econometrica 13 (1945); P. K. Sen, "Estimates
/// of the Regression Coefficient Based on Kendall's Tau", JASA 63 (1968).
#[must_use]
pub fn trend(figures: &[f64]) -> Option<Trend> {
    let count = figures.len();
    if count < 8 {
        return None;
    }
    let mut slopes = Vec::new();
    let mut score = 0_i64;
    for (first, before) in figures.iter().enumerate() {
        for (later, after) in figures.iter().enumerate().skip(first + 1) {
            score += match after.total_cmp(before) {
                std::cmp::Ordering::Less => -1,
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => 1,
            };
            slopes.push((after - before) / (later - first) as f64);
        }
    }
    let pairs = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| pairs(tied.len() as f64)).sum();
    let variance = (pairs(count as f64) - ties) / 18.0;
    let corrected = (score - score.signum()) as f64;
    let p_value = if variance > 0.0 {
        libm::erfc((corrected / variance.sqrt()).abs() / std::f64::consts::SQRT_2)
    } else {
        1.0
    };
    let middle = median(&mut sorted)?;
    if middle == 0.0 {
        return None;
    }
    let change = median(&mut slopes)? * (count - 1) as f64 / middle;
    Some(Trend { p_value, change })
}

/// Returns how much a figure varies between repetitions: half its interquartile range, divided by
/// the median. Returns `None` for fewer than four repetitions and for a median of zero.
#[must_use]
pub fn variation(figures: &[f64]) -> Option<f64> {
    if figures.len() < 4 {
        return None;
    }
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted.get(((sorted.len() - 1) as f64 * share).round() as usize).copied();
    let half = (at(0.75)? - at(0.25)?) / 2.0;
    let middle = at(0.5)?;
    (middle != 0.0).then(|| half / middle)
}

/// Sorts the figures and returns their median. For an even number of figures, the median is the
/// mean of the middle two.
pub(super) fn median(figures: &mut [f64]) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let upper = *figures.get(figures.len() / 2)?;
    if figures.len() % 2 == 1 {
        return Some(upper);
    }
    Some((upper + figures.get(figures.len() / 2 - 1)?) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn a_drift_of_five_per_cent_under_noise_of_one_is_seen() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let drifting: Vec<f64> = (0..12)
            .map(|time| 100.0 + 5.0 * f64::from(time) / 11.0 + random.random_range(-1.0..1.0))
            .collect();
        let trend = trend(&drifting).expect("enough repetitions");
        assert!(trend.p_value < 0.01, "{trend:?}");
        assert!((trend.change - 0.05).abs() < 0.02, "{trend:?}");
    }

    #[test]
    fn noise_alone_is_seldom_taken_for_a_drift() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let alarms = (0..1000)
            .filter(|_| {
                let noise: Vec<f64> = (0..12).map(|_| random.random_range(99.0..101.0)).collect();
                trend(&noise).is_some_and(|trend| trend.p_value < 0.01)
            })
            .count();
        // The limit is 1 % of 1000, plus three standard deviations.
        assert!(alarms <= 20, "{alarms} of 1000");
    }

    #[test]
    fn figures_that_do_not_differ_have_no_trend() {
        let same = trend(&[7.0; 10]).expect("enough repetitions");
        assert_eq!((same.p_value, same.change), (1.0, 0.0));
        assert_eq!(trend(&[1.0; 7]), None);
        assert_eq!(variation(&[1.0, 1.0, 1.0, 1.0]), Some(0.0));
        assert_eq!(variation(&[8.0, 9.0, 10.0, 11.0, 12.0]), Some(0.1));
    }
}
