//! The connection between a loaded program and the numbers of the strings that controllers use
//! ([`entities::Translations`]).
//!
//! Before an update is made, [`Writer::assign`] gives every string in it a number. The
//! conversions of values only look numbers up, so that reads and deletions assign none. Tables and
//! machine code see numbers only.

use super::binding::{BoundAction, BoundTable, controller_header};
use super::write::Writer;
use super::{Books, Shared};
use crate::externs::ExternState;
use crate::table::{self, FieldMatch, Runs};
use crate::value::Value;
use entities::schema::{
    ActionProfileId, EGRESS_NAMES, INGRESS_NAMES, PacketHeader, Schema, TranslatedTypeId,
};
use entities::{
    ActionCall, Data, DataType, Entity, EntityError, EntryKey, Matching, Port, PortNames,
    TableAction, Translations, TypeOfProgram, Update, UpdateKind, Used, Watch,
};
use ir::{Program, TypeId, UserTypeKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The widest type that is translated to a string, in bits.
const WIDEST: u32 = 128;

/// The translated types of a program.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) translations: Arc<Translations>,
    /// The type of ports in replicas and of watched ports, if controllers see it as a string.
    pub(super) port: Option<TranslatedTypeId>,
}

impl Translated {
    pub(super) fn new(
        schema: &Schema,
        program: &Program,
        tables: &BTreeMap<entities::schema::TableId, BoundTable>,
        ports: &PortNames,
    ) -> Result<Self, EntityError> {
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
        Ok(Self { translations: Arc::new(translations), port })
    }
}

/// Returns the translated type of the field of a controller header that is a port.
fn port_of_header(header: &PacketHeader) -> Option<TranslatedTypeId> {
    let names = INGRESS_NAMES.iter().chain(&EGRESS_NAMES);
    names.filter_map(|name| header.field_by_name(name)).find_map(|field| field.translated)
}

/// Returns the translated type that the architecture's own metadata have for a packet's output
/// port. The file of an architecture may be a modified one.
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

/// Returns the smallest width with which the program uses each translated type.
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

impl Shared {
    /// Returns the number of a port that a controller wrote, or `None` if it is no port.
    pub(super) fn port(&self, port: &Port) -> Option<u32> {
        match (port, self.translated.port) {
            (Port::Bytes(text), Some(of)) => {
                u32::try_from(self.translated.translations.number(of, text)?).ok()
            }
            (Port::Bytes(_), None) | (Port::Number(_), _) => port.number(),
        }
    }

    /// Returns the number of a watched port.
    pub(super) fn watched(&self, watch: &Watch) -> Option<u32> {
        match watch {
            Watch::Nothing => None,
            Watch::Number(number) => u32::try_from(*number).ok(),
            Watch::Port(port) => self.port(&Port::Bytes(port.clone())),
        }
    }

    /// Gives the numbers that the program's own entries, default actions and initial registers
    /// contain their decimal digits as strings, so that controllers can read them and no other string gets them.
    pub(super) fn name_numbers_of_program(&self) {
        let translations = &self.translated.translations;
        for of in (0..).map(TranslatedTypeId).take(self.schema.translated_types().len()) {
            let used = used(self, &Books::default(), of);
            let mut numbers: Vec<_> = used.numbers.into_iter().collect();
            numbers.sort_unstable();
            numbers.into_iter().for_each(|number| translations.give_digits(of, number));
        }
    }
}

impl Writer<'_> {
    /// Gives a number to every string in an update that has none yet.
    pub(super) fn assign(&mut self, update: &Update) -> Result<(), EntityError> {
        let (shared, books) = (self.shared, &*self.books);
        let translations = &shared.translated.translations;
        if translations.is_empty() || update.kind == UpdateKind::Delete {
            return Ok(());
        }
        translations.begin_update();
        let mut undos = Vec::new();
        let mut outcome = Ok(());
        Texts {
            shared,
            visit: &mut |of, text| {
                if outcome.is_ok() {
                    match translations.assign(of, text, &mut || used(shared, books, of)) {
                        Ok(undo) if undo.is_nothing() => {}
                        Ok(undo) => undos.push(undo),
                        Err(error) => outcome = Err(error),
                    }
                }
            },
        }
        .of_entity(&update.entity);
        for undo in undos {
            self.undo(move |shared, _| shared.translated.translations.undo(undo));
        }
        outcome
    }
}

/// A visitor of the strings of translated types in entities.
struct Texts<'v> {
    shared: &'v Shared,
    visit: &'v mut dyn FnMut(TranslatedTypeId, &[u8]),
}

impl Texts<'_> {
    fn of_entity(&mut self, entity: &Entity) {
        let schema = &self.shared.schema;
        match entity {
            Entity::Entry(entry) => {
                let table = schema.tables().get(entry.table);
                if let (Some(table), EntryKey::Match(key)) = (table, &entry.key) {
                    self.of_fields(&table.match_fields, &key.fields);
                }
                match &entry.action {
                    Some(TableAction::Call(call)) => self.of_call(call),
                    Some(TableAction::OneShot(one_shot)) => self.of_one_shot(one_shot),
                    Some(TableAction::Member(_) | TableAction::Group(_)) | None => {}
                }
            }
            Entity::Member(member) => member.action.iter().for_each(|call| self.of_call(call)),
            Entity::Group(group) => {
                group.members.iter().for_each(|member| self.of_watch(&member.watch));
            }
            Entity::MulticastGroup(group) => self.of_replicas(&group.replicas),
            Entity::CloneSession(session) => self.of_replicas(&session.replicas),
            Entity::ValueSet(set) => {
                let Some(declared) = schema.value_sets().get(set.id) else { return };
                for member in &set.members {
                    self.of_fields(&declared.match_fields, member);
                }
            }
            Entity::Register(cell) => {
                if let Some(declared) = schema.registers().get(cell.id) {
                    self.of_data(&declared.data, &cell.data);
                }
            }
            Entity::DirectCounter(..)
            | Entity::DirectMeter(..)
            | Entity::Counter(_)
            | Entity::Meter(_)
            | Entity::Digest(..) => {}
        }
    }

    fn of_fields(
        &mut self,
        declared: &[entities::schema::MatchField],
        fields: &[entities::FieldMatch],
    ) {
        for field in fields {
            let of = declared.iter().find(|declared| declared.id == field.field);
            let Some(of) = of.and_then(|declared| declared.translated) else { continue };
            match &field.matching {
                Matching::Exact(value) | Matching::Optional(value) => {
                    (self.visit)(of, value.bytes());
                }
                // The form of the update was checked: strings have no prefixes, masks or order.
                Matching::Lpm { .. } | Matching::Ternary { .. } | Matching::Range { .. } => {}
            }
        }
    }

    fn of_call(&mut self, call: &ActionCall) {
        let Some(action) = self.shared.schema.actions().get(call.action) else { return };
        for argument in &call.arguments {
            let param = action.param(argument.param);
            if let Some(of) = param.and_then(|param| param.translated) {
                (self.visit)(of, argument.value.bytes());
            }
        }
    }

    fn of_one_shot(&mut self, one_shot: &entities::OneShot) {
        for member in &one_shot.members {
            self.of_call(&member.action);
            self.of_watch(&member.watch);
        }
    }

    fn of_watch(&mut self, watch: &Watch) {
        if let (Watch::Port(port), Some(of)) = (watch, self.shared.translated.port) {
            (self.visit)(of, port);
        }
    }

    fn of_replicas(&mut self, replicas: &[entities::Replica]) {
        let Some(of) = self.shared.translated.port else { return };
        for replica in replicas {
            if let Some(Port::Bytes(port)) = &replica.port {
                (self.visit)(of, port);
            }
        }
    }

    fn of_data(&mut self, of: &DataType, data: &Data) {
        match (of, data) {
            (DataType::Text(Some(of)), Data::Bits(text)) => (self.visit)(*of, text),
            (DataType::Struct(types), Data::Struct(values))
            | (DataType::Tuple(types), Data::Tuple(values)) => {
                types.iter().zip(values).for_each(|(of, value)| self.of_data(of, value));
            }
            _ => {}
        }
    }
}

/// Returns the numbers and strings of a type that entities contain. Visits all entities.
fn used(shared: &Shared, books: &Books, of: TranslatedTypeId) -> Used {
    let mut used = Used::default();
    for (id, bound) in &shared.binding.tables {
        let Some(state) = shared.core.state.tables.get(bound.id.index()) else { continue };
        let keys: Vec<usize> = positions(&bound.keys, |key| {
            key.as_ref().is_some_and(|field| field.translated == Some(of))
        });
        let profiled =
            shared.schema.tables().get(*id).is_some_and(|table| table.implementation.is_some());
        let has_params = bound
            .actions
            .iter()
            .any(|action| action.params.iter().any(|param| param.translated == Some(of)));
        used_in_call(&bound.actions, &state.default().cell.call(), of, &mut used);
        if keys.is_empty() && !has_params && !profiled {
            continue;
        }
        for stored in state.iter() {
            for position in &keys {
                if let Some(FieldMatch::Exact(bits)) = stored.matches.get(*position) {
                    used.numbers.extend(bits.to_u128());
                }
            }
            let entry = stored.state();
            match &entry.runs {
                Runs::Action(cell) => {
                    cell.with_call(|call| used_in_call(&bound.actions, call, of, &mut used));
                }
                // Members and groups are entities of their own.
                Runs::Member(..) | Runs::Group(..) | Runs::OneShot(_) => {}
            }
            let one_shot = entry.note.as_ref().and_then(|note| note.one_shot.as_ref());
            if let Some(one_shot) = one_shot {
                texts_of(shared, of, &mut used, |texts| texts.of_one_shot(one_shot));
            }
        }
    }
    for (id, instance) in &shared.binding.profiles {
        if let Some(ExternState::Profile(profile)) = shared.core.state.externs.get(instance.index())
        {
            let members = profile.members().clone();
            let actions = actions_of_profile(shared, *id);
            for cell in members.values() {
                used_in_call(actions.iter().copied(), &cell.call(), of, &mut used);
            }
        }
    }
    for (id, instance) in &shared.binding.registers {
        let declared = shared.schema.registers().get(*id).filter(|one| one.data.has_text());
        let state = shared.core.state.externs.get(instance.index());
        if let (Some(declared), Some(ExternState::Register(register))) = (declared, state) {
            // Cells that nothing was written to contain the initial value.
            used_in_value(&declared.data, &register.initial, of, &mut used);
            let mut from = 0;
            loop {
                let some = register.cells.written_from(from);
                let Some((last, _)) = some.last() else { break };
                from = last.saturating_add(1);
                for (_, value) in &some {
                    used_in_value(&declared.data, value, of, &mut used);
                }
            }
        }
    }
    used_in_books(shared, books, of, &mut used);
    used
}

/// Adds the strings in entities that are kept as they were written.
fn used_in_books(shared: &Shared, books: &Books, of: TranslatedTypeId, used: &mut Used) {
    texts_of(shared, of, used, |texts| {
        for group in books.profiles.values().flat_map(|profile| profile.groups.values()) {
            group.members.iter().for_each(|member| texts.of_watch(&member.watch));
        }
        books.multicast_groups.values().for_each(|group| texts.of_replicas(&group.replicas));
        books.clone_sessions.values().for_each(|session| texts.of_replicas(&session.replicas));
        for set in books.value_sets.values() {
            texts.of_entity(&Entity::ValueSet(set.clone()));
        }
    });
}

/// Adds the strings of a type that `visit` visits.
fn texts_of(
    shared: &Shared,
    of: TranslatedTypeId,
    used: &mut Used,
    visit: impl FnOnce(&mut Texts<'_>),
) {
    let mut add = |found: TranslatedTypeId, text: &[u8]| {
        if found == of {
            used.texts.insert(text.into());
        }
    };
    visit(&mut Texts { shared, visit: &mut add });
}

fn actions_of_profile(shared: &Shared, profile: ActionProfileId) -> Vec<&BoundAction> {
    let declared = shared.schema.action_profiles().get(profile);
    let tables = declared.into_iter().flat_map(|profile| &profile.tables);
    let bound = tables.filter_map(|table| shared.binding.tables.get(table));
    bound.flat_map(|table| &table.actions).collect()
}

fn used_in_call<'a>(
    actions: impl IntoIterator<Item = &'a BoundAction>,
    call: &table::ActionCall,
    of: TranslatedTypeId,
    used: &mut Used,
) {
    let found = actions.into_iter().find(|action| action.of_program == call.action);
    let Some(action) = found else { return };
    for (param, value) in action.params.iter().zip(&call.arguments) {
        if param.translated == Some(of) {
            used.numbers.extend(value.to_pattern().and_then(|bits| bits.to_u128()));
        }
    }
}

fn used_in_value(declared: &DataType, value: &Value, of: TranslatedTypeId, used: &mut Used) {
    match (declared, value) {
        (DataType::Text(Some(found)), Value::Bits(bits)) if *found == of => {
            used.numbers.extend(bits.to_u128());
        }
        (DataType::Struct(types) | DataType::Tuple(types), Value::Struct(values)) => {
            let members = types.iter().zip(values);
            members.for_each(|(declared, value)| used_in_value(declared, value, of, used));
        }
        _ => {}
    }
}

fn positions<T>(list: &[T], is_wanted: impl Fn(&T) -> bool) -> Vec<usize> {
    list.iter().enumerate().filter(|(_, one)| is_wanted(one)).map(|(at, _)| at).collect()
}
