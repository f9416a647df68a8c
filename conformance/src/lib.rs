//! Real controllers, clients and peers, driven against Planimeter.
//!
//! A protocol that only its own author's two halves have spoken is not known to be spoken
//! correctly. The tests here start programs that others wrote, let them meet emulated switches,
//! and compare what both sides say happened. This library is what the tests share: where the
//! programs are ([`Peer`]), how they run without outliving a test ([`Running`]), a probe run
//! in few words ([`ProbeRun`], and [`Serving`] for P4Runtime), and a switch on ports
//! ([`SwitchProcess`]) with hosts around it in network namespaces ([`Lab`]).

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
