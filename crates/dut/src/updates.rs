//! The rate and the latency of updates: how many entries a switch inserts, modifies and deletes per
//! second, and how long it takes to answer.
//!
//! A round measures each load once, in a random order. For each load, entries are inserted until a
//! time is over or the table is nearly full; then all of them are modified, and then deleted. This
//! is repeated until the insertions have taken the given time, so the table has the same number of
//! entries at the beginning of every load. Requests always wait at the switch: the next one is sent
//! as soon as an answer arrives. The rates of the rounds are independent samples.
//!
//! Each load differs from a base load in one property: the number of updates in a request, the
//! number of entries in the table beforehand, the atomicity of requests, the number of controllers
//! that send them, or whether packets pass through the switch meanwhile. Other tables are measured
//! with the base load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use statistics::Ordered;

use crate::background::{Background, Cost, Forwarded, beside};
use crate::entries::{EntryMaker, MakerError};
use crate::error::DutError;
use crate::session::{Channel, Session};
use crate::transport::{Bulk, Evidence, Side};
use crate::window::{BUSY, BatchAtomicity, Operation, Phase, Refusal, Shape, Work};

pub use crate::loaded_table::LoadedTable;

/// The number of updates in a request that fills or empties the table for a load.
const FILLED: usize = 100;

/// The way in which updates are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The number of updates in a request.
    pub batch: usize,
    /// The number of requests that may be unanswered at the same time, for all controllers
    /// together.
    pub window: usize,
    /// The percentage of the table that is filled before the load begins, from 0 to 99.
    pub occupancy: u8,
    /// Whether the switch carries out the remaining updates of a request if it refuses one. Over
    /// OpenFlow, it always does.
    pub atomicity: BatchAtomicity,
    /// The number of controllers that send requests. Over P4Runtime they are primaries of different
    /// roles, over OpenFlow connections of the switch.
    pub controllers: usize,
    /// Whether packets pass through the switch during the updates.
    pub has_packets: bool,
}

impl Load {
    /// Returns a load of an initially empty table, with one controller, without packets, and with
    /// requests whose updates are refused independently of each other.
    #[must_use]
    pub fn new(batch: usize, window: usize) -> Self {
        Self {
            batch,
            window,
            occupancy: 0,
            atomicity: BatchAtomicity::ContinueOnError,
            controllers: 1,
            has_packets: false,
        }
    }
}

/// The tables that are measured in addition to the table of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OtherTables {
    /// No other table.
    #[default]
    None,
    /// The tables with these names or aliases.
    Named(Vec<String>),
    /// The largest table of each kind of key, except for the kind that the session's table has.
    OfEachKind,
}

/// The settings of the test of updates.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The loads that are measured on the table of the session.
    pub loads: Vec<Load>,
    /// The load with which the other tables are measured.
    pub base: Load,
    /// The other tables that are measured. They exist for P4Runtime switches only.
    pub tables: OtherTables,
    /// The number of rounds, each of which measures every load once.
    pub rounds: u32,
    /// The time that insertions take in each round of each load. Modifying and deleting the entries
    /// takes additional time.
    pub time: Duration,
    /// The seed of the random order of the loads.
    pub seed: u64,
}

/// The measurement of one operation under one load.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The table that was measured.
    pub table: LoadedTable,
    /// The load under which the updates were sent.
    pub load: Load,
    /// The operation of the updates.
    pub operation: Operation,
    /// The number of entries that the table had before the updates of the last round.
    pub before: usize,
    /// The answer by which the switch refused the load itself, because it does not implement the
    /// atomicity or does not accept another controller. There are no rounds then.
    pub unimplemented: Option<Refusal>,
    /// The packets that passed through the switch before each round, while its control channel was
    /// idle; `None` for a load without packets.
    pub idle: Option<Forwarded>,
    /// The rate of the packets, in packets per second; 0 without packets.
    pub packets_per_second: f64,
    /// The answered requests of each round.
    pub rounds: Vec<Phase>,
}

/// The side that limited a rate: this program, the switch, or the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// This program was the limit. Its thread ran nearly all the time, so the switch may be faster.
    Planimeter,
    /// The latency of the answers was the limit. Either only a single request could be unanswered
    /// at a time, or a series had on average fewer than twice as many requests as fit into the
    /// window.
    Latency,
    /// The switch was the limit. Requests always waited for an answer, and not for the network.
    Switch,
    /// The network to the switch was the limit. Requests waited to be sent, or were on their way.
    Network,
    /// The switch or the network was the limit. Requests always waited for an answer, and TCP does
    /// not show where.
    SwitchOrNetwork,
}

impl Limit {
    /// Returns the side that limited requests which always waited for answers. `answer` is the mean
    /// time from a request to its answer.
    pub(crate) fn of(evidence: Option<&Evidence>, answer: Option<Duration>, bulk: Bulk) -> Self {
        match evidence.map(|evidence| evidence.side(answer, bulk)) {
            Some(Side::Planimeter) => Self::Planimeter,
            Some(Side::Switch) => Self::Switch,
            Some(Side::Network) => Self::Network,
            Some(Side::Unknown) | None => Self::SwitchOrNetwork,
        }
    }
}

impl Measured {
    /// Returns the accepted updates per second of each round.
    #[must_use]
    pub fn rates(&self) -> Vec<f64> {
        self.rounds.iter().filter_map(Phase::rate).collect()
    }

    /// Returns the times from requests to their answers, of all rounds.
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

    /// Returns the number of entries that the switch accepted but did not list after the rounds;
    /// `None` if it was not asked for its entries.
    #[must_use]
    pub fn missing(&self) -> Option<u64> {
        self.rounds.iter().filter_map(|phase| phase.missing).reduce(|one, other| one + other)
    }

    /// Returns the packets that passed while the control channel was idle, together with those that
    /// passed during the updates; `None` for a load without packets.
    #[must_use]
    pub fn packets(&self) -> Option<Cost> {
        let idle = self.idle.clone()?;
        let mut busy = Forwarded::default();
        self.rounds.iter().for_each(|phase| busy.append(phase.packets.clone()));
        Some(Cost { rate: self.packets_per_second, idle, busy })
    }

    /// Returns how fairly the switch served several controllers: the smallest share that one of
    /// them had of the accepted updates, where 1 is an equal share. Returns `None` for a single
    /// controller, or if the series of requests are too short for all controllers to take part.
    #[must_use]
    pub fn least_share(&self) -> Option<f64> {
        if self.has_short_series() {
            return None;
        }
        let mut sums = vec![0; self.load.controllers];
        for phase in &self.rounds {
            sums.iter_mut().zip(&phase.by_controller).for_each(|(sum, more)| *sum += more);
        }
        let all: u64 = sums.iter().sum();
        let least = sums.iter().min().filter(|_| sums.len() > 1 && all > 0)?;
        Some(*least as f64 * sums.len() as f64 / all as f64)
    }

    /// Returns the side that limited the rate, as judged from all rounds.
    #[must_use]
    pub fn limit(&self) -> Limit {
        let busy = self.rounds.iter().filter(|phase| phase.busy() >= BUSY).count();
        if 2 * busy > self.rounds.len() {
            Limit::Planimeter
        } else if self.load.window == 1 || self.has_short_series() {
            Limit::Latency
        } else {
            Limit::of(self.transport().as_ref(), self.mean_answer(), Bulk::Requests)
        }
    }

    /// Returns what the TCP connections showed in all rounds about the limiting side; `None` if the
    /// kernel does not report it.
    #[must_use]
    pub fn transport(&self) -> Option<Evidence> {
        self.rounds.iter().map(|phase| phase.transport).fold(None, Evidence::sum)
    }

    /// Returns the mean time from a request to its answer; `None` without requests.
    #[must_use]
    pub fn mean_answer(&self) -> Option<Duration> {
        let calls = self.rounds.iter().flat_map(|phase| &phase.calls);
        let times = calls.map(|call| call.answered.saturating_sub(call.sent).as_secs_f64());
        statistics::mean(&times.collect::<Vec<f64>>()).map(Duration::from_secs_f64)
    }

    /// Returns whether a series had on average fewer than twice as many requests as fit into the
    /// window. While a series starts and ends, the window is not full; for such a series, that is
    /// more than half of the time.
    fn has_short_series(&self) -> bool {
        let calls: usize = self.rounds.iter().map(|phase| phase.calls.len()).sum();
        let series: usize = self.rounds.iter().map(|phase| phase.series).sum();
        calls < 2 * self.load.window * series
    }
}

/// Returns a maker of entries for each of the other tables of a P4Runtime switch.
///
/// # Errors
/// Returns an error if no entries can be made for a named table.
pub(crate) fn other_tables(
    session: &mut Session,
    tables: &OtherTables,
) -> Result<Vec<EntryMaker>, DutError> {
    let Channel::P4Runtime(channel) = session.channel() else { return Ok(Vec::new()) };
    let makers = channel.makers();
    match tables {
        OtherTables::None => Ok(Vec::new()),
        OtherTables::Named(names) => {
            let found = names.iter().map(|name| makers.choose(Some(name)));
            let found: Result<Vec<EntryMaker>, MakerError> = found.collect();
            Ok(found?)
        }
        OtherTables::OfEachKind => {
            let mut found = makers.of_each_kind();
            found.retain(|one| one.kind() != channel.maker().kind());
            Ok(found)
        }
    }
}

/// Measures all loads on the session's table, and then the base load on the other tables. Calls
/// `progress` with the number of loads that are complete, and with the number of loads in all
/// rounds together. If `stop` is set, returns the measurements so far.
///
/// # Errors
/// Returns an error if a request fails as a whole.
pub(crate) async fn measure(
    session: &mut Session,
    settings: &Settings,
    others: &[EntryMaker],
    background: Option<&mut Background>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Measured>, DutError> {
    let has_packets = background.is_some();
    let loads = settings.loads.iter().filter(|load| has_packets || !load.has_packets);
    let loads = fitting(session, &loads.copied().collect::<Vec<_>>());
    let all = (loads.len() + others.len()) as u64 * u64::from(settings.rounds);
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress(done, all);
    };
    let measured = on_table(session, settings, &loads, background, stop, &mut step).await;
    session.disconnect_others();
    let mut measured = measured?;
    let mut first = None;
    for maker in others {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let before = session.turn_to(maker.clone()).await?;
        first.get_or_insert(before);
        let loads = [settings.base];
        measured.extend(on_table(session, settings, &loads, None, stop, &mut step).await?);
    }
    if let Some(first) = first {
        session.turn_to(first).await?;
    }
    Ok(measured)
}

/// Reduces the number of updates per request of each load to what the table has room for, so that
/// requests really contain the reported number. Loads that become equal by that are taken once.
fn fitting(session: &Session, loads: &[Load]) -> Vec<Load> {
    let most = loads.iter().map(|load| session.room(load.occupancy).free.len()).min();
    let most = most.unwrap_or(0).max(1);
    let mut found: Vec<Load> = Vec::new();
    for load in loads {
        let load = Load { batch: load.batch.min(most), ..*load };
        if !found.contains(&load) {
            found.push(load);
        }
    }
    found
}

/// Measures loads on the table of the session. Calls `step` after each load of each round.
async fn on_table(
    session: &mut Session,
    settings: &Settings,
    loads: &[Load],
    mut background: Option<&mut Background>,
    stop: &AtomicBool,
    step: &mut dyn FnMut(),
) -> Result<Vec<Measured>, DutError> {
    let table = session.loaded_table();
    let rate = background.as_ref().map_or(0.0, |packets| packets.rate());
    let mut measured = Vec::new();
    for load in loads {
        let unimplemented = match load.atomicity {
            BatchAtomicity::ContinueOnError => None,
            BatchAtomicity::RollbackOnError | BatchAtomicity::DataplaneAtomic => {
                session.refusal_of(load.atomicity).await?
            }
        };
        let unimplemented = match unimplemented {
            None => session.connect(load.controllers, stop).await?,
            Some(refusal) => Some(refusal),
        };
        measured.extend(Operation::ALL.map(|operation| Measured {
            table: table.clone(),
            load: *load,
            operation,
            before: session.present(),
            unimplemented: unimplemented.clone(),
            idle: load.has_packets.then(Forwarded::default),
            packets_per_second: if load.has_packets { rate } else { 0.0 },
            rounds: Vec::new(),
        }));
    }
    let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
    for _ in 0..settings.rounds {
        let mut order: Vec<usize> = (0..loads.len()).collect();
        order.shuffle(&mut random);
        for chosen in order {
            let own = measured.chunks_exact_mut(Operation::ALL.len()).nth(chosen);
            let (Some(load), Some(own)) = (loads.get(chosen), own) else { continue };
            if own.iter().all(|one| one.unimplemented.is_none()) {
                let packets = background.as_deref_mut().filter(|_| load.has_packets);
                let found = round(session, *load, settings.time, packets, stop).await?;
                let Round { phases, before, idle } = found;
                if stop.load(Ordering::Relaxed) {
                    measured.retain(|one| !one.rounds.is_empty());
                    return Ok(measured);
                }
                for (one, phase) in own.iter_mut().zip(phases) {
                    one.before = before;
                    one.rounds.push(phase);
                    if let Some(all) = &mut one.idle {
                        all.append(idle.clone());
                    }
                }
            }
            step();
        }
    }
    Ok(measured)
}

/// The result of one load in one round.
struct Round {
    /// The answered requests for each operation, in the order of [`Operation::ALL`].
    phases: [Phase; 3],
    /// The number of entries in the table before the updates.
    before: usize,
    /// The packets that passed before the updates, while the control channel was idle.
    idle: Forwarded,
}

/// Measures one load once. First fills the table as far as the load demands. Then inserts, modifies
/// and deletes entries, and repeats this until insertions have taken `time`, no entry was accepted,
/// or `stop` is set. At the end, deletes the entries with which the table was filled. With
/// `background`, packets pass during the updates, and for `time` before them.
async fn round(
    session: &mut Session,
    load: Load,
    time: Duration,
    mut background: Option<&mut Background>,
    stop: &AtomicBool,
) -> Result<Round, DutError> {
    let room = session.room(load.occupancy);
    let whole = Shape { window: 4, time: None };
    let fill = Work { operation: Operation::Insert, numbers: &room.filled, batch: FILLED };
    let filled = session.write(fill, whole, stop).await?.accepted;
    let before = session.present() + filled.len();
    let idle = match &mut background {
        Some(packets) => packets.pause(time).await?,
        None => Forwarded::default(),
    };
    let mut phases = Operation::ALL.map(|_| Phase::default());
    loop {
        let [insert, ..] = &phases;
        let left = time.saturating_sub(insert.duration);
        let mut numbers = room.free.clone();
        for (operation, phase) in Operation::ALL.into_iter().zip(&mut phases) {
            let time = (operation == Operation::Insert).then_some(left);
            let shape = Shape { window: load.window, time };
            let work = Work { operation, numbers: &numbers, batch: load.batch };
            session.activate(load.controllers);
            let writing = session.write_with(load.atomicity, work, shape, stop);
            let written = beside(background.as_deref_mut(), writing).await;
            session.activate(1);
            let mut series = written?;
            if operation == Operation::Insert {
                series.missing = session.missing()?;
                numbers.clone_from(&series.accepted);
            }
            phase.append(series);
        }
        let [insert, ..] = &phases;
        if insert.duration >= time || numbers.is_empty() || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let empty = Work { operation: Operation::Delete, numbers: &filled, batch: FILLED };
    session.write(empty, whole, &AtomicBool::new(false)).await?;
    Ok(Round { phases, before, idle })
}
