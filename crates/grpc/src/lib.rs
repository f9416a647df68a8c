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
//!
//! ```no_run
//! use grpc::client::{DialOptions, Line};
//! use std::time::Duration;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = DialOptions { tls: None, timeout: Duration::from_secs(5), response_limit: 4 << 20 };
//! // A client that tonic generated takes the line in the place of a channel.
//! let line = Line::connect("127.0.0.1:9559", &options).await?;
//! println!("connected to {}", line.origin());
//! # Ok(())
//! # }
//! ```
//!
//! What waits in an outbox is limited, and what does not fit is told:
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
mod http2;
mod outbox;
pub mod server;
pub mod tcp;
pub mod tls;
mod unary;
mod window;

pub use admission::Held;
pub use http2::{
    Call, Encode, Link, Messages, ReceivedBody, Sending, When, put, status,
    without_unreadable_details,
};
pub use outbox::{Outbox, OutboxReader, QueueLimit, Weighed};
pub use unary::{Later, Method, Streaming};
