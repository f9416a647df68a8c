//! A running program, which receives packets and returns packets.

use crate::architecture::engine::InterpreterEngine;
use crate::architecture::waiting::{AtQueues, QueueTimes, REPLACED, Waiting};
use crate::architecture::{Driver, Output};
use crate::compiled::{Batch, Compiled, StageTimes, Way};
use crate::dialect::Dialect;
use crate::error::{CompileError, LoadError, RunError};
use crate::interpreter::externs::calls;
use crate::interpreter::{EndFlag, Interpreter, Scratch};
use crate::layout::{Layout, each_statement};
use crate::state::{Digest, PSA_CLONE_SESSION_TO_CPU, State};
use crate::table::TableState;
use crate::trace::{Checkpoint, Trace};
use crate::translated::Translated;
use crate::value::Value;
use ir::{Architecture, CompileLimits, Location, Program, StatementKind, TypeId};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The implementation that processes packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Path {
    /// The reference interpreter.
    #[default]
    Interpreter,
    /// Machine code ([`Core::compile`]).
    Compiled,
}

/// The conditions under which a packet is processed without lasting effects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrialConditions {
    /// The time of the switch at which the packet arrives.
    pub(crate) now: Duration,
    /// Whether the packet ends at the queue of its port, if there is one, or continues to egress.
    pub(crate) at_queues: AtQueues,
}

/// Packets of which only the first bytes are in memory, with the ports on which they were received.
#[derive(Clone, Copy, Debug)]
pub struct Heads<'p> {
    /// The port on which each packet was received, and those bytes of the packet that are in
    /// memory.
    pub packets: &'p [(u32, &'p [u8])],
    /// The number of bytes of each packet that follow the bytes in memory. The slice is empty if
    /// `packets` contains all bytes of all packets.
    pub beyond: &'p [u64],
}

impl<'p> Heads<'p> {
    /// Creates heads for packets that are completely in memory.
    pub(crate) fn whole(packets: &'p [(u32, &'p [u8])]) -> Self {
        Self { packets, beyond: &[] }
    }

    /// Returns the number of bytes of the packet at a position that are not in memory.
    pub(crate) fn beyond(&self, position: usize) -> u64 {
        self.beyond.get(position).copied().unwrap_or(0)
    }
}

/// A program and its state, which workers share and the control plane changes while they run:
/// entries, counters, multicast groups, and everything else that does not belong to one packet.
///
/// A change affects packets that access the changed object afterwards. Packets in processing
/// continue with the objects that they have found.
#[derive(Debug)]
pub struct Core {
    pub(crate) layout: Layout,
    pub(crate) driver: Driver,
    pub(crate) state: State,
    /// The machine code that replaces the interpreter, if the program was compiled.
    pub(crate) code: Option<Compiled>,
    /// The types of the program whose values controllers see as strings. Empty if the switch has no
    /// P4Info.
    translated: Arc<Translated>,
}

impl Core {
    pub(crate) fn new(program: Program) -> Result<Self, LoadError> {
        Self::within(program, u64::MAX)
    }

    /// Loads a program. Fails if its registers and counters take more than `state_limit` bytes.
    pub(crate) fn within(program: Program, state_limit: u64) -> Result<Self, LoadError> {
        if program.version != Program::VERSION {
            return Err(LoadError::Version { found: program.version, known: Program::VERSION });
        }
        // The compiler that produced the program applied its own limits, which are within these.
        let limits = CompileLimits::widest();
        program.validate_within(&limits).map_err(|violation| match violation.limit {
            Some(_) => LoadError::Exceeded(violation.to_string()),
            None => LoadError::Invalid(violation.to_string()),
        })?;
        let layout = Layout::new(program)?;
        check_externs(&layout)?;
        let driver = Driver::new(&layout)?;
        let bytes = State::array_bytes(&layout);
        if bytes > state_limit {
            return Err(LoadError::State { bytes, limit: state_limit });
        }
        let state = State::new(&layout)?;
        Ok(Self { layout, driver, state, code: None, translated: Arc::default() })
    }

    /// Returns the program that the switch runs.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.layout.program
    }

    /// Sets the translated types of the program, whose values controllers see as strings.
    pub(crate) fn set_translated(&mut self, translated: Arc<Translated>) {
        self.translated = translated;
    }

    /// Returns the translated types of the program, whose values controllers see as strings.
    #[must_use]
    pub fn translated(&self) -> &Arc<Translated> {
        &self.translated
    }

    /// Compiles the program to machine code, which processes packets from now on, with the same
    /// results. Packets that are traced are still processed by the interpreter.
    ///
    /// # Errors
    /// Returns the construct that cannot be compiled, and its place in the source. The interpreter
    /// then continues to process packets.
    pub fn compile(&mut self) -> Result<&Compiled, CompileError> {
        self.code = None;
        let code = Compiled::new(self)?;
        self.adopt(code)
    }

    /// Makes compiled code process packets from now on. First, existing entries are stored in the
    /// form that the code reads.
    fn adopt(&mut self, code: Compiled) -> Result<&Compiled, CompileError> {
        code.activate_tables(&self.state).map_err(|error| match error {
            RunError::Internal(error) => CompileError::Internal(error),
            _ => CompileError::Memory,
        })?;
        Ok(self.code.insert(code))
    }

    /// Allocates the memory that `workers` workers need in tables, so that the first packet of each
    /// worker need not. Tables that give each worker its own entries (`@tableconfig(impl =
    /// "sharded")`) are copied now.
    pub fn reserve_workers(&self, workers: usize) {
        if let Some(code) = &self.code {
            code.reserve_workers(&self.state, workers);
        }
    }

    /// Returns how many times machine code's copy of an entry was inserted, changed, removed or
    /// copied so far. A packet that only reads entries does not change this number, not even the
    /// first packet. It is zero if the interpreter processes packets.
    #[must_use]
    pub fn packed_changes(&self) -> u64 {
        self.state.group.changes()
    }

    /// Compiles like [`Core::compile`], except that tables are not searched: a lookup in a packed
    /// table returns the same entry for all keys, and what an action writes to that entry is lost
    /// after the batch. The output of packets is then wrong. This serves to measure the cost of
    /// lookups.
    ///
    /// # Errors
    /// Fails as [`Core::compile`] does.
    pub fn compile_without_lookups(&mut self) -> Result<&Compiled, CompileError> {
        self.code = None;
        let code = Compiled::without_lookups(self)?;
        self.adopt(code)
    }

    /// Sets how a change of an entry waits before it goes from one replica of its table to the
    /// other. Tables of machine code wait until all packets have left the replica that is changed,
    /// which needs no clock. The base system of Simon et al. (ANCS 2021) waits for a fixed time,
    /// which is supported for comparisons with it.
    pub fn set_wait_of_changes(&self, wait: tables::Wait) {
        self.state.tables.iter().for_each(|table| table.set_wait(wait));
    }

    /// Returns the number of entries of sharded tables (`@tableconfig(impl = "sharded")`) that
    /// several workers have written, because packets of one flow went to different workers. Each of
    /// these workers has its own value of the entry. Only writes of workers that have ended are
    /// included.
    #[must_use]
    pub fn divided_entries(&self) -> u64 {
        self.state.tables.iter().map(TableState::divided).sum()
    }

    /// Returns the machine code that processes packets, or `None` if the interpreter does.
    #[must_use]
    pub fn compiled(&self) -> Option<&Compiled> {
        self.code.as_ref()
    }

    /// Returns the ways in which packets can be processed: [`Way::Interpreter`], and those of
    /// machine code if the program is compiled.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        let compiled = self.code.iter().flat_map(Compiled::ways);
        std::iter::once(Way::Interpreter).chain(compiled).collect()
    }

    /// Returns the machine code for a worker's packets. Returns `None` if there is none, or if the
    /// worker has chosen the interpreter.
    fn code_for(&self, scratch: &Scratch) -> Option<&Compiled> {
        let chosen = scratch.compiled.as_ref().and_then(|memory| memory.way());
        self.code.as_ref().filter(|_| chosen != Some(Way::Interpreter))
    }

    /// Processes a packet in the buffers of one worker.
    pub(crate) fn process(
        &self,
        scratch: &mut Scratch,
        (port, packet): (u32, &[u8]),
        now: Duration,
        trace: Option<&mut dyn Trace>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let before = (outputs.len(), scratch.waiting.len());
        let outcome = match (self.code_for(scratch), trace) {
            (Some(code), None) => code.run(self, scratch, (port, packet), now, outputs),
            (_, trace) => {
                let trace = trace.map(|trace| -> &mut dyn Trace { trace });
                let mut interpreter =
                    Interpreter::new(&self.layout, &self.state, scratch, trace, now)?;
                self.driver.interpret(&mut interpreter, port, packet, outputs)
            }
        };
        if outcome.is_err() {
            outputs.truncate(before.0);
            scratch.waiting.truncate(before.1);
        }
        outcome
    }

    /// Processes a packet in the interpreter without lasting effects, like [`Switch::try_process`].
    pub(crate) fn try_process(
        &self,
        scratch: &mut Scratch,
        (port, packet): (u32, &[u8]),
        conditions: TrialConditions,
        trace: &mut dyn Trace,
    ) -> Result<Vec<Output>, RunError> {
        self.try_with(scratch, conditions, trace, |interpreter, outputs| {
            interpreter.try_only();
            self.driver.interpret(interpreter, port, packet, outputs)
        })
    }

    /// Resumes a packet from a checkpoint without lasting effects, like [`Switch::try_again`].
    pub(crate) fn try_again(
        &self,
        scratch: &mut Scratch,
        checkpoint: &Checkpoint,
        conditions: TrialConditions,
        trace: &mut dyn Trace,
    ) -> Result<Vec<Output>, RunError> {
        self.try_with(scratch, conditions, trace, |interpreter, outputs| {
            self.driver.try_again(interpreter, checkpoint, outputs)
        })
    }

    /// Calls `run` with an interpreter in which the packet has no lasting effects, and returns the
    /// packets to transmit.
    fn try_with(
        &self,
        scratch: &mut Scratch,
        TrialConditions { now, at_queues }: TrialConditions,
        trace: &mut dyn Trace,
        run: impl FnOnce(&mut Interpreter<'_>, &mut Vec<Output>) -> Result<(), RunError>,
    ) -> Result<Vec<Output>, RunError> {
        let mut outputs = Vec::new();
        let mut tried = scratch.begin_trial(at_queues);
        let interpreter = Interpreter::new(&self.layout, &self.state, &mut tried, Some(trace), now);
        let outcome = interpreter.and_then(|mut interpreter| run(&mut interpreter, &mut outputs));
        scratch.end_trial(tried);
        outcome.map(|()| outputs)
    }

    /// Formats a value for people, with the names of fields, errors and members.
    #[must_use]
    pub fn render(&self, value: &Value, type_id: TypeId) -> String {
        self.layout.render(value, type_id)
    }

    /// Returns the fields of a header, or those of all valid headers in a struct, with their values
    /// formatted for people. In a struct, the name of a field begins with that of its header:
    /// `ipv4.ttl`.
    #[must_use]
    pub fn fields(&self, value: &Value, type_id: TypeId) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        self.layout.add_fields(value, type_id, "", &mut fields);
        fields
    }

    /// Formats a location as `file:line:column`, like a compiler.
    #[must_use]
    pub fn place_in_source(&self, location: Option<Location>) -> String {
        self.layout.place_in_source(location)
    }

    /// Resumes a packet that leaves its queue, like [`Switch::resume`].
    pub(crate) fn resume(
        &self,
        scratch: &mut Scratch,
        waiting: Waiting,
        times: &QueueTimes,
        trace: Option<&mut dyn Trace>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        if waiting.program != self.state.number {
            return Err(REPLACED);
        }
        let before = (outputs.len(), scratch.waiting.len());
        let outcome = match (&self.code, waiting.is_compiled) {
            (Some(code), true) => code.resume(self, scratch, waiting, times, outputs),
            (None, true) => Err(REPLACED),
            (_, false) => {
                let trace = trace.map(|trace| -> &mut dyn Trace { trace });
                let now = times.left;
                let mut interpreter =
                    Interpreter::new(&self.layout, &self.state, scratch, trace, now)?;
                let mut engine = InterpreterEngine(&mut interpreter);
                self.driver.resume(&mut engine, waiting.pass, times, outputs)
            }
        };
        if outcome.is_err() {
            outputs.truncate(before.0);
            scratch.waiting.truncate(before.1);
        }
        outcome
    }

    /// Returns the maximum number of bytes at the start of a packet that the program reads, if it
    /// only passes the remaining bytes on. Returns `None` if the program computes with the payload,
    /// changes the length of packets or copies them, or may read an entire packet.
    #[must_use]
    pub fn head_bytes(&self) -> Option<u64> {
        self.layout.head_bytes
    }

    /// Processes packets in order in the buffers of one worker, each like [`Self::process`].
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
                    let before = scratch.waiting.len();
                    let outcome = self.process(scratch, packet, now, None, outputs);
                    scratch.kept_waiting(before, outcome)
                });
                scratch.beyond = 0;
            }
        }
    }
}

/// The buffers and random numbers of one thread that processes packets on a shared [`Core`].
#[derive(Debug)]
pub struct Processor {
    pub(crate) scratch: Scratch,
}

impl Processor {
    /// Creates a processor whose random numbers are seeded with `seed`.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { scratch: Scratch::new(seed) }
    }

    /// Processes a packet like [`Switch::process`], and appends the packets to transmit to
    /// `outputs`.
    ///
    /// # Errors
    /// Fails as [`Switch::process`] does.
    pub fn process(
        &mut self,
        core: &Core,
        packet: (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        core.process(&mut self.scratch, packet, now, None, outputs)
    }

    /// Processes a batch of packets in order. `packets` holds, for each, the port on which it was
    /// received and its bytes. The results replace the contents of `batch`.
    pub fn process_batch(
        &mut self,
        core: &Core,
        packets: &[(u32, &[u8])],
        now: Duration,
        batch: &mut Batch,
    ) {
        core.process_batch(&mut self.scratch, Heads::whole(packets), now, batch);
    }

    /// Returns how many random numbers packets have drawn so far. The output of a packet that draws
    /// none does not depend on the seed.
    #[must_use]
    pub fn random_numbers(&self) -> u64 {
        self.scratch.drawn
    }

    /// Returns the messages that packets have sent to the control plane since the last call, the
    /// oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.scratch.digests)
    }

    /// Starts measuring the time that packets in bursts spend in each stage, with the given clock.
    /// `None` stops the measurement. Measuring takes time itself, and packets do not use the fused
    /// function meanwhile.
    pub fn time_stages(&mut self, clock: Option<fn() -> u64>) {
        self.scratch.compiled.get_or_insert_default().time_stages(clock);
    }

    /// Selects the way in which packets are processed from now on, for tests that compare ways.
    /// `None`, or a way that the program lacks ([`Core::ways`]), selects the fastest.
    pub fn choose_way(&mut self, way: Option<Way>) {
        self.scratch.compiled.get_or_insert_default().choose_way(way);
    }

    /// Returns the time that packets have spent in each stage since [`Self::time_stages`], in the
    /// clock's unit. Returns `None` if no packet was processed in a burst.
    #[must_use]
    pub fn stage_times(&self) -> Option<StageTimes> {
        let times = self.scratch.compiled.as_ref()?.stage_times()?;
        (times.packets > 0).then_some(times)
    }
}

/// A running program: a [`Core`] and one worker. The reference interpreter processes packets, or,
/// after [`Switch::compile`], machine code.
///
/// Time is a duration since an origin of the caller's choice (in BMv2, the start of the switch),
/// and must not go back. Random numbers depend only on the seed and on the packets processed
/// before.
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
    /// Loads a program. Random numbers are seeded with 0.
    ///
    /// # Errors
    /// Fails if the program is damaged, or needs blocks or externs that do not exist.
    pub fn new(program: Program) -> Result<Self, LoadError> {
        Self::with_seed(program, 0)
    }

    /// Loads a program. Random numbers are seeded with `seed`.
    ///
    /// # Errors
    /// Fails as [`Switch::new`] does.
    pub fn with_seed(program: Program, seed: u64) -> Result<Self, LoadError> {
        Ok(Self { core: Core::new(program)?, scratch: Scratch::new(seed), seed })
    }

    /// Resets the switch to its state after loading: the program's entries, the initial values of
    /// registers, and the same seed. The settings of the device itself remain: its drop port, its
    /// priority queues, the work that a packet may take, which ports are host ports, and which are
    /// down.
    ///
    /// # Errors
    /// Fails as [`Switch::new`] does.
    pub fn reset(&mut self) -> Result<(), LoadError> {
        let mut state = State::new(&self.core.layout)?;
        state.adopt_settings(&self.core.state);
        if let Some(code) = &self.core.code {
            code.activate_tables(&state).map_err(|_| LoadError::Memory)?;
        }
        self.core.state = state;
        self.scratch = Scratch::new(self.seed);
        Ok(())
    }

    /// Sets the translated types of the program, whose values controllers, traces and scripts see
    /// as strings. Packets contain only numbers.
    pub fn set_translated(&mut self, translated: Arc<Translated>) {
        self.core.set_translated(translated);
    }

    /// Compiles the program like [`Core::compile`].
    ///
    /// # Errors
    /// Fails as [`Core::compile`] does.
    pub fn compile(&mut self) -> Result<&Compiled, CompileError> {
        self.core.compile()
    }

    /// Compiles the program like [`Core::compile_without_lookups`].
    ///
    /// # Errors
    /// Fails as [`Core::compile`] does.
    pub fn compile_without_lookups(&mut self) -> Result<&Compiled, CompileError> {
        self.core.compile_without_lookups()
    }

    /// Sets the flag that stops the switch. Once `stop` is true, packets fail with
    /// [`RunError::Stopped`], until [`Switch::reset`].
    pub fn end_with(&mut self, stop: Arc<AtomicBool>) {
        self.scratch.stop = Some(Arc::new(EndFlag { flag: stop }));
    }

    /// Sets the units of work that a packet may take, like [`Core::set_packet_work`].
    pub fn set_packet_work(&mut self, units: u32) {
        self.core.set_packet_work(units);
    }

    /// Sets the drop port, like [`Core::set_drop_port`].
    pub fn set_drop_port(&mut self, port: u16) {
        self.core.set_drop_port(port);
    }

    /// Starts or stops measuring the time that packets in bursts spend in each stage, like
    /// [`Processor::time_stages`].
    pub fn time_stages(&mut self, clock: Option<fn() -> u64>) {
        self.scratch.compiled.get_or_insert_default().time_stages(clock);
    }

    /// Selects the way in which packets are processed, like [`Processor::choose_way`].
    pub fn choose_way(&mut self, way: Option<Way>) {
        self.scratch.compiled.get_or_insert_default().choose_way(way);
    }

    /// Processes a packet that was received on `port` at the time `now`, and all copies that result
    /// from it. Returns the packets to transmit.
    ///
    /// # Errors
    /// Fails if an assertion fails or the packet exceeds a limit. Changes that the packet has made
    /// (to registers, counters, entries) remain, but there is no output.
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

    /// Processes a batch of packets like [`Processor::process_batch`].
    pub fn process_batch(&mut self, packets: &[(u32, &[u8])], now: Duration, batch: &mut Batch) {
        self.core.process_batch(&mut self.scratch, Heads::whole(packets), now, batch);
    }

    /// Processes a batch of packets of which only the first bytes are in memory. These must be at
    /// least [`Core::head_bytes`] bytes, or all bytes of a shorter packet. The caller must append
    /// the other bytes to the transmitted packets in `batch`. Lengths that the program reads are
    /// those of the complete packets.
    pub fn process_heads(&mut self, heads: Heads<'_>, now: Duration, batch: &mut Batch) {
        self.core.process_batch(&mut self.scratch, heads, now, batch);
    }

    /// Processes a packet like [`Switch::process`], and reports each step of the processing to
    /// `trace`.
    ///
    /// # Errors
    /// Fails as [`Switch::process`] does.
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

    /// Processes a packet in the interpreter like [`Switch::process_traced`], but leaves the state
    /// of the switch as it is. The packet sees its own changes of registers, meters and entries. It
    /// changes no counter and no timer, sends no digest, and enters no queue. It draws the same
    /// random numbers as the next packet will. `at_queues` selects whether a packet for a port with
    /// queues ends at its queue or continues to egress.
    ///
    /// # Errors
    /// Fails as [`Switch::process`] does. Fails with [`RunError::NotTried`] if the packet looks up
    /// an entry that it would have added before (PNA's `add_entry`).
    pub fn try_process(
        &mut self,
        port: u32,
        packet: &[u8],
        now: Duration,
        at_queues: AtQueues,
        trace: &mut dyn Trace,
    ) -> Result<Vec<Output>, RunError> {
        let conditions = TrialConditions { now, at_queues };
        self.core.try_process(&mut self.scratch, (port, packet), conditions, trace)
    }

    /// Resumes a packet from a checkpoint that an earlier call of [`Switch::try_process`] took,
    /// again without lasting effects. The packet has the state that it had at the checkpoint, but
    /// meets the entries and the other state of the switch as they are now. The trace may make
    /// other choices than before. Returns the packets that leave after the checkpoint.
    ///
    /// `now` must be the time of the earlier call.
    ///
    /// # Errors
    /// Fails as [`Switch::try_process`] does, or if the program was replaced since the checkpoint.
    pub fn try_again(
        &mut self,
        checkpoint: &Checkpoint,
        now: Duration,
        at_queues: AtQueues,
        trace: &mut dyn Trace,
    ) -> Result<Vec<Output>, RunError> {
        let conditions = TrialConditions { now, at_queues };
        self.core.try_again(&mut self.scratch, checkpoint, conditions, trace)
    }

    /// Returns the packets that have begun to wait for their egress since the last call, in the
    /// order in which they left ingress. Only packets for ports with queues wait
    /// ([`Core::set_port_queues`]).
    pub fn take_waiting(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.scratch.waiting)
    }

    /// Resumes a packet that leaves its queue: runs egress and all that follows, at the time at
    /// which the packet leaves. Returns the packets to transmit. The one for the port of the queue
    /// is the packet itself; others come from recirculation.
    ///
    /// # Errors
    /// Fails as [`Switch::process`] does, or if the program has changed since the packet entered
    /// the queue.
    pub fn resume(
        &mut self,
        waiting: Waiting,
        times: &QueueTimes,
        trace: Option<&mut dyn Trace>,
    ) -> Result<Vec<Output>, RunError> {
        let mut outputs = Vec::new();
        self.core.resume(&mut self.scratch, waiting, times, trace, &mut outputs)?;
        Ok(outputs)
    }

    /// Returns the messages that packets have sent to the control plane since the last call, the
    /// oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.scratch.digests)
    }

    /// Sets whether the switch follows BMv2's psa_switch in PSA programs where it deviates from the
    /// specification. This is off at first. The deviations are, after `targets/psa_switch` and
    /// p4c's `backends/bmv2/psa_switch`:
    /// * a `Checksum` is the hash of the last `update` alone, as a number without its leading zero
    ///   bytes, instead of all data since `clear`. It keeps its state from packet to packet, as
    ///   does `InternetChecksum`;
    /// * a resubmitted packet comes from port 0, instead of the port on which it was received;
    /// * metadata of cloned, resubmitted and recirculated packets are zero, whatever the deparser
    ///   assigned, and parameters of one struct type are one variable;
    /// * the ingress deparser runs only for packets that go to egress, not for those that are
    ///   dropped or resubmitted;
    /// * direct counters and direct meters run on each hit, and the colour of a direct meter is
    ///   BMv2's number (0 green, 1 yellow, 2 red) read as one of PSA (0 red, 1 green, 2 yellow);
    /// * tables with an action profile have no default action unless the control plane sets one;
    /// * counters and meters use the length that the packet had when it was received;
    /// * action selectors use all bits of the hash, regardless of their output width;
    /// * a `select` without a matching case ends the parser without an error;
    /// * there is no clone session at first, not even `PSA_CLONE_SESSION_TO_CPU`.
    ///
    /// A change of this setting discards the program's machine code: the interpreter runs packets
    /// until the program is compiled again.
    pub fn follow_psa_switch(&mut self, follow: bool) {
        if self.program().architecture == Architecture::Psa {
            let dialect = if follow { Dialect::PsaSwitch } else { Dialect::Psa };
            if self.core.layout.dialect != dialect {
                self.core.code = None;
            }
            self.core.layout.dialect = dialect;
            let to_cpu = State::clone_session_to_cpu();
            let replication = &self.core.state.replication;
            match replication.configured_session(PSA_CLONE_SESSION_TO_CPU) {
                None if !follow => replication.set_session(PSA_CLONE_SESSION_TO_CPU, Some(to_cpu)),
                Some(known) if follow && known == to_cpu => {
                    replication.set_session(PSA_CLONE_SESSION_TO_CPU, None);
                }
                None | Some(_) => {}
            }
        }
    }
}

/// Returns an error if the program calls an extern that this crate does not implement.
fn check_externs(layout: &Layout) -> Result<(), LoadError> {
    let program = &layout.program;
    let mut unknown = Ok(());
    each_statement(program, &mut |statement| {
        if let StatementKind::CallExtern { callee, .. } = &statement.kind
            && unknown.is_ok()
            && !calls::known(program, callee)
        {
            unknown = Err(LoadError::UnknownExtern {
                place: layout.place_in_source(statement.location),
                name: calls::name(program, callee),
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
