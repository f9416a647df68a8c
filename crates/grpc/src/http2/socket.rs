//! A TCP connection whose reads can be paused.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A gate that keeps received data in the socket while an urgent write is in progress, because h2
/// reads whenever it is polled.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_closed: AtomicBool,
    /// Whether a read was refused while the gate was closed.
    held_back: AtomicBool,
}

impl Gate {
    /// Pauses reads from the socket until [`Gate::open`] is called.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Resumes reads. Returns true if a read was refused in the meantime, so that its reader must
    /// be woken.
    pub(crate) fn open(&self) -> bool {
        self.is_closed.store(false, Ordering::Relaxed);
        self.held_back.swap(false, Ordering::Relaxed)
    }
}

/// A TCP socket whose reads a gate can pause.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    gate: Arc<Gate>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, gate: Arc<Gate>) -> Self {
        Self { stream, gate }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.gate.is_closed.load(Ordering::Relaxed) {
            if self.stream.poll_read_ready(context).is_ready() {
                self.gate.held_back.store(true, Ordering::Relaxed);
            }
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
