//! The packets of all flows, stored contiguously.
//!
//! The traffic generator reads packets in random order, and it shares caches with the measured
//! worker. It therefore prefetches packets in a way that bypasses the larger caches. Otherwise,
//! packets that are not reused for a while would evict table entries, and the measured rate would
//! depend on the generator.

use std::ops::Index;
use tables::machine::read_once;

/// The number of packets by which a prefetch runs ahead of the use of its data.
const PREFETCH_DISTANCE: usize = 16;

/// The packets of all flows: one packet for each flow, by flow number.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
    /// The offset of each packet in the buffer in bytes, followed by the end of the last packet.
    starts: Vec<usize>,
}

impl Packets {
    /// Returns the number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns whether there are no packets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the packet with this number, or `None` if the number is out of range.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let bounds = self.starts.get(number..number.checked_add(2)?)?;
        self.bytes.get(bounds[0]..bounds[1])
    }

    /// Iterates over all packets.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.starts.windows(2).map(|bounds| &self.bytes[bounds[0]..bounds[1]])
    }

    /// Returns the total length of all packets in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the length of the longest packet in bytes.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.iter().map(<[u8]>::len).max().unwrap_or(0)
    }

    /// Calls `take` with each of the packets that `numbers` lists, together with its position in
    /// `numbers`. `prefetch` is called with each number some time before, so that the caller can
    /// prefetch other data about the packet.
    pub(crate) fn each_once(
        &self,
        numbers: &[usize],
        prefetch: impl Fn(usize),
        mut take: impl FnMut(usize, &[u8]),
    ) {
        let earlier = |position: usize, by: usize| {
            let position = position.checked_sub(by)?;
            Some((position, *numbers.get(position)?))
        };
        for position in 0..numbers.len() + 2 * PREFETCH_DISTANCE {
            if let Some((_, number)) = earlier(position, 0) {
                read_once(self.starts.get(number..number + 2).unwrap_or(&[]));
                prefetch(number);
            }
            if let Some((_, number)) = earlier(position, PREFETCH_DISTANCE) {
                read_once(self.get(number).unwrap_or(&[]));
            }
            if let Some((position, number)) = earlier(position, 2 * PREFETCH_DISTANCE) {
                take(position, self.get(number).unwrap_or(&[]));
            }
        }
    }
}

impl Index<usize> for Packets {
    type Output = [u8];

    fn index(&self, number: usize) -> &[u8] {
        &self.bytes[self.starts[number]..self.starts[number + 1]]
    }
}

impl<P: AsRef<[u8]>> FromIterator<P> for Packets {
    fn from_iter<I: IntoIterator<Item = P>>(packets: I) -> Self {
        let mut all = Self { bytes: Vec::new(), starts: vec![0] };
        for packet in packets {
            all.bytes.extend_from_slice(packet.as_ref());
            all.starts.push(all.bytes.len());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn packets_are_passed_in_the_requested_order() {
        let packets: Packets = (0..100u8).map(|number| vec![number; number.into()]).collect();
        assert_eq!((packets.len(), packets.longest(), packets.bytes()), (100, 99, 99 * 50));
        assert_eq!((packets.get(99), packets.get(100)), (Some([99; 99].as_slice()), None));
        assert!(packets.get(usize::MAX).is_none() && Packets::default().get(0).is_none());
        let numbers: Vec<usize> = (0..100).rev().chain([7, 7]).collect();
        let (prefetched, mut taken) = (RefCell::new(Vec::new()), Vec::new());
        packets.each_once(
            &numbers,
            |number| prefetched.borrow_mut().push(number),
            |position, packet| {
                assert_eq!(packet, &packets[numbers[position]]);
                taken.push(position);
            },
        );
        assert_eq!(prefetched.into_inner(), numbers);
        assert!(taken.into_iter().eq(0..numbers.len()));
    }
}
