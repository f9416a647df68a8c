//! The settings of the emulated switches.

use super::{BASE, Kind, Limits, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "switches.count",
        flag: "switches",
        short: Some('n'),
        value_name: "NUMBER",
        default: "16",
        example: "1000",
        summary: "Number of emulated switches",
        manual: "Each switch has a connection of its own. The default suits every controller, and \
            is large enough to show unfairness between switches. An OpenFlow switch needs one file \
            descriptor, a P4Runtime switch three (ulimit -n).",
        limits: Limits::Number(1.0, 100_000.0),
        slot: |draft| &mut draft.switches.count,
        ..BASE
    },
    Setting {
        key: "switches.first-id",
        flag: "first-id",
        value_name: "ID",
        default: "1",
        example: "0x100",
        summary: "Datapath id or device id of the first switch; the others count up",
        manual: "Decimal, or hexadecimal after 0x. Two probes on one controller need ids that do \
            not overlap. 0 is not a valid device id in P4Runtime.",
        slot: |draft| &mut draft.switches.first_id,
        ..BASE
    },
    Setting {
        key: "switches.ports",
        flag: "ports",
        value_name: "NUMBER",
        default: "auto",
        example: "48",
        summary: "Ports of each switch",
        manual: "Numbered from 1. Links use the lowest ports and hosts the others, so at least one \
            must remain. auto is the number that the links need plus one for each host (up to 16), \
            and at least four. Many controllers send discovery packets to every port every few \
            seconds, so more ports cost them more. Hosts that share a port send to hosts behind \
            other ports, if there are any, since controllers ignore packets between hosts of one \
            port.",
        limits: Limits::Number(1.0, 65_279.0),
        slot: |draft| &mut draft.switches.ports,
        ..BASE
    },
    Setting {
        key: "switches.hosts",
        flag: "hosts",
        value_name: "NUMBER",
        default: "2",
        example: "10",
        summary: "Hosts behind each switch",
        manual: "The sources, and usually the destinations, of the packets. They are spread over \
            the ports without links. With two hosts, packets can go from one host to another on \
            the same switch, even without links.",
        limits: Limits::Number(0.0, 100_000.0),
        slot: |draft| &mut draft.switches.hosts,
        ..BASE
    },
    Setting {
        key: "switches.topology",
        flag: "topology",
        value_name: "TOPOLOGY",
        default: "none",
        example: "leaf-spine:4",
        summary: "Links between the switches",
        manual: "none; linear, a chain; tree:FANOUT; leaf-spine:SPINES, in which the first \
            switches are the spines and all others are leaves; graphml:FILE, such as those of the \
            Internet Topology Zoo, with at least as many nodes as there are switches; links:FILE, \
            with one line switch:port==switch:port for each link. Discovery packets (LLDP, BDDP) \
            that the controller sends out of a linked port come back as packet-ins at the other \
            end, so it finds the links. The default leaves discovery out of the measurement.",
        slot: |draft| &mut draft.switches.topology,
        ..BASE
    },
    Setting {
        key: "switches.buffers",
        flag: "buffers",
        value_name: "NUMBER",
        default: "0",
        example: "256",
        summary: "Packets that an OpenFlow switch buffers",
        manual: "With 0 every packet-in carries the whole frame and no buffer id, like those of \
            current software switches. Otherwise packet-ins carry a buffer id, by which a \
            packet-out may refer to the frame.",
        limits: Limits::Number(0.0, 16_777_216.0),
        slot: |draft| &mut draft.switches.buffers,
        ..BASE
    },
    Setting {
        key: "switches.table-size",
        flag: "table-size",
        value_name: "ENTRIES",
        default: "65536",
        example: "2000",
        summary: "Flow table capacity of an OpenFlow switch",
        manual: "A flow-mod beyond this size is refused with the error \"table full\", and the \
            refusals are counted. With the default, few runs fill a table by accident; a small \
            table shows how a controller copes with a full one. Tables of P4Runtime switches have \
            the size that their P4Info states.",
        limits: Limits::Number(1.0, 16_777_216.0),
        slot: |draft| &mut draft.switches.table_size,
        ..BASE
    },
    Setting {
        key: "switches.flow-tables",
        flag: "flow-tables",
        value_name: "BYPASS|RUN",
        default: "bypass",
        example: "run",
        summary: "Whether packets pass the flow tables of an OpenFlow switch",
        manual: "With bypass every packet becomes a packet-in, whatever rules the controller \
            installs, so its answers do not change its load. Packet-ins have the cookie and table \
            of the table-miss entry. With run each packet is looked up in the tables: it becomes a \
            packet-in with the cookie, table and reason of its rule, or it is forwarded or \
            dropped, which is counted apart. Some controllers, such as Faucet, handle only \
            packet-ins of their own rules. With run, a rate is one of packets; set traffic.mac to \
            random for a steady load of packet-ins.",
        slot: |draft| &mut draft.switches.flow_tables,
        ..BASE
    },
    Setting {
        key: "switches.connect-rate",
        flag: "connect-rate",
        value_name: "RATE",
        default: "1000",
        example: "50",
        summary: "Connections that OpenFlow switches start per second, at most",
        manual: "For all switches together. A thousand per second do not overflow a listen queue \
            of the usual size. Lower it for controllers that drop connections at that rate. Test 5.1.1 of RFC 8456 \
            opens all connections at once, and refuses a rate: its time includes them.",
        limits: Limits::Number(0.1, 1_000_000.0),
        slot: |draft| &mut draft.switches.connect_rate,
        ..BASE
    },
    Setting {
        key: "switch",
        flag: "switch",
        value_name: "SWITCHES:DIFFERENCES",
        kind: Kind::Tables,
        example: "0-9:rate=500,start-delay=2s",
        summary: "Settings that differ for some switches; may be repeated",
        manual: "The index of a switch (from 0) or a range of indices, a colon, and any of these \
            with commas between: rate=RATE, arrivals=DISTRIBUTION, start-delay=DURATION after the \
            start of traffic, stop-delay=DURATION before its end, replay=FILE as the frames of \
            this switch. If several apply to a switch, the last one wins. In a TOML file each is a \
            table [[switch]] with the key index (3 or \"0-9\") and these keys; the flag replaces \
            the tables of the file. A sweep or a search does not change a rate that is set here.",
        slot: |draft| &mut draft.switches.overrides,
        ..BASE
    },
];
