//! One entry in memory: its action and parameters, as words.
//!
//! The head word holds the action, and either the first four bytes of the parameters or a lock. The
//! other parameters are in words after the head.

use crate::quiescence::relax;
use crate::sync::{AtomicU64, Ordering, fence};

/// The layout of an entry's action and parameters in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The whole entry is in the head word, so that one store changes it.
    Short,
    /// Some parameters follow the head word, so one store cannot change the whole entry. The caller
    /// must prevent or detect reads that overlap with a write.
    Long,
    /// The low half of the head word is a lock and a version. It is odd while the lock is held, and
    /// grows by two with each change.
    Locked,
}

impl Form {
    pub(super) fn new(parameter_bytes: usize, locked: bool) -> Self {
        match (locked, parameter_bytes) {
            (true, _) => Self::Locked,
            (false, 0..=4) => Self::Short,
            (false, _) => Self::Long,
        }
    }
}

/// Returns the number of bytes of an entry after its head word.
pub(super) const fn tail_bytes(parameter_bytes: usize, locked: bool) -> usize {
    let bytes = if locked { parameter_bytes } else { parameter_bytes.saturating_sub(4) };
    bytes.next_multiple_of(8)
}

/// The words of an entry in memory.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    head: &'a AtomicU64,
    tail: &'a [AtomicU64],
}

impl<'a> Entry<'a> {
    /// Returns an entry. `tail` must have the number of bytes that [`tail_bytes`] returns for the
    /// parameters that will be read or written. Parameters beyond the tail are omitted.
    #[inline(always)]
    pub(super) fn new(head: &'a AtomicU64, tail: &'a [AtomicU64]) -> Self {
        Self { head, tail }
    }

    #[inline(always)]
    fn read_tail(self, bytes: &mut [u8]) {
        debug_assert!(bytes.len() <= 8 * self.tail.len());
        for (chunk, word) in bytes.chunks_mut(8).zip(self.tail) {
            let word = word.load(Ordering::Relaxed).to_ne_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    #[inline(always)]
    fn write_tail(self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= 8 * self.tail.len());
        for (chunk, word) in bytes.chunks(8).zip(self.tail) {
            word.store(super::padded(chunk), Ordering::Relaxed);
        }
    }

    /// Reads the action and the parameters. The caller must ensure that no thread writes the entry,
    /// or check afterwards whether one did.
    #[inline(always)]
    pub(super) fn read(self, form: Form, parameters: &mut [u8]) -> u16 {
        let head = self.head.load(Ordering::Relaxed);
        if form == Form::Locked {
            self.read_tail(parameters);
            return (head >> 32) as u16;
        }
        let inner = parameters.len().min(4);
        let (first, rest) = parameters.split_at_mut(inner);
        first.copy_from_slice(&((head >> 32) as u32).to_ne_bytes()[..inner]);
        self.read_tail(rest);
        head as u16
    }

    /// Returns the action of an entry with a lock, and copies its parameters to `parameters`. Both
    /// are as they were at one moment.
    #[inline(always)]
    pub(super) fn read_whole(self, parameters: &mut [u8]) -> u16 {
        let mut spins = 0;
        loop {
            let head = self.head.load(Ordering::Acquire);
            if head & 1 == 0 {
                self.read_tail(parameters);
                fence(Ordering::Acquire);
                if self.head.load(Ordering::Relaxed) == head {
                    return (head >> 32) as u16;
                }
            }
            relax(&mut spins);
        }
    }

    /// Replaces the action and the parameters. The caller must ensure that no other thread writes
    /// the entry.
    #[inline(always)]
    pub(super) fn write(self, form: Form, action: u16, parameters: &[u8]) {
        if form == Form::Locked {
            let version = self.head.load(Ordering::Relaxed) & 0xffff_ffff;
            self.write_tail(parameters);
            self.head.store(version | u64::from(action) << 32, Ordering::Relaxed);
            return;
        }
        let (first, rest) = parameters.split_at(parameters.len().min(4));
        self.write_tail(rest);
        self.head.store(u64::from(action) | super::padded(first) << 32, Ordering::Relaxed);
    }

    /// Writes the action and the parameters of a new entry that no other thread sees yet.
    pub(super) fn initialise(self, form: Form, action: u16, parameters: &[u8]) {
        self.head.store(0, Ordering::Relaxed);
        self.write(form, action, parameters);
    }

    /// Acquires the lock of an entry.
    #[inline(always)]
    pub(super) fn lock(self) -> Held<'a> {
        let mut spins = 0;
        loop {
            let head = self.head.load(Ordering::Relaxed);
            let locked = head | 1;
            if head & 1 == 0
                && self
                    .head
                    .compare_exchange_weak(head, locked, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                // The odd version must be visible before any change made under the lock.
                fence(Ordering::Release);
                return Held { entry: self, head, after: head };
            }
            relax(&mut spins);
        }
    }
}

/// An entry that this thread has locked. Dropping it releases the lock and publishes the changes.
pub(super) struct Held<'a> {
    entry: Entry<'a>,
    head: u64,
    after: u64,
}

impl<'a> Held<'a> {
    /// Recreates the guard of an entry that this thread has locked before it ran machine code.
    #[inline(always)]
    pub(super) fn resume(entry: Entry<'a>) -> Self {
        let head = entry.head.load(Ordering::Relaxed) & !1;
        Self { entry, head, after: head }
    }

    #[inline(always)]
    pub(super) fn read(&self, parameters: &mut [u8]) -> u16 {
        self.entry.read_tail(parameters);
        (self.head >> 32) as u16
    }

    #[inline(always)]
    pub(super) fn write(&mut self, action: u16, parameters: &[u8]) {
        self.entry.write_tail(parameters);
        let version = (self.head as u32).wrapping_add(2);
        self.after = u64::from(version) | u64::from(action) << 32;
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.entry.head.store(self.after, Ordering::Release);
    }
}
