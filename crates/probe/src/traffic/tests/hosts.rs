//! Tests of the emulated hosts: their addresses, ports and gratuitous ARP requests.

use std::collections::HashSet;

use etherparse::{ArpOperation, SlicedPacket};

use super::*;
use crate::topology::{Port, SwitchIndex};

#[test]
fn every_host_is_found_by_its_addresses() {
    let switches = switches(50, 4, 7);
    let hosts = hosts(&switches, &TopologySource::Linear);
    let mut macs = HashSet::new();
    let mut ips = HashSet::new();
    for switch in 0..50 {
        assert_eq!(hosts.of_switch(switch).count(), 7);
        for host in hosts.of_switch(switch) {
            assert_eq!(host.switch, switch);
            assert_eq!(hosts.by_mac(host.mac), Some(host));
            assert_eq!(hosts.by_ip(host.ip), Some(host));
            assert!(macs.insert(host.mac) && ips.insert(host.ip));
            assert_eq!(host.mac.0[0] & 0x03, 0x02);
        }
    }
    assert_eq!(hosts.count(), 350);
    assert_eq!(hosts.host(50, 0), None);
    assert_eq!(hosts.host(0, 7), None);
}

#[test]
fn foreign_addresses_are_no_hosts() {
    let hosts = hosts(&switches(2, 4, 2), &TopologySource::None);
    for mac in [[0; 6], [0xff; 6], [2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 5], [2, 1, 0, 0, 0, 1]] {
        assert_eq!(hosts.by_mac(MacAddress(mac)), None);
    }
    for ip in [[0; 4], [9, 255, 255, 255], [10, 0, 0, 0], [10, 0, 0, 5], [11, 0, 0, 1]] {
        assert_eq!(hosts.by_ip(ip.into()), None);
    }
    assert_eq!(hosts.by_ip([10, 0, 0, 4].into()).unwrap().switch, 1);
    assert_eq!(hosts.by_mac(MacAddress([2, 0, 0, 0, 0, 4])).unwrap().switch, 1);
}

#[test]
fn hosts_spread_over_ports_without_links() {
    for wiring in [
        TopologySource::None,
        TopologySource::Linear,
        TopologySource::Tree { fanout: 2 },
        TopologySource::LeafSpine { spines: 2 },
    ] {
        let switches = switches(6, 8, 20);
        let topology = Topology::build(&wiring, 6, 8).unwrap();
        let hosts = Hosts::new(&switches, &topology).unwrap();
        assert_eq!(hosts.switches_are_linked(), wiring != TopologySource::None);
        for switch in 0..6 {
            let free: Vec<Port> = topology.free_ports(SwitchIndex(switch)).collect();
            let used: Vec<Port> = hosts.of_switch(switch).map(|host| host.port).collect();
            let expected: Vec<Port> = free.iter().copied().cycle().take(20).collect();
            assert_eq!(used, expected, "{wiring:?}, switch {switch}");
        }
    }
}

#[test]
fn a_switch_full_of_links_is_named() {
    let refused = |count, ports, wiring: &TopologySource| {
        let topology = Topology::build(wiring, count, ports).unwrap();
        Hosts::new(&switches(count, ports, 1), &topology).unwrap_err()
    };
    let error = refused(3, 2, &TopologySource::Linear);
    assert_eq!(error, HostsError::NoFreePort { switch: 1, ports: 2 });
    assert!(error.to_string().starts_with("switch 1 has no port left"));
    assert_eq!(
        refused(3, 0, &TopologySource::None),
        HostsError::NoFreePort { switch: 0, ports: 0 }
    );
}

#[test]
fn more_hosts_than_addresses_are_refused() {
    let topology = Topology::default();
    let make = |count, per_switch| Hosts::new(&switches(count, 4, per_switch), &topology);
    let most = make(2, (1 << 23) - 1).unwrap();
    let last = most.host(1, (1 << 23) - 2).unwrap();
    assert_eq!(last.ip.octets(), [10, 255, 255, 254]);
    assert_eq!(most.by_mac(last.mac), Some(last));
    assert!(matches!(make(2, 1 << 23), Err(HostsError::TooMany { .. })));
    assert!(matches!(make(u32::MAX, u32::MAX), Err(HostsError::TooMany { .. })));
}

#[test]
fn announcements_are_gratuitous_arp() {
    let hosts = hosts(&switches(4, 3, 5), &TopologySource::Linear);
    let announced: Vec<_> = hosts.arp_announcements(2, KEY).collect();
    assert_eq!(announced.len(), 5);
    for ((port, frame), host) in announced.iter().zip(hosts.of_switch(2)) {
        assert_eq!(*port, host.port);
        let packet = SlicedPacket::from_ethernet(frame).unwrap();
        let Some(etherparse::LinkSlice::Ethernet2(ethernet)) = &packet.link else {
            panic!("no Ethernet header")
        };
        assert_eq!(ethernet.destination(), [0xff; 6]);
        assert_eq!(ethernet.source(), host.mac.0);
        let Some(etherparse::NetSlice::Arp(arp)) = packet.net else { panic!("no ARP") };
        let arp = arp.to_packet().try_eth_ipv4().unwrap();
        assert_eq!(arp.operation, ArpOperation::REQUEST);
        assert_eq!((arp.sender_mac, arp.target_mac), (host.mac.0, [0; 6]));
        assert_eq!((arp.sender_ipv4, arp.target_ipv4), (host.ip.octets(), host.ip.octets()));
        assert_eq!(read_id(frame, KEY), Some(PacketId::unmeasured(2)));
        assert!(!is_discovery(frame));
    }
    assert_eq!(hosts.arp_announcements(4, KEY).count(), 0);
}

/// Checks that hosts send only to hosts at other ports. No switch would see packets between hosts
/// at the same port, and controllers ignore such packets.
#[test]
fn hosts_send_to_hosts_behind_other_ports() {
    for (wiring, ports, own) in [
        // Inner switches of the tree have a single port left for two hosts.
        (TopologySource::Tree { fanout: 2 }, 4, 2),
        (TopologySource::Linear, 4, 5),
        (TopologySource::None, 3, 8),
    ] {
        let switches = switches(7, ports, own);
        let hosts = hosts(&switches, &wiring);
        let plan = FramePlan::new(&traffic(Frame::TcpSyn, 128), &switches).unwrap();
        for switch in 0..7 {
            let mut source = plan.source(switch, &hosts, SEED, KEY).unwrap();
            for sequence in 0..500 {
                let read = parse(&frame_of(&mut source, sequence));
                let from = hosts.by_mac(read.source_mac).unwrap();
                let to = hosts.by_mac(read.destination_mac).unwrap();
                assert_ne!((from.switch, from.port), (to.switch, to.port), "{wiring:?}");
            }
        }
    }
}
