//! The layout of values of each type in the frame.
//!
//! A header begins with a byte that is 1 while the header is valid. Its bits follow at offset 8
//! ([`DATA`]), in the order of the packet, and then at least eight unused bytes, so that a load of
//! a whole word that begins in a header also ends in it. A stack begins with its `nextIndex` in 32
//! bits, and its elements follow at offset 8. Other values have their parts in order, each number
//! aligned to its size. A number of more than 64 bits is in network order, in whole bytes. The
//! initial value of every type is all zeros.
//!
//! If a header ends with a varbit, the length of the varbit in bits is at [`TAIL`], and the
//! varbit's contents are after its fields, as in the packet.
//!
//! A header with a varbit elsewhere, or with fields that are not numbers, has a flag too, followed
//! by its fields in the layout of a struct. Generated code only moves such values; the interpreter
//! computes with them (see [`super::moves`]).

use ir::{CompositeKind, Program, Type, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// The offset of a header's bits from its validity flag, and of a stack's elements from its
/// `nextIndex`.
pub(crate) const DATA: u32 = 8;

/// The offset from a header's validity flag to the length in bits of the varbit at the header's
/// end. The length is a 32-bit number.
pub(crate) const TAIL: u32 = 4;

/// The layout of a number of 1 to 64 bits. Action data may have up to 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) width: u32,
    pub(crate) signed: bool,
    pub(crate) storage: Storage,
}

/// The representation of a number in the frame (the packet's working memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// The machine's byte order, in 1, 2, 4 or 8 bytes.
    Native { bytes: u32 },
    /// Network byte order. The number begins `bit` bits after the address, which is that of the
    /// first bit of the header that contains the number.
    Packed { bit: u32 },
    /// A part of a number of more than 64 bits, in network byte order. The part begins `bit` bits
    /// after the address of the number, which has `bytes` bytes.
    Wide { bit: u32, bytes: u32 },
}

/// The layout of a type's values in the frame, the packet's working memory.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Scalar(Scalar),
    /// A header whose fields are stored without padding, as in the packet.
    Header(Arc<Header>),
    /// A struct: each part with its offset, and the size of the struct in bytes.
    Struct(Arc<Vec<(u32, Shape)>>, u32),
    Stack {
        element: Arc<Header>,
        size: u32,
    },
    /// A number of more than 64 bits, or of zero bits.
    Wide {
        width: u32,
        signed: bool,
    },
    /// A varbit: its length in bits as a 32-bit number, and its contents, which start at [`DATA`],
    /// in the order of the packet.
    Varbit {
        most: u32,
    },
    /// A header whose fields are stored differently than in the packet: after [`DATA`], it has the
    /// layout of a struct with the given size in bytes.
    Loose(Arc<Vec<(u32, Shape)>>, u32),
    /// A header union: each member with its offset, and the size of the union in bytes.
    Union(Arc<Vec<(u32, Shape)>>, u32),
    /// A stack whose elements are [`Shape::Loose`] headers or unions.
    Row {
        element: Arc<Shape>,
        size: u32,
    },
    /// A type that the resolved form cannot represent, with the reason. A program may declare
    /// variables of this type but not use them.
    None(&'static str),
}

/// The layout of a header whose fields are stored without padding, as in the packet.
#[derive(Debug)]
pub(crate) struct Header {
    /// The number of bits of all fields, without the varbit at the end.
    pub(crate) bits: u32,
    pub(crate) fields: Vec<PackedField>,
    /// The maximum number of bits of the varbit at the end of the header. Zero if there is none. If
    /// there is one, it begins at a byte boundary.
    pub(crate) tail: u32,
}

/// The position of a field in its header, in bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedField {
    pub(crate) bit: u32,
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

impl Header {
    /// Returns the size in bytes of the header's fields, without the varbit at the end.
    pub(crate) fn bytes(&self) -> u32 {
        self.bits.div_ceil(8)
    }

    /// Returns the maximum size in bytes of the varbit at the end of the header.
    pub(crate) fn tail_bytes(&self) -> u32 {
        self.tail.div_ceil(8)
    }

    /// Returns the size in bytes that the header takes in the frame (the packet's working memory),
    /// including its validity flag and the unused bytes at its end. It is a multiple of eight.
    pub(crate) fn size(&self) -> u32 {
        DATA + (self.bytes() + self.tail_bytes()).next_multiple_of(8) + 8
    }
}

impl Shape {
    /// Returns the size in bytes of a value of this shape in the frame (the packet's working
    /// memory).
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

    /// Returns the reason why generated code cannot use values of this shape, or `None` if it can.
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

/// A cache of the layouts of types.
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

    /// Determines the layout of a type's values.
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
                    return Shape::None("a type that does not exist");
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

/// Lays out the parts of a struct one after another. Returns each with its offset, and their total
/// size in bytes.
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

/// Returns the layout of a header without padding. Returns `None` if the header is too large, or if
/// a field is not a number. A varbit at the end is permitted if it begins at a byte boundary.
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
