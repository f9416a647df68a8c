//! Before the one function comes to the packets of a burst: the buckets of the entries that they will want, and the keys that
//! are sought by prefixes or rules, as far as can be told from where fields lie in most packets. Whoever calls asks the cache
//! for the buckets, and seeks.
//!
//! Nothing is decided here: a packet that has other headers, or is too short, gets some other bucket or key. Asking for that
//! bucket changes nothing, and what was found for a key counts for a packet that comes to the table with that key.

use super::tables_with_known_keys;
use super::whole::Parsed;
use crate::bound::{Bound, Expression, Offset, Table};
use crate::compiled::burst::{Burst, MAXIMUM_ASKED, Packet};
use crate::compiled::generate::Function;
use crate::compiled::generate::places::Known;
use crate::compiled::plan::Plan;
use crate::compiled::straight::Straight;
use crate::table::EntryLayout;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use std::mem::offset_of;
use tables::Probe;

/// What can be told before a packet is parsed.
pub(in crate::compiled::generate) struct Asked<'b> {
    /// Of most packets.
    parsed: Parsed,
    /// Tables whose buckets or keys are told, with their numbers.
    tables: Vec<(u32, &'b Table, &'b EntryLayout, Probe)>,
}

impl Asked<'_> {
    /// Addresses that are left for each packet.
    pub(in crate::compiled::generate) fn buckets(&self) -> usize {
        self.tables.iter().filter(|(_, _, layout, _)| layout.fields().is_none()).count()
    }

    /// Numbers of the tables.
    pub(super) fn tables(&self) -> impl Iterator<Item = u32> {
        self.tables.iter().map(|(number, ..)| *number)
    }
}

/// The tables whose entries are asked for: all of which the two stages would do that, or nothing. They are told for a program
/// without lookups too, which has the same stages as the one that it is compared with.
pub(in crate::compiled::generate) fn asked<'b>(
    bound: &'b Bound,
    straight: &Straight,
    plan: &Plan,
) -> Option<Asked<'b>> {
    let parsed = Parsed::longest(bound, straight)?;
    let lies = |flag: Offset| matches!(parsed.known(flag), Some(Known::At(_)));
    let known = tables_with_known_keys(bound, straight, plan)
        .filter(|(number, _, layout)| layout.fields().is_none() || plan.ahead.contains_key(number));
    let tables: Option<Vec<_>> = known
        .map(|(number, table, layout)| {
            let mut keys =
                table.keys.iter().flat_map(|key| [&key.value].into_iter().chain(&key.high));
            let is_told = keys.all(|value| is_told(value, &lies));
            layout.probe().filter(|_| is_told).map(|probe| (number, table, layout, probe))
        })
        .collect();
    let asked = Asked { parsed, tables: tables.filter(|tables| !tables.is_empty())? };
    (asked.buckets() <= MAXIMUM_ASKED).then_some(asked)
}

impl<'m> Function<'_, 'm> {
    /// Leaves the buckets that packets of a burst will want, and the keys that are sought, where the burst says.
    pub(in crate::compiled::generate) fn ask_stage(
        mut self,
        (straight, plan): (&Straight, &'m Plan),
        asked: &Asked<'_>,
    ) {
        let Asked { parsed, tables } = asked;
        let looped = self.begin_loop(straight, plan);
        let length = self.of_record(looped, offset_of!(Packet, length));
        let input = self.of_record(looped, offset_of!(Packet, input));
        let least = i64::from(parsed.bytes());
        let all = self.word(looped.burst, offset_of!(Burst, asked));
        let at = self.builder.use_var(looped.index);
        let distance = self.builder.ins().imul_imm(at, 8 * asked.buckets() as i64);
        let place = self.builder.ins().iadd(all, distance);
        let (told, short) = (self.builder.create_block(), self.builder.create_block());
        let fits = self.builder.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, length, least);
        self.builder.ins().brif(fits, told, &[], short, &[]);
        self.builder.switch_to_block(short);
        self.builder.set_cold_block(short);
        for position in 0..asked.buckets() {
            self.set_word(place, 8 * position, looped.packet);
        }
        let none = self.number(0);
        for column in tables.iter().filter_map(|(number, ..)| plan.column(*number)) {
            self.leave_key(column, [none, none]);
        }
        self.builder.ins().jump(looped.next, &[]);
        self.builder.switch_to_block(told);
        self.begin_packet(input, length);
        self.begin_whole(input);
        self.begin_values(plan);
        self.received(looped, length);
        let places = self.say_again(plan, parsed, (input, input));
        let extracted = parsed.headers();
        self.begin_way(extracted, (places, None));
        let mut positions = 0..;
        for (number, table, layout, probe) in tables {
            let key = self.key(*number, table, layout);
            if let Some(column) = plan.column(*number) {
                self.leave_key(column, [key.low, key.high]);
            }
            // An entry that is sought by other than its key has a number, which is not known yet.
            if layout.fields().is_none()
                && let Some(position) = positions.next()
            {
                let bucket = self.bucket(*probe, key);
                self.set_word(place, 8 * position, bucket);
            }
        }
        self.builder.ins().jump(looped.next, &[]);
        self.end_loop(looped);
    }
}

/// Whether all that the value is made of lies in headers that do, or is constant.
fn is_told(value: &Expression, lies: &dyn Fn(Offset) -> bool) -> bool {
    match value {
        Expression::Constant(_) => true,
        Expression::Load(field) => {
            let address = field.address;
            address.element.is_none()
                && address.offset.checked_sub(crate::bound::shape::DATA).is_some_and(lies)
        }
        Expression::LoadIfValid { header, value } => lies(header.offset) && is_told(value, lies),
        Expression::Complement { operand, .. }
        | Expression::Slice { operand, .. }
        | Expression::Resize { operand, .. } => is_told(operand, lies),
        Expression::Binary { left, right, .. } | Expression::Concatenate { left, right, .. } => {
            is_told(left, lies) && is_told(right, lies)
        }
        _ => false,
    }
}
