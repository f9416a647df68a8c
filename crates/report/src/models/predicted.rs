//! Documents with the predictions of `planimeter device predict`, for `--json` and the run
//! directory. Delays are in seconds, rates in bits per second.

use ::device::campaign::{FunctionName, Picoseconds};
use ::device::compose::{Composition, Curves};
use ::device::program::{Feasibility, Parts, PathPrediction};
use ::device::{Model, SettingModel};
use calculus::Rational;
use calculus::network::describe::{Round, rounded};
use provenance::Provenance;
use statistics::Unit;

use super::paths::{NONE_TAKEN, feasibility_in_words, paths_with, worst};
use crate::format::plural;
use crate::page::document::{Document, Section};
use crate::page::{Cell, Table};
use crate::value::Value;

/// The kind of these documents.
const KIND: &str = "device predict";

/// Returns the predicted delays, bounds and service curves for packets that need several functions.
#[must_use]
pub fn prediction_document(
    model: &Model,
    composition: &Composition,
    curves: &Curves,
    provenance: Provenance,
) -> Document {
    let names: Vec<&str> = composition.functions.iter().map(|name| name.as_str()).collect();
    let functions = if names.is_empty() { "the baseline".to_owned() } else { names.join(" + ") };
    let mut notes = curves.remarks.clone();
    for predicted in composition.levels.iter().filter(|predicted| !predicted.negative.is_empty()) {
        let names: Vec<&str> = predicted.negative.iter().map(|name| name.as_str()).collect();
        let clipped = if predicted.level.is_upper() { "; the bound counts it as zero" } else { "" };
        let names = names.join(", ");
        notes.push(format!("{}: {names} has a negative cost{clipped}.", predicted.level));
    }
    if !composition.refused.is_empty() {
        notes.push(not_constant(&composition.refused));
    }
    let section = Section {
        id: "prediction".to_owned(),
        title: "Prediction".to_owned(),
        tables: [delays(composition), unions(composition), services(curves)]
            .into_iter()
            .filter(|table| !table.is_empty())
            .collect(),
        ..Section::default()
    };
    Document {
        kind: KIND,
        title: format!("{}: {functions}, {}", model.device.name, composition.setting),
        findings: Vec::new(),
        notes,
        partial: None,
        claims: Vec::new(),
        sections: vec![section],
        provenance,
    }
}

/// Returns the predicted delay of each path through a program, the slowest first. Paths that a
/// packet takes link to its script, `path-NUMBER.stf`.
#[must_use]
pub fn paths_document(
    model: &Model,
    under: &SettingModel,
    paths: &[PathPrediction],
    provenance: Provenance,
) -> Document {
    let mut findings = Vec::new();
    if let Some((number, path)) = worst(paths) {
        findings.push(format!(
            "Worst path: path {number}, {}; {}.",
            feasibility_in_words(&path.feasibility),
            path.path.decisions.join(" › "),
        ));
        if !path.composition.refused.is_empty() {
            findings.push(format!("Path {number}: {}", not_constant(&path.composition.refused)));
        }
    } else if !paths.is_empty() {
        findings.push(NONE_TAKEN.to_owned());
    }
    let links = (1..).zip(paths).filter(|(_, path)| path.feasibility.witness().is_some());
    let links = links.map(|(number, _)| {
        (format!("The packet and entries of path {number}"), script_name(number))
    });
    let section = Section {
        id: "paths".to_owned(),
        title: "Paths".to_owned(),
        tables: [
            path_table(model, paths),
            parts("Not measured and not estimated", paths, |path| &path.unmeasured),
            parts("Counted although not on the path", paths, |path| &path.beyond),
        ]
        .into_iter()
        .filter(|table| !table.is_empty())
        .collect(),
        links: links.collect(),
        ..Section::default()
    };
    let number = plural(paths.len() as u64, "path", "paths that differ");
    Document {
        kind: KIND,
        title: format!("{}, {}: {number}", model.device.name, under.setting),
        findings,
        notes: vec![
            "Delays of a path with functions that are not measured include only the measured ones."
                .to_owned(),
            "A path that is cut short is taken until the packet is dropped, so its delay is an \
             upper bound."
                .to_owned(),
        ],
        partial: None,
        claims: Vec::new(),
        sections: vec![section],
        provenance,
    }
}

/// Returns the file name of the script of a path.
#[must_use]
pub fn script_name(path: usize) -> String {
    format!("path-{path}.stf")
}

fn seconds(time: Picoseconds) -> Value {
    Value::new(time.0 as f64 * 1e-12, Unit::Seconds)
}

fn count(number: f64) -> Cell {
    Cell::from(Value::new(number, Unit::Count))
}

fn delays(composition: &Composition) -> Table {
    let columns = ["level", "delay", "low", "high", "bound", "share beyond", "rests on"];
    let mut table = Table::of_values("Delays", columns);
    for predicted in &composition.levels {
        let is_upper = predicted.level.is_upper();
        let share = predicted.beyond.filter(|_| is_upper);
        table.row([
            Cell::text(predicted.level.to_string()),
            Cell::from(seconds(predicted.value)),
            Cell::optional(predicted.low.map(seconds)),
            Cell::optional(predicted.high.map(seconds)),
            Cell::optional(is_upper.then(|| seconds(predicted.safe))),
            Cell::optional(share.map(|share| Value::new(share, Unit::Fraction))),
            Cell::text(predicted.guarantee.to_string()),
        ]);
    }
    table
}

fn unions(composition: &Composition) -> Table {
    let columns = ["share beyond, at most", "delay", "confidence"];
    let mut table = Table::of_values("Union bounds", columns);
    for bound in &composition.union {
        if let Some(delay) = bound.delay {
            table.row([
                Cell::text(bound.beyond.to_string()),
                Cell::from(seconds(delay)),
                Cell::from(Value::new(bound.confidence, Unit::Fraction)),
            ]);
        }
    }
    table
}

/// Returns the service curves. The rate is in bits per second.
fn services(curves: &Curves) -> Table {
    let columns = ["curve", "rate (bits)", "latency", "rests on"];
    let mut table = Table::of_values("Service curves", columns);
    let number = |value: &Rational, round, factor: f64, unit| {
        let number: Option<f64> = rounded(value, 7, round).parse().ok();
        Cell::optional(number.map(|number| Value::new(number * factor, unit)))
    };
    let rate = |rate: &Rational, round| number(rate, round, 1e6, Unit::PerSecond);
    let latency = |latency: &Rational, round| number(latency, round, 1e-6, Unit::Seconds);
    for service in &curves.minimum {
        let how = service
            .semantics
            .map_or_else(|| "burst-delay".to_owned(), |semantics| semantics.to_string());
        let rate = service.rate.as_ref().map(|of| rate(of, Round::Down));
        table.row([
            Cell::text(format!("minimum, {}, {how}", service.level)),
            rate.unwrap_or_default(),
            latency(&service.latency, Round::Up),
            Cell::text(service.guarantee.to_string()),
        ]);
    }
    if let Some(maximum) = &curves.maximum {
        table.row([
            Cell::text("maximum"),
            rate(&maximum.rate, Round::Up),
            latency(&maximum.latency, Round::Down),
            Cell::default(),
        ]);
    }
    table
}

/// Returns a table with a row for each path. A packet is in hexadecimal digits.
fn path_table(model: &Model, paths: &[PathPrediction]) -> Table {
    let levels: Vec<String> = model.levels().iter().map(ToString::to_string).collect();
    let mut columns = vec!["path"];
    columns.extend(levels.iter().map(String::as_str));
    columns.extend(["not measured", "stands for", "feasibility", "packet", "port"]);
    columns.extend(["entries", "other settings", "reason", "functions", "decisions"]);
    let mut table = Table::of_values("Paths", columns);
    for (number, path) in (1_usize..).zip(paths) {
        let names: Vec<&str> = path.functions.iter().map(|name| name.as_str()).collect();
        let mut cells = vec![Cell::text(number.to_string())];
        cells.extend(levels.iter().map(|level| {
            let levels = path.composition.levels.iter();
            let predicted = levels.filter(|predicted| predicted.level.to_string() == *level);
            // A sum that is negative says nothing.
            let value = predicted.map(|predicted| predicted.value).find(|value| value.0 > 0);
            Cell::optional(value.map(seconds))
        }));
        let witness = path.feasibility.witness();
        let of_witness = |number: Option<f64>| number.map(count).unwrap_or_default();
        cells.extend([
            count(f64::from(path.unmeasured.values().sum::<u32>())),
            count(path.path.ways as f64),
            Cell::text(path.feasibility.word()),
            witness.map(|witness| Cell::text(witness.packet.clone())).unwrap_or_default(),
            of_witness(witness.map(|witness| f64::from(witness.port))),
            of_witness(witness.map(|witness| witness.entries as f64)),
            of_witness(witness.map(|witness| witness.settings as f64)),
            match &path.feasibility {
                Feasibility::GivenUp(reason) => Cell::text(reason.clone()),
                Feasibility::Open
                | Feasibility::Feasible(_)
                | Feasibility::CutShort(_)
                | Feasibility::Infeasible => Cell::default(),
            },
            Cell::text(if names.is_empty() {
                "the baseline".to_owned()
            } else {
                names.join(" + ")
            }),
            Cell::text(path.path.decisions.join(" › ")),
        ]);
        table.row(cells);
    }
    table
}

/// Returns a table of the parts of paths that `of` selects, each with the number of paths that
/// contain it.
fn parts<'p>(
    caption: &str,
    paths: &'p [PathPrediction],
    of: impl Fn(&'p PathPrediction) -> &'p Parts,
) -> Table {
    let mut table = Table::of_values(caption, ["part", "paths"]);
    for (part, paths) in paths_with(paths, of) {
        table.row([Cell::text(part), count(paths as f64)]);
    }
    table
}

/// Returns a sentence about functions whose costs vary from packet to packet.
fn not_constant(functions: &[FunctionName]) -> String {
    let names: Vec<&str> = functions.iter().map(|name| name.as_str()).collect();
    format!("The cost of {} is not constant, so the sum is empirical.", names.join(", "))
}
