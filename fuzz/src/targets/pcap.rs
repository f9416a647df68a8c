//! Fuzzes the reader of pcap and pcapng captures. The frames of a capture are written to another
//! one, from which they must be read back unchanged.

use std::path::Path;

use packetio::pcap::{CaptureReader, CaptureWriter, LinkType};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(mut reader) = CaptureReader::new(Path::new("fuzz.pcap"), data) else { return };
    let mut writer = CaptureWriter::new(Vec::new(), LinkType::ETHERNET).expect("memory");
    let mut read = Vec::new();
    while let Ok(Some(frame)) = reader.next_frame() {
        let time = frame.timestamp.unwrap_or(0);
        if writer.write_frame(time, frame.data).is_ok() {
            read.push((time, frame.data.to_vec()));
        }
    }
    let written = writer.finish().expect("memory");
    let mut reader = CaptureReader::new(Path::new("again.pcap"), &written[..]).expect("ours");
    for (time, data) in read {
        let frame = reader.next_frame().expect("ours").expect("as many as were written");
        assert_eq!((frame.timestamp, frame.data), (Some(time), &data[..]));
    }
}
