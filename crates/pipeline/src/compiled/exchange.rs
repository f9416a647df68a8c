//! Conversion of values between the frame, where generated code keeps them, and the interpreter's
//! variables.

use crate::bound::moves::Move;
use crate::bound::shape::{DATA, Header, Shape, Storage, TAIL};
use crate::value::Value;
use ir::bits::Bits;

/// Returns the part of a variable's value at a path of positions.
pub(super) fn part<'v>(value: &'v mut Value, path: &[u32]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, position| {
        let parts = match value {
            Value::Struct(parts) | Value::Stack { elements: parts, .. } => parts,
            _ => return None,
        };
        parts.get_mut(*position as usize)
    })
}

/// Copies a value from the frame to a variable of the interpreter.
pub(super) fn load_move(frame: &[u8], from: &Move, variable: &mut Value) {
    if let Some(value) = part(variable, &from.path) {
        load(frame, from.offset, &from.shape, value);
    }
}

/// Copies a variable of the interpreter to the frame.
pub(super) fn store_move(frame: &mut [u8], to: &Move, variable: &mut Value) {
    if let Some(value) = part(variable, &to.path) {
        store(frame, to.offset, &to.shape, value);
    }
}

/// Reads a value of the given shape from the frame. `value` must have the same type.
pub(super) fn load(frame: &[u8], offset: u32, shape: &Shape, value: &mut Value) {
    let at = |distance: u32| offset.saturating_add(distance);
    match (shape, value) {
        (Shape::Scalar(scalar), value) => {
            let Storage::Native { bytes } = scalar.storage else { return };
            let number = u128::from(number(frame, offset, bytes));
            *value = Value::from_pattern(value, &Bits::unsigned(scalar.width, number));
        }
        (Shape::Wide { width, signed }, value) => {
            let bytes = bytes(frame, offset, width.div_ceil(8));
            *value = Value::Bits(Bits::from_be_bytes(*width, *signed, bytes));
        }
        (Shape::Varbit { .. }, value) => {
            let width = number(frame, offset, 4) as u32;
            let data = bytes(frame, at(DATA), width.div_ceil(8));
            let bits = Bits::read_packet(data, 0, width, false);
            *value = Value::Varbits(bits.unwrap_or_else(|| Bits::zero(0, false)));
        }
        (Shape::Header(header), Value::Header { valid, fields }) => {
            *valid = number(frame, offset, 1) != 0;
            load_fields(bytes(frame, at(DATA), header.bytes()), header, fields);
            if header.tail > 0
                && let Some(varbit) = fields.get_mut(header.fields.len())
            {
                let width = number(frame, at(TAIL), 4) as u32;
                let data = bytes(frame, at(DATA + header.bytes()), width.div_ceil(8));
                let bits = Bits::read_packet(data, 0, width, false);
                *varbit = Value::Varbits(bits.unwrap_or_else(|| Bits::zero(0, false)));
            }
        }
        (Shape::Loose(parts, _), Value::Header { valid, fields }) => {
            *valid = number(frame, offset, 1) != 0;
            for ((distance, part), field) in parts.iter().zip(fields) {
                load(frame, at(DATA + distance), part, field);
            }
        }
        (Shape::Struct(parts, _), Value::Struct(fields))
        | (Shape::Union(parts, _), Value::Union(fields)) => {
            for ((distance, part), field) in parts.iter().zip(fields) {
                load(frame, at(*distance), part, field);
            }
        }
        (Shape::Stack { element, .. }, Value::Stack { elements, next }) => {
            *next = number(frame, offset, 4) as u32;
            let shape = Shape::Header(element.clone());
            for (value, index) in elements.iter_mut().zip(0..) {
                load(frame, at(DATA + index * element.size()), &shape, value);
            }
        }
        (Shape::Row { element, .. }, Value::Stack { elements, next }) => {
            *next = number(frame, offset, 4) as u32;
            for (value, index) in elements.iter_mut().zip(0..) {
                load(frame, at(DATA + index * element.size()), element, value);
            }
        }
        _ => {}
    }
}

fn load_fields(data: &[u8], header: &Header, fields: &mut [Value]) {
    for (field, value) in header.fields.iter().zip(fields) {
        let bits = Bits::read_packet(data, u64::from(field.bit), field.width, field.signed);
        if let Some(bits) = bits {
            *value = Value::from_pattern(value, &bits);
        }
    }
}

/// Writes a value of the given shape to the frame.
pub(super) fn store(frame: &mut [u8], offset: u32, shape: &Shape, value: &Value) {
    let at = |distance: u32| offset.saturating_add(distance);
    match (shape, value) {
        (Shape::Scalar(scalar), value) => {
            let Storage::Native { bytes } = scalar.storage else { return };
            let number = value.to_pattern().map_or(0, |pattern| pattern.low_u64());
            let number = number & crate::bound::mask(scalar.width);
            let number = number.to_le_bytes();
            put(frame, offset, number.get(..bytes as usize).unwrap_or(&[]));
        }
        (Shape::Wide { width, signed }, value) => {
            if let Some(pattern) = value.to_pattern() {
                put(frame, offset, &pattern.cast(*width, *signed).to_be_bytes());
            }
        }
        (Shape::Varbit { most }, Value::Varbits(bits)) => {
            let mut data = Vec::with_capacity(most.div_ceil(8) as usize);
            bits.append_to_packet(&mut data, 8);
            put(frame, offset, &bits.width().to_le_bytes());
            put(frame, at(DATA), data.get(..most.div_ceil(8) as usize).unwrap_or(&data));
        }
        (Shape::Header(header), Value::Header { valid, fields }) => {
            put(frame, offset, &[u8::from(*valid)]);
            let room = (header.bytes() + header.tail_bytes()) as usize;
            let mut data = Vec::with_capacity(room);
            let mut used = 8;
            for field in fields {
                if let Some(pattern) = field.to_pattern() {
                    used = pattern.append_to_packet(&mut data, used);
                }
            }
            put(frame, at(DATA), data.get(..room).unwrap_or(&data));
            if let Some(Value::Varbits(bits)) = fields.get(header.fields.len()) {
                put(frame, at(TAIL), &bits.width().to_le_bytes());
            }
        }
        (Shape::Loose(parts, _), Value::Header { valid, fields }) => {
            put(frame, offset, &[u8::from(*valid)]);
            for ((distance, part), field) in parts.iter().zip(fields) {
                store(frame, at(DATA + distance), part, field);
            }
        }
        (Shape::Struct(parts, _), Value::Struct(fields))
        | (Shape::Union(parts, _), Value::Union(fields)) => {
            for ((distance, part), field) in parts.iter().zip(fields) {
                store(frame, at(*distance), part, field);
            }
        }
        (Shape::Stack { element, .. }, Value::Stack { elements, next }) => {
            put(frame, offset, &next.to_le_bytes());
            let shape = Shape::Header(element.clone());
            for (value, index) in elements.iter().zip(0..) {
                store(frame, at(DATA + index * element.size()), &shape, value);
            }
        }
        (Shape::Row { element, .. }, Value::Stack { elements, next }) => {
            put(frame, offset, &next.to_le_bytes());
            for (value, index) in elements.iter().zip(0..) {
                store(frame, at(DATA + index * element.size()), element, value);
            }
        }
        _ => {}
    }
}

fn bytes(frame: &[u8], offset: u32, length: u32) -> &[u8] {
    let start = offset as usize;
    frame.get(start..start.saturating_add(length as usize)).unwrap_or(&[])
}

pub(super) fn number(frame: &[u8], offset: u32, length: u32) -> u64 {
    let mut number = [0; 8];
    number.iter_mut().zip(bytes(frame, offset, length)).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(number)
}

fn put(frame: &mut [u8], offset: u32, data: &[u8]) {
    let start = offset as usize;
    if let Some(to) = frame.get_mut(start..start.saturating_add(data.len())) {
        to.copy_from_slice(data);
    }
}
