//! The settings that only the tests of RFC 8456 use.

use super::{BASE, Limits, Setting, WEEK};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "rfc8456.rate",
        flag: "rfc8456-rate",
        value_name: "RATE",
        default: "100",
        example: "1k",
        summary: "New paths, and packets of a stream, per second",
        manual: "The rate of the tests of paths (5.1.6, 5.1.7, 5.2.3), and the resolution of those \
            of streams (5.4.1, 5.4.2): a time is known to one over the rate. For streams of new \
            flows, RFC 8456 asks for the rate that 5.1.3 yields, which is a figure of the same \
            run.",
        limits: Limits::Number(1.0, 1e6),
        slot: |draft| &mut draft.rfc8456.rate,
        ..BASE
    },
    Setting {
        key: "rfc8456.flows",
        flag: "rfc8456-flows",
        value_name: "NUMBER",
        default: "10k",
        example: "100k",
        summary: "Largest number of flows that a trial offers",
        manual: "The limit of the search for the forwarding table capacity (5.2.3).",
        limits: Limits::Number(1.0, 16_000_000.0),
        slot: |draft| &mut draft.rfc8456.flows,
        ..BASE
    },
    Setting {
        key: "rfc8456.switches",
        flag: "rfc8456-switches",
        value_name: "NUMBER",
        default: "256",
        example: "2k",
        summary: "Largest number of switches in the tests of a capacity",
        manual: "The limit of the searches for control sessions (5.2.1) and network discovery size \
            (5.2.2). The search for the discovery size ends earlier if a topology from a file has \
            fewer linked switches.",
        limits: Limits::Number(2.0, 100_000.0),
        slot: |draft| &mut draft.rfc8456.switches,
        ..BASE
    },
    Setting {
        key: "rfc8456.interval",
        flag: "rfc8456-interval",
        value_name: "DURATION",
        default: "3s",
        example: "500ms",
        summary: "Interval at which the controller's topology and entries are read",
        manual: "For the topology RFC 8456 recommends 3 s (5.1.1); the entries are those of 5.2.3.",
        limits: Limits::Seconds(0.01, WEEK),
        slot: |draft| &mut draft.rfc8456.interval,
        ..BASE
    },
    Setting {
        key: "rfc8456.standby",
        flag: "rfc8456-standby",
        value_name: "ADDRESSES",
        example: "192.0.2.8:6653",
        summary: "Standby OpenFlow controllers, with commas between",
        manual: "For the failover test (5.4.1). OpenFlow 1.3 switches connect to all of them from \
            the beginning, and their roles decide. OpenFlow 1.0 has no roles, so a switch connects \
            to the next one when it loses its controller. P4Runtime controllers connect by \
            themselves, and election ids decide.",
        slot: |draft| &mut draft.rfc8456.standby,
        ..BASE
    },
    Setting {
        key: "rfc8456.fail",
        flag: "rfc8456-fail",
        value_name: "COMMAND",
        example: "kill -9 $(cat active.pid)",
        summary: "Shell command that ends the active controller",
        manual: "For the failover test (5.4.1), run by sh -c. It must return when the controller \
            has ended. plan.between has to start the controller again.",
        slot: |draft| &mut draft.rfc8456.fail,
        ..BASE
    },
    Setting {
        key: "rfc8456.northbound",
        flag: "northbound",
        value_name: "KIND:WHERE",
        example: "ofctl:http://127.0.0.1:8080",
        summary: "The northbound interface of the controller",
        manual: "Interface at which the topology and its flows are read, and paths are requested \
            (5.1.5, 5.1.7). ofctl:URL is the REST of os-ken and Ryu (ofctl_rest and \
            rest_topology); onos:URL is that of ONOS with --onos-user and --onos-password; \
            command:COMMAND is a command of yours, run by sh -c with the request in \
            PLANIMETER_ASK; see docs/rfc8456.md.",
        slot: |draft| &mut draft.rfc8456.northbound,
        ..BASE
    },
];
