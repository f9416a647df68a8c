//! Runs a checked P4 program on packets.
//!
//! This is the reference: it walks the IR of `p4lang` as the specification describes it, and every
//! faster way to run a program is checked against it. A [`Switch`] takes a packet, a port and a
//! time, and gives the packets that leave; the control plane's side of it (entries, counters,
//! multicast groups) are methods of the same type. There is no I/O, no clock and no thread here.
//!
//! Where P4 leaves a value unspecified the reference gives zero, and v1model behaves as BMv2's
//! simple_switch; each place says so.

mod architecture;
mod control;
mod data_plane;
mod dialect;
mod error;
mod externs;
mod layout;
mod machine;
mod state;
pub mod stf;
mod switch;
mod table;
mod trace;
mod value;

pub use architecture::Output;
pub use data_plane::{Compile, InterpreterTarget, Ports};
pub use dialect::Dialect;
pub use error::{ControlError, LoadError, RunError};
pub use externs::hash::{CrcParameters, internet_checksum};
pub use externs::meter::{Color, MeterConfig};
pub use state::{CloneSession, Digest, Replica};
pub use switch::Switch;
pub use table::{
    ActionCall, CounterValue, EntryAction, EntryHandle, FieldMatch, Group, GroupMember, IdleEntry,
    TableEntry, WeightedAction,
};
pub use trace::{Event, Trace};
pub use value::Value;
