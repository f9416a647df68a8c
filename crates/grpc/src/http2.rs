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
    error::{too_long, too_much},
    settings::{HeaderLimit, Watched},
    socket::{Gate, Socket},
    turn::{Calls, Connection, Shared},
};
