//! A packet on its way to where it leaves from.

use crate::compiled::generate::Function;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value, types};

/// Packets up to this length are copied without a call.
const SHORT: i64 = 256;
/// Lengths that are copied without a loop, from the least to the most: so many bytes from the beginning, and as many as may
/// be left up to the end, of which some are copied twice.
const USUAL: [(i64, i64); 3] = [(64, 96), (96, 128), (32, 64)];
/// Bytes that are copied at once.
const CHUNK: i64 = 16;

impl Function<'_, '_> {
    /// Copies a packet; both places are apart.
    pub(super) fn copy_packet(&mut self, from: Value, to: Value, length: Value) {
        let mut block = || self.builder.create_block();
        let (short, long) = (block(), block());
        let (body, last, end) = (block(), block(), block());
        let fits = |function: &mut Self, least: i64, most: i64| {
            let above = function.builder.ins().iadd_imm(length, -least);
            function.builder.ins().icmp_imm(IntCC::UnsignedLessThanOrEqual, above, most - least)
        };
        for (least, most) in USUAL {
            let (usual, other) = (self.builder.create_block(), self.builder.create_block());
            let is_usual = fits(self, least, most);
            self.builder.ins().brif(is_usual, usual, &[], other, &[]);
            self.builder.switch_to_block(usual);
            // All is loaded before anything is stored, in whatever order the stores come to the cache.
            let rest = most - least;
            let front = (0..least).step_by(CHUNK as usize).map(|at| at as i32);
            let chunks = front.map(|at| (self.load_chunk(from, at), at)).collect::<Vec<_>>();
            let behind = self.builder.ins().iadd_imm(length, -rest);
            let (from_behind, to_behind) =
                (self.builder.ins().iadd(from, behind), self.builder.ins().iadd(to, behind));
            let back = (0..rest).step_by(CHUNK as usize).map(|at| at as i32);
            let last = back.map(|at| (self.load_chunk(from_behind, at), at)).collect::<Vec<_>>();
            chunks.into_iter().for_each(|(chunk, at)| self.store_chunk(to, at, chunk));
            last.into_iter().for_each(|(chunk, at)| self.store_chunk(to_behind, at, chunk));
            self.builder.ins().jump(end, &[]);
            self.builder.switch_to_block(other);
        }
        let is_short = fits(self, CHUNK, SHORT);
        self.builder.ins().brif(is_short, short, &[], long, &[]);

        self.builder.switch_to_block(long);
        let config = self.config;
        self.builder.call_memcpy(config, to, from, length);
        self.builder.ins().jump(end, &[]);

        // Whole chunks from the beginning, then one that ends where the packet does.
        self.builder.switch_to_block(short);
        let at = self.builder.declare_var(types::I64);
        let zero = self.number(0);
        self.builder.def_var(at, zero);
        let above = self.builder.ins().iadd_imm(length, -CHUNK);
        self.builder.ins().brif(above, body, &[], last, &[]);
        self.builder.switch_to_block(body);
        let here = self.builder.use_var(at);
        let part = (self.builder.ins().iadd(from, here), self.builder.ins().iadd(to, here));
        self.copy_chunk(part, 0);
        let there = self.builder.ins().iadd_imm(here, CHUNK);
        self.builder.def_var(at, there);
        let goes_on = self.builder.ins().icmp(IntCC::UnsignedLessThan, there, above);
        self.builder.ins().brif(goes_on, body, &[], last, &[]);
        self.builder.switch_to_block(last);
        let part = (self.builder.ins().iadd(from, above), self.builder.ins().iadd(to, above));
        self.copy_chunk(part, 0);
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    fn copy_chunk(&mut self, (from, to): (Value, Value), at: i32) {
        let chunk = self.load_chunk(from, at);
        self.store_chunk(to, at, chunk);
    }

    fn load_chunk(&mut self, from: Value, at: i32) -> Value {
        let flags = MemFlags::new().with_notrap();
        self.builder.ins().load(types::I8X16, flags, from, at)
    }

    fn store_chunk(&mut self, to: Value, at: i32, chunk: Value) {
        let flags = MemFlags::new().with_notrap();
        self.builder.ins().store(flags, chunk, to, at);
    }
}
