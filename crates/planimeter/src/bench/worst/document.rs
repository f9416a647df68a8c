//! The report of the costliest paths.

use std::collections::BTreeMap;

use pipeline::Path;
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;
use symbolic::goals::Goal;

use super::{Findings, Measured, Predicted, actions};

/// Returns the report of all execution paths.
pub(super) fn document(
    name: &str,
    goals: &[Goal],
    findings: &[Findings],
    provenance: Provenance,
) -> Document {
    let measured = findings.iter().filter(|one| one.refused.is_none());
    let mut document = Document {
        kind: "bench",
        title: format!("The costliest packets of {name}"),
        findings: findings.iter().filter_map(finding).collect(),
        notes: vec![
            "Measured cycles are medians over turns of 512 copies of one packet on one core, so caches and branch \
             predictors are warm."
                .to_owned(),
            "Tables have only the entries of a packet's own test, whose numbers are in the tables below: lookups hit the \
             first levels of the cache. Full tables cost more, which --entries measures."
                .to_owned(),
            "The bound is proved under the fitted costs: no feasible path of packets of this length has a larger sum. It \
             says nothing about costs that the fit does not know."
                .to_owned(),
        ],
        partial: None,
        claims: Vec::new(),
        sections: measured.map(|one| section(goals, one)).collect(),
        provenance,
    };
    for Findings { path, refused, .. } in findings {
        if let Some(why) = refused {
            document.lacks(&format!("{} was not measured: {why}", words(*path)));
        }
    }
    document
}

/// Returns the scripts of the costliest paths, by file name.
pub(super) fn scripts(findings: &[Findings]) -> Vec<(String, String)> {
    let each = |one: &Findings| {
        let names = names(one);
        let predicted = one.predicted.iter();
        predicted.zip(names).map(|(one, name)| (name, one.measured.test.stf())).collect::<Vec<_>>()
    };
    findings.iter().flat_map(each).collect()
}

/// Returns the file names of the scripts of an execution path.
fn names(findings: &Findings) -> Vec<String> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let name = |one: &Predicted| {
        let count = counts.entry(one.length).or_default();
        *count += 1;
        format!("worst-{}-{}-{count}.stf", key(findings.path), one.length)
    };
    findings.predicted.iter().map(name).collect()
}

fn key(path: Path) -> &'static str {
    match path {
        Path::Interpreter => "interpreter",
        Path::Compiled => "compiled",
    }
}

fn words(path: Path) -> &'static str {
    match path {
        Path::Interpreter => "the interpreter",
        Path::Compiled => "machine code",
    }
}

/// Returns a sentence about the path with the largest prediction.
fn finding(findings: &Findings) -> Option<String> {
    let predicted = findings.predicted.iter();
    let worst = predicted.max_by(|one, other| one.predicted.total_cmp(&other.predicted))?;
    let place = match place(findings, &worst.measured) {
        1 => "the costliest".to_owned(),
        place => format!("number {place} in cost"),
    };
    Some(format!(
        "On {}, the path that is predicted to cost most is predicted to take {:.0} cycles and takes {:.0}; it is {place} \
         of {} packets that were measured.",
        words(findings.path),
        worst.predicted,
        worst.measured.cycles,
        findings.fitted.len() + findings.predicted.len(),
    ))
}

/// Returns the place of a packet among all that were measured on the execution path, from 1 for the
/// costliest.
pub(super) fn place(findings: &Findings, packet: &Measured) -> usize {
    let predicted = findings.predicted.iter().map(|one| &one.measured);
    let costlier = |other: &&Measured| other.cycles > packet.cycles;
    findings.fitted.iter().chain(predicted).filter(costlier).count() + 1
}

fn section(goals: &[Goal], findings: &Findings) -> Section {
    let title = format!("On {}", words(findings.path));
    let columns =
        ["script", "bytes", "predicted", "bound", "measured", "place", "entries", "actions"];
    let mut table = Table::of_values("Cycles of the costliest paths", columns);
    let number = |number: f64| Cell::from(Value::new(number.round(), Unit::Count));
    let names = names(findings);
    for (one, name) in findings.predicted.iter().zip(&names) {
        let Predicted { measured, length, predicted, bound } = one;
        table.row([
            Cell::text(name.as_str()),
            number(f64::from(*length)),
            number(*predicted),
            number(*bound),
            number(measured.cycles),
            number(place(findings, measured) as f64),
            number(measured.test.entries.len() as f64),
            Cell::text(actions(goals, &measured.reached)),
        ]);
    }
    let text =
        format!("{}, with a mean error of {:.1} %.", findings.origin, 100.0 * findings.error,);
    let links = names.into_iter().map(|name| (format!("The packet and entries of {name}"), name));
    Section {
        id: format!("worst-{}", key(findings.path)),
        title,
        text: vec![text],
        tables: vec![table],
        links: links.collect(),
        ..Section::default()
    }
}
