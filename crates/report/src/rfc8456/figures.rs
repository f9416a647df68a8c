//! Plots every test of RFC 8456 with its mean, interval and trials. Tests of the same unit share a
//! plot, which compares controllers and the effects of faults and attacks.

use probe::rfc8456::outcome::TestOutcome;
use statistics::Unit;

use super::page::{find, rows};
use super::{Candidate, value};
use crate::describe::{distinct, range};
use crate::format::{figure, printable};
use crate::page::{Data, Figure};
use crate::plot::{Axis, Line, Plot, Point, Style};
use crate::value::Spread;

/// A plot of those tests of RFC 8456 that have the same unit.
struct TestPlot {
    title: &'static str,
    /// The sections of RFC 8456 whose tests the plot shows, or prefixes of their numbers.
    sections: &'static [&'static str],
    unit: Unit,
    /// The label of the vertical axis of the plot.
    label: &'static str,
}

const GROUPS: [TestPlot; 5] = [
    TestPlot { title: "Times", sections: &["5.1", "5.4"], unit: Unit::Seconds, label: "time" },
    TestPlot { title: "Rates", sections: &["5.1"], unit: Unit::PerSecond, label: "rate" },
    TestPlot {
        title: "Capacities",
        sections: &["5.2"],
        unit: Unit::Count,
        label: "sessions, switches or entries",
    },
    TestPlot {
        title: "Times under faults and attacks",
        sections: &["5.3"],
        unit: Unit::Seconds,
        label: "time",
    },
    TestPlot {
        title: "Rates under faults and attacks",
        sections: &["5.3"],
        unit: Unit::PerSecond,
        label: "rate",
    },
];

/// Returns a plot for each group of tests that has measurements.
pub(super) fn figures(candidates: &[Candidate<'_>]) -> Vec<Figure> {
    GROUPS.iter().filter_map(|group| figure_of(candidates, group)).collect()
}

/// Returns the plot of a group of tests, or `None` if none of them has measurements.
fn figure_of(candidates: &[Candidate<'_>], group: &TestPlot) -> Option<Figure> {
    let TestPlot { title, sections, unit, label } = *group;
    let is_shown = |(section, name): &(String, String)| {
        let mut outcomes = candidates.iter().filter_map(|one| find(one, section, name));
        sections.iter().any(|start| section.starts_with(start))
            && outcomes.any(|one| one.unit == unit && one.is_measured())
    };
    let tests: Vec<(String, String)> = rows(candidates).into_iter().filter(is_shown).collect();
    if tests.is_empty() {
        return None;
    }
    let (places, key) = places(&tests);
    let mut lines = Vec::new();
    let count = candidates.len();
    for (number, candidate) in candidates.iter().enumerate() {
        let measured = || {
            let found = tests.iter().map(|(section, name)| find(candidate, section, name));
            (1..).zip(found).filter_map(|(place, outcome)| Some((f64::from(place), outcome?)))
        };
        let name = printable(candidate.name);
        let style = Style::series(number);
        // The trials stand left of the mean, since its mark would hide them.
        let trials = measured().filter(|(_, outcome)| outcome.trials.len() > 1);
        let trials: Vec<Point> = trials.flat_map(|(x, outcome)| trials_of(outcome, x)).collect();
        if !trials.is_empty() {
            let line = Line::new(format!("{name}, each trial"), trials, style.dots());
            let legend = if count == 1 { "a trial" } else { "" };
            let line = Line { legend: legend.to_owned(), ..line };
            lines.push(line.beside(2 * number, 2 * count));
        }
        let means = measured().filter_map(|(x, outcome)| mean_of(outcome, x, &name)).collect();
        let line = Line::new(name.clone(), means, style.filled());
        let legend = if count == 1 { "mean over the trials".to_owned() } else { name };
        lines.push(Line { legend, ..line.beside(2 * number + 1, 2 * count) });
    }
    let values = lines.iter().flat_map(|line| &line.points).map(|point| point.y);
    let (low, high) = range(values.filter(|y| y.is_finite()));
    // Values of different tests may differ by orders of magnitude, and a logarithmic axis shows all
    // of them.
    let y = match low > 0.0 && high / low > 10.0 {
        true => Axis::logarithmic(label, unit),
        false => Axis::linear(label, unit),
    };
    let description = "A place for each test: means with intervals, and the trials as dots.";
    let remark = format!("Dots are trials, bars 95 % confidence intervals of the mean. {key}");
    let plot = Plot::new(format!("{title} by test"), description, Axis::named("test", places), y);
    // The table above the figure has the means, and the tables below it have the trials.
    Some(Figure::plot(Plot { lines, ..plot }, remark).with_data(Data::Elsewhere))
}

/// Returns the labels of tests on the horizontal axis, and a text that explains them. A label is
/// the section of RFC 8456, with a letter if the section has several tests.
fn places(tests: &[(String, String)]) -> (Vec<String>, String) {
    let mut places = Vec::new();
    let mut key = Vec::new();
    for section in distinct(tests.iter().map(|(section, _)| section.as_str())) {
        let own: Vec<&str> =
            tests.iter().filter(|(own, _)| own == section).map(|(_, name)| name.as_str()).collect();
        for (letter, name) in ('a'..='z').zip(&own) {
            let place = match own.len() {
                1 => section.to_owned(),
                _ => format!("{section}{letter}"),
            };
            key.push(format!("{place}: {}", printable(name)));
            places.push(place);
        }
    }
    (places, format!("{}.", key.join("; ")))
}

fn trials_of(outcome: &TestOutcome, x: f64) -> impl Iterator<Item = Point> + '_ {
    let values = outcome.trials.iter().filter_map(|trial| trial.value);
    values
        .map(move |value| Point { tip: Some(figure(value, outcome.unit)), ..Point::new(x, value) })
}

fn mean_of(outcome: &TestOutcome, x: f64, name: &str) -> Option<Point> {
    let found = outcome.value.as_ref()?;
    Some(Point {
        spread: Spread::of(found, outcome.unit),
        tip: Some(format!("{name}: {}", value(outcome))),
        ..Point::new(x, found.mean)
    })
}
