//! The leaves of a port in the models `openconfig-interfaces` and `openconfig-p4rt`.

use super::port::{PortCounters, Seen};

/// The YANG module that defines a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    Interfaces,
    P4rt,
    Qos,
}

impl Module {
    pub(super) const ALL: [Self; 3] = [Self::Interfaces, Self::P4rt, Self::Qos];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interfaces => "openconfig-interfaces",
            Self::P4rt => "openconfig-p4rt",
            Self::Qos => "openconfig-qos",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Interfaces => "2.4.1",
            Self::P4rt => "0.1.0",
            Self::Qos => "0.7.0",
        }
    }
}

/// The type of data that a leaf belongs to, by which a Get can select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Configuration that clients may write.
    Config,
    /// Applied configuration, which is read-only.
    Applied,
    /// Operational state, which is read-only (`oc-ext:operational`).
    Operational,
}

/// The value of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeafValue {
    Text(String),
    Number(u32),
    /// A 64-bit number.
    Counter(u64),
    Flag(bool),
}

/// A leaf below `interfaces/interface[name=N]`.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The names of the containers below the interface, followed by the name of the leaf.
    pub(super) nodes: &'static [&'static str],
    pub(super) module: Module,
    pub(super) class: Class,
    /// Reads the leaf's value from a port. Returns `None` if the port has no such value, for
    /// example if its packets are not counted.
    pub(super) value: fn(&Seen) -> Option<LeafValue>,
}

/// The nodes from the root down to a port. Every leaf is below them.
const ABOVE: [&str; 2] = [INTERFACES, INTERFACE];

/// The number of nodes from the root to an entry in the list of interfaces.
pub(super) const ENTRY: usize = ABOVE.len();

impl Leaf {
    /// Returns the number of nodes from the root to the leaf.
    pub(super) fn depth(&self) -> usize {
        ENTRY + self.nodes.len()
    }

    /// Returns the node at `position` on the path from the root to the leaf. The leaf itself is at
    /// the last position.
    pub(super) fn node(&self, position: usize) -> &'static str {
        match position.checked_sub(ENTRY) {
            None => ABOVE[position],
            Some(below) => self.nodes[below],
        }
    }

    /// Returns the nodes below the interface down to `depth`, which is counted from the root.
    pub(super) fn nodes_to(&self, depth: usize) -> &'static [&'static str] {
        &self.nodes[..depth.saturating_sub(ENTRY)]
    }
}

const fn leaf(
    nodes: &'static [&'static str],
    module: Module,
    class: Class,
    value: fn(&Seen) -> Option<LeafValue>,
) -> Leaf {
    Leaf { nodes, module, class, value }
}

const fn counter(nodes: &'static [&'static str], value: fn(&Seen) -> Option<LeafValue>) -> Leaf {
    leaf(nodes, Module::Interfaces, Class::Operational, value)
}

/// The names of nodes that other modules use too.
pub(super) const INTERFACES: &str = "interfaces";
pub(super) const INTERFACE: &str = "interface";
pub(super) const CONFIG: &str = "config";
pub(super) const NAME: &str = "name";
pub(super) const ID: &str = "id";
pub(super) const ENABLED: &str = "enabled";

pub(super) const LEAVES: [Leaf; 16] = {
    use Class::{Applied, Config, Operational};
    use Module::{Interfaces, P4rt};
    [
        leaf(&[NAME], Interfaces, Config, name),
        leaf(&[CONFIG, NAME], Interfaces, Config, name),
        leaf(&[CONFIG, ID], P4rt, Config, number),
        leaf(&[CONFIG, ENABLED], Interfaces, Config, |seen| {
            Some(LeafValue::Flag(seen.port.enabled))
        }),
        leaf(&["state", NAME], Interfaces, Applied, name),
        // Clients take the P4Runtime number of a port from one of these leaves: finsy from
        // `ifindex`, clients for Stratum since 2021 from `id` of openconfig-p4rt.
        leaf(&["state", "ifindex"], Interfaces, Operational, number),
        leaf(&["state", ID], P4rt, Applied, number),
        leaf(&["state", "admin-status"], Interfaces, Operational, |seen| {
            Some(status(seen.port.enabled))
        }),
        leaf(&["state", "oper-status"], Interfaces, Operational, |seen| Some(status(seen.port.up))),
        counter(&["state", "counters", "in-octets"], |seen| seen.counter(|count| count.in_octets)),
        // Ports do not count unicast packets separately. ONOS adds unicast, multicast and broadcast
        // packets (drivers/gnmi, OpenConfigGnmiPortStatisticsDiscovery), so the unicast leaves
        // count all packets.
        counter(&["state", "counters", "in-unicast-pkts"], |seen| {
            seen.counter(|count| count.in_pkts)
        }),
        counter(&["state", "counters", "in-discards"], |seen| {
            seen.counter(|count| count.in_discards)
        }),
        counter(&["state", "counters", "out-octets"], |seen| {
            seen.counter(|count| count.out_octets)
        }),
        counter(&["state", "counters", "out-unicast-pkts"], |seen| {
            seen.counter(|count| count.out_pkts)
        }),
        counter(&["state", "counters", "out-discards"], |seen| {
            seen.counter(|count| count.out_discards)
        }),
        counter(&["state", "counters", "out-errors"], |seen| {
            seen.counter(|count| count.out_errors)
        }),
    ]
};

fn name(seen: &Seen) -> Option<LeafValue> {
    Some(LeafValue::Text(seen.port.name.clone()))
}

fn number(seen: &Seen) -> Option<LeafValue> {
    Some(LeafValue::Number(seen.port.number))
}

fn status(is_up: bool) -> LeafValue {
    LeafValue::Text(if is_up { "UP" } else { "DOWN" }.to_owned())
}

impl Seen {
    fn counter(&self, which: fn(&PortCounters) -> u64) -> Option<LeafValue> {
        self.counters.as_ref().map(|counters| LeafValue::Counter(which(counters)))
    }
}
