//! Builds the `report.html` of the bounds of a network: every flow with its bounds and curves,
//! every server, and the derivation of each bound.

use calculus::Extended;
use calculus::network::{Analysis, Assessed, describe};

use super::table::{figure, more};
use super::{Bounds, Run, graph, listed, notes, plots};
use crate::format::{capital, plural, printable};
use crate::page::{Block, Cell, Column, Page, Table, Text, Tile, Tone};

/// The largest number of flows whose curves are drawn.
const MAX_DRAWN: usize = 24;

/// The remark that explains the rows of priorities in the table of servers.
const CLASSES: &str = "A priority's delay holds for each of its flows at that server; its backlog is what a queue of its own must \
                       hold.";

/// The definitions of terms, which the page lists.
pub(super) const DEFINITIONS: [(&str, &str); 5] = [
    (
        "Delay bound",
        "No bit of the flow stays longer in the network, whatever flows send within their arrival curves: the \
         greatest horizontal distance between the arrival curve and the left-over service curve (J.-Y. Le Boudec, P. \
         Thiran, Network Calculus, 2001, theorem 1.4.2).",
    ),
    (
        "Backlog bound",
        "The network never contains more data of the flow: the greatest vertical distance between the two curves \
         (theorem 1.4.1 of the same book).",
    ),
    (
        "In a run",
        "The worst of some simulated runs that conform to all curves, packet by packet. The worst case lies between \
         it and the bound.",
    ),
    (
        "Left over",
        "The service that servers leave over for the flow after all other flows, by the named analysis.",
    ),
    (
        "Load",
        "The long-term rate of all flows at a server over its own. At 100 % and more, nothing is bounded.",
    ),
];

/// Returns the report page of the bounds of a network.
#[must_use]
pub fn page(run: &Run<'_>) -> Page {
    let bounds = run.bounds;
    let name = if bounds.network.name().is_empty() { "a network" } else { bounds.network.name() };
    let title = format!("Bounds of {}", printable(name));
    let mut page = Page::of_run(run.provenance, "delay and backlog bounds", title);
    page.fact(plural(bounds.network.servers().len() as u64, "server", "servers"));
    page.fact(plural(bounds.network.flows().len() as u64, "flow", "flows"));
    page.lead(Block::Paragraph(capital(&super::table::conventions(bounds)).into()));
    // Failures stand before all figures.
    if let Some(failed) = super::table::failed(bounds) {
        page.lead(Block::card(Tone::Bad, Text::strong(failed)));
    }
    let notes = notes(bounds);
    let is_bad = notes.iter().any(|note| note.tone == Tone::Bad);
    let (tiles, notes) = (Block::Tiles(tiles(bounds)), Block::Notes(notes));
    let blocks = if is_bad { [notes, tiles] } else { [tiles, notes] };
    blocks.into_iter().for_each(|block| page.lead(block));
    if !bounds.thresholds.is_empty() {
        page.lead(Block::Heading("Thresholds".to_owned()));
        page.lead(Block::Table(thresholds(bounds)));
    }
    let drawn = bounds.flows.iter().filter_map(|row| row.first()).take(MAX_DRAWN);
    let figures = drawn.map(|assessed| plots::figure(bounds, assessed)).collect();
    page.section("flows", "Flows", flows(bounds));
    let network = graph::figure_of(bounds).into_iter().collect();
    page.section("network", "Network", vec![Block::Figures(network)]);
    page.section("curves", "Curves", vec![Block::Figures(figures)]);
    page.section("servers", "Servers", servers(bounds));
    page.section("derivations", "Derivation of each bound", derivations(bounds));
    let files = [
        ("result.json", "everything here, exactly, by a versioned schema"),
        ("bounds.csv", "a row for each flow and analysis, in seconds and bits"),
    ];
    page.method(Vec::new(), Some(&run.provenance.host), DEFINITIONS, files);
    page
}

/// Returns the most important figures of a page: the largest delay bound, and the load of the most
/// loaded server.
fn tiles(bounds: &Bounds<'_>) -> Vec<Tile> {
    let best =
        |row: &[Assessed]| row.iter().map(|assessed| assessed.bound.delay.clone()).min_by(compare);
    let worst = bounds
        .flows
        .iter()
        .filter_map(|row| Some((bounds.network.flow(row.first()?.bound.flow), best(row)?)))
        .max_by(|a, b| compare(&a.1, &b.1));
    let delay = worst.map(|(flow, delay)| Tile {
        name: "Largest delay bound".to_owned(),
        value: with_unit(figure(bounds, &delay, true, describe::Round::Up), &bounds.time_unit.name),
        remark: format!("flow {}", printable(&flow.name)),
    });
    let load =
        bounds.loads.iter().max_by(|a, b| a.ratio().total_cmp(&b.ratio())).map(|load| Tile {
            name: "Most loaded server".to_owned(),
            value: format!("{:.1} %", 100.0 * load.ratio()),
            remark: format!("server {}", printable(&bounds.network.server(load.server).name)),
        });
    delay.into_iter().chain(load).collect()
}

fn with_unit(value: String, unit: &str) -> String {
    if value.chars().any(|c| c.is_ascii_digit()) { format!("{value} {unit}") } else { value }
}

fn compare(a: &Extended, b: &Extended) -> std::cmp::Ordering {
    a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)
}

fn thresholds(bounds: &Bounds<'_>) -> Table {
    let columns = [
        Column::words("condition"),
        Column::words("held"),
        Column::figures("bound"),
        Column::words("of"),
    ];
    let mut table = Table::new("", columns);
    for threshold in bounds.thresholds {
        let (tone, word) =
            if threshold.held { (Tone::Good, "✓ pass") } else { (Tone::Bad, "✗ FAIL") };
        table.row([
            Cell::from(Text::code(printable(&threshold.condition))),
            Cell::toned(tone, word),
            threshold.figure().into(),
            printable(&threshold.of).into(),
        ]);
    }
    table
}

/// Returns the tables of bounds, with a row for each flow and analysis.
fn flows(bounds: &Bounds<'_>) -> Vec<Block> {
    use describe::Round::{Down, Up};
    let (time, data) = (&bounds.time_unit.name, &bounds.data_unit.name);
    let is_required = !bounds.required().is_empty();
    let mut columns = vec![
        Column::words("flow"),
        Column::words("analysis"),
        Column::figures(format!("delay, {time}")),
    ];
    if is_required {
        columns.extend([Column::figures(format!("at most, {time}")), Column::words("")]);
    }
    columns.extend([
        Column::figures(format!("in a run, {time}")),
        Column::figures(format!("backlog, {data}")),
        Column::figures(format!("in a run, {data}")),
        Column::prose("path"),
    ]);
    let mut table = Table::new("", columns);
    for row in bounds.flows.iter().take(super::table::MAX_ROWS) {
        for (assessed, asked) in row.iter().zip(bounds.analyses) {
            let bound = &assessed.bound;
            let flow = bounds.network.flow(bound.flow);
            let analysis = match asked {
                Analysis::Best | Analysis::Quick => format!("{asked}: {}", bound.delay_by.analysis),
                asked => asked.to_string(),
            };
            let cut_short = if bound.cut_short { ", cut short" } else { "" };
            let analysis = format!("{analysis}{cut_short}");
            let tone = if assessed.contradiction().is_some() { Tone::Bad } else { Tone::Plain };
            let run = assessed.run.as_ref();
            let seen = |value: Option<Extended>, time: bool| {
                value.map_or_else(|| "–".to_owned(), |value| figure(bounds, &value, time, Down))
            };
            let path = flow.path.iter().map(|id| printable(&bounds.network.server(*id).name));
            let mut cells = vec![
                Cell::from(printable(&flow.name)),
                analysis.into(),
                Cell::toned(tone, figure(bounds, &bound.delay, true, Up)),
            ];
            if is_required {
                cells.extend(match &flow.maximum_delay {
                    None => [Cell::from("–"), "".into()],
                    Some(limit) => {
                        let limit = Extended::from(limit);
                        let (tone, word) = match bound.delay <= limit {
                            true => (Tone::Good, "✓ met"),
                            false => (Tone::Bad, "✗ missed"),
                        };
                        [figure(bounds, &limit, true, Down).into(), Cell::toned(tone, word)]
                    }
                });
            }
            cells.extend([
                seen(run.map(|run| Extended::from(&run.delay)), true).into(),
                figure(bounds, &bound.backlog, false, Up).into(),
                seen(run.map(|run| Extended::from(&run.backlog)), false).into(),
                listed(path.collect::<Vec<_>>().into_iter()).into(),
            ]);
            table.row(cells);
        }
    }
    let round =
        "Up to seven digits, bounds rounded up and runs down; result.json has them exactly.";
    vec![
        Block::Table(table),
        Block::Remark(more(bounds.flows.len(), "flows").unwrap_or_default().into()),
        Block::Remark(round.into()),
    ]
}

/// Returns the table of servers.
fn servers(bounds: &Bounds<'_>) -> Vec<Block> {
    use describe::Round::Up;
    let columns = [
        Column::words("server"),
        Column::figures("load"),
        Column::figures(format!("delay, {}", bounds.time_unit.name)),
        Column::figures(format!("backlog, {}", bounds.data_unit.name)),
        Column::figures("flows"),
        Column::prose("service, in bits and seconds"),
    ];
    let mut table = Table::new("", columns);
    for server in bounds.servers.iter().take(super::table::MAX_ROWS) {
        let load = bounds.loads.get(server.server.index());
        let over = load.is_some_and(calculus::network::Load::is_over);
        let text = load.map_or_else(String::new, |load| format!("{:.1} %", 100.0 * load.ratio()));
        let own = bounds.network.server(server.server);
        let port = bounds
            .network
            .port_at(server.server)
            .map_or_else(String::new, |(port, _)| format!(", {} port", port.scheduler));
        table.row([
            Cell::from(printable(&own.name)),
            Cell::toned(if over { Tone::Bad } else { Tone::Plain }, text),
            figure(bounds, &server.delay, true, Up).into(),
            figure(bounds, &server.backlog, false, Up).into(),
            bounds.network.flows_at(server.server).len().to_string().into(),
            format!("{}, {}{port}", describe::curve(&own.service), own.multiplexing).into(),
        ]);
        for class in &server.classes {
            table.row([
                Cell::from(format!("  priority {}", class.priority)),
                "".into(),
                figure(bounds, &class.delay, true, Up).into(),
                figure(bounds, &class.backlog, false, Up).into(),
                bounds.in_class(server.server, class.priority).to_string().into(),
                "".into(),
            ]);
        }
    }
    let more = more(bounds.servers.len(), "servers").unwrap_or_default();
    let mut blocks = vec![Block::Table(table), Block::Remark(more.into())];
    if bounds.servers.iter().any(|server| !server.classes.is_empty()) {
        blocks.push(Block::Remark(CLASSES.into()));
    }
    blocks
}

fn derivations(bounds: &Bounds<'_>) -> Vec<Block> {
    let shown = bounds.derived().take(super::table::MAX_ROWS);
    let folded = shown.map(|assessed| {
        let bound = &assessed.bound;
        let mut lines: Vec<String> = bound.delay_by.derivation.lines(bounds.network);
        lines.push(format!("delay {}", describe::bound(&bound.delay)));
        lines.push(format!("output arrivals {}", describe::curve(&bound.output)));
        let name = printable(&bounds.network.flow(bound.flow).name);
        Block::Folded {
            id: None,
            summary: Text::from(format!("{name}, {}", bound.delay_by.analysis))
                .and_faint("in seconds and bits"),
            blocks: vec![Block::Listing(lines.join("\n"))],
        }
    });
    folded.collect()
}
