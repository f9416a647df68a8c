//! Measures a switch, the device under test, from the side of its controller, over P4Runtime or
//! OpenFlow.
//!
//! [`measure`] becomes the controller of a switch and measures one table: how many entries the
//! switch inserts, modifies and deletes per second and how long it takes to answer ([`updates`]),
//! which rate of updates it sustains ([`sustained`]), how fast it returns entries when they are
//! read ([`reads`]), how old the values of counters are ([`counters`]), and how many entries the
//! table holds ([`capacity`]). For a P4Runtime switch, the entries are generated from its own
//! P4Info ([`EntryMaker`]); for an OpenFlow switch, they are flows that no other controller uses.
//! All are removed again. The two protocols differ only in the control channel of a session and in
//! that of a measurement with packets.
//!
//! An answer says that the switch has accepted an update, but not that packets obey it yet. Packets
//! that are sent through the ports of the switch show this ([`live`]): from which moment they obey
//! an update, and which packets are lost or misdirected during the change ([`effects`]). Packets
//! also show how fast a switch passes packets to its controller and sends those of the controller
//! ([`slow_path`]), and when and how often it sends the digests of packets ([`digests`]). A second
//! controller shows how long a hand-over between controllers of a P4Runtime switch takes
//! ([`roles`]). Entries with timeouts show whether the switch acts on them in time ([`timeouts`]).
//! Packets that are sent faster than a meter lets them pass show its rates and bursts ([`meters`]),
//! and random flows show how a group distributes them over its members ([`groups`]). The commit of
//! a pipeline shows whether packets and entries survive it ([`commits`]). Packets that pass through
//! the switch while its control channel is busy show what updates, reads and full tables cost
//! forwarding ([`background`]).

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
