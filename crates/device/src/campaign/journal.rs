//! The records of a campaign's journal, and the binary form of its delays. The module `store` reads
//! and writes both.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// A time span in picoseconds. A measured delay may be negative if two clocks disagree. Reports
/// mention such delays.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Picoseconds(pub i64);

impl Picoseconds {
    /// Converts a number of nanoseconds to a time span. Numbers beyond 106 days become the longest
    /// time span.
    #[must_use]
    pub fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds.saturating_mul(1000))
    }
}

/// Formats the time in a suitable unit, such as `51.058 µs`.
impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, unit) = match self.0.unsigned_abs() {
            0..1_000 => (1.0, "ps"),
            1_000..1_000_000 => (1e3, "ns"),
            1_000_000..1_000_000_000 => (1e6, "µs"),
            1_000_000_000..1_000_000_000_000 => (1e9, "ms"),
            _ => (1e12, "s"),
        };
        let value = format!("{:.3}", self.0 as f64 / size);
        let value = value.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{value} {unit}"))
    }
}

/// A packet and its delay: an element of the set M_i of equation 5, which has the delays of one set
/// of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The number of the packet within its block (one run of packets), from 0.
    pub packet: u32,
    /// The time from the packet's timestamp before the device to the one after it.
    pub delay: Picoseconds,
}

/// A run of packets in one cell (a set of functions under one setting), as the journal of a
/// campaign records it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The cell (a set of functions under one setting) through which the packets went.
    pub cell: super::CellId,
    /// The number of times that the campaign had measured the cell before this block (run of
    /// packets).
    pub repetition: u32,
    /// The time from the start of the campaign to the first packet of the block, in nanoseconds.
    pub started_ns: u64,
    /// The time from the first packet of the block to the last, in nanoseconds.
    pub duration_ns: u64,
    /// The rate at which packets were sent, in packets per second, or `None` if each packet waited
    /// for the arrival of the previous one.
    pub packets_per_second: Option<f64>,
    /// The counts of the block's packets, such as lost ones.
    pub counts: Counts,
    /// The state of the measuring machine around the block, such as its speed, or `None` if it was
    /// not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The number of packets of the block whose delay is known.
    pub samples: u32,
    /// The number of control windows of the block: none, or one more than packets were sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub controls: u32,
    /// The offset of the block's delays in `delays.bin`, in bytes. Its control windows follow them.
    pub offset: u64,
    /// The CRC-32 of the block's delays and control windows in `delays.bin`.
    pub checksum: u32,
}

/// Returns whether a number is zero, so that the journal leaves it out.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The state of the measuring machine right before, during and right after one block (a run of
/// packets). The machine is observed only if the device uses the machine's processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The slowdown of a fixed workload, as a share of its best time. The workload is timed right
    /// before and right after the block (run of packets), and the larger slowdown counts.
    pub slower: f64,
    /// The number of earlier attempts to measure this block that were discarded because the machine
    /// was disturbed.
    pub again: u32,
    /// The time for which threads of the measurement and of the device waited for a processor, as a
    /// share of the block's duration, or `None` if it was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
    /// The time for which other programs used the cores of the measurement, as a share of the
    /// block's duration, or `None` if it was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// The median delay of the block divided by the median of the median delays of the cell's
    /// earlier blocks, or `None` if either is unknown, as for the first block of a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside_others: Option<f64>,
}

impl Machine {
    /// The largest slowdown of the fixed workload, as a share of its best time, at which a block
    /// does not count as disturbed. It is larger than the usual variation of the workload and
    /// smaller than the slowdown that another program on the same processor causes.
    pub const TOLERANCE: f64 = 0.15;
    /// The largest time for which threads may wait for a processor (`waited`), as a share of the
    /// block's duration. If it is exceeded, the block counts as disturbed. Threads of a device that
    /// wake each other wait some microseconds for each packet, whereas threads that compete with
    /// another program for their core wait whole milliseconds.
    pub const WAITING: f64 = 0.1;
    /// The largest time for which other programs may use the cores of the measurement (`others`),
    /// as a share of the block's duration. If it is exceeded, the block counts as disturbed. The
    /// kernel's own threads use some time for each packet, so the limit is not zero.
    pub const OTHERS: f64 = 0.25;
    /// The largest ratio of a block's median delay to that of the cell's other blocks at which the
    /// block does not count as disturbed. The medians of a steady device differ by some percent.
    pub const UNLIKE: f64 = 2.0;

    /// Returns whether the block counts as disturbed. This is the case if the machine was slow, if
    /// threads of the measurement waited for a processor, if other programs used their cores, or if
    /// the median delay of the block is more than [`Self::UNLIKE`] times that of the cell's other
    /// blocks.
    #[must_use]
    pub fn disturbed(self) -> bool {
        let above = |share: Option<f64>, limit: f64| share.is_some_and(|share| share > limit);
        self.slower > Self::TOLERANCE
            || above(self.waited, Self::WAITING)
            || above(self.others, Self::OTHERS)
            || above(self.beside_others, Self::UNLIKE)
    }
}

/// The numbers of blocks (runs of packets) of a campaign during which the measuring machine was
/// disturbed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disturbances {
    /// The number of measurements of blocks that were discarded and repeated because the machine
    /// was disturbed.
    pub again: u64,
    /// The number of blocks (runs of packets) that were kept although the machine was disturbed.
    pub kept: u64,
    /// The number of blocks (runs of packets) during which the machine was observed.
    pub blocks: u64,
}

/// Formats the numbers of disturbed blocks (runs of packets) as a sentence without a full stop.
impl fmt::Display for Disturbances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { again, kept, blocks } = self;
        let attempts_were =
            if *again == 1 { "attempt at a block was" } else { "attempts at blocks were" };
        write!(
            f,
            "{again} {attempts_were} repeated, since fixed work right before or after took over {:.0} % longer than at \
             its best, threads waited for over {:.0} % or other programs ran for over {:.0} % of the time, or the median was \
             over {:.0} times that of the cell's other blocks, and {kept} of {blocks} were kept all the same",
            Machine::TOLERANCE * 100.0,
            Machine::WAITING * 100.0,
            Machine::OTHERS * 100.0,
            Machine::UNLIKE,
        )
    }
}

/// Packet counts of a block (one run of packets) or a cell (all its blocks). Warm-up packets are
/// not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counts {
    /// The number of packets sent.
    pub sent: u64,
    /// The number of packets received, without duplicates.
    pub received: u64,
    /// The number of packets that did not arrive within the waiting time.
    pub lost: u64,
    /// The number of packets that arrived after a packet that was sent later.
    pub reordered: u64,
    /// The number of additional copies of packets that had already arrived.
    pub duplicated: u64,
    /// The number of arrivals that match no sent packet.
    pub unmatched: u64,
    /// The number of times that the clock was set during the measurement.
    pub clock_steps: u64,
}

/// Formats packet counts for people.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, received, lost, reordered, duplicated, unmatched, clock_steps } = self;
        write!(
            f,
            "{received} of {sent} packets, {lost} lost, {reordered} reordered, {duplicated} duplicated, {unmatched} \
             unmatched, {clock_steps} clock steps"
        )
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            lost: self.lost + other.lost,
            reordered: self.reordered + other.reordered,
            duplicated: self.duplicated + other.duplicated,
            unmatched: self.unmatched + other.unmatched,
            clock_steps: self.clock_steps + other.clock_steps,
        }
    }
}

/// The result of sending packets at one rate, in the search for the highest rate without loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateTrial {
    /// The cell (a set of functions under one setting) that was measured.
    pub cell: super::CellId,
    /// The rate in bit/s at which packets were sent. Frames count with their frame check sequence,
    /// without preamble and inter-frame gap.
    pub bits_per_second: u64,
    /// The number of packets sent.
    pub sent: u64,
    /// The number of packets lost.
    pub lost: u64,
}

/// A remark on an event during a campaign, such as an interruption.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The time of the event since the start of the campaign, in nanoseconds.
    pub at_ns: u64,
    /// The remark, as a sentence.
    pub text: String,
}

/// A line of `journal.jsonl`, the file to which a campaign appends its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalLine {
    Block(Block),
    Rate(RateTrial),
    Note(Note),
}

/// The size of a sample in `delays.bin`: the packet number (4 bytes) and the delay in picoseconds
/// (8 bytes), both little-endian.
pub(super) const SAMPLE_BYTES: usize = 12;

pub(super) fn encode(samples: &[Sample]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(samples.len() * SAMPLE_BYTES);
    for sample in samples {
        bytes.extend_from_slice(&sample.packet.to_le_bytes());
        bytes.extend_from_slice(&sample.delay.0.to_le_bytes());
    }
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Vec<Sample> {
    let number = |bytes: &[u8]| {
        let (packet, delay) = bytes.split_first_chunk()?;
        let packet = u32::from_le_bytes(*packet);
        Some(Sample { packet, delay: Picoseconds(i64::from_le_bytes(*delay.first_chunk()?)) })
    };
    bytes.chunks_exact(SAMPLE_BYTES).filter_map(number).collect()
}
