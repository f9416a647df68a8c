//! The pacer, which puts packet-ins into the streams of P4Runtime switches when they are due.
//!
//! A task waits for the times at which packet-ins are due. If the runtime is busy with connections
//! that have data to read, it schedules this task late. Therefore a connection that is polled while
//! packet-ins are due puts them into the streams itself, before its other work ([`Urgency`]).
//! Messages in the queue of a stream are written immediately.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grpc::timer::Timer;
use p4runtime::server::{DeviceHandle, Urgency};

use super::load::Batch;
use super::thread::ThreadState;
use crate::config::Mode;
use crate::engine::nanos;
use crate::engine::pace::{Pace, SPIN};
use crate::engine::recorder::ABSENCE;

/// The time in nanoseconds after which the pacer tries again to put packet-ins into a queue that
/// was full.
const RETRY: u64 = 1_000_000;
/// The maximum number of messages in the queue of a stream. For further packet-ins, only the due
/// times are kept.
const HIGH_WATER: usize = 4096;

/// The pacer of one engine thread, which the pacing task and all connections of the thread share.
pub(super) struct Pacing {
    thread: Arc<ThreadState>,
    pacer: Mutex<Pacer>,
}

/// The state of a thread's pacer, which a lock protects.
struct Pacer {
    thread: Arc<ThreadState>,
    devices: Vec<DeviceHandle>,
    pace: Pace,
    /// The indices of the switches with packet-ins that wait until the queue of the stream has
    /// space.
    waiting: Vec<usize>,
    is_waiting: Vec<bool>,
    batch: Batch,
}

impl Pacing {
    /// Creates the pacer of a thread. The devices of the thread must have been set before.
    pub(super) fn new(thread: &Arc<ThreadState>, pace: Pace) -> Self {
        let members = thread.record().members.len();
        let pacer = Pacer {
            thread: thread.clone(),
            devices: thread.devices(),
            pace,
            waiting: Vec::new(),
            is_waiting: vec![false; members],
            batch: Batch::default(),
        };
        Self { thread: thread.clone(), pacer: Mutex::new(pacer) }
    }

    /// Waits until packet-ins are due and sends them, until the conductor, which leads the trial,
    /// stops the thread.
    pub(super) async fn pace(&self) -> io::Result<()> {
        let timer = Timer::new()?;
        let orders = &self.thread.shared.orders;
        // The time since which arriving data wakes the thread, and the latest time until which it
        // does so.
        let mut since: (u64, Option<u64>) = (0, Some(0));
        while !orders.is_stopped() {
            let now = orders.clock.now();
            if let Some(start) = orders.traffic_start().filter(|start| since.0 >= *start) {
                let (from, to) = (since.0 - start, now - start);
                let recorder = &mut self.thread.record().recorder;
                match since.1 {
                    Some(until) => recorder.had_turns(from, until.saturating_sub(start), to),
                    None => recorder.did_not_look(from, to),
                }
            }
            let wake = {
                let mut pacer = self.pacer();
                let pacer = &mut *pacer;
                pacer.pace.look(now, &self.thread.record().recorder.tally);
                pacer.work(now);
                pacer.wake(now)
            };
            let wait = wake.saturating_sub(orders.clock.now());
            if wait <= SPIN {
                // Yielding lets the runtime serve the streams and the sockets.
                since = (now, None);
                tokio::task::yield_now().await;
            } else {
                let from = orders.clock.now();
                // The runtime polls connections in the meantime, so only a long wait counts as an
                // absence.
                since = (from, Some(from.saturating_add(wait).saturating_add(ABSENCE)));
                tokio::select! {
                    slept = timer.sleep(wait - SPIN) => slept?,
                    () = self.thread.wake.notified() => {}
                }
            }
        }
        if let Some(at) = self.thread.traffic_time() {
            // Packet-ins count as due even if there was no time to send them.
            self.pacer().take_due(at);
            self.pacer().note_refusals();
            self.thread.record().recorder.close(at);
        }
        self.pacer().publish();
        Ok(())
    }

    fn pacer(&self) -> MutexGuard<'_, Pacer> {
        // A panic in another thread ends the trial anyway.
        self.pacer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Urgency for Pacing {
    fn before_turn(&self) {
        // If the lock is taken, a caller further up the stack holds it, and itself sends the
        // packet-ins that are due.
        let Ok(mut pacer) = self.pacer.try_lock() else { return };
        let now = self.thread.shared.orders.clock.now();
        if pacer.is_due(now) {
            pacer.work(now);
        }
    }

    fn is_urgent(&self) -> bool {
        let now = self.thread.shared.orders.clock.now();
        self.pacer.try_lock().is_ok_and(|pacer| pacer.is_due(now))
    }
}

impl Pacer {
    fn work(&mut self, now: u64) {
        let thread = self.thread.clone();
        if self.pace.is_settling() {
            self.introduce(now);
        }
        if let Some(at) = self.pace.traffic_time(now) {
            match thread.shared.plan.config.traffic.mode {
                Mode::Open => self.take_due(at),
                Mode::Closed { window, .. } => self.refill(window, at),
                // The configuration rejects floods with P4Runtime.
                Mode::Flood => {}
            }
            self.hand_over();
            let mut record = thread.record();
            if at >= record.recorder.next_sample() {
                record.recorder.sample(at);
            }
        }
        if self.pace.ticks(now) {
            self.tick();
        }
    }

    /// Returns whether the schedule contains a packet-in that is due by `now`, a time on the
    /// trial's clock.
    fn is_due(&self, now: u64) -> bool {
        self.pace.is_due(now) && !self.thread.shared.orders.is_stopped()
    }

    /// Returns the time, on the trial's clock, at which the pacing task must wake for the next
    /// event.
    fn wake(&self, now: u64) -> u64 {
        let wake = self.pace.wake(now, self.thread.record().recorder.next_sample());
        match self.waiting.is_empty() {
            true => wake,
            false => wake.min(now + RETRY),
        }
    }

    /// Sends the announcements of those emulated hosts that must announce themselves by `now`.
    fn introduce(&mut self, now: u64) {
        let plan = &self.thread.shared.plan;
        let due = {
            let switches = &self.thread.record().recorder.switches;
            let due = self.pace.introductions(switches, now).into_iter();
            due.filter_map(|(place, number)| Some((place, switches.get(place)?.index, number)))
                .collect::<Vec<_>>()
        };
        for (place, switch, number) in due {
            if let Some((port, frame)) = plan.hosts.arp_announcement(switch, number, plan.run_key) {
                self.thread.send_unmeasured(place, u32::from(port.0), &frame);
            }
        }
    }

    /// Removes all packet-ins that are due by `at` from the schedule, and adds them to the lists of
    /// their switches.
    fn take_due(&mut self, at: u64) {
        let mut record = self.thread.record();
        while let Some((index, due)) = self.pace.pop_due(at) {
            if !record.members[index].ready {
                record.recorder.due_in_vain(index, due);
                continue;
            }
            record.recorder.due_and_waits(index, due);
            if !self.is_waiting[index] {
                self.is_waiting[index] = true;
                self.waiting.push(index);
            }
        }
    }

    /// Makes the switches of a closed loop send new packet-ins until each has `window` unanswered
    /// ones again.
    fn refill(&mut self, window: u32, at: u64) {
        let plan = &self.thread.shared.plan;
        let mut record = self.thread.record();
        let mut members = std::mem::take(&mut record.refill);
        if self.pace.begins() {
            members = (0..self.devices.len()).collect();
        }
        for index in members {
            let switch = record.recorder.switches[index].index;
            if !record.members[index].ready || !plan.is_active(switch, at) {
                continue;
            }
            let missing = window
                .saturating_sub(record.recorder.switches[index].ledger.in_loop())
                .saturating_sub(record.recorder.waiting(index) as u32);
            for _ in 0..missing {
                record.recorder.due_and_waits(index, at);
            }
            if missing > 0 && !self.is_waiting[index] {
                self.is_waiting[index] = true;
                self.waiting.push(index);
            }
        }
    }

    /// Puts waiting packet-ins into the streams of their switches, as far as the queues of the
    /// streams have space.
    fn hand_over(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|index| {
            let index = *index;
            let Some(device) = self.devices.get(index) else { return false };
            let room = HIGH_WATER.saturating_sub(device.queued());
            let mut record = self.thread.record();
            if !record.members[index].ready {
                record.recorder.cut_off(index);
                self.is_waiting[index] = false;
                return false;
            }
            let mut first = None;
            while self.batch.len() < room
                && let Some(sequence) = record.emit(index, &mut self.batch)
            {
                first.get_or_insert(sequence);
            }
            let receiver = record.members[index].receiver();
            drop(record);
            let offered = self.batch.len();
            let queued = self.batch.send(device, receiver);
            let refuses = device.refuses();
            let mut record = self.thread.record();
            if let Some(first) = first {
                for sequence in first + queued as u64..first + offered as u64 {
                    record.recorder.abandon(index, sequence);
                }
            }
            if refuses {
                record.recorder.refuse(index);
            }
            self.is_waiting[index] = record.recorder.waiting(index) > 0;
            self.is_waiting[index]
        });
        self.waiting = waiting;
    }

    fn tick(&mut self) {
        if let (Mode::Closed { give_up, .. }, Some(at)) =
            (self.thread.shared.plan.config.traffic.mode, self.thread.traffic_time())
        {
            let before = at.saturating_sub(nanos(give_up));
            let mut record = self.thread.record();
            for index in 0..self.devices.len() {
                // This call also wakes a switch whose start delay has passed.
                let freed = record.recorder.switches[index].ledger.give_up(before);
                if freed > 0 || record.recorder.switches[index].ledger.in_loop() == 0 {
                    record.refill.push(index);
                }
            }
        }
        self.note_refusals();
        self.publish();
    }

    /// Records which streams accept no more data, since the server may have noticed this while the
    /// pacer was not running.
    fn note_refusals(&self) {
        for (index, device) in self.devices.iter().enumerate() {
            if device.refuses() {
                self.thread.record().recorder.refuse(index);
            }
        }
    }

    fn publish(&self) {
        let (sent, answered) = self.thread.record().recorder.publish();
        self.thread.shared.live.add(sent, answered);
    }
}
