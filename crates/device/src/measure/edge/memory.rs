//! Measures the pipeline library in memory: each packet is processed between two readings of the
//! processor's cycle counter.

use std::time::{Duration, Instant};

use ir::bits::Bits;
use packetio::cycles::{self, CycleCounter};
use pipeline::{EntryAction, FieldMatch, Output, Switch, TableEntry};

use super::super::conduct::{Bench, BenchError, RunOrder, RunRecord};
use super::super::matching::PacketTracker;
use super::super::plan::ProgramPath;
use super::super::program;
use super::super::rule::rules;
use super::super::task::Task;
use super::super::traffic::{Arrival, PacketId, Traffic};
use super::programs;
use super::yardstick::Yardstick;
use crate::campaign::{ClockReference, Picoseconds};

/// A P4 program with its table entries, and the packets for it.
struct Loaded {
    task: Task,
    traffic: Traffic,
    switch: Switch,
}

/// A bench that passes packets to the pipeline library, without a network.
pub(super) struct MemoryBench {
    path: ProgramPath,
    ports: [u32; 2],
    secret: u64,
    counter: CycleCounter,
    loaded: Option<Loaded>,
    yardstick: Yardstick,
}

impl MemoryBench {
    pub(super) fn new(path: ProgramPath, ports: [u32; 2], secret: u64) -> Result<Self, BenchError> {
        let counter = CycleCounter::calibrate(Duration::from_millis(200)).ok_or_else(|| {
            failed("this processor has no cycle counter that runs at a constant rate")
        })?;
        Ok(Self { path, ports, secret, counter, loaded: None, yardstick: Yardstick::default() })
    }

    /// Measures the time between two adjacent readings of the cycle counter. Returns the
    /// distribution of these times, which shows the error of the counter, and its resolution.
    pub(super) fn reference(&self) -> (ClockReference, Picoseconds) {
        const READINGS: usize = 10_000;
        let reading = || {
            let begin = cycles::begin();
            cycles::end().wrapping_sub(begin)
        };
        let mut found: Vec<u64> = (0..READINGS).map(|_| reading()).collect();
        found.sort_unstable();
        let at = |place: usize| self.counter.picoseconds(found.get(place).copied().unwrap_or(0));
        let reference = ClockReference {
            path: "two readings of the cycle counter, with nothing between".to_owned(),
            samples: READINGS as u64,
            minimum: Picoseconds(at(0)),
            median: Picoseconds(at(READINGS / 2)),
            percentile_99: Picoseconds(at(READINGS * 99 / 100)),
            maximum: Picoseconds(at(READINGS - 1)),
        };
        let step = found.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0).min();
        (reference, Picoseconds(self.counter.picoseconds(step.unwrap_or(1)).max(1)))
    }

    /// Returns the frequency of the cycle counter in cycles per second.
    pub(super) fn frequency(&self) -> f64 {
        self.counter.frequency()
    }

    fn load(&self, task: &Task) -> Result<Loaded, BenchError> {
        let program = programs::compile(task, self.ports)?;
        let mut switch = Switch::new(program).map_err(failed)?;
        if self.path == ProgramPath::Compiled {
            switch.compile().map_err(failed)?;
        }
        let traffic = programs::traffic(task, self.ports, self.secret)?;
        let loaded = |switch| Loaded { task: task.clone(), traffic, switch };
        let Some(subject) = task.rule() else { return Ok(loaded(switch)) };
        let [in_port, out_port] = self.ports;
        let table = switch.table_named(program::TABLE).map_err(failed)?;
        let action = switch.action_named(table, program::ACTION).map_err(failed)?;
        let bits = |bits: u32, value: u128| Bits::unsigned(bits, value);
        let arguments: Vec<Bits> = program::arguments(subject.action, out_port)
            .iter()
            .map(|argument| bits(argument.bits, argument.value))
            .collect();
        for rule in rules(subject, in_port) {
            let keys = program::keys(subject.matched, &rule);
            let ternary = keys.iter().any(|key| key.mask.is_some());
            let matches = keys.iter().map(|key| match key.mask {
                None => FieldMatch::Exact(bits(key.bits, key.value)),
                Some(mask) => FieldMatch::Ternary {
                    value: bits(key.bits, key.value),
                    mask: bits(key.bits, mask),
                },
            });
            let call = switch.action_call(action, &arguments).map_err(failed)?;
            let entry = TableEntry {
                matches: matches.collect(),
                priority: u32::from(ternary),
                action: EntryAction::Action(call),
                idle_timeout: None,
            };
            switch.add_entry(table, entry, Duration::ZERO).map_err(failed)?;
        }
        Ok(loaded(switch))
    }
}

impl Loaded {
    /// Runs the program on a packet. Returns the outputs and the cycles that it took.
    fn process(&mut self, port: u32, packet: &[u8]) -> Result<(Vec<Output>, u64), BenchError> {
        let begin = cycles::begin();
        let outcome = self.switch.process(port, packet, Duration::ZERO);
        let taken = cycles::end().wrapping_sub(begin);
        Ok((outcome.map_err(failed)?, taken))
    }
}

impl Bench for MemoryBench {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        if self.loaded.as_ref().is_none_or(|loaded| loaded.task != *task) {
            self.loaded = None;
            self.loaded = Some(self.load(task)?);
        }
        Ok(())
    }

    fn run(&mut self, order: &RunOrder) -> Result<RunRecord, BenchError> {
        let [in_port, out_port] = self.ports;
        let Some(loaded) = &mut self.loaded else { return Err(failed("it is not configured")) };
        let mut tracker = PacketTracker::new(order);
        let mut frame = Vec::new();
        let mut begin = Instant::now();
        for number in 0..order.warm_up + order.packets {
            if number == order.warm_up {
                begin = Instant::now();
            }
            let id = PacketId { run: order.run, number };
            loaded.traffic.write(id, &mut frame);
            let (outputs, taken) = loaded.process(in_port, &frame)?;
            tracker.sent(id, Picoseconds(0));
            for output in outputs.iter().filter(|output| output.port == out_port) {
                match loaded.traffic.read(&output.packet) {
                    Arrival::Packet(id) => {
                        tracker.arrived(id, Picoseconds(self.counter.picoseconds(taken)));
                    }
                    Arrival::Altered(id) => tracker.altered(id),
                    Arrival::Foreign => {}
                }
            }
        }
        let duration = begin.elapsed();
        Ok(RunRecord { outcome: tracker.close(0), duration, offered: None, notes: Vec::new() })
    }

    fn yardstick(&mut self) -> Option<Duration> {
        Some(self.yardstick.read())
    }
}

fn failed(problem: impl std::fmt::Display) -> BenchError {
    BenchError::Device { device: "pipeline in memory".to_owned(), problem: problem.to_string() }
}
