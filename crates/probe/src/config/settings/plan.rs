//! The settings of the plan: which trials a run consists of, and the conditions that its results
//! must meet.

use super::{BASE, Kind, Limits, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "plan.kind",
        flag: "plan",
        value_name: "PLAN",
        default: "point",
        example: "sweep",
        summary: "Which trials make up the run: point, sweep, search or rfc8456",
        manual: "point repeats one trial. sweep does so for every combination of plan.rates and \
            plan.switches. search finds the highest rate without loss and its confidence, the \
            highest rate answered above it, and the knee of the response time below it (open mode \
            only). rfc8456 runs the tests of RFC 8456, or some of them, as in rfc8456:5.1.3,5.1.8.",
        slot: |draft| &mut draft.plan.kind,
        ..BASE
    },
    Setting {
        key: "plan.repetitions",
        flag: "repetitions",
        value_name: "NUMBER",
        default: "1",
        example: "10",
        summary: "Trials per point",
        manual: "From two trials on, means have a 95 % confidence interval. RFC 8456 asks for at \
            least ten. The default suffices for a first look.",
        limits: Limits::Number(1.0, 10_000.0),
        slot: |draft| &mut draft.plan.repetitions,
        ..BASE
    },
    Setting {
        key: "plan.between",
        flag: "between",
        value_name: "COMMAND",
        example: "systemctl restart onos && sleep 60",
        summary: "Shell command between trials, for instance to restart the controller",
        manual: "Run by sh -c before every trial but the first. If the command fails, so does the \
            run.",
        slot: |draft| &mut draft.plan.between,
        ..BASE
    },
    Setting {
        key: "plan.rates",
        flag: "sweep-rates",
        value_name: "RATES",
        kind: Kind::List,
        example: "100,200,500..2000:500",
        summary: "Rates of a sweep, packet-ins per second and switch",
        manual: "Numbers and ranges with commas between. LOW..HIGH:STEP adds the step each time, \
            and LOW..HIGH:xFACTOR multiplies, as in 10..10k:x10. In a TOML file it may be an \
            array. Without it a sweep uses traffic.rate.",
        limits: Limits::Number(0.001, 100e6),
        slot: |draft| &mut draft.plan.rates,
        ..BASE
    },
    Setting {
        key: "plan.total-rates",
        flag: "total-rate",
        value_name: "RATES",
        kind: Kind::List,
        example: "1k,5k",
        summary: "Rates of a sweep or a point, packet-ins per second of all switches together",
        manual: "Replaces traffic.rate and plan.rates: each rate is shared equally among the \
            switches, so that a sweep over plan.switches shows the cost of their number alone. \
            Written like plan.rates.",
        limits: Limits::Number(0.001, 100e6),
        slot: |draft| &mut draft.plan.total_rates,
        ..BASE
    },
    Setting {
        key: "plan.switches",
        flag: "sweep-switches",
        value_name: "COUNTS",
        kind: Kind::List,
        example: "1,16..128:x2",
        summary: "Numbers of switches of a sweep",
        manual: "Written like plan.rates. Without it a sweep uses switches.count.",
        limits: Limits::Number(1.0, 100_000.0),
        slot: |draft| &mut draft.plan.switches,
        ..BASE
    },
    Setting {
        key: "plan.low",
        flag: "search-low",
        value_name: "RATE",
        default: "10",
        example: "1000",
        summary: "Rate at which a search begins, packet-ins per second and switch",
        manual: "If this rate is not loss-free, the search tries lower ones, down to a 1,024th of \
            it.",
        limits: Limits::Number(0.001, 100e6),
        slot: |draft| &mut draft.plan.low,
        ..BASE
    },
    Setting {
        key: "plan.high",
        flag: "search-high",
        value_name: "RATE",
        default: "100k",
        example: "5k",
        summary: "Highest rate of a search, packet-ins per second and switch",
        manual: "The default is beyond every controller: the search ends at the limit of the \
            controller or of the probe, and says at which.",
        limits: Limits::Number(0.001, 100e6),
        slot: |draft| &mut draft.plan.high,
        ..BASE
    },
    Setting {
        key: "plan.precision",
        flag: "search-precision",
        value_name: "FRACTION",
        default: "0.05",
        example: "0.01",
        summary: "Width of a search's bracket, as a fraction of the rate",
        manual: "The largest width of the bracket of the loss-free rate, as a fraction of the \
            rate. If trials differ by more, the bracket is wider and still contains the rate with \
            95 % confidence.",
        limits: Limits::Number(0.001, 0.5),
        slot: |draft| &mut draft.plan.precision,
        ..BASE
    },
    Setting {
        key: "plan.rough",
        flag: "search-rough",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "A search tries each rate once and states no confidence",
        manual: "The bracket is halved until it is narrow enough, and no fresh trials confirm its \
            ends. This takes half as many trials or fewer, but one trial that fails or passes by \
            chance moves the bracket.",
        slot: |draft| &mut draft.plan.rough,
        ..BASE
    },
    Setting {
        key: "plan.loss",
        flag: "search-loss",
        value_name: "FRACTION",
        default: "0",
        example: "0.001",
        summary: "Loss that a search tolerates as loss-free",
        manual: "Lost and unsent packet-ins as a share of those that were due. RFC 8456 calls a \
            rate loss-free only without any loss. A rate at which unanswered packet-ins pile up is \
            too high in any case, even if all are answered in the end.",
        limits: Limits::Number(0.0, 0.5),
        slot: |draft| &mut draft.plan.loss,
        ..BASE
    },
    Setting {
        key: "plan.thresholds",
        flag: "threshold",
        short: Some('t'),
        value_name: "CONDITION",
        kind: Kind::List,
        example: "rtt.p99 < 5ms",
        summary: "Condition that every point must meet; may be repeated",
        manual: "A metric, a comparison (<, <=, >, >=, ==, !=) and a value with its unit, such as \
            \"loss < 0.1%\" or \"rtt.p99 < 5ms\"; planimeter probe --help lists the metrics. The \
            mean over the trials of a point is compared. If a condition does not hold, the exit \
            status is 1, for use in continuous integration. In a TOML file it is an array, which \
            the flag replaces.",
        slot: |draft| &mut draft.plan.thresholds,
        ..BASE
    },
];
