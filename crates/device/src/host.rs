//! Measures how often and for how long the host of a measurement takes the processor away from a
//! program, and fits an envelope to these times.
//!
//! A host that runs other programs, or is itself a virtual machine, takes the processor away from a
//! program from time to time. In network calculus, it is a flow of higher priority: in any time t,
//! it takes at most an envelope σ + ρt, so that the program keeps at least [t - σ - ρt]⁺. Such an
//! envelope is only as good as the observation. It is therefore fitted to one half of the
//! observation and tested on the other.

use std::time::Duration;

use packetio::cycles::{self, CycleCounter};
use packetio::interrupts;

/// The shortest time in seconds between two readings of the cycle counter that counts as a gap. A
/// loop that only reads the counter needs a small part of this time per iteration.
const SHORTEST: f64 = 1e-6;

/// A period in which the observing loop, which does nothing but read the cycle counter, did not
/// run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The time in seconds from the start of the observation to the gap.
    pub at: f64,
    /// The length of the gap in seconds.
    pub length: f64,
    /// Whether the processor indicated an interrupt during the gap. If it did not, either a
    /// hypervisor caused the gap, or the processor does not indicate interrupts (see
    /// [`Gaps::marks_available`]).
    pub marked: bool,
}

/// The gaps that were observed on one processor, in order of time. In a gap, the observing thread
/// did not run.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaps {
    /// The duration of the observation in seconds.
    pub duration: f64,
    /// The gaps, in order of time.
    pub gaps: Vec<Gap>,
    /// Whether the processor indicates interrupts, so that gaps can be marked.
    pub marks_available: bool,
}

/// An envelope of the time that the host takes from a program: at most `sigma + rho t` in any time
/// `t`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Envelope {
    /// The burst σ in seconds.
    pub sigma: f64,
    /// The rate ρ as a share of time.
    pub rho: f64,
}

impl Gaps {
    /// Observes the processor on which the calling thread runs. Returns `None` if the processor has
    /// no counter with a constant rate.
    #[must_use]
    pub fn observe(duration: Duration) -> Option<Self> {
        let counter = CycleCounter::calibrate(Duration::from_millis(100))?;
        let marks_available = interrupts::available();
        let frequency = counter.frequency();
        let shortest = (SHORTEST * frequency) as u64;
        let end = (duration.as_secs_f64() * frequency) as u64;
        let mut gaps = Vec::with_capacity(1 << 16);
        interrupts::mark();
        let begin = cycles::begin();
        let mut last = begin;
        while last.wrapping_sub(begin) < end {
            let now = cycles::begin();
            let length = now.wrapping_sub(last);
            if length > shortest {
                gaps.push(Gap {
                    at: last.wrapping_sub(begin) as f64 / frequency,
                    length: length as f64 / frequency,
                    marked: marks_available && !interrupts::is_marked(),
                });
                interrupts::mark();
            }
            last = now;
        }
        let duration = last.wrapping_sub(begin) as f64 / frequency;
        Some(Self { duration, gaps, marks_available })
    }

    /// Returns the first and the second half of the observation.
    #[must_use]
    pub fn halves(&self) -> [Self; 2] {
        let middle = self.duration / 2.0;
        let part = |is_first: bool| Self {
            duration: middle,
            gaps: self.gaps.iter().copied().filter(|gap| (gap.at < middle) == is_first).collect(),
            marks_available: self.marks_available,
        };
        [part(true), part(false)]
    }

    /// Returns the share of time that was in gaps.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.gaps.iter().map(|gap| gap.length).sum::<f64>() / self.duration
    }

    /// Returns the smallest envelope with this rate that holds for all gaps.
    #[must_use]
    pub fn envelope(&self, rho: f64) -> Envelope {
        let sigma = self.levels(rho).into_iter().fold(0.0, f64::max);
        Envelope { sigma, rho }
    }

    /// Returns the number of gaps at whose end an envelope is exceeded.
    #[must_use]
    pub fn beyond(&self, envelope: Envelope) -> usize {
        self.levels(envelope.rho).into_iter().filter(|level| *level > envelope.sigma).count()
    }

    /// Returns the longest gaps, the longest first.
    #[must_use]
    pub fn longest(&self, count: usize) -> Vec<Gap> {
        let mut gaps = self.gaps.clone();
        gaps.sort_by(|one, other| other.length.total_cmp(&one.length));
        gaps.truncate(count);
        gaps
    }

    /// Returns, for the end of each gap, the smallest burst σ in seconds that an envelope of rate ρ
    /// needs there: over all intervals that end at this moment, the largest amount by which the
    /// gaps in the interval exceed ρ times its length. It is computed as the level of a bucket that
    /// gaps fill and that leaks at rate ρ.
    fn levels(&self, rho: f64) -> Vec<f64> {
        let (mut level, mut end) = (0.0_f64, 0.0);
        let mut at_end = |gap: &Gap| {
            let leaked = (level - rho * (gap.at - end)).max(0.0);
            level = leaked + (1.0 - rho) * gap.length;
            end = gap.at + gap.length;
            level
        };
        self.gaps.iter().map(&mut at_end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(of: &[(f64, f64)]) -> Gaps {
        let gaps = of.iter().map(|(at, length)| Gap { at: *at, length: *length, marked: false });
        Gaps { duration: 10.0, gaps: gaps.collect(), marks_available: true }
    }

    #[test]
    fn the_envelope_holds_for_every_window_and_is_attained_by_one() {
        let observed =
            gaps(&[(1.0, 0.5), (2.0, 0.1), (2.2, 0.3), (6.0, 0.01), (9.0, 0.2), (9.3, 0.4)]);
        let Envelope { sigma, rho } = observed.envelope(0.1);
        let mut largest = 0.0_f64;
        for (first, from) in observed.gaps.iter().enumerate() {
            let mut taken = 0.0;
            for gap in &observed.gaps[first..] {
                taken += gap.length;
                largest = largest.max(taken - rho * (gap.at + gap.length - from.at));
            }
        }
        assert!((sigma - largest).abs() < 1e-12, "{sigma} {largest}");
        assert!((observed.share() - 0.151).abs() < 1e-12);
        assert_eq!(
            observed.longest(2).iter().map(|gap| gap.length).collect::<Vec<_>>(),
            [0.5, 0.4]
        );
    }

    #[test]
    fn an_envelope_of_one_half_is_tested_on_the_other() {
        let observed = gaps(&[(1.0, 0.1), (2.0, 0.1), (6.0, 0.1), (8.0, 0.3)]);
        let [first, second] = observed.halves();
        assert_eq!((first.gaps.len(), second.gaps.len()), (2, 2));
        let envelope = first.envelope(0.05);
        assert_eq!(first.beyond(envelope), 0);
        assert_eq!(second.beyond(envelope), 1, "the gap of 0.3 s");
    }

    #[test]
    fn an_observation_lasts_as_long_as_it_should() {
        let Some(observed) = Gaps::observe(Duration::from_millis(50)) else { return };
        assert!(observed.duration >= 0.05, "{}", observed.duration);
        assert!(observed.gaps.iter().all(|gap| gap.length >= SHORTEST && gap.at < 60.0));
        assert!(observed.share() < 1.0);
    }
}
