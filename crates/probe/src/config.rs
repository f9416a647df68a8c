//! The configuration of a run of the probe.
//!
//! [`Config`] is the checked form that the engines read. The unchecked form, [`Settings`], is a
//! flat list of texts, one per key. It is filled from a TOML file, flags, and `.ini` files of other
//! tools (OFCProbe and P4RCProbe); [`Settings::resolve`] checks all of them together. One table of
//! [`Setting`]s defines the keys. Flags, the manual and the reference documentation are generated
//! from this table.

mod checks;
mod collection;
mod draft;
mod error;
mod model;
mod reference;
pub mod rfc8456;
mod setting;
mod settings;
mod toml;
mod value;

#[cfg(test)]
mod tests;

pub use crate::topology::TopologySource;
pub use collection::{Resolved, Settings};
pub use error::{ConfigError, Origin, Problem};
pub use model::*;
pub use openflow_switch::FlowTables;
pub use reference::markdown;
pub use setting::{Kind, Section, Setting};
