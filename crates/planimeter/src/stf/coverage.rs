//! What scripts reach of a program, for people and as JSON.

use std::path::{Path, PathBuf};

use pipeline::{Coverage, Part, PartKind};
use serde::Serialize;

use crate::failure::Failure;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// The form of the JSON.
const SCHEMA_VERSION: u32 = 1;

/// Prints the coverage, and writes it to `file` if there is one.
pub(super) fn report(
    coverage: &Coverage,
    program: &Path,
    scripts: &[PathBuf],
    file: Option<&PathBuf>,
) -> Result<(), Failure> {
    print!("{}", text(coverage, program, scripts.len()));
    let Some(file) = file else { return Ok(()) };
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let mut json = serde_json::to_string_pretty(&Covered::new(coverage, program, scripts))
        .map_err(|error| wrong(&error))?;
    json.push('\n');
    std::fs::write(file, json).map_err(|error| wrong(&error))
}

fn text(coverage: &Coverage, program: &Path, scripts: usize) -> String {
    let scripts = if scripts == 1 { "1 script".to_owned() } else { format!("{scripts} scripts") };
    let mut text = format!("{}: reached by {scripts}\n", program.display());
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

/// The line in the width of a terminal; JSON has all of it.
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

#[derive(Serialize)]
struct Covered<'c> {
    schema_version: u32,
    program: String,
    scripts: Vec<String>,
    parts: Vec<CoveredPart<'c>>,
}

#[derive(Serialize)]
struct CoveredPart<'c> {
    kind: &'static str,
    name: &'c str,
    place: Option<&'c str>,
    /// How often packets reached it.
    count: u64,
}

impl<'c> Covered<'c> {
    fn new(coverage: &'c Coverage, program: &Path, scripts: &[PathBuf]) -> Self {
        let parts = PartKind::ALL.into_iter().flat_map(|kind| coverage.parts(kind));
        Self {
            schema_version: SCHEMA_VERSION,
            program: program.display().to_string(),
            scripts: scripts.iter().map(|script| script.display().to_string()).collect(),
            parts: parts
                .map(|part| CoveredPart {
                    kind: part.kind.name(),
                    name: &part.name,
                    place: part.place.as_deref(),
                    count: part.count,
                })
                .collect(),
        }
    }
}
