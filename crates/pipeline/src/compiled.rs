//! The compiled path: machine code that replaces the interpreter, against which it is tested.
//!
//! A program is resolved once (`resolved`) and compiled with Cranelift to one function per block
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
//! a fast path, which processes them in batches (`fast_path`).

#![allow(unsafe_code)]

mod added;
#[cfg(test)]
mod broken;
mod burst;
mod context;
mod engine;
mod exchange;
mod fast_path;
mod gather;
mod generate;
#[cfg(test)]
mod guarded;
mod host;
mod meters;
mod plan;
mod step;
mod tables;
mod way;

pub use fast_path::Batch;
pub use generate::WORKER_STACK_BYTES;
pub use way::Way;

use crate::error::{CompileError, RunError};
use crate::resolved::{Callee, ResolvedProgram};
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
    resolved: ResolvedProgram,
    machine_code: generate::MachineCode,
    /// Whether packets must not run at the same time.
    runs_alone: bool,
    /// The plan of the fast path, or the reason why the program has none.
    fast_path: Result<fast_path::FastPath, plan::Refusal>,
    /// The size in bytes up to which tables stay in L2, so that their entries are not prefetched.
    prefetch_threshold: u64,
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
    pub after_parser: u64,
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
        on_large_stack(|| Self::of(core, ResolvedProgram::new(&core.layout)?))
    }

    /// Compiles the program of a switch without lookups; see [`Core::compile_without_lookups`].
    pub(crate) fn without_lookups(core: &Core) -> Result<Self, CompileError> {
        on_large_stack(|| {
            let mut resolved = ResolvedProgram::new(&core.layout)?;
            resolved.samples = true;
            Self::of(core, resolved)
        })
    }

    fn of(core: &Core, resolved: ResolvedProgram) -> Result<Self, CompileError> {
        host::check_fields(&resolved)?;
        let fast_path = fast_path::FastPath::new(&core.layout, &resolved);
        let machine_code = generate::MachineCode::new(&resolved, fast_path.as_ref().ok())?;
        let runs_alone = resolved.blocks.iter().any(|block| match block.callee {
            Callee::Control(id) => core.layout.runs_alone(id),
            Callee::Parser(id) => core.layout.runs_alone_parser(id),
            Callee::Action(_) | Callee::Function(_) => false,
        });
        let number = PROGRAMS.fetch_add(1, Ordering::Relaxed);
        let prefetch_threshold = burst::PREFETCH_THRESHOLD;
        Ok(Self { resolved, machine_code, runs_alone, fast_path, prefetch_threshold, number })
    }

    /// Packs the entries of a state for this code; see [`tables::activate`].
    pub(crate) fn activate_tables(&self, state: &State) -> Result<(), RunError> {
        tables::activate(&self.resolved, state)
    }

    /// Allocates the per-worker data of a state's tables, for a number of workers, before the
    /// workers start.
    pub(crate) fn reserve_workers(&self, state: &State, workers: usize) {
        let tables = self.resolved.packed.iter().filter_map(|position| state.tables.get(*position));
        for table in tables.filter_map(TableState::packed) {
            // If there is not enough memory now, the worker tries again when it starts, and that
            // failure is reported.
            let _ = table.reserve(workers);
        }
    }

    /// Returns the steps that code leaves to the interpreter: the place of each in the source, and
    /// the construct that code lacks. They have the same results, but take longer.
    pub fn interpreted(&self) -> impl Iterator<Item = (&str, &str)> {
        self.resolved.steps.iter().map(|step| (step.place.as_str(), step.what.as_str()))
    }

    /// Whether machine code accesses the entries of a table itself, in the storage that the program
    /// specifies (`@tableconfig`). It does not if keys or data are too wide, among other reasons.
    #[must_use]
    pub fn stores(&self, table: ir::TableId) -> bool {
        self.resolved.packed.contains(&table.index())
    }

    /// Whether machine code accesses the entries of any table itself.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        !self.resolved.packed.is_empty()
    }

    /// Returns the reason why packets are not processed in bursts, each stage of which is one
    /// function call, or `None` if they are.
    #[must_use]
    pub fn one_by_one(&self) -> Option<&'static str> {
        match &self.fast_path {
            Ok(fast_path) => fast_path.plan.as_ref().err().copied(),
            Err(why) => Some(why),
        }
    }

    /// Returns the size of the machine code in bytes.
    #[must_use]
    pub fn code_size(&self) -> usize {
        self.machine_code.size
    }

    /// Returns the maximum number of bytes of stack that the code uses, not including the
    /// interpreter's functions that it calls.
    #[must_use]
    pub fn stack_bytes(&self) -> u64 {
        self.machine_code.stack
    }

    /// Returns the size in bytes of a packet's frame: headers, metadata and variables.
    #[must_use]
    pub fn frame_size(&self) -> usize {
        self.resolved.frame as usize
    }
}
