//! The ports of a device over gNMI, as far as P4Runtime controllers ask for them.
//!
//! P4Runtime itself knows no list of ports: finsy and Stratum's ONOS drivers ask the same server
//! for `interfaces/interface[name=*]/state/ifindex` and subscribe to `oper-status`. This is that
//! part of gNMI 0.7 (openconfig/reference, rpc/gnmi/gnmi-specification.md): Get, Subscribe in all
//! three modes, over `state` and `config`, and Set of `config`. Values are typed scalars or JSON,
//! as the client requests (`form`). The counters of a port (`state/counters`) are read when they
//! are requested; a stream sends them once, and then at its sample interval.
//!
//! Which ports there are, and whether they are up, is kept by whoever has them ([`PortSource`]), and
//! not a second time here.
//!
//! The messages are written as structs, not generated: they are few, and gNMI's own protos bring
//! in much that nothing here uses.

mod client;
mod form;
mod json;
mod leaf;
mod messages;
mod paths;
mod port;
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
use crate::store::Nanos;
use grpc::Outbox;

/// Who has the ports of a device.
pub trait PortSource: fmt::Debug + Send + Sync {
    /// Its ports, in the order in which they are told.
    fn ports(&self) -> Vec<Port>;

    /// Who wants to hear of changes: the source tells them.
    fn watchers(&self) -> &Watchers;

    /// What passed a port, by its number; `None` if nobody counts, or there is no such port.
    fn counters(&self, _port: u32) -> Option<PortCounters> {
        None
    }

    /// Lets packets pass a port or not; false if this cannot be chosen, or there is no such port.
    fn set_enabled(&self, _port: u32, _enabled: bool) -> bool {
        false
    }
}

/// Clients that subscribed to changes of ports.
#[derive(Debug, Default)]
pub struct Watchers(Mutex<Vec<Watcher>>);

#[derive(Debug)]
struct Watcher {
    outbox: Weak<Outbox<SubscribeResponse>>,
    watch: Watch,
}

/// A client's subscription to changes.
#[derive(Debug)]
struct Watch {
    /// Paths of leaves that are sent when they change.
    paths: Vec<Path>,
    /// Paths of leaves that are sent at intervals. A watch sends only the removal of a port for
    /// these leaves.
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
    /// Tells what has changed of a port; without `before` it is new, without `after` it is gone. Returns
    /// how many clients were told: those that subscribed to what has changed.
    pub fn tell(&self, before: Option<&Port>, after: Option<&Port>, now: Nanos) -> usize {
        let timestamp = i64::try_from(now.0).unwrap_or(i64::MAX);
        let mut count = 0;
        self.lock().retain(|watcher| {
            let Some(outbox) = watcher.outbox.upgrade() else { return false };
            if let Some(told) = watcher.watch.notification(before, after, timestamp) {
                outbox.push_always(SubscribeResponse::update(told));
                count += 1;
            }
            true
        });
        count
    }

    /// Sends later changes to an outbox for as long as it lives.
    fn add(&self, outbox: &Arc<Outbox<SubscribeResponse>>, watch: Watch) {
        let mut watchers = self.lock();
        watchers.retain(|watcher| watcher.outbox.strong_count() > 0);
        watchers.push(Watcher { outbox: Arc::downgrade(outbox), watch });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ports that stay as they are.
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

fn seen(source: &dyn PortSource) -> Vec<Seen> {
    let seen = |port: Port| Seen { counters: source.counters(port.number), port };
    source.ports().into_iter().map(seen).collect()
}
