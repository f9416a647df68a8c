//! Statistics for measured figures: confidence intervals, spreads, and conditions.
//!
//! * **Means over repetitions** ([`Estimate`]) have Student's interval. There are usually only a
//!   handful of repetitions, for which the normal distribution would yield too narrow an interval.
//!   [`Difference`] uses Welch's interval, which does not require equal variances.
//! * **Percentiles** ([`Ordered`], [`Ranks`]) have an interval between two order statistics. It
//!   holds for any distribution, and an end is absent if there are too few samples to bound the
//!   tail. A percentile cannot be stated without a sample beyond it ([`can_state`]).
//! * **Proportions** ([`proportion`]) have the interval of Clopper and Pearson, whose confidence is
//!   never below the stated one, even if no event was observed. Those of several shares of one
//!   whole ([`shares`]) hold together, and the chi-square test ([`goodness_of_fit`]) compares the
//!   shares with those that are expected.
//! * **Spreads** ([`Spread`]) summarise a few trials of a benchmark by the median, the lowest and
//!   the highest value.
//! * **Conditions** ([`Condition`]) decide whether a figure is good enough, either by itself or
//!   relative to a base.
//! * **Agreement** ([`Criterion`]) with a published value follows from an interval over rounds and
//!   two nested regions ([`Region`]) that were fixed before the measurement. The interval of a
//!   rate, a time or a ratio is that of its logarithms ([`Noise`]), because such figures are
//!   positive and their noise multiplies them; that of a share or a difference is Student's
//!   interval as it is.
//! * **Costs** of the kinds of parts of a piece of work ([`AdditiveFit`]) are fitted to measured
//!   sums, robustly. Predictions have an interval from observations that the fit did not see, and
//!   say if the observations do not determine them.
//! * **Stalls of the host** ([`exposure`]) are distinguished from delays of a function by control
//!   windows beside every packet.
//!
//! Every interval assumes that the samples are independent and identically distributed. Successive
//! packets often are not independent, so the caller must decide what counts as a sample.
//!
//! ```
//! use statistics::{Confidence, Difference, Estimate, proportion};
//!
//! let before = Estimate::of(&[41.2, 40.7, 41.9]).expect("values");
//! let after = Estimate::of(&[38.8, 39.4, 38.1]).expect("values");
//! assert_eq!(format!("{before:.1}"), "41.3 ± 1.5");
//! assert!(Difference::of(&before, &after).is_shown());
//! // None of 1,000 packets was lost: at most 0.37 % are, with 95 % confidence.
//! let lost = proportion(0, 1000, Confidence::P95).expect("trials");
//! assert!(lost.high < 0.0037);
//! ```
//!
//! All intervals are based on one special function, the regularized incomplete beta function, and
//! on its inverse, which is found by robust bisection. This crate evaluates the function itself,
//! because other implementations need a number of steps proportional to the number of samples, or
//! stop before they converge.

mod additive;
mod beta;
mod chi_square;
mod condition;
mod confidence;
mod equivalence;
pub mod exposure;
mod fairness;
pub mod histogram_text;
mod mean;
mod non_negative;
mod order;
mod proportion;
mod region;
mod spread;
mod unit;

pub use additive::{AdditiveFit, LargestPrediction, Observation, Prediction};
pub use chi_square::{GoodnessOfFit, goodness_of_fit};
pub use condition::{Comparison, Condition, ConditionError, Limit};
pub use confidence::{Confidence, Interval};
pub use equivalence::{
    Agreement, Criterion, FEWEST_ROUNDS, Noise, NotNested, OverRounds, over_rounds,
    rounds_to_decide,
};
pub use fairness::jain_index;
pub use mean::{Difference, Estimate, mean, standard_deviation, student_t};
pub use non_negative::non_negative_fit;
pub use order::{Ordered, Ranks, can_state};
pub use proportion::{proportion, shares};
pub use region::{Overlap, Region, RegionError};
pub use spread::Spread;
pub use unit::Unit;
