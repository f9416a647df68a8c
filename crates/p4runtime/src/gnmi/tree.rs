//! The leaves of a port in the model `openconfig-interfaces`, and which of them a path selects.

use super::{
    Port,
    messages::{Notification, Path, PathElem, TypedValue, Update, Value},
};

/// Container, leaf, value.
type Leaf = (&'static str, &'static str, fn(&Port) -> Value);

/// The leaves below `interfaces/interface[name=N]`.
const LEAVES: [Leaf; 6] = [
    ("config", "name", |port| Value::Text(port.name.clone())),
    ("config", "enabled", |_| Value::Flag(true)),
    ("state", "name", |port| Value::Text(port.name.clone())),
    ("state", "ifindex", |port| Value::Number(port.number.into())),
    ("state", "admin-status", |_| Value::Text("UP".to_owned())),
    ("state", OPER_STATUS, |port| Value::Text(if port.up { "UP" } else { "DOWN" }.to_owned())),
];

const OPER_STATUS: &str = "oper-status";

/// What the paths select of the ports, one notification for each port; `None` if a path leads
/// nowhere, whatever the ports.
pub(super) fn select(ports: &[Port], paths: &[Path], timestamp: i64) -> Option<Vec<Notification>> {
    let known = |path: &Path| {
        LEAVES.iter().any(|(container, leaf, _)| matches(path, None, container, leaf))
    };
    if !paths.iter().all(known) {
        return None;
    }
    let notifications = ports.iter().map(|port| notification(port, paths, timestamp, |_| true));
    Some(notifications.filter(|one| !one.update.is_empty()).collect())
}

/// What the paths select of a port that went up or down, if anything.
pub(super) fn changed(port: &Port, paths: &[Path], timestamp: i64) -> Option<Notification> {
    let told = notification(port, paths, timestamp, |leaf| leaf == OPER_STATUS);
    (!told.update.is_empty()).then_some(told)
}

/// A path with its prefix before it.
pub(super) fn join(prefix: Option<&Path>, path: &Path) -> Path {
    let mut joined = prefix.cloned().unwrap_or_default();
    joined.elem.extend(path.elem.iter().cloned());
    if joined.target.is_empty() {
        joined.target.clone_from(&path.target);
    }
    joined
}

fn notification(
    port: &Port,
    paths: &[Path],
    timestamp: i64,
    wanted: impl Fn(&str) -> bool,
) -> Notification {
    let selected = |(container, leaf, _): &&Leaf| {
        wanted(leaf) && paths.iter().any(|path| matches(path, Some(&port.name), container, leaf))
    };
    let update = |(container, leaf, value): &Leaf| Update {
        path: Some(leaf_path(&port.name, container, leaf)),
        val: Some(TypedValue { value: Some(value(port)) }),
    };
    let update = LEAVES.iter().filter(selected).map(update).collect();
    Notification { timestamp, update }
}

fn leaf_path(port: &str, container: &str, leaf: &str) -> Path {
    let elem = |name: &str| PathElem { name: name.to_owned(), ..PathElem::default() };
    let interface = PathElem {
        name: "interface".to_owned(),
        key: [("name".to_owned(), port.to_owned())].into(),
    };
    Path {
        elem: vec![elem("interfaces"), interface, elem(container), elem(leaf)],
        ..Path::default()
    }
}

/// Whether a path selects a leaf: it names the leaf or a node above it, `*` stands for any one
/// node, `...` for any number of them. Without a port, whether it would for some port.
fn matches(path: &Path, port: Option<&str>, container: &str, leaf: &str) -> bool {
    let nodes = ["interfaces", "interface", container, leaf];
    for (depth, elem) in path.elem.iter().enumerate() {
        if elem.name == "..." {
            // Only at the end, which is the form that clients use.
            return true;
        }
        let Some(node) = nodes.get(depth) else { return false };
        if elem.name != *node && elem.name != "*" {
            return false;
        }
        let key = elem.key.get("name").filter(|_| *node == "interface");
        if let (Some(key), Some(port)) = (key, port)
            && key != "*"
            && key != port
        {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path in the notation of gNMI, with keys in brackets.
    fn path(text: &str) -> Path {
        let elem = |text: &str| match text.split_once("[name=") {
            Some((name, key)) => PathElem {
                name: name.to_owned(),
                key: [("name".to_owned(), key.trim_end_matches(']').to_owned())].into(),
            },
            None => PathElem { name: text.to_owned(), ..PathElem::default() },
        };
        let elem = text.split('/').filter(|part| !part.is_empty()).map(elem).collect();
        Path { elem, ..Path::default() }
    }

    fn ports() -> Vec<Port> {
        let port = |number: u32, up| Port { number, name: format!("eth{number}"), up };
        vec![port(1, true), port(2, false)]
    }

    fn values(text: &str) -> Option<Vec<Vec<Value>>> {
        let selected = select(&ports(), &[path(text)], 7)?;
        let value = |update: Update| update.val.and_then(|val| val.value);
        Some(
            selected
                .into_iter()
                .map(|one| one.update.into_iter().filter_map(value).collect())
                .collect(),
        )
    }

    #[test]
    fn the_question_of_finsy() {
        let found = values("interfaces/interface[name=*]/state/ifindex");
        assert_eq!(found, Some(vec![vec![Value::Number(1)], vec![Value::Number(2)]]));
        let selected = select(&ports(), &[path("interfaces/interface[name=*]/state/ifindex")], 7);
        let selected = selected.expect("known");
        assert_eq!(selected[0].timestamp, 7);
        let full = path("interfaces/interface[name=eth1]/state/ifindex");
        assert_eq!(selected[0].update[0].path, Some(full));
    }

    #[test]
    fn a_path_selects_what_is_below_it() {
        let text = |text: &str| Value::Text(text.to_owned());
        let state = vec![text("eth2"), Value::Number(2), text("UP"), text("DOWN")];
        assert_eq!(values("interfaces/interface[name=eth2]/state"), Some(vec![state]));
        for whole in ["", "interfaces", "interfaces/interface", "interfaces/...", "*/*"] {
            let found = values(whole).expect("known");
            assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [6, 6], "{whole}");
        }
    }

    #[test]
    fn a_port_that_is_not_there_is_nothing_and_a_leaf_that_is_not_there_an_error() {
        assert_eq!(values("interfaces/interface[name=eth9]/state/ifindex"), Some(vec![]));
        assert_eq!(values("interfaces/interface[name=*]/state/mtu"), None);
        assert_eq!(values("system/config"), None);
        assert_eq!(values("interfaces/interface/state/ifindex/deeper"), None);
    }

    #[test]
    fn only_the_status_of_a_port_changes() {
        let port = &ports()[1];
        let told = |text: &str| changed(port, &[path(text)], 0).map(|one| one.update.len());
        assert_eq!(told("interfaces/interface[name=eth2]/state/oper-status"), Some(1));
        assert_eq!(told("interfaces"), Some(1));
        assert_eq!(told("interfaces/interface[name=eth1]/state/oper-status"), None);
        assert_eq!(told("interfaces/interface[name=eth2]/state/ifindex"), None);
    }

    #[test]
    fn a_prefix_comes_first() {
        let prefix = Path { target: "3".to_owned(), ..path("interfaces/interface[name=eth1]") };
        let joined = join(Some(&prefix), &path("state/name"));
        assert_eq!(joined.elem, path("interfaces/interface[name=eth1]/state/name").elem);
        assert_eq!(joined.target, "3");
    }
}
