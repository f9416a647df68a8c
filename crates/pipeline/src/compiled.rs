//! The compiled path: machine code beside the interpreter, which is its oracle.
//!
//! A program is resolved once (`bound`) and turned into one function per block with Cranelift (`generate`).
//! Both run on the state of one [`Core`]: what the control plane writes there, packets find whichever way they go.
//! Programs that the compiled path does not have everything for are refused when they are loaded.
//!
//! A packet has one budget of work, which both ways charge the same (`layout::costs`). The interpreter's limit for depth has
//! no counterpart: code does not recurse.
//!
//! Tables whose entries can be packed are used natively (`tables`). Other tables, counters and registers are call-outs into
//! the interpreter's state (`host`), and rare steps are the interpreter's own (`step`, [`Compiled::interpreted`]). The
//! drivers of the architectures run the blocks of both ways
//! (`engine`); packets that go straight through v1model, PSA or PNA have a driver of their own, in batches (`straight`).

#![allow(unsafe_code)]

mod added;
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

/// Numbers that programs were given; the first has 1.
static PROGRAMS: AtomicU64 = AtomicU64::new(1);

/// A program as machine code. It may be shared by workers.
#[derive(Debug)]
pub struct Compiled {
    bound: Bound,
    machine: generate::Machine,
    /// A packet must not run while another one does.
    runs_alone: bool,
    /// Where the straight way finds things, or why there is none.
    straight: Result<straight::Straight, plan::Refusal>,
    /// Bytes of tables up to which nobody asks the cache for their entries.
    near: u64,
    /// Tells programs apart.
    number: u64,
}

/// What machine code uses again and again.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    frame: Vec<u64>,
    frames: burst::Frames,
    /// The frame as ingress left it, for copies.
    saved: Vec<u64>,
    /// For packets that come one by one.
    batch: Batch,
    key: Vec<Bits>,
    joined: Option<tables::Joined>,
    data: Vec<u8>,
    timed: Option<Timed>,
    /// The way that packets must go, where the program has it; otherwise the fastest.
    way: Option<Way>,
}

/// Where the time of packets in bursts goes, by a clock that who asks for it brings. Meanwhile all packets go from stage
/// to stage, also those that would have all of them in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Packets that went in bursts.
    pub packets: u64,
    /// Packets copied to where they leave from, parsed, and the cache asked for their entries.
    pub parser: u64,
    /// All behind the parser: tables, actions, checksums, deparser.
    pub behind_parser: u64,
}

/// A clock, and what it showed.
#[derive(Clone, Copy, Debug)]
struct Timed {
    clock: fn() -> u64,
    times: StageTimes,
}

impl Memory {
    /// Sends packets by this way from now on, or by the fastest.
    pub(crate) fn choose_way(&mut self, way: Option<Way>) {
        self.way = way;
    }

    /// The way that packets must go.
    pub(crate) fn way(&self) -> Option<Way> {
        self.way
    }

    /// Has the stages of bursts timed from now on, or no longer.
    pub(crate) fn time_stages(&mut self, clock: Option<fn() -> u64>) {
        self.timed = clock.map(|clock| Timed { clock, times: StageTimes::default() });
    }

    /// What was found since then.
    pub(crate) fn stage_times(&self) -> Option<StageTimes> {
        self.timed.map(|timed| timed.times)
    }
}

/// Compiles where statements may nest as deeply, and calls inside of them, as programs are allowed to.
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
    /// What the compiled path does not have yet, and where the source uses it.
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

    /// Puts the entries of a state where this code finds them; see [`tables::activate`].
    pub(crate) fn activate_tables(&self, state: &State) -> Result<(), RunError> {
        tables::activate(&self.bound, state)
    }

    /// Creates what each worker has of its own in the tables of a state, for a number of workers,
    /// before the workers come.
    pub(crate) fn reserve_workers(&self, state: &State, workers: usize) {
        let tables = self.bound.natives.iter().filter_map(|position| state.tables.get(*position));
        for table in tables.filter_map(TableState::native) {
            // If memory does not suffice now, the worker tries again when it comes, and that
            // failure is reported.
            let _ = table.reserve(workers);
        }
    }

    /// Steps that code leaves to the interpreter: where in the source, and what code lacks for it. They give the same
    /// and take longer.
    pub fn interpreted(&self) -> impl Iterator<Item = (&str, &str)> {
        self.bound.steps.iter().map(|step| (step.place.as_str(), step.what.as_str()))
    }

    /// Whether machine code has the entries of a table itself, stored as the program asks (`@tableconfig`). It has none
    /// with members or groups, and none whose keys or data are too wide.
    #[must_use]
    pub fn stores(&self, table: ir::TableId) -> bool {
        self.bound.natives.contains(&table.index())
    }

    /// Whether machine code has the entries of any table itself.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        !self.bound.natives.is_empty()
    }

    /// Why packets do not go in bursts, each stage of which is one function; nothing if they do.
    #[must_use]
    pub fn one_by_one(&self) -> Option<&'static str> {
        match &self.straight {
            Ok(straight) => straight.plan.as_ref().err().copied(),
            Err(why) => Some(why),
        }
    }

    /// Bytes of machine code.
    #[must_use]
    pub fn code_size(&self) -> usize {
        self.machine.size
    }

    /// Returns the most bytes of stack that the code takes, without what it calls of the interpreter.
    #[must_use]
    pub fn stack_bytes(&self) -> u64 {
        self.machine.stack
    }

    /// Bytes of a packet's frame: headers, metadata and variables.
    #[must_use]
    pub fn frame_size(&self) -> usize {
        self.bound.frame as usize
    }
}
