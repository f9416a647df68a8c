//! The stages of a burst of packets, each a generated function that loops over the packets: the
//! parser stage, which also prefetches the table entries that headers select, and the second stage,
//! from the end of the parser to the transmission of the packet. The submodule `fused` generates
//! the fused function, which does both for one packet after another.
//!
//! The parser stage copies each packet to the output buffer. If a deparser emits the headers as
//! they were extracted, its output is there already; otherwise the headers are emitted again, in
//! front of the payload.

mod copy;
mod deparse;
pub(super) mod fused;
mod glue;
pub(super) mod prefetch;
mod psa;

use super::function::{Function, context_offset};
use super::variables::Pointer;
use crate::compiled::burst::{
    BatchLookup, Burst, LEAVES_IN_EGRESS, LEAVES_IN_INGRESS, Owned, Owner, Packet,
};
use crate::compiled::context::{NEW_PACKET, NOWHERE};
use crate::compiled::fast_path::{EGRESS, FastPath, INGRESS, Kind, PARSER, UPDATE, VERIFY};
use crate::compiled::plan::{Plan, PlannedHeader};
use crate::error::InternalError;
use crate::layout::MetadataField as Of;
use crate::resolved::shape::DATA;
use crate::resolved::{Callee, Expression, Field, Key, Offset, ResolvedProgram, Table};
use crate::table::EntryLayout;
use architectures::{Inputs, Known, TO_PORT, beyond_drop_port};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use std::mem::offset_of;

/// The values on which the architecture's rules decide about a packet: its metadata, and its output
/// port if it has one already.
#[derive(Clone, Copy)]
struct RuleInputs<'f> {
    fields: &'f [Option<Field>],
    port: Option<Value>,
}

/// The loop over the packets of a burst in a function that is being generated.
#[derive(Clone, Copy)]
struct Loop<'s> {
    fast_path: &'s FastPath,
    burst: Value,
    index: Variable,
    /// The variable that holds the address of the current packet's [`Packet`].
    record: Variable,
    /// The variable that holds the address at which the record of the next packet to transmit is
    /// written.
    sent: Variable,
    /// The address of the output buffer.
    bytes: Value,
    head: Block,
    /// The block to which code jumps to continue with the next packet.
    next: Block,
    /// The block that runs after the last packet.
    end: Block,
    fault: Block,
    packet: Value,
}

/// The lengths of the current packet, in bytes.
#[derive(Clone, Copy)]
struct Lengths {
    /// The number of bytes of the packet that are in memory, so that generated code can read them.
    given: Value,
    /// The length of the packet as it was received.
    received: Value,
}

impl<'m> Function<'_, 'm> {
    /// Generates the parser stage, which parses all packets of a burst.
    pub(super) fn parse_stage(
        mut self,
        fast_path: &FastPath,
        plan: &'m Plan,
    ) -> Result<(), InternalError> {
        let burst_loop = self.begin_loop(fast_path, plan);
        let input = self.of_record(burst_loop, offset_of!(Packet, input));
        let output = self.output(burst_loop);
        let length = self.of_record(burst_loop, offset_of!(Packet, length));
        let received = self.of_record(burst_loop, offset_of!(Packet, received));
        self.copy_packet(input, output, length);
        // A load that spans several recent stores waits until they have reached the cache, so the
        // packet is parsed where it was received, unless the parser writes headers.
        let packet = if plan.parser_writes_headers { output } else { input };
        self.begin_packet(packet, length);
        self.reads_input(!plan.parser_writes_headers);
        for (flag, header) in &plan.headers {
            self.clear_storage(*flag, header);
        }
        self.clear_wide(plan, 0);
        self.begin_values(plan);
        self.received(burst_loop, received);
        let error = self.parse(burst_loop.fast_path.blocks[PARSER]);
        self.save(plan, error, input, output);
        self.prefetch_tables(fast_path, plan);
        self.builder.ins().jump(burst_loop.next, &[]);
        self.end_loop(burst_loop)
    }

    /// Generates the second stage, which processes the parsed packets of a burst to completion,
    /// beginning with the packet of the given number. The stage stops at a packet that it cannot
    /// complete.
    pub(super) fn pass_stage(
        mut self,
        fast_path: &FastPath,
        plan: &'m Plan,
    ) -> Result<(), InternalError> {
        let burst_loop = self.begin_loop(fast_path, plan);
        let lengths = self.lengths(burst_loop);
        let output = self.output(burst_loop);
        self.begin_packet(output, lengths.given);
        self.begin_values(plan);
        self.received(burst_loop, lengths.received);
        let error = self.restore(plan);
        let ahead = known_tables(self.resolved, fast_path, plan).map(|(number, ..)| number);
        self.set_ahead(ahead.collect());
        self.after_parser(burst_loop, plan, error, output, lengths);
        self.end_loop(burst_loop)
    }

    /// Emits the code for a packet after its parser. `error` is the parser's error.
    fn after_parser(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        error: Value,
        output: Value,
        lengths: Lengths,
    ) {
        let fast_path = burst_loop.fast_path;
        let (glue, length) = (fast_path.glue, lengths.given);
        self.set_word(self.context, context_offset::RECEIVED_LENGTH, lengths.received);
        let zero = self.number(0);
        let is_verified = plan.interprets
            || self.resolved.gathers.iter().any(|gather| gather.verifies)
                && !self.ignores_verification();
        if is_verified {
            // A checksum that was verified after ingress of the previous packet may have set the
            // field.
            self.set_context_field(context_offset::CHECKSUM_ERROR, zero);
        }
        if plan.interprets || plan.requests {
            let new = self.number(if plan.interprets { NEW_PACKET } else { 0 });
            self.set_word(self.context, context_offset::REQUESTS, new);
        }
        self.run_block(burst_loop, VERIFY);
        let checksum_failed = match is_verified {
            true => self.context_field(context_offset::CHECKSUM_ERROR),
            false => zero,
        };
        let inputs = self.inputs(burst_loop, lengths.received).with(Known::ParserError, error);
        let inputs = inputs.with(Known::ChecksumFailed, checksum_failed);
        self.set_all(&fast_path.standard, glue.before_ingress, &inputs);
        if let Some(psa) = &fast_path.psa {
            self.set_all(&psa.at_ingress, glue.ingress_says, &inputs);
        }
        self.run_block(burst_loop, INGRESS);
        if let Some(psa) = &fast_path.psa {
            self.after_ingress_of_psa(burst_loop, plan, psa, output, length);
            self.builder.ins().jump(burst_loop.next, &[]);
            return;
        }
        let rule_inputs = RuleInputs { fields: &fast_path.standard, port: None };
        self.leave_by(burst_loop, plan, &glue.after_ingress, rule_inputs, LEAVES_IN_INGRESS);
        let port = match fast_path.kind {
            Kind::V1model => {
                let port = self.enter_queue(burst_loop, plan);
                self.egress(burst_loop, plan, (port, lengths.received));
                self.run_block(burst_loop, UPDATE);
                Some(port)
            }
            Kind::Psa | Kind::Pna => None,
        };
        self.deparse(burst_loop, plan, port, (output, length));
        self.builder.ins().jump(burst_loop.next, &[]);
    }

    /// Emits the beginning of the loop over packets, which determines the frame of the current
    /// packet. The generated function's parameters are the burst and the number of its first
    /// packet.
    fn begin_loop<'s>(&mut self, fast_path: &'s FastPath, plan: &'m Plan) -> Loop<'s> {
        let (burst, first) = (self.frame, self.context);
        let mut block = || self.builder.create_block();
        let (head, body, next, end, fault) = (block(), block(), block(), block(), block());
        self.builder.set_cold_block(fault);
        let mut variable = || self.builder.declare_var(types::I64);
        let (index, record, sent) = (variable(), variable(), variable());
        self.use_plan(plan, fault);
        self.set_columns(burst, index);
        // The interpreter may read all of the standard metadata.
        if self.known(&fast_path.standard, Of::ChecksumError).is_none()
            && !plan.interprets
            && !plan.requests
        {
            self.ignore_verification();
        }
        let [context, count, packets, frames, bytes, next_sent] = [
            offset_of!(Burst, context),
            offset_of!(Burst, count),
            offset_of!(Burst, packets),
            offset_of!(Burst, frames),
            offset_of!(Burst, bytes),
            offset_of!(Burst, sent),
        ]
        .map(|part| self.word(burst, part));
        self.context = context;
        self.builder.def_var(index, first);
        self.builder.def_var(sent, next_sent);
        let distance = self.builder.ins().imul_imm_s(first, size_of::<Packet>() as i64);
        let first_record = self.builder.ins().iadd(packets, distance);
        self.builder.def_var(record, first_record);
        // The table accesses stay in place while code runs.
        let tables = self.word(context, context_offset::TABLES);
        self.set_context_field(context_offset::TABLES, tables);
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let at = self.builder.use_var(index);
        let is_left = self.builder.ins().icmp(IntCC::UnsignedLessThan, at, count);
        self.builder.ins().brif(is_left, body, &[], end, &[]);
        self.builder.switch_to_block(body);
        let distance = self.builder.ins().imul_imm_s(at, i64::from(plan.frame));
        self.frame = self.builder.ins().iadd(frames, distance);
        let packet = self.builder.use_var(record);
        Loop { fast_path, burst, index, record, sent, bytes, head, next, end, fault, packet }
    }

    /// Emits the end of the loop over the packets, and completes the function.
    fn end_loop(mut self, burst_loop: Loop<'_>) -> Result<(), InternalError> {
        self.builder.switch_to_block(burst_loop.next);
        let at = self.builder.use_var(burst_loop.index);
        let after = self.builder.ins().iadd_imm_s(at, 1);
        self.builder.def_var(burst_loop.index, after);
        let record = self.builder.ins().iadd_imm_s(burst_loop.packet, size_of::<Packet>() as i64);
        self.builder.def_var(burst_loop.record, record);
        self.builder.ins().jump(burst_loop.head, &[]);
        for block in [burst_loop.end, burst_loop.fault] {
            self.builder.switch_to_block(block);
            let at = self.builder.use_var(burst_loop.index);
            self.leave_burst(burst_loop, at);
        }
        self.finish()
    }

    /// Emits the end of the function, which returns `answer`.
    fn leave_burst(&mut self, burst_loop: Loop<'_>, answer: Value) {
        let sent = self.builder.use_var(burst_loop.sent);
        self.set_word(burst_loop.burst, offset_of!(Burst, sent), sent);
        self.builder.ins().return_(&[answer]);
    }

    /// Emits the computation of the address of the current packet's copy in the output buffer.
    fn output(&mut self, burst_loop: Loop<'_>) -> Value {
        let distance = self.of_record(burst_loop, offset_of!(Packet, output));
        self.builder.ins().iadd(burst_loop.bytes, distance)
    }

    fn now(&mut self, burst_loop: Loop<'_>) -> Value {
        let now = Pointer { base: burst_loop.burst, offset: offset_of!(Burst, now) as i32 };
        self.load_input(now, 8)
    }

    /// Emits the load of a word of the current packet's [`Packet`]. `part` is the offset of the
    /// word in it.
    fn of_record(&mut self, burst_loop: Loop<'_>, part: usize) -> Value {
        self.load_input(Pointer { base: burst_loop.packet, offset: part as i32 }, 8)
    }

    fn lengths(&mut self, burst_loop: Loop<'_>) -> Lengths {
        Lengths {
            given: self.of_record(burst_loop, offset_of!(Packet, length)),
            received: self.of_record(burst_loop, offset_of!(Packet, received)),
        }
    }

    /// Emits code that initialises the fields of the context for a packet.
    fn begin_packet(&mut self, packet: Value, length: Value) {
        use context_offset as field;
        let (zero, all) = (self.number(0), self.number(u64::MAX));
        let nowhere = self.number(NOWHERE);
        for (field, value) in [
            (field::PACKET, packet),
            (field::LENGTH, length),
            (field::CURSOR, zero),
            (field::EMITTED, zero),
            (field::EMITTED_LENGTH, zero),
            (field::ERROR, zero),
            (field::LENGTH_CHANGE, zero),
            (field::TRUNCATE, all),
            (field::DESTINATION, nowhere),
        ] {
            self.set_context_field(field, value);
        }
        let work = self.number(self.resolved.packet_work.into());
        self.set_context_field(field::WORK_LEFT, work);
    }

    /// Emits code that sets all numbers to zero, and makes all headers point to their storage in
    /// the frame instead of to the packet.
    fn begin_values(&mut self, plan: &Plan) {
        let zero = self.number(0);
        for variable in
            plan.slots.keys().filter_map(|offset| self.slot(*offset)).collect::<Vec<_>>()
        {
            self.builder.def_var(variable, zero);
        }
        for flag in plan.headers.keys() {
            let at = self.storage(*flag);
            self.point(*flag, at);
        }
    }

    /// Emits code that clears the numbers of more than 64 bits in the frame. Those at offsets below
    /// `start` are left unchanged.
    fn clear_wide(&mut self, plan: &Plan, start: Offset) {
        for (offset, bytes) in plan.wide_in(start, u32::MAX - start) {
            self.clear(Pointer { base: self.frame, offset: offset as i32 }, bytes);
        }
    }

    /// Returns a pointer to the storage in the frame (the packet's working memory) for a header
    /// whose bits are not in the packet.
    fn storage(&self, flag: Offset) -> Pointer {
        Pointer { base: self.frame, offset: (flag + DATA) as i32 }
    }

    /// Emits code that clears the storage of a header in the frame. Emits nothing if no code writes
    /// to it.
    fn clear_storage(&mut self, flag: Offset, header: &PlannedHeader) {
        if header.written {
            let at = self.storage(flag);
            self.clear(at, header.bytes.next_multiple_of(8));
        }
    }

    fn point(&mut self, flag: Offset, at: Pointer) {
        if self.header_pointer(flag).is_some() {
            let at = self.builder.ins().iadd_imm_s(at.base, i64::from(at.offset));
            self.point_to(flag, at, at);
        }
    }

    /// Emits stores of the metadata that the architecture sets when a packet is received.
    fn received(&mut self, burst_loop: Loop<'_>, length: Value) {
        let inputs = self.inputs(burst_loop, length);
        for (known, field) in &burst_loop.fast_path.received {
            self.set_slot(*field, inputs.of(*known));
        }
    }

    /// Returns the properties of a packet that the architecture assigns to metadata. `length` is
    /// the received length in bytes. Packets in bursts are in their first pass and do not wait for
    /// a port, so properties that describe earlier passes or queues are zero.
    fn inputs(&mut self, burst_loop: Loop<'_>, length: Value) -> Inputs<Value> {
        let [port, direction] =
            [offset_of!(Packet, port), offset_of!(Packet, direction)].map(|part| {
                self.load_input(Pointer { base: burst_loop.packet, offset: part as i32 }, 4)
            });
        let path = burst_loop.fast_path.psa.as_ref().map_or(0, |psa| psa.paths[0]);
        let path = self.number(path);
        let inputs = self.inputs_of_all(burst_loop).with(Known::Port, port).with(Known::Path, path);
        inputs.with(Known::Length, length).with(Known::Direction, direction)
    }

    /// Returns those properties that the architecture assigns to metadata and that are equal for
    /// all packets of a burst.
    fn inputs_of_all(&mut self, burst_loop: Loop<'_>) -> Inputs<Value> {
        let (zero, now) = (self.number(0), self.now(burst_loop));
        let behind = self.number(beyond_drop_port(burst_loop.fast_path.drop_port));
        Inputs::all(zero).with(Known::Now, now).with(Known::BehindDropPort, behind)
    }

    /// Emits a parser inline. Returns the error with which it ends.
    fn parse(&mut self, parser: Callee) -> Value {
        let join = self.builder.create_block();
        let error = self.builder.append_block_param(join, types::I64);
        let end = self.written_out(parser);
        let none = self.number(0);
        self.builder.ins().jump(join, &[none.into()]);
        if let Some(exit) = end.exit {
            self.builder.switch_to_block(exit);
            let none = self.number(0);
            self.builder.ins().jump(join, &[none.into()]);
        }
        if let Some(reject) = end.reject {
            self.builder.switch_to_block(reject);
            let error = self.context_field(context_offset::ERROR);
            self.builder.ins().jump(join, &[error.into()]);
        }
        self.builder.switch_to_block(join);
        error
    }

    /// Emits stores to the frame of the values that the next stage needs.
    fn save(&mut self, plan: &Plan, error: Value, input: Value, output: Value) {
        for offset in &plan.saved {
            if let Some(bytes) = plan.slots.get(offset) {
                self.spill(*offset, *bytes);
            }
        }
        for (flag, header) in plan.headers.iter().filter(|(_, header)| header.extracted.is_some()) {
            let Some(pointer) = self.header_pointer(*flag) else {
                self.broken("a header of the plan without a pointer");
                continue;
            };
            let mut at = self.builder.use_var(pointer);
            if !plan.parser_writes_headers {
                let storage = self.storage(*flag);
                let storage =
                    self.builder.ins().iadd_imm_s(storage.base, i64::from(storage.offset));
                let inside = self.builder.ins().isub(at, input);
                let copy = self.builder.ins().iadd(output, inside);
                let is_stored = self.builder.ins().icmp(IntCC::Equal, at, storage);
                at = self.builder.ins().select(is_stored, storage, copy);
            }
            self.set_word(self.frame, header.pointer as usize, at);
        }
        let cursor = self.context_field(context_offset::CURSOR);
        self.set_word(self.frame, plan.cursor as usize, cursor);
        self.set_word(self.frame, plan.error as usize, error);
        let change = self.context_field(context_offset::LENGTH_CHANGE);
        self.set_word(self.frame, plan.length_change as usize, change);
        if self.resolved.counts {
            let left = self.context_field(context_offset::WORK_LEFT);
            self.set_word(self.frame, plan.work_left as usize, left);
        }
    }

    /// Emits loads of the values that [`Self::save`] has stored. Returns the parser's error.
    fn restore(&mut self, plan: &Plan) -> Value {
        for offset in &plan.saved {
            if let Some(bytes) = plan.slots.get(offset) {
                self.fetch(*offset, *bytes);
            }
        }
        for (flag, header) in plan.headers.iter().filter(|(_, header)| header.extracted.is_some()) {
            let Some(pointer) = self.header_pointer(*flag) else {
                self.broken("a header of the plan without a pointer");
                continue;
            };
            let at = self.word(self.frame, header.pointer as usize);
            self.builder.def_var(pointer, at);
        }
        let cursor = self.word(self.frame, plan.cursor as usize);
        self.set_context_field(context_offset::CURSOR, cursor);
        let change = self.word(self.frame, plan.length_change as usize);
        self.set_context_field(context_offset::LENGTH_CHANGE, change);
        if self.resolved.counts {
            let left = self.word(self.frame, plan.work_left as usize);
            self.set_context_field(context_offset::WORK_LEFT, left);
        }
        self.word(self.frame, plan.error as usize)
    }

    /// Emits prefetches of table entries, for tables whose keys are known after the parser.
    fn prefetch_tables(&mut self, fast_path: &FastPath, plan: &Plan) {
        for (number, table, layout) in known_tables(self.resolved, fast_path, plan) {
            self.prefetch(number, table, layout);
        }
    }

    /// Emits a block of the package inline, unless it has no statements.
    fn run_block(&mut self, burst_loop: Loop<'_>, position: usize) {
        if burst_loop.fast_path.runs[position] {
            self.run_callee(burst_loop, burst_loop.fast_path.blocks[position]);
        }
    }

    /// Emits a control of the package inline.
    fn run_callee(&mut self, burst_loop: Loop<'_>, callee: Callee) {
        let end = self.written_out(callee);
        let goes_on = self.builder.create_block();
        self.builder.ins().jump(goes_on, &[]);
        for (block, to) in [(end.exit, goes_on), (end.reject, burst_loop.fault)] {
            if let Some(block) = block {
                self.builder.switch_to_block(block);
                self.builder.ins().jump(to, &[]);
            }
        }
        self.builder.switch_to_block(goes_on);
    }

    /// Emits code that takes a v1model packet from ingress to the queue of its output port. Returns
    /// the port. Code that is emitted after it runs only if the packet is not dropped.
    fn enter_queue(&mut self, burst_loop: Loop<'_>, plan: &Plan) -> Value {
        let FastPath { glue, standard, .. } = burst_loop.fast_path;
        let rule_inputs = RuleInputs { fields: standard, port: None };
        self.drop_by(burst_loop, plan, &glue.after_ingress, rule_inputs);
        let port = self.port_by(&glue.after_ingress, rule_inputs);
        let inputs = self.inputs_of_all(burst_loop).with(Known::Port, port);
        self.set_all(standard, TO_PORT, &inputs);
        let rule_inputs = RuleInputs { port: Some(port), ..rule_inputs };
        self.drop_by(burst_loop, plan, &glue.before_queue, rule_inputs);
        self.set_all(standard, glue.queued, &inputs);
        port
    }

    /// Emits code that ends the function at a packet that must leave the burst. It stores all
    /// values to the frame and the context, so that the driver can complete the packet, and returns
    /// the number of the packet together with the bits of `what`, which say why.
    fn hand_over(&mut self, burst_loop: Loop<'_>, plan: &Plan, what: u64) {
        for (offset, bytes) in &plan.slots {
            self.spill(*offset, *bytes);
        }
        for (flag, header) in &plan.headers {
            self.spill_header(*flag, header.bytes);
            if let Some(at) = header.tail {
                self.spill_tail(*flag, at);
            }
        }
        use context_offset as field;
        for field in [
            field::PACKET,
            field::LENGTH,
            field::CURSOR,
            field::LENGTH_CHANGE,
            field::TRUNCATE,
            field::DESTINATION,
            field::WORK_LEFT,
        ] {
            let value = self.context_field(field);
            self.set_word(self.context, field, value);
        }
        let at = self.builder.use_var(burst_loop.index);
        let at = self.builder.ins().bor_imm_u(at, what.cast_signed());
        self.leave_burst(burst_loop, at);
    }

    /// Emits egress for one output port. `length` is the length with which the packet was received.
    /// Code that is emitted next runs unless egress drops the packet.
    fn egress(&mut self, burst_loop: Loop<'_>, plan: &Plan, (port, length): (Value, Value)) {
        let fast_path = burst_loop.fast_path;
        self.clear_locals(plan);
        if !fast_path.runs[EGRESS] {
            return;
        }
        let change = self.context_field(context_offset::LENGTH_CHANGE);
        let length = self.builder.ins().iadd(length, change);
        let inputs =
            self.inputs_of_all(burst_loop).with(Known::Port, port).with(Known::Length, length);
        self.set_all(&fast_path.standard, fast_path.glue.before_egress, &inputs);
        self.run_block(burst_loop, EGRESS);
        if plan.requests {
            self.set_word(self.frame, plan.error as usize, port);
        }
        let rule_inputs = RuleInputs { fields: &fast_path.standard, port: Some(port) };
        let rules = &fast_path.glue.after_egress;
        self.leave_by(burst_loop, plan, rules, rule_inputs, LEAVES_IN_EGRESS);
        self.drop_by(burst_loop, plan, rules, rule_inputs);
    }

    /// Emits code that clears the local variables after ingress, so that egress does not see the
    /// values that ingress left there.
    fn clear_locals(&mut self, plan: &Plan) {
        let locals = self.resolved.locals;
        let zero = self.number(0);
        for (offset, _) in plan.slots_in(locals, u32::MAX - locals) {
            if let Some(variable) = self.slot(offset) {
                self.builder.def_var(variable, zero);
            }
        }
        self.clear_wide(plan, locals);
        for (flag, header) in plan.headers_in(locals, u32::MAX - locals) {
            self.clear_storage(flag, &header);
            let at = self.storage(flag);
            self.point(flag, at);
        }
    }

    /// Returns a metadata field together with the variable that holds it. `fields` holds the fields
    /// by number. Returns `None` if the program does not use the field.
    fn known(&self, fields: &[Option<Field>], field: Of) -> Option<(Field, Variable)> {
        let field = fields.get(field as usize).copied().flatten()?;
        self.slot(field.address.offset).map(|variable| (field, variable))
    }

    /// Emits the store of a value to a metadata field. Emits nothing if the program does not use
    /// the field.
    fn set_slot(&mut self, field: Field, value: Value) {
        if let Some(variable) = self.slot(field.address.offset) {
            let value = self.masked(value, field.scalar.width);
            self.builder.def_var(variable, value);
        }
    }

    /// Emits the load of a metadata field that decides where a packet goes
    /// ([`FastPath::deciding`]). Returns zero if the program lacks the field.
    fn value_in(&mut self, fields: &[Option<Field>], field: Of) -> Value {
        match self.known(fields, field) {
            Some((_, variable)) => self.builder.use_var(variable),
            None if fields.get(field as usize).is_some_and(Option::is_some) => {
                self.broken_value("a field that decides about packets and has no variable")
            }
            None => self.number(0),
        }
    }

    fn word(&mut self, base: Value, offset: usize) -> Value {
        self.load(Pointer { base, offset: offset as i32 }, 8)
    }

    fn set_word(&mut self, base: Value, offset: usize, value: Value) {
        self.store(Pointer { base, offset: offset as i32 }, 8, value);
    }
}

/// Returns the packed tables that match prefixes or rules and whose keys are known after the
/// parser, so that they can be searched for a whole burst.
pub(super) fn batch_lookups(
    resolved: &ResolvedProgram,
    fast_path: &FastPath,
    plan: &Plan,
) -> Vec<BatchLookup> {
    let known = known_tables(resolved, fast_path, plan).filter_map(|(table, _, layout)| {
        let column = *plan.ahead.get(&table)?;
        let (by_prefix, owner) = (layout.has_prefix_alone(), Owner::of(layout));
        Some(BatchLookup { table, column, by_prefix, owner })
    });
    let mut known: Vec<_> = known.collect();
    // Tables with rules come first, so that the prefetches for tables with prefixes complete while
    // rules are compared.
    known.sort_by_key(|batch_lookups| batch_lookups.by_prefix);
    known
}

/// Returns the packed tables whose exact keys are known after the parser and whose entries have
/// counters or timers.
pub(super) fn owned(resolved: &ResolvedProgram, fast_path: &FastPath, plan: &Plan) -> Vec<Owned> {
    let known = known_tables(resolved, fast_path, plan).filter_map(|(table, _, layout)| {
        let column = *plan.keys.get(&table)?;
        Some(Owned { table, column, owner: Owner::of(layout)? })
    });
    known.collect()
}

/// Returns the packed tables whose keys are known after the parser. There are none in a program
/// compiled without lookups (`Core::compile_without_lookups`), which serves to measure what lookups
/// cost.
fn known_tables<'b>(
    resolved: &'b ResolvedProgram,
    fast_path: &FastPath,
    plan: &Plan,
) -> impl Iterator<Item = (u32, &'b Table, &'b EntryLayout)> {
    tables_with_known_keys(resolved, fast_path, plan).filter(|_| !resolved.samples)
}

/// Returns the packed tables whose keys are known after the parser, also in a program without
/// lookups.
fn tables_with_known_keys<'b>(
    resolved: &'b ResolvedProgram,
    fast_path: &FastPath,
    plan: &Plan,
) -> impl Iterator<Item = (u32, &'b Table, &'b EntryLayout)> {
    resolved.tables.iter().filter_map(move |table| {
        let (number, layout) = table.packed.as_ref()?;
        let mut keys = table.keys.iter().flat_map(Key::values);
        let are_known =
            table.before_keys.is_empty() && keys.all(|value| is_parsed(value, fast_path, plan));
        are_known.then_some((*number, table, &**layout))
    })
}

/// Returns whether an expression depends only on values that exist at the end of the parser, so
/// that it can be evaluated there.
fn is_parsed(value: &Expression, fast_path: &FastPath, plan: &Plan) -> bool {
    // The egress parser has not run at this point.
    let is_of_egress = |offset: Offset| {
        fast_path.psa.as_ref().is_some_and(|psa| (psa.egress..psa.locals).contains(&offset))
    };
    let is_known = |offset: Offset| {
        let mut received = fast_path.received.iter();
        let is_there = plan.saved.contains(&offset)
            || plan.headers.contains_key(&offset.wrapping_sub(DATA))
            || received.any(|(_, field)| field.address.offset == offset);
        is_there && !is_of_egress(offset)
    };
    match value {
        Expression::Constant(_) | Expression::PacketLength => true,
        Expression::Load(field) => is_known(field.address.offset),
        Expression::LoadIfValid { value, .. } => is_parsed(value, fast_path, plan),
        Expression::IsValid(_) => true,
        Expression::Not(operand)
        | Expression::Negate { operand, .. }
        | Expression::Complement { operand, .. }
        | Expression::Slice { operand, .. }
        | Expression::Resize { operand, .. } => is_parsed(operand, fast_path, plan),
        Expression::Binary { left, right, .. } | Expression::Concatenate { left, right, .. } => {
            is_parsed(left, fast_path, plan) && is_parsed(right, fast_path, plan)
        }
        Expression::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].iter().all(|value| is_parsed(value, fast_path, plan))
        }
        Expression::LastIndex(_) => false,
    }
}
