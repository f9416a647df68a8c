//! Conversion of the checker's constants to values and expressions of the IR.

use super::Lowering;
use super::types::number;
use crate::ast;
use crate::check::{Constant, Type};
use ir::bits::Bits;
use ir::{self, Expression, ExpressionKind, Value};

impl<'a> Lowering<'a> {
    /// Evaluates an expression in the current scope, and converts its value to the type that its
    /// context requires. Returns `None` if the value is not known at compile time.
    pub(super) fn evaluate(&self, expression: &'a ast::Expression) -> Option<Constant> {
        let known = self.checked.constant(expression.id).is_some()
            || !self.scope.environment.values.is_empty()
            || matches!(self.checked.type_of(expression.id), Type::Integer);
        known.then(|| self.checked.evaluate(expression, &self.scope.environment)).flatten()
    }

    /// Evaluates an expression whose value must be a number known at compile time, such as a width,
    /// a size or an index. Reports a problem and returns `None` if it is not.
    pub(super) fn evaluate_u32(&mut self, expression: &'a ast::Expression) -> Option<u32> {
        let value = self.evaluate(expression).as_ref().and_then(number);
        let value = value.and_then(|value| u32::try_from(value).ok());
        if value.is_none() {
            self.problem(expression.span, "this must be a number that is known at compile time");
        }
        value
    }

    /// Converts a constant of type `ty` to a value of the IR.
    pub(super) fn value(&mut self, constant: &Constant, ty: &Type) -> Value {
        match constant {
            Constant::Bool(value) => Value::Bool(*value),
            Constant::String(text) => Value::String(text.to_string()),
            Constant::Error(id) => {
                Value::Error(self.types.error_positions.get(id).copied().unwrap_or(0))
            }
            Constant::Enum(id) => Value::Enum(self.member_position(*id)),
            Constant::MatchKind(id) => Value::String(self.checked.name(*id).to_string()),
            Constant::Integer(_) | Constant::Bits(_) | Constant::SerializableEnum { .. } => {
                self.number_value(constant, ty)
            }
            Constant::Composite(values) => {
                let types = self.part_types(ty, values.len());
                Value::Composite(
                    values.iter().zip(types).map(|(value, ty)| self.value(value, &ty)).collect(),
                )
            }
            Constant::Record(values) => {
                let fields = self.field_types(ty);
                Value::Composite(
                    values
                        .iter()
                        .map(|(name, value)| {
                            let ty = fields
                                .iter()
                                .find(|(field, _)| field == name)
                                .map_or(Type::Unknown, |(_, ty)| ty.clone());
                            self.value(value, &ty)
                        })
                        .collect(),
                )
            }
            Constant::Invalid => Value::Composite(Vec::new()),
        }
    }

    /// Evaluates an expression that must have a compile-time value, and converts the value to the
    /// IR type that represents `ty`.
    pub(super) fn known_value(
        &mut self,
        expression: &'a ast::Expression,
        ty: &Type,
    ) -> Option<Value> {
        if let Some(constant) = self.evaluate(expression) {
            return Some(self.value(&constant, ty));
        }
        // For some composites, the checker has no value although the values of all parts are known.
        let mut lowered = None;
        let effects = self.collect(|lowering| {
            let value = lowering.expression(expression);
            let type_id = lowering.type_id(ty);
            lowered = Some(lowering.coerced(value, type_id));
        });
        lowered.filter(|_| effects.is_empty()).and_then(value_of)
    }

    fn number_value(&mut self, constant: &Constant, ty: &Type) -> Value {
        let number = number(constant).unwrap_or_default();
        let own = match constant {
            Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. } => Some(bits),
            _ => None,
        };
        let representation = match ty {
            Type::Unknown | Type::Any => None,
            _ => {
                let id = self.type_id(ty);
                Some(self.program.types.get(id))
            }
        };
        match (representation, own) {
            (Some(ir::Type::Bits { width, signed }), _) => {
                Value::Bits(Bits::from_bigint(width, signed, &number))
            }
            (Some(ir::Type::Bool), _) => Value::Bool(number != 0.into()),
            (_, Some(bits)) => Value::Bits(bits.clone()),
            (_, None) => Value::Integer(number),
        }
    }

    /// Returns the names and types of the fields of a type.
    pub(super) fn field_types(&self, ty: &Type) -> Vec<(std::sync::Arc<str>, Type)> {
        match ty {
            Type::Record(fields) => fields.to_vec(),
            _ => self
                .checked
                .fields(ty)
                .into_iter()
                .map(|field| (field.field.name.text.clone(), field.ty))
                .collect(),
        }
    }

    /// Returns the types of the fields or elements of a composite type or stack. `count` is their
    /// number.
    pub(super) fn part_types(&self, ty: &Type, count: usize) -> Vec<Type> {
        let mut types = match ty {
            Type::Tuple(elements) => elements.to_vec(),
            Type::Stack { element, .. } | Type::List(element) => {
                vec![(**element).clone(); count]
            }
            _ => self.field_types(ty).into_iter().map(|(_, ty)| ty).collect(),
        };
        types.resize(count, Type::Unknown);
        types
    }

    /// Converts a constant to an expression of type `ty`.
    pub(super) fn constant_expression(&mut self, constant: &Constant, ty: &Type) -> Expression {
        if let (Type::List(element), Constant::Composite(values)) = (ty, constant) {
            return self.constant_expression(constant, &list_type(element, values.len()));
        }
        let type_id = self.type_id(ty);
        let kind = match constant {
            Constant::Composite(values) => {
                let types = self.part_types(ty, values.len());
                let parts = values
                    .iter()
                    .zip(types)
                    .map(|(value, ty)| self.constant_expression(value, &ty))
                    .collect();
                match self.program.types.get(type_id) {
                    ir::Type::Stack { .. } => ExpressionKind::Stack(parts),
                    _ => ExpressionKind::Composite(parts),
                }
            }
            Constant::Record(values) => {
                let parts = self
                    .field_types(ty)
                    .into_iter()
                    .map(|(name, ty)| match values.iter().find(|(field, _)| *field == name) {
                        Some((_, value)) => self.constant_expression(value, &ty),
                        None => self.default_value(&ty),
                    })
                    .collect();
                ExpressionKind::Composite(parts)
            }
            Constant::Invalid => ExpressionKind::Invalid,
            _ => ExpressionKind::Constant(self.value(constant, ty)),
        };
        Expression { type_id, kind }
    }

    /// Returns the default value of a type (P4_16 specification, section 7.3).
    pub(super) fn default_value(&mut self, ty: &Type) -> Expression {
        let type_id = self.type_id(ty);
        self.default_of(type_id)
    }

    /// Returns the default value of a type of the IR.
    fn default_of(&mut self, type_id: ir::TypeId) -> Expression {
        let kind = match self.program.types.get(type_id) {
            ir::Type::Bool => ExpressionKind::Constant(Value::Bool(false)),
            ir::Type::Bits { width, signed } => {
                ExpressionKind::Constant(Value::Bits(Bits::zero(width, signed)))
            }
            ir::Type::Integer => ExpressionKind::Constant(Value::Integer(0.into())),
            ir::Type::Error => ExpressionKind::Constant(Value::Error(0)),
            ir::Type::Enum(_) => ExpressionKind::Constant(Value::Enum(0)),
            ir::Type::String => ExpressionKind::Constant(Value::String(String::new())),
            ir::Type::ActionRun(_) => ExpressionKind::Constant(Value::Bits(Bits::zero(32, false))),
            ir::Type::Stack { element, size } => {
                let part = self.default_of(element);
                ExpressionKind::Stack(vec![part; size as usize])
            }
            ir::Type::Composite(id) => {
                let composite = &self.program.types.composites[id.index()];
                match composite.kind {
                    ir::CompositeKind::Header | ir::CompositeKind::HeaderUnion => {
                        ExpressionKind::Invalid
                    }
                    ir::CompositeKind::Struct | ir::CompositeKind::Tuple => {
                        let fields: Vec<ir::TypeId> =
                            composite.fields.iter().map(|field| field.type_id).collect();
                        ExpressionKind::Composite(
                            fields.into_iter().map(|field| self.default_of(field)).collect(),
                        )
                    }
                }
            }
            // The default value is an empty `varbit`, which is the value of a variable that is
            // never assigned.
            ir::Type::Varbits { .. } => {
                let variable = self.variable("empty", type_id);
                ExpressionKind::Read(ir::Place::variable(variable))
            }
        };
        Expression { type_id, kind }
    }
}

/// Returns the tuple type that represents a `list<T>` with `count` elements.
pub(super) fn list_type(element: &Type, count: usize) -> Type {
    Type::Tuple(vec![element.clone(); count].into())
}

/// If an expression consists only of constants, returns its value. Returns `None` for any other
/// expression.
fn value_of(expression: Expression) -> Option<Value> {
    match expression.kind {
        ExpressionKind::Constant(value) => Some(value),
        ExpressionKind::Composite(parts) => {
            parts.into_iter().map(value_of).collect::<Option<_>>().map(Value::Composite)
        }
        _ => None,
    }
}

/// Returns a constant expression of type `bit<width>`.
pub(super) fn bits_constant(type_id: ir::TypeId, width: u32, value: u128) -> Expression {
    Expression {
        type_id,
        kind: ExpressionKind::Constant(Value::Bits(Bits::unsigned(width, value))),
    }
}
