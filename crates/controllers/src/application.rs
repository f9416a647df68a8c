//! The decisions of the controllers about packets, without sockets and without a protocol.
//!
//! Both forwarding applications learn per switch behind which port an Ethernet address is, from the
//! source addresses of packet-ins. A packet to a known address goes to its port, and a rule makes
//! the switch forward the following packets by itself; any other packet goes to all ports. The
//! applications differ in which packets get a rule. The learning switch installs one for every
//! frame. Reactive forwarding installs rules for IPv4 alone, as the application `fwd` of ONOS does,
//! and leaves ARP to the controller.
//!
//! Over OpenFlow both install the rule with every such packet-in, since the switch may have let the
//! last one expire. Over P4Runtime the controller knows which rules exist; the learning switch
//! leaves them unchanged, reactive forwarding writes them again.
//!
//! Switches are independent of each other: there is no topology and no spanning tree, so broadcasts
//! circulate in a loop of links between switches, as with any learning switch.

mod addresses;
pub mod paths;

use std::fmt;

use openflow::MacAddress;

use addresses::AddressTable;

/// The behaviour of a controller when it receives packet-ins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Application {
    /// The controller learns addresses. Every frame to a known address gets a rule.
    #[default]
    LearningSwitch,
    /// The controller learns addresses. Every IPv4 packet to a known address gets a rule.
    ReactiveForwarding,
    /// The controller keeps a topology of all switches and installs rules along shortest paths; see
    /// [`paths`].
    Paths,
    /// The controller returns every packet to its ingress port as fast as possible, and installs no
    /// rules. It serves to calibrate benchmarks.
    NullResponder,
}

impl Application {
    /// Returns the state that the application keeps of one switch at first, or `None` if it keeps
    /// no state for each switch.
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

/// A port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port(pub u32);

/// The packets for which a rule is installed when their destination is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePolicy {
    /// Every frame gets a rule.
    EveryFrame,
    /// IPv4 packets without a VLAN tag get a rule; the controller forwards other packets one by
    /// one.
    Ipv4,
}

/// The decision of an application about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet is not forwarded.
    Drop,
    /// The packet goes out of all ports except its ingress port.
    Flood,
    /// The packet goes out of one port, after a rule is installed if there is one.
    ///
    /// The port may be the ingress port, if source and destination are both behind it. A switch
    /// sends no packet back to its ingress port, so it drops the packet, and with the rule also the
    /// following ones: they have reached their destination already.
    Forward {
        /// The port of the destination.
        port: Port,
        /// The rule by which the switch forwards the following packets itself, or `None` to install
        /// none.
        rule: Option<Rule>,
    },
}

/// A rule: packets from one source to one destination that enter a switch by one port leave it by
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The packets that the rule matches.
    pub flow: Flow,
    /// The port by which these packets leave.
    pub output: Port,
}

/// The fields of packets that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The port by which the packets enter.
    pub ingress: Port,
    /// The Ethernet source of the packets.
    pub source: MacAddress,
    /// The Ethernet destination of the packets.
    pub destination: MacAddress,
}

/// The EtherType of IPv4, RFC 894.
const IPV4: u16 = 0x0800;
/// The EtherTypes of VLAN tags, IEEE 802.1Q: customer and service.
const VLAN_TAGS: [u16; 2] = [0x8100, 0x88a8];
/// The EtherTypes of link discovery: LLDP (IEEE 802.1AB), and BDDP, the variant that controllers
/// send to broadcast addresses.
const DISCOVERY: [u16; 2] = [0x88cc, 0x8942];
/// The offset of the EtherType in an untagged frame.
const ETHER_TYPE: usize = 12;
/// The maximum number of VLAN tags that are skipped to find the EtherType of the payload.
const MAX_TAGS: usize = 2;
/// The addresses 01:80:c2:00:00:0x, to which bridges do not forward (IEEE 802.1Q, table 8-1).
const RESERVED_GROUP: u64 = 0x0180_c200_0000;

/// The addresses that were learned at one switch, with their ports.
#[derive(Clone, Debug)]
pub struct Forwarding {
    policy: RulePolicy,
    addresses: AddressTable,
}

impl Forwarding {
    /// Creates the state of a switch about which nothing is known yet.
    pub fn new(policy: RulePolicy) -> Self {
        Self { policy, addresses: AddressTable::default() }
    }

    /// Decides about the packet that begins with `frame` and entered by `ingress`.
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

/// The EtherTypes of a frame: its first one, and the one after its VLAN tags.
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
