//! Checksums and hashes over fields in the frame, for generated code that does not compute them
//! itself.

use super::context::Context;
use super::host::Host;
use crate::bound::gather::Piece;
use crate::bound::shape::{DATA, TAIL};
use crate::sync::read;

impl Host<'_> {
    /// Returns the hash of the fields of a gather by its number. If the gather verifies a checksum
    /// and the hash is not `found`, records a checksum error in the context.
    pub(super) fn gathered_hash(
        &mut self,
        frame: &[u8],
        (context, payload): (&mut Context, &[u8]),
        number: u64,
        found: u64,
    ) -> u64 {
        let bound = self.bound;
        let gather = usize::try_from(number).ok().and_then(|number| bound.gathers.get(number));
        let Some(gather) = gather else { return 0 };
        let mut data = std::mem::take(self.data);
        data.clear();
        let mut used = 8;
        for piece in &gather.pieces {
            match *piece {
                Piece::Bits { flag, offset, bit, width } => {
                    let is_valid = frame.get(flag as usize).is_some_and(|flag| *flag != 0);
                    let is_taken = is_valid || gather.takes_invalid;
                    if let (true, Some(from)) = (is_taken, frame.get(offset as usize..)) {
                        append(&mut data, &mut used, from, (bit, width));
                    }
                }
                Piece::Tail { flag, bytes } => {
                    let is_valid = frame.get(flag as usize).is_some_and(|flag| *flag != 0);
                    let width = super::exchange::number(frame, flag + TAIL, 4) as u32;
                    let from = frame.get((flag + DATA + bytes) as usize..);
                    if let (true, Some(from)) = (is_valid || gather.takes_invalid, from) {
                        append(&mut data, &mut used, from, (0, width));
                    }
                }
                Piece::Number { offset, bytes, width } => {
                    let start = offset as usize;
                    let from = frame.get(start..start + bytes as usize).unwrap_or(&[]);
                    let mut number = [0; 8];
                    number.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                    append_number(&mut data, &mut used, u64::from_le_bytes(number), width);
                }
                Piece::Constant { number, width } => {
                    append_number(&mut data, &mut used, number, width);
                }
            }
        }
        if gather.payload {
            data.extend_from_slice(payload);
        }
        // The resolved program names only algorithms that are implemented.
        let hash = read(&self.state.hashes).hash(&gather.algorithm, &data).unwrap_or(0);
        if gather.verifies && hash != found {
            context.checksum_error = 1;
        }
        *self.data = data;
        hash
    }
}

fn append_number(data: &mut Vec<u8>, used: &mut u32, number: u64, width: u32) {
    append(data, used, &number.to_be_bytes(), (64 - width, width));
}

/// Appends `width` bits of `from`, beginning at `bit`, to `data`. `used` is the number of bits in
/// use in the last byte of `data`.
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
