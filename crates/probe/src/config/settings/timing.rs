//! The settings of the phases of a trial.

use super::{BASE, Kind, Limits, Setting, WEEK};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "timing.connect-timeout",
        flag: "connect-timeout",
        value_name: "DURATION",
        default: "auto",
        example: "1m",
        summary: "Patience until every switch finished its handshake",
        manual: "When it passes the trial fails and says how far each switch came, unless \
            timing.allow-missing is set. If no switch at all got ready and nothing restarts the \
            controller (plan.between), further trials are not tried. auto is ten seconds with \
            OpenFlow, which suffice for a thousand switches on a controller that runs, and a \
            minute with P4Runtime, since the controller dials: ONOS takes 12 to 50 s until it \
            dials a switch again that it knows. Give minutes to one that has just been started.",
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
        manual: "A trial with fewer switches than asked for offers less traffic than asked for; \
            that is why it fails by default.",
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
        manual: "The controller reads statistics, installs its first rules and discovers links. A \
            second suffices without links; controllers that probe links every few seconds need \
            several of their periods.",
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
        manual: "Just-in-time compilers, caches and queues reach their working state. Two seconds \
            suffice for compiled controllers; give those on the JVM half a minute where it \
            matters.",
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
        manual: "Packet-ins that are due in this time count, and the answers to them. At the \
            default rate ten seconds give 16,000 samples, enough for a 99th percentile.",
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
        manual: "A packet-in that has no answer by then is lost. It should be longer than \
            traffic.late-after, so that the last answers can be late rather than lost. The wait \
            ends early once everything is answered. With until-empty:LIMIT it ends once nothing \
            waits at the controller any more, so that a backlog, however long, is not taken for loss: \
            everything was answered, or passed over since a later packet-in of the same switch was \
            answered.",
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
        manual: "Makes a ramp: with 100 switches and 100ms the full rate is reached after ten \
            seconds. Without it all switches begin together.",
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
        manual: "Five samples per second draw a clear curve; CPU times of the kernel advance in \
            steps of 10ms, so that much shorter spacings show noise.",
        limits: Limits::Seconds(0.01, 3600.0),
        slot: |draft| &mut draft.timing.sample,
        ..BASE
    },
];
