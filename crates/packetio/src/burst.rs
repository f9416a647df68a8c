//! Packet buffers of a worker, which are reused for every burst.

use crate::offload::{Segments, SuperFrame};
use std::ops::Range;

/// The size of a cache line in bytes. Packets begin at a cache line, so that a short packet
/// occupies a single line, which another core may have to transfer.
const LINE: usize = 64;

/// The size of the shortest buffer in bytes.
const SHORTEST: usize = 4 * LINE;

/// The largest number of packets that a worker takes from a port before it turns to the next port.
/// Work that is done once per burst, such as taking locks and updating counters, is slow because it
/// must wait for memory accesses of the preceding packets. A large burst distributes the cost of
/// this work over more packets.
pub const BURST: usize = 256;

/// A set of packets that are processed together.
#[derive(Debug)]
pub struct Burst {
    frames: Vec<Frame>,
    filled: usize,
    /// The number of bytes at the beginning of a TCP segment that the burst's reader needs. `None`
    /// if it needs whole segments.
    head: Option<usize>,
    super_frames: Vec<SuperFrame>,
    /// Empty super-frames whose memory can be reused.
    spare: Vec<SuperFrame>,
}

/// A packet in its buffer.
#[derive(Debug, Default)]
pub struct Frame {
    buffer: Box<[u8]>,
    /// The offset and the length of the packet in the buffer, as `offset + length * LINE`. The
    /// offset is less than a line. Both are in one word, because frames are moved word by word.
    /// Loading a word whose two halves were just written separately would stall, and a further word
    /// per frame would increase the number of cache lines that cores exchange.
    place: usize,
}

impl Burst {
    /// Creates a burst with room for `capacity` packets.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let frames = (0..capacity).map(|_| Frame::default()).collect();
        Self { frames, filled: 0, head: None, super_frames: Vec::new(), spare: Vec::new() }
    }

    /// Allows ports to deliver TCP super-frames in one piece, or forbids it if `bytes` is `None`.
    /// If allowed, the burst contains a frame for each segment of a super-frame. This frame has at
    /// least the segment's first `bytes` bytes (its head), or all bytes of a shorter segment.
    /// [`Self::super_frames`] returns the payload.
    pub fn take_heads(&mut self, bytes: Option<usize>) {
        self.head = bytes;
    }

    /// Returns the number of leading bytes of each segment that [`Self::take_heads`] has set.
    #[must_use]
    pub fn head(&self) -> Option<usize> {
        self.head
    }

    /// Returns the super-frames whose segments are packets of the burst, in order. The burst
    /// contains only the head of each segment.
    #[must_use]
    pub fn super_frames(&self) -> &[SuperFrame] {
        &self.super_frames
    }

    /// Adds to the burst the head of each segment of a super-frame. Returns the number of segments
    /// and the number of their bytes. Returns zeros if the burst lacks room, so that the
    /// super-frame must wait for the next one. Returns `None` if the super-frame must be cut into
    /// segments, because heads are not allowed or do not suffice for it.
    pub(crate) fn push_super_frame(&mut self, segments: &mut Segments) -> Option<(u64, u64)> {
        let head = self.head.filter(|_| SuperFrame::is_possible(segments, self.frames.len()))?;
        let count = segments.count();
        if self.room() < count {
            // The super-frame waits for the next burst.
            return Some((0, 0));
        }
        let spare = self.spare.iter().rposition(|spare| !spare.is_shared());
        let mut super_frame = spare.map(|at| self.spare.swap_remove(at)).unwrap_or_default();
        super_frame.take(segments, self.filled, head);
        let mut bytes = 0;
        for index in 0..count {
            let Some(frame) = self.push_parts(&super_frame.parts(index)) else { break };
            super_frame.finish(frame, index);
            bytes += (frame.len() + super_frame.beyond(index)) as u64;
        }
        self.super_frames.push(super_frame);
        Some((count as u64, bytes))
    }

    /// Returns the packets of the burst.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        self.frames.get(..self.filled).unwrap_or_default()
    }

    /// Returns the number of packets for which the burst still has room.
    #[must_use]
    pub fn room(&self) -> usize {
        self.frames.len() - self.filled
    }

    /// Removes all packets from the burst.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.spare.append(&mut self.super_frames);
    }

    /// Adds a copy of a packet to the burst. Returns false if there is no room for it.
    pub fn push(&mut self, packet: &[u8]) -> bool {
        self.push_parts(&[packet]).is_some()
    }

    /// Adds a copy of a packet that consists of parts, and returns the copy. Returns `None` if
    /// there is no room.
    pub(crate) fn push_parts(&mut self, parts: &[&[u8]]) -> Option<&mut [u8]> {
        let frame = self.frames.get_mut(self.filled)?;
        frame.fill(parts);
        self.filled += 1;
        Some(frame.bytes_mut())
    }

    /// Adds a packet without copying it: its buffer is exchanged for an unused one. Does nothing if
    /// there is no room.
    pub(crate) fn exchange(&mut self, packet: &mut Frame) {
        if let Some(frame) = self.frames.get_mut(self.filled) {
            std::mem::swap(frame, packet);
            self.filled += 1;
        }
    }
}

impl Frame {
    /// Replaces the frame's packet by a copy of one that consists of parts.
    #[inline]
    pub(crate) fn fill(&mut self, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if self.place % LINE + length > self.buffer.len() {
            self.make_room(length);
        }
        self.place = self.place % LINE + length * LINE;
        let mut rest = self.bytes_mut();
        for part in parts {
            let Some((place, behind)) = rest.split_at_mut_checked(part.len()) else { return };
            place.copy_from_slice(part);
            rest = behind;
        }
    }

    #[cold]
    fn make_room(&mut self, length: usize) {
        let room = length.next_power_of_two().max(SHORTEST);
        self.buffer = vec![0; room + LINE - 1].into_boxed_slice();
        self.place = self.buffer.as_ptr().addr().wrapping_neg() % LINE;
    }

    /// Returns the packet, from its first header on.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.place()).unwrap_or_default()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let place = self.place();
        self.buffer.get_mut(place).unwrap_or_default()
    }

    fn place(&self) -> Range<usize> {
        let start = self.place % LINE;
        start..start + self.place / LINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleared_burst_reuses_its_buffers() {
        let mut burst = Burst::new(2);
        assert!(burst.push(b"one") && burst.push(b"second") && !burst.push(b"third"));
        let seen: Vec<_> = burst.frames().iter().map(Frame::bytes).collect();
        assert_eq!(seen, [&b"one"[..], b"second"]);
        burst.clear();
        assert!(burst.frames().is_empty() && burst.room() == 2 && burst.push(b""));
        assert_eq!(burst.frames().iter().map(Frame::bytes).collect::<Vec<_>>(), [b""]);
    }
}
