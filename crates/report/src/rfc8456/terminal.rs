//! Prints the results of the RFC 8456 tests on the terminal, with a row for each test.

use super::{Candidate, deviation, name, remarks, trials, value};
use crate::format::{duration, plural, printable};
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// Returns the results of the RFC 8456 tests of one or several controllers as text that fits the
/// terminal. The text ends with a newline.
#[must_use]
pub fn table(candidates: &[Candidate<'_>], layout: Layout) -> String {
    let mut out = String::new();
    for (place, Candidate { name: called, result }) in candidates.iter().enumerate() {
        if place > 0 {
            out.push('\n');
        }
        out.push_str(&layout.paragraph(
            "",
            &format!("RFC 8456: {}", printable(called)),
            Paint::Strong,
        ));
        let parameters = &result.parameters;
        let text = format!(
            "controller {}; {}, {}, {}, {}; {} of {}; {}, took {}",
            printable(&parameters.controller),
            crate::describe::protocol(&parameters.southbound),
            plural(parameters.switches.into(), "switch", "switches"),
            plural(parameters.links, "link", "links"),
            printable(&parameters.topology),
            plural(parameters.trials.into(), "trial", "trials"),
            duration(parameters.trial_s),
            printable(&result.provenance.started_at),
            duration(result.provenance.elapsed_s),
        );
        out.push_str(&layout.paragraph("", &text, Paint::Plain));
        if let Some((state, reason)) = crate::describe::incomplete(&result.completion) {
            out.push_str(&layout.paragraph(&format!("{state}  "), &reason, Paint::Bad));
        }
        out.push('\n');
        let mut grid = Grid::new(vec![
            Column::left("section"),
            Column::left("test"),
            Column::right("value"),
            Column::right("against undisturbed").rank(1),
            Column::right("trials").rank(2),
        ]);
        for outcome in &result.tests {
            let paint = if outcome.is_measured() { Paint::Plain } else { Paint::Warn };
            grid.row(vec![
                Cell::new(outcome.section.clone()),
                Cell::new(name(outcome)),
                Cell::painted(value(outcome), paint),
                Cell::new(deviation(outcome).unwrap_or_default()),
                Cell::new(trials(outcome)),
            ]);
        }
        out.push_str(&grid.render(layout));
        let notes = result.tests.iter().flat_map(|outcome| {
            remarks(outcome).into_iter().map(|remark| format!("{}: {remark}", outcome.section))
        });
        let notes = crate::describe::distinct(notes.chain(result.notes.iter().cloned()));
        if !notes.is_empty() {
            out.push_str(&layout.heading("Notes"));
            for note in notes {
                out.push_str(&layout.paragraph("  - ", &printable(&note), Paint::Plain));
            }
        }
    }
    out
}
