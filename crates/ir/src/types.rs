//! The types of a checked program, interned in an arena so that equal types have equal ids.

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
    /// The structs (including tuples), headers and header unions.
    pub composites: Vec<Composite>,
    /// The enumerations without an underlying type.
    pub enums: Vec<EnumType>,
    /// The `type` declarations and serializable enumerations. Only the control plane distinguishes
    /// their values from those of the underlying type.
    pub user_types: Vec<UserType>,
}

/// A map from each type to its id, which [`Types::intern`] uses. It is derived from the list of
/// types, so comparisons ignore it.
#[derive(Clone, Default)]
struct Ids {
    known: HashMap<Type, TypeId>,
    /// The number of types, from the start of the list, that the map contains.
    indexed: usize,
}

/// Prints nothing of the map, because its order differs between processes, and equal programs must
/// have equal debug texts.
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

/// The type by which values are represented. A `type` or serializable enumeration is represented by
/// its underlying type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// `bool`.
    Bool,
    /// `bit<W>` or `int<W>`. Serializable enumerations are represented by these types too.
    Bits {
        /// The width in bits, which may be zero.
        width: u32,
        /// Whether the type is `int<W>`.
        signed: bool,
    },
    /// `varbit<W>`, a string of bits whose length varies at run time.
    Varbits {
        /// The largest width in bits.
        max_width: u32,
    },
    /// The arbitrary-precision type `int`, only for constant arguments of externs.
    Integer,
    /// `error`. A value is a position in `Program::errors`.
    Error,
    /// An enumeration without an underlying type. A value is a position in its members.
    Enum(EnumId),
    /// `string`, only for constant arguments of externs such as `log_msg`.
    String,
    /// A struct, tuple, header or header union.
    Composite(CompositeId),
    /// An array of headers or header unions (a header stack) or of other elements.
    Stack {
        /// The type of an element.
        element: TypeId,
        /// The number of elements.
        size: u32,
    },
    /// The result `action_run` of applying the given table. A value is a `bit<32>`: the position in
    /// `Table::actions` of the action that ran.
    ActionRun(super::TableId),
}

/// A type with fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Composite {
    /// The name of the type in the source. The name of a specialised generic type includes its type
    /// arguments, and tuples are named `tuple_0` and so on.
    pub name: String,
    /// The kind of the type.
    pub kind: CompositeKind,
    /// The fields of the type, in order of declaration.
    pub fields: Vec<Field>,
    /// The annotations of the type, as written, such as `@controller_header`.
    pub annotations: Vec<Annotation>,
    /// The location of the type's declaration in the source, or `None` if it is not known.
    #[serde(default)]
    pub location: Option<Location>,
}

/// The kind of a composite type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompositeKind {
    /// A struct. Unlike a header, it has no validity bit.
    Struct,
    /// A tuple: a struct without a name.
    Tuple,
    /// A header, which has a validity bit and a layout in packets.
    Header,
    /// A header union, of which at most one member is valid.
    HeaderUnion,
}

/// A field of a composite type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The name of the field in the source, or the position of the field if the type is a tuple.
    pub name: String,
    /// The type by which values of the field are represented.
    pub type_id: TypeId,
    /// The declared type of the field if it is a `type` or a serializable enumeration, or else
    /// `None`.
    pub user_type: Option<UserTypeId>,
    /// The annotations of the field, as written, such as `@field_list` and `@optional`.
    pub annotations: Vec<Annotation>,
}

/// An enumeration without an underlying type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnumType {
    /// The name of the enumeration in the source.
    pub name: String,
    /// The names of the members, in order of declaration.
    pub members: Vec<String>,
    /// The annotations of the enumeration, as written.
    pub annotations: Vec<Annotation>,
}

/// A type that the source declares and whose values are represented by another type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserType {
    /// The name of the type in the source.
    pub name: String,
    /// The kind of declaration.
    pub kind: UserTypeKind,
    /// The annotations of the type, as written, such as `@p4runtime_translation`.
    pub annotations: Vec<Annotation>,
    /// The location of the type's declaration in the source, or `None` if it is not known.
    #[serde(default)]
    pub location: Option<Location>,
}

/// The kind of a [`UserType`]'s declaration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserTypeKind {
    /// A new type, `type T Name;`.
    NewType {
        /// The type that represents `T`.
        original: TypeId,
        /// The declared type `T` if it is itself a `type` or a serializable enumeration, or else
        /// `None`.
        original_user_type: Option<UserTypeId>,
    },
    /// A serializable enumeration, `enum bit<W> Name { A = 1, ... }`.
    SerializableEnum {
        /// The underlying type, such as `bit<8>`.
        underlying: TypeId,
        /// The names and values of the members, in order of declaration.
        members: Vec<(String, Bits)>,
        /// The annotations of each member.
        member_annotations: Vec<Vec<Annotation>>,
    },
}

impl Types {
    /// Returns the id of `ty`, which is added to the program's types if they do not contain it yet.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        // Index types that were added without `intern`, by reading JSON. If another program wrote a
        // type twice into the JSON, the first occurrence counts.
        let indexed = self.ids.indexed;
        let new = self.types.get(indexed..).unwrap_or_default();
        for (id, known) in (indexed as u32..).map(TypeId).zip(new) {
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

    /// Adds a composite type and returns its id. The type is distinct from all others, even from
    /// one with equal fields.
    pub fn add_composite(&mut self, composite: Composite) -> TypeId {
        self.composites.push(composite);
        self.intern(Type::Composite(CompositeId((self.composites.len() - 1) as u32)))
    }

    /// Returns the type with the given id.
    ///
    /// # Panics
    /// Panics if the id is out of range.
    #[must_use]
    pub fn get(&self, id: TypeId) -> Type {
        self.types[id.index()]
    }

    /// Returns the type with the given id, or `None` if the id is out of range.
    #[must_use]
    pub fn find(&self, id: TypeId) -> Option<Type> {
        self.types.get(id.index()).copied()
    }

    /// Returns the composite type with the given id, or `None` if the id is that of another kind of
    /// type or out of range.
    #[must_use]
    pub fn composite(&self, id: TypeId) -> Option<&Composite> {
        match self.get(id) {
            Type::Composite(composite) => self.composites.get(composite.index()),
            _ => None,
        }
    }

    /// Returns an iterator over all types in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, Type)> + '_ {
        self.types.iter().enumerate().map(|(position, ty)| (TypeId(position as u32), *ty))
    }

    /// Returns the number of bits that a value of the type takes in a packet: the sum over all
    /// fields, where a `varbit` counts as zero and a header union counts as its widest member.
    /// Returns `None` for types that cannot be part of a packet (`int`, `string`, `error`,
    /// `ActionRun` and enumerations without an underlying type).
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

    /// Checks that the first occurrence of a type counts if another program wrote the type twice,
    /// and that a new type is appended.
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
