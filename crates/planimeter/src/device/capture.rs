//! Reads captures with time stamps, which were recorded by taps before and after a device.

use std::path::Path;

use device::import::Captured;
use packetio::pcap::CaptureReader;

use crate::failure::Failure;

/// A captured frame with its time stamp.
pub(super) struct Frame {
    /// The time at which the frame was captured, in nanoseconds since 1970.
    pub(super) timestamp: u64,
    /// The length of the frame on the wire in bytes, according to the capture. The captured data
    /// may be shorter.
    pub(super) bytes: u32,
    data: Vec<u8>,
}

/// Reads all frames of a pcap or pcapng file. Returns an error if a frame has no time stamp.
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

/// Converts frames for matching: each frame captured before a device is matched with the same frame
/// after it.
pub(super) fn packets(frames: &[Frame]) -> Vec<Captured<'_>> {
    frames
        .iter()
        .map(|Frame { timestamp, data, .. }| Captured { timestamp: *timestamp, data })
        .collect()
}
