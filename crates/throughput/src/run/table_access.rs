//! The cost of table lookups: the difference between a program and a variant of it without lookups.

use super::{CALIBRATION, Settings, Subject, see_every_flow};
use crate::traffic::error::TrafficError;
use ir::UpdateMethod;
use packetio::cycles::CycleCounter;
use pipeline::{Compiled, Switch};
use statistics::Estimate;
use std::sync::Arc;

/// The cycles per packet in one worker, for a program with and without table lookups, one value per
/// repetition. Measurements of the two alternate.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TableAccess {
    /// The cycles per packet of the unmodified program.
    pub with: Vec<f64>,
    /// The cycles per packet of the program without lookups: each table that machine code
    /// implements returns the same entry for every packet.
    pub without: Vec<f64>,
}

impl TableAccess {
    /// Returns the share of the processing time of a packet that table lookups take.
    #[must_use]
    pub fn share(&self) -> Option<Estimate> {
        let pairs = self.with.iter().zip(&self.without);
        Estimate::of(&pairs.map(|(with, without)| 1.0 - without / with).collect::<Vec<_>>())
    }
}

impl Subject<'_> {
    /// Measures the cycles per packet with and without table lookups, in alternation, and stores
    /// them in the results of the case.
    pub(super) fn table_access(&mut self, settings: &Settings) -> Result<(), TrafficError> {
        let code = self.switch.as_ref().and_then(|switch| switch.compiled());
        let has_tables = code.is_some_and(Compiled::has_tables);
        if !has_tables || self.case.cores != 1 || self.case.method != UpdateMethod::Pointer {
            return Ok(());
        }
        let Some(without) = self.without_lookups(settings)? else { return Ok(()) };
        let mut found = TableAccess::default();
        for repetition in 0..settings.repetitions {
            let seed = settings.seed.wrapping_add(repetition as u64);
            let settings = &Settings { seed, ..settings.clone() };
            let cycles = |subject: &Self| -> Result<Option<f64>, TrafficError> {
                let cycles =
                    subject.with_one_worker(settings, |lane| lane.cycles(settings.time / 4))?;
                Ok(cycles.map(|(spent, packets)| spent as f64 / packets as f64))
            };
            if let (Some(with), Some(without)) = (cycles(self)?, cycles(&without)?) {
                found.with.push(with);
                found.without.push(without);
            }
        }
        self.case.table_access = Some(found);
        Ok(())
    }

    /// Returns a case that runs the program without table lookups, or `None` if there is no machine
    /// code or no cycle counter for it.
    fn without_lookups(&self, settings: &Settings) -> Result<Option<Self>, TrafficError> {
        let mut switch = Arc::new(self.workload.switch(self.variant)?);
        // The packets of all flows add the entries of tables with `add_on_miss`.
        see_every_flow(&switch, self.workload, settings);
        let code = Arc::get_mut(&mut switch).map(Switch::compile_without_lookups);
        let is_there = code.is_some_and(|code| code.is_ok());
        let is_timed = CycleCounter::calibrate(CALIBRATION).is_some();
        Ok((is_there && is_timed).then(|| Self {
            case: self.case.clone(),
            workload: self.workload,
            variant: self.variant,
            idle_workers: self.idle_workers,
            switch: Some(switch),
        }))
    }
}
