//! The operations of min-plus and max-plus algebra on curves: methods of
//! [`Curve`](crate::Curve), errors and limits.
//!
//! All operations rest on one primitive, the lower envelope of piecewise affine functions, and on
//! horizons. A horizon is a time by which the result has provably shown its tail; each operation
//! derives one, computes on the window before it as if there were no tails, and declares the rest
//! periodic. Three observations keep horizons short:
//!
//! * Curves of different rates need no common period. How far a curve strays from its own rate tells
//!   from when on the slower one decides: minimum, convolution, deconvolution and both deviations
//!   only pay for a common multiple of periods where the rates are equal.
//! * The window of a convolution is cut into convex runs, and two runs convolve by sorting slopes;
//!   so concave and convex curves cost next to nothing, and only irregular ones the product.
//! * Every result is brought to its smallest form at once, so that long proven horizons do not pile
//!   up from operation to operation.
//!
//! Maxima, max-plus operations and super-additive closures are the mirror images of their
//! counterparts, computed on negated curves.

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
