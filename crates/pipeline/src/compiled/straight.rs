//! The straight way of a packet of v1model, PSA or PNA, from the parser to the deparser without the driver of the architecture.
//!
//! Packets come in batches, which enter the gate of the tables once, and leave in memory that is used again (`way`, `batch`).
//! Most programs have a plan, and packets go in bursts (`burst`); a packet that asks for a copy, another pass or a message to
//! the control plane leaves its burst for the driver. Without a plan, packets of programs that code runs without the
//! interpreter are processed one after the other (`run`), a block of code at a time over one frame; so are the copies for a
//! group, for each of which the frame as ingress left it is copied back. Blocks without statements are left out, and with an
//! empty egress all that the architecture would only tell that.

mod batch;
mod psa;
mod run;
mod way;

pub use self::batch::Batch;
pub(super) use self::batch::Sent;
pub(super) use self::psa::Psa;
pub(super) use self::run::Run;

use super::plan::{Plan, Refusal};
use crate::bound::{Body, Bound, Callee, Field, Offset, PackageBlock};
use crate::dialect::Dialect;
use crate::layout::{LARGE, Layout, MetadataField as Of};
use ir::ExternType;

/// Positions in the package.
pub(super) const PARSER: usize = 0;
pub(super) const VERIFY: usize = 1;
pub(super) const INGRESS: usize = 2;
pub(super) const EGRESS: usize = 3;
pub(super) const UPDATE: usize = 4;
pub(super) const DEPARSER: usize = 5;

/// The architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    V1model,
    Psa,
    Pna,
}

/// What is known of a packet when it comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Port,
    Length,
    Now,
    /// From host to network, or the other way.
    Direction,
    /// The same for all packets.
    Number(u64),
}

/// Where the straight way finds things.
#[derive(Debug)]
pub(super) struct Straight {
    pub(super) kind: Kind,
    /// Of v1model's standard metadata, or what PSA's ingress or PNA's main control is given of a packet, by the number of
    /// the field.
    pub(super) standard: Vec<Option<Field>>,
    /// Where blocks find what is known when a packet comes in.
    pub(super) received: Vec<(Given, Field)>,
    /// Blocks want to know the direction.
    pub(super) tells_direction: bool,
    pub(super) blocks: [Callee; 6],
    /// Blocks with statements.
    pub(super) runs: [bool; 6],
    /// Code runs the program without the interpreter.
    pub(super) is_codes_alone: bool,
    /// Headers, metadata and standard metadata of ingress, then of egress: offset and size. Of PSA and PNA, headers,
    /// metadata and what the control said of the packet.
    pub(super) parameters: [Vec<(u32, u32)>; 2],
    /// What a packet was charged at the end of ingress, and of egress, for blocks that have no charges in code.
    pub(super) costs: [u64; 2],
    /// How packets go in bursts, or why they do not.
    pub(super) plan: Result<Plan, Refusal>,
    pub(super) drop_port: u64,
    /// What only packets of PSA have.
    pub(super) psa: Option<Box<Psa>>,
}

/// A field that decides where a packet goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deciding {
    pub(super) field: Field,
    pub(super) place: DecidingPlace,
}

/// When a field that decides where a packet goes has a place in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecidingPlace {
    /// Always; the architecture starts it as zero.
    Zero,
    /// Always; the architecture starts it as another value.
    Set,
    /// Only if the program touches it: zero decides nothing.
    IfTouched,
}

const MISSING: Refusal = "a block of the architecture is missing";

impl Straight {
    /// Or why no packet of the program can go there.
    pub(super) fn new(layout: &Layout, bound: &Bound) -> Result<Self, Refusal> {
        let mut straight = match layout.dialect {
            Dialect::SimpleSwitch => Self::of_v1model(layout, bound),
            Dialect::Pna => Self::of_pna(layout, bound),
            Dialect::PsaSwitch | Dialect::Psa => Self::of_psa(layout, bound),
            Dialect::Other => Err("the architecture is of the user's"),
        }?;
        let psa = straight.psa.as_deref();
        let deparsers = [straight.blocks[DEPARSER]].into_iter();
        let deparsers: Vec<Callee> = deparsers.chain(psa.map(|psa| psa.ingress_deparser)).collect();
        let mut blocks = bound.blocks.iter();
        if blocks.any(|block| block.emits && !deparsers.contains(&block.callee)) {
            return Err("a block emits that is no deparser");
        }
        // Code of bursts does not ask whether work is left.
        let most = layout.costs.of_pass(bound.blocks.iter().map(|block| block.callee));
        let before = match straight.kind {
            Kind::V1model => [3, 4],
            Kind::Psa => [2, 5],
            Kind::Pna => [2, 3],
        };
        straight.costs = before.map(|count| {
            let blocks = bound.blocks.iter().take(count);
            blocks.map(|block| layout.costs.of_block(block.callee)).fold(0, u64::saturating_add)
        });
        // No packet of a burst looks whether the worker is to end.
        let fits = most.is_some_and(|most| most <= LARGE.min(layout.packet_work.into()));
        let plan = Plan::new(bound, &straight);
        let refusal = "one pass may take too much work";
        straight.plan = if fits { plan } else { plan.and(Err(refusal)) };
        if let Ok(plan) = &straight.plan {
            let offset = |(given, field): &(Given, Field)| (*given, field.address.offset);
            let known = straight.received.iter().map(offset);
            straight.tells_direction = known
                .filter(|(given, _)| *given == Given::Direction)
                .any(|(_, offset)| plan.slots.contains_key(&offset));
        }
        Ok(straight)
    }

    /// Returns the offset of v1model's multicast group.
    pub(super) fn group(&self) -> Option<Offset> {
        let group = self.standard.get(Of::McastGrp as usize).copied().flatten();
        group.map(|field| field.address.offset)
    }

    /// Returns the fields that generated code reads to decide where a packet goes. Each has a place
    /// in a plan, even if the program never touches it.
    pub(super) fn deciding(&self) -> Vec<Deciding> {
        use DecidingPlace::{IfTouched, Set, Zero};
        let (ingress, egress): (&[Option<Field>], &[Option<Field>]) = match &self.psa {
            Some(psa) => (&psa.at_ingress, &psa.at_egress),
            None => (&self.standard, &[]),
        };
        let known: &[(&[Option<Field>], Of, DecidingPlace)] = match self.kind {
            Kind::V1model => &[
                (ingress, Of::EgressSpec, Zero),
                (ingress, Of::McastGrp, Zero),
                (ingress, Of::Priority, IfTouched),
            ],
            Kind::Psa => &[
                (ingress, Of::ClassOfService, Zero),
                (ingress, Of::Clone, Zero),
                (ingress, Of::CloneSessionId, Zero),
                (ingress, Of::Drop, Set),
                (ingress, Of::Resubmit, Zero),
                (ingress, Of::MulticastGroup, Zero),
                (ingress, Of::EgressPort, Zero),
                (egress, Of::Clone, Zero),
                (egress, Of::CloneSessionId, Zero),
                (egress, Of::Drop, Zero),
            ],
            Kind::Pna => &[],
        };
        let found = known.iter().filter_map(|(fields, of, place)| {
            let field = fields.get(*of as usize).copied().flatten()?;
            Some(Deciding { field, place: *place })
        });
        found.collect()
    }

    fn of_v1model(layout: &Layout, bound: &Bound) -> Result<Self, Refusal> {
        let is_codes_alone = bound.steps.is_empty()
            && bound.messages.is_empty()
            // These read the payload.
            && bound.gathers.iter().all(|gather| !gather.payload)
            && bound.tables.iter().all(|table| table.general.is_none());
        let parser = bound.blocks.first().filter(|_| bound.blocks.len() == 6).ok_or(MISSING)?;
        // Headers, metadata and standard metadata stay where they are.
        for block in &bound.blocks {
            let mut together = block.parameters.iter().zip(&parser.parameters);
            if together.any(|(one, other)| one.offset != other.offset) {
                return Err(MOVED);
            }
        }
        let standard = fields_of(layout, bound, PARSER, 2)?;
        let given = [
            (Given::Port, Of::IngressPort),
            (Given::Length, Of::PacketLength),
            (Given::Now, Of::IngressGlobalTimestamp),
        ];
        let received =
            given.iter().filter_map(|(given, of)| Some((*given, standard[*of as usize]?)));
        let received = received.collect();
        let mut blocks = [parser.callee; 6];
        let mut runs = [true; 6];
        for ((runs, callee), block) in runs.iter_mut().zip(&mut blocks).zip(&bound.blocks) {
            (*callee, *runs) = (block.callee, !is_empty(bound, block.callee));
        }
        Ok(Self {
            kind: Kind::V1model,
            standard,
            received,
            tells_direction: false,
            blocks,
            runs,
            is_codes_alone,
            parameters: [places(bound, INGRESS), places(bound, EGRESS)],
            costs: [0; 2],
            plan: Err(MISSING),
            drop_port: layout.drop_port.into(),
            psa: None,
        })
    }

    /// Parser, main control and deparser have the places of v1model's parser, ingress and deparser here.
    fn of_pna(layout: &Layout, bound: &Bound) -> Result<Self, Refusal> {
        let [parser, control, deparser] = bound.blocks.as_slice() else {
            return Err("there is a pre control");
        };
        let offset = |block: &PackageBlock, position: usize| {
            block.parameters.get(position).map(|parameter| parameter.offset)
        };
        // Headers, metadata, and what the control says of the packet.
        let stays = [0, 1].iter().all(|position| {
            let places = [parser, control, deparser].map(|block| offset(block, *position));
            places[0] == places[1] && places[1] == places[2]
        });
        if !stays || offset(control, 3) != offset(deparser, 2) {
            return Err(MOVED);
        }
        let is_accelerator = |instance: &ir::ExternInstance| {
            let kind = &instance.extern_type;
            matches!(kind, ExternType::IpsecAccelerator | ExternType::CryptoAccelerator)
        };
        if layout.program.externs.iter().any(is_accelerator) {
            return Err("an inline accelerator is used");
        }
        let given = [
            (Given::Port, Of::InputPort),
            (Given::Now, Of::Timestamp),
            (Given::Direction, Of::Direction),
        ];
        let mut received = Vec::new();
        for block in [0, 1] {
            let fields = fields_of(layout, bound, block, 2)?;
            let known =
                given.iter().filter_map(|(given, of)| Some((*given, fields[*of as usize]?)));
            received.extend(known);
        }
        let mut blocks = [parser.callee; 6];
        (blocks[INGRESS], blocks[DEPARSER]) = (control.callee, deparser.callee);
        let mut runs = [false; 6];
        (runs[PARSER], runs[DEPARSER]) = (true, true);
        runs[INGRESS] = !is_empty(bound, control.callee);
        Ok(Self {
            kind: Kind::Pna,
            standard: fields_of(layout, bound, 1, 2)?,
            received,
            tells_direction: false,
            blocks,
            runs,
            is_codes_alone: false,
            parameters: [places(bound, 2), Vec::new()],
            costs: [0; 2],
            plan: Err(MISSING),
            drop_port: 0,
            psa: None,
        })
    }
}

const MOVED: Refusal = "blocks have headers or metadata of different types";

/// Fields that the architecture knows of a parameter of a block, where they are in the frame; by their numbers.
fn fields_of(
    layout: &Layout,
    bound: &Bound,
    block: usize,
    position: usize,
) -> Result<Vec<Option<Field>>, Refusal> {
    let block = bound.blocks.get(block).ok_or(MISSING)?;
    let place = block.parameters.get(position).ok_or(MISSING)?;
    let program = &layout.program;
    let parameters = match block.callee {
        Callee::Parser(id) => program.parsers.get(id.index()).map(|one| &one.parameters),
        Callee::Control(id) => program.controls.get(id.index()).map(|one| &one.parameters),
        Callee::Action(_) | Callee::Function(_) => None,
    };
    let parameter = parameters.and_then(|parameters| parameters.get(position)).ok_or(MISSING)?;
    let known = bound.parameter_type(parameter.type_id).ok_or(MISSING)?;
    let in_frame = |field: Field| Field { address: field.address.plus(place.offset), ..field };
    Ok(known.fields().iter().map(|field| field.map(in_frame)).collect())
}

fn is_empty(bound: &Bound, callee: Callee) -> bool {
    matches!(bound.bodies.get(callee), Some(Body::Block(block)) if block.is_empty())
}

/// Offset and size of a block's parameters.
fn places(bound: &Bound, block: usize) -> Vec<(u32, u32)> {
    let parameters = bound.blocks.get(block).map_or(&[][..], |block| &block.parameters);
    parameters.iter().map(|parameter| (parameter.offset, parameter.size)).collect()
}
