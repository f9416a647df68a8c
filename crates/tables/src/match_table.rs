//! Tables whose keys are not, or not only, matched exactly: longest prefix, ternary, range, optional, and mixtures.
//!
//! A [`Search`] finds the number of the best entry. The entries themselves, number to action and parameters,
//! are a [`Table`] of whatever design; so what this crate says of designs, locks, counters and ages holds here too.
//!
//! Only the control plane adds entries (PNA 0.7 lets packets add to exact-match tables alone), one change at a time, and
//! packets go on meanwhile. An entry goes, and its number is used again, only after it was unlinked and every batch that
//! might have found it has ended. A packet runs the best entry that was there at one moment: an entry that is added
//! before another is deleted leaves no gap between them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::design::{Design, Placement, Synchronisation};
use crate::entry::{ActionId, AddStatus, ExpiryProfile, Tick};
use crate::layout::{Layout, LayoutError};
use crate::match_key::{FieldMatch, MatchError, MatchField, MatchKind, Pattern};
use crate::quiescence::{Domain, Pin, Seat};
use crate::search::{Link, Scratch, Search, SearchWriter, has_priorities};
use crate::store::Hit;
use crate::table::{Entry, EntryError, Options, Table, TableError, WorkerError};
use crate::worker::{Actions, BatchError, Miss, Worker};

/// A table with fields matched in any way. Clones are the same table.
#[derive(Clone)]
pub struct MatchTable {
    inner: Arc<Inner>,
}

struct Inner {
    fields: Vec<MatchField>,
    key_bytes: usize,
    /// By number plus one.
    entries: Table,
    /// Workers between finding an entry's number and the end of its action.
    domain: Domain,
    search: Search,
    control: Mutex<Control>,
}

/// What the control plane knows beyond what packets need.
struct Control {
    numbers: HashMap<Arc<Key>, u32>,
    entries: HashMap<u32, Known>,
    /// Numbers below `next` that no entry has.
    free: Vec<u32>,
    next: u32,
    /// Of entries with the same priority the one that came first wins.
    order: u64,
    writer: SearchWriter,
}

/// What tells an entry from all others: its matches and its priority.
type Key = (Vec<FieldMatch>, u32);

struct Known {
    key: Arc<Key>,
    link: Link,
}

impl MatchTable {
    /// An empty table of at most `size` entries. In a sharded design every shard has all entries, whatever the
    /// placement asked for.
    pub fn new(
        fields: &[MatchField],
        parameter_bytes: usize,
        size: usize,
        design: Design,
        options: &Options,
    ) -> Result<Self, MatchTableError> {
        let key_bytes = fields.iter().map(MatchField::bytes).sum::<usize>();
        if fields.iter().any(|field| field.bits == 0) {
            return Err(MatchTableError::Layout(LayoutError::NoKey));
        }
        Layout::new((8 * key_bytes).try_into().unwrap_or(u32::MAX), parameter_bytes, size)?;
        if fields.iter().filter(|field| field.kind == MatchKind::Lpm).count() > 1 {
            return Err(MatchTableError::TwoPrefixes);
        }
        let mut design = design;
        if let Synchronisation::Sharded { placement, .. } = &mut design.synchronisation {
            *placement = Placement::Replicated;
        }
        let entries =
            Table::with_options(Layout::new(32, parameter_bytes, size)?, design, options)?;
        let (search, writer) = Search::new(fields, size).ok_or(MatchTableError::Memory)?;
        let control = Control {
            numbers: HashMap::new(),
            entries: HashMap::new(),
            free: Vec::new(),
            next: 0,
            order: 0,
            writer,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                fields: fields.to_vec(),
                key_bytes,
                entries,
                domain: Domain::new(),
                search,
                control: Mutex::new(control),
            }),
        })
    }

    /// Bytes of a packet's key: its fields one behind the other, each in whole bytes.
    pub fn key_bytes(&self) -> usize {
        self.inner.key_bytes
    }

    /// The entries by their numbers: design, memory, counters and meters are asked here.
    pub fn entries(&self) -> &Table {
        &self.inner.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.inner.control().entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether entries have a priority of their own, as P4Runtime asks where a field is ternary, range or optional.
    pub fn has_priorities(&self) -> bool {
        has_priorities(&self.inner.fields)
    }

    /// Adds an entry. The priority is above 0 where the table has priorities, and 0 where not. Of entries with the
    /// same priority that match a packet, the oldest wins. Changes wait for each other, and deletions for batches under
    /// way: so none is made from within a packet's action.
    pub fn insert(
        &self,
        matches: &[FieldMatch],
        priority: u32,
        action: ActionId,
        parameters: &[u8],
        ageing: Option<(ExpiryProfile, Tick)>,
    ) -> Result<(), MatchTableError> {
        let pattern = Pattern::new(&self.inner.fields, matches)?;
        if self.has_priorities() != (priority > 0) {
            return Err(MatchTableError::Priority { priority });
        }
        let mut control = self.inner.control();
        let key = Arc::new((matches.to_vec(), priority));
        if control.numbers.contains_key(&key) {
            return Err(EntryError::Exists.into());
        }
        let number = control.free.last().copied().unwrap_or(control.next);
        let (profile, now) =
            ageing.map_or((None, Tick::default()), |(profile, now)| (Some(profile), now));
        self.inner.entries.insert_ageing(&name(number), action, parameters, profile, now)?;
        control.order += 1;
        let link = self.inner.search.link(&pattern, priority, control.order, number);
        if !self.inner.search.add(&mut control.writer, &self.inner.domain, &link, number) {
            // No memory for the way to the entry, which nobody has found yet.
            self.inner.entries.delete(&name(number))?;
            return Err(MatchTableError::Memory);
        }
        if control.free.pop().is_none() {
            control.next += 1;
        }
        control.numbers.insert(Arc::clone(&key), number);
        control.entries.insert(number, Known { key, link });
        Ok(())
    }

    /// Replaces action and parameters of the entry with these matches and this priority.
    pub fn modify(
        &self,
        matches: &[FieldMatch],
        priority: u32,
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), MatchTableError> {
        let control = self.inner.control();
        let number = control.number(matches, priority)?;
        Ok(self.inner.entries.modify(&name(number), action, parameters)?)
    }

    /// Takes the entry with these matches and this priority out.
    pub fn delete(&self, matches: &[FieldMatch], priority: u32) -> Result<(), MatchTableError> {
        let mut control = self.inner.control();
        let number = control.number(matches, priority)?;
        if !self.inner.forget(&mut control, number) {
            return Err(MatchTableError::Memory);
        }
        // Batches that have found the number end before the entry does.
        self.inner.domain.synchronise(None);
        control.free.push(number);
        Ok(self.inner.entries.delete(&name(number))?)
    }

    /// The entry with these matches and this priority; its key is its number.
    pub fn read(&self, matches: &[FieldMatch], priority: u32) -> Option<Entry> {
        let control = self.inner.control();
        let number = control.number(matches, priority).ok()?;
        self.inner.entries.read(&name(number))
    }

    /// Deletes the entries that have been idle for their time; their matches and priorities. A packet that finds one
    /// at that moment misses.
    pub fn expire(&self, now: Tick) -> Vec<(Vec<FieldMatch>, u32)> {
        let mut control = self.inner.control();
        let (mut expired, mut numbers) = (Vec::new(), Vec::new());
        for key in self.inner.entries.expire(now) {
            let Some(number) =
                key.first_chunk().and_then(|key| u32::from_be_bytes(*key).checked_sub(1))
            else {
                continue;
            };
            let Some(key) = control.entries.get(&number).map(|known| (*known.key).clone()) else {
                continue;
            };
            expired.push(key);
            // A way that is left for lack of memory leads to a miss; its number is not used again.
            if self.inner.forget(&mut control, number) {
                numbers.push(number);
            }
        }
        if !numbers.is_empty() {
            self.inner.domain.synchronise(None);
            control.free.extend(numbers);
        }
        expired
    }

    /// A handle for one thread of the data plane.
    pub fn worker(&self) -> Result<MatchWorker, WorkerError> {
        let entries = self.inner.entries.worker()?;
        let seat = self.inner.domain.join().ok_or(WorkerError::TooMany)?;
        let inner = Arc::clone(&self.inner);
        Ok(MatchWorker { inner, seat, entries, scratch: Scratch::default() })
    }
}

impl fmt::Debug for MatchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchTable").field("fields", &self.inner.fields).finish_non_exhaustive()
    }
}

/// The key of an entry in the table of entries: zero is nobody's.
fn name(number: u32) -> [u8; 4] {
    (number + 1).to_be_bytes()
}

impl Control {
    fn number(&self, matches: &[FieldMatch], priority: u32) -> Result<u32, EntryError> {
        self.numbers.get(&(matches.to_vec(), priority)).copied().ok_or(EntryError::NotFound)
    }
}

impl Inner {
    fn control(&self) -> MutexGuard<'_, Control> {
        // Nothing between two steps of a change can panic but for lack of memory.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unlinks an entry. Its number leads nowhere from now on, but batches under way may have found it before. False
    /// where memory does not suffice: then it is as it was.
    fn forget(&self, control: &mut Control, number: u32) -> bool {
        let Some(known) = control.entries.get(&number) else { return true };
        let unlinked = self.search.remove(&mut control.writer, &self.domain, &known.link);
        if unlinked && let Some(known) = control.entries.remove(&number) {
            control.numbers.remove(&known.key);
        }
        unlinked
    }
}

/// A handle for one thread.
pub struct MatchWorker {
    inner: Arc<Inner>,
    seat: Seat,
    entries: Worker,
    scratch: Scratch,
}

impl MatchWorker {
    /// Runs a batch of packets in arrival order, as [`Worker::apply_batch`]; keys lie one behind the other, each of
    /// [`MatchTable::key_bytes`] bytes. [`Miss::add_entry`] adds nothing here.
    pub fn apply_batch(
        &mut self,
        keys: &[u8],
        now: Tick,
        actions: &mut impl Actions,
    ) -> Result<(), BatchError> {
        let width = self.inner.key_bytes;
        BatchError::check(keys, width)?;
        let Self { inner, seat, entries, scratch } = self;
        let _pin = Pin::new(&inner.domain, seat);
        inner.search.find(keys, width, scratch);
        let names: Vec<u8> = scratch.found.iter().flat_map(|name| name.to_be_bytes()).collect();
        entries.apply_batch(&names, now, &mut Matched { keys, width, actions })
    }

    /// Finds the best entry of each packet without looking at the entries: the packet's index, and the entry's number.
    /// By the time the number is used the entry may be another.
    pub fn search_batch(
        &mut self,
        keys: &[u8],
        visit: &mut impl FnMut(usize, Option<u32>),
    ) -> Result<(), BatchError> {
        let width = self.inner.key_bytes;
        BatchError::check(keys, width)?;
        let _pin = Pin::new(&self.inner.domain, &self.seat);
        self.inner.search.find(keys, width, &mut self.scratch);
        for (packet, name) in self.scratch.found.iter().enumerate() {
            visit(packet, name.checked_sub(1));
        }
        Ok(())
    }

    /// Looks up one key and runs `look` on a copy of its entry.
    pub fn lookup<R>(&mut self, key: &[u8], look: impl FnOnce(&Hit<'_>) -> R) -> Option<R> {
        let width = self.inner.key_bytes;
        if key.len() != width {
            return None;
        }
        let Self { inner, seat, entries, scratch } = self;
        let _pin = Pin::new(&inner.domain, seat);
        inner.search.find(key, width, scratch);
        entries.lookup(&scratch.found.first()?.to_be_bytes(), look)
    }
}

/// Packets on their way to the entries' table: a miss shows them their own key.
struct Matched<'a, A> {
    keys: &'a [u8],
    width: usize,
    actions: &'a mut A,
}

impl<A: Actions> Actions for Matched<'_, A> {
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>) {
        self.actions.hit(packet, entry);
    }

    fn miss(&mut self, packet: usize, _: &mut Miss<'_>) {
        let key = self.keys.chunks_exact(self.width).nth(packet).unwrap_or_default();
        let mut nothing = |_: ActionId, _: &[u8], _: Option<ExpiryProfile>| AddStatus::NotDone;
        self.actions.miss(packet, &mut Miss::new(key, &mut nothing));
    }
}

impl fmt::Debug for MatchWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchWorker").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Drop for MatchWorker {
    fn drop(&mut self) {
        self.inner.domain.leave(&self.seat);
    }
}

/// Why a table with match kinds was not made, or an entry not written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatchTableError {
    /// The numbers of the table.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Its design or memory.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The way to an entry.
    #[error("no memory for finding the entry; make the table smaller")]
    Memory,
    /// More than one longest-prefix field.
    #[error("a key has at most one lpm field; match the others as ternary")]
    TwoPrefixes,
    /// An entry's match.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// A priority where there is none, or none where there must be.
    #[error(
        "priority {priority}: it is above 0 if a field is ternary, range or optional, and 0 if none is"
    )]
    Priority {
        /// The priority given.
        priority: u32,
    },
    /// The entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
}
