//! The cycles of a workload's packets, turn by turn.

use super::{CALIBRATION, Lane, Settings, Subject, case_of, see_every_flow};
use crate::check::Comparison;
use crate::method::Variant;
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use packetio::cycles::CycleCounter;
use pipeline::Path;
use statistics::Ordered;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The cycles of packets on one execution path, on one core.
#[derive(Clone, Debug, Default)]
pub struct Repeated {
    /// The cycles per packet of each turn of 512 packets.
    pub cycles: Ordered<f64>,
    /// The reason why the program could not be compiled, or `None` if it was.
    pub refused: Option<String>,
}

/// Processes the packets of a workload in turns for the time of all repetitions, and returns the
/// cycles of each turn. The packets of a workload with one flow are equal, so that caches and branch
/// predictors are warm. The outputs are not checked. Returns `None` on a processor without a cycle
/// counter.
///
/// # Errors
/// Returns a [`TrafficError`] if the program cannot be loaded or configured.
pub fn repeated(
    workload: &Workload,
    path: Path,
    settings: &Settings,
) -> Result<Option<Repeated>, TrafficError> {
    if CycleCounter::calibrate(CALIBRATION).is_none() {
        return Ok(None);
    }
    let alone = Settings { cores: vec![1], ..settings.clone() };
    let variant = Variant::AsWritten;
    let mut switch = workload.switch(variant)?;
    let case = case_of(&mut switch, path, 1, Comparison::default());
    if case.refused.is_some() {
        return Ok(Some(Repeated { refused: case.refused, ..Repeated::default() }));
    }
    let switch = Arc::new(switch);
    see_every_flow(&switch, workload, &alone);
    let subject = Subject { case, workload, variant, idle_workers: 0, switch: Some(switch) };
    let mut turns = Vec::new();
    for repetition in 0..settings.repetitions {
        let seed = settings.seed.wrapping_add(repetition as u64);
        let alone = Settings { seed, ..alone.clone() };
        let found = subject.with_one_worker(&alone, |lane| lane.turns(alone.time))?;
        turns.extend(found.unwrap_or_default());
    }
    let cycles = Ordered::of_numbers(turns);
    Ok(Some(Repeated { cycles, refused: None }))
}

impl Lane<'_> {
    /// Processes packets for this time, and returns the cycles per packet of each turn.
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
