//! The fast path of PSA: ingress, and egress for one output port.
//!
//! The parameters of ingress and egress lie in one frame, and values that pass from one to the
//! other are moved within it. The driver of the architecture processes clones, resubmission,
//! recirculation and packets for multicast groups.

use super::{MISSING, Places};
use crate::compiled::plan::Refusal;
use crate::dialect::Dialect;
use crate::layout::PacketPath;
use crate::resolved::shape::Shape;
use crate::resolved::{Address, Block, Callee, Field, Offset, ResolvedProgram, Statement};
use architectures::{Role, Stage};

/// The position of the ingress control in the package. The next constants are the positions of
/// other blocks.
const INGRESS_CONTROL: usize = 1;
const INGRESS_DEPARSER: usize = 2;
const EGRESS_PARSER: usize = 3;

/// The facts about a program that the fast path needs only for PSA. Metadata fields are indexed by
/// the field's number.
#[derive(Debug)]
pub(in crate::compiled) struct Psa {
    pub(in crate::compiled) ingress_deparser: Callee,
    pub(in crate::compiled) egress_parser: Callee,
    /// Whether a packet that ingress drops skips the ingress deparser. It does in programs that
    /// follow psa_switch, and in programs whose ingress deparser has no effect but the packet that
    /// it emits.
    pub(in crate::compiled) drops_early: bool,
    /// Whether counters and meters in egress use the packet's length as it was received, not its
    /// length at the start of egress.
    pub(in crate::compiled) keeps_length: bool,
    /// The metadata fields that ingress writes to tell the architecture where the packet goes.
    pub(in crate::compiled) at_ingress: Vec<Option<Field>>,
    /// The metadata fields that the egress parser, the egress control and the egress deparser
    /// receive, in this order.
    pub(in crate::compiled) received: [Vec<Option<Field>>; 3],
    /// The metadata fields that egress writes to tell the architecture where the packet goes.
    pub(in crate::compiled) at_egress: Vec<Option<Field>>,
    /// The values of PSA's packet path for a packet as it is received, and for a unicast packet in
    /// egress.
    pub(in crate::compiled) paths: [u64; 2],
    /// The moves of values from ingress to egress: those made before the ingress deparser, and
    /// those made after it.
    pub(in crate::compiled) moves: [Block; 2],
    /// The offset in the frame (the packet's working memory) at which the parameters of egress
    /// begin. They end at `locals`.
    pub(in crate::compiled) egress: Offset,
    pub(in crate::compiled) locals: Offset,
}

impl Psa {
    pub(super) fn new(places: &Places<'_>) -> Result<Self, Refusal> {
        let Places { layout, resolved, package } = *places;
        let callee = |stage| {
            let block = package.position(stage).and_then(|position| resolved.blocks.get(position));
            block.map(|block| block.callee).ok_or(MISSING)
        };
        let received = |stage| places.fields(stage, &[Role::Received]);
        let follows = layout.dialect == Dialect::PsaSwitch;
        let ingress_deparser = callee(Stage::IngressDeparser)?;
        let (_, egress) = places.parameter(EGRESS_PARSER, 0).ok_or(MISSING)?;
        Ok(Self {
            ingress_deparser,
            egress_parser: callee(Stage::EgressParser)?,
            drops_early: follows || only_emits(resolved, ingress_deparser),
            keeps_length: follows,
            at_ingress: places.fields(Stage::Ingress, &[Role::Decides])?,
            received: [
                received(Stage::EgressParser)?,
                received(Stage::Egress)?,
                received(Stage::Deparser)?,
            ],
            at_egress: places.fields(Stage::Egress, &[Role::EgressDecides])?,
            paths: [PacketPath::Normal, PacketPath::NormalUnicast]
                .map(|path| layout.names.packet_path(path).into()),
            moves: handed_over(places, follows)?,
            egress: egress.offset,
            locals: resolved.locals,
        })
    }
}

/// Returns whether a deparser has no effect other than emitting the packet.
fn only_emits(resolved: &ResolvedProgram, deparser: Callee) -> bool {
    /// Returns whether the statements of a block have no effect other than emitting the packet.
    fn is_silent(block: &Block) -> bool {
        block.iter().all(|statement| match statement {
            Statement::If { then, otherwise, .. } => is_silent(then) && is_silent(otherwise),
            Statement::Emit { .. }
            | Statement::Store { .. }
            | Statement::StoreSlice { .. }
            | Statement::Assign { .. }
            | Statement::Move { .. }
            | Statement::Clear { .. }
            | Statement::Build { .. }
            | Statement::SetValidity { .. }
            | Statement::Checksum { .. }
            | Statement::Hash { .. }
            | Statement::Sum { .. }
            | Statement::Charge(_) => true,
            Statement::Switch { .. }
            | Statement::Loop { .. }
            | Statement::Break
            | Statement::Continue
            | Statement::Return
            | Statement::Exit
            | Statement::Call { .. }
            | Statement::Apply { .. }
            | Statement::Extract { .. }
            | Statement::ExtractWithTail { .. }
            | Statement::LookaheadHeader { .. }
            | Statement::Lookahead { .. }
            | Statement::Advance(_)
            | Statement::Verify { .. }
            | Statement::Truncate(_)
            | Statement::Assert { .. }
            | Statement::ReadRegister { .. }
            | Statement::WriteRegister { .. }
            | Statement::Count { .. }
            | Statement::Meter { .. }
            | Statement::CountEntry { .. }
            | Statement::MeterEntry { .. }
            | Statement::Color { .. }
            | Statement::SendTo(_)
            | Statement::Request(_)
            | Statement::AddEntry(_)
            | Statement::RestartTimer(_)
            | Statement::Interpret { .. } => false,
        })
    }
    matches!(resolved.bodies.get(deparser), Some(crate::resolved::Body::Block(block)) if is_silent(block))
}

/// Returns the moves of values from ingress to egress for a packet to one port: those made before
/// the ingress deparser, and those made after it.
///
/// By the specification, the values are the metadata that the ingress deparser returns for egress.
/// As in the driver, the user's metadata are moved too if they have the same type in ingress and
/// egress. If `follows` is set, the program follows psa_switch, and each metadata parameter of the
/// egress parser receives the packet's value of the parameter's type instead.
fn handed_over(places: &Places<'_>, follows: bool) -> Result<[Block; 2], Refusal> {
    let resolved = places.resolved;
    let place = |block, position| places.parameter(block, position).ok_or(MISSING);
    let moved =
        |from: Offset, to: Offset, bytes| Statement::Move { to, from: Address::fixed(from), bytes };
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let metadata = place(INGRESS_CONTROL, 1)?;
    let egress = place(EGRESS_PARSER, 1)?;
    if !follows {
        let (normal, to) = (place(INGRESS_DEPARSER, 2)?, place(EGRESS_PARSER, 3)?);
        if normal.0 == to.0 {
            behind.push(moved(normal.1.offset, to.1.offset, to.1.size));
        }
        if metadata.0 == egress.0 {
            before.push(moved(metadata.1.offset, egress.1.offset, egress.1.size));
        }
        return Ok([before, behind]);
    }
    let is_plain = |type_id| {
        let known = resolved.parameter_type(type_id);
        known.is_some_and(|known| has_no_header(&known.shape))
    };
    // The place of the value that egress receives, for each type.
    let mut sources = vec![metadata];
    for position in 0..3 {
        let (type_id, to) = place(INGRESS_DEPARSER, position)?;
        if to.size == 0 {
            continue;
        }
        match sources.iter_mut().find(|(known, _)| *known == type_id) {
            None => sources.push((type_id, to)),
            Some((_, from)) if from.offset == metadata.1.offset && is_plain(type_id) => {
                before.push(moved(from.offset, to.offset, to.size));
                *from = to;
            }
            Some(_) => {
                return Err(
                    "the ingress deparser has two metadata parameters of one type, or metadata with headers",
                );
            }
        }
    }
    for position in [1, 3, 4, 5] {
        let (type_id, to) = place(EGRESS_PARSER, position)?;
        let source = sources.iter().find(|(known, _)| *known == type_id);
        let Some((_, from)) = source.filter(|_| to.size > 0) else { continue };
        if !is_plain(type_id) {
            return Err("metadata that go to egress have headers");
        }
        behind.push(moved(from.offset, to.offset, to.size));
    }
    Ok([before, behind])
}

fn has_no_header(shape: &Shape) -> bool {
    match shape {
        Shape::Scalar(_) | Shape::Wide { .. } => true,
        Shape::Struct(parts, _) => parts.iter().all(|(_, part)| has_no_header(part)),
        Shape::Varbit { .. }
        | Shape::Header(_)
        | Shape::Loose(..)
        | Shape::Union(..)
        | Shape::Stack { .. }
        | Shape::Row { .. }
        | Shape::None(_) => false,
    }
}
