//! Code that the measurements of controllers and of switches share.
//!
//! [`search`] finds the highest rate that a system sustains, and the knee of its response time. It
//! is a state machine without I/O and without a clock: the caller makes the trials, on sockets or
//! in virtual time, and reports what it observed. [`tcp`] reads the state of TCP connections from
//! the kernel, which tells whether a peer, the network or this program kept bytes back.

pub mod search;
pub mod tcp;
