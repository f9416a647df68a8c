//! The highest rate of updates that a switch sustains, found by search.
//!
//! The test of [`updates`](crate::updates) always keeps requests waiting, so it shows how fast a
//! switch is when it has a queue. Here requests are due by a schedule: insertions and deletions
//! alternate, and each deletion takes the oldest entries, so the occupancy of the table stays. A
//! rate passes if the switch refuses nothing, if the requests without an answer do not become more,
//! and if the table has all entries in the end. [`measuring::search`] chooses the rates.

mod pool;
#[cfg(test)]
mod simulation;
pub(crate) mod trial;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use measuring::search::{Found, LossFreeSearch, Observation, Range, Wording};

use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::session::{Session, Tried};
use crate::transport::{Bulk, Evidence};
use crate::updates::Limit;
use crate::window::{Operation, Refusal, Shape, Work};

use self::pool::Pool;
use self::trial::{Ended, Schedule, Trial};

/// The least number of requests in the window of a trial, unless that takes too long.
const LEAST_REQUESTS: f64 = 100.0;
/// The longest window of a trial, as a multiple of the time in the settings.
const LONGEST: u32 = 5;
/// The share of a trial's window that passes before it.
const WARM_UP: f64 = 0.25;
/// The range of the search, relative to the rate with requests that always wait.
const RANGE: [f64; 2] = [0.25, 8.0];
/// The distance of the two ends of the result at which the search ends, as a share of the rate.
const PRECISION: f64 = 0.05;
/// The numbers of requests that may wait for answers at the same time. Within them, it is the
/// number whose answers take as long as a window.
const WAITING: [usize; 2] = [16, 4096];
/// The number of updates in a request that fills or empties the table.
const FILLED: usize = 100;
/// The number of trials that a search usually takes.
const USUAL: u64 = 30;

/// The settings of the test.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of updates in a request. It is smaller for tables with few entries.
    pub batch: usize,
    /// The number of requests that wait for their answers while the search estimates where to
    /// begin.
    pub window: usize,
    /// The percentage of the table that is filled during the measurement.
    pub occupancy: u8,
    /// The length of a trial.
    pub time: Duration,
    /// Whether each rate is tried once only. No confidence is stated then.
    pub is_rough: bool,
}

/// One trial of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The updates per second that were due.
    pub offered: f64,
    /// The updates per second that were answered.
    pub answered: f64,
    /// The mean time from a request to its answer; `None` without answers.
    pub response: Option<Duration>,
    /// Whether the requests without an answer became more.
    pub is_growing: bool,
    /// The share of updates that were refused or had no effect.
    pub lost: f64,
    /// Whether this program did not offer the rate, or may have been the reason of the backlog.
    pub is_limited_here: bool,
}

/// The highest sustained rate, in updates per second.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of updates in a request.
    pub batch: usize,
    /// The number of entries that the table had on average.
    pub entries: usize,
    /// The result of the search.
    pub found: Found,
    /// The part that limited the rate; `None` if no rate failed.
    pub limit: Option<Limit>,
    /// The trials, in the order in which they were made.
    pub points: Vec<Point>,
    /// The first update that the switch refused; `None` if it refused none.
    pub refusal: Option<Refusal>,
    /// The number of entries that the table had too many or too few after trials.
    pub wrong: usize,
    /// What TCP showed of the connection in the trials in which requests piled up; `None` if there
    /// were none, or if the kernel does not tell.
    pub transport: Option<Evidence>,
}

/// The trials in which requests piled up.
#[derive(Clone, Debug, Default)]
struct Backlogs {
    /// The mean time from the sending of a request to its answer in each trial, in seconds. The
    /// time for which due requests were held here is not in it.
    away: Vec<f64>,
    transport: Option<Evidence>,
}

impl Backlogs {
    fn note(&mut self, observation: &Observation, away: Option<f64>, transport: Option<Evidence>) {
        if observation.falling_behind && !observation.limited_by_tester {
            self.away.extend(away);
            self.transport = Evidence::sum(self.transport, transport);
        }
    }

    /// Returns the side for which requests waited, if the search found that it was not this
    /// program.
    fn limit(&self, limit: Option<Limit>) -> Option<Limit> {
        let waited = limit == Some(Limit::Switch) && !self.away.is_empty();
        // Without a backlog, updates were refused or had no effect, which the switch alone does.
        if !waited {
            return limit;
        }
        let answer = statistics::mean(&self.away).map(Duration::from_secs_f64);
        Some(Limit::of(self.transport.as_ref(), answer, Bulk::Requests))
    }
}

/// A search under way.
#[derive(Clone, Debug)]
struct Search {
    search: LossFreeSearch,
    points: Vec<Point>,
}

impl Search {
    /// Creates a search around the rate that was answered when requests always waited.
    fn around(estimate: f64, is_rough: bool) -> Self {
        let [low, high] = RANGE.map(|share| share * estimate);
        let range = Range { low, high, precision: PRECISION, is_rough, loss: 0.0, sources: 1 };
        Self { search: LossFreeSearch::new(range), points: Vec::new() }
    }

    fn observe(&mut self, rate: f64, observation: Observation) {
        self.points.push(Point {
            offered: rate,
            answered: observation.received_rate,
            response: observation.rtt_mean.map(Duration::from_secs_f64),
            is_growing: observation.falling_behind,
            lost: observation.loss.unwrap_or(0.0),
            is_limited_here: observation.limited_by_tester,
        });
        self.search.observe(rate, &[observation]);
    }

    fn found(&self) -> (Found, Option<Limit>) {
        let found =
            self.search.result(&Wording { system: "switch", tester: "Planimeter", on_silence: "" });
        // If most trials were disturbed, the others do not show what the switch sustains.
        let is_disturbed = 2 * found.disturbed_trials as usize > self.points.len();
        let limit = match (found.limited_by_tester || is_disturbed, found.lossy_rate) {
            (true, _) => Some(Limit::Planimeter),
            (false, Some(_)) => Some(Limit::Switch),
            (false, None) => None,
        };
        (found, limit)
    }
}

/// Returns the schedule of a trial at a rate.
fn schedule(settings: &Settings, batch: usize, rate: f64, estimate: f64) -> Schedule {
    let enough = Duration::from_secs_f64(LEAST_REQUESTS * batch as f64 / rate.max(1e-3));
    let window = settings.time.max(enough.min(settings.time * LONGEST));
    let [least, most] = WAITING;
    let waiting = estimate * window.as_secs_f64() / batch as f64;
    let most = (waiting as usize).clamp(least, most);
    Schedule { rate, batch, warm_up: window.mul_f64(WARM_UP), window, most }
}

/// The entries of the test.
struct Entries {
    /// The number of updates in a request.
    batch: usize,
    /// The entries that the table has at the start of a trial.
    present: Vec<EntryNumber>,
    free: Vec<EntryNumber>,
}

impl Entries {
    /// Divides the entries that a load of the given occupancy may use. Both parts have the entries
    /// of several requests.
    fn of(session: &Session, settings: &Settings) -> Result<Self, DutError> {
        let room = session.room(settings.occupancy);
        let batch = settings.batch.min(room.free.len() / 64).max(1);
        let [mut present, mut free] = [room.filled, room.free];
        let more = (32 * batch).min(free.len() / 2).saturating_sub(present.len());
        present.extend(free.drain(..more));
        match present.len() >= batch && free.len() >= batch {
            true => Ok(Self { batch, present, free }),
            false => Err(session.too_few("sustained", 2)),
        }
    }

    /// Deletes all entries of the test, and inserts those that a trial needs.
    async fn refill(&self, session: &mut Session) -> Result<Pool, DutError> {
        let (never, shape) = (AtomicBool::new(false), Shape { window: 4, time: None });
        session.empty().await?;
        let numbers = self.present.as_slice();
        let fill = Work { operation: Operation::Insert, numbers, batch: FILLED };
        let filled = session.write(fill, shape, &never).await?;
        Ok(Pool::new(&filled.accepted, &self.free))
    }
}

/// Searches for the highest rate. If `stop` is set, returns what is known until then.
///
/// # Errors
/// Returns an error if a request fails as a whole, or if the table has too few entries.
pub(crate) async fn measure(
    session: &mut Session,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let entries = Entries::of(session, settings)?;
    let estimate = estimate(session, settings, &entries, stop).await?;
    let mut pool = entries.refill(session).await?;
    let present = session.present() + pool.present();
    let mut search = Search::around(estimate, settings.is_rough);
    let (mut refusal, mut all_wrong, mut backlogs) = (None, 0, Backlogs::default());
    while let Some(rate) = search.search.next_rate() {
        let trial = Trial::new(schedule(settings, entries.batch, rate, estimate), pool);
        let Tried { trial, busy, transport } = session.run(trial, stop).await?;
        let wrong = session.wrong(trial.pool().present()).await?;
        let Ended { observation, pool: after, refusal: first, away } = trial.conclude(busy, wrong);
        if stop.load(Ordering::Relaxed) {
            break;
        }
        search.observe(rate, observation);
        backlogs.note(&observation, away, transport);
        refusal = refusal.or(first);
        all_wrong += wrong;
        pool = match observation.loss {
            Some(0.0) => after,
            Some(_) | None => entries.refill(session).await?,
        };
        let done = search.points.len() as u64;
        progress(done, USUAL.max(done + 1));
    }
    session.empty().await?;
    let (found, limit) = search.found();
    let limit = backlogs.limit(limit);
    let (batch, entries, wrong) = (entries.batch, present, all_wrong);
    let (Search { points, .. }, transport) = (search, backlogs.transport);
    Ok(Measured { batch, entries, found, limit, points, refusal, wrong, transport })
}

/// Returns the updates per second that the switch accepts when requests always wait.
async fn estimate(
    session: &mut Session,
    settings: &Settings,
    entries: &Entries,
    stop: &AtomicBool,
) -> Result<f64, DutError> {
    let (batch, numbers) = (entries.batch, entries.free.as_slice());
    let shape = Shape { window: settings.window, time: Some(settings.time) };
    let insert = Work { operation: Operation::Insert, numbers, batch };
    let inserted = session.write(insert, shape, stop).await?;
    let whole = Shape { window: settings.window, time: None };
    let delete = Work { operation: Operation::Delete, numbers: &inserted.accepted, batch };
    let deleted = session.write(delete, whole, &AtomicBool::new(false)).await?;
    let updates = (inserted.accepted.len() + deleted.accepted.len()) as f64;
    let rate = updates / (inserted.duration + deleted.duration).as_secs_f64();
    if rate.is_finite() && rate > 0.0 {
        return Ok(rate);
    }
    let refusal = inserted.refusal.or(deleted.refusal);
    let cause = refusal.map_or_else(|| "nothing was answered".to_owned(), |one| one.message);
    Err(DutError::Request { what: "Write", cause })
}
