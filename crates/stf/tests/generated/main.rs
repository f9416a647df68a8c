//! Tests of the tests that `symbolic` generates: they pass on the interpreter and as machine code,
//! they reach what they say, and what is said to be unreachable is.

mod ageing;
mod boundaries;
mod costly;
mod equivalence;
mod full;
mod given;
mod grammar;
mod kills;
mod lanes;
#[path = "../../../symbolic/tests/mutants/mutate.rs"]
mod mutate;
mod oracle;
mod passes;
mod planted;
mod portable;
mod programs;
mod restricted;
mod sequences;

use ir::Program;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options as Preprocessor};
use pipeline::{Coverage, PartKind, Switch};
use std::collections::BTreeMap;
use stf::{Options, Report, Script};
use symbolic::goals::Kind;
use symbolic::search::{Verdict, search};
use symbolic::{generated, search};

/// Compiles the text of a program.
fn compiled(text: &str) -> Program {
    let compiled =
        p4lang::compile_text("test.p4", text, &Preprocessor::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}\n{text}"))
}

/// Makes tests of a program.
fn generated(program: &Program, seed: u64) -> search::Report {
    let options = search::Options { seed, ..search::Options::default() };
    let report = ir::with_large_stack(|| search(program, &options, &mut |_| true));
    let report = report.expect("a thread");
    report.unwrap_or_else(|error| panic!("{error}"))
}

fn script(test: &generated::Test) -> Script {
    let text = test.stf();
    Script::parse(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// Returns a text with the failures of a report and the statements that had no effect, which is
/// empty if there are none.
fn failures(report: &Report) -> String {
    let mut text: String = report.failures.iter().map(|failure| report.describe(failure)).collect();
    for (line, note) in &report.notes {
        if note.starts_with("without effect") {
            text += &format!("line {line}: {note}\n");
        }
    }
    text
}

/// Runs all tests on the interpreter and, if `machine_code` is set, in every way in which machine
/// code runs them. Returns what they reach on the interpreter.
fn run_all(program: &Program, tests: &[generated::Test], machine_code: bool) -> Coverage {
    run_all_as(program, tests, machine_code, false)
}

/// Runs all tests like [`run_all`], with programs for PSA as in psa_switch if `follows` is set.
fn run_all_as(
    program: &Program,
    tests: &[generated::Test],
    machine_code: bool,
    follows: bool,
) -> Coverage {
    let mut coverage = Coverage::new(program);
    let mut switch = Switch::new(program.clone()).expect("a switch");
    let options = Options { specification: !follows, ..Options::default() };
    for test in tests {
        switch.reset().expect("a reset");
        let report = stf::run_covered(&mut switch, &script(test), options, &mut coverage)
            .unwrap_or_else(|(line, error)| panic!("line {line}: {error}\n{}", test.stf()));
        assert_eq!(failures(&report), "", "{}", test.stf());
    }
    if machine_code {
        switch.compile().expect("machine code");
        for way in switch.ways() {
            for test in tests {
                switch.reset().expect("a reset");
                switch.choose_way(Some(way));
                let report = stf::run(&mut switch, &script(test), options)
                    .unwrap_or_else(|(line, error)| panic!("line {line}: {error}"));
                assert_eq!(failures(&report), "", "{way:?}\n{}", test.stf());
            }
        }
    }
    coverage
}

/// The parts of a program that both coverages count, by kind, name and place, with whether packets
/// reach them.
type Parts = BTreeMap<(&'static str, String, String), bool>;

/// Returns what a run has reached.
fn reached(coverage: &Coverage) -> Parts {
    let mut parts = Parts::new();
    for kind in [PartKind::State, PartKind::Select, PartKind::Branch, PartKind::Table] {
        for part in coverage.parts(kind) {
            // The place of a table is not part of its name.
            let place = match kind {
                PartKind::Table => String::new(),
                _ => part.place.clone().unwrap_or_default(),
            };
            parts.insert((kind.name(), part.name.clone(), place), part.count > 0);
        }
    }
    parts
}

/// Returns what generated tests are said to reach. A goal that was given up is left out.
fn predicted(report: &search::Report) -> Parts {
    let mut parts = Parts::new();
    for (goal, verdict) in &report.goals {
        let kind = match goal.kind {
            Kind::State => PartKind::State,
            Kind::Select => PartKind::Select,
            Kind::Branch => PartKind::Branch,
            Kind::Table => PartKind::Table,
            Kind::Statement | Kind::Action => continue,
        };
        let is_reached = match verdict {
            Verdict::Covered(_) => true,
            Verdict::Unreachable | Verdict::NotWithin(_) => false,
            Verdict::GivenUp(_) | Verdict::Open => continue,
        };
        let place = match goal.kind {
            Kind::Table => String::new(),
            _ => goal.place.clone().unwrap_or_default(),
        };
        parts.insert((kind.name(), goal.name.clone(), place), is_reached);
    }
    parts
}
