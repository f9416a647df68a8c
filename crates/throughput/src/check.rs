//! What must leave for each flow, from the reference interpreter, and whether it did.
//!
//! A flow's packet is the same each time. Where its output is the same too, once all flows have been seen (an entry that
//! a packet writes and reads has then what this flow wrote the last time), every packet of a timed run is held against it.
//! Programs whose outputs depend on more than that (registers, meters, tables that learn, two flows that write one entry) are
//! compared packet by packet in a run of their own before, and not while the clock runs. So are flows whose packets draw random
//! numbers, even where two draws came out alike; in the run before, both ways draw the same numbers, so that a difference is one.

use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use foldhash::{HashSet, HashSetExt, quality};
use ir::{ExternType, Program, UpdateMethod};
use pipeline::{Output, Path, Processor, RunError, Switch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::hash::{BuildHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::time::Duration;
use tables::machine::read_once;

/// Packets of the comparison before the clock runs.
const COMPARED: usize = 20_000;
/// Flows whose output is learnt at most; it takes the interpreter ten microseconds each.
const LEARNT: usize = 1 << 18;

/// How often the interpreter sees every flow.
const LAPS: usize = 3;

/// What the clock of the packets shows, always: what a program makes of the time is the same each time then.
pub(crate) const NOW: Duration = Duration::ZERO;

/// A hash of packets that leave, which takes little beside copying them: a generator checks what it gets while it sends. What
/// there is none of takes no memory of its own.
pub(crate) type Digest = NonZeroU64;

/// What leaves for each flow.
#[derive(Debug)]
pub(crate) struct Expected {
    /// A hash of ports and bytes, where it is always the same.
    outputs: Vec<Option<Digest>>,
    /// A hash of the bytes of each packet that leaves so, whichever its flow; nothing if some may leave otherwise.
    packets: Option<HashSet<Digest>>,
    /// Flows whose packets draw random numbers.
    random: usize,
}

/// A comparison of a path with the interpreter, packet by packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Comparison {
    /// Packets that were compared.
    pub compared: usize,
    /// The first difference: the packet, what the interpreter gave, what the path gave.
    pub difference: Option<Box<Difference>>,
}

/// Two paths disagree about a packet.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Difference {
    /// The packet.
    pub packet: Vec<u8>,
    /// What leaves by the interpreter, or why it does not.
    pub interpreter: Result<Vec<Output>, String>,
    /// The same by the other path.
    pub other: Result<Vec<Output>, String>,
}

impl Expected {
    /// Lets the interpreter see every flow, lap after lap.
    pub(crate) fn learn(
        workload: &Workload,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, TrafficError> {
        let flows = workload.packets().len().min(LEARNT);
        if depends_on_history(workload.program()) {
            return Ok(Self::nothing());
        }
        // What a method changes late, it changes to the same.
        let switch = workload.switch(Some(UpdateMethod::Pointer))?;
        // Entries begin with other values than flows leave there, so the first lap is not held against the others. Each
        // lap draws other random numbers.
        let mut laps: [Vec<Option<Digest>>; LAPS] = Default::default();
        let mut packets = HashSet::new();
        let mut draws = vec![false; flows];
        for (lap, found) in laps.iter_mut().enumerate() {
            let mut processor = Processor::with_seed(lap as u64);
            for (flow, packet) in workload.packets().iter().take(flows).enumerate() {
                let mut outputs = Vec::new();
                let given = (workload.port(), packet);
                let before = processor.random_numbers();
                let done = processor.process(&switch, given, NOW, &mut outputs);
                let shown = outputs.iter().map(|output| (output.port, output.packet.as_slice()));
                found.push(done.is_ok().then(|| digest(shown)));
                draws[flow] |= processor.random_numbers() != before;
                if lap + 1 == LAPS {
                    packets.extend(outputs.iter().map(|output| alone(&output.packet)));
                }
                if flow % 1024 == 0 && !progress(lap * flows + flow, LAPS * flows) {
                    return Err(TrafficError::Interrupted);
                }
            }
        }
        let [_, second, third] = laps;
        let known = second.into_iter().zip(third).enumerate().map(|(flow, (one, other))| {
            one.filter(|_| one == other && !workload.shares_entries(flow) && !draws[flow])
        });
        let outputs: Vec<Option<Digest>> = known.collect();
        let all = outputs.len() == workload.packets().len() && outputs.iter().all(Option::is_some);
        let random = draws.iter().filter(|draws| **draws).count();
        Ok(Self { outputs, packets: all.then_some(packets), random })
    }

    /// Knows nothing.
    pub(crate) fn nothing() -> Self {
        Self { outputs: Vec::new(), packets: None, random: 0 }
    }

    /// The number of flows whose packets draw random numbers.
    pub(crate) fn random(&self) -> usize {
        self.random
    }

    /// Flows, the first of all, whose outputs were looked at.
    pub(crate) fn learnt(&self) -> usize {
        self.outputs.len()
    }

    /// Whether a packet is one that leaves for some flow; `None` if nobody knows.
    pub(crate) fn has(&self, packet: &[u8]) -> Option<bool> {
        Some(self.packets.as_ref()?.contains(&alone(packet)))
    }

    /// Asks the memory for what leaves for a flow.
    pub(crate) fn ask_for(&self, flow: usize) {
        read_once(self.outputs.get(flow..=flow).unwrap_or(&[]));
    }

    /// What leaves for a flow; `None` if nobody knows.
    pub(crate) fn of(&self, flow: usize) -> Option<Digest> {
        self.outputs.get(flow).copied().flatten()
    }
}

/// Runs the same packets on the interpreter and on another path, from the same state.
pub(crate) fn compare(
    workload: &Workload,
    method: Option<UpdateMethod>,
    path: Path,
    seed: u64,
) -> Result<Comparison, TrafficError> {
    let mut result = Comparison::default();
    if path == Path::Interpreter {
        return Ok(result);
    }
    let mut reference = workload.switch(method)?;
    let mut other = workload.switch(method)?;
    if other.compile().is_err() {
        return Ok(result);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for number in 0..COMPARED {
        let flow = random.random_range(0..workload.packets().len());
        let packet = &workload.packets()[flow];
        let now = Duration::from_micros(number as u64);
        let run = |switch: &mut Switch| {
            let outcome = switch.process(workload.port(), packet, now);
            switch.answer_entry_changes();
            outcome
        };
        let (expected, found) = (run(&mut reference), run(&mut other));
        let same = match (&expected, &found) {
            (Ok(expected), Ok(found)) => expected == found,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        if !same {
            let packet = packet.to_vec();
            let said =
                |found: Result<Vec<Output>, RunError>| found.map_err(|error| error.to_string());
            let (interpreter, other) = (said(expected), said(found));
            let difference = Difference { packet, interpreter, other };
            result.difference = Some(Box::new(difference));
            break;
        }
        result.compared += 1;
    }
    Ok(result)
}

/// Whether what a program does with a packet may depend on more than entries that the packet itself writes.
fn depends_on_history(program: &Program) -> bool {
    let keeps = |extern_type: &ExternType| {
        let name = extern_type.name().to_lowercase();
        ["register", "meter"].iter().any(|kind| name.contains(kind))
    };
    program.externs.iter().any(|instance| keeps(&instance.extern_type))
        || program.tables.iter().any(|table| table.add_on_miss)
}

fn alone(packet: &[u8]) -> Digest {
    digest([(0, packet)].into_iter())
}

pub(crate) fn digest<'o>(outputs: impl Iterator<Item = (u32, &'o [u8])>) -> Digest {
    let mut hash = quality::FixedState::default().build_hasher();
    for (port, packet) in outputs {
        port.hash(&mut hash);
        packet.hash(&mut hash);
    }
    NonZeroU64::new(hash.finish()).unwrap_or(NonZeroU64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_port_another_byte_or_another_number_of_packets_is_wrong() {
        let right = digest([(1, [1, 2].as_slice()), (2, [3].as_slice())].into_iter());
        for wrong in [
            vec![(1, [1, 2].as_slice())],
            vec![(1, [1, 2].as_slice()), (3, [3].as_slice())],
            vec![(1, [1, 9].as_slice()), (2, [3].as_slice())],
            vec![(2, [3].as_slice()), (1, [1, 2].as_slice())],
        ] {
            assert_ne!(digest(wrong.iter().copied()), right, "{wrong:?}");
        }
        let expected = Expected { outputs: vec![Some(right), None], ..Expected::nothing() };
        assert_eq!([0, 1, 2].map(|flow| expected.of(flow)), [Some(right), None, None]);
        expected.ask_for(2);
    }
}
