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
mod resolved;
mod run;
mod way;

pub use self::batch::Batch;
pub(super) use self::batch::Sent;
pub(super) use self::psa::Psa;
pub(super) use self::run::Run;

use self::resolved::Resolved;
use super::plan::{Plan, Refusal};
use crate::architecture::glue::{Glue, Input, Known, Package, Place, Role, Set, Stage};
use crate::bound::{BlockParameter, Body, Bound, Callee, Field};
use crate::dialect::Dialect;
use crate::layout::{LARGE, Layout};
use ir::{ExternType, TypeId};

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

/// Where the straight way finds things.
#[derive(Debug)]
pub(super) struct Straight {
    pub(super) kind: Kind,
    pub(super) glue: &'static Glue,
    /// Of v1model's standard metadata, or what PSA's ingress or PNA's main control is given of a packet, by the number of
    /// the field.
    pub(super) standard: Vec<Option<Field>>,
    /// Fields of the metadata that blocks are given whose numbers are known on receipt.
    pub(super) received: Vec<(Known, Field)>,
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
    /// The glue with the places of its fields, for packets of v1model that go block by block.
    resolved: Box<Resolved>,
    /// What only packets of PSA have.
    pub(super) psa: Option<Box<Psa>>,
}

/// A field that decides where a packet goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deciding {
    pub(super) field: Field,
    pub(super) place: Place,
    /// Whether the architecture starts it as another number than zero.
    pub(super) is_set: bool,
}

const MISSING: Refusal = "a block of the architecture is missing";

impl Straight {
    /// Or why no packet of the program can go there.
    pub(super) fn new(layout: &Layout, bound: &Bound) -> Result<Self, Refusal> {
        let mut straight = match layout.dialect {
            Dialect::SimpleSwitch => Self::of(layout, bound, Kind::V1model),
            Dialect::Pna => Self::of(layout, bound, Kind::Pna),
            Dialect::PsaSwitch | Dialect::Psa => Self::of(layout, bound, Kind::Psa),
            Dialect::Other => Err(OF_THE_USER),
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
            let known = straight.received.iter().filter(|(known, _)| *known == Known::Direction);
            let mut offsets = known.map(|(_, field)| field.address.offset);
            straight.tells_direction = offsets.any(|offset| plan.slots.contains_key(&offset));
        }
        Ok(straight)
    }

    /// Returns the fields that generated code reads to decide where a packet goes.
    pub(super) fn deciding(&self) -> Vec<Deciding> {
        let Glue { ingress_says, after_ingress, before_queue, before_egress, after_egress, .. } =
            self.glue;
        // v1model says what it decides in the metadata that egress is told of too.
        let (ingress, egress): (&[Option<Field>], &[Option<Field>]) = match &self.psa {
            Some(psa) => (&psa.at_ingress, &psa.at_egress),
            None => (&self.standard, &self.standard),
        };
        let starts = if self.psa.is_none() { before_egress } else { &[][..] };
        let rules = [
            (after_ingress, ingress, *ingress_says),
            (before_queue, ingress, &[][..]),
            (after_egress, egress, starts),
        ];
        let found = rules.iter().flat_map(|(rules, fields, starts)| {
            let decides = rules.fields().into_iter();
            decides.filter_map(|(of, place)| {
                let field = fields.get(of as usize).copied().flatten()?;
                let is_set = starts.iter().any(|(set, _)| *set == of);
                Some(Deciding { field, place, is_set })
            })
        });
        found.collect()
    }

    /// Finds the blocks of a package and what they are told and say.
    fn of(layout: &Layout, bound: &Bound, kind: Kind) -> Result<Self, Refusal> {
        let glue = Glue::of(&layout.program.architecture).ok_or(OF_THE_USER)?;
        let package = glue.package(bound.blocks.len()).ok_or(MISSING)?;
        if package.position(Stage::Pre).is_some() {
            return Err("there is a pre control");
        }
        let mut shared: Vec<(Role, u32)> = Vec::new();
        for (block, roles) in bound.blocks.iter().zip(package.blocks) {
            for (parameter, role) in block.parameters.iter().zip(roles.parameters) {
                match shared.iter().find(|(known, _)| known == role) {
                    Some((_, offset)) if *offset != parameter.offset => return Err(MOVED),
                    Some(_) => {}
                    None if role.is_shared() => shared.push((*role, parameter.offset)),
                    None => {}
                }
            }
        }
        let is_accelerator = |instance: &ir::ExternInstance| {
            let kind = &instance.extern_type;
            matches!(kind, ExternType::IpsecAccelerator | ExternType::CryptoAccelerator)
        };
        if layout.program.externs.iter().any(is_accelerator) {
            return Err("an inline accelerator is used");
        }
        let is_codes_alone = kind == Kind::V1model
            && bound.steps.is_empty()
            && bound.messages.is_empty()
            // These read the payload.
            && bound.gathers.iter().all(|gather| !gather.payload)
            && bound.tables.iter().all(|table| table.general.is_none());
        let places = Places { layout, bound, package };
        let mut received = Vec::new();
        for (stage, sets) in [
            (Stage::Parser, glue.received),
            (Stage::Parser, glue.before_parser),
            (Stage::Ingress, glue.before_ingress),
        ] {
            received.extend(known_on_receipt(sets, &places.fields(stage, TOLD)?));
        }
        let block = |stage| package.position(stage).and_then(|at| bound.blocks.get(at));
        let parser = block(Stage::Parser).ok_or(MISSING)?.callee;
        let callee = |stage| block(stage).map(|block| block.callee);
        // In the order of the positions above.
        let stages = [
            Stage::Parser,
            Stage::Verify,
            Stage::Ingress,
            Stage::Egress,
            Stage::Update,
            Stage::Deparser,
        ];
        let standard = places.fields(Stage::Ingress, TOLD)?;
        let resolved = Box::new(Resolved::new(glue, &standard));
        Ok(Self {
            kind,
            glue,
            standard,
            resolved,
            received,
            tells_direction: false,
            blocks: stages.map(|stage| callee(stage).unwrap_or(parser)),
            runs: stages.map(|stage| callee(stage).is_some_and(|callee| !is_empty(bound, callee))),
            is_codes_alone,
            parameters: [Stage::Ingress, Stage::Egress].map(|stage| places.shared(stage)),
            costs: [0; 2],
            plan: Err(MISSING),
            drop_port: layout.drop_port.into(),
            psa: match kind {
                Kind::Psa => Some(Box::new(Psa::new(&places)?)),
                Kind::V1model | Kind::Pna => None,
            },
        })
    }
}

const OF_THE_USER: Refusal = "the architecture is of the user's";
const MOVED: Refusal = "blocks have headers or metadata of different types";

/// Returns the fields among those of a struct to which the glue assigns numbers that are known on
/// receipt.
fn known_on_receipt(
    sets: &'static [Set],
    fields: &[Option<Field>],
) -> impl Iterator<Item = (Known, Field)> {
    sets.iter().filter_map(|(of, input)| match input {
        Input::Known(known) if known.is_known_on_receipt() => {
            Some((*known, fields.get(*of as usize).copied().flatten()?))
        }
        Input::Known(_) | Input::Number(_) => None,
    })
}

/// The roles of what a block is told of the packet.
const TOLD: &[Role] = &[Role::Told, Role::Standard];

/// The package of a program and the places of its parameters.
struct Places<'p> {
    layout: &'p Layout,
    bound: &'p Bound,
    package: &'static Package,
}

impl Places<'_> {
    /// Returns the fields of a parameter that the architecture knows, where they are in the frame, by
    /// their numbers.
    fn fields(&self, stage: Stage, roles: &[Role]) -> Result<Vec<Option<Field>>, Refusal> {
        let (block, position) = self.package.parameter(stage, roles).ok_or(MISSING)?;
        let (type_id, place) = self.parameter(block, position).ok_or(MISSING)?;
        let known = self.bound.parameter_type(type_id).ok_or(MISSING)?;
        let in_frame = |field: Field| Field { address: field.address.plus(place.offset), ..field };
        Ok(known.fields().iter().map(|field| field.map(in_frame)).collect())
    }

    /// Returns the type and the place of a parameter of a block.
    fn parameter(&self, block: usize, position: usize) -> Option<(TypeId, BlockParameter)> {
        let Self { layout, bound, .. } = self;
        let block = bound.blocks.get(block)?;
        let place = block.parameters.get(position)?;
        let parameters = match block.callee {
            Callee::Parser(id) => &layout.program.parsers.get(id.index())?.parameters,
            Callee::Control(id) => &layout.program.controls.get(id.index())?.parameters,
            Callee::Action(_) | Callee::Function(_) => return None,
        };
        Some((parameters.get(position)?.type_id, *place))
    }

    /// Returns offset and size of the parameters of a stage that other blocks share; none if there
    /// is no such stage.
    fn shared(&self, stage: Stage) -> Vec<(u32, u32)> {
        let Some(position) = self.package.position(stage) else { return Vec::new() };
        let (block, roles) = (self.bound.blocks.get(position), self.package.blocks.get(position));
        let parameters = block
            .zip(roles)
            .into_iter()
            .flat_map(|(block, roles)| block.parameters.iter().zip(roles.parameters));
        let shared = parameters.filter(|(_, role)| role.is_shared());
        shared.map(|(parameter, _)| (parameter.offset, parameter.size)).collect()
    }
}

fn is_empty(bound: &Bound, callee: Callee) -> bool {
    matches!(bound.bodies.get(callee), Some(Body::Block(block)) if block.is_empty())
}
