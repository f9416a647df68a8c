//! The commands of a P4Runtime client, as people type them: `table add ipv4_lpm dst=10.0.0.0/8 ...`
//! and, in the language of simple_switch_CLI, `table_add ipv4_lpm ... => ...`.
//!
//! The crate has no sockets. A [`Session`] looks up names in the P4Info of a [`Device`], which the
//! caller provides, makes requests, and returns results as [`Item`]s. [`view()`] formats an item as
//! text and as JSON.
//!
//! * [`run_line`] runs a command.
//! * [`complete()`] returns the words that can complete a line.
//! * [`OWN`] and [`SIMPLE_SWITCH`] list the commands.

mod arrays;
mod catalogue;
mod complete;
mod device;
mod entries;
mod error;
mod handles;
mod messages;
mod names;
mod nodes;
mod operands;
mod profiles;
mod queue;
mod replication;
mod run;
mod session;
mod simple_switch;
mod tables;
mod value;
mod value_sets;
mod view;
mod whole;
mod words;

pub use catalogue::{Command, OWN, SIMPLE_SWITCH};
pub use complete::{Completion, complete};
pub use device::{Device, Message, PortState, PushAction, Until};
pub use error::{CommandError, DeviceError};
pub use run::{Flow, run_line, run_words};
pub use session::{Item, Session};
pub use view::{View, view};
pub use words::{UnclosedQuote, quoted, split};
