//! The configuration of queues, and the text form in which it is written.

mod parse;
mod print;

pub use parse::{ConfigError, Problem};

use crate::units::MAX_QUEUES;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

/// The largest number of packets in a queue if none is configured, as in BMv2 (`simple_switch`).
pub const DEFAULT_DEPTH: u32 = 64;

/// The default weight of the current queue length in RED's moving average, which Floyd and Jacobson
/// proposed. 9 stands for a weight of 2^-9, or 1/512.
pub const RED_WEIGHT: u8 = 9;

/// The largest value of `PortConfig::overhead`, the number of bytes that each packet takes on the
/// wire in addition to its own.
pub(crate) const MAX_OVERHEAD: u32 = 65_535;

/// The largest number that a configuration may contain, such as a rate or a burst. The text form of
/// configurations has the same limit.
const LARGEST: u64 = i64::MAX as u64;

/// The queues of several ports, by port number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration(pub BTreeMap<u32, PortConfig>);

/// The queues of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// The rate at which the port sends.
    pub shaper: Shaper,
    /// The number of bytes that each packet takes on the wire in addition to its own, such as those
    /// of the preamble and the frame check sequence.
    pub overhead: u32,
    /// The largest number of bytes that wait in all queues of the port together, if limited.
    pub buffer: Option<u64>,
    /// The queues, by number. There is at least one.
    pub queues: Vec<QueueConfig>,
}

/// A queue of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// The level of the queue. Levels are served in strict priority, the largest first.
    pub level: u8,
    /// The share of the port's capacity that the queue gets in competition with other queues of its
    /// level.
    pub share: Share,
    /// The rate at which packets of the queue are released to the scheduler.
    pub shaper: Shaper,
    /// The largest number of packets that wait.
    pub depth_packets: u32,
    /// The largest number of bytes that wait, if limited.
    pub depth_bytes: Option<u64>,
    /// Random early detection, if the queue uses it.
    pub red: Option<RedConfig>,
    /// The queue length from which ECN-capable packets are marked, if the queue marks by a
    /// threshold.
    pub threshold: Option<Threshold>,
}

/// The rate limits of a port or queue. If both are set, packets obey both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shaper {
    /// The limit in bits.
    pub bits: Option<Limit>,
    /// The limit in packets.
    pub packets: Option<Limit>,
}

/// The rate and the burst of a token bucket, counted in bits or in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The rate per second.
    pub rate: NonZeroU64,
    /// The capacity of the bucket: the amount that may pass at once after a pause.
    pub burst: u64,
}

/// The amount that a queue may send in each round in which the queues of its level take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The number of packets in each round (weighted round robin).
    Packets(NonZeroU32),
    /// The number of bytes that each round adds to the queue's deficit (deficit round robin).
    Bytes(NonZeroU32),
}

/// The unit of a queue length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The number of packets.
    Packets,
    /// The number of bytes.
    Bytes,
}

/// A queue length in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// The unit of the length.
    pub unit: Unit,
    /// The queue length in this unit.
    pub length: u64,
}

/// The parameters of random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedConfig {
    /// The unit of queue lengths.
    pub unit: Unit,
    /// The average length below which no packet is dropped.
    pub minimum: u64,
    /// The average length from which all packets are dropped. Larger than the minimum.
    pub maximum: u64,
    /// The probability of a drop just below the maximum, in millionths.
    pub per_million: u32,
    /// The weight of the current queue length in the moving average, as a negative power of two: 9
    /// stands for 2^-9, or 1/512.
    pub weight: u8,
    /// Whether ECN-capable packets are marked instead of dropped, between minimum and maximum.
    pub marks: bool,
}

impl QueueConfig {
    /// Sets the largest number of packets and of bytes that wait. Either may be left out. If only
    /// `bytes` is given, the limit on packets is the same number. It never takes effect, because
    /// each packet has at least one byte.
    pub fn set_depth(&mut self, packets: Option<u32>, bytes: Option<u64>) {
        let of_bytes = bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        self.depth_packets = packets.or(of_bytes).unwrap_or(DEFAULT_DEPTH);
        self.depth_bytes = bytes;
    }

    /// Returns the default configuration of queue `number`, whose level is its number.
    #[must_use]
    pub fn new(number: u8) -> Self {
        Self {
            level: number,
            share: Share::Packets(NonZeroU32::MIN),
            shaper: Shaper::default(),
            depth_packets: DEFAULT_DEPTH,
            depth_bytes: None,
            red: None,
            threshold: None,
        }
    }
}

impl PortConfig {
    /// Returns a port with `queues` queues and without rates, where the queue with the largest
    /// number is the most urgent. The number of queues is clamped to the range from 1 to
    /// [`MAX_QUEUES`].
    #[must_use]
    pub fn new(queues: u8) -> Self {
        let queues = (0..queues.clamp(1, MAX_QUEUES)).map(QueueConfig::new).collect();
        Self { shaper: Shaper::default(), overhead: 0, buffer: None, queues }
    }

    /// Checks a configuration that was built by a program instead of parsed from text: its numbers
    /// must be in the ranges of the text form, and the queues of a port must be compatible.
    ///
    /// # Errors
    /// Returns the first fault that was found.
    pub fn check(&self) -> Result<(), Problem> {
        let within = |key: &'static str, value: u64, low: u64, high: u64| {
            let fault = || Problem::Number { key, value: value.to_string(), low, high };
            if (low..=high).contains(&value) { Ok(()) } else { Err(fault()) }
        };
        let shaped = |shaper: &Shaper| {
            let limits = [shaper.bits, shaper.packets];
            limits.iter().flatten().try_for_each(|limit| {
                within("rate", limit.rate.get(), 1, LARGEST)?;
                within("burst", limit.burst, 0, LARGEST)
            })
        };
        let count = u64::try_from(self.queues.len()).unwrap_or(u64::MAX);
        within("queues", count, 1, MAX_QUEUES.into())?;
        within("overhead", self.overhead.into(), 0, MAX_OVERHEAD.into())?;
        within("buffer", self.buffer.unwrap_or(0), 0, LARGEST)?;
        shaped(&self.shaper)?;
        for (number, queue) in self.queues.iter().enumerate() {
            within("level", queue.level.into(), 0, u64::from(MAX_QUEUES) - 1)?;
            within("depth", queue.depth_bytes.unwrap_or(0), 0, LARGEST)?;
            shaped(&queue.shaper)?;
            if let Some(threshold) = queue.threshold {
                within("ecn", threshold.length, 0, LARGEST)?;
            }
            if let Some(RedConfig { minimum, maximum, per_million, .. }) = queue.red {
                within("red maximum", maximum, minimum.saturating_add(1), LARGEST)?;
                within("red millionths", per_million.into(), 0, 1_000_000)?;
            }
            let same = |other: &&QueueConfig| other.level == queue.level;
            let is_bytes = |queue: &QueueConfig| matches!(queue.share, Share::Bytes(_));
            let mut others = self.queues.iter().take(number).filter(same);
            if others.any(|other| is_bytes(other) != is_bytes(queue)) {
                return Err(Problem::MixedShares(queue.level));
            }
        }
        Ok(())
    }

    /// Returns the number of bits that a packet of `length` bytes takes on the wire, with its
    /// overhead.
    #[must_use]
    pub fn bits(&self, length: u32) -> u64 {
        8 * (u64::from(length) + u64::from(self.overhead))
    }
}
