//! Lowering of types. A declared type is lowered once for each distinct list of type arguments, and
//! any other type is lowered once.

use super::Lowering;
use crate::ast::{DeclarationId, DeclarationKind};
use crate::check::{Constant, Node, Type};
use crate::source::Span;
use ir::bits::Bits;

impl Lowering<'_> {
    /// Returns a type in which the type parameters of the current scope are replaced by the types
    /// for which they stand. If the result is too large, records the error and returns
    /// [`Type::Unknown`].
    pub(super) fn concrete(&self, ty: &Type) -> Type {
        let bindings = &self.scope.environment.types;
        if ty.parts_with(bindings).is_none() {
            self.checked.budget.huge_type();
            return Type::Unknown;
        }
        if let Err(exceeded) = self.checked.admit_type(ty, bindings) {
            self.checked.budget.exceeded(exceeded, self.at);
            return Type::Unknown;
        }
        ty.substitute(bindings)
    }

    pub(super) fn bool_type(&mut self) -> ir::TypeId {
        self.program.types.intern(ir::Type::Bool)
    }

    pub(super) fn bit_type(&mut self, width: u32) -> ir::TypeId {
        self.program.types.intern(ir::Type::Bits { width, signed: false })
    }

    /// Returns the id of the IR type that represents a type.
    pub(super) fn type_id(&mut self, ty: &Type) -> ir::TypeId {
        if let Some(id) = self.types.ids.get(ty) {
            return *id;
        }
        let concrete = self.concrete(ty);
        if let Some(id) = self.types.ids.get(&concrete) {
            return *id;
        }
        let id = self.new_type(&concrete);
        self.types.ids.insert(concrete, id);
        id
    }

    /// Lowers a type that was not lowered before, and returns the id of the IR type.
    fn new_type(&mut self, ty: &Type) -> ir::TypeId {
        ir::meter::count(1);
        match ty {
            Type::Bool => self.bool_type(),
            Type::Bits { width, signed } => {
                self.program.types.intern(ir::Type::Bits { width: *width, signed: *signed })
            }
            Type::Varbit { max_width } => {
                self.program.types.intern(ir::Type::Varbits { max_width: *max_width })
            }
            Type::Integer => self.program.types.intern(ir::Type::Integer),
            Type::Error => self.program.types.intern(ir::Type::Error),
            Type::String => self.program.types.intern(ir::Type::String),
            Type::Enum(id) => {
                let id = self.enum_id(*id);
                self.program.types.intern(ir::Type::Enum(id))
            }
            Type::SerializableEnum(id) => {
                self.user_type(*id);
                match self.checked.underlying(ty) {
                    Some(underlying) => self.type_id(&underlying.clone()),
                    None => self.unknown_type(ty),
                }
            }
            Type::NewType(id) => {
                self.user_type(*id);
                match self.checked.underlying(ty) {
                    Some(underlying) => self.type_id(&underlying.clone()),
                    None => self.unknown_type(ty),
                }
            }
            Type::Tuple(elements) => {
                let fields = elements
                    .iter()
                    .enumerate()
                    .map(|(position, element)| self.plain_field(&position.to_string(), element))
                    .collect();
                self.unnamed_composite(ir::CompositeKind::Tuple, fields)
            }
            Type::Record(fields) => {
                let fields =
                    fields.iter().map(|(name, field)| self.plain_field(name, field)).collect();
                self.unnamed_composite(ir::CompositeKind::Struct, fields)
            }
            Type::Stack { element, size } => {
                let element = self.type_id(element);
                self.program.types.intern(ir::Type::Stack { element, size: *size })
            }
            Type::Struct(named) => self.composite(ty, named.declaration, ir::CompositeKind::Struct),
            Type::Header(named) => self.composite(ty, named.declaration, ir::CompositeKind::Header),
            Type::HeaderUnion(named) => {
                self.composite(ty, named.declaration, ir::CompositeKind::HeaderUnion)
            }
            Type::ActionRun(table) => match self.entity(*table) {
                Some(super::Entity::Table(id)) => {
                    self.program.types.intern(ir::Type::ActionRun(id))
                }
                _ => self.unknown_type(ty),
            },
            Type::Set(inner) | Type::Name(inner) => self.type_id(inner),
            // A value of type `match_kind` is represented by the name of the match kind.
            Type::MatchKind => self.program.types.intern(ir::Type::String),
            // These types have no values, and occur only as type arguments of externs. `Any` is the
            // type of an omitted parameter.
            Type::Void | Type::Any | Type::List(_) => {
                self.unnamed_composite(ir::CompositeKind::Tuple, Vec::new())
            }
            _ => self.unknown_type(ty),
        }
    }

    fn unknown_type(&mut self, ty: &Type) -> ir::TypeId {
        self.problem(Span::nowhere(), format!("values of this type cannot be lowered: {ty:?}"));
        self.bool_type()
    }

    fn plain_field(&mut self, name: &str, ty: &Type) -> ir::Field {
        ir::Field {
            name: name.to_owned(),
            type_id: self.type_id(ty),
            user_type: self.user_type_of(ty),
            annotations: Vec::new(),
        }
    }

    fn unnamed_composite(&mut self, kind: ir::CompositeKind, fields: Vec<ir::Field>) -> ir::TypeId {
        let parts = fields.iter().map(|field| (field.name.clone(), field.type_id, field.user_type));
        let key = (kind == ir::CompositeKind::Tuple, parts.collect());
        if let Some(known) = self.types.unnamed.get(&key) {
            return *known;
        }
        // In some programs, the number of these types doubles with each line. Each type counts for
        // more elements if there are more types already, so that such programs are refused early.
        self.count_elements(self.program.types.composites.len() as u32 / 8);
        let number = self.types.names;
        self.types.names += 1;
        let prefix = if kind == ir::CompositeKind::Tuple { "tuple" } else { "record" };
        let id = self.program.types.add_composite(ir::Composite {
            name: format!("{prefix}_{number}"),
            kind,
            fields,
            annotations: Vec::new(),
            location: None,
        });
        self.types.unnamed.insert(key, id);
        id
    }

    fn composite(
        &mut self,
        ty: &Type,
        declaration: DeclarationId,
        kind: ir::CompositeKind,
    ) -> ir::TypeId {
        let fields = self
            .checked
            .fields(ty)
            .into_iter()
            .map(|field| ir::Field {
                name: field.field.name.text.to_string(),
                type_id: self.type_id(&field.ty),
                user_type: self.user_type_of(&field.ty),
                annotations: self.annotations(&field.field.annotations),
            })
            .collect::<Vec<_>>();
        // Each use of a generic composite may become a type of its own.
        self.count_elements(1 + fields.len() as u32);
        let annotations = self
            .declaration(declaration)
            .map(|declaration| self.annotations(&declaration.annotations))
            .unwrap_or_default();
        let mut name = self.checked.name(declaration).to_string();
        let arguments: Vec<String> = ty
            .named()
            .map(|named| named.arguments.clone())
            .iter()
            .flat_map(|arguments| arguments.iter())
            .map(|argument| {
                let id = self.type_id(argument);
                self.program.type_name(id)
            })
            .collect();
        if !arguments.is_empty() {
            name = format!("{name}<{}>", arguments.join(", "));
        }
        self.types.names += usize::from(is_name_of_unnamed(&name));
        let span = self.declaration(declaration).map(|declaration| declaration.name.span);
        let location = span.and_then(|span| self.location(span));
        self.program.types.add_composite(ir::Composite {
            name,
            kind,
            fields,
            annotations,
            location,
        })
    }

    fn enum_id(&mut self, id: DeclarationId) -> ir::EnumId {
        if let Some(known) = self.types.enums.get(&id) {
            return *known;
        }
        let (members, annotations) = match self.declaration(id) {
            Some(declaration) => match &declaration.kind {
                DeclarationKind::Enum { members, .. } => (
                    members.iter().map(|member| member.name.text.to_string()).collect(),
                    self.annotations(&declaration.annotations),
                ),
                _ => (Vec::new(), Vec::new()),
            },
            None => (Vec::new(), Vec::new()),
        };
        let new = ir::EnumId(self.program.types.enums.len() as u32);
        let name = self.checked.name(id).to_string();
        self.program.types.enums.push(ir::EnumType { name, members, annotations });
        self.types.enums.insert(id, new);
        new
    }

    /// Returns the position of a member in its enumeration, `error` or `match_kind`.
    pub(super) fn member_position(&self, member: DeclarationId) -> u32 {
        let members = self
            .checked
            .index
            .parent(member)
            .and_then(|parent| self.declaration(parent))
            .map(|declaration| match &declaration.kind {
                DeclarationKind::Enum { members, .. }
                | DeclarationKind::Error(members)
                | DeclarationKind::MatchKind(members) => members.as_slice(),
                _ => &[],
            })
            .unwrap_or_default();
        members.iter().position(|known| known.id == member).unwrap_or(0) as u32
    }

    /// If `ty` is a `type` or a serializable enumeration, returns the declared type, which P4Info
    /// describes in addition to the underlying type. Returns `None` for any other type.
    pub(super) fn user_type_of(&mut self, ty: &Type) -> Option<ir::UserTypeId> {
        match self.concrete(ty) {
            Type::NewType(id) | Type::SerializableEnum(id) => Some(self.user_type(id)),
            _ => None,
        }
    }

    fn user_type(&mut self, id: DeclarationId) -> ir::UserTypeId {
        if let Some(known) = self.types.user_types.get(&id) {
            return *known;
        }
        let declaration = self.declaration(id);
        let kind = match declaration.map(|declaration| &declaration.kind) {
            Some(DeclarationKind::NewType(original)) => {
                let original = self.checked.type_at(original.id).clone();
                ir::UserTypeKind::NewType {
                    original: self.type_id(&original),
                    original_user_type: self.user_type_of(&original),
                }
            }
            Some(DeclarationKind::Enum { underlying: Some(underlying), members }) => {
                let underlying = self.checked.type_at(underlying.id).clone();
                let underlying = self.type_id(&underlying);
                let (width, signed) = match self.program.types.get(underlying) {
                    ir::Type::Bits { width, signed } => (width, signed),
                    _ => (1, false),
                };
                let mut values = Vec::new();
                let mut member_annotations = Vec::new();
                for member in members {
                    let constant = member
                        .value
                        .as_ref()
                        .and_then(|value| self.checked.evaluate(value, &self.scope.environment));
                    let bits = constant
                        .and_then(|constant| number(&constant))
                        .map(|number| Bits::from_bigint(width, signed, &number))
                        .unwrap_or_else(|| Bits::zero(width, signed));
                    values.push((member.name.text.to_string(), bits));
                    member_annotations.push(self.annotations(&member.annotations));
                }
                ir::UserTypeKind::SerializableEnum {
                    underlying,
                    members: values,
                    member_annotations,
                }
            }
            _ => {
                let original = self.bool_type();
                ir::UserTypeKind::NewType { original, original_user_type: None }
            }
        };
        let annotations = declaration
            .map(|declaration| self.annotations(&declaration.annotations))
            .unwrap_or_default();
        let new = ir::UserTypeId(self.program.types.user_types.len() as u32);
        let name = self.checked.name(id).to_string();
        let location = declaration.and_then(|declaration| self.location(declaration.name.span));
        self.program.types.user_types.push(ir::UserType { name, kind, annotations, location });
        self.types.user_types.insert(id, new);
        new
    }

    /// Returns whether a type is `packet_in` or `packet_out`.
    pub(super) fn is_packet(&self, ty: &Type) -> bool {
        let Type::Extern(named) = ty else { return false };
        let name = self.checked.index.get(named.declaration).and_then(Node::name);
        name.is_some_and(|name| matches!(name.as_str(), "packet_in" | "packet_out"))
    }
}

/// The contents of a tuple (if the first element is true) or a record (if it is false). Each field
/// has a name, a type and, if it has one, a declared type.
pub(super) type Unnamed = (bool, Vec<(String, ir::TypeId, Option<ir::UserTypeId>)>);

/// Returns whether a name has the form of the names that the lowering generates for tuples and
/// records, such as `tuple_0`.
fn is_name_of_unnamed(name: &str) -> bool {
    ["tuple_", "record_"].iter().any(|prefix| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Returns the numeric value of a constant, or `None` if it is not a number or `bool`.
pub(super) fn number(constant: &Constant) -> Option<num_bigint::BigInt> {
    match constant {
        Constant::Integer(value) => Some(value.clone()),
        Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. } => {
            Some(bits.to_bigint())
        }
        Constant::Bool(value) => Some(u8::from(*value).into()),
        _ => None,
    }
}
