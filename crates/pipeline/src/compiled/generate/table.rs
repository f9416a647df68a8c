//! Tables: the key is packed, the lookup is a call-out, the action is called.

use super::memory::Pointer;
use super::{CallOut, Function, flow};
use crate::bound::{Callee, Field, Table};
use crate::compiled::context::{HIT, NO_ACTION};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlags, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::Switch;

impl Function<'_, '_> {
    pub(super) fn apply(&mut self, id: u32, hit: Option<Field>, action_run: Option<Field>) {
        let bound = self.bound;
        let Some(table) = bound.tables.get(id as usize) else { return };
        self.block(&table.before_keys);
        if table.general.is_some() {
            return self.apply_general((id, table), hit, action_run);
        }
        let key = self.packed_key(table);
        let number = self.number(u64::from(id));
        let arguments = [self.frame, self.context, number, key];
        let Some(found) = self.call_out(CallOut::Apply, &arguments) else { return };
        let position = self.masked(found, 32);
        let how = self.action(id, table, position);
        if let Some(field) = hit {
            let is_hit = self.builder.ins().ushr_imm(found, i64::from(HIT));
            self.store_field(field, is_hit);
        }
        if let Some(field) = action_run {
            self.store_field(field, position);
        }
        self.return_unless_next(how);
    }

    /// A table that the interpreter looks up.
    fn apply_general(
        &mut self,
        (id, table): (u32, &Table),
        hit: Option<Field>,
        action_run: Option<Field>,
    ) {
        let number = self.number(u64::from(id));
        let arguments = [self.frame, self.context, number];
        let Some(found) = self.call_out(CallOut::LookUp, &arguments) else { return };
        let went_well = self.builder.ins().icmp_imm(IntCC::NotEqual, found, -1);
        self.unless(went_well, |function| function.leave(flow::FAULT));
        let position = self.masked(found, 32);
        let how = self.action(id, table, position);
        let number = self.number(u64::from(id));
        let arguments = [self.frame, self.context, number];
        if let Some(ended) = self.call_out(CallOut::EndLookUp, &arguments) {
            self.return_unless_next(ended);
        }
        if let Some(field) = hit {
            let is_hit = self.builder.ins().ushr_imm(found, i64::from(HIT));
            self.store_field(field, is_hit);
        }
        if let Some(field) = action_run {
            self.store_field(field, position);
        }
        self.return_unless_next(how);
    }

    /// Each field in whole bytes, big-endian, one behind the other, in a slot of the stack.
    fn packed_key(&mut self, table: &Table) -> Value {
        let last = table.keys.last();
        // A store of eight bytes that begins in the key ends in the slot.
        let size = last.map_or(0, |key| key.offset + key.width.div_ceil(8)) + 8;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        let packed = self.builder.ins().stack_addr(types::I64, slot, 0);
        for key in &table.keys {
            let value = self.expression(&key.value);
            let above = 64 - 8 * key.width.div_ceil(8);
            let value = self.builder.ins().ishl_imm(value, i64::from(above));
            let value = self.builder.ins().bswap(value);
            let at = Pointer { base: packed, offset: key.offset as i32 };
            let flags = MemFlags::new().with_notrap();
            self.builder.ins().store(flags, value, at.base, at.offset);
        }
        packed
    }

    /// Runs the action at a position of the table's actions; gives how it ended, if not with a fault.
    fn action(&mut self, id: u32, table: &Table, position: Value) -> Value {
        let join = self.builder.create_block();
        let how = self.builder.append_block_param(join, types::I64);
        let mut switch = Switch::new();
        let mut blocks = Vec::new();
        for index in 0..table.actions.len() {
            let block = self.builder.create_block();
            switch.set_entry(index as u128, block);
            blocks.push(block);
        }
        let none = self.builder.create_block();
        switch.emit(&mut self.builder, position, none);
        debug_assert!(NO_ACTION > table.actions.len() as u64);
        for (action, block) in table.actions.iter().zip(blocks) {
            self.builder.switch_to_block(block);
            self.block(&action.before);
            let ended = self.call_block(Callee::Action(action.action));
            let is_fault = self.builder.ins().icmp_imm(IntCC::Equal, ended, flow::FAULT);
            let goes_on = self.builder.ins().bxor_imm(is_fault, 1);
            self.unless(goes_on, |function| function.leave(flow::FAULT));
            self.block(&action.after);
            if !action.references.is_empty() && table.general.is_none() {
                let number = self.number(u64::from(id));
                let arguments = [self.frame, self.context, number];
                self.call_out(CallOut::Leave, &arguments);
            }
            self.builder.ins().jump(join, &[ended.into()]);
        }
        self.builder.switch_to_block(none);
        let next = self.number(flow::NEXT.cast_unsigned());
        self.builder.ins().jump(join, &[next.into()]);
        self.builder.switch_to_block(join);
        how
    }
}
