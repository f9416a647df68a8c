//! Generates the choice of an action profile's member for a packet. An entry refers either to one
//! member, whose action then runs, or to a group of a selector, from which a hash chooses a member.

use super::function::Function;
use super::variables::Pointer;
use crate::resolved::Members;
use crate::table::{Chooser, Member};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

impl Function<'_, '_> {
    /// Emits the choice of a member for an entry. Returns the address of the parameters of the
    /// member's action, and the action's position in the table's list. The hash is computed only if
    /// there are several members, and the members are searched only if their weights differ.
    pub(super) fn member(&mut self, members: &Members, entry: Value) -> (Value, Value) {
        let chooser = self.load(Pointer { base: entry, offset: 0 }, 8);
        let part = |offset: usize| Pointer { base: chooser, offset: offset as i32 };
        let first = self.load(part(Chooser::FIRST), 8);
        let found = self.builder.create_block();
        let index = self.builder.append_block_param(found, types::I64);
        let none = self.number(0);
        if let Some((hash, to)) = &members.hash {
            let (several, scan) = (self.builder.create_block(), self.builder.create_block());
            let here = self.builder.append_block_param(scan, types::I64);
            let count = self.load(part(Chooser::COUNT), 8);
            let is_one = self.builder.ins().icmp_imm_s(IntCC::Equal, count, 1);
            self.builder.ins().brif(is_one, found, &[none.into()], several, &[]);
            self.builder.switch_to_block(several);
            self.block(hash);
            let hash = self.load_field(*to);
            let total = self.load(part(Chooser::TOTAL), 8);
            let rest = self.builder.ins().urem(hash, total);
            let weigh_alike = self.builder.ins().icmp(IntCC::Equal, total, count);
            let (rests, nones) = ([rest.into()], [none.into()]);
            self.builder.ins().brif(weigh_alike, found, &rests, scan, &nones);
            // The remainder is less than the total weight, so the search ends at a member.
            self.builder.switch_to_block(scan);
            let up_to = self.member_at(first, here).plus(Member::UP_TO as u32);
            let up_to = self.load(up_to, 8);
            let is_here = self.builder.ins().icmp(IntCC::UnsignedLessThan, rest, up_to);
            let next = self.builder.ins().iadd_imm_s(here, 1);
            self.builder.ins().brif(is_here, found, &[here.into()], scan, &[next.into()]);
        } else {
            self.builder.ins().jump(found, &[none.into()]);
        }
        self.builder.switch_to_block(found);
        let member = self.member_at(first, index);
        let position = self.load(member.plus(Member::POSITION as u32), 8);
        let values = self.builder.ins().iadd_imm_s(member.base, Member::VALUES as i64);
        (values, position)
    }

    fn member_at(&mut self, first: Value, index: Value) -> Pointer {
        let distance = self.builder.ins().imul_imm_s(index, size_of::<Member>() as i64);
        Pointer { base: self.builder.ins().iadd(first, distance), offset: 0 }
    }
}
