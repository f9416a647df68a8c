//! Processes batches of packets: selects the way in which the packets are processed, provides the
//! buffers that are reused from batch to batch, and holds the tables' entries in place meanwhile.

use super::batch::GENERATION;
use super::{Batch, FastPath, Run};
use crate::architecture::Output;
use crate::compiled::burst::{Column, Stages};
use crate::compiled::context::Context;
use crate::compiled::host::Host;
use crate::compiled::plan::Plan;
use crate::compiled::tables::{Inside, Joined};
use crate::compiled::{Compiled, Memory, Way};
use crate::error::RunError;
use crate::interpreter::{Interpreter, Scratch};
use crate::switch::{Core, Heads, Processor};
use architectures::{Inputs, Known, beyond_drop_port};
use std::time::Duration;

/// The form of the fast path that packets can take at this moment: bursts or the block path, which
/// takes packets one after another with a call for each block.
#[derive(Clone, Copy)]
pub(in crate::compiled) struct FastPathRun<'c> {
    fast_path: &'c FastPath,
    bursts: Option<(&'c Plan, Stages)>,
    /// Tables up to this total size in bytes stay in L2, so their entries are not prefetched.
    prefetch_threshold: u64,
}

impl Compiled {
    /// Processes a batch of packets in order, each as [`Self::process`] does. `packets` holds for
    /// each the port on which it was received and its bytes. The results replace the contents of
    /// `batch`.
    pub fn process_batch(
        &self,
        core: &Core,
        worker: &mut Processor,
        packets: &[(u32, &[u8])],
        now: Duration,
        batch: &mut Batch,
    ) {
        self.run_batch(core, &mut worker.scratch, Heads::whole(packets), now, batch);
    }

    /// Processes a batch of packets of which only the first bytes are in memory, as
    /// [`Switch::process_heads`](crate::Switch::process_heads) does. The results replace the
    /// contents of `batch`.
    pub fn process_heads(
        &self,
        core: &Core,
        worker: &mut Processor,
        heads: Heads<'_>,
        now: Duration,
        batch: &mut Batch,
    ) {
        self.run_batch(core, &mut worker.scratch, heads, now, batch);
    }

    /// Processes a batch of packets in the buffers of one worker. The results replace the contents
    /// of `batch`.
    pub(crate) fn run_batch(
        &self,
        core: &Core,
        scratch: &mut Scratch,
        heads: Heads<'_>,
        now: Duration,
        batch: &mut Batch,
    ) {
        let packets = heads.packets;
        let Some(way) = self.fast_path_run(core, scratch) else {
            batch.each(packets, |position, packet, outputs| {
                scratch.beyond = heads.beyond(position);
                let before = scratch.waiting.len();
                let outcome = self.run(core, scratch, packet, now, outputs);
                scratch.kept_waiting(before, outcome)
            });
            scratch.beyond = 0;
            return;
        };
        batch.clear();
        if let Err(error) = self.run_fast_path(&way, core, scratch, heads, now, batch) {
            batch.clear();
            batch.errors.extend((0..packets.len()).map(|position| (position, error.clone())));
        }
    }

    /// Returns the form of the fast path that packets can take at this moment. Returns `None` if
    /// the driver of the architecture must process them.
    pub(in crate::compiled) fn fast_path_run(
        &self,
        core: &Core,
        scratch: &Scratch,
    ) -> Option<FastPathRun<'_>> {
        let fast_path = self.fast_path.as_ref().ok()?;
        let chosen = scratch.compiled.as_ref().and_then(|memory| memory.way);
        // A packet that waits for its egress leaves the fast path.
        if chosen == Some(Way::Driver) || core.state.any_queues() {
            return None;
        }
        // In a burst, no packet waits for a port, and queue depths are taken to be zero.
        let waits = core.layout.reads_queue_depth && core.state.any_waits();
        let goes_in_bursts = !waits && (chosen != Some(Way::Blocks) || !fast_path.is_codes_alone);
        let bursts = fast_path.plan.as_ref().ok().zip(self.machine_code.stages);
        let mut bursts = bursts.filter(|_| goes_in_bursts);
        if let (Some((_, stages)), Some(Way::Stages)) = (&mut bursts, chosen) {
            stages.fused = None;
        }
        let prefetch_threshold = match chosen {
            Some(Way::Fused) => u64::MAX,
            Some(Way::Prefetched) => 0,
            _ => self.prefetch_threshold,
        };
        (bursts.is_some() || fast_path.is_codes_alone).then_some(FastPathRun {
            fast_path,
            bursts,
            prefetch_threshold,
        })
    }

    /// Processes a single packet on the fast path, as a batch of one.
    pub(in crate::compiled) fn process_on_fast_path(
        &self,
        way: FastPathRun<'_>,
        core: &Core,
        scratch: &mut Scratch,
        packet: (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let kept = &mut scratch.compiled.get_or_insert_default().batch;
        let mut batch = std::mem::take(kept);
        batch.clear();
        let beyond = [scratch.beyond];
        let heads = Heads { packets: &[packet], beyond: &beyond };
        let outcome = self.run_fast_path(&way, core, scratch, heads, now, &mut batch);
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

    /// Processes the packets of a batch on the fast path. Returns an error only if no packet was
    /// processed. Errors of single packets are in `batch`.
    fn run_fast_path(
        &self,
        way: &FastPathRun<'_>,
        core: &Core,
        scratch: &mut Scratch,
        packets: Heads<'_>,
        now: Duration,
        batch: &mut Batch,
    ) -> Result<(), RunError> {
        let mut memory = scratch.compiled.take().unwrap_or_default();
        let outcome = self.run_fast_path_in(&mut memory, way, (core, scratch), packets, now, batch);
        scratch.compiled = Some(memory);
        outcome
    }

    /// Processes the packets of a batch on the fast path, in buffers that are reused from batch to
    /// batch.
    fn run_fast_path_in(
        &self,
        memory: &mut Memory,
        FastPathRun { fast_path, bursts, prefetch_threshold }: &FastPathRun<'_>,
        (core, scratch): (&Core, &mut Scratch),
        Heads { packets, beyond }: Heads<'_>,
        now: Duration,
        batch: &mut Batch,
    ) -> Result<(), RunError> {
        let Memory { frame, frames, saved, key, data, joined, timed, .. } = memory;
        let (words, (frame_words, columns)): (usize, (&mut [u64], &mut [Column])) = match bursts {
            Some((plan, _)) => (plan.frame as usize / 8, frames.of(self, plan, packets.len())),
            None => {
                let words = (self.resolved.frame as usize).div_ceil(8);
                frame.resize(words, 0);
                (words, (frame, &mut []))
            }
        };
        // The lock is taken before the gate is entered, because this may wait for a thread that
        // closes the gate.
        let _alone = self.runs_alone.then(|| core.state.alone());
        let stop = scratch.stop.clone();
        // The interpreter is only created for programs that need it, since that takes longer than
        // some packets do.
        let interprets = bursts
            .as_ref()
            .is_some_and(|(plan, _)| plan.interprets || plan.requests || fast_path.psa.is_some());
        let mut interpreter = match interprets {
            true => Some(Interpreter::new(&core.layout, &core.state, scratch, None, now)?),
            false => None,
        };
        let mut run = Run {
            code: self,
            core,
            fast_path,
            frames: frame_words,
            columns,
            words,
            at: 0,
            saved,
            context: Context::new(core.layout.packet_work, now, &core.state.arrays),
            host: Host::new(&self.resolved, core, now, (key, data)),
            interpreter: interpreter.as_mut(),
            batch,
            packet: 0,
            prefetch_threshold: *prefetch_threshold,
            beyond,
            timed,
            stop: stop.as_deref().map(|stop| &*stop.flag),
            inputs: Inputs::all(0)
                .with(Known::Now, now.as_micros() as u64)
                .with(Known::BehindDropPort, beyond_drop_port(fast_path.drop_port)),
        };
        let mut all = |inside: Option<&mut Inside<'_>>| match bursts {
            Some((plan, stages)) => run.bursts((plan, stages), inside, packets),
            None => run.packets(inside, packets),
        };
        if self.resolved.packed.is_empty() {
            all(None);
        } else {
            let joined = Joined::of(joined, &self.resolved, &core.state)?;
            joined.inside(&core.state, |inside| all(Some(inside)));
        }
        Ok(())
    }
}
