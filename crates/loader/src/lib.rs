//! Loads the pipelines that controllers push to a switch, so that none of them harms it.
//!
//! A pushed program is foreign input to a compiler. Three things protect the switch from it:
//!
//! * [`LoadLimits`] bound what a pipeline may need.
//! * The pipeline is loaded on a thread whose stack is known to suffice, while the switch goes on
//!   ([`p4runtime::session::PipelineLoad`]).
//! * With [`Isolation::Process`], a child process loads it first ([`Rehearsals`]). The child has a
//!   limit on its address space and its time. A panic, a stack overflow or an endless computation
//!   ends the child alone, whatever panics do in this build.
//!
//! The child and the switch load the same bytes with the same code and the same settings, so the
//! switch meets nothing that its child has not met. What the child made is thrown away: to move
//! machine code from one process to another would mean to trust a process that a hostile program
//! may have damaged.

mod child;
mod outcome;
mod rehearsal;

use std::time::Duration;

use ir::CompileLimits;
use p4lang::device_config::from_device_config_within;
use p4runtime::session::DeviceOptions;
use pipeline::{InterpreterTarget, Path, V1ModelSettings};

pub use child::serve;
pub use rehearsal::{Executable, RehearsalError, Rehearsals};

/// The most that the loading of a pipeline may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLimits {
    /// The largest program.
    pub compile: CompileLimits,
    /// The time until a push is refused.
    pub time: Duration,
    /// The address space in bytes of the process that loads a pipeline first. Without such a
    /// process it is not limited.
    pub memory: u64,
    /// The memory in bytes that the arrays of registers and counters of a pipeline take from the
    /// start. Entries, and arrays of more than 2^24 elements, take memory as they are used, and are
    /// not counted.
    pub state: u64,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self {
            compile: CompileLimits::default(),
            time: Duration::from_secs(30),
            memory: 2 << 30,
            state: 1 << 30,
        }
    }
}

/// The place where a pipeline is loaded that a controller pushed.
#[derive(Clone, Debug, Default)]
pub enum Isolation {
    /// A thread of the switch. A stack overflow, or a panic where panics abort, ends the switch.
    #[default]
    Thread,
    /// A child process first, then a thread of the switch.
    Process(Executable),
}

/// The treatment of the pipelines that controllers push.
#[derive(Clone, Debug, Default)]
pub struct Pushes {
    /// The most that it may take.
    pub limits: LoadLimits,
    /// The place where it happens.
    pub isolation: Isolation,
}

/// The settings with which the pipelines of a device are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The most that it may take.
    pub limits: LoadLimits,
    /// The way of packets through programs.
    pub path: Path,
    /// The settings that hold for programs of v1model.
    pub v1model: V1ModelSettings,
}

impl Default for Settings {
    fn default() -> Self {
        let (limits, v1model) = (LoadLimits::default(), V1ModelSettings::default());
        Self { limits, path: Path::Interpreter, v1model }
    }
}

impl Settings {
    /// Returns a switch without pipeline on which pipelines are loaded with these settings.
    #[must_use]
    pub fn target(&self) -> InterpreterTarget {
        let compile = self.limits.compile;
        let compile = move |config: &[u8]| from_device_config_within(config, &compile);
        InterpreterTarget::new(Box::new(compile))
            .on(self.path)
            .with_v1model(self.v1model)
            .with_state_limit(self.limits.state)
    }

    /// Returns these options with the time that a pipeline may take.
    #[must_use]
    pub fn device_options(&self, options: DeviceOptions) -> DeviceOptions {
        DeviceOptions { load_time: self.limits.time, ..options }
    }
}
