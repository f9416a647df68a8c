//! The ports of a device: which there are, and which of them are up. Kept here and nowhere else; whoever
//! finds out that something has changed says it here, and all who have to know hear it from here.

use crate::mailbox::{Mailbox, Order};
use p4runtime::gnmi::{self, PortSource, Watchers};
use p4runtime::server::now;
use packetio::{Counters, Port, PortCounters, Recording};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a port is at some moment.
#[derive(Clone, Debug)]
pub struct PortState {
    /// What programs call it.
    pub number: u32,
    /// What it is called where it comes from.
    pub name: String,
    /// Whether packets pass it: it is enabled, its link is up as far as the switch was told, and no
    /// worker has lost it.
    pub up: bool,
    /// Whether the owner of the switch wants packets to pass it.
    pub enabled: bool,
    /// What passed it.
    pub counters: Counters,
    /// What ended a capture of it before its time.
    pub recording_fault: Option<io::ErrorKind>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Ports {
    /// Of the device, in the order of the configuration.
    index: usize,
    plane: pipeline::Ports,
    mailboxes: Vec<Arc<Mailbox>>,
    watchers: Watchers,
    known: Mutex<BTreeMap<u32, Known>>,
}

#[derive(Debug)]
struct Known {
    name: String,
    enabled: bool,
    has_link: bool,
    /// Workers whose queue of the port is gone.
    lost: BTreeSet<usize>,
    counters: Arc<PortCounters>,
    recording: Option<Recording>,
    /// That its recording ended was said.
    is_fault_told: bool,
}

impl Ports {
    pub(crate) fn new(index: usize, plane: pipeline::Ports, mailboxes: Vec<Arc<Mailbox>>) -> Self {
        let (watchers, known) = (Watchers::default(), Mutex::default());
        Self { index, plane, mailboxes, watchers, known }
    }

    /// Gives the device a port, in the place of one with the same number.
    pub(crate) fn attach(&self, number: u32, port: Port) {
        let Port { name, queues, counters, recording } = port;
        let known = Known {
            name,
            enabled: true,
            has_link: true,
            lost: BTreeSet::new(),
            counters,
            recording,
            is_fault_told: false,
        };
        let mut ports = self.lock();
        for (mailbox, queue) in self.mailboxes.iter().zip(queues) {
            mailbox.order(Order::Attach { device: self.index, port: number, queue });
        }
        let after = known.shown(number);
        let before = ports.insert(number, known).map(|before| before.shown(number));
        // One with another name is another port to those who know it by its name.
        if before.as_ref().is_some_and(|before| before.name != after.name) {
            self.tell(before.as_ref(), None);
            self.tell(None, Some(&after));
        } else {
            self.tell(before.as_ref(), Some(&after));
        }
    }

    /// Takes a port away; false if there is none with this number.
    pub(crate) fn detach(&self, number: u32) -> bool {
        let mut ports = self.lock();
        let Some(known) = ports.remove(&number) else { return false };
        for mailbox in &self.mailboxes {
            mailbox.order(Order::Detach { device: self.index, port: number });
        }
        self.tell(Some(&known.shown(number)), None);
        true
    }

    /// The link of a port is there or not.
    pub(crate) fn set_link(&self, number: u32, is_there: bool) {
        self.change(number, |known| known.has_link = is_there);
    }

    /// A worker has its queue of a port, or has lost it.
    pub(crate) fn set_queue(&self, number: u32, worker: usize, is_there: bool) {
        self.change(number, |known| {
            if is_there {
                known.lost.remove(&worker);
            } else {
                known.lost.insert(worker);
            }
        });
    }

    /// What each port is at the moment, by their number.
    pub(crate) fn state(&self) -> Vec<PortState> {
        let state = |(number, known): (&u32, &Known)| {
            let gnmi::Port { name, number, up, enabled } = known.shown(*number);
            let (counters, recording_fault) = (known.counters.values(), known.fault());
            PortState { number, name, up, enabled, counters, recording_fault }
        };
        self.lock().iter().map(state).collect()
    }

    /// Recordings that ended since this was asked last: the number of the port, its name and why.
    pub(crate) fn ended_recordings(&self) -> Vec<(u32, String, io::ErrorKind)> {
        let ended = |(number, known): (&u32, &mut Known)| {
            let fault = known.fault().filter(|_| !known.is_fault_told)?;
            known.is_fault_told = true;
            Some((*number, known.name.clone(), fault))
        };
        self.lock().iter_mut().filter_map(ended).collect()
    }

    /// Changes what is known of a port, and tells what follows from it; false if there is none.
    fn change(&self, number: u32, change: impl FnOnce(&mut Known)) -> bool {
        let mut ports = self.lock();
        let Some(known) = ports.get_mut(&number) else { return false };
        let before = known.shown(number);
        change(known);
        let after = known.shown(number);
        if before.enabled != after.enabled {
            for mailbox in &self.mailboxes {
                let enabled = after.enabled;
                mailbox.order(Order::Enable { device: self.index, port: number, enabled });
            }
        }
        if before != after {
            self.tell(Some(&before), Some(&after));
        }
        true
    }

    /// Tells the data plane and clients of gNMI. Called with the lock held, so that they hear of
    /// changes in their order.
    fn tell(&self, before: Option<&gnmi::Port>, after: Option<&gnmi::Port>) {
        if let Some(port) = after.or(before) {
            self.plane.set_port_up(port.number, after.is_some_and(|after| after.up));
        }
        self.watchers.tell(before, after, now());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn shown(&self, number: u32) -> gnmi::Port {
        let up = self.enabled && self.has_link && self.lost.is_empty();
        gnmi::Port { number, name: self.name.clone(), up, enabled: self.enabled }
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
        self.change(port, |known| known.enabled = enabled)
    }
}
