//! Translates assignments to the resolved form: of numbers, and of structs, headers and other
//! values with parts.

use crate::resolved::shape::{DATA, Scalar, Shape, Storage};
use crate::resolved::{Address, Block, Expression, Field, Outcome, Resolver, Statement};
use ir::{ExpressionKind, Place, TypeId};

impl Resolver<'_> {
    pub(super) fn assign(
        &mut self,
        place: &Place,
        value: &ir::Expression,
        out: &mut Block,
    ) -> Outcome {
        let found = self.resolve(place)?;
        self.no_member(&found)?;
        if let Shape::Scalar(scalar) = found.shape {
            let field = Field { address: found.address, scalar };
            let value = self.expression(value)?;
            out.push(match found.slice {
                None => Statement::Store { field, value },
                Some((high, low)) => {
                    Statement::StoreSlice { field, low, width: high - low + 1, value }
                }
            });
            return Ok(());
        }
        self.assign_parts(found.address, &found.shape, value, out)
    }

    /// Translates an assignment of the P4 program to statements of the resolved program. A header
    /// that the assignment makes invalid keeps the values of its fields.
    fn assign_parts(
        &mut self,
        to: Address,
        shape: &Shape,
        value: &ir::Expression,
        out: &mut Block,
    ) -> Outcome {
        match &value.kind {
            ExpressionKind::Read(place) => {
                let from = self.resolve(place)?;
                if from.slice.is_some() || !is_same(shape, &from.shape) {
                    return self.refuse("a value with another layout inside another one");
                }
                let shape = shape.clone();
                out.push(Statement::Assign { to, from: from.address, shape });
                Ok(())
            }
            ExpressionKind::Composite(values) => {
                let header = matches!(shape, Shape::Header(_)).then_some(to);
                let mut fields = Vec::with_capacity(values.len());
                for (position, value) in values.iter().enumerate() {
                    let field = self.part(to, shape, position)?;
                    fields.push((field, self.expression(value)?));
                }
                out.push(Statement::Build { header, fields });
                Ok(())
            }
            ExpressionKind::Invalid if matches!(shape, Shape::Header(_) | Shape::Loose(..)) => {
                // Assigning an invalid header leaves the fields unchanged.
                let flag =
                    Scalar { width: 1, signed: false, storage: Storage::Native { bytes: 1 } };
                let field = Field { address: to, scalar: flag };
                out.push(Statement::Store { field, value: Expression::Constant(0) });
                Ok(())
            }
            _ => self.refuse("a composite value that is computed"),
        }
    }

    /// Returns the field at a position of a struct or header, which must be a number.
    fn part(&self, at: Address, shape: &Shape, position: usize) -> Outcome<Field> {
        match shape {
            Shape::Header(header) => match header.fields.get(position) {
                Some(field)
                    if (1..=64).contains(&field.width) && field.bit % 8 + field.width <= 64 =>
                {
                    let storage = Storage::Packed { bit: field.bit };
                    let scalar = Scalar { width: field.width, signed: field.signed, storage };
                    Ok(Field { address: at.plus(DATA), scalar })
                }
                _ => self.refuse("a number of more than 64 bits"),
            },
            Shape::Struct(parts, _) => match parts.get(position) {
                Some((offset, Shape::Scalar(scalar))) => {
                    Ok(Field { address: at.plus(*offset), scalar: *scalar })
                }
                _ => self.refuse("a composite value inside another one"),
            },
            _ => self.refuse("the elements of a stack as one value"),
        }
    }

    /// Stores the initial value of a variable, overwriting all of its bytes.
    pub(super) fn initialise(
        &mut self,
        to: (u32, &Shape),
        value: &ir::Expression,
        out: &mut Block,
    ) -> Outcome {
        let (offset, shape) = to;
        if let Some(what) = shape.missing() {
            return self.refuse(what);
        }
        let length = out.len();
        let Err(error) = self.initialised(offset, shape, value, out) else { return Ok(()) };
        let why = self.soft(error)?;
        out.truncate(length);
        if let Shape::Wide { width: width @ 65.., .. } = shape {
            let Err(error) = self.initialise_wide(offset, *width, value, out) else {
                return Ok(());
            };
            self.soft(error)?;
            out.truncate(length);
        }
        self.evaluated(value, offset, shape, why, out)
    }

    fn initialised(
        &mut self,
        offset: u32,
        shape: &Shape,
        value: &ir::Expression,
        out: &mut Block,
    ) -> Outcome {
        let at = Address::fixed(offset);
        if let Shape::Scalar(scalar) = shape {
            let field = Field { address: at, scalar: *scalar };
            let value = self.expression(value)?;
            out.push(Statement::Store { field, value });
            return Ok(());
        }
        if let ExpressionKind::Read(place) = &value.kind {
            let from = self.resolve(place)?;
            if from.slice.is_some() || !is_same(shape, &from.shape) {
                return self.refuse("a value with another layout inside another one");
            }
            let from = from.address;
            out.push(Statement::Move { to: offset, from, bytes: shape.size() });
            return Ok(());
        }
        out.push(Statement::Clear { at, bytes: shape.size() });
        self.assign_parts(at, shape, value, out)
    }

    /// Copies a parameter, or the value that a function returns, to its destination after a call.
    pub(super) fn copy_out(
        &mut self,
        place: &Place,
        from: (u32, &Shape),
        type_id: Option<TypeId>,
        out: &mut Block,
    ) -> Outcome {
        let length = out.len();
        let Err(error) = self.copied_out(place, from, out) else { return Ok(()) };
        let why = self.soft(error)?;
        let Some(type_id) = type_id else { return self.refuse_for_good(&why) };
        out.truncate(length);
        self.written(place, from, type_id, why, out)
    }

    fn copied_out(&mut self, place: &Place, from: (u32, &Shape), out: &mut Block) -> Outcome {
        let found = self.resolve(place)?;
        if found.address.element.is_some() {
            return self.refuse_for_good("next and last as an argument that is written");
        }
        self.no_member(&found)?;
        let (offset, shape) = from;
        let from = Address::fixed(offset);
        match (shape, found.shape) {
            (Shape::Scalar(scalar), Shape::Scalar(to)) => {
                let value = Expression::Load(Field { address: from, scalar: *scalar });
                let field = Field { address: found.address, scalar: to };
                out.push(match found.slice {
                    None => Statement::Store { field, value },
                    Some((high, low)) => {
                        Statement::StoreSlice { field, low, width: high - low + 1, value }
                    }
                });
            }
            (shape, to) if found.slice.is_none() && is_same(shape, &to) => {
                out.push(Statement::Assign { to: found.address, from, shape: to });
            }
            _ => return self.refuse("a value with another layout inside another one"),
        }
        Ok(())
    }
}

/// Returns whether two layouts of a type represent a value by the same bytes in the frame. They do
/// not for a number of more than 64 bits if one of them is a field of a header, which has the
/// header's layout.
fn is_same(one: &Shape, other: &Shape) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other) && one.size() == other.size()
}
