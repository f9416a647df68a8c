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

#[cfg(test)]
#[allow(unsafe_code, reason = "tests call the functions that machine code calls")]
mod tests;

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

/// Tables with room for at most this number of entries are never shrunk.
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
        Self::with_kind(storage, lock, false, key_bits, parameter_bytes, actions)
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
        Self::with_kind(storage, lock, is_numbered, u32::BITS, parameter_bytes, actions)
    }

    fn with_kind(
        storage: Storage,
        lock: EntryLock,
        is_numbered: bool,
        key_bits: u32,
        parameter_bytes: usize,
        actions: u16,
    ) -> Result<Self, ExactTableError> {
        let layout =
            Layout::new(key_bits, parameter_bytes, FIRST_SIZE)?.with_actions(actions.max(1))?;
        let shape = Self::shape(&layout)?;
        let body = BodyKind { storage, lock, is_numbered }.body(shape, &layout, FIRST_SIZE)?;
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
        let Self { storage, lock, is_numbered, .. } = *self;
        BodyKind { storage, lock, is_numbered }.body(self.shape, &self.layout, size)
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

/// The properties of a table that determine how its body stores entries.
struct BodyKind {
    storage: Storage,
    lock: EntryLock,
    is_numbered: bool,
}

impl BodyKind {
    /// Creates a body for `size` entries.
    fn body(self, shape: Shape, layout: &Layout, size: usize) -> Result<Body, ExactTableError> {
        let none = || ExactTableError::Memory { entries: size };
        let kind = match self.storage {
            Storage::Inline if self.is_numbered => {
                let inline = Inline::numbered(shape, size).ok_or_else(none)?;
                return Ok(Body::Numbered(Box::new(inline)));
            }
            Storage::Inline => {
                return Ok(Body::Inline(Box::new(Inline::new(shape, size).ok_or_else(none)?)));
            }
            Storage::Original => Kind::Original,
            Storage::Dynamic => Kind::Dynamic,
            Storage::Static => Kind::Static,
        };
        let layout = Layout::new(8 * shape.key as u32, layout.parameter_bytes(), size)?
            .with_actions(layout.actions())?;
        let table = Indirect::new(kind, &layout, self.lock);
        Ok(Body::Indirect(Box::new(table.ok_or_else(none)?)))
    }
}

impl Body {
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

    /// Returns whether storage that was made for `size` entries can take an entry with this key. If
    /// keys are entry numbers, this depends on the key alone. Otherwise storage that is full takes
    /// no entry, even if it contains the key already.
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
