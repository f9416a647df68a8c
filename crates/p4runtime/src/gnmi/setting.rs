//! Set requests that change the configuration of a port: `config/enabled`, by itself or in a
//! container. Because clients write whole containers, a request may also contain the name and the
//! id of the port, but only with their current values.

use std::collections::BTreeMap;

use serde_json::Value as JsonValue;

use super::{
    PortSource, form,
    leaf::{CONFIG, ENABLED, ENTRY, ID, INTERFACE, INTERFACES, LEAVES, Module, NAME},
    messages::{Operation, Path, SetRequest, SetResponse, Update, UpdateResult, Value},
    paths,
    port::Port,
};
use crate::status::EntityError;

/// The default of `config/enabled` in openconfig-interfaces.
const DEFAULT_ENABLED: bool = true;

/// Applies a Set request completely or not at all. `paths` are the joined paths of the
/// replacements, followed by those of the updates.
pub(super) fn set(
    source: &dyn PortSource,
    request: &SetRequest,
    paths: &[Path],
    timestamp: i64,
) -> Result<SetResponse, EntityError> {
    check_operations(request)?;
    let operations = operations(request);
    let updates = request.replace.iter().chain(&request.update);
    let ports = source.ports();
    // The requested states by port number. The last operation on a port prevails.
    let mut wanted = BTreeMap::new();
    for ((update, path), operation) in updates.zip(paths).zip(operations.clone()) {
        let (port, nodes) = target(&ports, path)?;
        let mut enabled = (operation == Operation::Replace).then_some(DEFAULT_ENABLED);
        let value = json(update)?;
        let place = || paths::shown(path);
        write(port, nodes, &value, &mut enabled).map_err(|error| error.within(place()))?;
        if let Some(enabled) = enabled {
            wanted.insert(port.number, enabled);
        }
    }
    apply(source, &ports, &wanted)?;
    Ok(response(request, paths, timestamp))
}

/// Refuses requests with operations that are supported for no path.
pub(super) fn check_operations(request: &SetRequest) -> Result<(), EntityError> {
    if !request.delete.is_empty() {
        return Err(EntityError::unimplemented(
            "Deletion is not supported; update config/enabled instead.",
        ));
    }
    if !request.union_replace.is_empty() {
        return Err(EntityError::unimplemented(
            "union_replace is not served; replace or update config/enabled.",
        ));
    }
    Ok(())
}

/// Returns the operation of each path of a request: replacements, followed by updates.
fn operations(request: &SetRequest) -> impl Iterator<Item = Operation> + Clone {
    std::iter::repeat_n(Operation::Replace, request.replace.len())
        .chain(std::iter::repeat(Operation::Update))
}

/// Returns the response to a request that was carried out.
pub(super) fn response(request: &SetRequest, paths: &[Path], timestamp: i64) -> SetResponse {
    let results = paths.iter().zip(operations(request)).map(|(path, op)| UpdateResult {
        path: Some(Path { elem: path.elem.clone(), ..Path::default() }),
        op: op as i32,
    });
    let prefix = form::repeated(request.prefix.as_ref());
    SetResponse { prefix, response: results.collect(), timestamp }
}

/// Returns the port that a path of a Set request names, and the nodes of its configuration that
/// follow in the path.
fn target<'p>(ports: &'p [Port], path: &'p Path) -> Result<(&'p Port, Vec<&'p str>), EntityError> {
    let refused = || {
        EntityError::unimplemented(format!(
            "{} cannot be set; interfaces/interface[name=NAME]/config, and enabled in it, can.",
            paths::shown(path)
        ))
    };
    let [interfaces, interface, below @ ..] = path.elem.as_slice() else { return Err(refused()) };
    let has_keys = below.iter().chain([interfaces]).any(|elem| !elem.key.is_empty());
    let nodes: Vec<&str> = below.iter().map(|elem| elem.name.as_str()).collect();
    let is_settable = LEAVES
        .iter()
        .any(|leaf| leaf.nodes.starts_with(&nodes) && leaf.nodes.first() == Some(&CONFIG));
    let names = [&interfaces.name, &interface.name];
    let name = interface.key.get(NAME).filter(|_| interface.key.len() == 1);
    let (Some(name), false, true, [INTERFACES, INTERFACE]) =
        (name, has_keys, is_settable, names.map(String::as_str))
    else {
        return Err(refused());
    };
    let port = ports.iter().find(|port| port.name == *name);
    let missing = || EntityError::not_found(format!("There is no interface {name:?}."));
    Ok((port.ok_or_else(missing)?, nodes))
}

/// Returns the value of a Set request's update as JSON, regardless of its encoding.
pub(super) fn json(update: &Update) -> Result<JsonValue, EntityError> {
    match update.val.as_ref().and_then(|val| val.value.as_ref()) {
        Some(Value::Flag(flag)) => Ok(JsonValue::from(*flag)),
        Some(Value::Number(number)) => Ok(JsonValue::from(*number)),
        Some(Value::Text(text)) => Ok(JsonValue::from(text.as_str())),
        Some(Value::Json(json) | Value::JsonIetf(json)) => serde_json::from_slice(json)
            .map_err(|error| EntityError::invalid(format!("The value is not JSON: {error}."))),
        None => Err(EntityError::invalid(
            "An update has no value, or one of another type than bool, uint, string, JSON and JSON_IETF.",
        )),
    }
}

/// Checks a value for a node of a port's configuration, and stores the value of `enabled`.
fn write(
    port: &Port,
    nodes: Vec<&str>,
    value: &JsonValue,
    enabled: &mut Option<bool>,
) -> Result<(), EntityError> {
    match nodes.as_slice() {
        [CONFIG, ENABLED] => match value {
            JsonValue::Bool(flag) => *enabled = Some(*flag),
            _ => return Err(EntityError::invalid("config/enabled is true or false.")),
        },
        [NAME] | [CONFIG, NAME] if value.as_str() == Some(&port.name) => {}
        [NAME] | [CONFIG, NAME] => {
            return Err(EntityError::invalid(format!(
                "The name {value} differs from that of the interface, {:?}.",
                port.name
            )));
        }
        [CONFIG, ID] if value.as_u64() == Some(port.number.into()) => {}
        [CONFIG, ID] => {
            return Err(EntityError::unimplemented(format!(
                "The id of {:?} is {} and cannot be changed to {value}.",
                port.name, port.number
            )));
        }
        _ => {
            let JsonValue::Object(members) = value else {
                return Err(EntityError::invalid(format!(
                    "The node is a container; an object is needed, and {value} is not one."
                )));
            };
            for (name, value) in members {
                let mut below = nodes.clone();
                below.push(known(&nodes, name)?);
                write(port, below, value, enabled)?;
            }
        }
    }
    Ok(())
}

/// Returns the node below the nodes `above` whose name is `member`, a name in a JSON object with or
/// without the prefix of its module.
fn known(above: &[&str], member: &str) -> Result<&'static str, EntityError> {
    let (module, name) =
        member.rsplit_once(':').map_or((None, member), |(module, name)| (Some(module), name));
    let depth = ENTRY + above.len();
    let is_named = |module_name: Module| module.is_none_or(|module| module == module_name.name());
    let found = LEAVES.iter().find(|leaf| {
        let is_leaf = leaf.depth() == depth + 1;
        let is_settable = leaf.nodes == [NAME] || leaf.nodes.first() == Some(&CONFIG);
        is_settable
            && leaf.nodes.starts_with(above)
            && leaf.nodes.get(above.len()) == Some(&name)
            && is_named(if is_leaf { leaf.module } else { Module::Interfaces })
    });
    found.map(|leaf| leaf.node(depth)).ok_or_else(|| {
        EntityError::invalid(format!(
            "{member:?} cannot be written; name, id and enabled of config can."
        ))
    })
}

/// Enables and disables ports as requested. If a port cannot be changed, the ports that were
/// changed before it are restored.
fn apply(
    source: &dyn PortSource,
    ports: &[Port],
    wanted: &BTreeMap<u32, bool>,
) -> Result<(), EntityError> {
    let changing: Vec<&Port> = ports
        .iter()
        .filter(|port| wanted.get(&port.number).is_some_and(|enabled| *enabled != port.enabled))
        .collect();
    for (position, port) in changing.iter().enumerate() {
        if !source.set_enabled(port.number, !port.enabled) {
            for earlier in &changing[..position] {
                source.set_enabled(earlier.number, earlier.enabled);
            }
            return Err(EntityError::in_use(format!(
                "Interface {} of this device cannot be switched on or off.",
                port.name
            )));
        }
    }
    Ok(())
}
