//! Generates code for the glue of the architecture, the rules and assignments between its
//! programmable blocks; see [`architectures`].

use super::{Loop, RuleInputs};
use crate::compiled::burst::Burst;
use crate::compiled::context::{NOWHERE, REQUESTS};
use crate::compiled::generate::function::{Function, context_offset};
use crate::compiled::plan::Plan;
use crate::resolved::Field;
use architectures::{Condition, Copies, Inputs, Outcome, Port, Rules, Set};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use std::mem::offset_of;

impl Function<'_, '_> {
    /// Emits assignments by the architecture to metadata. `fields` holds the metadata's fields by
    /// number.
    pub(super) fn set_all(
        &mut self,
        fields: &[Option<Field>],
        sets: &[Set],
        inputs: &Inputs<Value>,
    ) {
        for (of, input) in sets {
            if let Some((field, _)) = self.known(fields, *of) {
                let number = inputs.get(*input).unwrap_or_else(|number| self.number(number));
                self.set_slot(field, number);
            }
        }
    }

    /// Emits code that ends the function at a packet for which the rules require more than a drop
    /// or a transmission to one port. The architecture's driver completes such a packet.
    pub(super) fn leave_by(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        rules: &Rules,
        rule_inputs: RuleInputs<'_>,
        seam: u64,
    ) {
        // The driver decides about a packet for which a block made a request.
        let mut calls = matches!(rules.copies, Copies::Requested);
        let mut leaves: Option<Value> = None;
        for (condition, outcome) in rules.cases.iter().rev() {
            if let Condition::Requests(_) = condition {
                calls = true;
                continue;
            }
            let is_further = match outcome {
                Outcome::Resubmit | Outcome::Recirculate | Outcome::Replicate(_) => true,
                Outcome::Drop(_) => false,
            };
            // An earlier case that drops the packet only matters if a later case would not.
            if !is_further && leaves.is_none() {
                continue;
            }
            let Some(holds) = self.condition(burst_loop, plan, *condition, rule_inputs) else {
                // The condition never holds.
                continue;
            };
            leaves = match leaves {
                Some(leaves) if is_further => {
                    let holds = self.as_word(holds);
                    Some(self.builder.ins().bor(leaves, holds))
                }
                Some(leaves) => {
                    let none = self.number(0);
                    Some(self.builder.ins().select(holds, none, leaves))
                }
                None => Some(self.as_word(holds)),
            };
        }
        if let Copies::ToField(when, _) = rules.copies {
            let copies = self.condition(burst_loop, plan, Condition::IsSet(when), rule_inputs);
            leaves = self.either(leaves, copies);
        }
        if calls && plan.requests {
            let prefetched = self.word(self.context, context_offset::REQUESTS);
            let prefetched = self.builder.ins().band_imm_u(prefetched, REQUESTS.cast_signed());
            leaves = self.either(leaves, Some(prefetched));
        }
        let Some(leaves) = leaves else {
            // No packet leaves the burst here.
            return;
        };
        let (leaving, goes_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(leaving);
        self.builder.ins().brif(leaves, leaving, &[], goes_on, &[]);
        self.builder.switch_to_block(leaving);
        self.hand_over(burst_loop, plan, seam);
        self.builder.switch_to_block(goes_on);
    }

    /// Emits code that continues with the next packet if the architecture's rules drop the current
    /// one.
    pub(super) fn drop_by(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        rules: &Rules,
        rule_inputs: RuleInputs<'_>,
    ) {
        for (condition, outcome) in rules.cases {
            match outcome {
                Outcome::Drop(_) => {}
                // Such packets have left the burst already.
                Outcome::Resubmit | Outcome::Recirculate | Outcome::Replicate(_) => continue,
            }
            let Some(drops) = self.condition(burst_loop, plan, *condition, rule_inputs) else {
                // The condition never holds.
                continue;
            };
            let goes_on = self.builder.create_block();
            self.builder.ins().brif(drops, burst_loop.next, &[], goes_on, &[]);
            self.builder.switch_to_block(goes_on);
        }
    }

    /// Emits the output port of a packet to which no case of the architecture's rules applies.
    pub(super) fn port_by(
        &mut self,
        rules: &Rules,
        RuleInputs { fields, port }: RuleInputs<'_>,
    ) -> Value {
        match (rules.otherwise, port) {
            (Port::In(field), _) => self.value_in(fields, field),
            (Port::Own, Some(port)) => port,
            (Port::Own, None) => self.broken_value("the own port of a packet without a port"),
        }
    }

    /// Emits a number that is not zero if a condition of the architecture's rules holds. Returns
    /// `None` if it never holds.
    fn condition(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        condition: Condition,
        RuleInputs { fields, port }: RuleInputs<'_>,
    ) -> Option<Value> {
        match condition {
            Condition::IsSet(of) => {
                let field = fields.get(of as usize).copied().flatten()?;
                let may_be = plan.changed.contains(&field.address.offset);
                may_be.then(|| self.value_in(fields, of))
            }
            Condition::IsDropPort(of) => {
                let port = self.value_in(fields, of);
                Some(self.is_number(port, burst_loop.fast_path.drop_port))
            }
            Condition::HasNoQueue(of) => {
                // A port has at least one queue, which is that of packets without a priority.
                let (_, priority) = self.known(fields, of)?;
                let priority = self.builder.use_var(priority);
                let queues = self.word(burst_loop.burst, offset_of!(Burst, queues));
                let compared = IntCC::UnsignedGreaterThanOrEqual;
                Some(self.builder.ins().icmp(compared, priority, queues))
            }
            Condition::GoesTo(to) => port.map(|port| self.is_number(port, to)),
            Condition::GoesNowhere => port.map(|port| self.is_number(port, NOWHERE)),
            Condition::Requests(_) => None,
        }
    }

    fn is_number(&mut self, value: Value, number: u64) -> Value {
        self.builder.ins().icmp_imm_s(IntCC::Equal, value, number.cast_signed())
    }

    fn either(&mut self, one: Option<Value>, other: Option<Value>) -> Option<Value> {
        match (one, other) {
            (Some(one), Some(other)) => Some(self.builder.ins().bor(one, other)),
            (one, other) => one.or(other),
        }
    }

    fn as_word(&mut self, value: Value) -> Value {
        match self.builder.func.dfg.value_type(value) {
            types::I64 => value,
            _ => self.builder.ins().uextend(types::I64, value),
        }
    }
}
