//! Runs a checked P4 program on packets.
//!
//! The interpreter of this crate is the reference: it walks the IR of `p4lang` as the specification
//! describes, and every faster way to run a program is checked against it. A [`Switch`] takes a
//! packet, a port and a time, and returns the outgoing packets. It consists of one worker and a
//! [`Core`], which holds the program, its state, and the control plane's operations on that state
//! (entries, counters, multicast groups). Under a control plane ([`InterpreterTarget`]), several
//! workers share one core, each in a thread of the caller ([`Ports`]). The crate does no I/O and
//! reads no clock.
//!
//! [`Compiled`] is a faster way: machine code for v1model, PSA and PNA, which works on the same
//! state ([`Core::compile`]).
//!
//! Values that P4 leaves unspecified are zero here, and v1model behaves as in BMv2's simple_switch;
//! the documentation of each such place says so.
//!
//! ```
//! use ir::bits::Bits;
//! use p4lang::preprocess::{MemoryFiles, Options};
//! use pipeline::{EntryAction, FieldMatch, Switch, TableEntry};
//! use std::time::Duration;
//!
//! let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/l2.p4"));
//! let compiled = p4lang::compile_text("l2.p4", text, &Options::default(), &MemoryFiles::default());
//! let mut switch = Switch::new(compiled.program.ok_or("errors in l2.p4")?)?;
//! switch.compile()?; // Without this the interpreter runs it.
//!
//! let table = switch.table_named("L2Ingress.l2")?;
//! let action = switch.action_named(table, "L2Ingress.set_egress_port")?;
//! let bits = |width, value| Bits::unsigned(width, value);
//! let destination =
//!     FieldMatch::Ternary { value: bits(48, 0x0200_0000_0001), mask: bits(48, 0xffff_ffff_ffff) };
//! let entry = TableEntry {
//!     matches: vec![FieldMatch::Any, FieldMatch::Any, destination, FieldMatch::Any],
//!     priority: 1,
//!     action: EntryAction::Action(switch.action_call(action, &[bits(9, 2)])?),
//!     idle_timeout: None,
//! };
//! switch.add_entry(table, entry, Duration::ZERO)?;
//!
//! // To 02:00:00:00:00:01, by port 1.
//! let packet = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0];
//! let left = switch.process(1, &packet, Duration::ZERO)?;
//! assert_eq!((left[0].port, &left[0].packet[..]), (2, &packet[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod architecture;
mod array;
mod callee;
mod compiled;
mod control;
mod coverage;
mod data_plane;
mod dialect;
mod error;
mod externs;
mod interpreter;
mod layout;
mod queued;
mod resolved;
mod state;
mod switch;
mod sync;
mod table;
mod trace;
mod translated;
mod value;

pub use architecture::Output;
pub use architecture::waiting::{AtQueues, QueueTimes, Waiting};
pub use compiled::{Batch, Compiled, StageTimes, WORKER_STACK_BYTES, Way};
pub use coverage::{Coverage, Part, PartKind};
pub use data_plane::{
    Compile, ControlChanges, InterpreterTarget, PacketCounts, Ports, SEARCHED_ENTRIES, TableUsage,
    V1ModelSettings, Worker, digest_data, translated_types,
};
pub use dialect::Dialect;
pub use error::{CompileError, ControlError, InternalError, LoadError, RunError};
pub use externs::meter::{Color, MeterConfig};
pub use ir::hash::{CrcParameters, internet_checksum};
pub use layout::PACKET_WORK;
pub use queued::{Content, Leaving, QueuedPorts};
pub use state::{Backups, CloneSession, Digest, Replica, Replicas};
pub use switch::{Core, Heads, Path, Processor, Switch};
pub use table::{
    ActionCall, Changed, CounterValue, EntryAction, EntryChange, EntryHandle, FieldMatch, Group,
    GroupMember, IdleEntry, TableEntry, WeightedAction, table_design,
};
pub use trace::{Candidate, Checkpoint, Detail, Event, ExternArgument, Selection, Trace};
pub use translated::Translated;
pub use value::Value;
