//! Packets that are sent into a port of the switch at a constant rate, and what becomes of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt as _;

use crate::clock::Clock as _;
use crate::effects::{Moment, Span};
use crate::error::DutError;
use crate::live::Wire;
use crate::outlet::Outlet;
use crate::tag::Tag;

/// The time in nanoseconds to wait for missing packets after a packet was last sent or arrived.
const GRACE: u64 = 50_000_000;

/// The largest number of overdue packets that are sent without a pause between them.
const CATCH_UP: u64 = 16;

/// The interfaces that are connected to the switch, with the clock of a measurement.
pub(crate) struct PacedStream {
    clock: Instant,
    outlets: Vec<Outlet>,
    /// The random number by which packets of this measurement are recognised.
    key: u64,
    /// The number of the next packet.
    next: u64,
}

/// Returns the class of an arrival, from the position of its packet among those that are sent, the
/// port by which it left the switch, and its bytes. Returns `None` for a packet that went astray.
pub(crate) type Classify<'a> = &'a dyn Fn(usize, u32, &[u8]) -> Option<usize>;

/// Packets that are sent in turn, again and again.
pub(crate) struct Paced<'a> {
    /// The port of the switch by which they enter.
    pub(crate) port: u32,
    pub(crate) packets: &'a [Vec<u8>],
    /// The packets per second.
    pub(crate) rate: f64,
    /// The number of packets that are sent.
    pub(crate) count: usize,
    pub(crate) class: Classify<'a>,
}

/// The arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at: Span,
    /// The class that [`Paced::class`] returned.
    pub(crate) class: Option<usize>,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// The position of the packet among [`Paced::packets`].
    pub(crate) packet: usize,
    pub(crate) sent: Span,
    /// The arrival of the first copy; `None` if the packet did not arrive.
    pub(crate) arrival: Option<Arrival>,
}

impl PacedStream {
    /// Opens interfaces.
    pub(crate) fn open(wires: &[Wire]) -> Result<Self, DutError> {
        Ok(Self::new(Outlet::open(wires)?))
    }

    pub(crate) fn new(outlets: Vec<Outlet>) -> Self {
        Self { clock: Instant::now(), outlets, key: rand::rng().random(), next: 0 }
    }

    /// Sends packets, and waits until all have arrived or none has for a while. Ends early if
    /// `stop` is set. `tend` is called between packets.
    pub(crate) async fn run(
        &mut self,
        paced: &Paced<'_>,
        tend: &mut dyn FnMut() -> Result<(), DutError>,
        stop: &AtomicBool,
    ) -> Result<Vec<Passage>, DutError> {
        let mut record = Record { first: self.next, passages: Vec::new(), missing: 0 };
        let spacing = (1e9 / paced.rate.max(1.0)) as u64;
        let mut frame = Vec::new();
        // Packets of earlier measurements are read, and the interfaces are looked at from now on.
        self.receive(&mut record, paced)?;
        let mut due = self.clock.now();
        let mut last = due;
        let mut position = 0;
        loop {
            let now = self.clock.now();
            let goes_on = position < paced.count && !stop.load(Ordering::Relaxed);
            if !goes_on && (record.missing == 0 || now.0 >= last.0 + GRACE) {
                break;
            }
            if goes_on && now >= due {
                // After a longer pause, not all packets that are overdue are sent in one burst.
                due = Moment(due.0.max(now.0.saturating_sub(CATCH_UP * spacing)) + spacing);
                let packet = position % paced.packets.len().max(1);
                if self.send(paced, packet, &mut frame, &mut record)? {
                    last = self.clock.now();
                }
                position += 1;
            }
            if self.receive(&mut record, paced)? {
                last = self.clock.now();
            }
            tend()?;
            tokio::task::yield_now().await;
        }
        self.next += record.passages.len() as u64;
        Ok(record.passages)
    }

    /// Waits without sending.
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

    /// Sends one packet. Returns whether the interface took it.
    fn send(
        &mut self,
        paced: &Paced<'_>,
        packet: usize,
        frame: &mut Vec<u8>,
        record: &mut Record,
    ) -> Result<bool, DutError> {
        let Some(bytes) = paced.packets.get(packet) else { return Ok(false) };
        frame.clone_from(bytes);
        let number = record.first + record.passages.len() as u64;
        Tag { key: self.key, number }.write(frame);
        let earliest = self.clock.now();
        if !Outlet::find(&mut self.outlets, paced.port)?.send(frame)? {
            return Ok(false);
        }
        let sent = Span { earliest, latest: self.clock.now() };
        record.passages.push(Passage { packet, sent, arrival: None });
        record.missing += 1;
        Ok(true)
    }

    /// Records the packets that have arrived. Returns whether one has.
    fn receive(&mut self, record: &mut Record, paced: &Paced<'_>) -> Result<bool, DutError> {
        let (clock, key) = (self.clock, self.key);
        let mut has_arrived = false;
        for outlet in &mut self.outlets {
            let before = clock.now();
            let (port, earliest) = (outlet.number(), outlet.looked);
            let frames = outlet.receive()?;
            let at = Span { earliest, latest: clock.now() };
            for frame in frames.frames() {
                let tag = Tag::read(frame.bytes()).filter(|tag| tag.key == key);
                let Some(passage) = tag.and_then(|tag| record.passage(tag)) else { continue };
                has_arrived = true;
                if passage.arrival.is_none() {
                    let class = (paced.class)(passage.packet, port, frame.bytes());
                    passage.arrival = Some(Arrival { at, class });
                    record.missing -= 1;
                }
            }
            outlet.looked = before;
        }
        Ok(has_arrived)
    }
}

/// The packets of one call.
struct Record {
    /// The number of the first packet.
    first: u64,
    passages: Vec<Passage>,
    /// The number of packets that have not arrived.
    missing: usize,
}

impl Record {
    fn passage(&mut self, tag: Tag) -> Option<&mut Passage> {
        let position = usize::try_from(tag.number.checked_sub(self.first)?).ok()?;
        self.passages.get_mut(position)
    }
}
