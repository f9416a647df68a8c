//! Builds the `report.html` of a comparison of results.

use provenance::Provenance;

use super::finding::finding;
use super::gate::alarms;
use super::text::{
    METHOD, conclusion, figures_in_words, is_shown, percent, place, ratio, stated, surest_first,
};
use super::{Against, Comparison, Outcome, Row};
use crate::describe::distinct;
use crate::format::capital;
use crate::page::{Block, Cell, Column, Data, Figure, Graphic, Note, Page, Table, Text, Tone};
use crate::plot::{Axis, Forest, ForestRow, Line, Plot, Point, Style, Unit, spans_decades};
use crate::results::{Quantity, Recorded};

/// The largest number of lines in a plot. More cannot be distinguished.
const MAX_LINES: usize = 12;
/// The largest number of rows in a forest plot.
const MAX_ROWS: usize = 24;

/// Returns the page of a comparison of results, with the outcome of each condition.
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
    page.raise(alarms(comparison, outcomes));
    for against in &comparison.others {
        page.lead(found(against, &comparison.base.name));
    }
    conditions(&mut page, outcomes);
    let doubts = comparison.others.iter().flat_map(|against| &against.doubts);
    page.lead(Block::Notes(doubts.map(|doubt| Note::warning(doubt.as_str())).collect()));
    let single = single(comparison);
    let base = &comparison.base.name;
    let others = comparison.others.iter();
    let mut drawn: Vec<Figure> = others.filter_map(|against| forest(against, base)).collect();
    drawn.extend(figures(comparison, &single));
    page.section("figures", "Figures", vec![Block::Figures(drawn)]);
    for (number, against) in (1..).zip(&comparison.others) {
        let title = format!("{} against {}", against.other.name, comparison.base.name);
        let shown = against.rows.iter().filter(|row| is_shown(row));
        let (base, other) = (&comparison.base.name, &against.other.name);
        let columns = |first: &str| {
            [
                Column::words(first),
                Column::figures(base),
                Column::figures(other),
                Column::figures(format!("difference, of {base}")),
                Column::figures("ratio"),
                Column::words(""),
            ]
        };
        let cells = |first: String, row: &Row<'_>| {
            let (word, tone) = conclusion(row);
            [
                Cell::from(first),
                stated(row.base).into(),
                stated(row.other).into(),
                percent(row.change, row.base).into(),
                ratio(row).into(),
                Cell::toned(tone, word),
            ]
        };
        let mut differing = Table::new("What differs, the surest first", columns("figure"));
        for row in surest_first(against).iter().filter(|row| row.change.is_shown()) {
            differing.row(cells(format!("{}, {}", row.base.metric, place(row)), row));
        }
        let mut table = Table::new("All figures", columns("metric"));
        let mut last = None;
        for row in shown {
            let at = place(row);
            if last.as_ref() != Some(&at) {
                table.group(&at);
                last = Some(at);
            }
            table.row(cells(row.base.metric.clone(), row));
        }
        let alone = match against.alone {
            0 => String::new(),
            alone => format!("{alone} places that only one of both has are left out."),
        };
        let blocks =
            vec![Block::Table(differing), Block::Table(table), Block::Remark(alone.into())];
        page.section(format!("against-{number}"), title, blocks);
    }
    let files = [
        (
            "result.json",
            "every figure of each result against that of the baseline, by a versioned schema",
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

/// Returns a summary of how a result differs from the base, whose name is `base`.
fn found(against: &Against<'_>, base: &str) -> Block {
    let found = finding(against, base);
    let summary = Text::from(format!("{}: {}", against.other.name, found.summary));
    let differences = found.differences.into_iter().map(Text::from);
    Block::Card(found.tone, std::iter::once(summary).chain(differences).collect())
}

/// Returns the metrics that were measured for a single point, case, cell or flow. The page shows
/// these metrics in the forest plots of differences but not in plots of their own.
fn single<'a>(comparison: &'a Comparison<'_>) -> Vec<&'a str> {
    let metrics = distinct(shown(comparison).map(|row| row.base.metric.as_str()));
    let is_single = |metric: &&str| {
        distinct(shown(comparison).filter(|row| row.base.metric == *metric).map(place)).len() == 1
    };
    metrics.into_iter().filter(is_single).collect()
}

/// Returns the compared figures of all results that reports show by default.
fn shown<'a, 'c>(comparison: &'a Comparison<'c>) -> impl Iterator<Item = &'a Row<'c>> {
    comparison.others.iter().flat_map(|against| &against.rows).filter(|row| is_shown(row))
}

/// Returns the compared figures that plots show: those that [`shown`] returns, unless their values
/// are infinite.
fn drawn<'a, 'c>(comparison: &'a Comparison<'c>) -> impl Iterator<Item = &'a Row<'c>> {
    shown(comparison).filter(|row| is_finite(row))
}

fn is_finite(row: &Row<'_>) -> bool {
    row.base.value.is_finite() && row.other.value.is_finite()
}

/// Returns a forest plot of the differences between a result and the base, with the surest first.
/// Returns `None` if there is nothing to draw.
fn forest(against: &Against<'_>, base: &str) -> Option<Figure> {
    let with_share = |row: &&Row<'_>| row.base.value != 0.0 && row.change.value.is_finite();
    let rows: Vec<&Row<'_>> = surest_first(against).into_iter().filter(with_share).collect();
    if rows.is_empty() {
        return None;
    }
    let several = distinct(rows.iter().map(|row| place(row))).len() > 1;
    let drawn = rows.iter().take(MAX_ROWS).map(|row| {
        let share = |value: f64| value / row.base.value.abs();
        let at = place(row);
        ForestRow {
            name: match several && !at.is_empty() {
                true => format!("{}, {at}", row.base.metric),
                false => row.base.metric.clone(),
            },
            words: figures_in_words(row),
            value: share(row.change.value),
            interval: row.change.interval.map(|(low, high)| (share(low), share(high))),
            shown: row.change.is_shown(),
        }
    });
    let other = &against.other.name;
    let forest = Forest {
        title: format!("{other} against {base}: differences"),
        description: format!(
            "A row for each figure, first those that differ, the surest first; zero is {base}."
        ),
        axis: format!("{other} less {base}, of {base}"),
        unit: Unit::Fraction,
        none: format!("as {base}"),
        rows: drawn.collect(),
    };
    let more = match rows.len().saturating_sub(MAX_ROWS) {
        0 => String::new(),
        more => format!(" {more} more are in the tables."),
    };
    let remark = format!(
        "Each row: {base} → {other}, their ratio and its interval; bars are those intervals.{more}"
    );
    Some(Figure { graphic: Graphic::Forest(forest), remark, data: Data::Points })
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

/// Returns a plot of each headline metric that was measured for several points, cases, cells or
/// flows. Its horizontal axis is the parameter that varies between them, or their names if none
/// does.
fn figures(comparison: &Comparison<'_>, single: &[&str]) -> Vec<Figure> {
    let metrics = distinct(drawn(comparison).map(|row| (row.base.metric.as_str(), row.base.unit)));
    let metrics = metrics.into_iter().filter(|(metric, _)| !single.contains(metric));
    let figures = metrics.map(|(metric, unit)| {
        // Only rows that exist in the base and in other results are drawn.
        let own = || drawn(comparison).filter(|row| row.base.metric == metric);
        let places = distinct(own().map(|row| row.base.place.as_str()));
        let across: Vec<Option<f64>> = distinct(own().map(|row| row.base.across.map(|(_, x)| x)));
        let label = own().find_map(|row| row.base.across).map(|(label, _)| label);
        let varies = across.len() > 1 && !across.contains(&None);
        let x_of = |base: &Quantity| match (varies, base.across) {
            (true, Some((_, x))) => x,
            _ => {
                let at = places.iter().position(|place| *place == base.place);
                at.map_or(f64::NAN, |at| at as f64 + 1.0)
            }
        };
        let (lines, about) = lines(comparison, metric, varies, &x_of);
        let x = match (varies, label) {
            (true, Some("entries")) => Axis::binary("entries"),
            (true, Some(label)) => Axis::linear(label, Unit::PerSecond),
            _ => Axis::named("place", places.iter().map(|place| (*place).to_owned()).collect()),
        };
        let values = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.y));
        let name = words(metric);
        let y = match spans_decades(values().filter(|y| *y > 0.0)) {
            true => Axis::logarithmic(name, unit),
            false => Axis::linear(name, unit),
        };
        let description = "A line for each result; bars are confidence intervals.";
        let remark = if varies { description } else { "" };
        let plot = Plot::new(format!("{metric} of each result"), description, x, y);
        Figure::plot(Plot { lines, ..plot }, format!("{remark}{about}"))
    });
    figures.collect()
}

/// Returns the name of a metric in words. Decimal points, as in p99.9, remain.
fn words(metric: &str) -> String {
    let mut words = metric.replace('_', " ");
    for (at, _) in metric.match_indices('.') {
        if metric[at + 1..].starts_with(char::is_alphabetic) {
            words.replace_range(at..=at, " ");
        }
    }
    words
}

/// Returns the lines of a plot of one metric, and a remark about all of them. Lines of the same
/// subject, such as a protocol, follow each other, one for each result.
fn lines(
    comparison: &Comparison<'_>,
    metric: &str,
    varies: bool,
    x_of: &dyn Fn(&Quantity) -> f64,
) -> (Vec<Line>, String) {
    let results = results(comparison);
    let own = || drawn(comparison).filter(|row| row.base.metric == metric);
    let mut keys = distinct(own().map(|row| line_label(row.base, varies)));
    let all = keys.len();
    let most = (MAX_LINES / results.len()).max(1);
    let mut about = String::new();
    if all > most {
        let greatest = |key: &String| {
            let rows =
                own().filter(|row| row.change.is_shown() && line_label(row.base, varies) == *key);
            let shares = rows.map(|row| (row.change.value / row.base.value).abs());
            shares.fold(0.0_f64, f64::max)
        };
        keys.sort_by(|a, b| greatest(b).total_cmp(&greatest(a)));
        keys.truncate(most);
        let which = match keys.first().is_some_and(|key| greatest(key) > 0.0) {
            true => "those whose differences are largest",
            false => "the first, as no difference is shown",
        };
        about.push_str(&format!(
            " {} of {all} are drawn, {which}; the tables have all.",
            keys.len()
        ));
    }
    // Parts that all names share are removed from them and stated once.
    let parts = |key: &str| -> Vec<String> { key.split(", ").map(str::to_owned).collect() };
    let first = keys.first().map(|key| parts(key)).unwrap_or_default();
    // The other results are included, since their designs may differ from that of the base.
    let other = |row: &Row<'_>| line_label(row.other, varies);
    let others: Vec<String> =
        distinct(own().filter(|row| keys.contains(&line_label(row.base, varies))).map(other));
    let in_all = |part: &String| keys.iter().chain(&others).all(|key| parts(key).contains(part));
    let common: Vec<String> =
        first.into_iter().filter(|part| !part.is_empty() && in_all(part)).collect();
    if !common.is_empty() {
        about.push_str(&format!(" All: {}.", common.join(", ")));
    }
    let rest = |figure: &Quantity| -> String {
        let parts = parts(&line_label(figure, varies));
        parts.into_iter().filter(|part| !common.contains(part)).collect::<Vec<_>>().join(", ")
    };
    let mut lines: Vec<Line> = Vec::new();
    for (group, key) in keys.iter().enumerate() {
        for (number, result) in results.iter().enumerate() {
            let against = comparison.others.iter().enumerate();
            let rows = against.filter(|(other, _)| number == 0 || other + 1 == number);
            let rows = rows.flat_map(|(_, against)| &against.rows).filter(|row| {
                is_shown(row)
                    && is_finite(row)
                    && row.base.metric == metric
                    && line_label(row.base, varies) == *key
            });
            let figures =
                rows.map(|row| (x_of(row.base), if number == 0 { row.base } else { row.other }));
            let mut figures: Vec<(f64, &Quantity)> = figures.collect();
            figures.sort_by(|a, b| a.0.total_cmp(&b.0));
            // The base appears once, although it has a row for each of the other results.
            figures.dedup_by(|a, b| a.0.total_cmp(&b.0).is_eq());
            let Some((_, one)) = figures.first() else { continue };
            let name = match rest(one) {
                rest if rest.is_empty() => result.name.clone(),
                rest => format!("{}: {rest}", result.name),
            };
            let hue = if results.len() == 2 { group } else { lines.len() };
            let style = Style::series(hue);
            let style = if number == 0 { style.filled() } else { style.hollow() };
            let points = figures.into_iter().map(|(x, figure)| point(figure, x));
            let line = Line::new(name, points.collect(), style);
            lines.push(match varies {
                true => line,
                false => line.beside(lines.len(), keys.len() * results.len()),
            });
        }
    }
    (lines, about)
}

/// Returns the label of the line to which a figure belongs. It is the subject, such as a protocol.
/// If `varies`, a quantity varies along the horizontal axis, and the label also names what was
/// measured, without the value of that quantity.
fn line_label(figure: &Quantity, varies: bool) -> String {
    match varies {
        false => figure.subject.clone(),
        true => {
            // The parts of the place that state the varying quantity are left out.
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
