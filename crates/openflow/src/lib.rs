//! OpenFlow 1.0 and 1.3 on the wire, without sockets or clocks.

mod cursor;
mod error;
pub mod v1_0;
pub mod v1_3;

pub use error::{DecodeError, DecodeErrorKind, EncodeError};
