//! The leaves of a port in the models `openconfig-interfaces` and `openconfig-p4rt`, and which of them a
//! path selects.

use super::{
    Port, PortCounters, Seen,
    messages::{Notification, Path, PathElem, TypedValue, Update, Value},
};

/// Container, leaf, value; some ports have no counters.
type Leaf = (&'static [&'static str], &'static str, fn(&Seen) -> Option<Value>);

const CONFIG: &[&str] = &["config"];
const STATE: &[&str] = &["state"];
const COUNTERS: &[&str] = &["state", "counters"];
const ENABLED: &str = "enabled";

/// The leaves below `interfaces/interface[name=N]`.
const LEAVES: [Leaf; 15] = [
    (CONFIG, "name", |seen| Some(Value::Text(seen.port.name.clone()))),
    (CONFIG, "id", number),
    (CONFIG, ENABLED, |seen| Some(Value::Flag(seen.port.enabled))),
    (STATE, "name", |seen| Some(Value::Text(seen.port.name.clone()))),
    // By one of these clients know a port in P4Runtime: finsy by `ifindex`, what is made for Stratum since
    // 2021 by `id`, the leaf of openconfig-p4rt.
    (STATE, "ifindex", number),
    (STATE, "id", number),
    (STATE, "admin-status", |seen| Some(status(seen.port.enabled))),
    (STATE, "oper-status", |seen| Some(status(seen.port.up))),
    // Ports do not tell unicast from other packets. ONOS adds up these, those to groups and those to
    // all (drivers/gnmi, OpenConfigGnmiPortStatisticsDiscovery), so everything goes here.
    (COUNTERS, "in-octets", |seen| seen.counter(|counters| counters.in_octets)),
    (COUNTERS, "in-unicast-pkts", |seen| seen.counter(|counters| counters.in_pkts)),
    (COUNTERS, "in-discards", |seen| seen.counter(|counters| counters.in_discards)),
    (COUNTERS, "out-octets", |seen| seen.counter(|counters| counters.out_octets)),
    (COUNTERS, "out-unicast-pkts", |seen| seen.counter(|counters| counters.out_pkts)),
    (COUNTERS, "out-discards", |seen| seen.counter(|counters| counters.out_discards)),
    (COUNTERS, "out-errors", |seen| seen.counter(|counters| counters.out_errors)),
];

fn number(seen: &Seen) -> Option<Value> {
    Some(Value::Number(seen.port.number.into()))
}

fn status(is_up: bool) -> Value {
    Value::Text(if is_up { "UP" } else { "DOWN" }.to_owned())
}

impl Seen {
    fn counter(&self, which: fn(&PortCounters) -> u64) -> Option<Value> {
        self.counters.as_ref().map(|counters| Value::Number(which(counters)))
    }
}

/// What the paths select of the ports, one notification for each port; `None` if a path leads
/// nowhere, whatever the ports.
pub(super) fn select(ports: &[Seen], paths: &[Path], timestamp: i64) -> Option<Vec<Notification>> {
    let known = |path: &Path| {
        LEAVES.iter().any(|(container, leaf, _)| matches(path, None, container, leaf))
    };
    if !paths.iter().all(known) {
        return None;
    }
    let notifications = ports.iter().map(|seen| notification(seen, paths, timestamp, |_| true));
    Some(notifications.filter(|one| !one.update.is_empty()).collect())
}

/// What the paths select of what has changed of a port, if anything: leaves with another value, all
/// of a new port, and one that is gone as a whole.
pub(super) fn changed(
    before: Option<&Port>,
    after: Option<&Port>,
    paths: &[Path],
    timestamp: i64,
) -> Option<Notification> {
    let seen = |port: &Port| Seen { port: port.clone(), counters: None };
    let (before, after) = (before.map(seen), after.map(seen));
    let Some(after) = after else {
        let name = &before?.port.name;
        let selects = |path: &&Path| {
            LEAVES.iter().any(|(container, leaf, _)| matches(path, Some(name), container, leaf))
        };
        let delete = vec![interface_path(name)];
        return paths.iter().find(selects).map(|_| Notification {
            timestamp,
            delete,
            ..Notification::default()
        });
    };
    let is_other = |value: fn(&Seen) -> Option<Value>| {
        before.as_ref().is_none_or(|before| value(before) != value(&after))
    };
    let told = notification(&after, paths, timestamp, is_other);
    (!told.update.is_empty()).then_some(told)
}

/// The name of the port whose `config/enabled` a path is, and of no other leaf.
pub(super) fn enabled_of(path: &Path) -> Option<&str> {
    let [interfaces, interface, config, leaf] = path.elem.as_slice() else { return None };
    let names = [&interfaces.name, &interface.name, &config.name, &leaf.name];
    let name = interface.key.get("name")?;
    (names == ["interfaces", "interface", "config", ENABLED]).then_some(name)
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
    seen: &Seen,
    paths: &[Path],
    timestamp: i64,
    wanted: impl Fn(fn(&Seen) -> Option<Value>) -> bool,
) -> Notification {
    let name = &seen.port.name;
    let selected = |(container, leaf, value): &&Leaf| {
        wanted(*value) && paths.iter().any(|path| matches(path, Some(name), container, leaf))
    };
    let update = |(container, leaf, value): &Leaf| {
        Some(Update {
            path: Some(leaf_path(name, container, leaf)),
            val: Some(TypedValue { value: Some(value(seen)?) }),
        })
    };
    let update = LEAVES.iter().filter(selected).filter_map(update).collect();
    Notification { timestamp, update, ..Notification::default() }
}

fn leaf_path(port: &str, container: &[&str], leaf: &str) -> Path {
    let mut path = interface_path(port);
    path.elem.extend(container.iter().map(|node| elem(node)));
    path.elem.push(elem(leaf));
    path
}

fn interface_path(port: &str) -> Path {
    let key = [("name".to_owned(), port.to_owned())].into();
    let interface = PathElem { name: "interface".to_owned(), key };
    Path { elem: vec![elem("interfaces"), interface], ..Path::default() }
}

fn elem(name: &str) -> PathElem {
    PathElem { name: name.to_owned(), ..PathElem::default() }
}

/// Whether a path selects a leaf: it names the leaf or a node above it, `*` stands for any one
/// node, `...` for any number of them. Without a port, whether it would for some port.
fn matches(path: &Path, port: Option<&str>, container: &[&str], leaf: &str) -> bool {
    let mut nodes = ["interfaces", "interface"].iter().chain(container).chain([&leaf]);
    for elem in &path.elem {
        if elem.name == "..." {
            // Only at the end, which is the form that clients use.
            return true;
        }
        let Some(node) = nodes.next() else { return false };
        if elem.name != *node && elem.name != "*" {
            return false;
        }
        let key = elem.key.get("name").filter(|_| *node == "interface");
        // ONOS asks for the interface `...`.
        if let (Some(key), Some(port)) = (key, port)
            && !matches!(key.as_str(), "*" | "...")
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

    fn ports() -> Vec<Seen> {
        let seen = |number: u32, up| Seen {
            port: Port { number, name: format!("eth{number}"), up, enabled: true },
            counters: None,
        };
        vec![seen(1, true), seen(2, false)]
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
        let number = Value::Number(2);
        let state = vec![text("eth2"), number.clone(), number, text("UP"), text("DOWN")];
        assert_eq!(values("interfaces/interface[name=eth2]/state"), Some(vec![state]));
        let all = "interfaces/interface[name=...]";
        for whole in ["", "interfaces", "interfaces/interface", "interfaces/...", "*/*", all] {
            let found = values(whole).expect("known");
            assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8], "{whole}");
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
    fn counters_are_there_where_somebody_counts() {
        let mut ports = ports();
        let counted =
            PortCounters { in_octets: 640, in_pkts: 10, out_errors: 2, ..PortCounters::default() };
        ports[1].counters = Some(counted);
        let selected = |text: &str| -> Vec<(String, String, Value)> {
            let notifications = select(&ports, &[path(text)], 7).expect("known");
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
        assert_eq!(
            select(&ports, &[path("interfaces/interface/state/counters/in-flight")], 7),
            None
        );
    }

    #[test]
    fn what_is_told_of_a_port_is_what_has_changed() {
        let port = |up, enabled| Port { number: 2, name: "eth2".to_owned(), up, enabled };
        let (before, lost, disabled) = (port(true, true), port(false, true), port(false, false));
        let told = |text: &str, before: Option<&Port>, after: Option<&Port>| {
            changed(before, after, &[path(text)], 0).map(|one| (one.update.len(), one.delete.len()))
        };
        let [before, lost, disabled] = [&before, &lost, &disabled].map(Some);
        let status = "interfaces/interface[name=eth2]/state/oper-status";
        assert_eq!(told(status, before, lost), Some((1, 0)));
        assert_eq!(told(status, lost, disabled), None);
        assert_eq!(told("interfaces", before, lost), Some((1, 0)));
        assert_eq!(told("interfaces", before, disabled), Some((3, 0)));
        assert_eq!(told("interfaces", before, before), None);
        assert_eq!(told("interfaces/interface[name=eth1]/state/oper-status", before, lost), None);
        assert_eq!(told("interfaces/interface[name=eth2]/state/ifindex", before, lost), None);
        assert_eq!(told("interfaces", None, lost), Some((8, 0)));
        assert_eq!(told(status, before, None), Some((0, 1)));
        assert_eq!(told("interfaces/interface[name=eth1]", before, None), None);
    }

    #[test]
    fn a_prefix_comes_first() {
        let prefix = Path { target: "3".to_owned(), ..path("interfaces/interface[name=eth1]") };
        let joined = join(Some(&prefix), &path("state/name"));
        assert_eq!(joined.elem, path("interfaces/interface[name=eth1]/state/name").elem);
        assert_eq!(joined.target, "3");
    }
}
