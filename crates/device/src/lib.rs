//! Measured device models: the cost of each basic function of a device, and the predictions that
//! follow for whole programs.
//!
//! A [`Campaign`] measures a device with its baseline function alone, and then with each further
//! function added to the baseline. The cost of a function is the difference to the baseline (a
//! [`Model`]). For a device that performs several functions, [`Model::compose`] adds the costs, and
//! [`verify`] compares the predictions with measured delays. The method is that of Helm et al.,
//! "Application of Network Calculus Models on Programmable Device Behavior" (ITC 33, 2021);
//! equation numbers in this crate are those of that paper.
//!
//! The paper treats its samples as the truth. This crate quantifies their uncertainty. Percentiles
//! have confidence intervals. A maximum comes with the share of packets that may exceed it. The
//! hypothesis that justifies adding differences is [tested](Shift). Each result states whether it
//! is [deterministic, holds with some confidence, or is empirical](compose::Guarantee).

pub mod campaign;
pub mod compose;
pub mod contract;
pub mod export;
pub mod host;
pub mod import;
mod largest;
mod level;
pub mod measure;
mod model;
mod profile;
pub mod program;
mod shift;
mod stalls;
pub mod trace;
pub mod verify;

pub use campaign::Campaign;
pub use largest::{
    LargestPacketError, largest_packet, largest_packet_errors, predict_largest_packet,
};
pub use level::{Level, ParseLevelError, Percentile};
pub use model::{
    Delta, FunctionModel, Measurement, Model, ModelError, SCHEMA, SettingModel, Source,
};
pub use profile::{Estimate, Profile, Settings, TailPoint};
pub use shift::{Shift, Verdict};
pub use stalls::{CellStalls, Stalls};
