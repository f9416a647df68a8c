//! From a P4Info message to a [`Schema`].

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;

use super::catalog::{Catalog, Names};
use super::data::Resolver;
use super::objects::*;
use super::{Schema, ids::*};
use crate::proto::config::{self, P4Info};
use crate::proto::v1;
use crate::status::{Code, EntityError};
use crate::value::ValueType;

/// Why a P4Info cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// An object, field or parameter has no identifier.
    #[error("{object} has no id")]
    NoId {
        /// The object.
        object: String,
    },
    /// Two objects, or two fields of one object, have the same identifier.
    #[error("id {id} is used twice: by {first} and by {second}")]
    DuplicateId {
        /// The identifier, as it prints for its kind.
        id: String,
        /// The object that had it first.
        first: String,
        /// The object that has it too.
        second: String,
    },
    /// An object refers to one that does not exist.
    #[error("{object} refers to {kind} {id:#010x}, which is not in the P4Info")]
    Dangling {
        /// The object that refers.
        object: String,
        /// What the reference should lead to.
        kind: &'static str,
        /// The identifier that leads nowhere.
        id: u32,
    },
    /// A number is outside what it can be.
    #[error("{object}: {field} is {value}, which is not possible")]
    Number {
        /// The object.
        object: String,
        /// The field of the P4Info message.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// An enumeration is unset or a value it needs is missing.
    #[error("{object}: {field} is unset")]
    Unset {
        /// The object.
        object: String,
        /// The field of the P4Info message.
        field: &'static str,
    },
    /// A type does not resolve.
    #[error("{object}: {message}")]
    Type {
        /// The object.
        object: String,
        /// What is wrong with the type.
        message: String,
    },
    /// A value does not fit its type.
    #[error("{object}: {error}")]
    Value {
        /// The object.
        object: String,
        /// What is wrong with the value.
        error: EntityError,
    },
}

impl SchemaError {
    /// The canonical code that a SetForwardingPipelineConfig with such a P4Info fails with.
    pub fn code(&self) -> Code {
        Code::InvalidArgument
    }
}

/// Checks `p4info` and indexes it.
pub(super) fn schema(p4info: P4Info) -> Result<Schema, SchemaError> {
    let types = Types::new(&p4info);
    let mut ids = Ids::default();

    let actions = collect(&p4info.actions, |action| self::action(action, &types, &mut ids))?;
    let actions = catalog(actions, [|action| &action.name, |action| &action.alias])?;
    let externs = collect_externs(&p4info, &mut ids)?;
    let externs = catalog(externs, [|instance| &instance.name, |instance| &instance.alias])?;
    let direct_counters =
        collect(&p4info.direct_counters, |counter| direct_counter(counter, &mut ids))?;
    let direct_counters =
        catalog(direct_counters, [|counter| &counter.name, |counter| &counter.alias])?;
    let direct_meters = collect(&p4info.direct_meters, |meter| direct_meter(meter, &mut ids))?;
    let direct_meters = catalog(direct_meters, [|meter| &meter.name, |meter| &meter.alias])?;
    let action_profiles =
        collect(&p4info.action_profiles, |profile| action_profile(profile, &mut ids))?;
    let mut action_profiles = action_profiles;

    let lookup = Lookup {
        types: &types,
        actions: &actions,
        externs: &externs,
        direct_counters: &direct_counters,
        direct_meters: &direct_meters,
        action_profiles: action_profiles.iter().map(|(id, _)| *id).collect(),
    };
    let tables = collect(&p4info.tables, |table| self::table(table, &lookup, &mut ids))?;
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
            // The specification knows these two; another one cannot be addressed by anyone.
            _ => {}
        }
    }

    Ok(Schema {
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
        packet_in,
        packet_out,
        p4info,
    })
}

/// Identifier and names of an object, checked.
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

/// The identifiers seen so far; they are unique over all kinds of objects.
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

/// The user-defined types, as far as they change what the control plane sees of a value.
struct Types<'a> {
    types: Option<&'a config::P4TypeInfo>,
}

impl<'a> Types<'a> {
    fn new(p4info: &'a P4Info) -> Self {
        Self { types: p4info.type_info.as_ref() }
    }

    /// The type of a match field, parameter or packet header field.
    ///
    /// A width of 0 is text: that is how P4Info states a type translated to strings.
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
        Ok(NonZeroU32::new(bits).map_or(ValueType::Text, ValueType::Bits))
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

/// What a table may refer to.
struct Lookup<'a> {
    types: &'a Types<'a>,
    actions: &'a Catalog<ActionId, Action>,
    externs: &'a Catalog<ExternId, ExternInstance>,
    direct_counters: &'a Catalog<DirectCounterId, DirectCounter>,
    direct_meters: &'a Catalog<DirectMeterId, DirectMeter>,
    action_profiles: Vec<ActionProfileId>,
}

fn table(
    table: &config::Table,
    lookup: &Lookup<'_>,
    ids: &mut Ids,
) -> Result<(TableId, Table), SchemaError> {
    let preamble = ids.take("table", table.preamble.as_ref())?;
    let id = TableId(preamble.id);
    let (name, alias) = preamble.names();
    let match_fields = match_fields(&table.match_fields, &preamble, lookup.types)?;
    let actions = action_refs(table, &preamble, lookup)?;
    let implementation = implementation(table.implementation_id, &preamble, lookup)?;
    let mut direct_counter = None;
    let mut direct_meter = None;
    for resource in &table.direct_resource_ids {
        if lookup.direct_counters.get(DirectCounterId(*resource)).is_some() {
            direct_counter = Some(DirectCounterId(*resource));
        } else if lookup.direct_meters.get(DirectMeterId(*resource)).is_some() {
            direct_meter = Some(DirectMeterId(*resource));
        } else if lookup.externs.get(ExternId(*resource)).is_none() {
            return Err(SchemaError::Dangling {
                object: preamble.to_string(),
                kind: "direct resource",
                id: *resource,
            });
        }
    }
    let default_action = default_action(table, &actions, &preamble, lookup)?;
    let needs_priority = match_fields.iter().any(|field| {
        matches!(field.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    });
    let table = Table {
        id,
        name,
        alias,
        match_fields,
        actions,
        default_action,
        default_is_const: table.const_default_action_id != 0 || implementation.is_some(),
        implementation,
        direct_counter,
        direct_meter,
        size: size(table.size, &preamble)?,
        idle_timeout: table.idle_timeout_behavior()
            != config::table::IdleTimeoutBehavior::NoTimeout,
        is_const: table.is_const_table,
        has_initial_entries: table.has_initial_entries,
        needs_priority,
    };
    Ok((id, table))
}

fn action_refs(
    table: &config::Table,
    preamble: &Preamble<'_>,
    lookup: &Lookup<'_>,
) -> Result<Vec<ActionRef>, SchemaError> {
    let mut actions = Vec::with_capacity(table.action_refs.len());
    for reference in &table.action_refs {
        let id = ActionId(reference.id);
        exists(lookup.actions, id, "action", || preamble.to_string())?;
        actions.push(ActionRef { id, scope: reference.scope() });
    }
    actions.sort_by_key(|action| action.id);
    actions.dedup_by_key(|action| action.id);
    Ok(actions)
}

fn implementation(
    id: u32,
    preamble: &Preamble<'_>,
    lookup: &Lookup<'_>,
) -> Result<Option<Implementation>, SchemaError> {
    if id == 0 {
        return Ok(None);
    }
    if lookup.action_profiles.contains(&ActionProfileId(id)) {
        return Ok(Some(Implementation::ActionProfile(ActionProfileId(id))));
    }
    exists(lookup.externs, ExternId(id), "action profile or extern", || preamble.to_string())?;
    Ok(Some(Implementation::Extern(ExternId(id))))
}

/// The initial default action: as stated, else the constant one, else `NoAction`.
///
/// Compilers before P4Runtime 1.4 do not state it.
fn default_action(
    table: &config::Table,
    actions: &[ActionRef],
    preamble: &Preamble<'_>,
    lookup: &Lookup<'_>,
) -> Result<Option<v1::Action>, SchemaError> {
    let bare = |id: ActionId| v1::Action { action_id: id.0, params: Vec::new() };
    if let Some(call) = &table.initial_default_action {
        let id = ActionId(call.action_id);
        let action = exists(lookup.actions, id, "action", || preamble.to_string())?;
        let mut params = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            let place = || format!("{preamble}, initial default action");
            let param = action.param(ParamId(argument.param_id)).ok_or_else(|| {
                SchemaError::Dangling { object: place(), kind: "parameter", id: argument.param_id }
            })?;
            let value = param
                .value
                .canonical(&argument.value)
                .map_err(|error| SchemaError::Value { object: place(), error: error.into() })?;
            params.push(v1::action::Param {
                param_id: argument.param_id,
                value: bytes::Bytes::copy_from_slice(value),
            });
        }
        return Ok(Some(v1::Action { action_id: id.0, params }));
    }
    if table.const_default_action_id != 0 {
        let id = ActionId(table.const_default_action_id);
        exists(lookup.actions, id, "action", || preamble.to_string())?;
        return Ok(Some(bare(id)));
    }
    let no_action = actions.iter().find(|reference| {
        lookup
            .actions
            .get(reference.id)
            .is_some_and(|action| action.name == "NoAction" && action.params.is_empty())
    });
    Ok(no_action.map(|reference| bare(reference.id)))
}

fn match_fields(
    fields: &[config::MatchField],
    owner: &Preamble<'_>,
    types: &Types<'_>,
) -> Result<Vec<MatchField>, SchemaError> {
    use config::match_field::{Match, MatchType};

    let mut checked = Vec::with_capacity(fields.len());
    for field in fields {
        let object = || format!("field '{}' of {owner}", field.name);
        let kind = match &field.r#match {
            Some(Match::OtherMatchType(kind)) => MatchKind::Other(kind.clone()),
            Some(Match::MatchType(number)) => match MatchType::try_from(*number) {
                Ok(MatchType::Exact) => MatchKind::Exact,
                Ok(MatchType::Lpm) => MatchKind::Lpm,
                Ok(MatchType::Ternary) => MatchKind::Ternary,
                Ok(MatchType::Range) => MatchKind::Range,
                Ok(MatchType::Optional) => MatchKind::Optional,
                Ok(MatchType::Unspecified) => {
                    return Err(SchemaError::Unset { object: object(), field: "match_type" });
                }
                Err(_) => MatchKind::Other(number.to_string()),
            },
            None => return Err(SchemaError::Unset { object: object(), field: "match" }),
        };
        let value = types.value(field.bitwidth, field.type_name.as_ref(), object)?;
        checked.push(MatchField {
            id: MatchFieldId(field.id),
            name: field.name.clone(),
            kind,
            value,
        });
    }
    unique(&checked, owner, |field| (field.id, &field.name))?;
    Ok(checked)
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
        params.push(Param { id: ParamId(param.id), name: param.name.clone(), value });
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

/// The actions of the tables that the profile implements, on whichever side P4Info says so.
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
    let unit = counter.spec.as_ref().map(config::CounterSpec::unit).unwrap_or_default();
    Ok((id, Counter { id, name, alias, unit, size: size(counter.size, &preamble)? }))
}

fn direct_counter(
    counter: &config::DirectCounter,
    ids: &mut Ids,
) -> Result<(DirectCounterId, DirectCounter), SchemaError> {
    let preamble = ids.take("direct counter", counter.preamble.as_ref())?;
    let id = DirectCounterId(preamble.id);
    let (name, alias) = preamble.names();
    let unit = counter.spec.as_ref().map(config::CounterSpec::unit).unwrap_or_default();
    Ok((id, DirectCounter { id, name, alias, unit, table: TableId(counter.direct_table_id) }))
}

fn meter(meter: &config::Meter, ids: &mut Ids) -> Result<(MeterId, Meter), SchemaError> {
    let preamble = ids.take("meter", meter.preamble.as_ref())?;
    let id = MeterId(preamble.id);
    let (name, alias) = preamble.names();
    let spec = meter.spec.unwrap_or_default();
    let size = size(meter.size, &preamble)?;
    Ok((id, Meter { id, name, alias, unit: spec.unit(), algorithm: spec.r#type(), size }))
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
    Ok((id, DirectMeter { id, name, alias, unit: spec.unit(), algorithm: spec.r#type(), table }))
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
        fields.push(PacketField { id: MetadataId(field.id), name: field.name.clone(), value });
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
    // `Ids` has seen every identifier, so that this cannot fail; it is an error all the same
    // rather than a second index that disagrees with the first.
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

/// A size of 0 is no limit: compilers leave out what the program does not say.
fn size(size: i64, object: &Preamble<'_>) -> Result<Option<u64>, SchemaError> {
    let checked = u64::try_from(size).map_err(|_| SchemaError::Number {
        object: object.to_string(),
        field: "size",
        value: size,
    })?;
    Ok((checked > 0).then_some(checked))
}

/// Checks that the parts of one object have identifiers of their own.
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
