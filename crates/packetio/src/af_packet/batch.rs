//! The packets that one system call sends.

use crate::offload::{SharedFrame, Whole};

/// The largest number of packets that one system call sends.
pub(super) const BATCH: usize = 64;

/// A batch of packets and super-frames that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Batch {
    waiting: Vec<Waiting>,
    /// The index of the first waiting packet.
    first: usize,
    end: usize,
}

/// A packet that waits to be sent, or a super-frame preceded by its virtio header.
#[derive(Debug, Default)]
struct Waiting {
    data: Vec<u8>,
    /// The frame that contains the payload of a super-frame, and the offset of the payload in that
    /// frame, or `None` for a packet.
    payload: Option<(SharedFrame, usize)>,
    is_whole: bool,
    /// The number of packets on a wire: 1, or the number of segments of a super-frame.
    packets: u64,
    /// The number of bytes that these packets have on a wire.
    bytes: u64,
}

impl Waiting {
    fn parts(&self) -> [&[u8]; 2] {
        let payload = self.payload.as_ref().and_then(|(frame, from)| frame.get(*from..));
        [&self.data, payload.unwrap_or_default()]
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    pub(super) fn is_full(&self) -> bool {
        self.end == BATCH
    }

    pub(super) fn clear(&mut self) {
        let all = self.waiting.get_mut(self.first..self.end);
        all.into_iter().flatten().for_each(|waiting| waiting.payload = None);
        (self.first, self.end) = (0, 0);
    }

    /// Returns the number of waiting packets, counting the segments of super-frames.
    pub(super) fn packets(&self) -> u64 {
        self.all().iter().map(|waiting| waiting.packets).sum()
    }

    /// Returns whether the next packets are super-frames, and those next packets that can be sent
    /// through the same socket. Each packet consists of two parts, of which the second may be
    /// empty.
    pub(super) fn next(&self) -> (bool, impl Iterator<Item = [&[u8]; 2]>) {
        let all = self.all();
        let is_whole = all.first().is_some_and(|first| first.is_whole);
        let alike = all.iter().take_while(move |waiting| waiting.is_whole == is_whole);
        (is_whole, alike.map(Waiting::parts))
    }

    /// Copies a packet into the batch. Returns false if there is no room for it.
    pub(super) fn push(&mut self, packet: &[u8]) -> bool {
        let Some(waiting) = self.place() else { return false };
        waiting.data.extend_from_slice(packet);
        (waiting.is_whole, waiting.packets, waiting.bytes) = (false, 1, packet.len() as u64);
        true
    }

    /// Adds a super-frame to the batch. Its payload is shared and not copied. Returns false if
    /// there is no room for it.
    pub(super) fn push_whole(&mut self, frame: &Whole<'_>) -> bool {
        let Some(waiting) = self.place() else { return false };
        waiting.data.extend_from_slice(&frame.virtio);
        waiting.data.extend_from_slice(frame.parts()[0]);
        let (payload, from) = frame.payload();
        waiting.payload = Some((payload.clone(), from));
        (waiting.is_whole, waiting.packets, waiting.bytes) =
            (true, frame.segments as u64, frame.bytes);
        true
    }

    /// Removes the first `count` entries, which have been sent. Returns the number of packets that
    /// they represent on a wire, and the number of bytes of these packets.
    pub(super) fn leave(&mut self, count: usize) -> (u64, u64) {
        let mut counted = (0, 0);
        let all = self.waiting.get_mut(self.first..self.end).unwrap_or_default();
        for waiting in all.iter_mut().take(count) {
            counted = (counted.0 + waiting.packets, counted.1 + waiting.bytes);
            waiting.payload = None;
        }
        self.first += count;
        if self.is_empty() {
            self.clear();
        }
        counted
    }

    fn all(&self) -> &[Waiting] {
        self.waiting.get(self.first..self.end).unwrap_or_default()
    }

    /// Returns the next free entry, which is empty. Returns `None` if the batch is full.
    fn place(&mut self) -> Option<&mut Waiting> {
        if self.is_full() {
            return None;
        }
        if self.end == self.waiting.len() {
            self.waiting.push(Waiting::default());
        }
        let place = self.waiting.get_mut(self.end)?;
        self.end += 1;
        place.data.clear();
        Some(place)
    }
}
