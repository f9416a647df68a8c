//! P4Runtime and P4Info: protos, entity encoding, arbitration, a thin server and client.

pub mod arbitration;
mod outbox;
pub mod packet_io;
pub mod proto;
pub mod status;
pub mod value;
