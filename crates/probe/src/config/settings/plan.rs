//! The settings of the plan: its trials, and the thresholds that make a run fail.

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
            plan.switches. search looks for the highest rate without loss and its confidence, for the \
            highest rate answered, above it, and for the knee of the response time, below it (open \
            mode only). rfc8456 runs the tests of RFC 8456, all of them or, as in \
            rfc8456:5.1.3,5.1.8, some.",
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
        manual: "From two on, means come with a 95 % confidence interval. RFC 8456 asks for at \
            least ten. The default is for a first look.",
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
        manual: "Run by sh -c before every trial but the first. If it fails, so does the run.",
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
            LOW..HIGH:xFACTOR multiplies, as in 10..10k:x10. In a TOML file also an array. Without \
            it a sweep uses traffic.rate.",
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
        manual: "Instead of traffic.rate or plan.rates: each rate is shared equally among the switches, \
            so that a sweep over plan.switches shows what their number alone costs. Written like \
            plan.rates.",
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
        manual: "A search that meets loss here goes below by itself, down to a 1,024th of the rate.",
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
        manual: "The default is beyond every controller: the search ends at the controller's limit \
            or at the probe's own, and says at which.",
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
        summary: "A search stops when it knows the rate to this fraction",
        manual: "How wide the bracket of the loss-free rate may be. Where trials differ by more, it is \
            wider, and holds the rate with 95 % confidence all the same.",
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
        manual: "The bracket is halved until it is narrow enough, and no fresh trials confirm its ends. \
            This takes half as many trials or fewer; one trial that failed or passed by chance moves the bracket.",
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
        manual: "Packet-ins without answer over packet-ins sent. RFC 8456 calls a rate loss-free \
            only without any loss. A rate at which unanswered packet-ins pile up is too high in \
            any case, though all are answered in the end.",
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
            \"loss < 0.1%\" or \"rtt.p99 < 5ms\"; the metrics are listed at the end of this \
            manual. The mean over the trials of a point is compared. If a condition does not hold \
            the exit status is 1, for use in continuous integration. In a TOML file an array; the \
            flag replaces that of the file.",
        slot: |draft| &mut draft.plan.thresholds,
        ..BASE
    },
];
