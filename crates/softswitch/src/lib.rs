//! A switch: a P4 program on ports, driven by P4Runtime controllers.
//!
//! One process holds any number of devices behind one gRPC address. Packets never meet the control
//! plane's threads: each worker thread owns one queue of every port, takes what came in, runs the
//! program on it and hands out what leaves ([`worker`](self)); a thread of its own serves gRPC. The
//! two share the state of the running program, through [`pipeline`], and three narrow ways: packets
//! that controllers send are posted to a worker, packets for controllers go into the outboxes of
//! their streams, and digests are fetched by the thread that serves.
//!
//! What a controller pushes as device configuration is taken in whatever form it comes
//! ([`p4lang::device_config`]): BMv2 JSON, our own compiled form, P4 source.

mod device;
mod entry_controller;
mod limits;
mod log;
mod mailbox;
mod metrics;
mod ports;
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
pub use p4runtime::server::{Limits, ServerTls, TlsError};
pub use pipeline::{Path, V1ModelSettings};
pub use ports::PortState;
pub use restored::repair as repair_state;
pub use state_log::Durability;
pub use switch::{DeviceState, Options, Segments, StartError, Switch};
