//! Measurements of a switch from the controller's side, over P4Runtime or OpenFlow: the device
//! under test.
//!
//! [`measure`] becomes the controller of a switch and measures one table: how many entries the
//! switch inserts, modifies and deletes in a second and after which time it answers ([`updates`]),
//! which rate it sustains ([`sustained`]), how fast it sends entries ([`reads`]) and how old the
//! values of counters are ([`counters`]), and how many it accepts ([`capacity`]). For a P4Runtime
//! switch, the entries are made from its own P4Info ([`EntryMaker`]); for an OpenFlow switch, they
//! are flows that no other controller uses. All are removed again. The two protocols differ only in
//! the control channel of a session and in that of a measurement with packets.
//!
//! An answer says that the switch has accepted an update, but not that packets obey it yet. For
//! that, packets are sent through the ports of the switch ([`live`]). Their times show from which
//! moment packets obey an update, and which packets are lost or go astray during the change
//! ([`effects`]). Packets also show how fast a switch passes packets to its controller and sends
//! those of the controller ([`slow_path`]), and when and how often it sends the digests of packets
//! ([`digests`]). A second controller shows how long a hand-over between controllers of a P4Runtime
//! switch takes ([`roles`]). Entries with timeouts show whether the switch acts on them in time
//! ([`timeouts`]). Packets that are sent faster than a meter lets them pass show its rates and
//! bursts ([`meters`]), and random flows how a group distributes them over its members
//! ([`groups`]). The commit of a pipeline shows whether packets and entries survive it
//! ([`commits`]). Packets that pass through the switch while its control channel is busy show what
//! updates, reads and full tables cost forwarding ([`background`]).

pub mod background;
pub mod capacity;
mod clock;
pub mod commits;
pub mod counters;
pub mod digests;
pub mod effects;
mod entries;
mod entry_number;
mod error;
mod flows;
mod forwarded;
pub mod groups;
mod key_kind;
mod leaving_flow;
pub mod live;
mod loaded_table;
mod memory;
pub mod meters;
mod outlet;
mod pace;
mod plan;
mod poll;
pub mod reads;
pub mod roles;
mod session;
pub mod slow_path;
mod stream;
pub mod sustained;
mod tag;
mod target;
#[cfg(test)]
mod testing;
pub mod timeouts;
mod transport;
pub mod updates;
mod watch;
mod window;

pub use entries::{EntryFile, EntryMaker, MakerError, OwnEntries, OwnFile};
pub use entry_number::{EntryNumber, Variant};
pub use error::DutError;
pub use flows::{FlowMatch, OwnFlows};
pub use key_kind::KeyKind;
pub use memory::SwitchProcess;
pub use outlet::Outlet;
pub use plan::{Outcome, Plan, Protocol, Subject, measure};
pub use session::{Device, Listening};
pub use target::Target;
pub use transport::Evidence;
pub use watch::Watch;
pub use window::{BatchAtomicity, Call, Operation, Phase, Refusal};
