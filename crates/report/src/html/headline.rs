//! Builds the top of the report of a controller benchmark.

use probe::outcome::{Point, RunResult, Saturated, SearchOutcome};
use statistics::{Estimate, Unit};

use crate::describe::threshold_value;
use crate::estimates::{Kind, metric};
use crate::format::{capital, estimate, figure, optional, printable, setting};
use crate::page::{Block, Cell, Column, Note, Page, Table, Text, Tile, Tone};
use crate::{describe, verdict};

/// Returns a page that contains the top of a report: a description of the run, whether the
/// controller, the probe or the network was the limit, the most important figures, thresholds and
/// remarks.
pub(super) fn of(result: &RunResult, title: &str) -> Page {
    let mut page = Page::of_run(&result.provenance, "controller benchmark", title);
    let process =
        result.controller.process.as_deref().map(|process| format!(" ({})", printable(process)));
    let address = Text::strong(printable(&result.controller.address));
    page.fact(Text::from("Controller ").and(address).and(process.unwrap_or_default()));
    page.fact(describe::effort(result));
    page.raise(describe::alarms(result));
    if let Some(verdict) = verdict::of_run(result) {
        let tone = match verdict.side {
            Saturated::Neither => Tone::Good,
            Saturated::Controller => Tone::Plain,
            Saturated::Unknown | Saturated::Network => Tone::Warning,
            Saturated::Probe => Tone::Bad,
        };
        let further = verdict.further.iter().map(|sentence| Text::from(sentence.as_str()));
        let lines = std::iter::once(Text::strong(verdict.sentence.as_str())).chain(further);
        page.lead(Block::Card(tone, lines.collect()));
    }
    page.lead(Block::Tiles(match result.points.as_slice() {
        [] => Vec::new(),
        [point] => of_point(point),
        points => of_sweep(points, result.search.as_ref()),
    }));
    search(&mut page, result);
    thresholds(&mut page, result);
    let notes: Vec<Note> = describe::notes(result).into_iter().map(Note::plain).collect();
    if !notes.is_empty() {
        page.lead(Block::Heading("Notes".to_owned()));
        page.lead(Block::Notes(notes));
    }
    page
}

/// Returns the text below a figure: the level of confidence and the number of trials, or "one
/// trial, no interval".
fn confidence(estimate: &Estimate) -> String {
    match estimate.n {
        1 => "one trial, no interval".to_owned(),
        n => format!("95 % CI, n = {n} trials"),
    }
}

/// Returns the most important figures of a single point.
fn of_point(point: &Point) -> Vec<Tile> {
    let tile = |name: &str, metric_name: &str, unit, remark: &dyn Fn(&Estimate) -> String| {
        metric(point, metric_name).map(|value| Tile {
            name: name.to_owned(),
            value: estimate(value, unit),
            remark: remark(value),
        })
    };
    let mean = |name: &str, unit| optional(metric(point, name).map(|e| e.mean), unit);
    let offered = point
        .offered_rate
        .map_or_else(String::new, |rate| format!("of {} offered; ", figure(rate, Unit::PerSecond)));
    let samples = format!("{} samples", figure(Kind::FromDue.samples(point) as f64, Unit::Count));
    let tiles = [
        tile("Answered", "received_rate", Unit::PerSecond, &|e| {
            format!("{offered}{}", confidence(e))
        }),
        tile("Loss", "loss", Unit::Fraction, &confidence),
        tile("Round-trip time, median", "rtt.p50", Unit::Seconds, &|_| {
            format!("from due; mean {}; {samples}", mean("rtt.mean", Unit::Seconds))
        }),
        tile("Round-trip time, p99", "rtt.p99", Unit::Seconds, &|_| {
            format!(
                "from due; p99.9 {}, max {}",
                mean("rtt.p999", Unit::Seconds),
                mean("rtt.max", Unit::Seconds)
            )
        }),
        tile("Controller CPU", "controller.cpu", Unit::CpuPercent, &|_| {
            format!("of one core; memory {}", mean("controller.rss", Unit::Bytes))
        }),
        tile("Behind schedule, p99", "lag.p99", Unit::Seconds, &|_| {
            format!("of the probe; its CPU {} of one core", mean("probe.cpu", Unit::CpuPercent))
        }),
    ];
    tiles.into_iter().flatten().collect()
}

/// Returns the most important figures of a search for rates, such as the highest rate without loss.
fn of_search(search: &SearchOutcome) -> Vec<Tile> {
    let mut tiles = vec![Tile {
        name: "Highest rate answered".to_owned(),
        value: figure(search.maximum_received_rate, Unit::PerSecond),
        remark: match search.maximum_at_rate {
            Some(at) => {
                format!("at {} offered; all switches together", figure(at, Unit::PerSecond))
            }
            None => "all switches together".to_owned(),
        },
    }];
    if let Some(rate) = search.loss_free_rate {
        tiles.push(Tile {
            name: "Highest loss-free rate".to_owned(),
            value: match search.lossy_rate {
                Some(lossy) => {
                    let [low, high] = [rate, lossy].map(|rate| figure(rate, Unit::PerSecond));
                    format!("{low} to {high}")
                }
                None => format!("at least {}", figure(rate, Unit::PerSecond)),
            },
            remark: match search.confidence {
                Some(confidence) => format!(
                    "with {:.0} % confidence, by search; all switches together",
                    100.0 * confidence
                ),
                None => "found by search, without an interval; all switches together".to_owned(),
            },
        });
    }
    tiles
}

/// Returns the most important figures of several points, such as those of a sweep or a search.
fn of_sweep(points: &[Point], search: Option<&SearchOutcome>) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let protocols = describe::distinct(points.iter().map(|p| p.protocol.as_str()));
    let largest =
        |of: &mut dyn Iterator<Item = (f64, String)>| of.max_by(|a, b| a.0.total_cmp(&b.0));
    for protocol in &protocols {
        let own = || points.iter().filter(|p| p.protocol == *protocol);
        let suffix = if protocols.len() > 1 {
            format!(", {}", describe::protocol(protocol))
        } else {
            String::new()
        };
        // A search states its rate more precisely than the points of the search do, and the page
        // states the rate only once.
        if search.is_some() {
            continue;
        }
        let answered = own().filter_map(|p| Some((p, metric(p, "received_rate")?)));
        if let Some((point, value)) = answered.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)) {
            tiles.push(Tile {
                name: format!("Highest rate answered{suffix}"),
                value: estimate(value, Unit::PerSecond),
                remark: format!("{}; {}", place(point, &[protocol]), confidence(value)),
            });
        }
        let sustained = own().filter(|p| {
            metric(p, "loss").is_some_and(|loss| loss.max == 0.0)
                && verdict::of_point(p).side == Saturated::Neither
        });
        let found =
            largest(&mut sustained.filter_map(|p| Some((p.offered_rate?, place(p, &[protocol])))));
        if let Some((rate, at)) = found {
            tiles.push(Tile {
                name: format!("Highest rate sustained{suffix}"),
                value: setting(rate, Unit::PerSecond),
                remark: format!("offered, all answered, neither side saturated; {at}"),
            });
        }
    }
    tiles.extend(search.into_iter().flat_map(of_search));
    let medians = || points.iter().filter_map(|p| metric(p, "rtt.p50")).map(|e| e.mean);
    let (least, most) = describe::range(medians());
    if least <= most {
        tiles.push(Tile {
            name: "Round-trip time, median".to_owned(),
            value: format!("{} to {}", figure(least, Unit::Seconds), figure(most, Unit::Seconds)),
            remark: "from due; best to worst point".to_owned(),
        });
    }
    let mut cpu = points
        .iter()
        .filter_map(|p| Some((metric(p, "controller.cpu")?.mean, place(p, &protocols))));
    if let Some((most, at)) = largest(&mut cpu) {
        tiles.push(Tile {
            name: "Controller CPU, at most".to_owned(),
            value: figure(most, Unit::CpuPercent),
            remark: format!("of one core; {at}"),
        });
    }
    let mut lag =
        points.iter().filter_map(|p| Some((metric(p, "lag.p99")?.mean, place(p, &protocols))));
    if let Some((most, at)) = largest(&mut lag) {
        tiles.push(Tile {
            name: "Behind schedule, worst p99".to_owned(),
            value: figure(most, Unit::Seconds),
            remark: format!("of the probe; {at}"),
        });
    }
    let limited =
        points.iter().filter(|p| verdict::of_point(p).side == Saturated::Controller).count();
    tiles.push(Tile {
        name: "Controller saturated".to_owned(),
        value: format!("{limited} of {}", points.len()),
        remark: "points, in at least one trial".to_owned(),
    });
    tiles
}

fn place(point: &Point, protocols: &[&str]) -> String {
    match protocols.len() {
        1 => describe::switches(point),
        _ => describe::point(point),
    }
}

fn search(page: &mut Page, result: &RunResult) {
    let Some(search) = &result.search else { return };
    page.lead(Block::Heading("Search".to_owned()));
    let columns = [Column::words(""), Column::figures(""), Column::prose("")];
    let mut table = Table::new("All switches together", columns);
    for describe::SearchRow { name, value, remark } in describe::search(search) {
        let value = optional(value, Unit::PerSecond);
        table.row([capital(name), value, remark]);
    }
    page.lead(Block::Table(table));
    page.lead(Block::Remark(printable(&search.loss_free_method).into()));
    if !search.knee_method.is_empty() {
        page.lead(Block::Remark(format!("Knee: {}", printable(&search.knee_method)).into()));
    }
    if search.limited_by_probe {
        let text = "The probe was the limit at the highest point: the controller may take more.";
        page.lead(Block::card(Tone::Bad, Text::strong(text)));
    }
}

/// Adds the table of thresholds to the top of a page.
fn thresholds(page: &mut Page, result: &RunResult) {
    if result.thresholds.is_empty() {
        return;
    }
    page.lead(Block::Heading("Thresholds".to_owned()));
    let columns = [
        Column::words("condition"),
        Column::words("held"),
        Column::figures("measured"),
        Column::words("point"),
    ];
    let mut table = Table::new("", columns);
    for threshold in &result.thresholds {
        let (tone, word) = match (threshold.held, threshold.testable) {
            (true, _) => (Tone::Good, "✓ pass"),
            (false, true) => (Tone::Bad, "✗ FAIL"),
            (false, false) => (Tone::Bad, "✗ untestable"),
        };
        let remark = threshold.remark.as_ref().map(|remark| format!("({})", printable(remark)));
        let value = threshold_value(&threshold.condition, threshold.value);
        table.row([
            Cell::from(Text::code(printable(&threshold.condition))),
            Cell::toned(tone, word),
            Text::from(value).and_faint(remark.unwrap_or_default()).into(),
            printable(&threshold.point).into(),
        ]);
    }
    page.lead(Block::Table(table));
}
