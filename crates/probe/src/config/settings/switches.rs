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
        manual: "Each has a connection of its own. The default is small enough for every \
            controller, and large enough that unfairness between switches shows. Thousands need \
            as many file descriptors (ulimit -n).",
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
        manual: "Decimal, or hexadecimal after 0x. Two probes on one controller need ids that do not overlap. 0 is \
            not a valid device id for P4Runtime.",
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
        manual: "Numbered from 1. Links take the lowest ports, hosts the others, so that at least \
            one must remain. auto takes as many as links need and one for each host (up to 16), \
            at least four. Many controllers send discovery packets to every port every few \
            seconds, so that more cost them more. Where hosts share a port they send to hosts \
            behind other ports, as far as there are any: a controller rightly ignores packets \
            between hosts of one port.",
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
        manual: "Sources, and usually destinations, of the packets. They are spread over the ports \
            that carry no link. With two, packets can go from one host to another on the same \
            switch even where there are no links.",
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
        manual: "Discovery packets (LLDP, BDDP) that the controller sends out of a linked port \
            come back as packet-ins at the other end, so that it finds the links. none; linear, a \
            chain; tree:FANOUT; leaf-spine:SPINES, where the spines come first and all other \
            switches are leaves; graphml:FILE, such as those of the Internet Topology Zoo, with at \
            least as many nodes as there are switches; links:FILE with a line \
            switch:port==switch:port for each link. The default leaves discovery out of the \
            measurement.",
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
        manual: "With 0 every packet-in carries the whole frame and no buffer id, as those of \
            today's software switches do. Otherwise packet-ins carry a buffer id, by which a \
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
        manual: "A flow-mod beyond it is refused with the error \"table full\", and the refusals \
            are counted. The default is so large that few runs fill a table by accident; a small \
            one shows how a controller copes. Tables of P4Runtime switches have the size that \
            their P4Info gives.",
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
        manual: "bypass makes every packet a packet-in, whatever rules the controller installs, so \
            that its answers do not change its load; cookie and table of the packet-in are those \
            of the table-miss entry. run looks every packet up in the tables, as a switch does: \
            rules decide whether it becomes a packet-in, with their cookie, table and reason, is \
            forwarded, or dropped, and the latter two are counted apart. Some controllers, Faucet \
            among them, heed no packet-ins but those of their own rules. With run, a rate is that \
            of packets: for a steady load of packet-ins, let addresses change (traffic.mac).",
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
        manual: "All switches together. A thousand per second fill no listen queue of usual size; \
            lower it for controllers that drop connections under such a storm.",
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
        manual: "The index of a switch (from 0) or a range of them, and after the colon, with \
            commas between: rate=RATE, arrivals=DISTRIBUTION, start-delay=DURATION after the start \
            of traffic, stop-delay=DURATION before its end, replay=FILE as the frames of this \
            switch. Where several apply to a switch, the last one wins. In a TOML file each is a \
            table [[switch]] with the key index (3 or \"0-9\") and the same keys. The flag \
            replaces the tables of the file. In a sweep or a search a rate that is given here \
            stays as it is.",
        slot: |draft| &mut draft.switches.overrides,
        ..BASE
    },
];
