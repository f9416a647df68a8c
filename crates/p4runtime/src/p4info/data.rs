//! Types of P4 values as `P4Data` carries them: registers and digests.
//!
//! A type is resolved once, when P4Info is checked: names become what they stand for, shared
//! where a name is used more than once. Two things that a hostile P4Info could do with names are
//! refused there: a type that contains itself, and a small description of an enormous value
//! (a struct of two structs of two structs and so on). So code that walks a type afterwards needs
//! no guard of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::proto::v1::p4_data::Data;
use crate::proto::{config, v1};
use crate::status::EntityError;
use crate::value;

/// The most scalars that a value may consist of.
const MAX_SCALARS: u64 = 1 << 12;
/// The most types that may stand within each other.
const MAX_DEPTH: usize = 32;

/// A type of P4, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// A string of bits.
    Bits(BitsType),
    /// A truth value.
    Bool,
    /// A tuple.
    Tuple(Arc<[DataType]>),
    /// A struct: the types of its members, in order.
    Struct(Arc<[DataType]>),
    /// A header.
    Header(Arc<[BitsType]>),
    /// A header union: its headers with their names.
    HeaderUnion(Arc<[(String, Arc<[BitsType]>)]>),
    /// A stack of headers.
    HeaderStack {
        /// The header.
        header: Arc<[BitsType]>,
        /// The number of elements.
        size: usize,
    },
    /// A stack of header unions.
    HeaderUnionStack {
        /// The union.
        headers: Arc<[(String, Arc<[BitsType]>)]>,
        /// The number of elements.
        size: usize,
    },
    /// An enum without representation: the names of its members.
    Enum(Arc<[String]>),
    /// The type `error`: the names of its members.
    Error(Arc<[String]>),
    /// An enum over a string of bits of this width. Values without a name are legal.
    SerializableEnum(u32),
    /// A translated type whose values are strings.
    Text,
}

/// A type whose values are strings of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitsType {
    /// `bit<W>`.
    Unsigned(u32),
    /// `int<W>`.
    Signed(u32),
    /// `varbit<W>`, W the largest width.
    Varbit(u32),
}

impl BitsType {
    fn canonical(self, bytes: &[u8]) -> Result<Bytes, EntityError> {
        let canonical = match self {
            // The dynamic width of a varbit does not travel in a header, so that its length in
            // bytes has to be kept.
            Self::Varbit(bits) => return varbit(bytes, bits).map(Bytes::copy_from_slice),
            Self::Unsigned(bits) => value::unsigned(bytes, bits)?,
            Self::Signed(bits) => value::signed(bytes, bits)?,
        };
        Ok(Bytes::copy_from_slice(canonical))
    }
}

/// Checks that `bytes` fit a varbit of at most `bits` bits; none are a varbit of width 0.
fn varbit(bytes: &[u8], bits: u32) -> Result<&[u8], EntityError> {
    if !bytes.is_empty() {
        value::unsigned(bytes, bits)?;
    }
    if bytes.len() as u64 > u64::from(bits).div_ceil(8) {
        return Err(EntityError::out_of_range(format!(
            "{} bytes are more than a varbit of {bits} bits holds",
            bytes.len()
        )));
    }
    Ok(bytes)
}

impl DataType {
    /// The value in its canonical form (specification 1.5, "P4Data in p4runtime.proto").
    ///
    /// Returns INVALID_ARGUMENT when the value is not of this type, OUT_OF_RANGE when a byte
    /// string in it is empty or too wide. The result shares no memory with `value`.
    pub fn canonical(&self, value: &v1::P4Data) -> Result<v1::P4Data, EntityError> {
        let Some(data) = &value.data else {
            return Err(EntityError::invalid(format!("the data is unset, expected {self}")));
        };
        let data = match (self, data) {
            (
                Self::Bits(bits @ (BitsType::Unsigned(_) | BitsType::Signed(_))),
                Data::Bitstring(bytes),
            ) => Data::Bitstring(bits.canonical(bytes)?),
            (Self::Bits(BitsType::Varbit(max)), Data::Varbit(varbit)) => {
                Data::Varbit(canonical_varbit(varbit, *max)?)
            }
            (Self::Bool, Data::Bool(value)) => Data::Bool(*value),
            (Self::Tuple(types), Data::Tuple(values)) => {
                Data::Tuple(canonical_members(types, values)?)
            }
            (Self::Struct(types), Data::Struct(values)) => {
                Data::Struct(canonical_members(types, values)?)
            }
            (Self::Header(fields), Data::Header(header)) => {
                Data::Header(canonical_header(fields, header)?)
            }
            (Self::HeaderUnion(headers), Data::HeaderUnion(union)) => {
                Data::HeaderUnion(canonical_union(headers, union)?)
            }
            (Self::HeaderStack { header, size }, Data::HeaderStack(stack)) => {
                check_length("header stack", stack.entries.len(), *size)?;
                let entries = stack.entries.iter().map(|entry| canonical_header(header, entry));
                Data::HeaderStack(v1::P4HeaderStack { entries: entries.collect::<Result<_, _>>()? })
            }
            (Self::HeaderUnionStack { headers, size }, Data::HeaderUnionStack(stack)) => {
                check_length("header union stack", stack.entries.len(), *size)?;
                let entries = stack.entries.iter().map(|entry| canonical_union(headers, entry));
                Data::HeaderUnionStack(v1::P4HeaderUnionStack {
                    entries: entries.collect::<Result<_, _>>()?,
                })
            }
            (Self::Enum(members), Data::Enum(name)) if members.contains(name) => {
                Data::Enum(name.clone())
            }
            (Self::Error(members), Data::Error(name)) if members.contains(name) => {
                Data::Error(name.clone())
            }
            (Self::Enum(_), Data::Enum(name)) | (Self::Error(_), Data::Error(name)) => {
                return Err(EntityError::invalid(format!(
                    "'{name}' is not a member of the {self}"
                )));
            }
            (Self::SerializableEnum(bits), Data::EnumValue(bytes)) => {
                Data::EnumValue(BitsType::Unsigned(*bits).canonical(bytes)?)
            }
            (Self::Text, Data::Bitstring(bytes)) => {
                if bytes.is_empty() {
                    return Err(value::ValueError::Empty.into());
                }
                Data::Bitstring(Bytes::copy_from_slice(bytes))
            }
            (_, other) => {
                return Err(EntityError::invalid(format!(
                    "expected {self}, found {}",
                    kind_of(other)
                )));
            }
        };
        Ok(v1::P4Data { data: Some(data) })
    }

    /// The value before anything is written: zeros, invalid headers, the first member of an enum.
    pub fn initial(&self) -> v1::P4Data {
        let zero = || Bytes::from_static(&[0]);
        let members = |types: &[Self]| v1::P4StructLike {
            members: types.iter().map(Self::initial).collect(),
        };
        let data = match self {
            Self::Bits(BitsType::Varbit(_)) => Data::Varbit(v1::P4Varbit::default()),
            Self::Bits(_) | Self::Text => Data::Bitstring(zero()),
            Self::Bool => Data::Bool(false),
            Self::Tuple(types) => Data::Tuple(members(types)),
            Self::Struct(types) => Data::Struct(members(types)),
            Self::Header(_) => Data::Header(v1::P4Header::default()),
            Self::HeaderUnion(_) => Data::HeaderUnion(v1::P4HeaderUnion::default()),
            Self::HeaderStack { size, .. } => Data::HeaderStack(v1::P4HeaderStack {
                entries: vec![v1::P4Header::default(); *size],
            }),
            Self::HeaderUnionStack { size, .. } => Data::HeaderUnionStack(v1::P4HeaderUnionStack {
                entries: vec![v1::P4HeaderUnion::default(); *size],
            }),
            Self::Enum(members) => Data::Enum(members.first().cloned().unwrap_or_default()),
            Self::Error(members) => Data::Error(members.first().cloned().unwrap_or_default()),
            Self::SerializableEnum(_) => Data::EnumValue(zero()),
        };
        v1::P4Data { data: Some(data) }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits(BitsType::Unsigned(bits)) => write!(f, "bit<{bits}>"),
            Self::Bits(BitsType::Signed(bits)) => write!(f, "int<{bits}>"),
            Self::Bits(BitsType::Varbit(bits)) => write!(f, "varbit<{bits}>"),
            Self::Bool => f.write_str("bool"),
            Self::Tuple(types) => write!(f, "tuple of {} members", types.len()),
            Self::Struct(types) => write!(f, "struct of {} members", types.len()),
            Self::Header(fields) => write!(f, "header of {} fields", fields.len()),
            Self::HeaderUnion(headers) => write!(f, "header union of {} headers", headers.len()),
            Self::HeaderStack { size, .. } => write!(f, "header stack of {size}"),
            Self::HeaderUnionStack { size, .. } => write!(f, "header union stack of {size}"),
            Self::Enum(members) => write!(f, "enum of {} members", members.len()),
            Self::Error(_) => f.write_str("error"),
            Self::SerializableEnum(bits) => write!(f, "enum over bit<{bits}>"),
            Self::Text => f.write_str("string"),
        }
    }
}

fn kind_of(data: &Data) -> &'static str {
    match data {
        Data::Bitstring(_) => "a bitstring",
        Data::Varbit(_) => "a varbit",
        Data::Bool(_) => "a bool",
        Data::Tuple(_) => "a tuple",
        Data::Struct(_) => "a struct",
        Data::Header(_) => "a header",
        Data::HeaderUnion(_) => "a header union",
        Data::HeaderStack(_) => "a header stack",
        Data::HeaderUnionStack(_) => "a header union stack",
        Data::Enum(_) => "an enum",
        Data::Error(_) => "an error",
        Data::EnumValue(_) => "an enum value",
    }
}

fn check_length(what: &str, found: usize, expected: usize) -> Result<(), EntityError> {
    if found == expected {
        return Ok(());
    }
    Err(EntityError::invalid(format!("the {what} has {found} elements, the type has {expected}")))
}

fn canonical_members(
    types: &[DataType],
    values: &v1::P4StructLike,
) -> Result<v1::P4StructLike, EntityError> {
    check_length("struct or tuple", values.members.len(), types.len())?;
    let members =
        types.iter().zip(&values.members).enumerate().map(|(position, (member, value))| {
            member.canonical(value).map_err(|error| error.within(format_args!("member {position}")))
        });
    Ok(v1::P4StructLike { members: members.collect::<Result<_, _>>()? })
}

fn canonical_header(
    fields: &[BitsType],
    header: &v1::P4Header,
) -> Result<v1::P4Header, EntityError> {
    let expected = if header.is_valid { fields.len() } else { 0 };
    check_length("header", header.bitstrings.len(), expected)?;
    let bitstrings =
        fields.iter().zip(&header.bitstrings).enumerate().map(|(position, (field, bytes))| {
            field
                .canonical(bytes)
                .map_err(|error| error.within(format_args!("header field {position}")))
        });
    Ok(v1::P4Header {
        is_valid: header.is_valid,
        bitstrings: bitstrings.collect::<Result<_, _>>()?,
    })
}

fn canonical_union(
    headers: &[(String, Arc<[BitsType]>)],
    union: &v1::P4HeaderUnion,
) -> Result<v1::P4HeaderUnion, EntityError> {
    let name = &union.valid_header_name;
    match (&union.valid_header, name.is_empty()) {
        (None, true) => Ok(v1::P4HeaderUnion::default()),
        (Some(header), false) => {
            let Some((_, fields)) = headers.iter().find(|(of, _)| of == name) else {
                return Err(EntityError::invalid(format!(
                    "the header union has no header '{name}'"
                )));
            };
            let header = canonical_header(fields, header)?;
            if !header.is_valid {
                return Err(EntityError::invalid(format!(
                    "header '{name}' of the header union is named as valid but is not"
                )));
            }
            Ok(v1::P4HeaderUnion { valid_header_name: name.clone(), valid_header: Some(header) })
        }
        _ => Err(EntityError::invalid(
            "a header union has both the name of its valid header and the header, or neither",
        )),
    }
}

fn canonical_varbit(varbit: &v1::P4Varbit, max: u32) -> Result<v1::P4Varbit, EntityError> {
    let width =
        u32::try_from(varbit.bitwidth).ok().filter(|width| *width <= max).ok_or_else(|| {
            EntityError::out_of_range(format!("width {} is not in 0..={max}", varbit.bitwidth))
        })?;
    let bitstring = match width {
        0 if varbit.bitstring.is_empty() => Bytes::new(),
        width => Bytes::copy_from_slice(value::unsigned(&varbit.bitstring, width)?),
    };
    Ok(v1::P4Varbit { bitstring, bitwidth: varbit.bitwidth })
}

/// A type and how many scalars a value of it consists of.
type Resolved<T> = (T, u64);

/// The headers of a header union, with their names.
type Union = Arc<[(String, Arc<[BitsType]>)]>;

/// Resolves type specifications against the named types of one P4Info.
///
/// Every named type is resolved once: the work is bounded by the size of the P4Info.
pub(super) struct Resolver<'a> {
    types: Option<&'a config::P4TypeInfo>,
    structs: HashMap<&'a str, Resolved<DataType>>,
    headers: HashMap<&'a str, Arc<[BitsType]>>,
    unions: HashMap<&'a str, Resolved<Union>>,
    open: Vec<&'a str>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(types: Option<&'a config::P4TypeInfo>) -> Self {
        Self {
            types,
            structs: HashMap::new(),
            headers: HashMap::new(),
            unions: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// The type that `spec` describes, or what is wrong with it.
    pub(super) fn resolve(
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
                let found = types.and_then(|types| types.enums.get(&named.name));
                let found = found.ok_or_else(|| unknown("enum", &named.name))?;
                let members = found.members.iter().map(|member| member.name.clone()).collect();
                (DataType::Enum(members), 1)
            }
            TypeSpec::Error(_) => {
                let found = types.and_then(|types| types.error.as_ref());
                let found = found.ok_or("type_info has no error type")?;
                (DataType::Error(found.members.iter().cloned().collect()), 1)
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
                Some(SdnType::SdnString(_)) => Ok((DataType::Text, 1)),
                None => {
                    Err(format!("translated type '{name}' has neither sdn_bitwidth nor sdn_string"))
                }
            },
            None => Err(format!("type '{name}' has no representation")),
        }
    }
}

/// A header is its fields and whether it is valid.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4info::text;

    const TYPES: &str = r#"
        structs { key: "pair" value {
          members { name: "a" type_spec { bitstring { bit { bitwidth: 9 } } } }
          members { name: "b" type_spec { serializable_enum { name: "kind" } } }
        } }
        structs { key: "loop" value {
          members { name: "again" type_spec { tuple { members { struct { name: "loop" } } } } }
        } }
        headers { key: "h" value {
          members { name: "v" type_spec { bit { bitwidth: 4 } } }
          members { name: "s" type_spec { int { bitwidth: 12 } } }
        } }
        header_unions { key: "u" value { members { name: "one" header { name: "h" } } } }
        enums { key: "color" value { members { name: "red" } members { name: "green" } } }
        error { members: "NoError" members: "Other" }
        serializable_enums { key: "kind" value { underlying_type { bitwidth: 8 } } }
        new_types { key: "port_t" value { translated_type { uri: "x" sdn_bitwidth: 32 } } }
        new_types { key: "name_t" value { translated_type { uri: "x" sdn_string {} } } }
        new_types { key: "again_t" value { original_type { new_type { name: "again_t" } } } }
    "#;

    fn resolve(spec: &str) -> Result<DataType, String> {
        let info = format!("type_info {{ {TYPES} }} digests {{ type_spec {{ {spec} }} }}");
        let info = text::parse(&info).unwrap();
        Resolver::new(info.type_info.as_ref()).resolve(info.digests[0].type_spec.as_ref())
    }

    fn canonical(spec: &str, data: Data) -> Result<Data, i32> {
        let resolved = resolve(spec).unwrap();
        let value = resolved
            .canonical(&v1::P4Data { data: Some(data) })
            .map_err(|error| error.code() as i32)?;
        assert_eq!(resolved.canonical(&value).unwrap(), value, "canonical twice");
        Ok(value.data.unwrap())
    }

    fn bits(bytes: &'static [u8]) -> v1::P4Data {
        v1::P4Data { data: Some(Data::Bitstring(Bytes::from_static(bytes))) }
    }

    const INVALID: i32 = 3;
    const OUT_OF_RANGE: i32 = 11;

    #[test]
    fn every_type_starts_as_a_value_of_itself() {
        for spec in [
            "bitstring { bit { bitwidth: 9 } }",
            "bitstring { int { bitwidth: 9 } }",
            "bitstring { varbit { max_bitwidth: 9 } }",
            "bool {}",
            "tuple { members { bool {} } members { error {} } }",
            "struct { name: 'pair' }",
            "header { name: 'h' }",
            "header_union { name: 'u' }",
            "header_stack { header { name: 'h' } size: 3 }",
            "header_union_stack { header_union { name: 'u' } size: 2 }",
            "enum { name: 'color' }",
            "error {}",
            "serializable_enum { name: 'kind' }",
            "new_type { name: 'port_t' }",
            "new_type { name: 'name_t' }",
        ] {
            let resolved = resolve(spec).unwrap();
            let initial = resolved.initial();
            assert_eq!(resolved.canonical(&initial).unwrap(), initial, "{spec}");
        }
    }

    #[test]
    fn names_that_lead_nowhere_or_in_circles_are_refused() {
        for (spec, error) in [
            ("struct { name: 'none' }", "type_info has no struct 'none'"),
            ("header { name: 'none' }", "type_info has no header 'none'"),
            ("struct { name: 'loop' }", "type 'loop' contains itself"),
            ("new_type { name: 'again_t' }", "types are nested more than 32 deep"),
            ("bitstring {}", "the type is unset"),
            ("bitstring { bit { bitwidth: -1 } }", "a width of -1 bits is not possible"),
            (
                "header_stack { header { name: 'h' } size: -1 }",
                "a stack of -1 elements is not possible",
            ),
            (
                "header_stack { header { name: 'h' } size: 2000000000 }",
                "a value of the header stack of 2000000000 has more than 4096 scalars",
            ),
        ] {
            assert_eq!(resolve(spec).unwrap_err(), error);
        }
    }

    #[test]
    fn doubling_structs_are_refused_before_they_grow() {
        let mut types = String::from("structs { key: 's0' value {} }");
        for level in 1..30 {
            let member =
                format!("members {{ type_spec {{ struct {{ name: 's{}' }} }} }}", level - 1);
            types += &format!("structs {{ key: 's{level}' value {{ {member} {member} }} }}");
        }
        let info = format!(
            "type_info {{ {types} }} digests {{ type_spec {{ struct {{ name: 's29' }} }} }}"
        );
        let info = text::parse(&info).unwrap();
        let error = Resolver::new(info.type_info.as_ref())
            .resolve(info.digests[0].type_spec.as_ref())
            .unwrap_err();
        assert!(error.contains("more than 4096 scalars"), "{error}");
    }

    #[test]
    fn members_are_made_canonical_one_by_one() {
        let kind = |bytes| v1::P4Data { data: Some(Data::EnumValue(Bytes::from_static(bytes))) };
        let pair = |first, second| Data::Struct(v1::P4StructLike { members: vec![first, second] });
        let spec = "struct { name: 'pair' }";
        assert_eq!(
            canonical(spec, pair(bits(b"\0\x05"), kind(b"\0\0"))),
            Ok(pair(bits(b"\x05"), kind(b"\0")))
        );
        assert_eq!(canonical(spec, pair(bits(b"\x02\x00"), kind(b"\0"))), Err(OUT_OF_RANGE));
        assert_eq!(canonical(spec, pair(kind(b"\0"), bits(b"\x05"))), Err(INVALID));
        assert_eq!(canonical(spec, Data::Struct(v1::P4StructLike::default())), Err(INVALID));
        assert_eq!(canonical(spec, Data::Tuple(v1::P4StructLike::default())), Err(INVALID));
    }

    #[test]
    fn headers_are_valid_with_all_fields_or_invalid_with_none() {
        let header = |is_valid, fields: &[&'static [u8]]| v1::P4Header {
            is_valid,
            bitstrings: fields.iter().map(|field| Bytes::from_static(field)).collect(),
        };
        let spec = "header { name: 'h' }";
        let signed = Data::Header(header(true, &[b"\x04", b"\xff\xff"]));
        assert_eq!(canonical(spec, signed), Ok(Data::Header(header(true, &[b"\x04", b"\xff"]))));
        assert_eq!(canonical(spec, Data::Header(header(true, &[b"\x04"]))), Err(INVALID));
        assert_eq!(canonical(spec, Data::Header(header(false, &[b"\x04", b"\x01"]))), Err(INVALID));

        let union = |name: &str, valid_header| {
            Data::HeaderUnion(v1::P4HeaderUnion {
                valid_header_name: name.to_owned(),
                valid_header,
            })
        };
        let spec = "header_union { name: 'u' }";
        let valid = header(true, &[b"\x04", b"\x01"]);
        assert!(canonical(spec, union("one", Some(valid.clone()))).is_ok());
        assert_eq!(canonical(spec, union("two", Some(valid.clone()))), Err(INVALID));
        assert_eq!(canonical(spec, union("", Some(valid))), Err(INVALID));
        assert_eq!(canonical(spec, union("one", None)), Err(INVALID));
        assert_eq!(canonical(spec, union("one", Some(header(false, &[])))), Err(INVALID));

        let spec = "header_stack { header { name: 'h' } size: 1 }";
        let stack = |entries| Data::HeaderStack(v1::P4HeaderStack { entries });
        assert!(canonical(spec, stack(vec![header(false, &[])])).is_ok());
        assert_eq!(canonical(spec, stack(vec![])), Err(INVALID));
    }

    #[test]
    fn a_varbit_has_its_own_width() {
        let varbit = |bytes, bitwidth| {
            Data::Varbit(v1::P4Varbit { bitstring: Bytes::from_static(bytes), bitwidth })
        };
        let spec = "bitstring { varbit { max_bitwidth: 12 } }";
        assert_eq!(canonical(spec, varbit(b"\0\x05", 12)), Ok(varbit(b"\x05", 12)));
        assert_eq!(canonical(spec, varbit(b"", 0)), Ok(varbit(b"", 0)));
        assert_eq!(canonical(spec, varbit(b"", 1)), Err(OUT_OF_RANGE));
        assert_eq!(canonical(spec, varbit(b"\x05", 2)), Err(OUT_OF_RANGE));
        assert_eq!(canonical(spec, varbit(b"\x05", 13)), Err(OUT_OF_RANGE));
        assert_eq!(canonical(spec, varbit(b"\x05", -1)), Err(OUT_OF_RANGE));
    }

    #[test]
    fn enums_know_their_members() {
        assert!(canonical("enum { name: 'color' }", Data::Enum("green".into())).is_ok());
        assert_eq!(canonical("enum { name: 'color' }", Data::Enum("blue".into())), Err(INVALID));
        assert!(canonical("error {}", Data::Error("Other".into())).is_ok());
        assert_eq!(canonical("error {}", Data::Error(String::new())), Err(INVALID));
        assert_eq!(
            canonical("new_type { name: 'name_t' }", Data::Bitstring(Bytes::new())),
            Err(OUT_OF_RANGE)
        );
    }
}
