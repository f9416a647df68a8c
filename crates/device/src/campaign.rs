//! A campaign: all measurements of one device, as a run directory stores them.
//!
//! ```text
//! runs/20261122T090000Z-device/
//!   campaign.json     the plan, the device and the clock; written before the first packet
//!   journal.jsonl     one line per block and per offered rate, in order of time
//!   delays.bin        the (packet, delay) pairs and then the control windows of each block
//! ```
//!
//! A *function* is something that a device does for a packet beyond its baseline, such as matching
//! on a five-tuple or setting a field. A *cell* is a set of functions under one setting (packet
//! length, rules in the table, further conditions); the cell without functions is the baseline f0.
//! A *block* is a run of packets through one cell. Each cell is measured in several blocks that are
//! spread over the campaign, so that a drift of the machine affects all cells alike.
//!
//! A block belongs to the campaign once its line is in the journal, and its delays are written
//! before that line. [`Writer::resume`] removes all data that an interrupted run left after the
//! last complete line.

mod control;
mod description;
mod journal;
mod store;

pub use control::Control;
pub use description::{
    Cell, CellId, Clock, ClockReference, ClockSource, Description, DescriptionError, Device,
    Dimension, Function, FunctionName, Origin, SCHEMA, Setting,
};
pub use journal::{Block, Counts, Disturbances, Machine, Note, Picoseconds, RateTrial, Sample};
pub use store::{BlockPlan, ReadError, WriteError, Writer};

/// The measurements of one device in memory, with the delay of every packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// The description of the campaign: its device, cells and clock, as in `campaign.json`.
    pub description: Description,
    /// The measured blocks (runs of packets through one cell), in order of time.
    pub blocks: Vec<MeasuredBlock>,
    /// The results of sending packets at various rates, in order of time.
    pub rates: Vec<RateTrial>,
    /// Remarks on events during the campaign: clock steps, drifts and interruptions.
    pub notes: Vec<Note>,
}

/// One run of packets through the device in one cell (a set of functions under one setting), with
/// the delays of its packets.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredBlock {
    /// The cell (a set of functions under one setting), the time and the packet counts of this run
    /// of packets.
    pub block: Block,
    /// The delay of each packet of the run that arrived, in order of arrival.
    pub samples: Vec<Sample>,
    /// The control windows before the first packet and after each packet that was sent (empty if
    /// there are none).
    pub controls: Vec<Control>,
}

impl Campaign {
    /// Returns how many blocks of the campaign were disturbed, and how many measurements of blocks
    /// were repeated. Returns `None` if no block was disturbed or repeated, or if the machine was
    /// not observed.
    ///
    /// When a block was measured, it could be compared only with the earlier blocks of its cell.
    /// Here its median delay is compared with the median over all blocks of the cell.
    #[must_use]
    pub fn disturbances(&self) -> Option<Disturbances> {
        let mut sum = Disturbances::default();
        for id in self.description.ids() {
            let medians: Vec<Option<i64>> =
                self.blocks_of(id).map(|one| median(&one.samples)).collect();
            let mut known: Vec<i64> = medians.iter().copied().flatten().collect();
            known.sort_unstable();
            let typical = known.get(known.len().saturating_sub(1) / 2).copied();
            for (measured, own) in self.blocks_of(id).zip(&medians) {
                let Some(machine) = measured.block.machine else { continue };
                let ratio = own.zip(typical).filter(|(_, typical)| *typical > 0);
                let ratio = ratio.map(|(own, typical)| own as f64 / typical as f64);
                let is_unlike = ratio.is_some_and(|ratio| ratio > Machine::UNLIKE);
                sum.again += u64::from(machine.again);
                sum.kept += u64::from(machine.disturbed() || is_unlike);
                sum.blocks += 1;
            }
        }
        (sum.again > 0 || sum.kept > 0).then_some(sum)
    }

    /// Splits the campaign into `count` rounds, one after the other in time, and returns the
    /// campaign with only the blocks of round number `round`, counted from 0. Each round has about
    /// the same share of the repetitions of every cell. Every round has all rate trials and notes.
    #[must_use]
    pub fn round(&self, round: u32, count: u32) -> Self {
        let repetitions = self.blocks.iter().map(|one| one.block.repetition + 1).max().unwrap_or(0);
        let of = |one: &&MeasuredBlock| {
            u64::from(one.block.repetition) * u64::from(count) / u64::from(repetitions.max(1))
                == u64::from(round)
        };
        Self {
            description: self.description.clone(),
            blocks: self.blocks.iter().filter(of).cloned().collect(),
            rates: self.rates.clone(),
            notes: self.notes.clone(),
        }
    }

    /// Returns the blocks (runs of packets) that measured a cell, in order of time.
    pub fn blocks_of(&self, cell: CellId) -> impl Iterator<Item = &MeasuredBlock> {
        self.blocks.iter().filter(move |measured| measured.block.cell == cell)
    }

    /// Returns the delays of all packets that were sent in a cell (a set of functions under one
    /// setting): the set M_i of equation 5.
    #[must_use]
    pub fn delays(&self, cell: CellId) -> Vec<Picoseconds> {
        self.blocks_of(cell)
            .flat_map(|measured| &measured.samples)
            .map(|sample| sample.delay)
            .collect()
    }

    /// Returns the packet counts of a cell, summed over its blocks (runs of packets).
    #[must_use]
    pub fn counts(&self, cell: CellId) -> Counts {
        self.blocks_of(cell).fold(Counts::default(), |sum, measured| sum + measured.block.counts)
    }

    /// Returns the highest rate without loss, R_min in bit/s, of a cell: the highest tried rate
    /// without loss below the lowest tried rate with loss. Returns `None` if no rate was tried, or
    /// if even the lowest rate lost packets.
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

/// Returns the median delay in picoseconds by the nearest-rank method, or `None` without samples.
pub(crate) fn median(samples: &[Sample]) -> Option<i64> {
    let mut delays: Vec<i64> = samples.iter().map(|sample| sample.delay.0).collect();
    let place = delays.len().checked_sub(1)? / 2;
    Some(*delays.select_nth_unstable(place).1)
}
