//! The compiled path: machine code that replaces the interpreter, against which it is tested.
//!
//! A program is resolved once (`bound`) and compiled with Cranelift to one function per block
//! (`generate`). Interpreter and machine code work on the state of one [`Core`], so packets find
//! what the control plane writes there with either. Programs that use a construct which the
//! compiled path lacks are refused when they are loaded.
//!
//! A packet has one budget of work, which both implementations charge in the same way
//! (`layout::costs`). The interpreter's limit of nesting has no counterpart, because machine code
//! does not recurse.
//!
//! Machine code accesses packed tables itself (`tables`). It accesses other tables, counters and
//! registers in the interpreter's state by host calls (`host`), and leaves rare steps to the
//! interpreter (`step`, [`Compiled::interpreted`]). The drivers of the architectures run blocks of
//! both kinds (`engine`). Packets that need no copies or further passes in v1model, PSA or PNA take
//! a fast path, which processes them in batches (`straight`).

#![allow(unsafe_code)]

mod added;
#[cfg(test)]
mod broken;
mod burst;
mod context;
mod engine;
mod exchange;
mod gather;
mod generate;
#[cfg(test)]
mod guarded;
mod host;
mod meters;
mod plan;
mod step;
mod straight;
mod tables;
mod way;

pub use generate::WORKER_STACK_BYTES;
pub use straight::Batch;
pub use way::Way;

use crate::bound::{Bound, Callee};
use crate::error::{CompileError, RunError};
use crate::state::State;
use crate::switch::Core;
use crate::table::TableState;
use ir::bits::Bits;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the next program. The first one is 1.
static PROGRAMS: AtomicU64 = AtomicU64::new(1);

/// A program as machine code, which workers can share.
#[derive(Debug)]
pub struct Compiled {
    bound: Bound,
    machine: generate::Machine,
    /// Whether packets must not run at the same time.
    runs_alone: bool,
    /// The plan of the fast path, or the reason why the program has none.
    straight: Result<straight::Straight, plan::Refusal>,
    /// The size in bytes up to which tables stay in L2, so that their entries are not prefetched.
    near: u64,
    /// The number of the program, by which programs are distinguished.
    number: u64,
}

/// The memory that machine code reuses from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    frame: Vec<u64>,
    frames: burst::Frames,
    /// The frame as ingress left it, from which copies are made.
    saved: Vec<u64>,
    /// The batch for packets that are processed one by one.
    batch: Batch,
    key: Vec<Bits>,
    joined: Option<tables::Joined>,
    data: Vec<u8>,
    timed: Option<Timed>,
    /// The way that packets must take, if the program has it. `None` selects the fastest.
    way: Option<Way>,
}

/// The time that packets in bursts spend in each stage, in units of the clock that the caller
/// provides. While times are measured, all packets go from stage to stage, even if the program has
/// a fused function for all stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// The number of packets in bursts.
    pub packets: u64,
    /// The time for copying packets to the output buffer, parsing them, and prefetching their
    /// entries.
    pub parser: u64,
    /// The time for everything after the parser: tables, actions, checksums, deparser.
    pub behind_parser: u64,
}

/// A clock, and the times measured with it.
#[derive(Clone, Copy, Debug)]
struct Timed {
    clock: fn() -> u64,
    times: StageTimes,
}

impl Memory {
    /// Selects the way that packets take from now on, or the fastest.
    pub(crate) fn choose_way(&mut self, way: Option<Way>) {
        self.way = way;
    }

    /// Returns the selected way.
    pub(crate) fn way(&self) -> Option<Way> {
        self.way
    }

    /// Starts measuring the stages of bursts, or stops if there is no clock.
    pub(crate) fn time_stages(&mut self, clock: Option<fn() -> u64>) {
        self.timed = clock.map(|clock| Timed { clock, times: StageTimes::default() });
    }

    /// Returns the times since the measurement started.
    pub(crate) fn stage_times(&self) -> Option<StageTimes> {
        self.timed.map(|timed| timed.times)
    }
}

/// Compiles on a stack that is large enough for the permitted nesting of statements and calls.
fn on_large_stack<T: Send>(
    compile: impl FnOnce() -> Result<T, CompileError> + Send,
) -> Result<T, CompileError> {
    let no_thread = |error: std::io::Error| CompileError::Generator(error.to_string());
    ir::with_large_stack(compile).map_err(no_thread)?
}

impl Compiled {
    /// Compiles the program of a switch.
    ///
    /// # Errors
    /// Returns the construct that the compiled path lacks, and its place in the source.
    pub fn new(core: &Core) -> Result<Self, CompileError> {
        on_large_stack(|| Self::of(core, Bound::new(&core.layout)?))
    }

    /// Compiles the program of a switch without lookups; see [`Core::compile_without_lookups`].
    pub(crate) fn without_lookups(core: &Core) -> Result<Self, CompileError> {
        on_large_stack(|| {
            let mut bound = Bound::new(&core.layout)?;
            bound.samples = true;
            Self::of(core, bound)
        })
    }

    fn of(core: &Core, bound: Bound) -> Result<Self, CompileError> {
        host::check_fields(&bound)?;
        let straight = straight::Straight::new(&core.layout, &bound);
        let machine = generate::Machine::new(&bound, straight.as_ref().ok())?;
        let runs_alone = bound.blocks.iter().any(|block| match block.callee {
            Callee::Control(id) => core.layout.runs_alone(id),
            Callee::Parser(id) => core.layout.runs_alone_parser(id),
            Callee::Action(_) | Callee::Function(_) => false,
        });
        let number = PROGRAMS.fetch_add(1, Ordering::Relaxed);
        let near = burst::NEAR;
        Ok(Self { bound, machine, runs_alone, straight, near, number })
    }

    /// Packs the entries of a state for this code; see [`tables::activate`].
    pub(crate) fn activate_tables(&self, state: &State) -> Result<(), RunError> {
        tables::activate(&self.bound, state)
    }

    /// Allocates the per-worker data of a state's tables, for a number of workers, before the
    /// workers start.
    pub(crate) fn reserve_workers(&self, state: &State, workers: usize) {
        let tables = self.bound.natives.iter().filter_map(|position| state.tables.get(*position));
        for table in tables.filter_map(TableState::native) {
            // If there is not enough memory now, the worker tries again when it starts, and that
            // failure is reported.
            let _ = table.reserve(workers);
        }
    }

    /// Returns the steps that code leaves to the interpreter: the place of each in the source, and
    /// the construct that code lacks. They have the same results, but take longer.
    pub fn interpreted(&self) -> impl Iterator<Item = (&str, &str)> {
        self.bound.steps.iter().map(|step| (step.place.as_str(), step.what.as_str()))
    }

    /// Whether machine code accesses the entries of a table itself, in the storage that the program
    /// specifies (`@tableconfig`). It does not if keys or data are too wide, among other reasons.
    #[must_use]
    pub fn stores(&self, table: ir::TableId) -> bool {
        self.bound.natives.contains(&table.index())
    }

    /// Whether machine code accesses the entries of any table itself.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        !self.bound.natives.is_empty()
    }

    /// Returns the reason why packets are not processed in bursts, each stage of which is one
    /// function call, or `None` if they are.
    #[must_use]
    pub fn one_by_one(&self) -> Option<&'static str> {
        match &self.straight {
            Ok(straight) => straight.plan.as_ref().err().copied(),
            Err(why) => Some(why),
        }
    }

    /// Returns the size of the machine code in bytes.
    #[must_use]
    pub fn code_size(&self) -> usize {
        self.machine.size
    }

    /// Returns the maximum number of bytes of stack that the code uses, not including the
    /// interpreter's functions that it calls.
    #[must_use]
    pub fn stack_bytes(&self) -> u64 {
        self.machine.stack
    }

    /// Returns the size in bytes of a packet's frame: headers, metadata and variables.
    #[must_use]
    pub fn frame_size(&self) -> usize {
        self.bound.frame as usize
    }
}
