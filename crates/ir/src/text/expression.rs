//! Expressions, places, key sets and constants as text.

use std::fmt::{self, Write as _};

use super::Printer;
use crate::{
    BinaryOperator, Expression, ExpressionKind, KeySet, Place, Projection, Type, TypeId,
    UnaryOperator, Value,
};

impl Printer<'_> {
    pub(super) fn place(&self, place: &Place) -> String {
        let program = self.program;
        let mut text = self.variable(place.variable);
        let mut current = program.variables.get(place.variable.index()).map(|v| v.type_id);
        for step in &place.path {
            match step {
                Projection::Field(position) => {
                    let field = current
                        .and_then(|type_id| program.types.composite(type_id))
                        .and_then(|composite| composite.fields.get(*position as usize));
                    match field {
                        Some(field) => {
                            let _ = write!(text, ".{}", field.name);
                        }
                        None => {
                            let _ = write!(text, ".{position}");
                        }
                    }
                    current = field.map(|field| field.type_id);
                }
                Projection::Element(index) => {
                    let _ = write!(text, "[{}]", self.expression(index));
                    current = program.stack_element(current);
                }
                Projection::Next => {
                    text.push_str(".next");
                    current = program.stack_element(current);
                }
                Projection::Last => {
                    text.push_str(".last");
                    current = program.stack_element(current);
                }
                Projection::Slice { high, low } => {
                    let _ = write!(text, "[{high}:{low}]");
                }
            }
        }
        text
    }

    pub(super) fn key_set<T>(
        &self,
        set: &KeySet<T>,
        print: impl Fn(&Self, &T) -> String,
    ) -> String {
        match set {
            KeySet::Any => "_".to_owned(),
            KeySet::Exact(value) => print(self, value),
            KeySet::Mask { value, mask } => {
                format!("{} &&& {}", print(self, value), print(self, mask))
            }
            KeySet::Range { low, high } => format!("{} .. {}", print(self, low), print(self, high)),
            KeySet::ValueSet(id) => self
                .program
                .value_sets
                .get(id.index())
                .map_or("?", |set| set.name.as_str())
                .to_owned(),
        }
    }

    /// Formats a constant of type `type_id`. Errors, members of enumerations and actions are
    /// printed by name.
    pub(super) fn value(&self, type_id: TypeId, value: &Value) -> String {
        let types = &self.program.types;
        match (types.get(type_id), value) {
            (Type::Error, Value::Error(position)) => self
                .program
                .errors
                .get(*position as usize)
                .map_or_else(|| Literal(value).to_string(), |name| format!("error.{name}")),
            (Type::Enum(id), Value::Enum(position)) => types
                .enums
                .get(id.index())
                .and_then(|all| Some((all, all.members.get(*position as usize)?)))
                .map_or_else(
                    || Literal(value).to_string(),
                    |(all, member)| format!("{}.{member}", all.name),
                ),
            (Type::ActionRun(table), Value::Bits(bits)) => self
                .program
                .tables
                .get(table.index())
                .and_then(|table| table.actions.get(usize::try_from(bits.to_u128()?).ok()?))
                .map_or_else(
                    || Literal(value).to_string(),
                    |reference| self.action_name(reference.action),
                ),
            (_, Value::Composite(values)) => {
                let fields = types.composite(type_id).map(|composite| &composite.fields);
                let values: Vec<String> = values
                    .iter()
                    .enumerate()
                    .map(|(position, value)| match fields.and_then(|fields| fields.get(position)) {
                        Some(field) => self.value(field.type_id, value),
                        None => Literal(value).to_string(),
                    })
                    .collect();
                format!("{{{}}}", values.join(", "))
            }
            _ => Literal(value).to_string(),
        }
    }

    pub(super) fn expression(&self, expression: &Expression) -> String {
        match &expression.kind {
            ExpressionKind::Constant(value) => self.value(expression.type_id, value),
            ExpressionKind::Read(place) => self.place(place),
            ExpressionKind::Unary(operator, operand) => {
                let sign = match operator {
                    UnaryOperator::Negate => "-",
                    UnaryOperator::Complement => "~",
                    UnaryOperator::Not => "!",
                };
                format!("{sign}{}", self.expression(operand))
            }
            ExpressionKind::Binary(operator, left, right) => format!(
                "({} {} {})",
                self.expression(left),
                operator_sign(*operator),
                self.expression(right)
            ),
            ExpressionKind::Slice { operand, high, low } => {
                format!("{}[{high}:{low}]", self.expression(operand))
            }
            ExpressionKind::Cast(operand) => {
                format!("({}){}", self.type_name(expression.type_id), self.expression(operand))
            }
            ExpressionKind::Conditional { condition, then, otherwise } => format!(
                "({} ? {} : {})",
                self.expression(condition),
                self.expression(then),
                self.expression(otherwise)
            ),
            ExpressionKind::IsValid(place) => format!("{}.isValid()", self.place(place)),
            ExpressionKind::LastIndex(place) => format!("{}.lastIndex", self.place(place)),
            ExpressionKind::Composite(values) | ExpressionKind::Stack(values) => {
                let values: Vec<String> =
                    values.iter().map(|value| self.expression(value)).collect();
                format!("({}){{{}}}", self.type_name(expression.type_id), values.join(", "))
            }
            ExpressionKind::Invalid => format!("({}){{#}}", self.type_name(expression.type_id)),
            ExpressionKind::PacketLength => "packet.length()".to_owned(),
        }
    }
}

/// Formats a constant whose type is not known, so errors and members of enumerations appear as
/// numbers.
pub(super) struct Literal<'v>(pub(super) &'v Value);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Bits(bits) => {
                let sign = if bits.is_signed() { 's' } else { 'w' };
                write!(formatter, "{}{sign}{}", bits.width(), bits.to_bigint())
            }
            Value::Bool(value) => write!(formatter, "{value}"),
            Value::Error(position) => write!(formatter, "error#{position}"),
            Value::Enum(position) => write!(formatter, "enum#{position}"),
            Value::String(text) => write!(formatter, "{text:?}"),
            Value::Integer(value) => write!(formatter, "{value}"),
            Value::Composite(values) => {
                formatter.write_char('{')?;
                for (position, value) in values.iter().enumerate() {
                    if position > 0 {
                        formatter.write_str(", ")?;
                    }
                    write!(formatter, "{}", Literal(value))?;
                }
                formatter.write_char('}')
            }
        }
    }
}

fn operator_sign(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::SaturatingAdd => "|+|",
        BinaryOperator::SaturatingSubtract => "|-|",
        BinaryOperator::BitAnd => "&",
        BinaryOperator::BitOr => "|",
        BinaryOperator::BitXor => "^",
        BinaryOperator::ShiftLeft => "<<",
        BinaryOperator::ShiftRight => ">>",
        BinaryOperator::Concatenate => "++",
        BinaryOperator::Equal => "==",
        BinaryOperator::NotEqual => "!=",
        BinaryOperator::Less => "<",
        BinaryOperator::LessOrEqual => "<=",
        BinaryOperator::Greater => ">",
        BinaryOperator::GreaterOrEqual => ">=",
        BinaryOperator::And => "&&",
        BinaryOperator::Or => "||",
    }
}
