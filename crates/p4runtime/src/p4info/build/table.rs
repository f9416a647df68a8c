//! The checks of tables, which refer to most other kinds of objects.

use entities::schema::*;
use entities::{ActionCall, Argument, Value};

use super::{Ids, Preamble, Types, exists, size, unique};
use crate::p4info::SchemaError;
use crate::proto::config;

/// The objects that a table may refer to.
pub(super) struct Lookup<'a> {
    pub(super) types: &'a Types<'a>,
    pub(super) actions: &'a Catalog<ActionId, Action>,
    pub(super) externs: &'a Catalog<ExternId, ExternInstance>,
    pub(super) direct_counters: &'a Catalog<DirectCounterId, DirectCounter>,
    pub(super) direct_meters: &'a Catalog<DirectMeterId, DirectMeter>,
    pub(super) action_profiles: Vec<ActionProfileId>,
}

/// Checks and converts a table.
pub(super) fn table(
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
        actions.push(ActionRef { id, scope: scope(reference.scope()) });
    }
    actions.sort_by_key(|action| action.id);
    actions.dedup_by_key(|action| action.id);
    Ok(actions)
}

fn scope(scope: config::action_ref::Scope) -> ActionScope {
    use config::action_ref::Scope;

    match scope {
        Scope::TableAndDefault => ActionScope::TableAndDefault,
        Scope::TableOnly => ActionScope::TableOnly,
        Scope::DefaultOnly => ActionScope::DefaultOnly,
        Scope::GroupAction => ActionScope::GroupAction,
    }
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

/// Returns the initial default action of a table, which is the one that P4Info states. P4Infos of
/// compilers before P4Runtime 1.4 state none. The default action is then the constant default
/// action or, without one, `NoAction`.
fn default_action(
    table: &config::Table,
    actions: &[ActionRef],
    preamble: &Preamble<'_>,
    lookup: &Lookup<'_>,
) -> Result<Option<ActionCall>, SchemaError> {
    let bare = |id: ActionId| ActionCall { action: id, arguments: Box::default() };
    if let Some(call) = &table.initial_default_action {
        let id = ActionId(call.action_id);
        let action = exists(lookup.actions, id, "action", || preamble.to_string())?;
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            let place = || format!("{preamble}, initial default action");
            let param = action.param(ParamId(argument.param_id)).ok_or_else(|| {
                SchemaError::Dangling { object: place(), kind: "parameter", id: argument.param_id }
            })?;
            let value = Value::new(param.value, &argument.value)
                .map_err(|error| SchemaError::Value { object: place(), error: error.into() })?;
            arguments.push(Argument { param: param.id, value });
        }
        return Ok(Some(ActionCall { action: id, arguments: arguments.into() }));
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

/// Checks and converts the fields of a key or of a value set.
pub(super) fn match_fields(
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
            translated: types.translated(field.type_name.as_ref()),
        });
    }
    unique(&checked, owner, |field| (field.id, &field.name))?;
    Ok(checked)
}
