//! Forwarding of TCP super-frames: segments that the kernel hands over as one frame, and that may
//! leave as one frame.
//!
//! The program runs on the head of each segment (its first bytes, with all headers), together with
//! the segment's length. Counters, meters and messages to controllers are therefore the same as if
//! the frame had been cut into segments. If cutting one single frame would produce exactly the
//! processed heads, that frame is sent ([`packetio::offload::SuperFrame`] defines the rule).
//! Otherwise each segment gets its payload back and is sent by itself.
//!
//! A head holds at least the bytes that the program may read ([`pipeline::Core::head_bytes`]). If a
//! program uses the remaining bytes in any way other than passing them on, it receives whole
//! segments, and so does a log of packets.

use super::Lane;
use crate::log::Verbosity;
use packetio::offload::SuperFrame;
use packetio::{Burst, Frame};
use pipeline::{Batch, Heads};

/// A packet that the program sends: the index in the burst of the received packet that it was made
/// from, its output port, and its bytes up to the end of the head.
type Sent<'b> = (usize, u32, &'b [u8]);

impl Lane {
    /// Returns the number of bytes at the start of a segment that the program and the packet log
    /// need, or `None` if they need the whole segment.
    pub(super) fn head(&mut self) -> Option<usize> {
        if !self.keeps_whole || self.shared.log.shows_packets() {
            return None;
        }
        self.program.head_bytes().and_then(|bytes| usize::try_from(bytes).ok())
    }

    /// Runs the program on a burst from one port. Some packets of the burst are only the heads of
    /// segments, whose payload is left out.
    pub(super) fn process_heads(&mut self, port: u32, burst: &Burst) {
        let packets = burst.frames().iter().map(|frame| (port, frame.bytes()));
        let packets: Vec<(u32, &[u8])> = packets.collect();
        let mut beyond = std::mem::take(&mut self.beyond);
        beyond.clear();
        beyond.resize(packets.len(), 0);
        for frame in burst.super_frames() {
            let places = beyond.get_mut(frame.positions()).unwrap_or_default();
            for (index, place) in places.iter_mut().enumerate() {
                *place = frame.beyond(index) as u64;
            }
        }
        let (now, head) = (self.now(), burst.head().unwrap_or(0) as u64);
        let mut batch = std::mem::take(&mut self.batch);
        let heads = Heads { packets: &packets, beyond: &beyond };
        let has_run = self.program.process_heads(heads, head, now, &mut batch);
        self.beyond = beyond;
        if has_run {
            for (_, fault) in batch.errors() {
                self.log_fault(port, fault);
            }
            self.send_heads(burst, &batch);
            self.batch = batch;
            self.drop_late_heads();
            return;
        }
        // A pipeline that needs more of each packet was committed after the burst was received.
        self.batch = batch;
        let segments = whole_packets(burst);
        self.process(port, segments.iter().map(Vec::as_slice));
    }

    /// Sends the packets that the program produced from a burst, in order.
    fn send_heads(&mut self, burst: &Burst, batch: &Batch) {
        let sent: Vec<Sent<'_>> = batch.sent().collect();
        let mut rest = &sent[..];
        for frame in burst.super_frames() {
            let positions = frame.positions();
            let before = rest.partition_point(|sent| sent.0 < positions.start);
            let (packets, others) = rest.split_at(before);
            let (segments, behind) =
                others.split_at(others.partition_point(|sent| sent.0 < positions.end));
            self.send_all(packets.iter().map(|&(_, port, packet)| (port, packet)));
            self.send_segments(frame, segments);
            rest = behind;
        }
        self.send_all(rest.iter().map(|&(_, port, packet)| (port, packet)));
    }

    /// Sends the packets that the program made of a super-frame's segments. On each port to which
    /// all segments go, they leave as one frame if possible; on other ports, one by one.
    fn send_segments(&mut self, frame: &SuperFrame, sent: &[Sent<'_>]) {
        let Some(ports) = ports_of_all(frame, sent) else {
            return self.send_one_by_one(frame, sent.iter().copied());
        };
        for (position, port) in ports.iter().enumerate() {
            let of_port = sent.iter().skip(position).step_by(ports.len());
            let heads: Vec<&[u8]> = of_port.clone().map(|sent| sent.2).collect();
            if !self.send_whole(*port, frame, &heads) {
                self.send_one_by_one(frame, of_port.copied());
            }
        }
    }

    /// Sends a super-frame as one frame, with the heads as the program rewrote them. Returns false
    /// and sends nothing if no single frame has these heads.
    fn send_whole(&mut self, port: u32, frame: &SuperFrame, heads: &[&[u8]]) -> bool {
        let is_for_controllers = port == self.shared.cpu_port || port == super::PSA_PORT_CPU;
        let mut ports = self.ports.iter_mut().filter(|_| !is_for_controllers);
        let attached = ports.find(|attached| attached.number == port);
        let Some(attached) = attached.filter(|attached| attached.is_enabled()) else {
            return false;
        };
        let whole = frame.whole(heads);
        let has_left = whole.is_some_and(|whole| attached.queue.transmit_whole(&whole));
        attached.is_dirty |= has_left;
        has_left
    }

    /// Appends to each head the payload of its segment, and sends the segments one by one.
    fn send_one_by_one<'b>(&mut self, frame: &SuperFrame, sent: impl Iterator<Item = Sent<'b>>) {
        let mut segment = std::mem::take(&mut self.segment);
        for (position, port, head) in sent {
            let index = position - frame.positions().start;
            if frame.complete(index, head, &mut segment) {
                self.send(port, &[&segment]);
            } else {
                // Unreachable: programs that lose the bytes behind the head are given whole
                // segments.
                let id = self.shared.id;
                let message = format_args!(
                    "device {id}: internal error: a segment for port {port} has lost its end, and is \
                     dropped; --segments split avoids this"
                );
                self.shared.log.line(Verbosity::Error, message);
            }
        }
        self.segment = segment;
    }
}

/// Returns the output ports of a super-frame if all of its segments go to the same ports in the
/// same order and to no port twice. Otherwise returns `None`.
fn ports_of_all(frame: &SuperFrame, sent: &[Sent<'_>]) -> Option<Vec<u32>> {
    let positions = frame.positions();
    let copies = sent.len() / positions.len();
    if copies == 0 || copies * positions.len() != sent.len() {
        return None;
    }
    let first: Vec<u32> = sent.iter().take(copies).map(|sent| sent.1).collect();
    let alike = sent.chunks(copies).zip(positions).all(|(sent, position)| {
        sent.iter().zip(&first).all(|(sent, port)| sent.0 == position && sent.1 == *port)
    });
    let mut distinct = first.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (alike && distinct.len() == first.len()).then_some(first)
}

/// Returns the packets of a burst with their whole payload.
fn whole_packets(burst: &Burst) -> Vec<Vec<u8>> {
    let mut packets: Vec<Vec<u8>> =
        burst.frames().iter().map(|frame| Frame::bytes(frame).to_vec()).collect();
    for frame in burst.super_frames() {
        let heads = packets.get_mut(frame.positions()).unwrap_or_default();
        for (index, head) in heads.iter_mut().enumerate() {
            let mut packet = Vec::new();
            if frame.complete(index, head, &mut packet) {
                *head = packet;
            }
        }
    }
    packets
}
