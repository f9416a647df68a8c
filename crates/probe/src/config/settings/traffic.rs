//! The settings of the traffic.

use super::{BASE, Kind, Limits, Setting};
use crate::config::MAX_FRAME_BYTES;

/// The maximum rate of a switch in packet-ins per second. It is higher than any control connection
/// permits.
const MAX_RATE: f64 = 100e6;
/// The maximum number of packet-ins whose times are remembered until they are answered. It takes
/// some tens of gigabytes of memory.
pub(in crate::config) const MAX_OUTSTANDING: f64 = 1e9;

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
            controller does not change it, so its delays are measured in full. closed keeps at \
            most traffic.window packet-ins per switch outstanding and sends the next one upon an \
            answer: a window of 1 is cbench's latency mode, a large one its throughput mode. flood \
            sends as fast as the connections accept data and counts answers without matching them \
            (OpenFlow only). open is the default because only it measures response times under \
            load correctly.",
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
        manual: "The offered load is this rate times the number of switches. The default is 1,600 \
            per second in all, a light load for an OpenFlow controller and about the published \
            limit of ONOS over P4Runtime. The suffixes k, M and G multiply by a thousand, a \
            million and a thousand million.",
        limits: Limits::Number(0.001, MAX_RATE),
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
        manual: "Except for replay, the mean is one over the rate. constant, with the switches \
            evenly staggered; constant:in-phase, where all switches send at the same moments; \
            exponential, a Poisson process; uniform:SPREAD between 1 - SPREAD \
            and 1 + SPREAD times the mean; normal:DEVIATION, with the standard deviation as a \
            share of the mean; pareto:SHAPE, heavy-tailed, with a shape above 1; gamma:SHAPE, \
            bursty if the shape is below 1; replay:FILE, with one number of seconds per line or \
            the time stamps of a capture, used as they are whatever the rate. Switches that share \
            a file begin at different places of it. constant is the default because it adds no \
            queueing of its own.",
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
        summary: "Outstanding packet-ins per switch, in closed mode",
        manual: "1 measures the response time of an idle controller, as RFC 8456, section 5.1.2, \
            does. To find the highest throughput of the controller, raise the window until the \
            rate no longer grows.",
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
        summary: "Time limit for an answer, in closed mode",
        manual: "A packet-in without an answer after this time frees its place in the window and \
            counts as lost. Without this limit, a controller that drops packets would stop a \
            closed loop for good. One second is far longer than a working controller takes.",
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
        manual: "packet-in sends packets, whose answers are packet-outs. digest sends lists of one \
            digest over P4Runtime, filled with addresses and ports of the emulated packet; the \
            answer is the acknowledgement of the list. The digest is that of p4runtime.digest, and \
            a switch is ready once the controller has enabled it with a DigestEntry. idle-timeout \
            sends notifications over P4Runtime that a table entry has been idle; the answer is the \
            first update in a Write with the key of that entry, such as its deletion. The table is \
            that of p4runtime.idle-table.",
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
        manual: "tcp-syn opens a TCP connection, for which a reactive controller installs a path. \
            replay:FILE sends the Ethernet frames of a pcap or pcapng file in order, and begins \
            again at its end. The id by which an answer is recognised replaces the last 12 bytes \
            of the TCP or UDP payload; frames with a shorter payload become 12 bytes longer.",
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
        manual: "128 bytes is the smallest of the sizes that RFC 8456 asks for (128, 512, 1508). A \
            TCP SYN needs at least 66 bytes and a UDP frame 60, because every frame carries the id \
            by which its answer is recognised. Replayed frames keep their own length.",
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
        manual: "hosts uses the addresses of the emulated hosts in turn, serial a new address for \
            each packet, counting up, and random any address. New addresses fill the host table of \
            a controller that learns from them, so that each run would measure another state of \
            the controller: therefore hosts is the default.",
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
        manual: "The generators are those of traffic.mac.",
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
            reaches the controller in a reactive network. hosts keeps one port per host. All ports \
            lie in 49152 to 65535, which belong to no protocol: controllers that parse packets \
            would take others for BGP or OpenFlow, and some of their parsers never return.",
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
        manual: "With true, destinations are hosts that exist, however the sources are generated, \
            so that the controller can find a path. With false, destinations are generated like \
            sources, and a controller may flood or drop packets to unknown ones.",
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
        manual: "A controller that knows where the hosts are can answer from the first packet on. \
            The announcements are not counted.",
        slot: |draft| &mut draft.traffic.arp_first,
        ..BASE
    },
    Setting {
        key: "traffic.matching",
        flag: "matching",
        value_name: "METHOD",
        default: "auto",
        example: "xid",
        summary: "How an answer is matched to its packet-in: auto, payload, xid, rule or order",
        manual: "auto uses the buffer id if the packet was buffered, else the id in the payload. \
            payload uses only the latter. xid uses the OpenFlow transaction id, for controllers \
            that copy it; other controllers may match by accident. rule takes rules as answers \
            instead of packet-outs, for controllers that send no packet back, such as Faucet: the \
            answer is the first flow-mod whose entry the packet matches, in the table that sent it \
            and at no lower priority. If packets bypass the tables (switches.flow-tables), that is \
            the table of the table-miss entry, and a rule that was installed before is no answer. \
            order takes each answer as that to the oldest unanswered packet-in of its switch, for \
            controllers that discard the payload; its times are approximate once anything is lost.",
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
        manual: "A late answer is still an answer, and its time is recorded. A TCP sender repeats \
            its SYN after one second (RFC 6298), so for a host a later answer is as bad as none.",
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
        manual: "For all switches together. Beyond it the times of the oldest are discarded, and \
            the result says so. A million is ten seconds of 100,000 unanswered packet-ins per \
            second, and takes some tens of megabytes.",
        limits: Limits::Number(1.0, MAX_OUTSTANDING),
        slot: |draft| &mut draft.traffic.outstanding_limit,
        ..BASE
    },
];
