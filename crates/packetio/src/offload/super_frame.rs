//! TCP super-frames that stay in one piece while a program decides about their segments.
//!
//! The burst has the head of each segment, which is all that the program reads. In each head, the
//! fields that differ between segments are set as on a wire: lengths, the identification and
//! checksum of IPv4, the sequence number and flags of TCP, and the checksum of TCP if the program
//! can see it. The payload is not copied. The program processes each head as a packet, so counters,
//! meters, random choices and messages to a controller are those of the segments.
//!
//! A comparison determines whether a frame can leave in one piece ([`SuperFrame::whole`]). All
//! segments must leave by the same port. Moreover, consider the frame with the headers that the
//! program has output for the first segment. By the rules of kernels and cards, segmentation of
//! this frame must yield exactly the headers that the program has output for the other segments.
//! The frame then leaves in one piece with these headers, and its segmentation yields the segments
//! that would have left separately. Otherwise, the payload is appended to each head
//! ([`SuperFrame::complete`]), and the segments leave separately.
//!
//! The checksum of TCP covers the payload. If the program cannot see the checksum, it passes the
//! field on unchanged, and a kernel later completes the checksum for the addresses in the IP
//! header. The program must then leave the addresses unchanged. If the program can see the
//! checksum, it receives the correct one, and its output must contain the correct checksum of the
//! output.
//!
//! Super-frames of UDP, in tunnels, or with headers other than Ethernet, VLAN tags, IP and TCP are
//! segmented before the program sees them. So are super-frames with more segments than half a burst
//! can hold.

use super::checksum::{add, fold};
use super::headers::{Layer, TCP, walk};
use super::segments::{CWR, FIN_PSH, Segments, fix_length, fix_tcp, write};
use super::{SharedFrame, VIRTIO_HEADER, read};
use std::ops::Range;

/// The largest length, in bytes, of the headers of a super-frame that can be sent without being
/// segmented. The headers are tags, IPv6 with extensions, and TCP with options.
const LONGEST: usize = 256;
/// The number of bytes by which a program may lengthen the headers, by adding tags.
const TAGS: usize = 16;
/// The offset of the checksum in a TCP header.
const CHECKSUM: usize = 16;

/// A TCP super-frame. A burst has the head of each of its segments: the segment's first bytes, with
/// all headers.
#[derive(Debug, Default)]
pub struct SuperFrame {
    segments: Segments,
    /// The position in the burst of the first segment's head.
    first: usize,
    /// The number of leading bytes of each segment that the program may read.
    head: usize,
    /// The sum of the payload of each segment, from which TCP checksums are computed. Empty if the
    /// program cannot read checksums.
    sums: Vec<u64>,
}

/// A super-frame that can leave in one piece.
#[derive(Debug)]
pub struct Whole<'s> {
    /// The virtio header, which describes how to segment the frame.
    pub virtio: [u8; VIRTIO_HEADER],
    front: [u8; LONGEST],
    front_length: usize,
    frame: &'s SharedFrame,
    payload: usize,
    /// The number of segments in the frame.
    pub segments: usize,
    /// The number of bytes of all segments together.
    pub bytes: u64,
    /// The number of bytes of the longest segment.
    pub longest: usize,
}

impl Whole<'_> {
    /// Returns the headers and the payload of the super-frame.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 2] {
        [
            self.front.get(..self.front_length).unwrap_or_default(),
            self.frame.get(self.payload..).unwrap_or_default(),
        ]
    }

    /// Returns the frame that contains the payload of the super-frame, and the offset of the
    /// payload in that frame.
    pub(crate) fn payload(&self) -> (&SharedFrame, usize) {
        (self.frame, self.payload)
    }
}

impl SuperFrame {
    /// Returns the positions in the burst of the segments' heads.
    #[must_use]
    pub fn positions(&self) -> Range<usize> {
        self.first..self.first + self.segments.count
    }

    /// Returns the number of bytes of the segment at `index` that follow its head.
    #[must_use]
    pub fn beyond(&self, index: usize) -> usize {
        self.segment_length(index) - self.head_length(index)
    }

    /// Returns whether a burst with this capacity may contain only the heads of a super-frame's
    /// segments. This also depends on the headers of the super-frame.
    pub(crate) fn is_possible(segments: &Segments, capacity: usize) -> bool {
        let Segments { frame, headers, payload, count, .. } = segments;
        let [layer] = headers.layers[..] else { return false };
        let length_fits = match layer {
            Layer::Ipv4(at) => frame.len() - at <= usize::from(u16::MAX),
            Layer::Ipv6(at) => frame.len() - at - 40 <= usize::from(u16::MAX),
            Layer::Udp(_) => false,
        };
        length_fits
            && headers.protocol == TCP
            && is_behind_tags(frame, layer)
            && *payload <= LONGEST - TAGS
            && (2..=capacity / 2).contains(count)
    }

    /// Returns whether the payload is shared with a frame that waits to be sent.
    pub(crate) fn is_shared(&self) -> bool {
        self.segments.frame.is_shared()
    }

    /// Replaces this super-frame by the one in `segments`. The heads of its segments will be in the
    /// burst starting at position `first`.
    pub(crate) fn take(&mut self, segments: &mut Segments, first: usize, head: usize) {
        std::mem::swap(&mut self.segments, segments);
        segments.clear();
        (self.first, self.head) = (first, head);
        self.sums.clear();
        if self.shows_checksums() {
            let Self { segments, sums, .. } = self;
            let payloads = (0..segments.count).map(|index| segments.payload_of(index));
            sums.extend(
                payloads.map(|payload| add(0, segments.frame.get(payload).unwrap_or_default())),
            );
        }
    }

    /// Returns the bytes of the head of the segment at `index`, in two parts. [`Self::finish`] then
    /// writes the fields that differ between segments.
    pub(crate) fn parts(&self, index: usize) -> [&[u8]; 2] {
        let Segments { frame, payload, .. } = &self.segments;
        let from = self.segments.payload_of(index).start;
        let shown = from..from + self.head_length(index) - payload;
        [frame.get(..*payload).unwrap_or_default(), frame.get(shown).unwrap_or_default()]
    }

    /// Writes the fields that differ between segments into the head of the segment at `index`.
    pub(crate) fn finish(&self, head: &mut [u8], index: usize) {
        let offsets = self.header_offsets();
        offsets.write(head, index, self.segment_length(index), self);
        if let Some(sum) = self.sums.get(index) {
            let length = self.segment_length(index);
            let checksum = offsets.checksum(head, self.segments.payload, *sum, length);
            write(head, offsets.transport + CHECKSUM, checksum.to_be_bytes());
        }
    }

    /// Appends to a head the rest of its segment. `head` is what the program has output for the
    /// segment at `index`. Stores in `packet` this head, followed by the payload that the head
    /// lacks. Returns false if the head cannot belong to this segment.
    #[must_use]
    pub fn complete(&self, index: usize, head: &[u8], packet: &mut Vec<u8>) -> bool {
        let payload = self.segments.payload_of(index);
        let shown = self.head_length(index) - self.segments.payload;
        packet.clear();
        packet.extend_from_slice(head);
        packet.extend_from_slice(
            self.segments.frame.get(payload.start + shown..payload.end).unwrap_or_default(),
        );
        if self.shows_checksums() {
            return true;
        }
        // The program did not change the bytes from the checksum field on, whatever it inserted
        // before them.
        let behind = self.head_length(index) - self.segments.headers.transport - CHECKSUM;
        let Some(at) = head.len().checked_sub(behind) else { return false };
        let mut headers = [0; LONGEST];
        let Some(headers) = headers.get_mut(..self.segments.payload) else { return false };
        headers
            .copy_from_slice(self.segments.frame.get(..self.segments.payload).unwrap_or_default());
        let offsets = self.header_offsets();
        let length = self.segment_length(index);
        offsets.write(headers, index, length, self);
        let sum = add(0, self.segments.frame.get(payload).unwrap_or_default());
        let checksum = offsets.checksum(headers, self.segments.payload, sum, length);
        write(packet, at, checksum.to_be_bytes());
        true
    }

    /// Returns the super-frame that segmentation would divide into segments with exactly these
    /// heads, which the program has output. Returns `None` if there is no such super-frame, so that
    /// the segments must be sent separately.
    #[must_use]
    pub fn whole(&self, heads: &[&[u8]]) -> Option<Whole<'_>> {
        let Segments { frame, headers, payload, count, .. } = &self.segments;
        let (first, last) = (*heads.first()?, *heads.last()?);
        if heads.len() != *count {
            return None;
        }
        let shift = first.len().cast_signed() - self.head_length(0).cast_signed();
        let front_length = payload.checked_add_signed(shift)?;
        let offsets = HeaderOffsets::find(first, headers.transport.checked_add_signed(shift)?)?;
        if front_length > LONGEST
            || front_length - offsets.transport != *payload - headers.transport
        {
            return None;
        }
        let mut front = [0; LONGEST];
        let template = front.get_mut(..front_length)?;
        template.copy_from_slice(first.get(..front_length)?);
        let flags = offsets.transport + 13;
        *template.get_mut(flags)? = first.get(flags)? & !FIN_PSH | last.get(flags)? & FIN_PSH;
        if self.sums.is_empty() && !self.covers_the_same(&offsets, template) {
            return None;
        }
        let mut expected = [0; LONGEST];
        let expected = expected.get_mut(..front_length)?;
        for (index, head) in heads.iter().enumerate() {
            let length = self.segment_length(index).checked_add_signed(shift)?;
            expected.copy_from_slice(template);
            offsets.write(expected, index, length, self);
            if let Some(sum) = self.sums.get(index) {
                let checksum = offsets.checksum(expected, front_length, *sum, length);
                write(expected, offsets.transport + CHECKSUM, checksum.to_be_bytes());
            }
            let (made, behind) = head.split_at_checked(front_length)?;
            if made != expected || behind != self.parts(index)[1] {
                return None;
            }
        }
        let length = frame.len().checked_add_signed(shift)?;
        if length - offsets.network_offset() > usize::from(u16::MAX) {
            return None;
        }
        fix_length(template, offsets.layer, 0, length);
        let sum = offsets.pseudo_header(template, length);
        write(template, offsets.transport + CHECKSUM, fold(sum).to_be_bytes());
        let virtio = self.virtio(&offsets, template);
        let bytes = (count * front_length + frame.len() - payload) as u64;
        let longest = front_length + self.segments.payload_of(0).len();
        let (payload, segments) = (*payload, *count);
        Some(Whole { virtio, front, front_length, frame, payload, segments, bytes, longest })
    }

    /// Returns whether the program has left the addresses and the TCP checksum unchanged. If the
    /// program cannot read the checksum, the super-frame can only be sent in this case, because the
    /// checksum covers the addresses.
    fn covers_the_same(&self, offsets: &HeaderOffsets, template: &[u8]) -> bool {
        let before = self.header_offsets();
        let frame = &self.segments.frame;
        let field = read::<2>(frame, before.transport + CHECKSUM);
        before.addresses(frame) == offsets.addresses(template)
            && field == read::<2>(template, offsets.transport + CHECKSUM)
    }

    /// Returns the virtio header that describes how to cut the super-frame into segments.
    fn virtio(&self, offsets: &HeaderOffsets, front: &[u8]) -> [u8; VIRTIO_HEADER] {
        const NEEDS_CHECKSUM: u8 = 1;
        const EXPLICIT_CONGESTION: u8 = 0x80;
        let kind = if let Layer::Ipv4(_) = offsets.layer { 1 } else { 4 };
        let flags = front.get(offsets.transport + 13).copied().unwrap_or(0);
        let congestion = if flags & CWR != 0 { EXPLICIT_CONGESTION } else { 0 };
        let mut header = [0; VIRTIO_HEADER];
        (header[0], header[1]) = (NEEDS_CHECKSUM, kind | congestion);
        let words = [front.len(), self.segments.size, offsets.transport, CHECKSUM];
        for (position, word) in words.into_iter().enumerate() {
            // Headers are short, and the size came from a 16-bit field of such a header.
            write(&mut header, 2 + 2 * position, (word as u16).to_ne_bytes());
        }
        header
    }

    /// Returns whether the program may read the TCP checksums of segments.
    fn shows_checksums(&self) -> bool {
        self.head > self.segments.headers.transport + CHECKSUM
    }

    fn segment_length(&self, index: usize) -> usize {
        self.segments.payload + self.segments.payload_of(index).len()
    }

    /// Returns the length of the head of the segment at `index`. A head includes all headers, so
    /// that the program's output shows all changes of the headers.
    fn head_length(&self, index: usize) -> usize {
        self.head.max(self.segments.payload).min(self.segment_length(index))
    }

    /// Returns the offsets of the headers of the super-frame itself.
    fn header_offsets(&self) -> HeaderOffsets {
        let headers = &self.segments.headers;
        // `is_possible` has checked that there is exactly one such header.
        let layer = headers.layers.first().copied().unwrap_or(Layer::Ipv4(14));
        HeaderOffsets { layer, transport: headers.transport }
    }
}

/// The offsets of those headers of a frame that contain fields which differ between segments.
#[derive(Clone, Copy)]
struct HeaderOffsets {
    layer: Layer,
    transport: usize,
}

impl HeaderOffsets {
    /// Returns the offsets of the headers of a frame with its TCP header at `transport`, if only
    /// Ethernet, tags and one IP header precede the TCP header.
    fn find(frame: &[u8], transport: usize) -> Option<Self> {
        let (mut layers, mut layer) = (0, None);
        let found = walk(frame, Some(transport), |next| {
            layers += 1;
            layer = Some(next);
        });
        let layer = layer.filter(|layer| layers == 1 && is_behind_tags(frame, *layer))?;
        (found == Some((transport, TCP))).then_some(Self { layer, transport })
    }

    /// Writes all fields that differ between segments, except the TCP checksum, into the headers of
    /// the segment at `index`, which has `length` bytes.
    fn write(&self, headers: &mut [u8], index: usize, length: usize, of: &SuperFrame) {
        fix_length(headers, self.layer, index, length);
        fix_tcp(headers, self.transport, index, of.segments.count, of.segments.size);
    }

    /// Returns the TCP checksum of a segment of `length` bytes. It is computed from the segment's
    /// headers, which end at `end`, and the sum of its payload.
    fn checksum(&self, headers: &[u8], end: usize, payload: u64, length: usize) -> u16 {
        let field = self.transport + CHECKSUM;
        let sum = add(payload, headers.get(self.transport..field).unwrap_or_default());
        let sum = add(sum, headers.get(field + 2..end).unwrap_or_default());
        !fold(sum + self.pseudo_header(headers, length))
    }

    /// Returns the sum of the pseudo-header that the TCP checksum of a frame of `length` bytes
    /// covers.
    fn pseudo_header(&self, headers: &[u8], length: usize) -> u64 {
        let sum = (length - self.transport) as u64 + u64::from(TCP);
        add(sum, self.addresses(headers))
    }

    fn addresses<'f>(&self, frame: &'f [u8]) -> &'f [u8] {
        let range = match self.layer {
            Layer::Ipv4(at) => at + 12..at + 20,
            Layer::Ipv6(at) => at + 8..at + 40,
            Layer::Udp(_) => 0..0,
        };
        frame.get(range).unwrap_or_default()
    }

    fn network_offset(&self) -> usize {
        match self.layer {
            Layer::Ipv4(at) => at,
            // The length field of IPv6 does not count the header itself.
            Layer::Ipv6(at) => at + 40,
            Layer::Udp(at) => at,
        }
    }
}

/// Returns whether an IP header directly follows the Ethernet header and its tags.
fn is_behind_tags(frame: &[u8], layer: Layer) -> bool {
    let mut at = 12;
    while matches!(read(frame, at).map(u16::from_be_bytes), Some(0x8100 | 0x88a8)) {
        at += 4;
    }
    match (layer, read(frame, at).map(u16::from_be_bytes)) {
        (Layer::Ipv4(network), Some(0x0800)) | (Layer::Ipv6(network), Some(0x86dd)) => {
            network == at + 2
        }
        _ => false,
    }
}
