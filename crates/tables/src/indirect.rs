//! The storages in which a hash leads to an entry through an index: original, dynamic and static
//! storage of the paper. [`ExactTable`](crate::ExactTable) uses them.
//!
//! All three have an index of one-line buckets, which corresponds to the buckets of rte_hash and
//! holds a 32-bit tag and a record number for each entry. They also have an array of records, one
//! for each entry of the declared size, which hold the keys. They differ in where the entry, that
//! is the action and the parameters, lies:
//!
//! | kind | record | entry |
//! | --- | --- | --- |
//! | original | `[8 + k]` to 16 B | index, pointer array, allocated `[4 + A]` to 64 B |
//! | dynamic | `[8 + k]` to 16 B | pointer in the record, allocated `[4 + A]` to 64 B |
//! | static | `[8 + k]` to 16 B | index into one array of `[4 + A]` to 16 B |
//!
//! With entry locks, an entry begins with a lock word, which makes it 4 bytes longer, as in the
//! paper.
//!
//! A record that was unlinked is reused only when no worker can see it, so its key never changes
//! while a reader uses it. Entries do change while readers use them. An action with parameters of
//! up to 4 bytes is one atomic word. Longer entries are guarded by a version, which is in the
//! entry's lock word or, without locks, in the index bucket.

mod access;
mod entry;

use std::alloc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::bucket::{Buckets, Found, Full};
use crate::design::EntryLock;
use crate::layout::Layout;
use crate::quiescence::{Domain, Limbo, relax};
use crate::region::{LINE, Pages, Region};
use entry::{Entry, Form};

/// The storage of a table's entries outside the index: original, dynamic or static.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Original,
    Dynamic,
    Static,
}

/// Returns the number of bytes of a record, which holds the key of an entry.
pub(crate) const fn record_bytes(key_bytes: usize) -> usize {
    (8 + key_bytes).next_multiple_of(16)
}

/// Returns the number of bytes of an entry of `kind` outside its record.
pub(crate) const fn entry_bytes(kind: Kind, parameter_bytes: usize, locked: bool) -> usize {
    let bytes = 4 + parameter_bytes + if locked { 4 } else { 0 };
    match kind {
        Kind::Original | Kind::Dynamic => bytes.next_multiple_of(64),
        Kind::Static => bytes.next_multiple_of(16),
    }
}

/// The action and the position of the entry that matched a key. The entry's parameters are in the
/// caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) action: u16,
    pub(crate) position: u32,
}

/// The number of bytes that a table has allocated, by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts {
    pub(crate) index: usize,
    pub(crate) records: usize,
    pub(crate) pointers: usize,
    pub(crate) entries: usize,
}

pub(crate) struct Indirect {
    kind: Kind,
    key_bytes: usize,
    form: Form,
    /// The number of 64-bit words of an entry after its first word, the head.
    tail_words: usize,
    size: usize,
    record_stride: usize,
    entry_stride: usize,
    index: Buckets<4, 4>,
    records: Region,
    /// The pointers to entries in original storage, one for each record. `None` in other storages.
    pointers: Option<Region>,
    /// The entries of static storage, one for each record. `None` in other storages.
    entries: Option<Region>,
    supply: Mutex<Supply>,
}

/// The records that are not in use: those that were never used, those that are free, and those that
/// were removed but may still be visible to a reader.
#[derive(Default)]
struct Supply {
    /// The number of the first record that has never been used.
    fresh: u32,
    free: Vec<u32>,
    limbo: Limbo,
    /// The number of entries that are allocated one by one now.
    allocated: usize,
}

impl Indirect {
    /// Creates an empty table. Returns `None` if memory does not suffice.
    pub(crate) fn new(kind: Kind, layout: &Layout, lock: EntryLock) -> Option<Self> {
        let locked = lock == EntryLock::PerEntry;
        let (key_bytes, parameter_bytes, size) =
            (layout.key_bytes(), layout.parameter_bytes(), layout.size());
        let record_stride = record_bytes(key_bytes);
        let entry_stride = entry_bytes(kind, parameter_bytes, locked);
        let array = |stride: usize| Region::new(size.checked_mul(stride)?);
        Some(Self {
            kind,
            key_bytes,
            form: Form::new(parameter_bytes, locked),
            tail_words: entry::tail_bytes(parameter_bytes, locked) / 8,
            size,
            record_stride,
            entry_stride,
            index: Buckets::new(size)?,
            records: array(record_stride)?,
            pointers: if kind == Kind::Original { Some(array(8)?) } else { None },
            entries: if kind == Kind::Static { Some(array(entry_stride)?) } else { None },
            supply: Mutex::new(Supply::default()),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn parts(&self) -> Parts {
        let entries = match self.kind {
            Kind::Original | Kind::Dynamic => self.supply().allocated * self.entry_stride,
            Kind::Static => self.size * self.entry_stride,
        };
        Parts {
            index: self.index.bytes(),
            records: self.size * self.record_stride,
            pointers: if self.pointers.is_some() { self.size * 8 } else { 0 },
            entries,
        }
    }

    pub(crate) fn pages(&self) -> Pages {
        self.index.pages().max(self.records.pages())
    }

    fn supply(&self) -> std::sync::MutexGuard<'_, Supply> {
        // A poisoned lock is used as it is, because each change to the supply is complete before
        // anything can panic.
        self.supply.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    fn tag(hash: u64) -> [u8; 4] {
        ((hash >> 32) as u32).to_ne_bytes()
    }

    #[inline(always)]
    fn record_word(&self, record: u32, word: usize) -> &AtomicU64 {
        self.records.word(record as usize * self.record_stride + 8 * word)
    }

    #[inline(always)]
    fn has_key(&self, record: u32, key: &[u8]) -> bool {
        let (words, rest) = key.as_chunks::<8>();
        let mut at = 1;
        for word in words {
            if self.record_word(record, at).load(Ordering::Relaxed) != u64::from_ne_bytes(*word) {
                return false;
            }
            at += 1;
        }
        rest.is_empty() || self.record_word(record, at).load(Ordering::Relaxed) == padded(rest)
    }

    fn set_key(&self, record: u32, key: &[u8]) {
        for (at, word) in key.chunks(8).enumerate() {
            self.record_word(record, at + 1).store(padded(word), Ordering::Relaxed);
        }
    }

    /// Copies the key of a record to `key`. The bytes are meaningless if the record is not in use.
    /// Returns false if there is no such record.
    pub(crate) fn key_at(&self, position: u32, key: &mut [u8]) -> bool {
        if position as usize >= self.size {
            return false;
        }
        for (at, bytes) in key.chunks_mut(8).enumerate() {
            let word = self.record_word(position, at + 1).load(Ordering::Relaxed).to_ne_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
        true
    }

    /// Returns the entry of a record.
    ///
    /// # Safety
    /// [`Indirect::allocate`] must have been called for the record, and its entry must not be freed
    /// while the result is used: either the caller found the record in the index and is pinned, or
    /// no other thread knows the record yet.
    #[inline(always)]
    unsafe fn entry(&self, record: u32) -> Entry<'_> {
        match self.kind {
            Kind::Static => {
                let index = self.record_word(record, 0).load(Ordering::Relaxed) as usize;
                let entries = self.entries.as_ref().unwrap_or(&self.records);
                let offset = index * self.entry_stride;
                Entry::new(entries.word(offset), self.tail(entries, offset + 8))
            }
            // SAFETY: the caller guarantees that the entry is allocated and not freed while the
            // result is used.
            Kind::Dynamic => unsafe { self.allocated_entry(self.record_word(record, 0)) },
            Kind::Original => {
                let index = self.record_word(record, 0).load(Ordering::Relaxed) as usize;
                let pointers = self.pointers.as_ref().unwrap_or(&self.records);
                // SAFETY: the caller guarantees that the entry is allocated and not freed while the
                // result is used.
                unsafe { self.allocated_entry(pointers.word(index * 8)) }
            }
        }
    }

    /// Returns the words of an entry after its head, which begin at `offset` in a region.
    #[inline(always)]
    fn tail<'a>(&self, region: &'a Region, offset: usize) -> &'a [AtomicU64] {
        // If entries have no tail, the offset may be the region's end.
        if self.tail_words == 0 { &[] } else { region.words(offset, self.tail_words) }
    }

    /// Returns the entry that a pointer of this table leads to.
    ///
    /// # Safety
    /// The entry must be allocated, and must not be freed while the result is used.
    #[inline(always)]
    unsafe fn allocated_entry(&self, pointer: &AtomicU64) -> Entry<'_> {
        let address = pointer.load(Ordering::Acquire) as usize;
        let head: *const AtomicU64 = std::ptr::with_exposed_provenance(address);
        // SAFETY: the caller guarantees that the pointer leads to an entry from `allocate`, which
        // zeroed it, and that the entry is not freed. The allocation covers the head and
        // `tail_words` words after it.
        unsafe { Entry::new(&*head, std::slice::from_raw_parts(head.add(1), self.tail_words)) }
    }

    fn allocation(&self) -> alloc::Layout {
        // The numbers were valid for a table of this size, so rounding cannot exceed `isize::MAX`.
        alloc::Layout::from_size_align(self.entry_stride.max(LINE), LINE)
            .unwrap_or(alloc::Layout::new::<[u64; 8]>())
    }

    /// Allocates the entry of a record that is about to be used. Returns false if memory does not
    /// suffice.
    fn allocate(&self, record: u32) -> bool {
        match self.kind {
            Kind::Static => {
                self.record_word(record, 0).store(u64::from(record), Ordering::Relaxed);
                return true;
            }
            Kind::Original | Kind::Dynamic => {}
        }
        // SAFETY: the size of the layout is at least one line.
        let entry = unsafe { alloc::alloc_zeroed(self.allocation()) };
        if entry.is_null() {
            return false;
        }
        self.supply().allocated += 1;
        let address = entry.expose_provenance() as u64;
        match &self.pointers {
            Some(pointers) => {
                self.record_word(record, 0).store(u64::from(record), Ordering::Relaxed);
                pointers.word(record as usize * 8).store(address, Ordering::Release);
            }
            None => self.record_word(record, 0).store(address, Ordering::Release),
        }
        true
    }

    /// Frees the entry of a record that no thread can see.
    fn free_entry(&self, supply: &mut Supply, record: u32) {
        let pointer = match (self.kind, &self.pointers) {
            (Kind::Original, Some(pointers)) => pointers.word(record as usize * 8),
            (Kind::Dynamic, _) => self.record_word(record, 0),
            _ => return,
        };
        let address = pointer.swap(0, Ordering::AcqRel) as usize;
        if address != 0 {
            supply.allocated -= 1;
            // SAFETY: the entry was allocated by `allocate` with this layout; the swap has removed
            // its pointer, so it is freed only once.
            unsafe {
                alloc::dealloc(std::ptr::with_exposed_provenance_mut(address), self.allocation())
            };
        }
    }

    #[inline(always)]
    fn find<const ALONE: bool>(&self, hash: u64, key: &[u8]) -> Option<(u32, Found<4>)> {
        let verify = |record: &[u8; 4]| self.has_key(u32::from_ne_bytes(*record), key);
        let found = self.index.find::<ALONE>(hash, &Self::tag(hash), verify)?;
        Some((u32::from_ne_bytes(found.value), found))
    }

    /// Reads the entry with this key, and copies its parameters to `parameters`. The caller must be
    /// pinned, unless no thread removes entries during the call.
    #[inline(always)]
    pub(crate) fn read<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        parameters: &mut [u8],
    ) -> Option<Hit> {
        self.read_found::<ALONE>(hash, key, parameters).map(|(hit, _)| hit)
    }

    #[inline(always)]
    fn read_found<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        parameters: &mut [u8],
    ) -> Option<(Hit, Found<4>)> {
        loop {
            let (record, found) = self.find::<ALONE>(hash, key)?;
            // SAFETY: the record was found in the index, and the caller is pinned.
            let entry = unsafe { self.entry(record) };
            let action = match self.form {
                Form::Locked if !ALONE => entry.read_whole(parameters),
                form => entry.read(form, parameters),
            };
            if ALONE || self.form != Form::Long || self.index.is_current(&found) {
                return Some((Hit { action, position: record }, found));
            }
        }
    }

    /// Changes the entry with this key by `act`, which is called with the action and the parameters
    /// and returns the new action. Returns whether there is such an entry. The caller must be
    /// pinned, unless no thread removes entries during the call.
    #[inline(always)]
    pub(crate) fn update<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        parameters: &mut [u8],
        act: impl FnOnce(u16, &mut [u8]) -> u16,
    ) -> bool {
        if self.form == Form::Locked && !ALONE {
            let Some((record, _)) = self.find::<ALONE>(hash, key) else { return false };
            // SAFETY: the record was found in the index, and the caller is pinned.
            let mut held = unsafe { self.entry(record) }.lock();
            let action = held.read(parameters);
            let action = act(action, parameters);
            held.write(action, parameters);
            return true;
        }
        let Some((hit, found)) = self.read_found::<ALONE>(hash, key, parameters) else {
            return false;
        };
        let action = act(hit.action, parameters);
        if ALONE || self.form == Form::Short {
            // SAFETY: the record was found in the index, and the caller is pinned.
            unsafe { self.entry(hit.position) }.write(self.form, action, parameters);
        } else {
            self.write_long(hash, key, hit.position, found, action, parameters);
        }
        true
    }

    /// Writes an entry that is longer than a word, while its index bucket is locked. If the entry
    /// has been removed, nothing is written.
    fn write_long(
        &self,
        hash: u64,
        key: &[u8],
        record: u32,
        found: Found<4>,
        action: u16,
        parameters: &[u8],
    ) {
        let mut found = found;
        let mut spins = 0;
        loop {
            // SAFETY: the caller found the record in the index, and the last search of this loop
            // found the same record again. The caller is pinned, so the record is not freed
            // meanwhile.
            let write = || unsafe { self.entry(record) }.write(self.form, action, parameters);
            if self.index.hold(&found, write).is_some() {
                return;
            }
            relax(&mut spins);
            match self.find::<false>(hash, key) {
                Some((same, again)) if same == record => found = again,
                _ => return,
            }
        }
    }

    /// Adds an entry, and returns its position.
    pub(crate) fn insert<const ALONE: bool>(
        &self,
        domain: &Domain,
        hash: u64,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        if self.find::<ALONE>(hash, key).is_some() {
            return Err(Full::Exists);
        }
        let record = self.take_record(domain).ok_or(Full::Full)?;
        self.insert_at::<ALONE>(record, hash, key, action, parameters)
    }

    /// Adds an entry whose key is in a record that no other thread can see yet.
    fn insert_at<const ALONE: bool>(
        &self,
        record: u32,
        hash: u64,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        if !self.allocate(record) {
            self.supply().free.push(record);
            return Err(Full::Full);
        }
        self.set_key(record, key);
        // SAFETY: the entry has just been allocated, and no other thread knows the record.
        unsafe { self.entry(record) }.initialise(self.form, action, parameters);
        let verify = |other: &[u8; 4]| self.has_key(u32::from_ne_bytes(*other), key);
        let inserted =
            self.index.insert::<ALONE>(hash, &Self::tag(hash), 0, &record.to_ne_bytes(), verify);
        if let Err(full) = inserted {
            // No thread has seen the record, so it is freed at once.
            let mut supply = self.supply();
            self.free_entry(&mut supply, record);
            supply.free.push(record);
            return Err(full);
        }
        Ok(record)
    }

    /// Returns an unused record, which no other thread can see. Returns `None` if the table is
    /// full.
    fn take_record(&self, domain: &Domain) -> Option<u32> {
        let mut supply = self.supply();
        // A record that was unlinked can be reused two epochs later.
        for _ in 0..3 {
            if let Some(record) = supply.free.pop() {
                return Some(record);
            }
            if (supply.fresh as usize) < self.size {
                supply.fresh += 1;
                return Some(supply.fresh - 1);
            }
            self.collect(&mut supply, domain.advance());
        }
        None
    }

    fn collect(&self, supply: &mut Supply, epoch: u64) {
        let mut limbo = std::mem::take(&mut supply.limbo);
        limbo.collect(epoch, |record| {
            self.free_entry(supply, record);
            supply.free.push(record);
        });
        supply.limbo = limbo;
    }

    /// Removes the entry with this key, and returns its position.
    pub(crate) fn remove(&self, domain: &Domain, hash: u64, key: &[u8]) -> Option<u32> {
        let verify = |record: &[u8; 4]| self.has_key(u32::from_ne_bytes(*record), key);
        let removed = self.index.remove(hash, &Self::tag(hash), verify)?;
        let record = u32::from_ne_bytes(removed.value);
        let mut supply = self.supply();
        supply.limbo.retire(domain, record);
        if supply.limbo.len() >= 64 {
            self.collect(&mut supply, domain.advance());
        }
        Some(record)
    }

    /// Returns the numbers of the records that are in the index now.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = u32> {
        (0..self.index.positions() as u32)
            .filter_map(|at| Some(u32::from_ne_bytes(self.index.at(at)?.2)))
    }
}

impl Drop for Indirect {
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Original | Kind::Dynamic) {
            let mut supply =
                std::mem::take(self.supply.get_mut().unwrap_or_else(PoisonError::into_inner));
            for record in 0..supply.fresh {
                self.free_entry(&mut supply, record);
            }
        }
    }
}

/// Returns up to eight bytes as one word. Missing bytes at the end are zero.
#[inline(always)]
fn padded(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}
