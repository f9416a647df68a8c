//! Cuts super-frames into the frames that would be on a wire.

use super::checksum::{add, fold, never_zero};
use super::headers::{Headers, Layer, TCP, UDP};
use super::shared::SharedFrame;
use super::{Damaged, Segmentation, read};
use crate::Burst;
use std::ops::Range;

/// A super-frame that is being cut into segments.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// The bytes of the super-frame.
    pub(super) frame: SharedFrame,
    pub(super) headers: Headers,
    /// The offset of the payload in the super-frame.
    pub(super) payload: usize,
    /// The number of payload bytes in each segment but the last.
    pub(super) size: usize,
    /// The index of the next segment.
    index: usize,
    /// The number of segments, or 0 if there is no super-frame.
    pub(super) count: usize,
    /// The buffer in which the current segment is built.
    segment: Vec<u8>,
}

impl Segments {
    /// Prepares to cut a frame into segments. `transport` is the offset of the innermost transport
    /// header, if it is known.
    pub(super) fn open(
        &mut self,
        transport: Option<usize>,
        segmentation: Segmentation,
    ) -> Result<(), Damaged> {
        self.count = 0;
        let headers = Headers::find(&self.frame, transport).ok_or(Damaged)?;
        let (protocol, size) = match segmentation {
            Segmentation::Tcp(size) => (TCP, usize::from(size)),
            Segmentation::Udp(size) => (UDP, usize::from(size)),
        };
        let header = match protocol {
            TCP => usize::from(self.frame.get(headers.transport + 12).ok_or(Damaged)? >> 4) * 4,
            _ => 8,
        };
        let payload = headers.transport + header;
        let minimum = if protocol == TCP { 20 } else { 8 };
        if headers.protocol != protocol || header < minimum || size == 0 {
            return Err(Damaged);
        }
        let length = self.frame.len().checked_sub(payload).ok_or(Damaged)?;
        // This check prevents overflows of length fields.
        if payload + size.min(length) > usize::from(u16::MAX) {
            return Err(Damaged);
        }
        (self.headers, self.payload, self.size) = (headers, payload, size);
        (self.index, self.count) = (0, length.div_ceil(size).max(1));
        Ok(())
    }

    /// Returns the number of segments, or 0 if there is no super-frame.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns whether there is a super-frame of which no segment has been taken yet.
    pub(super) fn is_untouched(&self) -> bool {
        self.count > 0 && self.index == 0
    }

    /// Returns whether the super-frame has segments that have not been taken yet.
    pub(super) fn is_pending(&self) -> bool {
        self.index < self.count
    }

    /// Discards the super-frame but keeps its memory for the next one.
    pub(super) fn clear(&mut self) {
        (self.index, self.count) = (0, 0);
    }

    /// Returns the range of a segment's payload in the super-frame.
    pub(super) fn payload_of(&self, index: usize) -> Range<usize> {
        let from = (self.payload + index * self.size).min(self.frame.len());
        from..(from + self.size).min(self.frame.len())
    }

    /// Moves segments of the super-frame into the burst until the burst is full or no segment is
    /// left. Returns the number of moved segments and their bytes.
    pub(crate) fn unload(&mut self, burst: &mut Burst) -> (u64, u64) {
        let mut unloaded = (0, 0);
        while self.index < self.count && burst.room() > 0 {
            self.cut();
            burst.push(&self.segment);
            self.index += 1;
            unloaded = (unloaded.0 + 1, unloaded.1 + self.segment.len() as u64);
        }
        unloaded
    }

    /// Builds the segment at `index` of the super-frame.
    fn cut(&mut self) {
        let payload = self.payload_of(self.index);
        self.segment.clear();
        self.segment.extend_from_slice(self.frame.get(..self.payload).unwrap_or_default());
        self.segment.extend_from_slice(self.frame.get(payload).unwrap_or_default());
        let (index, length) = (self.index, self.segment.len());
        for layer in &self.headers.layers {
            fix_length(&mut self.segment, *layer, index, length);
        }
        let at = self.headers.transport;
        match self.headers.protocol {
            TCP => fix_tcp(&mut self.segment, at, index, self.count, self.size),
            _ => fix_udp_length(&mut self.segment, at, length),
        }
        // Checksums are computed from the inside out, because the outer ones cover the inner ones.
        let field = if self.headers.protocol == TCP { 16 } else { 6 };
        let (transport, protocol) = (self.headers.transport, self.headers.protocol);
        fix_sum(&mut self.segment, &self.headers.layers, transport, field, protocol);
        for (index, layer) in self.headers.layers.iter().enumerate().rev() {
            let Layer::Udp(at) = *layer else { continue };
            if read(&self.segment, at + 6) != Some([0, 0]) {
                let outside = self.headers.layers.get(..index).unwrap_or_default();
                fix_sum(&mut self.segment, outside, at, 6, UDP);
            }
        }
    }
}

/// The TCP flags that only the last segment of a super-frame keeps.
pub(super) const FIN_PSH: u8 = 0x09;
/// The TCP flag that only the first segment of a super-frame keeps.
pub(super) const CWR: u8 = 0x80;

/// Writes the sequence number and the flags of the TCP header at `at` (RFC 9293, section 3.1) for
/// the segment at `index` of `count`. Each segment has `size` bytes of payload.
pub(super) fn fix_tcp(segment: &mut [u8], at: usize, index: usize, count: usize, size: usize) {
    if let Some(sequence) = read::<4>(segment, at + 4) {
        let passed = (index * size) as u32;
        let sequence = u32::from_be_bytes(sequence).wrapping_add(passed);
        write(segment, at + 4, sequence.to_be_bytes());
    }
    if let Some(flags) = segment.get_mut(at + 13) {
        if index + 1 < count {
            *flags &= !FIN_PSH;
        }
        // The sender reports the reduction of its window once (RFC 3168, section 6.1.2).
        if index > 0 {
            *flags &= !CWR;
        }
    }
}

/// Writes the fields of one header that depend on the segment: the length, the identification and
/// the header checksum. The header precedes the transport header. The segment at `index` has
/// `length` bytes in total.
pub(super) fn fix_length(segment: &mut [u8], layer: Layer, index: usize, length: usize) {
    match layer {
        Layer::Ipv4(at) => {
            let length = (length - at) as u16;
            write(segment, at + 2, length.to_be_bytes());
            let identification = read(segment, at + 4).map_or(0, u16::from_be_bytes);
            let identification = identification.wrapping_add(index as u16);
            write(segment, at + 4, identification.to_be_bytes());
            write(segment, at + 10, [0, 0]);
            let header = usize::from(segment.get(at).map_or(0, |first| first & 0xf)) * 4;
            let sum = add(0, segment.get(at..at + header).unwrap_or_default());
            write(segment, at + 10, (!fold(sum)).to_be_bytes());
        }
        Layer::Ipv6(at) => {
            let length = (length - at - 40) as u16;
            write(segment, at + 4, length.to_be_bytes());
        }
        Layer::Udp(at) => fix_udp_length(segment, at, length),
    }
}

fn fix_udp_length(segment: &mut [u8], at: usize, length: usize) {
    let length = (length - at) as u16;
    write(segment, at + 4, length.to_be_bytes());
}

/// Writes the checksum of a segment's transport header, which begins at `at`. `field` is the offset
/// of the checksum in that header. The pseudo-header contains the addresses of the innermost IP
/// header in `outside`.
fn fix_sum(segment: &mut [u8], outside: &[Layer], at: usize, field: usize, protocol: u8) {
    let addresses = outside.iter().rev().find_map(|layer| match layer {
        Layer::Ipv4(at) => Some(at + 12..at + 20),
        Layer::Ipv6(at) => Some(at + 8..at + 40),
        Layer::Udp(_) => None,
    });
    write(segment, at + field, [0, 0]);
    let whole = segment.get(at..).unwrap_or_default();
    let addresses = addresses.and_then(|range| segment.get(range)).unwrap_or_default();
    let sum = whole.len() as u64 + u64::from(protocol);
    let sum = add(add(sum, addresses), whole);
    let checksum = if protocol == UDP { never_zero(sum) } else { !fold(sum) };
    write(segment, at + field, checksum.to_be_bytes());
}

pub(super) fn write<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = value;
    }
}
