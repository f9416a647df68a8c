//! Observes the TCP connections between the switches and the controller through the kernel.
//!
//! The engine, which sends packet-ins, sees only which bytes a connection accepts and delivers. The
//! remaining bytes are in queues of the kernel: those that the controller's receive window keeps
//! back, those in transit, and answers that the probe has not read. [`measuring::tcp`] queries the
//! kernel for all connections at once. The conductor, the thread that leads a trial, makes these
//! queries, so that engine threads spend no time on them. [`watch`] turns the replies into samples,
//! and [`summary`] condenses the samples of the measured window for the verdict.

mod summary;
mod watch;

pub(crate) use measuring::tcp::Ends;
pub(crate) use summary::{Spell, Summary};
pub(crate) use watch::{Look, Watch};
