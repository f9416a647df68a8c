//! Decides whether the longest delays of a function are caused by the function itself, or by stalls
//! of the host on which it was measured.
//!
//! A *control window* of fixed work follows every packet. Stalls of the host affect control windows
//! and packets alike, in proportion to the time for which each is exposed. Control windows are
//! therefore evidence on the host that does not depend on the packet's own delay, so that acting on
//! this evidence does not bias the result:
//!
//! * **Censoring** ([`Exposure::quiet_packets`]) leaves out a packet if an interrupt hit its
//!   window, or if a control window before or after it is slow.
//! * **The guard** ([`Exposure::tail`]) detects a tail that the function itself causes. Such a tail
//!   may evict the cache and thereby slow the next control window, so that censoring would hide the
//!   tail. The guard compares how often packets and control windows are late, per second of
//!   exposure, before censoring.
//! * **Attribution** ([`Exposure::quantile`]): a quantile is attributed to the function if the same
//!   quantile of the control windows is close to their median, because the host then has little
//!   effect on it.

use crate::confidence::{Confidence, Interval};
use crate::order::Ordered;
use crate::proportion::proportion;

/// A control window is slow if it exceeds the median of all control windows by more than this
/// share.
const SLOW: f64 = 0.05;

/// The largest ratio of the frequency of late packets to that of late control windows at which the
/// host may cause the tail. Above it, the function itself causes the tail. If the function causes
/// no tail, the ratio is about 1.
const OWN_TAIL: f64 = 2.0;

/// The number of samples that the bootstrap draws.
const DRAWS: usize = 1000;

/// A packet and the control window (fixed work that is timed) that follows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposed {
    /// The delay of the packet in seconds, or `None` if it did not arrive.
    pub packet: Option<f64>,
    /// Whether an interrupt occurred while the packet was processed.
    pub packet_interrupted: bool,
    /// The duration of the control window in seconds.
    pub control: f64,
    /// Whether an interrupt occurred in the control window, that is, during the fixed work that
    /// follows the packet.
    pub control_interrupted: bool,
}

/// One repetition of a measurement: packets and control windows in alternation.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// The duration in seconds of the control window before the first packet.
    pub first_control: f64,
    /// The packets in order of time, each with the control window that follows it.
    pub windows: Vec<Exposed>,
}

/// All repetitions of the measurement of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure {
    repetitions: Vec<Repetition>,
    packet_median: f64,
    control_median: f64,
}

/// The origin of delays that greatly exceed the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailOrigin {
    /// The function itself sometimes takes long.
    Function,
    /// The host sometimes stops processing, for example because of an interrupt.
    Host,
    /// The measurement does not show whether the function or the host is the origin.
    Undecided,
}

/// A comparison of how often packets and control windows are late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The number of late packets: those whose delay is more than twice the median delay of all
    /// packets.
    pub late_packets: u64,
    /// The number of late control windows: those that exceed the median of all control windows by
    /// more than the median delay of packets.
    pub late_controls: u64,
    /// The number of late packets per second of exposure, divided by the number of late control
    /// windows per second of exposure. If no control window was late, half a window counts as late.
    pub ratio: f64,
    /// The confidence interval of the ratio at 99 %.
    pub interval: Interval,
    /// The origin of the late packets.
    pub origin: TailOrigin,
}

/// A quantile of the delays of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExposedQuantile {
    /// The quantile of the delays, in seconds.
    pub value: f64,
    /// Whether the value is due to the function, and not to stalls of the host.
    pub is_attributed: bool,
}

/// The numbers of late packets and of late control windows in one repetition, and the numbers of
/// all packets and control windows in it.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    packets: u64,
    controls: u64,
    all_packets: u64,
    all_controls: u64,
}

impl Late {
    fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            controls: self.controls + other.controls,
            all_packets: self.all_packets + other.all_packets,
            all_controls: self.all_controls + other.all_controls,
        }
    }
}

impl Exposure {
    /// Creates the exposure from repetitions of a measurement. Returns `None` if no packet arrived,
    /// or if a median is not positive.
    pub fn new(repetitions: Vec<Repetition>) -> Option<Self> {
        let windows = || repetitions.iter().flat_map(|one| &one.windows);
        let packet_median = median(windows().filter_map(|one| one.packet).collect())?;
        let control_median = median(windows().map(|one| one.control).collect())?;
        let is_usable = packet_median > 0.0 && control_median > 0.0;
        is_usable.then_some(Self { repetitions, packet_median, control_median })
    }

    /// Returns, for each repetition and each of its packets, whether censoring keeps the packet.
    /// It does if no interrupt occurred while the packet was processed, and the control windows
    /// before and after it are not slow.
    pub fn quiet_packets(&self) -> Vec<Vec<bool>> {
        let of = |repetition: &Repetition| {
            let mut before = repetition.first_control;
            let is_quiet = |one: &Exposed| {
                let quiet =
                    !one.packet_interrupted && !self.slow(before) && !self.slow(one.control);
                before = one.control;
                quiet
            };
            repetition.windows.iter().map(is_quiet).collect()
        };
        self.repetitions.iter().map(of).collect()
    }

    /// Returns the durations of the control windows that censoring keeps: no interrupt hit the
    /// window, and the control windows before and after it are not slow.
    fn quiet_controls(&self) -> Vec<f64> {
        let mut quiet = Vec::new();
        for repetition in &self.repetitions {
            let windows = &repetition.windows;
            for (place, window) in windows.iter().enumerate() {
                let before = match place.checked_sub(1).and_then(|before| windows.get(before)) {
                    Some(before) => before.control,
                    None => repetition.first_control,
                };
                let behind = windows.get(place + 1).map(|behind| behind.control);
                let is_slow = self.slow(before) || behind.is_some_and(|behind| self.slow(behind));
                if !window.control_interrupted && !is_slow {
                    quiet.push(window.control);
                }
            }
        }
        quiet
    }

    fn slow(&self, control: f64) -> bool {
        control > self.control_median * (1.0 + SLOW)
    }

    /// Decides, from all windows, whether the function or the host causes late packets.
    ///
    /// Only delays that exceed the packets' median by more than this median count as late, because
    /// slow phases of the host prolong a long window by more than a short one, but hardly to twice
    /// its length. The interval of the result covers two intervals. The first is that of a
    /// bootstrap over repetitions, because windows within a repetition are more alike than windows
    /// of different repetitions. The second is that of the binomial distribution, because a
    /// bootstrap of few events is too narrow.
    pub fn tail(&self, seed: u64) -> Tail {
        let late: Vec<Late> = self.repetitions.iter().map(|one| self.late(one)).collect();
        let sum = late.iter().fold(Late::default(), |sum, one| sum.plus(*one));
        let interval = self.ratio_interval(&late, sum, seed);
        let origin = match interval {
            Interval { low, .. } if low > OWN_TAIL => TailOrigin::Function,
            Interval { high, .. } if high < OWN_TAIL => TailOrigin::Host,
            _ => TailOrigin::Undecided,
        };
        let (late_packets, late_controls) = (sum.packets, sum.controls);
        Tail { late_packets, late_controls, ratio: self.ratio(sum, 0.0), interval, origin }
    }

    fn late(&self, repetition: &Repetition) -> Late {
        let excess = self.packet_median;
        let mut late = Late::default();
        for window in &repetition.windows {
            late.all_packets += u64::from(window.packet.is_some());
            late.all_controls += 1;
            let is_late = |packet: f64| packet > self.packet_median + excess;
            late.packets += u64::from(window.packet.is_some_and(is_late));
            late.controls += u64::from(window.control > self.control_median + excess);
        }
        late
    }

    /// Returns the ratio of the frequencies of late packets and of late control windows, per second
    /// of exposure. `added` is a number of additional late packets and late control windows. At
    /// least half a control window counts as late.
    fn ratio(&self, late: Late, added: f64) -> f64 {
        let packets = late.packets as f64 + added;
        let controls = (late.controls as f64 + added).max(0.5);
        packets / controls / self.exposure_ratio(late)
    }

    /// Returns the total time for which packets were exposed to stalls of the host, divided by that
    /// of control windows.
    fn exposure_ratio(&self, late: Late) -> f64 {
        let packets = late.all_packets as f64 * self.packet_median;
        packets / (late.all_controls as f64 * self.control_median)
    }

    fn ratio_interval(&self, late: &[Late], sum: Late, seed: u64) -> Interval {
        // Among all late windows, the share p that are packets satisfies p / (1 - p) = ratio x
        // exposure.
        let events = sum.packets + sum.controls;
        let Some(share) = proportion(sum.packets, events, Confidence::P99) else {
            return Interval { low: 0.0, high: f64::INFINITY };
        };
        let of_share = |share: f64| share / (1.0 - share) / self.exposure_ratio(sum);
        let exact = Interval { low: of_share(share.low), high: of_share(share.high) };
        let mut generator = SplitMix(seed);
        let draw = |_| {
            let draws = late.iter().filter_map(|_| late.get(generator.below(late.len())));
            self.ratio(draws.fold(Late::default(), |sum, one| sum.plus(*one)), 0.5)
        };
        let drawn = Ordered::of_numbers((0..DRAWS).map(draw).collect());
        let low = drawn.at(Confidence::P99.tail()).unwrap_or(0.0);
        let high = drawn.at(1.0 - Confidence::P99.tail()).unwrap_or(f64::INFINITY);
        Interval { low: exact.low.min(low), high: exact.high.max(high) }
    }

    /// Returns a quantile of the delays of packets by the nearest rank, or `None` if there is no
    /// packet. Packets are censored unless the function itself causes the tail.
    ///
    /// The quantile is attributed to the function (`is_attributed`) if the upper limit, at 99 %, of
    /// the same quantile of the control windows exceeds their median by at most the share `margin`.
    /// If the origin of the tail is undecided, the quantiles with and without censoring must also
    /// agree within the margin.
    pub fn quantile(&self, share: f64, margin: f64, tail: &Tail) -> Option<ExposedQuantile> {
        let all = || self.repetitions.iter().flat_map(|one| &one.windows);
        let of_all = || Ordered::of_numbers(all().filter_map(|one| one.packet).collect()).at(share);
        let quiet = || {
            let keeps = self.quiet_packets();
            let kept = all().zip(keeps.iter().flatten()).filter(|(_, keep)| **keep);
            Ordered::of_numbers(kept.filter_map(|(one, _)| one.packet).collect()).at(share)
        };
        let near = |controls: Vec<f64>| self.controls_are_near(controls, share, margin);
        match tail.origin {
            TailOrigin::Function => {
                let is_attributed = near(all().map(|one| one.control).collect());
                Some(ExposedQuantile { value: of_all()?, is_attributed })
            }
            TailOrigin::Host => {
                let Some(value) = quiet() else { return Some(unattributed(of_all()?)) };
                Some(ExposedQuantile { value, is_attributed: near(self.quiet_controls()) })
            }
            TailOrigin::Undecided => {
                let uncensored = of_all()?;
                let Some(value) = quiet() else { return Some(unattributed(uncensored)) };
                let agrees = (uncensored - value).abs() <= margin * value;
                Some(ExposedQuantile {
                    value,
                    is_attributed: agrees && near(self.quiet_controls()),
                })
            }
        }
    }

    fn controls_are_near(&self, controls: Vec<f64>, share: f64, margin: f64) -> bool {
        let controls = Ordered::of_numbers(controls);
        let Some(median) = controls.at(0.5) else { return false };
        let [_, high] = controls.interval(share, Confidence::P99);
        high.is_some_and(|high| high <= median * (1.0 + margin))
    }
}

fn unattributed(value: f64) -> ExposedQuantile {
    ExposedQuantile { value, is_attributed: false }
}

/// Returns the median by the nearest-rank method, without sorting all values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    let place = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// A generator of the random numbers for the bootstrap: SplitMix64 (G. L. Steele, D. Lea, C. H.
/// Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). The same seed yields the
/// same interval.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random number below `end`, or 0 if `end` is 0.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests;
