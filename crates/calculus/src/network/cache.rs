//! What was computed before.
//!
//! The recursion over cross traffic of cross traffic meets the same question again and again; that
//! is what makes tools exponential that do not remember. Questions are: the flows of this set that
//! come over this link, what is their arrival curve? What does this server, what does this tandem,
//! leave over for these flows? Threads share the answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::elements::{FlowId, ServerId};
use super::sets::GroupKey;
use super::settings::ArrivalBound;

/// Parts with a lock each, so that threads rarely wait.
const PARTS: usize = 64;

/// Flows over a link, or at a server (a link from it to itself), or over a tandem (from its first
/// server to its last).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) from: ServerId,
    pub(crate) to: ServerId,
    pub(crate) flows: GroupKey,
    /// The method by which a single flow is bounded for itself; none if all methods are asked.
    pub(crate) alone: Option<ArrivalBound>,
}

/// Answers.
#[derive(Debug)]
pub(crate) struct Cache<Q, A> {
    hasher: RandomState,
    parts: Vec<Mutex<HashMap<Q, A>>>,
}

impl<Q, A> Default for Cache<Q, A> {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), parts }
    }
}

impl<Q: Hash + Eq, A: Clone> Cache<Q, A> {
    pub(crate) fn get(&self, question: &Q) -> Option<A> {
        self.part(question)?.get(question).cloned()
    }

    pub(crate) fn put(&self, question: Q, answer: A) {
        if let Some(mut part) = self.part(&question) {
            part.insert(question, answer);
        }
    }

    /// Returns the answer, which is computed if it is not known. No lock is held meanwhile, so two
    /// threads may compute the same answer.
    pub(crate) fn get_or_put(&self, question: Q, find: impl FnOnce() -> A) -> A {
        if let Some(known) = self.get(&question) {
            return known;
        }
        let found = find();
        self.put(question, found.clone());
        found
    }

    fn part(&self, question: &Q) -> Option<MutexGuard<'_, HashMap<Q, A>>> {
        let number = self.hasher.hash_one(question) as usize % PARTS;
        // A thread that panicked while it held the lock left a whole map behind.
        Some(self.parts.get(number)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers of all three kinds, for all flows of interest.
#[derive(Debug)]
pub(crate) struct Answers<C, L> {
    /// Arrivals over links.
    pub(crate) arrivals: Cache<Question, C>,
    /// What servers leave over.
    pub(crate) servers: Cache<Question, L>,
    /// What tandems leave over.
    pub(crate) tandems: Cache<Question, C>,
}

impl<C, L> Default for Answers<C, L> {
    fn default() -> Self {
        Self { arrivals: Cache::default(), servers: Cache::default(), tandems: Cache::default() }
    }
}

/// Answers by what one flow of interest takes away, for one thread.
type Own<A> = RefCell<HashMap<(Option<FlowId>, Question), A>>;

/// Answers that hold where one flow takes nothing away, or that only one flow of interest asks for.
#[derive(Debug)]
pub(crate) struct OwnAnswers<C, L> {
    pub(crate) arrivals: Own<C>,
    pub(crate) servers: Own<L>,
    pub(crate) tandems: Own<C>,
}

impl<C, L> Default for OwnAnswers<C, L> {
    fn default() -> Self {
        Self { arrivals: Own::default(), servers: Own::default(), tandems: Own::default() }
    }
}

/// A place for answers of one kind.
pub(crate) enum Memory<'a, A> {
    /// Answers for all flows of interest.
    Shared(&'a Cache<Question, A>),
    /// Answers for one flow of interest, and the flow that takes nothing away.
    Own(&'a Own<A>, Option<FlowId>),
}

impl<A: Clone> Memory<'_, A> {
    pub(crate) fn get(&self, question: &Question) -> Option<A> {
        match self {
            Self::Shared(cache) => cache.get(question),
            Self::Own(own, lowest) => own.borrow().get(&(*lowest, *question)).cloned(),
        }
    }

    pub(crate) fn put(&self, question: Question, answer: A) {
        match self {
            Self::Shared(cache) => cache.put(question, answer),
            Self::Own(own, lowest) => {
                own.borrow_mut().insert((*lowest, question), answer);
            }
        }
    }
}
