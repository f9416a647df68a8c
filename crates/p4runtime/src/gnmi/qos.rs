//! The queues of ports in the model `openconfig-qos` (version 0.7.0): their counters as
//! `qos/interfaces/interface[interface-id=PORT]/output/queues/queue[name=NUMBER]`, and their
//! schedulers as `qos/scheduler-policies/scheduler-policy[name=PORT]`.
//!
//! The module `policy` changes the schedulers. In JSON, each leaf is returned as a separate value.

use std::{collections::BTreeMap, sync::LazyLock};

use queues::{Limit, PortConfig, QueueConfig, QueueCounts, Shaper, config::Share};

use super::{
    form::Form,
    leaf::{CONFIG, Class, ID, INTERFACE, INTERFACES, LeafValue, Module, NAME},
    messages::{Path, PathElem, Update},
    paths,
    port::{Port, Seen},
};

/// The names of nodes that other modules use too.
pub(super) const QOS: &str = "qos";
pub(super) const POLICIES: &str = "scheduler-policies";
pub(super) const POLICY: &str = "scheduler-policy";
pub(super) const SEQUENCE: &str = "sequence";
pub(super) const ONE_RATE: &str = "one-rate-two-color";
pub(super) const QUEUE: &str = "queue";
pub(super) const WEIGHT: &str = "weight";
const STATE: &str = "state";

/// A leaf with its value.
struct QosLeaf {
    path: Vec<PathElem>,
    class: Class,
    value: LeafValue,
}

/// A collector of leaves.
#[derive(Default)]
struct Leaves(Vec<QosLeaf>);

impl Leaves {
    fn add(&mut self, above: &[PathElem], nodes: &[&str], class: Class, value: LeafValue) {
        let path = above.iter().cloned().chain(nodes.iter().map(|name| node(name))).collect();
        self.0.push(QosLeaf { path, class, value });
    }

    fn config(&mut self, above: &[PathElem], nodes: &[&str], value: LeafValue) {
        self.add(above, nodes, Class::Config, value);
    }

    /// Adds the key of a list entry twice: in the entry itself, and in its container `config`.
    fn key(&mut self, above: &[PathElem], name: &str, value: &LeafValue) {
        self.config(above, &[name], value.clone());
        self.config(above, &[CONFIG, name], value.clone());
    }
}

fn node(name: &str) -> PathElem {
    PathElem { name: name.to_owned(), ..PathElem::default() }
}

/// Returns the path element of an entry of a list.
fn entry(name: &str, key: &str, value: &str) -> PathElem {
    PathElem { name: name.to_owned(), key: [(key.to_owned(), value.to_owned())].into() }
}

fn text(text: &str) -> LeafValue {
    LeafValue::Text(text.to_owned())
}

/// Returns the leaves of a port's queues, always in the same order.
fn leaves(seen: &Seen) -> Vec<QosLeaf> {
    let mut leaves = Leaves::default();
    let name = &seen.port.name;
    let interface = entry(INTERFACE, "interface-id", name);
    let output = [node(QOS), node(INTERFACES), interface, node("output")];
    for (number, counts) in seen.queues.iter().enumerate() {
        let number = number.to_string();
        let queue = [node("queues"), entry(QUEUE, NAME, &number)];
        let above = [&output[..], &queue[..]].concat();
        leaves.key(&above, NAME, &text(&number));
        leaves.add(&above, &[STATE, NAME], Class::Applied, text(&number));
        for (leaf, count) in [
            ("transmit-pkts", counts.sent),
            ("transmit-octets", counts.sent_bytes),
            ("dropped-pkts", counts.dropped()),
        ] {
            leaves.add(&above, &[STATE, leaf], Class::Operational, LeafValue::Counter(count));
        }
    }
    if let Some(config) = &seen.config {
        leaves.config(&output, &[POLICY, CONFIG, NAME], text(name));
        let above = [node(QOS), node(POLICIES), entry(POLICY, NAME, name)];
        leaves.key(&above, NAME, &text(name));
        schedulers(&mut leaves, &above, config);
    }
    leaves.0
}

/// Adds the schedulers of a port, one for each level, the most urgent first.
fn schedulers(leaves: &mut Leaves, above: &[PathElem], config: &PortConfig) {
    let mut levels: BTreeMap<u8, Vec<(usize, &QueueConfig)>> = BTreeMap::new();
    for (number, queue) in config.queues.iter().enumerate() {
        levels.entry(queue.level).or_default().push((number, queue));
    }
    for (sequence, queues) in (0_u32..).zip(levels.values().rev()) {
        let scheduler = [node("schedulers"), entry("scheduler", SEQUENCE, &sequence.to_string())];
        let above = [above, &scheduler[..]].concat();
        leaves.key(&above, SEQUENCE, &LeafValue::Number(sequence));
        leaves.config(&above, &[CONFIG, "priority"], text("STRICT"));
        for (number, queue) in queues {
            let number = number.to_string();
            let input = [node("inputs"), entry("input", ID, &number)];
            let above = [&above[..], &input[..]].concat();
            leaves.key(&above, ID, &text(&number));
            leaves.config(&above, &[CONFIG, "input-type"], text("QUEUE"));
            leaves.config(&above, &[CONFIG, QUEUE], text(&number));
            if let Share::Packets(weight) = queue.share {
                let weight = LeafValue::Counter(weight.get().into());
                leaves.config(&above, &[CONFIG, WEIGHT], weight);
            }
        }
        // A scheduler has the rate of its queue, so a scheduler of several queues has no rate.
        if let [(_, queue)] = queues.as_slice() {
            shape(leaves, &above, queue);
        }
    }
}

fn shape(leaves: &mut Leaves, above: &[PathElem], queue: &QueueConfig) {
    let mut add = |name, value| leaves.config(above, &[ONE_RATE, CONFIG, name], value);
    if let Shaper { bits: Some(Limit { rate, burst }), .. } = queue.shaper {
        add("cir", LeafValue::Counter(rate.get()));
        // The model has 32 bits for a burst.
        add("bc", LeafValue::Number(u32::try_from(burst / 8).unwrap_or(u32::MAX)));
        add("queuing-behavior", text("SHAPE"));
    }
    add("max-queue-depth-packets", LeafValue::Number(queue.depth_packets));
    if let Some(bytes) = queue.depth_bytes {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        add("max-queue-depth-bytes", LeafValue::Number(bytes));
    }
}

/// The leaves of a port that has every leaf that a port can have. They determine which paths exist.
static SAMPLE: LazyLock<Vec<QosLeaf>> = LazyLock::new(|| {
    let limit = Limit { rate: std::num::NonZeroU64::MIN, burst: 0 };
    let mut config = PortConfig::new(1);
    for queue in &mut config.queues {
        queue.shaper.bits = Some(limit);
        queue.depth_bytes = Some(0);
    }
    let port = Port { number: 0, name: String::new(), up: true, enabled: true };
    let (counters, queues, config) = (None, vec![QueueCounts::default()], Some(config));
    leaves(&Seen { port, counters, queues, config })
});

/// Returns whether a path selects a leaf or a node above it. `is_key` compares the value of a key
/// in the path with that of the leaf.
fn reaches(path: &Path, leaf: &QosLeaf, is_key: fn(&str, &str) -> bool) -> bool {
    let matches = |elem: &PathElem, position: usize| {
        leaf.path.get(position).is_some_and(|node| {
            let has_key = |(key, value): (&String, &String)| {
                node.key.get(key).is_some_and(|own| is_key(value, own))
            };
            paths::has_name(elem, &node.name) && elem.key.iter().all(has_key)
        })
    };
    paths::reach_nodes(path, leaf.path.len(), matches).is_some()
}

/// Returns whether a path selects a leaf of some port.
pub(super) fn exists(path: &Path) -> bool {
    SAMPLE.iter().any(|leaf| reaches(path, leaf, |_, _| true))
}

/// Returns the leaves of a port's queues that the paths select, as they are in `seen`. If `before`
/// is given, returns only the leaves whose value differs from that in `before`.
pub(super) fn updates(
    seen: &Seen,
    paths: &[Path],
    form: &Form,
    before: Option<&Seen>,
) -> Vec<Update> {
    let is_key = |value: &str, own: &str| paths::is_any(value) || value == own;
    let paths: Vec<&Path> = paths.iter().filter(|path| exists(path)).collect();
    if paths.is_empty() || (seen.queues.is_empty() && seen.config.is_none()) {
        return Vec::new();
    }
    let earlier = before.map(leaves).unwrap_or_default();
    let is_new = |(position, leaf): &(usize, QosLeaf)| {
        let same = earlier.get(*position).filter(|earlier| earlier.path == leaf.path);
        same.is_none_or(|earlier| earlier.value != leaf.value)
    };
    let is_selected = |leaf: &QosLeaf| {
        form.wants_data(leaf.class, Module::Qos)
            && paths.iter().any(|path| reaches(path, leaf, is_key))
    };
    let new = leaves(seen).into_iter().enumerate().filter(is_new).map(|(_, leaf)| leaf);
    let update = |leaf: QosLeaf| Update {
        path: Some(Path { elem: leaf.path, ..Path::default() }),
        val: Some(form.value(leaf.value)),
    };
    new.filter(is_selected).map(update).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{
        messages::{Encoding, GetRequest, Value},
        port::Port,
    };
    use super::*;

    fn form(encoding: Encoding) -> Form {
        let encoding = encoding as i32;
        Form::of_get(&GetRequest { encoding, ..GetRequest::default() }).expect("it is right")
    }

    /// Parses a path in gNMI's notation, with keys in brackets.
    fn path(text: &str) -> Path {
        let elem = |text: &str| {
            let mut parts = text.split('[');
            let name = parts.next().unwrap_or_default().to_owned();
            let key = |part: &str| {
                let (key, value) = part.trim_end_matches(']').split_once('=').expect("a key");
                (key.to_owned(), value.to_owned())
            };
            PathElem { name, key: parts.map(key).collect() }
        };
        Path { elem: text.split('/').map(elem).collect(), ..Path::default() }
    }

    fn port() -> Seen {
        let counts = |sent| QueueCounts {
            sent,
            sent_bytes: 100 * sent,
            dropped_depth: 3,
            dropped_red: 2,
            ..QueueCounts::default()
        };
        let port = Port { number: 1, name: "eth1".to_owned(), up: true, enabled: true };
        Seen { port, counters: None, queues: vec![counts(7), counts(8)], config: None }
    }

    fn found(text: &str) -> Vec<(String, Value)> {
        let updates = updates(&port(), &[path(text)], &form(Encoding::Proto), None);
        let flat = |update: Update| {
            let value = update.val.and_then(|val| val.value).expect("each has one");
            (paths::shown(&update.path.expect("each has one")), value)
        };
        updates.into_iter().map(flat).collect()
    }

    #[test]
    fn the_counters_of_a_queue_are_leaves() {
        let above =
            "/qos/interfaces/interface[interface-id=eth1]/output/queues/queue[name=1]/state";
        let leaf = |leaf: &str, value| (format!("{above}/{leaf}"), value);
        let all = [
            leaf("name", Value::Text("1".to_owned())),
            leaf("transmit-pkts", Value::Number(8)),
            leaf("transmit-octets", Value::Number(800)),
            leaf("dropped-pkts", Value::Number(5)),
        ];
        assert_eq!(found(&above[1..]), all);
        for (text, count) in [
            ("qos", 12),
            ("...", 12),
            ("qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state", 8),
            ("qos/interfaces/interface/output/queues/queue/state/transmit-pkts", 2),
            ("qos/.../dropped-pkts", 2),
            ("qos/interfaces/interface[interface-id=eth2]", 0),
            ("qos/interfaces/interface[name=eth1]", 0),
            ("qos/interfaces/interface/output/queues/queue[name=2]", 0),
        ] {
            assert_eq!(found(text).len(), count, "{text}");
        }
    }

    #[test]
    fn what_is_not_served_does_not_exist() {
        for text in [
            "qos",
            "qos/interfaces/interface[interface-id=none]",
            ".../transmit-pkts",
            "qos/scheduler-policies/scheduler-policy[name=none]/.../cir",
        ] {
            assert!(exists(&path(text)), "{text}");
        }
        for text in [
            "interfaces",
            "qos/queues",
            "qos/scheduler-policies/scheduler-policy/schedulers/scheduler/two-rate-three-color",
            "qos/interfaces/interface/input",
            "qos/interfaces/interface/output/queues/queue/state/avg-queue-len",
            "qos/interfaces/interface[name=eth1]",
        ] {
            assert!(!exists(&path(text)), "{text}");
        }
    }

    #[test]
    fn only_what_has_changed_is_sent_again() {
        let (mut before, after) = (port(), port());
        before.queues[1].sent = 6;
        let updates = updates(&after, &[path("qos")], &form(Encoding::JsonIetf), Some(&before));
        let values: Vec<_> = updates.into_iter().filter_map(|update| update.val?.value).collect();
        // A 64-bit number is a string in RFC 7951.
        assert_eq!(values, [Value::JsonIetf(b"\"8\"".to_vec())]);
    }

    #[test]
    fn a_level_is_a_scheduler_and_its_queues_are_inputs() {
        let lines = [
            "port=1 queue=0 level=0 weight=1",
            "port=1 queue=1 level=0 weight=3",
            "port=1 queue=2 level=5 rate=2Mbps burst=3kB depth=9,96kB",
        ];
        let parsed = queues::Configuration::parse(&lines).expect("a configuration");
        let seen = Seen { config: parsed.0.into_values().next(), ..port() };
        let found = |text: &str| -> Vec<Value> {
            let updates = updates(&seen, &[path(text)], &form(Encoding::Proto), None);
            updates.into_iter().filter_map(|update| update.val?.value).collect()
        };
        let above = "qos/scheduler-policies/scheduler-policy[name=eth1]/schedulers/scheduler";
        let number = |number| Value::Number(number);
        let string = |string: &str| Value::Text(string.to_owned());
        assert_eq!(found(&format!("{above}[sequence=0]/inputs/input/config/queue")), [string("2")]);
        assert_eq!(
            found(&format!("{above}[sequence=1]/inputs/input/config/weight")),
            [number(1), number(3)]
        );
        assert_eq!(
            found(&format!("{above}/one-rate-two-color")),
            [number(2_000_000), number(3000), string("SHAPE"), number(9), number(96_000)]
        );
        let applied = "qos/interfaces/interface/output/scheduler-policy/config/name";
        assert_eq!(found(applied), [string("eth1")]);
    }
}
