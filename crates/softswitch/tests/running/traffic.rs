//! Traffic through a switch whose ports come and go, for tests in which much happens at once.

use crate::support::DEVICE;
use fastrand::Rng;
use packetio::{Burst, Counters, Port, PortCounters, PortDown, Queue, Transmitted, memory};
use softswitch::Switch;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The number of ports on which packets arrive.
const SOURCES: u32 = 2;
/// The port that is disabled and enabled again.
const SWITCHED: u32 = 3;
/// The port that is removed, replaced, and goes down.
pub(crate) const PASSING: u32 = 4;

/// Attaches the ports that stay, and returns the other ends of their lines.
pub(crate) fn attach_lasting(switch: &Switch) -> Vec<Port> {
    let attached = |number| {
        // The queue is short, so that few packets are in flight when the traffic ends.
        let [near, far] = memory::line("lasting", 256);
        switch.attach(DEVICE, number, near).expect("one queue for one worker");
        far
    };
    (1..=SWITCHED).map(attached).collect()
}

/// Sends packets of all kinds into the source ports and takes everything that leaves.
pub(crate) fn send(lines: &mut [Port], stop: &AtomicBool, seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut burst = Burst::new(256);
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..16 {
            let source = random.usize(..SOURCES as usize);
            // Lengths are mostly short, some too short for a header, and rarely long.
            let length = match random.u64(..200) {
                0 => 9_000,
                1 => 1_514,
                2..20 => 1,
                _ => 60,
            };
            let mut packet = vec![random.u8(..); length];
            packet[0] = random.u8(..);
            lines[source].queues[0].transmit(&packet);
        }
        for line in &mut *lines {
            line.queues[0].flush();
            burst.clear();
            line.queues[0].receive(&mut burst).expect("a line is never down");
        }
        thread::sleep(Duration::from_micros(500));
    }
}

/// Disables and enables one port, while another port appears, goes down, returns and is replaced.
pub(crate) fn exchange(switch: &Switch, ports: &Ports, stop: &AtomicBool, seed: u64) {
    let mut random = Rng::with_seed(seed);
    while !stop.load(Ordering::Relaxed) {
        match random.u64(..6) {
            0 => drop(switch.detach(DEVICE, PASSING)),
            1 | 2 => switch.attach(DEVICE, PASSING, ports.open()).expect("one queue"),
            3 => ports.is_up.store(random.u64(..3) > 0, Ordering::Relaxed),
            4 => assert!(switch.set_port_enabled(DEVICE, SWITCHED, random.bool())),
            _ => switch.set_port_link(DEVICE, SWITCHED, random.bool()),
        }
        thread::sleep(Duration::from_millis(random.u64(..20)));
    }
}

/// The ports that were created during the run.
#[derive(Default)]
pub(crate) struct Ports {
    is_up: Arc<AtomicBool>,
    counters: Mutex<Vec<Arc<PortCounters>>>,
}

impl Ports {
    /// Opens a port that is up while `is_up` is set. Its other end is not connected.
    fn open(&self) -> Port {
        let [near, _far] = memory::line("passing", 64);
        let mut queues = near.queues;
        let queue = Passing {
            queue: queues.remove(0),
            is_up: Arc::clone(&self.is_up),
            counters: Arc::clone(&near.counters),
        };
        self.counters.lock().expect("no thread panics").push(Arc::clone(&near.counters));
        Port { queues: vec![Box::new(queue)], ..near }
    }

    pub(crate) fn counters(&self) -> Vec<Counters> {
        self.counters.lock().expect("no thread panics").iter().map(|one| one.values()).collect()
    }
}

#[derive(Debug)]
struct Passing {
    queue: Box<dyn Queue>,
    is_up: Arc<AtomicBool>,
    counters: Arc<PortCounters>,
}

impl Queue for Passing {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        if self.reopen() {
            return self.queue.receive(burst);
        }
        let cause = std::io::ErrorKind::NetworkDown.into();
        Err(PortDown { port: "passing".to_owned(), cause })
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        if self.reopen() {
            return self.queue.transmit(packet);
        }
        self.counters.transmit_dropped(1);
        Transmitted::Down
    }

    fn flush(&mut self) -> bool {
        self.queue.flush()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reopen(&mut self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }
}
