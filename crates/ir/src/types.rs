//! Types of a checked program: an arena in which equal types have equal ids.

use super::{Annotation, CompositeId, EnumId, Location, TypeId, UserTypeId};
use crate::bits::Bits;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// All types of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Types {
    types: Vec<Type>,
    #[serde(skip)]
    ids: Ids,
    /// Structs (tuples among them), headers and header unions.
    pub composites: Vec<Composite>,
    /// Enumerations without underlying type.
    pub enums: Vec<EnumType>,
    /// What the control plane may be told about a value beside its bits.
    pub user_types: Vec<UserType>,
}

/// The ids of types, for [`Types::intern`]. They follow from the list of types, so they make no difference.
#[derive(Clone, Default)]
struct Ids {
    known: HashMap<Type, TypeId>,
    /// The number of types of the list that are in the map.
    indexed: usize,
}

/// Ranks compare programs by this text, and the order of a map differs from process to process.
impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl PartialEq for Ids {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// How a value is represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// `bool`.
    Bool,
    /// `bit<W>` or `int<W>`; serializable enumerations too.
    Bits {
        /// In bits; zero is allowed.
        width: u32,
        /// `int<W>`.
        signed: bool,
    },
    /// `varbit<W>`.
    Varbits {
        /// Largest width in bits.
        max_width: u32,
    },
    /// `int`: only constants that an extern takes without a width.
    Integer,
    /// `error`: a position in `Program::errors`.
    Error,
    /// An enumeration without underlying type: a position in its members.
    Enum(EnumId),
    /// `string`: only constants, for `log_msg` and the like.
    String,
    /// A struct, tuple, header or header union.
    Composite(CompositeId),
    /// A header stack (of headers or header unions).
    Stack {
        /// Type of an element.
        element: TypeId,
        /// Number of elements.
        size: u32,
    },
    /// The outcome of a table: which of `Table::actions` ran. A value is a `bit<32>` pattern, the
    /// position in that list.
    ActionRun(super::TableId),
}

/// A type with fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Composite {
    /// Name in the source; specialised generics have their arguments in it, tuples are `tuple_0`.
    pub name: String,
    /// What it is.
    pub kind: CompositeKind,
    /// In order of declaration.
    pub fields: Vec<Field>,
    /// As written (`@controller_header` and others).
    pub annotations: Vec<Annotation>,
    /// The place of the declaration in the source.
    #[serde(default)]
    pub location: Option<Location>,
}

/// What a composite is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompositeKind {
    /// No validity of its own.
    Struct,
    /// A struct without a name.
    Tuple,
    /// Has a validity bit and a layout in a packet.
    Header,
    /// At most one field is valid.
    HeaderUnion,
}

/// A field of a composite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Name in the source; a position for tuples.
    pub name: String,
    /// Representation.
    pub type_id: TypeId,
    /// What it was declared as, where that says more than the representation.
    pub user_type: Option<UserTypeId>,
    /// As written (`@field_list`, `@optional` and others).
    pub annotations: Vec<Annotation>,
}

/// An enumeration without underlying type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnumType {
    /// Name in the source.
    pub name: String,
    /// Members in order.
    pub members: Vec<String>,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// A type of the source that is represented by another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserType {
    /// Name in the source.
    pub name: String,
    /// Which kind of declaration it is.
    pub kind: UserTypeKind,
    /// As written (`@p4runtime_translation` and others).
    pub annotations: Vec<Annotation>,
    /// The place of the declaration in the source.
    #[serde(default)]
    pub location: Option<Location>,
}

/// Declarations that have another representation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserTypeKind {
    /// `type T Name;`
    NewType {
        /// Representation of `T`.
        original: TypeId,
        /// If `T` itself is such a type.
        original_user_type: Option<UserTypeId>,
    },
    /// `enum bit<W> Name { A = 1, ... }`
    SerializableEnum {
        /// The underlying type.
        underlying: TypeId,
        /// Names and values in order.
        members: Vec<(String, Bits)>,
        /// Annotations of each member.
        member_annotations: Vec<Vec<Annotation>>,
    },
}

impl Types {
    /// The id of `ty`, which is added if it is new.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        // After they came from JSON. Of equal ones, which only a foreign writer makes, the first counts.
        for (id, known) in (0..).map(TypeId).zip(&self.types).skip(self.ids.indexed) {
            self.ids.known.entry(*known).or_insert(id);
        }
        let next = TypeId(self.types.len() as u32);
        let id = *self.ids.known.entry(ty).or_insert(next);
        if id == next {
            self.types.push(ty);
        }
        self.ids.indexed = self.types.len();
        id
    }

    /// Adds a composite, which is a type of its own even if another one has equal fields.
    pub fn add_composite(&mut self, composite: Composite) -> TypeId {
        self.composites.push(composite);
        self.intern(Type::Composite(CompositeId((self.composites.len() - 1) as u32)))
    }

    /// The type behind an id.
    ///
    /// # Panics
    /// If the id is of another program.
    #[must_use]
    pub fn get(&self, id: TypeId) -> Type {
        self.types[id.index()]
    }

    /// The type behind an id, if this program has it.
    #[must_use]
    pub fn find(&self, id: TypeId) -> Option<Type> {
        self.types.get(id.index()).copied()
    }

    /// The composite behind a type, if it is one.
    #[must_use]
    pub fn composite(&self, id: TypeId) -> Option<&Composite> {
        match self.get(id) {
            Type::Composite(composite) => self.composites.get(composite.index()),
            _ => None,
        }
    }

    /// All types in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, Type)> + '_ {
        self.types.iter().enumerate().map(|(position, ty)| (TypeId(position as u32), *ty))
    }

    /// Width in bits that values of this type take in a packet: the sum over all fields, with
    /// `varbit` counted as nothing and a header union as its largest member. `None` for types
    /// without a layout (`int`, `string`, `error`, enumerations without underlying type).
    #[must_use]
    pub fn width_in_bits(&self, id: TypeId) -> Option<u64> {
        match self.get(id) {
            Type::Bool => Some(1),
            Type::Bits { width, .. } => Some(u64::from(width)),
            Type::Varbits { .. } => Some(0),
            Type::Composite(composite) => {
                let composite = self.composites.get(composite.index())?;
                let mut widths =
                    composite.fields.iter().map(|field| self.width_in_bits(field.type_id));
                if composite.kind == CompositeKind::HeaderUnion {
                    widths.try_fold(0, |most, width| Some(most.max(width?)))
                } else {
                    widths.try_fold(0, |sum: u64, width| Some(sum + width?))
                }
            }
            Type::Stack { element, size } => Some(self.width_in_bits(element)? * u64::from(size)),
            Type::Integer | Type::Error | Type::Enum(_) | Type::String | Type::ActionRun(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_have_equal_text() {
        let text = || {
            let mut types = Types::default();
            for width in 1..64 {
                types.intern(Type::Bits { width, signed: false });
            }
            format!("{types:?}")
        };
        assert_eq!(text(), text());
    }

    /// Of equal types, which only a foreign writer makes, the first counts, and a new one has its own place.
    #[test]
    fn types_that_come_from_json_are_found() {
        let text = r#"{"types": ["bool", "integer", "bool"], "composites": [], "enums": [], "user_types": []}"#;
        let mut types: Types = serde_json::from_str(text).expect("types");
        assert_eq!(types.intern(Type::Bool), TypeId(0));
        assert_eq!(types.intern(Type::Integer), TypeId(1));
        let new = types.intern(Type::Bits { width: 7, signed: false });
        assert_eq!((new, types.intern(Type::Bits { width: 7, signed: false })), (TypeId(3), new));
    }
}
