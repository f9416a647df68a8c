//! The data plane behind the traits of [`entities`]: a program and its state, which a control plane
//! changes while workers run packets on it.
//!
//! All that packets read and write is in the state: entries with their counters, meters and idle
//! times, counter arrays, registers. Data that only the control plane needs, and reads back as it
//! wrote them (ports in their original form, groups with their watched ports), are kept separately,
//! in a record of their own.
//!
//! A change is applied when it is prepared, in one step as packets see it, and records how to undo
//! it. A batch that must be atomic for packets stops them from its beginning to its end ([`Gate`]);
//! during other batches packets continue. Undoing a change restores what the change overwrote, not
//! what packets did in the meantime: if a batch deleted an entry, the entry returns with the counts
//! that it had.

mod assignment;
mod binding;
mod changes;
mod digests;
mod ports;
mod read;
mod shared;
mod texts;
mod translation;
mod used;
mod values;
mod write;

use self::binding::Binding;
use self::changes::ChangeCounter;
pub use self::changes::ControlChanges;
use self::digests::Digests;
pub use self::digests::digest_data;
pub use self::ports::{PacketCounts, Ports, TableUsage, Worker};
use self::read::View;
use self::shared::{Shared, Undo};
use self::translation::of_tables;
pub use self::translation::translated_types;
use self::write::Writer;
use crate::error::{CompileError, LoadError};
use crate::layout::{DROP_PORT, PACKET_WORK};
use crate::switch::{Core, Path};
use crate::sync::lock;
use crate::table::Ageing;
use entities::schema::Schema;
use entities::{
    Code, DataPlane, EntityError, Nanos, PortNames, Reader, TableEntry, Target, Translations,
    Update, UpdateKind, Visibility,
};
use ir::Program;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tables::Gate;

/// A function that compiles the device configuration that a controller pushes to a program, or
/// returns an error.
pub type Compile = Box<dyn Fn(&[u8]) -> Result<Program, EntityError> + Send + Sync>;

/// A switch behind the traits by which a control plane drives it. Its packets are processed by the
/// interpreter, or by machine code that works on the interpreter's state.
pub struct InterpreterTarget {
    compile: Compile,
    ports: Ports,
    /// The time from which timestamps count.
    origin: Nanos,
    path: Path,
    /// The start-up options for v1model programs.
    v1model: V1ModelSettings,
    /// The largest number of entries in a table with a ternary, range or optional match field.
    searched_entries: u64,
    state_limit: u64,
    /// The units of work that a packet may take.
    packet_work: u32,
    /// The names of the switch's ports, for programs in which controllers see ports as strings.
    port_names: PortNames,
}

/// The default limit for the number of entries in a table with a ternary, range or optional field.
/// Unlike a table with exact keys, which uses a hash, such a table is searched, and its memory
/// grows faster than the number of its entries.
pub const SEARCHED_ENTRIES: u64 = 1 << 16;

/// The start-up options of `simple_switch`. They apply to every v1model program that the switch
/// loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V1ModelSettings {
    /// The port to which dropped packets are sent, as in [`Core::set_drop_port`].
    pub drop_port: u16,
    /// The number of priority queues of each port, as in [`Core::set_priority_queues`].
    pub priority_queues: u32,
}

impl Default for V1ModelSettings {
    fn default() -> Self {
        Self { drop_port: DROP_PORT, priority_queues: 1 }
    }
}

impl InterpreterTarget {
    /// Creates a switch without a program. `compile` converts the device configuration that
    /// controllers push to a program.
    #[must_use]
    pub fn new(compile: Compile) -> Self {
        Self {
            compile,
            ports: Ports::default(),
            origin: Nanos(0),
            path: Path::Interpreter,
            v1model: V1ModelSettings::default(),
            searched_entries: SEARCHED_ENTRIES,
            state_limit: u64::MAX,
            packet_work: PACKET_WORK,
            port_names: PortNames::default(),
        }
    }

    /// Sets the time on the control plane's clock that counts as zero for packets. v1model's
    /// timestamps count from there, as from the start of a switch.
    #[must_use]
    pub fn starting_at(self, origin: Nanos) -> Self {
        Self { origin, ..self }
    }

    /// Sets whether the interpreter or machine code processes packets. When a program is loaded
    /// that the chosen path cannot process, it is refused, with an error that names the unsupported
    /// construct and its place in the source.
    #[must_use]
    pub fn on(self, path: Path) -> Self {
        Self { path, ..self }
    }

    /// Sets the start-up options for programs of v1model.
    #[must_use]
    pub fn with_v1model(self, v1model: V1ModelSettings) -> Self {
        Self { v1model, ..self }
    }

    /// Limits the number of entries of a table with a ternary, range or optional field, whatever
    /// size the table declares.
    #[must_use]
    pub fn with_searched_entries(self, searched_entries: u64) -> Self {
        Self { searched_entries, ..self }
    }

    /// Refuses programs whose registers and counters take more than `bytes` of memory.
    #[must_use]
    pub fn with_state_limit(self, bytes: u64) -> Self {
        Self { state_limit: bytes, ..self }
    }

    /// Sets the number of units of work that a packet may take, as [`Core::set_packet_work`] does.
    #[must_use]
    pub fn with_packet_work(self, units: u32) -> Self {
        Self { packet_work: units, ..self }
    }

    /// Sets the names of the switch's ports. In programs whose ports are strings for controllers
    /// (`p4runtime_translation`), a name stands for its port, and the reserved numbers are assigned
    /// to no other string.
    #[must_use]
    pub fn with_port_names(self, port_names: PortNames) -> Self {
        Self { port_names, ..self }
    }

    /// Returns a handle by which packets are processed, and ports are set up or down. All handles
    /// of a switch share its state.
    #[must_use]
    pub fn ports(&self) -> Ports {
        self.ports.clone()
    }
}

impl fmt::Debug for InterpreterTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterpreterTarget").finish_non_exhaustive()
    }
}

impl Target for InterpreterTarget {
    fn load(
        &self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError> {
        let load = || self.load_here(schema, device_config);
        ir::with_large_stack(load).map_err(|error| {
            EntityError::exhausted(format!("No thread can be started to load the program: {error}"))
        })?
    }

    fn is_slow(&self) -> bool {
        true
    }
}

impl InterpreterTarget {
    /// Loads a program on the current thread, whose stack must be large enough for it.
    fn load_here(
        &self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError> {
        let program = (self.compile)(device_config)?;
        let mut core = Core::within(program, self.state_limit).map_err(|error| {
            let message = format!("The program cannot run: {error}");
            match error {
                LoadError::State { .. } | LoadError::Memory => EntityError::exhausted(message),
                LoadError::Internal(_) | LoadError::Thread(_) => {
                    EntityError::new(Code::Internal, message)
                }
                _ => EntityError::invalid(message),
            }
        })?;
        core.set_drop_port(self.v1model.drop_port);
        core.set_priority_queues(self.v1model.priority_queues);
        core.set_packet_work(self.packet_work);
        if self.path == Path::Compiled {
            core.compile().map_err(|error| {
                let code = match error {
                    CompileError::Internal(_) => Code::Internal,
                    CompileError::Memory => Code::ResourceExhausted,
                    _ => Code::Unimplemented,
                };
                EntityError::new(code, error.to_string())
            })?;
        }
        let plane = Interpreted::new(Arc::clone(schema), core, self)?;
        Ok(Box::new(plane))
    }
}

/// A loaded program and its state, as the control plane changes them.
#[derive(Debug)]
pub(crate) struct Interpreted {
    shared: Arc<Shared>,
    ports: Ports,
    batch: Option<Batch>,
    /// The earliest time at which an entry can time out. `None` if no entry can.
    next_expiry: Option<Nanos>,
    trimming: Trimming,
}

/// The state that decides when free memory is returned to the system. The allocator would otherwise
/// keep the memory of entries that were removed.
#[derive(Debug, Default)]
struct Trimming {
    /// The number of objects that were removed since memory was last returned.
    gone: u64,
}

impl Trimming {
    /// The minimum number of removed objects at which it is worth the time to return their memory.
    const FEWEST: u64 = 1 << 14;

    /// Returns whether memory should be returned to the system now that `left` objects remain. The
    /// time that this takes is proportional to `left`, so it is only done when at least as many
    /// objects have been removed.
    fn is_due(&self, left: impl FnOnce() -> u64) -> bool {
        self.gone >= Self::FEWEST && self.gone >= left()
    }
}

/// A batch of control plane changes that is in progress.
#[derive(Default)]
struct Batch {
    inverses: Vec<Undo>,
    closes_gate: bool,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("changes", &self.inverses.len()).finish_non_exhaustive()
    }
}

/// The interval at which entries that have timed out are removed, in tables that delete such
/// entries.
const DELETION: Duration = Duration::from_secs(1);

impl Interpreted {
    fn new(
        schema: Arc<Schema>,
        mut core: Core,
        target: &InterpreterTarget,
    ) -> Result<Self, EntityError> {
        let binding = Binding::new(&schema, core.program())?;
        let translated = of_tables(&schema, core.program(), &binding.tables, &target.port_names)?;
        let translated = Arc::new(translated);
        core.set_translated(Arc::clone(&translated));
        let deletes = core.state.tables.iter().any(|table| table.ageing == Ageing::Delete);
        let shared = Arc::new(Shared {
            origin: target.origin,
            searched_entries: target.searched_entries,
            schema,
            binding,
            core,
            configuration: Mutex::default(),
            changes: ChangeCounter::default(),
            gate: Gate::new(),
            digests: Digests::default(),
            translated,
        });
        shared.name_numbers_of_program();
        // Packets may add entries that time out.
        let next_expiry = deletes.then_some(Nanos(0));
        let ports = target.ports.clone();
        Ok(Self { shared, ports, batch: None, next_expiry, trimming: Trimming::default() })
    }

    fn end(&mut self, end: impl FnOnce(&Shared, Vec<Undo>)) {
        if let Some(batch) = self.batch.take() {
            end(&self.shared, batch.inverses);
            if batch.closes_gate {
                self.shared.gate.open();
            }
            self.trim();
        }
    }

    /// Returns free memory to the system if many objects have been removed.
    fn trim(&mut self) {
        let tables = &self.shared.core.state.tables;
        if self.trimming.is_due(|| tables.iter().map(|table| table.len() as u64).sum()) {
            self.trimming.gone = 0;
            tables::trim_heap();
        }
    }
}

/// Undoes changes of the control plane, the last one first.
fn undo(shared: &Shared, inverses: Vec<Undo>) {
    shared.changes.during(|| {
        let mut configuration = lock(&shared.configuration);
        for inverse in inverses.into_iter().rev() {
            inverse(shared, &mut configuration);
        }
    });
    if !shared.translated.translations.is_empty() {
        shared.translated.translations.undone();
    }
}

impl Drop for Interpreted {
    fn drop(&mut self) {
        self.roll_back();
    }
}

impl DataPlane for Interpreted {
    fn activate(&mut self) {
        self.ports.run_on(Arc::clone(&self.shared));
    }

    fn begin(&mut self, visibility: Visibility) -> Result<(), EntityError> {
        self.roll_back();
        let closes_gate = visibility == Visibility::Batch;
        if closes_gate {
            self.shared.gate.close();
        }
        if !self.shared.translated.translations.is_empty() {
            self.shared.translated.translations.begin_batch();
        }
        self.batch = Some(Batch { inverses: Vec::new(), closes_gate });
        Ok(())
    }

    fn prepare(&mut self, update: Update, now: Nanos) -> Result<(), EntityError> {
        let Some(batch) = &mut self.batch else {
            return Err(EntityError::new(Code::Internal, "no batch was begun"));
        };
        if let entities::Entity::Entry(entry) = &update.entity
            && entry.idle_timeout_ns > 0
        {
            // The entry may be due immediately if its timer started earlier. `expire` computes the
            // exact time.
            self.next_expiry = Some(now);
        }
        self.trimming.gone += u64::from(update.kind == UpdateKind::Delete);
        let mut inverses = Vec::new();
        let outcome = self.shared.changes.during(|| {
            let mut configuration = lock(&self.shared.configuration);
            let (shared, configuration) = (&*self.shared, &mut *configuration);
            Writer { shared, configuration, inverses: &mut inverses, now }.apply(update)
        });
        match outcome {
            Ok(()) => batch.inverses.append(&mut inverses),
            // A refused change may have been applied in part, which is undone immediately.
            Err(_) => undo(&self.shared, inverses),
        }
        outcome
    }

    fn commit(&mut self) {
        self.end(|_, _| {});
    }

    fn roll_back(&mut self) {
        self.end(undo);
    }

    fn controller_header(&self, name: &str, fields: &[&str]) -> Option<Vec<u32>> {
        binding::controller_header(self.shared.core.program(), name, fields)
    }

    fn translations(&self) -> Option<Arc<Translations>> {
        Some(Arc::clone(&self.shared.translated.translations))
    }

    fn reader(&self, now: Nanos) -> Box<dyn Reader> {
        Box::new(View::new(Arc::clone(&self.shared), now))
    }

    fn expire(&mut self, now: Nanos) -> Vec<TableEntry> {
        if self.next_expiry.is_none_or(|expiry| expiry > now) {
            return Vec::new();
        }
        let shared = &self.shared;
        let time = shared.time(now);
        let (mut expired, mut next) = (Vec::new(), None::<Duration>);
        for table in shared.schema.tables().iter() {
            let Some(bound) = shared.binding.tables.get(&table.id) else { continue };
            let deadline = match shared.ageing(bound) {
                Ageing::None => None,
                Ageing::Notify => shared.tell_idle(table, bound, time, &mut expired),
                Ageing::Delete => {
                    if let Some(state) = shared.core.state.tables.get(bound.id.index()) {
                        let expire = || state.expire(time).len() as u64;
                        self.trimming.gone += shared.changes.during(expire);
                    }
                    Some(time.saturating_add(DELETION))
                }
            };
            next = [next, deadline].into_iter().flatten().min();
        }
        self.next_expiry = next.map(|next| {
            let since = u64::try_from(next.as_nanos()).unwrap_or(u64::MAX);
            Nanos(shared.origin.0.saturating_add(since))
        });
        self.trim();
        expired
    }

    fn next_expiry(&self) -> Option<Nanos> {
        self.next_expiry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_is_trimmed_when_more_has_gone_than_is_left_and_that_is_much() {
        let due = |gone, left| Trimming { gone }.is_due(|| left);
        let fewest = Trimming::FEWEST;
        assert!(due(fewest, 0) && due(fewest, fewest) && due(1_000_000, 1_000_000));
        assert!(!due(fewest - 1, 0) && !due(fewest, fewest + 1) && !due(999_999, 1_000_000));
        // While a million objects are removed one by one, the heap is trimmed in ever smaller
        // steps.
        let (mut trimming, mut trims) = (Trimming::default(), 0);
        for left in (0..1_000_000).rev() {
            trimming.gone += 1;
            if trimming.is_due(|| left) {
                trimming.gone = 0;
                trims += 1;
            }
        }
        assert!((6..60).contains(&trims), "{trims}");
    }
}
