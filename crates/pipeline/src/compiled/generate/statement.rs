//! Generates code for statements: assignments, branches, loops, calls, and accesses to the packet.

use super::function::{Function, context_offset};
use super::host_call::HostCall;
use super::variables::{Known, Pointer};
use crate::compiled::context::{CLONES, NO_LIST, NOWHERE, RECIRCULATES, REQUESTS, RESUBMITS, flow};
use crate::resolved::gather::Piece;
use crate::resolved::moves::StepKind;
use crate::resolved::shape::{DATA, Shape};
use crate::resolved::{Address, Block, Callee, Expression, RequestKind, Requested, Statement};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::BinaryOperator;

impl Function<'_, '_> {
    /// Emits statements in order. Returns whether they always leave the block, so that code after
    /// them is never reached.
    pub(super) fn block(&mut self, block: &Block) -> bool {
        block.iter().any(|statement| self.statement(statement))
    }

    /// Emits a statement. Returns whether it always leaves the block, so that code after it is
    /// never reached.
    fn statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::If { condition, then, otherwise } => {
                return self.branch(condition, then, otherwise);
            }
            Statement::Switch { subject, cases, default } => {
                return self.switch(subject, cases, default);
            }
            Statement::Loop { before, condition, update, body } => {
                return self.repeat((before, condition), body, update);
            }
            Statement::Break | Statement::Continue => {
                let Some((again, end)) = self.loops.last().copied() else {
                    self.broken("a break or continue outside of a loop");
                    return false;
                };
                let to = if matches!(statement, Statement::Break) { end } else { again };
                self.builder.ins().jump(to, &[]);
                return true;
            }
            Statement::Return => {
                match self.state_end {
                    Some(end) => {
                        self.builder.ins().jump(end, &[]);
                    }
                    None => self.leave(flow::NEXT),
                }
                return true;
            }
            Statement::Exit => {
                self.leave(flow::EXIT);
                return true;
            }
            Statement::Call { callee, after, result } => self.call(*callee, after, result),
            Statement::Apply { table, hit, action_run } => self.apply(*table, *hit, *action_run),
            Statement::Interpret { step, .. } if self.places.is_some() => {
                self.interpret_with_places(*step);
            }
            Statement::Interpret { step, .. } => {
                let number = self.number(u64::from(*step));
                let arguments = [self.frame, self.context, number];
                let how = self.call_host(HostCall::Interpret, &arguments);
                self.return_unless_next(how);
            }
            _ => self.simple(statement),
        }
        false
    }

    /// Emits code that lets the interpreter run a step, in a function that keeps values in
    /// variables. The step's values are stored to the frame before it and loaded after it.
    fn interpret_with_places(&mut self, number: u32) {
        let resolved = self.resolved;
        let Some(step) = resolved.steps.get(number as usize) else {
            return self.broken("a step of the interpreter that is not there");
        };
        for one in &step.loads {
            self.spill_shape(one.offset, &one.shape);
        }
        if let StepKind::Write(_, _, offset, shape) = &step.kind {
            self.spill_shape(*offset, shape);
        }
        let number = self.number(u64::from(number));
        let arguments = [self.frame, self.context, number];
        let how = self.call_with_change(HostCall::Interpret, &arguments);
        for one in &step.stores {
            self.fetch_shape(one.offset, &one.shape);
        }
        if let StepKind::Evaluate(_, offset, shape) = &step.kind {
            self.fetch_shape(*offset, shape);
        }
        let is_next = self.builder.ins().icmp_imm_s(IntCC::Equal, how, flow::NEXT);
        self.unless(is_next, |function| function.leave(flow::FAULT));
    }

    /// Emits stores to the context that request copies of the packet, or another pass.
    fn request(&mut self, Requested { kind, list }: &Requested) {
        let list = match list {
            Some(list) => self.expression(list),
            None => self.number(NO_LIST),
        };
        let (flag, list_at) = match kind {
            RequestKind::Clone(session) => {
                let session = self.expression(session);
                let at = context_offset::CLONE_SESSION as i32;
                self.store(Pointer { base: self.context, offset: at }, 8, session);
                (CLONES, context_offset::CLONE_LIST)
            }
            RequestKind::Resubmit => (RESUBMITS, context_offset::RESUBMIT_LIST),
            RequestKind::Recirculate => (RECIRCULATES, context_offset::RECIRCULATE_LIST),
        };
        self.store(Pointer { base: self.context, offset: list_at as i32 }, 8, list);
        let at = Pointer { base: self.context, offset: context_offset::REQUESTS as i32 };
        let requests = self.load(at, 8);
        let requests = self.builder.ins().bor_imm_u(requests, (flag | REQUESTS).cast_signed());
        self.store(at, 8, requests);
    }

    /// Emits a host call that may make headers valid or invalid, and updates the packet's length by
    /// the change.
    fn call_with_change(&mut self, call: HostCall, arguments: &[Value]) -> Value {
        let field = context_offset::LENGTH_CHANGE;
        let at = Pointer { base: self.context, offset: field as i32 };
        let change = self.context_field(field);
        self.store(at, 8, change);
        let result = self.call_host(call, arguments);
        let change = self.load(at, 8);
        self.set_context_field(field, change);
        result
    }

    /// Emits a statement that never leaves the block, so that the next statement always runs after
    /// it.
    fn simple(&mut self, statement: &Statement) {
        match statement {
            Statement::Store { field, value } => {
                if let Expression::Load(from) = value
                    && self.copy_field(*field, *from)
                {
                    return;
                }
                let value = self.expression(value);
                self.store_field(*field, value);
            }
            Statement::StoreSlice { field, low, width, value } => {
                let value = self.expression(value);
                self.store_slice(*field, *low, *width, value);
            }
            Statement::Assign { to, from, shape } => {
                self.assign(*to, *from, shape);
            }
            Statement::Move { to, from, bytes } => {
                if !self.move_variables(*to, Some(from.offset), *bytes) {
                    let from = self.pointer(*from);
                    let to = self.pointer(Address::fixed(*to));
                    self.copy(to, from, *bytes);
                }
            }
            Statement::Build { header, fields } => {
                let values: Vec<_> =
                    fields.iter().map(|(_, value)| self.expression(value)).collect();
                if let Some(header) = header {
                    let header = self.header(*header);
                    let valid = self.number(1);
                    self.set_flag(header, valid);
                }
                for ((field, _), value) in fields.iter().zip(values) {
                    self.store_field(*field, value);
                }
            }
            Statement::Checksum { updates: false, .. } if self.ignores_verification() => {}
            Statement::Checksum { gather, field, updates } => {
                let found = self.load_field(*field);
                let hash = self.hash(*gather, found);
                if *updates {
                    let checksum = self.masked(hash, field.scalar.width);
                    self.store_field(*field, checksum);
                }
            }
            Statement::Hash { gather, base, most, to } => {
                let zero = self.number(0);
                let hash = self.hash(*gather, zero);
                let base = self.expression(base);
                let rest = match most {
                    Some(most) => {
                        let most = self.expression(most);
                        self.divided(BinaryOperator::Modulo, hash, most)
                    }
                    None => hash,
                };
                let sum = self.builder.ins().iadd(base, rest);
                let sum = self.masked(sum, to.scalar.width);
                self.store_field(*to, sum);
            }
            Statement::Sum { gather, sum, subtracts } => {
                let before = self.load_field(*sum);
                let after = self.sum_with(*gather, before, *subtracts);
                self.store_field(*sum, after);
            }
            Statement::Charge(units) => self.charge(*units),
            Statement::Clear { at, bytes } => {
                if !self.move_variables(at.offset, None, *bytes) {
                    let at = self.pointer(*at);
                    self.clear(at, *bytes);
                }
            }
            Statement::SetValidity { header, bytes, bits, tail, valid } => {
                self.set_validity(*header, (*bytes, *bits), *tail, *valid);
            }
            Statement::Truncate(length) => {
                let length = self.expression(length);
                let before = self.context_field(context_offset::TRUNCATE);
                let least = self.builder.ins().umin(before, length);
                self.set_context_field(context_offset::TRUNCATE, least);
            }
            Statement::Request(requested) => self.request(requested),
            Statement::SendTo(port) => {
                let to = match port {
                    Some(port) => {
                        let port = self.expression(port);
                        self.masked(port, u32::BITS)
                    }
                    None => self.number(NOWHERE),
                };
                self.set_context_field(context_offset::DESTINATION, to);
            }
            Statement::AddEntry(added) => self.add_entry(added),
            Statement::RestartTimer(profile) => self.restart_timer(profile.as_ref()),
            Statement::Assert { condition, fault } => {
                let condition = self.expression(condition);
                self.fault_unless(condition, u64::from(*fault));
            }
            Statement::ReadRegister { register, array, index, to } => {
                let index = self.expression(index);
                if let Some(array) = array {
                    return self.read_register(*register, *array, index, *to);
                }
                let register = self.number(u64::from(*register));
                let current = self.load_field(*to);
                let arguments = [self.context, register, index, current];
                let value = self.call_host(HostCall::ReadRegister, &arguments);
                let value = self.masked(value, to.scalar.width);
                self.store_field(*to, value);
            }
            Statement::WriteRegister { register, array, index, value } => {
                let index = self.expression(index);
                let value = self.expression(value);
                if let Some(array) = array {
                    return self.write_register(*register, *array, index, value);
                }
                let register = self.number(u64::from(*register));
                let arguments = [self.context, register, index, value];
                self.run_on_host(HostCall::WriteRegister, &arguments);
            }
            Statement::Meter { meter, index, stays } => self.meter(meter, index, *stays),
            Statement::MeterEntry { meter, entry } => self.entry_meter(meter, *entry),
            Statement::Color { meter, color, to } => self.color_of_entry(*meter, *color, *to),
            Statement::CountEntry { counter, table, entry, bytes } => {
                self.count_in_entry(*counter, *table, *entry, bytes.as_ref());
            }
            Statement::Count { counter, array, index } => {
                let index = self.expression(index);
                if let Some(array) = array {
                    return self.count(*counter, *array, index);
                }
                let counter = self.number(u64::from(*counter));
                let arguments = [self.context, counter, index];
                self.run_on_host(HostCall::Count, &arguments);
            }
            _ => self.packet(statement),
        }
    }

    /// Emits a statement that reads the packet or writes the output.
    fn packet(&mut self, statement: &Statement) {
        let too_short = u64::from(self.resolved.errors.too_short);
        match statement {
            Statement::Extract { header, bytes, next } => {
                // The place is computed first: a full stack rejects before a short packet does.
                let to = header.map(|header| (header, self.header(header)));
                let cursor = self.context_field(context_offset::CURSOR);
                let (from, end) = self.packet_at(cursor, *bytes, too_short);
                if let Some((header, to)) = to {
                    self.take_header(header, to, from, *bytes);
                }
                self.set_context_field(context_offset::CURSOR, end);
                if let Some(next) = next {
                    let at = Pointer { base: self.frame, offset: *next as i32 };
                    let index = self.load(at, 4);
                    let index = self.builder.ins().iadd_imm_s(index, 1);
                    self.store(at, 4, index);
                }
            }
            Statement::ExtractWithTail { header, bytes, most, width } => {
                let width = self.expression(width);
                self.extract_with_tail(*header, (*bytes, *most), width);
            }
            Statement::LookaheadHeader { header, bytes } => {
                let cursor = self.context_field(context_offset::CURSOR);
                let (from, _) = self.packet_at(cursor, *bytes, too_short);
                let to = self.header(*header);
                self.copy(to.data, from, *bytes);
                let valid = self.number(1);
                self.set_flag(to, valid);
            }
            Statement::Lookahead { field } => {
                let cursor = self.context_field(context_offset::CURSOR);
                let width = field.scalar.width;
                let (from, _) = self.packet_at(cursor, width.div_ceil(8), too_short);
                let value = self.load_packet(from.base, width);
                self.store_field(*field, value);
            }
            Statement::Advance(bits) => {
                let bits = self.expression(bits);
                let rest = self.builder.ins().band_imm_u(bits, 7);
                let is_fused = self.builder.ins().icmp_imm_s(IntCC::Equal, rest, 0);
                self.reject_unless(is_fused, u64::from(self.resolved.errors.invalid_argument));
                let bytes = self.builder.ins().ushr_imm_u(bits, 3);
                let cursor = self.context_field(context_offset::CURSOR);
                let length = self.context_field(context_offset::LENGTH);
                // The cursor is never beyond the length, so the subtraction does not wrap.
                let left = self.builder.ins().isub(length, cursor);
                let fits = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, bytes, left);
                self.reject_unless(fits, too_short);
                let end = self.builder.ins().iadd(cursor, bytes);
                self.set_context_field(context_offset::CURSOR, end);
            }
            Statement::Verify { condition, error } => {
                let condition = self.expression(condition);
                self.unless(condition, |function| {
                    let error = function.expression(error);
                    function.reject(error);
                });
            }
            Statement::Emit { header, bytes, tail } => self.emit(*header, *bytes, *tail > 0),
            // `statement` emits these.
            Statement::If { .. }
            | Statement::Switch { .. }
            | Statement::Loop { .. }
            | Statement::Break
            | Statement::Continue
            | Statement::Return
            | Statement::Exit
            | Statement::Call { .. }
            | Statement::Apply { .. }
            | Statement::Interpret { .. }
            // `simple` emits these.
            | Statement::Store { .. }
            | Statement::StoreSlice { .. }
            | Statement::Assign { .. }
            | Statement::Move { .. }
            | Statement::Build { .. }
            | Statement::Clear { .. }
            | Statement::Charge(_)
            | Statement::SetValidity { .. }
            | Statement::Truncate(_)
            | Statement::Assert { .. }
            | Statement::ReadRegister { .. }
            | Statement::WriteRegister { .. }
            | Statement::Count { .. }
            | Statement::Meter { .. }
            | Statement::CountEntry { .. }
            | Statement::MeterEntry { .. }
            | Statement::Color { .. }
            | Statement::Checksum { .. }
            | Statement::Hash { .. }
            | Statement::Sum { .. }
            | Statement::SendTo(_)
            | Statement::Request(_)
            | Statement::AddEntry(_)
            | Statement::RestartTimer(_) => self.broken("a statement that no function emits"),
        }
    }

    /// Emits a check that the packet has `bytes` bytes after the cursor. Returns a pointer to the
    /// first of them, and the cursor after them.
    fn packet_at(&mut self, cursor: Value, bytes: u32, too_short: u64) -> (Pointer, Value) {
        let end = self.builder.ins().iadd_imm_s(cursor, i64::from(bytes));
        let base = self.packet_up_to(cursor, end, too_short);
        (base, end)
    }

    /// Emits a check that the packet is at least `end` bytes long. Returns a pointer to the byte at
    /// the cursor.
    fn packet_up_to(&mut self, cursor: Value, end: Value, too_short: u64) -> Pointer {
        let length = self.context_field(context_offset::LENGTH);
        let fits = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, length);
        self.reject_unless(fits, too_short);
        let packet = self.context_field(context_offset::PACKET);
        Pointer { base: self.builder.ins().iadd(packet, cursor), offset: 0 }
    }

    /// Emits the extraction of a header with a varbit. The order of the checks is that of the
    /// interpreter: that the varbit has whole bytes, that the packet has these bytes, and that the
    /// header has room for them.
    fn extract_with_tail(&mut self, header: Address, (bytes, most): (u32, u32), width: Value) {
        let errors = self.resolved.errors;
        let rest = self.builder.ins().band_imm_u(width, 7);
        let is_fused = self.builder.ins().icmp_imm_s(IntCC::Equal, rest, 0);
        self.reject_unless(is_fused, u64::from(errors.invalid_argument));
        let tail = self.builder.ins().ushr_imm_u(width, 3);
        let cursor = self.context_field(context_offset::CURSOR);
        let end = self.builder.ins().iadd_imm_s(cursor, i64::from(bytes));
        let end = self.builder.ins().iadd(end, tail);
        let from = self.packet_up_to(cursor, end, u64::from(errors.too_short));
        let fits =
            self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThanOrEqual, width, i64::from(most));
        self.reject_unless(fits, u64::from(errors.header_too_short));
        let to = self.header(header);
        self.take_header(header, to, from, bytes);
        if self.header_pointer(header.offset).is_none() {
            self.copy_tail(to.data.plus(bytes), from.plus(bytes), width);
        }
        self.set_tail_width(header, width);
        self.set_context_field(context_offset::CURSOR, end);
    }

    /// Emits a copy of a header to the output. The output buffer has room for it, because the
    /// resolved program states the most bytes that a deparser can emit.
    fn emit(&mut self, header: Address, bytes: u32, has_tail: bool) {
        let from = self.header(header);
        let valid = self.flag(from);
        self.when(valid, |function| {
            let length = function.context_field(context_offset::EMITTED_LENGTH);
            let emitted = function.context_field(context_offset::EMITTED);
            let base = function.builder.ins().iadd(emitted, length);
            function.copy(Pointer { base, offset: 0 }, from.data, bytes);
            let mut length = function.builder.ins().iadd_imm_s(length, i64::from(bytes));
            if has_tail {
                let width = function.tail_width(header);
                let to = Pointer { base, offset: bytes as i32 };
                function.copy_tail(to, from.data.plus(bytes), width);
                let tail = function.builder.ins().ushr_imm_u(width, 3);
                length = function.builder.ins().iadd(length, tail);
            }
            function.set_context_field(context_offset::EMITTED_LENGTH, length);
        });
    }

    /// Emits code that runs only if a condition holds. Code that is emitted next runs in either
    /// case.
    fn when(&mut self, condition: Value, then: impl FnOnce(&mut Self)) {
        let (yes, join) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(condition, yes, &[], join, &[]);
        self.builder.switch_to_block(yes);
        then(self);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }

    /// Emits code that makes a header valid or invalid, and adds the difference to the change of
    /// the packet's length.
    fn set_validity(
        &mut self,
        header: Address,
        (bytes, bits): (u32, u32),
        has_tail: bool,
        valid: bool,
    ) {
        let at = self.header(header);
        let before = self.flag(at);
        let changes = if valid { self.builder.ins().bxor_imm_u(before, 1) } else { before };
        self.when(changes, |function| {
            let mut by = function.number(u64::from(bits / 8));
            if has_tail {
                // The length of the packet changes by the varbit as it was before, although the
                // varbit may be emptied below.
                let width = function.tail_width(header);
                let tail = function.builder.ins().ushr_imm_u(width, 3);
                by = function.builder.ins().iadd(by, tail);
            }
            if valid {
                function.clear(at.data, bytes);
                if has_tail {
                    let none = function.number(0);
                    function.set_tail_width(header, none);
                }
            }
            let flag = function.number(u64::from(valid));
            function.set_flag(at, flag);
            let change = function.context_field(context_offset::LENGTH_CHANGE);
            let change = match valid {
                true => function.builder.ins().iadd(change, by),
                false => function.builder.ins().isub(change, by),
            };
            function.set_context_field(context_offset::LENGTH_CHANGE, change);
        });
    }

    /// Emits an assignment of the P4 program. A header that it makes invalid keeps the values of
    /// its fields.
    fn assign(&mut self, to: Address, from: Address, shape: &Shape) {
        match shape {
            Shape::Scalar(_) | Shape::Wide { .. } | Shape::Varbit { .. } => {
                if let (Some(to), Some(from)) = (self.slot(to.offset), self.slot(from.offset)) {
                    let value = self.builder.use_var(from);
                    self.builder.def_var(to, value);
                } else {
                    let (to, from) = (self.pointer(to), self.pointer(from));
                    self.copy(to, from, shape.size());
                }
            }
            Shape::Header(header) if header.tail > 0 => {
                self.assign_header_with_tail(to, from, header.bytes());
            }
            Shape::Header(header) => self.assign_header(to, from, header.bytes()),
            Shape::Loose(_, size) => self.assign_header(to, from, *size),
            Shape::Struct(parts, _) | Shape::Union(parts, _) => {
                for (offset, part) in parts.iter() {
                    self.assign(to.plus(*offset), from.plus(*offset), part);
                }
            }
            Shape::Stack { element, size } => {
                self.assign_next(to, from);
                for index in 0..*size {
                    let offset = DATA + index * element.size();
                    let header = Shape::Header(element.clone());
                    self.assign(to.plus(offset), from.plus(offset), &header);
                }
            }
            Shape::Row { element, size } => {
                self.assign_next(to, from);
                for index in 0..*size {
                    let offset = DATA + index * element.size();
                    self.assign(to.plus(offset), from.plus(offset), element);
                }
            }
            Shape::None(_) => {}
        }
    }

    /// Emits the assignment of the index of a header stack's next element.
    fn assign_next(&mut self, to: Address, from: Address) {
        if let (Some(to), Some(from)) = (self.slot(to.offset), self.slot(from.offset)) {
            let next = self.builder.use_var(from);
            self.builder.def_var(to, next);
            return;
        }
        let (to, from) = (self.pointer(to), self.pointer(from));
        self.copy(to, from, 4);
    }

    fn hash(&mut self, gather: u32, found: Value) -> Value {
        let written_out = match self.internet_checksum(gather, found) {
            None => self.cyclic_redundancy_check(gather, found),
            checksum => checksum,
        };
        match written_out {
            Some(hash) => hash,
            None => self.hash_by_call(gather, found, Self::call_host),
        }
    }

    /// Emits the computation of a hash by the host. `call_host` emits the call, on a hot or on a
    /// cold path.
    pub(super) fn hash_by_call(
        &mut self,
        gather: u32,
        found: Value,
        call_host: fn(&mut Self, HostCall, &[Value]) -> Value,
    ) -> Value {
        let number = self.number(u64::from(gather));
        let arguments = [self.frame, self.context, number, found];
        self.spill_pieces(gather);
        call_host(self, HostCall::Hash, &arguments)
    }

    /// Emits stores to the frame of those fields that the host hashes, because the host reads them
    /// there.
    fn spill_pieces(&mut self, gather: u32) {
        let resolved = self.resolved;
        let Some(gather) = resolved.gathers.get(gather as usize) else {
            return self.broken("the fields of a hash");
        };
        if self.places.is_none() {
            // All values are in the frame already.
            return;
        }
        if gather.payload {
            use context_offset::{CURSOR, LENGTH, PACKET};
            for field in [PACKET, LENGTH, CURSOR] {
                let value = self.context_field(field);
                self.store(Pointer { base: self.context, offset: field as i32 }, 8, value);
            }
        }
        for piece in &gather.pieces {
            match *piece {
                Piece::Bits { flag, bit, width, .. } => {
                    self.spill_header(flag, (bit + width).div_ceil(8));
                }
                Piece::Tail { flag, bytes } => {
                    self.spill_header(flag, bytes);
                    self.spill_tail(flag, bytes);
                }
                Piece::Number { offset, bytes, .. } => self.spill(offset, bytes),
                Piece::Constant { .. } => {}
            }
        }
    }

    fn assign_header(&mut self, to: Address, from: Address, bytes: u32) {
        let (to, from) = (self.header(to), self.header(from));
        let valid = self.flag(from);
        self.set_flag(to, valid);
        self.when(valid, |function| function.copy(to.data, from.data, bytes));
    }

    /// Emits the assignment of a header with a varbit. The target may become longer and then no
    /// longer fits where it lies in the packet, so it is copied to the frame.
    fn assign_header_with_tail(&mut self, to: Address, from: Address, bytes: u32) {
        if to == from {
            return;
        }
        let (target, source) = (self.header(to), self.header(from));
        let valid = self.flag(source);
        self.set_flag(target, valid);
        self.when(valid, |function| function.copy_header_with_tail(to, from, bytes));
    }

    fn branch(&mut self, condition: &Expression, then: &Block, otherwise: &Block) -> bool {
        if let Some(holds) = self.settled(condition) {
            return self.block(if holds { then } else { otherwise });
        }
        let condition = self.expression(condition);
        let (yes, no) = (self.builder.create_block(), self.builder.create_block());
        let join = self.builder.create_block();
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        let mut ends = true;
        for (block, statements) in [(yes, then), (no, otherwise)] {
            self.builder.switch_to_block(block);
            if !self.block(statements) {
                self.builder.ins().jump(join, &[]);
                ends = false;
            }
        }
        self.builder.switch_to_block(join);
        self.unreachable_if(ends)
    }

    /// Returns the value of a condition on the validity of headers, or `None` if it is not known at
    /// compile time.
    fn settled(&self, condition: &Expression) -> Option<bool> {
        match condition {
            Expression::Constant(number) => Some(*number != 0),
            Expression::IsValid(header) => {
                self.known_place(*header).map(|place| place != Known::Absent)
            }
            Expression::Not(operand) => self.settled(operand).map(|holds| !holds),
            Expression::Binary { operator: BinaryOperator::And, left, right, .. } => {
                match (self.settled(left), self.settled(right)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    (None, _) | (_, None) => None,
                }
            }
            // Conditions about other things than validity are computed while packets are processed.
            Expression::Load(_)
            | Expression::LoadIfValid { .. }
            | Expression::Negate { .. }
            | Expression::Complement { .. }
            | Expression::Binary { .. }
            | Expression::Concatenate { .. }
            | Expression::Slice { .. }
            | Expression::Resize { .. }
            | Expression::Conditional { .. }
            | Expression::LastIndex(_)
            | Expression::PacketLength => None,
        }
    }

    /// Emits a comparison of the subject with each value in turn. Returns whether control never
    /// continues after the switch.
    fn switch(
        &mut self,
        subject: &Expression,
        cases: &[(Vec<u64>, Block)],
        default: &Block,
    ) -> bool {
        let subject = self.expression(subject);
        let join = self.builder.create_block();
        let mut ends = true;
        for (values, statements) in cases {
            let (yes, no) = (self.builder.create_block(), self.builder.create_block());
            for value in values {
                let next = self.builder.create_block();
                let value = self.number(*value);
                let is_it = self.builder.ins().icmp(IntCC::Equal, subject, value);
                self.builder.ins().brif(is_it, yes, &[], next, &[]);
                self.builder.switch_to_block(next);
            }
            self.builder.ins().jump(no, &[]);
            self.builder.switch_to_block(yes);
            if !self.block(statements) {
                self.builder.ins().jump(join, &[]);
                ends = false;
            }
            self.builder.switch_to_block(no);
        }
        if !self.block(default) {
            self.builder.ins().jump(join, &[]);
            ends = false;
        }
        self.builder.switch_to_block(join);
        self.unreachable_if(ends)
    }

    /// Emits a terminator for the current block if `ends` is set, which means that control never
    /// reaches this block. Returns `ends`.
    fn unreachable_if(&mut self, ends: bool) -> bool {
        if ends {
            self.leave(flow::NEXT);
        }
        ends
    }

    /// Emits a loop. Each round runs `before` and tests the condition, and then runs `body` and
    /// `update`. Returns whether control never continues after the loop.
    fn repeat(
        &mut self,
        (before, condition): (&Block, &Expression),
        body: &Block,
        update: &Block,
    ) -> bool {
        let (head, first) = (self.builder.create_block(), self.builder.create_block());
        let (again, end) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let ended = self.block(before);
        if !ended {
            let condition = self.expression(condition);
            self.builder.ins().brif(condition, first, &[], end, &[]);
        }
        self.builder.switch_to_block(first);
        self.loops.push((again, end));
        if !self.block(body) {
            self.builder.ins().jump(again, &[]);
        }
        self.loops.pop();
        self.builder.switch_to_block(again);
        if !self.block(update) {
            self.builder.ins().jump(head, &[]);
        }
        self.builder.switch_to_block(end);
        self.unreachable_if(ended)
    }

    fn call(&mut self, callee: Callee, after: &Block, result: &Block) {
        if self.places.is_some() {
            self.call_written_out(callee, &mut |function| {
                function.block(after);
            });
            self.block(result);
            return;
        }
        let how = self.call_block(callee);
        let is_fault = self.builder.ins().icmp_imm_s(IntCC::Equal, how, flow::FAULT);
        let goes_on = self.builder.ins().bxor_imm_u(is_fault, 1);
        self.unless(goes_on, |function| function.leave(flow::FAULT));
        self.block(after);
        self.return_unless_next(how);
        self.block(result);
        debug_assert_eq!(self.builder.func.dfg.value_type(how), types::I64);
    }
}
