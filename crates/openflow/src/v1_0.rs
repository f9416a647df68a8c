//! OpenFlow 1.0 (wire version 0x01), with the errata of 1.0.1 and 1.0.2.
//!
//! [`Message`] owns its contents, and encodes to the bytes from which it was decoded, except for
//! padding. Fields keep the specification's names. Enumerated fields are newtypes with named
//! constants, so that values which the specification does not define are preserved.

mod action;
mod flow;
mod flow_match;
mod message;
mod packet;
mod port;
mod queue;
mod stats;
mod switch;

pub use action::Action;
pub use flow::{FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason};
pub use flow_match::{Match, Wildcards};
pub use message::{ErrorMessage, Message, Vendor};
pub use packet::{PacketIn, PacketInReason, PacketOut};
pub use port::{
    PhyPort, PortConfig, PortFeatures, PortMod, PortNo, PortReason, PortState, PortStatus,
    PortTooLarge,
};
pub use queue::{PacketQueue, QueueGetConfigReply, QueueGetConfigRequest, QueueProperty};
pub use stats::{
    AggregateStats, DescStats, FlowStats, FlowStatsRequest, PortStats, QueueStats,
    QueueStatsRequest, StatsReply, StatsReplyBody, StatsReplyFlags, StatsRequest, StatsRequestBody,
    StatsType, TableStats, UNSUPPORTED_COUNTER,
};
pub use switch::{ActionTypes, Capabilities, FeaturesReply, FragmentHandling, SwitchConfig};
