//! Views over messages, and emitters, for code that runs millions of times per second.
//!
//! A view wraps a buffer, checks once that the fixed fields and the lengths inside are valid
//! (`new_checked`), and then reads fields in place. One view serves both versions, which differ
//! only in a few offsets, so that code that answers a packet-in does not depend on the version.
//! Rare messages have no view: [`v1_0::Message`](crate::v1_0::Message) and
//! [`v1_3::Message`](crate::v1_3::Message) decode them.
//!
//! The emitters append to a `Vec<u8>` of the caller, so that many messages share one buffer and one
//! write.

mod flow_mod;
mod header;
mod packet_in;
mod packet_out;

pub use flow_mod::{FlowMod, FlowModCommand};
pub use header::{HEADER_LENGTH, Header, MessageType, emit_echo_reply, emit_empty, emit_error};
pub use packet_in::{PacketIn, PacketInFields};
pub use packet_out::{Outputs, PacketOut, PacketOutFields};

use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::{Version, Xid};

/// Returns the `N` bytes at offset `at`. The views read only ranges that their constructor checked.
/// If the buffer has become shorter since that check, this returns zeros instead of panicking.
fn array_at<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    data.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn u8_at(data: &[u8], at: usize) -> u8 {
    data.get(at).copied().unwrap_or(0)
}

fn u16_at(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(data, at))
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(data, at))
}

fn u64_at(data: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array_at(data, at))
}

/// Overwrites `N` bytes at offset `at`. Does nothing if the buffer has become shorter since it was
/// checked (see [`array_at`]).
fn put_at<const N: usize>(data: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(field) = data.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *field = value;
    }
}

/// The result of checking a message's header: the version, and the offset at which the message
/// ends.
struct Checked {
    version: Version,
    end: usize,
}

/// Checks that a message has a valid header, that it is of the type `expected`, and that it
/// contains all of its fixed fields. These fields occupy the first `fixed(version)` bytes of the
/// message.
fn check(
    data: &[u8],
    expected: MessageType,
    field: &'static str,
    fixed: impl Fn(Version) -> usize,
) -> Result<Checked, DecodeError> {
    let header = Header::new_checked(data)?;
    let version = Version::from_wire(header.version()).ok_or(DecodeError {
        offset: 0,
        field: "ofp_header.version",
        kind: DecodeErrorKind::Version(header.version()),
    })?;
    if header.message_type() != expected {
        return Err(DecodeError {
            offset: 1,
            field: "ofp_header.type",
            kind: DecodeErrorKind::UnknownType(u32::from(header.message_type().0)),
        });
    }
    let end = usize::from(header.length());
    let needed = fixed(version);
    if end < needed {
        return Err(DecodeError {
            offset: HEADER_LENGTH,
            field,
            kind: DecodeErrorKind::Truncated {
                needed: needed - HEADER_LENGTH,
                available: end - HEADER_LENGTH,
            },
        });
    }
    Ok(Checked { version, end })
}

/// Returns the value of the length field of a message of `length` bytes, or an error if the length
/// does not fit in it.
fn message_length(field: &'static str, length: usize) -> Result<u16, EncodeError> {
    u16::try_from(length).map_err(|_| EncodeError::TooLong {
        field,
        length,
        max: usize::from(u16::MAX),
    })
}

/// Returns the eight bytes that start every message.
fn header_bytes(version: Version, message_type: MessageType, length: u16, xid: Xid) -> [u8; 8] {
    let [l0, l1] = length.to_be_bytes();
    let [x0, x1, x2, x3] = xid.0.to_be_bytes();
    [version.wire(), message_type.0, l0, l1, x0, x1, x2, x3]
}
