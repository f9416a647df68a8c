//! Measured device models: what a device's basic functions cost, and what that says about programs made of them.
//!
//! A device is measured with its baseline function alone and with each further function added to it (a
//! [`Campaign`]). Differences to the baseline are what the functions cost (a [`Model`]); a device that does several of
//! them is predicted by putting the costs together ([`Model::compose`]), and verified against what it was measured to
//! take. The method is that of Helm et al., "Application of Network Calculus Models on Programmable Device Behavior"
//! (ITC 33, 2021); equation numbers in this crate are the paper's.
//!
//! Where the paper takes a sample for the truth, this crate says how far it can: percentiles have intervals, a maximum
//! says what share of packets may exceed it, the hypothesis behind adding differences is [tested](Shift), and each
//! result says whether it is [deterministic, of some confidence, or empirical](compose::Guarantee).

pub mod campaign;
pub mod compose;
pub mod export;
pub mod import;
mod level;
pub mod measure;
mod model;
mod profile;
pub mod program;
mod shift;
pub mod trace;
pub mod verify;

pub use campaign::Campaign;
pub use level::{Level, ParseLevelError, Percentile};
pub use model::{
    Delta, FunctionModel, Measurement, Model, ModelError, SCHEMA, SettingModel, Source,
};
pub use profile::{Estimate, Profile, Settings, TailPoint};
pub use shift::{Shift, Verdict};
