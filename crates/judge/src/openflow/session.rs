//! The connection to an OpenFlow switch: sends and receives messages, and records them.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use openflow::framing::Framer;
use openflow::wire::{Header, MessageType};
use openflow::{ErrorReason, Version, v1_0, v1_3};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::channel::{ConnectError, Exchange, TIMEOUT};

/// The time to wait for a switch to connect.
const CONNECTS: Duration = Duration::from_secs(60);
/// The interval at which a wait checks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);
/// The largest number of characters that are kept of a recorded message.
const KEPT: usize = 2_000;

/// A message of the switch.
#[derive(Clone, Debug)]
pub(super) struct Frame(Vec<u8>);

impl Frame {
    pub(super) fn kind(&self) -> u8 {
        self.0.get(1).copied().unwrap_or_default()
    }

    pub(super) fn xid(&self) -> u32 {
        let bytes = self.0.get(4..8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_be_bytes)
    }

    pub(super) fn body(&self) -> &[u8] {
        self.0.get(8..).unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the type and the code of an error message; `None` for other messages.
    pub(super) fn error(&self) -> Option<(u16, u16)> {
        let [a, b, c, d, ..] = *self.body() else { return None };
        let is_error = self.kind() == MessageType::ERROR.0;
        is_error.then(|| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }
}

/// A connection to a switch, plain or with TLS.
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    fn new(socket: TcpStream, tls: Option<Arc<ServerConfig>>) -> Result<Self, ConnectError> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        let Some(config) = tls else { return Ok(Self::Plain(socket)) };
        socket.set_read_timeout(Some(TIMEOUT))?;
        let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
        let mut stream = Box::new(StreamOwned::new(connection, socket));
        while stream.conn.is_handshaking() {
            let done = stream.conn.complete_io(&mut stream.sock);
            done.map_err(|error| ConnectError::Handshake {
                cause: format!(
                    "TLS could not be established: {error}; it must connect with TLS, trust the certificate shown \
                     to it, and show one of the authorities for switches if there are any"
                ),
            })?;
        }
        Ok(Self::Tls(stream))
    }

    fn read(&mut self, buffer: &mut [u8], within: Duration) -> std::io::Result<usize> {
        match self {
            Self::Plain(socket) => {
                socket.set_read_timeout(Some(within))?;
                socket.read(buffer)
            }
            Self::Tls(stream) => {
                stream.sock.set_read_timeout(Some(within))?;
                stream.read(buffer)
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Plain(socket) => socket.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

/// A connection to a switch, with a record of the messages on it.
pub(super) struct Session {
    stream: Stream,
    framer: Framer,
    version: Version,
    next_xid: u32,
    /// The messages that have arrived and were not yet read.
    arrived: VecDeque<Frame>,
    exchanges: Vec<Exchange>,
}

/// The reason why the connection counts as lost.
#[derive(Debug)]
pub(super) struct Lost(pub(super) String);

impl Session {
    /// Waits for a switch to connect, and agrees on a version with it: on `only` if it is given,
    /// and otherwise on the highest version that both sides support.
    pub(super) fn accept(
        listener: &TcpListener,
        only: Option<Version>,
        tls: Option<Arc<ServerConfig>>,
        stop: &AtomicBool,
    ) -> Result<Self, ConnectError> {
        listener.set_nonblocking(true)?;
        let start = Instant::now();
        let socket = loop {
            match listener.accept() {
                Ok((socket, _)) => break socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            if stop.load(Ordering::Relaxed) {
                return Err(ConnectError::Interrupted);
            }
            if start.elapsed() > CONNECTS {
                return Err(ConnectError::NoSwitch { seconds: CONNECTS.as_secs() });
            }
            std::thread::sleep(LOOK);
        };
        let stream = Stream::new(socket, tls)?;
        let version = only.unwrap_or(Version::V1_3);
        let mut session = Self {
            stream,
            framer: Framer::new(),
            version,
            next_xid: 1,
            arrived: VecDeque::new(),
            exchanges: Vec::new(),
        };
        session.agree(only).map_err(|lost| ConnectError::Handshake { cause: lost.0 })?;
        Ok(session)
    }

    /// Exchanges hello messages, which agree on the version (1.0.0, 5.5.1; 1.3.5, 6.3.1).
    fn agree(&mut self, only: Option<Version>) -> Result<(), Lost> {
        let hello = self.frame(MessageType::HELLO.0, &[]);
        self.send(&hello)?;
        let theirs = self.receive(TIMEOUT)?.ok_or_else(|| Lost("it sent no hello".to_owned()))?;
        if theirs.kind() != MessageType::HELLO.0 {
            return Err(Lost("its first message is no hello".to_owned()));
        }
        let highest = theirs.bytes().first().copied().unwrap_or_default();
        let wire = |version: Version| version.wire();
        self.version = match only {
            Some(only) if highest >= wire(only) => only,
            None if highest >= wire(Version::V1_3) => Version::V1_3,
            None if highest >= wire(Version::V1_0) => Version::V1_0,
            _ => return Err(Lost(format!("its highest version is {highest:#04x}"))),
        };
        self.arrived.clear();
        self.exchanges.clear();
        Ok(())
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Returns a transaction id that no message of the session has used.
    pub(super) fn take_xid(&mut self) -> u32 {
        let xid = self.next_xid;
        self.next_xid += 1;
        xid
    }

    /// Returns a message of type `kind` with a new transaction id.
    pub(super) fn frame(&mut self, kind: u8, body: &[u8]) -> Vec<u8> {
        let xid = self.take_xid();
        let length = u16::try_from(8 + body.len()).unwrap_or(u16::MAX);
        let mut frame = vec![self.version.wire(), kind];
        frame.extend(length.to_be_bytes());
        frame.extend(xid.to_be_bytes());
        frame.extend(body);
        frame
    }

    /// Sends a message, followed by a barrier request. Returns the answers to the message, which
    /// are the messages with its transaction id that arrive before the barrier reply.
    pub(super) fn ask(&mut self, frame: &[u8]) -> Result<Vec<Frame>, Lost> {
        let xid = Frame(frame.to_vec()).xid();
        self.send(frame)?;
        let barrier_type = match self.version {
            Version::V1_0 => 18,
            Version::V1_3 => 20,
        };
        let barrier = self.frame(barrier_type, &[]);
        let barrier_xid = Frame(barrier.clone()).xid();
        self.write(&barrier)?;
        let (mut answers, mut others) = (Vec::new(), VecDeque::new());
        loop {
            let Some(frame) = self.receive(TIMEOUT)? else {
                return Err(Lost(format!(
                    "the switch did not answer a barrier request within {} s",
                    TIMEOUT.as_secs()
                )));
            };
            if frame.kind() == barrier_type + 1 && frame.xid() == barrier_xid {
                break;
            }
            let shown = self.shown(frame.bytes());
            self.record(String::new(), shown);
            if frame.xid() == xid {
                answers.push(frame);
            } else {
                others.push_back(frame);
            }
        }
        self.arrived.append(&mut others);
        if answers.is_empty() {
            self.record(String::new(), "(no answer before the barrier reply)".to_owned());
        }
        Ok(answers)
    }

    /// Returns the first message of type `kind` that the switch sends unasked: one that has arrived
    /// since the record began, or one that arrives within `within`.
    pub(super) fn notification(
        &mut self,
        kind: u8,
        within: Duration,
    ) -> Result<Option<Frame>, Lost> {
        let deadline = Instant::now() + within;
        let mut others = VecDeque::new();
        let found = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                None => break None,
                Some(frame) if frame.kind() == kind => break Some(frame),
                Some(frame) => others.push_back(frame),
            }
        };
        self.arrived.append(&mut others);
        let text = found.as_ref().map_or_else(
            || format!("(no message of type {kind} within {} ms)", within.as_millis()),
            |frame| self.shown(frame.bytes()),
        );
        self.record(String::new(), text);
        Ok(found)
    }

    /// Discards the messages that the switch has sent unasked.
    pub(super) fn forget(&mut self) {
        self.arrived.clear();
    }

    pub(super) fn take_exchanges(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.exchanges)
    }

    pub(super) fn restore_exchanges(&mut self, exchanges: Vec<Exchange>) {
        self.exchanges = exchanges;
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), Lost> {
        let shown = self.shown(frame);
        self.record(shown, "(sent)".to_owned());
        self.write(frame)
    }

    fn write(&mut self, frame: &[u8]) -> Result<(), Lost> {
        self.stream.write(frame).map_err(|error| Lost(format!("the connection failed: {error}")))
    }

    /// Returns the next message, or `None` if none arrives within `within`. Answers echo requests
    /// meanwhile.
    fn receive(&mut self, within: Duration) -> Result<Option<Frame>, Lost> {
        if let Some(frame) = self.arrived.pop_front() {
            return Ok(Some(frame));
        }
        let failed = |error: std::io::Error| Lost(format!("the connection failed: {error}"));
        let deadline = Instant::now() + within;
        let mut chunk = [0; 1 << 16];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let count = match self.stream.read(&mut chunk, left) {
                Ok(0) => return Err(Lost("the switch closed the connection".to_owned())),
                Ok(count) => count,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(failed(error)),
            };
            let mut replies = Vec::new();
            for frame in self.framer.frames(&chunk[..count]) {
                let frame = frame
                    .map_err(|error| Lost(format!("the switch sent no valid message: {error}")))?;
                let frame = Frame(frame.to_vec());
                if frame.kind() == MessageType::ECHO_REQUEST.0 {
                    let mut reply = frame.bytes().to_vec();
                    reply[1] = MessageType::ECHO_REPLY.0;
                    replies.extend(reply);
                } else {
                    self.arrived.push_back(frame);
                }
            }
            self.write(&replies)?;
            if let Some(frame) = self.arrived.pop_front() {
                return Ok(Some(frame));
            }
        }
    }

    /// Returns a message as text: its fields, or its bytes if it cannot be parsed.
    fn shown(&self, frame: &[u8]) -> String {
        let version = Header::new_checked(frame).ok().map(|header| header.version());
        let read = match self.version {
            _ if version != Some(self.version.wire()) => None,
            Version::V1_0 => v1_0::Message::decode(frame).ok().map(|(_, read)| format!("{read:?}")),
            Version::V1_3 => v1_3::Message::decode(frame).ok().map(|(_, read)| format!("{read:?}")),
        };
        let text = read.unwrap_or_else(|| {
            frame.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
        });
        match text.char_indices().nth(KEPT) {
            None => text,
            Some((end, _)) => format!("{} … ({} bytes)", &text[..end], frame.len()),
        }
    }

    fn record(&mut self, request: String, answer: String) {
        self.exchanges.push(Exchange { call: "OpenFlow", request, answer });
    }
}

/// Returns the name of an error, given by type and code, in the specification of this version.
pub(super) fn name(version: Version, error: (u16, u16)) -> String {
    let (kind, code) = error;
    let reason = ErrorReason::from_codes(version, kind, code);
    reason.map_or_else(|| format!("error type {kind}, code {code}"), |reason| reason.to_string())
}

/// Opens the socket at which the switch connects.
pub(super) fn listen(address: SocketAddr) -> Result<TcpListener, ConnectError> {
    let listener =
        TcpListener::bind(address).map_err(|cause| ConnectError::Listen { address, cause })?;
    // If the system refuses this option, TCP paces requests like those of other programs.
    let _ = grpc::tcp::send_unpaced(&listener);
    Ok(listener)
}
