//! Capture files: pcap (microseconds and nanoseconds, either byte order) and pcapng.
//!
//! The formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. The crate
//! `pcap-parser` parses blocks and records. [`CaptureReader`] passes data to the parser from a
//! buffer of bounded size, keeps the interfaces of a pcapng section, converts all timestamps to
//! nanoseconds since 1970, and reports the file and the offset of an error. From a truncated
//! capture, it returns the complete frames and then [`CaptureError::Truncated`].

mod error;
mod port;
mod reader;
mod writer;

pub use error::CaptureError;
pub(crate) use port::SharedCapture;
pub use port::{Files, open};
pub use reader::{CaptureReader, Frame, is_capture};
pub use writer::CaptureWriter;

/// The link-layer header type of a frame, as numbered by the tcpdump group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// The type of frames with an Ethernet header.
    pub const ETHERNET: Self = Self(1);
}

#[cfg(test)]
mod tests;
