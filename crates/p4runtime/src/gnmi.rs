//! The part of gNMI through which P4Runtime controllers learn about a device's ports.
//!
//! P4Runtime itself has no list of ports. finsy and Stratum's ONOS drivers read
//! `interfaces/interface[name=*]/state/ifindex` from the same server and subscribe to
//! `oper-status`. This module implements the corresponding part of gNMI 0.7 (openconfig/reference,
//! rpc/gnmi/gnmi-specification.md): Get, Subscribe in all three modes over `state` and `config`,
//! and Set of `config`. The queues of ports can be read (`qos`), and a part of their configuration
//! can be set (`policy`). Values are typed scalars or JSON, as the client requests (`form`). The
//! counters of a port (`state/counters`) are read when they are requested. A stream sends them
//! once, and then at its sample interval.
//!
//! The ports and their state belong to a [`PortSource`]. This module keeps no second copy.
//!
//! The messages are handwritten structs instead of generated code: they are few, and gNMI's protos
//! import much that is not needed here.

mod client;
mod form;
mod json;
mod leaf;
mod messages;
mod paths;
mod policy;
mod port;
mod qos;
mod sampling;
mod service;
mod setting;
mod subscribing;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub use self::client::{PortChange, PortWatch};
use self::form::Form;
use self::messages::{Path, SubscribeResponse};
use self::port::Seen;
pub use self::port::{Port, PortCounters};
pub(crate) use self::service::GnmiServer;
use crate::control::SwitchSource;
use crate::store::Nanos;
use grpc::Outbox;

/// The owner of a device's ports.
pub trait PortSource: fmt::Debug + Send + Sync {
    /// Returns the ports, in the order in which clients see them.
    fn ports(&self) -> Vec<Port>;

    /// Returns the clients that watch the ports. The source notifies them of changes.
    fn watchers(&self) -> &Watchers;

    /// Returns the counters of the port with this number. Returns `None` if packets are not counted
    /// or there is no such port.
    fn counters(&self, _port: u32) -> Option<PortCounters> {
        None
    }

    /// Enables or disables a port. Returns false if the source does not support this, or if there
    /// is no such port.
    fn set_enabled(&self, _port: u32, _enabled: bool) -> bool {
        false
    }
}

/// The clients that subscribed to changes of ports.
#[derive(Debug, Default)]
pub struct Watchers(Mutex<Vec<Watcher>>);

#[derive(Debug)]
struct Watcher {
    outbox: Weak<Outbox<SubscribeResponse>>,
    watch: Watch,
}

/// The leaves of ports that one client has subscribed to.
#[derive(Debug)]
struct Watch {
    /// The paths of the leaves that are sent when they change.
    paths: Vec<Path>,
    /// The paths of the leaves that are sent at intervals. For these leaves, a watch sends only the
    /// removal of a port.
    sampled: Vec<Path>,
    form: Form,
}

impl Watch {
    fn notification(
        &self,
        before: Option<&Port>,
        after: Option<&Port>,
        timestamp: i64,
    ) -> Option<messages::Notification> {
        match after {
            Some(after) => tree::changed(before, after, &self.paths, &self.form, timestamp),
            None => {
                let paths = self.paths.iter().chain(&self.sampled);
                tree::deleted(before?, paths, &self.form, timestamp)
            }
        }
    }
}

impl Watchers {
    /// Notifies subscribed clients of a change of a port. A new port has no state `before` the
    /// change, and a removed port has no state `after` it. Returns the number of clients whose
    /// subscription covers the change.
    pub fn notify(&self, before: Option<&Port>, after: Option<&Port>, now: Nanos) -> usize {
        let timestamp = i64::try_from(now.0).unwrap_or(i64::MAX);
        let mut count = 0;
        self.lock().retain(|watcher| {
            let Some(outbox) = watcher.outbox.upgrade() else { return false };
            if let Some(notification) = watcher.watch.notification(before, after, timestamp) {
                outbox.push_always(SubscribeResponse::update(notification));
                count += 1;
            }
            true
        });
        count
    }

    /// Adds a subscriber. Later changes that `watch` covers are sent to `outbox`, until `outbox` is
    /// dropped.
    fn add(&self, outbox: &Arc<Outbox<SubscribeResponse>>, watch: Watch) {
        let mut watchers = self.lock();
        watchers.retain(|watcher| watcher.outbox.strong_count() > 0);
        watchers.push(Watcher { outbox: Arc::downgrade(outbox), watch });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A source of ports that never change.
#[derive(Debug, Default)]
pub(crate) struct FixedPorts {
    pub(crate) ports: Vec<Port>,
    pub(crate) watchers: Watchers,
}

impl PortSource for FixedPorts {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn watchers(&self) -> &Watchers {
        &self.watchers
    }
}

fn seen(source: &dyn PortSource, queues: Option<&dyn SwitchSource>) -> Vec<Seen> {
    let mut queues = queues.map(|queues| queues.published_queues()).unwrap_or_default();
    let seen = |port: Port| Seen {
        counters: source.counters(port.number),
        queues: queues.states.remove(&port.number).unwrap_or_default().queues,
        config: queues.configuration.0.remove(&port.number),
        port,
    };
    source.ports().into_iter().map(seen).collect()
}
