//! The leaves of values. Each value of the program is flattened into a list of leaves: numbers,
//! validities of headers, and indexes of header stacks.
//!
//! A header has its validity before its fields, and a stack has its next index before its elements.
//! A `varbit` has two leaves: its bits, right-aligned with zeros above its length, and its length
//! in bits.

use crate::execute::Unsupported;
use ir::{CompositeKind, Program, Type, TypeId, VariableId};

/// The largest number of leaves that all variables of a program may have together.
const MAXIMUM_LEAVES: usize = 1 << 17;

/// A leaf: a number, a validity or an index that is a part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// A number of this many bits.
    Number(u32),
    /// The validity of a header.
    Validity,
    /// The next index of a header stack.
    Next,
    /// The bits of a `varbit` of at most this many bits.
    Varbits(u32),
    /// The length of a `varbit` in bits.
    Length,
}

/// The width in bits of a next index, and of a `varbit` length.
pub(crate) const INDEX: u32 = 32;

impl Leaf {
    /// Returns the number of bits of the leaf.
    pub(crate) fn width(self) -> u32 {
        match self {
            Self::Number(width) | Self::Varbits(width) => width,
            Self::Validity => 1,
            Self::Next | Self::Length => INDEX,
        }
    }
}

/// A part of a composite value, such as a field. It is given by the position of its first leaf, and
/// by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: usize,
    pub(crate) type_id: TypeId,
}

/// The elements of a header stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    pub(crate) type_id: TypeId,
    pub(crate) count: u32,
    /// The number of leaves of each element.
    pub(crate) stride: usize,
}

impl Elements {
    /// Returns the position of an element's first leaf among the leaves of the stack.
    pub(crate) fn offset(self, index: u32) -> usize {
        1 + index as usize * self.stride
    }
}

/// The leaves of all types of a program, and the positions of its variables in the frame, which is
/// the list of the leaves of all variables.
#[derive(Debug)]
pub(crate) struct Shapes<'p> {
    program: &'p Program,
    leaves: Vec<Vec<Leaf>>,
    /// The position in the frame of each variable's first leaf.
    variables: Vec<usize>,
    /// The number of leaves of all variables.
    total: usize,
}

impl<'p> Shapes<'p> {
    /// Lays out the variables of a program.
    ///
    /// # Errors
    ///
    /// Returns an error if the variables have too many leaves.
    pub(crate) fn new(program: &'p Program) -> Result<Self, Unsupported> {
        let count = program.types.iter().count();
        let mut shapes = Self {
            program,
            leaves: Vec::with_capacity(count),
            variables: Vec::with_capacity(program.variables.len()),
            total: 0,
        };
        // A type comes after the types of its parts or before them, so each is expanded by itself.
        for (type_id, _) in program.types.iter() {
            let mut leaves = Vec::new();
            shapes.collect(type_id, &mut leaves)?;
            shapes.leaves.push(leaves);
        }
        for variable in &program.variables {
            shapes.variables.push(shapes.total);
            shapes.total += shapes.size(variable.type_id);
            if shapes.total > MAXIMUM_LEAVES {
                return Err(Unsupported::new("variables of so many fields"));
            }
        }
        Ok(shapes)
    }

    fn collect(&self, type_id: TypeId, leaves: &mut Vec<Leaf>) -> Result<(), Unsupported> {
        if leaves.len() > MAXIMUM_LEAVES {
            return Err(Unsupported::new("a type of so many fields"));
        }
        match self.program.types.get(type_id) {
            Type::Bool => leaves.push(Leaf::Number(1)),
            Type::Bits { width, .. } => leaves.push(Leaf::Number(width)),
            Type::Varbits { max_width } => {
                leaves.extend([Leaf::Varbits(max_width), Leaf::Length]);
            }
            Type::Error | Type::Enum(_) | Type::ActionRun(_) => leaves.push(Leaf::Number(32)),
            // Values of these types are constants in arguments of externs.
            Type::Integer | Type::String => {}
            Type::Composite(_) => {
                let composite = self.program.types.composite(type_id);
                let composite = composite.ok_or_else(|| Unsupported::new("a type"))?;
                if composite.kind == CompositeKind::Header {
                    leaves.push(Leaf::Validity);
                }
                for field in &composite.fields {
                    self.collect(field.type_id, leaves)?;
                }
            }
            Type::Stack { element, size } => {
                leaves.push(Leaf::Next);
                let mut of_element = Vec::new();
                self.collect(element, &mut of_element)?;
                for _ in 0..size {
                    leaves.extend_from_slice(&of_element);
                    if leaves.len() > MAXIMUM_LEAVES {
                        return Err(Unsupported::new("a stack of so many fields"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the leaves that a value of this type has.
    pub(crate) fn leaves(&self, type_id: TypeId) -> &[Leaf] {
        self.leaves.get(type_id.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of leaves that a value of this type has.
    pub(crate) fn size(&self, type_id: TypeId) -> usize {
        self.leaves(type_id).len()
    }

    /// Returns the number of leaves of all variables.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Returns the position and type of a variable in the frame.
    pub(crate) fn variable(&self, id: VariableId) -> Option<Part> {
        let variable = self.program.variables.get(id.index())?;
        let offset = *self.variables.get(id.index())?;
        Some(Part { offset, type_id: variable.type_id })
    }

    /// Returns the position and type of a field of a composite type.
    pub(crate) fn field(&self, type_id: TypeId, position: u32) -> Option<Part> {
        let composite = self.program.types.composite(type_id)?;
        let before = composite.fields.get(..position as usize)?;
        let field = composite.fields.get(position as usize)?;
        let validity = usize::from(composite.kind == CompositeKind::Header);
        let before: usize = before.iter().map(|field| self.size(field.type_id)).sum();
        Some(Part { offset: validity + before, type_id: field.type_id })
    }

    /// Returns the positions and types of the fields of a composite type, in order.
    pub(crate) fn fields(&self, type_id: TypeId) -> Vec<Part> {
        let count = self.program.types.composite(type_id).map_or(0, |found| found.fields.len());
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        (0..count).filter_map(|position| self.field(type_id, position)).collect()
    }

    /// Returns the kind of a composite type.
    pub(crate) fn kind(&self, type_id: TypeId) -> Option<CompositeKind> {
        self.program.types.composite(type_id).map(|composite| composite.kind)
    }

    /// Returns the elements of a header-stack type.
    pub(crate) fn elements(&self, type_id: TypeId) -> Option<Elements> {
        match self.program.types.get(type_id) {
            Type::Stack { element, size } => {
                Some(Elements { type_id: element, count: size, stride: self.size(element) })
            }
            Type::Bool
            | Type::Bits { .. }
            | Type::Varbits { .. }
            | Type::Integer
            | Type::Error
            | Type::Enum(_)
            | Type::String
            | Type::Composite(_)
            | Type::ActionRun(_) => None,
        }
    }

    /// Returns the positions in the frame of the next indexes of all header stacks.
    pub(crate) fn next_indexes(&self) -> Vec<usize> {
        let mut positions = Vec::new();
        for (variable, offset) in self.program.variables.iter().zip(&self.variables) {
            let leaves = self.leaves(variable.type_id).iter().enumerate();
            let next = leaves.filter(|(_, leaf)| **leaf == Leaf::Next);
            positions.extend(next.map(|(position, _)| offset + position));
        }
        positions
    }
}
