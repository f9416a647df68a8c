//! What was computed before.
//!
//! The recursion over cross traffic of cross traffic meets the same question again and again; that
//! is what makes tools exponential that do not remember. Questions are: the flows of this set that
//! come over this link, what is their arrival curve? What does this server, what does this tandem,
//! leave over for these flows? Threads share the answers.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::model::{FlowId, ServerId};
use super::settings::ArrivalBound;

/// Parts with a lock each, so that threads rarely wait.
const PARTS: usize = 64;

/// Flows over a link, or at a server (a link from it to itself), or over a tandem (from its first
/// server to its last).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) from: ServerId,
    pub(crate) to: ServerId,
    pub(crate) flows: Box<[FlowId]>,
    /// The method by which a single flow is bounded for itself; none if all methods are asked.
    pub(crate) alone: Option<ArrivalBound>,
}

/// Answers.
#[derive(Debug)]
pub(crate) struct Cache<A> {
    hasher: RandomState,
    parts: Vec<Mutex<HashMap<Question, A>>>,
}

impl<A> Default for Cache<A> {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), parts }
    }
}

impl<A: Clone> Cache<A> {
    pub(crate) fn get(&self, question: &Question) -> Option<A> {
        self.part(question)?.get(question).cloned()
    }

    pub(crate) fn put(&self, question: Question, answer: A) {
        if let Some(mut part) = self.part(&question) {
            part.insert(question, answer);
        }
    }

    fn part(&self, question: &Question) -> Option<MutexGuard<'_, HashMap<Question, A>>> {
        let number = self.hasher.hash_one(question) as usize % PARTS;
        // A thread that panicked while it held the lock left a whole map behind.
        Some(self.parts.get(number)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers of all three kinds, for everybody or for one flow of interest.
#[derive(Debug)]
pub(crate) struct Answers<C, L> {
    /// Arrivals over links.
    pub(crate) arrivals: Cache<C>,
    /// What servers leave over.
    pub(crate) servers: Cache<L>,
    /// What tandems leave over.
    pub(crate) tandems: Cache<C>,
}

impl<C, L> Default for Answers<C, L> {
    fn default() -> Self {
        Self { arrivals: Cache::default(), servers: Cache::default(), tandems: Cache::default() }
    }
}
