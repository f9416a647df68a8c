//! The packets of all flows, one behind the other.
//!
//! Who makes traffic reads them in random order, and shares caches with the worker under the clock. So each is read past the
//! larger caches, which stay the program's: otherwise packets that nobody will see again for a while take the place of entries, and
//! the figure is one of the apparatus.

use std::ops::Index;
use tables::machine::read_once;

/// So many packets before one is read, memory is asked for it.
const AHEAD: usize = 16;

/// Packets by number.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
    /// Of each, and where the last ends.
    starts: Vec<usize>,
}

impl Packets {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A packet; nothing if there are not so many.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let bounds = self.starts.get(number..number.checked_add(2)?)?;
        self.bytes.get(bounds[0]..bounds[1])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.starts.windows(2).map(|bounds| &self.bytes[bounds[0]..bounds[1]])
    }

    /// Bytes of all together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of the longest.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.iter().map(<[u8]>::len).max().unwrap_or(0)
    }

    /// Gives the packets with these numbers to `take`, each with its position among them; `ask` is told each number some time
    /// before.
    pub(crate) fn each_once(
        &self,
        numbers: &[usize],
        ask: impl Fn(usize),
        mut take: impl FnMut(usize, &[u8]),
    ) {
        let earlier = |position: usize, by: usize| {
            let position = position.checked_sub(by)?;
            Some((position, *numbers.get(position)?))
        };
        for position in 0..numbers.len() + 2 * AHEAD {
            if let Some((_, number)) = earlier(position, 0) {
                read_once(self.starts.get(number..number + 2).unwrap_or(&[]));
                ask(number);
            }
            if let Some((_, number)) = earlier(position, AHEAD) {
                read_once(self.get(number).unwrap_or(&[]));
            }
            if let Some((position, number)) = earlier(position, 2 * AHEAD) {
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
    fn packets_come_back_in_the_order_asked_for() {
        let packets: Packets = (0..100u8).map(|number| vec![number; number.into()]).collect();
        assert_eq!((packets.len(), packets.longest(), packets.bytes()), (100, 99, 99 * 50));
        assert_eq!((packets.get(99), packets.get(100)), (Some([99; 99].as_slice()), None));
        assert!(packets.get(usize::MAX).is_none() && Packets::default().get(0).is_none());
        let numbers: Vec<usize> = (0..100).rev().chain([7, 7]).collect();
        let (asked, mut taken) = (RefCell::new(Vec::new()), Vec::new());
        packets.each_once(
            &numbers,
            |number| asked.borrow_mut().push(number),
            |position, packet| {
                assert_eq!(packet, &packets[numbers[position]]);
                taken.push(position);
            },
        );
        assert_eq!(asked.into_inner(), numbers);
        assert!(taken.into_iter().eq(0..numbers.len()));
    }
}
