//! Network calculus in exact arithmetic: curves, min-plus algebra, and bounds for networks.
//!
//! Network calculus (Le Boudec and Thiran, "Network Calculus", 2001; Bouillard, Boyer and Le
//! Corronc, "Deterministic Network Calculus", 2018) bounds delay and backlog from two kinds of
//! curves. An arrival curve bounds the data that a flow may send within any span of time, and a
//! service curve is a lower bound on the data that a server handles. The bounds follow from algebra
//! on such curves, in which the minimum takes the place of addition, and addition that of
//! multiplication. This crate provides the algebra ([`Curve`] and its methods), and analyses of
//! networks on top of it ([`network`]).
//!
//! ```
//! use calculus::{Curve, Rational};
//!
//! // 4 kbit at once and 3 kbit/ms, through a server of 4 kbit/ms behind 3 ms of latency.
//! let arrival = Curve::token_bucket(4, 3)?;
//! let service = Curve::rate_latency(4, 3)?;
//! let delay = arrival.horizontal_deviation(&service)?;
//! let backlog = arrival.vertical_deviation(&service)?;
//! assert_eq!(delay.value.to_string(), "4");
//! assert_eq!(backlog.value.to_string(), "13");
//! assert_eq!(backlog.at, Some(Rational::from(3)));
//! // The arrival curve of the output, for the next server.
//! assert_eq!(arrival.deconvolution(&service)?, Curve::line(13, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Numbers are exact
//!
//! Every number is a [`Rational`], which is a pair of machine words if these suffice, and a pair of
//! integers of arbitrary precision otherwise. Decimals are read exactly (`0.67` is 67/100), so
//! bounds hold without rounding errors. Values of curves and deviations may be infinite, so they
//! are [`Extended`]. Floating-point numbers are only for display ([`Rational::to_f64`], and
//! `to_f64_up` and `to_f64_down` where the rounded number must still be a bound).
//!
//! ```
//! use calculus::{Curve, Rational};
//!
//! let rate: Rational = "0.67".parse()?;
//! let flow = Curve::token_bucket(1, rate)?;
//! let thrice = flow.sum(&flow)?.sum(&flow)?;
//! assert_eq!(thrice, Curve::token_bucket(3, "2.01".parse::<Rational>()?)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Curves
//!
//! A [`Curve`] is any function from time to data that is piecewise affine and ultimately affine or
//! ultimately pseudo-periodic, so that `f(t + d) = f(t) + c` from some time on. It may jump,
//! decrease, be negative, and be infinite. There are builders for the usual curves
//! ([`Curve::token_bucket`], [`Curve::rate_latency`], [`Curve::leaky_bucket`], [`Curve::t_spec`],
//! [`Curve::burst_delay`], [`Curve::staircase`], [`Curve::tdma`], [`Curve::flow_control`] and
//! more). All other curves are built from [`Piece`]s, each of which is a breakpoint and the open
//! segment after it.
//!
//! ```
//! use calculus::{Curve, Period, Piece, Rational};
//!
//! // Two packets of 5 back to back, every 10: 0 at 0, 5 on (0, 1], 10 on (1, 10], ...
//! let train = Curve::pseudo_periodic(
//!     vec![Piece::new(0, 0, 5, 0), Piece::new(1, 5, 10, 0)],
//!     Period { start: Rational::ZERO, length: 10.into(), increment: 10.into() },
//! )?;
//! assert_eq!(train.value_at(&"10.5".parse()?).to_string(), "15");
//! // The sum of two staircases is the same curve.
//! let second = Curve::delayed_staircase(1, 5, 10)?;
//! assert_eq!(Curve::staircase(5, 10)?.sum(&second)?, train);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every result is converted to the canonical form of its function, so `==` is equality of
//! functions, and curves can be hashed. [`Curve::is_at_most`] compares two curves at all times.
//!
//! By convention, arrival curves are zero at time zero and left-continuous (a token bucket has its
//! burst just *after* zero). Curves begin at time zero, and values of results before it are
//! dropped. In min-plus operations plus infinity absorbs, in max-plus operations minus infinity
//! does, and a deconvolution ignores times at which the divisor is plus infinite. A
//! [sum](Curve::sum) of opposite infinities is an error.
//!
//! # Operations
//!
//! * Pointwise: [`minimum`](Curve::minimum), [`maximum`](Curve::maximum), [`sum`](Curve::sum),
//!   [`difference`](Curve::difference), [`negated`](Curve::negated), [`scaled`](Curve::scaled),
//!   [`raised`](Curve::raised), [`floor`](Curve::floor), [`ceil`](Curve::ceil).
//! * Along time: [`delayed`](Curve::delayed), [`advanced`](Curve::advanced),
//!   [`stretched`](Curve::stretched), [`composition`](Curve::composition).
//! * Min-plus: [`convolution`](Curve::convolution), [`deconvolution`](Curve::deconvolution),
//!   [`sub_additive_closure`](Curve::sub_additive_closure).
//! * Max-plus: [`max_plus_convolution`](Curve::max_plus_convolution),
//!   [`max_plus_deconvolution`](Curve::max_plus_deconvolution),
//!   [`super_additive_closure`](Curve::super_additive_closure).
//! * Closures: [`non_negative`](Curve::non_negative),
//!   [`upper_non_decreasing`](Curve::upper_non_decreasing),
//!   [`lower_non_decreasing`](Curve::lower_non_decreasing),
//!   [`upper_non_increasing`](Curve::upper_non_increasing),
//!   [`lower_non_increasing`](Curve::lower_non_increasing),
//!   [`left_continuous`](Curve::left_continuous), [`right_continuous`](Curve::right_continuous).
//! * Inverses: [`lower_pseudo_inverse`](Curve::lower_pseudo_inverse),
//!   [`upper_pseudo_inverse`](Curve::upper_pseudo_inverse).
//! * Bounds: [`horizontal_deviation`](Curve::horizontal_deviation) (delay),
//!   [`vertical_deviation`](Curve::vertical_deviation) (backlog),
//!   [`z_deviation`](Curve::z_deviation), [`backlogged_period`](Curve::backlogged_period).
//! * Questions: [`value_at`](Curve::value_at), [`left_limit_at`](Curve::left_limit_at),
//!   [`right_limit_at`](Curve::right_limit_at), [`is_at_most`](Curve::is_at_most),
//!   [`is_concave`](Curve::is_concave), [`is_convex`](Curve::is_convex),
//!   [`is_sub_additive`](Curve::is_sub_additive), [`is_non_decreasing`](Curve::is_non_decreasing),
//!   [`ultimate_rate`](Curve::ultimate_rate), [`period`](Curve::period).
//!
//! The residual service of a flow with the lowest priority is then a single expression:
//!
//! ```
//! use calculus::Curve;
//!
//! let server = Curve::rate_latency(10, 5)?;
//! let cross = Curve::token_bucket(10, 4)?;
//! let residual = server.difference(&cross)?.non_negative()?.upper_non_decreasing()?;
//! assert_eq!(residual, Curve::rate_latency(6, 10)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The algorithms are those of Bouillard and Thierry ("An algorithmic toolbox for network
//! calculus", 2008) with refinements of Zippo and Stea (the authors of Nancy), written from the
//! papers. Concave and convex curves, latencies and sub-additive curves take faster paths
//! automatically. The general operations compute one finite interval that provably contains a whole
//! period of the result (see [`algebra`]).
//!
//! # Limits
//!
//! Curves with large coprime periods have enormous common periods. An operation computes the size
//! of its result before the result itself, and returns an error beyond [`algebra::limits`]. Some
//! exact results are not ultimately pseudo-periodic, such as a minimum that follows two curves of
//! different rates for ever because one of them is infinite in every period; these are
//! [`AlgebraError::NotPseudoPeriodic`].
//!
//! # Tasks and resources
//!
//! [`processing`] has the greedy processing components of real-time calculus: the output of a task,
//! and the service that remains of the resource on which it runs.
//!
//! # Programs
//!
//! [`mppg`] runs programs in the language of the min-plus playgrounds, in which many papers print
//! their computations, and writes curves in it.

pub mod algebra;
pub mod curve;
mod excerpt;
pub mod interrupt;
pub mod mppg;
pub mod network;
pub mod processing;
pub mod rational;

pub use algebra::{AlgebraError, Deviation};
pub use curve::{Curve, CurveError, Extended, Period, Piece};
pub use interrupt::{Interrupt, Stop};
pub use mppg::MppgError;
pub use rational::{ParseRationalError, Rational};
