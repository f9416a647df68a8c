//! The packets with which `planimeter dut` measures digests, made from a program.
//!
//! Which packets emit which digest is found by trial on the reference interpreter, with and without
//! entries in tables.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use ::dut::digests::{Emitting, Packets, Traffic};
use ::dut::live::Wire;
use entities::Data;
use entities::schema::DigestId;
use ir::{Program, TableId};
use p4runtime::proto::v1;
use pipeline::{Switch, TableEntry};
use throughput::traffic::{Wanted, Workload};

use super::{PACKET_SIZE, Trial, ingress};
use crate::failure::Failure;

/// The number of packets that are tried.
const PACKETS: usize = 64;
/// The times at which each packet is processed. A program may do something else the second time.
const TIMES: [Duration; 2] = [Duration::ZERO, Duration::from_secs(5)];

/// Makes packets that emit distinct digests. If there are none, the result says why.
pub(in crate::dut) fn make(program: Program, wires: Vec<Wire>) -> Result<Traffic, Failure> {
    let config = p4lang::device_config::to_pipeline_config(&program).map_err(Failure::input)?;
    let p4info = config.p4info.unwrap_or_default();
    let schema = p4runtime::p4info::Schema::new(p4info.clone()).map_err(Failure::input)?;
    let mut traffic = Traffic {
        p4info,
        wires,
        digest_id: 0,
        name: String::new(),
        beside: Vec::new(),
        packets: Err("The program has no digest, so digests were not measured.".to_owned()),
    };
    if schema.objects().digests().is_empty() {
        return Ok(traffic);
    }
    let wanted =
        Wanted { flows: PACKETS, packet_size: PACKET_SIZE, seed: crate::environment::SEED };
    let made = ir::with_large_stack(|| Workload::from_program(program, wanted, &mut |_, _| true));
    let workload = made.map_err(Failure::run)?.map_err(Failure::input)?;
    let trial = Trial { workload: &workload, schema: schema.objects(), wires: &[] };
    let all: Vec<(TableId, TableEntry)> =
        workload.entries().map(|(table, entry)| (table, entry.clone())).collect();
    let mut best: Option<Found> = None;
    for entries in [Vec::new(), all] {
        let messages = entries.iter().map(|(table, entry)| trial.message(*table, entry));
        // Actions in an action profile cannot be written as an entry alone.
        let Some(messages) = messages.collect::<Option<Vec<_>>>() else { continue };
        for (id, emitting) in trial.emitting(&entries) {
            if best.as_ref().is_none_or(|best| emitting.len() > best.emitting.len()) {
                best = Some(Found { id, emitting, beside: messages.clone() });
            }
        }
    }
    let declared = best.as_ref().and_then(|best| schema.objects().digests().get(best.id));
    let entering = ingress(&workload, &traffic.wires);
    traffic.packets = match (best, declared, entering) {
        (Some(Found { id, emitting, beside }), Some(declared), Ok(port)) => {
            traffic.digest_id = id.0;
            traffic.name.clone_from(&declared.name);
            traffic.beside = beside;
            Ok(Packets { port, data_type: declared.data.clone(), emitting })
        }
        (Some(_), Some(_), Err(unconnected)) => {
            Err(format!("{unconnected}, so digests were not measured."))
        }
        (None, ..) | (_, None, _) => Err(
            "No packet of the program emits the same digest each time that it is sent, so digests were not measured."
                .to_owned(),
        ),
    };
    Ok(traffic)
}

/// The packets that emit a digest, and the entries with which they do.
struct Found {
    id: DigestId,
    emitting: Vec<Emitting>,
    beside: Vec<v1::TableEntry>,
}

impl Trial<'_> {
    /// Returns the packets that emit one digest each time, by the digest of P4Info. Of those with
    /// the same contents, only the first is included.
    fn emitting(&self, entries: &[(TableId, TableEntry)]) -> BTreeMap<DigestId, Vec<Emitting>> {
        let Some(switch) = self.with_entries(entries) else { return BTreeMap::new() };
        let packets = self.workload.packets();
        // All packets are processed before the first is processed again, as in the measurement.
        let passes = TIMES.map(|now| {
            let emitted = packets.iter().map(|packet| self.emitted(&switch, packet, now));
            emitted.collect::<Vec<_>>()
        });
        let mut found: BTreeMap<DigestId, Vec<Emitting>> = BTreeMap::new();
        let mut known = HashSet::new();
        let [first, second] = passes;
        for ((packet, first), second) in packets.iter().zip(first).zip(second) {
            if let Some((id, digest)) = first
                && second.as_ref() == Some(&(id, digest.clone()))
                && known.insert((id, digest.clone()))
            {
                found.entry(id).or_default().push(Emitting { packet: packet.to_vec(), digest });
            }
        }
        found
    }

    /// Returns the digest that a packet emits; `None` if it emits none or several.
    fn emitted(&self, switch: &Switch, packet: &[u8], now: Duration) -> Option<(DigestId, Data)> {
        let mut processor = pipeline::Processor::with_seed(1);
        let given = (self.workload.port(), packet);
        processor.process(switch, given, now, &mut Vec::new()).ok()?;
        let digests = processor.take_digests();
        let [digest] = digests.as_slice() else { return None };
        pipeline::digest_data(self.schema, self.workload.program(), digest)
    }

    /// Returns a switch with these entries alone; `None` if it refuses one of them.
    fn with_entries(&self, entries: &[(TableId, TableEntry)]) -> Option<Switch> {
        let switch = Switch::new(self.workload.program().clone()).ok()?;
        for (table, entry) in entries {
            switch.add_entry(*table, entry.clone(), Duration::ZERO).ok()?;
        }
        Some(switch)
    }
}

#[cfg(test)]
mod tests {
    use p4lang::preprocess::{MemoryFiles, Options};

    use super::*;

    const LEARNING: &str = include_str!("../../../../../programs/learning_switch.p4");

    fn made(text: &str, port: u32) -> Traffic {
        let compiled =
            p4lang::compile_text("program.p4", text, &Options::default(), &MemoryFiles::default());
        let wires = vec![Wire(format!("{port}@lo").parse().expect("a port"))];
        let program = compiled.program.expect("it is valid");
        make(program, wires).unwrap_or_else(|_| panic!("its packets can be made"))
    }

    #[test]
    fn packets_of_a_learning_switch_emit_the_station_and_the_port() {
        let traffic = made(LEARNING, 1);
        assert_eq!((traffic.name.as_str(), traffic.beside.len()), ("learn_t", 0));
        let packets = traffic.packets.expect("packets emit digests");
        assert_eq!((packets.port, packets.emitting.len()), (1, PACKETS));
        for one in &packets.emitting {
            // The source of the frame without zeros in front, and port 1.
            let source = &one.packet[6..12];
            let zeros = source.iter().take_while(|byte| **byte == 0).count();
            let members = [&source[zeros.min(5)..], &[1]].map(|bytes| Data::Bits(bytes.into()));
            assert_eq!(one.digest, Data::Struct(members.into()));
        }
    }

    #[test]
    fn a_program_without_digests_says_so() {
        let lack = |text, port| made(text, port).packets.expect_err("there are none");
        let none = lack(include_str!("../../../../../programs/l2.p4"), 1);
        assert!(none.contains("has no digest"), "{none}");
        assert!(lack(LEARNING, 2).contains("port 1"), "{}", lack(LEARNING, 2));
    }

    /// A program that reports each station only once would seem to lose digests.
    #[test]
    fn packets_that_emit_a_digest_only_once_are_left_out() {
        let once = LEARNING
            .replace("    action at_port", "    register<bit<1>>(65536) seen;\n    action at_port")
            .replace(
                "        bool known = sources.apply().hit;",
                "        bool known = sources.apply().hit;\n        bit<1> was_seen;\n        \
                 seen.read(was_seen, (bit<32>)headers.ethernet.source[15:0]);\n        \
                 seen.write((bit<32>)headers.ethernet.source[15:0], 1);",
            )
            .replace("if (!known ||", "if (was_seen == 0 && !known ||")
            .replace("meta.known_port != standard.ingress_port", "false");
        let lack = made(&once, 1).packets.expect_err("no packet emits it twice");
        assert!(lack.contains("each time"), "{lack}");
    }
}
