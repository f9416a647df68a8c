//! A table with exact keys for machine code, in any storage. It grows on demand, and a
//! [`Gate`](crate::Gate) keeps its users and its writer apart.
//!
//! Each thread of the data plane has an [`Access`] and uses it inside the gate. Functions that take
//! `&mut` (insertion, removal, change) are called while the gate is closed, so a removal needs no
//! epochs and a table may grow between two uses. Keys are numbers. Parameters are bytes as the
//! caller packs them.
//!
//! Growing takes time proportional to the number of entries, during which users would wait. If
//! users do not write entries in place, the larger table is built while they continue to use this
//! one ([`ExactTable::with_room_for`]), and then replaces this one in constant time.

use thiserror::Error;

use crate::access::{Access, Sharing};
use crate::bucket::Full;
use crate::design::{EntryLock, Storage};
use crate::entry::ActionId;
use crate::hash::{self, DEFAULT_SEED};
use crate::indirect::{Indirect, Kind, Parts};
use crate::layout::{Layout, LayoutError, MAX_SIZE};
use crate::memory::MemoryUse;
use crate::quiescence::Domain;
use crate::store::{Inline, Shape};

/// The number of entries for which a new table has room.
pub(crate) const FIRST_SIZE: usize = 64;

/// The largest size of a table that is never made smaller.
const SMALLEST_SHRUNK: usize = 512;

/// The largest size of an entry's parameters in bytes.
const MAX_PARAMETERS: usize = 32;

/// A table with exact keys that grows on demand. The module documentation describes its use.
pub struct ExactTable {
    layout: Layout,
    shape: Shape,
    storage: Storage,
    lock: EntryLock,
    is_numbered: bool,
    size: usize,
    body: Body,
    /// The domain that delays the reuse of removed entries. It has no workers, since the gate keeps
    /// packets out while entries are removed.
    domain: Domain,
}

/// The storage of the entries. Each variant is boxed, because accesses hold its address, which must
/// not change when the table is moved.
enum Body {
    Inline(Box<Inline>),
    /// Inline storage whose keys are entry numbers.
    Numbered(Box<Inline>),
    Indirect(Box<Indirect>),
}

/// The reason why a table was not made or an entry was not inserted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExactTableError {
    /// The width of the keys, the size of the parameters or the number of actions is outside the
    /// limits of every table.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The key is wider than 128 bits, or the parameters are longer than 32 bytes. At both limits,
    /// a bucket of one cache line holds a single entry.
    #[error(
        "keys of {key_bits} bits with {parameter_bytes} B of parameters do not fit a cache line, and entries of \
         compiled programs do not exceed one"
    )]
    TooWide {
        /// The width of the key in bits.
        key_bits: u32,
        /// The size of the largest action's parameters in bytes.
        parameter_bytes: usize,
    },
    /// Memory does not suffice, or the table has the largest possible number of entries.
    #[error("no memory for {entries} entries")]
    Memory {
        /// The number of entries that the table should have had room for.
        entries: usize,
    },
    /// An entry with this key exists.
    #[error("an entry with this key exists already")]
    Exists,
}

impl ExactTable {
    /// Creates an empty table in inline storage for keys of `key_bits` bits, parameters of
    /// `parameter_bytes` bytes and `actions` actions.
    ///
    /// # Errors
    /// Returns an error if the key has no bits or more than 128, if the parameters have more than
    /// 32 bytes, if there are more than [`MAX_ACTIONS`](crate::MAX_ACTIONS) actions, or if memory
    /// does not suffice.
    pub fn new(
        key_bits: u32,
        parameter_bytes: usize,
        actions: u16,
    ) -> Result<Self, ExactTableError> {
        Self::stored(Storage::Inline, EntryLock::None, key_bits, parameter_bytes, actions)
    }

    /// Creates an empty table in any storage, with the sizes that [`ExactTable::new`] describes. In
    /// storages with an index, entries can be locked ([`Sharing::Locked`]) only if `lock` is
    /// [`EntryLock::PerEntry`]. The buckets of inline storage always have a lock.
    ///
    /// # Errors
    /// Returns an error in the cases of [`ExactTable::new`].
    pub fn stored(
        storage: Storage,
        lock: EntryLock,
        key_bits: u32,
        parameter_bytes: usize,
        actions: u16,
    ) -> Result<Self, ExactTableError> {
        Self::with_kind((storage, lock), false, (key_bits, parameter_bytes, actions))
    }

    /// Creates an empty table, as [`ExactTable::stored`] does, for keys that are consecutive
    /// numbers from 1 on, with few gaps. In inline storage, the number of an entry determines its
    /// position.
    ///
    /// # Errors
    /// Returns an error in the cases of [`ExactTable::new`].
    pub fn numbered(
        storage: Storage,
        lock: EntryLock,
        parameter_bytes: usize,
        actions: u16,
    ) -> Result<Self, ExactTableError> {
        let is_numbered = storage == Storage::Inline;
        Self::with_kind((storage, lock), is_numbered, (u32::BITS, parameter_bytes, actions))
    }

    fn with_kind(
        (storage, lock): (Storage, EntryLock),
        is_numbered: bool,
        (key_bits, parameter_bytes, actions): (u32, usize, u16),
    ) -> Result<Self, ExactTableError> {
        let layout =
            Layout::new(key_bits, parameter_bytes, FIRST_SIZE)?.with_actions(actions.max(1))?;
        let shape = Self::shape(&layout)?;
        let body = Body::new((storage, lock), is_numbered, (shape, &layout), FIRST_SIZE)?;
        let domain = Domain::new();
        Ok(Self { layout, shape, storage, lock, is_numbered, size: FIRST_SIZE, body, domain })
    }

    /// Checks that keys and parameters of this layout are narrow enough for this kind of table.
    ///
    /// # Errors
    /// Returns [`ExactTableError::TooWide`] if they are not.
    pub fn check(layout: &Layout) -> Result<(), ExactTableError> {
        Self::shape(layout).map(|_| ())
    }

    fn shape(layout: &Layout) -> Result<Shape, ExactTableError> {
        let (key_bits, parameter_bytes) = (layout.key_bits(), layout.parameter_bytes());
        Shape::of(layout).ok_or(ExactTableError::TooWide { key_bits, parameter_bytes })
    }

    fn body(&self, size: usize) -> Result<Body, ExactTableError> {
        let design = (self.storage, self.lock);
        Body::new(design, self.is_numbered, (self.shape, &self.layout), size)
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Returns whether the table has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes of memory that the table has allocated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.memory().total()
    }

    /// Returns the number of bytes of memory that the table has allocated, by part.
    #[must_use]
    pub fn memory(&self) -> MemoryUse {
        self.body.memory()
    }

    /// Returns the access of one thread. `writing` has a bit for each action that writes its entry.
    /// The first action has the lowest bit. Actions after the first 64 do not write.
    ///
    /// The functions of the access may be called while the table is alive and unchanged. After a
    /// change, the caller must make new accesses.
    #[must_use]
    pub fn access(&self, sharing: Sharing, writing: u64) -> Access {
        self.body.access(sharing, writing)
    }

    /// Adds an entry. The table grows if it is full. Parameters that are too short are padded with
    /// zeros.
    ///
    /// # Errors
    /// Returns an error, and leaves the entries unchanged, if the key exists or memory does not
    /// suffice.
    pub fn insert(
        &mut self,
        key: u128,
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), ExactTableError> {
        let mut full = [0; MAX_PARAMETERS];
        full.iter_mut().zip(parameters).for_each(|(to, from)| *to = *from);
        let length = self.layout.parameter_bytes().max(parameters.len()).min(MAX_PARAMETERS);
        let parameters = full.get(..length).unwrap_or(&full);
        loop {
            match self.put(key, action, parameters) {
                Ok(()) => return Ok(()),
                Err(Full::Exists) => return Err(ExactTableError::Exists),
                Err(Full::Full) => {
                    let size = self.size * 2;
                    *self = self.with_size(size)?;
                }
            }
        }
    }

    /// Returns a larger table with the same entries and room for one more entry with this key, or
    /// `None` if this table has room. During the call, other threads may read entries of this
    /// table, but not write them.
    ///
    /// # Errors
    /// Returns an error if memory does not suffice.
    pub fn with_room_for(&self, key: u128) -> Result<Option<Self>, ExactTableError> {
        match self.body.has_room_for(key, self.size) {
            true => Ok(None),
            false => self.with_size(self.size * 2).map(Some),
        }
    }

    /// Returns a smaller table with the same entries. Returns `None` if more than an eighth of the
    /// room of this table is in use, if this table is too small to be worth shrinking, or if memory
    /// does not suffice. During the call, other threads may read entries of this table, but not
    /// write them.
    #[must_use]
    pub fn shrunk(&self) -> Option<Self> {
        if self.size <= SMALLEST_SHRUNK || self.body.needed() > self.size / 8 {
            return None;
        }
        let size = (2 * self.body.needed()).next_power_of_two().max(FIRST_SIZE);
        // If memory does not suffice for the smaller table, this table remains in use.
        self.with_size(size).ok()
    }

    fn put(&self, key: u128, action: ActionId, parameters: &[u8]) -> Result<(), Full> {
        self.body.insert(&self.domain, self.key(key).bytes(), action.0, parameters)
    }

    /// Returns a table with the same entries and room for `size` entries.
    fn with_size(&self, size: usize) -> Result<Self, ExactTableError> {
        if size > MAX_SIZE {
            return Err(ExactTableError::Memory { entries: size });
        }
        let body = self.body(size)?;
        let next = Self { size, body, domain: Domain::new(), ..*self };
        let mut no_room = false;
        self.for_each(|key, action, parameters| {
            no_room |= next.put(key, action, parameters).is_err();
        });
        if no_room { Err(ExactTableError::Memory { entries: size }) } else { Ok(next) }
    }

    /// Removes an entry, and returns whether it existed.
    pub fn remove(&mut self, key: u128) -> bool {
        self.body.remove(&self.domain, self.key(key).bytes())
    }

    /// Replaces the action and the parameters of an entry, and returns whether the entry existed.
    pub fn replace(&mut self, key: u128, action: ActionId, parameters: &[u8]) -> bool {
        let key = self.key(key);
        let store = |_, value: &mut [u8]| {
            value.fill(0);
            value.iter_mut().zip(parameters).for_each(|(to, from)| *to = *from);
            action.0
        };
        self.body.update(key.bytes(), self.layout.parameter_bytes(), store)
    }

    /// Returns the action and the parameters of an entry.
    #[must_use]
    pub fn read(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let key = self.key(key);
        let mut parameters = vec![0; self.layout.parameter_bytes()];
        let action = self.body.read(key.bytes(), &mut parameters)?;
        Some((ActionId(action), parameters))
    }

    /// Returns a copy of this table.
    ///
    /// # Errors
    /// Returns an error if memory does not suffice.
    pub fn copied(&self) -> Result<Self, ExactTableError> {
        self.with_size(self.size)
    }

    /// Calls `visit` with the key, the action and the parameters of each entry.
    pub fn for_each(&self, mut visit: impl FnMut(u128, ActionId, &[u8])) {
        let mut key = Key { bytes: [0; 16], length: self.shape.key };
        let mut values = [0; MAX_PARAMETERS];
        let length = self.layout.parameter_bytes();
        match &self.body {
            Body::Inline(inline) | Body::Numbered(inline) => {
                for position in 0..inline.positions() as u32 {
                    let found = inline.entry_at(position, &mut key.bytes, &mut values);
                    if let (Some(action), Some(values)) = (found, values.get(..length)) {
                        visit(key.number(), ActionId(action), values);
                    }
                }
            }
            Body::Indirect(indirect) => {
                for record in indirect.occupied() {
                    indirect.key_at(record, key.bytes_mut());
                    let number = key.number();
                    if let Some((action, values)) = self.read(number) {
                        visit(number, action, &values);
                    }
                }
            }
        }
    }

    fn key(&self, key: u128) -> Key {
        Key { bytes: key.to_le_bytes(), length: self.shape.key }
    }
}

/// A key in the form in which a table stores it, least significant byte first.
struct Key {
    bytes: [u8; 16],
    length: usize,
}

impl Key {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self.bytes.get_mut(..self.length) {
            Some(bytes) => bytes,
            None => &mut [],
        }
    }

    fn number(&self) -> u128 {
        u128::from_le_bytes(self.bytes)
    }
}

impl Body {
    fn new(
        (storage, lock): (Storage, EntryLock),
        is_numbered: bool,
        (shape, layout): (Shape, &Layout),
        size: usize,
    ) -> Result<Self, ExactTableError> {
        let none = || ExactTableError::Memory { entries: size };
        let kind = match storage {
            Storage::Inline if is_numbered => {
                let inline = Inline::numbered(shape, size).ok_or_else(none)?;
                return Ok(Self::Numbered(Box::new(inline)));
            }
            Storage::Inline => {
                return Ok(Self::Inline(Box::new(Inline::new(shape, size).ok_or_else(none)?)));
            }
            Storage::Original => Kind::Original,
            Storage::Dynamic => Kind::Dynamic,
            Storage::Static => Kind::Static,
        };
        let layout = Layout::new(8 * shape.key as u32, layout.parameter_bytes(), size)?
            .with_actions(layout.actions())?;
        let table = Indirect::new(kind, &layout, lock);
        Ok(Self::Indirect(Box::new(table.ok_or_else(none)?)))
    }

    fn len(&self) -> usize {
        match self {
            Self::Inline(inline) | Self::Numbered(inline) => inline.len(),
            Self::Indirect(indirect) => indirect.len(),
        }
    }

    fn hash(&self, key: &[u8]) -> u64 {
        match self {
            Self::Numbered(inline) => inline.numbered_hash(key),
            Self::Inline(_) | Self::Indirect(_) => hash::bytes(key, DEFAULT_SEED),
        }
    }

    fn memory(&self) -> MemoryUse {
        match self {
            Self::Inline(inline) | Self::Numbered(inline) => MemoryUse {
                index: 0,
                keys: 0,
                pointers: 0,
                entries: inline.bytes(),
                pages: inline.pages(),
            },
            Self::Indirect(indirect) => {
                let Parts { index, records, pointers, entries } = indirect.parts();
                MemoryUse { index, keys: records, pointers, entries, pages: indirect.pages() }
            }
        }
    }

    fn access(&self, sharing: Sharing, writing: u64) -> Access {
        match self {
            Self::Inline(inline) => inline.access(sharing, writing),
            Self::Numbered(inline) => inline.numbered_access(sharing, writing),
            Self::Indirect(indirect) => indirect.access(sharing, writing),
        }
    }

    fn read(&self, key: &[u8], parameters: &mut [u8]) -> Option<u16> {
        let hash = self.hash(key);
        match self {
            Self::Inline(inline) | Self::Numbered(inline) => {
                inline.read::<true>(hash, key, parameters).map(|hit| hit.0)
            }
            Self::Indirect(indirect) => {
                indirect.read::<true>(hash, key, parameters).map(|hit| hit.action)
            }
        }
    }

    fn insert(
        &self,
        domain: &Domain,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<(), Full> {
        let hash = self.hash(key);
        match self {
            Self::Inline(inline) => inline.insert::<true>(hash, key, action, parameters),
            Self::Numbered(inline) => inline.insert_numbered(key, action, parameters),
            Self::Indirect(indirect) => {
                indirect.insert::<true>(domain, hash, key, action, parameters)
            }
        }
        .map(|_| ())
    }

    fn remove(&self, domain: &Domain, key: &[u8]) -> bool {
        let hash = self.hash(key);
        match self {
            Self::Inline(inline) | Self::Numbered(inline) => inline.remove(hash, key),
            Self::Indirect(indirect) => indirect.remove(domain, hash, key).is_some(),
        }
    }

    fn update(&self, key: &[u8], bytes: usize, act: impl FnOnce(u16, &mut [u8]) -> u16) -> bool {
        let hash = self.hash(key);
        match self {
            Self::Inline(inline) | Self::Numbered(inline) => inline.update(hash, key, bytes, act),
            Self::Indirect(indirect) => {
                indirect.update::<true>(hash, key, &mut vec![0; bytes], act)
            }
        }
    }

    /// Returns whether storage for `size` entries has room for an entry with this key. Full storage
    /// has none even if it contains the key, unless its keys are entry numbers.
    fn has_room_for(&self, key: u128, size: usize) -> bool {
        match self {
            Self::Numbered(_) => key <= size as u128,
            Self::Inline(inline) => inline.len() < size,
            Self::Indirect(indirect) => indirect.len() < size,
        }
    }

    /// Returns the number of entries for which a copy of the table must have room: the largest
    /// entry number if keys are entry numbers, otherwise the number of entries.
    fn needed(&self) -> usize {
        match self {
            // The position of an entry is its number, so the largest number determines the room.
            Self::Numbered(inline) => {
                let mut positions = (0..inline.positions() as u32).rev();
                let (mut key, mut values) = ([0; 16], [0; MAX_PARAMETERS]);
                let last = positions
                    .find(|position| inline.entry_at(*position, &mut key, &mut values).is_some());
                last.map_or(0, |_| u128::from_le_bytes(key) as usize)
            }
            Self::Inline(_) | Self::Indirect(_) => self.len(),
        }
    }
}

impl std::fmt::Debug for ExactTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { layout, storage, size, .. } = self;
        let mut table = f.debug_struct("ExactTable");
        table.field("layout", layout).field("storage", storage).field("size", size).finish()
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "an access is what machine code calls")]
mod tests {
    use super::*;
    use crate::access::{Place, key, no_bucket};
    use crate::hash::{DEFAULT_SEED, fixed};
    use crate::probe::Probe;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn find(access: &mut Access, key: u128) -> Place {
        // SAFETY: the tests keep the table alive and unchanged while they use an access.
        unsafe { (access.find)(access, key as u64, (key >> 64) as u64) }
    }

    fn leave(access: &mut Access) {
        if let Some(leave) = access.leave {
            // SAFETY: the tests keep the table alive and unchanged while they use an access.
            unsafe { leave(access) };
        }
    }

    /// Returns all storages, with and without locks in entries.
    fn designs() -> impl Iterator<Item = (Storage, EntryLock)> {
        Storage::ALL
            .into_iter()
            .flat_map(|storage| [EntryLock::None, EntryLock::PerEntry].map(|lock| (storage, lock)))
    }

    /// Increments the first byte of an entry, and returns the entry's action.
    fn bump(access: &mut Access, key: u128) -> Option<u64> {
        let Place { value, action } = find(access, key);
        if value.is_null() {
            return None;
        }
        // SAFETY: the value is non-null, and all tables here have parameters of at least one byte.
        unsafe { *value = (*value).wrapping_add(1) };
        leave(access);
        Some(action)
    }

    #[test]
    fn inserted_entries_are_found_and_written_under_every_sharing() {
        let count = if cfg!(miri) { 6 } else { 500_usize };
        let shapes = [(32, 4), (128, 32), (9, 1), (48, 8), (64, 16), (32, 7)];
        let shapes = &shapes[..if cfg!(miri) { 2 } else { shapes.len() }];
        for (storage, lock, (key_bits, parameter_bytes)) in designs()
            .flat_map(|design| shapes.iter().map(move |shape| (design.0, design.1, *shape)))
        {
            let mut table =
                ExactTable::stored(storage, lock, key_bits, parameter_bytes, 3).unwrap();
            let all = u128::MAX >> (128 - key_bits);
            let keys: Vec<u128> = (0..count as u128).map(|key| all - key).collect();
            for (number, key) in keys.iter().enumerate() {
                table.insert(*key, ActionId(number as u16 % 3), &[number as u8; 1]).unwrap();
                assert_eq!(table.insert(*key, ActionId(0), &[]), Err(ExactTableError::Exists));
            }
            assert_eq!(table.len(), keys.len());
            use Sharing::{Alone, Apart, Locked, Unlocked, Words};
            let all = [Alone, Apart, Words, Unlocked, Locked];
            for sharing in all {
                let context = format!("{storage} {lock} {sharing:?} {key_bits} {parameter_bytes}");
                let mut access = table.access(sharing, u64::MAX);
                for (number, key) in keys.iter().enumerate() {
                    assert_eq!(bump(&mut access, *key), Some(number as u64 % 3), "{context}");
                }
                assert_eq!(bump(&mut access, 1), None);
                assert_eq!((access.hits, access.misses), (count as u64, 1));
            }
            for (number, key) in keys.iter().enumerate() {
                let (_, parameters) = table.read(*key).unwrap();
                assert_eq!(parameters.first(), Some(&(number as u8).wrapping_add(5)));
                assert!(table.replace(*key, ActionId(2), &[7]));
                assert!(table.remove(*key) && !table.remove(*key));
                assert!(table.read(*key).is_none());
            }
            assert!(table.is_empty());
        }
    }

    /// Has two threads increment a word at the beginning and a word at the end of one entry's
    /// parameters. Returns the final values of both words.
    fn counted(storage: Storage, lock: EntryLock, sharing: Sharing, count: usize) -> (u64, u64) {
        let mut table = ExactTable::stored(storage, lock, 32, 16, 1).unwrap();
        table.insert(1, ActionId(0), &[]).unwrap();
        let table = &table;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let mut access = table.access(sharing, 1);
                    for _ in 0..count {
                        let Place { value, .. } = find(&mut access, 1);
                        for word in [0, 1] {
                            // SAFETY: the entry is locked, or this is a copy of it; its parameters
                            // are two aligned words. Threads that read the entry meanwhile access
                            // its words as atomics, so this thread does too.
                            let word = unsafe {
                                AtomicU64::from_ptr(value.cast::<u64>().wrapping_add(word))
                            };
                            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        }
                        leave(&mut access);
                    }
                });
            }
        });
        let (_, parameters) = table.read(1).unwrap();
        let word = |at: usize| u64::from_ne_bytes(parameters[at..at + 8].try_into().unwrap());
        (word(0), word(8))
    }

    #[test]
    fn a_locked_action_loses_no_update_of_another_thread() {
        let count = if cfg!(miri) { 3 } else { 20_000 };
        for storage in Storage::ALL {
            let all = counted(storage, EntryLock::PerEntry, Sharing::Locked, count);
            assert_eq!(all, (2 * count as u64, 2 * count as u64), "{storage}");
        }
    }

    /// Checks that no update is seen in part: both words of an update are in the entry, or neither
    /// is.
    #[test]
    fn an_entry_without_a_lock_is_never_half_written() {
        let count = if cfg!(miri) { 3 } else { 20_000 };
        for (storage, lock) in designs() {
            let (first, last) = counted(storage, lock, Sharing::Unlocked, count);
            assert!(first == last && first <= 2 * count as u64, "{storage} {lock}: {first} {last}");
        }
    }

    #[test]
    fn an_abandoned_action_releases_its_lock() {
        for storage in Storage::ALL {
            let mut table = ExactTable::stored(storage, EntryLock::PerEntry, 32, 4, 1).unwrap();
            table.insert(1, ActionId(0), &[]).unwrap();
            let mut access = table.access(Sharing::Locked, 1);
            find(&mut access, 1);
            access.abandon();
            access.abandon();
            assert_eq!(bump(&mut access, 1), Some(0), "{storage}");
        }
    }

    /// Checks that if two threads write one word of one entry in place, the word always holds the
    /// value of one of the threads.
    #[test]
    fn concurrent_writes_of_one_word_are_not_mixed() {
        let count = if cfg!(miri) { 10 } else { 20_000_u64 };
        let mut table = ExactTable::new(32, 8, 1).unwrap();
        table.insert(1, ActionId(0), &[]).unwrap();
        let table = &table;
        std::thread::scope(|scope| {
            for thread in 1..=2_u64 {
                scope.spawn(move || {
                    let mut access = table.access(Sharing::Words, 1);
                    assert!(access.leave.is_none() && access.in_place == 1);
                    for _ in 0..count {
                        let word = find(&mut access, 1).value.cast::<u64>();
                        // SAFETY: the value is an aligned word that all threads access as an
                        // atomic, as machine code does by loads and stores of eight bytes.
                        let word = unsafe { AtomicU64::from_ptr(word) };
                        let before = word.swap(thread * 0x1_0000_0001, Ordering::Relaxed);
                        assert!([0, 0x1_0000_0001, 0x2_0000_0002].contains(&before), "{before:x}");
                    }
                });
            }
        });
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_copy_has_the_entries_of_its_original_and_no_later_ones() {
        for (storage, lock) in designs() {
            let mut table = ExactTable::stored(storage, lock, 32, 4, 2).unwrap();
            for key in 0..300_u128 {
                table.insert(key, ActionId((key % 2) as u16), &(key as u32).to_ne_bytes()).unwrap();
            }
            let mut copy = table.copied().unwrap();
            table.remove(7);
            copy.insert(300, ActionId(1), &[9; 4]).unwrap();
            assert_eq!((table.len(), copy.len()), (299, 301));
            let mut seen = 0;
            table.for_each(|key, action, parameters| {
                assert_eq!(copy.read(key), Some((action, parameters.to_vec())), "{storage} {lock}");
                seen += 1;
            });
            assert_eq!((seen, table.read(300)), (299, None));
        }
    }

    /// Checks that a larger or smaller table can be built while the original is in use and
    /// unchanged.
    #[test]
    fn a_table_is_rebuilt_larger_or_smaller_with_the_same_entries() {
        let count = if cfg!(miri) { 70 } else { 9000_u32 };
        for ((storage, lock), numbered) in
            designs().flat_map(|design| [false, true].map(|numbered| (design, numbered)))
        {
            let context = format!("{storage} {lock} {numbered}");
            let mut table = match numbered {
                true => ExactTable::numbered(storage, lock, 8, 2).unwrap(),
                false => ExactTable::stored(storage, lock, 32, 8, 2).unwrap(),
            };
            let mut grown = 0;
            for key in 1..=count {
                if let Some(larger) = table.with_room_for(key.into()).unwrap() {
                    assert_eq!((larger.len(), table.len()), (table.len(), key as usize - 1));
                    assert!(larger.bytes() > table.bytes(), "{context}");
                    table = larger;
                    grown += 1;
                }
                let before = table.bytes();
                let parameters = u64::from(key).to_ne_bytes();
                table.insert(key.into(), ActionId(key as u16 % 2), &parameters).unwrap();
                if storage == Storage::Inline {
                    assert_eq!(table.bytes(), before, "there was room, {context}");
                }
            }
            assert!(grown > 0, "{context}");
            assert!(table.shrunk().is_none(), "nothing is gone, {context}");
            let full = table.bytes();
            for key in 8..=count {
                assert!(table.remove(key.into()));
            }
            if cfg!(miri) {
                continue;
            }
            let smaller = table.shrunk().expect("few are left");
            assert!(smaller.bytes() < full / 8, "{} of {full}, {context}", smaller.bytes());
            assert!(smaller.shrunk().is_none());
            for key in 1..=8_u32 {
                let found = smaller.read(key.into());
                let parameters = u64::from(key).to_ne_bytes().to_vec();
                assert_eq!(found, (key < 8).then_some((ActionId(key as u16 % 2), parameters)));
            }
        }
    }

    #[test]
    fn the_addresses_in_existing_entries_are_prefetched() {
        let named = 0x1234_5678_u64;
        let mut values = [0; 16];
        values[8..].copy_from_slice(&named.to_ne_bytes());
        for key_bits in [32, 64, 128] {
            let mut table = ExactTable::new(key_bits, 16, 2).unwrap();
            table.insert(7, ActionId(0), &values).unwrap();
            let ask = |table: &ExactTable, sharing| {
                let (mut named, mut found) = ([1; 3], [1; 3]);
                let keys = ([7, 8, 0].map(|key| [key, 0]), []);
                let into = (&mut named[..], &mut found[..]);
                // SAFETY: the table is alive and unchanged since the access was made.
                unsafe { table.access(sharing, 0).prefetch_named((&keys.0, &keys.1), 8, into) };
                assert_eq!(found.map(|found| found != 0), named.map(|named| named != 0));
                named
            };
            assert_eq!(ask(&table, Sharing::Alone), [named, 0, 0], "{key_bits}");
            assert_eq!(ask(&table, Sharing::Locked), [0; 3], "{key_bits}");
            assert!(table.remove(7));
            assert_eq!(ask(&table, Sharing::Alone), [0; 3], "{key_bits}");
        }
    }

    /// Inserts and removes numbered entries in any order, in all storages.
    #[test]
    fn numbered_entries_are_found_under_every_sharing() {
        use Sharing::{Alone, Apart, Locked, Unlocked, Words};
        let count = if cfg!(miri) { 8 } else { 700_u32 };
        let byte_counts: &[usize] = if cfg!(miri) { &[16] } else { &[4, 7, 8, 16, 32] };
        for ((storage, lock), bytes) in
            designs().flat_map(|design| byte_counts.iter().map(move |bytes| (design, *bytes)))
        {
            let mut table = ExactTable::numbered(storage, lock, bytes, 3).unwrap();
            let mut free: Vec<u32> = (1..=count).rev().collect();
            let mut random = fastrand::Rng::with_seed(bytes as u64);
            // The first byte of each entry.
            let mut known: std::collections::BTreeMap<u32, u8> = std::collections::BTreeMap::new();
            for step in 0..2 * count {
                if step % 4 == 3 {
                    let (&number, &value) = known.iter().nth(random.usize(..known.len())).unwrap();
                    let (_, parameters) = table.read(number.into()).unwrap();
                    assert_eq!(parameters[0], value);
                    assert!(table.remove(number.into()) && !table.remove(number.into()));
                    known.remove(&number);
                    free.push(number);
                } else if let Some(number) = free.pop() {
                    let value = number as u8;
                    let action = ActionId(number as u16 % 3);
                    table.insert(number.into(), action, &[value]).unwrap();
                    let again = table.insert(number.into(), action, &[value]);
                    assert_eq!(again, Err(ExactTableError::Exists));
                    known.insert(number, value);
                }
                assert_eq!(table.len(), known.len());
            }
            let copy = table.copied().unwrap();
            for sharing in [Alone, Apart, Words, Unlocked, Locked] {
                let context = format!("{storage} {lock} {sharing:?} {bytes}");
                let mut access = copy.access(sharing, u64::MAX);
                for number in 0..=count + 1 {
                    let action = known.contains_key(&number).then_some(u64::from(number % 3));
                    assert_eq!(bump(&mut access, number.into()), action, "{context} {number}");
                }
            }
            for number in 1..=count {
                let found = table.read(number.into()).map(|(_, parameters)| parameters[0]);
                assert_eq!(found, known.get(&number).copied(), "{storage} {lock} {number}");
                let copied = copy.read(number.into()).map(|(_, parameters)| parameters[0]);
                assert_eq!(copied, found.map(|value| value.wrapping_add(5)));
            }
            let mut seen = 0;
            table.for_each(|number, _, parameters| {
                assert_eq!(known.get(&(number as u32)), parameters.first());
                seen += 1;
            });
            assert_eq!(seen, known.len());
        }
    }

    #[test]
    fn addresses_in_entries_of_overflowed_buckets_are_prefetched() {
        for (key_bits, bytes) in [(32, 8), (64, 8), (104, 8), (128, 16)] {
            let mut table = ExactTable::new(key_bits, bytes, 2).unwrap();
            let count = if cfg!(miri) { 60 } else { 3000_u64 };
            let place = bytes - 8;
            for key in 1..=count {
                let values = [vec![0; place], (key << 12).to_ne_bytes().to_vec()].concat();
                table.insert(u128::from(key), ActionId((key % 2) as u16), &values).unwrap();
            }
            for key in (1..=count).step_by(3) {
                assert!(table.remove(u128::from(key)));
            }
            let keys: Vec<[u64; 2]> = (1..=count).map(|key| [key, 0]).collect();
            let (mut named, mut found) = (vec![1; keys.len()], vec![1; keys.len()]);
            let mut access = table.access(Sharing::Alone, 0);
            // SAFETY: the table is alive and unchanged since the access was made.
            unsafe { access.prefetch_named((&keys, &[]), place, (&mut named, &mut found)) };
            // The result is equal if bucket addresses are passed, and empty if the addresses are
            // those of the empty bucket.
            let home = |[low, high]: &[u64; 2]| {
                let hash = match key_bits {
                    32 => fixed(&key::<4>(*low, *high), DEFAULT_SEED),
                    64 => fixed(&key::<8>(*low, *high), DEFAULT_SEED),
                    _ => fixed(&key::<16>(*low, *high), DEFAULT_SEED),
                };
                access.buckets.expose_provenance() as u64 + (hash & access.mask) * 64
            };
            let buckets: Vec<u64> = keys.iter().map(home).collect();
            let (mut by_told, mut found_by_told) = (vec![1; keys.len()], vec![1; keys.len()]);
            let into = (&mut by_told[..], &mut found_by_told[..]);
            // SAFETY: the table is alive and unchanged since the access was made. The addresses of
            // the last keys' buckets are not passed.
            unsafe { access.prefetch_named((&keys, &buckets[..keys.len() - 5]), place, into) };
            assert_eq!((&by_told, &found_by_told), (&named, &found), "{key_bits}");
            let nowhere = vec![no_bucket(); keys.len()];
            let into = (&mut by_told[..], &mut found_by_told[..]);
            // SAFETY: the table is alive and unchanged since the access was made, and the addresses
            // are `no_bucket`.
            unsafe { access.prefetch_named((&keys, &nowhere), place, into) };
            assert!(by_told.iter().all(|named| *named == 0));
            assert!(found_by_told.iter().all(|found| *found == 0));
            let probe = Probe::of(key_bits, bytes, 2).unwrap();
            let (mut seen, mut behind) = (0, 0);
            for (key, ((named, found), home)) in
                (1..).zip(named.into_iter().zip(found).zip(buckets))
            {
                assert!(named == 0 || named == key << 12 && key % 3 != 1, "{key_bits} {key}");
                seen += u64::from(named != 0);
                if found == 0 {
                    continue;
                }
                // The address that machine code computes is the one at which the table finds the
                // entry.
                let is_behind = found & Probe::FOUND_BEHIND != 0;
                let slot = (found as u16 >> Probe::FOUND_SLOT) as usize;
                let (values, size) = probe.values();
                let at =
                    home as usize + usize::from(is_behind) * Probe::BUCKET + values + slot * size;
                // SAFETY: the access was made by the table, which is alive.
                let entry = unsafe { (access.find)(&raw mut access, key, 0) };
                let action = u64::from(found >> Probe::FOUND_ACTION);
                assert_eq!((entry.value.addr(), entry.action), (at, action), "{key_bits} {key}");
                assert_eq!((named, action), (key << 12, key % 2), "{key_bits} {key}");
                behind += u64::from(is_behind);
            }
            // A few entries are in later buckets.
            assert!(seen > count * 6 / 10, "{seen} of {count} with {key_bits} bits");
            assert!(behind > 0, "{key_bits}");
        }
    }

    #[test]
    fn addresses_in_numbered_entries_are_prefetched() {
        let mut table = ExactTable::numbered(Storage::Inline, EntryLock::None, 16, 2).unwrap();
        let named = |number: u64| (number * 0x1_0000).to_ne_bytes();
        for number in 1..=200_u64 {
            let mut values = [0; 16];
            values[8..].copy_from_slice(&named(number));
            table.insert(number.into(), ActionId(1), &values).unwrap();
        }
        assert!(table.remove(7));
        let access = table.access(Sharing::Alone, 0);
        access.prefetch_numbered(&[0, 1, 200, u32::MAX]);
        let keys: Vec<[u64; 2]> = (1..=200).map(|number| [number, 0]).collect();
        let (mut named, mut found) = ([1; 200], [0; 200]);
        // SAFETY: the table is alive and unchanged since the access was made.
        unsafe { access.prefetch_named((&keys, &[]), 8, (&mut named, &mut found)) };
        for (number, named) in (1..).zip(named) {
            assert_eq!(named, if number == 7 { 0 } else { number * 0x1_0000 });
        }
    }

    #[test]
    fn keys_and_parameters_too_large_for_a_bucket_are_refused() {
        let wide = |key_bits, bytes, actions| ExactTable::new(key_bits, bytes, actions).is_err();
        assert!(wide(129, 4, 1) && wide(32, 33, 1) && !wide(128, 32, 60));
    }
}
