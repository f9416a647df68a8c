//! Two or more results side by side.
//!
//! The first result is the base; each other is held against it, metric by metric, at the points
//! that both have. A difference is given with its 95 % confidence interval after Welch (B. L.
//! Welch, "The generalization of Student's problem when several different population variances are
//! involved", Biometrika 34, 1947), which does not ask that both vary equally. Only an interval
//! that leaves out zero is called a difference, and one trial on either side has no interval.

use probe::metrics::{Metric, Unit};
use probe::outcome::{Point, RunResult, Saturated};
use statistics::{Difference, Estimate};

use crate::describe;
use crate::estimates::metric;
use crate::format::{duration, estimate, figure, printable};
use crate::terminal::{Cell, Column, Grid, Layout, Paint};
use crate::verdict;

/// One of the results to compare.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// How the result is called in the table, such as its run directory.
    pub name: &'a str,
    /// The result.
    pub result: &'a RunResult,
}

/// What is compared, and whether more of it is better.
const METRICS: [(&str, Option<bool>); 9] = [
    ("received_rate", Some(true)),
    ("loss", Some(false)),
    ("rtt.mean", Some(false)),
    ("rtt.p50", Some(false)),
    ("rtt.p99", Some(false)),
    ("rules_rate", None),
    ("fairness", Some(true)),
    ("controller.cpu", Some(false)),
    ("controller.rss", Some(false)),
];

/// The results side by side, the first being the base that the others are held against. Ends with
/// a newline.
#[must_use]
pub fn compare(candidates: &[Candidate<'_>], layout: Layout) -> String {
    let Some((base, others)) = candidates.split_first() else {
        return "nothing to compare\n".to_owned();
    };
    let mut out = String::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let lead = if number == 0 { "base  ".to_owned() } else { format!("{number:<6}") };
        let result = candidate.result;
        let text = format!(
            "{}: {}; controller {}; {}; {}, took {}",
            printable(candidate.name),
            describe::run(result),
            printable(&result.controller.address),
            describe::effort(result),
            printable(&result.started_at),
            duration(result.elapsed_s),
        );
        out.push_str(&layout.paragraph(&lead, &text, Paint::Plain));
        if let Some((state, reason)) = describe::incomplete(&result.completion) {
            out.push_str(&layout.paragraph("      ", &format!("{state}: {reason}"), Paint::Bad));
        }
    }
    for (number, other) in others.iter().enumerate() {
        let name = printable(other.name);
        let heading = format!("{}: {name} against {}", number + 1, printable(base.name));
        out.push_str(&layout.heading(&heading));
        out.push_str(&against(base.result, other.result, layout));
    }
    out.push('\n');
    let method = "Differences are of the means, other less base, in percent of the base, with 95 % \
                  confidence intervals after Welch over the trials. CPU in percent of one core; \
                  times are round-trip times from due.";
    out.push_str(&layout.paragraph("", method, Paint::Faint));
    out
}

/// One result against the base.
fn against(base: &RunResult, other: &RunResult, layout: Layout) -> String {
    let pairs = pairs(base, other);
    if pairs.is_empty() {
        let text = "no point in common: protocol, mode, switches and rate or window must agree";
        return layout.paragraph("  ", text, Paint::Bad);
    }
    let mut out = String::new();
    for (before, after) in &pairs {
        out.push_str(&warnings(before, after, layout));
    }
    if let [(before, after)] = pairs.as_slice() {
        let mut grid = grid("");
        for (name, better) in METRICS {
            compare_metric(&mut grid, name, name, better, before, after);
        }
        out.push_str(&grid.render(layout));
    } else {
        for (name, better) in METRICS {
            let mut grid = grid(name);
            for (before, after) in &pairs {
                compare_metric(&mut grid, &describe::point(before), name, better, before, after);
            }
            if !grid.is_empty() {
                out.push('\n');
                out.push_str(&grid.render(layout));
            }
        }
    }
    let alone = base.points.len() + other.points.len() - 2 * pairs.len();
    if alone > 0 {
        let text = format!("{alone} points that only one of both has are left out");
        out.push_str(&layout.paragraph("  ", &text, Paint::Plain));
    }
    out
}

fn grid(title: &str) -> Grid {
    Grid::new(vec![
        Column::left(title).indent(2),
        Column::right("base"),
        Column::right("other"),
        Column::right("difference"),
        Column::left(""),
    ])
}

/// Points of both that were measured alike. Two single points are held against each other even if
/// they were not, for instance one protocol against the other.
fn pairs<'a>(base: &'a RunResult, other: &'a RunResult) -> Vec<(&'a Point, &'a Point)> {
    if let ([before], [after]) = (base.points.as_slice(), other.points.as_slice()) {
        return vec![(before, after)];
    }
    let alike = |a: &Point, b: &Point| {
        let key = |p: &Point| (p.switches, p.rate_per_switch, p.window);
        a.protocol == b.protocol && a.mode == b.mode && key(a) == key(b)
    };
    let partner = |before: &'a Point| other.points.iter().find(|after| alike(before, after));
    base.points.iter().filter_map(|before| Some((before, partner(before)?))).collect()
}

/// What makes a comparison of two points doubtful.
fn warnings(before: &Point, after: &Point, layout: Layout) -> String {
    let mut out = String::new();
    let (first, second) = (describe::point(before), describe::point(after));
    if first != second {
        let text = format!("the points differ: {first} against {second}");
        out.push_str(&layout.paragraph("  ", &text, Paint::Warn));
    }
    for (point, name) in [(before, "base"), (after, "other")] {
        if verdict::of_point(point).side == Saturated::Probe {
            let place = describe::point(point);
            let text = format!(
                "the probe was the limit ({name}, {place}): no statement about the controller"
            );
            out.push_str(&layout.paragraph("  ", &text, Paint::Bad));
        }
    }
    out
}

fn compare_metric(
    grid: &mut Grid,
    label: &str,
    name: &str,
    better: Option<bool>,
    before: &Point,
    after: &Point,
) {
    let (before, after) = (metric(before, name), metric(after, name));
    let unit = Metric::by_name(name).map_or(Unit::Index, |metric| metric.unit);
    // Of what neither side has anything, there is nothing to tell.
    if before.into_iter().chain(after).all(|estimate| estimate.max == 0.0) {
        return;
    }
    let text = |value: Option<&Estimate>| {
        Cell::new(value.map_or_else(|| "–".to_owned(), |value| estimate(value, unit)))
    };
    let mut row = vec![Cell::new(label), text(before), text(after)];
    if let (Some(before), Some(after)) = (before, after) {
        let difference = Difference::of(before, after);
        row.push(Cell::new(percent(difference, before.mean, unit)));
        let (word, paint) = conclusion(difference, better);
        row.push(Cell::painted(word, paint));
    }
    grid.row(row);
}

/// A difference in percent of the base.
fn percent(difference: Difference, base: f64, unit: Unit) -> String {
    let Difference { mean, ci95 } = difference;
    if base == 0.0 {
        // There is no percentage of nothing.
        let sign = if mean > 0.0 { "+" } else { "" };
        return format!("{sign}{}", figure(mean, unit));
    }
    // Less than can be seen is shown as nothing, without a sign.
    let share = mean / base.abs() * 100.0;
    let share = if share.abs() < 0.05 { 0.0 } else { share };
    let half = ci95.map(|half| half / base.abs() * 100.0);
    let digits = if share.abs().max(half.unwrap_or(0.0)) >= 100.0 { 0 } else { 1 };
    match half {
        Some(half) if share == 0.0 => format!("0 ± {half:.digits$} %"),
        Some(half) => format!("{share:+.digits$} ± {half:.digits$} %"),
        None => format!("{share:+.digits$} %"),
    }
}

/// Whether there is one, in a word.
fn conclusion(difference: Difference, more_is_better: Option<bool>) -> (&'static str, Paint) {
    if difference.ci95.is_none() {
        return ("one trial", Paint::Faint);
    }
    if !difference.is_shown() {
        return ("no difference shown", Paint::Faint);
    }
    let more = difference.mean > 0.0;
    let paint = match more_is_better {
        None => Paint::Plain,
        Some(better) if better == more => Paint::Good,
        Some(_) => Paint::Bad,
    };
    (if more { "higher" } else { "lower" }, paint)
}
#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Estimate {
        Estimate::of(values).expect("values")
    }

    #[test]
    fn a_difference_is_in_percent_of_the_base() {
        let before = of(&[8.0, 9.0, 10.0, 11.0, 12.0]);
        let after = of(&[16.0, 18.0, 20.0, 22.0, 24.0]);
        let difference = Difference::of(&before, &after);
        // Half an interval of t(5.88) = 2.459 times the square root of 2.5.
        assert_eq!(percent(difference, 10.0, Unit::Seconds), "+100 ± 39 %");
        assert_eq!(conclusion(difference, Some(true)).0, "higher");
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let noisy = Difference::of(&of(&[1.0, 9.0]), &of(&[2.0, 11.0]));
        assert_eq!(conclusion(noisy, Some(true)).0, "no difference shown");
        let single = Difference::of(&of(&[1.0]), &of(&[2.0, 2.1]));
        assert_eq!((single.ci95, conclusion(single, None).0), (None, "one trial"));
        let same = Difference::of(&of(&[3.0, 3.0]), &of(&[3.0, 3.0]));
        assert_eq!(conclusion(same, None).0, "no difference shown");
        let exact = Difference::of(&of(&[3.0, 3.0]), &of(&[4.0, 4.0]));
        assert_eq!(conclusion(exact, Some(false)), ("higher", Paint::Bad));
    }

    #[test]
    fn there_is_no_percentage_of_nothing() {
        let difference = Difference::of(&of(&[0.0, 0.0]), &of(&[0.02, 0.02]));
        assert_eq!(percent(difference, 0.0, Unit::Fraction), "+2.00 %");
    }
}
