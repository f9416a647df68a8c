//! Latencies of single packets, with one histogram per repetition.
//!
//! A percentile of one run does not predict that of the next run, because consecutive packets are
//! delayed by the same events. So the confidence interval of a percentile is computed from one
//! value per repetition, as that of a rate is.

use hdrhistogram::Histogram;
use statistics::{Estimate, can_state};

/// The latencies of single packets in nanoseconds, one histogram per repetition.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Times(Vec<Repetition>);

/// The histogram of one repetition, which is serialised as text.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Repetition(#[serde(with = "statistics::histogram_text")] Histogram<u64>);

impl Times {
    /// Returns the percentile for a share from 0 to 1, in seconds. It is the mean of the
    /// percentiles of the repetitions, with its confidence interval. If a repetition has too few
    /// samples (see [`percentile`]), the result is the percentile of all samples together, without
    /// an interval.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<Estimate> {
        let each = self.repetitions().map(|one| percentile(one, share));
        Estimate::of_each_or_all(each, || percentile(&self.all(), share))
    }

    /// Returns one histogram of the samples of all repetitions.
    #[must_use]
    pub fn all(&self) -> Histogram<u64> {
        let mut all = empty();
        for one in self.repetitions() {
            // The histograms have equal bounds, so adding cannot fail.
            let _ = all.add(one);
        }
        all
    }

    /// Returns the histogram of each repetition.
    pub fn repetitions(&self) -> impl ExactSizeIterator<Item = &Histogram<u64>> {
        self.0.iter().map(|Repetition(times)| times)
    }

    /// Returns whether there are no latencies, because no repetition yielded any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.repetitions().all(|one| one.is_empty())
    }

    pub(crate) fn push(&mut self, repetition: Histogram<u64>) {
        self.0.push(Repetition(repetition));
    }
}

/// Returns the percentile, in seconds, of a histogram in nanoseconds, for a share from 0 to 1.
/// Returns `None` if there are too few samples to state it.
#[must_use]
pub fn percentile(times: &Histogram<u64>, share: f64) -> Option<f64> {
    can_state(share, times.len()).then(|| times.value_at_quantile(share) as f64 / 1e9)
}

pub(crate) fn empty() -> Histogram<u64> {
    // The constructor accepts these bounds: one nanosecond to one minute, with three significant
    // digits.
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("bounds are in order")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(repetitions: &[&[u64]]) -> Times {
        let mut times = Times::default();
        for samples in repetitions {
            let mut one = empty();
            samples.iter().for_each(|sample| one.saturating_record(*sample));
            times.push(one);
        }
        times
    }

    #[test]
    fn a_percentile_is_the_mean_of_those_of_the_repetitions() {
        let median = times(&[&[100, 100, 900], &[300, 300, 900]]).percentile(0.5).expect("two");
        assert_eq!((median.n, median.mean), (2, 200e-9));
        // By hand: deviation sqrt(2) * 100 ns, t = 12.706 with one degree of freedom, divided by
        // sqrt(2).
        assert!((median.ci95.expect("of two") - 1270.6e-9).abs() < 0.1e-9, "{median:?}");
    }

    #[test]
    fn a_percentile_that_one_repetition_lacks_is_of_all_samples_and_has_no_interval() {
        let both = times(&[&[100; 60], &[200; 40]]);
        let rare = both.percentile(0.99).expect("one of a hundred lies beyond");
        assert_eq!((rare.n, rare.mean, rare.ci95), (1, 200e-9, None));
        assert_eq!(both.percentile(0.999), None, "no sample lies beyond");
        assert_eq!((both.percentile(0.5).map(|one| one.n), both.all().len()), (Some(2), 100));
        assert_eq!(Times::default().percentile(0.5), None);
        assert!(Times::default().is_empty() && times(&[&[]]).is_empty() && !both.is_empty());
    }
}
