//! The settings of the traffic.

use super::{BASE, Kind, Limits, Setting};
use crate::config::MAX_FRAME_BYTES;

/// The largest rate in packet-ins per second and switch, which exceeds the capacity of any link.
const MOST_RATE: f64 = 100e6;
/// The largest number of remembered packet-ins, which takes some tens of gigabytes.
pub(in crate::config) const MOST_OUTSTANDING: f64 = 1e9;

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "traffic.mode",
        flag: "mode",
        short: Some('m'),
        value_name: "MODE",
        default: "open",
        example: "closed",
        summary: "Whether answers set the pace: open, closed or flood",
        manual: "open sends every packet-in at a time that is fixed before the run; a slow \
            controller changes nothing, so that its delays are seen in full. closed keeps at most \
            traffic.window packet-ins per switch unanswered and sends the next one upon an answer: \
            with a window of 1 this is cbench's latency mode, with a large one its throughput \
            mode. flood sends as fast as the connections take it and counts answers without \
            matching them (OpenFlow only). open is the default because only it gives honest \
            response times under load.",
        slot: |draft| &mut draft.traffic.mode,
        ..BASE
    },
    Setting {
        key: "traffic.rate",
        flag: "rate",
        short: Some('r'),
        value_name: "RATE",
        default: "100",
        example: "1.5k",
        summary: "Packet-ins per second and switch, in open mode",
        manual: "The whole network offers this times the number of switches. By default that is \
            1,600 per second, a light load for an OpenFlow controller and about as much as has \
            been published as the limit of ONOS over P4Runtime. The suffixes k, M and G multiply \
            by a thousand, a million, a thousand million.",
        limits: Limits::Number(0.001, MOST_RATE),
        slot: |draft| &mut draft.traffic.rate,
        ..BASE
    },
    Setting {
        key: "traffic.arrivals",
        flag: "arrivals",
        value_name: "DISTRIBUTION",
        default: "constant",
        example: "pareto:2.5",
        summary: "Distribution of the times between packet-ins, in open mode",
        manual: "The mean always is one over the rate. constant, with the switches staggered \
            evenly; exponential, a Poisson process; uniform:SPREAD between 1 - SPREAD and \
            1 + SPREAD times the mean; normal:DEVIATION, the standard deviation over the mean; \
            pareto:SHAPE, heavy-tailed, shape above 1; gamma:SHAPE, bursty below 1; replay:FILE, \
            with one number of seconds per line or a capture's time stamps, used as they are \
            whatever the rate (switches that share a file begin at different places of it). constant is the default because it adds no queueing of its own: \
            what waits, waits for the controller.",
        slot: |draft| &mut draft.traffic.arrivals,
        ..BASE
    },
    Setting {
        key: "traffic.window",
        flag: "window",
        short: Some('w'),
        value_name: "NUMBER",
        default: "1",
        example: "100",
        summary: "Packet-ins unanswered per switch, in closed mode",
        manual: "1 measures the response time of an idle controller, as RFC 8456 section 5.1.2 \
            does. Raise it until the rate stops growing to find the most that the controller \
            completes.",
        limits: Limits::Number(1.0, 1_000_000.0),
        slot: |draft| &mut draft.traffic.window,
        ..BASE
    },
    Setting {
        key: "traffic.give-up",
        flag: "give-up",
        value_name: "DURATION",
        default: "1s",
        example: "200ms",
        summary: "Patience with an unanswered packet-in, in closed mode",
        manual: "One that has no answer by then frees its place and counts as lost. Without such a \
            limit a controller that drops packets would stop a closed loop for good. A second is \
            far longer than any controller takes that still works.",
        limits: Limits::Seconds(0.001, 3600.0),
        slot: |draft| &mut draft.traffic.give_up,
        ..BASE
    },
    Setting {
        key: "traffic.load",
        flag: "load",
        value_name: "LOAD",
        default: "packet-in",
        example: "digest",
        summary: "Message that switches send: packet-in, digest or idle-timeout",
        manual: "packet-in sends a packet, and its answer is a packet-out. digest sends a list of \
            one digest over P4Runtime, filled with the addresses and ports of the packet, and its \
            answer is the acknowledgement of that list. Which digest is p4runtime.digest. A switch \
            is ready once the controller has enabled it with a DigestEntry. idle-timeout sends a \
            notification that a table entry has been idle over P4Runtime, and its answer is the \
            first update of a Write with the key of that entry, such as its deletion. Which table \
            is p4runtime.idle-table.",
        slot: |draft| &mut draft.traffic.load,
        ..BASE
    },
    Setting {
        key: "traffic.frame",
        flag: "frame",
        value_name: "FRAME",
        default: "tcp-syn",
        example: "replay:campus.pcap",
        summary: "The frame inside a packet-in: tcp-syn, udp or replay:FILE",
        manual: "tcp-syn opens a TCP connection, which is what makes a reactive controller install \
            a path. replay:FILE sends the Ethernet frames of a pcap or pcapng file in order, from \
            the start again at the end. The id by which an answer is recognised replaces the last \
            12 bytes of TCP or UDP payload; frames without so much payload become 12 bytes longer.",
        slot: |draft| &mut draft.traffic.frame,
        ..BASE
    },
    Setting {
        key: "traffic.frame-bytes",
        flag: "frame-bytes",
        value_name: "BYTES",
        default: "128",
        example: "1508",
        summary: "Length of a frame, without frame check sequence",
        manual: "128 bytes is the smallest of the sizes that RFC 8456 asks for (128, 512, 1508). \
            A TCP SYN needs at least 66, a UDP frame 60: every frame carries the id by which its \
            answer is recognised. Frames that are replayed have their own length.",
        limits: Limits::Number(60.0, MAX_FRAME_BYTES as f64),
        slot: |draft| &mut draft.traffic.frame_bytes,
        ..BASE
    },
    Setting {
        key: "traffic.mac",
        flag: "mac-addresses",
        value_name: "GENERATOR",
        default: "hosts",
        example: "random",
        summary: "MAC addresses: hosts, serial or random",
        manual: "hosts takes those of the emulated hosts in turn, serial a new one for each \
            packet, counting up, random any. New addresses fill the host table of a controller \
            that learns from them, and each run then measures a different controller: hence hosts.",
        slot: |draft| &mut draft.traffic.mac,
        ..BASE
    },
    Setting {
        key: "traffic.ip",
        flag: "ip-addresses",
        value_name: "GENERATOR",
        default: "hosts",
        example: "serial",
        summary: "IPv4 addresses: hosts, serial or random",
        manual: "As traffic.mac.",
        slot: |draft| &mut draft.traffic.ip,
        ..BASE
    },
    Setting {
        key: "traffic.port",
        flag: "l4-ports",
        value_name: "GENERATOR",
        default: "serial",
        example: "random",
        summary: "TCP or UDP ports: hosts, serial or random",
        manual: "serial makes every packet a new connection between known hosts, which is what \
            reaches the controller in a reactive network. hosts keeps one port per host. All lie in \
            49152 to 65535, which belong to no protocol: controllers that take packets apart would \
            read others as those of BGP or OpenFlow, and some of their parsers never return.",
        slot: |draft| &mut draft.traffic.port,
        ..BASE
    },
    Setting {
        key: "traffic.known-destinations",
        flag: "known-destinations",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "true",
        example: "false",
        summary: "Destinations are emulated hosts only",
        manual: "Whatever generates the sources, destinations are hosts that exist, so that the \
            controller can find a path. With false destinations are generated like sources, and \
            a controller may flood, or drop, what it does not know.",
        slot: |draft| &mut draft.traffic.known_destinations,
        ..BASE
    },
    Setting {
        key: "traffic.arp-first",
        flag: "arp-first",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "true",
        example: "false",
        summary: "Hosts announce themselves by gratuitous ARP before traffic starts",
        manual: "A controller that knows where the hosts are answers from the first packet on. \
            The announcements count for nothing.",
        slot: |draft| &mut draft.traffic.arp_first,
        ..BASE
    },
    Setting {
        key: "traffic.matching",
        flag: "matching",
        value_name: "METHOD",
        default: "auto",
        example: "xid",
        summary: "How an answer is tied to its packet-in: auto, payload, xid, rule or order",
        manual: "auto goes by the buffer id if one was used, else by the id in the payload. \
            payload goes by that alone. xid goes by the OpenFlow transaction id, for controllers \
            that copy it; others can match by accident. rule takes rules as answers instead of \
            packet-outs, for controllers that send no packet back, such as Faucet: the first \
            flow-mod that the packet meets in the table that sent it, at no lower priority. Where \
            packets bypass the tables (switches.flow-tables) that is the table of the table-miss \
            entry, and a rule that the controller installed before is not an answer. order takes each answer as that to the \
            oldest unanswered packet-in of its switch, for controllers that discard the payload: \
            its times are approximate once anything is lost.",
        slot: |draft| &mut draft.traffic.matching,
        ..BASE
    },
    Setting {
        key: "traffic.late-after",
        flag: "late-after",
        value_name: "DURATION",
        default: "1s",
        example: "50ms",
        summary: "An answer that takes longer counts as late",
        manual: "It is still an answer, and its time is recorded. A TCP sender repeats its SYN \
            after one second (RFC 6298): for a host, a later answer is as good as a lost one.",
        limits: Limits::Seconds(0.000_001, 3600.0),
        slot: |draft| &mut draft.traffic.late_after,
        ..BASE
    },
    Setting {
        key: "traffic.outstanding-limit",
        flag: "outstanding-limit",
        value_name: "NUMBER",
        default: "1M",
        example: "10M",
        summary: "Packet-ins remembered while they wait for an answer",
        manual: "All switches together. Beyond it the times of the oldest are forgotten, and the \
            result says so. A million is ten seconds of an unanswered 100,000 per second and takes \
            some tens of megabytes.",
        limits: Limits::Number(1.0, MOST_OUTSTANDING),
        slot: |draft| &mut draft.traffic.outstanding_limit,
        ..BASE
    },
];
