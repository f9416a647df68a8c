//! The paths of requests and answers, and the leaves that they select.

use super::{
    leaf::{INTERFACE, INTERFACES, Leaf},
    messages::{Path, PathElem},
};
use crate::status::EntityError;

/// The accepted origins of paths: the default, OpenConfig's, and the one that clients send for
/// `openconfig-interfaces:interfaces`.
const ORIGINS: [&str; 3] = ["", "openconfig", "openconfig-interfaces"];

/// The path element that matches any one node.
const ANY: &str = "*";
/// The path element that matches any number of nodes.
const ANY_NUMBER: &str = "...";

/// Returns a path appended to its prefix. Adjacent `...` are merged, which bounds the running time
/// of [`reach`]: every other element must match a node.
pub(super) fn join(prefix: Option<&Path>, path: &Path) -> Path {
    let mut joined = prefix.cloned().unwrap_or_default();
    joined.elem.extend(path.elem.iter().cloned());
    joined.elem.dedup_by(|one, before| one.name == ANY_NUMBER && before.name == ANY_NUMBER);
    if joined.target.is_empty() {
        joined.target.clone_from(&path.target);
    }
    if joined.origin.is_empty() {
        joined.origin.clone_from(&path.origin);
    }
    joined
}

/// Checks that a joined path has an accepted origin.
pub(super) fn check_origin(path: &Path) -> Result<(), EntityError> {
    if ORIGINS.contains(&path.origin.as_str()) {
        return Ok(());
    }
    Err(EntityError::invalid(format!(
        "The origin {:?} is not supported; use openconfig, which is the default.",
        path.origin
    )))
}

/// Returns the depth of the topmost node that a path selects on the way from the root to a leaf of
/// a port. Returns `None` if the path selects neither the leaf nor a node above it. If `port` is
/// `None`, the path may select the leaf of any port.
pub(super) fn reach(path: &Path, port: Option<&str>, leaf: &Leaf) -> Option<usize> {
    reach_nodes(path, leaf.depth(), |elem, node| matches_node(elem, leaf.node(node), port))
}

/// Returns the depth of the topmost node that a path selects on the way from the root to a leaf at
/// `depth`. Returns `None` if the path selects neither the leaf nor a node above it. `matches`
/// returns whether a path element matches the node at a position, counted from the root. The depth
/// is at most 30.
pub(super) fn reach_nodes(
    path: &Path,
    depth: usize,
    matches: impl Fn(&PathElem, usize) -> bool,
) -> Option<usize> {
    // Bit n is set if the elements so far can match the first n nodes.
    let mut reached: u32 = 1;
    for elem in &path.elem {
        reached = if elem.name == ANY_NUMBER {
            (u32::MAX << reached.trailing_zeros()) & ((2 << depth) - 1)
        } else {
            let nodes = (0..depth).filter(|node| reached >> node & 1 == 1);
            let stands = nodes.filter(|node| matches(elem, *node));
            stands.fold(0, |next, node| next | 2 << node)
        };
        if reached == 0 {
            return None;
        }
    }
    Some(reached.trailing_zeros() as usize)
}

/// Returns whether an element of a path matches a node. The list of interfaces has one key, `name`.
fn matches_node(elem: &PathElem, node: &str, port: Option<&str>) -> bool {
    has_name(elem, node)
        && elem.key.iter().all(|(key, value)| {
            let is_port = is_any(value) || port.is_none_or(|port| port == value);
            node == INTERFACE && key == "name" && is_port
        })
}

/// Returns whether a path element matches nodes of this name, regardless of their keys.
pub(super) fn has_name(elem: &PathElem, name: &str) -> bool {
    elem.name == name || elem.name == ANY
}

/// Returns whether a key with this value in a path matches all entries of a list.
pub(super) fn is_any(value: &str) -> bool {
    // ONOS requests the interface `...`.
    matches!(value, ANY | ANY_NUMBER)
}

/// Returns the path of a node of a port.
pub(super) fn of_port(port: &str, nodes: &[&str]) -> Path {
    let key = [("name".to_owned(), port.to_owned())].into();
    let interface = PathElem { name: INTERFACE.to_owned(), key };
    let mut path = of_nodes(&[INTERFACES]);
    path.elem.push(interface);
    path.elem.extend(of_nodes(nodes).elem);
    path
}

/// Returns the path of nodes without keys.
pub(super) fn of_nodes(nodes: &[&str]) -> Path {
    let elem = |name: &&str| PathElem { name: (*name).to_owned(), ..PathElem::default() };
    Path { elem: nodes.iter().map(elem).collect(), ..Path::default() }
}

/// Returns a path in gNMI's text notation.
pub(super) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for elem in &path.elem {
        text.push('/');
        text.push_str(&elem.name);
        for (key, value) in &elem.key {
            text.push_str(&format!("[{key}={value}]"));
        }
    }
    if text.is_empty() { "/".to_owned() } else { text }
}
