//! What a worker uses again and again: memory, and what is its own from packet to packet.

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

/// Values that are kept for the next packets: those of a few blocks.
const SPARE_VALUES: usize = 8;

/// See the module. One packet at a time uses it.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Values of all variables, each of the shape of its type; made for the first packet.
    pub(super) frame: Vec<Value>,
    /// The packet as the parser sees it.
    pub(super) packet: Vec<u8>,
    /// What the deparser emitted.
    pub(crate) emitted: Vec<u8>,
    /// Tables that are being applied, the innermost last.
    pub(crate) lookups: Vec<Lookup>,
    /// What checksum units were given; an instance that is not here is as after `clear`.
    pub(crate) checksums: HashMap<ExternId, ChecksumState>,
    /// Messages to the control plane that nobody has taken yet.
    pub(crate) digests: Vec<Digest>,
    random: ChaCha8Rng,
    /// The number of random numbers that were drawn.
    pub(crate) drawn: u64,
    /// Values whose memory the next ones of their types may have.
    spare: Vec<(TypeId, Value)>,
    /// The number of bytes that the packet at hand has behind those that are given, as
    /// [`crate::Worker::process_heads`] has it.
    pub(crate) beyond: u64,
    /// Says whether the worker is to end, also while it runs a packet.
    pub(crate) stop: Option<Arc<EndFlag>>,
    /// Of machine code, where the program has it.
    pub(crate) compiled: Option<Box<crate::compiled::Memory>>,
}

/// The flag that ends several workers. Each worker has an `EndFlag` of its own, so that cloning its
/// `Arc` writes nothing that other workers read.
#[derive(Debug)]
pub(crate) struct EndFlag {
    pub(crate) flag: Arc<AtomicBool>,
}

impl Scratch {
    /// Random numbers depend on the seed and on the packets that used this alone.
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

    /// Whether the worker is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.flag.load(Ordering::Relaxed))
    }

    /// Keeps a value that is needed no more.
    pub(crate) fn put_by(&mut self, type_id: TypeId, value: Value) {
        if self.spare.len() < SPARE_VALUES {
            self.spare.push((type_id, value));
        }
    }

    /// A value of this type with whatever it held, if one was put by.
    pub(super) fn take_spare(&mut self, type_id: TypeId) -> Option<Value> {
        let position = self.spare.iter().position(|(of, _)| *of == type_id)?;
        Some(self.spare.swap_remove(position).1)
    }

    /// A number between both, ends included; `low` if the range is empty.
    pub(super) fn random_number(&mut self, low: u64, high: u64) -> u64 {
        if low >= high {
            return low;
        }
        self.drawn = self.drawn.wrapping_add(1);
        self.random.random_range(low..=high)
    }
}
