//! What packet-ins carry: frames of emulated hosts, each with an identity of its own.
//!
//! [`Hosts`] says who is behind which port, [`FramePlan`] checks what is to be sent and reads
//! captures once, and each switch's [`FrameSource`] then makes frame after frame from a template,
//! as a pure function of switch, sequence number and seed. [`read_id`] recognises a frame in
//! whatever the controller sends back. Nothing here knows of control protocols, sockets or time.

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
