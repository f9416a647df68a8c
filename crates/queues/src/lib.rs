//! The queues of an output port as a model without I/O: time and packets are arguments.
//!
//! A [`Port`] has up to [`MAX_QUEUES`] queues. A packet is admitted to one of them
//! ([`Port::enqueue`]) or refused: by the queue's depth, the port's buffer, or RED. [`Port::due`]
//! returns the time at which the port starts its next packet, and [`Port::dequeue`] takes that
//! packet out. [`Port::finished`] then states how long the packet is on the wire, since a program
//! may change or drop it after it has left the queue.
//!
//! ```
//! use queues::{Arrival, Configuration, Nanos, Port, QueueId};
//!
//! let lines = Configuration::parse(&["port=1 rate=8Mbps queues=2"]).expect("two queues");
//! let mut port = Port::new(&lines.0[&1], Nanos(0), 1);
//! for (number, handle) in [(0, "bulk"), (1, "voice"), (0, "more bulk")] {
//!     let packet = Arrival { length: 1000, is_capable: false, handle };
//!     let queue = QueueId::new(number).expect("a queue");
//!     port.enqueue(Nanos(0), queue, packet).expect("there is room");
//! }
//! let mut left = Vec::new();
//! while let Some(due) = port.due() {
//!     left.extend(port.dequeue(due).map(|packet| (packet.handle, packet.start)));
//! }
//! // Each takes 1 ms on the wire, and the queue with the largest number is the most urgent.
//! assert_eq!(left, [
//!     ("voice", Nanos(0)),
//!     ("bulk", Nanos(1_000_000)),
//!     ("more bulk", Nanos(2_000_000)),
//! ]);
//! ```
//!
//! # Time
//!
//! Events happen at whole nanoseconds. Rates need no such grid: a shaper keeps the exact instant at
//! which its bucket is full, as whole nanoseconds and a remainder ([`Limit`]). An event is due at
//! the first whole nanosecond at or after its exact instant, but the next packet counts from the
//! exact instant. Rates of long runs therefore have no error at all.
//!
//! # Service
//!
//! The path of a packet is admission, the queue's shaper, the scheduler, the port's shaper.
//!
//! * The shaper of a queue releases packets to the scheduler in order. A packet of length `L` is
//!   released as soon as its token bucket holds `L`, so releases obey `rate * t + max(burst, L)`.
//!   The bucket is charged when a packet is released and not when it is sent, so a queue that waits
//!   for others keeps its rate.
//! * The scheduler serves the highest level that has a released packet. Queues of one level take
//!   turns: by weights in packets (weighted round robin), or by quanta in bytes (deficit round
//!   robin, Shreedhar and Varghese, 1996).
//! * The shaper of a port without burst is a link: a packet starts when the one before it has
//!   ended. With a burst, a packet starts while the shaper is at most `burst` behind.

mod clock;
pub mod config;
mod counts;
pub mod ecn;
pub mod network;
mod port;
mod queue;
mod red;
mod scheduler;
mod units;

pub use config::{Configuration, Limit, PortConfig, QueueConfig, Shaper};
pub use counts::QueueCounts;
pub use port::{Arrival, Departure, Enqueued, Port, Refused};
pub use queue::Refusal;
pub use units::{MAX_QUEUES, Nanos, QueueId, UnitError, time};
