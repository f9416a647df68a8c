//! Measures the pipeline library in memory. Each packet is processed between two readings of the
//! processor's cycle counter. A control window of fixed work follows, which is also timed by two
//! readings.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ir::bits::Bits;
use packetio::cycles::{self, CycleCounter};
use packetio::interrupts;
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
use crate::campaign::{ClockReference, Control, Picoseconds};

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
    marks_interrupts: bool,
}

/// A packet that passes a switch again and again.
#[derive(Debug, Clone, Copy)]
pub struct Repeat<'r> {
    /// The port by which the packet arrives.
    pub port: u32,
    /// The bytes of the packet, without frame check sequence.
    pub frame: &'r [u8],
    /// The number of first passes, whose delays are not recorded.
    pub warm_up: u32,
    /// The number of passes whose delays are recorded.
    pub packets: u32,
}

/// The time that a switch took for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedPacket {
    /// The time from the arrival of the packet to the last packet that it makes.
    pub delay: Picoseconds,
    /// Whether the processor was interrupted meanwhile.
    pub interrupted: bool,
}

/// The duration of a piece of work in cycles, and whether an interrupt occurred during it.
#[derive(Clone, Copy)]
struct Window {
    cycles: u64,
    interrupted: bool,
}

impl MemoryBench {
    pub(super) fn new(path: ProgramPath, ports: [u32; 2], secret: u64) -> Result<Self, BenchError> {
        let counter = CycleCounter::calibrate(Duration::from_millis(200)).ok_or_else(|| {
            failed("this processor has no cycle counter that runs at a constant rate")
        })?;
        let marks_interrupts = interrupts::available();
        let yardstick = Yardstick::default();
        Ok(Self { path, ports, secret, counter, loaded: None, yardstick, marks_interrupts })
    }

    /// Returns whether the processor indicates interrupts to the bench. If it does not, interrupts
    /// are visible only as slow control windows.
    pub(super) fn marks_interrupts(&self) -> bool {
        self.marks_interrupts
    }

    /// Runs `work` between two readings of the cycle counter, and returns its result and duration.
    #[inline(always)]
    fn timed<T>(&self, work: impl FnOnce() -> T) -> (T, Window) {
        let marks = self.marks_interrupts;
        if marks {
            interrupts::mark();
        }
        let begin = cycles::begin();
        let result = work();
        let cycles = cycles::end().wrapping_sub(begin);
        (result, Window { cycles, interrupted: marks && !interrupts::is_marked() })
    }

    /// Times a control window. `packet` is the duration of the packet before it, or `None` before
    /// the first packet.
    fn control(&self, packet: Option<Window>) -> Control {
        let (_, window) = self.timed(|| black_box(control_work(black_box(1))));
        Control {
            took: Picoseconds(self.counter.picoseconds(window.cycles)),
            interrupted: window.interrupted,
            packet_interrupted: packet.is_some_and(|packet| packet.interrupted),
        }
    }

    /// Measures the time between two adjacent readings of the cycle counter. Returns two results:
    /// the distribution of these times, which shows the error of the counter, and the resolution of
    /// the counter.
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

    /// Times a packet that passes a switch again and again, as [`Bench::run`] times its packets.
    pub(super) fn repeated(
        &self,
        switch: &mut Switch,
        repeat: &Repeat<'_>,
    ) -> Result<Vec<TimedPacket>, BenchError> {
        let mut timed = Vec::with_capacity(repeat.packets as usize);
        for number in 0..repeat.warm_up.saturating_add(repeat.packets) {
            let (outcome, window) =
                self.timed(|| switch.process(repeat.port, repeat.frame, Duration::ZERO));
            self.control(Some(window));
            outcome.map_err(failed)?;
            if number >= repeat.warm_up {
                timed.push(TimedPacket {
                    delay: Picoseconds(self.counter.picoseconds(window.cycles)),
                    interrupted: window.interrupted,
                });
            }
        }
        Ok(timed)
    }

    /// Loads the program of a task, and installs its rules.
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

/// Does fixed arithmetic in registers for about 180 ns. Each step depends on the previous one, so
/// that the duration depends only on the processor.
#[inline(never)]
fn control_work(seed: u64) -> u64 {
    (0..100_u64).fold(seed, |value, step| {
        value.rotate_left(13).wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(step)
    })
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
        let Some(mut loaded) = self.loaded.take() else {
            return Err(failed("it is not configured"));
        };
        let mut tracker = PacketTracker::new(order);
        let mut frame = Vec::new();
        let mut begin = Instant::now();
        // A reallocation would disturb the next packet.
        let mut controls = Vec::with_capacity(order.packets as usize + 1);
        let mut control = self.control(None);
        for number in 0..order.warm_up + order.packets {
            if number == order.warm_up {
                begin = Instant::now();
                controls.push(control);
            }
            let id = PacketId { run: order.run, number };
            loaded.traffic.write(id, &mut frame);
            let (outcome, window) =
                self.timed(|| loaded.switch.process(in_port, &frame, Duration::ZERO));
            control = self.control(Some(window));
            if number >= order.warm_up {
                controls.push(control);
            }
            let outputs: Vec<Output> = outcome.map_err(failed)?;
            tracker.sent(id, Picoseconds(0));
            for output in outputs.iter().filter(|output| output.port == out_port) {
                match loaded.traffic.read(&output.packet) {
                    Arrival::Packet(id) => {
                        tracker.arrived(id, Picoseconds(self.counter.picoseconds(window.cycles)));
                    }
                    Arrival::Altered(id) => tracker.altered(id),
                    Arrival::Foreign => {}
                }
            }
        }
        let duration = begin.elapsed();
        self.loaded = Some(loaded);
        let (outcome, notes) = (tracker.close(0), Vec::new());
        Ok(RunRecord { outcome, controls, duration, offered: None, notes })
    }

    fn yardstick(&mut self) -> Option<Duration> {
        Some(self.yardstick.read())
    }
}

fn failed(problem: impl std::fmt::Display) -> BenchError {
    BenchError::Device { device: "pipeline in memory".to_owned(), problem: problem.to_string() }
}
