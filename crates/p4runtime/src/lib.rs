//! P4Runtime and P4Info: protos, entity encoding, arbitration, a thin server and client.

pub mod arbitration;
pub mod client;
mod outbox;
pub mod packet_io;
pub mod p4info;
pub mod proto;
pub mod server;
pub mod session;
pub mod status;
pub mod store;
pub mod value;
