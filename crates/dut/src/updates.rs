//! The rate and the latency of updates: how many entries a switch inserts, modifies and deletes in
//! a second, and after which time it answers.
//!
//! A round takes each load once, in a random order. For each load, entries are inserted for a time
//! or until the table is nearly full, then all of them are modified, and then deleted; this is
//! repeated until inserts have taken the time. So every load begins with the same number of entries
//! in the table. Requests always wait at the switch: a further one is sent as soon as an answer
//! arrives. The rates of the rounds are independent samples.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use statistics::Ordered;

use crate::error::DutError;
use crate::session::Session;
use crate::window::{BUSY, Operation, Phase, Shape, Work};

/// The way in which updates are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The number of updates in a request.
    pub batch: usize,
    /// The number of requests that wait for their answers at the same time.
    pub window: usize,
}

/// The settings of the test.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The loads that are measured.
    pub loads: Vec<Load>,
    /// The number of rounds.
    pub rounds: u32,
    /// The time for which entries are inserted in each round of each load. Modifying and deleting
    /// them takes further time.
    pub time: Duration,
    /// The seed of the order of the loads.
    pub seed: u64,
}

/// The measured operation of one load.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The way in which updates were sent.
    pub load: Load,
    /// The operation of the updates.
    pub operation: Operation,
    /// The phase of each round.
    pub rounds: Vec<Phase>,
}

/// The part that limited a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The limit was this program: its thread ran nearly all the time, so the switch may be faster.
    Planimeter,
    /// The limit was the latency of the answers: the window was a single request, or a series had
    /// on average fewer than twice as many requests as fit into the window.
    Latency,
    /// The limit was the switch, or the network to it: requests always waited for an answer.
    Switch,
}

impl Measured {
    /// Returns the accepted updates per second of each round.
    #[must_use]
    pub fn rates(&self) -> Vec<f64> {
        self.rounds.iter().filter_map(Phase::rate).collect()
    }

    /// Returns the times from the requests of all rounds to their answers.
    #[must_use]
    pub fn latencies(&self) -> Ordered<Duration> {
        let calls = self.rounds.iter().flat_map(|phase| &phase.calls);
        Ordered::of(calls.map(|call| call.answered - call.sent).collect())
    }

    /// Returns the number of updates that the switch refused in all rounds.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.rounds.iter().map(Phase::refused).sum()
    }

    /// Returns the number of accepted entries that the switch did not have after the rounds; `None`
    /// if it was not asked.
    #[must_use]
    pub fn missing(&self) -> Option<u64> {
        self.rounds.iter().filter_map(|phase| phase.missing).reduce(|one, other| one + other)
    }

    /// Returns the part that limited the rate, as most rounds tell.
    #[must_use]
    pub fn limit(&self) -> Limit {
        let busy = self.rounds.iter().filter(|phase| phase.busy() >= BUSY).count();
        if 2 * busy > self.rounds.len() {
            Limit::Planimeter
        } else if self.load.window == 1 || self.has_short_series() {
            Limit::Latency
        } else {
            Limit::Switch
        }
    }

    /// Returns whether a series had on average fewer than twice as many requests as the window. The
    /// window is not full while a series starts and ends, which is then more than half of the
    /// series.
    fn has_short_series(&self) -> bool {
        let calls: usize = self.rounds.iter().map(|phase| phase.calls.len()).sum();
        let series: usize = self.rounds.iter().map(|phase| phase.series).sum();
        calls < 2 * self.load.window * series
    }
}

/// Measures all loads. `progress` is called with the number of loads that are complete and with
/// the number of all loads in all rounds. If `stop` is set, returns what was measured until then.
///
/// # Errors
/// Returns an error if a request fails as a whole.
pub(crate) async fn measure(
    session: &mut Session,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Measured>, DutError> {
    let each = settings.loads.iter();
    let each = each.flat_map(|load| Operation::ALL.map(|operation| (*load, operation)));
    let mut measured: Vec<Measured> =
        each.map(|(load, operation)| Measured { load, operation, rounds: Vec::new() }).collect();
    let all = settings.loads.len() as u64 * u64::from(settings.rounds);
    let mut done = 0;
    let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
    for _ in 0..settings.rounds {
        let mut order: Vec<usize> = (0..settings.loads.len()).collect();
        order.shuffle(&mut random);
        for chosen in order {
            let Some(load) = settings.loads.get(chosen) else { continue };
            let phases = round(session, *load, settings.time, stop).await?;
            if stop.load(Ordering::Relaxed) {
                measured.retain(|one| !one.rounds.is_empty());
                return Ok(measured);
            }
            let own = measured.iter_mut().skip(chosen * Operation::ALL.len());
            own.zip(phases).for_each(|(one, phase)| one.rounds.push(phase));
            done += 1;
            progress(done, all);
        }
    }
    Ok(measured)
}

/// Inserts, modifies and deletes entries, and repeats this until inserts have taken `time`, no
/// entry was accepted or `stop` is set. Returns the phase of each operation, in the order of
/// [`Operation::ALL`].
async fn round(
    session: &mut Session,
    load: Load,
    time: Duration,
    stop: &AtomicBool,
) -> Result<[Phase; 3], DutError> {
    let mut phases = Operation::ALL.map(|_| Phase::default());
    loop {
        let [insert, ..] = &phases;
        let left = time.saturating_sub(insert.duration);
        let mut numbers = session.within_size().to_vec();
        for (operation, phase) in Operation::ALL.into_iter().zip(&mut phases) {
            let time = (operation == Operation::Insert).then_some(left);
            let shape = Shape { window: load.window, time };
            let work = Work { operation, numbers: &numbers, batch: load.batch };
            let mut series = session.write(work, shape, stop).await?;
            if operation == Operation::Insert {
                series.missing = session.missing()?;
                numbers.clone_from(&series.accepted);
            }
            phase.append(series);
        }
        let [insert, ..] = &phases;
        if insert.duration >= time || numbers.is_empty() || stop.load(Ordering::Relaxed) {
            return Ok(phases);
        }
    }
}
