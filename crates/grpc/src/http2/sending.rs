//! The outgoing half of a stream of messages: whatever waits in its outbox is encoded into one
//! buffer and sent as one frame.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream as _;
use h2::SendStream;
use tonic::Status;

use crate::outbox::OutboxReader;

/// Bytes that are encoded together, roughly.
const BATCH: usize = 32 * 1024;

/// How an end of a stream writes what it sends.
pub trait Encode {
    /// What waits in the outbox.
    type Item: Unpin;

    /// Appends an item, or takes note of it.
    fn encode(&mut self, item: Self::Item, buffer: &mut BytesMut);

    /// Ends the stream.
    fn end(&mut self, stream: &mut SendStream<Bytes>, status: Status) -> Result<(), h2::Error>;
}

/// The peer has ended the stream or the connection.
struct Gone;

/// What a call sends: whatever waits in its outbox, as one frame.
pub struct Sending<E: Encode> {
    /// `None` if the stream had ended before it could begin.
    stream: Option<SendStream<Bytes>>,
    reader: OutboxReader<E::Item>,
    encode: E,
    buffer: BytesMut,
    /// What the outbox was told last: whether the peer takes no more.
    is_full: bool,
}

impl<E: Encode> Sending<E> {
    /// Sends on `stream` what `encode` makes of what `reader` has; without a stream, nothing.
    pub fn new(
        stream: Option<SendStream<Bytes>>,
        reader: OutboxReader<E::Item>,
        encode: E,
    ) -> Self {
        Self { stream, reader, encode, buffer: BytesMut::new(), is_full: false }
    }

    /// Sends what is possible; ready when the stream has ended.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let ended = ready!(self.try_poll(context));
        if let (Some(stream), Ok(status)) = (&mut self.stream, ended) {
            // It fails if the peer was faster, which comes to the same.
            let _ = self.encode.end(stream, status);
        }
        Poll::Ready(())
    }

    /// Ready with the status that ends the stream.
    fn try_poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Status, Gone>> {
        loop {
            let room = self.poll_room(context);
            if room.is_pending() != self.is_full {
                self.is_full = room.is_pending();
                self.reader.set_full(self.is_full);
            }
            ready!(room?);
            let ended = self.fill(context);
            if !self.buffer.is_empty()
                && let Some(stream) = &mut self.stream
            {
                stream.send_data(self.buffer.split().freeze(), false).map_err(|_| Gone)?;
            }
            match ended {
                None => {}
                Some(Poll::Ready(status)) => return Poll::Ready(Ok(status)),
                Some(Poll::Pending) => return self.poll_reset(context),
            }
        }
    }

    /// Ready when the peer wants nothing more.
    fn poll_reset<T>(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Gone>> {
        match &mut self.stream {
            Some(stream) => stream.poll_reset(context).map(|_| Err(Gone)),
            None => Poll::Ready(Err(Gone)),
        }
    }

    /// Ready when the peer takes more.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Err(Gone)) };
        stream.reserve_capacity(1);
        while stream.capacity() == 0 {
            match ready!(stream.poll_capacity(context)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Poll::Ready(Err(Gone)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Encodes what waits: until the buffer is full, until nothing is ready (pending), or to the
    /// end (ready).
    fn fill(&mut self, context: &mut Context<'_>) -> Option<Poll<Status>> {
        while self.buffer.len() < BATCH {
            match Pin::new(&mut self.reader).poll_next(context) {
                Poll::Pending => return Some(Poll::Pending),
                Poll::Ready(None) => return Some(Poll::Ready(Status::ok(""))),
                Poll::Ready(Some(Err(status))) => return Some(Poll::Ready(status)),
                Poll::Ready(Some(Ok(item))) => self.encode.encode(item, &mut self.buffer),
            }
        }
        None
    }
}
