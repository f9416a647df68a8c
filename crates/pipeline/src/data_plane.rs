//! The interpreter as a data plane: a [`Switch`] that a control plane programs through the seam of
//! [`entities`].
//!
//! What packets read and write is in the switch alone: entries, counters, meters, registers, idle
//! times. What only the control plane knows, and reads back as it wrote it (metadata of entries,
//! ports in the form in which they came, groups with their watches), is kept beside it, in books.
//! Changes are applied as they are prepared, and each leaves behind what undoes it; packets wait
//! until the batch has ended, so that a batch is atomic whichever way it was asked for.

mod binding;
mod read;
mod values;
mod write;

use self::binding::Binding;
use self::read::View;
use self::write::{Writer, replace};
use crate::architecture::Output;
use crate::error::RunError;
use crate::switch::Switch;
use crate::table::Ageing;
use entities::schema::{ActionProfileId, DigestId, Schema, TableId, ValueSetId};
use entities::{
    CloneSession, CloneSessionId, DataPlane, DigestConfig, EntityError, EntryKey, Group, GroupId,
    MatchKey, MulticastGroup, MulticastGroupId, Nanos, OneShot, ProfileUsage, Reader, TableEntry,
    Target, Update, ValueSet, Visibility,
};
use ir::Program;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Makes a program of the device configuration that a controller pushes, or says why not.
pub type Compile = Box<dyn FnMut(&[u8]) -> Result<Program, EntityError> + Send>;

/// A switch whose pipelines the interpreter runs.
pub struct InterpreterTarget {
    compile: Compile,
    ports: Ports,
}

/// Where packets come in: what runs is whatever the control plane committed last.
#[derive(Clone, Debug, Default)]
pub struct Ports(Arc<Mutex<Option<Arc<Shared>>>>);

impl InterpreterTarget {
    /// A switch without pipeline. `compile` makes a program of what controllers push.
    #[must_use]
    pub fn new(compile: Compile) -> Self {
        Self { compile, ports: Ports::default() }
    }

    /// Where packets come in.
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
        &mut self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError> {
        let program = (self.compile)(device_config)?;
        let plane = Interpreted::new(Arc::clone(schema), program, self.ports.clone())?;
        Ok(Box::new(plane))
    }
}

impl Ports {
    /// Processes a packet as [`Switch::process`] does; nothing leaves while no pipeline runs.
    ///
    /// # Errors
    /// As [`Switch::process`].
    pub fn process(
        &self,
        port: u32,
        packet: &[u8],
        now: Duration,
    ) -> Result<Vec<Output>, RunError> {
        let shared = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match shared {
            Some(shared) => shared
                .running()
                .get()
                .map_or(Ok(Vec::new()), |running| running.switch.process(port, packet, now)),
            None => Ok(Vec::new()),
        }
    }
}

/// A pipeline of the interpreter and its state.
#[derive(Debug)]
pub(crate) struct Interpreted {
    schema: Arc<Schema>,
    binding: Arc<Binding>,
    shared: Arc<Shared>,
    ports: Ports,
    /// Taken out of `shared` while a batch is prepared.
    batch: Option<Box<Running>>,
    /// No entry expires before this time.
    next_expiry: Option<Nanos>,
}

#[derive(Debug)]
struct Shared {
    running: Mutex<Option<Box<Running>>>,
    is_back: Condvar,
}

/// What packets run on, never without it while it is held.
struct Held<'a>(MutexGuard<'a, Option<Box<Running>>>);

impl Held<'_> {
    fn get(&mut self) -> Option<&mut Running> {
        self.0.as_deref_mut()
    }
}

impl Shared {
    /// Waits until no batch is being prepared.
    fn running(&self) -> Held<'_> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.is_none() {
            running = self.is_back.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
        Held(running)
    }

    fn put_back(&self, running: Box<Running>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        self.is_back.notify_all();
    }
}

/// The switch, what is kept beside it, and what undoes the batch.
pub(crate) struct Running {
    switch: Switch,
    books: Books,
    inverses: Vec<Undo>,
}

type Undo = Box<dyn FnOnce(&mut Running) + Send>;

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("books", &self.books).finish_non_exhaustive()
    }
}

impl Running {
    fn parts(&mut self) -> (&mut Switch, &Books) {
        (&mut self.switch, &self.books)
    }

    /// How much of an action profile is in use.
    fn usage(&self, profile: ActionProfileId, instance: ir::ExternId) -> ProfileUsage {
        let members = self.switch.profile(instance).map_or(0, |profile| profile.members.len());
        let book = self.books.profiles.get(&profile);
        ProfileUsage {
            members: members as u64,
            groups: book.map_or(0, |book| book.groups.len() as u64),
            one_shots: book.map_or(0, |book| book.one_shots),
            total_size: book.map_or(0, |book| book.total_size),
        }
    }
}

/// What the control plane wrote that packets do not need.
#[derive(Debug, Default)]
struct Books {
    /// Of entries that have any.
    entries: BTreeMap<TableId, BTreeMap<MatchKey, Note>>,
    defaults: BTreeMap<TableId, Note>,
    profiles: BTreeMap<ActionProfileId, ProfileBook>,
    multicast_groups: BTreeMap<MulticastGroupId, MulticastGroup>,
    clone_sessions: BTreeMap<CloneSessionId, CloneSession>,
    value_sets: BTreeMap<ValueSetId, ValueSet>,
    digests: BTreeMap<DigestId, Option<DigestConfig>>,
    /// When an entry was last told to be idle.
    told: BTreeMap<(TableId, MatchKey), Duration>,
}

/// What is kept of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
struct Note {
    controller_metadata: u64,
    metadata: Box<[u8]>,
    one_shot: Option<Box<OneShot>>,
}

/// What is kept of an action profile.
#[derive(Debug, Default)]
struct ProfileBook {
    groups: BTreeMap<GroupId, Group>,
    one_shots: u64,
    total_size: u64,
}

impl Books {
    fn note(&self, table: TableId, key: &MatchKey) -> Note {
        let notes = self.entries.get(&table);
        notes.and_then(|notes| notes.get(key)).cloned().unwrap_or_default()
    }

    fn put_note(
        &mut self,
        table: TableId,
        profile: Option<ActionProfileId>,
        key: MatchKey,
        note: Note,
    ) {
        if note == Note::default() {
            return;
        }
        if let (Some(profile), Some(one_shot)) = (profile, &note.one_shot) {
            let book = self.profiles.entry(profile).or_default();
            book.one_shots += 1;
            book.total_size = book.total_size.saturating_add(one_shot.size);
        }
        self.entries.entry(table).or_default().insert(key, note);
    }

    fn take_note(
        &mut self,
        table: TableId,
        profile: Option<ActionProfileId>,
        key: &MatchKey,
    ) -> Option<Note> {
        let note = self.entries.get_mut(&table)?.remove(key)?;
        if let (Some(profile), Some(one_shot)) = (profile, &note.one_shot) {
            let book = self.profiles.entry(profile).or_default();
            book.one_shots = book.one_shots.saturating_sub(1);
            book.total_size = book.total_size.saturating_sub(one_shot.size);
        }
        Some(note)
    }

    fn put_group(
        &mut self,
        profile: ActionProfileId,
        id: GroupId,
        group: Option<Group>,
    ) -> Option<Group> {
        let book = self.profiles.entry(profile).or_default();
        let size = |group: &Option<Group>| group.as_ref().map_or(0, |group| group.size);
        book.total_size = book.total_size.saturating_add(size(&group));
        let previous = replace(&mut book.groups, id, group);
        book.total_size = book.total_size.saturating_sub(size(&previous));
        previous
    }
}

impl Interpreted {
    fn new(schema: Arc<Schema>, program: Program, ports: Ports) -> Result<Self, EntityError> {
        let binding = Arc::new(Binding::new(&schema, &program)?);
        let switch = Switch::new(program)
            .map_err(|error| EntityError::invalid(format!("The program cannot run: {error}")))?;
        let running = Running { switch, books: Books::default(), inverses: Vec::new() };
        let running = Mutex::new(Some(Box::new(running)));
        let shared = Arc::new(Shared { running, is_back: Condvar::new() });
        Ok(Self { schema, binding, shared, ports, batch: None, next_expiry: None })
    }

    fn end(&mut self, end: impl FnOnce(&mut Running)) {
        if let Some(mut running) = self.batch.take() {
            end(&mut running);
            self.shared.put_back(running);
        }
    }
}

impl Drop for Interpreted {
    fn drop(&mut self) {
        self.roll_back();
    }
}

impl DataPlane for Interpreted {
    fn activate(&mut self) {
        let shared = Arc::clone(&self.shared);
        *self.ports.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
    }

    /// Packets wait for the end of a batch, so that they see all of it or nothing.
    fn begin(&mut self, _: Visibility) -> Result<(), EntityError> {
        self.roll_back();
        self.batch = self.shared.running().0.take();
        Ok(())
    }

    fn prepare(&mut self, update: Update, now: Nanos) -> Result<(), EntityError> {
        let Some(running) = self.batch.as_deref_mut() else {
            return Err(EntityError::new(entities::Code::Internal, "no batch was begun"));
        };
        if let entities::Entity::Entry(entry) = &update.entity
            && entry.idle_timeout_ns > 0
        {
            // Too early for an entry whose timer started before, never too late.
            self.next_expiry = Some(now);
        }
        let before = running.inverses.len();
        let (schema, binding) = (&self.schema, &self.binding);
        let outcome = Writer { schema, binding, running, now }.apply(update);
        if outcome.is_err() {
            // What was done of a change that is refused in the end is undone at once.
            for undo in running.inverses.split_off(before).into_iter().rev() {
                undo(running);
            }
        }
        outcome
    }

    fn commit(&mut self) {
        self.end(|running| running.inverses = Vec::new());
    }

    fn roll_back(&mut self) {
        self.end(|running| {
            for undo in std::mem::take(&mut running.inverses).into_iter().rev() {
                undo(running);
            }
        });
    }

    fn reader(&self, now: Nanos) -> Box<dyn Reader> {
        let (schema, binding) = (Arc::clone(&self.schema), Arc::clone(&self.binding));
        Box::new(View { schema, binding, shared: Arc::clone(&self.shared), now })
    }

    fn expire(&mut self, now: Nanos) -> Vec<TableEntry> {
        if self.next_expiry.is_none_or(|expiry| expiry > now) {
            return Vec::new();
        }
        let time = Duration::from_nanos(now.0);
        let mut held = self.shared.running();
        let Some(running) = held.get() else { return Vec::new() };
        let (mut expired, mut next) = (Vec::new(), None::<Duration>);
        for table in self.schema.tables().iter() {
            let Some(bound) = self.binding.tables.get(&table.id) else { continue };
            let state = running.switch.state.tables.get(bound.id.index());
            let Some(state) = state.filter(|state| state.ageing == Ageing::Notify) else {
                continue;
            };
            for (_, stored) in state.iter() {
                let (entry, fields) = (&stored.entry, &table.match_fields);
                let Some(timeout) = entry.idle_timeout else { continue };
                let key = values::match_key(fields, bound, &entry.matches, entry.priority);
                let Some(key) = key else { continue };
                let place = (table.id, key);
                let told = running.books.told.get(&place).copied().unwrap_or_default();
                let mut quiet_since = stored.restarted.max(told);
                if quiet_since.saturating_add(timeout) <= time {
                    quiet_since = time;
                    let note = running.books.note(table.id, &place.1);
                    expired.push(TableEntry {
                        controller_metadata: note.controller_metadata,
                        metadata: note.metadata,
                        idle_timeout_ns: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
                        ..TableEntry::new(table.id, EntryKey::Match(place.1.clone()))
                    });
                    running.books.told.insert(place, time);
                }
                let deadline = quiet_since.saturating_add(timeout);
                next = Some(next.map_or(deadline, |next| next.min(deadline)));
            }
        }
        self.next_expiry =
            next.map(|next| Nanos(u64::try_from(next.as_nanos()).unwrap_or(u64::MAX)));
        expired
    }

    fn next_expiry(&self) -> Option<Nanos> {
        self.next_expiry
    }
}
