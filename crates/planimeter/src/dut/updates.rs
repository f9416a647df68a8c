//! The findings and the section of the report about updates.

use ::dut::Operation;
use ::dut::updates::{Load, Measured};
use report::page::document::Section;
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Estimate, Unit};

use super::document::{limit_words, rate, refusal_words};

/// Returns the findings: the highest rate of each operation, and flows that the switch lost.
pub(super) fn findings(measured: &[Measured]) -> Vec<String> {
    let mut found = fastest(measured);
    found.extend(missing(measured));
    found
}

/// Returns a finding about flows that a switch accepted, but that were missing from its table a
/// second after the barrier's reply. Returns `None` if no flow was missing.
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
    Estimate::of(&each?).map(|time| Value::estimate(&time, Unit::Seconds))
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

/// Returns whether two loads may differ only in the number of updates and the window.
fn is_like(one: &Measured, other: &Measured) -> bool {
    let Load { occupancy, atomicity, .. } = one.load;
    let is_of_table = one.table == other.table;
    is_of_table && occupancy == other.load.occupancy && atomicity == other.load.atomicity
}

/// The property by which the loads of a table of the report differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Varied {
    /// The number of updates in a request, and the window.
    Batch,
    Occupancy,
    Atomicity,
    Table,
}

impl Varied {
    const ALL: [Self; 4] = [Self::Batch, Self::Occupancy, Self::Atomicity, Self::Table];

    /// Returns what was measured with different values of this property and the same value of all
    /// others. The list is empty if there is only one value.
    fn of(self, measured: &[Measured]) -> Vec<&Measured> {
        let Some(first) = measured.first() else { return Vec::new() };
        let differs = |one: &Measured, load: Load| match self {
            Self::Batch => (one.load.batch, one.load.window) != (load.batch, load.window),
            Self::Occupancy => one.load.occupancy != load.occupancy,
            Self::Atomicity => one.load.atomicity != load.atomicity,
            Self::Table => one.table != first.table,
        };
        // The loads that differ all have the batch of the base.
        let base = match self {
            Self::Batch => first,
            Self::Occupancy | Self::Atomicity | Self::Table => {
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
                && (self == Self::Table || one.table == first.table)
        };
        measured.iter().filter(|one| is_alike(one)).collect()
    }

    fn caption(self) -> &'static str {
        match self {
            Self::Batch => "Updates",
            Self::Occupancy => "Updates by occupancy",
            Self::Atomicity => "Updates by atomicity",
            Self::Table => "Updates by table",
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Batch => &["batch", "window"],
            Self::Occupancy => &["occupancy", "entries before"],
            Self::Atomicity => &["atomicity"],
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

/// Returns a chart of the rate of each operation over a number that loads have.
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
    let mut figures = vec![Figure::plot(
        chart(
            "Rate of updates",
            Axis::logarithmic("updates in a request", Unit::Count),
            &batches,
            |one| (one.load.window > 1).then_some(one.load.batch as f64),
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
    let mut unimplemented: Vec<String> = measured
        .iter()
        .filter_map(|one| {
            let Some(refusal) = &one.unimplemented else { return None };
            let (name, message) =
                (one.load.atomicity.name(), refusal.message.trim_end_matches('.'));
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
        assert_eq!(Varied::ALL.map(count), [2, 2, 2, 2]);
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
}
