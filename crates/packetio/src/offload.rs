//! Completes packets that a kernel left unfinished, as a network card would.
//!
//! The kernel leaves work to the network card (offloads): the checksum of a packet is only partial,
//! many segments of a flow are one super-frame of 64 KiB or more, and a VLAN tag is stored outside
//! the packet. Packets that stay within a machine pass no card and remain unfinished. The kernel
//! describes the missing work by a `virtio_net_hdr` (linux/virtio_net.h; Virtual I/O Device 1.2,
//! section 5.1.6). [`Restorer`] turns such a packet into the frames that would be on a wire. It
//! trusts neither the packet nor the description, because both may come from a virtual machine. The
//! payload of a super-frame can stay in one piece if the reader of a [`Burst`] needs only the
//! headers of its segments ([`SuperFrame`]).

mod checksum;
mod headers;
mod segments;
mod shared;
mod super_frame;

use crate::Burst;
use checksum::{add, crc32c, fold, never_zero};
use headers::{Layer, SCTP, TCP, UDP, walk};
pub(crate) use segments::Segments;
pub(crate) use shared::SharedFrame;
pub use super_frame::{SuperFrame, Whole};

/// The length of a `virtio_net_hdr` in bytes.
pub const VIRTIO_HEADER: usize = 10;

/// The error for a packet that contradicts its `virtio_net_hdr`, or whose header describes work
/// that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// A VLAN tag that was removed from its frame and is stored separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The EtherType of the tag, such as 0x8100.
    pub protocol: u16,
    /// The tag control information: priority, drop eligibility and VLAN.
    pub control: u16,
}

/// A converter of unfinished packets into the frames that would be on a wire. Frames that do not
/// fit into a burst are kept for the next one.
#[derive(Debug, Default)]
pub struct Restorer {
    segments: Segments,
}

impl Restorer {
    /// Moves kept frames into the burst until none is left or the burst is full. Returns the number
    /// of moved frames and the sum of their lengths. The caller must call this before
    /// [`Self::take`], and call [`Self::take`] only if the burst then has room for a frame.
    pub fn resume(&mut self, burst: &mut Burst) -> (u64, u64) {
        self.unload(burst)
    }

    /// Returns whether frames have been kept, so that [`Self::resume`] must move them into a burst.
    pub(crate) fn is_pending(&self) -> bool {
        self.segments.is_pending()
    }

    fn unload(&mut self, burst: &mut Burst) -> (u64, u64) {
        let apart = match self.segments.is_untouched() {
            true => burst.push_super_frame(&mut self.segments),
            false => None,
        };
        apart.unwrap_or_else(|| self.segments.unload(burst))
    }

    /// Converts an unfinished packet and moves the resulting frames into the burst until none is
    /// left or the burst is full. Returns the number of moved frames and the sum of their lengths.
    ///
    /// # Errors
    /// Returns [`Damaged`] if the packet contradicts its description. The burst is then unchanged.
    pub fn take(
        &mut self,
        header: &[u8; VIRTIO_HEADER],
        tag: Option<Tag>,
        packet: &[u8],
        burst: &mut Burst,
    ) -> Result<(u64, u64), Damaged> {
        let tag_bytes = tag.map(Tag::bytes);
        let tag_bytes = tag_bytes.as_ref().map_or(&[][..], |bytes| bytes);
        let addresses = if tag_bytes.is_empty() { 0 } else { 12 };
        let (front, rest) = packet.split_at_checked(addresses).ok_or(Damaged)?;
        let parts = [front, tag_bytes, rest];
        let open = Unfinished::read(header, tag_bytes.len())?;
        if let Some(segmentation) = open.segmentation {
            self.segments.frame.fill(&parts);
            self.segments.open(open.transport(), segmentation)?;
            return Ok(self.unload(burst));
        }
        let length = packet.len() + tag_bytes.len();
        if let Some(Checksum { start, field }) = open.checksum
            && (field + 2 > length || start > field)
        {
            return Err(Damaged);
        }
        let Some(frame) = burst.push_parts(&parts) else { return Ok((0, 0)) };
        if let Some(checksum) = open.checksum {
            checksum.complete(frame);
        }
        Ok((1, length as u64))
    }
}

impl Restorer {
    /// Returns a buffer into which the caller can write a packet of up to `bytes` bytes, for
    /// `take_received`.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        self.segments.clear();
        self.segments.frame.room(bytes)
    }

    /// Converts an unfinished packet like [`Self::take`]. The packet is in the first `length` bytes
    /// of the buffer that [`Self::room`] returned.
    ///
    /// # Errors
    /// Returns [`Damaged`] as [`Self::take`] does.
    pub(crate) fn take_received(
        &mut self,
        header: &[u8; VIRTIO_HEADER],
        tag: Option<Tag>,
        length: usize,
        burst: &mut Burst,
    ) -> Result<(u64, u64), Damaged> {
        let tag_bytes = tag.map(Tag::bytes);
        let open = Unfinished::read(header, tag_bytes.map_or(0, |bytes| bytes.len()))?;
        if let Some(segmentation) = open.segmentation {
            self.segments.frame.place(length, tag_bytes)?;
            self.segments.open(open.transport(), segmentation)?;
            return Ok(self.unload(burst));
        }
        let mut packet = std::mem::take(&mut self.segments.frame);
        let taken =
            packet.place(length, None).and_then(|()| self.take(header, tag, &packet, burst));
        self.segments.frame = packet;
        taken
    }
}

impl Tag {
    /// Returns the four bytes that the tag has in a frame.
    fn bytes(self) -> [u8; 4] {
        let [[a, b], [c, d]] = [self.protocol, self.control].map(u16::to_be_bytes);
        [a, b, c, d]
    }
}

/// Completes the transport checksum of a packet if the checksum is partial, which means that it is
/// the sum of the pseudo-header or, in SCTP, zero. Packets in tunnels are left unchanged.
///
/// A complete checksum can also have this value. In this case the rest of the packet sums to zero,
/// so completing the checksum does not change it.
pub fn complete_checksum(frame: &mut [u8]) {
    // Some ports pass every packet to this function, so it does not allocate memory.
    let mut last = None;
    let found = walk(frame, None, |layer| last = Some(layer));
    let Some((transport, protocol)) = found else { return };
    let field = transport
        + match protocol {
            TCP => 16,
            UDP => 6,
            _ => 8,
        };
    let partial = match (protocol, last) {
        (SCTP, _) => Some([0; 4]) == read(frame, field),
        (_, Some(layer)) => {
            let pseudo = pseudo_header(frame, layer, transport, protocol);
            pseudo.is_some() && pseudo.map(u16::to_be_bytes) == read(frame, field)
        }
        (_, None) => false,
    };
    if partial {
        Checksum { start: transport, field }.complete(frame);
    }
}

/// Returns the sum of the pseudo-header that the checksum of a transport header covers.
fn pseudo_header(frame: &[u8], layer: Layer, transport: usize, protocol: u8) -> Option<u16> {
    let (addresses, length) = match layer {
        Layer::Ipv4(at) => {
            let length = usize::from(u16::from_be_bytes(read(frame, at + 2)?));
            (frame.get(at + 12..at + 20)?, (at + length).checked_sub(transport)?)
        }
        Layer::Ipv6(at) => {
            let length = usize::from(u16::from_be_bytes(read(frame, at + 4)?));
            (frame.get(at + 8..at + 40)?, (at + 40 + length).checked_sub(transport)?)
        }
        Layer::Udp(_) => return None,
    };
    Some(fold(add(length as u64 + u64::from(protocol), addresses)))
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The work on a packet that the kernel left to the network card.
struct Unfinished {
    checksum: Option<Checksum>,
    segmentation: Option<Segmentation>,
}

/// A partial checksum over all bytes from an offset on. Its field contains the sum of the
/// pseudo-header.
#[derive(Clone, Copy)]
struct Checksum {
    /// The offset of the first byte that the checksum covers. It also covers all bytes that follow.
    start: usize,
    /// The offset of the field with the checksum.
    field: usize,
}

/// The way in which a super-frame is cut into segments, with the number of payload bytes in a
/// segment.
#[derive(Clone, Copy)]
enum Segmentation {
    Tcp(u16),
    Udp(u16),
}

impl Unfinished {
    /// Reads the unfinished work from a `virtio_net_hdr`. `shift` is the number of bytes that were
    /// inserted in front of the packet's headers.
    fn read(header: &[u8; VIRTIO_HEADER], shift: usize) -> Result<Self, Damaged> {
        const NEEDS_CHECKSUM: u8 = 1;
        const EXPLICIT_CONGESTION: u8 = 0x80;
        let [flags, kind, _, _, size_0, size_1, start_0, start_1, field_0, field_1] = *header;
        let start = usize::from(u16::from_ne_bytes([start_0, start_1])) + shift;
        let field = start + usize::from(u16::from_ne_bytes([field_0, field_1]));
        let size = u16::from_ne_bytes([size_0, size_1]);
        let segmentation = match kind & !EXPLICIT_CONGESTION {
            0 => None,
            1 | 4 => Some(Segmentation::Tcp(size)),
            5 => Some(Segmentation::Udp(size)),
            // The remaining kind denotes IP fragments of a datagram, which Linux no longer leaves
            // to network cards.
            _ => return Err(Damaged),
        };
        let checksum = (flags & NEEDS_CHECKSUM != 0).then_some(Checksum { start, field });
        Ok(Self { checksum, segmentation })
    }
}

impl Unfinished {
    /// Returns the offset of the transport header, or `None` if the partial checksum begins
    /// elsewhere.
    fn transport(&self) -> Option<usize> {
        self.checksum.map(|checksum| checksum.start)
    }
}

impl Checksum {
    fn complete(self, frame: &mut [u8]) {
        if self.field == self.start + 8 && self.is_sctp(frame) {
            self.write(frame, [0; 4]);
            let crc = crc32c(frame.get(self.start..).unwrap_or_default());
            return self.write(frame, crc.to_le_bytes());
        }
        let sum = add(0, frame.get(self.start..).unwrap_or_default());
        self.write(frame, never_zero(sum).to_be_bytes());
    }

    /// Returns whether the partial checksum is that of SCTP, which is not a sum. The virtio header
    /// does not state this, but no other transport protocol has its checksum at this offset.
    fn is_sctp(self, frame: &[u8]) -> bool {
        walk(frame, Some(self.start), |_| {}).is_some_and(|(_, protocol)| protocol == SCTP)
    }

    fn write<const N: usize>(self, frame: &mut [u8], value: [u8; N]) {
        if let Some(place) = frame.get_mut(self.field..).and_then(|rest| rest.first_chunk_mut()) {
            *place = value;
        }
    }
}

#[cfg(test)]
mod tests;
