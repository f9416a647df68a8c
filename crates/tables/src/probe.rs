//! The layout of an [`ExactTable`](crate::ExactTable)'s buckets and hashes, for the code generator,
//! whose machine code looks up entries by itself.
//!
//! A key consists of one or more words, low word first: one of 32 bits, or [`Probe::key_words`]
//! words of 64 bits. The state of the hash starts as [`Probe::SEED`]. Each word is exclusive-ored
//! into the state, the state is multiplied by [`Probe::MULTIPLIER`] to 128 bits, and the exclusive
//! or of the halves is the new state. The low bits of the hash select the bucket
//! ([`Access::mask`](crate::Access::mask)). If keys are entry numbers, a number encodes the bucket
//! and the slot ([`Probe::number_bits`]). Machine code may look up entries by itself only while
//! [`Access::in_place`](crate::Access::in_place) is 1.

use crate::bucket::{self, Fields};
use crate::hash;
use crate::layout::Layout;
use crate::region::LINE;
use crate::store::Shape;

/// The layout of a bucket in tables of one shape, as the module documentation describes it.
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
    /// The initial state of a hash.
    pub const SEED: u64 = hash::DEFAULT_SEED;
    /// The multiplier of a hash.
    pub const MULTIPLIER: u64 = hash::MULTIPLIER;
    /// The number of bytes of a bucket. The first eight are the header.
    pub const BUCKET: usize = LINE;
    /// A mask of a bucket header's overflow count. The count is not zero if an entry is in a later
    /// bucket because this one was full.
    pub const OVERFLOW: u64 = Fields::OVERFLOW;
    /// The offset of a bucket's first key in bytes.
    pub const KEYS: usize = Fields::HEADER;
    /// The lowest header bit that holds the action of a slot. The actions of the other slots follow
    /// in the order of the slots.
    pub const ACTIONS: u32 = Fields::ACTIONS;

    /// The bit of an encoded position that is set if
    /// [`Access::prefetch_named`](crate::Access::prefetch_named) found the entry of a key.
    pub const FOUND: u32 = 1;
    /// The bit of an encoded position that is set if the entry is not in its own bucket but in the
    /// next one, 64 bytes further on.
    pub const FOUND_BEHIND: u32 = 2;
    /// The lowest bit of the slot number in an encoded position. The slot number ends below the
    /// entry's action.
    pub const FOUND_SLOT: u32 = 2;
    /// The lowest bit of the entry's action in an encoded position. The action takes all bits
    /// above.
    pub const FOUND_ACTION: u32 = 16;

    /// Returns the layout of the tables that [`ExactTable::new`](crate::ExactTable::new) makes with
    /// the same arguments, or `None` if no such table exists.
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

    /// Returns the layout of the tables that [`ExactTable::numbered`](crate::ExactTable::numbered)
    /// makes.
    #[must_use]
    pub fn numbered(parameter_bytes: usize, actions: u16) -> Option<Self> {
        let probe = Self::of(u32::BITS, parameter_bytes, actions)?;
        Some(Self { number_bits: Some(bucket::number_bits(probe.slots)), ..probe })
    }

    /// Returns the number of low bits of an entry number that select the slot, or `None` if keys
    /// are not entry numbers. The bits above select the bucket, modulo the number of buckets.
    #[must_use]
    pub fn number_bits(&self) -> Option<u32> {
        self.number_bits
    }

    /// Returns the number of 64-bit words of a key, or `None` if a key is one word of 32 bits.
    #[must_use]
    pub fn key_words(&self) -> Option<usize> {
        (self.key_bytes >= 8).then_some(self.key_bytes / 8)
    }

    /// Returns the number of entries of a bucket.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the offset of the first slot's parameters, and the distance to the parameters of the
    /// next slot, both in bytes.
    #[must_use]
    pub fn values(&self) -> (usize, usize) {
        (self.values, self.value_bytes)
    }

    /// Returns the number of header bits for the action of one slot. They hold the action's number
    /// plus one, or 0 if the slot is empty.
    #[must_use]
    pub fn action_bits(&self) -> u32 {
        self.action_bits
    }
}
