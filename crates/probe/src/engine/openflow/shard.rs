//! One engine thread: its switches, their connections and their share of the schedule.
//!
//! A single loop paces, writes, reads and keeps the books, so that no lock and no hand-over sits
//! between a due time and the system call that sends. The loop sleeps until shortly before the
//! next due time and spins for the rest, since a sleep alone overshoots by tens of microseconds.

use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;

use openflow::framing::FramingError;
use openflow::wire::{FlowMod, FlowModCommand, MessageType, PacketOut};
use openflow::{BufferId, Xid};
use rustix::event::{Timespec, epoll};

use super::connection::{Connection, HIGH_WATER, State};
use super::flood::FloodBlock;
use super::transport::Dialler;
use crate::config::{Matching, Mode};
use crate::engine::control::{Live, Orders};
use crate::engine::mailbox::{Mailbox, Note, Slot};
use crate::engine::recorder::{Recorder, RuleChange};
use crate::engine::{SwitchHandshake, TrialPlan, nanos};
use crate::ledger::Answer;
use crate::openflow_switch::{OpenFlowSwitch, Received};
use crate::schedule::{Nanos, ShardSchedule};
use crate::topology::{Port, SwitchIndex};
use crate::traffic::{FrameSource, is_discovery, read_id};

/// The loop spins when the next thing to do is nearer than this, in nanoseconds: about what a
/// timer and a context switch cost.
const SPIN: u64 = 60_000;
/// The loop looks at its orders at least this often.
const LOOK: u64 = 20_000_000;
/// Spacing of housekeeping: keep-alives, expiry, publishing of counters.
const TICK: u64 = 100_000_000;
/// Time between attempts to connect.
const RETRY: u64 = 500_000_000;
/// Bytes read at a time.
const READ: usize = 256 * 1024;
/// Version numbers that OpenFlow has had, 1.0 to 1.5.
const VERSIONS: std::ops::RangeInclusive<u8> = 1..=6;
/// Names the mailbox among the poller's events; connections are named by their index.
const MAILBOX: u64 = u64::MAX;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the controller closed the connection")]
    Closed,
    #[error("the controller does not speak OpenFlow: {0}")]
    Framing(#[from] FramingError),
    #[error("the controller does not speak OpenFlow: a message begins with {0:#04x}, no version")]
    Foreign(u8),
    #[error("{0}")]
    Session(String),
}

pub(super) struct Shard {
    pub(super) plan: Arc<TrialPlan>,
    pub(super) orders: Arc<Orders>,
    pub(super) live: Arc<Live>,
    pub(super) dialler: Dialler,
    pub(super) recorder: Recorder,
    pub(super) schedule: Option<ShardSchedule>,
    pub(super) members: Vec<Member>,
    pub(super) mailbox: Mailbox,
    pub(super) slots: Vec<Slot>,
    pub(super) epoll: std::os::fd::OwnedFd,
    pub(super) dirty: Vec<usize>,
    pub(super) frame: Vec<u8>,
    pub(super) introduced: bool,
    pub(super) primed: bool,
    pub(super) next_dial: u64,
    pub(super) next_tick: u64,
}

/// A switch and its connection.
pub(super) struct Member {
    pub(super) switch: OpenFlowSwitch,
    pub(super) connection: Connection,
    pub(super) source: FrameSource,
    pub(super) flood: Option<FloodBlock>,
    pub(super) ready: bool,
    /// The most advanced stage so far, and the last error.
    pub(super) handshake: SwitchHandshake,
}

impl Shard {
    /// Runs until told to stop, and returns the books.
    pub(super) fn run(mut self) -> io::Result<(Recorder, Vec<SwitchHandshake>)> {
        // The default slack of 50 us would be added to every sleep.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        epoll::add(
            &self.epoll,
            &self.mailbox,
            epoll::EventData::new_u64(MAILBOX),
            epoll::EventFlags::IN,
        )?;
        let mut buffer = vec![0; READ];
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 256];
        while !self.orders.is_stopped() {
            let now = self.orders.clock.now();
            self.dial(now);
            if self.orders.is_settling() && !self.introduced {
                self.introduce();
            }
            if let Some(at) = self.traffic_time(now) {
                self.generate(at);
                self.recorder.sample(at);
            }
            if now >= self.next_tick {
                self.tick(now);
            }
            self.flush_dirty();
            let timeout = self.timeout(self.orders.clock.now());
            let (ready, _) = epoll::wait(&self.epoll, &mut events, Some(&timeout)).or_else(
                |error| match error {
                    rustix::io::Errno::INTR => Ok((&mut [] as &mut [epoll::Event], &mut [] as _)),
                    other => Err(other),
                },
            )?;
            // Another thread may have closed its connections by now. What the controller does with
            // the places that are free again is no part of the trial.
            if self.orders.is_stopped() {
                break;
            }
            for event in ready {
                let (data, flags) = (event.data, event.flags);
                match data.u64() {
                    MAILBOX => self.take_notes(),
                    index => self.handle(index as usize, flags, &mut buffer),
                }
                self.keep_schedule();
            }
        }
        if let Some(at) = self.traffic_time(self.orders.clock.now()) {
            self.recorder.close(at);
        }
        self.publish();
        Ok((self.recorder, self.members.into_iter().map(|member| member.handshake).collect()))
    }

    /// Nanoseconds since the start of traffic, if it has started.
    fn traffic_time(&self, now: u64) -> Option<u64> {
        self.orders.traffic_start().and_then(|start| now.checked_sub(start))
    }

    /// Sends what has become due while answers are read. What is due goes first: after a stall a
    /// pass over all connections takes longer than the schedule may be late.
    fn keep_schedule(&mut self) {
        let Some(due) = self.schedule.as_ref().and_then(|schedule| schedule.peek()) else { return };
        if let Some(at) = self.traffic_time(self.orders.clock.now())
            && due.at.0 <= at
        {
            self.generate(at);
            self.flush_dirty();
        }
    }

    fn timeout(&self, now: u64) -> Timespec {
        let mut wake = (now + LOOK).min(self.next_tick);
        if let Some(start) = self.orders.traffic_start() {
            wake = match now.checked_sub(start) {
                None => wake.min(start),
                Some(_) => {
                    let due = self.schedule.as_ref().and_then(|schedule| schedule.peek());
                    let due = due.map_or(u64::MAX, |due| start.saturating_add(due.at.0));
                    wake.min(due).min(start.saturating_add(self.recorder.next_sample()))
                }
            };
        } else if self.members.iter().any(|m| matches!(m.connection.state, State::Idle { .. })) {
            wake = wake.min(now + 1_000_000);
        }
        if !self.dirty.is_empty() {
            wake = now;
        }
        let sleep = wake.saturating_sub(now).saturating_sub(SPIN);
        Timespec { tv_sec: (sleep / 1_000_000_000) as i64, tv_nsec: (sleep % 1_000_000_000) as i64 }
    }

    /// Starts connections whose time has come, no faster than the plan allows.
    fn dial(&mut self, now: u64) {
        let spacing = self.plan.dial_spacing();
        for index in 0..self.members.len() {
            if self.next_dial > now {
                return;
            }
            let connection = &mut self.members[index].connection;
            if !matches!(connection.state, State::Idle { retry_at } if retry_at <= now) {
                continue;
            }
            self.next_dial = self.next_dial.max(now.saturating_sub(TICK)) + spacing;
            let dialled = self.dialler.dial().and_then(|transport| {
                epoll::add(
                    &self.epoll,
                    &transport,
                    epoll::EventData::new_u64(index as u64),
                    epoll::EventFlags::IN | epoll::EventFlags::OUT,
                )?;
                Ok(transport)
            });
            match dialled {
                Ok(transport) => {
                    connection.state = State::Connecting(transport);
                    connection.watches_writable = true;
                    self.members[index].handshake.reach(0, "dialled, no connection yet");
                }
                Err(error) => self.disconnect(index, &error.into()),
            }
        }
    }

    fn handle(&mut self, index: usize, flags: epoll::EventFlags, buffer: &mut [u8]) {
        if let Err(error) = self.try_handle(index, flags, buffer) {
            self.disconnect(index, &error);
        }
    }

    fn try_handle(
        &mut self,
        index: usize,
        flags: epoll::EventFlags,
        buffer: &mut [u8],
    ) -> Result<(), ConnectionError> {
        let failed = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let member = &mut self.members[index];
        if let State::Connecting(transport) = &member.connection.state {
            if !flags.intersects(epoll::EventFlags::OUT | failed) {
                return Ok(());
            }
            transport.connected()?;
            let State::Connecting(transport) =
                std::mem::replace(&mut member.connection.state, State::Idle { retry_at: u64::MAX })
            else {
                return Ok(());
            };
            let plain = !transport.is_handshaking();
            member.connection.state = State::Open(transport);
            let stage = if plain { "connected" } else { "connected, TLS not finished" };
            member.handshake.reach(1, stage);
            member.switch.opened(self.orders.clock.now(), &mut member.connection.out);
            if plain {
                self.note_stage(index);
            }
            self.touch(index);
        }
        if flags.intersects(epoll::EventFlags::IN | failed) {
            self.read(index, buffer)?;
        }
        if flags.contains(epoll::EventFlags::OUT) {
            self.members[index].connection.blocked = false;
            self.touch(index);
        }
        Ok(())
    }

    fn read(&mut self, index: usize, buffer: &mut [u8]) -> Result<(), ConnectionError> {
        let State::Open(transport) = &mut self.members[index].connection.state else {
            return Ok(());
        };
        let count = match transport.read(buffer) {
            Ok(0) => return Err(ConnectionError::Closed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error.into()),
        };
        let now = self.orders.clock.now();
        // The framer is taken out while its frames are borrowed from it and the buffer.
        let mut framer = std::mem::take(&mut self.members[index].connection.framer);
        let result = self.read_frames(index, &mut framer, &buffer[..count], now);
        self.members[index].connection.framer = framer;
        self.touch(index);
        result
    }

    fn read_frames(
        &mut self,
        index: usize,
        framer: &mut openflow::framing::Framer,
        chunk: &[u8],
        now: u64,
    ) -> Result<(), ConnectionError> {
        let at = self.traffic_time(now);
        if let (Some(at), true, true) =
            (at, self.members[index].flood.is_some(), self.members[index].ready)
        {
            return self.count_flood(index, framer, chunk, now, at);
        }
        for frame in framer.frames(chunk) {
            self.receive(index, frame?, now, at)?;
        }
        // Text reads as a long message that never ends. Waiting for it would hide what is wrong.
        match framer.held().first() {
            Some(version) if !self.members[index].ready && !VERSIONS.contains(version) => {
                Err(ConnectionError::Foreign(*version))
            }
            _ => Ok(()),
        }
    }

    fn receive(
        &mut self,
        index: usize,
        frame: &[u8],
        now: u64,
        at: Option<u64>,
    ) -> Result<(), ConnectionError> {
        if self.members[index].ready {
            match MessageType(frame[1]) {
                MessageType::PACKET_OUT => return self.packet_out(index, frame, now, at),
                MessageType::FLOW_MOD => self.flow_mod_releases(index, frame, at),
                _ => {}
            }
        }
        let member = &mut self.members[index];
        let received = member.switch.receive(frame, now, &mut member.connection.out);
        match received {
            Ok(Received::Nothing) => {}
            Ok(Received::Rules { installed, removed, refused }) => {
                for (change, count) in [
                    (RuleChange::Installed, installed),
                    (RuleChange::Removed, removed),
                    (RuleChange::Refused, refused),
                ] {
                    // Rules that come before traffic, such as table-miss entries, are no answer
                    // to it.
                    if let (Some(at), true) = (at, count > 0) {
                        self.recorder.rules(index, change, u64::from(count), at);
                    }
                }
            }
            Ok(Received::Malformed(problem)) => {
                self.recorder.counts(index).malformed += 1;
                member.handshake.error = Some(problem);
            }
            Err(error) => return Err(ConnectionError::Session(error.to_string())),
        }
        self.note_stage(index);
        Ok(())
    }

    fn note_stage(&mut self, index: usize) {
        let member = &mut self.members[index];
        if member.ready {
            return;
        }
        let (rank, stage) = member.switch.stage();
        member.handshake.reach(2 + rank, stage);
        if member.switch.is_ready() {
            member.ready = true;
            member.handshake.ready = true;
            self.live.ready_changed(1);
        }
    }

    fn packet_out(
        &mut self,
        index: usize,
        frame: &[u8],
        now: u64,
        at: Option<u64>,
    ) -> Result<(), ConnectionError> {
        let Ok(packet_out) = PacketOut::new_checked(frame) else {
            let member = &mut self.members[index];
            self.recorder.counts(index).malformed += 1;
            // The switch answers malformed messages as the specification asks.
            let _ = member.switch.receive(frame, now, &mut member.connection.out);
            return Ok(());
        };
        let payload = packet_out.payload();
        if is_discovery(payload) {
            self.relay(index, &packet_out);
            return Ok(());
        }
        let Some(at) = at else { return Ok(()) };
        self.recorder.packet_out(index, at);
        let buffer_id = packet_out.buffer_id();
        match self.plan.config.traffic.matching {
            Matching::Auto if buffer_id.is_buffered() => {
                self.answered_by_buffer(index, buffer_id, at);
            }
            Matching::Auto | Matching::Payload => match read_id(payload, self.plan.run_key) {
                Some(id) if id.is_unmeasured() => {}
                Some(id) => self.answered(index, id.switch, id.sequence, now, at),
                None => self.recorder.counts(index).unmatched += 1,
            },
            Matching::Xid => {
                let ledger = &self.recorder.switches[index].ledger;
                match ledger.widen(packet_out.xid().0, 32) {
                    Some(sequence) => {
                        let answer = self.recorder.answer(index, sequence, at);
                        self.settle(index, answer);
                    }
                    None => self.recorder.counts(index).unmatched += 1,
                }
            }
            Matching::Order => {
                let answer = self.recorder.answer_oldest(index, at);
                self.settle(index, answer);
            }
        }
        Ok(())
    }

    /// A flow-mod that names a buffered packet sends that packet too, so it answers the packet-in.
    fn flow_mod_releases(&mut self, index: usize, frame: &[u8], at: Option<u64>) {
        if let (Some(at), Matching::Auto, Ok(flow_mod)) =
            (at, self.plan.config.traffic.matching, FlowMod::new_checked(frame))
        {
            let releases = matches!(
                flow_mod.command(),
                FlowModCommand::ADD | FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT
            );
            if releases && flow_mod.buffer_id().is_buffered() {
                self.answered_by_buffer(index, flow_mod.buffer_id(), at);
            }
        }
    }

    fn answered_by_buffer(&mut self, index: usize, buffer_id: BufferId, at: u64) {
        let ledger = &self.recorder.switches[index].ledger;
        match ledger.widen(buffer_id.0, BUFFER_BITS) {
            Some(sequence) if buffer_id.0 < 1 << BUFFER_BITS => {
                let answer = self.recorder.answer(index, sequence, at);
                self.settle(index, answer);
            }
            _ => self.recorder.counts(index).unmatched += 1,
        }
    }

    /// An answer to a packet-in of the switch with index `owner` over the whole trial arrived at
    /// the member `index`.
    fn answered(&mut self, index: usize, owner: u32, sequence: u64, now: u64, at: u64) {
        let (thread, member) = self.plan.place(owner);
        if self.recorder.switches.get(member).is_some_and(|record| record.index == owner) {
            let answer = self.recorder.answer(member, sequence, at);
            self.settle(member, answer);
        } else if let Some(slot) = self.slots.get(thread) {
            slot.send(Note::Answered { switch: owner, sequence, at: now });
        } else {
            self.recorder.counts(index).unmatched += 1;
        }
    }

    fn settle(&mut self, index: usize, answer: Answer) {
        match answer {
            Answer::First { frees_place } => {
                if frees_place && matches!(self.plan.config.traffic.mode, Mode::Closed { .. }) {
                    self.touch(index);
                }
            }
            Answer::Duplicate => {}
            Answer::Unmatched => self.recorder.counts(index).unmatched += 1,
        }
    }

    /// Carries a discovery frame over the links that it is sent to.
    fn relay(&mut self, index: usize, packet_out: &PacketOut<&[u8]>) {
        let here = SwitchIndex(self.recorder.switches[index].index);
        for output in packet_out.outputs() {
            let everywhere =
                matches!(output, openflow::PortNumber::FLOOD | openflow::PortNumber::ALL);
            let plan = self.plan.clone();
            let ports: Vec<Port> = match (everywhere, u16::try_from(output.0)) {
                (true, _) => plan.topology.link_ports(here).collect(),
                (false, Ok(port)) => vec![Port(port)],
                (false, Err(_)) => Vec::new(),
            };
            for port in ports {
                if let Some((SwitchIndex(switch), Port(port))) = plan.topology.peer(here, port) {
                    self.recorder.counts(index).discovery_relayed += 1;
                    let frame = packet_out.payload().to_vec();
                    self.deliver(Note::Arrived { switch, port: port.into(), frame });
                }
            }
        }
    }

    fn deliver(&mut self, note: Note) {
        let switch = match &note {
            Note::Answered { switch, .. } | Note::Arrived { switch, .. } => *switch,
        };
        let (thread, member) = self.plan.place(switch);
        if self.recorder.switches.get(member).is_some_and(|record| record.index == switch) {
            self.take(note);
        } else if let Some(slot) = self.slots.get(thread) {
            slot.send(note);
        }
    }

    fn take_notes(&mut self) {
        self.mailbox.clear();
        while let Some(note) = self.mailbox.take() {
            self.take(note);
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Answered { switch, sequence, at } => {
                let (_, member) = self.plan.place(switch);
                if let (Some(at), true) = (self.traffic_time(at), member < self.members.len()) {
                    let answer = self.recorder.answer(member, sequence, at);
                    self.settle(member, answer);
                }
            }
            Note::Arrived { switch, port, frame } => {
                let (_, index) = self.plan.place(switch);
                if let Some(member) = self.members.get_mut(index)
                    && member.ready
                    && member.connection.backlog() < HIGH_WATER
                {
                    let out = &mut member.connection.out;
                    member.switch.packet_in(Xid(0), BufferId::NO_BUFFER, port, &frame, out);
                    self.touch(index);
                }
            }
        }
    }

    /// Lets every emulated host announce itself.
    fn introduce(&mut self) {
        self.introduced = true;
        if !self.plan.config.traffic.arp_first {
            return;
        }
        for index in 0..self.members.len() {
            if !self.members[index].ready {
                continue;
            }
            let switch = self.recorder.switches[index].index;
            for (port, frame) in self.plan.hosts.arp_announcements(switch, self.plan.run_key) {
                let member = &mut self.members[index];
                let out = &mut member.connection.out;
                member.switch.packet_in(
                    Xid(0),
                    BufferId::NO_BUFFER,
                    u32::from(port.0),
                    &frame,
                    out,
                );
            }
            self.touch(index);
        }
    }

    /// Moves everything that is due at `at` to its switch.
    fn generate(&mut self, at: u64) {
        match self.plan.config.traffic.mode {
            Mode::Open => {
                while let Some(due) =
                    self.schedule.as_mut().and_then(|schedule| schedule.pop_due(Nanos(at)))
                {
                    let (_, index) = self.plan.place(due.switch);
                    self.recorder.due(index, due.at.0);
                    let member = &mut self.members[index];
                    if !member.ready {
                        continue;
                    }
                    let connection = &mut member.connection;
                    let held_back = connection.blocked || connection.backlog() > 0;
                    connection.pending.push_back((due.at.0, held_back));
                    self.touch(index);
                }
            }
            Mode::Closed { .. } | Mode::Flood => {
                if !self.primed {
                    self.primed = true;
                    (0..self.members.len()).for_each(|index| self.touch(index));
                }
            }
        }
    }

    fn touch(&mut self, index: usize) {
        let connection = &mut self.members[index].connection;
        if !connection.is_dirty {
            connection.is_dirty = true;
            self.dirty.push(index);
        }
    }

    fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            self.members[index].connection.is_dirty = false;
            if let Err(error) = self.fill_and_flush(index) {
                self.disconnect(index, &error.into());
            }
        }
        // Whatever was touched meanwhile joins the (empty, allocated) list.
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    fn fill_and_flush(&mut self, index: usize) -> io::Result<()> {
        let traffic = self.traffic_time(self.orders.clock.now());
        if let (Some(at), true) = (traffic, self.members[index].ready) {
            match self.plan.config.traffic.mode {
                Mode::Open => self.fill_from_schedule(index),
                Mode::Closed { window, .. } => self.fill_window(index, window, at),
                Mode::Flood => self.flood(index, at)?,
            }
        }
        let now = self.orders.clock.now();
        let start = self.orders.traffic_start().unwrap_or(u64::MAX);
        let recorder = &mut self.recorder;
        let connection = &mut self.members[index].connection;
        connection.flush(|sequence, held_back| {
            recorder.left(index, sequence, now.saturating_sub(start), held_back);
        })?;
        self.watch(index)?;
        if !self.members[index].connection.pending.is_empty()
            && !self.members[index].connection.blocked
            && self.members[index].ready
        {
            self.touch(index);
        }
        Ok(())
    }

    fn fill_from_schedule(&mut self, index: usize) {
        while self.members[index].connection.backlog() < HIGH_WATER {
            let Some((due, held_back)) = self.members[index].connection.pending.pop_front() else {
                break;
            };
            self.emit(index, due, held_back);
        }
    }

    fn fill_window(&mut self, index: usize, window: u32, at: u64) {
        let switch = self.recorder.switches[index].index;
        if !self.plan.is_active(switch, at) {
            return;
        }
        while self.recorder.switches[index].ledger.in_loop() < window
            && self.members[index].connection.backlog() < HIGH_WATER
        {
            self.recorder.due(index, at);
            self.emit(index, at, false);
        }
    }

    /// Writes one packet-in into the connection's outgoing bytes.
    fn emit(&mut self, index: usize, due: u64, held_back: bool) {
        let sequence = self.recorder.issue(index, due);
        let member = &mut self.members[index];
        self.frame.clear();
        let port = member.source.next(sequence, &mut self.frame);
        let buffer_id = match self.plan.config.switches.buffers {
            0 => BufferId::NO_BUFFER,
            _ => BufferId(sequence as u32 & ((1 << BUFFER_BITS) - 1)),
        };
        let out = &mut member.connection.out;
        member.switch.packet_in(
            Xid(sequence as u32),
            buffer_id,
            u32::from(port.0),
            &self.frame,
            out,
        );
        member.connection.mark(sequence, held_back);
    }

    /// Keeps the connection's send buffer full of prepared packet-ins.
    fn flood(&mut self, index: usize, at: u64) -> io::Result<()> {
        let switch = self.recorder.switches[index].index;
        if !self.plan.is_active(switch, at) || self.members[index].connection.backlog() > 0 {
            return Ok(());
        }
        let member = &mut self.members[index];
        let (State::Open(transport), Some(block)) =
            (&mut member.connection.state, &mut member.flood)
        else {
            return Ok(());
        };
        let (packets, blocked) = block.write_to(transport)?;
        member.connection.blocked = blocked;
        self.recorder.flood_left(index, packets, at);
        self.touch(index);
        Ok(())
    }

    fn count_flood(
        &mut self,
        index: usize,
        framer: &mut openflow::framing::Framer,
        chunk: &[u8],
        now: u64,
        at: u64,
    ) -> Result<(), ConnectionError> {
        let (mut packet_outs, mut flow_mods) = (0, 0);
        for frame in framer.frames(chunk) {
            let frame = frame?;
            match MessageType(frame[1]) {
                MessageType::PACKET_OUT => packet_outs += 1,
                MessageType::FLOW_MOD => flow_mods += 1,
                _ => self.receive(index, frame, now, Some(at))?,
            }
        }
        self.recorder.flood_answered(index, packet_outs, at);
        if flow_mods > 0 {
            self.recorder.rules(index, RuleChange::Installed, flow_mods, at);
        }
        Ok(())
    }

    /// Asks the poller for exactly the events that the connection needs.
    fn watch(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.members[index].connection;
        let State::Open(transport) = &connection.state else { return Ok(()) };
        let wanted = connection.blocked;
        if wanted != connection.watches_writable {
            let mut flags = epoll::EventFlags::IN;
            flags.set(epoll::EventFlags::OUT, wanted);
            let data = epoll::EventData::new_u64(index as u64);
            epoll::modify(&self.epoll, transport, data, flags)?;
            connection.watches_writable = wanted;
        }
        Ok(())
    }

    fn tick(&mut self, now: u64) {
        self.next_tick = now + TICK;
        let at = self.traffic_time(now);
        for index in 0..self.members.len() {
            if let (Mode::Closed { give_up, .. }, Some(at)) = (self.plan.config.traffic.mode, at) {
                let before = at.saturating_sub(nanos(give_up));
                self.recorder.switches[index].ledger.give_up(before);
            }
            // Without a schedule nothing else wakes a switch whose places were freed, that has just
            // become ready, or whose start delay has passed.
            if at.is_some() && self.plan.config.traffic.mode != Mode::Open {
                self.touch(index);
            }
            let member = &mut self.members[index];
            if let State::Open(_) = member.connection.state {
                match member.switch.tick(now, &mut member.connection.out) {
                    Ok(()) if member.connection.backlog() > 0 => self.touch(index),
                    Ok(()) => {}
                    Err(error) => {
                        self.disconnect(index, &ConnectionError::Session(error.to_string()));
                    }
                }
            }
        }
        self.publish();
    }

    fn publish(&mut self) {
        let (sent, answered) = self.recorder.publish();
        self.live.add(sent, answered);
    }

    /// Ends a connection; it is dialled again after a while.
    fn disconnect(&mut self, index: usize, error: &ConnectionError) {
        let now = self.orders.clock.now();
        let member = &mut self.members[index];
        if let State::Open(_) = member.connection.state {
            self.recorder.counts(index).disconnects += 1;
        }
        member.handshake.error = Some(error.to_string());
        // Closing the socket takes it out of the poller.
        for sequence in member.connection.reset(now + RETRY) {
            self.recorder.abandon(index, sequence);
        }
        member.switch.closed();
        if let Some(flood) = &mut member.flood {
            flood.rewind();
        }
        if std::mem::take(&mut member.ready) {
            self.live.ready_changed(-1);
        }
    }
}

/// Bits of a sequence number that a buffer id carries; OFP_NO_BUFFER stays free.
const BUFFER_BITS: u32 = 31;
