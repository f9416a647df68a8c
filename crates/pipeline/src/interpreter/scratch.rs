//! The buffers that a worker reuses from packet to packet, and the state of the worker.

use super::Lookup;
use crate::architecture::waiting::{AtQueues, Waiting};
use crate::error::RunError;
use crate::externs::ChecksumState;
use crate::state::Digest;
use crate::value::Value;
use ir::{ExternId, TypeId};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum number of unused values that are kept so that their memory can be reused. It
/// suffices for a few blocks.
const SPARE_VALUES: usize = 8;

/// The buffers and the state of a worker. They serve one packet at a time.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The values of all variables. They are created for the first packet and keep the structure of
    /// their types.
    pub(super) frame: Vec<Value>,
    /// The packet that the parser reads.
    pub(super) packet: Vec<u8>,
    /// The bytes that deparsers have emitted.
    pub(crate) emitted: Vec<u8>,
    /// The tables that are being applied, the innermost last.
    pub(crate) lookups: Vec<Lookup>,
    /// The data of each checksum unit. A unit that is missing here has been cleared.
    pub(crate) checksums: HashMap<ExternId, ChecksumState>,
    /// The messages that packets have sent to the control plane and that were not taken yet.
    pub(crate) digests: Vec<Digest>,
    /// The packets that wait in queues of their output ports and were not taken yet.
    pub(crate) waiting: Vec<Waiting>,
    /// The treatment of packets whose output port has queues of its own.
    pub(crate) at_queues: AtQueues,
    random: ChaCha8Rng,
    /// The number of random numbers that packets have drawn.
    pub(crate) drawn: u64,
    /// Values that are no longer used, whose memory later values of their types can reuse.
    spare: Vec<(TypeId, Value)>,
    /// The number of bytes of the current packet that are not in memory: see
    /// [`crate::Worker::process_heads`].
    pub(crate) beyond: u64,
    /// The flag that another thread sets to stop the worker, even while it processes a packet.
    pub(crate) stop: Option<Arc<EndFlag>>,
    /// The buffers that machine code uses, if the program is compiled.
    pub(crate) compiled: Option<Box<crate::compiled::Memory>>,
    /// The buffers for packets that are processed without lasting effects. `None` until there is
    /// such a packet.
    pub(crate) trial: Option<Box<Self>>,
}

/// The state of a worker's random numbers.
#[derive(Debug)]
pub(super) struct Randomness {
    random: ChaCha8Rng,
    /// The number of random numbers that packets have drawn.
    drawn: u64,
}

/// A flag by which another thread stops workers. The flag itself is shared, but each worker has its
/// own `EndFlag` that refers to it. Cloning the worker's `Arc` therefore writes to no memory that
/// other workers read.
#[derive(Debug)]
pub(crate) struct EndFlag {
    pub(crate) flag: Arc<AtomicBool>,
}

impl Scratch {
    /// Creates the buffers of a worker. Its random numbers depend only on the seed and on the
    /// packets that the worker processes.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            frame: Vec::new(),
            packet: Vec::new(),
            emitted: Vec::new(),
            lookups: Vec::new(),
            checksums: HashMap::new(),
            digests: Vec::new(),
            waiting: Vec::new(),
            at_queues: AtQueues::Wait,
            random: ChaCha8Rng::seed_from_u64(seed),
            drawn: 0,
            spare: Vec::new(),
            beyond: 0,
            stop: None,
            compiled: None,
            trial: None,
        }
    }

    /// Returns buffers for a packet that is processed without lasting effects. The packet sees the
    /// same random numbers and checksum units as if it was processed in these buffers.
    /// [`Self::end_trial`] takes the new buffers back.
    pub(crate) fn begin_trial(&mut self, at_queues: AtQueues) -> Box<Self> {
        let mut tried = self.trial.take().unwrap_or_else(|| Box::new(Self::new(0)));
        tried.at_queues = at_queues;
        tried.random = same(&self.random);
        tried.drawn = self.drawn;
        tried.checksums.clone_from(&self.checksums);
        tried.stop.clone_from(&self.stop);
        tried.beyond = self.beyond;
        tried
    }

    /// Returns the state of the random numbers.
    pub(super) fn randomness(&self) -> Randomness {
        Randomness { random: same(&self.random), drawn: self.drawn }
    }

    /// Makes the random numbers continue from a state.
    pub(super) fn set_randomness(&mut self, randomness: &Randomness) {
        self.random = same(&randomness.random);
        self.drawn = randomness.drawn;
    }

    /// Takes back the buffers of a packet that was processed without lasting effects, and discards
    /// what the packet sent to the control plane and to queues.
    pub(crate) fn end_trial(&mut self, mut tried: Box<Self>) {
        tried.digests.clear();
        tried.waiting.clear();
        self.trial = Some(tried);
    }

    /// Returns how many packets wait in queues in addition to the first `before` ones. If the
    /// packet that caused them has failed, they are dropped.
    pub(crate) fn kept_waiting(
        &mut self,
        before: usize,
        outcome: Result<(), RunError>,
    ) -> Result<usize, RunError> {
        match outcome {
            Ok(()) => Ok(self.waiting.len().saturating_sub(before)),
            Err(error) => {
                self.waiting.truncate(before);
                Err(error)
            }
        }
    }

    /// Returns whether another thread has requested that the worker stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.flag.load(Ordering::Relaxed))
    }

    /// Keeps a value that is no longer used, so that a later value of its type can reuse its
    /// memory.
    pub(crate) fn recycle(&mut self, type_id: TypeId, value: Value) {
        if self.spare.len() < SPARE_VALUES {
            self.spare.push((type_id, value));
        }
    }

    /// Returns a value of this type that is no longer used, with its old contents. Returns `None`
    /// if there is none.
    pub(super) fn take_spare(&mut self, type_id: TypeId) -> Option<Value> {
        let position = self.spare.iter().position(|(of, _)| *of == type_id)?;
        Some(self.spare.swap_remove(position).1)
    }

    /// Draws a random number from `low` to `high`, both included. Returns `low` if the range is
    /// empty.
    pub(super) fn random_number(&mut self, low: u64, high: u64) -> u64 {
        if low >= high {
            return low;
        }
        self.drawn = self.drawn.wrapping_add(1);
        self.random.random_range(low..=high)
    }
}

/// Returns a generator that will draw the same random numbers as this one.
fn same(random: &ChaCha8Rng) -> ChaCha8Rng {
    ChaCha8Rng::deserialize_state(&random.serialize_state())
}
