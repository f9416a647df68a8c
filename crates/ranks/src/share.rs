//! Distributes work among ranks, the processes of one run. The work consists of items that are
//! independent of each other, such as the points of a sweep.
//!
//! Every rank knows all items. It works on the items that are assigned to it in a thread, while the
//! calling thread communicates. The first rank assigns the items and collects the results. Each
//! other rank sends a message at least once per interval while it works. A rank that has ended or
//! is silent for too long counts as lost, and its unfinished items remain without a result. Every
//! wait therefore ends, even if an item takes very long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Group, Rank, Received};

/// The work to distribute among the ranks.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// A description of each item of the work. The lists of all ranks must be equal. If they are
    /// not, the first rank refuses the work.
    pub items: Vec<String>,
    /// Other data on which the work depends and that must be equal at every rank, such as the
    /// digest of an input file.
    pub basis: String,
    /// The cores on which this rank works and that no other rank may use, or `None` if ranks may
    /// share cores.
    pub cores: Option<Vec<usize>>,
    /// A description of this rank, which the first rank collects.
    pub about: String,
}

/// The results of distributed work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared<T> {
    /// The result of each item, in the order of the items. An item has no result if its rank was
    /// lost or interrupted before it finished the item. On ranks other than the first, only the
    /// rank's own items have results.
    pub results: Vec<Option<T>>,
    /// The rank to which each item was assigned, in the order of the items.
    pub owners: Vec<Rank>,
    /// The description of each rank. The first rank has all of them, and other ranks have none.
    pub about: BTreeMap<Rank, String>,
    /// The ranks to which no item was assigned, each with the reason (empty on ranks other than the
    /// first).
    pub idle: BTreeMap<Rank, String>,
    /// The ranks that were lost, each with the cause (empty on ranks other than the first).
    pub lost: BTreeMap<Rank, String>,
}

/// The reason why work cannot be distributed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// Two ranks were started with different work.
    #[error(
        "{rank} would do other work than rank 0 ({what}): give all ranks the same command line and the same files, \
         and name what is otherwise taken from each machine, such as its cores"
    )]
    Differs {
        /// The rank whose work differs from that of rank 0.
        rank: Rank,
        /// The difference, in words.
        what: String,
    },
    /// The first rank refused the work for the given reason.
    #[error("rank 0 refused the work: {0}")]
    Refused(String),
    /// The first rank has ended or does not respond, so no rank collects the results.
    #[error("rank 0 no longer leads the work: {0}")]
    Alone(String),
}

/// A message between ranks.
#[derive(Serialize, Deserialize)]
enum ShareMessage<T> {
    /// A description of the work that the sender has, for the first rank, which compares it with
    /// its own.
    Here { items: Vec<String>, basis: String, place: Option<CoreSet>, about: String },
    /// The rank to which each item of work is assigned, in the order of the items. The first rank
    /// sends this.
    Owners(Vec<Rank>),
    /// The reason why the first rank refuses the work. The first rank sends this.
    Refused(String),
    /// The index of a finished item of work and its result, sent to the first rank.
    Done(usize, T),
    /// Sent to the first rank at intervals, to show that the sender has not ended.
    Working,
    /// Sent to the first rank when the sender will return no further results.
    Ended,
    /// The order to start no further item of work, which the first rank sends after an interrupt.
    Stop,
}

/// The cores of one machine that a rank occupies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CoreSet {
    /// The kernel's boot ID, which identifies the machine: it is equal for all processes on one
    /// machine.
    kernel: String,
    cores: Vec<usize>,
}

impl CoreSet {
    fn of(cores: Vec<usize>) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { kernel: boot.trim().to_owned(), cores }
    }

    fn shared_with(&self, other: &Self) -> Option<usize> {
        let shared = self.cores.iter().find(|core| other.cores.contains(core));
        shared.copied().filter(|_| self.kernel == other.kernel)
    }
}

/// The time limits that ranks apply to each other.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// The time within which all ranks must have described their work to the first rank.
    begin: Duration,
    /// The longest time for which a working rank may send nothing.
    silence: Duration,
    /// The time after an interrupt within which a rank must finish the item on which it works.
    rest: Duration,
    /// The longest interval between two messages to the first rank from a rank that works.
    beat: Duration,
}

const TIMEOUT: Patience = Patience {
    begin: Duration::from_secs(60),
    silence: Duration::from_secs(30),
    rest: Duration::from_secs(10),
    beat: Duration::from_secs(2),
};
/// The value of [`Patience::rest`] for links that do not report lost ranks, which are those over
/// MPI. It is short, because mpirun interrupts all ranks when one has died, and kills them a second
/// later.
const SHORT_REST: Duration = Duration::from_millis(600);
/// The interval at which a rank checks for messages. It is long enough not to disturb a
/// measurement.
const POLL: Duration = Duration::from_millis(20);
/// The stack size of the thread that works on items, in bytes. It is twice the usual size for the
/// main thread of a process.
const STACK: usize = 16 << 20;

/// Works on all items, together with the other ranks of a group if there is one, and returns the
/// results. `each` computes the result of the item with a given index. Items are assigned to the
/// ranks in turn, because neighbouring items tend to cost the same. If `Work::cores` forbids
/// shared cores, a rank that has a core in common with a lower rank gets no items. No rank starts
/// an item after `interrupt` is set. An interrupt at the first rank is forwarded to all ranks.
///
/// # Errors
/// Returns a [`ShareError`] if ranks disagree about the work, or the first rank is gone.
pub fn share<T: Serialize + DeserializeOwned + Send>(
    group: Option<&mut Group>,
    work: Work,
    interrupt: &AtomicBool,
    each: impl FnMut(usize) -> T + Send,
) -> Result<Shared<T>, ShareError> {
    share_patiently(group, work, interrupt, each, TIMEOUT)
}

fn share_patiently<T: Serialize + DeserializeOwned + Send>(
    group: Option<&mut Group>,
    work: Work,
    interrupt: &AtomicBool,
    mut each: impl FnMut(usize) -> T + Send,
    patience: Patience,
) -> Result<Shared<T>, ShareError> {
    let Some(group) = group else {
        let results = (0..work.items.len()).map(|item| {
            let goes_on = !interrupt.load(Ordering::Relaxed);
            goes_on.then(|| each(item))
        });
        return Ok(Shared {
            results: results.collect(),
            owners: vec![Rank::FIRST; work.items.len()],
            about: BTreeMap::from([(Rank::FIRST, work.about)]),
            idle: BTreeMap::new(),
            lost: BTreeMap::new(),
        });
    };
    let mut shared = match group.is_first() {
        true => assign_items(group, work, patience)?,
        false => await_assignment(group, work, patience)?,
    };
    let own: Vec<usize> = (0..)
        .zip(&shared.owners)
        .filter(|(_, owner)| **owner == group.rank())
        .map(|(item, _)| item)
        .collect();
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("shared-work".into()).stack_size(STACK);
        // If the thread cannot be started, its items have no results, as after an interrupt.
        let _ = builder.spawn_scoped(scope, move || run_items(own, interrupt, each, &sender));
        match group.is_first() {
            true => collect(group, &results, &mut shared, interrupt, patience),
            false => report_results(group, &results, &mut shared, interrupt, patience)?,
        }
        Ok(())
    })?;
    Ok(shared)
}

fn run_items<T>(
    own: Vec<usize>,
    interrupt: &AtomicBool,
    mut each: impl FnMut(usize) -> T,
    results: &Sender<(usize, T)>,
) {
    for item in own {
        if interrupt.load(Ordering::Relaxed) || results.send((item, each(item))).is_err() {
            return;
        }
    }
}

/// Waits until all ranks have described their work, and assigns the items to them. Only the first
/// rank calls this.
fn assign_items<T: Serialize + DeserializeOwned>(
    group: &mut Group,
    work: Work,
    patience: Patience,
) -> Result<Shared<T>, ShareError> {
    let mut places = BTreeMap::from([(Rank::FIRST, work.cores.map(CoreSet::of))]);
    let mut about = BTreeMap::from([(Rank::FIRST, work.about)]);
    group.hear_all(
        patience.begin,
        || false,
        |group, rank, word| {
            let ShareMessage::<T>::Here { items, basis, place, about: own } = word else {
                return Ok(false);
            };
            let other_basis =
                (basis != work.basis).then(|| "another file or other settings".to_owned());
            if let Some(what) = difference(&work.items, &items).or(other_basis) {
                let error = ShareError::Differs { rank, what };
                group.send_all(&ShareMessage::<T>::Refused(error.to_string()));
                return Err(error);
            }
            places.insert(rank, place);
            about.insert(rank, own);
            Ok(true)
        },
    )?;
    let (workers, idle) = workers(&places);
    let owner =
        |item: usize| workers.get(item % workers.len().max(1)).copied().unwrap_or(Rank::FIRST);
    let owners: Vec<Rank> = (0..work.items.len()).map(owner).collect();
    group.send_all(&ShareMessage::<T>::Owners(owners.clone()));
    let results = owners.iter().map(|_| None).collect();
    Ok(Shared { results, owners, about, idle, lost: BTreeMap::new() })
}

/// Describes the first difference between two lists of items. Returns `None` if they are equal.
fn difference(first: &[String], other: &[String]) -> Option<String> {
    if first.len() != other.len() {
        return Some(format!("{} items instead of {}", other.len(), first.len()));
    }
    let pairs = first.iter().zip(other);
    pairs
        .into_iter()
        .find(|(own, theirs)| own != theirs)
        .map(|(own, theirs)| format!("{theirs} instead of {own}"))
}

/// Returns the ranks that share no core with a lower rank and can therefore work, and the other
/// ranks with the reason why they cannot.
fn workers(places: &BTreeMap<Rank, Option<CoreSet>>) -> (Vec<Rank>, BTreeMap<Rank, String>) {
    let (mut workers, mut idle) = (Vec::new(), BTreeMap::new());
    for (rank, place) in places {
        let clash = workers.iter().find_map(|before: &Rank| {
            let theirs = places.get(before)?.as_ref()?;
            Some((*before, place.as_ref()?.shared_with(theirs)?))
        });
        match clash {
            None => workers.push(*rank),
            Some((before, core)) => {
                idle.insert(
                    *rank,
                    format!("core {core} is used by {before}, and two ranks on one core would disturb each other"),
                );
            }
        }
    }
    (workers, idle)
}

/// Sends a description of this rank's work to the first rank, and waits for the assignment of
/// items.
fn await_assignment<T: Serialize + DeserializeOwned>(
    group: &mut Group,
    work: Work,
    patience: Patience,
) -> Result<Shared<T>, ShareError> {
    let items = work.items.len();
    let place = work.cores.map(CoreSet::of);
    let Work { items: names, basis, about, .. } = work;
    group.send(Rank::FIRST, &ShareMessage::<T>::Here { items: names, basis, place, about });
    // The first rank may have to wait for other ranks first.
    let deadline = Instant::now() + 2 * patience.begin;
    loop {
        match group.receive::<ShareMessage<T>>(POLL) {
            Received::Message(_, ShareMessage::Owners(owners)) => {
                let results = (0..items).map(|_| None).collect();
                let (about, idle, lost) = Default::default();
                return Ok(Shared { results, owners, about, idle, lost });
            }
            Received::Message(_, ShareMessage::Refused(reason)) => {
                return Err(ShareError::Refused(reason));
            }
            _ => {}
        }
        if let Some(cause) = group.lost().get(&Rank::FIRST) {
            return Err(ShareError::Alone(cause.clone()));
        }
        if Instant::now() >= deadline {
            group.give_up(Rank::FIRST, "it did not report its work");
        }
    }
}

/// Returns the results that this rank's own thread has finished since the last call, and whether
/// the thread still works.
fn own_results<T>(results: &Receiver<(usize, T)>) -> (Vec<(usize, T)>, bool) {
    let mut found = Vec::new();
    let is_at_work = match results.recv_timeout(POLL) {
        Ok(first) => {
            found.push(first);
            true
        }
        Err(RecvTimeoutError::Timeout) => true,
        Err(RecvTimeoutError::Disconnected) => false,
    };
    found.extend(results.try_iter());
    (found, is_at_work)
}

/// Collects results until every rank has sent all of its results, has ended, or is lost. Only the
/// first rank calls this.
fn collect<T: Serialize + DeserializeOwned>(
    group: &mut Group,
    own: &Receiver<(usize, T)>,
    shared: &mut Shared<T>,
    interrupt: &AtomicBool,
    patience: Patience,
) {
    let mut heard: BTreeMap<Rank, Instant> =
        group.others().map(|rank| (rank, Instant::now())).collect();
    let mut ended = Vec::new();
    let mut interrupted: Option<Instant> = None;
    loop {
        let (found, is_at_work) = own_results(own);
        for (item, result) in found {
            store_result(shared, item, result);
        }
        loop {
            match group.receive::<ShareMessage<T>>(Duration::ZERO) {
                Received::Message(rank, word) => {
                    heard.insert(rank, Instant::now());
                    match word {
                        ShareMessage::Done(item, result) => store_result(shared, item, result),
                        ShareMessage::Ended => ended.push(rank),
                        _ => {}
                    }
                }
                Received::Lost(_) => {}
                Received::Nothing => break,
            }
        }
        if interrupt.load(Ordering::Relaxed) && interrupted.is_none() {
            interrupted = Some(Instant::now());
            group.send_all(&ShareMessage::<T>::Stop);
        }
        let missing =
            shared.owners.iter().zip(&shared.results).filter(|(_, result)| result.is_none());
        let is_gone = |rank: &Rank| ended.contains(rank) || group.lost().contains_key(rank);
        let awaited: std::collections::BTreeSet<Rank> = missing
            .map(|(owner, _)| *owner)
            .filter(|owner| *owner != Rank::FIRST && !is_gone(owner))
            .collect();
        if awaited.is_empty() && !is_at_work {
            break;
        }
        let rest = if group.notices_loss() { patience.rest } else { SHORT_REST.min(patience.rest) };
        for rank in awaited {
            let silence = heard.get(&rank).map_or(Duration::ZERO, Instant::elapsed);
            if silence >= patience.silence {
                let seconds = patience.silence.as_secs_f64();
                group.give_up(rank, format!("it sent nothing for {seconds} s"));
            } else if interrupted.is_some_and(|since| since.elapsed() >= rest) {
                group.give_up(rank, "it did not end when the run was interrupted");
            }
        }
    }
    // A rank that left after its last message has ended and is not lost.
    let lost = group.lost().iter().filter(|(rank, _)| !ended.contains(rank));
    shared.lost = lost.map(|(rank, cause)| (*rank, cause.clone())).collect();
}

fn store_result<T>(shared: &mut Shared<T>, item: usize, result: T) {
    if let Some(place) = shared.results.get_mut(item) {
        *place = Some(result);
    }
}

/// Returns whether all items of a rank have results.
fn has_all_results<T>(shared: &Shared<T>, rank: Rank) -> bool {
    let mut items = shared.owners.iter().zip(&shared.results);
    items.all(|(owner, result)| *owner != rank || result.is_some())
}

/// Sends each result of this rank to the first rank as soon as it is found.
fn report_results<T: Serialize + DeserializeOwned>(
    group: &mut Group,
    own: &Receiver<(usize, T)>,
    shared: &mut Shared<T>,
    interrupt: &AtomicBool,
    patience: Patience,
) -> Result<(), ShareError> {
    let mut last_report = Instant::now();
    loop {
        let (found, is_at_work) = own_results(own);
        for (item, result) in found {
            let word = ShareMessage::Done(item, result);
            group.send(Rank::FIRST, &word);
            if let ShareMessage::Done(item, result) = word {
                store_result(shared, item, result);
            }
        }
        while let Received::Message(_, word) = group.receive::<ShareMessage<T>>(Duration::ZERO) {
            if let ShareMessage::Stop = word {
                interrupt.store(true, Ordering::Relaxed);
            }
        }
        if !is_at_work {
            group.send(Rank::FIRST, &ShareMessage::<T>::Ended);
            return Ok(());
        }
        if let Some(cause) = group.lost().get(&Rank::FIRST) {
            interrupt.store(true, Ordering::Relaxed);
            // The first rank leaves after the last result that it waits for, which may be one of
            // this rank's. If this rank has delivered all results, the loss of the first rank is
            // therefore no error.
            return match has_all_results(shared, group.rank()) {
                true => Ok(()),
                false => Err(ShareError::Alone(cause.clone())),
            };
        }
        if last_report.elapsed() >= patience.beat {
            last_report = Instant::now();
            group.send(Rank::FIRST, &ShareMessage::<T>::Working);
        }
    }
}

#[cfg(test)]
mod tests;
