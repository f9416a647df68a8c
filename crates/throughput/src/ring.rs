//! A ring of packet buffers in memory, as a network card and its driver would provide them:
//! consecutive slots of one size.

use tables::LINE;

/// A ring of packet buffers of equal size in memory.
#[derive(Debug)]
pub(crate) struct Ring {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    slot: usize,
}

impl Ring {
    /// Creates a ring of `slots` buffers for packets of up to `size` bytes.
    pub(crate) fn new(slots: usize, size: usize) -> Self {
        // Slots begin at cache lines.
        let slot = size.next_multiple_of(LINE).max(LINE);
        Self { bytes: vec![0; slot * slots], lengths: vec![0; slots], slot }
    }

    /// Copies a packet into the buffer at `position`, and truncates it if it is too long. Returns
    /// false if there is no such buffer.
    pub(crate) fn put(&mut self, position: usize, packet: &[u8]) -> bool {
        let length = packet.len().min(self.slot);
        let begin = position * self.slot;
        let (Some(bytes), Some(kept)) =
            (self.bytes.get_mut(begin..begin + length), self.lengths.get_mut(position))
        else {
            return false;
        };
        bytes.copy_from_slice(&packet[..length]);
        *kept = length;
        true
    }

    /// Returns the packets of all buffers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.bytes.chunks_exact(self.slot).zip(&self.lengths);
        slots.map(|(bytes, length)| bytes.get(..*length).unwrap_or_default())
    }

    /// Returns the packet in the buffer at `position`, which is empty if there is no such buffer.
    pub(crate) fn get(&self, position: usize) -> &[u8] {
        let begin = position * self.slot;
        let length = self.lengths.get(position).copied().unwrap_or(0);
        self.bytes.get(begin..begin + length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn packets_come_out_as_they_were_put_in() {
        let mut ring = Ring::new(2, 65);
        assert!(ring.put(1, &[7; 65]) && ring.put(0, &[1, 2]));
        assert_eq!((ring.get(0), ring.get(1)), ([1, 2].as_slice(), [7; 65].as_slice()));
        assert!(ring.iter().eq([[1, 2].as_slice(), &[7; 65]]));
        assert!(!ring.put(2, &[0]));
        assert!(ring.get(2).is_empty());
    }
}
