//! The packet that a parser reads, with the bytes of the received packet as inputs. The packets of a
//! sequence are numbered from 0.

use crate::term::{Origin, Term, Terms};

/// The largest length in bytes of a received packet: an Ethernet frame of 1,514 bytes.
pub(crate) const MAXIMUM_LENGTH: u32 = 1_514;
/// The width in bits of the term for the length of the received packet.
pub(crate) const LENGTH_BITS: u32 = 16;

/// The meanings of the identifiers of chosen inputs, in their high bits.
const KIND_SHIFT: u32 = 48;
const PACKET: u64 = 1;
const LENGTH: u64 = 2;
const PORT: u64 = 3;
const OTHER: u64 = 4;

fn origin(kind: u64, number: u64) -> Origin {
    Origin::chosen(kind << KIND_SHIFT | number)
}

/// The number of bits of the longest packet.
const PACKET_BITS: u32 = MAXIMUM_LENGTH * 8;

/// Returns all bits that a received packet may have, the first bit in the highest position.
pub(crate) fn whole(terms: &mut Terms, number: u32) -> Term {
    terms.input(origin(PACKET, number.into()), PACKET_BITS)
}

/// Returns bits of a received packet, or `None` if the longest packet does not have them.
pub(crate) fn received(terms: &mut Terms, number: u32, offset: u64, width: u32) -> Option<Term> {
    let whole = whole(terms, number);
    let end = u32::try_from(offset.checked_add(width.into())?).ok()?;
    let low = PACKET_BITS.checked_sub(end)?;
    if width == 0 {
        return Some(terms.zero(0));
    }
    Some(terms.extract(whole, low + width - 1, low))
}

/// Returns the length in bytes of a received packet.
pub(crate) fn length(terms: &mut Terms, number: u32) -> Term {
    terms.input(origin(LENGTH, number.into()), LENGTH_BITS)
}

/// Returns the port on which a packet is received.
pub(crate) fn port(terms: &mut Terms, number: u32, width: u32) -> Term {
    terms.input(origin(PORT, number.into()), width)
}

/// Returns the origin of the next of the other chosen inputs.
pub(crate) fn other(number: u64) -> Origin {
    origin(OTHER, number)
}

/// A packet that a parser reads: bytes that a deparser wrote, followed by bytes of the received
/// packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// The number of the received packet.
    pub(crate) number: u32,
    /// The bytes that a deparser wrote; empty for a received packet.
    pub(crate) written: Vec<Term>,
    /// The position in the received packet of the byte after the written ones.
    pub(crate) rest: u32,
    /// The length in bytes, of [`LENGTH_BITS`] bits.
    pub(crate) length: Term,
}

impl Packet {
    /// Returns a packet as it is received.
    pub(crate) fn received(terms: &mut Terms, number: u32) -> Self {
        Self { number, written: Vec::new(), rest: 0, length: length(terms, number) }
    }

    /// Returns whether the packet has at least this many bits.
    pub(crate) fn has(&self, terms: &mut Terms, bits: u64) -> Term {
        let bytes = bits.div_ceil(8);
        if bytes >= 1 << LENGTH_BITS {
            return terms.truth(false);
        }
        let needed = terms.number(LENGTH_BITS, bytes.into());
        terms.less_or_equal(needed, self.length)
    }

    /// Returns bits of the packet. Bits that no packet has are zero.
    pub(crate) fn read(&self, terms: &mut Terms, offset: u64, width: u32) -> Term {
        if width == 0 {
            return terms.zero(0);
        }
        let written = self.written.len() as u64 * 8;
        let end = offset + u64::from(width);
        if offset >= written {
            let at = offset - written + u64::from(self.rest) * 8;
            return received(terms, self.number, at, width).unwrap_or_else(|| terms.zero(width));
        }
        // The first bytes are written ones, and the rest follows them.
        let mut bits = terms.zero(0);
        let last = end.min(written);
        for at in offset / 8..last.div_ceil(8) {
            let byte = usize::try_from(at).ok().and_then(|at| self.written.get(at)).copied();
            let byte = byte.unwrap_or_else(|| terms.zero(8));
            bits = terms.concatenate(bits, byte);
        }
        let available = terms.width_of(bits);
        let before = u32::try_from(offset % 8).unwrap_or(0);
        let here = u32::try_from(last - offset).unwrap_or(0);
        let low = available.saturating_sub(before + here);
        let head = terms.extract(bits, low + here - 1, low);
        if end <= written {
            return head;
        }
        let tail = u32::try_from(end - written).unwrap_or(0);
        let rest = received(terms, self.number, u64::from(self.rest) * 8, tail);
        let rest = rest.unwrap_or_else(|| terms.zero(tail));
        terms.concatenate(head, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::{LENGTH_BITS, Packet};
    use crate::term::Terms;

    #[test]
    fn no_bits_are_read_at_any_position() {
        let mut terms = Terms::new();
        let written = vec![terms.number(8, 0xab), terms.number(8, 0xcd)];
        let length = terms.number(LENGTH_BITS, 20);
        let packet = Packet { number: 0, written, rest: 0, length };
        for offset in [0, 3, 8, 15, 16, 40] {
            let none = packet.read(&mut terms, offset, 0);
            assert_eq!(terms.width_of(none), 0, "at {offset}");
        }
        let byte = packet.read(&mut terms, 4, 8);
        let expected = terms.number(8, 0xbc);
        assert_eq!(byte, expected);
        assert!(terms.check().is_ok());
    }
}
