//! A simulated OpenFlow switch, with the faults that a test sets.
//!
//! Tables, statistics and packets are those of the emulated switch in the crate `openflow_switch`.
//! The faults are made by a thread that delays or drops messages and answers.

use std::collections::{HashMap, VecDeque};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use openflow::framing::Framer;
use openflow::wire::{FlowMod, FlowModCommand, Header, MessageType};
use openflow::{DatapathId, Version};
use openflow_switch::{Arriving, FlowTables, OpenFlowSwitch, SwitchOptions};
use packetio::{BURST, Burst, Port};

use crate::watch::Watch;

/// The pause of the thread when neither a message nor a packet has arrived.
const PAUSE: Duration = Duration::from_micros(20);

/// The faults of a simulated switch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// The time after which flow-mods take effect. Barrier replies are sent earlier, without
    /// waiting for that.
    pub(crate) early: Duration,
    /// The largest number of flow-mods that the switch processes per second; `None` for no limit.
    pub(crate) rate: Option<f64>,
    /// One in this number of insertions is dropped without an error; `None` if none is.
    pub(crate) loses: Option<u64>,
    /// One in this number of deletions is dropped without an error; `None` if none is.
    pub(crate) loses_deletions: Option<u64>,
    /// Whether errors are sent too late, after the next barrier reply.
    pub(crate) has_late_errors: bool,
    /// The largest number of packet-ins that the switch sends per second; `None` for no limit.
    pub(crate) packet_in_rate: Option<f64>,
    /// One in this number of packet-ins is dropped; `None` if none is.
    pub(crate) loses_packet_ins: Option<u64>,
    /// One in this number of packet-ins is sent twice; `None` if none is.
    pub(crate) copies_packet_ins: Option<u64>,
    /// The time by which timeouts take effect too early.
    pub(crate) expires_before: Duration,
    /// Whether the switch omits the message about an entry that a timeout removes.
    pub(crate) is_silent_on_expiry: bool,
    /// The time for which the switch repeats an earlier answer to a request for statistics; `None`
    /// if it always answers with current values.
    pub(crate) copies_statistics: Option<Duration>,
    /// Whether the switch drops the next packet that arrives after each flow-mod.
    pub(crate) loses_packet_after_flow_mod: bool,
    /// The time for which a request for statistics keeps the switch from doing anything else.
    pub(crate) statistics_take: Duration,
}

/// A simulated switch, which connects as soon as the controller listens.
pub(crate) struct MadeSwitch {
    pub(crate) version: Version,
    /// The number of flows that the table holds.
    pub(crate) table_size: u32,
    pub(crate) faults: Faults,
    /// Flow-mods of another controller, which the switch carries out before the first request of
    /// the measurement.
    pub(crate) others: Vec<Vec<u8>>,
    /// The ports of the switch, numbered from 1.
    pub(crate) ports: Vec<Port>,
    /// The number of connections that the switch opens. Flow-mods are accepted over all of them.
    pub(crate) connections: usize,
}

impl MadeSwitch {
    pub(crate) fn new(version: Version, faults: Faults) -> Self {
        let (others, ports) = (Vec::new(), Vec::new());
        Self { version, table_size: 10_000, faults, others, ports, connections: 1 }
    }
}

/// An observer of the measurement that starts the switch when the controller listens.
pub(crate) struct Connects {
    made: Option<MadeSwitch>,
    /// The thread of the switch, which returns the number of flows that are left in the switch at
    /// the end.
    thread: Option<JoinHandle<usize>>,
}

impl Connects {
    pub(crate) fn new(made: MadeSwitch) -> Self {
        Self { made: Some(made), thread: None }
    }

    /// Waits until the connection is closed, and returns the number of flows that are left in the
    /// switch.
    pub(crate) fn flows_left(self) -> usize {
        self.thread.expect("the switch has connected").join().expect("it does not panic")
    }
}

impl Watch for Connects {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {}

    fn listens(&mut self, address: SocketAddr) {
        let made = self.made.take().expect("it listens once");
        self.thread = Some(thread::spawn(move || Serving::new(made, address).serve()));
    }
}

/// A simulated switch that is connected to its controller.
struct Serving {
    switch: OpenFlowSwitch,
    socket: TcpStream,
    made: MadeSwitch,
    began: Instant,
    /// The flow-mods that have not taken effect, with the times at which they will.
    waiting: VecDeque<(Instant, Vec<u8>)>,
    /// The errors that are held back until after the next barrier reply.
    held: Vec<u8>,
    /// The time at which the switch can process the next flow-mod.
    free_at: Instant,
    insertions: u64,
    deletions: u64,
    packet_ins: u64,
    /// The latest answers to requests for statistics, by the bytes of the request without its
    /// transaction id.
    copies: HashMap<Vec<u8>, (Instant, Vec<u8>)>,
    out: Vec<u8>,
    /// Whether the next packet that arrives is dropped.
    drops_next: bool,
    further: Vec<Further>,
}

/// A further connection of the switch.
struct Further {
    /// A switch without flows that answers all messages except flow-mods.
    answering: OpenFlowSwitch,
    socket: TcpStream,
    framer: Framer,
    out: Vec<u8>,
}

/// Connects a switch to the measurement.
fn connected(made: &MadeSwitch, address: SocketAddr) -> (OpenFlowSwitch, TcpStream, Vec<u8>) {
    let mut switch = OpenFlowSwitch::new(SwitchOptions {
        version: made.version,
        datapath_id: DatapathId(7),
        ports: 4,
        buffers: 0,
        table_size: made.table_size,
        flow_tables: FlowTables::Run,
        awaiting: 0,
    });
    switch.hand_out();
    let socket = TcpStream::connect(address).expect("the measurement listens");
    socket.set_nonblocking(true).expect("a socket");
    socket.set_nodelay(true).expect("a socket");
    grpc::tcp::send_unpaced(&socket).expect("granted");
    let mut out = Vec::new();
    switch.opened(0, &mut out);
    (switch, socket, out)
}

impl Serving {
    fn new(made: MadeSwitch, address: SocketAddr) -> Self {
        let (switch, socket, out) = connected(&made, address);
        let further = (1..made.connections).map(|_| {
            let (answering, socket, out) = connected(&made, address);
            Further { answering, socket, framer: Framer::new(), out }
        });
        let further = further.collect();
        let now = Instant::now();
        Self {
            switch,
            socket,
            made,
            began: now,
            waiting: VecDeque::new(),
            held: Vec::new(),
            free_at: now,
            insertions: 0,
            deletions: 0,
            packet_ins: 0,
            copies: HashMap::new(),
            out,
            drops_next: false,
            further,
        }
    }

    fn serve(mut self) -> usize {
        let (mut framer, mut chunk) = (Framer::new(), [0; 1 << 16]);
        loop {
            let mut is_idle = true;
            match self.socket.read(&mut chunk) {
                Ok(0) => return self.end(),
                Ok(count) => {
                    is_idle = false;
                    for frame in framer.frames(&chunk[..count]) {
                        self.receive(frame.expect("the controller sends messages"));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return self.end(),
            }
            self.take_effect();
            self.expire();
            is_idle &= !self.forward();
            if !self.send() {
                return self.end();
            }
            is_idle &= !self.serve_further();
            if is_idle {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Serves the further connections, which share the flows of the first. Returns whether any
    /// message had arrived.
    fn serve_further(&mut self) -> bool {
        let (mut had_some, mut chunk) = (false, [0; 1 << 16]);
        for mut one in std::mem::take(&mut self.further) {
            let count = match one.socket.read(&mut chunk) {
                Ok(0) => continue,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(_) => continue,
            };
            had_some |= count > 0;
            std::mem::swap(&mut self.out, &mut one.out);
            for frame in one.framer.frames(&chunk[..count]) {
                let frame = frame.expect("the controller sends messages");
                let kind = Header::new_checked(frame).expect("a message").message_type();
                if kind == MessageType::FLOW_MOD {
                    self.receive(frame);
                } else {
                    let now = self.now();
                    let received = one.answering.receive(frame, now, &mut self.out);
                    received.expect("the session goes on");
                }
            }
            std::mem::swap(&mut self.socket, &mut one.socket);
            let is_open = self.send();
            std::mem::swap(&mut self.socket, &mut one.socket);
            std::mem::swap(&mut self.out, &mut one.out);
            if is_open {
                self.further.push(one);
            }
        }
        had_some
    }

    fn end(mut self) -> usize {
        for (_, frame) in std::mem::take(&mut self.waiting) {
            self.process(&frame);
        }
        self.switch.entries()
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn receive(&mut self, frame: &[u8]) {
        if self.switch.is_ready() {
            for other in std::mem::take(&mut self.made.others) {
                self.process(&other);
            }
        }
        let faults = self.made.faults;
        match Header::new_checked(frame).expect("a message").message_type() {
            MessageType::FLOW_MOD => {
                self.drops_next |= faults.loses_packet_after_flow_mod;
                if let Some(rate) = faults.rate {
                    let takes = Duration::from_secs_f64(1.0 / rate);
                    self.free_at = self.free_at.max(Instant::now()) + takes;
                    thread::sleep(self.free_at.saturating_duration_since(Instant::now()));
                }
                let command = FlowMod::new_checked(frame).expect("a flow-mod").command();
                self.insertions += u64::from(command == FlowModCommand::ADD);
                self.deletions += u64::from(command == FlowModCommand::DELETE_STRICT);
                let is_lost = |each: Option<u64>, of: FlowModCommand, count: u64| {
                    each.is_some_and(|each| command == of && count.is_multiple_of(each))
                };
                if is_lost(faults.loses, FlowModCommand::ADD, self.insertions)
                    || is_lost(
                        faults.loses_deletions,
                        FlowModCommand::DELETE_STRICT,
                        self.deletions,
                    )
                {
                    return;
                }
                if faults.early > Duration::ZERO {
                    // They take effect so long after all that was received is answered.
                    self.send();
                    self.waiting.push_back((Instant::now() + faults.early, frame.to_vec()));
                } else {
                    self.process(frame);
                }
            }
            MessageType::PACKET_OUT => {
                let now = self.now();
                self.switch.packet_out(frame, now, &mut self.out);
                self.transmit();
            }
            kind if Some(kind) == self.copied_type() => self.answer_with_copy(frame),
            kind => {
                if kind == self.statistics_type() {
                    thread::sleep(faults.statistics_take);
                }
                self.process(frame);
                let is_barrier = match self.made.version {
                    Version::V1_0 => kind == MessageType(18),
                    Version::V1_3 => kind == MessageType(20),
                };
                if is_barrier {
                    self.out.append(&mut self.held);
                    if faults.early > Duration::ZERO {
                        self.send();
                        let due = Instant::now() + faults.early;
                        self.waiting.iter_mut().for_each(|(at, _)| *at = (*at).max(due));
                    }
                }
            }
        }
    }

    /// Returns the message type of requests for statistics if earlier answers are repeated;
    /// otherwise `None`.
    fn copied_type(&self) -> Option<MessageType> {
        self.made.faults.copies_statistics.map(|_| self.statistics_type())
    }

    /// Returns the type of requests for statistics.
    fn statistics_type(&self) -> MessageType {
        match self.made.version {
            Version::V1_0 => MessageType(16),
            Version::V1_3 => MessageType(18),
        }
    }

    /// Answers a request for statistics with the answer to an equal earlier request, if that is
    /// recent enough.
    fn answer_with_copy(&mut self, frame: &[u8]) {
        const XID: std::ops::Range<usize> = 4..8;
        let key = [&frame[..XID.start], &frame[XID.end..]].concat();
        let renewed = self.made.faults.copies_statistics.unwrap_or_default();
        match self.copies.get(&key) {
            Some((since, copy)) if since.elapsed() < renewed => {
                let mut answer = copy.clone();
                answer[XID].copy_from_slice(&frame[XID]);
                self.out.extend(answer);
            }
            _ => {
                let start = self.out.len();
                self.process(frame);
                let answer = self.out[start..].to_vec();
                self.copies.insert(key, (Instant::now(), answer));
            }
        }
    }

    fn process(&mut self, frame: &[u8]) {
        let (now, start) = (self.now(), self.out.len());
        self.switch.receive(frame, now, &mut self.out).expect("the session goes on");
        let is_error = self.out.get(start + 1) == Some(&MessageType::ERROR.0);
        if is_error && self.made.faults.has_late_errors {
            self.held.extend(self.out.drain(start..));
        }
    }

    /// Removes the entries whose timeouts have expired, as the emulated switch does once per
    /// second.
    fn expire(&mut self) {
        let Faults { expires_before, is_silent_on_expiry, .. } = self.made.faults;
        let (now, start) = (self.now() + expires_before.as_nanos() as u64, self.out.len());
        self.switch.tick(now, &mut self.out).expect("the session goes on");
        if is_silent_on_expiry {
            self.out.truncate(start);
        }
    }

    /// Applies the delayed flow-mods whose time has come.
    fn take_effect(&mut self) {
        let now = Instant::now();
        while self.waiting.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, frame)) = self.waiting.pop_front() {
                self.process(&frame);
            }
        }
    }

    /// Forwards the packets that have arrived. Returns whether there were any.
    fn forward(&mut self) -> bool {
        let mut burst = Burst::new(BURST);
        let mut has_packets = false;
        for port in 0..self.made.ports.len() {
            burst.clear();
            let queue = &mut self.made.ports[port].queues[0];
            has_packets |= queue.receive(&mut burst).expect("a line") > 0;
            let now = self.now();
            for frame in burst.frames() {
                if std::mem::take(&mut self.drops_next) {
                    continue;
                }
                let arriving = Arriving::aside(port as u32 + 1, frame.bytes());
                let mut made = Vec::new();
                self.switch.packet(arriving, now, &mut made);
                if !made.is_empty() {
                    self.packet_in(&made);
                }
                self.transmit();
            }
        }
        has_packets
    }

    /// Sends the packets that have left the switch.
    fn transmit(&mut self) {
        for left in self.switch.take_left() {
            let outgoing = self.made.ports.get_mut(usize::from(left.port) - 1);
            if let Some(outgoing) = outgoing {
                outgoing.queues[0].transmit(&left.frame);
                outgoing.queues[0].flush();
            }
        }
    }

    /// Sends a packet-in, unless a fault drops it.
    fn packet_in(&mut self, message: &[u8]) {
        let faults = self.made.faults;
        if let Some(rate) = faults.packet_in_rate {
            let takes = Duration::from_secs_f64(1.0 / rate);
            self.free_at = self.free_at.max(Instant::now()) + takes;
            self.send();
            thread::sleep(self.free_at.saturating_duration_since(Instant::now()));
        }
        self.packet_ins += 1;
        let is_hit = |each: Option<u64>| each.is_some_and(|n| self.packet_ins.is_multiple_of(n));
        if !is_hit(faults.loses_packet_ins) {
            self.out.extend_from_slice(message);
        }
        if is_hit(faults.copies_packet_ins) {
            self.out.extend_from_slice(message);
        }
    }

    /// Sends all answers. Returns whether the connection is open.
    fn send(&mut self) -> bool {
        let mut rest = self.out.as_slice();
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
                Err(_) => return false,
            }
        }
        self.out.clear();
        true
    }
}
