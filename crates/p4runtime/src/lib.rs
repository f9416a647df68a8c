//! P4Runtime and P4Info: protos, entity encoding, arbitration, a thin server and client.

pub mod arbitration;
pub mod proto;
