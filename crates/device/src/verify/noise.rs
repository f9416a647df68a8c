//! Shows for each level, such as the median delay, whether functions differ by more than
//! repetitions do.

use statistics::{Ordered, standard_deviation};

use super::VerifiedCell;
use crate::campaign::{Campaign, Picoseconds};
use crate::level::Level;

/// The differences between repetitions and between functions at one level, such as the median
/// delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// The uncertainty of the level (such as the median delay) in a cell, as the median over cells.
    /// It is the standard deviation between the cell's blocks, divided by the square root of the
    /// number of blocks. For a minimum or maximum, it is the standard deviation itself.
    pub between_blocks: Picoseconds,
    /// The standard deviation of the level between the cells from which the model is derived. These
    /// have at most one function.
    pub between_functions: Picoseconds,
    /// Whether the uncertainty is smaller than the differences between cells. If it is not, the
    /// level does not distinguish functions.
    pub says_something: bool,
}

impl Noise {
    /// Returns the noise of a level, or `None` if no training cell has three blocks with delays, or
    /// if there are fewer than two training cells.
    pub(super) fn of(campaign: &Campaign, cells: &[VerifiedCell], level: Level) -> Option<Self> {
        let training: Vec<&VerifiedCell> = cells.iter().filter(|cell| cell.training).collect();
        let values =
            training.iter().filter_map(|cell| Some(cell.profile.level(level)?.value.0 as f64));
        let between_functions = standard_deviation(&values.collect::<Vec<f64>>())?;
        let deviations = training.iter().filter_map(|cell| {
            let blocks = campaign.blocks_of(cell.cell);
            let levels = blocks.filter_map(|measured| {
                let delays: Vec<i64> =
                    measured.samples.iter().map(|sample| sample.delay.0).collect();
                if delays.is_empty() {
                    return None;
                }
                match level.share() {
                    Some(share) => Ordered::of(delays).at(share).map(|delay| delay as f64),
                    None => Some(
                        delays.iter().map(|delay| *delay as f64).sum::<f64>() / delays.len() as f64,
                    ),
                }
            });
            let levels: Vec<f64> = levels.collect();
            let deviation = standard_deviation(&levels).filter(|_| levels.len() > 2)?;
            Some(match level {
                Level::Minimum | Level::Maximum => deviation,
                _ => deviation / (levels.len() as f64).sqrt(),
            })
        });
        let between_blocks = Ordered::of_numbers(deviations.collect()).at(0.5)?;
        Some(Self {
            between_blocks: Picoseconds(between_blocks.round() as i64),
            between_functions: Picoseconds(between_functions.round() as i64),
            says_something: between_blocks < between_functions,
        })
    }
}
