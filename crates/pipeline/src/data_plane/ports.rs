//! The side of a switch that processes packets, with the program that the control plane committed
//! last.

use super::changes::ControlChanges;
use super::shared::Shared;
use crate::architecture::Output;
use crate::architecture::waiting::{AtQueues, QueueTimes, Waiting};
use crate::compiled::{Batch, Compiled};
use crate::error::RunError;
use crate::interpreter::{EndFlag, Scratch};
use crate::switch::{Core, Heads, TrialConditions};
use crate::sync::{lock, write};
use crate::table::EntryChange;
use crate::trace::{Checkpoint, Trace};
use entities::schema::{DigestId, TableId};
use entities::{Data, Translations};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tables::{Applied, Lane};

/// The side of a switch that processes packets. The control plane's side is a
/// [`crate::InterpreterTarget`].
///
/// The settings of ports apply beyond the current program, to all programs that are committed
/// later.
#[derive(Clone, Debug, Default)]
pub struct Ports(Arc<Inner>);

/// The content of [`Ports`], which all clones share.
#[derive(Debug, Default)]
struct Inner {
    runs: Mutex<Option<Arc<Shared>>>,
    /// The number of programs that have been committed so far, which identifies the current one.
    version: AtomicU64,
    settings: Mutex<Settings>,
    workers: Mutex<Workers>,
    digests_dropped: AtomicU64,
}

/// The workers of the ports, and their packet counts.
#[derive(Debug, Default)]
struct Workers {
    /// The number of workers that were created for these ports, including those that no longer
    /// exist.
    made: u64,
    counts: Vec<Arc<Counts>>,
    /// The packet counts of workers that no longer exist.
    gone: PacketCounts,
}

/// The settings of ports, which apply to every program as soon as it is committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    ports_down: BTreeSet<u32>,
    expire_profiles: BTreeMap<u64, Duration>,
    port_queues: BTreeMap<u32, u32>,
}

/// The number of entries in a table, and the results of the lookups in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableUsage {
    /// The table's identifier in P4Info.
    pub id: TableId,
    /// The table's name in P4Info.
    pub name: String,
    /// The number of entries, not counting the default entry.
    pub entries: u64,
    /// The largest number of entries: the size that the table declares in P4Info, or the limit of
    /// [`crate::InterpreterTarget::with_searched_entries`] if it applies and is smaller. `None` if
    /// there is no maximum.
    pub size: Option<u64>,
    /// The number of lookups that found an entry, since the program was committed.
    pub hits: u64,
    /// The number of lookups that found no entry, since the program was committed.
    pub misses: u64,
}

impl Shared {
    /// Returns the usage of each table of the program, in the order of the tables' identifiers.
    fn table_usage(&self) -> Vec<TableUsage> {
        let tables = self.schema.tables().iter().filter_map(|table| {
            let bound = self.binding.tables.get(&table.id)?;
            let state = self.core.state.tables.get(bound.id.index())?;
            let (hits, misses) = state.lookups();
            Some(TableUsage {
                id: table.id,
                name: table.name.clone(),
                entries: state.len() as u64,
                size: self.size(table),
                hits,
                misses,
            })
        });
        tables.collect()
    }
}

/// The numbers of packets that workers have processed, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// The number of packets that workers have received.
    pub received: u64,
    /// The number of packets for which nothing was transmitted, because the program dropped them or
    /// there was no program.
    pub without_output: u64,
    /// The number of packets whose processing failed, by [`RunError::kind`]. They are not included
    /// in `without_output`.
    pub errors: BTreeMap<&'static str, u64>,
}

/// The packet counts of one worker, which other threads can read; see [`PacketCounts`].
#[derive(Debug, Default)]
struct Counts {
    received: AtomicU64,
    without_output: AtomicU64,
    errors: Mutex<BTreeMap<&'static str, u64>>,
}

impl Ports {
    /// Creates a worker, which processes packets. Each thread needs one of its own. Its random
    /// numbers are seeded with the number of workers that were created before it.
    #[must_use]
    pub fn worker(&self) -> Worker {
        self.worker_from(None)
    }

    /// Creates a worker like [`Self::worker`]. Its random numbers are seeded with `seed` again for
    /// every program.
    #[must_use]
    pub fn worker_with_seed(&self, seed: u64) -> Worker {
        self.worker_from(Some(seed))
    }

    fn worker_from(&self, seed: Option<u64>) -> Worker {
        let counts = Arc::new(Counts::default());
        let mut workers = lock(&self.0.workers);
        let number = workers.made;
        workers.made += 1;
        workers.counts.push(Arc::clone(&counts));
        if let Some(shared) = self.running() {
            shared.core.reserve_workers(workers.counts.len());
        }
        Worker {
            ports: self.clone(),
            seed: seed.unwrap_or(number),
            version: 0,
            runs: None,
            has_digests: false,
            counts,
            stop: None,
        }
    }

    /// Processes a packet like [`crate::Switch::process`]. If no program has been committed,
    /// nothing is transmitted.
    ///
    /// # Errors
    /// Fails as [`crate::Switch::process`] does.
    pub fn process(
        &self,
        port: u32,
        packet: &[u8],
        now: Duration,
    ) -> Result<Vec<Output>, RunError> {
        let mut outputs = Vec::new();
        self.worker().process(port, packet, now, &mut outputs)?;
        Ok(outputs)
    }

    /// Sets whether a port is up. All ports are up at first. While a port is down, the members of
    /// action selector groups that watch it are not chosen.
    pub fn set_port_up(&self, port: u32, up: bool) {
        let mut settings = lock(&self.0.settings);
        if up {
            settings.ports_down.remove(&port);
        } else {
            settings.ports_down.insert(port);
        }
        self.set_notified(&settings);
    }

    /// Sets the timeout of entries with PNA's expire time profile `profile`. `None`, the initial
    /// value, stands for no timeout.
    pub fn set_expire_time_profile(&self, profile: u64, timeout: Option<Duration>) {
        let mut settings = lock(&self.0.settings);
        match timeout {
            Some(timeout) => settings.expire_profiles.insert(profile, timeout),
            None => settings.expire_profiles.remove(&profile),
        };
        self.set_notified(&settings);
    }

    /// Sets the number of queues of those ports that have queues of their own, like
    /// [`Core::set_port_queues`].
    pub fn set_port_queues(&self, queues: BTreeMap<u32, u32>) {
        let mut settings = lock(&self.0.settings);
        settings.port_queues = queues;
        self.set_notified(&settings);
    }

    /// Returns how often entries were inserted, changed, removed and copied in the storage that
    /// machine code reads, for the program that was committed last. Returns zero if there is no
    /// such program (see [`Core::packed_changes`]).
    #[must_use]
    pub fn packed_changes(&self) -> u64 {
        self.running().map_or(0, |shared| shared.core.packed_changes())
    }

    /// Returns the digests that packets have sent since the last call, the oldest first. Only
    /// digests that P4Info has and a controller has enabled are included.
    #[must_use]
    pub fn take_digests(&self) -> Vec<(DigestId, Data)> {
        self.running().map_or_else(Vec::new, |shared| shared.digests.take())
    }

    /// Changes a table entry as a packet has requested it. `message` is the request in the encoding
    /// of [`EntryChange::to_bytes`]. The change is refused if no program has been committed, or if
    /// [`Core::apply_change`](crate::Core::apply_change) of the program that was committed last
    /// refuses it.
    #[must_use]
    pub fn apply_change(&self, message: &[u8]) -> Applied {
        self.running().map_or(Applied::Refused, |shared| {
            shared.changes.during(|| shared.core.apply_change(message))
        })
    }

    /// Returns the strings and numbers of the translated types of the program that was committed
    /// last, or `None` if no program has been committed.
    #[must_use]
    pub fn translations(&self) -> Option<Arc<Translations>> {
        self.running().map(|shared| Arc::clone(&shared.translated.translations))
    }

    /// Returns the number of digests that were dropped because they were not taken in time.
    #[must_use]
    pub fn digests_dropped(&self) -> u64 {
        self.0.digests_dropped.load(Ordering::Relaxed)
    }

    /// Returns the usage of each table of the program, in the order of the tables' identifiers.
    #[must_use]
    pub fn table_usage(&self) -> Vec<TableUsage> {
        self.running().map_or_else(Vec::new, |shared| shared.table_usage())
    }

    /// Returns the operations of the program that machine code leaves to the interpreter: for each,
    /// its place in the source, and the construct that machine code cannot express. The list is
    /// empty if the interpreter processes packets entirely.
    #[must_use]
    pub fn interpreted_steps(&self) -> Vec<(String, String)> {
        let running = self.running();
        let compiled = running.as_ref().and_then(|shared| shared.core.compiled());
        let steps = compiled.into_iter().flat_map(Compiled::interpreted);
        steps.map(|(place, what)| (place.to_owned(), what.to_owned())).collect()
    }

    /// Returns the packet counts of all workers together, including those that no longer exist.
    #[must_use]
    pub fn packet_counts(&self) -> PacketCounts {
        let workers = lock(&self.0.workers);
        let mut sum = workers.gone.clone();
        workers.counts.iter().for_each(|counts| sum.add(counts.shown()));
        sum
    }

    /// Makes workers use another program from their next packets on.
    pub(super) fn run_on(&self, shared: Arc<Shared>) {
        let settings = lock(&self.0.settings);
        settings.set_notified(&shared);
        // A worker that is created concurrently reserves its own slot, because it then finds this
        // pipeline.
        let workers = lock(&self.0.workers);
        shared.core.reserve_workers(workers.counts.len());
        let before = lock(&self.0.runs).replace(shared);
        self.0.version.fetch_add(1, Ordering::Release);
        drop((workers, settings));
        if let Some(before) = before {
            // Dropping the pipeline's entries may take a while.
            drop(before);
            tables::trim_heap();
        }
    }

    fn running(&self) -> Option<Arc<Shared>> {
        lock(&self.0.runs).clone()
    }

    fn set_notified(&self, settings: &Settings) {
        if let Some(shared) = self.running() {
            settings.set_notified(&shared);
        }
    }
}

impl Settings {
    fn set_notified(&self, shared: &Shared) {
        let state = &shared.core.state;
        shared.changes.during(|| {
            state.change_ports_down(|down| down.clone_from(&self.ports_down));
            write(&state.expire_profiles).clone_from(&self.expire_profiles);
            state.set_port_queues(self.port_queues.clone());
        });
    }
}

impl PacketCounts {
    fn add(&mut self, other: Self) {
        self.received += other.received;
        self.without_output += other.without_output;
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
    }
}

/// A packet processor that uses the program that was committed last. Each thread has its own
/// worker.
#[derive(Debug)]
pub struct Worker {
    ports: Ports,
    /// The seed of the worker's random numbers.
    seed: u64,
    /// The version of the program that the worker uses.
    version: u64,
    runs: Option<Running>,
    /// Whether packets of this worker have sent digests since the last call of
    /// [`Worker::has_digests`].
    has_digests: bool,
    counts: Arc<Counts>,
    /// The flag that another thread sets to stop the worker.
    stop: Option<Arc<AtomicBool>>,
}

/// The program that a worker uses, with the worker's own buffers for it.
#[derive(Debug)]
struct Running {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    scratch: Scratch,
}

impl Worker {
    /// Returns the changes that packets of all workers have requested for their table entries since
    /// the last call. Packets make such requests in tables whose entries a controller writes
    /// (`update = "digest"`).
    #[must_use]
    pub fn take_entry_changes(&self) -> Vec<EntryChange> {
        let running = self.runs.as_ref();
        running.map_or_else(Vec::new, |running| running.shared.core.take_entry_changes())
    }

    /// Sets the flag that stops the worker. Soon after `stop` becomes true, the current packets
    /// fail with [`RunError::Stopped`]. The worker's thread can therefore end in time, however much
    /// work its packets take.
    pub fn end_with(&mut self, stop: Arc<AtomicBool>) {
        if let Some(running) = &mut self.runs {
            running.scratch.stop = Some(Arc::new(EndFlag { flag: Arc::clone(&stop) }));
        }
        self.stop = Some(stop);
    }

    /// Returns whether packets of this worker have sent digests since the last call. If controllers
    /// have enabled these digests, [`Ports::take_digests`] returns them.
    #[must_use]
    pub fn has_digests(&mut self) -> bool {
        std::mem::take(&mut self.has_digests)
    }

    /// Processes a packet that was received on `port` at the time `now`, like
    /// [`crate::Switch::process`], and appends the packets to transmit to `outputs`. If no program
    /// has been committed, there are none. A program that is committed in the meantime applies to
    /// the next packet.
    ///
    /// # Errors
    /// Fails as [`crate::Switch::process`] does, and then appends nothing.
    pub fn process(
        &mut self,
        port: u32,
        packet: &[u8],
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        self.run((port, packet), now, None, outputs)
    }

    /// Processes a packet like [`Self::process`], and reports each step of the processing to
    /// `trace`.
    ///
    /// # Errors
    /// Fails as [`Self::process`] does.
    pub fn process_traced(
        &mut self,
        port: u32,
        packet: &[u8],
        now: Duration,
        trace: &mut dyn Trace,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        self.run((port, packet), now, Some(trace), outputs)
    }

    /// Processes a packet without lasting effects, like [`crate::Switch::try_process`], with the
    /// program that the worker uses ([`Self::core`]). Returns no packets if there is none.
    ///
    /// # Errors
    /// Fails as [`crate::Switch::try_process`] does.
    pub fn try_process(
        &mut self,
        port: u32,
        packet: &[u8],
        now: Duration,
        at_queues: AtQueues,
        trace: &mut dyn Trace,
    ) -> Result<Vec<Output>, RunError> {
        let Some(Running { shared, lane, scratch }) = self.runs.as_mut() else {
            return Ok(Vec::new());
        };
        let inside = shared.gate.enter(lane);
        let conditions = TrialConditions { now, at_queues };
        let outcome = shared.core.try_process(scratch, (port, packet), conditions, trace);
        drop(inside);
        outcome
    }

    /// Resumes a packet from a checkpoint without lasting effects, like
    /// [`crate::Switch::try_again`]. Returns no packets if there is no program.
    ///
    /// # Errors
    /// Fails as [`crate::Switch::try_again`] does.
    pub fn try_again(
        &mut self,
        checkpoint: &Checkpoint,
        now: Duration,
        at_queues: AtQueues,
        trace: &mut dyn Trace,
    ) -> Result<Vec<Output>, RunError> {
        let Some(Running { shared, lane, scratch }) = self.runs.as_mut() else {
            return Ok(Vec::new());
        };
        let inside = shared.gate.enter(lane);
        let conditions = TrialConditions { now, at_queues };
        let outcome = shared.core.try_again(scratch, checkpoint, conditions, trace);
        drop(inside);
        outcome
    }

    /// Changes to the program that was committed last, as the worker otherwise does before its next
    /// packet.
    pub fn adopt_program(&mut self) {
        self.refresh();
    }

    /// Returns the program with which the worker has processed its last packet, or which it has
    /// adopted since. Returns `None` if there was none.
    #[must_use]
    pub fn core(&self) -> Option<&Core> {
        self.runs.as_ref().map(|running| &running.shared.core)
    }

    /// Returns the number of changes that the control plane has made so far to the state of the
    /// program that the worker uses. Returns `None` if there is no program.
    #[must_use]
    pub fn control_changes(&self) -> Option<ControlChanges> {
        let shared = &self.runs.as_ref()?.shared;
        Some(shared.changes.so_far(shared.core.state.number))
    }

    /// Processes a batch of packets in order, like [`Self::process`], and stores the results in
    /// `batch`. `packets` holds for each the port on which it was received and its bytes. A program
    /// that is committed in the meantime applies to the next batch.
    pub fn process_batch(&mut self, packets: &[(u32, &[u8])], now: Duration, batch: &mut Batch) {
        self.refresh();
        self.process_packets(Heads::whole(packets), now, batch);
    }

    /// Returns [`Core::head_bytes`] of the program that was committed last. Returns `None` while
    /// ports have queues, because packets wait there with all their bytes.
    #[must_use]
    pub fn head_bytes(&mut self) -> Option<u64> {
        self.refresh();
        let core = &self.runs.as_ref()?.shared.core;
        core.head_bytes().filter(|_| !core.state.any_queues())
    }

    /// Returns the packets of this worker that have begun to wait for their egress since the last
    /// call, like [`crate::Switch::take_waiting`].
    pub fn take_waiting(&mut self) -> Vec<Waiting> {
        let running = self.runs.as_mut();
        running.map_or_else(Vec::new, |running| std::mem::take(&mut running.scratch.waiting))
    }

    /// Resumes a packet that leaves its queue, like [`crate::Switch::resume`], and appends the
    /// packets to transmit to `outputs`. Returns false if the packet was dropped because another
    /// program was committed since it entered the queue.
    ///
    /// # Errors
    /// Fails as [`crate::Switch::process`] does.
    pub fn resume(
        &mut self,
        waiting: Waiting,
        times: &QueueTimes,
        outputs: &mut Vec<Output>,
    ) -> Result<bool, RunError> {
        self.refresh();
        let outcome = self.inside(|core, scratch| {
            let is_known = waiting.program == core.state.number;
            match is_known {
                true => core.resume(scratch, waiting, times, None, outputs).map(|()| true),
                false => Ok(false),
            }
        });
        let outcome = outcome.unwrap_or(Ok(false));
        if let Err(error) = &outcome {
            self.counts.count_error(error);
        }
        outcome
    }

    /// Processes a batch of packets of which only the first bytes are in memory, like
    /// [`crate::Switch::process_heads`]. At least the first `head` bytes of each packet must be in
    /// memory, or all bytes of a shorter one.
    ///
    /// Returns false, without processing anything, if there is no program, or if it may read more
    /// than the first `head` bytes of a packet.
    pub fn process_heads(
        &mut self,
        heads: Heads<'_>,
        head: u64,
        now: Duration,
        batch: &mut Batch,
    ) -> bool {
        let needed = self.head_bytes();
        let is_enough = needed.is_some_and(|needed| needed <= head);
        if is_enough {
            self.process_packets(heads, now, batch);
        }
        is_enough
    }

    /// Processes packets with the program that the worker uses.
    fn process_packets(&mut self, heads: Heads<'_>, now: Duration, batch: &mut Batch) {
        batch.clear();
        let packets = heads.packets;
        let ran = self.inside(|core, scratch| core.process_batch(scratch, heads, now, batch));
        let processed = packets.len() as u64;
        self.counts
            .count(processed, if ran.is_some() { batch.silent(packets.len()) } else { processed });
        for (_, error) in batch.errors() {
            self.counts.count_error(error);
        }
    }

    /// Returns whether the program reads the lengths of its ports' queues (v1model's `enq_qdepth`
    /// and `deq_qdepth`), so that [`Self::set_waiting`] should be called.
    #[must_use]
    pub fn reads_queue_depths(&mut self) -> bool {
        self.refresh();
        self.runs.as_ref().is_some_and(|running| running.shared.core.layout.reads_queue_depth)
    }

    /// Sets the number of packets that the switch has transmitted to a port and that still wait
    /// there. For later packets of all workers, it counts as part of the queue's length.
    pub fn set_waiting(&mut self, port: u32, packets: u32) {
        if let Some(running) = &self.runs {
            running.shared.core.state.set_waiting(port, packets);
        }
    }

    /// Returns the numbers of packets that this worker has processed, by outcome.
    #[must_use]
    pub fn counts(&self) -> PacketCounts {
        self.counts.shown()
    }

    fn run(
        &mut self,
        packet: (u32, &[u8]),
        now: Duration,
        trace: Option<&mut dyn Trace>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let before = outputs.len();
        self.refresh();
        let outcome = self.inside(|core, scratch| {
            let waited = scratch.waiting.len();
            let outcome = core.process(scratch, packet, now, trace, outputs);
            scratch.kept_waiting(waited, outcome)
        });
        let outcome = outcome.unwrap_or(Ok(0));
        let is_silent = matches!(outcome, Ok(0)) && outputs.len() == before;
        let outcome = outcome.map(|_| ());
        self.counts.count(1, u64::from(is_silent));
        if let Err(error) = &outcome {
            self.counts.count_error(error);
        }
        outcome
    }

    /// Calls `work` with the program that the worker uses, if there is one, and then queues the
    /// digests that packets have sent.
    fn inside<R>(&mut self, work: impl FnOnce(&Core, &mut Scratch) -> R) -> Option<R> {
        let Running { shared, lane, scratch } = self.runs.as_mut()?;
        let inside = shared.gate.enter(lane);
        let outcome = work(&shared.core, scratch);
        drop(inside);
        if !scratch.digests.is_empty() {
            let digests = scratch.digests.drain(..);
            let translations = &shared.translated.translations;
            let shown = digests.filter_map(|digest| {
                shared.binding.digests.shown(&shared.schema, translations, &digest)
            });
            let dropped = shared.digests.keep(shown);
            self.has_digests = true;
            self.ports.0.digests_dropped.fetch_add(dropped, Ordering::Relaxed);
        }
        Some(outcome)
    }

    fn refresh(&mut self) {
        if self.ports.0.version.load(Ordering::Acquire) != self.version {
            self.take_pipeline();
        }
    }

    /// Changes to the program that was committed last. This worker may be the last user of the
    /// previous program. Another thread therefore drops that program, so that the current packet
    /// need not wait until all its entries are freed.
    fn take_pipeline(&mut self) {
        if let Some(before) = self.leave_pipeline() {
            // If no thread can be started, the pipeline is dropped here, with the closure.
            let _ = thread::Builder::new().name("drop-pipeline".to_owned()).spawn(move || {
                drop(before);
                tables::trim_heap();
            });
        }
        let runs = lock(&self.ports.0.runs);
        self.version = self.ports.0.version.load(Ordering::Acquire);
        let mut scratch = Scratch::new(self.seed);
        scratch.stop = self.stop.clone().map(|flag| Arc::new(EndFlag { flag }));
        self.runs = runs.as_ref().map(|shared| Running {
            lane: shared.gate.join(),
            shared: Arc::clone(shared),
            scratch,
        });
    }

    fn leave_pipeline(&mut self) -> Option<Running> {
        let running = self.runs.take()?;
        running.shared.gate.leave(&running.lane);
        Some(running)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.leave_pipeline());
        let mut workers = lock(&self.ports.0.workers);
        workers.counts.retain(|counts| !Arc::ptr_eq(counts, &self.counts));
        workers.gone.add(self.counts.shown());
    }
}

impl Counts {
    fn count(&self, received: u64, without_output: u64) {
        self.received.fetch_add(received, Ordering::Relaxed);
        if without_output > 0 {
            self.without_output.fetch_add(without_output, Ordering::Relaxed);
        }
    }

    fn count_error(&self, error: &RunError) {
        *lock(&self.errors).entry(error.kind()).or_default() += 1;
    }

    fn shown(&self) -> PacketCounts {
        PacketCounts {
            received: self.received.load(Ordering::Relaxed),
            without_output: self.without_output.load(Ordering::Relaxed),
            errors: lock(&self.errors).clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_plane::InterpreterTarget;
    use crate::switch::Path;
    use crate::table::DROPPED;
    use entities::{DataPlane, EntityError, Target as _};
    use ir::bits::Bits;
    use p4lang::preprocess::{MemoryFiles, Options};

    const PROGRAM: &str = "#include <v1model.p4>
        header h_t { bit<32> to; } struct headers { h_t h; } struct meta { }
        parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
            state start { b.extract(h.h); transition accept; } }
        control v(inout headers h, inout meta m) { apply { } }
        control i(inout headers h, inout meta m, inout standard_metadata_t s) {
            action forward(bit<9> port) { s.egress_spec = port; }
            table t { key = { h.h.to: exact; } actions = { forward; } default_action = forward(3); }
            apply { t.apply(); } }
        control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
        control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
        V1Switch(p(), v(), i(), e(), v(), d()) main;";

    fn compile(text: &[u8]) -> Result<ir::Program, EntityError> {
        let text = String::from_utf8_lossy(text);
        let compiled =
            p4lang::compile_text("test.p4", &text, &Options::default(), &MemoryFiles::default());
        Ok(compiled.program.expect("it compiles"))
    }

    /// Tests that a worker that changes to another program does not drop the entries of the
    /// previous one itself, which would delay a packet.
    #[test]
    fn a_worker_that_goes_over_to_another_pipeline_drops_no_entries_of_that_before() {
        for path in [Path::Interpreter, Path::Compiled] {
            let program = compile(PROGRAM.as_bytes()).expect("a program");
            let p4info = p4lang::p4info::generate(&program).expect("a P4Info");
            let schema = p4runtime::p4info::Schema::new(p4info).expect("a schema");
            let target = InterpreterTarget::new(Box::new(compile)).on(path);
            let ports = target.ports();
            let load = || {
                let mut plane = target.load(schema.objects(), PROGRAM.as_bytes()).expect("it runs");
                plane.activate();
                plane
            };
            let before = load();
            let mut worker = ports.worker();
            let entries = 100;
            for to in 0..entries {
                let shared = ports.running().expect("a pipeline");
                let forward = ir::ActionId(action(&shared));
                let call = shared.core.action_call(forward, &[Bits::unsigned(9, 2)]);
                let entry = crate::TableEntry {
                    matches: vec![crate::FieldMatch::Exact(Bits::unsigned(32, to))],
                    priority: 0,
                    action: crate::EntryAction::Action(call.expect("an action")),
                    idle_timeout: None,
                };
                shared.core.add_entry(ir::TableId(0), entry, Duration::ZERO).expect("room");
            }
            let mut outputs = Vec::new();
            worker.process(1, &[0, 0, 0, 5], Duration::ZERO, &mut outputs).expect("it runs");
            let old = Arc::downgrade(&ports.running().expect("a pipeline"));
            let after: Box<dyn DataPlane> = load();
            drop(before);
            let dropped = DROPPED.get();
            assert!(old.upgrade().is_some(), "the worker has it");
            worker.process(1, &[0, 0, 0, 5], Duration::ZERO, &mut outputs).expect("it runs");
            assert_eq!(outputs.iter().map(|one| one.port).collect::<Vec<_>>(), [2, 3], "{path:?}");
            assert_eq!(DROPPED.get() - dropped, 0, "entries that the worker dropped, {path:?}");
            // Another thread is still dropping the pipeline.
            while old.strong_count() > 0 {
                thread::yield_now();
            }
            drop(after);
        }
    }

    /// Returns the number of the program's action that forwards packets.
    fn action(shared: &Shared) -> u32 {
        let actions = &shared.core.program().actions;
        let position = actions.iter().position(|action| action.name.ends_with("forward"));
        position.expect("there is one") as u32
    }
}
