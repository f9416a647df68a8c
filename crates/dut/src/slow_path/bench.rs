//! The interfaces, the control channel and the clock of a measurement of the slow path.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use controllers::openflow::SwitchConnection;
use openflow::Xid;
use rand::RngExt as _;

use super::tally::{Counts, Tally};
use super::{Direction, Reaction};
use crate::effects::Moment;
use crate::entries::EntryNumber;
use crate::error::DutError;
use crate::flows::{FlowEntry, Output, Selector};
use crate::outlet::Outlet;
use crate::session::{OpenFlowChannel, Reply, refused};
use crate::tag::Tag;
use crate::window::{BUSY, Operation, TIMEOUT};

/// The time after which a packet that has not arrived is no longer waited for.
const GIVEN_UP: Duration = Duration::from_millis(100);
/// The number of bytes that wait to be sent from which on no further packet-out is made.
const BACKLOG: usize = 1 << 20;
/// The time between two packets of a flow whose rule is awaited.
const SPACING: Duration = Duration::from_micros(100);
/// The longest time for which a packet is awaited that the new rule forwards.
const REACTS: Duration = Duration::from_secs(1);

/// When the next packet of a trial is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// A packet is sent as soon as fewer than this number are on their way.
    Window(usize),
    /// Packets are due at even distances, at this number per second.
    Rate(f64),
}

/// The outcome of a trial.
pub(super) struct Trial {
    /// The arrivals per second.
    pub(super) rate: Option<f64>,
    /// The times from when packets were due until they arrived.
    pub(super) delays: Vec<Duration>,
    pub(super) counts: Counts,
    /// Whether this program hardly ever had nothing to do.
    pub(super) is_limited_here: bool,
}

/// The interfaces, the control channel and the clock.
pub(super) struct Bench<'a> {
    channel: &'a mut OpenFlowChannel,
    /// The outlet to the port by which packets enter, and that to the port by which they leave.
    outlets: [Outlet; 2],
    stop: &'a AtomicBool,
    clock: Instant,
    /// The random number by which packets of this measurement are recognised.
    key: u64,
    /// The number of the next packet.
    next: u64,
    /// A packet that no rule for one flow selects.
    packet: Vec<u8>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        channel: &'a mut OpenFlowChannel,
        outlets: [Outlet; 2],
        stop: &'a AtomicBool,
    ) -> Self {
        let maker = channel.maker();
        // No flow is made with so great a number.
        let packet = maker.packet(EntryNumber(maker.matching.different() - 1));
        let (clock, key) = (Instant::now(), rand::rng().random());
        Self { channel, outlets, stop, clock, key, next: 0, packet }
    }

    /// Returns the length of packets in bytes.
    pub(super) fn length(&self) -> usize {
        self.packet.len()
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Makes updates of flow entries, and waits for the barrier reply.
    pub(super) fn request(
        &mut self,
        operation: Operation,
        entries: &[FlowEntry],
    ) -> Result<(), DutError> {
        let requested = self.begin_request(operation, entries)?;
        let begin = Instant::now();
        while !self.look(requested, &mut |_| {})? {
            if begin.elapsed() > TIMEOUT {
                return Err(DutError::NoAnswer { what: "barrier", patience: TIMEOUT });
            }
            self.channel.flush()?;
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Sends updates of flow entries and a barrier request. Returns the transaction ids from that
    /// of the first flow-mod to that of the barrier request.
    fn begin_request(
        &mut self,
        operation: Operation,
        entries: &[FlowEntry],
    ) -> Result<[Xid; 2], DutError> {
        let first = self.channel.make_request(operation, entries.iter().copied())?;
        self.channel.hand_over()?;
        Ok([Xid(first), Xid(first + entries.len() as u32)])
    }

    /// Looks once for messages of the switch, and passes the numbers of packets of this measurement
    /// to `take`. Returns whether the barrier of a request was answered.
    fn look(
        &mut self,
        [first, barrier]: [Xid; 2],
        take: &mut dyn FnMut(u64),
    ) -> Result<bool, DutError> {
        let (key, mut is_answered, mut failure) = (self.key, false, None);
        self.channel.look(&mut |reply| match reply {
            Reply::PacketIn(tag) if tag.key == key => take(tag.number),
            Reply::Barrier(xid) => is_answered |= xid == barrier,
            Reply::Error(xid, refusal) if xid >= first => {
                failure.get_or_insert(refused("message", &refusal));
            }
            Reply::PacketIn(_) | Reply::FlowRemoved { .. } | Reply::Error(..) => {}
        })?;
        failure.map_or(Ok(is_answered), Err)
    }

    /// Sends packets in one direction for some time, and waits for those that are on their way.
    pub(super) fn trial(
        &mut self,
        direction: Direction,
        pace: Pace,
        time: Duration,
    ) -> Result<Trial, DutError> {
        let mut tally = Tally::new(self.next);
        let begin = self.now();
        let end = Moment(begin.0 + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2));
        let mut idle = 0;
        let mut last = begin;
        loop {
            let now = self.now();
            let goes_on = now < end && !self.stop.load(Ordering::Relaxed);
            if !goes_on && tally.waiting() == 0 {
                break;
            }
            let mut has_worked = false;
            if goes_on {
                has_worked |= self.send(direction, pace, begin, &mut tally)?;
            }
            has_worked |= self.receive(direction, &mut tally)?;
            tally.give_up(Moment(now.0.saturating_sub(GIVEN_UP.as_nanos() as u64)));
            if !has_worked {
                std::thread::yield_now();
            }
            let after = self.now();
            idle += if has_worked { 0 } else { after.0 - last.0 };
            last = after;
        }
        self.next = tally.next();
        let all = last.0 - begin.0;
        Ok(Trial {
            rate: tally.rate(),
            delays: tally.delays(),
            counts: tally.counts(),
            is_limited_here: idle as f64 <= (1.0 - BUSY) * all as f64,
        })
    }

    /// Sends the packets that are due. Returns whether there were any.
    fn send(
        &mut self,
        direction: Direction,
        pace: Pace,
        begin: Moment,
        tally: &mut Tally,
    ) -> Result<bool, DutError> {
        let mut has_sent = false;
        loop {
            let now = self.now();
            let due = match pace {
                Pace::Window(window) => (tally.waiting() < window).then_some(now),
                Pace::Rate(rate) => {
                    let due = begin.0 + ((tally.next() - self.next) as f64 * 1e9 / rate) as u64;
                    Some(Moment(due)).filter(|due| *due <= now)
                }
            };
            let Some(due) = due else { break };
            let mut packet = std::mem::take(&mut self.packet);
            Tag { key: self.key, number: tally.next() }.write(&mut packet);
            let is_sent = self.send_one(direction, &packet);
            self.packet = packet;
            if !is_sent? {
                break;
            }
            tally.sent(due);
            has_sent = true;
        }
        if direction == Direction::PacketOut {
            self.channel.flush()?;
        }
        Ok(has_sent)
    }

    /// Sends a packet. Returns whether there was room for it.
    fn send_one(&mut self, direction: Direction, packet: &[u8]) -> Result<bool, DutError> {
        let [ingress, egress] = &mut self.outlets;
        match direction {
            Direction::PacketIn => ingress.send(packet),
            Direction::PacketOut if self.channel.backlog() >= BACKLOG => Ok(false),
            Direction::PacketOut => {
                self.channel.make_packet_out(Output::Port(egress.number()), packet)?;
                Ok(true)
            }
        }
    }

    /// Records the packets that have arrived. Returns whether there were any.
    fn receive(&mut self, direction: Direction, tally: &mut Tally) -> Result<bool, DutError> {
        let (clock, mut has_received) = (self.clock, false);
        let mut arrived = |number| {
            let now = Moment(u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX));
            has_received |= tally.arrived(number, now);
        };
        let [any, none] = [Xid(SwitchConnection::FIRST_XID), Xid(0)];
        self.look([any, none], &mut |number| {
            if direction == Direction::PacketIn {
                arrived(number);
            }
        })?;
        if direction == Direction::PacketOut {
            let key = self.key;
            for frame in self.outlets[1].receive()?.frames() {
                if let Some(tag) = Tag::read(frame.bytes()).filter(|tag| tag.key == key) {
                    arrived(tag.number);
                }
            }
        }
        Ok(has_received)
    }

    /// Measures the reaction to the first packet of a flow: sends packets of the flow, and inserts
    /// its rule as soon as a packet-in arrives. Returns `None` if the packet-in, the barrier reply
    /// or a forwarded packet did not arrive within a second, or if the test was stopped before.
    pub(super) fn reaction(&mut self, number: EntryNumber) -> Result<Option<Reaction>, DutError> {
        let mut packet = self.channel.maker().packet(number);
        let egress = self.outlets[1].number();
        let rule = FlowEntry { selects: Selector::One(number), output: Output::Port(egress) };
        let first = self.next;
        let begin = self.now();
        let since = |bench: &Self| Duration::from_nanos(bench.now().0 - begin.0);
        let (mut requested, mut packet_in, mut answer, mut forwarded) = (None, None, None, None);
        let mut due = Duration::ZERO;
        while forwarded.is_none() || answer.is_none() {
            let elapsed = since(self);
            if elapsed > REACTS || self.stop.load(Ordering::Relaxed) {
                break;
            }
            if elapsed >= due && forwarded.is_none() {
                Tag { key: self.key, number: self.next }.write(&mut packet);
                if self.outlets[0].send(&packet)? {
                    self.next += 1;
                }
                due = elapsed + SPACING;
            }
            let mut has_come = false;
            let xids = requested.unwrap_or([Xid(u32::MAX); 2]);
            let is_answered = self.look(xids, &mut |number| has_come |= number >= first)?;
            if is_answered {
                answer.get_or_insert(since(self));
            }
            if has_come && packet_in.is_none() {
                packet_in = Some(since(self));
                requested = Some(self.begin_request(Operation::Insert, &[rule])?);
            }
            self.channel.flush()?;
            let key = self.key;
            let mut frames = self.outlets[1].receive()?.frames().iter();
            let is_own = |tag: Tag| tag.key == key && tag.number >= first;
            if frames.any(|frame| Tag::read(frame.bytes()).is_some_and(is_own)) {
                forwarded.get_or_insert(since(self));
            }
        }
        if requested.is_some() {
            self.request(Operation::Delete, &[rule])?;
        }
        let times = packet_in.zip(answer).zip(forwarded);
        Ok(times.map(|((packet_in, answer), forwarded)| Reaction { packet_in, answer, forwarded }))
    }
}
