//! Captures of taps, with times.

use std::path::Path;

use device::import::Captured;
use packetio::pcap::CaptureReader;

use crate::failure::Failure;

/// A frame of a capture.
pub(super) struct Frame {
    /// Nanoseconds since 1970.
    pub(super) timestamp: u64,
    /// Its length on the wire, as far as the capture says.
    pub(super) bytes: u32,
    data: Vec<u8>,
}

/// All frames of a pcap or pcapng file.
pub(super) fn read(path: &Path) -> Result<Vec<Frame>, Failure> {
    let mut reader = CaptureReader::open(path).map_err(Failure::input)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().map_err(Failure::input)? {
        let timestamp = frame.timestamp.ok_or_else(|| {
            Failure::input(format!(
                "{}: the packet at byte {} has no time",
                path.display(),
                frame.offset
            ))
        })?;
        let (bytes, data) = (frame.original_bytes, frame.data.to_vec());
        frames.push(Frame { timestamp, bytes, data });
    }
    Ok(frames)
}

/// As they are matched.
pub(super) fn packets(frames: &[Frame]) -> Vec<Captured<'_>> {
    frames
        .iter()
        .map(|Frame { timestamp, data, .. }| Captured { timestamp: *timestamp, data })
        .collect()
}
