//! The values that a generated function keeps in variables, and the facts about the packet that are
//! known at compile time.

use crate::compiled::plan::Plan;
use crate::resolved::shape::{DATA, Storage};
use crate::resolved::{Expression, Field, Key, Offset, Table};
use cranelift_codegen::ir::{Block, Value};
use cranelift_frontend::Variable;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The values that a generated function keeps in variables and not in the frame (the packet's
/// working memory).
pub(super) struct Places<'p> {
    pub(super) plan: &'p Plan,
    /// The variable of each number, by the number's offset in the frame (the packet's working
    /// memory).
    pub(super) slots: BTreeMap<Offset, Variable>,
    /// The variable that points to the first bit of each header, by the offset of the header's
    /// validity flag.
    pub(super) pointers: BTreeMap<Offset, Variable>,
    /// Whether extracted headers are read from the received packet, whose memory may end right
    /// after them.
    pub(super) reads_input: bool,
    /// Whether no later code reads the results of checksum verification.
    pub(super) ignores_verification: bool,
    /// The facts about the current packet that are tracked while the fused function is generated.
    /// `None` while others are.
    pub(super) fused: Option<Fused>,
    /// The variables that hold fields of the context, by the fields' offsets.
    pub(super) fields: Vec<(usize, Variable)>,
    /// The blocks at which the bodies that are being inlined end, the innermost body last.
    pub(super) ends: Vec<End>,
    /// The block to which the code jumps for a packet that cannot be processed.
    pub(super) fault: Block,
    /// The packed tables in which all packets of the burst were looked up before this function
    /// runs.
    pub(super) ahead: Vec<u32>,
    /// The address of the burst's columns, and the variable that holds the index of the current
    /// packet.
    pub(super) columns: Option<(Value, Variable)>,
}

/// The state of the current packet that the fused function tracks at compile time.
///
/// The fused function reads headers just after it has copied the packet to the output buffer. A
/// load that spans several recent stores cannot be forwarded from them and waits until they have
/// reached the cache. So fields are read from the received packet as long as nothing was written to
/// them. Code is generated in the order in which it may run, so the writes before a read are known.
pub(super) struct Fused {
    /// The address of the packet's copy in the output buffer. `None` once the packet is parsed
    /// there.
    pub(super) output: Option<Value>,
    /// The variable that points to the bits of each header in the received packet, even after the
    /// header was moved or removed.
    pub(super) sources: BTreeMap<Offset, Variable>,
    /// The ranges of bits of each header that may have been written.
    pub(super) written: BTreeMap<Offset, Vec<Range<u32>>>,
    /// The headers that were extracted on every path to the current point of the code.
    pub(super) extracted: BTreeSet<Offset>,
    /// The headers whose offset in the packet is known, or whose absence is. An entry is removed
    /// when the header may move or become invalid.
    pub(super) known: BTreeMap<Offset, Known>,
    /// The offset of the payload in the packet, if it is known at compile time.
    pub(super) payload: Option<u32>,
    /// The bucket addresses that the prefetch stage has computed, by the numbers of the packed
    /// tables. They are for the key that the packet had when it was received.
    pub(super) buckets: BTreeMap<u32, Value>,
    /// The packed tables in which the packet was looked up before this function, with the key that
    /// it had when it was received.
    pub(super) looked_up: BTreeSet<u32>,
    /// The state of the outermost parser whose code is being inlined.
    pub(super) state: Option<u32>,
    /// The blocks in which the outermost parser accepts the packet, each with the state that
    /// accepts it.
    pub(super) accepts: Vec<(Block, u32)>,
}

/// A fact about a header that holds on every path to the current point of the code, so that no test
/// for it is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The header was extracted at this offset in bytes from the start of the packet.
    At(u32),
    /// The header was not extracted.
    Absent,
}

impl Fused {
    /// Returns whether a header is still where the prefetch stage assumed it in the received
    /// packet, and the given bits of it were not written.
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

    /// Returns those ranges of a header's bits that may have been written and that overlap the
    /// given bits.
    pub(super) fn writes(
        &self,
        flag: Offset,
        bits: &Range<u32>,
    ) -> impl Iterator<Item = &Range<u32>> {
        let written = self.written.get(&flag).into_iter().flatten();
        written.filter(|other| other.start < bits.end && bits.start < other.end)
    }
}

/// The blocks in which the inlined body of a parser, control, action or function ends.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) next: Block,
    /// The block after an `exit` statement, if the body contains one.
    pub(super) exit: Option<Block>,
    pub(super) reject: Option<Block>,
}

/// An address from which certain bits of a header may be read.
#[derive(Clone, Copy)]
pub(super) struct Readable {
    pub(super) at: Pointer,
    /// The number of bytes after the address that are known to exist. `None` if all bytes of the
    /// header and some more exist.
    pub(super) bytes: Option<u32>,
    /// Whether the bytes are those of the received packet, which no code writes.
    pub(super) is_input: bool,
}

/// The locations of a header's validity flag and of its bits.
#[derive(Clone, Copy)]
pub(super) struct HeaderPlace {
    pub(super) flag: Flag,
    pub(super) data: Pointer,
}

/// The location of a header's validity flag: a variable of the function, or the frame (the packet's
/// working memory).
#[derive(Clone, Copy)]
pub(super) enum Flag {
    Memory(Pointer),
    Variable(Variable),
}

/// Values that were computed for a table's key before its lookup. They are valid only until a
/// packet leaves the gate of the tables, because other threads may then change the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Precomputed {
    pub(super) bucket: Value,
    /// The encoded position of the entry ([`tables::Probe::FOUND`]), or zero if the position is not
    /// known, in which case the table must be searched. `None` if positions are not computed for
    /// the table.
    pub(super) found: Option<Value>,
}

/// An address as a base pointer and an offset that fits into an instruction.
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

/// The range that stands for all bits of a header.
pub(super) const ALL_BITS: Range<u32> = 0..u32::MAX;

/// Returns the range of a header's bits that a field of the header covers.
pub(super) fn bits_of(field: Field) -> Range<u32> {
    match field.scalar.storage {
        Storage::Packed { bit } => bit..bit + field.scalar.width,
        Storage::Native { .. } | Storage::Wide { .. } => ALL_BITS,
    }
}

/// Returns the pointer to the first bit of a header, given the pointer to its validity flag.
pub(super) fn data(header: Pointer) -> Pointer {
    header.plus(DATA)
}

/// Returns whether the key of a table depends only on constants and on header bits that are where
/// the prefetch stage assumes them. `lies` returns that for given bits.
pub(super) fn has_known_key(table: &Table, lies: &Lies<'_>) -> bool {
    table.keys.iter().flat_map(Key::values).all(|value| is_known(value, lies))
}

/// A function that returns whether some bits of a header are where the prefetch stage assumes them.
/// Its arguments are the offset of the header's validity flag, and the range of bits.
type Lies<'l> = dyn Fn(Offset, &Range<u32>) -> bool + 'l;

/// Returns whether all header bits in a value are where the prefetch stage assumes, by the
/// predicate `lies`; see [`has_known_key`].
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
