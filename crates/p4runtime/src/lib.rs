//! P4Runtime (specification 1.5) and P4Info, for both ends of the wire.
//!
//! The crate is built in layers, and only the uppermost knows sockets and a clock:
//!
//! * [`proto`]: the messages and services, compiled from protos of our own.
//! * [`status`]: errors as the protocol reports them.
//! * [`p4info`]: a P4Info checked and indexed once, then shared by any number of switches.
//! * `conversion`: between messages and the entities of the crate [`entities`], checked.
//! * [`store`]: the entities of a switch as messages, over any data plane; [`emulated`]: the data
//!   plane of a switch that processes no packets.
//! * [`arbitration`], [`packet_io`], [`session`]: who may write, and what a switch answers.
//! * `decoding`: what a request takes in memory, before it is decoded.
//! * [`server`], [`client`]: the two ends over gRPC.

pub mod arbitration;
pub mod client;
mod conversion;
mod decoding;
pub mod emulated;
pub mod gnmi;
pub mod p4info;
pub mod packet_io;
pub mod proto;
pub mod server;
pub mod session;
pub mod status;
pub mod store;

pub use entities::value;

/// The path of the RPC whose messages are written out of turn.
const STREAM_CHANNEL: &str = "/p4.v1.P4Runtime/StreamChannel";
