//! The coverage of a program by scripts: which of its parts the scripts reached, as text and as
//! JSON.

use std::path::{Path, PathBuf};

use pipeline::{Coverage, Part, PartKind};
use serde::Serialize;
use stf::Covered;

use super::topology::{Running, Topology};
use crate::failure::Failure;

/// The width of the printed coverage in columns.
const WIDTH: usize = 80;

/// The version of the JSON format in which coverage is written.
const SCHEMA_VERSION: u32 = 1;

/// Prints which parts of a program the scripts reached on a single switch. If `file` is given, also
/// writes them there as JSON.
pub(super) fn of_switch(
    coverage: &Coverage,
    program: &Path,
    scripts: &[PathBuf],
    file: Option<&PathBuf>,
) -> Result<(), Failure> {
    print!("{}", text(coverage, program, scripts.len(), &[]));
    let covered = OfSwitch {
        schema_version: SCHEMA_VERSION,
        program: program.display().to_string(),
        scripts: names(scripts),
        parts: parts(coverage),
    };
    write(file, &covered)
}

/// Prints which parts of each program of a network the scripts reached, with the switches that run
/// the program. If `file` is given, also writes them there as JSON.
pub(super) fn of_network(
    covered: &[(&Running, &Covered)],
    topology: &Topology,
    scripts: &[PathBuf],
    file: Option<&PathBuf>,
) -> Result<(), Failure> {
    let mut programs = Vec::with_capacity(covered.len());
    for (Running { path, switches, .. }, Covered { coverage, .. }) in covered {
        let switches: Vec<&str> = switches.iter().map(|index| topology.switch(*index)).collect();
        print!("{}", text(coverage, path, scripts.len(), &switches));
        let program = path.display().to_string();
        programs.push(OnSwitches { program, switches, parts: parts(coverage) });
    }
    let covered = OfNetwork {
        schema_version: SCHEMA_VERSION,
        topology: topology.path().display().to_string(),
        scripts: names(scripts),
        programs,
    };
    write(file, &covered)
}

fn write(file: Option<&PathBuf>, covered: &impl Serialize) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let mut json = serde_json::to_string_pretty(covered).map_err(|error| wrong(&error))?;
    json.push('\n');
    std::fs::write(file, json).map_err(|error| wrong(&error))
}

fn text(coverage: &Coverage, program: &Path, scripts: usize, switches: &[&str]) -> String {
    let scripts = if scripts == 1 { "1 script".to_owned() } else { format!("{scripts} scripts") };
    let mut text = format!("{}: reached by {scripts}\n", program.display());
    on_switches(&mut text, switches);
    for kind in PartKind::ALL {
        let (reached, all) = coverage.reached(kind);
        if let Some(percent) = (100 * reached).checked_div(all) {
            let kind = plural(kind);
            text.push_str(&format!("  {kind:<15} {reached:>5} of {all:>5}  {percent:>3} %\n"));
        }
    }
    let missed: Vec<&Part> = PartKind::ALL
        .into_iter()
        .flat_map(|kind| coverage.parts(kind))
        .filter(|part| part.count == 0)
        .collect();
    if !missed.is_empty() {
        text.push_str("not reached:\n");
    }
    for part in missed {
        let place = part.place.as_ref().map(|place| format!("{place} ")).unwrap_or_default();
        let line = format!("  {:<12} {place}{}", part.kind.name(), part.name);
        text.push_str(&cut(&line));
        text.push('\n');
    }
    text
}

/// Appends the names of the switches that run a program to `text`, on several lines if they do not
/// fit one.
fn on_switches(text: &mut String, switches: &[&str]) {
    let Some((last, others)) = switches.split_last() else { return };
    let mut line = "  on".to_owned();
    for name in others.iter().map(|name| format!("{name},")).chain([(*last).to_owned()]) {
        if line.chars().count() + 1 + name.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = "    ".to_owned();
        }
        line.push(' ');
        line.push_str(&name);
    }
    text.push_str(&line);
    text.push('\n');
}

/// Cuts a line of the printed coverage to the width of a terminal. The JSON contains the whole
/// line.
fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(WIDTH - 3).collect();
    short.push_str("...");
    short
}

fn plural(kind: PartKind) -> &'static str {
    match kind {
        PartKind::State => "parser states",
        PartKind::Select => "select cases",
        PartKind::Branch => "branches",
        PartKind::Action => "actions",
        PartKind::Table => "hits and misses",
        PartKind::Entry => "entries",
    }
}

fn names(scripts: &[PathBuf]) -> Vec<String> {
    scripts.iter().map(|script| script.display().to_string()).collect()
}

fn parts(coverage: &Coverage) -> Vec<CoveredPart<'_>> {
    let parts = PartKind::ALL.into_iter().flat_map(|kind| coverage.parts(kind));
    parts
        .map(|part| CoveredPart {
            kind: part.kind.name(),
            name: &part.name,
            place: part.place.as_deref(),
            count: part.count,
        })
        .collect()
}

#[derive(Serialize)]
struct OfSwitch<'c> {
    schema_version: u32,
    program: String,
    scripts: Vec<String>,
    parts: Vec<CoveredPart<'c>>,
}

#[derive(Serialize)]
struct OfNetwork<'c> {
    schema_version: u32,
    topology: String,
    scripts: Vec<String>,
    programs: Vec<OnSwitches<'c>>,
}

#[derive(Serialize)]
struct OnSwitches<'c> {
    program: String,
    switches: Vec<&'c str>,
    parts: Vec<CoveredPart<'c>>,
}

#[derive(Serialize)]
struct CoveredPart<'c> {
    kind: &'static str,
    name: &'c str,
    place: Option<&'c str>,
    /// The number of packets that reached this part of the program.
    count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_have_as_many_lines_as_they_need() {
        let lines = |names: &[&str]| {
            let mut text = String::new();
            on_switches(&mut text, names);
            text
        };
        assert_eq!(lines(&[]), "");
        assert_eq!(lines(&["s1"]), "  on s1\n");
        assert_eq!(lines(&["s1", "s2"]), "  on s1, s2\n");
        let names: Vec<String> = (1..=40).map(|number| format!("leaf{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = lines(&names);
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(widths.len() > 1 && widths.iter().all(|width| *width <= WIDTH), "{text}");
        let words: Vec<&str> = text.split_whitespace().skip(1).collect();
        assert_eq!(words.join(" "), names.join(", "), "every name, once and in order");
    }
}
