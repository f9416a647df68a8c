//! The results of `planimeter testgen` as a document, which other programs can read.

use std::path::Path;

use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;
use symbolic::goals::Kind;
use symbolic::search::{Report, Verdict};

use super::{Counts, counts, digits};

fn count(number: usize) -> Cell {
    Cell::from(Value::new(number as f64, Unit::Count))
}

/// Returns the results of generating tests as a document.
pub(super) fn document(path: &Path, report: &Report, provenance: Provenance) -> Document {
    let (digits, undefined) = digits(report);
    let columns = ["tests", "number", "digits that are expected", "undefined digits"];
    let mut tests = Table::of_values("Tests", columns);
    tests.row([
        Cell::text("all tests"),
        count(report.tests.len()),
        count(digits),
        count(undefined),
    ]);
    let mut section = section(report);
    section.tables.insert(0, tests);
    Document {
        kind: "testgen",
        title: format!("Tests of {}", path.display()),
        findings: Vec::new(),
        notes: Vec::new(),
        partial: None,
        claims: Vec::new(),
        sections: vec![section],
        provenance,
    }
}

/// Returns a section on the parts of the program that tests reach, and on those that they do not.
pub(super) fn section(report: &Report) -> Section {
    let cuts = report.cuts.iter().map(|cut| format!("not followed: {cut}"));
    Section {
        id: "reached".to_owned(),
        title: "Reached".to_owned(),
        text: cuts.collect(),
        tables: vec![by_kind(report), not_reached(report)],
        ..Section::default()
    }
}

/// Returns a table with the number of parts of each kind, by verdict.
fn by_kind(report: &Report) -> Table {
    let columns = [
        "kind",
        "all",
        "reached",
        "unreachable",
        "not reached within the packets of a test",
        "given up",
        "not tried",
    ];
    let mut table = Table::of_values("Parts of the program", columns);
    let counts = counts(report);
    for kind in Kind::ALL {
        let Some(of) = counts.get(&kind) else { continue };
        let Counts { all, covered, unreachable, not_within, given_up, open } = of;
        let mut cells = vec![Cell::text(kind.name())];
        let numbers = [all, covered, unreachable, not_within, given_up, open];
        cells.extend(numbers.into_iter().map(|number| count(*number)));
        table.row(cells);
    }
    table
}

/// Returns a table with a row for each part of the program that no test reaches.
fn not_reached(report: &Report) -> Table {
    let columns = ["part", "kind", "place", "verdict", "packets", "reason"];
    let mut table = Table::of_values("Not reached", columns);
    for (goal, verdict) in &report.goals {
        let (word, packets, reason) = match verdict {
            Verdict::Covered(_) => continue,
            Verdict::Unreachable => ("unreachable", None, None),
            Verdict::NotWithin(packets) => ("not within", Some(f64::from(*packets)), None),
            Verdict::GivenUp(reason) => ("given up", None, Some(reason.clone())),
            Verdict::Open => ("not tried", None, None),
        };
        table.row([
            Cell::text(goal.name.clone()),
            Cell::text(goal.kind.name()),
            goal.place.clone().map(Cell::text).unwrap_or_default(),
            Cell::text(word),
            Cell::optional(packets.map(|packets| Value::new(packets, Unit::Count))),
            reason.map(Cell::text).unwrap_or_default(),
        ]);
    }
    table
}
