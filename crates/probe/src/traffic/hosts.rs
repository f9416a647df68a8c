//! The emulated hosts that are attached to the switches.
//!
//! Host n of switch s has the global number s times the hosts per switch plus n, and everything
//! else is computed from this number: MAC addresses from 02:00:00:00:00:01 on, IPv4 addresses from
//! 10.0.0.1 on, and TCP and UDP ports from 49152 on (which repeat after 16,384 hosts). Conversely,
//! the number follows from an address, so addresses are never stored. Only the free ports of
//! switches with links are stored.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::addresses::{End, HOST, MacAddress, serial_port};
use super::error::HostsError;
use super::id::{PacketId, RunKey};
use crate::config::Switches;
use crate::topology::{Port, SwitchIndex, Topology};

/// The maximum number of hosts: the number of addresses in 10.0.0.0/8 without the first and the
/// last.
pub(super) const MAX_HOSTS: u32 = (1 << 24) - 2;

/// The network from which hosts take their IPv4 addresses, 10.0.0.0/8.
const NETWORK: u32 = 0x0a00_0000;

/// The length of an Ethernet frame with an ARP packet. It is that of the shortest Ethernet frame,
/// without the FCS.
const ARP_BYTES: usize = 60;

/// An emulated host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The index of the switch to which the host is attached, from 0.
    pub switch: u32,
    /// The port of this switch to which the host is attached.
    pub port: Port,
    /// The MAC address of the host.
    pub mac: MacAddress,
    /// The IPv4 address of the host.
    pub ip: Ipv4Addr,
    /// The source port of the host's TCP and UDP packets.
    pub l4_port: u16,
}

/// The emulated hosts of a run. Clones of this value share memory.
#[derive(Clone, Debug)]
pub struct Hosts {
    switches: u32,
    per_switch: u32,
    ports: u16,
    linked: Arc<LinkedSwitches>,
}

/// The free ports, which carry no link, of those switches that have links.
#[derive(Debug, Default)]
struct LinkedSwitches {
    /// The ends of the switches' ranges in `free`: the free ports of switch s are `ends[s -
    /// 1]..ends[s]`. The range of a switch without links is empty. The whole vector is empty if no
    /// switch has links.
    ends: Vec<u32>,
    free: Vec<Port>,
}

impl Hosts {
    /// Attaches the hosts of each switch to those of its ports that carry no link.
    ///
    /// # Errors
    ///
    /// Returns an error if a switch with hosts has no such port, or if there are more hosts than
    /// addresses.
    pub fn new(switches: &Switches, topology: &Topology) -> Result<Self, HostsError> {
        let (count, per_switch) = (switches.count, switches.hosts);
        if count.checked_mul(per_switch).is_none_or(|total| total > MAX_HOSTS) {
            return Err(HostsError::TooMany { switches: count, hosts: per_switch });
        }
        let mut linked = LinkedSwitches::default();
        if topology.link_count() > 0 {
            for switch in 0..count {
                if topology.link_ports(SwitchIndex(switch)).len() > 0 {
                    let before = linked.free.len();
                    linked.free.extend(topology.free_ports(SwitchIndex(switch)));
                    if linked.free.len() == before {
                        return Err(HostsError::NoFreePort { switch, ports: switches.ports });
                    }
                } else if switches.ports == 0 {
                    return Err(HostsError::NoFreePort { switch, ports: 0 });
                }
                linked.ends.push(u32::try_from(linked.free.len()).unwrap_or(u32::MAX));
            }
        } else if switches.ports == 0 && count > 0 {
            return Err(HostsError::NoFreePort { switch: 0, ports: 0 });
        }
        Ok(Self { switches: count, per_switch, ports: switches.ports, linked: Arc::new(linked) })
    }

    /// Returns the number of switches.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Returns the number of hosts behind each switch.
    pub fn per_switch(&self) -> u32 {
        self.per_switch
    }

    /// Returns the number of all hosts.
    pub fn count(&self) -> u32 {
        self.switches * self.per_switch
    }

    /// Returns whether some switches are linked, so that hosts of different switches can reach each
    /// other.
    pub fn switches_are_linked(&self) -> bool {
        !self.linked.ends.is_empty()
    }

    /// Returns the host with the number `number`, counted from 0, at a switch, or `None` if there
    /// is none.
    pub fn host(&self, switch: u32, number: u32) -> Option<Host> {
        (switch < self.switches && number < self.per_switch)
            .then(|| self.at(switch * self.per_switch + number))
    }

    /// Returns the hosts that are attached to a switch.
    pub fn of_switch(&self, switch: u32) -> impl Iterator<Item = Host> + '_ {
        (0..self.per_switch).map_while(move |number| self.host(switch, number))
    }

    /// Returns the host with a given MAC address, or `None` if there is none.
    pub fn by_mac(&self, mac: MacAddress) -> Option<Host> {
        let [HOST, 0, 0, a, b, c] = mac.0 else { return None };
        self.numbered(u32::from_be_bytes([0, a, b, c]))
    }

    /// Returns the host with a given IPv4 address, or `None` if there is none.
    pub fn by_ip(&self, ip: Ipv4Addr) -> Option<Host> {
        self.numbered(ip.to_bits().checked_sub(NETWORK)?)
    }

    /// Returns the port to which the host `number` of a switch is attached. The hosts, from number
    /// 0 on, are attached in turn to the ports that carry no link.
    pub fn port(&self, switch: u32, number: u32) -> Port {
        match self.linked.free_ports(switch) {
            [] => Port(1 + (number % u32::from(self.ports.max(1))) as u16),
            free => free[number as usize % free.len()],
        }
    }

    /// Returns whether several hosts of a switch are attached to the same port.
    pub(super) fn share_ports(&self, switch: u32) -> bool {
        let free = match self.linked.free_ports(switch) {
            [] => usize::from(self.ports),
            free => free.len(),
        };
        self.per_switch as usize > free
    }

    /// Returns whether two hosts, given by their global numbers, are attached to the same port of
    /// one switch, so that no switch sees the packets between them.
    pub(super) fn are_on_one_port(&self, one: u32, other: u32) -> bool {
        let (one, other) = (self.at(one), self.at(other));
        (one.switch, one.port) == (other.switch, other.port)
    }

    /// Returns the port at which one host enters and its gratuitous ARP request, as
    /// [`Hosts::arp_announcements`] does for all hosts of a switch.
    pub fn arp_announcement(
        &self,
        switch: u32,
        number: u32,
        key: RunKey,
    ) -> Option<(Port, [u8; ARP_BYTES])> {
        self.host(switch, number).map(|host| (host.port, announcement(&host, key)))
    }

    /// Returns a gratuitous ARP request of each host of a switch (an announcement, RFC 5227,
    /// section 3), and the port at which it enters the switch. [`super::read_id`] finds
    /// [`PacketId::unmeasured`] in it.
    pub fn arp_announcements(
        &self,
        switch: u32,
        key: RunKey,
    ) -> impl Iterator<Item = (Port, [u8; ARP_BYTES])> + '_ {
        self.of_switch(switch).map(move |host| (host.port, announcement(&host, key)))
    }

    /// Returns the host with a given global number, which must be less than [`Hosts::count`].
    pub(super) fn at(&self, index: u32) -> Host {
        let per_switch = self.per_switch.max(1);
        let (switch, number) = (index / per_switch, index % per_switch);
        Host {
            switch,
            port: self.port(switch, number),
            mac: mac(index),
            ip: ip(index),
            l4_port: l4_port(index),
        }
    }

    /// Returns the host with the global number `one_up - 1`, or `None` if there is none. Addresses
    /// of hosts end in `one_up`.
    fn numbered(&self, one_up: u32) -> Option<Host> {
        one_up.checked_sub(1).filter(|index| *index < self.count()).map(|index| self.at(index))
    }
}

impl LinkedSwitches {
    fn free_ports(&self, switch: u32) -> &[Port] {
        let switch = switch as usize;
        let Some(end) = self.ends.get(switch) else { return &[] };
        let start = switch.checked_sub(1).and_then(|before| self.ends.get(before)).unwrap_or(&0);
        self.free.get(*start as usize..*end as usize).unwrap_or_default()
    }
}

pub(super) fn mac(index: u32) -> MacAddress {
    MacAddress::numbered(HOST, u64::from(index) + 1)
}

pub(super) fn ip(index: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(NETWORK + index + 1)
}

pub(super) fn l4_port(index: u32) -> u16 {
    serial_port(End::Source, u64::from(index))
}

/// Builds an ARP announcement of a host for IPv4 over Ethernet (RFC 826). Its padding contains a
/// packet ID.
fn announcement(host: &Host, key: RunKey) -> [u8; ARP_BYTES] {
    let mut frame = [0; ARP_BYTES];
    frame[..6].copy_from_slice(&MacAddress::BROADCAST.0);
    frame[6..12].copy_from_slice(&host.mac.0);
    // The EtherType ARP, the hardware type Ethernet, the protocol IPv4, the address lengths 6 and
    // 4, and the operation "request".
    frame[12..22].copy_from_slice(&[0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0, 1]);
    frame[22..28].copy_from_slice(&host.mac.0);
    frame[28..32].copy_from_slice(&host.ip.octets());
    // The target's hardware address is not known and stays zero.
    frame[38..42].copy_from_slice(&host.ip.octets());
    frame[48..].copy_from_slice(&key.trailer(PacketId::unmeasured(host.switch)));
    frame
}
