//! The ports of a device over gNMI, as far as P4Runtime controllers ask for them.
//!
//! P4Runtime itself knows no list of ports: finsy and Stratum's ONOS drivers ask the same server
//! for `interfaces/interface[name=*]/state/ifindex` and subscribe to `oper-status`. This is that
//! part of gNMI 0.7 (openconfig/reference, rpc/gnmi/gnmi-specification.md): Get, and Subscribe in
//! all three modes, over the leaves of `state` and `config`. Values are typed scalars whatever
//! encoding is asked for; Set is not served.
//!
//! The messages are written as structs, not generated: they are few, and gNMI's own protos bring
//! in much that nothing here uses.

mod messages;
mod service;
#[cfg(test)]
mod tests;
mod tree;

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

/// The ports of a device and who wants to hear of them.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ports: Vec<Port>,
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

    pub(crate) fn get(&self) -> Vec<Port> {
        self.state().ports.clone()
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
