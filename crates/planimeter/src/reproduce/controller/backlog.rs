//! The number of packet-ins that wait for an answer (outstanding packet-ins), over the time of a
//! trial.

use ::probe::outcome::Trial;

/// The number of outstanding packet-ins at a time, which is given in seconds.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: f64,
    pub(super) count: f64,
}

/// Returns the samples that were taken while packet-ins were sent.
pub(super) fn samples(trial: &Trial) -> Vec<Sample> {
    let series = &trial.series;
    let sample = |(place, count): (usize, &u64)| Sample {
        at: (place as f64 + 1.0) * series.sample_interval_s,
        count: *count as f64,
    };
    let all = series.outstanding.iter().enumerate().map(sample);
    all.filter(|sample| sample.at <= series.measure_to_s + 1e-6).collect()
}

/// Returns the slope of the least-squares line through the samples, in packet-ins per second, or
/// `None` if there are fewer than two samples.
pub(super) fn slope(samples: &[Sample]) -> Option<f64> {
    let count = samples.len() as f64;
    let mean = |value: fn(&Sample) -> f64| samples.iter().map(value).sum::<f64>() / count;
    let (at, level) = (mean(|sample| sample.at), mean(|sample| sample.count));
    let square: f64 = samples.iter().map(|sample| (sample.at - at).powi(2)).sum();
    let product: f64 = samples.iter().map(|sample| (sample.at - at) * (sample.count - level)).sum();
    (samples.len() > 1 && square > 0.0).then(|| product / square)
}

/// Returns the ratio of the smallest count to the largest, which is 1 if all are equal. Returns
/// `None` if there are no counts, or all are zero.
pub(super) fn evenness(counts: &[u64]) -> Option<f64> {
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    (*most > 0).then(|| *least as f64 / *most as f64)
}

/// Returns how evenly a controller serves its switches: the ratio of the smallest to the largest
/// number of outstanding packet-ins of a switch, at the last sample of the measurement. Returns
/// `None` if a switch has no such sample, or all numbers are zero.
pub(super) fn fairness(trial: &Trial) -> Option<f64> {
    let place = samples(trial).len().checked_sub(1)?;
    let counts = trial.per_switch.iter().map(|switch| switch.outstanding.get(place));
    let counts: Option<Vec<u64>> = counts.map(|count| count.map(|one| u64::from(*one))).collect();
    evenness(&counts?)
}
