//! Generates loads and stores of numbers and headers in the frame, and of bytes of packets.

use super::function::Function;
use super::variables::{ALL_BITS, Pointer, Readable, bits_of};
use crate::resolved::shape::{Scalar, Storage};
use crate::resolved::{Address, Field, mask};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};

/// The number of bytes above which memory is copied or cleared by a call of the C library.
const LONG: u32 = 512;

/// Returns the flags of loads and stores. These cannot trap, because generated code only touches
/// memory that is known to exist.
fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Returns the flags of loads from memory that generated code never writes. Such loads are removed
/// if their results are unused.
fn flags_of_input() -> MemFlagsData {
    flags().with_readonly().with_can_move()
}

impl Function<'_, '_> {
    /// Returns the type of an integer of 1, 2, 4 or 8 bytes.
    fn integer(&mut self, bytes: u32) -> Type {
        match bytes {
            1 => types::I8,
            2 => types::I16,
            4 => types::I32,
            8 => types::I64,
            _ => {
                self.broken("a number of another size than 1, 2, 4 or 8 bytes");
                types::I64
            }
        }
    }

    /// Returns a pointer to a value in the frame. For an element of a header stack, emits a check
    /// of the index, which rejects the packet if the index is beyond the stack.
    pub(super) fn pointer(&mut self, address: Address) -> Pointer {
        let offset = address.offset as i32;
        let Some(element) = address.element else {
            return Pointer { base: self.frame, offset };
        };
        let next = self.load(Pointer { base: self.frame, offset: element.next as i32 }, 4);
        let index = if element.is_last { self.builder.ins().iadd_imm_s(next, -1) } else { next };
        let is_there =
            self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, index, i64::from(element.size));
        let error = u64::from(self.resolved.errors.out_of_bounds);
        self.reject_unless(is_there, error);
        let distance = self.builder.ins().imul_imm_s(index, i64::from(element.stride));
        Pointer { base: self.builder.ins().iadd(self.frame, distance), offset }
    }

    /// Emits a load of 1, 2, 4 or 8 bytes in the processor's byte order, zero-extended to 64 bits.
    pub(super) fn load(&mut self, from: Pointer, bytes: u32) -> Value {
        let Pointer { base, offset } = from;
        let size = self.integer(bytes);
        let loaded = self.builder.ins().load(size, flags(), base, offset);
        if bytes == 8 { loaded } else { self.builder.ins().uextend(types::I64, loaded) }
    }

    /// Emits a store of the low 1, 2, 4 or 8 bytes of a value in the processor's byte order.
    pub(super) fn store(&mut self, to: Pointer, bytes: u32, value: Value) {
        let size = self.integer(bytes);
        let value = if bytes == 8 { value } else { self.builder.ins().ireduce(size, value) };
        self.builder.ins().store(flags(), value, to.base, to.offset);
    }

    /// Emits a load as [`Self::load`] does, from memory that generated code never writes.
    pub(super) fn load_input(&mut self, from: Pointer, bytes: u32) -> Value {
        let Pointer { base, offset } = from;
        let size = self.integer(bytes);
        let loaded = self.builder.ins().load(size, flags_of_input(), base, offset);
        if bytes == 8 { loaded } else { self.builder.ins().uextend(types::I64, loaded) }
    }

    /// Emits a load of 1, 2, 4 or 8 bytes in network byte order, zero-extended to 64 bits.
    fn load_network(&mut self, from: Pointer, bytes: u32) -> Value {
        self.load_network_with(flags(), from, bytes)
    }

    fn load_network_with(&mut self, flags: MemFlagsData, from: Pointer, bytes: u32) -> Value {
        let Pointer { base, offset } = from;
        let size = self.integer(bytes);
        let loaded = self.builder.ins().load(size, flags, base, offset);
        let swapped = if bytes == 1 { loaded } else { self.builder.ins().bswap(loaded) };
        if bytes == 8 { swapped } else { self.builder.ins().uextend(types::I64, swapped) }
    }

    fn store_network(&mut self, to: Pointer, bytes: u32, value: Value) {
        let size = self.integer(bytes);
        let value = if bytes == 8 { value } else { self.builder.ins().ireduce(size, value) };
        let swapped = if bytes == 1 { value } else { self.builder.ins().bswap(value) };
        self.builder.ins().store(flags(), swapped, to.base, to.offset);
    }

    /// Emits the load of a field, from its variable or from memory.
    pub(super) fn load_field(&mut self, field: Field) -> Value {
        if let Some(variable) = self.variable_of(field) {
            return self.builder.use_var(variable);
        }
        let Readable { at, bytes, is_input } = self.bits_to_read(field.address, bits_of(field));
        match field.scalar.storage {
            Storage::Packed { bit } if !is_within(bytes, bit, field.scalar.width) => {
                self.load_exactly(at, bit, field.scalar.width)
            }
            Storage::Packed { bit } if is_input => {
                let (at, bytes, shift) = packed(at, bit, field.scalar.width);
                let loaded = self.load_network_with(flags_of_input(), at, bytes);
                self.out_of_bytes(loaded, shift, field.scalar.width, bytes)
            }
            Storage::Native { .. } | Storage::Packed { .. } | Storage::Wide { .. } => {
                self.load_scalar(at, field.scalar)
            }
        }
    }

    /// Emits a load of `width` bits of a header. It reads no byte that does not contain one of the
    /// bits.
    fn load_exactly(&mut self, at: Pointer, bit: u32, width: u32) -> Value {
        let from =
            self.builder.ins().iadd_imm_s(at.base, i64::from(at.offset) + i64::from(bit / 8));
        let number = self.load_packet(from, bit % 8 + width);
        self.masked(number, width)
    }

    fn load_scalar(&mut self, at: Pointer, scalar: Scalar) -> Value {
        match scalar.storage {
            Storage::Native { bytes } => self.load(at, bytes),
            Storage::Packed { bit } | Storage::Wide { bit, .. } => {
                let (at, bytes, shift) = packed(at, bit, scalar.width);
                let loaded = self.load_network(at, bytes);
                self.out_of_bytes(loaded, shift, scalar.width, bytes)
            }
        }
    }

    /// Emits the extraction of a number of `width` bits from `loaded`, which holds the bytes that
    /// contain it. `shift` is the number of bits to the right of the number.
    fn out_of_bytes(&mut self, loaded: Value, shift: u32, width: u32, bytes: u32) -> Value {
        let shifted = self.builder.ins().ushr_imm_u(loaded, i64::from(shift));
        self.masked_unless(shifted, width, bytes * 8 - shift)
    }

    /// Emits the store of a field, to its variable or to memory.
    pub(super) fn store_field(&mut self, field: Field, value: Value) {
        if let Some(variable) = self.variable_of(field) {
            return self.builder.def_var(variable, value);
        }
        if let Storage::Packed { bit } | Storage::Wide { bit, .. } = field.scalar.storage
            && has_own_bytes(bit, field.scalar.width)
        {
            let at = self.bits_to_write(field.address, bits_of(field));
            return self.store_bytes(at.plus(bit / 8), field.scalar.width / 8, value);
        }
        // The bits around the field in the same bytes are read too.
        let around = match field.scalar.storage {
            Storage::Packed { bit } => {
                let start = Pointer { base: self.frame, offset: 0 };
                let (at, bytes, _) = packed(start, bit, field.scalar.width);
                let first = 8 * at.offset.cast_unsigned();
                first..first + 8 * bytes
            }
            Storage::Native { .. } | Storage::Wide { .. } => ALL_BITS,
        };
        let Readable { at: mut before, bytes, .. } = self.bits_to_read(field.address, around);
        let at = self.bits_to_write(field.address, bits_of(field));
        if let Storage::Packed { bit } = field.scalar.storage
            && !is_within(bytes, bit, field.scalar.width)
        {
            before = at;
        }
        self.store_scalar(at, before, field.scalar, value);
    }

    /// Emits a byte-by-byte copy of a field from one header to another. Returns `false`, and emits
    /// nothing, unless both fields have the same width and share no byte with other fields.
    pub(super) fn copy_field(&mut self, to: Field, from: Field) -> bool {
        let own_bytes = |field: Field| match field.scalar.storage {
            Storage::Packed { bit } if has_own_bytes(bit, field.scalar.width) => Some(bit / 8),
            Storage::Native { .. } | Storage::Packed { .. } | Storage::Wide { .. } => None,
        };
        let bytes = to.scalar.width / 8;
        let (Some(first), Some(first_from)) = (own_bytes(to), own_bytes(from)) else {
            return false;
        };
        if from.scalar.width != to.scalar.width {
            return false;
        }
        let from = self.bits_to_read(from.address, bits_of(from)).at.plus(first_from);
        let parts =
            chunks(bytes).into_iter().map(|(at, size)| (at, size, self.load(from.plus(at), size)));
        let parts: Vec<_> = parts.collect();
        let at = self.bits_to_write(to.address, bits_of(to)).plus(first);
        for (offset, size, part) in parts {
            self.store(at.plus(offset), size, part);
        }
        true
    }

    /// Emits stores of a number of `bytes` bytes in network byte order that leave neighbouring
    /// bytes unchanged. A single wider store would first have to read the neighbouring bytes, and
    /// would wait if they were just written.
    fn store_bytes(&mut self, at: Pointer, bytes: u32, value: Value) {
        for (offset, size) in chunks(bytes) {
            let behind = bytes - offset - size;
            let part = self.builder.ins().ushr_imm_u(value, i64::from(8 * behind));
            self.store_network(at.plus(offset), size, part);
        }
    }

    /// Emits the store of a number. If it shares bytes with other fields of a header, the bits of
    /// those fields are read from `before` and stored with it.
    fn store_scalar(&mut self, at: Pointer, before: Pointer, scalar: Scalar, value: Value) {
        match scalar.storage {
            Storage::Native { bytes } => self.store(at, bytes, value),
            Storage::Packed { bit } | Storage::Wide { bit, .. } => {
                let (at, bytes, shift) = packed(at, bit, scalar.width);
                let (before, ..) = packed(before, bit, scalar.width);
                let before = self.load_network(before, bytes);
                let hole = !(mask(scalar.width) << shift);
                let around = self.builder.ins().band_imm_u(before, hole.cast_signed());
                let placed = self.builder.ins().ishl_imm_u(value, i64::from(shift));
                let both = self.builder.ins().bor(around, placed);
                self.store_network(at, bytes, both);
            }
        }
    }

    /// Emits the assignment `field[low + width - 1 : low] = value`.
    pub(super) fn store_slice(&mut self, field: Field, low: u32, width: u32, value: Value) {
        let before = self.load_field(field);
        let hole = !(mask(width) << low);
        let around = self.builder.ins().band_imm_u(before, hole.cast_signed());
        let placed = self.builder.ins().ishl_imm_u(value, i64::from(low));
        let both = self.builder.ins().bor(around, placed);
        self.store_field(field, both);
    }

    /// Emits a mask of the low `width` bits of a value, of which only the low `known` bits can be
    /// set. Emits nothing if the mask would change nothing.
    fn masked_unless(&mut self, value: Value, width: u32, known: u32) -> Value {
        if width >= known { value } else { self.masked(value, width) }
    }

    /// Emits a mask of the low `width` bits of a value.
    pub(super) fn masked(&mut self, value: Value, width: u32) -> Value {
        if width >= 64 {
            value
        } else {
            self.builder.ins().band_imm_u(value, mask(width).cast_signed())
        }
    }

    /// Emits a copy of bytes between ranges of memory that do not overlap.
    pub(super) fn copy(&mut self, to: Pointer, from: Pointer, bytes: u32) {
        if bytes > LONG {
            let to = self.builder.ins().iadd_imm_s(to.base, i64::from(to.offset));
            let from = self.builder.ins().iadd_imm_s(from.base, i64::from(from.offset));
            let length = self.builder.ins().iconst(types::I64, i64::from(bytes));
            let config = self.config;
            self.builder.call_memcpy(config, to, from, length);
            return;
        }
        for (at, size) in chunks(bytes) {
            let from = from.plus(at);
            let size = self.integer(size);
            let part = self.builder.ins().load(size, flags(), from.base, from.offset);
            let to = to.plus(at);
            self.builder.ins().store(flags(), part, to.base, to.offset);
        }
    }

    /// Emits code that sets a range of bytes to zero.
    pub(super) fn clear(&mut self, at: Pointer, bytes: u32) {
        if bytes > LONG {
            let at = self.builder.ins().iadd_imm_s(at.base, i64::from(at.offset));
            let zero = self.builder.ins().iconst(types::I8, 0);
            let length = self.builder.ins().iconst(types::I64, i64::from(bytes));
            let config = self.config;
            self.builder.call_memset(config, at, zero, length);
            return;
        }
        for (offset, size) in chunks(bytes) {
            let size = self.integer(size);
            let zero = self.builder.ins().iconst(size, 0);
            let at = at.plus(offset);
            self.builder.ins().store(flags(), zero, at.base, at.offset);
        }
    }

    /// Emits the load of `width` bits from the packet at the address `from`. All their bytes must
    /// be in the packet.
    pub(super) fn load_packet(&mut self, from: Value, width: u32) -> Value {
        let bytes = width.div_ceil(8);
        let mut all = self.builder.ins().iconst(types::I64, 0);
        for (at, size) in chunks(bytes) {
            let part = self.load_network(Pointer { base: from, offset: at as i32 }, size);
            all = if size == 8 {
                part
            } else {
                let above = self.builder.ins().ishl_imm_u(all, i64::from(size) * 8);
                self.builder.ins().bor(above, part)
            };
        }
        self.builder.ins().ushr_imm_u(all, i64::from(bytes * 8 - width))
    }
}

/// Returns whether the load of a field touches only bytes that exist. `there` is the number of
/// bytes that exist from the header's first bit on; `None` means all bytes of the header and some
/// more.
fn is_within(there: Option<u32>, bit: u32, width: u32) -> bool {
    let loaded = (bit % 8 + width).div_ceil(8).next_power_of_two();
    there.is_none_or(|there| bit / 8 + loaded <= there)
}

/// Returns whether a header's field shares none of its bytes with other fields.
fn has_own_bytes(bit: u32, width: u32) -> bool {
    bit.is_multiple_of(8) && width.is_multiple_of(8)
}

/// Returns a pointer to the first byte of a header's field, the number of bytes to load, and the
/// number of bits in them to the right of the field.
fn packed(at: Pointer, bit: u32, width: u32) -> (Pointer, u32, u32) {
    let inside = bit % 8;
    let bytes = (inside + width).div_ceil(8).next_power_of_two();
    (at.plus(bit / 8), bytes, bytes * 8 - inside - width)
}

/// Returns the offset and size of each load or store that together cover `bytes` bytes without
/// overlap.
fn chunks(bytes: u32) -> Vec<(u32, u32)> {
    let mut parts = Vec::new();
    let mut at = 0;
    for size in [8, 4, 2, 1] {
        while bytes - at >= size {
            parts.push((at, size));
            at += size;
        }
    }
    parts
}
