//! Generates code for parsers. Each state becomes a block of the generated function.

use super::function::Function;
use super::host_call::HostCall;
use crate::compiled::context::flow;
use crate::resolved::{Parser, Set, State, Subject, Target};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;

/// The largest number of states that a packet may visit in one parser, as in the interpreter. A
/// longer parse fails with `ParserTimeout`.
const MAX_STATES: i64 = 65_536;

impl Function<'_, '_> {
    /// Emits a parser, with a block for each state.
    pub(super) fn parser(&mut self, parser: &Parser) {
        let counter = parser.has_loop().then(|| self.builder.declare_var(types::I64));
        if let Some(counter) = counter {
            let zero = self.number(0);
            self.builder.def_var(counter, zero);
        }
        self.block(&parser.prologue);
        let states: Vec<Block> =
            parser.states.iter().map(|_| self.builder.create_block()).collect();
        self.go_to(Target::State(parser.start), &states);
        for ((number, state), block) in (0..).zip(&parser.states).zip(&states) {
            self.builder.switch_to_block(*block);
            self.begin_state(number);
            if let Some(counter) = counter {
                self.count_state(counter);
            }
            let end = self.builder.create_block();
            self.state_end = Some(end);
            if !self.block(&state.body) {
                self.builder.ins().jump(end, &[]);
            }
            self.state_end = None;
            self.builder.switch_to_block(end);
            self.transition(state, &states);
        }
    }

    /// Emits code that counts the states that a packet visits in a parser with a loop, and rejects
    /// the packet at [`MAX_STATES`].
    fn count_state(&mut self, counter: Variable) {
        let before = self.builder.use_var(counter);
        let is_left = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, before, MAX_STATES);
        self.reject_unless(is_left, u64::from(self.resolved.errors.timeout));
        let after = self.builder.ins().iadd_imm_s(before, 1);
        self.builder.def_var(counter, after);
    }

    fn go_to(&mut self, target: Target, states: &[Block]) {
        match target {
            Target::State(state) => match states.get(state as usize) {
                Some(block) => {
                    self.builder.ins().jump(*block, &[]);
                }
                None => {
                    self.broken("a state of a parser that is not there");
                    self.leave(flow::NEXT);
                }
            },
            Target::Accept => self.leave(flow::NEXT),
            Target::Reject => {
                let none = self.number(u64::from(self.resolved.errors.none));
                self.reject(none);
            }
        }
    }

    /// Emits the transition from a state of the parser to the next state.
    fn transition(&mut self, state: &State, states: &[Block]) {
        let subjects: Vec<Value> =
            state.subjects.iter().map(|subject| self.expression(&subject.value)).collect();
        for case in &state.cases {
            let mut next = None;
            if case.sets.len() > subjects.len() {
                self.broken("a case of a select with more sets than there are subjects");
            }
            for ((set, subject), value) in case.sets.iter().zip(&state.subjects).zip(&subjects) {
                if let Some(fits) = self.fits(set, subject, *value) {
                    let goes_on = self.builder.create_block();
                    let next = *next.get_or_insert_with(|| self.builder.create_block());
                    self.builder.ins().brif(fits, goes_on, &[], next, &[]);
                    self.builder.switch_to_block(goes_on);
                }
            }
            self.go_to(case.target, states);
            // Nothing follows a case that fits all values. A block that no jump reaches would get a
            // constant for each variable of the function, so that code grew with the product of
            // states and headers.
            let Some(next) = next else { return };
            self.builder.switch_to_block(next);
        }
        match state.otherwise {
            Ok(target) => self.go_to(target, states),
            Err(error) => {
                let error = self.number(u64::from(error));
                self.reject(error);
            }
        }
    }

    /// Emits a test of whether `value` matches a set of a `select` case. Returns `None` if every
    /// value does.
    fn fits(&mut self, set: &Set, subject: &Subject, value: Value) -> Option<Value> {
        let of = (subject.width, subject.signed);
        Some(match set {
            Set::Any => return None,
            Set::Members(id) => {
                let (id, width) =
                    (self.number(u64::from(*id)), self.number(u64::from(subject.width)));
                let signed = self.number(u64::from(subject.signed));
                let arguments = [self.context, id, value, width, signed];
                self.call_host(HostCall::IsMember, &arguments)
            }
            Set::Exact(wanted) => {
                let wanted = self.expression(wanted);
                self.builder.ins().icmp(IntCC::Equal, value, wanted)
            }
            Set::Mask { value: wanted, mask } => {
                let wanted = self.expression(wanted);
                let mask = self.expression(mask);
                let differs = self.builder.ins().bxor(value, wanted);
                let differs = self.builder.ins().band(differs, mask);
                self.builder.ins().icmp_imm_s(IntCC::Equal, differs, 0)
            }
            Set::Range { low, high } => {
                let (low, high): (Value, Value) = (self.expression(low), self.expression(high));
                let order = |unsigned, signed| if subject.signed { signed } else { unsigned };
                let at_least =
                    order(IntCC::UnsignedGreaterThanOrEqual, IntCC::SignedGreaterThanOrEqual);
                let at_most = order(IntCC::UnsignedLessThanOrEqual, IntCC::SignedLessThanOrEqual);
                let above = self.compared(at_least, of, value, low);
                let below = self.compared(at_most, of, value, high);
                self.builder.ins().band(above, below)
            }
        })
    }
}
