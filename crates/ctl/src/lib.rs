//! The commands of a P4Runtime client, as people type them: `table add ipv4_lpm dst=10.0.0.0/8 ...`
//! and, in the words of simple_switch_CLI, `table_add ipv4_lpm ... => ...`.
//!
//! The crate has no sockets. A [`Session`] finds names in the P4Info of a [`Device`], which the
//! caller provides, makes requests, and returns results as [`Item`]s. [`view()`] shows an item as
//! text and as JSON.
//!
//! * [`run_line`] runs a command.
//! * [`complete()`] says how the last word of a line can be completed.
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

/// Returns the view of a message that a device sent by itself.
#[must_use]
pub fn message_view(schema: Option<&p4runtime::p4info::Schema>, found: &Message) -> View {
    view::message(schema, found)
}
