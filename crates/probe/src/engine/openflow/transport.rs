//! A non-blocking connection to the controller, with or without TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;

/// The parameters by which a switch connects to the controller.
#[derive(Clone, Debug)]
pub(crate) struct Dialler {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<(Arc<rustls::ClientConfig>, ServerName<'static>)>,
}

/// A connection to the controller, which may still be being established.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: TcpStream,
    session: Option<Box<ClientConnection>>,
}

impl Dialler {
    /// Begins to connect. The connection can be used once the socket is writable and
    /// [`Transport::connected`] has returned `Ok`.
    pub(crate) fn dial(&self) -> io::Result<Transport> {
        let family = match self.address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        net::sockopt::set_tcp_nodelay(&socket, true)?;
        // If the system refuses this option, the run continues, and its round-trip times include
        // TCP pacing.
        let _ = grpc::tcp::send_unpaced(&socket);
        match net::connect(&socket, &self.address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let session = match &self.tls {
            None => None,
            Some((config, name)) => Some(Box::new(
                ClientConnection::new(config.clone(), name.clone()).map_err(io::Error::other)?,
            )),
        };
        Ok(Transport { socket: TcpStream::from(socket), session })
    }
}

impl Transport {
    /// Checks whether the attempt to connect has succeeded. The caller must call it when the socket
    /// becomes writable.
    ///
    /// # Errors
    ///
    /// Returns the error of the attempt if it failed.
    pub(crate) fn connected(&self) -> io::Result<()> {
        match net::sockopt::socket_error(&self.socket)? {
            Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether the TLS handshake is still in progress, so that application data cannot flow
    /// yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_handshaking())
    }

    /// Reads bytes that are available without waiting. `Ok(0)` means the end of the stream.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(session) = &mut self.session else { return self.socket.read(buffer) };
        loop {
            match session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            if session.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            let processed = session.process_new_packets();
            // An alert for the peer may be waiting even if the received data were invalid.
            while session.wants_write() && session.write_tls(&mut self.socket).is_ok() {}
            processed.map_err(io::Error::other)?;
        }
    }

    /// Writes the bytes that the connection accepts without waiting, and returns their number.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(session) = &mut self.session else { return self.socket.write(bytes) };
        flush_session(session, &mut self.socket)?;
        if session.is_handshaking() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = session.writer().write(bytes)?;
        match flush_session(session, &mut self.socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ if taken == 0 && !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(taken),
        }
    }

    /// Sends TLS records that are waiting. Returns whether some of them still wait.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        let Some(session) = &mut self.session else { return Ok(false) };
        match flush_session(session, &mut self.socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
            Ok(()) => Ok(false),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn flush_session(session: &mut ClientConnection, socket: &mut TcpStream) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(socket)?;
    }
    Ok(())
}
