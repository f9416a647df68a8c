//! The beta distribution, from which Student's t, the binomial distribution and order statistics follow.

/// Probability that a variable of the beta distribution with the shapes `a` and `b` is at most `x`: the regularized
/// incomplete beta function (NIST Digital Library of Mathematical Functions, 8.17.2).
pub(crate) fn probability(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // The fraction converges below its mean; DLMF 8.17.4 mirrors what lies above.
    if x > (a + 1.0) / (a + b + 2.0) { 1.0 - below(1.0 - x, b, a) } else { below(x, a, b) }
}

/// The same for an `x` below the mean or nearly so: a factor times the continued fraction of DLMF 8.17.22.
fn below(x: f64, a: f64, b: f64) -> f64 {
    let logarithm = a * x.ln() + b * libm::log1p(-x) - a.ln() - logarithm_of_beta(a, b);
    logarithm.exp() / fraction(x, a, b)
}

/// Logarithm of the beta function (DLMF 5.12.1).
fn logarithm_of_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

/// The denominator `1 + d1 / (1 + d2 / (1 + ...))` with the coefficients of DLMF 8.17.23, from its front by the modified
/// algorithm of Lentz (W. J. Lentz, Applied Optics 15, 1976; I. J. Thompson, A. R. Barnett, J. Comput. Phys. 64, 1986).
/// It takes steps in the order of the square root of the larger shape.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    // Stands for zero where zero would be divided by.
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
        // What is not a number ends it, too.
        if change < 4.0 * f64::EPSILON || change.is_nan() {
            break;
        }
    }
    value
}

/// The `x` at which [`probability`] reaches a value.
pub(crate) fn quantile(value: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        // No number lies between them any more, or none that matters.
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

/// Probability that at most `successes` of `trials` succeed where each does with probability `share` (DLMF 8.17.5).
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

    /// The binomial distribution at one half, exactly: whole numbers over a power of two.
    fn fair(successes: u64, trials: u64) -> f64 {
        let (mut term, mut sum) = (BigUint::from(1u8), BigUint::ZERO);
        for k in 0..=successes {
            sum += &term;
            term = term * (trials - k) / (k + 1);
        }
        // 64 bits after the point are more than an f64 has.
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
    fn closed_forms() {
        // DLMF 8.17: with b = 1 it is a power; with halves it is an arc sine.
        assert!((quantile(0.3, 4.0, 1.0) - 0.3f64.powf(0.25)).abs() < 1e-12);
        assert!((probability(0.25, 0.5, 0.5) - 1.0 / 3.0).abs() < 1e-12);
    }
}
