//! What tables take of a packet's time: the program in turns with itself without lookups.

use super::{CALIBRATION, Settings, Subject, see_every_flow};
use crate::method;
use crate::traffic::error::TrafficError;
use ir::UpdateMethod;
use packetio::cycles::CycleCounter;
use pipeline::{Compiled, Switch};
use statistics::Estimate;
use std::sync::Arc;

/// Cycles of the processor's counter for each packet in one worker, in two ways that take turns, by repetition.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TableAccess {
    /// The program as it is.
    pub with: Vec<f64>,
    /// The same, but every packet gets one and the same entry of each table that machine code has itself, for nothing.
    pub without: Vec<f64>,
}

impl TableAccess {
    /// The share of a packet's time that goes when its lookups do.
    #[must_use]
    pub fn share(&self) -> Option<Estimate> {
        let pairs = self.with.iter().zip(&self.without);
        Estimate::of(&pairs.map(|(with, without)| 1.0 - without / with).collect::<Vec<_>>())
    }
}

impl Subject<'_> {
    /// Turns of the program with its tables and without.
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
                let cycles = subject.alone(settings, |lane| lane.cycles(settings.time / 4))?;
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

    /// The same case without lookups; nothing where there is no clock for it.
    fn without_lookups(&self, settings: &Settings) -> Result<Option<Self>, TrafficError> {
        let asked = method::of_program(self.workload.program()).map(|_| self.case.method);
        let mut switch = Arc::new(self.workload.switch(asked)?);
        // Entries that packets add are there too.
        see_every_flow(&switch, self.workload, settings);
        let code = Arc::get_mut(&mut switch).map(Switch::compile_without_lookups);
        let is_there = code.is_some_and(|code| code.is_ok());
        let is_timed = CycleCounter::calibrate(CALIBRATION).is_some();
        Ok((is_there && is_timed).then(|| Self {
            case: self.case.clone(),
            workload: self.workload,
            switch: Some(switch),
        }))
    }
}
