//! Builds the `report.html` of the RFC 8456 tests. Every test is reported in the form that the RFC
//! requires, with controllers side by side.

use probe::rfc8456::Test;
use probe::rfc8456::outcome::TestOutcome;
use statistics::Unit;

use super::figures::figures;
use super::{Candidate, deviation, name, parameters, remarks, trials, value};
use crate::alarm::{self, Alarm};
use crate::describe::{self, distinct};
use crate::format::{command_line, figure, printable};
use crate::page::{Block, Column, FIGURE_FILES, Note, Page, Table, program};

const DEFINITIONS: [(&str, &str); 5] = [
    (
        "Value",
        "The mean over the trials that had a value, with its 95 % confidence interval by Student's t. Trials without a value \
         are counted, and say why.",
    ),
    (
        "Forwarding plane test emulator",
        "All switches, links and hosts are emulated by one process. A packet travels along its path by the rules that the \
         controller installed; links take no time.",
    ),
    (
        "When a message counts",
        "A message of the controller counts when it has been read, one of a switch when it is handed to its connection. What \
         the emulator takes is in every time.",
    ),
    (
        "At least",
        "A capacity or rate that ended with what was offered is a lower bound of what the controller can do; its remark says \
         so.",
    ),
    (
        "Against undisturbed",
        "The value over that of the same test without disturbance in the same run, minus one (5.3.1, 5.3.2).",
    ),
];

/// Returns the report page of the RFC 8456 tests of one or several controllers.
#[must_use]
pub fn page(candidates: &[Candidate<'_>]) -> Page {
    let title = match candidates {
        [one] => format!("RFC 8456: {}", printable(one.name)),
        several => format!("RFC 8456: {} controllers", several.len()),
    };
    let program =
        candidates.first().map_or_else(String::new, |one| program(&one.result.provenance));
    let mut page = Page::new(format!("{program} · controllers"), title);
    for Candidate { name, result } in candidates {
        page.start_and_duration(&result.provenance);
        if let Some((state, reason)) = describe::incomplete(&result.completion) {
            let text = format!("{}: {state}: {reason}", printable(name));
            page.alarm(Alarm::new(alarm::Kind::Partial, state, text));
        }
        page.lead(Block::Command(command_line(&result.provenance.command)));
    }
    let notes = candidates.iter().flat_map(|one| &one.result.notes);
    page.lead(Block::Notes(notes.map(|note| Note::plain(printable(note))).collect()));
    page.section(
        "summary",
        "All tests",
        vec![summary(candidates), Block::Figures(figures(candidates))],
    );
    for test in Test::ALL {
        let blocks = section(candidates, test);
        if !blocks.is_empty() {
            page.section(
                format!("s{}", test.section().replace('.', "-")),
                test.to_string(),
                blocks,
            );
        }
    }
    let files = [
        ("result.json", "everything here, by a versioned schema"),
        ("trials.csv", "a row for each trial"),
        FIGURE_FILES,
    ];
    page.method(parameters_of_all(candidates), None, DEFINITIONS, files);
    page
}

/// Returns a table with a row for each test and a column for each controller.
fn summary(candidates: &[Candidate<'_>]) -> Block {
    let columns = [Column::words("section"), Column::words("test")]
        .into_iter()
        .chain(candidates.iter().map(|one| Column::figures(printable(one.name))));
    let mut table = Table::new("Means over trials with 95 % confidence intervals", columns);
    for (section, name) in rows(candidates) {
        let values = candidates
            .iter()
            .map(|one| find(one, &section, &name).map_or_else(|| "–".to_owned(), value));
        table.row([section.clone(), name.clone()].into_iter().chain(values));
    }
    Block::Table(table)
}

/// Returns the tests of which at least one controller has a result. Each is given by its section in
/// the RFC and its name.
pub(super) fn rows(candidates: &[Candidate<'_>]) -> Vec<(String, String)> {
    let mut rows = distinct(candidates.iter().flat_map(|one| {
        one.result.tests.iter().map(|outcome| (outcome.section.clone(), name(outcome)))
    }));
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

pub(super) fn find<'a>(
    candidate: &Candidate<'a>,
    section: &str,
    called: &str,
) -> Option<&'a TestOutcome> {
    let mut tests = candidate.result.tests.iter();
    tests.find(|outcome| outcome.section == section && name(outcome) == called)
}

/// Returns the blocks about one test: its table in the form of RFC 8456, with every trial.
fn section(candidates: &[Candidate<'_>], test: Test) -> Vec<Block> {
    let mut blocks = Vec::new();
    for candidate in candidates {
        for outcome in candidate.result.tests.iter().filter(|outcome| outcome.test == test) {
            let figures = distinct(
                outcome
                    .trials
                    .iter()
                    .flat_map(|trial| trial.figures.iter().map(|one| one.name.clone())),
            );
            let columns = [Column::words("trial"), Column::figures("value")]
                .into_iter()
                .chain(figures.iter().map(Column::figures));
            let caption = format!("{}, {}", printable(candidate.name), name(outcome));
            let mut table = Table::new(caption, columns);
            for (number, trial) in (1..).zip(&outcome.trials) {
                let dash = || "–".to_owned();
                let own = trial.value.map_or_else(dash, |value| figure(value, outcome.unit));
                let others = figures.iter().map(|wanted| {
                    let found = trial.figures.iter().find(|one| one.name == *wanted);
                    found.map_or_else(dash, |one| figure(one.value, one.unit))
                });
                table.row([number.to_string(), own].into_iter().chain(others));
            }
            let mut text =
                format!("mean {}, {} trials with a value", value(outcome), trials(outcome));
            if let Some(variance) = outcome.variance() {
                let unit = match outcome.unit {
                    Unit::Seconds => " s²",
                    Unit::PerSecond => "/s²",
                    _ => "",
                };
                text.push_str(&format!(", variance {variance:.3e}{unit}"));
            }
            if let Some(deviation) = deviation(outcome) {
                text.push_str(&format!(", {deviation} against undisturbed"));
            }
            blocks.push(Block::Table(table));
            blocks.push(Block::Remark(text.into()));
            let remarks = remarks(outcome).into_iter();
            blocks.extend(remarks.map(|remark| Block::Remark(printable(&remark).into())));
        }
    }
    blocks
}

fn parameters_of_all(candidates: &[Candidate<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for candidate in candidates {
        blocks.push(Block::Heading(printable(candidate.name)));
        blocks.push(Block::facts(parameters(candidate.result)));
        blocks.push(Block::host(&candidate.result.provenance.host));
    }
    blocks
}
