//! `planimeter testgen --equivalent`: checks whether two programs transmit the same packets.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ir::{Program, with_large_stack};
use provenance::{Began, Provenance};
use report::page::document::{Document, Section, json};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;
use symbolic::equivalence::{Difference, Equivalence, TablePairs, equivalent_with};
use symbolic::generated::Test;
use symbolic::search::Options;

use super::given::Subject;
use super::{Arguments, check_architecture, failure, is_interrupted, status};
use crate::failure::Failure;
use crate::program;

/// The length in bytes of the longest packets that are considered.
const LONGEST: u32 = symbolic::LONGEST_PACKET;

/// The addition to the bounds of a proof that does not depend on the number of passes.
const ANY_PASSES: &str = "for any number of passes of a packet";

/// Compares a program with another, and prints a packet and a configuration for which they transmit
/// different packets. The exit status is 1 if there are such a packet and configuration, or if this
/// could not be decided. If `began` is given, prints the result as JSON in place of text.
pub(super) fn compare(
    (path, first): (&Path, &Program),
    other: &Path,
    arguments: &Arguments,
    options: &Options,
    began: Option<&Began>,
) -> Result<ExitCode, Failure> {
    let second = program::load(other, &arguments.sources)?;
    check_architecture(other, &second)?;
    let subjects =
        [Subject::new(first, &arguments.entries)?, Subject::new(&second, &arguments.entries)?];
    let [first, second] = subjects.each_ref().map(Subject::searched);
    let tables = TablePairs::new(first, second, &arguments.pair);
    let tables = tables.map_err(|error| Failure::input(format!("--pair: {error}")))?;
    let verdict = with_large_stack(|| equivalent_with(first, second, &tables, options));
    let mut verdict = verdict.map_err(Failure::run)?.map_err(|error| failure(path, error))?;
    if matches!(verdict, Equivalence::Undecided(_)) && is_interrupted() {
        verdict = Equivalence::Undecided("interrupted".to_owned());
    }
    if let Equivalence::Different(difference) = &mut verdict {
        let [of_first, of_second] = &subjects;
        of_first.complete(&mut difference.first);
        of_second.complete(&mut difference.second);
    }
    match began {
        None => print!("{}", text([path, other], &verdict, options)),
        Some(began) => {
            let document = document([path, other], &verdict, options, began.provenance());
            print!("{}", json::to_json(&document));
        }
    }
    let code = match verdict {
        Equivalence::Equal { .. } => ExitCode::SUCCESS,
        Equivalence::Different(difference) => {
            if let Some(directory) = &arguments.output {
                write(directory, &difference)?;
            }
            ExitCode::from(1)
        }
        Equivalence::Undecided(_) => ExitCode::from(1),
    };
    Ok(status(code))
}

/// Formats the verdict as text. If the programs differ, the text contains the tests that show the
/// difference.
fn text([path, other]: [&Path; 2], verdict: &Equivalence, options: &Options) -> String {
    let (path, other) = (path.display(), other.display());
    match verdict {
        Equivalence::Equal { layouts, without, any_passes } => {
            let mut bounds = bounds(options);
            if *any_passes {
                bounds = format!("{bounds}, {ANY_PASSES}");
            }
            let mut text = format!(
                "{path} and {other} transmit the same packets: proved for {bounds} ({layouts} \
                 layouts of packets)\n"
            );
            for what in without {
                text += &format!("not compared: {what}\n");
            }
            text
        }
        Equivalence::Different(difference) => {
            let Difference { first, second } = &**difference;
            format!("# On {path}:\n{}# On {other}:\n{}", first.stf(), second.stf())
        }
        Equivalence::Undecided(reason) => format!("{path} and {other}: given up: {reason}\n"),
    }
}

/// Describes the bounds within which two programs are compared.
fn bounds(options: &Options) -> String {
    let packets = match options.packets {
        1 => "all packets".to_owned(),
        packets => format!("all sequences of up to {packets} packets"),
    };
    let entries = match (options.entries, options.only_source_entries) {
        (_, true) => "the given entries".to_owned(),
        (Some(most), false) => format!("up to {most} entries in each table"),
        (None, false) => "any number of entries in each table, up to its size".to_owned(),
    };
    format!("{packets} of up to {LONGEST} bytes, and {entries}")
}

/// Writes the tests that show the difference between the programs into a directory.
fn write(directory: &Path, difference: &Difference) -> Result<(), Failure> {
    let Difference { first, second } = difference;
    for (name, test) in [("first.stf", first), ("second.stf", second)] {
        let file = directory.join(name);
        fs::create_dir_all(directory)
            .and_then(|()| fs::write(&file, test.stf()))
            .map_err(|error| Failure::input(format!("cannot write {}: {error}", file.display())))?;
    }
    Ok(())
}

/// Returns the verdict as a document. If the programs differ, it has a section for each program
/// with the test that shows the difference.
fn document(
    [path, other]: [&Path; 2],
    verdict: &Equivalence,
    options: &Options,
    provenance: Provenance,
) -> Document {
    let title = format!("{} and {}", path.display(), other.display());
    let count = |number: f64| Value::new(number, Unit::Count);
    let (word, layouts, reason) = match verdict {
        Equivalence::Equal { layouts, .. } => ("equal", Some(count(*layouts as f64)), None),
        Equivalence::Different(_) => ("different", None, None),
        Equivalence::Undecided(reason) => ("given up", None, Some(reason.clone())),
    };
    let columns = ["programs", "verdict", "layouts", "packets", "entries in each table", "reason"];
    let mut table = Table::of_values("Comparison", columns);
    table.row([
        Cell::text(title.clone()),
        Cell::text(word),
        Cell::optional(layouts),
        Cell::from(count(f64::from(options.packets))),
        Cell::optional(options.entries.map(|most| count(f64::from(most)))),
        reason.map(Cell::text).unwrap_or_default(),
    ]);
    let mut sections = vec![Section {
        id: "comparison".to_owned(),
        title: "Comparison".to_owned(),
        text: remarks(verdict),
        tables: vec![table],
        ..Section::default()
    }];
    if let Equivalence::Different(difference) = verdict {
        let Difference { first, second } = &**difference;
        sections.push(script("first", path, first));
        sections.push(script("second", other, second));
    }
    Document {
        kind: "testgen --equivalent",
        title,
        findings: Vec::new(),
        notes: Vec::new(),
        partial: None,
        claims: Vec::new(),
        sections,
        provenance,
    }
}

/// Returns a line if a proof does not depend on the number of passes, and one for each
/// configuration that it leaves out.
fn remarks(verdict: &Equivalence) -> Vec<String> {
    match verdict {
        Equivalence::Equal { without, any_passes, .. } => {
            let passes = any_passes.then(|| format!("proved {ANY_PASSES}"));
            let without = without.iter().map(|what| format!("not compared: {what}"));
            passes.into_iter().chain(without).collect()
        }
        Equivalence::Different(_) | Equivalence::Undecided(_) => Vec::new(),
    }
}

/// Returns a section with the STF script of a test, line by line.
fn script(id: &str, program: &Path, test: &Test) -> Section {
    Section {
        id: id.to_owned(),
        title: format!("On {}", program.display()),
        text: test.stf().lines().map(str::to_owned).collect(),
        ..Section::default()
    }
}
