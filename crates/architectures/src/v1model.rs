//! The actions of v1model between the blocks of its package. They follow BMv2's simple_switch
//! (`targets/simple_switch/simple_switch.cpp`).

use super::MetadataField as Of;
use super::package::{Block, Package, Role, Stage};
use super::{Condition, Copies, Glue, Input, Known, NO_RULES, Outcome, Port, Request, Rules, Set};

/// The values of `instance_type` (`PktInstanceType` of simple_switch).
pub mod instance {
    /// A received packet, and one that leaves ingress for one port.
    pub const NORMAL: u64 = 0;
    /// A clone that ingress requested.
    pub const INGRESS_CLONE: u64 = 1;
    /// A clone that egress requested.
    pub const EGRESS_CLONE: u64 = 2;
    /// A packet that egress sent to ingress again.
    pub const RECIRCULATED: u64 = 4;
    /// A copy for a multicast group.
    pub const REPLICATED: u64 = 5;
    /// A packet that ingress sent to the parser again.
    pub const RESUBMITTED: u64 = 6;
}

/// The default port to which dropped packets are sent (`--drop-port` of simple_switch).
pub const DROP_PORT: u16 = 511;

/// The assignments to the standard metadata of a clone that ingress requested. They are made before
/// the clone is parsed again. After this parse, the clone skips ingress.
pub const AT_INGRESS: &[Set] = &[(Of::IngressPort, Input::Known(Known::Port))];

/// The assignments to the metadata of a packet that leaves ingress for one port.
pub const TO_PORT: &[Set] = &[(Of::InstanceType, Input::Number(instance::NORMAL))];

/// The assignments to the metadata of a packet that leaves ingress for a multicast group.
pub const TO_GROUP: &[Set] = &[(Of::InstanceType, Input::Number(instance::REPLICATED))];

/// The assignments to the metadata of a replica for a multicast group.
pub const REPLICA: &[Set] = &[(Of::EgressRid, Input::Known(Known::Instance))];

/// The parameters of a block that receives the headers, the user's metadata and the standard
/// metadata.
const WITH_STANDARD: &[Role] = &[Role::Headers, Role::Metadata, Role::Standard];

/// The actions of v1model between the blocks of its package: assignments to metadata, and rules
/// that decide about packets.
pub const V1MODEL: Glue = Glue {
    packages: &[Package {
        blocks: &[
            Block { stage: Stage::Parser, parameters: WITH_STANDARD },
            Block { stage: Stage::Verify, parameters: &[Role::Headers, Role::Metadata] },
            Block { stage: Stage::Ingress, parameters: WITH_STANDARD },
            Block { stage: Stage::Egress, parameters: WITH_STANDARD },
            Block { stage: Stage::Update, parameters: &[Role::Headers, Role::Metadata] },
            Block { stage: Stage::Deparser, parameters: &[Role::Headers] },
        ],
    }],
    received: &[
        (Of::IngressPort, Input::Known(Known::Port)),
        (Of::InstanceType, Input::Number(instance::NORMAL)),
        (Of::IngressGlobalTimestamp, Input::Known(Known::Now)),
    ],
    before_parser: &[(Of::PacketLength, Input::Known(Known::Length))],
    before_ingress: &[
        (Of::ParserError, Input::Known(Known::ParserError)),
        (Of::ChecksumError, Input::Known(Known::ChecksumFailed)),
    ],
    ingress_says: &[],
    after_ingress: Rules {
        copies: Copies::Requested,
        cases: &[
            (Condition::Requests(Request::Resubmit), Outcome::Resubmit),
            (Condition::IsSet(Of::McastGrp), Outcome::Replicate(Of::McastGrp)),
            (Condition::IsDropPort(Of::EgressSpec), Outcome::Drop("at the end of ingress")),
        ],
        otherwise: Port::In(Of::EgressSpec),
        carries: &[],
    },
    before_queue: Rules {
        cases: &[(
            Condition::HasNoQueue(Of::Priority),
            Outcome::Drop("the port has no queue of this priority"),
        )],
        ..NO_RULES
    },
    queued: &[
        (Of::EnqTimestamp, Input::Known(Known::Now)),
        (Of::EnqQdepth, Input::Known(Known::QueueDepth)),
    ],
    before_egress_parser: &[],
    before_egress: &[
        (Of::EgressGlobalTimestamp, Input::Known(Known::Now)),
        (Of::DeqTimedelta, Input::Number(0)),
        (Of::DeqQdepth, Input::Known(Known::QueueDepth)),
        (Of::EgressPort, Input::Known(Known::Port)),
        // A packet whose egress does not write the field is therefore not dropped.
        (Of::EgressSpec, Input::Known(Known::BehindDropPort)),
        (Of::PacketLength, Input::Known(Known::Length)),
    ],
    before_egress_deparser: &[],
    after_egress: Rules {
        copies: Copies::Requested,
        cases: &[
            (Condition::IsDropPort(Of::EgressSpec), Outcome::Drop("at the end of egress")),
            (Condition::Requests(Request::Recirculate), Outcome::Recirculate),
        ],
        otherwise: Port::Own,
        carries: &[],
    },
};
