//! The actions of PSA between the blocks of its package (Portable Switch Architecture, version 1.2,
//! section 6).

use super::MetadataField as Of;
use super::package::Role::{
    Decides, EgressDecides, EgressHeaders, EgressMetadata, Headers, Metadata, Own, Received,
};
use super::package::{Block, Package, Stage};
use super::{Condition, Copies, Glue, Input, Known, NO_RULES, Outcome, Port, Rules};

/// The port through which PSA recirculates (`PSA_PORT_RECIRCULATE`).
pub const PSA_PORT_RECIRCULATE: u64 = 0xffff_fffa;

/// The actions of PSA between the blocks of its package: assignments to metadata, and rules that
/// decide about packets.
pub const PSA: Glue = Glue {
    packages: &[Package {
        blocks: &[
            Block { stage: Stage::Parser, parameters: &[Headers, Metadata, Received, Own, Own] },
            Block { stage: Stage::Ingress, parameters: &[Headers, Metadata, Received, Decides] },
            Block {
                stage: Stage::IngressDeparser,
                parameters: &[Own, Own, Own, Headers, Metadata, Decides],
            },
            Block {
                stage: Stage::EgressParser,
                parameters: &[EgressHeaders, EgressMetadata, Received, Own, Own, Own],
            },
            Block {
                stage: Stage::Egress,
                parameters: &[EgressHeaders, EgressMetadata, Received, EgressDecides],
            },
            Block {
                stage: Stage::Deparser,
                parameters: &[Own, Own, EgressHeaders, EgressMetadata, EgressDecides, Received],
            },
        ],
    }],
    received: &[],
    before_parser: &[
        (Of::IngressPort, Input::Known(Known::Port)),
        (Of::PacketPath, Input::Known(Known::Path)),
    ],
    before_ingress: &[
        (Of::IngressPort, Input::Known(Known::Port)),
        (Of::PacketPath, Input::Known(Known::Path)),
        (Of::IngressTimestamp, Input::Known(Known::Now)),
        (Of::ParserError, Input::Known(Known::ParserError)),
    ],
    ingress_says: &[(Of::Drop, Input::Number(1))],
    // Section 6.2.
    after_ingress: Rules {
        copies: Copies::ToField(Of::Clone, Of::CloneSessionId),
        cases: &[
            (Condition::IsSet(Of::Drop), Outcome::Drop("at the end of ingress")),
            (Condition::IsSet(Of::Resubmit), Outcome::Resubmit),
            (Condition::IsSet(Of::MulticastGroup), Outcome::Replicate(Of::MulticastGroup)),
        ],
        otherwise: Port::In(Of::EgressPort),
        carries: &[Of::ClassOfService],
    },
    before_queue: NO_RULES,
    queued: &[],
    before_egress_parser: &[
        (Of::EgressPort, Input::Known(Known::Port)),
        (Of::PacketPath, Input::Known(Known::Path)),
    ],
    before_egress: &[
        (Of::ClassOfService, Input::Known(Known::ClassOfService)),
        (Of::EgressPort, Input::Known(Known::Port)),
        (Of::PacketPath, Input::Known(Known::Path)),
        (Of::Instance, Input::Known(Known::Instance)),
        (Of::EgressTimestamp, Input::Known(Known::Now)),
        (Of::ParserError, Input::Known(Known::ParserError)),
    ],
    before_egress_deparser: &[(Of::EgressPort, Input::Known(Known::Port))],
    // Section 6.5.
    after_egress: Rules {
        copies: Copies::ToField(Of::Clone, Of::CloneSessionId),
        cases: &[
            (Condition::IsSet(Of::Drop), Outcome::Drop("at the end of egress")),
            (Condition::GoesTo(PSA_PORT_RECIRCULATE), Outcome::Recirculate),
        ],
        otherwise: Port::Own,
        carries: &[],
    },
};
