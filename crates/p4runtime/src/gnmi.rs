//! The ports of a device over gNMI, as far as P4Runtime controllers ask for them.
//!
//! P4Runtime itself knows no list of ports: finsy and Stratum's ONOS drivers ask the same server
//! for `interfaces/interface[name=*]/state/ifindex` and subscribe to `oper-status`. This is that
//! part of gNMI 0.7 (openconfig/reference, rpc/gnmi/gnmi-specification.md): Get, and Subscribe in
//! all three modes, over the leaves of `state` and `config`. Values are typed scalars whatever
//! encoding is asked for; Set is not served. What passed a port (`state/counters`) is read when it is
//! asked for; a stream tells it once, and then changes of `oper-status` alone.
//!
//! The messages are written as structs, not generated: they are few, and gNMI's own protos bring
//! in much that nothing here uses.

mod messages;
mod service;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use self::messages::SubscribeResponse;
pub(crate) use self::service::GnmiServer;
use grpc::Outbox;

/// One port of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The number by which P4Runtime knows the port (`ifindex` in gNMI).
    pub number: u32,
    /// The name by which gNMI knows it.
    pub name: String,
    /// Whether it is up.
    pub up: bool,
}

/// What passed a port since it was opened, as `openconfig-interfaces` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Bytes that were received.
    pub in_octets: u64,
    /// Packets that were received.
    pub in_pkts: u64,
    /// Packets that came and found no room.
    pub in_discards: u64,
    /// Bytes that were sent.
    pub out_octets: u64,
    /// Packets that were sent.
    pub out_pkts: u64,
    /// Packets that were to be sent and found no room, or a port that was down.
    pub out_discards: u64,
    /// Packets that were to be sent and that the port does not take.
    pub out_errors: u64,
}

/// Where the counters of ports are read.
pub trait CounterSource: fmt::Debug + Send + Sync {
    /// Those of a port, by its number; `None` if there is no such port.
    fn counters(&self, port: u32) -> Option<PortCounters>;
}

/// The ports of a device and who wants to hear of them.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    state: Mutex<State>,
}

/// A port as it is at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    port: Port,
    counters: Option<PortCounters>,
}

#[derive(Debug, Default)]
struct State {
    ports: Vec<Port>,
    counters: Option<Arc<dyn CounterSource>>,
    subscribers: Vec<Subscriber>,
}

#[derive(Debug)]
struct Subscriber {
    outbox: Weak<Outbox<SubscribeResponse>>,
    paths: Vec<messages::Path>,
}

impl Ports {
    /// Replaces the list of ports. Subscribers hear of it when a port changes next.
    pub(crate) fn set(&self, ports: Vec<Port>) {
        self.state().ports = ports;
    }

    /// Says where counters are read; without it, ports have none.
    pub(crate) fn set_counters(&self, source: Arc<dyn CounterSource>) {
        self.state().counters = Some(source);
    }

    fn seen(&self) -> Vec<Seen> {
        let (ports, source) = {
            let state = self.state();
            (state.ports.clone(), state.counters.clone())
        };
        let seen = |port: Port| Seen {
            counters: source.as_ref().and_then(|source| source.counters(port.number)),
            port,
        };
        ports.into_iter().map(seen).collect()
    }

    /// Tells subscribers that a port went up or down; false if there is no such port.
    pub(crate) fn set_up(&self, number: u32, up: bool, timestamp: i64) -> bool {
        let mut state = self.state();
        let Some(port) = state.ports.iter_mut().find(|port| port.number == number) else {
            return false;
        };
        if port.up == up {
            return true;
        }
        port.up = up;
        let port = port.clone();
        state.subscribers.retain(|subscriber| {
            let Some(outbox) = subscriber.outbox.upgrade() else { return false };
            if let Some(told) = tree::changed(&port, &subscriber.paths, timestamp) {
                outbox.push_always(SubscribeResponse::update(told));
            }
            true
        });
        true
    }

    /// Has later changes of these paths sent to an outbox, for as long as it lives.
    fn subscribe(&self, outbox: &Arc<Outbox<SubscribeResponse>>, paths: Vec<messages::Path>) {
        let mut state = self.state();
        state.subscribers.retain(|subscriber| subscriber.outbox.strong_count() > 0);
        state.subscribers.push(Subscriber { outbox: Arc::downgrade(outbox), paths });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
