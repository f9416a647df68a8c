//! The output of commands that leave a result: shared flags, the run directory, and printing.

use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use report::directory::{Papers, WriteError};
use report::page::document::{Document, json, terminal};
use report::plot::Width;
use report::{Layout, RunDirectory};

use crate::failure::{Failure, INTERRUPTED};

/// Reads a result from the file at `path`, or from the `result.json` in the run directory at
/// `path`. Returns the path of the file and its text.
pub(crate) fn result_at(path: &Path) -> Result<(PathBuf, String), Failure> {
    let file = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
    let text = input::read_text(&file).map_err(|error| match error.kind() {
        ErrorKind::NotFound if path.join("campaign.json").exists() => Failure::input(format!(
            "{0} is a campaign, which has no result yet; `planimeter device verify {0}` makes one",
            path.display()
        )),
        ErrorKind::NotFound => Failure::input(format!(
            "{} {}; name a run directory that a verb left, or its result.json",
            path.display(),
            if path.is_dir() { "has no result.json" } else { "does not exist" }
        )),
        _ => Failure::input(format!("cannot read {}: {error}", file.display())),
    })?;
    Ok((file, text))
}

/// The flags `--figure-width` and `--latex`, which select the files that are written for papers.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ForPapers {
    /// Lay out the files of figures for this width, such as 88mm [as in the page]
    #[arg(
        long,
        value_name = "LENGTH",
        long_help = "Lay out the SVG and PDF files of figures for this width, from 50mm to 500mm, in mm, cm, in or pt (72 an \
                     inch). Text has a size of 9 points at any width, so include the file unscaled. The figures in report.html \
                     stay as they are [default: as in the page, 169mm]"
    )]
    figure_width: Option<Width>,
    /// Also write the tables of the report for LaTeX, into tables/ of the run directory
    #[arg(
        long,
        long_help = "Also write each table of the report as a LaTeX file, tables/table-NN-TITLE.tex in the run directory, to be \
                     read with \\input; needs the package booktabs, and longtable for tables of 40 rows and more"
    )]
    latex: bool,
}

impl ForPapers {
    /// Returns the flags as they are typed (empty if none was given).
    pub(crate) fn words(self) -> String {
        let width = self.figure_width.map(|width| format!("--figure-width {width}"));
        let latex = self.latex.then(|| "--latex".to_owned());
        [width, latex].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

impl From<ForPapers> for Papers {
    fn from(flags: ForPapers) -> Self {
        Self { figure_width: flags.figure_width, latex: flags.latex }
    }
}

/// Creates the run directory `output`. If it is `None`, creates a new one whose name contains the
/// time and `verb`, the name of the subcommand.
pub(crate) fn directory(
    output: Option<&Path>,
    verb: &str,
    papers: impl Into<Papers>,
) -> Result<RunDirectory, Failure> {
    let directory = RunDirectory::create_for(output, verb).map_err(Failure::input)?;
    Ok(directory.for_papers(papers.into()))
}

/// Prints a result as JSON or text, and writes it into the run directory. After text, prints the
/// path of the report as well. The result is printed first, because the disk may be full.
pub(crate) fn leave<W>(
    directory: &RunDirectory,
    as_json: bool,
    json: impl FnOnce() -> String,
    text: impl FnOnce() -> String,
    write: impl FnOnce(&RunDirectory) -> Result<W, WriteError>,
) -> Result<(), Failure> {
    match as_json {
        true => print!("{}", json()),
        false => print!("{}", text()),
    }
    write(directory).map_err(Failure::run)?;
    if !as_json {
        println!("\nReport: {}", directory.path().join("report.html").display());
    }
    Ok(())
}

/// The flags of verbs that print their result, and leave files only if they are asked to.
#[derive(Debug, Args)]
pub(crate) struct Printed {
    /// Print the result as JSON, in the format of result.json
    #[arg(long)]
    pub(crate) json: bool,
    /// Also leave report.html, result.json and data/ in this directory, new or empty
    #[arg(long, short, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
}

impl Printed {
    /// Prints a document as JSON or as `text`. If a directory is named, also writes the document and
    /// further text files, each given by name and content, into it. `verb` is the name of the
    /// subcommand.
    pub(crate) fn leave(
        &self,
        verb: &str,
        document: &Document,
        text: impl FnOnce() -> String,
        files: &[(String, String)],
    ) -> Result<(), Failure> {
        let Some(path) = &self.output else {
            match self.json {
                true => print!("{}", json::to_json(document)),
                false => print!("{}", text()),
            }
            return Ok(());
        };
        let directory = directory(Some(path.as_path()), verb, Papers::default())?;
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let write = |directory: &RunDirectory| directory.write_document(document, &files);
        leave(&directory, self.json, || json::to_json(document), text, write)
    }
}

/// Prints a document and writes it into the run directory. Returns the exit status 0 if the
/// document is complete, 130 if the user interrupted the measurement, and otherwise 1.
pub(crate) fn leave_document(
    directory: &RunDirectory,
    document: &Document,
    as_json: bool,
    interrupted: bool,
) -> Result<ExitCode, Failure> {
    leave_document_and_files(directory, document, &[], as_json, interrupted)
}

/// Prints a document, and writes it and further text files, each given by name and content, into
/// the run directory. Returns the exit status that [`leave_document`] describes.
pub(crate) fn leave_document_and_files(
    directory: &RunDirectory,
    document: &Document,
    files: &[(&str, &str)],
    as_json: bool,
    interrupted: bool,
) -> Result<ExitCode, Failure> {
    let text = || terminal::text(document, layout());
    let write = |directory: &RunDirectory| directory.write_document(document, files);
    leave(directory, as_json, || json::to_json(document), text, write)?;
    Ok(match document.partial {
        None => ExitCode::SUCCESS,
        Some(_) if interrupted => ExitCode::from(INTERRUPTED),
        Some(_) => ExitCode::from(1),
    })
}

/// Returns the width of the terminal, and whether its text may have colours. The width is `COLUMNS`
/// if that is set, and 100 if none is known.
pub(crate) fn layout() -> Layout {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = columns.or_else(terminal_width).unwrap_or(100);
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Layout { width, colour }
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
