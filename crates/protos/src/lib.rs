//! The generated messages and services of P4Runtime, one module per proto package, those of the
//! switch's own service for what P4Runtime lacks ([`switch`]), and the messages of Planimeter's own
//! traces ([`trace`]) and of generated tests ([`testgen`]).
//!
//! Names, numbers and types are those of the P4Runtime specification 1.5 plus the two additions of
//! release 1.6 (`ActionRef.Scope.GROUP_ACTION`, `ActionProfileActionSet.group_action`), so that
//! messages of newer controllers survive a round trip. `tests/descriptors.rs` compares them with
//! the descriptors that the P4 consortium publishes.
//!
//! Every `bytes` field is a [`bytes::Bytes`]: a packet-in that is decoded from a received frame
//! shares the frame's memory. Maps are ordered, so that encoding is deterministic.
//!
//! The code is generated from `proto/` and checked in, so that builds need no protobuf compiler.
//! `tests/generated.rs` checks it against the protos and regenerates it.

mod conversions;
pub mod roles;

use std::sync::OnceLock;

use prost::Message;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage};

/// `google.rpc`: the status message that gRPC services share.
pub use self::packages::google::rpc;
/// `p4.config.v1`: P4Info and the types it describes.
pub use self::packages::p4::config::v1 as config;
/// `p4.v1`: the P4Runtime service and its entities.
pub use self::packages::p4::v1;
/// `planimeter.switch.v1`: the queues of a switch, and the injection of packets.
pub use self::packages::planimeter::switch::v1 as switch;

/// `planimeter.testgen.v1`: generated tests of a P4 program.
pub use self::packages::planimeter::testgen::v1 as testgen;
/// `planimeter.trace.v1`: records of how a P4 program processed a packet.
pub use self::packages::planimeter::trace::v1 as trace;

/// The serialised `google.protobuf.FileDescriptorSet` of `planimeter.trace.v1` alone.
pub const TRACE_DESCRIPTORS: &[u8] = include_bytes!("generated/trace_descriptors.bin");

/// The serialised `google.protobuf.FileDescriptorSet` of all services and their imports, in the
/// form that server reflection and [`prost_reflect::DescriptorPool`] expect.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");

/// Returns the descriptors for lookups. Returns `None` if they cannot be decoded; a test proves
/// that they can.
#[must_use]
pub fn pool() -> Option<&'static DescriptorPool> {
    static POOL: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    POOL.get_or_init(|| DescriptorPool::decode(DESCRIPTORS).ok()).as_ref()
}

/// Returns the descriptors of `planimeter.trace.v1` for lookups. Returns `None` if they cannot be
/// decoded; a test proves that they can.
#[must_use]
pub fn trace_pool() -> Option<&'static DescriptorPool> {
    static POOL: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    POOL.get_or_init(|| DescriptorPool::decode(TRACE_DESCRIPTORS).ok()).as_ref()
}

/// Returns a message in the text format of protocol buffers, on one line. `name` is the full name
/// of its type, such as `p4.v1.WriteRequest`. The result is empty if there is no such type.
#[must_use]
pub fn text<M: Message>(name: &str, message: &M) -> String {
    let descriptor = pool().and_then(|pool| pool.get_message_by_name(name));
    let dynamic = descriptor
        .and_then(|descriptor| DynamicMessage::decode(descriptor, &*message.encode_to_vec()).ok());
    let options = FormatOptions::new().pretty(false);
    dynamic.map(|message| message.to_text_format_with_options(&options)).unwrap_or_default()
}

/// Reads a message in the text format of protocol buffers. `name` is the full name of its type.
///
/// # Errors
/// Returns a description if there is no such type, or if the text is not a message of it.
pub fn parse<M: Message + Default>(name: &str, text: &str) -> Result<M, String> {
    let descriptor = pool().and_then(|pool| pool.get_message_by_name(name));
    let descriptor = descriptor.ok_or_else(|| format!("there is no message {name}"))?;
    let message = DynamicMessage::parse_text_format(descriptor, text);
    let message = message.map_err(|error| error.to_string())?;
    M::decode(&*message.encode_to_vec()).map_err(|error| error.to_string())
}

/// The modules of generated code, nested like the proto packages, as the code refers to them.
mod packages {
    #![allow(missing_docs, unreachable_pub, clippy::all, rustdoc::all)]

    pub mod google {
        pub mod rpc {
            include!("generated/google.rpc.rs");
        }
    }

    pub mod p4 {
        pub mod v1 {
            include!("generated/p4.v1.rs");
        }

        pub mod config {
            pub mod v1 {
                include!("generated/p4.config.v1.rs");
            }
        }
    }

    pub mod planimeter {
        pub mod switch {
            pub mod v1 {
                include!("generated/planimeter.switch.v1.rs");
            }
        }

        pub mod testgen {
            pub mod v1 {
                include!("generated/planimeter.testgen.v1.rs");
            }
        }

        pub mod trace {
            pub mod v1 {
                include!("generated/planimeter.trace.v1.rs");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_text() {
        let request = v1::ReadRequest {
            device_id: 7,
            entities: vec![v1::Entity {
                entity: Some(v1::entity::Entity::TableEntry(v1::TableEntry {
                    table_id: 5,
                    ..Default::default()
                })),
            }],
            ..Default::default()
        };
        let text = text("p4.v1.ReadRequest", &request);
        assert_eq!(text, "device_id:7,entities:[{table_entry{table_id:5}}]");
        assert_eq!(parse::<v1::ReadRequest>("p4.v1.ReadRequest", &text), Ok(request.clone()));
        assert!(parse::<v1::ReadRequest>("p4.v1.ReadRequest", "device:7").is_err());
        assert_eq!(super::text("p4.v1.Unknown", &request), "");
    }
}
