//! OpenFlow 1.0 and 1.3 on the wire, without sockets or clocks.
//!
//! The crate offers the same bytes at three prices:
//!
//! * [`wire`]: views over a message that read or change a field in place and allocate nothing, and
//!   emitters that append a whole packet-in or packet-out; for the paths that run millions of times
//!   a second.
//! * [`v1_0::Message`] and [`v1_3::Message`]: owned representations of every message, which decode
//!   and encode byte-exactly; for everything else.
//! * [`framing`] and [`handshake`]: what lies between a byte stream and those messages, as state
//!   machines that are handed bytes and time and hand bytes back.
//!
//! Nothing here panics on bad bytes or allocates more than in proportion to what it was given;
//! errors name the field and its offset in the message.

#[macro_use]
mod open_enum;

mod cursor;
mod error;
mod error_reason;
pub mod framing;
pub mod handshake;
mod id;
mod port;
mod text;
pub mod v1_0;
pub mod v1_3;
pub mod wire;

pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use error_reason::ErrorReason;
pub use id::{BufferId, DatapathId, MacAddress, ParseIdError, Version, Xid};
pub use port::PortNumber;
pub use text::FixedText;
