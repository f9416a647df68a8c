//! Counters, meters and registers, of an array or of one entry.

use crate::data::Data;
use crate::schema::{CounterId, MeterId, RegisterId};

/// What a counter counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CounterData {
    /// Packets.
    pub packets: u64,
    /// Bytes of those packets.
    pub bytes: u64,
}

impl CounterData {
    /// Counts one packet of `bytes` bytes.
    pub fn count(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// How a meter is configured: rates in bytes or packets per second, bursts in bytes or packets
/// (RFC 2697, RFC 2698).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterConfig {
    /// Committed information rate.
    pub committed_rate: u64,
    /// Committed burst size.
    pub committed_burst: u64,
    /// Peak information rate.
    pub peak_rate: u64,
    /// Peak burst size.
    pub peak_burst: u64,
    /// Excess burst size (one rate, three colors).
    pub excess_burst: u64,
}

/// What a meter found, by color.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterCounters {
    /// Within the committed rate.
    pub green: CounterData,
    /// Above it.
    pub yellow: CounterData,
    /// Above the peak rate, or the excess burst.
    pub red: CounterData,
}

/// A cell of a counter array, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterCell {
    /// The array.
    pub id: CounterId,
    /// The cell, `None` for all.
    pub index: Option<u64>,
    /// What it counted.
    pub data: CounterData,
}

/// A cell of a meter array, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterCell {
    /// The array.
    pub id: MeterId,
    /// The cell, `None` for all.
    pub index: Option<u64>,
    /// `None` lets everything pass as green.
    pub config: Option<MeterConfig>,
    /// In a read: what it found.
    pub counters: Option<MeterCounters>,
}

/// A cell of a register array, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterCell {
    /// The array.
    pub id: RegisterId,
    /// The cell, `None` for all.
    pub index: Option<u64>,
    /// Its value.
    pub data: Data,
}
