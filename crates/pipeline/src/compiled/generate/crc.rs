//! Cyclic redundancy checks over a fixed number of whole bytes. They are computed by lookups in the
//! tables of `ir::hash`, eight bytes at a time; the lookups of a word are independent of each
//! other.
//!
//! The remainder starts at zero, so that leading zeros change nothing and the bytes can be padded
//! to whole words. The initial value and the final exclusive-or of the CRC are combined with the
//! result, which is valid because a CRC is linear. In rare cases an invalid header is among the
//! inputs, and the architecture omits its fields; the host then computes the hash.

use super::function::Function;
use super::variables::{Known, Pointer};
use crate::resolved::Address;
use crate::resolved::gather::Piece;
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// The largest number of bytes for which the computation of a CRC is inlined.
const MAX: u32 = 64;
/// The number of bytes in a word. The CRC has a table of 256 entries for each byte position of a
/// word.
const WORD: u32 = 8;

impl Function<'_, '_> {
    /// Emits code that computes the CRC of the fields of a gather (a list of a hash's inputs), and
    /// returns the result. Returns `None`, and emits nothing, if the hash is not a CRC or the
    /// fields are not a fixed number of whole bytes.
    pub(super) fn cyclic_redundancy_check(&mut self, number: u32, found: Value) -> Option<Value> {
        let resolved = self.resolved;
        let gather = resolved.gathers.get(number as usize)?;
        let bytes = gather.bytes_of_pieces()?;
        let all = bytes.iter().sum::<u32>();
        let crc = gather.algorithm.fixed_crc().filter(|_| (1..=MAX).contains(&all))?;
        let (tables, combined) = crc.for_words(all as usize)?;
        let tables = self.number(tables.as_ptr().expose_provenance() as u64);
        let mut taken = None;
        if !gather.takes_invalid {
            for piece in &gather.pieces {
                let header = match *piece {
                    Piece::Bits { flag, .. } | Piece::Tail { flag, .. } => Address::fixed(flag),
                    // These are always part of the data.
                    Piece::Number { .. } | Piece::Constant { .. } => continue,
                };
                if !matches!(self.known_place(header), Some(Known::At(_))) {
                    let is_valid = self.is_valid(header);
                    taken = Some(match taken {
                        Some(others) => self.builder.ins().band(others, is_valid),
                        None => is_valid,
                    });
                }
            }
        }
        let join = self.builder.create_block();
        let hash = self.builder.append_block_param(join, types::I64);
        if let Some(taken) = taken {
            let (all_there, others) = (self.builder.create_block(), self.builder.create_block());
            self.builder.set_cold_block(others);
            self.builder.ins().brif(taken, all_there, &[], others, &[]);
            self.builder.switch_to_block(others);
            let called = self.hash_by_call(number, found, Self::call_host_cold);
            self.builder.ins().jump(join, &[called.into()]);
            self.builder.switch_to_block(all_there);
        }
        let mut words = vec![self.number(0); all.div_ceil(WORD) as usize];
        let mut at = all.next_multiple_of(WORD) - all;
        for (piece, bytes) in gather.pieces.iter().zip(bytes) {
            self.put_bytes(piece, at, bytes, &mut words);
            at += bytes;
        }
        let mut remainder = self.number(0);
        for (position, word) in words.into_iter().enumerate() {
            let mixed = self.builder.ins().bxor(remainder, word);
            let zeros = if position == 0 { all.next_multiple_of(WORD) - all } else { 0 };
            remainder = self.behind_word(tables, mixed, zeros);
        }
        let combined = self.number(combined);
        let checksum = self.builder.ins().bxor(remainder, combined);
        self.builder.ins().jump(join, &[checksum.into()]);
        self.builder.switch_to_block(join);
        Some(hash)
    }

    /// Emits code that inserts the bytes of a gather's piece into `words`, starting at byte `at`.
    /// Byte 0 is the lowest byte of the first word.
    fn put_bytes(&mut self, piece: &Piece, at: u32, bytes: u32, words: &mut [Value]) {
        let mut done = 0;
        while done < bytes {
            let (word, inside) = ((at + done) / WORD, (at + done) % WORD);
            let left = (bytes - done).min(WORD - inside);
            let (part, taken) = match *piece {
                Piece::Bits { offset, bit, .. } => {
                    let taken = [8, 4, 2, 1].into_iter().find(|bytes| *bytes <= left).unwrap_or(1);
                    let first = bit + 8 * done;
                    let all = first..first + 8 * taken;
                    let from = self.bits_to_read(Address::fixed(offset), all).at.plus(first / 8);
                    (self.load(from, taken), taken)
                }
                Piece::Number { offset, bytes: of_number, width } => {
                    let value = match self.slot(offset) {
                        Some(variable) => self.builder.use_var(variable),
                        None => {
                            let at = Pointer { base: self.frame, offset: offset as i32 };
                            self.load(at, of_number)
                        }
                    };
                    (self.bytes_of(value, width, done, left), left)
                }
                Piece::Constant { number, width } => {
                    let value = self.number(number);
                    (self.bytes_of(value, width, done, left), left)
                }
                Piece::Tail { .. } => return self.broken("a varbit in data of a fixed length"),
            };
            let part = self.builder.ins().ishl_imm_u(part, i64::from(8 * inside));
            let Some(word) = words.get_mut(word as usize) else {
                return self.broken("data of a hash that is longer than its pieces");
            };
            *word = self.builder.ins().bor(*word, part);
            done += taken;
        }
    }

    /// Emits the extraction of `bytes` bytes of a number. They start at byte `first`, where byte 0
    /// is the most significant byte. The result has the bytes in the order in which a load from the
    /// packet would return them.
    fn bytes_of(&mut self, value: Value, width: u32, first: u32, bytes: u32) -> Value {
        let high = self.builder.ins().ishl_imm_u(value, i64::from(64 - width));
        let swapped = self.builder.ins().bswap(high);
        let behind = self.builder.ins().ushr_imm_u(swapped, i64::from(8 * first));
        self.masked(behind, 8 * bytes)
    }

    /// Emits the lookups that compute the CRC's remainder after one more word. The lowest `zeros`
    /// bytes of the word are known to be zero.
    fn behind_word(&mut self, tables: Value, word: Value, zeros: u32) -> Value {
        let mut parts = Vec::new();
        for place in zeros..WORD {
            let byte = self.builder.ins().ushr_imm_u(word, i64::from(8 * place));
            let byte = if place + 1 < WORD { self.masked(byte, 8) } else { byte };
            let distance = self.builder.ins().ishl_imm_u(byte, 3);
            let base = self.builder.ins().iadd(tables, distance);
            let table = (WORD - 1 - place) * 256 * 8;
            parts.push(self.load(Pointer { base, offset: table as i32 }, 8));
        }
        let none = self.number(0);
        parts.into_iter().reduce(|one, other| self.builder.ins().bxor(one, other)).unwrap_or(none)
    }
}
