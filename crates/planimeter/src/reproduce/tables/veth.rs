//! Measures updates of table entries in `planimeter switch` on a virtual interface. An entry is
//! updated by the packet itself, by a controller that answers the packet's digest over P4Runtime,
//! or by the controller of its own accord. All three are measured with the same switch and by one
//! clock.

mod bench;
mod controller;
mod wire;

use ::device::measure::{ProgramPath, SwitchProcess};
use packetio::namespace::Namespace;
use report::page::Figure;
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Estimate, Ordered, Unit};

use self::bench::{BYTES, Bench, Changes, ENTRIES, Found, Length, METHOD_BYTES, RATE, WINDOW};
use self::controller::{Controller, Load};
use self::wire::Wire;
use super::super::claims::System;
use super::super::section::{Beside, Measured, ratios};
use crate::bench::PAPER;
use crate::environment::{Environment, SEED};
use crate::failure::Failure;
use crate::invocation;
use crate::program;

const NAME: &str = "planimeter switch on veth";

/// A method by which packets update entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Pointer,
    Change,
    Digest,
}

impl Method {
    const ALL: [Self; 3] = [Self::Pointer, Self::Change, Self::Digest];

    /// Returns the key of the method in the file of published values.
    fn key(self) -> &'static str {
        match self {
            Self::Pointer => "pointer",
            Self::Change => "change-quiescent",
            Self::Digest => "digest",
        }
    }

    /// Returns the P4 program that uses this method, with its number of entries.
    fn load(self) -> Result<Load, Failure> {
        let define = match self {
            Self::Pointer => "#define UPDATE \"pointer\"",
            Self::Change => "#define UPDATE \"change\"",
            Self::Digest => "#define DIGEST",
        };
        let (name, source) = PAPER;
        let text = format!("{define}\n{source}");
        let program = program::embedded(name, &text)?;
        let p4info = p4lang::p4info::generate(&program).map_err(|errors| {
            Failure::run(errors.iter().map(ToString::to_string).collect::<String>())
        })?;
        Ok(Load { text, p4info, entries: ENTRIES })
    }
}

/// The figures of all update methods.
#[derive(Debug, Default)]
struct Results {
    methods: [Found; 3],
    changes: Changes,
}

/// Measures the update methods with a switch on a virtual interface, and adds their figures, or the
/// reason why there are none.
pub(super) fn put(measured: &mut Measured, environment: &Environment<'_>) -> Result<(), Failure> {
    match measure(environment) {
        Ok(results) => {
            add(measured, &results);
            Ok(())
        }
        Err(failure) if environment.interrupted() => Err(failure),
        Err(failure) => {
            let reason = format!("{NAME} was not measured: {failure}");
            for key in [OVER_POINTER, OVER_ROUND_TRIP] {
                measured.inconclusive(System::Veth, key, reason.clone());
            }
            measured.remarks.push(format!("{reason}."));
            Ok(())
        }
    }
}

const OVER_POINTER: &str = "digest-over-pointer.latency";
const OVER_ROUND_TRIP: &str = "digest.delay-over-round-trip";

/// Adds the figures to those of packets that stay in memory.
fn add(measured: &mut Measured, results: &Results) {
    let mut beside = Beside { name: NAME.to_owned(), values: Default::default() };
    let mut put = |key: String, estimate: Option<Estimate>, unit| {
        if let Some(estimate) = estimate {
            beside.values.insert(key, Value::estimate(&estimate, unit).into());
        }
    };
    for (method, found) in Method::ALL.iter().zip(&results.methods) {
        let key = method.key();
        for (name, share) in [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p99", 0.99)] {
            let delay = found.percentile(METHOD_BYTES, share);
            put(format!("{key}.{name}"), delay, Unit::Seconds);
        }
        if *method != Method::Digest {
            put(format!("{key}.rate"), Estimate::of(&found.rates), Unit::PerSecond);
        }
    }
    measured.beside.push(beside);
    let [pointer, _, digest] = &results.methods;
    measured.rounds(System::Veth, OVER_POINTER, ratios(&digest.medians(), &pointer.medians()));
    let changes = &results.changes;
    let medians =
        |rounds: &[Ordered<f64>]| rounds.iter().filter_map(|one| one.at(0.5)).collect::<Vec<_>>();
    let over = ratios(&medians(&changes.of_digests), &medians(&changes.round_trips));
    measured.rounds(System::Veth, OVER_ROUND_TRIP, over);
    measured.remarks.extend(remarks(results));
    measured.figures.push(("tables-table-1".to_owned(), "updates".to_owned(), chart(results)));
}

fn remarks(results: &Results) -> Vec<String> {
    let words = |estimate: Option<Estimate>, unit| {
        estimate.map_or("unknown".to_owned(), |one| Value::estimate(&one, unit).words())
    };
    let median = |rounds: &[Ordered<f64>]| {
        let each = rounds.iter().map(|one| one.at(0.5));
        words(Estimate::of_each_or_all(each, || None), Unit::Seconds)
    };
    let rate = |rates: &[f64]| words(Estimate::of(rates), Unit::PerSecond);
    let [pointer, change, digest] = &results.methods;
    let changes = &results.changes;
    vec![
        format!(
            "{NAME}, in machine code: one virtual interface, {ENTRIES} entries, latencies from time stamp to time stamp of the \
             kernel with {RATE} packets of {METHOD_BYTES} B per second at random entries. With {BYTES} B, the medians are {} by \
             pointer, {} by change without the wait and {} with a digest, which delays no packet but the controller's answer.",
            words(pointer.percentile(BYTES, 0.5), Unit::Seconds),
            words(change.percentile(BYTES, 0.5), Unit::Seconds),
            words(digest.percentile(BYTES, 0.5), Unit::Seconds),
        ),
        format!(
            "Updates from the data plane against updates through P4Runtime, on this switch: with {WINDOW} on their way, packets \
             of {BYTES} B update {} by pointer and {} by change; {WINDOW} requests of one update each, {}. An update by a packet is \
             there when the packet leaves. Packets met the change of a digest {} after its packet, and that of a request {} after \
             the request, which took {} until its answer. The moment of each change is known within {}.",
            rate(&pointer.rates),
            rate(&change.rates),
            rate(&changes.rates),
            median(&changes.of_digests),
            median(&changes.of_requests),
            median(&changes.round_trips),
            Value::new(changes.widest, Unit::Seconds).words(),
        ),
    ]
}

/// Returns a chart of the times from an update's request until packets see the updated entry.
fn chart(results: &Results) -> Figure {
    const SHARES: [f64; 8] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
    let line = |name: &str, rounds: &[Ordered<f64>]| {
        let value = |share: f64| {
            let each = rounds.iter().map(|one| one.tail_at(share));
            let found = Estimate::of_each_or_all(each, || None)?;
            Some((share, Value::estimate(&found, Unit::Seconds)))
        };
        Line::of_values(name, Origin::Measured, SHARES.into_iter().filter_map(value))
    };
    let [pointer, change, _] = &results.methods;
    let changes = &results.changes;
    let lines = vec![
        line("by pointer: the packet's delay", &pointer.delays[1]),
        line("by change: the packet's delay", &change.delays[1]),
        line("through P4Runtime: from the request", &changes.of_requests),
        line("by digest: from the packet", &changes.of_digests),
    ];
    let plot = Plot::of_values(
        format!("Time until packets meet an update, {NAME}"),
        Axis::linear("share of updates", Unit::Fraction),
        Axis::logarithmic("time", Unit::Seconds),
        lines,
    );
    Figure::plot(plot, "Packets of 84 B. The middle of the interval in which each change lies.")
}

fn measure(environment: &Environment<'_>) -> Result<Results, Failure> {
    let namespace = Namespace::new().map_err(Failure::run)?;
    namespace.link("generator", &namespace, "switch", 1500).map_err(Failure::run)?;
    // The thread is in the namespace, as are the switch and the controller that it starts.
    namespace.run(|| in_namespace(environment)).map_err(Failure::run)?
}

fn in_namespace(environment: &Environment<'_>) -> Result<Results, Failure> {
    let program = invocation::executable()?;
    let switch = SwitchProcess::start(&program, ProgramPath::Compiled, [(1, "switch")]);
    let switch = switch.map_err(Failure::run)?;
    let wire = Wire::open("generator", SEED).map_err(Failure::run)?;
    let controller = Controller::start(switch.address().to_string())?;
    let mut bench = Bench::new(wire, controller, environment.interrupt);
    let loads: [Load; 3] =
        [Method::Pointer.load()?, Method::Change.load()?, Method::Digest.load()?];
    let length = Length::of(environment.quick);
    let mut results = Results::default();
    for _ in 0..length.rounds {
        let methods = Method::ALL.into_iter().zip(&loads);
        for ((method, load), found) in methods.zip(&mut results.methods) {
            bench.method(method, load, &length, found)?;
        }
        // The switch has the program with digests, which comes last.
        bench.changes(&length, &mut results.changes)?;
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_a_variant_for_each_method() {
        for method in Method::ALL {
            let load = method.load().expect("it compiles");
            let digests = usize::from(method == Method::Digest);
            assert_eq!(load.p4info.digests.len(), digests, "{method:?}");
        }
    }
}
