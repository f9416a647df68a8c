//! Actions with their arguments (specification of P4Runtime 1.5, "Action Specification").

use bytes::Bytes;
use entities::schema::{ActionId, ActionRef, ActionScope, ParamId, Schema};
use entities::{ActionCall, Argument, EntityError, Value};

use crate::proto::v1;

/// The context in which an action is used, which determines whether the action is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// The action of a table entry, or of a member to which entries refer.
    Entry,
    /// The default action of a table.
    Default,
    /// The action of a one-shot group as a whole.
    Group,
}

/// Converts a message to a call of an action. In the result, arguments are ordered by identifier,
/// and values are canonical.
///
/// `allowed` holds the actions of the table or action profile, ordered by identifier.
pub(super) fn call(
    schema: &Schema,
    allowed: &[ActionRef],
    usage: Usage,
    action: &v1::Action,
) -> Result<ActionCall, EntityError> {
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
        ActionScope::TableAndDefault => true,
        ActionScope::TableOnly => usage != Usage::Default,
        ActionScope::DefaultOnly => usage == Usage::Default,
        ActionScope::GroupAction => usage == Usage::Group,
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
            reference.scope.name()
        )));
    }

    let mut arguments: Vec<Argument> = Vec::with_capacity(declared.params.len());
    for param in &action.params {
        let id = ParamId(param.param_id);
        let declared = declared
            .param(id)
            .ok_or_else(|| EntityError::invalid(format!("{} has no parameter {id}", place())))?;
        let parameter = || format!("{}, parameter {id} '{}'", place(), declared.name);
        if arguments.iter().any(|argument| argument.param == id) {
            return Err(EntityError::invalid(format!("{} is given twice", parameter())));
        }
        let value = Value::new(declared.value, &param.value)
            .map_err(|error| EntityError::from(error).within(parameter()))?;
        arguments.push(Argument { param: id, value });
    }
    arguments.sort_by_key(|argument| argument.param);
    let mut given = arguments.iter().map(|argument| argument.param);
    if let Some(missing) = declared.params.iter().find(|param| given.next() != Some(param.id)) {
        return Err(EntityError::invalid(format!(
            "{}: parameter {} '{}' is missing",
            place(),
            missing.id,
            missing.name
        )));
    }
    Ok(ActionCall { action: id, arguments: arguments.into() })
}

/// Converts a call of an action to a message.
pub(super) fn message(call: &ActionCall) -> v1::Action {
    let params = call.arguments.iter().map(|argument| v1::action::Param {
        param_id: argument.param.0,
        value: Bytes::copy_from_slice(argument.value.bytes()),
    });
    v1::Action { action_id: call.action.0, params: params.collect() }
}
