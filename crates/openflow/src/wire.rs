//! Views over messages and emitters, for the paths that run millions of times a second.
//!
//! A view wraps a buffer, checks once that the fixed fields and the lengths inside are sound
//! (`new_checked`), and then reads fields in place. One view serves both versions, because the
//! code that answers a packet-in does not care which one it came in; what differs is a handful of
//! offsets. Messages that are rare have no view: [`v1_0::Message`](crate::v1_0::Message) and
//! [`v1_3::Message`](crate::v1_3::Message) decode them.
//!
//! The emitters append to a `Vec<u8>` that the caller keeps, so that many messages share one
//! buffer and one write.

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

/// Reads `N` bytes at `at`. The views call it only for ranges that their constructor checked; a
/// buffer whose `as_ref` shrank since yields zeroes instead of a panic.
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

/// Overwrites `N` bytes at `at`, with the same reservation as [`array_at`].
fn put_at<const N: usize>(data: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(field) = data.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *field = value;
    }
}

/// What a view learns from the header: the version, and where the message ends.
struct Checked {
    version: Version,
    end: usize,
}

/// Checks the header, that the message is of type `expected`, and that it has the fixed fields,
/// which occupy `fixed(version)` bytes from the start of the message.
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

/// The length field of a message of `length` bytes, if it has one.
fn message_length(field: &'static str, length: usize) -> Result<u16, EncodeError> {
    u16::try_from(length).map_err(|_| EncodeError::TooLong {
        field,
        length,
        max: usize::from(u16::MAX),
    })
}

/// The eight bytes that start every message.
fn header_bytes(version: Version, message_type: MessageType, length: u16, xid: Xid) -> [u8; 8] {
    let [l0, l1] = length.to_be_bytes();
    let [x0, x1, x2, x3] = xid.0.to_be_bytes();
    [version.wire(), message_type.0, l0, l1, x0, x1, x2, x3]
}
