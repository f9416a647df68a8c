//! Caches of arrival curves and residual service.
//!
//! The recursion over the cross traffic of cross traffic needs many results repeatedly. Without a
//! cache, it would take exponential time. The results are: the arrival curve of a set of flows over
//! a link, and the residual service of a server or of a tandem for a set of flows. Threads share
//! the caches.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::elements::{FlowId, ServerId};
use super::sets::GroupKey;
use super::settings::ArrivalBound;

/// The number of parts of a cache. Each part has a lock of its own, so that threads rarely wait for
/// each other.
const PARTS: usize = 64;

/// The key of a cached result about some flows. The result is about a link, about a server (where
/// `from` equals `to`), or about a tandem from its first server to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub(crate) from: ServerId,
    pub(crate) to: ServerId,
    pub(crate) flows: GroupKey,
    /// The method by which a single flow is bounded separately. It is `None` if all methods of the
    /// settings are combined.
    pub(crate) alone: Option<ArrivalBound>,
}

/// A cache that threads share. Each of its parts has a lock of its own.
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
    pub(crate) fn get(&self, key: &Q) -> Option<A> {
        self.part(key)?.get(key).cloned()
    }

    pub(crate) fn put(&self, key: Q, result: A) {
        if let Some(mut part) = self.part(&key) {
            part.insert(key, result);
        }
    }

    /// Returns the cached result for the key, or computes it with `find` and stores it. No lock is
    /// held during the computation, so two threads may compute the same result.
    pub(crate) fn get_or_put(&self, key: Q, find: impl FnOnce() -> A) -> A {
        if let Some(known) = self.get(&key) {
            return known;
        }
        let found = find();
        self.put(key, found.clone());
        found
    }

    fn part(&self, key: &Q) -> Option<MutexGuard<'_, HashMap<Q, A>>> {
        let number = self.hasher.hash_one(key) as usize % PARTS;
        // The map is consistent even if a thread panicked while it held the lock.
        Some(self.parts.get(number)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The caches of the results that hold for all flows of interest, one for each kind of results.
#[derive(Debug)]
pub(crate) struct SharedCaches<C, L> {
    /// The arrival curves of flows over links.
    pub(crate) arrivals: Cache<CacheKey, C>,
    /// The residual service of single servers for some flows.
    pub(crate) servers: Cache<CacheKey, L>,
    /// The residual service of tandems (several servers in a row) for some flows.
    pub(crate) tandems: Cache<CacheKey, C>,
}

impl<C, L> Default for SharedCaches<C, L> {
    fn default() -> Self {
        Self { arrivals: Cache::default(), servers: Cache::default(), tandems: Cache::default() }
    }
}

/// A cache for one thread and one flow of interest. The first part of its key is the flow that the
/// result does not count, if any.
type Own<A> = RefCell<HashMap<(Option<FlowId>, CacheKey), A>>;

/// The caches of results for one flow of interest: those that were computed without counting a
/// flow, and those that no other flow of interest is likely to need.
#[derive(Debug)]
pub(crate) struct FlowCaches<C, L> {
    pub(crate) arrivals: Own<C>,
    pub(crate) servers: Own<L>,
    pub(crate) tandems: Own<C>,
}

impl<C, L> Default for FlowCaches<C, L> {
    fn default() -> Self {
        Self { arrivals: Own::default(), servers: Own::default(), tandems: Own::default() }
    }
}

/// A reference to the cache of one kind of results, from which results are looked up.
pub(crate) enum CacheRef<'a, A> {
    /// The cache of results that hold for all flows of interest.
    Shared(&'a Cache<CacheKey, A>),
    /// The cache of one flow of interest, with the flow that its results do not count, if any.
    Own(&'a Own<A>, Option<FlowId>),
}

impl<A: Clone> CacheRef<'_, A> {
    pub(crate) fn get(&self, key: &CacheKey) -> Option<A> {
        match self {
            Self::Shared(cache) => cache.get(key),
            Self::Own(own, lowest) => own.borrow().get(&(*lowest, *key)).cloned(),
        }
    }

    pub(crate) fn put(&self, key: CacheKey, result: A) {
        match self {
            Self::Shared(cache) => cache.put(key, result),
            Self::Own(own, lowest) => {
                own.borrow_mut().insert((*lowest, key), result);
            }
        }
    }
}
