//! A worker thread: takes packets from its queues, runs programs on them, hands out what leaves.
//!
//! It runs to completion: a burst is taken from one port and goes through the program as a batch,
//! what leaves is copied to where it leaves, and when all ports had their turn everything is
//! flushed at once. While packets come, it does not sleep and makes no system call but those of
//! its queues; when nothing came for some rounds it waits for all of them together.

mod segments;

use crate::device::Shared;
use crate::log::{PacketLog, Verbosity};
use crate::mailbox::{Contents, Mailbox, Order};
use crate::ports::Ports;
use bytes::Bytes;
use p4runtime::server::{DeviceHandle, PacketIn, PacketInMetadata};
use packetio::{BURST, Burst, Frame, Queue};
use pipeline::{Batch, RunError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rounds without a packet before the thread waits.
const ROUNDS: u32 = 16;
/// The same where packets do not announce themselves: a look at such a port takes some nanoseconds, and a wait 50 us.
const ROUNDS_UNANNOUNCED: u32 = 1024;
/// How long it waits where packets do not announce themselves.
const SHORT_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000 };
/// How long it waits otherwise; ports that are down are tried after this.
const LONG_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// Spacing of attempts to get a port back.
const RETRY: Duration = Duration::from_millis(200);
/// `PSA_PORT_CPU`.
const PSA_PORT_CPU: u32 = 0xffff_fffd;

/// See the module.
pub(crate) struct Worker {
    pub(crate) mailbox: Arc<Mailbox>,
    /// One for each device.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// A device as one worker serves it.
pub(crate) struct Lane {
    /// Which of the workers this one is.
    worker: usize,
    shared: Arc<Shared>,
    handle: DeviceHandle,
    program: pipeline::Worker,
    known: Arc<Ports>,
    ports: Vec<Attached>,
    batch: Batch,
    /// Memory that is used again for packets on their way in and out; empty in between.
    from_port: Vec<(u32, &'static [u8])>,
    together: Vec<&'static [u8]>,
    packet_ins: Vec<Bytes>,
    /// TCP segments that come in one piece may leave so.
    keeps_whole: bool,
    /// Memory that is used again for segments: how much is behind the head of each, and one that is
    /// put together.
    beyond: Vec<u64>,
    segment: Vec<u8>,
}

struct Attached {
    number: u32,
    queue: Box<dyn Queue>,
    is_enabled: bool,
    /// When to try again, if it is down.
    retry: Option<Instant>,
    /// Something is to be flushed.
    is_dirty: bool,
}

impl Worker {
    pub(crate) fn run(mut self) {
        let mut burst = Burst::new(BURST);
        let mut idle = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let mut worked = false;
            if let Some(contents) = self.mailbox.take() {
                worked = true;
                self.carry_out(contents);
            }
            for lane in &mut self.lanes {
                worked |= lane.turn(&mut burst);
            }
            idle = if worked { 0 } else { idle + 1 };
            if idle > ROUNDS && (idle > ROUNDS_UNANNOUNCED || self.are_announced()) {
                self.wait();
                idle = 0;
                // What a full queue left behind.
                for lane in &mut self.lanes {
                    lane.hand_out();
                }
            }
        }
    }

    fn carry_out(&mut self, contents: Contents) {
        for order in contents.orders {
            match order {
                Order::Attach { device, port, queue } => {
                    if let Some(lane) = self.lanes.get_mut(device) {
                        lane.attach(port, queue);
                    }
                }
                Order::Detach { device, port } => {
                    if let Some(lane) = self.lanes.get_mut(device) {
                        lane.ports.retain(|attached| attached.number != port);
                    }
                }
                Order::Enable { device, port, enabled } => {
                    let lane = self.lanes.get_mut(device);
                    let mut ports = lane.into_iter().flat_map(|lane| &mut lane.ports);
                    if let Some(attached) = ports.find(|attached| attached.number == port) {
                        attached.is_enabled = enabled;
                    }
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
        for lane in &mut self.lanes {
            lane.hand_out();
        }
    }

    /// Whether a descriptor becomes ready with the next packet of any port.
    fn are_announced(&self) -> bool {
        let mut ports = self.lanes.iter().flat_map(|lane| &lane.ports);
        ports.all(|attached| attached.retry.is_some() || attached.queue.descriptor().is_some())
    }

    /// Waits until there may be something to do.
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
        // Whatever poll says, the next round looks for itself.
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
            together: Vec::new(),
            packet_ins: Vec::new(),
            keeps_whole: false,
            beyond: Vec::new(),
            segment: Vec::new(),
        }
    }

    /// Lets TCP segments that come in one piece leave so, where that makes no difference.
    pub(crate) fn with_whole_segments(self) -> Self {
        Self { keeps_whole: true, ..self }
    }

    fn attach(&mut self, number: u32, queue: Box<dyn Queue>) {
        self.ports.retain(|attached| attached.number != number);
        self.ports.push(Attached { number, queue, is_enabled: true, retry: None, is_dirty: false });
        // The one that had this number may have been lost just now.
        self.known.set_queue(number, self.worker, true);
    }

    /// Takes a burst from each port; false if nothing came.
    fn turn(&mut self, burst: &mut Burst) -> bool {
        let mut worked = false;
        burst.take_heads(self.head());
        for position in 0..self.ports.len() {
            let Some(attached) = self.ports.get_mut(position) else { break };
            match attached.is_up() {
                Up::Always => {}
                Up::Again => {
                    let (id, number) = (self.shared.id, attached.number);
                    self.known.set_queue(number, self.worker, true);
                    let said = format_args!("device {id}: port {number} is back");
                    self.shared.log.line(Verbosity::Info, said);
                }
                Up::Not => continue,
            }
            burst.clear();
            let (number, is_enabled) = (attached.number, attached.is_enabled);
            let received = attached.queue.receive(burst);
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
        worked
    }

    /// Runs the program on packets of one port.
    fn process<'p>(&mut self, port: u32, packets: impl Iterator<Item = &'p [u8]>) {
        let mut from_port = emptied(std::mem::take(&mut self.from_port));
        from_port.extend(packets.map(|packet| (port, packet)));
        if !from_port.is_empty() {
            self.process_all(port, &from_port);
        }
        self.from_port = emptied(from_port);
    }

    fn process_all(&mut self, port: u32, from_port: &[(u32, &[u8])]) {
        let received = from_port.iter().map(|(_, packet)| *packet);
        self.shared.log.packets(self.shared.id, ["received", "on"], port, received);
        let now = self.now();
        if self.shared.log.wants(Verbosity::Debug) {
            from_port.iter().for_each(|(_, packet)| self.process_traced(port, packet, now));
            return;
        }
        // What one packet adds to a queue the next one finds there.
        let together = if self.tell_queues(false) { 1 } else { from_port.len() };
        for packets in from_port.chunks(together) {
            let mut batch = std::mem::take(&mut self.batch);
            self.program.process_batch(packets, now, &mut batch);
            for (_, fault) in batch.errors() {
                self.say(port, fault);
            }
            self.send_all(batch.sent().map(|(_, port, packet)| (port, packet)));
            self.batch = batch;
            if together == 1 {
                self.tell_queues(true);
            }
        }
    }

    /// Returns the time since the device was started.
    fn now(&self) -> Duration {
        Duration::from_nanos(p4runtime::server::now().0.saturating_sub(self.shared.started.0))
    }

    /// Runs the program on a packet and says what happens to it.
    fn process_traced(&mut self, port: u32, packet: &[u8], now: Duration) {
        self.tell_queues(false);
        let (shared, mut outputs) = (&self.shared, Vec::new());
        let mut log = PacketLog { log: &shared.log, device: shared.id };
        let outcome = self.program.process_traced(port, packet, now, &mut log, &mut outputs);
        if let Err(fault) = outcome {
            self.say(port, &fault);
        }
        self.send_all(outputs.iter().map(|output| (output.port, &output.packet[..])));
    }

    /// Tells a program that asks how many packets wait for each port, or for those that something was sent to; false if
    /// none has a queue, or the program does not ask.
    fn tell_queues(&mut self, only_dirty: bool) -> bool {
        let mut queues = false;
        if self.program.asks_for_queues() {
            let ports = self.ports.iter_mut().filter(|attached| attached.retry.is_none());
            for attached in ports.filter(|attached| attached.is_dirty || !only_dirty) {
                let waiting = attached.queue.waiting();
                queues |= waiting.is_some();
                self.program.set_waiting(attached.number, waiting.unwrap_or(0));
            }
        }
        queues
    }

    fn say(&self, port: u32, fault: &RunError) {
        let id = self.shared.id;
        let said = format_args!("device {id}: a packet from port {port} is dropped: {fault}");
        self.shared.log.line(Verbosity::Warn, said);
    }

    /// Sends packets on their ways, those one behind the other that leave by one port together.
    fn send_all<'p>(&mut self, packets: impl Iterator<Item = (u32, &'p [u8])>) {
        let (mut to, mut together) = (0, emptied(std::mem::take(&mut self.together)));
        for (port, packet) in packets {
            if port != to {
                self.send(to, &together);
                together.clear();
                to = port;
            }
            together.push(packet);
        }
        self.send(to, &together);
        self.together = emptied(together);
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
            Some(attached) if !attached.is_enabled => {
                self.shared.tallies.port_disabled.add(packets.len());
            }
            // What is not taken the port has counted.
            Some(attached) => attached.is_dirty |= attached.queue.transmit_all(packets) > 0,
            None => self.shared.tallies.no_such_port.add(packets.len()),
        }
    }

    /// Lets everything go that earlier packets left behind.
    fn hand_out(&mut self) {
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
        // Whoever fetches them is a thread of its own: to wake it takes as long as many packets.
        if self.program.has_digests() {
            self.shared.digests_wait.notify_one();
        }
    }

    fn send_packet_ins(&mut self) {
        let tallies = &self.shared.tallies;
        let count = self.packet_ins.len();
        tallies.packet_ins.add(count);
        let running = self.shared.running();
        let layout = running.as_deref().and_then(|pipeline| pipeline.packet_in());
        if layout.is_some_and(|layout| layout.check_untranslated().is_err()) {
            // The log says so once, when the pipeline is committed.
            self.packet_ins.clear();
            tallies.packet_ins_dropped.add(count);
            return;
        }
        let packets = self.packet_ins.drain(..).filter_map(|packet| {
            let (metadata, payload) = match layout {
                Some(layout) => layout.split(packet)?,
                None => (Vec::new(), packet),
            };
            let metadata = PacketInMetadata::Fields(metadata);
            Some(PacketIn { payload, metadata, tag: 0 })
        });
        let packets: Vec<_> = packets.collect();
        let queued = self.handle.send_batch(packets).unwrap_or(0);
        tallies.packet_ins_dropped.add(count.saturating_sub(queued));
    }
}

/// Without what it holds, to hold the same borrowed for another time: what is collected from a list takes its memory over.
fn emptied<Held, Other>(mut list: Vec<Held>) -> Vec<Other> {
    const { assert!(size_of::<Held>() == size_of::<Other>()) };
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

/// Whether a port is there.
enum Up {
    Always,
    /// It was gone until now.
    Again,
    Not,
}

impl Attached {
    /// Whether the port is there; tries to get it back if it is time.
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
