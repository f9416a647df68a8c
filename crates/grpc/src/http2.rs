//! The HTTP/2 layer of clients and servers, between the h2 crate and the calls.
//!
//! A connection and all its calls are one task of the runtime. One poll of that task is called a
//! *turn*. A message can also be written *out of turn*: the caller writes it to the socket itself,
//! without waiting for the runtime to poll the task. tonic's own transport does not allow this.
//! There, a message is queued for a task, which wakes another task, and the runtime polls both only
//! after all tasks that were woken earlier. With 100 connections, avoiding these layers also made a
//! packet-in and its answer a quarter cheaper.

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
