//! Generates the copy of a packet to the output buffer.

use crate::compiled::generate::function::Function;
use crate::compiled::generate::variables::Pointer;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};

/// The ranges of packet lengths in bytes for which a packet is copied without a loop, each as
/// `(least, most)`. Such a copy takes `least` bytes from the start and `most - least` bytes from
/// the end of the packet. The two parts may overlap; the bytes in both are copied twice.
const USUAL: [(i64, i64); 3] = [(64, 96), (96, 128), (32, 64)];
/// The number of bytes that one load and one store copy.
const CHUNK: i64 = 16;
/// The number of bytes that one iteration of the loop for longer packets copies.
const MANY: i64 = 4 * CHUNK;

impl Function<'_, '_> {
    /// Emits the copy of a packet between ranges of memory that do not overlap. It makes no call,
    /// because a call in the loop over packets forces values out of registers.
    pub(super) fn copy_packet(&mut self, from: Value, to: Value, length: Value) {
        let end = self.builder.create_block();
        let fits = |function: &mut Self, least: i64, most: i64| {
            let above = function.builder.ins().iadd_imm_s(length, -least);
            function.builder.ins().icmp_imm_s(IntCC::UnsignedLessThanOrEqual, above, most - least)
        };
        for (least, most) in USUAL {
            let (usual, other) = (self.builder.create_block(), self.builder.create_block());
            let is_usual = fits(self, least, most);
            self.builder.ins().brif(is_usual, usual, &[], other, &[]);
            self.builder.switch_to_block(usual);
            // All chunks are loaded before the first is stored, so that the loads need not be
            // ordered with the stores.
            let rest = most - least;
            let front = (0..least).step_by(CHUNK as usize).map(|at| at as i32);
            let chunks = front.map(|at| (self.load_chunk(from, at), at)).collect::<Vec<_>>();
            let behind = self.builder.ins().iadd_imm_s(length, -rest);
            let (from_behind, to_behind) =
                (self.builder.ins().iadd(from, behind), self.builder.ins().iadd(to, behind));
            let back = (0..rest).step_by(CHUNK as usize).map(|at| at as i32);
            let last = back.map(|at| (self.load_chunk(from_behind, at), at)).collect::<Vec<_>>();
            chunks.into_iter().for_each(|(chunk, at)| self.store_chunk(to, at, chunk));
            last.into_iter().for_each(|(chunk, at)| self.store_chunk(to_behind, at, chunk));
            self.builder.ins().jump(end, &[]);
            self.builder.switch_to_block(other);
        }
        let short = self.copy_chunks(from, to, length);
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(short);
        self.copy_bytes(from, to, length);
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits a loop that copies a packet in chunks of [`CHUNK`] bytes, and then one chunk that ends
    /// where the packet does. Returns the block for packets shorter than a chunk.
    fn copy_chunks(&mut self, from: Value, to: Value, length: Value) -> Block {
        let mut block = || self.builder.create_block();
        let (chunks, short) = (block(), block());
        let (many, of_many, one, of_one, last) = (block(), block(), block(), block(), block());
        let at = self.builder.declare_var(types::I64);
        let zero = self.number(0);
        self.builder.def_var(at, zero);
        let is_short = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, length, CHUNK);
        self.builder.ins().brif(is_short, short, &[], chunks, &[]);
        self.builder.switch_to_block(chunks);
        let above = self.builder.ins().iadd_imm_s(length, -CHUNK);
        self.builder.ins().jump(many, &[]);
        for (head, body, size, behind) in [(many, of_many, MANY, one), (one, of_one, CHUNK, last)] {
            self.builder.switch_to_block(head);
            let here = self.builder.use_var(at);
            let there = self.builder.ins().iadd_imm_s(here, size);
            // The rest after this loop is at most a chunk, or is left to the next loop.
            let fits = match size {
                CHUNK => self.builder.ins().icmp(IntCC::UnsignedLessThan, here, above),
                _ => self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, there, length),
            };
            self.builder.ins().brif(fits, body, &[], behind, &[]);
            self.builder.switch_to_block(body);
            let part = (self.builder.ins().iadd(from, here), self.builder.ins().iadd(to, here));
            (0..size).step_by(CHUNK as usize).for_each(|at| self.copy_chunk(part, at as i32));
            self.builder.def_var(at, there);
            self.builder.ins().jump(head, &[]);
        }
        self.builder.switch_to_block(last);
        let part = (self.builder.ins().iadd(from, above), self.builder.ins().iadd(to, above));
        self.copy_chunk(part, 0);
        short
    }

    /// Emits a loop that copies a short packet byte by byte.
    fn copy_bytes(&mut self, from: Value, to: Value, length: Value) {
        let (head, body, end) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let at = self.builder.declare_var(types::I64);
        let zero = self.number(0);
        self.builder.def_var(at, zero);
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let here = self.builder.use_var(at);
        let is_left = self.builder.ins().icmp(IntCC::UnsignedLessThan, here, length);
        self.builder.ins().brif(is_left, body, &[], end, &[]);
        self.builder.switch_to_block(body);
        let source = Pointer { base: self.builder.ins().iadd(from, here), offset: 0 };
        let byte = self.load(source, 1);
        let target = Pointer { base: self.builder.ins().iadd(to, here), offset: 0 };
        self.store(target, 1, byte);
        let there = self.builder.ins().iadd_imm_s(here, 1);
        self.builder.def_var(at, there);
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(end);
    }

    fn copy_chunk(&mut self, (from, to): (Value, Value), at: i32) {
        let chunk = self.load_chunk(from, at);
        self.store_chunk(to, at, chunk);
    }

    fn load_chunk(&mut self, from: Value, at: i32) -> Value {
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().load(types::I8X16, flags, from, at)
    }

    fn store_chunk(&mut self, to: Value, at: i32, chunk: Value) {
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().store(flags, chunk, to, at);
    }
}
