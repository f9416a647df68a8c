//! Arrival bounds that were computed before.
//!
//! The recursion over cross traffic of cross traffic meets the same question again and again; that
//! is what makes tools exponential that do not remember. A question is: the flows of this set that
//! come over this link, what is their arrival curve? Threads share the answers.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use super::model::{FlowId, ServerId};
use super::settings::ArrivalBound;
use crate::Curve;

/// Parts with a lock each, so that threads rarely wait.
const PARTS: usize = 64;

/// Flows over a link.
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
pub(crate) struct Cache {
    hasher: RandomState,
    parts: Vec<Mutex<HashMap<Question, Arc<Curve>>>>,
}

impl Default for Cache {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), parts }
    }
}

impl Cache {
    pub(crate) fn get(&self, question: &Question) -> Option<Arc<Curve>> {
        self.part(question)?.get(question).cloned()
    }

    pub(crate) fn put(&self, question: Question, answer: Arc<Curve>) {
        if let Some(mut part) = self.part(&question) {
            part.insert(question, answer);
        }
    }

    fn part(
        &self,
        question: &Question,
    ) -> Option<std::sync::MutexGuard<'_, HashMap<Question, Arc<Curve>>>> {
        let number = self.hasher.hash_one(question) as usize % PARTS;
        // A thread that panicked while it held the lock left a whole map behind.
        Some(self.parts.get(number)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
