//! One emulated switch's connection: bytes out with the packet-ins they hold, bytes in as frames.

use std::collections::VecDeque;
use std::io;

use openflow::framing::Framer;

use super::transport::Transport;

/// Packet-ins are written into the buffer only while less than this waits in it, so that one that
/// the controller does not read costs a due time, not a frame.
pub(crate) const HIGH_WATER: usize = 256 * 1024;

/// A packet-in inside the outgoing bytes.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Offset of its end from the start of the connection's outgoing stream.
    end: u64,
    sequence: u64,
}

/// How far the connection is.
#[derive(Debug)]
pub(crate) enum State {
    /// Not dialled; next attempt at this moment of the trial's clock.
    Idle {
        /// Moment of the next attempt.
        retry_at: u64,
    },
    Connecting {
        transport: Transport,
        /// When it was dialled, on the trial's clock.
        since: u64,
    },
    Open(Transport),
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    pub(crate) framer: Framer,
    /// Bytes to send, from `sent` on.
    pub(crate) out: Vec<u8>,
    sent: usize,
    /// Offset of `out[0]` in the outgoing stream.
    out_base: u64,
    marks: VecDeque<Mark>,
    /// The socket took less than it was offered.
    pub(crate) blocked: bool,
    /// Whether the poller is asked to tell when the socket is writable.
    pub(crate) watches_writable: bool,
    /// When the socket last began to take no more, on the trial's clock, while it does not.
    pub(crate) blocked_since: Option<u64>,
    /// Already in the list of connections that have something to do.
    pub(crate) is_dirty: bool,
}

impl Connection {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Idle { retry_at: 0 },
            framer: Framer::new(),
            out: Vec::new(),
            sent: 0,
            out_base: 0,
            marks: VecDeque::new(),
            blocked: false,
            watches_writable: false,
            blocked_since: None,
            is_dirty: false,
        }
    }

    /// Bytes that wait to be sent.
    pub(crate) fn backlog(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Notes that the bytes appended last are the packet-in `sequence`.
    pub(crate) fn mark(&mut self, sequence: u64) {
        let end = self.out_base + self.out.len() as u64;
        self.marks.push_back(Mark { end, sequence });
    }

    /// Writes what the socket takes, and names every packet-in that left whole. Whether it took less
    /// than it was offered is in `blocked` afterwards.
    pub(crate) fn flush(&mut self, mut left: impl FnMut(u64)) -> io::Result<()> {
        let State::Open(transport) = &mut self.state else { return Ok(()) };
        self.blocked = transport.flush()?;
        while !self.blocked && self.sent < self.out.len() {
            match transport.write(&self.out[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.blocked = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let sent_to = self.out_base + self.sent as u64;
        while let Some(mark) = self.marks.front().filter(|mark| mark.end <= sent_to) {
            left(mark.sequence);
            self.marks.pop_front();
        }
        if self.sent == self.out.len() || self.sent > HIGH_WATER {
            self.out_base = sent_to;
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    /// Forgets everything that belongs to the connection that ended.
    pub(crate) fn reset(&mut self, retry_at: u64) {
        let ended = std::mem::replace(self, Self::new());
        self.state = State::Idle { retry_at };
        self.is_dirty = ended.is_dirty;
    }
}
