//! Does what a kernel left for a card to do.
//!
//! Packets that meet inside a machine carry partial checksums, lie merged or uncut in super-frames
//! of up to 64 KiB and more, and have their VLAN tag beside them. The kernel tells with a
//! `virtio_net_hdr` (linux/virtio_net.h; Virtual I/O Device 1.2, section 5.1.6) what is open. From
//! that and the packet [`Restorer`] makes the frames that a wire would have. Nothing in either is
//! trusted: both may come from a guest. What a reader of a [`Burst`] need not see of segments can
//! stay in one piece ([`SuperFrame`]).

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

/// Bytes of a `virtio_net_hdr`.
pub const VIRTIO_HEADER: usize = 10;

/// The packet and what is said of it do not fit together, or ask for what is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// A tag that was taken out of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its EtherType, as 0x8100.
    pub protocol: u16,
    /// Priority, drop eligibility and VLAN.
    pub control: u16,
}

/// Makes frames as they are on a wire. Keeps what did not find room.
#[derive(Debug, Default)]
pub struct Restorer {
    segments: Segments,
}

impl Restorer {
    /// Puts what did not find room into the burst and returns the number of frames and their
    /// bytes. To be called before [`Self::take`], which needs room for one frame.
    pub fn resume(&mut self, burst: &mut Burst) -> (u64, u64) {
        self.unload(burst)
    }

    /// Whether something waits for [`Self::resume`].
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

    /// Puts a packet into the burst; returns the number of frames that it became so far, and
    /// their bytes.
    ///
    /// # Errors
    /// If the packet and what is said of it do not fit together; nothing is put into the burst.
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
        let open = Open::read(header, tag_bytes.len())?;
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
    /// Returns memory for a packet of up to `bytes` bytes.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        self.segments.clear();
        self.segments.frame.room(bytes)
    }

    /// Puts the packet of `length` bytes that was written to the memory of [`Self::room`] into the
    /// burst, as [`Self::take`] does.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(crate) fn take_received(
        &mut self,
        header: &[u8; VIRTIO_HEADER],
        tag: Option<Tag>,
        length: usize,
        burst: &mut Burst,
    ) -> Result<(u64, u64), Damaged> {
        let tag_bytes = tag.map(Tag::bytes);
        let open = Open::read(header, tag_bytes.map_or(0, |bytes| bytes.len()))?;
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
    /// Returns the tag as it is in a frame.
    fn bytes(self) -> [u8; 4] {
        let [[a, b], [c, d]] = [self.protocol, self.control].map(u16::to_be_bytes);
        [a, b, c, d]
    }
}

/// Completes the checksum of a packet where it is partial, of which nothing tells but the sum of
/// the pseudo-header in its place.
///
/// A whole checksum that has the same value stays as it is: then the sum of the rest is zero, and
/// completing it gives it again. Packets in tunnels are left alone.
pub fn complete_checksum(frame: &mut [u8]) {
    // Each packet of some ports comes here: nothing is allocated.
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

/// The sum of the pseudo-header in front of a transport header.
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

/// What is left to be done.
struct Open {
    checksum: Option<Checksum>,
    segmentation: Option<Segmentation>,
}

/// A checksum over everything from an offset on; its field has the sum of the pseudo-header.
#[derive(Clone, Copy)]
struct Checksum {
    start: usize,
    field: usize,
}

/// Payload bytes of a segment.
#[derive(Clone, Copy)]
enum Segmentation {
    Tcp(u16),
    Udp(u16),
}

impl Open {
    /// Offsets are those of the packet with `shift` bytes more in front of its headers.
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
            // IP fragments of a datagram, which Linux no longer leaves to cards.
            _ => return Err(Damaged),
        };
        let checksum = (flags & NEEDS_CHECKSUM != 0).then_some(Checksum { start, field });
        Ok(Self { checksum, segmentation })
    }
}

impl Open {
    /// The offset of the transport header, if the checksum begins there.
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

    /// SCTP's, of which virtio's header does not tell, is not a sum. No other transport has its
    /// checksum there.
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
