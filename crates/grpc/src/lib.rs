//! gRPC over HTTP/2 for both ends, in a runtime that the caller owns, with TLS and TCP settings
//! suited to measurements.
//!
//! The layer between h2 and the calls (`http2`, private) is this crate's own: a connection with all
//! its calls is one task, and a message can be written immediately, without waiting until the
//! runtime polls that task. Messages, metadata, statuses, and calls that are not time-critical are
//! those of tonic.
//!
//! * [`server`]: accepts connections for [`server::Services`], which serve most calls as futures,
//!   and some as [`server::Channel`]s: long calls whose messages can be written immediately.
//! * [`client`]: a connection for the clients that tonic generates, which can open such calls too.
//! * [`LimitedConnections`]: the connections of a further port of the same process.
//! * [`Outbox`]: the queue of such a call's messages, which leave together in one frame.
//!
//! The crate knows nothing of particular services.
//!
//! ```no_run
//! use grpc::client::{DialOptions, Line};
//! use std::time::Duration;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let timeout = Duration::from_secs(5);
//! let options = DialOptions { tls: None, timeout, response_limit: 4 << 20 };
//! // A client that tonic generated takes the line in the place of a channel.
//! let line = Line::connect("127.0.0.1:9559", &options).await?;
//! println!("connected to {}", line.origin());
//! # Ok(())
//! # }
//! ```
//!
//! The queue of an outbox is bounded, and the number of messages that fit is returned:
//!
//! ```
//! use grpc::{Outbox, QueueLimit, When};
//!
//! let (outbox, _reader) = Outbox::<String>::new(QueueLimit::of_messages(2));
//! let queued = outbox.push_all(["one", "two", "three"].map(str::to_owned), When::InTurn);
//! assert_eq!((queued, outbox.waiting()), (2, 2));
//! ```

mod admission;
pub mod client;
mod connections;
mod http2;
mod outbox;
pub mod server;
pub mod tcp;
pub mod timer;
pub mod tls;
mod unary;
mod window;

pub use admission::Held;
pub use connections::LimitedConnections;
pub use http2::{
    Call, Encode, Link, Messages, ReceivedBody, Sending, When, put, status,
    without_unreadable_details,
};
pub use outbox::{Outbox, OutboxReader, QueueLimit, Weighed};
pub use unary::{Later, Method, Streaming};
