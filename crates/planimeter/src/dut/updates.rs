//! The findings and the section of the report about updates.

use ::dut::Operation;
use ::dut::updates::{Load, Measured};
use report::page::document::Section;
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Estimate, Unit};

use super::packets;
use super::rates::{limit_words, rate};
use super::refusal::refusal_words;
use super::transport;

/// Returns the findings: the highest rate of each operation, and flow entries that the switch lost.
pub(super) fn findings(measured: &[Measured]) -> Vec<String> {
    let mut found = fastest(measured);
    found.extend(beside(measured));
    found.extend(missing(measured));
    found
}

/// Returns findings about the load during which packets were sent: the rate of updates, and the
/// packets that were lost.
fn beside(measured: &[Measured]) -> Vec<String> {
    let mut found = Vec::new();
    for one in measured {
        let Some(cost) = one.packets() else { continue };
        let name = one.operation.verb();
        if let Some(rate) = rate(&one.rates()).filter(Value::is_told) {
            found.push(format!(
                "{name}: {} while {} packets pass through the switch.",
                rate.words(),
                Value::new(cost.rate, Unit::PerSecond).words()
            ));
        }
        found.extend(packets::finding(name, &cost));
    }
    found
}

/// Returns a finding about flow entries that a switch accepted, but that were missing from its
/// table a second after the barrier's reply. Returns `None` if none was missing.
fn missing(measured: &[Measured]) -> Option<String> {
    let missing: u64 = measured.iter().filter_map(Measured::missing).sum();
    let rounds = measured.iter().filter(|one| one.operation == Operation::Insert);
    let accepted: usize =
        rounds.flat_map(|one| &one.rounds).map(|phase| phase.accepted.len()).sum();
    (missing > 0).then(|| {
        format!(
            "insert: {missing} of {accepted} flows that were accepted were not in the table a second after the barrier's \
             reply."
        )
    })
}

/// Returns a percentile of the latency, estimated as the mean of the percentiles of all rounds.
/// Returns `None` if a round has too few requests to state its percentile.
pub(super) fn latency(measured: &Measured, share: f64) -> Option<Value> {
    let each = measured.rounds.iter().map(|phase| phase.latencies().tail_at(share));
    let each: Option<Vec<f64>> = each.map(|time| time.map(|time| time.as_secs_f64())).collect();
    Estimate::of(&each?).map(|time| Value::told(&time, Unit::Seconds))
}

/// Returns a finding for each operation, which states the highest rate and the load at which it was
/// measured. Loads with another occupancy, atomicity or table than the base are left out.
fn fastest(measured: &[Measured]) -> Vec<String> {
    let best = |operation: Operation| {
        let own = measured.iter().filter(|one| one.operation == operation);
        let own = own.filter(|one| measured.first().is_some_and(|first| is_like(one, first)));
        let rated = own.filter_map(|one| Some((one, rate(&one.rates())?)));
        rated.max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))
    };
    let found = Operation::ALL.into_iter().filter_map(|operation| {
        let (one, rate) = best(operation)?;
        if !rate.is_told() {
            return Some(format!(
                "{}: the highest rate is {}; the rounds differ too much, and more --rounds or a longer --time would tell it.",
                operation.verb(),
                rate.words()
            ));
        }
        let filled = match one.load.occupancy {
            0 => String::new(),
            percent => format!(", into a table that was {percent} % full"),
        };
        Some(format!(
            "{}: {} at most, with {} updates in a request and {} requests waiting{filled}; limited by {}.",
            operation.verb(),
            rate.words(),
            one.load.batch,
            one.load.window,
            limit_words(one.limit())
        ))
    });
    found.collect()
}

/// Returns whether two loads differ in nothing but the number of updates in a request and the
/// window.
fn is_like(one: &Measured, other: &Measured) -> bool {
    let Load { batch, window, .. } = one.load;
    one.table == other.table && one.load == Load { batch, window, ..other.load }
}

/// The property in which the loads of one table of the report differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Varied {
    /// The number of updates in a request, and the window (the number of requests that wait at the
    /// same time).
    Batch,
    Occupancy,
    Atomicity,
    Controllers,
    Packets,
    Table,
}

impl Varied {
    const ALL: [Self; 6] = [
        Self::Batch,
        Self::Occupancy,
        Self::Atomicity,
        Self::Controllers,
        Self::Packets,
        Self::Table,
    ];

    /// Returns the measurements whose loads differ only in this property. The list is empty if all
    /// have the same value.
    fn of(self, measured: &[Measured]) -> Vec<&Measured> {
        let Some(first) = measured.first() else { return Vec::new() };
        let differs = |one: &Measured, load: Load| match self {
            Self::Batch => (one.load.batch, one.load.window) != (load.batch, load.window),
            Self::Occupancy => one.load.occupancy != load.occupancy,
            Self::Atomicity => one.load.atomicity != load.atomicity,
            Self::Controllers => one.load.controllers != load.controllers,
            Self::Packets => one.load.has_packets != load.has_packets,
            Self::Table => one.table != first.table,
        };
        // All loads that differ in this property have the batch size of the base load, so the first
        // of them stands for that load.
        let base = match self {
            Self::Batch => first,
            Self::Occupancy | Self::Atomicity | Self::Controllers | Self::Packets | Self::Table => {
                match measured.iter().find(|one| differs(one, first.load)) {
                    Some(one) => one,
                    None => return Vec::new(),
                }
            }
        };
        let is_alike = |one: &Measured| {
            (self == Self::Batch
                || (one.load.batch, one.load.window) == (base.load.batch, base.load.window))
                && (self == Self::Occupancy || one.load.occupancy == first.load.occupancy)
                && (self == Self::Atomicity || one.load.atomicity == first.load.atomicity)
                && (self == Self::Controllers || one.load.controllers == first.load.controllers)
                && (self == Self::Packets || one.load.has_packets == first.load.has_packets)
                && (self == Self::Table || one.table == first.table)
        };
        measured.iter().filter(|one| is_alike(one)).collect()
    }

    fn caption(self) -> &'static str {
        match self {
            Self::Batch => "Updates",
            Self::Occupancy => "Updates by occupancy",
            Self::Atomicity => "Updates by atomicity",
            Self::Controllers => "Updates by controllers",
            Self::Packets => "Updates beside packets",
            Self::Table => "Updates by table",
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Batch => &["batch", "window"],
            Self::Occupancy => &["occupancy", "entries before"],
            Self::Atomicity => &["atomicity"],
            Self::Controllers => &["controllers", "least share"],
            Self::Packets => &["packets"],
            Self::Table => &["table", "match", "size"],
        }
    }

    fn cells(self, one: &Measured) -> Vec<Cell> {
        let count = |count: usize| Cell::from(Value::new(count as f64, Unit::Count));
        match self {
            Self::Batch => vec![count(one.load.batch), count(one.load.window)],
            Self::Occupancy => vec![
                Value::new(f64::from(one.load.occupancy) / 100.0, Unit::Fraction).into(),
                count(one.before),
            ],
            Self::Atomicity => vec![Cell::text(one.load.atomicity.name())],
            Self::Controllers => {
                let share = one.least_share().map(|share| Value::new(share, Unit::Fraction));
                vec![count(one.load.controllers), Cell::optional(share)]
            }
            Self::Packets => vec![Value::new(one.packets_per_second, Unit::PerSecond).into()],
            Self::Table => {
                let size = one.table.size.map(|size| Value::new(size as f64, Unit::Count));
                vec![
                    Cell::text(&one.table.name),
                    Cell::text(one.table.kind.map_or("", ::dut::KeyKind::name)),
                    Cell::optional(size),
                ]
            }
        }
    }

    fn table(self, measured: &[&Measured]) -> Table {
        let figures = ["rate", "answer, p50", "p99", "refused", "limit"];
        let columns = self.columns().iter().copied().chain(figures);
        let mut table =
            Table::of_values(self.caption(), std::iter::once("operation").chain(columns));
        for one in measured {
            let mut row = vec![Cell::text(one.operation.verb())];
            row.extend(self.cells(one));
            row.extend([
                Cell::optional(rate(&one.rates())),
                Cell::optional(latency(one, 0.5)),
                Cell::optional(latency(one, 0.99)),
            ]);
            row.extend(match &one.unimplemented {
                Some(refusal) => [Cell::default(), Cell::text(&refusal.code)],
                None => [
                    Value::new(one.refused() as f64, Unit::Count).into(),
                    Cell::text(limit_words(one.limit())),
                ],
            });
            table.row(row);
        }
        table
    }
}

/// Returns a chart of the rate of each operation against a number by which loads differ.
fn chart(
    title: &str,
    axis: Axis,
    measured: &[&Measured],
    number: impl Fn(&Measured) -> Option<f64>,
) -> Plot {
    let lines = Operation::ALL.map(|operation| {
        let own = measured.iter().filter(|one| one.operation == operation);
        let points = own.filter_map(|one| Some((number(one)?, rate(&one.rates())?)));
        Line::of_values(operation.verb(), Origin::Measured, points)
    });
    let rates = Axis::logarithmic("accepted updates", Unit::PerSecond);
    Plot::of_values(title, axis, rates, lines.into())
}

pub(super) fn section(measured: &[Measured]) -> Section {
    let [batches, occupancies, ..] = Varied::ALL.map(|varied| varied.of(measured));
    let tables = Varied::ALL.into_iter().filter_map(|varied| {
        let own = varied.of(measured);
        (!own.is_empty()).then(|| varied.table(&own))
    });
    let costs = measured.iter().filter_map(|one| Some((one.operation.verb(), one.packets()?)));
    let tables = tables.chain(packets::table("Packets beside updates", costs));
    let tables = tables.chain(transport::table(measured.iter().filter_map(connection)));
    // The chart shows only loads with the same window as the load with the largest requests.
    let largest = batches.iter().max_by_key(|one| one.load.batch);
    let window = largest.map_or(1, |one| one.load.window);
    let mut figures = vec![Figure::plot(
        chart(
            "Rate of updates",
            Axis::logarithmic("updates in a request", Unit::Count),
            &batches,
            |one| (one.load.window == window).then_some(one.load.batch as f64),
        ),
        "",
    )];
    if !occupancies.is_empty() {
        let axis = Axis::linear("entries in the table beforehand", Unit::Count);
        let plot = chart("Rate of updates by occupancy", axis, &occupancies, |one| {
            Some(one.before as f64)
        });
        figures.push(Figure::plot(plot, ""));
    }
    Section {
        id: "updates".to_owned(),
        title: "Updates".to_owned(),
        text: text(measured),
        tables: tables.collect(),
        figures,
        ..Section::default()
    }
}

/// Returns the TCP evidence from a measurement of updates, or `None` if nothing is known about the
/// connection.
fn connection(one: &Measured) -> Option<transport::Row> {
    let Load { batch, window, .. } = one.load;
    let work = format!("{}, batch {batch}, window {window}", one.operation.verb());
    let (answer, sees) = (one.mean_answer(), transport::Sees::Bulk);
    one.transport().map(|seen| transport::Row { work, seen, answer, sees })
}

fn text(measured: &[Measured]) -> Vec<String> {
    let mut text = vec![
        "Batch is the number of updates in a request, and window the number of requests that wait for their answers at the \
         same time. Rates count accepted updates from the first request of a round to its last answer; intervals are over \
         rounds. The limit is Planimeter if its thread ran nearly all the time, and the latency if one request waits at a \
         time or the table holds too few entries for more than two windows of requests. A percentile is left out if a round has too few requests to state it."
            .to_owned(),
    ];
    if let Some(first) = measured.first() {
        let Load { occupancy, atomicity, .. } = first.load;
        if occupancy > 0 || atomicity != ::dut::BatchAtomicity::default() {
            text.push(format!(
                "Unless a table says otherwise, the table was {occupancy} % full beforehand, and the atomicity of requests is {}.",
                atomicity.name()
            ));
        }
    }
    let varied = Varied::ALL.into_iter().filter(|varied| *varied != Varied::Batch);
    if let Some(base) = varied.filter_map(|varied| varied.of(measured).first().copied()).next() {
        text.push(format!(
            "The tables below the first one compare requests of {} updates, of which {} wait.",
            base.load.batch, base.load.window
        ));
    }
    if measured.iter().any(|one| one.load.controllers > 1) {
        text.push(
            "Controllers share the window of requests. The least share is that of the controller with the fewest accepted \
             updates, relative to an equal one."
                .to_owned(),
        );
    }
    if measured.iter().any(|one| one.load.has_packets) {
        text.push(packets::TEXT.to_owned());
    }
    if measured.iter().any(|one| one.transport().is_some()) {
        text.push(transport::TEXT.to_owned());
    }
    let mut unimplemented: Vec<String> = measured
        .iter()
        .filter_map(|one| {
            let Some(refusal) = &one.unimplemented else { return None };
            let (name, message) =
                (one.load.atomicity.name(), refusal.message.trim_end_matches('.'));
            if one.load.controllers > 1 {
                return Some(format!(
                    "{} controllers could not send updates: {}: {message}.",
                    one.load.controllers, refusal.code
                ));
            }
            Some(format!(
                "The switch does not implement the atomicity {name}, as P4Runtime allows; it answered {}: {message}.",
                refusal.code
            ))
        })
        .collect();
    unimplemented.dedup();
    text.append(&mut unimplemented);
    let refusals =
        measured.iter().flat_map(|one| &one.rounds).filter_map(|one| one.refusal.as_ref());
    text.extend(
        refusals
            .take(1)
            .map(|refusal| format!("The first refusal was {}.", refusal_words(refusal))),
    );
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ::dut::background::Forwarded;
    use ::dut::updates::LoadedTable;
    use ::dut::{BatchAtomicity, Call, EntryNumber, KeyKind, Phase, Refusal};

    use super::*;

    fn measured(name: &str, load: Load) -> Measured {
        let answered = Duration::from_millis(10);
        let call = Call { sent: Duration::ZERO, answered, updates: 100, refused: 0 };
        let accepted = (0..100).map(EntryNumber).collect();
        let phase = Phase {
            calls: vec![call],
            accepted,
            duration: answered,
            series: 1,
            ..Phase::default()
        };
        Measured {
            table: LoadedTable {
                name: name.to_owned(),
                kind: Some(KeyKind::Lpm),
                size: Some(1000),
            },
            load,
            operation: Operation::Insert,
            before: 10 * usize::from(load.occupancy),
            unimplemented: None,
            idle: None,
            packets_per_second: 0.0,
            rounds: vec![phase.clone(), phase],
        }
    }

    #[test]
    fn each_table_varies_one_property_of_the_base() {
        let base = Load::new(100, 8);
        let atomicity = BatchAtomicity::DataplaneAtomic;
        let refusal =
            Refusal { code: "Unimplemented".to_owned(), message: "no.".to_owned(), entry: None };
        let refused = Measured {
            unimplemented: Some(refusal),
            rounds: Vec::new(),
            ..measured("a", Load { atomicity, ..base })
        };
        let all = [
            measured("a", Load::new(1, 1)),
            measured("a", base),
            measured("a", Load { occupancy: 50, ..base }),
            refused,
            measured("b", base),
        ];
        let count = |varied: Varied| varied.of(&all).len();
        assert_eq!(Varied::ALL.map(count), [2, 2, 2, 0, 0, 2]);
        let found = section(&all);
        assert_eq!(found.tables.len(), 4);
        assert_eq!(found.figures.len(), 2);
        let words = found.text.join(" ");
        let says = "does not implement the atomicity dataplane-atomic, as P4Runtime allows; it answered \
                    Unimplemented: no. ";
        assert!(format!("{words} ").contains(says), "{words}");
        assert!(words.contains("compare requests of 100 updates, of which 8 wait"), "{words}");
        // The base alone has no table for the other properties.
        assert_eq!(section(&all[..2]).tables.len(), 1);
        assert_eq!(findings(&all).len(), 1);
    }

    #[test]
    fn controllers_and_packets_are_compared_with_the_base() {
        let base = Load::new(100, 8);
        let answered = Duration::from_millis(10);
        let call = Call { sent: Duration::ZERO, answered, updates: 1, refused: 0 };
        let phase = |accepted: u64, lost| Phase {
            // As many requests as let both controllers have a part in them.
            calls: vec![call; 100],
            accepted: (0..accepted).map(EntryNumber).collect(),
            duration: Duration::from_millis(10),
            series: 1,
            by_controller: vec![accepted / 4, accepted - accepted / 4],
            packets: Forwarded { sent: 1000, lost, delays: Vec::new() },
            ..Phase::default()
        };
        let with = |load: Load, lost| Measured {
            rounds: vec![phase(100, lost), phase(104, lost)],
            idle: load.has_packets.then(|| Forwarded { sent: 2000, ..Forwarded::default() }),
            packets_per_second: if load.has_packets { 8000.0 } else { 0.0 },
            ..measured("a", load)
        };
        let all = |lost| {
            let two = with(Load { controllers: 2, ..base }, 0);
            let beside = with(Load { has_packets: true, ..base }, lost);
            [measured("a", base), two, beside]
        };
        let clean = all(0);
        assert_eq!(Varied::ALL.map(|varied| varied.of(&clean).len()), [1, 0, 0, 2, 2, 0]);
        assert_eq!(clean[1].least_share(), Some(0.5));
        assert_eq!(section(&clean).tables.len(), 4);
        let words = findings(&clean).join("\n");
        assert!(words.contains("while 8.00 k/s packets pass"), "{words}");
        assert!(!words.contains("lost"), "{words}");
        let words = findings(&all(30)).join("\n");
        assert!(words.contains("insert: 60 of 2000 packets were lost"), "{words}");
    }
}
