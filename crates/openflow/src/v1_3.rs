//! OpenFlow 1.3 (wire version 0x04), after specification 1.3.5.
//!
//! [`Message`] is an owned representation of every message of the version. Decoding checks every
//! length against the enclosing structure and copies the contents. Encoding restores the decoded
//! bytes, except that all padding is zero. Enumerations and bit sets are numbers with names, and
//! type-length-values of unknown type are kept as bytes. A switch can therefore answer unknown
//! contents with the right error, and a controller does not fail on a vendor's extension.
//!
//! Structures have public fields, because they have no invariants beyond their types.
//! [`Message::encode`] fails for contents that cannot be written, such as a list too long for its
//! length field.

mod actions;
mod codec;
mod errors;
mod flows;
mod groups;
mod hello;
mod instructions;
mod matches;
mod message;
mod meters;
mod multipart;
mod oxm;
mod oxm_value;
mod packets;
mod ports;
#[cfg(test)]
mod proptests;
mod queues;
mod switch;
mod table_features;
mod tables;

pub use actions::{Action, ActionType, MaxLen};
pub use errors::ErrorMessage;
pub use flows::{
    AggregateStats, DEFAULT_PRIORITY, FlowKey, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved,
    FlowRemovedReason, FlowStats, FlowStatsRequest,
};
pub use groups::{
    Bucket, BucketCounter, GroupCapabilities, GroupDesc, GroupFeatures, GroupId, GroupMod,
    GroupModCommand, GroupStats, GroupType,
};
pub use hello::{Hello, HelloElement};
pub use instructions::{Instruction, InstructionType};
pub use matches::{Match, MatchKey};
pub use message::{Experimenter, Message};
pub use meters::{
    MeterBand, MeterBandKind, MeterBandStats, MeterBandType, MeterConfig, MeterFeatures,
    MeterFlags, MeterId, MeterMod, MeterModCommand, MeterStats,
};
pub use multipart::{
    JoinError, MultipartExperimenter, MultipartFlags, MultipartReply, MultipartReplyBody,
    MultipartRequest, MultipartRequestBody, MultipartType, ReplyJoiner, RequestJoiner, SwitchDesc,
};
pub use oxm::{
    Ipv6ExtensionHeaders, Masked, Oxm, OxmClass, OxmField, OxmId, PbbIsid, RawOxm, VlanVid,
};
pub use packets::{NO_COOKIE, PacketIn, PacketInReason, PacketOut};
pub use ports::{
    Port, PortConfig, PortFeatures, PortMod, PortReason, PortState, PortStats, PortStatus,
};
pub use queues::{
    PacketQueue, QueueGetConfigReply, QueueId, QueueProperty, QueuePropertyType, QueueStats,
    QueueStatsRequest,
};
pub use switch::{
    AsyncConfig, AsyncMasks, Capabilities, ConfigFlags, ControllerRole, RoleMessage, SwitchConfig,
    SwitchFeatures,
};
pub use table_features::{
    ExperimenterProperty, FeatureId, TableFeatureProperty, TableFeaturePropertyType, TableFeatures,
};
pub use tables::{TableId, TableMod, TableStats};
