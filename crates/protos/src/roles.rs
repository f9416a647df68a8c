//! The message that configures a role. P4Runtime leaves its format open (1.5, section 5.2); servers
//! and controllers have in practice agreed on `stratum.P4RoleConfig` of the Stratum project.

use bytes::Bytes;
use prost::Message;
use prost_types::Any;

/// The full name of the message that configures a role.
pub const NAME: &str = "stratum.P4RoleConfig";

/// The message `stratum.P4RoleConfig`, with the field numbers from Stratum's
/// `p4_role_config.proto`.
#[derive(Clone, PartialEq, Message)]
pub struct RoleConfig {
    /// The identifiers of the P4 objects that belong to this role alone.
    #[prost(uint32, repeated, tag = "1")]
    pub exclusive_p4_ids: Vec<u32>,
    /// The identifiers of the P4 objects that other roles may use as well.
    #[prost(uint32, repeated, tag = "2")]
    pub shared_p4_ids: Vec<u32>,
    /// The filter of the packet-ins that the role receives. Without a filter, it receives all.
    #[prost(message, optional, tag = "3")]
    pub packet_in_filter: Option<PacketFilter>,
    /// Whether the role receives packet-ins.
    #[prost(bool, tag = "4")]
    pub receives_packet_ins: bool,
    /// Whether the role may push a pipeline.
    #[prost(bool, tag = "5")]
    pub can_push_pipeline: bool,
}

/// The message `stratum.P4RoleConfig.PacketFilter`: the value that a metadata field must have.
#[derive(Clone, PartialEq, Message)]
pub struct PacketFilter {
    /// The identifier of the metadata field.
    #[prost(uint32, tag = "1")]
    pub metadata_id: u32,
    /// The value, as a big-endian number.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

impl RoleConfig {
    /// Returns the configuration packed into an `Any` message, as the field `Role.config` expects
    /// it.
    #[must_use]
    pub fn to_any(&self) -> Any {
        Any { type_url: format!("type.googleapis.com/{NAME}"), value: self.encode_to_vec() }
    }
}
