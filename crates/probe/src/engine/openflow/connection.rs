//! The connection of an emulated OpenFlow switch. It buffers outgoing bytes, remembers where each
//! packet-in ends in them, and divides incoming bytes into messages.

use std::collections::VecDeque;
use std::io;

use openflow::framing::Framer;

use super::transport::Transport;

/// The number of unsent bytes above which no packet-in is added to the buffer. For further
/// packet-ins, only the due times are kept, so that a connection from which the controller does not
/// read costs a few bytes per packet-in instead of a frame.
pub(crate) const HIGH_WATER: usize = 256 * 1024;

/// The end of a packet-in in the stream of outgoing bytes.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The offset of the packet-in's end from the start of the connection's outgoing stream.
    end: u64,
    sequence: u64,
}

/// The state of a switch's connection to the controller.
#[derive(Debug)]
pub(crate) enum State {
    /// There is no connection, and none is being established.
    Idle {
        /// The time of the next attempt to connect, on the trial's clock.
        retry_at: u64,
    },
    Connecting {
        transport: Transport,
        /// The time at which the attempt to connect began, on the trial's clock.
        since: u64,
    },
    Open(Transport),
}

/// The connection of a switch to the controller, with its outgoing bytes.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    pub(crate) framer: Framer,
    /// The outgoing bytes. The first `sent` of them have been written to the socket.
    pub(crate) out: Vec<u8>,
    sent: usize,
    /// The number of bytes of the connection's outgoing stream that were already removed from
    /// `out`.
    out_base: u64,
    marks: VecDeque<Mark>,
    /// Whether the socket did not accept all bytes when they were last written.
    pub(crate) blocked: bool,
    /// Whether the poller watches for the socket to become writable.
    pub(crate) watches_writable: bool,
    /// The time, on the trial's clock, since which the socket accepts no data, or `None` while it
    /// accepts data.
    pub(crate) blocked_since: Option<u64>,
    /// Whether the connection is already in the thread's list of connections with pending work.
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

    /// Records that the last bytes in the outgoing buffer belong to the packet-in `sequence`.
    pub(crate) fn mark(&mut self, sequence: u64) {
        let end = self.out_base + self.out.len() as u64;
        self.marks.push_back(Mark { end, sequence });
    }

    /// Writes outgoing bytes until the socket accepts no more, and calls `left` for every packet-in
    /// whose last byte was written. Afterwards, `blocked` is true if bytes remain.
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

    /// Resets the state of a connection that has ended. The switch connects again at the time
    /// `retry_at`.
    pub(crate) fn reset(&mut self, retry_at: u64) {
        let ended = std::mem::replace(self, Self::new());
        self.state = State::Idle { retry_at };
        self.is_dirty = ended.is_dirty;
    }
}
