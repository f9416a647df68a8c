//! Results of runs: figures, histograms and comparisons. `planimeter.results` wraps these classes.

use std::path::PathBuf;

use hdrhistogram::Histogram;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use report::Layout;
use report::compare::{Agreement, CompareError, Comparison, judge, outcomes, table};
use report::results::histograms::{Bins, HistogramFile};
use report::results::{self, Coordinate, Quantity};
use statistics::{Condition, Unit};

use crate::errors::{Fault, Kind};

/// A result of any verb.
#[pyclass(frozen, module = "planimeter._native")]
pub(crate) struct Recorded {
    inner: results::Recorded,
}

/// A figure, as a dictionary of Python.
fn figure<'py>(py: Python<'py>, of: &Quantity) -> PyResult<Bound<'py, PyDict>> {
    let figure = PyDict::new(py);
    let (low, high) = of.interval().unzip();
    let dimensions = PyDict::new(py);
    for (name, value) in of.dimensions.iter() {
        match value {
            Coordinate::Number(number) => dimensions.set_item(name, *number)?,
            Coordinate::Name(name_of_value) => dimensions.set_item(name, name_of_value)?,
        }
    }
    figure.set_item("metric", &of.metric)?;
    figure.set_item("value", of.value)?;
    figure.set_item("unit", of.unit.text())?;
    figure.set_item("low", low)?;
    figure.set_item("high", high)?;
    figure.set_item("n", of.repetitions())?;
    figure.set_item("doubt", of.doubt.as_deref())?;
    figure.set_item("subject", &of.subject)?;
    figure.set_item("place", &of.place)?;
    figure.set_item("headline", of.headline)?;
    figure.set_item("dimensions", dimensions)?;
    Ok(figure)
}

/// Returns the metrics of figures with their units, each once.
fn metrics<'a>(figures: impl Iterator<Item = &'a Quantity>) -> Vec<(&'a str, Unit)> {
    let mut metrics: Vec<(&str, Unit)> = Vec::new();
    for figure in figures {
        if !metrics.iter().any(|(name, _)| *name == figure.metric) {
            metrics.push((&figure.metric, figure.unit));
        }
    }
    metrics
}

/// Returns the fault of a condition that cannot be parsed.
fn no_condition(error: &statistics::ConditionError) -> Fault {
    Fault::new(Kind::Input, error.reason.clone())
        .at(format!("\"{}\", column {}", error.text, error.column))
}

#[pymethods]
impl Recorded {
    /// Reads the text of a result. `name` is its name in comparisons.
    #[staticmethod]
    fn read(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        let read = py.detach(|| results::read(name, text));
        Ok(Self { inner: read.map_err(|error| Fault::new(Kind::Result, error.to_string()))? })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn verb(&self) -> &'static str {
        self.inner.kind.verb()
    }

    #[getter]
    fn about(&self) -> &str {
        &self.inner.about
    }

    #[getter]
    fn started_at(&self) -> &str {
        &self.inner.started_at
    }

    #[getter]
    fn partial(&self) -> Option<&str> {
        self.inner.partial.as_deref()
    }

    /// The host name, the processor and the number of cores, or None.
    #[getter]
    fn machine(&self) -> Option<(String, String, u64)> {
        let machine = self.inner.machine.as_ref();
        machine.map(|of| (of.hostname.clone(), of.processor.clone(), of.cores))
    }

    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = PyDict::new(py);
        for (name, value) in &self.inner.settings {
            settings.set_item(name, value)?;
        }
        Ok(settings)
    }

    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.inner.figures.iter().map(|one| figure(py, one)).collect()
    }

    /// Judges a condition on the figures with these numbers. Returns, for each figure of its metric,
    /// its number, whether the condition holds, and whether it holds on the whole interval.
    fn judge(&self, condition: &str, figures: Vec<usize>) -> PyResult<Vec<(usize, bool, bool)>> {
        let of = |number: &usize| Some((*number, self.inner.figures.get(*number)?));
        let chosen: Vec<(usize, &Quantity)> = figures.iter().filter_map(of).collect();
        let known = metrics(chosen.iter().map(|(_, figure)| *figure));
        let condition = Condition::parse(condition, known.iter().copied(), false)
            .map_err(|error| no_condition(&error))?;
        let judged = chosen.into_iter().filter(|(_, one)| one.metric == condition.metric());
        let judged = judged.map(|(number, one)| {
            let held = condition.holds(one.value, None);
            let is_certain = one.interval().is_some_and(|(low, high)| {
                condition.holds(low, None) == held && condition.holds(high, None) == held
            });
            (number, held, is_certain)
        });
        Ok(judged.collect())
    }
}

/// A histogram in a run directory: its kind, the number of its point or case, its trial, and its path.
type Listed = (String, u32, Option<u32>, PathBuf);

/// Returns the histograms in a run directory.
#[pyfunction]
pub(crate) fn list_histograms(run: PathBuf) -> PyResult<Vec<Listed>> {
    let found = results::histograms::list(&run).map_err(|error| {
        Fault::new(Kind::Result, error.to_string()).at(run.display().to_string())
    })?;
    let parts = |file: HistogramFile| (file.kind, file.number, file.trial, file.path);
    Ok(found.into_iter().map(parts).collect())
}

/// The edges of a histogram's bins in seconds, and their counts.
type Arrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>);

/// Adds up histograms, and returns the edges of their bins in seconds, and the counts.
#[pyfunction]
pub(crate) fn read_histograms(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Arrays<'_>> {
    let bins = py.detach(|| {
        let mut sum: Option<Histogram<u64>> = None;
        for path in paths {
            let file = HistogramFile { kind: String::new(), number: 0, trial: None, path };
            let one = file.read().map_err(|error| {
                Fault::new(Kind::Result, error.reason).at(error.path.display().to_string())
            })?;
            match &mut sum {
                None => {
                    let mut first = one;
                    // The longest time differs between trials, so the range of the sum must grow.
                    first.auto(true);
                    sum = Some(first);
                }
                Some(sum) => sum.add(&one).map_err(|error| {
                    Fault::new(Kind::Result, error.to_string()).at(file.path.display().to_string())
                })?,
            }
        }
        Ok::<_, Fault>(sum.as_ref().map(Bins::of).unwrap_or_default())
    })?;
    let edges = bins.edges.iter().map(|nanoseconds| *nanoseconds as f64 / 1e9).collect();
    Ok((PyArray1::from_vec(py, edges), PyArray1::from_vec(py, bins.counts)))
}

/// Results compared with the first of them.
#[pyclass(frozen, module = "planimeter._native")]
pub(crate) struct Compared {
    results: Vec<results::Recorded>,
    despite: Vec<Agreement>,
    conditions: Vec<Condition>,
}

impl Compared {
    fn with<R>(&self, of: impl FnOnce(&Comparison<'_>) -> R) -> Result<R, Fault> {
        match Comparison::new(&self.results, &self.despite) {
            Ok(Some(comparison)) => Ok(of(&comparison)),
            Ok(None) => Err(Fault::new(Kind::Input, "there is nothing to compare")),
            Err(error) => Err(not_comparable(&error)),
        }
    }
}

fn not_comparable(error: &CompareError) -> Fault {
    match error {
        CompareError::Differ { what, differences } => {
            Fault::new(Kind::Result, differences.join("; "))
                .mended_by(format!("despite={{'{}'}} compares them nevertheless", what.word()))
        }
        other => Fault::new(Kind::Result, other.to_string()),
    }
}

#[pymethods]
impl Compared {
    #[new]
    fn new(
        results: Vec<PyRef<'_, Recorded>>,
        despite: Vec<String>,
        conditions: Vec<String>,
    ) -> PyResult<Self> {
        let results: Vec<_> = results.iter().map(|result| result.inner.clone()).collect();
        let agreements = [Agreement::Configuration, Agreement::Machine];
        let despite = despite.iter().map(|word| {
            agreements.into_iter().find(|known| known.word() == word).ok_or_else(|| {
                Fault::new(Kind::Input, format!("'{word}' is not known"))
                    .at("despite")
                    .mended_by("write 'configuration' or 'machine'")
            })
        });
        let despite = despite.collect::<Result<Vec<_>, _>>()?;
        let known = metrics(results.iter().flat_map(|result| &result.figures));
        let conditions = conditions.iter().map(|text| {
            Condition::parse(text, known.iter().copied(), true)
                .map_err(|error| no_condition(&error))
        });
        let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
        let compared = Self { results, despite, conditions };
        compared.with(|_| ())?;
        Ok(compared)
    }

    /// The comparison as text, as the command prints it.
    fn text(&self, width: usize) -> PyResult<String> {
        let layout = Layout { width, colour: false };
        let text = self.with(|comparison| {
            let judged = judge(comparison, &self.conditions);
            table(comparison, &judged, layout) + &outcomes(&judged, layout)
        })?;
        Ok(text)
    }

    /// The reasons to doubt the comparison.
    fn doubts(&self) -> PyResult<Vec<String>> {
        let doubts = |comparison: &Comparison<'_>| {
            comparison.others.iter().flat_map(|against| against.doubts.clone()).collect()
        };
        Ok(self.with(doubts)?)
    }

    /// A dictionary for each figure that a result and the base have in common.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.with(|comparison| {
            let mut rows = Vec::new();
            for against in &comparison.others {
                for row in &against.rows {
                    let (low, high) = row.change.interval.unzip();
                    let one = figure(py, row.other)?;
                    one.set_item("result", &against.other.name)?;
                    one.set_item("base", row.base.value)?;
                    one.set_item("change", row.change.value)?;
                    one.set_item("change_low", low)?;
                    one.set_item("change_high", high)?;
                    one.set_item("shown", row.change.is_shown())?;
                    rows.push(one);
                }
            }
            Ok::<_, PyErr>(rows)
        })?
    }

    /// Returns, for each condition and figure, the condition, whether it holds, and what was found.
    fn judged(&self) -> PyResult<Vec<(String, bool, String)>> {
        let judged = self.with(|comparison| judge(comparison, &self.conditions))?;
        Ok(judged.into_iter().map(|one| (one.condition.clone(), one.held, one.found())).collect())
    }
}
