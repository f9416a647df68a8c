//! The highest rate of updates that a switch sustains, found by search.
//!
//! The test of [`updates`](crate::updates) always keeps requests waiting at the switch, so it shows
//! how fast the switch is when it has a queue. Here, requests are due by a schedule. Insertions and
//! deletions alternate, and each deletion takes the oldest entries, so the occupancy of the table
//! stays the same. A rate passes if the switch refuses no update, if the number of unanswered
//! requests does not keep growing, and if the table has all entries in the end.
//! [`measuring::search`] chooses the rates.

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

/// The smallest number of requests in the measured window of a trial, unless the window would
/// exceed its longest duration.
const LEAST_REQUESTS: f64 = 100.0;
/// The longest duration of a trial's measured window, as a multiple of the duration in the
/// settings.
const LONGEST: u32 = 5;
/// The duration of the warm-up before the measured window of a trial, as a fraction of the window.
const WARM_UP: f64 = 0.25;
/// The lowest and highest rate of the search, relative to the rate of updates when requests always
/// wait at the switch.
const RANGE: [f64; 2] = [0.25, 8.0];
/// The width of the interval around the result at which the search ends, relative to the rate.
const PRECISION: f64 = 0.05;
/// The limits of the number of requests that may be unanswered at the same time. Between them, the
/// number is the one whose answers take as long as the measured window.
const WAITING: [usize; 2] = [16, 4096];
/// The number of updates in a request that fills or empties the table.
const FILLED: usize = 100;
/// The highest rate of a failed trial that counts as evidence of which side was the limit, relative
/// to the lowest rate that failed. Far above the limit, another side may be the bottleneck.
const CLOSE: f64 = 1.2;
/// The number of trials that a search usually takes, from which the progress is estimated.
const USUAL: u64 = 30;

/// The settings of the search for the sustained rate.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The largest number of updates in a request. Requests to tables with few entries contain
    /// fewer.
    pub batch: usize,
    /// The number of requests that may be unanswered while the search estimates at which rate to
    /// begin.
    pub window: usize,
    /// The percentage of the table that is filled while the trials run.
    pub occupancy: u8,
    /// The duration of a trial's measured window, which is longer at low rates.
    pub time: Duration,
    /// Whether each rate is tried only once. The result is then without a statement of confidence.
    pub is_rough: bool,
}

/// The result of one trial of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The rate at which updates were due, in updates per second.
    pub offered: f64,
    /// The rate at which updates were answered, in updates per second.
    pub answered: f64,
    /// The mean time from a request to its answer; `None` without answers.
    pub response: Option<Duration>,
    /// Whether the number of unanswered requests kept growing.
    pub is_growing: bool,
    /// The share of updates that the switch refused, or that had no effect.
    pub lost: f64,
    /// Whether the trial was disturbed by this program: it did not send at the rate, or may itself
    /// have caused the backlog of requests.
    pub is_limited_here: bool,
}

/// The highest rate of updates that the switch sustained, in updates per second.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of updates in a request.
    pub batch: usize,
    /// The average number of entries in the table during the trials.
    pub entries: usize,
    /// The lower and upper bound that the search found.
    pub found: Found,
    /// The side that limited the rate; `None` if no rate failed.
    pub limit: Option<Limit>,
    /// The trials, in the order in which they were made.
    pub points: Vec<Point>,
    /// The first update that the switch refused; `None` if it refused none.
    pub refusal: Option<Refusal>,
    /// The number of entries by which the table differed from what it should contain, over all
    /// trials.
    pub wrong: usize,
    /// The evidence from the TCP connections on which side was the limit, in the trials that failed
    /// at the lowest rates. `None` if no requests piled up in these trials, or if the kernel does
    /// not report it.
    pub transport: Option<Evidence>,
}

/// A trial at a rate that the switch did not sustain. Trials that this program disturbed are not
/// counted.
#[derive(Clone, Copy, Debug)]
struct Failure {
    rate: f64,
    /// Whether updates were refused or had no effect. Only the switch can cause this.
    has_losses: bool,
    /// The mean time from the sending of a request to its answer, in seconds; `None` without
    /// answers. It does not include the time for which this program held a due request back.
    away: Option<f64>,
    transport: Option<Evidence>,
}

/// The trials at rates that the switch did not sustain.
#[derive(Clone, Debug, Default)]
struct Failures(Vec<Failure>);

/// The side that limited the sustained rate, with the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Verdict {
    /// The limiting side; `None` if no rate failed.
    limit: Option<Limit>,
    /// The evidence from the TCP connections in the trials on which the verdict is based; `None` if
    /// no requests piled up in them, or if there is no such evidence.
    transport: Option<Evidence>,
}

impl Failures {
    /// Records a trial if the switch did not sustain its rate.
    fn note(
        &mut self,
        rate: f64,
        observation: &Observation,
        away: Option<f64>,
        transport: Option<Evidence>,
    ) {
        let has_losses = observation.loss.is_some_and(|loss| loss > 0.0);
        if (observation.falling_behind || has_losses) && !observation.limited_by_tester {
            self.0.push(Failure { rate, has_losses, away, transport });
        }
    }

    /// Returns the trials that decide why the switch sustains no more than the rate `sustained`:
    /// those that failed at the lowest rates above it.
    ///
    /// Trials at much higher rates do not count, because the search offers up to eight times as
    /// much as the switch takes, where another side may be the bottleneck. Trials at lower rates
    /// failed by chance.
    fn decisive(&self, sustained: f64) -> Vec<Failure> {
        let above = || self.0.iter().filter(move |one| one.rate > sustained);
        let lowest = above().map(|one| one.rate).fold(f64::INFINITY, f64::min);
        above().filter(|one| one.rate <= CLOSE * lowest).copied().collect()
    }

    /// Decides which side limited the sustained rate. `limit` is the result of the search, which
    /// tells this program from all other sides.
    fn verdict(&self, limit: Option<Limit>, sustained: Option<f64>) -> Verdict {
        let decisive = self.decisive(sustained.unwrap_or(0.0));
        let losses = decisive.iter().filter(|one| one.has_losses).count();
        if limit != Some(Limit::Switch) || decisive.is_empty() || 2 * losses > decisive.len() {
            return Verdict { limit, transport: None };
        }
        // Requests piled up in all trials without losses.
        let waited = || decisive.iter().filter(|one| !one.has_losses);
        let transport = waited().map(|one| one.transport).fold(None, Evidence::sum);
        let away: Vec<f64> = waited().filter_map(|one| one.away).collect();
        let answer = statistics::mean(&away).map(Duration::from_secs_f64);
        let limit = Some(Limit::of(transport.as_ref(), answer, Bulk::Requests));
        Verdict { limit, transport }
    }
}

/// A search, in progress, for the highest rate of updates that the switch sustains.
#[derive(Clone, Debug)]
struct Search {
    search: LossFreeSearch,
    points: Vec<Point>,
}

impl Search {
    /// Creates a search around `estimate`, the rate at which updates were answered when requests
    /// always waited at the switch.
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

/// Returns the schedule of a trial at the rate `rate`.
fn schedule(settings: &Settings, batch: usize, rate: f64, estimate: f64) -> Schedule {
    let enough = Duration::from_secs_f64(LEAST_REQUESTS * batch as f64 / rate.max(1e-3));
    let window = settings.time.max(enough.min(settings.time * LONGEST));
    let [least, most] = WAITING;
    let waiting = estimate * window.as_secs_f64() / batch as f64;
    let most = (waiting as usize).clamp(least, most);
    Schedule { rate, batch, warm_up: window.mul_f64(WARM_UP), window, most }
}

/// The entries of the search's trials.
struct Entries {
    /// The number of updates in a request.
    batch: usize,
    /// The entries that are in the table at the start of a trial.
    present: Vec<EntryNumber>,
    free: Vec<EntryNumber>,
}

impl Entries {
    /// Divides the entries that are available at the given occupancy into those in the table and
    /// those outside it. Both parts suffice for several requests.
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

    /// Deletes all entries of the test, and inserts those with which a trial starts.
    async fn refill(&self, session: &mut Session) -> Result<Pool, DutError> {
        let (never, shape) = (AtomicBool::new(false), Shape { window: 4, time: None });
        session.empty().await?;
        let numbers = self.present.as_slice();
        let fill = Work { operation: Operation::Insert, numbers, batch: FILLED };
        let filled = session.write(fill, shape, &never).await?;
        Ok(Pool::new(&filled.accepted, &self.free))
    }
}

/// Searches for the highest rate that the switch sustains. If `stop` is set, returns the result of
/// the trials so far.
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
    let (mut refusal, mut all_wrong, mut failures) = (None, 0, Failures::default());
    while let Some(rate) = search.search.next_rate() {
        let trial = Trial::new(schedule(settings, entries.batch, rate, estimate), pool);
        let Tried { trial, busy, transport } = session.run(trial, stop).await?;
        let wrong = session.wrong(trial.pool().present()).await?;
        let Ended { observation, pool: after, refusal: first, away } = trial.conclude(busy, wrong);
        if stop.load(Ordering::Relaxed) {
            break;
        }
        search.observe(rate, observation);
        failures.note(rate, &observation, away, transport);
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
    let Verdict { limit, transport } = failures.verdict(limit, found.loss_free_rate);
    let (batch, entries, wrong) = (entries.batch, present, all_wrong);
    let Search { points, .. } = search;
    Ok(Measured { batch, entries, found, limit, points, refusal, wrong, transport })
}

/// Returns the number of updates per second that the switch accepts when requests always wait at
/// it.
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
