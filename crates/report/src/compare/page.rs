//! `report.html` of a comparison.

use provenance::Provenance;

use super::text::{METHOD, conclusion, is_shown, percent, place, stated};
use super::{Against, Comparison, Outcome, Row};
use crate::describe::distinct;
use crate::format::{capital, plural};
use crate::page::{Block, Cell, Column, Figure, Note, Page, Table, Text, Tone};
use crate::plot::{Axis, Line, Plot, Point, Style, Unit, spans_decades};
use crate::results::{Quantity, Recorded, Spread};

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
    for against in &comparison.others {
        page.lead(found(against, &comparison.base.name));
    }
    conditions(&mut page, outcomes);
    let doubts = comparison.others.iter().flat_map(|against| &against.doubts);
    page.lead(Block::Notes(doubts.map(|doubt| Note::warning(doubt.as_str())).collect()));
    let figures = match single_place(comparison) {
        true => vec![differences(comparison)],
        false => figures(comparison),
    };
    page.section("figures", "Figures", vec![Block::Figures(figures)]);
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

/// Differences that a card names, at most.
const NAMED: usize = 6;

/// What came of it: which figures differ, and which way.
fn found(against: &Against<'_>, base: &str) -> Block {
    let shown: Vec<&Row<'_>> = against.rows.iter().filter(|row| is_shown(row)).collect();
    let differ = || shown.iter().filter(|row| row.change.is_shown());
    let count = differ().count();
    let all = plural(shown.len() as u64, "figure", "figures");
    let name = &against.other.name;
    if count == 0 {
        let text = format!("{name}: no difference to {base} is shown in {all}.");
        return Block::card(Tone::Plain, text);
    }
    let several = distinct(shown.iter().map(|row| place(row))).len() > 1;
    let mut named: Vec<String> = differ()
        .take(NAMED)
        .map(|row| {
            let judged = match conclusion(row) {
                (_, Tone::Good) => " (better)",
                (_, Tone::Bad) => " (worse)",
                _ => "",
            };
            let at = if several { format!(" at {}", place(row)) } else { String::new() };
            format!("{} {}{judged}{at}", row.base.metric, percent(row.change, row.base))
        })
        .collect();
    named.extend((count > NAMED).then(|| format!("{} more below", count - NAMED)));
    // An interval of 95 % over repetitions leaves out zero once in twenty times where there is nothing.
    let repeated = shown.iter().filter(|row| matches!(row.base.spread, Spread::Repetitions(_)));
    let by_chance = 0.05 * repeated.count() as f64;
    let tones = distinct(differ().map(|row| conclusion(row).1));
    let tone = match tones.as_slice() {
        [tone] if count as f64 > 2.0 * by_chance => *tone,
        _ => Tone::Plain,
    };
    let verb = if count == 1 { "differs" } else { "differ" };
    let chance = match by_chance.round() {
        0.0 => String::new(),
        some => format!(" Intervals of 95 % would name {some} or so of so many by chance."),
    };
    let named = named.join("; ");
    Block::card(tone, format!("{name}: {count} of {all} {verb} from {base}: {named}.{chance}"))
}

/// Whether there is one place, and so one figure of each metric.
fn single_place(comparison: &Comparison<'_>) -> bool {
    let rows = comparison.others.iter().flat_map(|against| &against.rows);
    distinct(rows.filter(|row| is_shown(row)).map(place)).len() == 1
}

/// The differences at one place, all metrics beside each other.
fn differences(comparison: &Comparison<'_>) -> Figure {
    let shown = |against: &'_ Against<'_>| -> Vec<(String, Point)> {
        let rows = against.rows.iter().filter(|row| is_shown(row) && row.base.value != 0.0);
        rows.map(|row| {
            let share = |value: f64| value / row.base.value.abs();
            let half = row.change.interval.map(|(low, high)| share(high - low) / 2.0);
            let point = Point {
                y: share(row.change.value),
                spread: half.filter(|half| *half > 0.0).into(),
                tip: Some(format!("{}: {}", row.base.metric, percent(row.change, row.base))),
                ..Point::default()
            };
            (row.base.metric.clone(), point)
        })
        .collect()
    };
    let all: Vec<(&str, Vec<(String, Point)>)> = comparison
        .others
        .iter()
        .map(|against| (against.other.name.as_str(), shown(against)))
        .collect();
    let metrics = distinct(all.iter().flat_map(|(_, own)| own).map(|(metric, _)| metric.as_str()));
    // Results stand beside each other around the number of their metric.
    let apart = 0.5 / all.len().max(1) as f64;
    let mut lines: Vec<Line> = Vec::new();
    for (number, (name, own)) in all.iter().enumerate() {
        let aside = (number as f64 - (all.len() - 1) as f64 / 2.0) * apart;
        let points = own.iter().flat_map(|(metric, point)| {
            let at = metrics.iter().position(|known| known == metric).unwrap_or(0);
            let x = at as f64 + 1.0 + aside;
            [Point { x, ..point.clone() }, Point::new(x, f64::NAN)]
        });
        lines.push(Line::new(*name, points.collect(), Style::series(number).filled()));
    }
    let ends = [0.0, metrics.len() as f64 + 1.0].map(|x| Point::new(x, 0.0));
    lines.push(Line::new("as the base", ends.into(), Style::guide()));
    let plot = Plot::new(
        format!("Differences to {}", comparison.base.name),
        "A point for each metric, in percent of the base; bars are confidence intervals.",
        Axis::linear("metric, by its number", Unit::Count),
        Axis::linear("difference, of the base", Unit::Fraction),
    );
    Figure::plot(Plot { lines, ..plot }, numbered(&metrics))
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
