//! TCP super-frames that stay in one piece while a program decides about their segments.
//!
//! The burst has the head of each segment, which is all that the program reads, with every field
//! that differs from segment to segment as on a wire: lengths, the identification and checksum of
//! IPv4, sequence number and flags of TCP, and the checksum of TCP if the program can see it. The
//! payload stays where it is. The program processes each head as a packet, so that all that it
//! counts, meters, draws by lot or tells a controller is that of the segments.
//!
//! What leaves is compared, not foreseen ([`SuperFrame::whole`]). If each segment left by one port,
//! and the headers that the program made of the first, cut as a kernel or a card cuts them, are
//! those that it made of all others, byte for byte, then the frame leaves whole with these headers,
//! and whoever cuts it makes the segments that would have left. Otherwise the payload is put behind
//! each head again ([`SuperFrame::complete`]), and the segments leave as they would have anyway.
//!
//! The checksum of TCP covers the payload. A program that cannot see the field passes on what is in
//! it, and a kernel completes it for the addresses in front of it; so these must be as they were.
//! A program that can see it gets the real one, and must leave the real one for what leaves.
//!
//! Super-frames of UDP, in tunnels or with other headers than Ethernet, tags, IP and TCP are cut
//! before the program sees them; so are those with more segments than half a burst holds.

use super::checksum::{add, fold};
use super::headers::{Layer, TCP, walk};
use super::segments::{CWR, FIN_PSH, Segments, fix_length, fix_tcp, write};
use super::{SharedFrame, VIRTIO_HEADER, read};
use std::ops::Range;

/// The longest headers of a frame that leaves whole: tags, IPv6 with extensions, TCP with options.
const LONGEST: usize = 256;
/// Bytes of tags that a program may add to headers.
const TAGS: usize = 16;
/// The offset of the checksum in a TCP header.
const CHECKSUM: usize = 16;

/// A super-frame whose segments' heads are in a burst.
#[derive(Debug, Default)]
pub struct SuperFrame {
    segments: Segments,
    /// The position of the first head in the burst.
    first: usize,
    /// The number of leading bytes of each segment that the program may read.
    head: usize,
    /// The sum of each segment's payload, if the program may read checksums.
    sums: Vec<u64>,
}

/// A super-frame that is to leave in one piece.
#[derive(Debug)]
pub struct Whole<'s> {
    /// The header that tells whoever cuts the frame how.
    pub virtio: [u8; VIRTIO_HEADER],
    front: [u8; LONGEST],
    front_length: usize,
    frame: &'s SharedFrame,
    payload: usize,
    /// The number of segments that it stands for.
    pub segments: usize,
    /// The number of bytes of all segments together.
    pub bytes: u64,
    /// The number of bytes of the longest segment.
    pub longest: usize,
}

impl Whole<'_> {
    /// Returns the headers and the payload.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 2] {
        [
            self.front.get(..self.front_length).unwrap_or_default(),
            self.frame.get(self.payload..).unwrap_or_default(),
        ]
    }

    /// Returns the frame that the payload is part of, and where it begins there.
    pub(crate) fn payload(&self) -> (&SharedFrame, usize) {
        (self.frame, self.payload)
    }
}

impl SuperFrame {
    /// Returns the positions of the segments in the burst.
    #[must_use]
    pub fn positions(&self) -> Range<usize> {
        self.first..self.first + self.segments.count
    }

    /// Returns the number of bytes that the segment at `index` has behind its head.
    #[must_use]
    pub fn beyond(&self, index: usize) -> usize {
        self.segment_length(index) - self.head_length(index)
    }

    /// Whether the segments of a frame can be decided about by their heads, in a burst of such a
    /// capacity.
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

    /// Whether the payload is part of something that waits to leave.
    pub(crate) fn is_shared(&self) -> bool {
        self.segments.frame.is_shared()
    }

    /// Takes a super-frame over, whose heads will be in the burst from the position `first` on.
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

    /// Returns the bytes of the head at `index`, in two parts; [`Self::finish`] makes them those of
    /// the segment.
    pub(crate) fn parts(&self, index: usize) -> [&[u8]; 2] {
        let Segments { frame, payload, .. } = &self.segments;
        let from = self.segments.payload_of(index).start;
        let shown = from..from + self.head_length(index) - payload;
        [frame.get(..*payload).unwrap_or_default(), frame.get(shown).unwrap_or_default()]
    }

    /// Writes what is different in the head of each segment.
    pub(crate) fn finish(&self, head: &mut [u8], index: usize) {
        let place = self.place();
        place.write(head, index, self.segment_length(index), self);
        if let Some(sum) = self.sums.get(index) {
            let length = self.segment_length(index);
            let checksum = place.checksum(head, self.segments.payload, *sum, length);
            write(head, place.transport + CHECKSUM, checksum.to_be_bytes());
        }
    }

    /// Puts a packet that the program made of a segment, and that lacks what is behind the head,
    /// together in `packet`. Returns false if the head is none of this segment.
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
        // The program passed everything from the field on, whatever it put in front of it.
        let behind = self.head_length(index) - self.segments.headers.transport - CHECKSUM;
        let Some(at) = head.len().checked_sub(behind) else { return false };
        let mut headers = [0; LONGEST];
        let Some(headers) = headers.get_mut(..self.segments.payload) else { return false };
        headers
            .copy_from_slice(self.segments.frame.get(..self.segments.payload).unwrap_or_default());
        let place = self.place();
        let length = self.segment_length(index);
        place.write(headers, index, length, self);
        let sum = add(0, self.segments.frame.get(payload).unwrap_or_default());
        let checksum = place.checksum(headers, self.segments.payload, sum, length);
        write(packet, at, checksum.to_be_bytes());
        true
    }

    /// Returns the frame as it may leave in one piece, with headers that become those that the
    /// program made of each head when the frame is cut. `None` if there are no such headers.
    #[must_use]
    pub fn whole(&self, heads: &[&[u8]]) -> Option<Whole<'_>> {
        let Segments { frame, headers, payload, count, .. } = &self.segments;
        let (first, last) = (*heads.first()?, *heads.last()?);
        if heads.len() != *count {
            return None;
        }
        let shift = first.len().cast_signed() - self.head_length(0).cast_signed();
        let front_length = payload.checked_add_signed(shift)?;
        let place = Place::find(first, headers.transport.checked_add_signed(shift)?)?;
        if front_length > LONGEST || front_length - place.transport != *payload - headers.transport
        {
            return None;
        }
        let mut front = [0; LONGEST];
        let template = front.get_mut(..front_length)?;
        template.copy_from_slice(first.get(..front_length)?);
        let flags = place.transport + 13;
        *template.get_mut(flags)? = first.get(flags)? & !FIN_PSH | last.get(flags)? & FIN_PSH;
        if self.sums.is_empty() && !self.covers_the_same(&place, template) {
            return None;
        }
        let mut expected = [0; LONGEST];
        let expected = expected.get_mut(..front_length)?;
        for (index, head) in heads.iter().enumerate() {
            let length = self.segment_length(index).checked_add_signed(shift)?;
            expected.copy_from_slice(template);
            place.write(expected, index, length, self);
            if let Some(sum) = self.sums.get(index) {
                let checksum = place.checksum(expected, front_length, *sum, length);
                write(expected, place.transport + CHECKSUM, checksum.to_be_bytes());
            }
            let (made, behind) = head.split_at_checked(front_length)?;
            if made != expected || behind != self.parts(index)[1] {
                return None;
            }
        }
        let length = frame.len().checked_add_signed(shift)?;
        if length - place.network_offset() > usize::from(u16::MAX) {
            return None;
        }
        fix_length(template, place.layer, 0, length);
        let sum = place.pseudo_header(template, length);
        write(template, place.transport + CHECKSUM, fold(sum).to_be_bytes());
        let virtio = self.virtio(&place, template);
        let bytes = (count * front_length + frame.len() - payload) as u64;
        let longest = front_length + self.segments.payload_of(0).len();
        let (payload, segments) = (*payload, *count);
        Some(Whole { virtio, front, front_length, frame, payload, segments, bytes, longest })
    }

    /// Whether the program, which cannot read the TCP checksum, has left the addresses that the
    /// checksum covers as they were.
    fn covers_the_same(&self, place: &Place, template: &[u8]) -> bool {
        let before = self.place();
        let frame = &self.segments.frame;
        let field = read::<2>(frame, before.transport + CHECKSUM);
        before.addresses(frame) == place.addresses(template)
            && field == read::<2>(template, place.transport + CHECKSUM)
    }

    /// Tells whoever cuts the frame how.
    fn virtio(&self, place: &Place, front: &[u8]) -> [u8; VIRTIO_HEADER] {
        const NEEDS_CHECKSUM: u8 = 1;
        const EXPLICIT_CONGESTION: u8 = 0x80;
        let kind = if let Layer::Ipv4(_) = place.layer { 1 } else { 4 };
        let flags = front.get(place.transport + 13).copied().unwrap_or(0);
        let congestion = if flags & CWR != 0 { EXPLICIT_CONGESTION } else { 0 };
        let mut header = [0; VIRTIO_HEADER];
        (header[0], header[1]) = (NEEDS_CHECKSUM, kind | congestion);
        let words = [front.len(), self.segments.size, place.transport, CHECKSUM];
        for (position, word) in words.into_iter().enumerate() {
            // Headers are short, and the size was a word of such a header.
            write(&mut header, 2 + 2 * position, (word as u16).to_ne_bytes());
        }
        header
    }

    /// Whether the program may read the checksum of TCP.
    fn shows_checksums(&self) -> bool {
        self.head > self.segments.headers.transport + CHECKSUM
    }

    fn segment_length(&self, index: usize) -> usize {
        self.segments.payload + self.segments.payload_of(index).len()
    }

    /// Headers are shown as a whole, so that what became of them can be found in what leaves.
    fn head_length(&self, index: usize) -> usize {
        self.head.max(self.segments.payload).min(self.segment_length(index))
    }

    /// Returns where headers of the super-frame itself are.
    fn place(&self) -> Place {
        let headers = &self.segments.headers;
        // Whether there is such a layer was looked at before.
        let layer = headers.layers.first().copied().unwrap_or(Layer::Ipv4(14));
        Place { layer, transport: headers.transport }
    }
}

/// The offsets of the headers of a frame that differ from segment to segment.
#[derive(Clone, Copy)]
struct Place {
    layer: Layer,
    transport: usize,
}

impl Place {
    /// Returns where the headers of a frame are whose TCP header is at `transport`, if that is
    /// in an IP packet behind nothing but Ethernet and tags.
    fn find(frame: &[u8], transport: usize) -> Option<Self> {
        let (mut layers, mut layer) = (0, None);
        let found = walk(frame, Some(transport), |next| {
            layers += 1;
            layer = Some(next);
        });
        let layer = layer.filter(|layer| layers == 1 && is_behind_tags(frame, *layer))?;
        (found == Some((transport, TCP))).then_some(Self { layer, transport })
    }

    /// Writes all fields that differ from segment to segment, but for the checksum of TCP, for the
    /// segment at `index`, which is `length` bytes long.
    fn write(&self, headers: &mut [u8], index: usize, length: usize, of: &SuperFrame) {
        fix_length(headers, self.layer, index, length);
        fix_tcp(headers, self.transport, index, of.segments.count, of.segments.size);
    }

    /// Returns the checksum of TCP of a segment: its headers, up to `end`, the sum of its payload
    /// and its length.
    fn checksum(&self, headers: &[u8], end: usize, payload: u64, length: usize) -> u16 {
        let field = self.transport + CHECKSUM;
        let sum = add(payload, headers.get(self.transport..field).unwrap_or_default());
        let sum = add(sum, headers.get(field + 2..end).unwrap_or_default());
        !fold(sum + self.pseudo_header(headers, length))
    }

    /// Returns the sum of the pseudo-header of a frame of `length` bytes.
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
            // Its length does not count the header itself.
            Layer::Ipv6(at) => at + 40,
            Layer::Udp(at) => at,
        }
    }
}

/// Whether an IP header follows Ethernet and its tags.
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
