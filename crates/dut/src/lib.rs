//! Measurements of a switch from the controller's side, over P4Runtime: the device under test.
//!
//! [`measure`] becomes the only primary controller of a switch and measures one table of the
//! pipeline that the switch runs: how many entries the switch inserts, modifies and deletes in a
//! second and after which time it answers ([`updates`]), how fast it sends entries ([`reads`]), and
//! how many it accepts ([`capacity`]). The entries are made from the switch's own P4Info
//! ([`EntryMaker`]), and are removed again.
//!
//! An answer says that the switch has accepted an update, but not that packets obey it yet. For
//! that, packets are sent through the ports of the switch ([`live`]). Their times show from which
//! moment packets obey an update, and which packets are lost or go astray during the change
//! ([`effects`]).

pub mod capacity;
pub mod effects;
mod entries;
mod error;
pub mod live;
mod plan;
pub mod reads;
mod session;
#[cfg(test)]
mod testing;
pub mod updates;
mod window;

pub use entries::{EntryMaker, EntryNumber, MakerError, Variant};
pub use error::DutError;
pub use plan::{Outcome, Plan, Subject, Watch, measure};
pub use session::Device;
pub use window::{Call, Operation, Phase, Refusal};
