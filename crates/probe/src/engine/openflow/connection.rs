//! The connection of one emulated switch: it buffers outgoing bytes with the packet-ins in them,
//! and frames incoming bytes.

use std::collections::VecDeque;
use std::io;

use openflow::framing::Framer;

use super::transport::Transport;

/// The number of buffered bytes above which no packet-in is written into the buffer; further ones
/// wait as due times. A connection that the controller does not read therefore costs a few bytes
/// per packet-in instead of a frame.
pub(crate) const HIGH_WATER: usize = 256 * 1024;

/// A packet-in in the outgoing bytes.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The offset of the packet-in's end from the start of the connection's outgoing stream.
    end: u64,
    sequence: u64,
}

/// The state of a connection.
#[derive(Debug)]
pub(crate) enum State {
    /// Not dialled.
    Idle {
        /// The moment of the next attempt, on the trial's clock.
        retry_at: u64,
    },
    Connecting {
        transport: Transport,
        /// The moment of the attempt, on the trial's clock.
        since: u64,
    },
    Open(Transport),
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    pub(crate) framer: Framer,
    /// The outgoing bytes; those from `sent` on have yet to be sent.
    pub(crate) out: Vec<u8>,
    sent: usize,
    /// The offset of `out[0]` in the outgoing stream.
    out_base: u64,
    marks: VecDeque<Mark>,
    /// Whether the socket accepted less than it was offered.
    pub(crate) blocked: bool,
    /// Whether the poller watches for the socket to become writable.
    pub(crate) watches_writable: bool,
    /// The moment from which on the socket accepts no data, on the trial's clock; `None` while it
    /// does.
    pub(crate) blocked_since: Option<u64>,
    /// Whether the connection is already in the list of connections that have something to do.
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

    /// Returns the number of bytes that wait to be sent.
    pub(crate) fn backlog(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Notes that the bytes appended last are the packet-in `sequence`.
    pub(crate) fn mark(&mut self, sequence: u64) {
        let end = self.out_base + self.out.len() as u64;
        self.marks.push_back(Mark { end, sequence });
    }

    /// Writes what the socket accepts, and reports every packet-in that left completely to `left`.
    /// Afterwards `blocked` says whether the socket accepted less than it was offered.
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

    /// Resets the state of a connection that ended.
    pub(crate) fn reset(&mut self, retry_at: u64) {
        let ended = std::mem::replace(self, Self::new());
        self.state = State::Idle { retry_at };
        self.is_dirty = ended.is_dirty;
    }
}
