//! The tag that identifies a packet of a measurement, in the packet's last bytes.

/// The length of a tag in bytes. It consists of the key of the measurement and the number of the
/// packet.
pub(crate) const TAG: usize = 16;

/// The tag that identifies a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// A random number that distinguishes the packets of this measurement from all others.
    pub(crate) key: u64,
    /// The number of the packet within the measurement.
    pub(crate) number: u64,
}

impl Tag {
    /// Overwrites the end of a packet with the tag.
    pub(crate) fn write(self, packet: &mut [u8]) {
        if let Some(end) = packet.last_chunk_mut::<TAG>() {
            end[..8].copy_from_slice(&self.key.to_be_bytes());
            end[8..].copy_from_slice(&self.number.to_be_bytes());
        }
    }

    /// Reads the tag at the end of a packet, or of a message that ends with a packet. Returns
    /// `None` if there are fewer bytes than a tag has.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let end = packet.last_chunk::<TAG>()?;
        let (key, number) = end.split_at(8);
        let number = u64::from_be_bytes(number.try_into().ok()?);
        Some(Self { key: u64::from_be_bytes(key.try_into().ok()?), number })
    }
}
