//! The header of all messages of all versions (`ofp_header`), and functions that write messages
//! with little more than a header: empty messages, echo replies and errors.

use super::{array_at, header_bytes, message_length, u8_at, u16_at};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::{Version, Xid};

/// The length of `ofp_header` in bytes.
pub const HEADER_LENGTH: usize = 8;

open_enum! {
    /// The values of `ofp_header.type` that both versions define alike.
    ///
    /// From number 15 on, the versions differ, and the constants are in the module of each version.
    pub MessageType: u8 {
        /// A message that opens the connection and contains the versions that the sender speaks.
        HELLO = 0,
        /// An error, such as the reason why the switch refused a request.
        ERROR = 1,
        /// An echo request, whose body the reply returns.
        ECHO_REQUEST = 2,
        /// An echo reply, with the body of the echo request.
        ECHO_REPLY = 3,
        /// A message that a vendor (`OFPT_VENDOR` in 1.0) or an experimenter (`OFPT_EXPERIMENTER`
        /// in 1.3) defines.
        VENDOR = 4,
        /// A request for the switch's features.
        FEATURES_REQUEST = 5,
        /// The features of the switch, in reply to a request for them.
        FEATURES_REPLY = 6,
        /// A request for the switch's configuration.
        GET_CONFIG_REQUEST = 7,
        /// The switch's configuration, in reply to a request for it.
        GET_CONFIG_REPLY = 8,
        /// A new configuration for the switch, to which there is no reply.
        SET_CONFIG = 9,
        /// A packet that the switch sends to the controller.
        PACKET_IN = 10,
        /// A notification that a flow entry was removed.
        FLOW_REMOVED = 11,
        /// A notification that a port was added, changed or removed.
        PORT_STATUS = 12,
        /// A packet that the controller makes the switch send.
        PACKET_OUT = 13,
        /// A message that adds, changes or removes flow entries.
        FLOW_MOD = 14,
    }
}

/// A view of a message's header.
///
/// The buffer may contain more bytes than the message. Further bytes are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Header<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Header<T> {
    /// Checks that the buffer holds a whole header and the whole message of the length in the
    /// header.
    pub fn new_checked(buffer: T) -> Result<Self, DecodeError> {
        let data = buffer.as_ref();
        if data.len() < HEADER_LENGTH {
            let kind = DecodeErrorKind::Truncated { needed: HEADER_LENGTH, available: data.len() };
            return Err(DecodeError { offset: 0, field: "ofp_header", kind });
        }
        let length = usize::from(u16_at(data, 2));
        if length < HEADER_LENGTH || length > data.len() {
            let kind =
                DecodeErrorKind::Length { value: length, min: HEADER_LENGTH, max: data.len() };
            return Err(DecodeError { offset: 2, field: "ofp_header.length", kind });
        }
        Ok(Self { buffer })
    }

    /// Returns the version byte, even if this crate does not speak the version.
    pub fn version(&self) -> u8 {
        u8_at(self.buffer.as_ref(), 0)
    }

    /// Returns the message's type.
    pub fn message_type(&self) -> MessageType {
        MessageType(u8_at(self.buffer.as_ref(), 1))
    }

    /// Returns the length of the message in bytes, including the header.
    pub fn length(&self) -> u16 {
        u16_at(self.buffer.as_ref(), 2)
    }

    /// Returns the transaction id of the message.
    pub fn xid(&self) -> Xid {
        Xid(u32::from_be_bytes(array_at(self.buffer.as_ref(), 4)))
    }

    /// Returns the bytes of the message after its header.
    pub fn body(&self) -> &[u8] {
        self.buffer.as_ref().get(HEADER_LENGTH..usize::from(self.length())).unwrap_or(&[])
    }
}

/// Appends a message that consists only of a header, such as a request without parameters or a
/// barrier reply.
pub fn emit_empty(version: Version, message_type: MessageType, xid: Xid, out: &mut Vec<u8>) {
    out.extend_from_slice(&header_bytes(version, message_type, HEADER_LENGTH as u16, xid));
}

/// Appends the reply to an echo request, with the version, transaction id and body of the request.
pub fn emit_echo_reply<T: AsRef<[u8]>>(request: &Header<T>, out: &mut Vec<u8>) {
    let body = request.body();
    // The reply is as long as the request, whose length fits into the field.
    let [l0, l1] = ((HEADER_LENGTH + body.len()) as u16).to_be_bytes();
    let [x0, x1, x2, x3] = request.xid().0.to_be_bytes();
    let reply = MessageType::ECHO_REPLY.0;
    out.extend_from_slice(&[request.version(), reply, l0, l1, x0, x1, x2, x3]);
    out.extend_from_slice(body);
}

/// Appends an error message with the type and code of a version.
///
/// The meaning of `data` depends on the code. For most codes, it is the message that caused the
/// error, of which at least the first 64 bytes must be returned (OpenFlow 1.0.0, 5.4.4; 1.3.5,
/// 7.4.4). `data` is sent completely.
pub fn emit_error(
    version: Version,
    xid: Xid,
    error_type: u16,
    code: u16,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let length = message_length("ofp_error_msg", HEADER_LENGTH + 4 + data.len())?;
    out.extend_from_slice(&header_bytes(version, MessageType::ERROR, length, xid));
    out.extend_from_slice(&error_type.to_be_bytes());
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(data);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_where_they_lie() {
        let bytes = b"\x04\x02\x00\x0a\x00\x00\x00\x07hi-after";
        let header = Header::new_checked(bytes).unwrap();
        assert_eq!(header.version(), 4);
        assert_eq!(header.message_type(), MessageType::ECHO_REQUEST);
        assert_eq!(header.length(), 10);
        assert_eq!(header.xid(), Xid(7));
        assert_eq!(header.body(), b"hi");
    }

    #[test]
    fn short_buffers_and_lengths_are_refused() {
        assert!(Header::new_checked([1, 0, 0, 8, 0, 0, 0]).is_err());
        for length in [0, 7, 9] {
            let error = Header::new_checked([1, 0, 0, length, 0, 0, 0, 0]).unwrap_err();
            assert_eq!((error.offset, error.field), (2, "ofp_header.length"));
        }
    }

    #[test]
    fn an_echo_is_answered_in_its_own_version() {
        let request = Header::new_checked(&b"\x05\x02\x00\x0b\x00\x00\x00\x09abc"[..]).unwrap();
        let mut out = Vec::new();
        emit_echo_reply(&request, &mut out);
        assert_eq!(out, b"\x05\x03\x00\x0b\x00\x00\x00\x09abc");
    }

    #[test]
    fn errors_carry_the_message_at_fault() {
        let mut out = Vec::new();
        emit_error(Version::V1_3, Xid(1), 1, 2, b"bad", &mut out).unwrap();
        assert_eq!(out, b"\x04\x01\x00\x0f\x00\x00\x00\x01\x00\x01\x00\x02bad");
        let long = vec![0; 65_524];
        assert!(emit_error(Version::V1_3, Xid(1), 1, 2, &long, &mut out).is_err());
        assert_eq!(out.len(), 15, "nothing is appended on failure");
    }
}
