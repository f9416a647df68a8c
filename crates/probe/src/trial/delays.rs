//! Delays of the probe that round-trip times hold.

use crate::outcome::Latency;

/// The percentiles at which the time that answers may wait for the probe to read them makes up more
/// than half of the round-trip time. Beyond p99 single pauses of the host decide, on both sides.
pub(crate) fn own_percentiles(read_delay: &Latency, rtt: &Latency) -> Vec<&'static str> {
    if rtt.samples == 0 {
        return Vec::new();
    }
    let at = |latency: &Latency| [latency.p50_ns, latency.p90_ns, latency.p95_ns, latency.p99_ns];
    let pairs = at(read_delay).into_iter().zip(at(rtt));
    ["p50", "p90", "p95", "p99"]
        .into_iter()
        .zip(pairs)
        .filter(|(_, (read_delay, rtt))| read_delay > &(rtt / 2))
        .map(|(name, _)| name)
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
    fn percentiles_that_are_mostly_waiting_are_named() {
        let of = |p90_ns, p95_ns| Latency { samples: 1, p90_ns, p95_ns, ..Latency::default() };
        let (read_delay, rtt) = (of(10, 60), of(100, 100));
        assert_eq!(own_percentiles(&read_delay, &rtt), ["p95"]);
        assert!(own_percentiles(&read_delay, &Latency::default()).is_empty());
        assert_eq!(in_words(&["p50", "p90", "p99"]), "p50, p90 and p99");
        assert_eq!(in_words(&["p50"]), "p50");
    }
}
