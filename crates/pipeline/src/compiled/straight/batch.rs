//! What packets of a batch became.

use crate::architecture::Output;
use crate::error::RunError;

/// What packets of a batch became: those that leave, in memory which is used again.
#[derive(Debug, Default)]
pub struct Batch {
    /// Packets one behind the other.
    pub(super) bytes: Vec<u8>,
    /// Packets that code put where they leave from. What it does not write keeps what it had before.
    pub(in crate::compiled) room: Vec<u8>,
    pub(in crate::compiled) sent: Vec<Sent>,
    pub(super) errors: Vec<(usize, RunError)>,
}

/// A packet that leaves. Code writes such records.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::compiled) struct Sent {
    pub(in crate::compiled) packet: usize,
    pub(in crate::compiled) start: usize,
    pub(in crate::compiled) end: usize,
    /// The high half, which is zero in what code writes, says that the packet is in [`Batch::bytes`] and how often it was
    /// resubmitted, recirculated or cloned.
    pub(in crate::compiled) port: u64,
}

pub(super) const IN_BYTES: u64 = 1 << 32;
/// From this bit of [`Sent::port`] on there is the generation.
pub(super) const GENERATION: u32 = 33;

impl Batch {
    /// Packets that leave, in order: the position in the batch of the packet that each comes from, its port, its bytes.
    pub fn sent(&self) -> impl ExactSizeIterator<Item = (usize, u32, &[u8])> {
        self.sent.iter().map(|sent| {
            let memory = if sent.port & IN_BYTES == 0 { &self.room } else { &self.bytes };
            let bytes = memory.get(sent.start..sent.end).unwrap_or(&[]);
            (sent.packet, sent.port as u32, bytes)
        })
    }

    /// Packets that could not be processed to their end, by their position in the batch: nothing leaves of them.
    #[must_use]
    pub fn errors(&self) -> &[(usize, RunError)] {
        &self.errors
    }

    /// Packets that are processed one by one; what left before an error does not leave.
    pub(crate) fn each(
        &mut self,
        packets: &[(u32, &[u8])],
        mut process: impl FnMut(usize, (u32, &[u8]), &mut Vec<Output>) -> Result<(), RunError>,
    ) {
        self.clear();
        let mut outputs = Vec::new();
        for (position, packet) in packets.iter().enumerate() {
            outputs.clear();
            if let Err(error) = process(position, *packet, &mut outputs) {
                self.errors.push((position, error));
                continue;
            }
            self.push(position, &outputs);
        }
    }

    /// What leaves of a packet that had a driver.
    pub(in crate::compiled) fn push(&mut self, position: usize, outputs: &[Output]) {
        for output in outputs {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&output.packet);
            let end = self.bytes.len();
            let generation = u64::from(output.generation) << GENERATION;
            let port = u64::from(output.port) | IN_BYTES | generation;
            self.sent.push(Sent { packet: position, port, start, end });
        }
    }

    /// Packets of which nothing left, without an error, given that all of a batch were processed.
    pub(crate) fn silent(&self, packets: usize) -> u64 {
        let mut last = None;
        let sent = self.sent.iter().filter(|sent| last.replace(sent.packet) != Some(sent.packet));
        packets.saturating_sub(sent.count() + self.errors.len()) as u64
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent.clear();
        self.errors.clear();
    }

    /// Makes room for so many bytes.
    pub(in crate::compiled) fn make_room(&mut self, bytes: usize) {
        if self.room.len() < bytes {
            self.room.resize(bytes, 0);
        }
    }
}
