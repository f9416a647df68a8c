//! What was measured, line by line.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// A time span in picoseconds. Delays may be negative where two clocks disagree; such are reported.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Picoseconds(pub i64);

impl Picoseconds {
    /// From nanoseconds; saturates beyond 106 days.
    #[must_use]
    pub fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds.saturating_mul(1000))
    }
}

/// With the unit that suits: `51.058 µs`.
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

/// A packet and its delay: an element of M_i (equation 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The packet's number in its block.
    pub packet: u32,
    /// From its first timestamp to its second.
    pub delay: Picoseconds,
}

/// A run of packets through one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The cell.
    pub cell: super::CellId,
    /// Which repetition of the cell this is, from 0.
    pub repetition: u32,
    /// Nanoseconds from the start of the campaign to its first packet.
    pub started_ns: u64,
    /// Nanoseconds from its first packet to its last.
    pub duration_ns: u64,
    /// Offered load in packets per second; `None` where one packet waited for the other.
    pub packets_per_second: Option<f64>,
    /// What was sent and received.
    pub counts: Counts,
    /// How the machine was meanwhile; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// (packet, delay) pairs.
    pub samples: u32,
    /// Where they begin in `delays.bin`.
    pub offset: u64,
    /// Their CRC-32.
    pub checksum: u32,
}

/// How the machine that measured, and whose processor the device uses, was around a block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// By how much longer than at best fixed work took right before or right behind the block, as a share.
    pub slower: f64,
    /// How often the block was measured before and given up since the machine was slower.
    pub again: u32,
}

impl Machine {
    /// By how much longer than at best fixed work may take before a block counts as disturbed: more than it varies by
    /// itself, less than what a neighbour costs.
    pub const TOLERANCE: f64 = 0.15;

    /// Whether the machine was slower than it may be.
    #[must_use]
    pub fn disturbed(self) -> bool {
        self.slower > Self::TOLERANCE
    }
}

/// How much the machine disturbed a campaign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disturbances {
    /// Blocks that were measured and given up since the machine was slower than it may be.
    pub again: u64,
    /// Blocks that were kept although it was.
    pub kept: u64,
    /// Blocks around which it was looked at.
    pub blocks: u64,
}

/// As a sentence without its stop.
impl fmt::Display for Disturbances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { again, kept, blocks } = self;
        let tolerance = Machine::TOLERANCE * 100.0;
        let blocks_were = if *again == 1 { "block was" } else { "blocks were" };
        write!(
            f,
            "{again} {blocks_were} measured again since fixed work took over {tolerance:.0} % more than at best right \
             before or behind them, and {kept} of {blocks} kept although it did"
        )
    }
}

/// What was sent and what became of it. Warm-up packets do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counts {
    /// Packets sent.
    pub sent: u64,
    /// Packets received, each once.
    pub received: u64,
    /// Packets sent that did not arrive while they were waited for.
    pub lost: u64,
    /// Packets that arrived behind one that was sent after them.
    pub reordered: u64,
    /// Further copies of packets that had arrived.
    pub duplicated: u64,
    /// Arrivals that belong to no packet sent.
    pub unmatched: u64,
    /// Times at which a clock jumped.
    pub clock_steps: u64,
}

/// What a person is told of a file that was read.
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

/// An offered rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateTrial {
    /// The cell.
    pub cell: super::CellId,
    /// Offered, in bit/s of frames with frame check sequence, without preamble and gap.
    pub bits_per_second: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets lost.
    pub lost: u64,
}

/// Something that happened beside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Nanoseconds from the start of the campaign.
    pub at_ns: u64,
    /// A sentence.
    pub text: String,
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Block(Block),
    Rate(RateTrial),
    Note(Note),
}

/// Bytes of a sample in `delays.bin`: the packet's number, 4 bytes, and its delay in picoseconds, 8 bytes, both
/// little-endian.
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
