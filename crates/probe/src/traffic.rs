//! The contents of packet-ins: frames of emulated hosts, each with a packet ID that occurs only
//! once.
//!
//! [`Hosts`] places hosts behind switch ports. [`FramePlan`] checks the configured frames and reads
//! captures once. The [`FrameSource`] of each switch fills a template for every frame, so a frame
//! depends only on the switch, the sequence number and the seed. [`read_id`] finds the packet ID in
//! a frame that the controller sends back. This module knows no control protocols, sockets or time.

mod addresses;
mod checksum;
mod describe;
mod discovery;
mod error;
mod frames;
mod hosts;
mod id;
mod replay;

pub use addresses::MacAddress;
pub(crate) use describe::describe;
pub use discovery::is_discovery;
pub use error::{FrameError, HostsError};
pub(crate) use frames::PathFrames;
pub use frames::{FramePlan, FrameSource, RFC8456_FRAME_BYTES, check_frame_bytes};
pub use hosts::{Host, Hosts};
pub use id::{PacketId, RunKey, SEARCH, read_id};

#[cfg(test)]
mod tests;
