//! Checks of expressions, places and constants.

use super::{Outcome, Validator};
use crate::{
    BinaryOperator, CompositeKind, Expression, ExpressionKind, Place, Projection, Type, TypeId,
    UnaryOperator, Value,
};

impl Validator<'_> {
    /// Checks that a place exists in the program, and returns its type.
    pub(super) fn place(&mut self, place: &Place) -> Outcome<Type> {
        match self.place_type(place)? {
            PlaceType::Known(id) => Ok(self.program.types.get(id)),
            PlaceType::Slice(width) => Ok(Type::Bits { width, signed: false }),
        }
    }

    pub(super) fn place_type(&mut self, place: &Place) -> Outcome<PlaceType> {
        let types = &self.program.types;
        let Some(variable) = self.program.variables.get(place.variable.index()) else {
            return self.fail("no such variable");
        };
        let mut current = variable.type_id;
        for (position, step) in place.path.iter().enumerate() {
            match (step, types.get(current)) {
                (Projection::Field(field), Type::Composite(id)) => {
                    match types.composites[id.index()].fields.get(*field as usize) {
                        Some(field) => current = field.type_id,
                        None => return self.fail("no such field"),
                    }
                }
                (Projection::Element(index), Type::Stack { element, .. }) => {
                    self.bits(index)?;
                    current = element;
                }
                (Projection::Next | Projection::Last, Type::Stack { element, .. }) => {
                    let kind = types.composite(element).map(|composite| composite.kind);
                    self.demand(
                        matches!(kind, Some(CompositeKind::Header | CompositeKind::HeaderUnion)),
                        "the next or last of something that is not a stack of headers",
                    )?;
                    current = element;
                }
                (Projection::Slice { high, low }, Type::Bits { width, .. }) => {
                    self.demand(
                        position + 1 == place.path.len() && low <= high && *high < width,
                        "a slice out of range or not at the end",
                    )?;
                    return Ok(PlaceType::Slice(high - low + 1));
                }
                _ => return self.fail("a step into a value that is not composite"),
            }
        }
        Ok(PlaceType::Known(current))
    }

    pub(super) fn of_kind(&mut self, value: &Expression, place: PlaceType) -> Outcome {
        match place {
            PlaceType::Known(type_id) => self.of_type(value, Some(type_id)),
            PlaceType::Slice(width) => {
                self.expression(value)?;
                let ty = self.program.types.get(value.type_id);
                self.demand(ty == Type::Bits { width, signed: false }, "a slice given another type")
            }
        }
    }

    pub(super) fn of_type(&mut self, value: &Expression, wanted: Option<TypeId>) -> Outcome {
        self.expression(value)?;
        let Some(wanted) = wanted else { return self.fail("nothing to compare with") };
        if value.type_id == wanted {
            return Ok(());
        }
        self.fail(format!(
            "a value of type {} where {} is expected",
            self.program.type_name(value.type_id),
            self.program.type_name(wanted)
        ))
    }

    pub(super) fn condition(&mut self, expression: &Expression) -> Outcome {
        self.expression(expression)?;
        let ty = self.program.types.get(expression.type_id);
        self.demand(ty == Type::Bool, "a condition that is not bool")
    }

    pub(super) fn bits(&mut self, expression: &Expression) -> Outcome {
        self.expression(expression)?;
        let ty = self.program.types.get(expression.type_id);
        self.demand(
            matches!(ty, Type::Bits { .. } | Type::Integer),
            "a number that is not bit or int",
        )
    }

    pub(super) fn expression(&mut self, expression: &Expression) -> Outcome {
        crate::meter::count(1);
        self.known_type(expression.type_id)?;
        self.nested(|validator| validator.expression_kind(expression))
    }

    fn expression_kind(&mut self, expression: &Expression) -> Outcome {
        let ty = self.program.types.get(expression.type_id);
        match &expression.kind {
            ExpressionKind::Constant(value) => self.fits(expression.type_id, value),
            ExpressionKind::Read(place) => {
                let read = self.place(place)?;
                self.demand(read == ty, "a place read as another type")
            }
            ExpressionKind::Unary(operator, operand) => {
                self.unary(*operator, operand, expression.type_id)
            }
            ExpressionKind::Binary(operator, left, right) => {
                self.expression(left)?;
                self.expression(right)?;
                self.binary(*operator, ty, left.type_id, right.type_id)
            }
            ExpressionKind::Slice { operand, high, low } => self.slice(operand, *high, *low, ty),
            ExpressionKind::Cast(operand) => self.cast(operand, ty),
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.condition(condition)?;
                self.of_type(then, Some(expression.type_id))?;
                self.of_type(otherwise, Some(expression.type_id))
            }
            ExpressionKind::IsValid(place) => {
                let read = self.place(place)?;
                self.demand(
                    ty == Type::Bool && self.is_header_like(read),
                    "validity of something that is not a header",
                )
            }
            ExpressionKind::LastIndex(place) => {
                let read = self.place(place)?;
                self.demand(
                    ty == Type::Bits { width: 32, signed: false }
                        && matches!(read, Type::Stack { .. }),
                    "lastIndex of something that is not a stack",
                )
            }
            ExpressionKind::Composite(values) => self.composite(values, expression.type_id),
            ExpressionKind::Stack(values) => self.stack(values, ty),
            ExpressionKind::Invalid => {
                self.demand(self.is_header_like(ty), "an invalid header of another type")
            }
            ExpressionKind::PacketLength => self
                .demand(ty == Type::Bits { width: 32, signed: false }, "a length of another type"),
        }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expression, result: TypeId) -> Outcome {
        self.of_type(operand, Some(result))?;
        let ty = self.program.types.get(result);
        let fits = match operator {
            UnaryOperator::Not => ty == Type::Bool,
            UnaryOperator::Negate | UnaryOperator::Complement => matches!(ty, Type::Bits { .. }),
        };
        self.demand(fits, "an operator on another type")
    }

    fn slice(&mut self, operand: &Expression, high: u32, low: u32, result: Type) -> Outcome {
        self.expression(operand)?;
        let Type::Bits { width, .. } = self.program.types.get(operand.type_id) else {
            return self.fail("a slice of something without bits");
        };
        self.demand(
            low <= high
                && high < width
                && result == Type::Bits { width: high - low + 1, signed: false },
            "a slice out of range or of another width",
        )
    }

    fn cast(&mut self, operand: &Expression, result: Type) -> Outcome {
        self.expression(operand)?;
        let fits = match (self.program.types.get(operand.type_id), result) {
            (Type::Bits { .. }, Type::Bits { .. }) => true,
            (Type::Bool, Type::Bits { width, signed })
            | (Type::Bits { width, signed }, Type::Bool) => width == 1 && !signed,
            _ => false,
        };
        self.demand(fits, "a cast that does not exist")
    }

    /// Checks a struct, tuple or header that is built from the values of its fields.
    fn composite(&mut self, values: &[Expression], type_id: TypeId) -> Outcome {
        let program = self.program;
        let Some(composite) = program.types.composite(type_id) else {
            return self.fail("fields of something without fields");
        };
        self.demand(values.len() == composite.fields.len(), "too many or too few fields")?;
        for (value, field) in values.iter().zip(&composite.fields) {
            self.of_type(value, Some(field.type_id))?;
        }
        Ok(())
    }

    /// Checks a header stack that is built from its elements.
    fn stack(&mut self, values: &[Expression], ty: Type) -> Outcome {
        let Type::Stack { element, size } = ty else {
            return self.fail("elements of something that is not a stack");
        };
        self.demand(values.len() == size as usize, "too many or too few elements")?;
        values.iter().try_for_each(|value| self.of_type(value, Some(element)))
    }

    fn binary(&self, operator: BinaryOperator, ty: Type, left: TypeId, right: TypeId) -> Outcome {
        use BinaryOperator as B;
        let types = &self.program.types;
        let same = left == right;
        let (left, right) = (types.get(left), types.get(right));
        let is_bits = |ty: Type| matches!(ty, Type::Bits { .. });
        let fits = match operator {
            B::Add
            | B::Subtract
            | B::Multiply
            | B::Divide
            | B::Modulo
            | B::SaturatingAdd
            | B::SaturatingSubtract
            | B::BitAnd
            | B::BitOr
            | B::BitXor => same && left == ty && is_bits(ty),
            B::ShiftLeft | B::ShiftRight => left == ty && is_bits(left) && is_bits(right),
            B::Concatenate => match (left, right, ty) {
                (
                    Type::Bits { width: high, signed },
                    Type::Bits { width: low, .. },
                    Type::Bits { width, signed: result },
                ) => high.checked_add(low) == Some(width) && signed == result,
                _ => false,
            },
            B::Equal | B::NotEqual => same && ty == Type::Bool,
            B::Less | B::LessOrEqual | B::Greater | B::GreaterOrEqual => {
                same && ty == Type::Bool && is_bits(left)
            }
            B::And | B::Or => same && left == Type::Bool && ty == Type::Bool,
        };
        self.demand(fits, "an operator on other types")
    }

    /// Checks that a constant is a value of the given type.
    pub(super) fn fits(&mut self, type_id: TypeId, value: &Value) -> Outcome {
        let program = self.program;
        self.known_type(type_id)?;
        let fits = match (program.types.get(type_id), value) {
            (Type::Bool, Value::Bool(_))
            | (Type::String, Value::String(_))
            | (Type::Integer, Value::Integer(_)) => true,
            (Type::Bits { width, signed }, Value::Bits(bits)) => {
                bits.width() == width && bits.is_signed() == signed
            }
            (Type::ActionRun(table), Value::Bits(bits)) => {
                let actions =
                    program.tables.get(table.index()).map_or(0, |table| table.actions.len());
                bits.width() == 32 && bits.to_u128().is_some_and(|value| value < actions as u128)
            }
            (Type::Error, Value::Error(position)) => (*position as usize) < program.errors.len(),
            (Type::Enum(id), Value::Enum(position)) => program
                .types
                .enums
                .get(id.index())
                .is_some_and(|all| (*position as usize) < all.members.len()),
            (Type::Composite(id), Value::Composite(values)) => {
                let fields = &program.types.composites[id.index()].fields;
                self.demand(values.len() == fields.len(), "too many or too few fields")?;
                for (value, field) in values.iter().zip(fields) {
                    self.nested(|validator| validator.fits(field.type_id, value))?;
                }
                true
            }
            _ => false,
        };
        self.demand(fits, "a constant of another type")
    }
}

/// The type of a place, as it results from checking the place.
#[derive(Clone, Copy)]
pub(super) enum PlaceType {
    Known(TypeId),
    /// A slice, whose type is `bit` with this width. The program's list of types need not contain
    /// that type.
    Slice(u32),
}
