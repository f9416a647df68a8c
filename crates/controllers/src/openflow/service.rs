//! Delays the answers of a modelled controller until its queue has served their packet-ins.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::ServiceQueue;

/// The queue of a modelled controller, which all switches share, and the number of connected
/// switches.
#[derive(Debug)]
pub(super) struct Service(Mutex<State>);

#[derive(Debug)]
struct State {
    queue: ServiceQueue,
    switches: usize,
}

impl Service {
    pub(super) fn new(queue: ServiceQueue) -> Self {
        Self(Mutex::new(State { queue, switches: 0 }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answers to one switch that are not due yet, in ascending order of the times at which they
/// are due.
#[derive(Debug)]
pub(super) struct WaitingAnswers {
    service: Arc<Service>,
    answers: VecDeque<WaitingAnswer>,
}

#[derive(Debug)]
struct WaitingAnswer {
    due: Duration,
    bytes: Vec<u8>,
}

impl WaitingAnswers {
    /// Counts a switch that has just connected, and creates the list of its answers.
    pub(super) fn open(service: &Arc<Service>) -> Self {
        service.state().switches += 1;
        Self { service: Arc::clone(service), answers: VecDeque::new() }
    }

    /// Adds a packet-in to the queue. Returns the time at which its answer is due, or `None` if the
    /// packet-in is lost.
    pub(super) fn admit(&self, now: Duration) -> Option<Duration> {
        let mut state = self.service.state();
        let switches = state.switches;
        state.queue.admit(now, switches)
    }

    /// Stores an answer until the time `due`.
    pub(super) fn keep(&mut self, due: Duration, bytes: Vec<u8>) {
        self.answers.push_back(WaitingAnswer { due, bytes });
    }

    /// Appends the answers that are due at `now`.
    pub(super) fn release(&mut self, now: Duration, out: &mut Vec<u8>) {
        while let Some(answer) = self.answers.pop_front_if(|answer| answer.due <= now) {
            out.extend_from_slice(&answer.bytes);
        }
    }

    /// Returns the time at which the next answer is due, or `None` if no answer waits.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.answers.front().map(|answer| answer.due)
    }
}

impl Drop for WaitingAnswers {
    /// Stops counting the switch, which has disconnected. If it was the last one, the queue is
    /// cleared.
    fn drop(&mut self) {
        let mut state = self.service.state();
        state.switches = state.switches.saturating_sub(1);
        if state.switches == 0 {
            state.queue.clear();
        }
    }
}
