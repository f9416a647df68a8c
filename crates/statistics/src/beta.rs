//! The beta distribution, on which Student's t, the binomial distribution and order statistics are
//! based.

/// Returns the probability that a beta variable with shapes `a` and `b` is at most `x`: the
/// regularized incomplete beta function (NIST Digital Library of Mathematical Functions, 8.17.2).
pub(crate) fn probability(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // The continued fraction converges below the mean of the distribution. Larger values are
    // reflected by DLMF 8.17.4.
    if x > (a + 1.0) / (a + b + 2.0) { 1.0 - below(1.0 - x, b, a) } else { below(x, a, b) }
}

/// Returns [`probability`] for an `x` below the mean or slightly above it: a factor divided by the
/// continued fraction of DLMF 8.17.22.
fn below(x: f64, a: f64, b: f64) -> f64 {
    let logarithm = a * x.ln() + b * libm::log1p(-x) - a.ln() - logarithm_of_beta(a, b);
    logarithm.exp() / fraction(x, a, b)
}

/// Returns the natural logarithm of the beta function (DLMF 5.12.1).
fn logarithm_of_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

/// Returns the continued fraction `1 + d1 / (1 + d2 / (1 + ...))` with the coefficients of DLMF
/// 8.17.23.
///
/// It is evaluated from the front by the modified algorithm of Lentz (W. J. Lentz, Applied Optics
/// 15, 1976; I. J. Thompson, A. R. Barnett, J. Comput. Phys. 64, 1986). The number of steps is of
/// the order of the square root of the larger shape.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    // A tiny number that replaces a divisor of zero.
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut above, mut below) = (1.0, 1.0, 0.0);
    for step in 1u32.. {
        let m = f64::from(step / 2);
        let coefficient = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        below = 1.0 / nonzero(1.0 + coefficient * below);
        above = nonzero(1.0 + coefficient / above);
        value *= above * below;
        let change = (above * below - 1.0).abs();
        // A NaN also ends the loop.
        if change < 4.0 * f64::EPSILON || change.is_nan() {
            break;
        }
    }
    value
}

/// Returns the `x` at which [`probability`] reaches `value`, found by bisection.
pub(crate) fn quantile(value: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        // The interval can no longer be divided, or is negligibly small.
        if middle <= low || middle >= high || high < f64::MIN_POSITIVE {
            return middle;
        }
        if probability(middle, a, b) < value {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Returns the probability that at most `successes` of `trials` independent trials succeed, if each
/// succeeds with probability `share` (DLMF 8.17.5).
pub(crate) fn binomial(successes: u64, trials: u64, share: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    probability(1.0 - share, (trials - successes) as f64, successes as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    /// Returns the probability that at most `successes` of `trials` tosses of a fair coin succeed.
    /// The result is exact before it is rounded to `f64`: an integer divided by a power of two.
    fn fair(successes: u64, trials: u64) -> f64 {
        let (mut term, mut sum) = (BigUint::from(1u8), BigUint::ZERO);
        for k in 0..=successes {
            sum += &term;
            term = term * (trials - k) / (k + 1);
        }
        // The quotient has 64 bits after the binary point, more than an `f64` can hold.
        let shifted: BigUint = (sum << 64u32) >> trials;
        shifted.to_string().parse::<f64>().expect("digits") / 2f64.powi(64)
    }

    #[test]
    fn the_binomial_distribution_is_that_of_whole_numbers() {
        for trials in [1, 2, 10, 99, 1000, 20_000] {
            let deviation = (trials as f64).sqrt() as u64;
            for successes in [
                0,
                trials / 2 - (trials / 2).min(deviation),
                trials / 2,
                trials / 2 + deviation / 3,
            ] {
                let (computed, exact) = (binomial(successes, trials, 0.5), fair(successes, trials));
                assert!(
                    (computed - exact).abs() < 1e-10,
                    "{successes} of {trials}: {computed} {exact}"
                );
            }
        }
    }

    #[test]
    fn the_quantile_is_the_inverse() {
        for (a, b) in [(0.5, 0.5), (0.5, 50_000.0), (3.0, 7.0), (1e6, 1e3)] {
            for value in [1e-6, 0.025, 0.5, 0.975] {
                let there = probability(quantile(value, a, b), a, b);
                assert!((there - value).abs() < 1e-9, "{a} {b} {value}: {there}");
            }
        }
    }

    #[test]
    fn closed_forms_agree() {
        // For b = 1, DLMF 8.17 reduces to a power; for a = b = 1/2, to an arc sine.
        assert!((quantile(0.3, 4.0, 1.0) - 0.3f64.powf(0.25)).abs() < 1e-12);
        assert!((probability(0.25, 0.5, 0.5) - 1.0 / 3.0).abs() < 1e-12);
    }
}
