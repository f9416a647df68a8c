//! The order in which cells are measured.
//!
//! Each repetition visits every cell once, in a new random order. A drift or a disturbance then
//! affects all cells alike, and differences between cells are not differences between times of day
//! (randomised complete blocks; R. A. Fisher, "The Design of Experiments", 1935, chapter 4).

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::campaign::CellId;

/// One measurement of a cell (a set of functions under one setting) in the schedule of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit {
    /// The repetition of the measurements to which the visit belongs, from 0.
    pub repetition: u32,
    /// The cell that is measured in the visit.
    pub cell: CellId,
}

/// Returns all visits of a campaign, each of which measures one cell once. In each repetition, all
/// cells are visited in a new random order. Equal seeds yield equal orders.
#[must_use]
pub fn schedule(cells: u32, repetitions: u32, seed: u64) -> Vec<Visit> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut visits = Vec::new();
    for repetition in 0..repetitions {
        let mut order: Vec<CellId> = (0..cells).map(CellId).collect();
        order.shuffle(&mut random);
        visits.extend(order.into_iter().map(|cell| Visit { repetition, cell }));
    }
    visits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_repetition_has_every_cell_once_in_an_order_of_its_own() {
        let visits = schedule(42, 5, 7);
        let mut orders = Vec::new();
        for (repetition, visits) in visits.chunks(42).enumerate() {
            let mut cells: Vec<u32> = visits.iter().map(|visit| visit.cell.0).collect();
            assert!(visits.iter().all(|visit| visit.repetition == repetition as u32));
            orders.push(cells.clone());
            cells.sort_unstable();
            assert!(cells.into_iter().eq(0..42));
        }
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 5);
        assert_eq!(schedule(42, 5, 7), visits);
        assert_ne!(schedule(42, 5, 8), visits);
    }
}
