//! Conversion of types to P4Info: descriptions of data types, and `type_info` with the named types
//! that these descriptions use.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use p4runtime::p4info::translation_mappings;
use p4runtime::proto::config::{
    P4BitTypeSpec, P4BitstringLikeTypeSpec, P4BoolType, P4DataTypeSpec, P4EnumTypeSpec,
    P4ErrorType, P4ErrorTypeSpec, P4HeaderStackTypeSpec, P4HeaderTypeSpec,
    P4HeaderUnionStackTypeSpec, P4HeaderUnionTypeSpec, P4IntTypeSpec, P4NamedType, P4NewTypeSpec,
    P4NewTypeTranslation, P4SerializableEnumTypeSpec, P4StructTypeSpec, P4TupleTypeSpec,
    P4TypeInfo, P4VarbitTypeSpec, p4_bitstring_like_type_spec as bitstring,
    p4_data_type_spec as data, p4_enum_type_spec, p4_header_type_spec, p4_header_union_type_spec,
    p4_new_type_spec, p4_new_type_translation, p4_serializable_enum_type_spec, p4_struct_type_spec,
};

use super::annotations::{control_plane_name, find, parse_integer, pass};
use super::bytes::padded;
use super::fault::{Faults, P4InfoErrorKind};
use ir::{
    Annotation, AnnotationBody, Composite, CompositeKind, Field, Program, Type, TypeId, UserType,
    UserTypeId, UserTypeKind,
};

/// The type that controllers use for the values of a type with `@p4runtime_translation` (P4Runtime
/// specification, section 17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ControllerType {
    String,
    Bits(i32),
}

/// Parses the annotation `@p4runtime_translation(uri, string)`, `(uri, bit<W>)` or `(uri, W)`.
/// Returns the URI and the type that controllers use, or `None` if there is no such annotation or
/// its form is invalid.
fn translation(annotations: &[Annotation]) -> Option<(String, ControllerType)> {
    let annotation = find(annotations, "p4runtime_translation")?;
    let AnnotationBody::Tokens(tokens) = &annotation.body else { return None };
    let mut parts = tokens.splitn(2, |token| token == ",");
    let uri = match parts.next()? {
        [uri] => uri.strip_prefix('"')?.strip_suffix('"')?.to_owned(),
        _ => return None,
    };
    let controller = match parts.next()? {
        [word] if word == "string" => ControllerType::String,
        [number] => ControllerType::Bits(width(number)?),
        [bit, open, number, close] if bit == "bit" && open == "<" && close == ">" => {
            ControllerType::Bits(width(number)?)
        }
        _ => return None,
    };
    Some((uri, controller))
}

fn width(number: &str) -> Option<i32> {
    parse_integer(number).as_ref().and_then(BigInt::to_i32)
}

/// A collector of the named types that the objects of a P4Info use.
pub(super) struct TypeCollector<'p> {
    program: &'p Program,
    info: P4TypeInfo,
}

impl<'p> TypeCollector<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self { program, info: P4TypeInfo::default() }
    }

    pub(super) fn finish(self) -> P4TypeInfo {
        self.info
    }

    fn user_type(&self, id: Option<UserTypeId>) -> Option<&'p UserType> {
        self.program.types.user_types.get(id?.index())
    }

    /// Returns the width in bits of a value as the control plane sees it. If
    /// `@p4runtime_translation` translates the declared type, this is the width of the resulting
    /// type. It is 0 for strings and `error`.
    pub(super) fn control_plane_width(&self, ty: TypeId, user: Option<UserTypeId>) -> i32 {
        if let Some(user) = self.user_type(user)
            && let Some((_, controller)) = translation(&user.annotations)
        {
            return match controller {
                ControllerType::String => 0,
                ControllerType::Bits(width) => width,
            };
        }
        match self.program.types.get(ty) {
            // The width is not constant. p4c counts only the bits that are always present, and
            // there are none.
            Type::Varbits { .. } => 0,
            _ => self
                .program
                .types
                .width_in_bits(ty)
                .map_or(0, |width| i32::try_from(width).unwrap_or(i32::MAX)),
        }
    }

    /// Returns the name of a type that is declared with `type`, for the P4Info fields `type_name`
    /// and `index_type_name`. Returns `None` for any other type.
    pub(super) fn type_name(&self, user: Option<UserTypeId>) -> Option<P4NamedType> {
        let user = self.user_type(user)?;
        matches!(user.kind, UserTypeKind::NewType { .. })
            .then(|| P4NamedType { name: user.name.clone() })
    }

    /// Returns the control-plane name of an enumeration without an underlying type, or `None` for
    /// any other type.
    pub(super) fn enum_name(&self, ty: TypeId) -> Option<P4NamedType> {
        let Type::Enum(id) = self.program.types.get(ty) else { return None };
        let declared = self.program.types.enums.get(id.index())?;
        let name = control_plane_name(&declared.annotations, &declared.name).to_owned();
        Some(P4NamedType { name })
    }

    /// Returns the P4Info description of a type, and collects the named types that it contains.
    pub(super) fn specify(
        &mut self,
        ty: TypeId,
        user: Option<UserTypeId>,
        errors: &mut Faults,
    ) -> P4DataTypeSpec {
        let spec = match self.user_type(user) {
            Some(user) => self.user_type_spec(user, errors),
            None => self.plain_spec(ty, errors),
        };
        P4DataTypeSpec { type_spec: Some(spec) }
    }

    fn plain_spec(&mut self, ty: TypeId, errors: &mut Faults) -> data::TypeSpec {
        match self.program.types.get(ty) {
            Type::Bool => data::TypeSpec::Bool(P4BoolType {}),
            Type::Bits { .. } | Type::Varbits { .. } => data::TypeSpec::Bitstring(self.bits(ty)),
            // These types have no width or exist only at compile time. p4c refuses to describe
            // them.
            Type::Integer | Type::String | Type::ActionRun(_) => {
                data::TypeSpec::Bitstring(bit_string(bitstring::TypeSpec::Bit(P4BitTypeSpec {
                    bitwidth: 0,
                })))
            }
            Type::Error => {
                if self.info.error.is_none() {
                    let members = self.program.errors.clone();
                    self.info.error = Some(P4ErrorTypeSpec { members });
                }
                data::TypeSpec::Error(P4ErrorType {})
            }
            Type::Enum(id) => {
                let name = self.enum_name(ty).unwrap_or_default();
                if let Some(declared) = self.program.types.enums.get(id.index())
                    && !self.info.enums.contains_key(&name.name)
                {
                    let members = declared
                        .members
                        .iter()
                        .map(|member| p4_enum_type_spec::Member {
                            name: member.clone(),
                            ..Default::default()
                        })
                        .collect();
                    let spec = P4EnumTypeSpec { members, ..Default::default() };
                    self.info.enums.insert(name.name.clone(), spec);
                }
                data::TypeSpec::Enum(name)
            }
            Type::Stack { element, size } => self.stack(element, size, errors),
            Type::Composite(_) => match self.program.types.composite(ty) {
                Some(composite) => self.composite(composite, errors),
                None => data::TypeSpec::Tuple(P4TupleTypeSpec::default()),
            },
        }
    }

    fn bits(&self, ty: TypeId) -> P4BitstringLikeTypeSpec {
        let narrow = |width: u32| i32::try_from(width).unwrap_or(i32::MAX);
        bit_string(match self.program.types.get(ty) {
            Type::Bits { width, signed: true } => {
                bitstring::TypeSpec::Int(P4IntTypeSpec { bitwidth: narrow(width) })
            }
            Type::Varbits { max_width } => {
                bitstring::TypeSpec::Varbit(P4VarbitTypeSpec { max_bitwidth: narrow(max_width) })
            }
            _ => bitstring::TypeSpec::Bit(P4BitTypeSpec {
                bitwidth: self.control_plane_width(ty, None),
            }),
        })
    }

    fn stack(&mut self, element: TypeId, size: u32, errors: &mut Faults) -> data::TypeSpec {
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        match self.plain_spec(element, errors) {
            data::TypeSpec::HeaderUnion(union) => {
                data::TypeSpec::HeaderUnionStack(P4HeaderUnionStackTypeSpec {
                    header_union: Some(union),
                    size,
                })
            }
            data::TypeSpec::Header(header) => {
                data::TypeSpec::HeaderStack(P4HeaderStackTypeSpec { header: Some(header), size })
            }
            _ => data::TypeSpec::HeaderStack(P4HeaderStackTypeSpec { header: None, size }),
        }
    }

    fn composite(&mut self, composite: &'p Composite, errors: &mut Faults) -> data::TypeSpec {
        let name = composite_name(self.program, composite);
        match composite.kind {
            CompositeKind::Tuple => {
                let members = composite
                    .fields
                    .iter()
                    .map(|field| self.specify(field.type_id, field.user_type, errors))
                    .collect();
                data::TypeSpec::Tuple(P4TupleTypeSpec { members })
            }
            CompositeKind::Struct => {
                if !self.info.structs.contains_key(&name) {
                    let members = composite
                        .fields
                        .iter()
                        .map(|field| p4_struct_type_spec::Member {
                            name: field_name(field),
                            type_spec: Some(self.specify(field.type_id, field.user_type, errors)),
                        })
                        .collect();
                    let spec = P4StructTypeSpec { members, ..Default::default() };
                    self.info.structs.insert(name.clone(), spec);
                }
                data::TypeSpec::Struct(P4NamedType { name })
            }
            CompositeKind::Header => {
                if !self.info.headers.contains_key(&name) {
                    let members = flatten(self.program, composite)
                        .into_iter()
                        .map(|field| p4_header_type_spec::Member {
                            type_spec: Some(self.bits(field.type_id)),
                            name: field.name,
                        })
                        .collect();
                    let spec = P4HeaderTypeSpec { members, ..Default::default() };
                    self.info.headers.insert(name.clone(), spec);
                }
                data::TypeSpec::Header(P4NamedType { name })
            }
            CompositeKind::HeaderUnion => {
                if !self.info.header_unions.contains_key(&name) {
                    let members = composite
                        .fields
                        .iter()
                        .map(|field| {
                            let header = match self.plain_spec(field.type_id, errors) {
                                data::TypeSpec::Header(header) => Some(header),
                                _ => None,
                            };
                            p4_header_union_type_spec::Member { name: field_name(field), header }
                        })
                        .collect();
                    let spec = P4HeaderUnionTypeSpec { members, ..Default::default() };
                    self.info.header_unions.insert(name.clone(), spec);
                }
                data::TypeSpec::HeaderUnion(P4NamedType { name })
            }
        }
    }

    fn user_type_spec(&mut self, user: &'p UserType, errors: &mut Faults) -> data::TypeSpec {
        let name = control_plane_name(&user.annotations, &user.name).to_owned();
        match &user.kind {
            UserTypeKind::NewType { original, original_user_type } => {
                if !self.info.new_types.contains_key(&name) {
                    let around = errors.at(user.location);
                    let spec = self.new_type(user, *original, *original_user_type, errors);
                    errors.at(around);
                    self.info.new_types.insert(name.clone(), spec);
                }
                data::TypeSpec::NewType(P4NamedType { name })
            }
            UserTypeKind::SerializableEnum { underlying, members, .. } => {
                if !self.info.serializable_enums.contains_key(&name) {
                    let members = members
                        .iter()
                        .map(|(name, value)| p4_serializable_enum_type_spec::Member {
                            name: name.clone(),
                            value: padded(value).into(),
                            ..Default::default()
                        })
                        .collect();
                    let bitwidth = self.control_plane_width(*underlying, None);
                    let spec = P4SerializableEnumTypeSpec {
                        underlying_type: Some(P4BitTypeSpec { bitwidth }),
                        members,
                        ..Default::default()
                    };
                    self.info.serializable_enums.insert(name.clone(), spec);
                }
                data::TypeSpec::SerializableEnum(P4NamedType { name })
            }
        }
    }

    /// Returns the P4Info description of a `type` declaration. If it is based on another `type`,
    /// and so on, the type at the end of the chain is described.
    fn new_type(
        &mut self,
        user: &'p UserType,
        original: TypeId,
        original_user_type: Option<UserTypeId>,
        errors: &mut Faults,
    ) -> P4NewTypeSpec {
        let mut end = (original, original_user_type);
        // The chain cannot be longer than the list of declared types.
        for _ in 0..self.program.types.user_types.len() {
            match self.user_type(end.1).map(|user| &user.kind) {
                Some(UserTypeKind::NewType { original, original_user_type }) => {
                    end = (*original, *original_user_type);
                }
                _ => break,
            }
        }
        let original_type = self.specify(end.0, end.1, errors);
        let representation = match translation(&user.annotations) {
            None => {
                if find(&user.annotations, "p4runtime_translation").is_some() {
                    errors.push(P4InfoErrorKind::TranslationArguments { name: user.name.clone() });
                }
                p4_new_type_spec::Representation::OriginalType(original_type)
            }
            Some((uri, controller)) => {
                if !matches!(self.program.types.get(end.0), Type::Bits { .. }) {
                    errors.push(P4InfoErrorKind::Translation { name: user.name.clone() });
                }
                let sdn_type = match controller {
                    ControllerType::String => p4_new_type_translation::SdnType::SdnString(
                        p4_new_type_translation::SdnString {},
                    ),
                    ControllerType::Bits(width) => {
                        p4_new_type_translation::SdnType::SdnBitwidth(width)
                    }
                };
                p4_new_type_spec::Representation::TranslatedType(P4NewTypeTranslation {
                    uri,
                    sdn_type: Some(sdn_type),
                })
            }
        };
        let passed = pass(&user.annotations, &["p4runtime_translation"], errors);
        let spec = P4NewTypeSpec {
            representation: Some(representation),
            annotations: passed.texts,
            annotation_locations: Vec::new(),
            structured_annotations: passed.structured,
        };
        if let Some(reason) = self.fault_of_mappings(&spec, end.0) {
            let name = user.name.clone();
            errors.push(P4InfoErrorKind::TranslationMappings { name, reason });
        }
        spec
    }

    /// If the numbers that a type assigns to strings are invalid, returns the reason. `original` is
    /// the type of these numbers.
    fn fault_of_mappings(&self, spec: &P4NewTypeSpec, original: TypeId) -> Option<String> {
        let pairs = match translation_mappings(spec) {
            Ok(pairs) => pairs,
            Err(reason) => return Some(reason),
        };
        let bits = u32::try_from(self.program.types.width_in_bits(original)?).ok()?;
        let fits = |number: u128| number.checked_shr(bits).is_none_or(|rest| rest == 0);
        let (text, number) = pairs.iter().find(|(_, number)| !fits(*number))?;
        let text = String::from_utf8_lossy(text);
        Some(format!("gives \"{text}\" the number {number}, which needs more than {bits} bits"))
    }
}

/// Returns the name that a struct, header or header union has in P4Info. p4c makes a numbered copy
/// of a generic type for each distinct list of type arguments.
pub(super) fn composite_name(program: &Program, composite: &Composite) -> String {
    let name = control_plane_name(&composite.annotations, &composite.name);
    let Some((base, _)) = name.split_once('<') else { return name.to_owned() };
    let copies = program
        .types
        .composites
        .iter()
        .filter(|other| other.name.split_once('<').is_some_and(|(other, _)| other == base));
    let number = copies.take_while(|other| other.name != composite.name).count();
    format!("{base}_{number}")
}

fn bit_string(spec: bitstring::TypeSpec) -> P4BitstringLikeTypeSpec {
    P4BitstringLikeTypeSpec { type_spec: Some(spec), ..Default::default() }
}

fn field_name(field: &Field) -> String {
    control_plane_name(&field.annotations, &field.name).to_owned()
}

/// A field of a header in which nested structs are replaced by their fields.
pub(super) struct FlatField {
    pub(super) name: String,
    pub(super) type_id: TypeId,
    pub(super) user_type: Option<UserTypeId>,
    pub(super) annotations: Vec<Annotation>,
}

/// Returns the fields of a header, with nested structs replaced by their fields. A field of a
/// nested struct has a dotted name. It also has the annotations of all enclosing fields; if several
/// of these annotations have the same name, the innermost one counts.
///
/// If any field is a struct, p4c renames all fields, so that `@name` has no effect.
pub(super) fn flatten(program: &Program, header: &Composite) -> Vec<FlatField> {
    let is_struct = |field: &Field| {
        let inner = program.types.composite(field.type_id);
        inner.is_some_and(|inner| inner.kind == CompositeKind::Struct)
    };
    let renamed = header.fields.iter().any(is_struct);
    let mut flat = Vec::new();
    // The fields that remain to be processed, each with the prefix of its name and the annotations
    // of the enclosing fields.
    let mut pending: Vec<(String, Vec<Annotation>, &Field)> =
        header.fields.iter().rev().map(|field| (String::new(), Vec::new(), field)).collect();
    while let Some((prefix, outer, field)) = pending.pop() {
        let mut annotations = field.annotations.clone();
        for annotation in outer {
            if find(&annotations, &annotation.name).is_none() {
                annotations.push(annotation);
            }
        }
        match program.types.composite(field.type_id) {
            Some(inner) if inner.kind == CompositeKind::Struct => {
                let prefix = format!("{prefix}{}.", field.name);
                pending.extend(
                    inner
                        .fields
                        .iter()
                        .rev()
                        .map(|field| (prefix.clone(), annotations.clone(), field)),
                );
            }
            _ => flat.push(FlatField {
                name: if renamed { format!("{prefix}{}", field.name) } else { field_name(field) },
                type_id: field.type_id,
                user_type: field.user_type,
                annotations,
            }),
        }
    }
    flat
}
