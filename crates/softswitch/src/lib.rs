//! A software switch: P4 programs that forward packets between ports under the control of P4Runtime
//! controllers.
//!
//! One process holds any number of devices behind one gRPC address. Packets never meet the threads
//! of the control plane: each worker thread owns one queue of every port, receives packets, runs
//! the program and transmits the results ([`worker`](self)); a separate thread serves gRPC. Both
//! sides share the state of the running program through [`pipeline`]. Beyond that, only three
//! channels connect them: packet-outs are posted to a worker's mailbox, packet-ins go into the
//! outboxes of the controllers' streams, and the serving thread fetches digests.
//!
//! [`in_process`] is the same switch without ports and threads, for tests and scripts.
//!
//! A controller may push its device configuration in any form that [`p4lang::device_config`]
//! recognises: BMv2 JSON, this project's compiled form, or P4 source.

mod control;
mod controller_headers;
mod device;
mod entry_controller;
pub mod in_process;
mod injected;
mod limits;
mod log;
mod mailbox;
mod metrics;
mod ports;
mod queue_state;
mod record;
mod restored;
pub mod runtime_json;
mod server;
mod state_log;
mod switch;
mod thrift;
pub mod topology_json;
mod worker;

pub use device::{Activity, DeviceConfig};
pub use journal::{Gap, OpenError, RepairError, RepairReport};
pub use limits::SwitchLimits;
pub use loader::{Executable, Isolation, LoadLimits, Pushes};
pub use log::{Log, Verbosity};
pub use p4runtime::p4info::GivenNumbers;
pub use p4runtime::server::{Limits, ServerTls, TlsError};
pub use pipeline::{Path, V1ModelSettings};
pub use ports::PortState;
pub use queue_state::{Pace, QueueState};
pub use restored::repair as repair_state;
pub use state_log::Durability;
pub use switch::{DeviceState, Options, Segments, StartError, Switch};
