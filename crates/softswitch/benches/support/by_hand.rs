//! Two forwarding loops without a switch: one passes packets on unchanged, the other routes them
//! with handwritten code. The second is the bar for a P4 program that routes: it does little beyond
//! receiving, routing and transmitting.

use packetio::{BURST, Burst, Frame, Queue};

/// The length of the longest packet that is routed, in bytes.
const LONGEST: usize = 128;
/// The length of an Ethernet header and an IPv4 header without options, in bytes.
const HEADERS: usize = 34;

/// Hands over the packets of a burst unchanged, one by one. Handing them over together was no
/// faster between ports in memory.
pub(crate) fn pass_on(burst: &Burst, transmit: &mut dyn Queue) {
    for packet in burst.frames() {
        transmit.transmit(packet.bytes());
    }
}

/// A router of short IPv4 packets that behaves like the benchmark's layer-3 program with its
/// entries: it verifies the checksum, finds the longest prefix, rewrites addresses and TTL, and
/// updates the checksum as in RFC 1624.
pub(crate) struct Router {
    /// The buffers from which routed packets are transmitted.
    room: [[u8; LONGEST]; BURST],
}

impl Router {
    pub(crate) fn new() -> Self {
        Self { room: [[0; LONGEST]; BURST] }
    }

    pub(crate) fn route(&mut self, burst: &Burst, transmit: &mut dyn Queue) {
        let (mut together, mut count) = ([&[][..]; BURST], 0);
        let packets = burst.frames().iter().map(Frame::bytes);
        for (place, routed) in
            together.iter_mut().zip(packets.zip(&mut self.room).filter_map(routed))
        {
            *place = routed;
            count += 1;
        }
        transmit.transmit_all(&together[..count]);
    }
}

/// Returns the routed packet, or `None` if it is dropped.
fn routed<'r>((packet, room): (&[u8], &'r mut [u8; LONGEST])) -> Option<&'r [u8]> {
    let leaving = room.get_mut(..packet.len()).filter(|_| packet.len() >= HEADERS)?;
    leaving.copy_from_slice(packet);
    if packet[12..14] != [8, 0] || folded(&packet[14..HEADERS]) != 0xffff || packet[22] < 2 {
        return None;
    }
    let to = u32::from_be_bytes(packet[30..34].try_into().ok()?);
    let next: u64 = match (to >> 8, to >> 16, to >> 24) {
        (0x0a_0102, ..) => 7,
        (_, 0x0a01, _) => 8,
        (.., 0x0a) => 9,
        _ => return None,
    };
    leaving[6..12].copy_from_slice(&packet[..6]);
    leaving[..6].copy_from_slice(&(0x0200_0000_0000 | next).to_be_bytes()[2..]);
    leaving[22] -= 1;
    let checksum = u16::from_be_bytes([packet[24], packet[25]]);
    let (checksum, carry) = checksum.overflowing_add(0x100);
    leaving[24..26].copy_from_slice(&(checksum + u16::from(carry)).to_be_bytes());
    Some(leaving)
}

/// Returns the ones' complement sum of 16-bit words in native byte order. The sum of a header with
/// a correct checksum has all bits set.
fn folded(header: &[u8]) -> u64 {
    let words = header.as_chunks::<4>().0.iter();
    let sum: u64 = words.map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let fold = |sum: u64| (sum & 0xffff) + (sum >> 16);
    fold(fold(fold(sum)))
}
