//! An OpenFlow engine thread, with its switches, their connections, and the packet-ins that they
//! must send.
//!
//! A single loop waits for due times, writes, reads and records. No lock and no other thread can
//! therefore delay a packet-in between its due time and the system call that sends it. The loop
//! sleeps until shortly before the next due time and spins for the rest, since a sleep alone
//! overshoots by tens of microseconds.

mod receive;
mod send;

use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;

use openflow::framing::FramingError;
use rustix::event::{Timespec, epoll};

use super::connection::{Connection, State};
use super::flood::FloodBlock;
use super::transport::Dialler;
use crate::config::Mode;
use crate::engine::control::{Live, Orders};
use crate::engine::mailbox::{Mailbox, Slot};
use crate::engine::pace::{Pace, SPIN, TICK};
use crate::engine::recorder::Recorder;
use crate::engine::{SwitchHandshake, TrialPlan, nanos};
use crate::traffic::FrameSource;
use openflow_switch::OpenFlowSwitch;

/// The time from the end of a connection to the next attempt to connect, in nanoseconds.
const RETRY: u64 = 500_000_000;
/// The size of the read buffer in bytes.
const READ: usize = 256 * 1024;
/// The token by which the poller reports that the mailbox has messages from other threads. The
/// token of a connection is the index of its switch.
const MAILBOX: u64 = u64::MAX;

/// The number of low bits of a sequence number that a buffer ID contains. A buffer ID has 32 bits.
/// Its highest bit is always zero, so that it never equals `OFP_NO_BUFFER`, in which all bits are
/// set.
const BUFFER_BITS: u32 = 31;

/// The reason why the connection of a switch ended.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the controller closed the connection")]
    Closed,
    #[error("the controller does not speak OpenFlow: {0}")]
    Framing(#[from] FramingError),
    #[error(
        "the controller does not speak OpenFlow: a message begins with {0:#04x}, which is not a version"
    )]
    Foreign(u8),
    #[error("{0}")]
    Session(String),
}

/// An engine thread with the OpenFlow switches that it runs.
pub(super) struct Shard {
    pub(super) plan: Arc<TrialPlan>,
    pub(super) orders: Arc<Orders>,
    pub(super) live: Arc<Live>,
    /// The parameters by which switches connect to the controller.
    pub(super) dialler: Dialler,
    pub(super) recorder: Recorder,
    /// The times at which the thread must act, such as when the next packet-in is due.
    pub(super) pace: Pace,
    pub(super) members: Vec<Member>,
    /// The messages from other engine threads.
    pub(super) mailbox: Mailbox,
    /// The senders of messages to the other engine threads, by thread.
    pub(super) slots: Vec<Slot>,
    /// The poller (epoll) that watches all connections and the mailbox.
    pub(super) epoll: std::os::fd::OwnedFd,
    /// The indices in `members` of the switches that may have something to send.
    pub(super) dirty: Vec<usize>,
    /// A buffer for the frame of the next packet-in, which is reused.
    pub(super) frame: Vec<u8>,
    /// The earliest time of the next attempt to connect, which limits the rate of connections.
    pub(super) next_dial: u64,
}

/// An emulated switch with its connection and the packet-ins that it sends.
pub(super) struct Member {
    pub(super) switch: OpenFlowSwitch,
    pub(super) connection: Connection,
    /// The generator of the frames in the switch's packet-ins.
    pub(super) source: FrameSource,
    /// The prepared packet-ins for the flood mode, in which switches send as fast as their
    /// connections accept data. `None` in other modes.
    pub(super) flood: Option<FloodBlock>,
    /// Whether the handshake between controller and switch is complete.
    pub(super) ready: bool,
    /// The progress of the handshake, and the last error of the connection.
    pub(super) handshake: SwitchHandshake,
}

impl Shard {
    /// Runs the switches until the conductor, which leads the trial, orders the thread to stop.
    /// Returns the thread's record.
    pub(super) fn run(mut self) -> io::Result<(Recorder, Vec<SwitchHandshake>)> {
        epoll::add(
            &self.epoll,
            &self.mailbox,
            epoll::EventData::new_u64(MAILBOX),
            epoll::EventFlags::IN,
        )?;
        let mut buffer = vec![0; READ];
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 256];
        let mut looked = self.orders.clock.now();
        while !self.orders.is_stopped() {
            let now = self.orders.clock.now();
            self.dial(now);
            if self.pace.is_settling() {
                self.introduce(now);
            }
            if let Some(at) = self.pace.traffic_time(now) {
                self.generate(at);
                self.recorder.sample(at);
            }
            if self.pace.ticks(now) {
                self.tick(now);
            }
            self.flush_dirty();
            let now = self.orders.clock.now();
            let timeout = self.timeout(now);
            if let (Some(from), Some(to)) =
                (self.pace.traffic_time(looked), self.pace.traffic_time(now))
            {
                self.recorder.did_not_look(from, to);
            }
            let (ready, _) = epoll::wait(&self.epoll, &mut events, Some(&timeout)).or_else(
                |error| match error {
                    rustix::io::Errno::INTR => Ok((&mut [] as &mut [epoll::Event], &mut [] as _)),
                    other => Err(other),
                },
            )?;
            looked = self.orders.clock.now();
            if let (Some(from), Some(to)) =
                (self.pace.traffic_time(now), self.pace.traffic_time(looked))
            {
                let until = from.saturating_add(span(&timeout));
                self.recorder.listened(from, until, to);
            }
            // Other threads may have closed their connections already, which frees capacity of the
            // controller. Its effects are not part of the trial.
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
            self.pace.look(self.orders.clock.now(), &self.recorder.tally);
        }
        let now = self.orders.clock.now();
        for index in 0..self.members.len() {
            self.members[index].connection.blocked = false;
            self.note_blocked(index, now);
        }
        if let Some(at) = self.pace.traffic_time(now) {
            // Packet-ins count as due even if there was no time to send them.
            self.take_due(at);
            self.recorder.close(at);
        }
        self.publish();
        Ok((self.recorder, self.members.into_iter().map(|member| member.handshake).collect()))
    }

    /// Sends packet-ins that have become due while the thread reads answers. This is done after
    /// reading each connection: after a stall, reading all connections first would delay the
    /// packet-ins too much.
    fn keep_schedule(&mut self) {
        let now = self.orders.clock.now();
        if let Some(at) = self.pace.traffic_time(now).filter(|_| self.pace.is_due(now)) {
            self.generate(at);
            self.flush_dirty();
        }
    }

    /// Returns how long the thread may sleep until its next event.
    fn timeout(&self, now: u64) -> Timespec {
        let mut wake = self.pace.wake(now, self.recorder.next_sample());
        let is_idle = |member: &Member| matches!(member.connection.state, State::Idle { .. });
        if self.orders.traffic_start().is_none() && self.members.iter().any(is_idle) {
            wake = wake.min(now + 1_000_000);
        }
        if !self.dirty.is_empty() {
            wake = now;
        }
        let sleep = wake.saturating_sub(now).saturating_sub(SPIN);
        Timespec { tv_sec: (sleep / 1_000_000_000) as i64, tv_nsec: (sleep % 1_000_000_000) as i64 }
    }

    /// Begins to connect those switches that must connect now, at most as fast as the configured
    /// connection rate permits.
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
                    let since = self.orders.clock.now();
                    connection.state = State::Connecting { transport, since };
                    connection.watches_writable = true;
                    self.members[index].handshake.reach(0, "dialled, no connection yet");
                }
                Err(error) => self.disconnect(index, &error.into()),
            }
        }
    }

    /// Handles an event that the poller reports for a switch's connection. Ends the connection if
    /// this fails.
    fn handle(&mut self, index: usize, flags: epoll::EventFlags, buffer: &mut [u8]) {
        if let Err(error) = self.try_handle(index, flags, buffer) {
            self.disconnect(index, &error);
        }
    }

    /// Completes an attempt to connect, if one is in progress, and then reads and writes as the
    /// event's flags allow.
    fn try_handle(
        &mut self,
        index: usize,
        flags: epoll::EventFlags,
        buffer: &mut [u8],
    ) -> Result<(), ConnectionError> {
        let failed = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let member = &mut self.members[index];
        if let State::Connecting { transport, since } = &member.connection.state {
            if !flags.intersects(epoll::EventFlags::OUT | failed) {
                return Ok(());
            }
            transport.connected()?;
            self.recorder.connected_after(self.orders.clock.now().saturating_sub(*since));
            let State::Connecting { transport, .. } =
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

    /// Performs the periodic work of all switches. It stops waiting for overdue packet-ins in a
    /// closed loop, runs the timers of the sessions, and updates the progress counters.
    fn tick(&mut self, now: u64) {
        let at = self.pace.traffic_time(now);
        for index in 0..self.members.len() {
            if let (Mode::Closed { give_up, .. }, Some(at)) = (self.plan.config.traffic.mode, at) {
                let before = at.saturating_sub(nanos(give_up));
                self.recorder.switches[index].ledger.give_up(before);
            }
            // Without a schedule, nothing else wakes a switch that may send again: its window has
            // free slots, it has just become ready, or its start delay has passed.
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

    /// Ends the connection of a switch, and records the error. The switch connects again after
    /// [`RETRY`].
    fn disconnect(&mut self, index: usize, error: &ConnectionError) {
        let now = self.orders.clock.now();
        let member = &mut self.members[index];
        if let State::Open(_) = member.connection.state {
            self.recorder.counts(index).disconnects += 1;
        }
        member.handshake.error = Some(error.to_string());
        member.connection.blocked = false;
        self.note_blocked(index, now);
        let member = &mut self.members[index];
        // Closing the socket removes it from the poller.
        member.connection.reset(now + RETRY);
        self.recorder.cut_off(index);
        member.switch.closed();
        if let Some(flood) = &mut member.flood {
            flood.rewind();
        }
        if std::mem::take(&mut member.ready) {
            self.live.ceased_ready();
        }
    }
}

/// Converts a timeout to nanoseconds.
fn span(timeout: &Timespec) -> u64 {
    timeout.tv_sec as u64 * 1_000_000_000 + timeout.tv_nsec as u64
}
