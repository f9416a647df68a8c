//! Selects leaves of ports by gNMI paths, for answers to Get and for notifications of changes.

use super::{
    form::Form,
    leaf::{LEAVES, Leaf},
    messages::{Notification, Path, Update},
    paths,
    port::{Port, Seen},
    qos,
};
use crate::status::EntityError;

/// Checks that a joined path has an accepted origin and selects a leaf of some port.
pub(super) fn check(path: &Path) -> Result<(), EntityError> {
    paths::check_origin(path)?;
    if LEAVES.iter().any(|leaf| paths::reach(path, None, leaf).is_some()) || qos::exists(path) {
        return Ok(());
    }
    Err(EntityError::invalid(format!(
        "The path {} does not exist; the paths are interfaces/interface[name=NAME] and \
         qos/interfaces/interface[interface-id=NAME]/output/queues/queue[name=NUMBER], and config and state below them.",
        paths::shown(path)
    )))
}

/// Returns the leaves that the paths select, in one notification per port.
pub(super) fn select(
    ports: &[Seen],
    paths: &[Path],
    form: &Form,
    timestamp: i64,
) -> Vec<Notification> {
    let notifications = ports.iter().map(|seen| notification(seen, paths, form, timestamp, None));
    notifications.filter(|one| !one.update.is_empty()).collect()
}

/// Returns the leaves of one port and its queues that the paths select, as they are in `seen`. If
/// `before` is given, returns only the leaves whose value differs from that in `before`.
pub(super) fn notification(
    seen: &Seen,
    paths: &[Path],
    form: &Form,
    timestamp: i64,
    before: Option<&Seen>,
) -> Notification {
    let name = &seen.port.name;
    let selects = |leaf: &&Leaf| {
        let is_other = before.is_none_or(|before| (leaf.value)(before) != (leaf.value)(seen));
        let reaches = |path| paths::reach(path, Some(name), leaf).is_some();
        form.wants(leaf) && is_other && paths.iter().any(reaches)
    };
    let update = |leaf: &Leaf| {
        let val = Some(form.value((leaf.value)(seen)?));
        Some(Update { path: Some(paths::of_port(name, leaf.nodes)), val })
    };
    let mut updates: Vec<Update> = LEAVES.iter().filter(selects).filter_map(update).collect();
    updates.extend(qos::updates(seen, paths, form, before));
    Notification {
        timestamp,
        prefix: form.prefix.clone(),
        update: updates,
        ..Notification::default()
    }
}

/// Returns the selected leaves of a port whose values have changed, or all selected leaves of a new
/// port. See [`deleted`] for a port that was removed.
pub(super) fn changed(
    before: Option<&Port>,
    after: &Port,
    paths: &[Path],
    form: &Form,
    timestamp: i64,
) -> Option<Notification> {
    let seen =
        |port: &Port| Seen { port: port.clone(), counters: None, queues: Vec::new(), config: None };
    let (before, after) = (before.map(seen), seen(after));
    let changed = notification(&after, paths, form, timestamp, before.as_ref());
    (!changed.update.is_empty()).then_some(changed)
}

/// Returns the notification that a port was removed, if a path selects a leaf of the port.
pub(super) fn deleted<'p>(
    port: &Port,
    mut paths: impl Iterator<Item = &'p Path>,
    form: &Form,
    timestamp: i64,
) -> Option<Notification> {
    let selects = |path: &Path| {
        LEAVES.iter().any(|leaf| paths::reach(path, Some(&port.name), leaf).is_some())
    };
    paths.any(selects).then(|| Notification {
        timestamp,
        prefix: form.prefix.clone(),
        delete: vec![paths::of_port(&port.name, &[])],
        ..Notification::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::PortCounters;
    use super::super::messages::{Encoding, GetRequest, PathElem, Value};
    use super::*;

    fn scalars() -> Form {
        let encoding = Encoding::Proto as i32;
        Form::of_get(&GetRequest { encoding, ..GetRequest::default() }).expect("it is right")
    }

    /// Returns the leaves that a path selects, or `None` if the path is invalid.
    fn select(ports: &[Seen], path: &Path, timestamp: i64) -> Option<Vec<Notification>> {
        let selected = super::select(ports, std::slice::from_ref(path), &scalars(), timestamp);
        check(path).is_ok().then_some(selected)
    }

    /// Parses a path in gNMI's notation, with keys in brackets.
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

    fn ports() -> Vec<Seen> {
        let seen = |number: u32, up| Seen {
            port: Port { number, name: format!("eth{number}"), up, enabled: true },
            counters: None,
            queues: Vec::new(),
            config: None,
        };
        vec![seen(1, true), seen(2, false)]
    }

    fn values(text: &str) -> Option<Vec<Vec<Value>>> {
        let selected = select(&ports(), &path(text), 7)?;
        let value = |update: Update| update.val.and_then(|val| val.value);
        Some(
            selected
                .into_iter()
                .map(|one| one.update.into_iter().filter_map(value).collect())
                .collect(),
        )
    }

    #[test]
    fn a_wildcard_key_selects_a_leaf_of_each_interface() {
        let found = values("interfaces/interface[name=*]/state/ifindex");
        assert_eq!(found, Some(vec![vec![Value::Number(1)], vec![Value::Number(2)]]));
        let selected = select(&ports(), &path("interfaces/interface[name=*]/state/ifindex"), 7);
        let selected = selected.expect("known");
        assert_eq!(selected[0].timestamp, 7);
        let full = path("interfaces/interface[name=eth1]/state/ifindex");
        assert_eq!(selected[0].update[0].path, Some(full));
    }

    #[test]
    fn a_path_selects_all_nodes_below_it() {
        let text = |text: &str| Value::Text(text.to_owned());
        let number = Value::Number(2);
        let state = vec![text("eth2"), number.clone(), number, text("UP"), text("DOWN")];
        assert_eq!(values("interfaces/interface[name=eth2]/state"), Some(vec![state]));
        let all = "interfaces/interface[name=...]";
        for whole in ["", "interfaces", "interfaces/interface", "interfaces/...", "*/*", all] {
            let found = values(whole).expect("known");
            assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [9, 9], "{whole}");
        }
    }

    #[test]
    fn a_missing_port_is_empty_and_a_missing_leaf_an_error() {
        assert_eq!(values("interfaces/interface[name=eth9]/state/ifindex"), Some(vec![]));
        assert_eq!(values("interfaces/interface[name=*]/state/mtu"), None);
        assert_eq!(values("system/config"), None);
        assert_eq!(values("interfaces/interface/state/ifindex/deeper"), None);
    }

    #[test]
    fn only_ports_with_counters_have_counter_leaves() {
        let mut ports = ports();
        let counted =
            PortCounters { in_octets: 640, in_pkts: 10, out_errors: 2, ..PortCounters::default() };
        ports[1].counters = Some(counted);
        let selected = |text: &str| -> Vec<(String, String, Value)> {
            let notifications = select(&ports, &path(text), 7).expect("known");
            let updates = notifications.into_iter().flat_map(|one| one.update);
            let flat = |update: Update| {
                let elem = update.path.expect("each has one").elem;
                let names: Vec<&str> = elem.iter().map(|elem| elem.name.as_str()).collect();
                let value = update.val.and_then(|val| val.value).expect("each has one");
                (elem[1].key["name"].clone(), names.join("/"), value)
            };
            updates.map(flat).collect()
        };
        let leaf = |leaf: &str, value| {
            let path = format!("interfaces/interface/state/counters/{leaf}");
            ("eth2".to_owned(), path, Value::Number(value))
        };
        let found = selected("interfaces/interface[name=*]/state/counters");
        assert_eq!(found.len(), 7);
        assert!(found.contains(&leaf("in-octets", 640)) && found.contains(&leaf("out-errors", 2)));
        let found = selected("interfaces/interface[name=eth2]/state/counters/in-unicast-pkts");
        assert_eq!(found, [leaf("in-unicast-pkts", 10)]);
        assert_eq!(selected("interfaces/interface[name=eth1]/state/counters"), []);
        let unknown = path("interfaces/interface/state/counters/in-flight");
        assert_eq!(select(&ports, &unknown, 7), None);
    }

    #[test]
    fn a_notification_contains_only_changed_leaves() {
        let port = |up, enabled| Port { number: 2, name: "eth2".to_owned(), up, enabled };
        let (before, lost, disabled) = (port(true, true), port(false, true), port(false, false));
        let sent = |text: &str, before: Option<&Port>, after: Option<&Port>| {
            let (paths, form) = ([path(text)], scalars());
            let notification = match after {
                Some(after) => changed(before, after, &paths, &form, 0),
                None => deleted(before.expect("one of both"), paths.iter(), &form, 0),
            };
            notification.map(|one| (one.update.len(), one.delete.len()))
        };
        let [before, lost, disabled] = [&before, &lost, &disabled].map(Some);
        let status = "interfaces/interface[name=eth2]/state/oper-status";
        assert_eq!(sent(status, before, lost), Some((1, 0)));
        assert_eq!(sent(status, lost, disabled), None);
        assert_eq!(sent("interfaces", before, lost), Some((1, 0)));
        assert_eq!(sent("interfaces", before, disabled), Some((3, 0)));
        assert_eq!(sent("interfaces", before, before), None);
        assert_eq!(sent("interfaces/interface[name=eth1]/state/oper-status", before, lost), None);
        assert_eq!(sent("interfaces/interface[name=eth2]/state/ifindex", before, lost), None);
        assert_eq!(sent("interfaces", None, lost), Some((9, 0)));
        assert_eq!(sent(status, before, None), Some((0, 1)));
        assert_eq!(sent("interfaces/interface[name=eth1]", before, None), None);
    }

    #[test]
    fn a_prefix_comes_first() {
        let prefix = Path { target: "3".to_owned(), ..path("interfaces/interface[name=eth1]") };
        let joined = paths::join(Some(&prefix), &path("state/name"));
        assert_eq!(joined.elem, path("interfaces/interface[name=eth1]/state/name").elem);
        assert_eq!(joined.target, "3");
    }

    /// Checks that `...` matches any number of nodes at any position, and that the elements after
    /// it must match, too.
    #[test]
    fn wildcards_match_only_nodes() {
        let leaves = |text: &str| -> Option<Vec<String>> {
            let updates = select(&ports(), &path(text), 7)?.into_iter().flat_map(|one| one.update);
            Some(updates.map(|update| paths::shown(&update.path.expect("each has one"))).collect())
        };
        let statuses: Vec<String> = ["eth1", "eth2"]
            .map(|name| format!("/interfaces/interface[name={name}]/state/oper-status"))
            .into();
        for text in [
            "interfaces/.../oper-status",
            ".../state/oper-status",
            ".../.../oper-status",
            "*/*/*/oper-status",
            "interfaces/interface[name=*]/.../oper-status",
        ] {
            assert_eq!(leaves(text).as_ref(), Some(&statuses), "{text}");
        }
        assert_eq!(leaves(".../name").expect("known").len(), 6);
        assert_eq!(leaves("interfaces/.../mtu"), None);
        assert_eq!(leaves("*/oper-status"), None);
        // Even the maximum number of wildcards in one request is resolved in little time and
        // memory.
        let many = path(&format!("{}/oper-status", vec!["..."; 10_000].join("/")));
        assert_eq!(paths::join(Some(&many), &many).elem.len(), 4);
    }

    /// Checks that a path with a key that the list does not have selects no port, instead of all
    /// ports.
    #[test]
    fn unknown_keys_select_nothing() {
        let keyed = |node: usize, key: &str| {
            let mut path = path("interfaces/interface/state/ifindex");
            path.elem[node].key = [(key.to_owned(), "eth1".to_owned())].into();
            select(&ports(), &path, 7).map(|found| found.len())
        };
        assert_eq!(keyed(1, "name"), Some(1));
        assert_eq!([keyed(1, "id"), keyed(0, "name"), keyed(2, "name")], [None; 3]);
    }
}
