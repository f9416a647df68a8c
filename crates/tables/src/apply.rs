//! Applies a table to batches of packets in Rust. Measurements, and programs without generated
//! code, use this in place of machine code.
//!
//! A [`TableWorker`] enters the gate once for each batch. The buckets of the next [`BATCH`] keys
//! are prefetched while the actions of the packets before them run. If entries are in their buckets
//! and no other thread writes more than one number of an entry, all entries of a chunk of [`BATCH`]
//! packets are found first. Otherwise each entry is found, and locked or copied, for one packet at
//! a time, by the functions that machine code calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use thiserror::Error;

use crate::access::{Access, Place, does_write};
use crate::design::UpdateMethod;
use crate::digest::{Digest, DigestSender};
use crate::entry::ActionId;
use crate::exact::ExactTableError;
use crate::finder::Searcher;
use crate::group::Worker;
use crate::packed::{Lookups, PackedTable, Reached};
use crate::store::BATCH;

/// The largest size of an entry's parameters, in words of 8 bytes.
const WORDS: usize = 4;

/// The actions that a batch of packets runs on the entries of a table.
pub trait Actions {
    /// Runs the action for a packet that matched an entry. The action may read and write the
    /// parameters of `entry`. `packet` is the index of the packet in the batch.
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>);

    /// Runs the default action for a packet that matched no entry. `packet` is the index of the
    /// packet in the batch.
    fn miss(&mut self, packet: usize) {
        let _ = packet;
    }
}

impl<F: FnMut(usize, &mut Hit<'_>)> Actions for F {
    #[inline(always)]
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>) {
        self(packet, entry);
    }
}

/// An entry as the action of a packet sees it: a copy of its parameters, which is written back if
/// the action wrote it.
#[derive(Debug)]
pub struct Hit<'e> {
    action: ActionId,
    parameters: &'e mut [u8],
    is_written: bool,
}

impl<'e> Hit<'e> {
    #[cfg(test)]
    pub(crate) fn of(parameters: &'e mut [u8]) -> Self {
        Self { action: ActionId(0), parameters, is_written: false }
    }
}

impl Hit<'_> {
    /// Returns the action of the entry.
    #[must_use]
    pub fn action(&self) -> ActionId {
        self.action
    }

    /// Returns the parameters of the entry.
    #[must_use]
    pub fn parameters(&self) -> &[u8] {
        self.parameters
    }

    /// Returns the parameters of the entry for writing.
    pub fn parameters_mut(&mut self) -> &mut [u8] {
        self.is_written = true;
        self.parameters
    }
}

/// The reason why a worker of a table was not created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// There is not enough memory for the entries that belong to this worker alone.
    #[error(transparent)]
    Entries(#[from] ExactTableError),
    /// Packets of the table change entries by sending digests to a controller, but the worker was
    /// created without a connection to one.
    #[error("update method digest needs a controller; start one for the table first")]
    NoController,
}

/// A thread that runs batches of packets on one table.
#[derive(Debug)]
pub struct TableWorker {
    table: Arc<PackedTable>,
    worker: Worker,
    lookups: Arc<Lookups>,
    digests: Option<Arc<DigestSender>>,
    handle: Option<TableHandle>,
}

/// A worker's means of access to its table, which is renewed after changes of the table. It is
/// valid as long as [`PackedTable::reached`] returns the value that is stored in the field
/// `reached`.
#[derive(Debug)]
struct TableHandle {
    /// The version of the worker's group at which `reached` was last found to be current.
    version: u64,
    reached: Reached,
    access: Access,
    /// The searcher that maps a packet's key to the number of its entry, or `None` if keys are
    /// matched exactly.
    searcher: Option<Searcher>,
}

impl TableWorker {
    /// Creates a worker of a table whose packets do not change entries by digests.
    ///
    /// # Errors
    /// Returns an error if packets of the table send digests to a controller, or if memory does not
    /// suffice.
    pub fn new(table: &Arc<PackedTable>) -> Result<Self, WorkerError> {
        match table.design().update {
            UpdateMethod::Digest => Err(WorkerError::NoController),
            UpdateMethod::Pointer | UpdateMethod::Change => Self::joined(table, None),
        }
    }

    /// Creates a worker of a table whose packets change entries by sending digests to a controller.
    ///
    /// # Errors
    /// Returns an error if memory does not suffice.
    pub fn with_digests(
        table: &Arc<PackedTable>,
        digests: Arc<DigestSender>,
    ) -> Result<Self, WorkerError> {
        Self::joined(table, Some(digests))
    }

    fn joined(
        table: &Arc<PackedTable>,
        digests: Option<Arc<DigestSender>>,
    ) -> Result<Self, WorkerError> {
        let worker = table.group().join();
        let lookups = table.join(&worker)?;
        Ok(Self { table: Arc::clone(table), worker, lookups, digests, handle: None })
    }

    /// Prefetches the buckets of the keys of the next packets. This call does not change the result
    /// of [`TableWorker::apply`]. It saves time in a table whose keys are matched exactly, and has
    /// no effect on other tables.
    pub fn prefetch(&self, keys: &[[u64; 2]]) {
        let Some(TableHandle { access, .. }) = &self.handle else { return };
        for keys in keys.chunks(BATCH) {
            access.prefetch_all(keys, &mut [0; BATCH][..keys.len()]);
        }
    }

    /// Runs a batch of packets in arrival order. Each packet sees what the packets before it wrote,
    /// unless the table is changed by digests.
    ///
    /// Each element of `keys` is a number of two words, low word first. In a table with exact keys,
    /// it is the key. In other tables, it consists of the values of the fields, each shifted left
    /// by the number of bits that [`Finder::places`](crate::Finder::places) returns for the field.
    ///
    /// Finds no entry in a table whose keys have more than 128 bits; see
    /// [`TableWorker::apply_wide`].
    pub fn apply<A: Actions>(&mut self, keys: &[[u64; 2]], actions: &mut A) {
        self.apply_to(PacketKeys::Numbers(keys), actions);
    }

    /// Runs a batch of packets like [`TableWorker::apply`], on a table whose keys have more than
    /// 128 bits.
    ///
    /// `keys` holds the keys of the packets, one after the other. Each has
    /// [`Finder::words_in_memory`](crate::Finder::words_in_memory) words, the most significant one
    /// first. Finds no entry in a table whose keys have at most 128 bits.
    pub fn apply_wide<A: Actions>(&mut self, keys: &[u64], actions: &mut A) {
        match self.table.words_in_memory() {
            Some(words) => self.apply_to(PacketKeys::Wide { keys, words }, actions),
            None => (0..keys.len()).for_each(|packet| actions.miss(packet)),
        }
    }

    fn apply_to<A: Actions>(&mut self, keys: PacketKeys<'_>, actions: &mut A) {
        let Self { table, worker, lookups, digests, handle } = self;
        let _inside = worker.enter();
        match table.design().update {
            UpdateMethod::Pointer => {
                let handle = current_handle(handle, table, worker);
                // SAFETY: the worker is inside the gate, so the table has not changed since the
                // access was made.
                unsafe { handle.run(keys, table.parameter_bytes(), actions) };
                handle.report_lookups(lookups);
            }
            UpdateMethod::Change | UpdateMethod::Digest => {
                let changes = Changes { table, worker, lookups, digests: digests.as_deref() };
                changes.run(handle, keys, actions);
            }
        }
    }
}

/// The keys of a batch of packets.
#[derive(Clone, Copy)]
enum PacketKeys<'k> {
    /// Numbers of two words, low word first.
    Numbers(&'k [[u64; 2]]),
    /// Keys of `words` words each, most significant word first, one after the other.
    Wide { keys: &'k [u64], words: usize },
}

impl PacketKeys<'_> {
    /// Returns the number of packets.
    fn len(self) -> usize {
        match self {
            Self::Numbers(keys) => keys.len(),
            Self::Wide { keys, words } => keys.len() / words,
        }
    }
}

/// A worker of a table whose packets do not write entries in place. An action writes to a copy of
/// its entry, and the entry in the table is changed afterwards.
struct Changes<'w> {
    table: &'w PackedTable,
    worker: &'w Worker,
    lookups: &'w Lookups,
    /// The sender of changed entries to a controller, which writes them to the table. `None` if the
    /// worker writes them itself.
    digests: Option<&'w DigestSender>,
}

impl Changes<'_> {
    fn run<A: Actions>(
        self,
        handle: &mut Option<TableHandle>,
        keys: PacketKeys<'_>,
        actions: &mut A,
    ) {
        let Self { table, worker, lookups, digests } = self;
        let length = table.parameter_bytes();
        for first in (0..keys.len()).step_by(BATCH) {
            let last = keys.len().min(first + BATCH);
            if let PacketKeys::Numbers(keys) = keys {
                let current = current_handle(handle, table, worker);
                current.access.prefetch_all(&keys[first..last], &mut [0; BATCH][..last - first]);
            }
            for packet in first..last {
                let current = current_handle(handle, table, worker);
                // SAFETY: the worker is inside the gate, and renewed its access after it entered.
                let (place, number) = unsafe { current.find(keys, packet) };
                current.report_lookups(lookups);
                if place.value.is_null() {
                    actions.miss(packet);
                    continue;
                }
                let mut copy = [0; WORDS * 8];
                // SAFETY: the worker is inside the gate, so the entry exists, and the value has as
                // many bytes as the access says.
                unsafe { Value::of(&current.access, place).read(&mut copy) };
                let action = ActionId(place.action as u16);
                let parameters = copy.get_mut(..length).unwrap_or_default();
                let mut hit = Hit { action, parameters, is_written: false };
                actions.hit(packet, &mut hit);
                if !hit.is_written {
                    continue;
                }
                let key = u128::from(number[1]) << 64 | u128::from(number[0]);
                let parameters = hit.parameters.to_vec();
                match digests {
                    Some(digests) => digests.send(&Digest { key, action, parameters }.to_bytes()),
                    None => {
                        worker.outside(|| table.change(key, |_, _| Some((action, parameters))));
                    }
                }
            }
        }
    }
}

impl Drop for TableWorker {
    fn drop(&mut self) {
        if let Some(handle) = &mut self.handle {
            // An action that panicked may still hold the lock of its entry.
            handle.access.abandon();
        }
        self.table.leave(&self.worker);
    }
}

/// Returns the worker's access to the table, after renewing it if it is no longer valid. The worker
/// must be inside the gate, which packets enter before they use a table.
#[inline]
fn current_handle<'w>(
    handle: &'w mut Option<TableHandle>,
    table: &PackedTable,
    worker: &Worker,
) -> &'w mut TableHandle {
    let version = worker.group().version();
    let is_current =
        |known: &TableHandle| known.version == version || known.reached == table.reached();
    if !handle.as_ref().is_some_and(is_current) {
        *handle = None;
    }
    let handle = handle.get_or_insert_with(|| {
        let reached = table.reached();
        let (access, searcher) = table.access(worker);
        TableHandle { version, reached, access, searcher: (!table.is_exact()).then_some(searcher) }
    });
    handle.version = version;
    handle
}

impl TableHandle {
    /// Adds the hits and misses since the last call to the worker's counters of lookups.
    fn report_lookups(&mut self, lookups: &Lookups) {
        let Access { hits, misses, .. } = &mut self.access;
        lookups.count(std::mem::take(hits), std::mem::take(misses));
    }

    /// Looks up the entry of each packet and runs its action, which writes the entry in place.
    ///
    /// # Safety
    /// The caller must be inside the gate, and must have called `current_handle` since it entered.
    #[inline]
    unsafe fn run<A: Actions>(&mut self, keys: PacketKeys<'_>, length: usize, actions: &mut A) {
        let keys = match keys {
            PacketKeys::Numbers(keys) => keys,
            PacketKeys::Wide { keys, words } => {
                let mut numbers = [[0; 2]; BATCH];
                for (chunk, keys) in keys.chunks(BATCH * words).enumerate() {
                    let numbers = &mut numbers[..keys.len() / words];
                    for (number, key) in numbers.iter_mut().zip(keys.chunks_exact(words)) {
                        // SAFETY: the caller is inside the gate, so no thread changes the finder.
                        *number = [unsafe { self.find_wide(key) }, 0];
                    }
                    // SAFETY: the caller guarantees that it is inside the gate and that the access
                    // is current.
                    unsafe { run(&mut self.access, numbers, chunk * BATCH, length, actions) };
                }
                return;
            }
        };
        let Some(searcher) = &mut self.searcher else {
            // SAFETY: the caller guarantees that it is inside the gate and that the access is
            // current.
            return unsafe { run(&mut self.access, keys, 0, length, actions) };
        };
        let mut numbers = [[0; 2]; BATCH];
        for (chunk, keys) in keys.chunks(BATCH).enumerate() {
            let mut found = [0; BATCH];
            let (found, numbers) = (&mut found[..keys.len()], &mut numbers[..keys.len()]);
            // SAFETY: the caller is inside the gate, so no thread changes the finder.
            unsafe {
                searcher.prefetch_keys(keys);
                searcher.find_all(keys, found);
            }
            numbers.iter_mut().zip(found).for_each(|(to, found)| *to = [u64::from(*found), 0]);
            // SAFETY: the caller guarantees that it is inside the gate and that the access is
            // current.
            unsafe { run(&mut self.access, numbers, chunk * BATCH, length, actions) };
        }
    }

    /// Returns the number of the entry that a key of more than 128 bits matches, or 0 if there is
    /// none. The key must have the number of words of the table's keys.
    ///
    /// # Safety
    /// The caller must be inside the gate, and must have called `current_handle` since it entered.
    unsafe fn find_wide(&mut self, key: &[u64]) -> u64 {
        let Some(searcher) = &mut self.searcher else { return 0 };
        // SAFETY: the caller is inside the gate, so no thread changes the finder, and the key is
        // borrowed for the call and has the number of words of the table's keys.
        unsafe { (searcher.find_wide)(searcher, key.as_ptr()) }
    }

    /// Returns the address and the action of the entry that a packet's key matches, and the key
    /// under which this entry is stored. Keys in memory must have the number of words of the
    /// table's keys.
    ///
    /// # Safety
    /// The caller must be inside the gate, and must have called `current_handle` since it entered.
    unsafe fn find(&mut self, keys: PacketKeys<'_>, packet: usize) -> (Place, [u64; 2]) {
        let key = match keys {
            PacketKeys::Numbers(keys) => {
                let [low, high] = keys[packet];
                match &mut self.searcher {
                    // SAFETY: the caller is inside the gate, so no thread changes the finder.
                    Some(searcher) => [unsafe { (searcher.find)(searcher, low, high) }, 0],
                    None => [low, high],
                }
            }
            PacketKeys::Wide { keys, words } => {
                // SAFETY: the caller is inside the gate, and has renewed the access.
                [unsafe { self.find_wide(&keys[packet * words..][..words]) }, 0]
            }
        };
        let access = &mut self.access;
        // SAFETY: the caller guarantees that it is inside the gate and that the access is current.
        (unsafe { (access.find)(access, key[0], key[1]) }, key)
    }
}

/// Runs the actions of packets on the entries that `access` finds for `keys`. `first` is the index
/// of the first packet in its batch, and `length` is the number of bytes of the parameters.
///
/// # Safety
/// The caller must be inside the gate. `access` must have been made since the caller entered the
/// gate, or the table must not have changed since `access` was made.
#[inline]
unsafe fn run<A: Actions>(
    access: &mut Access,
    keys: &[[u64; 2]],
    first: usize,
    length: usize,
    actions: &mut A,
) {
    let mut hashes = [[0; BATCH]; 2];
    let mut chunks = keys.chunks(BATCH);
    let mut next = chunks.next();
    if let Some(keys) = next {
        access.prefetch_all(keys, &mut hashes[0][..keys.len()]);
    }
    let mut packet = first;
    while let Some(keys) = next {
        next = chunks.next();
        if let Some(keys) = next {
            access.prefetch_all(keys, &mut hashes[1][..keys.len()]);
        }
        if access.in_place == 1 {
            let mut places = [Place { value: std::ptr::null_mut(), action: 0 }; BATCH];
            let places = &mut places[..keys.len()];
            // SAFETY: the caller guarantees that the access is current, and entries are in the
            // buckets.
            unsafe { access.locate(keys, &hashes[0], places) };
            for place in places {
                if place.value.is_null() {
                    access.misses += 1;
                    actions.miss(packet);
                } else {
                    access.hits += 1;
                    // SAFETY: the place was found by this access, which has no `leave` if entries
                    // are used in place.
                    unsafe { act(access, *place, packet, length, actions) };
                }
                packet += 1;
            }
        } else {
            for key in keys {
                // SAFETY: the caller guarantees that it is inside the gate and that the access is
                // current.
                let place = unsafe { (access.find)(access, key[0], key[1]) };
                if place.value.is_null() {
                    actions.miss(packet);
                } else {
                    // SAFETY: the place was found by this access, and `leave` has not been called
                    // since.
                    unsafe { act(access, place, packet, length, actions) };
                    let writes = does_write(access.writing, place.action);
                    if let Some(leave) = access.leave.filter(|_| writes) {
                        // SAFETY: this entry was found last, and its action writes.
                        unsafe { leave(access) };
                    }
                }
                packet += 1;
            }
        }
        hashes.swap(0, 1);
    }
}

/// Runs the action of one packet on its entry, and writes back what the action wrote.
///
/// # Safety
/// `place` must have been found by this access under the contract of `find`, and `leave` must not
/// have been called since.
#[inline(always)]
unsafe fn act<A: Actions>(
    access: &Access,
    place: Place,
    packet: usize,
    length: usize,
    actions: &mut A,
) {
    let action = ActionId(place.action as u16);
    // SAFETY: the size of the value is the access's `value_bytes`, and all threads access its words
    // as atomics.
    match unsafe { Value::of(access, place) } {
        Value::Half(half) => {
            let mut bytes = half.load(Ordering::Relaxed).to_ne_bytes();
            let parameters = bytes.get_mut(..length).unwrap_or_default();
            let mut hit = Hit { action, parameters, is_written: false };
            actions.hit(packet, &mut hit);
            if hit.is_written {
                half.store(u32::from_ne_bytes(bytes), Ordering::Relaxed);
            }
        }
        Value::Words(words) => {
            let mut copy = [0; WORDS * 8];
            let before = read_words(words, &mut copy);
            let parameters = copy.get_mut(..length).unwrap_or_default();
            let mut hit = Hit { action, parameters, is_written: false };
            actions.hit(packet, &mut hit);
            if hit.is_written {
                // Other threads may write other words of the entry, so only the words that changed
                // are written.
                for ((word, before), bytes) in words.iter().zip(before).zip(copy.as_chunks::<8>().0)
                {
                    let now = u64::from_ne_bytes(*bytes);
                    if now != before {
                        word.store(now, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}

/// The parameters of an entry as atomic integers, in the width in which all threads access them.
enum Value<'v> {
    /// A value of four bytes.
    Half(&'v AtomicU32),
    /// A value of up to [`WORDS`] words.
    Words(&'v [AtomicU64]),
}

impl<'v> Value<'v> {
    /// Returns the parameters of an entry that was found.
    ///
    /// # Safety
    /// The place must have been found by this access. The entry must exist, and `leave` must not be
    /// called, while the result lives.
    #[inline(always)]
    unsafe fn of(access: &Access, place: Place) -> Self {
        if access.value_bytes == size_of::<u32>() {
            // SAFETY: the value has four bytes and is aligned to four.
            return Self::Half(unsafe { AtomicU32::from_ptr(place.value.cast()) });
        }
        let count = (access.value_bytes / size_of::<u64>()).min(WORDS);
        // SAFETY: a longer value consists of whole words and is aligned to eight bytes.
        Self::Words(unsafe { std::slice::from_raw_parts(place.value.cast::<AtomicU64>(), count) })
    }

    /// Copies the parameters to the beginning of `copy`.
    fn read(&self, copy: &mut [u8; WORDS * 8]) {
        match self {
            Self::Half(half) => {
                copy[..4].copy_from_slice(&half.load(Ordering::Relaxed).to_ne_bytes());
            }
            Self::Words(words) => {
                read_words(words, copy);
            }
        }
    }
}

/// Copies the words of parameters to the beginning of `copy`, and returns them.
#[inline(always)]
fn read_words(words: &[AtomicU64], copy: &mut [u8; WORDS * 8]) -> [u64; WORDS] {
    let mut read = [0; WORDS];
    for ((word, to), bytes) in words.iter().zip(&mut read).zip(copy.as_chunks_mut::<8>().0) {
        *to = word.load(Ordering::Relaxed);
        *bytes = to.to_ne_bytes();
    }
    read
}
