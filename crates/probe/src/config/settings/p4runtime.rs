//! The settings of the P4Runtime servers.

use super::{BASE, Kind, Limits, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "p4runtime.listen",
        flag: "listen",
        value_name: "ADDRESS",
        default: "127.0.0.1",
        example: "0.0.0.0",
        summary: "Address that the P4Runtime servers bind to",
        manual: "By default only controllers on this host can connect, because P4Runtime without \
            TLS admits anyone. For a controller elsewhere, use the address of an interface, or \
            0.0.0.0 together with p4runtime.advertise.",
        slot: |draft| &mut draft.p4runtime.listen,
        ..BASE
    },
    Setting {
        key: "p4runtime.advertise",
        flag: "advertise",
        value_name: "ADDRESS",
        example: "192.0.2.10",
        summary: "Address that the controller is told to dial, if it differs",
        manual: "The address in the network configuration and in the list of switches, for servers \
            that bind to 0.0.0.0, run in a container, or are behind address translation.",
        slot: |draft| &mut draft.p4runtime.advertise,
        ..BASE
    },
    Setting {
        key: "p4runtime.first-port",
        flag: "first-port",
        value_name: "PORT",
        default: "20001",
        example: "50001",
        summary: "TCP port of the first P4Runtime server; the others count up",
        manual: "From 20001 on there are 12,767 ports below 32768, where the range of Linux for \
            outgoing connections begins; for more switches, put several devices behind each port. \
            The ports are taken before any controller connects and held until the run ends. A port \
            in use is skipped if the controller is told where the switches listen \
            (controller.list-file, controller.netcfg-file, controller.onos-rest, or --calibrate); \
            otherwise it is an error, since the controller expects consecutive ports.",
        limits: Limits::Number(1.0, 65_535.0),
        slot: |draft| &mut draft.p4runtime.first_port,
        ..BASE
    },
    Setting {
        key: "p4runtime.devices-per-port",
        flag: "devices-per-port",
        value_name: "NUMBER",
        default: "1",
        example: "100",
        summary: "P4Runtime devices behind each port",
        manual: "A real switch has a server of its own, therefore 1. A server may serve several \
            devices, which have different device ids; every device still has a stream of its own. \
            If the process may not open enough files (ulimit -n), more devices share each port, \
            and a note says so.",
        limits: Limits::Number(1.0, 100_000.0),
        slot: |draft| &mut draft.p4runtime.devices_per_port,
        ..BASE
    },
    Setting {
        key: "p4runtime.same-device-id",
        flag: "same-device-id",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "Give every device the first id; ports tell them apart",
        manual: "Mininet and the usual set-ups of ONOS have device id 1 behind every port, and \
            ONOS requests the port statistics of device 1 whatever id a switch has. Names in the \
            network configuration still count up.",
        slot: |draft| &mut draft.p4runtime.same_device_id,
        ..BASE
    },
    Setting {
        key: "p4runtime.p4info",
        flag: "p4info",
        value_name: "FILE",
        example: "basic.p4info.txt",
        summary: "Pipeline that switches have from the start (P4Info, text format)",
        manual: "Without it, switches have no pipeline until the controller pushes one, like new \
            switches.",
        slot: |draft| &mut draft.p4runtime.p4info,
        ..BASE
    },
    Setting {
        key: "p4runtime.device-config",
        flag: "device-config",
        value_name: "FILE",
        example: "basic.json",
        summary: "Device configuration that goes with the P4Info",
        manual: "Any bytes. The emulated switches store them and return them when the controller \
            reads its pipeline.",
        slot: |draft| &mut draft.p4runtime.device_config,
        ..BASE
    },
    Setting {
        key: "p4runtime.cookie",
        flag: "cookie",
        value_name: "NUMBER",
        default: "0",
        example: "0xc34a1bef3219e4f4",
        summary: "Pipeline cookie that goes with the P4Info",
        manual: "A controller that finds the cookie it expects does not push its pipeline. ONOS \
            expects 0xc34a1bef3219e4f4 for its basic pipeline.",
        slot: |draft| &mut draft.p4runtime.cookie,
        ..BASE
    },
    Setting {
        key: "p4runtime.port-form",
        flag: "port-form",
        value_name: "FORM",
        default: "canonical",
        example: "full-width",
        summary: "Form of port numbers in packet-in metadata: canonical or full-width",
        manual: "canonical is the form of the P4Runtime specification, the fewest bytes that hold \
            the number. Some controllers expect the full width of the field, which is two bytes \
            for the usual nine bits.",
        slot: |draft| &mut draft.p4runtime.port_form,
        ..BASE
    },
    Setting {
        key: "p4runtime.digest",
        flag: "digest",
        value_name: "NAME",
        example: "mac_learn_digest_t",
        summary: "The digest that switches send if traffic.load is digest",
        manual: "Its name or alias in P4Info. Without it, the first digest that the pipeline \
            declares. If the pipeline has no such digest, the run ends with the names of those \
            that it declares.",
        slot: |draft| &mut draft.p4runtime.digest,
        ..BASE
    },
    Setting {
        key: "p4runtime.idle-table",
        flag: "idle-table",
        value_name: "NAME",
        example: "hosts",
        summary: "The table whose entries are idle if traffic.load is idle-timeout",
        manual: "Its name or alias in P4Info. Without it, the first suitable table of the \
            pipeline: it has idle time-outs, its entries can be written and have an action, and \
            its key has 32 bits or more, since the key holds the number of the entry.",
        slot: |draft| &mut draft.p4runtime.idle_table,
        ..BASE
    },
    Setting {
        key: "p4runtime.cpu-port",
        flag: "cpu-port",
        value_name: "PORT",
        default: "255",
        example: "510",
        summary: "The controller's port in the programs that the switches of plan rfc8456 run",
        manual: "Packets that a program sends out of this port are packet-ins, and packet-outs \
            enter by it, as with --cpu-port of simple_switch_grpc and planimeter switch. Only the \
            tests of RFC 8456 run programs. The number of PSA's PSA_PORT_CPU works as well.",
        limits: Limits::Number(0.0, 65_535.0),
        slot: |draft| &mut draft.p4runtime.cpu_port,
        ..BASE
    },
];
