//! Tests of ports that go down, are disabled, are replaced, or whose captures end.

use crate::metrics::get;
use crate::support::{Bench, Controller, DEVICE, Names, PROGRAM, TIMEOUT};
use packetio::{Burst, Port, PortCounters, PortDown, Queue, Transmitted, memory, tap};
use softswitch::PortState;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A port that exists while its flag is set.
#[derive(Debug)]
struct Fragile(Arc<AtomicBool>);

impl Queue for Fragile {
    fn receive(&mut self, _: &mut Burst) -> Result<usize, PortDown> {
        let cause = || io::Error::from(io::ErrorKind::NetworkDown);
        let down = || PortDown { port: "fragile".to_owned(), cause: cause() };
        self.0.load(Ordering::Relaxed).then_some(0).ok_or_else(down)
    }

    fn transmit(&mut self, _: &[u8]) -> Transmitted {
        Transmitted::Taken
    }

    fn flush(&mut self) -> bool {
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reopen(&mut self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn fragile(is_there: &Arc<AtomicBool>) -> Port {
    Port {
        name: "fragile".to_owned(),
        queues: vec![Box::new(Fragile(Arc::clone(is_there)))],
        counters: Arc::new(PortCounters::default()),
        recording: None,
    }
}

impl Bench {
    fn port(&self, number: u32) -> Option<PortState> {
        self.switch.state()[0].ports.iter().find(|port| port.number == number).cloned()
    }

    fn wait_for(&self, number: u32, what: impl Fn(&PortState) -> bool) {
        let start = Instant::now();
        while !self.port(number).is_some_and(|port| what(&port)) {
            assert!(start.elapsed() < TIMEOUT, "{:?}", self.port(number));
            std::thread::yield_now();
        }
    }
}

/// The loss of a queue that a worker detects is reported to every observer.
#[test]
fn a_port_that_a_worker_loses_is_down_until_it_is_back() {
    let bench = Bench::with_metrics(1);
    let address = bench.switch.metrics_address().expect("it was asked for");
    let is_there = Arc::new(AtomicBool::new(true));
    bench.switch.attach(DEVICE, 2, fragile(&is_there)).expect("one queue for one worker");
    let sample = |value| {
        format!("planimeter_switch_port_up{{device=\"7\",port=\"2\",name=\"fragile\"}} {value}\n")
    };
    assert!(get(address, "/metrics").contains(&sample(1)));
    is_there.store(false, Ordering::Relaxed);
    bench.wait_for(2, |port| !port.up);
    assert!(get(address, "/metrics").contains(&sample(0)));
    // A link that is up does not restore the lost queue.
    bench.switch.set_port_link(DEVICE, 2, false);
    bench.switch.set_port_link(DEVICE, 2, true);
    assert!(bench.port(2).is_some_and(|port| !port.up && port.enabled));
    is_there.store(true, Ordering::Relaxed);
    bench.wait_for(2, |port| port.up);
}

/// A port that replaces a lost port is up: the loss is forgotten with the old port.
#[test]
fn a_port_in_the_place_of_one_that_was_lost_is_up() {
    let bench = Bench::new(0);
    let is_there = Arc::new(AtomicBool::new(false));
    bench.switch.attach(DEVICE, 1, fragile(&is_there)).expect("one queue for one worker");
    bench.wait_for(1, |port| !port.up);
    let [near, _far] = memory::line("other", 8);
    bench.switch.attach(DEVICE, 1, near).expect("one queue for one worker");
    bench.wait_for(1, |port| port.up && port.name == "othera");
    assert!(bench.switch.detach(DEVICE, 1) && !bench.switch.detach(DEVICE, 1));
    assert!(bench.port(1).is_none());
}

#[tokio::test]
async fn no_packet_passes_a_disabled_port() {
    let mut bench = Bench::new(3);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert([names.entry(20, "forward", &[2]), names.entry(30, "forward", &[3])]).await;
    assert!(bench.switch.set_port_enabled(DEVICE, 2, false));
    assert!(!bench.switch.set_port_enabled(DEVICE, 9, false));
    assert!(bench.port(2).is_some_and(|port| !port.up && !port.enabled));
    // One packet would leave by the disabled port, and one arrives on it.
    bench.send(2, &[30, 1]);
    bench.send(1, &[20, 1]);
    let start = Instant::now();
    while bench.switch.state()[0].activity.port_disabled < 2 {
        assert!(start.elapsed() < TIMEOUT);
        std::thread::yield_now();
    }
    bench.send(1, &[30, 2]);
    assert_eq!(bench.receive(3, 1), [[30, 2]]);
    assert!(bench.switch.set_port_enabled(DEVICE, 2, true));
    assert!(bench.port(2).is_some_and(|port| port.up));
    bench.send(2, &[20, 3]);
    assert_eq!(bench.receive(2, 1), [[20, 3]]);
}

/// Whatever the worker does at that moment: a port is disabled when `set_port_enabled` returns.
#[tokio::test]
async fn a_port_is_disabled_for_the_first_packet_after_the_answer() {
    let mut bench = Bench::new(3);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(30, "forward", &[3])]).await;
    for round in 1..=2_000 {
        assert!(bench.switch.set_port_enabled(DEVICE, 2, true));
        // Brings the worker to an arbitrary point of its turn.
        (0..round % 97).for_each(|_| std::hint::spin_loop());
        assert!(bench.switch.set_port_enabled(DEVICE, 2, false));
        bench.send(2, &[30, 1]);
        let start = Instant::now();
        while bench.switch.state()[0].activity.port_disabled < round {
            let mut passed = Burst::new(1);
            bench.lines[2].queues[0].receive(&mut passed).expect("a line is never down");
            assert!(passed.frames().is_empty(), "round {round}: the packet passed");
            assert!(start.elapsed() < TIMEOUT);
            std::thread::yield_now();
        }
    }
}

/// A full disk is reported to every observer, once in the log, and the port keeps forwarding.
#[tokio::test]
async fn a_capture_that_ends_on_a_full_disk_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    for way in ["in", "out"] {
        let capture = directory.path().join(format!("lastinga_{way}.pcap"));
        std::os::unix::fs::symlink("/dev/full", capture).expect("a link");
    }
    let (mut bench, log) = Bench::logging(1);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert([names.entry(20, "forward", &[2]), names.entry(10, "forward", &[1])]).await;
    let [near, far] = memory::line("lasting", 1 << 10);
    let near = tap::record(near, directory.path()).expect("a device");
    bench.switch.attach(DEVICE, 2, near).expect("one queue for one worker");
    bench.lines.push(far);
    // The worker takes the queue of a new port at its next turn. What it forwards to the port
    // before that is dropped, so the first packet is one that arrives by the port.
    bench.send(2, &[10, 1]);
    assert_eq!(bench.receive(1, 1), [[10, 1]]);
    bench.send(1, &[20, 1]);
    assert_eq!(bench.receive(2, 1), [[20, 1]]);
    bench.wait_for(2, |port| port.recording_fault == Some(io::ErrorKind::StorageFull));
    let expected = "device 7: port 2: a capture of lastinga has ended: no storage space";
    let start = Instant::now();
    while !log.text().contains(expected) {
        assert!(start.elapsed() < TIMEOUT, "{}", log.text());
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let address = bench.switch.metrics_address().expect("it was asked for");
    let sample = "port_recording_ended{device=\"7\",port=\"2\",name=\"lastinga\"} 1\n";
    assert!(get(address, "/metrics").contains(sample));
    bench.send(1, &[20, 2]);
    assert_eq!(bench.receive(2, 1), [[20, 2]]);
}
