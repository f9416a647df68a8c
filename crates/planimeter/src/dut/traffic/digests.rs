//! Generates the packets with which `planimeter dut` measures digests, from the program of the
//! switch.
//!
//! The reference interpreter processes packets, with and without entries in tables, to find out
//! which of them emit which digest.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use ::dut::digests::{Emitting, Packets, Traffic};
use ::dut::live::Wire;
use entities::Data;
use entities::schema::{self, DigestId};
use ir::{Program, TableId};
use p4runtime::proto::v1;
use pipeline::{Switch, TableEntry};
use throughput::traffic::{Reach, Wanted, Workload};

use super::{PACKET_SIZE, Trial, ingress};
use crate::bench::SOLVING;
use crate::failure::Failure;

/// The number of packets that are processed to find digests.
const PACKETS: usize = 64;
/// The times at which each packet is processed. It is processed twice, since a program may emit the
/// digest only the first time.
const TIMES: [Duration; 2] = [Duration::ZERO, Duration::from_secs(5)];

/// Generates packets that emit different digests. If there are none, the result contains the
/// reason.
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
    let walked = program.clone();
    let made = ir::with_large_stack(|| Workload::from_program(walked, wanted, &mut |_, _| true));
    let mut workload = made.map_err(Failure::run)?.map_err(Failure::input)?;
    let mut best = best(&workload, schema.objects());
    if best.is_none() {
        // The digest may depend on a table that is only applied after hits in other tables.
        let reach = Reach { only: None, time: SOLVING };
        let made =
            ir::with_large_stack(|| Workload::reaching(program, wanted, reach, &mut |_, _| true));
        workload = made.map_err(Failure::run)?.map_err(Failure::input)?;
        best = self::best(&workload, schema.objects());
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

/// Returns the digest that the most packets of a workload emit, with or without the entries of the
/// workload. Returns `None` if no packet emits one.
fn best(workload: &Workload, schema: &schema::Schema) -> Option<Found> {
    let trial = Trial { workload, schema, wires: &[] };
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
    best
}

/// Packets that emit a digest, and the entries that the switch must have for that.
struct Found {
    id: DigestId,
    emitting: Vec<Emitting>,
    beside: Vec<v1::TableEntry>,
}

impl Trial<'_> {
    /// Returns, for each digest of the P4Info, the packets that emit it, and no other, each time
    /// that they are processed. Of packets whose digests have equal contents, only the first is
    /// included.
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

    /// Returns the digest that a packet emits, or `None` if it emits none or several.
    fn emitted(&self, switch: &Switch, packet: &[u8], now: Duration) -> Option<(DigestId, Data)> {
        let mut processor = pipeline::Processor::with_seed(1);
        let given = (self.workload.port(), packet);
        processor.process(switch, given, now, &mut Vec::new()).ok()?;
        let digests = processor.take_digests();
        let [digest] = digests.as_slice() else { return None };
        pipeline::digest_data(self.schema, self.workload.program(), digest)
    }

    /// Returns a switch that has only these entries, or `None` if it refuses one of them.
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

    #[test]
    fn digests_of_a_table_that_others_guard_have_packets() {
        let text = include_str!("../../../tests/verbs/guarded.p4")
            .replace("struct metadata_t", "struct seen_t { bit<32> c; }\nstruct metadata_t")
            .replace(
                "    table second {\n        key = { headers.h.c: exact; }\n        actions = { go; }",
                "    action tell() { digest<seen_t>(1, {headers.h.c}); }\n    table second {\n        \
                 key = { headers.h.c: exact; }\n        actions = { tell; }",
            );
        assert!(text.contains("actions = { tell; }"));
        let traffic = made(&text, 1);
        let packets = traffic.packets.expect("packets emit digests");
        assert!(packets.emitting.len() > 1, "{}", packets.emitting.len());
        for one in &packets.emitting {
            let field = &one.packet[8..12];
            let zeros = field.iter().take_while(|byte| **byte == 0).count();
            let number: &[u8] = &field[zeros.min(3)..];
            let member = Data::Bits(number.into());
            assert!([member.clone(), Data::Struct([member].into())].contains(&one.digest));
        }
    }

    /// If such packets were used, a program that reports each station only once would seem to lose
    /// digests.
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
