//! How values of each type lie in the frame.
//!
//! Headers: a byte that is 1 while the header is valid, and from the eighth byte on its bits as in the packet. Behind
//! them are eight bytes that belong to nothing, so that a load of a whole word that begins in a header ends in it.
//! Stacks: the next index in 32 bits, and from the eighth byte on the elements. All else in order, each number aligned
//! to its size; a number of more than 64 bits is in network order, in whole bytes. Zeros are the initial value of every
//! type.
//!
//! A header that ends with a varbit has the bits that this holds at [`TAIL`], and the varbit where it is in the packet.
//!
//! A header with another varbit, or with something else than numbers in it, has its flag too, and behind it its fields as
//! a struct has them. Code moves such values; what is computed with them, the interpreter does (see [`super::moves`]).

use ir::{CompositeKind, Program, Type, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// From the flag of a header to its bits, and from the next index of a stack to its elements.
pub(crate) const DATA: u32 = 8;

/// From the flag of a header to the bits that the varbit at its end holds, as 32 bits.
pub(crate) const TAIL: u32 = 4;

/// A number of 1 to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) width: u32,
    pub(crate) signed: bool,
    pub(crate) storage: Storage,
}

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In the machine's order of bytes: 1, 2, 4 or 8 of them.
    Native { bytes: u32 },
    /// Network order, so many bits after the address, which is that of the header's first bit.
    Packed { bit: u32 },
    /// A part of a number of more than 64 bits: network order, so many bits after the address, which is that of so many
    /// bytes.
    Wide { bit: u32, bytes: u32 },
}

/// How a value lies in the frame.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Scalar(Scalar),
    /// A header: fields by their first bit and type.
    Header(Arc<Header>),
    /// Parts by offset.
    Struct(Arc<Vec<(u32, Shape)>>, u32),
    Stack {
        element: Arc<Header>,
        size: u32,
    },
    /// A number of more than 64 bits, or of none.
    Wide {
        width: u32,
        signed: bool,
    },
    /// Its length in bits as 32 bits, from the eighth byte on its bits as in the packet.
    Varbit {
        most: u32,
    },
    /// A header whose fields are not bit behind bit: from [`DATA`] on parts by offset, as those of a struct.
    Loose(Arc<Vec<(u32, Shape)>>, u32),
    /// Members of a header union by offset.
    Union(Arc<Vec<(u32, Shape)>>, u32),
    /// A stack of loose headers or of unions.
    Row {
        element: Arc<Shape>,
        size: u32,
    },
    /// What this form has no room for; it may be there as long as nobody touches it.
    None(&'static str),
}

/// A header's layout.
#[derive(Debug)]
pub(crate) struct Header {
    /// Of the fields.
    pub(crate) bits: u32,
    pub(crate) fields: Vec<PackedField>,
    /// Most bits of a varbit behind the fields, which end with a byte then; zero without one.
    pub(crate) tail: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedField {
    pub(crate) bit: u32,
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

impl Header {
    /// Bytes of its fields.
    pub(crate) fn bytes(&self) -> u32 {
        self.bits.div_ceil(8)
    }

    /// Most bytes of the varbit behind its fields.
    pub(crate) fn tail_bytes(&self) -> u32 {
        self.tail.div_ceil(8)
    }

    /// Bytes with the flag and the room behind, a multiple of eight.
    pub(crate) fn size(&self) -> u32 {
        DATA + (self.bytes() + self.tail_bytes()).next_multiple_of(8) + 8
    }
}

impl Shape {
    /// Bytes in the frame.
    pub(crate) fn size(&self) -> u32 {
        match self {
            Self::Scalar(scalar) => match scalar.storage {
                Storage::Native { bytes } => bytes,
                Storage::Packed { .. } | Storage::Wide { .. } => 0,
            },
            Self::Header(header) => header.size(),
            Self::Struct(_, size) | Self::Union(_, size) => *size,
            Self::Loose(_, size) => DATA.saturating_add(*size),
            Self::Stack { element, size } => {
                DATA.saturating_add(element.size().saturating_mul(*size))
            }
            Self::Row { element, size } => {
                DATA.saturating_add(element.size().saturating_mul(*size))
            }
            Self::Wide { width, .. } => width.div_ceil(8),
            Self::Varbit { most } => DATA.saturating_add(most.div_ceil(8)),
            Self::None(_) => 0,
        }
    }

    fn alignment(&self) -> u32 {
        match self {
            Self::Scalar(_) => self.size().max(1),
            _ => 8,
        }
    }

    /// Why it cannot be touched, if it cannot.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        match self {
            Self::None(what) => Some(what),
            Self::Struct(parts, _) | Self::Loose(parts, _) | Self::Union(parts, _) => {
                parts.iter().find_map(|(_, part)| part.missing())
            }
            Self::Row { element, .. } => element.missing(),
            _ => None,
        }
    }
}

/// Shapes of types, each worked out once.
#[derive(Debug, Default)]
pub(crate) struct Shapes(HashMap<TypeId, Shape>);

impl Shapes {
    pub(crate) fn of(&mut self, program: &Program, type_id: TypeId) -> Shape {
        if let Some(known) = self.0.get(&type_id) {
            return known.clone();
        }
        let shape = self.make(program, type_id);
        self.0.insert(type_id, shape.clone());
        shape
    }

    fn make(&mut self, program: &Program, type_id: TypeId) -> Shape {
        let native = |width: u32, signed: bool| {
            let bytes = width.div_ceil(8).next_power_of_two();
            Shape::Scalar(Scalar { width, signed, storage: Storage::Native { bytes } })
        };
        match program.types.find(type_id) {
            Some(Type::Bool) => native(1, false),
            Some(Type::Bits { width, signed }) if (1..=64).contains(&width) => {
                native(width, signed)
            }
            Some(Type::Bits { width, signed }) => Shape::Wide { width, signed },
            Some(Type::Error | Type::Enum(_) | Type::ActionRun(_)) => native(32, false),
            Some(Type::Varbits { max_width }) => Shape::Varbit { most: max_width },
            Some(Type::Integer | Type::String) | None => Shape::None("a value without a width"),
            Some(Type::Stack { element, size }) => match self.of(program, element) {
                Shape::Header(element) if element.tail == 0 => Shape::Stack { element, size },
                Shape::None(what) => Shape::None(what),
                element => Shape::Row { element: Arc::new(element), size },
            },
            Some(Type::Composite(id)) => {
                let Some(composite) = program.types.composites.get(id.index()) else {
                    return Shape::None("a type that is not there");
                };
                let fields = composite.fields.iter().map(|field| field.type_id);
                if composite.kind == CompositeKind::Header
                    && let Some(header) = header(program, fields.clone())
                {
                    return Shape::Header(Arc::new(header));
                }
                let shapes: Vec<Shape> = fields.map(|field| self.of(program, field)).collect();
                let (parts, size) = structure(shapes);
                match composite.kind {
                    CompositeKind::Header => Shape::Loose(Arc::new(parts), size),
                    CompositeKind::HeaderUnion => Shape::Union(Arc::new(parts), size),
                    CompositeKind::Struct | CompositeKind::Tuple => {
                        Shape::Struct(Arc::new(parts), size)
                    }
                }
            }
        }
    }
}

/// Parts one behind the other, and the size of all.
fn structure(shapes: Vec<Shape>) -> (Vec<(u32, Shape)>, u32) {
    let mut end: u32 = 0;
    let mut parts = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let start =
            end.saturating_add(shape.alignment() - 1) / shape.alignment() * shape.alignment();
        end = start.saturating_add(shape.size());
        parts.push((start, shape));
    }
    (parts, end.div_ceil(8).saturating_mul(8))
}

/// A header whose fields lie bit behind bit; `None` if they are not all numbers, but for a varbit at the end.
fn header(program: &Program, fields: impl Iterator<Item = TypeId>) -> Option<Header> {
    let mut header = Header { bits: 0, fields: Vec::new(), tail: 0 };
    for field in fields {
        if header.tail > 0 {
            return None;
        }
        let (width, signed) = match program.types.find(field) {
            Some(Type::Bits { width, signed }) => (width, signed),
            Some(Type::Bool) => (1, false),
            Some(Type::Varbits { max_width }) if header.bits.is_multiple_of(8) => {
                header.tail = max_width;
                continue;
            }
            _ => return None,
        };
        header.fields.push(PackedField { bit: header.bits, width, signed });
        header.bits = header.bits.saturating_add(width);
    }
    (header.bits <= 1 << 20 && header.tail <= 1 << 20).then_some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(width: u32) -> Shape {
        let bytes = width.div_ceil(8).next_power_of_two();
        Shape::Scalar(Scalar { width, signed: false, storage: Storage::Native { bytes } })
    }

    #[test]
    fn numbers_are_aligned_to_their_size() {
        let (parts, size) = structure([9, 1, 48, 32, 8].map(scalar).into_iter().collect());
        let starts: Vec<u32> = parts.iter().map(|(start, _)| *start).collect();
        assert_eq!((starts, size), (vec![0, 2, 8, 16, 20], 24));
    }

    #[test]
    fn a_word_that_begins_in_a_header_ends_in_it() {
        for (bits, tail) in
            [1, 8, 63, 64, 65, 112, 160].map(|bits| [(bits, 0), (bits, 40)]).concat()
        {
            let header = Header { bits, fields: Vec::new(), tail };
            assert!(header.size() >= DATA + (bits - 1) / 8 + tail / 8 + 8, "{bits} bits, {tail}");
            assert_eq!(header.size() % 8, 0);
        }
    }
}
