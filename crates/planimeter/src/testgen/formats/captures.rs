//! Writes the packets of generated tests as capture files.

use std::collections::BTreeMap;
use std::io;

use packetio::pcap::{CaptureWriter, LinkType};
use symbolic::generated::{Exchange, Test};

use super::entities::{NoUpdate, bytes, masked};

/// The number of nanoseconds in a second, the time between a test and the next.
const SECOND: u64 = 1_000_000_000;
/// The number of nanoseconds in a millisecond, the time between two packets that the switch
/// receives in a test.
const MILLISECOND: u64 = 1_000_000;

/// Frames with their times in nanoseconds.
type Frames = Vec<(u64, Vec<u8>)>;

/// The reason why the packets of a test cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum CapturesError {
    #[error("{0}")]
    Digits(#[from] NoUpdate),
    #[error("{0}")]
    Frame(#[from] io::Error),
}

/// Returns a capture for each port and direction, by file name. Captures cannot store the number of
/// a test, so the times of packets encode it. Each test begins a second after the last packet of
/// the previous test, rounded down to whole seconds. If no time passes within tests, the n-th test
/// therefore begins at n seconds. A packet that the switch receives has its time in the test, plus
/// a millisecond for each packet before it. The packets that leave follow in the order in which
/// they are expected. Undefined digits are zero.
pub(super) fn captures(tests: &[Test]) -> Result<BTreeMap<String, Vec<u8>>, CapturesError> {
    let mut ports: BTreeMap<String, Frames> = BTreeMap::new();
    let mut passed: u64 = 0;
    for test in tests {
        let number = u64::try_from(test.number).unwrap_or(u64::MAX);
        let start = number.saturating_add(passed).saturating_mul(SECOND);
        passed = passed.saturating_add(test.seconds.into());
        let mut before: u64 = 0;
        for Exchange { seconds, port, packet, outputs } in test.exchanges() {
            let at = start.saturating_add(u64::from(seconds) * SECOND).saturating_add(before);
            let frame = bytes(&packet).ok_or(NoUpdate::Number(packet))?;
            ports.entry(format!("in-{port}.pcap")).or_default().push((at, frame));
            for (position, output) in (1..).zip(&outputs) {
                let frame = (at + position, masked(&output.digits)?.payload);
                ports.entry(format!("out-{}.pcap", output.port)).or_default().push(frame);
            }
            before = before.saturating_add(MILLISECOND);
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
