//! Formats a comparison of results as text for the terminal.

use super::finding::{certainty, finding};
use super::gate::alarms;
use super::{Against, Change, Comparison, Outcome, Row};
use crate::alarm;
use crate::describe::distinct;
use crate::format::{figure, printable, with_interval};
use crate::page::Tone;
use crate::results::Quantity;
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// Returns a comparison of results as text: alarms about conditions that do not hold, then the
/// figures side by side. The text ends with a newline.
#[must_use]
pub fn table(comparison: &Comparison<'_>, outcomes: &[Outcome], layout: Layout) -> String {
    let alarms = alarms(comparison, outcomes);
    let mut out = alarm::text(&alarms, layout);
    if !alarms.is_empty() {
        out.push('\n');
    }
    let results = std::iter::once(comparison.base).chain(comparison.others.iter().map(|o| o.other));
    for (number, result) in results.enumerate() {
        let lead = if number == 0 { "base  ".to_owned() } else { format!("{number:<6}") };
        let about = [result.name.as_str(), ": ", &result.about].concat();
        let started = if result.started_at.is_empty() { "" } else { "; " };
        let text = format!("{about}{started}{}", result.started_at);
        out.push_str(&layout.paragraph(&lead, &text, Paint::Plain));
    }
    for (number, against) in comparison.others.iter().enumerate() {
        let (name, base) = (&against.other.name, &comparison.base.name);
        out.push_str(&layout.heading(&format!("{}: {name} against {base}", number + 1)));
        out.push_str(&one(against, base, !alarms.is_empty(), layout));
    }
    out.push('\n');
    out.push_str(&layout.paragraph("", METHOD, Paint::Faint));
    out
}

/// The explanation of differences that stands below every table of a comparison.
pub(super) const METHOD: &str = "Differences are the other result less the baseline, in percent of the baseline; \
     ratios are the other over the baseline, with the interval of the difference. A difference whose interval \
     contains zero is called not shown. Intervals are those of Welch with 95 % confidence for means over \
     repetitions, and those of Zou and Donner for figures that have intervals of their own, with the confidence of \
     those. Times of a controller are round-trip times from due; CPU in percent of one core.";

/// If more figures than this number are compared, the terminal shows only those that differ.
const MANY: usize = 60;

/// Formats the comparison of one result with the base.
fn one(against: &Against<'_>, base: &str, alarming: bool, layout: Layout) -> String {
    let mut out = String::new();
    for doubt in &against.doubts {
        out.push_str(&layout.paragraph("  ", doubt, Paint::Warn));
    }
    let found = finding(against, base);
    // If there is an alarm, good news is not highlighted.
    let tone = if alarming && found.tone == Tone::Good { Tone::Plain } else { found.tone };
    out.push_str(&layout.paragraph("  ", &found.summary, tone.into()));
    let mut shown: Vec<&Row<'_>> = against.rows.iter().filter(|row| is_shown(row)).collect();
    let all = shown.len();
    if all > MANY {
        shown.retain(|row| row.change.is_shown());
        let only = if shown.is_empty() { "" } else { "Only those that differ are here; " };
        let text = format!("{only}report.html and differences.csv have all {all}.");
        out.push_str(&layout.paragraph("  ", &text, Paint::Plain));
    }
    let subjects = distinct(shown.iter().map(|row| row.base.subject.as_str()));
    // A subject that all rows share is not repeated in each row.
    let place = |row: &Row<'_>| match subjects.as_slice() {
        [_] => row.base.place.clone(),
        _ => place(row),
    };
    let places = distinct(shown.iter().map(|row| place(row)));
    if places.len() <= 1 {
        out.push_str(&grid("", shown.iter().map(|row| (row.base.metric.clone(), **row)), layout));
    } else {
        for metric in distinct(shown.iter().map(|row| row.base.metric.as_str())) {
            let own = shown.iter().filter(|row| row.base.metric == metric);
            let rows = own.map(|row| (place(row), **row));
            out.push('\n');
            out.push_str(&grid(metric, rows, layout));
        }
    }
    if against.alone > 0 {
        let text = format!("{} places that only one of the two has are left out", against.alone);
        out.push_str(&layout.paragraph("  ", &text, Paint::Plain));
    }
    out
}

/// Returns whether reports show this comparison of a figure by default. It is left out if both
/// values are zero.
pub(super) fn is_shown(row: &Row<'_>) -> bool {
    row.base.headline && (row.base.value != 0.0 || row.other.value != 0.0)
}

/// Returns the name of what was measured (a point, case, cell or flow), with the subject, such as
/// the protocol, if both results have the same one.
pub(super) fn place(row: &Row<'_>) -> String {
    let (base, other) = (&row.base.subject, &row.other.subject);
    match base == other && !base.is_empty() {
        true => format!("{base}, {}", row.base.place),
        false => row.base.place.clone(),
    }
}

/// A line of the table: the name of what was measured, the texts of the three cells with figures,
/// and the compared figure.
type Line<'a> = (String, [String; 3], Row<'a>);

/// Formats a table of compared figures.
fn grid<'a>(title: &str, rows: impl Iterator<Item = (String, Row<'a>)>, layout: Layout) -> String {
    let mut grid = Grid::new(vec![
        Column::left(title).indent(2),
        Column::right("base"),
        Column::right("other"),
        Column::right("difference"),
        Column::left(""),
    ]);
    let rows: Vec<Line<'_>> = rows
        .map(|(label, row)| {
            let figures = [stated(row.base), stated(row.other), percent(row.change, row.base)];
            (label, figures, row)
        })
        .collect();
    let widest = |of: &dyn Fn(&Line<'_>) -> usize| rows.iter().map(of).max();
    let headings = ["base", "other", "difference"];
    let figures = headings.iter().enumerate().map(|(at, heading)| {
        2 + widest(&|row| row.1[at].chars().count()).unwrap_or(0).max(heading.len())
    });
    let words = 2 + widest(&|row| conclusion(&row.2).0.chars().count()).unwrap_or(0);
    // Figures and conclusions are never shortened. If they leave too little width for the names,
    // each name has a line of its own.
    let room = layout.columns().saturating_sub(2 + words + figures.sum::<usize>());
    let above = widest(&|row| row.0.chars().count()).unwrap_or(0) > room;
    for (label, [base, other, change], row) in rows {
        let (word, tone) = conclusion(&row);
        if above {
            grid.section(label.as_str());
        }
        grid.row(vec![
            Cell::new(if above { String::new() } else { label }),
            Cell::new(base),
            Cell::new(other),
            Cell::new(change),
            Cell::painted(word, if row.change.is_shown() { tone.into() } else { Paint::Faint }),
        ]);
    }
    if grid.is_empty() { String::new() } else { grid.render(layout) }
}

/// Formats a figure of a result with its confidence interval.
pub(super) fn stated(of: &Quantity) -> String {
    match of.spread {
        crate::results::Spread::Exact if of.value.is_infinite() => "infinite".to_owned(),
        crate::results::Spread::Exact => figure(of.value, of.unit),
        _ => with_interval(of.value, of.interval(), of.unit),
    }
}

/// Formats a difference and its interval in percent of the value in the base.
pub(super) fn percent(change: Change, base: &Quantity) -> String {
    if !change.value.is_finite() {
        return if change.value > 0.0 { "now infinite" } else { "now finite" }.to_owned();
    }
    if base.value == 0.0 {
        // If the base is zero, there is no percentage, so the difference itself is shown.
        let sign = if change.value > 0.0 { "+" } else { "" };
        return format!("{sign}{}", figure(change.value, base.unit));
    }
    let of_base = |value: f64| value / base.value.abs() * 100.0;
    // A difference that rounds to zero is shown as zero without a sign.
    let share = of_base(change.value);
    let share = if share.abs() < 0.05 { 0.0 } else { share };
    let ends = change.interval.map(|(low, high)| (of_base(low), of_base(high)));
    let ends = ends.filter(|(low, high)| high - low > 1e-9);
    let widest = ends.map_or(0.0, |(low, high)| (share - low).max(high - share));
    let digits = if share.abs().max(widest) >= 100.0 { 0 } else { 1 };
    let middle = if share == 0.0 { "0".to_owned() } else { format!("{share:+.digits$}") };
    match ends {
        None => format!("{middle} %"),
        Some((low, high)) if ((high - share) - (share - low)).abs() < 0.05 * (high - low) => {
            format!("{middle} ± {:.digits$} %", (high - low) / 2.0)
        }
        Some((low, high)) => format!("{middle} % ({low:+.digits$} to {high:+.digits$})"),
    }
}

/// Formats the ratio of the other value to the base, with an interval that follows from that of the
/// difference. Returns a dash if the base is zero, the signs differ, or one value is infinite.
pub(super) fn ratio(row: &Row<'_>) -> String {
    let is_infinite = !row.change.value.is_finite();
    if is_infinite || row.base.value == 0.0 || row.base.value.signum() != row.other.value.signum() {
        return "–".to_owned();
    }
    let of_base = |change: f64| 1.0 + change / row.base.value;
    let middle = of_base(row.change.value);
    let digits = if middle >= 100.0 { 0 } else { 3 };
    match row.change.interval.filter(|(low, high)| high > low) {
        None => format!("{middle:.digits$}"),
        Some((low, high)) => {
            format!("{middle:.digits$} ({:.digits$} to {:.digits$})", of_base(low), of_base(high))
        }
    }
}

/// Formats the figures of the base and of the other result with their units, and their ratio.
pub(super) fn figures_in_words(row: &Row<'_>) -> String {
    format!("{} → {}; ratio {}", stated(row.base), stated(row.other), ratio(row))
}

/// Returns the compared figures that reports show by default. Figures that differ come first, in
/// descending order of certainty. The others keep their order.
pub(super) fn surest_first<'a, 'c>(against: &'a Against<'c>) -> Vec<&'a Row<'c>> {
    let shown = || against.rows.iter().filter(|row| is_shown(row));
    let mut rows: Vec<&Row<'_>> = shown().filter(|row| row.change.is_shown()).collect();
    rows.sort_by(|a, b| certainty(b).total_cmp(&certainty(a)));
    rows.extend(shown().filter(|row| !row.change.is_shown()));
    rows
}

/// Returns the conclusion from a compared figure in a word or two, such as `higher` or `not shown`,
/// and whether it is good or bad news.
pub(super) fn conclusion(row: &Row<'_>) -> (&'static str, Tone) {
    let same = row.change.value == 0.0;
    match row.change.interval {
        None => return (if same { "the same" } else { "no interval" }, Tone::Plain),
        Some((low, high)) if same && low == high => return ("the same", Tone::Plain),
        Some(_) if !row.change.is_shown() => return ("not shown", Tone::Plain),
        Some(_) => {}
    }
    let more = row.change.value > 0.0;
    let tone = match row.base.more_is_better {
        None => Tone::Plain,
        Some(better) if better == more => Tone::Good,
        Some(_) => Tone::Bad,
    };
    (if more { "higher" } else { "lower" }, tone)
}

/// Returns a line for each judged condition, which says whether it holds. The text ends with a
/// newline if there are any.
#[must_use]
pub fn outcomes(outcomes: &[Outcome], layout: Layout) -> String {
    let mut out = String::new();
    if !outcomes.is_empty() {
        out.push_str(&layout.heading("Conditions"));
    }
    for outcome in outcomes {
        let (word, paint) =
            if outcome.held { ("pass  ", Paint::Good) } else { ("FAIL  ", Paint::Bad) };
        let text = format!("{}: {}", outcome.condition, printable(&outcome.found()));
        out.push_str(&layout.paragraph(&format!("  {word}"), &text, paint));
    }
    out
}
