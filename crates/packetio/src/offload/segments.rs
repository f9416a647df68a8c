//! Cuts what a kernel merged, or left for a card to cut, into the frames that a wire would have.

use super::checksum::{add, fold, never_zero};
use super::headers::{Headers, Layer, TCP, UDP};
use super::{Damaged, Segmentation, read};
use crate::Burst;

/// A super-frame that is being cut.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// All of it.
    frame: Vec<u8>,
    headers: Headers,
    /// Offset of the payload.
    payload: usize,
    /// Payload bytes of a segment.
    size: usize,
    /// How many have been cut off.
    index: usize,
    /// How many there are; 0 if there is no super-frame.
    count: usize,
    /// The segment in work.
    segment: Vec<u8>,
}

impl Segments {
    /// Takes a super-frame, given in parts, whose innermost transport header is at `transport` if
    /// that is known.
    pub(crate) fn load(
        &mut self,
        parts: &[&[u8]],
        transport: Option<usize>,
        segmentation: Segmentation,
    ) -> Result<(), Damaged> {
        self.count = 0;
        self.frame.clear();
        for part in parts {
            self.frame.extend_from_slice(part);
        }
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
        // No length field overflows.
        if payload + size.min(length) > usize::from(u16::MAX) {
            return Err(Damaged);
        }
        (self.headers, self.payload, self.size) = (headers, payload, size);
        (self.index, self.count) = (0, length.div_ceil(size).max(1));
        Ok(())
    }

    /// Puts segments into the burst until it is full or all are out; returns their number and
    /// bytes.
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

    /// Makes the segment at `index`.
    fn cut(&mut self) {
        let from = self.payload + self.index * self.size;
        let to = (from + self.size).min(self.frame.len());
        self.segment.clear();
        self.segment.extend_from_slice(self.frame.get(..self.payload).unwrap_or_default());
        self.segment.extend_from_slice(self.frame.get(from..to).unwrap_or_default());
        for layer in &self.headers.layers {
            fix_length(&mut self.segment, *layer, self.index);
        }
        match self.headers.protocol {
            TCP => self.fix_tcp(),
            _ => fix_udp_length(&mut self.segment, self.headers.transport),
        }
        // Sums from the inside out, since the outer ones are over the inner.
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

    /// Sequence number and flags (RFC 9293, section 3.1).
    fn fix_tcp(&mut self) {
        const FIN_PSH: u8 = 0x09;
        const CWR: u8 = 0x80;
        let at = self.headers.transport;
        if let Some(sequence) = read::<4>(&self.segment, at + 4) {
            let passed = (self.index * self.size) as u32;
            let sequence = u32::from_be_bytes(sequence).wrapping_add(passed);
            write(&mut self.segment, at + 4, sequence.to_be_bytes());
        }
        if let Some(flags) = self.segment.get_mut(at + 13) {
            if self.index + 1 < self.count {
                *flags &= !FIN_PSH;
            }
            // The window is said to be reduced once (RFC 3168, section 6.1.2).
            if self.index > 0 {
                *flags &= !CWR;
            }
        }
    }
}

/// Lengths, identification and header checksum of one header outside of the transport header.
fn fix_length(segment: &mut [u8], layer: Layer, index: usize) {
    match layer {
        Layer::Ipv4(at) => {
            let length = (segment.len() - at) as u16;
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
            let length = (segment.len() - at - 40) as u16;
            write(segment, at + 4, length.to_be_bytes());
        }
        Layer::Udp(at) => fix_udp_length(segment, at),
    }
}

fn fix_udp_length(segment: &mut [u8], at: usize) {
    let length = (segment.len() - at) as u16;
    write(segment, at + 4, length.to_be_bytes());
}

/// The checksum of the transport header at `at`, whose pseudo-header is the innermost of
/// `outside`.
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

fn write<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = value;
    }
}
