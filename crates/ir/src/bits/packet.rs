//! Conversion between [`Bits`] and the bytes of packets and control-plane messages, which are
//! big-endian with the most significant bit first.

use super::{Bits, words::Words};

impl Bits {
    /// Returns the low `width` bits of a big-endian number. If `bytes` has fewer bits, the missing
    /// high bits are zero.
    #[must_use]
    pub fn from_be_bytes(width: u32, signed: bool, bytes: &[u8]) -> Self {
        let needed = width.div_ceil(8) as usize;
        let low = bytes.get(bytes.len().saturating_sub(needed)..).unwrap_or(bytes);
        if width <= 128 {
            let pattern = low.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
            return Self { width, signed, words: Words::from_u128(width, pattern) };
        }
        let little: Vec<u8> = low.iter().rev().copied().collect();
        let mut bits = Self::zero(width, signed);
        bits.words.copy_le_bytes(&little, width);
        bits
    }

    /// Returns the bit pattern as a big-endian number of `width / 8` bytes, rounded up, which is
    /// none for `bit<0>`.
    #[must_use]
    pub fn to_be_bytes(&self) -> Vec<u8> {
        let needed = self.width.div_ceil(8) as usize;
        let mut bytes: Vec<u8> =
            self.words.as_slice().iter().flat_map(|word| word.to_le_bytes()).take(needed).collect();
        bytes.reverse();
        bytes
    }

    /// Reads `width` bits of a packet that start at bit `offset`, with the most significant bit of
    /// each byte first. Returns `None` if the packet ends before the last of these bits.
    #[must_use]
    pub fn read_packet(packet: &[u8], offset: u64, width: u32, signed: bool) -> Option<Self> {
        let end = offset.checked_add(u64::from(width))?;
        let first = usize::try_from(offset / 8).ok()?;
        let last = usize::try_from(end.div_ceil(8)).ok()?;
        if width == 0 {
            return (last <= packet.len()).then(|| Self::zero(0, signed));
        }
        let bytes = packet.get(first..last)?;
        let below = (8 - end % 8) % 8;
        if bytes.len() <= 16 {
            let number = bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
            return Some(Self { width, signed, words: Words::from_u128(width, number >> below) });
        }
        // An unaligned field may extend over one byte more than its width fills. The shift drops
        // the bits after the field.
        let wide = Self::from_be_bytes(width.saturating_add(below as u32), false, bytes);
        Some(wide.shift_right(below).cast(width, signed))
    }

    /// Appends the bit pattern to a packet that may end in the middle of a byte: the last byte of
    /// `packet` has `used` bits in use (1 to 8). `used` is ignored if the packet is empty. Returns
    /// the number of bits in use in the new last byte.
    pub fn append_to_packet(&self, packet: &mut Vec<u8>, used: u32) -> u32 {
        let free = if packet.is_empty() { 0 } else { 8_u32.saturating_sub(used) };
        if self.width == 0 {
            return 8 - free;
        }
        let head = free.min(self.width);
        if head > 0
            && let Some(last) = packet.last_mut()
        {
            let part = self.slice(self.width - 1, self.width - head).low_u64() as u8;
            *last |= part << (free - head);
        }
        let rest = self.width - head;
        if rest == 0 {
            return 8 - (free - head);
        }
        let tail = (8 - rest % 8) % 8;
        if let (Some(pattern), true) = (self.words.to_u128(), rest + tail <= 128) {
            let bytes = (pattern << tail).to_be_bytes();
            let length = ((rest + tail) / 8) as usize;
            packet.extend_from_slice(bytes.get(bytes.len() - length..).unwrap_or_default());
            return 8 - tail;
        }
        let low = self.cast(rest, false).cast(rest.saturating_add(tail), false);
        packet.extend(low.shift_left(u64::from(tail)).to_be_bytes());
        8 - tail
    }
}
