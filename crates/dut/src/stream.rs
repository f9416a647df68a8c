//! Sends packets of a measurement into ports of the switch, and records how they leave it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt as _;

use crate::clock::Clock;
use crate::effects::{Moment, Span};
use crate::error::DutError;
use crate::live::Wire;
use crate::outlet::Outlet;
use crate::pace::Pace;
use crate::tag::Tag;

/// The time in nanoseconds for which missing packets are awaited after the last packet was sent or
/// arrived.
const GRACE: u64 = 50_000_000;

/// The largest number of overdue packets that are sent back to back.
const CATCH_UP: u64 = 16;

/// The interfaces that are connected to the switch, with the clock of a measurement and a record of
/// the packets since the latest call of `start`.
pub(crate) struct PacketStream<C = Instant> {
    clock: C,
    outlets: Vec<Outlet>,
    /// The random number by which packets of this measurement are recognised.
    key: u64,
    /// The number of the first packet since the latest start.
    first: u64,
    passages: Vec<Passage>,
    /// The number of packets that were sent since the latest start and have not arrived.
    missing: usize,
    /// The buffer in which each packet is assembled.
    frame: Vec<u8>,
}

/// The class of a packet's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The packet arrived in an expected way, which has this number.
    As(usize),
    /// The packet arrived in a way that is not expected.
    Astray,
    /// The arrival is ignored.
    Nothing,
}

/// A function that classifies an arrival. Its arguments are the packet's position among those that
/// are sent, the port by which it left the switch, and its bytes.
pub(crate) type Classify<'a> = &'a dyn Fn(usize, u32, &[u8]) -> Seen;

/// A series of packets that are sent in turn, evenly spaced.
pub(crate) struct Paced<'a> {
    /// The port by which the packets enter the switch.
    pub(crate) port: u32,
    pub(crate) packets: &'a [Vec<u8>],
    /// The rate at which packets are sent, in packets per second.
    pub(crate) rate: f64,
    /// The number of packets that are sent in all.
    pub(crate) count: usize,
    pub(crate) class: Classify<'a>,
}

/// A packet that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure<'a> {
    /// The port by which the packet enters the switch.
    pub(crate) port: u32,
    /// The position of the packet in the list of packets that are sent in turn.
    pub(crate) packet: usize,
    pub(crate) bytes: &'a [u8],
}

/// The time and the classification of a packet's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at: Span,
    /// The number in [`Seen::As`] of the way in which the packet arrived; `None` if it arrived in
    /// an unexpected way.
    pub(crate) class: Option<usize>,
}

/// A packet that was sent, with its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// The position of the packet in the list of packets that are sent in turn.
    pub(crate) packet: usize,
    pub(crate) sent: Span,
    /// The first arrival of the packet that was not ignored; `None` if there was none.
    pub(crate) arrival: Option<Arrival>,
}

impl PacketStream {
    /// Opens the interfaces of this machine that are connected to the switch.
    pub(crate) fn open(wires: &[Wire]) -> Result<Self, DutError> {
        Ok(Self::new(Outlet::open(wires)?))
    }

    pub(crate) fn new(outlets: Vec<Outlet>) -> Self {
        Self::with_clock(outlets, Instant::now())
    }

    /// Sends packets, and waits until all have arrived, or none has for a while. If `stop` is set,
    /// sends no more packets. Calls `tend` again and again meanwhile, to serve the control channel.
    pub(crate) async fn run(
        &mut self,
        paced: &Paced<'_>,
        tend: &mut dyn FnMut() -> Result<(), DutError>,
        stop: &AtomicBool,
    ) -> Result<Vec<Passage>, DutError> {
        self.start();
        // Packets of earlier measurements are read, and the interfaces are looked at from now on.
        self.receive(paced.class)?;
        let mut last = self.now();
        let mut pace = Pace::new(last, (1e9 / paced.rate.max(1.0)) as u64, CATCH_UP);
        let mut position = 0;
        loop {
            let now = self.now();
            let goes_on = position < paced.count && !stop.load(Ordering::Relaxed);
            if !goes_on && (self.missing == 0 || now.0 >= last.0 + GRACE) {
                break;
            }
            if goes_on && pace.is_due(now) {
                let packet = position % paced.packets.len().max(1);
                let bytes = paced.packets.get(packet).map(Vec::as_slice).unwrap_or_default();
                if self.send(Departure { port: paced.port, packet, bytes })? {
                    last = self.now();
                }
                position += 1;
            }
            if self.receive(paced.class)? {
                last = self.now();
            }
            tend()?;
            tokio::task::yield_now().await;
        }
        Ok(self.passages.clone())
    }

    /// Waits without sending packets, and calls `tend` again and again meanwhile.
    pub(crate) async fn pause(
        &mut self,
        time: Duration,
        tend: &mut dyn FnMut() -> Result<(), DutError>,
    ) -> Result<(), DutError> {
        let begin = Instant::now();
        while begin.elapsed() < time {
            tend()?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

impl<C: Clock> PacketStream<C> {
    pub(crate) fn with_clock(outlets: Vec<Outlet>, clock: C) -> Self {
        let key = rand::rng().random();
        let (passages, frame) = (Vec::new(), Vec::new());
        Self { clock, outlets, key, first: 0, passages, missing: 0, frame }
    }

    /// Discards the record of packets. Packets that were sent before are no longer recognised.
    pub(crate) fn start(&mut self) {
        self.first += self.passages.len() as u64;
        self.passages.clear();
        self.missing = 0;
    }

    /// Returns the present moment on the clock of the stream.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Returns the packets since the latest start, in the order of their sending.
    pub(crate) fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Returns the number of packets that arrived and were dropped because this program had no room
    /// for them.
    pub(crate) fn dropped(&self) -> u64 {
        self.outlets.iter().map(Outlet::dropped).sum()
    }

    /// Returns whether any packet has not arrived.
    pub(crate) fn is_missing_packets(&self) -> bool {
        self.missing > 0
    }

    /// Sends a packet. Returns whether the interface accepted it.
    pub(crate) fn send(&mut self, one: Departure<'_>) -> Result<bool, DutError> {
        self.frame.clear();
        self.frame.extend_from_slice(one.bytes);
        let number = self.first + self.passages.len() as u64;
        Tag { key: self.key, number }.write(&mut self.frame);
        let earliest = self.clock.now();
        if !Outlet::find(&mut self.outlets, one.port)?.send(&self.frame)? {
            return Ok(false);
        }
        let sent = Span { earliest, latest: self.clock.now() };
        self.passages.push(Passage { packet: one.packet, sent, arrival: None });
        self.missing += 1;
        Ok(true)
    }

    /// Records the packets that have arrived, classified by `class`. Returns whether any has.
    pub(crate) fn receive(&mut self, class: Classify<'_>) -> Result<bool, DutError> {
        let Self { clock, outlets, key, first, passages, missing, .. } = self;
        let mut has_arrived = false;
        for outlet in outlets {
            let before = clock.now();
            let (port, earliest) = (outlet.number(), outlet.looked);
            let frames = outlet.receive()?;
            let at = Span { earliest, latest: clock.now() };
            for frame in frames.frames() {
                let tag = Tag::read(frame.bytes()).filter(|tag| tag.key == *key);
                let place = tag.and_then(|tag| tag.number.checked_sub(*first));
                let place = place.and_then(|place| usize::try_from(place).ok());
                let Some(passage) = place.and_then(|place| passages.get_mut(place)) else {
                    continue;
                };
                let class = match class(passage.packet, port, frame.bytes()) {
                    Seen::As(number) => Some(number),
                    Seen::Astray => None,
                    Seen::Nothing => continue,
                };
                has_arrived = true;
                if passage.arrival.is_none() {
                    passage.arrival = Some(Arrival { at, class });
                    *missing -= 1;
                }
            }
            outlet.looked = before;
        }
        Ok(has_arrived)
    }
}
