//! Generates code for expressions: numbers of up to 64 bits, held in 64-bit values with zeros above
//! their width.

use super::function::Function;
use crate::resolved::{Expression, mask};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::BinaryOperator;

impl Function<'_, '_> {
    /// Emits a constant.
    pub(super) fn number(&mut self, number: u64) -> Value {
        self.builder.ins().iconst(types::I64, number.cast_signed())
    }

    /// Emits the value of an expression.
    pub(super) fn expression(&mut self, expression: &Expression) -> Value {
        match expression {
            Expression::Constant(number) => self.number(*number),
            Expression::Load(field) => self.load_field(*field),
            Expression::LoadIfValid { header, value } => {
                let valid = self.is_valid(*header);
                let value = self.expression(value);
                let zero = self.number(0);
                self.builder.ins().select(valid, value, zero)
            }
            Expression::Not(operand) => {
                let operand = self.expression(operand);
                self.builder.ins().bxor_imm_u(operand, 1)
            }
            Expression::Negate { operand, width } => {
                let operand = self.expression(operand);
                let negative = self.builder.ins().ineg(operand);
                self.masked(negative, *width)
            }
            Expression::Complement { operand, width } => {
                let operand = self.expression(operand);
                self.builder.ins().bxor_imm_u(operand, mask(*width).cast_signed())
            }
            Expression::Binary { operator, width, signed, left, right } => {
                let left = self.expression(left);
                let right = self.expression(right);
                self.binary(*operator, (*width, *signed), left, right)
            }
            Expression::Concatenate { left, right, right_width } => {
                let left = self.expression(left);
                let right = self.expression(right);
                let left = self.builder.ins().ishl_imm_u(left, i64::from(*right_width));
                self.builder.ins().bor(left, right)
            }
            Expression::Slice { operand, low, width } => {
                let operand = self.expression(operand);
                let shifted = self.builder.ins().ushr_imm_u(operand, i64::from(*low));
                self.masked(shifted, *width)
            }
            Expression::Resize { operand, from, to, signed } => {
                let operand = self.expression(operand);
                if to <= from {
                    self.masked(operand, *to)
                } else if *signed {
                    let extended = self.extended(operand, *from);
                    self.masked(extended, *to)
                } else {
                    operand
                }
            }
            Expression::Conditional { condition, then, otherwise } => {
                let condition = self.expression(condition);
                let then = self.expression(then);
                let otherwise = self.expression(otherwise);
                self.builder.ins().select(condition, then, otherwise)
            }
            Expression::IsValid(header) => self.is_valid(*header),
            Expression::LastIndex(next) => {
                let next = match self.slot(*next) {
                    Some(variable) => self.builder.use_var(variable),
                    None => {
                        let offset = *next as i32;
                        self.load(super::variables::Pointer { base: self.frame, offset }, 4)
                    }
                };
                let last = self.builder.ins().iadd_imm_s(next, -1);
                self.masked(last, 32)
            }
            Expression::PacketLength => {
                let length = self.context_field(super::function::context_offset::LENGTH);
                self.masked(length, 32)
            }
        }
    }

    /// Emits the sign extension of a number of `width` bits to 64 bits.
    fn extended(&mut self, value: Value, width: u32) -> Value {
        if width >= 64 {
            return value;
        }
        let above = i64::from(64 - width);
        let shifted = self.builder.ins().ishl_imm_u(value, above);
        self.builder.ins().sshr_imm_u(shifted, above)
    }

    /// Emits a comparison of two numbers. The result is 0 or 1.
    pub(super) fn compared(
        &mut self,
        condition: IntCC,
        (width, signed): (u32, bool),
        left: Value,
        right: Value,
    ) -> Value {
        let (left, right) = if signed {
            (self.extended(left, width), self.extended(right, width))
        } else {
            (left, right)
        };
        let holds = self.builder.ins().icmp(condition, left, right);
        self.builder.ins().uextend(types::I64, holds)
    }

    /// Emits a binary operation on two numbers of the same width.
    fn binary(
        &mut self,
        operator: BinaryOperator,
        of: (u32, bool),
        left: Value,
        right: Value,
    ) -> Value {
        use BinaryOperator as Of;
        let (width, signed) = of;
        let either = |unsigned: IntCC, of_signed: IntCC| if signed { of_signed } else { unsigned };
        match operator {
            Of::Add => {
                let sum = self.builder.ins().iadd(left, right);
                self.masked(sum, width)
            }
            Of::Subtract => {
                let difference = self.builder.ins().isub(left, right);
                self.masked(difference, width)
            }
            Of::Multiply => {
                let product = self.builder.ins().imul(left, right);
                self.masked(product, width)
            }
            Of::Divide | Of::Modulo => self.divided(operator, left, right),
            Of::SaturatingAdd | Of::SaturatingSubtract if signed => {
                self.saturated_signed(operator, width, left, right)
            }
            Of::SaturatingAdd => {
                let sum = self.builder.ins().iadd(left, right);
                let most = self.number(mask(width));
                let overflows = if width == 64 {
                    self.builder.ins().icmp(IntCC::UnsignedLessThan, sum, left)
                } else {
                    self.builder.ins().icmp(IntCC::UnsignedGreaterThan, sum, most)
                };
                self.builder.ins().select(overflows, most, sum)
            }
            Of::SaturatingSubtract => {
                let difference = self.builder.ins().isub(left, right);
                let zero = self.number(0);
                let overflows = self.builder.ins().icmp(IntCC::UnsignedLessThan, left, right);
                self.builder.ins().select(overflows, zero, difference)
            }
            Of::BitAnd | Of::And => self.builder.ins().band(left, right),
            Of::BitOr | Of::Or => self.builder.ins().bor(left, right),
            Of::BitXor => self.builder.ins().bxor(left, right),
            Of::ShiftLeft => self.shifted(true, of, left, right),
            Of::ShiftRight => self.shifted(false, of, left, right),
            Of::Equal => self.compared(IntCC::Equal, (64, false), left, right),
            Of::NotEqual => self.compared(IntCC::NotEqual, (64, false), left, right),
            Of::Less => {
                let less = either(IntCC::UnsignedLessThan, IntCC::SignedLessThan);
                self.compared(less, of, left, right)
            }
            Of::LessOrEqual => {
                let less = either(IntCC::UnsignedLessThanOrEqual, IntCC::SignedLessThanOrEqual);
                self.compared(less, of, left, right)
            }
            Of::Greater => {
                let greater = either(IntCC::UnsignedGreaterThan, IntCC::SignedGreaterThan);
                self.compared(greater, of, left, right)
            }
            Of::GreaterOrEqual => {
                let greater =
                    either(IntCC::UnsignedGreaterThanOrEqual, IntCC::SignedGreaterThanOrEqual);
                self.compared(greater, of, left, right)
            }
            // The resolved program has a separate expression for concatenation.
            Of::Concatenate => self.broken_value("a concatenation as a binary operator"),
        }
    }

    /// Emits a division, or the computation of its remainder. Division by zero yields zero, as in
    /// the interpreter, since the instruction would trap.
    pub(super) fn divided(&mut self, operator: BinaryOperator, left: Value, right: Value) -> Value {
        let zero = self.number(0);
        let one = self.number(1);
        let divisor = self.builder.ins().select(right, right, one);
        let result = if operator == BinaryOperator::Divide {
            self.builder.ins().udiv(left, divisor)
        } else {
            self.builder.ins().urem(left, divisor)
        };
        self.builder.ins().select(right, result, zero)
    }

    /// Emits an addition or subtraction of signed numbers with saturation. The exact result for
    /// numbers of at most 63 bits fits into 64 bits.
    fn saturated_signed(
        &mut self,
        operator: BinaryOperator,
        width: u32,
        left: Value,
        right: Value,
    ) -> Value {
        let (left, right) = (self.extended(left, width), self.extended(right, width));
        let exact = if operator == BinaryOperator::SaturatingAdd {
            self.builder.ins().iadd(left, right)
        } else {
            self.builder.ins().isub(left, right)
        };
        let most = (mask(width) >> 1).cast_signed();
        let (most, least) = (
            self.builder.ins().iconst(types::I64, most),
            self.builder.ins().iconst(types::I64, -most - 1),
        );
        let above = self.builder.ins().icmp(IntCC::SignedGreaterThan, exact, most);
        let below = self.builder.ins().icmp(IntCC::SignedLessThan, exact, least);
        let result = self.builder.ins().select(above, most, exact);
        let result = self.builder.ins().select(below, least, result);
        self.masked(result, width)
    }

    /// Emits a shift to the left or to the right. A shift by the width or more yields zero, or the
    /// sign for a signed right shift.
    fn shifted(
        &mut self,
        to_the_left: bool,
        (width, signed): (u32, bool),
        left: Value,
        amount: Value,
    ) -> Value {
        let far = i64::from(width);
        let is_far = self.builder.ins().icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, amount, far);
        let zero = self.number(0);
        if to_the_left {
            let shifted = self.builder.ins().ishl(left, amount);
            let result = self.builder.ins().select(is_far, zero, shifted);
            self.masked(result, width)
        } else if signed {
            let left = self.extended(left, width);
            let most = self.number(63);
            let amount = self.builder.ins().select(is_far, most, amount);
            let shifted = self.builder.ins().sshr(left, amount);
            self.masked(shifted, width)
        } else {
            let shifted = self.builder.ins().ushr(left, amount);
            self.builder.ins().select(is_far, zero, shifted)
        }
    }
}
