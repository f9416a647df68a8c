//! The conversion of a P4Info message to a [`Schema`], with all checks.

mod table;

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;

use self::table::{Lookup, match_fields, table};
use entities::ValueType;
use entities::schema::*;

use super::SchemaError;
use super::resolve::Resolver;
use super::translation::{translated_type, translated_types};
use crate::proto::config::{self, P4Info};

/// Checks `p4info` and indexes it.
pub(super) fn schema(p4info: &P4Info) -> Result<Schema, SchemaError> {
    let translated_types = translated_types(p4info.type_info.as_ref())?;
    let types = Types::new(p4info, &translated_types);
    let mut ids = Ids::default();

    let actions = collect(&p4info.actions, |action| self::action(action, &types, &mut ids))?;
    let actions = catalog(actions, [|action| &action.name, |action| &action.alias])?;
    let externs = collect_externs(p4info, &mut ids)?;
    let externs = catalog(externs, [|instance| &instance.name, |instance| &instance.alias])?;
    let direct_counters =
        collect(&p4info.direct_counters, |counter| direct_counter(counter, &mut ids))?;
    let direct_counters =
        catalog(direct_counters, [|counter| &counter.name, |counter| &counter.alias])?;
    let direct_meters = collect(&p4info.direct_meters, |meter| direct_meter(meter, &mut ids))?;
    let direct_meters = catalog(direct_meters, [|meter| &meter.name, |meter| &meter.alias])?;
    let mut action_profiles =
        collect(&p4info.action_profiles, |profile| action_profile(profile, &mut ids))?;

    let lookup = Lookup {
        types: &types,
        actions: &actions,
        externs: &externs,
        direct_counters: &direct_counters,
        direct_meters: &direct_meters,
        action_profiles: action_profiles.iter().map(|(id, _)| *id).collect(),
    };
    let tables = collect(&p4info.tables, |message| table(message, &lookup, &mut ids))?;
    let tables = catalog(tables, [|table| &table.name, |table| &table.alias])?;

    for (_, profile) in &mut action_profiles {
        profile.actions = actions_of_profile(profile, &tables)?;
    }
    let action_profiles =
        catalog(action_profiles, [|profile| &profile.name, |profile| &profile.alias])?;
    for counter in direct_counters.iter() {
        exists(&tables, counter.table, "table", || format!("direct counter '{}'", counter.name))?;
    }
    for meter in direct_meters.iter() {
        exists(&tables, meter.table, "table", || format!("direct meter '{}'", meter.name))?;
    }

    let counters = collect(&p4info.counters, |counter| self::counter(counter, &mut ids))?;
    let counters = catalog(counters, [|counter| &counter.name, |counter| &counter.alias])?;
    let meters = collect(&p4info.meters, |meter| self::meter(meter, &mut ids))?;
    let meters = catalog(meters, [|meter| &meter.name, |meter| &meter.alias])?;
    let value_sets = collect(&p4info.value_sets, |set| value_set(set, &types, &mut ids))?;
    let value_sets = catalog(value_sets, [|set| &set.name, |set| &set.alias])?;

    let mut resolver = Resolver::new(p4info.type_info.as_ref());
    let registers =
        collect(&p4info.registers, |register| self::register(register, &mut resolver, &mut ids))?;
    let registers = catalog(registers, [|register| &register.name, |register| &register.alias])?;
    let digests = collect(&p4info.digests, |digest| self::digest(digest, &mut resolver, &mut ids))?;
    let digests = catalog(digests, [|digest| &digest.name, |digest| &digest.alias])?;

    let mut packet_in = None;
    let mut packet_out = None;
    for header in &p4info.controller_packet_metadata {
        let preamble = ids.take("controller packet metadata", header.preamble.as_ref())?;
        match preamble.name {
            "packet_in" => packet_in = Some(packet_header(header, &preamble, &types)?),
            "packet_out" => packet_out = Some(packet_header(header, &preamble, &types)?),
            // The specification defines only these two headers; no client can address another one.
            _ => {}
        }
    }

    Ok(Schema::new(Objects {
        tables,
        actions,
        action_profiles,
        counters,
        direct_counters,
        meters,
        direct_meters,
        registers,
        digests,
        value_sets,
        externs,
        translated_types,
        packet_in,
        packet_out,
    }))
}

/// The checked identifier and the names of an object of a P4Info.
struct Preamble<'a> {
    kind: &'static str,
    id: u32,
    name: &'a str,
    alias: &'a str,
}

impl Preamble<'_> {
    fn names(&self) -> (String, String) {
        (self.name.to_owned(), self.alias.to_owned())
    }
}

impl fmt::Display for Preamble<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.kind, self.name)
    }
}

/// The identifiers seen so far in a P4Info, which must be unique over all kinds of objects.
#[derive(Default)]
struct Ids {
    owners: HashMap<u32, String>,
}

impl Ids {
    fn take<'a>(
        &mut self,
        kind: &'static str,
        preamble: Option<&'a config::Preamble>,
    ) -> Result<Preamble<'a>, SchemaError> {
        let Some(preamble) = preamble else {
            return Err(SchemaError::NoId { object: format!("a {kind} without preamble") });
        };
        let checked =
            Preamble { kind, id: preamble.id, name: &preamble.name, alias: &preamble.alias };
        if preamble.id == 0 {
            return Err(SchemaError::NoId { object: checked.to_string() });
        }
        match self.owners.insert(preamble.id, checked.to_string()) {
            None => Ok(checked),
            Some(first) => Err(SchemaError::DuplicateId {
                id: format!("{:#010x}", preamble.id),
                first,
                second: checked.to_string(),
            }),
        }
    }
}

/// The user-defined types of a program, among them those whose values are translated: controllers
/// use another form of the value than the program.
struct Types<'a> {
    types: Option<&'a config::P4TypeInfo>,
    translated: &'a [TranslatedType],
}

impl<'a> Types<'a> {
    fn new(p4info: &'a P4Info, translated: &'a [TranslatedType]) -> Self {
        Self { types: p4info.type_info.as_ref(), translated }
    }

    /// Returns the type of a match field, parameter or packet header field.
    ///
    /// A width of 0 denotes a string, unless the type is translated to a number: P4Info represents
    /// types that are translated to strings in this way.
    fn value(
        &self,
        bitwidth: i32,
        named: Option<&config::P4NamedType>,
        object: impl Fn() -> String,
    ) -> Result<ValueType, SchemaError> {
        let bits = match bitwidth {
            0 => self.translated_bits(named).unwrap_or(0),
            bits => bits,
        };
        let bits = u32::try_from(bits).map_err(|_| SchemaError::Number {
            object: object(),
            field: "bitwidth",
            value: bits.into(),
        })?;
        let text = || match self.translated(named).and_then(|id| self.translated.get(id.index())) {
            Some(of) if of.given.iter().any(|(text, _)| text.is_empty()) => ValueType::TextOrEmpty,
            Some(_) | None => ValueType::Text,
        };
        Ok(NonZeroU32::new(bits).map_or_else(text, ValueType::Bits))
    }

    /// Returns the identifier of the value's type, if controllers use strings for its values.
    fn translated(&self, named: Option<&config::P4NamedType>) -> Option<TranslatedTypeId> {
        translated_type(self.types, &named?.name)
    }

    fn translated_bits(&self, named: Option<&config::P4NamedType>) -> Option<i32> {
        use config::p4_new_type_spec::Representation;
        use config::p4_new_type_translation::SdnType;

        match self.types?.new_types.get(&named?.name)?.representation.as_ref()? {
            Representation::TranslatedType(translation) => match translation.sdn_type? {
                SdnType::SdnBitwidth(bits) => Some(bits),
                SdnType::SdnString(_) => None,
            },
            Representation::OriginalType(_) => None,
        }
    }
}

fn action(
    action: &config::Action,
    types: &Types<'_>,
    ids: &mut Ids,
) -> Result<(ActionId, Action), SchemaError> {
    let preamble = ids.take("action", action.preamble.as_ref())?;
    let id = ActionId(preamble.id);
    let (name, alias) = preamble.names();
    let mut params = Vec::with_capacity(action.params.len());
    for param in &action.params {
        let object = || format!("parameter '{}' of {preamble}", param.name);
        let value = types.value(param.bitwidth, param.type_name.as_ref(), object)?;
        let translated = types.translated(param.type_name.as_ref());
        params.push(Param { id: ParamId(param.id), name: param.name.clone(), value, translated });
    }
    unique(&params, &preamble, |param| (param.id, &param.name))?;
    params.sort_by_key(|param| param.id);
    Ok((id, Action { id, name, alias, params }))
}

fn action_profile(
    profile: &config::ActionProfile,
    ids: &mut Ids,
) -> Result<(ActionProfileId, ActionProfile), SchemaError> {
    use config::action_profile::SelectorSizeSemantics;

    let preamble = ids.take("action profile", profile.preamble.as_ref())?;
    let id = ActionProfileId(preamble.id);
    let (name, alias) = preamble.names();
    let positive = |field, value: i32| {
        u32::try_from(value).map(|value| (value > 0).then_some(value)).map_err(|_| {
            SchemaError::Number { object: preamble.to_string(), field, value: value.into() }
        })
    };
    let size_semantics = match &profile.selector_size_semantics {
        None | Some(SelectorSizeSemantics::SumOfWeights(_)) => SizeSemantics::SumOfWeights,
        Some(SelectorSizeSemantics::SumOfMembers(members)) => SizeSemantics::SumOfMembers {
            max_member_weight: positive("max_member_weight", members.max_member_weight)?,
        },
    };
    let profile = ActionProfile {
        id,
        name,
        alias,
        tables: profile.table_ids.iter().copied().map(TableId).collect(),
        actions: Vec::new(),
        with_selector: profile.with_selector,
        size: size(profile.size, &preamble)?,
        max_group_size: positive("max_group_size", profile.max_group_size)?,
        size_semantics,
        weights_disallowed: profile.weights_disallowed,
    };
    Ok((id, profile))
}

/// Returns the actions of all tables that the profile implements. P4Info may name the tables in the
/// profile, or the profile in the tables.
fn actions_of_profile(
    profile: &ActionProfile,
    tables: &Catalog<TableId, Table>,
) -> Result<Vec<ActionRef>, SchemaError> {
    for id in &profile.tables {
        exists(tables, *id, "table", || format!("action profile '{}'", profile.name))?;
    }
    let implemented = |table: &&Table| {
        profile.tables.contains(&table.id)
            || table.implementation == Some(Implementation::ActionProfile(profile.id))
    };
    let mut actions: Vec<ActionRef> =
        tables.iter().filter(implemented).flat_map(|table| table.actions.iter().copied()).collect();
    actions.sort_by_key(|action| action.id);
    actions.dedup_by_key(|action| action.id);
    Ok(actions)
}

fn counter(counter: &config::Counter, ids: &mut Ids) -> Result<(CounterId, Counter), SchemaError> {
    let preamble = ids.take("counter", counter.preamble.as_ref())?;
    let id = CounterId(preamble.id);
    let (name, alias) = preamble.names();
    let unit = counted(counter.spec.as_ref());
    Ok((id, Counter { id, name, alias, unit, size: size(counter.size, &preamble)? }))
}

fn direct_counter(
    counter: &config::DirectCounter,
    ids: &mut Ids,
) -> Result<(DirectCounterId, DirectCounter), SchemaError> {
    let preamble = ids.take("direct counter", counter.preamble.as_ref())?;
    let id = DirectCounterId(preamble.id);
    let (name, alias) = preamble.names();
    let unit = counted(counter.spec.as_ref());
    Ok((id, DirectCounter { id, name, alias, unit, table: TableId(counter.direct_table_id) }))
}

fn meter(meter: &config::Meter, ids: &mut Ids) -> Result<(MeterId, Meter), SchemaError> {
    let preamble = ids.take("meter", meter.preamble.as_ref())?;
    let id = MeterId(preamble.id);
    let (name, alias) = preamble.names();
    let spec = meter.spec.unwrap_or_default();
    let size = size(meter.size, &preamble)?;
    Ok((
        id,
        Meter {
            id,
            name,
            alias,
            unit: metered(spec.unit()),
            algorithm: algorithm(spec.r#type()),
            size,
        },
    ))
}

fn direct_meter(
    meter: &config::DirectMeter,
    ids: &mut Ids,
) -> Result<(DirectMeterId, DirectMeter), SchemaError> {
    let preamble = ids.take("direct meter", meter.preamble.as_ref())?;
    let id = DirectMeterId(preamble.id);
    let (name, alias) = preamble.names();
    let spec = meter.spec.unwrap_or_default();
    let table = TableId(meter.direct_table_id);
    Ok((
        id,
        DirectMeter {
            id,
            name,
            alias,
            unit: metered(spec.unit()),
            algorithm: algorithm(spec.r#type()),
            table,
        },
    ))
}

fn counted(spec: Option<&config::CounterSpec>) -> Unit {
    use config::counter_spec::Unit as Of;

    match spec.map(config::CounterSpec::unit).unwrap_or_default() {
        Of::Unspecified => Unit::Unspecified,
        Of::Bytes => Unit::Bytes,
        Of::Packets => Unit::Packets,
        Of::Both => Unit::Both,
    }
}

fn metered(unit: config::meter_spec::Unit) -> Unit {
    use config::meter_spec::Unit as Of;

    match unit {
        Of::Unspecified => Unit::Unspecified,
        Of::Bytes => Unit::Bytes,
        Of::Packets => Unit::Packets,
    }
}

fn algorithm(kind: config::meter_spec::Type) -> MeterAlgorithm {
    use config::meter_spec::Type as Of;

    match kind {
        Of::TwoRateThreeColor => MeterAlgorithm::TwoRateThreeColor,
        Of::SingleRateThreeColor => MeterAlgorithm::SingleRateThreeColor,
        Of::SingleRateTwoColor => MeterAlgorithm::SingleRateTwoColor,
    }
}

fn register<'a>(
    register: &'a config::Register,
    resolver: &mut Resolver<'a>,
    ids: &mut Ids,
) -> Result<(RegisterId, Register), SchemaError> {
    let preamble = ids.take("register", register.preamble.as_ref())?;
    let id = RegisterId(preamble.id);
    let (name, alias) = preamble.names();
    let data = resolver
        .resolve(register.type_spec.as_ref())
        .map_err(|message| SchemaError::Type { object: preamble.to_string(), message })?;
    Ok((id, Register { id, name, alias, data, size: size(register.size.into(), &preamble)? }))
}

fn digest<'a>(
    digest: &'a config::Digest,
    resolver: &mut Resolver<'a>,
    ids: &mut Ids,
) -> Result<(DigestId, Digest), SchemaError> {
    let preamble = ids.take("digest", digest.preamble.as_ref())?;
    let id = DigestId(preamble.id);
    let (name, alias) = preamble.names();
    let data = resolver
        .resolve(digest.type_spec.as_ref())
        .map_err(|message| SchemaError::Type { object: preamble.to_string(), message })?;
    Ok((id, Digest { id, name, alias, data }))
}

fn value_set(
    set: &config::ValueSet,
    types: &Types<'_>,
    ids: &mut Ids,
) -> Result<(ValueSetId, ValueSet), SchemaError> {
    let preamble = ids.take("value set", set.preamble.as_ref())?;
    let id = ValueSetId(preamble.id);
    let (name, alias) = preamble.names();
    let match_fields = match_fields(&set.r#match, &preamble, types)?;
    Ok((id, ValueSet { id, name, alias, match_fields, size: size(set.size.into(), &preamble)? }))
}

fn packet_header(
    header: &config::ControllerPacketMetadata,
    preamble: &Preamble<'_>,
    types: &Types<'_>,
) -> Result<PacketHeader, SchemaError> {
    let mut fields = Vec::with_capacity(header.metadata.len());
    for field in &header.metadata {
        let object = || format!("field '{}' of {preamble}", field.name);
        let value = types.value(field.bitwidth, field.type_name.as_ref(), object)?;
        let (id, name) = (MetadataId(field.id), field.name.clone());
        let translated = types.translated(field.type_name.as_ref());
        fields.push(PacketField { id, name, value, translated });
    }
    unique(&fields, preamble, |field| (field.id, &field.name))?;
    Ok(PacketHeader { fields })
}

fn collect_externs(
    p4info: &P4Info,
    ids: &mut Ids,
) -> Result<Vec<(ExternId, ExternInstance)>, SchemaError> {
    let mut instances = Vec::new();
    for of_type in &p4info.externs {
        for instance in &of_type.instances {
            let preamble = ids.take("extern", instance.preamble.as_ref())?;
            let id = ExternId(preamble.id);
            let (name, alias) = preamble.names();
            let type_id = ExternTypeId(of_type.extern_type_id);
            instances.push((id, ExternInstance { id, name, alias, type_id }));
        }
    }
    Ok(instances)
}

fn collect<'a, M, I, T>(
    messages: &'a [M],
    check: impl FnMut(&'a M) -> Result<(I, T), SchemaError>,
) -> Result<Vec<(I, T)>, SchemaError> {
    messages.iter().map(check).collect()
}

fn catalog<I: Copy + Ord + fmt::Display, T>(
    objects: Vec<(I, T)>,
    names: Names<T>,
) -> Result<Catalog<I, T>, SchemaError> {
    // `Ids` has seen every identifier, so this cannot fail. It is handled as an error nevertheless,
    // since a second index that disagrees with the first would be worse.
    Catalog::new(objects, names).map_err(|id| SchemaError::DuplicateId {
        id: id.to_string(),
        first: "an object".to_owned(),
        second: "an object of the same kind".to_owned(),
    })
}

fn exists<'a, I: Copy + Ord + Into<u32>, T>(
    catalog: &'a Catalog<I, T>,
    id: I,
    kind: &'static str,
    object: impl FnOnce() -> String,
) -> Result<&'a T, SchemaError> {
    catalog.get(id).ok_or_else(|| SchemaError::Dangling { object: object(), kind, id: id.into() })
}

/// Returns the size that an object declares, or `None` if it is 0, which compilers write for an
/// object without a size.
fn size(size: i64, object: &Preamble<'_>) -> Result<Option<u64>, SchemaError> {
    let checked = u64::try_from(size).map_err(|_| SchemaError::Number {
        object: object.to_string(),
        field: "size",
        value: size,
    })?;
    Ok((checked > 0).then_some(checked))
}

/// Checks that the parts of an object, such as its fields or parameters, have distinct identifiers.
fn unique<T, I: Copy + Ord + fmt::Display + Into<u32>>(
    parts: &[T],
    owner: &Preamble<'_>,
    key: impl Fn(&T) -> (I, &String),
) -> Result<(), SchemaError> {
    let mut keys: Vec<(I, &String)> = parts.iter().map(key).collect();
    keys.sort();
    if let Some((_, name)) = keys.iter().find(|(id, _)| (*id).into() == 0) {
        return Err(SchemaError::NoId { object: format!("'{name}' of {owner}") });
    }
    match keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(()),
        Some(pair) => Err(SchemaError::DuplicateId {
            id: pair[0].0.to_string(),
            first: format!("'{}' of {owner}", pair[0].1),
            second: format!("'{}'", pair[1].1),
        }),
    }
}
