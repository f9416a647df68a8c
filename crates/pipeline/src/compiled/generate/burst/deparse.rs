//! Generates the code that deparses a packet and records it for transmission.
//!
//! The headers are not written again if they already are in the output buffer as the deparser would
//! emit them. In this file, a deparser emits headers (`packet_out.emit` of P4), and functions of
//! Rust emit code.

use super::Loop;
use super::RuleInputs;
use crate::compiled::burst::Burst;
use crate::compiled::fast_path::{DEPARSER, Sent};
use crate::compiled::generate::function::{Function, context_offset};
use crate::compiled::generate::variables::{Known, Pointer};
use crate::compiled::plan::Plan;
use crate::resolved::{Address, Block as Statements, Body, Callee, Statement};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use std::mem::offset_of;

/// The headers that a deparser emits, in order. Each is given by its address, its size in bytes,
/// and the maximum size of its `varbit` field, which is 0 if it has none.
type Emits = Vec<(Address, u32, u32)>;

impl Function<'_, '_> {
    /// Emits code that deparses a packet and records it for transmission through `port`. If `port`
    /// is `None`, the packet leaves through the port that blocks have chosen.
    pub(super) fn deparse(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        mut port: Option<Value>,
        (output, length): (Value, Value),
    ) {
        let deparser = burst_loop.fast_path.blocks[DEPARSER];
        if port.is_none() && self.only_emits(deparser).is_some() {
            // A packet without a destination is dropped before its headers are emitted.
            port = Some(self.destination(burst_loop, plan));
        }
        let start = self.emitted(burst_loop, deparser, output);
        let port = port.unwrap_or_else(|| self.destination(burst_loop, plan));
        let end = self.builder.ins().iadd(output, length);
        self.send(burst_loop, plan, port, (start, end));
    }

    /// Emits code that runs a deparser for the packet that begins at the address `packet`. Returns
    /// the address at which the deparsed packet begins. The code writes the emitted headers in
    /// front of the payload, unless they are there already.
    pub(super) fn emitted(
        &mut self,
        burst_loop: Loop<'_>,
        deparser: Callee,
        packet: Value,
    ) -> Value {
        let emits = self.only_emits(deparser);
        if let Some(headers) = &emits
            && self.lie_in_place(headers)
        {
            return packet;
        }
        let cursor = self.context_field(context_offset::CURSOR);
        let payload = self.builder.ins().iadd(packet, cursor);
        let join = self.builder.create_block();
        let start = self.builder.append_block_param(join, types::I64);
        if let Some(headers) = emits {
            let differs = self.differs(&headers, packet, payload);
            let (anew, same) = (self.builder.create_block(), self.builder.create_block());
            self.builder.ins().brif(differs, anew, &[], same, &[]);
            self.builder.switch_to_block(same);
            self.builder.ins().jump(join, &[packet.into()]);
            self.builder.switch_to_block(anew);
        }
        let room = self.word(burst_loop.burst, offset_of!(Burst, emitted));
        let zero = self.number(0);
        self.set_context_field(context_offset::EMITTED, room);
        self.set_context_field(context_offset::EMITTED_LENGTH, zero);
        self.run_callee(burst_loop, deparser);
        let emitted = self.context_field(context_offset::EMITTED_LENGTH);
        let front = self.builder.ins().isub(payload, emitted);
        let config = self.config;
        self.builder.call_memcpy(config, front, room, emitted);
        self.builder.ins().jump(join, &[front.into()]);
        self.builder.switch_to_block(join);
        start
    }

    /// Emits code that records a packet for transmission.
    pub(super) fn send(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        port: Value,
        (start, end): (Value, Value),
    ) {
        let mut bytes = self.builder.ins().isub(end, start);
        if plan.truncates {
            let most = self.context_field(context_offset::TRUNCATE);
            bytes = self.builder.ins().umin(bytes, most);
        }
        let start = self.builder.ins().isub(start, burst_loop.bytes);
        let end = self.builder.ins().iadd(start, bytes);
        let first = self.word(burst_loop.burst, offset_of!(Burst, first));
        let at = self.builder.use_var(burst_loop.index);
        let packet = self.builder.ins().iadd(first, at);
        // All four stores use `next`: `sent` lives through the whole loop and would be reloaded
        // from the stack for each use.
        let sent = self.builder.use_var(burst_loop.sent);
        let size = size_of::<Sent>();
        let next = self.builder.ins().iadd_imm_s(sent, size as i64);
        for (field, value) in [
            (offset_of!(Sent, packet), packet),
            (offset_of!(Sent, start), start),
            (offset_of!(Sent, end), end),
            (offset_of!(Sent, port), port),
        ] {
            let at = Pointer { base: next, offset: field as i32 - size as i32 };
            self.store(at, 8, value);
        }
        self.builder.def_var(burst_loop.sent, next);
    }

    /// Emits code that loads the destination that the program has set for the packet, and drops the
    /// packet if the program has set none. Returns the destination.
    fn destination(&mut self, burst_loop: Loop<'_>, plan: &Plan) -> Value {
        let to = self.context_field(context_offset::DESTINATION);
        let rule_inputs = RuleInputs { fields: &burst_loop.fast_path.standard, port: Some(to) };
        let rules = &burst_loop.fast_path.glue.after_ingress;
        self.drop_by(burst_loop, plan, rules, rule_inputs);
        to
    }

    /// Returns the headers that a deparser emits, or `None` if it has other effects.
    fn only_emits(&self, deparser: Callee) -> Option<Emits> {
        let resolved = self.resolved;
        let block: &Statements = match resolved.bodies.get(deparser)? {
            Body::Block(block) => block,
            Body::Parser(_) => return None,
        };
        let emitted = block.iter().map(|statement| match statement {
            Statement::Emit { header, bytes, tail } => Some((*header, *bytes, *tail)),
            // The deparser does something else.
            _ => None,
        });
        emitted.collect()
    }

    /// Returns whether it is known at compile time that the packet already contains the headers to
    /// emit, one after another, directly before the payload.
    fn lie_in_place(&self, emits: &[(Address, u32, u32)]) -> bool {
        let mut expected = 0;
        for (header, bytes, tail) in emits {
            match self.known_place(*header) {
                Some(Known::Absent) => {}
                Some(Known::At(at)) if at == expected && *tail == 0 => expected += bytes,
                Some(Known::At(_)) | None => return false,
            }
        }
        self.known_payload() == Some(expected)
    }

    /// Emits code that tests whether the packet already contains the headers to emit, one after
    /// another, directly before the payload. Returns a value that is zero if it does.
    fn differs(&mut self, emits: &[(Address, u32, u32)], output: Value, payload: Value) -> Value {
        let zero = self.number(0);
        let (mut differs, mut expected) = (zero, output);
        for (header, bytes, tail) in emits {
            let valid = self.is_valid(*header);
            let at = self.header(*header).data;
            let distance = self.builder.ins().bxor(at.base, expected);
            let distance = self.builder.ins().select(valid, distance, zero);
            differs = self.builder.ins().bor(differs, distance);
            let mut behind = self.builder.ins().iadd_imm_s(expected, i64::from(*bytes));
            if *tail > 0 {
                let width = self.tail_width(*header);
                let tail = self.builder.ins().ushr_imm_u(width, 3);
                behind = self.builder.ins().iadd(behind, tail);
            }
            expected = self.builder.ins().select(valid, behind, expected);
        }
        let rest = self.builder.ins().bxor(expected, payload);
        self.builder.ins().bor(differs, rest)
    }
}
