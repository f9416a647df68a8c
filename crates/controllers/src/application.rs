//! The decisions of controllers about packet-ins, independently of sockets and protocols.
//!
//! For each switch, both forwarding applications learn the port behind which each Ethernet address
//! is, from the source addresses of packet-ins. A packet to a known address is sent to its port,
//! and a rule makes the switch forward the following packets itself. Any other packet is sent to
//! all ports. The applications differ in the packets for which they install rules. The learning
//! switch installs a rule for every frame. Reactive forwarding installs rules only for IPv4, as the
//! application `fwd` of ONOS does, and handles ARP in the controller.
//!
//! Over OpenFlow, both applications install a rule with every packet-in to a known address, since
//! the previous rule may have expired at the switch. Over P4Runtime, the controller knows which
//! rules exist. The learning switch leaves existing rules unchanged, whereas reactive forwarding
//! writes them again.
//!
//! Switches are independent of each other. There is no topology and no spanning tree, so broadcasts
//! circulate in a loop of links between switches, as with any learning switch.

mod addresses;
pub mod paths;

use std::fmt;

use openflow::MacAddress;

use addresses::AddressTable;

/// The behaviour of a controller when it receives packet-ins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Application {
    /// The controller learns addresses, and installs a rule for every frame to a known address.
    #[default]
    LearningSwitch,
    /// The controller learns addresses, and installs a rule for every IPv4 packet to a known
    /// address.
    ReactiveForwarding,
    /// The controller keeps a topology of all switches, and installs rules along shortest paths
    /// (see [`paths`]).
    Paths,
    /// The controller returns every packet to its ingress port as fast as possible, and installs no
    /// rules. It answers faster than any real controller, so it shows the highest rate that a
    /// benchmark itself can reach.
    NullResponder,
}

impl Application {
    /// Returns the initial state that the application keeps for one switch, or `None` for an
    /// application that keeps no state for each switch.
    pub fn forwarding(self) -> Option<Forwarding> {
        match self {
            Self::LearningSwitch => Some(Forwarding::new(RulePolicy::EveryFrame)),
            Self::ReactiveForwarding => Some(Forwarding::new(RulePolicy::Ipv4)),
            Self::Paths | Self::NullResponder => None,
        }
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LearningSwitch => "learning switch",
            Self::ReactiveForwarding => "reactive forwarding",
            Self::Paths => "path provisioning",
            Self::NullResponder => "null responder",
        })
    }
}

/// The number of a switch port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port(pub u32);

/// The choice of packets with a known destination for which a rule is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePolicy {
    /// Every frame gets a rule.
    EveryFrame,
    /// IPv4 packets without a VLAN tag get a rule. The controller forwards other packets one by
    /// one.
    Ipv4,
}

/// The decision of an application about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet is not forwarded.
    Drop,
    /// The packet is sent out of all ports except its ingress port.
    Flood,
    /// The packet is sent out of one port. If there is a rule, it is installed first.
    ///
    /// The port may be the packet's ingress port, if source and destination are both behind it. In
    /// this case the packet has already reached its destination by other means. A switch sends no
    /// packet back to its ingress port, so it drops this packet and, because of the rule, the
    /// following ones.
    Forward {
        /// The port of the destination.
        port: Port,
        /// The rule by which the switch forwards the following packets itself, or `None` if no rule
        /// is installed.
        rule: Option<Rule>,
    },
}

/// A forwarding rule: packets from one source to one destination that enter a switch by one port
/// leave it by another port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The packets to which the rule applies.
    pub flow: Flow,
    /// The port by which these packets leave.
    pub output: Port,
}

/// The fields of packets that a rule matches: ingress port, source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The port by which the packets enter.
    pub ingress: Port,
    /// The Ethernet source of the packets.
    pub source: MacAddress,
    /// The Ethernet destination of the packets.
    pub destination: MacAddress,
}

/// The EtherType of IPv4 (RFC 894).
const IPV4: u16 = 0x0800;
/// The EtherTypes of customer and service VLAN tags (IEEE 802.1Q).
const VLAN_TAGS: [u16; 2] = [0x8100, 0x88a8];
/// The EtherTypes of the protocols by which links are discovered: LLDP (IEEE 802.1AB), and BDDP,
/// the variant that controllers send to broadcast addresses.
const DISCOVERY: [u16; 2] = [0x88cc, 0x8942];
/// The offset of the EtherType in a frame without VLAN tags.
const ETHER_TYPE: usize = 12;
/// The maximum number of VLAN tags that are skipped in search of the EtherType of the payload.
const MAX_TAGS: usize = 2;
/// The group addresses 01:80:c2:00:00:0x, to which bridges do not forward frames (IEEE 802.1Q,
/// table 8-1).
const RESERVED_GROUP: u64 = 0x0180_c200_0000;

/// The state of a forwarding application for one switch: the addresses that were learned, with
/// their ports.
#[derive(Clone, Debug)]
pub struct Forwarding {
    policy: RulePolicy,
    addresses: AddressTable,
}

impl Forwarding {
    /// Creates the state of a switch at which no address has been learned yet.
    pub fn new(policy: RulePolicy) -> Self {
        Self { policy, addresses: AddressTable::default() }
    }

    /// Learns the source address of a packet that entered by the port `ingress`, and decides how to
    /// forward the packet. `frame` may be only the beginning of the packet.
    pub fn packet_in(&mut self, ingress: Port, frame: &[u8]) -> Decision {
        let Some((addresses, _)) = frame.split_first_chunk::<ETHER_TYPE>() else {
            return Decision::Drop;
        };
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = *addresses;
        let destination = MacAddress([d0, d1, d2, d3, d4, d5]);
        let source = MacAddress([s0, s1, s2, s3, s4, s5]);
        let ether_types = ether_types(frame);
        let Some(inner) = ether_types.inner else { return Decision::Drop };
        if DISCOVERY.contains(&inner) || destination.to_bits() & !0xf == RESERVED_GROUP {
            return Decision::Drop;
        }
        if !source.is_multicast() {
            self.addresses.learn(source, ingress);
        }
        let known =
            if destination.is_multicast() { None } else { self.addresses.find(destination) };
        let Some(port) = known else { return Decision::Flood };
        let with_rule = !source.is_multicast()
            && match self.policy {
                RulePolicy::EveryFrame => true,
                RulePolicy::Ipv4 => ether_types.outer == Some(IPV4),
            };
        let flow = Flow { ingress, source, destination };
        Decision::Forward { port, rule: with_rule.then_some(Rule { flow, output: port }) }
    }
}

/// The EtherTypes of a frame: its first one (`outer`), and the one that follows its VLAN tags
/// (`inner`).
struct EtherTypes {
    outer: Option<u16>,
    inner: Option<u16>,
}

fn ether_types(frame: &[u8]) -> EtherTypes {
    let at = |offset: usize| frame.get(offset..)?.first_chunk().copied().map(u16::from_be_bytes);
    let outer = at(ETHER_TYPE);
    let tagged = |found: &Option<u16>| found.is_some_and(|found| VLAN_TAGS.contains(&found));
    let inner = (0..=MAX_TAGS)
        .map(|tags| at(ETHER_TYPE + 4 * tags))
        .find(|found| !tagged(found))
        .unwrap_or(outer);
    EtherTypes { outer, inner }
}

#[cfg(test)]
mod tests;
