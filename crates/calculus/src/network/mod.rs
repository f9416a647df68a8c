//! Networks of servers and flows, and bounds for them.

mod affine;
pub mod analysis;
mod arrival;
mod assess;
mod cache;
mod derivation;
pub mod describe;
pub mod format;
mod model;
mod operations;
mod pmoo;
mod sets;
mod settings;
mod simple;
pub mod simulation;
mod stability;

pub use analysis::{Analyser, Analysis, AnalysisError, FlowBound, ServerBound, Source};
pub use assess::{Assessed, Contradiction};
pub use derivation::Derivation;
pub use format::{Format, FormatError};
pub use model::{
    Flow, FlowId, Link, ModelError, Multiplexing, Network, NetworkBuilder, Priority, Server,
    ServerId, Unit,
};
pub use settings::{ArrivalBound, FlowOfInterest, Settings};
pub use simulation::{Trajectory, simulate};
pub use stability::Load;
