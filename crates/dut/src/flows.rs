//! Generates flow entries for an OpenFlow switch, and packets that match them.

mod frame;
mod own;
mod text;

use std::net::Ipv4Addr;
use std::sync::Arc;

use etherparse::PacketBuilder;
use openflow::v1_3::{GroupId, Instruction, MeterId, TableId};
use openflow::{BufferId, EncodeError, MacAddress, PortNumber, Version, Xid, v1_0, v1_3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

use crate::entries::scattered;
use crate::entry_number::EntryNumber;
use crate::window::Operation;

pub(crate) use self::frame::Treatment;
pub use self::own::OwnFlows;
pub(crate) use self::own::{FlowIdentity, Shown};

/// The priority of flow entries for single flows. The entry that catches the other packets of the
/// measurement has the next lower priority. Both are high, so that entries of other controllers do
/// not process the packets.
pub(crate) const PRIORITY: u16 = 0xf000;
/// The upper half of the cookie of every measurement's flows, which spells "PLAN" in ASCII.
const MARK: u64 = 0x504c_414e_0000_0000;
/// The first two bytes of the Ethernet destinations that flows match. They mark an address as
/// locally administered.
const MAC_PREFIX: u64 = 0x0250;
/// The Ethernet source of all packets of a measurement.
const SOURCE: MacAddress = MacAddress([0x02, 0x50, 0x4c, 0x41, 0x4e, 0x01]);
/// The Ethernet destination of packets of flows that do not match by it.
const OTHER_MAC: MacAddress = MacAddress([0x02, 0x50, 0x4c, 0x41, 0x4e, 0x02]);
/// The network of the IPv4 destinations of flows, 198.18.0.0/15, which is reserved for
/// measurements (RFC 2544, appendix C.2.2).
const NETWORK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// The number of bits of a destination in [`NETWORK`].
const HOST_BITS: u32 = 17;
const IPV4: u16 = 0x0800;
const UDP: u8 = 17;
/// The error for a flow of the user's file that the OpenFlow version cannot express. Such flows are
/// rejected when the switch connects, so this error is not expected later.
const UNCHECKED: EncodeError = EncodeError::Value {
    field: "ofp_flow_mod",
    value: 0,
    expected: "a flow that the version can express",
};
/// The length of a generated packet in bytes.
const PACKET_SIZE: usize = 128;
/// The length in bytes of the headers before the payload of a packet: Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;

/// The fields that the generated flows of a measurement match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowMatch {
    /// The Ethernet destination.
    Mac,
    /// The IPv4 destination and the UDP destination port, with the prerequisites of both fields
    /// (the Ethernet type and the IP protocol).
    Udp,
}

impl FlowMatch {
    /// Returns a description of each field that is matched, with its width.
    pub(crate) fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Mac => &["Ethernet destination: exact, 48 bits"],
            Self::Udp => &[
                "Ethernet type: exact, IPv4",
                "IP protocol: exact, UDP",
                "IPv4 destination: exact, 32 bits",
                "UDP destination port: exact, 16 bits",
            ],
        }
    }

    /// Returns the number of bits in which the matches of flows can differ.
    fn bits(self) -> u32 {
        match self {
            Self::Mac => 32,
            Self::Udp => HOST_BITS + 16,
        }
    }

    /// Returns the number of flows that can be generated.
    pub(crate) fn different(self) -> u64 {
        1 << self.bits()
    }
}

/// The packets that a flow entry of a measurement matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Selector {
    /// The packets of one flow.
    One(EntryNumber),
    /// All packets of the measurement that no entry for a single flow matches. They are recognised
    /// by their Ethernet source.
    Rest,
    /// The packets that [`Selector::Rest`] selects, if flows of a user's file are measured. The
    /// entry for these packets has a lower priority than all flows of the file.
    Beneath,
}

/// The effect of a flow entry on the packets that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Sends the packets out of a port of the switch.
    Port(u32),
    /// Sends the packets back out of the port by which they entered.
    Back,
    /// Sends the complete packets to the controller.
    Controller,
    /// Drops the packets.
    Nowhere,
    /// Sends the packets through a meter, and then out of a port of the switch. OpenFlow 1.0 has no
    /// meters.
    Metered { meter: u32, port: u32 },
    /// Sends the packets to a group. OpenFlow 1.0 has no groups.
    Group(u32),
    /// Applies the actions of a flow in the user's file.
    OfFile(EntryNumber),
}

/// A flow entry of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowEntry {
    pub(crate) selects: Selector,
    pub(crate) output: Output,
}

/// The lifetime of a flow entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// The entry stays until it is deleted.
    Endless,
    /// The switch removes the entry, and notifies the controller, when no packet has matched the
    /// entry for this number of seconds.
    Idle(u16),
    /// The switch removes the entry, and notifies the controller, this number of seconds after the
    /// insertion.
    Hard(u16),
}

impl Lifetime {
    /// Returns the length of the timeout in seconds; 0 if there is none.
    pub(crate) fn seconds(self) -> u16 {
        match self {
            Self::Endless => 0,
            Self::Idle(seconds) | Self::Hard(seconds) => seconds,
        }
    }

    fn idle(self) -> u16 {
        if let Self::Idle(seconds) = self { seconds } else { 0 }
    }

    fn hard(self) -> u16 {
        if let Self::Hard(seconds) = self { seconds } else { 0 }
    }
}

/// The insertion, modification or deletion of a flow entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowChange {
    pub(crate) operation: Operation,
    pub(crate) entry: FlowEntry,
    /// The lifetime of the entry, which counts only if it is inserted.
    pub(crate) lifetime: Lifetime,
}

/// The match with which a switch reports a flow entry. Together with the table and the priority, it
/// identifies the entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReportedMatch {
    V1_0(Box<v1_0::Match>),
    V1_3(v1_3::Match),
}

/// A maker of flow-mod messages and packets. Flows are identified by numbers, and a number always
/// stands for the same flow: a generated one, or one of the user's file.
#[derive(Clone, Debug)]
pub(crate) struct FlowMaker {
    pub(crate) matching: FlowMatch,
    /// The cookie of all flows of this measurement.
    pub(crate) cookie: u64,
    /// The flows of the user's file, which the tests of the table use instead of generated ones.
    own: Option<Arc<OwnFlows>>,
}

impl FlowMaker {
    /// Creates a maker of flows that match these fields. `random` distinguishes this measurement
    /// from others.
    pub(crate) fn new(matching: FlowMatch, random: u32) -> Self {
        Self { matching, cookie: MARK | u64::from(random), own: None }
    }

    /// Sets the flows of the user's file that are used instead of generated ones.
    pub(crate) fn with_own(self, own: Option<Arc<OwnFlows>>) -> Self {
        Self { own, ..self }
    }

    /// Returns the flows of the user's file, if there is one.
    pub(crate) fn own(&self) -> Option<&OwnFlows> {
        self.own.as_deref()
    }

    /// Returns the priority of the entry that catches packets which no flow of the user's file
    /// matches.
    pub(crate) fn beneath(&self) -> u16 {
        self.own().map_or(0, OwnFlows::beneath)
    }

    /// Returns the selected flow of the user's file; `None` for a generated flow.
    fn own_flow(&self, selects: Selector) -> Option<(&OwnFlows, EntryNumber)> {
        match selects {
            Selector::One(number) if OwnFlows::has(number) => Some((self.own()?, number)),
            Selector::One(_) | Selector::Rest | Selector::Beneath => None,
        }
    }

    /// Appends the flow-mod message for a change of a flow entry to `out`.
    ///
    /// Modifications and deletions are strict: they affect only the entry with exactly this match
    /// and this priority. Their cookie mask is zero, so the cookie of the entry does not matter.
    /// With a full mask, Open vSwitch would compare all entries that have the cookie instead of
    /// looking the entry up in its table.
    pub(crate) fn encode(
        &self,
        version: Version,
        change: FlowChange,
        xid: Xid,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let FlowChange { operation, entry, lifetime } = change;
        let is_endless = lifetime == Lifetime::Endless;
        let table = TableId(self.table(entry.selects));
        let priority = self.priority(entry.selects);
        let is_deletion = operation == Operation::Delete;
        match version {
            Version::V1_0 => {
                let command = match operation {
                    Operation::Insert => v1_0::FlowModCommand::ADD,
                    Operation::Modify => v1_0::FlowModCommand::MODIFY_STRICT,
                    Operation::Delete => v1_0::FlowModCommand::DELETE_STRICT,
                };
                let actions =
                    if is_deletion { Vec::new() } else { self.actions_v1_0(entry.output)? };
                let flow_mod = v1_0::FlowMod {
                    match_fields: self.match_v1_0(entry.selects)?,
                    cookie: self.cookie,
                    command,
                    priority,
                    actions,
                    idle_timeout: lifetime.idle(),
                    hard_timeout: lifetime.hard(),
                    flags: match is_endless {
                        true => v1_0::FlowModFlags::NONE,
                        false => v1_0::FlowModFlags::SEND_FLOW_REM,
                    },
                    ..v1_0::FlowMod::default()
                };
                v1_0::Message::FlowMod(flow_mod).encode(xid, out)
            }
            Version::V1_3 => {
                let command = match operation {
                    Operation::Insert => v1_3::FlowModCommand::ADD,
                    Operation::Modify => v1_3::FlowModCommand::MODIFY_STRICT,
                    Operation::Delete => v1_3::FlowModCommand::DELETE_STRICT,
                };
                let instructions =
                    if is_deletion { Vec::new() } else { self.instructions(entry.output)? };
                let flow_mod = v1_3::FlowMod {
                    cookie: self.cookie,
                    table_id: table,
                    command,
                    priority,
                    idle_timeout: lifetime.idle(),
                    hard_timeout: lifetime.hard(),
                    flags: match is_endless {
                        true => v1_3::FlowModFlags::NONE,
                        false => v1_3::FlowModFlags::SEND_FLOW_REM,
                    },
                    ..v1_3::FlowMod::add(self.match_v1_3(entry.selects)?, instructions)
                };
                v1_3::Message::FlowMod(flow_mod).encode(xid, out)
            }
        }
    }

    /// Returns the priority of the flow entry for the selected packets.
    pub(crate) fn priority(&self, selects: Selector) -> u16 {
        match (selects, self.own_flow(selects)) {
            (_, Some((own, number))) => own.priority(number),
            (Selector::One(_), None) => PRIORITY,
            (Selector::Rest, None) => PRIORITY - 1,
            (Selector::Beneath, None) => self.beneath(),
        }
    }

    /// Returns the number of the table that contains the flow entry for the selected packets.
    fn table(&self, selects: Selector) -> u8 {
        let own = match selects {
            Selector::Beneath => self.own(),
            Selector::One(_) | Selector::Rest => self.own_flow(selects).map(|(own, _)| own),
        };
        own.map_or(0, OwnFlows::table)
    }

    /// Returns the match with which a switch reports the flow entry for the selected packets.
    pub(crate) fn reported(
        &self,
        version: Version,
        selects: Selector,
    ) -> Result<ReportedMatch, EncodeError> {
        Ok(match version {
            Version::V1_0 => ReportedMatch::V1_0(Box::new(self.match_v1_0(selects)?)),
            Version::V1_3 => ReportedMatch::V1_3(self.match_v1_3(selects)?),
        })
    }

    /// Appends the packet-out message that makes the switch send a packet to `out`.
    pub(crate) fn encode_packet_out(
        &self,
        version: Version,
        output: Output,
        packet: &[u8],
        xid: Xid,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let data = packet.to_vec();
        match version {
            Version::V1_0 => {
                let packet_out = v1_0::PacketOut {
                    buffer_id: BufferId::NO_BUFFER,
                    in_port: v1_0::PortNo::NONE,
                    actions: self.actions_v1_0(output)?,
                    data,
                };
                v1_0::Message::PacketOut(packet_out).encode(xid, out)
            }
            Version::V1_3 => {
                let (in_port, actions) = (PortNumber::CONTROLLER, Self::actions_v1_3(output)?);
                let packet_out = v1_3::PacketOut::unbuffered(in_port, actions, data);
                v1_3::Message::PacketOut(packet_out).encode(xid, out)
            }
        }
    }

    fn match_v1_0(&self, selects: Selector) -> Result<v1_0::Match, EncodeError> {
        let any = v1_0::Match::any();
        if let Some((own, number)) = self.own_flow(selects) {
            return Ok(own.v1_0(number).map_err(|_| UNCHECKED)?.0);
        }
        Ok(match (selects, self.matching) {
            (Selector::Rest | Selector::Beneath, _) => any.with_dl_src(SOURCE),
            (Selector::One(number), FlowMatch::Mac) => any.with_dl_dst(self.mac(number)),
            (Selector::One(number), FlowMatch::Udp) => {
                let (address, port) = self.socket(number);
                let udp = any.with_dl_type(IPV4).with_nw_proto(UDP);
                udp.with_nw_dst(address, 32).with_tp_dst(port)
            }
        })
    }

    fn match_v1_3(&self, selects: Selector) -> Result<v1_3::Match, EncodeError> {
        let any = v1_3::Match::any();
        if let Some((own, number)) = self.own_flow(selects) {
            return Ok(own.v1_3(number).map_err(|_| UNCHECKED)?.0);
        }
        Ok(match (selects, self.matching) {
            (Selector::Rest | Selector::Beneath, _) => any.with_eth_src(SOURCE),
            (Selector::One(number), FlowMatch::Mac) => any.with_eth_dst(self.mac(number)),
            (Selector::One(number), FlowMatch::Udp) => {
                let (address, port) = self.socket(number);
                let udp = any.with_eth_type(IPV4).with_ip_proto(UDP);
                udp.with_ipv4_dst(address).with_udp_dst(port)
            }
        })
    }

    /// Returns the value that identifies a flow: its Ethernet destination, or its IPv4 destination
    /// and UDP destination port, combined in the low 48 bits.
    pub(crate) fn value(&self, number: EntryNumber) -> u64 {
        let part = scattered(number.0, self.matching.bits());
        match self.matching {
            FlowMatch::Mac => MAC_PREFIX << 32 | part,
            FlowMatch::Udp => u64::from(u32::from(NETWORK)) << 16 | part,
        }
    }

    /// Returns the value ([`FlowMaker::value`]) of the flow that a switch reports with this match.
    /// Returns `None` if no flow of a measurement has such a match.
    pub(crate) fn value_of(&self, reported: &ReportedMatch) -> Option<u64> {
        let value = match (self.matching, reported) {
            (FlowMatch::Mac, ReportedMatch::V1_0(one)) => one.dl_dst()?.to_bits(),
            (FlowMatch::Mac, ReportedMatch::V1_3(one)) => one.eth_dst()?.value.to_bits(),
            (FlowMatch::Udp, ReportedMatch::V1_0(one)) => {
                u64::from(u32::from(one.nw_dst()?.0)) << 16 | u64::from(one.tp_dst()?)
            }
            (FlowMatch::Udp, ReportedMatch::V1_3(one)) => {
                u64::from(u32::from(one.ipv4_dst()?.value)) << 16 | u64::from(one.udp_dst()?)
            }
        };
        let common = self.value(EntryNumber(0)) >> self.matching.bits();
        (value >> self.matching.bits() == common).then_some(value)
    }

    /// Returns whether a match that the switch reports is that of [`Selector::Rest`].
    pub(crate) fn is_rest(&self, reported: &ReportedMatch) -> bool {
        let source = match reported {
            ReportedMatch::V1_0(one) => one.dl_src(),
            ReportedMatch::V1_3(one) => one.eth_src().map(|source| source.value),
        };
        source == Some(SOURCE)
    }

    fn mac(&self, number: EntryNumber) -> MacAddress {
        MacAddress::from_bits(self.value(number))
    }

    fn socket(&self, number: EntryNumber) -> (Ipv4Addr, u16) {
        let value = self.value(number);
        (Ipv4Addr::from((value >> 16) as u32), value as u16)
    }

    /// Returns a packet that matches a generated flow.
    pub(crate) fn packet(&self, number: EntryNumber) -> Vec<u8> {
        let (mac, (address, port)) = match self.matching {
            FlowMatch::Mac => (self.mac(number), (NETWORK, 9)),
            FlowMatch::Udp => (OTHER_MAC, self.socket(number)),
        };
        let source = Ipv4Addr::from(u32::from(NETWORK) | 1 << (HOST_BITS - 1) | 1);
        udp_packet(mac, [(source, 9), (address, port)])
    }

    /// Returns packets of random flows: UDP between random ports of random hosts in 198.18.0.0/15.
    /// No entry for a single flow matches them.
    pub(crate) fn spread_packets(&self, seed: u64, count: usize) -> Vec<Vec<u8>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut socket = || {
            let host: u32 = random.random_range(1..1 << HOST_BITS);
            (Ipv4Addr::from(u32::from(NETWORK) | host), random.random_range(1024..u16::MAX))
        };
        (0..count).map(|_| udp_packet(OTHER_MAC, [socket(), socket()])).collect()
    }
}

/// Returns a UDP packet from the first socket address to the second, with this Ethernet
/// destination.
fn udp_packet(mac: MacAddress, [source, destination]: [(Ipv4Addr, u16); 2]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(SOURCE.0, mac.0)
        .ipv4(source.0.octets(), destination.0.octets(), 64)
        .udp(source.1, destination.1);
    let mut packet = Vec::with_capacity(PACKET_SIZE);
    // Writing into a vector does not fail, and the payload is short.
    let _ = builder.write(&mut packet, &[0; PACKET_SIZE - HEADERS]);
    // The payload changes from packet to packet, so the packet has no UDP checksum (RFC 768).
    packet.iter_mut().skip(HEADERS - 2).take(2).for_each(|byte| *byte = 0);
    packet
}

impl FlowMaker {
    fn actions_v1_0(&self, output: Output) -> Result<Vec<v1_0::Action>, EncodeError> {
        let port = match output {
            Output::Nowhere => return Ok(Vec::new()),
            Output::Back => v1_0::PortNo::IN_PORT,
            Output::Controller => {
                let port = v1_0::PortNo::CONTROLLER;
                return Ok(vec![v1_0::Action::Output { port, max_len: u16::MAX }]);
            }
            Output::Port(port) => {
                v1_0::PortNo::try_from(PortNumber(port)).map_err(|_| EncodeError::Value {
                    field: "ofp_action_output.port",
                    value: port.into(),
                    expected: "ports up to 65279",
                })?
            }
            Output::Metered { .. } | Output::Group(_) => {
                return Err(EncodeError::Value {
                    field: "ofp_action_output.port",
                    value: 0,
                    expected: "a port, since OpenFlow 1.0 has no meters and groups",
                });
            }
            Output::OfFile(number) => {
                let own = self.own().and_then(|own| own.v1_0(number).ok());
                return Ok(own.ok_or(UNCHECKED)?.1);
            }
        };
        Ok(vec![v1_0::Action::output(port)])
    }

    fn instructions(&self, output: Output) -> Result<Vec<Instruction>, EncodeError> {
        let meter = match output {
            Output::Metered { meter, .. } => Some(Instruction::Meter(MeterId(meter))),
            Output::OfFile(number) => {
                let own = self.own().and_then(|own| own.v1_3(number).ok());
                return Ok(own.ok_or(UNCHECKED)?.1);
            }
            Output::Port(_)
            | Output::Back
            | Output::Controller
            | Output::Nowhere
            | Output::Group(_) => None,
        };
        let actions = match Self::actions_v1_3(output)? {
            none if none.is_empty() => None,
            actions => Some(Instruction::ApplyActions(actions)),
        };
        Ok(meter.into_iter().chain(actions).collect())
    }

    /// Returns the OpenFlow 1.3 actions of an output. Fails for a flow of the user's file, which
    /// has instructions instead.
    fn actions_v1_3(output: Output) -> Result<Vec<v1_3::Action>, EncodeError> {
        let port = match output {
            Output::Nowhere => return Ok(Vec::new()),
            Output::Back => PortNumber::IN_PORT,
            Output::Controller => PortNumber::CONTROLLER,
            Output::Port(port) | Output::Metered { port, .. } => PortNumber(port),
            Output::Group(group) => return Ok(vec![v1_3::Action::Group(GroupId(group))]),
            Output::OfFile(_) => return Err(UNCHECKED),
        };
        Ok(vec![v1_3::Action::output(port)])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn different_numbers_make_different_flows_that_are_recognised() {
        for matching in [FlowMatch::Mac, FlowMatch::Udp] {
            let maker = FlowMaker::new(matching, 7);
            let mut values = HashSet::new();
            for number in (0..10_000).map(EntryNumber) {
                let value = maker.value(number);
                assert!(values.insert(value), "{matching:?} {number:?}");
                let selects = Selector::One(number);
                let reported = [
                    ReportedMatch::V1_0(Box::new(maker.match_v1_0(selects).expect("it is made"))),
                    ReportedMatch::V1_3(maker.match_v1_3(selects).expect("it is made")),
                ];
                for one in reported {
                    assert_eq!(maker.value_of(&one), Some(value), "{matching:?} {number:?}");
                }
            }
            let rest = maker.match_v1_3(Selector::Rest).expect("it is made");
            let rest = ReportedMatch::V1_3(rest);
            assert_eq!(maker.value_of(&rest), None);
            let foreign = v1_0::Match::any()
                .with_dl_dst(MacAddress([2, 0, 0, 0, 0, 1]))
                .with_nw_dst(Ipv4Addr::new(10, 0, 0, 1), 32)
                .with_tp_dst(80);
            assert_eq!(maker.value_of(&ReportedMatch::V1_0(Box::new(foreign))), None);
        }
    }

    #[test]
    fn a_packet_has_the_fields_that_its_flow_matches() {
        for matching in [FlowMatch::Mac, FlowMatch::Udp] {
            let maker = FlowMaker::new(matching, 7);
            let number = EntryNumber(5);
            let packet = maker.packet(number);
            assert_eq!(packet.len(), PACKET_SIZE);
            assert_eq!(packet[6..12], SOURCE.0);
            let found = match matching {
                FlowMatch::Mac => {
                    packet[..6].iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
                }
                FlowMatch::Udp => {
                    let bytes = packet[30..34].iter().chain(&packet[36..38]);
                    bytes.fold(0, |all, byte| all << 8 | u64::from(*byte))
                }
            };
            assert_eq!(found, maker.value(number), "{matching:?}");
        }
    }
}
