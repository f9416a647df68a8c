//! What both ends share over HTTP/2: a connection with all its calls as one task, and writing out
//! of turn.
//!
//! This is what lies between h2 and the RPCs. tonic's own transport is not used, since it gives no
//! way to write a packet when it is due: there the message is queued for a task, that wakes
//! another one, and the runtime comes to both when it has polled everything that woke earlier.
//! Over 100 connections, a packet-in and its answer also cost a quarter less without those layers.

mod body;
mod error;
mod message;
mod sending;
mod settings;
mod socket;
mod tasks;
mod turn;

pub use self::{
    body::ReceivedBody,
    error::{status, without_unreadable_details},
    message::{Messages, put},
    sending::{Encode, Sending},
    turn::{Call, Link, When},
};
pub(crate) use self::{
    body::{SendingBody, send_body},
    error::too_long,
    settings::{HeaderLimit, Watched},
    socket::{Gate, Socket},
    turn::{Calls, Connection, Shared},
};

/// What a peer may send on a stream, and on a connection, before we have read it. It is a limit
/// and not an allocation.
pub(crate) const STREAM_WINDOW: u32 = 4 << 20;
/// See [`STREAM_WINDOW`].
pub(crate) const CONNECTION_WINDOW: u32 = 16 << 20;
/// Fewer, larger frames for batches of packets.
pub(crate) const MAX_FRAME: u32 = 64 << 10;
/// What received frames may cost beside their payload, in bytes as h2 counts them: 256 less the
/// payload for each that has not been read. Peers such as grpc-java and grpc-go send each message
/// in a frame of its own, so that windows full of packets of 64 bytes cost three times the window,
/// and the default of half a window closes connections whose packets are a moment late to be read.
pub(crate) const FRAME_BUDGET: usize = 16 * CONNECTION_WINDOW as usize;
