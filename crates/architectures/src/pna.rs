//! The actions of PNA between the blocks of its package (Portable NIC Architecture, version 0.7).
//! Its main control counts as ingress.

use super::MetadataField as Of;
use super::package::Role::{Decides, Headers, Metadata, Own, Received};
use super::package::{Block, Package, Stage};
use super::{Condition, Copies, Glue, Input, Known, NO_RULES, Outcome, Port, Request, Rules, Set};

/// The assignments to the input metadata that each block receives.
const RECEIVED: &[Set] = &[
    (Of::Direction, Input::Known(Known::Direction)),
    (Of::Pass, Input::Known(Known::Generation)),
    (Of::Recirculated, Input::Known(Known::IsRecirculated)),
    (Of::InputPort, Input::Known(Known::Port)),
    (Of::Timestamp, Input::Known(Known::Now)),
    (Of::ParserError, Input::Known(Known::ParserError)),
];

const PARSER: Block = Block { stage: Stage::Parser, parameters: &[Headers, Metadata, Received] };
/// The pre control. Its parameters share no storage with those of other blocks: the driver passes
/// copies of the headers and metadata to it, and takes over only the metadata that it returns.
const PRE: Block = Block { stage: Stage::Pre, parameters: &[Own, Own, Received, Own] };
const MAIN: Block =
    Block { stage: Stage::Ingress, parameters: &[Headers, Metadata, Received, Decides] };
const DEPARSER: Block = Block { stage: Stage::Deparser, parameters: &[Headers, Metadata, Decides] };

/// The actions of PNA between the blocks of its package: assignments to metadata, and rules that
/// decide about packets.
pub const PNA: Glue = Glue {
    packages: &[
        Package { blocks: &[PARSER, MAIN, DEPARSER] },
        Package { blocks: &[PARSER, PRE, MAIN, DEPARSER] },
    ],
    received: &[],
    before_parser: RECEIVED,
    before_ingress: RECEIVED,
    ingress_says: &[],
    // The last call of `send_to_port` or `drop_packet` determines where the packet goes.
    after_ingress: Rules {
        copies: Copies::Requested,
        cases: &[
            (Condition::Requests(Request::Recirculate), Outcome::Recirculate),
            (Condition::GoesNowhere, Outcome::Drop("at the end of the main control")),
        ],
        otherwise: Port::Own,
        carries: &[],
    },
    before_queue: NO_RULES,
    queued: &[],
    before_egress_parser: &[],
    before_egress: &[],
    before_egress_deparser: &[],
    after_egress: NO_RULES,
};
