//! Nodes as JSON: a leaf is a bare value and a container is an object (gNMI 0.7, section 2.3.1).
//!
//! In RFC 7951, 64-bit numbers are strings (section 6.1). A name is qualified by its module at the
//! top of a value, and wherever its module differs from that of its parent node (section 4).

use serde_json::{Map, Value};

use super::{
    form::{self, Form, Written},
    leaf::{ENTRY, INTERFACE, INTERFACES, LEAVES, Leaf, LeafValue, Module, NAME},
    messages::{self, Notification, Path, TypedValue, Update},
    paths,
    port::Seen,
    qos,
};

/// Returns the JSON value of a leaf, according to RFC 7951 if `is_ietf`.
pub(super) fn leaf(value: &LeafValue, is_ietf: bool) -> Value {
    match value {
        LeafValue::Text(text) => Value::from(text.as_str()),
        LeafValue::Number(number) => Value::from(*number),
        LeafValue::Counter(count) if is_ietf => Value::from(count.to_string()),
        LeafValue::Counter(count) => Value::from(*count),
        LeafValue::Flag(flag) => Value::from(*flag),
    }
}

/// Returns the nodes that a path selects, each as a JSON value. There is one notification for each
/// selected port, and one for a node above the ports.
pub(super) fn select(
    ports: &[Seen],
    path: &Path,
    form: &Form,
    timestamp: i64,
) -> Vec<Notification> {
    let notification = |update: Vec<Update>| Notification {
        timestamp,
        prefix: form.prefix.clone(),
        update,
        ..Notification::default()
    };
    let topmost = LEAVES.iter().filter_map(|leaf| paths::reach(path, None, leaf)).min();
    let of_queues = ports
        .iter()
        .map(|seen| notification(qos::updates(seen, std::slice::from_ref(path), form, None)));
    let of_queues = of_queues.filter(|one| !one.update.is_empty());
    let mut all = match topmost {
        None => Vec::new(),
        Some(depth) if depth < ENTRY => {
            let path = paths::of_nodes(&[INTERFACES][..depth]);
            vec![notification(vec![update(path, &above(ports, depth, form), form)])]
        }
        Some(_) => {
            let of_port = ports.iter().map(|seen| nodes_of(seen, path, form));
            of_port.filter(|updates| !updates.is_empty()).map(notification).collect()
        }
    };
    all.extend(of_queues);
    all
}

/// Returns the JSON object of the node at `depth`, which is the root or `interfaces`. It contains
/// the list of ports.
fn above(ports: &[Seen], depth: usize, form: &Form) -> Value {
    let entry = |seen: &Seen| object(&present(seen, &[], form), ENTRY, false, form);
    let list: Vec<Value> = ports.iter().map(entry).collect();
    let is_root = depth == 0;
    let mut interfaces = Map::new();
    if !list.is_empty() {
        interfaces.insert(member(INTERFACE, Module::Interfaces, !is_root, form), list.into());
    }
    if !is_root {
        return interfaces.into();
    }
    let mut root = Map::new();
    root.insert(member(INTERFACES, Module::Interfaces, true, form), interfaces.into());
    root.into()
}

/// Returns the nodes of a port that a path selects. Of nodes that are nested in each other, only
/// the outermost is returned.
fn nodes_of(seen: &Seen, path: &Path, form: &Form) -> Vec<Update> {
    let port = &seen.port.name;
    let mut nodes: Vec<&[&str]> = Vec::new();
    for leaf in LEAVES.iter().filter(|leaf| form.wants(leaf) && (leaf.value)(seen).is_some()) {
        let reached = paths::reach(path, Some(port), leaf).map(|depth| leaf.nodes_to(depth));
        nodes.extend(reached.filter(|node| !nodes.contains(node)));
    }
    let value = |node: &[&str]| match LEAVES.iter().find(|leaf| leaf.nodes == node) {
        Some(found) => (found.value)(seen).map(|value| leaf(&value, is_ietf(form))),
        None => Some(object(&present(seen, node, form), ENTRY + node.len(), true, form)),
    };
    let update = |node| Some(update(paths::of_port(port, node), &value(node)?, form));
    nodes.into_iter().filter_map(update).collect()
}

/// A leaf that exists on a port, with its value.
struct Present {
    leaf: &'static Leaf,
    value: LeafValue,
}

/// Returns the leaves below the container `node` of a port that have a value and that the client
/// has requested by data type and model. `node` is the path of the container from the port's entry
/// in the list of interfaces. If it is empty, it denotes the entry itself, and the leaves include
/// the key (`name`) even if the client has not requested it.
fn present(seen: &Seen, node: &[&str], form: &Form) -> Vec<Present> {
    let is_wanted = |leaf: &&Leaf| {
        let is_key = node.is_empty() && leaf.nodes == [NAME];
        leaf.nodes.starts_with(node) && (is_key || form.wants(leaf))
    };
    let present = |leaf: &'static Leaf| Some(Present { leaf, value: (leaf.value)(seen)? });
    LEAVES.iter().filter(is_wanted).filter_map(present).collect()
}

/// Returns the JSON object of the container at `depth`. `leaves` are the leaves below it, in the
/// order of [`LEAVES`].
fn object(leaves: &[Present], depth: usize, is_top: bool, form: &Form) -> Value {
    let mut object = Map::new();
    for below in leaves.chunk_by(|one, other| one.leaf.node(depth) == other.leaf.node(depth)) {
        let Present { leaf: first, value } = &below[0];
        let (module, value) = if first.depth() == depth + 1 {
            (first.module, leaf(value, is_ietf(form)))
        } else {
            (Module::Interfaces, self::object(below, depth + 1, false, form))
        };
        object.insert(member(first.node(depth), module, is_top, form), value);
    }
    object.into()
}

/// Returns the name of a member of a JSON object, with the name of its module as a prefix where RFC
/// 7951 requires it. All containers belong to [`Module::Interfaces`], so a leaf of another module
/// always has the prefix.
fn member(node: &str, module: Module, is_top: bool, form: &Form) -> String {
    if is_ietf(form) && (is_top || module != Module::Interfaces) {
        format!("{}:{node}", module.name())
    } else {
        node.to_owned()
    }
}

fn is_ietf(form: &Form) -> bool {
    form.written == Written::JsonIetf
}

fn update(path: Path, value: &Value, form: &Form) -> Update {
    let text = form::bytes(value);
    let value = match form.written {
        Written::JsonIetf => messages::Value::JsonIetf(text),
        Written::Json | Written::Scalars => messages::Value::Json(text),
    };
    Update { path: Some(path), val: Some(TypedValue { value: Some(value) }) }
}
