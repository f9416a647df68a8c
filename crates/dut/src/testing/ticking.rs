//! A virtual clock that advances only when it is read.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::clock::{Clock, nanos};
use crate::effects::Moment;

/// The time by which each reading advances the clock.
pub(crate) const TICK: Duration = Duration::from_micros(5);

/// A clock that advances by [`TICK`] with each reading. Clones share the same time.
#[derive(Clone, Default)]
pub(crate) struct Ticking(Rc<Cell<u64>>);

impl Ticking {
    /// Returns the present time in nanoseconds, without advancing it.
    pub(crate) fn reading(&self) -> u64 {
        self.0.get()
    }
}

impl Clock for Ticking {
    fn now(&self) -> Moment {
        self.0.set(self.0.get() + nanos(TICK));
        Moment(self.0.get())
    }

    fn idle(&self) {}
}
