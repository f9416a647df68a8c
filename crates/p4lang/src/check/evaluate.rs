//! Evaluation of expressions at compile time (P4_16 §18.1).
//!
//! The evaluator folds constants during the check. The lowering uses it again for each instance,
//! with an [`Environment`] that contains the values of constructor parameters. The evaluator uses
//! the types, resolutions and conversions that the checker has recorded. If an expression cannot be
//! computed, it has no value, and the checker reports the reason where a value is required. The
//! evaluator itself records only one error, in the budget: that a value is too large.

use num_bigint::BigInt;

use super::budget::{self, LARGEST_INTEGER};
use super::size::MAX_PARTS;
use super::{Builtin, Callee, Checked, Constant, Environment, Node, Resolution, Type};
use crate::ast::{
    self, BinaryOperator, DeclarationId, DeclarationKind, Expression, ExpressionKind, UnaryOperator,
};
use crate::source::Span;
use ir::bits::Bits;

/// The largest recursion depth of an evaluation. Nested expressions count, and so do the
/// definitions of constants to which they refer.
const DEEPEST: u32 = 1000;

impl Checked<'_> {
    /// Evaluates an expression, and converts its value to the type that its context requires.
    /// `environment` contains the values of constructor parameters and type parameters. Returns
    /// `None` if the value is not known at compile time.
    pub fn evaluate(&self, expression: &Expression, environment: &Environment) -> Option<Constant> {
        Evaluator { checked: self, environment }.converted(expression, 0)
    }

    /// Evaluates an expression without converting its value to the type that its context requires.
    pub(super) fn evaluate_own(&self, expression: &Expression) -> Option<Constant> {
        Evaluator { checked: self, environment: &Environment::default() }.own(expression, 0)
    }

    /// Returns the default value of a type, for which `...` stands (§8.26): zero (also for a
    /// serializable enumeration), `false`, `NoError`, the first member of any other enumeration, an
    /// invalid header, or a composite of these. Returns `None` if the type has no default value or
    /// more than `MAX_PARTS` parts.
    pub fn default_value(&self, ty: &Type) -> Option<Constant> {
        self.default_value_within(ty, &mut { MAX_PARTS })
    }

    /// Returns the default value of a type. `budget` is the number of types that may still be
    /// visited.
    fn default_value_within(&self, ty: &Type, budget: &mut u32) -> Option<Constant> {
        *budget = budget.checked_sub(1)?;
        Some(match ty {
            Type::Bool => Constant::Bool(false),
            Type::Integer => Constant::Integer(BigInt::ZERO),
            Type::Bits { width, signed } => Constant::Bits(Bits::zero(*width, *signed)),
            Type::Varbit { .. } => Constant::Bits(Bits::zero(0, false)),
            Type::String => Constant::String("".into()),
            Type::Error => Constant::Error(self.no_error()?),
            Type::Enum(id) => Constant::Enum(self.enum_members(*id).first()?.id),
            Type::SerializableEnum(id) => {
                let Type::Bits { width, signed } = *self.underlying(ty)? else { return None };
                let value = Bits::zero(width, signed);
                Constant::SerializableEnum { member: self.member_of_value(*id, &value), value }
            }
            Type::NewType(_) => self.default_value_within(&self.underlying(ty)?.clone(), budget)?,
            Type::Header(_) | Type::HeaderUnion(_) => Constant::Invalid,
            Type::Struct(_) => Constant::Composite(
                self.fields(ty)
                    .iter()
                    .map(|field| self.default_value_within(&field.ty, budget))
                    .collect::<Option<_>>()?,
            ),
            Type::Record(fields) => Constant::Composite(
                fields
                    .iter()
                    .map(|(_, ty)| self.default_value_within(ty, budget))
                    .collect::<Option<_>>()?,
            ),
            Type::Tuple(elements) => Constant::Composite(
                elements
                    .iter()
                    .map(|element| self.default_value_within(element, budget))
                    .collect::<Option<_>>()?,
            ),
            Type::Stack { element, size } => {
                *budget = budget.checked_sub(*size)?;
                Constant::Composite(vec![
                    self.default_value_within(element, budget)?;
                    *size as usize
                ])
            }
            Type::List(_) => Constant::Composite(Vec::new()),
            _ => return None,
        })
    }

    /// Returns the members of the enumeration `id`, in order of declaration.
    pub fn enum_members(&self, id: DeclarationId) -> &[ast::EnumMember] {
        match self.index.get_declaration(id).map(|declaration| &declaration.kind) {
            Some(DeclarationKind::Enum { members, .. }) => members,
            _ => &[],
        }
    }

    /// Returns the number that represents a member of a serializable enumeration, or `None` if it
    /// is not known.
    pub fn enum_value(&self, member: DeclarationId) -> Option<&Bits> {
        self.enum_values.get(&member)
    }

    /// Returns the first member of the serializable enumeration `id` whose value is `value`, or
    /// `None` if no member has this value.
    pub fn member_of_value(&self, id: DeclarationId, value: &Bits) -> Option<DeclarationId> {
        self.enum_members(id)
            .iter()
            .map(|member| member.id)
            .find(|member| self.enum_value(*member) == Some(value))
    }

    /// Converts a value to another type, as a cast or an implicit conversion does. Returns `None`
    /// if a number other than 0 and 1 is converted to `bool`, or if a record lacks a field of the
    /// type. If the type has no conversion for the value, the value is returned unchanged.
    pub fn cast_constant(&self, value: &Constant, to: &Type) -> Option<Constant> {
        match (to, value) {
            (Type::NewType(_), _) => self.cast_constant(value, &self.underlying(to)?.clone()),
            (Type::Bits { width, signed }, Constant::Integer(integer)) => {
                Some(Constant::Bits(Bits::from_bigint(*width, *signed, integer)))
            }
            (
                Type::Bits { width, signed },
                Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. },
            ) => Some(Constant::Bits(bits.cast(*width, *signed))),
            (Type::Bits { width: 1, signed: false }, Constant::Bool(flag)) => {
                Some(Constant::Bits(Bits::from_bool(*flag)))
            }
            (Type::Bool, Constant::Bits(bits)) if bits.width() == 1 => {
                Some(Constant::Bool(!bits.is_zero()))
            }
            (Type::Bool, Constant::Integer(integer)) => (integer.sign() != num_bigint::Sign::Minus
                && integer.bits() <= 1)
                .then(|| Constant::Bool(integer.bits() == 1)),
            (
                Type::Integer,
                Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. },
            ) => Some(Constant::Integer(bits.to_bigint())),
            (
                Type::SerializableEnum(id),
                Constant::Bits(_) | Constant::Integer(_) | Constant::SerializableEnum { .. },
            ) => {
                let Constant::Bits(value) =
                    self.cast_constant(value, &self.underlying(to)?.clone())?
                else {
                    return None;
                };
                Some(Constant::SerializableEnum {
                    member: self.member_of_value(*id, &value),
                    value,
                })
            }
            (Type::Record(fields), Constant::Record(values)) => fields
                .iter()
                .map(|(name, _)| {
                    values.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
                })
                .collect::<Option<_>>()
                .map(Constant::Composite),
            _ => Some(value.clone()),
        }
    }
}

/// An evaluator of expressions in a given environment.
struct Evaluator<'a, 'program> {
    checked: &'a Checked<'program>,
    environment: &'a Environment,
}

impl Evaluator<'_, '_> {
    fn ty(&self, ty: &Type) -> Type {
        ty.substitute(&self.environment.types)
    }

    fn default(&self, ty: &Type, span: Span) -> Option<Constant> {
        let value = self.checked.default_value(ty)?;
        self.checked.budget.spend(budget::size(&value), span)?;
        Some(value)
    }

    /// Evaluates an expression, and converts the value to the type that its context requires.
    fn converted(&self, expression: &Expression, depth: u32) -> Option<Constant> {
        if depth > DEEPEST {
            return None;
        }
        let Some(target) = self.checked.conversion(expression.id) else {
            return self.own(expression, depth);
        };
        let target = self.ty(target);
        match &expression.kind {
            ExpressionKind::DefaultValue => self.default(&target, expression.span),
            ExpressionKind::List { elements, default_rest } => {
                let mut values = elements
                    .iter()
                    .map(|element| self.converted(element, depth + 1))
                    .collect::<Option<Vec<_>>>()?;
                if default_rest.is_some() {
                    let types = self.part_types(&target);
                    for ty in types.iter().skip(values.len()) {
                        values.push(self.default(ty, expression.span)?);
                    }
                }
                Some(Constant::Composite(values))
            }
            ExpressionKind::Record { fields, default_rest } => {
                let targets: Vec<(std::sync::Arc<str>, Type)> = match &target {
                    Type::Record(fields) => fields.to_vec(),
                    _ => self
                        .checked
                        .fields(&target)
                        .into_iter()
                        .map(|field| (field.field.name.text.clone(), field.ty))
                        .collect(),
                };
                targets
                    .iter()
                    .map(|(name, ty)| match fields.iter().find(|field| field.name.text == *name) {
                        Some(field) => self.converted(&field.value, depth + 1),
                        None if default_rest.is_some() => self.default(ty, expression.span),
                        None => None,
                    })
                    .collect::<Option<_>>()
                    .map(Constant::Composite)
            }
            // The value that was recorded for a conditional is the one before its conversion, so
            // the value is computed anew.
            ExpressionKind::Conditional { condition, then, otherwise } => {
                let chosen =
                    if self.converted(condition, depth + 1)?.to_bool()? { then } else { otherwise };
                self.checked.cast_constant(&self.converted(chosen, depth + 1)?, &target)
            }
            _ => self.checked.cast_constant(&self.own(expression, depth)?, &target),
        }
    }

    /// Returns the types of the fields or elements of a composite type.
    fn part_types(&self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Tuple(elements) => elements.to_vec(),
            Type::Stack { element, size } => vec![(**element).clone(); *size as usize],
            _ => self.checked.fields(ty).into_iter().map(|field| field.ty).collect(),
        }
    }

    fn own(&self, expression: &Expression, depth: u32) -> Option<Constant> {
        ir::meter::count(1);
        let spend = |units| self.checked.budget.spend(units, expression.span);
        if let Some(value) = self.checked.constants.get(&expression.id) {
            spend(budget::size(value))?;
            return Some(value.clone());
        }
        if depth > DEEPEST {
            return None;
        }
        spend(1)?;
        let value = self.computed(expression, depth + 1)?;
        spend(budget::size(&value))?;
        Some(value)
    }

    /// Evaluates an expression from the values of its subexpressions. `next` is the recursion depth
    /// of these.
    fn computed(&self, expression: &Expression, next: u32) -> Option<Constant> {
        match &expression.kind {
            ExpressionKind::Boolean(value) => Some(Constant::Bool(*value)),
            ExpressionKind::Integer(literal) => {
                let value = BigInt::from(literal.value.clone());
                Some(match literal.width {
                    None => Constant::Integer(value),
                    Some(width) => {
                        Constant::Bits(Bits::from_bigint(width.bits, width.signed, &value))
                    }
                })
            }
            ExpressionKind::String(text) => Some(Constant::String(text.clone())),
            ExpressionKind::Path(_) => self.named(self.checked.resolution(expression.id)?, next),
            ExpressionKind::Member { base, .. } => self.member(expression, base, next),
            ExpressionKind::Index { base, index } => {
                let index = usize::try_from(self.converted(index, next)?.to_integer()?).ok()?;
                match self.converted(base, next)? {
                    Constant::Composite(elements) => elements.get(index).cloned(),
                    _ => None,
                }
            }
            ExpressionKind::Slice { base, high, low } => {
                let high = u32::try_from(self.converted(high, next)?.to_integer()?).ok()?;
                let low = u32::try_from(self.converted(low, next)?.to_integer()?).ok()?;
                self.slice(base, high, low, next)
            }
            ExpressionKind::PartSelect { base, low, width } => {
                let low = u32::try_from(self.converted(low, next)?.to_integer()?).ok()?;
                let width = u32::try_from(self.converted(width, next)?.to_integer()?).ok()?;
                let Some(high) = low.checked_add(width)?.checked_sub(1) else {
                    return Some(Constant::Bits(Bits::zero(0, false)));
                };
                self.slice(base, high, low, next)
            }
            ExpressionKind::Cast { target, operand } => {
                let target = self.ty(self.checked.type_at(target.id));
                self.checked.cast_constant(&self.converted(operand, next)?, &target)
            }
            ExpressionKind::Unary { operator, operand } => {
                unary(*operator, &self.represented(operand, next)?)
            }
            ExpressionKind::Binary { operator, left, right } => {
                let left = self.converted(left, next)?;
                // The left operand of `&&` or `||` may determine the value even if the right one
                // has none.
                match (operator, &left) {
                    (BinaryOperator::And, Constant::Bool(false)) => {
                        return Some(Constant::Bool(false));
                    }
                    (BinaryOperator::Or, Constant::Bool(true)) => {
                        return Some(Constant::Bool(true));
                    }
                    _ => {}
                }
                let right = self.converted(right, next)?;
                self.can_be_computed(*operator, &left, &right, expression.span)?;
                binary(*operator, &left, &right)
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                let chosen =
                    if self.converted(condition, next)?.to_bool()? { then } else { otherwise };
                self.converted(chosen, next)
            }
            ExpressionKind::List { elements, default_rest: None } => elements
                .iter()
                .map(|element| self.converted(element, next))
                .collect::<Option<_>>()
                .map(Constant::Composite),
            ExpressionKind::Record { fields, default_rest: None } => fields
                .iter()
                .map(|field| Some((field.name.text.clone(), self.converted(&field.value, next)?)))
                .collect::<Option<_>>()
                .map(Constant::Record),
            ExpressionKind::InvalidHeader => Some(Constant::Invalid),
            ExpressionKind::Call { arguments, .. } => self.call(expression, arguments, next),
            _ => None,
        }
    }

    /// Checks the size of the result of an operation whose result may be larger than its operands.
    /// The size of concatenated strings is charged to the budget. Returns `None` if the result is
    /// too large to compute.
    fn can_be_computed(
        &self,
        operator: BinaryOperator,
        left: &Constant,
        right: &Constant,
        span: Span,
    ) -> Option<()> {
        let budget = &self.checked.budget;
        match (operator, left, right) {
            (BinaryOperator::Concatenate, Constant::String(left), Constant::String(right)) => {
                budget.spend((left.len() + right.len()) as u64 / 8, span)
            }
            (BinaryOperator::Concatenate, _, _) => match (bits_of(left), bits_of(right)) {
                (Some(left), Some(right)) => {
                    budget.integer(u64::from(left.width()) + u64::from(right.width()), span)
                }
                _ => Some(()),
            },
            (BinaryOperator::Multiply, Constant::Integer(left), _) => {
                let right = right.to_integer()?;
                budget.integer(left.bits().saturating_add(right.bits()), span)
            }
            (BinaryOperator::ShiftLeft, Constant::Integer(left), _) if left.bits() > 0 => {
                let amount = right.to_integer()?;
                if amount.sign() == num_bigint::Sign::Minus {
                    return Some(());
                }
                let amount = u64::try_from(amount).unwrap_or(u64::MAX);
                budget.integer(left.bits().saturating_add(amount), span)
            }
            (BinaryOperator::Add | BinaryOperator::Subtract, Constant::Integer(left), _) => {
                budget.integer(left.bits().max(right.to_integer()?.bits()), span)
            }
            _ => Some(()),
        }
    }

    fn named(&self, resolution: &Resolution, depth: u32) -> Option<Constant> {
        let id = match resolution {
            Resolution::Declaration(id) => *id,
            Resolution::EnumMember(id) => return self.enum_member(*id),
            Resolution::ErrorMember(id) => return Some(Constant::Error(*id)),
            Resolution::MatchKindMember(id) => return Some(Constant::MatchKind(*id)),
            _ => return None,
        };
        if let Some(value) = self.environment.values.get(&id) {
            return Some(value.clone());
        }
        match self.checked.index.get(id)? {
            Node::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Constant { value, .. } => self.converted(value, depth),
                _ => None,
            },
            _ => None,
        }
    }

    fn enum_member(&self, id: DeclarationId) -> Option<Constant> {
        match self.checked.enum_value(id) {
            Some(value) => {
                Some(Constant::SerializableEnum { member: Some(id), value: value.clone() })
            }
            // A member of a serializable enumeration that is declared later has no value yet.
            None => matches!(self.checked.declared_type(id), Type::Enum(_))
                .then_some(Constant::Enum(id)),
        }
    }

    fn member(&self, expression: &Expression, base: &Expression, depth: u32) -> Option<Constant> {
        match self.checked.resolution(expression.id)? {
            Resolution::Field { position, .. } => match self.converted(base, depth)? {
                Constant::Composite(fields) => fields.get(*position).cloned(),
                Constant::Record(fields) => fields.get(*position).map(|(_, value)| value.clone()),
                _ => None,
            },
            Resolution::Builtin(Builtin::Size) => match self.checked.type_of(base.id) {
                Type::Stack { size, .. } => {
                    Some(Constant::Bits(Bits::unsigned(32, u128::from(*size))))
                }
                _ => None,
            },
            other => self.named(other, depth),
        }
    }

    fn call(
        &self,
        expression: &Expression,
        arguments: &[ast::Argument],
        depth: u32,
    ) -> Option<Constant> {
        let call = self.checked.call(expression.id)?;
        match &call.callee {
            Callee::Builtin { builtin, object } => {
                let object = self.ty(object);
                let (maximum, bytes) = match builtin {
                    Builtin::MinSizeInBits => (false, false),
                    Builtin::MinSizeInBytes => (false, true),
                    Builtin::MaxSizeInBits => (true, false),
                    Builtin::MaxSizeInBytes => (true, true),
                    _ => return None,
                };
                let bits = self.checked.size_in_bits(&object, maximum)?;
                Some(Constant::Integer(BigInt::from(if bytes { bits.div_ceil(8) } else { bits })))
            }
            Callee::ExternFunction(id) if &*self.checked.name(*id) == "static_assert" => {
                let condition = self.converted(call.given(0, arguments)?, depth)?;
                Some(Constant::Bool(condition.to_bool()?))
            }
            _ => None,
        }
    }

    /// Evaluates the slice `base[high:low]`. For a base of type `int`, the slice may extend to any
    /// bit (§8.9).
    fn slice(&self, base: &Expression, high: u32, low: u32, depth: u32) -> Option<Constant> {
        if low > high {
            return None;
        }
        let bits = match self.converted(base, depth)? {
            Constant::Integer(number) => {
                let width = high - low + 1;
                self.checked.budget.integer(u64::from(width).max(number.bits()), base.span)?;
                return Some(Constant::Bits(Bits::from_bigint(width, false, &(number >> low))));
            }
            Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. } => bits,
            _ => return None,
        };
        (high < bits.width()).then(|| Constant::Bits(bits.slice(high, low)))
    }

    /// Evaluates an expression. If the result is a value of a serializable enumeration, returns the
    /// number that represents it.
    fn represented(&self, expression: &Expression, depth: u32) -> Option<Constant> {
        Some(match self.converted(expression, depth)? {
            Constant::SerializableEnum { value, .. } => Constant::Bits(value),
            other => other,
        })
    }
}

fn unary(operator: UnaryOperator, value: &Constant) -> Option<Constant> {
    Some(match (operator, value) {
        (UnaryOperator::Not, Constant::Bool(value)) => Constant::Bool(!value),
        (UnaryOperator::Plus, Constant::Integer(_) | Constant::Bits(_)) => value.clone(),
        (UnaryOperator::Negate, Constant::Integer(value)) => Constant::Integer(-value.clone()),
        (UnaryOperator::Negate, Constant::Bits(value)) => Constant::Bits(value.wrapping_neg()),
        (UnaryOperator::Complement, Constant::Bits(value)) => Constant::Bits(value.complement()),
        _ => return None,
    })
}

fn binary(operator: BinaryOperator, left: &Constant, right: &Constant) -> Option<Constant> {
    match operator {
        BinaryOperator::Equal => return Some(Constant::Bool(equal(left, right)?)),
        BinaryOperator::NotEqual => return Some(Constant::Bool(!equal(left, right)?)),
        BinaryOperator::And => return Some(Constant::Bool(left.to_bool()? && right.to_bool()?)),
        BinaryOperator::Or => return Some(Constant::Bool(left.to_bool()? || right.to_bool()?)),
        _ => {}
    }
    if let (Constant::String(left), Constant::String(right)) = (left, right) {
        return (operator == BinaryOperator::Concatenate)
            .then(|| Constant::String(format!("{left}{right}").into()));
    }
    match (bits_of(left), bits_of(right)) {
        (Some(left), Some(right)) => fixed(operator, left, right),
        _ => integers(operator, left, right),
    }
}

fn bits_of(value: &Constant) -> Option<&Bits> {
    match value {
        Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. } => Some(bits),
        _ => None,
    }
}

fn equal(left: &Constant, right: &Constant) -> Option<bool> {
    match (bits_of(left), bits_of(right)) {
        (Some(left), Some(right)) => Some(left == right),
        _ if std::mem::discriminant(left) == std::mem::discriminant(right) => Some(left == right),
        // An invalid header is equal only to another invalid header.
        _ if matches!(left, Constant::Invalid) || matches!(right, Constant::Invalid) => Some(false),
        _ => None,
    }
}

/// Applies a binary operator to two values of fixed width.
fn fixed(operator: BinaryOperator, left: &Bits, right: &Bits) -> Option<Constant> {
    match operator {
        BinaryOperator::ShiftLeft => {
            return Some(Constant::Bits(left.shift_left(shift_amount(right)?)));
        }
        BinaryOperator::ShiftRight => {
            return Some(Constant::Bits(left.shift_right(shift_amount(right)?)));
        }
        BinaryOperator::Concatenate => return Some(Constant::Bits(left.concatenate(right))),
        _ => {}
    }
    if left.width() != right.width() || left.is_signed() != right.is_signed() {
        return None;
    }
    Some(Constant::Bits(match operator {
        BinaryOperator::Add => left.wrapping_add(right),
        BinaryOperator::Subtract => left.wrapping_sub(right),
        BinaryOperator::Multiply => left.wrapping_mul(right),
        BinaryOperator::Divide => left.checked_div(right)?,
        BinaryOperator::Modulo => left.checked_rem(right)?,
        BinaryOperator::AddSaturating => left.saturating_add(right),
        BinaryOperator::SubtractSaturating => left.saturating_sub(right),
        BinaryOperator::BitAnd => left.bit_and(right),
        BinaryOperator::BitOr => left.bit_or(right),
        BinaryOperator::BitXor => left.bit_xor(right),
        BinaryOperator::Less => return Some(Constant::Bool(left.compare(right).is_lt())),
        BinaryOperator::LessOrEqual => return Some(Constant::Bool(left.compare(right).is_le())),
        BinaryOperator::Greater => return Some(Constant::Bool(left.compare(right).is_gt())),
        BinaryOperator::GreaterOrEqual => return Some(Constant::Bool(left.compare(right).is_ge())),
        _ => return None,
    }))
}

fn shift_amount(amount: &Bits) -> Option<u64> {
    (!amount.is_negative()).then(|| amount.shift_amount())
}

/// Applies a binary operator to two integers, of which at least one is an arbitrary-precision
/// `int`.
fn integers(operator: BinaryOperator, left: &Constant, right: &Constant) -> Option<Constant> {
    // Only shifts may combine `int` with a type of fixed width.
    if let (BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, Some(bits)) =
        (operator, bits_of(left))
    {
        let Constant::Integer(amount) = right else { return None };
        let amount = if amount.sign() == num_bigint::Sign::Minus {
            return None;
        } else {
            u64::try_from(amount).unwrap_or(u64::MAX)
        };
        return Some(Constant::Bits(if operator == BinaryOperator::ShiftLeft {
            bits.shift_left(amount)
        } else {
            bits.shift_right(amount)
        }));
    }
    let (Constant::Integer(left), right) = (left, right.to_integer()?) else { return None };
    let negative = |value: &BigInt| value.sign() == num_bigint::Sign::Minus;
    let result = match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide | BinaryOperator::Modulo => {
            if negative(left) || negative(&right) || right == BigInt::ZERO {
                return None;
            }
            if operator == BinaryOperator::Divide { left / right } else { left % right }
        }
        BinaryOperator::ShiftLeft => {
            if left.bits() == 0 {
                return Some(Constant::Integer(BigInt::ZERO));
            }
            let amount = u64::try_from(right).ok()?;
            if amount.saturating_add(left.bits()) > LARGEST_INTEGER {
                return None;
            }
            left << amount
        }
        BinaryOperator::ShiftRight => left >> u64::try_from(right).ok()?,
        BinaryOperator::BitAnd => left & right,
        BinaryOperator::BitOr => left | right,
        BinaryOperator::BitXor => left ^ right,
        BinaryOperator::Less => return Some(Constant::Bool(*left < right)),
        BinaryOperator::LessOrEqual => return Some(Constant::Bool(*left <= right)),
        BinaryOperator::Greater => return Some(Constant::Bool(*left > right)),
        BinaryOperator::GreaterOrEqual => return Some(Constant::Bool(*left >= right)),
        _ => return None,
    };
    Some(Constant::Integer(result))
}
