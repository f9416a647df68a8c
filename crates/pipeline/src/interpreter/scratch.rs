//! The memory that a worker reuses from packet to packet, and the worker's own state.

use super::Lookup;
use crate::externs::ChecksumState;
use crate::state::Digest;
use crate::value::Value;
use ir::{ExternId, TypeId};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum number of spare values, enough for a few blocks.
const SPARE_VALUES: usize = 8;

/// The reusable memory of a worker, used by one packet at a time.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The values of all variables, each of the shape of its type. They are created for the first
    /// packet.
    pub(super) frame: Vec<Value>,
    /// The packet that the parser reads.
    pub(super) packet: Vec<u8>,
    /// The output of the deparser.
    pub(crate) emitted: Vec<u8>,
    /// The tables that are being applied, the innermost last.
    pub(crate) lookups: Vec<Lookup>,
    /// The data of checksum units. An instance without data is in its state after `clear`.
    pub(crate) checksums: HashMap<ExternId, ChecksumState>,
    /// Messages to the control plane that have not been collected yet.
    pub(crate) digests: Vec<Digest>,
    random: ChaCha8Rng,
    /// The number of random numbers that were drawn.
    pub(crate) drawn: u64,
    /// Values whose memory later values of their types can reuse.
    spare: Vec<(TypeId, Value)>,
    /// The number of bytes of the current packet beyond those in memory: see
    /// [`crate::Worker::process_heads`].
    pub(crate) beyond: u64,
    /// The flag that asks the worker to end, even while it runs a packet.
    pub(crate) stop: Option<Arc<EndFlag>>,
    /// The memory of machine code, if the program is compiled.
    pub(crate) compiled: Option<Box<crate::compiled::Memory>>,
}

/// The flag that ends several workers. Each worker has an `EndFlag` of its own, so that cloning its
/// `Arc` writes nothing that other workers read.
#[derive(Debug)]
pub(crate) struct EndFlag {
    pub(crate) flag: Arc<AtomicBool>,
}

impl Scratch {
    /// Creates the memory of a worker. Its random numbers depend only on the seed and on the
    /// packets that the worker processes.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            frame: Vec::new(),
            packet: Vec::new(),
            emitted: Vec::new(),
            lookups: Vec::new(),
            checksums: HashMap::new(),
            digests: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
            drawn: 0,
            spare: Vec::new(),
            beyond: 0,
            stop: None,
            compiled: None,
        }
    }

    /// Whether the worker must end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.flag.load(Ordering::Relaxed))
    }

    /// Keeps the memory of a value that is no longer needed.
    pub(crate) fn put_by(&mut self, type_id: TypeId, value: Value) {
        if self.spare.len() < SPARE_VALUES {
            self.spare.push((type_id, value));
        }
    }

    /// Returns a spare value of this type, with its old contents, if there is one.
    pub(super) fn take_spare(&mut self, type_id: TypeId) -> Option<Value> {
        let position = self.spare.iter().position(|(of, _)| *of == type_id)?;
        Some(self.spare.swap_remove(position).1)
    }

    /// Draws a number from `low` to `high`, both included. Returns `low` if the range is empty.
    pub(super) fn random_number(&mut self, low: u64, high: u64) -> u64 {
        if low >= high {
            return low;
        }
        self.drawn = self.drawn.wrapping_add(1);
        self.random.random_range(low..=high)
    }
}
