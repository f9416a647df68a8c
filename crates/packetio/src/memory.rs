//! Ports in memory: two ends of a line, for tests and for measuring without a kernel.

use crate::{Burst, Port, PortCounters, PortDown, Queue, Transmitted};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Two ports with one queue each: what one transmits, the other receives. A direction holds so
/// many packets.
#[must_use]
pub fn line(name: &str, capacity: usize) -> [Port; 2] {
    let [forth, back] = [(); 2].map(|()| Arc::new(Lane::default()));
    let end = |letter, incoming: &Arc<Lane>, outgoing: &Arc<Lane>| {
        let counters = Arc::new(PortCounters::default());
        let queue = LineQueue {
            incoming: Arc::clone(incoming),
            outgoing: Arc::clone(outgoing),
            capacity,
            counters: Arc::clone(&counters),
        };
        let name = format!("{name}{letter}");
        Port { name, queues: vec![Box::new(queue)], counters, recording: None }
    };
    [end('a', &back, &forth), end('b', &forth, &back)]
}

/// One direction.
type Lane = Mutex<Packets>;

#[derive(Debug, Default)]
struct Packets {
    waiting: VecDeque<Vec<u8>>,
    /// Buffers of packets that were received, which the next ones use again.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct LineQueue {
    incoming: Arc<Lane>,
    outgoing: Arc<Lane>,
    capacity: usize,
    counters: Arc<PortCounters>,
}

impl Queue for LineQueue {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let mut lane = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        let Packets { waiting, spare } = &mut *lane;
        let count = waiting.len().min(burst.room());
        let mut bytes = 0;
        for packet in waiting.drain(..count) {
            bytes += packet.len() as u64;
            burst.push(&packet);
            spare.push(packet);
        }
        drop(lane);
        self.counters.received(count as u64, bytes);
        Ok(count)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        let mut lane = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        if lane.waiting.len() >= self.capacity {
            self.counters.transmit_dropped(1);
            return Transmitted::Full;
        }
        let mut buffer = lane.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(packet);
        lane.waiting.push_back(buffer);
        self.counters.transmitted(1, packet.len() as u64);
        Transmitted::Taken
    }

    fn flush(&mut self) -> bool {
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reopen(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;

    #[test]
    fn frames_of_every_length_pass() {
        let [mut here, mut there] = line("line", 4);
        let mut burst = Burst::new(8);
        let sent = [0, 1, 13, 300_000].map(|length| vec![3; length]);
        for packet in &sent {
            assert_eq!(here.queues[0].transmit(packet), Transmitted::Taken);
        }
        assert_eq!(there.queues[0].receive(&mut burst).expect("it is up"), 4);
        assert!(burst.frames().iter().map(Frame::bytes).eq(sent.iter().map(Vec::as_slice)));
    }

    #[test]
    fn what_one_end_transmits_the_other_receives() {
        let [mut here, mut there] = line("line", 2);
        let mut burst = Burst::new(8);
        let sent = [b"first", b"later", b"extra"].map(|packet| here.queues[0].transmit(packet));
        assert_eq!(sent, [Transmitted::Taken, Transmitted::Taken, Transmitted::Full]);
        assert_eq!(there.queues[0].receive(&mut burst).expect("it is up"), 2);
        assert_eq!(
            burst.frames().iter().map(Frame::bytes).collect::<Vec<_>>(),
            [b"first", b"later"]
        );
        let (out, into) = (here.counters.values(), there.counters.values());
        assert_eq!(
            (out.transmitted_packets, out.transmitted_bytes, out.transmit_dropped),
            (2, 10, 1)
        );
        assert_eq!((into.received_packets, into.received_bytes), (2, 10));
    }
}
