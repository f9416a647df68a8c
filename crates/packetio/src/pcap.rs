//! Capture files: pcap (microseconds and nanoseconds, either byte order) and pcapng.
//!
//! Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Blocks and records are parsed by
//! the crate `pcap-parser`; [`CaptureReader`] drives it with a buffer of bounded size, keeps the
//! interfaces of a pcapng section, converts all time stamps to nanoseconds since 1970 and says
//! which file is at fault and where. A capture that was cut off yields its whole frames, then
//! [`CaptureError::Truncated`].

mod error;
mod port;
mod reader;
mod writer;

pub use error::CaptureError;
pub(crate) use port::SharedCapture;
pub use port::{Files, open};
pub use reader::{CaptureReader, Frame, is_capture};
pub use writer::CaptureWriter;

/// What the bytes of a frame begin with: a number of the tcpdump group's link-layer header types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// An Ethernet header.
    pub const ETHERNET: Self = Self(1);
}

#[cfg(test)]
mod tests;
