//! OpenFlow 1.0 and 1.3 on the wire, without sockets or clocks.
//!
//! The crate offers three interfaces to the same bytes:
//!
//! * [`wire`]: views over a message that read or change a field in place and allocate nothing, and
//!   emitters that append a whole packet-in or packet-out; for code that runs millions of times a
//!   second.
//! * [`v1_0::Message`] and [`v1_3::Message`]: owned representations of every message, which decode
//!   and encode byte-exactly; for everything else.
//! * [`framing`] and [`handshake`]: the steps between a byte stream and those messages, as state
//!   machines whose inputs are bytes and time and whose outputs are bytes.
//!
//! In this example, a switch and a controller agree on a version and exchange nothing but bytes:
//!
//! ```
//! use openflow::framing::Framer;
//! use openflow::handshake::{Handshake, SwitchIdentity};
//! use openflow::v1_0::{FragmentHandling, SwitchConfig};
//! use openflow::{DatapathId, Version};
//!
//! let versions = [Version::V1_0, Version::V1_3];
//! let mut switch = Handshake::switch(&versions, SwitchIdentity::new(DatapathId(1)));
//! let config = SwitchConfig { flags: FragmentHandling::NORMAL, miss_send_len: 128 };
//! let mut controller = Handshake::controller(&[Version::V1_3], config);
//! let (mut to_controller, mut to_switch) = (Vec::new(), Vec::new());
//! switch.start(&mut to_controller);
//! controller.start(&mut to_switch);
//! while !(to_controller.is_empty() && to_switch.is_empty()) {
//!     let at_controller = std::mem::take(&mut to_controller);
//!     let at_switch = std::mem::take(&mut to_switch);
//!     for frame in Framer::new().frames(&at_controller) {
//!         controller.receive(frame?, &mut to_switch)?;
//!     }
//!     for frame in Framer::new().frames(&at_switch) {
//!         switch.receive(frame?, &mut to_controller)?;
//!     }
//! }
//! assert_eq!(switch.version(), Some(Version::V1_3));
//! assert_eq!(controller.features().map(|features| features.datapath_id), Some(DatapathId(1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No function panics on invalid bytes or allocates more than in proportion to its input. Errors
//! name the field and its offset in the message.

#[macro_use]
mod structure;
#[macro_use]
mod open_enum;

mod cursor;
mod error;
mod error_reason;
pub mod framing;
pub mod handshake;
mod id;
mod port;
mod text;
pub mod v1_0;
pub mod v1_3;
pub mod wire;

pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use error_reason::ErrorReason;
pub use id::{BufferId, DatapathId, MacAddress, ParseIdError, Version, Xid};
pub use port::PortNumber;
pub use text::FixedText;
