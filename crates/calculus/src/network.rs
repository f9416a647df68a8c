//! Networks of servers and flows, and exact bounds on delay and backlog.
//!
//! A [`NetworkBuilder`] or [`format::read`] builds a checked [`Network`]. An [`Analyser`] bounds
//! the flows of the network by an [`Analysis`], under conventions that [`Settings`] spells out.
//! [`simulate`] searches for a run of the network that comes close to the bound, and [`Assessed`]
//! compares both.
//!
//! ```
//! use calculus::network::{
//!     Analyser, Analysis, Flow, Multiplexing, NetworkBuilder, Server, Settings, simulate,
//! };
//! use calculus::{Curve, Extended, Rational};
//!
//! let mut builder = NetworkBuilder::new("two hops");
//! let path = vec![
//!     builder.server(Server::new("s0", Curve::rate_latency(10, 10)?)),
//!     builder.server(Server::new("s1", Curve::rate_latency(6, 6)?)),
//! ];
//! let bucket = Curve::token_bucket(Rational::ratio(25, 2), Rational::ratio(5, 2))?;
//! let flow = builder.flow(Flow::new("f0", path.clone(), bucket.clone()));
//! builder.flow(Flow::new("f1", path, bucket));
//! let network = builder.build()?;
//!
//! let settings = Settings::default().multiplexed(Multiplexing::Arbitrary);
//! let analyser = Analyser::new(&network, settings.clone());
//! let bound = analyser.bound(flow, Analysis::Sfa)?;
//! assert_eq!(bound.delay.to_string(), "277/7");
//! for line in bound.delay_by.derivation.lines(&network) {
//!     println!("{line}");
//! }
//! let run = simulate(&network, flow, &settings).expect("a small network");
//! assert!(Extended::from(run.delay) <= bound.delay);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How it works: [`Analyser`] needs arrival curves of cross traffic, which depend on the residual
//! service of earlier servers, which depends on further arrival curves. All analyses share this
//! recursion (`arrival`). Its results are cached (`cache`), and flows are analysed on all cores.
//! Operations on curves use closed forms for the usual shapes (`simple`, `affine`) and the algebra
//! of this crate for all others (`operations`).

mod affine;
pub mod analysis;
mod arrival;
mod assess;
mod cache;
mod clocks;
mod copies;
mod cycles;
mod derivation;
pub mod describe;
mod elements;
#[cfg(feature = "formats")]
pub mod format;
mod model;
mod operations;
mod pmoo;
pub mod port;
mod prolong;
mod regulators;
mod sets;
mod settings;
mod simple;
pub mod simulation;
mod stability;
mod unbounded;
mod untried;

pub use analysis::{Analyser, Analysis, AnalysisError, ClassBound, FlowBound, ServerBound, Source};
pub use assess::{Assessed, Contradiction};
pub use clocks::{Clocks, ClocksError};
pub use derivation::Derivation;
pub use elements::{
    Flow, FlowId, Link, ModelError, Multiplexing, Part, Priority, Regulator, Server, ServerId, Unit,
};
#[cfg(feature = "formats")]
pub use format::{Format, FormatError};
pub use model::{Network, NetworkBuilder};
pub use port::{Port, PortError};
pub use settings::{ArrivalBound, FlowOfInterest, Settings};
pub use simulation::{Observation, ServerObservation, Trajectory, observe, simulate};
pub use stability::Load;
pub use unbounded::Reason;
pub use untried::{Estimate, Untried};
