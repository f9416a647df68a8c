//! Tests of fields and checksums of packets, against another implementation (etherparse).

use etherparse::{
    EtherType, NetSlice, PacketBuilder, SingleVlanHeader, SlicedPacket, TransportSlice, VlanId,
    VlanPcp,
};
use openflow::v1_3::OxmField;
use proptest::prelude::*;

use super::super::packet::Packet;

const MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);

/// The parts from which a frame is built.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    tag: Option<(u16, u8)>,
    ipv6: bool,
    protocol: u8,
    source: u128,
    destination: u128,
    ports: (u16, u16),
    ttl: u8,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let tag = prop::option::of((0u16..4096, 0u8..8));
    let protocol = prop::sample::select(vec![6, 17, 1]);
    let parts = (tag, any::<bool>(), protocol, any::<u128>(), any::<u128>(), any::<(u16, u16)>());
    (parts, 2u8..=255).prop_map(|((tag, ipv6, protocol, source, destination, ports), ttl)| Recipe {
        tag,
        ipv6,
        protocol,
        source,
        destination,
        ports,
        ttl,
    })
}

fn frame(recipe: &Recipe) -> Vec<u8> {
    let (a, b) = recipe.ports;
    let payload = b"an odd payload!";
    let mut out = Vec::new();
    macro_rules! finish {
        ($ip:expr) => {
            match (recipe.protocol, recipe.ipv6) {
                (6, _) => $ip.tcp(a, b, 7, 100).write(&mut out, payload),
                (17, _) => $ip.udp(a, b).write(&mut out, payload),
                (_, false) => $ip.icmpv4_echo_request(a, b).write(&mut out, payload),
                (_, true) => $ip.icmpv6_echo_request(a, b).write(&mut out, payload),
            }
        };
    }
    macro_rules! over {
        ($link:expr) => {
            if recipe.ipv6 {
                let (source, destination) =
                    (recipe.source.to_be_bytes(), recipe.destination.to_be_bytes());
                finish!($link.ipv6(source, destination, recipe.ttl))
            } else {
                let address = |bits: u128| (bits as u32).to_be_bytes();
                let (source, destination) = (address(recipe.source), address(recipe.destination));
                finish!($link.ipv4(source, destination, recipe.ttl))
            }
        };
    }
    let ethernet = PacketBuilder::ethernet2(MACS.0, MACS.1);
    let written = match recipe.tag {
        Some((id, priority)) => {
            over!(ethernet.vlan(etherparse::VlanHeader::Single(SingleVlanHeader {
                pcp: VlanPcp::try_new(priority).expect("3 bits"),
                drop_eligible_indicator: false,
                vlan_id: VlanId::try_new(id).expect("12 bits"),
                ether_type: EtherType(0),
            })))
        }
        None => over!(ethernet),
    };
    written.expect("a frame");
    out
}

/// Returns whether all checksums are correct.
fn is_sound(bytes: &[u8]) -> bool {
    let packet = SlicedPacket::from_ethernet(bytes).expect("a packet");
    let headers = etherparse::PacketHeaders::from_ethernet_slice(bytes).expect("headers");
    let payload = headers.payload.slice();
    let ipv4 = match &packet.net {
        Some(NetSlice::Ipv4(ip)) => Some(ip.header().to_header()),
        _ => None,
    };
    let ipv6 = match &packet.net {
        Some(NetSlice::Ipv6(ip)) => Some(ip.header().to_header()),
        _ => None,
    };
    let header = ipv4.as_ref().is_none_or(|ip| ip.header_checksum == ip.calc_header_checksum());
    let transport = match (&packet.transport, &ipv4, &ipv6) {
        (Some(TransportSlice::Tcp(tcp)), Some(ip), _) => {
            tcp.to_header().calc_checksum_ipv4(ip, payload).ok() == Some(tcp.checksum())
        }
        (Some(TransportSlice::Tcp(tcp)), _, Some(ip)) => {
            tcp.to_header().calc_checksum_ipv6(ip, payload).ok() == Some(tcp.checksum())
        }
        (Some(TransportSlice::Udp(udp)), Some(ip), _) => {
            udp.to_header().calc_checksum_ipv4(ip, payload).ok() == Some(udp.checksum())
        }
        (Some(TransportSlice::Udp(udp)), _, Some(ip)) => {
            udp.to_header().calc_checksum_ipv6(ip, payload).ok() == Some(udp.checksum())
        }
        (Some(TransportSlice::Icmpv4(icmp)), Some(_), _) => {
            icmp.icmp_type().calc_checksum(icmp.payload()) == icmp.checksum()
        }
        (Some(TransportSlice::Icmpv6(icmp)), _, Some(ip)) => {
            icmp.is_checksum_valid(ip.source, ip.destination)
        }
        other => panic!("{other:?}"),
    };
    header && transport
}

fn fields(recipe: &Recipe) -> Vec<(OxmField, u128)> {
    let (a, b) = recipe.ports;
    let mut fields =
        vec![(OxmField::ETH_DST, 0x0200_0000_0002), (OxmField::ETH_SRC, 0x0200_0000_0001)];
    if let Some((id, priority)) = recipe.tag {
        fields.extend([(OxmField::VLAN_VID, id.into()), (OxmField::VLAN_PCP, priority.into())]);
    }
    fields.extend([(OxmField::IP_DSCP, 0), (OxmField::IP_ECN, 0)]);
    fields.extend(match recipe.ipv6 {
        true => vec![
            (OxmField::ETH_TYPE, 0x86dd),
            (OxmField::IPV6_SRC, recipe.source),
            (OxmField::IPV6_DST, recipe.destination),
            (OxmField::IPV6_FLABEL, 0),
            (OxmField::IPV6_EXTHDR, 0),
        ],
        false => vec![
            (OxmField::ETH_TYPE, 0x0800),
            (OxmField::IPV4_SRC, recipe.source & 0xffff_ffff),
            (OxmField::IPV4_DST, recipe.destination & 0xffff_ffff),
        ],
    });
    fields.extend(match (recipe.protocol, recipe.ipv6) {
        (6, _) => vec![
            (OxmField::IP_PROTO, 6),
            (OxmField::TCP_SRC, a.into()),
            (OxmField::TCP_DST, b.into()),
        ],
        (17, _) => vec![
            (OxmField::IP_PROTO, 17),
            (OxmField::UDP_SRC, a.into()),
            (OxmField::UDP_DST, b.into()),
        ],
        (_, false) => {
            vec![(OxmField::IP_PROTO, 1), (OxmField::ICMPV4_TYPE, 8), (OxmField::ICMPV4_CODE, 0)]
        }
        (_, true) => {
            vec![(OxmField::IP_PROTO, 58), (OxmField::ICMPV6_TYPE, 128), (OxmField::ICMPV6_CODE, 0)]
        }
    });
    fields
}

/// Fields that can be set to any value without changing the kind of packet.
const SETTABLE: [OxmField; 14] = [
    OxmField::ETH_DST,
    OxmField::ETH_SRC,
    OxmField::VLAN_VID,
    OxmField::VLAN_PCP,
    OxmField::IP_DSCP,
    OxmField::IP_ECN,
    OxmField::IPV4_SRC,
    OxmField::IPV4_DST,
    OxmField::TCP_SRC,
    OxmField::TCP_DST,
    OxmField::UDP_SRC,
    OxmField::UDP_DST,
    OxmField::IPV6_DST,
    OxmField::IPV6_FLABEL,
];

proptest! {
    #[test]
    fn a_packet_has_exactly_the_fields_of_its_frame(recipe in recipe()) {
        let packet = Packet::new(&frame(&recipe));
        let mut found: Vec<_> = packet
            .fields()
            .filter_map(|field| Some((field, packet.field(field)?)))
            .collect();
        let mut expected = fields(&recipe);
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn setting_a_field_changes_no_other_field_and_keeps_checksums_valid(
        recipe in recipe(),
        field in prop::sample::select(SETTABLE.to_vec()),
        value: u128,
    ) {
        let mut packet = Packet::new(&frame(&recipe));
        let before: Vec<_> = packet.fields().map(|field| (field, packet.field(field))).collect();
        packet.set(field, value);
        for (known, old) in before {
            let width = match known {
                OxmField::VLAN_VID => 12,
                OxmField::VLAN_PCP => 3,
                OxmField::IP_DSCP => 6,
                OxmField::IP_ECN => 2,
                OxmField::IPV6_FLABEL => 20,
                known => 8 * known.width().expect("a known field"),
            };
            let expected = if known == field { Some(value & u128::MAX >> (128 - width)) } else { old };
            prop_assert_eq!(packet.field(known), expected, "{:?}", known);
        }
        prop_assert!(is_sound(packet.bytes()));
        // The updated fields must equal those of a newly parsed packet.
        let fresh = Packet::new(packet.bytes());
        for field in packet.fields() {
            prop_assert_eq!(packet.field(field), fresh.field(field));
        }
    }

    #[test]
    fn changing_tags_or_ttl_changes_no_other_field(recipe in recipe(), ttl in 2u8..=255) {
        let original = frame(&recipe);
        let mut packet = Packet::new(&original);
        packet.push_vlan(0x88a8);
        prop_assert!(packet.is_tagged());
        let (id, priority) = recipe.tag.unwrap_or((0, 0));
        prop_assert_eq!(packet.field(OxmField::VLAN_VID), Some(id.into()));
        prop_assert_eq!(packet.field(OxmField::VLAN_PCP), Some(priority.into()));
        packet.set(OxmField::VLAN_VID, 77);
        prop_assert_eq!(packet.bytes().len(), original.len() + 4);
        packet.pop_vlan();
        prop_assert_eq!(packet.bytes(), original.as_slice());
        packet.set_ttl(ttl);
        prop_assert!(packet.decrement_ttl());
        prop_assert!(is_sound(packet.bytes()));
        let headers = etherparse::PacketHeaders::from_ethernet_slice(packet.bytes()).expect("one");
        let found = match headers.net {
            Some(etherparse::NetHeaders::Ipv4(ip, _)) => ip.time_to_live,
            Some(etherparse::NetHeaders::Ipv6(ip, _)) => ip.hop_limit,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(found, ttl - 1);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..40) {
        // These bytes continue valid headers, so that parsing gets further.
        let mut near = frame(&Recipe {
            tag: None, ipv6: at % 2 == 0, protocol: 6, source: 1, destination: 2, ports: (3, 4), ttl: 5,
        });
        near.truncate(at + bytes.len() / 2);
        for bytes in [&bytes, &near] {
            let mut packet = Packet::new(bytes);
            for field in OxmField::ALL {
                packet.set(*field, u128::MAX);
            }
            packet.push_vlan(0x8100);
            packet.decrement_ttl();
            packet.pop_vlan();
            packet.pop_vlan();
            let fields: Vec<_> = packet.fields().collect();
            for field in fields {
                packet.field(field);
            }
        }
    }
}

#[test]
fn arp_neighbour_discovery_fragments_and_extension_headers_are_parsed() {
    // An ARP reply.
    let mut arp = vec![0xff; 12];
    arp.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 9, 10, 0, 0, 9]);
    arp.extend([2, 0, 0, 0, 0, 8, 10, 0, 0, 8]);
    let packet = Packet::new(&arp);
    for (field, value) in [
        (OxmField::ARP_OP, 2),
        (OxmField::ARP_SHA, 0x0200_0000_0009),
        (OxmField::ARP_SPA, 0x0a00_0009),
        (OxmField::ARP_THA, 0x0200_0000_0008),
        (OxmField::ARP_TPA, 0x0a00_0008),
    ] {
        assert_eq!(packet.field(field), Some(value), "{field:?}");
    }
    // A neighbour solicitation with its sender's link-layer address, after a hop-by-hop header.
    let mut solicitation = vec![0; 12];
    solicitation.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 0, 255]);
    solicitation.extend([0xfe; 16]);
    solicitation.extend([0xff; 16]);
    solicitation.extend([58, 0, 5, 2, 0, 0, 1, 0]);
    solicitation.extend([135, 0, 0, 0, 0, 0, 0, 0]);
    solicitation.extend([7; 16]);
    solicitation.extend([1, 1, 2, 0, 0, 0, 0, 3]);
    let packet = Packet::new(&solicitation);
    assert_eq!(packet.field(OxmField::IP_PROTO), Some(58));
    assert_eq!(packet.field(OxmField::IPV6_EXTHDR), Some(1 << 6));
    assert_eq!(packet.field(OxmField::ICMPV6_TYPE), Some(135));
    assert_eq!(packet.field(OxmField::IPV6_ND_TARGET), Some(u128::from_be_bytes([7; 16])));
    assert_eq!(packet.field(OxmField::IPV6_ND_SLL), Some(0x0200_0000_0003));
    assert_eq!(packet.field(OxmField::IPV6_ND_TLL), None);
    // A later fragment has no ports.
    let recipe = Recipe {
        tag: None,
        ipv6: false,
        protocol: 17,
        source: 1,
        destination: 2,
        ports: (5, 6),
        ttl: 9,
    };
    let mut fragment = frame(&recipe);
    assert_eq!(Packet::new(&fragment).field(OxmField::UDP_DST), Some(6));
    fragment[21] = 1;
    let packet = Packet::new(&fragment);
    assert_eq!(
        (packet.field(OxmField::UDP_DST), packet.field(OxmField::IP_PROTO)),
        (None, Some(17))
    );
    // One frame has a length and LLC in place of a type, the other one has SNAP.
    let mut llc = vec![0; 60];
    llc[13] = 46;
    assert_eq!(Packet::new(&llc).field(OxmField::ETH_TYPE), Some(0x05ff));
    llc[14..22].copy_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x06]);
    assert_eq!(Packet::new(&llc).field(OxmField::ETH_TYPE), Some(0x0806));
}

#[test]
fn a_ttl_of_one_is_reported_and_not_decremented() {
    let recipe = Recipe {
        tag: None,
        ipv6: false,
        protocol: 6,
        source: 1,
        destination: 2,
        ports: (5, 6),
        ttl: 1,
    };
    let original = frame(&recipe);
    let mut packet = Packet::new(&original);
    assert!(!packet.decrement_ttl());
    assert_eq!(packet.bytes(), original);
}
