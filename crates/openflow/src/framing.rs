//! Splits a byte stream into messages.
//!
//! A reader passes each chunk of bytes to [`Framer::frames`], which returns the messages that are
//! now complete, borrowed from the chunk itself. Only a message that straddles two chunks is
//! copied. A chunk of a thousand small messages therefore costs at most two copies, and an idle
//! connection holds no buffer, so that one read buffer serves any number of connections. The framer
//! stores at most the longest message, 65,535 bytes, unless the caller abandons a half-read chunk.
//!
//! ```
//! use openflow::framing::Framer;
//!
//! let mut framer = Framer::new();
//! let first: Vec<_> = framer.frames(b"\x01\x00\x00\x08\x00\x00\x00\x01\x01\x05\x00").collect();
//! assert_eq!(first, [Ok(&b"\x01\x00\x00\x08\x00\x00\x00\x01"[..])]);
//! let second: Vec<_> = framer.frames(b"\x08\x00\x00\x00\x02").collect();
//! assert_eq!(second, [Ok(&b"\x01\x05\x00\x08\x00\x00\x00\x02"[..])]);
//! ```

use crate::wire::HEADER_LENGTH;

/// The number of bytes at the start of a message that contain its length field.
const LENGTH_END: usize = 4;

/// The error for an impossible length field: the stream is not OpenFlow, or its framing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the message at byte {position} of the stream starts with {start:02x?} and so claims \
     {length} bytes, less than the 8 of a header: the peer does not speak OpenFlow"
)]
pub struct FramingError {
    /// The number of bytes that were received on the connection before the invalid message.
    pub position: u64,
    /// The value of the invalid length field.
    pub length: u16,
    /// The first bytes of the invalid message.
    pub start: [u8; LENGTH_END],
}

/// A splitter of the bytes that arrive on a connection into messages.
///
/// The framer reads only the length field, and leaves versions and types to the caller.
#[derive(Clone, Debug, Default)]
pub struct Framer {
    /// The received bytes of the last message if the message is not complete yet.
    held: Vec<u8>,
    /// The complete message that began in an earlier chunk. It is lent to the caller while `held`
    /// receives the end of the current chunk.
    lent: Vec<u8>,
    /// The number of bytes of all messages that were yielded so far.
    position: u64,
    failure: Option<FramingError>,
}

impl Framer {
    /// Creates a framer at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Receives the next bytes of the stream and yields the messages that these bytes complete.
    ///
    /// After an error the rest of the stream cannot be split, and every further call yields the
    /// error again. Messages that the caller does not take out of the iterator are yielded with the
    /// next chunk.
    pub fn frames<'a>(&'a mut self, chunk: &'a [u8]) -> Frames<'a> {
        self.lent.clear();
        let mut rest = chunk;
        if !self.held.is_empty() {
            rest = self.complete_held(chunk);
            let length = message_length(&self.held).map(usize::from);
            let yields = |&length: &usize| length < HEADER_LENGTH || length <= self.held.len();
            if let Some(length) = length.filter(yields) {
                if length < self.held.len() {
                    // The caller left messages in the iterator, and `rest` continues the last one.
                    self.held.extend_from_slice(rest);
                    rest = &[];
                }
                std::mem::swap(&mut self.held, &mut self.lent);
            }
        }
        Frames {
            straddling: &self.lent,
            rest,
            held: &mut self.held,
            position: &mut self.position,
            failure: &mut self.failure,
            failed: false,
        }
    }

    /// Returns the beginning of a message whose end has not arrived yet.
    ///
    /// If a peer that does not speak OpenFlow appears silent, these bytes show the cause: they look
    /// like the beginning of a long message.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Returns the number of bytes of complete messages yielded since the start of the stream.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes of the chunk to the incomplete message in `held`, until that message is
    /// complete. Returns the rest of the chunk.
    fn complete_held<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let missing = LENGTH_END.saturating_sub(self.held.len());
        let rest = move_up_to(missing, chunk, &mut self.held);
        let Some(length) = message_length(&self.held) else { return rest };
        let missing = usize::from(length).saturating_sub(self.held.len());
        move_up_to(missing, rest, &mut self.held)
    }
}

/// An iterator over the messages that a chunk completes, which [`Framer::frames`] creates.
#[derive(Debug)]
pub struct Frames<'a> {
    /// The message that began in an earlier chunk and that this chunk completes (empty if there is
    /// none).
    straddling: &'a [u8],
    /// The part of the chunk that follows the straddling message.
    rest: &'a [u8],
    held: &'a mut Vec<u8>,
    position: &'a mut u64,
    failure: &'a mut Option<FramingError>,
    /// Whether this iterator has yielded the error that ends the stream.
    failed: bool,
}

impl<'a> Frames<'a> {
    #[cold]
    fn fail(&mut self, error: FramingError) -> Option<Result<&'a [u8], FramingError>> {
        *self.failure = Some(error);
        let again = std::mem::replace(&mut self.failed, true);
        (!again).then_some(Err(error))
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<&'a [u8], FramingError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = *self.failure {
            return self.fail(error);
        }
        let from = if self.straddling.is_empty() { &mut self.rest } else { &mut self.straddling };
        let length = message_length(from)?;
        if usize::from(length) < HEADER_LENGTH {
            let start = from.first_chunk().copied().unwrap_or_default();
            return self.fail(FramingError { position: *self.position, length, start });
        }
        let (frame, rest) = from.split_at_checked(usize::from(length))?;
        *from = rest;
        *self.position += u64::from(length);
        Some(Ok(frame))
    }
}

impl Drop for Frames<'_> {
    /// Stores the bytes that were not yielded, so that they are yielded with the next chunk.
    fn drop(&mut self) {
        if self.failure.is_some() {
            self.held.clear();
        } else {
            self.held.extend_from_slice(self.straddling);
            self.held.extend_from_slice(self.rest);
        }
    }
}

/// Returns the length of the message that begins `data`, or `None` if `data` ends before the length
/// field does.
#[inline]
fn message_length(data: &[u8]) -> Option<u16> {
    let [_, _, high, low] = *data.first_chunk::<LENGTH_END>()?;
    Some(u16::from_be_bytes([high, low]))
}

/// Appends up to `count` bytes of `from` to `to`, and returns the remaining bytes of `from`.
fn move_up_to<'a>(count: usize, from: &'a [u8], to: &mut Vec<u8>) -> &'a [u8] {
    let (moved, rest) = from.split_at(count.min(from.len()));
    to.extend_from_slice(moved);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: u16, fill: u8) -> Vec<u8> {
        let mut bytes = vec![fill; usize::from(length)];
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    fn messages() -> Vec<Vec<u8>> {
        [8, 9, 300, 8, 65_535, 12, 8].into_iter().zip(1..).map(|(l, f)| message(l, f)).collect()
    }

    #[test]
    fn any_cut_of_the_stream_yields_the_same_messages() {
        let expected = messages();
        let stream = expected.concat();
        for size in [1, 2, 3, 5, 7, 8, 9, 100, 4096, 65_535, 65_536, stream.len()] {
            let mut framer = Framer::new();
            let mut seen = Vec::new();
            for chunk in stream.chunks(size) {
                for frame in framer.frames(chunk) {
                    seen.push(frame.unwrap().to_vec());
                }
            }
            assert_eq!(seen, expected, "chunks of {size}");
            assert_eq!(framer.position(), stream.len() as u64);
            assert!(framer.held().is_empty());
        }
    }

    #[test]
    fn whole_messages_are_lent_from_the_chunk_itself() {
        let chunk = [message(8, 1), message(16, 2)].concat();
        let mut framer = Framer::new();
        let frames: Vec<_> = framer.frames(&chunk).map(|frame| frame.unwrap().as_ptr()).collect();
        assert_eq!(frames, [chunk.as_ptr(), chunk[8..].as_ptr()]);
    }

    #[test]
    fn messages_left_in_the_iterator_come_with_the_next_chunk() {
        let expected = messages();
        let stream = expected.concat();
        for size in [5, 11, 4096, stream.len()] {
            let mut framer = Framer::new();
            let mut seen = Vec::new();
            for chunk in stream.chunks(size) {
                // At most one message is taken from each chunk.
                seen.extend(framer.frames(chunk).next().map(|frame| frame.unwrap().to_vec()));
            }
            while seen.len() < expected.len() {
                seen.push(framer.frames(&[]).next().unwrap().unwrap().to_vec());
            }
            assert_eq!(seen, expected, "chunks of {size}");
        }
    }

    #[test]
    fn an_impossible_length_is_named_with_its_position_and_ends_the_stream() {
        let mut stream = [message(8, 1), message(20, 2)].concat();
        stream.extend_from_slice(b"\x01\x02\x00\x07rest");
        let failure = FramingError { position: 28, length: 7, start: [1, 2, 0, 7] };
        for size in 1..=stream.len() {
            let mut framer = Framer::new();
            let (mut frames, mut errors) = (0, 0);
            for chunk in stream.chunks(size) {
                for frame in framer.frames(chunk) {
                    match frame {
                        Ok(_) => frames += 1,
                        Err(error) => {
                            assert_eq!(error, failure);
                            errors += 1;
                        }
                    }
                }
            }
            assert_eq!(frames, 2, "chunks of {size}");
            assert!(errors >= 1, "chunks of {size}");
            assert_eq!(framer.frames(&message(8, 1)).next(), Some(Err(failure)));
            assert!(framer.held().is_empty(), "nothing is collected after a failure");
        }
    }

    #[test]
    fn an_impossible_length_is_reported_as_soon_as_it_is_read() {
        let mut framer = Framer::new();
        for byte in [1, 2, 0] {
            assert_eq!(framer.frames(&[byte]).next(), None);
        }
        let failure = FramingError { position: 0, length: 7, start: [1, 2, 0, 7] };
        assert_eq!(framer.frames(&[7]).next(), Some(Err(failure)));
    }

    #[test]
    fn text_from_another_protocol_is_visible_while_it_waits() {
        let mut framer = Framer::new();
        assert_eq!(
            framer
                .frames(
                    b"HTTP/1.1 400 Bad Request
"
                )
                .count(),
            0
        );
        assert!(framer.held().starts_with(b"HTTP/1.1"));
    }
}
