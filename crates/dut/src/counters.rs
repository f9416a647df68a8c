//! The age of counters: whether a switch returns values that were true when it was asked, or older
//! ones.
//!
//! Packets of one flow pass through the switch at even distances, and the counter of the flow's
//! entry is read again and again: over P4Runtime the direct counter of the table, over OpenFlow the
//! packets in the statistics of the flow. Some switches copy their counters only now and then from
//! where packets are counted, and return the copy.

mod age;
mod openflow;
mod p4runtime;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::age::{Counted, Reading};
use crate::clock::{Clock, nanos};
use crate::effects::Range;
use crate::error::DutError;
use crate::leaving_flow::LeavingFlow;
use crate::pace::Pace;
use crate::stream::PacketStream;

pub(crate) use self::openflow::measure as over_openflow;
pub(crate) use self::p4runtime::measure as over_p4runtime;

/// The time between two packets.
const SPACING: Duration = Duration::from_micros(500);
/// The time for which packets are sent before the first reading.
const BEFORE: Duration = Duration::from_millis(50);
/// The time between the answer to a reading and the next request.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest time after the last packet for which the counter may still change.
const SETTLES: Duration = Duration::from_secs(10);
/// The time without an arrival after which a missing packet is lost.
const GRACE: Duration = Duration::from_millis(100);

/// The settings of the test.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of readings.
    pub readings: usize,
}

/// The readings that are to be made.
pub(crate) struct Wanted<'a> {
    pub(crate) settings: &'a Settings,
    /// Ends the measurement when it is set.
    pub(crate) stop: &'a AtomicBool,
    /// Called with the number of readings that are made, and that of all readings.
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

/// The readings of a counter.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The fully qualified name of the counter, or what OpenFlow calls it.
    pub counter: String,
    /// The age of the value of each reading.
    pub ages: Vec<Range>,
    /// The number of readings whose value exceeds the packets that were sent.
    pub too_high: usize,
    /// The number of packets that were sent.
    pub sent: usize,
    /// The number of packets that left the switch as they should.
    pub arrived: usize,
    /// The packets that the counter had counted in the end, when its value no longer changed or
    /// [`Measured::sent`] was reached.
    pub counted: u64,
}

/// The counter of an entry, which is read while packets are sent.
trait Counter {
    /// Sends a request for the value.
    fn ask(&mut self) -> Result<(), DutError>;

    /// Looks once whether the answer has arrived, and returns the number of packets that the
    /// counter has counted.
    async fn look(&mut self) -> Result<Option<u64>, DutError>;

    /// Serves the connection to the switch, which may ask whether it is still there.
    fn tend(&mut self) -> Result<(), DutError>;
}

/// A test under way: the counter, the flow that it counts, and the packets.
struct Readings<'a, E, K, C> {
    counter: &'a mut K,
    flow: &'a LeavingFlow<E>,
    stream: &'a mut PacketStream<C>,
    pace: Pace,
}

impl<E: Clone, K: Counter, C: Clock> Readings<'_, E, K, C> {
    /// Reads the counter of the flow's entry, which the switch has, while packets pass.
    async fn make(&mut self, wanted: Wanted<'_>) -> Result<Measured, DutError> {
        let Wanted { settings, stop, progress } = wanted;
        let is_stopped = || stop.load(Ordering::Relaxed);
        let base = self.read(false).await?.value;
        self.stream.start();
        let begin = self.stream.now();
        self.pace = Pace::new(begin, nanos(SPACING), 1);
        let mut readings: Vec<Reading> = Vec::new();
        let mut next = begin.0 + nanos(BEFORE);
        while readings.len() < settings.readings && !is_stopped() {
            if self.stream.now().0 < next {
                self.counter.tend()?;
                self.turn(true).await?;
                continue;
            }
            let found = self.read(true).await?;
            next = found.answer.0 + nanos(PAUSE);
            readings.push(Reading { value: found.value.saturating_sub(base), ..found });
            progress(readings.len() as u64, settings.readings as u64);
        }
        let end = self.stream.now().0;
        self.wait_until(end + nanos(GRACE)).await?;
        let packets = Counted::of(begin, self.stream.passages());
        let arrived = self.stream.passages().iter().filter(|one| one.arrival.is_some()).count();
        let mut measured =
            Measured { sent: self.stream.passages().len(), arrived, ..Measured::default() };
        for reading in readings {
            match packets.age(reading) {
                Some(age) => measured.ages.push(age),
                None => measured.too_high += 1,
            }
        }
        loop {
            measured.counted = self.read(false).await?.value.saturating_sub(base);
            let now = self.stream.now().0;
            let is_complete = measured.counted >= measured.arrived as u64;
            if is_complete || now > end + nanos(SETTLES) || is_stopped() {
                return Ok(measured);
            }
            self.wait_until(now + nanos(GRACE)).await?;
        }
    }

    /// Waits for arrivals, without sending.
    async fn wait_until(&mut self, end: u64) -> Result<(), DutError> {
        while self.stream.now().0 < end {
            self.counter.tend()?;
            self.turn(false).await?;
        }
        Ok(())
    }

    /// Reads the counter once. Packets are sent meanwhile if `sends` is set.
    async fn read(&mut self, sends: bool) -> Result<Reading, DutError> {
        let request = self.stream.now();
        self.counter.ask()?;
        loop {
            if let Some(value) = self.counter.look().await? {
                return Ok(Reading { request, answer: self.stream.now(), value });
            }
            self.turn(sends).await?;
        }
    }

    /// Sends the packet that is due, if `sends` is set, and records those that have arrived.
    async fn turn(&mut self, sends: bool) -> Result<(), DutError> {
        if sends && self.pace.is_due(self.stream.now()) {
            self.flow.send(self.stream)?;
        }
        self.flow.receive(self.stream)?;
        tokio::task::yield_now().await;
        Ok(())
    }
}
