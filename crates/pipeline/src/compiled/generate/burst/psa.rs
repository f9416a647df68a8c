//! Generates the code for a PSA packet after ingress: the ingress deparser and, for a packet to one
//! port, egress from its parser to its deparser.
//!
//! The packet that the ingress deparser emits is parsed in the output buffer. A packet that is
//! cloned, replicated, resubmitted or recirculated leaves the burst.

use super::Loop;
use super::RuleInputs;
use crate::compiled::burst::{LEAVES_IN_EGRESS, LEAVES_IN_INGRESS};
use crate::compiled::context::NEW_PACKET;
use crate::compiled::fast_path::{DEPARSER, EGRESS, Psa};
use crate::compiled::generate::function::{Function, context_offset};
use crate::compiled::plan::Plan;
use crate::layout::MetadataField as Of;
use architectures::Known;
use cranelift_codegen::ir::{InstBuilder, Value};

impl Function<'_, '_> {
    /// Emits code that processes a packet after ingress. `output` is the address of the packet in
    /// the output buffer, and `length` its length.
    pub(super) fn after_ingress_of_psa(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        psa: &Psa,
        output: Value,
        length: Value,
    ) {
        let glue = burst_loop.fast_path.glue;
        let rule_inputs = RuleInputs { fields: &psa.at_ingress, port: None };
        let rules = &glue.after_ingress;
        self.leave_by(burst_loop, plan, rules, rule_inputs, LEAVES_IN_INGRESS);
        if psa.drops_early {
            self.drop_by(burst_loop, plan, rules, rule_inputs);
        }
        let [before, behind] = &psa.moves;
        self.block(before);
        let start = self.emitted(burst_loop, psa.ingress_deparser, output);
        if !psa.drops_early {
            self.drop_by(burst_loop, plan, rules, rule_inputs);
        }
        let port = self.port_by(rules, rule_inputs);
        let class_of_service = self.value_in(&psa.at_ingress, Of::ClassOfService);
        self.clear_locals(plan);
        self.block(behind);
        let end = self.builder.ins().iadd(output, length);
        let bytes = self.builder.ins().isub(end, start);
        self.begin_egress_packet(plan, psa, start, bytes);
        let path = self.number(psa.paths[1]);
        let inputs = self.inputs_of_all(burst_loop).with(Known::Port, port).with(Known::Path, path);
        let inputs = inputs.with(Known::ClassOfService, class_of_service);
        let [of_parser, of_control, of_deparser] = &psa.received;
        self.set_all(of_parser, glue.before_egress_parser, &inputs);
        let error = self.parse(psa.egress_parser);
        let inputs = inputs.with(Known::ParserError, error);
        self.set_all(of_control, glue.before_egress, &inputs);
        self.run_block(burst_loop, EGRESS);
        self.set_word(self.frame, plan.error as usize, port);
        let rule_inputs = RuleInputs { fields: &psa.at_egress, port: Some(port) };
        let rules = &glue.after_egress;
        self.leave_by(burst_loop, plan, rules, rule_inputs, LEAVES_IN_EGRESS);
        self.set_all(of_deparser, glue.before_egress_deparser, &inputs);
        let first = self.emitted(burst_loop, burst_loop.fast_path.blocks[DEPARSER], start);
        self.drop_by(burst_loop, plan, rules, rule_inputs);
        self.send(burst_loop, plan, port, (first, end));
    }

    /// Emits code that prepares the egress parser for a packet of `bytes` bytes at `start` in the
    /// output buffer. The parser can read no other bytes.
    fn begin_egress_packet(&mut self, plan: &Plan, psa: &Psa, start: Value, bytes: Value) {
        use context_offset as field;
        let zero = self.number(0);
        for (field, value) in [
            (field::PACKET, start),
            (field::LENGTH, bytes),
            (field::CURSOR, zero),
            (field::ERROR, zero),
            (field::LENGTH_CHANGE, zero),
        ] {
            self.set_context_field(field, value);
        }
        if !psa.keeps_length {
            self.set_word(self.context, field::RECEIVED_LENGTH, bytes);
        }
        if plan.interprets {
            let new = self.number(NEW_PACKET);
            self.set_word(self.context, field::REQUESTS, new);
        }
        self.parses_output();
    }
}
