//! A switch between in-memory ports that send and receive super-frames, as packet sockets do.

use p4lang::device_config::{from_device_config, to_pipeline_config};
use packetio::offload::{Restorer, VIRTIO_HEADER, Whole};
use packetio::{Burst, Counters, Frame, Port, PortCounters, PortDown, Queue, Transmitted};
use pipeline::{PacketCounts, TableUsage};
use softswitch::runtime_json::RuntimeJson;
use softswitch::{Activity, DeviceConfig, Log, Options, Path, Segments, Switch, V1ModelSettings};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A packet as the kernel hands it over: its virtio header and its bytes.
pub(crate) type ReceivedPacket = ([u8; VIRTIO_HEADER], Vec<u8>);

/// The program, the ports and the packets of a test.
pub(crate) struct Case<'g> {
    pub(crate) program: &'g str,
    /// The text of a `runtime.json`.
    pub(crate) entries: &'g str,
    /// The MTU of each port, starting with port 1.
    pub(crate) mtus: &'g [usize],
    /// The packets that arrive on port 1 and on port 2.
    pub(crate) packets: [Vec<ReceivedPacket>; 2],
}

/// The packets that left the switch, and all counters.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    /// The packets that left by each port.
    pub(crate) sent: Vec<Vec<Vec<u8>>>,
    pub(crate) ports: Vec<Counters>,
    pub(crate) packets: PacketCounts,
    pub(crate) activity: Activity,
    pub(crate) tables: Vec<TableUsage>,
}

#[derive(Debug, Default)]
struct Outside {
    waiting: VecDeque<ReceivedPacket>,
    sent: Vec<Vec<u8>>,
    whole: usize,
}

#[derive(Debug)]
struct Wire {
    outside: Arc<Mutex<Outside>>,
    counters: Arc<PortCounters>,
    mtu: usize,
    restorer: Restorer,
}

impl Queue for Wire {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let (mut packets, mut bytes) = self.restorer.resume(burst);
        let waiting = &mut self.outside.lock().expect("a test").waiting;
        while burst.room() > 0
            && let Some((header, packet)) = waiting.pop_front()
        {
            let taken = self.restorer.take(&header, None, &packet, burst).expect("it is sound");
            (packets, bytes) = (packets + taken.0, bytes + taken.1);
            if taken.0 == 0 {
                break;
            }
        }
        self.counters.received(packets, bytes);
        Ok(packets as usize)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        if packet.len() > self.mtu + 14 {
            self.counters.bad_length(1);
            return Transmitted::BadLength;
        }
        self.counters.transmitted(1, packet.len() as u64);
        self.outside.lock().expect("a test").sent.push(packet.to_vec());
        Transmitted::Taken
    }

    fn transmit_whole(&mut self, frame: &Whole<'_>) -> bool {
        if frame.longest > self.mtu + 14 {
            return false;
        }
        let (mut restorer, mut burst) = (Restorer::default(), Burst::new(128));
        let mut outside = self.outside.lock().expect("a test");
        let cut = restorer.take(&frame.virtio, None, &frame.parts().concat(), &mut burst);
        assert_eq!(cut, Ok((frame.segments as u64, frame.bytes)));
        let longest = burst.frames().iter().map(|one| one.bytes().len()).max();
        assert_eq!(longest, Some(frame.longest));
        outside.sent.extend(burst.frames().iter().map(|one| Frame::bytes(one).to_vec()));
        outside.whole += 1;
        self.counters.transmitted(frame.segments as u64, frame.bytes);
        true
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

impl Case<'_> {
    /// Processes all packets in a switch. Returns the outcome, and the number of frames that left
    /// in one piece.
    pub(crate) fn run(&self, path: Path, segments: Segments) -> (Seen, usize) {
        let wires: Vec<(Arc<Mutex<Outside>>, Arc<PortCounters>)> =
            self.mtus.iter().map(|_| Default::default()).collect();
        let mut expected = 0;
        for (packets, (outside, _)) in self.packets.iter().zip(&wires) {
            expected += packets.iter().map(count).sum::<u64>();
            outside.lock().expect("a test").waiting.extend(packets.iter().cloned());
        }
        let port =
            |(number, ((outside, counters), mtu)): (u32, (&(_, Arc<PortCounters>), &usize))| {
                let outside: &Arc<Mutex<Outside>> = outside;
                let queue = Wire {
                    outside: Arc::clone(outside),
                    counters: Arc::clone(counters),
                    mtu: *mtu,
                    restorer: Restorer::default(),
                };
                let queues: Vec<Box<dyn Queue>> = vec![Box::new(queue)];
                let name = format!("wire{number}");
                (number, Port { name, queues, counters: Arc::clone(counters), recording: None })
            };
        let compiled = from_device_config(self.program.as_bytes()).expect("it compiles");
        let pipeline = to_pipeline_config(&compiled).expect("it has a P4Info");
        let entries = RuntimeJson::parse(self.entries).expect("entries");
        let p4info = pipeline.p4info.as_ref().expect("it has a P4Info");
        let device = DeviceConfig {
            queues: Default::default(),
            id: 1,
            cpu_port: 255,
            path,
            v1model: V1ModelSettings::default(),
            updates: entries.updates(p4info).expect("entries of the program"),
            pipeline: Some(pipeline),
            state: None,
            durability: softswitch::Durability::default(),
            check_references: false,
            takes_injections: false,
            ports: (1..).zip(wires.iter().zip(self.mtus)).map(port).collect(),
        };
        let address = "127.0.0.1:0".parse().expect("an address");
        let options = Options {
            address,
            tls: None,
            workers: 1,
            metrics: None,
            thrift: None,
            limits: softswitch::SwitchLimits::default(),
            log: Log::off(),
            segments,
            pushes: softswitch::Pushes::default(),
            numbers: softswitch::GivenNumbers::new(),
        };
        let switch = Switch::start(options, vec![device]).expect("it starts");
        let started = Instant::now();
        while switch.state()[0].packets.received < expected {
            assert!(started.elapsed() < TIMEOUT, "{:?} of {expected}", switch.state()[0].packets);
            std::thread::yield_now();
        }
        // The worker may still be sending packets or passing them to controllers. It drops the
        // queue of a detached port only after that.
        assert!(switch.detach(1, self.mtus.len() as u32));
        let (last, _) = wires.last().expect("a port");
        while Arc::strong_count(last) > 1 {
            assert!(started.elapsed() < TIMEOUT, "the worker keeps the queue of a port");
            std::thread::yield_now();
        }
        let state = switch.state().remove(0);
        drop(switch);
        let mut whole = 0;
        let sent = wires.iter().map(|(outside, _)| {
            let outside = &mut *outside.lock().expect("a test");
            whole += outside.whole;
            std::mem::take(&mut outside.sent)
        });
        let seen = Seen {
            sent: sent.collect(),
            ports: wires.iter().map(|(_, counters)| counters.values()).collect(),
            packets: state.packets,
            activity: state.activity,
            tables: state.tables,
        };
        (seen, whole)
    }
}

/// Returns the number of segments in a super-frame.
fn count((header, packet): &ReceivedPacket) -> u64 {
    let (mut restorer, mut burst) = (Restorer::default(), Burst::new(4096));
    restorer.take(header, None, packet, &mut burst).expect("it is sound").0
}
