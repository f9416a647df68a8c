//! Conversion of values between the frame (the packet's working memory), where generated code keeps
//! them, and the interpreter's variables.

use crate::error::InternalError;
use crate::resolved::moves::Move;
use crate::resolved::shape::{DATA, Header, Shape, Storage, TAIL};
use crate::value::Value;
use ir::bits::Bits;

/// The message of the internal error for a value that does not have the shape of the place in the
/// frame to or from which it is copied.
const OTHER_SHAPE: &str = "a value of another shape than its place in the frame";
/// The message of the internal error for a value that does not lie inside the frame (the packet's
/// working memory).
const NOT_IN_FRAME: &str = "a value that is not inside the frame";

/// The result of copying a value between the frame (the packet's working memory) and the
/// interpreter. An error means that an invariant of this crate is violated.
type Exchanged = Result<(), InternalError>;

/// Returns the part of a variable's value that `path` selects. The path lists positions of struct
/// fields and stack elements, the outermost first.
pub(super) fn part<'v>(value: &'v mut Value, path: &[u32]) -> Result<&'v mut Value, InternalError> {
    path.iter().try_fold(value, |value, position| {
        let (Value::Struct(parts) | Value::Stack { elements: parts, .. }) = value else {
            return Err(InternalError::new(OTHER_SHAPE));
        };
        parts.get_mut(*position as usize).ok_or_else(|| InternalError::new(OTHER_SHAPE))
    })
}

/// Copies a value from the frame to a variable of the interpreter.
pub(super) fn load_move(frame: &[u8], from: &Move, variable: &mut Value) -> Exchanged {
    load(frame, from.offset, &from.shape, part(variable, &from.path)?)
}

/// Copies a value from a variable of the interpreter to the frame.
pub(super) fn store_move(frame: &mut [u8], to: &Move, variable: &mut Value) -> Exchanged {
    store(frame, to.offset, &to.shape, part(variable, &to.path)?)
}

/// Reads a value of the given shape from the frame into `value`, which must have the same type.
pub(super) fn load(frame: &[u8], offset: u32, shape: &Shape, value: &mut Value) -> Exchanged {
    let at = |distance: u32| offset.saturating_add(distance);
    match (shape, value) {
        (Shape::Scalar(scalar), value) => {
            let Storage::Native { bytes } = scalar.storage else {
                return Err(InternalError::new("a field that is exchanged without its header"));
            };
            let number = u128::from(number(frame, offset, bytes)?);
            *value = Value::from_pattern(value, &Bits::unsigned(scalar.width, number));
        }
        (Shape::Wide { width, signed }, value) => {
            let bytes = bytes(frame, offset, width.div_ceil(8))?;
            *value = Value::Bits(Bits::from_be_bytes(*width, *signed, bytes));
        }
        (Shape::Varbit { .. }, value) => *value = varbit(frame, offset, at(DATA))?,
        (Shape::Header(header), Value::Header { valid, fields }) => {
            *valid = number(frame, offset, 1)? != 0;
            load_fields(bytes(frame, at(DATA), header.bytes())?, header, fields)?;
            if header.tail > 0 {
                let field = fields.get_mut(header.fields.len());
                let field = field.ok_or_else(|| InternalError::new(OTHER_SHAPE))?;
                *field = varbit(frame, at(TAIL), at(DATA + header.bytes()))?;
            }
        }
        (Shape::Loose(parts, _), Value::Header { valid, fields }) => {
            *valid = number(frame, offset, 1)? != 0;
            for ((distance, part), field) in parts.iter().zip(fields) {
                load(frame, at(DATA + distance), part, field)?;
            }
        }
        (Shape::Struct(parts, _), Value::Struct(fields))
        | (Shape::Union(parts, _), Value::Union(fields)) => {
            for ((distance, part), field) in parts.iter().zip(fields) {
                load(frame, at(*distance), part, field)?;
            }
        }
        (Shape::Stack { element, .. }, Value::Stack { elements, next }) => {
            *next = number(frame, offset, 4)? as u32;
            let shape = Shape::Header(element.clone());
            for (value, index) in elements.iter_mut().zip(0..) {
                load(frame, at(DATA + index * element.size()), &shape, value)?;
            }
        }
        (Shape::Row { element, .. }, Value::Stack { elements, next }) => {
            *next = number(frame, offset, 4)? as u32;
            for (value, index) in elements.iter_mut().zip(0..) {
                load(frame, at(DATA + index * element.size()), element, value)?;
            }
        }
        // A value without a place in the frame stays what it is.
        (Shape::None(_), _) => {}
        (
            Shape::Header(_)
            | Shape::Loose(..)
            | Shape::Struct(..)
            | Shape::Union(..)
            | Shape::Stack { .. }
            | Shape::Row { .. },
            _,
        ) => return Err(InternalError::new(OTHER_SHAPE)),
    }
    Ok(())
}

/// Reads a varbit from the frame. Its width in bits is stored at offset `width`, and its bits begin
/// at offset `data`.
fn varbit(frame: &[u8], width: u32, data: u32) -> Result<Value, InternalError> {
    let width = number(frame, width, 4)? as u32;
    let data = bytes(frame, data, width.div_ceil(8))?;
    let bits = Bits::read_packet(data, 0, width, false);
    Ok(Value::Varbits(bits.ok_or_else(|| InternalError::new(NOT_IN_FRAME))?))
}

fn load_fields(data: &[u8], header: &Header, fields: &mut [Value]) -> Exchanged {
    for (field, value) in header.fields.iter().zip(fields) {
        let bits = Bits::read_packet(data, u64::from(field.bit), field.width, field.signed);
        let bits = bits.ok_or_else(|| InternalError::new("a field that is not in its header"))?;
        *value = Value::from_pattern(value, &bits);
    }
    Ok(())
}

/// Writes a value of the given shape to the frame.
pub(super) fn store(frame: &mut [u8], offset: u32, shape: &Shape, value: &Value) -> Exchanged {
    let at = |distance: u32| offset.saturating_add(distance);
    match (shape, value) {
        (Shape::Scalar(scalar), value) => {
            let Storage::Native { bytes } = scalar.storage else {
                return Err(InternalError::new("a field that is exchanged without its header"));
            };
            let number = pattern(value)?.low_u64() & crate::resolved::mask(scalar.width);
            let number = number.to_le_bytes();
            let number = number.get(..bytes as usize);
            put(frame, offset, number.ok_or_else(|| InternalError::new(OTHER_SHAPE))?)
        }
        (Shape::Wide { width, signed }, value) => {
            put(frame, offset, &pattern(value)?.cast(*width, *signed).to_be_bytes())
        }
        (Shape::Varbit { most }, Value::Varbits(bits)) => {
            let mut data = Vec::with_capacity(most.div_ceil(8) as usize);
            bits.append_to_packet(&mut data, 8);
            put(frame, offset, &bits.width().to_le_bytes())?;
            put(frame, at(DATA), data.get(..most.div_ceil(8) as usize).unwrap_or(&data))
        }
        (Shape::Header(header), Value::Header { valid, fields }) => {
            put(frame, offset, &[u8::from(*valid)])?;
            let room = (header.bytes() + header.tail_bytes()) as usize;
            let mut data = Vec::with_capacity(room);
            let mut used = 8;
            for field in fields {
                used = pattern(field)?.append_to_packet(&mut data, used);
            }
            put(frame, at(DATA), data.get(..room).unwrap_or(&data))?;
            match fields.get(header.fields.len()) {
                Some(Value::Varbits(bits)) => put(frame, at(TAIL), &bits.width().to_le_bytes()),
                // The header ends with its last field of a fixed width.
                Some(_) | None => Ok(()),
            }
        }
        (Shape::Loose(parts, _), Value::Header { valid, fields }) => {
            put(frame, offset, &[u8::from(*valid)])?;
            let mut parts = parts.iter().zip(fields);
            parts.try_for_each(|((distance, part), field)| {
                store(frame, at(DATA + distance), part, field)
            })
        }
        (Shape::Struct(parts, _), Value::Struct(fields))
        | (Shape::Union(parts, _), Value::Union(fields)) => {
            let mut parts = parts.iter().zip(fields);
            parts.try_for_each(|((distance, part), field)| store(frame, at(*distance), part, field))
        }
        (Shape::Stack { element, .. }, Value::Stack { elements, next }) => {
            put(frame, offset, &next.to_le_bytes())?;
            let shape = Shape::Header(element.clone());
            let mut elements = elements.iter().zip(0..);
            elements.try_for_each(|(value, index)| {
                store(frame, at(DATA + index * element.size()), &shape, value)
            })
        }
        (Shape::Row { element, .. }, Value::Stack { elements, next }) => {
            put(frame, offset, &next.to_le_bytes())?;
            let mut elements = elements.iter().zip(0..);
            elements.try_for_each(|(value, index)| {
                store(frame, at(DATA + index * element.size()), element, value)
            })
        }
        // The value has no place in the frame.
        (Shape::None(_), _) => Ok(()),
        (
            Shape::Varbit { .. }
            | Shape::Header(_)
            | Shape::Loose(..)
            | Shape::Struct(..)
            | Shape::Union(..)
            | Shape::Stack { .. }
            | Shape::Row { .. },
            _,
        ) => Err(InternalError::new(OTHER_SHAPE)),
    }
}

fn pattern(value: &Value) -> Result<Bits, InternalError> {
    value.to_pattern().ok_or_else(|| InternalError::new(OTHER_SHAPE))
}

fn bytes(frame: &[u8], offset: u32, length: u32) -> Result<&[u8], InternalError> {
    let start = offset as usize;
    let bytes = frame.get(start..start.saturating_add(length as usize));
    bytes.ok_or_else(|| InternalError::new(NOT_IN_FRAME))
}

/// Reads a number of `length` bytes, at most eight, at an offset of the frame.
pub(super) fn number(frame: &[u8], offset: u32, length: u32) -> Result<u64, InternalError> {
    let mut number = [0; 8];
    let bytes = bytes(frame, offset, length)?;
    number.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Ok(u64::from_le_bytes(number))
}

fn put(frame: &mut [u8], offset: u32, data: &[u8]) -> Exchanged {
    let start = offset as usize;
    let to = frame.get_mut(start..start.saturating_add(data.len()));
    to.ok_or_else(|| InternalError::new(NOT_IN_FRAME))?.copy_from_slice(data);
    Ok(())
}
