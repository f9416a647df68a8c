//! The architecture around compiled blocks: v1model as the interpreter's driver has it, for programs without clones,
//! resubmission and recirculation, which the bound form refuses.
//!
//! One frame holds the packet's headers and metadata from the parser to the deparser. A packet that goes to one port
//! stays in it; for a group the frame as ingress left it is copied back for each member.

use super::context::{Context, STEP_LIMIT, flow};
use super::host::{Host, read, write};
use super::{Compiled, CompiledWorker};
use crate::architecture::Output;
use crate::architecture::decision::Fate;
use crate::bound::Callee;
use crate::error::RunError;
use crate::externs::v1model::DROP_PORT;
use crate::layout::MetadataField as Of;
use crate::machine::Scratch;
use crate::state::Replica;
use crate::switch::Core;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Steps of loops that one packet may take.
const MAXIMUM_STEPS: i64 = 1_000_000;
/// Passes that may come out of one packet.
const MAXIMUM_PASSES: u64 = 65_536;
/// `instance_type` of a packet that was replicated.
const REPLICATED: u64 = 5;

/// Positions in `Bound::blocks`.
const PARSER: usize = 0;
const VERIFY: usize = 1;
const INGRESS: usize = 2;
const EGRESS: usize = 3;
const UPDATE: usize = 4;
const DEPARSER: usize = 5;

/// A packet on its way through the blocks.
struct Run<'r> {
    code: &'r Compiled,
    core: &'r Core,
    frame: &'r mut [u64],
    context: Context,
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
    /// Processes a packet as [`crate::Switch::process`] does, on the same state.
    ///
    /// # Errors
    /// As [`crate::Switch::process`]; loops may take about as many steps as there.
    pub fn process(
        &self,
        core: &Core,
        worker: &mut CompiledWorker,
        (port, packet): (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let before = outputs.len();
        let outcome = self.run(core, &mut worker.scratch, (port, packet), now, outputs);
        if outcome.is_err() {
            outputs.truncate(before);
        }
        outcome
    }

    /// As [`Self::process`]; what left before an error is still there.
    pub(crate) fn run(
        &self,
        core: &Core,
        scratch: &mut Scratch,
        (port, packet): (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let worker = &mut scratch.compiled;
        let words = (self.bound.frame as usize).div_ceil(8);
        worker.frame.clear();
        worker.frame.resize(words, 0);
        let length = packet.len() as u64;
        let queues = u64::from(core.state.priority_queues.load(Ordering::Relaxed));
        let mut host = Host {
            bound: &self.bound,
            layout: &core.layout,
            state: &core.state,
            now,
            received_length: length,
            found: None,
            key: std::mem::take(&mut worker.key),
        };
        let context = Context::new(&mut host, MAXIMUM_STEPS);
        let mut run = Run { code: self, core, frame: &mut worker.frame, context };
        let now = now.as_micros() as u64;
        run.set(Of::IngressPort, u64::from(port));
        run.set(Of::PacketLength, length);
        run.set(Of::IngressGlobalTimestamp, now);
        run.ingress(packet)?;

        let start = usize::try_from(run.context.cursor).unwrap_or(usize::MAX);
        let passing = Passing {
            payload: packet.get(start..).unwrap_or(&[]),
            length: length.saturating_add_signed(std::mem::take(&mut run.context.length_change)),
            truncated: std::mem::replace(&mut run.context.truncate, u64::MAX),
            now,
        };
        match run.decided() {
            Fate::Unicast { port } => {
                run.set(Of::InstanceType, 0);
                if run.get(Of::Priority) < queues {
                    run.set(Of::EnqTimestamp, now);
                    run.set(Of::EnqQdepth, 0);
                    run.egress(port, passing, 0, outputs)?;
                }
            }
            Fate::Multicast { group } => {
                run.set(Of::InstanceType, REPLICATED);
                if run.get(Of::Priority) < queues {
                    let replicas = core.state.replicas(group);
                    // BMv2 keeps the length with the packet, and a replica is a new packet without it.
                    let passing = Passing { truncated: u64::MAX, ..passing };
                    run.replicate(&replicas, passing, &mut worker.saved, outputs)?;
                }
            }
            Fate::Drop | Fate::Resubmit | Fate::Recirculate => {}
        }
        worker.key = std::mem::take(&mut host.key);
        Ok(())
    }
}

impl Run<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        let length = self.frame.len() * 8;
        // SAFETY: the words are as many bytes, every pattern of which is a number; the borrow is of `self`.
        unsafe { std::slice::from_raw_parts_mut(self.frame.as_mut_ptr().cast(), length) }
    }

    fn set(&mut self, field: Of, number: u64) {
        if let Some(field) = self.code.bound.standard(field) {
            write(self.bytes(), field, number);
        }
    }

    /// A field of the standard metadata; zero if there is none.
    fn get(&mut self, field: Of) -> u64 {
        match self.code.bound.standard(field) {
            Some(field) => read(self.bytes(), field),
            None => 0,
        }
    }

    fn load_packet(&mut self, packet: &[u8]) {
        self.context.packet = packet.as_ptr();
        self.context.length = packet.len() as u64;
        self.context.cursor = 0;
    }

    /// Runs a block; gives the parser's error.
    fn block(&mut self, block: usize) -> Result<u64, RunError> {
        let layout = &self.core.layout;
        let runs_alone = match self.code.bound.blocks.get(block) {
            Some(Callee::Control(id)) => layout.runs_alone(*id),
            Some(Callee::Parser(id)) => layout.runs_alone_parser(*id),
            _ => false,
        };
        let _alone = runs_alone.then(|| self.core.state.alone());
        let frame = self.frame.as_mut_ptr().cast();
        // SAFETY: the frame was made as long as the bound form says, of words; `load_packet` set the packet, which the
        // caller of `Compiled::process` lends for the call; `deparse` makes the room for output, and no other block
        // emits (the IR has `emit` in deparsers, and the room is made before each run of one); the host is a variable
        // of `Compiled::run`, which is not used while code runs.
        let how = unsafe { self.code.machine.run(block, frame, &mut self.context) };
        match how {
            flow::NEXT | flow::EXIT => Ok(0),
            flow::REJECT if block == PARSER => Ok(self.context.error),
            flow::REJECT => Err(RunError::Malformed("parser error in a control")),
            _ => Err(self.fault()),
        }
    }

    fn fault(&self) -> RunError {
        let number = self.context.fault;
        if number == STEP_LIMIT {
            return RunError::StepLimit(MAXIMUM_STEPS.unsigned_abs());
        }
        let known = usize::try_from(number).ok();
        match known.and_then(|number| self.code.bound.faults.get(number)) {
            Some((place, function)) => {
                RunError::Assertion { place: place.clone(), function: function.clone() }
            }
            None => RunError::Malformed("fault"),
        }
    }

    /// Parser, verification, ingress.
    fn ingress(&mut self, packet: &[u8]) -> Result<(), RunError> {
        self.load_packet(packet);
        let error = self.block(PARSER)?;
        self.set(Of::ParserError, error);
        self.block(VERIFY)?;
        self.set(Of::ChecksumError, 0);
        self.block(INGRESS)?;
        Ok(())
    }

    /// As simple_switch: multicast before unicast and drop.
    fn decided(&mut self) -> Fate {
        match (self.get(Of::McastGrp), self.get(Of::EgressSpec)) {
            (0, port) if u128::from(port) == DROP_PORT => Fate::Drop,
            (0, port) => Fate::Unicast { port: port as u32 },
            (group, _) => Fate::Multicast { group: group as u32 },
        }
    }

    fn replicate(
        &mut self,
        replicas: &[Replica],
        passing: Passing<'_>,
        saved: &mut Vec<u64>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        saved.clear();
        saved.extend_from_slice(self.frame);
        for (position, replica) in replicas.iter().enumerate() {
            if position as u64 + 1 >= MAXIMUM_PASSES {
                return Err(RunError::PassLimit(MAXIMUM_PASSES));
            }
            self.frame.copy_from_slice(saved);
            // All wait before the first leaves.
            let (before, after) = replicas.split_at(position);
            let depth = |others: &[Replica]| {
                others.iter().filter(|other| other.port == replica.port).count() as u64
            };
            self.set(Of::EgressRid, u64::from(replica.instance));
            self.set(Of::EnqTimestamp, passing.now);
            self.set(Of::EnqQdepth, depth(before));
            let waiting = depth(after).saturating_sub(1);
            self.egress(replica.port, passing, waiting, outputs)?;
        }
        Ok(())
    }

    /// Egress, checksum update and deparser for one port; `waiting` are left in its queue.
    fn egress(
        &mut self,
        port: u32,
        passing: Passing<'_>,
        waiting: u64,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let locals = (self.code.bound.locals / 8) as usize;
        if let Some(locals) = self.frame.get_mut(locals..) {
            locals.fill(0);
        }
        self.set(Of::EgressGlobalTimestamp, passing.now);
        self.set(Of::DeqTimedelta, 0);
        self.set(Of::DeqQdepth, waiting);
        self.set(Of::EgressPort, u64::from(port));
        self.set(Of::EgressSpec, 0);
        self.set(Of::PacketLength, passing.length);
        self.load_packet(passing.payload);
        self.context.truncate = u64::MAX;
        self.block(EGRESS)?;
        let most = passing.truncated.min(self.context.truncate);
        if u128::from(self.get(Of::EgressSpec)) == DROP_PORT {
            return Ok(());
        }
        self.block(UPDATE)?;
        let mut packet = self.deparse(passing.payload)?;
        packet.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        outputs.push(Output { port, packet, generation: 0 });
        Ok(())
    }

    fn deparse(&mut self, payload: &[u8]) -> Result<Vec<u8>, RunError> {
        let room = self.code.bound.emitted as usize;
        let mut packet: Vec<u8> = Vec::with_capacity(room + payload.len());
        self.context.emitted = packet.as_mut_ptr();
        self.context.emitted_length = 0;
        self.block(DEPARSER)?;
        let emitted = usize::try_from(self.context.emitted_length).unwrap_or(0).min(room);
        // SAFETY: code wrote the bytes up to `emitted_length`, which is at most the room that was reserved.
        unsafe { packet.set_len(emitted) };
        packet.extend_from_slice(payload);
        Ok(packet)
    }
}
