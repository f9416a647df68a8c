//! Prints the bounds of a network as tables on the terminal.

use calculus::network::describe::{self, Round, extended, rounded};
use calculus::network::{Analysis, Assessed, Network, Settings, Source, Unit};
use calculus::{Extended, Rational};

use super::{Bounds, notes, scaled};
use crate::format::printable;
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// The number of significant digits of figures that are not exact.
const DIGITS: u32 = 7;

/// The largest number of analyses that one table shows side by side.
const MAX_ANALYSES: usize = 5;

/// The largest number of rows of a table. The JSON file has all of them.
pub(super) const MAX_ROWS: usize = 200;

/// Returns the bounds of a network as text that fits the terminal. The text ends with a newline.
#[must_use]
pub fn table(bounds: &Bounds<'_>, layout: Layout) -> String {
    let network = bounds.network;
    let name = if network.name().is_empty() { "Network" } else { network.name() };
    let (servers, flows) = (network.servers().len(), network.flows().len());
    let head = format!(
        "{}: {servers} server{}, {flows} flow{}",
        printable(name),
        if servers == 1 { "" } else { "s" },
        if flows == 1 { "" } else { "s" },
    );
    let mut out = layout.paragraph("", &head, Paint::Strong);
    out.push_str(&layout.paragraph("", &conventions(bounds), Paint::Plain));
    if let Some(failed) = failed(bounds) {
        out.push_str(&layout.paragraph("", &failed, Paint::Bad));
    }
    out.push_str(&layout.heading(&format!(
        "Flows, delay in {}, backlog in {}",
        bounds.time_unit.name, bounds.data_unit.name
    )));
    match bounds.analyses {
        [_] => out.push_str(&of_one(bounds).render(layout)),
        _ => {
            // Each table shows the largest number of analyses that fit beside names of common
            // length.
            for (number, start) in (0..bounds.analyses.len()).step_by(MAX_ANALYSES).enumerate() {
                if number > 0 {
                    out.push('\n');
                }
                out.push_str(&of_several(bounds, start).render(layout));
            }
        }
    }
    let rest = |text: Option<String>| {
        text.map_or_else(String::new, |text| layout.paragraph("  ", &text, Paint::Faint))
    };
    out.push_str(&rest(more(bounds.flows.len(), "flows")));
    if bounds.derivations {
        out.push_str(&derivations(bounds, layout));
    }
    if !bounds.thresholds.is_empty() {
        out.push_str(&layout.heading("Thresholds"));
        out.push_str(&thresholds(bounds).render(layout));
    }
    out.push_str(&layout.heading(&format!(
        "Servers, delay in {}, backlog in {}",
        bounds.time_unit.name, bounds.data_unit.name
    )));
    out.push_str(&servers_grid(bounds).render(layout));
    out.push_str(&rest(more(bounds.servers.len(), "servers")));
    let notes = notes(bounds);
    let round = "Figures have up to seven digits, bounds rounded up and runs down; --json has them \
                 exactly.";
    out.push('\n');
    out.push_str(&layout.paragraph("", round, Paint::Faint));
    if !notes.is_empty() {
        out.push_str(&layout.heading("Notes"));
        for note in notes {
            out.push_str(&layout.paragraph("  - ", &note.text, note.tone.into()));
        }
    }
    out
}

/// Returns a sentence that counts the maximum delays and thresholds that are not met, or `None` if
/// all are met.
pub(super) fn failed(bounds: &Bounds<'_>) -> Option<String> {
    let required = bounds.required();
    let missed = required.iter().filter(|one| !one.is_met()).count();
    let broken = bounds.thresholds.iter().filter(|threshold| !threshold.held).count();
    let of = |count: usize, all: usize, what: &str, verb: &str| {
        let s = if all == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} of {all} {what}{s} {verb}"))
    };
    let missed = of(missed, required.len(), "maximum delay", "missed");
    let broken = of(broken, bounds.thresholds.len(), "threshold", "broken");
    let parts: Vec<String> = missed.into_iter().chain(broken).collect();
    (!parts.is_empty()).then(|| format!("FAIL: {}.", parts.join("; ")))
}

pub(super) fn conventions(bounds: &Bounds<'_>) -> String {
    conventions_of(&orders(bounds.network), bounds.analyses, bounds.settings)
}

/// Returns a description of the orders in which the servers of a network serve flows.
#[must_use]
pub fn orders(network: &Network) -> String {
    let mut orders: Vec<String> =
        network.servers().map(|(_, server)| server.multiplexing.to_string()).collect();
    orders.sort();
    orders.dedup();
    let aware = match network.is_arrival_aware() {
        true => ", turns counted with what other classes send",
        false => "",
    };
    format!("{} multiplexing{aware}", orders.join(" and "))
}

pub(super) fn conventions_of(orders: &str, analyses: &[Analysis], settings: &Settings) -> String {
    let multiplexing = match settings.multiplexing {
        Some(multiplexing) => format!("{multiplexing} multiplexing at all servers"),
        None => orders.to_owned(),
    };
    if analyses == [Analysis::Best] {
        return format!("{multiplexing}; best of all analyses that are proven for it");
    }
    if analyses == [Analysis::Quick] {
        return format!("{multiplexing}; smallest of the quick analyses that are proven for it");
    }
    let methods: Vec<&str> = settings.arrival_bounds.iter().map(|method| method.name()).collect();
    let capped = if settings.cap_bursts { ", bursts capped by backlogs" } else { "" };
    let prolonged = if settings.prolong { ", prolonged where that helps" } else { "" };
    format!(
        "{multiplexing}; cross traffic bounded by {}, {}{capped}{prolonged}",
        methods.join(" and "),
        settings.flow_of_interest
    )
}

/// Returns a table of the bounds of a single analysis, with a row for each flow.
fn of_one(bounds: &Bounds<'_>) -> Grid {
    let is_required = !bounds.required().is_empty();
    let mut columns = vec![Column::left("flow").indent(2), Column::right("delay")];
    if is_required {
        columns.extend([Column::right("at most"), Column::left("")]);
    }
    columns.extend([
        Column::left("by").rank(2),
        Column::right("in a run"),
        Column::right("of bound").rank(3),
        Column::right("backlog").rank(1),
        Column::left("by").rank(4),
        Column::right("in a run").rank(5),
    ]);
    let mut grid = Grid::new(columns);
    for row in bounds.flows.iter().take(MAX_ROWS) {
        let Some(assessed) = row.first() else { continue };
        let bound = &assessed.bound;
        let wrong = assessed.contradiction().is_some();
        let run = assessed.run.as_ref();
        let seen = |value: Option<&Rational>, time: bool| match value {
            Some(value) => figure(bounds, &Extended::from(value), time, Round::Down),
            None => "-".to_owned(),
        };
        let tight = assessed
            .tightness()
            .map_or_else(String::new, |t| format!("{:.0} %", (100.0 * t).floor()));
        let mut cells = vec![
            Cell::new(printable(&bounds.network.flow(bound.flow).name)),
            Cell::painted(
                figure(bounds, &bound.delay, true, Round::Up),
                if wrong { Paint::Bad } else { Paint::Strong },
            ),
        ];
        if is_required {
            cells.extend(requirement(bounds, row));
        }
        cells.extend([
            Cell::new(match bound.cut_short {
                true => format!("{}, cut short", by(&bound.delay_by)),
                false => by(&bound.delay_by),
            }),
            Cell::new(seen(run.map(|run| &run.delay), true)),
            Cell::new(tight),
            Cell::new(figure(bounds, &bound.backlog, false, Round::Up)),
            Cell::new(by(&bound.backlog_by)),
            Cell::new(seen(run.map(|run| &run.backlog), false)),
        ]);
        grid.row(cells);
    }
    grid
}

/// Returns two table cells for a flow: its maximum delay, and whether it is met. They are empty if
/// the flow has no maximum delay.
fn requirement(bounds: &Bounds<'_>, row: &[Assessed]) -> [Cell; 2] {
    match bounds.required_of(row) {
        None => [Cell::new(""), Cell::new("")],
        Some(one) => [
            Cell::new(figure(bounds, &Extended::from(one.limit), true, Round::Down)),
            Cell::painted(one.word(), if one.is_met() { Paint::Good } else { Paint::Bad }),
        ],
    }
}

/// Returns a table of the bounds of several analyses. Each flow has two rows, one for delay and one
/// for backlog. The columns are up to [`MAX_ANALYSES`] analyses, starting at index `start`.
fn of_several(bounds: &Bounds<'_>, start: usize) -> Grid {
    let analyses = bounds.analyses.iter().skip(start).take(MAX_ANALYSES);
    let mut columns = vec![Column::left("flow").indent(2), Column::left("").rank(0)];
    columns.extend(analyses.map(|analysis| Column::right(analysis.name())));
    columns.push(Column::right("in a run").rank(1));
    let is_required = !bounds.required().is_empty();
    if is_required {
        columns.extend([Column::right("at most"), Column::left("")]);
    }
    let mut grid = Grid::new(columns);
    for row in bounds.flows.iter().take(MAX_ROWS) {
        let Some(first) = row.first() else { continue };
        let mut delays = vec![
            Cell::new(printable(&bounds.network.flow(first.bound.flow).name)),
            Cell::new("delay"),
        ];
        let mut backlogs = vec![Cell::new(""), Cell::new("backlog")];
        for assessed in row.iter().skip(start).take(MAX_ANALYSES) {
            let paint = match assessed.contradiction() {
                Some(_) => Paint::Bad,
                None => Paint::Strong,
            };
            let mark = if assessed.bound.cut_short { "*" } else { "" };
            let delay = figure(bounds, &assessed.bound.delay, true, Round::Up);
            delays.push(Cell::painted(format!("{delay}{mark}"), paint));
            backlogs.push(Cell::new(figure(bounds, &assessed.bound.backlog, false, Round::Up)));
        }
        let seen = |value: Option<&Rational>, time: bool| {
            let value =
                value.map(|value| figure(bounds, &Extended::from(value), time, Round::Down));
            Cell::new(value.unwrap_or_default())
        };
        delays.push(seen(first.run.as_ref().map(|run| &run.delay), true));
        backlogs.push(seen(first.run.as_ref().map(|run| &run.backlog), false));
        if is_required {
            delays.extend(requirement(bounds, row));
        }
        grid.row(delays);
        grid.row(backlogs);
    }
    grid
}

fn thresholds(bounds: &Bounds<'_>) -> Grid {
    let mut grid = Grid::new(vec![
        Column::left("").indent(2),
        Column::left("condition"),
        Column::right("bound"),
        Column::left("of"),
    ]);
    for threshold in bounds.thresholds {
        let (word, paint) =
            if threshold.held { ("pass", Paint::Good) } else { ("FAIL", Paint::Bad) };
        grid.row(vec![
            Cell::painted(word, paint),
            Cell::new(printable(&threshold.condition)),
            Cell::new(threshold.figure()),
            Cell::new(printable(&threshold.of)),
        ]);
    }
    grid
}

fn servers_grid(bounds: &Bounds<'_>) -> Grid {
    let mut grid = Grid::new(vec![
        Column::left("server").indent(2),
        Column::right("load"),
        Column::right("delay"),
        Column::right("backlog"),
        Column::right("flows").rank(1),
    ]);
    for server in bounds.servers.iter().take(MAX_ROWS) {
        let load = bounds.loads.get(server.server.index());
        let over = load.is_some_and(calculus::network::Load::is_over);
        grid.row(vec![
            Cell::new(printable(&bounds.network.server(server.server).name)),
            Cell::painted(
                load.map_or_else(String::new, |load| format!("{:.1} %", 100.0 * load.ratio())),
                if over { Paint::Bad } else { Paint::Plain },
            ),
            Cell::new(figure(bounds, &server.delay, true, Round::Up)),
            Cell::new(figure(bounds, &server.backlog, false, Round::Up)),
            Cell::new(bounds.network.flows_at(server.server).len().to_string()),
        ]);
        for class in &server.classes {
            grid.row(vec![
                Cell::new(format!("  priority {}", class.priority)),
                Cell::new(""),
                Cell::new(figure(bounds, &class.delay, true, Round::Up)),
                Cell::new(figure(bounds, &class.backlog, false, Round::Up)),
                Cell::new(bounds.in_class(server.server, class.priority).to_string()),
            ]);
        }
    }
    grid
}

fn derivations(bounds: &Bounds<'_>, layout: Layout) -> String {
    let mut out = String::new();
    for assessed in bounds.derived() {
        let bound = &assessed.bound;
        let name = &bounds.network.flow(bound.flow).name;
        out.push_str(&layout.heading(&format!(
            "Delay of {} by {}, in seconds and bits",
            printable(name),
            bound.delay_by.analysis
        )));
        for line in bound.delay_by.derivation.lines(bounds.network) {
            out.push_str(&layout.paragraph("  ", &printable(&line), Paint::Plain));
        }
        let total = format!("delay {}", describe::bound(&bound.delay));
        out.push_str(&layout.paragraph("  ", &total, Paint::Plain));
        let output =
            format!("output arrivals {}", calculus::network::describe::curve(&bound.output));
        out.push_str(&layout.paragraph("  ", &output, Paint::Plain));
    }
    out
}

fn by(source: &Source) -> String {
    match source.settings.multiplexing {
        Some(multiplexing) => format!("{}, {multiplexing}", source.analysis),
        None => source.analysis.to_string(),
    }
}

/// Returns a line which says how many of `count` rows the table leaves out, or `None` if it shows
/// all.
pub(super) fn more(count: usize, what: &str) -> Option<String> {
    (count > MAX_ROWS).then(|| format!("and {} more {what}; the JSON has all", count - MAX_ROWS))
}

/// Formats a time or an amount of data in the unit of the table. If few digits cannot show the
/// value exactly, bounds are rounded up and values of simulated runs are rounded down, so that both
/// statements remain true.
pub(super) fn figure(bounds: &Bounds<'_>, value: &Extended, time: bool, round: Round) -> String {
    figure_in(value, if time { &bounds.time_unit } else { &bounds.data_unit }, round)
}

/// Formats a value in the given unit. If few digits cannot show it exactly, it is rounded as
/// `round` says.
pub(super) fn figure_in(value: &Extended, unit: &Unit, round: Round) -> String {
    let value = scaled(value, unit);
    let Extended::Finite(exact) = &value else { return extended(&value) };
    let written = extended(&value);
    if !written.starts_with('~') && written.len() <= DIGITS as usize + 2 {
        return written;
    }
    rounded(exact, DIGITS, round)
}
