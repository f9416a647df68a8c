//! A block of packet-ins that is prepared once and written repeatedly, for floods.

use std::io;

use super::transport::Transport;

/// The size of a block in bytes: large enough for several system calls, and small enough to stay in
/// the L2 cache.
const BLOCK: usize = 256 * 1024;

/// A block of whole packet-ins of equal length.
#[derive(Debug)]
pub(crate) struct FloodBlock {
    bytes: Vec<u8>,
    message: usize,
    /// The offset at which the next write begins.
    offset: usize,
    /// The number of bytes of a partly written packet-in that have left.
    partial: usize,
}

impl FloodBlock {
    /// Fills a block with the output of `emit`, which appends one packet-in of a constant length
    /// per call.
    pub(crate) fn prepare(mut emit: impl FnMut(&mut Vec<u8>)) -> Self {
        let mut bytes = Vec::new();
        emit(&mut bytes);
        let message = bytes.len().max(1);
        while bytes.len() + message <= BLOCK {
            emit(&mut bytes);
        }
        Self { bytes, message, offset: 0, partial: 0 }
    }

    /// Writes once. Returns the number of packet-ins whose last byte left, and whether the
    /// connection is blocked for now.
    pub(crate) fn write_to(&mut self, transport: &mut Transport) -> io::Result<(u64, bool)> {
        match transport.write(&self.bytes[self.offset..]) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                let blocked = self.offset + count < self.bytes.len();
                self.offset = (self.offset + count) % self.bytes.len();
                self.partial += count;
                let whole = self.partial / self.message;
                self.partial %= self.message;
                Ok((whole as u64, blocked))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok((0, true)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok((0, false)),
            Err(error) => Err(error),
        }
    }

    /// Starts over for a new connection.
    pub(crate) fn rewind(&mut self) {
        self.offset = 0;
        self.partial = 0;
    }
}
