//! Greedy processing components. Such a component processes a stream of events on a resource as
//! fast as the resource allows.
//!
//! Real-time calculus (Chakraborty, Künzli and Thiele, "A general framework for analysing system
//! properties in platform-based embedded system designs", DATE 2003; Wandeler, "Modular performance
//! analysis and interface-based design for embedded real-time systems", ETH Zurich, 2006, section
//! 2.3) bounds from above and from below, within any span of time, what a stream demands and what a
//! resource offers. A component computes the output stream, which feeds the next component on the
//! stream's path, and the remaining resource, which less urgent streams use.
//!
//! ```
//! use calculus::processing::{Bounds, process};
//! use calculus::{Curve, Extended, Rational};
//!
//! // Two tasks on one processor, the first more urgent: 2 ms of work every 5 ms,
//! // and 3 ms of work every 10 ms with up to 4 ms of jitter.
//! let processor = Bounds::exactly(Curve::line(0, 1));
//! let urgent = Bounds::events(2, 5, 0, 0)?;
//! let other = Bounds::events(3, 10, 4, 0)?;
//! let first = process(&urgent, &processor)?;
//! assert_eq!(first.delay, Extended::from(Rational::from(2)));
//! let second = process(&other, &first.remaining)?;
//! // Its own work and one execution of the urgent task.
//! assert_eq!(second.delay, Extended::from(Rational::from(5)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{AlgebraError, Curve, CurveError, Extended, Rational};

/// Bounds on a stream of events or on a resource: an upper and a lower curve for what arrives, or
/// is offered, within any span of time. The unit is that of data or of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    most: Curve,
    least: Curve,
}

/// The reason why two curves are not [`Bounds`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundsError {
    /// The lower curve is above the upper curve at some time.
    #[error("the lower curve is above the upper one somewhere; exchange them, or lower it")]
    Crossed,
    /// A parameter is invalid for the curve that was to be built.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// The algebra cannot compute whether the lower curve is above the upper one.
    #[error(transparent)]
    Algebra(#[from] AlgebraError),
}

/// The bounds that a greedy processing component computes for a stream on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processed {
    /// The output stream of the component, in units of work.
    pub output: Bounds,
    /// The service of the resource that remains for less urgent streams.
    pub remaining: Bounds,
    /// An upper bound on the time from the arrival of work to its completion.
    pub delay: Extended,
    /// An upper bound on the amount of work that waits at any time.
    pub backlog: Extended,
}

impl Bounds {
    /// Builds bounds from the upper curve `most` and the lower curve `least`.
    ///
    /// # Errors
    ///
    /// Returns [`BoundsError::Crossed`] if `least` exceeds `most` at some time, and
    /// [`BoundsError::Algebra`] if the algebra cannot compare them.
    pub fn new(most: Curve, least: Curve) -> Result<Self, BoundsError> {
        match least.is_at_most(&most)? {
            true => Ok(Self { most, least }),
            false => Err(BoundsError::Crossed),
        }
    }

    /// Builds bounds whose upper and lower curve are equal, such as those of a processor or a link
    /// that is always available.
    #[must_use]
    pub fn exactly(curve: Curve) -> Self {
        Self { most: curve.clone(), least: curve }
    }

    /// Builds the bounds of a stream of events, each of which takes the amount `work` of the
    /// resource. Period, jitter and minimum distance of the events are as in [`Curve::events`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Curve::events`].
    pub fn events(
        work: impl Into<Rational>,
        period: impl Into<Rational>,
        jitter: impl Into<Rational>,
        distance: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        let (work, period, jitter) = (work.into(), period.into(), jitter.into());
        Ok(Self {
            most: Curve::events(work.clone(), period.clone(), jitter.clone(), distance)?,
            least: Curve::events_at_least(work, period, jitter)?,
        })
    }

    /// Returns the upper curve of the bounds.
    #[must_use]
    pub fn most(&self) -> &Curve {
        &self.most
    }

    /// Returns the lower curve of the bounds.
    #[must_use]
    pub fn least(&self) -> &Curve {
        &self.least
    }

    /// Converts bounds in units of work to bounds in whole events, each of which has `work` units.
    /// This serves for the output stream of a component. The upper curve is rounded up, because at
    /// most one event can end within a span of time without all of its work lying in the span. The
    /// lower curve is rounded down.
    ///
    /// # Errors
    ///
    /// Returns an error if the algebra cannot compute a curve.
    pub fn in_events(&self, work: &Rational) -> Result<Self, AlgebraError> {
        let share = Rational::ONE.checked_div(work).unwrap_or(Rational::ZERO);
        Ok(Self {
            most: self.most.scaled(&share).ceil()?,
            least: self.least.scaled(&share).floor()?,
        })
    }
}

/// Bounds the output, the remaining service, the delay and the backlog of a stream that a resource
/// processes greedily, in order of arrival.
///
/// # Errors
///
/// Returns an [`AlgebraError`] if the algebra cannot compute a curve, for example if the least
/// common multiple of the periods is too large.
pub fn process(stream: &Bounds, resource: &Bounds) -> Result<Processed, AlgebraError> {
    let (arrives, offers) = (stream, resource);
    // Wandeler, equations 2.24 to 2.27.
    let most = arrives.most.convolution(&offers.most)?.deconvolution(&offers.least)?;
    let least = arrives.least.deconvolution(&offers.most)?.non_negative()?;
    let output = Bounds {
        most: most.minimum(&offers.most)?.with_origin(Extended::ZERO),
        least: least.convolution(&offers.least)?.minimum(&offers.least)?,
    };
    let remaining = Bounds {
        most: offers.most.difference(&arrives.least)?.lower_non_decreasing()?.non_negative()?,
        least: offers.least.difference(&arrives.most)?.upper_non_decreasing()?.non_negative()?,
    };
    Ok(Processed {
        output,
        remaining,
        delay: arrives.most.horizontal_deviation(&offers.least)?.value,
        backlog: arrives.most.vertical_deviation(&offers.least)?.value.max(Extended::ZERO),
    })
}
