//! The interfaces, the control channel and the clock of a measurement of the slow path.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::RngExt as _;

use super::control::Control;
use super::direction::Direction;
use super::figures::Reaction;
use super::packets::{ReactiveFlow, Route};
use super::tally::{Counts, Tally};
use crate::clock::{Clock, nanos};
use crate::effects::Moment;
use crate::error::DutError;
use crate::outlet::Outlet;
use crate::tag::Tag;
use crate::window::{BUSY, Operation, TIMEOUT};

/// The time after which a packet that has not arrived no longer occupies a place in the window, so
/// that the next packet is sent.
const GIVEN_UP: Duration = Duration::from_millis(100);
/// The time without an arrival, after the last packet was sent, after which missing packets count
/// as lost. It is long because a busy host may hold packets back for a while; these are late, but
/// not lost.
const QUIET: Duration = Duration::from_millis(500);
/// The time between two packets of a flow while the effect of its new rule is awaited.
const SPACING: Duration = Duration::from_micros(100);
/// The longest time for which the first packet that the new rule forwards is awaited.
const REACTS: Duration = Duration::from_secs(1);

/// The rule by which the next packet of a trial is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// A packet is sent as soon as fewer than this number are in flight.
    Window(usize),
    /// Packets are sent evenly spaced, at this number per second.
    Rate(f64),
}

/// The load of a trial: the packet, its direction and its pace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossed<'a> {
    pub(super) direction: Direction,
    pub(super) route: &'a Route,
    pub(super) pace: Pace,
    /// The time for which packets are sent.
    pub(super) time: Duration,
}

/// The outcome of a trial, in which packets cross the control channel for some time.
pub(super) struct Trial {
    /// The number of packets that arrived per second.
    pub(super) rate: Option<f64>,
    /// The time from when each packet was due until it arrived.
    pub(super) delays: Vec<Duration>,
    pub(super) counts: Counts,
    /// Whether this program was the limit, because it was hardly ever idle.
    pub(super) is_limited_here: bool,
    /// The number of updates that were answered while packets were being sent.
    pub(super) updates: u64,
}

/// Updates during a trial: one entry is inserted and deleted again and again, each time as soon as
/// the previous update is answered.
struct Churn<'e, E> {
    entry: &'e E,
    /// Whether the entry is in the switch, according to the updates answered so far.
    is_there: bool,
    /// Whether an update has not been answered yet.
    waits: bool,
    answered: u64,
}

impl<E> Churn<'_, E> {
    /// Returns the next update; `None` while the previous one is not answered.
    fn next(&mut self) -> Option<Operation> {
        if self.waits {
            return None;
        }
        self.waits = true;
        Some(if self.is_there { Operation::Delete } else { Operation::Insert })
    }

    /// Records that the pending update is answered. It is counted if `counts` is set, which means
    /// that packets are still being sent.
    fn answer(&mut self, counts: bool) {
        if std::mem::take(&mut self.waits) {
            self.is_there = !self.is_there;
            self.answered += u64::from(counts);
        }
    }
}

/// The result of checking the control channel and the interfaces once.
struct Received {
    has_packets: bool,
    /// Whether the update that was sent last is answered.
    is_answered: bool,
}

/// The interfaces, the control channel and the clock of a measurement of the slow path.
pub(super) struct Bench<'a, C> {
    control: C,
    outlets: Vec<Outlet>,
    stop: &'a AtomicBool,
    clock: &'a dyn Clock,
    /// The random number by which packets of this measurement are recognised.
    key: u64,
    /// The number of the next packet.
    next: u64,
}

impl<'a, C: Control> Bench<'a, C> {
    pub(super) fn new(
        control: C,
        outlets: Vec<Outlet>,
        stop: &'a AtomicBool,
        clock: &'a dyn Clock,
    ) -> Self {
        Self { control, outlets, stop, clock, key: rand::rng().random(), next: 0 }
    }

    /// Returns the control channel, so that tests can inspect it.
    #[cfg(test)]
    pub(super) fn into_control(self) -> C {
        self.control
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Updates an entry, and waits for the answer.
    pub(super) async fn request(
        &mut self,
        operation: Operation,
        entry: &C::Entry,
    ) -> Result<(), DutError> {
        self.control.begin(operation, entry).await?;
        self.settle().await
    }

    /// Waits for the answer to the update that was sent last.
    async fn settle(&mut self) -> Result<(), DutError> {
        let begin = self.clock.now();
        while !self.control.look(&mut |_| {}).await? {
            if self.clock.now().0 > begin.0 + nanos(TIMEOUT) {
                return Err(DutError::NoAnswer { what: "table update", patience: TIMEOUT });
            }
            self.control.flush()?;
            self.clock.idle();
        }
        Ok(())
    }

    /// Sends packets in one direction for some time, and waits for those in flight. With `beside`,
    /// this entry is inserted and deleted again and again meanwhile, and is deleted at the end.
    pub(super) async fn trial(
        &mut self,
        crossed: Crossed<'_>,
        beside: Option<&C::Entry>,
    ) -> Result<Trial, DutError> {
        let mut churn =
            beside.map(|entry| Churn { entry, is_there: false, waits: false, answered: 0 });
        let mut tally = Tally::new(self.next);
        let mut packet = crossed.route.packet.clone();
        let begin = self.clock.now();
        let end = Moment(begin.0.saturating_add(nanos(crossed.time)));
        // The time for which packets were sent, and that in which there was nothing to do then. In
        // the end, the wait for missing packets is no sign that this program has time left.
        let (mut sending, mut idle) = (0, 0);
        let mut last = begin;
        // The moment after which no packet was sent.
        let mut sent_all = None;
        loop {
            let now = self.clock.now();
            let goes_on = now < end && !self.is_stopped();
            if !goes_on {
                let since = *sent_all.get_or_insert(now);
                let quiet_since = tally.last_arrival().map_or(since, |last| last.max(since));
                if tally.missing() == 0 || now.0 >= quiet_since.0.saturating_add(nanos(QUIET)) {
                    break;
                }
            }
            let mut has_worked = false;
            if goes_on {
                has_worked |= self.send(crossed, &mut packet, begin, &mut tally)?;
                if let Some(churn) = &mut churn
                    && let Some(operation) = churn.next()
                {
                    self.control.begin(operation, churn.entry).await?;
                    has_worked = true;
                }
            }
            let received = self.receive(crossed, &mut tally).await?;
            has_worked |= received.has_packets;
            if let Some(churn) = churn.as_mut().filter(|_| received.is_answered) {
                churn.answer(goes_on);
            }
            tally.give_up(Moment(now.0.saturating_sub(nanos(GIVEN_UP))));
            if !has_worked {
                self.clock.idle();
            }
            let after = self.clock.now();
            if goes_on {
                sending += after.0 - last.0;
                idle += if has_worked { 0 } else { after.0 - last.0 };
            }
            last = after;
        }
        let mut updates = 0;
        if let Some(mut churn) = churn {
            if churn.waits {
                self.settle().await?;
                churn.answer(false);
            }
            updates = churn.answered;
            if churn.is_there {
                self.request(Operation::Delete, churn.entry).await?;
            }
        }
        self.next = tally.next();
        Ok(Trial {
            rate: tally.rate(),
            delays: tally.delays(),
            counts: tally.counts(),
            is_limited_here: idle as f64 <= (1.0 - BUSY) * sending as f64,
            updates,
        })
    }

    /// Sends the packets that are due. Returns whether any were sent.
    fn send(
        &mut self,
        crossed: Crossed<'_>,
        packet: &mut [u8],
        begin: Moment,
        tally: &mut Tally,
    ) -> Result<bool, DutError> {
        let mut has_sent = false;
        loop {
            let now = self.clock.now();
            let due = match crossed.pace {
                Pace::Window(window) => (tally.waiting() < window).then_some(now),
                Pace::Rate(rate) => {
                    let due = begin.0 + ((tally.next() - self.next) as f64 * 1e9 / rate) as u64;
                    Some(Moment(due)).filter(|due| *due <= now)
                }
            };
            let Some(due) = due else { break };
            Tag { key: self.key, number: tally.next() }.write(packet);
            let is_sent = match crossed.direction {
                Direction::PacketIn => {
                    Outlet::find(&mut self.outlets, crossed.route.port)?.send(packet)?
                }
                Direction::PacketOut => self.control.packet_out(packet)?,
            };
            if !is_sent {
                break;
            }
            tally.sent(due);
            has_sent = true;
        }
        if crossed.direction == Direction::PacketOut {
            self.control.flush()?;
        }
        Ok(has_sent)
    }

    /// Records the packets that have arrived.
    async fn receive(
        &mut self,
        crossed: Crossed<'_>,
        tally: &mut Tally,
    ) -> Result<Received, DutError> {
        let (clock, key, mut has_received) = (self.clock, self.key, false);
        let mut arrived = |tag: Tag| {
            if tag.key == key {
                has_received |= tally.arrived(tag.number, clock.now());
            }
        };
        let is_answered = self
            .control
            .look(&mut |tag| {
                if crossed.direction == Direction::PacketIn {
                    arrived(tag);
                }
            })
            .await?;
        if crossed.direction == Direction::PacketOut {
            let outlet = Outlet::find(&mut self.outlets, crossed.route.port)?;
            for frame in outlet.receive()?.frames() {
                Tag::read(frame.bytes()).into_iter().for_each(&mut arrived);
            }
        }
        Ok(Received { has_packets: has_received, is_answered })
    }

    /// Measures the reaction to the first packet of a flow: sends packets of the flow, and writes
    /// the flow's entry as soon as a packet-in arrives. Returns `None` if the packet-in, the answer
    /// or a forwarded packet did not arrive within a second, or if the test was stopped before.
    pub(super) async fn reaction(
        &mut self,
        flow: &ReactiveFlow<C::Entry>,
    ) -> Result<Option<Reaction>, DutError> {
        if let Some(before) = &flow.before {
            self.request(Operation::Insert, before).await?;
        }
        let found = self.reacts(flow).await?;
        if found.has_begun {
            self.settle().await?;
        }
        if found.has_begun || flow.before.is_some() {
            self.request(Operation::Delete, &flow.entry).await?;
        }
        let times = found.packet_in.zip(found.answer).zip(found.forwarded);
        Ok(times.map(|((packet_in, answer), forwarded)| Reaction { packet_in, answer, forwarded }))
    }

    /// Sends packets of a flow until one is forwarded and the update of the flow's entry is
    /// answered, but for a second at most. Returns when these steps happened.
    async fn reacts(&mut self, flow: &ReactiveFlow<C::Entry>) -> Result<Times, DutError> {
        let operation = flow.before.as_ref().map_or(Operation::Insert, |_| Operation::Modify);
        let (mut packet, key, first) = (flow.packet.clone(), self.key, self.next);
        let is_own = |tag: Tag| tag.key == key && tag.number >= first;
        let (clock, begin) = (self.clock, self.clock.now());
        let since = || Duration::from_nanos(clock.now().0 - begin.0);
        let mut found = Times::default();
        let mut due = Duration::ZERO;
        while found.forwarded.is_none() || found.answer.is_none() {
            let elapsed = since();
            if elapsed > REACTS || self.is_stopped() {
                break;
            }
            if elapsed >= due && found.forwarded.is_none() {
                Tag { key, number: self.next }.write(&mut packet);
                if Outlet::find(&mut self.outlets, flow.port)?.send(&packet)? {
                    self.next += 1;
                }
                due = elapsed + SPACING;
            }
            let mut has_come = false;
            let is_answered = self.control.look(&mut |tag| has_come |= is_own(tag)).await?;
            if is_answered && found.has_begun {
                found.answer.get_or_insert_with(since);
            }
            if has_come && found.packet_in.is_none() {
                found.packet_in = Some(since());
                found.has_begun = true;
                self.control.begin(operation, &flow.entry).await?;
            }
            self.control.flush()?;
            let mut frames =
                Outlet::find(&mut self.outlets, flow.egress)?.receive()?.frames().iter();
            let has_left = frames.any(|frame| Tag::read(frame.bytes()).is_some_and(is_own));
            if has_left && found.has_begun {
                found.forwarded.get_or_insert_with(since);
            }
        }
        Ok(found)
    }
}

/// The times of the steps of a reaction, as far as they have happened.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    packet_in: Option<Duration>,
    answer: Option<Duration>,
    forwarded: Option<Duration>,
    /// Whether the update of the flow's entry has been sent.
    has_begun: bool,
}
