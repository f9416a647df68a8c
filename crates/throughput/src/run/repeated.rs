//! Measures the cycles that packets of several workloads take, for each turn of 512 packets.

use super::{CALIBRATION, Case, Lane, Settings, Subject, case_of, see_every_flow};
use crate::check::Comparison;
use crate::method::Variant;
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use packetio::cycles::CycleCounter;
use pipeline::{Path, Switch};
use statistics::Ordered;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The variant of the program that is measured.
const VARIANT: Variant = Variant::AsWritten;

/// The cycles that packets of several workloads take on one execution path, on one core.
#[derive(Clone, Debug, Default)]
pub struct Repeated {
    /// The cycles per packet of each turn of 512 packets, for each workload. A cycle is one of the
    /// processor's counter, whose rate does not depend on the frequency of the core.
    pub cycles: Vec<Ordered<f64>>,
    /// The rate of the counter in cycles per second.
    pub frequency: f64,
    /// The reason why the program could not be compiled, or `None` if it was.
    pub refused: Option<String>,
}

/// Processes the packets of each of several workloads of one program in turns, and returns the
/// cycles of each turn. The workloads alternate from repetition to repetition, so that changes of
/// the machine affect all of them alike. The packets of a workload with one flow are equal, so that
/// caches and branch predictors are warm. The cycles of a turn begin before the parser of its first
/// packet and end after the deparser of its last one. The outputs are not checked.
///
/// The program is compiled once, and each workload finds a switch that has just been configured for
/// it. `goes_on` receives the numbers of finished and of all measurements, and returns whether to
/// continue. Returns `None` on a processor without a cycle counter.
///
/// # Errors
/// Returns a [`TrafficError`] if the program cannot be loaded or configured, or if `goes_on` stops
/// the run.
pub fn repeated(
    workloads: &[Workload],
    path: Path,
    settings: &Settings,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Repeated>, TrafficError> {
    let Some(counter) = CycleCounter::calibrate(CALIBRATION) else { return Ok(None) };
    let mut found = Repeated { frequency: counter.frequency(), ..Repeated::default() };
    let Some(first) = workloads.first() else { return Ok(Some(found)) };
    let (mut switch, case) = compiled(first, path)?;
    if case.refused.is_some() {
        return Ok(Some(Repeated { refused: case.refused, ..found }));
    }
    let of = settings.repetitions * workloads.len();
    let mut turns: Vec<Vec<f64>> = vec![Vec::new(); workloads.len()];
    for repetition in 0..settings.repetitions {
        let seed = settings.seed.wrapping_add(repetition as u64);
        let alone = Settings { seed, cores: vec![1], ..settings.clone() };
        for (number, (workload, turns)) in workloads.iter().zip(&mut turns).enumerate() {
            if !goes_on(repetition * workloads.len() + number, of) {
                return Err(TrafficError::Interrupted);
            }
            switch.reset()?;
            workload.configure(&mut switch)?;
            let shared = Arc::new(switch);
            see_every_flow(&shared, workload, &alone);
            let subject = Subject {
                case: case.clone(),
                workload,
                variant: VARIANT,
                idle_workers: 0,
                switch: Some(Arc::clone(&shared)),
            };
            let of_workload = subject.with_one_worker(&alone, |lane| lane.turns(alone.time))?;
            turns.extend(of_workload.unwrap_or_default());
            drop(subject);
            switch = match Arc::try_unwrap(shared) {
                Ok(switch) => switch,
                // If the controller connection of an update method still refers to the switch, the
                // program is compiled again.
                Err(_) => compiled(workload, path)?.0,
            };
        }
    }
    found.cycles = turns.into_iter().map(Ordered::of_numbers).collect();
    Ok(Some(found))
}

/// Returns a switch that runs the program of a workload on an execution path, with a case that has
/// no results yet.
fn compiled(workload: &Workload, path: Path) -> Result<(Switch, Case), TrafficError> {
    let mut switch = workload.switch(VARIANT)?;
    let case = case_of(&mut switch, path, 1, Comparison::default());
    Ok((switch, case))
}

impl Lane<'_> {
    /// Processes packets for the duration `time`. Returns the cycles per packet of each turn of 512
    /// packets.
    fn turns(&mut self, time: Duration) -> Vec<f64> {
        let begin = Instant::now();
        let mut turns = Vec::new();
        while turns.is_empty() || begin.elapsed() < time {
            // Without time, the worker makes one turn.
            let (spent, packets) = self.cycles(Duration::ZERO);
            turns.push(spent as f64 / packets.max(1) as f64);
        }
        turns
    }
}
