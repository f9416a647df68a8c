//! The block path: processes packets one after another in a single frame, with one call of
//! generated code for each block. Replicas for multicast groups take it too. Bursts use the type
//! [`Run`] as well.

use super::batch::{GENERATION, IN_BYTES, Sent};
use super::glue::{Assignments, Decision};
use super::{Batch, DEPARSER, EGRESS, FastPath, INGRESS, PARSER, UPDATE, VERIFY};
use crate::architecture::MAX_PASSES;
use crate::compiled::burst::Column;
use crate::compiled::context::{Context, flow};
use crate::compiled::engine::fault;
use crate::compiled::host::{Host, read};
use crate::compiled::tables::Inside;
use crate::compiled::{Compiled, Timed};
use crate::error::RunError;
use crate::interpreter::{Effects, Interpreter};
use crate::layout::MetadataField as Of;
use crate::state::Replica;
use crate::switch::Core;
use architectures::{Fate, Inputs, Known};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a batch of packets while it is processed on the fast path.
pub(in crate::compiled) struct Run<'r, 'b> {
    pub(in crate::compiled) code: &'r Compiled,
    pub(in crate::compiled) core: &'r Core,
    pub(in crate::compiled) fast_path: &'r FastPath,
    /// The frames (working memory) of the packets in progress, one after another. Outside of
    /// bursts, there is only one.
    pub(in crate::compiled) frames: &'b mut [u64],
    /// The columns of a burst. Each holds the keys of all packets for one table, and the results of
    /// their lookups; see [`Column`].
    pub(in crate::compiled) columns: &'b mut [Column],
    /// The size of a packet's frame (its working memory) in 64-bit words.
    pub(in crate::compiled) words: usize,
    /// The index of the current packet's frame (its working memory) in `frames`.
    pub(in crate::compiled) at: usize,
    /// A copy of the frame (working memory) of a replicated packet as it was at the end of ingress.
    pub(in crate::compiled) saved: &'b mut Vec<u64>,
    pub(in crate::compiled) context: Context,
    pub(in crate::compiled) host: Host<'r>,
    /// The interpreter, if generated code leaves some statements of the program to it.
    pub(in crate::compiled) interpreter: Option<&'b mut Interpreter<'r>>,
    pub(in crate::compiled) batch: &'b mut Batch,
    /// The position of the current packet in the batch.
    pub(in crate::compiled) packet: usize,
    /// Tables up to this total size in bytes stay in L2, so their entries are not prefetched.
    pub(in crate::compiled) prefetch_threshold: u64,
    /// The number of bytes of each packet of the batch that are not in memory, because only its
    /// first bytes were passed. Empty if all packets are complete.
    pub(in crate::compiled) beyond: &'b [u64],
    pub(in crate::compiled) timed: &'b mut Option<Timed>,
    /// A flag that another thread sets to stop the worker.
    pub(in crate::compiled) stop: Option<&'b AtomicBool>,
    /// The inputs of the architecture's rules for the current packet, such as its port and its
    /// length.
    pub(in crate::compiled) inputs: Inputs<u64>,
}

/// The number of replicas of one packet that wait in the queue of each port, while the replicas are
/// processed one after another.
enum Queues<'r> {
    /// A short list of replicas, which is searched each time a number is needed.
    Few(&'r [Replica]),
    /// A long list of replicas, and the number of replicas for each port.
    Many(&'r [Replica], HashMap<u32, Queued>),
}

/// The number of replicas of one packet that go to one port, and the number of these replicas for
/// which [`Queues::around`] was already called.
#[derive(Clone, Copy, Default)]
struct Queued {
    all: u64,
    left: u64,
}

impl<'r> Queues<'r> {
    /// The largest number of replicas in a list that is searched each time a number is needed. For
    /// longer lists, a map by port is faster.
    const FEW: usize = 16;

    fn new(replicas: &'r [Replica]) -> Self {
        if replicas.len() <= Self::FEW {
            return Self::Few(replicas);
        }
        let mut queues = HashMap::<u32, Queued>::new();
        for replica in replicas {
            queues.entry(replica.port).or_default().all += 1;
        }
        Self::Many(replicas, queues)
    }

    /// Returns how many other replicas go to the same port as the replica at `position`: first the
    /// number of those before it in the list, then the number of those after it. Must be called
    /// once for each position, in ascending order.
    fn around(&mut self, position: usize) -> (u64, u64) {
        match self {
            Self::Few(replicas) => {
                let Some((before, [replica, behind @ ..])) = replicas.split_at_checked(position)
                else {
                    return (0, 0);
                };
                let count = |others: &[Replica]| {
                    others.iter().filter(|other| other.port == replica.port).count() as u64
                };
                (count(before), count(behind))
            }
            Self::Many(replicas, queues) => {
                let Some(replica) = replicas.get(position) else { return (0, 0) };
                let queue = queues.entry(replica.port).or_default();
                let before = queue.left;
                queue.left += 1;
                (before, queue.all.saturating_sub(queue.left))
            }
        }
    }
}

/// The values that a packet takes from ingress to egress outside of the frame (its working memory).
#[derive(Clone, Copy)]
pub(super) struct Passing<'p> {
    pub(super) payload: &'p [u8],
    /// The maximum number of bytes that are transmitted.
    pub(super) truncated: u64,
    /// The number of clones and further passes that led from the received packet to this one.
    pub(super) generation: u64,
}

impl Run<'_, '_> {
    /// Processes packets one after another on the block path, each from the parser to the deparser.
    pub(super) fn packets(
        &mut self,
        mut inside: Option<&mut Inside<'_>>,
        packets: &[(u32, &[u8])],
    ) {
        for (position, packet) in packets.iter().enumerate() {
            self.packet = position;
            let before = self.batch.sent.len();
            let outcome = self.parse(inside.as_deref_mut(), *packet);
            if let Err(error) = outcome.and_then(|error| self.pass(packet.1, error)) {
                self.failed(inside.as_deref_mut(), before, error);
            }
        }
    }

    /// Records an error for the current packet and discards what it has caused: the packets to
    /// transmit after the first `sent` ones, and the changes that an unfinished action has made to
    /// entries.
    pub(in crate::compiled) fn failed(
        &mut self,
        inside: Option<&mut Inside<'_>>,
        sent: usize,
        error: RunError,
    ) {
        self.context.timed = 0;
        self.host.found = None;
        if let Some(interpreter) = &mut self.interpreter {
            interpreter.effects = Effects::default();
        }
        if let Some(inside) = inside {
            inside.abandon();
        }
        self.batch.sent.truncate(sent);
        self.batch.errors.push((self.packet, error));
    }

    /// Returns how many bytes of the packet at a position of the batch are not in memory.
    pub(in crate::compiled) fn beyond(&self, position: usize) -> u64 {
        self.beyond.get(position).copied().unwrap_or(0)
    }

    /// Clears the frame (the packet's working memory) and parses a packet into it. Returns the
    /// parser's error.
    fn parse(
        &mut self,
        inside: Option<&mut Inside<'_>>,
        (port, packet): (u32, &[u8]),
    ) -> Result<u64, RunError> {
        self.stops()?;
        self.frame().fill(0);
        let length = packet.len() as u64 + self.beyond(self.packet);
        let work = self.core.layout.packet_work;
        self.context = Context::new(work, self.host.now, &self.core.state.arrays);
        self.context.begin_work(work.into(), self.stop);
        if let Some(inside) = inside {
            self.context.set_tables(inside);
        }
        self.context.received_length = length;
        self.inputs.set(Known::Port, port.into());
        self.inputs.set(Known::Length, length);
        self.assign(&self.fast_path.glue_places.received);
        self.load_packet(packet);
        self.block(PARSER)
    }

    /// Processes a packet from the end of the parser until it is recorded for transmission or
    /// dropped.
    fn pass(&mut self, packet: &[u8], parser_error: u64) -> Result<(), RunError> {
        self.block(VERIFY)?;
        let checksum_failed = std::mem::take(&mut self.context.checksum_error);
        self.inputs.set(Known::ParserError, parser_error);
        self.inputs.set(Known::ChecksumFailed, checksum_failed);
        self.assign(&self.fast_path.glue_places.before_ingress);
        self.block(INGRESS)?;

        let start = usize::try_from(self.context.cursor).unwrap_or(usize::MAX);
        let length = packet.len() as u64 + self.beyond(self.packet);
        let length = length.saturating_add_signed(std::mem::take(&mut self.context.length_change));
        self.inputs.set(Known::Length, length);
        let passing = Passing {
            payload: packet.get(start..).unwrap_or(&[]),
            truncated: std::mem::replace(&mut self.context.truncate, u64::MAX),
            generation: 0,
        };
        match self.decided(&self.fast_path.glue_places.after_ingress, 0) {
            Fate::Unicast { port } => {
                self.assign(&self.fast_path.glue_places.to_port);
                if let Fate::Unicast { .. } =
                    self.decided(&self.fast_path.glue_places.before_queue, port)
                {
                    self.inputs.set(Known::QueueDepth, self.behind(port));
                    self.assign(&self.fast_path.glue_places.queued);
                    self.egress(port, passing, 0)?;
                }
            }
            Fate::Multicast { group } => self.for_group(group, passing)?,
            Fate::Drop { .. } | Fate::Resubmit | Fate::Recirculate => {}
        }
        Ok(())
    }

    /// Processes the replicas of a packet for the multicast group that ingress has stored in the
    /// frame. `length` is the packet's length before ingress, `length_change` the number of bytes
    /// that ingress has added, and `payload` what follows the parsed headers.
    pub(in crate::compiled) fn multicast(
        &mut self,
        length: u64,
        length_change: i64,
        payload: &[u8],
    ) -> Result<(), RunError> {
        let length = length.saturating_add_signed(length_change);
        let group = self.get(Of::McastGrp) as u32;
        self.inputs.set(Known::Length, length);
        let left = self.context.end_work();
        self.context.begin_work(left, self.stop);
        let charged = self.charge(self.fast_path.costs[0]);
        let passing = Passing { payload, truncated: u64::MAX, generation: 0 };
        let outcome = charged.and_then(|()| self.for_group(group, passing));
        self.context.end_work();
        outcome
    }

    /// Processes the replicas of a packet for a multicast group.
    fn for_group(&mut self, group: u32, passing: Passing<'_>) -> Result<(), RunError> {
        self.assign(&self.fast_path.glue_places.to_group);
        let replicas = self.host.state.replicas(group);
        // All replicas are made before the first of them is processed, so they are charged
        // together.
        let bytes = passing.payload.len() as u64 + self.beyond(self.packet);
        let copy = self.core.layout.costs.of_copy(bytes as usize);
        self.charge(copy.saturating_mul(replicas.len() as u64))?;
        if let Fate::Drop { .. } = self.decided(&self.fast_path.glue_places.before_queue, 0) {
            return Ok(());
        }
        // BMv2 stores the truncated length with the packet, and a replica is a new packet without
        // it.
        self.replicate(&replicas, Passing { truncated: u64::MAX, ..passing })
    }

    /// Returns the frame of the current packet (its working memory), as bytes.
    fn bytes(&self) -> &[u8] {
        let begin = self.at * self.words;
        let frame = &self.frames[begin..begin + self.words];
        // SAFETY: the words are that many initialized bytes, every bit pattern of which is a valid
        // `u8`, and the borrow of `self` covers them.
        unsafe { std::slice::from_raw_parts(frame.as_ptr().cast(), frame.len() * 8) }
    }

    /// Returns the frame of the current packet, its working memory.
    pub(in crate::compiled) fn frame(&mut self) -> &mut [u64] {
        let begin = self.at * self.words;
        &mut self.frames[begin..begin + self.words]
    }

    /// Returns the frame of the current packet (its working memory), as bytes, for writing.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let frame = self.frame();
        let length = frame.len() * 8;
        // SAFETY: the words are that many initialized bytes, every bit pattern of a byte and of a
        // word is valid, and the borrow of `self` covers them.
        unsafe { std::slice::from_raw_parts_mut(frame.as_mut_ptr().cast(), length) }
    }

    /// Assigns the values that the architecture sets to fields of the standard metadata.
    #[inline]
    pub(super) fn assign(&mut self, assignments: &Assignments) {
        let begin = self.at * self.words;
        let frame = &mut self.frames[begin..begin + self.words];
        let length = frame.len() * 8;
        // SAFETY: `length` is the size of `frame` in bytes, every bit pattern is a valid `u8`, and
        // nothing else uses the frame while the slice lives.
        let frame = unsafe { std::slice::from_raw_parts_mut(frame.as_mut_ptr().cast(), length) };
        assignments.run(&self.inputs, frame);
    }

    /// Returns the value of a field of the standard metadata, or zero if the program lacks the
    /// field.
    fn get(&self, field: Of) -> u64 {
        match self.fast_path.standard.get(field as usize) {
            Some(Some(field)) => read(self.bytes(), *field),
            _ => 0,
        }
    }

    pub(super) fn load_packet(&mut self, packet: &[u8]) {
        self.context.packet = packet.as_ptr();
        self.context.length = packet.len() as u64;
        self.context.cursor = 0;
    }

    /// Sets the host and the interpreter that host calls of generated code use.
    pub(in crate::compiled) fn host_calls(&mut self) {
        self.context.set_host(&mut self.host);
        if let Some(interpreter) = &mut self.interpreter {
            self.context.set_interpreter(interpreter);
        }
    }

    /// Runs one block of the program. Returns the error of a parser that rejects the packet, and
    /// zero otherwise.
    pub(super) fn block(&mut self, block: usize) -> Result<u64, RunError> {
        let fast_path = self.fast_path;
        self.charge(fast_path.block_costs.get(block).copied().unwrap_or(0))?;
        if !fast_path.runs.get(block).copied().unwrap_or(false) {
            return Ok(0);
        }
        self.host_calls();
        let frame = self.frame().as_mut_ptr().cast();
        // SAFETY: the frame is as long as the resolved program states and consists of words.
        // `load_packet` set the packet, which the caller of `Compiled::process_batch` lends for the
        // call. `deparse` provides the output buffer, and no other block emits, since such programs
        // are refused. The host belongs to this run and only host calls use it until the code
        // returns. The table accesses were obtained for the batch inside the gate.
        let how = unsafe { self.code.machine_code.run(block, frame, &mut self.context) };
        if how == flow::FAULT && self.is_stopped() {
            return Err(RunError::Stopped);
        }
        if let Some(broken) = self.host.take_broken() {
            return Err(RunError::Internal(broken));
        }
        match how {
            flow::NEXT | flow::EXIT => Ok(0),
            flow::REJECT if block == PARSER => Ok(self.context.error),
            flow::REJECT => Err(RunError::internal("parser error in a control")),
            _ => Err(fault(self.code, &self.context, &mut self.host)),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Returns an error if another thread has requested that the worker stop.
    fn stops(&self) -> Result<(), RunError> {
        if self.is_stopped() { Err(RunError::Stopped) } else { Ok(()) }
    }

    /// Charges units of work to the current packet. Returns an error if the packet may not take
    /// that much work.
    #[inline]
    pub(super) fn charge(&mut self, units: u64) -> Result<(), RunError> {
        if self.context.charge(units) { Ok(()) } else { Err(self.core.layout.work_limit()) }
    }

    /// Applies rules to the standard metadata of the current packet, and returns what happens to
    /// the packet if its output port is `port`.
    #[inline]
    pub(super) fn decided(&self, decision: &Decision, port: u32) -> Fate {
        let queues = self.host.state.priority_queues.load(Ordering::Relaxed);
        decision.decide(self.bytes(), port, self.core.layout.drop_port, queues)
    }

    /// Returns the number of earlier packets that wait in the queue of a port.
    pub(super) fn behind(&self, port: u32) -> u64 {
        self.host.state.waiting(port).into()
    }

    /// Runs egress for each replica of a packet. Before each, the frame (the packet's working
    /// memory) is restored to its state at the end of ingress.
    fn replicate(&mut self, replicas: &[Replica], passing: Passing<'_>) -> Result<(), RunError> {
        let begin = self.at * self.words;
        self.saved.clear();
        self.saved.extend_from_slice(&self.frames[begin..begin + self.words]);
        let mut queues = Queues::new(replicas);
        for (position, replica) in replicas.iter().enumerate() {
            self.stops()?;
            if position as u64 + 1 >= MAX_PASSES {
                return Err(RunError::PassLimit(MAX_PASSES));
            }
            self.frames[begin..begin + self.words].copy_from_slice(self.saved);
            // All replicas are queued before the first of them leaves.
            let (before, waiting) = queues.around(position);
            self.inputs.set(Known::Instance, replica.instance.into());
            self.inputs.set(Known::QueueDepth, before + self.behind(replica.port));
            self.assign(&self.fast_path.glue_places.replica);
            self.assign(&self.fast_path.glue_places.queued);
            self.egress(replica.port, passing, waiting)?;
        }
        Ok(())
    }

    /// Runs egress, checksum update and deparser for one output port. `waiting` is the number of
    /// replicas that still wait in the queue of the port.
    fn egress(&mut self, port: u32, passing: Passing<'_>, waiting: u64) -> Result<(), RunError> {
        self.begin_egress(port, passing, waiting)?;
        self.end_egress(port, passing)
    }

    /// Runs egress for one output port. The arguments are those of [`Self::egress`].
    pub(super) fn begin_egress(
        &mut self,
        port: u32,
        passing: Passing<'_>,
        waiting: u64,
    ) -> Result<(), RunError> {
        let locals = (self.code.resolved.locals / 8) as usize;
        if let Some(locals) = self.frame().get_mut(locals..) {
            locals.fill(0);
        }
        self.load_packet(passing.payload);
        // Only egress sees the standard metadata; checksum update and deparser do not.
        if self.fast_path.runs[EGRESS] {
            let queue_depth = waiting + self.behind(port);
            self.inputs.set(Known::Port, port.into());
            self.inputs.set(Known::QueueDepth, queue_depth);
            self.assign(&self.fast_path.glue_places.before_egress);
            self.context.truncate = u64::MAX;
        }
        self.block(EGRESS).map(|_| ())
    }

    /// Runs checksum update and deparser after egress, unless egress drops the packet.
    pub(super) fn end_egress(&mut self, port: u32, passing: Passing<'_>) -> Result<(), RunError> {
        let Passing { payload, mut truncated, generation } = passing;
        if self.fast_path.runs[EGRESS] {
            truncated = truncated.min(self.context.truncate);
            if let Fate::Drop { .. } = self.decided(&self.fast_path.glue_places.after_egress, port)
            {
                return Ok(());
            }
        }
        self.block(UPDATE)?;
        self.deparse((port, generation), payload, truncated)
    }

    /// Runs the deparser, and records the packet for transmission.
    fn deparse(
        &mut self,
        (port, generation): (u32, u64),
        payload: &[u8],
        most: u64,
    ) -> Result<(), RunError> {
        let room = self.code.resolved.emitted as usize;
        let start = self.batch.bytes.len();
        self.batch.bytes.reserve(room + payload.len());
        self.context.emitted = self.batch.bytes.spare_capacity_mut().as_mut_ptr().cast();
        self.context.emitted_length = 0;
        self.block(DEPARSER)?;
        let emitted = usize::try_from(self.context.emitted_length).unwrap_or(0).min(room);
        let bytes = &mut self.batch.bytes;
        // SAFETY: the code wrote the bytes up to `emitted_length`, which is at most the capacity
        // that was reserved.
        unsafe { bytes.set_len(start + emitted) };
        bytes.extend_from_slice(payload);
        bytes.truncate(start.saturating_add(usize::try_from(most).unwrap_or(usize::MAX)));
        let end = bytes.len();
        let port = u64::from(port) | IN_BYTES | generation << GENERATION;
        self.batch.sent.push(Sent { packet: self.packet, port, start, end });
        Ok(())
    }
}
