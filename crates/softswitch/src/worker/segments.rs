//! TCP segments that come in one piece, a super-frame, and may leave so.
//!
//! The program runs on the head of each segment, with the segment's length. So everything that it
//! counts, meters or tells a controller is the same as if the segments had been cut. If what became
//! of all heads is what a cut would make of one frame, one frame leaves
//! ([`packetio::offload::SuperFrame`] has the rule). Otherwise each segment gets its payload back.
//!
//! A head has at least the bytes that the program may read ([`pipeline::Core::head_bytes`]). A
//! program that does more with the other bytes than to pass them on gets whole segments, and so
//! does a log of packets.

use super::Lane;
use crate::log::Verbosity;
use packetio::offload::SuperFrame;
use packetio::{Burst, Frame};
use pipeline::{Batch, Heads};

/// A packet that leaves: the position in its burst of the packet that it comes from, its port, and
/// its bytes without those behind the head.
type Sent<'b> = (usize, u32, &'b [u8]);

impl Lane {
    /// Returns how many bytes of a segment are enough for the program and whoever looks at packets;
    /// `None` if all are needed.
    pub(super) fn head(&mut self) -> Option<usize> {
        if !self.keeps_whole || self.shared.log.shows_packets() {
            return None;
        }
        self.program.head_bytes().and_then(|bytes| usize::try_from(bytes).ok())
    }

    /// Runs the program on packets of one port, among which are heads of segments.
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
                self.say(port, fault);
            }
            self.send_heads(burst, &batch);
            self.batch = batch;
            return;
        }
        // Another pipeline was committed since the burst came, which needs more of a packet.
        self.batch = batch;
        let segments = whole_packets(burst);
        self.process(port, segments.iter().map(Vec::as_slice));
    }

    /// Sends what the packets of a burst became, in order.
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

    /// Sends what the segments of a super-frame became: in one piece by each port to which all went
    /// alike, and otherwise one by one.
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

    /// Sends a super-frame in one piece, with what the program made of its heads. Returns false,
    /// with nothing done, if the frame must be cut.
    fn send_whole(&mut self, port: u32, frame: &SuperFrame, heads: &[&[u8]]) -> bool {
        let is_for_controllers = port == self.shared.cpu_port || port == super::PSA_PORT_CPU;
        let mut ports = self.ports.iter_mut().filter(|_| !is_for_controllers);
        let attached = ports.find(|attached| attached.number == port);
        let Some(attached) = attached.filter(|attached| attached.is_enabled) else { return false };
        let whole = frame.whole(heads);
        let has_left = whole.is_some_and(|whole| attached.queue.transmit_whole(&whole));
        attached.is_dirty |= has_left;
        has_left
    }

    /// Puts the payload behind what the program made of heads, and sends them.
    fn send_one_by_one<'b>(&mut self, frame: &SuperFrame, sent: impl Iterator<Item = Sent<'b>>) {
        let mut segment = std::mem::take(&mut self.segment);
        for (position, port, head) in sent {
            let index = position - frame.positions().start;
            if frame.complete(index, head, &mut segment) {
                self.send(port, &[&segment]);
            } else {
                // A program whose packets lose what is behind their heads has no head.
                let id = self.shared.id;
                let said = format_args!(
                    "device {id}: internal error: a segment for port {port} has lost its end, and is \
                     dropped; --segments split avoids this"
                );
                self.shared.log.line(Verbosity::Error, said);
            }
        }
        self.segment = segment;
    }
}

/// Returns the ports to which each segment of a super-frame goes, in order. `None` if the ports
/// differ from segment to segment, or a port occurs twice.
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

/// Returns the packets of a burst, with their payload.
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
