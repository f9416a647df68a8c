//! Translation of the header types and header instances in BMv2 JSON. The JSON refers to headers
//! and fields by name, and the translation maps these names to places in the IR.

use std::collections::HashMap;

use serde_json::Value;

use super::json::{Document, HeaderType};
use super::{Bmv2Error, Outcome, content};
use ir::{
    self, Annotation, AnnotationBody, Composite, CompositeKind, Field, Place, Program, Projection,
    Type, TypeId, VariableId,
};

/// The fields of v1model's `standard_metadata_t`, with their widths. `parser_error` is of type
/// `error`.
const STANDARD_FIELDS: [(&str, u32); 18] = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("enq_timestamp", 32),
    ("enq_qdepth", 19),
    ("deq_timedelta", 32),
    ("deq_qdepth", 19),
    ("ingress_global_timestamp", 48),
    ("egress_global_timestamp", 48),
    ("mcast_grp", 16),
    ("egress_rid", 16),
    ("checksum_error", 1),
    ("parser_error", 0),
    ("priority", 3),
    ("deq_queue_id", 5),
    ("qid", 5),
];

/// The metadata headers of P4_14 programs in the JSON whose fields v1model's `standard_metadata`
/// contains.
const TARGET_HEADERS: [&str; 3] = ["standard_metadata", "intrinsic_metadata", "queueing_metadata"];

/// The largest width of a field in bits.
const WIDTH_LIMIT: u64 = 1 << 20;

/// A field of a header or of metadata: its place in the IR and the kind of its values.
#[derive(Clone, Debug)]
pub(super) struct FieldPlace {
    pub(super) place: Place,
    pub(super) kind: FieldKind,
}

/// The kind of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Bits {
        width: u32,
        signed: bool,
    },
    Varbits,
    /// `parser_error`, of type `error`.
    Error,
}

/// A header, header union or stack: its place in the IR and its type.
#[derive(Clone, Debug)]
pub(super) struct HeaderPlace {
    pub(super) place: Place,
    pub(super) type_id: TypeId,
}

/// The mapping of the names in BMv2 JSON to places in the IR.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) headers_variable: VariableId,
    pub(super) metadata_variable: VariableId,
    pub(super) standard_variable: VariableId,
    pub(super) headers_type: TypeId,
    pub(super) metadata_type: TypeId,
    pub(super) standard_type: TypeId,
    /// The headers, by the name of the instance.
    pub(super) headers: HashMap<String, HeaderPlace>,
    /// The stacks of headers and of header unions, by name.
    pub(super) stacks: HashMap<String, HeaderPlace>,
    /// The header unions, by name.
    pub(super) unions: HashMap<String, HeaderPlace>,
    /// The fields of metadata headers, by the name of the header and the name of the field.
    metadata_fields: HashMap<(String, String), FieldPlace>,
    /// The names of the fields of each metadata header, in order of declaration.
    pub(super) metadata_headers: HashMap<String, Vec<String>>,
    /// For each error in `Program::errors`, in that order, the number that the JSON assigns to it.
    pub(super) error_codes: Vec<u64>,
}

impl Layout {
    pub(super) fn new(document: &Document, program: &mut Program) -> Outcome<Self> {
        let error_codes = errors(document, program);
        let mut types: HashMap<&str, TypeId> = HashMap::new();
        let mut plain: HashMap<&str, &HeaderType> = HashMap::new();
        let is_metadata = |name: &str| {
            document.headers.iter().any(|header| header.metadata && header.header_type == name)
        };
        for header_type in &document.header_types {
            plain.insert(&header_type.name, header_type);
            let used = document
                .headers
                .iter()
                .any(|header| !header.metadata && header.header_type == header_type.name);
            if used || !is_metadata(&header_type.name) {
                let fields = fields(header_type, program)?;
                let type_id = program.types.add_composite(Composite {
                    name: header_type.name.clone(),
                    kind: CompositeKind::Header,
                    fields,
                    annotations: Vec::new(),
                    location: None,
                });
                types.insert(&header_type.name, type_id);
            }
        }
        let mut builder = Builder { program, fields: Vec::new() };
        let headers_variable = VariableId(0);
        let metadata_variable = VariableId(1);
        let standard_variable = VariableId(2);
        let mut headers = HashMap::new();
        let mut stacks = HashMap::new();
        let mut unions = HashMap::new();
        let type_of = |name: &str, part: &str| {
            types.get(name).copied().ok_or_else(|| {
                content(format!("header `{part}`"), format!("there is no header type `{name}`"))
            })
        };
        let names: HashMap<i64, &str> =
            document.headers.iter().map(|header| (header.id, header.name.as_str())).collect();
        let mut inside: std::collections::HashSet<&str> = std::collections::HashSet::new();
        let name_of = |id: i64, part: &str| {
            names
                .get(&id)
                .copied()
                .ok_or_else(|| content(part, format!("there is no header with id {id}")))
        };
        let mut union_types: HashMap<&str, TypeId> = HashMap::new();
        for union_type in &document.header_union_types {
            let mut members = Vec::new();
            for (name, header_type) in &union_type.headers {
                members.push(plain_field(name, type_of(header_type, &union_type.name)?));
            }
            let type_id = builder.program.types.add_composite(Composite {
                name: union_type.name.clone(),
                kind: CompositeKind::HeaderUnion,
                fields: members,
                annotations: Vec::new(),
                location: None,
            });
            union_types.insert(&union_type.name, type_id);
        }
        let union_type_of = |name: &str, part: &str| {
            union_types.get(name).copied().ok_or_else(|| {
                content(
                    format!("header union `{part}`"),
                    format!("there is no union type `{name}`"),
                )
            })
        };
        let union_names: HashMap<i64, usize> =
            document.header_unions.iter().zip(0..).map(|(union, at)| (union.id, at)).collect();
        let mut union_places: HashMap<usize, Place> = HashMap::new();
        for stack in &document.header_union_stacks {
            let element = union_type_of(&stack.union_type, &stack.name)?;
            let size = stack.header_union_ids.len() as u32;
            let type_id = builder.program.types.intern(Type::Stack { element, size });
            let place = builder.field(headers_variable, &stack.name, type_id);
            for (position, id) in stack.header_union_ids.iter().enumerate() {
                let Some(union) = union_names.get(id) else {
                    return Err(content(
                        format!("header union stack `{}`", stack.name),
                        format!("there is no header union with id {id}"),
                    ));
                };
                union_places.insert(*union, element_of(&place, position, builder.program));
            }
            stacks.insert(stack.name.clone(), HeaderPlace { place, type_id });
        }
        for (at, union) in document.header_unions.iter().enumerate() {
            let type_id = union_type_of(&union.union_type, &union.name)?;
            let place = match union_places.get(&at) {
                Some(place) => place.clone(),
                None => builder.field(headers_variable, &union.name, type_id),
            };
            let members = builder
                .program
                .types
                .composite(type_id)
                .map(|composite| {
                    composite.fields.iter().map(|field| field.type_id).collect::<Vec<_>>()
                })
                .unwrap_or_default();
            for (position, id) in union.header_ids.iter().enumerate() {
                let name = name_of(*id, &format!("header union `{}`", union.name))?;
                let Some(member) = members.get(position) else {
                    return Err(content(
                        format!("header union `{}`", union.name),
                        "it has more headers than its type",
                    ));
                };
                inside.insert(name);
                headers.insert(
                    name.to_owned(),
                    HeaderPlace { place: place.clone().field(position as u32), type_id: *member },
                );
            }
            unions.insert(union.name.clone(), HeaderPlace { place, type_id });
        }
        for stack in &document.header_stacks {
            let element = type_of(&stack.header_type, &stack.name)?;
            let size = stack.header_ids.len() as u32;
            let type_id = builder.program.types.intern(Type::Stack { element, size });
            let place = builder.field(headers_variable, &stack.name, type_id);
            for (position, id) in stack.header_ids.iter().enumerate() {
                let name = name_of(*id, &format!("header stack `{}`", stack.name))?;
                inside.insert(name);
                let place = element_of(&place, position, builder.program);
                headers.insert(name.to_owned(), HeaderPlace { place, type_id: element });
            }
            stacks.insert(stack.name.clone(), HeaderPlace { place, type_id });
        }
        for header in &document.headers {
            if header.metadata || inside.contains(header.name.as_str()) {
                continue;
            }
            let type_id = type_of(&header.header_type, &header.name)?;
            let place = builder.field(headers_variable, &header.name, type_id);
            headers.insert(header.name.clone(), HeaderPlace { place, type_id });
        }
        let headers_type = builder.finish("headers");
        let mut layout = Self {
            headers_variable,
            metadata_variable,
            standard_variable,
            headers_type,
            metadata_type: headers_type,
            standard_type: headers_type,
            headers,
            stacks,
            unions,
            metadata_fields: HashMap::new(),
            metadata_headers: HashMap::new(),
            error_codes,
        };
        layout.metadata(document, &plain, program)?;
        for (name, type_id) in [
            ("hdr", layout.headers_type),
            ("meta", layout.metadata_type),
            ("standard_metadata", layout.standard_type),
        ] {
            program.variables.push(ir::Variable { name: name.to_owned(), type_id });
        }
        Ok(layout)
    }

    /// Builds the struct with the fields of all metadata headers, and the struct
    /// `standard_metadata`.
    fn metadata(
        &mut self,
        document: &Document,
        types: &HashMap<&str, &HeaderType>,
        program: &mut Program,
    ) -> Outcome {
        let error_type = program.types.intern(Type::Error);
        let mut standard = Builder { program, fields: Vec::new() };
        let mut standard_places: HashMap<&str, FieldPlace> = HashMap::new();
        let declared_width = |name: &str| {
            document
                .headers
                .iter()
                .filter(|header| TARGET_HEADERS.contains(&header.name.as_str()))
                .filter_map(|header| types.get(header.header_type.as_str()))
                .flat_map(|header_type| &header_type.fields)
                .find(|field| field.first().and_then(Value::as_str) == Some(name))
                .and_then(|field| field.get(1)?.as_u64())
                .filter(|width| (1..=WIDTH_LIMIT).contains(width))
        };
        for (name, width) in STANDARD_FIELDS {
            let declared = declared_width(name);
            // Older versions of v1model lack these two fields.
            if declared.is_none() && matches!(name, "deq_queue_id" | "qid") {
                continue;
            }
            let (type_id, kind) = if name == "parser_error" {
                (error_type, FieldKind::Error)
            } else {
                let width = declared.map_or(width, |width| width as u32);
                let type_id = standard.program.types.intern(Type::Bits { width, signed: false });
                (type_id, FieldKind::Bits { width, signed: false })
            };
            let place = standard.field(self.standard_variable, name, type_id);
            standard_places.insert(name, FieldPlace { place, kind });
        }
        let mut extra: Vec<((String, String), u32, bool)> = Vec::new();
        for header in document.headers.iter().filter(|header| header.metadata) {
            let Some(header_type) = types.get(header.header_type.as_str()) else {
                return Err(content(
                    format!("header `{}`", header.name),
                    format!("there is no header type `{}`", header.header_type),
                ));
            };
            let mut names = Vec::new();
            for field in &header_type.fields {
                let (name, width, signed) = field_of(header_type, field)?;
                let Some(width) = width else {
                    return Err(content(
                        format!("header `{}`", header.name),
                        "a metadata header cannot have a field of variable width",
                    ));
                };
                names.push(name.to_owned());
                let key = (header.name.clone(), name.to_owned());
                let alias = document
                    .field_aliases
                    .iter()
                    .find(|(_, target)| *target == key)
                    .map(|(alias, _)| alias.rsplit('.').next().unwrap_or(alias));
                let known = alias
                    .or(TARGET_HEADERS.contains(&header.name.as_str()).then_some(name))
                    .and_then(|name| standard_places.get(name));
                match known {
                    Some(place) => {
                        self.metadata_fields.insert(key, place.clone());
                    }
                    None => extra.push((key, width, signed)),
                }
            }
            self.metadata_headers.insert(header.name.clone(), names);
        }
        for list in &document.field_lists {
            for (header, field) in list.elements.iter().filter_map(field_name) {
                if let Some(place) = self.metadata_fields.get(&(header.clone(), field.clone()))
                    && let Some(Projection::Field(position)) = place.place.path.first()
                    && place.place.variable == self.standard_variable
                    && let Some(field) = standard.fields.get_mut(*position as usize)
                {
                    field.annotations.push(field_list_annotation(list.id));
                }
            }
        }
        self.standard_type = standard.finish("standard_metadata_t");
        let mut metadata = Builder { program, fields: Vec::new() };
        for (key, width, signed) in extra {
            let type_id = metadata.program.types.intern(Type::Bits { width, signed });
            let place =
                metadata.field(self.metadata_variable, &format!("{}.{}", key.0, key.1), type_id);
            for list in &document.field_lists {
                let listed = list.elements.iter().filter_map(field_name).any(|name| name == key);
                if listed && let Some(field) = metadata.fields.last_mut() {
                    field.annotations.push(field_list_annotation(list.id));
                }
            }
            self.metadata_fields
                .insert(key, FieldPlace { place, kind: FieldKind::Bits { width, signed } });
        }
        self.metadata_type = metadata.finish("metadata");
        Ok(())
    }

    /// Returns the place of the field `field` in the header or metadata header `header`.
    pub(super) fn field(&self, header: &str, field: &str, program: &Program) -> Option<FieldPlace> {
        if let Some(known) = self.metadata_fields.get(&(header.to_owned(), field.to_owned())) {
            return Some(known.clone());
        }
        let header = self.headers.get(header)?;
        field_in(&header.place, header.type_id, field, program)
    }
}

/// Returns the place of the field called `field` in the header of type `type_id` at the place
/// `header`.
pub(super) fn field_in(
    header: &Place,
    type_id: TypeId,
    field: &str,
    program: &Program,
) -> Option<FieldPlace> {
    let composite = program.types.composite(type_id)?;
    let position = composite.fields.iter().position(|known| known.name == field)?;
    field_at(header, type_id, position, program)
}

/// Returns the place of the field at `position` in the header of type `type_id` at the place
/// `header`.
pub(super) fn field_at(
    header: &Place,
    type_id: TypeId,
    position: usize,
    program: &Program,
) -> Option<FieldPlace> {
    let field = program.types.composite(type_id)?.fields.get(position)?;
    let kind = match program.types.find(field.type_id)? {
        Type::Bits { width, signed } => FieldKind::Bits { width, signed },
        Type::Varbits { .. } => FieldKind::Varbits,
        _ => return None,
    };
    Some(FieldPlace { place: header.clone().field(position as u32), kind })
}

/// Returns the names of the header and of the field in
/// `{"type": "field", "value": [header, field]}`.
pub(super) fn field_name(value: &Value) -> Option<(String, String)> {
    let list = value.get("value").unwrap_or(value).as_array()?;
    Some((list.first()?.as_str()?.to_owned(), list.get(1)?.as_str()?.to_owned()))
}

fn field_list_annotation(id: u64) -> Annotation {
    Annotation { name: "field_list".to_owned(), body: AnnotationBody::Tokens(vec![id.to_string()]) }
}

fn plain_field(name: &str, type_id: TypeId) -> Field {
    Field { name: name.to_owned(), type_id, user_type: None, annotations: Vec::new() }
}

fn element_of(stack: &Place, position: usize, program: &mut Program) -> Place {
    let type_id = program.types.intern(Type::Bits { width: 32, signed: false });
    let index = ir::Expression {
        type_id,
        kind: ir::ExpressionKind::Constant(ir::Value::Bits(ir::bits::Bits::unsigned(
            32,
            position as u128,
        ))),
    };
    let mut place = stack.clone();
    place.path.push(Projection::Element(Box::new(index)));
    place
}

/// A builder for one of the three structs, which hold the headers, the metadata and
/// `standard_metadata`.
struct Builder<'p> {
    program: &'p mut Program,
    fields: Vec<Field>,
}

impl Builder<'_> {
    fn field(&mut self, variable: VariableId, name: &str, type_id: TypeId) -> Place {
        let place = Place::variable(variable).field(self.fields.len() as u32);
        self.fields.push(plain_field(name, type_id));
        place
    }

    fn finish(self, name: &str) -> TypeId {
        self.program.types.add_composite(Composite {
            name: name.to_owned(),
            kind: CompositeKind::Struct,
            fields: self.fields,
            annotations: Vec::new(),
            location: None,
        })
    }
}

/// Adds the errors of core.p4 and those of the JSON to the program, starting with `NoError`.
/// Returns the number of each error in the JSON. If the JSON lacks an error of core.p4, an unused
/// number is assigned to it.
fn errors(document: &Document, program: &mut Program) -> Vec<u64> {
    const CORE: [&str; 7] = [
        "NoError",
        "PacketTooShort",
        "NoMatch",
        "StackOutOfBounds",
        "HeaderTooShort",
        "ParserTimeout",
        "ParserInvalidArgument",
    ];
    let mut codes = Vec::new();
    let unused = document.errors.iter().map(|(_, code)| *code).max().map_or(0, |most| most + 1);
    for (missing, name) in CORE.iter().enumerate() {
        let known = document.errors.iter().find(|(known, _)| known == name);
        program.errors.push((*name).to_owned());
        codes.push(known.map_or(unused + missing as u64, |(_, code)| *code));
    }
    for (name, code) in &document.errors {
        if !CORE.contains(&name.as_str()) {
            program.errors.push(name.clone());
            codes.push(*code);
        }
    }
    codes
}

/// Returns the name, the width in bits (`None` for a varbit) and the signedness of a field in a
/// header type of the JSON.
fn field_of<'j>(
    header_type: &HeaderType,
    field: &'j [Value],
) -> Result<(&'j str, Option<u32>, bool), Bmv2Error> {
    let wrong = |problem: String| content(format!("header type `{}`", header_type.name), problem);
    let Some(name) = field.first().and_then(Value::as_str) else {
        return Err(wrong("a field has no name".to_owned()));
    };
    let signed = field.get(2).and_then(Value::as_bool).unwrap_or(false);
    match field.get(1) {
        Some(Value::String(width)) if width == "*" => Ok((name, None, false)),
        Some(width) => match width.as_u64().filter(|width| *width <= WIDTH_LIMIT) {
            Some(width) => Ok((name, Some(width as u32), signed)),
            None => Err(wrong(format!("field `{name}` has no width in bits"))),
        },
        None => Err(wrong(format!("field `{name}` has no width"))),
    }
}

fn fields(header_type: &HeaderType, program: &mut Program) -> Result<Vec<Field>, Bmv2Error> {
    let mut fixed = 0_u64;
    let mut list = Vec::new();
    for field in &header_type.fields {
        let (name, width, signed) = field_of(header_type, field)?;
        fixed += u64::from(width.unwrap_or(0));
        list.push((name, width, signed));
    }
    let varying = header_type
        .max_length
        .and_then(|bytes| bytes.checked_mul(8))
        .unwrap_or(0)
        .saturating_sub(fixed)
        .min(WIDTH_LIMIT) as u32;
    Ok(list
        .into_iter()
        .map(|(name, width, signed)| {
            let ty = match width {
                Some(width) => Type::Bits { width, signed },
                None => Type::Varbits { max_width: varying },
            };
            plain_field(name, program.types.intern(ty))
        })
        .collect())
}
