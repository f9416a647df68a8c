//! The section of the report on the slow path: packets between the ports of the switch and the
//! controller.

use std::time::Duration;

use ::dut::Protocol;
use ::dut::slow_path::{Counts, Crossing, Load, Measured, Reaction};
use ::dut::updates::Limit;
use report::page::document::Section;
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Estimate, Ordered, Unit};

use super::rates::limit_words;

/// Returns sentences about the rate in each direction, the faults of its packets, and the time
/// until the switch forwards a packet by a new flow entry.
pub(crate) fn findings(found: &Measured) -> Vec<String> {
    let mut findings = Vec::new();
    for crossing in &found.crossings {
        let name = crossing.direction.name();
        match rate(crossing) {
            Some(rate) => findings.push(format!(
                "{name}: {} with {} packets on their way; limited by {}.",
                rate.words(),
                found.window,
                limit(crossing, found.is_local)
            )),
            None => findings.push(format!("{name}: no packet arrived.")),
        }
        findings.extend(faults(crossing).into_iter().map(|fault| format!("{name}: {fault}.")));
    }
    if let Some(time) = of_reactions(found, |one| one.forwarded, 0.5) {
        findings.push(format!(
            "reaction: {} from the first packet of a flow to the first that its new entry forwards (p50).",
            time.words()
        ));
    }
    if found.without_reaction > 0 {
        findings.push(format!(
            "reaction: no packet of {} flows was forwarded within a second.",
            found.without_reaction
        ));
    }
    findings
}

/// Returns the reasons why parts of the test were left out.
pub(crate) fn notes(found: &Measured) -> Vec<String> {
    found.lacks.iter().map(|lack| format!("slow path: {lack}")).collect()
}

/// Returns a text for each kind of fault (loss, reordering, repetition) that packets suffered at
/// loads below the measured rate. Faults during the measurement of the rate itself are not
/// included, because a switch may drop packets in overload.
fn faults(crossing: &Crossing) -> Vec<String> {
    let mut all = Counts::default();
    for load in &crossing.loads {
        all.sent += load.counts.sent;
        all.lost += load.counts.lost;
        all.reordered += load.counts.reordered;
        all.repeated += load.counts.repeated;
    }
    let named = [
        (all.lost, "were lost"),
        (all.reordered, "arrived after one that was sent later"),
        (all.repeated, "arrived again"),
    ];
    let named = named.into_iter().filter(|(count, _)| *count > 0);
    named.map(|(count, what)| format!("{count} of {} packets {what}", all.sent)).collect()
}

fn rate(crossing: &Crossing) -> Option<Value> {
    Estimate::of(&crossing.rates).map(|rate| Value::told(&rate, Unit::PerSecond))
}

fn limit(crossing: &Crossing, is_local: bool) -> &'static str {
    limit_words(match (crossing.is_limited_here, is_local) {
        (true, _) => Limit::Planimeter,
        (false, true) => Limit::Switch,
        (false, false) => Limit::SwitchOrNetwork,
    })
}

/// Returns a percentile, estimated as the mean of the percentiles of all rounds. Returns `None` if
/// a round has too few samples to state its percentile.
fn percentile<'a>(
    rounds: impl Iterator<Item = &'a Ordered<Duration>>,
    share: f64,
) -> Option<Value> {
    let each: Option<Vec<f64>> =
        rounds.map(|round| round.tail_at(share).map(|time| time.as_secs_f64())).collect();
    Estimate::of(&each?).map(|time| Value::told(&time, Unit::Seconds))
}

fn of_reactions(found: &Measured, time: fn(&Reaction) -> Duration, share: f64) -> Option<Value> {
    let rounds = found.reactions.iter();
    let rounds: Vec<Ordered<Duration>> =
        rounds.map(|round| Ordered::of(round.iter().map(time).collect())).collect();
    percentile(rounds.iter(), share)
}

fn count(count: u64) -> Cell {
    Value::new(count as f64, Unit::Count).into()
}

/// Returns the section on the slow path, with all figures.
pub(crate) fn section(found: &Measured, protocol: &Protocol) -> Section {
    let mut tables = Vec::new();
    let mut figures = Vec::new();
    if !found.crossings.is_empty() {
        tables.extend([rates(found), delays(found)]);
        tables.extend(beside_updates(found));
        figures.push(Figure::plot(plot(found), ""));
    }
    if !found.reactions.is_empty() {
        tables.push(reactions(found, protocol));
    }
    Section {
        id: "slow-path".to_owned(),
        title: "Slow path".to_owned(),
        text: vec![format!(
            "A packet-in is a packet that the switch passes to its controller, and a packet-out one that the \
             controller makes it send. The rate is that of arrivals with {} packets on their way, and the delay that from when a \
             packet was due until it arrived, at a share of that rate. Intervals are over rounds.",
            found.window
        )],
        tables,
        figures,
        ..Section::default()
    }
}

fn rates(found: &Measured) -> Table {
    let mut table = Table::of_values(
        "Rates",
        ["direction", "length", "rate", "packets", "lost", "out of order", "repeated", "limit"],
    );
    for crossing in &found.crossings {
        let counts = crossing.counts;
        table.row([
            Cell::text(crossing.direction.name()),
            Value::new(crossing.length as f64, Unit::Bytes).into(),
            Cell::optional(rate(crossing)),
            count(counts.sent),
            count(counts.lost),
            count(counts.reordered),
            count(counts.repeated),
            Cell::text(limit(crossing, found.is_local)),
        ]);
    }
    table
}

fn delays(found: &Measured) -> Table {
    let mut table = Table::of_values(
        "Delays",
        [
            "direction",
            "load",
            "offered",
            "p50",
            "p99",
            "longest",
            "packets",
            "lost",
            "out of order",
            "repeated",
        ],
    );
    for crossing in &found.crossings {
        for load in crossing.loads.iter().filter(|load| load.updates.is_none()) {
            let counts = load.counts;
            let longest = load.delays.iter().filter_map(|round| round.at(1.0)).max();
            table.row([
                Cell::text(crossing.direction.name()),
                Value::new(load.share, Unit::Fraction).into(),
                Value::new(load.rate, Unit::PerSecond).into(),
                Cell::optional(percentile(load.delays.iter(), 0.5)),
                Cell::optional(percentile(load.delays.iter(), 0.99)),
                Cell::optional(longest.map(|time| Value::new(time.as_secs_f64(), Unit::Seconds))),
                count(counts.sent),
                count(counts.lost),
                count(counts.reordered),
                count(counts.repeated),
            ]);
        }
    }
    table
}

/// Returns a table of the packets that passed between ports and controller while entries were
/// updated, or `None` if there were none.
fn beside_updates(found: &Measured) -> Option<Table> {
    let columns = ["direction", "updates", "offered", "p50", "p99", "packets", "lost"];
    let mut table = Table::of_values("Delays beside updates", columns);
    for crossing in &found.crossings {
        for load in &crossing.loads {
            let Some(updates) = &load.updates else { continue };
            let rate = Estimate::of(&updates.rates);
            table.row([
                Cell::text(crossing.direction.name()),
                Cell::optional(rate.map(|rate| Value::told(&rate, Unit::PerSecond))),
                Value::new(load.rate, Unit::PerSecond).into(),
                Cell::optional(percentile(load.delays.iter(), 0.5)),
                Cell::optional(percentile(load.delays.iter(), 0.99)),
                count(load.counts.sent),
                count(load.counts.lost),
            ]);
        }
    }
    (!table.is_empty()).then_some(table)
}

fn reactions(found: &Measured, protocol: &Protocol) -> Table {
    let mut table = Table::of_values(
        "Reaction to the first packet of a flow",
        ["from that packet to", "p50", "p90", "flows"],
    );
    let flows = found.reactions.iter().map(Vec::len).sum::<usize>() as u64;
    let mut row = |name: &str, time: fn(&Reaction) -> Duration| {
        table.row([
            Cell::text(name),
            Cell::optional(of_reactions(found, time, 0.5)),
            Cell::optional(of_reactions(found, time, 0.9)),
            count(flows),
        ]);
    };
    row("the packet-in", |one| one.packet_in);
    let answer = match protocol {
        Protocol::P4Runtime { .. } => "the response to the Write request",
        Protocol::OpenFlow { .. } => "the barrier reply behind the flow-mod",
    };
    row(answer, |one| one.answer);
    row("a packet that the new entry forwards", |one| one.forwarded);
    table
}

fn plot(found: &Measured) -> Plot {
    let line = |crossing: &Crossing, share: f64, name: &str| {
        let point = |load: &Load| Some((load.rate, percentile(load.delays.iter(), share)?));
        let name = format!("{}, {name}", crossing.direction.name());
        Line::of_values(
            &name,
            Origin::Measured,
            crossing.loads.iter().filter(|load| load.updates.is_none()).filter_map(point),
        )
    };
    let lines = found.crossings.iter();
    let lines = lines.flat_map(|one| [line(one, 0.5, "p50"), line(one, 0.99, "p99")]);
    Plot::of_values(
        "Delay on the slow path",
        Axis::linear("offered packets", Unit::PerSecond),
        Axis::logarithmic("delay", Unit::Seconds),
        lines.collect(),
    )
}
