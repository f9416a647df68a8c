//! Where packets of PSA go straight: through ingress, and for one port through egress.
//!
//! Both halves have their parameters' places in one frame, and what goes from one to the other is moved there. Copies,
//! resubmission, recirculation and packets for groups are for the driver.

use super::{Given, Kind, MISSING, Straight, fields_of, is_empty, places};
use crate::bound::shape::Shape;
use crate::bound::{Address, Block, Bound, Callee, Field, Offset, Statement};
use crate::compiled::plan::Refusal;
use crate::dialect::Dialect;
use crate::layout::{Layout, MetadataField as Of, PacketPath};

/// Blocks of the package in its order.
const INGRESS_PARSER: usize = 0;
const INGRESS_CONTROL: usize = 1;
const INGRESS_DEPARSER: usize = 2;
const EGRESS_PARSER: usize = 3;
const EGRESS_CONTROL: usize = 4;
const EGRESS_DEPARSER: usize = 5;

/// What a packet of PSA has beside what others have; fields are by their numbers.
#[derive(Debug)]
pub(in crate::compiled) struct Psa {
    pub(in crate::compiled) ingress_deparser: Callee,
    pub(in crate::compiled) egress_parser: Callee,
    /// A packet that ingress drops is not deparsed, or nobody could tell.
    pub(in crate::compiled) drops_early: bool,
    /// Bytes for counters and meters are those of the packet that was received, in egress too.
    pub(in crate::compiled) keeps_length: bool,
    /// What ingress says of the packet.
    pub(in crate::compiled) at_ingress: Vec<Option<Field>>,
    /// What egress is told of the packet: its parser, its control, its deparser.
    pub(in crate::compiled) told: [Vec<Option<Field>>; 3],
    /// What egress says of the packet.
    pub(in crate::compiled) at_egress: Vec<Option<Field>>,
    /// The number of the path of packets that go to one port.
    pub(in crate::compiled) unicast: u64,
    /// What is moved before the ingress deparser runs, then behind it.
    pub(in crate::compiled) moves: [Block; 2],
    /// From here on there are places of egress, up to those of variables.
    pub(in crate::compiled) egress: Offset,
    pub(in crate::compiled) locals: Offset,
}

impl Straight {
    pub(super) fn of_psa(layout: &Layout, bound: &Bound) -> Result<Self, Refusal> {
        let [parser, control, ingress_deparser, egress_parser, egress, deparser] =
            bound.blocks.as_slice()
        else {
            return Err(MISSING);
        };
        let offset = |block: usize, position: usize| {
            let block = bound.blocks.get(block)?;
            block.parameters.get(position).map(|parameter| parameter.offset)
        };
        let stays = |places: &[(usize, usize)]| {
            let mut offsets = places.iter().map(|(block, position)| offset(*block, *position));
            let first = offsets.next();
            offsets.all(|offset| Some(offset) == first)
        };
        let together: [&[(usize, usize)]; 6] = [
            &[(INGRESS_PARSER, 0), (INGRESS_CONTROL, 0), (INGRESS_DEPARSER, 3)],
            &[(INGRESS_PARSER, 1), (INGRESS_CONTROL, 1), (INGRESS_DEPARSER, 4)],
            &[(INGRESS_CONTROL, 3), (INGRESS_DEPARSER, 5)],
            &[(EGRESS_PARSER, 0), (EGRESS_CONTROL, 0), (EGRESS_DEPARSER, 2)],
            &[(EGRESS_PARSER, 1), (EGRESS_CONTROL, 1), (EGRESS_DEPARSER, 3)],
            &[(EGRESS_CONTROL, 3), (EGRESS_DEPARSER, 4)],
        ];
        if !together.into_iter().all(stays) {
            return Err(super::MOVED);
        }
        let fields = |block, position| fields_of(layout, bound, block, position);
        let received = |block, given: &[(Given, Of)]| {
            let fields = fields(block, 2)?;
            let known = given.iter().map(|(given, of)| Some((*given, fields[*of as usize]?)));
            Ok::<_, Refusal>(known.flatten().collect::<Vec<_>>())
        };
        let normal = Given::Number(layout.names.packet_path(PacketPath::Normal).into());
        let (port, path) = ((Given::Port, Of::IngressPort), (normal, Of::PacketPath));
        let now = (Given::Now, Of::IngressTimestamp);
        let mut known = received(INGRESS_PARSER, &[port, path])?;
        known.extend(received(INGRESS_CONTROL, &[port, path, now])?);
        let follows = layout.dialect == Dialect::PsaSwitch;
        let psa = Psa {
            ingress_deparser: ingress_deparser.callee,
            egress_parser: egress_parser.callee,
            drops_early: follows || only_emits(bound, ingress_deparser.callee),
            keeps_length: follows,
            at_ingress: fields(INGRESS_CONTROL, 3)?,
            told: [
                fields(EGRESS_PARSER, 2)?,
                fields(EGRESS_CONTROL, 2)?,
                fields(EGRESS_DEPARSER, 5)?,
            ],
            at_egress: fields(EGRESS_CONTROL, 3)?,
            unicast: layout.names.packet_path(PacketPath::NormalUnicast).into(),
            moves: handed_over(layout, bound, follows)?,
            egress: offset(EGRESS_PARSER, 0).ok_or(MISSING)?,
            locals: bound.locals,
        };
        let mut blocks = [parser.callee; 6];
        (blocks[super::INGRESS], blocks[super::EGRESS]) = (control.callee, egress.callee);
        blocks[super::DEPARSER] = deparser.callee;
        let mut runs = [false; 6];
        (runs[super::PARSER], runs[super::DEPARSER]) = (true, true);
        runs[super::INGRESS] = !is_empty(bound, control.callee);
        runs[super::EGRESS] = !is_empty(bound, egress.callee);
        let said = |block| {
            let all = places(bound, block);
            [0, 1, 3].iter().filter_map(|position| all.get(*position).copied()).collect()
        };
        Ok(Self {
            kind: Kind::Psa,
            standard: fields(INGRESS_CONTROL, 2)?,
            received: known,
            tells_direction: false,
            blocks,
            runs,
            is_codes_alone: false,
            parameters: [said(INGRESS_CONTROL), said(EGRESS_CONTROL)],
            costs: [0; 2],
            plan: Err(MISSING),
            drop_port: 0,
            psa: Some(Box::new(psa)),
        })
    }
}

/// Whether a deparser that runs in vain leaves nothing behind.
fn only_emits(bound: &Bound, deparser: Callee) -> bool {
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
            _ => false,
        })
    }
    matches!(bound.bodies.get(deparser), Some(crate::bound::Body::Block(block)) if is_silent(block))
}

/// What goes from ingress to egress with a packet for one port, before and behind the ingress deparser.
///
/// By the specification these are the metadata that the deparser gives for it, and, as in the driver, the user's
/// metadata if both halves have one type for them. psa_switch keeps metadata by their types; see the driver.
fn handed_over(layout: &Layout, bound: &Bound, follows: bool) -> Result<[Block; 2], Refusal> {
    let of = |block: usize, position: usize| {
        let place = bound.blocks.get(block)?.parameters.get(position)?;
        let type_id = match bound.blocks.get(block)?.callee {
            Callee::Parser(id) => {
                layout.program.parsers.get(id.index())?.parameters.get(position)?.type_id
            }
            Callee::Control(id) => {
                layout.program.controls.get(id.index())?.parameters.get(position)?.type_id
            }
            Callee::Action(_) | Callee::Function(_) => return None,
        };
        Some((type_id, *place))
    };
    let place = |block, position| of(block, position).ok_or(MISSING);
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
        let known = bound.parameter_type(type_id);
        known.is_some_and(|known| has_no_header(&known.shape))
    };
    // Where the value of each type is that egress finds.
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
                    "the ingress deparser has two metadata of one type, or such with headers",
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
        _ => false,
    }
}
