//! The compiled path: machine code that replaces the interpreter and is tested against it.
//!
//! A program is resolved once (`resolved`) and compiled with Cranelift to a function for each block
//! (`generate`). The interpreter and machine code work on the state of one [`Core`], so packets
//! find what the control plane writes there with either of them. A program with a construct that
//! neither machine code nor the interpreter's steps can express is not compiled
//! ([`CompileError::Unsupported`]).
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

/// The number that identifies the next compiled program. The first program has number 1.
static PROGRAMS: AtomicU64 = AtomicU64::new(1);

/// A program as machine code, which workers can share.
#[derive(Debug)]
pub struct Compiled {
    resolved: ResolvedProgram,
    machine_code: generate::MachineCode,
    /// Whether packets must be processed one at a time, even if there are several workers.
    runs_alone: bool,
    /// The plan of the fast path, or the reason why the program cannot use the fast path.
    fast_path: Result<fast_path::FastPath, plan::Refusal>,
    /// Tables up to this total size in bytes stay in L2, so their entries are not prefetched.
    prefetch_threshold: u64,
    /// A number that distinguishes this program from all others of the process.
    number: u64,
}

/// The buffers of a worker that machine code reuses from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    frame: Vec<u64>,
    frames: burst::Frames,
    /// A copy of the packet's frame (its headers, metadata and variables) at the end of ingress.
    /// Egress of each replica of a packet starts from it.
    saved: Vec<u64>,
    /// The batch that holds the results of packets that are processed one by one.
    batch: Batch,
    key: Vec<Bits>,
    joined: Option<tables::Joined>,
    data: Vec<u8>,
    timed: Option<Timed>,
    /// The [`Way`] in which packets must be processed if the program can be processed in this way.
    /// `None` selects the fastest way.
    way: Option<Way>,
}

/// The time that packets in bursts spend in each stage of the compiled program. Times are in the
/// units of the clock that the caller provides. While times are measured, the parser and the code
/// after it run as two functions, even if the program has a fused function that does both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// The number of packets that were processed in bursts.
    pub packets: u64,
    /// The time for copying packets to the output buffer, parsing them, and prefetching the table
    /// entries that they select.
    pub parser: u64,
    /// The time for everything after the parser: tables, actions, checksums and the deparser.
    pub after_parser: u64,
}

/// A clock, and the times that were measured with it for the stages of bursts.
#[derive(Clone, Copy, Debug)]
struct Timed {
    clock: fn() -> u64,
    times: StageTimes,
}

impl Memory {
    /// Sets the way in which packets are processed from now on. `None` selects the fastest one.
    pub(crate) fn choose_way(&mut self, way: Option<Way>) {
        self.way = way;
    }

    /// Returns the way in which packets must be processed, or `None` for the fastest one.
    pub(crate) fn way(&self) -> Option<Way> {
        self.way
    }

    /// Starts measuring the time that bursts spend in each stage, with the given clock. `None`
    /// stops the measurement.
    pub(crate) fn time_stages(&mut self, clock: Option<fn() -> u64>) {
        self.timed = clock.map(|clock| Timed { clock, times: StageTimes::default() });
    }

    /// Returns the times of the stages since the measurement started, or `None` if none is running.
    pub(crate) fn stage_times(&self) -> Option<StageTimes> {
        self.timed.map(|timed| timed.times)
    }
}

/// Runs a compilation on a stack that is large enough for the deepest nesting of statements and
/// calls that programs may have.
fn on_large_stack<T: Send>(
    compile: impl FnOnce() -> Result<T, CompileError> + Send,
) -> Result<T, CompileError> {
    let no_thread = |error: std::io::Error| CompileError::Generator(error.to_string());
    ir::with_large_stack(compile).map_err(no_thread)?
}

impl Compiled {
    /// Compiles the program of a switch to machine code.
    ///
    /// # Errors
    /// Returns the construct that machine code cannot express, and its place in the source.
    pub fn new(core: &Core) -> Result<Self, CompileError> {
        on_large_stack(|| Self::of(core, ResolvedProgram::new(&core.layout)?))
    }

    /// Compiles the program of a switch to machine code that does not search tables; see
    /// [`Core::compile_without_lookups`].
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

    /// Stores the entries of a state's tables in the packed form that this code reads; see
    /// [`tables::activate`].
    pub(crate) fn activate_tables(&self, state: &State) -> Result<(), RunError> {
        tables::activate(&self.resolved, state)
    }

    /// Allocates the data that each of `workers` workers needs in a state's tables. Must be called
    /// before the workers start.
    pub(crate) fn reserve_workers(&self, state: &State, workers: usize) {
        let tables = self.resolved.packed.iter().filter_map(|position| state.tables.get(*position));
        for table in tables.filter_map(TableState::packed) {
            // If there is not enough memory now, the worker tries again when it starts, and that
            // failure is reported.
            let _ = table.reserve(workers);
        }
    }

    /// Returns the operations of the program that machine code leaves to the interpreter: for each,
    /// its place in the source, and the construct that machine code cannot express. Such operations
    /// have the same results as machine code would, but take longer.
    pub fn interpreted(&self) -> impl Iterator<Item = (&str, &str)> {
        let steps = self.resolved.steps.iter().map(|step| (&step.place, &step.what));
        let tables = self.resolved.tables.iter();
        let lookups =
            tables.filter_map(|table| table.interpreted.as_ref().map(|(at, what)| (at, what)));
        steps.chain(lookups).map(|(place, what)| (place.as_str(), what.as_str()))
    }

    /// Returns whether machine code searches a table itself, in the storage that the program
    /// specifies (`@tableconfig`), instead of calling a function in Rust. It does not if keys or
    /// action data are too wide, among other reasons.
    #[must_use]
    pub fn stores(&self, table: ir::TableId) -> bool {
        self.resolved.packed.contains(&table.index())
    }

    /// Returns whether there is a table that machine code searches itself, instead of calling a
    /// function in Rust.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        !self.resolved.packed.is_empty()
    }

    /// Returns why packets of this program must be processed one by one, or `None` if they are
    /// processed in bursts. In a burst, one call of a generated function takes many packets through
    /// a stage of the program.
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

    /// Returns the largest number of bytes of stack that the machine code uses. Functions of the
    /// interpreter that it calls are not included.
    #[must_use]
    pub fn stack_bytes(&self) -> u64 {
        self.machine_code.stack
    }

    /// Returns the size in bytes of a packet's frame, the memory that holds the packet's headers,
    /// metadata and variables while machine code processes it.
    #[must_use]
    pub fn frame_size(&self) -> usize {
        self.resolved.frame as usize
    }
}
