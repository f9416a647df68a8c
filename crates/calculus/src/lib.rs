//! Curves, min-plus algebra in exact arithmetic, and network analyses.

pub mod algebra;
pub mod curve;
pub mod mppg;
pub mod network;
pub mod rational;

pub use algebra::AlgebraError;
pub use curve::{Curve, CurveError, Extended, Period, Piece};
pub use mppg::MppgError;
pub use rational::{ParseRationalError, Rational};
