//! An exact table for machine code: inline storage that grows, whose users keep apart by a [`Gate`](crate::Gate).
//!
//! Threads of the data plane have an [`Access`] each and use it inside of the gate; whatever has `&mut` here (insertion,
//! deletion, change) is done while the gate is closed. So a deletion needs no epochs, and a table may grow under its
//! users. Keys are numbers; parameters are bytes as the caller packs them.

use thiserror::Error;

use crate::bucket::{Access, Effect, Full, Sharing};
use crate::design::EntryLock;
use crate::entry::ActionId;
use crate::hash::DEFAULT_SEED;
use crate::layout::{Layout, LayoutError, MAX_SIZE};
use crate::store::{Inline, Shape};

/// Room for entries at first.
const FIRST_SIZE: usize = 64;

/// See the module.
pub struct ExactTable {
    layout: Layout,
    shape: Shape,
    size: usize,
    // The address of the buckets is known to accesses: it must not change when this is moved.
    body: Box<Inline>,
}

/// Why a table cannot be, or cannot take an entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExactTableError {
    /// Such a layout there is not.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Key, parameters and actions do not fit a cache line.
    #[error(
        "keys of {key_bits} bits with {parameter_bytes} B of parameters do not fit a cache line; use a Table"
    )]
    TooWide {
        /// Of the key.
        key_bits: u32,
        /// Of the action with most.
        parameter_bytes: usize,
    },
    /// Memory does not suffice, or there are as many entries as there can be.
    #[error("no memory for {entries} entries")]
    Memory {
        /// How many there would be.
        entries: usize,
    },
    /// The key is there already.
    #[error("an entry with this key is there already")]
    Exists,
}

impl ExactTable {
    /// An empty table for keys of `key_bits` bits, parameters of `parameter_bytes` and so many actions.
    ///
    /// # Errors
    /// If that does not fit a cache line: keys of at most 128 bits, parameters of at most 32 bytes.
    pub fn new(
        key_bits: u32,
        parameter_bytes: usize,
        actions: u16,
    ) -> Result<Self, ExactTableError> {
        let layout =
            Layout::new(key_bits, parameter_bytes, FIRST_SIZE)?.with_actions(actions.max(1))?;
        let shape = Shape::of(&layout);
        let shape = shape.ok_or(ExactTableError::TooWide { key_bits, parameter_bytes })?;
        let body = Self::body(shape, FIRST_SIZE)?;
        Ok(Self { layout, shape, size: FIRST_SIZE, body })
    }

    fn body(shape: Shape, size: usize) -> Result<Box<Inline>, ExactTableError> {
        let none = ExactTableError::Memory { entries: size };
        Inline::new(shape, size).map(Box::new).ok_or(none)
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.body.bytes()
    }

    /// A thread's way in; `writing` has a bit for each action that writes its entry, the first action the lowest.
    ///
    /// It may be used (its functions called) as long as the table is alive and has not been changed since: whoever
    /// changes it sees to it that accesses are made anew.
    #[must_use]
    pub fn access(&self, sharing: Sharing, writing: u64) -> Access {
        self.body.access(sharing, writing)
    }

    /// Adds an entry; the table grows where it must. Shorter parameters are filled up with zeros.
    ///
    /// # Errors
    /// If the key is there, or memory does not suffice; then all is as before.
    pub fn insert(
        &mut self,
        key: u128,
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), ExactTableError> {
        let key = self.key(key);
        match self.put(&key, action, parameters) {
            Ok(()) => return Ok(()),
            Err(Full::Exists) => return Err(ExactTableError::Exists),
            Err(Full::Full) => self.grow()?,
        }
        let no_room = ExactTableError::Memory { entries: self.len() + 1 };
        self.put(&key, action, parameters).map_err(|_| no_room)
    }

    fn put(&self, key: &[u8], action: ActionId, parameters: &[u8]) -> Result<(), Full> {
        let hash = self.body.hash(key, DEFAULT_SEED);
        self.body.insert::<true>(hash, key, action.0, parameters).map(|_| ())
    }

    fn grow(&mut self) -> Result<(), ExactTableError> {
        let size = self.size * 2;
        if size > MAX_SIZE {
            return Err(ExactTableError::Memory { entries: size });
        }
        let before = Self { body: Self::body(self.shape, size)?, ..*self };
        let before = std::mem::replace(self, Self { size, ..before });
        let mut no_room = false;
        before.for_each(|key, action, parameters| {
            no_room |= self.put(&self.key(key), action, parameters).is_err();
        });
        if no_room {
            *self = before;
            return Err(ExactTableError::Memory { entries: size });
        }
        Ok(())
    }

    /// Takes an entry out; whether it was there.
    pub fn remove(&mut self, key: u128) -> bool {
        let key = self.key(key);
        let hash = self.body.hash(&key, DEFAULT_SEED);
        self.body.remove(hash, &key, |_| ()).is_some()
    }

    /// Replaces action and parameters of an entry; whether it was there.
    pub fn replace(&mut self, key: u128, action: ActionId, parameters: &[u8]) -> bool {
        let key = self.key(key);
        let hash = self.body.hash(&key, DEFAULT_SEED);
        let store = |_, value: &mut [u8], _| {
            value.fill(0);
            value.iter_mut().zip(parameters).for_each(|(to, from)| *to = *from);
            (Effect::Store(action.0), ())
        };
        let bytes = self.layout.parameter_bytes();
        self.body.update::<true, ()>(EntryLock::None, hash, &key, bytes, store).is_some()
    }

    /// Action and parameters of an entry.
    #[must_use]
    pub fn read(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let key = self.key(key);
        let mut parameters = vec![0; self.layout.parameter_bytes()];
        let hash = self.body.hash(&key, DEFAULT_SEED);
        let (action, _) = self.body.read::<true>(hash, &key, &mut parameters)?;
        Some((ActionId(action), parameters))
    }

    fn for_each(&self, mut visit: impl FnMut(u128, ActionId, &[u8])) {
        let mut key = vec![0; self.shape.key];
        for position in 0..self.body.positions() as u32 {
            if self.body.key_at(position, &mut key) {
                let mut number = [0; 16];
                number.iter_mut().zip(&key).for_each(|(to, from)| *to = *from);
                let number = u128::from_le_bytes(number);
                if let Some((action, parameters)) = self.read(number) {
                    visit(number, action, &parameters);
                }
            }
        }
    }

    fn key(&self, key: u128) -> Vec<u8> {
        let bytes = key.to_le_bytes();
        bytes.iter().copied().take(self.shape.key).collect()
    }
}

impl std::fmt::Debug for ExactTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { layout, size, .. } = self;
        f.debug_struct("ExactTable").field("layout", layout).field("size", size).finish()
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "an access is what machine code calls")]
mod tests {
    use super::*;
    use crate::bucket::Place;

    fn find(access: &mut Access, key: u128) -> Place {
        // SAFETY: the tests keep the table alive and unchanged while they use an access.
        unsafe { (access.find)(access, key as u64, (key >> 64) as u64) }
    }

    fn leave(access: &mut Access) {
        if let Some(leave) = access.leave {
            // SAFETY: as in `find`.
            unsafe { leave(access) };
        }
    }

    /// What a lookup gives, and what is there after the first byte was counted up.
    fn bump(access: &mut Access, key: u128) -> Option<u64> {
        let Place { value, action } = find(access, key);
        if value.is_null() {
            return None;
        }
        // SAFETY: all tables here have parameters of at least one byte.
        unsafe { *value = (*value).wrapping_add(1) };
        leave(access);
        Some(action)
    }

    #[test]
    fn what_was_put_in_is_found_and_written_however_threads_are_kept_apart() {
        for (key_bits, parameter_bytes) in [(9, 1), (32, 4), (48, 8), (64, 16), (128, 32)] {
            let mut table = ExactTable::new(key_bits, parameter_bytes, 3).unwrap();
            let all = u128::MAX >> (128 - key_bits);
            let keys: Vec<u128> = (0..500_u128).map(|key| all - key).collect();
            for (number, key) in keys.iter().enumerate() {
                table.insert(*key, ActionId(number as u16 % 3), &[number as u8; 1]).unwrap();
                assert_eq!(table.insert(*key, ActionId(0), &[]), Err(ExactTableError::Exists));
            }
            assert_eq!(table.len(), keys.len());
            for sharing in [Sharing::Alone, Sharing::Unlocked, Sharing::Locked] {
                let mut access = table.access(sharing, u64::MAX);
                for (number, key) in keys.iter().enumerate() {
                    assert_eq!(bump(&mut access, *key), Some(number as u64 % 3), "{sharing:?}");
                }
                assert_eq!(bump(&mut access, 1), None);
                assert_eq!((access.hits, access.misses), (500, 1));
            }
            for (number, key) in keys.iter().enumerate() {
                let (_, parameters) = table.read(*key).unwrap();
                assert_eq!(parameters.first(), Some(&(number as u8).wrapping_add(3)));
                assert!(table.replace(*key, ActionId(2), &[7]));
                assert!(table.remove(*key) && !table.remove(*key));
                assert!(table.read(*key).is_none());
            }
            assert!(table.is_empty());
        }
    }

    #[test]
    fn a_locked_action_loses_no_update_of_another_thread() {
        let mut table = ExactTable::new(32, 8, 1).unwrap();
        table.insert(1, ActionId(0), &[]).unwrap();
        let table = &table;
        let count = if cfg!(miri) { 50 } else { 20_000 };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let mut access = table.access(Sharing::Locked, 1);
                    for _ in 0..count {
                        let Place { value, .. } = find(&mut access, 1);
                        // SAFETY: the entry is locked; its parameters are one aligned word.
                        unsafe { *value.cast::<u64>() += 1 };
                        leave(&mut access);
                    }
                });
            }
        });
        let (_, parameters) = table.read(1).unwrap();
        assert_eq!(parameters, (2 * count as u64).to_ne_bytes());
    }

    #[test]
    fn an_action_that_does_not_end_lets_go() {
        let mut table = ExactTable::new(32, 4, 1).unwrap();
        table.insert(1, ActionId(0), &[]).unwrap();
        let mut access = table.access(Sharing::Locked, 1);
        find(&mut access, 1);
        access.abandon();
        access.abandon();
        assert_eq!(bump(&mut access, 1), Some(0));
    }

    #[test]
    fn what_fits_no_line_is_refused() {
        let wide = |key_bits, bytes, actions| ExactTable::new(key_bits, bytes, actions).is_err();
        assert!(wide(129, 4, 1) && wide(32, 33, 1) && !wide(128, 32, 60));
    }
}
