//! gRPC over HTTP/2, for both ends, in a loop that the caller owns; and TLS and TCP as a measurement wants them.
//!
//! What lies between h2 and the calls is ours (`http2`, private): a connection with all its calls is one task, and a
//! message can be written when it is due instead of when the runtime comes to it. Messages, metadata and statuses are
//! tonic's, and so are calls that nobody is in a hurry for.
//!
//! * [`server`]: accepts connections for [`server::Services`], which serve most calls as futures, and some as
//!   [`server::Channel`]s: long calls whose messages are written out of turn.
//! * [`client`]: a connection that the clients use which tonic generates, and that opens such calls too.
//! * [`Outbox`]: where the messages of such a call wait, and from where they leave in one frame.
//!
//! Nothing here knows of a service.

pub mod client;
mod http2;
mod outbox;
pub mod server;
pub mod tcp;
pub mod tls;
mod unary;

pub use http2::{
    Call, Encode, Link, Messages, ReceivedBody, Sending, When, put, status,
    without_unreadable_details,
};
pub use outbox::{Outbox, OutboxReader, QueueLimit, Weighed};
pub use unary::{Method, Streaming};
