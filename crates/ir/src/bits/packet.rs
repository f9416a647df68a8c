//! Values as they lie in packets and in control-plane messages: big-endian, most significant bit
//! first.

use super::{Bits, words::Words};

impl Bits {
    /// The low `width` bits of a big-endian number; missing bytes are zero.
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

    /// The pattern as a big-endian number in as few bytes as the width needs (none for `bit<0>`).
    #[must_use]
    pub fn to_be_bytes(&self) -> Vec<u8> {
        let needed = self.width.div_ceil(8) as usize;
        let mut bytes: Vec<u8> =
            self.words.as_slice().iter().flat_map(|word| word.to_le_bytes()).take(needed).collect();
        bytes.reverse();
        bytes
    }

    /// The `width` bits of a packet that start at bit `offset`, the most significant bit of each
    /// byte first. `None` if the packet ends before.
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
        // One byte more than the field may have to be read; the shift drops what follows it.
        let wide = Self::from_be_bytes(width.saturating_add(below as u32), false, bytes);
        Some(wide.shift_right(below).cast(width, signed))
    }

    /// Appends the pattern to a packet whose last byte has `used` bits (1 to 8; 8 or an empty
    /// packet: whole bytes). Returns how many bits the last byte has then.
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
