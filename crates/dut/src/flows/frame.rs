//! Packets that match flows of a user's file, and what the flows' actions make of these packets.

use std::net::Ipv4Addr;

use openflow::{MacAddress, PortNumber};

use super::text::{Field, FlowAction, Masked, WrittenFlow};
use super::{HOST_BITS, IPV4, NETWORK, OTHER_MAC, PACKET_SIZE, SOURCE, UDP};

const TCP: u8 = 6;
const SCTP: u8 = 132;
const ICMP: u8 = 1;
/// The Ethernet type (TPID) of a VLAN tag.
const TAGGED: u16 = 0x8100;

/// A packet, represented by the header fields that flows can match and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The port by which the packet enters the switch.
    pub(crate) in_port: u32,
    source: MacAddress,
    destination: MacAddress,
    /// The VLAN tag, as priority and VLAN id.
    tag: Option<(u8, u16)>,
    kind: u16,
    tos: u8,
    ttl: u8,
    protocol: u8,
    from: Ipv4Addr,
    to: Ipv4Addr,
    /// The source and destination port of TCP, UDP or SCTP, or the type and code of ICMP.
    ports: [u16; 2],
}

/// The treatment of a packet that a flow asks of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// The packet leaves by no port.
    Dropped,
    /// The packet leaves by one port, with these contents.
    Leaves { port: u32, packet: Vec<u8> },
}

impl Frame {
    /// Returns a packet that a flow matches. Fields that the flow does not mention have the values
    /// of generated packets. `in_port` is the port by which the packet enters if the flow does not
    /// match the port. The error is the reason why there is no such packet.
    pub(super) fn of(flow: &WrittenFlow, in_port: u32) -> Result<Self, String> {
        let mut frame = Self {
            in_port,
            source: SOURCE,
            destination: OTHER_MAC,
            tag: None,
            kind: IPV4,
            tos: 0,
            ttl: 64,
            protocol: UDP,
            from: Ipv4Addr::from(u32::from(NETWORK) | 1 << (HOST_BITS - 1) | 1),
            to: Ipv4Addr::from(u32::from(NETWORK) | 1 << (HOST_BITS - 1) | 2),
            ports: [9, 9],
        };
        for field in &flow.fields {
            frame.take(*field)?;
        }
        match frame.selected_by(flow) {
            true => Ok(frame),
            false => Err("its conditions exclude each other".to_owned()),
        }
    }

    /// Changes the packet so that it satisfies a condition of a match.
    fn take(&mut self, field: Field) -> Result<(), String> {
        match field {
            Field::InPort(port) => self.in_port = port.0,
            Field::EthSrc(mac) => self.source = merged_mac(self.source, mac),
            Field::EthDst(mac) => self.destination = merged_mac(self.destination, mac),
            Field::EthType(kind @ (0x0806 | 0x86dd)) => {
                return Err(format!("no packets of the Ethernet type {kind:#06x} are made"));
            }
            Field::EthType(kind) => self.kind = kind,
            Field::Untagged => self.tag = None,
            Field::Vlan(id) => self.tag = Some((self.tag.map_or(0, |(priority, _)| priority), id)),
            Field::VlanPriority(priority) => {
                self.tag = Some((priority, self.tag.map_or(1, |(_, id)| id)));
            }
            Field::Dscp(tos) => self.tos = tos,
            Field::Protocol(protocol) => self.protocol = protocol,
            Field::Source(address) => self.from = merged(self.from, address),
            Field::Destination(address) => self.to = merged(self.to, address),
            Field::Ipv6Source(_) | Field::Ipv6Destination(_) => {
                return Err("no IPv6 packets are made".to_owned());
            }
            Field::SourcePort(port) => self.ports[0] = port,
            Field::DestinationPort(port) => self.ports[1] = port,
            Field::IcmpType(kind) => self.ports[0] = kind.into(),
            Field::IcmpCode(code) => self.ports[1] = code.into(),
        }
        Ok(())
    }

    /// Returns whether a flow matches the packet.
    pub(super) fn selected_by(&self, flow: &WrittenFlow) -> bool {
        let is_ip = self.kind == IPV4;
        flow.fields.iter().all(|field| match *field {
            Field::InPort(port) => self.in_port == port.0,
            Field::EthSrc(mac) => merged_mac(self.source, mac) == self.source,
            Field::EthDst(mac) => merged_mac(self.destination, mac) == self.destination,
            Field::EthType(kind) => self.kind == kind,
            Field::Untagged => self.tag.is_none(),
            Field::Vlan(id) => self.tag.is_some_and(|(_, own)| own == id),
            Field::VlanPriority(priority) => self.tag.is_some_and(|(own, _)| own == priority),
            Field::Dscp(tos) => is_ip && self.tos == tos,
            Field::Protocol(protocol) => is_ip && self.protocol == protocol,
            Field::Source(address) => is_ip && merged(self.from, address) == self.from,
            Field::Destination(address) => is_ip && merged(self.to, address) == self.to,
            Field::Ipv6Source(_) | Field::Ipv6Destination(_) => false,
            Field::SourcePort(port) => is_ip && self.ports[0] == port,
            Field::DestinationPort(port) => is_ip && self.ports[1] == port,
            Field::IcmpType(kind) => is_ip && self.ports[0] == u16::from(kind),
            Field::IcmpCode(code) => is_ip && self.ports[1] == u16::from(code),
        })
    }

    /// Returns how a switch must treat the packet according to a flow. The error is the reason why
    /// that cannot be predicted.
    pub(super) fn treated_by(mut self, flow: &WrittenFlow) -> Result<Treatment, String> {
        let mut outputs = Vec::new();
        for action in &flow.actions {
            self.check_checksum(*action)?;
            match *action {
                // A packet does not leave by the port by which it entered, unless that is said.
                FlowAction::Output(port) if port.0 == self.in_port => {}
                FlowAction::Output(PortNumber::CONTROLLER | PortNumber::LOCAL) => {}
                FlowAction::Output(PortNumber::IN_PORT) => {
                    outputs.push((self.in_port, self.bytes()))
                }
                FlowAction::Output(port) if port < PortNumber::MAX => {
                    outputs.push((port.0, self.bytes()));
                }
                FlowAction::Output(port) => {
                    return Err(format!("by which ports {port} sends packets is not known"));
                }
                FlowAction::SetEthSrc(mac) => self.source = mac,
                FlowAction::SetEthDst(mac) => self.destination = mac,
                FlowAction::SetSource(address) => self.from = address,
                FlowAction::SetDestination(address) => self.to = address,
                FlowAction::SetSourcePort(_, port) => self.ports[0] = port,
                FlowAction::SetDestinationPort(_, port) => self.ports[1] = port,
                FlowAction::SetVlan(id) => {
                    self.tag = Some((self.tag.map_or(0, |(priority, _)| priority), id));
                }
                FlowAction::SetVlanPriority(priority) => {
                    self.tag = Some((priority, self.tag.map_or(0, |(_, id)| id)));
                }
                FlowAction::StripVlan => self.tag = None,
                FlowAction::PushVlan(TAGGED) if self.tag.is_none() => self.tag = Some((0, 0)),
                FlowAction::PushVlan(_) => {
                    return Err("packets with two tags are not made".to_owned());
                }
                FlowAction::SetTos(tos) => self.tos = tos & 0xfc | self.tos & 0x03,
                FlowAction::DecrementTtl => self.ttl = self.ttl.saturating_sub(1),
                FlowAction::SetQueue(_) => {}
                FlowAction::Group(_) | FlowAction::GotoTable(_) | FlowAction::Meter(_) => {
                    return Err(
                        "what a group, another table or a meter does is not known".to_owned()
                    );
                }
            }
        }
        match outputs.pop() {
            None => Ok(Treatment::Dropped),
            Some((port, packet)) if outputs.is_empty() => Ok(Treatment::Leaves { port, packet }),
            Some(_) => Err("its packets leave by several ports".to_owned()),
        }
    }

    /// Returns an error if an action changes a field that the checksum of TCP or SCTP covers.
    ///
    /// Generated packets have no such checksum, since their payload changes, so it is unknown what
    /// a switch makes of it. UDP needs no checksum (RFC 768), and that of ICMP does not cover
    /// addresses.
    fn check_checksum(&self, action: FlowAction) -> Result<(), String> {
        let is_covered = match action {
            FlowAction::SetSource(_)
            | FlowAction::SetDestination(_)
            | FlowAction::SetSourcePort(..)
            | FlowAction::SetDestinationPort(..) => matches!(self.protocol, TCP | SCTP),
            FlowAction::Output(_)
            | FlowAction::SetEthSrc(_)
            | FlowAction::SetEthDst(_)
            | FlowAction::SetVlan(_)
            | FlowAction::SetVlanPriority(_)
            | FlowAction::StripVlan
            | FlowAction::PushVlan(_)
            | FlowAction::SetTos(_)
            | FlowAction::DecrementTtl
            | FlowAction::SetQueue(_)
            | FlowAction::Group(_)
            | FlowAction::GotoTable(_)
            | FlowAction::Meter(_) => false,
        };
        match is_covered && self.kind == IPV4 {
            true => {
                Err("how the switch changes the checksum of TCP or SCTP is not known".to_owned())
            }
            false => Ok(()),
        }
    }

    /// Returns whether the packet has the Ethernet source of generated packets.
    pub(super) fn is_from_made(&self) -> bool {
        self.source == SOURCE
    }

    /// Returns the packet as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut packet = Vec::with_capacity(PACKET_SIZE);
        packet.extend(self.destination.0);
        packet.extend(self.source.0);
        if let Some((priority, id)) = self.tag {
            packet.extend(TAGGED.to_be_bytes());
            packet.extend((u16::from(priority) << 13 | id & 0x0fff).to_be_bytes());
        }
        packet.extend(self.kind.to_be_bytes());
        // A tag does not change the length of the payload, as no tag would.
        let length = PACKET_SIZE - 14;
        let mut payload = vec![0; length];
        if self.kind == IPV4 {
            self.write_ip(&mut payload);
        }
        packet.extend(payload);
        packet
    }

    /// Writes the headers of IPv4 and of its transport protocol into `payload` (RFC 791, 768,
    /// 9293).
    fn write_ip(&self, payload: &mut [u8]) {
        let length = payload.len();
        let mut header = [0_u8; 20];
        header[0] = 0x45;
        header[1] = self.tos;
        header[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        header[8] = self.ttl;
        header[9] = self.protocol;
        header[12..16].copy_from_slice(&self.from.octets());
        header[16..20].copy_from_slice(&self.to.octets());
        let words = header.chunks_exact(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
        let sum: u32 = words.sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        let Some((ip, rest)) = payload.split_first_chunk_mut::<20>() else { return };
        *ip = header;
        let [first, second] = self.ports;
        match self.protocol {
            ICMP => {
                let [_, kind] = first.to_be_bytes();
                let [_, code] = second.to_be_bytes();
                (rest[0], rest[1]) = (kind, code);
            }
            TCP | UDP | SCTP => {
                rest[..2].copy_from_slice(&first.to_be_bytes());
                rest[2..4].copy_from_slice(&second.to_be_bytes());
                match self.protocol {
                    // Without a checksum, since the payload changes from packet to packet.
                    UDP => rest[4..6].copy_from_slice(&((length - 20) as u16).to_be_bytes()),
                    // The header has five words.
                    TCP => rest[12] = 0x50,
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

fn merged_mac(own: MacAddress, wanted: Masked<MacAddress>) -> MacAddress {
    let mask = wanted.mask.map_or(u64::MAX, MacAddress::to_bits);
    MacAddress::from_bits(own.to_bits() & !mask | wanted.value.to_bits() & mask)
}

fn merged(own: Ipv4Addr, wanted: Masked<Ipv4Addr>) -> Ipv4Addr {
    let mask = wanted.mask.map_or(u32::MAX, u32::from);
    Ipv4Addr::from(u32::from(own) & !mask | u32::from(wanted.value) & mask)
}

#[cfg(test)]
mod tests {
    use super::super::text::flow_of;
    use super::*;

    fn flow(line: &str) -> WrittenFlow {
        flow_of(line).expect("it can be read").expect("it has a flow")
    }

    #[test]
    fn a_packet_has_what_its_flow_matches_and_valid_headers() {
        let line = "tcp,dl_vlan=10,dl_vlan_pcp=3,dl_dst=02:00:00:00:00:07,nw_src=10.0.0.0/8,nw_dst=10.1.2.3,tp_dst=80 actions=2";
        let wanted = flow(line);
        let frame = Frame::of(&wanted, 1).expect("there is such a packet");
        assert!(frame.selected_by(&wanted));
        let bytes = frame.bytes();
        let sliced = etherparse::SlicedPacket::from_ethernet(&bytes).expect("valid headers");
        let Some(etherparse::LinkSlice::Ethernet2(link)) = &sliced.link else {
            panic!("{sliced:?}")
        };
        assert_eq!(link.destination(), [2, 0, 0, 0, 0, 7]);
        let Some(etherparse::NetSlice::Ipv4(ip)) = &sliced.net else { panic!("{sliced:?}") };
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        assert_eq!((header.source[0], header.destination), (10, [10, 1, 2, 3]));
        let Some(etherparse::TransportSlice::Tcp(tcp)) = &sliced.transport else {
            panic!("{sliced:?}")
        };
        assert_eq!(tcp.destination_port(), 80);
        for other in
            ["tcp,tp_dst=81", "udp", "in_port=2", "dl_vlan=11", "nw_src=11.0.0.0/8", "vlan_vid=0"]
        {
            assert!(!frame.selected_by(&flow(&format!("{other} actions=2"))), "{other}");
        }
        let error = Frame::of(&flow("tcp,udp actions=2"), 1).expect_err("no packet is both");
        assert!(error.contains("exclude each other"), "{error}");
    }

    #[test]
    fn the_actions_of_a_flow_show_in_its_packets() {
        let treated = |actions: &str| {
            let flow = flow(&format!("udp,nw_dst=10.0.0.1 actions={actions}"));
            Frame::of(&flow, 1).and_then(|frame| frame.treated_by(&flow))
        };
        let Ok(Treatment::Leaves { port: 2, packet }) =
            treated("mod_nw_dst:10.0.0.9,mod_dl_dst:02:00:00:00:00:05,dec_ttl,2")
        else {
            panic!("it leaves by port 2")
        };
        assert_eq!(packet[..6], [2, 0, 0, 0, 0, 5]);
        let (ip, _) = etherparse::Ipv4Header::from_slice(&packet[14..]).expect("a header");
        assert_eq!((ip.destination, ip.time_to_live), ([10, 0, 0, 9], 63));
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!(treated("drop"), Ok(Treatment::Dropped));
        // A switch does not send a packet back unless it is told to (OpenFlow 1.0.0, 5.2.4).
        assert_eq!(treated("output:1"), Ok(Treatment::Dropped));
        assert!(matches!(treated("IN_PORT"), Ok(Treatment::Leaves { port: 1, .. })));
        let tcp = flow("tcp actions=mod_nw_dst:10.0.0.9,2");
        let error = Frame::of(&tcp, 1).and_then(|frame| frame.treated_by(&tcp));
        assert!(error.expect_err("it has a checksum").contains("checksum of TCP"));
        for unknown in ["NORMAL", "group:1", "2,3", "goto_table:1"] {
            assert!(treated(unknown).is_err(), "{unknown}");
        }
    }
}
