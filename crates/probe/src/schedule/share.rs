//! Distributes the starting points of switches that replay the same recording.

use std::collections::HashMap;
use std::hash::Hash;

/// The position of a switch among those that replay the same recording.
///
/// If all of these switches began with the first frame, each burst of one host in the recording
/// would become a burst of the whole network. Therefore their starting points are spread evenly
/// over the recording. A switch that is the only one to replay a recording begins with the first
/// frame. The times and the frames of one capture use the same position, so that every frame keeps
/// its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The position of the switch, counted from 0.
    number: u32,
    /// The number of switches that replay the recording.
    of: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { number: 0, of: 1 }
    }
}

impl Share {
    /// Returns the position of each switch. `recordings` contains the recording that each switch
    /// replays, in the order of the switches.
    pub(crate) fn of<T: Hash + Eq>(recordings: impl Iterator<Item = T> + Clone) -> Vec<Self> {
        let mut counts: HashMap<T, u32> = HashMap::new();
        for recording in recordings.clone() {
            *counts.entry(recording).or_default() += 1;
        }
        let mut before: HashMap<T, u32> = HashMap::new();
        recordings
            .map(|recording| {
                let of = counts.get(&recording).copied().unwrap_or(1);
                let next = before.entry(recording).or_default();
                *next += 1;
                Self { number: *next - 1, of }
            })
            .collect()
    }

    /// Returns the starting point of the switch in a recording: the index of the time between
    /// frames with which it begins, and the part of this time that remains, or `None` for all of
    /// it. `ends` contains the cumulative sums of the times between frames.
    pub(crate) fn begin(self, ends: &[f64]) -> (usize, Option<f64>) {
        let (Some(total), 1..) = (ends.last(), self.number) else { return (0, None) };
        let offset = total * f64::from(self.number) / f64::from(self.of.max(1));
        let index = ends.partition_point(|end| *end <= offset);
        match ends.get(index) {
            Some(end) => (index, Some(end - offset)),
            None => (0, None),
        }
    }

    /// Returns the index of the frame with which the switch begins, in a recording whose times are
    /// not replayed.
    pub(crate) fn begin_of(self, frames: usize) -> usize {
        (self.number as usize * frames) / self.of.max(1) as usize
    }
}

/// Returns the times between the frames of a capture for replay, in nanoseconds. The time before
/// the first frame is the mean of the others, since replay continues with the first frame after the
/// last one. Returns `None` if all time stamps are equal. The time stamps must be in order.
pub(crate) fn gaps_of(stamps: &[u64]) -> Option<Vec<f64>> {
    let (first, last) = (stamps.first()?, stamps.last()?);
    let mean = (first < last).then(|| (last - first) as f64 / (stamps.len() - 1) as f64)?;
    let others = stamps.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
    Some(std::iter::once(mean).chain(others).collect())
}

/// Returns the cumulative sums of the times between frames.
pub(crate) fn ends_of(gaps: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    gaps.iter()
        .map(|gap| {
            sum += gap;
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_share_are_spread_and_one_alone_begins_at_the_start() {
        let places = Share::of(["a", "b", "a", "a", "c", "a"].into_iter());
        let ends = ends_of(&[8.0, 1.0, 3.0, 4.0]);
        let begins: Vec<_> = places.iter().map(|share| share.begin(&ends)).collect();
        let whole = (0, None);
        let halfway = (1, Some(1.0));
        assert_eq!(begins, [whole, whole, (0, Some(4.0)), halfway, whole, (3, Some(4.0))]);
        let frames: Vec<_> = places.iter().map(|share| share.begin_of(10)).collect();
        assert_eq!(frames, [0, 0, 2, 5, 0, 7]);
        assert_eq!(Share::default().begin(&ends), whole);
    }

    #[test]
    fn stamps_that_tell_no_time_give_none() {
        assert_eq!(gaps_of(&[]), None);
        assert_eq!(gaps_of(&[7, 7]), None);
        assert_eq!(gaps_of(&[100, 300, 400]), Some(vec![150.0, 200.0, 100.0]));
    }
}
