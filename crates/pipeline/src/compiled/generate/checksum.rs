//! The Internet checksum (RFC 1071) over fields that consist of whole 16-bit words, in a few
//! additions on the fields in place.
//!
//! The one's complement sum does not depend on the byte order (RFC 1071, section 2(B)), so words
//! are added as the processor loads them, eight or four bytes at a time, and the result is
//! byte-swapped. If a varbit is not empty, which is rare, the host computes the checksum.

use super::function::{Function, context_offset};
use super::variables::Pointer;
use crate::resolved::gather::{Gather, Piece};
use crate::resolved::{Address, Offset};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

impl Function<'_, '_> {
    /// Emits code that computes the Internet checksum of the fields of a gather (a list of a hash's
    /// inputs). If the gather verifies a checksum, the code also compares the result with `found`.
    /// Returns `None`, and emits nothing, if the gather has another hash or data other than whole
    /// 16-bit words.
    pub(super) fn internet_checksum(&mut self, number: u32, found: Value) -> Option<Value> {
        let resolved = self.resolved;
        let gather = resolved.gathers.get(number as usize).filter(|gather| gather.is_in_words())?;
        if !gather.pieces.iter().any(|piece| matches!(piece, Piece::Tail { .. })) {
            return Some(self.checksum_of_words(gather, found));
        }
        let mut tails = self.number(0);
        for piece in &gather.pieces {
            if let Piece::Tail { flag, .. } = *piece {
                let header = Address::fixed(flag);
                let (is_valid, none) = (self.is_valid(header), self.number(0));
                let mut width = self.tail_width(header);
                if !gather.takes_invalid {
                    width = self.builder.ins().select(is_valid, width, none);
                }
                tails = self.builder.ins().bor(tails, width);
            }
        }
        let mut block = || self.builder.create_block();
        let (long, short, join) = (block(), block(), block());
        let checksum = self.builder.append_block_param(join, types::I64);
        self.builder.set_cold_block(long);
        self.builder.ins().brif(tails, long, &[], short, &[]);
        self.builder.switch_to_block(long);
        let called = self.hash_by_call(number, found, Self::call_host_cold);
        self.builder.ins().jump(join, &[called.into()]);
        self.builder.switch_to_block(short);
        let summed = self.checksum_of_words(gather, found);
        self.builder.ins().jump(join, &[summed.into()]);
        self.builder.switch_to_block(join);
        Some(checksum)
    }

    /// Emits code that computes the Internet checksum of the fields of a gather, for the case in
    /// which all its varbits are empty.
    fn checksum_of_words(&mut self, gather: &Gather, found: Value) -> Value {
        let sum = self.sum_of_words(gather, false);
        let checksum = self.builder.ins().bnot(sum);
        let checksum = self.builder.ins().ireduce(types::I16, checksum);
        let checksum = self.builder.ins().bswap(checksum);
        let checksum = self.builder.ins().uextend(types::I64, checksum);
        if gather.verifies {
            let differs = self.builder.ins().icmp(IntCC::NotEqual, checksum, found);
            let differs = self.builder.ins().uextend(types::I64, differs);
            let before = self.context_field(context_offset::CHECKSUM_ERROR);
            let error = self.builder.ins().bor(before, differs);
            self.set_context_field(context_offset::CHECKSUM_ERROR, error);
        }
        checksum
    }

    /// Emits code that adds the 16-bit words of a gather's fields to a one's complement sum, or
    /// subtracts them from it (RFC 1624, equation 3).
    pub(super) fn sum_with(&mut self, number: u32, sum: Value, subtracts: bool) -> Value {
        let resolved = self.resolved;
        let Some(gather) = resolved.gathers.get(number as usize) else {
            return self.broken_value("the fields of a sum");
        };
        let words = if gather.is_in_words() {
            let words = self.sum_of_words(gather, subtracts);
            let words = self.builder.ins().ireduce(types::I16, words);
            let words = self.builder.ins().bswap(words);
            self.builder.ins().uextend(types::I64, words)
        } else {
            // The host returns the checksum, which is the complement of the sum.
            let none = self.number(0);
            let hash = self.hash_by_call(number, none, Self::call_host);
            let words = self.builder.ins().bnot(hash);
            self.masked(words, 16)
        };
        let sum = self.builder.ins().iadd(sum, words);
        self.folded(sum)
    }

    /// Emits code that computes the one's complement sum, in network byte order, of the 16-bit
    /// words of a gather's fields or of their complements.
    fn sum_of_words(&mut self, gather: &Gather, complements: bool) -> Value {
        let mut sum = self.number(0);
        for piece in &gather.pieces {
            let words = self.words(piece, (gather.takes_invalid, complements));
            sum = self.builder.ins().iadd(sum, words);
        }
        self.folded(sum)
    }

    /// Emits code that computes a sum congruent to the sum of the 16-bit words in a piece of a
    /// gather, or of their complements. The sum is zero for an invalid header, unless the gather
    /// includes invalid headers.
    fn words(&mut self, piece: &Piece, (takes_invalid, complements): (bool, bool)) -> Value {
        match *piece {
            Piece::Bits { flag, offset, bit, width } => {
                let mut sum = self.number(0);
                let mut done = 0;
                while done < width / 8 {
                    let bytes = [8, 4, 2].into_iter().find(|bytes| done + bytes <= width / 8);
                    let bytes = bytes.unwrap_or(2);
                    let words = self.words_at(offset, bit / 8 + done, bytes, complements);
                    sum = self.builder.ins().iadd(sum, words);
                    done += bytes;
                }
                if takes_invalid {
                    return sum;
                }
                let is_valid = self.is_valid(Address::fixed(flag));
                let none = self.number(0);
                self.builder.ins().select(is_valid, sum, none)
            }
            // This function only runs if all varbits are empty.
            Piece::Tail { .. } => self.number(0),
            Piece::Number { offset, bytes, width } => {
                let value = match self.slot(offset) {
                    Some(variable) => self.builder.use_var(variable),
                    None => {
                        let at = Pointer { base: self.frame, offset: offset as i32 };
                        self.load(at, bytes)
                    }
                };
                self.swapped_halves(value, width, complements)
            }
            Piece::Constant { number, width } => {
                let value = self.number(number);
                self.swapped_halves(value, width, complements)
            }
        }
    }

    /// Emits code that computes a sum congruent to the sum of the 16-bit words in 8, 4 or 2 bytes
    /// of a header, or of the complements of these words. `bytes` can also be 1: the sum is then
    /// that byte, shifted to its place in the word that contains it.
    fn words_at(&mut self, offset: Offset, first: u32, bytes: u32, complements: bool) -> Value {
        let address = Address::fixed(offset);
        let bits = 8 * first..8 * (first + bytes);
        if bytes > 1 && self.is_written_in_part(address, &bits) {
            // A load of bytes that were stored in parts waits until all of the stores have reached
            // the cache.
            let half = bytes / 2;
            let parts = [first, first + half];
            let [one, other] = parts.map(|first| self.words_at(offset, first, half, complements));
            return self.builder.ins().iadd(one, other);
        }
        let at = self.bits_to_read(address, bits).at.plus(first);
        let mut words = self.load(at, bytes);
        if complements {
            words = self.builder.ins().bnot(words);
            words = self.masked(words, bytes * 8);
        }
        match bytes {
            8 => self.halves(words),
            // The byte is the second one of its word.
            1 if first % 2 == 1 => self.builder.ins().ishl_imm_u(words, 8),
            _ => words,
        }
    }

    /// Emits the sum of the two 32-bit halves of a number of `width` bits, or of its complement.
    /// Before the addition, the number's bytes are put into the order in which a load from a packet
    /// would return them.
    fn swapped_halves(&mut self, mut value: Value, width: u32, complements: bool) -> Value {
        if complements {
            value = self.builder.ins().bnot(value);
        }
        let high = self.builder.ins().ishl_imm_u(value, i64::from(64 - width));
        let swapped = self.builder.ins().bswap(high);
        self.halves(swapped)
    }

    /// Emits the sum of the two 32-bit halves of a value.
    fn halves(&mut self, words: Value) -> Value {
        let low = self.masked(words, 32);
        let high = self.builder.ins().ushr_imm_u(words, 32);
        self.builder.ins().iadd(low, high)
    }

    /// Emits code that reduces a sum to 16 bits. Adding a number to itself with its halves
    /// exchanged leaves the sum of the halves in the upper half, with the carry of the lower half
    /// included.
    fn folded(&mut self, sum: Value) -> Value {
        let exchanged = self.builder.ins().rotl_imm_u(sum, 32);
        let sum = self.builder.ins().iadd(sum, exchanged);
        let sum = self.builder.ins().ushr_imm_u(sum, 32);
        let sum = self.builder.ins().ireduce(types::I32, sum);
        let exchanged = self.builder.ins().rotl_imm_u(sum, 16);
        let sum = self.builder.ins().iadd(sum, exchanged);
        let sum = self.builder.ins().ushr_imm_u(sum, 16);
        self.builder.ins().uextend(types::I64, sum)
    }
}
