//! Actions with their arguments (specification 1.5, "Action Specification").

use std::collections::HashSet;

use crate::p4info::{ActionId, ActionRef, ParamId, Schema};
use crate::proto::config::action_ref::Scope;
use crate::proto::v1;
use crate::status::EntityError;

/// Where an action is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// In an entry, directly or through a member.
    Entry,
    /// As the default action.
    Default,
    /// For a whole one-shot group.
    Group,
}

/// The canonical form of `action`: arguments by identifier, values canonical.
///
/// `allowed` are the actions of the table or action profile, ordered by identifier.
pub(super) fn canonical(
    schema: &Schema,
    allowed: &[ActionRef],
    usage: Usage,
    action: &v1::Action,
) -> Result<v1::Action, EntityError> {
    let id = ActionId(action.action_id);
    let declared = schema
        .actions()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no action {id}")))?;
    let place = || format!("action '{}'", declared.name);
    let reference = allowed
        .binary_search_by_key(&id, |reference| reference.id)
        .ok()
        .and_then(|position| allowed.get(position))
        .ok_or_else(|| EntityError::invalid(format!("{}: the table does not have it", place())))?;
    let permitted = match reference.scope {
        Scope::TableAndDefault => true,
        Scope::TableOnly => usage != Usage::Default,
        Scope::DefaultOnly => usage == Usage::Default,
        Scope::GroupAction => usage == Usage::Group,
    };
    if !permitted {
        let role = match usage {
            Usage::Entry => "in an entry",
            Usage::Default => "as the default action",
            Usage::Group => "as the action of a group",
        };
        return Err(EntityError::denied(format!(
            "{}: its scope {} does not allow it {role}",
            place(),
            reference.scope.as_str_name()
        )));
    }

    let mut params = Vec::with_capacity(declared.params.len());
    let mut given = HashSet::new();
    for param in &action.params {
        let id = ParamId(param.param_id);
        let declared = declared
            .param(id)
            .ok_or_else(|| EntityError::invalid(format!("{} has no parameter {id}", place())))?;
        let parameter = || format!("{}, parameter {id} '{}'", place(), declared.name);
        if !given.insert(id) {
            return Err(EntityError::invalid(format!("{} is there twice", parameter())));
        }
        let value = declared
            .value
            .canonical(&param.value)
            .map_err(|error| EntityError::from(error).within(parameter()))?;
        params.push(v1::action::Param {
            param_id: param.param_id,
            value: param.value.slice_ref(value),
        });
    }
    if let Some(missing) = declared.params.iter().find(|param| !given.contains(&param.id)) {
        return Err(EntityError::invalid(format!(
            "{}: parameter {} '{}' is missing",
            place(),
            missing.id,
            missing.name
        )));
    }
    params.sort_by_key(|param| param.param_id);
    Ok(v1::Action { action_id: action.action_id, params })
}
