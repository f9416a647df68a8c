//! Runs a checked P4 program on packets.
//!
//! This is the reference: it walks the IR of `p4lang` as the specification describes it, and every
//! faster way to run a program is checked against it. A [`Switch`] takes a packet, a port and a
//! time, and gives the packets that leave. It is a [`Core`], the program and its state with the control plane's
//! side of it (entries, counters, multicast groups), and one worker. Under a control plane
//! ([`InterpreterTarget`]) several workers share one core, each in a thread of the caller's ([`Ports`]). There is no
//! I/O, no clock and no thread here.
//!
//! [`Compiled`] is such a way: machine code for v1model, PSA and PNA, on the same state ([`Core::compile`]).
//!
//! Where P4 leaves a value unspecified the reference gives zero, and v1model behaves as BMv2's
//! simple_switch; each place says so.

mod architecture;
mod array;
mod bound;
mod compiled;
mod control;
mod coverage;
mod data_plane;
mod dialect;
mod error;
mod externs;
mod layout;
mod machine;
mod state;
pub mod stf;
mod switch;
mod sync;
mod table;
mod trace;
mod value;

pub use architecture::Output;
pub use compiled::{Batch, Compiled, StageTimes};
pub use coverage::{Coverage, Part, PartKind};
pub use data_plane::{
    Compile, InterpreterTarget, PacketCounts, Ports, TableUsage, V1ModelSettings, Worker,
};
pub use dialect::Dialect;
pub use error::{CompileError, ControlError, LoadError, RunError};
pub use externs::meter::{Color, MeterConfig};
pub use externs::{crc::CrcParameters, hash::internet_checksum};
pub use state::{CloneSession, Digest, Replica};
pub use switch::{Core, Path, Processor, Switch};
pub use table::{
    ActionCall, CounterValue, EntryAction, EntryHandle, FieldMatch, Group, GroupMember, IdleEntry,
    TableEntry, WeightedAction,
};
pub use trace::{Event, Trace};
pub use value::Value;
