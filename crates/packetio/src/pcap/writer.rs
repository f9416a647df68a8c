//! A writer of captures in the classic pcap format, which most tools read.

use std::io::{self, Write};

use super::LinkType;

/// The magic number of a pcap file with nanoseconds (draft-ietf-opsawg-pcap, section 4).
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// The largest number of captured bytes of a frame, which is the value that tcpdump writes.
const SNAPLEN: u32 = 262_144;

/// A writer of little-endian pcap files with nanosecond timestamps.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    output: W,
}

impl<W: Write> CaptureWriter<W> {
    /// Creates a writer and writes the file header.
    ///
    /// # Errors
    ///
    /// Returns the error of `output`.
    pub fn new(mut output: W, link_type: LinkType) -> io::Result<Self> {
        let mut header = [0; 24];
        header[..4].copy_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
        header[4..6].copy_from_slice(&2u16.to_le_bytes());
        header[6..8].copy_from_slice(&4u16.to_le_bytes());
        header[16..20].copy_from_slice(&SNAPLEN.to_le_bytes());
        header[20..22].copy_from_slice(&link_type.0.to_le_bytes());
        output.write_all(&header)?;
        Ok(Self { output })
    }

    /// Writes a frame with its timestamp in nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// Returns the error of `output`, or an error if the frame has more than 262,144 bytes or its
    /// timestamp lies beyond the year 2106, which is the last one that the format can represent.
    pub fn write_frame(&mut self, timestamp: u64, frame: &[u8]) -> io::Result<()> {
        let seconds = u32::try_from(timestamp / 1_000_000_000).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "time stamp beyond the year 2106")
        })?;
        let length = u32::try_from(frame.len())
            .ok()
            .filter(|length| *length <= SNAPLEN)
            .ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("a frame of {} bytes; a capture holds {SNAPLEN} at most", frame.len()),
                )
            })?;
        // The remainder is below 10^9, so it fits.
        let nanoseconds = (timestamp % 1_000_000_000) as u32;
        let mut header = [0; 16];
        header[..4].copy_from_slice(&seconds.to_le_bytes());
        header[4..8].copy_from_slice(&nanoseconds.to_le_bytes());
        header[8..12].copy_from_slice(&length.to_le_bytes());
        header[12..].copy_from_slice(&length.to_le_bytes());
        self.output.write_all(&header)?;
        self.output.write_all(frame)
    }

    /// Flushes the output.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}
