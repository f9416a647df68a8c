//! `planimeter report`: draws earlier runs in one report.

pub(crate) mod traces;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::compare::{Candidate, compare};
use ::report::{RunDirectory, json, rfc8456};
use clap::Parser;

use crate::failure::Failure;
use crate::output::{self, ForPapers, layout};

const LONG_ABOUT: &str = "\
Write the report of earlier runs of `planimeter probe`.

Several runs share their figures: two protocols, two controllers or two versions of one are lines in \
the same plot. Runs that measured different points of the same protocol are joined to one line; \
where they measured the same point, their names distinguish them. Every figure is also written as \
SVG and as PDF, for papers: --figure-width lays them out for a column, and --latex adds tables.

For runs of `planimeter stf` that kept the traces of packets (--output), the report draws a tree for each packet.";

const EXAMPLES: &str = "\
Examples:
  Both protocols in one plot:
    planimeter report runs/p4runtime runs/openflow -o runs/both

  A controller before and after a change:
    planimeter report --name before --name after runs/20251121T090000Z-probe runs/20251122T090000Z-probe

  Figures as wide as a column and LaTeX tables, for a paper:
    planimeter report runs/p4runtime runs/openflow -o runs/paper --figure-width 88mm --latex

  The traces of the packets of two runs of scripts:
    planimeter report runs/router runs/tunnel -o runs/packets";

/// The arguments of `planimeter report`.
#[derive(Debug, Parser)]
#[command(
    name = "report",
    about = "Write the report of earlier runs of `probe`, with several runs in the same figures",
    long_about = LONG_ABOUT,
    after_long_help = EXAMPLES,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// A run directory, or its result.json
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The name of a run in the report; once for each run, in their order [its directory]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// The directory of the report [runs/<time>-report]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    #[command(flatten)]
    papers: ForPapers,
}

impl Arguments {
    fn directory(&self) -> Result<RunDirectory, Failure> {
        output::directory(self.output.as_deref(), "report", self.papers)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { runs: paths, name: given, .. } = arguments;
    if !given.is_empty() && given.len() != paths.len() {
        return Err(Failure::input(format!(
            "--name is given {} times for {} runs; name each run, or none",
            given.len(),
            paths.len()
        )));
    }
    let names: Vec<String> = match given.is_empty() {
        true => paths.iter().map(|path| name_of(path)).collect(),
        false => given.clone(),
    };
    let traced: Vec<PathBuf> = paths.iter().filter_map(|path| traces::file(path)).collect();
    if traced.len() == paths.len() {
        traces::report(&traced, || arguments.directory())?;
        return Ok(ExitCode::SUCCESS);
    }
    let texts = paths.iter().map(|path| output::result_at(path)).collect::<Result<Vec<_>, _>>()?;
    if texts.iter().all(|(_, text)| rfc8456::is_result(text)) {
        return benchmarks(&names, &texts, arguments);
    }
    let results = texts
        .iter()
        .map(|(file, text)| {
            json::from_json(text).map_err(|error| {
                let elsewhere = match error {
                    json::ReadError::OtherSchema { .. } => {
                        "; the report of another verb is report.html in its run directory, and `planimeter compare` \
                         compares results of any verb"
                    }
                    _ => "",
                };
                Failure::input(format!("{}: {error}{elsewhere}", file.display()))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let candidates: Vec<Candidate<'_>> =
        names.iter().zip(&results).map(|(name, result)| Candidate { name, result }).collect();
    let directory = arguments.directory()?;
    let text = || match candidates.as_slice() {
        [run] => ::report::table(run.result, layout()),
        several => compare(several, layout()),
    };
    let write = |directory: &RunDirectory| directory.write_report(&candidates);
    output::leave(&directory, false, String::new, text, write)?;
    println!("Figures: {}", directory.path().join("figures").display());
    Ok(ExitCode::SUCCESS)
}

/// Writes a report that shows several runs of the RFC 8456 tests side by side.
fn benchmarks(
    names: &[String],
    texts: &[(PathBuf, String)],
    arguments: &Arguments,
) -> Result<ExitCode, Failure> {
    let results = texts
        .iter()
        .map(|(file, text)| {
            rfc8456::from_json(text)
                .map_err(|error| Failure::input(format!("{}: {error}", file.display())))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let candidates: Vec<rfc8456::Candidate<'_>> = names
        .iter()
        .zip(&results)
        .map(|(name, result)| rfc8456::Candidate { name, result })
        .collect();
    let directory = arguments.directory()?;
    let text = || rfc8456::table(&candidates, layout());
    let write = |directory: &RunDirectory| directory.write_page(&rfc8456::page(&candidates), &[]);
    output::leave(&directory, false, String::new, text, write)?;
    println!("Figures: {}", directory.path().join("figures").display());
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of a run in the report: that of its directory, or that of the result's file if
/// it is not called `result.json`.
pub(crate) fn name_of(path: &Path) -> String {
    let own = path.file_stem().filter(|name| path.is_file() && *name != "result");
    if let Some(own) = own {
        return own.to_string_lossy().into_owned();
    }
    let directory = if path.is_file() { path.parent().unwrap_or(path) } else { path };
    let absolute = directory.canonicalize();
    let directory = absolute.as_deref().unwrap_or(directory);
    directory
        .file_name()
        .map_or_else(|| directory.display().to_string(), |name| name.to_string_lossy().into_owned())
}
