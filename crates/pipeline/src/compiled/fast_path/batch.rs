//! The results of a batch of packets: the packets to transmit, and the errors.

use crate::architecture::Output;
use crate::error::RunError;

/// The results of a batch of packets: the packets to transmit, in memory that is reused for the
/// next batch, and the errors.
#[derive(Debug, Default)]
pub struct Batch {
    /// The bytes of those packets that were processed one by one and not in bursts. They lie one
    /// packet after another.
    pub(super) bytes: Vec<u8>,
    /// The output buffer of packets that are processed in bursts. It is not cleared between
    /// batches: bytes that generated code does not write keep their old contents.
    pub(in crate::compiled) room: Vec<u8>,
    pub(in crate::compiled) sent: Vec<Sent>,
    pub(super) errors: Vec<(usize, RunError)>,
    /// The number of packets of the batch that have no output yet because a copy of them waits in a
    /// queue.
    waiting: usize,
}

/// The record of a packet to transmit. Generated code writes such records.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::compiled) struct Sent {
    pub(in crate::compiled) packet: usize,
    pub(in crate::compiled) start: usize,
    pub(in crate::compiled) end: usize,
    /// The output port, in the low 32 bits. The high bits are zero in records that generated code
    /// for bursts writes. Otherwise they hold [`IN_BYTES`] and the packet's generation, the number
    /// of resubmissions, recirculations and clones that led to it.
    pub(in crate::compiled) port: u64,
}

/// The bit of [`Sent::port`] that is set if the packet's bytes are in [`Batch::bytes`], and clear
/// if they are in the output buffer of bursts.
pub(super) const IN_BYTES: u64 = 1 << 32;
/// The lowest bit of the generation in [`Sent::port`].
pub(super) const GENERATION: u32 = 33;

impl Batch {
    /// Returns the packets to transmit, in order. Each comes with the position in the batch of the
    /// received packet that led to it, its output port, and its bytes.
    pub fn sent(&self) -> impl ExactSizeIterator<Item = (usize, u32, &[u8])> {
        self.sent.iter().map(|sent| {
            let memory = if sent.port & IN_BYTES == 0 { &self.room } else { &self.bytes };
            let bytes = memory.get(sent.start..sent.end).unwrap_or(&[]);
            (sent.packet, sent.port as u32, bytes)
        })
    }

    /// Returns the errors of packets whose processing failed, each with the packet's position in
    /// the batch. Nothing is transmitted for such a packet.
    #[must_use]
    pub fn errors(&self) -> &[(usize, RunError)] {
        &self.errors
    }

    /// Processes the packets of a batch one by one with `process`, which returns how many packets
    /// then wait in queues because of the given packet. If a packet fails, nothing is transmitted
    /// for it.
    pub(crate) fn each(
        &mut self,
        packets: &[(u32, &[u8])],
        mut process: impl FnMut(usize, (u32, &[u8]), &mut Vec<Output>) -> Result<usize, RunError>,
    ) {
        self.clear();
        let mut outputs = Vec::new();
        for (position, packet) in packets.iter().enumerate() {
            outputs.clear();
            match process(position, *packet, &mut outputs) {
                Ok(waiting) => {
                    self.waiting += usize::from(waiting > 0 && outputs.is_empty());
                    self.push(position, &outputs);
                }
                Err(error) => self.errors.push((position, error)),
            }
        }
    }

    /// Appends the packets that the architecture's driver has transmitted because of the packet at
    /// a position of the batch.
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

    /// Returns how many of the `packets` packets of the batch caused no error and have nothing to
    /// transmit, neither now nor later.
    pub(crate) fn silent(&self, packets: usize) -> u64 {
        let mut last = None;
        let sent = self.sent.iter().filter(|sent| last.replace(sent.packet) != Some(sent.packet));
        packets.saturating_sub(sent.count() + self.errors.len() + self.waiting) as u64
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent.clear();
        self.errors.clear();
        self.waiting = 0;
    }

    /// Grows the output buffer of bursts to at least the given number of bytes.
    pub(in crate::compiled) fn make_room(&mut self, bytes: usize) {
        if self.room.len() < bytes {
            self.room.resize(bytes, 0);
        }
    }
}
