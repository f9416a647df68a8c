//! The outgoing half of a stream. All messages that wait in the outbox are encoded into one buffer
//! and sent as one frame.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream as _;
use h2::SendStream;
use tonic::Status;

use crate::outbox::OutboxReader;

/// The approximate number of bytes up to which waiting messages are encoded together.
const BATCH: usize = 32 * 1024;

/// The encoder of a stream's outgoing items.
pub trait Encode {
    /// The type of the items in the outbox.
    type Item: Unpin;

    /// Appends an item to the buffer if it is a message. Other items may only change the encoder's
    /// state.
    fn encode(&mut self, item: Self::Item, buffer: &mut BytesMut);

    /// Ends the stream with a status.
    fn end(&mut self, stream: &mut SendStream<Bytes>, status: Status) -> Result<(), h2::Error>;
}

/// An error which means that the peer has ended the stream or the connection, so that nothing more
/// can be sent.
struct Gone;

/// The sending half of a call. It sends the items that wait in its outbox together in one frame.
pub struct Sending<E: Encode> {
    /// The stream, or `None` if the stream ended before anything could be sent.
    stream: Option<SendStream<Bytes>>,
    reader: OutboxReader<E::Item>,
    encode: E,
    buffer: BytesMut,
    /// Whether the peer accepted no more data when its state was last reported to the outbox.
    is_full: bool,
}

impl<E: Encode> Sending<E> {
    /// Creates a sender that encodes the items of `reader` with `encode` and sends them on
    /// `stream`. Without a stream, nothing is sent.
    pub fn new(
        stream: Option<SendStream<Bytes>>,
        reader: OutboxReader<E::Item>,
        encode: E,
    ) -> Self {
        Self { stream, reader, encode, buffer: BytesMut::new(), is_full: false }
    }

    /// Sends items until the outbox is empty or the peer accepts no more. Returns `Ready` once the
    /// stream has ended.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let ended = ready!(self.try_poll(context));
        if let (Some(stream), Ok(status)) = (&mut self.stream, ended) {
            // Ending the stream fails if the peer has already ended it, which has the same effect.
            let _ = self.encode.end(stream, status);
        }
        Poll::Ready(())
    }

    /// Sends items until the outbox is empty or the peer accepts no more. Returns `Ready` with the
    /// status that ends the stream.
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

    /// Returns `Ready` once the peer has reset the stream.
    fn poll_reset<T>(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Gone>> {
        match &mut self.stream {
            Some(stream) => stream.poll_reset(context).map(|_| Err(Gone)),
            None => Poll::Ready(Err(Gone)),
        }
    }

    /// Returns `Ready` once the peer accepts more data.
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

    /// Encodes items that wait in the outbox into the buffer. Returns `None` if the buffer is full,
    /// pending if no item is ready, and the final status if the outbox has ended.
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
