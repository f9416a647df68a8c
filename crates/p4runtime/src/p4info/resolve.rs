//! Resolves the type specifications of a P4Info, which refer to each other by name, to
//! [`DataType`]s.
//!
//! A hostile P4Info could use these references in two ways: for a type that contains itself, and
//! for a short description of an enormous value, such as a struct of two structs that contain two
//! structs each, and so on. Both are refused. Every named type is resolved once, so the work is
//! bounded by the size of the P4Info.

use std::collections::HashMap;
use std::sync::Arc;

use super::translation::translated_type;
use crate::proto::config;
use entities::{BitsType, DataType};

/// The maximum size of a value, counted in scalars. A bit string, a boolean and the validity of a
/// header count as one scalar each. A tuple or struct counts as one scalar in addition to its
/// members.
const MAX_SCALARS: u64 = 1 << 12;
/// The maximum nesting of types.
const MAX_DEPTH: usize = 32;

/// A type, and the number of scalars in a value of the type.
type Resolved<T> = (T, u64);

/// The headers of a header union, with their names.
type Union = Arc<[(String, Arc<[BitsType]>)]>;

/// A resolver of type specifications against the named types of one P4Info.
pub(crate) struct Resolver<'a> {
    types: Option<&'a config::P4TypeInfo>,
    structs: HashMap<&'a str, Resolved<DataType>>,
    headers: HashMap<&'a str, Arc<[BitsType]>>,
    unions: HashMap<&'a str, Resolved<Union>>,
    enums: HashMap<&'a str, Arc<[String]>>,
    errors: Option<Arc<[String]>>,
    /// The names of the structs that are being resolved, the outermost first. A struct that refers
    /// to one of them contains itself.
    open: Vec<&'a str>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(types: Option<&'a config::P4TypeInfo>) -> Self {
        Self {
            types,
            structs: HashMap::new(),
            headers: HashMap::new(),
            unions: HashMap::new(),
            enums: HashMap::new(),
            errors: None,
            open: Vec::new(),
        }
    }

    /// Returns the type that `spec` describes, or a description of the error.
    pub(crate) fn resolve(
        &mut self,
        spec: Option<&'a config::P4DataTypeSpec>,
    ) -> Result<DataType, String> {
        self.nested(spec, 0).map(|(resolved, _)| resolved)
    }

    fn nested(
        &mut self,
        spec: Option<&'a config::P4DataTypeSpec>,
        depth: usize,
    ) -> Result<Resolved<DataType>, String> {
        use config::p4_data_type_spec::TypeSpec;

        if depth > MAX_DEPTH {
            return Err(format!("types are nested more than {MAX_DEPTH} deep"));
        }
        let spec = spec.and_then(|spec| spec.type_spec.as_ref()).ok_or("the type is unset")?;
        let types = self.types;
        let (resolved, scalars) = match spec {
            TypeSpec::Bitstring(bits) => (DataType::Bits(bits_type(bits)?), 1),
            TypeSpec::Bool(_) => (DataType::Bool, 1),
            TypeSpec::Tuple(tuple) => {
                let (members, scalars) = self.members(tuple.members.iter().map(Some), depth)?;
                (DataType::Tuple(members), scalars)
            }
            TypeSpec::Struct(named) => self.structure(&named.name, depth)?,
            TypeSpec::Header(named) => {
                let header = self.header(&named.name)?;
                let scalars = header_scalars(&header);
                (DataType::Header(header), scalars)
            }
            TypeSpec::HeaderUnion(named) => {
                let (headers, scalars) = self.union(&named.name)?;
                (DataType::HeaderUnion(headers), scalars)
            }
            TypeSpec::HeaderStack(stack) => {
                let header = self.header(name_of(&stack.header)?)?;
                let size = size(stack.size)?;
                let scalars = header_scalars(&header).saturating_mul(size as u64);
                (DataType::HeaderStack { header, size }, scalars)
            }
            TypeSpec::HeaderUnionStack(stack) => {
                let (headers, scalars) = self.union(name_of(&stack.header_union)?)?;
                let size = size(stack.size)?;
                (DataType::HeaderUnionStack { headers, size }, scalars.saturating_mul(size as u64))
            }
            TypeSpec::Enum(named) => {
                let members = match self.enums.get(named.name.as_str()) {
                    Some(known) => Arc::clone(known),
                    None => {
                        let found = types.and_then(|types| types.enums.get_key_value(&named.name));
                        let (name, found) = found.ok_or_else(|| unknown("enum", &named.name))?;
                        let members = found.members.iter().map(|member| member.name.clone());
                        let members: Arc<[String]> = members.collect();
                        self.enums.insert(name, Arc::clone(&members));
                        members
                    }
                };
                let scalars = name_scalars(&members);
                (DataType::Enum(members), scalars)
            }
            TypeSpec::Error(_) => {
                let members = match &self.errors {
                    Some(known) => Arc::clone(known),
                    None => {
                        let found = types.and_then(|types| types.error.as_ref());
                        let found = found.ok_or("type_info has no error type")?;
                        let members: Arc<[String]> = found.members.iter().cloned().collect();
                        Arc::clone(self.errors.insert(members))
                    }
                };
                let scalars = name_scalars(&members);
                (DataType::Error(members), scalars)
            }
            TypeSpec::SerializableEnum(named) => {
                let found = types.and_then(|types| types.serializable_enums.get(&named.name));
                let found = found.ok_or_else(|| unknown("serializable enum", &named.name))?;
                let bits = found.underlying_type.as_ref().map_or(0, |bits| bits.bitwidth);
                (DataType::SerializableEnum(width(bits)?), 1)
            }
            TypeSpec::NewType(named) => self.new_type(&named.name, depth)?,
        };
        if scalars > MAX_SCALARS {
            return Err(format!("a value of the {resolved} has more than {MAX_SCALARS} scalars"));
        }
        Ok((resolved, scalars))
    }

    fn members(
        &mut self,
        specs: impl Iterator<Item = Option<&'a config::P4DataTypeSpec>>,
        depth: usize,
    ) -> Result<Resolved<Arc<[DataType]>>, String> {
        let mut members = Vec::new();
        let mut sum: u64 = 1;
        for spec in specs {
            let (member, scalars) = self.nested(spec, depth + 1)?;
            members.push(member);
            sum = sum.saturating_add(scalars);
        }
        Ok((members.into(), sum))
    }

    fn structure(&mut self, name: &'a str, depth: usize) -> Result<Resolved<DataType>, String> {
        if let Some(known) = self.structs.get(name) {
            return Ok(known.clone());
        }
        if self.open.contains(&name) {
            return Err(format!("type '{name}' contains itself"));
        }
        let found = self.types.and_then(|types| types.structs.get(name));
        let found = found.ok_or_else(|| unknown("struct", name))?;
        self.open.push(name);
        let members =
            self.members(found.members.iter().map(|member| member.type_spec.as_ref()), depth);
        self.open.pop();
        let (members, scalars) = members?;
        let resolved = (DataType::Struct(members), scalars);
        self.structs.insert(name, resolved.clone());
        Ok(resolved)
    }

    fn header(&mut self, name: &'a str) -> Result<Arc<[BitsType]>, String> {
        if let Some(known) = self.headers.get(name) {
            return Ok(Arc::clone(known));
        }
        let found = self.types.and_then(|types| types.headers.get(name));
        let found = found.ok_or_else(|| unknown("header", name))?;
        let mut fields = Vec::with_capacity(found.members.len());
        for member in &found.members {
            let spec = member.type_spec.as_ref().ok_or_else(|| "the type is unset".to_owned());
            let bits = spec.and_then(bits_type);
            fields.push(
                bits.map_err(|error| {
                    format!("field '{}' of header '{name}': {error}", member.name)
                })?,
            );
        }
        let resolved: Arc<[BitsType]> = fields.into();
        self.headers.insert(name, Arc::clone(&resolved));
        Ok(resolved)
    }

    fn union(&mut self, name: &'a str) -> Result<Resolved<Union>, String> {
        if let Some(known) = self.unions.get(name) {
            return Ok(known.clone());
        }
        let found = self.types.and_then(|types| types.header_unions.get(name));
        let found = found.ok_or_else(|| unknown("header union", name))?;
        let mut headers = Vec::with_capacity(found.members.len());
        let mut scalars = 1;
        for member in &found.members {
            let header = self.header(name_of(&member.header)?)?;
            scalars = header_scalars(&header).max(scalars);
            headers.push((member.name.clone(), header));
        }
        let resolved = (headers.into(), scalars);
        self.unions.insert(name, resolved.clone());
        Ok(resolved)
    }

    fn new_type(&mut self, name: &'a str, depth: usize) -> Result<Resolved<DataType>, String> {
        use config::p4_new_type_spec::Representation;
        use config::p4_new_type_translation::SdnType;

        let found = self.types.and_then(|types| types.new_types.get(name));
        let found = found.ok_or_else(|| unknown("type", name))?;
        match &found.representation {
            Some(Representation::OriginalType(spec)) => self.nested(Some(spec), depth + 1),
            Some(Representation::TranslatedType(translation)) => match translation.sdn_type {
                Some(SdnType::SdnBitwidth(bits)) => {
                    Ok((DataType::Bits(BitsType::Unsigned(width(bits)?)), 1))
                }
                Some(SdnType::SdnString(_)) => {
                    Ok((DataType::Text(translated_type(self.types, name)), 1))
                }
                None => {
                    Err(format!("translated type '{name}' has neither sdn_bitwidth nor sdn_string"))
                }
            },
            None => Err(format!("type '{name}' has no representation")),
        }
    }
}

/// Returns the size of an enum value in scalars. The initial value of the type
/// ([`DataType::initial`]) is the name of its first member, so a long name counts as several
/// scalars.
fn name_scalars(members: &[String]) -> u64 {
    const BYTES: u64 = 8;
    1 + members.first().map_or(0, |name| name.len() as u64 / BYTES)
}

/// Returns the size of a header in scalars: its fields and its validity.
fn header_scalars(header: &[BitsType]) -> u64 {
    header.len() as u64 + 1
}

fn bits_type(spec: &config::P4BitstringLikeTypeSpec) -> Result<BitsType, String> {
    use config::p4_bitstring_like_type_spec::TypeSpec;

    match &spec.type_spec {
        Some(TypeSpec::Bit(bits)) => width(bits.bitwidth).map(BitsType::Unsigned),
        Some(TypeSpec::Int(bits)) => width(bits.bitwidth).map(BitsType::Signed),
        Some(TypeSpec::Varbit(bits)) => width(bits.max_bitwidth).map(BitsType::Varbit),
        None => Err("the type is unset".to_owned()),
    }
}

fn width(bits: i32) -> Result<u32, String> {
    u32::try_from(bits)
        .ok()
        .filter(|bits| *bits > 0)
        .ok_or_else(|| format!("a width of {bits} bits is not possible"))
}

fn size(size: i32) -> Result<usize, String> {
    usize::try_from(size).map_err(|_| format!("a stack of {size} elements is not possible"))
}

fn name_of(named: &Option<config::P4NamedType>) -> Result<&str, String> {
    named
        .as_ref()
        .map(|named| named.name.as_str())
        .ok_or_else(|| "a named type is unset".to_owned())
}

fn unknown(kind: &str, name: &str) -> String {
    format!("type_info has no {kind} '{name}'")
}
