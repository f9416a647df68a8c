//! Detection of percentiles of round-trip times that delays of the probe may have determined.

use statistics::can_state;

use crate::account::Times;
use crate::outcome::Latency;

/// The least factor by which the probe's delays must change a percentile.
const CHANGES: f64 = 1.25;

/// Returns the percentiles of round-trip times that the probe's delays may have increased by a
/// quarter or more. They are compared with the lower bounds of the times of packet-ins that the
/// probe did not disturb. Beyond p99, single pauses of the host decide on both sides.
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

/// Joins names: `p90, p95 and p99`.
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
        // With fewer samples, p95 cannot be stated.
        let few = of(19, 100, 125);
        assert!(own_percentiles(Times { all: &few, undisturbed: &undisturbed }).is_empty());
        let none = Latency::default();
        assert!(own_percentiles(Times { all: &none, undisturbed: &undisturbed }).is_empty());
        // Where every packet-in was disturbed, every percentile may be the probe's.
        let every = own_percentiles(Times { all: &all, undisturbed: &none });
        assert_eq!(every, ["p50", "p90", "p95", "p99"]);
        assert_eq!(in_words(&["p50", "p90", "p99"]), "p50, p90 and p99");
        assert_eq!(in_words(&["p50"]), "p50");
    }
}
