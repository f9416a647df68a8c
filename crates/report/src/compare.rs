//! Two or more results side by side.
//!
//! The first result is the base; each other is held against it, metric by metric, at the points
//! that both have. A difference is given with its 95 % confidence interval after Welch (B. L.
//! Welch, "The generalization of Student's problem when several different population variances are
//! involved", Biometrika 34, 1947), which does not ask that both vary equally. Only an interval
//! that leaves out zero is called a difference, and one trial on either side has no interval.

use probe::metrics::{Metric, Unit};
use probe::outcome::{Estimate, Point, RunResult, Saturated};

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
        row.push(Cell::new(difference.text(before.mean, unit)));
        let (word, paint) = difference.conclusion(better);
        row.push(Cell::painted(word, paint));
    }
    grid.row(row);
}

/// A difference of two means.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Difference {
    /// Other less base.
    mean: f64,
    /// Half the width of its 95 % confidence interval; absent with one trial on either side.
    interval: Option<f64>,
}

impl Difference {
    fn of(before: &Estimate, after: &Estimate) -> Self {
        let mean = after.mean - before.mean;
        let (Some(a), Some(b)) = (before.stddev, after.stddev) else {
            return Self { mean, interval: None };
        };
        let (n, m) = (f64::from(before.n), f64::from(after.n));
        // Variances of the means, and the degrees of freedom of their sum (Welch, Satterthwaite).
        let (v, w) = (a * a / n, b * b / m);
        if v + w == 0.0 {
            return Self { mean, interval: Some(0.0) };
        }
        let freedom = (v + w).powi(2) / (v * v / (n - 1.0) + w * w / (m - 1.0));
        Self { mean, interval: Some(student_t_975(freedom) * (v + w).sqrt()) }
    }

    fn text(self, base: f64, unit: Unit) -> String {
        let Self { mean, interval } = self;
        if base == 0.0 {
            // There is no percentage of nothing.
            let sign = if mean > 0.0 { "+" } else { "" };
            return format!("{sign}{}", figure(mean, unit));
        }
        // Less than can be seen is shown as nothing, without a sign.
        let share = mean / base.abs() * 100.0;
        let share = if share.abs() < 0.05 { 0.0 } else { share };
        let half = interval.map(|half| half / base.abs() * 100.0);
        let digits = if share.abs().max(half.unwrap_or(0.0)) >= 100.0 { 0 } else { 1 };
        match half {
            Some(half) if share == 0.0 => format!("0 ± {half:.digits$} %"),
            Some(half) => format!("{share:+.digits$} ± {half:.digits$} %"),
            None => format!("{share:+.digits$} %"),
        }
    }

    fn conclusion(self, more_is_better: Option<bool>) -> (&'static str, Paint) {
        let Some(interval) = self.interval else { return ("one trial", Paint::Faint) };
        // What is left of a difference of equal numbers is no difference.
        if self.mean.abs() <= interval || self.mean == 0.0 {
            return ("no difference shown", Paint::Faint);
        }
        let more = self.mean > 0.0;
        let paint = match more_is_better {
            None => Paint::Plain,
            Some(better) if better == more => Paint::Good,
            Some(_) => Paint::Bad,
        };
        (if more { "higher" } else { "lower" }, paint)
    }
}

/// The 97.5 % quantile of Student's t, for whole degrees of freedom at or below those given, which
/// errs on the side of a wider interval. It is the quantile behind every other interval: that of
/// any sample is the quantile times its standard error.
fn student_t_975(freedom: f64) -> f64 {
    // Beyond this the quantile changes by less than one part in a thousand.
    let freedom = freedom.clamp(1.0, 1_000.0) as usize;
    let values: Vec<f64> = (0..=freedom).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
    let deviation = probe::statistics::standard_deviation(&values);
    let interval = probe::statistics::confidence_95(&values);
    let error = deviation.map(|deviation| deviation / (values.len() as f64).sqrt());
    interval.zip(error).map_or(f64::INFINITY, |(interval, error)| interval / error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Estimate {
        Estimate::of(values).expect("values")
    }

    #[test]
    fn the_quantile_is_that_of_the_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975.
        for (freedom, expected) in [(1.0, 12.706), (4.0, 2.776), (8.9, 2.306), (29.0, 2.045)] {
            assert!((student_t_975(freedom) - expected).abs() < 5e-4, "{freedom}");
        }
    }

    #[test]
    fn an_interval_by_hand() {
        // Variances of the means 0.5 and 2, so 2.5; freedom 6.25 / (0.25/4 + 4/4) = 5.88, cut to 5,
        // quantile 2.571; half interval 2.571 * sqrt(2.5) = 4.065.
        let before = of(&[8.0, 9.0, 10.0, 11.0, 12.0]);
        let after = of(&[16.0, 18.0, 20.0, 22.0, 24.0]);
        let difference = Difference::of(&before, &after);
        assert_eq!(difference.mean, 10.0);
        assert!((difference.interval.expect("several trials") - 4.065).abs() < 1e-3);
        assert_eq!(difference.text(10.0, Unit::Seconds), "+100 ± 41 %");
        assert_eq!(difference.conclusion(Some(true)).0, "higher");
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let noisy = Difference::of(&of(&[1.0, 9.0]), &of(&[2.0, 11.0]));
        assert_eq!(noisy.conclusion(Some(true)).0, "no difference shown");
        let single = Difference::of(&of(&[1.0]), &of(&[2.0, 2.1]));
        assert_eq!((single.interval, single.conclusion(None).0), (None, "one trial"));
        let same = Difference::of(&of(&[3.0, 3.0]), &of(&[3.0, 3.0]));
        assert_eq!(same.conclusion(None).0, "no difference shown");
        let exact = Difference::of(&of(&[3.0, 3.0]), &of(&[4.0, 4.0]));
        assert_eq!(exact.conclusion(Some(false)), ("higher", Paint::Bad));
    }

    #[test]
    fn there_is_no_percentage_of_nothing() {
        let difference = Difference::of(&of(&[0.0, 0.0]), &of(&[0.02, 0.02]));
        assert_eq!(difference.text(0.0, Unit::Fraction), "+2.00 %");
    }
}
