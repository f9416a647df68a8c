//! Before the one function comes to the packets of a burst: the buckets of the entries that they will want, as far as can be
//! told from where fields lie in most packets. Whoever calls asks the cache for them.
//!
//! Nothing is decided here: a packet that has other headers, or is too short, gets some other bucket, and asking for that
//! changes nothing.

use super::tables_with_known_keys;
use super::whole::Parsed;
use crate::bound::{Bound, Expression, Offset, Table};
use crate::compiled::burst::{Burst, MAXIMUM_ASKED, Owner, Packet};
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
    /// Tables whose buckets are told, with their numbers.
    tables: Vec<(u32, &'b Table, &'b EntryLayout, Probe)>,
}

impl Asked<'_> {
    /// Addresses that are left for each packet.
    pub(in crate::compiled::generate) fn buckets(&self) -> usize {
        self.tables.len()
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
    // An entry that is sought by other than its key has a number, which is not known yet.
    let sought_by_key = tables_with_known_keys(bound, straight, plan)
        .filter(|(_, _, layout)| layout.fields().is_none());
    let tables: Option<Vec<_>> = sought_by_key
        .map(|(number, table, layout)| {
            let mut keys =
                table.keys.iter().flat_map(|key| [&key.value].into_iter().chain(&key.high));
            // Between the stages, memory that entries name is asked for too.
            let is_told = Owner::of(layout).is_none() && keys.all(|value| is_told(value, &lies));
            layout.probe().filter(|_| is_told).map(|probe| (number, table, layout, probe))
        })
        .collect();
    let tables = tables.filter(|tables| (1..=MAXIMUM_ASKED).contains(&tables.len()))?;
    Some(Asked { parsed, tables })
}

impl<'m> Function<'_, 'm> {
    /// Leaves the buckets that packets of a burst will want where the burst says.
    pub(in crate::compiled::generate) fn ask_stage(
        mut self,
        (straight, plan): (&Straight, &'m Plan),
        Asked { parsed, tables }: &Asked<'_>,
    ) {
        let looped = self.begin_loop(straight, plan);
        let length = self.of_record(looped, offset_of!(Packet, length));
        let input = self.of_record(looped, offset_of!(Packet, input));
        let least = i64::from(parsed.bytes());
        let all = self.word(looped.burst, offset_of!(Burst, asked));
        let at = self.builder.use_var(looped.index);
        let distance = self.builder.ins().imul_imm(at, 8 * tables.len() as i64);
        let place = self.builder.ins().iadd(all, distance);
        let (told, short) = (self.builder.create_block(), self.builder.create_block());
        let fits = self.builder.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, length, least);
        self.builder.ins().brif(fits, told, &[], short, &[]);
        self.builder.switch_to_block(short);
        self.builder.set_cold_block(short);
        for position in 0..tables.len() {
            self.set_word(place, 8 * position, looped.packet);
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
        for (position, (number, table, layout, probe)) in tables.iter().enumerate() {
            let key = self.key(*number, table, layout);
            let bucket = self.bucket(*probe, key);
            self.set_word(place, 8 * position, bucket);
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
