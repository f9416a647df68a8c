//! Work shared out among ranks: items that do not depend on each other, such as the points of a sweep.
//!
//! Every rank knows all items and works on its own in a thread, while the thread that called speaks with the others: the first
//! rank says whose each item is, takes results as they come, and hears from each of the others every now and then while it works.
//! One that is silent for longer, or gone, is lost, and with it the items that it has not told of. So every wait ends, however
//! long an item takes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Group, Rank, Received};

/// What is to be done.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// What each item is, in words: the same at every rank.
    pub items: Vec<String>,
    /// What else must be the same at every rank, such as a digest of a file.
    pub basis: String,
    /// The cores that items keep busy, where they must have them for themselves.
    pub cores: Option<Vec<usize>>,
    /// What the first rank is to know of this one.
    pub about: String,
}

/// What became of the items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared<T> {
    /// By item; nothing for an item whose rank was lost or interrupted, and, at all ranks but the first, for those of others.
    pub results: Vec<Option<T>>,
    /// Whose each item was.
    pub owners: Vec<Rank>,
    /// What ranks told of themselves; of all at the first rank, of none at others.
    pub about: BTreeMap<Rank, String>,
    /// Ranks that had no items, and why.
    pub idle: BTreeMap<Rank, String>,
    /// Ranks that were lost, and why.
    pub lost: BTreeMap<Rank, String>,
}

/// Why work cannot be shared out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// Two ranks mean different things.
    #[error(
        "{rank} would do other work than rank 0 ({what}): all ranks have to be given the same command line and the same files, \
         and what is left to each machine, such as its cores, has to be named"
    )]
    Differs {
        /// Who.
        rank: Rank,
        /// In what, in words.
        what: String,
    },
    /// The rank that leads the work is gone, or wants something else.
    #[error("rank 0 does not lead the work any more: {0}")]
    Alone(String),
}

/// What ranks tell each other.
#[derive(Serialize, Deserialize)]
enum Word<T> {
    /// To the first: who is here.
    Here { items: Vec<String>, basis: String, place: Option<Place>, about: String },
    /// Of the first: whose each item is.
    Owners(Vec<Rank>),
    /// Of the first: there will be no work.
    Refused(String),
    /// A result.
    Done(usize, T),
    /// Still at work.
    Working,
    /// No further result will come.
    Ended,
    /// Of the first: begin no further item.
    Stop,
}

/// Cores of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// The same for all processes that one kernel runs.
    kernel: String,
    cores: Vec<usize>,
}

impl Place {
    fn of(cores: Vec<usize>) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { kernel: boot.trim().to_owned(), cores }
    }

    fn shared_with(&self, other: &Self) -> Option<usize> {
        let shared = self.cores.iter().find(|core| other.cores.contains(core));
        shared.copied().filter(|_| self.kernel == other.kernel)
    }
}

/// How long waits last.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// Until all ranks have come to the work.
    begin: Duration,
    /// For a rank that says nothing.
    silence: Duration,
    /// For the rest of interrupted work.
    rest: Duration,
    /// Between two words of a rank that works.
    beat: Duration,
}

const PATIENCE: Patience = Patience {
    begin: Duration::from_secs(60),
    silence: Duration::from_secs(30),
    rest: Duration::from_secs(10),
    beat: Duration::from_secs(2),
};
/// Where the loss of a rank is not noticed: mpirun interrupts all when one has died, and kills them a second later.
const IN_HASTE: Duration = Duration::from_millis(600);
/// Time between two looks at what others say, so that who measures is not disturbed by looking.
const LOOK: Duration = Duration::from_millis(20);
/// As for the main thread of a program.
const STACK: usize = 16 << 20;

/// Works on all items, with the other ranks of a group if there is one: item `i` is that of the `i`-th of those at work, counted
/// around, so that neighbours, which tend to cost the same, are spread. Where items need cores for themselves, a rank that shares
/// one with a rank before it has no items. No item is begun once `interrupt` is set, which an interrupt of the first rank does at
/// all.
///
/// # Errors
///
/// When ranks disagree about the work, or the first is gone.
pub fn share<T: Serialize + DeserializeOwned + Send>(
    group: Option<&mut Group>,
    work: Work,
    interrupt: &AtomicBool,
    each: impl FnMut(usize) -> T + Send,
) -> Result<Shared<T>, ShareError> {
    share_patiently(group, work, interrupt, each, PATIENCE)
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
        true => begin(group, work, patience)?,
        false => report(group, work, patience)?,
    };
    let own: Vec<usize> = (0..)
        .zip(&shared.owners)
        .filter(|(_, owner)| **owner == group.rank())
        .map(|(item, _)| item)
        .collect();
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("shared-work".into()).stack_size(STACK);
        // Without a thread there is no result of this rank, as if it had been interrupted.
        let _ = builder.spawn_scoped(scope, move || at_work(own, interrupt, each, &sender));
        match group.is_first() {
            true => collect(group, &results, &mut shared, interrupt, patience),
            false => hand_over(group, &results, &mut shared, interrupt, patience)?,
        }
        Ok(())
    })?;
    Ok(shared)
}

fn at_work<T>(
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

/// The first rank hears who is there, and says whose each item is.
fn begin<T: Serialize + DeserializeOwned>(
    group: &mut Group,
    work: Work,
    patience: Patience,
) -> Result<Shared<T>, ShareError> {
    let mut places = BTreeMap::from([(Rank::FIRST, work.cores.map(Place::of))]);
    let mut about = BTreeMap::from([(Rank::FIRST, work.about)]);
    group.hear_all(
        patience.begin,
        || false,
        |group, rank, word| {
            let Word::<T>::Here { items, basis, place, about: own } = word else {
                return Ok(false);
            };
            let other_basis =
                (basis != work.basis).then(|| "another file or other settings".to_owned());
            if let Some(what) = difference(&work.items, &items).or(other_basis) {
                let error = ShareError::Differs { rank, what };
                group.send_all(&Word::<T>::Refused(error.to_string()));
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
    group.send_all(&Word::<T>::Owners(owners.clone()));
    let results = owners.iter().map(|_| None).collect();
    Ok(Shared { results, owners, about, idle, lost: BTreeMap::new() })
}

/// Where two ranks mean different work, if they do.
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

/// Ranks that have all their cores for themselves, and those that do not, with the reason.
fn workers(places: &BTreeMap<Rank, Option<Place>>) -> (Vec<Rank>, BTreeMap<Rank, String>) {
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
                    format!("core {core} is {before}'s, and two would disturb each other there"),
                );
            }
        }
    }
    (workers, idle)
}

/// Another rank says that it is there, and is told whose each item is.
fn report<T: Serialize + DeserializeOwned>(
    group: &mut Group,
    work: Work,
    patience: Patience,
) -> Result<Shared<T>, ShareError> {
    let items = work.items.len();
    let place = work.cores.map(Place::of);
    let Work { items: names, basis, about, .. } = work;
    group.send(Rank::FIRST, &Word::<T>::Here { items: names, basis, place, about });
    // It waits for others in turn.
    let deadline = Instant::now() + 2 * patience.begin;
    loop {
        match group.receive::<Word<T>>(LOOK) {
            Received::Message(_, Word::Owners(owners)) => {
                let results = (0..items).map(|_| None).collect();
                let (about, idle, lost) = Default::default();
                return Ok(Shared { results, owners, about, idle, lost });
            }
            Received::Message(_, Word::Refused(reason)) => return Err(ShareError::Alone(reason)),
            _ => {}
        }
        if let Some(cause) = group.lost().get(&Rank::FIRST) {
            return Err(ShareError::Alone(cause.clone()));
        }
        if Instant::now() >= deadline {
            group.give_up(Rank::FIRST, "it did not say what there is to do");
        }
    }
}

/// What this rank's own thread has found since the last look, and whether it is still at work.
fn own_results<T>(results: &Receiver<(usize, T)>) -> (Vec<(usize, T)>, bool) {
    let mut found = Vec::new();
    let is_at_work = match results.recv_timeout(LOOK) {
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

/// The first rank takes all results until they are there, or their ranks are lost or have ended.
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
            keep(shared, item, result);
        }
        loop {
            match group.receive::<Word<T>>(Duration::ZERO) {
                Received::Message(rank, word) => {
                    heard.insert(rank, Instant::now());
                    match word {
                        Word::Done(item, result) => keep(shared, item, result),
                        Word::Ended => ended.push(rank),
                        _ => {}
                    }
                }
                Received::Lost(_) => {}
                Received::Nothing => break,
            }
        }
        if interrupt.load(Ordering::Relaxed) && interrupted.is_none() {
            interrupted = Some(Instant::now());
            group.send_all(&Word::<T>::Stop);
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
        let rest = if group.notices_loss() { patience.rest } else { IN_HASTE.min(patience.rest) };
        for rank in awaited {
            let silence = heard.get(&rank).map_or(Duration::ZERO, Instant::elapsed);
            if silence >= patience.silence {
                let seconds = patience.silence.as_secs_f64();
                group.give_up(rank, format!("it said nothing for {seconds} s"));
            } else if interrupted.is_some_and(|since| since.elapsed() >= rest) {
                group.give_up(rank, "it did not end when the run was interrupted");
            }
        }
    }
    // Who ended after its last word is gone as well, and not lost.
    let lost = group.lost().iter().filter(|(rank, _)| !ended.contains(rank));
    shared.lost = lost.map(|(rank, cause)| (*rank, cause.clone())).collect();
}

fn keep<T>(shared: &mut Shared<T>, item: usize, result: T) {
    if let Some(place) = shared.results.get_mut(item) {
        *place = Some(result);
    }
}

/// Whether no result of a rank is missing.
fn has_told_all<T>(shared: &Shared<T>, rank: Rank) -> bool {
    let mut items = shared.owners.iter().zip(&shared.results);
    items.all(|(owner, result)| *owner != rank || result.is_some())
}

/// Another rank tells of its results as they come.
fn hand_over<T: Serialize + DeserializeOwned>(
    group: &mut Group,
    own: &Receiver<(usize, T)>,
    shared: &mut Shared<T>,
    interrupt: &AtomicBool,
    patience: Patience,
) -> Result<(), ShareError> {
    let mut told = Instant::now();
    loop {
        let (found, is_at_work) = own_results(own);
        for (item, result) in found {
            let word = Word::Done(item, result);
            group.send(Rank::FIRST, &word);
            if let Word::Done(item, result) = word {
                keep(shared, item, result);
            }
        }
        while let Received::Message(_, word) = group.receive::<Word<T>>(Duration::ZERO) {
            if let Word::Stop = word {
                interrupt.store(true, Ordering::Relaxed);
            }
        }
        if !is_at_work {
            group.send(Rank::FIRST, &Word::<T>::Ended);
            return Ok(());
        }
        if let Some(cause) = group.lost().get(&Rank::FIRST) {
            interrupt.store(true, Ordering::Relaxed);
            // The first rank ends with the last result that it awaits, which may be this one's.
            return match has_told_all(shared, group.rank()) {
                true => Ok(()),
                false => Err(ShareError::Alone(cause.clone())),
            };
        }
        if told.elapsed() >= patience.beat {
            told = Instant::now();
            group.send(Rank::FIRST, &Word::<T>::Working);
        }
    }
}

#[cfg(test)]
mod tests;
