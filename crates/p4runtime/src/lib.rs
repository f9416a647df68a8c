//! P4Runtime (specification 1.5) and P4Info, for both ends of the wire.
//!
//! The crate is built in layers, and only the uppermost knows sockets and a clock:
//!
//! * [`proto`]: the messages and services, compiled from protos of our own.
//! * [`value`], [`status`]: byte strings in canonical form; errors as the protocol reports them.
//! * [`p4info`]: a P4Info checked and indexed once, then shared by any number of switches.
//! * [`store`]: what a switch keeps of what it is told: table entries, action profiles, counters,
//!   meters, registers and the rest, validated, read back, undone when a batch fails.
//! * [`arbitration`], [`packet_io`], [`session`]: who may write, and what a switch answers.
//! * [`server`], [`client`]: the two ends over gRPC.

pub mod arbitration;
pub mod client;
pub mod gnmi;
pub mod p4info;
pub mod packet_io;
pub mod proto;
pub mod server;
pub mod session;
pub mod status;
pub mod store;
pub mod value;

/// The path of the RPC whose messages are written out of turn.
const STREAM_CHANNEL: &str = "/p4.v1.P4Runtime/StreamChannel";
