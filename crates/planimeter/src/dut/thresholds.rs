//! The figures that conditions of `--threshold` may name.

use std::iter::repeat;

use ::dut::background::Cost;
use ::dut::effects::{Gap, Summary};
use ::dut::groups::Distribution;
use ::dut::meters::MeasuredMeter;
use ::dut::slow_path::{Crossing, Direction};
use ::dut::updates::Measured;
use ::dut::{Operation, Outcome};
use statistics::{Condition, Estimate, Unit};

use super::updates::latency;
use crate::threshold::{self, Metric};

/// A figure of a measurement that conditions can name.
struct Figure {
    name: &'static str,
    unit: Unit,
    /// A function that returns the value of the figure in its base unit, or `None` if it was not
    /// measured.
    value: fn(&Outcome) -> Option<f64>,
}

const fn rate(name: &'static str, value: fn(&Outcome) -> Option<f64>) -> Figure {
    Figure { name, unit: Unit::PerSecond, value }
}

const fn time(name: &'static str, value: fn(&Outcome) -> Option<f64>) -> Figure {
    Figure { name, unit: Unit::Seconds, value }
}

const fn count(name: &'static str, value: fn(&Outcome) -> Option<f64>) -> Figure {
    Figure { name, unit: Unit::Count, value }
}

const FIGURES: [Figure; 30] = [
    rate("insert-rate", |outcome| highest_rate(outcome, Operation::Insert)),
    rate("modify-rate", |outcome| highest_rate(outcome, Operation::Modify)),
    rate("delete-rate", |outcome| highest_rate(outcome, Operation::Delete)),
    rate("sustained-rate", |outcome| outcome.sustained.as_ref()?.found.loss_free_rate),
    time("insert-p50", |outcome| answered(outcome, Operation::Insert, 0.5)),
    time("insert-p99", |outcome| answered(outcome, Operation::Insert, 0.99)),
    time("modify-p50", |outcome| answered(outcome, Operation::Modify, 0.5)),
    time("modify-p99", |outcome| answered(outcome, Operation::Modify, 0.99)),
    time("delete-p50", |outcome| answered(outcome, Operation::Delete, 0.5)),
    time("delete-p99", |outcome| answered(outcome, Operation::Delete, 0.99)),
    rate("read-rate", |outcome| mean(&outcome.reads.as_ref()?.rates)),
    rate("counter-read-rate", |outcome| mean(&outcome.reads.as_ref()?.counters.as_ref()?.rates)),
    count("wrong-reads", |outcome| Some(outcome.reads.as_ref()?.wrong as f64)),
    count("stale-counters", |outcome| {
        let ages = outcome.counters.as_ref()?.ages.iter();
        Some(ages.filter(|age| age.least > Gap(0)).count() as f64)
    }),
    count("capacity", |outcome| Some(outcome.capacity.first()?.entries as f64)),
    rate("forwarding-rate-empty", |outcome| forwarding(outcome, 0)),
    rate("forwarding-rate-full", |outcome| forwarding(outcome, 100)),
    count("lost-beside", lost_beside),
    count("after", |outcome| effects(outcome, |kind| kind.early)),
    count("lost", |outcome| effects(outcome, |kind| kind.losses.changes.wrong)),
    count("astray", |outcome| effects(outcome, |kind| kind.changes.astray())),
    count("twice", |outcome| effects(outcome, |kind| kind.changes.both + kind.changes.repeated)),
    count("torn", |outcome| effects(outcome, |kind| kind.torn)),
    rate("packet-in-rate", |outcome| mean(&crossing(outcome, Direction::PacketIn)?.rates)),
    rate("packet-out-rate", |outcome| mean(&crossing(outcome, Direction::PacketOut)?.rates)),
    count("packets-lost-on-slow-path", |outcome| {
        let loads = outcome.slow_path.iter().flat_map(|found| &found.crossings);
        let lost = loads.flat_map(|one| &one.loads).map(|load| load.counts.lost);
        outcome.slow_path.as_ref().map(|_| lost.sum::<u64>() as f64)
    }),
    count("writes-of-displaced", |outcome| {
        let takeovers = outcome.roles.as_ref()?.takeovers.iter();
        Some(takeovers.map(|one| one.accepted).sum::<u64>() as f64)
    }),
    count("early-timeouts", |outcome| {
        let early = outcome.timeouts.iter().map(|timed| timed.early()).reduce(|a, b| a + b);
        early.map(|early| early as f64)
    }),
    count("meter-deviations", meter_deviations),
    count("group-faults", |outcome| {
        let groups = &outcome.groups.as_ref()?.groups;
        let is_fault = |group: &&Distribution| group.assess().is_none_or(|found| found.is_fault());
        (!groups.is_empty()).then(|| groups.iter().filter(is_fault).count() as f64)
    }),
];

/// The names and units of the figures that conditions can name.
pub(super) const METRICS: [Metric; FIGURES.len()] = {
    let mut metrics = [("", Unit::Count); FIGURES.len()];
    let mut position = 0;
    while position < FIGURES.len() {
        metrics[position] = (FIGURES[position].name, FIGURES[position].unit);
        position += 1;
    }
    metrics
};

/// Returns a sentence for each condition that does not hold. If the measurement was interrupted, a
/// figure that was not measured violates no condition.
pub(super) fn broken(
    outcome: &Outcome,
    conditions: &[Condition],
    interrupted: bool,
) -> Vec<String> {
    let broken = conditions.iter().filter_map(|condition| {
        let figure = FIGURES.iter().find(|figure| figure.name == condition.metric());
        let value = figure.and_then(|figure| (figure.value)(outcome));
        if interrupted && value.is_none() {
            return None;
        }
        threshold::broken(condition, &METRICS, "this switch", value)
    });
    broken.collect()
}

/// Returns the number of certain deviations of meters from their configuration. If there are none,
/// but a meter was not measured or its rate is not known, returns `None`, because that meter may
/// deviate.
fn meter_deviations(outcome: &Outcome) -> Option<f64> {
    let meters = &outcome.meters.as_ref()?.meters;
    let deviations: usize =
        meters.iter().flat_map(|meter| &meter.found).map(|one| one.faults().len()).sum();
    let is_known = |meter: &MeasuredMeter| {
        !meter.found.is_empty() && meter.found.iter().all(|one| one.observed.rate.is_some())
    };
    let are_known = !meters.is_empty() && meters.iter().all(is_known);
    (deviations > 0 || are_known).then_some(deviations as f64)
}

/// Returns the number of packets that were lost during updates, reads and the test of capacity, or
/// `None` if no packets were sent then.
fn lost_beside(outcome: &Outcome) -> Option<f64> {
    let updates = outcome.updates.iter().filter_map(Measured::packets);
    let reads = outcome.reads.iter().filter_map(|reads| reads.packets.clone());
    let levels = outcome.capacity.iter().flat_map(|one| one.levels.iter().zip(repeat(one)));
    let levels = levels.filter_map(|(level, one)| level.packets(one.packets_per_second?));
    let costs: Vec<Cost> = updates.chain(reads).chain(levels).collect();
    (!costs.is_empty()).then(|| costs.iter().map(|cost| cost.busy.lost).sum::<u64>() as f64)
}

/// Returns the highest rate of forwarding without loss when this percentage of the table is filled.
fn forwarding(outcome: &Outcome, percent: u8) -> Option<f64> {
    let mut levels = outcome.capacity.first()?.levels.iter();
    levels.find(|level| level.percent == percent)?.forwarding.as_ref()?.found.loss_free_rate
}

fn mean(values: &[f64]) -> Option<f64> {
    Estimate::of(values).map(|estimate| estimate.mean)
}

fn of_operation(outcome: &Outcome, operation: Operation) -> impl Iterator<Item = &Measured> {
    outcome.updates.iter().filter(move |one| one.operation == operation)
}

/// Returns the rate of updates under the load that yields the highest rate.
fn highest_rate(outcome: &Outcome, operation: Operation) -> Option<f64> {
    let rates = of_operation(outcome, operation).filter_map(|one| mean(&one.rates()));
    rates.max_by(f64::total_cmp)
}

/// Returns a percentile of the time until the switch answers a request with a single update, while
/// no other request waits.
fn answered(outcome: &Outcome, operation: Operation, share: f64) -> Option<f64> {
    let is_single = |one: &&Measured| (one.load.batch, one.load.window) == (1, 1);
    let single = of_operation(outcome, operation).find(is_single)?;
    latency(single, share).map(|time| time.value)
}

fn effects(outcome: &Outcome, count: fn(&Summary) -> u64) -> Option<f64> {
    let kinds = &outcome.effects.as_ref()?.kinds;
    Some(kinds.iter().map(|kind| count(&kind.summary)).sum::<u64>() as f64)
}

fn crossing(outcome: &Outcome, direction: Direction) -> Option<&Crossing> {
    let crossings = &outcome.slow_path.as_ref()?.crossings;
    crossings.iter().find(|crossing| crossing.direction == direction)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ::dut::background::Forwarded;
    use ::dut::capacity::{self, Ending};
    use ::dut::counters;
    use ::dut::effects::Range;
    use ::dut::meters::{Bucket, Control, Found, Level, Observed, TokenUnit};
    use ::dut::updates::{Load, LoadedTable};
    use ::dut::{Phase, Protocol, Subject, groups, meters, reads};
    use statistics::Interval;

    use super::super::arguments::THRESHOLD;
    use super::*;

    /// Returns the outcome for a switch that accepts requests of one update each, in each round at
    /// the rate (per second) that `rates` states.
    fn outcome(rates: &[f64]) -> Outcome {
        let rounds = rates.iter().map(|rate| Phase {
            accepted: vec![::dut::EntryNumber(0); 1000],
            duration: Duration::from_secs_f64(1000.0 / rate),
            ..Phase::default()
        });
        let insert = Measured {
            table: LoadedTable { name: String::new(), kind: None, size: None },
            load: Load::new(1, 1),
            operation: Operation::Insert,
            before: 0,
            unimplemented: None,
            idle: None,
            packets_per_second: 0.0,
            rounds: rounds.collect(),
        };
        Outcome {
            subject: Subject {
                protocol: Protocol::P4Runtime { version: None },
                table: String::new(),
                size: None,
                keys: Vec::new(),
                action: String::new(),
                is_modifiable: false,
                own_file: None,
                present: 0,
                usable: 0,
            },
            updates: vec![insert],
            reads: Some(reads::Measured {
                transport: None,
                counters: None,
                expected: 5,
                rates: vec![10.0],
                wrong: 2,
                reads: 9,
                packets: None,
                is_limited_here: false,
            }),
            capacity: vec![capacity::Measured {
                table: LoadedTable { name: String::new(), kind: None, size: None },
                entries: 1024,
                first_refusal: None,
                ending: Ending::AllInserted,
                steps: Vec::new(),
                is_freed: None,
                missing: None,
                levels: Vec::new(),
                packets_per_second: None,
                memory: None,
            }],
            effects: None,
            slow_path: None,
            roles: None,
            digests: None,
            sustained: None,
            commits: None,
            counters: None,
            meters: None,
            groups: None,
            timeouts: Vec::new(),
            late_errors: 0,
            notes: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn texts(conditions: &[&str], interrupted: bool) -> Vec<String> {
        let parse = threshold::condition(&METRICS);
        let conditions: Vec<_> =
            conditions.iter().map(|text| parse(text).expect("a condition")).collect();
        broken(&outcome(&[1500.0, 2500.0]), &conditions, interrupted)
    }

    #[test]
    fn conditions_are_held_against_the_figures_of_the_switch() {
        let kept =
            ["insert-rate >= 1.9k", "capacity == 1024", "wrong-reads <= 2", "read-rate < 11"];
        assert_eq!(texts(&kept, false), Vec::<String>::new());
        assert_eq!(
            texts(&["insert-rate > 2.1k", "wrong-reads == 0"], true),
            [
                "threshold insert-rate > 2.1k does not hold for this switch: it is 2.00 k/s",
                "threshold wrong-reads == 0 does not hold for this switch: it is 2",
            ]
        );
    }

    fn is_broken(outcome: &Outcome, condition: &str) -> bool {
        let condition = threshold::condition(&METRICS)(condition).expect("a condition");
        !broken(outcome, &[condition], false).is_empty()
    }

    /// The latency figures come from the load of single requests, under the first of the requested
    /// occupancies and the first of the requested atomicities.
    #[test]
    fn latencies_are_those_of_single_requests_into_a_table_with_entries() {
        let mut occupied = outcome(&[1000.0]);
        for one in &mut occupied.updates {
            one.load.occupancy = 50;
            for round in &mut one.rounds {
                let call = |at: u64| ::dut::Call {
                    sent: Duration::ZERO,
                    answered: Duration::from_millis(at),
                    updates: 1,
                    refused: 0,
                };
                round.calls = (1..=1000).map(|_| call(3)).collect();
            }
        }
        assert!(!is_broken(&occupied, "insert-p50 < 4ms"));
        assert!(is_broken(&occupied, "insert-p50 < 2ms"));
    }

    #[test]
    fn values_of_a_counter_are_counted_that_are_older_than_their_request() {
        let age = |least| Range { least: Gap(least), most: Gap(9_000_000) };
        let ages = vec![age(0), age(5_000_000), age(7_000_000)];
        let counters = Some(counters::Measured { ages, ..counters::Measured::default() });
        let found = Outcome { counters, ..outcome(&[]) };
        assert!(!is_broken(&found, "stale-counters == 2"));
        assert!(is_broken(&found, "stale-counters == 0"));
        assert!(is_broken(&outcome(&[]), "stale-counters == 0"), "it was not measured");
    }

    #[test]
    fn packets_that_were_lost_beside_reads_are_counted() {
        let mut found = outcome(&[1000.0]);
        assert!(is_broken(&found, "lost-beside == 0"), "no packets passed");
        if let Some(reads) = &mut found.reads {
            let busy = Forwarded { sent: 100, lost: 3, delays: Vec::new() };
            reads.packets = Some(Cost { rate: 1000.0, busy, ..Cost::default() });
        }
        assert!(!is_broken(&found, "lost-beside == 3"));
        assert!(is_broken(&found, "lost-beside == 0"));
    }

    #[test]
    fn groups_are_counted_whose_shares_contradict_their_weights() {
        let group = |counts: [u64; 2]| Distribution {
            name: String::new(),
            ports: vec![2, 3],
            weights: vec![1, 1],
            counts: counts.to_vec(),
            changed: 0,
            lost: 0,
        };
        let with = |groups| Outcome {
            groups: Some(groups::Measured { groups, reasons: Vec::new() }),
            ..outcome(&[])
        };
        assert!(!is_broken(&with(vec![group([500, 500])]), "group-faults == 0"));
        let faulty = with(vec![group([500, 500]), group([900, 100]), group([0, 0])]);
        assert!(!is_broken(&faulty, "group-faults == 2"));
        assert!(is_broken(&with(Vec::new()), "group-faults == 0"));
    }

    /// Two meters may deviate without being known to: the rate of `unknown` is not known, and a
    /// meter without a bucket was not measured. The meter `found` does deviate, because it never
    /// refused a packet.
    #[test]
    fn deviations_of_meters_are_counted_if_none_can_be_hidden() {
        let bucket = Bucket { rate: 1000.0, burst: 1000.0 };
        let observed =
            Observed { rate: None, burst: None, excess: -1.0, offered: 10, passed: 10, refused: 0 };
        let found = Found { level: Level::Committed, configured: bucket, observed, beyond: -1.0 };
        let known =
            Observed { rate: Some(Interval { low: 990.0, high: 1010.0 }), refused: 1, ..observed };
        let [known, unknown] = [known, Observed { refused: 1, ..observed }]
            .map(|observed| Found { observed, ..found });
        let with = |each: &[&[Found]]| {
            let meters = each.iter().map(|found| MeasuredMeter {
                name: String::new(),
                unit: TokenUnit::Packets,
                length: 128,
                offered: 4000.0,
                control: Control::default(),
                found: found.to_vec(),
            });
            let meters = Some(meters::Measured { meters: meters.collect(), ..Default::default() });
            Outcome { meters, ..outcome(&[]) }
        };
        assert!(!is_broken(&with(&[&[known]]), "meter-deviations == 0"));
        assert!(!is_broken(&with(&[&[known], &[found]]), "meter-deviations == 1"));
        for hidden in [&[&[known, unknown][..]][..], &[&[known], &[]], &[]] {
            assert!(is_broken(&with(hidden), "meter-deviations == 0"));
        }
    }

    #[test]
    fn the_help_names_every_figure() {
        for (name, _) in METRICS {
            let stem = name.trim_end_matches("-p50").trim_end_matches("-p99");
            let rate = format!("{stem}-rate");
            let is_named = THRESHOLD.contains(name) || (stem != name && THRESHOLD.contains(&rate));
            assert!(is_named, "{name}");
        }
    }

    #[test]
    fn a_figure_that_was_not_measured_breaks_a_condition_unless_the_user_interrupted() {
        let conditions = ["torn == 0", "insert-p99 < 1s", "early-timeouts == 0", "twice == 0"];
        let texts_of = texts(&conditions, false);
        assert_eq!(texts_of.len(), 4, "{texts_of:?}");
        assert!(texts_of.iter().all(|text| text.ends_with("there is no value")), "{texts_of:?}");
        assert_eq!(texts(&conditions, true), Vec::<String>::new());
    }
}
