//! The straight way of a packet of v1model, PSA or PNA, from the parser to the deparser without the driver of the architecture.
//!
//! Packets come in batches, which enter the gate of the tables once, and leave in memory that is used again. Most
//! programs have a plan, and packets go in bursts (`burst`); a packet that asks for a copy, another pass or a message to
//! the control plane leaves its burst for the driver. Without a plan, packets of programs that code runs without the
//! interpreter are processed one after the other here, a block of code at a time over one frame; so are the copies for a group, for each of which the frame as ingress left it
//! is copied back. Blocks without statements are left out, and with an empty egress all that the architecture would only
//! tell that.

mod psa;

pub(super) use self::psa::Psa;
use super::burst::Stages;
use super::context::{Context, flow};
use super::engine::{MAXIMUM_STEPS, fault};
use super::host::{Host, read, write};
use super::plan::{Plan, Refusal};
use super::tables::{Inside, Joined};
use super::{Compiled, Memory, Timed};
use crate::architecture::decision::Fate;
use crate::architecture::{MAXIMUM_PASSES, Output};
use crate::bound::{Body, Bound, Callee, Field, PackageBlock};
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::layout::{Layout, MetadataField as Of};
use crate::machine::{Effects, Machine, Scratch};
use crate::state::Replica;
use crate::switch::{Core, Processor};
use ir::ExternType;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// `instance_type` of a packet that was replicated.
const REPLICATED: u64 = 5;

/// Positions in the package.
pub(super) const PARSER: usize = 0;
pub(super) const VERIFY: usize = 1;
pub(super) const INGRESS: usize = 2;
pub(super) const EGRESS: usize = 3;
pub(super) const UPDATE: usize = 4;
pub(super) const DEPARSER: usize = 5;

/// What packets of a batch became: those that leave, in memory which is used again.
#[derive(Debug, Default)]
pub struct Batch {
    /// Packets one behind the other.
    bytes: Vec<u8>,
    /// Packets that code put where they leave from. What it does not write keeps what it had before.
    pub(super) room: Vec<u8>,
    pub(super) sent: Vec<Sent>,
    errors: Vec<(usize, RunError)>,
}

/// A packet that leaves. Code writes such records.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Sent {
    pub(super) packet: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The high half, which is zero in what code writes, says that the packet is in [`Batch::bytes`] and how often it was
    /// resubmitted, recirculated or cloned.
    pub(super) port: u64,
}

const IN_BYTES: u64 = 1 << 32;
/// From this bit of [`Sent::port`] on there is the generation.
const GENERATION: u32 = 33;

impl Batch {
    /// Packets that leave, in order: the position in the batch of the packet that each comes from, its port, its bytes.
    pub fn sent(&self) -> impl ExactSizeIterator<Item = (usize, u32, &[u8])> {
        self.sent.iter().map(|sent| {
            let memory = if sent.port & IN_BYTES == 0 { &self.room } else { &self.bytes };
            let bytes = memory.get(sent.start..sent.end).unwrap_or(&[]);
            (sent.packet, sent.port as u32, bytes)
        })
    }

    /// Packets that could not be processed to their end, by their position in the batch: nothing leaves of them.
    #[must_use]
    pub fn errors(&self) -> &[(usize, RunError)] {
        &self.errors
    }

    /// Packets that are processed one by one; what left before an error does not leave.
    pub(crate) fn each(
        &mut self,
        packets: &[(u32, &[u8])],
        mut process: impl FnMut((u32, &[u8]), &mut Vec<Output>) -> Result<(), RunError>,
    ) {
        self.clear();
        let mut outputs = Vec::new();
        for (position, packet) in packets.iter().enumerate() {
            outputs.clear();
            if let Err(error) = process(*packet, &mut outputs) {
                self.errors.push((position, error));
                continue;
            }
            self.push(position, &outputs);
        }
    }

    /// What leaves of a packet that had a driver.
    pub(super) fn push(&mut self, position: usize, outputs: &[Output]) {
        for output in outputs {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&output.packet);
            let end = self.bytes.len();
            let generation = u64::from(output.generation) << GENERATION;
            let port = u64::from(output.port) | IN_BYTES | generation;
            self.sent.push(Sent { packet: position, port, start, end });
        }
    }

    /// Packets of which nothing left, without an error, given that all of a batch were processed.
    pub(crate) fn silent(&self, packets: usize) -> u64 {
        let mut last = None;
        let sent = self.sent.iter().filter(|sent| last.replace(sent.packet) != Some(sent.packet));
        packets.saturating_sub(sent.count() + self.errors.len()) as u64
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent.clear();
        self.errors.clear();
    }

    /// Makes room for so many bytes.
    pub(super) fn make_room(&mut self, bytes: usize) {
        if self.room.len() < bytes {
            self.room.resize(bytes, 0);
        }
    }
}

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
    /// How packets go in bursts, or why they do not.
    pub(super) plan: Result<Plan, Refusal>,
    pub(super) drop_port: u64,
    /// What only packets of PSA have.
    pub(super) psa: Option<Box<Psa>>,
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
        let group = straight.standard.get(Of::McastGrp as usize).copied().flatten();
        straight.plan = Plan::new(bound, group.map(|field| field.address.offset), psa);
        if let Ok(plan) = &straight.plan {
            let offset = |(given, field): &(Given, Field)| (*given, field.address.offset);
            let known = straight.received.iter().map(offset);
            straight.tells_direction = known
                .filter(|(given, _)| *given == Given::Direction)
                .any(|(_, offset)| plan.slots.contains_key(&offset));
        }
        Ok(straight)
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
    let body = bound.bodies.iter().find(|(known, _)| *known == callee);
    matches!(body, Some((_, Body::Block(block))) if block.is_empty())
}

/// Offset and size of a block's parameters.
fn places(bound: &Bound, block: usize) -> Vec<(u32, u32)> {
    let parameters = bound.blocks.get(block).map_or(&[][..], |block| &block.parameters);
    parameters.iter().map(|parameter| (parameter.offset, parameter.size)).collect()
}

/// The straight way as it is now: in bursts, or one by one without the interpreter.
#[derive(Clone, Copy)]
pub(super) struct Way<'c> {
    straight: &'c Straight,
    bursts: Option<(&'c Plan, Stages)>,
}

/// A batch on its way.
pub(super) struct Run<'r, 'b> {
    pub(super) code: &'r Compiled,
    pub(super) core: &'r Core,
    pub(super) straight: &'r Straight,
    /// One frame behind the other.
    pub(super) frames: &'b mut [u64],
    /// Words of a frame.
    pub(super) words: usize,
    /// Which of them the packet is in.
    pub(super) at: usize,
    saved: &'b mut Vec<u64>,
    pub(super) context: Context,
    pub(super) host: Host<'r>,
    /// If the interpreter has steps.
    pub(super) machine: Option<&'b mut Machine<'r>>,
    pub(super) batch: &'b mut Batch,
    /// Position in the batch.
    pub(super) packet: usize,
    pub(super) timed: &'b mut Option<Timed>,
}

/// What egress is told about a packet.
#[derive(Clone, Copy)]
struct Passing<'p> {
    payload: &'p [u8],
    /// Bytes as counted for `packet_length`.
    length: u64,
    truncated: u64,
    /// Microseconds.
    now: u64,
}

impl Compiled {
    /// Processes packets with the ports that they come from, in order, as [`Self::process`] does each; `batch` is given
    /// what they became, and keeps nothing of before.
    pub fn process_batch(
        &self,
        core: &Core,
        worker: &mut Processor,
        packets: &[(u32, &[u8])],
        now: Duration,
        batch: &mut Batch,
    ) {
        self.run_batch(core, &mut worker.scratch, packets, now, batch);
    }

    pub(crate) fn run_batch(
        &self,
        core: &Core,
        scratch: &mut Scratch,
        packets: &[(u32, &[u8])],
        now: Duration,
        batch: &mut Batch,
    ) {
        let Some(way) = self.straight_way(core) else {
            batch.each(packets, |packet, outputs| self.run(core, scratch, packet, now, outputs));
            return;
        };
        batch.clear();
        if let Err(error) = self.straight(way, core, scratch, packets, now, batch) {
            batch.clear();
            batch.errors.extend((0..packets.len()).map(|position| (position, error.clone())));
        }
    }

    /// How packets go straight at this moment, if they do.
    pub(super) fn straight_way(&self, core: &Core) -> Option<Way<'_>> {
        let straight = self.straight.as_ref().ok()?;
        // In bursts, nobody waits for a port.
        let waits = core.layout.reads_queue_depth && core.state.any_waits();
        let bursts = straight.plan.as_ref().ok().zip(self.machine.stages).filter(|_| !waits);
        (bursts.is_some() || straight.is_codes_alone).then_some(Way { straight, bursts })
    }

    /// One packet of a program that goes straight.
    pub(super) fn process_straight(
        &self,
        way: Way<'_>,
        core: &Core,
        scratch: &mut Scratch,
        packet: (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let kept = &mut scratch.compiled.get_or_insert_default().batch;
        let mut batch = std::mem::take(kept);
        batch.clear();
        let outcome = self.straight(way, core, scratch, &[packet], now, &mut batch);
        outputs.extend(batch.sent().zip(&batch.sent).map(|((_, port, bytes), sent)| Output {
            port,
            packet: bytes.to_vec(),
            generation: (sent.port >> GENERATION) as u32,
        }));
        let failed = batch.errors.pop();
        scratch.compiled.get_or_insert_default().batch = batch;
        outcome?;
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Fails only before the first packet.
    fn straight(
        &self,
        Way { straight, bursts }: Way<'_>,
        core: &Core,
        scratch: &mut Scratch,
        packets: &[(u32, &[u8])],
        now: Duration,
        batch: &mut Batch,
    ) -> Result<(), RunError> {
        let mut memory = scratch.compiled.take().unwrap_or_default();
        let Memory { frame, frames, saved, key, data, joined, timed, .. } = &mut *memory;
        let kept = (std::mem::take(key), std::mem::take(data));
        let (words, frame_words): (usize, &mut [u64]) = match &bursts {
            Some((plan, _)) => (plan.frame as usize / 8, frames.of(self, plan, packets.len())),
            None => {
                let words = (self.bound.frame as usize).div_ceil(8);
                frame.resize(words, 0);
                (words, frame)
            }
        };
        // Taken before the gate: whoever closes that may be waited for here.
        let _alone = self.runs_alone.then(|| core.state.alone());
        // Most programs have no steps for it, and to make it takes longer than some packets.
        let interprets = bursts.is_some_and(|(plan, _)| plan.interprets || straight.psa.is_some());
        let mut machine = match interprets {
            true => Some(Machine::new(&core.layout, &core.state, scratch, None, now)?),
            false => None,
        };
        let host = Host::new(&self.bound, core, now, kept);
        let mut run = Run {
            code: self,
            core,
            straight,
            frames: frame_words,
            words,
            at: 0,
            saved,
            context: Context::new(MAXIMUM_STEPS, now),
            host,
            machine: machine.as_mut(),
            batch,
            packet: 0,
            timed,
        };
        let mut all = |inside: Option<&mut Inside<'_>>| match bursts {
            Some(bursts) => run.bursts(bursts, inside, packets),
            None => run.packets(inside, packets),
        };
        let outcome = if self.bound.natives.is_empty() {
            all(None);
            Ok(())
        } else {
            Joined::of(joined, &self.bound, &core.state)
                .map(|joined| joined.inside(&core.state, |inside| all(Some(inside))))
        };
        let Host { key, data, .. } = run.host;
        (memory.key, memory.data) = (key, data);
        drop(machine);
        scratch.compiled = Some(memory);
        outcome
    }
}

impl Run<'_, '_> {
    /// One packet after the other, each from the parser to the deparser.
    fn packets(&mut self, mut inside: Option<&mut Inside<'_>>, packets: &[(u32, &[u8])]) {
        let queues = u64::from(self.host.state.priority_queues.load(Ordering::Relaxed));
        for (position, packet) in packets.iter().enumerate() {
            self.packet = position;
            let before = self.batch.sent.len();
            let outcome = self.parse(inside.as_deref_mut(), *packet);
            if let Err(error) = outcome.and_then(|error| self.pass(packet.1, error, queues)) {
                self.failed(inside.as_deref_mut(), before, error);
            }
        }
    }

    /// Nothing leaves of the packet, and what it wrote of an entry is not left there. So many left before it.
    pub(super) fn failed(&mut self, inside: Option<&mut Inside<'_>>, sent: usize, error: RunError) {
        self.context.timed = 0;
        self.host.found = None;
        if let Some(machine) = &mut self.machine {
            machine.effects = Effects::default();
        }
        if let Some(inside) = inside {
            inside.abandon();
        }
        self.batch.sent.truncate(sent);
        self.batch.errors.push((self.packet, error));
    }

    /// Takes a packet into the frame; gives the parser's error.
    fn parse(
        &mut self,
        inside: Option<&mut Inside<'_>>,
        (port, packet): (u32, &[u8]),
    ) -> Result<u64, RunError> {
        self.frame().fill(0);
        let length = packet.len() as u64;
        self.context = Context::new(MAXIMUM_STEPS, self.host.now);
        if let Some(inside) = inside {
            self.context.set_tables(inside);
        }
        self.context.received_length = length;
        let now = self.host.now.as_micros() as u64;
        self.set(Of::IngressPort, u64::from(port));
        self.set(Of::PacketLength, length);
        self.set(Of::IngressGlobalTimestamp, now);
        self.load_packet(packet);
        self.block(PARSER)
    }

    /// From what the parser left to the output.
    fn pass(&mut self, packet: &[u8], parser_error: u64, queues: u64) -> Result<(), RunError> {
        let now = self.host.now.as_micros() as u64;
        self.set(Of::ParserError, parser_error);
        self.block(VERIFY)?;
        let is_wrong = std::mem::take(&mut self.context.checksum_error);
        self.set(Of::ChecksumError, is_wrong);
        self.block(INGRESS)?;

        let start = usize::try_from(self.context.cursor).unwrap_or(usize::MAX);
        let length = packet.len() as u64;
        let passing = Passing {
            payload: packet.get(start..).unwrap_or(&[]),
            length: length.saturating_add_signed(std::mem::take(&mut self.context.length_change)),
            truncated: std::mem::replace(&mut self.context.truncate, u64::MAX),
            now,
        };
        match self.decided() {
            Fate::Unicast { port } => {
                self.set(Of::InstanceType, 0);
                if self.get(Of::Priority) < queues {
                    self.set(Of::EnqTimestamp, now);
                    self.set(Of::EnqQdepth, self.behind(port));
                    self.egress(port, passing, 0)?;
                }
            }
            Fate::Multicast { group } => self.for_group(group, passing, queues)?,
            Fate::Drop | Fate::Resubmit | Fate::Recirculate => {}
        }
        Ok(())
    }

    /// What a packet of the given length and payload becomes for the group that ingress left in the frame.
    pub(super) fn multicast(
        &mut self,
        length: u64,
        length_change: i64,
        payload: &[u8],
    ) -> Result<(), RunError> {
        let queues = u64::from(self.host.state.priority_queues.load(Ordering::Relaxed));
        let now = self.host.now.as_micros() as u64;
        let length = length.saturating_add_signed(length_change);
        let group = self.get(Of::McastGrp) as u32;
        self.for_group(group, Passing { payload, length, truncated: u64::MAX, now }, queues)
    }

    fn for_group(&mut self, group: u32, passing: Passing<'_>, queues: u64) -> Result<(), RunError> {
        self.set(Of::InstanceType, REPLICATED);
        if self.get(Of::Priority) >= queues {
            return Ok(());
        }
        let replicas = self.host.state.replicas(group);
        // BMv2 keeps the length with the packet, and a replica is a new packet without it.
        self.replicate(&replicas, Passing { truncated: u64::MAX, ..passing })
    }

    /// The frame of the packet.
    pub(super) fn frame(&mut self) -> &mut [u64] {
        let begin = self.at * self.words;
        &mut self.frames[begin..begin + self.words]
    }

    fn bytes(&mut self) -> &mut [u8] {
        let frame = self.frame();
        let length = frame.len() * 8;
        // SAFETY: the words are as many bytes, every pattern of which is a number; the borrow is of `self`.
        unsafe { std::slice::from_raw_parts_mut(frame.as_mut_ptr().cast(), length) }
    }

    fn set(&mut self, field: Of, number: u64) {
        if let Some(Some(field)) = self.straight.standard.get(field as usize) {
            write(self.bytes(), *field, number);
        }
    }

    /// A field of the standard metadata; zero if there is none.
    fn get(&mut self, field: Of) -> u64 {
        match self.straight.standard.get(field as usize) {
            Some(Some(field)) => read(self.bytes(), *field),
            _ => 0,
        }
    }

    fn load_packet(&mut self, packet: &[u8]) {
        self.context.packet = packet.as_ptr();
        self.context.length = packet.len() as u64;
        self.context.cursor = 0;
    }

    /// Says what call-outs work on.
    pub(super) fn call_outs(&mut self) {
        self.context.set_host(&mut self.host);
        if let Some(machine) = &mut self.machine {
            self.context.set_machine(machine);
        }
    }

    /// Runs a block; gives the parser's error.
    fn block(&mut self, block: usize) -> Result<u64, RunError> {
        if !self.straight.runs.get(block).copied().unwrap_or(false) {
            return Ok(0);
        }
        self.call_outs();
        let frame = self.frame().as_mut_ptr().cast();
        // SAFETY: the frame was made as long as the bound form says, of words; `load_packet` set the packet, which the
        // caller of `Compiled::process_batch` lends for the call; `deparse` makes the room for output, and no other
        // block emits (the bound form refuses that); the host is this run's, and used by nobody but call-outs until the
        // code returns; the accesses were given for the batch, in the gate.
        let how = unsafe { self.code.machine.run(block, frame, &mut self.context) };
        if self.context.steps < 0 {
            return Err(RunError::StepLimit(MAXIMUM_STEPS.unsigned_abs()));
        }
        match how {
            flow::NEXT | flow::EXIT => Ok(0),
            flow::REJECT if block == PARSER => Ok(self.context.error),
            flow::REJECT => Err(RunError::Malformed("parser error in a control")),
            _ => Err(fault(self.code, &self.context, &mut self.host)),
        }
    }

    /// As simple_switch: multicast before unicast and drop.
    fn decided(&mut self) -> Fate {
        match (self.get(Of::McastGrp), self.get(Of::EgressSpec)) {
            (0, port) if port == self.straight.drop_port => Fate::Drop,
            (0, port) => Fate::Unicast { port: port as u32 },
            (group, _) => Fate::Multicast { group: group as u32 },
        }
    }

    /// Packets that wait for a port outside.
    fn behind(&self, port: u32) -> u64 {
        self.host.state.waiting(port).into()
    }

    fn replicate(&mut self, replicas: &[Replica], passing: Passing<'_>) -> Result<(), RunError> {
        let begin = self.at * self.words;
        self.saved.clear();
        self.saved.extend_from_slice(&self.frames[begin..begin + self.words]);
        for (position, replica) in replicas.iter().enumerate() {
            if position as u64 + 1 >= MAXIMUM_PASSES {
                return Err(RunError::PassLimit(MAXIMUM_PASSES));
            }
            self.frames[begin..begin + self.words].copy_from_slice(self.saved);
            // All wait before the first leaves.
            let (before, after) = replicas.split_at(position);
            let depth = |others: &[Replica]| {
                others.iter().filter(|other| other.port == replica.port).count() as u64
            };
            self.set(Of::EgressRid, u64::from(replica.instance));
            self.set(Of::EnqTimestamp, passing.now);
            let behind = self.behind(replica.port);
            self.set(Of::EnqQdepth, depth(before) + behind);
            let waiting = depth(after).saturating_sub(1);
            self.egress(replica.port, passing, waiting)?;
        }
        Ok(())
    }

    /// Egress, checksum update and deparser for one port; `waiting` are left in its queue.
    fn egress(&mut self, port: u32, passing: Passing<'_>, waiting: u64) -> Result<(), RunError> {
        let locals = (self.code.bound.locals / 8) as usize;
        if let Some(locals) = self.frame().get_mut(locals..) {
            locals.fill(0);
        }
        self.load_packet(passing.payload);
        let mut most = passing.truncated;
        // Neither checksum update nor deparser see the standard metadata.
        if self.straight.runs[EGRESS] {
            self.set(Of::EgressGlobalTimestamp, passing.now);
            self.set(Of::DeqTimedelta, 0);
            self.set(Of::DeqQdepth, waiting + self.behind(port));
            self.set(Of::EgressPort, u64::from(port));
            self.set(Of::EgressSpec, 0);
            self.set(Of::PacketLength, passing.length);
            self.context.truncate = u64::MAX;
            self.block(EGRESS)?;
            most = most.min(self.context.truncate);
            if self.get(Of::EgressSpec) == self.straight.drop_port {
                return Ok(());
            }
        }
        self.block(UPDATE)?;
        self.deparse(port, passing.payload, most)
    }

    fn deparse(&mut self, port: u32, payload: &[u8], most: u64) -> Result<(), RunError> {
        let room = self.code.bound.emitted as usize;
        let start = self.batch.bytes.len();
        self.batch.bytes.reserve(room + payload.len());
        self.context.emitted = self.batch.bytes.spare_capacity_mut().as_mut_ptr().cast();
        self.context.emitted_length = 0;
        self.block(DEPARSER)?;
        let emitted = usize::try_from(self.context.emitted_length).unwrap_or(0).min(room);
        let bytes = &mut self.batch.bytes;
        // SAFETY: code wrote the bytes up to `emitted_length`, which is at most the room that was reserved.
        unsafe { bytes.set_len(start + emitted) };
        bytes.extend_from_slice(payload);
        bytes.truncate(start.saturating_add(usize::try_from(most).unwrap_or(usize::MAX)));
        let end = bytes.len();
        let port = u64::from(port) | IN_BYTES;
        self.batch.sent.push(Sent { packet: self.packet, port, start, end });
        Ok(())
    }
}
