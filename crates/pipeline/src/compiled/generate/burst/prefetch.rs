//! The prefetch stage, which runs ahead of the fused function. It computes, for all packets of a
//! burst, the buckets of the entries that the packets are going to need, and the keys for tables
//! with prefixes or rules. It serves only keys that consist of constants and of header fields, and
//! assumes that these fields lie where they do in most packets. The caller prefetches the buckets
//! and does the batch lookups.
//!
//! A packet that has other headers, or is too short, gets a wrong bucket or key, which is harmless.
//! Prefetching the wrong bucket changes nothing, and the result of a batch lookup is only used for
//! a packet whose key equals the key that was looked up. The fused function uses a precomputed
//! bucket or lookup result unchecked only at an end of the parser where the headers lie as assumed
//! here, and only for a key of which no part was written. It hashes all other keys itself, and
//! compares them with those that were looked up.

use super::fused::Parsed;
use super::{Loop, tables_with_known_keys};
use crate::compiled::burst::{Burst, MAX_PREFETCHED, Packet};
use crate::compiled::fast_path::FastPath;
use crate::compiled::generate::function::Function;
use crate::compiled::generate::variables::{Known, has_known_key};
use crate::compiled::plan::Plan;
use crate::error::InternalError;
use crate::resolved::{Offset, ResolvedProgram, Table};
use crate::table::EntryLayout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use std::mem::offset_of;
use std::ops::Range;
use tables::{Probe, no_bucket};

/// The tables that the prefetch stage serves, whose keys can be computed before a packet is parsed.
pub(in crate::compiled::generate) struct Prefetched<'b> {
    /// The facts that hold where the parser ends with the most headers extracted
    /// ([`Parsed::longest`]). The prefetch stage assumes them for all packets.
    parsed: Parsed,
    /// The tables for which buckets or keys are computed: the number, the table, the layout of its
    /// entries, and how its buckets are searched.
    tables: Vec<(u32, &'b Table, &'b EntryLayout, Probe)>,
}

impl Prefetched<'_> {
    /// Returns the number of bucket addresses that the prefetch stage computes for each packet.
    pub(in crate::compiled::generate) fn buckets(&self) -> usize {
        self.tables.iter().filter(|(_, _, layout, _)| layout.fields().is_none()).count()
    }

    /// Returns the numbers of the tables that the prefetch stage serves.
    pub(super) fn tables(&self) -> impl Iterator<Item = u32> {
        self.tables.iter().map(|(number, ..)| *number)
    }

    /// Returns whether the prefetch stage assumes exactly the facts in `parsed` about a packet's
    /// headers.
    pub(super) fn is_of(&self, parsed: &Parsed) -> bool {
        self.parsed == *parsed
    }

    /// Returns the numbers of the tables for which the prefetch stage computes bucket addresses, in
    /// the order in which the addresses of a packet are stored.
    pub(in crate::compiled::generate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let by_key = self.tables.iter().filter(|(_, _, layout, _)| layout.fields().is_none());
        by_key.map(|(number, ..)| *number)
    }
}

/// Returns the tables that the prefetch stage serves, which are all tables whose entries would be
/// prefetched after the parser if the stages ran separately. Returns `None` if there are no such
/// tables, if the key of one cannot be computed before the parser, or if more than
/// [`MAX_PREFETCHED`] have buckets to prefetch. A program compiled without lookups has the same
/// stages as the program with which it is compared, so the result does not depend on that.
pub(in crate::compiled::generate) fn prefetched<'b>(
    resolved: &'b ResolvedProgram,
    fast_path: &FastPath,
    plan: &Plan,
) -> Option<Prefetched<'b>> {
    let parsed = Parsed::longest(resolved, fast_path)?;
    let lies = |flag: Offset, _: &Range<u32>| matches!(parsed.known(flag), Some(Known::At(_)));
    let known = tables_with_known_keys(resolved, fast_path, plan)
        .filter(|(number, _, layout)| layout.fields().is_none() || plan.ahead.contains_key(number));
    let tables: Option<Vec<_>> = known
        .map(|(number, table, layout)| {
            let is_known = has_known_key(table, &lies);
            layout.probe().filter(|_| is_known).map(|probe| (number, table, layout, probe))
        })
        .collect();
    let prefetched = Prefetched { parsed, tables: tables.filter(|tables| !tables.is_empty())? };
    (prefetched.buckets() <= MAX_PREFETCHED).then_some(prefetched)
}

impl<'m> Function<'_, 'm> {
    /// Generates the prefetch stage, which computes bucket addresses and keys before packets are
    /// parsed.
    pub(in crate::compiled::generate) fn prefetch_stage(
        mut self,
        (fast_path, plan): (&FastPath, &'m Plan),
        prefetched: &Prefetched<'_>,
    ) -> Result<(), InternalError> {
        let Prefetched { parsed, tables } = prefetched;
        let burst_loop = self.begin_loop(fast_path, plan);
        let length = self.of_record(burst_loop, offset_of!(Packet, length));
        let input = self.of_record(burst_loop, offset_of!(Packet, input));
        let least = i64::from(parsed.bytes());
        let place = self.bucket_address_slot(burst_loop, prefetched);
        let (precomputed, short) = (self.builder.create_block(), self.builder.create_block());
        let fits = self.builder.ins().icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, length, least);
        self.builder.ins().brif(fits, precomputed, &[], short, &[]);
        self.builder.switch_to_block(short);
        self.builder.set_cold_block(short);
        let no_bucket = self.number(no_bucket());
        for position in 0..prefetched.buckets() {
            self.set_word(place, 8 * position, no_bucket);
        }
        let none = self.number(0);
        for column in tables.iter().filter_map(|(number, ..)| plan.column(*number)) {
            self.leave_key(column, [none, none]);
        }
        self.builder.ins().jump(burst_loop.next, &[]);
        self.builder.switch_to_block(precomputed);
        self.begin_packet(input, length);
        self.begin_fused(input);
        self.begin_values(plan);
        let received = self.of_record(burst_loop, offset_of!(Packet, received));
        self.received(burst_loop, received);
        let places = self.emit_known_headers(plan, parsed, input, input);
        let extracted = parsed.headers();
        self.begin_way(extracted, places, None);
        let mut positions = 0..;
        for (number, table, layout, probe) in tables {
            let access = self.access(*number);
            let key = self.key(access, table, layout);
            if let Some(column) = plan.column(*number) {
                self.leave_key(column, [key.low, key.high]);
            }
            // Entries of tables with prefixes or rules are found by number, which is not known yet.
            if layout.fields().is_none()
                && let Some(position) = positions.next()
            {
                let bucket = self.bucket(*probe, key);
                self.set_word(place, 8 * position, bucket);
            }
        }
        self.builder.ins().jump(burst_loop.next, &[]);
        self.end_loop(burst_loop)
    }

    /// Emits the address of the memory in which the prefetch stage stores the bucket addresses for
    /// the current packet.
    fn bucket_address_slot(&mut self, burst_loop: Loop<'_>, prefetched: &Prefetched<'_>) -> Value {
        let all = self.word(burst_loop.burst, offset_of!(Burst, bucket_addresses));
        let at = self.builder.use_var(burst_loop.index);
        let distance = self.builder.ins().imul_imm_s(at, 8 * prefetched.buckets() as i64);
        self.builder.ins().iadd(all, distance)
    }

    /// Emits loads of the bucket addresses that the prefetch stage has computed for the current
    /// packet. The packet's headers must be where that stage assumed them.
    pub(super) fn take_prefetched(&mut self, burst_loop: Loop<'_>, prefetched: &Prefetched<'_>) {
        let place = self.bucket_address_slot(burst_loop, prefetched);
        let precomputed = prefetched
            .numbers()
            .zip(0..)
            .map(|(number, position)| (number, self.word(place, 8 * position)));
        let precomputed = precomputed.collect();
        let batch_lookups =
            prefetched.tables.iter().filter(|(_, _, layout, _)| layout.fields().is_some());
        let batch_lookups = batch_lookups.map(|(number, ..)| *number).collect();
        self.set_prefetched(precomputed, batch_lookups);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Batch, Compiled, EntryAction, FieldMatch, Processor, Switch, TableEntry};
    use ir::bits::Bits;
    use p4lang::preprocess::{MemoryFiles, Options};
    use std::time::Duration;

    /// A program with five tables. The second and the fifth table look up a field that an action of
    /// the first may have written. The other tables look up a field that no action writes. The
    /// fourth table is applied after a neighbouring field was written.
    const WRITTEN: &str = "#include <core.p4>
#include <v1model.p4>
header A { bit<32> one; bit<32> other; bit<32> found; } struct H { A a; } struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.a); transition accept; } }
control V(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action set(bit<32> key) { h.a.other = key; }
    action note(bit<32> number) { h.a.found = h.a.found + number; }
    action none() { }
    table first { key = { h.a.one: exact; } actions = { set; none; } default_action = none(); size = 4096; }
    table second { key = { h.a.other: exact; } actions = { note; none; } default_action = none(); size = 4096; }
    table third { key = { h.a.one: exact; } actions = { note; none; } default_action = none(); size = 4096; }
    table fourth { key = { h.a.one: lpm; } actions = { note; none; } default_action = none(); size = 4096; }
    table fifth { key = { h.a.other: lpm; } actions = { note; none; } default_action = none(); size = 4096; }
    apply { if (h.a.found == 0) { third.apply(); } first.apply(); second.apply(); fourth.apply(); fifth.apply(); } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control C(inout H h, inout M m) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;";

    fn add(switch: &mut Switch, table: &str, key: u32, action: &str, argument: u32) {
        let exact = FieldMatch::Exact(Bits::unsigned(32, u128::from(key)));
        add_matched(switch, table, exact, action, argument);
    }

    fn add_matched(switch: &mut Switch, table: &str, key: FieldMatch, action: &str, argument: u32) {
        let table = switch.table_named(table).expect("a table");
        let action = switch.action_named(table, action).expect("an action");
        let bits = |number: u32| Bits::unsigned(32, u128::from(number));
        let action = switch.action_call(action, &[bits(argument)]).expect("arguments");
        let action = EntryAction::Action(action);
        let entry = TableEntry { matches: vec![key], priority: 0, action, idle_timeout: None };
        switch.add_entry(table, entry, Duration::ZERO).expect("an entry");
    }

    #[test]
    fn a_key_that_was_written_is_looked_up_in_its_own_bucket() {
        let files = MemoryFiles::default();
        let compiled = p4lang::compile_text("written.p4", WRITTEN, &Options::default(), &files);
        let mut switch = Switch::new(compiled.program.expect("a program")).expect("a switch");
        for number in 0..1024_u32 {
            if number.is_multiple_of(3) {
                add(&mut switch, "first", number, "set", 1023 - number);
            }
            add(&mut switch, "second", number, "note", number << 8);
            add(&mut switch, "third", number, "note", 1);
            for (table, prefix_length, factor) in [("fourth", 28, 7), ("fifth", 30, 13)] {
                if number.is_multiple_of(1 << (32 - prefix_length)) {
                    let value = Bits::unsigned(32, u128::from(number));
                    let prefix = FieldMatch::Lpm { value, prefix_length };
                    add_matched(&mut switch, table, prefix, "note", number * factor + 1);
                }
            }
        }
        let mut code = Compiled::new(&switch).expect("code");
        assert_eq!((code.one_by_one(), code.machine_code.prefetched.len()), (None, 3));
        let bytes = |number: u32| {
            let words = [number, number * 7 % 1024, u32::from(number.is_multiple_of(5))];
            let mut bytes = words.map(u32::to_be_bytes).concat();
            // Some packets are too short for the header.
            bytes.truncate(if number % 41 == 7 { 5 } else { 12 });
            bytes
        };
        let inputs: Vec<Vec<u8>> = (0..1100).map(bytes).collect();
        let packets: Vec<(u32, &[u8])> = inputs.iter().map(|packet| (0, &packet[..])).collect();
        let expected: Vec<Vec<u8>> = packets
            .iter()
            .flat_map(|(port, packet)| {
                switch.process(*port, packet, Duration::ZERO).expect("a packet")
            })
            .map(|output| output.packet)
            .collect();
        assert_eq!(expected.len(), packets.len());
        let (mut worker, mut batch) = (Processor::with_seed(1), Batch::default());
        // The first round takes the tables to fit in L2, the second prefetches their entries.
        for near in [u64::MAX, 0] {
            code.prefetch_threshold = near;
            code.process_batch(&switch, &mut worker, &packets, Duration::ZERO, &mut batch);
            let sent: Vec<&[u8]> = batch.sent().map(|(_, _, bytes)| bytes).collect();
            assert_eq!(sent, expected);
        }
    }
}
