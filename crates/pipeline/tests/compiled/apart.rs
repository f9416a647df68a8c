//! Packets of which a program gets only the first bytes, because their payload is stored elsewhere.

use pipeline::Heads;

/// Packets that are cut into a head, which a program gets, and a payload, which it does not.
pub(crate) struct Apart<'p> {
    pub(crate) heads: Vec<(u32, &'p [u8])>,
    /// The number of bytes that each packet has after its head.
    pub(crate) beyond: Vec<u64>,
}

impl<'p> Apart<'p> {
    pub(crate) fn as_heads(&self) -> Heads<'_> {
        Heads { packets: &self.heads, beyond: &self.beyond }
    }

    /// Cuts packets after their first `head` bytes, and some of them a few bytes later.
    pub(crate) fn new(packets: &[(u32, &'p [u8])], head: u64, seed: u64) -> Self {
        let cut = |(position, packet): (usize, &[u8])| {
            let more = (position as u64 + seed) * 7 % 12;
            packet.len().min((head + more.saturating_sub(6)) as usize)
        };
        let packets = packets.iter().enumerate();
        let heads = packets
            .clone()
            .map(|(position, (port, packet))| (*port, &packet[..cut((position, packet))]));
        let beyond =
            packets.map(|(position, (_, packet))| (packet.len() - cut((position, packet))) as u64);
        Self { heads: heads.collect(), beyond: beyond.collect() }
    }
}
