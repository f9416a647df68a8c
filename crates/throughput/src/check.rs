//! The expected outputs of each flow, which the reference interpreter determines, and the
//! comparison with actual outputs.
//!
//! A flow repeats one packet. After a packet of every flow has been processed once, the output of
//! most flows no longer changes: a table entry that a packet reads and writes then holds the value
//! that the same flow wrote before. Every packet of such a flow is checked in a timed run.
//!
//! Three kinds of outputs are compared with those of the interpreter only packet by packet, in a
//! separate run without a clock:
//!
//! * outputs of programs with registers, meters whose rates are set, or tables that learn;
//! * outputs of flows that write an entry which other flows use;
//! * outputs of flows whose packets draw random numbers, even if two draws happened to agree.
//!
//! In the separate run, the interpreter and the other execution path draw the same random numbers,
//! so every difference is an error.

use crate::method::Variant;
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use foldhash::{HashSet, HashSetExt, quality};
use ir::{ExternType, UpdateMethod};
use pipeline::{Output, Path, Processor, RunError, Switch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::hash::{BuildHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::time::Duration;
use tables::machine::read_once;

/// The number of packets whose outputs are compared with those of the interpreter before a timed
/// run.
const COMPARED: usize = 20_000;
/// The largest number of flows whose expected output is determined. The interpreter needs ten
/// microseconds for each flow.
const LEARNT: usize = 1 << 18;

/// The number of times that the interpreter processes every flow to determine its output.
const LAPS: usize = 3;

/// The time of day that programs see in every packet. It is constant, so that outputs that depend
/// on it do not change.
pub(crate) const NOW: Duration = Duration::ZERO;

/// A hash of output packets, by which outputs are compared. Computing a hash costs little more than
/// a copy. This matters, because a generator checks packets while it sends. The type is never zero,
/// so an `Option` of it takes no extra memory.
pub(crate) type Digest = NonZeroU64;

/// The expected outputs of all flows, as the interpreter determined them.
#[derive(Debug)]
pub(crate) struct Expected {
    /// A hash of the ports and bytes of each flow's output, for the flows that were examined, or
    /// `None` if the flow's output varies.
    outputs: Vec<Option<Digest>>,
    /// The hashes of the bytes of all output packets of all flows, or `None` if the output of any
    /// flow varies or is not known.
    packets: Option<HashSet<Digest>>,
    /// The number of flows whose packets make the program draw random numbers.
    random: usize,
}

/// The result of comparing an execution path with the interpreter, packet by packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Comparison {
    /// The number of packets whose outputs agreed. The comparison ends at the first difference.
    pub compared: usize,
    /// The first packet whose outputs differed, or `None` if all agreed.
    pub difference: Option<Box<Difference>>,
}

/// A packet for which the interpreter and another execution path produce different outputs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Difference {
    /// The input packet for which the outputs differ.
    pub packet: Vec<u8>,
    /// The outputs of the interpreter for the packet, or its error.
    pub interpreter: Result<Vec<Output>, String>,
    /// The outputs of the compared path, or its error.
    pub other: Result<Vec<Output>, String>,
}

impl Expected {
    /// Determines the expected output of each of the first [`LEARNT`] flows: the interpreter
    /// processes all of them, one after the other, several times. No output is known if the program
    /// depends on more history than the entries that a flow writes.
    pub(crate) fn learn(
        workload: &Workload,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, TrafficError> {
        let flows = workload.packets().len().min(LEARNT);
        if depends_on_history(workload) {
            return Ok(Self::unknown());
        }
        // All update methods lead to the same final values of entries. This method writes them
        // immediately.
        let switch = workload.switch(Variant::Method(UpdateMethod::Pointer))?;
        // Before the first lap, entries have values that no packet wrote, so the outputs of the
        // first lap are not compared with those of the others. Each lap draws other random numbers.
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
                    packets.extend(outputs.iter().map(|output| packet_digest(&output.packet)));
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

    /// Returns the record of expected outputs in which no output is known, so that nothing is
    /// checked.
    pub(crate) fn unknown() -> Self {
        Self { outputs: Vec::new(), packets: None, random: 0 }
    }

    /// Returns the number of flows whose packets make the program draw random numbers.
    pub(crate) fn random(&self) -> usize {
        self.random
    }

    /// Returns the number of flows whose outputs the interpreter examined. These flows come first.
    pub(crate) fn learnt(&self) -> usize {
        self.outputs.len()
    }

    /// Returns whether `packet` equals an output of some flow. Returns `None` if the output of any
    /// flow varies or is not known.
    pub(crate) fn has(&self, packet: &[u8]) -> Option<bool> {
        Some(self.packets.as_ref()?.contains(&packet_digest(packet)))
    }

    /// Prefetches the expected output of a flow.
    pub(crate) fn prefetch(&self, flow: usize) {
        read_once(self.outputs.get(flow..=flow).unwrap_or(&[]));
    }

    /// Returns the hash of a flow's expected output, or `None` if the output varies or is not
    /// known.
    pub(crate) fn of(&self, flow: usize) -> Option<Digest> {
        self.outputs.get(flow).copied().flatten()
    }
}

/// Compares an execution path with the interpreter: both process the same packets, starting from
/// the same table entries, and their outputs are compared packet by packet.
pub(crate) fn compare(
    workload: &Workload,
    variant: Variant,
    path: Path,
    seed: u64,
) -> Result<Comparison, TrafficError> {
    let mut result = Comparison::default();
    if path == Path::Interpreter {
        return Ok(result);
    }
    let mut reference = workload.switch(variant)?;
    let mut other = workload.switch(variant)?;
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
            let to_text =
                |found: Result<Vec<Output>, RunError>| found.map_err(|error| error.to_string());
            let (interpreter, other) = (to_text(expected), to_text(found));
            let difference = Difference { packet, interpreter, other };
            result.difference = Some(Box::new(difference));
            break;
        }
        result.compared += 1;
    }
    Ok(result)
}

/// Returns whether a packet's output may depend on earlier packets by other means than the table
/// entries that the packet itself writes. Meters without rates are no such means, because every
/// packet is green for them.
fn depends_on_history(workload: &Workload) -> bool {
    let program = workload.program();
    let keeps = |extern_type: &ExternType| {
        let name = extern_type.name().to_lowercase();
        name.contains("register") || (name.contains("meter") && workload.sets_meters())
    };
    program.externs.iter().any(|instance| keeps(&instance.extern_type))
        || program.tables.iter().any(|table| table.add_on_miss)
}

fn packet_digest(packet: &[u8]) -> Digest {
    digest([(0, packet)].into_iter())
}

/// Returns a hash of output packets in their order, each given by its port and bytes.
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
        let expected = Expected { outputs: vec![Some(right), None], ..Expected::unknown() };
        assert_eq!([0, 1, 2].map(|flow| expected.of(flow)), [Some(right), None, None]);
        expected.prefetch(2);
    }
}
