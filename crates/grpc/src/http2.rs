//! The HTTP/2 layer that both ends share. It sits between h2 and the RPCs.
//!
//! A connection and all its calls are one task of the runtime. One poll of that task is called a
//! *turn*. A message can also be written *out of turn*: the caller writes it to the socket itself,
//! without waiting for the runtime to poll the task. tonic's own transport is not used because it
//! does not allow this: there a message is queued for a task, which wakes another task, and the
//! runtime polls both only after everything that woke earlier. With 100 connections, a packet-in
//! and its answer also cost a quarter less without those layers.

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
