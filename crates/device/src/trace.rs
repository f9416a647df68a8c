//! Computes service curves from a trace of arrivals and departures: the smallest latency for which
//! D ≥ A ⊗ β holds.
//!
//! A FIFO node serves packets of lengths l_n that arrive at a_n and depart at d_n. It offers the
//! rate-latency curve β(t) = R (t - T)⁺, followed by a packetizer, exactly if d_n ≤ f_n + T for all
//! n, with f_n = max(a_n, f_(n-1)) + l_n / R and f_0 = -∞ (guaranteed-rate node; Le Boudec and
//! Thiran, Network Calculus, theorem 2.1.3). The least T for a rate is therefore max (d_n - f_n).
//! The largest T for which R (t - T)⁺ is a maximum service curve of the trace is min (d_n - f_n).
//! Taking the largest delay as T would count queueing delay twice, which this method avoids. If
//! packets pass one at a time, T = D_max - L / R.
//!
//! A trace describes the past only, so its curves are empirical.

use crate::campaign::{Picoseconds, Sample};

/// A packet as it was captured before a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// The time at which the packet was captured, in nanoseconds since any fixed time.
    pub timestamp: u64,
    /// The length of the packet in bytes, with frame check sequence, without preamble and
    /// inter-frame gap.
    pub bytes: u32,
}

/// The packets that came out of a device, with their arrival and departure times, in order of
/// arrival at the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    packets: Vec<Passed>,
}

/// A packet that passed the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Passed {
    /// The arrival time of the packet, in picoseconds since that of the first packet.
    arrived: i128,
    delay: i128,
    bits: i128,
}

/// A rate in bits per second, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

/// The service and arrival curves of a trace at one rate R.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtRate {
    /// The rate R of the service and arrival curves.
    pub rate: Rate,
    /// The smallest T for which the device offered the minimum service curve R (t - T)⁺. It is at
    /// least zero and rounded up.
    pub latency: Picoseconds,
    /// The largest T for which R (t - T)⁺ is a maximum service curve of the device, rounded down.
    /// `None` if the device was faster than this rate, so that no such T exists.
    pub least_latency: Option<Picoseconds>,
    /// The smallest b for which b + R t bounds the arrivals at the device, in bits, rounded up.
    pub burst: u64,
}

impl Rate {
    /// Creates a rate, or returns `None` for zero.
    #[must_use]
    pub fn new(bits_per_second: u64) -> Option<Self> {
        (bits_per_second > 0).then_some(Self(bits_per_second))
    }

    /// Returns this rate in bits per second.
    #[must_use]
    pub fn bits_per_second(self) -> u64 {
        self.0
    }
}

impl AtRate {
    /// Returns the delay bound b / R + T of these curves, which no packet of the trace exceeds.
    #[must_use]
    pub fn delay_bound(&self) -> Picoseconds {
        let queued = ceiling(i128::from(self.burst) * SECOND, i128::from(self.rate.0));
        narrow(queued + i128::from(self.latency.0))
    }
}

/// One second in picoseconds.
const SECOND: i128 = 1_000_000_000_000;

impl Trace {
    /// Creates a trace from the packets `before` a device and the delays of those that `passed` it.
    /// Each delay in `passed` refers to its packet by the index in `before`. Returns `None` if no
    /// packet came out.
    #[must_use]
    pub fn new(before: &[Arrived], passed: &[Sample]) -> Option<Self> {
        let mut passed: Vec<&Sample> = passed.iter().collect();
        passed.sort_by_key(|sample| sample.packet);
        let first = before.first()?.timestamp;
        let packet = |sample: &&Sample| {
            let arrived = before.get(sample.packet as usize)?;
            Some(Passed {
                arrived: (i128::from(arrived.timestamp) - i128::from(first)) * 1000,
                delay: i128::from(sample.delay.0),
                bits: i128::from(arrived.bytes) * 8,
            })
        };
        let mut packets: Vec<Passed> = passed.iter().filter_map(packet).collect();
        // If a clock was set back, the packets are not in the order of their times.
        packets.sort_by_key(|packet| packet.arrived);
        (!packets.is_empty()).then_some(Self { packets })
    }

    /// Returns the number of packets that came out of the device.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns false, since a trace has at least one packet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the longest delay of any packet.
    #[must_use]
    pub fn longest(&self) -> Picoseconds {
        narrow(self.packets.iter().map(|packet| packet.delay).max().unwrap_or_default())
    }

    /// Returns the mean rate at which packets arrived at the device, from the first to the last.
    /// Returns `None` for a single packet, or if all packets arrived at once.
    #[must_use]
    pub fn mean_rate(&self) -> Option<Rate> {
        let [first, .., last] = &self.packets[..] else { return None };
        let bits: i128 = self.packets.iter().map(|packet| packet.bits).sum();
        let rate = ((bits - first.bits) * SECOND).checked_div(last.arrived - first.arrived)?;
        Rate::new(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Returns the service curves that the device offered at this rate, and the arrival curve of
    /// its input.
    #[must_use]
    pub fn at(&self, rate: Rate) -> AtRate {
        let r = i128::from(rate.0);
        // Times are multiplied by the rate, so that all values are integers.
        let mut finish: Option<i128> = None;
        let mut late: Option<(i128, i128)> = None;
        // b = max over m ≤ n of (l_m + ... + l_n) - R (a_n - a_m).
        let (mut queued, mut burst) = (0_i128, 0_i128);
        let mut before: Option<i128> = None;
        for Passed { arrived, delay, bits } in &self.packets {
            let (arrived, work) = (arrived * r, bits * SECOND);
            let finished = finish.map_or(arrived, |finish| finish.max(arrived)) + work;
            finish = Some(finished);
            let by = arrived + delay * r - finished;
            late = Some(late.map_or((by, by), |(least, most)| (least.min(by), most.max(by))));
            queued = (queued - before.map_or(0, |before| arrived - before)).max(0) + work;
            burst = burst.max(queued);
            before = Some(arrived);
        }
        let (least, most) = late.unwrap_or_default();
        AtRate {
            rate,
            latency: narrow(ceiling(most.max(0), r)),
            least_latency: (least >= 0).then(|| narrow(least.div_euclid(r))),
            burst: u64::try_from(ceiling(burst, SECOND)).unwrap_or(u64::MAX),
        }
    }
}

/// Divides two integers and rounds up. The dividend must not be negative.
fn ceiling(dividend: i128, divisor: i128) -> i128 {
    (dividend + divisor - 1).div_euclid(divisor)
}

fn narrow(picoseconds: i128) -> Picoseconds {
    Picoseconds(i64::try_from(picoseconds).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
