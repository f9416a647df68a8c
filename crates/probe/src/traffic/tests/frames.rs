//! Tests of generated frames: their lengths, checksums, addresses and ports.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const KINDS: [Frame; 2] = [Frame::TcpSyn, Frame::Udp];

#[test]
fn frames_of_every_length_are_valid_for_another_implementation() {
    for kind in KINDS {
        let min = if kind == Frame::Udp { 60 } else { 66 };
        for bytes in (min..min + 40).chain(RFC8456_FRAME_BYTES).chain([1514, 9014, MAX_FRAME_BYTES])
        {
            let mut source = source(kind.clone(), bytes, addresses(Generator::Random), 3);
            for sequence in [0, 1, 65_535, 65_536, 1 << 39] {
                let frame = frame_of(&mut source, sequence);
                assert_eq!(frame.len(), bytes);
                let read = parse(&frame);
                assert_eq!(read.syn_only, kind == Frame::TcpSyn);
                assert_eq!(read_id(&frame, KEY), Some(PacketId { switch: 3, sequence }));
            }
        }
    }
}

#[test]
fn checksums_that_come_out_as_zero_are_written_as_udp_wants() {
    // One in 65,536 sums is zero; 300,000 frames contain 4.6 of them on average, and none with
    // probability 1 %.
    let mut source = source(Frame::Udp, 60, addresses(Generator::Random), 0);
    let mut seen = 0;
    for sequence in 0..300_000 {
        let frame = frame_of(&mut source, sequence);
        assert_ne!(frame[40..42], [0, 0], "UDP without checksum in frame {sequence}");
        if frame[40..42] == [0xff, 0xff] {
            parse(&frame);
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn frames_depend_on_their_number_alone() {
    for generator in [Generator::Hosts, Generator::Serial, Generator::Random] {
        let make = || source(Frame::TcpSyn, 66, addresses(generator), 4);
        let (mut forward, mut backward) = (make(), make());
        let a: Vec<_> = (0..50).map(|sequence| frame_of(&mut forward, sequence)).collect();
        let mut b: Vec<_> =
            (0..50).rev().map(|sequence| frame_of(&mut backward, sequence)).collect();
        b.reverse();
        assert_eq!(a, b);
        // Frames are appended to the contents of the buffer.
        let mut out = a[0].clone();
        forward.next(1, &mut out);
        assert_eq!(out, [a[0].clone(), a[1].clone()].concat());
    }
}

#[test]
fn hosts_send_to_each_other_host_in_turn_and_enter_by_their_port() {
    for (wiring, own, reached) in [(TopologySource::None, 3, 2), (TopologySource::Linear, 3, 29)] {
        // Each host has a port of its own, in addition to the ports for links.
        let switches = switches(10, 5, own);
        let hosts = hosts(&switches, &wiring);
        let plan = FramePlan::new(&traffic(Frame::Udp, 60), &switches).unwrap();
        for switch in 0..10 {
            let mut source = plan.source(switch, &hosts, SEED, KEY).unwrap();
            let mut pairs = HashSet::new();
            for sequence in 0..u64::from(own) * reached {
                let mut frame = Vec::new();
                let port = source.next(sequence, &mut frame);
                let read = parse(&frame);
                let from = hosts.by_mac(read.source_mac).unwrap();
                let to = hosts.by_mac(read.destination_mac).unwrap();
                assert_eq!((from.switch, from.port), (switch, port));
                assert_eq!((from.ip, to.ip), (read.source_ip, read.destination_ip));
                assert_eq!((from.l4_port, to.l4_port), (read.source_port, read.destination_port));
                assert_ne!(from, to);
                assert!(wiring != TopologySource::None || to.switch == switch);
                assert!(pairs.insert((from.mac, to.mac)), "a pair comes twice");
            }
            assert_eq!(pairs.len() as u64, u64::from(own) * reached);
        }
    }
}

#[test]
fn single_hosts_send_to_other_switches() {
    let switches = switches(5, 1, 1);
    let hosts = hosts(&switches, &TopologySource::None);
    let plan = FramePlan::new(&traffic(Frame::TcpSyn, 66), &switches).unwrap();
    let mut source = plan.source(2, &hosts, SEED, KEY).unwrap();
    let to: HashSet<u32> = (0..4)
        .map(|sequence| parse(&frame_of(&mut source, sequence)).destination_ip)
        .map(|ip| hosts.by_ip(ip).unwrap().switch)
        .collect();
    assert_eq!(to, HashSet::from([0, 1, 3, 4]));
}

#[test]
fn known_destinations_are_hosts_whatever_the_sources_are() {
    let switches = switches(10, 4, 3);
    let hosts = hosts(&switches, &TopologySource::None);
    for generator in [Generator::Hosts, Generator::Serial, Generator::Random] {
        let addresses = Addresses { known_destinations: true, ..addresses(generator) };
        let mut source = source(Frame::TcpSyn, 66, addresses, 1);
        for sequence in 0..100 {
            let read = parse(&frame_of(&mut source, sequence));
            let to = hosts.by_mac(read.destination_mac).unwrap();
            assert_eq!((to.ip, to.l4_port), (read.destination_ip, read.destination_port));
            assert_eq!(hosts.by_mac(read.source_mac).is_some(), generator == Generator::Hosts);
        }
    }
}

#[test]
fn serial_addresses_count_up_and_never_meet() {
    let mut seen = HashSet::new();
    for switch in 0..10 {
        let mut source = source(Frame::TcpSyn, 66, addresses(Generator::Serial), switch);
        for sequence in 0..500 {
            let read = parse(&frame_of(&mut source, sequence));
            for mac in [read.source_mac, read.destination_mac] {
                assert!(seen.insert(mac.to_string()), "{mac} comes twice");
                assert_eq!(mac.0[0] & 0x03, 0x02, "{mac} is not local and unicast");
            }
            for ip in [read.source_ip, read.destination_ip] {
                assert!(seen.insert(ip.to_string()), "{ip} comes twice");
                assert!(!ip.is_private() && !ip.is_multicast() && !ip.is_loopback());
            }
            assert!(read.source_port >= 49_152 && read.destination_port >= 49_152);
        }
    }
    let mut source = source(Frame::TcpSyn, 66, addresses(Generator::Serial), 0);
    let ports: Vec<u16> =
        (0..6).map(|sequence| parse(&frame_of(&mut source, sequence)).source_port).collect();
    // Each of the three hosts counts for itself.
    assert_eq!(ports, [49_152, 49_152, 49_152, 49_153, 49_153, 49_153]);
}

#[test]
fn ports_are_those_of_no_protocol_and_connections_come_again_late() {
    for generator in [Generator::Hosts, Generator::Serial, Generator::Random] {
        for known_destinations in [false, true] {
            let addresses = Addresses {
                mac: Generator::Hosts,
                ip: Generator::Hosts,
                port: generator,
                known_destinations,
            };
            let mut source = source(Frame::TcpSyn, 66, addresses, 3);
            let mut seen = HashSet::new();
            // Each of the three hosts uses every port once.
            for sequence in 0..3 * 16_384 {
                let read = parse(&frame_of(&mut source, sequence));
                assert!(read.source_port >= 49_152, "{}", read.source_port);
                assert!(read.destination_port >= 49_152, "{}", read.destination_port);
                let connection = (
                    (read.source_ip, read.source_port),
                    (read.destination_ip, read.destination_port),
                );
                assert!(seen.insert(connection) || generator != Generator::Serial, "{sequence}");
            }
        }
    }
}

#[test]
fn random_addresses_are_spread_and_independent() {
    // Each bit of n values is fair. The count of ones has the standard error root(n) / 2 = 50, of
    // which 5 are allowed; so has the count of values in which both ends have equal bits.
    let n = 10_000u64;
    let mut source = source(Frame::Udp, 60, addresses(Generator::Random), 6);
    let reads: Vec<Read> = (0..n).map(|sequence| parse(&frame_of(&mut source, sequence))).collect();
    let number = |mac: MacAddress| mac.0.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let fair = |what: &str, values: &mut dyn Iterator<Item = bool>| {
        let ones = values.filter(|one| *one).count() as u64;
        assert!(ones.abs_diff(n / 2) < 250, "{what}: {ones}");
    };
    for bit in (0..40).chain(42..48) {
        let at = |mac| number(mac) >> bit & 1;
        fair("source MAC", &mut reads.iter().map(|read| at(read.source_mac) == 1));
        fair("destination MAC", &mut reads.iter().map(|read| at(read.destination_mac) == 1));
        fair(
            "both MACs",
            &mut reads.iter().map(|read| at(read.source_mac) == at(read.destination_mac)),
        );
        fair(
            "consecutive MACs",
            // This compares each value with its successor, so the last one is left out.
            &mut reads.windows(2).map(|pair| at(pair[0].source_mac) == at(pair[1].source_mac)),
        );
    }
    for bit in 0..29 {
        let at = |ip: std::net::Ipv4Addr| ip.to_bits() >> bit & 1;
        fair("source IP", &mut reads.iter().map(|read| at(read.source_ip) == 1));
        fair("destination IP", &mut reads.iter().map(|read| at(read.destination_ip) == 1));
    }
    // Ports are uniform on 49152 to 65535: mean 57343.5, deviation 16384 / root(12).
    let mean = reads.iter().map(|read| f64::from(read.source_port)).sum::<f64>() / n as f64;
    assert!((mean - 57_343.5).abs() < 4.0 * 16_384.0 / 12f64.sqrt() / 100.0, "{mean}");
    assert!(reads.iter().all(|read| read.source_mac.0[0] & 0x03 == 0x02));
    let macs: HashSet<MacAddress> = reads.iter().map(|read| read.source_mac).collect();
    assert_eq!(macs.len() as u64, n);
}

#[test]
fn generators_do_not_influence_each_other() {
    let mixed = Addresses {
        mac: Generator::Hosts,
        ip: Generator::Random,
        port: Generator::Serial,
        known_destinations: false,
    };
    let read = |addresses| parse(&frame_of(&mut source(Frame::Udp, 60, addresses, 1), 7));
    let got = read(mixed);
    assert_eq!(got.source_mac, read(addresses(Generator::Hosts)).source_mac);
    assert_eq!(got.source_ip, read(addresses(Generator::Random)).source_ip);
    assert_eq!(got.source_port, read(addresses(Generator::Serial)).source_port);
}

#[test]
fn without_hosts_frames_enter_by_all_ports() {
    let switches = switches(2, 3, 0);
    let hosts = hosts(&switches, &TopologySource::None);
    let traffic = Traffic { addresses: addresses(Generator::Random), ..traffic(Frame::Udp, 60) };
    let plan = FramePlan::new(&traffic, &switches).unwrap();
    let mut source = plan.source(0, &hosts, SEED, KEY).unwrap();
    let ports: Vec<u16> = (0..4).map(|sequence| source.next(sequence, &mut Vec::new()).0).collect();
    assert_eq!(ports, [1, 2, 3, 1]);
}

#[test]
fn impossible_frames_are_refused() {
    let refused = |frame, bytes| {
        FramePlan::new(&traffic(frame, bytes), &switches(2, 1, 1)).err().map(|e| e.to_string())
    };
    assert_eq!(
        refused(Frame::TcpSyn, 65).unwrap(),
        "a TCP SYN frame of 65 bytes is impossible; traffic.frame-bytes must be from 66 to 65000 \
         (FCS excluded)"
    );
    assert!(refused(Frame::Udp, 59).is_some());
    assert!(refused(Frame::Udp, MAX_FRAME_BYTES + 1).is_some());
    assert!(refused(Frame::TcpSyn, usize::MAX).is_some());
    assert_eq!(refused(Frame::TcpSyn, 66), None);
    for bytes in RFC8456_FRAME_BYTES {
        assert_eq!(refused(Frame::TcpSyn, bytes), None);
        assert_eq!(refused(Frame::Udp, bytes), None);
    }
    let lonely = FramePlan::new(&traffic(Frame::TcpSyn, 66), &switches(1, 1, 1));
    assert!(matches!(lonely, Err(FrameError::TooFewHosts)));
    let crowd = FramePlan::new(&traffic(Frame::TcpSyn, 66), &switches((1 << 24) + 1, 1, 1));
    assert!(matches!(crowd, Err(FrameError::TooManySwitches(_))));
}

proptest! {
    #[test]
    fn every_frame_is_valid(
        udp: bool,
        extra in 0usize..1500,
        generators in prop::array::uniform3(prop::sample::select(vec![
            Generator::Hosts, Generator::Serial, Generator::Random,
        ])),
        known_destinations: bool,
        switch in 0u32..10,
        sequence: u64,
    ) {
        let [mac, ip, port] = generators;
        let kind = KINDS[usize::from(udp)].clone();
        let addresses = Addresses { mac, ip, port, known_destinations };
        let frame = frame_of(&mut source(kind, 66 + extra, addresses, switch), sequence);
        let read = parse(&frame);
        prop_assert_eq!(read.syn_only, !udp);
        let id = read_id(&frame, KEY).unwrap();
        prop_assert_eq!((id.switch, id.sequence), (switch, sequence & ((1 << 40) - 1)));
    }
}
