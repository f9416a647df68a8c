//! The kernel's knowledge of the connections between the switches and the controller.
//!
//! The engine sees what a connection takes and brings. Behind that lie the kernel's queues: bytes
//! that the controller's window keeps back, bytes on their way, and answers that the probe has not
//! read. [`diag`] asks the kernel for all connections at once, on the conductor's thread, so that
//! no engine thread spends time on it and no socket needs to be known here: the question covers
//! those of OpenFlow, of P4Runtime and under TLS alike. [`watch`] makes looks of the answers, and
//! [`summary`] what an account needs of a window.

mod diag;
mod summary;
mod watch;

pub(crate) use diag::Ends;
pub(crate) use summary::{Spell, Summary};
pub(crate) use watch::{Look, Watch};
