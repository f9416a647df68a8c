//! Computes checksums and hashes over fields in the frame (the packet's working memory) for which
//! there is no generated code.

use super::context::Context;
use super::exchange::number;
use super::host::Host;
use crate::error::InternalError;
use crate::resolved::gather::{Gather, Piece};
use crate::resolved::shape::{DATA, TAIL};
use crate::sync::read;

impl Host<'_> {
    /// Computes a hash over the fields of a gather (a list of a hash's inputs), which is given by
    /// its number, and returns it. If the gather verifies a checksum and the hash differs from
    /// `found`, records a checksum error in the context.
    pub(super) fn gathered_hash(
        &mut self,
        frame: &[u8],
        context: &mut Context,
        payload: &[u8],
        number: u64,
        found: u64,
    ) -> u64 {
        let resolved = self.resolved;
        let gather = usize::try_from(number).ok().and_then(|number| resolved.gathers.get(number));
        let Some(gather) = gather else {
            self.broken("the fields of a hash");
            return 0;
        };
        let mut data = std::mem::take(self.data);
        data.clear();
        let gathered = collect(gather, frame, &mut data);
        self.check(gathered);
        if gather.payload {
            data.extend_from_slice(payload);
        }
        let hash = read(&self.state.hashes).hash(&gather.algorithm, &data);
        *self.data = data;
        let Some(hash) = hash else {
            self.broken("a hash algorithm that is not implemented");
            return 0;
        };
        if gather.verifies && hash != found {
            context.checksum_error = 1;
        }
        hash
    }
}

/// Appends the fields of a gather, which are the inputs of a hash, to `data`, except for the
/// packet's payload.
fn collect(gather: &Gather, frame: &[u8], data: &mut Vec<u8>) -> Result<(), InternalError> {
    let rest = |offset: u32| {
        frame
            .get(offset as usize..)
            .ok_or_else(|| InternalError::new("a field outside of the frame"))
    };
    let mut used = 8;
    for piece in &gather.pieces {
        match *piece {
            Piece::Bits { flag, offset, bit, width } => {
                if number(frame, flag, 1)? != 0 || gather.takes_invalid {
                    append(data, &mut used, rest(offset)?, (bit, width));
                }
            }
            Piece::Tail { flag, bytes } => {
                if number(frame, flag, 1)? != 0 || gather.takes_invalid {
                    let width = number(frame, flag + TAIL, 4)? as u32;
                    append(data, &mut used, rest(flag + DATA + bytes)?, (0, width));
                }
            }
            Piece::Number { offset, bytes, width } => {
                append_number(data, &mut used, number(frame, offset, bytes)?, width);
            }
            Piece::Constant { number, width } => append_number(data, &mut used, number, width),
        }
    }
    Ok(())
}

fn append_number(data: &mut Vec<u8>, used: &mut u32, number: u64, width: u32) {
    append(data, used, &number.to_be_bytes(), (64 - width, width));
}

/// Appends `width` bits of `from`, beginning at bit `bit`, to `data`. `used` is the number of bits
/// in use in the last byte of `data`, and is updated.
fn append(data: &mut Vec<u8>, used: &mut u32, from: &[u8], (bit, width): (u32, u32)) {
    if *used == 8 && bit.is_multiple_of(8) && width.is_multiple_of(8) {
        let start = (bit / 8) as usize;
        data.extend_from_slice(from.get(start..start + (width / 8) as usize).unwrap_or(&[]));
        return;
    }
    let (mut bit, mut left) = (bit, width);
    while left > 0 {
        if *used == 8 {
            data.push(0);
            *used = 0;
        }
        // Take the bits that remain in the byte being read and that fit in the byte being written.
        let inside = bit % 8;
        let count = left.min(8 - inside).min(8 - *used);
        let byte = from.get((bit / 8) as usize).copied().unwrap_or(0);
        let part = u32::from(byte) >> (8 - inside - count) & ((1 << count) - 1);
        if let Some(last) = data.last_mut() {
            *last |= (part << (8 - *used - count)) as u8;
        }
        *used += count;
        bit += count;
        left -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::bits::Bits;

    #[test]
    fn bits_lie_as_the_interpreter_puts_them() {
        let from: Vec<u8> = (0..20_u8).map(|number| number.wrapping_mul(37)).collect();
        let (mut data, mut used) = (Vec::new(), 8);
        let (mut expected, mut expected_used) = (Vec::new(), 8);
        for (bit, width) in [(0, 8), (3, 7), (16, 16), (5, 64), (1, 1), (0, 32), (9, 31), (8, 80)] {
            append(&mut data, &mut used, &from, (bit, width));
            let bits = Bits::read_packet(&from, u64::from(bit), width, false).expect("bits");
            expected_used = bits.append_to_packet(&mut expected, expected_used);
            assert_eq!((&data, used), (&expected, expected_used), "{bit}, {width}");
        }
    }
}
