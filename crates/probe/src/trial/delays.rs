//! Finds the percentiles of round-trip times that delays of the probe may have distorted.

use statistics::can_state;

use crate::account::Times;
use crate::outcome::Latency;

/// The factor by which a percentile of all round-trip times must exceed the same percentile of the
/// undisturbed ones to count as raised by the probe.
const CHANGES: f64 = 1.25;

/// Returns the names of the percentiles, up to p99, that delays of the probe may have raised by a
/// quarter or more.
///
/// Each percentile of all round-trip times is compared with the same percentile of
/// [`Times::undisturbed`]. Percentiles above p99 are not examined: each depends on a few samples,
/// so a single pause of the host determines its value in both distributions.
pub(crate) fn own_percentiles(times: Times<'_>) -> Vec<&'static str> {
    let Times { all, undisturbed } = times;
    if all.samples == 0 {
        return Vec::new();
    }
    let at = |latency: &Latency| [latency.p50_ns, latency.p90_ns, latency.p95_ns, latency.p99_ns];
    let pairs = at(all).into_iter().zip(at(undisturbed));
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)]
        .into_iter()
        .zip(pairs)
        .filter(|((_, share), _)| can_state(*share, all.samples))
        .filter(|(_, (all, undisturbed))| *all as f64 >= CHANGES * *undisturbed as f64)
        .map(|((name, _), _)| name)
        .collect()
}

/// Joins names to an English list, such as `p90, p95 and p99`.
pub(crate) fn in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_that_the_probe_makes_longer_by_a_quarter_are_named() {
        let of = |samples, p90_ns, p95_ns| Latency {
            samples,
            p50_ns: 10,
            p90_ns,
            p95_ns,
            p99_ns: 200,
            ..Latency::default()
        };
        let (all, undisturbed) = (of(100, 100, 125), of(100, 99, 100));
        assert_eq!(own_percentiles(Times { all: &all, undisturbed: &undisturbed }), ["p95"]);
        // With 19 samples, p95 is not stated.
        let few = of(19, 100, 125);
        assert!(own_percentiles(Times { all: &few, undisturbed: &undisturbed }).is_empty());
        let none = Latency::default();
        assert!(own_percentiles(Times { all: &none, undisturbed: &undisturbed }).is_empty());
        // If every packet-in was disturbed, the probe may have raised every percentile.
        let every = own_percentiles(Times { all: &all, undisturbed: &none });
        assert_eq!(every, ["p50", "p90", "p95", "p99"]);
        assert_eq!(in_words(&["p50", "p90", "p99"]), "p50, p90 and p99");
        assert_eq!(in_words(&["p50"]), "p50");
    }
}
