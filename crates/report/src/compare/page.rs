//! `report.html` of a comparison.

use provenance::Provenance;

use super::text::{METHOD, conclusion, is_shown, percent, place, stated};
use super::{Comparison, Outcome};
use crate::describe::distinct;
use crate::format::capital;
use crate::page::{Block, Cell, Column, Figure, Note, Page, Table, Text, Tone};
use crate::plot::{Axis, Line, Plot, Point, Style, Unit, spans_decades};
use crate::results::{Quantity, Recorded};

/// Lines in a figure, at most: more cannot be told apart.
const LINES: usize = 12;

/// The page.
#[must_use]
pub fn page(comparison: &Comparison<'_>, outcomes: &[Outcome], provenance: &Provenance) -> Page {
    let count = comparison.others.len() + 1;
    let title = format!("{count} results side by side: {}", comparison.base.kind.words());
    let mut page = Page::of_run(provenance, "results side by side", title);
    let results = results(comparison);
    page.lead(Block::facts(results.iter().enumerate().map(|(number, result)| {
        let role = if number == 0 { "base" } else { "" };
        let about = Text::from(capital(&result.about)).and_faint(result.started_at.clone());
        (Text::from(result.name.as_str()).and_faint(role), about)
    })));
    conditions(&mut page, outcomes);
    let doubts = comparison.others.iter().flat_map(|against| &against.doubts);
    page.lead(Block::Notes(doubts.map(|doubt| Note::warning(doubt.as_str())).collect()));
    page.section("figures", "Figures", vec![Block::Figures(figures(comparison))]);
    for (number, against) in (1..).zip(&comparison.others) {
        let title = format!("{} against {}", against.other.name, comparison.base.name);
        let shown = against.rows.iter().filter(|row| is_shown(row));
        let columns = [
            Column::words("metric"),
            Column::figures("base"),
            Column::figures("other"),
            Column::figures("difference"),
            Column::words(""),
        ];
        let mut table = Table::new("", columns);
        let mut last = None;
        for row in shown {
            let at = place(row);
            if last.as_ref() != Some(&at) {
                table.group(&at);
                last = Some(at);
            }
            let (word, tone) = conclusion(row);
            table.row([
                Cell::from(row.base.metric.as_str()),
                stated(row.base).into(),
                stated(row.other).into(),
                percent(row.change, row.base).into(),
                Cell::toned(tone, word),
            ]);
        }
        let alone = match against.alone {
            0 => String::new(),
            alone => format!("{alone} places that only one of both has are left out."),
        };
        let blocks = vec![Block::Table(table), Block::Remark(alone.into())];
        page.section(format!("against-{number}"), title, blocks);
    }
    let files = [
        (
            "result.json",
            "every figure of each result against that of the base, by a versioned schema",
        ),
        ("differences.csv", "the same, a row each"),
    ];
    page.method(vec![Block::Paragraph(METHOD.into())], None, [("", ""); 0], files);
    page
}

fn results<'a>(comparison: &Comparison<'a>) -> Vec<&'a Recorded> {
    let others = comparison.others.iter().map(|against| against.other);
    std::iter::once(comparison.base).chain(others).collect()
}

fn conditions(page: &mut Page, outcomes: &[Outcome]) {
    let columns = [Column::words("condition"), Column::words("held"), Column::prose("found")];
    let mut table = Table::new("Conditions", columns);
    for outcome in outcomes {
        let held = match outcome.held {
            true => Cell::toned(Tone::Good, "✓ pass"),
            false => Cell::toned(Tone::Bad, "✗ FAIL"),
        };
        table.row([Text::code(outcome.condition.as_str()).into(), held, outcome.found().into()]);
    }
    page.lead(Block::Table(table));
}

/// A figure for each headline metric: against what varies, if anything does, else by place.
fn figures(comparison: &Comparison<'_>) -> Vec<Figure> {
    let results = results(comparison);
    let shown =
        || comparison.others.iter().flat_map(|against| &against.rows).filter(|row| is_shown(row));
    let metrics = distinct(shown().map(|row| (row.base.metric.as_str(), row.base.unit)));
    let figures = metrics.into_iter().map(|(metric, unit)| {
        // Only what all can be held against is drawn.
        let own = || shown().filter(|row| row.base.metric == metric);
        let places = distinct(own().map(|row| row.base.place.as_str()));
        let across: Vec<Option<f64>> = distinct(own().map(|row| row.base.across.map(|(_, x)| x)));
        let label = own().find_map(|row| row.base.across).map(|(label, _)| label);
        let varies = across.len() > 1 && !across.contains(&None);
        let x_of = |figure: &Quantity| match (varies, figure.across) {
            (true, Some((_, x))) => Some(x),
            _ => places.iter().position(|place| *place == figure.place).map(|at| at as f64 + 1.0),
        };
        let mut lines = Vec::new();
        for (number, result) in results.iter().enumerate() {
            let of_metric = || result.figures.iter().filter(|figure| figure.metric == metric);
            for line in distinct(of_metric().map(|figure| kept(figure, varies))) {
                let points = of_metric().filter(|figure| kept(figure, varies) == line);
                let mut points: Vec<Point> =
                    points.filter_map(|figure| Some(point(figure, x_of(figure)?))).collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                let name = if line.is_empty() {
                    result.name.clone()
                } else {
                    format!("{}: {line}", result.name)
                };
                let style = Style::series(lines.len());
                let style = if number == 0 { style.filled() } else { style.hollow() };
                if !varies {
                    // Places are not joined: a point that is no number interrupts the line.
                    points = points
                        .into_iter()
                        .flat_map(|p| {
                            let x = p.x;
                            [p, Point::new(x, f64::NAN)]
                        })
                        .collect();
                }
                lines.push(Line::new(name, points, style));
            }
        }
        lines.truncate(LINES);
        let x = match (varies, label) {
            (true, Some("entries")) => Axis::binary("entries"),
            (true, Some(label)) => Axis::linear(label, Unit::PerSecond),
            _ => Axis::linear("place, by its number in the table below", Unit::Count),
        };
        let values = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.y));
        let name = metric.replace(['_', '.'], " ");
        let y = match spans_decades(values().filter(|y| *y > 0.0)) {
            true => Axis::logarithmic(name, unit),
            false => Axis::linear(name, unit),
        };
        let description = "A line for each result; bars are confidence intervals.";
        let remark = if varies { description.to_owned() } else { numbered(&places) };
        let plot = Plot::new(format!("{metric} of each result"), description, x, y);
        Figure::plot(Plot { lines, ..plot }, remark)
    });
    figures.collect()
}

/// What stays the same along a line.
fn kept(figure: &Quantity, varies: bool) -> String {
    match varies {
        false => figure.subject.clone(),
        true => {
            // The place without what varies: its parts that are no number of that.
            let parts = figure
                .place
                .split(", ")
                .filter(|part| !part.ends_with("entries") && !part.ends_with(" each"));
            let parts: Vec<&str> = std::iter::once(figure.subject.as_str())
                .chain(parts)
                .filter(|part| !part.is_empty())
                .collect();
            parts.join(", ")
        }
    }
}

fn point(figure: &Quantity, x: f64) -> Point {
    let interval =
        figure.interval().map(|(low, high)| (high - low) / 2.0).filter(|half| *half > 0.0);
    let tip = Some(format!("{}: {}", figure.place, stated(figure)));
    Point { x, y: figure.value, spread: interval.into(), tip }
}

/// Places by their numbers.
fn numbered(places: &[&str]) -> String {
    let named: Vec<String> =
        (1..).zip(places).take(12).map(|(number, place)| format!("{number}: {place}")).collect();
    let more = if places.len() > 12 { "; and more in the data" } else { "" };
    format!("{}{more}.", named.join("; "))
}
