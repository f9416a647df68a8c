//! Set, which is for `config/enabled` alone.

use super::{
    PortSource,
    messages::{Operation, Path, SetRequest, SetResponse, Update, UpdateResult, Value},
    tree,
};
use crate::status::EntityError;

/// Carries out a request, all of it or nothing. `paths` are those of what is replaced and updated, in
/// this order, with the prefix before them.
pub(super) fn set(
    source: &dyn PortSource,
    request: &SetRequest,
    paths: &[Path],
    timestamp: i64,
) -> Result<SetResponse, EntityError> {
    if !request.delete.is_empty() {
        return Err(EntityError::unimplemented("Nothing can be deleted; update config/enabled."));
    }
    let ports = source.ports();
    let updates = request.replace.iter().chain(&request.update);
    let mut wanted = Vec::with_capacity(paths.len());
    for (update, path) in updates.zip(paths) {
        let Some(name) = tree::enabled_of(path) else {
            return Err(EntityError::unimplemented(
                "Only interfaces/interface[name=NAME]/config/enabled can be set.",
            ));
        };
        let Some(port) = ports.iter().find(|port| port.name == name) else {
            return Err(EntityError::not_found(format!("There is no interface {name:?}.")));
        };
        let enabled =
            flag(update).ok_or_else(|| EntityError::invalid("config/enabled is true or false."))?;
        wanted.push((port, enabled));
    }
    for (port, enabled) in wanted {
        if port.enabled != enabled && !source.set_enabled(port.number, enabled) {
            return Err(EntityError::in_use(format!(
                "Interface {} of this device cannot be switched on or off.",
                port.name
            )));
        }
    }
    let operations = std::iter::repeat_n(Operation::Replace, request.replace.len())
        .chain(std::iter::repeat(Operation::Update));
    let results = paths
        .iter()
        .zip(operations)
        .map(|(path, op)| UpdateResult { path: Some(path.clone()), op: op as i32 });
    Ok(SetResponse { prefix: None, response: results.collect(), timestamp })
}

fn flag(update: &Update) -> Option<bool> {
    match update.val.as_ref()?.value.as_ref()? {
        Value::Flag(flag) => Some(*flag),
        Value::Json(json) | Value::JsonIetf(json) => match json.trim_ascii() {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        },
        Value::Text(_) | Value::Number(_) => None,
    }
}
