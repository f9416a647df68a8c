//! The packets of generated tests as capture files.

use std::collections::BTreeMap;
use std::io;

use packetio::pcap::{CaptureWriter, LinkType};
use symbolic::generated::{Exchange, Test};

use super::entities::{NoUpdate, bytes, masked};

/// The time in nanoseconds between the packets of a test and those of the next.
const SECOND: u64 = 1_000_000_000;
/// The time in nanoseconds between the packets that the switch receives in a test.
const MILLISECOND: u64 = 1_000_000;

/// Frames with their times in nanoseconds.
type Frames = Vec<(u64, Vec<u8>)>;

/// The reason why packets are not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum CapturesError {
    #[error("{0}")]
    Digits(#[from] NoUpdate),
    #[error("{0}")]
    Frame(#[from] io::Error),
}

/// Returns a capture for each port and direction, by file name. A capture has no place for the
/// number of a test, so the first packet of the n-th test has the time of n seconds, and each other
/// one that the switch receives a millisecond more. Those that leave follow in the order in which
/// they are expected. Undefined digits are zero.
pub(super) fn captures(tests: &[Test]) -> Result<BTreeMap<String, Vec<u8>>, CapturesError> {
    let mut ports: BTreeMap<String, Frames> = BTreeMap::new();
    for test in tests {
        let mut at = u64::try_from(test.number).unwrap_or(u64::MAX).saturating_mul(SECOND);
        for Exchange { port, packet, outputs } in test.exchanges() {
            let frame = bytes(&packet).ok_or(NoUpdate::Number(packet))?;
            ports.entry(format!("in-{port}.pcap")).or_default().push((at, frame));
            for (position, output) in (1..).zip(&outputs) {
                let frame = (at + position, masked(&output.digits)?.payload);
                ports.entry(format!("out-{}.pcap", output.port)).or_default().push(frame);
            }
            at = at.saturating_add(MILLISECOND);
        }
    }
    let mut files = BTreeMap::new();
    for (name, frames) in ports {
        let mut writer = CaptureWriter::new(Vec::new(), LinkType::ETHERNET)?;
        for (at, frame) in frames {
            writer.write_frame(at, &frame)?;
        }
        files.insert(name, writer.finish()?);
    }
    Ok(files)
}
