//! Small reference controllers over OpenFlow and P4Runtime.
//!
//! Four applications over two protocols. What an application decides about a packet is in
//! [`application`], without sockets and without a protocol; [`openflow`] and [`p4runtime`] carry
//! packets to it and its decisions back. A controller author may begin with
//! [`application::Forwarding::packet_in`] and go on with the adapter of the protocol at hand.
//!
//! The null responder decides nothing. It answers as fast as it can, so that a benchmark can
//! measure its own ceiling.

pub mod application;
mod counters;
pub mod heartbeat;
mod http;
mod journal;
mod northbound;
pub mod onos;
pub mod openflow;
pub mod p4runtime;
pub mod pipeline;

pub use counters::{Counters, Counts};
pub use journal::Journal;
