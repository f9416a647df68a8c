//! The age of counters: whether a switch answers a read with the current value of a counter or with
//! an older one.
//!
//! Packets of one flow pass through the switch, evenly spaced, and the counter of the flow's entry
//! is read again and again: over P4Runtime the direct counter of the table, over OpenFlow the
//! packet count in the flow's statistics. Some switches only copy their counters from the data
//! plane at intervals, and answer reads from the copy.

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
/// The longest time after the last packet in which the counter may still catch up.
const SETTLES: Duration = Duration::from_secs(10);
/// The time without an arrival after which packets that are still missing count as lost.
const GRACE: Duration = Duration::from_millis(100);

/// The settings of the test of a counter's age.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of times that the counter is read.
    pub readings: usize,
}

/// The readings that a measurement is to take.
pub(crate) struct Wanted<'a> {
    pub(crate) settings: &'a Settings,
    /// A flag that ends the measurement when it is set.
    pub(crate) stop: &'a AtomicBool,
    /// A callback that receives the number of readings taken so far, and the number of all
    /// readings.
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

/// The measured age of a counter.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The fully qualified name of the counter, or for OpenFlow a description of it.
    pub counter: String,
    /// The age of the counter's value at each reading.
    pub ages: Vec<Range>,
    /// The number of readings whose value was larger than the number of packets sent.
    pub too_high: usize,
    /// The number of packets that were sent.
    pub sent: usize,
    /// The number of packets that left the switch by the right port.
    pub arrived: usize,
    /// The final value of the counter, read after it stopped changing or reached
    /// [`Measured::sent`].
    pub counted: u64,
}

impl Measured {
    /// Returns whether the counter has counted all packets that left the switch.
    pub(crate) fn has_settled(&self) -> bool {
        self.counted >= self.arrived as u64
    }
}

/// The counter of an entry, which is read while packets are sent.
trait Counter {
    /// Sends a request for the counter's value.
    fn ask(&mut self) -> Result<(), DutError>;

    /// Checks once, without waiting, whether the answer has arrived. Returns the packet count of
    /// the answer, or `None` if there is no answer yet.
    async fn look(&mut self) -> Result<Option<u64>, DutError>;

    /// Answers keep-alive requests of the switch, such as OpenFlow echo requests.
    fn tend(&mut self) -> Result<(), DutError>;
}

/// A measurement in progress: the counter, the flow whose packets it counts, and the packets.
struct Readings<'a, E, K, C> {
    counter: &'a mut K,
    flow: &'a LeavingFlow<E>,
    stream: &'a mut PacketStream<C>,
    pace: Pace,
}

impl<E: Clone, K: Counter, C: Clock> Readings<'_, E, K, C> {
    /// Reads the counter of the flow's entry again and again while packets pass. The entry must be
    /// in the switch already.
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
            if measured.has_settled() || now > end + nanos(SETTLES) || is_stopped() {
                return Ok(measured);
            }
            self.wait_until(now + nanos(GRACE)).await?;
        }
    }

    /// Records arrivals until `end`, without sending packets.
    async fn wait_until(&mut self, end: u64) -> Result<(), DutError> {
        while self.stream.now().0 < end {
            self.counter.tend()?;
            self.turn(false).await?;
        }
        Ok(())
    }

    /// Reads the counter once. If `sends` is set, sends packets while it waits for the answer.
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

    /// Records the packets that have arrived. If `sends` is set, first sends the packet that is
    /// due.
    async fn turn(&mut self, sends: bool) -> Result<(), DutError> {
        if sends && self.pace.is_due(self.stream.now()) {
            self.flow.send(self.stream)?;
        }
        self.flow.receive(self.stream)?;
        tokio::task::yield_now().await;
        Ok(())
    }
}
