//! Greedy processing components: a stream of events that a resource processes as fast as it can.
//!
//! Real-time calculus (Chakraborty, Künzli and Thiele, "A general framework for analysing system properties in platform-based
//! embedded system designs", DATE 2003; Wandeler, "Modular performance analysis and interface-based design for embedded
//! real-time systems", ETH Zurich, 2006, section 2.3) bounds from above and from below, within any span of time, what a stream
//! asks for and what a resource offers. A component turns both into the stream behind it and the resource that is left over,
//! which feed the components after it: those that get the stream next, and those that are less urgent.
//!
//! ```
//! use calculus::processing::{Bounds, process};
//! use calculus::{Curve, Extended, Rational};
//!
//! // Two tasks on one processor, the first more urgent: 2 ms of work every 5 ms, 3 ms of work every 10 ms, up to 4 ms late.
//! let processor = Bounds::exactly(Curve::line(0, 1));
//! let urgent = Bounds::events(2, 5, 0, 0)?;
//! let other = Bounds::events(3, 10, 4, 0)?;
//! let first = process(&urgent, &processor)?;
//! assert_eq!(first.delay, Extended::from(Rational::from(2)));
//! let second = process(&other, &first.remaining)?;
//! // Its work and one execution of the urgent task.
//! assert_eq!(second.delay, Extended::from(Rational::from(5)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{AlgebraError, Curve, CurveError, Extended, Rational};

/// What comes, or is offered, within any span of time: data, or units of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    most: Curve,
    least: Curve,
}

/// Why these are no bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundsError {
    /// The lower curve is above the upper one somewhere.
    #[error("the lower curve is above the upper one somewhere; exchange them, or lower it")]
    Crossed,
    /// A parameter makes no curve.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A comparison is beyond what the algebra does.
    #[error(transparent)]
    Algebra(#[from] AlgebraError),
}

/// What is behind a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processed {
    /// The stream, in units of work.
    pub output: Bounds,
    /// What the resource offers to those that are less urgent.
    pub remaining: Bounds,
    /// Time from the arrival of work to its end, at most.
    pub delay: Extended,
    /// Work that waits, at most.
    pub backlog: Extended,
}

impl Bounds {
    /// From the most and the least.
    ///
    /// # Errors
    ///
    /// [`BoundsError::Crossed`] if the least is not below the most at all times.
    pub fn new(most: Curve, least: Curve) -> Result<Self, BoundsError> {
        match least.is_at_most(&most)? {
            true => Ok(Self { most, least }),
            false => Err(BoundsError::Crossed),
        }
    }

    /// The same from above and from below, such as a processor or a link that is always there.
    #[must_use]
    pub fn exactly(curve: Curve) -> Self {
        Self { most: curve.clone(), least: curve }
    }

    /// Events that bring `work` each, with period, jitter and least distance ([`Curve::events`]).
    ///
    /// # Errors
    ///
    /// Those of [`Curve::events`].
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

    /// At most so much.
    #[must_use]
    pub fn most(&self) -> &Curve {
        &self.most
    }

    /// At least so much.
    #[must_use]
    pub fn least(&self) -> &Curve {
        &self.least
    }

    /// Of a stream behind a component, whole events instead of units of work, of which each takes `work`: of partly done ones
    /// at most one ends in a span without all of its work in it, and none begins and ends without.
    ///
    /// # Errors
    ///
    /// If a curve is beyond what the algebra does.
    pub fn in_events(&self, work: &Rational) -> Result<Self, AlgebraError> {
        let share = Rational::ONE.checked_div(work).unwrap_or(Rational::ZERO);
        Ok(Self {
            most: self.most.scaled(&share).ceil()?,
            least: self.least.scaled(&share).floor()?,
        })
    }
}

/// Processes a stream on a resource, in the order of arrival, whenever there is work.
///
/// # Errors
///
/// [`AlgebraError`] if the curves are beyond what the algebra does, such as periods without a common multiple of
/// reasonable size.
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
