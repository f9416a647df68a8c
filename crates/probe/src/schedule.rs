//! The schedule of a trial: the times at which packet-ins are due, which are fixed before traffic
//! starts.
//!
//! A load generator that waits for answers before it sends again measures the pace of the system
//! under test, and hides its worst moments. Here every packet-in has a due time that depends only
//! on the seed, the index of its switch and the configuration. It does not depend on answers, on
//! the distribution of switches over threads, or on a clock. [`SwitchSchedule`] returns the due
//! times of one switch, and [`ShardSchedule`] merges those of all switches of one engine thread.
//! Both are iterators that take a few hundred bytes per switch and compute each due time when it is
//! needed.
//!
//! Traffic starts at time 0 and ends after the warm-up and the measure window. A switch begins at
//! its start delay plus its index times the stagger, and stops before the end by its stop delay.

mod error;
mod gaps;
mod plan;
mod replay;
mod shard;
mod share;
mod switch;

use std::fmt;
use std::time::Duration;

pub use error::ScheduleError;
pub use plan::SchedulePlan;
pub use shard::ShardSchedule;
pub(crate) use share::{Share, ends_of, gaps_of};
pub use switch::SwitchSchedule;

/// A time in a trial, in nanoseconds since the start of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of traffic.
    pub const ZERO: Self = Self(0);

    /// Converts a duration to whole nanoseconds. Returns `None` for a duration of more than 584
    /// years.
    pub fn from_duration(duration: Duration) -> Option<Self> {
        u64::try_from(duration.as_nanos()).ok().map(Self)
    }

    /// Converts the time since the start of traffic to a [`Duration`].
    pub fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// Returns the number of seconds since the start of traffic.
    pub fn as_secs_f64(self) -> f64 {
        self.to_duration().as_secs_f64()
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

/// A packet-in that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// The time at which the packet-in is due.
    pub at: Nanos,
    /// The index of the switch that sends the packet-in, from 0.
    pub switch: u32,
}

#[cfg(test)]
mod tests;
