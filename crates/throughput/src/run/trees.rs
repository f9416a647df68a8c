//! Measures the rate at which trees of all outcomes are computed. A packet has several outcomes if
//! a table chooses one of several group members by a hash, as in load balancing.
//!
//! The tree of a packet contains its processing for every member that could be chosen of each
//! group. Trees are always computed by the interpreter, even if packets are otherwise processed as
//! machine code.

use std::time::{Duration, Instant};

use pipeline::{Detail, Path};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use tables::machine::thread_time;
use traces::{Arrival, all_outcomes};

use super::{Findings, Progress, Settings, Stage, case_of, processor_time_since};
use crate::check::{self, Comparison, Expected, NOW};
use crate::method::Variant;
use crate::ports::io::Io;
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;

/// Measures how many trees one worker computes per second, each with at most `limit` outcomes. One
/// of the outcomes has the members that the hashes of the packet choose. Its outputs are compared
/// with those of the packet.
pub(super) fn run(
    workload: &Workload,
    limit: u64,
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Findings, TrafficError> {
    let mut learning = |done, of| progress.step(Stage::Learning, done, of);
    let expected = Expected::learn(workload, &mut learning)?;
    let mut findings = Findings { random_flows: expected.random(), ..Findings::new(Io::Memory) };
    let mut switch = workload.switch(Variant::AsWritten)?;
    let mut case = case_of(&mut switch, Path::Interpreter, 1, Comparison::default());
    for repetition in 0..settings.repetitions {
        if !progress.step(Stage::Measuring, repetition, settings.repetitions) {
            findings.interrupted = true;
            break;
        }
        let mut random = ChaCha8Rng::seed_from_u64(settings.seed.wrapping_add(repetition as u64));
        let (mut spent, mut made) = (Duration::ZERO, 0_u64);
        let begin = Instant::now();
        while made == 0 || begin.elapsed() < settings.time {
            let flow = random.random_range(0..workload.packets().len());
            let packet = &workload.packets()[flow];
            let arrival = Arrival { port: workload.port(), packet, now: NOW };
            let started = thread_time();
            let (outputs, trace) = all_outcomes(&mut switch, arrival, Detail::Steps, limit);
            spent += processor_time_since(started);
            drop(trace);
            made += 1;
            match outputs {
                Ok(outputs) => {
                    case.counts.left += outputs.len() as u64;
                    if let Some(due) = expected.of(flow) {
                        let found = outputs.iter().map(|one| (one.port, one.packet.as_slice()));
                        case.counts.checked += 1;
                        case.counts.wrong += u64::from(check::digest(found) != due);
                    }
                }
                Err(_) => case.counts.errors += 1,
            }
        }
        case.counts.processed += made;
        case.rates.push(made as f64 / spent.as_secs_f64());
    }
    findings.cases = vec![case];
    Ok(findings)
}
