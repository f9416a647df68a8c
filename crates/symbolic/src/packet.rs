//! The packet that a parser reads, as a term. The bytes of received packets are inputs, and the
//! packets of a sequence are numbered from 0.

use crate::term::{Origin, Term, Terms};

/// The largest length of a received packet in bytes: that of an Ethernet frame.
pub const MAXIMUM_LENGTH: u32 = 1_514;
/// The width in bits of the term for the length of a received packet.
pub(crate) const LENGTH_BITS: u32 = 16;

/// The position of the high bits in the identifier of a chosen input that say what the input stands
/// for.
const KIND_SHIFT: u32 = 48;
const PACKET: u64 = 1;
const LENGTH: u64 = 2;
const PORT: u64 = 3;
const OTHER: u64 = 4;
const GAP: u64 = 5;
const EXPIRE_TIME: u64 = 6;
const CARRIED: u64 = 7;

fn origin(kind: u64, number: u64) -> Origin {
    Origin::chosen(kind << KIND_SHIFT | number)
}

/// The number of bits of the longest received packet.
const PACKET_BITS: u32 = MAXIMUM_LENGTH * 8;

/// Returns all bits that a received packet may have. The first bit of the packet is the most
/// significant.
pub(crate) fn whole(terms: &mut Terms, number: u32) -> Term {
    terms.input(origin(PACKET, number.into()), PACKET_BITS)
}

/// Returns `width` bits of a received packet from bit `offset` on; `None` if they are beyond the
/// longest packet.
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

/// Returns the time that passes before a packet of a sequence arrives.
pub(crate) fn gap(terms: &mut Terms, number: u32, width: u32) -> Term {
    terms.input(origin(GAP, number.into()), width)
}

/// Returns the timeout of an expire-time profile (PNA).
pub(crate) fn expire_time(terms: &mut Terms, profile: u32, width: u32) -> Term {
    terms.input(origin(EXPIRE_TIME, profile.into()), width)
}

/// Returns a value that an earlier pass may have left for the pass that is executed, by its position
/// among these values.
pub(crate) fn carried(terms: &mut Terms, position: u32, width: u32) -> Term {
    terms.input(origin(CARRIED, position.into()), width)
}

/// Returns the origin of a chosen input that stands for something else, by its number.
pub(crate) fn other(number: u64) -> Origin {
    origin(OTHER, number)
}

/// A packet that a parser reads. It consists of bytes that a deparser has written, followed by
/// bytes of the received packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// The position of the received packet in the sequence.
    pub(crate) number: u32,
    /// The bytes that a deparser has written; empty if the packet is read as it was received.
    pub(crate) written: Vec<Term>,
    /// The position in the received packet of the first byte that follows the written bytes.
    pub(crate) rest: u32,
    /// The length of the packet in bytes, in [`LENGTH_BITS`] bits.
    pub(crate) length: Term,
}

impl Packet {
    /// Returns a packet in the form in which it is received.
    pub(crate) fn received(terms: &mut Terms, number: u32) -> Self {
        Self { number, written: Vec::new(), rest: 0, length: length(terms, number) }
    }

    /// Returns the condition that the packet has at least this many bits.
    pub(crate) fn has(&self, terms: &mut Terms, bits: u64) -> Term {
        let bytes = bits.div_ceil(8);
        if bytes >= 1 << LENGTH_BITS {
            return terms.truth(false);
        }
        let needed = terms.number(LENGTH_BITS, bytes.into());
        terms.less_or_equal(needed, self.length)
    }

    /// Returns `width` bits of the packet from bit `offset` on. Bits beyond the longest packet are
    /// zero.
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
