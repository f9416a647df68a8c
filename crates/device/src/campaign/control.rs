//! Control windows: periods of fixed work that are timed between packets, and that show how the
//! host delays a measurement.

use super::Picoseconds;

/// A period of fixed work after a packet, and the interrupts since the previous such period.
///
/// The first control window of a block precedes its first packet. If windows and packets are
/// numbered from 0, window n + 1 therefore follows packet n.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Control {
    /// The duration of the fixed work in the control window.
    pub took: Picoseconds,
    /// Whether an interrupt occurred during the control window.
    pub interrupted: bool,
    /// Whether an interrupt occurred while the packet before the control window was processed.
    pub packet_interrupted: bool,
}

/// The size of a control window in `delays.bin`: its duration in picoseconds (8 bytes,
/// little-endian) and its interrupts (1 byte).
pub(super) const CONTROL_BYTES: usize = 9;

pub(super) fn encode(controls: &[Control]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(controls.len() * CONTROL_BYTES);
    for control in controls {
        bytes.extend_from_slice(&control.took.0.to_le_bytes());
        let packet = u8::from(control.packet_interrupted) << 1;
        bytes.push(u8::from(control.interrupted) | packet);
    }
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Vec<Control> {
    let control = |bytes: &[u8]| {
        let (took, interrupts) = bytes.split_first_chunk()?;
        let interrupts = interrupts.first()?;
        Some(Control {
            took: Picoseconds(i64::from_le_bytes(*took)),
            interrupted: interrupts & 1 != 0,
            packet_interrupted: interrupts & 2 != 0,
        })
    };
    bytes.chunks_exact(CONTROL_BYTES).filter_map(control).collect()
}
