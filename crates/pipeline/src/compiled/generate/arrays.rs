//! Generates accesses to registers and counters whose elements are contiguous, without host calls.
//! An access with an index out of range has no effect.

use super::function::{Function, context_offset};
use super::variables::Pointer;
use crate::externs::FlatArray;
use crate::resolved::Field;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, MemFlagsData, Value, types};

impl Function<'_, '_> {
    /// Emits the load of an element of a register array to a field. The field keeps its value if
    /// the index is out of range.
    pub(super) fn read_register(&mut self, id: u32, array: FlatArray, index: Value, to: Field) {
        let current = self.load_field(to);
        let join = self.builder.create_block();
        let read = self.builder.append_block_param(join, types::I64);
        self.within(array, index, |function| {
            let element = function.element(id, array, index);
            let value = function.load(element, array.stride);
            function.builder.ins().jump(join, &[value.into()]);
        });
        self.builder.ins().jump(join, &[current.into()]);
        self.builder.switch_to_block(join);
        let value = self.masked(read, to.scalar.width);
        self.store_field(to, value);
    }

    /// Emits the store of a value to an element of a register array.
    pub(super) fn write_register(&mut self, id: u32, array: FlatArray, index: Value, value: Value) {
        let end = self.builder.create_block();
        self.within(array, index, |function| {
            let element = function.element(id, array, index);
            let value = function.masked(value, array.width);
            function.store(element, array.stride, value);
            function.builder.ins().jump(end, &[]);
        });
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits code that counts the packet and its bytes in an element of a counter array.
    pub(super) fn count(&mut self, id: u32, array: FlatArray, index: Value) {
        let end = self.builder.create_block();
        self.within(array, index, |function| {
            let element = function.element(id, array, index);
            let (one, length) = (function.number(1), function.received_length());
            let is_alone = function.context_field(context_offset::IS_ALONE);
            let is_alone = function.load(Pointer { base: is_alone, offset: 0 }, 8);
            function.add_up(is_alone, element.base, [(0, one), (8, length)]);
            function.builder.ins().jump(end, &[]);
        });
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits the addition of a value to each of two words in memory, which are given by their
    /// offsets from `base`. The additions are atomic unless `is_alone` is set at run time, so that
    /// no addition of another worker is lost.
    pub(super) fn add_up(&mut self, is_alone: Value, base: Value, parts: [(usize, Value); 2]) {
        let mut block = || self.builder.create_block();
        let (alone, shared, end) = (block(), block(), block());
        self.builder.ins().brif(is_alone, alone, &[], shared, &[]);
        self.builder.switch_to_block(alone);
        for (offset, by) in parts {
            let at = Pointer { base, offset: offset as i32 };
            let sum = self.load(at, 8);
            let sum = self.builder.ins().iadd(sum, by);
            self.store(at, 8, sum);
        }
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(shared);
        for (offset, by) in parts {
            let at = self.builder.ins().iadd_imm_s(base, offset as i64);
            let flags = MemFlagsData::new().with_notrap();
            self.builder.ins().atomic_rmw(types::I64, flags, AtomicRmwOp::Add, at, by);
        }
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits the code of `work`, which runs if the index is inside the array and must end with a
    /// jump. Code that is emitted next runs if the index is out of range, and is in a cold block.
    fn within(&mut self, array: FlatArray, index: Value, work: impl FnOnce(&mut Self)) {
        let (inside, beyond) = (self.builder.create_block(), self.builder.create_block());
        let size = self.number(array.size);
        let is_there = self.builder.ins().icmp(IntCC::UnsignedLessThan, index, size);
        self.builder.ins().brif(is_there, inside, &[], beyond, &[]);
        self.builder.switch_to_block(inside);
        work(self);
        self.builder.switch_to_block(beyond);
        self.builder.set_cold_block(beyond);
    }

    /// Emits a pointer to an element of an array. The index must have been checked.
    fn element(&mut self, id: u32, array: FlatArray, index: Value) -> Pointer {
        let arrays = self.context_field(context_offset::ARRAYS);
        let first = self.load_input(Pointer { base: arrays, offset: 8 * id as i32 }, 8);
        let distance = self.builder.ins().imul_imm_s(index, i64::from(array.stride));
        Pointer { base: self.builder.ins().iadd(first, distance), offset: 0 }
    }
}
