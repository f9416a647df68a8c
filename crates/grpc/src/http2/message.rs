//! The messages of gRPC within DATA frames ("gRPC over HTTP2", Length-Prefixed-Message). A message
//! consists of one byte that flags compression, four bytes with the length, and the content.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use tonic::Status;

use super::too_long;

/// The length in bytes of a message's prefix.
const PREFIX: usize = 5;

/// Appends a message to `out`, preceded by its five-byte prefix.
pub fn put(message: &impl Message, out: &mut BytesMut) {
    let length = message.encoded_len();
    out.reserve(PREFIX + length);
    out.put_u8(0);
    // No message of this crate comes near the 4 GiB that the prefix can express.
    out.put_u32(length as u32);
    message.encode_raw(out);
}

/// A splitter of frames into messages. A message shares the memory of its frame unless it extends
/// over several frames.
#[derive(Debug)]
pub struct Messages {
    limit: usize,
    frame: Bytes,
    /// The received part of a message that began in an earlier frame.
    begun: BytesMut,
}

impl Messages {
    /// Creates a splitter for messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, frame: Bytes::new(), begun: BytesMut::new() }
    }

    /// Adds the next frame. [`Messages::next_message`] must already have returned all messages of
    /// the previous frame.
    pub fn push(&mut self, frame: Bytes) {
        if self.begun.is_empty() {
            self.frame = frame;
        } else {
            self.begun.extend_from_slice(&frame);
            self.frame = self.begun.split().freeze();
        }
    }

    /// Returns the next complete message, or `None` if more frames are needed.
    pub fn next_message(&mut self) -> Option<Result<Bytes, Status>> {
        let &[compressed, a, b, c, d, ..] = &*self.frame else { return self.keep(0) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if compressed != 0 {
            let message = "A message is compressed, but its stream named no compression.";
            return Some(Err(Status::internal(message)));
        }
        if length > self.limit {
            return Some(Err(too_long(length, self.limit)));
        }
        if self.frame.len() < PREFIX + length {
            return self.keep(PREFIX + length);
        }
        self.frame.advance(PREFIX);
        Some(Ok(self.frame.split_to(length)))
    }

    /// Returns whether a message has arrived only partially, so that it would be lost if the stream
    /// ended now.
    pub fn is_inside(&self) -> bool {
        !self.begun.is_empty() || !self.frame.is_empty()
    }

    /// Returns the number of received bytes of the incomplete message.
    pub fn begun(&self) -> usize {
        self.begun.len()
    }

    /// Stores the rest of the frame, which is the beginning of a message of `whole` bytes, until
    /// further frames arrive.
    fn keep(&mut self, whole: usize) -> Option<Result<Bytes, Status>> {
        if !self.frame.is_empty() {
            let rest = std::mem::take(&mut self.frame);
            // The memory is usually not shared, so that the buffer can grow in place.
            self.begun = rest.into();
            self.begun.reserve(whole.saturating_sub(self.begun.len()).min(GROWTH));
        }
        None
    }
}

/// The maximum number of bytes that this end allocates for a message that a peer has announced but
/// not sent yet.
const GROWTH: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tonic::Code;

    use super::*;

    fn all(messages: &mut Messages) -> Vec<Bytes> {
        std::iter::from_fn(|| messages.next_message())
            .map(|message| message.expect("good"))
            .collect()
    }

    #[test]
    fn a_message_that_fits_a_frame_shares_its_memory() {
        let frame = Bytes::from_static(&[0, 0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0]);
        let start = frame.as_ptr();
        let mut messages = Messages::new(100);
        messages.push(frame);
        let got = all(&mut messages);
        assert_eq!(got, [&[7, 8][..], &[]]);
        assert_eq!(got[0].as_ptr(), start.wrapping_add(PREFIX));
        assert!(!messages.is_inside());
    }

    #[test]
    fn compressed_and_oversized_messages_are_refused() {
        for (frame, code) in [
            (&[1, 0, 0, 0, 1, 7][..], Code::Internal),
            (&[0, 0, 0, 0, 11, 7], Code::ResourceExhausted),
            (&[0, 0xff, 0xff, 0xff, 0xff], Code::ResourceExhausted),
        ] {
            let mut messages = Messages::new(10);
            messages.push(Bytes::copy_from_slice(frame));
            let refused = messages.next_message().expect("an answer").expect_err("refused");
            assert_eq!(refused.code(), code, "{frame:?}");
        }
    }

    #[test]
    fn an_announcement_allocates_little() {
        let mut messages = Messages::new(usize::MAX);
        messages.push(Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1]));
        assert!(messages.next_message().is_none());
        assert!(messages.is_inside());
        assert!(messages.begun.capacity() <= 2 * GROWTH);
    }

    proptest! {
        #[test]
        fn messages_may_be_split_at_any_byte(
            lengths in prop::collection::vec(0_usize..40, 0..12),
            cuts in prop::collection::vec(1_usize..30, 0..40),
        ) {
            let sent: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(i, length)| vec![i as u8; *length]).collect();
            let mut bytes = BytesMut::new();
            for message in &sent {
                bytes.put_u8(0);
                bytes.put_u32(message.len() as u32);
                bytes.extend_from_slice(message);
            }
            let mut bytes = bytes.freeze();
            let mut messages = Messages::new(40);
            let mut got = Vec::new();
            for cut in cuts {
                messages.push(bytes.split_to(cut.min(bytes.len())));
                got.extend(all(&mut messages));
            }
            messages.push(bytes);
            got.extend(all(&mut messages));
            prop_assert_eq!(got, sent);
            prop_assert!(!messages.is_inside());
        }
    }
}
