//! The identity that a packet of a measurement carries in its last bytes.

/// The number of bytes at the end of a packet that identify it: the key of the measurement and the
/// number of the packet.
pub(crate) const TAG: usize = 16;

/// The identity of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// A random number that distinguishes packets of this measurement from others.
    pub(crate) key: u64,
    /// The number of the packet.
    pub(crate) number: u64,
}

impl Tag {
    /// Writes the tag into the end of a packet.
    pub(crate) fn write(self, packet: &mut [u8]) {
        if let Some(end) = packet.last_chunk_mut::<TAG>() {
            end[..8].copy_from_slice(&self.key.to_be_bytes());
            end[8..].copy_from_slice(&self.number.to_be_bytes());
        }
    }

    /// Reads the tag at the end of a packet, or of a message that ends with one.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let end = packet.last_chunk::<TAG>()?;
        let (key, number) = end.split_at(8);
        let number = u64::from_be_bytes(number.try_into().ok()?);
        Some(Self { key: u64::from_be_bytes(key.try_into().ok()?), number })
    }
}
