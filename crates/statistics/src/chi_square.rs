//! Pearson's chi-square test: whether counts agree with the shares that are expected.

/// The result of a chi-square test of goodness of fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoodnessOfFit {
    /// The sum over all categories of the squared difference between the observed and the expected
    /// count, divided by the expected count.
    pub statistic: f64,
    /// The number of degrees of freedom: one less than the number of categories.
    pub freedom: u32,
    /// The probability that random counts with the expected shares differ from these shares at
    /// least as much as the observed counts do. It is an approximation, which is customary if each
    /// expected count is 5 or more.
    pub probability: f64,
}

/// Tests whether counts have shares in proportion to `weights` (K. Pearson, Philosophical Magazine
/// 50, 1900). Returns `None` if there are fewer than two categories or no counts, if the numbers of
/// counts and weights differ, or if a weight is not positive.
pub fn goodness_of_fit(counts: &[u64], weights: &[f64]) -> Option<GoodnessOfFit> {
    let all: u64 = counts.iter().sum();
    let sum: f64 = weights.iter().sum();
    let is_positive = weights.iter().all(|weight| *weight > 0.0 && weight.is_finite());
    if counts.len() < 2 || counts.len() != weights.len() || all == 0 || !is_positive {
        return None;
    }
    let terms = counts.iter().zip(weights).map(|(count, weight)| {
        let expected = all as f64 * weight / sum;
        (*count as f64 - expected).powi(2) / expected
    });
    let statistic: f64 = terms.sum();
    let freedom = u32::try_from(counts.len() - 1).ok()?;
    let probability = above(f64::from(freedom) / 2.0, statistic / 2.0);
    Some(GoodnessOfFit { statistic, freedom, probability })
}

/// Returns the normalized incomplete gamma function Q(a, x) (NIST Digital Library of Mathematical
/// Functions, 8.2.4).
fn above(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let factor = (a * x.ln() - x - libm::lgamma(a)).exp();
    // The series converges fast below the mean of the distribution, the fraction above it.
    if x < a + 1.0 { 1.0 - factor * series(a, x) } else { factor * fraction(a, x) }
}

/// Returns the sum of `x^n / (a (a + 1) ... (a + n))` over all `n` (DLMF 8.11.4).
fn series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    let mut next = a;
    while term > sum * f64::EPSILON {
        next += 1.0;
        term *= x / next;
        sum += term;
    }
    sum
}

/// Returns the continued fraction of DLMF 8.9.2, in the form whose denominators are
/// `x + 1 - a, x + 3 - a, x + 5 - a, ...`, evaluated by the modified algorithm of Lentz.
fn fraction(a: f64, x: f64) -> f64 {
    // A replacement for zero in divisors.
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut denominator = x + 1.0 - a;
    let mut above = 1.0 / TINY;
    let mut below = 1.0 / nonzero(denominator);
    let mut value = below;
    for step in 1u32.. {
        let n = f64::from(step);
        let numerator = -n * (n - a);
        denominator += 2.0;
        below = 1.0 / nonzero(denominator + numerator * below);
        above = nonzero(denominator + numerator / above);
        value *= above * below;
        let change = (above * below - 1.0).abs();
        // A NaN ends the loop, too.
        if change < 4.0 * f64::EPSILON || change.is_nan() {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_agree() {
        for x in [0.001, 0.5, 1.0, 1.99, 2.01, 5.0, 50.0, 600.0] {
            // With two degrees of freedom the distribution is exponential, and with one it is that
            // of the square of a normal variable.
            let close = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-10;
            assert!(close(above(1.0, x), (-x).exp()), "{x}: {}", above(1.0, x));
            assert!(close(above(0.5, x), libm::erfc(x.sqrt())), "{x}: {}", above(0.5, x));
            // DLMF 8.8.6: the recurrence relation of Q.
            let next = above(1.0, x) + x * (-x).exp();
            assert!(close(above(2.0, x), next), "{x}: {}", above(2.0, x));
        }
    }

    #[test]
    fn published_quantiles_have_their_probabilities() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4.
        for (freedom, quantile, probability) in [
            (1, 3.841, 0.05),
            (3, 7.815, 0.05),
            (5, 20.515, 0.001),
            (15, 24.996, 0.05),
            (99, 123.225, 0.05),
        ] {
            let found = above(f64::from(freedom) / 2.0, quantile / 2.0);
            assert!((found / probability - 1.0).abs() < 2e-3, "{freedom}: {found}");
        }
    }

    #[test]
    fn mendels_peas_fit_his_ratios() {
        // R. A. Fisher (Annals of Science 1, 1936): 315, 101, 108 and 32 peas against 9:3:3:1.
        let found = goodness_of_fit(&[315, 101, 108, 32], &[9.0, 3.0, 3.0, 1.0]).expect("counts");
        assert!((found.statistic - 0.470).abs() < 5e-4, "{found:?}");
        assert!((found.probability - 0.925).abs() < 5e-4, "{found:?}");
        assert_eq!(found.freedom, 3);
    }

    #[test]
    fn nothing_is_tested_without_counts_or_with_impossible_weights() {
        assert_eq!(goodness_of_fit(&[5], &[1.0]), None);
        assert_eq!(goodness_of_fit(&[0, 0], &[1.0, 1.0]), None);
        assert_eq!(goodness_of_fit(&[5, 5], &[1.0]), None);
        assert_eq!(goodness_of_fit(&[5, 5], &[1.0, 0.0]), None);
    }
}
