//! Lowering of expressions to places (l-values), which can be read and assigned.

use super::{Entity, Lowering};
use crate::ast::{self, ExpressionKind};
use crate::check::{Builtin, Resolution, Type};
use ir::{self, Expression, Place, Projection};

impl<'a> Lowering<'a> {
    /// Returns the place to which an expression refers, or `None` if it does not refer to a place.
    /// Index expressions inside it are lowered too.
    pub(super) fn place(&mut self, expression: &'a ast::Expression) -> Option<Place> {
        match &expression.kind {
            ExpressionKind::Path(_) => match self.checked.resolution(expression.id)? {
                Resolution::Declaration(id) => match self.entity(*id)? {
                    Entity::Variable(variable) => Some(Place::variable(variable)),
                    _ => None,
                },
                _ => None,
            },
            ExpressionKind::Member { base, .. } => {
                let step = match self.checked.resolution(expression.id)? {
                    Resolution::Field { position, .. } => Projection::Field(*position as u32),
                    Resolution::Builtin(Builtin::Next) => Projection::Next,
                    Resolution::Builtin(Builtin::Last) => Projection::Last,
                    _ => return None,
                };
                let mut place = self.place(base)?;
                place.path.push(step);
                Some(place)
            }
            ExpressionKind::Index { base, index } => {
                let mut place = self.place(base)?;
                let step = match self.checked.type_of(base.id) {
                    Type::Stack { .. } => Projection::Element(Box::new(self.index(index))),
                    _ => Projection::Field(self.evaluate_u32(index)?),
                };
                place.path.push(step);
                Some(place)
            }
            _ => None,
        }
    }

    /// Lowers the index of an element in a stack.
    pub(super) fn index(&mut self, index: &'a ast::Expression) -> Expression {
        let value = self.expression(index);
        self.sized(value, 32)
    }

    /// Converts a constant of type `int` to `bit<width>`, or to a wider type if the number does not
    /// fit in `width` bits. Returns any other value unchanged.
    pub(super) fn sized(&mut self, value: Expression, width: u32) -> Expression {
        let ir::ExpressionKind::Constant(ir::Value::Integer(number)) = &value.kind else {
            return value;
        };
        let width = width.max(number.bits().try_into().unwrap_or(u32::MAX).min(1 << 16));
        let bits = ir::bits::Bits::from_bigint(width, false, number);
        Expression {
            type_id: self.bit_type(width),
            kind: ir::ExpressionKind::Constant(ir::Value::Bits(bits)),
        }
    }

    /// Returns the place that an assignment writes, which may be a slice of a value. Reports a
    /// problem if the expression is not an l-value.
    pub(super) fn target(&mut self, expression: &'a ast::Expression) -> Option<Place> {
        let place = match &expression.kind {
            ExpressionKind::Slice { base, high, low } => {
                let place = self.target(base)?;
                let (high, low) = (self.evaluate_u32(high)?, self.evaluate_u32(low)?);
                Some(sliced(place, high, low))
            }
            ExpressionKind::PartSelect { base, low, width } => {
                let place = self.target(base)?;
                let (low, width) = (self.evaluate_u32(low)?, self.evaluate_u32(width)?);
                Some(sliced(place, low.saturating_add(width).saturating_sub(1), low))
            }
            // A cast to the same type, or to a `type` that is based on it, refers to the same
            // place.
            ExpressionKind::Cast { operand, .. } => self.target(operand),
            _ => self.place(expression),
        };
        if place.is_none() && self.problems.is_empty() {
            self.problem(expression.span, "this cannot be written to");
        }
        place
    }

    /// Returns the place with its indices saved in temporary variables. Later statements may then
    /// change variables that occur in an index without changing the place.
    pub(super) fn with_saved_indices(&mut self, place: Place) -> Place {
        let Place { variable, path } = place;
        let path = path
            .into_iter()
            .map(|step| match step {
                Projection::Element(index) => Projection::Element(Box::new(self.saved(*index))),
                other => other,
            })
            .collect();
        Place { variable, path }
    }

    /// Saves the current value of an expression in a temporary variable, and returns an expression
    /// that reads the variable. If no later statement can change the expression's value, returns
    /// the expression unchanged.
    pub(super) fn saved(&mut self, value: Expression) -> Expression {
        if self.is_stable(&value) {
            return value;
        }
        let type_id = value.type_id;
        let place = self.spilled(value);
        Expression { type_id, kind: ir::ExpressionKind::Read(place) }
    }

    /// Returns a place that contains the value of the expression. This is the place that the
    /// expression reads, if it only reads a place, and otherwise a temporary variable to which the
    /// value is assigned.
    pub(super) fn placed(&mut self, value: Expression) -> Place {
        match value.kind {
            ir::ExpressionKind::Read(place) => place,
            _ => self.spilled(value),
        }
    }

    /// Assigns the value to a new temporary variable, and returns the variable's place.
    pub(super) fn spilled(&mut self, value: Expression) -> Place {
        let temporary = Place::variable(self.temporary(value.type_id));
        self.block.push(ir::Statement {
            location: None,
            kind: ir::StatementKind::Assign { place: temporary.clone(), value },
        });
        temporary
    }

    fn is_stable(&self, value: &Expression) -> bool {
        match &value.kind {
            ir::ExpressionKind::Constant(_) | ir::ExpressionKind::Invalid => true,
            ir::ExpressionKind::Read(place) => {
                self.temporaries.contains(&place.variable)
                    && place.path.iter().all(|step| matches!(step, Projection::Field(_)))
            }
            ir::ExpressionKind::Unary(_, operand)
            | ir::ExpressionKind::Cast(operand)
            | ir::ExpressionKind::Slice { operand, .. } => self.is_stable(operand),
            ir::ExpressionKind::Composite(parts) | ir::ExpressionKind::Stack(parts) => {
                parts.iter().all(|part| self.is_stable(part))
            }
            _ => false,
        }
    }
}

/// Returns the place of the bits `high` to `low` of `place`. If `place` is a slice already, the two
/// slices are combined.
fn sliced(mut place: Place, high: u32, low: u32) -> Place {
    if let Some(Projection::Slice { low: offset, .. }) = place.path.last().cloned() {
        place.path.pop();
        place.path.push(Projection::Slice {
            high: high.saturating_add(offset),
            low: low.saturating_add(offset),
        });
    } else {
        place.path.push(Projection::Slice { high, low });
    }
    place
}
