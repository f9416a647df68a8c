//! Resolves the places of the IR (variables and parts of them) to addresses in the frame, the
//! working memory of a packet, and determines the layout of the values there.

use super::shape::{DATA, Header, Scalar, Shape, Storage};
use super::{Address, Element, Field, MAX_FRAME, Offset, Outcome, Resolver};
use crate::error::CompileError;
use ir::{Expression, ExpressionKind, Place, Projection, TypeId, Value, VariableId};
use std::sync::Arc;

/// A variable or a part of one, with its address in the frame (the packet's working memory).
pub(super) struct ResolvedPlace {
    pub(super) address: Address,
    pub(super) shape: Shape,
    /// The address of the header that this place is or belongs to as a field. `None` for all other
    /// places.
    pub(super) header: Option<Address>,
    /// The numbers of the highest and lowest bit, if the place is a slice of a number.
    pub(super) slice: Option<(u32, u32)>,
    /// The offset of the `nextIndex` of the header stack to which the last `next` in the place
    /// refers. `None` if the place has no `next`.
    pub(super) next: Option<Offset>,
    /// Whether the place is a member of a header union. Making a member valid invalidates the
    /// others.
    pub(super) is_member: bool,
}

impl Resolver<'_> {
    pub(super) fn refuse<T>(&self, what: &str) -> Outcome<T> {
        let place = self.layout.place_in_source(self.here);
        Err(CompileError::Unsupported { what: what.to_owned(), place })
    }

    /// Returns the error for a construct that neither generated code nor the interpreter can run.
    pub(super) fn refuse_for_good<T>(&self, what: &str) -> Outcome<T> {
        self.is_final.set(true);
        self.refuse(what)
    }

    /// Returns the description of a construct that was refused with `error`, if the interpreter can
    /// run it instead. Otherwise returns `error` again.
    pub(super) fn soft(&self, error: CompileError) -> Outcome<String> {
        match error {
            CompileError::Unsupported { what, .. } if !self.is_final.get() => Ok(what),
            error => Err(error),
        }
    }

    pub(super) fn shape(&mut self, type_id: TypeId) -> Shape {
        self.shapes.of(&self.layout.program, type_id)
    }

    /// Allocates space in the frame (the packet's working memory) for a value of this shape.
    pub(super) fn allocate(&mut self, shape: &Shape) -> Outcome<Offset> {
        let offset = self.frame;
        self.frame = self.frame.saturating_add(shape.size().div_ceil(8).saturating_mul(8));
        if self.frame > MAX_FRAME {
            self.refuse("a program with variables of this size")
        } else {
            Ok(offset)
        }
    }

    /// Allocates a number in the frame that generated code uses and that is no variable of the
    /// program.
    pub(super) fn temporary(&mut self, width: u32, signed: bool) -> Outcome<Field> {
        let bytes = width.div_ceil(8).next_power_of_two();
        let scalar = Scalar { width, signed, storage: Storage::Native { bytes } };
        let address = Address::fixed(self.allocate(&Shape::Scalar(scalar))?);
        Ok(Field { address, scalar })
    }

    /// Returns the offset and shape of a variable in the frame (the packet's working memory).
    /// Allocates the variable on its first use.
    pub(super) fn variable(&mut self, id: VariableId) -> Outcome<(Offset, Shape)> {
        let variable = self.layout.program.variables.get(id.index());
        let Some(variable) = variable else { return self.refuse("a variable that does not exist") };
        let shape = self.shape(variable.type_id);
        if let Some(offset) = self.places.get(id.index()).copied().flatten() {
            return Ok((offset, shape));
        }
        let offset = self.allocate(&shape)?;
        if let Some(place) = self.places.get_mut(id.index()) {
            *place = Some(offset);
        }
        Ok((offset, shape))
    }

    pub(super) fn resolve(&mut self, place: &Place) -> Outcome<ResolvedPlace> {
        let (offset, shape) = self.variable(place.variable)?;
        let address = Address::fixed(offset);
        let is_header = matches!(shape, Shape::Header(_) | Shape::Loose(..));
        let header = is_header.then_some(address);
        let mut at =
            ResolvedPlace { address, shape, header, slice: None, next: None, is_member: false };
        for step in &place.path {
            at = self.step(at, step)?;
        }
        match at.shape.missing() {
            Some(what) => self.refuse(what),
            None => Ok(at),
        }
    }

    /// Computes the address to which one more step of a place leads: to a field, an element or a
    /// slice. `at` is the part of the place up to this step.
    fn step(&self, at: ResolvedPlace, step: &Projection) -> Outcome<ResolvedPlace> {
        let ResolvedPlace { address, shape, header, next, .. } = at;
        let is_member = matches!(shape, Shape::Union(..));
        match (step, shape) {
            (Projection::Field(position), Shape::Struct(parts, _) | Shape::Union(parts, _)) => {
                let Some((offset, shape)) = parts.get(*position as usize) else {
                    return self.refuse("a field that does not exist");
                };
                let address = address.plus(*offset);
                let is_header = matches!(shape, Shape::Header(_) | Shape::Loose(..));
                let header = is_header.then_some(address);
                let shape = shape.clone();
                Ok(ResolvedPlace { address, shape, header, slice: None, next, is_member })
            }
            (Projection::Field(position), Shape::Loose(parts, _)) => {
                let Some((offset, shape)) = parts.get(*position as usize) else {
                    return self.refuse("a field that does not exist");
                };
                let (address, shape) = (address.plus(DATA + offset), shape.clone());
                Ok(ResolvedPlace { address, shape, header, slice: None, next, is_member })
            }
            (Projection::Field(position), Shape::Header(of)) => {
                let Some(field) = of.fields.get(*position as usize) else {
                    return self.refuse("a varbit as a value");
                };
                if !(1..=64).contains(&field.width) {
                    return self.refuse("a number of more than 64 bits");
                }
                if field.bit % 8 + field.width > 64 {
                    return self.refuse("a number that spans nine bytes");
                }
                let storage = Storage::Packed { bit: field.bit };
                let scalar = Scalar { width: field.width, signed: field.signed, storage };
                let (address, shape) = (address.plus(DATA), Shape::Scalar(scalar));
                Ok(ResolvedPlace { address, shape, header, slice: None, next, is_member })
            }
            (Projection::Element(index), Shape::Stack { element, size }) => {
                let Some(index) = constant_index(index).filter(|index| *index < size) else {
                    return self.refuse("an element of a stack at a computed index");
                };
                let address = address.plus(DATA + index * element.size());
                let shape = Shape::Header(element);
                Ok(ResolvedPlace {
                    address,
                    shape,
                    header: Some(address),
                    slice: None,
                    next,
                    is_member,
                })
            }
            (Projection::Next | Projection::Last, Shape::Stack { element, size }) => {
                if !self.in_parser {
                    return self.refuse("next and last outside of parsers");
                }
                if address.element.is_some() {
                    return self.refuse("a stack in a stack");
                }
                let is_last = matches!(step, Projection::Last);
                let next = address.offset;
                if let Some(known) = self.next_index(next) {
                    let index = if is_last { known.checked_sub(1) } else { Some(known) };
                    let Some(index) = index.filter(|index| *index < size) else {
                        return self.refuse("an element beyond the ends of a stack");
                    };
                    let address = Address::fixed(next + DATA + index * element.size());
                    let (header, shape) = (Some(address), Shape::Header(element));
                    let next = (!is_last).then_some(next);
                    return Ok(ResolvedPlace {
                        address,
                        shape,
                        header,
                        slice: None,
                        next,
                        is_member,
                    });
                }
                let found = Element { next, stride: element.size(), size, is_last };
                let address = Address { offset: next + DATA, element: Some(found) };
                let shape = Shape::Header(element);
                let next = (!is_last).then_some(next);
                Ok(ResolvedPlace {
                    address,
                    shape,
                    header: Some(address),
                    slice: None,
                    next,
                    is_member,
                })
            }
            (Projection::Slice { high, low }, shape @ Shape::Scalar(_)) => Ok(ResolvedPlace {
                address,
                shape,
                header,
                slice: Some((*high, *low)),
                next,
                is_member,
            }),
            (_, Shape::None(what)) => self.refuse(what),
            _ => self.refuse("a step into a value that is not composite"),
        }
    }

    /// Determines the address and representation of a place that must be one number of at most 64
    /// bits.
    pub(super) fn field(&mut self, place: &Place) -> Outcome<Field> {
        let found = self.resolve(place)?;
        match (found.shape, found.slice) {
            (Shape::Scalar(scalar), None) => Ok(Field { address: found.address, scalar }),
            (_, Some(_)) => self.refuse("a part of a number as an argument"),
            _ => self.refuse("a composite value where a number is expected"),
        }
    }

    /// Determines the address and layout of a place that must be a header.
    pub(super) fn header(&mut self, place: &Place) -> Outcome<(ResolvedPlace, Arc<Header>)> {
        let found = self.resolve(place)?;
        match &found.shape {
            Shape::Header(header) => {
                let header = Arc::clone(header);
                Ok((found, header))
            }
            _ => self.refuse("something that is not a header, as a header"),
        }
    }
}

pub(super) fn constant_index(index: &Expression) -> Option<u32> {
    match &index.kind {
        ExpressionKind::Constant(Value::Bits(bits)) if !bits.is_negative() => {
            bits.to_u64().and_then(|index| u32::try_from(index).ok())
        }
        ExpressionKind::Constant(Value::Integer(number)) => u32::try_from(number.clone()).ok(),
        _ => None,
    }
}
