//! The ports of a device and whether each is up. This module is the single record of that state:
//! workers and the owner of the switch report changes here, and the data plane and gNMI clients are
//! notified from here.

use crate::mailbox::{Mailbox, Order};
use p4runtime::gnmi::{self, PortSource, Watchers};
use p4runtime::server::now;
use packetio::{Counters, Port, PortCounters, Recording};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The state of a port at one moment.
#[derive(Clone, Debug)]
pub struct PortState {
    /// The number by which programs know the port.
    pub number: u32,
    /// The name under which the port was opened, such as that of its interface.
    pub name: String,
    /// Whether packets pass the port: it is enabled, its link is up as far as the switch knows, and
    /// no worker has lost its receive and transmit queue of the port.
    pub up: bool,
    /// Whether the port is administratively enabled.
    pub enabled: bool,
    /// The port's packet and byte counters.
    pub counters: Counters,
    /// The error that ended the capture of the port's packets early, or `None` if there is no
    /// capture or it had no error.
    pub recording_fault: Option<io::ErrorKind>,
}

/// The ports of one device, with the workers and clients that are notified of changes to ports.
#[derive(Debug)]
pub(crate) struct Ports {
    /// The index of the device in the configuration.
    index: usize,
    plane: pipeline::Ports,
    mailboxes: Vec<Arc<Mailbox>>,
    watchers: Watchers,
    known: Mutex<BTreeMap<u32, Known>>,
}

/// The state of a port that the control plane reads and sets.
#[derive(Debug)]
struct Known {
    name: String,
    /// Whether the port is administratively enabled. Workers read this for each burst, so a packet
    /// that arrives after a change is already treated accordingly.
    enabled: Arc<AtomicBool>,
    has_link: bool,
    /// The workers that have lost their queue of the port.
    lost: BTreeSet<usize>,
    counters: Arc<PortCounters>,
    recording: Option<Recording>,
    /// Whether the error that ended the port's capture has been reported.
    is_fault_reported: bool,
}

impl Ports {
    pub(crate) fn new(index: usize, plane: pipeline::Ports, mailboxes: Vec<Arc<Mailbox>>) -> Self {
        let (watchers, known) = (Watchers::default(), Mutex::default());
        Self { index, plane, mailboxes, watchers, known }
    }

    /// Adds a port to the device, replacing one with the same number.
    pub(crate) fn attach(&self, number: u32, port: Port) {
        let Port { name, queues, counters, recording } = port;
        let enabled = Arc::new(AtomicBool::new(true));
        let known = Known {
            name,
            enabled: Arc::clone(&enabled),
            has_link: true,
            lost: BTreeSet::new(),
            counters,
            recording,
            is_fault_reported: false,
        };
        let mut ports = self.lock();
        for (mailbox, queue) in self.mailboxes.iter().zip(queues) {
            let enabled = Arc::clone(&enabled);
            mailbox.order(Order::Attach { device: self.index, port: number, queue, enabled });
        }
        let after = known.shown(number);
        let before = ports.insert(number, known).map(|before| before.shown(number));
        // A port with another name is a different port to gNMI clients, which identify ports by
        // name.
        if before.as_ref().is_some_and(|before| before.name != after.name) {
            self.notify(before.as_ref(), None);
            self.notify(None, Some(&after));
        } else {
            self.notify(before.as_ref(), Some(&after));
        }
    }

    /// Removes a port. Returns false if no port has this number.
    pub(crate) fn detach(&self, number: u32) -> bool {
        let mut ports = self.lock();
        let Some(known) = ports.remove(&number) else { return false };
        for mailbox in &self.mailboxes {
            mailbox.order(Order::Detach { device: self.index, port: number });
        }
        self.notify(Some(&known.shown(number)), None);
        true
    }

    /// Returns whether a port has this number.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.lock().contains_key(&number)
    }

    /// Returns the names of all ports, by number.
    pub(crate) fn names(&self) -> BTreeMap<u32, String> {
        self.lock().iter().map(|(number, known)| (*number, known.name.clone())).collect()
    }

    /// Records whether the link of a port is up.
    pub(crate) fn set_link(&self, number: u32, is_there: bool) {
        self.change(number, |known| known.has_link = is_there);
    }

    /// Records whether a worker has its queue of a port (`is_there`) or has lost it, for example
    /// because the interface is gone.
    pub(crate) fn set_queue(&self, number: u32, worker: usize, is_there: bool) {
        self.change(number, |known| {
            if is_there {
                known.lost.remove(&worker);
            } else {
                known.lost.insert(worker);
            }
        });
    }

    /// Returns the current state of each port, ordered by number.
    pub(crate) fn state(&self) -> Vec<PortState> {
        let state = |(number, known): (&u32, &Known)| {
            let gnmi::Port { name, number, up, enabled } = known.shown(*number);
            let (counters, recording_fault) = (known.counters.values(), known.fault());
            PortState { number, name, up, enabled, counters, recording_fault }
        };
        self.lock().iter().map(state).collect()
    }

    /// Returns the packet captures that ended with an error since the last call: the number and the
    /// name of the port, and the error.
    pub(crate) fn ended_recordings(&self) -> Vec<(u32, String, io::ErrorKind)> {
        let ended = |(number, known): (&u32, &mut Known)| {
            let fault = known.fault().filter(|_| !known.is_fault_reported)?;
            known.is_fault_reported = true;
            Some((*number, known.name.clone(), fault))
        };
        self.lock().iter_mut().filter_map(ended).collect()
    }

    /// Applies `change` to the record of a port, and notifies the data plane and gNMI clients if
    /// the port's state has changed. Returns false if no port has this number.
    fn change(&self, number: u32, change: impl FnOnce(&mut Known)) -> bool {
        let mut ports = self.lock();
        let Some(known) = ports.get_mut(&number) else { return false };
        let before = known.shown(number);
        change(known);
        let after = known.shown(number);
        if before != after {
            self.notify(Some(&before), Some(&after));
        }
        true
    }

    /// Notifies the data plane and the gNMI clients that a port changed. The caller holds the lock
    /// on the ports, so that notifications are in the order of the changes.
    fn notify(&self, before: Option<&gnmi::Port>, after: Option<&gnmi::Port>) {
        if let Some(port) = after.or(before) {
            self.plane.set_port_up(port.number, after.is_some_and(|after| after.up));
        }
        self.watchers.notify(before, after, now());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn shown(&self, number: u32) -> gnmi::Port {
        let enabled = self.enabled.load(Ordering::Relaxed);
        let up = enabled && self.has_link && self.lost.is_empty();
        gnmi::Port { number, name: self.name.clone(), up, enabled }
    }

    fn fault(&self) -> Option<io::ErrorKind> {
        self.recording.as_ref().and_then(Recording::fault)
    }
}

impl PortSource for Ports {
    fn ports(&self) -> Vec<gnmi::Port> {
        self.lock().iter().map(|(number, known)| known.shown(*number)).collect()
    }

    fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    fn counters(&self, port: u32) -> Option<gnmi::PortCounters> {
        let counted = self.lock().get(&port)?.counters.values();
        Some(gnmi::PortCounters {
            in_octets: counted.received_bytes,
            in_pkts: counted.received_packets,
            in_discards: counted.receive_dropped,
            out_octets: counted.transmitted_bytes,
            out_pkts: counted.transmitted_packets,
            out_discards: counted.transmit_dropped,
            out_errors: counted.bad_length,
        })
    }

    fn set_enabled(&self, port: u32, enabled: bool) -> bool {
        self.change(port, |known| known.enabled.store(enabled, Ordering::Release))
    }
}
