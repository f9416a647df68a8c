//! The hosts of a network, the pairs of hosts that communicate, and the packets that they exchange
//! in the tests of path provisioning.

use std::sync::Arc;

use super::seen::{Hop, Order};
use crate::topology::{Port, SwitchIndex, Topology};
use crate::traffic::{Host, Hosts, MacAddress, PacketId, PathFrames};

/// The hosts of a network, and the packets that are sent between them.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) hosts: Hosts,
    pub(crate) topology: Topology,
    frames: PathFrames,
    /// The switches between whose hosts packets are sent, in ascending order.
    switches: Arc<[u32]>,
}

/// Two hosts at different switches, between which packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) from: Host,
    pub(crate) to: Host,
}

impl Pair {
    pub(crate) fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

impl Scene {
    /// Creates a scene with hosts that can all reach each other. They are the hosts in the largest
    /// connected component of the topology.
    pub(crate) fn new(hosts: Hosts, topology: Topology, frames: PathFrames) -> Self {
        let switches = topology.largest_part().into();
        Self { hosts, topology, frames, switches }
    }

    /// Returns the scene extended to the hosts of all switches, even if no path connects some of
    /// them.
    pub(crate) fn with_all_switches(self) -> Self {
        Self { switches: (0..self.hosts.switches()).collect(), ..self }
    }

    /// Returns the number of hosts between which packets are sent.
    fn count(&self) -> u32 {
        u32::try_from(self.switches.len())
            .unwrap_or(u32::MAX)
            .saturating_mul(self.hosts.per_switch())
    }

    /// Returns the pair of hosts with a given number, or `None` if there are not as many pairs. The
    /// hosts are at different switches, and different numbers yield different pairs. If switches
    /// have several hosts, some pairs of hosts at adjacent switches are left out.
    pub(crate) fn pair(&self, number: u32) -> Option<Pair> {
        let (count, per_switch) = (self.count(), self.hosts.per_switch());
        let distances = (count + 1).checked_sub(2 * per_switch).filter(|_| per_switch > 0)?;
        let distance = number / count;
        if distance >= distances {
            return None;
        }
        let host = |index: u32| {
            let switch = self.switches.get((index / per_switch) as usize)?;
            self.hosts.host(*switch, index % per_switch)
        };
        // Pairs of hosts with distant indices come first. Small distances would connect only
        // neighbouring switches.
        let far = per_switch + (distances / 2 + distance) % distances;
        let from = number % count;
        Some(Pair { from: host(from)?, to: host((from + far) % count)? })
    }

    /// Returns the number of pairs that [`Scene::pair`] can return.
    pub(crate) fn pairs(&self) -> u32 {
        let (count, per_switch) = (self.count(), self.hosts.per_switch());
        (count + 1).saturating_sub(2 * per_switch) * count
    }

    /// Returns the order to send packet `sequence` of a flow from one host of a pair to the other.
    pub(crate) fn packet(&self, pair: Pair, flow: u32, sequence: u64) -> Order {
        let id = PacketId { switch: flow, sequence };
        Order::Send { host: pair.from, frame: self.frames.between(&pair.from, &pair.to, id) }
    }

    /// Returns the order to send a packet with a new source address from the first host of a pair
    /// to the second one.
    pub(crate) fn stranger(&self, pair: Pair, flow: u32) -> Order {
        let mut from = pair.from;
        let [_, a, b, c] = flow.to_be_bytes();
        from.mac = MacAddress([0x06, 0, 0, a, b, c]);
        let id = PacketId { switch: flow, sequence: 0 };
        Order::Send { host: pair.from, frame: self.frames.between(&from, &pair.to, id) }
    }

    /// Returns whether a packet for the MAC address `to` has reached `host`, given the switch and
    /// the port by which it left the network.
    pub(crate) fn is_at(&self, host: &Host, switch: u32, port: u16, to: [u8; 6]) -> bool {
        (host.switch, host.port.0, host.mac.0) == (switch, port, to)
    }

    /// Returns the flow rules of a shortest path from one host of a pair to the other, or `None` if
    /// there is no path.
    pub(crate) fn path(&self, pair: Pair) -> Option<Vec<Hop>> {
        let count = self.topology.switch_count();
        // A breadth-first search from the destination yields the next hop of each switch.
        let mut next: Vec<Option<Port>> = vec![None; count];
        let mut queue = std::collections::VecDeque::from([pair.to.switch]);
        *next.get_mut(pair.to.switch as usize)? = Some(pair.to.port);
        while let Some(switch) = queue.pop_front() {
            for port in self.topology.link_ports(SwitchIndex(switch)) {
                let Some((SwitchIndex(far), back)) = self.topology.peer(SwitchIndex(switch), port)
                else {
                    continue;
                };
                if let Some(unknown @ None) = next.get_mut(far as usize) {
                    *unknown = Some(back);
                    queue.push_back(far);
                }
            }
        }
        let (mut hops, mut at) = (Vec::new(), (pair.from.switch, pair.from.port));
        loop {
            let out = (*next.get(at.0 as usize)?)?;
            hops.push(Hop {
                switch: at.0,
                in_port: at.1.0,
                out_port: out.0,
                source: pair.from.mac.0,
                destination: pair.to.mac.0,
            });
            if at.0 == pair.to.switch {
                return Some(hops);
            }
            let (SwitchIndex(far), port) = self.topology.peer(SwitchIndex(at.0), out)?;
            at = (far, port);
        }
    }
}
