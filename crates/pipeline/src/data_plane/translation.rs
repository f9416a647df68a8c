//! The translated types of a loaded program: numbers in the program that controllers see as strings
//! ([`entities::Translations`]).
//!
//! Before an update is made, [`Writer::assign`](super::write::Writer::assign) assigns a number to
//! every string in it. The conversions of values only look numbers up, so reads and deletions
//! assign none. Tables and machine code see only numbers.

use super::binding::{Binding, BoundTable, controller_header};
use crate::translated::Translated;
use entities::schema::{EGRESS_NAMES, INGRESS_NAMES, PacketHeader, Schema, TranslatedTypeId};
use entities::{EntityError, PortNames, Translations, TypeOfProgram};
use ir::{KeySet, Program, Table, TableId, TypeId, UserTypeKind, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest width in bits of a type whose values controllers can see as strings.
const WIDEST: u32 = 128;

/// Returns the translated types of a program, with the strings and numbers that they have right
/// after the program is loaded.
///
/// # Errors
/// Returns an error if the schema and the program do not belong together, or if a given number does
/// not fit its type.
pub fn translated_types(
    schema: &Schema,
    program: &Program,
    ports: &PortNames,
) -> Result<Translated, EntityError> {
    let binding = Binding::new(schema, program)?;
    let translated = of_tables(schema, program, &binding.tables, ports)?;
    program.tables.iter().enumerate().for_each(|(position, table)| {
        if let Ok(position) = u32::try_from(position) {
            reserve_own(&translated, program, TableId(position), table);
        }
    });
    Ok(translated)
}

/// Reserves the numbers of translated types in the entries and the default action that the program
/// declares for a table, so that they are not assigned to other strings.
fn reserve_own(translated: &Translated, program: &Program, id: TableId, table: &Table) {
    let reserve = |of: Option<TranslatedTypeId>, value: &Value| {
        if let (Some(of), Value::Bits(bits)) = (of, value)
            && let Some(number) = bits.to_u128()
        {
            translated.translations.reserve(of, number);
        }
    };
    let calls = table.entries.iter().map(|entry| &entry.action).chain([&table.default_action]);
    for call in calls {
        let Some(reference) = table.actions.get(call.position as usize) else { continue };
        let declared = program.actions.get(reference.action.index());
        let parameters =
            declared.into_iter().flat_map(|action| action.parameters.iter().enumerate());
        let of_control_plane = parameters.filter(|(_, parameter)| parameter.direction.is_none());
        for ((position, _), value) in of_control_plane.zip(&call.arguments) {
            reserve(translated.of_parameter(reference.action, position), value);
        }
    }
    for entry in &table.entries {
        for (position, set) in entry.key_sets.iter().enumerate() {
            if let KeySet::Exact(value) = set {
                reserve(translated.of_key(id, position), value);
            }
        }
    }
}

/// Returns the translated types of a program whose tables have been matched with those of P4Info.
pub(super) fn of_tables(
    schema: &Schema,
    program: &Program,
    tables: &BTreeMap<entities::schema::TableId, BoundTable>,
    ports: &PortNames,
) -> Result<Translated, EntityError> {
    let headers = || schema.packet_in().into_iter().chain(schema.packet_out());
    let of_headers: Vec<_> = headers().filter_map(port_of_header).collect();
    // Programs from BMv2 JSON have no types, so their ports are known by the headers only.
    let port = match program.types.user_types.is_empty() {
        true => of_headers.first().copied(),
        false => port_of_architecture(schema, program),
    };
    let widths = used_widths(schema, program, tables);
    let types = (0..).map(TranslatedTypeId).zip(schema.translated_types());
    let types = types.map(|(id, of)| {
        let bits = declared_width(program, &of.name).or_else(|| widths.get(&id).copied());
        // A type that nothing uses has no values.
        let bits = bits.unwrap_or(1);
        if bits == 0 || bits > WIDEST {
            return Err(EntityError::invalid(format!(
                "type '{}' has {bits} bits, types of 1 to {WIDEST} bits can be translated to strings",
                of.name
            )));
        }
        let is_port = port == Some(id) || of_headers.contains(&id);
        let (name, given) = (of.name.clone(), of.given.clone());
        Ok(TypeOfProgram { name, bits, given, ports: is_port.then(|| ports.clone()) })
    });
    let translations = Translations::new(types.collect::<Result<_, _>>()?)?;
    let mut translated = Translated {
        translations: Arc::new(translations),
        port,
        port_of_packets: port.or_else(|| of_headers.first().copied()),
        ..Translated::default()
    };
    tables.values().for_each(|table| add_table(&mut translated, program, table));
    Ok(translated)
}

/// Records which keys of a table and which parameters of its actions have translated types.
fn add_table(translated: &mut Translated, program: &Program, table: &BoundTable) {
    for (position, field) in table.keys.iter().enumerate() {
        if let Some(of) = field.as_ref().and_then(|field| field.translated) {
            translated.keys.insert((table.id, position), of);
        }
    }
    for action in &table.actions {
        let id = action.of_program;
        let declared = program.actions.get(id.index());
        let parameters = declared.into_iter().flat_map(|action| &action.parameters);
        let of_control_plane =
            parameters.enumerate().filter(|(_, parameter)| parameter.direction.is_none());
        for ((position, _), param) in of_control_plane.zip(&action.params) {
            if let Some(of) = param.translated {
                translated.parameters.insert((id, position), of);
            }
        }
    }
}

/// Returns the translated type of the port in a controller header, if a field of the header is a
/// port.
fn port_of_header(header: &PacketHeader) -> Option<TranslatedTypeId> {
    let names = INGRESS_NAMES.iter().chain(&EGRESS_NAMES);
    names.filter_map(|name| header.field_by_name(name)).find_map(|field| field.translated)
}

/// Returns the translated type that the architecture's own metadata have for a packet's output
/// port. The program may come with a modified file of the architecture in which ports are
/// translated.
fn port_of_architecture(schema: &Schema, program: &Program) -> Option<TranslatedTypeId> {
    const PLACES: [(&str, &str); 2] =
        [("standard_metadata_t", "egress_spec"), ("psa_ingress_output_metadata_t", "egress_port")];
    let composites = &program.types.composites;
    let user_type = PLACES.iter().find_map(|(composite, field)| {
        let found = composites.iter().find(|found| found.name == *composite)?;
        found.fields.iter().find(|found| found.name == *field)?.user_type
    })?;
    schema.translated_type(&program.types.user_types.get(user_type.index())?.name)
}

/// Returns the width of a type that the program declares with this name.
fn declared_width(program: &Program, name: &str) -> Option<u32> {
    let declared = program.types.user_types.iter().find(|declared| {
        let mut annotations = declared.annotations.iter();
        let named = annotations.find(|annotation| annotation.name == "name");
        declared.name == name || named.and_then(ir::Annotation::single_string) == Some(name)
    })?;
    match &declared.kind {
        UserTypeKind::NewType { original, .. } => width(program, *original),
        UserTypeKind::SerializableEnum { underlying, .. } => width(program, *underlying),
    }
}

fn width(program: &Program, of: TypeId) -> Option<u32> {
    u32::try_from(program.types.width_in_bits(of)?).ok()
}

/// Returns, for each translated type, the smallest width in bits of its uses in the program.
fn used_widths(
    schema: &Schema,
    program: &Program,
    tables: &BTreeMap<entities::schema::TableId, BoundTable>,
) -> BTreeMap<TranslatedTypeId, u32> {
    let mut widths = BTreeMap::new();
    let mut add = |of: Option<TranslatedTypeId>, bits: Option<u32>| {
        if let (Some(of), Some(bits)) = (of, bits) {
            widths.entry(of).and_modify(|least| *least = bits.min(*least)).or_insert(bits);
        }
    };
    for bound in tables.values() {
        let keys = program.tables.get(bound.id.index()).into_iter().flat_map(|table| &table.keys);
        for (key, field) in keys.zip(&bound.keys) {
            let of = field.as_ref().and_then(|field| field.translated);
            add(of, width(program, key.expression.type_id));
        }
        for action in &bound.actions {
            let declared = program.actions.get(action.of_program.index());
            let params = declared.into_iter().flat_map(|action| action.control_plane_parameters());
            for (declared, param) in params.zip(&action.params) {
                add(param.translated, width(program, declared.type_id));
            }
        }
    }
    for (name, header) in [("packet_in", schema.packet_in()), ("packet_out", schema.packet_out())] {
        let Some(header) = header else { continue };
        let names: Vec<&str> = header.fields.iter().map(|field| field.name.as_str()).collect();
        let bits = controller_header(program, name, &names).unwrap_or_default();
        header.fields.iter().zip(bits).for_each(|(field, bits)| add(field.translated, Some(bits)));
    }
    widths
}
