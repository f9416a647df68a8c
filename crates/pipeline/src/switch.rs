//! A running program: packets in, packets out.

use crate::architecture::{Driver, Output};
use crate::error::{LoadError, RunError};
use crate::externs;
use crate::layout::{Layout, each_statement};
use crate::machine::Machine;
use crate::state::{Digest, State};
use crate::trace::Trace;
use ir::{Architecture, Program, StatementKind};
use std::time::Duration;

/// The packages of ebpf_model.p4, ubpf_model.p4 and xdp_model.p4.
const CHECKED_ONLY: [&str; 3] = ["ebpfFilter", "ubpf", "xdp"];

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
        if let Architecture::Other(package) = &program.architecture
            && CHECKED_ONLY.contains(&package.as_str())
        {
            return Err(LoadError::NotEmulated(package.clone()));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use p4lang::preprocess::{MemoryFiles, Options};

    fn load(text: &str) -> Result<Switch, LoadError> {
        let compiled =
            p4lang::compile_text("test.p4", text, &Options::default(), &MemoryFiles::default());
        Switch::new(compiled.program.expect("the program compiles"))
    }

    #[test]
    fn what_is_only_checked_is_not_run() {
        let filter = "#include <ebpf_model.p4>
            struct headers { }
            parser p(packet_in packet, out headers h) { state start { transition accept; } }
            control c(inout headers h, out bool accept) { apply { accept = true; } }
            ebpfFilter(p(), c()) main;";
        assert!(matches!(load(filter), Err(LoadError::NotEmulated(name)) if name == "ebpfFilter"));
        assert!(
            load(&filter.replace("ebpfFilter(", "Box(").replace(
                "struct headers",
                "package Box<H>(parse<H> p, filter<H> f); struct headers"
            ))
            .is_ok()
        );
    }

    #[test]
    fn externs_of_a_program_are_not_those_of_another_architecture() {
        let text = "#include <v1model.p4>
            extern Counter { Counter(); void count(in bit<8> i, in bit<8> j); }
            struct empty { }
            parser p(packet_in b, out empty h, inout empty m, inout standard_metadata_t s) {
                state start { transition accept; }
            }
            control i(inout empty h, inout empty m, inout standard_metadata_t s) {
                Counter() c;
                apply { c.count(1, 2); }
            }
            control e(inout empty h, inout empty m, inout standard_metadata_t s) { apply { } }
            control k(inout empty h, inout empty m) { apply { } }
            control d(packet_out b, in empty h) { apply { } }
            V1Switch(p(), k(), i(), e(), k(), d()) main;";
        let error = load(text).err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("test.p4:9:25: i.c.count is not an extern that can be run")
        );
    }
}
