//! A non-blocking connection to a switch, with or without TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

/// The number of sent bytes in the buffer that makes the connection remove them, even if bytes that
/// are not sent yet follow them.
const COMPACT: usize = 256 * 1024;

/// A connection to a switch, with the bytes that wait to be sent.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    tls: Option<Box<ServerConnection>>,
    /// The buffer for outgoing bytes, to which writers append. The bytes from index `sent` on have
    /// not been sent yet.
    pub(super) out: Vec<u8>,
    sent: usize,
}

impl Connection {
    pub(super) fn new(socket: TcpStream, tls: Option<&Arc<ServerConfig>>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let tls = match tls {
            None => None,
            Some(config) => {
                Some(Box::new(ServerConnection::new(config.clone()).map_err(io::Error::other)?))
            }
        };
        Ok(Self { socket, tls, out: Vec::new(), sent: 0 })
    }

    /// Returns the number of bytes that have not been sent yet.
    pub(super) fn backlog(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Returns whether the TLS handshake is still in progress.
    pub(super) fn is_securing(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Returns whether encrypted bytes wait for the socket to accept them.
    pub(super) fn wants_to_send(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Reads the bytes that have arrived into `buffer`. `Ok(0)` means that the stream has ended.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(buffer) };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            let processed = tls.process_new_packets();
            // An alert for the peer may be waiting even if the received data were invalid.
            let _ = send(tls, &mut self.socket);
            processed.map_err(io::Error::other)?;
        }
    }

    /// Writes bytes until the socket accepts no more. Returns whether bytes remain to be sent once
    /// the socket is writable again.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        loop {
            let waiting = self.out.get(self.sent..).unwrap_or(&[]);
            let written = match &mut self.tls {
                None if waiting.is_empty() => break,
                None => self.socket.write(waiting),
                Some(tls) => match send(tls, &mut self.socket) {
                    Ok(()) if waiting.is_empty() || tls.is_handshaking() => break,
                    Ok(()) => tls.writer().write(waiting),
                    Err(error) => Err(error),
                },
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.compact();
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.compact();
        Ok(false)
    }

    fn compact(&mut self) {
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
            // There may be thousands of idle connections, so their buffers are not larger than
            // this.
            self.out.shrink_to(COMPACT);
        } else if self.sent > COMPACT {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn send(tls: &mut ServerConnection, socket: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(socket)?;
    }
    Ok(())
}
