//! The settings for the durations of the phases of a trial.

use super::{BASE, Kind, Limits, Setting, WEEK};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "timing.connect-timeout",
        flag: "connect-timeout",
        value_name: "DURATION",
        default: "auto",
        example: "1m",
        summary: "Time limit for the handshakes of all switches",
        manual: "After this time the trial fails and says how far each switch came, unless \
            timing.allow-missing is set. If no switch got ready and nothing restarts the \
            controller (plan.between), the remaining trials are skipped. auto is ten seconds with \
            OpenFlow, enough for a thousand switches on a running controller, and a minute with \
            P4Runtime, since ONOS takes 12 to 50 s to connect again to a switch that it knows. Use \
            minutes for a controller that has just been started.",
        limits: Limits::Seconds(0.1, WEEK),
        slot: |draft| &mut draft.timing.connect_timeout,
        ..BASE
    },
    Setting {
        key: "timing.allow-missing",
        flag: "allow-missing",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "Go on with the switches that are connected in time",
        manual: "By default such a trial fails, because fewer switches offer less traffic than \
            requested.",
        slot: |draft| &mut draft.timing.allow_missing,
        ..BASE
    },
    Setting {
        key: "timing.settle",
        flag: "settle",
        value_name: "DURATION",
        default: "1s",
        example: "10s",
        summary: "Quiet time between the last handshake and the first packet",
        manual: "In this time the controller reads statistics, installs its first rules and \
            discovers links. One second suffices without links; controllers that probe links every \
            few seconds need several of their periods.",
        limits: Limits::Seconds(0.0, WEEK),
        slot: |draft| &mut draft.timing.settle,
        ..BASE
    },
    Setting {
        key: "timing.warm-up",
        flag: "warm-up",
        value_name: "DURATION",
        default: "2s",
        example: "30s",
        summary: "Traffic that is not measured, before the measured part",
        manual: "In this time just-in-time compilers, caches and queues reach their working state. \
            Two seconds suffice for compiled controllers; controllers on the JVM may need half a \
            minute.",
        limits: Limits::Seconds(0.0, WEEK),
        slot: |draft| &mut draft.timing.warm_up,
        ..BASE
    },
    Setting {
        key: "timing.measure",
        flag: "duration",
        short: Some('d'),
        value_name: "DURATION",
        default: "10s",
        example: "1m",
        summary: "Traffic that is measured",
        manual: "Packet-ins that are due in this time are counted, with their answers. At the \
            default rate, ten seconds yield 16,000 samples, enough for the 99th percentile.",
        limits: Limits::Seconds(0.01, WEEK),
        slot: |draft| &mut draft.timing.measure,
        ..BASE
    },
    Setting {
        key: "timing.drain",
        flag: "drain",
        value_name: "DURATION",
        default: "2s",
        example: "until-empty:5m",
        summary: "Time to wait for answers after the last packet-in, or until-empty:LIMIT",
        manual: "A packet-in without an answer when this time ends is lost. It should be longer \
            than traffic.late-after, so that the last answers can be late rather than lost. The \
            wait ends early once everything is answered. With until-empty:LIMIT it lasts until no \
            packet-in waits at the controller any more, but at most LIMIT: each was answered, or \
            passed over, which means that a later packet-in of its switch was answered. A long \
            backlog then does not count as loss.",
        limits: Limits::Seconds(0.0, WEEK),
        slot: |draft| &mut draft.timing.drain,
        ..BASE
    },
    Setting {
        key: "timing.start-stagger",
        flag: "start-stagger",
        value_name: "DURATION",
        default: "0s",
        example: "100ms",
        summary: "Each further switch begins its traffic this much later",
        manual: "This makes a ramp: with 100 switches and 100ms, the full rate is reached after \
            ten seconds. With 0s all switches begin together.",
        limits: Limits::Seconds(0.0, WEEK),
        slot: |draft| &mut draft.timing.start_stagger,
        ..BASE
    },
    Setting {
        key: "timing.sample",
        flag: "sample",
        value_name: "DURATION",
        default: "200ms",
        example: "1s",
        summary: "Spacing of samples of outstanding packet-ins, CPU and memory",
        manual: "Five samples per second draw a clear curve. The kernel counts CPU time in steps \
            of 10ms, so much shorter intervals show noise.",
        limits: Limits::Seconds(0.01, 3600.0),
        slot: |draft| &mut draft.timing.sample,
        ..BASE
    },
];
