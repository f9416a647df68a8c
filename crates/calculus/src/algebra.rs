//! The operations of min-plus and max-plus algebra on curves: methods of [`Curve`](crate::Curve),
//! errors and limits.
//!
//! All operations rest on the lower envelope of piecewise affine functions and on horizons. A
//! horizon is a time from which the result provably repeats. Each operation derives its horizon,
//! computes the result up to one period after it from finitely many pieces, and declares the rest
//! periodic. Three observations keep horizons short:
//!
//! * Curves of different rates need no common period. The slower curve determines the result from a
//!   time that follows from how far each curve deviates from its own rate. Minimum, convolution,
//!   deconvolution and both deviations therefore need a common multiple of the periods only if the
//!   rates are equal.
//! * A convolution is computed on one interval of time. Both functions on it are cut into convex
//!   runs, and two convex runs are convolved by sorting their segments by slope. Concave and convex
//!   curves therefore take one or two pairs of runs. Only irregular curves take many.
//! * Every result is immediately brought to its canonical form, so that horizons do not grow from
//!   operation to operation.
//!
//! Maxima, max-plus operations and super-additive closures are computed as the mirror images of
//! their counterparts, on negated curves.

mod closure;
mod convolution;
mod deconvolution;
mod deviation;
mod error;
mod inverse;
pub mod limits;
mod monotone;
mod pointwise;
mod rounding;
mod runs;
pub(crate) mod sweep;
mod transform;
mod ultimate;

pub use deviation::Deviation;
pub use error::AlgebraError;
