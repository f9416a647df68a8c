//! The sending side of an OpenFlow engine thread. It sends packet-ins that are due by the schedule,
//! or that a closed loop or a flood permits.

use std::io;

use openflow::{BufferId, Xid};
use rustix::event::epoll;

use super::{BUFFER_BITS, Shard};
use crate::config::Mode;
use crate::engine::openflow::connection::{HIGH_WATER, State};
use openflow_switch::{Arriving, Fate};

/// The largest number of consecutive packets of a closed loop that flow rules of a switch may
/// handle before the thread turns to its other work.
const MAX_HANDLED: u32 = 64;

impl Shard {
    /// Sends the announcements of those emulated hosts that must announce themselves by `now`.
    pub(super) fn introduce(&mut self, now: u64) {
        let plan = self.plan.clone();
        for (index, number) in self.pace.introductions(&self.recorder.switches, now) {
            if !self.members[index].ready {
                continue;
            }
            let switch = self.recorder.switches[index].index;
            if let Some((port, frame)) = plan.hosts.arp_announcement(switch, number, plan.run_key) {
                let member = &mut self.members[index];
                let out = &mut member.connection.out;
                member.switch.packet(Arriving::aside(port.0.into(), &frame), now, out);
                self.touch(index);
            }
        }
    }

    /// Queues all packet-ins that are due by `at` at their switches. Without a schedule, the first
    /// call makes the switches begin to send.
    pub(super) fn generate(&mut self, at: u64) {
        match self.plan.config.traffic.mode {
            Mode::Open => self.take_due(at),
            Mode::Closed { .. } | Mode::Flood => {
                if self.pace.begins() {
                    (0..self.members.len()).for_each(|index| self.touch(index));
                }
            }
        }
    }

    /// Removes the packet-ins that are due by `at` from the schedule, and queues them at their
    /// switches.
    pub(super) fn take_due(&mut self, at: u64) {
        while let Some((index, due)) = self.pace.pop_due(at) {
            if self.members[index].ready {
                self.recorder.due_and_waits(index, due);
                self.touch(index);
            } else {
                self.recorder.due_in_vain(index, due);
            }
        }
    }

    pub(super) fn touch(&mut self, index: usize) {
        let connection = &mut self.members[index].connection;
        if !connection.is_dirty {
            connection.is_dirty = true;
            self.dirty.push(index);
        }
    }

    pub(super) fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            self.members[index].connection.is_dirty = false;
            if let Err(error) = self.fill_and_flush(index) {
                self.disconnect(index, &error.into());
            }
        }
        // Connections that got new work in the meantime are added. The list itself is empty, and is
        // kept for its allocation.
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    fn fill_and_flush(&mut self, index: usize) -> io::Result<()> {
        let now = self.orders.clock.now();
        if let (Some(at), true) = (self.pace.traffic_time(now), self.members[index].ready) {
            match self.plan.config.traffic.mode {
                Mode::Open => self.fill_from_schedule(index, now),
                Mode::Closed { window, .. } => self.fill_window(index, window, now, at),
                Mode::Flood => {}
            }
        }
        let now = self.orders.clock.now();
        let start = self.orders.traffic_start().unwrap_or(u64::MAX);
        let recorder = &mut self.recorder;
        let connection = &mut self.members[index].connection;
        connection.flush(|sequence| {
            recorder.left(index, sequence, now.saturating_sub(start));
        })?;
        if let (Some(at), true, Mode::Flood) =
            (self.pace.traffic_time(now), self.members[index].ready, self.plan.config.traffic.mode)
        {
            self.flood(index, at)?;
        }
        if self.members[index].connection.blocked {
            self.recorder.refuse(index);
        }
        self.note_blocked(index, now);
        self.watch(index)?;
        if self.recorder.waiting(index) > 0
            && !self.members[index].connection.blocked
            && self.members[index].ready
        {
            self.touch(index);
        }
        Ok(())
    }

    fn fill_from_schedule(&mut self, index: usize, now: u64) {
        while self.members[index].connection.backlog() < HIGH_WATER {
            let Some((_, sequence)) = self.recorder.issue_waiting(index) else { break };
            self.emit(index, sequence, now);
        }
    }

    fn fill_window(&mut self, index: usize, window: u32, now: u64, at: u64) {
        let switch = self.recorder.switches[index].index;
        if !self.plan.is_active(switch, at) {
            return;
        }
        let mut handled = 0;
        while self.recorder.switches[index].ledger.in_loop() < window
            && self.members[index].connection.backlog() < HIGH_WATER
        {
            self.recorder.due(index, at);
            let sequence = self.recorder.issue(index, at);
            if self.emit(index, sequence, now) == Fate::ToController {
                continue;
            }
            // A packet that flow rules handle occupies no slot of the window, so only this limit
            // ends the loop.
            handled += 1;
            if handled == MAX_HANDLED {
                self.touch(index);
                break;
            }
        }
    }

    /// Passes a packet to a switch, and returns what the switch did with it. If the packet causes a
    /// packet-in, the packet-in is appended to the outgoing bytes of the connection.
    fn emit(&mut self, index: usize, sequence: u64, now: u64) -> Fate {
        let member = &mut self.members[index];
        self.frame.clear();
        let port = member.source.next(sequence, &mut self.frame);
        let buffer_id = match self.plan.config.switches.buffers {
            0 => BufferId::NO_BUFFER,
            _ => BufferId(sequence as u32 & ((1 << BUFFER_BITS) - 1)),
        };
        let out = &mut member.connection.out;
        let packet = Arriving {
            frame: &self.frame,
            port: port.0.into(),
            xid: Xid(sequence as u32),
            buffer_id,
            awaits: Some(sequence),
        };
        let fate = member.switch.packet(packet, now, out);
        match fate {
            Fate::ToController => member.connection.mark(sequence),
            Fate::Forwarded => self.recorder.handled(index, sequence, true),
            Fate::Dropped => self.recorder.handled(index, sequence, false),
        }
        fate
    }

    /// Writes prepared packet-ins until the connection accepts no more. When the poller reports
    /// that the connection is writable again, this function is called again.
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
        if !blocked {
            self.touch(index);
        }
        Ok(())
    }

    /// Records when a connection stops accepting data and when it accepts data again.
    pub(super) fn note_blocked(&mut self, index: usize, now: u64) {
        let connection = &mut self.members[index].connection;
        match (connection.blocked, connection.blocked_since) {
            (true, None) => connection.blocked_since = Some(now),
            (false, Some(since)) => {
                connection.blocked_since = None;
                let start = self.orders.traffic_start().unwrap_or(u64::MAX);
                let [from, to] = [since, now].map(|at| at.saturating_sub(start));
                self.recorder.was_blocked(from, to);
            }
            _ => {}
        }
    }

    /// Makes the poller watch the connection for the events that it needs, and no others.
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
}
