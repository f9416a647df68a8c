//! The state of the kernel's connections between the switches and the controller.
//!
//! The engine sees which bytes a connection accepts and delivers. Behind that are the kernel's
//! queues: bytes that the controller's receive window keeps back, bytes in transit, and answers
//! that the probe has not read. [`diag`] queries the kernel for all connections at once on the
//! conductor's thread, so that engine threads spend no time on it. The query needs no socket
//! handles and covers OpenFlow, P4Runtime and TLS connections alike. [`watch`] turns the replies
//! into samples, and [`summary`] condenses the samples of a window for an account.

mod diag;
mod summary;
mod watch;

pub(crate) use diag::Ends;
pub(crate) use summary::{Spell, Summary};
pub(crate) use watch::{Look, Watch};
