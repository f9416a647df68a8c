//! The edge of a trial over OpenFlow: a loop that serves the connections between all switches and
//! controllers.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::event::{Timespec, epoll};

use super::{EdgeContext, OpenFlowDevice};
use crate::engine::openflow::Dialler;
use crate::engine::openflow::connection::{Connection, State};
use crate::rfc8456::bench::{Bench, Measured};
use crate::rfc8456::seen::{Order, What};

/// The time from the end of a connection to the next attempt to connect, in nanoseconds.
const RETRY: u64 = 500_000_000;
/// The time between two rounds of periodic work, in nanoseconds.
const TICK: u64 = 100_000_000;
/// The size of the read buffer in bytes.
const READ: usize = 256 * 1024;

/// The reason why the edge cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch connections: {0}")]
pub(crate) struct StartError(#[from] io::Error);

/// The edge of a trial over OpenFlow.
pub(crate) struct OpenFlowEdge<'a> {
    bench: Bench<OpenFlowDevice>,
    context: EdgeContext<'a>,
    diallers: Vec<Dialler>,
    /// The number of sessions that each switch has at the same time: one with every controller, or
    /// only one in total.
    lines: usize,
    /// The connections, ordered by switch and then by controller.
    connections: Vec<Connection>,
    /// The index of the controller to which each connection leads.
    chosen: Vec<usize>,
    wanted: Vec<bool>,
    epoll: OwnedFd,
    next_tick: u64,
}

impl<'a> OpenFlowEdge<'a> {
    /// Creates the edge. Each switch has a session with every controller. With `one_at_a_time`, it
    /// has only one session, first with the first controller, and with the next one whenever its
    /// connection fails.
    pub(crate) fn new(
        bench: Bench<OpenFlowDevice>,
        context: EdgeContext<'a>,
        diallers: Vec<Dialler>,
        one_at_a_time: bool,
    ) -> Result<Self, StartError> {
        let switches = bench.emulator.devices.len();
        let lines = if one_at_a_time { 1 } else { diallers.len() };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        Ok(Self {
            bench,
            context,
            diallers,
            lines,
            connections: (0..switches * lines).map(|_| Connection::new()).collect(),
            chosen: (0..switches * lines).map(|index| index % lines.max(1)).collect(),
            wanted: vec![false; switches],
            epoll,
            next_tick: 0,
        })
    }

    /// Runs the trial to its end.
    pub(crate) fn run(mut self) -> io::Result<Measured> {
        // By default, the kernel may delay the end of every sleep by 50 us (timer slack).
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut buffer = vec![0; READ];
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 256];
        loop {
            for order in self.context.turn(&mut self.bench) {
                self.carry_out(order);
            }
            if let Some(measured) = self.bench.measured() {
                return Ok(measured.clone());
            }
            if self.context.is_interrupted() {
                return Ok(Measured::failed("interrupted"));
            }
            let now = self.context.clock.now();
            if now >= self.next_tick {
                self.tick(now);
            }
            self.flush();
            let sleep = self.context.sleep(&self.bench).min(TICK);
            let timeout = Timespec { tv_sec: 0, tv_nsec: sleep.min(999_999_999) as i64 };
            let ready = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
                Ok((ready, _)) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in ready {
                let (data, flags) = (event.data, event.flags);
                let index = data.u64() as usize;
                if let Err(reason) = self.handle(index, flags, &mut buffer) {
                    self.disconnect(index, reason);
                }
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Connect { switch } => self.want(switch, true),
            Order::Power { switch, is_on } => {
                self.want(switch, is_on);
                if !is_on {
                    for line in 0..self.lines {
                        let index = switch as usize * self.lines + line;
                        self.close(index);
                    }
                }
            }
            // This connection is closed as soon as it is open, and no message is sent on it.
            Order::Attack => {
                if let Some(Ok(transport)) = self.diallers.first().map(Dialler::dial) {
                    // A reset leaves no TIME_WAIT state, so that local ports do not run out.
                    let linger = Some(std::time::Duration::ZERO);
                    let _ = rustix::net::sockopt::set_socket_linger(&transport, linger);
                }
            }
            _ => {}
        }
    }

    fn want(&mut self, switch: u32, wanted: bool) {
        if let Some(place) = self.wanted.get_mut(switch as usize) {
            *place = wanted;
            for line in 0..self.lines {
                self.dial(switch as usize * self.lines + line);
            }
        }
    }

    fn dial(&mut self, index: usize) {
        let now = self.context.clock.now();
        let wanted = self.wanted.get(index / self.lines).copied().unwrap_or_default();
        let Some(connection) = self.connections.get_mut(index) else { return };
        if !wanted || !matches!(connection.state, State::Idle { retry_at } if retry_at <= now) {
            return;
        }
        let chosen = self.chosen.get(index).copied().unwrap_or_default();
        let Some(dialler) = self.diallers.get(chosen) else { return };
        let dialled = dialler.dial().and_then(|transport| {
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT;
            epoll::add(&self.epoll, &transport, epoll::EventData::new_u64(index as u64), flags)?;
            Ok(transport)
        });
        match dialled {
            Ok(transport) => {
                connection.state = State::Connecting { transport, since: now };
                connection.watches_writable = true;
            }
            Err(error) => self.disconnect(index, error.to_string()),
        }
    }

    fn handle(
        &mut self,
        index: usize,
        flags: epoll::EventFlags,
        buffer: &mut [u8],
    ) -> Result<(), String> {
        let failed = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let now = self.context.clock.now();
        let (switch, line) = (index / self.lines, index % self.lines);
        let Some(connection) = self.connections.get_mut(index) else { return Ok(()) };
        if let State::Connecting { transport, .. } = &connection.state {
            if !flags.intersects(epoll::EventFlags::OUT | failed) {
                return Ok(());
            }
            transport.connected().map_err(|error| error.to_string())?;
            let idle = State::Idle { retry_at: u64::MAX };
            let before = std::mem::replace(&mut connection.state, idle);
            if let State::Connecting { transport, .. } = before {
                connection.state = State::Open(transport);
            }
            if let Some(device) = self.bench.emulator.devices.get_mut(switch) {
                device.opened(line, now);
            }
        }
        if flags.contains(epoll::EventFlags::OUT) {
            connection.blocked = false;
        }
        if flags.intersects(epoll::EventFlags::IN | failed) {
            self.read(index, buffer)?;
        }
        Ok(())
    }

    fn read(&mut self, index: usize, buffer: &mut [u8]) -> Result<(), String> {
        let (switch, line) = (index / self.lines, index % self.lines);
        let Some(connection) = self.connections.get_mut(index) else { return Ok(()) };
        let State::Open(transport) = &mut connection.state else { return Ok(()) };
        let count = match transport.read(buffer) {
            Ok(0) => return Err("the controller closed the connection".to_owned()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let now = self.context.clock.now();
        let mut framer = std::mem::take(&mut connection.framer);
        let mut outcome = Ok(());
        for frame in framer.frames(buffer.get(..count).unwrap_or_default()) {
            let taken =
                frame.map_err(|error| format!("the controller does not speak OpenFlow: {error}"));
            outcome = taken.and_then(|frame| self.receive(switch, line, frame, now));
            if outcome.is_err() {
                break;
            }
        }
        if let Some(connection) = self.connections.get_mut(index) {
            connection.framer = framer;
        }
        outcome
    }

    fn receive(
        &mut self,
        switch: usize,
        line: usize,
        frame: &[u8],
        now: u64,
    ) -> Result<(), String> {
        let emulator = &mut self.bench.emulator;
        let Some(device) = emulator.devices.get_mut(switch) else { return Ok(()) };
        let (mut seen, mut left) = (Vec::new(), Vec::new());
        let received = device.receive(line, frame, now, &mut seen, &mut left);
        for what in seen {
            emulator.note(now, what);
        }
        emulator.left(switch as u32, left, now);
        received.map_err(|error| error.to_string())
    }

    /// Moves the switches' outgoing messages to the connections, and sends them.
    fn flush(&mut self) {
        for index in 0..self.connections.len() {
            let (switch, line) = (index / self.lines, index % self.lines);
            let Some(connection) = self.connections.get_mut(index) else { continue };
            let State::Open(transport) = &connection.state else { continue };
            if transport.is_handshaking() {
                let _ = connection.flush(|_| ());
                continue;
            }
            if let Some(out) =
                self.bench.emulator.devices.get_mut(switch).and_then(|device| device.out(line))
            {
                connection.out.append(out);
            }
            if connection.backlog() == 0 && !connection.watches_writable {
                continue;
            }
            let flushed =
                connection.flush(|_| ()).and_then(|()| watch(&self.epoll, connection, index));
            if let Err(error) = flushed {
                self.disconnect(index, error.to_string());
            }
        }
    }

    fn tick(&mut self, now: u64) {
        self.next_tick = now + TICK;
        for index in 0..self.connections.len() {
            let (switch, line) = (index / self.lines, index % self.lines);
            if matches!(self.connections.get(index).map(|c| &c.state), Some(State::Open(_))) {
                let device = self.bench.emulator.devices.get_mut(switch);
                if let Some(Err(error)) = device.map(|device| device.tick(line, now)) {
                    self.disconnect(index, error.to_string());
                }
            } else {
                self.dial(index);
            }
        }
    }

    /// Ends a connection that has failed, and schedules a new one to the same controller after
    /// [`RETRY`]. If switches have only one session at a time, the new connection leads to the next
    /// controller instead. It is made immediately if the switch had a session.
    fn disconnect(&mut self, index: usize, reason: String) {
        let was_ready = self.close(index);
        let (switch, controller) = ((index / self.lines) as u32, index % self.lines);
        let now = self.context.clock.now();
        let what = What::Lost { switch, controller, was_ready, reason };
        self.bench.emulator.note(now, what);
        let one_of_several = self.lines == 1 && self.diallers.len() > 1;
        if let (true, Some(chosen)) = (one_of_several, self.chosen.get_mut(index)) {
            *chosen = (*chosen + 1) % self.diallers.len();
        }
        let pause = if one_of_several && was_ready { 0 } else { RETRY };
        if let Some(connection) = self.connections.get_mut(index) {
            connection.reset(now + pause);
        }
        if pause == 0 {
            self.dial(index);
        }
    }

    /// Closes a connection, which also removes its socket from the poller. Returns whether the
    /// switch had a session on this connection.
    fn close(&mut self, index: usize) -> bool {
        let now = self.context.clock.now();
        let (switch, line) = (index / self.lines, index % self.lines);
        if let Some(connection) = self.connections.get_mut(index) {
            connection.reset(now);
        }
        self.bench.emulator.devices.get_mut(switch).is_some_and(|device| device.closed(line))
    }
}

/// Makes the poller watch the connection for the events that it needs, and no others.
fn watch(epoll: &OwnedFd, connection: &mut Connection, index: usize) -> io::Result<()> {
    let State::Open(transport) = &connection.state else { return Ok(()) };
    if connection.blocked != connection.watches_writable {
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, connection.blocked);
        epoll::modify(epoll, transport, epoll::EventData::new_u64(index as u64), flags)?;
        connection.watches_writable = connection.blocked;
    }
    Ok(())
}
