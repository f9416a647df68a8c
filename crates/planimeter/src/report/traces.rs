//! The page of traces: a tree for each packet.

use std::path::{Path, PathBuf};

use ::report::RunDirectory;
use ::report::page::{Block, Branch, Page, Tone};
use traces::{Part, Trace};

use crate::failure::Failure;

/// The name of the file with the traces of packets in a run directory. It has a line of JSON for
/// each packet.
pub(crate) const FILE: &str = "traces.json";

/// The largest number of packets whose trees the page shows. Browsers become slow if there are
/// more.
const SHOWN: usize = 500;

/// The number of packets whose trees are unfolded at first.
const OPEN: usize = 20;

/// Returns the file of traces that an argument of `planimeter report` names: the file itself, or
/// the one in a run directory. Returns `None` if the argument names other results.
pub(super) fn file(path: &Path) -> Option<PathBuf> {
    let inside = path.join(FILE);
    if inside.is_file() {
        return Some(inside);
    }
    (path.is_file() && path.file_name().is_some_and(|name| name == FILE)).then(|| path.to_owned())
}

/// Writes a report of the traces in `files` into the run directory that `directory` creates.
pub(super) fn report(
    files: &[PathBuf],
    directory: impl FnOnce() -> Result<RunDirectory, Failure>,
) -> Result<(), Failure> {
    let mut all = Vec::new();
    for file in files {
        let bytes = input::read(file)
            .map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))?;
        let read = traces::read(&bytes)
            .map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
        all.extend(read);
    }
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let page = page(&format!("Packets of {}", names.join(", ")), &[], &all);
    let directory = directory()?;
    directory.write_page(&page, &[]).map_err(Failure::run)?;
    println!("Report: {}", directory.path().join("report.html").display());
    Ok(())
}

/// Returns a page that shows the tree of each trace.
pub(crate) fn page(title: &str, findings: &[&str], traces: &[Trace]) -> Page {
    let mut page = Page::new("Planimeter · traces of packets", title);
    page.fact(match traces.len() {
        1 => "1 packet".to_owned(),
        packets => format!("{packets} packets"),
    });
    if !findings.is_empty() {
        let lines = findings.iter().map(|line| (*line).into()).collect();
        page.lead(Block::Card(Tone::Plain, lines));
    }
    if traces.is_empty() {
        page.lead(Block::card(Tone::Plain, "No packet was traced."));
    }
    let shown = traces.iter().take(SHOWN).enumerate();
    let branches = shown.map(|(position, trace)| Branch {
        is_folded: position >= OPEN,
        ..branch(traces::outline(trace, false))
    });
    let mut blocks = vec![Block::Tree(branches.collect())];
    if let more @ 1.. = traces.len().saturating_sub(SHOWN) {
        let text = format!("{more} more packets are in {FILE}, which has all of them.");
        blocks.push(Block::Remark(text.into()));
    }
    page.section("packets", "Packets", blocks);
    page
}

/// Converts a part of a trace to a branch of the tree.
fn branch(part: Part) -> Branch {
    Branch {
        head: part.head,
        rows: part.rows.into_iter().map(|row| [row.label, row.middle, row.right]).collect(),
        children: part.children.into_iter().map(branch).collect(),
        remarks: part.remarks,
        is_folded: false,
    }
}
