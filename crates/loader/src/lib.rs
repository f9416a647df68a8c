//! Loads the pipelines that controllers push to a switch, and protects the switch from harmful
//! ones.
//!
//! A pushed program is untrusted input to a compiler. Three measures protect the switch from it:
//!
//! * [`LoadLimits`] limit the resources that a pipeline may use.
//! * The pipeline is loaded on a thread with a sufficiently large stack, while the switch keeps
//!   running ([`p4runtime::session::PipelineLoad`]).
//! * With [`Isolation::Process`], a child process loads the pipeline first ([`Rehearsals`]). Its
//!   address space and its time are limited. A panic, a stack overflow or an endless computation
//!   ends only the child, even in builds in which panics abort.
//!
//! The child and the switch load the same bytes with the same code and the same settings, so the
//! switch executes nothing that has not already run in a child. The result of the child is
//! discarded. Moving machine code from the child to the switch would require trust in a process
//! that a hostile program may have corrupted.

mod child;
mod outcome;
mod rehearsal;

use std::time::Duration;

use ir::CompileLimits;
use p4lang::device_config::from_device_config_within;
use p4runtime::session::DeviceOptions;
use pipeline::{InterpreterTarget, PACKET_WORK, Path, V1ModelSettings};

pub use child::serve;
pub use rehearsal::{Executable, RehearsalError, Rehearsals};

/// The limits on a pipeline that a controller pushes: on loading it, on its state, and on the work
/// of each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLimits {
    /// The limits on the size and the nesting of a pushed program.
    pub compile: CompileLimits,
    /// The time that loading a pushed pipeline may take. A push that takes longer is refused.
    pub time: Duration,
    /// The address space, in bytes, of the child process that loads a pipeline first. Without such
    /// a process, the address space is not limited.
    pub memory: u64,
    /// The memory, in bytes, that the register and counter arrays of a pipeline allocate when it is
    /// loaded. Entries, and arrays of more than 2^24 elements, allocate memory when they are used,
    /// and do not count.
    pub state: u64,
    /// The maximum amount of work that a pipeline may do for one packet. A unit of work is one
    /// statement, one comparison, or 16 copied bytes.
    pub packet_work: u32,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self {
            compile: CompileLimits::default(),
            time: Duration::from_secs(30),
            memory: 2 << 30,
            state: 1 << 30,
            packet_work: PACKET_WORK,
        }
    }
}

/// The thread or process in which a pipeline that a controller pushes is loaded.
#[derive(Clone, Debug, Default)]
pub enum Isolation {
    /// A thread of the switch loads the pipeline. A stack overflow of the compiler ends the switch,
    /// and so does a panic in builds in which panics abort.
    #[default]
    Thread,
    /// A child process loads the pipeline first. If it succeeds, a thread of the switch loads the
    /// pipeline again.
    Process(Executable),
}

/// The limits and the isolation for pipelines that controllers push to a switch.
#[derive(Clone, Debug, Default)]
pub struct Pushes {
    /// The limits on each pushed pipeline.
    pub limits: LoadLimits,
    /// The thread or process in which pushed pipelines are loaded.
    pub isolation: Isolation,
}

/// The settings with which a device of a switch loads pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The limits on each pipeline.
    pub limits: LoadLimits,
    /// The execution path of pipelines: the interpreter or compiled code.
    pub path: Path,
    /// The settings of pipelines for the v1model architecture.
    pub v1model: V1ModelSettings,
}

impl Default for Settings {
    fn default() -> Self {
        let (limits, v1model) = (LoadLimits::default(), V1ModelSettings::default());
        Self { limits, path: Path::Interpreter, v1model }
    }
}

impl Settings {
    /// Creates a target that loads and executes pipelines with these settings.
    #[must_use]
    pub fn target(&self) -> InterpreterTarget {
        let compile = self.limits.compile;
        let compile = move |config: &[u8]| from_device_config_within(config, &compile);
        InterpreterTarget::new(Box::new(compile))
            .on(self.path)
            .with_v1model(self.v1model)
            .with_state_limit(self.limits.state)
            .with_packet_work(self.limits.packet_work)
    }

    /// Returns `options` with the time limit of these settings as its `load_time`.
    #[must_use]
    pub fn device_options(&self, options: DeviceOptions) -> DeviceOptions {
        DeviceOptions { load_time: self.limits.time, ..options }
    }
}
