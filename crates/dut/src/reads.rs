//! The rate of reads: how many entries of a table, and how many of their counters, a switch returns
//! per second, and what reading costs the packets that pass through it meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::background::{Background, Cost};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::session::Session;
use crate::transport::sampler::Sampler;
use crate::transport::{Bulk, Evidence};
use crate::updates::Limit;
use crate::window::{BUSY, Operation, Shape, Work, processor_time};

/// The number of updates in a request that fills the table.
const BATCH: usize = 100;

/// The settings of the test of reads.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The largest number of entries that are inserted before the table is read.
    pub entries: usize,
    /// The number of rounds, in each of which the table is read for `time`.
    pub rounds: u32,
    /// The time for which the table is read in each round. A read that has begun is finished.
    pub time: Duration,
}

/// The measured rate of reads of all entries of a table.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of entries that the controller had inserted when the table was read.
    pub expected: usize,
    /// The rate at which entries were returned in each round, in entries per second.
    pub rates: Vec<f64>,
    /// The number of reads that did not return the expected number of entries.
    pub wrong: usize,
    /// The number of times that the table was read, including the reads in `wrong`.
    pub reads: usize,
    /// The packets that passed through the switch before and during each round; `None` without
    /// packets.
    pub packets: Option<Cost>,
    /// Whether this program was the limit in most rounds, because the thread that decodes the
    /// entries ran nearly all the time.
    pub is_limited_here: bool,
    /// The evidence from the TCP connections, over all rounds, on which side was the limit; `None`
    /// if the kernel does not report it.
    pub transport: Option<Evidence>,
    /// The reads of direct counters; `None` if the table has none.
    pub counters: Option<CounterReads>,
}

/// The result of reading the direct counters of all entries of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterReads {
    /// The rate at which counters were returned in each round, in counters per second.
    pub rates: Vec<f64>,
    /// The number of reads that did not return as many counters as the table has entries.
    pub wrong: usize,
    /// The number of times that the counters were read, including the reads in `wrong`.
    pub reads: usize,
    /// The error with which the switch refused to return counters; `None` if it returned them.
    pub refusal: Option<String>,
}

/// The entities that a read requests: the entries of the table, or their direct counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Entries,
    Counters,
}

impl Measured {
    /// Returns the side that limited the rate of reads: this program, the switch or the network.
    #[must_use]
    pub fn limit(&self) -> Limit {
        match self.is_limited_here {
            true => Limit::Planimeter,
            false => Limit::of(self.transport.as_ref(), None, Bulk::Answers),
        }
    }
}

/// Inserts entries, reads the whole table again and again, and deletes the entries. With
/// `background`, packets pass during each round, and before it for the same time.
///
/// # Errors
/// Returns an error if a request fails as a whole.
pub(crate) async fn measure(
    session: &mut Session,
    settings: &Settings,
    mut background: Option<&mut Background>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let numbers: Vec<EntryNumber> =
        session.within_size().iter().take(settings.entries).copied().collect();
    let shape = Shape { window: 4, time: None };
    let fill = Work { operation: Operation::Insert, numbers: &numbers, batch: BATCH };
    let filled = session.write(fill, shape, stop).await?;
    let expected = session.present() + filled.accepted.len();
    let packets =
        background.as_ref().map(|packets| Cost { rate: packets.rate(), ..Cost::default() });
    let mut measured = Measured {
        expected,
        rates: Vec::new(),
        wrong: 0,
        reads: 0,
        packets,
        is_limited_here: false,
        transport: None,
        counters: None,
    };
    let mut busy = 0;
    for round in 0..settings.rounds {
        progress(round.into(), settings.rounds.into());
        let reading = Reading::make(session, Part::Entries, expected, settings.time, stop);
        let one = match (&mut background, &mut measured.packets) {
            (Some(packets), Some(cost)) => {
                // The reading has not begun yet.
                cost.idle.append(packets.pause(settings.time).await?);
                let (one, beside) = packets.during(reading).await?;
                cost.busy.append(beside);
                one
            }
            (_, _) => reading.await?,
        };
        measured.reads += one.reads;
        measured.wrong += one.wrong;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        measured.rates.push(one.entries as f64 / one.time);
        measured.transport = Evidence::sum(measured.transport, one.transport);
        busy += usize::from(one.processor >= BUSY * one.time);
    }
    measured.is_limited_here = 2 * busy > measured.rates.len();
    if session.has_counters() && !stop.load(Ordering::Relaxed) {
        measured.counters = Some(counters(session, expected, settings, stop).await?);
    }
    let empty = Work { operation: Operation::Delete, numbers: &filled.accepted, batch: BATCH };
    session.write(empty, shape, &AtomicBool::new(false)).await?;
    Ok(measured)
}

/// Reads the counters of a table of `expected` entries again and again. Stops at the first read
/// that the switch refuses.
async fn counters(
    session: &mut Session,
    expected: usize,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<CounterReads, DutError> {
    let mut found = CounterReads::default();
    for _ in 0..settings.rounds {
        let one = match Reading::make(session, Part::Counters, expected, settings.time, stop).await
        {
            Ok(one) => one,
            Err(DutError::Request { cause, .. }) => {
                found.refusal = Some(cause);
                break;
            }
            Err(error) => return Err(error),
        };
        found.reads += one.reads;
        found.wrong += one.wrong;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        found.rates.push(one.entries as f64 / one.time);
    }
    Ok(found)
}

/// The result of the reads of one round.
#[derive(Default)]
struct Reading {
    entries: usize,
    reads: usize,
    wrong: usize,
    /// The duration of the round in seconds.
    time: f64,
    /// The processor time that this thread used, in seconds.
    processor: f64,
    transport: Option<Evidence>,
}

impl Reading {
    /// Reads the entries or the counters of a table of `expected` entries again and again for some
    /// time.
    async fn make(
        session: &mut Session,
        part: Part,
        expected: usize,
        time: Duration,
        stop: &AtomicBool,
    ) -> Result<Self, DutError> {
        let (began, processor) = (Instant::now(), processor_time());
        let sampler = session.look_at_connections();
        let mut one = Self::default();
        while began.elapsed() < time && !stop.load(Ordering::Relaxed) {
            let found = match part {
                Part::Entries => session.read().await?,
                Part::Counters => session.read_counters().await?,
            };
            one.entries += found;
            one.reads += 1;
            one.wrong += usize::from(found != expected);
        }
        one.time = began.elapsed().as_secs_f64();
        one.processor = (processor_time() - processor).as_secs_f64();
        one.transport = sampler.and_then(Sampler::end);
        Ok(one)
    }
}
