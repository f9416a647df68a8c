//! Tests of Planimeter against real controllers, clients and other peers.
//!
//! An implementation of a protocol that was only tested against itself may be wrong on both sides.
//! The tests here start programs of other authors, connect them to emulated switches, and compare
//! what both sides report. This library contains what the tests share: the locations of the
//! programs ([`Peer`]), processes that do not outlive a test ([`Running`]), a short form of probe
//! runs ([`ProbeRun`], and [`Serving`] for P4Runtime), and a switch on ports ([`SwitchProcess`])
//! with hosts around it in network namespaces ([`Lab`]).

mod namespace;
mod peer;
mod process;
mod run;
mod serving;
mod switch;

pub use namespace::Lab;
pub use peer::{Peer, java, peers, repository};
pub use process::{Running, free_port, poll};
pub use run::{OneTrial, ProbeRun, rfc8456};
pub use serving::Serving;
pub use switch::{ADDRESS, SwitchProcess, binary};
