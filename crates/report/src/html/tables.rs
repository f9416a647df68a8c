//! Builds the tables of a controller benchmark: points of a sweep, latencies and switches.

use probe::outcome::{Point, Saturated, SwitchOutcome};
use statistics::{Estimate, Unit};

use crate::estimates::{self, Kind, STATISTICS, UNBOUNDED, UNBOUNDED_MEANS, mark, metric, usable};
use crate::format::{duration, estimate, figure, optional, plural, printable, setting, whole};
use crate::page::{Block, Cell, Column, Table, Text, Tone};
use crate::{describe, verdict};

/// The largest number of switches that have a row each.
const SWITCH_ROWS: usize = 64;

/// Formats a mean with its interval, or a dash if there is none.
fn mean(value: Option<&Estimate>, unit: Unit) -> String {
    value.map_or_else(|| "–".to_owned(), |value| estimate(value, unit))
}

/// A column of the table of points: its title, and the function that formats the cell of a point.
type Shown = (&'static str, fn(&Point) -> String);

/// The columns of the table with a row for each point of a sweep.
const COLUMNS: [Shown; 10] = [
    ("offered", |point| {
        point.offered_rate.map_or_else(|| "–".to_owned(), |rate| setting(rate, Unit::PerSecond))
    }),
    ("sent", |point| short(point, "sent_rate", Unit::PerSecond)),
    ("received", |point| mean(metric(point, "received_rate"), Unit::PerSecond)),
    ("loss", |point| mean(metric(point, "loss"), Unit::Fraction)),
    ("unsent", |point| short(point, "unsent", Unit::Count)),
    ("RTT mean", |point| mean(metric(point, "rtt.mean"), Unit::Seconds) + mark(point, "mean")),
    ("RTT p99", |point| mean(metric(point, "rtt.p99"), Unit::Seconds) + mark(point, "p99")),
    ("lag p99", |point| short(point, "lag.p99", Unit::Seconds)),
    ("CPU", |point| mean(metric(point, "controller.cpu"), Unit::CpuPercent)),
    ("trials", |point| usable(point).count().to_string()),
];

/// Formats the mean of a metric without its interval, for columns in which the interval is not
/// important.
fn short(point: &Point, name: &str, unit: Unit) -> String {
    optional(metric(point, name).map(|estimate| estimate.mean), unit)
}

/// Whether the rows of a table of points link to sections of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Each point has a section of its own, to which the point's number links.
    ToPoints,
    /// The page has no sections for single points, so nothing is linked.
    None,
}

/// Returns tables with a row for each point of a sweep. The rows of a protocol follow each other.
pub(super) fn of_sweep(points: &[Point], links: Links) -> Vec<Block> {
    let mut columns = vec![Column::figures(""), Column::figures("switches"), Column::words("load")];
    columns.extend(COLUMNS.map(|(name, _)| Column::figures(name)));
    columns.push(Column::words("limit"));
    let mut table = Table::new("All points", columns);
    let kind = |point: &Point| {
        format!("{}, {}", describe::protocol(&point.protocol), describe::mode(&point.mode))
    };
    for group in describe::distinct(points.iter().map(kind)) {
        let own = (1..).zip(points).filter(|(_, point)| kind(point) == group);
        table.group(&group);
        for (number, point) in own {
            let place = match links {
                Links::ToPoints => Text::link("point", number),
                Links::None => number.to_string().into(),
            };
            let mut row = vec![
                Cell::from(place),
                whole(u64::from(point.switches)).into(),
                describe::load(point).into(),
            ];
            row.extend(COLUMNS.map(|(_, cell)| Cell::from(cell(point))));
            let verdict = verdict::of_point(point);
            row.push(limit(verdict.side, &verdict.short()));
            table.row(row);
        }
    }
    let mut remark = "Means over trials ± 95 % confidence interval. Round-trip times from due. Lag: delay behind \
                      the schedule. CPU of the controller, in percent of one core."
        .to_owned();
    if points.iter().any(|point| !mark(point, "p99").is_empty()) {
        remark.push_str(&format!(" {UNBOUNDED_MEANS}."));
    }
    vec![Block::Table(table), Block::Remark(remark.into())]
}

/// Returns a line that summarises a point: its answered rate, its round-trip time, and whether the
/// controller, the probe or the network was the limit.
pub(super) fn summary(point: &Point) -> String {
    let received = mean(metric(point, "received_rate"), Unit::PerSecond);
    let p99 = mean(metric(point, "rtt.p99"), Unit::Seconds);
    let limit = verdict::of_point(point).short();
    format!("answered {received}, RTT p99 {p99}, limit: {limit}")
}

/// Returns a cell that names what was the limit: the controller, the probe or the network. The
/// colour of the cell shows how far the figures can be trusted.
fn limit(side: Saturated, word: &str) -> Cell {
    match side {
        Saturated::Probe => Cell::toned(Tone::Bad, word),
        Saturated::Unknown | Saturated::Network => Cell::toned(Tone::Warning, word),
        Saturated::Controller => Text::strong(word).into(),
        Saturated::Neither => word.into(),
    }
}

/// Returns tables of the rates, latencies, counts, handshake and verdicts of a point.
pub(super) fn of_point(point: &Point) -> Vec<Block> {
    let mut tables = Vec::new();
    let mut remark = String::new();
    if usable(point).next().is_some() {
        tables.extend([rates(point), times(point), counts(point)]);
        let unbounded = |(kind, _): &(Kind, _)| {
            STATISTICS.iter().any(|statistic| kind.is_unbounded(point, *statistic))
        };
        if estimates::kinds(point).iter().any(unbounded) {
            remark = format!("{UNBOUNDED_MEANS}.");
        }
    }
    tables.extend(ranks(point));
    tables.extend(handshake(point));
    tables.push(trials(point));
    vec![Block::Tables(tables), Block::Remark(remark.into())]
}

/// Returns a table with the share of each rank in the work, or `None` if a single process had all
/// switches. Ranks are the processes that share the switches of a point.
fn ranks(point: &Point) -> Option<Table> {
    let (trial, rows) = describe::ranks(point)?;
    let columns = describe::RANK_COLUMNS.map(|(name, is_figure)| match is_figure {
        true => Column::figures(name),
        false => Column::words(name),
    });
    let mut table = Table::new(format!("Ranks, trial {trial}"), columns);
    for row in rows {
        table.row(row);
    }
    Some(table)
}

fn rates(point: &Point) -> Table {
    let columns = ["mean ± 95 % CI", "least", "most", "n"].map(Column::figures);
    let columns = std::iter::once(Column::words("")).chain(columns);
    let mut table = Table::new("Rates and load; CPU in percent of one core", columns);
    for (label, value, unit) in estimates::rates(point) {
        table.row([
            label.to_owned(),
            estimate(value, unit),
            figure(value.min, unit),
            figure(value.max, unit),
            value.n.to_string(),
        ]);
    }
    table
}

/// Returns the table of latencies of a point.
fn times(point: &Point) -> Table {
    let kinds = estimates::kinds(point);
    let columns = kinds.iter().map(|(_, name)| Column::figures(*name));
    let columns = std::iter::once(Column::words("")).chain(columns);
    let mut table = Table::new("Times: mean over trials ± 95 % CI", columns);
    if kinds.is_empty() {
        return table;
    }
    let mut row = |name: &str, cell: &dyn Fn(Kind) -> String| {
        table
            .row(std::iter::once(name.to_owned()).chain(kinds.iter().map(|(kind, _)| cell(*kind))));
    };
    for statistic in STATISTICS {
        row(statistic.name, &|kind| {
            let value = mean(kind.estimate(point, statistic).as_ref(), Unit::Seconds);
            let mark = if kind.is_unbounded(point, statistic) { UNBOUNDED } else { "" };
            format!("{value}{mark}")
        });
    }
    let of_packets = |kind: Kind, count: u64, otherwise: &str| match kind.is_of_packets() {
        true => whole(count),
        false => otherwise.to_owned(),
    };
    row("samples", &|kind| of_packets(kind, kind.samples(point), "any time"));
    if kinds.iter().any(|(kind, _)| kind.missing(point) > 0) {
        row("missing", &|kind| of_packets(kind, kind.missing(point), ""));
    }
    table
}

fn counts(point: &Point) -> Table {
    let trials = plural(usable(point).count() as u64, "trial", "trials");
    let columns = [Column::words(""), Column::figures("")];
    let mut table = Table::new(format!("Counts, sum of {trials}"), columns);
    for (label, value) in estimates::counts(point) {
        table.row([label.to_owned(), whole(value)]);
    }
    table
}

/// Returns a table with a row for each trial of a point: whether the controller, the probe or the
/// network was the limit, and the reason.
fn trials(point: &Point) -> Table {
    let columns = [
        Column::figures("trial"),
        Column::figures("seed"),
        Column::figures("measured"),
        Column::words("limit"),
        Column::prose("because"),
    ];
    let mut table = Table::new("Trials", columns);
    for trial in &point.trials {
        let state = describe::incomplete(&trial.completion)
            .map_or_else(String::new, |(state, reason)| format!("{state}: {reason}. "));
        table.row([
            Cell::from(trial.repetition.to_string()),
            trial.seed.to_string().into(),
            duration(trial.measured_s).into(),
            limit(trial.verdict.saturated, verdict::word(trial.verdict.saturated)),
            format!("{state}{}", printable(&trial.verdict.because)).into(),
        ]);
    }
    table
}

/// Returns a table of the handshakes in the trial in which the fewest switches became ready. For
/// each stage and each error, it has the number of switches that got no further. Returns `None` if
/// there is no trial.
fn handshake(point: &Point) -> Option<Table> {
    let worst = point.trials.iter().map(|t| &t.handshake).min_by_key(|h| h.ready)?;
    let after = worst
        .ready_after_s
        .map_or_else(String::new, |s| format!(", the last after {}", figure(s, Unit::Seconds)));
    let caption = format!(
        "Handshake: {} of {} ready{after}",
        whole(worst.ready.into()),
        plural(worst.wanted.into(), "switch", "switches"),
    );
    let columns = [Column::words("last stage reached, or error met"), Column::figures("switches")];
    let mut table = Table::new(caption, columns);
    for (what, switches) in worst.stages.iter().chain(&worst.errors) {
        table.row([printable(what), whole((*switches).into())]);
    }
    Some(table)
}

/// Returns a table with a row for each switch in the first usable trial of a point, or `None` if
/// there is a single switch. If there are many, the table shows the switches with far fewer answers
/// than the others, and some that represent the others.
pub(super) fn switches(point: &Point) -> Option<Block> {
    let trial = usable(point).next().filter(|t| t.per_switch.len() > 1)?;
    let all = &trial.per_switch;
    let heads = [
        "id",
        "sent",
        "unsent",
        "answered",
        "lost",
        "late",
        "sent rate",
        "received rate",
        "RTT mean",
        "RTT max",
    ];
    let columns = std::iter::once(Column::words("switch")).chain(heads.map(Column::figures));
    let mut table = Table::new("Switches", columns);
    let is_apart = |switch: &SwitchOutcome| trial.verdict.switches.contains(&switch.index);
    if all.len() <= SWITCH_ROWS {
        for switch in all {
            let few = if is_apart(switch) { ": far fewer answers" } else { "" };
            table.row(row(format!("{}{few}", switch.index), switch));
        }
    } else {
        for switch in all.iter().filter(|switch| is_apart(switch)).take(SWITCH_ROWS) {
            table.row(row(format!("far fewer answers: {}", switch.index), switch));
        }
        // The switches at even distances in the order of their answered packets show both ends and
        // the middle.
        let mut order: Vec<&SwitchOutcome> = all.iter().collect();
        order.sort_by_key(|switch| switch.counts.answered);
        let spread = [
            ("fewest answers", 0.0),
            ("10 %", 0.1),
            ("median", 0.5),
            ("90 %", 0.9),
            ("most answers", 1.0),
        ];
        for (name, share) in spread {
            let position = (share * (order.len() - 1) as f64).round() as usize;
            if let Some(switch) = order.get(position) {
                table.row(row(format!("{name}: {}", switch.index), switch));
            }
        }
    }
    let count = plural(all.len() as u64, "switch", "switches");
    let files =
        Text::from("All switches of all trials: ").and(Text::code("per_switch.csv")).and(".");
    Some(Block::Folded {
        id: None,
        summary: format!("{count} (trial {})", trial.repetition).into(),
        blocks: vec![Block::Table(table), Block::Remark(files)],
    })
}

fn row(name: String, switch: &SwitchOutcome) -> [String; 11] {
    [
        name,
        switch.id.to_string(),
        whole(switch.counts.sent),
        whole(switch.counts.unsent),
        whole(switch.counts.answered),
        whole(switch.counts.lost),
        whole(switch.counts.late),
        figure(switch.sent_rate, Unit::PerSecond),
        figure(switch.received_rate, Unit::PerSecond),
        optional(switch.rtt_mean_ns.map(|ns| ns / 1e9), Unit::Seconds),
        optional(switch.rtt_max_ns.map(|ns| ns as f64 / 1e9), Unit::Seconds),
    ]
}
