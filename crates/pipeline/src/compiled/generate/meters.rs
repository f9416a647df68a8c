//! Generates code for meters, and for the counters and meters of table entries.

use super::function::{Function, context_offset};
use super::host_call::HostCall;
use super::variables::Pointer;
use crate::compiled::meters::AS_RECEIVED;
use crate::compiled::tables::TableAccess;
use crate::resolved::{DEFAULT_ENTRY, Directs, Expression, Field, Metered};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

impl Function<'_, '_> {
    /// Emits code that meters the packet with an element of a meter array, and stores the colour in
    /// a field. If the index is out of range, the field keeps its value if `stays` is set, and
    /// otherwise receives the packet's previous colour.
    pub(super) fn meter(&mut self, metered: &Metered, index: &Expression, stays: bool) {
        let index = self.expression(index);
        let (id, before, length) = self.metered(metered);
        let arguments = [self.context, id, index, before, length];
        let color = self.call_host(HostCall::Meter, &arguments);
        if let Some(to) = metered.to {
            let otherwise = if stays { self.load_field(to) } else { before };
            self.store_color(to, color, otherwise);
        }
    }

    /// Emits code that meters the packet with the direct meter of the entry whose action runs, and
    /// stores the colour.
    pub(super) fn entry_meter(&mut self, metered: &Metered, entry: Field) {
        let entry = self.load_field(entry);
        let (id, before, length) = self.metered(metered);
        let arguments = [self.context, id, entry, before, length];
        let color = self.call_host(HostCall::EntryMeter, &arguments);
        if let Some(to) = metered.to {
            self.store_color(to, color, before);
        }
    }

    /// Emits the store of the colour that an entry's direct meter returned at the time of the
    /// lookup.
    pub(super) fn color_of_entry(&mut self, meter: u32, color: Field, to: Field) {
        let color = self.load_field(color);
        let mut block = || self.builder.create_block();
        let (known, other, join) = (block(), block(), block());
        self.builder.set_cold_block(other);
        let before = self.load_field(to);
        self.builder.ins().brif(color, known, &[], other, &[]);
        self.builder.switch_to_block(known);
        let value = self.builder.ins().iadd_imm_s(color, -1);
        self.store_color(to, value, before);
        self.builder.ins().jump(join, &[]);
        // The interpreter may have looked up the table, so the host meters the packet.
        self.builder.switch_to_block(other);
        let (id, zero) = (self.number(u64::from(meter)), self.number(0));
        let received = self.number(AS_RECEIVED);
        let arguments = [self.context, id, zero, zero, received];
        let color = self.call_host(HostCall::EntryMeter, &arguments);
        self.store_color(to, color, before);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }

    /// Emits code that counts the packet in the direct counter of the entry whose action runs.
    pub(super) fn count_in_entry(
        &mut self,
        counter: u32,
        table: u32,
        entry: Field,
        bytes: Option<&Expression>,
    ) {
        let entry = self.load_field(entry);
        let given = bytes.map(|bytes| self.expression(bytes));
        let resolved = self.resolved;
        let table = resolved.tables.get(table as usize);
        if table.is_none() {
            self.broken("the table of a direct counter");
        }
        let packed = table.and_then(|table| table.packed.as_ref());
        let mut block = || self.builder.create_block();
        let (own, other, join) = (block(), block(), block());
        self.builder.set_cold_block(other);
        match packed {
            Some(_) => {
                let is_address = IntCC::UnsignedGreaterThan;
                let is_known =
                    self.builder.ins().icmp_imm_s(is_address, entry, DEFAULT_ENTRY.cast_signed());
                self.builder.ins().brif(is_known, own, &[], other, &[]);
            }
            None => {
                self.builder.ins().jump(other, &[]);
            }
        }
        self.builder.switch_to_block(own);
        let number = packed.map_or(0, |(number, _)| *number);
        let accesses = self.context_field(context_offset::TABLES);
        let distance = size_of::<TableAccess>() as i64 * i64::from(number);
        let access = self.builder.ins().iadd_imm_s(accesses, distance);
        let length = match given {
            Some(length) => length,
            None => self.received_length(),
        };
        self.count_entry(access, entry, length);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(other);
        let id = self.number(u64::from(counter));
        let length = given.unwrap_or_else(|| self.number(AS_RECEIVED));
        self.run_on_host(HostCall::CountEntry, &[self.context, id, entry, length]);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }

    /// Emits the load of the packet's length as it was received.
    pub(super) fn received_length(&mut self) -> Value {
        let at = Pointer { base: self.context, offset: context_offset::RECEIVED_LENGTH as i32 };
        self.load(at, 8)
    }

    /// Emits code that meters the packet with the direct meters of the entry that was found, and
    /// stores the colours for statements that read them.
    pub(super) fn meter_hit(&mut self, directs: &Directs, entry: Value) {
        for (meter, color, result) in &directs.meters {
            let (id, green) = (self.number(u64::from(*meter)), self.number(0));
            let received = self.number(AS_RECEIVED);
            let arguments = [self.context, id, entry, green, received];
            let found = self.call_host(HostCall::EntryMeter, &arguments);
            // The host returns all ones for "no colour", which becomes zero here.
            let known = self.builder.ins().iadd_imm_s(found, 1);
            self.store_field(*color, known);
            if let Some(to) = *result {
                let before = self.load_field(to);
                self.store_color(to, found, before);
            }
        }
    }

    /// Emits code that records the entry whose action runs. The record is the address of the
    /// entry's counters and timer, [`DEFAULT_ENTRY`] or zero. `entry` holds this address, and
    /// whether an entry was found. If `entry` is `None`, the action has ended, and the colours of
    /// the meters are cleared too.
    pub(super) fn set_entry(&mut self, directs: &Directs, entry: Option<(Value, Value)>) {
        let none = self.number(0);
        let value = match entry {
            Some((owner, is_hit)) => {
                let default = if directs.has_default { DEFAULT_ENTRY } else { 0 };
                let default = self.number(default);
                self.builder.ins().select(is_hit, owner, default)
            }
            None => none,
        };
        self.store_field(directs.entry, value);
        if entry.is_none() {
            for (_, color, _) in &directs.meters {
                self.store_field(*color, none);
            }
        }
    }

    fn metered(&mut self, metered: &Metered) -> (Value, Value, Value) {
        let before = self.expression(&metered.before);
        let length = match &metered.length {
            Some(length) => self.expression(length),
            None => self.number(AS_RECEIVED),
        };
        (self.number(u64::from(metered.meter)), before, length)
    }

    /// Emits the store of a meter's colour to a field. If the meter returned no colour, stores
    /// `otherwise`.
    fn store_color(&mut self, to: Field, color: Value, otherwise: Value) {
        let is_none = self.builder.ins().icmp_imm_s(IntCC::Equal, color, -1);
        let value = self.builder.ins().select(is_none, otherwise, color);
        let value = self.masked(value, to.scalar.width);
        self.store_field(to, value);
    }
}
