//! How a measured figure is stated: with its confidence, or with its spread.
//!
//! * **Means over repetitions** ([`Estimate`]) have Student's interval, because a handful of repetitions is the rule and
//!   the normal distribution would make it too narrow; [`Difference`] is Welch's, which does not ask that both sides vary
//!   equally.
//! * **Percentiles** ([`Ordered`], [`Ranks`]) have the interval between two of the samples in order. It holds for any
//!   distribution, and says so where there are too few samples to bound a tail at all. With no sample beyond it a
//!   percentile cannot be stated ([`can_state`]).
//! * **Proportions** ([`proportion`]) have the interval of Clopper and Pearson, which is never narrower than it says, not
//!   even where nothing was lost.
//! * **Spreads** ([`Spread`]) are for a few trials of a benchmark: the median, the lowest and the highest.
//! * **Conditions** ([`Condition`]) decide whether a figure is good enough: alone, or against a base.
//!
//! Every interval assumes that the samples are independent and of one distribution. Successive packets often are not;
//! who states an interval over them chooses what a sample is.
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
//! All of it comes down to one special function, the regularized incomplete beta function; its inverse is found by
//! bisection, which cannot miss. The function is computed here: the crates that have it take as many steps as there are
//! samples, or stop before they are there.

mod beta;
mod condition;
mod confidence;
mod fairness;
pub mod histogram_text;
mod mean;
mod order;
mod proportion;
mod spread;
mod unit;

pub use condition::{Comparison, Condition, ConditionError, Limit};
pub use confidence::{Confidence, Interval};
pub use fairness::jain_index;
pub use mean::{Difference, Estimate, mean, standard_deviation, student_t};
pub use order::{Ordered, Ranks, can_state};
pub use proportion::proportion;
pub use spread::Spread;
pub use unit::Unit;
