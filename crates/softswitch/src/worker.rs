//! The worker thread: it receives packets from its queues, runs programs on them and transmits the
//! packets that the programs send.
//!
//! Packets run to completion: a worker takes a burst from one port, runs the program on the burst
//! as one batch, and copies the resulting packets to their output queues. It flushes the queues of
//! a device together after each of its ports has had its turn. While packets arrive, the worker
//! does not sleep and makes no system calls other than those of its queues. After several rounds
//! without a packet it waits for all queues together.
//!
//! The first worker owns the queues of ports (`queues.rs`).

mod injection;
mod queues;
mod segments;

use self::queues::Queued;

use crate::device::Shared;
use crate::injected::Injected;
use crate::log::Verbosity;
use crate::mailbox::{Contents, HandedOver, Mailbox, Order};
use crate::ports::Ports;
use ::queues::Configuration;
use bytes::Bytes;
use p4runtime::server::{DeviceHandle, PacketIn, PacketInMetadata};
use packetio::{BURST, Burst, Frame, Queue};
use pipeline::{Batch, Output, RunError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use traces::{Arrival, Effects};

/// The number of consecutive rounds without a packet after which the worker waits for its ports.
const ROUNDS: u32 = 16;
/// The number of consecutive rounds without a packet after which the worker waits, if some port has
/// no descriptor that the kernel makes readable for a packet. It is larger than [`ROUNDS`] because
/// polling such a port takes some nanoseconds, while a wait takes 50 µs.
const ROUNDS_UNANNOUNCED: u32 = 1024;
/// The longest wait if some port has no descriptor to poll.
const SHORT_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000 };
/// The longest wait if every port has a descriptor to poll. After a wait, ports that are down are
/// tried again.
const LONG_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// The time before a queued packet is due at which a worker stops waiting. A wait may end up to 50
/// µs late (the default timer slack of Linux), and then the thread must still be scheduled.
const EARLY: Duration = Duration::from_micros(150);
/// The interval between attempts to reopen a port that is down.
const RETRY: Duration = Duration::from_millis(200);
/// The number of PSA's CPU port, `PSA_PORT_CPU`.
pub(crate) const PSA_PORT_CPU: u32 = 0xffff_fffd;

/// A worker thread with its part of every device. The module's documentation describes the loop
/// that it runs.
pub(crate) struct Worker {
    pub(crate) mailbox: Arc<Mailbox>,
    /// The worker's part of each device, in the order of the configuration.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) stop: Arc<AtomicBool>,
    /// The injected packets that have not run yet, with the index of their device.
    injected: VecDeque<(usize, Injected)>,
}

/// The part of a device that one worker serves: its queue of each port, and its instance of the
/// program.
pub(crate) struct Lane {
    /// The index of this worker among all workers.
    worker: usize,
    shared: Arc<Shared>,
    handle: DeviceHandle,
    program: pipeline::Worker,
    known: Arc<Ports>,
    ports: Vec<Attached>,
    batch: Batch,
    /// A reused buffer for packets that arrived on a port. Like the two buffers after it, it is
    /// empty between bursts.
    from_port: Vec<(u32, &'static [u8])>,
    pending: Vec<&'static [u8]>,
    packet_ins: Vec<Bytes>,
    /// The queues of the device's ports, if they have any and this worker owns them.
    queued: Queued,
    /// Packets for queues that another worker owns. They are collected until the end of the burst.
    handing_over: Vec<HandedOver>,
    /// Whether TCP segments that arrive as one super-frame may leave as one super-frame.
    keeps_whole: bool,
    /// A reused buffer. For each segment of which the program processed only the head, it holds the
    /// number of payload bytes after the head. The buffer `segment` after it holds one reassembled
    /// segment.
    beyond: Vec<u64>,
    segment: Vec<u8>,
}

/// A port's queue that this worker owns, with the state of the port.
struct Attached {
    number: u32,
    queue: Box<dyn Queue>,
    /// Whether packets may pass the port. The owner of the switch and gNMI clients set it.
    enabled: Arc<AtomicBool>,
    /// The time of the next attempt to reopen the port, if it is down.
    retry: Option<Instant>,
    /// Whether packets were given to the queue since its last flush.
    is_dirty: bool,
}

impl Worker {
    pub(crate) fn new(mailbox: Arc<Mailbox>, lanes: Vec<Lane>, stop: Arc<AtomicBool>) -> Self {
        Self { mailbox, lanes, stop, injected: VecDeque::new() }
    }

    pub(crate) fn run(mut self) {
        for lane in &mut self.lanes {
            lane.program.end_with(Arc::clone(&self.stop));
        }
        let mut burst = Burst::new(BURST);
        let mut idle = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let mut worked = false;
            if let Some(contents) = self.mailbox.take() {
                worked = true;
                self.carry_out(contents);
            }
            worked |= self.inject();
            for lane in &mut self.lanes {
                worked |= lane.turn(&mut burst);
            }
            idle = if worked { 0 } else { idle + 1 };
            if idle > ROUNDS && (idle > ROUNDS_UNANNOUNCED || self.are_announced()) {
                for lane in &mut self.lanes {
                    lane.publish(false);
                }
                self.wait();
                idle = 0;
                // Flushes the packets that a full queue left behind.
                for lane in &mut self.lanes {
                    lane.hand_out();
                }
            }
        }
        for lane in &mut self.lanes {
            lane.publish(true);
        }
    }

    fn carry_out(&mut self, contents: Contents) {
        for order in contents.orders {
            match order {
                Order::Attach { device, port, queue, enabled } => {
                    if let Some(lane) = self.lanes.get_mut(device) {
                        lane.attach(port, queue, enabled);
                    }
                }
                Order::Detach { device, port } => {
                    if let Some(lane) = self.lanes.get_mut(device) {
                        lane.ports.retain(|attached| attached.number != port);
                    }
                }
                // A client that has left needs no answer.
                Order::SetQueues { device, configuration, answer } => {
                    if let Some(lane) = self.lanes.get_mut(device) {
                        let _ = answer.send(lane.set_queues(&configuration));
                    }
                }
                Order::ReadQueues { device, answer } => {
                    if let Some(lane) = self.lanes.get_mut(device) {
                        let _ = answer.send(lane.read_queues());
                    }
                }
                Order::Inject { device, injection } => {
                    self.injected.push_back((device, injection));
                }
            }
        }
        for of_device in contents.packets.chunk_by(|one, other| one.0 == other.0) {
            let device = of_device.first().map(|(device, _)| *device);
            let Some(lane) = device.and_then(|device| self.lanes.get_mut(device)) else { continue };
            let cpu_port = lane.shared.cpu_port;
            of_device.chunks(BURST).for_each(|packets| {
                lane.process(cpu_port, packets.iter().map(|(_, bytes)| &bytes[..]));
            });
        }
        for HandedOver { device, port, content, received } in contents.handed_over {
            if let Some(lane) = self.lanes.get_mut(device) {
                lane.take_over(port, content, &received);
            }
        }
        for lane in &mut self.lanes {
            lane.hand_out();
        }
    }

    /// Runs some of the injected packets. Others are left for later calls, so that packets that
    /// arrive on ports need not wait for all of them. Returns whether there were any.
    fn inject(&mut self) -> bool {
        let Some((device, injection)) = self.injected.front_mut() else { return false };
        let lane = self.lanes.get_mut(*device);
        let has_ended = lane.is_none_or(|lane| {
            lane.inject(injection);
            lane.hand_out();
            injection.has_ended()
        });
        if has_ended && let Some((_, injection)) = self.injected.pop_front() {
            injection.answer();
        }
        true
    }

    /// Returns whether every port that is up has a descriptor that becomes readable with its next
    /// packet.
    fn are_announced(&self) -> bool {
        let mut ports = self.lanes.iter().flat_map(|lane| &lane.ports);
        ports.all(|attached| attached.retry.is_some() || attached.queue.descriptor().is_some())
    }

    /// Waits until a port's or the mailbox's descriptor becomes readable, or until the timeout
    /// passes.
    fn wait(&self) {
        let ports = || self.lanes.iter().flat_map(|lane| &lane.ports);
        let mut timeout = LONG_WAIT;
        let mut descriptors =
            vec![PollFd::from_borrowed_fd(self.mailbox.descriptor(), PollFlags::IN)];
        for attached in ports().filter(|attached| attached.retry.is_none()) {
            match attached.queue.descriptor() {
                Some(descriptor) => {
                    descriptors.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
                }
                None => timeout = SHORT_WAIT,
            }
        }
        if ports().any(|attached| attached.is_dirty) {
            timeout = SHORT_WAIT;
        }
        let due = self.lanes.iter().filter_map(Lane::until_due).min();
        if let Some(due) = due {
            // A wait ends late, so the rest of the time is spent polling the ports.
            let Some(wait) = due.checked_sub(EARLY) else { return };
            timeout = timeout.min(Timespec {
                tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: wait.subsec_nanos().into(),
            });
        }
        // The result of `poll` does not matter: the next round looks at every queue itself.
        let _ = poll(&mut descriptors, Some(&timeout));
        if descriptors.first().is_some_and(|wake| wake.revents().contains(PollFlags::IN)) {
            self.mailbox.quiet();
        }
    }
}

impl Lane {
    pub(crate) fn new(
        worker: usize,
        shared: Arc<Shared>,
        handle: DeviceHandle,
        plane: &pipeline::Ports,
        known: Arc<Ports>,
    ) -> Self {
        Self {
            worker,
            shared,
            handle,
            program: plane.worker(),
            known,
            ports: Vec::new(),
            batch: Batch::default(),
            from_port: Vec::new(),
            pending: Vec::new(),
            packet_ins: Vec::new(),
            queued: Queued::new(&Configuration::default(), 0, 0),
            handing_over: Vec::new(),
            keeps_whole: false,
            beyond: Vec::new(),
            segment: Vec::new(),
        }
    }

    /// Adds queues to the ports if this is the worker that owns them. The packets in all queues
    /// together may occupy at most `memory` bytes.
    pub(crate) fn with_queues(self, configuration: &Configuration, memory: u64) -> Self {
        if !self.owns_queues() {
            return self;
        }
        Self { queued: Queued::new(configuration, self.shared.id, memory), ..self }
    }

    /// Lets TCP segments that arrived as one super-frame leave as one super-frame, wherever
    /// receivers cannot tell the difference.
    pub(crate) fn with_whole_segments(self) -> Self {
        Self { keeps_whole: true, ..self }
    }

    fn attach(&mut self, number: u32, queue: Box<dyn Queue>, enabled: Arc<AtomicBool>) {
        self.ports.retain(|attached| attached.number != number);
        self.ports.push(Attached { number, queue, enabled, retry: None, is_dirty: false });
        // The previous port with this number may have been lost just now.
        self.known.set_queue(number, self.worker, true);
    }

    /// Processes one burst from each port of the device. Returns whether any packet arrived.
    fn turn(&mut self, burst: &mut Burst) -> bool {
        let mut worked = self.serve();
        burst.take_heads(self.head());
        for position in 0..self.ports.len() {
            let Some(attached) = self.ports.get_mut(position) else { break };
            match attached.is_up() {
                Up::Always => {}
                Up::Again => {
                    let (id, number) = (self.shared.id, attached.number);
                    self.known.set_queue(number, self.worker, true);
                    let message = format_args!("device {id}: port {number} is back");
                    self.shared.log.line(Verbosity::Info, message);
                }
                Up::Not => continue,
            }
            burst.clear();
            let number = attached.number;
            let received = attached.queue.receive(burst);
            // The state is read after the packets, so that a port that was disabled before a packet
            // arrived does not let it in.
            let is_enabled = attached.is_enabled();
            worked |= !burst.frames().is_empty();
            if is_enabled && burst.super_frames().is_empty() {
                self.process(number, burst.frames().iter().map(Frame::bytes));
            } else if is_enabled {
                self.process_heads(number, burst);
            } else {
                self.shared.tallies.port_disabled.add(burst.frames().len());
            }
            if let Err(down) = received {
                self.shared.log.line(
                    Verbosity::Warn,
                    format_args!("device {}: port {number}: {down}", self.shared.id),
                );
                if let Some(attached) = self.ports.get_mut(position) {
                    attached.retry = Some(Instant::now() + RETRY);
                }
                self.known.set_queue(number, self.worker, false);
            }
        }
        if worked {
            self.hand_out();
        }
        self.publish(false);
        worked
    }

    /// Runs the program on packets that arrived on one port.
    fn process<'p>(&mut self, port: u32, packets: impl Iterator<Item = &'p [u8]>) {
        let mut from_port = recycled(std::mem::take(&mut self.from_port));
        from_port.extend(packets.map(|packet| (port, packet)));
        if !from_port.is_empty() {
            self.process_all(port, &from_port);
        }
        self.from_port = recycled(from_port);
    }

    fn process_all(&mut self, port: u32, from_port: &[(u32, &[u8])]) {
        let received = from_port.iter().map(|(_, packet)| *packet);
        self.shared.log.packets(self.shared.id, ["received", "on"], port, received);
        if self.serves_queues() {
            self.process_queued(port, from_port);
            return;
        }
        let now = self.now();
        if self.shared.log.wants_traces() {
            from_port.iter().for_each(|(_, packet)| self.process_traced(port, packet, now));
            return;
        }
        // If the program reads queue depths, packets run one at a time, so that each sees the
        // packets that the previous ones added to a queue.
        let batch_size = if self.set_queue_depths(false) { 1 } else { from_port.len() };
        for packets in from_port.chunks(batch_size) {
            let mut batch = std::mem::take(&mut self.batch);
            self.program.process_batch(packets, now, &mut batch);
            for (_, fault) in batch.errors() {
                self.log_fault(port, fault);
            }
            self.send_all(batch.sent().map(|(_, port, packet)| (port, packet)));
            self.batch = batch;
            if batch_size == 1 {
                self.set_queue_depths(true);
            }
        }
        self.hand_over_late();
    }

    /// Returns the time since the device was started.
    fn now(&self) -> Duration {
        Duration::from_nanos(p4runtime::server::now().0.saturating_sub(self.shared.started.0))
    }

    /// Runs the program on one packet that arrived on a port, and logs its trace.
    fn process_traced(&mut self, port: u32, packet: &[u8], now: Duration) {
        self.set_queue_depths(false);
        let outputs = self.traced(port, packet, now).unwrap_or_else(|fault| {
            self.log_fault(port, &fault);
            Vec::new()
        });
        self.send_all(outputs.iter().map(|output| (output.port, &output.packet[..])));
    }

    /// Runs the program on one packet, logs its trace, and returns the packets to transmit.
    fn traced(&mut self, port: u32, packet: &[u8], now: Duration) -> Result<Vec<Output>, RunError> {
        let arrival = Arrival { port, packet, now };
        let contents = self.shared.log.trace_contents();
        let traced = traces::trace_packet(&mut self.program, arrival, contents, Effects::Lasting);
        self.shared.log.trace(self.shared.id, &traced.trace);
        traced.outputs
    }

    /// Informs the program how many packets wait in each port's output queue, if the program reads
    /// queue depths. If `only_dirty` is set, only ports with unflushed packets are updated. Returns
    /// false if the program does not read queue depths or no port reports them.
    fn set_queue_depths(&mut self, only_dirty: bool) -> bool {
        let mut queues = false;
        if self.program.reads_queue_depths() {
            let ports = self.ports.iter_mut().filter(|attached| attached.retry.is_none());
            for attached in ports.filter(|attached| attached.is_dirty || !only_dirty) {
                let waiting = attached.queue.waiting();
                queues |= waiting.is_some();
                self.program.set_waiting(attached.number, waiting.unwrap_or(0));
            }
        }
        queues
    }

    fn log_fault(&self, port: u32, fault: &RunError) {
        let id = self.shared.id;
        let message = format_args!("device {id}: a packet from port {port} is dropped: {fault}");
        self.shared.log.line(Verbosity::Warn, message);
    }

    /// Sends packets to their ports. Consecutive packets for one port are handed over together.
    fn send_all<'p>(&mut self, packets: impl Iterator<Item = (u32, &'p [u8])>) {
        let (mut to, mut pending) = (0, recycled(std::mem::take(&mut self.pending)));
        for (port, packet) in packets {
            if port != to {
                self.send(to, &pending);
                pending.clear();
                to = port;
            }
            pending.push(packet);
        }
        self.send(to, &pending);
        self.pending = recycled(pending);
    }

    fn send(&mut self, port: u32, packets: &[&[u8]]) {
        if packets.is_empty() {
            return;
        }
        let (log, leaving) = (&self.shared.log, packets.iter().copied());
        log.packets(self.shared.id, ["transmitting", "out of"], port, leaving);
        if port == self.shared.cpu_port || port == PSA_PORT_CPU {
            self.packet_ins.extend(packets.iter().map(|packet| Bytes::copy_from_slice(packet)));
            return;
        }
        match self.ports.iter_mut().find(|attached| attached.number == port) {
            Some(attached) if !attached.is_enabled() => {
                self.shared.tallies.port_disabled.add(packets.len());
            }
            // The port itself counts the packets that it does not accept.
            Some(attached) => attached.is_dirty |= attached.queue.transmit_all(packets) > 0,
            None => self.shared.tallies.no_such_port.add(packets.len()),
        }
    }

    /// Sends everything that the packets processed so far have caused: flushes output queues, and
    /// hands over packet-ins, entry changes and digests.
    fn hand_out(&mut self) {
        self.flush_sent();
        for attached in self.ports.iter_mut().filter(|attached| attached.is_dirty) {
            attached.is_dirty = !attached.queue.flush();
        }
        if !self.packet_ins.is_empty() {
            self.send_packet_ins();
        }
        let changes = self.program.take_entry_changes();
        if !changes.is_empty() {
            self.shared.send_entry_changes(&changes);
        }
        // Digests are fetched by another thread. Waking that thread costs as much as processing
        // several packets, so it is done once per round.
        if self.program.has_digests() {
            self.shared.digests_wait.notify_one();
        }
    }

    fn send_packet_ins(&mut self) {
        let tallies = &self.shared.tallies;
        let count = self.packet_ins.len();
        tallies.packet_ins.add(count);
        let shared = &self.shared;
        let headers = shared.headers();
        let packets = self.packet_ins.drain(..).filter_map(|packet| {
            let parts = headers.split(packet);
            let parts = parts.inspect_err(|error| shared.log_dropped_packet_in(error));
            let (metadata, payload) = parts.ok()?;
            let metadata = PacketInMetadata::Fields(metadata);
            Some(PacketIn { payload, metadata, tag: 0 })
        });
        let packets: Vec<_> = packets.collect();
        let queued = self.handle.send_batch(packets).unwrap_or(0);
        tallies.packet_ins_dropped.add(count.saturating_sub(queued));
    }
}

/// Empties a list and returns its allocation as an empty list, whose elements may have another
/// lifetime. Collecting a `Vec` into a `Vec` reuses the allocation.
fn recycled<Held, Other>(mut list: Vec<Held>) -> Vec<Other> {
    const { assert!(size_of::<Held>() == size_of::<Other>()) };
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

/// The result of checking whether a port is up. The check tries to reopen a port that is down.
enum Up {
    Always,
    /// The port was down and has just been reopened.
    Again,
    Not,
}

impl Attached {
    fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    /// Returns whether the port is up. Tries to reopen a port that is down if its retry time has
    /// come.
    fn is_up(&mut self) -> Up {
        let Some(retry) = self.retry else { return Up::Always };
        let now = Instant::now();
        if now < retry {
            return Up::Not;
        }
        if !self.queue.reopen() {
            self.retry = Some(now + RETRY);
            return Up::Not;
        }
        self.retry = None;
        Up::Again
    }
}
