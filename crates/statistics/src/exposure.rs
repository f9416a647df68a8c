//! Decides whether the longest delays of a function are its own or those of a host that stood
//! still.
//!
//! A *control window* of fixed work follows every packet. What happens to control windows happens
//! to packets as well, in proportion to the time for which each is exposed. This is evidence on the
//! host that never looks at the packet's own delay, so that acting on it does not bias the result:
//!
//! * **Censoring** ([`Exposure::quiet_packets`]) leaves out a packet whose window an interrupt hit,
//!   or that has a slow control before or after it.
//! * **The guard** ([`Exposure::tail`]) detects a tail of the function itself. Such a tail may evict
//!   the cache and thereby slow the next control, so that censoring would hide it. The guard
//!   compares how often packets and controls are late, per second of exposure, before censoring.
//! * **A quantile is attributed to the function** ([`Exposure::quantile`]) if the same quantile of
//!   the controls is close to their median, because the host then has little effect on it.

use crate::confidence::{Confidence, Interval};
use crate::order::Ordered;
use crate::proportion::proportion;

/// The share by which a control window must exceed the median to count as slow.
const SLOW: f64 = 0.05;

/// The ratio of the frequencies of late packets and late controls above which a tail is the
/// function's own. Without a tail of its own the ratio is near 1.
const OWN_TAIL: f64 = 2.0;

/// The number of samples that the bootstrap draws.
const DRAWS: usize = 1000;

/// A packet and the control window behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposed {
    /// The delay of the packet in seconds, or `None` if it did not arrive.
    pub packet: Option<f64>,
    /// Whether an interrupt occurred while the packet was processed.
    pub packet_interrupted: bool,
    /// The duration of the control window in seconds.
    pub control: f64,
    /// Whether an interrupt occurred in the control window.
    pub control_interrupted: bool,
}

/// One repetition of a measurement: packets and control windows in alternation.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// The duration in seconds of the control window before the first packet.
    pub first_control: f64,
    /// The packets in order of time, each with the control window behind it.
    pub windows: Vec<Exposed>,
}

/// All repetitions of the measurement of one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure {
    repetitions: Vec<Repetition>,
    packet_median: f64,
    control_median: f64,
}

/// The origin of delays that are far above the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailOrigin {
    /// The function itself sometimes takes long.
    Function,
    /// The host sometimes stands still.
    Host,
    /// The measurement does not show which of the two it is.
    Undecided,
}

/// A comparison of how often packets and control windows are late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The number of packets that exceed their median by more than that median.
    pub late_packets: u64,
    /// The number of control windows that exceed their median by as much.
    pub late_controls: u64,
    /// The number of late packets per second of exposure, divided by that of late controls. If no
    /// control was late, half a control counts as late.
    pub ratio: f64,
    /// The confidence interval of the ratio at 99 %.
    pub interval: Interval,
    /// The origin of the late packets.
    pub origin: TailOrigin,
}

/// A quantile of the delays of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExposedQuantile {
    /// The delay in seconds.
    pub value: f64,
    /// Whether the value is the function's, and not decided by stalls of the host.
    pub is_attributed: bool,
}

/// The numbers of late windows in one repetition, and the numbers of all windows.
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
    /// Returns `None` if no packet arrived or a median is not positive.
    pub fn new(repetitions: Vec<Repetition>) -> Option<Self> {
        let windows = || repetitions.iter().flat_map(|one| &one.windows);
        let packet_median = median(windows().filter_map(|one| one.packet).collect())?;
        let control_median = median(windows().map(|one| one.control).collect())?;
        let is_usable = packet_median > 0.0 && control_median > 0.0;
        is_usable.then_some(Self { repetitions, packet_median, control_median })
    }

    /// Returns, for each repetition and each of its packets, whether the packet is kept by
    /// censoring: no interrupt hit its window, and the controls before and behind it are not slow.
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

    /// Returns the durations of the control windows that are kept by the same censoring: no
    /// interrupt hit the window, and the controls before and after it are not slow.
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

    /// Decides whether late packets are the function's own or the host's, by all windows.
    ///
    /// Only excesses beyond the packets' median count: slow phases of the host stretch a long
    /// window by more than a short one, but hardly to twice its length. The interval contains two
    /// intervals. One is that of a bootstrap over repetitions, because windows are more alike
    /// within a repetition than between repetitions. The other is that of the binomial
    /// distribution, because a bootstrap of few events is too narrow.
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

    /// Returns the ratio of late packets to late controls per second of exposure. `added` counts as
    /// so many further late packets and controls. At least half a control counts.
    fn ratio(&self, late: Late, added: f64) -> f64 {
        let packets = late.packets as f64 + added;
        let controls = (late.controls as f64 + added).max(0.5);
        packets / controls / self.exposure_ratio(late)
    }

    /// Returns for how long all packets were exposed, divided by the same of controls.
    fn exposure_ratio(&self, late: Late) -> f64 {
        let packets = late.all_packets as f64 * self.packet_median;
        packets / (late.all_controls as f64 * self.control_median)
    }

    fn ratio_interval(&self, late: &[Late], sum: Late, seed: u64) -> Interval {
        // Of all late windows, the share p that are packets has p / (1 - p) = ratio x exposure.
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

    /// Returns a quantile of the delays of packets, by the nearest rank, or `None` if there is no
    /// packet. Packets are censored unless the tail is the function's own.
    ///
    /// The quantile is attributed to the function (`is_attributed`) if the upper limit, at 99 %, of the
    /// same quantile of the controls exceeds their median by at most the share `margin`. If the
    /// origin of the tail is unknown, censored and uncensored quantiles must agree within the
    /// margin as well.
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
                let Some(value) = quiet() else { return Some(untold(of_all()?)) };
                Some(ExposedQuantile { value, is_attributed: near(self.quiet_controls()) })
            }
            TailOrigin::Undecided => {
                let uncensored = of_all()?;
                let Some(value) = quiet() else { return Some(untold(uncensored)) };
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

fn untold(value: f64) -> ExposedQuantile {
    ExposedQuantile { value, is_attributed: false }
}

/// Returns the median by the nearest rank, without sorting all values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    let place = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// The random numbers of the bootstrap: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, Fast
/// Splittable Pseudorandom Number Generators, OOPSLA 2014). The same seed yields the same interval.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests;
