//! The settings of the run as a whole.

use super::{BASE, Kind, Limits, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "protocol",
        flag: "protocol",
        short: Some('p'),
        value_name: "PROTOCOL",
        default: "openflow13",
        example: "p4runtime",
        summary: "Control protocol: openflow10, openflow13 or p4runtime",
        manual: "The protocol between the emulated switches and the controller. openflow10 and \
            openflow13 switches connect to the controller. p4runtime switches are gRPC servers to \
            which the controller connects; the sections P4Runtime and Controller say where they \
            listen and how it learns of them. Short names: of10, of13, of (which is 1.3) and p4rt. \
            OpenFlow 1.3 is the default because most controllers support it.",
        slot: |draft| &mut draft.protocol,
        ..BASE
    },
    Setting {
        key: "seed",
        flag: "seed",
        value_name: "NUMBER",
        default: "1",
        example: "42",
        summary: "Seed of every random choice",
        manual: "Two runs with the same seed and settings offer the same packets at the same \
            times. Each repetition of a trial derives a seed of its own from it. The default is \
            fixed, so that every run can be repeated.",
        slot: |draft| &mut draft.seed,
        ..BASE
    },
    Setting {
        key: "threads",
        flag: "threads",
        value_name: "NUMBER",
        default: "auto",
        example: "4",
        summary: "Engine threads, each with its share of the switches",
        manual: "auto is one thread if it can offer the load (250 k packet-ins/s over OpenFlow, 60 \
            k over P4Runtime), otherwise two if the host has three or more cores. The other cores \
            are left to the controller, which often shares the host. If the verdict says that the \
            probe was the limit, raise this number.",
        limits: Limits::Number(1.0, 256.0),
        slot: |draft| &mut draft.threads,
        ..BASE
    },
    Setting {
        key: "isolate",
        flag: "isolate",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "Give each engine thread a core of its own",
        manual: "Each engine thread runs on one core (the last ones that the probe may use) with \
            the highest priority, so that nothing delays the schedule. This needs root or \
            CAP_SYS_NICE, and at least one core must be left. Keep a controller on the same host \
            off these cores, with taskset for example: it would wait behind the engine, and its \
            answers would look late. Where the kernel groups threads by session, the session of \
            the probe has a higher priority during the run; if a run was killed, echo 0 > \
            /proc/self/autogroup restores it. --calibrate with an open loop isolates its threads \
            by itself if there are enough cores.",
        slot: |draft| &mut draft.isolate,
        ..BASE
    },
];
