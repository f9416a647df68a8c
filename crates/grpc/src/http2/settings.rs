//! The limit on the size of header lists that the peer announces, which h2 does not expose.
//!
//! The limit is SETTINGS_MAX_HEADER_LIST_SIZE in the first SETTINGS frame. The errors of a large
//! batch are sent in trailers, and a client closes the connection if the trailers exceed its limit.
//! grpc-java's limit is 8 KiB, which the errors of 60 updates exceed.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The connection preface of a client (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The length in bytes of a frame's header: length, type, flags and stream.
const FRAME_HEAD: usize = 9;
/// The type of a SETTINGS frame.
const SETTINGS: u8 = 4;
/// The identifier of the setting SETTINGS_MAX_HEADER_LIST_SIZE.
const MAX_HEADER_LIST_SIZE: u16 = 6;
/// The maximum number of bytes in which the first SETTINGS frame is searched for. No known client
/// sends a longer frame.
const LONGEST: usize = 1024;

/// The maximum size of the metadata that the peer accepts in one block of headers, in bytes as RFC
/// 9113 counts them (section 6.5.2).
#[derive(Clone, Debug)]
pub(crate) struct HeaderLimit(Arc<First>);

/// The content of the peer's first frame, as far as it has arrived.
#[derive(Debug)]
struct First {
    limit: AtomicU32,
    has_come: AtomicBool,
}

impl HeaderLimit {
    fn unknown() -> Self {
        let (limit, has_come) = (AtomicU32::new(u32::MAX), AtomicBool::new(false));
        Self(Arc::new(First { limit, has_come }))
    }

    /// Returns the peer's limit, or `u32::MAX` if the peer has not announced one.
    pub(crate) fn get(&self) -> usize {
        self.0.limit.load(Ordering::Relaxed) as usize
    }

    /// Returns whether the peer's first frame has arrived, in which it announces its limit.
    pub(crate) fn has_come(&self) -> bool {
        self.0.has_come.load(Ordering::Relaxed)
    }
}

/// A client's connection, whose first frame is examined as it is read.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    connection: T,
    /// The bytes of the first frame that were received so far, or `None` once it is complete.
    head: Option<Vec<u8>>,
    limit: HeaderLimit,
}

impl<T> Watched<T> {
    pub(crate) fn new(connection: T) -> Self {
        Self { connection, head: Some(Vec::new()), limit: HeaderLimit::unknown() }
    }

    pub(crate) fn header_limit(&self) -> HeaderLimit {
        self.limit.clone()
    }

    fn look_at(&mut self, received: &[u8]) {
        let Some(head) = &mut self.head else { return };
        let room = LONGEST.saturating_sub(head.len()).min(received.len());
        head.extend_from_slice(received.get(..room).unwrap_or_default());
        match first_frame(head) {
            Poll::Pending if head.len() < LONGEST => return,
            Poll::Ready(Some(limit)) => self.limit.0.limit.store(limit, Ordering::Relaxed),
            Poll::Pending | Poll::Ready(None) => {}
        }
        self.limit.0.has_come.store(true, Ordering::Relaxed);
        self.head = None;
    }
}

/// Returns the header limit that a client's first frame announces, or `None` if it announces none.
/// Pending while the frame is incomplete.
fn first_frame(head: &[u8]) -> Poll<Option<u32>> {
    let known = head.len().min(PREFACE.len());
    if head.get(..known) != PREFACE.get(..known) {
        return Poll::Ready(None);
    }
    let Some(frame) = head.get(PREFACE.len()..) else { return Poll::Pending };
    let &[a, b, c, kind, ..] = frame else { return Poll::Pending };
    let length = u32::from_be_bytes([0, a, b, c]) as usize;
    if kind != SETTINGS {
        return Poll::Ready(None);
    }
    let Some(settings) = frame.get(FRAME_HEAD..FRAME_HEAD + length) else { return Poll::Pending };
    let mut limits = settings.chunks_exact(6).rev().filter_map(|setting| match *setting {
        [i, d, a, b, c, e] if u16::from_be_bytes([i, d]) == MAX_HEADER_LIST_SIZE => {
            Some(u32::from_be_bytes([a, b, c, e]))
        }
        _ => None,
    });
    // If the setting occurs several times, the last one counts.
    Poll::Ready(limits.next())
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.connection).poll_read(context, buffer))?;
        if self.head.is_some() {
            self.look_at(buffer.filled().get(before..).unwrap_or_default());
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(settings: &[(u16, u32)]) -> Vec<u8> {
        let mut bytes = PREFACE.to_vec();
        bytes.extend_from_slice(&(settings.len() as u32 * 6).to_be_bytes()[1..]);
        bytes.extend_from_slice(&[SETTINGS, 0, 0, 0, 0, 0]);
        for (id, value) in settings {
            bytes.extend_from_slice(&id.to_be_bytes());
            bytes.extend_from_slice(&value.to_be_bytes());
        }
        bytes
    }

    /// Returns the limits that are known after the bytes, for every way to cut the bytes in two.
    fn limits(bytes: &[u8]) -> Vec<usize> {
        let cut = |at| {
            let mut watched = Watched::new(());
            let (first, second) = bytes.split_at(at);
            watched.look_at(first);
            watched.look_at(second);
            watched.header_limit().get()
        };
        (0..=bytes.len()).map(cut).collect()
    }

    #[test]
    fn the_limit_is_found_wherever_the_bytes_are_cut() {
        for (settings, expected) in [
            (&[(2, 0), (6, 8192), (4, 1 << 20)][..], 8192),
            (&[(6, 1), (6, 2)], 2),
            (&[(2, 0)], u32::MAX),
            (&[], u32::MAX),
        ] {
            let mut bytes = begins(settings);
            // Another frame follows.
            bytes.extend_from_slice(&[0, 0, 0, SETTINGS, 1, 0, 0, 0, 0]);
            assert!(limits(&bytes).iter().all(|limit| *limit == expected as usize), "{settings:?}");
        }
    }

    #[test]
    fn bytes_that_do_not_begin_a_connection_are_ignored() {
        let mut large = PREFACE.to_vec();
        large.extend_from_slice(&[0xff, 0xff, 0xff, SETTINGS]);
        large.extend_from_slice(&[6; 2000]);
        let mut other = begins(&[(6, 5)]);
        other[PREFACE.len() + 3] = 0;
        for bytes in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), large, other] {
            assert!(limits(&bytes).iter().all(|limit| *limit == u32::MAX as usize), "{bytes:?}");
            let mut watched = Watched::new(());
            watched.look_at(&bytes);
            assert!(watched.head.is_none());
        }
    }
}
