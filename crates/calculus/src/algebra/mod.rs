//! The operations of min-plus and max-plus algebra on curves.
//!
//! All results are exact. Where an operation has a fast form for the shapes at hand (concave,
//! convex, affine tails) it takes it by itself; the general form unrolls periodic tails as far as
//! the result provably needs, and no further than [`limits`] allows.

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
