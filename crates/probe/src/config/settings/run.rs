//! The settings of the run as a whole.

use super::{BASE, Limits, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "protocol",
        flag: "protocol",
        short: Some('p'),
        value_name: "PROTOCOL",
        default: "openflow13",
        example: "p4runtime",
        summary: "Control protocol: openflow10, openflow13 or p4runtime",
        manual: "How the emulated switches talk to the controller. openflow10 and openflow13 \
            switches dial the controller, as real ones do. p4runtime switches are gRPC servers \
            that the controller dials; see the section P4Runtime for where they listen and the \
            section Controller for how it learns of them. Short names: of10, of13, of (which is \
            1.3) and p4rt. OpenFlow 1.3 is the default because most controllers speak it.",
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
            times. Each repetition of a trial derives a seed of its own from this one. The default \
            is fixed, so that a run can be repeated without having noted anything.",
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
        manual: "auto takes one thread where the offered load fits one (250 k packet-ins/s over \
            OpenFlow, 60 k over P4Runtime), otherwise two if the host has three or more cores. \
            The other cores are left to the controller, which often shares the host. A run that was limited by \
            the probe says so: then raise this number.",
        limits: Limits::Number(1.0, 256.0),
        slot: |draft| &mut draft.threads,
        ..BASE
    },
    Setting {
        key: "isolate",
        flag: "isolate",
        value_name: "BOOLEAN",
        default: "false",
        example: "true",
        summary: "Give each engine thread a core of its own",
        manual: "Each engine thread stays on one core (the last ones that the probe may use) and \
            gets the highest priority there, which needs root or CAP_SYS_NICE, so that nothing \
            delays the schedule. Where the kernel groups threads by session, the session of the \
            probe goes before others for as long as the run lasts (a run that is killed leaves it \
            so; echo 0 > /proc/self/autogroup puts it back). Keep a controller on the same host off these cores, with \
            taskset for example: it would wait behind the engine, and its answers would look \
            late. At least one core must be left. --calibrate with an open loop does all that by \
            itself where cores are left.",
        slot: |draft| &mut draft.isolate,
        ..BASE
    },
];
