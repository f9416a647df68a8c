//! The section of the report on an exhibit (a figure or table of a paper), with published and
//! measured values on the same axes.

use std::collections::BTreeMap;

use report::page::document::Section;
use report::page::{Cell, Figure, Graphic, Table};
use report::plot::{Line, Origin, Point};
use report::value::Value;
use serde::{Deserialize, Serialize};

use super::claims::System;
use super::published::{Exhibit, Paper};
use super::verdict::{Evidence, Found};
use crate::invocation;

/// The results of an experiment that reproduces figures or tables of a paper.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The measured values, by the keys of the published values with which they are compared.
    pub(super) values: BTreeMap<String, Cell>,
    /// The measured values of further systems, which are shown in columns of their own beside
    /// `values`.
    pub(super) beside: Vec<Beside>,
    /// The measured figures by which the claims of papers are judged.
    pub(super) evidence: Vec<Evidence>,
    /// The charts of the report. Each has the identifier of its exhibit, and the name by which
    /// published values refer to the chart.
    pub(super) figures: Vec<(String, String, Figure)>,
    /// The set-up of this measurement, as pairs of an aspect and its description.
    pub(super) set_up: Vec<(String, String)>,
    /// Remarks for the readers of the report.
    pub(super) remarks: Vec<String>,
    /// Links to further files, each with its description and its target.
    pub(super) links: Vec<(String, String)>,
}

/// The measured values of a further system, in a column of their own.
#[derive(Serialize, Deserialize)]
pub(super) struct Beside {
    /// The name of the system, which heads the column.
    pub(super) name: String,
    /// The measured values, by the keys of the published values.
    pub(super) values: BTreeMap<String, Cell>,
}

impl Measured {
    /// Stores a measured value under a key. If `value` is `None`, does nothing.
    pub(super) fn put(&mut self, key: impl Into<String>, value: Option<Value>) {
        if let Some(value) = value {
            self.values.insert(key.into(), value.into());
        }
    }
}

impl Measured {
    /// Stores a figure by which a part of a claim is judged, with one value for each round. Without
    /// rounds, does nothing.
    pub(super) fn rounds(&mut self, system: System, key: &str, rounds: Vec<f64>) {
        if !rounds.is_empty() {
            let found = Found::Rounds(rounds);
            self.evidence.push(Evidence { key: key.to_owned(), system, found });
        }
    }

    /// Stores a computed figure by which a part of a claim is judged.
    pub(super) fn exact(&mut self, key: &str, value: f64) {
        let found = Found::Exact(value);
        self.evidence.push(Evidence { key: key.to_owned(), system: System::Computed, found });
    }

    /// Stores the reason why a part of a claim cannot be judged by a measurement of `system`.
    pub(super) fn inconclusive(&mut self, system: System, key: &str, reason: impl Into<String>) {
        let found = Found::Untold(reason.into());
        self.evidence.push(Evidence { key: key.to_owned(), system, found });
    }
}

/// Returns the ratio of two figures in each round. The list is empty if the figures have different
/// numbers of rounds.
pub(super) fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    match above.len() == below.len() {
        true => above.iter().zip(below).map(|(above, below)| above / below).collect(),
        false => Vec::new(),
    }
}

/// Returns the section of the report on an exhibit (a figure or table of a paper), with its
/// published values and those that were measured.
pub(super) fn of(paper: &Paper, exhibit: &Exhibit, measured: &Measured) -> Section {
    let title = format!("{} of {}", exhibit.name, paper.short);
    let mut columns = vec!["figure", "published", "measured here"];
    columns.extend(measured.beside.iter().map(|beside| beside.name.as_str()));
    columns.push("where published");
    let mut values = Table::of_values(title, columns);
    for one in &exhibit.values {
        let here = match (measured.values.get(&one.key), &one.not_here) {
            (Some(cell), _) => cell.clone(),
            (None, Some(reason)) => Cell::text(format!("not measured: {reason}")),
            (None, None) => Cell::text("not measured in this run"),
        };
        let other = |beside: &Beside| beside.values.get(&one.key).cloned().unwrap_or_default();
        let mut row = vec![Cell::text(&one.what), one.cell(), here];
        row.extend(measured.beside.iter().map(other));
        row.push(Cell::text(&one.source));
        values.row(row);
    }
    let mut set_up =
        Table::of_values("What differs in the set-up", ["aspect", "published", "here"]);
    let here = |aspect: &str| measured.set_up.iter().find(|(name, _)| name == aspect);
    for one in &paper.set_up {
        let own = here(&one.aspect).map_or("–", |(_, text)| text.as_str());
        set_up.row([Cell::text(&one.aspect), Cell::text(&one.published), Cell::text(own)]);
    }
    let known = |aspect: &str| paper.set_up.iter().any(|one| one.aspect == aspect);
    for (aspect, own) in measured.set_up.iter().filter(|(aspect, _)| !known(aspect)) {
        set_up.row([Cell::text(aspect), Cell::default(), Cell::text(own)]);
    }
    Section {
        id: exhibit.id.clone(),
        title: format!("{}: {}", called(paper, exhibit), exhibit.title),
        text: std::iter::once(format!("{}.", paper.citation))
            .chain(measured.remarks.iter().cloned())
            .collect(),
        tables: match measured.set_up.is_empty() {
            true => vec![values],
            false => vec![values, set_up],
        },
        figures: figures(exhibit, measured),
        commands: exhibit
            .commands
            .iter()
            .map(|command| ("The same on yours:".to_owned(), invocation::typed(command)))
            .collect(),
        links: measured.links.clone(),
    }
}

/// Returns the charts of an exhibit (a figure or table of a paper), in which published values are
/// added to the measured ones.
fn figures(exhibit: &Exhibit, measured: &Measured) -> Vec<Figure> {
    let own = measured.figures.iter().filter(|(whose, _, _)| *whose == exhibit.id);
    own.map(|(_, name, figure)| {
        let mut figure = figure.clone();
        let Graphic::Plot(plot) = &mut figure.graphic else { return figure };
        for one in exhibit.values.iter().filter(|one| one.chart.as_deref() == Some(name)) {
            let (Some(value), Some(series), Some(x)) = (one.value(), &one.series, one.x) else {
                continue;
            };
            let is = |line: &&mut Line| line.origin == Origin::Published && line.name == *series;
            match plot.lines.iter_mut().find(is) {
                Some(line) => line.points.push(Point::of_value(x, value)),
                None => plot.lines.push(Line::of_values(series, Origin::Published, [(x, value)])),
            }
        }
        figure
    })
    .collect()
}

/// Returns the name of an exhibit preceded by that of its paper, because several papers have
/// figures with the same number.
fn called(paper: &Paper, exhibit: &Exhibit) -> String {
    let mut short = paper.short.chars();
    let first = short.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}, {}", short.as_str(), exhibit.name)
}
