//! Summarises trials: computes the mean of every metric with its confidence interval, and
//! percentiles of histograms.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use statistics::Estimate;

use crate::outcome::{Latency, Trial};

/// Returns the mean of every metric over those trials in which it has a value, by metric name. The
/// result is the value of [`Point::summary`](crate::outcome::Point::summary).
pub fn summarize(trials: &[Trial]) -> BTreeMap<String, Estimate> {
    let mut values: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        for (name, value) in trial.metrics() {
            values.entry(name).or_default().push(value);
        }
    }
    values
        .into_iter()
        .filter_map(|(name, values)| Some((name.to_owned(), Estimate::of(&values)?)))
        .collect()
}

impl Latency {
    /// Summarises a histogram of times in nanoseconds. A percentile is the upper end of the
    /// histogram bucket in which it lies.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            samples: histogram.len(),
            mean_ns: histogram.mean(),
            stddev_ns: histogram.stdev(),
            min_ns: histogram.min(),
            p50_ns: histogram.value_at_quantile(0.5),
            p90_ns: histogram.value_at_quantile(0.9),
            p95_ns: histogram.value_at_quantile(0.95),
            p99_ns: histogram.value_at_quantile(0.99),
            p999_ns: histogram.value_at_quantile(0.999),
            max_ns: histogram.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_reads_the_histogram() {
        let mut histogram = Histogram::new(3).expect("3 digits");
        assert_eq!(Latency::of(&histogram), Latency::default());
        for value in 1..=1000u64 {
            histogram.record(value).expect("in range");
        }
        let latency = Latency::of(&histogram);
        assert_eq!(latency.samples, 1000);
        assert_eq!((latency.min_ns, latency.p50_ns, latency.p999_ns), (1, 500, 999));
        assert_eq!(
            (latency.p90_ns, latency.p95_ns, latency.p99_ns, latency.max_ns),
            (900, 950, 990, 1000)
        );
        assert!((latency.mean_ns - 500.5).abs() < 0.5);
        assert!((latency.stddev_ns - 288.7).abs() < 0.5);
    }
}
