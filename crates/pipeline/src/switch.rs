//! A running program: packets in, packets out.

use crate::architecture::{Driver, Output};
use crate::compiled::{Batch, Compiled, StageTimes, Way};
use crate::dialect::Dialect;
use crate::error::{CompileError, LoadError, RunError};
use crate::externs;
use crate::layout::{Layout, each_statement};
use crate::machine::{EndFlag, Machine, Scratch};
use crate::state::{Digest, PSA_CLONE_SESSION_TO_CPU, State};
use crate::sync::write;
use crate::table::TableState;
use crate::trace::Trace;
use ir::{Architecture, CompileLimits, Program, StatementKind};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How packets go through a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Path {
    /// The reference interpreter runs them.
    #[default]
    Interpreter,
    /// Machine code runs them ([`Core::compile`]).
    Compiled,
}

/// The first bytes of packets, with the ports that they come from.
#[derive(Clone, Copy, Debug)]
pub struct Heads<'p> {
    /// Ports and bytes.
    pub packets: &'p [(u32, &'p [u8])],
    /// The number of bytes that each packet has behind those. Empty if all bytes of all packets are
    /// given.
    pub beyond: &'p [u64],
}

impl<'p> Heads<'p> {
    /// Packets of which all bytes are given.
    pub(crate) fn whole(packets: &'p [(u32, &'p [u8])]) -> Self {
        Self { packets, beyond: &[] }
    }

    /// Returns the number of bytes behind the head at a position.
    pub(crate) fn beyond(&self, position: usize) -> u64 {
        self.beyond.get(position).copied().unwrap_or(0)
    }
}

/// A program and its state, which workers share and the control plane changes while they run: entries,
/// counters, multicast groups and all else that is not one packet's.
///
/// A change is seen by packets that look at its object after it; packets on their way keep what they found.
#[derive(Debug)]
pub struct Core {
    pub(crate) layout: Layout,
    pub(crate) driver: Driver,
    pub(crate) state: State,
    /// What runs packets in the interpreter's place, if it was asked for.
    pub(crate) code: Option<Compiled>,
}

impl Core {
    pub(crate) fn new(program: Program) -> Result<Self, LoadError> {
        Self::within(program, u64::MAX)
    }

    /// Makes a program ready whose registers and counters take at most `state_limit` bytes.
    pub(crate) fn within(program: Program, state_limit: u64) -> Result<Self, LoadError> {
        if program.version != Program::VERSION {
            return Err(LoadError::Version { found: program.version, known: Program::VERSION });
        }
        // Whoever made the program held it to limits of their own, which are within these.
        let limits = CompileLimits::widest();
        program
            .validate_within(&limits)
            .map_err(|violation| LoadError::Invalid(violation.to_string()))?;
        let layout = Layout::new(program)?;
        check_externs(&layout)?;
        let driver = Driver::new(&layout)?;
        let bytes = State::array_bytes(&layout);
        if bytes > state_limit {
            return Err(LoadError::State { bytes, limit: state_limit });
        }
        let state = State::new(&layout)?;
        Ok(Self { layout, driver, state, code: None })
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.layout.program
    }

    /// Lets machine code run packets from now on, with the same results. What is traced runs on the interpreter still.
    ///
    /// # Errors
    /// What cannot be compiled, and where the source has it; the interpreter goes on then.
    pub fn compile(&mut self) -> Result<&Compiled, CompileError> {
        self.code = None;
        let code = Compiled::new(self)?;
        self.adopt(code)
    }

    /// Runs packets on this code from now on, which finds all entries from the first packet on.
    fn adopt(&mut self, code: Compiled) -> Result<&Compiled, CompileError> {
        code.activate_tables(&self.state).map_err(|_| CompileError::Memory)?;
        Ok(self.code.insert(code))
    }

    /// Makes room for `workers` workers that will process packets, so that the first packet of each
    /// worker finds all that it needs. The entries of tables that each worker has for itself
    /// (`@tableconfig(impl = "sharded")`) are copied now.
    pub fn reserve_workers(&self, workers: usize) {
        if let Some(code) = &self.code {
            code.reserve_workers(&self.state, workers);
        }
    }

    /// Returns the number of changes so far to entries where machine code has them: entries that
    /// were inserted, changed, removed or copied. A packet that only reads entries leaves the
    /// number unchanged, even if it is the first packet. Zero on the interpreter.
    #[must_use]
    pub fn packed_changes(&self) -> u64 {
        self.state.group.changes()
    }

    /// As [`Core::compile`], but whatever its key, a packet gets the same entry of each table whose entries machine code has
    /// itself: nothing is hashed, sought or fetched, and what an action writes into the entry is gone with the batch's table.
    /// What packets become is wrong then. It is for measuring what lookups take.
    ///
    /// # Errors
    /// As [`Core::compile`].
    pub fn compile_without_lookups(&mut self) -> Result<&Compiled, CompileError> {
        self.code = None;
        let code = Compiled::without_lookups(self)?;
        self.adopt(code)
    }

    /// Entries of sharded tables (`@tableconfig(impl = "sharded")`) that packets of several workers wrote, so that each
    /// went on from a value of its own: their flows did not stay with one worker. Those are counted that a worker which
    /// went had written.
    #[must_use]
    pub fn divided_entries(&self) -> u64 {
        self.state.tables.iter().map(TableState::divided).sum()
    }

    /// The machine code that runs packets; `None` if the interpreter does.
    #[must_use]
    pub fn compiled(&self) -> Option<&Compiled> {
        self.code.as_ref()
    }

    /// Returns the ways by which packets can go: [`Way::Interpreter`], and those of machine code
    /// where that is compiled.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        let compiled = self.code.iter().flat_map(Compiled::ways);
        std::iter::once(Way::Interpreter).chain(compiled).collect()
    }

    /// Returns the code for a worker's packets, unless the worker chose the interpreter.
    fn code_for(&self, scratch: &Scratch) -> Option<&Compiled> {
        let chosen = scratch.compiled.as_ref().and_then(|memory| memory.way());
        self.code.as_ref().filter(|_| chosen != Some(Way::Interpreter))
    }

    /// Processes a packet with a worker's memory.
    pub(crate) fn process(
        &self,
        scratch: &mut Scratch,
        (port, packet): (u32, &[u8]),
        now: Duration,
        trace: Option<&mut dyn Trace>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let before = outputs.len();
        let outcome = match (self.code_for(scratch), trace) {
            (Some(code), None) => code.run(self, scratch, (port, packet), now, outputs),
            (_, trace) => {
                let trace = trace.map(|trace| -> &mut dyn Trace { trace });
                let mut machine = Machine::new(&self.layout, &self.state, scratch, trace, now)?;
                self.driver.interpret(&mut machine, port, packet, outputs)
            }
        };
        if outcome.is_err() {
            outputs.truncate(before);
        }
        outcome
    }

    /// Returns the largest number of leading bytes of a packet that the program reads, if packets
    /// with the same head and length become the same whatever is behind that, and have it at their
    /// end; `None` if the program computes with the payload, makes packets of another length or
    /// copies, or may read all of a packet.
    #[must_use]
    pub fn head_bytes(&self) -> Option<u64> {
        self.layout.head_bytes
    }

    /// Processes packets with a worker's memory, in order, each as [`Self::process`] does.
    pub(crate) fn process_batch(
        &self,
        scratch: &mut Scratch,
        heads: Heads<'_>,
        now: Duration,
        batch: &mut Batch,
    ) {
        match self.code_for(scratch) {
            Some(code) => code.run_batch(self, scratch, heads, now, batch),
            None => {
                batch.each(heads.packets, |position, packet, outputs| {
                    scratch.beyond = heads.beyond(position);
                    self.process(scratch, packet, now, None, outputs)
                });
                scratch.beyond = 0;
            }
        }
    }
}

/// What one thread needs to process packets on a core that it shares with others: memory, and random numbers of its own.
#[derive(Debug)]
pub struct Processor {
    pub(crate) scratch: Scratch,
}

impl Processor {
    /// One whose random numbers start from `seed`.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { scratch: Scratch::new(seed) }
    }

    /// As [`Switch::process`]; what leaves is appended to `outputs`.
    ///
    /// # Errors
    /// As [`Switch::process`].
    pub fn process(
        &mut self,
        core: &Core,
        packet: (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        core.process(&mut self.scratch, packet, now, None, outputs)
    }

    /// Processes packets with the ports that they come from, in order; `batch` is given what they became.
    pub fn process_batch(
        &mut self,
        core: &Core,
        packets: &[(u32, &[u8])],
        now: Duration,
        batch: &mut Batch,
    ) {
        core.process_batch(&mut self.scratch, Heads::whole(packets), now, batch);
    }

    /// Returns how many random numbers packets have drawn so far. What leaves for a packet that drew none does not depend on the
    /// seed.
    #[must_use]
    pub fn random_numbers(&self) -> u64 {
        self.scratch.drawn
    }

    /// Messages to the control plane since the last call, oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.scratch.digests)
    }

    /// Has the stages of packets in bursts timed by a clock from now on, from zero, or no longer: it takes time too, and
    /// no packet goes through all stages at once meanwhile.
    pub fn time_stages(&mut self, clock: Option<fn() -> u64>) {
        self.scratch.compiled.get_or_insert_default().time_stages(clock);
    }

    /// Sends packets by this way from now on, or by the fastest if it is `None` or the program
    /// lacks it ([`Core::ways`]). For tests that compare ways.
    pub fn choose_way(&mut self, way: Option<Way>) {
        self.scratch.compiled.get_or_insert_default().choose_way(way);
    }

    /// What the stages took since [`Self::time_stages`], in the clock's unit; nothing if no packet went in a burst.
    #[must_use]
    pub fn stage_times(&self) -> Option<StageTimes> {
        let times = self.scratch.compiled.as_ref()?.stage_times()?;
        (times.packets > 0).then_some(times)
    }
}

/// A program at work, run by the reference interpreter, or compiled ([`Switch::compile`]): a [`Core`] and one worker.
///
/// Time is a duration since an origin of the caller's choice (BMv2: since the switch started); it
/// must not go back. Random numbers depend only on the seed and on what was processed before.
#[derive(Debug)]
pub struct Switch {
    core: Core,
    scratch: Scratch,
    seed: u64,
}

impl Deref for Switch {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
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
        Ok(Self { core: Core::new(program)?, scratch: Scratch::new(seed), seed })
    }

    /// Back to the state after loading: entries of the program, empty registers, same seed.
    ///
    /// # Errors
    /// As [`Switch::new`].
    pub fn reset(&mut self) -> Result<(), LoadError> {
        let state = State::new(&self.core.layout)?;
        if let Some(code) = &self.core.code {
            code.activate_tables(&state).map_err(|_| LoadError::Memory)?;
        }
        self.core.state = state;
        self.scratch = Scratch::new(self.seed);
        Ok(())
    }

    /// As [`Core::compile`].
    ///
    /// # Errors
    /// As [`Core::compile`].
    pub fn compile(&mut self) -> Result<&Compiled, CompileError> {
        self.core.compile()
    }

    /// As [`Core::compile_without_lookups`].
    ///
    /// # Errors
    /// As [`Core::compile`].
    pub fn compile_without_lookups(&mut self) -> Result<&Compiled, CompileError> {
        self.core.compile_without_lookups()
    }

    /// Drops packets, as [`RunError::Stopped`], once `stop` is true; until [`Switch::reset`].
    pub fn end_with(&mut self, stop: Arc<AtomicBool>) {
        self.scratch.stop = Some(Arc::new(EndFlag { flag: stop }));
    }

    /// Sets the work that a packet may take, as [`Core::set_packet_work`] does.
    pub fn set_packet_work(&mut self, units: u32) {
        self.core.set_packet_work(units);
    }

    /// Sets the drop port, as [`Core::set_drop_port`] does.
    pub fn set_drop_port(&mut self, port: u16) {
        self.core.set_drop_port(port);
    }

    /// As [`Processor::time_stages`].
    pub fn time_stages(&mut self, clock: Option<fn() -> u64>) {
        self.scratch.compiled.get_or_insert_default().time_stages(clock);
    }

    /// Sends packets by this way from now on, as [`Processor::choose_way`] does.
    pub fn choose_way(&mut self, way: Option<Way>) {
        self.scratch.compiled.get_or_insert_default().choose_way(way);
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
        let mut outputs = Vec::new();
        self.core.process(&mut self.scratch, (port, packet), now, None, &mut outputs)?;
        Ok(outputs)
    }

    /// As [`Processor::process_batch`].
    pub fn process_batch(&mut self, packets: &[(u32, &[u8])], now: Duration, batch: &mut Batch) {
        self.core.process_batch(&mut self.scratch, Heads::whole(packets), now, batch);
    }

    /// Processes packets by their heads, which must have [`Core::head_bytes`] bytes or be all of a
    /// packet. Packets that leave lack what is behind the head, at their end. All else, as what is
    /// counted, is that of the whole packets.
    pub fn process_heads(&mut self, heads: Heads<'_>, now: Duration, batch: &mut Batch) {
        self.core.process_batch(&mut self.scratch, heads, now, batch);
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
        let mut outputs = Vec::new();
        self.core.process(&mut self.scratch, (port, packet), now, Some(trace), &mut outputs)?;
        Ok(outputs)
    }

    /// Messages to the control plane since the last call, oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.scratch.digests)
    }

    /// PSA: whether the switch does what BMv2's psa_switch does and the specification does not say; not
    /// at first. Then, after `targets/psa_switch` and p4c's `backends/bmv2/psa_switch`:
    /// * a `Checksum` is the hash of the last `update` alone, as a number without its leading zero bytes, instead
    ///   of all data since `clear`; this and `InternetChecksum` remember from packet to packet;
    /// * a resubmitted packet comes from port 0, instead of the port on which it was received;
    /// * metadata of clones, resubmitted and recirculated packets are zero, whatever the deparser assigned, and
    ///   parameters of one struct type are one variable;
    /// * the ingress deparser runs for packets that go to egress only, not for those that are dropped or
    ///   resubmitted;
    /// * direct counters count each hit, direct meters run at each hit, and the colour of the latter is BMv2's
    ///   number (0 green, 1 yellow, 2 red) as one of PSA (0 red, 1 green, 2 yellow);
    /// * tables with an action profile have no default action but one that the control plane sets;
    /// * bytes are counted and metered by the length that the packet had when it was received;
    /// * action selectors choose by all bits of the hash, whatever their output width;
    /// * a `select` that nothing fits ends the parser without an error;
    /// * no clone session is there at first, not even `PSA_CLONE_SESSION_TO_CPU`.
    ///
    /// What was compiled for other rules is given up: the interpreter goes on, until the program is compiled again.
    pub fn follow_psa_switch(&mut self, follow: bool) {
        if self.program().architecture == Architecture::Psa {
            let dialect = if follow { Dialect::PsaSwitch } else { Dialect::Psa };
            if self.core.layout.dialect != dialect {
                self.core.code = None;
            }
            self.core.layout.dialect = dialect;
            let to_cpu = State::clone_session_to_cpu();
            let mut sessions = write(&self.core.state.clone_sessions);
            let known = sessions.get(&PSA_CLONE_SESSION_TO_CPU);
            if !follow {
                sessions.entry(PSA_CLONE_SESSION_TO_CPU).or_insert_with(|| Arc::new(to_cpu));
            } else if known.is_some_and(|known| **known == to_cpu) {
                sessions.remove(&PSA_CLONE_SESSION_TO_CPU);
            }
        }
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
