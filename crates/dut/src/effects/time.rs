//! Times: moments on the clock of a measurement, and differences between them.

/// A moment on the clock of a measurement, in nanoseconds since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// Returns the time from `other` until this moment. It is negative if this moment is earlier.
    #[must_use]
    pub fn since(self, other: Self) -> Gap {
        let difference = i128::from(self.0) - i128::from(other.0);
        Gap(difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// Returns the moment `gap` later than this one.
    #[must_use]
    pub fn after(self, gap: Gap) -> Self {
        Self(self.0.saturating_add_signed(gap.0))
    }
}

/// The time from one moment to another, in nanoseconds. It is negative if the other moment came
/// first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gap(pub i64);

impl Gap {
    /// Returns the time in seconds.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// A moment that is known only to lie between two readings of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The last reading that was certainly not after the moment.
    pub earliest: Moment,
    /// The first reading that was certainly not before the moment.
    pub latest: Moment,
}

impl Span {
    /// Returns the time from the moment `other` until this one.
    #[must_use]
    pub fn since(self, other: Self) -> Range {
        Range { least: self.earliest.since(other.latest), most: self.latest.since(other.earliest) }
    }
}

/// The bounds of a time, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The shortest time that is possible.
    pub least: Gap,
    /// The longest time that is possible.
    pub most: Gap,
}

impl Range {
    /// Returns whether a time lies in the range.
    #[must_use]
    pub fn contains(self, gap: Gap) -> bool {
        self.least <= gap && gap <= self.most
    }

    /// Returns the range with negative bounds replaced by zero. It is for the time from a cause to
    /// its effect, which cannot be negative.
    #[must_use]
    pub fn of_effect(self) -> Self {
        Self { least: self.least.max(Gap(0)), most: self.most.max(Gap(0)) }
    }

    /// Returns the difference between the longest and the shortest possible time.
    #[must_use]
    pub fn width(self) -> Gap {
        Gap(self.most.0.saturating_sub(self.least.0))
    }
}
