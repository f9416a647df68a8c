//! Packet-ins prepared once and written over and over.

use std::io;

use super::transport::Transport;

/// Bytes in a block; several system-call sized pieces, yet small enough for the second-level
/// cache.
const BLOCK: usize = 256 * 1024;

/// A block of whole packet-ins of equal length.
#[derive(Debug)]
pub(crate) struct FloodBlock {
    bytes: Vec<u8>,
    message: usize,
    /// Where the next write begins.
    offset: usize,
    /// Bytes of a packet-in that left only in part.
    partial: usize,
}

impl FloodBlock {
    /// Repeats `emit`, which appends one packet-in of always the same length.
    pub(crate) fn prepare(mut emit: impl FnMut(&mut Vec<u8>)) -> Self {
        let mut bytes = Vec::new();
        emit(&mut bytes);
        let message = bytes.len().max(1);
        while bytes.len() + message <= BLOCK {
            emit(&mut bytes);
        }
        Self { bytes, message, offset: 0, partial: 0 }
    }

    /// Writes once; returns the packet-ins that left whole with it, and whether the connection
    /// takes no more for now.
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

    /// Starts over on a new connection.
    pub(crate) fn rewind(&mut self) {
        self.offset = 0;
        self.partial = 0;
    }
}
