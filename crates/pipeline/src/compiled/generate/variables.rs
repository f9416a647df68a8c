//! The values of a function that are in variables, and what is known at compile time about the
//! packet that the function processes.

use crate::compiled::plan::Plan;
use crate::resolved::shape::{DATA, Storage};
use crate::resolved::{Expression, Field, Offset, Table};
use cranelift_codegen::ir::{Block, Value};
use cranelift_frontend::Variable;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The places of a function whose values are variables.
pub(super) struct Places<'p> {
    pub(super) plan: &'p Plan,
    /// The variables of numbers, by the numbers' offsets in the frame.
    pub(super) slots: BTreeMap<Offset, Variable>,
    /// The variables that point to the first bit of each header, by the offset of the header's
    /// flag.
    pub(super) pointers: BTreeMap<Offset, Variable>,
    /// Whether extracted headers are read from the received packet, whose memory may end right
    /// after them.
    pub(super) reads_input: bool,
    /// Whether no later code reads the results of checksum verification.
    pub(super) ignores_verification: bool,
    /// The state of the packet that the fused function tracks. `None` in other stages.
    pub(super) fused: Option<Fused>,
    /// The fields of the context that are variables, by their offsets.
    pub(super) fields: Vec<(usize, Variable)>,
    /// The ends of the bodies that are being inlined, the innermost last.
    pub(super) ends: Vec<End>,
    /// The block for a packet that cannot be processed.
    pub(super) fault: Block,
    /// The packed tables in which the whole burst has been looked up.
    pub(super) ahead: Vec<u32>,
    /// The burst, and the index of the current packet in it.
    pub(super) columns: Option<(Value, Variable)>,
}

/// The state of the current packet that the fused function tracks at compile time.
///
/// The fused function reads headers just after it has copied the packet to the output buffer. A
/// load that spans several recent stores cannot be forwarded from them and waits until they have
/// reached the cache. So fields are read from the received packet as long as nothing was written to
/// them. Code is generated in the order in which it may run, so the writes before a read are known.
pub(super) struct Fused {
    /// The packet's copy in the output buffer. `None` once the packet is parsed there.
    pub(super) output: Option<Value>,
    /// The variables that point to where the bits of each header lie, or lay, in the received
    /// packet.
    pub(super) sources: BTreeMap<Offset, Variable>,
    /// The bits of each header that may have been written.
    pub(super) written: BTreeMap<Offset, Vec<Range<u32>>>,
    /// The headers that were extracted on every path to this point.
    pub(super) extracted: BTreeSet<Offset>,
    /// The headers whose place in the packet is known, as long as nothing has changed them as a
    /// whole.
    pub(super) known: BTreeMap<Offset, Known>,
    /// The offset of the payload in the packet, if it is known.
    pub(super) payload: Option<u32>,
    /// The precomputed bucket addresses of packed tables, by the tables' numbers. They are for the
    /// key that the packet had when it was received.
    pub(super) buckets: BTreeMap<u32, Value>,
    /// The packed tables in which the key that the packet had when it was received was looked up.
    pub(super) looked_up: BTreeSet<u32>,
    /// The state of the outermost parser that is being inlined.
    pub(super) state: Option<u32>,
    /// The blocks in which that parser accepts, each with the state from which it does.
    pub(super) accepts: Vec<(Block, u32)>,
}

/// A fact about a header that holds on every path to this point, and so needs no test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The header was extracted at this byte.
    At(u32),
    /// The header was not extracted.
    Absent,
}

impl Fused {
    /// Returns whether a header still lies where it did in the received packet, and none of the
    /// given bits was written.
    pub(super) fn lies_as_assumed(&self, flag: Offset, bits: &Range<u32>) -> bool {
        matches!(self.known.get(&flag), Some(Known::At(_)))
            && self.extracted.contains(&flag)
            && !self.is_written(flag, bits)
    }

    pub(super) fn is_written(&self, flag: Offset, bits: &Range<u32>) -> bool {
        self.writes(flag, bits).next().is_some()
    }

    pub(super) fn is_written_in_part(&self, flag: Offset, bits: &Range<u32>) -> bool {
        self.writes(flag, bits).any(|other| other.start > bits.start || other.end < bits.end)
    }

    /// Returns the ranges that may have been written and that overlap some bits of a header.
    pub(super) fn writes(
        &self,
        flag: Offset,
        bits: &Range<u32>,
    ) -> impl Iterator<Item = &Range<u32>> {
        let written = self.written.get(&flag).into_iter().flatten();
        written.filter(|other| other.start < bits.end && bits.start < other.end)
    }
}

/// The blocks in which the body of an inlined callee ends.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) next: Block,
    /// The block after `exit`, if the body has one.
    pub(super) exit: Option<Block>,
    pub(super) reject: Option<Block>,
}

/// A place from which some bits of a header may be read.
#[derive(Clone, Copy)]
pub(super) struct Readable {
    pub(super) at: Pointer,
    /// The number of bytes that are known to exist there. `None` if there are more than the header
    /// has.
    pub(super) bytes: Option<u32>,
    /// Whether the bytes are those of the received packet, which no code writes.
    pub(super) is_input: bool,
}

/// The place of a header: its validity flag and its bits.
#[derive(Clone, Copy)]
pub(super) struct HeaderPlace {
    pub(super) flag: Flag,
    pub(super) data: Pointer,
}

/// The place of a header's validity flag.
#[derive(Clone, Copy)]
pub(super) enum Flag {
    Memory(Pointer),
    Variable(Variable),
}

/// Values that were computed for a key ahead of its lookup. They are only valid as long as no
/// packet has left the gate of the tables since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Precomputed {
    pub(super) bucket: Value,
    /// The result of [`Probe::FOUND`] for the entry, or zero if there is none. `None` if the entry
    /// was not looked up ahead.
    pub(super) found: Option<Value>,
}

/// A base pointer and an offset that fits into the instruction.
#[derive(Clone, Copy)]
pub(super) struct Pointer {
    pub(super) base: Value,
    pub(super) offset: i32,
}

impl Pointer {
    pub(super) fn plus(self, bytes: u32) -> Self {
        Self { offset: self.offset + bytes as i32, ..self }
    }
}

/// All bits of a header.
pub(super) const ALL_BITS: Range<u32> = 0..u32::MAX;

/// Returns the bits of its header that a field covers.
pub(super) fn bits_of(field: Field) -> Range<u32> {
    match field.scalar.storage {
        Storage::Packed { bit } => bit..bit + field.scalar.width,
        Storage::Native { .. } | Storage::Wide { .. } => ALL_BITS,
    }
}

/// Returns the place of the first bit of a header.
pub(super) fn data(header: Pointer) -> Pointer {
    header.plus(DATA)
}

/// Returns whether all header bits in the key of a table lie where the prefetch stage assumes.
/// Constants count as lying there.
pub(super) fn has_known_key(table: &Table, lies: &Lies<'_>) -> bool {
    let mut keys = table.keys.iter().flat_map(|key| [&key.value].into_iter().chain(&key.high));
    keys.all(|value| is_known(value, lies))
}

/// A predicate on a header, given by its flag, and a range of its bits: whether these bits lie
/// where the prefetch stage assumes.
type Lies<'l> = dyn Fn(Offset, &Range<u32>) -> bool + 'l;

/// Returns whether all header bits in a value lie where the prefetch stage assumes; see
/// [`has_known_key`].
fn is_known(value: &Expression, lies: &Lies<'_>) -> bool {
    match value {
        Expression::Constant(_) => true,
        Expression::Load(field) => {
            let address = field.address;
            let flag = address.offset.checked_sub(DATA);
            address.element.is_none() && flag.is_some_and(|flag| lies(flag, &bits_of(*field)))
        }
        Expression::LoadIfValid { header, value } => {
            lies(header.offset, &(0..0)) && is_known(value, lies)
        }
        Expression::Complement { operand, .. }
        | Expression::Slice { operand, .. }
        | Expression::Resize { operand, .. } => is_known(operand, lies),
        Expression::Binary { left, right, .. } | Expression::Concatenate { left, right, .. } => {
            is_known(left, lies) && is_known(right, lies)
        }
        // No key that a bucket is computed for has these, and a key that has them gets no bucket.
        Expression::Not(_)
        | Expression::Negate { .. }
        | Expression::Conditional { .. }
        | Expression::IsValid(_)
        | Expression::LastIndex(_)
        | Expression::PacketLength => false,
    }
}
