//! A block of packet-ins for the flood mode, which is prepared once and sent again and again.

use std::io;

use super::transport::Transport;

/// The size of a block in bytes. A block is large enough to be worth a system call, and small
/// enough to stay in the L2 cache.
const BLOCK: usize = 256 * 1024;

/// A block of complete packet-ins of equal length, one after the other.
#[derive(Debug)]
pub(crate) struct FloodBlock {
    bytes: Vec<u8>,
    message: usize,
    /// The offset in the block from which the next write continues.
    offset: usize,
    /// The number of bytes of the current packet-in that have already been written.
    partial: usize,
}

impl FloodBlock {
    /// Fills a block with packet-ins. Each call of `emit` must append one packet-in, and all must
    /// have the same length.
    pub(crate) fn prepare(mut emit: impl FnMut(&mut Vec<u8>)) -> Self {
        let mut bytes = Vec::new();
        emit(&mut bytes);
        let message = bytes.len().max(1);
        while bytes.len() + message <= BLOCK {
            emit(&mut bytes);
        }
        Self { bytes, message, offset: 0, partial: 0 }
    }

    /// Makes one write call. Returns the number of packet-ins whose last byte was written, and
    /// whether the connection accepts no more data for now.
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

    /// Continues with the first byte of the block, for a new connection.
    pub(crate) fn rewind(&mut self) {
        self.offset = 0;
        self.partial = 0;
    }
}
