//! Binary operators (P4_16 §8.5 to §8.9).

use num_bigint::BigInt;

use super::checker::{Checker, Info};
use super::{Constant, Type};
use crate::ast::{BinaryOperator, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Checker<'_, '_> {
    /// Checks a binary operation by the rules of its operator.
    pub(super) fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
        span: Span,
    ) -> Info {
        let (a, b) = (self.expression(left), self.expression(right));
        if a.ty.is_unknown() || b.ty.is_unknown() {
            return match operator {
                BinaryOperator::Less
                | BinaryOperator::LessOrEqual
                | BinaryOperator::Greater
                | BinaryOperator::GreaterOrEqual
                | BinaryOperator::Equal
                | BinaryOperator::NotEqual
                | BinaryOperator::And
                | BinaryOperator::Or => Info { ty: Type::Bool, ..Info::unknown() },
                _ => Info::unknown(),
            };
        }
        let known = a.known && b.known;
        let operands = Operands { operator, left, right, span };
        let ty = match operator {
            BinaryOperator::And | BinaryOperator::Or => self.logical(&operands, &a.ty, &b.ty),
            BinaryOperator::Equal | BinaryOperator::NotEqual => {
                self.equality(&operands, &a.ty, &b.ty)
            }
            BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual => self.order(&operands, &a.ty, &b.ty),
            BinaryOperator::Concatenate => self.concatenation(&operands, &a.ty, &b.ty),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => self.shift(&operands, &a, &b),
            BinaryOperator::Mask | BinaryOperator::Range => self.set(&operands, &a, &b),
            _ => self.arithmetic(&operands, &a.ty, &b.ty),
        };
        match ty {
            Some(ty) => Info { ty, place: false, known },
            None => Info::unknown(),
        }
    }

    fn refuse(&mut self, operands: &Operands<'_>, a: &Type, b: &Type) -> Diagnostic {
        Diagnostic::error(
            "bad-operand",
            operands.span,
            format!(
                "`{}` is not defined on `{}` and `{}`",
                operands.operator.as_str(),
                self.out.show(a),
                self.out.show(b)
            ),
        )
    }

    fn logical(&mut self, operands: &Operands<'_>, a: &Type, b: &Type) -> Option<Type> {
        if *a != Type::Bool || *b != Type::Bool {
            let diagnostic = self.refuse(operands, a, b).note("both operands must be `bool`");
            self.report(diagnostic);
        }
        Some(Type::Bool)
    }

    /// Converts an `int` operand to the type of the other operand, and an operand of a serializable
    /// enumeration to its underlying type. Returns the type that both operands have after that, or
    /// `None` if they have no common type.
    fn common(&mut self, operands: &Operands<'_>, a: &Type, b: &Type) -> Option<Type> {
        let (x, y) = (self.representation(a), self.representation(b));
        let ty = match (&x, &y) {
            (Type::Integer, Type::Bits { .. }) => y.clone(),
            (Type::Bits { .. }, Type::Integer) => x.clone(),
            _ if x == y => x.clone(),
            _ => return None,
        };
        if *a != ty {
            self.convert(operands.left, &ty);
        }
        if *b != ty {
            self.convert(operands.right, &ty);
        }
        Some(ty)
    }

    /// Checks `==` and `!=`. The type of the result is `bool` even if the operands cannot be
    /// compared, so that the error does not cause further errors.
    fn equality(&mut self, operands: &Operands<'_>, a: &Type, b: &Type) -> Option<Type> {
        let incomparable = |ty: &Type| {
            matches!(
                ty,
                Type::Table(_)
                    | Type::Extern(_)
                    | Type::Parser(_)
                    | Type::Control(_)
                    | Type::Package(_)
                    | Type::Callable
                    | Type::State
                    | Type::Void
                    | Type::ApplyResult(_)
                    | Type::ActionRun(_)
                    | Type::Name(_)
                    | Type::Set(_)
            )
        };
        if incomparable(a) || incomparable(b) {
            let diagnostic = self.refuse(operands, a, b);
            self.report(diagnostic);
            return Some(Type::Bool);
        }
        let literal = |expression: &Expression| {
            matches!(
                expression.kind,
                ExpressionKind::List { .. }
                    | ExpressionKind::Record { .. }
                    | ExpressionKind::InvalidHeader
                    | ExpressionKind::DefaultValue
            )
        };
        let stack_and_list = matches!(
            (a, b),
            (Type::Stack { .. }, Type::Tuple(_)) | (Type::Tuple(_), Type::Stack { .. })
        );
        if stack_and_list {
            let diagnostic =
                self.refuse(operands, a, b).note("cast the list to the type of the other side");
            self.report(diagnostic);
            return Some(Type::Bool);
        }
        match (literal(operands.left), literal(operands.right)) {
            (true, true) => {
                let fits =
                    matches!((a, b), (Type::Tuple(_), Type::Tuple(_))) && self.unify(a, b, false);
                if !fits {
                    self.report(
                        Diagnostic::error(
                            "type-mismatch",
                            operands.span,
                            "two expressions without type cannot be compared",
                        )
                        .note("cast one of them to the type that is meant"),
                    );
                }
                return Some(Type::Bool);
            }
            (false, true) => {
                self.convert(operands.right, a);
                return Some(Type::Bool);
            }
            (true, false) => {
                self.convert(operands.left, b);
                return Some(Type::Bool);
            }
            (false, false) => {}
        }
        if a == b || self.common(operands, a, b).is_some() {
            return Some(Type::Bool);
        }
        let mut diagnostic = self.refuse(operands, a, b);
        if a.is_bits() && b.is_bits() {
            diagnostic =
                diagnostic.note("both sides need the same width and sign: cast one of them");
        }
        self.report(diagnostic);
        Some(Type::Bool)
    }

    fn order(&mut self, operands: &Operands<'_>, a: &Type, b: &Type) -> Option<Type> {
        match self.common(operands, a, b) {
            Some(ty) if ty.is_numeric() => {}
            _ => {
                let diagnostic = self.refuse(operands, a, b).note(
                    "both sides must be `bit<W>`, `int<W>` or `int`, of the same width and sign",
                );
                self.report(diagnostic);
            }
        }
        Some(Type::Bool)
    }

    /// Checks `++` of two strings or two numbers, and returns the type of the result.
    fn concatenation(&mut self, operands: &Operands<'_>, a: &Type, b: &Type) -> Option<Type> {
        if *a == Type::String && *b == Type::String {
            return Some(Type::String);
        }
        let (x, y) = (self.representation(a), self.representation(b));
        match (&x, &y) {
            (Type::Bits { width: left, signed }, Type::Bits { width: right, .. }) => {
                if *a != x {
                    self.convert(operands.left, &x);
                }
                if *b != y {
                    self.convert(operands.right, &y);
                }
                match left.checked_add(*right).filter(|width| *width <= 1 << 20) {
                    Some(width) => Some(Type::Bits { width, signed: *signed }),
                    None => {
                        self.error("bad-width", operands.span, "the result of `++` is too wide");
                        None
                    }
                }
            }
            _ => {
                let mut diagnostic = self.refuse(operands, a, b);
                if x == Type::Integer || y == Type::Integer {
                    diagnostic = diagnostic.note("an `int` has no width: write it as `8w1`");
                }
                self.report(diagnostic);
                None
            }
        }
    }

    /// Checks an arithmetic or bitwise operation, and returns the type of the result.
    fn arithmetic(&mut self, operands: &Operands<'_>, a: &Type, b: &Type) -> Option<Type> {
        let operator = operands.operator;
        let Some(ty) = self.common(operands, a, b).filter(Type::is_numeric) else {
            let mut diagnostic = self.refuse(operands, a, b);
            if self.representation(a).is_bits() && self.representation(b).is_bits() {
                diagnostic =
                    diagnostic.note("both operands need the same width and sign: cast one of them");
            } else if *a == Type::String && *b == Type::String && operator == BinaryOperator::Add {
                diagnostic = diagnostic.note("strings are joined with `++`");
            }
            self.report(diagnostic);
            return None;
        };
        if matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo) {
            self.division(operands, &ty);
        }
        if matches!(operator, BinaryOperator::AddSaturating | BinaryOperator::SubtractSaturating)
            && ty == Type::Integer
        {
            self.report(
                Diagnostic::error(
                    "bad-operand",
                    operands.span,
                    format!("`{}` needs operands with a width to saturate at", operator.as_str()),
                )
                .note("write the width of one of them: `8w1`"),
            );
            return None;
        }
        Some(ty)
    }

    /// Checks the operands of a division or modulo. They must be neither signed nor negative, and
    /// the divisor must not be zero.
    pub(super) fn division(&mut self, operands: &Operands<'_>, ty: &Type) {
        let name = if operands.operator == BinaryOperator::Divide { "division" } else { "modulo" };
        if let Type::Bits { signed: true, .. } = ty {
            self.error(
                "bad-operand",
                operands.span,
                format!("{name} is not defined on signed values"),
            );
            return;
        }
        for operand in [operands.left, operands.right] {
            // This tests the value before its conversion to an unsigned type, which would make a
            // negative value positive.
            if let Some(value) =
                self.out.evaluate_own(operand).as_ref().and_then(Constant::to_integer)
                && value < BigInt::ZERO
            {
                self.error(
                    "bad-operand",
                    operand.span,
                    format!("{name} is not defined on negative numbers"),
                );
                return;
            }
        }
        if self.number(operands.right) == Some(BigInt::ZERO) {
            self.error("division-by-zero", operands.right.span, format!("{name} by zero"));
        }
    }

    /// Returns the value, as a number, that an expression has after its conversion. Returns `None`
    /// if it is not known.
    pub(super) fn number(&self, expression: &Expression) -> Option<BigInt> {
        self.out
            .evaluate(expression, &super::Environment::default())
            .as_ref()
            .and_then(Constant::to_integer)
    }

    /// Checks a shift, and returns the type of the result.
    pub(super) fn shift(&mut self, operands: &Operands<'_>, a: &Info, b: &Info) -> Option<Type> {
        // For a shift amount whose type is a `type` declaration, the specification requires a cast.
        // p4c also accepts it without one (p4c#5087, p4c#5100).
        let amount_type = self.base_type(&b.ty);
        let (x, y) = (self.representation(&a.ty), self.representation(&amount_type));
        if !x.is_numeric() || !y.is_numeric() {
            let diagnostic = self.refuse(operands, &a.ty, &b.ty);
            self.report(diagnostic);
            return None;
        }
        if a.ty != x {
            self.convert(operands.left, &x);
        }
        let amount = self.number(operands.right);
        if let Some(amount) = &amount {
            if *amount < BigInt::ZERO {
                self.error(
                    "bad-operand",
                    operands.right.span,
                    format!("a shift by the negative amount {amount}"),
                );
                return None;
            }
            if i32::try_from(amount).is_err() {
                self.error(
                    "bad-operand",
                    operands.right.span,
                    format!("a shift by {amount} is too far"),
                );
                return None;
            }
            if let Type::Bits { width, .. } = x
                && *amount >= BigInt::from(width)
            {
                self.warn(Diagnostic::warning(
                    "overflow",
                    operands.span,
                    format!("a value with {width} bits is shifted by {amount}"),
                ));
            }
        } else if matches!(y, Type::Bits { signed: true, .. }) {
            self.report(
                Diagnostic::error(
                    "bad-operand",
                    operands.right.span,
                    "the amount of a shift must be unsigned",
                )
                .note("cast it to `bit<W>`"),
            );
            return None;
        }
        if x == Type::Integer && !b.known {
            self.report(
                Diagnostic::error(
                    "no-width",
                    operands.span,
                    "an `int` is shifted by an amount that is not known at compile time",
                )
                .note("write the width of the left operand: `8w1`"),
            );
            return None;
        }
        if x == Type::Integer && a.known && self.number(operands.left).is_some() && amount.is_some()
        {
            // The result of a larger shift would not fit in memory.
            let far = amount.as_ref().is_some_and(|amount| *amount > BigInt::from(1 << 16));
            if far && operands.operator == BinaryOperator::ShiftLeft {
                self.error("bad-operand", operands.span, "the result of this shift is too large");
                return None;
            }
        }
        Some(x)
    }

    /// Checks the operands of `&&&` or `..`, and returns the type of the resulting set.
    fn set(&mut self, operands: &Operands<'_>, a: &Info, b: &Info) -> Option<Type> {
        let (x, y) = (self.representation(&a.ty), self.representation(&b.ty));
        if !x.is_numeric() || !y.is_numeric() {
            let diagnostic = self.refuse(operands, &a.ty, &b.ty);
            self.report(diagnostic);
            return None;
        }
        // A mask of a member of a serializable enumeration results in a set of values of that
        // enumeration.
        let element =
            if matches!(a.ty, Type::SerializableEnum(_)) { a.ty.clone() } else { x.clone() };
        if self.common(operands, &a.ty, &b.ty).is_none() {
            let diagnostic =
                self.refuse(operands, &a.ty, &b.ty).note("both sides need the same width and sign");
            self.report(diagnostic);
            return None;
        }
        let element = if element == Type::Integer { y } else { element };
        if operands.operator == BinaryOperator::Range
            && let (Some(low), Some(high)) =
                (self.number(operands.left), self.number(operands.right))
            && low > high
        {
            self.warn(Diagnostic::warning(
                "empty-range",
                operands.span,
                format!("the range from {low} to {high} is empty"),
            ));
        }
        Some(Type::Set(std::sync::Arc::new(element)))
    }
}

/// A binary operation and its operands.
pub(super) struct Operands<'tree> {
    pub(super) operator: BinaryOperator,
    pub(super) left: &'tree Expression,
    pub(super) right: &'tree Expression,
    pub(super) span: Span,
}
