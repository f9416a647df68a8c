//! A campaign: everything that was measured on one device, as it lies in a run directory.
//!
//! ```text
//! runs/20261122T090000Z-device/
//!   campaign.json     what was to be measured, on what, with which clock: written before the first packet
//!   journal.jsonl     a line for each block of packets and each offered rate that was tried, in order of time
//!   delays.bin        the (packet, delay) pairs of the blocks, back to back
//! ```
//!
//! A *function* is something that a device does for a packet beyond its baseline: matching on a five-tuple, setting a
//! field. A *cell* is a set of functions under one setting (packet length, rules in the table, further conditions); the
//! cell without functions is the baseline f0. A *block* is a run of packets through one cell; cells are measured in
//! several blocks that are spread over the campaign, so that a drift of the machine does not end in one cell.
//!
//! A block is in the campaign when its line is in the journal: its delays are written before the line is. What an
//! interruption leaves behind the last line is cut off when the campaign is [resumed](Writer::resume).

mod description;
mod journal;
mod store;

pub use description::{
    Cell, CellId, Clock, ClockReference, ClockSource, Description, DescriptionError, Device,
    Dimension, Function, FunctionName, Origin, SCHEMA, Setting,
};
pub use journal::{Block, Counts, Disturbances, Machine, Note, Picoseconds, RateTrial, Sample};
pub use store::{BlockPlan, ReadError, WriteError, Writer};

/// A campaign in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// What was to be measured, and how.
    pub description: Description,
    /// What was measured, in order of time.
    pub blocks: Vec<MeasuredBlock>,
    /// Offered rates that were tried, in order of time.
    pub rates: Vec<RateTrial>,
    /// What happened beside: clock steps, drifts, interruptions.
    pub notes: Vec<Note>,
}

/// A block and its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredBlock {
    /// When it was, what was sent and received.
    pub block: Block,
    /// Its (packet, delay) pairs, in order of arrival.
    pub samples: Vec<Sample>,
}

impl Campaign {
    /// How much the machine disturbed it; `None` where nothing was disturbed, or nobody looked.
    #[must_use]
    pub fn disturbances(&self) -> Option<Disturbances> {
        let seen = self.blocks.iter().filter_map(|measured| measured.block.machine);
        let sum = seen.fold(Disturbances::default(), |sum, machine| Disturbances {
            again: sum.again + u64::from(machine.again),
            kept: sum.kept + u64::from(machine.disturbed()),
            blocks: sum.blocks + 1,
        });
        (sum.again > 0 || sum.kept > 0).then_some(sum)
    }

    /// The blocks of a cell, in order of time.
    pub fn blocks_of(&self, cell: CellId) -> impl Iterator<Item = &MeasuredBlock> {
        self.blocks.iter().filter(move |measured| measured.block.cell == cell)
    }

    /// The delays of a cell: the set M_i of equation 5.
    #[must_use]
    pub fn delays(&self, cell: CellId) -> Vec<Picoseconds> {
        self.blocks_of(cell)
            .flat_map(|measured| &measured.samples)
            .map(|sample| sample.delay)
            .collect()
    }

    /// What was sent and received in all blocks of a cell.
    #[must_use]
    pub fn counts(&self, cell: CellId) -> Counts {
        self.blocks_of(cell).fold(Counts::default(), |sum, measured| sum + measured.block.counts)
    }

    /// R_min of a cell in bit/s: the last of the rising offered rates below the first at which a packet was lost. `None`
    /// where none was tried, or where the lowest already lost packets.
    #[must_use]
    pub fn loss_free_rate(&self, cell: CellId) -> Option<u64> {
        let of_cell = || self.rates.iter().filter(|trial| trial.cell == cell);
        let first_loss =
            of_cell().filter(|trial| trial.lost > 0).map(|trial| trial.bits_per_second).min();
        of_cell()
            .filter(|trial| {
                trial.lost == 0 && first_loss.is_none_or(|loss| trial.bits_per_second < loss)
            })
            .map(|trial| trial.bits_per_second)
            .max()
    }
}
