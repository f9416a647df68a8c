//! Tests of the frames in packet-ins. This file contains the functions that its submodules share.
//! They parse frames with `etherparse`, an independent implementation.

mod frames;
mod hosts;
mod id;
mod replay;

use std::time::Duration;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};

use super::*;
use crate::config::{
    Addresses, Arrivals, Frame, Generator, MAX_FRAME_BYTES, Matching, Mode, Switches,
    TopologySource, Traffic,
};
use crate::topology::Topology;

const KEY: RunKey = RunKey::new(7);
const SEED: u64 = 11;

fn switches(count: u32, ports: u16, hosts: u32) -> Switches {
    Switches {
        count,
        first_id: 1,
        ports,
        buffers: 0,
        table_size: 0,
        flow_tables: crate::config::FlowTables::Bypass,
        hosts,
        connect_rate: 1.0,
        overrides: Vec::new(),
    }
}

fn hosts(switches: &Switches, wiring: &TopologySource) -> Hosts {
    let topology = Topology::build(wiring, switches.count, switches.ports).unwrap();
    Hosts::new(switches, &topology).unwrap()
}

fn traffic(frame: Frame, frame_bytes: usize) -> Traffic {
    Traffic {
        mode: Mode::Open,
        rate: 1.0,
        arrivals: Arrivals::Constant,
        load: Default::default(),
        frame,
        frame_bytes,
        addresses: addresses(Generator::Hosts),
        arp_first: false,
        matching: Matching::Auto,
        late_after: Duration::from_secs(1),
        outstanding_limit: 1000,
    }
}

/// Returns settings with which all source and destination addresses are generated in the same way.
fn addresses(generator: Generator) -> Addresses {
    Addresses { mac: generator, ip: generator, port: generator, known_destinations: false }
}

/// Returns the generator of the frames of one among ten switches with three hosts each and no
/// links.
fn source(frame: Frame, frame_bytes: usize, addresses: Addresses, switch: u32) -> FrameSource {
    let switches = switches(10, 4, 3);
    let traffic = Traffic { addresses, ..traffic(frame, frame_bytes) };
    let plan = FramePlan::new(&traffic, &switches).unwrap();
    plan.source(switch, &hosts(&switches, &TopologySource::None), SEED, KEY).unwrap()
}

fn frame_of(source: &mut FrameSource, sequence: u64) -> Vec<u8> {
    let mut frame = Vec::new();
    source.next(sequence, &mut frame);
    frame
}

/// The fields of a frame as `etherparse`, an independent implementation, parses them. All checksums
/// have been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Read {
    source_mac: MacAddress,
    destination_mac: MacAddress,
    source_ip: std::net::Ipv4Addr,
    destination_ip: std::net::Ipv4Addr,
    source_port: u16,
    destination_port: u16,
    syn_only: bool,
    payload: Vec<u8>,
}

fn parse(frame: &[u8]) -> Read {
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let Some(etherparse::LinkSlice::Ethernet2(ethernet)) = packet.link else {
        panic!("no Ethernet header")
    };
    let Some(NetSlice::Ipv4(ip)) = packet.net else { panic!("no IPv4 header") };
    let header = ip.header().to_header();
    assert_eq!(header.header_checksum, header.calc_header_checksum(), "IPv4 checksum");
    assert!(header.time_to_live > 0 && header.dont_fragment && !header.more_fragments);
    let (source_port, destination_port, syn_only, payload) = match packet.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let header = tcp.to_header();
            let expected = header
                .calc_checksum_ipv4_raw(
                    ip.header().source(),
                    ip.header().destination(),
                    tcp.payload(),
                )
                .unwrap();
            assert_eq!(header.checksum, expected, "TCP checksum");
            let other = header.ack || header.fin || header.rst || header.psh || header.urg;
            for option in header.options_iterator() {
                option.unwrap();
            }
            let syn_only = header.syn && !other && !header.ece && !header.cwr && !header.ns;
            (header.source_port, header.destination_port, syn_only, tcp.payload().to_vec())
        }
        Some(TransportSlice::Udp(udp)) => {
            let header = udp.to_header();
            let expected = header
                .calc_checksum_ipv4_raw(
                    ip.header().source(),
                    ip.header().destination(),
                    udp.payload(),
                )
                .unwrap();
            assert!(
                header.checksum == expected || header.checksum == 0,
                "UDP checksum {} is not {expected}",
                header.checksum
            );
            (header.source_port, header.destination_port, false, udp.payload().to_vec())
        }
        other => panic!("no TCP or UDP header: {other:?}"),
    };
    Read {
        source_mac: MacAddress(ethernet.source()),
        destination_mac: MacAddress(ethernet.destination()),
        source_ip: ip.header().source_addr(),
        destination_ip: ip.header().destination_addr(),
        source_port,
        destination_port,
        syn_only,
        payload,
    }
}
