//! Ports in memory: the two ends of a line, for tests and for measurements without a kernel.
//!
//! A packet is copied once, at its transmission. Its buffer then passes from the sender to the
//! line, and from the line to the receiver. The lock of a direction is taken once per flush and
//! once per received burst. Buffers of received packets return to the sender in the same way.

use crate::{Burst, Frame, Port, PortCounters, PortDown, Queue, Transmitted};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Creates two ports that are connected to each other and have one queue each. At most `capacity`
/// packets can wait in each direction.
#[must_use]
pub fn line(name: &str, capacity: usize) -> [Port; 2] {
    let [forth, back] = [(); 2].map(|()| Arc::new(Direction::default()));
    let end = |letter, incoming: &Arc<Direction>, outgoing: &Arc<Direction>| {
        let counters = Arc::new(PortCounters::default());
        let queue = LineQueue {
            incoming: Arc::clone(incoming),
            outgoing: Arc::clone(outgoing),
            capacity,
            room: capacity,
            taken: Vec::new(),
            taken_bytes: 0,
            spare: Vec::new(),
            counters: Arc::clone(&counters),
        };
        let name = format!("{name}{letter}");
        Port { name, queues: vec![Box::new(queue)], counters, recording: None }
    };
    [end('a', &back, &forth), end('b', &forth, &back)]
}

/// One direction of the line that connects two ports in memory.
#[derive(Debug, Default)]
struct Direction {
    packets: Mutex<Packets>,
    /// The number of packets that wait to be received. Both ends can read it without the lock.
    waiting: AtomicUsize,
}

/// The packets of one direction, and buffers for later ones.
#[derive(Debug, Default)]
struct Packets {
    waiting: VecDeque<Frame>,
    /// The buffers of packets that were received. Later packets reuse them.
    spare: Vec<Frame>,
}

impl Direction {
    fn lock(&self) -> MutexGuard<'_, Packets> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Publishes the number of packets that wait to be received, so that it can be read without the
    /// lock. The caller must hold the lock.
    fn show(&self, packets: &Packets) {
        self.waiting.store(packets.waiting.len(), Ordering::Release);
    }
}

/// The queue of a port in memory.
#[derive(Debug)]
struct LineQueue {
    incoming: Arc<Direction>,
    outgoing: Arc<Direction>,
    capacity: usize,
    /// A lower bound of the number of packets for which the line has room.
    room: usize,
    /// The packets that were accepted for transmission and will be sent at the next flush.
    taken: Vec<Frame>,
    taken_bytes: u64,
    /// The unused buffers of this end, for packets that it will transmit.
    spare: Vec<Frame>,
    counters: Arc<PortCounters>,
}

impl LineQueue {
    /// Returns a buffer for a packet. It is a new buffer only if all buffers of this direction
    /// contain packets. A direction therefore never has more buffers than packets can wait in it,
    /// apart from those that the receiver's burst adds by exchange. Without this rule, each flush
    /// for which the sender has too few buffers would create some, and the memory would grow with
    /// the number of packets.
    fn buffer(&mut self) -> Frame {
        if self.spare.is_empty() {
            std::mem::swap(&mut self.spare, &mut self.outgoing.lock().spare);
        }
        self.spare.pop().unwrap_or_default()
    }
}

impl Queue for LineQueue {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        if self.incoming.waiting() == 0 {
            return Ok(0);
        }
        let mut packets = self.incoming.lock();
        let Packets { waiting, spare } = &mut *packets;
        let count = waiting.len().min(burst.room());
        let mut bytes = 0;
        for mut frame in waiting.drain(..count) {
            bytes += frame.bytes().len() as u64;
            // The burst has room, so `frame` now holds one of the burst's unused buffers.
            burst.exchange(&mut frame);
            spare.push(frame);
        }
        self.incoming.show(&packets);
        drop(packets);
        self.counters.received(count as u64, bytes);
        Ok(count)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        if self.taken.len() >= self.room {
            self.room = self.capacity.saturating_sub(self.outgoing.waiting());
            if self.taken.len() >= self.room {
                self.counters.transmit_dropped(1);
                return Transmitted::Full;
            }
        }
        let mut frame = self.buffer();
        frame.fill(&[packet]);
        self.taken.push(frame);
        self.taken_bytes += packet.len() as u64;
        Transmitted::Taken
    }

    fn flush(&mut self) -> bool {
        if self.taken.is_empty() {
            return true;
        }
        let count = self.taken.len();
        let mut packets = self.outgoing.lock();
        packets.waiting.extend(self.taken.drain(..));
        if self.spare.is_empty() {
            std::mem::swap(&mut self.spare, &mut packets.spare);
        }
        self.outgoing.show(&packets);
        self.room = self.capacity.saturating_sub(packets.waiting.len());
        drop(packets);
        self.counters.transmitted(count as u64, std::mem::take(&mut self.taken_bytes));
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
    use std::collections::HashSet;

    #[test]
    fn frames_of_every_length_pass() {
        let [mut here, mut there] = line("line", 4);
        let mut burst = Burst::new(8);
        let sent = [0, 1, 13, 300_000].map(|length| vec![3; length]);
        for packet in &sent {
            assert_eq!(here.queues[0].transmit(packet), Transmitted::Taken);
        }
        assert!(here.queues[0].flush());
        assert_eq!(there.queues[0].receive(&mut burst).expect("it is up"), 4);
        assert!(burst.frames().iter().map(Frame::bytes).eq(sent.iter().map(Vec::as_slice)));
    }

    #[test]
    fn each_end_receives_the_packets_of_the_peer() {
        let [mut here, mut there] = line("line", 2);
        let mut burst = Burst::new(8);
        let sent = [b"first", b"later", b"extra"].map(|packet| here.queues[0].transmit(packet));
        assert_eq!(sent, [Transmitted::Taken, Transmitted::Taken, Transmitted::Full]);
        assert!(here.queues[0].flush());
        assert_eq!(here.queues[0].transmit(b"extra"), Transmitted::Full, "what left waits there");
        assert_eq!(there.queues[0].receive(&mut burst).expect("it is up"), 2);
        assert_eq!(
            burst.frames().iter().map(Frame::bytes).collect::<Vec<_>>(),
            [b"first", b"later"]
        );
        let (out, into) = (here.counters.values(), there.counters.values());
        assert_eq!(
            (out.transmitted_packets, out.transmitted_bytes, out.transmit_dropped),
            (2, 10, 2)
        );
        assert_eq!((into.received_packets, into.received_bytes), (2, 10));
    }

    /// Checks that buffers are reused, regardless of their previous contents, and that accepted
    /// packets are sent by the next flush, in order.
    #[test]
    fn received_packets_make_room_for_others() {
        let [mut here, mut there] = line("line", 3);
        let mut burst = Burst::new(2);
        let mut next = 0_u8;
        for length in [1, 40, 3, 0, 7, 2000, 2] {
            let sent = [(); 3].map(|()| {
                next += 1;
                vec![next; length]
            });
            for packet in &sent {
                assert_eq!(here.queues[0].transmit(packet), Transmitted::Taken);
            }
            assert_eq!(there.queues[0].receive(&mut burst).expect("it is up"), 0, "not flushed");
            assert!(here.queues[0].flush());
            for expected in [&sent[..2], &sent[2..]] {
                burst.clear();
                let count = there.queues[0].receive(&mut burst).expect("it is up");
                assert_eq!(count, expected.len());
                assert!(burst.frames().iter().map(Frame::bytes).eq(expected));
            }
        }
        assert_eq!(there.counters.values().received_packets, 21);
    }

    /// Checks that the memory of a line does not grow with the number of packets, whatever the
    /// sizes of the sender's bursts and the number of returned buffers.
    #[test]
    fn a_line_has_no_more_buffers_than_packets_may_wait() {
        const CAPACITY: usize = 32;
        const RECEIVED: usize = 8;
        let [mut here, mut there] = line("line", CAPACITY);
        let (mut burst, mut buffers) = (Burst::new(RECEIVED), HashSet::new());
        for round in 0..5_000_u32 {
            // The length of a burst is irregular. A regular one could always end with the last
            // buffer that was returned.
            for _ in 0..3 + round.count_ones() % 6 {
                assert_eq!(here.queues[0].transmit(b"packet"), Transmitted::Taken);
            }
            assert!(here.queues[0].flush());
            burst.clear();
            there.queues[0].receive(&mut burst).expect("it is up");
            buffers.extend(burst.frames().iter().map(|frame| frame.bytes().as_ptr().addr()));
        }
        let count = buffers.len();
        assert!(count <= CAPACITY + RECEIVED, "{count} buffers for {CAPACITY} packets");
    }

    /// Checks that no packet is lost, duplicated or reordered while both ends work in different
    /// threads.
    #[test]
    fn two_threads_pass_packets_in_their_order() {
        const PACKETS: u32 = 3_000;
        let [mut here, mut there] = line("line", 64);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut next = 0_u32;
                while next < PACKETS {
                    let taken = here.queues[0].transmit(&next.to_be_bytes()) == Transmitted::Taken;
                    next += u32::from(taken);
                    if !taken || next.is_multiple_of(7) {
                        here.queues[0].flush();
                        std::thread::yield_now();
                    }
                }
                here.queues[0].flush();
            });
            let (mut burst, mut next) = (Burst::new(32), 0_u32);
            while next < PACKETS {
                burst.clear();
                if there.queues[0].receive(&mut burst).expect("it is up") == 0 {
                    std::thread::yield_now();
                }
                for frame in burst.frames() {
                    assert_eq!(frame.bytes(), next.to_be_bytes());
                    next += 1;
                }
            }
        });
    }
}
