//! Small reference controllers over OpenFlow and P4Runtime.
//!
//! There are four applications and two protocols. The module [`application`] decides about packets,
//! independently of sockets and protocols. The modules [`openflow`] and [`p4runtime`] pass packets
//! to it and carry out its decisions. Readers who want to write a controller may begin with
//! [`application::Forwarding::packet_in`] and continue with the module of their protocol.
//!
//! The null responder makes no decisions. It answers as fast as possible, so that a benchmark can
//! measure its own maximum rate.

pub mod application;
mod counters;
pub mod heartbeat;
mod http;
mod journal;
pub mod model;
mod northbound;
pub mod onos;
pub mod openflow;
pub mod p4runtime;
pub mod pipeline;

pub use counters::{Counters, Counts};
pub use journal::Journal;
