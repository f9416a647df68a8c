//! Mutants: copies of a program with one fault each, which generated tests should find.

use ir::bits::Bits;
use ir::{
    BinaryOperator, Block, Expression, ExpressionKind, KeySet, Location, Program, Statement,
    StatementKind, Transition, UnaryOperator, Value,
};

/// A copy of a program with one fault.
pub(crate) struct Mutant {
    pub(crate) program: Program,
    /// The fault, with its place in the source.
    pub(crate) fault: String,
}

/// Returns the mutants of a program: each operator replaced by a similar one, each constant by a
/// neighbour, each condition by its negation, each assignment, call or change of validity left out,
/// and two arguments of the same type exchanged.
pub(crate) fn mutants(program: &Program) -> Vec<Mutant> {
    (0..)
        .map_while(|wanted| {
            let mut program = program.clone();
            let mut mutator = Mutator { wanted, next: 0, place: None, fault: None };
            mutator.program(&mut program);
            mutator.fault.map(|fault| Mutant { program, fault })
        })
        .collect()
}

/// Visits all places where a program could have a fault, and makes that with the number `wanted`.
struct Mutator {
    wanted: usize,
    next: usize,
    place: Option<Location>,
    fault: Option<String>,
}

impl Mutator {
    /// Counts a possible fault, and returns whether it is to be made.
    fn here(&mut self, fault: impl FnOnce() -> String) -> bool {
        let made = self.next == self.wanted;
        self.next += 1;
        if made {
            let place = self
                .place
                .map_or_else(String::new, |at| format!("line {}, column {}: ", at.line, at.column));
            self.fault = Some(place + &fault());
        }
        made
    }

    fn program(&mut self, program: &mut Program) {
        for parser in &mut program.parsers {
            for state in &mut parser.states {
                self.place = state.location;
                self.block(&mut state.body);
                self.place = state.location;
                if let Transition::Select { subjects, cases } = &mut state.transition {
                    subjects.iter_mut().for_each(|subject| self.expression(subject));
                    for set in cases.iter_mut().flat_map(|case| &mut case.key_sets) {
                        self.key_set(set);
                    }
                }
            }
        }
        for control in &mut program.controls {
            self.block(&mut control.body);
        }
        for action in &mut program.actions {
            self.block(&mut action.body);
        }
        for function in &mut program.functions {
            self.block(&mut function.body);
        }
        for table in &mut program.tables {
            self.place = table.location;
            for key in &mut table.keys {
                self.expression(&mut key.expression);
            }
        }
    }

    fn key_set(&mut self, set: &mut KeySet<Expression>) {
        match set {
            KeySet::Exact(value) => self.expression(value),
            KeySet::Mask { value, mask } => {
                self.expression(value);
                self.expression(mask);
            }
            KeySet::Range { low, high } => {
                self.expression(low);
                self.expression(high);
            }
            KeySet::Any | KeySet::ValueSet(_) => {}
        }
    }

    fn block(&mut self, block: &mut Block) {
        let mut position = 0;
        while position < block.len() {
            if self.is_left_out(&block[position]) {
                block.remove(position);
                return;
            }
            self.statement(&mut block[position]);
            position += 1;
        }
    }

    fn is_left_out(&mut self, statement: &Statement) -> bool {
        self.place = statement.location;
        let what = match &statement.kind {
            StatementKind::Assign { .. } => "an assignment",
            StatementKind::SetValidity { .. } => "a change of validity",
            StatementKind::CallExtern { result: None, .. } => "a call of an extern",
            StatementKind::ApplyTable { hit: None, action_run: None, .. } => "a table",
            StatementKind::Emit(_) => "an emission",
            StatementKind::CallExtern { .. }
            | StatementKind::ApplyTable { .. }
            | StatementKind::Reset(_)
            | StatementKind::If { .. }
            | StatementKind::Switch { .. }
            | StatementKind::For { .. }
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::CallAction { .. }
            | StatementKind::CallFunction { .. }
            | StatementKind::CallControl { .. }
            | StatementKind::CallParser { .. }
            | StatementKind::Extract { .. }
            | StatementKind::Lookahead { .. }
            | StatementKind::Advance(_)
            | StatementKind::Verify { .. }
            | StatementKind::PushFront { .. }
            | StatementKind::PopFront { .. }
            | StatementKind::Return(_)
            | StatementKind::Exit => return false,
        };
        self.here(|| format!("{what} is left out"))
    }

    fn statement(&mut self, statement: &mut Statement) {
        self.place = statement.location;
        match &mut statement.kind {
            StatementKind::Assign { value, .. } => self.expression(value),
            StatementKind::If { condition, then, otherwise } => {
                if self.here(|| "a condition is negated".to_owned()) {
                    std::mem::swap(then, otherwise);
                }
                self.expression(condition);
                self.block(then);
                self.block(otherwise);
            }
            StatementKind::Switch { subject, cases, default } => {
                self.expression(subject);
                cases.iter_mut().for_each(|case| self.block(&mut case.body));
                self.block(default);
            }
            StatementKind::For { before_condition, condition, update, body } => {
                self.block(before_condition);
                self.expression(condition);
                self.block(body);
                self.block(update);
            }
            StatementKind::SetValidity { valid, .. } => {
                if self.here(|| "a validity is inverted".to_owned()) {
                    *valid = !*valid;
                }
            }
            StatementKind::Verify { condition, error: _ } => self.expression(condition),
            StatementKind::Advance(amount) => self.expression(amount),
            StatementKind::Return(Some(value)) => self.expression(value),
            StatementKind::CallExtern { arguments, .. }
            | StatementKind::CallAction { arguments, .. }
            | StatementKind::CallFunction { arguments, .. } => {
                self.exchange(arguments);
                for argument in arguments {
                    if let ir::Argument::In(value) = argument {
                        self.expression(value);
                    }
                }
            }
            StatementKind::Reset(_)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::ApplyTable { .. }
            | StatementKind::CallControl { .. }
            | StatementKind::CallParser { .. }
            | StatementKind::Extract { .. }
            | StatementKind::Lookahead { .. }
            | StatementKind::Emit(_)
            | StatementKind::PushFront { .. }
            | StatementKind::PopFront { .. }
            | StatementKind::Return(None)
            | StatementKind::Exit => {}
        }
    }

    /// Exchanges neighbouring arguments of the same type.
    fn exchange(&mut self, arguments: &mut [ir::Argument]) {
        for right in 1..arguments.len() {
            let left = right - 1;
            let is_possible = match (&arguments[left], &arguments[right]) {
                (ir::Argument::In(one), ir::Argument::In(other)) => {
                    one.type_id == other.type_id && one.kind != other.kind
                }
                _ => false,
            };
            if is_possible
                && self.here(|| format!("arguments {right} and {} are exchanged", right + 1))
            {
                arguments.swap(left, right);
            }
        }
    }

    fn expression(&mut self, expression: &mut Expression) {
        match &mut expression.kind {
            ExpressionKind::Constant(Value::Bits(bits)) => {
                let one = Bits::unsigned(bits.width(), 1).cast(bits.width(), bits.is_signed());
                let next = bits.wrapping_add(&one);
                if bits.width() > 0 && self.here(|| format!("{bits} is {next}")) {
                    *bits = next;
                }
            }
            ExpressionKind::Constant(Value::Bool(value)) => {
                if self.here(|| format!("{value} is {}", !*value)) {
                    *value = !*value;
                }
            }
            ExpressionKind::Unary(operator, operand) => {
                self.expression(operand);
                let name = match operator {
                    UnaryOperator::Negate => "-",
                    UnaryOperator::Complement => "~",
                    UnaryOperator::Not => "!",
                };
                if self.here(|| format!("{name} is left out")) {
                    let operand = (**operand).clone();
                    *expression = operand;
                }
            }
            ExpressionKind::Binary(operator, left, right) => {
                self.expression(left);
                self.expression(right);
                if let Some(other) = similar(*operator)
                    && self.here(|| format!("{operator:?} is {other:?}"))
                {
                    *operator = other;
                }
            }
            ExpressionKind::Slice { operand, .. } | ExpressionKind::Cast(operand) => {
                self.expression(operand);
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.expression(condition);
                self.expression(then);
                self.expression(otherwise);
                if self.here(|| "the sides of ?: are exchanged".to_owned()) {
                    std::mem::swap(then, otherwise);
                }
            }
            ExpressionKind::Composite(parts) | ExpressionKind::Stack(parts) => {
                parts.iter_mut().for_each(|part| self.expression(part));
            }
            ExpressionKind::Constant(
                Value::Error(_)
                | Value::Enum(_)
                | Value::String(_)
                | Value::Integer(_)
                | Value::Composite(_),
            )
            | ExpressionKind::Read(_)
            | ExpressionKind::IsValid(_)
            | ExpressionKind::LastIndex(_)
            | ExpressionKind::Invalid
            | ExpressionKind::PacketLength => {}
        }
    }
}

/// Returns an operator with operands and results of the same types.
fn similar(operator: BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Add => BinaryOperator::Subtract,
        BinaryOperator::Subtract | BinaryOperator::SaturatingAdd => BinaryOperator::Add,
        BinaryOperator::Multiply => BinaryOperator::Add,
        BinaryOperator::SaturatingSubtract => BinaryOperator::Subtract,
        BinaryOperator::BitAnd => BinaryOperator::BitOr,
        BinaryOperator::BitOr => BinaryOperator::BitXor,
        BinaryOperator::BitXor => BinaryOperator::BitAnd,
        BinaryOperator::ShiftLeft => BinaryOperator::ShiftRight,
        BinaryOperator::ShiftRight => BinaryOperator::ShiftLeft,
        BinaryOperator::Equal => BinaryOperator::NotEqual,
        BinaryOperator::NotEqual => BinaryOperator::Equal,
        BinaryOperator::Less => BinaryOperator::LessOrEqual,
        BinaryOperator::LessOrEqual => BinaryOperator::Less,
        BinaryOperator::Greater => BinaryOperator::GreaterOrEqual,
        BinaryOperator::GreaterOrEqual => BinaryOperator::Greater,
        BinaryOperator::And => BinaryOperator::Or,
        BinaryOperator::Or => BinaryOperator::And,
        BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::Concatenate => {
            return None;
        }
    })
}
