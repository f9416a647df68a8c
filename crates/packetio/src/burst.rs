//! A worker's own buffers, used again for every burst.

/// Bytes in front of every received frame, for headers that are put in front.
pub const HEADROOM: usize = 128;

/// Packets that are processed together.
#[derive(Debug)]
pub struct Burst {
    frames: Vec<Frame>,
    filled: usize,
}

/// One packet, with room in front.
#[derive(Debug)]
pub struct Frame {
    buffer: Vec<u8>,
}

impl Burst {
    /// Room for so many packets.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let frames = (0..capacity).map(|_| Frame::default()).collect();
        Self { frames, filled: 0 }
    }

    /// The packets.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        self.frames.get(..self.filled).unwrap_or_default()
    }

    /// How many more there is room for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.frames.len() - self.filled
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Takes in a copy of a packet; false if there is no room.
    pub fn push(&mut self, packet: &[u8]) -> bool {
        self.push_parts(&[packet]).is_some()
    }

    /// Takes in a copy of a packet that lies in parts, and returns it; `None` if there is no room.
    pub(crate) fn push_parts(&mut self, parts: &[&[u8]]) -> Option<&mut [u8]> {
        let frame = self.frames.get_mut(self.filled)?;
        frame.fill(parts);
        self.filled += 1;
        frame.buffer.get_mut(HEADROOM..)
    }

    /// Takes in a packet itself and leaves a buffer in its place; nothing happens if there is no room.
    pub(crate) fn exchange(&mut self, packet: &mut Frame) {
        if let Some(frame) = self.frames.get_mut(self.filled) {
            std::mem::swap(frame, packet);
            self.filled += 1;
        }
    }
}

impl Default for Frame {
    /// An empty packet.
    fn default() -> Self {
        Self { buffer: vec![0; HEADROOM] }
    }
}

impl Frame {
    /// Makes it a copy of a packet that lies in parts.
    pub(crate) fn fill(&mut self, parts: &[&[u8]]) {
        self.buffer.truncate(HEADROOM);
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
    }

    /// The packet, from its first header on.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(HEADROOM..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again() {
        let mut burst = Burst::new(2);
        assert!(burst.push(b"one") && burst.push(b"second") && !burst.push(b"third"));
        let seen: Vec<_> = burst.frames().iter().map(Frame::bytes).collect();
        assert_eq!(seen, [&b"one"[..], b"second"]);
        burst.clear();
        assert!(burst.frames().is_empty() && burst.room() == 2 && burst.push(b""));
        assert_eq!(burst.frames().iter().map(Frame::bytes).collect::<Vec<_>>(), [b""]);
    }
}
