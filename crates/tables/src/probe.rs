//! What machine code must know to look into the buckets of an [`ExactTable`](crate::ExactTable) by itself: how keys are
//! hashed, and where the parts of a bucket lie.
//!
//! A key is one number of as many words as [`Probe::key_words`] says (one of 32 bits, or of 64 bits each), low word
//! first. Its hash starts with [`Probe::SEED`]; for each word the state is multiplied, exclusive-ored with that word, by
//! [`Probe::MULTIPLIER`] to 128 bits, whose halves are exclusive-ored. The bucket is the one that the low bits of the
//! hash name ([`Access::mask`](crate::Access::mask)). Where entries have numbers, those say bucket and slot
//! ([`Probe::number_bits`]). Only a thread that is alone may look so.

use crate::bucket::{self, Fields};
use crate::hash;
use crate::layout::Layout;
use crate::region::LINE;
use crate::store::Shape;

/// Where the parts of a bucket are, for tables of one shape; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    key_bytes: usize,
    value_bytes: usize,
    slots: usize,
    values: usize,
    action_bits: u32,
    number_bits: Option<u32>,
}

impl Probe {
    /// What the state of a hash begins with.
    pub const SEED: u64 = hash::DEFAULT_SEED;
    /// What it is multiplied by.
    pub const MULTIPLIER: u64 = hash::MULTIPLIER;
    /// Bytes of a bucket. Its first eight are the header.
    pub const BUCKET: usize = LINE;
    /// Bits of the header that are set if entries which belong here lie further on.
    pub const OVERFLOW: u64 = Fields::OVERFLOW;
    /// Where the keys begin, in bytes.
    pub const KEYS: usize = Fields::HEADER;
    /// Bit of the header where the actions begin, that of the first slot first.
    pub const ACTIONS: u32 = Fields::ACTIONS;

    /// The bit that says that the entry of a key was found by [`Access::ask_for_named`](crate::Access::ask_for_named).
    pub const FOUND: u32 = 1;
    /// The bit that says that it is in the bucket behind its own, 64 bytes further on.
    pub const FOUND_BEHIND: u32 = 2;
    /// The bit where the number of its slot begins, below that of its action.
    pub const FOUND_SLOT: u32 = 2;
    /// The bit where the number of its action begins, which has all bits above.
    pub const FOUND_ACTION: u32 = 16;

    /// For tables that [`ExactTable::new`](crate::ExactTable::new) makes of the same numbers; `None` if it makes none.
    #[must_use]
    pub fn of(key_bits: u32, parameter_bytes: usize, actions: u16) -> Option<Self> {
        let layout = Layout::new(key_bits, parameter_bytes, 1).ok()?;
        let layout = layout.with_actions(actions.max(1)).ok()?;
        let shape = Shape::of(&layout)?;
        let slots = bucket::slots(shape.key, shape.value);
        Some(Self {
            key_bytes: shape.key,
            value_bytes: shape.value,
            slots,
            values: bucket::values_offset(shape.key, shape.value, slots),
            action_bits: bucket::action_bits(slots),
            number_bits: None,
        })
    }

    /// As [`Probe::of`] for tables that [`ExactTable::numbered`](crate::ExactTable::numbered) makes.
    #[must_use]
    pub fn numbered(parameter_bytes: usize, actions: u16) -> Option<Self> {
        let probe = Self::of(u32::BITS, parameter_bytes, actions)?;
        Some(Self { number_bits: Some(bucket::number_bits(probe.slots)), ..probe })
    }

    /// Where keys are numbers of entries: so many of the lowest bits of one name its slot, the bits above its bucket, of which
    /// only those count that buckets have.
    #[must_use]
    pub fn number_bits(&self) -> Option<u32> {
        self.number_bits
    }

    /// Words of a key; nothing if it is one of 32 bits.
    #[must_use]
    pub fn key_words(&self) -> Option<usize> {
        (self.key_bytes >= 8).then_some(self.key_bytes / 8)
    }

    /// Entries of a bucket.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Where the parameters of the first slot are, in bytes, and how far those of the next are from there.
    #[must_use]
    pub fn values(&self) -> (usize, usize) {
        (self.values, self.value_bytes)
    }

    /// Bits of the header for the action of one slot, which is the number of the action and one, or 0 where no entry is.
    #[must_use]
    pub fn action_bits(&self) -> u32 {
        self.action_bits
    }
}
