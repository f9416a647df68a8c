//! The fast path of packets of v1model, PSA and PNA: from the parser to the deparser without the
//! driver of the architecture.
//!
//! Packets come in batches. A batch enters the gate of the tables once, so that entries stay where
//! they are while its packets are processed (`way`). Its packets are transmitted from memory that
//! the next batch reuses (`batch`). Programs with a plan are processed in bursts (`burst`). A
//! packet that requests a copy, another pass or a message to the control plane leaves its burst,
//! and the driver completes it. Without a plan, packets of programs that need no interpreter take
//! the block path: one after another, with one call for each block, in a single frame (`run`).
//! Replicas for a multicast group take the block path too; before each of them, the frame is
//! restored to its state at the end of ingress. Blocks without statements are skipped.

mod batch;
mod clones;
mod glue;
mod psa;
mod run;
mod way;

pub use self::batch::Batch;
pub(super) use self::batch::Sent;
pub(super) use self::psa::Psa;
pub(super) use self::run::Run;

use self::glue::ResolvedGlue;
use super::plan::{Plan, Refusal};
use crate::dialect::Dialect;
use crate::layout::{LARGE, Layout};
use crate::resolved::{BlockParameter, Body, Callee, Field, ResolvedProgram};
use architectures::{Glue, Input, Known, Package, Place, Role, Set, Stage};
use ir::{ExternType, TypeId};

/// The position of the parser in [`FastPath::blocks`]. The next constants are the positions of the
/// other blocks.
pub(super) const PARSER: usize = 0;
pub(super) const VERIFY: usize = 1;
pub(super) const INGRESS: usize = 2;
pub(super) const EGRESS: usize = 3;
pub(super) const UPDATE: usize = 4;
pub(super) const DEPARSER: usize = 5;

/// The architecture of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    V1model,
    Psa,
    Pna,
}

/// The facts about a program that the fast path needs to process its packets.
#[derive(Debug)]
pub(super) struct FastPath {
    pub(super) kind: Kind,
    pub(super) glue: &'static Glue,
    /// The fields of v1model's standard metadata, or of the metadata that PSA's ingress or PNA's
    /// main control receives, indexed by the field's number. `None` for a field that the program
    /// lacks.
    pub(super) standard: Vec<Option<Field>>,
    /// The fields of metadata whose values are known as soon as a packet is received.
    pub(super) received: Vec<(Known, Field)>,
    /// Whether a block reads the packet's direction (in PNA: from the host or from the network).
    pub(super) tells_direction: bool,
    pub(super) blocks: [Callee; 6],
    /// Whether each of the blocks in `blocks` has statements. Blocks without any are skipped.
    pub(super) runs: [bool; 6],
    /// Whether packets can take the block path, in which generated code processes them one at a
    /// time with a call for each block. It requires a v1model program that needs no interpreter and
    /// requests no copies or further passes.
    pub(super) is_codes_alone: bool,
    /// The offset and size in the frame of each parameter that blocks share: headers, metadata and
    /// standard metadata. The first list is for ingress, the second for egress. For PSA and PNA,
    /// the third parameter is the metadata that the control writes.
    pub(super) parameters: [Vec<(u32, u32)>; 2],
    /// The units of work that a packet is charged at the end of ingress, and at the end of egress.
    /// They cover the blocks whose code does not charge for itself.
    pub(super) costs: [u64; 2],
    /// The units of work that a packet is charged for each block on the block path, by the block's
    /// position.
    block_costs: [u64; 6],
    /// The plan by which packets are processed in bursts, or the reason why they are not.
    pub(super) plan: Result<Plan, Refusal>,
    pub(super) drop_port: u64,
    /// The rules of v1model that apply between blocks, with the offsets of the fields that they
    /// use. They are applied on the block path.
    glue_places: Box<ResolvedGlue>,
    /// The fields in the frame (the packet's working memory) that v1model clones preserve, by the
    /// number of the field list.
    kept: clones::Kept,
    /// The facts that only programs for PSA have.
    pub(super) psa: Option<Box<Psa>>,
}

/// A metadata field that decides where a packet goes, such as its output port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deciding {
    pub(super) field: Field,
    pub(super) place: Place,
    /// Whether the architecture initialises the field to a non-zero number.
    pub(super) is_set: bool,
}

const MISSING: Refusal = "a block of the architecture is missing";

impl FastPath {
    /// Collects the facts that the fast path needs about a program. Returns the reason as an error
    /// if no packet of the program can take the fast path.
    pub(super) fn new(layout: &Layout, resolved: &ResolvedProgram) -> Result<Self, Refusal> {
        let mut fast_path = match layout.dialect {
            Dialect::SimpleSwitch => Self::of(layout, resolved, Kind::V1model),
            Dialect::Pna => Self::of(layout, resolved, Kind::Pna),
            Dialect::PsaSwitch | Dialect::Psa => Self::of(layout, resolved, Kind::Psa),
            Dialect::Other => Err(OF_THE_USER),
        }?;
        let psa = fast_path.psa.as_deref();
        let deparsers = [fast_path.blocks[DEPARSER]].into_iter();
        let deparsers: Vec<Callee> = deparsers.chain(psa.map(|psa| psa.ingress_deparser)).collect();
        let mut blocks = resolved.blocks.iter();
        if blocks.any(|block| block.emits && !deparsers.contains(&block.callee)) {
            return Err("a block that is not a deparser emits");
        }
        // Code of bursts does not check the budget, so one pass must always fit into it.
        let most = layout.costs.of_pass(resolved.blocks.iter().map(|block| block.callee));
        let before = match fast_path.kind {
            Kind::V1model => [3, 4],
            Kind::Psa => [2, 5],
            Kind::Pna => [2, 3],
        };
        fast_path.block_costs = fast_path.blocks.map(|callee| layout.costs.of_block(callee));
        fast_path.costs = before.map(|count| {
            let blocks = resolved.blocks.iter().take(count);
            blocks.map(|block| layout.costs.of_block(block.callee)).fold(0, u64::saturating_add)
        });
        // A burst does not check whether the worker is to stop, so one pass must be short.
        let fits = most.is_some_and(|most| most <= LARGE.min(layout.packet_work.into()));
        let plan = Plan::new(resolved, &fast_path);
        let refusal = "one pass may take too much work";
        fast_path.plan = if fits { plan } else { plan.and(Err(refusal)) };
        if let Ok(plan) = &fast_path.plan {
            let known = fast_path.received.iter().filter(|(known, _)| *known == Known::Direction);
            let mut offsets = known.map(|(_, field)| field.address.offset);
            fast_path.tells_direction = offsets.any(|offset| plan.slots.contains_key(&offset));
        }
        Ok(fast_path)
    }

    /// Returns the metadata fields that generated code reads to decide where a packet goes.
    pub(super) fn deciding(&self) -> Vec<Deciding> {
        let Glue { ingress_says, after_ingress, before_queue, before_egress, after_egress, .. } =
            self.glue;
        // v1model makes its decisions in the metadata that egress also receives.
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

    /// Finds the blocks of a package, and the metadata fields that the blocks exchange with the
    /// architecture. Returns the reason as an error if the program cannot take the fast path.
    fn of(layout: &Layout, resolved: &ResolvedProgram, kind: Kind) -> Result<Self, Refusal> {
        let glue = Glue::of(&layout.program.architecture).ok_or(OF_THE_USER)?;
        let package = glue.package(resolved.blocks.len()).ok_or(MISSING)?;
        if package.position(Stage::Pre).is_some() {
            return Err("there is a pre control");
        }
        let mut shared: Vec<(Role, u32)> = Vec::new();
        for (block, roles) in resolved.blocks.iter().zip(package.blocks) {
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
            && resolved.steps.is_empty()
            && resolved.messages.is_empty()
            && !resolved.requests
            // A hash over the payload needs the interpreter.
            && resolved.gathers.iter().all(|gather| !gather.payload)
            && resolved.tables.iter().all(|table| table.general.is_none());
        let places = Places { layout, resolved, package };
        let mut received = Vec::new();
        for (stage, sets) in [
            (Stage::Parser, glue.received),
            (Stage::Parser, glue.before_parser),
            (Stage::Ingress, glue.before_ingress),
        ] {
            received.extend(known_on_receipt(sets, &places.fields(stage, RECEIVED)?));
        }
        let block = |stage| package.position(stage).and_then(|at| resolved.blocks.get(at));
        let parser = block(Stage::Parser).ok_or(MISSING)?.callee;
        let callee = |stage| block(stage).map(|block| block.callee);
        // The order is that of the positions above.
        let stages = [
            Stage::Parser,
            Stage::Verify,
            Stage::Ingress,
            Stage::Egress,
            Stage::Update,
            Stage::Deparser,
        ];
        let standard = places.fields(Stage::Ingress, RECEIVED)?;
        let glue_places = Box::new(ResolvedGlue::new(glue, &standard, layout.metadata.written));
        Ok(Self {
            kind,
            glue,
            standard,
            glue_places,
            received,
            tells_direction: false,
            blocks: stages.map(|stage| callee(stage).unwrap_or(parser)),
            runs: stages
                .map(|stage| callee(stage).is_some_and(|callee| !is_empty(resolved, callee))),
            is_codes_alone,
            parameters: [Stage::Ingress, Stage::Egress].map(|stage| places.shared(stage)),
            costs: [0; 2],
            block_costs: [0; 6],
            plan: Err(MISSING),
            drop_port: layout.drop_port.into(),
            kept: clones::Kept::new(&places),
            psa: match kind {
                Kind::Psa => Some(Box::new(Psa::new(&places)?)),
                Kind::V1model | Kind::Pna => None,
            },
        })
    }
}

/// The reason why a program with a user-defined architecture has no fast path.
const OF_THE_USER: Refusal = "the program declares the architecture itself";
const MOVED: Refusal = "blocks have headers or metadata of different types";

/// Returns those fields of a metadata struct that the architecture sets to values that are known
/// when a packet is received.
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

/// The roles of the parameters through which a block receives metadata about the packet.
const RECEIVED: &[Role] = &[Role::Received, Role::Standard];

/// A program's package, and the offsets of its blocks' parameters in the frame (the packet's
/// working memory).
struct Places<'p> {
    layout: &'p Layout,
    resolved: &'p ResolvedProgram,
    package: &'static Package,
}

impl Places<'_> {
    /// Returns the place in the frame of each field of a metadata parameter, indexed by the field's
    /// number. The parameter is the first one of the stage that has one of the given roles. The
    /// place is `None` for a field that the program lacks.
    fn fields(&self, stage: Stage, roles: &[Role]) -> Result<Vec<Option<Field>>, Refusal> {
        let (block, position) = self.package.parameter(stage, roles).ok_or(MISSING)?;
        let (type_id, place) = self.parameter(block, position).ok_or(MISSING)?;
        let known = self.resolved.parameter_type(type_id).ok_or(MISSING)?;
        let in_frame = |field: Field| Field { address: field.address.plus(place.offset), ..field };
        Ok(known.fields().iter().map(|field| field.map(in_frame)).collect())
    }

    /// Returns the type of a block's parameter, and its storage in the frame (the packet's working
    /// memory).
    fn parameter(&self, block: usize, position: usize) -> Option<(TypeId, BlockParameter)> {
        let Self { layout, resolved, .. } = self;
        let block = resolved.blocks.get(block)?;
        let place = block.parameters.get(position)?;
        let parameters = match block.callee {
            Callee::Parser(id) => &layout.program.parsers.get(id.index())?.parameters,
            Callee::Control(id) => &layout.program.controls.get(id.index())?.parameters,
            Callee::Action(_) | Callee::Function(_) => return None,
        };
        Some((parameters.get(position)?.type_id, *place))
    }

    /// Returns the offset and size of each parameter of a stage that other blocks share. The list
    /// is empty if the package has no such stage.
    fn shared(&self, stage: Stage) -> Vec<(u32, u32)> {
        let Some(position) = self.package.position(stage) else {
            // The architecture has no such stage.
            return Vec::new();
        };
        let (block, roles) =
            (self.resolved.blocks.get(position), self.package.blocks.get(position));
        let parameters = block
            .zip(roles)
            .into_iter()
            .flat_map(|(block, roles)| block.parameters.iter().zip(roles.parameters));
        let shared = parameters.filter(|(_, role)| role.is_shared());
        shared.map(|(parameter, _)| (parameter.offset, parameter.size)).collect()
    }
}

fn is_empty(resolved: &ResolvedProgram, callee: Callee) -> bool {
    matches!(resolved.bodies.get(callee), Some(Body::Block(block)) if block.is_empty())
}
