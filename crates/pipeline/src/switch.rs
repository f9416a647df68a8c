//! A running program: packets in, packets out.

use crate::architecture::{Driver, Output};
use crate::error::{LoadError, RunError};
use crate::externs;
use crate::layout::{Layout, each_statement};
use crate::machine::Machine;
use crate::state::{Digest, State};
use crate::trace::Trace;
use p4lang::ir::{Program, StatementKind};
use std::time::Duration;

/// A program at work, run by the reference interpreter.
///
/// Time is a duration since an origin of the caller's choice (BMv2: since the switch started); it
/// must not go back. Random numbers depend only on the seed and on what was processed before.
#[derive(Debug)]
pub struct Switch {
    pub(crate) layout: Layout,
    pub(crate) driver: Driver,
    pub(crate) state: State,
    seed: u64,
}

impl Switch {
    /// Loads a program; random numbers start from seed 0.
    ///
    /// # Errors
    /// If the program is damaged, or needs blocks or externs that are not there.
    pub fn new(program: Program) -> Result<Self, LoadError> {
        Self::with_seed(program, 0)
    }

    /// Loads a program whose random numbers start from `seed`.
    ///
    /// # Errors
    /// As [`Switch::new`].
    pub fn with_seed(program: Program, seed: u64) -> Result<Self, LoadError> {
        if program.version != Program::VERSION {
            return Err(LoadError::Version { found: program.version, known: Program::VERSION });
        }
        program.validate().map_err(|violation| LoadError::Invalid(violation.to_string()))?;
        let layout = Layout::new(program)?;
        check_externs(&layout)?;
        let driver = Driver::new(&layout)?;
        let state = State::new(&layout, seed)?;
        Ok(Self { layout, driver, state, seed })
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.layout.program
    }

    /// Back to the state after loading: entries of the program, empty registers, same seed.
    ///
    /// # Errors
    /// As [`Switch::new`].
    pub fn reset(&mut self) -> Result<(), LoadError> {
        self.state = State::new(&self.layout, self.seed)?;
        Ok(())
    }

    /// Processes a packet that was received on `port` at `now`, and all copies that come of it.
    ///
    /// # Errors
    /// If an assertion fails or the packet never ends. What the packet changed until then (registers,
    /// counters, entries) stays changed; nothing leaves.
    pub fn process(
        &mut self,
        port: u32,
        packet: &[u8],
        now: Duration,
    ) -> Result<Vec<Output>, RunError> {
        let mut machine = Machine::new(&self.layout, &mut self.state, None, now)?;
        self.driver.process(&mut machine, port, packet)
    }

    /// As [`Switch::process`], telling `trace` what happens.
    ///
    /// # Errors
    /// As [`Switch::process`].
    pub fn process_traced(
        &mut self,
        port: u32,
        packet: &[u8],
        now: Duration,
        trace: &mut dyn Trace,
    ) -> Result<Vec<Output>, RunError> {
        let mut machine = Machine::new(&self.layout, &mut self.state, Some(trace), now)?;
        self.driver.process(&mut machine, port, packet)
    }

    /// Messages to the control plane since the last call, oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.state.digests)
    }
}

/// Refuses a program that calls what cannot be run, before the first packet.
fn check_externs(layout: &Layout) -> Result<(), LoadError> {
    let program = &layout.program;
    let mut unknown = Ok(());
    each_statement(program, &mut |statement| {
        if let StatementKind::CallExtern { callee, .. } = &statement.kind
            && unknown.is_ok()
            && !externs::known(program, callee)
        {
            unknown = Err(LoadError::UnknownExtern {
                place: layout.place_in_source(statement.location),
                name: externs::calls::name(program, callee),
            });
        }
    });
    unknown
}
