//! Fuzzes the decoder of gRPC messages. Frames are cut at arbitrary positions, on which the decoded
//! messages must not depend.

use bytes::Bytes;
use grpc::Messages;

/// The maximum length of a message.
const LIMIT: usize = 1 << 12;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Some((&step, data)) = data.split_first() else { return };
    let whole = received(std::iter::once(data));
    // The lengths of the frames vary, and some frames are empty.
    let mut rest = data;
    let frames =
        std::iter::successors(Some(usize::from(step) % 7), |length| Some((length + 3) % 7))
            .map_while(|length| {
                if rest.is_empty() {
                    return None;
                }
                let (frame, after) = rest.split_at(length.min(rest.len()));
                rest = after;
                Some(frame)
            });
    assert_eq!(received(frames), whole);
}

/// Returns the messages up to the first error, whether there was an error, and whether a message is
/// incomplete.
fn received<'data>(frames: impl Iterator<Item = &'data [u8]>) -> (Vec<Bytes>, bool, bool) {
    let mut messages = Messages::new(LIMIT);
    let mut found = Vec::new();
    for frame in frames {
        messages.push(Bytes::copy_from_slice(frame));
        while let Some(message) = messages.next_message() {
            match message {
                Ok(message) => found.push(message),
                Err(_) => return (found, true, false),
            }
        }
    }
    (found, false, messages.is_inside())
}
