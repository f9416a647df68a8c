//! The emulated network in which a test of RFC 8456 runs: switches, links and hosts.
//!
//! A packet that a switch sends out of a port crosses the link at this port, is matched with the
//! flow rules of the switch at the other end, and so on, until it reaches a host or the controller,
//! or is dropped. Links take no time. Events that a test must know of are recorded as [`Seen`]. The
//! emulator has no sockets and no clock: the caller passes the time, in nanoseconds on a clock of
//! its own.

use std::collections::{BTreeSet, VecDeque};

use openflow_switch::Left;

use super::seen::{Seen, What};
use crate::topology::{Port, SwitchIndex, Topology};
use crate::traffic::{Host, Hosts, RunKey, is_discovery, read_id};

/// The maximum number of links that a packet may cross. This limit is needed because switches need
/// not decrement a TTL, so a packet could circulate forever.
const MAX_HOPS: u32 = 64;

/// The data plane of an emulated switch.
pub(crate) trait Device {
    /// Processes a packet that arrives at a port, and appends the packets that leave the switch to
    /// `left`. Returns whether a packet was sent to a controller.
    fn arrive(&mut self, port: u16, frame: &[u8], now: u64, left: &mut Vec<Left>) -> bool;

    /// Sets whether the link at a port is up. Returns whether a controller was notified of a
    /// change.
    fn set_link(&mut self, port: u16, is_up: bool, now: u64) -> bool;

    /// Returns the number of flow entries that controllers have installed.
    fn entries(&self) -> usize;

    /// Sends an invalid message to the controller, the one with the number `number` in a fixed
    /// series. Returns whether the switch has a controller.
    fn send_invalid(&mut self, number: u64, now: u64) -> bool;
}

/// The emulated network.
pub(crate) struct Emulator<D> {
    pub(crate) devices: Vec<D>,
    topology: Topology,
    hosts: Hosts,
    key: RunKey,
    /// The ports whose links are down. Both ends of such a link are contained.
    down: BTreeSet<(SwitchIndex, Port)>,
    /// The switches that are powered off.
    off: BTreeSet<u32>,
    seen: Vec<Seen>,
}

/// A packet that is on its way to a port of a switch.
struct Moving {
    switch: u32,
    port: u16,
    frame: Vec<u8>,
    hops: u32,
}

impl<D: Device> Emulator<D> {
    pub(crate) fn new(devices: Vec<D>, topology: Topology, hosts: Hosts, key: RunKey) -> Self {
        let (down, off) = (BTreeSet::new(), BTreeSet::new());
        Self { devices, topology, hosts, key, down, off, seen: Vec::new() }
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    pub(crate) fn key(&self) -> RunKey {
        self.key
    }

    /// Returns the total number of flow entries at all switches.
    pub(crate) fn entries(&self) -> usize {
        self.devices.iter().map(Device::entries).sum()
    }

    /// Records an event that the test must know of.
    pub(crate) fn note(&mut self, at: u64, what: What) {
        self.seen.push(Seen { at, what });
    }

    /// Returns whether any event was recorded since the last call of [`Emulator::take_seen`].
    pub(crate) fn has_seen(&self) -> bool {
        !self.seen.is_empty()
    }

    /// Returns and removes the events that were recorded since the last call.
    pub(crate) fn take_seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    /// Sends a packet from a host into the network.
    pub(crate) fn send(&mut self, host: &Host, frame: Vec<u8>, now: u64) {
        let port = host.port.0;
        self.carry(VecDeque::from([Moving { switch: host.switch, port, frame, hops: 0 }]), now);
    }

    /// Forwards packets that have left a switch by its ports.
    pub(crate) fn left(&mut self, switch: u32, left: Vec<Left>, now: u64) {
        let mut moving = VecDeque::new();
        self.cross(switch, left, 0, now, &mut moving);
        self.carry(moving, now);
    }

    /// Sets whether the link at a port is up. The switches at both ends notify their controllers.
    pub(crate) fn set_link(&mut self, switch: u32, port: Port, is_up: bool, now: u64) {
        let near = (SwitchIndex(switch), port);
        let Some(far) = self.topology.peer(near.0, near.1) else { return };
        for end in [near, far] {
            if is_up {
                self.down.remove(&end)
            } else {
                self.down.insert(end)
            };
        }
        for (SwitchIndex(switch), Port(port)) in [near, far] {
            let off = self.off.contains(&switch);
            if let Some(device) = self.devices.get_mut(switch as usize)
                && device.set_link(port, is_up, now)
                && !off
            {
                self.note(now, What::LinkTold { switch });
            }
        }
    }

    /// Switches a switch on or off. Its links come up or go down at the same time, which its
    /// neighbours notice.
    pub(crate) fn set_power(&mut self, switch: u32, is_on: bool, now: u64) {
        if is_on {
            self.off.remove(&switch)
        } else {
            self.off.insert(switch)
        };
        let ports: Vec<Port> = self.topology.link_ports(SwitchIndex(switch)).collect();
        for port in ports {
            self.set_link(switch, port, is_on, now);
        }
    }

    fn carry(&mut self, mut moving: VecDeque<Moving>, now: u64) {
        while let Some(Moving { switch, port, frame, hops }) = moving.pop_front() {
            let mut left = Vec::new();
            if hops > MAX_HOPS || self.off.contains(&switch) {
                continue;
            }
            let Some(device) = self.devices.get_mut(switch as usize) else { continue };
            if device.arrive(port, &frame, now, &mut left) {
                let what = match (is_discovery(&frame), read_id(&frame, self.key)) {
                    (true, _) => What::Discovered { switch, port },
                    (false, id) => What::PacketIn { switch, id },
                };
                self.note(now, what);
            }
            self.cross(switch, left, hops, now, &mut moving);
        }
    }

    fn cross(
        &mut self,
        switch: u32,
        left: Vec<Left>,
        hops: u32,
        now: u64,
        moving: &mut VecDeque<Moving>,
    ) {
        if self.off.contains(&switch) {
            return;
        }
        for Left { port, frame } in left {
            let near = (SwitchIndex(switch), Port(port));
            match self.topology.peer(near.0, near.1) {
                Some((SwitchIndex(far), Port(far_port))) if !self.down.contains(&near) => {
                    if let Some(id) = read_id(&frame, self.key) {
                        self.note(now, What::Crossed { switch, port, id });
                    }
                    moving.push_back(Moving { switch: far, port: far_port, frame, hops: hops + 1 });
                }
                Some(_) => {}
                None => {
                    if let Some(id) = read_id(&frame, self.key) {
                        let to = frame.first_chunk().copied().unwrap_or_default();
                        self.note(now, What::Delivered { switch, port, id, to });
                    }
                }
            }
        }
    }
}
