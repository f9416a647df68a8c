//! The parts of one connection, and the queue of the parts that are ready to be polled.
//!
//! All calls of a connection are polled within the one task that drives the connection. A separate
//! task of the runtime for each call would be queued and woken separately, which costs more than
//! most calls do.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
};

/// A part of a connection that can be woken and polled individually.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The transport of the connection, which has bytes to read or to write.
    Transport,
    /// The call at this index in the list of calls.
    Call(usize),
}

/// The queue of parts that were woken and have not been polled yet.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    state: Mutex<State>,
}

/// The state of the queue, which a lock protects.
#[derive(Debug, Default)]
struct State {
    woken: VecDeque<Part>,
    /// Whether the transport is in the queue.
    has_transport: bool,
    /// Whether each call is in the queue, indexed by the number of the call.
    has_call: Vec<bool>,
    /// Whether the connection is being polled. During a poll, a part that wakes need not wake the
    /// task, which checks the queue again before it stops.
    has_turn: bool,
    /// The waker of the connection's task.
    task: Option<Waker>,
}

impl State {
    fn has(&mut self, part: Part) -> &mut bool {
        match part {
            Part::Transport => &mut self.has_transport,
            Part::Call(place) => {
                if self.has_call.len() <= place {
                    self.has_call.resize(place + 1, false);
                }
                &mut self.has_call[place]
            }
        }
    }
}

impl Ready {
    /// Returns a waker of `part`.
    pub(crate) fn waker(self: &Arc<Self>, part: Part) -> Waker {
        Waker::from(Arc::new(Signal { part, ready: Arc::clone(self) }))
    }

    /// Records the waker of the connection's task.
    pub(crate) fn driven_by(&self, task: &Waker) {
        let mut state = self.state();
        match &mut state.task {
            Some(known) => known.clone_from(task),
            None => state.task = Some(task.clone()),
        }
    }

    /// Begins a turn: the connection is being polled. Parts that wake during the turn do not wake
    /// the task.
    pub(crate) fn begin_turn(&self) {
        self.state().has_turn = true;
    }

    /// Removes the part that was woken first from the queue and returns it.
    pub(crate) fn next(&self) -> Option<Part> {
        let mut state = self.state();
        let part = state.woken.pop_front()?;
        *state.has(part) = false;
        Some(part)
    }

    /// Removes a part from the queue.
    pub(crate) fn forget(&self, part: Part) {
        let mut state = self.state();
        if mem::take(state.has(part)) {
            state.woken.retain(|woken| *woken != part);
        }
    }

    /// Ends a turn. Wakes the connection's task if parts are left in the queue.
    pub(crate) fn end_turn(&self) {
        let mut state = self.state();
        state.has_turn = false;
        if !state.woken.is_empty() {
            let task = state.task.clone();
            drop(state);
            task.iter().for_each(Waker::wake_by_ref);
        }
    }

    /// Wakes the connection's task although no part is ready, because the connection has ended.
    pub(crate) fn wake_task(&self) {
        let task = self.state().task.clone();
        task.iter().for_each(Waker::wake_by_ref);
    }

    /// Adds a part to the queue, unless it is queued already.
    pub(crate) fn wake(&self, part: Part) {
        let mut state = self.state();
        if mem::replace(state.has(part), true) {
            return;
        }
        state.woken.push_back(part);
        if !state.has_turn {
            let task = state.task.clone();
            drop(state);
            task.iter().for_each(Waker::wake_by_ref);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, so the queue is always valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waker of one part, which puts the part into the queue.
struct Signal {
    part: Part,
    ready: Arc<Ready>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.ready.wake(self.part);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.wake(self.part);
    }
}

/// A slab: a collection in which each value keeps its index until it is removed. Each value has a
/// waker for its index.
#[derive(Debug)]
pub(crate) struct Places<T> {
    places: Vec<(Option<T>, Waker)>,
    free: Vec<usize>,
}

impl<T> Places<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Inserts a value at a free index, and wakes it. `make` returns the value, given the index.
    pub(crate) fn enter(&mut self, ready: &Arc<Ready>, make: impl FnOnce(usize) -> T) {
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.places.len();
            self.places.push((None, ready.waker(Part::Call(place))));
            place
        });
        let (thing, waker) = &mut self.places[place];
        *thing = Some(make(place));
        waker.wake_by_ref();
    }

    /// Returns all values with their wakers.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = (&mut T, &Waker)> {
        self.places.iter_mut().filter_map(|(thing, waker)| Some((thing.as_mut()?, &*waker)))
    }

    /// Returns the number of values.
    pub(crate) fn taken(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns the value at an index, if it was not removed.
    pub(crate) fn get(&mut self, place: usize) -> Option<(&mut T, &Waker)> {
        let (thing, waker) = self.places.get_mut(place)?;
        Some((thing.as_mut()?, waker))
    }

    /// Removes the value at an index. A late wake-up of its waker may needlessly poll a later value
    /// at this index, which is harmless.
    pub(crate) fn leave(&mut self, place: usize) {
        if self.places[place].0.take().is_some() {
            self.free.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn driven() -> (Arc<Ready>, Arc<Count>) {
        let (ready, count) = (Arc::new(Ready::default()), Arc::new(Count::default()));
        ready.driven_by(&Waker::from(Arc::clone(&count)));
        (ready, count)
    }

    #[test]
    fn a_part_that_is_woken_twice_is_polled_once() {
        let (ready, count) = driven();
        let waker = ready.waker(Part::Call(3));
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        ready.begin_turn();
        assert_eq!((ready.next(), ready.next()), (Some(Part::Call(3)), None));
    }

    #[test]
    fn a_turn_is_not_interrupted_and_nothing_is_forgotten() {
        let (ready, count) = driven();
        ready.begin_turn();
        ready.waker(Part::Transport).wake();
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        ready.end_turn();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        ready.begin_turn();
        ready.forget(Part::Transport);
        ready.end_turn();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn slots_are_reused_and_a_late_waker_is_harmless() {
        let (ready, _) = driven();
        let mut places = Places::new();
        places.enter(&ready, |place| (place, "first"));
        let late = places.get(0).expect("there").1.clone();
        places.leave(0);
        places.leave(0);
        assert!(places.get(0).is_none());
        assert_eq!(places.taken(), 0);
        places.enter(&ready, |place| (place, "second"));
        places.enter(&ready, |place| (place, "third"));
        assert_eq!(places.taken(), 2);
        assert_eq!(places.get(0).expect("there").0, &(0, "second"));
        assert_eq!(places.get(1).expect("there").0, &(1, "third"));
        while ready.next().is_some() {}
        late.wake();
        assert_eq!(ready.next(), Some(Part::Call(0)));
    }
}
