//! A link over MPI, for ranks that mpirun started as processes.
//!
//! MPI waits forever for a rank that is gone, so this link never blocks in MPI. It polls for
//! arrivals, and it sends a message in parts so short that MPI transfers them eagerly, without
//! waiting for the receiver (the lowest eager limit of Open MPI and MPICH is 4 KiB). Only the
//! thread that owns the group calls MPI.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Equivalence, Source};

use crate::{Event, Group, Link, Rank};

/// The maximum size in octets of the parts in which a message is sent. The first octet of a part
/// says whether the part is the last of its message; the others are content.
const PART: usize = 2048;
/// The interval at which the link polls for arrivals. It is long enough not to disturb a
/// measurement.
const POLL: Duration = Duration::from_millis(1);
/// The time after each message for which the link polls without pauses. A rapid exchange of
/// messages, such as the comparison of clocks, is then not delayed.
const SPIN: Duration = Duration::from_millis(10);

/// Initialises MPI and returns the group of all ranks.
pub(crate) fn start() -> Result<Group, String> {
    let (universe, granted) = mpi::initialize_with_threading(Threading::Funneled)
        .ok_or("it was started before in this process")?;
    if granted < Threading::Funneled {
        return Err("it cannot be started in a process that has threads".into());
    }
    let world = universe.world();
    Ok(Group::new(Box::new(MpiLink {
        world,
        universe: Some(universe),
        parts: BTreeMap::new(),
        whole: VecDeque::new(),
        heard: Instant::now(),
    })))
}

/// A link over MPI.
struct MpiLink {
    world: SimpleCommunicator,
    /// The MPI environment. Dropping it finalises MPI, which waits for all ranks.
    universe: Option<Universe>,
    /// The content of incomplete messages, as far as it has arrived, by sender.
    parts: BTreeMap<Rank, Vec<u8>>,
    whole: VecDeque<Event>,
    /// The time at which the link last returned a message.
    heard: Instant,
}

impl std::fmt::Debug for MpiLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MpiLink").field("rank", &self.rank()).finish_non_exhaustive()
    }
}

impl MpiLink {
    /// Receives all parts that have arrived, and queues the messages that are complete.
    fn take(&mut self) {
        while let Some((message, status)) = self.world.any_process().immediate_matched_probe() {
            let count = status.count(u8::equivalent_datatype());
            let mut part = vec![0u8; usize::try_from(count).unwrap_or(0)];
            message.matched_receive_into(&mut part[..]);
            let from = Rank(u32::try_from(status.source_rank()).unwrap_or(u32::MAX));
            let Some((last, content)) = part.split_first() else { continue };
            let message = self.parts.entry(from).or_default();
            message.extend_from_slice(content);
            if *last == 1 {
                let bytes = std::mem::take(message);
                self.whole.push_back(Event::Message { from, bytes });
            }
        }
    }
}

impl Link for MpiLink {
    fn rank(&self) -> Rank {
        Rank(u32::try_from(self.world.rank()).unwrap_or(0))
    }

    fn size(&self) -> u32 {
        u32::try_from(self.world.size()).unwrap_or(1)
    }

    fn send(&mut self, to: Rank, message: &[u8]) {
        let Ok(rank) = i32::try_from(to.0) else { return };
        if rank >= self.world.size() {
            return;
        }
        let parts = message.len().div_ceil(PART - 1).max(1);
        for number in 0..parts {
            let from = number * (PART - 1);
            let to = (from + PART - 1).min(message.len());
            let mut part = vec![u8::from(number + 1 == parts)];
            part.extend_from_slice(message.get(from..to).unwrap_or_default());
            self.world.process_at_rank(rank).send(&part[..]);
        }
    }

    fn receive(&mut self, patience: Duration) -> Option<Event> {
        let begin = Instant::now();
        loop {
            self.take();
            if let Some(event) = self.whole.pop_front() {
                self.heard = Instant::now();
                return Some(event);
            }
            let waited = begin.elapsed();
            if waited >= patience {
                return None;
            }
            if self.heard.elapsed() > SPIN {
                std::thread::sleep(POLL.min(patience - waited));
            }
        }
    }

    fn notices_loss(&self) -> bool {
        false
    }

    fn abandon(&mut self, status: u8) {
        // Finalising MPI would wait for a rank that is gone.
        std::mem::forget(self.universe.take());
        self.world.abort(i32::from(status));
    }
}
