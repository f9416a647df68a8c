//! Cells of counter, meter and register arrays, and the data of direct counters and meters.

use crate::data::Data;
use crate::schema::{CounterId, MeterId, RegisterId};

/// The value of a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CounterData {
    /// The number of packets that were counted.
    pub packets: u64,
    /// The number of bytes in those packets.
    pub bytes: u64,
}

impl CounterData {
    /// Counts one packet of `bytes` bytes.
    pub fn count(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// The configuration of a meter. Rates are in bytes or packets per second, bursts in bytes or
/// packets (RFC 2697, RFC 2698).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterConfig {
    /// The committed information rate of the meter.
    pub committed_rate: u64,
    /// The committed burst size of the meter.
    pub committed_burst: u64,
    /// The peak information rate of the meter.
    pub peak_rate: u64,
    /// The peak burst size of the meter.
    pub peak_burst: u64,
    /// The excess burst size, for a meter with a single rate and three colors.
    pub excess_burst: u64,
}

/// The packets that a meter has marked, by color.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterCounters {
    /// The packets within the committed rate and burst.
    pub green: CounterData,
    /// The packets above the committed rate, but not above the peak rate or the excess burst.
    pub yellow: CounterData,
    /// The packets above the peak rate, or above the excess burst.
    pub red: CounterData,
}

/// A cell of a counter array, or all of its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterCell {
    /// The identifier of the array.
    pub id: CounterId,
    /// The index of the cell in the array, or `None` for all cells.
    pub index: Option<u64>,
    /// The value of each cell.
    pub data: CounterData,
}

/// A cell of a meter array, or all of its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterCell {
    /// The identifier of the array.
    pub id: MeterId,
    /// The index of the cell in the array, or `None` for all cells.
    pub index: Option<u64>,
    /// The configuration of the meter. Without one, the meter marks all packets green.
    pub config: Option<MeterConfig>,
    /// The packets that the meter has marked. They are present only when the cell is read.
    pub counters: Option<MeterCounters>,
}

/// A cell of a register array, or all of its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterCell {
    /// The identifier of the array.
    pub id: RegisterId,
    /// The index of the cell in the array, or `None` for all cells.
    pub index: Option<u64>,
    /// The value of each cell.
    pub data: Data,
}
