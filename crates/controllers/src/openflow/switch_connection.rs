//! The connection of a controller to a single switch. Programs use it that act as the controller of
//! a switch while they measure the switch.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::openflow::Version;
use ::openflow::framing::{Framer, FramingError};
use ::openflow::handshake::{Event, Handshake, HandshakeError, SwitchFeatures};
use ::openflow::v1_0::SwitchConfig;
use rustix::event::{PollFd, PollFlags, poll};

use super::connection::Connection;
use super::listener::{self, timespec};
use super::{ServerTls, TlsError};

/// The interval at which `SwitchConnection::accept` checks whether it must stop.
const LOOK: Duration = Duration::from_millis(50);
/// The maximum number of bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// The reason why a switch could not be connected, or why its connection ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchConnectionError {
    /// No switch connected in time.
    #[error("no switch connects to {address}")]
    NoSwitch {
        /// The address on which the controller listened.
        address: SocketAddr,
    },
    /// The switch connected, but the session did not open in time.
    #[error("the session did not open in time: {diagnosis}")]
    Unfinished {
        /// The stage of the handshake that the session reached, and the message that did not
        /// arrive.
        diagnosis: String,
    },
    /// The wait for a switch was interrupted by the caller.
    #[error("interrupted")]
    Interrupted,
    /// The switch closed the connection.
    #[error("it closed the connection")]
    Closed,
    /// The switch sends bytes that are not OpenFlow messages.
    #[error("{0}")]
    Framing(#[from] FramingError),
    /// The certificate, the key or the certificate authorities for TLS cannot be used.
    #[error(transparent)]
    Certificates(#[from] TlsError),
    /// The switch connected, but TLS could not be established.
    #[error(
        "TLS could not be established: {cause}; the switch must connect with TLS, trust the certificate shown to \
         it, and show one of the authorities for switches if there are any"
    )]
    Tls {
        /// The error of the TLS handshake.
        cause: io::Error,
    },
    /// The session with the switch cannot be opened or continued.
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    /// The system reported an error of the connection.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A connected switch whose handshake is complete. No call blocks except
/// [`SwitchConnection::wait`].
#[derive(Debug)]
pub struct SwitchConnection {
    connection: Connection,
    framer: Framer,
    handshake: Handshake,
    version: Version,
    /// The addresses of this end and of the switch.
    addresses: [SocketAddr; 2],
    chunk: Vec<u8>,
}

impl SwitchConnection {
    /// The first transaction ID that a caller may use. The handshake uses lower IDs.
    pub const FIRST_XID: u32 = 1 << 16;

    /// Creates the listening socket to which a switch can connect. With port 0, the system chooses
    /// a port.
    ///
    /// # Errors
    /// Returns an error if the system refuses to listen on the address.
    pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
        listener::listen(address)
    }

    /// Waits for a switch to connect for at most `patience`, and then as long again for the
    /// handshake. Offers the OpenFlow versions in `versions`, or both versions if the list is
    /// empty. With `tls`, the switch must connect with TLS.
    ///
    /// # Errors
    /// Returns an error if no switch opens a session, if `stop` is set in the meantime, or if the
    /// TLS settings cannot be used.
    pub fn accept(
        listener: &TcpListener,
        versions: &[Version],
        tls: Option<&ServerTls>,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Self, SwitchConnectionError> {
        let tls = tls.map(ServerTls::config).transpose()?.map(Arc::new);
        let begin = Instant::now();
        let socket = loop {
            if stop.load(Ordering::Relaxed) {
                return Err(SwitchConnectionError::Interrupted);
            }
            if begin.elapsed() > patience {
                let address = listener.local_addr()?;
                return Err(SwitchConnectionError::NoSwitch { address });
            }
            if !listener::wait(listener, LOOK)? {
                continue;
            }
            match listener.accept() {
                Ok((socket, _)) => break socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        };
        let addresses = [socket.local_addr()?, socket.peer_addr()?];
        let handshake = Handshake::controller(versions, SwitchConfig::default());
        let mut opening = Self {
            connection: Connection::new(socket, tls.as_ref())?,
            framer: Framer::new(),
            handshake,
            version: Version::V1_0,
            addresses,
            chunk: vec![0; CHUNK],
        };
        opening.handshake.start(&mut opening.connection.out);
        let begin = Instant::now();
        loop {
            opening.open()?;
            if let (true, Some(version)) =
                (opening.handshake.is_ready(), opening.handshake.version())
            {
                opening.version = version;
                opening.flush()?;
                return Ok(opening);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(SwitchConnectionError::Interrupted);
            }
            if begin.elapsed() > patience {
                let diagnosis = opening.handshake.diagnosis();
                return Err(SwitchConnectionError::Unfinished { diagnosis });
            }
            opening.wait(LOOK)?;
        }
    }

    /// Performs the next step of the TLS handshake or the OpenFlow handshake.
    fn open(&mut self) -> Result<(), SwitchConnectionError> {
        let is_securing = self.connection.is_securing();
        let received = self.flush().and_then(|()| self.receive(&mut |_| {}));
        match received {
            Err(SwitchConnectionError::System(cause)) if is_securing => {
                Err(SwitchConnectionError::Tls { cause })
            }
            Err(SwitchConnectionError::Closed) if is_securing => {
                let cause =
                    io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection");
                Err(SwitchConnectionError::Tls { cause })
            }
            received => received.map(|_| ()),
        }
    }

    /// Returns the version that was negotiated.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the address of this end of the connection, and that of the switch.
    #[must_use]
    pub fn addresses(&self) -> [SocketAddr; 2] {
        self.addresses
    }

    /// Returns the features that the switch reported in the handshake.
    #[must_use]
    pub fn features(&self) -> Option<&SwitchFeatures> {
        self.handshake.features()
    }

    /// Returns the buffer of outgoing messages. Callers append messages to it and then call
    /// [`SwitchConnection::flush`].
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.connection.out
    }

    /// Returns the number of outgoing bytes that have not been sent yet.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.connection.backlog()
    }

    /// Sends bytes from the buffer of outgoing messages until the socket accepts no more.
    ///
    /// # Errors
    /// Returns an error if the connection is broken.
    pub fn flush(&mut self) -> Result<(), SwitchConnectionError> {
        self.connection.flush()?;
        Ok(())
    }

    /// Reads the bytes that have arrived, at most one chunk of them, and passes each message to
    /// `take`. Echo requests and messages of the handshake are answered and not passed on. Returns
    /// whether any bytes had arrived.
    ///
    /// # Errors
    /// Returns an error if the connection is broken, or if the switch violates the protocol.
    pub fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<bool, SwitchConnectionError> {
        let count = match self.connection.read(&mut self.chunk) {
            Ok(0) => return Err(SwitchConnectionError::Closed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let read = self.chunk.get(..count).unwrap_or_default();
        for frame in self.framer.frames(read) {
            let frame = frame?;
            if self.handshake.receive(frame, &mut self.connection.out)? == Event::Message {
                take(frame);
            }
        }
        self.flush()?;
        Ok(true)
    }

    /// Waits for at most `timeout` until bytes have arrived, or until outgoing bytes can be sent.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn wait(&self, timeout: Duration) -> Result<(), SwitchConnectionError> {
        let mut awaited = PollFlags::IN;
        if self.backlog() > 0 || self.connection.wants_to_send() {
            awaited |= PollFlags::OUT;
        }
        match poll(&mut [PollFd::new(&self.connection, awaited)], Some(&timespec(timeout))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}
