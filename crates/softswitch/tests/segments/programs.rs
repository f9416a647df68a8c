//! Tests of programs of all kinds with super-frames of all kinds.

use crate::hosts::{L2, L2_ENTRIES, ROUTER, ROUTER_ENTRIES};
use crate::wire::{Case, ReceivedPacket};
use etherparse::{IpNumber, Ipv4Header, Ipv6Header, PacketBuilder, TcpHeader, VlanId};
use fastrand::Rng;
use packetio::offload::VIRTIO_HEADER;
use softswitch::{Path, Segments};

/// Returns a program with Ethernet, IPv4 and TCP headers that executes the given statements in
/// ingress.
fn program(parser: &str, statements: &str, update: &str) -> String {
    format!(
        r#"#include <core.p4>
#include <v1model.p4>
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header tag_t {{ bit<3> priority; bit<1> eligible; bit<12> vlan; bit<16> type; }}
header ipv4_t {{
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}}
header tcp_t {{
    bit<16> src; bit<16> dst; bit<32> seq; bit<32> ack; bit<4> words; bit<4> none; bit<8> flags;
    bit<16> window; bit<16> checksum; bit<16> urgent;
}}
struct headers {{ ethernet_t ethernet; tag_t tag; ipv4_t ipv4; tcp_t tcp; }} struct meta {{ bit<32> n; }}
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ b.extract(h.ethernet); transition {parser}; }}
    state ipv4 {{ transition select(h.ethernet.type) {{ 0x800: ip; default: accept; }} }}
    state ip {{ b.extract(h.ipv4); transition accept; }}
    state tcp {{ transition select(h.ethernet.type) {{ 0x800: both; default: accept; }} }}
    state both {{ b.extract(h.ipv4); transition select(h.ipv4.ihl, h.ipv4.protocol) {{ (5, 6): last; default: accept; }} }}
    state last {{ b.extract(h.tcp); transition accept; }}
}}
control v(inout headers h, inout meta m) {{ apply {{ }} }}
control i(inout headers h, inout meta m, inout standard_metadata_t s) {{
    register<bit<32>>(1) seen;
    apply {{ s.egress_spec = 3 - s.ingress_port; {statements} }}
}}
control e(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control k(inout headers h, inout meta m) {{ apply {{ {update} }} }}
control d(packet_out b, in headers h) {{
    apply {{ b.emit(h.ethernet); b.emit(h.tag); b.emit(h.ipv4); b.emit(h.tcp); }}
}}
V1Switch(p(), v(), i(), e(), k(), d()) main;"#
    )
}

const GROUP: &str = r#"{ "target": "bmv2", "table_entries": [], "multicast_group_entries": [
    { "multicast_group_id": 7, "replicas": [ { "egress_port": 1 }, { "egress_port": 3 }, { "egress_port": 2 } ] },
    { "multicast_group_id": 8, "replicas": [ { "egress_port": 3 }, { "egress_port": 3, "instance": 1 } ] } ] }"#;

const IPV4: &str =
    "update_checksum(h.ipv4.isValid(), { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length,
    h.ipv4.id, h.ipv4.flags, h.ipv4.offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst },
    h.ipv4.checksum, HashAlgorithm.csum16);";
const TCP: &str = "update_checksum_with_payload(h.tcp.isValid(), { h.ipv4.src, h.ipv4.dst, 8w0, h.ipv4.protocol,
    h.ipv4.length - 20, h.tcp.src, h.tcp.dst, h.tcp.seq, h.tcp.ack, h.tcp.words, h.tcp.none, h.tcp.flags,
    h.tcp.window, h.tcp.urgent }, h.tcp.checksum, HashAlgorithm.csum16);";

/// The expected share of frames that stay in one piece.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Whole {
    All,
    Some,
    None,
}

/// Returns the cases: a name, a program, its entries, and the expected share of whole frames.
fn cases() -> Vec<(&'static str, String, &'static str, Whole)> {
    let own = |name, parser, statements: &str, update: &str, whole| {
        (name, program(parser, statements, update), GROUP, whole)
    };
    let route = "if (h.ipv4.isValid()) { h.ipv4.ttl = h.ipv4.ttl - 1; } h.ethernet.dst = 7;";
    let tag =
        "h.tag.setValid(); h.tag.vlan = 9; h.tag.type = h.ethernet.type; h.ethernet.type = 0x8100;";
    let both = format!("{IPV4} {TCP}");
    vec![
        ("l2.p4", L2.to_owned(), L2_ENTRIES, Whole::All),
        // The router drops packets that are not IPv4.
        ("router.p4", ROUTER.to_owned(), ROUTER_ENTRIES, Whole::Some),
        own("forwarded", "accept", "", "", Whole::All),
        own("routed", "ipv4", route, IPV4, Whole::All),
        // A wrong checksum leaves as wrong as it arrived.
        own("without a checksum", "ipv4", route, "", Whole::Some),
        own("tagged", "accept", tag, "", Whole::All),
        // A TCP checksum that the program does not update leaves as wrong as it arrived.
        own("translated", "ipv4", "h.ipv4.dst = 0x0a000909;", IPV4, Whole::Some),
        own(
            "translated with its port",
            "tcp",
            "h.ipv4.dst = 0x0a000909; h.tcp.dst = 99;",
            IPV4,
            Whole::Some,
        ),
        own("summed", "tcp", "h.ipv4.dst = 0x0a000909;", &both, Whole::None),
        own(
            "told by ports",
            "tcp",
            "if (h.tcp.dst == 8080) { s.egress_spec = 3; }",
            "",
            Whole::All,
        ),
        own("flags", "tcp", "if (h.tcp.flags & 8 == 8) { s.egress_spec = 3; }", "", Whole::Some),
        own(
            "numbered",
            "tcp",
            "if (h.tcp.isValid()) { h.tcp.seq = h.tcp.seq + 1000; }",
            "",
            Whole::Some,
        ),
        own(
            "by length",
            "ipv4",
            "if (s.packet_length < 500) { s.egress_spec = 3; }",
            "",
            Whole::Some,
        ),
        own(
            "by identification",
            "ipv4",
            "if (h.ipv4.id[0:0] == 1) { s.egress_spec = 3; }",
            "",
            Whole::Some,
        ),
        own(
            "in turns",
            "accept",
            "seen.read(m.n, 0); m.n = m.n + 1; seen.write(0, m.n);
            if (m.n & 15 == 5) { mark_to_drop(s); } if (m.n & 31 == 7) { s.egress_spec = 3; }",
            "",
            Whole::Some,
        ),
        own(
            "counted into the header",
            "accept",
            "seen.read(m.n, 0); m.n = m.n + 1; seen.write(0, m.n);
            h.ethernet.src = (bit<48>) m.n;",
            "",
            Whole::None,
        ),
        own(
            "at random",
            "accept",
            "random(m.n, 0, 20); if (m.n == 0) { s.egress_spec = 3; }",
            "",
            Whole::Some,
        ),
        own(
            "at once",
            "accept",
            "h.ethernet.src = s.ingress_global_timestamp - s.ingress_global_timestamp;",
            "",
            Whole::All,
        ),
        own("to all", "accept", "s.mcast_grp = 7;", "", Whole::All),
        // Copies of a segment are sent before those of the next segment.
        own("twice", "accept", "s.mcast_grp = 8;", "", Whole::None),
        own(
            "again",
            "accept",
            "if (s.instance_type == 0) { resubmit_preserving_field_list(0); }",
            "",
            Whole::All,
        ),
        own(
            "around",
            "accept",
            "if (h.ethernet.src != 5) { h.ethernet.src = 5; recirculate_preserving_field_list(0); }",
            "",
            Whole::None,
        ),
        own("to a controller", "accept", "s.egress_spec = 255;", "", Whole::None),
        own("nowhere", "accept", "s.egress_spec = 77;", "", Whole::None),
        own("cut off", "accept", "truncate(700);", "", Whole::None),
        own("cloned", "accept", "clone(CloneType.I2E, 5);", "", Whole::None),
    ]
}

#[test]
fn output_and_counters_equal_those_of_single_segments() {
    for (number, (name, program, entries, whole)) in cases().into_iter().enumerate() {
        let mut random = Rng::with_seed(number as u64);
        let mut left = (0, 0);
        for (path, mtus) in
            [(Path::Compiled, [9000, 9000, 9000]), (Path::Interpreter, [9000, 1000, 9000])]
        {
            let packets = [1, 2].map(|port| (0..12).map(|_| packet(&mut random, port)).collect());
            let given = Case { program: &program, entries, mtus: &mtus, packets };
            let (expected, none) = given.run(path, Segments::Split);
            assert_eq!(none, 0);
            let (seen, stayed) = given.run(path, Segments::Whole);
            for (port, (sent, found)) in expected.sent.iter().zip(&seen.sent).enumerate() {
                assert_eq!(sent.len(), found.len(), "{name}, port {}", port + 1);
                for (position, (sent, found)) in sent.iter().zip(found).enumerate() {
                    assert!(
                        sent == found,
                        "{name}, port {}, packet {position}:\n{sent:02x?}\n{found:02x?}",
                        port + 1
                    );
                }
            }
            assert_eq!(seen, expected, "{name}");
            let frames =
                given.packets.iter().flatten().filter(|(header, _)| header[1] != 0).count();
            left = (left.0 + stayed, left.1 + frames);
            if path == Path::Interpreter {
                let longest = seen.sent[1].iter().map(Vec::len).max();
                assert!(longest.is_none_or(|longest| longest <= 1014), "{name}");
            }
        }
        // Half of the frames to the short link exceed its MTU.
        match whole {
            Whole::All => assert!(left.0 * 2 > left.1, "{name}: {left:?}"),
            Whole::Some => assert!(left.0 > 0 && left.0 < left.1, "{name}: {left:?}"),
            Whole::None => assert_eq!(left.0, 0, "{name}"),
        }
    }
}

/// Returns a packet that arrives on a port, in most cases a TCP super-frame.
fn packet(random: &mut Rng, port: u8) -> ReceivedPacket {
    let (own, other) = (port, 3 - port);
    let mac = |number| [2, 0, 0, 0, 0, number];
    let is_for_router = random.bool();
    let destination = if is_for_router { [2, 0, 0, 0, 0xfe, own] } else { mac(other) };
    let destination = if random.u8(..4) == 0 { destination } else { mac(other) };
    let link = PacketBuilder::ethernet2(mac(own), destination);
    let is_ipv6 = random.u8(..4) == 0;
    let network = match is_ipv6 {
        true => {
            let (source, destination) = ([own; 16], [other; 16]);
            let header = Ipv6Header { hop_limit: 9, source, destination, ..Default::default() };
            etherparse::IpHeaders::Ipv6(header, Default::default())
        }
        false => {
            let (source, destination) = ([10, 0, own, 1], [10, 0, other, 1]);
            let mut header =
                Ipv4Header::new(0, 64, IpNumber::TCP, source, destination).expect("it fits");
            (header.identification, header.dont_fragment) = (random.u16(..), random.bool());
            etherparse::IpHeaders::Ipv4(header, Default::default())
        }
    };
    let vlan = random.u8(..6) == 0;
    let internet = match vlan {
        true => link.single_vlan(VlanId::try_new(5).expect("12 bits")).ip(network),
        false => link.ip(network),
    };
    let mut tcp = TcpHeader::new(80, if random.bool() { 8080 } else { 80 }, random.u32(..), 4000);
    (tcp.ack, tcp.psh, tcp.fin, tcp.cwr) =
        (true, random.bool(), random.u8(..4) == 0, random.u8(..4) == 0);
    tcp.set_options_raw(&vec![1; 4 * random.usize(..4)]).expect("it fits");
    let size = *random.choice(&[1448, 1460, 900, 536, 200, 8900]).expect("some");
    let is_whole = random.u8(..5) > 0;
    let segments = if is_whole { random.usize(2..40) } else { 1 };
    let length = ((segments - 1) * size + random.usize(1..=size))
        .min(60_000)
        .min(64_000 / size.max(1) * size);
    let length = length.max(1);
    let payload: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
    let mut packet = Vec::new();
    internet.tcp_header(tcp).write(&mut packet, &payload).expect("memory");
    let transport = 14 + 4 * usize::from(vlan) + if is_ipv6 { 40 } else { 20 };
    let mut header = [0; VIRTIO_HEADER];
    if is_whole && length > size {
        (header[0], header[1]) = (1, if is_ipv6 { 4 } else { 1 });
        for (position, word) in [0, size, transport, 16].into_iter().enumerate() {
            header[2 + 2 * position..4 + 2 * position]
                .copy_from_slice(&(word as u16).to_ne_bytes());
        }
        // A kernel leaves the pseudo-header's sum in the checksum field. A program must not see
        // that value, so it is random here.
        packet[transport + 16..transport + 18].copy_from_slice(&random.u16(..).to_be_bytes());
    }
    (header, packet)
}
