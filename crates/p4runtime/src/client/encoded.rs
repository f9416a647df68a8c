//! Updates that are encoded before the request that carries them is made.

use bytes::{Buf, BufMut, Bytes};
use prost::encoding::{DecodeContext, WireType};
use prost::{DecodeError, Message};

use crate::proto::v1::{Update, WriteRequest};

/// Updates of a Write request in the form in which they are sent. They take a tenth of the memory
/// of [`Update`]s, and their encoding takes no time when they are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedUpdates(Bytes);

impl EncodedUpdates {
    /// Encodes updates.
    #[must_use]
    pub fn of(updates: Vec<Update>) -> Self {
        // The bytes of a request that has no other fields are those of its updates.
        let request = WriteRequest { updates, ..WriteRequest::default() };
        Self(request.encode_to_vec().into())
    }
}

/// A Write request whose updates are encoded already. It is encoded as its other fields followed by
/// the updates, because protobuf permits the concatenation of the encodings of two parts of a
/// message.
#[derive(Debug)]
pub(super) struct EncodedWrite {
    /// The fields of the request other than the updates.
    pub(super) rest: WriteRequest,
    pub(super) updates: EncodedUpdates,
}

impl Message for EncodedWrite {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        self.rest.encode_raw(buffer);
        buffer.put_slice(&self.updates.0);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        self.rest.merge_field(tag, wire_type, buffer, context)
    }

    fn encoded_len(&self) -> usize {
        self.rest.encoded_len() + self.updates.0.len()
    }

    fn clear(&mut self) {
        self.rest.clear();
        self.updates.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::v1::{Uint128, update::Type};

    #[test]
    fn a_request_with_encoded_updates_is_that_with_the_updates() {
        let updates: Vec<Update> = [Type::Insert, Type::Modify, Type::Delete]
            .map(|kind| Update { r#type: kind as i32, entity: None })
            .into();
        let rest = WriteRequest {
            device_id: 7,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            atomicity: 2,
            ..WriteRequest::default()
        };
        let whole = WriteRequest { updates: updates.clone(), ..rest.clone() };
        let request = EncodedWrite { rest, updates: EncodedUpdates::of(updates) };
        assert_eq!(request.encoded_len(), whole.encoded_len());
        assert_eq!(WriteRequest::decode(request.encode_to_vec().as_slice()), Ok(whole));
    }
}
